"""Sessions of the median, and statistics of whole graphs in sessions."""

import json
from dataclasses import replace

import numpy as np
import pytest
from online_cases import from_store

import graphcuts_dp as gc
from graphcuts_dp import CutQuery, LedgerError, QueryError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.forecasts import median_error
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.queries.graph_queries import STATISTICS, GraphQuery
from graphcuts_dp.queries.linear import MatrixQuery, RankOneQuery
from graphcuts_dp.queries.query_lines import (
    query_title,
    query_to_dict,
    read_linear_query,
    read_question,
)
from graphcuts_dp.session.queries import decode_query
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import SessionTerms

# At so few vertices the median guarantees little for most budgets, and says so.
pytestmark = pytest.mark.usefixtures("no_forecast")

GRAPH = gc.Graph([0, 1, 2, 0, 3], [1, 2, 0, 3, 4], vertices=5)
ALL = [gc.Query.statistic(name) for name in STATISTICS]
CUTS = [CutQuery([0]), CutQuery([0, 1], [2, 3]), CutQuery([4])]
TRIANGLES = gc.Query.statistic("triangles")
MIXED = [
    TRIANGLES,
    CutQuery([0]),
    RankOneQuery(np.full(5, 0.5), np.full(5, 0.25)),
    MatrixQuery(np.triu(np.arange(25.0).reshape(5, 5), 1)),
    gc.Query.statistic("max-cut"),
]
TERMS = {"epsilon": 40.0, "delta": 1e-6, "queries": 40, "method": "median", "seed": 3}


def mechanism(**more):
    terms = {"method": "median", "epsilon": 50.0, "queries": 10, "delta": 1e-6} | more
    return SessionTerms.of(**terms).mechanism(Universe.of(GRAPH), Grid())


def test_statistics_are_on_the_record_and_graphs_are_shown_as_one(tmp_path):
    with session_of(GRAPH, store=tmp_path / "a.db", **TERMS) as session:
        answers = session.ask_all([*ALL, *CUTS])
        assert session.ask_all(ALL) == answers[:3]
        assert session.remaining.queries == 40 - 6
        assert session.history[0].query == ALL[0]
        exported = session.export()["answers"]
        assert [each.get("statistic") for each in exported[:3]] == list(STATISTICS)
        assert "S" in exported[3]
        learnt = session.hypothesis
        assert learnt.shape == (5, 5)
        assert np.array_equal(learnt, learnt.T)
        assert not learnt.diagonal().any()
        assert session.norm is None


def test_each_correction_halves_the_graphs_at_least_and_keeps_the_true_one():
    made, source = mechanism(queries=60, delta=0.5, beta=0.9), SeededEntropy(5)
    universe = Universe.of(GRAPH)
    rows, columns = universe.pairs()
    for graph in (GRAPH, gc.Graph(rows, columns, vertices=5)):
        state = made.start(graph, source)
        present = graph.dense()[rows, columns]
        whole = CutQuery(range(5), range(5))
        for query in [*ALL, *CUTS, whole, *(CutQuery([i]) for i in range(5))] * 2:
            steps = query.value(graph)
            if isinstance(query, GraphQuery):
                steps //= query.sensitivity(universe.space)
            before = len(state.current)
            state, answer = made.step(state, query, int(steps), source)
            assert len(state.current) <= before / 2 ** len(answer.updates)
            low, high = answer.interval
            if low <= steps <= high:
                assert (state.current.databases == present).all(axis=1).any()
        restored = from_store(made, state)
        assert np.array_equal(restored.current.databases, state.current.databases)
    assert state.updates > 0  # the complete graph is far from the median of all


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_no_answer_is_wider_than_what_was_stated_before(calibration):
    """The median buys no total weight: what is expected is what comes, whatever the graph."""
    made, source = mechanism(epsilon=1.0, queries=9, calibration=calibration), SeededEntropy(2)
    assert made.cost.keeps(epsilon=1.0, delta=1e-6)
    assert "total weight" not in dict(made.guarantee().spent)
    state = made.start(GRAPH, source)
    assert made.error_bound(state) == made.expected_error(3.0) == made.expected_error(9.0)
    for query in CUTS:
        state, answer = made.step(state, query, int(query.value(GRAPH)), source)
        low, high = answer.interval
        assert (high - low) / 2 <= made.error_bound(state) * (1 + 1e-8) + 1e-8
        lost = made.after_interruption(state, source)
        assert lost.lost > state.lost or lost.stopped


