"""Layouts: which pairs of vertices a matrix holds, in which order, and how its rows are cut.

A *pair* is a possible edge. There are three kinds of matrices:

- symmetric: the adjacency matrix of an undirected graph. Its pairs are i < j; each of them has two
  entries of the matrix, which agree. The diagonal is zero.
- directed: the adjacency matrix of a directed graph. Its pairs are i ≠ j; the diagonal is zero.
- otherwise: the biadjacency matrix of a bipartite graph, in which each entry is a pair.

Pairs are numbered 0, 1, 2, ... row by row. The number of a pair is called its *place*, by which
noise vectors and sparse models address it, so the order must not change. Large matrices are worked
on in blocks of rows.
"""

from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.schema.vertices import Arcs, Space, sides_in

Index = TypeVar("Index", int, npt.NDArray[np.int64])

_BLOCK_ENTRIES = 1 << 20  # of a block: four MiB in float32, which processor caches hold
# About so many blocks a matrix with enough rows is cut into, so that processors share the work.
_LEAST_BLOCKS = 8
_SMALL = 1 << 17  # entries of a matrix that stays in one block
_ROW_MULTIPLE = 8  # blocks start at multiples of this number of rows


@dataclass(frozen=True)
class Layout:
    """The shape of a matrix of pairs, and the order of its pairs.

    Attributes:
        shape: numbers of rows and columns.
        symmetric: whether it is the adjacency matrix of an undirected graph.
        directed: whether it is the adjacency matrix of a directed graph.
    """

    shape: tuple[int, int]
    symmetric: bool
    directed: bool = False

    @classmethod
    def of(cls, space: Space) -> Self:
        """Return the layout of a matrix over a vertex set, over two of them, or over `Arcs`."""
        # `sides_in` gives the vertex sets of rows and of columns. They are one object if and only
        # if the graph is undirected. Of `Arcs`, the space of directed graphs, they are two copies.
        row_vertices, column_vertices = sides_in(space)
        shape = len(row_vertices), len(column_vertices)
        return cls(shape, row_vertices is column_vertices, isinstance(space, Arcs))

    @property
    def hollow(self) -> bool:
        """Return whether the diagonal is zero, since no vertex is paired with itself."""
        return self.symmetric or self.directed

    def bounds(self) -> list[tuple[int, int]]:
        """Return (start, stop) of the rows of each block, in order.

        A matrix of at most `_SMALL` entries is one block. Others are cut into blocks of the same
        height; the last one may be lower. The height is the smaller of two numbers, rounded up to a
        multiple of `_ROW_MULTIPLE`, which is also the least height:

        1. the rows that have `_BLOCK_ENTRIES` entries together;
        2. a part of 1 / `_LEAST_BLOCKS` of all rows. As it is rounded up, there may be a few blocks
           less than `_LEAST_BLOCKS`.

        Results may depend on the order of sums within blocks, so the cuts must not depend on the
        machine.
        """
        rows, columns = self.shape
        if rows * columns <= _SMALL:
            return [(0, rows)]
        height = min(_BLOCK_ENTRIES // columns, rows // _LEAST_BLOCKS)
        multiples = -(-height // _ROW_MULTIPLE)  # rounded up
        height = max(1, multiples) * _ROW_MULTIPLE
        return [(start, min(start + height, rows)) for start in range(0, rows, height)]

    def pairs_before(self, row: Index) -> Index:
        """Return how many pairs lie in the rows above `row`."""
        rows, columns = self.shape
        if self.symmetric:  # row i has n - 1 - i pairs
            return row * (2 * rows - row - 1) // 2
        pairs_per_row = columns - 1 if self.directed else columns  # without the diagonal
        return row * pairs_per_row

    def places(self, rows: IntVector, columns: IntVector) -> IntVector:
        """Return the number of each pair, shape (k,).

        Args:
            rows: row of each pair, shape (k,).
            columns: its column, shape (k,); above the row if the matrix is symmetric.
        """
        offsets = columns  # of a pair within its row
        if self.symmetric:
            offsets = columns - rows - 1  # row i begins with column i + 1
        elif self.directed:
            offsets = columns - (columns > rows)  # the diagonal is left out
        return self.pairs_before(rows) + offsets

    def ends(
        self, places: IntVector, start: int = 0, stop: int | None = None
    ) -> tuple[IntVector, IntVector]:
        """Return row and column of pairs by their numbers, shape (k,) each; inverts `places`.

        Args:
            places: numbers of pairs in rows start..stop-1, shape (k,).
            start: first row that may occur.
            stop: first row after those that may occur; None for the end of the matrix.
        """
        stop = self.shape[0] if stop is None else stop
        # before[i]: number of the first pair of row start + i. The row of a pair is the last one
        # whose first pair has no larger number.
        before = self.pairs_before(np.arange(start, stop + 1, dtype=np.int64))
        rows = np.searchsorted(before, places, side="right") - 1  # counted from `start`
        columns = places - before[rows]  # so far the offset of the pair within its row
        rows += start
        if self.symmetric:
            columns += rows + 1  # row i begins with column i + 1
        elif self.directed:
            columns += columns >= rows  # offsets from the diagonal on lie one column further
        return rows, columns

    def unfold(self, values: npt.NDArray[Any], start: int, stop: int) -> npt.NDArray[Any]:
        """Return rows start..stop-1 as a matrix, from the values of their pairs in order.

        Returns:
            Shape (stop - start, columns). Of a symmetric matrix only the columns from `start` on,
            with zeros on and below the diagonal: these rows hold no pair in the columns before.
            `fold` is not the inverse then, as it takes all columns.
        """
        columns = self.shape[1]
        if self.directed:
            block = np.zeros((stop - start, columns), dtype=values.dtype)
            block[self._off_diagonal(start, stop)] = values
            return block
        if not self.symmetric:
            return values.reshape(stop - start, columns)
        upper = np.zeros((stop - start, columns - start), dtype=values.dtype)
        first = 0  # number of the first value of the row
        for row in range(stop - start):
            count = columns - start - row - 1
            upper[row, row + 1 :] = values[first : first + count]
            first += count
        return upper

    def fold(self, rows: npt.NDArray[Any], start: int) -> npt.NDArray[Any]:
        """Return the values of the pairs of some rows, in order.

        Args:
            rows: rows from `start` on with all their columns, also of a symmetric matrix.
            start: number of the first of them.
        """
        if self.directed:
            return rows[self._off_diagonal(start, start + len(rows))]
        if not self.symmetric:
            return rows.ravel()
        return np.concatenate([row[start + i + 1 :] for i, row in enumerate(rows)])

    def _off_diagonal(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Return which entries of rows start..stop-1 are not on the diagonal."""
        mask = np.ones((stop - start, self.shape[1]), dtype=np.bool_)
        mask[np.arange(stop - start), np.arange(start, stop)] = False
        return mask
