"""Requests of people who mean no good: nothing fails, nothing private is told or logged."""

import json
import logging
import re
from pathlib import Path

import numpy as np
import pytest
from helpers import StandingClock
from hypothesis import given, settings
from hypothesis import strategies as st
from server_cases import NO_LIMITS, TERMS, LocalServer

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.ledger import uses
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.distributions import BinaryResponse
from graphcuts_dp.server.app import POLICY
from graphcuts_dp.server.logs import JsonLines, requests
from graphcuts_dp.server.settings import Binding, Limits
from graphcuts_dp.session import runner
from graphcuts_dp.session.counts import EdgeCounter

ASK = "/v1/sessions/ann.default/answers"
NAMES = ["S", "T", "queries", "name", "epsilon", "x", "left", "right", "entries", "terms"]
PAIRS = [(i, j) for i in range(24) for j in range(i)]
LINEAR = [
    {"left": {"v1": 0.5, "v2": 1}, "right": {"v3": 0.25}},
    {"entries": [["v1", "v2", -2.5], ["v4", "v7", 1e-3]]},
]
DEEP = "[" * 5000 + "]" * 5000
DIGITS = "9" * 5000
# What takes the place of the dots; a word of its own for each.
WRONG = {
    "...": ["", "null", "[]", "{", "{}", "\x00\xff"],
    '{"queries": ...}': ["[]", "[{}]", DEEP],
    '{"queries": [{"S": ["v1"]}], ...}': ['"seed": 1', '"unguaranteed": 1'],
    '{"queries": [{"S": ...}]}': [
        *("null", "[[]]", "[1.5]", "[true]", "[NaN]", '["\\ud800"]', '"@\\ud800"', f"[{DIGITS}]"),
        *('"@<script>alert(1)</script>"', '"@../../etc/passwd"', '["v1\'; DROP TABLE audit; --"]'),
        *('{"bits": "AAAAA"}', '{"bits": "é"}', json.dumps({"bits": "A" * 4000})),
        *(json.dumps(["x" * 5000]), json.dumps(["v1"] * 2000)),
        *('["v1"], "T": 1', '["v1"], "U": 1'),
    ],
    '{"queries": [{"left": ...}]}': [
        *("null", "[0.5]", DEEP, '{"nobody": 1}', '{"v1": 0.5}, "right": {"nobody": 1}'),
        *('{"v1": 0.5}, "S": ["v1"]', '{"v1": 0.5}}, {"left": {"v1": 7}'),
    ],
    '{"queries": [{"left": {"v1": ...}}]}': [
        *("2", "-0.5", "true", '"1"', "NaN", "Infinity", DIGITS),
    ],
    '{"queries": [{"entries": ...}]}': ["null", "[1]", '[["v1", "v2"]]', '[["v1", "v2", 1, 1]]'],
    '{"queries": [{"entries": [["v1", "v2", ...]]}]}': [
        *(
            '"1"',
            "true",
            "NaN",
            "1e301",
            '1e299], ["v1", "v2", -Infinity',
            '1], ["v1", "nobody", 1',
        ),
        *('1], [1.5, "v2", 1',),
    ],
    '{"queries": [{...}]}': [
        *('"right": {"v1": 0.5}', '"entries": [["v1", "v2", 1]], "left": {"v1": 1}'),
        *('"matrix": "/etc/passwd"', '"matrix": "coefficients.npz"', '"statistic": "triangles"'),
    ],
}
BODIES = [whole.replace("...", each) for whole, parts in WRONG.items() for each in parts]


@pytest.fixture(autouse=True)
def _no_forecast():
    """Replies are looked at whole, with what is forecast."""


@pytest.fixture(scope="module")
def ann(tmp_path_factory):
    with LocalServer(tmp_path_factory.mktemp("hostile")) as server:
        server.add("ann", preapproved=True)
        assert server.open("ann").status_code == 201
        yield server


