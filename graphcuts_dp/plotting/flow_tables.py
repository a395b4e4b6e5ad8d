"""Pictures of noisy tables of flows between groups: a heat map, a map, and flows over periods.

A *flow table* has a cell for each pair of groups (a, b): the estimated weight from a to b, and the
half width of its interval, for this cell alone. A map also needs lower ends of intervals that hold
for all cells at once. Groups have *levels*:
each group of a fine level lies in one *enclosing group* of the next coarser level, and groups are
ordered so that those of one enclosing group are neighbours. A `FlowPicture` is what the first two
pictures draw of one table:

- `heat_map_figure`: the table as a heat map;
- `flow_map_figure`: arcs between groups that have positions on a map;
- `periods_figure`: the largest cells of several tables, one for each period.

`drawing(width, height)` opens a figure of this size in inches with one picture, in our style.
`house_style()` sets only the style, for a figure with several pictures.

Everything that is drawn is released already. Numbers without a name, such as heights in inches and
sizes of fonts, were chosen by eye and can be changed freely.
"""

import math
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

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.plotting.style import COLOURS, PAGE, drawing, house_style

# Heat maps.
_MAX_NAMED = 60  # groups on a side up to which each has its name; else enclosing groups have
_MAX_NUMBERED = 12  # groups on a side up to which each cell has its number
_IMPOSSIBLE = (0.9, 0.9, 0.9)  # colour of a cell that can hold no pair: light grey
_BLUES = LinearSegmentedColormap.from_list(  # begins with plain white, unlike matplotlib's "Blues"
    "flows", ["#ffffff", "#cfe1f2", "#6aaed6", "#2070b4", "#08306b"]
)
_FRAME = "#808080"  # colour of frames and of lines between enclosing groups
_LUMA = (0.299, 0.587, 0.114)  # brightness of red, green and blue
_NONZERO = 1e-300  # replaces a zero denominator

# Maps.
_MAX_ARCS = 400  # arcs that are drawn; discs are not limited
_NAME_SIZE = 7  # font size of a group's name, in points
_CHARACTER_WIDTH = 0.62  # of a character, in units of the font size
# Width in points of an arc for the largest flow of all, of arcs and discs together. All flows have
# one scale: if the largest is a disc, the widest arc is thinner.
_MAX_LINE_WIDTH = 7.0
_MIN_LINE_WIDTH = 0.4
_MAX_DISC_AREA = 500.0  # of the largest flow inside a group, in square points
_MIN_SHARE = 0.25  # share of its colour that a flow keeps, however large its error is
_BEND = 0.18  # distance of an arc's control point from its chord, in units of the chord
_ARC_PIECES = 24  # straight lines of which an arc is made
_DOT_RADIUS = 1.5  # room that the dot of a group takes, in points
_NAME_SHIFT = (3, 2)  # of a name from its dot, across and up, in points
_INCH = 72  # points in an inch

# Periods.
MAX_PANELS = 9  # most cells that callers should give `periods_figure`, which draws all of them
_PANELS_ACROSS = 3
_TITLE_WIDTH = 100  # characters of a line of a title across the page
_MAX_TICKS = 6  # periods whose names are written


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class FlowPicture:
    """One flow table, as it is drawn.

    Attributes:
        values: value of each cell, within its interval and at least 0, shape (rows, columns).
        half_widths: of the intervals of the default confidence, each for its cell alone, shape
            (rows, columns); None if they are not drawn.
        low: lower ends of the intervals that hold for all cells at once, shape (rows, columns).
        possible: whether each cell can hold a pair of vertices, shape (rows, columns).
        row_names: names of the groups of the rows. A flow map needs all of them. For a heat map the
            list may be empty: then only enclosing groups are named.
        column_names: names of the groups of the columns; empty if `row_names` is.
        enclosing: for the rows and for the columns, the name of each enclosing group and how many
            groups it has, in order; empty if the groups of this table lie in no larger ones.
        symmetric: whether (a, b) and (b, a) are one cell.
        title: title of the figure, with the guarantee.
        unit: unit of the values: "edges", "weight", "rows", "users", "pairs" or "amount".
        integral: whether the true values are integers.
    """

    values: FloatMatrix
    half_widths: FloatMatrix | None
    low: FloatMatrix
    possible: BoolMatrix
    row_names: Sequence[str] = ()
    column_names: Sequence[str] = ()
    enclosing: tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]]] = ((), ())
    symmetric: bool = True
    title: str
    unit: str = "edges"
    integral: bool = True

    @property
    def is_numbered(self) -> bool:
        """True if there are so few cells that each has its number and half width written in it."""
        return self.half_widths is not None and max(self.values.shape) <= _MAX_NUMBERED


