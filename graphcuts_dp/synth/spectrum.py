"""Singular directions of a noisy matrix that stand out of its noise, and how much they hold.

A matrix of n rows and m columns of independent noise of standard deviation s has no singular value
much above its edge s (sqrt(n) + sqrt(m)). A direction of the expected graph whose singular value
(its signal) is large enough makes a singular value of the noisy matrix beyond that edge. The
singular vectors there hold only part of the true direction: random matrix theory tells the signal
and the angle from the singular value alone. Rows are called left, columns right; for a symmetric
matrix both are the same vertices.

`largest_triples` computes singular values with their vectors, `find_spectrum` those beyond the
edge with signals and angles, `structure_along` the unbiased estimate that follows from them, and
`directions_near_noise` counts the directions that barely stand out. Nothing here reads private
data: the noisy matrix is public.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.synth.structure import Structure, View

# The six constants up to `_LARGEST_NOISE_SHARE` were tuned with bench_fit_quality.py on the twelve
# graphs of docs/releases.md. There the worst error of a cut in the fit is 0.39 of that in the noisy
# matrix itself in the median, and 0.56 at most.
_MOST_DIRECTIONS = 40  # singular values that are computed
_KRYLOV_WIDTH = 48  # vectors of a block of the Krylov space
_KRYLOV_BLOCKS = 12  # blocks of it
_EDGE_MARGIN = 2.0  # times min(n, m)^(-2/3): how far beyond the edge a singular value must lie
_LEAST_NOISE = 1e-12  # least share of the sum of squares that counts as noise
_LARGEST_NOISE_SHARE = 0.8  # squared sine above which a direction is left out
_EDGE_ROUNDS = 20  # of counting the values beyond the edge and estimating the noise anew

# For `directions_near_noise`.
# A signal counts as near the noise if it is below this times the least signal that any method can
# detect.
_NEAR = 1.5
_TRACY_WIDOM = 0.98  # 95 % quantile of the Tracy-Widom law of the largest value of noise alone
_MEAN_COSINE = 0.1  # squared cosine with the vector of ones above which a direction is the mean
_FEWEST_VERTICES = 50  # of the smaller side; below, the law of Tracy and Widom says little

Triples = tuple[FloatVector, FloatMatrix, FloatMatrix]  # singular values, left and right vectors


@final
@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular triples, or eigenpairs of a symmetric matrix, beyond the edge of the noise.

    Attributes:
        left: unit columns, shape (n_left, r).
        right: unit columns, shape (n_right, r); for a symmetric matrix the same object as `left`.
        signal: estimated singular values (signed eigenvalues) of the expected matrix, shape (r,).
        left_noise: squared sine of the angle between each left column and the true direction.
        right_noise: squared sine of the angle between each right column and the true direction.
        deviation: s, standard deviation of the noise of an entry.
    """

    left: FloatMatrix
    right: FloatMatrix
    signal: FloatVector
    left_noise: FloatVector
    right_noise: FloatVector
    deviation: float


def find_spectrum(view: View, triples: Triples | None = None) -> Spectrum:
    """Return the directions of a noisy matrix that pass the edge of its noise.

    With n rows, m columns, b = n/m and y = w/(s sqrt(m)) for a singular value w, the signal
    x s sqrt(m) behind it solves y^2 = (1 + x^2)(b + x^2)/x^2, and the squared sines are
    b (1 + x^2)/(x^2 (x^2 + b)) on the left and (b + x^2)/(x^2 (x^2 + 1)) on the right. For a
    symmetric matrix b = 1, so x = (y + sqrt(y^2 - 4))/2, and both squared sines are 1/x^2.

    A singular value passes the edge if it exceeds the edge by the factor 1 + 2 min(n, m)^(-2/3). A
    direction is left out if the squared sine of one of its sides is 0.8 or more.

    Args:
        view: the matrix.
        triples: its `largest_triples`; None to compute them.

    Privacy: reads the noisy matrix alone, which is public.

    Source: Benaych-Georges, Nadakuditi 2011 and 2012.
    """
    values, left, right = largest_triples(view) if triples is None else triples
    n, m = view.shape
    count, deviation = _beyond_edge(view, values, 1 + _EDGE_MARGIN * min(n, m) ** (-2 / 3))
    values, b = values[:count], n / m
    x_squared = _squared_signals(values, deviation, view.shape)
    if view.symmetric:
        left_noise = right_noise = 1 / x_squared
    else:
        left_noise = b * (1 + x_squared) / (x_squared * (x_squared + b))
        right_noise = (b + x_squared) / (x_squared * (x_squared + 1))
    clear = np.maximum(left_noise, right_noise) < _LARGEST_NOISE_SHARE
    clear_left = left[:, :count][:, clear]
    return Spectrum(
        left=clear_left,
        right=clear_left if view.symmetric else right[:, :count][:, clear],
        signal=(np.sign(values) * np.sqrt(x_squared) * deviation * math.sqrt(m))[clear],
        left_noise=left_noise[clear],
        right_noise=right_noise[clear],
        deviation=deviation,
    )


def structure_along(spectrum: Spectrum) -> Structure:
    """Return the estimate along the directions u, v of a spectrum, with unbiased sizes.

    u and v hold the shares cos_u and cos_v of the true directions u*, v*. With the size
    x/(cos_u cos_v) for a signal x, u*^T (size u v^T) v* = x, the true value. The groups of the
    structure are u and v themselves.
    """
    cosines = np.sqrt((1 - spectrum.left_noise) * (1 - spectrum.right_noise))
    left, right = spectrum.left, spectrum.right
    return Structure(left, right, spectrum.signal / cosines, left, right)


