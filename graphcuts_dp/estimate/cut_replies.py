"""Answers to cuts from noisy entries as users get them: cut to what is possible, labelled."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.estimate.answers import (
    CutEstimator,
    Estimate,
    distinct_cuts,
    log_cuts,
    shrunk_towards,
)
from graphcuts_dp.estimate.noisy_matrix import CutAnswer, NoisyMatrix
from graphcuts_dp.pairs.layout import most_weight, possible_part
from graphcuts_dp.pairs.linear_query import AnyGraph
from graphcuts_dp.pairs.queries import CutQuery, answer_all, pairs_of_cut


def cut_answers(
    noisy: NoisyMatrix,
    estimator: CutEstimator,
    queries: Sequence[CutQuery],
    *,
    confidence: float,
    simultaneous: bool,
    joint: bool,
    towards: AnyGraph | None,
    seeded: bool,
) -> list[CutAnswer]:
    """Answers to cut queries; see `Release.answer_all`.

    Args:
        noisy: entries of the release.
        estimator: of the release.
        queries: on the vertex sets of the release.
        confidence: of each interval.
        simultaneous: whether intervals hold for all cuts at once.
        joint: whether they hold for all of these at once.
        towards: the synthetic graph that estimates are drawn towards; None for unbiased ones.
        seeded: whether the noise came from a seed.
    """
    cuts = [query.masks(noisy.space) for query in queries]
    found = [estimator.estimate(*masks) for masks in cuts]
    values = [each.value for each in found]
    most = [
        most_weight(pairs_of_cut(*masks, noisy.space), noisy.distribution.weight_cap)
        for masks in cuts
    ]
    if towards is not None:
        deviations = np.array([each.noise.deviation for each in found])
        given = answer_all(queries, towards)
        values = np.clip(shrunk_towards(given, np.array(values), deviations), 0, most).tolist()
    together = distinct_cuts(cuts, symmetric=noisy.symmetric) if joint and cuts else 1
    log_failures = math.log(together) - math.log1p(-confidence)
    if simultaneous or together > 1:
        intervals = _for_all(estimator, cuts, log_failures, noisy if simultaneous else None)
    else:
        intervals = (_interval(each, log_failures) for each in found)
    return [
        CutAnswer(
            value=value,
            interval=possible_part(interval, limit),
            confidence=confidence,
            simultaneous=simultaneous,
            seeded=seeded,
            estimate="unbiased" if towards is None else "shrunk",
            together=together,
        )
        for value, interval, limit in zip(values, intervals, most, strict=True)
    ]


def _for_all(
    estimator: CutEstimator,
    cuts: Sequence[tuple[BoolVector, BoolVector]],
    log_failures: float,
    every: NoisyMatrix | None,
) -> Iterator[tuple[float, float]]:
    """Intervals for a list, or for every cut of these noisy entries."""
    for masks in cuts:
        log = log_failures
        if every is not None:
            log += log_cuts(*masks, symmetric=every.symmetric)
        yield _interval(estimator.estimate_for_all(*masks, log), log)


def _interval(centre: Estimate, log_failures: float) -> tuple[float, float]:
    radius = centre.radius(log_failures)
    return centre.value - radius, centre.value + radius
