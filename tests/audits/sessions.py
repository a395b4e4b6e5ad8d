"""Audits of sessions that add noise to every answer, one of them on its ledger."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.privacy.noise import EntropySource, SeededEntropy
from graphcuts_dp.session.base import CutMechanism
from graphcuts_dp.session.plain import BinaryAnswers, PerQueryNoise
from graphcuts_dp.session.queries import linear_count
from graphcuts_dp.session.session import open_session
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.graphs import seed_of
from tests.audits.transcripts import EDGE, PAIRS, UNIVERSE, Run, transcript

REST = CutQuery([0], [1, 2, 3])
_CAPPED = (
    Neighbours(
        "none and the cap",
        Graph([0], [1], [2.0], vertices=4, weight_cap=2.0),
        Graph([0, 2], [1, 3], [2.0, 2.0], vertices=4, weight_cap=2.0),
    ),
)


def _plain(make: Callable[[], CutMechanism[Any]], source: EntropySource) -> Run:
    return transcript(make(), source)


def _per_query(
    epsilon: float, queries: int = 2, *, delta: float = 0.0, grid: Grid | None = None
) -> PerQueryNoise:
    return PerQueryNoise(
        distribution="gaussian" if delta else "laplace",
        universe=UNIVERSE,
        grid=grid or Grid(),
        epsilon=epsilon,
        queries=queries,
        delta=delta,
    )


def _binary(epsilon: float) -> BinaryAnswers:
    return BinaryAnswers(universe=UNIVERSE, grid=Grid(), epsilon=epsilon, queries=2)


def _same_noise(make: Callable[[], CutMechanism[Any]], source: EntropySource) -> Run:
    """The noise of the first answer again for the second, which is about another cut."""
    mechanism = make()

    def run(graph: Graph) -> FloatVector:
        seed = seed_of(source)
        state, values = mechanism.start(graph, source), []
        for query in (CutQuery([0], [3]), EDGE):
            truth = mechanism.grid.count(query, graph)
            state, answer = mechanism.step(state, query, truth, SeededEntropy(seed))
            values.append(answer.value)
        return np.array(values)

    return run


def _without_the_last_pair(epsilon: float, source: EntropySource) -> Run:
    """The noisy matrix has no noise on its last pair: its answer is read there."""
    honest = _plain(lambda: _binary(epsilon), source)

    def run(graph: Graph) -> FloatVector:
        seen = np.asarray(honest(graph))
        seen[1] = graph.dense()[2, 3]
        return seen

    return run


def _laplace_audit(epsilon: float) -> Audit:
    def honest() -> PerQueryNoise:
        return _per_query(epsilon)

    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_plain, honest),
        twins={
            "half the noise": partial(_plain, lambda: _per_query(2 * epsilon)),
            "continue after the cap": partial(_plain, lambda: _per_query(6 * epsilon, 12)),
            "noise reused": partial(_same_noise, honest),
        },
    )


def _weights_audit(epsilon: float) -> Audit:
    """Weights up to 2: a cut moves by 2, and the noise is for that."""
    grid = Grid.of(_CAPPED[0].first)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_CAPPED,
        start=partial(_plain, lambda: _per_query(epsilon, grid=grid)),
        # Twice epsilon with the right grid is the noise of half its sensitivity.
        twins={"sensitivity 1 for 2": partial(_plain, lambda: _per_query(2 * epsilon, grid=grid))},
    )


def _gaussian_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon, _DELTA),
        pairs=PAIRS,
        start=partial(_plain, lambda: _per_query(epsilon, delta=_DELTA)),
        twins={
            "a third of the noise": partial(_plain, lambda: _per_query(4 * epsilon, delta=_DELTA)),
            "noise reused": partial(_same_noise, lambda: _per_query(epsilon, delta=_DELTA)),
        },
    )


_DELTA = 0.02  # so large that runs see what it is for; the usual ones are audited by calculation


def _linear(make: Callable[[], PerQueryNoise], factor: int, source: EntropySource) -> Run:
    """One linear query, of which the pair that is hidden has the largest coefficient, below 0.

    Args:
        make: the mechanism.
        factor: of the counts: above 1 as if a coefficient were larger than the noise is made for.
        source: of the noise.
    """
    mechanism, query = make(), MatrixQuery(_SIGNED)
    counted = {
        id(graph): factor * linear_count(query, graph, mechanism.grid)
        for graph in (PAIRS[0].first, PAIRS[0].second)
    }

    def run(graph: Graph) -> FloatVector:
        state = mechanism.start(graph, source)
        _, answer = mechanism.step(state, query, counted[id(graph)], source)
        return np.array([answer.value])

    return run


_SIGNED = np.zeros((4, 4))  # 1 for one pair, -3 for the one that is hidden
_SIGNED[0, 1], _SIGNED[2, 3] = 1.0, -3.0


def _linear_audit(epsilon: float) -> Audit:
    """The answer moves by its largest coefficient, down."""

    def honest() -> PerQueryNoise:
        return _per_query(epsilon, 1)

    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_linear, honest, 1),
        twins={
            "half the noise": partial(_linear, lambda: _per_query(2 * epsilon, 1), 1),
            "coefficients larger than the noise": partial(_linear, honest, 3),
        },
    )


def _binary_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_plain, lambda: _binary(epsilon)),
        twins={
            "half the noise": partial(_plain, lambda: _binary(2 * epsilon)),
            "last pair missing": partial(_without_the_last_pair, epsilon),
        },
    )


def _on_disk(names: tuple[str, str], epsilon: float, source: EntropySource) -> Run:
    """Sessions on one ledger, closed and opened again between all answers.

    The first cut is asked again at the end, which is free in the same session. In another session
    it is answered afresh, and has to be paid for.
    """

    def run(graph: Graph) -> FloatVector:
        seed, values = seed_of(source), []
        with tempfile.TemporaryDirectory() as folder:
            for name, query in ((names[0], EDGE), (names[0], REST), (names[1], EDGE)):
                with open_session(
                    graph,
                    store=Path(folder) / "store.db",
                    name=name,
                    epsilon=epsilon,
                    queries=2,
                    method="laplace",
                    seed=seed,
                ) as session:
                    values.append(session.ask_all([query])[0].value)
        return np.array([*values, values[0] + values[2]])

    return run


def _on_disk_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_on_disk, ("one", "one"), epsilon),
        # Each spends epsilon/2 on the first cut, so four of them are twice epsilon.
        twins={"continue after the cap": partial(_on_disk, ("one", "two"), 4 * epsilon)},
        runs=500,
    )


ENTRIES = (
    Entry("session: laplace", _laplace_audit, ("session: laplace",)),
    Entry("session: laplace, cap 2", _weights_audit),
    Entry("session: laplace, on its ledger", _on_disk_audit, slow=True),
    Entry("session: laplace, linear queries", _linear_audit),
    Entry("session: gaussian", _gaussian_audit, ("session: gaussian",)),
    Entry("session: binary", _binary_audit, ("session: binary",)),
)
