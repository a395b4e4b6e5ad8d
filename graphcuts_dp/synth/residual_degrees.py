"""Residual degrees of a sparse graph, and what they say of its kept edges.

A sparse release measures the degree of every vertex with noise, and keeps edges with noisy weights.
The residual degree of a vertex is its degree less the weight of its kept edges: the weight that the
filter missed. Two estimates use it:

- `corrections`: a vertex whose kept edges weigh too much has too small a residual degree. The best
  linear estimate spreads such differences over the kept edges; it solves a linear system by
  conjugate gradients.
- `posterior_residuals`: residual degrees of many vertices follow a common law, which is estimated
  without assuming its form. Posterior means under that law have much less noise.

Both divide the vertices into strata: groups of vertices for which alike residual degrees are
expected, because they have alike numbers of kept edges.
"""

import math
from collections.abc import Callable

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.synth.empirical_bayes import posterior_shares

_MOST_STRATA = 12
_STRATUM_SIZE = 400  # vertices of a stratum, at least, if there are several
_SOLUTIONS = 4  # of the system of `corrections`, with more and more residual degrees fixed at 0
_CG_ROUNDS = 30  # of conjugate gradients
_CG_TOLERANCE = 1e-3  # size of the remainder over that of the right-hand side at which they end
_LEAST_DIAGONAL = 1e-9  # of the preconditioner, so that nothing is divided by 0
_BINS = 400  # of observations, in which their posteriors are computed
_GRID = 160  # evenly spaced points of the law of residual degrees; each bin adds one
_EM_ROUNDS = 80


def corrections(
    endpoints: tuple[IntVector, IntVector],
    weight_variances: FloatVector,
    residuals: FloatVector,
    noise_variance: float,
    expected_edges: FloatVector,
) -> FloatVector:
    """Return what to add to the weight of each kept edge, given the noisy degrees.

    The observations are y_v = (sum of w_e over the kept edges e at v) + r_v + noise, with
    independent weights w_e of variance s_e around their estimates, and residual degrees r_v with
    the mean and variance of their stratum. The best linear estimate adds s_e (l_i + l_j) to the
    edge {i, j}, where (A S A^T + D) l = y - (sum of estimates) - mean. Here A is the incidence
    matrix, S = diag(s_e), and D is the variance of residual degree and noise.

    Residual degrees that come out negative are fixed at 0, and the system is solved again.

    Args:
        endpoints: numbers of both endpoints of each kept edge, among all vertices with a degree.
        weight_variances: s_e, shape (kept,).
        residuals: noisy degree less estimates of kept weights, shape (vertices,).
        noise_variance: variance of the noise of a degree.
        expected_edges: expected number of kept edges at each vertex, which makes the strata.

    Returns:
        Shape (kept,).

    Privacy: reads noisy values alone, which are public.
    """
    if not len(weight_variances):
        return np.zeros(0)
    first, second = endpoints
    vertices = len(residuals)

    def sums_at_vertices(edge_values: FloatVector) -> FloatVector:
        """Return A x."""
        sums = np.bincount(first, edge_values, minlength=vertices).astype(np.float64)
        sums += np.bincount(second, edge_values, minlength=vertices)
        return sums

    def additions(multipliers: FloatVector) -> FloatVector:
        """Return S A^T l."""
        return np.asarray(weight_variances * (multipliers[first] + multipliers[second]))

    kept_variance = sums_at_vertices(weight_variances)  # diagonal of A S A^T
    mean, variance = _stratum_moments(residuals, kept_variance + noise_variance, expected_edges)
    multipliers = np.zeros(vertices)
    for _ in range(_SOLUTIONS):
        multipliers = _conjugate_gradients(
            lambda x: (variance + noise_variance) * x + sums_at_vertices(additions(x)),
            residuals - mean,
            np.maximum(kept_variance + variance + noise_variance, _LEAST_DIAGONAL),
            multipliers,
        )
        negative = mean + variance * multipliers < 0  # estimates of residual degrees
        if not negative.any():
            break
        mean[negative], variance[negative] = 0.0, 0.0
    return additions(multipliers)


def posterior_residuals(
    observed: FloatVector,
    expected: FloatVector,
    deviation: float,
    weight_variances: FloatVector,
) -> tuple[FloatVector, FloatVector]:
    """Return the posterior mean and variance of each residual degree.

    Vertices are divided into strata by what is expected of them. In each stratum, the law of the
    residual degrees is the one that explains the observations best: nonparametric maximum
    likelihood on a grid, by expectation maximisation, under Laplace noise. The grid begins below 0,
    at minus twice the root mean variance of the kept weights, because an observation is too small
    by as much as the kept weights are too large.

    Args:
        observed: noisy degree less kept weight, shape (n,).
        expected: what suggests how large residual degrees are, such as the number of kept edges.
        deviation: standard deviation of the noise of a degree.
        weight_variances: variance of the kept weight of each vertex, shape (n,).

    Returns:
        Means and variances, shape (n,) each. Means may be below 0.

    Privacy: reads noisy values alone, which are public.

    Source: Robbins 1956; Kiefer, Wolfowitz 1956; Jiang, Zhang 2009.
    """
    scale = deviation / math.sqrt(2)
    mean, variance = np.empty_like(observed), np.empty_like(observed)
    for members in strata(expected):
        least = -2 * math.sqrt(float(weight_variances[members].mean()))
        mean[members], variance[members] = _posterior_moments(observed[members], scale, least)
    return mean, variance


