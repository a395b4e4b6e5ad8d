"""Low-rank structure that a noisy matrix shows, along directions that its noise does not hide.

A noisy matrix is the expected graph, of low rank, plus independent noise of deviation s. Directions
whose singular value passes the edge s (sqrt(n) + sqrt(m)) of the noise can be seen, but only in
part: the cosine with the true direction is below one, and is known.
"""

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.fits.view import View

# Tuned with bench_fit_quality.py: over the twelve graphs of the README's table the median worst cut
# is 0.36 of the raw matrix's, the largest 0.47.
_MOST = 40  # directions looked for
_WIDTH = 48  # of the block Krylov space
_DEPTH = 12
_MARGIN = 2.0  # times n^(-2/3): how far beyond the edge a value must lie
_LEAST_REST = 1e-12  # of the sum of squares, that counts as noise
_MOST_NOISE = 0.8  # share of noise above which a direction is left alone


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
    """

    left: FloatMatrix
    right: FloatMatrix
    sizes: FloatVector
    left_groups: FloatMatrix
    right_groups: FloatMatrix

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
    total = view.square_sum()
    count = 0
    for _ in range(20):
        # Never quite nothing (a star without noise has two directions): float32 shows no less.
        rest = max(total - float((values[:count] ** 2).sum()), _LEAST_REST * total)
        freedom = max(1 - count / n - count / m, 1 / n)
        deviation = math.sqrt(rest / (n * m * freedom))
        edge = deviation * (math.sqrt(n) + math.sqrt(m))
        beyond = int((np.abs(values) > edge * (1 + _MARGIN * min(n, m) ** (-2 / 3))).sum())
        if beyond == count:
            break
        count = beyond
    values, ratio = values[:count], n / m
    y = (np.abs(values) / max(deviation * math.sqrt(m), 1e-300)) ** 2
    middle = y - 1 - ratio
    x = (middle + np.sqrt(np.maximum(middle**2 - 4 * ratio, 0.0))) / 2  # the signal squared
    x = np.maximum(x, math.sqrt(ratio))
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
