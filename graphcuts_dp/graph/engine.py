"""From private rows in a table of any engine to integers in cells: the bounded group-by.

A table is whatever narwhals takes: a frame of pandas, Polars or Arrow, a relation of duckdb, or a
lazy frame of Polars, PySpark, Dask or Ibis. The work is one expression that runs where the rows
lie; only integers of cells are collected. What a row adds follows from that row and public
constants alone, and what an owner adds from the owner's own rows, so that neither the order of the
rows, nor how they are split into parts, nor the engine has a say in any digit.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from glob import escape
from operator import or_
from pathlib import Path
from typing import Any, Literal, Self, final

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import FileFormatError, GraphCutsError, GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.resources import memory_limit

Counting = Literal["edges", "owners", "rows", "weight"]
Span = Literal["day", "month", "quarter", "year"]
STEPS = 1024  # of one row, pair or unit of weight
MOST = 2**20  # rows, pairs or units of one owner
_MOST_UNITS = 2**41  # of one row whose weight is not bounded: its steps are exact in 64-bit floats
_LARGEST = 1.7976931348623157e308  # finite; NaN is above it, or compares as false, in every engine
_EXACT = 2**53  # integers up to here are exact in 64-bit floats
_ISO: Mapping[Span, tuple[int, str]] = {
    "day": (10, "^[0-9]{4}-(?:0[1-9]|1[0-2])-[0-9]{2}"),
    "month": (7, "^[0-9]{4}-(?:0[1-9]|1[0-2])"),
    "quarter": (7, "^[0-9]{4}-(?:0[1-9]|1[0-2])"),
    "year": (4, "^[0-9]{4}"),
}
_QUARTERS = (("01", "02", "03"), ("04", "05", "06"), ("07", "08", "09"))
_CELL = ("period", "first", "second")
_SKIP = "on_bad='skip'"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How rows become cells. Public.

    Attributes:
        counting: what a cell tells of a pair in a period: "edges": whether there is a row;
            "owners": how many owners have one; "rows": how many there are; "weight": the sum of
            their weights in units.
        unordered: whether (a, b) and (b, a) are one pair; of one vertex set only.
        loops: whether rows whose ends are equal count; of one vertex set only.
        source: name of the column of first ends, which are integers or text.
        target: of second ends.
        owner: of whose the row is; None for rows without owners.
        period: of the period; None for a single table.
        weight: of weights; for `counting="weight"`.
        by: which part of the period column counts, of dates, datetimes or ISO text; None: its
            entries are labels as they are.
        unit: weight of one unit, > 0.
        labels: the vertices of both sides; the same object twice where there is one set. Integers
            and their digits are one label.
        periods: the labels of periods, such as "2026-01" by month; rows of others do not count.
        skip_bad: whether rows that cannot be used are left out; else `check_rows` refuses them.
        mark: of integers that follow from the owner's name alone, where the column of owners has
            numbers that depend on other owners: rows are chosen by it.
        per_period: whether an owner in each period is bounded as one of its own.
    """

    counting: Counting
    unordered: bool
    loops: bool
    source: str
    target: str
    owner: str | None = None
    period: str | None = None
    weight: str | None = None
    by: Span | None = None
    unit: float = 1.0
    labels: tuple[Sequence[Label], Sequence[Label]]
    periods: tuple[str, ...] | None = None
    skip_bad: bool = False
    mark: str | None = None
    per_period: bool = False

    @property
    def one_set(self) -> bool:
        """Whether both ends are of one set."""
        return self.labels[0] is self.labels[1]

    @property
    def bounded(self) -> tuple[str, ...]:
        """The columns that tell who is bounded, as the rows are read."""
        mark = () if self.mark is None else ("mark",)
        return ("owner", *mark, *(("period",) if self.per_period else ()))


