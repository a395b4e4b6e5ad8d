"""The high-pass filter: noisy weights of the edges that a threshold leaves, and no others.

Grid noise in place of floats. The threshold is the least one that the guarantee needs: neighbours
differ in one pair, so that no logarithm of the number of pairs is needed as in the paper, where no
pair at all may pass wrongly. Without weights, 1 lies so far below the threshold that hardly any
edge passes, so that it is the empty graph on all graphs of the benchmark but heavy-300: the method
is for heavy edges of which a change by 1 is hidden. A maximum weight widens noise and threshold,
since a pair may then change by all of it.
"""

import math
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import whole_steps
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import LARGEST_STEPS, LaplaceNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.benchmark.contenders.opening import Run, contender


def threshold_of(distribution: LaplaceNoise, delta: float) -> int:
    """Return the least threshold that an edge of at most one change passes with probability delta.

    T steps with P(s + K >= T) = e^(-rate (T - s))/(1 + e^-rate) <= delta, T > s, where s is by how
    much one weight may differ between neighbours. Rounded up against float error.

    Args:
        distribution: of the noise K.
        delta: in (0, 1).
    """
    rate = float(distribution.rate)
    beyond = (-math.log(delta) - math.log1p(math.exp(-rate))) / rate
    margin = 1 + math.floor(max(beyond, 0.0) * (1 + 1e-12) + 1e-9)
    return distribution.sensitivity_steps + margin


def passing_delta(distribution: LaplaceNoise, threshold: int) -> float:
    """Return the probability that an edge as heavy as one change passes the threshold."""
    rate = float(distribution.rate)
    beyond = threshold - distribution.sensitivity_steps
    return math.exp(-rate * beyond) / (1 + math.exp(-rate))


def passed(
    weights: FloatVector, distribution: LaplaceNoise, *, threshold: int, source: EntropySource
) -> FloatVector:
    """Return noisy weights of edges, 0 below the threshold; only positive ones may be published.

    Args:
        weights: of the edges, shape (edges,).
        distribution: of the noise of each.
        threshold: in steps, public.
        source: where the noise comes from.

    Guarantee: (epsilon, delta)-DP for the pairs with what is above 0, epsilon that of the
    distribution, delta = `passing_delta`, neighbours being graphs that differ in the weight of one
    pair, by at most s steps. The noise of pairs is independent, so that what comes out differs in
    law at that pair alone. If it is an edge of both graphs, both get noise on numbers at most s
    steps apart: epsilon, and a filter by a public threshold. If it is an edge of one, there it
    weighs at most s steps, and passes with probability delta at most; in the other it never
    passes. So with probability 1 - delta at least nothing is seen of it in both.
    """
    noisy = whole_steps(weights, distribution.unit, LARGEST_STEPS)
    noisy += sample_discrete_laplace(distribution.rate, len(noisy), source)
    passing_weights: FloatVector = np.where(noisy >= threshold, noisy, 0) * distribution.unit
    return passing_weights


def filter_cost(distribution: LaplaceNoise, threshold: int) -> Cost:
    """Return the cost of `passed`."""
    return Cost(epsilon=float(distribution.epsilon), delta=passing_delta(distribution, threshold))


def high_pass_filter(run: Run) -> AnyGraph:
    """Release the noisy weights of the edges that reach a threshold.

    Weights need a public bound or `max_weight_change=1`.

    Guarantee: (epsilon, delta)-DP; see `passed`.
    Source: Liu, Upadhyay, Zou, "Optimal bounds on private graph approximation", SODA 2024, and
    "Almost linear time differentially private release of synthetic graphs", 2024.
    """
    graph: AnyGraph = run.graph
    distribution = grid_noise(graph, run.epsilon)
    threshold = threshold_of(distribution, run.delta)
    run.spend(filter_cost(distribution, threshold))
    weights = passed(graph.weights, distribution, threshold=threshold, source=run.source)
    passes = weights > 0
    return run.made(graph.rows[passes], graph.columns[passes], weights[passes])


def grid_noise(graph: AnyGraph, epsilon: Fraction) -> LaplaceNoise:
    """Return Laplace noise for one weight; of whole steps if the graph has no weights."""
    name = "laplace" if graph.weighted else "discrete-laplace"
    distribution = noise_distribution(name, epsilon=epsilon, max_weight=graph.max_weight)
    if not isinstance(distribution, LaplaceNoise):
        raise TypeError("expected Laplace noise")
    return distribution


HIGH_PASS_FILTER = contender(
    high_pass_filter,
    name="high-pass-filter",
    source=(
        "Liu, Upadhyay, Zou: Optimal bounds on private graph approximation, SODA 2024; Almost "
        "linear time differentially private release of synthetic graphs, 2024"
    ),
    kinds=frozenset({"undirected", "directed", "bipartite"}),
    weights=True,
    unbounded_weights=True,
    most_vertices=1_000_000,
    needs_delta=True,
)
