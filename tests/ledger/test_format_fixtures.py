"""Stores that earlier versions have written say what they said then, and go on from there.

`tests/fixtures` holds them, with what they said when they were made: see the README of each folder.
"""

from contextlib import closing

import pandas as pd
import pytest
from format_facts import (
    FOLDER,
    differences,
    of_book,
    of_distance_session,
    of_store,
    recorded,
    stored,
)

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, ExhaustedError
from graphcuts_dp.queries.query_lines import query_to_dict
from graphcuts_dp.server.book import first_digest, read_export, verify

KNOWN = recorded()["stores"]
DATA = FOLDER / "data"
ZONES = [f"z{k}" for k in range(6)]
TRIPS = {
    "columns": gc.Columns(source="origin", target="destination", user="user"),
    "vertices": ZONES,
    "kind": "directed",
}
BY_DAY = gc.Columns(source="origin", target="destination", user="user", period="day")
SMALL = gc.FlowWorkload(expected_cell=0)
STATISTICS = gc.Graph([0, 1, 2], [1, 2, 3], vertices=5)
# The private data of each store that has sessions.
PRIVATE = {
    "killed.db": lambda: gc.read_graph(DATA / "letters.csv"),
    "learnt.db": lambda: gc.read_graph(DATA / "letters.csv"),
    "letters.db": lambda: gc.read_graph(DATA / "letters.csv"),
    "median.db": lambda: STATISTICS,
    "owners.db": lambda: gc.Rows.read(DATA / "trips.csv", **TRIPS),
    "ratings.db": lambda: gc.BipartiteGraph.read(DATA / "ratings.edges"),
    "server.db": lambda: gc.read_graph(DATA / "letters.csv"),
    "vertex.db": lambda: gc.DirectedGraph.read(DATA / "follows.graphml"),
}
SESSIONS = [(store, name) for store in PRIVATE for name in KNOWN[store]["sessions"]]

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


def opened(path, name):
    """A session of a store, on its data, with the groups that it may need."""
    data = PRIVATE[path.name]()
    groups = None
    if name == "groups":
        groups = gc.Groups.read(DATA / "staff.csv", data, columns=["house", "floor"])
    return gc.open_session(data, store=path, name=name, groups=groups)


def trips(periods):
    """Rows that stay in an engine, by the name that the store knows."""
    options = {**TRIPS, "columns": BY_DAY, "periods": periods, "data_name": "trips-2026"}
    return gc.Rows.of(pd.read_csv(DATA / "trips.csv"), **options)


def test_every_store_is_looked_at():
    packed = {path.name.removesuffix(".gz") for path in (FOLDER / "stores").glob("*.db.gz")}
    assert packed == set(KNOWN)
    assert {name for name in KNOWN if KNOWN[name]["sessions"]} == set(PRIVATE)
    states = {use["state"] for told in KNOWN.values() for use in told["uses"]}
    assert states == {"finished", "unfinished", "open", "stopped", "failed"}
    kinds = {int(kind) for told in KNOWN.values() for kind in told["records"]}
    assert kinds == set(range(1, 11))


@pytest.mark.parametrize("name", KNOWN)
def test_a_store_says_what_was_spent_and_answered(tmp_path, name):
    path = stored(tmp_path, name)
    known = {key: each for key, each in KNOWN[name].items() if key not in ("records", "distances")}
    assert differences(of_store(path), known) == []
    found = gc.store_status(gc.Store(path, expect_head=KNOWN[name]["head"]))
    assert {use.use.user for use in found.uses} == {"curator"}


@pytest.mark.parametrize(("store", "name"), SESSIONS)
def test_a_session_goes_on(tmp_path, store, name):
    path = stored(tmp_path, store)
    answers, before = KNOWN[store]["answers"][name], KNOWN[store]["sessions"][name]
    spent = gc.store_status(path).epsilon
    with opened(path, name) as session:
        if before["state"] == "failed":
            with pytest.raises(BudgetError, match="interrupted while it started"):
                session.ask_all([gc.CutQuery("*", "*")])
            return
        history, status = list(session.history), session.status
        assert [status.answers, status.state] == [len(answers), before["state"]]
        assert status.interruptions == before["interruptions"]
        told = [query_to_dict(entry.query, session.universe) for entry in history]
        assert differences(answers, told) == []
        again = session.ask_all([entry.query for entry in history])
        assert [each.value for each in again] == [each["value"] for each in answers]
        assert session.status.answers == status.answers  # what is on the record is free
        left, right = (side.labels for side in session.vertices)
        new = gc.CutQuery(left[3:5], right[1:3])
        assert session.cost([new]).new == 1
        if before["state"] == "stopped":
            with pytest.raises(ExhaustedError):
                session.ask_all([new])
            return
        session.ask_all([new])
        assert session.remaining.queries == status.remaining.queries - 1
    assert gc.store_status(path).epsilon == spent


