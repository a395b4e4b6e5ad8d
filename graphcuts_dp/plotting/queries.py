"""Errors against the number of queries: guaranteed on the left, measured on the right."""

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
    light_grid,
    log_log,
    look,
    trivial_look,
)

_NAMES = {
    "tight MW": "weights",
    "tight FK": "Frieze–Kannan",
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "binary": "randomized response",
}
_PAPERS = {"gru12": "GRU12", "jt12": "JT12", "dr14": "DR14"}
_SHOWN = (3, 3e6)  # in edges; beyond it per-query noise only


def queries_figure(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `queries`.

    Returns:
        A figure of two panels with the same axes: guaranteed error of all k answers against k, with
        the papers' constants in grey; and the largest error among the queries asked, with its
        range over repetitions.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.6))
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        papers = _draw_guaranteed(left, table)
        _draw_measured(right, table)
        left.set_ylim(*_SHOWN)
        label_ends(left, papers)
        handles, names = left.get_legend_handles_labels()
        shown = [i for i, name in enumerate(names) if name not in _PAPERS.values()]
        figure.legend(
            [handles[i] for i in shown],
            [names[i] for i in shown],
            loc="outside upper left",
            ncols=len(shown),
            fontsize=8,
            columnspacing=1.2,
        )
    return figure


def _draw_guaranteed(axes: Axes, table: Table) -> list[Line2D]:
    """The lines of the papers."""
    for index, (method, name) in enumerate(_NAMES.items()):
        rows = table.where(part="guaranteed", method=method)
        counts = [row["queries"] for row in rows]
        errors = [row["largest error"] for row in rows]
        axes.plot(counts, errors, label=name, markevery=3, **look(index))
    papers: list[Line2D] = []
    for paper, name in _PAPERS.items():
        rows = table.where(part="guaranteed", method=paper)
        errors = [row["largest error"] for row in rows]
        papers += axes.plot(counts, errors, label=name, color=COLOURS["all zero"], linewidth=0.8)
    _draw_trivial(axes, table)
    log_log(axes)
    axes.set_xlabel("queries k")
    axes.set_ylabel("error in edges")
    axes.set_title("Guaranteed for all k answers")
    return papers


def _draw_measured(axes: Axes, table: Table) -> None:
    for index, (method, name) in enumerate(_NAMES.items()):
        rows = table.where(part="measured", method=method)
        counts = sorted({row["queries"] for row in rows})
        errors = np.array(
            [[row["largest error"] for row in rows if row["queries"] == k] for k in counts]
        )
        draw_series(axes, counts, errors, index=index, label=name)
    _draw_trivial(axes, table)
    light_grid(axes)
    axes.set_xlabel("queries k")
    about = table.parameters
    axes.set_title(f"Measured, largest of up to {about['asked']}")
    axes.text(
        0.97,
        0.04,
        f"n = {about['n']:,}, |E| = {about['edges']:,}\n"
        f"epsilon = {about['epsilon']:g}, delta = {about['delta']:g}",
        transform=axes.transAxes,
        ha="right",
        fontsize=8,
    )


def _draw_trivial(axes: Axes, table: Table) -> None:
    rows = table.where(part="guaranteed", method="trivial")
    counts = [row["queries"] for row in rows]
    errors = [row["largest error"] for row in rows]
    axes.plot(counts, errors, label="trivial", **trivial_look())
