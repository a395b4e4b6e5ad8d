"""The quadtree's regions are disjoint and complete; sets in them are the topology sampler's."""

import math
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import run
from helpers import random_graph

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.noise import SeededEntropy
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


def budgets(n, epsilon):
    return Budgets.of(n, counts=epsilon, cuts=epsilon)


@pytest.mark.parametrize("n", [2, 3, 5, 17, 64, 101])
@pytest.mark.parametrize("epsilon", [0.2, 50])
def test_leaves_are_disjoint_and_cover_all_pairs(n, epsilon):
    graph = random_graph(n, 1, density=0.5)
    levels = explored(graph, budgets(n, Fraction(epsilon)), SeededEntropy(2))
    covered = np.zeros((n, n), dtype=int)
    edges = 0
    for level in levels:
        assert (level.areas == pairs_in(level.regions)).all()
        for index in np.flatnonzero(level.leaf):
            region, own = level.regions[index], level.edges[index]
            rows, columns = pairs_of(region, np.arange(level.areas[index]))
            assert (rows < columns).all()
            np.testing.assert_array_equal(place_in(region, rows, columns), np.arange(len(rows)))
            covered[rows, columns] += 1
            places = place_in(region, graph.rows[own], graph.columns[own])
            assert ((places >= 0) & (places < level.areas[index])).all()
            edges += len(own)
    np.testing.assert_array_equal(covered, np.triu(np.ones((n, n), dtype=int), 1))
    assert edges == len(graph.rows)


def test_a_pair_is_in_one_region_of_each_depth():
    """So one edge more moves one count of a depth by 1: the sensitivity that is stated."""
    graph = random_graph(40, 3)
    levels = explored(graph, budgets(40, Fraction(50)), SeededEntropy(1))
    assert len(levels) > 3
    for level in levels:
        inside = np.zeros((40, 40), dtype=int)
        for region, area in zip(level.regions, level.areas, strict=True):
            inside[pairs_of(region, np.arange(area))] += 1
        assert inside.max() == 1


def test_counts_are_noisy_at_the_stated_rate():
    """The first count, of all edges, at rate 0.3: variance 22."""
    graph, runs = random_graph(30, 4), 3000
    source, truth = SeededEntropy(3), len(random_graph(30, 4).rows)
    plan = Budgets((Fraction(3, 10),), ())
    noise = np.array([explored(graph, plan, source)[0].counts[0] - truth for _ in range(runs)])
    variance = 1 / (2 * math.sinh(0.15) ** 2)
    assert abs(noise.mean()) < 6 * (variance / runs) ** 0.5
    # The fourth moment of Laplace noise is 6 variance^2 or so: of its square the variance is 5.
    assert abs((noise**2).mean() / variance - 1) < 6 * (5.5 / runs) ** 0.5


def test_every_count_has_noise_of_its_own_at_the_rate_of_its_depth(monkeypatch):
    seen, draw = [], quadtree.sample_discrete_laplace

    def spy(rate, size, source):
        seen.append((rate, size))
        return draw(rate, size, source)

    monkeypatch.setattr(quadtree, "sample_discrete_laplace", spy)
    plan = budgets(60, Fraction(20))
    levels = explored(random_graph(60, 2), plan, SeededEntropy(4))
    assert len(levels) > 3
    sizes = [len(level.regions) for level in levels]
    assert seen == list(zip(plan.counts, sizes, strict=False))


def test_cuts_are_chosen_at_the_stated_rates(monkeypatch):
    """By the exponential mechanism with epsilon over twice the sensitivity, at each depth."""
    graph = planted_partition(12, 2, 0.9, 0.1, seed=1)
    _, scores = cuts_of(np.array([0, 12, 0, 12]), graph.rows, graph.columns)
    seen, choose = [], quadtree.exponential_choice

    def spy(scores, rate, source):
        seen.append((scores.tolist(), rate))
        return choose(scores, rate, source)

    monkeypatch.setattr(quadtree, "exponential_choice", spy)
    plan = Budgets((Fraction(50),) * 3, (Fraction(3), Fraction(5)))
    explored(graph, plan, SeededEntropy(1))
    assert seen[0] == (scores.tolist(), Fraction(3) / (2 * SCALE))
    assert len(seen) > 1
    assert {rate for _, rate in seen[1:]} == {Fraction(5) / (2 * SCALE)}


