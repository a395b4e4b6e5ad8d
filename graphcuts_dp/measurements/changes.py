"""By how much the cells of a table can change between neighbours, for whom a promise protects."""

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.measurements.vertex_changes import bounded_changes
from graphcuts_dp.privacy.level_noise import Change
from graphcuts_dp.privacy.protection import EDGE, Protection


def cell_changes(
    cells: CellTree,
    protection: Protection = EDGE,
    *,
    sensitivity: int | None = None,
    capped: bool = True,
    largest: int = 1,
) -> tuple[Change, ...]:
    """The largest changes of the cells of each place between neighbours. From public numbers.

    One step changes one pair, which lies in exactly one cell of each place, by s, the
    sensitivity. Of k steps, the cells of a place change by k s together; squared, by most where as
    many as possible fall into one cell. Where weights are bounded, a cell of p pairs changes by p s
    at most: the sum of squares is convex, so it is largest where the largest cells are full, one
    after the other, and all others do not change. All edges of a vertex change bounded sums by what
    `bounded_changes` says.

    Args:
        cells: the public cells.
        protection: whom the promise is for.
        sensitivity: s: by how many steps of the grid one pair changes, `Grid.sensitivity`; of a
            vertex D in steps. None for steps of one edge.
        capped: whether a pair changes by no more than that, however many steps change it: true for
            graphs without weights, and with a cap.
        largest: of a vertex: how many steps a pair can weigh, where there is a cap.

    Returns:
        For each place (0: everything) the pair (sum of |change|, sum of change^2).
    """
    if protection.degree_bound is not None:
        bound = protection.degree_bound if sensitivity is None else sensitivity
        return bounded_changes(cells, bound=bound, largest=largest if capped else None)
    s, k = sensitivity or 1, protection.steps
    if k == 1 or not capped:
        return ((k * s, (k * s) ** 2),) * cells.depth
    return tuple(
        (k * s, largest_squares(cells.pairs(place), k) * s**2) for place in range(cells.depth)
    )


def largest_squares(room: IntVector, total: int) -> int:
    """The most that x_1^2 + x_2^2 + ... can be for whole 0 <= x_i <= room_i of this sum, or less.

    Args:
        room: whole numbers >= 0.
        total: >= 0.
    """
    left, found = total, 0
    for most in np.sort(room)[::-1].tolist():
        taken = min(left, int(most))
        found += taken**2
        left -= taken
        if not left:
            break
    return found
