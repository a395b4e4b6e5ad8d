"""Sensitivities of tables of cells: by how much their cells can change between neighbours.

A table of flows has a tree of *cells* (`CellTree`). Levels are numbered by a *level index*: 0 is
the single cell that holds everything, i the i-th level. For each level a *change* is a pair: the
largest sum of |change| over its cells, and the largest sum of change^2, for any two neighbouring
data sets. The first scales Laplace noise, the second Gaussian noise. *Grid units* are the whole
numbers in which weights are counted.

`cell_changes` is for all privacy units. It reads public numbers alone.
"""

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.count_noise import Change
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Reach


def counts_in_parts(counting: str, privacy_unit: PrivacyUnit) -> bool:
    """Return whether a row can count for a fraction of one.

    Weights do, and so do rows of users with more rows than count, which are scaled down.

    Args:
        counting: what cells count, such as "rows", "edges" or "weight".
        privacy_unit: of the release.
    """
    return counting == "weight" or (privacy_unit.kind == "user" and counting != "edges")


def cell_changes(
    cells: CellTree,
    privacy_unit: PrivacyUnit = EDGE,
    *,
    sensitivity: int | None = None,
    capped: bool = True,
    largest: int = 1,
    reach: Reach | None = None,
) -> tuple[Change, ...]:
    """Return the largest changes of the cells of each level between neighbours.

    Privacy: Neighbours differ in k = `PrivacyUnit.group_size` changes. One changes one pair in one
        period by at most s, the sensitivity. That pair lies in exactly one cell of each level.

        The sum of |change| is at most k s for all privacy units but vertices.

        The sum of change^2 is at most (k s)^2, where all changes fall into one cell. If each pair
        changes once at most (*bounded*), a cell of p pairs changes by at most p s, a pair counting
        once for each period that the cell holds. The sum of squares is convex, so it is largest if
        the largest cells change entirely, one after the other, until k is used up.

        If all rows of a user begin at one vertex v of a group g, they lie in the cells of g. The
        cell of g and h has as many pairs of v as h has vertices (without v itself, unless there are
        loops) in each period. If v is in the smallest group, only that group lacks a vertex. So no
        other vertex has more pairs in the j largest cells, for any j.

        Edges at a vertex change bounded sums by what `bounded_changes` says.

    Args:
        cells: the public cells.
        privacy_unit: what neighbouring data differ by.
        sensitivity: s, in grid units, see `Grid.sensitivity`. For a vertex it is D, the bound on
            its weight, in grid units. None if cells count edges: then it is 1, or the
            `max_degree` of the privacy unit.
        capped: whether a pair changes by no more than s, however many changes fall on it: true for
            graphs without weights, and for weights with a maximum.
        largest: largest weight of a pair, in grid units. It matters for vertices, if `capped`.
        reach: of rows: whether the rows of a user change each pair at most once (`once`), and
            whether they all begin at one vertex (`tail`). None for a graph. Neighbours differ in a
            user who is added or removed; one who is replaced by another is two users.

    Returns:
        For each level index the pair (sum of |change|, sum of change^2).
    """
    if privacy_unit.max_degree is not None:
        bound = privacy_unit.max_degree if sensitivity is None else sensitivity
        return bounded_changes(cells, bound=bound, largest=largest if capped else None)
    s, k = sensitivity or 1, privacy_unit.group_size
    bounded = capped if reach is None else reach.once
    if k == 1 or not bounded:
        return ((k * s, (k * s) ** 2),) * cells.depth
    one_origin = privacy_unit.kind == "user" and reach is not None and reach.tail
    changes = []
    for level_index in range(cells.depth):
        pairs = _pairs_of_one_vertex(cells, level_index) if one_origin else cells.pairs(level_index)
        changes.append((k * s, largest_squares(pairs, k) * s**2))
    return tuple(changes)


def _pairs_of_one_vertex(cells: CellTree, level_index: int) -> IntVector:
    """Return the largest numbers of pairs of one vertex of the rows in its cells of a level."""
    groups = cells.columns
    if level_index:
        _, column_level = cells.names(level_index)  # the level of groups that cells join to
        sizes = np.sort(groups.sizes(column_level))
    else:
        sizes = np.array([groups.n])
    if cells.one_set and not cells.loops:
        sizes[0] -= 1  # the vertex itself, of the smallest group
    # A pair counts once in each of the shortest periods that a period of this level holds.
    pairs: IntVector = np.outer(cells.lengths(level_index), sizes).ravel()
    return pairs


def largest_squares(room: IntVector, total: int) -> int:
    """Return the largest sum of x_i^2 for whole numbers 0 <= x_i <= room_i with a sum of `total`.

    If there is less room, the sum of all room_i^2.

    Args:
        room: whole numbers >= 0.
        total: >= 0.
    """
    remaining, squares = total, 0
    for size in np.sort(room)[::-1].tolist():
        x = min(remaining, int(size))
        squares += x**2
        remaining -= x
        if not remaining:
            break
    return squares


