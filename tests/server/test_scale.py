"""What a request costs does not grow with the sessions of a store: statements are counted.

Tests count before and after 70 sessions more: a checkpoint of the ledger lies between.
"""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from server_cases import TERMS, LocalServer, body_of

import graphcuts_dp as gc
from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.ledger.uses import spent_together, total_cost, uses_of
from graphcuts_dp.plugins import Cost
from graphcuts_dp.server import desk, open_sessions
from graphcuts_dp.server.book import book_of
from graphcuts_dp.server.people import Person
from graphcuts_dp.server.use_index import UseIndex
from graphcuts_dp.session.terms import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
ROOT = Path(__file__).parents[2]
DESCRIPTORS = Path("/dev/fd")
MORE = 70
WHOLE_TABLE = re.compile(r"SCAN (requests|keys|audit|records|contents|states|tokens|logins|people)")
SMALL = {"epsilon": 0.01, "queries": 20}


@pytest.fixture
def statements(monkeypatch):
    """Every statement that SQLite runs from here on."""
    seen, connect = [], sqlite3.connect

    def traced(*given, **named):
        connection = connect(*given, **named)
        connection.set_trace_callback(seen.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    return seen


@pytest.fixture
def server(tmp_path, statements):
    """Ann and Bob have a session each, and the analyst Eve will have many."""
    with LocalServer(tmp_path, budget=(50.0, 0.0)) as served:
        for name in ("ann", "bob", "eve"):
            served.add(name, preapproved=True, epsilon=20.0, queries=10**6)
            assert served.open(name, **SMALL).status_code == 201
        served.statements = statements
        yield served


def costs_of(server, stage):
    """How many statements each request takes: the least of three, as some write a checkpoint."""
    counts = {}
    for name, send in REQUESTS.items():
        for repeat in range(3):
            server.statements.clear()
            assert send(server, stage, repeat).status_code < 300
            counts[name] = min(len(server.statements), counts.get(name, 10**9))
    return counts


def open_many(server, stage):
    for number in range(MORE):
        body_of(server.open("eve", f"{stage}-{number}", **SMALL), 201)


REQUESTS = {
    "ask": lambda server, stage, repeat: server.ask(
        "ann", [([f"v{stage}", f"v{9 + repeat}"], None)]
    ),
    "cost": lambda server, *_: server.send(
        "ann", "POST", "/v1/sessions/ann.default/cost", {"queries": [{"S": ["v1"]}]}
    ),
    "sessions": lambda server, *_: server.send("bob", "GET", "/v1/sessions"),
    "one session": lambda server, *_: server.send("bob", "GET", "/v1/sessions/bob.default"),
    "answers": lambda server, *_: server.send("ann", "GET", "/v1/sessions/ann.default/answers"),
    "export": lambda server, *_: server.send("ann", "GET", "/v1/sessions/ann.default/export"),
    "budget": lambda server, *_: server.send("eve", "GET", "/v1/budget"),
    "open": lambda server, stage, repeat: server.open("eve", f"open-{stage}-{repeat}", **SMALL),
}


@pytest.mark.thorough
def test_no_request_reads_the_sessions_of_others_or_all_uses(server):
    open_many(server, 0)
    before = costs_of(server, 1)
    open_many(server, 1)
    after = costs_of(server, 2)
    growth = {name: after[name] - before[name] for name in REQUESTS}
    # Answers of the session of Ann are listed with one statement or two each.
    assert max(growth.values()) < MORE / 4, growth
    assert growth["open"] <= 1
    assert growth["sessions"] == growth["one session"] == growth["budget"] == 0


def test_no_statement_reads_a_table_that_grows_with_use(server):
    """Once each answer looked through the keys of all answers before it.

    Plans of SQLite name what is searched by an index, and what is read whole.
    """
    for stage, request in enumerate(REQUESTS):
        server.statements.clear()
        assert REQUESTS[request](server, 20, stage).status_code < 300
        for statement in set(server.statements):
            for plan in plans_of(server, statement):
                # The latest line of the log is found at the end of its table.
                assert not WHOLE_TABLE.match(plan) or statement.endswith("DESC LIMIT 1"), statement
                # Of all requests of a store only the states are counted, in an index.
                assert "requests" not in plan or "(store=? AND" in plan or "COUNT(*)" in statement


def plans_of(server, statement):
    """How SQLite runs a statement on the store or on the registry; nothing if it has no plan."""
    for path in (server.path, book_of(server.path)):
        with closing(sqlite3.connect(path)) as connection:
            try:
                rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            except sqlite3.OperationalError:  # its tables are in the other file
                continue
        return [detail for *_, detail in rows]
    return []


@pytest.mark.thorough
def test_a_list_of_sessions_takes_as_much_for_each_however_many_there_are(server):
    """Once each session of the list read all sessions: 460 of them took 37 seconds."""

    def statements():
        server.statements.clear()
        listed = server.get("eve", "sessions")["sessions"]
        return len(listed), len(server.statements)

    open_many(server, 0)
    (first_length, first), _ = statements(), open_many(server, 1)
    length, count = statements()
    assert length == first_length + MORE
    assert (count - first) * first_length <= first * MORE


@pytest.mark.thorough
def test_a_refusal_by_the_budget_reads_no_uses(server):
    def refused(repeat):
        return server.open("bob", f"large-{repeat}", epsilon=49.9)

    def statements():
        server.statements.clear()
        assert refused(0).status_code == 409
        return len(server.statements)

    server.people.change(Person(name="bob", preapproved=True), by="console")
    open_many(server, 0)
    before = statements()
    open_many(server, 1)
    assert statements() == before


@pytest.mark.thorough
@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="the system does not list open files")
def test_sessions_hold_no_files_and_idle_ones_are_put_away(server):
    """Once each session held two files: at about 460 sessions the server could open no more."""
    body_of(server.ask("eve", [(["v1"], None)]))
    open_files = len(list(DESCRIPTORS.iterdir()))
    open_many(server, 0)
    for number in range(MORE):
        body_of(server.ask("eve", [([f"v{number % 24}"], None)], f"0-{number}"))
    assert len(list(DESCRIPTORS.iterdir())) <= open_files
    assert len(server.desk._sessions) == open_sessions.OPEN_SESSIONS < MORE
    ledger = server.desk._ledger
    loaded = [number for number, totals in ledger.uses.items() if totals.answers is not None]
    assert len(loaded) <= open_sessions.OPEN_SESSIONS


@pytest.mark.thorough
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"median"}))
def test_a_session_that_was_put_away_goes_on(tmp_path, monkeypatch, method):
    """Two sessions of which one is open at a time: nothing is interrupted or asked anew."""
    monkeypatch.setattr(open_sessions, "OPEN_SESSIONS", 1)
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 40, "method": method}
    cuts = [([f"v{i}", f"v{i + 1}"], None) for i in range(5)]
    with LocalServer(tmp_path, budget=(8.0, 1e-4)) as server:
        server.add("ann", preapproved=True)
        for name in ("a", "b"):
            body_of(server.open("ann", name, **terms), 201)
        for cut in cuts:
            for name in ("a", "b"):
                body_of(server.ask("ann", [cut], name))
        for name in ("a", "b"):
            state = server.get("ann", f"sessions/ann.{name}")
            assert (state["answers"], state["interruptions"]) == (len(cuts), 0)
            assert state["queries_left"] == 40 - len(cuts)
            again = body_of(server.ask("ann", cuts, name))
            assert again["new"] == 0
            assert len(server.desk._sessions) == 1
        bounds = {
            state["name"]: state["error_bound"]
            for state in server.get("ann", "sessions")["sessions"]
        }
        graph, store = server.graph, server.path
    for name, bound in bounds.items():
        with gc.open_session(graph, store=store, name=f"ann.{name}") as session:
            assert session.error_bound == bound


