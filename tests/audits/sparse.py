"""Audits of sparse releases: counts, kept edges, sums between groups and degrees, jointly."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.estimate.measurement import (
    CellSums,
    Classes,
    Degrees,
    Measurement,
    Measurements,
)
from graphcuts_dp.estimate.sparse_model import KeptEdges, threshold_for
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.statistics import measure_weight_counts
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.measuring import measure_sparse, sparse_distribution
from graphcuts_dp.release.shares import COUNTS_SHARE, GroupPlan, SparseShares
from tests.audits.base import Audit, ByLaw, Entry, Sampled, column_of
from tests.audits.budgets import SHARED, Placed, placed, seen_of_degrees
from tests.audits.graphs import BIPARTITE, DIRECTED, HUB, LAST_PAIR, UNCAPPED
from tests.audits.grouped import plan_for, true_cells

NOISES = ("discrete-laplace", "laplace")
# On four vertices no filter would be bought: all parts are, here.
_SHARES = SparseShares(Fraction(4, 5), Fraction(1, 20), Fraction(3, 20))
_FEW_FALSE = 0.1
_ONE_LIGHTER = Neighbours(
    "a light weight by 1",
    Graph([0, 1], [1, 2], [2.25, 1.5], vertices=4, hide_change=1),
    Graph([0, 1], [1, 2], [2.25, 2.5], vertices=4, hide_change=1),
)
_A_NEW_ONE = Neighbours(
    "no weight and 1",
    Graph([0], [1], [2.25], vertices=4, hide_change=1),
    Graph([0, 2], [1, 3], [2.25, 1.0], vertices=4, hide_change=1),
)


@dataclass(frozen=True, eq=False)
class _Side:
    """One of two neighbours, with both.

    Attributes:
        where: this one.
        graph: its graph.
        first: the first neighbour's graph.
        second: the second one's.
        plan: what is bought of groups.
    """

    where: Placed
    graph: AnyGraph
    first: AnyGraph
    second: AnyGraph
    plan: GroupPlan | None


Run = Callable[[_Side], list[float]]


def _sides(pair: Neighbours) -> Neighbours:
    found = placed(pair)
    plan = None if min(pair.first.shape) < 2 else plan_for(pair.first)
    first, second = (
        _Side(where, where.graph, pair.first, pair.second, plan)
        for where in (found.first, found.second)
    )
    return Neighbours(pair.name, first, second)


def _log_law(steps: int, released: int | None, rate: float, threshold: int) -> float:
    """Ln of the chance of what is released of a pair of so many steps; None: it was dropped."""
    ratio = math.exp(-rate)
    if released is not None:
        return -rate * abs(released - steps)
    below = threshold - 1 - steps  # noise up to this
    tail = ratio ** (abs(below) + (below >= 0)) / (1 + ratio)
    return math.log(1 - tail if below >= 0 else tail)


def seen_of_kept(kept: KeptEdges, side: _Side) -> list[float]:
    """Log likelihood ratio at the pair, what was released there, how many others, all values."""
    row, column = side.where.ends
    here = (kept.rows == row) & (kept.columns == column)
    released = int(kept.steps[here][0]) if here.any() else None
    steps = [
        math.floor(float(graph.dense()[row, column]) / kept.unit)
        for graph in (side.first, side.second)
    ]
    rate = float(kept.distribution.rate)
    laws = [_log_law(each, released, rate, kept.threshold) for each in steps]
    dense = np.zeros(kept.layout.shape)
    dense[kept.rows, kept.columns] = kept.weights
    return [laws[1] - laws[0], float(here.any()), float(here.sum()), *dense.ravel().tolist()]


def seen_of_counts(counts: Measurement[Classes], side: _Side) -> list[float]:
    """Log likelihood ratio of all counts, and each above the first neighbour's."""
    true = []
    for graph in (side.first, side.second):
        steps = np.floor(graph.weights / counts.map.step)
        places = np.searchsorted(counts.map.lower, steps, side="right")
        true.append(np.bincount(places, minlength=len(counts.map.lower) + 1)[1:])
    (seen,) = counts.steps
    apart = np.abs(seen - true[0]) - np.abs(seen - true[1])
    return [float(counts.rate) * float(apart.sum()), *(seen - true[0]).tolist()]


