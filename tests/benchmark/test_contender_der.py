"""The quadtree's regions are disjoint and complete; sets in them are the topology sampler's."""

import math
from collections.abc import Iterator
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


def levels_of(graph: Graph, epsilon: float, seed: int = 2) -> list[quadtree.RegionLevel]:
    plan = Budgets.of(graph.n, counts=Fraction(epsilon), cuts=Fraction(epsilon))
    return explored(graph, plan, SeededEntropy(seed))


@pytest.mark.parametrize("n", [2, 3, 5, 17, 64])
@pytest.mark.parametrize("epsilon", [0.2, 50])
def test_leaves_are_disjoint_and_cover_all_pairs(n, epsilon):
    """No pair is in two regions of a depth, so one edge changes one count of each depth by 1."""
    graph = random_graph(n, 1, density=0.5)
    leaves_of_pair, edges = np.zeros((n, n), dtype=int), 0
    for level in levels_of(graph, epsilon):
        assert (level.areas == pairs_in(level.regions)).all()
        regions_of_pair = np.zeros((n, n), dtype=int)
        for index, region in enumerate(level.regions):
            rows, columns = pairs_of(region, np.arange(level.areas[index]))
            assert (rows < columns).all()
            np.testing.assert_array_equal(place_in(region, rows, columns), np.arange(len(rows)))
            regions_of_pair[rows, columns] += 1
            if level.leaf[index]:
                leaves_of_pair[rows, columns] += 1
                edge_indices = level.edges[index]
                pair_indices = place_in(
                    region, graph.rows[edge_indices], graph.columns[edge_indices]
                )
                assert ((pair_indices >= 0) & (pair_indices < level.areas[index])).all()
                edges += len(edge_indices)
        assert regions_of_pair.max() == 1
    np.testing.assert_array_equal(leaves_of_pair, np.triu(np.ones((n, n), dtype=int), 1))
    assert edges == len(graph.rows)


def test_every_count_and_cut_has_noise_of_its_own_at_the_rate_of_its_depth(watch):
    """The exponential mechanism has a rate of epsilon over twice the sensitivity of scores."""
    graph = random_graph(60, 2)
    _, scores = cuts_of(np.array([0, 60, 0, 60]), graph.rows, graph.columns)
    noise_calls = watch(quadtree, "sample_discrete_laplace", lambda rate, size, _: (rate, size))
    choice_calls = watch(
        quadtree, "exponential_choice", lambda scores, rate, _: (scores.tolist(), rate)
    )
    plan = Budgets.of(60, counts=Fraction(20), cuts=Fraction(30))
    levels = explored(graph, plan, SeededEntropy(4))
    assert len(levels) > 3
    sizes = [len(level.regions) for level in levels]
    assert noise_calls == list(zip(plan.counts, sizes, strict=False))
    assert choice_calls[0][0] == scores.tolist()
    cuts_of_depth = [int((~level.leaf).sum()) for level in levels]
    rates = [
        epsilon / (2 * SCALE)
        for epsilon, cuts in zip(plan.cuts, cuts_of_depth, strict=False)
        for _ in range(cuts)
    ]
    assert [rate for _, rate in choice_calls] == rates


@pytest.mark.parametrize("n", [2, 10, 200, 2000])
def test_budgets_of_depths_add_up_and_grow_by_the_stated_ratio(n):
    plan = Budgets.of(n, counts=Fraction(1, 3), cuts=Fraction(2, 7))
    assert (sum(plan.counts), sum(plan.cuts)) == (Fraction(1, 3), Fraction(2, 7))
    assert plan.epsilon == Fraction(1, 3) + Fraction(2, 7)
    assert len(plan.counts) == plan.depth + 1
    ratios = [float(b / a) for a, b in zip(plan.counts, plan.counts[1:], strict=False)]
    root = 2 ** (1 / 3)
    np.testing.assert_allclose(ratios, root, rtol=1e-5)
    # The depth h is the least whose value is above the limit; see `Budgets.of`.
    values = [root * 4**depth - 2 ** (5 * depth / 3) for depth in (plan.depth - 1, plan.depth)]
    limit = (root - 1) * n**2 / 3 / (10 * math.sqrt(2))
    assert values[1] > limit
    assert plan.depth == 1 or values[0] <= limit


REGIONS = [(0, 12, 0, 12), (3, 9, 3, 9), (0, 5, 5, 12), (1, 3, 7, 9), (2, 3, 3, 12), (4, 6, 4, 6)]


def densities_by_cut(
    region: tuple[int, int, int, int], graph: Graph
) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """Yield each cut of a region with the scaled densities of its parts, counted pair by pair."""
    top, bottom, left, right = region
    pairs = zip(*np.triu_indices(12, 1), strict=True)
    inside = [(i, j) for i, j in pairs if top <= i < bottom and left <= j < right]
    edges, least_area = graph.dense(), max(1, len(inside) // 16)
    for row in range(top + 1, bottom):
        for column in [row] if top == left else range(left + 1, right):
            parts = {}
            for pair in inside:
                part = (pair[0] >= row, pair[1] >= column)
                count, area = parts.get(part, (0, 0))
                parts[part] = count + int(edges[pair]), area + 1
            all_parts = len(parts) == (3 if top == left else 4)
            if all_parts and min(area for _, area in parts.values()) >= least_area:
                yield (row, column), [n * least_area * SCALE // area for n, area in parts.values()]


@pytest.mark.parametrize("region", REGIONS)
def test_scores_of_cuts_are_differences_of_densities(region):
    graph = random_graph(12, 8, density=0.4)
    array = np.array(region)
    inside = (graph.rows >= region[0]) & (graph.rows < region[1])
    inside &= (graph.columns >= region[2]) & (graph.columns < region[3])
    cuts, scores = cuts_of(array, graph.rows[inside], graph.columns[inside])
    score_of_cut = dict(zip(map(tuple, cuts.tolist()), scores.tolist(), strict=True))
    assert score_of_cut == {
        cut: max(densities) - min(densities) for cut, densities in densities_by_cut(region, graph)
    }
    for cut in cuts.tolist():
        assert pairs_in(parts_of(array, *cut)).sum() == pairs_in(array[None])[0]


def test_one_pair_changes_scores_by_at_most_their_sensitivity_and_nearly_so_in_some_graph():
    largest = 0
    for seed in range(30):
        graph = random_graph(12, seed, density=0.3)
        region = np.array([0, 12, 0, 12]) if seed % 2 else np.array([0, 6, 6, 12])
        for row, column in ((0, 11), (0, 7), (4, 6)):
            neighbour = Graph([*graph.rows, row], [*graph.columns, column], vertices=12)
            scores = []
            for g in (graph, neighbour):
                inside = (g.rows < region[1]) & (g.columns >= region[2])
                scores.append(cuts_of(region, g.rows[inside], g.columns[inside])[1])
            largest = max(largest, int(np.abs(scores[0] - scores[1]).max()))
    assert 0.9 * SCALE < largest <= SCALE


def test_a_release_has_nearly_as_many_edges_within_blocks_as_the_graph():
    graph = planted_partition(240, 8, 0.5, 0.02, seed=0)
    estimate = run(DER, graph, 8.0, seed=1).estimate
    share, estimated_share = (
        float((g.rows * 8 // 240 == g.columns * 8 // 240).mean()) for g in (graph, estimate)
    )
    assert share > 0.7
    assert abs(estimated_share - share) < 0.08
    assert abs(len(estimate.rows) - len(graph.rows)) < 0.1 * len(graph.rows)
