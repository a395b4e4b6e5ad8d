"""Read and write adjacency and biadjacency matrices: scipy's `.npz` and MatrixMarket's `.mtx`.

A square matrix is an adjacency matrix. The two entries of a pair of vertices may be one edge, which
the matrix holds twice, or two arcs. No entry may decide that for another pair, so it does not
depend on whether the matrix is symmetric: the larger of both entries, or the smaller, is right in
both cases, and their sum is refused (`RawEdges.both_ways`) unless the head of the file declares how
it holds edges. With `directed` every entry is an arc. With `bipartite` any shape is a biadjacency
matrix.

The entries of MatrixMarket files are read by scipy, after a check for what its reader (1.12 to 1.17
at least) does not detect: it ignores what follows a number, accepts a symmetric array that is not
square, and crashes the process at a zero byte, at a damaged last line, or at an array without rows
(`MATRICES` of `tests/io/test_files.py`).
"""

import io
import re
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.array_archive import check_arrays
from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.io.assemble import UNDIRECTED
from graphcuts_dp.io.edge_store import EdgeStore, write_edges
from graphcuts_dp.io.raw_edges import Options, RawEdges, Schema, dump_schema, load_schema
from graphcuts_dp.schema.file_bytes import whole_file
from graphcuts_dp.schema.text_rows import MARK
from graphcuts_dp.schema.unpacking import check_archive, most_unpacked
from graphcuts_dp.schema.vertices import VertexSet

_LEVEL = 1  # of compression: a fifth of the time of the default, and hardly larger
_NPZ_PIECE = 1 << 20  # entries written at once
_NPZ_MEMBER = "graphcuts_dp"  # the member of an archive that holds the schema
_COMMENT_WIDTH = 900  # characters of the schema on a line, of at most 1024 bytes
_FIELDS = {  # the fields of each form of MatrixMarket files that are read
    "coordinate": ("real", "double", "integer", "pattern"),
    "array": ("real", "double", "integer"),
}
_WRONG_ENTRIES = (
    "malformed MatrixMarket file: an entry outside the matrix, or not as many entries as its size "
    "line states"
)
# Matches the end of the line before the first one that is no comment. No group is repeated
# possessively: before Python 3.11.5 such a group keeps a failed match.
_COMMENTS = re.compile(rb"\n(?![ \t\r]*+(?:%[^\n]*+)?(?:\n|\Z))")
_SCHEMA = re.compile(rb"^%%[%% ]*%s ?([^\r\n]*)" % MARK.encode(), re.MULTILINE)
_SIZE = re.compile(rb"[0-9]{1,18}")  # fits in 64 bits
_NUMBER = rb"-?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_ENDPOINTS = rb"[0-9]++[ \t]++[0-9]++"
# Matches the end of the line before the first one that is no sound row. A sound row has one of two
# usual forms, which are matched faster, or a general form among any blanks.
_UNSOUND = rb"\n(?!(?:%s|%s|[ \t\r]*+(?:%s[ \t\r]*+)?)\n|\Z)"
_UNSOUND_ROWS = {
    "pattern": re.compile(_UNSOUND % (rb"[0-9]++ [0-9]++", rb"[0-9]++ [0-9]++", _ENDPOINTS)),
    "array": re.compile(_UNSOUND % (rb"[0-9]++", rb"[0-9]++\.[0-9]++", _NUMBER)),
    "coordinate": re.compile(
        _UNSOUND
        % (
            rb"[0-9]++ [0-9]++ [0-9]++",
            rb"[0-9]++ [0-9]++ [0-9]++\.[0-9]++",
            _ENDPOINTS + rb"[ \t]++" + _NUMBER,
        )
    ),
}


def read_npz(file: BinaryIO, options: Options) -> RawEdges:
    """Read the edges of a matrix that `scipy.sparse.save_npz` wrote; refuse pickled objects.

    Raises:
        FileFormatError: not such a file, far too large unpacked, entries that are not real
            numbers, or not square.
    """
    data = whole_file(file, text=False)
    schema = Schema()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_archive(data)
            check_arrays(io.BytesIO(data), limit=most_unpacked(len(data)))
            matrix = sp.load_npz(io.BytesIO(data))
            with np.load(io.BytesIO(data), allow_pickle=False) as members:
                if _NPZ_MEMBER in members:
                    schema = load_schema(str(members[_NPZ_MEMBER]))
            matrix = sp.coo_array(matrix)
            without_weights = matrix.dtype == np.bool_ or schema.weighted is False
            matrix = _with_summed_duplicates(
                matrix
            )  # touches every index, so that bad ones are found here
    except GraphCutsError:
        raise
    except Exception:  # noqa: BLE001, RUF100  # whatever a crafted archive provokes
        raise FileFormatError("not a sparse matrix made by scipy.sparse.save_npz") from None
    return matrix_edges(
        matrix,
        schema,
        options,
        unweighted=without_weights,
        # Only files of this package have a schema, and theirs hold each edge twice.
        triangle="upper" if schema.directed is False else None,
        error=FileFormatError,
    )


