"""The table of file formats: what the ending of a file name can be.

A new format is its module and a line here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO, final

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.arrow_tables import read_arrow, read_parquet, write_arrow, write_parquet
from graphcuts_dp.graph.columns import TextOptions
from graphcuts_dp.graph.edge_lists import read_edge_list, write_edge_list
from graphcuts_dp.graph.exchange import Contents, to_raw
from graphcuts_dp.graph.file_bytes import TextFormat, as_utf8
from graphcuts_dp.graph.gml import read_gml, write_gml
from graphcuts_dp.graph.graphml import read_graphml, write_graphml
from graphcuts_dp.graph.matrices import read_npz, write_npz
from graphcuts_dp.graph.matrix_market import read_mtx, write_mtx
from graphcuts_dp.graph.pajek import read_pajek, write_pajek
from graphcuts_dp.graph.raw_edges import Options, RawEdges


@final
@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """A line of the table.

    Attributes:
        read: makes raw edges from the bytes of a file (or the open file, if `streamed`), the
            options of `read_graph`, and those for text.
        write: writes a graph to a handle; None for a format that is only read.
        columns: whether it has columns that the caller may name, as edge lists and tables have.
        encoded: whether the caller may say in which encoding it is.
        streamed: whether it is read a piece at a time.
        attributes: whether `write` takes `about`, facts that the file tells of the graph.
        described_apart: whether the vertex set and the weight cap stand in a file of their own.
    """

    read: Callable[[Any, Options, TextOptions], RawEdges]
    write: Callable[..., None] | None
    columns: bool = False
    encoded: bool = False
    streamed: bool = False
    attributes: bool = False
    described_apart: bool = False


def _edge_list(form: TextFormat, *, written: bool = True) -> FileFormat:
    def read(file: BinaryIO, options: Options, text: TextOptions) -> RawEdges:
        return read_edge_list(file, form, text, weighted=options.weighted)

    write = partial(write_edge_list, form=form) if written else None
    return FileFormat(
        read=read,
        write=write,
        columns=True,
        encoded=True,
        streamed=True,
        described_apart=form.delimiter is not None,
    )


def _tables(
    read: Callable[..., RawEdges], write: Callable[[AnyGraph, BinaryIO], None]
) -> FileFormat:
    def read_some(file: BinaryIO, options: Options, text: TextOptions) -> RawEdges:
        return read(file, text, weighted=options.weighted)

    return FileFormat(read=read_some, write=write, columns=True, streamed=True)


def _matrix(read: Callable[..., RawEdges], write: Callable[..., None]) -> FileFormat:
    def read_some(data: bytes, options: Options, _text: TextOptions) -> RawEdges:
        return read(_some(data), bipartite=options.bipartite, directed=options.directed)

    return FileFormat(read=read_some, write=write)


def _exchange(
    read: Callable[[bytes], Contents], write: Callable[..., Any], *, encoded: bool = True
) -> FileFormat:
    def read_some(data: bytes, options: Options, text: TextOptions) -> RawEdges:
        plain = as_utf8(data, text.encoding) if encoded else data
        return to_raw(
            read(_some(plain)),
            bipartite=options.bipartite,
            directed=options.directed,
            weighted=options.weighted,
        )

    return FileFormat(read=read_some, write=write, encoded=encoded)


def _some(data: bytes) -> bytes:
    if not data.strip():
        raise FileFormatError("the file is empty")
    return data


FORMATS: Mapping[str, FileFormat] = {
    ".edges": _edge_list(TextFormat()),
    ".edgelist": _edge_list(TextFormat()),
    ".txt": _edge_list(TextFormat()),
    ".csv": _edge_list(TextFormat(",")),
    ".tsv": _edge_list(TextFormat("\t")),
    ".konect": _edge_list(TextFormat(konect=True), written=False),
    ".mtx": _matrix(read_mtx, write_mtx),
    ".npz": _matrix(read_npz, write_npz),
    ".graphml": replace(_exchange(read_graphml, write_graphml, encoded=False), attributes=True),
    ".gml": _exchange(read_gml, write_gml),
    ".parquet": _tables(read_parquet, write_parquet),
    ".arrow": _tables(read_arrow, write_arrow),
    ".feather": _tables(read_arrow, write_arrow),
    ".net": _exchange(read_pajek, write_pajek),
}
