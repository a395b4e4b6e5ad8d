"""By how much one vertex can change a table of bounded sums, whatever edges it has."""

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.privacy.level_noise import Change


def bounded_changes(cells: CellTree, *, bound: int, largest: int | None = 1) -> tuple[Change, ...]:
    """How much the sums of the cells of each place can change together, when a vertex changes.

    The sums of the finest level are bounded ones, those of other places sums of these.

    Args:
        cells: the public cells.
        bound: D, in steps of a grid.
        largest: how many steps one pair can weigh; None without a cap.

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
    groups, numbers, change = _incidences(cells, bound, largest)
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


def _incidences(
    cells: CellTree, bound: int, largest: int | None
) -> tuple[IntVector, IntVector, IntVector]:
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
        np.concatenate([_capped(met, bound, largest), _capped(left[a[~inside]], bound, largest)]),
    )


def _capped(met: IntVector, bound: int, largest: int | None) -> IntVector:
    """What a vertex can change a cell by, if it can be joined to so many vertices there."""
    if largest is None:
        return np.where(met > 0, bound, 0)
    fewest = -(-bound // largest)  # so many reach the bound
    return np.where(met < fewest, met * largest, bound)
