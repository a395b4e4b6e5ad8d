"""By how much the cells of a table can change between neighbours, for whom a promise protects.

By how much one vertex can change a table of bounded sums, whatever edges it has.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.pairs.groups import CellTree
from graphcuts_dp.privacy.guarantee import EDGE, Protect
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


def cell_changes(
    cells: CellTree,
    protection: Protect = EDGE,
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
