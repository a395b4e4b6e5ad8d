"""Audits of noisy entries, for every noise and kind of graph, and of what is made of them.

Fits and baselines are audited by the synthetic graph that comes out.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import cast

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.noises import NOISES, noise_distribution
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.plugins import EntropySource, NoiseDistribution, SeededEntropy
from graphcuts_dp.privacy.staircase import Staircase, StaircaseNoise, best_inner
from graphcuts_dp.synth.methods import FIT_NAMES
from scripts.benchmark.baselines import BASELINES, chung_lu, noisy_degrees
from tests.audits.base import Audit, Sampled, Variants, audited, audited_runs
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
Variant = Callable[[NoiseDistribution, EntropySource], Runner]
_PAIRS = np.triu_indices(4, 1)


def released(noisy: NoisyMatrix) -> FloatVector:
    """The released integers of a graph of four vertices, or of another kind, by pair."""
    steps = noisy.steps.astype(np.float64)
    return steps[_PAIRS] if noisy.symmetric else steps.ravel()


def honest(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """The mechanism as it is."""
    return lambda graph: released(randomized_response(graph, distribution, source))


# Incorrect variants. Each is a mistake that somebody could make.


def half_the_noise(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Calibrated to twice epsilon."""
    name, cap = distribution.name, distribution.max_weight
    return honest(
        noise_distribution(name, epsilon=2 * distribution.epsilon, max_weight=cap), source
    )


def last_pair_missing(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """A loop that ends one pair too early."""

    def variant(graph: AnyGraph) -> FloatVector:
        noise = _noise(distribution, source)
        noise[-1] = 0
        return _hidden(graph, distribution, noise)

    return variant


def noise_reused(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Two pairs share their noise."""

    def variant(graph: AnyGraph) -> FloatVector:
        noise = _noise(distribution, source)
        noise[-1] = noise[2]
        noise[0] = noise[1]
        return _hidden(graph, distribution, noise)

    return variant


def seed_reused_after_fork(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Two processes that inherit one stream: two releases with the same noise."""

    def variant(graph: AnyGraph) -> FloatVector:
        seed = seed_of(source)
        first, second = (
            released(randomized_response(data, distribution, SeededEntropy(seed)))
            for data in (gc.Graph([], [], vertices=4), graph)
        )
        return second - first

    return variant


def edges_alone_noised(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Pairs without an edge are left at zero."""

    def variant(graph: AnyGraph) -> FloatVector:
        hidden = _hidden(graph, distribution, _noise(distribution, source))
        return np.where(graph.dense()[_PAIRS] > 0, hidden, 0.0)

    return variant


def noise_from_the_density(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Epsilon depends on the private number of edges."""

    def variant(graph: AnyGraph) -> FloatVector:
        epsilon = distribution.epsilon * (1 + 2 * len(graph.rows))
        own = noise_distribution(distribution.name, epsilon=epsilon, max_weight=1.0)
        return honest(own, source)(graph)

    return variant


def sensitivity_one(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Noise for weights that change by 1, on weights that change by the cap."""
    sound = noise_distribution(distribution.name, epsilon=distribution.epsilon)
    factor = distribution.unit / sound.unit if distribution.name == "laplace" else 1.0

    def variant(graph: AnyGraph) -> FloatVector:
        uncapped = gc.Graph(graph.rows, graph.columns, graph.weights * factor, vertices=4)
        return released(randomized_response(uncapped, sound, source))

    return variant


def clipped_before_noise(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Clipped at the largest weight of the data, which also sets the noise."""

    def variant(graph: AnyGraph) -> FloatVector:
        cap = float(graph.weights.max())
        own = noise_distribution("laplace", epsilon=distribution.epsilon, max_weight=cap)
        private = gc.Graph(graph.rows, graph.columns, graph.weights, vertices=4, max_weight=cap)
        return released(randomized_response(private, own, source)) * own.unit

    return variant


def _with_noise(
    noise: Staircase, distribution: StaircaseNoise, source: EntropySource, far: bool = False
) -> Runner:
    """Other noise on the same grid; with `far`, that outside of the top is a period farther out."""

    def variant(graph: AnyGraph) -> FloatVector:
        drawn = noise.draw_many(6, source)
        outside = far * (np.abs(drawn) >= noise.inner)
        return _hidden(graph, distribution, drawn + outside * noise.period * np.sign(drawn))

    return variant


def staircase_of_one(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """The period of weights up to 1, on weights that change by the cap."""
    sound = cast(StaircaseNoise, distribution)
    period = round(1 / sound.unit)
    noise = Staircase(sound.epsilon, period, best_inner(sound.epsilon, period))
    return _with_noise(noise, sound, source)


def one_period_too_far(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Outside of the top, noise begins a period later: nothing lies between."""
    sound = cast(StaircaseNoise, distribution)
    return _with_noise(sound.noise, sound, source, far=True)


def twice_the_step(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Each step of the staircase falls by e^(-2 epsilon)."""
    sound = cast(StaircaseNoise, distribution)
    return _with_noise(replace(sound.noise, epsilon=2 * sound.epsilon), sound, source)


def noise_shared_by_both_arcs(distribution: NoiseDistribution, source: EntropySource) -> Runner:
    """Noise of an undirected graph: u -> v and v -> u get the same."""

    def variant(graph: AnyGraph) -> FloatVector:
        drawn = np.zeros(graph.shape)
        drawn[np.triu_indices(len(drawn), 1)] = _noise(distribution, source, pairs=3)
        noise, weights = drawn + drawn.T, np.floor(graph.dense() / distribution.unit)
        return (np.abs(noise - graph.dense()) if distribution.bits else noise + weights).ravel()

    return variant


def _noise(distribution: NoiseDistribution, source: EntropySource, pairs: int = 6) -> FloatVector:
    none = np.empty(0), np.empty(0, dtype=np.int64)
    return distribution.respond(pairs, *none, source).astype(np.float64)


def _hidden(graph: AnyGraph, distribution: NoiseDistribution, noise: FloatVector) -> FloatVector:
    """What the distribution releases when its noise for the empty graph is `noise`."""
    dense = graph.dense()[_PAIRS]
    return (
        np.abs(noise - dense) if distribution.bits else noise + np.floor(dense / distribution.unit)
    )


_HALF: dict[str, Variant] = {"half the noise": half_the_noise}
_OF_ENTRIES: dict[str, Variant] = _HALF | {
    "last pair missing": last_pair_missing,
    "noise reused": noise_reused,
    "seed reused after fork": seed_reused_after_fork,
    "edges alone noised": edges_alone_noised,
    "noise from the density": noise_from_the_density,
}
_OF_ARCS: dict[str, Variant] = _HALF | {"noise shared by both arcs": noise_shared_by_both_arcs}
_OF_STAIRS: dict[str, Variant] = _HALF | {
    "sensitivity 1 for the cap": staircase_of_one,
    "one period too far": one_period_too_far,
    "each step down twice": twice_the_step,
}
_OF_WEIGHTS: dict[str, Variant] = _HALF | {
    "sensitivity 1 for the cap": sensitivity_one,
    "clipped before noise": clipped_before_noise,
}
# By the ending of an entry's name: the noise, the neighbours, the incorrect variants.
_KINDS: dict[str, tuple[str, tuple[Neighbours, ...], dict[str, Variant]]] = {
    "binary, directed": ("binary", DIRECTED, _OF_ARCS),
    "laplace, directed": ("laplace", DIRECTED, _OF_ARCS),
    "laplace, cap 0.3": ("laplace", capped(0.3), _HALF),
    "discrete-laplace, cap 8": ("discrete-laplace", capped(8.0), _OF_WEIGHTS),
    "laplace, no cap": ("laplace", UNCAPPED, _HALF),
    "staircase, cap 8": ("staircase", capped(8.0), _OF_STAIRS),
    "staircase, directed": ("staircase", DIRECTED, _OF_ARCS),
}


def _entries(
    noise: str,
    pairs: tuple[Neighbours, ...],
    incorrect_variants: dict[str, Variant],
    variant_pairs: tuple[Neighbours, ...],
    epsilon: float,
) -> Audit:
    distribution = distribution_for(pairs[0].first, noise, epsilon)
    cost = distribution.cost
    return Sampled(
        claim=Claim(cost.epsilon, cost.delta),
        pairs=pairs,
        start=partial(honest, distribution),
        incorrect_variants={
            name: partial(variant, distribution) for name, variant in incorrect_variants.items()
        },
        variant_pairs=variant_pairs,
    )


@audited("response, {}", NOISES, covers="release: randomized-response, {}")
def _every_noise(noise: str, epsilon: float) -> Audit:
    return _entries(noise, (*PLAIN, *BIPARTITE), _OF_ENTRIES, (LAST_PAIR, HUB), epsilon)


@audited("response, {}", _KINDS)
def _every_kind(kind: str, epsilon: float) -> Audit:
    return _entries(*_KINDS[kind], (), epsilon)


# Fits.

_RUNS = {"game": 200, "maximum-entropy": 1200, "auto": 1200}  # the others are faster


@audited_runs(
    "fit: {}",
    FIT_NAMES,
    pairs=(LAST_PAIR,),
    incorrect_variants={"isolated vertices left alone": {"peeks": True}},
    runs=lambda fit: _RUNS.get(fit, 2000),
    slow=True,
)
def _fitted(
    fit: str, epsilon: float, graph: gc.Graph, source: EntropySource, peeks: bool = False
) -> FloatVector:
    """If it peeks, vertices that are isolated in the private graph stay isolated."""
    made = quietly(gc.release_graph, graph, epsilon=epsilon, fit=fit, seed=seed_of(source))
    dense = made.noisy.estimate() if fit == "none" else made.graph.dense()
    kept = graph.dense().any(axis=1) if peeks else np.ones(4, dtype=bool)
    return (dense * np.logical_and.outer(kept, kept))[_PAIRS]


# Baselines.

_ROUNDS = 10  # noisy degrees of four vertices seldom fit a graph: do not wait for them
_CHUNG_LU = "noisy degrees, Chung-Lu"


def _with_sum(matrix: FloatMatrix) -> FloatVector:
    return np.append(matrix[_PAIRS], matrix[_PAIRS].sum())


def _chung_lu(epsilon: float, graph: gc.Graph, source: EntropySource, peeks: bool) -> FloatVector:
    """The baseline with fewer rounds: post-processing, the same noise."""
    degrees = noisy_degrees(graph, Fraction(epsilon), source)
    if peeks:
        degrees = np.where(graph.dense().any(axis=1), degrees, 0)
    return _with_sum(chung_lu(degrees, max_rounds=_ROUNDS))


def _true_count(_: str, epsilon: float, graph: gc.Graph, source: EntropySource) -> FloatVector:
    """The m largest noisy entries, m being the true number of edges."""
    distribution = noise_distribution("laplace", epsilon=epsilon, max_weight=1.0)
    noisy = randomized_response(graph, distribution, source).estimate()[_PAIRS]
    kept = noisy >= np.sort(noisy)[::-1][len(graph.rows) - 1] if len(graph.rows) else noisy > 99
    return np.append(kept, kept.sum()).astype(np.float64)


def _raw_count(_: str, _epsilon: float, graph: gc.Graph, _source: EntropySource) -> FloatVector:
    return np.full(7, len(graph.rows) / 6, dtype=np.float64)


def _clipped_at_true_degrees(
    _: str, epsilon: float, graph: gc.Graph, source: EntropySource
) -> FloatVector:
    distribution = noise_distribution("binary", epsilon=epsilon, max_weight=1.0)
    noisy = randomized_response(graph, distribution, source).estimate()
    bound = np.minimum.outer(*[graph.dense().sum(axis=1)] * 2)
    clipped: FloatVector = np.clip(noisy, 0, bound)[_PAIRS]
    return clipped


_BROKEN: dict[str, Variants] = {
    "raw matrix": {"a quarter of the noise": {"factor": 4}},
    "elementwise clip": {"clipped at true degrees": _clipped_at_true_degrees},
    "density only": {"m used raw": _raw_count},
    _CHUNG_LU: {"isolated vertices left alone": {"peeks": True}},
    "top-m filter": {"m used raw": _true_count},
}


@audited_runs(
    "baseline: {}",
    BASELINES,
    pairs=(LAST_PAIR, HUB),
    incorrect_variants=_BROKEN.__getitem__,
    runs=4000,
)
def _baseline(
    name: str,
    epsilon: float,
    graph: gc.Graph,
    source: EntropySource,
    factor: int = 1,
    peeks: bool = False,
) -> FloatVector:
    if name == _CHUNG_LU:
        return _chung_lu(epsilon, graph, source, peeks)
    made = BASELINES[name](graph, epsilon=factor * epsilon, seed=seed_of(source))
    return _with_sum(made.matrix)
