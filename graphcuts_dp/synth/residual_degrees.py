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
expected, because they have alike numbers of kept edges. Noise is Laplace noise; its scale is its
standard deviation over sqrt(2).
"""

import math
from collections.abc import Callable

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.synth.empirical_bayes import posterior_shares

_MOST_STRATA = 12
_STRATUM_SIZE = 400  # one stratum for so many vertices, up to `_MOST_STRATA`
# The system of `corrections` is solved up to so many times. After each time, residual degrees that
# came out negative are fixed at 0.
_SOLUTIONS = 4
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
    matrix (a row for each vertex, a column for each kept edge), S = diag(s_e), and D is the
    diagonal matrix of the variances of residual degree and noise. The code calls l `multipliers`.
    The same estimate of a residual degree is mean + variance * l_v.

    No residual degree is negative. Those that come out negative are taken for 0, with mean and
    variance 0, and the system is solved again, up to four times.

    Args:
        endpoints: both endpoints of each kept edge, shape (kept,) each. They are indices into
            `residuals`. If columns are other vertices than rows, the caller numbers them after the
            rows.
        weight_variances: s_e, shape (kept,).
        residuals: y - (sum of estimates): noisy degree less estimates of kept weights, shape
            (vertices,).
        noise_variance: variance of the noise of a degree.
        expected_edges: expected number of kept edges at each vertex, which makes the strata, shape
            (vertices,).

    Returns:
        Shape (kept,).

    Privacy: reads noisy values alone, which are public.
    """
    if not len(weight_variances):
        return np.zeros(0)
    first, second = endpoints
    vertices = len(residuals)

    def sums_at_vertices(edge_values: FloatVector) -> FloatVector:
        """Return A x for a vector x of one value for each kept edge."""
        sums = np.bincount(first, edge_values, minlength=vertices).astype(np.float64)
        sums += np.bincount(second, edge_values, minlength=vertices)
        return sums

    def additions(multipliers: FloatVector) -> FloatVector:
        """Return S A^T l, what the multipliers l add to each kept edge."""
        return np.asarray(weight_variances * (multipliers[first] + multipliers[second]))

    kept_variance = sums_at_vertices(weight_variances)  # diagonal of A S A^T
    # Of the residual degree of each vertex; changed below where it is fixed at 0.
    mean, variance = _stratum_moments(residuals, kept_variance + noise_variance, expected_edges)
    multipliers = np.zeros(vertices)
    for _ in range(_SOLUTIONS):
        # The product with A S A^T + D uses the present variances.
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
    likelihood on a grid, by expectation maximisation (EM), under Laplace noise.

    True residual degrees are at least 0. But an observation has two errors: the noise, and the
    error of the kept weights that were subtracted, which the Laplace law does not cover. The law is
    therefore that of the residual degree less the error of the kept weights, and its grid begins
    below 0: at minus twice the root mean variance of the kept weights of a vertex.

    Args:
        observed: noisy degree less kept weight, shape (n,).
        expected: what suggests how large residual degrees are, such as the number of kept edges,
            shape (n,). It makes the strata; its unit does not matter.
        deviation: standard deviation of the noise of a degree.
        weight_variances: variance of the sum of the kept weights at each vertex, shape (n,).

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
    """Divide vertices by what is expected of them: at most 12 strata, as equal in size as possible.

    Vertices with equal expectations are in one stratum, so a stratum can be large, even all
    vertices.

    Returns:
        The indices of the vertices of each stratum. Each vertex is in one stratum.
    """
    order = np.argsort(expected, kind="stable")
    count = max(1, min(_MOST_STRATA, len(order) // _STRATUM_SIZE))
    # Ranks at which strata of equal size would begin; the last one is the end.
    boundaries = np.linspace(0, len(order), count + 1).astype(np.int64)
    # Move each boundary to the first of the vertices that have the same expectation. That moves the
    # end to the front, too: 0 and the end are put in again.
    ranked = expected[order]
    boundary_values = ranked[np.minimum(boundaries, len(order) - 1)]
    boundaries = np.unique(np.searchsorted(ranked, boundary_values))
    boundaries = np.unique(np.concatenate([[0], boundaries[1:], [len(order)]]))
    return [stratum for stratum in np.split(order, boundaries[1:-1]) if len(stratum)]


def _stratum_moments(
    residuals: FloatVector, error_variances: FloatVector, expected_edges: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Return the mean and variance of residual degrees in each vertex's stratum, shape (n,) each.

    The sample variance of noisy residuals is the variance of residual degrees plus that of their
    errors. So the mean variance of the errors is subtracted; a negative result counts as 0.

    Args:
        residuals: noisy, shape (n,).
        error_variances: variance of the error of each residual, shape (n,).
        expected_edges: what makes the strata, shape (n,).
    """
    mean, variance = np.empty_like(residuals), np.empty_like(residuals)
    for members in strata(expected_edges):
        mean[members] = max(float(residuals[members].mean()), 0.0)
        excess = residuals[members].var() - error_variances[members].mean()
        variance[members] = max(float(excess), 0.0)
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
    # `size` is the square of the remainder's norm, weighted by the preconditioner.
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
    """Return posterior means and variances under the law that fits best.

    The law is on a grid from `least` to the largest observation. Means and variances are computed
    for bins of observations. The mean is interpolated between the bins, since it grows with the
    observation. The variance changes little, and is taken from the observation's bin.

    Args:
        observed: values with Laplace noise, shape (n,).
        scale: of the noise.
        least: smallest number of the grid, <= 0.
    """
    centres, counts, bin_of = _binned(observed)
    # The grid is even up to the 98 % quantile of the observations. Beyond, where there are few, its
    # points are the centres of the bins.
    largest = max(float(centres.max()), scale)
    high = max(float(np.quantile(observed, 0.98)), scale)
    even_points = np.linspace(least, high, _GRID)
    grid = np.unique(
        np.concatenate([even_points, np.maximum(centres, least), [max(largest, high)]])
    )
    # Row by row, likelihoods are divided by that of the number nearest to the centre that is at
    # least 0. That is the centre itself, or 0. So a row never underflows to zeros; the factor
    # cancels in posterior probabilities.
    distances = np.abs(centres[:, None] - grid)  # (bins, grid)
    reference = np.abs(centres - np.maximum(centres, 0))
    likelihood = np.exp(-(distances - reference[:, None]) / scale)
    # EM estimates the law; its result are posterior probabilities of the grid points, given that an
    # observation is in a bin, shape (bins, grid), each row with sum 1.
    shares = posterior_shares(likelihood, counts, _EM_ROUNDS)
    mean = shares @ grid
    variance = np.maximum(shares @ grid**2 - mean**2, 0)
    return np.interp(observed, centres, mean), variance[bin_of]


def _binned(observed: FloatVector) -> tuple[FloatVector, FloatVector, IntVector]:
    """Divide observations into at most 400 bins; half of the edges are quantiles, half even.

    Returns:
        The mean of the observations in each bin, ascending, shape (bins,); their number, shape
        (bins,), above 0; and the bin of each observation, shape (n,).
    """
    if len(observed) <= _BINS:
        # A bin for each value.
        centres, bin_of, counts = np.unique(observed, return_inverse=True, return_counts=True)
        return centres, counts.astype(np.float64), bin_of
    half = _BINS // 2 + 1
    quantiles = np.quantile(observed, np.linspace(0, 1, half))
    even_edges = np.linspace(observed.min(), observed.max(), half)
    edges = np.unique(np.concatenate([quantiles, even_edges]))
    last_bin = max(len(edges) - 2, 0)
    # The largest observation lies on the last edge, and is put into the last bin.
    bin_of = np.clip(np.searchsorted(edges, observed, side="right") - 1, 0, last_bin)
    counts = np.bincount(bin_of, minlength=last_bin + 1)
    sums = np.bincount(bin_of, observed, minlength=len(counts))
    filled = counts > 0
    new_numbers = np.cumsum(filled) - 1  # number of each bin if empty ones are left out
    centres = sums[filled] / counts[filled]
    return centres, counts[filled].astype(np.float64), new_numbers[bin_of]
