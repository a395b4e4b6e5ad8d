"""MatrixMarket `.mtx`: our own reader and writer, checked against those of scipy.

scipy's reader (1.12 to 1.16 at least) runs past the end of its buffer, and crashes, on a body whose
last line is damaged, and on long decimal numbers.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.assemble import UNDIRECTED
from graphcuts_dp.graph.edge_list_writer import edge_chunks
from graphcuts_dp.graph.matrices import matrix_edges
from graphcuts_dp.graph.raw_edges import RawEdges
from graphcuts_dp.graph.schema import MARK, Schema, dump_schema, load_schema, parse_number
from graphcuts_dp.graph.text_scan import scan

_COMMENT_WIDTH = 900  # a line has at most 1024 bytes
_MOST_DIGITS = 18  # of a size or an index: fits in 64 bits
_NOT_SQUARE = "malformed MatrixMarket file: a symmetric matrix is square"
_WRONG_COUNT = "malformed MatrixMarket file: not as many entries as its size line tells"
_Triplets = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], FloatArray]


def read_mtx(data: bytes, *, bipartite: bool, directed: bool = False) -> RawEdges:
    """Edges of a MatrixMarket file, coordinate or array, real, integer or pattern.

    Raises:
        FileFormatError: malformed (told by line number where known), complex, not square, or a
            symmetric matrix for a directed graph.
    """
    banner = data[: data.find(b"\n") + 1].lower().split()
    if len(banner) != 5 or banner[:2] != [b"%%matrixmarket", b"matrix"]:
        raise FileFormatError("line 1: not a MatrixMarket banner '%%MatrixMarket matrix ...'")
    form, field, symmetry = banner[2:]
    known = form in (b"coordinate", b"array") and field in (b"real", b"double", b"integer")
    pattern = form == b"coordinate" and field == b"pattern"
    if not (known or pattern) or symmetry not in (b"general", b"symmetric"):
        raise FileFormatError(
            "a graph needs a real, integer or pattern matrix that is general or symmetric"
        )
    size, body, line = _split_size(data, 2 if form == b"array" else 3)
    symmetric = symmetry == b"symmetric"
    if symmetric and directed:
        raise FileFormatError(UNDIRECTED)
    if form == b"array":
        matrix = _read_array(body, line, size, symmetric)
    else:
        matrix = _read_coordinates(body, line, size, symmetric, columns=2 if pattern else 3)
    return matrix_edges(
        matrix,
        _mtx_schema(data),
        bipartite=bipartite,
        directed=directed,
        unweighted=pattern,
        error=FileFormatError,
    )


def _split_size(data: bytes, count: int) -> tuple[list[int], bytes, int]:
    """The numbers of the size line, what follows it, and the number of the next line."""
    start, line = 0, 1
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        words = data[start:end].split()
        if words and words[0][:1] != b"%":
            if len(words) != count or not all(map(_is_index, words)):
                raise FileFormatError(f"line {line}: expected {count} whole numbers, the size")
            return [int(word) for word in words], data[end:], line + 1
        start, line = end, line + 1
    raise FileFormatError("the file ends before the size of the matrix")


def _is_index(word: bytes) -> bool:
    return word.isdigit() and len(word) <= _MOST_DIGITS


def _read_coordinates(
    body: bytes, line: int, size: list[int], symmetric: bool, columns: int
) -> Any:
    """A sparse matrix; of a symmetric one each entry off the diagonal stands for two."""
    height, width, count = size
    if symmetric and height != width:
        raise FileFormatError(_NOT_SQUARE)
    found = scan(body, b" \t")
    if found is not None and (found.weights is None) == (columns == 2):
        rows, places = found.sources, found.targets
        weights = np.ones(len(rows)) if found.weights is None else found.weights
    else:
        rows, places, weights = _careful(body, line, columns)
    if len(rows) != count:
        raise FileFormatError(_WRONG_COUNT)
    inside = (rows >= 1) & (rows <= height) & (places >= 1) & (places <= width)
    if not inside.all():
        raise FileFormatError("malformed MatrixMarket file: an entry outside the matrix")
    rows, places = rows - 1, places - 1
    if symmetric:
        off = rows != places
        rows, places = np.append(rows, places[off]), np.append(places, rows[off])
        weights = np.append(weights, weights[off])
    if max(height, width) > 2**31:
        raise FileFormatError("a graph has at most 2**31 vertices on a side")
    return sp.coo_array((weights, (rows, places)), shape=(height, width))


def _careful(body: bytes, line: int, columns: int) -> _Triplets:
    """Row by row; an error names the line."""
    rows: list[int] = []
    places: list[int] = []
    weights: list[float] = []
    for number, words in _lines(body, line):
        weight = _number(words[2]) if columns == 3 and len(words) == 3 else 1.0
        if len(words) != columns or weight is None or not all(map(_is_index, words[:2])):
            raise FileFormatError(f"line {number}: malformed row")
        rows.append(int(words[0]))
        places.append(int(words[1]))
        weights.append(weight)
    return np.array(rows, np.int64), np.array(places, np.int64), np.array(weights, np.float64)


def _read_array(body: bytes, line: int, size: list[int], symmetric: bool) -> Any:
    """A dense matrix, stored column by column; of a symmetric one the lower triangle."""
    height, width = size
    if symmetric and height != width:
        raise FileFormatError(_NOT_SQUARE)
    values: list[float] = []
    for number, words in _lines(body, line):
        for value in map(_number, words):
            if value is None:
                raise FileFormatError(f"line {number}: malformed row")
            values.append(value)
    count = height * (height + 1) // 2 if symmetric else height * width
    if len(values) != count:
        raise FileFormatError(_WRONG_COUNT)
    if not symmetric:
        return np.array(values).reshape(width, height).T
    matrix = np.zeros((height, height))
    upper = np.triu_indices(height)
    matrix[upper] = values  # rows of the upper triangle are columns of the lower one
    matrix.T[upper] = values
    return matrix


def _lines(body: bytes, line: int) -> Iterator[tuple[int, list[bytes]]]:
    for number, content in enumerate(body.split(b"\n"), line):
        words = content.split()
        if words and words[0][:1] != b"%":
            yield number, words


def _number(word: bytes) -> float | None:
    return parse_number(word.decode("latin-1"))


def _mtx_schema(data: bytes) -> Schema:
    """The JSON that our comments hold, in pieces."""
    pieces, start = [], 0
    while data[start : start + 1] == b"%":
        end = data.find(b"\n", start) + 1 or len(data)
        words = data[start:end].lstrip(b"% ")
        if words.startswith(MARK.encode()):
            pieces.append(words[len(MARK) + 1 :].rstrip(b"\r\n"))
        start = end
    return load_schema(b"".join(pieces).decode("latin-1")) if pieces else Schema()


def write_mtx(graph: AnyGraph, handle: BinaryIO) -> None:
    """Write a coordinate matrix: symmetric for a `Graph`, general for the other kinds."""
    symmetric, shape = isinstance(graph, Graph), graph.shape
    field = "real" if graph.weighted else "pattern"
    kind = "symmetric" if symmetric else "general"
    head = [f"%%MatrixMarket matrix coordinate {field} {kind}"]
    facts = dump_schema(graph)
    head += [
        f"%{MARK} {facts[i : i + _COMMENT_WIDTH]}" for i in range(0, len(facts), _COMMENT_WIDTH)
    ]
    head.append(f"{shape[0]} {shape[1]} {len(graph.rows)}")
    handle.write(("\n".join(head) + "\n").encode("ascii"))
    names = [[str(i + 1) for i in range(size)] for size in shape]
    for first, second, weights in edge_chunks(graph, names[0], names[1]):
        if symmetric:  # the format stores the lower triangle
            first, second = second, first
        if weights is None:
            lines = [f"{a} {b}\n" for a, b in zip(first, second, strict=True)]
        else:
            lines = [f"{a} {b} {w}\n" for a, b, w in zip(first, second, weights, strict=True)]
        handle.write("".join(lines).encode("ascii"))
