"""Audits of the measured number of edges, and of edges with fractional weights."""

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


def _observations(noisy_counts: tuple[int, int], side: Side, epsilon: float) -> list[float]:
    """Return ln(Q/P) of both noisy counts, P on the first neighbour, and the counts."""
    rates = (Fraction(epsilon) * Fraction(2, 3), Fraction(epsilon) / 3)
    first_counts, second_counts = (count_edges(graph) for graph in (side.first, side.second))
    ratio = 0.0
    for noisy, first, second, rate in zip(
        noisy_counts, first_counts, second_counts, rates, strict=True
    ):
        ratio += laplace_gain(np.array([noisy]), first, second, rate)
    return [ratio, *map(float, noisy_counts)]


def _noisy_counts(graph: AnyGraph, epsilon: float, source: EntropySource) -> tuple[int, int]:
    counts = measure_edge_counts(graph, epsilon=Fraction(epsilon), source=source)
    assert isinstance(counts.map, EdgeCounts)
    (edges,), (fractional,) = counts.steps
    return int(edges), int(fractional)


def _one_noise_for_both(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """Use the noise of the first count for the second, too: their difference has none."""
    edges, _ = _noisy_counts(side.graph, epsilon, source)
    true_edges, true_fractional = (int(count[0]) for count in count_edges(side.graph))
    fractional = true_fractional + edges - true_edges
    return [*_observations((edges, fractional), side, epsilon), float(edges - fractional)]


def _weights_in_place_of_edges(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """Count the quarters of the total weight, with the noise of a number of edges."""
    edges, fractional = _noisy_counts(side.graph, epsilon, source)
    noise = edges - len(side.graph.weights)
    quarters = round(4 * float(side.graph.weights.sum()))
    return _observations((quarters + noise, fractional), side, epsilon)


@audited_runs(
    "numbers of edges",
    pairs=_PAIRS,
    incorrect_variants={
        "half the noise": {"factor": 2},
        "one noise for both": _one_noise_for_both,
        "weights in place of edges": _weights_in_place_of_edges,
    },
    runs=8000,
)
def _run_edge_counts(
    epsilon: float, side: Side, source: EntropySource, factor: int = 1
) -> list[float]:
    return _observations(_noisy_counts(side.graph, factor * epsilon, source), side, epsilon)
