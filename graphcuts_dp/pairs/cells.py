"""The cells of a table between groups: one for every two groups of a level that can hold a pair.

Known from the public groups alone; this module knows no edges.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.pairs.group_tables import listed
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.pairs.vertices import Label


@final
class CellTree:
    """All cells of all levels, each but the first within a cell of the level before.

    A cell is (a, b): group a of the rows and group b of the columns. It holds the pairs of vertices
    with one end in each. With one set of groups and no direction, (a, b) and (b, a) are one cell,
    kept with a <= b, and (a, a) holds the pairs inside a. Cells that can hold no pair, such as that
    of a single vertex with itself, are left out: they are 0. Each pair of vertices lies in exactly
    one cell of each place.

    Args:
        rows: the groups, or those of the left side.
        columns: groups of the right side; None for one set of vertices. As many levels as `rows`.
        directed: of one set of vertices, whether (a, b) and (b, a) are two cells.

    Attributes:
        levels: names of the levels; "left x right" where those of two sides differ.
        depth: number of places: place 0 is the one cell that holds everything, place i the level
            i, counted from 1.

    Raises:
        GraphError: sides with different numbers of levels, or groups without any pair.
    """

    def __init__(
        self, rows: GroupTree, columns: GroupTree | None = None, *, directed: bool = False
    ) -> None:
        self.rows = rows
        self.columns = rows if columns is None else columns
        self.one_set = columns is None
        self.directed = directed and columns is None
        if len(self.rows.levels) != len(self.columns.levels):
            raise GraphError("groups of both sides need the same number of levels; repeat one")
        pairs = zip(self.rows.levels, self.columns.levels, strict=True)
        self.levels = tuple(a if a == b else f"{a} x {b}" for a, b in pairs)
        self.depth = len(self.levels) + 1
        self._cells: list[tuple[IntVector, IntVector, IntVector]] = []
        self._parents: list[IntVector] = []
        for place in range(self.depth):
            self._add(place)

    def _add(self, place: int) -> None:
        left, right = self._sizes(place)
        if self.symmetric:
            a, b = np.triu_indices(len(left))
        else:
            a, b = np.divmod(np.arange(len(left) * len(right)), len(right))
        pairs = left[a] * right[b]
        if self.one_set:
            diagonal = a == b
            pairs[diagonal] -= left[a[diagonal]]
            if self.symmetric:
                pairs[diagonal] //= 2
        (kept,) = np.nonzero(pairs)
        if not len(kept):
            raise GraphError("there are no pairs of vertices: there is nothing to count")
        self._cells.append((a[kept], b[kept], pairs[kept]))
        above = np.zeros(len(kept), dtype=np.int64)
        if place > 1:
            name = self.rows.levels[place - 1], self.columns.levels[place - 1]
            up = self.rows.parents(name[0])[a[kept]], self.columns.parents(name[1])[b[kept]]
            above = self.locate(place - 1, *up)
        self._parents.append(above)

    @property
    def symmetric(self) -> bool:
        """Whether (a, b) and (b, a) are one cell."""
        return self.one_set and not self.directed

    def _sizes(self, place: int) -> tuple[IntVector, IntVector]:
        if place == 0:
            return np.array([self.rows.n]), np.array([self.columns.n])
        return (
            self.rows.sizes(self.rows.levels[place - 1]),
            self.columns.sizes(self.columns.levels[place - 1]),
        )

    def shape(self, place: int) -> tuple[int, int]:
        """Numbers of groups of the rows and the columns of a place."""
        left, right = self._sizes(place)
        return len(left), len(right)

    def size(self, place: int) -> int:
        """How many cells a place has."""
        return len(self._parents[place])

    @cached_property
    def total_size(self) -> int:
        """How many cells all levels have, without place 0."""
        return sum(self.size(place) for place in range(1, self.depth))

    def cells(self, place: int) -> tuple[IntVector, IntVector]:
        """Codes (a, b) of the cells of a place, shape (cells,) each, in the order of rows."""
        return self._cells[place][:2]

    def pairs(self, place: int) -> IntVector:
        """How many pairs of vertices each cell of a place holds, shape (cells,)."""
        return self._cells[place][2]

    def parents(self, place: int) -> IntVector:
        """For each cell its cell of the place before, shape (cells,); zeros for places 0 and 1."""
        return self._parents[place]

    def locate(self, place: int, a: IntVector, b: IntVector) -> IntVector:
        """Numbers of cells by their codes, which must be cells; either order where that is one."""
        if self.symmetric:
            a, b = np.minimum(a, b), np.maximum(a, b)
        found: IntVector = self._lookup(place)[a * self.shape(place)[1] + b]
        return found

    def _lookup(self, place: int) -> IntVector:
        count = self.shape(place)
        a, b = self.cells(place)
        table = np.full(count[0] * count[1], -1, dtype=np.int64)
        table[a * count[1] + b] = np.arange(len(a))
        return table

    def place(self, level: str | None = None) -> int:
        """The place of a level; None for the finest.

        Raises:
            QueryError: no such level.
        """
        if level is None:
            return self.depth - 1
        if level not in self.levels:
            raise QueryError(f"unknown level {level!r:.60}; there are {listed(self.levels)}")
        return self.levels.index(level) + 1

    def picked(
        self, place: int, a: Label | Iterable[Label], b: Label | Iterable[Label]
    ) -> BoolVector:
        """Which cells of a place lie between two groups or unions of groups, shape (cells,).

        Args:
            place: a level's place.
            a: label of a group of the rows, or several.
            b: likewise of the columns; of one set without directions in either order.

        Raises:
            QueryError: no such group.
        """
        level = self.rows.levels[place - 1], self.columns.levels[place - 1]
        chosen = np.zeros(self.shape(place), dtype=np.bool_)
        chosen[np.ix_(_codes(self.rows, a, level[0]), _codes(self.columns, b, level[1]))] = True
        if self.symmetric:
            chosen |= chosen.T
        found: BoolVector = chosen[self.cells(place)]
        return found

    def matrix(self, place: int, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the cells as a matrix, symmetric if cells are; 0 where there is no cell."""
        a, b = self.cells(place)
        found = np.zeros(self.shape(place), dtype=values.dtype)
        found[a, b] = values
        if self.symmetric:
            found[b, a] = values
        return found

    def sums(self, place: int, values: IntVector) -> IntVector:
        """Sums of integers of the cells of a place over their cells of the place before."""
        found = np.zeros(self.size(place - 1), dtype=np.int64)
        np.add.at(found, self.parents(place), values)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellTree):
            return NotImplemented
        kinds = [(each.one_set, each.directed) for each in (self, other)]
        return kinds[0] == kinds[1] and self.rows == other.rows and self.columns == other.columns

    def __hash__(self) -> int:
        return hash((self.rows, self.columns, self.directed))

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.size(i + 1):,} of {n}" for i, n in enumerate(self.levels))
        return f"CellTree({counts})"


def _codes(groups: GroupTree, picked: Label | Iterable[Label], level: str) -> list[int]:
    labels = [picked] if isinstance(picked, str | int | np.integer) else list(picked)
    return [groups.code(label, level) for label in labels]