def bounded_changes(cells: CellTree, *, bound: int, largest: int | None = 1) -> tuple[Change, ...]:
    """Return the largest changes of bounded sums when the edges at one vertex change.

    Bounded sums are those of `graph.bounded_cuts`, in which each vertex counts with at most D. The
    sums of the finest level are bounded ones, each by itself; sums of other levels add these up.

    Privacy: Let v be in group A of the finest level. An edge at v lies in a cell (A, B) or (B, A);
        all other cells are those of G - v. In a cell, the sums of G and of its neighbour both lie
        between that of G - v and that plus min(D, d), by the theorem of `graph.bounded_cuts`. Here
        d is the most that v can have in the cell: the largest weight times the number of vertices
        to which v can be joined, which is |B|, or |A| - 1 for B = A.

        In a directed graph (A, B) and (B, A) are two cells, with |B| arcs of v each, and (A, A) has
        2 (|A| - 1). In a bipartite graph v of a left group A has |B| in (A, B), and v of a right
        group B has |A|. A cell of another level changes by at most the sum over its parts. The
        largest sums over all groups A count. They can be reached: a vertex that gets all edges, or
        loses them, changes all these sums at once and in one direction.

    Args:
        cells: the public cells.
        bound: D, in grid units.
        largest: the weight of a pair at most, in grid units; None if there is no maximum.

    Returns:
        For each level index the pair (sum of |change|, sum of change^2), in grid units and squared
        grid units.

    Raises:
        ParameterError: if there are periods, or pairs of a vertex with itself. Bounded sums are of
            one graph without them.
    """
    if cells.periods is not None or cells.loops:
        raise ParameterError(
            "privacy_unit='vertex' is for one graph, without periods and without edges from a "
            "vertex to itself: leave periods out, or take privacy_unit='user:max-contributions=...'"
        )
    changes: list[Change] = []
    # Finest groups, cells that their vertices touch, and largest changes: one entry for each.
    groups, touched_cells, change = _finest_changes(cells, bound, largest)
    for level_index in range(cells.depth - 1, -1, -1):
        cell_count = cells.size(level_index)
        # Add up the entries of a group that fall into the same cell of this level.
        # A key is a pair (group, cell) as one number.
        keys, entry = np.unique(groups * cell_count + touched_cells, return_inverse=True)
        change = np.bincount(entry, weights=change).astype(np.int64)  # exact: far below 2^53
        groups, touched_cells = np.divmod(keys, cell_count)
        absolute_sums = np.bincount(groups, weights=change).astype(np.int64)
        # Python integers, since squares may not fit into 64 bits.
        square_sums = absolute_sums.astype(object) * 0
        np.add.at(square_sums, groups, change.astype(object) ** 2)
        changes.insert(0, (int(absolute_sums.max()), int(square_sums.max())))
        touched_cells = cells.parents(level_index)[touched_cells]
    return tuple(changes)


def _finest_changes(
    cells: CellTree, bound: int, largest: int | None
) -> tuple[IntVector, IntVector, IntVector]:
    """Return the cells that each group touches, and by how much one vertex changes them.

    Returns:
        Three arrays with an entry for each finest group and each finest cell that it touches: the
        group (of two vertex sets, those of the columns come after those of the rows), the cell, and
        the largest change.
    """
    finest = cells.depth - 1
    a, b = cells.cells(finest)
    row_sizes, column_sizes = (side.sizes(side.levels[-1]) for side in (cells.rows, cells.columns))
    inside = (a == b) if cells.one_set else np.zeros(len(a), dtype=np.bool_)
    directions = 2 if cells.directed else 1
    # Vertices to which one of group a can be joined in the cell (a, b), and one of b unless b = a.
    joined_to_a = np.where(inside, directions * (column_sizes[b] - 1), column_sizes[b])
    joined_to_b = row_sizes[a[~inside]]
    indices = np.arange(len(a))
    first_column_group = 0 if cells.one_set else len(row_sizes)
    return (
        np.concatenate([a, b[~inside] + first_column_group]),
        np.concatenate([indices, indices[~inside]]),
        np.concatenate(
            [
                _bounded_change(joined_to_a, bound, largest),
                _bounded_change(joined_to_b, bound, largest),
            ]
        ),
    )


def _bounded_change(joined: IntVector, bound: int, largest: int | None) -> IntVector:
    """Return min(D, largest * joined): what a vertex can change a cell by.

    Args:
        joined: number of vertices to which it can be joined in each cell.
        bound: D.
        largest: weight of a pair at most; None if there is no maximum.
    """
    if largest is None:
        return np.where(joined > 0, bound, 0)
    enough = -(-bound // largest)  # so many pairs reach the bound; the product may overflow
    return np.where(joined < enough, joined * largest, bound)
