"""Sums between groups that sessions buy: exact sensitivity, and noise on each."""

from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.cells import (
    cell_tree,
    measure_group_sums,
    measure_weighted_sum,
    weighted_sensitivity,
)
from graphcuts_dp.plugins import SeededEntropy, ValueNoise

SILENT = ValueNoise("laplace", Fraction(60))  # 0 but for a chance of e^-60
COEFFICIENTS = np.array([700, -2048, 3])
SIDES = {"g": ["a", "a", "b", "b", "b"]}


PAIRS = np.triu_indices(5, 1)


def made(weights, cap=None):
    """A graph with these weights of all pairs, and its groups."""
    kept = weights > 0
    ends = (end[kept] for end in PAIRS)
    graph = gc.Graph(*ends, weights[kept] if cap else None, vertices=5, max_weight=cap)
    groups = gc.Groups(graph.vertices, SIDES)
    return graph, (groups, groups)


def measured(graph, sides, noise=SILENT, seed=1):
    cells, grid, source = cell_tree(graph, sides), Grid.of(graph), SeededEntropy(seed)
    sums = measure_group_sums(graph, sides, cells, grid, noise, source)
    return sums, measure_weighted_sum(graph, sides, cells, grid, COEFFICIENTS, noise, source)


@pytest.mark.parametrize("cap", [None, 2.0])
def test_one_pair_moves_one_sum_by_one_weight_and_the_weighted_sum_by_its_largest_coefficient(cap):
    """All pairs, on top of random graphs: the largest change is the stated one, and is attained."""
    rng = np.random.default_rng(4)
    moved, most = set(), 0
    for _ in range(12):
        weights = (rng.random(10) < 0.5) * rng.random(10) * (cap or 1.0)
        for pair in range(10):
            graphs = [
                made(np.where(np.arange(10) == pair, weight, weights), cap)
                for weight in (0.0, cap or 1.0)
            ]
            first, second = (measured(*each) for each in graphs)
            change = np.abs(second[0] - first[0])
            assert (change > 0).sum() == 1
            assert change.max() == Grid.of(graphs[1][0]).sensitivity
            moved.add(int(change.argmax()))
            most = max(most, abs(second[1] - first[1]))
    assert moved == {0, 1, 2}
    assert most == weighted_sensitivity(COEFFICIENTS) == 2048


def test_what_is_rounded_down_costs_less_than_a_step():
    weights = np.zeros(10)
    weights[[0, 7]] = 0.3, 1.7  # of (0, 1) and (2, 3)
    _, weighted = measured(*made(weights, 2.0))
    exact = (700 * 0.3 + 3 * 1.7) / 2.0
    assert exact - 1.001 <= weighted <= exact


@pytest.mark.parametrize(("largest", "wanted"), [(0, 1), (1, 1), (2, 2), (3, 4), (1025, 2048)])
def test_sensitivities_are_powers_of_two_and_never_too_small(largest, wanted):
    assert weighted_sensitivity([0, -largest]) == wanted


def test_bounded_cuts_and_weights_without_a_cap_are_refused():
    graph, sides = made(np.ones(10))
    open_weights = gc.Graph([0], [1], [2.0], vertices=5, max_weight_change=1.0)
    for each, grid in ((graph, Grid.of_vertices(graph, 3)), (open_weights, Grid.of(open_weights))):
        with pytest.raises(ParameterError, match="edges and users as privacy units"):
            measure_group_sums(each, sides, cell_tree(each, sides), grid, SILENT, SeededEntropy(1))
