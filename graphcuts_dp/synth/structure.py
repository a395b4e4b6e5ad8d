"""Noisy matrices less an expected graph, and low-rank estimates of the structure that they show.

A noisy matrix Z holds an unbiased estimate of the weight of every pair of vertices: its expectation
plus independent noise. Communities make that expectation a matrix of low rank. This module has the
two objects that the search for such structure works with:

- `View`: Z itself, or Z less the graph that degrees and public groups lead to expect. It holds
  no large dense matrix; it multiplies it with a few vectors at a time.
- `Structure`: an estimate F diag(sizes) G^T of the expectation, along few directions.

Rows are the left side, columns the right side. The matrix of an undirected graph is symmetric: both
sides are the same vertices, and arrays of both sides (`left` and `right`) are one object. `Blocks`
(`estimate.blocks`) holds Z in blocks of consecutive rows (`RowBlock`), whose `estimate` gives the
entries. Next, read `synth.spectrum` (directions that
stand out of the noise), `synth.message_passing` (which sharpens them) and `synth.block_model`.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.blocks import Blocks, RowBlock

Float32Matrix = npt.NDArray[np.float32]
# Largest factor of a vertex for which products of factors are computed in float32, whose largest
# number is 3e38. Larger factors are multiplied in float64.
_LARGEST_FLOAT32_FACTOR = 1e15
_MOST_KEPT_ENTRIES = 1 << 22  # entries up to which a view keeps them as floats: 16 MiB
# Products with the expected matrix subtract what r c^T has above the cap, if that is at most this
# share of the entries, and if no product of factors is so large that the difference is inexact.
_MOST_ABOVE_CAP = 0.02
_LARGEST_PRODUCT = 1e4


@final
@dataclass(frozen=True, eq=False)
class View:
    """A noisy matrix Z, or Z less the expected matrix cap * min(1, r_i c_j b_gh).

    The expected matrix is what degrees (through the factors r and c of the vertices) and public
    groups (through the ratios b) lead to expect of a graph without further structure.

    Attributes:
        blocks: Z, in blocks of rows. `map` returns a list of results for all blocks, `results`
            yields them one by one.
        factors: r and c, shapes (n_left,) and (n_right,); one object twice if Z is symmetric. None
            if nothing is subtracted.
        cap: largest weight of a pair in the expected matrix.
        cells: the group g of each row, the group h of each column, and the ratios b between
            groups, shape (groups of rows, groups of columns). None if there are no groups.
    """

    blocks: Blocks
    factors: tuple[FloatVector, FloatVector] | None = None
    cap: float = 1.0
    cells: tuple[IntVector, IntVector, FloatMatrix] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """True if rows and columns are the same vertices."""
        return self.blocks.layout.symmetric

    def times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Return the product of the matrix with the columns of another one.

        It is computed in float32 and returned in float64.

        Args:
            vectors: shape (n_right, k).

        Returns:
            Shape (n_left, k).
        """
        vectors32 = vectors.astype(np.float32)
        if self._kept_rows is not None:
            products = [rows @ vectors32 for rows in self._kept_rows]
            return np.concatenate(products).astype(np.float64)
        if self._few_above_cap is None or self.factors is None:
            products = self.blocks.map(lambda block: self.rows(block) @ vectors32)
            return np.concatenate(products).astype(np.float64)
        # The expected matrix need not be written out.
        row_factors, column_factors = self.factors
        expected = np.outer(row_factors, column_factors @ vectors)
        expected -= self._few_above_cap @ vectors
        if self.blocks.layout.hollow:
            expected -= np.minimum(row_factors * column_factors, 1)[:, None] * vectors
        return self.blocks.times(vectors32) - self.cap * expected

    def transposed_times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Return the product of the transposed matrix with the columns of another one.

        Args:
            vectors: shape (n_left, k).

        Returns:
            Shape (n_right, k).
        """
        if self.symmetric:
            return self.times(vectors)
        vectors32 = vectors.astype(np.float32)
        if self._kept_rows is not None:
            parts = np.split(vectors32, np.cumsum([len(rows) for rows in self._kept_rows])[:-1])
            pairs = zip(self._kept_rows, parts, strict=True)
            products = [rows.T @ part for rows, part in pairs]
        else:
            products = self.blocks.map(
                lambda block: self.rows(block).T @ vectors32[block.start : block.stop]
            )
        return np.asarray(np.sum(products, axis=0, dtype=np.float64))

    @cached_property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return sum(float(np.vdot(rows, rows)) for rows in self.blocks.results(self.rows))

    def expected_times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Return the product of the expected matrix with the columns of another one.

        Args:
            vectors: shape (n_right, k).

        Returns:
            Shape (n_left, k).
        """
        vectors32 = vectors.astype(np.float32)
        products = self.blocks.map(lambda block: self.expected_rows(block) @ vectors32)
        return np.concatenate(products).astype(np.float64)

    @cached_property
    def _kept_rows(self) -> list[Float32Matrix] | None:
        """The entries, block by block, of a matrix that is small enough to keep them; else None.

        Block models multiply such a matrix some hundred times.
        """
        if math.prod(self.shape) > _MOST_KEPT_ENTRIES:
            return None
        return self.blocks.map(self.rows)

    @cached_property
    def _few_above_cap(self) -> "sp.csr_array | None":
        """The sparse matrix max(0, r_i c_j - 1), by which r c^T exceeds the expected matrix / cap.

        None if there are groups or no factors, or if it is not sparse or has huge entries.
        """
        if self.factors is None or self.cells is not None:
            return None
        row_factors, column_factors = self.factors
        if float(row_factors.max()) * float(column_factors.max()) > _LARGEST_PRODUCT:
            return None
        order = np.argsort(-column_factors, kind="stable")
        descending = column_factors[order]
        # Of each row the columns with c_j > 1/r_i are the first ones in this order.
        with np.errstate(divide="ignore"):
            counts = np.searchsorted(-descending, -1 / row_factors)
        if counts.sum() > _MOST_ABOVE_CAP * math.prod(self.shape):
            return None
        starts = np.concatenate([[0], np.cumsum(counts)])
        ranks = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
        excess = np.repeat(row_factors, counts) * descending[ranks] - 1
        return sp.csr_array((excess, order[ranks], starts), shape=self.shape)

    def expected_column_sums(self) -> FloatVector:
        """Return the column sums of the expected matrix, shape (n_right,)."""
        sums: FloatVector = sum(
            rows.sum(axis=0, dtype=np.float64) for rows in self.blocks.results(self.expected_rows)
        )
        return sums

    def rows(self, block: RowBlock) -> Float32Matrix:
        """Return the entries of the rows of a block, a fresh array."""
        entries: Float32Matrix = block.estimate(np.float32)  # unbiased estimates of the weights
        if self.factors is not None:
            entries -= self.expected_rows(block)
        return entries

    def expected_rows(self, block: RowBlock) -> Float32Matrix:
        """Return the entries of the expected matrix in the rows of a block, a fresh array."""
        if self.factors is None:
            return np.zeros(block.shape, dtype=np.float32)
        row_factors, column_factors = self.factors
        block_rows = slice(block.start, block.stop)
        # A vertex that is connected to nearly all others has a huge factor, others tiny ones.
        largest = max(row_factors.max(), column_factors.max())
        dtype = np.float64 if largest > _LARGEST_FLOAT32_FACTOR else np.float32
        products = row_factors[block_rows].astype(dtype)[:, None] * column_factors.astype(dtype)
        if self.cells is not None:
            row_groups, column_groups, ratios = self.cells
            # b_gh of each row and each column; first for all row groups, which are few.
            column_ratios = ratios.astype(dtype)[:, column_groups]  # (row groups, n_right)
            products *= column_ratios[row_groups[block_rows]]
        np.minimum(products, 1, out=products)
        expected: Float32Matrix = products.astype(np.float32, copy=False)
        expected *= np.float32(self.cap)
        block.clear_diagonal(expected)  # if no vertex makes a pair with itself
        return expected


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """A low-rank estimate F diag(sizes) G^T of the expectation of a noisy matrix.

    Let u and v be a pair of true singular directions, with the singular value x. Noise has turned F
    and G away from them: F holds only the part cos(a) of u, and G the part cos(b) of v. With x as
    its size, the estimate would have the inner product u^T (estimate) v = x cos(a) cos(b), which is
    too small. Sizes are x/(cos(a) cos(b)) instead: then inner products along true directions, and
    so sums over true blocks, are unbiased.

    Attributes:
        left: F, orthonormal columns, shape (n_left, r).
        right: G, shape (n_right, r); the same object as `left` for a symmetric matrix.
        sizes: shape (r,); negative ones are possible for a symmetric matrix.
        left_groups: groups of row vertices that the method found, shape (n_left, k). A column is a
            group and has the probability of each vertex to belong to it; from singular vectors
            alone, it is a singular vector.
        right_groups: the same for the columns of the matrix, shape (n_right, l).
        near: number of directions of the noisy matrix that lie near the edge of its noise; see
            `directions_near_noise`.
    """

    left: FloatMatrix
    right: FloatMatrix
    sizes: FloatVector
    left_groups: FloatMatrix
    right_groups: FloatMatrix
    near: int = 0

    @classmethod
    def none(cls, shape: tuple[int, int]) -> Self:
        """Return the estimate without any direction or group, for a matrix of some shape."""
        left, right = np.zeros((shape[0], 0)), np.zeros((shape[1], 0))
        return cls(left, right, np.zeros(0), left, right)

    @property
    def row_sums(self) -> FloatVector:
        """Row sums of the estimate, shape (n_left,)."""
        return np.asarray(self.left @ (self.sizes * self.right.sum(axis=0)))

    @property
    def column_sums(self) -> FloatVector:
        """Column sums of the estimate, shape (n_right,)."""
        return np.asarray(self.right @ (self.sizes * self.left.sum(axis=0)))
