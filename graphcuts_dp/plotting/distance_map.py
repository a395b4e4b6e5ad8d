"""A map whose vertices are coloured by their answers: where all people are near."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix
from graphcuts_dp.plotting.style import PAGE, drawing
from graphcuts_dp.resources import repeatable_igraph

_MANY = 1000  # edges beyond which they are drawn thinner, vertices beyond which smaller


def _layout(edges: IntMatrix, lengths: FloatVector, size: int) -> FloatMatrix:
    """Points for a map without coordinates, the same ones every time, shape (V, 2)."""
    with repeatable_igraph() as igraph:
        graph = igraph.Graph(n=size, edges=edges.tolist())
        if size <= _MANY:
            found = graph.layout_kamada_kawai(weights=lengths.tolist(), maxiter=50 * size)
        else:
            found = graph.layout_drl()
    return np.array(found.coords, dtype=np.float64)


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
    """Draw a map.

    Args:
        points: of the vertices, shape (V, 2), equal units on both axes; None for a layout.
        edges: pairs of row numbers, shape (E, 2).
        lengths: of the edges, shape (E,).
        values: answers, shape (V,).
        possible: which vertices may be the best one, shape (V,).
        label: of the vertex with the least answer.
        title: what is shown, with the guarantee.
        error: how wide the intervals of the answers are, in words, or empty.
        unit: of the lengths, or empty.

    Returns:
        A figure: dark vertices are near to all people, light ones far; those that may be the best
        are squares with a black rim, and the best one is a star with its name.
    """
    points = _layout(edges, lengths, len(values)) if points is None else points
    spans = np.ptp(points, axis=0)
    ratio = float(np.clip(spans[1] / spans[0], 0.25, 1.1)) if spans[0] > 0 else 1.1
    with drawing(PAGE, PAGE * 0.86 * ratio + 0.9) as (figure, axes):
        few = len(edges) <= _MANY
        lines = LineCollection(
            list(points[edges]),
            colors="#c4c4c4",
            linewidths=0.6 if few else 0.25,
            alpha=1.0 if few else 0.5,
            zorder=1,
        )
        axes.add_collection(lines)
        shades = _draw_vertices(axes, points, values, possible, label)
        bar = figure.colorbar(shades, ax=axes, fraction=0.035, pad=0.02)
        bar.set_label("average distance to all people" + (f" ({unit})" if unit else ""))
        bar.outline.set_visible(False)
        axes.set_aspect("equal" if ratio < 1.1 and spans[1] > 0.2 * spans[0] else "auto")
        axes.margins(0.03, 0.06)
        axes.set_axis_off()
        axes.set_title(title)
        handles, _ = axes.get_legend_handles_labels()
        if error:
            handles.append(Line2D([], [], linestyle="", label=error))
        axes.legend(handles=handles, loc="lower left", fontsize=8, handletextpad=0.2)
    return figure


def _draw_vertices(
    axes: Axes, points: FloatMatrix, values: FloatVector, possible: BoolVector, label: str
) -> PathCollection:
    size = 26 if len(values) <= _MANY else 6
    limits, best = (float(values.min()), float(values.max())), int(np.argmin(values))
    x, y = points.T

    def draw(chosen: BoolVector, **look: Any) -> PathCollection:
        return axes.scatter(
            x[chosen],
            y[chosen],
            c=values[chosen],
            cmap="viridis",
            vmin=limits[0],
            vmax=limits[1],
            **look,
        )

    draw(~possible, s=size, edgecolors="#404040", linewidths=0.35, zorder=2)
    look = {"s": 1.5 * size, "marker": "s", "edgecolors": "black", "linewidths": 0.9}
    shades = draw(possible, zorder=3, label="may be the best", **look)
    axes.scatter(
        x[best],
        y[best],
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
        (x[best], y[best]),
        xytext=(9, 9),
        textcoords="offset points",
        fontsize=9,
        fontweight="bold",
        zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )
    return shades