def heat_map_figure(picture: FlowPicture) -> Figure:
    """Draw a table as a heat map.

    Returns:
        A figure: darker cells hold more, white ones nothing; the colours follow the square root, so
        that small flows show. If there are half widths and up to 12 groups a side, each cell has
        its number and half width. If there are half widths and more groups, a cell keeps the share
        1 - (half width) / value of its colour: it is paler the wider its interval is, and white if
        its value is below the half width, so that noise hardly shows. Cells that can hold no pair
        are grey.
    """
    rows, columns = picture.values.shape
    width = PAGE if columns > 6 else 4.6  # inches
    cell = (width - 2.0) / columns  # inches, beside names and colour bar
    with drawing(width, float(np.clip(cell * rows + 1.5, 2.4, 9.5))) as (figure, axes):
        norm = PowerNorm(0.5, vmin=0, vmax=max(float(picture.values.max(initial=0.0)), 1.0))
        colours = _cell_colours(picture, norm)
        axes.imshow(colours, interpolation="nearest")
        if picture.is_numbered:
            _write_numbers(axes, picture, colours, float(np.clip(cell * 18, 6.5, 10)))
        _name_axes(axes, picture)
        bar = figure.colorbar(ScalarMappable(norm, _BLUES), ax=axes, fraction=0.045, pad=0.02)
        is_sum = picture.unit in ("weight", "amount")
        bar.set_label(f"noisy {picture.unit}" if is_sum else f"noisy number of {picture.unit}")
        bar.outline.set_edgecolor(_FRAME)
        bar.outline.set_linewidth(0.5)
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color(_FRAME)
        axes.spines[:].set_linewidth(0.5)
        axes.tick_params(length=0)
        axes.set_title(fill(picture.title, round(13 * width)))
        handles: list[Artist] = []
        if picture.half_widths is not None:
            interval = f"{DEFAULT_PERCENT} interval of the cell alone"
            text = f"paler the wider the {interval}, white below its half width"
            if picture.is_numbered:
                text = f"\N{PLUS-MINUS SIGN} half width of the {interval}"
            handles.append(Line2D([], [], linestyle="", label=text))
        if not picture.possible.all():
            handles.append(Patch(facecolor=_IMPOSSIBLE, label="no pair of vertices"))
        figure.legend(
            handles=handles,
            loc="outside lower left",
            ncols=1 if width < PAGE else 2,
            fontsize=8,
            handlelength=1,
        )
    return figure


def _cell_colours(picture: FlowPicture, norm: PowerNorm) -> npt.NDArray[np.float64]:
    """Return the colour of each cell, shape (rows, columns, 3)."""
    colours = _BLUES(norm(picture.values))[..., :3]
    if picture.half_widths is not None and not picture.is_numbered:
        relative_widths = picture.half_widths / np.maximum(picture.values, _NONZERO)
        colours = _paler(colours, 1 - relative_widths)
    return np.asarray(np.where(picture.possible[..., None], colours, _IMPOSSIBLE))


def _paler(colour: npt.ArrayLike, share: FloatMatrix | FloatVector) -> npt.NDArray[np.float64]:
    """Return a mixture of a share, in [0, 1], of a colour with white; shape (*share.shape, 3)."""
    return np.asarray(1 - np.clip(share, 0, 1)[..., None] * (1 - np.asarray(colour)))


def _write_numbers(
    axes: Axes, picture: FlowPicture, colours: npt.NDArray[np.float64], font_size: float
) -> None:
    """Write into each cell its number above the half width of its interval.

    Args:
        axes: of the heat map.
        picture: a table with half widths.
        colours: of the cells, shape (rows, columns, 3). The text is white on dark ones.
        font_size: of the numbers, in points.
    """
    for (row, column), value in np.ndenumerate(picture.values):
        if picture.half_widths is None or not picture.possible[row, column]:
            continue
        half_width = float(picture.half_widths[row, column])
        number = f"{value:,.0f}" if picture.integral or half_width >= 10 else f"{value:,.3g}"
        spread = f"{half_width:,.0f}" if half_width >= 10 else f"{half_width:.2g}"
        is_dark = float(colours[row, column] @ _LUMA) < 0.5
        # Size, and height above the middle of the cell, in units of `font_size`.
        for text, relative_size, height in (
            (number, 1.0, 0.4),
            (f"\N{PLUS-MINUS SIGN}{spread}", 0.8, -0.7),
        ):
            axes.annotate(
                text,
                (column, row),
                xytext=(0, height * font_size),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=relative_size * font_size,
                color="white" if is_dark else "black",
            )


