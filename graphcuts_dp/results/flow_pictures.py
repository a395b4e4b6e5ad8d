"""Prepare pictures of a table of flows: for matplotlib, and for a page in a browser.

`picture_of` returns a table as `plotting` draws it, `places_of` the positions of its groups, and
`page_data` all that a page of `Flows.to_html` holds. All of it is released already. Titles name the
period, so that a map of March is not taken for one of the year.
"""

import calendar
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.confidence import (
    DEFAULT_CONFIDENCE,
    DEFAULT_FAILURE,
    DEFAULT_PERCENT,
    SIMULTANEOUS_COLUMNS,
)
from graphcuts_dp.errors import QueryError
from graphcuts_dp.plotting.map_places import MapPlaces
from graphcuts_dp.privacy.guarantee import guarantee_text
from graphcuts_dp.results import od_tables
from graphcuts_dp.results.flow_table import FlowTable
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import counted_by
from graphcuts_dp.schema.group_tree import GroupTree, listed
from graphcuts_dp.schema.vertices import Label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphcuts_dp.plotting.flow_tables import FlowPicture
    from graphcuts_dp.results.flows_over_time import FlowsOverTime

CELLS, PERIODS = "cells", "periods"  # a picture over periods has a panel for each cell, or period
MOST_PANELS = 36  # of a picture with a panel for each period
_LONGEST_NAME = 28  # characters of a group in the title of a panel
_MONTH = re.compile(r"(\d{4})-(\d{2})")
MOST_SHOWN = 60  # groups on a side of the matrix of a page, those with the largest sums
MOST_FLOWS = 400  # flows of a period on the map of a page, those with the largest lower bounds
_DIGITS = 6  # significant digits of the numbers of a page


def period_words(label: Label) -> str:
    """Return the label of a period in words: "March 2026" for "2026-03", others as they are."""
    month = _MONTH.fullmatch(str(label))
    if month is None or not 1 <= int(month[2]) <= 12:
        return str(label)
    return f"{calendar.month_name[int(month[2])]} {month[1]}"


def picture_of(
    flows: FlowTable, level: str | None, period: str | None, title: str | None
) -> "FlowPicture":
    """Return the table of a level as it is drawn.

    Args:
        flows: the table.
        level: None for the finest.
        period: one of the level; None for the sums over all of them.
        title: None for "Flows by LEVEL".

    Raises:
        QueryError: no such level or period.
    """
    from graphcuts_dp.plotting.flow_tables import FlowPicture  # matplotlib is slow to import

    level_index = flows.cells.level_index(level)
    names = flows.cells.names(level_index)
    rows, columns = flows.labels(level)
    count = len(flows.cells.period_cells(level_index)[0])
    possible = flows.cells.matrix(level_index, np.ones(count, dtype=np.bool_))
    low, high = flows.intervals(level, period)
    simultaneous_low, _ = flows.intervals(level, period, simultaneous=True)
    return FlowPicture(
        values=np.clip(flows.values(level, period), low, high),
        half_widths=flows.half_widths(level, period),
        low=simultaneous_low,
        possible=possible,
        row_names=[str(label) for label in rows],
        column_names=[str(label) for label in columns],
        enclosing=(_enclosing(flows.groups, names[0]), _enclosing(flows.right_groups, names[1])),
        axis_names=axis_names(flows, level),
        symmetric=flows.cells.symmetric,
        title=_with_guarantee(flows, _title(flows, level, period, title)),
        unit=flows.noisy.map.counted,
        integral=flows.noisy.map.integral,
    )


def _enclosing(groups: GroupTree, level: str) -> list[tuple[str, int]]:
    """Return the groups of the next coarser level, each with its number of groups of a level."""
    position = groups.levels.index(level)
    if position == 0:
        return []
    above = groups.labels(groups.levels[position - 1])
    counts = np.bincount(groups.parents(level), minlength=len(above))
    return [(str(name), int(count)) for name, count in zip(above, counts, strict=True)]


def _title(flows: FlowTable, level: str | None, period: str | None, title: str | None) -> str:
    """Return the title of a table with its period, without the guarantee."""
    level_index = flows.cells.level_index(level)
    period_level = flows.cells.period_level(level_index)
    name = _group_level(flows, level_index)
    if flows.periods is None or period_level is None:
        return title or f"Flows by {name}"
    labels = list(flows.periods.labels(period_level)) if period is None else [period]
    words = [period_words(label) for label in labels]
    if len(words) > 2:
        words = [f"{len(words)} periods from {words[0]} to {words[-1]}"]
    if title is None:
        return f"Flows by {name}, {' and '.join(words)}"
    # A title of the caller stays as it is, except that a single period is added if it lacks it.
    is_complete = len(labels) > 1 or words[0] in title or str(labels[0]) in title
    return title if is_complete else f"{title}, {words[0]}"


def _group_level(flows: FlowTable, level_index: int) -> str:
    """Return the name of a level of cells without that of its level of periods."""
    period_level = flows.cells.period_level(level_index)
    return flows.cells.levels[level_index - 1].removesuffix(f" by {period_level}")


def axis_names(flows: FlowTable, level: str | None) -> tuple[str, str]:
    """Return the names of the axes of a matrix, which hold the levels of the groups."""
    left, right = flows.cells.names(flows.cells.level_index(level))
    words = ("between", "and") if flows.cells.symmetric else ("from", "to")
    return f"{words[0]}: {left}", f"{words[1]}: {right}"


def _with_guarantee(flows: "FlowTable | FlowsOverTime", title: str) -> str:
    """Return a title with the guarantee, and with the sentence on rows that are left out."""
    counted = f"; {flows.counted_sentence}" if flows.counted_sentence else ""
    return f"{title} ({guarantee_text(flows.guarantee)}){counted}"


def over_periods(flows: FlowTable, level: str | None, by: str, title: str | None) -> "Figure":
    """Draw the largest cells of a level over its periods.

    Args:
        flows: the table.
        level: None for the finest with these periods.
        by: name of the level of periods.
        title: None for one with the names of the levels.

    Raises:
        QueryError: no such level, or none with these periods.
    """
    level_index = _level_index_by(flows, level, by)
    # Simultaneous intervals, since the largest cells are picked.
    table = flows.rows_of(level_index, DEFAULT_CONFIDENCE, True)
    default_title = f"Largest flows by {_group_level(flows, level_index)} and {by}"
    return _largest_over_periods(
        flows.cells,
        table,
        periods=_labels_by(flows, by),
        title=_with_guarantee(flows, title or default_title),
        unit=flows.noisy.map.counted,
    )


def series_over_periods(flows: "FlowsOverTime", title: str | None) -> "Figure":
    """Draw the largest cells of a series over the periods that are published.

    Args:
        flows: the series.
        title: None for one with the name of the level.
    """
    table = flows.columns(flows.periods)
    # A union bound over all cells and periods, since the largest cells are picked.
    failure = DEFAULT_FAILURE / len(table["estimate"])
    at_once = flows.columns(flows.periods, confidence=1 - failure)
    table |= dict(zip(SIMULTANEOUS_COLUMNS, (at_once["low"], at_once["high"]), strict=True))
    return _largest_over_periods(
        flows.cells,
        table,
        periods=flows.periods,
        title=_with_guarantee(flows, title or f"Largest flows by {flows.levels[-1]}"),
        unit=counted_by(flows.noisy.map.counting),
    )


def _largest_over_periods(
    cells: CellTree,
    table: Mapping[str, Any],
    *,
    periods: Sequence[Label],
    title: str,
    unit: str,
) -> "Figure":
    """Draw the cells of largest sums over the periods, each in a panel of its own.

    Args:
        cells: the tree of the cells.
        table: columns of the cells of one period after the other, with both kinds of intervals.
        periods: labels, in order.
        title: of the figure, with the guarantee.
        unit: of the values.
    """
    from graphcuts_dp.plotting.flow_tables import MAX_PANELS, periods_figure
    from graphcuts_dp.plotting.labels import shortened

    names = ("estimate", "low", "high", *SIMULTANEOUS_COLUMNS)
    # `alone` are the intervals of each number by itself, the others hold at once.
    values, alone_low, alone_high, low, high = (
        table[name].reshape(len(periods), -1).T for name in names
    )
    order = np.argsort(-values.sum(axis=1), kind="stable")[:MAX_PANELS]
    arrow = "-" if cells.symmetric else "\N{RIGHTWARDS ARROW}"
    sources, targets = (
        [shortened(str(label), _LONGEST_NAME) for label in table[column][order]]
        for column in ("from", "to")
    )
    titles = [
        f"within {source}" if cells.one_set and source == target else f"{source} {arrow} {target}"
        for source, target in zip(sources, targets, strict=True)
    ]
    return periods_figure(
        periods=[str(label) for label in periods],
        cells=titles,
        values=np.clip(values, low, high)[order],
        low=low[order],
        high=high[order],
        alone=(alone_low[order], alone_high[order]),
        title=title,
        unit=unit,
        omitted=len(values) - len(order),
    )


