"""Audits of the benchmark's contenders: the top-m filter, and those that buy degrees."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.pairs.universe import Layout
from graphcuts_dp.privacy.noise import EntropySource, sample_discrete_laplace
from scripts.benchmark.baselines import noisy_degrees
from scripts.benchmark.contenders import dp_1k, isotonic_degrees, tmf
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.graphs import DIRECTED, HUB, LAST_PAIR, Side, sides
from tests.audits.losses import DistributionPair
from tests.audits.top_m_laws import (
    Law,
    dropped_come_back,
    filled_up,
    largest_entries,
    pair_of_laws,
)

Run = Callable[[AnyGraph], list[float]]

_HALF = Fraction(1, 2)
_SIZES = ((3, 0), (6, 2), (66, 1))  # pairs, edges


# The top-m filter.


def _top_m(
    law: Law, epsilon: Fraction, share: Fraction = tmf.COUNT_SHARE, *, charged: bool = True
) -> Iterator[DistributionPair]:
    for pairs, edges in _SIZES:
        yield pair_of_laws(law, pairs, edges, epsilon, share=share, charged=charged)


def _top_m_law_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_top_m, largest_entries, exact),
        twins={
            "half the noise": partial(_top_m, largest_entries, 2 * exact),
            "the true number of edges": partial(_top_m, largest_entries, exact, charged=False),
            "filled up with false edges, as published": partial(_top_m, filled_up, exact),
            "dropped edges come back as false ones, as in PGB's code": partial(
                _top_m, dropped_come_back, exact, _HALF
            ),
        },
    )


def _filtered(epsilon: Fraction, true_count: bool, source: EntropySource) -> Run:
    """Which pairs are edges, and how many."""
    for_count = epsilon * tmf.COUNT_SHARE

    def run(graph: AnyGraph) -> list[float]:
        count = len(graph.rows)
        if not true_count:
            count = tmf.noisy_count(graph, epsilon=for_count, source=source)
        rows, columns = tmf.filtered(graph, count, epsilon=epsilon - for_count, source=source)
        layout = Layout.of(graph.space)
        there = np.zeros(layout.pairs_before(layout.shape[0]))
        there[layout.places(rows.astype(np.int64), columns.astype(np.int64))] = 1
        return [float(len(rows)), *there.tolist()]

    return run


def _top_m_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=(HUB, DIRECTED[0]),
        start=partial(_filtered, exact, False),
        twins={
            "a twentieth of the noise": partial(_filtered, 20 * exact, False),
            "the true number of edges": partial(_filtered, exact, True),
        },
        twin_pairs=(LAST_PAIR,),
    )


# Degrees, their histogram and their order. A run gives the log likelihood ratio of the neighbours
# for what was released, and what was released.


SideRun = Callable[[Side], list[float]]
_SIDES = tuple(map(sides, (LAST_PAIR, HUB)))


def _ratio(noisy: IntVector, first: IntVector, second: IntVector, rate: Fraction) -> float:
    """Ln of the likelihood ratio of two vectors, of the same with discrete Laplace noise."""
    return float(rate) * float(np.abs(noisy - first).sum() - np.abs(noisy - second).sum())


def _degrees(graph: AnyGraph) -> IntVector:
    return np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=graph.shape[0])


def _noisy_degrees(epsilon: Fraction, charged: int, source: EntropySource) -> SideRun:
    """Noisy degrees: the graph is made of them alone.

    Args:
        epsilon: claimed.
        charged: of so many degrees that an edge changes.
        source: of the noise.
    """

    def run(side: Side) -> list[float]:
        noisy = noisy_degrees(side.graph, epsilon * 2 / charged, source)
        rate = epsilon / charged
        ratio = _ratio(noisy, _degrees(side.first), _degrees(side.second), rate)
        return [ratio, *noisy.astype(np.float64).tolist()]

    return run


def _noisy_degrees_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_SIDES,
        start=partial(_noisy_degrees, exact, 2),
        twins={"noise for one degree, as in PGB's code": partial(_noisy_degrees, exact, 1)},
        twin_pairs=_SIDES[:1],
    )


def _histogram(
    epsilon: Fraction, factor: int, true_largest: bool, source: EntropySource
) -> SideRun:
    """The largest degree and the counts.

    Args:
        epsilon: claimed.
        factor: of the sensitivity that counts are taken to have less.
        true_largest: whether counts go up to the true largest degree.
        source: of the noise.
    """

    def run(side: Side) -> list[float]:
        if true_largest:
            true = np.bincount(_degrees(side.graph))
            noisy = true + sample_discrete_laplace(epsilon / 4, len(true), source)
            return [float(len(noisy))]
        largest, counts = dp_1k.measure_histogram(
            side.graph, epsilon=epsilon * factor, source=source
        )
        rate = epsilon * factor * (1 - dp_1k.LARGEST_SHARE) / dp_1k.SENSITIVITY
        first, second = (
            np.bincount(np.minimum(_degrees(graph), largest), minlength=largest + 1)
            for graph in (side.first, side.second)
        )
        padded = np.zeros(side.graph.shape[0])
        padded[: len(counts)] = counts
        ratio = _ratio(counts, first, second, rate)
        return [ratio, float(largest), *padded.tolist()]

    return run


def _histogram_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_SIDES,
        start=partial(_histogram, exact, 1, False),
        twins={
            "sensitivity 2 for 4": partial(_histogram, exact, 2, False),
            "counts up to the true largest degree, as in PGB's code": partial(
                _histogram, exact, 1, True
            ),
        },
        twin_pairs=_SIDES[:1],
    )


def _sorted(epsilon: Fraction, factor: int, true_order: bool, source: EntropySource) -> SideRun:
    """The sorted degrees, and what vertices would get of them in their true order."""

    def run(side: Side) -> list[float]:
        noisy = isotonic_degrees.measure_sorted(side.graph, epsilon=epsilon * factor, source=source)
        rate = epsilon * factor / isotonic_degrees.SENSITIVITY
        first, second = (np.sort(_degrees(graph)) for graph in (side.first, side.second))
        fitted = isotonic_degrees.ascending(noisy)
        if true_order:
            own = np.empty_like(fitted)
            own[np.argsort(_degrees(side.graph), kind="stable")] = np.arange(len(own))
            return list(map(float, own))
        return [_ratio(noisy, first, second, rate), *noisy.astype(np.float64).tolist()]

    return run


def _sorted_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_SIDES,
        start=partial(_sorted, exact, 1, False),
        twins={
            "sensitivity 1 for 2": partial(_sorted, exact, 2, False),
            "vertices in their true order": partial(_sorted, exact, 1, True),
        },
        twin_pairs=(_SIDES[1],),
    )


ENTRIES = (
    Entry("benchmark: tmf, law", _top_m_law_audit),
    Entry("benchmark: tmf, runs", _top_m_audit),
    Entry("benchmark: dgg", _noisy_degrees_audit),
    Entry("benchmark: dp-1k", _histogram_audit),
    Entry("benchmark: isotonic-degrees", _sorted_audit),
)
