"""The random families have the degrees, sizes and densities that their papers define."""

import itertools

import numpy as np
import pytest

from graphcuts_dp import DirectedGraph
from scripts.figures.random_graphs import (
    directed_blocks,
    imbalanced_bipartite,
    planted_partition,
    power_law_bipartite,
)


def left_degrees(graph):
    return np.bincount(graph.rows, minlength=graph.shape[0])


@pytest.mark.parametrize("side", [1, 2, 16, 81, 256])
def test_imbalanced_has_the_degrees_of_the_paper(side):
    graph = imbalanced_bipartite(side, seed=3)
    assert graph.shape == (side, side)
    degrees = left_degrees(graph)
    hubs = round(side**0.75)
    assert (degrees[:hubs] == side).all()
    assert (degrees[hubs:] == round(side**0.5)).all()


@pytest.mark.parametrize("exponent", [0.5, 1.2, 1.4, 2.5])
@pytest.mark.parametrize("side", [1, 5, 100, 1000])
def test_power_law_counts_are_within_one_of_the_paper(side, exponent):
    graph = power_law_bipartite(side, exponent, seed=0)
    counts = np.bincount(left_degrees(graph), minlength=side + 1)
    distribution = np.arange(1, side + 1, dtype=float) ** -exponent
    assert counts[0] == 0
    assert counts.sum() == side
    assert np.abs(counts[1:] - side * distribution / distribution.sum()).max() < 1


def test_a_random_neighbour_is_uniform():
    """Columns of the sparse part: each within five standard deviations of its expectation."""
    side, keep = 400, round(400**0.5)
    sparse_rows = side - round(side**0.75)
    graph = imbalanced_bipartite(side, seed=11)
    columns = np.bincount(graph.columns[graph.rows >= side - sparse_rows], minlength=side)
    chance = keep / side
    assert np.abs(columns - sparse_rows * chance).max() < 5 * np.sqrt(sparse_rows * chance)


def test_planted_partition_has_both_densities():
    n, blocks = 300, 3
    graph = planted_partition(n, blocks, 0.4, 0.05, seed=5)
    block = np.arange(n) * blocks // n
    dense = graph.dense()
    same = np.equal.outer(block, block)
    np.fill_diagonal(same, False)
    for pairs, probability in ((same, 0.4), (~np.equal.outer(block, block), 0.05)):
        count = pairs.sum() / 2
        found = dense[pairs].sum() / 2
        assert abs(found - count * probability) < 5 * np.sqrt(count * probability)


def test_planted_partition_at_its_extremes():
    assert len(planted_partition(1, 1, 1.0, 1.0, seed=0).rows) == 0
    assert len(planted_partition(7, 7, 1.0, 0.0, seed=0).rows) == 0
    assert len(planted_partition(7, 1, 1.0, 0.0, seed=0).rows) == 21
    assert len(planted_partition(7, 2, 0.0, 1.0, seed=0).rows) == 12


def test_seeds_repeat_and_generators_go_on():
    assert imbalanced_bipartite(30, seed=4) == imbalanced_bipartite(30, seed=4)
    assert power_law_bipartite(30, 1.2, seed=4) != power_law_bipartite(30, 1.2, seed=5)
    rng = np.random.default_rng(4)
    first, second = (planted_partition(40, 2, 0.5, 0.1, seed=rng) for _ in range(2))
    assert first == planted_partition(40, 2, 0.5, 0.1, seed=4)
    assert first != second


def test_directed_blocks():
    chances = [[0.5, 0.9], [0.0, 0.1]]
    graph = directed_blocks(200, chances, seed=3)
    assert graph == directed_blocks(200, chances, seed=3) != directed_blocks(200, chances, seed=4)
    block = np.arange(200) // 100
    for a, b in itertools.product(range(2), repeat=2):
        pairs, chance = 10_000 - 100 * (a == b), chances[a][b]
        # Six deviations of a binomial count.
        slack = 6 * (pairs * chance * (1 - chance)) ** 0.5
        found = graph.dense()[block == a][:, block == b].sum()
        assert abs(found - pairs * chance) <= slack
    assert directed_blocks(1, [[1.0]], seed=0) == DirectedGraph([], [], vertices=1)
    assert len(directed_blocks(5, [[1.0]], seed=0).rows) == 20
