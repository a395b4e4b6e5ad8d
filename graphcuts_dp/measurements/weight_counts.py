"""How many edges of a private graph weigh how much."""

from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measurements.noisy_weights import NoisyWeightCounts, weight_classes
from graphcuts_dp.measurements.parts import PartedGraph, summed
from graphcuts_dp.measurements.steps import whole_steps
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace


def measure_weight_counts(
    graph: AnyGraph | PartedGraph,
    distribution: LaplaceNoise,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> NoisyWeightCounts:
    """How many pairs have a weight in each of a few public classes, with discrete Laplace noise.

    Args:
        graph: the private graph.
        distribution: of the noise of each pair with all of epsilon; tells the steps that weights
            are rounded down to, and the classes.
        epsilon: privacy parameter of all counts together, exact.
        source: where the noise comes from.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in one pair.
    That pair leaves at most one class and enters at most one other; no other pair moves. So the L1
    sensitivity is 2 where there are several classes, and 1 where there is one, that of all edges of
    a graph without weights. Independent noise with P(k) proportional to e^(-rate |k|),
    rate = epsilon over that sensitivity, is epsilon-DP. Classes are public: they depend on epsilon
    and the cap alone.
    Side channel: counting takes time proportional to the number of edges.
    """
    lower = weight_classes(1 / float(distribution.rate), distribution.most_steps)
    (counts,) = summed(graph, _counted, distribution, lower)
    sensitivity = min(2, len(lower))
    rate = epsilon / sensitivity
    counts = counts + sample_discrete_laplace(rate, len(lower), source)
    counts.flags.writeable = False
    return NoisyWeightCounts(lower, counts, distribution.unit, rate, sensitivity * rate)


def _counted(graph: AnyGraph, distribution: LaplaceNoise, lower: IntVector) -> list[IntVector]:
    """How many edges are in each class. Private."""
    steps = whole_steps(graph, distribution)
    places = np.searchsorted(lower, steps, side="right")  # 0: no whole step
    return [np.bincount(places, minlength=len(lower) + 1)[1:].astype(np.int64)]
