"""PrivGraph as a contender: its law and its post-processing."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import edges_of, follows
from helpers import random_graph

from graphcuts_dp import Graph
from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import block_draws, privgraph, super_graph
from scripts.benchmark.contenders.privgraph import PrivGraphDraws, PrivGraphRates

PATH = Graph([0, 0, 1], [1, 2, 2], vertices=4)


def test_what_it_costs_is_added_up_from_the_rates():
    assert PrivGraphRates.of(Fraction(3)).cost.pure == 3
    assert PrivGraphRates(cells=1, moves=Fraction(1), degrees=1, between=5).cost.pure == 8


def test_cells_are_numbered_in_the_order_of_their_ends():
    first, second = super_graph.cell_ends(5)
    assert super_graph.cell_numbers(second, first, 5).tolist() == list(range(15))
    assert super_graph.counted_cells(PATH, np.array([0, 0, 1, 1]), 2).tolist() == [1, 2, 0]


def test_one_pair_changes_one_cell_by_one():
    """The sensitivity that the super-graph's noise is for, on every pair of six vertices."""
    groups, base = np.array([0, 1, 2, 0, 1, 2]), random_graph(6, 1)
    before = super_graph.counted_cells(base, groups, 3)
    for pair in itertools.combinations(range(6), 2):
        rows, columns = zip(*sorted(edges_of(base) ^ {pair}), strict=True)
        after = super_graph.counted_cells(Graph(rows, columns, vertices=6), groups, 3)
        assert np.abs(after - before).sum() == 1


@pytest.mark.thorough
def test_vertices_choose_with_the_stated_chances():
    """All ways that four vertices can choose, against the chances of the exponential mechanism."""
    start, order, rate = np.array([0, 1, 1, 0]), np.array([2, 0, 3, 1]), Fraction(3, 2)
    chances, joined = {}, PATH.dense()
    for path in itertools.product(range(2), repeat=4):
        labels, chance = start.copy(), 1.0
        for vertex, choice in zip(order, path, strict=True):
            weights = np.exp(1.5 * np.bincount(labels, joined[vertex], minlength=2))
            chance *= weights[choice] / weights.sum()
            labels[vertex] = choice
        chances[path] = chance
    assert sum(chances.values()) == pytest.approx(1)
    source, counts = SeededEntropy(5), dict.fromkeys(chances, 0)
    for _ in range(4000):
        chosen = privgraph.adjusted(PATH, start, order, rate=rate, source=source)
        counts[tuple(chosen.tolist())] += 1
    assert follows(list(counts.values()), list(chances.values()))


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
    graph = Graph([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], vertices=6)
    cells = super_graph.counted_cells(graph, np.arange(6), 6).astype(float)
    found = super_graph.shown_communities(cells, 6)
    assert len(set(found[:3])) == len(set(found[3:])) == 1
    assert found[0] != found[5]
    assert super_graph.shown_communities(np.zeros(3), 2).tolist() == [0, 1]


def test_edges_between_join_the_communities_that_were_counted():
    """Three communities: the public code draws all of them from the last."""
    communities, between = np.repeat([0, 1, 2], 4), [0, 7, 0, 0, 16, 0]
    nothing = np.zeros(0, dtype=np.int64)
    measured = PrivGraphDraws(
        super_graph=super_graph.SuperGraph(groups=nothing, cells=nothing),
        start=nothing,
        order=nothing,
        moves=nothing,
        communities=communities,
        degrees=np.zeros(12, dtype=np.int64),
        between=np.array(between),
    )
    rows, columns = privgraph.reconstructed(measured, np.random.default_rng(1))
    _, found = privgraph.true_details(Graph(rows, columns, vertices=12), communities)
    assert found.tolist() == between


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


def test_no_pair_is_taken_twice_in_chunks_or_where_more_are_asked_for_than_there_are(monkeypatch):
    monkeypatch.setattr(block_draws, "_CHUNK", 7)
    rng = np.random.default_rng(0)
    rows, columns = block_draws.drawn_within(np.arange(9), np.full(9, 8.0), rng)
    assert (rows < columns).all()
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
    rows, columns = block_draws.drawn_between(np.array([4, 5]), np.array([7, 8, 9]), 99, rng)
    pairs = sorted(zip(rows.tolist(), columns.tolist(), strict=True))
    assert pairs == sorted(itertools.product([4, 5], [7, 8, 9]))
