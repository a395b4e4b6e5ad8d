"""Cut errors against density and against size."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.style import (
    PAGE,
    draw_series,
    draw_slope,
    house_style,
    label_ends,
    log_log,
    trivial_look,
)

# Discrete Laplace noise is in the table; its line would lie on that of Laplace noise.
_NAMES = {
    "binary": "binary, raw",
    "maximum-entropy": "binary, maximum entropy",
    "first-order": "binary, least cut norm",
    "laplace": "Laplace, raw",
    "online weights": "online, cuts given",
    "offline weights": "offline, cuts given",
    "clipped": "binary, clipped",
}
_BOUNDS = {
    "Lemma 6.1": "Lemma 6.1",
    "Table 1, weights": "Table 1, weights",
    "Table 1, Frieze-Kannan": "Table 1, Frieze–Kannan",
}
_SLOPE = 0.12  # height of the line n^1.5: below all others
_CUTTING_PLANES = {"cutting-plane": "cut norm", "cutting-plane, spectral": "spectral"}


def density_figure(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `density`.

    Returns:
        A figure of three panels: proven worst error against density, beside GRU12's bounds; error
        of cuts between planted blocks against density; and worst error against n. Medians over
        repetitions, bands for their range. Names and looks are those of the first panel.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 6.8))
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.4, 1))
        top, bottom = parts  # of their own, so that the names in one take no room in the other
        worst = top.subplots()
        between, sizes = bottom.subplots(1, 2)
        n = table.parameters["n"]
        lines = _draw(worst, table, "upper") + _draw_bounds(worst, table)
        worst.set_title(f"Worst cut, proven, n = {n}")
        _draw(between, table, "between blocks")
        between.set_title("Cuts between planted blocks, mean")
        for axes in (worst, between):
            axes.set_xlabel("density")
            axes.set_ylabel("error in edges")
            axes.set_xlim(None, 1)
        _draw_sizes(sizes, table)
        label_ends(worst, lines)
    return figure


def _draw(axes: Axes, table: Table, column: str) -> list[Line2D]:
    lines = [
        draw_series(axes, *_values(table, method, column), index=index, label=name)
        for index, (method, name) in enumerate(_NAMES.items())
    ]
    for method, marker in (("density only", "|"), ("zero", "")):
        densities, values = _values(table, method, column)
        middle = np.median(values, axis=1)
        lines += axes.plot(densities, middle, label=method, marker=marker, **trivial_look())
    log_log(axes)
    return lines


def _values(table: Table, method: str, column: str) -> tuple[list[float], list[list[float]]]:
    """Densities, and for each the values of a column by repetition."""
    rows = table.where(part="density", method=method)
    densities = sorted({row["density"] for row in rows})
    return densities, _padded([[r[column] for r in rows if r["density"] == d] for d in densities])


def _draw_bounds(axes: Axes, table: Table) -> list[Line2D]:
    lines: list[Line2D] = []
    for method, name in _BOUNDS.items():
        rows = table.where(part="bound", method=method)
        densities = [row["density"] for row in rows]
        errors = [row["upper"] for row in rows]
        lines += axes.plot(densities, errors, "--", color="black", linewidth=0.7, label=name)
    return lines


def _draw_sizes(axes: Axes, table: Table) -> None:
    sizes = sorted({row["n"] for row in table.where(part="size")})
    for index, method in enumerate(_NAMES):
        rows = table.where(part="size", method=method)
        if rows:
            values = _padded([[r["upper"] for r in rows if r["n"] == n] for n in sizes])
            draw_series(axes, sizes, values, index=index, label="_")
    for marker, (method, name) in zip("+x", _CUTTING_PLANES.items(), strict=True):
        rows = table.where(part="size", method=method)
        points = [row["n"] for row in rows], [row["upper"] for row in rows]
        axes.plot(*points, marker, color="black", label=f"cutting plane, {name}")
    ends = (sizes[0], sizes[-1])
    draw_slope(axes, ends, _SLOPE * ends[0] ** 1.5, 1.5, label="_")
    axes.annotate(
        "$n^{1.5}$",
        (ends[1], _SLOPE * ends[1] ** 1.5),
        textcoords="offset points",
        xytext=(0, -6),
        ha="right",
        va="top",
    )
    axes.legend(loc="upper left", fontsize=8)
    log_log(axes)
    ticks = [n for n in sizes if math.log2(n / sizes[0]).is_integer()]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.set_xlabel("n")
    axes.set_title("Worst cut against size")


def _padded(values: list[list[float]]) -> list[list[float]]:
    """Rows of one length: the first value again where a row is short."""
    longest = max(map(len, values))
    return [row + row[:1] * (longest - len(row)) for row in values]
