"""Sensitivities of tables of cells: by how much their cells can change between neighbours.

A table of flows has a tree of *cells* (`CellTree`). The vertices are divided into groups, the time
into periods, and a cell holds the pairs (u, v) from one group to another in one period. Each level
of the tree divides all pairs; its cells lie within the cells of the level before. Levels are
numbered by a *level index*: 0 is the single cell that holds everything, i the i-th level. A cell's
*sum* is what it counts, rows or weight, in whole *grid units* (the smallest step of a weight).

For each level a *change* (`Change`) is a pair of numbers: the largest sum of |change| over its
cells, and the largest sum of change^2, for any two neighbouring data sets. The first scales Laplace
noise, the second Gaussian noise. Too small a number breaks privacy; too large a one costs accuracy
alone.

`cell_changes` is for all privacy units and calls `bounded_changes` for vertices; `margin_change` is
for what leaves and what enters each group. All read public numbers alone: the shape of the tree,
never its sums.
"""

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.count_distribution import Change
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Reach


def counts_in_parts(counting: str, privacy_unit: PrivacyUnit) -> bool:
    """Return whether a row can count for a fraction of one.

    A row that counts by its weight can. So can a row of a user: if he has more rows than his bound
    allows, each of them counts for less than 1. Edges are counted whole.

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

    Privacy: Neighbours differ in k = `PrivacyUnit.group_size` changes. One change alters one pair
        in one period by at most s, the sensitivity. That pair lies in exactly one cell of each
        level.

        Sum of |change|: at most k s, for all privacy units but vertices.

        Sum of change^2: at most (k s)^2, which is reached if all changes fall into one cell. It is
        smaller if each pair changes at most once in a period (*bounded*). A cell with room for p
        pairs, each counted once for each period that the cell holds, then changes by at most
        p s. The sum of squares is convex in the changes of the cells. So it is largest if the
        largest cell changes entirely, then the next largest, until all k changes are used up.
        `largest_squares` computes this for s = 1.

        One origin: suppose that in addition all rows of a user begin at one vertex v, of group g.
        They lie in the cells (g, h). In each period, such a cell has as many pairs of v as h has
        vertices; the cell (g, g) has one fewer, unless v may be joined to itself. These numbers
        depend on g only by the one that is smaller by 1. The sum of squares is largest if it is the
        smallest group that lacks a vertex, since the largest cells are then the largest possible.

        Edges at a vertex: see `bounded_changes`. There k is 1, and a change is all of them.

    Args:
        cells: the public cells.
        privacy_unit: what neighbouring data differ by.
        sensitivity: s, in grid units, see `Grid.sensitivity`. For a vertex it is D instead, the
            bound on the sum of the weights of its edges, in grid units. None if cells count edges:
            then s is 1, and D is the `max_degree` of the privacy unit.
        capped: whether a pair changes by no more than s, however many changes fall on it: true for
            graphs without weights, and for weights with a maximum. For rows, `reach` says so.
        largest: largest weight of a pair, in grid units. It is read only for vertices, if `capped`.
        reach: None for a graph. For rows, two facts about those of one user: `once`, that they
            change each pair at most once in a period; `tail`, that all of them begin at one vertex.

    Returns:
        For each level index the pair (sum of |change|, sum of change^2).
    """
    if privacy_unit.max_degree is not None:  # only vertices have it
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


def margin_change(
    cells: CellTree,
    privacy_unit: PrivacyUnit = EDGE,
    *,
    sensitivity: int | None = None,
    capped: bool = True,
    largest: int = 1,
    reach: Reach | None = None,
) -> Change:
    """Return the largest change of all margins of the finest level between neighbours.

    Privacy: A pair in a period lies in one finest cell, which lies in the margin of what leaves its
        first group and in that of what enters its second; without directions in those of both of
        its groups, which are one margin inside a group (`CellTree.margins`). So each of k changes
        of at most s moves at most two margins, by at most s each.

        Sum of |change|: at most 2 k s.

        Sum of change^2: what leaves groups changes by at most k s together, so no margin by more,
        and its squares by at most (k s)^2; so do those of what enters. Without directions, margins
        change by at most 2 k s together, and each by at most k s, so that their squares are at most
        2 (k s)^2: a sum of squares is convex, so largest where two margins have all. If each pair
        changes at most once in a period, a margin with room for p pairs changes by at most p s
        besides, and `largest_squares` of these rooms is a bound, too. If all rows of a user begin
        at one vertex, what enters has the room of the pairs of one vertex, see `cell_changes`.

        Edges at a vertex: a margin changes by at most the sum of the changes of its cells, of which
        `bounded_changes` has the bounds. They can be reached, all at once.

    Args:
        cells: the public cells.
        privacy_unit: what neighbouring data differ by.
        sensitivity: see `cell_changes`, as all that follow.
        capped: whether a pair changes by no more than s.
        largest: largest weight of a pair, in grid units.
        reach: facts about the rows of one user; None for a graph.

    Returns:
        The pair (sum of |change|, sum of change^2).
    """
    margins = cells.margins
    if privacy_unit.max_degree is not None:
        bound = privacy_unit.max_degree if sensitivity is None else sensitivity
        bounded_changes(cells, bound=bound, largest=largest if capped else None)  # refuses others
        groups, touched, change = _finest_changes(cells, bound, largest if capped else None)
        two = margins.two[touched]
        keys = np.concatenate(
            [
                groups * margins.total + margins.leaving[touched],
                (groups * margins.total + margins.entering[touched])[two],
            ]
        )
        return _largest_sums(keys // margins.total, keys, np.concatenate([change, change[two]]))
    s, k = sensitivity or 1, privacy_unit.group_size
    bounded = capped if reach is None else reach.once
    if k == 1 or not bounded:
        return (2 * k * s, 2 * (k * s) ** 2)
    pairs, finest = cells.pairs(cells.depth - 1), cells.depth - 1
    leaving, entering = (
        np.bincount(margin, weights=pairs * part, minlength=margins.total).astype(np.int64)
        for margin, part in ((margins.leaving, 1), (margins.entering, margins.two))
    )
    if cells.symmetric:
        squares = largest_squares(np.minimum(leaving + entering, k), 2 * k)
        return (2 * k * s, squares * s**2)
    if privacy_unit.kind == "user" and reach is not None and reach.tail:
        entering = _pairs_of_one_vertex(cells, finest)
    return (2 * k * s, (largest_squares(leaving, k) + largest_squares(entering, k)) * s**2)


def _largest_sums(groups: IntVector, keys: IntVector, change: IntVector) -> Change:
    """Return the largest sums of |change| and of change^2 over the groups of a vertex.

    Args:
        groups: of each entry.
        keys: entries with one key change the same number, and belong to the same group.
        change: of each entry, >= 0.
    """
    _, first, entry = np.unique(keys, return_index=True, return_inverse=True)
    joined = np.bincount(entry, weights=change).astype(np.int64)  # exact: far below 2^53
    absolute_sums = np.bincount(groups[first], weights=joined).astype(np.int64)
    # Python integers, since squares may not fit into 64 bits.
    square_sums = absolute_sums.astype(object) * 0
    np.add.at(square_sums, groups[first], joined.astype(object) ** 2)
    return int(absolute_sums.max()), int(square_sums.max())


def _pairs_of_one_vertex(cells: CellTree, level_index: int) -> IntVector:
    """Return how many pairs begin at one vertex v, in each cell of a level that v touches.

    Of all vertices v, the numbers are those of one in the smallest group, see `cell_changes`.

    Returns:
        An entry for each period of the level and each group in which the pairs end.
    """
    column_groups = cells.columns  # the groups of the ends of pairs; `cells.rows`: of their origins
    if level_index:
        _, column_level = cells.names(level_index)  # names of the levels of row and column groups
        sizes = np.sort(column_groups.sizes(column_level))  # vertices of each group
    else:
        sizes = np.array([column_groups.n])
    if cells.one_set and not cells.loops:  # origins and ends are the same vertices
        sizes[0] -= 1  # the smallest group lacks v itself
    # `lengths` says how many of the shortest periods each period of this level holds. A pair counts
    # once in each of them.
    pairs: IntVector = np.outer(cells.lengths(level_index), sizes).ravel()
    return pairs


def largest_squares(room: IntVector, total: int) -> int:
    """Return the largest sum of x_i^2 for whole numbers 0 <= x_i <= room_i with a sum of `total`.

    If the room is less than `total`, it is the sum of all room_i^2. The result is a Python integer,
    since it may exceed 64 bits.

    Args:
        room: whole numbers >= 0, in any order.
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

    Bounded sums are those of `graph.bounded_cuts`: the sum of a cell of the finest level, computed
    so that no vertex counts with more than D. Each cell of the finest level is bounded by itself;
    sums of other levels add these up.

    Privacy: Let G be a graph, v the vertex whose edges change, and G - v the graph without them.
        The theorem of `graph.bounded_cuts` says: the bounded sum of a cell in G is at least that in
        G - v, and at most that plus min(D, d). Here d is the most that v can have in the cell. The
        neighbour of G, where v has other edges, has the same G - v. So both sums lie between the
        same two numbers, and a finest cell changes by at most min(D, d).

        Let v be in group A of the finest level. Its edges lie in the cells (A, B) and (B, A), for
        any groups B; no other cell changes. d is the largest weight of a pair times the number of
        pairs of v in the cell:

        - undirected graph: |B| in the cell of A and B, |A| - 1 if B = A;
        - directed graph: |B| in (A, B) and as many in (B, A), which are two cells; 2 (|A| - 1) in
          (A, A), which holds the arcs of both directions;
        - bipartite graph: |B| in (A, B) for v in a left group A, |A| for v in a right group B.

        A cell of another level changes by at most the sum of the changes of the finest cells in it.
        The result takes the largest sums over all groups A of v. They can be reached: a vertex that
        gets all edges, or loses them, changes all these sums at once and in one direction.

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
    # Three arrays with an entry for each finest group A and each cell that A touches: A, the cell,
    # and its largest change if the edges at one vertex of A change.
    groups, touched_cells, change = _finest_changes(cells, bound, largest)
    for level_index in range(cells.depth - 1, -1, -1):  # from the finest level up to the root
        # Several finest cells of a group may lie in one cell of this level: add up their changes.
        # A key is the pair (group, cell) as one number, so that equal pairs are equal keys.
        cell_count = cells.size(level_index)
        keys, entry = np.unique(groups * cell_count + touched_cells, return_inverse=True)
        change = np.bincount(entry, weights=change).astype(np.int64)  # exact: far below 2^53
        groups, touched_cells = np.divmod(keys, cell_count)
        absolute_sums = np.bincount(groups, weights=change).astype(np.int64)
        # Python integers, since squares may not fit into 64 bits.
        square_sums = absolute_sums.astype(object) * 0
        np.add.at(square_sums, groups, change.astype(object) ** 2)
        changes.insert(0, (int(absolute_sums.max()), int(square_sums.max())))
        # For the next level, each cell is replaced by the cell of the level before that holds it.
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
    a, b = cells.cells(finest)  # row group and column group of each finest cell
    row_sizes, column_sizes = (side.sizes(side.levels[-1]) for side in (cells.rows, cells.columns))
    # Cells of pairs within one group.
    inside = (a == b) if cells.one_set else np.zeros(len(a), dtype=np.bool_)
    directions = 2 if cells.directed else 1
    # How many pairs a vertex of a has in the cell (a, b), and a vertex of b, unless b = a.
    joined_to_a = np.where(inside, directions * (column_sizes[b] - 1), column_sizes[b])
    joined_to_b = row_sizes[a[~inside]]
    indices = np.arange(len(a))  # numbers of the cells
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
    """Return min(D, largest * joined): by how much a vertex can change each cell.

    Args:
        joined: number of pairs of the vertex in each cell.
        bound: D.
        largest: weight of a pair at most; None if there is no maximum.
    """
    if largest is None:
        return np.where(joined > 0, bound, 0)
    enough = -(-bound // largest)  # so many pairs reach the bound; the product may overflow
    return np.where(joined < enough, joined * largest, bound)
