"""Arrow files (`.arrow`, `.feather`) of edges, in the file or the stream form; needs pyarrow."""

import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.arrow_tables import pyarrow, read_tables, tables_of
from graphcuts_dp.graph.columns import TextOptions
from graphcuts_dp.graph.file_bytes import size_of
from graphcuts_dp.graph.raw_edges import RawEdges

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"ARROW1"
_START = b"\xff\xff\xff\xff"  # of a message of a stream


def read_arrow(
    file: BinaryIO,
    options: TextOptions = TextOptions(),  # noqa: B008  # frozen
    *,
    weighted: bool | None = None,
) -> RawEdges:
    """Edges of an Arrow file, a batch at a time; only the columns of the ends and the weight.

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
        arrow = pyarrow()
        head = file.read(len(_START) + 4)
        whole = head.startswith(_MAGIC)
        if not whole:  # its first message tells its length, for which memory would be taken
            length = int.from_bytes(head[len(_START) :], "little")
            if not head.startswith(_START) or length > size_of(file):
                raise FileFormatError("not a whole Arrow file, or damaged")

        def reader(included: list[int] | None = None) -> Any:
            some = arrow.ipc.IpcReadOptions(included_fields=included, use_threads=False)
            opening = arrow.ipc.open_file if whole else arrow.ipc.open_stream
            file.seek(0)
            return opening(file, options=some)

        schema = reader().schema

        def batches(names: list[str]) -> Iterable["pa.RecordBatch"]:
            made = reader([schema.names.index(name) for name in names])
            if not whole:
                yield from made
                return
            for index in range(made.num_record_batches):
                yield made.get_batch(index)

        return schema, batches

    return read_tables(opened, options, weighted=weighted, packed=size_of(file), kind="Arrow")


def write_arrow(graph: AnyGraph, handle: BinaryIO) -> None:
    """Write columns source, target and, if weighted, weight; the vertex set as metadata.

    Raises:
        FileFormatError: pyarrow is not installed.
        GraphError: two labels look alike as text.
    """
    schema, batches = tables_of(graph)
    with pyarrow().ipc.new_file(handle, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
