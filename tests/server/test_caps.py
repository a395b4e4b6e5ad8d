"""Caps count a session from its approval on, whether or not it could begin; no GET begins one."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from server_cases import TERMS, InProcessTransport, LocalServer, body_of, refusal_of

import graphcuts_dp as gc
from graphcuts_dp import LedgerError
from graphcuts_dp.server import open_sessions
from graphcuts_dp.server.models import RefusedError, SessionIn
from graphcuts_dp.server.people import Person

WHOLE = {"epsilon": 1.0}
NAMES = ("a", "b", "c")
HOLDER = """
import sys
from server_cases import TERMS, labelled_graph
import graphcuts_dp as gc
session = gc.open_session(labelled_graph(), store=sys.argv[1], name="own", **TERMS)
with session, session._ledger.locked():
    print("held", flush=True)
    sys.stdin.read()
"""
KILLED = """
import json, os, signal, sys
from server_cases import LocalServer
from graphcuts_dp.server import open_sessions
open_sessions.session_of = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
server = LocalServer(sys.argv[1])
server.tokens = json.loads(sys.argv[2])
server.open("ann", "a", epsilon=1.0)
server.send("curator", "POST", "/v1/sessions/ann.a/decision", {"approve": True})
"""


@pytest.fixture
def server(tmp_path):
    with LocalServer(tmp_path, budget=(10.0, 1e-3)) as made:
        yield made


@pytest.fixture
def full(monkeypatch):
    """The disk is full for sessions, and is not when what this gives is called."""
    opened = open_sessions.session_of

    def fails(*_, **__):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(open_sessions, "session_of", fails)
    return lambda: monkeypatch.setattr(open_sessions, "session_of", opened)


def spent(server):
    return server.get("curator", "budget")["all"]["epsilon"]


def read_all(server, name):
    """Every GET, of the owner and of the curator, of a session that has not begun."""
    place = f"/v1/sessions/{name}"
    for who in (name.partition(".")[0], "curator"):
        paths = ("/v1/sessions", place, f"{place}/answers", "/v1/budget", f"{place}/export")
        replies = [server.send(who, "GET", path) for path in paths]
        assert [reply.status_code for reply in replies] == [200, 200, 200, 200, 409]
        assert replies[1].json()["state"] == "approved"
        assert replies[2].json()["total"] == 0
        refusal_of(replies[4], "not-begun")


def test_requests_that_fail_on_the_store_do_not_pass_a_cap(server, full):
    """Once all three were approved, and the first GET began them: 3 was spent of a cap of 1."""
    server.add("ann", preapproved=True, epsilon=1.0, queries=100)
    statuses = [server.open("ann", name, **WHOLE).status_code for name in NAMES]
    assert statuses == [503, 409, 409]
    full()
    read_all(server, "ann.a")
    found = server.get("ann", "budget")
    assert (found["all"]["epsilon"], found["yours"]["epsilon"], found["queries"]) == (0, 1.0, 10)
    queries = {"queries": [{"S": ["v1"]}]}
    for place in ("answers", "cost"):
        reply = server.send("ann", "POST", f"/v1/sessions/ann.a/{place}", queries)
        assert "ask for it again" in refusal_of(reply, "not-begun")["detail"]
    assert spent(server) == 0
    for _ in range(2):  # the same request begins it
        assert body_of(server.open("ann", "a", **WHOLE), 201)["state"] == "open"
    assert server.open("ann", "b", **WHOLE).status_code == 409
    assert spent(server) == 1.0


STATED = {"method": "multiplicative-weights", "calibration": "dr14"}  # of no Renyi divergence
CAPS = [
    ({"epsilon": 1.0}, {"epsilon": 0.75}),
    ({"epsilon": 9.0, "delta": 1e-6}, {"epsilon": 0.5, "delta": 8e-7, **STATED}),
    ({"queries": 15}, {"queries": 10}),
]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("caps", "terms"), CAPS)
def test_every_cap_counts_what_has_not_begun(server, full, caps, terms):
    server.add("ann", preapproved=True, **caps)
    assert server.open("ann", "a", **terms).status_code == 503
    refused = server.open("ann", "b", **terms)
    full()
    assert refused.status_code == server.open("ann", "b", **terms).status_code == 409
    assert "1 of them approved and not begun" in refused.json()["detail"]
    assert server.open("ann", "a", **terms).status_code == 201
    assert "not begun" not in server.open("ann", "b", **terms).json()["detail"]


def test_a_curator_begins_again_or_withdraws_what_was_approved(server, full):
    server.add("bob", epsilon=1.0)
    for name in NAMES:
        assert server.open("bob", name, **WHOLE).json()["state"] == "waiting"
    assert server.decide("bob.a", approve=True, note="for May").status_code == 503
    read_all(server, "bob.a")
    assert server.decide("bob.b", approve=True).status_code == 409  # a holds the cap
    full()
    withdrawn = body_of(server.decide("bob.a", approve=False))
    assert (withdrawn["state"], withdrawn["note"]) == ("refused", "for May")
    refusal_of(server.ask("bob", [(["v1"], None)], session="a"), "refused")
    assert server.open("bob", "a", **WHOLE).json()["state"] == "refused"
    assert server.decide("bob.a", approve=True).status_code == 409
    assert server.decide("bob.b", approve=True).json()["state"] == "open"
    for approve in (True, False):
        assert server.decide("bob.b", approve=approve).status_code == 409  # it has begun
    assert spent(server) == 1.0
    assert server.log()[-3:] == ["approved", "refused", "approved"]


def test_caps_are_checked_again_when_a_session_begins_later(server, full):
    server.add("ann", preapproved=True, epsilon=1.0)
    server.open("ann", "a", **WHOLE)
    full()
    lowered = {"preapproved": True, "epsilon": 0.5}
    server.send("curator", "PUT", "/v1/people/ann", lowered)
    for reply in (server.open("ann", "a", **WHOLE), server.decide("ann.a", approve=True)):
        refusal_of(reply, "budget")
    server.send("curator", "PUT", "/v1/people/ann", {**lowered, "epsilon": 1.0})
    assert body_of(server.decide("ann.a", approve=True))["state"] == "open"
    assert body_of(server.ask("ann", [(["v1"], None)], session="a"))["new"] == 1


def test_what_the_graph_s_budget_refuses_holds_no_cap(server):
    server.add("ann", preapproved=True, epsilon=12.0)
    assert server.open("ann", "a", epsilon=11.0).status_code == 409
    assert list(server.desk.requests) == []
    assert server.open("ann", "b", epsilon=10.0).status_code == 201


def test_nothing_begins_for_people_whose_tokens_were_withdrawn(server, full):
    server.add("ann", preapproved=True)
    ann = server.people.find("ann")
    server.add("bob")
    server.open("bob", "a")
    assert server.decide("bob.a", approve=True).status_code == 503
    full()
    for name in ("ann", "bob"):
        server.people.revoke(name, by="console")
    refusal_of(server.decide("bob.a", approve=True), "revoked")
    with pytest.raises(RefusedError, match="withdrawn"):  # a request that was on its way
        server.desk.request(ann, SessionIn(name="a", **TERMS))
    assert server.decide("bob.a", approve=False).json()["state"] == "refused"
    assert [request.state for request in server.desk.requests] == ["refused"]
    assert spent(server) == 0


def line(script, *given):
    """A Python process of its own, which finds what these tests share."""
    return {
        "args": [sys.executable, "-c", script, *map(str, given)],
        "env": {**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    }


@pytest.mark.thorough
def test_a_store_that_is_busy_approves_nothing(server):
    """Another process holds the store: neither is a session approved, nor does one begin."""
    server.add("ann", preapproved=True, epsilon=1.0)
    file = server.desk._ledger.file
    file._timeout = file._lock._timeout = 0.05
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(**line(HOLDER, server.path), **pipes) as holder:
        assert holder.stdout.readline() == b"held\n"
        reply = server.open("ann", "a", **WHOLE)
    assert reply.status_code == 503
    assert list(server.desk.requests) == []
    assert server.open("ann", "a", **WHOLE).status_code == 201


@pytest.mark.thorough
@pytest.mark.parametrize("preapproved", [True, False])
def test_a_kill_between_book_and_store_leaves_caps_that_hold(tmp_path, preapproved):
    """The process dies when the approval is in the book and before the session is on the store."""
    with LocalServer(tmp_path, budget=(10.0, 0.0)) as server:
        server.add("ann", preapproved=preapproved, epsilon=1.0)
        tokens = server.tokens
    killed = subprocess.run(**line(KILLED, tmp_path, json.dumps(tokens)), timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    with LocalServer(tmp_path) as server:
        server.tokens = tokens
        head = server.desk.status.head
        read_all(server, "ann.a")
        for name in ("b", "c"):
            assert server.open("ann", name, **WHOLE).status_code == 409
        read_all(server, "ann.a")
        assert server.desk.status.head == head
        assert body_of(server.open("ann", "a", **WHOLE), 201)["state"] == "open"
        assert server.open("ann", "b", **WHOLE).status_code == 409
        assert spent(server) == 1.0


@pytest.mark.parametrize(("terms", "state"), [({}, "approved"), (TERMS | WHOLE, "open")])
def test_a_client_that_connects_with_its_terms_begins_what_was_approved(
    server, full, monkeypatch, terms, state
):
    server.add("ann", preapproved=True, epsilon=1.0)
    server.open("ann", "a", **WHOLE)
    full()
    monkeypatch.setattr(
        "graphcuts_dp.server.client.Connection", lambda *_, **__: InProcessTransport(server, "ann")
    )
    session = gc.connect("http://localhost", "", name="a", **terms)
    assert session.state == state
    assert spent(server) == (1.0 if terms else 0)


def test_a_session_of_others_on_the_store_does_not_make_one_begun(server, full):
    server.add("bob")
    server.open("bob", "a")
    assert server.decide("bob.a", approve=True).status_code == 503
    full()
    server.add("cleo", preapproved=True)
    body_of(server.open("cleo", "a"), 201)
    assert body_of(server.decide("bob.a", approve=True))["state"] == "open"


def command_in(detail):
    """The options of the command that a refusal names."""
    words = re.search(r"`graphcuts-dp serve access limits STORE ann (.*?)`", detail)[1].split()
    return {name[2:]: float(value) for name, value in zip(words[::2], words[1::2], strict=True)}


@pytest.mark.thorough
def test_a_refusal_names_the_delta_that_is_missing_and_what_grants_it(server):
    """The grant of an earlier quick start had no delta, and the refusal did not say so."""
    server.add("ann", preapproved=True, epsilon=2.0, queries=10_000)
    reply = server.open("ann", epsilon=1.0, delta=1e-6, queries=1000, method="gaussian")
    detail = refusal_of(reply, "budget")["detail"]
    assert "your limit (epsilon = 2) has no delta" in detail
    assert "which costs epsilon = 1, delta = 1e-06" in detail
    assert "it would have to be epsilon = 2, delta = 1e-06" in detail
    stated = command_in(detail)
    assert stated == {"epsilon": 2.0, "delta": 1e-6}
    line = ["serve", "access", "limits", str(server.path), "ann", "--epsilon", "2"]
    found = subprocess.run(
        [sys.executable, "-m", "graphcuts_dp", *line, "--delta", "1e-6"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert "epsilon = 2, delta = 1e-06; 10,000 of queries; needs no approval" in found.stdout
    again = server.open("ann", epsilon=1.0, delta=1e-6, queries=1000, method="gaussian")
    assert body_of(again, 201)["state"] == "open"


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("limit", "terms"),
    [
        ({"epsilon": 1.0}, [{"epsilon": 0.75}, {"epsilon": 0.75}]),
        ({"epsilon": 1.0}, [{"epsilon": 0.3}, {"epsilon": 0.9, "delta": 1e-6, **STATED}]),
        (
            {"epsilon": 1.0, "delta": 1e-6},
            [{"epsilon": 0.9, "delta": 9e-7, "method": "gaussian"}] * 3,
        ),
        ({"queries": 15}, [{"queries": 10}, {"queries": 12}]),
    ],
)
def test_the_limit_that_a_refusal_names_suffices_and_hardly_less_does(server, limit, terms):
    server.add("ann", preapproved=True, **limit)

    def change(**stated):
        server.people.change(Person(name="ann", preapproved=True, **limit | stated), by="curator")

    refusals = 0
    for number, each in enumerate(terms):
        reply = server.open("ann", f"s{number}", **each)
        if reply.status_code == 201:
            continue
        refusals += 1
        stated = command_in(refusal_of(reply, "budget")["detail"])
        largest = next(iter(stated))  # queries, or epsilon
        if largest == "queries":
            stated[largest] = int(stated[largest])
        if stated[largest] > limit[largest]:
            less = stated[largest] - 1 if largest == "queries" else stated[largest] * 0.99
            change(**stated | {largest: less})
            assert server.open("ann", f"s{number}", **each).status_code == 409
        change(**stated)
        limit = limit | stated
        assert server.open("ann", f"s{number}", **each).status_code == 201
    assert refusals


def test_the_graphs_budget_names_the_delta_that_it_lacks(tmp_path):
    with LocalServer(tmp_path, budget=(2.0, 0.0)) as server:
        server.add("ann", preapproved=True)
        reply = server.open("ann", epsilon=1.0, delta=1e-6, method="gaussian")
        detail = refusal_of(reply, "budget")["detail"]
        assert "it has no delta, which this use needs" in detail
        assert "it would have to be epsilon = 2, delta = 1e-06" in detail
