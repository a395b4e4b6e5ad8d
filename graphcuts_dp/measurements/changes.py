"""By how much the cells of a table can change between neighbours, for whom a promise protects."""

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.privacy.level_noise import Change
from graphcuts_dp.privacy.protection import EDGE, Protection


def cell_changes(cells: CellTree, grid: Grid, protection: Protection = EDGE) -> tuple[Change, ...]:
    """The largest changes of the cells of each place between neighbours. From public numbers.

    One step changes one pair, which lies in exactly one cell of each place, by s = `grid.
    sensitivity`. Of k steps, the cells of a place change by k s together; squared, by most where as
    many as possible fall into one cell. Where weights are bounded, a cell of p pairs changes by p s
    at most: the sum of squares is convex, so it is largest where the largest cells are full, one
    after the other, and all others do not change.

    Args:
        cells: the public cells.
        grid: the steps that weights are counted in, and their cap.
        protection: whom the promise is for.

    Returns:
        For each place (0: everything) the pair (sum of |change|, sum of change^2).
    """
    s, k = grid.sensitivity, protection.steps
    if k == 1 or grid.cap is None:
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