def _name_axes(axes: Axes, picture: FlowPicture) -> None:
    """Name groups on both axes, or enclosing groups if there are many, with lines between these."""
    sides = (
        (axes.yaxis, axes.axhline, picture.row_names, picture.enclosing[0]),
        (axes.xaxis, axes.axvline, picture.column_names, picture.enclosing[1]),
    )
    for axis, draw_line, names, enclosing in sides:
        # Where enclosing groups begin, and the last one ends. Cell i lies from i - 0.5 to i + 0.5.
        boundaries = np.cumsum([0, *(count for _, count in enclosing)]) - 0.5
        for boundary in boundaries[1:-1]:
            draw_line(boundary, color=_FRAME, linewidth=0.5)
        ticks: list[tuple[float, str]] = [(float(index), name) for index, name in enumerate(names)]
        small_size = 5  # font size of many names, in points; of enclosing groups it is 6
        has_group_names = 0 < len(names) <= _MAX_NAMED
        if not has_group_names:
            # Name enclosing groups, but not narrow ones, whose names would run into each other.
            min_count = (boundaries[-1] - boundaries[0]) / _MAX_NAMED
            ticks = [
                ((start + stop) / 2, name)
                for (start, stop), (name, count) in zip(
                    pairwise(boundaries), enclosing, strict=True
                )
                if count >= min_count
            ]
            small_size = 6
        axis.set_ticks([position for position, _ in ticks], [name for _, name in ticks])
        axis.set_tick_params(labelsize=8 if len(ticks) <= 20 else small_size)
    # After the loop `ticks` are those of the columns. Names of more than about 60 characters in all
    # do not fit side by side: turn them.
    if sum(len(name) + 2 for _, name in ticks) > 60:
        axes.tick_params(axis="x", rotation=90)


def flow_map_figure(picture: FlowPicture, positions: tuple[FloatMatrix, FloatMatrix]) -> Figure:
    """Draw the flows on a map.

    Args:
        picture: the table.
        positions: of the groups of the rows and of the columns, shape (groups, 2) each, in the same
            units on both axes.

    Returns:
        A figure: arcs between groups, and discs for flows inside one, which includes flows between
        two groups at the same position. The width of an arc and the area of a disc follow the flow.
        An arc or disc is paler, the smaller the lower end of its interval is in relation to the
        flow. Flows with a direction bend to the left on their way. Only flows that are certainly
        above 0, by intervals that hold at once, are drawn. Of arcs at most the 400 with the largest
        lower ends are drawn; the legend says how many are not.
    """
    cells = picture.possible if not picture.symmetric else np.triu(picture.possible)
    first, second = np.nonzero(cells & (picture.low > 0))  # groups of each flow that is certain
    starts, stops = positions[0][first], positions[1][second]  # (flows, 2)
    flows = picture.values[first, second]
    certain_shares = picture.low[first, second] / flows  # lower end over value, in (0, 1]
    is_inside = (starts == stops).all(axis=1)
    discs = np.flatnonzero(is_inside)
    # `order` are the indices of all flows: first the discs, whose sort key is -1, then the arcs by
    # their lower ends, which are above 0. The arcs with the largest lower ends are kept, and are
    # drawn last, on top.
    order = np.argsort(np.where(is_inside, -1.0, flows * certain_shares), kind="stable")
    all_arcs = order[len(discs) :]
    arcs = all_arcs[-_MAX_ARCS:]
    largest = float(flows.max(initial=_NONZERO))
    points = np.concatenate(positions)
    spans = np.ptp(points, axis=0)
    ratio = float(np.clip(spans[1] / spans[0], 0.3, 1.1)) if spans[0] > 0 else 1.1
    arc_colour, disc_colour = to_rgb(COLOURS["noisy"]), to_rgb(COLOURS["synthetic"])
    colour_shares = _MIN_SHARE + (1 - _MIN_SHARE) * certain_shares
    with drawing(PAGE, PAGE * 0.9 * ratio + 0.9) as (figure, axes):
        axes.scatter(
            starts[discs, 0],
            starts[discs, 1],
            s=_MAX_DISC_AREA * flows[discs] / largest,
            color=_paler(disc_colour, colour_shares[discs]),
            alpha=0.7,
            linewidths=0,
        )
        axes.add_collection(
            LineCollection(
                list(_arc_points(starts[arcs], stops[arcs], bends_left=not picture.symmetric)),
                linewidths=np.maximum(_MAX_LINE_WIDTH * flows[arcs] / largest, _MIN_LINE_WIDTH),
                colors=_paler(arc_colour, colour_shares[arcs]),
                alpha=0.8,
                capstyle="butt",
                zorder=2,
            )
        )
        axes.scatter(points[:, 0], points[:, 1], s=5, color="black", zorder=3)
        # The map takes about 85 % of the width of the page. (A map that is much higher than wide is
        # drawn narrower; names then have less room than is assumed.)
        points_per_unit = _INCH * 0.85 * PAGE / max(float(spans[0]), _NONZERO)
        _name_positions(axes, picture, positions, points_per_unit)
        axes.set_aspect("equal")
        axes.margins(0.06)
        axes.set_axis_off()
        figure.suptitle(fill(picture.title, _TITLE_WIDTH), x=0.01, ha="left", fontsize=10)

        # The legend. Its line is as wide as the widest arc.
        largest_arc = float(flows[arcs].max(initial=0.0))
        largest_disc = float(flows[discs].max(initial=0.0))
        smaller = len(all_arcs) - len(arcs)  # arcs beyond the first 400
        may_be_0 = int(cells.sum()) - len(order)  # cells whose interval does not begin above 0
        not_drawn = f"not drawn: {may_be_0:,} flows that may be 0"
        not_drawn += f", {smaller:,} smaller ones" if smaller else ""
        handles = [
            Line2D(
                [], [], color=arc_colour,
                linewidth=max(_MAX_LINE_WIDTH * largest_arc / largest, _MIN_LINE_WIDTH),
                label=f"between groups: {largest_arc:,.0f} {picture.unit} in the widest",
            ),
            Line2D(
                [], [], color=disc_colour, marker="o", linestyle="", alpha=0.7,
                label=f"inside a group: {largest_disc:,.0f} {picture.unit} in the largest",
            ),
            Line2D(
                [], [], color=_paler(arc_colour, np.array([0.3]))[0], linewidth=3,
                label="paler: larger error",
            ),
            Line2D([], [], linestyle="", label=not_drawn),
            Line2D([], [], linestyle="", label="drawn: above 0 by intervals that hold at once"),
        ]  # fmt: skip
        if not len(discs):
            del handles[1]  # the entry "inside a group"
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure


def _arc_points(
    starts: FloatMatrix, stops: FloatMatrix, *, bends_left: bool
) -> npt.NDArray[np.float64]:
    """Return quadratic Bezier curves from starts to stops as lines of many pieces.

    Args:
        starts: shape (flows, 2).
        stops: shape (flows, 2).
        bends_left: whether curves bend to the left on their way; else upwards.

    Returns:
        Shape (flows, pieces + 1, 2).
    """
    chords = stops - starts
    # (x, y) turned to the left by a right angle is (-y, x).
    left_normals = np.stack([-chords[:, 1], chords[:, 0]], axis=1)
    normals = left_normals
    if not bends_left:  # turn those that point down (y < 0) round
        normals = np.where(left_normals[:, 1:] < 0, -left_normals, left_normals)
    controls = (starts + stops) / 2 + _BEND * normals
    t = np.linspace(0, 1, _ARC_PIECES + 1)[None, :, None]
    first, control, last = (points[:, None] for points in (starts, controls, stops))
    curve: npt.NDArray[np.float64] = (1 - t) ** 2 * first + 2 * t * (1 - t) * control
    return curve + t**2 * last


def _name_positions(
    axes: Axes,
    picture: FlowPicture,
    positions: tuple[FloatMatrix, FloatMatrix],
    points_per_unit: float,
) -> None:
    """Write names of groups, those with the largest flows first, where there is room.

    A name stands above or below its position, to the right or to the left, and covers no other name
    and no position. A name without room is left out. Boxes are (left, bottom, right, top), in
    points of the printed page.
    """
    # For each position (x, y): total flow and name of the group there. Several groups can be at one
    # position, for example a row group and a column group. The one with the largest total flow
    # gives the name: `max` compares the pairs (total, name) by the total first.
    largest_names: dict[tuple[float, float], tuple[float, str]] = {}
    for axis, names in enumerate((picture.row_names, picture.column_names)):
        # The total flow of each group of this axis: sum over the other axis.
        sums = np.where(picture.low > 0, picture.values, 0).sum(axis=1 - axis)
        for (x, y), total, name in zip(positions[axis].tolist(), sums.tolist(), names, strict=True):
            largest_names[x, y] = max(largest_names.get((x, y), (0.0, "")), (total, name))
    boxes: list[tuple[float, float, float, float]] = []
    for x, y in largest_names:
        across, up = x * points_per_unit, y * points_per_unit
        boxes.append(
            (across - _DOT_RADIUS, up - _DOT_RADIUS, across + _DOT_RADIUS, up + _DOT_RADIUS)
        )
    shift_across, shift_up = _NAME_SHIFT
    for (x, y), (_, name) in sorted(largest_names.items(), key=lambda entry: -entry[1][0]):
        width = _CHARACTER_WIDTH * _NAME_SIZE * len(name)
        for to_right, upwards in ((True, True), (False, True), (True, False), (False, False)):
            left = x * points_per_unit + (shift_across if to_right else -shift_across - width)
            bottom = y * points_per_unit + (shift_up if upwards else -shift_up - _NAME_SIZE)
            box = left, bottom, left + width, bottom + _NAME_SIZE
            if any(_overlap(box, other) for other in boxes):
                continue
            boxes.append(box)
            axes.annotate(
                name,
                (x, y),
                xytext=(
                    shift_across if to_right else -shift_across,
                    shift_up if upwards else -shift_up,
                ),
                textcoords="offset points",
                ha="left" if to_right else "right",
                va="bottom" if upwards else "top",
                fontsize=_NAME_SIZE,
                zorder=4,
                path_effects=[patheffects.withStroke(linewidth=1.5, foreground="white")],
            )
            break


