"""The Net mechanism: what it returns, refuses and prints, and its bound."""

from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.errors import GraphError, HypothesisError, ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.graph.queries import CutQuery, RankOneQuery, answer_all
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.median import DatabaseFamily, all_graphs, small_databases
from graphcuts_dp.iterative.net import release_net

PATH = Graph([0, 1, 2], [1, 2, 3], vertices=["a", "b", "c", "d"])
CUTS = [CutQuery([label]) for label in "abcd"] + [CutQuery(["a", "b"]), CutQuery(["a", "c"])]


def worst_error(made, graph, queries):
    return np.abs(answer_all(queries, made.graph) - answer_all(queries, graph)).max()


def test_a_large_epsilon_returns_a_graph_with_the_same_answers():
    made = release_net(PATH, CUTS, epsilon=50.0, seed=0)
    assert worst_error(made, PATH, CUTS) == 0
    assert made.graph.labels == PATH.labels
    assert not made.graph.weighted


def test_a_net_has_one_member_for_each_way_to_answer():
    degree = release_net(PATH, [CutQuery(["a"])], epsilon=1.0, seed=0)
    assert degree.members == 4  # degrees 0 to 3
    coarse = release_net(PATH, CUTS, epsilon=1.0, alpha=2.0, seed=0)
    fine = release_net(PATH, CUTS, epsilon=1.0, seed=0)
    assert 1 < coarse.members < fine.members <= 64
    assert coarse.error_bound(0.05) >= coarse.alpha == 2.0


def test_a_public_number_of_edges_makes_the_net_smaller():
    family = all_graphs(Universe("abcd"), edges=3)
    made = release_net(PATH, CUTS, epsilon=1.0, family=family, seed=0)
    assert len(made.graph.rows) == 3
    assert made.members <= 20
    assert made.error_bound(0.05) < release_net(PATH, CUTS, epsilon=1.0, seed=0).error_bound(0.05)


def test_members_with_weights_make_a_weighted_graph():
    family = small_databases(Universe("abcd"), total_weight=3.0, size=2)
    made = release_net(PATH, CUTS, epsilon=1.0, family=family, seed=1)
    assert made.graph.weighted
    assert made.graph.weights.sum() == pytest.approx(3.0)


def test_real_coefficients_are_counted_in_small_units():
    rng = np.random.default_rng(0)
    queries = [RankOneQuery(rng.random(4), rng.random(4)) for _ in range(5)]
    made = release_net(PATH, queries, epsilon=50.0, seed=0)
    assert 0 < made.unit < 1e-5
    assert 0 < made.rounding < 1e-4
    assert worst_error(made, PATH, queries) <= made.error_bound(1e-3)


def test_bipartite_graphs():
    graph = BipartiteGraph([0, 1], [1, 0], left=2, right=["x", "y"])
    queries = [CutQuery([0], ["x"]), CutQuery([1], ["x"]), CutQuery([0, 1], ["y"])]
    made = release_net(graph, queries, epsilon=50.0, seed=0)
    assert worst_error(made, graph, queries) == 0
    assert made.graph.shape == (2, 2)


def test_what_is_promised_and_printed():
    made = release_net(PATH, CUTS, epsilon=0.5, seed=3)
    assert made.guarantee.epsilon == 0.5
    assert made.cost.pure == Fraction(1, 2)
    assert not made.guarantee.is_private
    for text in (repr(made), repr(made.graph), str(made.guarantee)):
        assert "seeded: not private" in text
    private = release_net(PATH, CUTS, epsilon=0.5)
    assert private.guarantee.is_private
    assert "seeded" not in repr(private)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"epsilon": 0.0}, ParameterError, "positive"),
        ({"alpha": -1.0}, ParameterError, "alpha"),
        ({"alpha": float("nan")}, ParameterError, "alpha"),
        ({"queries": []}, ParameterError, "at least one query"),
        ({"queries": [CutQuery([])]}, ParameterError, "constant"),
        ({"graph": Graph([], [], vertices=8)}, HypothesisError, r"2\^28 graphs .* release_graph"),
        ({"graph": Graph([0], [1], [0.5], vertices=4)}, GraphError, "without weights"),
        ({"family": all_graphs(Universe(3))}, HypothesisError, "other vertices"),
        ({"family": DatabaseFamily(Universe("abcd"), [[-1.0] * 6])}, HypothesisError, "negative"),
    ],
)
def test_what_is_refused(change, error, message):
    options = {"graph": PATH, "queries": CUTS, "epsilon": 1.0} | change
    with pytest.raises(error, match=message):
        release_net(options.pop("graph"), options.pop("queries"), **options)


def test_a_beta_out_of_range_is_refused():
    with pytest.raises(ParameterError, match="beta"):
        release_net(PATH, CUTS, epsilon=1.0, seed=0).error_bound(1.0)
