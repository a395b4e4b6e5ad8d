"""Stores that earlier versions have written say what they said then, and go on from there.

`tests/fixtures` holds them, with what they said when they were made: see the README of each folder.
"""

from contextlib import closing

import pandas as pd
import pytest
from format_facts import VERSIONS, differences, of_book, of_distance_session, of_store

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, ExhaustedError
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.queries.query_lines import query_to_dict
from graphcuts_dp.server.book import first_digest, read_export, verify

ZONES = [f"z{k}" for k in range(6)]
TRIPS = {
    "columns": gc.Columns(source="origin", target="destination", user="user"),
    "vertices": ZONES,
    "kind": "directed",
}
BY_DAY = gc.Columns(source="origin", target="destination", user="user", period="day")
TRIPS_BY_DAY = {**TRIPS, "columns": BY_DAY, "periods": "2026-01..2026-03"}
SMALL = gc.FlowWorkload(expected_cell=0)
STATISTICS = gc.Graph([0, 1, 2], [1, 2, 3], vertices=5)
LETTERS = ("killed.db", "learnt.db", "letters.db", "long.db", "server.db")
KINDS = {"0.1": set(range(1, 11))}  # of records, by the number of the version
STATES = {"finished", "unfinished", "open", "stopped", "failed"}  # of uses
LATER_STATES = {"2 of 3 periods", "ended after 1 of 3 periods"}  # of series, which 0.1 has not
STORES = [(files, name) for files in VERSIONS for name in files.facts["stores"]]
SESSIONS = [
    (files, store, name)
    for files, store in STORES
    for name in files.facts["stores"][store]["sessions"]
]

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


def ids(parameter):
    return getattr(parameter, "version", str(parameter))


of_each_version = pytest.mark.parametrize("files", VERSIONS, ids=ids)


def private_data(data, store):
    """The private data of a store that has sessions."""
    if store in LETTERS:
        return gc.read_graph(data / "letters.csv")
    return {
        "median.db": lambda: STATISTICS,
        "owners.db": lambda: gc.Rows.read(data / "trips.csv", **TRIPS),  # as 0.1 called it
        "users.db": lambda: gc.Rows.read(data / "trips.csv", **TRIPS),
        "ratings.db": lambda: gc.BipartiteGraph.read(data / "ratings.edges"),
        "vertex.db": lambda: gc.DirectedGraph.read(data / "follows.graphml"),
    }[store]()


def opened(files, path, name):
    """A session of a store, on its data, with the groups that it may need."""
    data = private_data(files.data, path.name)
    groups = None
    if name == "groups":
        groups = gc.Groups.read(files.data / "staff.csv", data, columns=["house", "floor"])
    return gc.open_session(data, store=path, name=name, groups=groups)


def trips(data, periods):
    """Rows that stay in an engine, by the name that the store knows."""
    options = {**TRIPS_BY_DAY, "periods": periods, "data_name": "trips-2026"}
    return gc.Rows.of(pd.read_csv(data / "trips.csv"), **options)


def zones_of(data):
    return gc.Groups.read(data / "zones.csv", gc.VertexSet(ZONES), columns=["county", "zone"])


@of_each_version
def test_every_store_is_looked_at(files):
    known = files.facts["stores"]
    packed = {path.name.removesuffix(".gz") for path in (files.folder / "stores").glob("*.db.gz")}
    assert packed == set(known)
    states = {use["state"] for facts in known.values() for use in facts["uses"]}
    assert states == (STATES if files.version == "0.1" else STATES | LATER_STATES)
    kinds = {int(kind) for facts in known.values() for kind in facts["records"]}
    assert kinds == KINDS.get(files.version, {int(kind) for kind in Kind})


@pytest.mark.thorough(cases=17)
@pytest.mark.parametrize(("files", "name"), STORES, ids=ids)
def test_a_store_says_what_was_spent_and_answered(tmp_path, files, name):
    path, facts = files.unpack(tmp_path, name), files.facts["stores"][name]
    known = {key: fact for key, fact in facts.items() if key not in ("records", "distances")}
    assert differences(of_store(path), known) == []
    found = gc.store_status(gc.Store(path, expect_head=facts["head"]))
    assert {use.use.user for use in found.uses} == {"curator"}


@pytest.mark.thorough(cases=9)
@pytest.mark.parametrize(("files", "store", "name"), SESSIONS, ids=ids)
def test_a_session_goes_on(tmp_path, files, store, name):
    path, facts = files.unpack(tmp_path, store), files.facts["stores"][store]
    answers, before = facts["answers"][name], facts["sessions"][name]
    spent = gc.store_status(path).epsilon
    with opened(files, path, name) as session:
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


@of_each_version
def test_steps_that_were_reserved_are_written_off_once(tmp_path, files):
    path = files.unpack(tmp_path, "killed.db")
    for _ in range(2):
        with opened(files, path, "reserved") as session:
            assert (session.status.interruptions, session.remaining.queries) == (1, 7)


