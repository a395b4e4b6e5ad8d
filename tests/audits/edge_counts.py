"""Audits of the numbers of edges of a graph with weights, from what a whole release measures."""

from fractions import Fraction

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import EdgeCounts
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.edge_counts import count_edges, measure_edge_counts
from graphcuts_dp.plugins import EntropySource
from tests.audits.base import audited_runs
from tests.audits.graphs import Side, one_more, sides
from tests.audits.losses import laplace_gain

_PAIRS = tuple(
    map(
        sides,
        (
            one_more("a fractional edge", [0, 1], [1, 2], [2.0, 2.5], max_weight=4.0),
            one_more(
                "a whole arc",
                [0, 1],
                [1, 0],
                [2.5, 2.0],
                kind=gc.DirectedGraph,
                max_weight=4.0,
            ),
            Neighbours(
                "a weight by 1",
                gc.Graph([0], [1], [30.25], vertices=4, max_weight_change=1),
                gc.Graph([0, 1], [1, 2], [30.25, 0.5], vertices=4, max_weight_change=1),
            ),
        ),
    )
)


def _gain(values: tuple[int, int], side: Side, epsilon: float) -> list[float]:
    """The log likelihood ratio of both numbers, and the numbers."""
    rates = (Fraction(epsilon) * Fraction(2, 3), Fraction(epsilon) / 3)
    gain = 0.0
    for place, (seen, rate) in enumerate(zip(values, rates, strict=True)):
        first, second = (count_edges(graph)[place] for graph in (side.first, side.second))
        gain += laplace_gain(np.array([seen]), first, second, rate)
    return [gain, *map(float, values)]


def _measured(graph: AnyGraph, epsilon: float, source: EntropySource) -> tuple[int, int]:
    counts = measure_edge_counts(graph, epsilon=Fraction(epsilon), source=source)
    assert isinstance(counts.map, EdgeCounts)
    (edges,), (fractional,) = counts.steps
    return int(edges), int(fractional)


def _one_noise(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """The noise of the first number serves for the second, too: their difference has none."""
    edges, _ = _measured(side.graph, epsilon, source)
    true_edges, true_fractional = (int(count[0]) for count in count_edges(side.graph))
    seen = edges, edges - true_edges + true_fractional
    difference = seen[0] - seen[1]
    return [*_gain(seen, side, epsilon), float(difference)]


def _weights_counted(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """The total weight with the noise of a number of edges."""
    edges, fractional = _measured(side.graph, epsilon, source)
    moved = round(4 * float(side.graph.weights.sum()))
    return _gain((edges - len(side.graph.weights) + moved, fractional), side, epsilon)


@audited_runs(
    "numbers of edges",
    pairs=_PAIRS,
    incorrect_variants={
        "half the noise": {"factor": 2},
        "one noise for both": _one_noise,
        "weights in place of edges": _weights_counted,
    },
    runs=8000,
)
def _honest(epsilon: float, side: Side, source: EntropySource, factor: int = 1) -> list[float]:
    return _gain(_measured(side.graph, factor * epsilon, source), side, epsilon)
