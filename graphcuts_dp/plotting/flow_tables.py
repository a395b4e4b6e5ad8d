"""Noisy tables of flows between groups: a heat map, a map where groups have places, and periods."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from graphcuts_dp.arrays import BoolMatrix, FloatMatrix
from graphcuts_dp.plotting.style import COLOURS, PAGE, house_style

_NAMED, _NUMBERED = 60, 12  # most groups whose names, whose numbers, are written
_HATCHED = 2000  # most cells below 0 that are hatched; more are dotted
_LINES = 400  # most flows on a map
MOST_SMALL, _ACROSS = 9, 3  # most cells that are drawn over periods, and how many side by side
_TICKS = 6  # most periods whose names are written
_IMPOSSIBLE, _BELOW = "#cccccc", "#d08a60"


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class FlowPicture:
    """What is drawn.

    Attributes:
        values: unbiased estimates, shape (rows, columns); may be below 0.
        low: lower ends of intervals, all at once, likewise.
        possible: whether a cell can hold a pair, likewise.
        rows: names of the groups of the rows.
        columns: of the columns.
        breaks: of the rows and of the columns, for each enclosing group its name and how many
            groups it has, in order; empty if the level is the coarsest.
        symmetric: whether (a, b) and (b, a) are one cell.
        title: what is shown, with the guarantee.
        unit: what the numbers count: "edges", or "weight".
    """

    values: FloatMatrix
    low: FloatMatrix
    possible: BoolMatrix
    rows: Sequence[str]
    columns: Sequence[str]
    breaks: tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]]] = ((), ())
    symmetric: bool = True
    title: str
    unit: str = "edges"


def heat_map_figure(drawn: FlowPicture) -> Figure:
    """Draw a table as a heat map.

    Returns:
        A figure: darker cells hold more; the colours follow the square root, so that small flows
        show. Cells whose estimate is below 0 have the colour of 0 and are hatched (dotted, where
        there are many), and the legend says how many there are; cells that can hold no pair are
        grey. With up to 12 groups the estimates are written into the cells, those below 0 as they
        are.
    """
    rows, columns = drawn.values.shape
    width = PAGE if columns > _NUMBERED else 5.2
    cell = (width - 2.0) / columns
    with house_style():
        figure = Figure(figsize=(width, float(np.clip(cell * rows + 1.5, 2.4, 9.5))))
        axes = figure.subplots()
        shown = np.where(drawn.possible, np.maximum(drawn.values, 0), np.nan)
        largest = max(float(np.nanmax(shown, initial=0.0)), 1.0)
        norm = PowerNorm(0.5, vmin=0, vmax=largest)
        colours = mpl.colormaps["YlGnBu"].with_extremes(bad=_IMPOSSIBLE)
        image = axes.imshow(shown, cmap=colours, norm=norm, interpolation="nearest")
        below = drawn.possible & (drawn.values < 0)
        _mark_below(axes, below)
        if max(rows, columns) <= _NUMBERED:
            _write_values(axes, drawn, norm, colours)
        _name_groups(axes, drawn)
        bar = figure.colorbar(image, ax=axes, fraction=0.045, pad=0.02)
        bar.set_label(f"noisy number of {drawn.unit}" if drawn.unit != "weight" else "noisy weight")
        bar.outline.set_visible(False)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        axes.set_title(drawn.title)
        _legend(figure, drawn, below)
    return figure


def _mark_below(axes: Axes, below: BoolMatrix) -> None:
    places = np.argwhere(below)
    if len(places) > _HATCHED:
        axes.plot(places[:, 1], places[:, 0], ",", color=_BELOW, alpha=0.6)
        return
    for row, column in places:
        box = Rectangle(
            (column - 0.5, row - 0.5),
            1,
            1,
            fill=False,
            hatch="////",
            edgecolor=_BELOW,
            linewidth=0,
        )
        axes.add_patch(box)


def _write_values(axes: Axes, drawn: FlowPicture, norm: Normalize, colours: Colormap) -> None:
    for (row, column), value in np.ndenumerate(drawn.values):
        if not drawn.possible[row, column]:
            continue
        shade = colours(norm(max(value, 0.0)))
        dark = 0.299 * shade[0] + 0.587 * shade[1] + 0.114 * shade[2] < 0.5
        axes.text(
            column,
            row,
            f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}",
            ha="center",
            va="center",
            fontsize=7,
            color="white" if dark else "black",
            bbox={"facecolor": shade, "edgecolor": "none", "pad": 0.6} if value < 0 else None,
        )


def _name_groups(axes: Axes, drawn: FlowPicture) -> None:
    """Names of groups, or of those that enclose them, with lines between the latter."""
    sides = (axes.yaxis, drawn.rows, drawn.breaks[0]), (axes.xaxis, drawn.columns, drawn.breaks[1])
    for axis, names, breaks in sides:
        ends = np.cumsum([0, *(count for _, count in breaks)]) - 0.5
        for end in ends[1:-1]:
            line = axes.axhline if axis is axes.yaxis else axes.axvline
            line(end, color="#808080", linewidth=0.5)
        if len(names) <= _NAMED:
            axis.set_ticks(range(len(names)), list(names))
            size = 8 if len(names) <= 20 else 5
        else:
            least = len(names) / _NAMED  # narrower ones would run into each other
            named = [
                ((a + b) / 2, name)
                for (a, b), (name, count) in zip(pairwise(ends), breaks, strict=True)
                if count >= least
            ]
            axis.set_ticks([middle for middle, _ in named], [name for _, name in named])
            size = 8 if len(named) <= 20 else 6
        axis.set_tick_params(labelsize=size)
    names = drawn.columns if len(drawn.columns) <= _NAMED else [name for name, _ in drawn.breaks[1]]
    if sum(len(name) + 2 for name in names) > 60:
        axes.tick_params(axis="x", rotation=90)


def _legend(figure: Figure, drawn: FlowPicture, below: BoolMatrix) -> None:
    handles = []
    count = int(np.triu(below).sum()) if drawn.symmetric else int(below.sum())
    if count:
        label = f"estimate below 0, drawn as 0 ({count} cells)"
        handles.append(
            Patch(facecolor="white", edgecolor=_BELOW, hatch="////", linewidth=0, label=label)
        )
    if not drawn.possible.all():
        handles.append(Patch(facecolor=_IMPOSSIBLE, label="no pair of vertices"))
    if handles:
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)


def flow_map_figure(drawn: FlowPicture, places: FloatMatrix) -> Figure:
    """Draw the flows on a map.

    Args:
        drawn: the table, whose rows and columns are the same groups.
        places: of the groups, shape (groups, 2), in the same units on both axes.

    Returns:
        A figure: lines between groups and discs for what is inside, as wide as the estimate is
        large. Only cells that are above 0 for sure, by intervals that hold all at once, are drawn;
        the legend says how many are not. At most the 400 largest lines.
    """
    flow = np.triu(drawn.values, 1) if drawn.symmetric else drawn.values + drawn.values.T
    flow = np.triu(flow, 1)
    sure = drawn.low > 0
    sure = np.triu(sure | sure.T, 1)
    first, second = np.nonzero(sure)
    strengths = flow[first, second]
    order = np.argsort(strengths)[-_LINES:]
    first, second, strengths = first[order], second[order], strengths[order]
    own = np.where(np.diag(drawn.low) > 0, np.diag(drawn.values), 0.0)
    largest = max(float(strengths.max(initial=0.0)), float(own.max(initial=0.0)), 1e-300)
    widest, inside = float(strengths.max(initial=0.0)), float(own.max(initial=0.0))
    spans = np.ptp(places, axis=0)
    ratio = float(np.clip(spans[1] / spans[0], 0.3, 1.1)) if spans[0] > 0 else 1.1
    with house_style():
        figure = Figure(figsize=(PAGE, PAGE * 0.9 * ratio + 0.9))
        axes = figure.subplots()
        lines = LineCollection(
            [places[[a, b]] for a, b in zip(first, second, strict=True)],
            linewidths=np.maximum(8 * strengths / largest, 0.3),
            colors=COLOURS["noisy"],
            alpha=0.45,
            capstyle="round",
        )
        axes.add_collection(lines)
        axes.scatter(places[:, 0], places[:, 1], s=8, color="black", zorder=3)
        axes.scatter(
            places[:, 0],
            places[:, 1],
            s=600 * own / largest,
            color=COLOURS["synthetic"],
            alpha=0.5,
            linewidths=0,
            zorder=2,
        )
        if len(drawn.rows) <= _NAMED:
            for name, place in zip(drawn.rows, places, strict=True):
                axes.annotate(
                    name, place, xytext=(4, 3), textcoords="offset points", fontsize=7, zorder=4
                )
        axes.set_aspect("equal")
        axes.margins(0.08)
        axes.set_axis_off()
        figure.suptitle(drawn.title, x=0.01, ha="left", fontsize=10)
        possible = np.triu(drawn.possible, 1)
        left_out = f"not drawn: {int((possible & ~sure).sum()):,} that may be 0 (all noisy)"
        handles = [
            Line2D(
                [], [], color=COLOURS["noisy"], alpha=0.45, linewidth=8 * widest / largest,
                label=f"between groups: {widest:,.0f} {drawn.unit} in the widest",
            ),
            Line2D(
                [], [], color=COLOURS["synthetic"], alpha=0.5, marker="o", linestyle="",
                label=f"inside a group: {inside:,.0f} {drawn.unit} in the largest",
            ),
            Line2D([], [], linestyle="", label=left_out),
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PeriodPicture:
    """What is drawn of the largest cells over periods.

    Attributes:
        periods: names of the periods, in order.
        cells: names of the cells, the largest first.
        values: what is shown of each cell in each period, shape (cells, periods).
        low: lower ends of intervals, all at once, likewise.
        high: upper ends.
        title: what is shown, with the guarantee.
        unit: what the numbers count: "edges", or "weight".
        others: how many cells there are beside these.
    """

    periods: Sequence[str]
    cells: Sequence[str]
    values: FloatMatrix
    low: FloatMatrix
    high: FloatMatrix
    title: str
    unit: str = "edges"
    others: int = 0


def periods_figure(drawn: PeriodPicture) -> Figure:
    """Draw cells over periods: a small picture for each, with one scale for all.

    Returns:
        A figure: a line through the values, and a band for the intervals.
    """
    count, periods = len(drawn.cells), np.arange(len(drawn.periods))
    across = min(count, _ACROSS)
    down = -(-count // across)
    shown = periods[:: -(-len(periods) // _TICKS)]
    with house_style():
        figure = Figure(figsize=(PAGE * max(across, 2) / _ACROSS, 1.5 * down + 1.1))
        grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        for axes, name, value, low, high in zip(
            grid.flat, drawn.cells, drawn.values, drawn.low, drawn.high, strict=False
        ):
            axes.fill_between(periods, low, high, color=COLOURS["noisy"], alpha=0.25, linewidth=0)
            axes.plot(periods, value, color=COLOURS["noisy"], marker=".", markersize=4)
            axes.set_title(name, fontsize=8)
        for axes in grid.flat[count:]:
            axes.set_visible(False)
        first = grid[0, 0]
        first.set_ylim(0, max(float(drawn.high[np.isfinite(drawn.high)].max(initial=0)), 1) * 1.05)
        first.set_xlim(-0.3, len(periods) - 0.7)
        first.set_xticks(shown, [drawn.periods[each] for each in shown])
        for column in range(across):
            lowest = grid[(count - 1 - column) // across, column]
            lowest.tick_params(axis="x", rotation=45, labelsize=7, labelbottom=True)
        figure.supylabel(f"{drawn.unit}, noisy", fontsize=9)
        figure.suptitle(drawn.title, x=0.01, ha="left", fontsize=10)
        told = "95 % intervals, all cells at once"
        handles = [Patch(facecolor=COLOURS["noisy"], alpha=0.25, label=told)]
        if drawn.others:
            handles.append(Patch(alpha=0, label=f"not drawn: {drawn.others:,} smaller cells"))
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure
