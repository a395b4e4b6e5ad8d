"""Errors of distance answers on a path against the number of people."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.style import (
    COLOURS,
    PAGE,
    draw_series,
    house_style,
    label_ends,
    log_log,
    look,
    trivial_look,
)

_METHODS = (
    "tree counts",
    "histogram",
    "Gaussian per query",
    "Laplace per query",
    "HR12 learner",
    "HR12 learner, delta",
)
_BOUNDS = {
    "HR12 Theorem 2, pure": "HR12 as printed",
    "HR12 Theorem 2, delta": "HR12 as printed, delta",
}


def distances_figure(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `distances`.

    Returns:
        A figure: the largest error of all vertices against n, measured with its range over
        repetitions (coloured), HR12's learner with the constants of this package among it; promised
        for the default (thin blue) and by HR12 with its own constants (grey); and the trivial
        answer (dotted).
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 4.4))
        axes = figure.subplots()
        lines = [_measured(axes, table, i) for i in range(len(_METHODS))]
        lines += _promised(axes, table)
        axes.set_ylim(2e-6, 40)
        axes.set_xlim(80, 1.3e9)
        log_log(axes)
        axes.set_xlabel("people n")
        axes.set_ylabel("largest error of all vertices (diameter 1)")
        about = table.parameters
        axes.set_title(
            f"Average distances on a path of {about['vertices']:,} vertices, "
            f"epsilon = {about['epsilon']:g}"
        )
        label_ends(axes, lines)
    return figure


def _measured(axes: Axes, table: Table, index: int) -> Line2D:
    rows = table.where(part="measured", method=_METHODS[index])
    counts = sorted({row["people"] for row in rows})
    errors = np.array([[r["largest error"] for r in rows if r["people"] == n] for n in counts])
    return draw_series(axes, counts, errors, index=index, label=_METHODS[index])


def _promised(axes: Axes, table: Table) -> list[Line2D]:
    lines = []
    for name, label in _BOUNDS.items():
        rows = table.where(part="guaranteed", method=name)
        style = "-" if name.endswith("pure") else "--"
        lines += axes.plot(
            [row["people"] for row in rows],
            [row["promised"] for row in rows],
            color=COLOURS["all zero"],
            linewidth=0.9,
            linestyle=style,
            label=label,
        )
    most = max(row["people"] for row in table.where(part="measured"))
    rows = table.where(part="guaranteed", method=_METHODS[0])
    rows = [row for row in rows if row["people"] <= most]
    lines += axes.plot(
        [row["people"] for row in rows],
        [row["promised"] for row in rows],
        color=look(0)["color"],
        linewidth=0.7,
        label="tree counts, promised (95 %)",
    )
    rows = table.where(part="guaranteed", method="trivial")
    lines += axes.plot(
        [row["people"] for row in rows],
        [row["promised"] for row in rows],
        label="half the diameter",
        **trivial_look(),
    )
    return lines
