"""What a map of private answers shows."""

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.distances.answers import DistanceAnswers
from graphcuts_dp.plotting.distance_map import DistanceMap, distance_map_figure, layout


def drawn(made: DistanceAnswers, unit: str) -> Figure:
    """See `DistanceAnswers.plot`."""
    return distance_map_figure(drawing(made, unit))


def drawing(made: DistanceAnswers, unit: str = "") -> DistanceMap:
    """What a map of the answers shows; without coordinates, at points of a layout."""
    metric = made.metric
    entries = metric.lengths.tocoo()
    once = (entries.row < entries.col) & (metric.positions is None)  # else all pairs would be edges
    edges = np.column_stack([entries.row[once], entries.col[once]]).astype(np.int64)
    points = metric.coordinates
    if points is None:
        points = layout(edges, entries.data[once], len(metric))
    best = made.best
    labels = metric.vertices.labels
    possible = set(made.candidates)
    return DistanceMap(
        points=points,
        edges=edges,
        values=made.values,
        possible=np.array([label in possible for label in labels]),
        best=metric.row(best.vertex),
        label=f"{best.vertex}  {best.value:,.4g}{f' {unit}' if unit else ''}",
        title=f"How far all people are, on average (epsilon = {made.guarantee.epsilon:g}"
        f"{'' if made.guarantee.is_private else ', seeded: not private'})",
        unit=unit,
    )
