"""Audits of the squared distance of a fit, and of all that a release with a fit measures."""

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


def _nothing(graph: AnyGraph) -> FittedWeights:
    """A fit without any weight, of which an edge changes the squared distance most."""
    units = np.zeros(graph.shape, dtype=np.uint16)
    return FittedWeights(units, _layout(graph), graph.max_weight or 1.0, 0.0, 0.0)


def _private(graph: AnyGraph) -> FittedWeights:
    """The private graph itself as the fit: chosen after looking, and shown by its squares."""
    units = np.rint(graph.dense() / (graph.max_weight or 1.0) * GRID_STEPS).astype(np.uint16)
    return FittedWeights(units, _layout(graph), graph.max_weight or 1.0, 0.0, 0.0)


@audited_runs(
    "squared distance of a fit",
    pairs=(*map(sides, (LAST_PAIR, HUB, _WEIGHTED, *BIPARTITE, *DIRECTED)),),
    incorrect_variants={
        "half the sensitivity": {"factor": 2},
        "one direction's sensitivity": {"factor": 3},
        "a fit that is chosen after looking": {"fit": _private},
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
    fit: Callable[[AnyGraph], FittedWeights] = _nothing,
) -> list[float]:
    """What the released integer tells of the pair, and it with what is public of the fit."""
    fitted, exact = fit(side.graph), factor * Fraction(epsilon)
    measured = measure_squared_distance(
        side.graph, fitted, whole=False, epsilon=exact, source=source
    )
    released = int(measured.steps[0][0])
    before, after = (
        squared_distance(graph, fitted, whole=False) for graph in (side.first, side.second)
    )
    gain = laplace_gain(released, before, after, float(measured.rate))
    return [gain, float(released + fitted.squares), float(fitted.squares)]
