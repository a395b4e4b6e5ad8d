"""The Net mechanism: what it returns, refuses and prints, and its bound."""

import numpy as np
import pytest
from offline_calls import choose_from_net

from graphcuts_dp.errors import (
    QueryError,
)
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery, answer_all
from graphcuts_dp.pairs.universe import Universe
from scripts.figures.small_databases import small_databases

PATH = Graph([0, 1, 2], [1, 2, 3], vertices=["a", "b", "c", "d"])
CUTS = [CutQuery([label]) for label in "abcd"] + [CutQuery(["a", "b"]), CutQuery(["a", "c"])]


def worst_error(made, graph, queries):
    return np.abs(answer_all(queries, made.graph) - answer_all(queries, graph)).max()


def test_a_large_epsilon_returns_a_graph_with_the_same_answers():
    made = choose_from_net(PATH, CUTS, epsilon=50.0, seed=0)
    assert worst_error(made, PATH, CUTS) == 0
    assert made.graph.labels == PATH.labels
    assert not made.graph.weighted


def test_a_net_has_one_member_for_each_way_to_answer():
    degree = choose_from_net(PATH, [CutQuery(["a"])], epsilon=1.0, seed=0)
    assert degree.law.members == 4  # degrees 0 to 3
    coarse = choose_from_net(PATH, CUTS, epsilon=1.0, alpha=2.0, seed=0)
    fine = choose_from_net(PATH, CUTS, epsilon=1.0, seed=0)
    assert 1 < coarse.law.members < fine.law.members <= 64
    assert coarse.law.error(0.05) >= coarse.law.alpha == 2.0


def test_a_public_number_of_edges_makes_the_net_smaller():
    family = all_graphs(Universe("abcd"), edges=3)
    made = choose_from_net(PATH, CUTS, epsilon=1.0, family=family, seed=0)
    assert len(made.graph.rows) == 3
    assert made.law.members <= 20
    assert made.law.error(0.05) < choose_from_net(PATH, CUTS, epsilon=1.0, seed=0).law.error(0.05)


def test_members_with_weights_make_a_weighted_graph():
    family = small_databases(Universe("abcd"), total_weight=3.0, size=2)
    made = choose_from_net(PATH, CUTS, epsilon=1.0, family=family, seed=1)
    assert made.graph.weighted
    assert made.graph.weights.sum() == pytest.approx(3.0)


def test_real_coefficients_are_counted_in_small_units():
    rng = np.random.default_rng(0)
    queries = [RankOneQuery(rng.random(4), rng.random(4)) for _ in range(5)]
    made = choose_from_net(PATH, queries, epsilon=50.0, seed=0)
    assert 0 < made.law.unit < 1e-5
    assert 0 < made.law.rounding < 1e-4
    assert worst_error(made, PATH, queries) <= made.law.error(1e-3)


def test_bipartite_graphs():
    graph = BipartiteGraph([0, 1], [1, 0], left=2, right=["x", "y"])
    queries = [CutQuery([0], ["x"]), CutQuery([1], ["x"]), CutQuery([0, 1], ["y"])]
    made = choose_from_net(graph, queries, epsilon=50.0, seed=0)
    assert worst_error(made, graph, queries) == 0
    assert made.graph.shape == (2, 2)


def test_what_is_promised_and_printed():
    made = choose_from_net(PATH, CUTS, epsilon=0.5, seed=3)
    assert made.guarantee.epsilon == 0.5
    for text in (repr(made), repr(made.graph), str(made.guarantee)):
        assert "seeded: not private" in text
    private = choose_from_net(PATH, CUTS, epsilon=0.5)
    assert private.guarantee.is_private
    assert "seeded" not in repr(private)


def test_answers_have_intervals_for_the_queries_of_the_release():
    made = choose_from_net(PATH, CUTS, epsilon=1.0, seed=0)
    for query in CUTS:
        found = made.answer(query, confidence=0.9)
        error = made.law.error(np.nextafter(1 - 0.9, 0))
        assert found.value == answer_all([query], made.graph)[0]
        assert found.interval[0] == pytest.approx(max(0, found.value - error))
        assert (found.confidence, found.simultaneous, found.seeded) == (0.9, True, True)
    other = made.answer(["a"], ["b"])
    assert (other.interval, other.confidence) == ((0, 1), 1)
    differs = MatrixQuery([[0, -1, 2, 0], [-1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]])
    low, high = made.answer(differs).interval
    assert low < 0 < high
    assert made.answer(differs).confidence == 1
    with pytest.raises(QueryError, match="confidence"):
        made.answer(CUTS[0], confidence=1.0)
    with pytest.raises(QueryError, match="not both"):
        made.answer(CUTS[0], ["a"])
