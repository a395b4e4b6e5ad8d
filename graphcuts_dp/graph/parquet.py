"""Parquet files of edges; needs pyarrow, an extra."""

import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.arrow_tables import pyarrow, read_tables, tables_of
from graphcuts_dp.graph.columns import TextOptions
from graphcuts_dp.graph.file_bytes import size_of
from graphcuts_dp.graph.raw_edges import RawEdges

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 20  # of a row group that is written; readers hold one at a time
_BATCH = 1 << 17  # rows that are read at a time
_BUFFER = 1 << 20  # bytes of a column that are read at a time
_MOST_METADATA = 1 << 30  # bytes: vertex sets stand there


def read_parquet(
    file: BinaryIO,
    options: TextOptions = TextOptions(),  # noqa: B008  # frozen
    *,
    weighted: bool | None = None,
) -> RawEdges:
    """Edges of a Parquet file: only the columns of the ends and the weight, a row group at a time.

    Args:
        file: open at its start.
        options: see `read_graph`: columns by name or place.
        weighted: False reads no weight.

    Raises:
        FileFormatError: pyarrow is not installed; a damaged file, no columns of ends, a null.
    """
    if not file.seekable():
        file = io.BytesIO(file.read())

    def opened() -> tuple["pa.Schema", Callable[[list[str]], Iterable["pa.RecordBatch"]]]:
        from pyarrow import parquet

        rest: dict[str, Any] = {
            "thrift_string_size_limit": _MOST_METADATA,
            "memory_map": False,
            "pre_buffer": False,
            "buffer_size": _BUFFER,
        }
        stored = parquet.ParquetFile(file, **rest)

        def batches(names: list[str]) -> Iterable["pa.RecordBatch"]:
            return cast(
                "Iterable[pa.RecordBatch]",
                stored.iter_batches(_BATCH, columns=names, use_threads=False),
            )

        return stored.schema_arrow, batches

    return read_tables(opened, options, weighted=weighted, packed=size_of(file), kind="Parquet")


def write_parquet(graph: AnyGraph, handle: BinaryIO) -> None:
    """Write columns source, target and, if weighted, weight; the vertex set as metadata.

    Raises:
        FileFormatError: pyarrow is not installed.
        GraphError: two labels look alike as text.
    """
    schema, batches = tables_of(graph)
    from pyarrow import parquet

    with parquet.ParquetWriter(handle, schema) as writer:
        held: list[Any] = []
        for batch in batches:
            held.append(batch)
            if sum(map(len, held)) >= _ROWS:
                writer.write_table(pyarrow().Table.from_batches(held), row_group_size=_ROWS)
                held = []
        writer.write_table(pyarrow().Table.from_batches(held, schema=schema), row_group_size=_ROWS)
