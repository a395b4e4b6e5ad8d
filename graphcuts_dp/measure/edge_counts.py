"""Measure how many edges a graph with weights has, and how many weights are fractional.

A fit gives a weight to every pair. These counts say how many of them should be edges, and whether
weights are whole numbers.
"""

from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.estimate.measurement import CountMeasurement, EdgeCounts
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.statistics import draw
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise

# Share of epsilon for the number of edges. The number of fractional weights gets the other third,
# since it just decides whether weights are whole.
_NUMBER_SHARE = Fraction(2, 3)


def count_edges(graph: AnyGraph) -> tuple[IntVector, IntVector]:
    """Return the private numbers of edges and of fractional weights, shape (1,) each.

    An edge is a pair that weighs more than 0. A weight is fractional if it is no whole number.

    Sensitivity: 1 each. Neighbours differ in the weight of one pair, by any amount. That pair is an
    edge or not, and its weight is whole or not, so each number changes by at most 1.
    """
    weights = graph.weights
    fractional = weights != np.floor(weights)
    return (
        np.array([np.count_nonzero(weights > 0)], dtype=np.int64),
        np.array([np.count_nonzero(fractional)], dtype=np.int64),
    )


def measure_edge_counts(
    graph: AnyGraph, *, epsilon: Fraction, source: EntropySource
) -> CountMeasurement[EdgeCounts]:
    """Return the numbers of edges and of fractional weights with discrete Laplace noise.

    Args:
        graph: the private graph.
        epsilon: privacy parameter of both numbers together, exact.
        source: where the noise comes from.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in the weight of
    one pair: between 0 and the maximum weight, or by at most `max_weight_change`. Each number
    changes by at most 1 (`count_edges`). Independent noise with P(k) proportional to e^(-rate |k|)
    is rate-DP for it, exactly; the rates are 2/3 and 1/3 of epsilon, and costs add up.
    Side channel: counting takes time proportional to the number of edges.
    Source: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.
    """
    rates = (epsilon * _NUMBER_SHARE, epsilon * (1 - _NUMBER_SHARE))
    return draw(
        "edges",
        EdgeCounts(),
        [[count] for count in count_edges(graph)],
        [(1, 1), (1, 1)],
        unit=1.0,
        noise=LevelNoise("laplace", rates),
        source=source,
    )
