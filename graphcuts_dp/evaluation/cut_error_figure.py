"""Draw cut errors of a release or of any graph: by kind of cut, and answers against the truth."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import printable
from graphcuts_dp.evaluation.tables import NOT_PRIVATE, CutErrorTable, index_of_single_cuts
from graphcuts_dp.plotting.style import COLOURS, GRID, house_style

_MARKERS = {"noisy": "o", "synthetic": "D", "true degrees alone": "x", "empty graph": "|"}
_TRIVIAL = ("true degrees alone", "empty graph")


def cut_error_figure(table: CutErrorTable) -> Figure:
    """Draw a table of cut errors.

    Args:
        table: from `cut_errors` or `graph_cut_errors`.

    Returns:
        A figure of two panels: mean absolute error by kind of cut for each estimate (log scale),
        and the answers of single cuts with their intervals against the truth. Marked as not
        private.
    """
    with house_style():
        figure = Figure(figsize=(9.6, 3.8))
        kinds, points = figure.subplots(1, 2, width_ratios=(1.1, 1))
        _draw_kinds(kinds, table)
        _draw_points(points, table)
        handles, names = kinds.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=len(names))
        figure.suptitle(f"{printable(table.title)}  ({NOT_PRIVATE})", fontsize=10)
    return figure


def _draw_kinds(axes: Axes, table: CutErrorTable) -> None:
    """Draw the mean error of each kind of cut, for each estimate."""
    positions = range(len(table.rows))
    for column, name in enumerate(table.estimates):
        axes.scatter(
            [row.errors[column] for row in table.rows],
            positions,
            color=COLOURS[name],
            marker=_MARKERS[name],
            s=90 if name in _TRIVIAL else 36,
            label=name,
            zorder=3,
        )
    if any(error > 0 for row in table.rows for error in row.errors):
        axes.set_xscale("log")
    axes.set_yticks(list(positions), [row.kind for row in table.rows])
    axes.invert_yaxis()
    axes.grid(axis="x", which="major", color=GRID)
    axes.set_xlabel("mean absolute error of a cut (edges, or their weight)")
    axes.set_title("Error by kind of cut")
    axes.margins(y=0.12)


def _draw_points(axes: Axes, table: CutErrorTable) -> None:
    """Draw answers of single cuts against their true values."""
    noisy = [(point.truth, *point.noisy) for point in table.points if point.noisy is not None]
    if noisy:
        truth, middle, low, high = np.array(noisy).T
        # An estimate may lie outside of its interval, which is cut to possible values.
        axes.vlines(truth, low, high, color=COLOURS["noisy"], linewidth=0.8)
        axes.plot(
            truth,
            middle,
            "o",
            markersize=4,
            color=COLOURS["noisy"],
            label=f"noisy, {DEFAULT_PERCENT} interval",
        )
    synthetic = [
        (point.truth, point.synthetic) for point in table.points if point.synthetic is not None
    ]
    axes.scatter(
        [point[0] for point in synthetic],
        [point[1] for point in synthetic],
        marker="D",
        s=22,
        color=COLOURS["synthetic"],
        label="synthetic",
        zorder=4,
    )
    top = max(point.truth for point in table.points)
    axes.plot([0, top], [0, top], color=COLOURS["truth"], linewidth=0.8, label="exact")
    axes.set_xlabel("true value")
    axes.set_ylabel("answer")
    kinds = [row.kind for row in table.rows[1:]]  # after the worst of all cuts
    axes.set_title(f"Single cuts: {kinds[index_of_single_cuts(kinds)]}")
    axes.legend(loc="upper left", fontsize=8)
