"""Sums between public groups that one vertex cannot change by much, whatever edges it has."""

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.bounded_cuts import ends_of, vertices_of
from graphcuts_dp.graph.bounded_sums import BoundedEdges, doubled_sums
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.groups import Groups


def bounded_cells(
    graph: AnyGraph, sides: tuple[Groups, Groups], cells: CellTree, grid: Grid
) -> IntVector:
    """The bounded sum f_D of each cell of the finest level in steps, shape (cells,). Private.

    Each cell is bounded for itself: f_D of the edges in it, with D = `grid.sensitivity` for every
    vertex, rounded down; see `graph.bounded_cuts`. So it is the true sum where no vertex has more
    than D of weight within this cell, and less elsewhere.

    Args:
        graph: the private graph.
        sides: public groups of its rows and columns.
        cells: the public cells.
        grid: a bounded one.

    Guarantee: sensitivities are those of `cell_changes`.
    """
    place = cells.depth - 1
    codes = tuple(side.codes() for side in sides)
    cell = cells.locate(place, codes[0][graph.rows], codes[1][graph.columns])
    # A vertex is one vertex of each cell that it has edges in: cells share none.
    size = vertices_of(graph)
    ends = (cell * size + each for each in ends_of(graph, graph.rows, graph.columns))
    names, numbers = np.unique(np.concatenate(list(ends)), return_inverse=True)
    edges = BoundedEdges(
        numbers[: len(cell)],
        numbers[len(cell) :],
        grid.edge_steps(graph),
        vertices=len(names),
        part=names // size,
        parts=cells.size(place),
    )
    return doubled_sums(edges, grid.sensitivity) // 2


def cell_changes(cells: CellTree, grid: Grid) -> tuple[int, int]:
    """How much the bounded sums of the finest level can change together, when a vertex changes.

    Args:
        cells: the public cells.
        grid: a bounded one.

    Returns:
        The largest sum of |change| and the largest sum of change^2 over the cells of the level, in
        steps and squared steps, for any two graphs that differ in the edges at one vertex.

    Proof. Let v be in group A. An edge at v lies in a cell (A, B), or (B, A), and all other cells
    are those of G - v. In a cell the sum of G and that of G' lie both between that of G - v, and
    that plus min(D, d), where d is what v can have there at most: the cap times the number of
    vertices that it can be joined to, |B|, or |A| - 1 for B = A (theorem in `graph.bounded_cuts`).
    Of a directed graph, (A, B) and (B, A) are two cells, with |B| arcs each, and (A, A) has
    2 (|A| - 1); of a bipartite graph, v of a left group A has |B| in (A, B), and v of a right group
    B has |A|. Sums over the cells of A, and the largest over A, are exact but for what no graph can
    reach.
    """
    place = cells.depth - 1
    a, b = cells.cells(place)
    left, right = _sizes(cells)
    linear = np.zeros(len(left) + len(right), dtype=np.int64)
    squared = linear.astype(object)  # squares may not fit into 64 bits
    inside = (a == b) if cells.one_set else np.zeros(len(a), dtype=np.bool_)
    offset = 0 if cells.one_set else len(left)
    both_ways = 2 if cells.directed else 1
    met = np.where(inside, both_ways * (right[b] - 1), right[b])
    change = _capped(met, grid)
    np.add.at(linear, a, change)
    np.add.at(squared, a, change.astype(object) ** 2)
    change = _capped(left[a], grid)[~inside]
    np.add.at(linear, b[~inside] + offset, change)
    np.add.at(squared, b[~inside] + offset, change.astype(object) ** 2)
    return int(linear.max()), int(squared.max())


def _sizes(cells: CellTree) -> tuple[IntVector, IntVector]:
    level = cells.depth - 2
    left, right = cells.rows, cells.columns
    return left.sizes(left.levels[level]), right.sizes(right.levels[level])


def _capped(met: IntVector, grid: Grid) -> IntVector:
    """What a vertex can change a cell by, if it can be joined to so many vertices there."""
    if grid.cap is None:
        return np.where(met > 0, grid.sensitivity, 0)
    fewest = -(-grid.sensitivity // grid.largest)  # so many reach the bound
    return np.where(met < fewest, met * grid.largest, grid.sensitivity)
