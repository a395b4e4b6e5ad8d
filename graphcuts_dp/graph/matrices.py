"""Adjacency and biadjacency matrices, and scipy's files of them, `.npz`.

A square matrix is an adjacency matrix. A pair of vertices has two entries there: of one edge that
the matrix holds twice, or of two arcs. No entry may decide that for another pair, so a matrix is
never searched for symmetry: the larger of both entries, or the smaller, is right either way, and
their sum is refused (`RawEdges.both_ways`) unless the head of the file declares how edges are held.
With `directed` every entry is an arc. With `bipartite` any shape is a biadjacency matrix.
"""

import io
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.file_bytes import check_archive
from graphcuts_dp.graph.raw_edges import RawEdges
from graphcuts_dp.graph.schema import Schema, dump_schema, load_schema
from graphcuts_dp.pairs.vertices import VertexSet

_LEVEL = 3  # of compression: a third of the time of the default, and hardly larger
_NPZ_PIECE = 1 << 20  # entries written at once
_NPZ_MEMBER = "graphcuts_dp"


def read_npz(data: bytes, *, bipartite: bool, directed: bool = False) -> RawEdges:
    """Edges of a matrix that `scipy.sparse.save_npz` wrote; pickled objects are refused.

    Raises:
        FileFormatError: not such a file, far too large unpacked, entries that are not real
            numbers, or not square.
    """
    schema = Schema()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_archive(data)
            matrix = sp.load_npz(io.BytesIO(data))
            with np.load(io.BytesIO(data), allow_pickle=False) as members:
                if _NPZ_MEMBER in members:
                    schema = load_schema(str(members[_NPZ_MEMBER]))
            matrix = sp.coo_array(matrix)
            matrix.sum_duplicates()  # touches every index, so that bad ones are found here
    except GraphCutsError:
        raise
    except Exception:  # noqa: BLE001, RUF100  # whatever a crafted archive provokes
        raise FileFormatError("not a sparse matrix made by scipy.sparse.save_npz") from None
    return matrix_edges(
        matrix,
        schema,
        bipartite=bipartite,
        directed=directed,
        unweighted=matrix.dtype == np.bool_ or schema.weighted is False,
        triangle="upper" if schema.directed is False else None,  # our own hold each edge twice
        error=FileFormatError,
    )


def matrix_edges(
    matrix: Any,
    schema: Schema,
    *,
    bipartite: bool,
    directed: bool = False,
    unweighted: bool,
    triangle: Literal["upper", "any"] | None = None,
    error: type[GraphCutsError],
) -> RawEdges:
    """Edges of the non-zero entries of a matrix, dense or scipy sparse.

    The head of a file may declare that a plain graph's edges all are in the `triangle` above the
    diagonal, what is below being the same once more, or that each is in "any" one of both.

    Raises:
        GraphCutsError: of class `error`: not two-dimensional, not real, empty, or not square.
    """
    if not sp.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or 0 in matrix.shape:
        raise error("a matrix of a graph has two dimensions, real entries, and at least one row")
    entries = sp.coo_array(matrix)
    height, width = entries.shape
    if height != width and not bipartite:
        raise error("the matrix is not square; pass bipartite=True to read a biadjacency matrix")
    if max(height, width) > 2**31:
        raise error("a graph has at most 2**31 vertices on a side")
    rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
    if len(rows) and (rows.min() < 0 or columns.min() < 0 or rows.max() >= height):
        raise error("the matrix has an entry outside its shape")
    if len(rows) and columns.max() >= width:
        raise error("the matrix has an entry outside its shape")
    weights = entries.data.astype(np.float64)
    keep = weights != 0
    plain = not (bipartite or directed)
    if plain and triangle == "upper":
        keep &= rows <= columns
    rows, columns, weights = rows[keep], columns[keep], weights[keep]
    anonymous = schema.vertices is None and schema.sides is None
    return RawEdges(
        sources=rows,
        targets=columns,
        weights=None if unweighted else weights,
        schema=_sized(schema, height, width, bipartite, error),
        as_rows=True,
        anonymous=anonymous,
        both_ways=plain and triangle is None,
        where=lambda _: "the matrix",
        error=error,
    )


def _sized(
    schema: Schema, height: int, width: int, bipartite: bool, error: type[GraphCutsError]
) -> Schema:
    """The schema with vertex sets, which must have the size of the matrix."""
    if bipartite:
        sides = schema.sides or (VertexSet(height), VertexSet(width))
        if schema.vertices is not None:
            raise error("the matrix is of an ordinary graph; leave out bipartite=True")
        fits = (len(sides[0]), len(sides[1])) == (height, width)
        full = replace(schema, vertices=None, sides=sides)
    else:
        if schema.sides is not None:
            raise error("the matrix is of a bipartite graph; pass bipartite=True")
        vertices = schema.vertices or VertexSet(height)
        fits = len(vertices) == height
        full = replace(schema, vertices=vertices, sides=None)
    if not fits:
        raise error("the declared labels do not fit the shape of the matrix")
    return full


def write_npz(graph: AnyGraph, handle: BinaryIO) -> None:
    """Write what `scipy.sparse.load_npz` reads, with one more member for the schema.

    In coordinate form, piece by piece: no second copy of a large graph is made.
    """
    rows, columns, weights = [graph.rows], [graph.columns], [graph.weights]
    shape: tuple[int, int]
    if isinstance(graph, Graph):
        shape = graph.n, graph.n
        rows, columns, weights = [*rows, *columns], [*columns, *rows], weights * 2
    else:
        shape = graph.shape
    packed = io.BytesIO()  # an archive is patched as it is written, which a .gz cannot be
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, pieces in (
            ("row", rows),
            ("col", columns),
            ("data", weights),
            ("shape", [np.array(shape)]),
            ("format", [np.array(b"coo")]),
            ("_is_array", [np.array(True)]),
            (_NPZ_MEMBER, [np.array(dump_schema(graph))]),
        ):
            _write_member(archive, name, pieces)
    handle.write(packed.getbuffer())


def _write_member(archive: zipfile.ZipFile, name: str, pieces: Sequence[npt.NDArray[Any]]) -> None:
    """One array, or several one after the other, as a member of an archive."""
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
