"""Low-rank structure that a noisy matrix shows, along directions that its noise does not hide.

A noisy matrix is the expected graph, of low rank, plus independent noise of deviation s. Directions
whose singular value passes the edge s (sqrt(n) + sqrt(m)) of the noise can be seen, but only in
part: the cosine with the true direction is below one, and is known. `View` is the noisy matrix, or
that less an expected graph, as far as products with it are needed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, final

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
        return self._product(self.rows, vectors)

    def transposed_times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Product of the transpose with a matrix of shape (n_left, k)."""
        if self.symmetric:
            return self.times(vectors)
        short = vectors.astype(np.float32)
        parts = self.blocks.map(lambda block: self.rows(block).T @ short[block.start : block.stop])
        product: FloatMatrix = np.sum(parts, axis=0, dtype=np.float64)
        return product

    def square_sum(self) -> float:
        """Sum of all squared entries."""

        def squares(block: RowBlock) -> float:
            z = self.rows(block)
            return float(np.vdot(z, z))

        return float(sum(self.blocks.map(squares)))

    def expected_times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Product of the expected matrix with the columns of a matrix of shape (n_right, k)."""
        return self._product(self.expected_rows, vectors)

    def _product(self, rows: Callable[[RowBlock], _Short], vectors: FloatMatrix) -> FloatMatrix:
        short = vectors.astype(np.float32)
        return np.concatenate(self.blocks.map(lambda block: rows(block) @ short)).astype(np.float64)

    def expected_column_sums(self) -> FloatVector:
        """Column sums of the expected matrix."""
        parts = self.blocks.map(
            lambda block: self.expected_rows(block).sum(axis=0, dtype=np.float64)
        )
        sums: FloatVector = np.sum(parts, axis=0)
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


# Tuned with bench_fit_quality.py: over the twelve graphs of docs/releases.md the median worst cut
# is 0.39 of the raw matrix's, the largest 0.56.
_MOST = 40  # directions looked for
_WIDTH = 48  # of the block Krylov space
_DEPTH = 12
_MARGIN = 2.0  # times n^(-2/3): how far beyond the edge a value must lie
_LEAST_REST = 1e-12  # of the sum of squares, that counts as noise
_MOST_NOISE = 0.8  # share of noise above which a direction is left alone
NEAR = 1.5  # times the least signal that can be seen: blocks below are merged or lost now and then
_TRACY_WIDOM = 0.98  # 95 % of its law: how far noise alone reaches beyond the edge
_MEAN = 0.1  # squared cosine with the vector of ones, from which a direction is the mean
FEWEST = 50  # vertices of a side, below which that law says little


Triples = tuple[FloatVector, FloatMatrix, FloatMatrix]  # singular values, left and right vectors


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """An estimate F diag(sizes) G^T of what is expected, with unbiased inner products.

    Attributes:
        left: F, orthonormal columns, shape (n_left, r).
        right: G, shape (n_right, r); the same object as `left` for an adjacency matrix.
        sizes: shape (r,). Larger in modulus than the noisy matrix would have them: F and G hold
            only part of the true directions, so for cuts along those to come out right, more is
            needed.
        left_groups: columns that tell groups of vertices apart, shape (n_left, k).
        right_groups: likewise.
        near: how many directions of the noisy matrix lie near the edge of its noise; see
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
        """No direction passes the noise."""
        left, right = np.zeros((shape[0], 0)), np.zeros((shape[1], 0))
        return cls(left, right, np.zeros(0), left, right)

    @property
    def row_sums(self) -> FloatVector:
        """Of the estimate."""
        sums: FloatVector = self.left @ (self.sizes * self.right.sum(axis=0))
        return sums

    @property
    def column_sums(self) -> FloatVector:
        """Of the estimate."""
        sums: FloatVector = self.right @ (self.sizes * self.left.sum(axis=0))
        return sums


