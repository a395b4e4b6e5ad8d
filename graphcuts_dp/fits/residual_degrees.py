"""Residual degrees: what kept edges leave of noisy degrees, freed of noise, none below 0."""

import math

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector

_STRATA = 12  # vertices with alike kept edges have alike residual degrees
_BINS = 400
_GRID = 160
_ROUNDS = 80
_LEAST = 400  # vertices in a stratum


def posterior_residuals(
    observed: FloatVector, expected: FloatVector, deviation: float, spread: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Posterior mean and variance of each residual degree.

    Vertices fall into strata by what is expected of them; in each, the law of residual degrees is
    the one that explains the observations best (nonparametric maximum likelihood by expectation
    maximisation on a grid of numbers >= 0), under Laplace noise of the mean variance there.

    Args:
        observed: noisy degree less kept weight, shape (n,).
        expected: what tells how large residual degrees are, such as the number of kept edges.
        deviation: of the noise of a degree.
        spread: variance of the kept weight of each vertex, shape (n,).

    Source: Robbins 1956; Kiefer, Wolfowitz 1956; Jiang, Zhang 2009.
    """
    mean, variance = np.empty_like(observed), np.empty_like(observed)
    for members in strata(expected):
        own = observed[members]
        scale = deviation / math.sqrt(2)
        least = -2 * math.sqrt(float(spread[members].mean()))
        mean[members], variance[members] = _explained(own, scale, least)
    return mean, variance


def strata(expected: FloatVector) -> list[IntVector]:
    """Vertices of which alike is expected, a vector of their numbers for each stratum."""
    order = np.argsort(expected, kind="stable")
    sizes = np.linspace(0, len(order), max(1, min(_STRATA, len(order) // _LEAST)) + 1)
    ends = sizes.astype(np.int64)
    # Equal values stay together.
    ranked = expected[order]
    ends = np.unique(np.searchsorted(ranked, ranked[np.minimum(ends, len(order) - 1)]))
    ends = np.unique(np.concatenate([[0], ends[1:], [len(order)]]))
    return [part for part in np.split(order, ends[1:-1]) if len(part)]


def _explained(
    observed: FloatVector, scale: float, least: float
) -> tuple[FloatVector, FloatVector]:
    """Posterior means and variances under the best law on numbers >= 0."""
    centres, weights, at = _binned(observed)
    most = max(float(centres.max()), scale)
    high = max(float(np.quantile(observed, 0.98)), scale)
    grid = np.unique(
        np.concatenate(
            [np.linspace(least, high, _GRID), np.maximum(centres, least), [max(most, high)]]
        )
    )
    likelihood = np.exp(
        -(np.abs(centres[:, None] - grid) - np.abs(centres - np.clip(centres, 0, None))[:, None])
        / scale
    )
    masses = np.full(len(grid), 1 / len(grid))
    shares = likelihood
    for _ in range(_ROUNDS):
        shares = likelihood * masses
        shares /= shares.sum(axis=1, keepdims=True)
        masses = weights @ shares
        masses /= masses.sum()
    mean = shares @ grid
    variance = np.maximum(shares @ grid**2 - mean**2, 0)
    return np.interp(observed, centres, mean), variance[at]


def _binned(observed: FloatVector) -> tuple[FloatVector, FloatVector, IntVector]:
    """Centres of bins with about as many observations each, how many, and the bin of each."""
    if len(observed) <= _BINS:
        centres, at, counts = np.unique(observed, return_inverse=True, return_counts=True)
        return centres, counts.astype(np.float64), at
    levels = np.linspace(0, 1, _BINS // 2 + 1)
    edges = np.concatenate(
        [
            np.quantile(observed, levels),
            np.linspace(observed.min(), observed.max(), _BINS // 2 + 1),
        ]
    )
    edges = np.unique(edges)
    at = np.clip(np.searchsorted(edges, observed, side="right") - 1, 0, max(len(edges) - 2, 0))
    counts = np.bincount(at, minlength=max(len(edges) - 1, 1))
    sums = np.bincount(at, observed, minlength=len(counts))
    filled = counts > 0
    renumbered = np.cumsum(filled) - 1
    return sums[filled] / counts[filled], counts[filled].astype(np.float64), renumbered[at]
