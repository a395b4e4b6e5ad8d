"""Read tables of every kind as Arrow batches: files, frames, streams, relations of engines.

A table is opened before any of its rows is read: its names and stored types are public. Its rows
are read once, in one pass. Columns without a stored type (such as `object` of pandas) are lists of
values. Frames and relations of other libraries are read by narwhals.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from graphcuts_dp.errors import FileFormatError, GraphCutsError, GraphError
from graphcuts_dp.io.batches import TableBatch
from graphcuts_dp.io.codes import BatchCollector
from graphcuts_dp.io.convert import convert_batches, row_label
from graphcuts_dp.io.raw_edges import Options, RawEdges, Schema, load_schema
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.column_search import ColumnPositions, find_columns
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.periods import DATES
from graphcuts_dp.schema.table_schema import TableSchema, stored_kind, table_schema
from graphcuts_dp.schema.unpacking import check_unpacked

if TYPE_CHECKING:
    import pyarrow as pa

ENGINE_BATCH_ROWS = 1 << 20  # rows that an engine hands over at a time
_ROW_BYTES = 24  # memory of a row: two endpoints and a weight
_NOT_A_TABLE = (
    "this is no table: hand over one of pandas, Polars, Arrow, DuckDB or PySpark, or the path of a "
    "Parquet file"
)
_ONE_NAME = "two columns have one name; rename one"
# The error if the rows of a table cannot be read, which quotes none of them.
_UNREADABLE = "the table cannot be read to its end; look at it with the program that made it"


@final
@dataclass(frozen=True, kw_only=True)
class OpenedTable:
    """A table whose rows have not been read.

    Attributes:
        names: of its columns.
        types: stored type of each column; None for a column of Python values.
        read_columns: yields the columns at some positions, a batch of rows at a time. It may be
            called once.
        facts: the JSON that a file of this package declares; None for other tables.
        file_bytes: size of the file, which limits the size of its unpacked rows; None if the table
            is no file.
        error: class of the errors about this table.
        session_zone: whether the time zone of stored times is that of the engine's session, and no
            fact about the data.
        lazy: whether reading its rows starts a computation.
        damage_message: message of the error if its rows cannot be read; it quotes no row.
    """

    names: Sequence[str]
    types: "Sequence[pa.DataType | None]"
    read_columns: Callable[[Sequence[int]], Iterable[Sequence[Any]]]
    facts: str | None = None
    file_bytes: int | None = None
    session_zone: bool = False
    lazy: bool = False
    damage_message: str = _UNREADABLE
    error: type[GraphCutsError] = GraphError

    def read(self, schema: TableSchema) -> Iterator[Mapping[str, Any]]:
        """Yield the columns of a schema by role, a batch of rows at a time.

        Raises:
            GraphCutsError: of class `error`: a stored type has changed since the table was opened.
            FileFormatError: the columns unpack to far too much.
        """
        positions = list(dict.fromkeys(column.position for column in schema))
        count = 0
        for values in self.read_columns(positions):
            by_position = dict(zip(positions, values, strict=True))
            count += len(values[0])
            for column in schema:
                if not column.stored:
                    continue
                stored_type = by_position[column.position].type
                if stored_kind(stored_type, column.role) != column.kind:
                    raise self.error(self.damage_message)
            if self.file_bytes is not None:
                check_unpacked(count * _ROW_BYTES, self.file_bytes)
            yield {column.role: by_position[column.position] for column in schema}

    @contextmanager
    def hiding_rows_in_errors(self) -> Iterator[None]:
        """Turn errors of the library that reads the rows, which may quote them, into our errors."""
        try:
            yield
        except GraphCutsError:
            raise
        except Exception as problem:  # noqa: BLE001, RUF100  # whatever it may be
            if isinstance(problem, MemoryError) or "OutOfMemory" in type(problem).__name__:
                raise GraphError(
                    "the table does not fit into memory: hand it over as Parquet files"
                ) from None
            raise self.error(self.damage_message) from None


@final
@dataclass(frozen=True)
class ReadingPlan:
    """A table and the roles of its columns, which follow from options, names and types. Public.

    Attributes:
        table: the table, whose rows have not been read.
        schema: role and type of each column that is read.
        positions: position of the column of each role.
        declared: facts that a file of this package declares.
        reading: sentences for the user: which columns are read, and which are ignored.
    """

    table: OpenedTable
    schema: TableSchema
    positions: ColumnPositions
    declared: Schema
    reading: str

    def batches(self, options: Options, bad: BadRows) -> Iterator[TableBatch]:
        """Yield the sound rows, converted, a batch at a time. Private.

        Raises:
            GraphCutsError: the rows cannot be read; it quotes none of them.
        """
        with self.table.hiding_rows_in_errors():
            yield from convert_batches(self.table.read(self.schema), self.schema, options, bad)


def plan_reading(table: OpenedTable, options: Options) -> ReadingPlan:
    """Decide the role and the type of each column, without reading a row.

    Raises:
        GraphCutsError: of the class of the table's errors: the options do not determine the
            columns, or are for text files alone; or a column has a stored type that its role
            cannot have.
    """
    columns, periods = options.columns, options.periods
    try:
        if (columns.header, columns.delimiter) != (None, None):
            raise FileFormatError(
                "the columns have names and types; leave out header= and delimiter="
            )
        if len(table.names) < 2:
            raise FileFormatError("the table has fewer than two columns")
        declared = Schema() if table.facts is None else load_schema(table.facts)
        column_positions = find_columns(
            table.names, columns, weighted=options.weighted, declared=declared.weighted
        )
        weight = column_positions.weight
        weight_may_be_text = weight is not None and table.types[weight] is None
        if columns.decimal != "." and not weight_may_be_text:
            raise FileFormatError("decimal= is for weights that are text; leave it out")
        used_names = [table.names[position] for position in column_positions.used.values()]
        if any(list(table.names).count(name) > 1 for name in used_names):
            raise FileFormatError(_ONE_NAME)
        schema = table_schema(
            column_positions,
            table.types,
            columns,
            named_periods=periods is not None and periods.by not in DATES,
            session_zone=table.session_zone,
        )
    except GraphCutsError as problem:
        raise table.error(str(problem)) from None
    sentences = (column_positions.reading(skip=columns.skip, text=False), schema.note())
    return ReadingPlan(table, schema, column_positions, declared, " ".join(filter(None, sentences)))


def edges_of_table(table: OpenedTable, options: Options) -> RawEdges:
    """Read all rows of a table into memory, as edges.

    Raises:
        GraphCutsError: as `plan_reading`; or the rows cannot be read.
    """
    plan = plan_reading(table, options)
    bad = BadRows(skip=options.columns.skip)
    collector = BatchCollector([column.role for column in plan.schema])
    with table.hiding_rows_in_errors():  # also if there is no memory for the collected rows
        for batch in plan.batches(options, bad):
            collector.add(batch)
        fields = collector.take()
    return RawEdges(
        **fields,
        schema=plan.declared,
        owned=True,
        columns=plan.positions,
        reading=plan.reading,
        # A caller who sets an option of columns has chosen them, and needs no warning.
        left_out=plan.positions.ignoring if options.columns == Columns() else "",
        time_zone=plan.schema.time_zone,
        literal_integers=table.facts is not None,
        bad=bad,
        where=lambda position: row_label(collector.row_number(position)),
        error=table.error,
    )


def open_table(source: Any) -> OpenedTable | None:
    """Open a table of any library; return None for something that is no table.

    Raises:
        GraphError: it cannot be opened, or two columns have one name.
    """
    try:
        return _open_table(source)
    except GraphCutsError:
        raise
    except Exception:  # noqa: BLE001, RUF100  # of whatever library
        raise GraphError(
            "the table cannot be opened: it is closed, gone, or no table of rows and columns"
        ) from None


def not_a_table_error() -> GraphError:
    """Return the error of something that is no table."""
    return GraphError(_NOT_A_TABLE)


def columns_at(
    batches: "Iterable[pa.RecordBatch]", positions: Sequence[int]
) -> Iterator[Sequence[Any]]:
    """Yield the columns at some positions of each batch."""
    for batch in batches:
        yield [batch.column(position) for position in positions]


def _open_table(source: Any) -> OpenedTable | None:
    """Open a table by the library that it is of; return None for something that is no table."""
    for library, open_relation in (("duckdb", _open_duckdb), ("pyspark", _open_spark)):
        if _library_of(source) == library:
            return open_relation(source)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _open_pandas(source)
    is_stream = hasattr(source, "__arrow_c_stream__")
    is_arrow = is_stream and _library_of(source) == "pyarrow"
    frame = None if is_arrow else _frame_of(source)  # tables of Arrow need no narwhals
    if frame is not None:
        return _open_frame(frame)
    if not is_stream:
        return None
    reader = _batches_of(source)
    return OpenedTable(
        names=reader.schema.names,
        types=reader.schema.types,
        read_columns=lambda positions: columns_at(reader, positions),
    )


def _library_of(source: Any) -> str:
    """Return the name of the library that a table is of."""
    return type(source).__module__.split(".")[0].lstrip("_")


def _batches_of(source: Any) -> "pa.RecordBatchReader":
    """Return the batches of a stream of Arrow.

    Tables of Arrow itself do not go through its C interface, which before Arrow 25 crashes the
    process on short strings of the type `string_view`.
    """
    import pyarrow as pa

    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return source.to_reader()
    if isinstance(source, pa.RecordBatchReader):
        return source
    return pa.RecordBatchReader.from_stream(source)


def _frame_of(source: Any) -> Any:
    """Return a table as a frame of narwhals; None for something that is no frame.

    Raises:
        GraphError: two columns have one name.
    """
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        return nw.from_native(source)
    except TypeError:
        return None
    except (DuplicateError, ValueError):
        raise GraphError(_ONE_NAME) from None


def _open_frame(frame: Any) -> OpenedTable:
    """Open a frame of a library that narwhals knows."""
    import narwhals as nw

    if isinstance(frame, nw.LazyFrame):
        return _open_lazy(frame)
    if frame.implementation.is_pandas_like():
        return _open_pandas(frame.to_native())
    names = list(frame.columns)
    holds_objects = [kind == nw.Object for kind in frame.schema.values()]
    empty = frame.head(0)  # no row is needed for its types
    types = [
        None if is_object else _type_of(empty[name])
        for name, is_object in zip(names, holds_objects, strict=True)
    ]

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        columns = [frame[names[position]] for position in positions]
        yield [
            column.to_list() if holds_objects[position] else _in_one_piece(column.to_arrow())
            for column, position in zip(columns, positions, strict=True)
        ]

    return OpenedTable(names=names, types=types, read_columns=read_columns)


def _open_lazy(frame: Any) -> OpenedTable:
    """Open a lazy frame of Polars, Dask, Ibis or others, which is computed once."""
    import narwhals as nw

    native = frame.to_native()
    if frame.implementation.is_polars():
        empty = native.collect_schema().to_frame()
        names = list(empty.columns)
        types = [_type_of(empty[name]) for name in names]
    else:
        schema = frame.head(0).collect("pyarrow").to_native().schema
        names, types = list(schema.names), list(schema.types)

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        selected = frame.select(nw.nth(*positions))  # a name could look like a pattern
        lazy = selected.to_native()
        if frame.implementation.is_polars() and hasattr(lazy, "collect_batches"):
            tables: Iterator[Any] = (
                piece.to_arrow() for piece in lazy.collect_batches(chunk_size=ENGINE_BATCH_ROWS)
            )
        else:
            tables = iter([selected.collect("pyarrow").to_native()])
        for table in tables:
            yield from columns_at(table.to_batches(), range(len(positions)))

    return OpenedTable(names=names, types=types, read_columns=read_columns, lazy=True)


def _type_of(column: Any) -> "pa.DataType":
    """Return the stored type of a column, or `_unusable_type` if Arrow has none for it."""
    try:
        stored: pa.DataType = column.to_arrow().type
        return stored
    except Exception:  # noqa: BLE001, RUF100  # such as integers of 128 bits of Polars
        return _unusable_type()


def _unusable_type() -> "pa.DataType":
    """Return the type of columns that cannot be read: binary, with which every role is refused."""
    import pyarrow as pa

    return pa.binary()


def _open_duckdb(relation: Any) -> OpenedTable:
    """Open a relation of DuckDB, which is evaluated once, in a stream."""
    names = list(relation.columns)
    types = list(relation.limit(0).to_arrow_table().schema.types)
    for position, kind in enumerate(relation.types):
        if str(kind) == "UHUGEINT":  # DuckDB changes such values on the way to Arrow
            types[position] = _unusable_type()

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        quoted_names = ", ".join(_quoted(names[position], '"') for position in positions)
        reader = relation.project(quoted_names).arrow(ENGINE_BATCH_ROWS)
        yield from columns_at(reader, range(len(positions)))

    return OpenedTable(
        names=names, types=types, read_columns=read_columns, session_zone=True, lazy=True
    )


def _open_spark(frame: Any) -> OpenedTable:
    """Open a frame of Spark, of which the columns that are read come to this process, once."""
    names = list(frame.columns)
    types = frame.limit(0).toArrow().schema.types

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        quoted_names = (_quoted(names[position], "`") for position in positions)
        table = frame.select(*quoted_names).toArrow()
        yield from columns_at(table.to_batches(), range(len(positions)))

    return OpenedTable(
        names=names, types=types, read_columns=read_columns, session_zone=True, lazy=True
    )


def _quoted(name: str, mark: str) -> str:
    """Return the name of a column as SQL quotes it."""
    return mark + name.replace(mark, mark * 2) + mark


def _open_pandas(frame: Any) -> OpenedTable:
    """Open a frame of pandas: columns of the type object have no stored type."""
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, position] for position in range(frame.shape[1])]
    types = [_pandas_type(column) for column in columns]

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        yield [_pandas_values(columns[position], types[position]) for position in positions]

    return OpenedTable(names=names, types=types, read_columns=read_columns)


def _pandas_type(column: Any) -> "pa.DataType | None":
    """Return the stored type of a column of pandas; None if it holds values of Python.

    It follows from the type of the column: no value is looked at.
    """
    import pyarrow as pa

    kind = column.dtype
    if hasattr(kind, "categories"):
        values = _pandas_type(kind.categories.to_series())
        return None if values is None else pa.dictionary(pa.int64(), values)
    if kind == np.dtype(object):
        return None
    try:
        return _arrow_array(column.iloc[:0]).type
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        return _unusable_type()


def _pandas_values(column: Any, stored: "pa.DataType | None") -> Any:
    """Return the values of a column of pandas, those of Python where it has no stored type."""
    if stored is None:
        return list(column.astype(object))
    return _in_one_piece(_arrow_array(column))


def _arrow_array(column: Any) -> Any:
    """Convert a column of pandas to Arrow.

    Old versions of Arrow read times with a zone by an attribute that pandas 3.1 deprecates.
    """
    import pyarrow as pa

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return pa.Array.from_pandas(column)


def _in_one_piece(values: Any) -> Any:
    """Return a column of one or several chunks as one."""
    import pyarrow as pa

    if not isinstance(values, pa.ChunkedArray):
        return values
    kind = values.type
    if pa.types.is_dictionary(kind):  # indices of several chunks may not fit into one
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        values, kind = values.cast(pa.large_string()), pa.large_string()
    return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], kind)
