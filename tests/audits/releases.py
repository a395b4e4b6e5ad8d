"""Audits of what is made from noisy data: synthetic graphs of all fits, and the baselines."""

import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import AccuracyWarning, PrivacyWarning
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.releases import release_graph
from graphcuts_dp.synth.methods import FIT_NAMES
from scripts.benchmark.baselines import BASELINES, chung_lu, noisy_degrees
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.graphs import HUB, LAST_PAIR, seed_of

Run = Callable[[Graph], FloatVector]
_PAIRS = np.triu_indices(4, 1)
_RUNS = {"game": 200, "maximum-entropy": 1200, "auto": 1200}  # the others are faster
_ROUNDS = 10  # noisy degrees of four vertices seldom fit a graph: do not wait for them


def _fitted(fit: str, epsilon: float, source: EntropySource) -> Run:
    def run(graph: Graph) -> FloatVector:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            warnings.simplefilter("ignore", PrivacyWarning)
            made = release_graph(graph, epsilon=epsilon, fit=fit, seed=seed_of(source))
        dense = made.noisy.estimate() if fit == "none" else made.graph.dense()
        return dense[_PAIRS]

    return run


def _fit_that_peeks(fit: str, epsilon: float, source: EntropySource) -> Run:
    """Vertices that are isolated in the private graph stay isolated."""
    fitted = _fitted(fit, epsilon, source)

    def run(graph: Graph) -> FloatVector:
        kept = graph.dense().any(axis=1)
        return fitted(graph) * np.logical_and.outer(kept, kept)[_PAIRS]

    return run


def _baseline(name: str, epsilon: float, source: EntropySource) -> Run:
    if name == "noisy degrees, Chung-Lu":
        return partial(_chung_lu, epsilon, source, False)

    def run(graph: Graph) -> FloatVector:
        matrix = BASELINES[name](graph, epsilon=epsilon, seed=seed_of(source)).matrix[_PAIRS]
        return np.append(matrix, matrix.sum())

    return run


def _chung_lu(epsilon: float, source: EntropySource, peeks: bool, graph: Graph) -> FloatVector:
    """The baseline with fewer rounds: post-processing, the same noise."""
    degrees = noisy_degrees(graph, Fraction(epsilon), source)
    if peeks:
        degrees = np.where(graph.dense().any(axis=1), degrees, 0)
    matrix = chung_lu(degrees, max_rounds=_ROUNDS)[_PAIRS]
    return np.append(matrix, matrix.sum())


# Broken twins of the baselines.


def _peeking_chung_lu(epsilon: float, source: EntropySource) -> Run:
    return partial(_chung_lu, epsilon, source, True)


def _true_count(epsilon: float, source: EntropySource) -> Run:
    """The m largest noisy entries, m being the true number of edges."""
    distribution = noise_distribution("laplace", epsilon=epsilon, weight_cap=1.0)

    def run(graph: Graph) -> FloatVector:
        noisy = randomized_response(graph, distribution, source).estimate()[_PAIRS]
        kept = noisy >= np.sort(noisy)[::-1][len(graph.rows) - 1] if len(graph.rows) else noisy > 99
        return np.append(kept, kept.sum()).astype(np.float64)

    return run


def _raw_count(epsilon: float, source: EntropySource) -> Run:
    """M used raw."""
    del epsilon, source
    return lambda graph: np.full(7, len(graph.rows) / 6, dtype=np.float64)


def _clipped_at_true_degrees(epsilon: float, source: EntropySource) -> Run:
    distribution = noise_distribution("binary", epsilon=epsilon, weight_cap=1.0)

    def run(graph: Graph) -> FloatVector:
        noisy = randomized_response(graph, distribution, source).estimate()
        bound = np.minimum.outer(*[graph.dense().sum(axis=1)] * 2)
        clipped: FloatVector = np.clip(noisy, 0, bound)[_PAIRS]
        return clipped

    return run


def _less_noise(name: str, epsilon: float, source: EntropySource) -> Run:
    return _baseline(name, 4 * epsilon, source)


_TWINS: dict[str, dict[str, Callable[[float, EntropySource], Run]]] = {
    "raw matrix": {"a quarter of the noise": partial(_less_noise, "raw matrix")},
    "elementwise clip": {"clipped at true degrees": _clipped_at_true_degrees},
    "density only": {"m used raw": _raw_count},
    "noisy degrees, Chung-Lu": {"isolated vertices left alone": _peeking_chung_lu},
    "top-m filter": {"m used raw": _true_count},
}


def _baseline_audit(name: str, epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=(LAST_PAIR, HUB),
        start=partial(_baseline, name, epsilon),
        twins={broken: partial(twin, epsilon) for broken, twin in _TWINS[name].items()},
        runs=4000,
    )


def _fit_audit(fit: str, epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=(LAST_PAIR,),
        start=partial(_fitted, fit, epsilon),
        twins={"isolated vertices left alone": partial(_fit_that_peeks, fit, epsilon)},
        runs=_RUNS.get(fit, 2000),
    )


ENTRIES = (
    *(
        Entry(f"baseline: {name}", partial(_baseline_audit, name), (f"baseline: {name}",))
        for name in BASELINES
    ),
    *(
        Entry(f"fit: {fit}", partial(_fit_audit, fit), (f"fit: {fit}",), slow=True)
        for fit in FIT_NAMES
    ),
)
