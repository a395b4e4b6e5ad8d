"""Read and write files of graphs, by the table of their formats.

The ending of the file name determines the format:

    edge lists      .edges .edgelist .txt .csv .tsv; KONECT .konect and out.* (read only)
    matrices        .mtx (MatrixMarket) .npz (scipy.sparse)
    exchange        .graphml .gml .net (Pajek)
    tables          .parquet .arrow .feather

each also with `.gz`. Messages never quote a row; they have its line number. A new format is a
reader, a writer and a line of `_OUR_FORMATS`.
"""

import gzip
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from graphcuts_dp.errors import FileFormatError, GraphError
from graphcuts_dp.files import PathLike, atomic_set, atomic_write, check_writable
from graphcuts_dp.io.arrow import open_arrow, open_parquet, write_arrow, write_parquet
from graphcuts_dp.io.edge_store import DEFAULT_MERGE, EdgeStore, Merge, Vertices
from graphcuts_dp.io.exchange import (
    read_gml,
    read_graphml,
    read_pajek,
    write_gml,
    write_graphml,
    write_pajek,
)
from graphcuts_dp.io.file_format import (
    FileFormat,
    edge_list_format,
    format_of_package,
    table_format,
)
from graphcuts_dp.io.matrices import read_mtx, read_npz, write_mtx, write_npz
from graphcuts_dp.io.raw_edges import (
    Options,
    PublicVertices,
    RawEdges,
    Schema,
    dump_schema,
    load_schema,
)
from graphcuts_dp.options import check_type
from graphcuts_dp.plug_ins import PlugInTable
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.file_bytes import opened_unpacked, read_text
from graphcuts_dp.schema.text_format import TextFormat
from graphcuts_dp.schema.text_rows import labels_of
from graphcuts_dp.schema.vertices import VertexSet

VertexSource = Vertices | PathLike

# What files of other programs are, and what to do with them.
_SHEET = (
    "a spreadsheet; save it as CSV (File, Save As, CSV UTF-8), or in Python: "
    "gc.Graph.of(pandas.read_excel(FILE), columns=gc.Columns(source=..., target=...))"
)
_DATABASE = (
    "a database; export the table as CSV or Parquet, or in Python: "
    'pandas.read_sql(QUERY, CONNECTION).to_parquet("table.parquet")'
)
_DUCKDB = (
    "a database; export the table as CSV or Parquet, or in Python: "
    'duckdb.connect(FILE).sql("from TABLE").write_parquet("table.parquet")'
)
_OTHER_PROGRAMS = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), _SHEET),
    **dict.fromkeys((".sqlite", ".sqlite3", ".sql"), _DATABASE),
    ".duckdb": _DUCKDB,
}
_OUR_FORMATS: Mapping[str, FileFormat] = {
    ".edges": edge_list_format(TextFormat()),
    ".edgelist": edge_list_format(TextFormat()),
    ".txt": edge_list_format(TextFormat()),
    ".csv": edge_list_format(TextFormat(",")),
    ".tsv": edge_list_format(TextFormat("\t")),
    ".konect": edge_list_format(TextFormat(konect=True)),
    ".mtx": FileFormat(read=read_mtx, write=write_mtx, repeats=False),
    ".npz": FileFormat(read=read_npz, write=write_npz, repeats=False),
    ".graphml": FileFormat(
        read=read_graphml, write=write_graphml, named_weight=True, attributes=True
    ),
    ".gml": FileFormat(read=read_gml, write=write_gml, named_weight=True, encoded=True),
    ".parquet": table_format(open_parquet, write_parquet),
    ".arrow": table_format(open_arrow, write_arrow),
    ".feather": table_format(open_arrow, write_arrow),
    ".net": FileFormat(read=read_pajek, write=write_pajek, encoded=True, list_or_matrix=True),
}
FORMATS = PlugInTable(
    "graphcuts_dp.file_formats", "file format", _OUR_FORMATS, format_of_package, private=True
)


