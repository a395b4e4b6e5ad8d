"""Audits of the measured squared distance between a fit and the private graph."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from graphcuts_dp.estimate.mean_square import GRID_STEPS, FittedWeights
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.mean_square import measure_squared_distance, squared_distance
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.schema.layout import Layout
from tests.audits.base import audited_runs
from tests.audits.graphs import BIPARTITE, DIRECTED, HUB, LAST_PAIR, Side, capped, sides
from tests.audits.losses import laplace_gain

_WEIGHTED = capped(0.5)[0]


def _layout(graph: AnyGraph) -> Layout:
    return Layout.of(graph.space)


def _empty_fit(graph: AnyGraph) -> FittedWeights:
    """Return a fit of weights 0: there an edge changes the squared distance most."""
    units = np.zeros(graph.shape, dtype=np.uint16)
    return FittedWeights(units, _layout(graph), graph.max_weight or 1.0, 0.0, 0.0)


def _private_fit(graph: AnyGraph) -> FittedWeights:
    """Return the private graph as the fit, whose public squares then show it."""
    units = np.rint(graph.dense() / (graph.max_weight or 1.0) * GRID_STEPS).astype(np.uint16)
    return FittedWeights(units, _layout(graph), graph.max_weight or 1.0, 0.0, 0.0)


@audited_runs(
    "squared distance of a fit",
    pairs=(*map(sides, (LAST_PAIR, HUB, _WEIGHTED, *BIPARTITE, *DIRECTED)),),
    incorrect_variants={
        "half the sensitivity": {"factor": 2},
        "one direction's sensitivity": {"factor": 3},
        "a fit that is chosen after looking": {"fit": _private_fit},
    },
    variant_pairs=(*map(sides, (LAST_PAIR, DIRECTED[0])),),
    runs=10_000,
    why_below_half=(
        "One noisy number tells neighbours apart with probability 1/2 at most, so few runs prove "
        "little of it."
    ),
)
def _squared_distance(
    epsilon: float,
    side: Side,
    source: EntropySource,
    factor: int = 1,
    fit: Callable[[AnyGraph], FittedWeights] = _empty_fit,
) -> list[float]:
    """Return ln(Q/P) of the noisy distance, the distance, and the public squares of the fit."""
    fitted = fit(side.graph)
    measurement = measure_squared_distance(
        side.graph, fitted, whole=False, epsilon=factor * Fraction(epsilon), source=source
    )
    noisy = int(measurement.steps[0][0])
    before, after = (
        squared_distance(graph, fitted, whole=False) for graph in (side.first, side.second)
    )
    ratio = laplace_gain(noisy, before, after, float(measurement.rate))
    return [ratio, float(noisy + fitted.squares), float(fitted.squares)]