def _seen(bought: Measurements, side: _Side) -> list[float]:
    counts, kept = bought.find(Classes), bought.kept
    degrees, groups = bought.find(Degrees), bought.find(CellSums)
    if counts is None or degrees is None:
        raise ValueError("all parts were bought")
    of_counts = seen_of_counts(counts, side)
    of_degrees = seen_of_degrees(degrees, side.where)
    of_kept = [0.0] if kept is None else [*seen_of_kept(kept, side), kept.threshold * kept.unit]
    of_groups = 0.0
    if groups is not None:
        before, after = (true_cells(groups, graph.dense()) for graph in (side.first, side.second))
        rate = float(groups.rate) / groups.unit
        apart = np.abs(groups.values[0] - before) - np.abs(groups.values[0] - after)
        of_groups = rate * float(apart.sum())
    together = of_counts[0] + of_degrees[4] + of_kept[0] + of_groups
    return [together, of_groups, *of_kept, *of_degrees, *of_counts]


def _honest(epsilon: float, noise: str, source: EntropySource) -> Run:
    def run(side: _Side) -> list[float]:
        bought = measure_sparse(
            side.graph,
            epsilon=epsilon,
            noise=noise,
            source=source,
            groups=side.plan,
            shares=_SHARES if side.plan is not None else _without_groups(),
        )
        return _seen(bought, side)

    return run


def _without_groups() -> SparseShares:
    return SparseShares(_SHARES.kept, Fraction(0), 1 - _SHARES.kept)


# Broken twins.


def _threshold_of_true_edges(epsilon: float, noise: str, source: EntropySource) -> Run:
    """The threshold is computed from the true number of edges, and published."""

    def run(side: _Side) -> list[float]:
        kept = _kept(side.graph, epsilon, noise, source, edges=float(len(side.graph.rows)))
        return [*seen_of_kept(kept, side), float(kept.threshold)]

    return run


def _kept(
    graph: AnyGraph, epsilon: float, noise: str, source: EntropySource, *, edges: float
) -> KeptEdges:
    distribution = sparse_distribution(graph, noise, epsilon)
    pairs = graph.shape[0] * (graph.shape[0] - 1) // 2
    threshold = threshold_for(distribution, pairs=pairs, edges=edges, false_share=_FEW_FALSE)
    return measure_kept_edges(graph, distribution, threshold=threshold, source=source)


def _with_edges(kept: KeptEdges, graph: AnyGraph, noisy: np.ndarray) -> KeptEdges:
    """With all edges in place, whatever was drawn for them."""
    layout = kept.layout
    here = layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64))
    there = layout.places(kept.rows.astype(np.int64), kept.columns.astype(np.int64))
    others = ~np.isin(there, here)
    places = np.concatenate([here, there[others]])
    order = np.argsort(places)
    parts = (
        np.concatenate([graph.rows, kept.rows[others]]),
        np.concatenate([graph.columns, kept.columns[others]]),
        np.concatenate([noisy, kept.steps[others]]),
    )
    rows, columns, steps = (each[order] for each in parts)
    return replace(kept, rows=rows, columns=columns, steps=steps)


def _edges_are_never_dropped(epsilon: float, noise: str, source: EntropySource) -> Run:
    """False values are put only where there is no edge, and edges themselves always stay."""

    def run(side: _Side) -> list[float]:
        kept = _kept(side.graph, epsilon, noise, source, edges=2.0)
        at_least = np.full(len(side.graph.rows), kept.threshold)
        return seen_of_kept(_with_edges(kept, side.graph, at_least), side)

    return run


def _noise_below_the_threshold(epsilon: float, noise: str, source: EntropySource) -> Run:
    """Of edges the noisy weight is published, also below the threshold."""

    def run(side: _Side) -> list[float]:
        kept = _kept(side.graph, epsilon, noise, source, edges=2.0)
        whole = measure_kept_edges(side.graph, kept.distribution, threshold=1, source=source)
        found = dict(zip(whole.rows.tolist(), whole.steps.tolist(), strict=True))
        noisy = np.array([found.get(row, 0) for row in side.graph.rows.tolist()], dtype=np.int64)
        shown = _with_edges(kept, side.graph, noisy)
        row, column = side.where.ends
        here = (shown.rows == row) & (shown.columns == column)
        return [float(here.any()), *seen_of_kept(shown, side)[1:]]

    return run


def _counts_not_charged(epsilon: float, noise: str, source: EntropySource) -> Run:
    """The counts cost epsilon, and come on top of kept edges that have all of epsilon, too."""

    def run(side: _Side) -> list[float]:
        made = sparse_distribution(side.graph, noise, epsilon)
        counts = measure_weight_counts(side.graph, made, epsilon=Fraction(epsilon), source=source)
        kept = measure_kept_edges(side.graph, made, threshold=1, source=source)
        of_counts, of_kept = seen_of_counts(counts, side)[0], seen_of_kept(kept, side)[0]
        return [of_counts + of_kept, of_counts, of_kept]

    return run


def _one_noise_for_all_counts(epsilon: float, noise: str, source: EntropySource) -> Run:
    """All classes of weight share their noise: the difference of two of them has none."""

    def run(side: _Side) -> list[float]:
        made = sparse_distribution(side.graph, noise, epsilon)
        counts = measure_weight_counts(
            side.graph, made, epsilon=Fraction(epsilon) * COUNTS_SHARE, source=source
        )
        steps = np.floor(side.graph.weights / counts.map.step)
        places = np.searchsorted(counts.map.lower, steps, side="right")
        true = np.bincount(places, minlength=len(counts.map.lower) + 1)[1:]
        shared = true + (counts.steps[0] - true)[0]
        return seen_of_counts(replace(counts, steps=(shared,)), side)

    return run


def _audit(noise: str, epsilon: float) -> Audit:
    plain = (HUB, LAST_PAIR)
    weighted = (_ONE_LIGHTER, _A_NEW_ONE, *UNCAPPED)
    pairs = (*plain, DIRECTED[0], BIPARTITE[0]) if noise == "discrete-laplace" else ()
    twins: dict[str, Callable[[EntropySource], Run]] = {
        "threshold from the true number of edges": partial(
            _threshold_of_true_edges, epsilon, noise
        ),
        "edges are never dropped": partial(_edges_are_never_dropped, epsilon, noise),
        "noise below the threshold kept for edges": partial(
            _noise_below_the_threshold, epsilon, noise
        ),
        "counts not charged": partial(_counts_not_charged, epsilon, noise),
        "one noise for all counts": partial(_one_noise_for_all_counts, epsilon, noise),
    }
    return Sampled(
        claim=Claim(epsilon),
        pairs=tuple(map(_sides, (*pairs, *weighted))),
        start=partial(_honest, epsilon, noise),
        twins=twins,
        twin_pairs=tuple(map(_sides, (HUB, _A_NEW_ONE, _ONE_LIGHTER))),
        runs=4000,
    )


def _law_audit(noise: str, epsilon: float) -> Audit:
    """All parts together, of which the first number of a run is the log-likelihood ratio."""
    return ByLaw(
        claim=Claim(epsilon),
        pairs=(_sides(_ONE_LIGHTER), *((_sides(HUB),) if noise == "discrete-laplace" else ())),
        ratio=partial(column_of, partial(_honest, epsilon, noise), 0),
        twins={"half the noise": partial(column_of, partial(_honest, 2 * epsilon, noise), 0)},
        runs=12_000,
    )


ENTRIES = (
    *(
        Entry(
            f"sparse, {noise}",
            partial(_audit, noise),
            (f"release: sparse, {noise}",),
            slow=True,
            unseen=SHARED,
        )
        for noise in NOISES
    ),
    *(
        Entry(f"sparse, {noise}, by its law", partial(_law_audit, noise), slow=noise == "laplace")
        for noise in NOISES
    ),
)