@final
@dataclass(frozen=True)
class Cells:
    """How much is in each cell, in steps, where there is anything. Private.

    Attributes:
        first: numbers of the first ends among their labels; the smaller ones of unordered pairs.
        second: likewise.
        period: numbers of the periods; 0 without.
        steps: > 0. Sorted by period, first and second, each once.
    """

    first: IntVector
    second: IntVector
    period: IntVector
    steps: IntVector

    @classmethod
    def none(cls) -> Self:
        """The cells of no row."""
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))

    def __repr__(self) -> str:
        return "Cells(private)"


def is_lazy(table: Any) -> bool:
    """Whether a table is one that is not computed yet, and stays where it is."""
    return isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame)


def check_columns(table: Any, shape: Shape) -> None:
    """Refuse a table without the columns, or with other types. Reads no row.

    Raises:
        GraphError: as `check_rows`.
    """
    with _failing_in_a_line():
        _read(table, shape)


def check_rows(table: Any, shape: Shape) -> None:
    """Refuse a table in which a row cannot be used. One pass over it; all kinds at once.

    Not private: it tells which kinds of bad row there are, though neither how many nor what is in
    them. With `shape.skip_bad` it looks at the columns' types alone, and no row has a say.

    Raises:
        GraphError: there are such rows, a column is missing or of another type, or the engine
            failed.
    """
    with _failing_in_a_line():
        frame, reading = _read(table, shape)
        if shape.skip_bad:
            return
        flags = [bad.any().alias(f"kind{i}") for i, bad in enumerate(reading.bad.values())]
        found = _collected(frame.select(*flags))
    kinds = [kind for i, kind in enumerate(reading.bad) if np.any(found[f"kind{i}"] == True)]  # noqa: E712
    if kinds:
        raise GraphError(
            f"there are rows in which {'; in which '.join(kinds)}: correct them, or leave such "
            f"rows out by {_SKIP}"
        )


def cells(table: Any, shape: Shape) -> Cells:
    """What is in each cell, when nobody is bounded. Private.

    Rows that cannot be used are left out, whether or not `check_rows` would refuse them. Weights
    are rounded row by row to the nearest step.

    Sensitivity: one row changes one cell, by one step times 1024 at most if not weights are
    counted.

    Raises:
        GraphError: as `check_rows`, or sums that are too large for 64-bit integers.
    """
    with _failing_in_a_line():
        keys = _keys(shape)
        if shape.counting == "owners":
            rows = _parts(table, shape, _MOST_UNITS)
        else:
            rows = _rows(table, shape, _MOST_UNITS)
        if shape.counting == "weight":
            total = nw.col("amount").cast(nw.Float64).sum().fill_null(0.0)
            if _collected(rows.select(total))["amount"][0] > 2.0**62:
                raise GraphError("the weights are too large for this unit; pass a larger unit=")
            return _coded(_summed(rows, *keys), shape, 1)
        found = rows.group_by(*keys).agg(nw.len().alias("amount"))
        return _coded(found, shape, STEPS)


