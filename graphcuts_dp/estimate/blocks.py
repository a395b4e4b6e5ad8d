"""A noisy matrix cut into blocks of rows, and a map over them.

Released bits stay packed, eight entries a byte, and are widened one block at a time, so that no
n x n array of numbers is ever needed. How the rows are cut depends on the shape alone, and results
come back in the order of the blocks: what is computed from them is the same to the last bit on any
number of processors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntegerMatrix, RealMatrix
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.resources import in_parallel
from graphcuts_dp.schema.layout import Layout

R = TypeVar("R")
Pairs = Callable[[int], IntegerMatrix]


@final
@dataclass(eq=False)
class RowBlock:
    """Rows start..stop-1 of a noisy matrix, all columns.

    Attributes:
        start: first row.
        stop: the row after the last one.
        data: bits packed eight a byte, shape (stop - start, ceil(columns / 8)); or released
            integers; or, without a distribution, the estimates themselves.
        distribution: of the noise; None for a plain matrix of estimates.
        layout: of the whole matrix.
        held: arrays that a computation keeps beside the block from one map to the next.
    """

    start: int
    stop: int
    data: npt.NDArray[Any]
    distribution: NoiseDistribution | None
    layout: Layout
    held: dict[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of this block, columns of the matrix."""
        return self.stop - self.start, self.layout.shape[1]

    def steps(self) -> IntegerMatrix:
        """Released integers, shape `shape`; do not write to them."""
        if self.distribution is not None and self.distribution.bits:
            return np.unpackbits(self.data, axis=1, count=self.shape[1])
        return self.data

    def estimate(self, dtype: npt.DTypeLike = np.float32) -> RealMatrix:
        """Unbiased estimates, shape `shape`, zero on the diagonal; a fresh array."""
        if self.distribution is None:
            return self.clear_diagonal(self.data.astype(dtype))
        return self._values(self.distribution, "estimate", np.dtype(dtype))

    def evidence(self, dtype: npt.DTypeLike = np.float32) -> RealMatrix:
        """`NoiseDistribution.evidence` of every entry, shape `shape`, zero on the diagonal."""
        if self.distribution is None:
            raise ValueError("a plain matrix has no distribution of noise")
        return self._values(self.distribution, "evidence", np.dtype(dtype))

    def clear_diagonal(self, rows: RealMatrix) -> RealMatrix:
        """Set to zero, in place, what lies on the diagonal of a hollow matrix.

        Args:
            rows: shape `shape`, numbers for the entries of this block.
        """
        if self.layout.hollow:
            rows[np.arange(len(rows)), np.arange(self.start, self.stop)] = 0
        return rows

    def parts(self, entries: int) -> "Iterator[RowBlock]":
        """The same rows as smaller blocks of about `entries` entries each, sharing memory."""
        height = max(1, entries // self.shape[1])
        for start in range(self.start, self.stop, height):
            stop = min(start + height, self.stop)
            rows = self.data[start - self.start : stop - self.start]
            yield RowBlock(start, stop, rows, self.distribution, self.layout)

    def _values(
        self, distribution: NoiseDistribution, kind: str, dtype: np.dtype[Any]
    ) -> RealMatrix:
        if not distribution.bits:
            return self.clear_diagonal(getattr(distribution, kind)(self.data, dtype))
        # Eight entries at once, from a table of what each byte stands for.
        wide = np.take(_byte_table(distribution, kind, dtype), self.data, axis=0)
        return self.clear_diagonal(wide.reshape(len(self.data), -1)[:, : self.shape[1]])


@lru_cache(maxsize=16)
def _byte_table(distribution: NoiseDistribution, kind: str, dtype: np.dtype[Any]) -> RealMatrix:
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    table: RealMatrix = getattr(distribution, kind)(bits, dtype)
    return table


@final
class Blocks:
    """A noisy matrix as blocks of rows, worked on by one thread for each processor.

    Args:
        rows: the blocks, in order.
    """

    def __init__(self, rows: Sequence[RowBlock]) -> None:
        self.distribution = rows[0].distribution
        self.layout = rows[0].layout
        self._rows = list(rows)

    @staticmethod
    def from_pairs(distribution: NoiseDistribution, layout: Layout, pairs: Pairs) -> "Blocks":
        """Blocks from one released integer a pair.

        Args:
            distribution: that the integers come from.
            layout: of the matrix.
            pairs: gives the integers of the pairs of a block, by its number, in row order (of a
                symmetric matrix, pairs i < j). Called once for each, from several threads.
        """
        bounds = layout.bounds()

        def draw(index: int) -> npt.NDArray[Any]:
            return pack(distribution, layout.unfold(pairs(index), *bounds[index]))

        parts = list(in_parallel(draw, range(len(bounds))))

        def finish(index: int) -> npt.NDArray[Any]:
            return complete(distribution, layout, index, parts)

        data = list(in_parallel(finish, range(len(bounds))))
        kind = _common_type(data)
        return Blocks(
            [
                RowBlock(*own, rows.astype(kind, copy=False), distribution, layout)
                for own, rows in zip(bounds, data, strict=True)
            ]
        )

    @staticmethod
    def from_matrix(matrix: RealMatrix, *, symmetric: bool, directed: bool = False) -> "Blocks":
        """Blocks of a plain matrix of estimates, sharing its memory.

        Args:
            matrix: shape (n, n), symmetric with zero diagonal, or (n_left, n_right).
            symmetric: which of the two.
            directed: whether it is that of a directed graph, whose diagonal is zero.
        """
        layout = Layout((matrix.shape[0], matrix.shape[1]), symmetric, directed)
        return Blocks(
            [RowBlock(*bounds, matrix[slice(*bounds)], None, layout) for bounds in layout.bounds()]
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.layout.shape

    def results(self, function: Callable[..., R], *arguments: Any) -> Iterator[R]:
        """function(block, *arguments) for every block, in parallel; yields results in order.

        Several blocks may be at work at the same time. A function may keep arrays in `block.held`;
        else it must not change anything.
        """
        return in_parallel(lambda block: function(block, *arguments), self._rows)

    def map(self, function: Callable[..., R], *arguments: Any) -> list[R]:
        """All `results` at once."""
        return list(self.results(function, *arguments))

    def copy(self) -> "Blocks":
        """The same rows, sharing memory, with nothing held."""
        return Blocks([replace(block, held={}) for block in self._rows])

    def times(self, V: RealMatrix) -> RealMatrix:
        """Z @ V, in the precision of V, which has shape (columns, k)."""
        return self.gather(_times, V, width=V.shape[1], dtype=V.dtype)

    def estimate(self, dtype: npt.DTypeLike = np.float64) -> RealMatrix:
        """Z with E[Z] = A off the diagonal, zero on it; dense."""
        return self.gather(RowBlock.estimate, dtype, width=self.shape[1], dtype=dtype)

    def gather(
        self,
        function: Callable[..., npt.NDArray[Any]],
        *arguments: Any,
        width: int,
        dtype: npt.DTypeLike,
    ) -> npt.NDArray[Any]:
        """A matrix of this width whose rows function(block, *arguments) gives, see `results`."""
        matrix = np.empty((self.shape[0], width), dtype=dtype)
        start = 0
        for rows in self.results(function, *arguments):
            matrix[start : start + len(rows)] = rows
            start += len(rows)
        return matrix


def _times(block: RowBlock, V: RealMatrix) -> RealMatrix:
    product: RealMatrix = block.estimate(V.dtype) @ V
    return product


def pack(distribution: NoiseDistribution, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Released integers in few bytes: packed bits, or the smallest type that holds them."""
    if distribution.bits:
        return np.packbits(rows, axis=1)
    low, high = np.min_scalar_type(rows.min(initial=0)), np.min_scalar_type(rows.max(initial=0))
    return rows.astype(_integer(np.result_type(low, high)))


def complete(
    distribution: NoiseDistribution, layout: Layout, index: int, parts: Sequence[npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """All columns of a block; of a symmetric matrix, with what lies below the diagonal.

    Args:
        distribution: of the noise.
        layout: of the matrix.
        index: of the block.
        parts: packed results of `Layout.unfold`, of the blocks up to this one at least.
    """
    if not layout.symmetric:
        return parts[index]
    bounds = layout.bounds()
    start, stop = bounds[index]
    tiles = [
        _columns(distribution, part, start - first, stop - first).T
        for (first, _), part in zip(bounds[:index], parts[:index], strict=True)
    ]
    own = _columns(distribution, parts[index], 0, layout.shape[1] - start)
    own[:, : stop - start] |= own[:, : stop - start].T
    tiles.append(own)
    # Every block but the last has a multiple of eight rows, so packed tiles join without a seam.
    return np.concatenate(
        [np.packbits(tile, axis=1) for tile in tiles] if distribution.bits else tiles,
        axis=1,
        dtype=_common_type(tiles),
    )


def _columns(
    distribution: NoiseDistribution, part: npt.NDArray[Any], first: int, end: int
) -> npt.NDArray[Any]:
    """A copy of some columns of packed rows; for bits `first` is a multiple of eight."""
    if distribution.bits:
        return np.unpackbits(part[:, first // 8 : -(-end // 8)], axis=1, count=end - first)
    return part[:, first:end].copy()


def _common_type(arrays: Sequence[npt.NDArray[Any]]) -> np.dtype[Any]:
    return _integer(np.result_type(*{array.dtype for array in arrays}))


def _integer(kind: np.dtype[Any]) -> np.dtype[Any]:
    # numpy's common type of int8 and uint64 is a float.
    return np.dtype(np.int64) if kind.kind == "f" else kind


def mirror_upper(matrix: npt.NDArray[Any], layout: Layout) -> None:
    """Copy what lies above the diagonal below it, in place, block by block.

    Products of two blocks differ in the last bit, so rows made block by block are symmetric only up
    to that.
    """
    for start, stop in layout.bounds():
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
        square = np.triu(matrix[start:stop, start:stop], 1)
        matrix[start:stop, start:stop] = square + square.T