def read_mtx(file: BinaryIO, options: Options) -> RawEdges:
    """Read the edges of a MatrixMarket file, coordinate or array, real, integer or pattern.

    Raises:
        FileFormatError: malformed (with the line number if known), complex, not square, or a
            symmetric matrix for a directed graph.
    """
    data = whole_file(file, text=False)
    form, field, symmetry = banner_of(data[: data.find(b"\n") + 1])
    symmetric = symmetry == "symmetric"
    dense = form == "array"
    pattern = field == "pattern"
    if symmetric and options.directed:
        raise FileFormatError(UNDIRECTED)
    start = _match_end(_COMMENTS, data, 0)
    end = data.find(b"\n", start) + 1 or len(data)
    line = data.count(b"\n", 0, start) + 1
    size = data[start:end].split()
    size_count = 2 if dense else 3
    if len(size) != size_count or not all(map(_SIZE.fullmatch, size)):
        raise FileFormatError(f"line {line}: expected {size_count} whole numbers, the size")
    height, width, *stated = map(int, size)
    if symmetric and height != width:
        raise FileFormatError("malformed MatrixMarket file: a symmetric matrix is square")
    # scipy adds the other triangle of a "symmetric" matrix. In a coordinate matrix of an undirected
    # graph each entry is one edge, so it is read as "general".
    mirrored = "symmetric" if symmetric and (options.bipartite or dense) else "general"
    kind = f"{form} {'pattern' if pattern else 'real'} {mirrored}"
    head = b"%%%%MatrixMarket matrix %s\n%s\n" % (kind.encode(), b" ".join(size))
    text = b"".join([head, memoryview(data)[end:], b"\n"])
    sound_end = _match_end(_UNSOUND_ROWS["pattern" if pattern else form], text, len(head) - 1)
    if sound_end < len(text):
        line += 1 + text.count(b"\n", len(head), sound_end)
        raise FileFormatError(f"line {line}: malformed row")
    entries = stated[0] if stated else height * (height + 1) // 2 if symmetric else height * width
    # scipy allocates memory for all of them before it reads one.
    if entries > text.count(b"\n") or (dense and not entries):
        raise FileFormatError(_WRONG_ENTRIES)
    pieces = _SCHEMA.findall(data, 0, start)
    return matrix_edges(
        _matrix(text, line - 2),  # in `text`, banner and size take two lines, not `line` of them
        load_schema(b"".join(pieces).decode("latin-1")) if pieces else Schema(),
        options,
        unweighted=pattern,
        triangle=None if not symmetric else "upper" if dense else "any",
        error=FileFormatError,
    )


def matrix_edges(
    matrix: Any,
    schema: Schema,
    options: Options,
    *,
    unweighted: bool,
    triangle: Literal["upper", "any"] | None = None,
    error: type[GraphCutsError],
) -> RawEdges:
    """Return the edges of the non-zero entries of a matrix, dense or scipy sparse.

    The head of a file may declare a `triangle` of an undirected graph: "upper" if all edges are
    above the diagonal, and repeated below; "any" if each is in one of the two triangles.

    Raises:
        GraphCutsError: of class `error`: not two-dimensional, not real, empty, or not square.
    """
    if not sp.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or 0 in matrix.shape:
        raise error("a matrix of a graph has two dimensions, real entries, and at least one row")
    entries = _with_summed_duplicates(sp.coo_array(matrix))
    height, width = entries.shape
    if height != width and not options.bipartite:
        raise error("the matrix is not square; a biadjacency matrix makes a BipartiteGraph")
    anonymous = schema.vertices is None and schema.sides is None
    if anonymous and options.bipartite:
        schema = replace(schema, sides=(VertexSet(height), VertexSet(width)))
    elif anonymous:
        schema = replace(schema, vertices=VertexSet(height))
    declared = schema.sides or (schema.vertices, schema.vertices)
    if [len(side) for side in declared if side is not None] != [height, width]:
        raise error("the declared labels do not fit the shape of the matrix")
    rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
    for indices, size in ((rows, height), (columns, width)):
        if len(indices) and not (indices.min() >= 0 and indices.max() < size):
            raise error("the matrix has an entry outside its shape")
    weights = entries.data.astype(np.float64)
    is_edge = weights != 0
    is_undirected = not (options.bipartite or options.directed)
    if is_undirected and triangle == "upper":
        is_edge &= rows <= columns
    rows, columns, weights = rows[is_edge], columns[is_edge], weights[is_edge]
    return RawEdges(
        sources=rows,
        targets=columns,
        weights=None if unweighted else weights,
        schema=schema,
        as_rows=True,
        anonymous=anonymous,
        both_ways=is_undirected and triangle is None,
        where=lambda _: "the matrix",
        error=error,
    )


