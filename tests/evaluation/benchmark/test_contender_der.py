"""The quadtree's regions are disjoint and complete, and edges in them have the stated law."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from helpers import random_graph

from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.evaluation.audit import clopper_pearson
from graphcuts_dp.evaluation.audits.contenders_regions import arrangements
from graphcuts_dp.evaluation.benchmark.contenders import der
from graphcuts_dp.evaluation.benchmark.contenders.der import DER, arranged, pairs_of
from graphcuts_dp.evaluation.benchmark.contenders.quadtree import (
    depth_of,
    explored,
    pairs_in,
    place_in,
)
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.random_graphs import planted_partition
from graphcuts_dp.privacy.entropy import SeededEntropy

ALPHA = 1e-9


def submitted(graph, epsilon=1.0, seed=1):
    return DER.method(graph, epsilon=epsilon, delta=0.0, groups=None, seed=seed)


def wrong_by_luck(seen, runs, chance):
    low, high = clopper_pearson(seen, runs, ALPHA / 2)
    return not low <= chance <= high


@pytest.mark.parametrize("edges", [(0, 1), (2, 3, 5), ()])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_sets_in_a_region_have_their_chances(edges, count):
    """Of all sets of six pairs; the law of the first pairs being edges, by renaming."""
    source, runs, rate = SeededEntropy(7), 2500, Fraction(3, 2)
    names = [*edges, *(place for place in range(6) if place not in edges)]
    law = {
        frozenset(names[place] for place in each): chance
        for each, chance in zip(
            itertools.combinations(range(6), count),
            arrangements(len(edges), count, float(rate)),
            strict=True,
        )
    }
    seen = dict.fromkeys(law, 0)
    for _ in range(runs):
        places = arranged(np.array(edges, dtype=np.int64), 6, count, rate=rate, source=source)
        assert (np.diff(places) > 0).all()
        seen[frozenset(places.tolist())] += 1
    assert not [each for each in law if wrong_by_luck(seen[each], runs, law[each])]
    if edges and count == 1:  # without the rate it would be another law
        assert [each for each in law if wrong_by_luck(seen[each], runs, 1 / 6)]


def test_all_and_none_of_a_region():
    edges, source = np.array([1, 4]), SeededEntropy(1)
    assert arranged(edges, 6, 0, rate=Fraction(1), source=source).tolist() == []
    assert arranged(edges, 6, 6, rate=Fraction(1), source=source).tolist() == list(range(6))
    assert arranged(np.arange(3), 3, 2, rate=Fraction(1), source=source).size == 2


def test_float_logarithms_are_as_near_as_is_stated():
    """Else the draw would not be exact: against integers and decimals, in a large region."""
    edges, pairs, count = 3000, 1_000_000, 2500
    u = np.array([0, 7, 8, 50, 600])
    logs = der._log_choices(edges, u) + der._log_choices(pairs - edges, count - u)
    error = der._ROUNDING * math.lgamma(pairs + 1)
    for k, log in zip(u.tolist(), logs, strict=True):
        ways = math.comb(edges, k) * math.comb(pairs - edges, count - k)
        assert abs(float(Decimal(ways).ln() - Decimal(float(log)))) < error


@pytest.mark.parametrize("n", [2, 3, 5, 17, 64, 101])
@pytest.mark.parametrize("epsilon", [0.2, 50])
def test_leaves_are_disjoint_and_cover_all_pairs(n, epsilon):
    graph = random_graph(n, 1, density=0.5)
    exact = Fraction(epsilon)
    levels = explored(graph, depth=6, epsilon=exact, source=SeededEntropy(2))
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
    for level in explored(graph, depth=4, epsilon=Fraction(50), source=SeededEntropy(1)):
        inside = np.zeros((40, 40), dtype=int)
        for region, area in zip(level.regions, level.areas, strict=True):
            inside[pairs_of(region, np.arange(area))] += 1
        assert inside.max() == 1


def test_counts_are_noisy_at_the_stated_rate():
    """Of 3 depths, at epsilon 0.9: noise of rate 0.3, variance 22; the first of them is all."""
    graph, runs = random_graph(30, 4), 3000
    source, truth = SeededEntropy(3), len(random_graph(30, 4).rows)
    noise = np.array(
        [
            explored(graph, depth=2, epsilon=Fraction(9, 10), source=source)[0].counts[0] - truth
            for _ in range(runs)
        ]
    )
    variance = 1 / (2 * math.sinh(0.15) ** 2)
    assert abs(noise.mean()) < 6 * (variance / runs) ** 0.5
    # The fourth moment of Laplace noise is 6 variance^2 or so: of its square the variance is 5.
    assert abs((noise**2).mean() / variance - 1) < 6 * (5.5 / runs) ** 0.5


def test_it_finds_blocks():
    """At epsilon 8 the share of edges within eight blocks is that of the graph, nearly."""
    graph = planted_partition(240, 8, 0.5, 0.02, seed=0)
    made = submitted(graph, epsilon=8.0)
    shares = [
        float((each.rows * 8 // 240 == each.columns * 8 // 240).mean())
        for each in (graph, made.estimate)
    ]
    assert shares[0] > 0.7
    assert abs(shares[1] - shares[0]) < 0.08
    assert abs(len(made.estimate.rows) - len(graph.rows)) < 0.1 * len(graph.rows)
    assert made.guarantee.epsilon == 8.0
    assert dict(made.guarantee.parts) == {"counts of regions": 4.0, "edges in regions": 4.0}
    assert made.estimate == submitted(graph, epsilon=8.0).estimate


def test_without_noise_it_is_the_graph():
    """At epsilon 50: counts with noise of rate 25/2, and sets of rate 25. One miss has 1e-4."""
    graph = random_graph(14, 5)
    assert submitted(graph, epsilon=50.0).estimate == graph


def test_the_number_of_cuts_is_public():
    assert [depth_of(n) for n in (2, 15, 16, 63, 64, 2000, 10_000)] == [1, 1, 1, 2, 3, 7, 10]


def test_what_is_refused():
    with pytest.raises(GraphError, match="one vertex"):
        submitted(Graph([], [], vertices=1))
    with pytest.raises(GraphError, match="without weights"):
        submitted(Graph([0], [1], [0.5], vertices=2, weight_cap=1.0))
    with pytest.raises(GraphError, match="not a BipartiteGraph"):
        submitted(random_graph((2, 3)))
    with pytest.raises(ParameterError, match="epsilon"):
        submitted(Graph([0], [1], vertices=2), epsilon=-1.0)
    empty = submitted(Graph([], [], vertices=2)).estimate
    assert len(empty.rows) in (0, 1)
