"""Tables per member: contact matrices and the social connectedness index."""

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import QueryError
from graphcuts_dp.flows.base import FlowTable
from graphcuts_dp.flows.statistic_values import CellStatistic


def contacts(
    flows: FlowTable, level: str | None, confidence: float, simultaneous: bool
) -> CellStatistic:
    """Ends of edges of a group over its members; see `FlowStatistics.contacts`."""
    left, _ = _sizes(flows, level)
    factor = np.repeat(1 / left[:, None], flows.cells.shape(flows.cells.place(level))[1], axis=1)
    if flows.cells.symmetric:  # an edge inside is a contact of both of its ends
        factor[np.diag_indices_from(factor)] *= 2
    return _scaled(flows, level, factor, "contacts per head", confidence, simultaneous)


def social_connectedness(
    flows: FlowTable, level: str | None, largest: float, confidence: float, simultaneous: bool
) -> CellStatistic:
    """Cells over products of sizes; see `FlowStatistics.social_connectedness`."""
    if not (isinstance(largest, float | int) and 0 < largest < np.inf):
        raise QueryError("the largest index must be a number above 0, for example 1e6")
    left, right = _sizes(flows, level)
    factor = 1 / (left[:, None] * right[None, :])
    top = float((flows.values(level) * factor).max())
    if top > 0:
        factor *= largest / top
    name = "social connectedness index"
    return _scaled(flows, level, factor, name, confidence, simultaneous)


def _sizes(flows: FlowTable, level: str | None) -> tuple[FloatMatrix, FloatMatrix]:
    place = flows.cells.place(level) - 1
    left = flows.groups.sizes(flows.groups.levels[place])
    right = flows.right_groups.sizes(flows.right_groups.levels[place])
    return left.astype(np.float64), right.astype(np.float64)


def _scaled(
    flows: FlowTable,
    level: str | None,
    factor: FloatMatrix,
    name: str,
    confidence: float,
    simultaneous: bool,
) -> CellStatistic:
    """Each cell times a number: so are its estimate and its interval."""
    place = flows.cells.place(level)
    low, high = flows.intervals(level, confidence=confidence, simultaneous=simultaneous)
    return CellStatistic(
        name=name,
        level=flows.cells.levels[place - 1],
        rows=flows.groups.labels(flows.groups.levels[place - 1]),
        columns=flows.right_groups.labels(flows.right_groups.levels[place - 1]),
        values=flows.values(level) * factor,
        low=np.nextafter(low * factor, -np.inf),
        high=np.nextafter(high * factor, np.inf),
        confidence=confidence,
        simultaneous=simultaneous,
        seeded=not flows.guarantee.is_private,
    )