@final
@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular triples, or eigenpairs of a symmetric matrix, beyond the edge of the noise.

    Attributes:
        left: unit columns, shape (n_left, r).
        right: shape (n_right, r); for a symmetric matrix the same object as `left`.
        signal: the expected matrix's own singular values (eigenvalues, signed), estimated.
        left_noise: squared sine of the angle between a column and the true direction.
        right_noise: likewise.
        deviation: s, of the noise in one entry.
    """

    left: FloatMatrix
    right: FloatMatrix
    signal: FloatVector
    left_noise: FloatVector
    right_noise: FloatVector
    deviation: float


def find_spectrum(view: View, triples: Triples | None = None) -> Spectrum:
    """What of a noisy matrix passes the edge of its noise.

    With n rows, m columns, b = n/m and y = w/(s sqrt(m)) for a singular value w, the signal x
    behind it solves y^2 = (1 + x^2)(b + x^2)/x^2, and the squared sines are
    b (1 + x^2)/(x^2 (x^2 + b)) on the left and (b + x^2)/(x^2 (x^2 + 1)) on the right. For a
    symmetric matrix, b = 1: x = (y + sqrt(y^2 - 4))/2 and 1/x^2.

    Args:
        view: the matrix.
        triples: what `largest_triples` says of it, if it has been asked.

    Source: Benaych-Georges, Nadakuditi 2011 and 2012.
    """
    values, left, right = largest_triples(view) if triples is None else triples
    n, m = view.shape
    count, deviation = _beyond(view, values, 1 + _MARGIN * min(n, m) ** (-2 / 3))
    values, ratio = values[:count], n / m
    x = _signals(values, deviation, view.shape)
    if view.symmetric:
        left_noise = right_noise = 1 / x
    else:
        left_noise = ratio * (1 + x) / (x * (x + ratio))
        right_noise = (ratio + x) / (x * (x + 1))
    clear = np.maximum(left_noise, right_noise) < _MOST_NOISE
    kept_left = left[:, :count][:, clear]
    return Spectrum(
        left=kept_left,
        right=kept_left if view.symmetric else right[:, :count][:, clear],
        signal=(np.sign(values) * np.sqrt(x) * deviation * math.sqrt(m))[clear],
        left_noise=left_noise[clear],
        right_noise=right_noise[clear],
        deviation=deviation,
    )


def directions_near_noise(view: View, triples: Triples) -> int:
    """How many directions of a noisy matrix stand out of its noise, but by little.

    Singular values of noise alone reach s (sqrt(n) + sqrt(m)), and beyond by a multiple of
    n^(-2/3) that follows the law of Tracy and Widom: in one of twenty matrices of noise alone a
    direction is counted. The largest that count have a signal of 1.5 times the least that any
    method sees. Of blocks behind such directions some may be hidden, and the synthetic graph may
    have two of them for one. A direction along the vector of ones is the mean entry, no community.

    Args:
        view: the matrix. With fewer than 50 rows or columns none is counted.
        triples: what `largest_triples` says of it.

    Source: Johnstone 2001.
    """
    n, m = view.shape
    if min(n, m) < FEWEST:
        return 0
    root = math.sqrt(n) + math.sqrt(m)
    width = _TRACY_WIDOM * (1 / math.sqrt(n) + 1 / math.sqrt(m)) ** (1 / 3) / root
    count, deviation = _beyond(view, triples[0], math.sqrt(1 + width))
    near = _signals(triples[0][:count], deviation, view.shape) < NEAR**2 * math.sqrt(n / m)
    left = triples[1][:, :count]
    return int((near & (left.sum(axis=0) ** 2 < _MEAN * n)).sum())


def _beyond(view: View, values: FloatVector, margin: float) -> tuple[int, float]:
    """How many singular values pass so many times the edge of the noise, and its deviation."""
    n, m = view.shape
    total = view.square_sum()
    count = 0
    for _ in range(20):
        # Never quite nothing (a star without noise has two directions): float32 shows no less.
        rest = max(total - float((values[:count] ** 2).sum()), _LEAST_REST * total)
        freedom = max(1 - count / n - count / m, 1 / n)
        deviation = math.sqrt(rest / (n * m * freedom))
        edge = deviation * (math.sqrt(n) + math.sqrt(m))
        beyond = int((np.abs(values) > edge * margin).sum())
        if beyond == count:
            break
        count = beyond
    return count, deviation


def _signals(values: FloatVector, deviation: float, shape: tuple[int, int]) -> FloatVector:
    """The squared signals behind singular values beyond the edge, over s^2 m."""
    n, m = shape
    y = (np.abs(values) / max(deviation * math.sqrt(m), 1e-300)) ** 2
    middle = y - 1 - n / m
    found = (middle + np.sqrt(np.maximum(middle**2 - 4 * n / m, 0.0))) / 2
    signals: FloatVector = np.maximum(found, math.sqrt(n / m))
    return signals


def structure_along(seen: Spectrum) -> Structure:
    """Seen directions u, v with sizes x/(cos cos).

    u and v hold the shares cos of the true u*, v*, so u*^T (size u v^T) v* = x, the true value.
    """
    cosines = np.sqrt((1 - seen.left_noise) * (1 - seen.right_noise))
    return Structure(seen.left, seen.right, seen.signal / cosines, seen.left, seen.right)


def largest_triples(view: View) -> Triples:
    """Up to 40 largest singular values with vectors, by a block Krylov space; largest first.

    For a symmetric matrix: eigenvalues of largest modulus, and eigenvectors twice.
    """
    n, m = view.shape
    width = min(_WIDTH, n, m)
    block = np.random.default_rng(0).standard_normal((m, width))  # a start, no noise of privacy
    block[:, 0] = 1.0
    space = np.zeros((m, 0))
    most = min(_DEPTH * width, min(n, m))
    while True:
        for _ in range(2):  # once is not enough to stay orthogonal
            block -= space @ (space.T @ block)
        block = np.linalg.qr(block)[0][:, : most - space.shape[1]]
        space = np.hstack([space, block])
        if space.shape[1] == most:
            break
        block = view.times(block)
        if not view.symmetric:
            block = view.transposed_times(block)
    image = view.times(space)
    count = min(_MOST, most)
    if view.symmetric:
        reduced = space.T @ image
        values, vectors = np.linalg.eigh((reduced + reduced.T) / 2)
        order = np.argsort(-np.abs(values))[:count]
        left = space @ vectors[:, order]
        return values[order], left, left
    left, values, vectors = np.linalg.svd(image, full_matrices=False)
    return values[:count], left[:, :count], space @ vectors[:count].T
