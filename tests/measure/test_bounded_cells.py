"""Bounded tables: what one vertex changes, on all neighbouring graphs of a few vertices."""

from dataclasses import dataclass

import numpy as np
import pytest
from neighbours import all_graphs, largest_changes, pairs_of_vertices, sides_and_cells

from graphcuts_dp import Graph, ParameterError, PrivacyUnit
from graphcuts_dp.graph.grid import Grid, bounded_cut
from graphcuts_dp.measure.cells import bounded_cells, changes_on, grid_of_cells, sums_of_cells
from graphcuts_dp.privacy.default_unit import EDGE
from scripts.figures.random_graphs import planted_partition


@dataclass(frozen=True)
class GraphFamily:
    """All graphs of a kind, with groups of their vertices."""

    kind: str
    vertices: int
    max_weight: int
    group_of_vertex: list[int]


FAMILIES = {
    "plain": GraphFamily("plain", 5, 1, [0, 0, 1, 1, 1]),
    "three groups": GraphFamily("plain", 5, 1, [0, 1, 1, 2, 2]),
    "weights": GraphFamily("plain", 4, 2, [0, 0, 1, 1]),
    "directed": GraphFamily("directed", 4, 1, [0, 0, 1, 1]),
    "directed with weights": GraphFamily("directed", 3, 2, [0, 1, 1]),
    "bipartite": GraphFamily("bipartite", 3, 1, [0, 0, 1]),
}
# With degree bound 1 one cell of this family changes as much as its table.
ONE_CELL_IS_THE_WORST = ("directed", 1)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("name", "max_degree"),
    [
        *(
            (name, max_degree)
            for name in FAMILIES
            for max_degree in (1, 2)
            if (name, max_degree) != ONE_CELL_IS_THE_WORST
        ),
        *(("three groups", 3), ("bipartite", 3)),
    ],
)
def test_a_vertex_changes_a_table_by_no_more_than_is_claimed(name, max_degree):
    family = FAMILIES[name]
    graphs, weights = all_graphs(family.kind, family.vertices, family.max_weight)
    masks = pairs_of_vertices(family.kind, family.vertices)
    sides, cells = sides_and_cells(graphs[0], {"part": family.group_of_vertex})
    grid = Grid.of_vertices(graphs[0], max_degree, bits=4)

    tables = np.array([bounded_cells(graph, sides, cells, grid) for graph in graphs])
    claimed = changes_on(grid, cells, PrivacyUnit.vertex(max_degree=1))[-1]

    changes_of_table = largest_changes(tables, weights, masks)
    assert changes_of_table == claimed  # so the claim is not larger than needed either
    # The sensitivity of one cell would be too little for the table.
    changes_of_first_cell = largest_changes(tables[:, :1], weights, masks)
    assert changes_of_first_cell[0] <= grid.sensitivity
    assert changes_of_table[0] > changes_of_first_cell[0]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("name", "max_degree"),
    [("three groups", 1), ("three groups", 2), ("directed", 2), ("bipartite", 1), ("bipartite", 2)],
)
def test_a_vertex_changes_coarser_levels_by_no_more_than_is_claimed(name, max_degree):
    family = FAMILIES[name]
    graphs, weights = all_graphs(family.kind, family.vertices, family.max_weight)
    masks = pairs_of_vertices(family.kind, family.vertices)
    levels = {
        "half": [int(group > 0) for group in family.group_of_vertex],
        "vertex": list(range(family.vertices)),
    }
    sides, cells = sides_and_cells(graphs[0], levels)
    grid = Grid.of_vertices(graphs[0], max_degree)

    sums_of_graphs = [sums_of_cells(graph, sides, cells, grid) for graph in graphs]
    claimed_of_levels = changes_on(grid, cells, PrivacyUnit.vertex(max_degree=max_degree))

    tables_of_levels = map(np.array, zip(*sums_of_graphs, strict=True))
    for tables, claimed in zip(tables_of_levels, claimed_of_levels, strict=True):
        assert largest_changes(tables, weights, masks) == claimed


@pytest.mark.parametrize(
    ("grid_of", "privacy_unit"),
    [
        pytest.param(lambda graph: Grid.of_vertices(graph, 2), EDGE, id="grid of vertices"),
        pytest.param(Grid.of, PrivacyUnit.vertex(max_degree=2), id="grid of edges"),
    ],
)
def test_changes_are_stated_only_for_the_grid_of_their_privacy_unit(grid_of, privacy_unit):
    graph = Graph([], [], vertices=4)
    _, cells = sides_and_cells(graph, {"part": [0, 0, 1, 1]})
    with pytest.raises(ParameterError, match="vertex"):
        changes_on(grid_of(graph), cells, privacy_unit)


def test_each_cell_is_a_bounded_cut():
    graph = planted_partition(80, 2, 0.3, 0.1, seed=1)
    group_of_vertex = np.arange(80) % 3
    sides, cells = sides_and_cells(graph, {"part": group_of_vertex.tolist()})
    for max_degree in (1, 4, 200):
        grid = Grid.of_vertices(graph, max_degree)
        expected = [
            bounded_cut(graph, group_of_vertex == a, group_of_vertex == b, bound=max_degree)
            for a, b in zip(*cells.cells(1), strict=True)
        ]
        assert bounded_cells(graph, sides, cells, grid).tolist() == expected
    # The last bound is above all degrees.
    true_sums = sums_of_cells(graph, sides, cells, Grid.of(graph))[1]
    assert expected == true_sums.tolist()


def test_sums_of_heavy_weights_do_not_overflow():
    graph = Graph([0, 1], [2, 3], [1e300, 5.0], vertices=6)
    sides, cells = sides_and_cells(graph, {"part": [0, 0, 1, 1, 2, 2]})
    grid = Grid.of_vertices(graph, 2.0**40)
    largest_sum = bounded_cells(graph, sides, cells, grid).max()
    assert largest_sum * grid.unit == 2.0**40  # the weight 5 is below a grid unit
    changes = changes_on(grid, cells, PrivacyUnit.vertex(max_degree=1))[-1]
    assert changes == (3 * grid.sensitivity, 3 * grid.sensitivity**2)


@pytest.mark.parametrize("groups", [1, 5000])
def test_grid_units_are_so_coarse_that_floats_hold_all_sums(groups):
    graph = Graph([], [], [], vertices=10_000, max_weight_change=1)
    vertex = PrivacyUnit.vertex(max_degree=70)
    grid = grid_of_cells(graph, epsilon=1.0, privacy_unit=vertex, groups=groups)
    assert grid.sensitivity * 10_000 * 2 * groups <= 2**52
    assert grid.sensitivity >= 2**20
    assert grid.sensitivity * grid.unit <= 70


def test_whole_weights_whose_sums_no_float_holds_are_refused():
    graph = Graph([], [], [], vertices=10_000, max_weight_change=1)
    with pytest.raises(ParameterError, match="whole numbers"):
        Grid.of_vertices(graph, 10**9, whole=True, cells=10_000)
