"""Estimates between the unbiased answers and those of the synthetic graph: no guarantee."""

import numpy as np

from graphcuts_dp.arrays import FloatVector

# Errors of the synthetic graph's answers, in deviations of the unbiased ones: none, or from a tenth
# to a hundred, no size likelier than another.
_RATIOS: FloatVector = np.concatenate([[0.0], np.geomspace(0.1, 100.0, 25)])
_EXACT = 0.5  # chance that the synthetic answer is right, before anything is seen
# Chosen on the made graphs that tests/benchmarks/bench_answers.py calls "tuning".
_PRIOR_WORTH = 1.0  # answers that this counts for, against those of a list
_MORE_EXACT = (
    0.1  # and so many more of each answer of the list, for a synthetic answer that is right
)
_ROUNDS = 200


def shrunk_towards(
    synthetic: FloatVector, unbiased: FloatVector, deviations: FloatVector
) -> FloatVector:
    """Unbiased answers drawn towards those of the synthetic graph, as far as these seem right.

    Let the truth be synthetic + g s X with X normal and s the deviation of the unbiased answer r +
    synthetic; then r has variance s^2 (1 + g^2), and the best estimate of the truth is synthetic +
    r E[g^2/(1 + g^2) | r]. The ratios g have the distribution `_RATIOS`, and for several answers
    one that makes all their r likely, found by EM (empirical Bayes, Robbins 1956): what one answer
    tells about the synthetic graph serves the others.

    It is an estimate without guarantee: biased, and computed as if the synthetic graph, which was
    fitted to the same noisy data, did not share their noise. Where it does (entries that show
    blocks), or where a list has few cuts, it can be worse than the unbiased answers.

    Args:
        synthetic: values of the synthetic graph, shape (queries,).
        unbiased: unbiased values.
        deviations: their standard deviations, >= 0.
    """
    known = deviations > 0
    found = unbiased.copy()
    residuals = (unbiased - synthetic)[known]
    if not len(residuals):
        return found
    spreads = 1 + _RATIOS**2
    squares = (residuals / deviations[known]) ** 2
    logs = -squares[:, None] / (2 * spreads) - np.log(spreads) / 2
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    prior = np.full(len(_RATIOS), (1 - _EXACT) / (len(_RATIOS) - 1))
    prior[0] = _EXACT
    weights = prior
    if len(residuals) > 1:
        for _ in range(_ROUNDS):
            shares = _shares(likelihoods, weights)
            weights = shares.sum(axis=0) + _PRIOR_WORTH * prior
            weights[0] += _MORE_EXACT * len(residuals)
            weights /= weights.sum()
    kept = _shares(likelihoods, weights) @ (1 - 1 / spreads)
    found[known] = synthetic[known] + kept * residuals
    return found


def _shares(likelihoods: FloatVector, weights: FloatVector) -> FloatVector:
    """How likely each ratio is, for each answer."""
    shares = likelihoods * weights
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
