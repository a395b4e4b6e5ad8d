"""Private rows in a table of any engine: which count, which are bad, and where their ends lie.

What is asked of a row looks at that row and at public things alone. `graph.engine` bounds what is
read here, and adds it up.
"""

import os
import shutil
import tempfile
import time
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
from filelock import lock_descriptor
from narwhals.exceptions import DuplicateError

from graphcuts_dp.errors import FileFormatError, GraphCutsError, GraphError, ParameterError
from graphcuts_dp.estimate.measurement import STEPS, Counting
from graphcuts_dp.files import PathLike, open_secret
from graphcuts_dp.pairs.periods import DATED
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.resources import memory_limit

_SPILL, _LOCK = "graphcuts-dp-", "in-use"  # names of folders, and of the lock in each
_YOUNG = 60.0  # seconds, in which a folder gets its lock
Span = Literal["day", "month", "quarter", "year"]
_LARGEST = 1.7976931348623157e308  # finite; NaN is above it, or compares as false, in every engine
_EXACT = 2**53  # integers up to here are exact in 64-bit floats
_LENGTHS: Mapping[Span, int] = {"day": 10, "month": 7, "quarter": 7, "year": 4}  # of labels
_QUARTERS = (("01", "02", "03"), ("04", "05", "06"), ("07", "08", "09"))
CELL = ("period", "first", "second")
_JOINING = (
    *(nw.Implementation.DUCKDB, nw.Implementation.POLARS, nw.Implementation.PANDAS),
    *(nw.Implementation.PYARROW, nw.Implementation.MODIN, nw.Implementation.CUDF),
)  # to which a table of labels can be handed over
VIEW = "rows_of_graphcuts_dp"  # of duckdb, within one query
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


def is_lazy(table: Any) -> bool:
    """Whether a table is one that is not computed yet, and stays where it is."""
    return isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame)


def check_columns(table: Any, shape: Shape) -> None:
    """Refuse a table without the columns, or with other types. Reads no row.

    Raises:
        GraphError: as `check_rows`.
    """
    with in_a_line():
        read_table(table, shape)


def check_rows(table: Any, shape: Shape) -> None:
    """Refuse a table in which a row cannot be used. One pass over it; all kinds at once.

    Not private: it tells which kinds of bad row there are, though neither how many nor what is in
    them. With `shape.skip_bad` it looks at the columns' types alone, and no row has a say.

    Raises:
        GraphError: there are such rows, a column is missing or of another type, or the engine
            failed.
    """
    with in_a_line():
        reading = read_table(table, shape)
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
        found = collected(rows.select(nw.col(f"bad{kind}").any() for kind in range(len(kinds))))
    kinds = [name for kind, name in enumerate(kinds) if found[f"bad{kind}"][0]]
    if kinds:
        raise GraphError(
            f"there are rows in which {'; in which '.join(kinds)}: correct them, or leave such "
            f"rows out by {_SKIP}"
        )


def _spill_folder(folder: PathLike | None) -> tuple[str, int]:
    """A new folder that only this user can read, and its lock, held as long as the process lives.

    Before, folders of this user are removed whose lock nobody holds: their processes were killed.
    """
    for old in Path(folder or tempfile.gettempdir()).glob(f"{_SPILL}*/{_LOCK}"):
        with suppress(OSError):  # gone, or somebody else's
            if time.time() - old.lstat().st_mtime > _YOUNG:
                held = open_secret(old)
                free = lock_descriptor(held, blocking=False)
                os.close(held)
                if free:
                    shutil.rmtree(old.parent, ignore_errors=True)
    spill = tempfile.mkdtemp(prefix=_SPILL, dir=folder)  # of mode 700
    lock = open_secret(Path(spill, _LOCK), new=True)
    lock_descriptor(lock, blocking=True)
    return spill, lock


def _remove_spill(spill: str, lock: int) -> None:
    os.close(lock)
    shutil.rmtree(spill, ignore_errors=True)


