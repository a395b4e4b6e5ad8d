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

    Guarantee: sensitivities are those of `vertex_changes.bounded_changes`.
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