def _level_index_by(flows: FlowTable, level: str | None, by: str) -> int:
    """Return the index of a level of cells with periods of a level; the finest if none is named.

    Raises:
        QueryError: no such level, or none with these periods.
    """
    cells = flows.cells
    level_indices = [
        level_index
        for level_index in range(1, cells.depth)
        if cells.period_level(level_index) == by
    ]
    if flows.periods is None or not level_indices:
        known = [] if flows.periods is None else flows.periods.levels
        listing = f"; it has {listed(known)}" if known else ""
        raise QueryError(f"this table has no periods {by!r:.60}{listing}")
    level_index = level_indices[-1] if level is None else cells.level_index(level)
    if level_index not in level_indices:
        named = listed([cells.levels[index - 1] for index in level_indices])
        raise QueryError(f"levels by {by!r:.60} are {named}")
    return level_index


def _labels_by(flows: FlowTable, by: str) -> tuple[Label, ...]:
    """Return the labels of the periods of a level of periods."""
    return () if flows.periods is None else flows.periods.labels(by)


def by_period(
    flows: FlowTable, level: str | None, by: str, places: MapPlaces | None, title: str | None
) -> "Figure":
    """Draw a heat map or a map of each period of a level, all in one scale.

    Args:
        flows: the table.
        level: None for the finest with these periods.
        by: name of the level of periods.
        places: of the groups, for maps; None for heat maps.
        title: None for one with the names of the levels.

    Raises:
        QueryError: no such level, none with these periods, or more than 36 of them.
    """
    from graphcuts_dp.plotting import flow_maps, flow_tables

    level_index = _level_index_by(flows, level, by)
    name = flows.levels[level_index - 1]
    labels = [str(label) for label in _labels_by(flows, by)]
    if len(labels) > MOST_PANELS:
        raise QueryError(
            f"there are {len(labels):,} periods, and a picture has at most {MOST_PANELS}: draw "
            "single ones with period="
        )
    pictures = {period_words(period): picture_of(flows, name, period, title) for period in labels}
    default_title = f"Flows by {_group_level(flows, level_index)} and {by}"
    heading = _with_guarantee(flows, title or default_title)
    if places is None:
        return flow_tables.heat_maps_figure(pictures, heading)
    return flow_maps.flow_maps_figure(pictures, places, heading)


def places_of(
    flows: FlowTable,
    level: str | None,
    locations: Any,
    coordinates: Mapping[Label, Sequence[float]] | None,
) -> MapPlaces | None:
    """Return positions on a plane of the groups of rows and of columns; None without positions.

    Args:
        flows: the table.
        level: None for the finest.
        locations: public locations in degrees, see `GroupLocations.of`; or None.
        coordinates: public places (x, y) by label; or None.

    Raises:
        QueryError: a group without a place, places that are no pairs of numbers, or both arguments.
        FileFormatError, ParameterError: as for `GroupLocations.of`.
    """
    if locations is None and coordinates is None:
        return None
    left, right = flows.labels(level)
    scale = None
    if coordinates is None:
        degrees = od_tables.GroupLocations.of(locations).of_labels((*left, *right))
        points, scale = od_tables.on_a_plane(degrees), od_tables.longitude_scale(degrees)
    elif locations is None:
        points = np.concatenate([_on_plane(side, coordinates) for side in (left, right)])
    else:
        raise QueryError("locations= and coordinates= are two ways to place groups: choose one")
    return MapPlaces(rows=points[: len(left)], columns=points[len(left) :], longitude_scale=scale)


def _on_plane(labels: Sequence[Label], coordinates: Mapping[Label, Sequence[float]]) -> FloatMatrix:
    """Return the coordinates of groups, shape (groups, 2).

    Raises:
        QueryError: a group without a place, or places that are no pairs of numbers.
    """
    missing = [label for label in labels if label not in coordinates]
    if missing:
        raise QueryError(
            f"{len(missing)} of {len(labels)} groups have no coordinates: {missing[0]!r:.60}"
        )
    try:
        points: npt.NDArray[np.float64] = np.array(
            [coordinates[label] for label in labels], dtype=float
        )
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.shape != (len(labels), 2) or not np.isfinite(points).all():
        raise QueryError("coordinates are pairs of numbers: {'Texas': (-99.0, 31.5), ...}")
    return points


