"""Errors on a bipartite family with three potentials, over those of answering 0."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.style import (
    PAGE,
    house_style,
    label_ends,
    log_log,
    look,
    trivial_look,
)

_NAMES = {
    "l_2": r"$\ell_2$ (Frieze–Kannan)",
    "entropy": "entropy (weights)",
    "(2,p)": "$(2,p)$",
}


def bipartite_cuts_figure(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of `measure_family`.

    Returns:
        A figure of two panels: promised errors over the error of answering 0 against V, for few
        right vertices; and the same for half of the right vertices, with the largest errors of
        sessions and their range over seeds.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.2))
        promises, sessions = figure.subplots(1, 2)
        _draw_promises(promises, table)
        _draw_sessions(sessions, table)
    return figure


def _draw_promises(axes: Axes, table: Table) -> None:
    zero = {row["V"]: row["error"] for row in table.where(part="V varies", method="answer 0")}
    lines: list[Line2D] = []
    for index, (method, name) in enumerate(_NAMES.items()):
        rows = table.where(part="V varies", method=method)
        shares = [row["error"] / zero[row["V"]] for row in rows]
        lines += axes.plot(list(zero), shares, label=name, **look(index))
    lines += axes.plot(list(zero), np.ones(len(zero)), label="answer 0", **trivial_look())
    log_log(axes)
    size = table.where(part="V varies")[0]["|S|"]
    axes.set_title(f"Promises, |S| = {size}")
    axes.set_xlabel("V, vertices on each side")
    axes.set_ylabel("error / error of answering 0")
    label_ends(axes, lines)


def _draw_sessions(axes: Axes, table: Table) -> None:
    zero = {row["V"]: row["error"] for row in table.where(part="session", method="answer 0")}
    sides = list(zero)
    for index, method in enumerate(_NAMES):
        how = look(index)
        promised = table.where(part="session", method=method, quantity="promised")
        shares = [row["error"] / zero[row["V"]] for row in promised]
        axes.plot(sides, shares, **(how | {"marker": "", "linewidth": 1.0}))
        measured = table.where(part="session", method=method, quantity="measured")
        found = [
            [row["error"] / zero[side] for row in measured if row["V"] == side] for side in sides
        ]
        middle = np.median(found, axis=1)
        spread = np.abs(np.array([np.min(found, axis=1), np.max(found, axis=1)]) - middle)
        axes.errorbar(sides, middle, yerr=spread, **(how | {"linestyle": "none"}))
    log_log(axes)
    axes.set_title("Sessions, |S| = V/2: promised, largest seen")
    axes.set_xlabel("V, vertices on each side")
