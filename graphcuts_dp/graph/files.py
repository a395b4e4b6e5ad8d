"""Read and write graphs; the ending of the file name tells the format.

    edge lists      .edges .edgelist .txt .csv .tsv; KONECT .konect and out.* (read only)
    matrices        .mtx (MatrixMarket) .npz (scipy.sparse)
    exchange        .graphml .gml .net (Pajek)
    tables          .parquet .arrow .feather (with the package pyarrow)

each also with `.gz`. Messages never quote a row; they tell its line number.
"""

import gzip
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal, TypedDict, Unpack, cast, overload

from graphcuts_dp.errors import FileFormatError, GraphError
from graphcuts_dp.files import PathLike, atomic_set, atomic_write, check_writable
from graphcuts_dp.graph.adjacency import (
    AnyGraph,
    BipartiteGraph,
    DirectedGraph,
    Graph,
    without_edges,
)
from graphcuts_dp.graph.assemble import build
from graphcuts_dp.graph.columns import Column, TextOptions
from graphcuts_dp.graph.edge_keys import Merge
from graphcuts_dp.graph.edge_store import Vertices
from graphcuts_dp.graph.file_bytes import opened_unpacked, read_text
from graphcuts_dp.graph.formats import FORMATS
from graphcuts_dp.graph.raw_edges import GivenVertices, Options
from graphcuts_dp.graph.schema import Schema, dump_schema, labels_of, load_schema
from graphcuts_dp.pairs.vertices import VertexSet

VertexSource = Vertices | PathLike

KNOWN_ENDINGS = tuple(FORMATS)
_SHEET = (
    "a spreadsheet; save it as CSV (File, Save As, CSV UTF-8), or in Python: "
    "gc.from_pandas(pandas.read_excel(FILE), source=..., target=...)"
)
_DATABASE = (
    "a database; export the table of edges as CSV, or in Python: "
    "gc.from_pandas(pandas.read_sql(QUERY, CONNECTION), source=..., target=...)"
)
_ELSEWHERE = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), _SHEET),
    **dict.fromkeys((".sqlite", ".sqlite3", ".duckdb", ".sql"), _DATABASE),
}


class ReadingOptions(TypedDict, total=False):
    """What `read_graph` takes besides the kind of graph, for type checkers."""

    vertices: VertexSource | tuple[VertexSource, VertexSource] | None
    public_vertices_from_file: bool
    weighted: bool | None
    weight_cap: float | None
    hide_change: float | None
    one_based: bool
    header: bool | None
    source: Column | None
    target: Column | None
    weight: Column | None
    delimiter: str | None
    encoding: str | None
    merge: Merge
    tell: Callable[[str], None] | None