def test_the_log_of_requests_tells_who_asked_what_and_no_contents(ann, caplog):
    caplog.set_level(logging.INFO, requests.name)
    ann.send("ann", "POST", ASK, {"queries": [{"S": ["nobody here"]}]})
    ann.http.get("/v1/%0Agraph%20x?token=secret", headers={"Authorization": "Bearer nobody"})
    ann.send("ann", "GET", "/v1/graph?" + "x" * 500)
    told = [record.getMessage() for record in caplog.records if record.name == requests.name]
    first, second, third = told[-3:]
    assert re.fullmatch(r"POST /v1/sessions/ann.default/answers 4[0-9][0-9] [0-9.]+s ann", first)
    assert re.fullmatch(r"GET /v1/%0Agraph%20x 404 [0-9.]+s -", second)
    assert re.fullmatch(r"GET /v1/graph 200 [0-9.]+s ann", third)
    (line,) = [JsonLines().format(each) for each in caplog.records if each.getMessage() == second]
    facts = json.loads(line)
    assert (facts["path"], facts["status"], facts["person"]) == ("/v1/%0Agraph%20x", 404, "-")
    assert facts["time"].endswith("+00:00")
    assert "secret" not in line


@pytest.mark.thorough(cases=41)
@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_bodies_that_are_none_are_refused_and_cost_nothing(ann, body, caplog):
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": f"Bearer {ann.tokens['ann']}", "Content-Type": "application/json"}
    reply = ann.http.post(ASK, content=body.encode("utf-8", "surrogatepass"), headers=headers)
    assert reply.status_code in (400, 422), reply.text
    told = ann.send("ann", "GET", "/v1/sessions/ann.default").json()
    assert (told["answers"], told["queries_left"]) == (0, 10)
    ours = [record for record in caplog.records if record.name.startswith("graphcuts_dp")]
    assert {(record.name, record.levelno) for record in ours} == {(requests.name, logging.INFO)}
    assert "Traceback" not in reply.text


@pytest.mark.parametrize(
    "token",
    ["", "x", "gcdp_", "é", "a" * 10_000, "gcdp_" + "0" * 16 + "_" + "A" * 43, "' OR 1=1 --"],
)
def test_tokens_that_are_none(ann, token):
    raw = f"Bearer {token}".encode()
    for path in ("/v1/me", "/v1/people", ASK, "/metrics"):
        found = ann.http.get(path, headers={"Authorization": raw})
        assert found.status_code == 401
        assert len(token) < 6 or token not in found.text
    found = ann.http.post("/v1/login", json={"token": token})
    assert found.status_code in (401, 422)
    assert "set-cookie" not in found.headers


@pytest.mark.parametrize(
    "path",
    [
        "/v1/sessions/..%2f..%2fetc",
        "/v1/sessions/ann.default%00",
        "/v1/sessions/ann.default'--/answers",
        "/v1/sessions/" + "a" * 5000,
        "/v1/sessions/ann.default/answers?after=-1",
        "/v1/sessions/ann.default/answers?limit=1000000",
        "/v1/vertices?side=7",
        "/page/%2e%2e/app.py",
        "/page//etc/passwd",
    ],
)
def test_paths_that_are_none(ann, path):
    assert ann.send("ann", "GET", path).status_code in (404, 422)


def test_keys_that_are_none(ann):
    body = {"queries": [{"S": []}]}  # a cut without pairs, which is 0 and free
    assert ann.send("ann", "POST", ASK, body).status_code == 200
    for key in ("", "x" * 101, "a b", "\x7f"):
        found = ann.send("ann", "POST", ASK, body, **{"Idempotency-Key": key})
        assert found.status_code == 422


