"""Randomised response on all pairs: what distinguishers that are paid once read from then on."""

from fractions import Fraction

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.offline.rank_one import checked_graph, matrix_of_pairs, pair_places
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import noise_distribution


def noisy_pairs(
    graph: AnyGraph, universe: Universe, distribution: NoiseDistribution, source: EntropySource
) -> FloatMatrix:
    """An unbiased noisy value for each pair, as a matrix over the universe.

    Args:
        graph: the private graph.
        universe: its public vertex pairs.
        distribution: of the noise.
        source: where it comes from.

    Guarantee: purely epsilon-DP with the distribution's epsilon: neighbours differ in one pair, and
    one noisy value depends on it.

    Raises:
        ParameterError: other vertices, or a distribution for another weight cap or without weights.
    """
    checked_graph(graph, universe)
    if distribution.weight_cap != graph.weight_cap or (distribution.bits and graph.weighted):
        raise ParameterError("the distribution of noise does not suit the graph's weights")
    steps = distribution.respond(universe.size, graph.weights, pair_places(graph), source)
    return matrix_of_pairs(distribution.estimate(steps), universe)


def rescaled(distribution: NoiseDistribution, epsilon: Fraction) -> NoiseDistribution:
    """The distribution of the same kind with another epsilon."""
    return noise_distribution(
        distribution.name, epsilon=epsilon, weight_cap=distribution.weight_cap
    )