def test_steps_that_were_reserved_are_written_off_once(tmp_path):
    path = stored(tmp_path, "killed.db")
    for _ in range(2):
        with opened(path, "reserved") as session:
            assert (session.status.interruptions, session.remaining.queries) == (1, 7)


def test_a_budget_still_holds(tmp_path):
    path = stored(tmp_path, "letters.db")
    graph = PRIVATE["letters.db"]()
    with pytest.raises(BudgetError):
        gc.release_graph(graph, epsilon=25.0, fit="none", store=path)
    gc.release_graph(graph, epsilon=1.0, fit="none", store=path)
    found = gc.store_status(path)
    assert len(found.uses) == len(KNOWN["letters.db"]["uses"]) + 1
    assert found.uses[-1].state == "finished"
    assert found.epsilon > KNOWN["letters.db"]["epsilon"]


def test_what_is_spent_on_a_period_counts_for_it_alone(tmp_path):
    path = stored(tmp_path, "periods.db")
    zones = gc.Groups.read(DATA / "zones.csv", gc.VertexSet(ZONES), columns=["county", "zone"])
    privacy_unit = gc.PrivacyUnit.user(max_contributions=4, per_period=True)
    options = {"epsilon": 2.25, "privacy_unit": privacy_unit, "workload": SMALL, "store": path}
    for month in ("2026-01", "2026-03"):  # 1.75 and 1 of 3 were spent
        with pytest.raises(BudgetError, match=month):
            gc.release_flows(trips(f"{month}..{month}"), zones, **options)
    gc.release_flows(trips("2026-02..2026-02"), zones, **options)
    found = gc.store_status(path).periods
    assert {label: cost.epsilon for label, cost in found.items()} == {
        "2026-01": 1.75,
        "2026-02": 3.0,
        "2026-03": 1.0,
    }


def test_a_session_of_distances_goes_on(tmp_path):
    path = stored(tmp_path, "distances-seeded.db")
    known = KNOWN["distances-seeded.db"]["distances"]
    assert differences(of_distance_session(path), known) == []
    city = gc.distances.Metric.path(8)
    with gc.distances.open_distance_session(city, DATA / "people.csv", store=path) as session:
        vertex, value, *_ = known["answers"][0]
        assert session.ask(vertex).value == pytest.approx(value)
        assert session.status.answers == len(known["answers"])
        session.ask(5)
        assert session.status.answers == len(known["answers"]) + 1


def test_the_book_of_a_server_says_who_may_ask_and_what_was_asked(tmp_path):
    stored(tmp_path, "server.db")
    found = of_book(tmp_path / "server.db-server")
    assert differences(found, recorded()["book"]) == []
    assert found["salted"]


def test_a_server_goes_on(tmp_path):
    pytest.importorskip("fastapi")
    from graphcuts_dp.server.book import Book, book_of
    from graphcuts_dp.server.desk import Desk
    from graphcuts_dp.server.models import Ask

    path = stored(tmp_path, "server.db")
    value = KNOWN["server.db"]["answers"]["ann.a"][0]["value"]
    asked = Ask.model_validate({"queries": [{"S": ["p00"]}]})
    with closing(Desk(PRIVATE["server.db"](), gc.Store(path), Book(book_of(path)))) as desk:
        ann, carol = desk.people.find("ann"), desk.people.find("carol")
        answers, new = desk.ask(ann, "ann.a", asked, "key-1")
        assert ([each.value for each in answers], new) == ([value], 0)
        assert desk.decide(carol, "bob.waits", approve=True, note=None).state == "approved"
        assert [use.state for use in desk.status.uses] == ["open"] * 3


def test_an_exported_log_is_still_proven():
    start, lines = read_export((FOLDER / "stores" / "server-log.jsonl").read_text())
    head = verify(start, lines)
    assert str(head) == recorded()["book"]["log head"]
    assert start.records == 0
    assert len(start.digest) == len(first_digest(b""))
