"""Read and write Parquet and Arrow files (`.arrow`, `.feather`, as a file or a stream).

Only the columns that are needed are read, a batch of rows at a time. The vertex set and the maximum
weight of files of this package are in the metadata of their schema.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import PathLike
from graphcuts_dp.io.edge_store import EdgeStore
from graphcuts_dp.io.raw_edges import Options, RawEdges, dump_schema
from graphcuts_dp.io.tables import OpenedTable, columns_at, edges_of_table
from graphcuts_dp.schema.byte_streams import size_of
from graphcuts_dp.schema.text_rows import MARK
from graphcuts_dp.schema.vertices import vertex_sets

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 17  # rows that are read at a time, and rows of a row group that is written
_BUFFER = 1 << 20  # bytes of a column of Parquet that are read at a time
_MOST_METADATA = 1 << 30  # bytes of metadata: they hold vertex sets
_FILE_MARK = b"ARROW1"  # the first bytes of a file in the file form
_MESSAGE_MARK = b"\xff\xff\xff\xff"  # the first bytes of a message of a stream
_METADATA_KEY = MARK.rstrip(":").encode()  # b"graphcuts-dp": of the facts that this package writes

# A function that takes an open file and its size in bytes.
Opening = Callable[[BinaryIO, int], OpenedTable]


def read_table_file(file: BinaryIO, options: Options, *, opening: Opening) -> RawEdges:
    """Read the edges of a Parquet or Arrow file.

    Args:
        file: open at its start.
        options: options of the reader.
        opening: opens files of this format.

    Raises:
        FileFormatError: a damaged file, columns that cannot be used, or bad rows.
    """
    return edges_of_table(open_table_file(file, opening), options)


def open_table_file(file: BinaryIO, opening: Opening) -> OpenedTable:
    """Open a Parquet or Arrow file, or a pipe with the bytes of one.

    Args:
        file: open at its start.
        opening: opens files of this format.

    Raises:
        FileFormatError: not a whole file.
    """
    if not file.seekable():
        file = io.BytesIO(file.read())
    return opening(file, size_of(file))


def open_parquet(file: BinaryIO, file_bytes: int) -> OpenedTable:
    """Open a Parquet file; `OpenedTable.read_columns` reads no other columns than its positions.

    Raises:
        FileFormatError: not a whole Parquet file.
    """
    from pyarrow import parquet

    damage_message = "not a whole Parquet file, or damaged"
    options: dict[str, Any] = {
        "thrift_string_size_limit": _MOST_METADATA,
        "memory_map": False,
        "pre_buffer": False,
        "buffer_size": _BUFFER,
    }
    try:
        stored = parquet.ParquetFile(file, **options)
        schema = stored.schema_arrow
        names, facts = list(schema.names), _facts(schema)
    except Exception:  # noqa: BLE001, RUF100  # whatever a crafted file provokes; it may quote rows
        raise FileFormatError(damage_message) from None

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        column_names = [names[position] for position in positions]
        for batch in stored.iter_batches(_ROWS, columns=column_names, use_threads=False):
            yield [batch.column(name) for name in column_names]

    return OpenedTable(
        names=names,
        types=schema.types,
        read_columns=read_columns,
        facts=facts,
        file_bytes=file_bytes,
        damage_message=damage_message,
        error=FileFormatError,
    )


def open_folder(path: PathLike) -> OpenedTable:
    """Open a Parquet file, or a folder of such files as one table, which are read in turn.

    Raises:
        FileFormatError: no such file, not Parquet, or files with different columns.
    """
    root = Path(path)
    files = [root]
    if root.is_dir():  # Spark writes a folder named `x.parquet` that holds the files of the table
        files = [file for file in sorted(root.rglob("*.parquet")) if file.is_file()]
    if not files or not files[0].is_file():
        raise FileFormatError(f"{path!s}: there is no Parquet file; name one, or a folder")

    def open_one(file: Path) -> OpenedTable:
        try:
            with file.open("rb") as stream:
                return open_parquet(stream, file.stat().st_size)
        except (FileFormatError, OSError):
            raise FileFormatError(
                f"{path!s}: cannot be read as Parquet; write the table again as Parquet"
            ) from None

    tables = [open_one(file) for file in files]
    first = tables[0]
    for table in tables[1:]:
        if list(table.names) != list(first.names) or list(table.types) != list(first.types):
            raise FileFormatError(
                f"{path!s}: the files of the folder have different columns or types; write them "
                "again with the same ones"
            )

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        for file in files:
            with file.open("rb") as stream:
                yield from open_parquet(stream, file.stat().st_size).read_columns(positions)

    return replace(first, read_columns=read_columns, file_bytes=None)


def open_arrow(file: BinaryIO, file_bytes: int) -> OpenedTable:
    """Open an Arrow file.

    Raises:
        FileFormatError: not a whole Arrow file.
    """
    damage_message = "not a whole Arrow file, or damaged"
    head = file.read(len(_MESSAGE_MARK) + 4)
    is_file_form = head.startswith(_FILE_MARK)
    if not is_file_form:
        # Arrow would allocate as many bytes as the first message states, so the length is checked.
        length = int.from_bytes(head[len(_MESSAGE_MARK) :], "little")
        if not head.startswith(_MESSAGE_MARK) or length > file_bytes:
            raise FileFormatError(damage_message)

    def reader(fields: list[int] | None = None) -> Any:
        from pyarrow import ipc

        options = ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        open_form = ipc.open_file if is_file_form else ipc.open_stream
        file.seek(0)
        return open_form(file, options=options)

    try:
        schema = reader().schema
        names, facts = list(schema.names), _facts(schema)
    except Exception:  # noqa: BLE001, RUF100  # whatever a crafted file provokes; it may quote rows
        raise FileFormatError(damage_message) from None

    def read_columns(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        fields = sorted(positions)  # the order in which Arrow returns them
        stored = reader(fields)
        batches: Iterable[pa.RecordBatch] = (
            map(stored.get_batch, range(stored.num_record_batches)) if is_file_form else stored
        )
        return columns_at(
            map(_checked_batch, batches), [fields.index(position) for position in positions]
        )

    return OpenedTable(
        names=names,
        types=schema.types,
        read_columns=read_columns,
        facts=facts,
        file_bytes=file_bytes,
        damage_message=damage_message,
        error=FileFormatError,
    )


def write_parquet(graph: EdgeStore, handle: BinaryIO) -> None:
    """Write columns source, target and, if weighted, weight; the vertex set as metadata."""
    schema, batches = tables_of(graph)
    from pyarrow import parquet

    with parquet.ParquetWriter(handle, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def write_arrow(graph: EdgeStore, handle: BinaryIO) -> None:
    """Write columns source, target and, if weighted, weight; the vertex set as metadata."""
    schema, batches = tables_of(graph)
    from pyarrow import ipc

    with ipc.new_file(handle, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def tables_of(graph: EdgeStore) -> tuple["pa.Schema", Iterator["pa.RecordBatch"]]:
    """Return the schema and the batches of columns source, target and perhaps weight of a graph.

    The vertex set, and the maximum weight, are in the metadata of the schema under "graphcuts-dp".
    """
    import pyarrow as arrow

    labels: list[Any] = []  # those of each vertex set; None if the row numbers are the labels
    for vertices in vertex_sets(graph.space):
        if vertices.is_default:
            labels.append(None)
        elif all(isinstance(label, int) and abs(label) < 2**63 for label in vertices.labels):
            labels.append(arrow.array(vertices.labels, type=arrow.int64()))
        else:
            labels.append(arrow.array(list(vertices.text_index), type=arrow.string()))
    fields = [
        arrow.field(name, arrow.int64() if set_labels is None else set_labels.type)
        for name, set_labels in zip(("source", "target"), labels, strict=True)
    ]
    if graph.weighted:
        fields.append(arrow.field("weight", arrow.float64()))
    schema = arrow.schema(fields, metadata={_METADATA_KEY: dump_schema(graph)})

    def batches() -> Iterator["pa.RecordBatch"]:
        for start in range(0, len(graph.rows), _ROWS):
            piece = slice(start, start + _ROWS)
            endpoints = zip(labels, (graph.rows[piece], graph.columns[piece]), strict=True)
            columns = [
                arrow.array(rows.astype(np.int64))
                if set_labels is None
                else set_labels.take(arrow.array(rows))
                for set_labels, rows in endpoints
            ]
            if graph.weighted:
                columns.append(arrow.array(graph.weights[piece]))
            yield arrow.record_batch(columns, schema=schema)

    return schema, batches()


def _checked_batch(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Return a batch of a file after checking that no column reaches beyond the bytes read.

    Arrow before version 25 trusts the lengths in a damaged file, and the process may crash when it
    uses them. Whether text is Unicode is checked later, value by value.

    Raises:
        ArrowInvalid: a column is damaged.
    """
    for column in batch.columns:
        stored_bytes = _as_bytes(column)
        stored_bytes.validate(full=stored_bytes is not column)
    return batch


def _as_bytes(column: "pa.Array") -> "pa.Array":
    """Return a column of text as its bytes, and any other column as it is."""
    import pyarrow as pa

    types, stored = pa.types, column.type
    if types.is_dictionary(stored):
        return pa.DictionaryArray.from_arrays(
            column.indices, _as_bytes(column.dictionary), ordered=stored.ordered, safe=False
        )
    if types.is_string(stored):
        return column.view(pa.binary())
    if types.is_large_string(stored):
        return column.view(pa.large_binary())
    if types.is_string_view(stored):
        return column.view(pa.binary_view())
    return column


def _facts(schema: "pa.Schema") -> str | None:
    """Return the facts that a file of this package declares, as JSON; None for other files."""
    facts = (schema.metadata or {}).get(_METADATA_KEY)
    return None if facts is None else facts.decode("utf-8", "replace")
