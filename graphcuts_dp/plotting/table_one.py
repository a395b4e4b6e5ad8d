"""GRU12's Table 1 with its constants: error over |E| against density, and the crossover."""

from typing import Any

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

_SHORT = {
    "multiplicative weights": "weights",
    "frieze-kannan": "Frieze–Kannan",
    "median": "median",
    "randomized response": "randomized response",
}
_FLOOR, _CEILING = 3e-3, 1e3


def table_one_figure(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `table_one`.

    Returns:
        A figure of four panels: error over |E| against density at three n, solid with tight
        constants, dashed the best of the constructions with GRU12's; and the |E| at which
        Frieze-Kannan overtakes multiplicative weights.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 5.4))
        panels = figure.subplots(2, 2)
        sizes = sorted({row["n"] for row in table.where(part="error")})
        for axes, n in zip(panels.flat, sizes, strict=False):
            _draw_errors(axes, table, n)
        _draw_crossover(panels.flat[3], table)
        for axes in panels[:, 0]:
            axes.set_ylabel("error for all cuts / |E|")
        handles, names = panels.flat[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=3, fontsize=8)
    return figure


def _draw_errors(axes: Axes, table: Table, n: int) -> None:
    for index, (method, name) in enumerate(_SHORT.items()):
        rows = table.where(part="error", n=n, method=method, constants="tight")
        _line(axes, rows, f"{name}, tight", **look(index))
    best: dict[float, dict[str, Any]] = {}
    for row in table.where(part="error", n=n, constants="GRU12"):
        if row["density"] not in best or row["error"] < best[row["density"]]["error"]:
            best[row["density"]] = row
    _line(axes, list(best.values()), "GRU12's constants, best", **look(6))
    rows = table.where(part="error", n=n, method="trivial")
    _line(axes, rows, "trivial", **trivial_look())
    log_log(axes)
    axes.set_ylim(_FLOOR, _CEILING)
    axes.set_title(f"n = {n:,}")
    axes.set_xlabel("density")


def _line(axes: Axes, rows: list[dict[str, Any]], name: str, **how: Any) -> None:
    every = max(1, len(rows) // 6)  # markers
    axes.plot(
        [row["density"] for row in rows],
        [row["error"] / row["edges"] for row in rows],
        label=name,
        markevery=every,
        **how,
    )


def _draw_crossover(axes: Axes, table: Table) -> None:
    lines: list[Line2D] = []
    names = {"rates": "Table 1", "GRU12": "GRU12's\nconstants"}
    for index, (constants, name) in enumerate(names.items()):
        rows = table.where(part="crossover", constants=constants)
        sizes = [row["n"] for row in rows]
        edges = [row["edges"] for row in rows]
        lines += axes.plot(sizes, edges, label=name, markevery=4, **look(2 * index + 1))
    lines += axes.plot(sizes, [n * (n - 1) / 2 for n in sizes], label="all pairs", **trivial_look())
    log_log(axes)
    axes.set_xlabel("n")
    axes.set_ylabel("|E|")
    axes.set_title("Frieze–Kannan overtakes the weights")
    axes.text(0.97, 0.04, "tight rules: never", transform=axes.transAxes, ha="right")
    label_ends(axes, lines)
