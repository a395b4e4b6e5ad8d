"""MatrixMarket `.mtx`: scipy reads the entries, after a check of all that it misreads.

Alone, scipy's reader (1.12 to 1.17 at least) passes over what follows a number, takes a symmetric
array that is not square, and ends the whole process at a zero byte, at a damaged last line, or at
an array without rows (`tests/graph/test_matrix_market.py`).
"""

import io
import re
from typing import Any, BinaryIO

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.assemble import UNDIRECTED
from graphcuts_dp.graph.edge_lists import write_edges
from graphcuts_dp.graph.matrices import matrix_edges
from graphcuts_dp.graph.raw_edges import RawEdges
from graphcuts_dp.graph.schema import MARK, Schema, dump_schema, load_schema

_COMMENT_WIDTH = 900  # a line has at most 1024 bytes
_FIELDS = {
    "coordinate": ("real", "double", "integer", "pattern"),
    "array": ("real", "double", "integer"),
}
_WRONG_ENTRIES = (
    "malformed MatrixMarket file: an entry outside the matrix, or not as many entries as its size "
    "line tells"
)
_COMMENTS = re.compile(rb"(?:[ \t\r]*+(?:%[^\n]*+)?+\n)*+")
_SCHEMA = re.compile(rb"^%%[%% ]*%s ?([^\r\n]*)" % MARK.encode(), re.MULTILINE)
_SIZE = re.compile(rb"[0-9]{1,18}")  # fits in 64 bits
_NUMBER = rb"-?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"
_ENDS = rb"[0-9]++[ \t]++[0-9]++"


def _rows(whole: bytes, decimal: bytes, general: bytes) -> re.Pattern[bytes]:
    """Sound rows: as programs write them, which is faster, and from then on with any blanks."""
    some = rb"[ \t\r]*+(?:%s[ \t\r]*+)?+" % general
    return re.compile(rb"(?:%s\n)*+(?:%s\n|%s\n)*+" % (whole, decimal, some))


_ROWS = {
    "pattern": _rows(rb"[0-9]++ [0-9]++", rb"[0-9]++ [0-9]++", _ENDS),
    "array": _rows(rb"[0-9]++", rb"[0-9]++\.[0-9]++", _NUMBER),
    "coordinate": _rows(
        rb"[0-9]++ [0-9]++ [0-9]++",
        rb"[0-9]++ [0-9]++ [0-9]++\.[0-9]++",
        _ENDS + rb"[ \t]++" + _NUMBER,
    ),
}


def read_mtx(data: bytes, *, bipartite: bool, directed: bool = False) -> RawEdges:
    """Edges of a MatrixMarket file, coordinate or array, real, integer or pattern.

    Raises:
        FileFormatError: malformed (told by line number where known), complex, not square, or a
            symmetric matrix for a directed graph.
    """
    banner = data[: data.find(b"\n") + 1].lower().decode("latin-1").split()
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise FileFormatError("line 1: not a MatrixMarket banner '%%MatrixMarket matrix ...'")
    form, field, symmetry = banner[2:]
    if field not in _FIELDS.get(form, ()) or symmetry not in ("general", "symmetric"):
        raise FileFormatError(
            "a graph needs a real, integer or pattern matrix that is general or symmetric"
        )
    symmetric, dense, pattern = symmetry == "symmetric", form == "array", field == "pattern"
    if symmetric and directed:
        raise FileFormatError(UNDIRECTED)
    start = _end(_COMMENTS, data, 0)
    end = data.find(b"\n", start) + 1 or len(data)
    line = data.count(b"\n", 0, start) + 1
    size, count = data[start:end].split(), 2 if dense else 3
    if len(size) != count or not all(map(_SIZE.fullmatch, size)):
        raise FileFormatError(f"line {line}: expected {count} whole numbers, the size")
    height, width, *stated = map(int, size)
    if symmetric and height != width:
        raise FileFormatError("malformed MatrixMarket file: a symmetric matrix is square")
    # An edge of a plain graph is one entry of a symmetric matrix; elsewhere scipy adds the other.
    mirrored = "symmetric" if symmetric and (bipartite or dense) else "general"
    kind = f"{form} {'pattern' if pattern else 'real'} {mirrored}"
    head = b"%%%%MatrixMarket matrix %s\n%s\n" % (kind.encode(), b" ".join(size))
    text = b"".join([head, memoryview(data)[end:], b"\n"])
    sound = _end(_ROWS["pattern" if pattern else form], text, len(head))
    if sound < len(text):
        line += 1 + text.count(b"\n", len(head), sound)
        raise FileFormatError(f"line {line}: malformed row")
    entries = stated[0] if stated else height * (height + 1) // 2 if symmetric else height * width
    if entries > text.count(b"\n") or (dense and not entries):  # scipy makes room for them first
        raise FileFormatError(_WRONG_ENTRIES)
    pieces = _SCHEMA.findall(data, 0, start)
    return matrix_edges(
        _matrix(text, line - 2),
        load_schema(b"".join(pieces).decode("latin-1")) if pieces else Schema(),
        bipartite=bipartite,
        directed=directed,
        unweighted=pattern,
        triangle=None if not symmetric else "upper" if dense else "any",
        error=FileFormatError,
    )


def _end(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _matrix(text: bytes, left_out: int) -> Any:
    """What scipy reads in a sound text, which has so many lines less than the file."""
    from scipy.io import mmread  # here, since other formats do without

    try:
        return mmread(io.BytesIO(text), spmatrix=False)
    except (ValueError, OverflowError) as problem:
        place = re.match(r"Line ([0-9]+)", str(problem))
        where = "" if place is None else f"line {int(place[1]) + left_out}: "
        raise FileFormatError(where + _WRONG_ENTRIES) from None


def write_mtx(graph: AnyGraph, handle: BinaryIO) -> None:
    """Write a coordinate matrix: symmetric for a `Graph`, general for the other kinds."""
    symmetric, shape = isinstance(graph, Graph), graph.shape
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