@of_each_version
def test_a_budget_still_holds(tmp_path, files):
    path, known = files.unpack(tmp_path, "letters.db"), files.facts["stores"]["letters.db"]
    graph = private_data(files.data, "letters.db")
    with pytest.raises(BudgetError):
        gc.release_graph(graph, epsilon=25.0, fit="none", store=path)
    gc.release_graph(graph, epsilon=1.0, fit="none", store=path)
    found = gc.store_status(path)
    assert len(found.uses) == len(known["uses"]) + 1
    assert found.uses[-1].state == "finished"
    assert found.epsilon > known["epsilon"]


@pytest.mark.thorough(cases=1)
@of_each_version
def test_what_is_spent_on_a_period_counts_for_it_alone(tmp_path, files):
    path, zones = files.unpack(tmp_path, "periods.db"), zones_of(files.data)
    privacy_unit = gc.PrivacyUnit.user(max_contributions=4, per_period=True)
    options = {"epsilon": 2.25, "privacy_unit": privacy_unit, "workload": SMALL, "store": path}
    for month in ("2026-01", "2026-03"):  # 1.75 and 1 of 3 were spent
        with pytest.raises(BudgetError, match=month):
            gc.release_flows(trips(files.data, f"{month}..{month}"), zones, **options)
    gc.release_flows(trips(files.data, "2026-02..2026-02"), zones, **options)
    found = gc.store_status(path).periods
    assert {label: cost.epsilon for label, cost in found.items()} == {
        "2026-01": 1.75,
        "2026-02": 3.0,
        "2026-03": 1.0,
    }


@pytest.mark.parametrize(
    "files", [files for files in VERSIONS if "series.db" in files.facts["stores"]], ids=ids
)
def test_a_series_of_flows_goes_on(tmp_path, files):
    path, zones = files.unpack(tmp_path, "series.db"), zones_of(files.data)
    spent = gc.store_status(path).epsilon
    rows = gc.Rows.read(files.data / "trips.csv", **TRIPS_BY_DAY)
    bound = gc.PrivacyUnit.user(max_contributions=9)
    options = {"epsilon": 2.0, "privacy_unit": bound, "strategy": "independent", "store": path}
    second = gc.update_flows(rows, zones, period="2026-02", **options)
    third = gc.update_flows(rows, zones, period="2026-03", **options)
    assert third.periods == ("2026-01", "2026-02", "2026-03")
    for month in second.periods:  # which are published, and stay what they are
        assert third.between("z0", "z1", month).value == second.between("z0", "z1", month).value
    assert gc.store_status(path).epsilon == spent


@of_each_version
def test_a_session_of_distances_goes_on(tmp_path, files):
    path = files.unpack(tmp_path, "distances-seeded.db")
    known, people = files.facts["stores"][path.name]["distances"], files.data / "people.csv"
    assert differences(of_distance_session(path, files.data), known) == []
    city = gc.distances.Metric.path(8)
    with gc.distances.open_distance_session(city, people, store=path) as session:
        vertex, value, *_ = known["answers"][0]
        assert session.ask(vertex).value == pytest.approx(value)
        assert session.status.answers == len(known["answers"])
        session.ask(5)
        assert session.status.answers == len(known["answers"]) + 1


@of_each_version
def test_the_book_of_a_server_says_who_may_ask_and_what_was_asked(tmp_path, files):
    files.unpack(tmp_path, "server.db")
    found = of_book(tmp_path / "server.db-server")
    assert differences(found, files.facts["book"]) == []
    assert found["salted"]


@of_each_version
def test_a_server_goes_on(tmp_path, files):
    pytest.importorskip("fastapi")
    from graphcuts_dp.server.book import Book, book_of
    from graphcuts_dp.server.desk import Desk
    from graphcuts_dp.server.models import Ask

    path, graph = files.unpack(tmp_path, "server.db"), private_data(files.data, "server.db")
    value = files.facts["stores"]["server.db"]["answers"]["ann.a"][0]["value"]
    asked = Ask.model_validate({"queries": [{"S": ["p00"]}]})
    with closing(Desk(graph, gc.Store(path), Book(book_of(path)))) as desk:
        ann, carol = desk.people.find("ann"), desk.people.find("carol")
        answers, new = desk.ask(ann, "ann.a", asked, "key-1")
        assert ([each.value for each in answers], new) == ([value], 0)
        assert desk.decide(carol, "bob.waits", approve=True, note=None).state == "approved"
        assert [use.state for use in desk.status.uses] == ["open"] * 3


@of_each_version
def test_an_exported_log_is_still_proven(files):
    start, lines = read_export((files.folder / "stores" / "server-log.jsonl").read_text())
    head = verify(start, lines)
    assert str(head) == files.facts["book"]["log head"]
    assert start.records == 0
    assert len(start.digest) == len(first_digest(b""))