def test_families_of_graphs_are_stored_in_bits():
    universe = Universe(2, 3)
    family = all_graphs(universe)
    data = family.to_bytes()
    assert len(data) < 64 + 300
    assert np.array_equal(DatabaseFamily.from_bytes(data, universe).databases, family.databases)
    with pytest.raises(QueryError, match="without weights"):
        DatabaseFamily(Universe(3), [[0.5, 0, 1]]).answers(gc.Query.statistic("triangles"))


def test_the_error_of_plans_is_infinite_where_graphs_cannot_be_listed():
    asked = gc.SessionWorkload(queries=10)
    tiny = Setting(n=5, edges=5, workload=asked, epsilon=50.0, delta=1e-6)
    assert 0 < median_error(tiny) < 100
    assert median_error(replace(tiny, n=7)) == median_error(replace(tiny, delta=0.0)) == np.inf
    assert mechanism().expected_error(5.0) == pytest.approx(median_error(tiny), rel=0.2)


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    from graphcuts_dp.cli import main

    def call(*words):
        monkeypatch.setattr("sys.argv", ["graphcuts-dp", *words])
        return main.run_command(), *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    GRAPH.write("g.csv")
    start = "session start g.csv --store s.db --epsilon 40 --delta 1e-6 --queries 9 --vertices 5"
    status, _, err = call(*start.split(), "--method", "median", "--seed", "1")
    assert status == 0, err
    status, out, err = call("session", "ask", "s.db", "--statistic", "max-cut", "--json")
    assert status == 0, err
    low, high = json.loads(out)["interval"]
    assert low <= 4 <= high
    (tmp_path / "q.jsonl").write_text('{"statistic": "triangles"}\n{"S": [0]}\n')
    status, out, err = call("session", "run", "s.db", "q.jsonl")
    assert status == 0, err
    assert json.loads(out.splitlines()[0])["statistic"] == "triangles"
    both = ("--to 1", "--query {}", "--from 1")
    for wrong in ("--statistic girth", "", *(f"--statistic max-cut {more}" for more in both)):
        status, _, err = call("session", "ask", "s.db", *wrong.split())
        assert status == 2
        assert err.startswith("error: ")


@pytest.mark.parametrize("method", ["gaussian", "laplace"])
def test_one_list_may_hold_every_kind(method, tmp_path):
    with session_of(
        GRAPH, store=tmp_path / "a.db", **TERMS | {"method": method, "epsilon": 50.0}
    ) as session:
        answers = session.ask_all(MIXED)
        for query, answer in zip(MIXED, answers, strict=True):
            assert answer.interval[0] <= query.value(GRAPH) <= answer.interval[1]
        assert session.ask(TRIANGLES) == answers[0]
        assert session.cost(MIXED).new == 0
        table = session.history.to_frame()
        assert list(table["S"].isna()) == [True, False, True, True, True]
        lines = session.export()["answers"]
    space = GRAPH.space
    asked = [
        {key: line[key] for key in ("statistic", "S", "left", "right", "entries") if key in line}
        for line in lines
    ]
    again = [read_question(json.dumps(line), 1, space) for line in asked]
    assert again[0] == TRIANGLES
    assert [query.value(GRAPH) for query in again] == pytest.approx(
        [query.value(GRAPH) for query in MIXED]
    )


def test_a_family_is_shown_by_the_medians_of_its_pairs():
    plain = DatabaseFamily(Universe(3), [[0, 0, 1], [0, 1, 1], [1, 1, 1]])
    assert np.array_equal(plain.median_weights(), [[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    sides = DatabaseFamily(Universe(1, 2), [[0.5, 2.0]])
    assert np.array_equal(sides.median_weights(), [[0.5, 2.0]])


def test_a_statistic_has_a_line_and_a_title():
    space, universe = GRAPH.space, Universe(5)
    line = '{"statistic": "min-cut"}'
    assert query_to_dict(read_question(line, None, space), universe) == json.loads(line)
    assert query_title(TRIANGLES, universe) == "triangles"
    with pytest.raises(LedgerError):
        decode_query(bytes([5]) + b"diameter", universe, {}.__getitem__)
    with pytest.raises(QueryError, match=r"^line 3 of the queries: 'min-cut' is no cut"):
        read_linear_query(line, 3, space)
    assert read_linear_query('{"S": [0]}', 3, space).S == (0,)


def test_releases_refuse_statistics():
    release = gc.release_graph(GRAPH, epsilon=2.0, seed=1)
    learnt = gc.release_iteratively(GRAPH, epsilon=20.0, delta=1e-3, seed=1)
    with pytest.raises(QueryError, match="no cut"):
        release.answer_all([TRIANGLES])
    with pytest.raises(QueryError, match="releases of the construction 'median' alone"):
        learnt.answer_all([TRIANGLES])
    with pytest.raises(QueryError, match="no cut"):
        gc.answer_all([TRIANGLES], GRAPH)
