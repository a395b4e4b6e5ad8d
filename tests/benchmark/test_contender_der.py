"""The quadtree's regions are disjoint and complete; sets in them are the topology sampler's."""

import math
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import run
from helpers import random_graph

from graphcuts_dp import Graph
from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import quadtree
from scripts.benchmark.contenders.der import DER, pairs_of
from scripts.benchmark.contenders.quadtree import (
    SCALE,
    Budgets,
    cuts_of,
    explored,
    pairs_in,
    parts_of,
    place_in,
)
from scripts.figures.random_graphs import planted_partition


def levels_of(graph, epsilon, seed=2):
    plan = Budgets.of(graph.n, counts=Fraction(epsilon), cuts=Fraction(epsilon))
    return explored(graph, plan, SeededEntropy(seed))


@pytest.mark.parametrize("n", [2, 3, 5, 17, 64])
@pytest.mark.parametrize("epsilon", [0.2, 50])
def test_leaves_are_disjoint_and_cover_all_pairs(n, epsilon):
    """And no pair is in two regions of a depth, so that one edge moves one count of it by 1."""
    graph = random_graph(n, 1, density=0.5)
    leaves, edges = np.zeros((n, n), dtype=int), 0
    for level in levels_of(graph, epsilon):
        assert (level.areas == pairs_in(level.regions)).all()
        inside = np.zeros((n, n), dtype=int)
        for index, region in enumerate(level.regions):
            rows, columns = pairs_of(region, np.arange(level.areas[index]))
            assert (rows < columns).all()
            np.testing.assert_array_equal(place_in(region, rows, columns), np.arange(len(rows)))
            inside[rows, columns] += 1
            if level.leaf[index]:
                leaves[rows, columns] += 1
                own = level.edges[index]
                places = place_in(region, graph.rows[own], graph.columns[own])
                assert ((places >= 0) & (places < level.areas[index])).all()
                edges += len(own)
        assert inside.max() == 1
    np.testing.assert_array_equal(leaves, np.triu(np.ones((n, n), dtype=int), 1))
    assert edges == len(graph.rows)


def test_every_count_and_cut_has_noise_of_its_own_at_the_rate_of_its_depth(watch):
    """Cuts by the exponential mechanism with epsilon over twice the sensitivity."""
    graph = random_graph(60, 2)
    _, scores = cuts_of(np.array([0, 60, 0, 60]), graph.rows, graph.columns)
    drawn = watch(quadtree, "sample_discrete_laplace", lambda rate, size, _: (rate, size))
    chosen = watch(quadtree, "exponential_choice", lambda scores, rate, _: (scores.tolist(), rate))
    plan = Budgets.of(60, counts=Fraction(20), cuts=Fraction(30))
    levels = explored(graph, plan, SeededEntropy(4))
    assert len(levels) > 3
    sizes = [len(level.regions) for level in levels]
    assert drawn == list(zip(plan.counts, sizes, strict=False))
    assert chosen[0][0] == scores.tolist()
    cut = [int((~level.leaf).sum()) for level in levels]
    rates = [rate / (2 * SCALE) for rate, n in zip(plan.cuts, cut, strict=False) for _ in range(n)]
    assert [rate for _, rate in chosen] == rates


@pytest.mark.parametrize("n", [2, 10, 200, 2000])
def test_budgets_add_up(n):
    plan = Budgets.of(n, counts=Fraction(1, 3), cuts=Fraction(2, 7))
    assert (sum(plan.counts), sum(plan.cuts)) == (Fraction(1, 3), Fraction(2, 7))
    assert plan.epsilon == Fraction(1, 3) + Fraction(2, 7)
    assert len(plan.counts) == plan.depth + 1
    ratios = [float(b / a) for a, b in zip(plan.counts, plan.counts[1:], strict=False)]
    root = 2 ** (1 / 3)
    np.testing.assert_allclose(ratios, root, rtol=1e-5)
    left = [root * 4**h - 2 ** (5 * h / 3) for h in (plan.depth - 1, plan.depth)]
    right = (root - 1) * n**2 / 3 / (10 * math.sqrt(2))
    assert left[1] > right
    assert plan.depth == 1 or left[0] <= right


REGIONS = [(0, 12, 0, 12), (3, 9, 3, 9), (0, 5, 5, 12), (1, 3, 7, 9), (2, 3, 3, 12), (4, 6, 4, 6)]


def parted(region, graph):
    """Cuts with the counts and areas of their parts, edge by edge."""
    top, bottom, left, right = region
    pairs = zip(*np.triu_indices(12, 1), strict=True)
    inside = [(i, j) for i, j in pairs if top <= i < bottom and left <= j < right]
    edges, least = graph.dense(), max(1, len(inside) // 16)
    for row in range(top + 1, bottom):
        for column in [row] if top == left else range(left + 1, right):
            parts = {}
            for pair in inside:
                part = (pair[0] >= row, pair[1] >= column)
                count, area = parts.get(part, (0, 0))
                parts[part] = count + int(edges[pair]), area + 1
            full = len(parts) == (3 if top == left else 4)
            if full and min(area for _, area in parts.values()) >= least:
                yield (row, column), [n * least * SCALE // area for n, area in parts.values()]


@pytest.mark.parametrize("region", REGIONS)
def test_scores_of_cuts_are_differences_of_densities(region):
    graph = random_graph(12, 8, density=0.4)
    array = np.array(region)
    kept = (graph.rows >= region[0]) & (graph.rows < region[1])
    kept &= (graph.columns >= region[2]) & (graph.columns < region[3])
    cuts, scores = cuts_of(array, graph.rows[kept], graph.columns[kept])
    found = dict(zip(map(tuple, cuts.tolist()), scores.tolist(), strict=True))
    assert found == {cut: max(each) - min(each) for cut, each in parted(region, graph)}
    for cut in cuts.tolist():
        assert pairs_in(parts_of(array, *cut)).sum() == pairs_in(array[None])[0]


def test_one_pair_moves_scores_by_at_most_their_sensitivity():
    """And by that much in some graph: the noise of the choice is needed."""
    largest = 0
    for seed in range(30):
        graph = random_graph(12, seed, density=0.3)
        region = np.array([0, 12, 0, 12]) if seed % 2 else np.array([0, 6, 6, 12])
        for row, column in ((0, 11), (0, 7), (4, 6)):
            scores = []
            for each in (graph, Graph([*graph.rows, row], [*graph.columns, column], vertices=12)):
                inside = (each.rows < region[1]) & (each.columns >= region[2])
                scores.append(cuts_of(region, each.rows[inside], each.columns[inside])[1])
            largest = max(largest, int(np.abs(scores[0] - scores[1]).max()))
    assert 0.9 * SCALE < largest <= SCALE


def test_it_finds_blocks():
    """At epsilon 8 the share of edges within eight blocks is that of the graph, nearly."""
    graph = planted_partition(240, 8, 0.5, 0.02, seed=0)
    made = run(DER, graph, 8.0, seed=1).estimate
    true, found = (float((g.rows * 8 // 240 == g.columns * 8 // 240).mean()) for g in (graph, made))
    assert true > 0.7
    assert abs(found - true) < 0.08
    assert abs(len(made.rows) - len(graph.rows)) < 0.1 * len(graph.rows)
