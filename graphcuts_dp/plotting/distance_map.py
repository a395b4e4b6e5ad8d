"""A map whose vertices are coloured by their average distance to all people.

Answers to distance queries say how far all people are from each vertex of a public map, such as
stops of a network. The *best* vertex is the one with the least average distance; by the intervals
of the answers several vertices may be it. The map may have coordinates. Else igraph computes a
layout from its edges, for up to 1000 vertices also from their lengths. Everything that is drawn is
public: the map, and answers that are released.

Sizes of markers are areas in square points, widths of lines are in points.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix
from graphcuts_dp.plotting.labels import INCH, TITLE_SIZE, wrapped
from graphcuts_dp.plotting.style import AMOUNT_COLOURS, FRAME, GRID, INK, PAGE, drawing
from graphcuts_dp.resources import repeatable_igraph

# With more edges than this, edges are drawn thinner. With more vertices than this, vertices are
# drawn smaller, and a faster layout is computed.
_MANY = 1000
_MIN_RATIO, _MAX_RATIO = 0.25, 1.1  # of height to width of the map in the figure
_FLAT = 0.2  # ratio of height to width up to which a map is stretched
_MAP_WIDTH = 0.86  # part of the page that the map takes beside the colour bar
_TITLE_HEIGHT = 0.9  # inches, of title and legend


def distance_map_figure(
    points: FloatMatrix | None,
    edges: IntMatrix,
    lengths: FloatVector,
    *,
    values: FloatVector,
    possible: BoolVector,
    label: str,
    title: str,
    error: str = "",
    unit: str = "",
) -> Figure:
    """Draw a map with its answers.

    Args:
        points: coordinates of the vertices, shape (V, 2), equal units on both axes; None if the map
            has none.
        edges: pairs of row numbers, shape (E, 2).
        lengths: lengths of the edges, shape (E,).
        values: answers, shape (V,).
        possible: whether each vertex may be the best one, as far as the intervals tell, shape (V,).
        label: text beside the vertex with the least answer.
        title: title of the figure, with the guarantee.
        error: how wide the intervals of the answers are, in words; empty if it is not said.
        unit: unit of the lengths; empty if it is not said.

    Returns:
        A figure: dark vertices are near to all people, light ones far; those that may be the best
        are squares with a black rim, and the best one is a star with its name.
    """
    if points is None:
        points = _layout(edges, lengths, len(values))
    spans = np.ptp(points, axis=0)  # width and height of the map
    ratio = _MAX_RATIO  # also if all points are on a vertical line; such a map is stretched below
    if spans[0] > 0:
        ratio = float(np.clip(spans[1] / spans[0], _MIN_RATIO, _MAX_RATIO))
    with drawing(PAGE, PAGE * _MAP_WIDTH * ratio + _TITLE_HEIGHT) as (figure, axes):
        few_edges = len(edges) <= _MANY
        lines = LineCollection(
            list(points[edges]),
            colors=GRID,
            linewidths=0.6 if few_edges else 0.25,
            alpha=1.0 if few_edges else 0.5,
            zorder=1,
        )
        axes.add_collection(lines)
        shades = _draw_vertices(axes, points, values, possible)
        best = points[int(np.argmin(values))]
        is_right = bool(best[0] > points[:, 0].mean())  # so the label stays within the map
        _mark_best(axes, best, label, to_left=is_right)
        bar = figure.colorbar(shades, ax=axes, fraction=0.035, pad=0.02)
        bar.set_label("average distance to all people" + (f" ({unit})" if unit else ""))
        bar.outline.set_edgecolor(FRAME)  # the lightest end is white
        bar.outline.set_linewidth(0.5)
        # A unit of the coordinates is drawn equally long on both axes, with two exceptions: a map
        # whose height is at least 1.1 times its width, and a map whose height is at most 0.2 times
        # its width. These are stretched to fill the figure, so that a map that is nearly a line
        # does not vanish.
        keeps_units = ratio < _MAX_RATIO and spans[1] > _FLAT * spans[0]
        axes.set_aspect("equal" if keeps_units else "auto")
        axes.margins(0.03, 0.06)
        axes.set_axis_off()
        axes.set_title(wrapped(title, TITLE_SIZE, INCH * PAGE * _MAP_WIDTH))
        handles, _ = axes.get_legend_handles_labels()
        if error:
            handles.append(Line2D([], [], linestyle="", label=error))
        axes.legend(handles=handles, loc="lower left", fontsize=8, handletextpad=0.2)
    return figure


def _layout(edges: IntMatrix, lengths: FloatVector, size: int) -> FloatMatrix:
    """Return points for a map without coordinates, the same ones every time, shape (V, 2)."""
    with repeatable_igraph() as igraph:  # igraph with its random generator seeded
        graph = igraph.Graph(n=size, edges=edges.tolist())
        if size <= _MANY:
            layout = graph.layout_kamada_kawai(weights=lengths.tolist(), maxiter=50 * size)
        else:
            layout = graph.layout_drl()
    return np.array(layout.coords, dtype=np.float64)


def _draw_vertices(
    axes: Axes, points: FloatMatrix, values: FloatVector, possible: BoolVector
) -> PathCollection:
    """Draw all vertices: squares for those that may be the best, circles for the others.

    Returns:
        The squares. The caller makes the colour bar from them, which takes the colour scale of a
        collection; circles have the same scale.
    """
    size = 26 if len(values) <= _MANY else 6
    x, y = points.T

    def draw(mask: BoolVector, **appearance: Any) -> PathCollection:
        return axes.scatter(
            x[mask],
            y[mask],
            c=values[mask],
            cmap=AMOUNT_COLOURS.reversed(),
            vmin=float(values.min()),
            vmax=float(values.max()),
            **appearance,
        )

    draw(~possible, s=size, edgecolors=INK, linewidths=0.35, zorder=2)
    return draw(
        possible,
        s=1.5 * size,
        marker="s",
        edgecolors="black",
        linewidths=0.9,
        zorder=3,
        label="may be the best",
    )


def _mark_best(axes: Axes, point: FloatVector, label: str, *, to_left: bool) -> None:
    """Draw a star at the best vertex, and its label beside it, to the left or right."""
    x, y = point.tolist()
    axes.scatter(
        x,
        y,
        s=170,
        marker="*",
        color="white",
        edgecolors="black",
        linewidths=1.0,
        zorder=4,
        label="best answer",
    )
    axes.annotate(
        label,
        (x, y),
        xytext=(-9 if to_left else 9, 9),
        ha="right" if to_left else "left",
        textcoords="offset points",
        fontsize=9,
        fontweight="bold",
        zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )
