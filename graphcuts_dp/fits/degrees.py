"""Better degrees than noisy ones, from the noisy ones alone."""

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector

_GRID = 121
_ROUNDS = 150


def posterior_means(log_likelihood: FloatMatrix, grid: FloatVector) -> FloatVector:
    """Posterior mean of each unknown under the prior that fits all observations best.

    The prior is any distribution on the grid (nonparametric maximum likelihood), found by
    expectation maximisation. Errors are never much above those of the best common shrinkage.

    Args:
        log_likelihood: of each observation at each grid point, up to a constant in each row;
            shape (observations, points).
        grid: shape (points,).

    Source: Robbins 1956; Kiefer, Wolfowitz 1956; Jiang, Zhang 2009.
    """
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    weights = np.full(len(grid), 1 / len(grid))
    for _ in range(_ROUNDS):
        shares = likelihood * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = shares.mean(axis=0)
    means: FloatVector = shares @ grid
    return means


def grid_for(observed: FloatVector) -> FloatVector:
    """Points over the range of the observations, denser where most of them lie."""
    spread = np.linspace(observed.min(), observed.max(), _GRID)
    low, high = np.quantile(observed, [0.02, 0.98])
    bulk = np.linspace(float(low), float(high), _GRID)
    return np.unique(np.concatenate([spread, bulk]))


def gaussian_log_likelihood(
    observed: FloatVector, grid: FloatVector, deviation: float
) -> FloatMatrix:
    """Of a sum of many independent errors with a given standard deviation."""
    scaled: FloatMatrix = (observed[:, None] - grid) / deviation
    return -0.5 * scaled**2


def laplace_log_likelihood(observed: FloatVector, grid: FloatVector, rate: float) -> FloatMatrix:
    """Of two-sided geometric or Laplace noise with density falling as e^(-rate |x|)."""
    distance: FloatMatrix = np.abs(observed[:, None] - grid)
    return -rate * distance
