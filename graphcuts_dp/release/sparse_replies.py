"""Answers of a sparse release as users get them: cut to what is possible, with their labels."""

import math
from collections.abc import Sequence

import numpy as np

from graphcuts_dp.graph.grid import most_weight, possible_part
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.measurements.noisy_matrix import CutAnswer
from graphcuts_dp.release.answers import distinct_cuts, log_cuts
from graphcuts_dp.release.sparse_answers import SparseEstimator


def sparse_answers(
    estimator: SparseEstimator,
    queries: Sequence[CutQuery],
    *,
    confidence: float,
    simultaneous: bool,
    joint: bool,
    model_only: bool,
    seeded: bool,
) -> list[CutAnswer]:
    """Answers to cut queries; see `Release.answer_all`.

    Args:
        estimator: of the release.
        queries: on the vertex sets of the release.
        confidence: of each interval.
        simultaneous: whether intervals hold for all cuts at once.
        joint: whether they hold for all of these at once; see `Release.answer_all`.
        model_only: whether the model answers where the cut was measured, too.
        seeded: whether the noise came from a seed.
    """
    found, cap = [], estimator.model.weight_cap
    together = 1
    if joint and queries:
        cuts = [query.masks(estimator.model.space) for query in queries]
        together = distinct_cuts(cuts, symmetric=estimator.model.symmetric)
    for query in queries:
        S, T = query.masks(estimator.model.space)
        log_failures = math.log(together) - math.log1p(-confidence)
        if simultaneous:
            log_failures += log_cuts(S, T, symmetric=estimator.model.symmetric)
        estimate = estimator.estimate(S, T, log_failures)
        value, typical = estimate.value, estimate.typical
        if model_only and estimate.measured:
            value, typical = estimator.model.expected(np.flatnonzero(S), np.flatnonzero(T))
        most = math.inf
        if cap is not None:  # else nobody has to count pairs
            most = most_weight(estimator.pairs(S, T), cap)
        found.append(
            CutAnswer(
                value=value,
                interval=possible_part(estimate.interval, most),
                confidence=confidence,
                simultaneous=simultaneous,
                together=together,
                seeded=seeded,
                estimate="unbiased" if typical is None else "model",
                typical_error=typical,
            )
        )
    return found
