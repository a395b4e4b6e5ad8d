"""Sums between groups from two estimates, each with the weight that its precision deserves."""

import math

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector

_SPREADS = 60  # of the grid for the unknown size of what the structure lacks
_SMALLEST = 0.3  # of it, times the noise, if that is possible
_NOTHING = 0.5  # prior chance that the structure lacks nothing


def weighed_sums(
    seen: FloatMatrix,
    said: FloatMatrix,
    left: FloatMatrix,
    right: FloatMatrix,
    deviation: float,
    *,
    largest: float,
    symmetric: bool,
) -> FloatMatrix:
    """What two estimates of Q^T A R say together.

    Both have the same row and column sums, so they differ only along directions that are orthogonal
    to the vector of ones; there `seen` has noise of variance s^2 in every entry (2 s^2 on the
    diagonal of a symmetric matrix, whose pairs count twice), and `said` errors of a common size b.
    b is 0 with a prior chance of a half, else anything up to `largest`, evenly in its logarithm;
    the best combination weighs `seen` by the posterior mean of b^2/(b^2 + variance). Where noise
    covers all that the entries can be, the structure stays as it is.

    Args:
        seen: Q^T Z R, with the wanted row and column sums.
        said: the same of the structure.
        left: Q, orthonormal columns that span the vector of ones, shape (n_left, k).
        right: R, likewise, shape (n_right, l).
        deviation: s, of the noise of an entry of Z.
        largest: what an entry of Q^T A R is not expected to pass; the mean degree.
        symmetric: whether Z is, and Q = R.

    Source: Mitchell, Beauchamp 1988 (a spike and a slab); James, Stein 1961 for what it replaces.
    """
    rows, columns = _apart_from_ones(left), _apart_from_ones(right)
    difference = rows.T @ (seen - said) @ columns
    free = np.ones(difference.shape, dtype=np.bool_)
    noise = np.full(difference.shape, max(deviation, 1e-12) ** 2)
    if symmetric:
        difference = (difference + difference.T) / 2
        np.fill_diagonal(noise, 2 * max(deviation, 1e-12) ** 2)
        free = np.triu(free)
    weights = np.zeros(difference.shape)
    if difference.size:
        weights[free] = _shares(difference[free], noise[free], largest)
    if symmetric:
        weights = np.triu(weights) + np.triu(weights, 1).T
    weighed: FloatMatrix = said + rows @ (weights * difference) @ columns.T
    return (weighed + weighed.T) / 2 if symmetric else weighed


def _shares(difference: FloatVector, noise: FloatVector, largest: float) -> FloatVector:
    """Posterior mean of b^2/(b^2 + noise), entry by entry, b being common to all."""
    smallest = min(_SMALLEST * math.sqrt(float(noise.min())), largest / 2)
    spreads = np.geomspace(smallest, largest, _SPREADS)
    squares = np.concatenate([[0.0], spreads**2])[:, None]
    logs = -0.5 * (np.log1p(squares / noise) + difference**2 / (squares + noise)).sum(axis=1)
    logs[0] += math.log(_NOTHING)
    logs[1:] += math.log((1 - _NOTHING) / _SPREADS)
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    mean: FloatVector = chances @ (squares / (squares + noise))
    return mean


def _apart_from_ones(frame: FloatMatrix) -> FloatMatrix:
    """Orthonormal columns C such that frame C is orthogonal to the vector of ones."""
    ones = frame.sum(axis=0)
    whole = np.linalg.qr(np.column_stack([ones, np.eye(len(ones))]))[0]
    apart: FloatMatrix = whole[:, 1:]
    return apart
