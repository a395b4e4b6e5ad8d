"""Every source of private rows: how a table of the contract becomes what `gc.Rows` reads."""

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet

import graphcuts_dp as gc
from tests.contract.table import Table

ELSEWHERE = "Pacific/Kiritimati"  # of a session or a machine: a zone that no table names
_connect = duckdb.connect  # tests may replace it by one that shares a database
_numbers = count()


@dataclass(frozen=True)
class Source:
    """A way in which rows come.

    Attributes:
        name: of the source.
        kind: what types it has, see `tests.contract.table`.
        make: what `gc.Rows.of` or `gc.Rows.read` takes, of a table and an empty folder.
        files: whether it is a file, a folder or a stream, for `gc.Rows.read`.
        stays: whether it is read by `data_name=`.
        holds: whether it can hold a table with such columns.
    """

    name: str
    kind: str
    make: Callable[[Table, Path], Any]
    files: bool = False
    stays: bool = False
    holds: Callable[[Table], bool] = lambda _: True

    def suits(self, table: Table) -> bool:
        """Whether the source can hold a table."""
        if table.outcome(self.kind) is None or self.name in table.but:
            return False
        if table.sources is not None and self.name not in table.sources:
            return False
        return self.holds(table)

    def rows(self, table: Table, folder: Path, on_bad: str) -> gc.Rows:
        """The rows of a table, read from this source."""
        options = table.reading(on_bad)
        if self.stays:
            options["data_name"] = "trips"
        given = self.make(table, folder)
        return gc.Rows.read(given, **options) if self.files else gc.Rows.of(given, **options)


# Text files


def as_text(table: Table, delimiter: str) -> bytes:
    """The table as a text file; cells stand in quotes where they must alone."""
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\n")
    named = table.named()
    writer.writerow(named)
    writer.writerows(zip(*(each.of_kind("text") for each in named.values()), strict=True))
    return lines.getvalue().encode()


def _text_file(name: str, delimiter: str) -> Callable[[Table, Path], Path]:
    def make(table: Table, folder: Path) -> Path:
        path = folder / name
        path.write_bytes(as_text(table, delimiter))
        return path

    return make


def _stream(table: Table, _: Path) -> io.BytesIO:
    return io.BytesIO(as_text(table, ","))


# Arrow and Parquet


def _arrow(table: Table, _: Path) -> pa.Table:
    return table.arrow()


def pieces(table: pa.Table) -> Iterator[pa.Table]:
    """The table in parts of one to three rows; itself if it has no row."""
    start = 0
    for size in (1, 3, 2, *([3] * len(table))):
        if start < len(table) or start == 0:
            yield table.slice(start, size)
        start += size


def _batches(table: Table, _: Path) -> pa.RecordBatchReader:
    whole = table.arrow()
    batches = [batch for piece in pieces(whole) for batch in piece.to_batches()]
    return pa.RecordBatchReader.from_batches(whole.schema, batches)


def _encoded(column: Any) -> Any:
    """Text as a dictionary with every value twice, and a null among the values."""
    if column.type != pa.string():
        return column
    values = column.unique().drop_null().to_pylist()
    number = {value: place for place, value in enumerate(values)}
    missing = 2 * len(values)
    codes = [
        missing if value is None else number[value] + len(values) * (row % 2)
        for row, value in enumerate(column.to_pylist())
    ]
    codes_array = pa.array(codes, pa.int32())
    return pa.DictionaryArray.from_arrays(codes_array, pa.array([*values * 2, None], pa.string()))


def _dictionaries(table: Table, _: Path) -> pa.Table:
    whole = table.arrow().combine_chunks()
    columns = [_encoded(column.combine_chunks()) for column in whole.columns]
    return pa.table(columns, whole.column_names)


def _large(table: Table, _: Path) -> pa.Table:
    """Text of the types that Polars and newer tools export."""
    whole = table.arrow()
    types = {0: pa.large_string(), 1: pa.string_view()}
    fields = [
        pa.field(each.name, types[place % 2] if each.type == pa.string() else each.type)
        for place, each in enumerate(whole.schema)
    ]
    return whole.cast(pa.schema(fields))


def _arrow_file(table: Table, folder: Path) -> Path:
    path, whole = folder / "x.arrow", table.arrow()
    with pa.ipc.new_file(path, whole.schema) as writer:
        writer.write_table(whole, max_chunksize=3)
    return path


def _parquet(table: Table, folder: Path) -> Path:
    path = folder / "x.parquet"
    parquet.write_table(table.arrow(), path)
    return path


def _parquet_folder(table: Table, folder: Path) -> Path:
    for place, piece in enumerate(pieces(table.arrow())):
        inner = folder / "trips" / f"part{place % 2}"
        inner.mkdir(parents=True, exist_ok=True)
        parquet.write_table(piece, inner / f"{place}.parquet", row_group_size=2)
    return folder / "trips"


# Frames


def _objects(table: Table, _: Path) -> pd.DataFrame:
    named = table.named()
    series = [pd.Series(list(each.of_kind("object")), dtype=object) for each in named.values()]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = pd.Index(list(named), dtype=object)
    return frame


_MASKED = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.string(): pd.StringDtype(),
}


def _masked(table: Table, _: Path) -> pd.DataFrame:
    return table.arrow().to_pandas(types_mapper=_MASKED.get)


def _by_arrow(table: Table, _: Path) -> pd.DataFrame:
    return table.arrow().to_pandas(types_mapper=pd.ArrowDtype)


def _by_numpy(table: Table, _: Path) -> pd.DataFrame:
    frame = table.arrow().to_pandas()
    for name, column in table.named().items():
        if column.type == pa.string():
            frame[name] = frame[name].astype(pd.StringDtype("python", na_value=float("nan")))
    return frame


