"""Maps of noisy flows between groups: an arrow for each flow, as wide as the flow is large.

`flow_map_figure` draws one table, `flow_maps_figure` one map for each period, in one scale. A
`FlowPicture` of `flow_tables` is what is drawn; `MapPlaces` says where the groups are. Places on
earth get a graticule of round degrees and, where the map is small enough that one scale holds
everywhere, a bar of kilometres. Lengths are in points of the printed page.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.plotting.flow_tables import FlowPicture, paler
from graphcuts_dp.plotting.labels import (
    AXIS_SIZE,
    INCH,
    Boxes,
    framed_figure,
    shortened,
    text_height,
    text_width,
)
from graphcuts_dp.plotting.map_places import MapPlaces
from graphcuts_dp.plotting.palette import LIGHT
from graphcuts_dp.plotting.style import FRAME, GRID, INK, PAGE, house_style, plain_text

Box = tuple[float, float, float, float]  # left, bottom, right, top

MOST_ARROWS = 400  # that are drawn; discs are not limited
_NAME_SIZE = 7.0  # of the font
# Characters of a name, on a map and on one of several; longer ones lose their middle.
_LONGEST_NAME, _LONGEST_OF_PANEL = 28, 16
# Width of the largest arrow, on a map and on one of several. Arrows have one scale, discs another,
# as a width and an area cannot be compared.
_WIDEST_ARROW, _WIDEST_OF_PANEL = 7.0, 4.0
_THINNEST_ARROW = 0.6
_HEAD_LENGTH, _HEAD_WIDTH = 4.0, 3.0  # of the thinnest head; wider arrows have larger ones
_LARGEST_DISC, _LARGEST_OF_PANEL = 500.0, 200.0  # area of the largest disc, likewise
_LEAST_SHARE = 0.25  # share of its colour that a flow keeps, however large its error is
_BEND = 0.18  # distance of an arrow's control point from its chord, in units of the chord
_PIECES = 24  # straight lines of which a side of an arrow is made
_DOT = 1.6  # radius of the dot of a group
_NAME_SHIFT = (3.0, 2.0)  # of a name from its dot, across and up
_MARGIN = 0.08  # around all places, in units of the larger side of the map
_PANELS_ACROSS = 3
_NONZERO = 1e-300  # replaces a zero denominator
_SQUARE = (0.3, 1.1)  # least and most height of a map over its width

# On earth.
_KILOMETRES = math.radians(1) * 6371.0088  # of a degree along a meridian; mean radius
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90)  # degrees
_MOST_LINES = 7  # of a graticule, of one kind
_ONE_SCALE = 0.15  # how far the scale may change over a map that has a bar of kilometres


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class _DrawnFlows:
    """The flows of a table that are drawn: those that are above 0 for sure.

    Attributes:
        starts: shape (flows, 2).
        stops: shape (flows, 2).
        flows: values, shape (flows,).
        shares: lower end over value, in (0, 1], shape (flows,).
        discs: indices of the flows inside a group.
        arrows: indices of the largest others, those with the largest lower ends last.
        smaller: number of arrows beyond these.
        uncertain: number of cells that may be 0.
    """

    starts: FloatMatrix
    stops: FloatMatrix
    flows: FloatVector
    shares: FloatVector
    discs: IntVector
    arrows: IntVector
    smaller: int
    uncertain: int


def flow_map_figure(picture: FlowPicture, places: MapPlaces) -> Figure:
    """Draw the flows on a map.

    Args:
        picture: the table.
        places: of its groups.

    Returns:
        A figure: arrows between groups, and discs for flows inside one, which includes flows
        between two groups at the same position. The width of an arrow and the area of a disc follow
        the flow, each with a scale of its own. An arrow or disc is paler, the smaller the lower end
        of its interval is in relation to the flow. Flows with a direction have heads and bend to
        the left on their way, so that those there and back lie side by side. Only flows that are
        certainly above 0, by intervals that hold at once, are drawn. Of arrows at most the 400 with
        the largest lower ends are drawn; the legend says how many are not.
    """
    return _flow_maps({"": picture}, places, picture.title)


def flow_maps_figure(pictures: Mapping[str, FlowPicture], places: MapPlaces, title: str) -> Figure:
    """Draw several tables of the same groups on maps beside each other, in one scale.

    Args:
        pictures: a table for each name, such as "March 2026"; at least one.
        places: of their groups.
        title: title of the figure, with the guarantee.
    """
    return _flow_maps(pictures, places, title)


def _flow_maps(pictures: Mapping[str, FlowPicture], places: MapPlaces, title: str) -> Figure:
    """Draw one map, or several."""
    first = next(iter(pictures.values()))
    is_single = len(pictures) == 1
    low, high = map_extent(places.points)
    spans = high - low
    across = 1 if is_single else min(len(pictures), _PANELS_ACROSS)
    is_earth = places.longitude_scale is not None
    left = text_width("88.88° N", _NAME_SIZE) + 6 if is_earth else 0.0
    below = text_height(_NAME_SIZE) + 4 if is_earth else 0.0
    between = 8.0
    width = (PAGE * INCH - 14 - left - (across - 1) * between) / across
    height = width * float(np.clip(spans[1] / spans[0], *_SQUARE))
    scale = min(width / spans[0], height / spans[1])  # points of a unit
    middle = (low + high) / 2
    half = np.array([width, height]) / 2 / scale
    low, high = middle - half, middle + half  # the whole box shows the plane, in equal units
    flows_of = {name: _drawn_flows(picture, places) for name, picture in pictures.items()}
    arrow, disc = _largest(flows_of.values())
    widest = _WIDEST_ARROW if is_single else _WIDEST_OF_PANEL
    width_of_one = widest / max(arrow, _NONZERO)
    area_of_one = (_LARGEST_DISC if is_single else _LARGEST_OF_PANEL) / max(disc, _NONZERO)
    boxes = Boxes(
        width=width,
        height=height,
        count=len(pictures),
        across=across,
        left=left,
        below=below + 4,
        above=0.0 if is_single else text_height(AXIS_SIZE) + 4,
        between=between,
        below_each=6.0,
    )
    with house_style():
        handles = _legend(first, list(flows_of.values()), (arrow, disc), widest)
        figure, panels, _ = framed_figure(title, boxes, handles)
        for number, (axes, (name, picture)) in enumerate(
            zip(panels, pictures.items(), strict=True)
        ):
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(low[1], high[1])
            occupied: list[Box] = []
            if is_earth:
                occupied = _draw_graticule(
                    axes, float(places.longitude_scale or 1), scale,
                    names_latitudes=number % across == 0,
                    names_longitudes=number + across >= len(pictures),
                    has_bar=number == 0,
                )  # fmt: skip
            else:
                axes.set_xticks([])
                axes.set_yticks([])
            axes.spines[:].set_visible(True)
            axes.spines[:].set_color(FRAME)
            axes.spines[:].set_linewidth(0.5)
            _draw_flows(axes, picture, flows_of[name], (width_of_one, area_of_one), scale)
            points = places.points
            axes.scatter(points[:, 0], points[:, 1], s=(2 * _DOT) ** 2, color=INK, zorder=3,
                         linewidths=0)  # fmt: skip
            longest = _LONGEST_NAME if is_single else _LONGEST_OF_PANEL
            _name_places(axes, picture, places, scale, occupied, longest)
            if name:
                axes.text(
                    0.0, 1.0 + 3 / height, plain_text(name), transform=axes.transAxes,
                    fontsize=AXIS_SIZE, va="bottom",
                )  # fmt: skip
    return figure


def map_extent(points: FloatMatrix) -> tuple[FloatVector, FloatVector]:
    """Return the lower left and upper right corners of a map of all points, with a margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = _MARGIN * float(np.ptp(points, axis=0).max()) or 1.0
    return low - margin, high + margin


def _drawn_flows(picture: FlowPicture, places: MapPlaces) -> _DrawnFlows:
    """Choose the flows that are drawn: see `flow_map_figure`."""
    cells = picture.possible if not picture.symmetric else np.triu(picture.possible)
    first, second = np.nonzero(cells & (picture.low > 0))
    starts, stops = places.rows[first], places.columns[second]
    flows = picture.values[first, second]
    shares = picture.low[first, second] / flows
    is_inside = (starts == stops).all(axis=1)
    order = np.argsort(flows * shares, kind="stable")
    arrows = order[~is_inside[order]]
    largest_arrows = arrows[-MOST_ARROWS:]
    return _DrawnFlows(
        starts=starts,
        stops=stops,
        flows=flows,
        shares=shares,
        discs=np.flatnonzero(is_inside),
        arrows=largest_arrows,
        smaller=len(arrows) - len(largest_arrows),
        uncertain=int(cells.sum()) - len(flows),
    )


def _largest(tables: Iterable[_DrawnFlows]) -> tuple[float, float]:
    """Return the largest flow that is drawn as an arrow, and the largest as a disc; 0 if none."""
    flows = [(table.flows[table.arrows], table.flows[table.discs]) for table in tables]
    arrow = max(float(arrows.max(initial=0.0)) for arrows, _ in flows)
    return arrow, max(float(discs.max(initial=0.0)) for _, discs in flows)


