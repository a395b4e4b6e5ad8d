"""Sums between groups that sessions measure: exact sensitivity, rounding, and noise on each."""

from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.cells import (
    cell_tree,
    measure_group_sums,
    measure_weighted_sum,
    weighted_sensitivity,
)
from graphcuts_dp.plugins import SeededEntropy, ValueNoise

NO_NOISE = ValueNoise("laplace", Fraction(60))  # 0 but for a probability of e^-60
COEFFICIENTS = np.array([700, -2048, 3])  # of the sums a-a, a-b and b-b
GROUP_LABELS = {"g": ["a", "a", "b", "b", "b"]}
PAIRS = np.triu_indices(5, 1)  # the ten pairs of five vertices


def graph_and_groups(weights, max_weight=None):
    """Return a graph with these weights of `PAIRS`, and its groups on both sides.

    The graph has no weights if `max_weight` is None.
    """
    is_edge = weights > 0
    rows, columns = (endpoint[is_edge] for endpoint in PAIRS)
    edge_weights = weights[is_edge] if max_weight else None
    graph = gc.Graph(rows, columns, edge_weights, vertices=5, max_weight=max_weight)
    groups = gc.Groups(graph.vertices, GROUP_LABELS)
    return graph, (groups, groups)


def measured_sums(graph, sides):
    """Measure the sums between groups, then their weighted sum, both without noise."""
    cells, grid, source = cell_tree(graph, sides), Grid.of(graph), SeededEntropy(1)
    sums = measure_group_sums(graph, sides, cells, grid, NO_NOISE, source)
    weighted = measure_weighted_sum(graph, sides, cells, grid, COEFFICIENTS, NO_NOISE, source)
    return sums, weighted


@pytest.mark.parametrize("max_weight", [None, 2.0])
def test_one_pair_moves_one_sum_by_one_weight_and_the_weighted_sum_by_its_largest_coefficient(
    max_weight,
):
    """All pairs are tried in random graphs: the largest change is the stated one, and attained."""
    rng = np.random.default_rng(4)
    changed_sums, largest_weighted_change = set(), 0
    for _ in range(12):
        weights = (rng.random(10) < 0.5) * rng.random(10) * (max_weight or 1.0)
        for pair in range(10):
            without, with_pair = (
                graph_and_groups(np.where(np.arange(10) == pair, weight, weights), max_weight)
                for weight in (0.0, max_weight or 1.0)
            )
            sums_without, weighted_without = measured_sums(*without)
            sums_with, weighted_with = measured_sums(*with_pair)
            change = np.abs(sums_with - sums_without)
            assert (change > 0).sum() == 1
            assert change.max() == Grid.of(with_pair[0]).sensitivity
            changed_sums.add(int(change.argmax()))
            weighted_change = abs(weighted_with - weighted_without)
            largest_weighted_change = max(largest_weighted_change, weighted_change)
    assert changed_sums == {0, 1, 2}
    assert largest_weighted_change == weighted_sensitivity(COEFFICIENTS) == 2048


def test_a_weighted_sum_is_rounded_down_by_less_than_a_grid_unit():
    weights = np.zeros(10)
    weights[[0, 7]] = 0.3, 1.7  # of the pairs (0, 1) and (2, 3)
    _, weighted = measured_sums(*graph_and_groups(weights, max_weight=2.0))
    exact = (700 * 0.3 + 3 * 1.7) / 2.0
    assert exact - 1.001 <= weighted <= exact


@pytest.mark.parametrize(
    ("largest_coefficient", "sensitivity"), [(0, 1), (1, 1), (2, 2), (3, 4), (1025, 2048)]
)
def test_sensitivities_are_powers_of_two_and_never_too_small(largest_coefficient, sensitivity):
    assert weighted_sensitivity([0, -largest_coefficient]) == sensitivity


PLAIN_GRAPH, SIDES = graph_and_groups(np.ones(10))
UNBOUNDED_WEIGHTS = gc.Graph([0], [1], [2.0], vertices=5, max_weight_change=1.0)


@pytest.mark.parametrize(
    ("graph", "grid"),
    [
        pytest.param(PLAIN_GRAPH, Grid.of_vertices(PLAIN_GRAPH, 3), id="bounded cuts"),
        pytest.param(UNBOUNDED_WEIGHTS, Grid.of(UNBOUNDED_WEIGHTS), id="no maximum weight"),
    ],
)
def test_bounded_cuts_and_weights_without_a_maximum_are_refused(graph, grid):
    with pytest.raises(gc.ParameterError, match="edges and users as privacy units"):
        measure_group_sums(graph, SIDES, cell_tree(graph, SIDES), grid, NO_NOISE, SeededEntropy(1))
