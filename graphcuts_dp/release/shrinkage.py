"""Estimates between the unbiased answers and those of the synthetic graph: no guarantee."""

import math

import numpy as np

from graphcuts_dp.arrays import FloatVector

# What may hold for a list. Constants were chosen on the made graphs that
# tests/benchmarks/bench_answers.py calls "tuning".
# Errors of the synthetic graph's answers, in deviations of the unbiased ones: none, or one of
# these, no size likelier than another.
_RATIOS: FloatVector = np.concatenate([[0.0], np.geomspace(0.4, 100.0, 20)])
_EXACT = 0.5  # chance that they have none, before anything is seen
# Share of the list whose answers have none all the same, and the chance of each share: lists of
# one kind of cuts have one ratio, mixed ones have more.
_SHARES = {0.0: 0.97, 0.5: 0.01, 0.8: 0.01, 0.95: 0.01}


def shrunk_towards(
    synthetic: FloatVector, unbiased: FloatVector, deviations: FloatVector
) -> FloatVector:
    """Unbiased answers drawn towards those of the synthetic graph, as far as these seem right.

    Let the truth be synthetic + g s X with X normal and s the deviation of the unbiased answer r +
    synthetic; then r has variance s^2 (1 + g^2), and the best estimate of the truth is synthetic +
    r E[g^2/(1 + g^2) | all r]. The ratio g is one for the list, but for a share of the answers that
    have none; both are averaged over what the list leaves open (hierarchical Bayes): what one
    answer tells about the synthetic graph serves the others.

    It is an estimate without guarantee: biased, and computed as if the synthetic graph, which was
    fitted to the same noisy data, did not share their noise. Where it does (entries that show
    blocks), or where a list has few cuts, it can be worse than the unbiased answers.

    Args:
        synthetic: values of the synthetic graph, shape (queries,).
        unbiased: unbiased values.
        deviations: their standard deviations, >= 0.

    Source: Lindley, Smith 1972 (one law for a list); Mitchell, Beauchamp 1988 (exact answers).
    """
    known = deviations > 0
    found = unbiased.copy()
    residuals = (unbiased - synthetic)[known]
    if not len(residuals):
        return found
    squares = (residuals / deviations[known]) ** 2
    prior = np.full(len(_RATIOS), math.log((1 - _EXACT) / (len(_RATIOS) - 1)))
    prior[0] = math.log(_EXACT)
    logs = np.array(
        [
            prior + math.log(chance) + _likelihoods(squares, share)[0].sum(axis=0)
            for share, chance in _SHARES.items()
        ]
    )
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    kept = np.zeros(len(residuals))
    for share, own in zip(_SHARES, chances, strict=True):
        kept += _likelihoods(squares, share)[1] @ own
    found[known] = synthetic[known] + kept * residuals
    return found


def _likelihoods(squares: FloatVector, share: float) -> tuple[FloatVector, FloatVector]:
    """For each answer and ratio: its log likelihood, and which part of its residual is kept.

    Args:
        squares: of the residuals, in units of the variances, shape (answers,).
        share: of answers whose synthetic value is exact.
    """
    spreads = 1 + _RATIOS**2
    logs = -squares[:, None] / (2 * spreads) - np.log(spreads) / 2
    kept = np.broadcast_to(1 - 1 / spreads, logs.shape)
    if not share:
        return logs, kept
    others = logs + math.log1p(-share)
    both = np.logaddexp(others, logs[:, :1] + math.log(share))
    return both, kept * np.exp(others - both)