def directions_near_noise(view: View, triples: Triples) -> int:
    """Return the number of directions of a noisy matrix that stand out of its noise, but barely.

    Stand out: the largest singular value w of noise alone varies around the edge
    s (sqrt(n) + sqrt(m)). Its square, divided by that of the edge, is about 1 + width T, where T
    follows the law of Tracy and Widom and

        width = (1/sqrt(n) + 1/sqrt(m))^(1/3)/(sqrt(n) + sqrt(m)),

    which falls like n^(-2/3). A direction must pass the .95 quantile of that law, so one in twenty
    matrices of noise alone has a direction that is counted.

    Barely: its signal is at most 1.5 times the least signal that any method can detect, which is
    x^2 = sqrt(n/m) in the notation of `find_spectrum`. Some of the blocks behind such directions
    may be hidden, and the synthetic graph may merge two of them. A direction along the vector of
    ones is not counted: it is the mean entry, no community.

    Args:
        view: the matrix. With fewer than 50 rows or columns the number is 0.
        triples: its `largest_triples`.

    Privacy: reads the noisy matrix alone, which is public.

    Source: Johnstone 2001.
    """
    n, m = view.shape
    if min(n, m) < _FEWEST_VERTICES:
        return 0
    values, left_vectors, _ = triples
    root = math.sqrt(n) + math.sqrt(m)
    excess = _TRACY_WIDOM * (1 / math.sqrt(n) + 1 / math.sqrt(m)) ** (1 / 3) / root
    count, deviation = _beyond_edge(view, values, math.sqrt(1 + excess))
    x_squared = _squared_signals(values[:count], deviation, view.shape)
    near = x_squared < _NEAR**2 * math.sqrt(n / m)
    # The squared cosine of a unit vector u with the vector of ones is (sum of u)^2/n.
    is_mean = left_vectors[:, :count].sum(axis=0) ** 2 >= _MEAN_COSINE * n
    return int((near & ~is_mean).sum())


def largest_triples(view: View) -> Triples:
    """Return the largest singular values of a matrix, `_MOST_DIRECTIONS` at most, with vectors.

    They are those of the matrix on a block Krylov space: the span of a random block X and
    Z^T Z X, (Z^T Z)^2 X, ... (Z X, Z^2 X, ... of a symmetric Z).

    Returns:
        Singular values, largest first, shape (k,); left vectors, shape (n, k); right vectors, shape
        (m, k). Of a symmetric matrix, eigenvalues by modulus, and the eigenvectors twice.
    """
    n, m = view.shape
    width = min(_KRYLOV_WIDTH, n, m)
    block = np.random.default_rng(0).standard_normal((m, width))  # a start, no noise of privacy
    block[:, 0] = 1.0
    space, image = np.zeros((m, 0)), np.zeros((n, 0))
    dimensions = min(_KRYLOV_BLOCKS * width, min(n, m))
    while True:
        for _ in range(2):  # once is not enough to stay orthogonal
            block -= space @ (space.T @ block)
        block = np.linalg.qr(block)[0][:, : dimensions - space.shape[1]]
        space = np.hstack([space, block])
        block = view.times(block)
        image = np.hstack([image, block])
        if space.shape[1] == dimensions:
            break
        if not view.symmetric:
            block = view.transposed_times(block)
    count = min(_MOST_DIRECTIONS, dimensions)
    if view.symmetric:
        projected = space.T @ image
        values, vectors = np.linalg.eigh((projected + projected.T) / 2)
        order = np.argsort(-np.abs(values))[:count]
        left = space @ vectors[:, order]
        return values[order], left, left
    left, values, vectors = np.linalg.svd(image, full_matrices=False)
    return values[:count], left[:, :count], space @ vectors[:count].T


def _beyond_edge(view: View, values: FloatVector, margin: float) -> tuple[int, float]:
    """Count the singular values that pass the edge of the noise times a margin.

    The noise is what the values beyond its edge leave of the sum of squares, so both are computed
    in turn until the count stays.

    Args:
        view: the matrix.
        values: its largest singular values, the largest first.
        margin: factor of the edge.

    Returns:
        The count, and the standard deviation s of the noise of an entry.
    """
    n, m = view.shape
    square_sum = view.square_sum
    count = 0
    for _ in range(_EDGE_ROUNDS):
        # Without noise, as in a star of rank two, float32 leaves a remainder of rounding errors.
        # The least share keeps it from being taken for a noise with directions beyond its edge.
        noise_squares = max(
            square_sum - float((values[:count] ** 2).sum()), _LEAST_NOISE * square_sum
        )
        # Share of the n m entries' freedom that `count` directions, with n + m numbers each, leave.
        degrees_of_freedom = max(1 - count / n - count / m, 1 / n)
        deviation = math.sqrt(noise_squares / (n * m * degrees_of_freedom))
        edge = deviation * (math.sqrt(n) + math.sqrt(m))
        beyond = int((np.abs(values) > edge * margin).sum())
        if beyond == count:
            break
        count = beyond
    return count, deviation


def _squared_signals(values: FloatVector, deviation: float, shape: tuple[int, int]) -> FloatVector:
    """Return x^2 of `find_spectrum` for singular values beyond the edge, shape as `values`."""
    n, m = shape
    b = n / m
    y_squared = (np.abs(values) / max(deviation * math.sqrt(m), 1e-300)) ** 2
    # x^2 is the larger root of x^4 - (y^2 - 1 - b) x^2 + b = 0.
    linear = y_squared - 1 - b
    x_squared = (linear + np.sqrt(np.maximum(linear**2 - 4 * b, 0.0))) / 2
    return np.asarray(np.maximum(x_squared, math.sqrt(b)))