def strata(expected: FloatVector) -> list[IntVector]:
    """Divide vertices by what is expected of them: at most 12 strata of about one size.

    Vertices with equal expectations are in one stratum.

    Returns:
        The numbers of the vertices of each stratum.
    """
    order = np.argsort(expected, kind="stable")
    count = max(1, min(_MOST_STRATA, len(order) // _STRATUM_SIZE))
    boundaries = np.linspace(0, len(order), count + 1).astype(np.int64)
    # Move each boundary to the first of the vertices that have the same expectation.
    ranked = expected[order]
    boundary_values = ranked[np.minimum(boundaries, len(order) - 1)]
    boundaries = np.unique(np.searchsorted(ranked, boundary_values))
    boundaries = np.unique(np.concatenate([[0], boundaries[1:], [len(order)]]))
    return [stratum for stratum in np.split(order, boundaries[1:-1]) if len(stratum)]


def _stratum_moments(
    residuals: FloatVector, error_variances: FloatVector, expected_edges: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Return the mean and variance of the residual degrees of each vertex's stratum.

    The sample variance of a stratum is that of the residual degrees and their errors.
    """
    mean, variance = np.empty_like(residuals), np.empty_like(residuals)
    for members in strata(expected_edges):
        mean[members] = max(float(residuals[members].mean()), 0.0)
        spread = residuals[members].var() - error_variances[members].mean()
        variance[members] = max(float(spread), 0.0)
    return mean, variance


def _conjugate_gradients(
    matrix: Callable[[FloatVector], FloatVector],
    right_side: FloatVector,
    diagonal: FloatVector,
    start: FloatVector,
) -> FloatVector:
    """Solve a positive definite system by conjugate gradients, preconditioned by its diagonal.

    Args:
        matrix: multiplies a vector by the matrix.
        right_side: of the system.
        diagonal: of the matrix, > 0.
        start: first approximation of the solution.
    """
    solution = start.copy()
    remainder = right_side - matrix(solution)
    preconditioned = remainder / diagonal
    direction, size = preconditioned, float(remainder @ preconditioned)
    tolerance = _CG_TOLERANCE**2 * float(right_side @ (right_side / diagonal))
    for _ in range(_CG_ROUNDS):
        if size <= tolerance:
            break
        image = matrix(direction)
        step = size / float(direction @ image)
        solution += step * direction
        remainder = remainder - step * image
        preconditioned = remainder / diagonal
        previous_size, size = size, float(remainder @ preconditioned)
        direction = preconditioned + size / previous_size * direction
    return solution


def _posterior_moments(
    observed: FloatVector, scale: float, least: float
) -> tuple[FloatVector, FloatVector]:
    """Return posterior means and variances under the law on [least, inf) that fits best.

    Args:
        observed: values with Laplace noise, shape (n,).
        scale: of the noise.
        least: smallest number of the grid, <= 0.
    """
    centres, counts, bin_of = _binned(observed)
    largest = max(float(centres.max()), scale)
    high = max(float(np.quantile(observed, 0.98)), scale)
    even_points = np.linspace(least, high, _GRID)
    grid = np.unique(
        np.concatenate([even_points, np.maximum(centres, least), [max(largest, high)]])
    )
    # Likelihoods are relative to that of the number >= 0 nearest to the centre, so that none of a
    # row underflows; the factor cancels.
    distances = np.abs(centres[:, None] - grid)
    reference = np.abs(centres - np.clip(centres, 0, None))
    likelihood = np.exp(-(distances - reference[:, None]) / scale)
    shares = posterior_shares(likelihood, counts, _EM_ROUNDS)
    mean = shares @ grid
    variance = np.maximum(shares @ grid**2 - mean**2, 0)
    return np.interp(observed, centres, mean), variance[bin_of]


def _binned(observed: FloatVector) -> tuple[FloatVector, FloatVector, IntVector]:
    """Divide observations into at most 400 bins; half of the edges are quantiles, half even.

    Returns:
        The mean of the observations in each bin, their number, and the bin of each observation.
    """
    if len(observed) <= _BINS:
        centres, bin_of, counts = np.unique(observed, return_inverse=True, return_counts=True)
        return centres, counts.astype(np.float64), bin_of
    half = _BINS // 2 + 1
    quantiles = np.quantile(observed, np.linspace(0, 1, half))
    even_edges = np.linspace(observed.min(), observed.max(), half)
    edges = np.unique(np.concatenate([quantiles, even_edges]))
    last_bin = max(len(edges) - 2, 0)
    bin_of = np.clip(np.searchsorted(edges, observed, side="right") - 1, 0, last_bin)
    counts = np.bincount(bin_of, minlength=last_bin + 1)
    sums = np.bincount(bin_of, observed, minlength=len(counts))
    filled = counts > 0
    new_numbers = np.cumsum(filled) - 1  # of the bins that are not empty
    centres = sums[filled] / counts[filled]
    return centres, counts[filled].astype(np.float64), new_numbers[bin_of]