def _draw_flows(
    axes: Axes, picture: FlowPicture, drawn: _DrawnFlows, of_one: tuple[float, float], scale: float
) -> None:
    """Draw discs, and on top of them arrows, the surest last.

    Args:
        axes: of the map.
        picture: the table.
        drawn: its flows.
        of_one: width of an arrow and area of a disc for a flow of 1.
        scale: points of a unit of the map.
    """
    width_of_one, area_of_one = of_one
    discs, arrows = drawn.discs, drawn.arrows
    colour_shares = _LEAST_SHARE + (1 - _LEAST_SHARE) * drawn.shares
    axes.scatter(
        drawn.starts[discs, 0],
        drawn.starts[discs, 1],
        s=area_of_one * drawn.flows[discs],
        color=paler(to_rgb(LIGHT["within"]), colour_shares[discs]),
        alpha=0.7,
        linewidths=0,
    )
    widths = np.maximum(width_of_one * drawn.flows[arrows], _THINNEST_ARROW)
    shapes = [
        arrow_outline(start * scale, stop * scale, width, has_head=not picture.symmetric) / scale
        for start, stop, width in zip(
            drawn.starts[arrows], drawn.stops[arrows], widths.tolist(), strict=True
        )
    ]
    axes.add_collection(
        PolyCollection(
            shapes,
            facecolors=paler(to_rgb(LIGHT["between"]), colour_shares[arrows]),
            edgecolors="white",
            linewidths=0.25,
            alpha=0.85,
            zorder=2,
        ),
        autolim=False,
    )


def arrow_outline(
    start: FloatVector, stop: FloatVector, width: float, *, has_head: bool
) -> npt.NDArray[np.float64]:
    """Return the outline of an arrow along a bent line, in points.

    Args:
        start: where it begins, (x, y).
        stop: where it ends, another point.
        width: of its shaft.
        has_head: whether it has a head, at `stop`, and bends to the left on its way; else it bends
            upwards.

    Returns:
        Corners, shape (corners, 2). It begins and ends at the rim of the dots of both places.
    """
    chord = stop - start
    normal = np.array([-chord[1], chord[0]])
    if not has_head and normal[1] < 0:
        normal = -normal
    control = (start + stop) / 2 + _BEND * normal
    length = float(np.hypot(*chord))
    gap = min(_DOT, length / 8)  # the dots are left free
    t = np.linspace(gap / length, 1 - gap / length, _PIECES + 1)[:, None]
    line = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * stop
    head = min(_HEAD_LENGTH + 1.2 * width, 0.5 * length) if has_head else 0.0
    to_end = np.hypot(*(line[-1] - line).T)
    shaft = line[to_end >= head] if has_head else line
    tangents = np.gradient(shaft, axis=0) if len(shaft) > 1 else np.array([chord])
    tangents /= np.maximum(np.hypot(*tangents.T), 1e-12)[:, None]
    sideways = np.stack([-tangents[:, 1], tangents[:, 0]], axis=1)
    left, right = shaft + sideways * width / 2, shaft - sideways * width / 2
    if not has_head:
        return np.concatenate([left, right[::-1]])
    wing = (width / 2 + _HEAD_WIDTH / 2 + 0.3 * width) * sideways[-1]
    tip = np.array([shaft[-1] + wing, line[-1], shaft[-1] - wing])
    return np.concatenate([left, tip, right[::-1]])


def _legend(
    picture: FlowPicture, tables: Sequence[_DrawnFlows], largest: tuple[float, float], width: float
) -> list[Artist]:
    """Return the entries of the legend.

    Args:
        picture: one of the tables.
        tables: the drawn flows of each table.
        largest: the largest arrow and the largest disc of all maps.
        width: of the widest arrow, in points.
    """
    arrow, disc = largest
    uncertain = sum(table.uncertain for table in tables)
    smaller = sum(table.smaller for table in tables)
    not_drawn = f"not drawn: {uncertain:,} flows that may be 0"
    not_drawn += f", {smaller:,} smaller ones" if smaller else ""
    between = to_rgb(LIGHT["between"])
    way = "" if picture.symmetric else "; heads show the direction"
    handles: list[Artist] = [
        Line2D([], [], color=between, linewidth=width,
               label=f"between groups: {arrow:,.0f} {picture.unit} in the widest{way}"),
        Line2D([], [], color=LIGHT["within"], marker="o", linestyle="", alpha=0.7,
               label=f"inside a group: {disc:,.0f} {picture.unit} in the largest"),
        Patch(facecolor=paler(between, np.array([0.3]))[0], label="paler: larger error"),
        Line2D([], [], linestyle="", label=not_drawn),
        Line2D([], [], linestyle="", label="drawn: above 0 by intervals that hold at once"),
    ]  # fmt: skip
    if not any(len(table.discs) for table in tables):
        del handles[1]
    return handles


def _draw_graticule(
    axes: Axes,
    longitude_scale: float,
    scale: float,
    *,
    names_latitudes: bool,
    names_longitudes: bool,
    has_bar: bool,
) -> list[Box]:
    """Draw round meridians and parallels with their degrees outside, and a bar of kilometres.

    Args:
        axes: of a map on earth, see `MapPlaces`.
        longitude_scale: see `MapPlaces`.
        scale: points of a degree of latitude.
        names_latitudes: whether their degrees are written on the left.
        names_longitudes: whether theirs are written below.
        has_bar: whether there is a bar, if one scale holds on the whole map.

    Returns:
        The box of the bar, which names must leave free; empty if there is none.
    """
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    label = text_width("188.88° W", _NAME_SIZE) + 8
    meridians = _round_degrees(left / longitude_scale, right / longitude_scale,
                               label / (scale * longitude_scale))  # fmt: skip
    parallels = _round_degrees(max(bottom, -90), min(top, 90), 2 * text_height(_NAME_SIZE) / scale)
    for x in meridians:
        axes.axvline(x * longitude_scale, color=GRID, linewidth=0.5, zorder=0)
    for y in parallels:
        axes.axhline(y, color=GRID, linewidth=0.5, zorder=0)
    # A name at the edge would stand out over the frame: those too near to it are left out.
    room = label / 2 / (scale * longitude_scale)
    named = [
        x
        for x in meridians
        if left / longitude_scale + room / 2 < x < right / longitude_scale - room
    ]
    axes.set_xticks(
        [x * longitude_scale for x in named] if names_longitudes else [],
        [_degrees((x + 180) % 360 - 180, "E", "W") for x in named] if names_longitudes else [],
    )
    shift = text_height(_NAME_SIZE) / 2 / scale
    named_parallels = [y for y in parallels if bottom + shift < y < top - shift]
    axes.set_yticks(
        named_parallels if names_latitudes else [],
        [_degrees(y, "N", "S") for y in named_parallels] if names_latitudes else [],
    )
    axes.tick_params(length=0, pad=2, labelsize=_NAME_SIZE, labelcolor=LIGHT["quiet"])
    scales = np.cos(np.radians(np.clip([bottom, top], -90, 90))) / longitude_scale
    if not has_bar or float(np.abs(scales - 1).max()) > _ONE_SCALE:
        return []
    return [_draw_kilometres(axes, scale)]


def _round_degrees(low: float, high: float, least: float) -> list[float]:
    """Return round degrees from low to high, at least so far apart and not too many."""
    least = max(least, (high - low) / _MOST_LINES)
    step = next((step for step in _STEPS if step >= least), _STEPS[-1])
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(number * step, 2) for number in range(first, last + 1)]


def _degrees(value: float, above: str, below: str) -> str:
    """Return degrees in words, such as "40° N"."""
    side = f" {above if value > 0 else below}" if value not in (0, 180, -180) else ""
    return f"{abs(value):g}\N{DEGREE SIGN}{side}"


