"""Answers of a sparse release as users get them: cut to what is possible, with their labels."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.fits.sparse_model import SparseModel
from graphcuts_dp.graph.grid import most_weight, possible_part
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.measurements.noisy_matrix import CutAnswer
from graphcuts_dp.release.answers import distinct_cuts, log_cuts_of_sizes
from graphcuts_dp.release.cut_sums import Adding, MaskSums, PartSums
from graphcuts_dp.release.known_parts import PartedCuts, parted_cuts
from graphcuts_dp.release.sparse_answers import SparseEstimate, SparseEstimator
from graphcuts_dp.release.sparse_lists import ListEstimator, Sizes

_FEW = 8  # queries that are answered one by one


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
    model, cap = estimator.model, estimator.model.weight_cap
    if len(queries) <= _FEW:
        parted, together = None, 1
        if joint and queries:
            together = _distinct(estimator, queries, None)
    else:
        parted = parted_cuts(queries, model.space, (model.row_codes, model.column_codes))
        together = _distinct(estimator, queries, parted) if joint else 1
    failures = math.log(together) - math.log1p(-confidence)

    def log_failures(sizes: Sizes) -> float:
        if not simultaneous:
            return failures
        shape, symmetric = model.layout.shape, model.symmetric
        return failures + log_cuts_of_sizes(sizes[:3], shape, symmetric=symmetric)

    def answer(estimate: SparseEstimate, most: float) -> CutAnswer:
        return CutAnswer(
            value=estimate.value,
            interval=possible_part(estimate.interval, most),
            confidence=confidence,
            simultaneous=simultaneous,
            together=together,
            seeded=seeded,
            estimate="unbiased" if estimate.typical is None else "model",
            typical_error=estimate.typical,
        )

    found: dict[int, CutAnswer] = {}
    if len(queries) <= _FEW:
        for place, query in enumerate(queries):
            S, T = query.masks(model.space)
            pairs = 0 if cap is None else estimator.pairs(S, T)  # else nobody has to count them
            sizes = Sizes(int(S.sum()), int(T.sum()), _in_both(S, T, model), pairs)
            estimate = estimator.estimate(S, T, log_failures(sizes))
            if model_only and estimate.measured and sizes.S and sizes.T:
                value, typical = model.expected(np.flatnonzero(S), np.flatnonzero(T))
                estimate = SparseEstimate(value, False, estimate.interval, typical)
            found[place] = answer(estimate, math.inf if cap is None else most_weight(pairs, cap))
    else:
        lists = ListEstimator(estimator)
        for adding in _added_up(estimator, queries, parted):
            for place, estimate, sizes in lists.estimates(
                adding, log_failures, model_only=model_only
            ):
                most = math.inf if cap is None else most_weight(sizes.pairs, cap)
                found[place] = answer(estimate, most)
    return [found[place] for place in range(len(queries))]


def _in_both(S: BoolVector, T: BoolVector, model: SparseModel) -> int:
    return int(np.count_nonzero(S & T)) if model.layout.hollow else 0


def _added_up(
    estimator: SparseEstimator, queries: Sequence[CutQuery], parted: PartedCuts | None
) -> Iterator[Adding]:
    """Sums for those of few parts, and for all others."""
    model, degrees = estimator.model, estimator.degree_values
    done: set[int] = set()
    if parted is not None:
        done.update(parted.places.tolist())
        yield PartSums(model, degrees, parted)
    others = [place for place in range(len(queries)) if place not in done]
    masks = (queries[place].masks(model.space) for place in others)
    yield MaskSums(model, degrees, others, masks)


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