def banner_of(line: bytes) -> tuple[str, str, str]:
    """Return form, field and symmetry that the first line of a MatrixMarket file declares.

    Raises:
        FileFormatError: no such line, or a matrix that no graph has.
    """
    words = line.lower().decode("latin-1").split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise FileFormatError("line 1: not a MatrixMarket banner '%%MatrixMarket matrix ...'")
    form, field, symmetry = words[2:]
    if field not in _FIELDS.get(form, ()) or symmetry not in ("general", "symmetric"):
        raise FileFormatError(
            "a graph needs a real, integer or pattern matrix that is general or symmetric"
        )
    return form, field, symmetry


def write_npz(graph: EdgeStore, handle: BinaryIO) -> None:
    """Write a file for `scipy.sparse.load_npz`, with one more member for the schema.

    It is written in coordinate form, piece by piece, without a second copy of a large graph.
    """
    rows, columns, weights = [graph.rows], [graph.columns], [graph.weights]
    if isinstance(graph.space, VertexSet):
        rows, columns, weights = [*rows, *columns], [*columns, *rows], [*weights, *weights]
    packed = io.BytesIO()  # an archive is patched as it is written, which a .gz cannot be
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, pieces in (
            ("row", rows),
            ("col", columns),
            ("data", weights),
            ("shape", [np.array(graph.shape)]),
            ("format", [np.array(b"coo")]),
            ("_is_array", [np.array(True)]),
            (_NPZ_MEMBER, [np.array(dump_schema(graph))]),
        ):
            _write_member(archive, name, pieces)
    handle.write(packed.getbuffer())


def write_mtx(graph: EdgeStore, handle: BinaryIO) -> None:
    """Write a coordinate matrix: symmetric for a `Graph`, general for the other kinds."""
    symmetric, shape = isinstance(graph.space, VertexSet), graph.shape
    field = "real" if graph.weighted else "pattern"
    kind = "symmetric" if symmetric else "general"
    facts = dump_schema(graph)
    head = [
        f"%%MatrixMarket matrix coordinate {field} {kind}",
        *(f"%{MARK} {facts[i : i + _COMMENT_WIDTH]}" for i in range(0, len(facts), _COMMENT_WIDTH)),
        f"{shape[0]} {shape[1]} {len(graph.rows)}\n",
    ]
    handle.write("\n".join(head).encode("ascii"))
    names = [[str(i + 1) for i in range(size)] for size in shape]
    # Of a symmetric matrix the format stores the lower triangle.
    write_edges(graph, handle, names[0], names[1], "%s %s\n", "%s %s %s\n", lower=symmetric)


def _with_summed_duplicates(entries: sp.coo_array) -> sp.coo_array:
    """Add up entries of the same pair, as scipy does in all its matrices.

    They are added as float64. In a type of few bits a sum can wrap around, and then a change of one
    weight by 1 would change it by 2^8 or more.
    """
    summed = entries.astype(np.float64) if entries.dtype.kind in "iuf" else entries
    summed.sum_duplicates()
    return summed


def _match_end(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    """Return the end of the first match; the end of the text without a match."""
    match = pattern.search(text, start)
    return len(text) if match is None else match.end()


def _matrix(text: bytes, comment_lines: int) -> Any:
    """Return the matrix of a sound text, which lacks the comment lines of the file."""
    from scipy.io import mmread  # here, since other formats do without

    try:
        return mmread(io.BytesIO(text), spmatrix=False)
    except (ValueError, OverflowError) as problem:
        match = re.match(r"Line ([0-9]+)", str(problem))
        where = "" if match is None else f"line {int(match[1]) + comment_lines}: "
        raise FileFormatError(where + _WRONG_ENTRIES) from None


def _write_member(archive: zipfile.ZipFile, name: str, pieces: Sequence[npt.NDArray[Any]]) -> None:
    """Write an array, in one piece or several, as a member of an archive."""
    member = zipfile.ZipInfo(f"{name}.npy")  # with a fixed date
    member.compress_type = zipfile.ZIP_DEFLATED
    first = pieces[0]
    shape = (sum(map(len, pieces)),) if first.ndim else ()
    header = {"descr": first.dtype.str, "fortran_order": False, "shape": shape}
    with archive.open(member, "w", force_zip64=True) as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for piece in pieces:
            flat = piece.reshape(-1)
            for start in range(0, flat.size, _NPZ_PIECE):
                stream.write(flat[start : start + _NPZ_PIECE].tobytes())