def test_every_reply_has_its_headers(ann):
    for name, path in ((None, "/"), (None, "/v1/me"), ("ann", "/v1/graph"), ("ann", "/nothing")):
        headers = ann.send(name, "GET", path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    assert "unsafe" not in POLICY


def test_the_page_loads_nothing_from_elsewhere_and_holds_no_scripts():
    folder = gc.__file__.removesuffix("__init__.py") + "server/page/"
    for file in Path(folder).iterdir():
        text = file.read_text()
        outside = re.findall(r"(?:https?:)?//[\w.]+", re.sub(r"//\s.*", "", text))
        assert [each for each in outside if "www.w3.org" not in each] == [], file.name
        if file.suffix == ".html":
            assert re.findall(r"<script(?![^>]*\ssrc=)|\son\w+=|style=|javascript:", text) == []
        assert "innerHTML" not in text
        assert "eval(" not in text


def test_limits_of_size_and_number(tmp_path):
    limits = Limits(body=2000, batch=3, rate=1e-9, burst=6, failures=3)
    with LocalServer(tmp_path, limits=limits) as server:
        server.add("ann", preapproved=True)
        server.open("ann")
        assert server.ask("ann", [([f"v{i}"], None) for i in range(4)]).status_code == 413
        large = {"queries": [{"S": ["v1"] * 1000}]}
        assert server.send("ann", "POST", ASK, large).status_code == 413
        parts = (b"x" * 500 for _ in range(100))
        assert server.http.post(ASK, content=parts).status_code == 413
        packed = {"Content-Encoding": "gzip"}
        assert server.send("ann", "POST", ASK, {}, **packed).status_code == 415
        for _ in range(4):
            server.send("ann", "GET", "/v1/me")
        found = server.send("ann", "GET", "/v1/me")
        assert (found.status_code, int(found.headers["retry-after"]) > 0) == (429, True)
        for _ in range(3):
            assert server.http.get("/v1/me").status_code == 401
        assert server.http.get("/v1/me").status_code == 429
        assert server.send("curator", "GET", "/v1/me").status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "logged"),
    [
        (gc.errors.LedgerError("the store /a/secret.db is busy"), 503, "/a/secret.db"),
        (RuntimeError("edge secret - v2"), 500, "RuntimeError at fails"),
        (TimeoutError("edge secret - v2"), 500, "TimeoutError at fails"),
    ],
)
def test_what_fails_tells_no_file_and_no_value(ann, monkeypatch, caplog, error, status, logged):
    def fails(*_, **__):
        yield from ()
        raise error

    monkeypatch.setattr(ann.desk, "ask_in_steps", fails)
    found = ann.ask("ann", [(["v1"], None)])
    assert found.status_code == status
    assert "secret" not in found.text
    assert logged in caplog.text  # for the curator
    assert "edge secret" not in caplog.text


@pytest.mark.thorough
@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner),
        max_leaves=12,
    ),
    st.sampled_from(["plan", "dummy", "sessions", "forecast", "login", "people", "grants"]),
)
def test_whatever_is_sent_is_no_failure(ann, body, name):
    content = json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {ann.tokens['curator']}"}
    headers["Content-Type"] = "application/json"
    method = "PUT" if name == "grants" else "POST"
    found = ann.http.request(method, f"/v1/{name}", content=content, headers=headers)
    assert 400 <= found.status_code < 500


