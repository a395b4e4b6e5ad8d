"""Cells: the entries of tables of flows between public groups, on all levels.

A *cell* of a level is a pair of groups (a, b) between which a pair of vertices can lie. A table of
flows counts something in each cell. With periods of time there is such a table in each period, and
a cell is (period, a, b).

`CellTree` numbers the cells of each level, and says which cell of the level before holds each of
them. It knows public facts only: names and sizes of groups, and no edges.

Groups and periods are both `GroupTree`s. A `GroupTree` has named levels, from the coarsest to the
finest. On each level its groups have *codes* 0, 1, ...; those within one group of the level before
(their *parent*) follow each other. Its methods take the name of a level: `labels`, `sizes` and
`parents` return one item a group, and `code` finds the code of a label. Its `n` is the number of
vertices; of periods, it is the number of the shortest periods.

Levels of *cells* have an index: 0 is the *root*, one cell that holds everything; 1 is the coarsest
level that has a name. Cells of a level are numbered period after period, and within a period row by
row: number = period · (cells in one period) + (number within the period). Noisy values are stored
in this order, so it must not change.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.final_classes import final
from graphcuts_dp.schema.group_tree import GroupTree, listed
from graphcuts_dp.schema.vertices import Label

Picked = Label | Iterable[Label]  # the label of a group or a period, or several labels
# Largest `CellTree.margin_products` of measured margins: 80 MB for each measured level. 170 groups
# without periods have so many.
MOST_MARGIN_PRODUCTS = 10_000_000


class _GroupCells(NamedTuple):
    """The cells of one level of groups in one period, in row order, shape (cells,) each.

    Attributes:
        a: codes of the groups of the rows.
        b: codes of the groups of the columns.
        pairs: numbers of pairs of vertices.
        parents: numbers, within one period, of the cells of the level of groups before. Zeros for
            level 1, whose cells lie in the root, and for the root.
    """

    a: IntVector
    b: IntVector
    pairs: IntVector
    parents: IntVector


@final
class CellMargins(NamedTuple):
    """The margins in which the cells of the finest level lie: what leaves each group, what enters.

    Margins are numbered period after period; within a period first what leaves each group of the
    rows, then what enters each group of the columns. Without directions a group has one margin:
    all that touches it, and what lies inside once.

    Attributes:
        leaving: number of the margin that each cell leaves, shape (cells,).
        entering: number of the margin that each cell enters, shape (cells,).
        two: whether these are two margins: not for cells inside a group without directions, which
            lie in one, shape (cells,).
        total: number of margins.
    """

    leaving: IntVector
    entering: IntVector
    two: BoolVector
    total: int


@final
class CellTree:
    """All cells of all levels, each below the root within one cell of the level before.

    A cell (a, b) joins group a of the rows and group b of the columns. It holds the pairs of
    vertices with one endpoint in each. With one set of groups and no direction, (a, b) and (b, a)
    are one cell, which is stored with a <= b, and (a, a) holds the pairs inside a. Cells that can
    hold no pair are left out, such as that of a single vertex with itself. Each pair of vertices
    lies in exactly one cell of each level.

    With periods a cell is (t, a, b), and a pair can occur once in each of the shortest periods.
    Each occurrence lies in exactly one cell of each level. From the coarsest level on, first the
    groups become finer while the periods stay the coarsest ones; then the periods become finer
    while the groups stay the finest ones. Example: groups by state and county, periods by year and
    month give the levels (year, state), (year, county), (month, county).

    Methods with similar names:

    - `period_cells`: groups of the cells of a single period. `cells`: those of all periods.
    - `periods_of`: the period of each cell. `period_codes`: the codes of periods by their labels.
    - `of_period`: a smaller tree of one coarsest period. `in_period`: which cells of this tree lie
      in one.
    - `sums` adds up within the cells of the level before, `summed` over periods.

    Args:
        rows: the groups, or those of the left side.
        columns: groups of the right side; None for one set of vertices. As many levels as `rows`.
        directed: of one set of vertices, whether (a, b) and (b, a) are two cells.
        periods: the periods, see `Periods.tree`; None for one table.
        loops: of one set of vertices, whether a vertex with itself is a pair, of the cell (a, a).

    Attributes:
        rows, columns, periods: the arguments; `columns` is `rows` for one set of vertices.
        one_set: whether rows and columns are the same vertices.
        directed, loops: as the arguments; False for two sets of vertices.
        levels: names of the levels without the root; "left x right" where those of two sides
            differ, and "groups by periods" if there are several levels of periods.
        depth: number of levels with the root.

    Raises:
        GraphError: sides with different numbers of levels, or groups without any pair.
    """

    def __init__(
        self,
        rows: GroupTree,
        columns: GroupTree | None = None,
        *,
        directed: bool = False,
        periods: GroupTree | None = None,
        loops: bool = False,
    ) -> None:
        self.rows = rows
        self.columns: GroupTree = rows if columns is None else columns
        self.one_set: bool = columns is None
        self.directed: bool = directed and columns is None
        self.periods = periods
        self.loops: bool = loops and columns is None
        if len(self.rows.levels) != len(self.columns.levels):
            raise GraphError("groups of both sides need the same number of levels; repeat one")
        group_names = tuple(
            left if left == right else f"{left} x {right}"
            for left, right in zip(self.rows.levels, self.columns.levels, strict=True)
        )
        period_names = () if periods is None else periods.levels
        finest = len(group_names)
        finer_periods = range(2, len(period_names) + 1)
        # For each level of cells its level of groups and its level of periods. Both are counted
        # from 1, so number i is `levels[i - 1]` of the `GroupTree`. 0 stands for all vertices in
        # one group, and for all periods in one. In the example above:
        # _group_level  = [0, 1, 2, 2]  root, state, county, county
        # _period_level = [0, 1, 1, 2]  root, year, year, month
        # Without periods, 1 stands for the only period, which has no name.
        self._group_level: list[int] = [*range(finest + 1), *(finest for _ in finer_periods)]
        self._period_level: list[int] = [0, *(1 for _ in group_names), *finer_periods]
        if len(period_names) < 2:
            self.levels: tuple[str, ...] = group_names
        else:
            self.levels = tuple(
                f"{group_names[group_level - 1]} by {period_names[period_level - 1]}"
                for group_level, period_level in zip(
                    self._group_level[1:], self._period_level[1:], strict=True
                )
            )
        self.depth: int = len(self._group_level)
        self._group_cells: list[_GroupCells] = []
        for group_level in range(finest + 1):
            self._group_cells.append(self._cells_of_groups(group_level))

    def _cells_of_groups(self, group_level: int) -> _GroupCells:
        """Return the cells of a level of groups in one period.

        The coarser levels must be stored in `_group_cells` already: `_find` looks for the parents
        there.
        """
        row_sizes, column_sizes = self._sizes(group_level)
        if self.symmetric:
            a, b = np.triu_indices(len(row_sizes))
        else:
            a, b = np.divmod(np.arange(len(row_sizes) * len(column_sizes)), len(column_sizes))
        pairs = row_sizes[a] * column_sizes[b]
        if self.one_set:
            # Within a group of s vertices: s² ordered pairs with loops, s(s - 1) without; in a
            # symmetric table each pair counts once: s(s + 1) / 2 with loops, s(s - 1) / 2 without.
            diagonal = a == b
            sizes = row_sizes[a[diagonal]]
            if self.symmetric:
                pairs[diagonal] = sizes * (sizes + (1 if self.loops else -1)) // 2
            elif not self.loops:
                pairs[diagonal] = sizes * (sizes - 1)
        (possible,) = np.nonzero(pairs)
        if not len(possible):
            raise GraphError("there are no pairs of vertices: there is nothing to count")
        a, b, pairs = a[possible], b[possible], pairs[possible]
        parents = np.zeros(len(possible), dtype=np.int64)
        if group_level > 1:
            row_parents = self.rows.parents(self.rows.levels[group_level - 1])
            column_parents = self.columns.parents(self.columns.levels[group_level - 1])
            # Never -1: the cell of the parents holds the pairs of (a, b).
            parents = self._find(group_level - 1, row_parents[a], column_parents[b])
        return _GroupCells(a, b, pairs, parents)

    def _sizes(self, group_level: int) -> tuple[IntVector, IntVector]:
        """Return the sizes of the groups of the rows and of the columns of a level of groups."""
        if group_level == 0:
            return np.array([self.rows.n]), np.array([self.columns.n])
        return (
            self.rows.sizes(self.rows.levels[group_level - 1]),
            self.columns.sizes(self.columns.levels[group_level - 1]),
        )

    def _find(self, group_level: int, a: IntVector, b: IntVector) -> IntVector:
        """Return the number of each cell (a, b) within its period, -1 if it holds no pair."""
        if self.symmetric:
            a, b = np.minimum(a, b), np.maximum(a, b)
        row_sizes, column_sizes = self._sizes(group_level)
        width = len(column_sizes)
        cells = self._group_cells[group_level]
        numbers = np.full(len(row_sizes) * width, -1, dtype=np.int64)  # by a * width + b
        numbers[cells.a * width + cells.b] = np.arange(len(cells.a))
        located: IntVector = numbers[a * width + b]
        return located

    @property
    def symmetric(self) -> bool:
        """Return whether (a, b) and (b, a) are one cell."""
        return self.one_set and not self.directed

    @property
    def has_period_trees(self) -> bool:
        """Return whether there are several coarsest periods.

        Each of them then has a tree of cells of its own, see `of_period`, which is estimated by
        itself. The root, which joins them, is not measured.
        """
        return self.periods is not None and len(self.periods.sizes(self.periods.levels[0])) > 1

    @property
    def has_one_period_level(self) -> bool:
        """Return whether periods have at most one level.

        The trees `of_period` of all periods then have the same cells, up to the lengths of periods.
        """
        return self.periods is None or len(self.periods.levels) == 1

    def names(self, level_index: int) -> tuple[str, str]:
        """Return the names of the level of groups of the rows, and of the columns.

        These are names of levels, not of groups.

        Args:
            level_index: a level of cells below the root.
        """
        index = self._group_level[level_index] - 1
        return self.rows.levels[index], self.columns.levels[index]

    def period_level(self, level_index: int) -> str | None:
        """Return the name of the level of periods; None if all periods are in one cell."""
        period_level = self._period_level[level_index]
        if self.periods is None or period_level == 0:
            return None
        return self.periods.levels[period_level - 1]

    def lengths(self, level_index: int) -> IntVector:
        """Return how many of the shortest periods each period of a level holds, shape (periods,).

        Without periods there is one, of length 1. So `len(lengths(...))` is the number of periods
        of the level.
        """
        if self.periods is None:
            return np.ones(1, dtype=np.int64)
        name = self.period_level(level_index)
        return np.array([self.periods.n]) if name is None else self.periods.sizes(name)

    def shape(self, level_index: int) -> tuple[int, int]:
        """Return the numbers of groups of the rows and of the columns of a level."""
        row_sizes, column_sizes = self._sizes(self._group_level[level_index])
        return len(row_sizes), len(column_sizes)

    def size(self, level_index: int) -> int:
        """Return the number of cells of a level, over all its periods."""
        return len(self.period_cells(level_index)[0]) * len(self.lengths(level_index))

    @cached_property
    def total_size(self) -> int:
        """Number of cells of all levels without the root."""
        return sum(self.size(level_index) for level_index in range(1, self.depth))

    def period_cells(self, level_index: int) -> tuple[IntVector, IntVector]:
        """Return codes (a, b) of the cells of one period of a level, in row order."""
        cells = self._group_cells[self._group_level[level_index]]
        return cells.a, cells.b

    def cells(self, level_index: int) -> tuple[IntVector, IntVector]:
        """Return codes (a, b) of all cells of a level, shape (cells,), period after period."""
        a, b = self.period_cells(level_index)
        count = len(self.lengths(level_index))
        return (a, b) if count == 1 else (np.tile(a, count), np.tile(b, count))

    def periods_of(self, level_index: int) -> IntVector:
        """Return the code of the period of each cell of a level, shape (cells,).

        Without periods all codes are zero.
        """
        cells_per_period = len(self.period_cells(level_index)[0])
        return np.repeat(np.arange(len(self.lengths(level_index))), cells_per_period)

    def pairs(self, level_index: int) -> IntVector:
        """Return how many occurrences of pairs each cell of a level can hold, shape (cells,)."""
        pairs = self._group_cells[self._group_level[level_index]].pairs
        if self.periods is None:
            return pairs
        occurrences: IntVector = np.outer(self.lengths(level_index), pairs).ravel()
        return occurrences

    @cached_property
    def margins(self) -> CellMargins:
        """The margins of the finest level, see `CellMargins`."""
        finest = self.depth - 1
        (a, b), (rows, columns) = self.cells(finest), self.shape(finest)
        width = rows if self.symmetric else rows + columns
        first = self.periods_of(finest) * width
        entering = first + b + (0 if self.symmetric else rows)
        leaving: IntVector = first + a
        return CellMargins(
            leaving, entering, leaving != entering, width * len(self.lengths(finest))
        )

    @property
    def margin_products(self) -> int:
        """Number of margins times that of finest cells, of the longest coarsest period."""
        finest, periods = self.depth - 1, 1
        margins = self.margins.total // len(self.lengths(finest))
        if self.periods is not None:
            inside = (self.in_period(finest, code) for code in range(len(self.lengths(1))))
            periods = max(int(mask.sum()) for mask in inside) // len(self.period_cells(finest)[0])
        return margins * len(self.period_cells(finest)[0]) * periods**2

    def parents(self, level_index: int) -> IntVector:
        """Return for each cell of a level its cell of the level before, shape (cells,).

        Zeros for the first named level, whose cells lie in the root, and for the root itself.
        """
        if level_index < 2:
            return np.zeros(self.size(level_index), dtype=np.int64)
        # `group_parents`: of each cell (a, b) of a period, its cell of the level before, numbered
        # within a period. `period_parents`: of each period, that of the level before.
        group_parents = self._group_cells[self._group_level[level_index]].parents
        if self.periods is None:
            return group_parents
        if self._period_level[level_index] == 1:
            # The level before has coarser groups in the same periods: each period is its own.
            period_parents = np.arange(len(self.lengths(level_index)))
        else:
            # The level before has the same groups in coarser periods: each (a, b) is its own.
            period_parents = self.periods.parents(self.period_level(level_index))
            group_parents = np.arange(len(group_parents))
        parents_per_period = len(self.period_cells(level_index - 1)[0])
        # Shape (periods, cells in one period).
        parents: IntVector = np.add.outer(period_parents * parents_per_period, group_parents)
        return parents.ravel()

    def locate(
        self, level_index: int, a: IntVector, b: IntVector, period: IntVector | None = None
    ) -> IntVector:
        """Return the numbers of cells within their level, shape (k,).

        Args:
            level_index: their level.
            a: codes of groups of the rows, shape (k,).
            b: codes of groups of the columns, shape (k,). If (a, b) and (b, a) are one cell, either
                order will do. Each (a, b) must hold a pair: the result for others is undefined.
            period: codes of periods of this level, shape (k,). None if the level has one period.

        Raises:
            ValueError: no `period` for a level with several periods.
        """
        if period is None and len(self.lengths(level_index)) > 1:
            raise ValueError("cells of several periods are found by their periods")
        numbers = self._find(self._group_level[level_index], a, b)
        if period is None:
            return numbers
        return period * len(self.period_cells(level_index)[0]) + numbers

    def level_index(self, level: str | None = None) -> int:
        """Return the index of a level by its name; None for the finest.

        Raises:
            QueryError: no such level.
        """
        if level is None:
            return self.depth - 1
        if level not in self.levels:
            advice = ""
            if self.periods is not None and any(
                level in self.periods.labels(name) for name in self.periods.levels
            ):
                advice = "; this is a period: pass it as period="
            raise QueryError(
                f"unknown level {level!r:.60}; there are {listed(self.levels)}{advice}"
            )
        return self.levels.index(level) + 1

    def period_codes(self, level_index: int, period: Picked | None) -> list[int]:
        """Return the sorted codes of some periods of a level.

        Args:
            level_index: the level.
            period: label of a period, or several labels; None for all periods.

        Raises:
            QueryError: no such period, or a table without periods.
        """
        name = self.period_level(level_index)
        if period is None:
            return list(range(len(self.lengths(level_index))))
        if self.periods is None or name is None:
            raise QueryError("this table has no periods: leave period= out")
        known_labels = self.periods.labels(name)
        labels = _label_list(period)
        unknown = [label for label in labels if label not in known_labels]
        if unknown or not labels:
            problem = f"unknown period {unknown[0]!r:.60}" if unknown else "name a period"
            raise QueryError(f"{problem}; this level has {listed(list(map(str, known_labels)))}")
        return sorted({known_labels.index(label) for label in labels})

    def picked(
        self, level_index: int, a: Picked, b: Picked, period: Picked | None = None
    ) -> BoolVector:
        """Return which cells of a level lie between two groups or unions of groups.

        Args:
            level_index: a level below the root.
            a: label of a group of the rows, or several labels.
            b: label of a group of the columns, or several labels. Without directions, (a, b) and
                (b, a) pick the same cells.
            period: label of a period of this level, or several labels; None for all periods.

        Returns:
            Truth vector of shape (cells,).

        Raises:
            QueryError: no such group or period.
        """
        row_level, column_level = self.names(level_index)
        row_codes = [self.rows.code(label, row_level) for label in _label_list(a)]
        column_codes = [self.columns.code(label, column_level) for label in _label_list(b)]
        group_mask = np.zeros(self.shape(level_index), dtype=np.bool_)
        group_mask[np.ix_(row_codes, column_codes)] = True
        if self.symmetric:
            group_mask |= group_mask.T
        period_mask = np.zeros(len(self.lengths(level_index)), dtype=np.bool_)
        period_mask[self.period_codes(level_index, period)] = True
        cell_mask: BoolVector = np.logical_and.outer(
            period_mask, group_mask[self.period_cells(level_index)]
        ).ravel()
        return cell_mask

    def matrix(self, level_index: int, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values of the cells of one period as a matrix (row groups, column groups).

        It is symmetric if cells are, and 0 where no cell is.
        """
        a, b = self.period_cells(level_index)
        matrix = np.zeros(self.shape(level_index), dtype=values.dtype)
        matrix[a, b] = values
        if self.symmetric:
            matrix[b, a] = values
        return matrix

    def summed(
        self, level_index: int, values: npt.NDArray[Any], period: Picked | None = None
    ) -> npt.NDArray[Any]:
        """Add up the values of cells over some periods, for `matrix`.

        Args:
            level_index: the level.
            values: of all its cells, shape (cells,).
            period: label of a period of this level, or several labels; None for all periods.

        Raises:
            QueryError: no such period.
        """
        codes = self.period_codes(level_index, period)
        by_period = values.reshape(len(self.lengths(level_index)), -1)  # (periods, cells of one)
        sums: npt.NDArray[Any] = by_period[codes].sum(axis=0)
        return sums

    def sums(self, level_index: int, values: IntVector) -> IntVector:
        """Add up integers of the cells of a level within each cell of the level before."""
        sums = np.zeros(self.size(level_index - 1), dtype=np.int64)
        np.add.at(sums, self.parents(level_index), values)
        return sums

    def of_period(self, label: Label | None = None) -> "CellTree":
        """Return the cells of one of the coarsest periods, with the periods within it.

        Args:
            label: of the period; None for the first one, or for the whole tree without periods.

        Raises:
            QueryError: no such period, or a label for a table without periods.
        """
        # `period_codes` raises for a table without periods, so it must be called first.
        code = 0 if label is None else self.period_codes(1, label)[0]
        if self.periods is None:
            return self
        return CellTree(
            self.rows,
            None if self.one_set else self.columns,
            directed=self.directed,
            periods=_periods_within(self.periods, code),
            loops=self.loops,
        )

    def in_period(self, level_index: int, code: int) -> BoolVector:
        """Return which cells of a level lie in a coarsest period, shape (cells,).

        Args:
            level_index: a level below the root.
            code: of the coarsest period.
        """
        # Shape (periods of the level,). It begins with the periods themselves, and goes up to the
        # period of each coarser level, until it holds codes of the coarsest periods.
        ancestors = np.arange(len(self.lengths(level_index)))
        if self.periods is not None:
            # Levels of periods from the second one to that of `level_index`.
            finer_levels = self.periods.levels[1 : self._period_level[level_index]]
            for name in reversed(finer_levels):
                ancestors = self.periods.parents(name)[ancestors]
        cells_per_period = len(self.period_cells(level_index)[0])
        mask: BoolVector = np.repeat(ancestors == code, cells_per_period)
        return mask

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellTree):
            return NotImplemented
        return (
            self.one_set == other.one_set
            and self.directed == other.directed
            and self.loops == other.loops
            and self.rows == other.rows
            and self.columns == other.columns
            and self.periods == other.periods
        )

    def __hash__(self) -> int:
        return hash((self.rows, self.columns, self.directed, self.periods, self.loops))

    def __repr__(self) -> str:
        counts = (
            f"{self.size(index):,} of {name}" for index, name in enumerate(self.levels, start=1)
        )
        return f"CellTree({', '.join(counts)})"


