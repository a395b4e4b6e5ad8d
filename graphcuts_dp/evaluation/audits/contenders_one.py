"""Audits of the benchmark's contenders: the top-m filter."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.evaluation.audit import Claim, DistributionPair
from graphcuts_dp.evaluation.audits.base import Audit, Entry, Enumerated, Sampled
from graphcuts_dp.evaluation.audits.graphs import DIRECTED, HUB, LAST_PAIR
from graphcuts_dp.evaluation.audits.top_m_laws import (
    Law,
    dropped_come_back,
    filled_up,
    largest_entries,
    pair_of_laws,
)
from graphcuts_dp.evaluation.benchmark.contenders import tmf
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measurements.blocks import Layout
from graphcuts_dp.privacy.entropy import EntropySource

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
        runs=8000,
        least=500,
    )


ENTRIES = (
    Entry("benchmark: tmf, law", _top_m_law_audit),
    Entry("benchmark: tmf, runs", _top_m_audit),
)
