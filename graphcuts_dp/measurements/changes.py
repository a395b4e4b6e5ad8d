"""By how much the cells of a table can change between neighbours, for whom a promise protects."""

from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.graph.owned_rows import OwnedRows, PrivateData
from graphcuts_dp.measurements.vertex_changes import bounded_changes
from graphcuts_dp.privacy.level_noise import Change
from graphcuts_dp.privacy.protection import EDGE, Protection


@final
@dataclass(frozen=True)
class Reach:
    """What the rows of one owner can change. Public.

    Attributes:
        once: whether they change a pair by one step at most.
        tail: whether all of them begin at one vertex, the owner.
    """

    once: bool
    tail: bool


def reach_of(data: PrivateData) -> Reach | None:
    """What one owner's rows can change; None for a graph. Reads the schema only."""
    return Reach(data.once, data.owner_is_tail) if isinstance(data, OwnedRows) else None


def cell_changes(
    cells: CellTree,
    protection: Protection = EDGE,
    *,
    sensitivity: int | None = None,
    capped: bool = True,
    largest: int = 1,
    reach: Reach | None = None,
) -> tuple[Change, ...]:
    """The largest changes of the cells of each place between neighbours. From public numbers.

    One step changes one pair, which lies in exactly one cell of each place, by s, the
    sensitivity. Of k steps, the cells of a place change by k s together; squared, by most where as
    many as possible fall into one cell. Where weights are bounded, a cell of p pairs changes by p s
    at most: the sum of squares is convex, so it is largest where the largest cells are full, one
    after the other, and all others do not change. The same holds of the rows of an owner who
    changes a pair by one at most. If all of them begin at one vertex v, of group g, they lie in the
    cells of g, and in that of g and h there are as many of their pairs as h has vertices, but for v
    itself. Of all v, the one of the smallest group leaves the largest groups whole, so that none
    has more room in the j largest cells, for any j. All edges of a vertex change bounded sums by
    what `bounded_changes` says.

    Args:
        cells: the public cells.
        protection: whom the promise is for.
        sensitivity: s: by how many steps of the grid one pair changes, `Grid.sensitivity`; of a
            vertex D in steps. None for steps of one edge.
        capped: whether a pair changes by no more than that, however many steps change it: true for
            graphs without weights, and with a cap.
        largest: of a vertex: how many steps a pair can weigh, where there is a cap.
        reach: of an owner: which cells its rows can touch. An owner who is replaced by another is
            two owners, one whose rows go and one whose rows come: the sum of |change| is at most
            twice as large, and that of change^2, too, since (x - y)^2 <= x^2 + y^2 for x, y >= 0.

    Returns:
        For each place (0: everything) the pair (sum of |change|, sum of change^2).
    """
    if protection.degree_bound is not None:
        bound = protection.degree_bound if sensitivity is None else sensitivity
        return bounded_changes(cells, bound=bound, largest=largest if capped else None)
    s, k = sensitivity or 1, protection.steps
    bounded = capped if reach is None else reach.once
    if k == 1 or not bounded:
        return ((k * s, (k * s) ** 2),) * cells.depth
    tail = reach is not None and reach.tail
    rooms = (_room_of_one(cells, p) if tail else cells.pairs(p) for p in range(cells.depth))
    return tuple((k * s, largest_squares(room, k) * s**2) for room in rooms)


def _room_of_one(cells: CellTree, place: int) -> IntVector:
    """How many pairs of one vertex of the rows there are in each of its cells, at most."""
    tree = cells.columns
    sizes = np.sort(tree.sizes(tree.levels[place - 1]) if place else np.array([tree.n]))
    if cells.one_set:
        sizes[0] -= 1
    return sizes


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
