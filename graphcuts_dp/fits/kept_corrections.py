"""What noisy degrees tell of kept edges: their best linear combination, by conjugate gradients."""

from collections.abc import Callable

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.fits.residual_degrees import strata

_ROUNDS = 30
_SOLUTIONS = 4  # with more and more residual degrees at 0
_NEAR = 1e-3  # of the right-hand side, where rounds end
_LEAST = 1e-9


def corrections(
    ends: tuple[IntVector, IntVector],
    spread: FloatVector,
    left: FloatVector,
    noise: float,
    likely: FloatVector,
) -> FloatVector:
    """What to add to the weight of each kept edge, given the noisy degrees of its ends.

    The observations are y_v = sum of w_e at v + r_v + noise, with independent w_e of variance s_e
    around what is known of them, and residual degrees r_v whose mean and variance are those of
    their stratum. The best linear estimate adds s_e (l_i + l_j) to the edge {i, j}, where
    (A S A' + D) l = y - sums - mean, A being the incidence matrix, S = diag(s_e) and D the variance
    of residual degree and noise.

    Args:
        ends: number of both ends of each kept edge, among all that have a degree.
        spread: s_e, shape (kept,).
        left: noisy degree less kept weights, shape (ends,).
        noise: variance of the noise of a degree.
        likely: expected number of kept edges at each, which tells the strata.

    Returns:
        Shape (kept,).
    """
    if not len(spread):
        return np.zeros(0)
    first, second = ends

    def at_ends(values: FloatVector) -> FloatVector:
        sums = np.bincount(first, values, minlength=len(left)).astype(np.float64)
        sums += np.bincount(second, values, minlength=len(left))
        return sums

    def across(found: FloatVector) -> FloatVector:
        added: FloatVector = spread * (found[first] + found[second])
        return added

    own = at_ends(spread)
    mean, variance = _moments(left, own + noise, likely)
    found = np.zeros(len(left))
    for _ in range(_SOLUTIONS):
        found = _solved(
            lambda x: (variance + noise) * x + at_ends(across(x)),
            left - mean,
            np.maximum(own + variance + noise, _LEAST),
            found,
        )
        below = mean + variance * found < 0
        if not below.any():
            break
        mean[below], variance[below] = 0.0, 0.0
    return across(found)


def _solved(
    matrix: Callable[[FloatVector], FloatVector],
    goal: FloatVector,
    diagonal: FloatVector,
    start: FloatVector,
) -> FloatVector:
    """The solution of a positive definite system, by conjugate gradients with its diagonal."""
    found = start.copy()
    rest = goal - matrix(found)
    ready = rest / diagonal
    direction, size = ready, float(rest @ ready)
    enough = _NEAR**2 * float(goal @ (goal / diagonal))
    for _ in range(_ROUNDS):
        if size <= enough:
            break
        image = matrix(direction)
        step = size / float(direction @ image)
        found += step * direction
        rest = rest - step * image
        ready = rest / diagonal
        before, size = size, float(rest @ ready)
        direction = ready + size / before * direction
    return found


def _moments(
    left: FloatVector, noise: FloatVector, likely: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Mean and variance of residual degrees, by stratum."""
    mean, variance = np.empty_like(left), np.empty_like(left)
    for members in strata(likely):
        mean[members] = max(float(left[members].mean()), 0.0)
        variance[members] = max(float(left[members].var() - noise[members].mean()), 0.0)
    return mean, variance