def transcript(server):
    """All that comes back to an analyst and to the curator for one list of requests."""
    server.add("ann", preapproved=True)
    server.add("bob")
    seen = []
    requests = [
        ("ann", "GET", "/v1/graph", None),
        ("ann", "GET", "/v1/vertices", None),
        ("ann", "POST", "/v1/plan", {"epsilon": 1, "queries": 10}),
        ("ann", "POST", "/v1/forecast", TERMS),
        ("ann", "POST", "/v1/sessions", {**TERMS, "name": "default"}),
        ("ann", "POST", "/v1/sessions", {**TERMS, "name": "b", "method": "binary"}),
        ("ann", "POST", "/v1/sessions", {**TERMS, "name": "c", "method": "nothing"}),
        ("bob", "POST", "/v1/sessions", {**TERMS, "name": "default"}),
        ("ann", "POST", "/v1/dummy", {"terms": TERMS, "queries": [{"S": ["v1"]}]}),
        ("ann", "POST", ASK, {"queries": [{"S": ["v1"]}, {"S": "@left", "T": "@right"}]}),
        ("ann", "POST", ASK, {"queries": [{"S": ["v1"]}]}),
        ("ann", "POST", ASK, {"queries": [{"S": ["nobody"]}]}),
        ("ann", "POST", ASK, {"queries": [{"S": [f"v{i}"]} for i in range(20)]}),
        ("ann", "POST", ASK.replace("default", "b"), {"queries": [{"S": ["v3"]}]}),
        ("ann", "POST", ASK, {"queries": LINEAR}),
        ("ann", "POST", ASK.replace("answers", "cost"), {"queries": LINEAR}),
        ("ann", "POST", "/v1/dummy", {"terms": TERMS, "queries": LINEAR}),
        ("ann", "GET", ASK, None),
        ("ann", "GET", "/v1/sessions/ann.default/export", None),
        ("ann", "GET", "/v1/budget", None),
        ("curator", "POST", "/v1/sessions/bob.default/decision", {"approve": True}),
        ("curator", "GET", "/v1/sessions", None),
        ("curator", "GET", "/v1/spending", None),
        ("curator", "GET", "/v1/audit", None),
        ("curator", "GET", "/metrics", None),
    ]
    for name, method, path, body in requests:
        found = server.send(name, method, path, body)
        # Heads hold what is kept beside secrets; the ledger's tests deal with those.
        text = re.sub(r"(\d+:)?[0-9a-f]{64}", "HEAD", found.text)
        text = re.sub(r'"store":"[0-9a-f]{32}"', "store", text.replace('": "', '":"'))
        text = re.sub(r'token\\":\\"\w+', "token", re.sub(r'"overruns":\d+', "overruns", text))
        # By the clock of the process: with ticks, tests of the metrics compare these.
        text = re.sub(r"(reply_seconds|late_replies)_(\S+) \S+", r"\1_\2", text)
        headers = dict(found.headers) | {"content-length": len(text), "x-request-id": ""}
        seen.append((found.status_code, headers, text))
    return seen


@pytest.mark.thorough
@pytest.mark.parametrize("blind", [True, False])
def test_replies_are_the_same_for_all_graphs_but_for_noise(tmp_path, monkeypatch, blind):
    """With the counts hidden and the noise repeated, nothing else may tell the graphs apart.

    With the counts there (`blind` is False), the same comparison tells them apart.
    """
    if blind:
        monkeypatch.setattr(EdgeCounter, "counts", lambda _, queries: [0] * len(queries))
        respond, nothing = BinaryResponse.respond, (np.empty(0), np.empty(0, dtype=np.int64))
        monkeypatch.setattr(
            BinaryResponse,
            "respond",
            lambda self, pairs, _e, _p, source: respond(self, pairs, *nothing, source),
        )
    monkeypatch.setattr(runner, "SystemEntropy", lambda: SeededEntropy(7))
    monkeypatch.setattr(uses, "datetime", StandingClock)
    for module in ("people", "desk", "book"):
        monkeypatch.setattr(f"graphcuts_dp.server.{module}.now", lambda: "2012-03-19T12:00:00.000")
    found = []
    for number, count in enumerate((0, 1, len(PAIRS))):
        rows, columns = np.array(PAIRS[:count], dtype=int).reshape(-1, 2).T
        graph = gc.Graph(rows, columns, vertices=[f"v{i}" for i in range(24)])
        folder = tmp_path / str(number)
        folder.mkdir()
        with LocalServer(folder, graph=graph, budget=(8.0, 0.0), limits=NO_LIMITS) as server:
            found.append(transcript(server))
    nothing_told, one_edge_told, all_told = found
    assert (nothing_told == one_edge_told == all_told) is blind
    assert [status for status, *_ in nothing_told] == [status for status, *_ in all_told]


def test_doors_that_must_not_stand_open(tmp_path):
    for options, match in (
        ({"host": "192.0.2.1"}, "in the clear"),
        ({"certificate": str(tmp_path / "none.pem")}, "there is no file"),
        *(({"tick": tick}, "tick") for tick in (0, -1, 61, float("nan"))),
    ):
        with pytest.raises(ParameterError, match=match):
            Binding(**options)
    assert Binding(host="192.0.2.1", behind_proxy="192.0.2.2").secure
    assert not Binding().secure
    assert Binding(server_name="Graphs.example").hosts - {"graphs.example"} == Binding().hosts
    two_names = {"graphs.example", "cuts.example"}
    assert Binding(server_name="graphs.example, cuts.example,").hosts == two_names | Binding().hosts