@pytest.mark.thorough
def test_a_list_of_sessions_lets_others_go_first(server, monkeypatch):
    open_many(server, 0)
    steps = []
    monkeypatch.setattr(desk, "LISTED_AT_ONCE", 16)
    monkeypatch.setattr("graphcuts_dp.server.api.LISTED_AT_ONCE", 16)
    original = server.service.steps_at_store

    async def counted(work):
        def followed():
            while True:
                steps.append(1)
                try:
                    next(work)
                except StopIteration as stop:
                    return stop.value
                yield

        return await original(followed())

    monkeypatch.setattr(server.service, "steps_at_store", counted)
    listed = server.get("eve", "sessions")["sessions"]
    assert [state["name"] for state in listed] == ["default", *(f"0-{i}" for i in range(MORE))]
    assert len(steps) == -(-len(listed) // 16)
    steps.clear()
    uses = server.get("curator", "spending")["uses"]
    assert len(uses) == MORE + 3
    assert len(steps) == -(-len(uses) // 16)


@pytest.mark.thorough
def test_sums_of_the_index_are_those_of_the_ledger(tmp_path):
    """Of costs of all kinds: what is followed use by use is what all of them add up to."""
    terms = [
        {"method": "laplace", "epsilon": 0.25, "delta": 0.0},
        {"method": "gaussian", "epsilon": 0.5, "delta": 1e-6},
        {"method": "multiplicative-weights", "epsilon": 0.5, "delta": 1e-6, "calibration": "dr14"},
    ]
    with LocalServer(tmp_path, budget=(12.0, 1e-3)) as server:
        for name in ("ann", "bob"):
            server.add(name, preapproved=True, epsilon=6.0, delta=5e-4, queries=200)
        for number in range(9):
            name = ("ann", "bob")[number % 2]
            body_of(server.open(name, f"s{number}", **{**TERMS, **terms[number % 3]}), 201)
        ledger, cap = server.desk._ledger, Budget(6.0, 5e-4)
        with ledger.locked():
            uses, index = uses_of(ledger), UseIndex(ledger)
            begun = server.desk.budget
            for followed in (index, server.desk._index):
                total = spent_together(uses, begun)
                assert followed.total.epsilon == pytest.approx(total.epsilon, rel=1e-9)
                assert followed.total.delta == total.delta
                epsilons = [spent_together(uses[: i + 1], begun).epsilon for i in range(9)]
                assert list(followed.epsilons(9)) == pytest.approx(epsilons, rel=1e-9)
                assert [followed.number(use.name) for use in uses] == [*range(1, 10)]
        for name in ("ann", "bob"):
            own = [use for use in uses if use.name.startswith(f"{name}.")]
            claims = server.desk.claims(name)
            assert claims.queries == 10 * len(own)
            expected = total_cost([use.cost for use in own], cap)
            assert claims.total(cap).epsilon == pytest.approx(expected.epsilon, rel=1e-9)
            for epsilon in (Fraction(1, 2), Fraction(5)):
                more = Cost.of_pure(epsilon)
                admitted = cap.allows([*(use.cost for use in own), more])
                assert claims.costs.allows(more, epsilon=6.0, delta=5e-4) is admitted
        header = server.send("ann", "GET", "/v1/sessions/ann.s0/export").text.splitlines()[0]
        assert f'"epsilon": {index.total.epsilon}' in header
        assert "bob" not in header


def test_sessions_by_other_programs_are_found(server):
    """A session that the curator begins on the machine under the name of an analyst counts."""
    with closing(
        gc.open_session(server.graph, store=server.path, name="bob.own", **{**TERMS, **SMALL})
    ) as session:
        session.ask(["v1"])
    assert server.get("bob", "budget")["yours"]["epsilon"] == pytest.approx(0.02)
    assert server.open("bob", "own", **SMALL).status_code == 201
    assert server.get("bob", "sessions/bob.own")["answers"] == 1
    body_of(server.ask("bob", [(["v2"], None)], "own"))
    with gc.open_session(server.graph, store=server.path, name="bob.own") as session:
        assert len(session.history) == 2
        session.ask(["v3"])
    assert body_of(server.ask("bob", [(["v3"], None)], "own"))["new"] == 0


def check_flat(printed):
    """What one more session or answer costs is the same after 100 and after all sessions.

    Processor time is printed, too, and not compared: other work changes it.
    """
    rows = [line.replace(",", "").split() for line in printed.splitlines()]
    rows = [row for row in rows if len(row) == 10 and row[0].isdigit()]
    assert [int(row[1]) for row in rows] == [10 * int(row[0]) for row in rows]
    assert len({tuple(row[6:]) for row in rows}) == 1  # open files, and statements
    kilobytes = 1000 * (float(rows[-1][5]) - float(rows[0][5]))
    assert kilobytes / (int(rows[-1][0]) - int(rows[0][0])) < 4  # for a session with ten answers
    return int(rows[-1][0])


def test_what_is_recorded_of_many_sessions_does_not_grow():
    check_flat((ROOT / "docs" / "measured" / "many_sessions.txt").read_text())


@pytest.mark.slow
def test_ten_thousand_sessions_and_a_hundred_thousand_answers(tmp_path):
    line = [sys.executable, "-m", "scripts.bench.bench_many_sessions", "--folder", str(tmp_path)]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert check_flat(ended.stdout) == 10_000
