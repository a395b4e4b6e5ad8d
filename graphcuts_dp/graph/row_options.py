"""Check the options of private rows, and describe their column of periods. Reads no row."""

import json
from typing import Any

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.io.files import VertexSource, public_vertices_of
from graphcuts_dp.io.raw_edges import Options
from graphcuts_dp.options import check_type, no_choice
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.counting import COUNTINGS, Counting
from graphcuts_dp.schema.periods import DATES, Periods

VertexSources = VertexSource | tuple[VertexSource, VertexSource] | None
KINDS = ("undirected", "directed", "bipartite")  # of the graph that rows join vertices of
# Some engines divide by multiplying with the reciprocal, which is infinite for smaller units.
_SMALLEST_UNIT = float(np.finfo(np.float64).tiny)


def row_options(
    columns: Columns,
    vertices: Any,
    counting: Counting,
    weight_unit: float,
    periods: Any,
    kind: str,
    *,
    public_vertices_from_file: bool = False,
) -> Options:
    """Check the options of `Rows.read`, and return those of the reader.

    Args:
        columns: as for `Rows.read`.
        vertices: the public vertex set.
        counting: what a pair counts.
        weight_unit: weight of one unit.
        periods: the public periods.
        kind: of the graph of the rows.
        public_vertices_from_file: whether the vertices that occur in the file are declared to be
            public.

    Raises:
        ParameterError: no vertices, or options that do not fit each other.
        GraphError: `vertices` holds a label twice, or none.
    """
    check_type("columns", columns, Columns, "a gc.Columns")
    check_counting(counting, weight_unit)
    if vertices is None and not public_vertices_from_file:
        raise ParameterError(
            "rows need the public vertex set, since which vertices they name is private: pass "
            "vertices="
        )
    if columns.weight is not None and counting != "weight":
        raise ParameterError("weight= is for counting='weight'")
    if counting == "users" and columns.user is None:
        raise ParameterError("counting='users' needs the column of the users: user=")
    if (columns.period is None) is not (periods is None):
        raise ParameterError(
            "periods= declares the periods that the column period= has: pass both, or neither"
        )
    declared = None if periods is None else Periods.of(periods)
    reads_times = columns.time_zone is not None or columns.date_format is not None
    if reads_times and (declared is None or declared.by not in DATES):
        raise ParameterError(
            "time_zone= and date_format= are for periods of time, such as 2026-01..2026-12"
        )
    check_type("kind", kind, str, "'undirected', 'directed' or 'bipartite'")
    if kind not in KINDS:
        raise ParameterError(f"unknown kind {kind!r:.40}: undirected, directed or bipartite")
    return Options(
        columns=columns,
        vertices=public_vertices_of(vertices, kind == "bipartite"),
        public_vertices=public_vertices_from_file,
        periods=declared,
        weighted=None if counting == "weight" else False,
        bipartite=kind == "bipartite",
        directed=kind == "directed",
        counting=counting,
        weight_unit=weight_unit,
    )


def check_counting(counting: Any, weight_unit: float) -> None:
    """Check the options that say what a pair counts.

    Raises:
        ParameterError: an unknown counting, a unit that is no positive number, or one without
            weights.
    """
    if not isinstance(counting, str) or counting not in COUNTINGS:
        raise ParameterError(no_choice("counting", counting, COUNTINGS))
    is_number = isinstance(weight_unit, int | float | np.number) and not isinstance(
        weight_unit, bool
    )
    if not is_number or not _SMALLEST_UNIT <= weight_unit < np.inf:
        raise ParameterError(
            "weight_unit must be a positive, finite number: the weight of one unit"
        )
    if weight_unit != 1 and counting != "weight":
        raise ParameterError("weight_unit is for counting='weight'")


def period_column(options: Options, time_zone: str | None) -> str:
    """Return in words the column of periods, and how times become dates; "" without periods.

    If two uses of a store read periods in different ways, a period of one is none of the other; see
    `ledger.uses`.
    """
    if options.periods is None:
        return ""
    date_format = options.columns.date_format
    text = _column_text(options.columns.period)
    if date_format is not None:
        text += f" as {date_format}"
    return text if time_zone is None else f"{text} in {time_zone}"


def _column_text(column: int | str | None) -> str:
    """Return the number or the name of a column as a text; those of 3 and "3" differ."""
    is_ambiguous = isinstance(column, str) and (
        column[:1] in {*'0123456789-"'} or " in " in column or " as " in column
    )
    return json.dumps(column) if is_ambiguous else str(column)
