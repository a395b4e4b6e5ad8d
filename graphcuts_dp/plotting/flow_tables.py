"""Noisy tables of flows between groups: a heat map, a map where groups have places, and periods."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import fill
from typing import final

import numpy as np
import numpy.typing as npt
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, PowerNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from graphcuts_dp.arrays import BoolMatrix, FloatMatrix, FloatVector
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.plotting.style import COLOURS, PAGE, drawing, house_style

_NAMED, _NUMBERED = 60, 12  # most groups whose names, whose numbers, are written
_LINES = 400  # most flows on a map
_NAME_SIZE = 7  # of a place, in points
_WIDEST, _LARGEST = 7.0, 500.0  # width of a line, area of a disc, in points
_BEND, _STEPS = 0.18, 24  # of an arc: how far it bends, of its length, and in how many pieces
MOST_SMALL, _ACROSS = 9, 3  # most cells that are drawn over periods, and how many side by side
_TICKS = 6  # most periods whose names are written
_IMPOSSIBLE = (0.9, 0.9, 0.9)
_BLUES = LinearSegmentedColormap.from_list(  # from plain white
    "flows", ["#ffffff", "#cfe1f2", "#6aaed6", "#2070b4", "#08306b"]
)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class FlowPicture:
    """What is drawn.

    Attributes:
        values: what is shown of each cell, in its interval and not below 0, shape (rows, columns).
        errors: standard deviations of the estimates, likewise; None where they are not drawn.
        low: lower ends of intervals, all at once, likewise.
        possible: whether a cell can hold a pair, likewise.
        rows: names of the groups of the rows; none where only those are named that enclose them.
        columns: of the columns, likewise.
        breaks: of the rows and of the columns, for each enclosing group its name and how many
            groups it has, in order; empty if the level is the coarsest.
        symmetric: whether (a, b) and (b, a) are one cell.
        title: what is shown, with the guarantee.
        unit: what the numbers are of: "edges", "weight", "rows", "users", "pairs" or "amount".
        whole: whether what is counted is a whole number.
    """

    values: FloatMatrix
    errors: FloatMatrix | None
    low: FloatMatrix
    possible: BoolMatrix
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    breaks: tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]]] = ((), ())
    symmetric: bool = True
    title: str
    unit: str = "edges"
    whole: bool = True

    @property
    def numbered(self) -> bool:
        """Whether there are so few cells that each has its number and error."""
        return self.errors is not None and max(self.values.shape) <= _NUMBERED


def heat_map_figure(drawn: FlowPicture) -> Figure:
    """Draw a table as a heat map.

    Returns:
        A figure: darker cells hold more, white ones nothing; the colours follow the square root, so
        that small flows show. With up to 12 groups each cell has its number and standard error. In
        larger tables cells are paler the larger their error is beside what they show, down to white
        below twice the error: noise hardly shows. Cells that can hold no pair are grey.
    """
    rows, columns = drawn.values.shape
    width = PAGE if columns > 6 else 4.6
    cell = (width - 2.0) / columns
    with drawing(width, float(np.clip(cell * rows + 1.5, 2.4, 9.5))) as (figure, axes):
        norm = PowerNorm(0.5, vmin=0, vmax=max(float(drawn.values.max(initial=0.0)), 1.0))
        shades = _shades(drawn, norm)
        axes.imshow(shades, interpolation="nearest")
        if drawn.numbered:
            _write_values(axes, drawn, shades, float(np.clip(cell * 18, 6.5, 10)))
        _name_groups(axes, drawn)
        bar = figure.colorbar(ScalarMappable(norm, _BLUES), ax=axes, fraction=0.045, pad=0.02)
        sums = drawn.unit in ("weight", "amount")
        bar.set_label(f"noisy {drawn.unit}" if sums else f"noisy number of {drawn.unit}")
        bar.outline.set_edgecolor("#808080")
        bar.outline.set_linewidth(0.5)
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color("#808080")
        axes.spines[:].set_linewidth(0.5)
        axes.tick_params(length=0)
        axes.set_title(fill(drawn.title, round(13 * width)))
        told = "\N{PLUS-MINUS SIGN} standard error"
        if not drawn.numbered:
            told = "paler where the error is large, white below two standard errors"
        handles: list[Artist] = []
        if drawn.errors is not None:
            handles.append(Line2D([], [], linestyle="", label=told))
        if not drawn.possible.all():
            handles.append(Patch(facecolor=_IMPOSSIBLE, label="no pair of vertices"))
        figure.legend(
            handles=handles,
            loc="outside lower left",
            ncols=1 if width < PAGE else 2,
            fontsize=8,
            handlelength=1,
        )
    return figure


def _shades(drawn: FlowPicture, norm: PowerNorm) -> npt.NDArray[np.float64]:
    """The colour of each cell, shape (rows, columns, 3)."""
    full = _BLUES(norm(drawn.values))[..., :3]
    if drawn.errors is not None and not drawn.numbered:
        full = _pale(full, 1 - 2 * drawn.errors / np.maximum(drawn.values, 1e-300))
    return np.asarray(np.where(drawn.possible[..., None], full, _IMPOSSIBLE))


def _pale(colour: npt.ArrayLike, share: FloatMatrix | FloatVector) -> npt.NDArray[np.float64]:
    """So large a share of a colour, and the rest white."""
    return np.asarray(1 - np.clip(share, 0, 1)[..., None] * (1 - np.asarray(colour)))


def _write_values(
    axes: Axes, drawn: FlowPicture, shades: npt.NDArray[np.float64], size: float
) -> None:
    """Each cell as its number above its standard error."""
    for (row, column), value in np.ndenumerate(drawn.values):
        if drawn.errors is None or not drawn.possible[row, column]:
            continue
        error = float(drawn.errors[row, column])
        number = f"{value:,.0f}" if drawn.whole or error >= 10 else f"{value:,.3g}"
        spread = f"{error:,.0f}" if error >= 10 else f"{error:.2g}"
        dark = float(shades[row, column] @ (0.299, 0.587, 0.114)) < 0.5
        for text, share, up in ((number, 1.0, 0.4), (f"\N{PLUS-MINUS SIGN}{spread}", 0.8, -0.7)):
            axes.annotate(
                text,
                (column, row),
                xytext=(0, up * size),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=share * size,
                color="white" if dark else "black",
            )


def _name_groups(axes: Axes, drawn: FlowPicture) -> None:
    """Names of groups, or of those that enclose them, with lines between the latter."""
    sides = (axes.yaxis, drawn.rows, drawn.breaks[0]), (axes.xaxis, drawn.columns, drawn.breaks[1])
    for axis, names, breaks in sides:
        ends = np.cumsum([0, *(count for _, count in breaks)]) - 0.5
        for end in ends[1:-1]:
            line = axes.axhline if axis is axes.yaxis else axes.axvline
            line(end, color="#808080", linewidth=0.5)
        named, small = list(enumerate(names)), 5
        if not 0 < len(names) <= _NAMED:
            least = (ends[-1] - ends[0]) / _NAMED  # narrower ones would run into each other
            places = zip(pairwise(ends), breaks, strict=True)
            named = [((a + b) / 2, name) for (a, b), (name, count) in places if count >= least]
            small = 6
        axis.set_ticks([middle for middle, _ in named], [name for _, name in named])
        axis.set_tick_params(labelsize=8 if len(named) <= 20 else small)
    if sum(len(name) + 2 for _, name in named) > 60:
        axes.tick_params(axis="x", rotation=90)


def flow_map_figure(drawn: FlowPicture, places: tuple[FloatMatrix, FloatMatrix]) -> Figure:
    """Draw the flows on a map.

    Args:
        drawn: the table.
        places: of the groups of the rows and of the columns, shape (groups, 2) each, in the same
            units on both axes.

    Returns:
        A figure: arcs between groups, and discs for what is inside, as wide as the flow is large,
        and paler where its interval begins far below it. Flows with a direction bend to the left
        on their way. Only those that are above 0 for sure, by intervals that hold all at once, are
        drawn, at most the 400 largest; the legend says how many are not.
    """
    seen = drawn.possible if not drawn.symmetric else np.triu(drawn.possible)
    first, second = np.nonzero(seen & (drawn.low > 0))
    starts, ends = places[0][first], places[1][second]
    flow = drawn.values[first, second]
    sure = drawn.low[first, second] / flow
    inside = (starts == ends).all(axis=1)
    order = np.argsort(np.where(inside, -1.0, flow * sure), kind="stable")
    lines = order[int(inside.sum()) :][-_LINES:]  # large sure ones last, on top
    discs = np.flatnonzero(inside)
    largest = float(flow.max(initial=1e-300))
    everywhere = np.concatenate(places)
    spans = np.ptp(everywhere, axis=0)
    ratio = float(np.clip(spans[1] / spans[0], 0.3, 1.1)) if spans[0] > 0 else 1.1
    line, disc = to_rgb(COLOURS["noisy"]), to_rgb(COLOURS["synthetic"])
    with drawing(PAGE, PAGE * 0.9 * ratio + 0.9) as (figure, axes):
        axes.scatter(
            starts[discs, 0],
            starts[discs, 1],
            s=_LARGEST * flow[discs] / largest,
            color=_pale(disc, 0.25 + 0.75 * sure[discs]),
            alpha=0.7,
            linewidths=0,
        )
        axes.add_collection(
            LineCollection(
                list(_arcs(starts[lines], ends[lines], left=not drawn.symmetric)),
                linewidths=np.maximum(_WIDEST * flow[lines] / largest, 0.4),
                colors=_pale(line, 0.25 + 0.75 * sure[lines]),
                alpha=0.8,
                capstyle="butt",
                zorder=2,
            )
        )
        axes.scatter(everywhere[:, 0], everywhere[:, 1], s=5, color="black", zorder=3)
        _name_places(axes, drawn, places, 72 * 0.85 * PAGE / max(float(spans[0]), 1e-300))
        axes.set_aspect("equal")
        axes.margins(0.06)
        axes.set_axis_off()
        figure.suptitle(drawn.title, x=0.01, ha="left", fontsize=10)
        between, within = (float(flow[each].max(initial=0.0)) for each in (lines, discs))
        smaller = len(order) - len(lines) - len(discs)
        left_out = f"not drawn: {int(seen.sum()) - len(order):,} flows that may be 0"
        left_out += f", {smaller:,} smaller ones" if smaller else ""
        handles = [
            Line2D(
                [], [], color=line, linewidth=max(_WIDEST * between / largest, 0.4),
                label=f"between groups: {between:,.0f} {drawn.unit} in the widest",
            ),
            Line2D(
                [], [], color=disc, marker="o", linestyle="", alpha=0.7,
                label=f"inside a group: {within:,.0f} {drawn.unit} in the largest",
            ),
            Line2D(
                [], [], color=_pale(line, np.array([0.3]))[0], linewidth=3,
                label="paler: larger error",
            ),
            Line2D([], [], linestyle="", label=left_out),
        ]  # fmt: skip
        if not len(discs):
            del handles[1]
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure


def _arcs(starts: FloatMatrix, ends: FloatMatrix, *, left: bool) -> npt.NDArray[np.float64]:
    """Arcs as lines of many pieces; to the left on their way, else upwards."""
    ways = ends - starts
    sides = np.stack([-ways[:, 1], ways[:, 0]], axis=1)
    if not left:
        sides = np.where(sides[:, 1:] < 0, -sides, sides)
    middles = (starts + ends) / 2 + _BEND * sides
    at = np.linspace(0, 1, _STEPS + 1)[None, :, None]
    first, middle, last = (points[:, None] for points in (starts, middles, ends))
    found: npt.NDArray[np.float64] = (1 - at) ** 2 * first + 2 * at * (1 - at) * middle
    return found + at**2 * last


def _name_places(
    axes: Axes, drawn: FlowPicture, places: tuple[FloatMatrix, FloatMatrix], scale: float
) -> None:
    """The names of the groups, the largest first, where they cover no other name and no place.

    Each name stands on one of four sides of its place; `scale` is how many points a unit has.
    """
    named: dict[tuple[float, float], tuple[float, str]] = {}
    for axis, names in enumerate((drawn.rows, drawn.columns)):
        sums = np.where(drawn.low > 0, drawn.values, 0).sum(axis=1 - axis)
        for (x, y), total, name in zip(places[axis].tolist(), sums.tolist(), names, strict=True):
            named[x, y] = max(named.get((x, y), (0.0, "")), (total, name))
    taken = [(x * scale - 1.5, y * scale - 1.5, x * scale + 1.5, y * scale + 1.5) for x, y in named]
    for (x, y), (_, name) in sorted(named.items(), key=lambda each: -each[1][0]):
        width = 0.62 * _NAME_SIZE * len(name)
        for right, up in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            left = x * scale + (3 if right > 0 else -3 - width)
            low = y * scale + (2 if up > 0 else -2 - _NAME_SIZE)
            box = left, low, left + width, low + _NAME_SIZE
            if not any(
                box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
                for other in taken
            ):
                taken.append(box)
                axes.annotate(
                    name,
                    (x, y),
                    xytext=(3 * right, 2 * up),
                    textcoords="offset points",
                    ha="left" if right > 0 else "right",
                    va="bottom" if up > 0 else "top",
                    fontsize=_NAME_SIZE,
                    zorder=4,
                    path_effects=[patheffects.withStroke(linewidth=1.5, foreground="white")],
                )
                break


def periods_figure(
    *,
    periods: Sequence[str],
    cells: Sequence[str],
    values: FloatMatrix,
    low: FloatMatrix,
    high: FloatMatrix,
    title: str,
    unit: str = "edges",
    others: int = 0,
) -> Figure:
    """Draw the largest cells over periods: a small picture for each, with one scale for all.

    Args:
        periods: names of the periods, in order.
        cells: names of the cells, the largest first.
        values: what is shown of each cell in each period, shape (cells, periods).
        low: lower ends of intervals, all at once, likewise.
        high: upper ends.
        title: what is shown, with the guarantee.
        unit: what the numbers are of: "edges", "weight", "rows", "users", "pairs" or "amount".
        others: how many cells there are beside these.

    Returns:
        A figure: a line through the values, and a band for the intervals.
    """
    count, places = len(cells), np.arange(len(periods))
    across = min(count, _ACROSS)
    down = -(-count // across)
    shown = places[:: -(-len(periods) // _TICKS)]
    with house_style():
        figure = Figure(figsize=(PAGE * max(across, 2) / _ACROSS, 1.5 * down + 1.1))
        grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        for axes, name, value, *ends in zip(grid.flat, cells, values, low, high, strict=False):
            axes.fill_between(places, *ends, color=COLOURS["noisy"], alpha=0.25, linewidth=0)
            axes.plot(places, value, color=COLOURS["noisy"], marker=".", markersize=4)
            axes.set_title(name, fontsize=8)
        for axes in grid.flat[count:]:
            axes.set_visible(False)
        first = grid[0, 0]
        first.set_ylim(0, max(float(high[np.isfinite(high)].max(initial=0)), 1) * 1.05)
        first.set_xlim(-0.3, len(periods) - 0.7)
        first.set_xticks(shown, [periods[each] for each in shown])
        for column in range(across):
            lowest = grid[(count - 1 - column) // across, column]
            lowest.tick_params(axis="x", rotation=45, labelsize=7, labelbottom=True)
        figure.supylabel(f"{unit}, noisy", fontsize=9)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        told = f"{DEFAULT_PERCENT} intervals, all cells at once"
        handles = [Patch(facecolor=COLOURS["noisy"], alpha=0.25, label=told)]
        if others:
            handles.append(Patch(alpha=0, label=f"not drawn: {others:,} smaller cells"))
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure
