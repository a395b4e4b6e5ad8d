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
from contextlib import contextmanager, suppress
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
from graphcuts_dp.estimate.measurement import STEPS, Counting
from graphcuts_dp.files import PathLike
from graphcuts_dp.pairs.periods import DATED
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.resources import memory_limit

Span = Literal["day", "month", "quarter", "year"]
MOST = 2**20  # rows, pairs or units of one owner
_MOST_UNITS = 2**41  # of one row whose weight is not bounded: its steps are exact in 64-bit floats
_LARGEST = 1.7976931348623157e308  # finite; NaN is above it, or compares as false, in every engine
_EXACT = 2**53  # integers up to here are exact in 64-bit floats
_LENGTHS: Mapping[Span, int] = {"day": 10, "month": 7, "quarter": 7, "year": 4}  # of labels
_QUARTERS = (("01", "02", "03"), ("04", "05", "06"), ("07", "08", "09"))
_CELL = ("period", "first", "second")
_JOINING = (
    *(nw.Implementation.DUCKDB, nw.Implementation.POLARS, nw.Implementation.PANDAS),
    *(nw.Implementation.PYARROW, nw.Implementation.MODIN, nw.Implementation.CUDF),
)  # to which a table of labels can be handed over
_VIEW = "rows_of_graphcuts_dp"  # of duckdb, within one query
_MOST_TOP = 2**61  # of what is divided by an owner's total
# In duckdb: the total of each owner, and all parts, with those of owners within the bound merged.
# (A hash of two columns is that of one shifted by that of the other, by which owners would keep
# alike; so it is hashed again.)
_MERGED = """
with totals as materialized (
    select {who}, {sum} as total from {rows} group by {who}
), above as materialized (
    select * from totals where total > {bound}
), merged as materialized (
    select {apart}, total, cell, {sum} as amount
    from {rows} as part left join above on {same}
    group by {apart}, total, cell
), """
_SCALED = """bounded as materialized (
    select {who}, total, cell, amount as had, (case when total is null then amount * {unit}
        else least(amount, {most}) * {steps} // total end) // {whole} * {whole} as amount
    from merged
)"""
_KEPT = """bounded as materialized (
    select {who}, total, cell, amount as had,
        greatest(least(amount, {bound} - taken), 0) * {unit} as amount
    from (
        select *, coalesce(sum(amount) over (
            partition by {who} order by hash(hash({named}, cell)), cell
            rows between unbounded preceding and 1 preceding
        ), 0)::bigint as taken
        from merged where total is not null
    )
    union all select {who}, total, cell, amount as had, amount * {unit} as amount
    from merged where total is null
)"""
_SUMS = """
select cell::bigint as cell, sum(amount)::bigint as amount from bounded group by cell
union all select -1, coalesce(max(largest), 0) from (
    select sum(amount)::bigint as largest from bounded where total is not null group by {who}
    union all select total * {unit} from totals as part anti join above on {same}
)
union all select -2,
    (select coalesce(sum(total), 0)::bigint from above)
    - (select coalesce(sum(had), 0)::bigint from bounded where total is not null)
"""
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
        by: which part of the period column counts, of dates, datetimes (those with a time zone as
            the engine shows them) or ISO text; None: its entries are labels as they are.
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
        reading = _read(table, shape)
        if shape.skip_bad:
            return
        kinds = list(reading.bad)
        flags = (bad.alias(f"bad{kind}") for kind, bad in enumerate(reading.bad.values()))
        ends = {end: reading.keys[end] for end in ("first", "second")}
        rows = reading.frame.select(*flags, **ends)
        for end in ends:
            rows = _placed(rows, end, reading.known[end], how="left")
        unknown = ~nw.col("bad0") & (nw.col("first").is_null() | nw.col("second").is_null())
        kinds.append("an end is no vertex (name all of them in vertices=)")
        rows = rows.with_columns(unknown.alias(f"bad{len(kinds) - 1}"))
        found = _collected(rows.select(nw.col(f"bad{kind}").any() for kind in range(len(kinds))))
    kinds = [name for kind, name in enumerate(kinds) if found[f"bad{kind}"][0]]
    if kinds:
        raise GraphError(
            f"there are rows in which {'; in which '.join(kinds)}: correct them, or leave such "
            f"rows out by {_SKIP}"
        )


