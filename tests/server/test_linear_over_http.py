"""Rank-one queries and queries by coefficients over HTTP: as at home, for the same price."""

import json

import numpy as np
import pytest
from server_cases import InProcessTransport, LocalServer

import graphcuts_dp as gc
from graphcuts_dp import QueryError, RemoteSession, ServerError
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.query_lines import query_to_dict, read_question
from graphcuts_dp.server import api
from graphcuts_dp.server.settings import Limits, Ticks

FORMS = [
    {"left": {"v1": 0.5, "v2": 1}, "right": {"v3": 0.25, "v1": 1}},
    {"left": {"v1": 0.5}},
    {"left": [i / 24 for i in range(24)], "right": [1 - i / 24 for i in range(24)]},
    {"entries": [["v1", "v2", -2.5], ["v4", "v7", 1e-3], ["v1", "v2", 0.25]]},
    {"entries": [["v1", "v2", 1]]},
    {"S": ["v5"], "T": ["v6"]},
]


@pytest.fixture
def server(tmp_path):
    with LocalServer(tmp_path, budget=(9.0, 0.0)) as made:
        made.add("ann", preapproved=True)
        yield made


def asked(server, queries, session="default", status=200):
    return server.post("ann", f"sessions/ann.{session}/answers", {"queries": queries}, status)


def client(server, session="default"):
    wires = InProcessTransport(server, "ann")
    return RemoteSession(wires, wires.ask("GET", f"/v1/sessions/ann.{session}"))


def test_both_doors_read_one_query_from_one_text(server):
    """What was answered over HTTP is on the record for a session at home, which reads the same."""
    server.open("ann", linear=True, method="auto")
    over_http = asked(server, FORMS)
    assert over_http["new"] == len(FORMS)
    server.stop()
    with gc.open_session(server.graph, store=server.path, name="ann.default") as session:
        assert session.parameters["linear"] is True
        space = session.universe.space
        queries = [read_question(json.dumps(form), None, space) for form in FORMS]
        answers = session.ask_all(queries)
        assert session.remaining.queries == 10 - len(FORMS)
        assert [each.value for each in answers] == [each["value"] for each in over_http["answers"]]
    server.start()


def test_the_price_is_that_of_cuts_and_the_log_tells_no_query(server):
    """A session's whole cost at its start, then one of the guaranteed answers for each query."""
    cuts = [{"S": [f"v{i}"]} for i in range(6)]
    for name, queries in (("linear", FORMS), ("cuts", cuts)):
        assert server.open("ann", name).status_code == 201
        before = server.get("ann", "budget")
        preview = server.post("ann", f"sessions/ann.{name}/cost", {"queries": queries})
        assert (preview["queries"], preview["new"], preview["left"]) == (6, 6, 10)
        left = [each["queries_left"] for each in asked(server, queries, name)["answers"]]
        assert left == [9, 8, 7, 6, 5, 4]
        assert asked(server, queries[::-1], name)["new"] == 0
        assert server.get("ann", "budget") == before
    linear, cuts = server.desk.status.uses
    assert linear.use.cost == cuts.use.cost
    terms = {"epsilon": 1.0, "queries": 6, "method": "laplace"}
    made = server.post("ann", "dummy", {"terms": terms, "queries": FORMS})
    assert len(made["answers"]) == len(FORMS)
    log = [json.loads(line.body) for line, _ in server.people.log_lines() if "ask" in line.what]
    assert [each["queries"] for each in log] == [6] * 4
    assert not any(word in str(log) for word in ("left", "v1"))


def test_floods_of_numbers_are_refused_before_they_are_made(tmp_path):
    limits = Limits(rate=1e6, burst=10**6, failures=10**6, numbers=700)
    with LocalServer(tmp_path, limits=limits) as server:
        server.add("ann", preapproved=True)
        server.open("ann")
        asked(server, [{"entries": [["v1", "v2", 1.5]]}])
        for queries in (
            [{"entries": []}] * 2,
            [{"left": {}}] * 15,
            [{"entries": [["v1", "v2", 0.5]] * 8}],
        ):
            assert "ask fewer at once" in asked(server, queries, status=413)["detail"]
        assert server.log().count("ask") == 1
        assert server.get("ann", "graph")["numbers"] == 700


def test_time_is_allotted_by_public_sizes_alone(server, monkeypatch):
    seen = []

    def departure(_, came, __, queries=1):
        seen.append(queries)
        return came, False

    monkeypatch.setattr(Ticks, "departure", departure)
    monkeypatch.setattr("graphcuts_dp.server.api._NUMBERS_OF_A_QUERY", 24)
    server.open("ann")
    seen.clear()
    asked(server, [{"left": {"v1": 0.5}}])
    asked(server, [{"left": {}}])
    asked(server, [{"entries": [["v1", "v2", 0.5]]}])
    asked(server, [{"S": ["v1"]}, {"S": ["v2"]}])
    assert seen == [1 + 2, 1 + 2, 1 + (24 * 24 + 16) // 24, 2]


def test_the_client_takes_whole_queries_and_reads_them_back(server):
    server.open("ann")
    random = np.random.default_rng(3)
    coefficients = random.normal(size=(24, 24)).round(3)
    u = np.zeros(24)
    u[[1, 5]] = 0.5, 1.0
    queries = [
        gc.Query.rank_one(u, random.random(24)),
        gc.Query.matrix(coefficients),
        gc.CutQuery(["v1"], ["v2", "v3"]),
    ]
    session = client(server)
    answers = session.ask_all(queries)
    assert session.ask(queries[0]) == answers[0]
    assert session.cost(queries).free == 3
    assert [answer for _, answer in session.history] == answers
    universe = session.universe
    for (found, _), query in zip(session.history, queries, strict=True):
        assert query_to_dict(found, universe) == query_to_dict(query, universe)
    with pytest.raises(QueryError, match="not both"):
        session.ask(queries[0], ["v1"])
    with pytest.raises(QueryError, match="linear queries"):
        session.ask_all([gc.Query.statistic("triangles")])
    with pytest.raises(QueryError, match="linear queries"):
        session.ask_all([7])


def test_the_client_asks_as_much_at_once_as_fits(server, monkeypatch):
    server.open("ann", queries=200)
    server.service.limits = Limits(rate=1e6, burst=10**6, failures=10**6, numbers=1300)
    queries = [gc.Query.matrix(np.eye(24, k=k)) for k in range(1, 8)]
    session = client(server)
    assert len(session.ask_all(queries)) == 7
    sizes = [
        len(body["queries"]) for path, body in session._connection.sent if path.endswith("answers")
    ]
    assert sum(sizes) == 7
    assert max(sizes) == 1  # 576 coefficients, and 16 for each of about 20 that are named
    monkeypatch.setattr("graphcuts_dp.server.client._TEXT", 200)
    weights = [gc.Query.rank_one(np.full(24, k / 10), np.ones(24)) for k in range(1, 4)]
    session.ask_all(weights)
    assert len([1 for path, _ in session._connection.sent if path.endswith("answers")]) == 7 + 3
    before = len(session._connection.sent)
    session.ask_all([CutQuery([f"v{i}" for i in range(k)]) for k in range(1, 20)])
    sent = [body for path, body in session._connection.sent[before:] if path.endswith("answers")]
    assert sum(len(body["queries"]) for body in sent) == 19
    assert max(len(json.dumps(body["queries"])) for body in sent) < 250
    assert len(sent) < 19


def test_a_transcript_that_is_none_is_the_error_of_no_server(server):
    server.open("ann")
    session = client(server)
    for reply in (b"<html>sign in</html>", b"", b"[1]"):
        session._connection.send = lambda *_, reply=reply: reply
        with pytest.raises(ServerError, match="no server of sessions"):
            session.export()


def test_long_queries_are_told_in_short_pages(server, monkeypatch):
    server.open("ann", queries=200)
    asked(server, [{"left": [k / 100] * 24} for k in range(1, 7)])
    path = "sessions/ann.default/answers"
    short = server.get("ann", path)
    assert [each["query"] for each in short["items"]] == [None] * 6
    assert {each["title"] for each in short["items"]} == {"rank one"}
    monkeypatch.setattr(api, "_MOST_PAGE_NUMBERS", 100)
    page = server.get("ann", f"{path}?labels=true")
    assert (page["total"], len(page["items"])) == (6, 3)
    assert len(client(server).history) == 6
    monkeypatch.setattr(api, "_MOST_SHOWN_NUMBERS", 40)
    with pytest.raises(QueryError, match="too long to be shown"):
        client(server).history  # noqa: B018
    exported = client(server).export()["answers"]
    assert len(exported[0]["left"]) == 24


def test_bipartite_graphs_have_weights_of_both_sides(tmp_path):
    rows, columns = np.divmod(np.arange(0, 240, 2), 12)
    sides = gc.BipartiteGraph(rows, columns, left=20, right=12)
    with LocalServer(tmp_path, graph=sides, groups=False) as server:
        server.add("ann", preapproved=True)
        server.open("ann")
        some = {"left": {"0": 1, "1": 0.5}}
        first, second = (asked(server, [each]) for each in (some, some | {"right": [1.0] * 12}))
        assert (first["new"], second["new"]) == (1, 0)
        assert asked(server, [{"entries": [[19, 11, 2.0]]}])["new"] == 1
        asked(server, [{"entries": [[11, 19, 2.0]]}], status=422)
        session = client(server)
        assert session.universe.shape == (20, 12)
        again = session.ask(gc.Query.rank_one([1, 0.5] + [0] * 18, [1.0] * 12))
        assert again.value == first["answers"][0]["value"]
