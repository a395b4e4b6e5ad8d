"""Audits of sparse releases: counts, kept edges, sums between groups and degrees, jointly."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import IntVector
from graphcuts_dp.estimate.kept_edges import KeptEdges, threshold_for
from graphcuts_dp.estimate.measurement import (
    CellSums,
    Classes,
    CountMeasurement,
    Degrees,
    Measurements,
)
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.statistics import measure_weight_counts
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetStep
from graphcuts_dp.release.measuring import sparse_distribution
from graphcuts_dp.synth.budget_plans import (
    COUNTS_SHARE,
    DEGREES,
    GROUPS,
    KEPT_EDGES,
    WEIGHTS,
)
from tests.audits.base import audited_runs
from tests.audits.budgets import SHARED_BUDGET, degree_observations, ratio_of_sums
from tests.audits.graphs import (
    BIPARTITE,
    DIRECTED,
    HUB,
    LAST_PAIR,
    UNCAPPED,
    Side,
    job_of,
    one_more,
    sides,
)
from tests.audits.losses import laplace_gain

NOISES = ("discrete-laplace", "laplace")
# On four vertices a release would keep no edges; these steps measure all parts in any case.
_STEPS = tuple(
    BudgetStep(statistic=statistic, share=share, noise="as released")
    for statistic, share in (
        (WEIGHTS, COUNTS_SHARE),
        (KEPT_EDGES, Fraction(4, 5)),
        (GROUPS, Fraction(1, 4)),
        (DEGREES, ALL_LEFT),
    )
)
_FALSE_SHARE = 0.1  # of kept edges that are false, in incorrect variants
_ONE_LIGHTER = Neighbours(
    "a light weight by 1",
    gc.Graph([0, 1], [1, 2], [2.25, 1.5], vertices=4, max_weight_change=1),
    gc.Graph([0, 1], [1, 2], [2.25, 2.5], vertices=4, max_weight_change=1),
)
_NEW_EDGE = one_more("no weight and 1", [0, 2], [1, 3], [2.25, 1.0], max_weight_change=1)


def _log_probability(steps: int, released: int | None, rate: float, threshold: int) -> float:
    """Return ln of the probability of what is released of a pair, up to a common factor.

    Args:
        steps: true weight in grid units.
        released: noisy weight in grid units; None if the pair was dropped.
        rate: of the noise.
        threshold: least noisy weight that is kept.
    """
    ratio = math.exp(-rate)
    if released is not None:
        return -rate * abs(released - steps)
    largest_dropped_noise = threshold - 1 - steps
    tail = ratio ** (abs(largest_dropped_noise) + (largest_dropped_noise >= 0)) / (1 + ratio)
    return math.log(1 - tail if largest_dropped_noise >= 0 else tail)


def _observations_of_kept(kept: KeptEdges, side: Side) -> list[float]:
    """Return what kept edges show: at the pair in which neighbours differ, and elsewhere.

    Returns:
        ln(Q/P) of the pair, P on the first neighbour; whether the pair was kept, and how often;
        and all kept weights.
    """
    row, column = side.endpoints
    at_pair = (kept.rows == row) & (kept.columns == column)
    released = int(kept.steps[at_pair][0]) if at_pair.any() else None
    rate = float(kept.distribution.rate)
    first, second = (
        _log_probability(
            math.floor(float(weights[row, column]) / kept.unit), released, rate, kept.threshold
        )
        for weights in side.matrices
    )
    kept_weights = np.zeros(kept.layout.shape)
    kept_weights[kept.rows, kept.columns] = kept.weights
    at_pair_count = float(at_pair.sum())
    return [
        second - first,
        float(at_pair.any()),
        at_pair_count,
        *kept_weights.ravel().tolist(),
    ]


def _true_counts(counts: CountMeasurement[Classes], graph: AnyGraph) -> IntVector:
    """Return the true number of edges of each class of weights."""
    steps = np.floor(graph.weights / counts.map.step)
    classes = np.searchsorted(counts.map.lower, steps, side="right")
    return np.bincount(classes, minlength=len(counts.map.lower) + 1)[1:]


def _observations_of_counts(counts: CountMeasurement[Classes], side: Side) -> list[float]:
    """Return ln(Q/P) of all noisy counts, and the counts above those of the first neighbour."""
    first, second = (_true_counts(counts, graph) for graph in (side.first, side.second))
    (noisy,) = counts.steps
    return [laplace_gain(noisy, first, second, counts.rate), *(noisy - first).tolist()]


def _observations(measurements: Measurements, side: Side) -> list[float]:
    """Return what a whole release shows, ln(Q/P) of all parts together first."""
    counts, kept = measurements.find(Classes), measurements.kept
    degrees, groups = measurements.find(Degrees), measurements.find(CellSums)
    if counts is None or degrees is None:
        raise ValueError("a part was not measured")
    of_counts = _observations_of_counts(counts, side)
    of_degrees = degree_observations(degrees, side)
    of_kept = [0.0]
    if kept is not None:
        of_kept = [*_observations_of_kept(kept, side), kept.threshold * kept.unit]
    groups_ratio = 0.0 if groups is None else ratio_of_sums(groups, side)[0]
    ratio = of_counts[0] + of_degrees[4] + of_kept[0] + groups_ratio
    return [ratio, groups_ratio, *of_kept, *of_degrees, *of_counts]


# Incorrect variants.


def _kept_edges(
    graph: AnyGraph, epsilon: float, noise: str, source: EntropySource, *, edges: float
) -> KeptEdges:
    """Measure kept edges, with the threshold for a number of edges."""
    distribution = sparse_distribution(graph, noise, epsilon)
    pairs = graph.shape[0] * (graph.shape[0] - 1) // 2
    threshold = threshold_for(distribution, pairs=pairs, edges=edges, false_share=_FALSE_SHARE)
    return measure_kept_edges(graph, distribution, threshold=threshold, source=source)


def _with_true_edges(kept: KeptEdges, graph: AnyGraph, noisy: IntVector) -> KeptEdges:
    """Return kept edges in which all true edges have the given noisy weights."""
    layout = kept.layout
    true_pairs = layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64))
    kept_pairs = layout.places(kept.rows.astype(np.int64), kept.columns.astype(np.int64))
    is_false = ~np.isin(kept_pairs, true_pairs)
    order = np.argsort(np.concatenate([true_pairs, kept_pairs[is_false]]))
    rows = np.concatenate([graph.rows, kept.rows[is_false]])[order]
    columns = np.concatenate([graph.columns, kept.columns[is_false]])[order]
    steps = np.concatenate([noisy, kept.steps[is_false]])[order]
    return replace(kept, rows=rows, columns=columns, steps=steps)


def _threshold_of_true_edges(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """Compute the threshold from the true number of edges, and release it."""
    kept = _kept_edges(side.graph, epsilon, noise, source, edges=float(len(side.graph.rows)))
    return [*_observations_of_kept(kept, side), float(kept.threshold)]


def _edges_are_never_dropped(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """Keep all true edges; only pairs without an edge are dropped."""
    kept = _kept_edges(side.graph, epsilon, noise, source, edges=2.0)
    at_threshold = np.full(len(side.graph.rows), kept.threshold)
    return _observations_of_kept(_with_true_edges(kept, side.graph, at_threshold), side)


def _noise_below_the_threshold(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """Release the noisy weights of true edges below the threshold, too."""
    kept = _kept_edges(side.graph, epsilon, noise, source, edges=2.0)
    unfiltered = measure_kept_edges(side.graph, kept.distribution, threshold=1, source=source)
    noisy_by_row = dict(zip(unfiltered.rows.tolist(), unfiltered.steps.tolist(), strict=True))
    noisy = np.array([noisy_by_row.get(row, 0) for row in side.graph.rows.tolist()], dtype=np.int64)
    observations = _observations_of_kept(_with_true_edges(kept, side.graph, noisy), side)
    is_kept = observations[1]  # in place of the ratio, which is that of the sound mechanism
    return [is_kept, *observations[1:]]


def _counts_not_charged(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """Spend epsilon on the counts, and all of epsilon on kept edges as well."""
    distribution = sparse_distribution(side.graph, noise, epsilon)
    counts = measure_weight_counts(
        side.graph, distribution, epsilon=Fraction(epsilon), source=source
    )
    kept = measure_kept_edges(side.graph, distribution, threshold=1, source=source)
    counts_ratio = _observations_of_counts(counts, side)[0]
    kept_ratio = _observations_of_kept(kept, side)[0]
    return [counts_ratio + kept_ratio, counts_ratio, kept_ratio]


def _one_noise_for_all_counts(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """Add one noise to the counts of all classes: the difference of two of them has none."""
    distribution = sparse_distribution(side.graph, noise, epsilon)
    counts = measure_weight_counts(
        side.graph, distribution, epsilon=Fraction(epsilon) * COUNTS_SHARE, source=source
    )
    true_counts = _true_counts(counts, side.graph)
    one_noise = (counts.steps[0] - true_counts)[0]
    return _observations_of_counts(replace(counts, steps=(true_counts + one_noise,)), side)


def _pairs(noise: str, _epsilon: float) -> tuple[Neighbours, ...]:
    """Return neighbours of all kinds; those without weights are for discrete noise alone."""
    weighted = (_ONE_LIGHTER, _NEW_EDGE, *UNCAPPED)
    plain = (HUB, LAST_PAIR, DIRECTED[0], BIPARTITE[0]) if noise == "discrete-laplace" else ()
    return tuple(map(sides, (*plain, *weighted)))


def _pairs_of_ratio(noise: str, _epsilon: float) -> tuple[Neighbours, ...]:
    """Return the neighbours whose log-likelihood ratios are largest."""
    pairs = (_ONE_LIGHTER, HUB) if noise == "discrete-laplace" else (_ONE_LIGHTER,)
    return tuple(map(sides, pairs))


@audited_runs(
    "sparse, {}, by its law",
    NOISES,
    pairs=_pairs_of_ratio,
    incorrect_variants={"half the noise": {"factor": 2}},
    runs=12_000,
    column=0,  # the log-likelihood ratio of all parts together
    slow=lambda noise: noise == "laplace",
)
@audited_runs(
    "sparse, {}",
    NOISES,
    pairs=_pairs,
    incorrect_variants={
        "threshold from the true number of edges": _threshold_of_true_edges,
        "edges are never dropped": _edges_are_never_dropped,
        "noise below the threshold kept for edges": _noise_below_the_threshold,
        "counts not charged": _counts_not_charged,
        "one noise for all counts": _one_noise_for_all_counts,
    },
    variant_pairs=tuple(map(sides, (HUB, _NEW_EDGE, _ONE_LIGHTER))),
    runs=4000,
    covers="release: sparse, {}",
    slow=True,
    why_below_half=SHARED_BUDGET,
)
def _run_sparse_release(
    noise: str, epsilon: float, side: Side, source: EntropySource, factor: int = 1
) -> list[float]:
    job = job_of(side, "sparse", noise, factor * epsilon, with_groups=True)
    job = replace(job, budget_plan=replace(job.budget_plan, steps=_STEPS))
    return _observations(job.measure(side.graph, source), side)