def cells(table: Any, shape: Shape) -> Cells:
    """What is in each cell, when nobody is bounded. Private.

    Rows that cannot be used are left out, whether or not `check_rows` would refuse them. Weights
    are rounded row by row to the nearest step.

    Sensitivity: one row changes one cell, by at most 1024 steps; of weights by any number.

    Raises:
        GraphError: as `check_rows`, or sums that are too large for 64-bit integers.
    """
    with _failing_in_a_line():
        reading = _read(table, shape)
        keys = _keys(reading)
        if shape.counting == "weight":
            rows = _rows(reading, _MOST_UNITS)
            total = nw.col("amount").cast(nw.Float64).sum().fill_null(0.0)
            if _collected(rows.select(total))["amount"][0] > 2.0**62:
                raise GraphError("the weights are too large for this unit; pass a larger unit=")
            return _coded(_summed(rows, *keys), reading)
        rows = _parts(reading, MOST) if shape.counting == "owners" else _rows(reading, MOST)
        found = rows.group_by(*keys).agg(nw.len().alias("amount"))
        return _coded(found.with_columns(nw.col("amount").cast(nw.Int64) * STEPS), reading)


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
        reading = _read(table, shape)
        parts = _parts(reading, at_most)
        if reading.frame.implementation is nw.Implementation.DUCKDB:
            return _by_duckdb(parts, reading, at_most, _SCALED, whole=whole)
        light, heavy = _split(parts, reading, at_most)
        bound = at_most * STEPS
        amount = _least(nw.col("amount"), nw.lit(_MOST_TOP // bound))
        scaled = heavy.with_columns(_quotient(amount * bound, nw.col("total")).alias("amount"))
        if whole:
            light = _summed(light, *_who_and_where(reading))
            light, scaled = (
                each.with_columns((nw.col("amount") // STEPS * STEPS).alias("amount"))
                for each in (light, scaled)
            )
        return _bounded(light, scaled, reading, at_most)


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
        reading = _read(table, shape)
        if reading.frame.implementation is not nw.Implementation.DUCKDB:
            raise ParameterError(
                "rows are chosen by duckdb alone: bound by scaling, or hand over a Parquet file or "
                "a relation of duckdb"
            )
        return _by_duckdb(_parts(reading, at_most), reading, at_most, _KEPT)


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
        reading = _read(table, shape)
        return _coded(_summed(_rows(reading, at_most), *_keys(reading)), reading)


def contributions(table: Any, shape: Shape) -> IntVector:
    """Pairs, rows or units of each owner that has any, in no order. Private.

    Of pairs (`counting` "edges" and "owners") each counts once in every period. Units are rounded
    up; a row counts at most 2^20 of them. So an owner is above a bound if and only if this is.

    Raises:
        ParameterError: no owners.
        GraphError: as `check_rows`.
    """
    with _failing_in_a_line():
        totals = _totals(_parts(_read(table, shape), MOST), shape.bounded).select("total")
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
    when the engine is closed, or forgotten, or Python ends. A process that is killed leaves it.

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
                "rows are counted by the package duckdb: python -m pip install "
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
        with suppress(duckdb.InvalidInputException):  # a notebook that can show none
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
    """The rows of a table: by what kinds one is bad by itself, and what is taken of the others.

    Attributes:
        shape: how they become cells.
        known: the public entries of first and second ends and periods, as their keys are.
    """

    shape: Shape
    frame: nw.LazyFrame[Any]
    bad: Mapping[str, nw.Expr]
    keys: Mapping[str, nw.Expr]
    known: Mapping[str, Sequence[Any]]


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


def _read(table: Any, shape: Shape) -> _Reading:
    """How to read a table, from the types of its columns."""
    frame = _frame(table)
    schema = frame.collect_schema()
    for column in (shape.source, shape.target, shape.owner, shape.period, shape.weight):
        if column is not None and column not in schema:
            raise GraphError(f"the table has no column {column!r:.60}; name one that it has")
    bad: dict[str, nw.Expr] = {}
    keys: dict[str, nw.Expr] = {}
    known: dict[str, Sequence[Any]] = {}
    names = (shape.source, shape.target)
    plain = [_is_plain(schema[name], side) for name, side in zip(names, shape.labels, strict=True)]
    if shape.one_set:
        plain = [all(plain)] * 2
    absent = []
    for end, name, side, integers in zip(_CELL[1:], names, shape.labels, plain, strict=True):
        missing, keys[end] = _id(name, schema[name], integers)
        absent.append(missing)
        known[end] = side if integers else _texts(side)
    bad["an end is missing"] = reduce(or_, absent)
    if shape.mark is not None:
        keys["mark"] = nw.col(shape.mark)
    if shape.owner is not None:
        bad["the owner is missing"], keys["owner"] = _owner(shape.owner, schema[shape.owner])
    if shape.period is not None:
        bad |= _period(shape, schema[shape.period], keys)
        known["period"] = _period_keys(shape, schema[shape.period])
    if shape.counting == "weight":
        if shape.weight is None:
            raise ParameterError("counting='weight' needs the column of weights; name it")
        bad |= _weight(shape.weight, schema[shape.weight], keys)
    return _Reading(shape, frame, bad, keys, known)


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
    return absent, column.cast(nw.String)


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
    if dtype in (nw.Binary, nw.List, nw.Array, nw.Struct):
        raise _wrong_type(name, "integers or text")  # to make text of it could fail for single rows
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
    text = column.cast(nw.String)
    if shape.by is not None:
        dated = text.str.contains(DATED[shape.by])
        bad["the period is no date such as 2026-01-31"] = ~column.is_null() & ~dated
        keys["period"] = label = text.str.slice(0, _LENGTHS[shape.by])
        if shape.by == "quarter":
            month, quarter = text.str.slice(5, 2), nw.lit("-Q4")
            for number, months in enumerate(_QUARTERS, 1):
                here = nw.when(month.is_in(list(months))).then(nw.lit(f"-Q{number}"))
                quarter = here.otherwise(quarter)
            named = text.str.slice(5, 1) == "Q"
            of_month = nw.concat_str([text.str.slice(0, 4), quarter])
            keys["period"] = nw.when(named).then(label).otherwise(of_month)
    else:
        keys["period"] = text
    return bad


def _period_keys(shape: Shape, dtype: Any) -> list[Any]:
    """The declared periods as `_period` tells them."""
    labels = list(shape.periods or ())
    if dtype in (nw.Date, nw.Datetime):
        return [int(label.replace("-", "").replace("Q", "")) for label in labels]
    return labels


def _keys(reading: _Reading) -> tuple[str, ...]:
    """The columns that say which cell a row is in: one number where the engine knows places."""
    if reading.frame.implementation in _JOINING:
        return ("cell",)
    return _CELL if reading.shape.period is not None else _CELL[1:]


def _rows(reading: _Reading, most_units: int) -> nw.LazyFrame[Any]:
    """The rows that count: the owner, the cell, and of weights the amount in steps."""
    shape = reading.shape
    rows = reading.frame.filter(*(~bad for bad in reading.bad.values())).select(**reading.keys)
    first, second = nw.col("first"), nw.col("second")
    for name, known in reading.known.items():
        rows = _placed(rows, name, known, how="inner")
    if shape.one_set and not shape.loops:
        rows = rows.filter(first != second)
    if shape.one_set and shape.unordered:
        swap = first > second
        rows = rows.with_columns(
            nw.when(swap).then(second).otherwise(first).alias("first"),
            nw.when(swap).then(first).otherwise(second).alias("second"),
        )
    if reading.frame.implementation in _JOINING:
        period = nw.col("period") if shape.period is not None else nw.lit(0)
        left, right = (len(side) for side in shape.labels)
        count = left * right * len(shape.periods or (0,))
        if count >= 2**63:
            raise GraphError("there are too many cells; name fewer vertices or periods")
        cell = (period.cast(nw.Int64) * left + first) * right + second
        cell = cell.cast(nw.Int32 if count < 2**31 else nw.Int64)
        rows = rows.with_columns(cell.alias("cell")).drop(
            *(name for name in reading.known if name not in shape.bounded)
        )
    if shape.counting == "weight":
        units = nw.col("weight") / float(shape.unit)
        units = _least(units, nw.lit(float(most_units)))
        amount = (units * float(STEPS) + 0.5).floor().cast(nw.Int64)
        rows = rows.with_columns(amount.alias("amount")).drop("weight")
    return rows


def _placed(
    rows: nw.LazyFrame[Any], name: str, known: Sequence[Any], how: Literal["inner", "left"]
) -> nw.LazyFrame[Any]:
    """The rows, with the places of entries among the known ones where the engine can join these.

    Args:
        rows: whose column `name` holds the entries.
        name: likewise.
        known: each once.
        how: "inner" leaves other entries out; "left" makes them null.
    """
    column = nw.col(name)
    if _is_range(known):
        inside = (column >= known[0]) & (column <= known[-1])
        if how == "inner":
            return rows.filter(inside).with_columns((column - known[0]).alias(name))
        return rows.with_columns(nw.when(inside).then(column).alias(name))
    if rows.implementation not in _JOINING:
        inside = column.is_in(list(known))
        if how == "inner":
            return rows.filter(inside)
        return rows.with_columns(nw.when(inside).then(column).alias(name))
    entries = _array(known)
    places_for_graphcuts_dp = {name: entries, "place": np.arange(len(known))}
    if rows.implementation is nw.Implementation.DUCKDB:  # which finds the variable by its name
        table = rows.to_native()
        # Text as bytes: as the table collates it, one row could be in the cells of two labels.
        what = f"* replace (encode({name}) as {name})" if entries.dtype.kind == "O" else "*"
        rows = nw.from_native(table.query(_VIEW, f"select {what} from {_VIEW}"))  # noqa: S608
        query = f"select {what} from places_for_graphcuts_dp"  # noqa: S608  # our own names
        joined: Any = nw.from_native(table.query(_VIEW, query))
    else:
        joined = nw.from_dict(places_for_graphcuts_dp, backend=rows.implementation).lazy()
    return rows.join(joined, on=name, how=how).drop(name).rename({"place": name})


def _is_range(known: Sequence[Any]) -> bool:
    return isinstance(known, range) and known.step == 1 and len(known) > 0


def _array(known: Sequence[Any]) -> npt.NDArray[Any]:
    whole = all(isinstance(entry, int) for entry in known)
    return np.array(known, dtype=np.int64 if whole else object)


def _least(left: nw.Expr, right: nw.Expr) -> nw.Expr:
    return nw.when(left < right).then(left).otherwise(right)


def _parts(reading: _Reading, most_units: int) -> nw.LazyFrame[Any]:
    """Owner, cell and amount: rows, distinct pairs, or steps of weight."""
    shape = reading.shape
    if shape.owner is None:
        raise ParameterError("bounding owners needs the column of owners; name it by owner=")
    rows = _rows(reading, most_units)
    if shape.counting in ("edges", "owners"):
        rows = rows.group_by(*_who_and_where(reading)).agg(nw.len().alias("copies")).drop("copies")
    if shape.counting != "weight":
        rows = rows.with_columns(nw.lit(1, nw.Int64).alias("amount"))
    return rows


def _who_and_where(reading: _Reading) -> tuple[str, ...]:
    """The columns of an owner's cells, each once."""
    return tuple(dict.fromkeys((*reading.shape.bounded, *_keys(reading))))


def _totals(parts: nw.LazyFrame[Any], who: Sequence[str]) -> nw.LazyFrame[Any]:
    return _summed(parts, *who).rename({"amount": "total"})


def _summed(parts: nw.LazyFrame[Any], *keys: str) -> nw.LazyFrame[Any]:
    """The sum of the amounts for each of the keys, as 64-bit integers: duckdb makes 128 bits."""
    amount = nw.col("amount")
    return parts.group_by(*keys).agg(amount.sum()).with_columns(amount.cast(nw.Int64))


def _split(
    parts: nw.LazyFrame[Any], reading: _Reading, at_most: int
) -> tuple[nw.LazyFrame[Any], nw.LazyFrame[Any]]:
    """Parts of owners within the bound, and merged ones of others, with the owner's total."""
    shape = reading.shape
    who = list(shape.bounded)
    above = _totals(parts, who).filter(nw.col("total") > _bound(shape, at_most))
    light = parts.join(above, on=who, how="anti")
    heavy = parts.join(above, on=who, how="inner")
    heavy = _summed(heavy, "total", *_who_and_where(reading))  # an owner has one total
    if shape.counting != "weight":
        light = light.with_columns((nw.col("amount") * STEPS).alias("amount"))
    return light, heavy


def _bound(shape: Shape, at_most: int) -> int:
    """The bound on an owner's total, which is in rows or pairs, or in steps of weight."""
    return at_most * STEPS if shape.counting == "weight" else at_most


def _quotient(top: nw.Expr, bottom: nw.Expr) -> nw.Expr:
    """floor(top / bottom) of integers, top >= 0, bottom > 0, both at most 2^62, quotient < 2^31.

    Floats miss it by at most one, which is put right in integers.
    """
    near = (top / bottom).floor().cast(nw.Int64)  # a division in floats
    rest = top - near * bottom
    down = nw.when(rest < 0).then(nw.lit(-1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))
    return near + nw.when(rest >= bottom).then(nw.lit(1, nw.Int64)).otherwise(down)


def _bounded(
    light: nw.LazyFrame[Any], heavy: nw.LazyFrame[Any], reading: _Reading, at_most: int
) -> Cells:
    """The cells of bounded parts, after a look at what the engine says of each owner."""
    columns = (*_who_and_where(reading), "amount")
    parts = nw.concat([light.select(*columns), heavy.select(*columns)], how="vertical")
    above = _summed(parts, *reading.shape.bounded).filter(nw.col("amount") > at_most * STEPS)
    _check_engine(_collected(above.select(nw.len().alias("count")))["count"][0] == 0)
    return _coded(_summed(parts, *_keys(reading)), reading)


def _check_engine(good: bool) -> None:
    """Refuse what an engine returned for which its own figures say that it is wrong.

    Engines have had windows and joins that were wrong without an error. So the largest contribution
    of an owner is asked for after the bounding, and must be within the bound.
    """
    if not good:
        raise GraphError(
            "the engine returned an owner above the bound, which is a fault of the engine: use "
            "another version of it"
        )


def _by_duckdb(
    parts: nw.LazyFrame[Any], reading: _Reading, at_most: int, way: str, *, whole: bool = False
) -> Cells:
    """The cells of owners bounded one way, by SQL that goes over the rows twice and no more.

    Owners within the bound are merged at once, unless what each of them adds is rounded to whole
    units: only the parts of others are kept apart. Two rows
    more tell what `_check_engine` wants to know: the largest contribution of an owner, of those
    within the bound as it was counted, of others after the bounding; and how much of what the
    others have was not seen as theirs, which must be nothing.
    """
    shape = reading.shape
    who, weights = shape.bounded, shape.counting == "weight"
    query = (_MERGED + way + _SUMS).format(
        rows=_VIEW,
        who=", ".join(who),
        apart=", ".join(f"{'part' if whole else 'above'}.{name}" for name in who),
        same=" and ".join(f"part.{name} = above.{name}" for name in who),
        named="owner" if shape.mark is None else "mark",
        sum="sum(amount)::bigint" if weights else "count(*)",
        bound=_bound(shape, at_most),
        unit=1 if weights else STEPS,
        whole=STEPS if whole else 1,
        steps=at_most * STEPS,
        most=_MOST_TOP // (at_most * STEPS),
    )
    columns = _collected(nw.from_native(parts.to_native().query(_VIEW, query)))
    largest, unseen = (columns["amount"][columns["cell"] == mark] for mark in (-1, -2))
    _check_engine(bool(largest <= at_most * STEPS and unseen == 0))
    columns["amount"][columns["cell"] < 0] = 0  # of no cell
    return _numbered(columns, reading)


def _coded(found: nw.LazyFrame[Any], reading: _Reading) -> Cells:
    """Cells whose amounts are in steps, collected, with numbers in place of labels."""
    return _numbered(_collected(found.select(*_keys(reading), "amount")), reading)


def _numbered(columns: dict[str, npt.NDArray[Any]], reading: _Reading) -> Cells:
    """Cells of columns, which are taken from the dictionary, so that they go when they are used."""
    shape, known = reading.shape, reading.known
    steps = columns.pop("amount").astype(np.int64, copy=False)
    if shape.counting == "edges":
        steps = np.minimum(steps, STEPS)
    some = steps > 0
    if "cell" in columns:  # which sorts as periods and ends do
        cell = columns.pop("cell")[some]
        order = np.argsort(cell)
        cell, steps = cell[order].astype(np.int64, copy=False), steps[some][order]
        del some, order
        left, right = (len(side) for side in shape.labels)
        period = cell // (left * right)
        first = cell // right
        np.subtract(cell, first * right, out=cell)
        first -= period * left
        return Cells(first, cell, period, steps)
    places = {name: _places(columns[name], known[name]) for name in known}
    first, second = places["first"], places["second"]
    period = places.get("period", np.zeros_like(first))
    if shape.one_set and shape.unordered:  # text has another order
        first, second = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((second[some], first[some], period[some]))
    return Cells(*(each[some][order] for each in (first, second, period, steps)))


def _places(values: npt.NDArray[Any], known: Sequence[Any]) -> IntVector:
    """The place of each value among the known ones."""
    if _is_range(known):  # the engine has told places already
        return values.astype(np.int64)
    places = {entry: place for place, entry in enumerate(known)}
    return np.fromiter((places[value] for value in values.tolist()), np.int64, len(values))


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
    except Exception as problem:
        if isinstance(problem, MemoryError) or "OutOfMemory" in type(problem).__name__:
            raise GraphError(
                "the table does not fit into memory: hand it over as Parquet files, which are read "
                "in parts, or allow duckdb more memory or room on its disk"
            ) from None
        raise GraphError(
            f"the engine of the table failed ({type(problem).__name__:.60}): look at its rows with "
            "the engine itself"
        ) from None
