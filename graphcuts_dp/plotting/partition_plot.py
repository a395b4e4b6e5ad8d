"""Partitions: the matrix with vertices ordered by part, or the vertices on a map."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.plotting.style import COLOURS, PAGE, house_style

# Okabe and Ito's palette with a shape for each, so that parts differ in grey, too.
_MARKS = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
    ("#000000", "X"),
)
_MOST_NAMED = 12  # vertices that have their names on a map
_LEAST_NUMBERED = 0.03  # share of the vertices, from which a part has its number and lines


def matrix_figure(
    picture: FloatMatrix, parts: IntVector, sizes: IntVector, *, title: str
) -> Figure:
    """Mean weights between bins of vertices, with lines around each part that is large enough.

    Args:
        picture: shape (bins, bins), symmetric.
        parts: of the bins, ascending.
        sizes: how many vertices each bin has.
        title: what is shown, with the guarantee.
    """
    edges = np.concatenate([[0], np.cumsum(sizes)])
    vertices = int(edges[-1])
    ends = edges[1:][np.append(np.diff(parts) > 0, True)]
    starts = np.concatenate([[0], ends[:-1]])
    large = (ends - starts) >= _LEAST_NUMBERED * vertices
    shown = np.maximum(picture, 0)
    positive = shown[shown > 0]
    top = float(np.quantile(positive, 0.98)) if len(positive) else 1.0  # few weights are large
    blues = LinearSegmentedColormap.from_list("blues", ["#ffffff", COLOURS["noisy"], "#00263d"])
    with house_style():
        figure = Figure(figsize=(0.75 * PAGE, 0.68 * PAGE))
        axes = figure.subplots()
        drawn = axes.pcolormesh(edges, edges, shown, cmap=blues, vmin=0, vmax=top, rasterized=True)
        for place in np.unique([starts[large], ends[large]])[1:].tolist():
            axes.axhline(place, color=COLOURS["synthetic"], linewidth=0.8)
            axes.axvline(place, color=COLOURS["synthetic"], linewidth=0.8)
        middles = ((starts + ends) / 2)[large]
        names = [str(place + 1) for place in np.flatnonzero(large)]
        axes.set_xticks(middles, names)
        axes.set_yticks(middles, names)
        axes.tick_params(length=0)
        axes.set_aspect("equal")
        axes.invert_yaxis()
        axes.set_xlabel(f"{vertices:,} vertices, ordered by part")
        figure.colorbar(drawn, ax=axes, label="mean weight of a pair", extend="max", shrink=0.8)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure


def map_figure(
    positions: Mapping[Any, tuple[float, float]],
    labels: Sequence[Any],
    parts: IntVector,
    *,
    title: str,
) -> Figure:
    """Vertices at their places, each part in a colour and shape of its own.

    Args:
        positions: longitude and latitude, or any plane; vertices without one are left out.
        labels: of all vertices.
        parts: of each vertex, from 0 on, shape (n,).
        title: what is shown, with the guarantee.

    Raises:
        GraphError: no vertex has a position.
    """
    known = [place for place, label in enumerate(labels) if label in positions]
    if not known:
        raise GraphError("no vertex has a position; give {vertex: (x, y), ...}")
    names = [str(labels[place]) for place in known]
    places = np.array([positions[labels[place]] for place in known], dtype=np.float64)
    parts = parts[known]
    count = len(_MARKS)
    with house_style():
        figure = Figure(figsize=(PAGE, 0.6 * PAGE))
        axes = figure.subplots()
        for part in np.unique(np.minimum(parts, count - 1)).tolist():
            own = parts == part if part < count - 1 else parts >= part
            rest = part == count - 1 and bool((parts > part).any())
            label = f"part {part + 1}" + (" and smaller ones" if rest else "")
            colour, mark = _MARKS[part]
            x, y = places[own].T
            axes.scatter(x, y, s=22, c=colour, marker=mark, linewidths=0, label=label)
        if len(names) <= _MOST_NAMED:
            for name, place in zip(names, places, strict=True):
                text = name.replace("$", r"\$")
                axes.annotate(text, place, xytext=(3, 3), textcoords="offset points", fontsize=7)
        axes.set_aspect("equal")
        axes.axis("off")
        figure.legend(loc="outside lower left", ncols=4)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure
