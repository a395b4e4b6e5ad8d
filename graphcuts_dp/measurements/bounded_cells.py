"""Sums between public groups that one vertex cannot change by much, whatever edges it has."""

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.bounded_cuts import ends_of, vertices_of
from graphcuts_dp.graph.bounded_sums import BoundedEdges, doubled_sums
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.groups import Groups
from graphcuts_dp.privacy.level_noise import Change


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

    Guarantee: sensitivities are those of `bounded_changes`.
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


def bounded_changes(cells: CellTree, grid: Grid) -> tuple[Change, ...]:
    """How much the sums of the cells of each place can change together, when a vertex changes.

    The sums of the finest level are bounded ones, those of other places sums of these.

    Args:
        cells: the public cells.
        grid: a bounded one.

    Returns:
        For each place (0: everything) the largest sum of |change| and the largest sum of change^2
        over its cells, in steps and squared steps, for any two graphs that differ in the edges at
        one vertex.

    Proof. Let v be in group A of the finest level. An edge at v lies in a cell (A, B), or (B, A),
    and all other cells are those of G - v. In a cell the sums of G and of G' lie both between that
    of G - v, and that plus min(D, d), where d is what v can have there at most: the cap times the
    number of vertices that it can be joined to, |B|, or |A| - 1 for B = A (theorem in
    `graph.bounded_cuts`). Of a directed graph (A, B) and (B, A) are two cells, with |B| arcs each,
    and (A, A) has 2 (|A| - 1); of a bipartite graph, v of a left group A has |B| in (A, B), and v
    of a right group B has |A|. A cell of another place changes by the sum over its parts, at most.
    Of all groups A the largest sums count. None of it is too much: a vertex that gets all edges, or
    loses them, changes all these sums at once and in one direction.
    """
    found: list[Change] = []
    groups, numbers, change = _incidences(cells, grid)
    for place in range(cells.depth - 1, -1, -1):
        size = cells.size(place)
        keys, rows = np.unique(groups * size + numbers, return_inverse=True)
        change = np.bincount(rows, weights=change).astype(np.int64)  # exact: far below 2^53
        groups, numbers = np.divmod(keys, size)
        linear = np.bincount(groups, weights=change).astype(np.int64)
        squared = linear.astype(object) * 0  # squares may not fit into 64 bits
        np.add.at(squared, groups, change.astype(object) ** 2)
        found.insert(0, (int(linear.max()), int(squared.max())))
        numbers = cells.parents(place)[numbers]
    return tuple(found)


def _incidences(cells: CellTree, grid: Grid) -> tuple[IntVector, IntVector, IntVector]:
    """Groups of the finest level, the cells that their vertices touch, and by how much each."""
    place = cells.depth - 1
    a, b = cells.cells(place)
    left, right = (side.sizes(side.levels[-1]) for side in (cells.rows, cells.columns))
    inside = (a == b) if cells.one_set else np.zeros(len(a), dtype=np.bool_)
    met = np.where(inside, (2 if cells.directed else 1) * (right[b] - 1), right[b])
    numbers = np.arange(len(a))
    offset = 0 if cells.one_set else len(left)
    return (
        np.concatenate([a, b[~inside] + offset]),
        np.concatenate([numbers, numbers[~inside]]),
        np.concatenate([_capped(met, grid), _capped(left[a[~inside]], grid)]),
    )


def _capped(met: IntVector, grid: Grid) -> IntVector:
    """What a vertex can change a cell by, if it can be joined to so many vertices there."""
    if grid.cap is None:
        return np.where(met > 0, grid.sensitivity, 0)
    fewest = -(-grid.sensitivity // grid.largest)  # so many reach the bound
    return np.where(met < fewest, met * grid.largest, grid.sensitivity)
