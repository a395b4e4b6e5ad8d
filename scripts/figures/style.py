"""Draw the series of an experiment, and save a figure with its table.

Series differ in colour, marker and line style at once, trivial answers are always grey and dotted,
and lines carry their names at their ends in place of a legend where there is room.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import scipy
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from graphcuts_dp.files import atomic_set, atomic_write
from graphcuts_dp.plotting.palette import SERIES
from graphcuts_dp.plotting.style import COLOURS, write_figure
from scripts.figures.base import Table

# A marker and a line style for each colour of `SERIES`.
_MARKERS = "oDs^vPX"
_LINES = (
    *("-", "--", "-."),
    *((0, dashes) for dashes in ((5, 1), (3, 1, 1, 1), (4, 1, 1, 1, 1, 1), (1, 1))),
)


ENDINGS = (".png", ".pdf", ".csv", ".json")  # of the files of a figure
_LABEL_GAP = 1.15  # height of a line of text, in font sizes


def look(index: int) -> dict[str, Any]:
    """Return colour, marker and line style of the series of this number, for `Axes.plot`."""
    number = index % len(SERIES)
    return {
        "color": SERIES[number],
        "marker": _MARKERS[number],
        "linestyle": _LINES[number],
        "markersize": 4,
        "linewidth": 1.3,
    }


def trivial_look() -> dict[str, Any]:
    """Return the look of an answer that learns nothing, or hardly anything, from the graph."""
    return {"color": COLOURS["all zero"], "linestyle": (0, (1, 1.5)), "linewidth": 1.3, "zorder": 1}


def draw_series(
    axes: Axes,
    x: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    index: int,
    label: str,
) -> Line2D:
    """Draw medians over seeds as a line and their whole range as a band.

    Args:
        axes: where.
        x: shape (p,).
        values: shape (p,), or (p, seeds) for a band.
        index: of the look, see `look`.
        label: name of the series.
    """
    table = np.asarray(values, dtype=np.float64)
    table = table.reshape(len(table), -1)
    (line,) = axes.plot(np.asarray(x), np.median(table, axis=1), label=label, **look(index))
    if table.shape[1] > 1:
        axes.fill_between(
            np.asarray(x),
            table.min(axis=1),
            table.max(axis=1),
            color=line.get_color(),
            alpha=0.18,
            linewidth=0,
        )
    return line


def draw_each(
    axes: Axes,
    table: Table,
    names: Mapping[str, str],
    by: str,
    column: str,
    *,
    key: str = "method",
    **fixed: Any,
) -> list[Line2D]:
    """Draw a series for each of these names that the table has, with the look of its place.

    Args:
        axes: where.
        table: of the figure.
        names: what stands in the column `key`, and the label of its line.
        by: the column of places: x.
        column: y.
        key: which column tells the series apart.
        fixed: values of other columns.
    """
    lines = []
    for index, (name, label) in enumerate(names.items()):
        x, values = table.series(by, column, **{key: name}, **fixed)
        if x:
            lines.append(draw_series(axes, x, values, index=index, label=label))
    return lines


def draw_slope(
    axes: Axes, x: tuple[float, float], start: float, exponent: float, *, label: str
) -> Line2D:
    """Draw a thin black line of a claimed exponent, for the eye, on logarithmic axes.

    Args:
        axes: where.
        x: its ends.
        start: its value at x[0].
        exponent: y grows as x^exponent.
        label: what it is: "claimed 1/2".
    """
    ends = [start, start * (x[1] / x[0]) ** exponent]
    (line,) = axes.plot(x, ends, color="black", linewidth=0.8, linestyle="-", label=label)
    return line


def log_log(axes: Axes) -> None:
    """Set logarithmic axes with a light grid, for power laws."""
    axes.set(xscale="log", yscale="log")
    light_grid(axes)


def plain_log_ticks(axis: Axis) -> None:
    """Write ticks at 1, 2 and 5 times powers of ten: for ranges of a decade or two."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def light_grid(axes: Axes) -> None:
    """Draw a light grid under everything at the major ticks."""
    axes.grid(which="major", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)


def label_ends(axes: Axes, lines: Sequence[Line2D]) -> None:
    """Write the name of each line at its right end, moved apart where names would overlap.

    Call it last: it needs the final limits of the axes.

    Args:
        axes: of the lines.
        lines: with labels and at least one finite point each.
    """
    figure = axes.get_figure(root=True)
    if figure is None or not lines:
        return
    figure.draw_without_rendering()  # sets the limits and the height
    ends = []
    for line in lines:
        points = np.column_stack([np.asarray(data, float) for data in line.get_data()])
        points = points[np.isfinite(points).all(axis=1)]
        last = points[np.argmax(points[:, 0])]
        ends.append(axes.transAxes.inverted().transform(axes.transData.transform(last)))
    size = float(mpl.rcParams["font.size"]) - 1
    gap = _LABEL_GAP * size / (axes.get_window_extent().height * 72 / figure.dpi)
    heights = spread([end[1] for end in ends], gap)
    right = max(end[0] for end in ends)
    for line, end, height in zip(lines, ends, heights, strict=True):
        axes.annotate(
            str(line.get_label()),
            xy=(end[0], end[1]),
            xytext=(right + 0.03, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=line.get_color(),
            fontsize=size,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0, 0.5),
                "color": line.get_color(),
                "linewidth": 0.4,
                "shrinkA": 0,
                "shrinkB": 2,
            },
        )


def spread(positions: Sequence[float], gap: float) -> npt.NDArray[np.float64]:
    """Return the nearest positions, in least squares, in the same order and `gap` apart.

    Args:
        places: any order.
        gap: >= 0.
    """
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(positions))
    spread_positions = np.empty(len(positions))
    spread_positions[order] = (
        scipy.optimize.isotonic_regression(np.asarray(positions)[order] - steps).x + steps
    )
    return spread_positions


def save_figure(
    figure: Figure,
    base: Path,
    *,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    parameters: Mapping[str, Any],
) -> None:
    """Write `base`.png, .pdf, .csv (the table) and .json (the parameters), replacing what is there.

    The same figure gives the same bytes: no file tells when it was made. All four appear, or none.

    Args:
        figure: what to draw.
        base: path without an ending.
        columns: names of the table's columns.
        rows: the table that the figure shows.
        parameters: what it was made with.

    Raises:
        FileFormatError: the folder is missing, or the disk is full.
    """
    about = json.dumps(parameters, indent=2, allow_nan=False) + "\n"  # fails before files are there
    text = io.StringIO(newline="")
    csv.writer(text).writerows([columns, *rows])
    names = [base.with_suffix(ending) for ending in ENDINGS]
    with atomic_set(names, force=True) as (*pictures, table, parameters_file):
        for picture in pictures:
            write_figure(figure, picture)
        for file, content in ((table, text.getvalue()), (parameters_file, about)):
            with atomic_write(file) as handle:
                handle.write(content.encode())
