"""The cells of a table between public groups: one for every two groups that can hold a pair.

With periods there is such a table in each of them, and a cell is (period, group, group).
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.schema.group_tree import GroupTree, listed
from graphcuts_dp.schema.vertices import Label

Picked = Label | Iterable[Label]  # a group, or several


@final
class CellTree:
    """All cells of all levels, each but the first within a cell of the level before.

    A cell is (a, b): group a of the rows and group b of the columns. It holds the pairs of vertices
    with one end in each. With one set of groups and no direction, (a, b) and (b, a) are one cell,
    kept with a <= b, and (a, a) holds the pairs inside a. Cells that can hold no pair, such as that
    of a single vertex with itself, are left out: they are 0. Each pair of vertices lies in exactly
    one cell of each place.

    With periods a cell is (t, a, b), and a pair can occur once in each of the periods that are
    counted as sizes of `periods`: each occurrence lies in exactly one cell of each place. From
    place 1 on the groups become finer within the coarsest periods, and then the periods within the
    finest groups. The cells of a place are in the order of its periods.

    Args:
        rows: the groups, or those of the left side.
        columns: groups of the right side; None for one set of vertices. As many levels as `rows`.
        directed: of one set of vertices, whether (a, b) and (b, a) are two cells.
        periods: the periods, see `Periods.tree`; None for one table.
        loops: of one set of vertices, whether a vertex with itself is a pair, of the cell (a, a).

    Attributes:
        levels: names of the levels; "left x right" where those of two sides differ, and "groups by
            periods" where there are several levels of periods.
        depth: number of places: place 0 is the one cell that holds everything, place i the level
            i, counted from 1.

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
        self.columns = rows if columns is None else columns
        self.one_set = columns is None
        self.directed = directed and columns is None
        self.periods = periods
        self.loops = loops and columns is None
        if len(self.rows.levels) != len(self.columns.levels):
            raise GraphError("groups of both sides need the same number of levels; repeat one")
        pairs = zip(self.rows.levels, self.columns.levels, strict=True)
        names = tuple(a if a == b else f"{a} x {b}" for a, b in pairs)
        last, times = len(names), () if periods is None else periods.levels
        # Of each place the number of its level of groups, and that of periods, from 1.
        self._chain = [(place, min(place, 1)) for place in range(last + 1)]
        self._chain += [(last, place) for place in range(2, len(times) + 1)]
        self.levels = (
            names
            if len(times) < 2
            else tuple(f"{names[at - 1]} by {times[time - 1]}" for at, time in self._chain[1:])
        )
        self.depth = len(self._chain)
        self._tables: list[tuple[IntVector, IntVector, IntVector]] = []
        self._above: list[IntVector] = []
        for at in range(last + 1):
            self._add(at)

    def _add(self, at: int) -> None:
        """The cells of a level of groups in one period."""
        left, right = self._sizes(at)
        if self.symmetric:
            a, b = np.triu_indices(len(left))
        else:
            a, b = np.divmod(np.arange(len(left) * len(right)), len(right))
        pairs = left[a] * right[b]
        if self.one_set:
            diagonal, sign = a == b, 1 if self.loops else -1
            if self.symmetric:
                pairs[diagonal] = (pairs[diagonal] + sign * left[a[diagonal]]) // 2
            elif not self.loops:
                pairs[diagonal] -= left[a[diagonal]]
        (kept,) = np.nonzero(pairs)
        if not len(kept):
            raise GraphError("there are no pairs of vertices: there is nothing to count")
        self._tables.append((a[kept], b[kept], pairs[kept]))
        above = np.zeros(len(kept), dtype=np.int64)
        if at > 1:
            left, right = (
                side.parents(side.levels[at - 1])[own[kept]]
                for side, own in ((self.rows, a), (self.columns, b))
            )
            above = self._find(at - 1, left, right)
        self._above.append(above)

    @property
    def symmetric(self) -> bool:
        """Whether (a, b) and (b, a) are one cell."""
        return self.one_set and not self.directed

    @property
    def apart(self) -> bool:
        """Whether there are several coarsest periods: each of them is a tree of its own."""
        return self.periods is not None and len(self.periods.sizes(self.periods.levels[0])) > 1

    @property
    def alike(self) -> bool:
        """Whether all coarsest periods hold the same cells: there is no finer level of periods."""
        return self.periods is None or len(self.periods.levels) == 1

    def _sizes(self, at: int) -> tuple[IntVector, IntVector]:
        if at == 0:
            return np.array([self.rows.n]), np.array([self.columns.n])
        left, right = (side.sizes(side.levels[at - 1]) for side in (self.rows, self.columns))
        return left, right

    def names(self, place: int) -> tuple[str, str]:
        """Names of the levels of the groups of the rows and the columns of a place from 1 on."""
        at = self._chain[place][0] - 1
        return self.rows.levels[at], self.columns.levels[at]

    def time(self, place: int) -> str | None:
        """The name of the level of periods of a place; None where it has all of them in one."""
        at = self._chain[place][1]
        return None if self.periods is None or not at else self.periods.levels[at - 1]

    def lengths(self, place: int) -> IntVector:
        """How many of the shortest periods each period of a place holds; 1 without periods."""
        if self.periods is None:
            return np.ones(1, dtype=np.int64)
        name = self.time(place)
        return np.array([self.periods.n]) if name is None else self.periods.sizes(name)

    def shape(self, place: int) -> tuple[int, int]:
        """Numbers of groups of the rows and the columns of a place."""
        left, right = self._sizes(self._chain[place][0])
        return len(left), len(right)

    def size(self, place: int) -> int:
        """How many cells a place has."""
        return len(self._above[self._chain[place][0]]) * len(self.lengths(place))

    @cached_property
    def total_size(self) -> int:
        """How many cells all levels have, without place 0."""
        return sum(self.size(place) for place in range(1, self.depth))

    def ends(self, place: int) -> tuple[IntVector, IntVector]:
        """Codes (a, b) of the cells of one period of a place, in the order of rows."""
        return self._tables[self._chain[place][0]][:2]

    def cells(self, place: int) -> tuple[IntVector, IntVector]:
        """Codes (a, b) of the cells of a place, shape (cells,) each, period after period."""
        a, b = self.ends(place)
        count = len(self.lengths(place))
        return (a, b) if count == 1 else (np.tile(a, count), np.tile(b, count))

    def periods_of(self, place: int) -> IntVector:
        """The code of the period of each cell of a place, shape (cells,); zeros without periods."""
        return np.repeat(np.arange(len(self.lengths(place))), len(self.ends(place)[0]))

    def pairs(self, place: int) -> IntVector:
        """How often pairs of vertices can occur in each cell of a place, shape (cells,)."""
        pairs, lengths = self._tables[self._chain[place][0]][2], self.lengths(place)
        if self.periods is None:
            return pairs
        found: IntVector = np.outer(lengths, pairs).ravel()
        return found

    def parents(self, place: int) -> IntVector:
        """For each cell its cell of the place before, shape (cells,); zeros for places 0 and 1."""
        at, time = self._chain[place]
        if place < 2:
            return np.zeros(self.size(place), dtype=np.int64)
        own = self._above[at]
        if self.periods is None:
            return own
        if time == 1:
            above, count = np.arange(len(self.lengths(place))), len(self.ends(place - 1)[0])
        else:
            above, count = self.periods.parents(self.time(place)), len(own)
            own = np.arange(count)
        found: IntVector = np.add.outer(above * count, own).ravel()
        return found

    def locate(
        self, place: int, a: IntVector, b: IntVector, period: IntVector | None = None
    ) -> IntVector:
        """Numbers of cells by their codes, which must be cells; either order where that is one.

        Args:
            place: where they are.
            a: codes of groups of the rows.
            b: likewise of the columns.
            period: codes of the periods of this place; None where it has one.
        """
        if period is None and len(self.lengths(place)) > 1:
            raise ValueError("cells of several periods are found by their periods")
        found = self._find(self._chain[place][0], a, b)
        return found if period is None else period * len(self.ends(place)[0]) + found

    def _find(self, at: int, a: IntVector, b: IntVector) -> IntVector:
        if self.symmetric:
            a, b = np.minimum(a, b), np.maximum(a, b)
        (left, right), (rows, columns) = self._sizes(at), self._tables[at][:2]
        table = np.full(len(left) * len(right), -1, dtype=np.int64)
        table[rows * len(right) + columns] = np.arange(len(rows))
        found: IntVector = table[a * len(right) + b]
        return found

    def level_index(self, level: str | None = None) -> int:
        """The place of a level; None for the finest.

        Raises:
            QueryError: no such level.
        """
        if level is None:
            return self.depth - 1
        if level not in self.levels:
            raise QueryError(f"unknown level {level!r:.60}; there are {listed(self.levels)}")
        return self.levels.index(level) + 1

    def period_codes(self, place: int, period: Picked | None) -> list[int]:
        """Codes of the named periods of a place; of all of them for None.

        Raises:
            QueryError: no such period, or a table without periods.
        """
        name = self.time(place)
        if period is None:
            return list(range(len(self.lengths(place))))
        if self.periods is None or name is None:
            raise QueryError("this table has no periods: leave period= out")
        known = self.periods.labels(name)
        labels = [period] if isinstance(period, str) else list(_several(period))
        unknown = [label for label in labels if label not in known]
        if unknown or not labels:
            asked = f"unknown period {unknown[0]!r:.60}" if unknown else "name a period"
            raise QueryError(f"{asked}; this level has {listed(list(map(str, known)))}")
        return sorted({known.index(label) for label in labels})

    def picked(self, place: int, a: Picked, b: Picked, period: Picked | None = None) -> BoolVector:
        """Which cells of a place lie between two groups or unions of groups, shape (cells,).

        Args:
            place: a level's place.
            a: label of a group of the rows, or several.
            b: likewise of the columns; of one set without directions in either order.
            period: label of a period of this level, or several; None for all of them.

        Raises:
            QueryError: no such group or period.
        """
        level = self.names(place)
        chosen = np.zeros(self.shape(place), dtype=np.bool_)
        chosen[np.ix_(_codes(self.rows, a, level[0]), _codes(self.columns, b, level[1]))] = True
        if self.symmetric:
            chosen |= chosen.T
        when = np.zeros(len(self.lengths(place)), dtype=np.bool_)
        when[self.period_codes(place, period)] = True
        found: BoolVector = np.logical_and.outer(when, chosen[self.ends(place)]).ravel()
        return found

    def matrix(self, place: int, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the cells of one period as a matrix, symmetric if cells are; 0 elsewhere."""
        a, b = self.ends(place)
        found = np.zeros(self.shape(place), dtype=values.dtype)
        found[a, b] = values
        if self.symmetric:
            found[b, a] = values
        return found

    def summed(
        self, place: int, values: npt.NDArray[Any], period: Picked | None = None
    ) -> npt.NDArray[Any]:
        """Values of the cells of some periods of a place, added up, for `matrix`; None for all.

        Raises:
            QueryError: no such period.
        """
        codes = self.period_codes(place, period)
        found: npt.NDArray[Any] = values.reshape(len(self.lengths(place)), -1)[codes].sum(axis=0)
        return found

    def sums(self, place: int, values: IntVector) -> IntVector:
        """Sums of integers of the cells of a place over their cells of the place before."""
        found = np.zeros(self.size(place - 1), dtype=np.int64)
        np.add.at(found, self.parents(place), values)
        return found

    def of_period(self, label: str | None = None) -> "CellTree":
        """The cells of one of the coarsest periods, the first for None, with those within it.

        Raises:
            QueryError: no such period, or a table without periods.
        """
        code = 0 if label is None else self.period_codes(1, label)[0]
        if self.periods is None:
            return self
        return CellTree(
            self.rows,
            None if self.one_set else self.columns,
            directed=self.directed,
            periods=_part(self.periods, code),
            loops=self.loops,
        )

    def within(self, place: int, code: int) -> BoolVector:
        """Which cells of a place from 1 on lie in a coarsest period, shape (cells,)."""
        time = self._chain[place][1]
        own = np.arange(len(self.lengths(place)))
        if self.periods is not None:
            for name in self.periods.levels[time - 1 : 0 : -1]:
                own = self.periods.parents(name)[own]
        found: BoolVector = np.repeat(own == code, len(self.ends(place)[0]))
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellTree):
            return NotImplemented
        mine, theirs = (
            (each.one_set, each.directed, each.loops, each.rows, each.columns, each.periods)
            for each in (self, other)
        )
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.rows, self.columns, self.directed, self.periods, self.loops))

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.size(i + 1):,} of {n}" for i, n in enumerate(self.levels))
        return f"CellTree({counts})"


def _codes(groups: GroupTree, picked: Picked, level: str) -> list[int]:
    labels = [picked] if isinstance(picked, str | int | np.integer) else list(picked)
    return [groups.code(label, level) for label in labels]


def _several(period: Any) -> Iterable[Any]:
    return period if isinstance(period, Iterable) else [period]


def _part(periods: GroupTree, code: int) -> GroupTree:
    """One of the coarsest periods with all that are within it."""
    labels, sizes, parents = {}, [], []
    kept, above = np.array([code]), 0
    for number, name in enumerate(periods.levels):
        own = periods.parents(name)
        if number:
            (kept,) = np.nonzero(np.isin(own, kept))
            parents.append(own[kept] - above)
        else:
            parents.append(np.zeros(1, dtype=np.int64))
        above = int(kept[0])
        labels[name] = [periods.labels(name)[each] for each in kept.tolist()]
        sizes.append(periods.sizes(name)[kept])
    return GroupTree(labels, sizes, parents)
