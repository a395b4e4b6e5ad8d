"""Audits of noisy entries, for every noise and kind of graph, and of what is made of them.

Fits and baselines are audited by the synthetic graph that comes out.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.noisy_matrix import NOISES, NoisyMatrix, noise_distribution
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.noise import EntropySource, SeededEntropy
from graphcuts_dp.synth.methods import FIT_NAMES
from scripts.benchmark.baselines import BASELINES, chung_lu, noisy_degrees
from tests.audits.base import Audit, Sampled, audited
from tests.audits.graphs import (
    BIPARTITE,
    DIRECTED,
    HUB,
    LAST_PAIR,
    PLAIN,
    UNCAPPED,
    capped,
    quietly,
    seed_of,
)

Runner = Callable[[AnyGraph], FloatVector]
Twin = Callable[[NoiseDistribution, EntropySource], Runner]
_PAIRS = np.triu_indices(4, 1)


def released(noisy: NoisyMatrix) -> FloatVector:
    """The released integers of a graph of four vertices, or of another kind, by pair."""
    steps = noisy.steps.astype(np.float64)
    return steps[_PAIRS] if noisy.symmetric else steps.ravel()


def honest(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """The mechanism as it is."""
    return lambda graph: released(randomized_response(graph, distribution, source))


# Broken twins. Each is a mistake that somebody could make.


def half_the_noise(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Calibrated to twice epsilon."""
    name, cap = distribution.name, distribution.weight_cap
    return honest(
        noise_distribution(name, epsilon=2 * distribution.epsilon, weight_cap=cap), source
    )


