"""Draw a comparison: degrees, and the errors of each graph."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.comparison_tables import (
    CHUNG_LU,
    EMPTY,
    ComparisonRow,
    GraphComparison,
)
from graphcuts_dp.evaluation.tables import NOT_PRIVATE
from graphcuts_dp.plotting.style import COLOURS, COLUMN, house_style, plain_text

_HEIGHT_OF_ROW = 0.17  # of the lower panel, in inches
_HEIGHT_OF_DEGREES = 1.9  # of the upper panel, in inches
_MARKERS = ("o", "D", "s", "^")  # of synthetic graphs; if there are more, all have the first one
_MARKERS_OF_BASELINES = {CHUNG_LU: "x", EMPTY: "|"}
_LEAST_ERROR = 1e-3  # smaller ones are drawn there


def comparison_figure(comparison: GraphComparison) -> Figure:
    """Draw a comparison, as wide as one column of a paper.

    Args:
        comparison: from `compare`.

    Returns:
        A figure of two panels: how many vertices have at least so many edges, of the real and the
        other graphs; and the error of each statistic (of a value |value - real| / |real|), on a
        logarithmic scale, where errors below 0.001 stand at its left end. Marked as not private.
    """
    rows = [row for row in comparison.rows if any(error is not None for error in row.errors)]
    with house_style():
        figure = Figure(figsize=(COLUMN, _HEIGHT_OF_DEGREES + 0.9 + _HEIGHT_OF_ROW * len(rows)))
        ratios = (_HEIGHT_OF_DEGREES, 0.5 + _HEIGHT_OF_ROW * len(rows))
        degrees, errors = figure.subplots(2, 1, height_ratios=ratios)
        _draw_degrees(degrees, comparison)
        _draw_errors(errors, comparison, rows)
        handles, names = errors.get_legend_handles_labels()
        real = degrees.lines[0]
        figure.legend(
            [real, *handles], ["real", *names], loc="outside lower center", ncols=2, fontsize=7
        )
        figure.suptitle(NOT_PRIVATE, fontsize=7)
    return figure


class _Style(NamedTuple):
    """The style of a graph in a picture.

    Attributes:
        marker: of its errors.
        line: of its degrees.
        colour: of both.
        label: in the legend; matplotlib leaves out labels that begin with "_".
    """

    marker: str
    line: str
    colour: str
    label: str


def _styles(comparison: GraphComparison) -> list[_Style]:
    """Return the style of each graph; if there are many synthetic graphs, they share one."""
    count = len(comparison.synthetic)
    styles = []
    for index, name in enumerate(comparison.graphs):
        if name in _MARKERS_OF_BASELINES:
            grey = COLOURS["true degrees alone"]
            styles.append(_Style(_MARKERS_OF_BASELINES[name], "--", grey, name))
        elif count > len(_MARKERS):
            label = f"{count} synthetic" if index == 0 else "_"
            styles.append(_Style(_MARKERS[0], "-", COLOURS["synthetic"], label))
        else:
            styles.append(_Style(_MARKERS[index], "-", COLOURS["synthetic"], plain_text(name)))
    return styles


def _draw_degrees(axes: Axes, comparison: GraphComparison) -> None:
    """Draw how many vertices have at least so many edges."""
    real, *synthetic_degrees = comparison.degrees
    axes.plot(*_degree_shares(real), color=COLOURS["truth"], linewidth=1.4, zorder=3)
    for style, degrees in zip(_styles(comparison), synthetic_degrees, strict=True):
        values, shares = _degree_shares(degrees)
        axes.plot(values, shares, style.line, color=style.colour, linewidth=0.9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("degree", fontsize=8)
    axes.set_ylabel("share of vertices\nwith at least it", fontsize=8)
    axes.tick_params(labelsize=7)


def _degree_shares(degrees: FloatVector) -> tuple[FloatVector, FloatVector]:
    """Return the degrees above 0, and which share of the vertices has at least each of them."""
    values, counts = np.unique(degrees, return_counts=True)
    shares = np.cumsum(counts[::-1])[::-1] / max(len(degrees), 1)
    positive = values > 0
    return values[positive], shares[positive]


def _draw_errors(axes: Axes, comparison: GraphComparison, rows: list[ComparisonRow]) -> None:
    """Draw the errors of all graphs, one line for each statistic."""
    for index, style in enumerate(_styles(comparison)):
        errors = [row.errors[index] for row in rows]
        axes.scatter(
            [max(error, _LEAST_ERROR) for error in errors if error is not None],
            [row for row, error in enumerate(errors) if error is not None],
            marker=style.marker,
            color=style.colour,
            s=14,
            linewidths=0.9,
            label=style.label,
            zorder=2 if index >= len(comparison.synthetic) else 3,
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [row.statistic for row in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="both", color="#e5e5e5", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("error, relative", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