def _draw_kilometres(axes: Axes, scale: float) -> Box:
    """Draw a bar of a round number of kilometres in the lower right corner; return its box."""
    (left, right), (bottom, _) = axes.get_xlim(), axes.get_ylim()
    most = 0.25 * (right - left) * _KILOMETRES
    size = 10.0 ** math.floor(math.log10(most))
    length = size * max(round_one for round_one in (1, 2, 5) if round_one * size <= most)
    text = f"{length:,.0f} km" if length >= 1 else f"{1000 * length:,.0f} m"
    stop, height = right - 8 / scale, bottom + 8 / scale
    start = stop - length / _KILOMETRES
    axes.plot([start, stop], [height, height], color=INK, linewidth=1.5, solid_capstyle="butt",
              zorder=4)  # fmt: skip
    axes.annotate(
        text, ((start + stop) / 2, height), xytext=(0, 3), textcoords="offset points",
        ha="center", va="bottom", fontsize=_NAME_SIZE, color=INK, zorder=4,
    )  # fmt: skip
    middle = (start + stop) / 2 * scale
    half = max((stop - start) * scale, text_width(text, _NAME_SIZE)) / 2 + 2
    low = height * scale - 2
    return middle - half, low, middle + half, low + 6 + text_height(_NAME_SIZE)


def _name_places(
    axes: Axes,
    picture: FlowPicture,
    places: MapPlaces,
    scale: float,
    occupied: Sequence[Box],
    longest: int,
) -> None:
    """Write names of groups, those with the largest flows first, where there is room.

    A name stands above or below its position, to the right or to the left, within the map, and
    covers no other name, no dot and no occupied box. A name without room is left out.
    """
    # For each position (x, y): total flow and name of the group there. Several groups can be at one
    # position, for example a row group and a column group. The one with the largest total flow
    # gives the name: `max` compares the pairs (total, name) by the total first.
    largest_names: dict[tuple[float, float], tuple[float, str]] = {}
    sides = ((0, picture.row_names, places.rows), (1, picture.column_names, places.columns))
    for axis, names, positions in sides:
        # The total flow of each group of this axis: sum over the other axis.
        sums = np.where(picture.low > 0, picture.values, 0).sum(axis=1 - axis)
        for (x, y), total, name in zip(positions.tolist(), sums.tolist(), names, strict=True):
            largest_names[x, y] = max(largest_names.get((x, y), (0.0, "")), (total, name))
    order = sorted(largest_names.items(), key=lambda entry: -entry[1][0])
    place_names(axes, [(x, y, name) for (x, y), (_, name) in order], scale, occupied, longest)


def place_names(
    axes: Axes,
    names: Sequence[tuple[float, float, str]],
    scale: float,
    occupied: Sequence[Box],
    longest: int,
) -> None:
    """Write names beside dots, the first ones first, where there is room.

    Args:
        axes: of a map whose limits are set.
        names: x, y and name of each dot.
        scale: points of a unit of the map.
        occupied: boxes that names leave free, besides dots and names.
        longest: characters of a name; longer ones lose their middle.
    """
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    frame = left * scale, bottom * scale, right * scale, top * scale
    boxes = list(occupied)
    for x, y, _ in names:
        boxes.append((x * scale - _DOT, y * scale - _DOT, x * scale + _DOT, y * scale + _DOT))
    shift_across, shift_up = _NAME_SHIFT
    for x, y, full_name in names:
        name = shortened(full_name, longest)
        width, height = text_width(name, _NAME_SIZE) + 1, text_height(_NAME_SIZE)
        for to_right, upwards in ((True, True), (False, True), (True, False), (False, False)):
            across = x * scale + (shift_across if to_right else -shift_across - width)
            up = y * scale + (shift_up if upwards else -shift_up - height)
            box = across, up, across + width, up + height
            if not _inside(box, frame) or any(_overlap(box, other) for other in boxes):
                continue
            boxes.append(box)
            axes.annotate(
                plain_text(name),
                (x, y),
                xytext=(
                    shift_across if to_right else -shift_across,
                    shift_up if upwards else -shift_up,
                ),
                textcoords="offset points",
                ha="left" if to_right else "right",
                va="bottom" if upwards else "top",
                fontsize=_NAME_SIZE,
                color=INK,
                zorder=4,
                path_effects=[patheffects.withStroke(linewidth=1.5, foreground="white")],
            )
            break


def _inside(box: Box, frame: Box) -> bool:
    """Return whether a box lies within another."""
    left, bottom, right, top = box
    return frame[0] <= left and frame[1] <= bottom and right <= frame[2] and top <= frame[3]


def _overlap(first: Box, second: Box) -> bool:
    """Return whether two boxes have points in common."""
    across = first[0] < second[2] and second[0] < first[2]
    return across and first[1] < second[3] and second[1] < first[3]
