"""Audits of the benchmark's simple contenders, by what they hand in.

The others of this package are public functions or baselines, which have audits of their own.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import EntropySource
from scripts.benchmark.baselines import noisy_degrees
from scripts.benchmark.contenders.simple import DRAWN, GROUP_SUMS, drawn_graph
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.graphs import HUB, LAST_PAIR, seed_of

Run = Callable[[Graph], FloatVector]
_PAIRS = np.triu_indices(4, 1)
_CELLS = (0, 1, 5)  # of these pairs: one within each half, and one between them
_SIZES = np.array([1, 4, 1])


def _halves(graph: Graph) -> Groups:
    return Groups(graph.vertices, {"half": [0, 0, 1, 1]})


def _sums(epsilon: float, source: EntropySource) -> Run:
    """The noisy sums that group-sums spreads, and their total."""

    def run(graph: Graph) -> FloatVector:
        made = GROUP_SUMS.method(
            graph, epsilon=epsilon, delta=0.0, groups=_halves(graph), seed=seed_of(source)
        )
        cells = np.asarray(made.estimate)[_PAIRS][list(_CELLS)] * _SIZES
        return np.append(cells, cells.sum())

    return run


def _scaled_sums(epsilon: float, source: EntropySource) -> Run:
    """Sums that are made to add up to the true number of edges."""
    honest = _sums(epsilon, source)

    def run(graph: Graph) -> FloatVector:
        cells = honest(graph)
        return np.append(cells[:3] + (len(graph.rows) - cells[3]) / 3, len(graph.rows))

    return run


def _less_noise(made: Callable[[float, EntropySource], Run], epsilon: float) -> Callable[..., Run]:
    return partial(made, 4 * epsilon)


def _group_sums_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=(LAST_PAIR, HUB),
        start=partial(_sums, epsilon),
        twins={
            "a quarter of the noise": _less_noise(_sums, epsilon),
            "scaled to the true number of edges": partial(_scaled_sums, epsilon),
        },
        runs=4000,
    )


def _drawn(epsilon: float, source: EntropySource) -> Run:
    """The drawn graph, and its number of edges."""

    def run(graph: Graph) -> FloatVector:
        made = DRAWN.method(graph, epsilon=epsilon, delta=0.0, groups=None, seed=seed_of(source))
        return _counted(made.estimate)

    return run


def _true_count(epsilon: float, source: EntropySource) -> Run:
    """As many draws as there are edges."""

    def run(graph: Graph) -> FloatVector:
        noisy = noisy_degrees(graph, Fraction(epsilon), source)
        random = np.random.default_rng(seed_of(source))
        universe, count = Universe.of(graph), len(graph.rows)
        return _counted(drawn_graph(noisy, noisy, random, universe, count=count))

    return run


def _isolated(epsilon: float, source: EntropySource) -> Run:
    """Vertices without edges stay without."""

    def run(graph: Graph) -> FloatVector:
        noisy = noisy_degrees(graph, Fraction(epsilon), source)
        noisy = np.where(graph.dense().any(axis=1), np.maximum(noisy, 1), 0)
        random = np.random.default_rng(seed_of(source))
        return _counted(drawn_graph(noisy, noisy, random, Universe.of(graph)))

    return run


def _counted(estimate: object) -> FloatVector:
    matrix = estimate.toarray()[_PAIRS]  # type: ignore[attr-defined]  # a sparse array
    return np.append(matrix, matrix.sum())


def _drawn_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=(LAST_PAIR, HUB),
        start=partial(_drawn, epsilon),
        twins={
            "m used raw": partial(_true_count, epsilon),
            "isolated vertices left alone": partial(_isolated, epsilon),
        },
        runs=4000,
    )


ENTRIES: tuple[Entry, ...] = (
    Entry("benchmark: group-sums", _group_sums_audit),
    Entry("benchmark: degrees-drawn", _drawn_audit),
)