def page_data(
    flows: FlowTable, level: str | None, places: MapPlaces | None, title: str | None
) -> dict[str, Any]:
    """Return what a page of a level shows, for `plotting.flow_page`.

    Large tables are shown in part, and the page says so: with places, at most 400 flows of each
    period, which simultaneous intervals prove to be above 0; otherwise the matrix of the groups
    with the largest sums, at most 60 a side.

    Args:
        flows: the table.
        level: None for the finest.
        places: of its groups; None for a matrix.
        title: None for "Flows by LEVEL".

    Raises:
        QueryError: no such level.
    """
    level_index = flows.cells.level_index(level)
    period_level = flows.cells.period_level(level_index)
    labels = (
        [] if period_level is None else [str(label) for label in _labels_by(flows, period_level)]
    )
    # None stands for all periods together.
    periods: list[str | None] = [*([None] if len(labels) != 1 else []), *labels]
    rows, columns = ([str(label) for label in side] for side in flows.labels(level))
    a, b = flows.cells.period_cells(level_index)
    tables = [_cells_of(flows, level, period, a, b) for period in periods]
    if places is None:
        sums = tables[0].values  # over all periods
        shown = _largest_groups(sums, a, b, len(rows), len(columns), flows.cells.one_set)
    else:
        shown = _surest_flows([table.simultaneous_low for table in tables])
    name_of_all = ""
    if len(labels) > 1:
        first, last = period_words(labels[0]), period_words(labels[-1])
        name_of_all = f"{first} to {last} ({len(labels)} periods)"
    shown_rows: list[int] = sorted({*a[shown].tolist()})
    shown_columns: list[int] = sorted({*b[shown].tolist()})
    if flows.cells.one_set:
        shown_rows = shown_columns = sorted({*shown_rows, *shown_columns})
    return {
        "title": title or f"Flows by {_group_level(flows, level_index)}",
        "guarantee": f"{guarantee_text(flows.guarantee)} for {flows.guarantee.privacy_unit}",
        "counted": flows.counted_sentence,
        "verdict": flows.noise_verdict,
        "confidence": DEFAULT_PERCENT,
        "unit": flows.noisy.map.counted,
        "directed": not flows.cells.symmetric,
        "axes": list(axis_names(flows, level)),
        "rows": rows,
        "columns": columns,
        "one_set": flows.cells.one_set,
        "shown": [shown_rows, shown_columns],
        "periods": [name_of_all if period is None else period_words(period) for period in periods],
        "cells": [[int(a[cell]), int(b[cell])] for cell in shown],
        "numbers": [
            [[_rounded(column[cell]) for column in table] for cell in shown] for table in tables
        ],
        "all_cells": len(a),
        "positions": None if places is None else {
            "rows": places.rows.round(6).tolist(),
            "columns": places.columns.round(6).tolist(),
            "longitude_scale": places.longitude_scale,
        },
    }  # fmt: skip


class _PeriodCells(NamedTuple):
    """The numbers of the cells of a period on a page, in the order in which the page reads them."""

    values: FloatVector
    half_widths: FloatVector
    low: FloatVector
    high: FloatVector
    simultaneous_low: FloatVector


def _cells_of(
    flows: FlowTable, level: str | None, period: str | None, a: IntVector, b: IntVector
) -> _PeriodCells:
    """Return the numbers of each cell (a, b) of a period; of all periods together if it is None."""
    low, high = flows.intervals(level, period)
    values = np.clip(flows.values(level, period), low, high)
    half_widths = flows.half_widths(level, period)
    simultaneous_low, _ = flows.intervals(level, period, simultaneous=True)
    matrices = (values, half_widths, low, high, simultaneous_low)
    return _PeriodCells(*(matrix[a, b] for matrix in matrices))


def _largest_groups(
    values: FloatVector,
    a: IntVector,
    b: IntVector,
    rows: int,
    columns: int,
    one_set: bool,
) -> list[int]:
    """Return the indices of the cells between the groups with the largest sums, in order."""
    left = np.bincount(a, values, minlength=rows)
    right = np.bincount(b, values, minlength=columns)
    if one_set:
        left = right = left + right
    is_large: list[BoolVector] = []
    for sums in (left, right):
        mask = np.zeros(len(sums), dtype=np.bool_)
        mask[np.argsort(-sums, kind="stable")[:MOST_SHOWN]] = True
        is_large.append(mask)
    shown: list[int] = np.flatnonzero(is_large[0][a] & is_large[1][b]).tolist()
    return shown


def _surest_flows(low_of_periods: Sequence[FloatVector]) -> list[int]:
    """Return the indices of the cells that are surely above 0 in a period, the surest of each.

    Args:
        low_of_periods: simultaneous lower bounds of the cells in each period.
    """
    surest = (
        np.argsort(-low, kind="stable")[: min(MOST_FLOWS, int((low > 0).sum()))].tolist()
        for low in low_of_periods
    )
    return sorted({*chain.from_iterable(surest)})


def _rounded(value: float) -> float | None:
    """Return a number with six significant digits; None if it is infinite."""
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None
