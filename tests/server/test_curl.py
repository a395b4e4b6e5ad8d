"""The documentation's calls with curl, run one after the other on a new store."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from server_cases import LocalServer

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "curl.sh"


def curl_calls(tokens: dict[str, str]) -> Iterator[tuple[str, str, dict[str, str], str]]:
    """Yield method, path, headers and body of each curl command of the script.

    Args:
        tokens: values of the shell variables of the script that hold tokens.
    """
    text = SCRIPT.read_text()
    variables = dict(re.findall(r'^(\w+)="(.*)"$', text, re.MULTILINE))
    variables["at"] = "/v1"
    for name, token in tokens.items():
        variables = {key: value.replace(f"${name}", token) for key, value in variables.items()}
    for line in text.splitlines():
        if line.startswith("curl"):
            for name, value in variables.items():
                line = line.replace(f"${name}", value)
            arguments = shlex.split(line)[1:]
            options = {"-H": [], "-d": [], "-X": []}
            while arguments[0] in options:
                options[arguments[0]].append(arguments[1])
                arguments = arguments[2:]
            (path,) = arguments
            method = (options["-X"] or ["POST" if options["-d"] else "GET"])[0]
            headers = dict(header.split(": ", 1) for header in options["-H"])
            yield method, path, headers, "".join(options["-d"])


def test_each_route_of_the_api_has_a_curl_example_that_succeeds(tmp_path):
    with LocalServer(tmp_path) as server:
        server.add("ann")
        tokens = {"ANALYST": server.tokens["ann"], "CURATOR": server.tokens["curator"]}
        called_routes = set()
        patterns = {
            (method.upper(), path): re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$")
            for path, methods in server.http.get("/v1/openapi.json").json()["paths"].items()
            for method in methods
            if path.startswith("/v1/") and path not in ("/v1/login", "/v1/logout")
        }
        for method, path, headers, body in curl_calls(tokens):
            reply = server.http.request(method, path, headers=headers, content=body or None)
            assert reply.status_code < 300, (method, path, reply.text)
            called_routes |= {
                route
                for route, pattern in patterns.items()
                if route[0] == method and pattern.match(path)
            }
        assert called_routes == set(patterns)
