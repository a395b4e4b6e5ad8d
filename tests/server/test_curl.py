"""The calls with curl in the documentation, one after the other on a new store."""

import re
import shlex
from pathlib import Path

from server_cases import Office

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "curl.sh"


def calls(tokens):
    """Method, place, headers and body of each line."""
    text = SCRIPT.read_text()
    values = dict(re.findall(r'^(\w+)="(.*)"$', text, re.MULTILINE))
    values["at"] = "/v1"
    for name, token in tokens.items():
        values = {key: value.replace(f"${name}", token) for key, value in values.items()}
    for line in text.splitlines():
        if line.startswith("curl"):
            for name, value in values.items():
                line = line.replace(f"${name}", value)
            words = shlex.split(line)[1:]
            given = {"-H": [], "-d": [], "-X": []}
            while words[0] in given:
                given[words[0]].append(words[1])
                words = words[2:]
            (place,) = words
            method = (given["-X"] or ["POST" if given["-d"] else "GET"])[0]
            headers = dict(header.split(": ", 1) for header in given["-H"])
            yield method, place, headers, "".join(given["-d"])


def test_every_call_has_an_example_that_works(tmp_path):
    with Office(tmp_path) as office:
        office.add("ann")
        tokens = {"ANALYST": office.tokens["ann"], "CURATOR": office.tokens["curator"]}
        seen = set()
        routes = {
            (method.upper(), path): re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$")
            for path, methods in office.http.get("/v1/openapi.json").json()["paths"].items()
            for method in methods
            if path.startswith("/v1/") and path not in ("/v1/login", "/v1/logout")
        }
        for method, place, headers, body in calls(tokens):
            reply = office.http.request(method, place, headers=headers, content=body or None)
            assert reply.status_code < 300, (method, place, reply.text)
            seen |= {key for key, form in routes.items() if key[0] == method and form.match(place)}
        assert seen == set(routes)