@contextmanager
def naming_file(path: PathLike) -> Iterator[None]:
    """Turn errors while a file is read into `FileFormatError`, with the name of the file once."""
    try:
        yield
    except (FileFormatError, GraphError) as problem:
        message = str(problem)
        raise FileFormatError(message if str(path) in message else f"{path!s}: {message}") from None


def read_raw(path: PathLike, options: Options) -> RawEdges:
    """Read the edges of a file, and its schema, which some formats keep in a file beside it.

    Raises:
        FileFormatError: as `Graph.read`.
        ParameterError: no such encoding or delimiter.
    """
    ending = ending_of(path)
    file_format = FORMATS[ending]
    check_columns(ending, options.columns)
    with opened_unpacked(path) as file:
        raw = file_format.read(file, options)
        if file_format.described_apart and raw.schema == Schema():  # the file declares nothing
            raw.schema = schema_beside(path)
        return raw


def read_vertices(path: PathLike) -> VertexSet:
    """Read a public vertex set: a text file with one label on each line, perhaps packed (.gz).

    Labels are integers if all are integer literals, else strings as they stand.

    Raises:
        FileFormatError: the file cannot be read, is not UTF-8, has an empty line (with its
            number) before the end, or is a table: a .csv or .tsv file with several columns.
        GraphError: no label, or one twice.
    """
    names = [line.rstrip("\r\n") for line in io.StringIO(read_text(path), newline="\n")]
    while names and not names[-1]:
        names.pop()
    if "" in names:
        raise FileFormatError(f"{path!s}: line {names.index('') + 1}: the label is empty")
    # In a file of another ending these characters may be part of labels.
    separators = {".csv": ",;\t|", ".tsv": "\t"}.get(Path(path).suffix.lower(), "")
    if names and any(all(separator in name for name in names) for separator in separators):
        raise FileFormatError(
            f"{path!s}: this is a table; vertices stand in a file with one label on each line, and "
            "nothing else"
        )
    return VertexSet(labels_of(names))


def public_vertices_of(vertices: Any, bipartite: bool) -> PublicVertices:
    """Return the public vertex set that a caller passes, or a pair of them.

    Args:
        vertices: a count, labels, a `VertexSet` or a file of labels; a pair of these for a
            bipartite graph; None if the caller passes none.
        bipartite: whether the graph has two sides.

    Raises:
        GraphError: no pair for a bipartite graph, or no vertex set.
    """
    if vertices is None:
        return None
    if bipartite:
        if not isinstance(vertices, tuple | list) or len(vertices) != 2:
            raise GraphError("vertices of a bipartite graph are a pair: left and right")
        return _vertex_set(vertices[0]), _vertex_set(vertices[1])
    return _vertex_set(vertices)


def ending_of(path: PathLike) -> str:
    """Return the ending of a file name, one of `FORMATS`; ".konect" for out.*.

    Args:
        path: of the file; ".gz" at its end is left out.

    Raises:
        FileFormatError: an unknown ending, or none.
        ParameterError: no path.
    """
    check_type("path", path, (str, os.PathLike), "the path of a file")
    name = Path(path).name
    plain = name[:-3] if name.lower().endswith(".gz") else name
    ending = Path(plain).suffix.lower()
    if ending in FORMATS:
        return ending
    if plain.startswith("out.") and len(plain) > 4:
        return ".konect"
    if os.fspath(path).startswith(("/dev/", "/proc/")):
        raise FileFormatError(
            f"{path!s}: the name of a device or a pipe tells no format; name a file such as x.csv"
        )
    if ending in _OTHER_PROGRAMS:
        raise FileFormatError(f"{name}: {_OTHER_PROGRAMS[ending]}")
    raise FileFormatError(
        f"{name}: unknown ending; known are {' '.join(FORMATS)}, each also with .gz, "
        "and out.* for KONECT"
    )


