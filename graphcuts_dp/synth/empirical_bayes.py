"""Empirical Bayes: estimates of many unknown numbers under a prior that the data choose themselves.

Every unknown is observed with noise of a known law. A single one could only be estimated by its
observation. All observations together show how the unknowns are distributed, the *prior*; given the
prior, the best estimate of each unknown is its posterior mean.

- `posterior_means` fits any prior on a grid of points. It estimates the degrees of a graph.
- `spike_and_slab` takes normal priors of mean 0, and chooses how wide they are, from a list of
  candidates; in the first one all unknowns are 0. It returns the share of each observation that is
  signal, not noise.

Both read noisy data alone, so they are post-processing and cost no privacy.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector

_GRID_POINTS = 121  # in each of the two ranges that `grid_for` covers
_EM_ROUNDS = 150  # rounds of expectation maximisation in `posterior_means`
_CENTRAL_QUANTILES = (0.02, 0.98)  # between them lies the finer range of `grid_for`
_SPIKE_PROBABILITY = 0.5  # prior probability that the unknowns are all 0


class LaplaceObservations(NamedTuple):
    """Observations of the unknowns with two-sided geometric or Laplace noise.

    Attributes:
        values: one observation of each unknown, shape (unknowns,).
        rate: the density of the noise falls as exp(-rate |noise|).
    """

    values: FloatVector
    rate: float


def posterior_means(
    observed: FloatVector,
    deviation: float,
    grid: FloatVector,
    counts: Sequence[LaplaceObservations] = (),
) -> FloatVector:
    """Return the posterior mean of each unknown, under the prior that fits all observations best.

    The prior is any distribution on the grid (nonparametric maximum likelihood). If there are many
    unknowns, the mean squared error is nearly that of the best function of an observation.

    Args:
        observed: one observation of each unknown with Gaussian noise, shape (unknowns,). The noise
            is a sum of many independent errors in practice.
        deviation: standard deviation of that noise.
        grid: values that an unknown may have, shape (points,).
        counts: further observations of the same unknowns, with Laplace noise; two-sided geometric
            noise is treated as Laplace noise of the same rate.

    Source: Robbins 1956; Kiefer, Wolfowitz 1956; Jiang, Zhang 2009.
    """
    log_likelihood = -0.5 * ((observed[:, None] - grid) / deviation) ** 2  # (unknowns, points)
    for values, rate in counts:
        log_likelihood -= rate * np.abs(values[:, None] - grid)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    shares = posterior_shares(likelihood, np.ones(len(likelihood)), _EM_ROUNDS)
    return np.asarray(shares @ grid)


def posterior_shares(likelihood: FloatMatrix, counts: FloatVector, rounds: int) -> FloatMatrix:
    """Return the posterior probability of each grid point for each observation.

    The prior on the grid is the one under which all observations together are likeliest. It is
    found by expectation maximisation: the posterior probabilities under the present prior, averaged
    over the observations, are the next prior.

    Args:
        likelihood: of each observation at each grid point, shape (observations, points).
        counts: how often each observation was made, shape (observations,); not the `counts` of
            `posterior_means`.
        rounds: number of rounds.

    Returns:
        Shape (observations, points); rows sum to 1.
    """
    prior = latest = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(rounds):
        latest = prior
        # The sum over the observations of counts * posterior, which need not be written out.
        prior = latest * ((counts / (likelihood @ latest)) @ likelihood)
        prior /= prior.sum()
    posterior: FloatMatrix = likelihood * latest
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


def grid_for(observed: FloatVector) -> FloatVector:
    """Return ascending points over the range of the observations, finer where most of them lie."""
    full_range = np.linspace(observed.min(), observed.max(), _GRID_POINTS)
    low, high = np.quantile(observed, _CENTRAL_QUANTILES)
    central_range = np.linspace(float(low), float(high), _GRID_POINTS)
    return np.unique(np.concatenate([full_range, central_range]))


def spike_and_slab(
    squared_sizes: FloatMatrix, differences: FloatVector, variances: FloatVector
) -> FloatVector:
    """Return the share of each difference that is signal, the mean of b²/(b² + variance).

    A difference is a normal unknown of mean 0 and standard deviation b, plus normal noise. Each row
    of `squared_sizes` is a candidate: it has a b² for every entry. One candidate is right for all
    entries, and it is unknown which. The first one, of zeros (the spike: no signal), has a prior
    probability of a half; the others (the slab) share the other half evenly. The posterior mean of
    the unknown itself is the returned share times the difference.

    Args:
        squared_sizes: candidates for the b² of all entries, shape (candidates, entries); the first
            row is zero.
        differences: signal plus noise, shape (entries,).
        variances: of the noise, > 0, shape (entries,).

    Returns:
        Numbers in [0, 1), shape (entries,).

    Source: Mitchell, Beauchamp 1988.
    """
    totals = squared_sizes + variances  # variance of each difference, (candidates, entries)
    # Log posterior probability of each candidate but for a constant, shape (candidates,).
    log_posterior = -0.5 * (np.log(totals) + differences**2 / totals).sum(axis=1)
    log_posterior[0] += math.log(_SPIKE_PROBABILITY)
    log_posterior[1:] += math.log((1 - _SPIKE_PROBABILITY) / (len(squared_sizes) - 1))
    probabilities = np.exp(log_posterior - log_posterior.max())
    probabilities /= probabilities.sum()
    return np.asarray(probabilities @ (squared_sizes / totals))
