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
from tests.audits.budgets import SHARED, seen_of_degrees, seen_of_sums
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
# On four vertices no edges would be kept: here all parts are measured, whatever the counts say.
_STEPS = tuple(
    BudgetStep(statistic=statistic, share=share, noise="as released")
    for statistic, share in (
        (WEIGHTS, COUNTS_SHARE),
        (KEPT_EDGES, Fraction(4, 5)),
        (GROUPS, Fraction(1, 4)),
        (DEGREES, ALL_LEFT),
    )
)
_FEW_FALSE = 0.1
_ONE_LIGHTER = Neighbours(
    "a light weight by 1",
    gc.Graph([0, 1], [1, 2], [2.25, 1.5], vertices=4, max_weight_change=1),
    gc.Graph([0, 1], [1, 2], [2.25, 2.5], vertices=4, max_weight_change=1),
)
_A_NEW_ONE = one_more("no weight and 1", [0, 2], [1, 3], [2.25, 1.0], max_weight_change=1)


def _log_law(steps: int, released: int | None, rate: float, threshold: int) -> float:
    """Ln of the chance of what is released of a pair of so many steps; None: it was dropped."""
    ratio = math.exp(-rate)
    if released is not None:
        return -rate * abs(released - steps)
    below = threshold - 1 - steps  # noise up to this
    tail = ratio ** (abs(below) + (below >= 0)) / (1 + ratio)
    return math.log(1 - tail if below >= 0 else tail)


def _seen_of_kept(kept: KeptEdges, side: Side) -> list[float]:
    """Log likelihood ratio at the pair, what was released there, how many others, all values."""
    row, column = side.endpoints
    here = (kept.rows == row) & (kept.columns == column)
    released = int(kept.steps[here][0]) if here.any() else None
    steps = [math.floor(float(dense[row, column]) / kept.unit) for dense in side.matrices]
    rate = float(kept.distribution.rate)
    laws = [_log_law(each, released, rate, kept.threshold) for each in steps]
    dense = np.zeros(kept.layout.shape)
    dense[kept.rows, kept.columns] = kept.weights
    return [laws[1] - laws[0], float(here.any()), float(here.sum()), *dense.ravel().tolist()]


def _true_counts(counts: CountMeasurement[Classes], graph: AnyGraph) -> IntVector:
    steps = np.floor(graph.weights / counts.map.step)
    places = np.searchsorted(counts.map.lower, steps, side="right")
    return np.bincount(places, minlength=len(counts.map.lower) + 1)[1:]


def _seen_of_counts(counts: CountMeasurement[Classes], side: Side) -> list[float]:
    """Log likelihood ratio of all counts, and each above the first neighbour's."""
    first, second = (_true_counts(counts, graph) for graph in (side.first, side.second))
    (seen,) = counts.steps
    return [laplace_gain(seen, first, second, counts.rate), *(seen - first).tolist()]


def _seen(bought: Measurements, side: Side) -> list[float]:
    counts, kept = bought.find(Classes), bought.kept
    degrees, groups = bought.find(Degrees), bought.find(CellSums)
    if counts is None or degrees is None:
        raise ValueError("all parts were bought")
    of_counts = _seen_of_counts(counts, side)
    of_degrees = seen_of_degrees(degrees, side)
    of_kept = [0.0] if kept is None else [*_seen_of_kept(kept, side), kept.threshold * kept.unit]
    of_groups = 0.0 if groups is None else seen_of_sums(groups, side)[0]
    together = of_counts[0] + of_degrees[4] + of_kept[0] + of_groups
    return [together, of_groups, *of_kept, *of_degrees, *of_counts]


# Incorrect variants.


def _kept(
    graph: AnyGraph, epsilon: float, noise: str, source: EntropySource, *, edges: float
) -> KeptEdges:
    distribution = sparse_distribution(graph, noise, epsilon)
    pairs = graph.shape[0] * (graph.shape[0] - 1) // 2
    threshold = threshold_for(distribution, pairs=pairs, edges=edges, false_share=_FEW_FALSE)
    return measure_kept_edges(graph, distribution, threshold=threshold, source=source)


