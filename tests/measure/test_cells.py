"""Noisy sums of cells: exact sensitivity over all neighbouring graphs, exact sums, and schemas."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import Measurement
from graphcuts_dp.measure.cells import (
    cell_tree,
    grid_of_cells,
    measure_cells,
    sides_of_groups,
    sums_of_cells,
)
from graphcuts_dp.pairs.groups import CellTree
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import SeededEntropy

LEVELS = {"top": [0, 0, 1, 1], "fine": [0, 1, 2, 2]}
CAP = 2.5


def setting(graph, **options):
    sides = tuple(
        gc.Groups(each, {name: codes[: len(each)] for name, codes in LEVELS.items()})
        for each in (
            [graph.vertices] * 2 if hasattr(graph, "vertices") else [graph.left, graph.right]
        )
    )
    if hasattr(graph, "vertices"):
        sides = (sides[0], sides[0])
    grid = grid_of_cells(graph, epsilon=1.0, **options)
    return sides, cell_tree(graph, sides), grid


def summed(graph, groups, **options):
    """The cells of a table of a graph, and its sums."""
    sides = sides_of_groups(graph, groups)
    cells = cell_tree(graph, sides)
    grid = grid_of_cells(graph, epsilon=1.0, **options)
    return cells, sums_of_cells(graph, sides, cells, grid)


def plain_graphs(kind):
    """All graphs on four vertices (or three by three), as a dict from sets of pairs."""
    if kind == "one set":
        pairs = list(itertools.combinations(range(4), 2))
    else:
        pairs = list(itertools.product(range(3), range(3)))
    found = {}
    for count in range(len(pairs) + 1):
        for chosen in itertools.combinations(pairs, count):
            rows, columns = np.array(chosen, dtype=int).reshape(-1, 2).T
            if kind == "one set":
                found[frozenset(chosen)] = gc.Graph(rows, columns, vertices=4)
            else:
                found[frozenset(chosen)] = gc.BipartiteGraph(rows, columns, left=3, right=3)
    return pairs, found


@pytest.mark.parametrize("kind", ["one set", "two sides"])
def test_one_pair_changes_one_sum_of_each_place_by_one(kind):
    pairs, graphs = plain_graphs(kind)
    sums = {}
    for chosen, graph in graphs.items():
        sides, cells, grid = setting(graph)
        sums[chosen] = sums_of_cells(graph, sides, cells, grid)
    seen = set()
    for chosen, pair in itertools.product(graphs, pairs):
        if pair in chosen:
            continue
        for here, there in zip(sums[chosen], sums[chosen | {pair}], strict=True):
            change = there - here
            assert (np.abs(change).sum(), np.abs(change).max()) == (1, 1)
            seen.add((len(change), int(np.flatnonzero(change)[0])))
    assert len(seen) == sum(len(each) for each in sums[frozenset()])  # every cell is somebody's


@pytest.mark.parametrize("schema", ["cap", "open", "whole"])
def test_one_weight_changes_one_sum_of_each_place_by_at_most_the_sensitivity(schema):
    options = {"hide_change": 1} if schema == "open" else {"weight_cap": CAP}
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
            sides, cells, grid = setting(graph, whole=schema == "whole")
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
    """Two halves: 2^53 + 1 is no float, and sums pass it."""
    graph = gc.Graph([0, 0, 1], [1, 2, 2], [2.0**52, 2.0**52, 1.0], vertices=4, hide_change=1)
    groups = gc.Groups(graph.vertices, {"one": [0, 0, 0, 1]})
    assert summed(graph, groups, whole=True)[1][0].tolist() == [2**53 + 1]


def test_sums_are_cut_above_and_stay_neighbours():
    """At 2^62 steps, where a sum of 64-bit integers would soon overflow."""
    ends = np.array(list(itertools.combinations(range(40), 2))).T
    groups = gc.Groups(gc.VertexSet(40), {"half": [0] * 20 + [1] * 20})
    found = []
    for last in (1e300, 0.0):
        weights = np.full(ends.shape[1], 1e300)
        weights[-1] = last
        graph = gc.Graph(*ends, weights, vertices=40, hide_change=1)
        found.append(summed(graph, groups)[1])
    assert found[0][0].tolist() == [780 * 2**52]
    assert found[0][0][0] - found[1][0][0] == 2**52
    many = np.array(list(itertools.combinations(range(60), 2))).T
    graph = gc.Graph(*many, np.full(many.shape[1], 1e300), vertices=60, hide_change=1)
    groups = gc.Groups(graph.vertices, {"all": [0] * 60})
    assert summed(graph, groups)[1][1].tolist() == [2**62]


def test_what_is_stated_is_what_the_noise_costs():
    graph = gc.Graph([0], [1], vertices=4)
    sides, cells, grid = setting(graph)
    for distribution, parameters in (
        ("laplace", (Fraction(1, 3), Fraction(1, 7))),
        ("gaussian", (Fraction(5), Fraction(7))),
    ):
        noise = LevelNoise(distribution, parameters)
        made = measure_cells(
            graph, sides, cells, places=(1, 2), noise=noise, grid=grid, source=SeededEntropy(1)
        )
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
    levels = {
        f"level {k}": np.where(pairs < k, np.arange(28), 2 * k).tolist() for k in range(1, 14)
    }
    sides = (gc.Groups(graph.vertices, levels),) * 2
    cells = cell_tree(graph, sides)
    places = tuple(range(cells.depth))
    noise = LevelNoise("gaussian", tuple(Fraction(9 + place) for place in places))
    grid, source = grid_of_cells(graph, epsilon=1.0), SeededEntropy(1)
    made = measure_cells(graph, sides, cells, places=places, noise=noise, grid=grid, source=source)
    again = Measurement.from_parts("flows", *made.parts())
    assert len(made.steps) > 10
    assert all(map(np.array_equal, made.steps, again.steps))
    assert (again.noise, again.changes) == (made.noise, made.changes)


def test_cells_without_pairs_are_left_out():
    graph = gc.Graph([0], [1], vertices=4)
    _, cells, _ = setting(graph)
    a, b = cells.cells(2)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (2, 2)]
    assert cells.pairs(2).tolist() == [1, 2, 2, 1]
    assert cells.pairs(1).tolist() == [1, 4, 1]
    assert cells.pairs(0).tolist() == [6]
    assert cells.parents(2).tolist() == [0, 1, 1, 2]
    directed = CellTree(cells.rows, directed=True)
    assert [directed.pairs(place).tolist() for place in (0, 1)] == [[12], [2, 4, 4, 2]]
    assert directed.size(2) == 7
    assert directed != cells


def test_every_pair_of_vertices_lies_in_one_cell_of_each_place():
    for graph in (gc.Graph([], [], vertices=4), gc.BipartiteGraph([], [], left=3, right=3)):
        _, cells, _ = setting(graph)
        pairs = 6 if isinstance(graph, gc.Graph) else 9
        assert [int(cells.pairs(p).sum()) for p in range(3)] == [pairs] * 3


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