def check_columns(ending: str, columns: Columns) -> None:
    """Refuse options of columns that do not apply to a format.

    Raises:
        FileFormatError: such an option is set.
    """
    file_format = FORMATS[ending]
    # In a format with edge attributes, weight= names an attribute and is no option of columns.
    table_options = replace(columns, weight=None) if file_format.named_weight else columns
    if not file_format.columns and table_options.is_for_tables:
        raise FileFormatError(
            "columns= are for edge lists and tables (header=, delimiter= and decimal= for edge "
            f"lists alone), not {ending}"
            + (", but for weight=" if file_format.named_weight else "")
        )
    if not file_format.encoded and columns.encoding is not None:
        raise FileFormatError(f"encoding= is for edge lists, .gml and .net, not {ending}")


def schema_beside(path: PathLike) -> Schema:
    """Return the facts that `write_graph` wrote beside a file; an empty schema if there are none.

    Raises:
        FileFormatError: they cannot be read, or are damaged.
    """
    file = _schema_path(path)
    try:
        return load_schema(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Schema()
    except OSError as problem:
        raise FileFormatError(f"cannot read {file.name}: {problem.strerror}") from None
    except (FileFormatError, UnicodeDecodeError):
        raise FileFormatError(
            f"{file.name} beside it is damaged; repair it, or delete it and give vertices="
        ) from None


def describe_reading(
    *,
    has_public_vertices: bool,
    inferred: bool = False,
    weighted: bool,
    has_maximum: bool = False,
    merge: Merge | None = None,
    bipartite: bool = False,
    directed: bool = False,
    repeats: bool = True,
    list_or_matrix: bool = False,
) -> tuple[str, ...]:
    """Return sentences for the user on how a file is read.

    They depend on the options and the format alone, never on the rows: a file without any loop,
    for example, gets the same sentence about loops.

    Args:
        has_public_vertices: whether the caller passes the vertex set.
        inferred: whether the vertices are those that occur in edges, as neither the caller nor the
            file lists them.
        weighted: whether weights are read.
        has_maximum: whether weights have a maximum.
        merge: as for `Graph.read`.
        bipartite: whether the graph has two sides.
        directed: whether edges are arcs.
        repeats: whether the format can name an edge twice, see `FileFormat`.
        list_or_matrix: whether a file of the format may hold a matrix, see `FileFormat`.
    """
    notes: list[str] = []
    if inferred:
        notes.append(
            "The vertices are taken from the edges, so the release is not private in its vertex "
            "set: pass --vertices, or --public-vertices-from-file if they are public."
        )
    elif not has_public_vertices:
        notes.append("The vertices in the file are taken as public; pass them yourself if not.")
    if directed:
        notes.append("Edges from a vertex to itself are dropped: they join nobody to anybody else.")
    elif not bipartite:
        notes.append("Edges from a vertex to itself are dropped: they cross no cut.")
    one_way = directed or bipartite
    if repeats or not one_way:
        # A format that cannot repeat an edge merges only the two entries of a pair in a matrix.
        kept_weight = {
            "max": "the largest weight is kept",
            "min": "the smallest weight is kept",
            "sum": "their weights are added up",
        }[merge or (DEFAULT_MERGE if repeats else "max")]
        rule = "Reciprocal edges are merged"
        if repeats:
            order = "" if one_way else ", in either order,"
            rule = f"A pair that occurs in several lines{order} counts once"
        notes.append(f"{rule}; {kept_weight}." if weighted else f"{rule}.")
    if list_or_matrix and weighted and not one_way and merge is None:
        notes.append("Of the two entries of a pair in a *Matrix, the larger one is kept.")
    if weighted and has_maximum:
        notes.append("Weights above the maximum are clipped to it.")
    return tuple(notes)


def write_graph(
    graph: EdgeStore,
    path: PathLike,
    *,
    force: bool = False,
    about: Mapping[str, float | str] | None = None,
) -> None:
    """Write a graph to a file; `Graph.read` restores it with labels and isolated vertices.

    The file appears whole or not at all. Text formats carry the vertex set, and the maximum weight,
    in a comment `graphcuts-dp: {...}`; but `.csv` and `.tsv` files begin with their header, so that
    other programs read them, and have these facts beside them in `<path>.schema.json`.

    Args:
        graph: of any kind. The file holds its edges: only write graphs that are
            synthetic, or that stay private.
        path: where; the ending determines the format, as for `Graph.read`, KONECT excepted.
        force: replace a file that is there.
        about: facts about the graph, such as the epsilon of its release. GraphML holds them as
            attributes of the graph; other formats cannot hold them.

    Raises:
        FileFormatError: unknown ending, missing folder, a file that is there, a label that the
            format cannot hold, or a full disk.
    """
    ending = check_writable_graph(path, force=force)
    files = graph_files(path)
    if len(files) == 1:
        _write_file(graph, path, ending, about, force=force)
        return
    with atomic_set(files, force=force) as (schema, rows):
        with atomic_write(schema) as handle:
            handle.write(dump_schema(graph).encode() + b"\n")
        _write_file(graph, rows, ending, about)


def check_labels(path: PathLike, graph: EdgeStore) -> None:
    """Check that the format of `path` can hold the vertex labels, by writing them without edges.

    Reads the public vertex sets only, and writes to no disk. Call it before anything is spent.

    Raises:
        FileFormatError: a label that the format cannot hold.
    """
    _write(graph.without_edges(), io.BytesIO(), ending_of(path))


def check_writable_graph(path: PathLike, *, force: bool = False) -> str:
    """Check that a graph can be written here; call it before privacy budget is spent.

    Returns:
        The ending, which determines the format.

    Raises:
        FileFormatError: as `write_graph`, labels and full disks excepted.
    """
    ending = ending_of(path)
    _writer(ending)
    for file in graph_files(path):
        check_writable(file, force=force)
    return ending


def graph_files(path: PathLike) -> tuple[Path, ...]:
    """Return the files that `write_graph` writes: that of the schema, if any, and then `path`."""
    if FORMATS[ending_of(path)].described_apart:
        return _schema_path(path), Path(path)
    return (Path(path),)


def _schema_path(path: PathLike) -> Path:
    """Return the path of the schema of a file that has it beside it."""
    return Path(f"{os.fspath(path)}.schema.json")


def _write_file(
    graph: EdgeStore,
    path: PathLike,
    ending: str,
    about: Mapping[str, float | str] | None,
    *,
    force: bool = False,
) -> None:
    """Write a graph to one file, packed if its name ends in .gz or .GZ."""
    with atomic_write(path, force=force) as handle:
        if os.fspath(path).lower().endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, handle, mtime=0) as packed:
                _write(graph, cast(BinaryIO, packed), ending, about)
        else:
            _write(graph, handle, ending, about)


def _write(
    graph: EdgeStore,
    handle: BinaryIO,
    ending: str,
    about: Mapping[str, float | str] | None = None,
) -> None:
    """Write a graph to an open file in the format of an ending."""
    options = {"about": about} if about and FORMATS[ending].attributes else {}
    try:
        _writer(ending)(graph, handle, **options)
    except UnicodeEncodeError:
        raise FileFormatError("a label is not valid Unicode; rename it") from None
    except GraphError as problem:
        raise FileFormatError(str(problem)) from None


def _writer(ending: str) -> Callable[..., None]:
    """Return the writer of a format.

    Raises:
        FileFormatError: a format that is only read.
    """
    write = FORMATS[ending].write
    if write is None:
        raise FileFormatError(f"{ending[1:].upper()} files are only read; write .edges instead")
    return write


def _vertex_set(source: VertexSource) -> VertexSet:
    """Return the vertex set of a count, of labels or of a file; a `VertexSet` as it is."""
    if isinstance(source, VertexSet):
        return source
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        return read_vertices(cast(PathLike, source))
    return VertexSet(source)