@overload
def read_graph(
    path: PathLike,
    *,
    bipartite: Literal[False] = False,
    directed: Literal[False] = False,
    **options: Unpack[ReadingOptions],
) -> Graph: ...
@overload
def read_graph(
    path: PathLike,
    *,
    bipartite: Literal[True],
    directed: Literal[False] = False,
    **options: Unpack[ReadingOptions],
) -> BipartiteGraph: ...
@overload
def read_graph(
    path: PathLike,
    *,
    bipartite: Literal[False] = False,
    directed: Literal[True],
    **options: Unpack[ReadingOptions],
) -> DirectedGraph: ...
@overload
def read_graph(
    path: PathLike,
    *,
    bipartite: bool = False,
    directed: bool = False,
    **options: Unpack[ReadingOptions],
) -> AnyGraph: ...
def read_graph(  # noqa: PLR0913  # all that a file may leave open
    path: PathLike,
    *,
    vertices: VertexSource | tuple[VertexSource, VertexSource] | None = None,
    public_vertices_from_file: bool = False,
    weighted: bool | None = None,
    weight_cap: float | None = None,
    hide_change: float | None = None,
    bipartite: bool = False,
    directed: bool = False,
    one_based: bool = False,
    header: bool | None = None,
    source: Column | None = None,
    target: Column | None = None,
    weight: Column | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    merge: Merge = "max",
    tell: Callable[[str], None] | None = None,
) -> AnyGraph:
    """Read a private graph from a file.

    Always: loops are dropped, parallel edges are merged, and arcs are edges unless `directed`.
    `describe_reading` says so in words. Ids that are all integer literals are integers; if a single
    one is not (007, +1, NA), all are strings (for bipartite graphs: on each side).

    Args:
        path: the file; its ending tells the format, see `KNOWN_ENDINGS`, and may end in `.gz`.
        vertices: the public vertex set: a count n (ids 0..n-1), labels, or the path of a file
            with one label on each line; for bipartite graphs a pair of these, left and right.
            Without it, the vertices that the file lists are taken, or else those that occur in
            edges, sorted (order in a file may tell of edges) unless we wrote the file. A set that
            was taken from edges tells of them, and every guarantee then says so.
        public_vertices_from_file: say that the vertices that occur in this file are public.
        weighted: None reads weights if the file declares them (.gml and Pajek files of others
            declare nothing: if all edges have one); False ignores them; True requires them.
        weight_cap: public bound on any weight; larger weights are clipped to it. Without it, the
            one that the file declares, if any.
        hide_change: 1 to have weights without a cap: then a change of a weight by at most 1 is
            hidden, and no edge that weighs more. One of the two is needed for all that draws noise.
        bipartite: read two sides. Edge lists: first column left, second right. Matrices: rows
            left, columns right. GraphML, GML: vertex attribute `bipartite` 0 or 1 (networkx) or
            `type` false or true (igraph). Pajek: `*Vertices n n_left`.
        directed: read arcs. Edge lists: from the first column (`source`) to the second. Matrices:
            from the row to the column. A file that declares its edges to be undirected (Pajek
            *Edges, a symmetric .mtx, `edgedefault="undirected"`, a .gml file without `directed 1`)
            is refused: which of the two arcs is meant, or both, is not guessed.
        one_based: text edge lists: ids are the integers 1, 2, ... and become 0, 1, ...; a count
            n then means ids 1..n, and given labels are those after the shift. Never guessed.
        header: text edge lists: whether the first line names the columns. None: it does if a column
            is given by name; else `.csv` and `.tsv` files have a header (you must say so or not if
            columns are given by place) and others have none. What a file holds never decides.
        source: edge lists and tables: column of the first ends, by its name or its place from 0.
            Without it the known names of the header (source and target, from and to, ...) or the
            only two that could be ends; without a header the first two columns.
        target: likewise, of the second ends.
        weight: likewise, of the weights. Without it, a column of a known name (weight, count,
            amount, length, ...: `columns.WEIGHTS`), or the third one where a comment above the rows
            of one of our own or of KONECT's files declares weights; no other is ever taken for one.
        delimiter: text edge lists: what stands between columns, such as ";"; " " for any blanks.
            None: a first line `sep=;` decides; else in `.csv` and `.tsv` files the comma,
            semicolon, tab or bar that the header has, without a header the comma or the tab; in
            others a comma in rows that hold one, and blanks in those that hold none.
        encoding: of text edge lists, GML and Pajek: a name that Python knows. None: what the mark
            at the start says (UTF-8, UTF-16, UTF-32), else UTF-8.
        merge: weight of parallel and reciprocal edges: the largest ("max"), the smallest ("min",
            for lengths) or their "sum", which is then clipped to the cap. Reciprocal arcs of a
            directed graph stay two. A matrix (.mtx, .npz) that does not declare itself symmetric
            may hold an edge twice, so the sum of its weights is refused for undirected graphs.
        tell: called with a sentence that names the columns that were read and ignored.

    Comments are lines that start with # or %; in `.csv` and `.tsv` files only above the header. A
    row is a line: quotes end where it ends.
    What `write_graph` put beside such a file, in `<path>.schema.json`, is read with it.
    Text edge lists and tables are read a piece at a time: at the peak they take no more than twice
    the memory of the graph. Tables (Parquet, Arrow) hold integers, strings or both by number as
    ends, and no nulls.

    Returns:
        A `Graph`, or a `BipartiteGraph` if `bipartite`, or a `DirectedGraph` if `directed`.

    Raises:
        FileFormatError: the file cannot be read, its ending is unknown, a row is malformed or
            names a vertex outside the public set, a weight is negative or not finite, or an
            option does not fit the file or is needed.
        GraphError: `vertices` holds a label twice, or none.
        ParameterError: `weight_cap`, `hide_change`, `merge`, `delimiter` or `encoding` is none, or
            the graph shall be both bipartite and directed.

    Examples:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "mail.csv"
        >>> with file.open("w") as rows:
        ...     print("source,target", "ann,bob", "bob,eve", sep=chr(10), file=rows)
        >>> gc.read_graph(file, vertices=["ann", "bob", "eve", "kim"])
        Graph(n=4)
    """
    ending = ending_of(path)
    options = Options(
        vertices=public_vertices_of(vertices, bipartite),
        weighted=weighted,
        weight_cap=weight_cap,
        hide_change=hide_change,
        public_vertices=public_vertices_from_file,
        bipartite=bipartite,
        directed=directed,
        one_based=one_based,
        merge=merge,
    )
    form = FORMATS[ending]
    text = TextOptions(header, source, target, weight, delimiter, encoding)
    if not form.columns and (one_based or text.of_columns):
        raise FileFormatError(
            "one_based, header, source, target, weight and delimiter are for edge lists "
            f"(source, target and weight for tables, too), not {ending}"
        )
    if not form.encoded and encoding is not None:
        raise FileFormatError(f"encoding= is for edge lists, .gml and .net, not {ending}")
    with opened_unpacked(path) as file:
        try:
            raw = form.read(file if form.streamed else file.read(), options, text)
            if form.described_apart and raw.schema == Schema():
                raw = replace(raw, schema=_schema_beside(path))
            graph = build(raw, options)
        except (FileFormatError, GraphError) as problem:
            raise FileFormatError(f"{path!s}: {problem}") from None
    if tell is not None and raw.reading:
        tell(raw.reading)
    return graph


