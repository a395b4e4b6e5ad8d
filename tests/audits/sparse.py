"""Audits of sparse releases: counts, kept edges, sums between groups and degrees, jointly."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import IntVector
from graphcuts_dp.estimate.measurement import CellSums, Classes, Degrees, Measurement, Measurements
from graphcuts_dp.estimate.sparse_model import KeptEdges, threshold_for
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.statistics import measure_weight_counts
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.measuring import measure_sparse, sparse_distribution
from graphcuts_dp.release.shares import COUNTS_SHARE, SparseShares
from tests.audits.base import Audit, ByLaw, Sampled, audited, column_of
from tests.audits.budgets import SHARED, seen_of_degrees, seen_of_sums
from tests.audits.graphs import BIPARTITE, DIRECTED, HUB, LAST_PAIR, UNCAPPED, Side, sides
from tests.audits.losses import laplace_gain

Run = Callable[[Side], list[float]]
NOISES = ("discrete-laplace", "laplace")
# On four vertices no filter would be bought: all parts are, here.
_SHARES = SparseShares(Fraction(4, 5), Fraction(1, 20), Fraction(3, 20))
_FEW_FALSE = 0.1
_ONE_LIGHTER = Neighbours(
    "a light weight by 1",
    gc.Graph([0, 1], [1, 2], [2.25, 1.5], vertices=4, hide_change=1),
    gc.Graph([0, 1], [1, 2], [2.25, 2.5], vertices=4, hide_change=1),
)
_A_NEW_ONE = Neighbours(
    "no weight and 1",
    gc.Graph([0], [1], [2.25], vertices=4, hide_change=1),
    gc.Graph([0, 2], [1, 3], [2.25, 1.0], vertices=4, hide_change=1),
)


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
    row, column = side.ends
    here = (kept.rows == row) & (kept.columns == column)
    released = int(kept.steps[here][0]) if here.any() else None
    steps = [math.floor(float(dense[row, column]) / kept.unit) for dense in side.matrices]
    rate = float(kept.distribution.rate)
    laws = [_log_law(each, released, rate, kept.threshold) for each in steps]
    dense = np.zeros(kept.layout.shape)
    dense[kept.rows, kept.columns] = kept.weights
    return [laws[1] - laws[0], float(here.any()), float(here.sum()), *dense.ravel().tolist()]


def _true_counts(counts: Measurement[Classes], graph: AnyGraph) -> IntVector:
    steps = np.floor(graph.weights / counts.map.step)
    places = np.searchsorted(counts.map.lower, steps, side="right")
    return np.bincount(places, minlength=len(counts.map.lower) + 1)[1:]


def _seen_of_counts(counts: Measurement[Classes], side: Side) -> list[float]:
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


def _honest(epsilon: float, noise: str, source: EntropySource) -> Run:
    def run(side: Side) -> list[float]:
        bought = measure_sparse(
            side.graph,
            epsilon=epsilon,
            noise=noise,
            source=source,
            groups=side.plan,
            shares=_SHARES,
        )
        return _seen(bought, side)

    return run


# Broken twins.


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


def _threshold_of_true_edges(epsilon: float, noise: str, source: EntropySource) -> Run:
    """The threshold is computed from the true number of edges, and published."""

    def run(side: Side) -> list[float]:
        kept = _kept(side.graph, epsilon, noise, source, edges=float(len(side.graph.rows)))
        return [*_seen_of_kept(kept, side), float(kept.threshold)]

    return run


def _edges_are_never_dropped(epsilon: float, noise: str, source: EntropySource) -> Run:
    """False values are put only where there is no edge, and edges themselves always stay."""

    def run(side: Side) -> list[float]:
        kept = _kept(side.graph, epsilon, noise, source, edges=2.0)
        at_least = np.full(len(side.graph.rows), kept.threshold)
        return _seen_of_kept(_with_edges(kept, side.graph, at_least), side)

    return run


def _noise_below_the_threshold(epsilon: float, noise: str, source: EntropySource) -> Run:
    """Of edges the noisy weight is published, also below the threshold."""

    def run(side: Side) -> list[float]:
        kept = _kept(side.graph, epsilon, noise, source, edges=2.0)
        whole = measure_kept_edges(side.graph, kept.distribution, threshold=1, source=source)
        found = dict(zip(whole.rows.tolist(), whole.steps.tolist(), strict=True))
        noisy = np.array([found.get(row, 0) for row in side.graph.rows.tolist()], dtype=np.int64)
        seen = _seen_of_kept(_with_edges(kept, side.graph, noisy), side)
        return seen[1:2] + seen[1:]

    return run


def _counts_not_charged(epsilon: float, noise: str, source: EntropySource) -> Run:
    """The counts cost epsilon, and come on top of kept edges that have all of epsilon, too."""

    def run(side: Side) -> list[float]:
        made = sparse_distribution(side.graph, noise, epsilon)
        counts = measure_weight_counts(side.graph, made, epsilon=Fraction(epsilon), source=source)
        kept = measure_kept_edges(side.graph, made, threshold=1, source=source)
        of_counts, of_kept = _seen_of_counts(counts, side)[0], _seen_of_kept(kept, side)[0]
        return [of_counts + of_kept, of_counts, of_kept]

    return run


def _one_noise_for_all_counts(epsilon: float, noise: str, source: EntropySource) -> Run:
    """All classes of weight share their noise: the difference of two of them has none."""

    def run(side: Side) -> list[float]:
        made = sparse_distribution(side.graph, noise, epsilon)
        counts = measure_weight_counts(
            side.graph, made, epsilon=Fraction(epsilon) * COUNTS_SHARE, source=source
        )
        true = _true_counts(counts, side.graph)
        shared = true + (counts.steps[0] - true)[0]
        return _seen_of_counts(replace(counts, steps=(shared,)), side)

    return run


_TWINS: dict[str, Callable[[float, str, EntropySource], Run]] = {
    "threshold from the true number of edges": _threshold_of_true_edges,
    "edges are never dropped": _edges_are_never_dropped,
    "noise below the threshold kept for edges": _noise_below_the_threshold,
    "counts not charged": _counts_not_charged,
    "one noise for all counts": _one_noise_for_all_counts,
}


@audited("sparse, {}", NOISES, covers="release: sparse, {}", slow=True, unseen=SHARED)
def _audit(noise: str, epsilon: float) -> Audit:
    weighted = (_ONE_LIGHTER, _A_NEW_ONE, *UNCAPPED)
    plain = (HUB, LAST_PAIR, DIRECTED[0], BIPARTITE[0]) if noise == "discrete-laplace" else ()
    return Sampled(
        claim=Claim(epsilon),
        pairs=tuple(map(sides, (*plain, *weighted))),
        start=partial(_honest, epsilon, noise),
        twins={name: partial(twin, epsilon, noise) for name, twin in _TWINS.items()},
        twin_pairs=tuple(map(sides, (HUB, _A_NEW_ONE, _ONE_LIGHTER))),
        runs=4000,
    )


@audited("sparse, {}, by its law", NOISES, slow=lambda noise: noise == "laplace")
def _law_audit(noise: str, epsilon: float) -> Audit:
    """All parts together, of which the first number of a run is the log-likelihood ratio."""
    pairs = (_ONE_LIGHTER, HUB) if noise == "discrete-laplace" else (_ONE_LIGHTER,)
    sound, half = (partial(_honest, factor * epsilon, noise) for factor in (1, 2))
    return ByLaw(
        claim=Claim(epsilon),
        pairs=tuple(map(sides, pairs)),
        ratio=partial(column_of, sound, 0),
        twins={"half the noise": partial(column_of, half, 0)},
        runs=12_000,
    )
