"""A noisy matrix less an expected graph, as far as products with it are needed."""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.blocks import Blocks, RowBlock

_Short = npt.NDArray[np.float32]
_LARGEST_SHORT = 1e15  # products with larger ends may be out of float32's range


@final
@dataclass(frozen=True, eq=False)
class View:
    """Z, or Z less the matrix cap min(1, r_i c_j b_gh) that degrees and public groups expect.

    Attributes:
        blocks: Z.
        row_ends: r, shape (n_left,); None for Z itself.
        column_ends: c, shape (n_right,); the same object as `row_ends` if Z is symmetric.
        cap: of the expected matrix.
        row_groups: the group g of each row, shape (n_left,); None where there are none.
        column_groups: the group h of each column.
        ratios: b, shape (groups of rows, groups of columns).
    """

    blocks: Blocks
    row_ends: FloatVector | None = None
    column_ends: FloatVector | None = None
    cap: float = 1.0
    row_groups: IntVector | None = None
    column_groups: IntVector | None = None
    ratios: FloatMatrix | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same vertices."""
        return self.blocks.symmetric

    def times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Product with the columns of a matrix of shape (n_right, k), in float32."""
        short = vectors.astype(np.float32)
        parts = self.blocks.map(_times, self, short)
        return np.concatenate(parts).astype(np.float64)

    def transposed_times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Product of the transpose with a matrix of shape (n_left, k)."""
        if self.symmetric:
            return self.times(vectors)
        short = vectors.astype(np.float32)
        parts = self.blocks.map(_transposed_times, self, short)
        product: FloatMatrix = np.sum(parts, axis=0, dtype=np.float64)
        return product

    def square_sum(self) -> float:
        """Sum of all squared entries."""
        return float(sum(self.blocks.map(_square_sum, self)))

    def expected_times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Product of the expected matrix with the columns of a matrix of shape (n_right, k)."""
        short = vectors.astype(np.float32)
        parts = self.blocks.map(_expected_times, self, short)
        return np.concatenate(parts).astype(np.float64)

    def expected_column_sums(self) -> FloatVector:
        """Column sums of the expected matrix."""
        sums: FloatVector = np.sum(self.blocks.map(_expected_column_sums, self), axis=0)
        return sums

    def rows(self, block: RowBlock) -> _Short:
        """The entries of a block."""
        z: _Short = block.estimate(np.float32)
        if self.row_ends is not None:
            z -= self.expected_rows(block)
        return z

    def expected_rows(self, block: RowBlock) -> _Short:
        """The entries of the expected matrix in the rows of a block."""
        if self.row_ends is None or self.column_ends is None:
            return np.zeros(block.shape, dtype=np.float32)
        # Near a star, some ends tend to infinity and others to zero.
        wide = max(self.row_ends.max(), self.column_ends.max()) > _LARGEST_SHORT
        kind = np.float64 if wide else np.float32
        ends = self.row_ends[block.start : block.stop].astype(kind)
        products = ends[:, None] * self.column_ends.astype(kind)
        if self.ratios is not None and self.row_groups is not None:
            own = self.row_groups[block.start : block.stop]
            products *= self.ratios.astype(kind)[:, self.column_groups][own]
        np.minimum(products, 1, out=products)
        expected: _Short = products.astype(np.float32, copy=False)
        expected *= np.float32(self.cap)
        block.clear_diagonal(expected)
        return expected

    def __getstate__(self) -> dict[str, object]:
        # Blocks stay where they are: a worker that gets this view has its own.
        return {**self.__dict__, "blocks": None}


def _times(block: RowBlock, view: View, vectors: _Short) -> _Short:
    product: _Short = view.rows(block) @ vectors
    return product


def _transposed_times(block: RowBlock, view: View, vectors: _Short) -> _Short:
    product: _Short = view.rows(block).T @ vectors[block.start : block.stop]
    return product


def _square_sum(block: RowBlock, view: View) -> float:
    z = view.rows(block)
    return float(np.vdot(z, z))


def _expected_times(block: RowBlock, view: View, vectors: _Short) -> _Short:
    product: _Short = view.expected_rows(block) @ vectors
    return product


def _expected_column_sums(block: RowBlock, view: View) -> FloatVector:
    sums: FloatVector = view.expected_rows(block).sum(axis=0, dtype=np.float64)
    return sums