def write_graph(
    graph: AnyGraph,
    path: PathLike,
    *,
    force: bool = False,
    about: Mapping[str, float | str] | None = None,
) -> None:
    """Write a graph to a file; `read_graph` restores it with labels and isolated vertices.

    The file appears whole or not at all. Text formats carry the vertex set, and the weight cap,
    in a comment `graphcuts-dp: {...}`; but `.csv` and `.tsv` files begin with their header, so that
    other programs read them, and have these facts beside them in `<path>.schema.json`.

    Args:
        graph: of any kind. The file holds its edges: only write graphs that are
            synthetic, or that stay private.
        path: where; the ending tells the format, as for `read_graph`, KONECT excepted.
        force: replace a file that is there.
        about: facts about the graph, such as the epsilon of its release. GraphML holds them as
            attributes of the graph; other formats have no place for them.

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


def check_labels(path: PathLike, graph: AnyGraph) -> None:
    """Check that the format of `path` can hold the vertex labels, by writing them without edges.

    Reads the public vertex sets only, and writes to no disk. Call it before anything is spent.

    Raises:
        FileFormatError: a label that the format cannot hold.
    """
    _write(without_edges(graph), io.BytesIO(), ending_of(path))


def check_writable_graph(path: PathLike, *, force: bool = False) -> str:
    """Check that a graph can be written here; call it before privacy budget is spent.

    Returns:
        The ending, which tells the format.

    Raises:
        FileFormatError: as `write_graph`, labels and full disks excepted.
    """
    ending = ending_of(path)
    _writer(ending)
    for file in graph_files(path):
        check_writable(file, force=force)
    return ending


def graph_files(path: PathLike) -> tuple[Path, ...]:
    """The files that `write_graph` writes: `path`, and before it the schema where that is apart."""
    apart = FORMATS[ending_of(path)].described_apart
    return (*([_schema_path(path)] if apart else []), Path(path))


def describe_reading(
    *,
    vertices_given: bool,
    inferred: bool = False,
    weighted: bool,
    capped: bool = False,
    merge: Merge = "max",
    bipartite: bool = False,
    directed: bool = False,
) -> tuple[str, ...]:
    """What reading does to every file, in sentences for the user.

    They depend on the options and the format alone, never on what the file holds. `inferred` tells
    whether the vertices are those that occur in edges.
    """
    notes = []
    if inferred:
        notes.append(
            "The vertices are taken from the edges, so the release is not private in its vertex "
            "set: pass --vertices, or --public-vertices-from-file if they are public."
        )
    elif not vertices_given:
        notes.append("The vertices in the file are taken as public; pass them yourself if not.")
    if directed:
        notes.append("Self-loops are dropped: they join nobody to anybody else.")
    elif not bipartite:
        notes.append("Self-loops are dropped: they cross no cut.")
    kept = {
        "max": "the largest weight is kept",
        "min": "the smallest weight is kept",
        "sum": "their weights are added up",
    }[merge]
    merged = "Duplicate arcs" if directed else "Duplicate and reciprocal edges"
    notes.append(f"{merged} are merged" + (f"; {kept}." if weighted else "."))
    if weighted and capped:
        notes.append("Weights above the cap are clipped to it.")
    return tuple(notes)


def _schema_path(path: PathLike) -> Path:
    return Path(f"{os.fspath(path)}.schema.json")


def _schema_beside(path: PathLike) -> Schema:
    """What stands beside a file that `write_graph` wrote; of another file, nothing."""
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


def _write_file(
    graph: AnyGraph,
    path: PathLike,
    ending: str,
    about: Mapping[str, float | str] | None,
    *,
    force: bool = False,
) -> None:
    """Write one file, packed if its name says so."""
    with atomic_write(path, force=force) as handle:
        if str(path).endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, handle, mtime=0) as packed:
                _write(graph, cast(BinaryIO, packed), ending, about)
        else:
            _write(graph, handle, ending, about)


def _write(
    graph: AnyGraph,
    handle: BinaryIO,
    ending: str,
    about: Mapping[str, float | str] | None = None,
) -> None:
    told = {"about": about} if about and FORMATS[ending].attributes else {}
    try:
        _writer(ending)(graph, handle, **told)
    except UnicodeEncodeError:
        raise FileFormatError("a label is not valid Unicode; rename it") from None
    except GraphError as problem:
        raise FileFormatError(str(problem)) from None


def _writer(ending: str) -> Callable[..., None]:
    write = FORMATS[ending].write
    if write is None:
        raise FileFormatError(f"{ending[1:].upper()} files are only read; write .edges instead")
    return write


def ending_of(path: PathLike) -> str:
    name = Path(path).name
    plain = name[:-3] if name.lower().endswith(".gz") else name
    ending = Path(plain).suffix.lower()
    if ending in KNOWN_ENDINGS:
        return ending
    if plain.startswith("out.") and len(plain) > 4:
        return ".konect"
    if os.fspath(path).startswith(("/dev/", "/proc/")):
        raise FileFormatError(
            f"{path!s}: the name of a device or a pipe tells no format; name a file such as x.csv"
        )
    if ending in _ELSEWHERE:
        raise FileFormatError(f"{name}: {_ELSEWHERE[ending]}")
    raise FileFormatError(
        f"{name}: unknown ending; known are {' '.join(KNOWN_ENDINGS)}, each also with .gz, "
        "and out.* for KONECT"
    )


def public_vertices_of(
    vertices: VertexSource | tuple[VertexSource, VertexSource] | None, bipartite: bool
) -> GivenVertices:
    if vertices is None:
        return None
    if bipartite:
        if not isinstance(vertices, tuple | list) or len(vertices) != 2:
            raise GraphError("vertices of a bipartite graph are a pair: left and right")
        left, right = cast("tuple[VertexSource, VertexSource]", vertices)
        return _vertex_set(left), _vertex_set(right)
    return _vertex_set(cast(VertexSource, vertices))


def _vertex_set(source: VertexSource) -> VertexSet:
    if isinstance(source, VertexSet):
        return source
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        return read_vertices(cast(PathLike, source))
    return VertexSet(source)


def read_vertices(path: PathLike) -> VertexSet:
    """Read a public vertex set: a text file with one label on each line, perhaps packed (.gz).

    Labels are integers if all are integer literals, else strings as they stand.

    Raises:
        FileFormatError: the file cannot be read, is not UTF-8, or has an empty line (told by its
            number) before the end.
        GraphError: no label, or one twice.
    """
    names = [line.rstrip("\r\n") for line in io.StringIO(read_text(path), newline="\n")]
    while names and not names[-1]:
        names.pop()
    if "" in names:
        raise FileFormatError(f"{path!s}: line {names.index('') + 1}: the label is empty")
    return VertexSet(labels_of(names))


__all__ = [
    "KNOWN_ENDINGS",
    "check_labels",
    "check_writable_graph",
    "describe_reading",
    "read_graph",
    "read_vertices",
    "write_graph",
]
