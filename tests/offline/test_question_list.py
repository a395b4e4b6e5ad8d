"""Lists of any linear queries and of statistics: exact counts, and what one pair can move."""

from fractions import Fraction

import numpy as np
import pytest
from helpers import random_graph

from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.offline.distinguisher import Exponential
from graphcuts_dp.offline.query_lists import QuestionList, Scoring
from graphcuts_dp.pairs.graph_queries import GraphQuery, exact_sums
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy

GRAPHS = {
    "plain": random_graph(7, 1, density=0.5),
    "directed": random_graph(7, 1, density=0.5, directed=True),
    "bipartite": random_graph((4, 6), 1, density=0.5, largest=5.0, weight_cap=5.0),
}


def queries_of(universe, seed=2):
    rng = np.random.default_rng(seed)
    rows, columns = universe.shape
    return [
        MatrixQuery(rng.normal(size=(rows, columns)) * 3),
        RankOneQuery(rng.random(rows), rng.random(columns)),
        CutQuery([0, 1], [2, 3]),
        MatrixQuery(-np.abs(rng.normal(size=(rows, columns)))),
    ]


@pytest.mark.parametrize("kind", GRAPHS)
def test_answers_are_those_of_the_queries_over_the_largest_coefficient(kind):
    graph = GRAPHS[kind]
    universe, grid = Universe.of(graph), Grid.of(graph)
    queries = queries_of(universe)
    listed = QuestionList(universe, queries)
    assert listed.scale == pytest.approx(max(q.sensitivity(universe.space) for q in queries))
    assert listed.signed
    truth = np.array([query.value(graph) for query in queries]) / listed.scale
    scoring = Scoring(universe, grid, "two-signed")
    off = listed.rounding(grid) + grid.rounding(universe.size)
    np.testing.assert_allclose(
        listed.scored(graph, scoring) * scoring.unit, truth, atol=off + scoring.unit
    )
    counted = [listed.counted(own, graph, grid) * grid.unit for own in listed]
    np.testing.assert_allclose(counted, truth, atol=off)
    hypothesis = DenseHypothesis(universe, graph.dense())
    np.testing.assert_allclose(listed.answers(hypothesis), truth)
    assert [listed.given(own)[0] for own in listed] == list(listed.asked)
    assert all(query in listed for query in queries)
    assert MatrixQuery(np.ones(universe.shape)) not in listed
    assert queries[0] in listed[:1]
    assert queries[1] not in listed[:1]


@pytest.mark.parametrize("kind", GRAPHS)
def test_no_pair_moves_a_score_or_a_count_by_more_than_is_paid_for(kind):
    """Every pair taken away, or its weight made the cap; the largest moves are reached."""
    graph = GRAPHS[kind]
    universe, grid = Universe.of(graph), Grid.of(graph)
    listed = QuestionList(universe, queries_of(universe))
    scoring = Scoring(universe, grid, "two-signed")
    base = listed.scored(graph, scoring)
    counts = np.array([listed.counted(own, graph, grid) for own in listed])
    most = most_count = 0
    for i, j in zip(*universe.pairs(), strict=True):
        edges = zip(graph.rows, graph.columns, graph.weights, strict=True)
        weights = {(a, b): weight for a, b, weight in edges}
        present = weights.pop((i, j), weights.pop((j, i), None) if kind == "plain" else None)
        if present is None:
            weights[i, j] = graph.weight_cap
        ends = np.array(list(weights)).T
        if kind == "bipartite":
            other = BipartiteGraph(*ends, list(weights.values()), left=4, right=6, weight_cap=5.0)
        else:
            other = type(graph)(*ends, vertices=7)
        most = max(most, np.abs(listed.scored(other, scoring) - base).max())
        moved = [listed.counted(own, other, grid) for own in listed] - counts
        most_count = max(most_count, np.abs(moved).max())
    assert 0.5 * scoring.sensitivity < most <= scoring.sensitivity
    assert 0.5 * grid.sensitivity < most_count <= grid.sensitivity


def test_statistics_are_counted_in_their_steps():
    universe = Universe(5)
    listed = QuestionList(universe, [GraphQuery("triangles"), GraphQuery("max-cut"), CutQuery([0])])
    family = all_graphs(Universe(5))
    scoring = Scoring(universe, Grid(), "two-signed")
    for bits in range(0, 1024, 37):
        present = family.databases[bits] > 0
        rows, columns = (ends[present] for ends in universe.pairs())
        graph = Graph(rows, columns, vertices=5)
        found = [listed.counted(own, graph, Grid()) for own in listed]
        expected = [GraphQuery("triangles").value(graph) // 3, GraphQuery("max-cut").value(graph)]
        assert found[:2] == expected
        assert (listed.scored(graph, scoring) == np.array(found) * scoring.substeps).all()
        own = type(family)(universe, family.databases[bits : bits + 1])
        np.testing.assert_array_equal(listed.answers(own), found)
    assert listed.given(listed[0]) == (GraphQuery("triangles"), 3.0)
    assert GraphQuery("min-cut") not in listed
    assert GraphQuery("triangles") in listed


def test_sums_of_products_are_exact():
    rng = np.random.default_rng(5)
    coefficients = rng.integers(-(2**30), 2**30 + 1, size=(6, 50))
    weights = rng.integers(0, 2**52, size=50)
    expected = [
        sum(int(c) * int(w) for c, w in zip(row, weights, strict=True)) for row in coefficients
    ]
    assert exact_sums(coefficients, weights) == expected


def test_the_worst_query_is_found_when_epsilon_is_large():
    graph = GRAPHS["bipartite"]
    universe, grid = Universe.of(graph), Grid.of(graph)
    listed = QuestionList(universe, queries_of(universe))
    search = Exponential(queries=listed, epsilon=Fraction(10**4), grid=grid).begin(
        graph, SeededEntropy(1)
    )
    for level in (0.0, 2.5, 5.0):
        hypothesis = DenseHypothesis.constant(universe, level)
        gaps = np.array([q.value(graph) for q in listed.asked]) / listed.scale - listed.answers(
            hypothesis
        )
        found = search.find(hypothesis, SeededEntropy(2))
        worst = int(np.argmax(np.abs(gaps)))
        assert found.query is listed[worst]
        assert found.sign == np.sign(gaps[worst])
