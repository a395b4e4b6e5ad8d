"""Bounded tables: what one vertex changes, on all neighbouring graphs of a few vertices."""

import numpy as np
import pytest
from neighbours import all_graphs, at_a_vertex, changes_found, tables_of

from graphcuts_dp import Graph, ParameterError, PrivacyUnit
from graphcuts_dp.graph.grid import Grid, bounded_cut
from graphcuts_dp.measure.cells import bounded_cells, changes_on, grid_of_cells, sums_of_cells
from graphcuts_dp.privacy.default_unit import EDGE
from scripts.figures.random_graphs import planted_partition

CASES = {
    "plain": ("plain", 5, 1, [0, 0, 1, 1, 1]),
    "three groups": ("plain", 5, 1, [0, 1, 1, 2, 2]),
    "weights": ("plain", 4, 2, [0, 0, 1, 1]),
    "directed": ("directed", 4, 1, [0, 0, 1, 1]),
    "directed with weights": ("directed", 3, 2, [0, 1, 1]),
    "bipartite": ("bipartite", 3, 1, [0, 0, 1]),
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("case", "bound"),
    [
        *((case, bound) for case in CASES for bound in (1, 2) if (case, bound) != ("directed", 1)),
        *(("three groups", 3), ("bipartite", 3)),
    ],
)
def test_a_vertex_changes_a_table_by_no_more_than_is_claimed(case, bound):
    kind, n, top, codes = CASES[case]
    graphs, choices = all_graphs(kind, n, top)
    touching = at_a_vertex(kind, n)
    sides, cells = tables_of(graphs[0], {"part": codes})
    grid = Grid.of_vertices(graphs[0], bound, bits=4)
    tables = np.array([bounded_cells(graph, sides, cells, grid) for graph in graphs])
    claimed = changes_on(grid, cells, PrivacyUnit.vertex(max_degree=1))[-1]
    found = changes_found(tables, choices, touching)
    assert found == claimed  # also not more than needed
    # The sensitivity of one cell would not do for the table.
    one_cell = changes_found(tables[:, :1], choices, touching)
    assert one_cell[0] <= grid.sensitivity
    assert found[0] > one_cell[0]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("case", "bound"),
    [("three groups", 1), ("three groups", 2), ("directed", 2), ("bipartite", 1), ("bipartite", 2)],
)
def test_a_vertex_changes_coarser_levels_by_no_more_than_is_claimed(case, bound):
    kind, n, top, codes = CASES[case]
    graphs, choices = all_graphs(kind, n, top)
    half = [int(code > 0) for code in codes]
    sides, cells = tables_of(graphs[0], {"half": half, "part": list(range(n))})
    grid = Grid.of_vertices(graphs[0], bound)
    sums = [sums_of_cells(graph, sides, cells, grid) for graph in graphs]
    claimed = changes_on(grid, cells, PrivacyUnit.vertex(max_degree=bound))
    for tables, stated in zip(map(np.array, zip(*sums, strict=True)), claimed, strict=True):
        assert changes_found(tables, choices, at_a_vertex(kind, n)) == stated


def test_changes_are_told_for_the_right_grid_only():
    graph = Graph([], [], vertices=4)
    _, cells = tables_of(graph, {"part": [0, 0, 1, 1]})
    vertex = PrivacyUnit.vertex(max_degree=2)
    for grid, privacy_unit in ((Grid.of_vertices(graph, 2), EDGE), (Grid.of(graph), vertex)):
        with pytest.raises(ParameterError, match="vertex"):
            changes_on(grid, cells, privacy_unit)


def test_each_cell_is_a_bounded_cut():
    graph = planted_partition(80, 2, 0.3, 0.1, seed=1)
    codes = np.arange(80) % 3
    sides, cells = tables_of(graph, {"part": codes.tolist()})
    for bound in (1, 4, 200):
        grid = Grid.of_vertices(graph, bound)
        found = bounded_cells(graph, sides, cells, grid)
        expected = [
            bounded_cut(graph, codes == a, codes == b, bound=bound)
            for a, b in zip(*cells.cells(1), strict=True)
        ]
        assert found.tolist() == expected
    true = sums_of_cells(graph, sides, cells, Grid.of(graph))[1]
    assert np.array_equal(found, true)


def test_sums_of_heavy_weights_do_not_overflow():
    graph = Graph([0, 1], [2, 3], [1e300, 5.0], vertices=6)
    sides, cells = tables_of(graph, {"part": [0, 0, 1, 1, 2, 2]})
    grid = Grid.of_vertices(graph, 2.0**40)
    largest = bounded_cells(graph, sides, cells, grid).max()
    assert largest * grid.unit == 2.0**40  # 5 is below a step
    changes = changes_on(grid, cells, PrivacyUnit.vertex(max_degree=1))[-1]
    assert changes == (3 * grid.sensitivity, 3 * grid.sensitivity**2)


def test_steps_are_so_few_that_floats_hold_all_sums():
    for kind, groups in (("few", 1), ("many", 5000)):
        graph = Graph([], [], [], vertices=10_000, max_weight_change=1)
        vertex = PrivacyUnit.vertex(max_degree=70)
        grid = grid_of_cells(graph, epsilon=1.0, privacy_unit=vertex, groups=groups)
        assert grid.sensitivity * 10_000 * 2 * groups <= 2**52, kind
        assert grid.sensitivity >= 2**20
        assert grid.sensitivity * grid.unit <= 70
    with pytest.raises(ParameterError, match="whole numbers"):
        Grid.of_vertices(graph, 10**9, whole=True, cells=10_000)
