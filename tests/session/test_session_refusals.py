"""What no session can be made of, and what none can be asked: refused in words, for nothing."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, QueryError
from graphcuts_dp.learn.group_start import MOST_GROUPS
from graphcuts_dp.session.session import session_of

PLAIN = gc.Graph([0, 1], [1, 2], vertices=9)
TWO = gc.BipartiteGraph([0, 1], [1, 2], left=9, right=12)
WEIGHTED = gc.Graph([0, 1], [1, 2], [0.5, 3.0], vertices=3, max_weight=3.0)
ARCS = gc.DirectedGraph([0], [1], vertices=3)
LARGE = gc.Graph([0], [1], vertices=9000)
MANY = gc.Graph([0], [1], vertices=MOST_GROUPS + 2)
TERMS = {"epsilon": 1.0, "delta": 1e-6, "queries": 10, "method": "multiplicative-weights"}
GAUSSIAN, LAPLACE, BINARY = ({"method": name} for name in ("gaussian", "laplace", "binary"))
NORMS = {"method": "mirror-descent"}
LINEAR = NORMS | {"linear": True}
SPECTRAL = LINEAR | {"norm": "schatten", "max_spectral_norm": 9.0}
VERTEX = {"privacy_unit": "vertex:max-degree=9"}
GROUPS = {"start": "groups", "groups": gc.Groups(PLAIN.vertices, {"part": list("aaabbbccc")})}
EACH_ALONE = GROUPS | {"groups": gc.Groups(MANY.vertices, {"part": [*map(str, range(MANY.n))]})}


@pytest.mark.thorough(cases=19)
@pytest.mark.parametrize(
    ("graph", "change", "message"),
    [
        (
            PLAIN,
            {"method": "magic"},
            "unknown method 'magic'; choose one of",
        ),
        (PLAIN, {"method": "auto", "calibration": "magic"}, "unknown calibration='magic'"),
        (PLAIN, GAUSSIAN | {"calibration": "gru12"}, "calibration is for methods"),
        (PLAIN, {"epsilon": 0}, "epsilon must be a positive"),
        (PLAIN, {"epsilon": float("nan")}, "epsilon must be"),
        (PLAIN, {"delta": 1.5}, "delta must be"),
        (PLAIN, {"method": "auto", "expected_edges": -3.0}, "edges"),
        (PLAIN, {"epsilon": None}, "a new session needs epsilon"),
        (PLAIN, {"queries": 0}, "queries must be"),
        (PLAIN, {"queries": None}, "a new session needs queries"),
        (PLAIN, {"beta": 1.0}, "beta must be"),
        (PLAIN, {"beta": 0.0}, "beta must be"),
        (PLAIN, {"beta": 1e-320}, "beta must be"),
        (PLAIN, {"delta": 0.0}, "needs delta"),
        (PLAIN, GAUSSIAN | {"delta": 0.0}, "needs delta"),
        (PLAIN, {"value_share": 1.0}, "value_share must be"),
        (PLAIN, {"value_share": 0.5, "calibration": "dr14"}, "value_share is for calibration"),
        (LARGE, {}, "use construction='frieze-kannan'"),
        (WEIGHTED, BINARY, "use method 'laplace'"),
        (PLAIN, BINARY | VERTEX, "not possible here"),
        (PLAIN, GROUPS | {"start": "degrees"}, "unknown start='degrees'; choose one of 'total'"),
        (PLAIN, GROUPS | GAUSSIAN, "start is for methods 'multiplicative-weights'"),
        (PLAIN, GROUPS | NORMS, "norm 'l2' or 'entropy'"),
        (PLAIN, GROUPS | NORMS | {"norm": "lp"}, "norm 'l2' or 'entropy'"),
        (PLAIN, GROUPS | {"calibration": "gru12"}, "calibration 'tight'"),
        (PLAIN, {"start": "groups"}, "give groups="),
        (MANY, {"method": "frieze-kannan"} | EACH_ALONE, "at most 2,048 groups"),
        (PLAIN, GROUPS | VERTEX, "privacy_unit='vertex' use 'total'"),
        (PLAIN, GROUPS | LINEAR | {"norm": "l2"}, "is for cuts"),
        (TWO, NORMS | {"norm": "max"}, "unknown norm 'max'"),
        (TWO, NORMS | {"norm": "2,3"}, "exponent p"),
        (TWO, NORMS | {"max_right_size": 0}, "max_right_size must be"),
        (TWO, GAUSSIAN | {"norm": "l2"}, "norm is for method 'mirror-descent'"),
        (TWO, {"method": "auto", "norm": "l2"}, "norm is for method 'mirror-descent'"),
        (TWO, NORMS | VERTEX | {"norm": "2,p"}, "whose noise for a vertex would hide everything"),
        (PLAIN, NORMS | {"norm": "2,p"}, "for bipartite graphs"),
        (
            PLAIN,
            NORMS | {"norm": "l2", "max_right_size": 2},
            "max_right_size is for bipartite graphs",
        ),
        (TWO, {"linear": True}, "needs a method that answers every linear"),
        (TWO, LINEAR | {"disjoint": True}, "disjoint=True is for cuts"),
        (TWO, LINEAR | {"max_spectral_norm": 0.5}, "max_spectral_norm must be a number from 1 on"),
        (
            TWO,
            NORMS | {"max_spectral_norm": 9.0},
            "max_spectral_norm is for method 'mirror-descent'",
        ),
        (
            TWO,
            GAUSSIAN | {"max_spectral_norm": 9.0, "linear": True},
            "max_spectral_norm is for method",
        ),
        (TWO, LINEAR | VERTEX, "answers bounded cuts"),
        (WEIGHTED, {"method": "median"}, "the median lists graphs without weights"),
        (PLAIN, {"method": "median"}, "up to 16 vertex pairs"),
        (PLAIN, VERTEX | {"method": "median"}, "has no bounded cuts"),
        (PLAIN, LAPLACE | {"name": "a\nb"}, "printable"),
        (PLAIN, LAPLACE | {"seed": -1}, "seed"),
        (PLAIN, LAPLACE | {"wings": 2}, "unknown option 'wings' of a session"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_no_store(tmp_path, graph, change, message):
    with pytest.raises(ParameterError, match=message):
        session_of(graph, store=tmp_path / "a.db", **(TERMS | change))
    assert not list(tmp_path.iterdir())


FK, MW = {"method": "frieze-kannan"}, {"method": "multiplicative-weights"}
TRIANGLES = gc.Query.statistic("triangles")
MATRIX = gc.Query.matrix(np.add.outer(np.arange(9), np.arange(9)) / 7)
RANK_ONE = gc.Query.rank_one(np.full(9, 0.6), np.full(9, 0.6))
ENDLESS = gc.Graph([0, 1], [1, 2], [0.5, 3.0], vertices=9, max_weight_change=1)


@pytest.mark.thorough(cases=8)
@pytest.mark.usefixtures("no_forecast")
@pytest.mark.parametrize(
    ("graph", "change", "query", "message"),
    [
        (PLAIN, MW, TRIANGLES, "no cut"),
        (PLAIN, FK, TRIANGLES, "no cut"),
        (PLAIN, BINARY, TRIANGLES, "no cut"),
        (ARCS, {"method": "median"}, TRIANGLES, "one vertex set"),
        (WEIGHTED, LAPLACE, TRIANGLES, "without weights"),
        (PLAIN, LAPLACE | VERTEX, TRIANGLES, "all edges of a vertex"),
        (TWO, LINEAR, TRIANGLES, "statistics of whole graphs"),
        (PLAIN, FK, MATRIX, "'mirror-descent' answer every linear"),
        (PLAIN, MW, RANK_ONE, "'mirror-descent' answer every linear"),
        (PLAIN, BINARY, MATRIX, "follow its noise"),
        (PLAIN, BINARY | {"disjoint": True}, RANK_ONE, r"u \+ v of a rank-one query must be at"),
        (PLAIN, FK | {"disjoint": True}, gc.CutQuery([1, 2], [2, 3]), "only cuts with disjoint"),
        (
            TWO,
            NORMS | {"max_right_size": 2},
            gc.CutQuery([0], [1, 2, 3]),
            "at most 2 right vertices",
        ),
        (PLAIN, LAPLACE | VERTEX, MATRIX, "answers bounded cuts"),
        (ENDLESS, LAPLACE, MATRIX, "give the graph a max_weight"),
        (PLAIN, LAPLACE, "ann", "a list of labels, not the string 'ann'"),
        (PLAIN, LAPLACE, 5, "a list of labels, not 5"),
        (PLAIN, LAPLACE, ["ann"], "unknown vertex 'ann'"),
        (PLAIN, LAPLACE, np.ones(3, dtype=bool), "truth"),
        (PLAIN, LAPLACE, [1.5], "unknown vertex"),
        (PLAIN, LAPLACE, [0, True], "unknown vertex"),
        (TWO, LAPLACE, [0, 11], "a vertex of both sides"),
        (TWO, LAPLACE, [99], "on neither side"),
        (TWO, SPECTRAL, gc.Query.matrix(np.ones((9, 12))), "largest singular value is 10"),
    ],
)
def test_a_query_that_does_not_fit_is_refused_and_costs_nothing(
    tmp_path, graph, change, query, message
):
    with session_of(graph, store=tmp_path / "a.db", **(TERMS | change)) as session:
        with pytest.raises(QueryError, match=message):
            session.ask(query)
        assert (session.remaining.queries, session.status.interruptions) == (10, 0)
        assert session.ask([0], [1]).queries_left == 9


@pytest.mark.usefixtures("no_forecast")
@pytest.mark.parametrize("queries", [gc.CutQuery([0]), None, 5])
def test_what_is_no_list_of_queries_is_refused_and_costs_nothing(tmp_path, queries):
    with session_of(PLAIN, store=tmp_path / "a.db", **(TERMS | LAPLACE)) as session:
        for ask in (session.ask_all, session.cost):
            with pytest.raises(QueryError, match="queries are a list of queries, not "):
                ask(queries)
        assert (session.remaining.queries, session.status.interruptions) == (10, 0)