def last_pair_missing(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """A loop that ends one pair too early."""

    def twin(graph: AnyGraph) -> FloatVector:
        noise = _noise(distribution, source)
        noise[-1] = 0
        return _hidden(graph, distribution, noise)

    return twin


def noise_reused(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Two pairs share their noise."""

    def twin(graph: AnyGraph) -> FloatVector:
        noise = _noise(distribution, source)
        noise[-1] = noise[2]
        noise[0] = noise[1]
        return _hidden(graph, distribution, noise)

    return twin


def seed_reused_after_fork(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Two processes that inherit one stream: two releases with the same noise."""

    def twin(graph: AnyGraph) -> FloatVector:
        seed = seed_of(source)
        first, second = (
            released(randomized_response(data, distribution, SeededEntropy(seed)))
            for data in (gc.Graph([], [], vertices=4), graph)
        )
        return second - first

    return twin


def edges_alone_noised(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Pairs without an edge are left at zero."""

    def twin(graph: AnyGraph) -> FloatVector:
        hidden = _hidden(graph, distribution, _noise(distribution, source))
        return np.where(graph.dense()[_PAIRS] > 0, hidden, 0.0)

    return twin


def noise_from_the_density(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Epsilon depends on the private number of edges."""

    def twin(graph: AnyGraph) -> FloatVector:
        epsilon = distribution.epsilon * (1 + 2 * len(graph.rows))
        own = noise_distribution(distribution.name, epsilon=epsilon, weight_cap=1.0)
        return honest(own, source)(graph)

    return twin


def sensitivity_one(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Noise for weights that change by 1, on weights that change by the cap."""
    sound = noise_distribution(distribution.name, epsilon=distribution.epsilon)
    factor = distribution.unit / sound.unit if distribution.name == "laplace" else 1.0

    def twin(graph: AnyGraph) -> FloatVector:
        uncapped = gc.Graph(graph.rows, graph.columns, graph.weights * factor, vertices=4)
        return released(randomized_response(uncapped, sound, source))

    return twin


def clipped_before_noise(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Clipped at the largest weight of the data, which also sets the noise."""

    def twin(graph: AnyGraph) -> FloatVector:
        cap = float(graph.weights.max())
        own = noise_distribution("laplace", epsilon=distribution.epsilon, weight_cap=cap)
        private = gc.Graph(graph.rows, graph.columns, graph.weights, vertices=4, weight_cap=cap)
        return released(randomized_response(private, own, source)) * own.unit

    return twin


def noise_shared_by_both_arcs(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Noise of an undirected graph: u -> v and v -> u get the same."""

    def twin(graph: AnyGraph) -> FloatVector:
        drawn = np.zeros(graph.shape)
        drawn[np.triu_indices(len(drawn), 1)] = _noise(distribution, source, pairs=3)
        noise, weights = drawn + drawn.T, np.floor(graph.dense() / distribution.unit)
        return (np.abs(noise - graph.dense()) if distribution.bits else noise + weights).ravel()

    return twin


def _noise(distribution: NoiseDistribution, source: EntropySource, pairs: int = 6) -> FloatVector:
    none = np.empty(0), np.empty(0, dtype=np.int64)
    return distribution.respond(pairs, *none, source).astype(np.float64)


def _hidden(graph: AnyGraph, distribution: NoiseDistribution, noise: FloatVector) -> FloatVector:
    """What the distribution releases when its noise for the empty graph is `noise`."""
    dense = graph.dense()[_PAIRS]
    return (
        np.abs(noise - dense) if distribution.bits else noise + np.floor(dense / distribution.unit)
    )


_HALF: dict[str, Twin] = {"half the noise": half_the_noise}
_OF_ENTRIES: dict[str, Twin] = _HALF | {
    "last pair missing": last_pair_missing,
    "noise reused": noise_reused,
    "seed reused after fork": seed_reused_after_fork,
    "edges alone noised": edges_alone_noised,
    "noise from the density": noise_from_the_density,
}
_OF_ARCS: dict[str, Twin] = _HALF | {"noise shared by both arcs": noise_shared_by_both_arcs}
_OF_WEIGHTS: dict[str, Twin] = _HALF | {
    "sensitivity 1 for the cap": sensitivity_one,
    "clipped before noise": clipped_before_noise,
}
# By what is added to the name of the noise: the noise, neighbours and twins, and whose they are.
_KINDS: dict[str, tuple[str, tuple[Neighbours, ...], dict[str, Twin]]] = {
    "binary, directed": ("binary", DIRECTED, _OF_ARCS),
    "laplace, directed": ("laplace", DIRECTED, _OF_ARCS),
    "laplace, cap 0.3": ("laplace", capped(0.3), _HALF),
    "discrete-laplace, cap 8": ("discrete-laplace", capped(8.0), _OF_WEIGHTS),
    "laplace, no cap": ("laplace", UNCAPPED, _HALF),
}


def _entries(
    noise: str,
    pairs: tuple[Neighbours, ...],
    twins: dict[str, Twin],
    twin_pairs: tuple[Neighbours, ...],
    epsilon: float,
) -> Audit:
    distribution = distribution_for(pairs[0].first, noise, epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=pairs,
        start=partial(honest, distribution),
        twins={name: partial(twin, distribution) for name, twin in twins.items()},
        twin_pairs=twin_pairs,
    )


@audited("response, {}", NOISES, covers="release: response, {}")
def _every_noise(noise: str, epsilon: float) -> Audit:
    return _entries(noise, (*PLAIN, *BIPARTITE), _OF_ENTRIES, (LAST_PAIR, HUB), epsilon)


@audited("response, {}", _KINDS)
def _every_kind(kind: str, epsilon: float) -> Audit:
    return _entries(*_KINDS[kind], (), epsilon)


# Fits.

Run = Callable[[gc.Graph], FloatVector]
_RUNS = {"game": 200, "maximum-entropy": 1200, "auto": 1200}  # the others are faster


def _fitted(fit: str, peeks: bool, epsilon: float, source: EntropySource) -> Run:
    """If it peeks, vertices that are isolated in the private graph stay isolated."""

    def run(graph: gc.Graph) -> FloatVector:
        made = quietly(gc.release_graph, graph, epsilon=epsilon, fit=fit, seed=seed_of(source))
        dense = made.noisy.estimate() if fit == "none" else made.graph.dense()
        kept = graph.dense().any(axis=1) if peeks else np.ones(4, dtype=bool)
        return (dense * np.logical_and.outer(kept, kept))[_PAIRS]

    return run


@audited("fit: {}", FIT_NAMES, slow=True)
def _fit(fit: str, epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=(LAST_PAIR,),
        start=partial(_fitted, fit, False, epsilon),
        twins={"isolated vertices left alone": partial(_fitted, fit, True, epsilon)},
        runs=_RUNS.get(fit, 2000),
    )


# Baselines.

_ROUNDS = 10  # noisy degrees of four vertices seldom fit a graph: do not wait for them
_CHUNG_LU = "noisy degrees, Chung-Lu"


def _baseline(name: str, epsilon: float, source: EntropySource) -> Run:
    def run(graph: gc.Graph) -> FloatVector:
        matrix = BASELINES[name](graph, epsilon=epsilon, seed=seed_of(source)).matrix[_PAIRS]
        return np.append(matrix, matrix.sum())

    return run


def _chung_lu(peeks: bool, epsilon: float, source: EntropySource) -> Run:
    """The baseline with fewer rounds: post-processing, the same noise."""

    def run(graph: gc.Graph) -> FloatVector:
        degrees = noisy_degrees(graph, Fraction(epsilon), source)
        if peeks:
            degrees = np.where(graph.dense().any(axis=1), degrees, 0)
        matrix = chung_lu(degrees, max_rounds=_ROUNDS)[_PAIRS]
        return np.append(matrix, matrix.sum())

    return run


def _true_count(epsilon: float, source: EntropySource) -> Run:
    """The m largest noisy entries, m being the true number of edges."""
    distribution = noise_distribution("laplace", epsilon=epsilon, weight_cap=1.0)

    def run(graph: gc.Graph) -> FloatVector:
        noisy = randomized_response(graph, distribution, source).estimate()[_PAIRS]
        kept = noisy >= np.sort(noisy)[::-1][len(graph.rows) - 1] if len(graph.rows) else noisy > 99
        return np.append(kept, kept.sum()).astype(np.float64)

    return run


def _raw_count(_epsilon: float, _source: EntropySource) -> Run:
    return lambda graph: np.full(7, len(graph.rows) / 6, dtype=np.float64)


def _clipped_at_true_degrees(epsilon: float, source: EntropySource) -> Run:
    distribution = noise_distribution("binary", epsilon=epsilon, weight_cap=1.0)

    def run(graph: gc.Graph) -> FloatVector:
        noisy = randomized_response(graph, distribution, source).estimate()
        bound = np.minimum.outer(*[graph.dense().sum(axis=1)] * 2)
        clipped: FloatVector = np.clip(noisy, 0, bound)[_PAIRS]
        return clipped

    return run


def _a_quarter(epsilon: float, source: EntropySource) -> Run:
    return _baseline("raw matrix", 4 * epsilon, source)


_BROKEN: dict[str, tuple[str, Callable[[float, EntropySource], Run]]] = {
    "raw matrix": ("a quarter of the noise", _a_quarter),
    "elementwise clip": ("clipped at true degrees", _clipped_at_true_degrees),
    "density only": ("m used raw", _raw_count),
    _CHUNG_LU: ("isolated vertices left alone", partial(_chung_lu, True)),
    "top-m filter": ("m used raw", _true_count),
}


@audited("baseline: {}", BASELINES)
def _baselines(name: str, epsilon: float) -> Audit:
    broken, twin = _BROKEN[name]
    made = partial(_chung_lu, False) if name == _CHUNG_LU else partial(_baseline, name)
    return Sampled(
        claim=Claim(epsilon),
        pairs=(LAST_PAIR, HUB),
        start=partial(made, epsilon),
        twins={broken: partial(twin, epsilon)},
        runs=4000,
    )
