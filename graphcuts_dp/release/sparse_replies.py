"""Answers of a sparse release as users get them: cut to what is possible, with their labels."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from graphcuts_dp.graph.grid import most_weight, possible_part
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.measurements.noisy_matrix import CutAnswer
from graphcuts_dp.release.answers import distinct_cuts, log_cuts, log_cuts_of_sizes
from graphcuts_dp.release.known_parts import PartedCuts, parted_cuts
from graphcuts_dp.release.sparse_answers import SparseEstimate, SparseEstimator
from graphcuts_dp.release.sparse_lists import ListEstimator, Sizes

_FEW = 16  # queries that are not worth adding up anything for


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

    Cuts whose sets are unions of public groups, or truth vectors that many queries share, are
    answered together from sums over these; see `ListEstimator`.

    Args:
        estimator: of the release.
        queries: on the vertex sets of the release.
        confidence: of each interval.
        simultaneous: whether intervals hold for all cuts at once.
        joint: whether they hold for all of these at once; see `Release.answer_all`.
        model_only: whether the model answers where the cut was measured, too.
        seeded: whether the noise came from a seed.
    """
    model = estimator.model
    parted = None
    if len(queries) > _FEW:
        parted = parted_cuts(queries, model.space, (model.row_codes, model.column_codes))
    together = _distinct(estimator, queries, parted) if joint and queries else 1
    failures = math.log(together) - math.log1p(-confidence)
    found: list[CutAnswer | None] = [None] * len(queries)
    each_alone = _one_by_one(
        estimator, queries, parted, failures, simultaneous=simultaneous, model_only=model_only
    )
    for place, estimate, most in (
        *each_alone,
        *_listed(estimator, parted, failures, simultaneous=simultaneous, model_only=model_only),
    ):
        found[place] = CutAnswer(
            value=estimate.value,
            interval=possible_part(estimate.interval, most),
            confidence=confidence,
            simultaneous=simultaneous,
            together=together,
            seeded=seeded,
            estimate="unbiased" if estimate.typical is None else "model",
            typical_error=estimate.typical,
        )
    return [each for each in found if each is not None]


_Found = Iterator[tuple[int, SparseEstimate, float]]  # place, estimate, what the pairs can weigh


def _listed(
    estimator: SparseEstimator,
    parted: PartedCuts | None,
    failures: float,
    *,
    simultaneous: bool,
    model_only: bool,
) -> _Found:
    """Those of few parts, together."""
    if parted is None:
        return
    model, cap = estimator.model, estimator.model.weight_cap

    def log_failures(sizes: Sizes) -> float:
        if not simultaneous:
            return failures
        return failures + log_cuts_of_sizes(
            sizes[:3], model.layout.shape, symmetric=model.symmetric
        )

    for place, estimate, sizes in ListEstimator(estimator, parted).estimates(
        log_failures, model_only=model_only
    ):
        yield place, estimate, math.inf if cap is None else most_weight(sizes.pairs, cap)


def _one_by_one(
    estimator: SparseEstimator,
    queries: Sequence[CutQuery],
    parted: PartedCuts | None,
    failures: float,
    *,
    simultaneous: bool,
    model_only: bool,
) -> _Found:
    """All others."""
    model, cap = estimator.model, estimator.model.weight_cap
    done = set() if parted is None else set(parted.places.tolist())
    for place, query in enumerate(queries):
        if place in done:
            continue
        S, T = query.masks(model.space)
        log_failures = failures
        if simultaneous:
            log_failures += log_cuts(S, T, symmetric=model.symmetric)
        estimate = estimator.estimate(S, T, log_failures)
        if model_only and estimate.measured and S.any() and T.any():
            value, typical = model.expected(np.flatnonzero(S), np.flatnonzero(T))
            estimate = SparseEstimate(value, False, estimate.interval, typical)
        # Without a cap nobody has to count pairs.
        yield place, estimate, math.inf if cap is None else most_weight(estimator.pairs(S, T), cap)


def _distinct(
    estimator: SparseEstimator, queries: Sequence[CutQuery], parted: PartedCuts | None
) -> int:
    """How many cuts a list names; one that is written in two ways may count twice."""
    model = estimator.model
    if parted is None:
        cuts = [query.masks(model.space) for query in queries]
        return distinct_cuts(cuts, symmetric=model.symmetric)
    done = set(parted.places.tolist())
    others = [query.masks(model.space) for i, query in enumerate(queries) if i not in done]
    known = list(zip(parted.S, parted.T, strict=True))
    return distinct_cuts(known, symmetric=model.symmetric) + distinct_cuts(
        others, symmetric=model.symmetric
    )
