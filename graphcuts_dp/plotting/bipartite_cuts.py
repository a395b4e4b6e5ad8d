"""Errors on a bipartite family with three potentials, over those of answering 0."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.style import (
    PAGE,
    house_style,
    log_log,
    look,
    trivial_look,
)

_NAMES = {
    "l_2": r"$\ell_2$ (Frieze–Kannan)",
    "entropy": "entropy (weights)",
    "(2,p)": "$(2,p)$",
}
_SEEN = "largest error of a session"


def bipartite_cuts_figure(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of `measure_family`.

    Returns:
        A figure of three panels of errors over the error of answering 0: promises against V and
        against |S|, with the claims as thin lines that meet them at the right; and promises to
        sessions, with the largest errors seen in them (median and range over seeds).
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.2))
        by_side, by_size, sessions = figure.subplots(1, 3)
        _draw_promises(by_side, table, "V")
        _draw_promises(by_size, table, "|S|")
        _draw_sessions(sessions, table)
        (shared,) = {row["|S|"] for row in table.where(part="V varies")}
        by_side.set_title(f"Promises, |S| = {shared}")
        by_side.set_xlabel("V, vertices on each side")
        by_side.set_ylabel("error / error of answering 0")
        (shared,) = {row["V"] for row in table.where(part="|S| varies")}
        by_size.set_title(f"Promises, V = {shared:,}")
        by_size.set_xlabel("|S|, right vertices of a cut")
        figure.legend(handles=_legend(by_side), loc="outside lower left", ncols=3, fontsize=8)
    return figure


def _legend(axes: Axes) -> list[Line2D]:
    """Methods in the upper row, the rest below; legends fill columns first."""
    methods = [line for line in axes.lines if line.get_label() in _NAMES.values()]
    rest = [
        Line2D([], [], color="black", linewidth=0.6, label="claimed powers and logarithms"),
        Line2D([], [], label="answer 0", **trivial_look()),
        Line2D([], [], color="black", linestyle="none", marker="o", ms=4, label=_SEEN),
    ]
    return [line for pair in zip(methods, rest, strict=True) for line in pair]


def _draw_promises(axes: Axes, table: Table, varied: str) -> None:
    part = f"{varied} varies"
    sizes, zero = _series(table, part, "answer 0", "exact", varied)
    for index, (method, name) in enumerate(_NAMES.items()):
        promised = _series(table, part, method, "promised", varied)[1]
        axes.plot(sizes, promised / zero, label=name, **look(index))
        claimed = _series(table, part, method, "claimed, scaled", varied)[1]
        axes.plot(sizes, claimed / zero, color="black", linewidth=0.6)
    axes.plot(sizes, np.ones(len(zero)), **trivial_look())
    log_log(axes)
    _plain(axes.yaxis, (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100))


def _draw_sessions(axes: Axes, table: Table) -> None:
    sides, zero = _series(table, "session", "answer 0", "exact")
    for index, method in enumerate(_NAMES):
        how = look(index)
        promised = _series(table, "session", method, "promised")[1]
        axes.plot(sides, promised / zero, **(how | {"marker": ""}))
        measured = _series(table, "session", method, "measured")[1].reshape(len(sides), -1)
        shares = measured / zero[:, None]
        middle = np.median(shares, axis=1)
        spread = np.abs([shares.min(axis=1) - middle, shares.max(axis=1) - middle])
        axes.errorbar(sides, middle, yerr=spread, **(how | {"linestyle": "none"}))
    axes.plot(sides, np.ones(len(sides)), **trivial_look())
    log_log(axes)
    _plain(axes.xaxis, (50, 100, 200, 500, 1000))
    _plain(axes.yaxis, (0.05, 0.1, 0.2, 0.5, 1, 2))
    axes.set_title("Sessions, |S| = V/2")
    axes.set_xlabel("V, vertices on each side")


def _plain(axis: Axis, ticks: Sequence[float]) -> None:
    """Those of the ticks that are in sight, as plain numbers."""
    low, high = axis.get_view_interval()
    shown = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(shown, [f"{tick:g}" for tick in shown])
    axis.set_ticks([], minor=True)


def _series(
    table: Table, part: str, method: str, quantity: str, varied: str = "V"
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """What varies, each value once, and the errors of all rows."""
    rows = table.where(part=part, method=method, quantity=quantity)
    sizes = list(dict.fromkeys(row[varied] for row in rows))
    errors = [row["error"] for row in rows]
    return np.array(sizes, dtype=np.float64), np.array(errors, dtype=np.float64)
