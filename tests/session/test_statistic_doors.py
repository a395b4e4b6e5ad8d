"""Statistics of the whole graph beside other queries, and at doors that cannot answer them."""

import json
import re

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import QueryError
from graphcuts_dp.learn.median import DatabaseFamily
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.pairs.query_lines import query_title, query_to_dict, read_asked, read_linear
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.session.session import session_of

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

GRAPH = gc.Graph([0, 1, 2, 0, 3], [1, 2, 0, 3, 4], vertices=5)
TRIANGLES = gc.Query.statistic("triangles")
MIXED = [
    TRIANGLES,
    CutQuery([0]),
    RankOneQuery(np.full(5, 0.5), np.full(5, 0.25)),
    MatrixQuery(np.triu(np.arange(25.0).reshape(5, 5), 1)),
    gc.Query.statistic("max-cut"),
]
TERMS = {"epsilon": 50.0, "delta": 1e-6, "queries": 10, "seed": 5}


@pytest.mark.parametrize("method", ["gaussian", "laplace"])
def test_one_list_may_hold_every_kind(method, tmp_path):
    with session_of(GRAPH, store=tmp_path / "a.db", method=method, **TERMS) as session:
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
    again = [read_asked(json.dumps(line), 1, space) for line in asked]
    assert again[0] == TRIANGLES
    assert [query.value(GRAPH) for query in again] == pytest.approx(
        [query.value(GRAPH) for query in MIXED]
    )


def test_the_median_takes_cuts_and_statistics_and_shows_what_it_learnt(tmp_path):
    with session_of(GRAPH, store=tmp_path / "a.db", method="median", **TERMS) as session:
        session.ask_all([MIXED[0], MIXED[1], MIXED[4]])
        for other in MIXED[2:4]:
            with pytest.raises(QueryError, match="learns from cuts"):
                session.ask(other)
        assert session.remaining.queries == 7
        learnt = session.hypothesis
        assert learnt.shape == (5, 5)
        assert np.array_equal(learnt, learnt.T)
        assert not learnt.diagonal().any()
        assert session.norm is None


def test_a_family_is_shown_by_the_medians_of_its_pairs():
    plain = DatabaseFamily(Universe(3), [[0, 0, 1], [0, 1, 1], [1, 1, 1]])
    assert np.array_equal(plain.median_weights(), [[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    sides = DatabaseFamily(Universe(1, 2), [[0.5, 2.0]])
    assert np.array_equal(sides.median_weights(), [[0.5, 2.0]])


def test_a_statistic_has_a_line_and_a_title():
    space, universe = GRAPH.space, Universe(5)
    line = '{"statistic": "min-cut"}'
    assert query_to_dict(read_asked(line, None, space), universe) == json.loads(line)
    assert query_title(TRIANGLES, universe) == "triangles"
    with pytest.raises(QueryError, match=r"^line 3 of the queries: 'min-cut' is no cut"):
        read_linear(line, 3, space)
    assert read_linear('{"S": [0]}', 3, space).S == (0,)


def test_releases_refuse_statistics():
    release = gc.release_graph(GRAPH, epsilon=2.0, seed=1)
    learnt = gc.release_iteratively(GRAPH, epsilon=20.0, delta=1e-3, seed=1)
    with pytest.raises(QueryError, match="no cut"):
        release.answer_all([TRIANGLES])
    with pytest.raises(QueryError, match="releases of the construction 'median' alone"):
        learnt.answer_all([TRIANGLES])
    with pytest.raises(QueryError, match="no cut"):
        gc.answer_all([TRIANGLES], GRAPH)


@pytest.mark.parametrize("wrong", ["--to 1", "--complement", "--query {}", "--from 1"])
def test_a_statistic_is_asked_alone(wrong, tmp_path, monkeypatch, capsys):
    from graphcuts_dp.cli import main

    monkeypatch.chdir(tmp_path)
    with session_of(GRAPH, store="a.db", method="laplace", **TERMS):
        pass
    words = ["session", "ask", "a.db", "--statistic", "triangles", *wrong.split()]
    monkeypatch.setattr("sys.argv", ["graphcuts-dp", *words])
    assert main._status() == 2
    assert re.match("error: (give either sets|leave out --to)", capsys.readouterr().err)
