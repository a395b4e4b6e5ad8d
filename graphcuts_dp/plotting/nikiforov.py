"""The largest singular value beside the normalised cut norm."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.series import by_repetition, medians
from graphcuts_dp.plotting.style import (
    PAGE,
    draw_series,
    house_style,
    label_ends,
    light_grid,
    look,
    trivial_look,
)


def nikiforov_figure(table: Table) -> Figure:
    """Draw the table of `evaluation.experiments.nikiforov`.

    Returns:
        Two panels: sigma_1 over the normalised cut norm against n, and the share of that norm that
        rounding finds, the least of all matrices.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.0))
        sigma, rounding = figure.subplots(1, 2, width_ratios=(1.5, 1))
        _draw_rounding(rounding, table)
        _draw_sigma(sigma, table)
    return figure


def _draw_sigma(axes: Axes, table: Table) -> None:
    lines = []
    for i, family in enumerate(table.parameters["families"]):
        x, y = by_repetition(table, panel="sigma", series=family)
        lines.append(draw_series(axes, x, y, index=i, label=family))
    x, bound = medians(table, panel="sigma", series="bound 2 H_n")
    lines += axes.plot(x, bound, color="black", linewidth=0.9, label="bound $2H_n$")
    lines += axes.plot(x, np.ones(len(x)), label="least possible: 1", **trivial_look())
    axes.set_xscale("log")
    axes.set_ylim(0, 1.05 * max(bound))
    light_grid(axes)
    axes.set_xlabel("$n$")
    axes.set_title(r"$\sigma_1(A)\,/\,\|A\|_{NC}$, by the cut found")
    label_ends(axes, lines)


def _draw_rounding(axes: Axes, table: Table) -> None:
    for i, family in enumerate(table.parameters["families"]):
        x, y = by_repetition(table, panel="rounding", series=family)
        axes.plot(x, y.min(axis=1), **look(i))
    axes.axhline(1.0, **trivial_look())
    axes.set_ylim(0.7, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    light_grid(axes)
    axes.set_xlabel("$n$")
    axes.set_title(r"Found$\,/\,\|A\|_{NC}$, the least seen")
