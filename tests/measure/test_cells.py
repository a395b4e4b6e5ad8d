"""Noisy sums of cells: exact sensitivity over all neighbouring graphs, exact sums, and schemas."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from neighbours import all_graphs, at_a_pair, changes_found, tables_of

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

LEVELS = {"top": [0, 0, 1, 1], "fine": [0, 1, 2, 2]}
CAP = 2.5


def summed(graph, groups, **options):
    """The cells of a table of a graph, and its sums."""
    sides = sides_of_groups(graph, groups)
    cells = cell_tree(graph, sides)
    grid = grid_of_cells(graph, epsilon=1.0, **options)
    return cells, sums_of_cells(graph, sides, cells, grid)


@pytest.mark.parametrize(("kind", "n"), [("plain", 4), ("bipartite", 3), ("directed", 3)])
def test_one_pair_changes_one_sum_of_each_place_by_one(kind, n):
    graphs, choices = all_graphs(kind, n)
    sides, cells = tables_of(graphs[0], {name: codes[:n] for name, codes in LEVELS.items()})
    grid = grid_of_cells(graphs[0], epsilon=1.0)
    sums = zip(*(sums_of_cells(graph, sides, cells, grid) for graph in graphs), strict=True)
    for place, tables in enumerate(map(np.array, sums)):
        assert changes_found(tables, choices, at_a_pair(kind, n)) == (1, 1)
        assert tables.max(axis=0).tolist() == cells.pairs(place).tolist()  # of the full graph
        assert (tables.sum(axis=1) == choices.sum(axis=1)).all()  # every edge in one cell


@pytest.mark.parametrize("schema", ["cap", "open", "whole"])
def test_one_weight_changes_one_sum_of_each_place_by_at_most_the_sensitivity(schema):
    options = {"max_weight_change": 1} if schema == "open" else {"max_weight": CAP}
    most = 1.0 if schema == "open" else CAP
    levels = np.array([0, 0.1, 0.7, 1.0, 1.6, 2.4999999, CAP, 3.1])
    levels = levels if schema == "open" else levels[:7]
    largest = 0
    for pair in itertools.combinations(range(4), 2):
        others = [other for other in itertools.combinations(range(4), 2) if other != pair]
        sums = {}
        for weight in levels:
            ends = np.array([pair, *others]).T
            weights = np.array([weight, *np.linspace(0.3, 2.2, len(others))])
            graph = gc.Graph(*ends, weights, vertices=4, **options)
            sides, cells = tables_of(graph, LEVELS)
            grid = grid_of_cells(graph, epsilon=1.0, whole=schema == "whole")
            sums[weight] = sums_of_cells(graph, sides, cells, grid)
        for one, two in itertools.product(levels, levels):
            if abs(one - two) > most:
                continue
            for here, there in zip(sums[one], sums[two], strict=True):
                change = np.abs(there - here)
                assert (change != 0).sum() <= 1
                assert change.max() <= grid.sensitivity
                largest = max(largest, change.max())
    assert largest == (np.floor(CAP) if schema == "whole" else grid.sensitivity)


def test_sums_are_exact_where_floats_are_not():
    """2^53 + 1 is no float, and sums pass it."""
    ends = np.array(list(itertools.combinations(range(150), 2))).T
    weights = np.full(ends.shape[1], 2.0**40)
    weights[-1] = 1.0
    graph = gc.Graph(*ends, weights, vertices=150, max_weight_change=1)
    groups = gc.Groups(graph.vertices, {"one": [0] * 150})
    total = (ends.shape[1] - 1) * 2**40 + 1
    assert total > 2**53
    assert summed(graph, groups, whole=True)[1][0].tolist() == [total]


def test_sums_beyond_64_bits_are_exact_and_stay_neighbours():
    ends = np.array(list(itertools.combinations(range(40), 2))).T
    groups = gc.Groups(gc.VertexSet(40), {"half": [0] * 20 + [1] * 20})
    found = []
    for last in (2.0**40, 2.0**40 - 1):
        weights = np.full(ends.shape[1], 2.0**40)
        weights[-1] = last
        graph = gc.Graph(*ends, weights, vertices=40, max_weight_change=1)
        found.append(summed(graph, groups)[1])
    assert found[0][0].tolist() == [780 * 2**60]  # beyond 2^69
    assert found[0][0][0] - found[1][0][0] == 2**20  # the sensitivity
    assert found[0][1].tolist() == [190 * 2**60, 400 * 2**60, 190 * 2**60]


def test_what_is_stated_is_what_the_noise_costs():
    graph = gc.Graph([0], [1], vertices=4)
    sides, cells = tables_of(graph, LEVELS)
    for distribution, parameters in (
        ("laplace", (Fraction(1, 3), Fraction(1, 7))),
        ("gaussian", (Fraction(5), Fraction(7))),
    ):
        noise = LevelNoise(distribution, parameters)
        how = {"grid": grid_of_cells(graph, epsilon=1.0), "source": SeededEntropy(1)}
        made = measure_cells(graph, sides, cells, measured_levels=(1, 2), noise=noise, **how)
        cost = made.cost(delta=1e-6)
        if distribution == "laplace":
            assert cost.pure == made.epsilon == Fraction(10, 21)
            wider = replace(made, changes=((4, 16), (4, 16)))
            assert wider.epsilon == 4 * made.epsilon
        else:
            assert cost.rho == pytest.approx(1 / 10 + 1 / 14)
            with pytest.raises(gc.errors.ParameterError, match="no pure cost"):
                made.epsilon  # noqa: B018
        assert made.name == "flows"
        assert [len(values) for values in made.steps] == [cells.size(1), cells.size(2)]
        with pytest.raises(ValueError, match="read-only"):
            made.steps[0][0] = 1


def test_sums_of_many_levels_come_back_level_by_level():
    """So many that names of arrays do not sort as their numbers do."""
    graph, pairs = gc.Graph([0, 1, 2], [1, 2, 3], vertices=28), np.arange(28) // 2
    sides, cells = tables_of(
        graph,
        {f"level {k}": np.where(pairs < k, np.arange(28), 2 * k).tolist() for k in range(1, 14)},
    )
    places = tuple(range(cells.depth))
    noise = LevelNoise("gaussian", tuple(Fraction(9 + place) for place in places))
    grid, source = grid_of_cells(graph, epsilon=1.0), SeededEntropy(1)
    made = measure_cells(
        graph, sides, cells, measured_levels=places, noise=noise, grid=grid, source=source
    )
    again = CountMeasurement.from_parts("flows", *made.parts())
    assert len(made.steps) > 10
    assert all(map(np.array_equal, made.steps, again.steps))
    assert (again.noise, again.changes) == (made.noise, made.changes)


def test_cells_without_pairs_are_left_out():
    _, cells = tables_of(gc.Graph([0], [1], vertices=4), LEVELS)
    a, b = cells.cells(2)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (2, 2)]
    assert [cells.pairs(p).tolist() for p in range(3)] == [[6], [1, 4, 1], [1, 2, 2, 1]]
    assert cells.parents(2).tolist() == [0, 1, 1, 2]
    directed = CellTree(cells.rows, directed=True)
    assert [directed.pairs(place).tolist() for place in (0, 1)] == [[12], [2, 4, 4, 2]]
    assert directed.size(2) == 7
    assert directed != cells


def test_arcs_are_counted_where_they_go():
    arcs = [(0, 1), (1, 0), (0, 2), (3, 2), (2, 3), (3, 0)]
    graph = gc.DirectedGraph(*zip(*arcs, strict=True), vertices=4)
    groups = gc.Groups(graph.vertices, LEVELS)
    cells, sums = summed(graph, groups)
    assert cells.matrix(2, sums[2]).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 2]]
    assert cells.matrix(1, sums[1]).tolist() == [[2, 1], [1, 2]]
    assert sums[0].tolist() == [6]
    fewer = gc.DirectedGraph(*zip(*arcs[1:], strict=True), vertices=4)
    for here, there in zip(summed(fewer, groups)[1], sums, strict=True):
        assert np.abs(there - here).sum() == 1


@pytest.mark.parametrize("levels", [LEVELS, {"top": [1, 1, 0, 0], "fine": [2, 1, 0, 0]}])
def test_cells_do_not_depend_on_the_order_of_ends(levels):
    """Row numbers ascend in an edge; codes of its groups need not."""
    pairs = list(itertools.combinations(range(4), 2))
    for pair in pairs:
        graph = gc.Graph([pair[0]], [pair[1]], vertices=4)
        groups = gc.Groups(graph.vertices, levels)
        cells, sums = summed(graph, groups)
        for place, level in ((1, "top"), (2, "fine")):
            codes = groups.codes(level)[list(pair)]
            wanted = np.zeros(cells.shape(place), dtype=int)
            wanted[codes[0], codes[1]] = wanted[codes[1], codes[0]] = 1
            assert np.array_equal(cells.matrix(place, sums[place]), wanted)
