"""What a picture of flows shows, from the noisy table alone."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import QueryError
from graphcuts_dp.flows.base import FlowTable
from graphcuts_dp.graph.groups import GroupTree
from graphcuts_dp.graph.vertices import Label
from graphcuts_dp.plotting.flow_tables import FlowPicture, flow_map_figure, heat_map_figure

Places = Mapping[Label, Sequence[float]]


def picture(flows: FlowTable, level: str | None, title: str | None) -> FlowPicture:
    """The table of a level, as it is drawn."""
    place = flows.cells.place(level)
    name = flows.cells.levels[place - 1]
    names = flows.groups.levels[place - 1], flows.right_groups.levels[place - 1]
    possible = flows.cells.matrix(place, np.ones(flows.cells.size(place), dtype=np.bool_))
    low, _ = flows.intervals(level, simultaneous=True)
    mark = "" if flows.guarantee.is_private else ", seeded: not private"
    promise = f"epsilon = {flows.guarantee.epsilon:g}"
    if flows.guarantee.delta:
        promise += f", delta = {flows.guarantee.delta:g}"
    return FlowPicture(
        values=flows.values(level),
        low=low,
        possible=possible,
        rows=[str(label) for label in flows.groups.labels(names[0])],
        columns=[str(label) for label in flows.right_groups.labels(names[1])],
        breaks=(_breaks(flows.groups, names[0]), _breaks(flows.right_groups, names[1])),
        symmetric=flows.cells.symmetric,
        title=f"{title or f'Flows by {name}'} ({promise}{mark})",
        unit="weight" if flows.noisy.weighted else "edges",
    )


def _breaks(groups: GroupTree, level: str) -> list[tuple[str, int]]:
    """The groups of the level before and how many of this level's each of them holds."""
    place = groups.levels.index(level)
    if place == 0:
        return []
    above = groups.labels(groups.levels[place - 1])
    counts = np.bincount(groups.parents(level), minlength=len(above))
    return [(str(name), int(count)) for name, count in zip(above, counts, strict=True)]


def checked_places(flows: FlowTable, level: str | None, coordinates: Places) -> FloatMatrix:
    """Places of the groups of a level, shape (groups, 2).

    Raises:
        QueryError: a group without a place, places that are no pairs of numbers, or two sides.
    """
    if not flows.cells.one_set:
        raise QueryError("flows between two sides have no map: leave coordinates out")
    name = flows.groups.levels[flows.cells.place(level) - 1]
    labels = flows.groups.labels(name)
    missing = [label for label in labels if label not in coordinates]
    if missing:
        raise QueryError(
            f"{len(missing)} of {len(labels)} groups have no coordinates: {missing[0]!r:.60}"
        )
    try:
        found: npt.NDArray[np.float64] = np.array([coordinates[x] for x in labels], dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (len(labels), 2) or not np.isfinite(found).all():
        raise QueryError("coordinates are pairs of numbers: {'Texas': (-99.0, 31.5), ...}")
    return found


def drawn(
    flows: FlowTable, level: str | None, coordinates: Places | None, title: str | None
) -> Figure:
    """See `FlowStatistics.plot`."""
    if coordinates is None:
        return heat_map_figure(picture(flows, level, title))
    places = checked_places(flows, level, coordinates)
    return flow_map_figure(picture(flows, level, title), places)
