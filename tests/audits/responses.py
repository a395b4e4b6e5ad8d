"""Audits of randomised response: every noise, weights, two sides, and whole releases."""

from collections.abc import Callable
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.noisy_matrix import NOISES, NoisyMatrix, noise_distribution
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.noise import EntropySource, SeededEntropy
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.graphs import (
    BIPARTITE,
    DIRECTED,
    HUB,
    LAST_PAIR,
    PLAIN,
    UNCAPPED,
    capped,
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
    return honest(
        noise_distribution(
            distribution.name, epsilon=2 * distribution.epsilon, weight_cap=distribution.weight_cap
        ),
        source,
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
            for data in (Graph([], [], vertices=4), graph)
        )
        return np.array([*(second - first)])

    return twin


def edges_alone_noised(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Pairs without an edge are left at zero."""

    def twin(graph: AnyGraph) -> FloatVector:
        return np.where(
            graph.dense()[_PAIRS] > 0, _hidden(graph, distribution, _noise(distribution, source)), 0
        ).astype(np.float64)

    return twin


def noise_from_the_density(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Epsilon depends on the private number of edges."""

    def twin(graph: AnyGraph) -> FloatVector:
        epsilon = distribution.epsilon * (1 + 2 * len(graph.rows))
        return honest(
            noise_distribution(distribution.name, epsilon=epsilon, weight_cap=1.0), source
        )(graph)

    return twin


def sensitivity_one(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Noise for weights that change by 1, on weights that change by the cap."""
    sound = noise_distribution(distribution.name, epsilon=distribution.epsilon)

    def twin(graph: AnyGraph) -> FloatVector:
        weights = (
            graph.weights * distribution.unit / sound.unit
            if distribution.name == "laplace"
            else graph.weights
        )
        uncapped = Graph(graph.rows, graph.columns, weights, vertices=4)
        return released(randomized_response(uncapped, sound, source))

    return twin


def clipped_before_noise(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Clipped at the largest weight of the data, which also sets the noise."""

    def twin(graph: AnyGraph) -> FloatVector:
        cap = float(graph.weights.max())
        own = noise_distribution("laplace", epsilon=distribution.epsilon, weight_cap=cap)
        ends = graph.rows, graph.columns, graph.weights
        private = Graph(*ends, vertices=4, weight_cap=cap)
        return released(randomized_response(private, own, source)) * own.unit

    return twin


def noise_shared_by_both_arcs(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Noise of an undirected graph: u -> v and v -> u get the same."""

    def twin(graph: AnyGraph) -> FloatVector:
        none = np.empty(0), np.empty(0, dtype=np.int64)
        drawn = np.zeros(graph.shape)
        drawn[np.triu_indices(len(drawn), 1)] = distribution.respond(3, *none, source)
        noise, weights = drawn + drawn.T, np.floor(graph.dense() / distribution.unit)
        shown = np.abs(noise - graph.dense()) if distribution.bits else noise + weights
        return np.asarray(shown, dtype=np.float64).ravel()

    return twin


_OF_ENTRIES: dict[str, Twin] = {
    "half the noise": half_the_noise,
    "last pair missing": last_pair_missing,
    "noise reused": noise_reused,
    "seed reused after fork": seed_reused_after_fork,
    "edges alone noised": edges_alone_noised,
    "noise from the density": noise_from_the_density,
}
_OF_ARCS: dict[str, Twin] = {
    "half the noise": half_the_noise,
    "noise shared by both arcs": noise_shared_by_both_arcs,
}
_OF_WEIGHTS: dict[str, Twin] = {
    "half the noise": half_the_noise,
    "sensitivity 1 for the cap": sensitivity_one,
    "clipped before noise": clipped_before_noise,
}


def _noise(distribution: NoiseDistribution, source: EntropySource) -> FloatVector:
    none = np.empty(0), np.empty(0, dtype=np.int64)
    return distribution.respond(6, *none, source).astype(np.float64)


def _hidden(graph: AnyGraph, distribution: NoiseDistribution, noise: FloatVector) -> FloatVector:
    """What the distribution releases when its noise for the empty graph is `noise`."""
    dense = graph.dense()[_PAIRS]
    if distribution.bits:
        return np.abs(noise - dense)
    return noise + np.floor(dense / distribution.unit)


def _audit(
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


def _entry(
    name: str,
    noise: str,
    pairs: tuple[Neighbours, ...],
    twins: dict[str, Twin],
    covers: tuple[str, ...] = (),
    twin_pairs: tuple[Neighbours, ...] = (),
) -> Entry:
    return Entry(name, partial(_audit, noise, pairs, twins, twin_pairs), covers)


ENTRIES = (
    *(
        _entry(
            f"response, {noise}",
            noise,
            (*PLAIN, *BIPARTITE),
            _OF_ENTRIES,
            (f"release: response, {noise}",),
            (LAST_PAIR, HUB),
        )
        for noise in NOISES
    ),
    *(
        _entry(f"response, {noise}, directed", noise, DIRECTED, _OF_ARCS)
        for noise in ("binary", "laplace")
    ),
    _entry(
        "response, laplace, cap 0.3",
        "laplace",
        capped(0.3),
        {"half the noise": half_the_noise},
    ),
    _entry("response, discrete-laplace, cap 8", "discrete-laplace", capped(8.0), _OF_WEIGHTS),
    _entry(
        "response, laplace, no cap",
        "laplace",
        UNCAPPED,
        {"half the noise": half_the_noise},
    ),
)
