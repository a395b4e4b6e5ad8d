"""Pictures of partitions: the matrix with vertices ordered by part, or the vertices on a map.

A partition divides the vertices into numbered parts. `blocks_figure` draws a heat map. As a graph
may have too many vertices for a row each, a part is divided into *bins*, groups of vertices. Bins
are in the order of the parts, and a cell is the weight between two bins. `map_figure` draws
vertices at public positions, with a colour and a shape for each part.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.plotting.flow_maps import map_extent, place_names
from graphcuts_dp.plotting.flow_tables import FlowPicture, heat_map_figure
from graphcuts_dp.plotting.labels import INCH, Boxes, framed_figure
from graphcuts_dp.plotting.palette import SERIES
from graphcuts_dp.plotting.style import FRAME, PAGE, house_style

# A shape for each colour of `SERIES`, so that parts differ in grey, too. The seventh part and all
# later ones have the last colour and shape.
_MARKERS = "os^DvPX"
_LONGEST_NAME = 28  # characters of a name; longer ones lose their middle
_HEIGHT = 0.55 * PAGE * INCH  # of a map, in points
_GAP = 6.0  # around a map, in points
_MAX_NAMED = 12  # vertices on a map up to which each has its name


def blocks_figure(
    weights: FloatMatrix, bins: IntVector, *, title: str, unit: str, last_is_part: bool = True
) -> Figure:
    """Draw weights between bins of vertices as a heat map, with lines between the parts.

    Args:
        weights: weight between each two bins, shape (bins, bins), symmetric.
        bins: how many bins each part has, shape (parts,).
        title: title of the figure, with the guarantee.
        unit: unit of the weights: "edges" or "weight".
        last_is_part: whether the last entry of `bins` is of one part. Else it is of all smaller
            parts together, and named "others".
    """
    names = [str(part) for part in range(1, len(bins) + 1)]
    if not last_is_part:
        names[-1] = "others"
    # Name and number of bins of each part. The heat map draws lines between them, and names only
    # them, since no names of single bins are given.
    enclosing = list(zip(names, bins.tolist(), strict=True))
    positive_weights = np.maximum(weights, 0)
    return heat_map_figure(
        FlowPicture(
            values=positive_weights,
            half_widths=None,
            low=positive_weights,  # lower ends of intervals, which a heat map does not read
            possible=np.ones(weights.shape, dtype=np.bool_),
            enclosing=(enclosing, enclosing),
            title=title,
            unit=unit,
        )
    )


def map_figure(
    positions: Mapping[Any, tuple[float, float]],
    labels: Sequence[Any],
    parts: IntVector,
    *,
    title: str,
) -> Figure:
    """Draw vertices at their positions, each part in a colour and shape of its own.

    Args:
        positions: longitude and latitude, or a point of any plane, by label; vertices without one
            are left out.
        labels: labels of all vertices.
        parts: part of each vertex, from 0 on, shape (n,).
        title: title of the figure, with the guarantee.

    Raises:
        GraphError: no vertex has a position.
    """
    rows = [row for row, label in enumerate(labels) if label in positions]
    if not rows:
        raise GraphError("no vertex has a position; give {vertex: (x, y), ...}")
    points = np.array([positions[labels[row]] for row in rows], dtype=np.float64)
    last_style = len(_MARKERS) - 1
    styles = np.minimum(parts[rows], last_style)
    low, high = map_extent(points)
    width = PAGE * INCH - 2 * _GAP
    scale = min(width / (high - low)[0], _HEIGHT / (high - low)[1])  # points of a unit
    middle, half = (low + high) / 2, np.array([width, _HEIGHT]) / 2 / scale
    low, high = middle - half, middle + half
    handles: list[Artist] = []
    for style in np.unique(styles).tolist():
        label = f"part {style + 1}"
        # All parts from the seventh on, counted over all vertices, have the last style.
        if style == last_style and parts.max() > last_style:
            label += " and others"
        handles.append(
            Line2D(
                [],
                [],
                linestyle="",
                markersize=5,
                color=SERIES[style],
                marker=_MARKERS[style],
                label=label,
            )
        )
    with house_style():
        boxes = Boxes(width=width, height=_HEIGHT, below=_GAP)
        figure, (axes,), _ = framed_figure(title, boxes, handles)
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        for style in np.unique(styles).tolist():
            x, y = points[styles == style].T
            axes.scatter(x, y, s=22, c=SERIES[style], marker=_MARKERS[style], zorder=3)
        if len(rows) <= _MAX_NAMED:
            shown = zip(rows, points.tolist(), strict=True)
            names = [(x, y, str(labels[row])) for row, (x, y) in shown]
            place_names(axes, names, scale, [], _LONGEST_NAME)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color(FRAME)
        axes.spines[:].set_linewidth(0.5)
    return figure