def _categories(table: Table, _: Path) -> pd.DataFrame:
    frame = table.arrow().to_pandas()
    for name, column in table.named().items():
        if column.type == pa.string():
            frame[name] = frame[name].astype("category")
    return frame


def _types_of(table: Table) -> list[pa.DataType]:
    return [each.type for each in table.named().values() if each.type is not None]


def _in_numpy(table: Table) -> bool:
    """Whether pandas holds each column in a type of numpy or of text, with what is missing."""
    for column in table.named().values():
        kind = column.type
        assert kind is not None
        plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
        if plain and None in column.values:
            return False
        floats = pa.types.is_floating(kind) or pa.types.is_timestamp(kind)
        if not (plain or floats or kind == pa.string() or pa.types.is_dictionary(kind)):
            return False
    return True


def _masks(table: Table) -> bool:
    """Whether pandas holds each column in a type of its own."""
    return all(kind in _MASKED or pa.types.is_timestamp(kind) for kind in _types_of(table))


def _has_text(table: Table) -> bool:
    return _in_numpy(table) and pa.string() in _types_of(table)


def _polars(table: Table, _: Path) -> pl.DataFrame:
    frame = pl.from_arrow(table.arrow())
    assert isinstance(frame, pl.DataFrame)
    return frame


def _lazy(table: Table, folder: Path) -> pl.LazyFrame:
    return _polars(table, folder).lazy()


def _polars_categories(table: Table, folder: Path) -> pl.DataFrame:
    return _polars(table, folder).with_columns(pl.col(pl.String).cast(pl.Categorical))


def _scan(table: Table, folder: Path) -> pl.LazyFrame:
    return pl.scan_parquet(_parquet(table, folder))


_NOT_POLARS = (pa.types.is_dictionary, pa.types.is_union, pa.types.is_map)


def _in_polars(table: Table) -> bool:
    """Whether Polars keeps the types."""
    return not any(test(kind) for kind in _types_of(table) for test in _NOT_POLARS)


# Engines


@cache
def _database() -> Any:
    """A database whose session has a zone that nobody may use."""
    connection = _connect(":memory:")
    connection.execute(f"set TimeZone = '{ELSEWHERE}'")
    return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _relation(table: Table, _: Path) -> Any:
    rows = table.arrow()
    name = f"t{next(_numbers)}"
    _database().register("rows_of_contract", rows)
    _database().execute(f"create temp table {name} as from rows_of_contract")
    _database().unregister("rows_of_contract")
    return _database().table(name)


def _collated(table: Table, folder: Path) -> Any:
    """Text that DuckDB compares without case and accents."""
    relation = _relation(table, folder)
    columns = [
        f"{_quoted(name)} collate nocase.noaccent as {_quoted(name)}"
        if str(kind) == "VARCHAR"
        else _quoted(name)
        for name, kind in zip(relation.columns, relation.types, strict=True)
    ]
    return relation.project(", ".join(columns))


@contextmanager
def spark_session() -> Iterator[Any]:
    """A local session of Spark, whose zone nobody may use."""
    import pytest

    sql = pytest.importorskip("pyspark.sql")
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.session.timeZone", ELSEWHERE)
        .config("spark.driver.host", "localhost")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    try:
        yield session
    finally:
        session.stop()


def _frame_of_spark(table: Table, _: Path) -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    frame = session.createDataFrame(table.arrow())
    for name, column in table.named().items():  # Spark reads times as instants of its session
        if column.type is not None and pa.types.is_timestamp(column.type) and not column.type.tz:
            frame = frame.withColumn(name, frame[f"`{name}`"].cast("timestamp_ntz"))
    return frame


_IN_SPARK = {
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_()),
    *(pa.string(), pa.date32(), pa.binary()),
}


def _in_spark(table: Table) -> bool:
    return all(
        kind in _IN_SPARK or pa.types.is_decimal(kind) or pa.types.is_timestamp(kind)
        for kind in _types_of(table)
    )


SOURCES = {
    source.name: source
    for source in (
        Source("csv", "text", _text_file("x.csv", ","), files=True),
        Source("tsv", "text", _text_file("x.tsv", "\t"), files=True),
        Source("stream", "text", _stream, files=True),
        Source("parquet", "typed", _parquet, files=True),
        Source("parquet kept", "typed", _parquet, files=True, stays=True),
        Source("parquet folder", "typed", _parquet_folder, files=True),
        Source("arrow file", "typed", _arrow_file, files=True),
        Source("pandas objects", "object", _objects),
        Source("pandas objects kept", "object", _objects, stays=True),
        Source("pandas masked", "typed", _masked, holds=_masks),
        Source("pandas by arrow", "typed", _by_arrow),
        Source("pandas by arrow kept", "typed", _by_arrow, stays=True),
        Source("pandas by numpy", "typed", _by_numpy, holds=_in_numpy),
        Source("pandas categories", "typed", _categories, holds=_has_text),
        Source("polars", "typed", _polars, holds=_in_polars),
        Source("polars kept", "typed", _polars, stays=True, holds=_in_polars),
        Source("polars categories", "typed", _polars_categories, holds=_in_polars),
        Source("polars lazy", "typed", _lazy, holds=_in_polars),
        Source("polars scan", "typed", _scan, holds=_in_polars),
        Source("arrow", "typed", _arrow),
        Source("arrow kept", "typed", _arrow, stays=True),
        Source("arrow large", "typed", _large),
        Source("arrow dictionaries", "typed", _dictionaries),
        Source("arrow batches", "typed", _batches),
        Source("duckdb", "engine", _relation),
        Source("duckdb collated", "engine", _collated),
    )
}
SPARK = Source("spark", "engine", _frame_of_spark, holds=_in_spark)
