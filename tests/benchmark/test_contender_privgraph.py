"""PrivGraph as a contender: its law, its post-processing, and what it refuses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
from helpers import random_graph

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.benchmark.contenders import block_draws, privgraph, super_graph
from scripts.benchmark.contenders.privgraph import (
    PrivGraphDraws,
    PrivGraphRates,
)

PATH = Graph([0, 0, 1], [1, 2, 2], vertices=4)
RATES = PrivGraphRates.of(Fraction(3))


def test_what_it_costs_is_added_up_from_the_rates():
    assert RATES.cost.pure == 3
    assert PrivGraphRates(cells=1, moves=Fraction(1), degrees=1, between=5).cost.pure == 8


def test_cells_are_numbered_in_the_order_of_their_ends():
    first, second = super_graph.cell_ends(5)
    assert super_graph.cell_numbers(second, first, 5).tolist() == list(range(15))
    groups = np.array([0, 0, 1, 1])
    assert super_graph.counted_cells(PATH, groups, 2).tolist() == [1, 2, 0]


def test_one_pair_changes_one_cell_by_one():
    """The sensitivity that the super-graph's noise is for, on every pair of six vertices."""
    groups = np.array([0, 1, 2, 0, 1, 2])
    base = random_graph(6, 1)
    before = super_graph.counted_cells(base, groups, 3)
    edges = set(zip(base.rows.tolist(), base.columns.tolist(), strict=True))
    for pair in itertools.combinations(range(6), 2):
        rows, columns = zip(*sorted(edges ^ {pair}), strict=True)
        after = super_graph.counted_cells(Graph(rows, columns, vertices=6), groups, 3)
        assert np.abs(after - before).sum() == 1


def test_vertices_choose_with_the_stated_chances():
    """All ways that four vertices can choose, against the chances of the exponential mechanism."""
    start, order, rate = np.array([0, 1, 1, 0]), np.array([2, 0, 3, 1]), Fraction(3, 2)
    paths = list(itertools.product(range(2), repeat=4))
    edges = {frozenset(e) for e in ((0, 1), (0, 2), (1, 2))}
    chances = []
    for path in paths:
        labels, chance = start.copy(), 1.0
        for vertex, choice in zip(order, path, strict=True):
            friends = [u for u in range(4) if frozenset((u, int(vertex))) in edges]
            weights = [math.exp(1.5 * sum(labels[u] == c for u in friends)) for c in range(2)]
            chance *= weights[choice] / sum(weights)
            labels[vertex] = choice
        chances.append(chance)
    assert sum(chances) == pytest.approx(1)
    source, runs = SeededEntropy(5), 4000
    counts = np.zeros(len(paths))
    for _ in range(runs):
        chosen = privgraph.adjusted(PATH, start, order, rate=rate, source=source)
        counts[paths.index(tuple(chosen.tolist()))] += 1
    found = scipy.stats.chisquare(counts, np.array(chances) * runs)
    assert found.pvalue > 1e-6


def test_details_are_those_within_and_between():
    degrees, between = privgraph.true_details(PATH, np.array([0, 0, 1, 1]))
    assert degrees.tolist() == [1, 1, 0, 0]
    assert between.tolist() == [0, 2, 0]


def test_norm_sub_is_the_projection_that_keeps_the_sum():
    values = np.array([5.0, -3.0, 1.0, 0.0, 4.0])
    found = super_graph.norm_sub(values)
    assert found.sum() == pytest.approx(values.sum())
    assert (found >= 0).all()
    for other in np.random.default_rng(0).dirichlet(np.ones(5), 300) * values.sum():
        assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-9
    assert super_graph.norm_sub(np.array([-1.0, 0.5])).tolist() == [0, 0]
    assert super_graph.norm_sub(np.array([2, 3])).tolist() == [2, 3]


def test_communities_of_two_cliques_are_found_without_noise():
    cells = super_graph.counted_cells(
        Graph([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], vertices=6), np.arange(6), 6
    )
    found = super_graph.shown_communities(cells.astype(float), 6)
    assert len(set(found[:3])) == len(set(found[3:])) == 1
    assert found[0] != found[5]
    assert super_graph.shown_communities(np.zeros(3), 2).tolist() == [0, 1]


def made_of(communities, degrees, between):
    nothing = np.zeros(0, dtype=np.int64)
    return PrivGraphDraws(
        super_graph=super_graph.SuperGraph(groups=nothing, cells=nothing),
        start=nothing,
        order=nothing,
        moves=nothing,
        communities=np.array(communities),
        degrees=np.array(degrees),
        between=np.array(between),
    )


def test_edges_between_join_the_communities_that_were_counted():
    """Three communities: the public code draws all of them from the last."""
    communities = np.repeat([0, 1, 2], 4)
    measured = made_of(communities, [0] * 12, [0, 7, 0, 0, 16, 0])
    rows, columns = privgraph.reconstructed(measured, np.random.default_rng(1))
    graph = Graph(rows, columns, vertices=12)
    _, between = privgraph.true_details(graph, communities)
    assert between.tolist() == [0, 7, 0, 0, 16, 0]


def test_edges_within_have_the_chances_of_the_degrees():
    degrees = np.array([3.0, 2.0, 2.0, 1.0])
    runs, generator = 4000, np.random.default_rng(2)
    counts = np.zeros((4, 4))
    for _ in range(runs):
        rows, columns = block_draws.drawn_within(np.arange(4), degrees, generator)
        assert (rows < columns).all()
        counts[rows, columns] += 1
    chances = np.triu(np.outer(degrees, degrees) / 8, 1)
    spread = np.sqrt(runs * chances * (1 - chances))
    # Six pairs, each within 5.5 deviations but for 4e-8, and Bernstein's slack for so many runs.
    assert (np.abs(counts - runs * chances) <= 5.5 * spread + 8).all()


def test_within_in_several_chunks_is_a_simple_graph(monkeypatch):
    monkeypatch.setattr(block_draws, "_CHUNK", 7)
    rows, columns = block_draws.drawn_within(
        np.arange(9), np.full(9, 8.0), np.random.default_rng(0)
    )
    keys = set(zip(rows.tolist(), columns.tolist(), strict=True))
    assert len(keys) == len(rows)
    assert len(keys) <= 36
    assert (rows < columns).all()


def test_between_takes_no_pair_twice_and_no_more_than_there_are():
    rows, columns = block_draws.drawn_between(
        np.array([4, 5]), np.array([7, 8, 9]), 99, np.random.default_rng(0)
    )
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == sorted(
        itertools.product([4, 5], [7, 8, 9])
    )