def scaled_cells(table: Any, shape: Shape, *, at_most: int, whole: bool = False) -> Cells:
    """What is in each cell, when everybody's cells are scaled down to a sum of at most C. Private.

    Let c_i >= 0 be what an owner has in cell i (a period and a pair): rows, 1 for
    `counting="owners"`, or steps of weight, in which each row counts at most C units; T their sum,
    and B the bound: C rows or pairs, or 1024 C steps. An owner with T <= B adds c_i to each cell,
    another one floor(1024 C c_i / T) steps; or whole rows and units, rounded down for each owner.

    Sensitivity: one owner changes all cells of all periods together by at most 1024 C steps in L1.
    Proof: every owner's vector is a function of that owner's rows, C and public constants alone,
    and the cells are the sum of these vectors. So without one owner the cells are less by exactly
    that owner's vector, whose entries are >= 0. If T <= B its sum is T, which is at most 1024 C
    steps. If T > B it is the sum of floor(1024 C c_i / T) <= 1024 C (sum of c_i) / T = 1024 C.
    Rounding an owner's entries down to whole units makes their sum only less. With
    `shape.per_period` all this is said of the cells of each period.
    Replacing an owner changes at most twice that.
    64-bit integers are exact: c_i is taken as at most 2^61 / (1024 C), which makes the sum only
    less; T < 2^62 as long as there are less than 2^32 rows; and the quotient is found in floats
    and put right in integers, since not every engine divides integers exactly.

    Args:
        table: rows with owners.
        shape: how rows become cells.
        at_most: C, in 1..2^20.
        whole: whether what an owner adds to a cell is rounded down to whole units.

    Raises:
        ParameterError: another bound, no owners, or `counting="edges"`, which cannot be scaled.
        GraphError: as `check_rows`; or the engine returned an owner who is above the bound.
    """
    check_at_most(at_most)
    if shape.counting == "edges":
        raise ParameterError(
            "counting='edges' cannot be scaled: choose rows of each owner, or count owners"
        )
    with _failing_in_a_line():
        light, heavy = _split(table, shape, at_most)
        bound = at_most * STEPS
        amount = _least(nw.col("amount"), nw.lit(2**61 // bound))
        scaled = heavy.with_columns(_quotient(amount * bound, nw.col("total")).alias("amount"))
        if whole:
            light = _summed(light, *_who_and_where(shape))
            light, scaled = (
                each.with_columns((nw.col("amount") // STEPS * STEPS).alias("amount"))
                for each in (light, scaled)
            )
        return _bounded(light, scaled, shape, at_most)


def kept_cells(table: Any, shape: Shape, *, at_most: int) -> Cells:
    """What is in each cell, when at most k rows of each owner count, whole ones. Private.

    Of an owner with more than k rows, or for "owners" and "edges" pairs in periods, k are kept:
    the cells are put in the order of a hash of the owner and the cell, and filled in it until k
    rows are taken. Others keep all. Windows are made over owners above k only.

    Sensitivity: one owner changes all cells of all periods together by at most 1024 k steps in L1.
    Proof: which rows are kept depends on the owner's own rows, k and a fixed hash alone, so others
    keep the same with and without. A sum loses the owner's vector, whose sum is at most 1024 k; a
    union ("edges") of sets of which one has at most k pairs loses at most k, 1024 steps each.

    Args:
        table: a relation of duckdb, of rows with owners.
        shape: how rows become cells; not weights.
        at_most: k, in 1..2^20.

    Raises:
        ParameterError: another bound, no owners, another engine, or `counting="weight"`.
        GraphError: as `scaled_cells`.
    """
    check_at_most(at_most)
    if shape.counting == "weight":
        raise ParameterError("weights are bounded by scaling, since rows of weight are no unit")
    with _failing_in_a_line():
        if _frame(table).implementation is not nw.Implementation.DUCKDB:
            raise ParameterError(
                "rows are chosen by duckdb alone: bound by scaling, or hand over a Parquet file or "
                "a relation of duckdb"
            )
        light, heavy = _split(table, shape, at_most)
        keys, who = ", ".join(_keys(shape)), ", ".join(shape.bounded)
        named = "owner" if shape.mark is None else "mark"
        filled = heavy.to_native().query(
            "heavy",
            f"""select {", ".join(_who_and_where(shape))},
                least(amount, {int(at_most)} - before) as amount
            from (select *, coalesce(sum(amount) over (
                partition by {who} order by hash({named}, {keys}), {keys}
                rows between unbounded preceding and 1 preceding), 0) as before from heavy)
            where before < {int(at_most)}""",  # noqa: S608  # public numbers and our own names
        )
        amount = (nw.col("amount").cast(nw.Int64) * STEPS).alias("amount")
        return _bounded(light, nw.from_native(filled).with_columns(amount), shape, at_most)


def clipped_cells(table: Any, shape: Shape, *, at_most: int) -> Cells:
    """The sum of weights in each cell, of which each row counts at most C units. Private.

    Sensitivity: one row changes one cell, by at most 1024 C steps; so one row changes all cells of
    all periods together by that in L1, and a row that moves by twice that. What a row adds is
    floor(1024 min(w / unit, C) + 1/2), in 64-bit floats, which depends on no other row.

    Raises:
        ParameterError: a bound outside 1..2^20, or not weights.
        GraphError: as `check_rows`.
    """
    check_at_most(at_most)
    if shape.counting != "weight":
        raise ParameterError("clipping is for counting='weight'; a row counts as one row")
    with _failing_in_a_line():
        rows = _rows(table, shape, at_most)
        return _coded(_summed(rows, *_keys(shape)), shape, 1)


def contributions(table: Any, shape: Shape) -> IntVector:
    """Pairs, rows or units of each owner that has any, in no order. Private.

    Of pairs (`counting` "edges" and "owners") each counts once in every period. Units are rounded
    up; a row counts at most 2^20 of them. So an owner is above a bound if and only if this is.

    Raises:
        ParameterError: no owners.
        GraphError: as `check_rows`.
    """
    with _failing_in_a_line():
        totals = _totals(_parts(table, shape, MOST), shape.bounded).select("total")
        found = np.sort(_collected(totals)["total"].astype(np.int64))
    found = found[found > 0]
    return -(-found // STEPS) if shape.counting == "weight" else found


def check_at_most(at_most: Any) -> None:
    """Check a bound on what one owner or row counts.

    Raises:
        ParameterError: not a whole number in 1..2^20.
    """
    whole = isinstance(at_most, int | np.integer) and not isinstance(at_most, bool)
    if not whole or not 1 <= at_most <= MOST:
        raise ParameterError(f"at_most must be a whole number from 1 to {MOST:,}")


@final
class Engine:
    """Rows in files, or in arrays, as a table of duckdb. Private.

    What does not fit into memory goes to a folder that only this user can read, which is removed
    when the engine is closed, or forgotten, or Python ends.

    Args:
        source: a Parquet file, a folder of such files, or columns in memory by name: arrays of
            integers or floats, masked where entries are missing.
        memory: bytes that duckdb may use; None: three quarters of what this process may have.
        threads: of duckdb; None: one on each processor.
        folder: where the private folder is made; None: where the system keeps such files.

    Raises:
        FileFormatError: duckdb is not installed, or no such files, or not Parquet.
    """

    def __init__(
        self,
        source: PathLike | Mapping[str, npt.NDArray[Any]],
        *,
        memory: int | None = None,
        threads: int | None = None,
        folder: PathLike | None = None,
    ) -> None:
        try:
            import duckdb
        except ImportError:
            raise FileFormatError(
                "tables in files and beyond memory need the package duckdb: python -m pip install "
                "'graphcuts-dp[tables]'"
            ) from None
        limit = memory_limit()
        if memory is None and limit is not None:
            memory = limit * 3 // 4
        spill = tempfile.mkdtemp(prefix="graphcuts-dp-", dir=folder)  # of mode 700
        config: dict[str, Any] = {
            "temp_directory": spill,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "TimeZone": "UTC",
        }
        if memory is not None:
            config["memory_limit"] = f"{memory}B"
        if threads is not None:
            config["threads"] = threads
        self._end = weakref.finalize(self, shutil.rmtree, spill, ignore_errors=True)
        self._connection = duckdb.connect(":memory:", config=config)
        self._connection.execute("set enable_progress_bar = false")
        if isinstance(source, Mapping):
            columns = dict(source)
            self.table: Any = self._connection.from_query("select * from columns")
            del columns
        else:
            self.table = self._parquet(source)

    def _parquet(self, path: PathLike) -> Any:
        place = Path(path)
        files = sorted(place.rglob("*.parquet")) if place.is_dir() else [place]
        if not files or not files[0].exists():
            raise FileFormatError(f"{path!s}: there is no Parquet file; name one, or a folder")
        try:
            return self._connection.read_parquet([escape(str(file)) for file in files])
        except Exception:
            raise FileFormatError(
                f"{path!s}: cannot be read as Parquet; write the table again as Parquet"
            ) from None

    def close(self) -> None:
        """End the connection and remove what it left on the disk."""
        self._connection.close()
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "Engine(private)"


@dataclass(frozen=True)
class _Reading:
    """Which rows are bad, by kind, and what is taken of the others."""

    bad: Mapping[str, nw.Expr]
    keys: Mapping[str, nw.Expr]


def _frame(table: Any) -> nw.LazyFrame[Any]:
    try:
        found: Any = nw.from_native(table)
    except DuplicateError:
        raise GraphError("two columns of the table have one name; rename one") from None
    except TypeError:
        raise GraphError(
            "this is no table: hand over one of pandas, Polars, Arrow, duckdb or PySpark"
        ) from None
    lazy: nw.LazyFrame[Any] = found.lazy()
    return lazy


def _read(table: Any, shape: Shape) -> tuple[nw.LazyFrame[Any], _Reading]:
    """The table, and expressions for what is in it."""
    frame = _frame(table)
    schema = frame.collect_schema()
    for column in (shape.source, shape.target, shape.owner, shape.period, shape.weight):
        if column is not None and column not in schema:
            raise GraphError(f"the table has no column {column!r:.60}; name one that it has")
    bad: dict[str, nw.Expr] = {}
    keys: dict[str, nw.Expr] = {}
    names = (shape.source, shape.target)
    plain = [_is_plain(schema[name], side) for name, side in zip(names, shape.labels, strict=True)]
    if shape.one_set:
        plain = [all(plain)] * 2
    missing, unknown = [], []
    for name, side, integers, key in zip(
        names, shape.labels, plain, ("first", "second"), strict=True
    ):
        absent, keys[key] = _id(name, schema[name], integers)
        missing.append(absent)
        unknown.append(~absent & ~_known(keys[key], side, integers))
    bad["an end is missing"] = reduce(or_, missing)
    bad["an end is no vertex (name all of them in vertices=)"] = reduce(or_, unknown)
    if shape.mark is not None:
        keys["mark"] = nw.col(shape.mark)
    if shape.owner is not None:
        bad["the owner is missing"], keys["owner"] = _owner(shape.owner, schema[shape.owner])
    if shape.period is not None:
        bad |= _period(shape, schema[shape.period], keys)
    if shape.counting == "weight":
        if shape.weight is None:
            raise ParameterError("counting='weight' needs the column of weights; name it")
        bad |= _weight(shape.weight, schema[shape.weight], keys)
    return frame, _Reading(bad, keys)


def _wrong_type(name: str, wanted: str) -> GraphError:
    return GraphError(f"the column {name!r:.60} must hold {wanted}; convert it")


def _is_plain(dtype: Any, labels: Sequence[Label]) -> bool:
    """Whether ends are compared as integers: the column holds them, and so do the labels."""
    small = dtype in (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
    if not small and not dtype.is_float():
        return False
    return isinstance(labels, range) or all(isinstance(label, int) for label in labels)


def _id(name: str, dtype: Any, integers: bool) -> tuple[nw.Expr, nw.Expr]:
    """Whether an id is missing, and the id as an integer or as text.

    Floats are integers where some entries of a column of integers are missing, as in pandas.
    """
    column = nw.col(name)
    absent = column.is_null()
    if dtype.is_float():
        whole = (column == column.floor()) & (column.abs() < _EXACT)
        absent = absent | ~whole
        column = nw.when(~absent).then(column).otherwise(nw.lit(0.0)).cast(nw.Int64)
    elif not dtype.is_integer() and dtype not in (
        *(nw.String, nw.Categorical, nw.Enum, nw.Object),
    ):
        raise _wrong_type(name, "integers or text")
    if integers:
        return absent, column.cast(nw.Int64)
    return absent, column if dtype == nw.String else column.cast(nw.String)


def _known(key: nw.Expr, labels: Sequence[Label], integers: bool) -> nw.Expr:
    """Whether an end is one of the labels."""
    if integers and isinstance(labels, range) and labels.step == 1:
        return (key >= labels.start) & (key < labels.stop)
    return key.is_in(list(labels) if integers else _texts(labels))


def _texts(labels: Sequence[Label]) -> list[str]:
    found = [str(label) for label in labels]
    if len(set(found)) != len(found):
        raise GraphError("two vertices are one text, an integer and its digits; rename one")
    return found


def _owner(name: str, dtype: Any) -> tuple[nw.Expr, nw.Expr]:
    """Whether an owner is missing, and who it is."""
    column = nw.col(name)
    if dtype.is_float():
        return column.is_null() | column.is_nan(), column
    if dtype.is_integer() or dtype == nw.String:
        return column.is_null(), column
    return column.is_null(), column.cast(nw.String)


def _weight(name: str, dtype: Any, keys: dict[str, nw.Expr]) -> dict[str, nw.Expr]:
    """Kinds of bad weights; adds the weight."""
    if not dtype.is_numeric():
        raise _wrong_type(name, "numbers")
    column = nw.col(name)
    weight = column.cast(nw.Float64)
    keys["weight"] = weight
    good = (weight >= 0) & (weight <= _LARGEST)
    return {
        "the weight is missing": column.is_null(),
        "the weight is negative or not finite": ~column.is_null() & ~good,
    }


def _period(shape: Shape, dtype: Any, keys: dict[str, nw.Expr]) -> dict[str, nw.Expr]:
    """Kinds of bad periods; adds the period: a number made of a date, or text."""
    assert shape.period is not None  # noqa: S101  # the caller has looked
    column = nw.col(shape.period)
    bad = {"the period is missing": column.is_null()}
    if dtype in (nw.Date, nw.Datetime):
        if shape.by is None:
            raise ParameterError(f"the column {shape.period!r:.60} holds dates; pass by='month'")
        year, month = (part.cast(nw.Int64) for part in (column.dt.year(), column.dt.month()))
        keys["period"] = {
            "day": lambda: year * 10000 + month * 100 + column.dt.day().cast(nw.Int64),
            "month": lambda: year * 100 + month,
            "quarter": lambda: year * 10 + ((month + 2) // 3).cast(nw.Int64),
            "year": lambda: year,
        }[shape.by]()
        return bad
    texts = (nw.String, nw.Categorical, nw.Enum, nw.Object)
    if dtype not in texts and not (dtype.is_integer() and shape.by in (None, "year")):
        raise _wrong_type(shape.period, "dates, or text such as 2026-01-31")
    text = column if dtype == nw.String else column.cast(nw.String)
    if shape.by is not None:
        length, pattern = _ISO[shape.by]
        dated = text.str.contains(pattern)
        bad["the period is no date such as 2026-01-31"] = ~column.is_null() & ~dated
        keys["period"] = text.str.slice(0, length)
        if shape.by == "quarter":
            month, quarter = text.str.slice(5, 2), nw.lit("-Q4")
            for number, months in enumerate(_QUARTERS, 1):
                here = nw.when(month.is_in(list(months))).then(nw.lit(f"-Q{number}"))
                quarter = here.otherwise(quarter)
            keys["period"] = nw.concat_str([text.str.slice(0, 4), quarter])
    else:
        keys["period"] = text
    return bad


def _period_keys(shape: Shape, dtype: Any) -> list[Any]:
    """The declared periods as `_period` tells them."""
    labels = list(shape.periods or ())
    if dtype in (nw.Date, nw.Datetime):
        return [int(label.replace("-", "").replace("Q", "")) for label in labels]
    return labels


def _keys(shape: Shape) -> tuple[str, ...]:
    return _CELL if shape.period is not None else _CELL[1:]


def _rows(table: Any, shape: Shape, most_units: int) -> nw.LazyFrame[Any]:
    """The rows that count: owner, period, first, second, and of weights the amount in steps."""
    frame, reading = _read(table, shape)
    rows = frame.filter(~reduce(or_, reading.bad.values()))
    rows = rows.select(*(key.alias(name) for name, key in reading.keys.items()))
    first, second = nw.col("first"), nw.col("second")
    if shape.period is not None:
        periods = _period_keys(shape, _frame(table).collect_schema()[shape.period])
        rows = rows.filter(nw.col("period").is_in(periods))
    if shape.one_set and not shape.loops:
        rows = rows.filter(first != second)
    if shape.one_set and shape.unordered:
        swap = first > second
        rows = rows.with_columns(
            nw.when(swap).then(second).otherwise(first).alias("first"),
            nw.when(swap).then(first).otherwise(second).alias("second"),
        )
    if shape.counting == "weight":
        units = nw.col("weight") / float(shape.unit)
        units = _least(units, nw.lit(float(most_units)))
        amount = (units * float(STEPS) + 0.5).floor().cast(nw.Int64)
        rows = rows.with_columns(amount.alias("amount")).drop("weight")
    return rows


def _least(left: nw.Expr, right: nw.Expr) -> nw.Expr:
    return nw.when(left < right).then(left).otherwise(right)


def _parts(table: Any, shape: Shape, most_units: int) -> nw.LazyFrame[Any]:
    """Owner, cell and amount: rows, distinct pairs, or steps of weight."""
    if shape.owner is None:
        raise ParameterError("bounding owners needs the column of owners; name it by owner=")
    rows = _rows(table, shape, most_units)
    if shape.counting in ("edges", "owners"):
        rows = rows.group_by(*_who_and_where(shape)).agg(nw.len().alias("copies")).drop("copies")
    if shape.counting != "weight":
        rows = rows.with_columns(nw.lit(1, nw.Int64).alias("amount"))
    return rows


def _who_and_where(shape: Shape) -> tuple[str, ...]:
    """The columns of an owner's cells, each once."""
    return tuple(dict.fromkeys((*shape.bounded, *_keys(shape))))


def _totals(parts: nw.LazyFrame[Any], who: Sequence[str]) -> nw.LazyFrame[Any]:
    return _summed(parts, *who).rename({"amount": "total"})


def _summed(parts: nw.LazyFrame[Any], *keys: str) -> nw.LazyFrame[Any]:
    """The sum of the amounts for each of the keys, as 64-bit integers: duckdb makes 128 bits."""
    amount = nw.col("amount")
    return parts.group_by(*keys).agg(amount.sum()).with_columns(amount.cast(nw.Int64))


def _split(table: Any, shape: Shape, at_most: int) -> tuple[nw.LazyFrame[Any], nw.LazyFrame[Any]]:
    """Parts of owners within the bound, and merged ones of others, with the owner's total."""
    parts = _parts(table, shape, at_most)
    bound = at_most * STEPS if shape.counting == "weight" else at_most
    who = list(shape.bounded)
    above = _totals(parts, who).filter(nw.col("total") > bound)
    light = parts.join(above, on=who, how="anti")
    heavy = parts.join(above, on=who, how="inner")
    heavy = _summed(heavy, "total", *_who_and_where(shape))  # an owner has one total
    if shape.counting != "weight":
        light = light.with_columns((nw.col("amount") * STEPS).alias("amount"))
    return light, heavy


def _quotient(top: nw.Expr, bottom: nw.Expr) -> nw.Expr:
    """floor(top / bottom) of integers, top >= 0, bottom > 0, both at most 2^62, quotient < 2^31.

    Floats miss it by at most one, which is put right in integers.
    """
    near = (top.cast(nw.Float64) / bottom.cast(nw.Float64)).floor().cast(nw.Int64)
    rest = top - near * bottom
    down = nw.when(rest < 0).then(nw.lit(-1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))
    return near + nw.when(rest >= bottom).then(nw.lit(1, nw.Int64)).otherwise(down)


def _bounded(
    light: nw.LazyFrame[Any], heavy: nw.LazyFrame[Any], shape: Shape, at_most: int
) -> Cells:
    """The cells of bounded parts, after a look at what the engine says of each owner.

    Engines have had windows that were wrong without an error, so the largest contribution of an
    owner is asked for, and must be within the bound.
    """
    keys = _keys(shape)
    columns = (*_who_and_where(shape), "amount")
    parts = nw.concat([light.select(*columns), heavy.select(*columns)], how="vertical")
    above = _summed(parts, *shape.bounded).filter(nw.col("amount") > at_most * STEPS)
    if _collected(above.select(nw.len().alias("count")))["count"][0]:
        raise GraphError(
            "the engine returned an owner above the bound, which is a fault of the engine: use "
            "another version of it"
        )
    found = _summed(parts, *keys)
    return _coded(found, shape, STEPS if shape.counting == "edges" else 1)


def _coded(found: nw.LazyFrame[Any], shape: Shape, steps: int) -> Cells:
    """Collected cells with numbers in place of labels, sorted, and amounts in steps."""
    keys = _keys(shape)
    columns = _collected(found.select(*keys, nw.col("amount").cast(nw.Int64)))
    amounts = columns["amount"].astype(np.int64)
    if shape.counting == "edges":
        amounts = np.minimum(amounts, 1)
    first = _numbers(columns["first"], shape.labels[0])
    second = _numbers(columns["second"], shape.labels[1])
    if shape.one_set and shape.unordered:
        first, second = np.minimum(first, second), np.maximum(first, second)
    period = np.zeros(len(amounts), dtype=np.int64)
    if shape.period is not None:
        whole = columns["period"].dtype.kind in "iu"
        declared = _period_keys(shape, nw.Date if whole else nw.String)
        period = _numbers(columns["period"], declared)
    some = amounts > 0
    order = np.lexsort((second[some], first[some], period[some]))
    picked = (each[some][order] for each in (first, second, period, amounts * steps))
    return Cells(*picked)


def _numbers(values: npt.NDArray[Any], labels: Sequence[Label]) -> IntVector:
    """The place of each value among the labels."""
    if values.dtype.kind not in "iu":
        places = {str(label): place for place, label in enumerate(labels)}
        return np.fromiter((places[str(value)] for value in values), np.int64, len(values))
    if isinstance(labels, range) and labels.step == 1:
        return values.astype(np.int64) - labels.start
    known = np.asarray(labels, dtype=np.int64)
    order = np.argsort(known)
    return order[np.searchsorted(known, values, sorter=order)]


def _collected(frame: nw.LazyFrame[Any]) -> dict[str, npt.NDArray[Any]]:
    """The columns of a frame, computed."""
    if frame.implementation is nw.Implementation.DUCKDB:
        columns = frame.to_native().fetchnumpy()
        return {name: np.ma.getdata(column) for name, column in columns.items()}
    eager = frame.collect()
    return {name: eager[name].to_numpy() for name in eager.columns}


@contextmanager
def _failing_in_a_line() -> Iterator[None]:
    """Errors of engines quote rows: they become one line that does not."""
    try:
        yield
    except GraphCutsError:
        raise
    except MemoryError:
        raise GraphError("the table does not fit into memory: use a Parquet file") from None
    except Exception as problem:
        raise GraphError(
            f"the engine of the table failed ({type(problem).__name__:.60}): look at its rows with "
            "the engine itself"
        ) from None
