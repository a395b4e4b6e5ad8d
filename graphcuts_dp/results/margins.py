"""Margins of a table of flows: what leaves each group, and what enters it, with intervals.

A *margin* is the sum of all cells of a level from (or to) a group, in one period. Its estimate is
the sum of the estimates, with the interval of this sum; its count is the sum of the rounded cells,
so that published margins add up with the published cells. Without directions a cell counts in the
margins of both of its groups. All of it is post-processing.

Where margins were measured (`release_flows(measure_margins=True)`), cells are estimated from them,
too, and so are these sums.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.confidence import INTERVAL_COLUMNS
from graphcuts_dp.estimate.estimator import AnswerOptions
from graphcuts_dp.results.flow_table import CellSum, Table
from graphcuts_dp.schema.vertices import ALL, Label

if TYPE_CHECKING:
    from graphcuts_dp.results.flows import Flows


def margin_columns(flows: "Flows", level: str | None, confidence: float) -> Table:
    """Return the margins of a level by period, side and group: the columns of `Flows.margins`.

    Args:
        flows: the table.
        level: None for the finest.
        confidence: of each interval, in (0, 1).

    Raises:
        QueryError: no such level, or a confidence out of range.
    """
    level_index = flows.cells.level_index(level)
    # Each of the coarsest periods is estimated by itself, in a smaller tree.
    tables = [flows]
    if flows.periods is not None and flows.cells.has_period_trees:
        tables = [
            flows.period(str(label)) for label in flows.periods.labels(flows.periods.levels[0])
        ]
    rows = [row for table in tables for row in _margins(table, level_index, confidence)]
    names = ("level", "period", "from", "to", "count", "estimate", *INTERVAL_COLUMNS, "outside")
    columns: Table = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        is_label = name in ("level", "period", "from", "to")
        columns[name] = np.array(values, dtype=object if is_label else None)
    if flows.periods is None or flows.cells.period_level(level_index) is None:
        del columns["period"]
    return columns


def _margins(flows: "Flows", level_index: int, confidence: float) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the margins of a table, see `margin_columns` for their columns."""
    cells, counts = flows.cells, flows.rounded().column(level_index)
    name, period_level = cells.levels[level_index - 1], cells.period_level(level_index)
    periods: tuple[Label | None, ...] = (None,)
    if flows.periods is not None and period_level is not None:
        periods = tuple(flows.periods.labels(period_level))
    options = AnswerOptions(confidence=confidence)
    for code, period in enumerate(periods):
        is_in_period = cells.periods_of(level_index) == code
        for origin, target, mask in _sides(flows, level_index):
            coefficients = (mask & is_in_period).astype(np.float64)
            margin = CellSum(level_index, coefficients, union=True)
            (estimate,) = flows.estimate([margin], options).queries
            count, (low, high) = (counts * (mask & is_in_period)).sum(), estimate.interval
            outside = bool(count < low or count > high)
            yield name, period, origin, target, count, estimate.value, low, high, outside


def _sides(flows: "Flows", level_index: int) -> Iterator[tuple[Label, Label, BoolVector]]:
    """Yield "from" and "to" of each margin, and which cells it adds up, shape (cells,).

    "*" stands for all groups.
    """
    row_codes, column_codes = flows.cells.cells(level_index)
    left, right = flows.labels(flows.cells.levels[level_index - 1])
    for code, label in enumerate(left):
        is_touched = flows.cells.symmetric & (column_codes == code)
        yield label, ALL, (row_codes == code) | is_touched
    if flows.cells.symmetric:
        return
    for code, label in enumerate(right):
        yield ALL, label, column_codes == code