@final
class Engine:
    """Rows in files, or in arrays, as a table of duckdb. Private.

    What does not fit into memory goes to a folder that only this user can read, which is removed
    when the engine is closed, or forgotten, or Python ends. A process that is killed leaves it to
    the next engine.

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
        spill, lock = _spill_folder(folder)
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
        self._end = weakref.finalize(self, _remove_spill, spill, lock)
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
class ReadTable:
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


def read_table(table: Any, shape: Shape) -> ReadTable:
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
    for end, name, side, integers in zip(CELL[1:], names, shape.labels, plain, strict=True):
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
    return ReadTable(shape, frame, bad, keys, known)


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


def keys_of(reading: ReadTable) -> tuple[str, ...]:
    """The columns that say which cell a row is in: one number where the engine knows places."""
    if reading.frame.implementation in _JOINING:
        return ("cell",)
    return CELL if reading.shape.period is not None else CELL[1:]


def rows_in(reading: ReadTable, most_units: int) -> nw.LazyFrame[Any]:
    """The rows that count: the owner, the cell, and of weights the amount in steps."""
    shape = reading.shape
    rows = reading.frame.filter(*(~bad for bad in reading.bad.values())).select(**reading.keys)
    if shape.owner is not None and rows.implementation is nw.Implementation.DUCKDB:
        rows = _owners_by_their_bytes(rows)
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
        units = least(units, nw.lit(float(most_units)))
        amount = (units * float(STEPS) + 0.5).floor().cast(nw.Int64)
        rows = rows.with_columns(amount.alias("amount")).drop("weight")
    return rows


def _owners_by_their_bytes(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The rows, whose owners are equal where all their bytes are, however text is collated.

    As a table may collate it, "ann" and "ANN" are equal: they would share one bound, and what is
    kept of the rows of one would depend on those of the other.
    """
    if rows.collect_schema()["owner"] != nw.String:
        return rows
    query = f"select * replace (encode(owner) as owner) from {VIEW}"  # noqa: S608
    found: nw.LazyFrame[Any] = nw.from_native(rows.to_native().query(VIEW, query))
    return found


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
    if is_range(known):
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
        # Text as bytes: as the table collates it, one row could be in the cells of two labels.
        as_bytes = "encode" if entries.dtype.kind == "O" else ""
        query = (  # at once: each step of its own is bound again with all before it
            f"select {VIEW}.* exclude ({name}), known.place as {name} from {VIEW} {how} join "  # noqa: S608
            f"places_for_graphcuts_dp known on {as_bytes}({VIEW}.{name}) = {as_bytes}(known.{name})"
        )
        placed: nw.LazyFrame[Any] = nw.from_native(rows.to_native().query(VIEW, query))
        return placed
    joined: Any = nw.from_dict(places_for_graphcuts_dp, backend=rows.implementation).lazy()
    return rows.join(joined, on=name, how=how).drop(name).rename({"place": name})


def is_range(known: Sequence[Any]) -> bool:
    return isinstance(known, range) and known.step == 1 and len(known) > 0


def _array(known: Sequence[Any]) -> npt.NDArray[Any]:
    whole = all(isinstance(entry, int) for entry in known)
    return np.array(known, dtype=np.int64 if whole else object)


def least(left: nw.Expr, right: nw.Expr) -> nw.Expr:
    return nw.when(left < right).then(left).otherwise(right)


def collected(frame: nw.LazyFrame[Any]) -> dict[str, npt.NDArray[Any]]:
    """The columns of a frame, computed."""
    if frame.implementation is nw.Implementation.DUCKDB:
        columns = frame.to_native().fetchnumpy()
        return {name: np.ma.getdata(column) for name, column in columns.items()}
    eager = frame.collect()
    return {name: eager[name].to_numpy() for name in eager.columns}


@contextmanager
def in_a_line() -> Iterator[None]:
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