def _label_list(labels: Any) -> list[Any]:
    """Return the labels that a user passes as a list.

    A text is a single label, and so is anything else that cannot be iterated over. Callers look the
    labels up, and refuse those that are none.
    """
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        return [labels]
    return list(labels)


def _periods_within(periods: GroupTree, code: int) -> GroupTree:
    """Return one of the coarsest periods, with the periods of all levels within it."""
    labels: dict[str, list[Label]] = {}
    sizes: list[IntVector] = []
    parents: list[IntVector] = []
    chosen = np.array([code])  # codes of the periods of this level that lie in the coarsest one
    for name in periods.levels:
        if not labels:
            parents.append(np.zeros(1, dtype=np.int64))
        else:
            chosen_parents = chosen
            level_parents = periods.parents(name)
            (chosen,) = np.nonzero(np.isin(level_parents, chosen_parents))
            # `GroupTree` sorts the periods of a level by their parents. So those within one
            # coarsest period have neighbouring codes on each level, and by subtracting the first
            # code, the codes of the parents become 0, 1, ....
            parents.append(level_parents[chosen] - int(chosen_parents[0]))
        level_labels = periods.labels(name)
        labels[name] = [level_labels[period] for period in chosen.tolist()]
        sizes.append(periods.sizes(name)[chosen])
    return GroupTree(labels, sizes, parents)
