"""Laplace noise: tails of sums, errors of cuts by size, and of all cuts at once."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.series import by_repetition, medians
from graphcuts_dp.plotting.style import (
    PAGE,
    draw_series,
    draw_slope,
    house_style,
    light_grid,
    log_log,
    look,
    trivial_look,
)


def laplace_tail_figure(table: Table) -> Figure:
    """Draw the table of `evaluation.experiments.laplace_tail`.

    Returns:
        Three panels: tails with Theorem 6.5's bound, errors against |S||T|, and the largest
        |error|/sqrt(|S||T|) against n.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.1))
        tails, one, every = figure.subplots(1, 3)
        _draw_tails(tails, table)
        _draw_sizes(one, table)
        _draw_all(every, table)
        for axes in (tails, one, every):
            axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(-0.12, -0.24), ncols=1)
    return figure


def _draw_tails(axes: Axes, table: Table) -> None:
    sums = table.parameters["terms"]
    for i, terms in enumerate(sums):
        x, y = medians(table, panel="tail", series=f"k = {terms}")
        axes.plot(x, y, label=f"sum of k = {terms}", **look(i))
    for i, terms in enumerate(sums):
        x, y = medians(table, panel="tail", series=f"Theorem 6.5, k = {terms}")
        axes.plot(x, y, **_dotted(i, "Theorem 6.5, in the same order"))
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5 / table.parameters["sums"] * 10, top=1.5)
    light_grid(axes)
    axes.set_xlabel(r"$\alpha\,/\,(b\sqrt{k})$")
    axes.set_title(r"$P(Y\geq\alpha)$")


def _draw_sizes(axes: Axes, table: Table) -> None:
    for i, series in enumerate(("one cut", "largest found", "all cuts, proven")):
        x, spread = by_repetition(table, panel="one size", series=series)
        names = {"one cut": "one cut, mean", "largest found": "worst cut found of the size"}
        draw_series(axes, x, spread, index=i, label=names.get(series, series))
    x, y = medians(table, panel="one size", series="answer 0")
    axes.plot(x, y, label=f"answer 0 (density {table.parameters['density']:g})", **trivial_look())
    x, y = medians(table, panel="one size", series="one cut")
    draw_slope(axes, (x[0], x[-1]), 0.5 * y[0], 0.5, label="exponent 1/2")
    log_log(axes)
    axes.set_xlabel(r"$|S||T|$")
    axes.set_title(rf"Error, $n={table.parameters['n']}$, $\varepsilon=1$")


def _draw_all(axes: Axes, table: Table) -> None:
    lowest = np.inf
    epsilons = table.parameters["epsilons"]
    for i, epsilon in enumerate(epsilons):
        x, y = by_repetition(table, panel="all sizes", series=f"found, epsilon = {epsilon:g}")
        draw_series(axes, x, y, index=i, label=rf"worst found, $\varepsilon={epsilon:g}$")
        lowest = min(lowest, float(np.median(y, axis=1)[0]))
    for i, epsilon in enumerate(epsilons):
        places, heights = medians(table, panel="all sizes", series=f"proven, epsilon = {epsilon:g}")
        axes.plot(places, heights, **_dotted(i, r"at most ($\sigma_1$), in the same order"))
    draw_slope(axes, (x[0], x[-1]), 0.75 * lowest, 0.5, label="exponent 1/2")
    log_log(axes)
    axes.set_xlabel("$n$")
    axes.set_title(r"All cuts: $|$error$|/\sqrt{|S||T|}$")


def _dotted(index: int, label: str) -> dict[str, Any]:
    """The look of a bound on the series of this number; the first one carries the name."""
    return {
        "color": look(index)["color"],
        "linewidth": 0.9,
        "linestyle": ":",
        "label": label if index == 0 else None,
    }
