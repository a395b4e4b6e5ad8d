"""Pictures of noisy tables of flows between groups: heat maps, and flows over periods.

A *flow table* has a cell for each pair of groups (a, b): the estimated weight from a to b, and the
half width of its interval, for this cell alone. A map also needs lower ends of intervals that hold
for all cells at once. Groups have *levels*:
each group of a fine level lies in one *enclosing group* of the next coarser level, and groups are
ordered so that those of one enclosing group are neighbours. A `FlowPicture` is what is drawn of one
table, here and in `flow_maps`:

- `heat_map_figure`: the table as a heat map;
- `heat_maps_figure`: one heat map for each period, in one scale;
- `periods_figure`: the largest cells of several tables, over the periods.

Everything that is drawn is released already. Numbers without a name, such as heights in inches and
sizes of fonts, were chosen by eye and can be changed freely.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.plotting.labels import (
    AXIS_SIZE,
    INCH,
    TITLE_SIZE,
    Boxes,
    framed_figure,
    shortened,
    text_height,
    text_width,
    wrapped,
)
from graphcuts_dp.plotting.palette import LIGHT, ink_on
from graphcuts_dp.plotting.style import (
    AMOUNT_COLOURS,
    COLOURS,
    FRAME,
    INK,
    PAGE,
    house_style,
    plain_text,
)

# Heat maps. Lengths are in points.
MOST_NAMED = 60  # names on a side; with more groups, enclosing groups have theirs
_MAX_NUMBERED = 12  # groups on a side up to which each cell has its number
_LONGEST_NAME = 28  # characters of a name; longer ones lose their middle
_NAME_SIZE, _LEAST_NAME_SIZE = 8.0, 4.5  # of the font of names
_MOST_LINES = 3  # of a name below a column
_NUMBER_SIZE, _LEAST_NUMBER_SIZE = 9.0, 6.5  # of the font of numbers in cells
_LEAST_CELL, _MOST_CELL = 9.0, 60.0  # sides of a cell
_WIDEST, _HIGHEST = 10 * INCH, 9.5 * INCH  # of a picture
_LEAST_WIDTH = 4.8 * INCH
_MAP_SIDE = 4.2 * INCH  # of a heat map with few cells
_BAR_SHIFT, _BAR_WIDTH = 10.0, 9.0  # of the bar of colours from the cells
_GAP = 6.0  # between names and cells
_IMPOSSIBLE = to_rgb(LIGHT["impossible"])
_ROUND = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)  # numbers of the bar, times a power of ten
_NONZERO = 1e-300  # replaces a zero denominator
_PANEL_NAMED = 24  # groups on a side up to which panels name them

# Periods.
_ALONE_ALPHA = 0.45  # of the band of intervals of single cells, upon that of all at once
MAX_PANELS = 9  # most cells that callers should give `periods_figure`, which draws all of them
_PANELS_ACROSS = 3
_PANEL_WIDTH = 130.0  # points of a panel
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
        axis_names: what the rows and what the columns are, as "from: zone" and "to: zone".
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
    axis_names: tuple[str, str] = ("", "")
    symmetric: bool = True
    title: str
    unit: str = "edges"
    integral: bool = True


class _Names(NamedTuple):
    """The names on one side of a heat map.

    Attributes:
        positions: of each name, in cells.
        texts: ready for matplotlib.
        size: of the font, in points.
        length: of the longest name, in points.
        turned: whether they are written upwards; only below columns.
    """

    positions: list[float]
    texts: list[str]
    size: float
    length: float
    turned: bool

    @property
    def room(self) -> float:
        """The room that they take between the cells and the name of the axis."""
        is_beside = self.turned or not self.texts
        lines = max((text.count("\n") for text in self.texts), default=0) + 1
        return self.length if is_beside else lines * text_height(self.size)


def heat_map_figure(picture: FlowPicture) -> Figure:
    """Draw a table as a heat map.

    Returns:
        A figure: darker cells hold more, white ones nothing; the colours follow the square root, so
        that small flows show. If there are half widths and up to 12 groups a side, each cell has
        its number and half width, as far as they have room. With more cells, a cell keeps the share
        1 - (half width) / value of its colour: it is paler the wider its interval is, and white if
        its value is below the half width, so that noise hardly shows. Cells that can hold no pair
        are grey. The figure grows with the table, so that no two texts collide.
    """
    return _heat_maps({"": picture}, picture.title)


def heat_maps_figure(pictures: Mapping[str, FlowPicture], title: str) -> Figure:
    """Draw several tables of the same groups beside each other, with one scale of colours.

    Args:
        pictures: a table for each name, such as "March 2026"; at least one.
        title: title of the figure, with the guarantee.

    Returns:
        A figure as `heat_map_figure` draws it, without numbers in the cells.
    """
    return _heat_maps(pictures, title)


def _heat_maps(pictures: Mapping[str, FlowPicture], title: str) -> Figure:
    """Draw one table with all that has room, or several."""
    first = next(iter(pictures.values()))
    rows, columns = first.values.shape
    is_single = len(pictures) == 1
    most = max(float(picture.values.max(initial=0.0)) for picture in pictures.values())
    norm = PowerNorm(0.5, vmin=0, vmax=max(most, 1.0))
    bar = _BAR_SHIFT + _BAR_WIDTH + 2 * _GAP + text_height(AXIS_SIZE)
    bar += max(text_width(text, _NAME_SIZE) for _, text in _bar_ticks(norm, 2))
    number_size, number_width = _number_size(first, bar) if is_single else (0.0, 0.0)
    across = min(len(pictures), _PANELS_ACROSS + (len(pictures) > 9))
    widest = (_WIDEST - bar) / across
    most_named = MOST_NAMED if is_single else _PANEL_NAMED
    row_names = _ticks(first.row_names, first.enclosing[0], most_named)
    row_length = max((text_width(text, _NAME_SIZE) for _, text in row_names), default=0.0)
    left = row_length + text_height(AXIS_SIZE) + 2 * _GAP
    side = min(_MAP_SIDE if is_single else 2.2 * INCH, widest - (left if is_single else 0))
    cell = max(min(side / columns, _MOST_CELL), _LEAST_CELL, number_width)
    cell_width = min(cell, (widest - (left if is_single else 0)) / columns)
    cell_height = min(cell_width, _HIGHEST / (rows * -(-len(pictures) // across)))
    if number_size:
        cell_height = max(cell_height, 2.4 * number_size)
    row_labels = _names(row_names, cell_height, below=False)
    column_labels = _names(
        _ticks(first.column_names, first.enclosing[1], most_named), cell_width, below=True
    )
    name_height = text_height(AXIS_SIZE) if first.axis_names[0] else 0.0
    boxes = Boxes(
        width=columns * cell_width,
        height=rows * cell_height,
        count=len(pictures),
        across=across,
        left=row_labels.length + name_height + 2 * _GAP,
        right=bar,
        below=column_labels.room + name_height + 2 * _GAP,
        above=0.0 if is_single else text_height(AXIS_SIZE) + 4,
        between=10.0,
        below_each=6.0,
        least_width=_LEAST_WIDTH,
    )
    handles: list[Artist] = []
    if first.half_widths is not None:
        interval = f"{DEFAULT_PERCENT} interval of the cell alone"
        text = f"paler the wider the {interval}, white below its half width"
        if number_size:
            text = f"\N{PLUS-MINUS SIGN} half width of the {interval}"
        handles.append(Line2D([], [], linestyle="", label=text))
    if not first.possible.all():
        handles.append(Patch(facecolor=_IMPOSSIBLE, label="no pair of vertices"))
    with house_style():
        figure, panels, _ = framed_figure(title, boxes, handles)
        for number, (axes, (name, picture)) in enumerate(
            zip(panels, pictures.items(), strict=True)
        ):
            is_lowest = number + across >= len(pictures)
            colours = _cell_colours(picture, norm, numbered=number_size > 0)
            axes.imshow(colours, interpolation="nearest", aspect="auto")
            if number_size:
                _write_numbers(axes, picture, colours, number_size)
            _name_axes(
                axes, picture, row_labels if number % across == 0 else None,
                column_labels if is_lowest else None,
            )  # fmt: skip
            if name:
                axes.text(
                    0.0, 1.0 + 3 / boxes.height, plain_text(name), transform=axes.transAxes,
                    fontsize=AXIS_SIZE, va="bottom",
                )  # fmt: skip
        _draw_bar(figure, panels, norm, first, boxes)
    return figure


def _number_size(picture: FlowPicture, bar: float) -> tuple[float, float]:
    """Return the font size of the numbers in cells and the width that they need; 0 and 0 if none.

    A table has numbers if it has half widths, at most 12 groups a side, and if all numbers fit.

    Args:
        picture: the table.
        bar: points that the bar of colours takes.
    """
    columns = picture.values.shape[1]
    if picture.half_widths is None or max(picture.values.shape) > _MAX_NUMBERED:
        return 0.0, 0.0
    texts = [text for pair in _number_texts(picture) for text in pair[2:]]
    widest = max((text_width(text, 1000) / 1000 for text in texts), default=1.0)
    room = (0.7 * _WIDEST - bar) / columns - 4  # names take at most 0.3 of the widest picture
    size = min(_NUMBER_SIZE, room / widest)
    return (size, size * widest + 4) if size >= _LEAST_NUMBER_SIZE else (0.0, 0.0)


def _number_texts(picture: FlowPicture) -> list[tuple[int, int, str, str]]:
    """Return row, column, number and half width of each cell that can hold a pair."""
    texts = []
    for (row, column), value in np.ndenumerate(picture.values):
        if picture.half_widths is None or not picture.possible[row, column]:
            continue
        half_width = float(picture.half_widths[row, column])
        number = f"{value:,.0f}" if picture.integral or half_width >= 10 else f"{value:,.3g}"
        spread = f"{half_width:,.0f}" if half_width >= 10 else f"{half_width:.2g}"
        texts.append((row, column, number, f"\N{PLUS-MINUS SIGN}{spread}"))
    return texts


def _ticks(
    names: Sequence[str], enclosing: Sequence[tuple[str, int]], most: int
) -> list[tuple[float, str]]:
    """Return positions and texts of names: of groups, or of enclosing groups if there are many.

    Cell i lies from i - 0.5 to i + 0.5. Enclosing groups that are too narrow for a name have none.
    Where there are no enclosing groups, every second, third, ... group has its name.
    """
    if 0 < len(names) <= most or not enclosing:
        every = max(1, -(-len(names) // most))
        named = list(enumerate(names))[::every]
        return [(float(index), plain_text(shortened(name, _LONGEST_NAME))) for index, name in named]
    boundaries = np.cumsum([0, *(count for _, count in enclosing)]) - 0.5
    least = (boundaries[-1] - boundaries[0]) / most
    return [
        (float(start + stop) / 2, plain_text(shortened(name, _LONGEST_NAME)))
        for (start, stop), (name, count) in zip(pairwise(boundaries), enclosing, strict=True)
        if count >= least
    ]


def _names(ticks: Sequence[tuple[float, str]], cell: float, *, below: bool) -> _Names:
    """Choose the font size, and whether names below columns are turned, so that none collide.

    Args:
        ticks: position and text of each name.
        cell: points of a cell along the axis.
        below: whether these are the names of columns.
    """
    positions, texts = [position for position, _ in ticks], [text for _, text in ticks]
    if not ticks:
        return _Names([], [], _NAME_SIZE, 0.0, turned=False)
    distance = cell * min((b - a for a, b in pairwise(positions)), default=1e3 / cell)
    widths = [text_width(text, _NAME_SIZE) for text in texts]
    # Names of columns are turned where words would have to be broken to stand side by side.
    words = [word for text in texts for word in text.split()]
    longest_word = max((text_width(word, _NAME_SIZE) for word in words), default=0.0)
    lines = [wrapped(text, _NAME_SIZE, distance - 4) for text in texts] if below else [""]
    has_room = longest_word + 4 <= distance
    if below and has_room and max(text.count("\n") for text in lines) < _MOST_LINES:
        return _Names(positions, lines, _NAME_SIZE, max(widths), turned=False)
    size = min(_NAME_SIZE, distance / text_height(1.0))
    if size < _LEAST_NAME_SIZE:
        return _Names([], [], _NAME_SIZE, 0.0, turned=False)
    return _Names(positions, texts, size, max(widths) * size / _NAME_SIZE, turned=below)


def _cell_colours(
    picture: FlowPicture, norm: PowerNorm, *, numbered: bool
) -> npt.NDArray[np.float64]:
    """Return the colour of each cell, shape (rows, columns, 3)."""
    colours = AMOUNT_COLOURS(norm(picture.values))[..., :3]
    if picture.half_widths is not None and not numbered:
        relative_widths = picture.half_widths / np.maximum(picture.values, _NONZERO)
        colours = paler(colours, 1 - relative_widths)
    return np.asarray(np.where(picture.possible[..., None], colours, _IMPOSSIBLE))


def paler(colour: npt.ArrayLike, share: FloatMatrix | FloatVector) -> npt.NDArray[np.float64]:
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
    for row, column, number, spread in _number_texts(picture):
        # Size, and height above the middle of the cell, in units of `font_size`.
        for text, relative_size, height in ((number, 1.0, 0.5), (spread, 0.8, -0.6)):
            axes.annotate(
                text,
                (column, row),
                xytext=(0, height * font_size),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=relative_size * font_size,
                color=ink_on(colours[row, column].tolist()),
            )


def _name_axes(
    axes: Axes, picture: FlowPicture, row_labels: _Names | None, column_labels: _Names | None
) -> None:
    """Name groups and axes, and draw lines between enclosing groups.

    Args:
        axes: of a heat map.
        picture: its table.
        beside: names of the rows; None if another heat map has them.
        below: names of the columns; None likewise.
    """
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(FRAME)
    axes.spines[:].set_linewidth(0.5)
    axes.tick_params(length=0, pad=_GAP / 2)
    sides = (
        (axes.yaxis, axes.axhline, row_labels, picture.enclosing[0], picture.axis_names[0]),
        (axes.xaxis, axes.axvline, column_labels, picture.enclosing[1], picture.axis_names[1]),
    )
    for axis, draw_line, names, enclosing, axis_name in sides:
        for boundary in (np.cumsum([0, *(count for _, count in enclosing)]) - 0.5)[1:-1]:
            draw_line(boundary, color=INK, linewidth=0.7)
        if names is None:
            axis.set_ticks([])
            continue
        axis.set_ticks(names.positions, names.texts)
        axis.set_tick_params(labelsize=names.size, labelrotation=90 if names.turned else 0)
        axis.set_label_text(plain_text(axis_name), fontsize=AXIS_SIZE)
        axis.labelpad = _GAP / 2


def _draw_bar(
    figure: Figure, panels: Sequence[Axes], norm: PowerNorm, picture: FlowPicture, boxes: Boxes
) -> None:
    """Draw the bar of colours beside the first row of heat maps, with the unit of the values."""
    box = panels[min(boxes.across, len(panels)) - 1].get_position()
    width = float(figure.get_figwidth()) * INCH
    shape = (box.x1 + _BAR_SHIFT / width, box.y0, _BAR_WIDTH / width, box.height)
    bar_axes = figure.add_axes(shape)
    bar = figure.colorbar(ScalarMappable(norm, AMOUNT_COLOURS), cax=bar_axes)
    count = int(np.clip(boxes.height / text_height(_NAME_SIZE) / 2, 2, 6))
    ticks = _bar_ticks(norm, count)
    bar.set_ticks([value for value, _ in ticks], labels=[text for _, text in ticks])
    bar.ax.tick_params(labelsize=_NAME_SIZE, length=2, pad=2)
    is_sum = picture.unit in ("weight", "amount")
    name = f"noisy {picture.unit}" if is_sum else f"noisy number of {picture.unit}"
    bar.set_label(wrapped(name, AXIS_SIZE - 1, boxes.height), fontsize=AXIS_SIZE - 1, labelpad=2)
    bar.outline.set_edgecolor(FRAME)
    bar.outline.set_linewidth(0.5)


def _bar_ticks(norm: PowerNorm, count: int) -> list[tuple[float, str]]:
    """Return values and texts for the bar of colours, so many and in even steps of colour."""
    ticks = []
    for share in np.linspace(0, 1, count):
        value = float(norm.inverse(share))
        if 0 < share < 1:
            size = 10.0 ** math.floor(math.log10(value))
            value = size * min(_ROUND, key=lambda digits: abs(digits - value / size))
        ticks.append((value, f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"))
    return ticks


def periods_figure(
    *,
    periods: Sequence[str],
    cells: Sequence[str],
    values: FloatMatrix,
    low: FloatMatrix,
    high: FloatMatrix,
    alone: tuple[FloatMatrix, FloatMatrix] | None = None,
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
        alone: lower and upper ends of the intervals of each cell alone, which tables and answers
            have, with the same shapes; None if they are not drawn.
        title: title of the figure, with the guarantee.
        unit: unit of the values, as in `FlowPicture`.
        omitted: number of cells besides these, which are not drawn.

    Returns:
        A figure: a line through the values, a band for the intervals, and within it a darker one
        for those of each cell alone.
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
            if alone is not None:
                axes.fill_between(
                    *(numbers, alone[0][index], alone[1][index]),
                    color=COLOURS["noisy"],
                    alpha=_ALONE_ALPHA,
                    linewidth=0,
                )
            axes.plot(numbers, values[index], color=COLOURS["noisy"], marker=".", markersize=4)
            panel_name = wrapped(plain_text(name), _NAME_SIZE, _PANEL_WIDTH)
            axes.set_title(panel_name, fontsize=_NAME_SIZE)
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
        lines = wrapped(title, TITLE_SIZE, figure.get_figwidth() * INCH - 12)
        figure.suptitle(lines, x=0.01, ha="left", fontsize=TITLE_SIZE)
        label = f"{DEFAULT_PERCENT} intervals, all cells at once"
        handles = [Patch(facecolor=COLOURS["noisy"], alpha=0.25, label=label)]
        if alone is not None:
            of_table = f"{DEFAULT_PERCENT}, the cell alone, as in the table"
            handles.append(Patch(facecolor=COLOURS["noisy"], alpha=_ALONE_ALPHA, label=of_table))
        if omitted:
            handles.append(Patch(alpha=0, label=f"not drawn: {omitted:,} smaller cells"))
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure
