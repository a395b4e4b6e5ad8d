"""Bounded tables: what one vertex changes, on all neighbouring graphs of a few vertices."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.graph.grid import Grid, bounded_cut
from graphcuts_dp.measure.cells import (
    bounded_cells,
    cell_tree,
    changes_on,
    grid_of_cells,
    sides_of_groups,
    sums_of_cells,
)
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.privacy.guarantee import EDGE, Protect
from scripts.figures.random_graphs import planted_partition


def graphs_of(kind, n, top):
    """All graphs of a kind with weights up to `top`, and for each the weights of its pairs."""
    if kind == "bipartite":
        pairs = list(product(range(n), range(n)))
    else:
        pairs = list(combinations(range(n), 2) if kind == "plain" else permutations(range(n), 2))
    rows, columns = np.array(pairs).T
    choices = np.array(list(product(range(top + 1), repeat=len(pairs))))
    options = {} if top == 1 else {"weight_cap": float(top)}
    graphs = []
    for weights in choices:
        kept = weights > 0
        mass = None if top == 1 else weights[kept].astype(float)
        ends = rows[kept], columns[kept], mass
        if kind == "bipartite":
            graphs.append(BipartiteGraph(*ends, left=n, right=n, **options))
        else:
            made = Graph if kind == "plain" else DirectedGraph
            graphs.append(made(*ends, vertices=n, **options))
    touching = [
        np.array([v == (i, j)[side] for i, j in pairs])
        if kind == "bipartite"
        else np.array([v in pair for pair in pairs])
        for side in ((0, 1) if kind == "bipartite" else (0,))
        for v in range(n)
    ]
    return graphs, choices, touching


def tables_of(graph, levels):
    """The sides and the cells of groups of these levels, the same on both sides."""
    if isinstance(graph, BipartiteGraph):
        groups = Groups(graph.left, levels), Groups(graph.right, levels)
    else:
        groups = Groups(graph.vertices, levels)
    sides = sides_of_groups(graph, groups)
    return sides, cell_tree(graph, sides)


def changes_found(tables, choices, touching):
    """The largest sums of |change| and of change^2 over all pairs of neighbours."""
    linear = squared = 0
    for at in touching:
        _, rest = np.unique(choices[:, ~at], axis=0, return_inverse=True)
        order = np.argsort(rest, kind="stable")
        classes = tables[order].reshape(rest.max() + 1, -1, tables.shape[1])
        change = np.abs(classes[:, :, None] - classes[:, None])
        linear = max(linear, int(change.sum(-1).max()))
        squared = max(squared, int((change**2).sum(-1).max()))
    return linear, squared


CASES = {
    "plain": ("plain", 5, 1, [0, 0, 1, 1, 1]),
    "three groups": ("plain", 5, 1, [0, 1, 1, 2, 2]),
    "weights": ("plain", 4, 2, [0, 0, 1, 1]),
    "directed": ("directed", 4, 1, [0, 0, 1, 1]),
    "directed with weights": ("directed", 3, 2, [0, 1, 1]),
    "bipartite": ("bipartite", 3, 1, [0, 0, 1]),
}


@pytest.mark.parametrize("bound", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_a_vertex_changes_a_table_by_no_more_than_is_claimed(case, bound):
    kind, n, top, codes = CASES[case]
    graphs, choices, touching = graphs_of(kind, n, top)
    first = graphs[0]
    sides, cells = tables_of(first, {"part": codes})
    grid = Grid.of_vertices(first, bound, bits=4)
    tables = np.array([bounded_cells(graph, sides, cells, grid) for graph in graphs])
    claimed = changes_on(grid, cells, Protect(kind="vertex", degree_bound=1))[-1]
    found = changes_found(tables, choices, touching)
    assert found == claimed  # also not more than needed
    # The sensitivity of one cell would not do for the table.
    one_cell = changes_found(tables[:, :1], choices, touching)
    assert one_cell[0] <= grid.sensitivity
    assert found[0] > one_cell[0]


@pytest.mark.parametrize("bound", [1, 2])
@pytest.mark.parametrize("case", ["three groups", "directed", "bipartite"])
def test_a_vertex_changes_coarser_levels_by_no_more_than_is_claimed(case, bound):
    kind, n, top, codes = CASES[case]
    graphs, choices, touching = graphs_of(kind, n, top)
    first, half = graphs[0], [int(code > 0) for code in codes]
    sides, cells = tables_of(first, {"half": half, "part": list(range(n))})
    grid = Grid.of_vertices(first, bound)
    sums = [sums_of_cells(graph, sides, cells, grid) for graph in graphs]
    for place, claimed in enumerate(
        changes_on(grid, cells, Protect.of("vertex", degree_bound=bound))
    ):
        tables = np.array([each[place] for each in sums])
        assert changes_found(tables, choices, touching) == claimed


def test_changes_are_told_for_the_right_grid_only():
    graph = Graph([], [], vertices=4)
    _, cells = tables_of(graph, {"part": [0, 0, 1, 1]})
    with pytest.raises(ParameterError, match="vertex"):
        changes_on(Grid.of_vertices(graph, 2), cells, EDGE)
    with pytest.raises(ParameterError, match="vertex"):
        changes_on(Grid.of(graph), cells, Protect.of("vertex", degree_bound=2))


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
    graph = Graph([0, 1], [2, 3], [1e300, 5.0], vertices=6, hide_change=1)
    sides, cells = tables_of(graph, {"part": [0, 0, 1, 1, 2, 2]})
    grid = Grid.of_vertices(graph, 2.0**40)
    assert (
        bounded_cells(graph, sides, cells, grid).max() * grid.unit == 2.0**40
    )  # 5 is below a step
    linear, squared = changes_on(grid, cells, Protect(kind="vertex", degree_bound=1))[-1]
    assert (linear, squared) == (3 * grid.sensitivity, 3 * grid.sensitivity**2)


def test_steps_are_so_few_that_floats_hold_all_sums():
    for kind, groups in (("few", 1), ("many", 5000)):
        graph = Graph([], [], [], vertices=10_000, hide_change=1)
        vertex = Protect.of("vertex", degree_bound=70)
        grid = grid_of_cells(graph, epsilon=1.0, protection=vertex, groups=groups)
        assert grid.sensitivity * 10_000 * 2 * groups <= 2**52, kind
        assert grid.sensitivity >= 2**20
        assert grid.sensitivity * grid.unit <= 70
    with pytest.raises(ParameterError, match="whole numbers"):
        Grid.of_vertices(graph, 10**9, whole=True, cells=10_000)