def _with_edges(kept: KeptEdges, graph: AnyGraph, noisy: IntVector) -> KeptEdges:
    """With all edges in place, whatever was drawn for them."""
    layout = kept.layout
    here = layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64))
    there = layout.places(kept.rows.astype(np.int64), kept.columns.astype(np.int64))
    others = ~np.isin(there, here)
    order = np.argsort(np.concatenate([here, there[others]]))
    parts = (
        np.concatenate([graph.rows, kept.rows[others]]),
        np.concatenate([graph.columns, kept.columns[others]]),
        np.concatenate([noisy, kept.steps[others]]),
    )
    rows, columns, steps = (each[order] for each in parts)
    return replace(kept, rows=rows, columns=columns, steps=steps)


def _threshold_of_true_edges(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """The threshold is computed from the true number of edges, and published."""
    kept = _kept(side.graph, epsilon, noise, source, edges=float(len(side.graph.rows)))
    return [*_seen_of_kept(kept, side), float(kept.threshold)]


def _edges_are_never_dropped(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """False values are put only where there is no edge, and edges themselves always stay."""
    kept = _kept(side.graph, epsilon, noise, source, edges=2.0)
    at_least = np.full(len(side.graph.rows), kept.threshold)
    return _seen_of_kept(_with_edges(kept, side.graph, at_least), side)


def _noise_below_the_threshold(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """Of edges the noisy weight is published, also below the threshold."""
    kept = _kept(side.graph, epsilon, noise, source, edges=2.0)
    whole = measure_kept_edges(side.graph, kept.distribution, threshold=1, source=source)
    found = dict(zip(whole.rows.tolist(), whole.steps.tolist(), strict=True))
    noisy = np.array([found.get(row, 0) for row in side.graph.rows.tolist()], dtype=np.int64)
    seen = _seen_of_kept(_with_edges(kept, side.graph, noisy), side)
    return seen[1:2] + seen[1:]


def _counts_not_charged(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """The counts cost epsilon, and come on top of kept edges that have all of epsilon, too."""
    made = sparse_distribution(side.graph, noise, epsilon)
    counts = measure_weight_counts(side.graph, made, epsilon=Fraction(epsilon), source=source)
    kept = measure_kept_edges(side.graph, made, threshold=1, source=source)
    of_counts, of_kept = _seen_of_counts(counts, side)[0], _seen_of_kept(kept, side)[0]
    return [of_counts + of_kept, of_counts, of_kept]


def _one_noise_for_all_counts(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """All classes of weight share their noise: the difference of two of them has none."""
    made = sparse_distribution(side.graph, noise, epsilon)
    counts = measure_weight_counts(
        side.graph, made, epsilon=Fraction(epsilon) * COUNTS_SHARE, source=source
    )
    true = _true_counts(counts, side.graph)
    shared = true + (counts.steps[0] - true)[0]
    return _seen_of_counts(replace(counts, steps=(shared,)), side)


def _pairs(noise: str, _epsilon: float) -> tuple[Neighbours, ...]:
    weighted = (_ONE_LIGHTER, _A_NEW_ONE, *UNCAPPED)
    plain = (HUB, LAST_PAIR, DIRECTED[0], BIPARTITE[0]) if noise == "discrete-laplace" else ()
    return tuple(map(sides, (*plain, *weighted)))


def _law_pairs(noise: str, _epsilon: float) -> tuple[Neighbours, ...]:
    pairs = (_ONE_LIGHTER, HUB) if noise == "discrete-laplace" else (_ONE_LIGHTER,)
    return tuple(map(sides, pairs))


@audited_runs(
    "sparse, {}, by its law",
    NOISES,
    pairs=_law_pairs,
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
    variant_pairs=tuple(map(sides, (HUB, _A_NEW_ONE, _ONE_LIGHTER))),
    runs=4000,
    covers="release: sparse, {}",
    slow=True,
    why_below_half=SHARED,
)
def _honest(
    noise: str, epsilon: float, side: Side, source: EntropySource, factor: int = 1
) -> list[float]:
    job = job_of(side, "sparse", noise, factor * epsilon, with_groups=True)
    job = replace(job, budget_plan=replace(job.budget_plan, steps=_STEPS))
    return _seen(job.measure(side.graph, source), side)
