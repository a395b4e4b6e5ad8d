"""Noisy sums of cells: exact sensitivity over all neighbouring graphs, exact sums, and schemas."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from neighbours import all_graphs, largest_changes, sides_and_cells, single_pairs

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.measure.cells import (
    cell_tree,
    grid_of_cells,
    measure_cells,
    sides_of_groups,
    sums_of_cells,
)
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.cells import CellTree

# Groups of four vertices; a table has levels 0 (one cell), 1 (top) and 2 (fine).
LEVELS = {"top": [0, 0, 1, 1], "fine": [0, 1, 2, 2]}
MAX_WEIGHT = 2.5


def cells_and_sums(graph, groups, **options):
    """Return the cells of a table of a graph, and its sums on each level."""
    sides = sides_of_groups(graph, groups)
    cells = cell_tree(graph, sides)
    grid = grid_of_cells(graph, epsilon=1.0, **options)
    return cells, sums_of_cells(graph, sides, cells, grid)


@pytest.mark.parametrize(("kind", "n"), [("plain", 4), ("bipartite", 3), ("directed", 3)])
def test_one_pair_changes_one_sum_of_each_level_by_one(kind, n):
    graphs, weights = all_graphs(kind, n)
    levels = {level: labels[:n] for level, labels in LEVELS.items()}
    sides, cells = sides_and_cells(graphs[0], levels)
    grid = grid_of_cells(graphs[0], epsilon=1.0)
    sums_of_graphs = [sums_of_cells(graph, sides, cells, grid) for graph in graphs]
    for level, tables in enumerate(map(np.array, zip(*sums_of_graphs, strict=True))):
        assert largest_changes(tables, weights, single_pairs(kind, n)) == (1, 1)
        assert tables.max(axis=0).tolist() == cells.pairs(level).tolist()  # of the complete graph
        assert (tables.sum(axis=1) == weights.sum(axis=1)).all()  # each edge is in one cell


@pytest.mark.parametrize(
    ("options", "whole", "max_change", "largest_change"),
    [
        pytest.param({"max_weight": MAX_WEIGHT}, False, MAX_WEIGHT, None, id="max_weight"),
        pytest.param({"max_weight_change": 1}, False, 1.0, None, id="max_weight_change"),
        pytest.param(
            {"max_weight": MAX_WEIGHT}, True, MAX_WEIGHT, np.floor(MAX_WEIGHT), id="whole numbers"
        ),
    ],
)
def test_one_weight_changes_one_sum_of_each_level_by_at_most_the_sensitivity(
    options, whole, max_change, largest_change
):
    """And the sensitivity, or `largest_change`, is attained."""
    pairs = list(itertools.combinations(range(4), 2))
    weights = [0, 0.1, 0.7, 1.0, 1.6, 2.4999999, MAX_WEIGHT]
    if "max_weight" not in options:
        weights.append(3.1)
    changes = []
    for pair in pairs:
        other_pairs = [other for other in pairs if other != pair]
        rows, columns = np.array([pair, *other_pairs]).T
        sums_by_weight = {}
        for weight in weights:
            edge_weights = np.array([weight, *np.linspace(0.3, 2.2, len(other_pairs))])
            graph = gc.Graph(rows, columns, edge_weights, vertices=4, **options)
            sides, cells = sides_and_cells(graph, LEVELS)
            grid = grid_of_cells(graph, epsilon=1.0, whole=whole)
            sums_by_weight[weight] = sums_of_cells(graph, sides, cells, grid)
        for first, second in itertools.product(weights, repeat=2):
            if abs(first - second) <= max_change:
                changes += [
                    np.abs(after - before)
                    for before, after in zip(
                        sums_by_weight[first], sums_by_weight[second], strict=True
                    )
                ]
    assert all((change != 0).sum() <= 1 for change in changes)
    assert max(change.max() for change in changes) <= grid.sensitivity
    assert max(change.max() for change in changes) == (largest_change or grid.sensitivity)


def complete_graph_of_heavy_edges(n, last_weight):
    """Return a complete graph whose edges weigh 2^40, but for the last one."""
    rows, columns = np.triu_indices(n, 1)
    weights = np.full(len(rows), 2.0**40)
    weights[-1] = last_weight
    return gc.Graph(rows, columns, weights, vertices=n, max_weight_change=1)


def test_sums_are_exact_where_floats_are_not():
    """The sum is odd and above 2^53."""
    graph = complete_graph_of_heavy_edges(150, last_weight=1.0)
    groups = gc.Groups(graph.vertices, {"one": [0] * 150})
    _, sums = cells_and_sums(graph, groups, whole=True)
    total = (math.comb(150, 2) - 1) * 2**40 + 1
    assert total > 2**53
    assert sums[0].tolist() == [total]


def test_sums_beyond_64_bits_are_exact_and_differ_by_the_sensitivity():
    groups = gc.Groups(gc.VertexSet(40), {"half": [0] * 20 + [1] * 20})
    (whole, halves), (neighbour_whole, _) = (
        cells_and_sums(complete_graph_of_heavy_edges(40, last_weight), groups)[1]
        for last_weight in (2.0**40, 2.0**40 - 1)
    )
    assert whole.tolist() == [780 * 2**60]  # beyond 2^69: grid units are 2^-20
    assert whole[0] - neighbour_whole[0] == 2**20  # the sensitivity
    assert halves.tolist() == [190 * 2**60, 400 * 2**60, 190 * 2**60]


def measured_cells(noise, *, levels=LEVELS, vertices=4, measured_levels=(1, 2)):
    """Measure the cells of a graph of one edge, and return them with the measurement."""
    graph = gc.Graph([0], [1], vertices=vertices)
    sides, cells = sides_and_cells(graph, levels)
    return cells, measure_cells(
        graph,
        sides,
        cells,
        measured_levels=measured_levels,
        noise=noise,
        grid=grid_of_cells(graph, epsilon=1.0),
        source=SeededEntropy(1),
    )


def test_laplace_noise_costs_the_sum_of_its_rates_times_the_change():
    rates = (Fraction(1, 3), Fraction(1, 7))
    _, measurement = measured_cells(LevelNoise("laplace", rates))
    assert measurement.cost(delta=1e-6).pure == measurement.epsilon == Fraction(10, 21)
    of_four_rows = replace(measurement, changes=((4, 16), (4, 16)))
    assert of_four_rows.epsilon == 4 * measurement.epsilon


def test_gaussian_noise_costs_rho_and_has_no_pure_cost():
    variances = (Fraction(5), Fraction(7))
    _, measurement = measured_cells(LevelNoise("gaussian", variances))
    assert measurement.cost(delta=1e-6).rho == pytest.approx(1 / 10 + 1 / 14)
    with pytest.raises(gc.ParameterError, match="no pure cost"):
        measurement.epsilon  # noqa: B018


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_measured_sums_lie_level_by_level_and_are_read_only(distribution):
    cells, measurement = measured_cells(LevelNoise(distribution, (Fraction(1, 3), Fraction(1, 7))))
    assert measurement.name == "flows"
    assert [len(values) for values in measurement.steps] == [cells.size(1), cells.size(2)]
    with pytest.raises(ValueError, match="read-only"):
        measurement.steps[0][0] = 1


def test_sums_of_more_than_ten_levels_keep_their_order_in_stored_parts():
    """The names of their arrays do not sort as the numbers of the levels do."""
    vertices, pair_of_vertex = np.arange(28), np.arange(28) // 2
    levels = {
        f"level {k}": np.where(pair_of_vertex < k, vertices, 2 * k).tolist() for k in range(1, 14)
    }
    measured_levels = tuple(range(14))
    noise = LevelNoise("gaussian", tuple(Fraction(9 + level) for level in measured_levels))
    cells, measurement = measured_cells(
        noise, levels=levels, vertices=28, measured_levels=measured_levels
    )
    assert cells.depth == len(measured_levels)

    loaded = CountMeasurement.from_parts("flows", *measurement.parts())

    assert all(map(np.array_equal, measurement.steps, loaded.steps))
    assert (loaded.noise, loaded.changes) == (measurement.noise, measurement.changes)


def test_cells_without_pairs_are_left_out():
    """The fine groups 0 and 1 have one vertex each, so no pair lies within one of them."""
    _, cells = sides_and_cells(gc.Graph([0], [1], vertices=4), LEVELS)
    assert np.transpose(cells.cells(2)).tolist() == [[0, 1], [0, 2], [1, 2], [2, 2]]
    assert [cells.pairs(level).tolist() for level in range(3)] == [[6], [1, 4, 1], [1, 2, 2, 1]]
    assert cells.parents(2).tolist() == [0, 1, 1, 2]


def test_cells_of_directed_graphs_count_both_directions():
    _, cells = sides_and_cells(gc.Graph([0], [1], vertices=4), LEVELS)
    directed = CellTree(cells.rows, directed=True)
    assert [directed.pairs(level).tolist() for level in (0, 1)] == [[12], [2, 4, 4, 2]]
    assert directed.size(2) == 7
    assert directed != cells


def test_an_arc_is_counted_in_the_row_of_its_source():
    arcs = [(0, 1), (1, 0), (0, 2), (3, 2), (2, 3), (3, 0)]
    graph = gc.DirectedGraph(*zip(*arcs, strict=True), vertices=4)
    groups = gc.Groups(graph.vertices, LEVELS)
    cells, sums = cells_and_sums(graph, groups)
    assert cells.matrix(2, sums[2]).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 2]]
    assert cells.matrix(1, sums[1]).tolist() == [[2, 1], [1, 2]]
    assert sums[0].tolist() == [6]


def test_one_arc_changes_one_sum_of_each_level():
    arcs = [(0, 1), (1, 0), (0, 2)]
    graph, neighbour = (
        gc.DirectedGraph(*zip(*arcs[start:], strict=True), vertices=4) for start in (0, 1)
    )
    groups = gc.Groups(graph.vertices, LEVELS)
    sums, neighbour_sums = (cells_and_sums(one, groups)[1] for one in (graph, neighbour))
    for of_graph, of_neighbour in zip(sums, neighbour_sums, strict=True):
        assert np.abs(of_graph - of_neighbour).sum() == 1


@pytest.mark.parametrize(
    "levels",
    [
        pytest.param(LEVELS, id="ascending groups"),
        pytest.param({"top": [1, 1, 0, 0], "fine": [2, 1, 0, 0]}, id="descending groups"),
    ],
)
def test_cells_do_not_depend_on_the_order_of_endpoints(levels):
    """The endpoints of an edge ascend; their groups need not."""
    for pair in itertools.combinations(range(4), 2):
        graph = gc.Graph([pair[0]], [pair[1]], vertices=4)
        groups = gc.Groups(graph.vertices, levels)
        cells, sums = cells_and_sums(graph, groups)
        for level_index, level in ((1, "top"), (2, "fine")):
            first, second = groups.codes(level)[list(pair)]
            expected = np.zeros(cells.shape(level_index), dtype=int)
            expected[first, second] = expected[second, first] = 1
            assert np.array_equal(cells.matrix(level_index, sums[level_index]), expected)
