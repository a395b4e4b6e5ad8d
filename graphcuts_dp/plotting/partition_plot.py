"""Partitions: the matrix with vertices ordered by part, or the vertices on a map."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.plotting.flow_tables import FlowPicture, heat_map_figure
from graphcuts_dp.plotting.style import PAGE, drawing

# Okabe and Ito's palette with a shape for each, so that parts differ in grey, too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKS = "os^DvPX"
_MOST_NAMED = 12  # vertices that have their names on a map


def blocks_figure(
    weights: FloatMatrix, bins: IntVector, *, title: str, unit: str, whole: bool = True
) -> Figure:
    """Weights between bins of vertices as a heat map, with lines between the parts.

    Args:
        weights: shape (bins, bins), symmetric.
        bins: how many of them each part has.
        title: what is shown, with the guarantee.
        unit: of the weights: "edges" or "weight".
        whole: whether the last one is a part; else it is all that are smaller.
    """
    parts = [(str(part), count) for part, count in enumerate(bins.tolist(), 1)]
    parts[-1] = parts[-1] if whole else ("others", parts[-1][1])
    shown = np.maximum(weights, 0)
    return heat_map_figure(
        FlowPicture(
            values=shown,
            errors=None,
            low=shown,
            possible=np.ones(weights.shape, dtype=np.bool_),
            breaks=(parts, parts),
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
    places = np.array([positions[labels[place]] for place in known], dtype=np.float64)
    last = len(_MARKS) - 1
    shown = np.minimum(parts[known], last)
    with drawing(PAGE, 0.6 * PAGE) as (figure, axes):
        for part in np.unique(shown).tolist():
            label = f"part {part + 1}" + (" and others" * bool(part == last < parts.max()))
            x, y = places[shown == part].T
            axes.scatter(x, y, s=22, c=_COLOURS[part], marker=_MARKS[part], label=label)
        for row, place in zip(known, places, strict=True):
            if len(known) <= _MOST_NAMED:
                text = str(labels[row]).replace("$", r"\$")
                axes.annotate(text, place, xytext=(3, 3), textcoords="offset points", fontsize=7)
        axes.set_aspect("equal")
        axes.axis("off")
        figure.legend(loc="outside lower left", ncols=4)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure
