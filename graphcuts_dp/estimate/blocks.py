"""Noisy matrices as blocks of rows, and functions that are mapped over the blocks.

Two kinds of matrices are kept as blocks. *Released* ones hold the integers that a noise
distribution produced: bits of binary noise, packed eight a byte, or other integers in the smallest
type that holds them. *Plain* ones hold estimates themselves. Blocks are widened to floats one at a
time, so no n x n array of floats is needed unless `Blocks.estimate` or `Blocks.gather` is asked for
one.

How the rows are divided into blocks depends on the shape alone (`Layout.bounds`), and results come
back in the order of the blocks. So results are the same to the last bit on any number of
processors. Each block starts at a multiple of 8 rows, so that packed bits of blocks can be joined
by whole bytes; `complete` and `_columns` rely on that.

The `Layout` says which entries are pairs. It is *hollow* if rows and columns are the same vertices:
the diagonal then holds no pairs, and is 0. Of a *symmetric* (undirected) one the pairs are the
entries above the diagonal, and those below repeat them.

A `RowBlock` is one block; `Blocks` is the matrix, and should be read first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypeVar, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntegerMatrix, RealMatrix
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.resources import in_parallel
from graphcuts_dp.schema.layout import Layout

R = TypeVar("R")
# Returns the released integers of the pairs of a block, given the index of the block.
Pairs = Callable[[int], IntegerMatrix]
_Conversion = Literal["estimate", "evidence"]  # from integers to floats, methods of the noise


@final
@dataclass(eq=False)
class RowBlock:
    """Rows start..stop-1 of a noisy matrix, all columns.

    Attributes:
        start: first row.
        stop: the row after the last one.
        data: packed bits, shape (stop - start, ceil(columns / 8)); or other released integers, or
            estimates of a plain matrix, shape (stop - start, columns).
        distribution: of the noise; None for a plain matrix.
        layout: of the whole matrix.
        workspace: arrays that a computation keeps with the block between two maps, by names that it
            chooses.
    """

    start: int
    stop: int
    data: npt.NDArray[Any]
    distribution: NoiseDistribution | None
    layout: Layout
    workspace: dict[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of this block, columns of the matrix."""
        return self.stop - self.start, self.layout.shape[1]

    def steps(self) -> IntegerMatrix:
        """Return the released integers, shape `shape`; do not write to them."""
        if self.distribution is not None and self.distribution.bits:
            return np.unpackbits(self.data, axis=1, count=self.shape[1])
        return self.data

    def estimate(self, dtype: npt.DTypeLike = np.float32) -> RealMatrix:
        """Return unbiased estimates, shape `shape`, zero on the diagonal; a new array."""
        if self.distribution is None:
            return self.clear_diagonal(self.data.astype(dtype))
        return self._converted(self.distribution, "estimate", np.dtype(dtype))

    def evidence(self, dtype: npt.DTypeLike = np.float32, first: int = 0) -> RealMatrix:
        """Return the evidence for an edge in each entry, zero on the diagonal; a new array.

        See `NoiseDistribution.evidence`.

        Args:
            dtype: of the result.
            first: the first column, at most the first row; of bits a multiple of 8.
        """
        if self.distribution is None:
            raise ValueError("a plain matrix has no distribution of noise")
        return self._converted(self.distribution, "evidence", np.dtype(dtype), first)

    def clear_diagonal(self, rows: RealMatrix, first: int = 0) -> RealMatrix:
        """Set the diagonal of a matrix to zero, in place, if its rows and columns are one set.

        Args:
            rows: numbers for the entries of this block, from some column on.
            first: that column, at most the first row.
        """
        if self.layout.hollow:
            rows[np.arange(len(rows)), np.arange(self.start - first, self.stop - first)] = 0
        return rows

    def parts(self, entries: int) -> "Iterator[RowBlock]":
        """Yield the same rows as smaller blocks of about so many entries, sharing memory."""
        height = max(1, entries // self.shape[1])
        for start in range(self.start, self.stop, height):
            stop = min(start + height, self.stop)
            rows = self.data[start - self.start : stop - self.start]
            yield RowBlock(start, stop, rows, self.distribution, self.layout)

    def _converted(
        self,
        distribution: NoiseDistribution,
        conversion: _Conversion,
        dtype: np.dtype[Any],
        first: int = 0,
    ) -> RealMatrix:
        """Return the released integers converted to floats, zero on the diagonal."""
        if not distribution.bits:
            integers = self.data[:, first:]
            return self.clear_diagonal(_convert(distribution, conversion, integers, dtype), first)
        # Eight entries at once, from a table of the eight floats of each byte.
        bits = self.data[:, first // 8 :]
        floats = np.take(_byte_table(distribution, conversion, dtype), bits, axis=0)
        width = self.shape[1] - first
        return self.clear_diagonal(floats.reshape(len(bits), -1)[:, :width], first)


def _convert(
    distribution: NoiseDistribution,
    conversion: _Conversion,
    integers: IntegerMatrix,
    dtype: np.dtype[Any],
) -> RealMatrix:
    """Return released integers as estimates, or as evidence."""
    if conversion == "estimate":
        return distribution.estimate(integers, dtype)
    return distribution.evidence(integers, dtype)


@lru_cache(maxsize=16)
def _byte_table(
    distribution: NoiseDistribution, conversion: _Conversion, dtype: np.dtype[Any]
) -> RealMatrix:
    """Return the floats that the eight bits of each byte stand for, shape (256, 8)."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    return _convert(distribution, conversion, bits, dtype)


@final
class Blocks:
    """A noisy matrix as blocks of rows, on which one thread for each processor works.

    Args:
        rows: the blocks, in order.
    """

    def __init__(self, rows: Sequence[RowBlock]) -> None:
        self.distribution: NoiseDistribution | None = rows[0].distribution
        self.layout: Layout = rows[0].layout
        self._rows = list(rows)

    @staticmethod
    def from_pairs(distribution: NoiseDistribution, layout: Layout, pairs: Pairs) -> "Blocks":
        """Return the blocks of a released matrix, from one integer for each pair.

        Args:
            distribution: from which the integers come.
            layout: of the matrix.
            pairs: returns the integers of the pairs of a block in row order, given its index. Of a
                symmetric matrix these are the pairs above the diagonal. It is called once for each
                block, from several threads.
        """
        bounds = layout.bounds()  # (start, stop) of the rows of each block

        # First the pairs of each block as rows of a matrix. A symmetric one has only the columns
        # from the first row of the block on; `complete_rows` then adds what lies left of them.
        def listed_rows(index: int) -> npt.NDArray[Any]:
            return pack(distribution, layout.unfold(pairs(index), *bounds[index]))

        listed = list(in_parallel(listed_rows, range(len(bounds))))

        def complete_rows(index: int) -> npt.NDArray[Any]:
            return complete(distribution, layout, index, listed)

        data = list(in_parallel(complete_rows, range(len(bounds))))
        dtype = _common_type(data)
        return Blocks(
            [
                RowBlock(start, stop, rows.astype(dtype, copy=False), distribution, layout)
                for (start, stop), rows in zip(bounds, data, strict=True)
            ]
        )

    @staticmethod
    def from_matrix(matrix: RealMatrix, *, symmetric: bool, directed: bool = False) -> "Blocks":
        """Return the blocks of a plain matrix of estimates, sharing its memory.

        Args:
            matrix: shape (n, n), symmetric with zero diagonal, or (n_left, n_right).
            symmetric: whether it is the matrix of an undirected graph.
            directed: whether it is that of a directed graph, whose diagonal is zero.
        """
        layout = Layout((matrix.shape[0], matrix.shape[1]), symmetric, directed)
        return Blocks(
            [
                RowBlock(start, stop, matrix[start:stop], None, layout)
                for start, stop in layout.bounds()
            ]
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.layout.shape

    def results(self, function: Callable[..., R], *arguments: Any) -> Iterator[R]:
        """Yield function(block, *arguments) for every block, computed in parallel, in order.

        Several blocks are worked on at the same time. A function may keep arrays in
        `block.workspace`; otherwise it must not change anything.
        """
        return in_parallel(lambda block: function(block, *arguments), self._rows)

    def map(self, function: Callable[..., R], *arguments: Any) -> list[R]:
        """Return all `results` as a list."""
        return list(self.results(function, *arguments))

    def copy(self) -> "Blocks":
        """Return the same rows, sharing memory, with an empty workspace."""
        return Blocks([replace(block, workspace={}) for block in self._rows])

    def times(self, V: RealMatrix) -> RealMatrix:
        """Return the product Z V in the precision of V, which has shape (columns, k)."""
        return self.gather(_times, V, width=V.shape[1], dtype=V.dtype)

    def estimate(self, dtype: npt.DTypeLike = np.float64) -> RealMatrix:
        """Return the whole matrix Z, dense: E[Z] = A off the diagonal, zero on it."""
        return self.gather(RowBlock.estimate, dtype, width=self.shape[1], dtype=dtype)

    def gather(
        self,
        function: Callable[..., npt.NDArray[Any]],
        *arguments: Any,
        width: int,
        dtype: npt.DTypeLike,
    ) -> npt.NDArray[Any]:
        """Return a matrix whose rows are those of function(block, *arguments); see `results`.

        Args:
            function: returns an array of shape (rows of the block, width).
            arguments: for the function.
            width: columns of the result.
            dtype: of the result.
        """
        matrix = np.empty((self.shape[0], width), dtype=dtype)
        start = 0
        for rows in self.results(function, *arguments):
            matrix[start : start + len(rows)] = rows
            start += len(rows)
        return matrix


def _times(block: RowBlock, V: RealMatrix) -> RealMatrix:
    """Return the rows of a block in the product Z V."""
    product: RealMatrix = block.estimate(V.dtype) @ V
    return product


def pack(distribution: NoiseDistribution, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return released integers in few bytes: packed bits, or the smallest type that holds them."""
    if distribution.bits:
        return np.packbits(rows, axis=1)
    low, high = np.min_scalar_type(rows.min(initial=0)), np.min_scalar_type(rows.max(initial=0))
    return rows.astype(_integer_type(np.result_type(low, high)))


def complete(
    distribution: NoiseDistribution,
    layout: Layout,
    index: int,
    listed: Sequence[npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    """Return all columns of a block; of a symmetric matrix, also those below the diagonal.

    Args:
        distribution: of the noise.
        layout: of the matrix.
        index: of the block.
        listed: results of `Layout.unfold`, packed, of all blocks up to this one at least. For a
            matrix that is not symmetric these are the rows of a block with all columns. For a
            symmetric one, the columns of a block that starts with row s are s, s + 1, ...; its
            entries on and below the diagonal are zero.

    Returns:
        The rows of the block with all columns, packed as `pack` does.
    """
    if not layout.symmetric:
        return listed[index]
    bounds = layout.bounds()
    start, stop = bounds[index]
    # By symmetry, the columns left of the diagonal square are what the blocks above hold in
    # columns start..stop-1, transposed. These are columns start - first..stop - first - 1 of what a
    # block above lists, since its list begins with the column of its first row.
    tiles = [
        _columns(distribution, rows, start - first, stop - first).T
        for (first, _), rows in zip(bounds[:index], listed[:index], strict=True)
    ]
    # The columns from the diagonal square on, which the block itself lists.
    upper = _columns(distribution, listed[index], 0, layout.shape[1] - start)
    height = stop - start
    # The square on the diagonal: its lower half is zero, so `or` copies the upper half into it.
    upper[:, :height] |= upper[:, :height].T
    tiles.append(upper)
    # Every block but the last has a multiple of eight rows, so packed tiles join without a seam.
    # The type matters for integers only: packed tiles are bytes, and so are bits.
    return np.concatenate(
        [np.packbits(tile, axis=1) for tile in tiles] if distribution.bits else tiles,
        axis=1,
        dtype=_common_type(tiles),
    )


def _columns(
    distribution: NoiseDistribution, rows: npt.NDArray[Any], first: int, stop: int
) -> npt.NDArray[Any]:
    """Return a copy of columns first..stop-1 of packed rows; of bits `first` is a multiple of 8."""
    if distribution.bits:
        return np.unpackbits(rows[:, first // 8 : -(-stop // 8)], axis=1, count=stop - first)
    return rows[:, first:stop].copy()


def _common_type(arrays: Sequence[npt.NDArray[Any]]) -> np.dtype[Any]:
    """Return a type that holds the numbers of all arrays."""
    return _integer_type(np.result_type(*{array.dtype for array in arrays}))


def _integer_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return int64 in place of a float: numpy's common type of int8 and uint64."""
    return np.dtype(np.int64) if dtype.kind == "f" else dtype


def mirror_upper(matrix: npt.NDArray[Any], layout: Layout) -> None:
    """Copy the entries above the diagonal below it, in place, block by block.

    Products of two blocks differ in the last bit, so matrices that are computed block by block are
    symmetric only up to that.
    """
    for start, stop in layout.bounds():
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
        square = np.triu(matrix[start:stop, start:stop], 1)
        matrix[start:stop, start:stop] = square + square.T