@pytest.mark.parametrize("n", [2, 10, 200, 2000])
def test_budgets_add_up(n):
    plan = Budgets.of(n, counts=Fraction(1, 3), cuts=Fraction(2, 7))
    assert sum(plan.counts) == Fraction(1, 3)
    assert sum(plan.cuts) == Fraction(2, 7)
    assert plan.epsilon == Fraction(1, 3) + Fraction(2, 7)
    assert len(plan.counts) == plan.depth + 1
    ratios = [float(b / a) for a, b in zip(plan.counts, plan.counts[1:], strict=False)]
    np.testing.assert_allclose(ratios, 2 ** (1 / 3), rtol=1e-5)
    root = 2 ** (1 / 3)
    left = [root * 4**h - 2 ** (5 * h / 3) for h in (plan.depth - 1, plan.depth)]
    right = (root - 1) * n**2 / 3 / (10 * math.sqrt(2))
    assert left[1] > right
    assert plan.depth == 1 or left[0] <= right


REGIONS = [(0, 12, 0, 12), (3, 9, 3, 9), (0, 5, 5, 12), (1, 3, 7, 9), (2, 3, 3, 12), (4, 6, 4, 6)]


def parted(region, graph):
    """Cuts with the counts and areas of their parts, edge by edge."""
    top, bottom, left, right = region
    inside = [
        (row, column)
        for row, column in zip(*np.triu_indices(12, 1), strict=True)
        if top <= row < bottom and left <= column < right
    ]
    edges = graph.dense()
    for row in range(top + 1, bottom):
        for column in [row] if top == left else range(left + 1, right):
            parts = {}
            for pair in inside:
                part = (pair[0] >= row, pair[1] >= column)
                count, area = parts.get(part, (0, 0))
                parts[part] = count + int(edges[pair]), area + 1
            full = len(parts) == (3 if top == left else 4)
            if full and min(area for _, area in parts.values()) >= max(1, len(inside) // 16):
                yield (row, column), list(parts.values()), max(1, len(inside) // 16)


@pytest.mark.parametrize("region", REGIONS)
def test_scores_of_cuts_are_differences_of_densities(region):
    graph = random_graph(12, 8, density=0.4)
    array = np.array(region)
    kept = (graph.rows >= region[0]) & (graph.rows < region[1])
    kept &= (graph.columns >= region[2]) & (graph.columns < region[3])
    cuts, scores = cuts_of(array, graph.rows[kept], graph.columns[kept])
    expected = {
        cut: [count * least * SCALE // area for count, area in parts]
        for cut, parts, least in parted(region, graph)
    }
    assert set(map(tuple, cuts.tolist())) == set(expected)
    for cut, score in zip(cuts.tolist(), scores.tolist(), strict=True):
        assert score == max(expected[tuple(cut)]) - min(expected[tuple(cut)])
        parts = parts_of(array, *cut)
        assert pairs_in(parts).sum() == pairs_in(array[None])[0]


def test_one_pair_moves_scores_by_at_most_their_sensitivity():
    """And by that much in some graph: the noise of the choice is needed."""
    largest = 0
    for seed in range(30):
        graph = random_graph(12, seed, density=0.3)
        region = np.array([0, 12, 0, 12]) if seed % 2 else np.array([0, 6, 6, 12])
        for row, column in ((0, 11), (0, 7), (4, 6)):
            rows, columns = [*graph.rows, row], [*graph.columns, column]
            scores = []
            for each in (graph, Graph(rows, columns, vertices=12)):
                inside = (each.rows < region[1]) & (each.columns >= region[2])
                scores.append(cuts_of(region, each.rows[inside], each.columns[inside])[1])
            largest = max(largest, int(np.abs(scores[0] - scores[1]).max()))
    assert 0.9 * SCALE < largest <= SCALE


def test_it_finds_blocks():
    """At epsilon 8 the share of edges within eight blocks is that of the graph, nearly."""
    graph = planted_partition(240, 8, 0.5, 0.02, seed=0)
    made = run(DER, graph, 8.0, seed=1)
    shares = [
        float((each.rows * 8 // 240 == each.columns * 8 // 240).mean())
        for each in (graph, made.estimate)
    ]
    assert shares[0] > 0.7
    assert abs(shares[1] - shares[0]) < 0.08
    assert abs(len(made.estimate.rows) - len(graph.rows)) < 0.1 * len(graph.rows)
    assert made.guarantee.epsilon == 8.0
    assert sum(share for _, share in made.guarantee.parts) == pytest.approx(8.0)
    assert made.estimate == run(DER, graph, 8.0, seed=1).estimate


def test_without_noise_it_is_the_graph():
    """At epsilon 50 in all: counts with noise of rate 5 at least, and sets of rate 16."""
    graph = random_graph(14, 5)
    assert run(DER, graph, 50.0, seed=1).estimate == graph  # with this seed