def _overlap(
    first: tuple[float, float, float, float], second: tuple[float, float, float, float]
) -> bool:
    """Return whether two boxes (left, bottom, right, top) have points in common."""
    across = first[0] < second[2] and second[0] < first[2]
    return across and first[1] < second[3] and second[1] < first[3]


def periods_figure(
    *,
    periods: Sequence[str],
    cells: Sequence[str],
    values: FloatMatrix,
    low: FloatMatrix,
    high: FloatMatrix,
    title: str,
    unit: str = "edges",
    omitted: int = 0,
) -> Figure:
    """Draw cells over periods: a small picture for each, with one scale for all.

    Args:
        periods: names of the periods, in order, at least one.
        cells: names of the cells, the largest first. All are drawn: at least one, and at most
            `MAX_PANELS`, so that they fit on a page.
        values: value of each cell in each period, shape (cells, periods).
        low: lower ends of the intervals, shape (cells, periods). The legend always says that they
            hold at once with the default confidence (`DEFAULT_PERCENT`): callers must pass such
            intervals.
        high: upper ends of the intervals, shape (cells, periods).
        title: title of the figure, with the guarantee.
        unit: unit of the values, as in `FlowPicture`.
        omitted: number of cells besides these, which are not drawn.

    Returns:
        A figure: a line through the values, and a band for the intervals.
    """
    count, numbers = len(cells), np.arange(len(periods))
    across = min(count, _PANELS_ACROSS)
    down = math.ceil(count / across)
    periods_per_tick = math.ceil(len(periods) / _MAX_TICKS)
    ticks = numbers[::periods_per_tick]
    with house_style():
        figure = Figure(figsize=(PAGE * max(across, 2) / _PANELS_ACROSS, 1.5 * down + 1.1))
        panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        for index, name in enumerate(cells):
            axes = panels.flat[index]
            axes.fill_between(
                numbers, low[index], high[index], color=COLOURS["noisy"], alpha=0.25, linewidth=0
            )
            axes.plot(numbers, values[index], color=COLOURS["noisy"], marker=".", markersize=4)
            axes.set_title(name, fontsize=8)
        for axes in panels.flat[count:]:
            axes.set_visible(False)
        first = panels[0, 0]
        is_finite: BoolVector = np.isfinite(high)
        first.set_ylim(0, max(float(high[is_finite].max(initial=0)), 1) * 1.05)
        first.set_xlim(-0.3, len(periods) - 0.7)
        first.set_xticks(ticks, [periods[tick] for tick in ticks])
        for column in range(across):
            # Panels are filled row by row, so panel number row * across + column is used if it is
            # at most count - 1. The lowest used panel of this column names the periods; its row is
            # the largest for which that holds.
            lowest = panels[(count - 1 - column) // across, column]
            lowest.tick_params(axis="x", rotation=45, labelsize=7, labelbottom=True)
        figure.supylabel(f"{unit}, noisy", fontsize=9)
        title_width = round(_TITLE_WIDTH * max(across, 2) / _PANELS_ACROSS)
        figure.suptitle(fill(title, title_width), x=0.01, ha="left", fontsize=10)
        label = f"{DEFAULT_PERCENT} intervals, all cells at once"
        handles = [Patch(facecolor=COLOURS["noisy"], alpha=0.25, label=label)]
        if omitted:
            handles.append(Patch(alpha=0, label=f"not drawn: {omitted:,} smaller cells"))
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure
