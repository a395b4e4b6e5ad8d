"""The places of pairs in a matrix over one vertex set, over two, or over arcs.

A matrix is symmetric with a zero diagonal (a pair of a plain graph thus has two entries, which
always agree), or a biadjacency matrix, or that of a directed graph, with a zero diagonal.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.schema.vertices import Arcs, Space, sides_in

Index = TypeVar("Index", int, npt.NDArray[np.int64])

_BLOCK_ENTRIES = 1 << 20  # in float32 four MiB, which caches hold
_LEAST_BLOCKS = 8  # of a matrix of more than 2^17 entries, so that processors share it
_SMALL = 1 << 17


@dataclass(frozen=True)
class Layout:
    """The shape of a noisy matrix and how its rows are cut.

    Attributes:
        shape: rows and columns.
        symmetric: whether it is an adjacency matrix: symmetric with zero diagonal.
        directed: whether it is that of a directed graph: square, each entry a pair of its own, and
            none on the diagonal, which is zero.
    """

    shape: tuple[int, int]
    symmetric: bool
    directed: bool = False

    @classmethod
    def of(cls, space: Space) -> Self:
        """The layout of a matrix over one vertex set, over two, or over `Arcs`."""
        left, right = sides_in(space)
        return cls((len(left), len(right)), left is right, isinstance(space, Arcs))

    @property
    def hollow(self) -> bool:
        """Whether the diagonal is zero, since no vertex is paired with itself."""
        return self.symmetric or self.directed

    def bounds(self) -> list[tuple[int, int]]:
        """First row and end of each block, in order. Each starts at a multiple of eight."""
        rows, columns = self.shape
        if rows * columns <= _SMALL:
            return [(0, rows)]
        height = min(_BLOCK_ENTRIES // columns, rows // _LEAST_BLOCKS)
        height = max(8, -(-height // 8) * 8)
        return [(start, min(start + height, rows)) for start in range(0, rows, height)]

    def pairs_before(self, row: Index) -> Index:
        """How many pairs lie in the rows above `row`; of a symmetric matrix, pairs i < j."""
        rows, columns = self.shape
        if self.symmetric:
            return row * (2 * rows - row - 1) // 2
        return row * (columns - self.directed)

    def places(self, rows: IntVector, columns: IntVector) -> IntVector:
        """The place of each pair among all, in row order; of a symmetric matrix, rows < columns."""
        along = columns
        if self.symmetric:
            along = columns - rows - 1  # row i begins with j = i + 1
        elif self.directed:
            along = columns - (columns > rows)
        return self.pairs_before(rows) + along

    def ends(
        self, places: IntVector, start: int = 0, stop: int | None = None
    ) -> tuple[IntVector, IntVector]:
        """Row and column of each place, shape (k,); the inverse of `places`.

        No place lies in rows before `start`, nor in row `stop` or later ones; None for the end.
        """
        stop = self.shape[0] if stop is None else stop
        before = self.pairs_before(np.arange(start, stop + 1, dtype=np.int64))
        rows = np.searchsorted(before, places, side="right") - 1
        along = places - before[rows]
        rows += start
        if self.symmetric:
            along += rows + 1
        elif self.directed:
            along += along >= rows
        return rows, along

    def unfold(self, values: npt.NDArray[Any], start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start..stop-1 from one value a pair, in row order.

        Returns:
            All columns; of a symmetric matrix the columns from `start` on, zero where j <= i.
        """
        columns = self.shape[1]
        if self.directed:
            full = np.zeros((stop - start, columns), dtype=values.dtype)
            full[self._off_diagonal(start, stop)] = values
            return full
        if not self.symmetric:
            return values.reshape(stop - start, columns)
        upper = np.zeros((stop - start, columns - start), dtype=values.dtype)
        taken = 0
        for i in range(stop - start):
            count = columns - start - i - 1
            upper[i, i + 1 :] = values[taken : taken + count]
            taken += count
        return upper

    def fold(self, rows: npt.NDArray[Any], start: int) -> npt.NDArray[Any]:
        """One value a pair, in row order, from full rows that begin at `start`."""
        if self.directed:
            return rows[self._off_diagonal(start, start + len(rows))]
        if not self.symmetric:
            return rows.ravel()
        return np.concatenate([row[start + i + 1 :] for i, row in enumerate(rows)])

    def _off_diagonal(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Which entries of some rows are not on the diagonal."""
        kept = np.ones((stop - start, self.shape[1]), dtype=np.bool_)
        kept[np.arange(stop - start), np.arange(start, stop)] = False
        return kept


def most_weight(pairs: float, cap: float | None) -> float:
    """What so many pairs, or coefficients, weigh at most, rounded up; infinity without a cap."""
    if cap is None:
        return math.inf
    most = cap * pairs
    exact = math.isinf(most) or Fraction(most) >= Fraction(cap) * Fraction(pairs)
    return most if exact else math.nextafter(most, math.inf)


def possible_part(
    interval: tuple[float, float], most: float, least: float = 0.0
) -> tuple[float, float]:
    """The part of an interval where a query can lie: of a cut none is below 0, as no weight is.

    It holds every possible truth that the interval holds. One that lies beside all possible truths
    becomes the nearest of them.

    Args:
        interval: (low, high).
        most: the most that the query can be; of a cut what its pairs can weigh, see `most_weight`.
        least: the least, below 0 where coefficients are.
    """
    low, high = interval
    return min(max(low, least), most), min(max(high, least), most)
