"""Queries as lines of JSON: cuts, rank-one queries, coefficients, statistics of the graph."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, QueryError
from graphcuts_dp.queries.graph_queries import (
    MOST_COEFFICIENTS,
    STATISTICS,
    GraphQuery,
    Question,
    pair_coefficients,
)
from graphcuts_dp.queries.linear import (
    MARK,
    CutQuery,
    LinearQuery,
    MatrixQuery,
    RankOneQuery,
    sides_of,
)
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.file_bytes import read_bytes
from graphcuts_dp.schema.vertices import ALL, Label, Space, VertexSet, one_set

_CUTS = '{"S": ["ann"], "T": ["kim"]}'
_KINDS = (
    f'{_CUTS}, {{"left": {{"ann": 0.5}}, "right": {{"kim": 1}}}}, '
    '{"entries": [["ann", "kim", 2.5]]}, {"matrix": "file.npz"} or {"statistic": "triangles"}'
)


def read_lines(path: str) -> list[tuple[int, str]]:
    """The lines of a text file that are not empty, with their numbers.

    Raises:
        FileFormatError: the file cannot be read, or is not text.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")  # some editors begin with a mark
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not text") from None
    return [(i, line) for i, line in enumerate(text.split("\n"), start=1) if line.strip()]


def read_query(line: str, number: int) -> CutQuery:
    """A cut query from a line of JSON: {"S": ["ann"], "T": ["kim"]}, or without T.

    A set may also be one text: {"S": "@Sales"} names a group, {"S": "*"} means all vertices.

    Raises:
        QueryError: anything else.
    """
    value = _object(line)
    if value is not None and (cut := _cut(value)) is not None:
        return cut
    raise QueryError(f"line {number} of the queries is not an object like {_CUTS}")


def read_asked(line: str, number: int | None, space: Space, *, folder: str = ".") -> Question:
    """Any query from a line of JSON.

    - {"S": ..., "T": ...}: a cut, as `read_query`.
    - {"left": {"ann": 0.5}, "right": {"kim": 1}}: a rank-one query; weights from 0 to 1 by label,
      0 where a label is left out, or a list with a number for each vertex. Without "right": 1 less
      the left weights, or of two sides 1 for all right vertices.
    - {"entries": [["ann", "kim", 2.5], ...]}: the coefficient of each pair that has one.
    - {"matrix": "file.npz"}: a matrix of coefficients as `MatrixQuery`, from .npy, .npz of numpy
      with one array, or .npz of a sparse matrix of scipy.
    - {"statistic": "triangles"}: a `GraphQuery`, which sessions answer, and releases do not.

    Args:
        line: the JSON.
        number: of the line, for messages; None for a query that was typed alone.
        space: the vertices that may be named.
        folder: that files of matrices are looked for in.

    Raises:
        QueryError: anything else.
        FileFormatError: a file of a matrix that cannot be read.
    """
    where, value, found = _place(number), _object(line), None
    try:
        if value is not None:
            found = query_of(value, space, folder=folder)
    except QueryError as problem:
        raise QueryError(f"{where}: {problem}") from None
    if found is None:
        raise QueryError(f"{where} is not an object like {_KINDS}")
    return found


def read_linear(line: str, number: int | None, space: Space, *, folder: str = ".") -> LinearQuery:
    """Any linear query from a line of JSON: as `read_asked`, but for statistics.

    Raises:
        QueryError: anything else.
        FileFormatError: a file of a matrix that cannot be read.
    """
    found = read_asked(line, number, space, folder=folder)
    try:
        return found.masks(space) if isinstance(found, GraphQuery) else found
    except QueryError as problem:
        raise QueryError(f"{_place(number)}: {problem}") from None


def _place(number: int | None) -> str:
    return "the query" if number is None else f"line {number} of the queries"


def query_of(value: dict[str, Any], space: Space, *, folder: str | None = None) -> Question | None:
    """Any query from plain values; see `read_asked`.

    Args:
        value: as JSON has it.
        space: the vertices that may be named.
        folder: that files of matrices are looked for in; None reads no file.

    Returns:
        None if it is none of the forms.

    Raises:
        QueryError: a number out of range, or an unknown vertex.
        FileFormatError: a file of a matrix that cannot be read.
    """
    cut = _cut(value)
    if cut is not None:
        return cut
    keys, (left, right) = set(value), sides_of(space)
    if keys in ({"left"}, {"left", "right"}):
        u = _weights(value["left"], left)
        if "right" in value:
            v = _weights(value["right"], right)
        else:
            v = 1 - u if one_set(space) else np.ones(len(right))
        return RankOneQuery(u, v)
    if keys == {"entries"}:
        return MatrixQuery(_entries(value["entries"], left, right))
    if keys == {"matrix"} and isinstance(value["matrix"], str) and folder is not None:
        return MatrixQuery(_matrix(os.path.join(folder, value["matrix"]), (left, right)))  # noqa: PTH118  # as typed
    if keys == {"statistic"}:
        if not isinstance(value["statistic"], str):
            raise QueryError(f"a statistic is one of {', '.join(STATISTICS)}")
        return GraphQuery(value["statistic"])
    return None


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line, object_pairs_hook=_each_key_once)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _cut(value: dict[str, Any]) -> CutQuery | None:
    if "S" not in value or not set(value) <= {"S", "T"}:
        return None
    S, T = (_listed(each) for each in (value["S"], value.get("T")))
    if not _is_set(S) or not (T is None or _is_set(T)):
        return None
    try:
        return CutQuery(S, T)
    except (TypeError, AttributeError):
        return None


def _is_set(given: Any) -> bool:
    return isinstance(given, list) or given == ALL


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) and given.startswith(MARK) else given


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _row(label: Any, side: VertexSet) -> int:
    row = side.find_text(label) if isinstance(label, str) else None
    if row is None and not isinstance(label, str):
        row = side.find(label) if isinstance(label, int) else None
    if row is None:
        raise QueryError(f"unknown vertex {label!r:.60}")
    return row


def _number(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) < 1e300:
        raise QueryError(f"{given!r:.60} is no number")
    return float(given)


def _weights(given: Any, side: VertexSet) -> FloatVector:
    """A weight for each vertex, from an object by label or a list."""
    weights = np.zeros(len(side))
    if isinstance(given, dict):
        for label, weight in given.items():
            weights[_row(label, side)] = _number(weight)
        return weights
    if isinstance(given, list) and len(given) == len(side):
        weights[:] = [_number(each) for each in given]
        return weights
    raise QueryError(
        f'weights are an object by label, like {{"ann": 0.5}}, or a list of {len(side):,} numbers'
    )


def _entries(given: Any, left: VertexSet, right: VertexSet) -> FloatMatrix:
    _check_size(left, right)
    matrix = np.zeros((len(left), len(right)))
    if not isinstance(given, list):
        given = [None]
    for entry in given:
        if not isinstance(entry, list | tuple) or len(entry) != 3:
            raise QueryError('entries are a list of lists like ["ann", "kim", 2.5]')
        matrix[_row(entry[0], left), _row(entry[1], right)] += _number(entry[2])
    return matrix


def _check_size(left: VertexSet, right: VertexSet) -> None:
    if len(left) * len(right) > MOST_COEFFICIENTS:
        raise QueryError(
            f"a query with a coefficient for each pair is for up to {MOST_COEFFICIENTS:,} of them"
        )


def _matrix(path: str, sides: tuple[VertexSet, VertexSet]) -> FloatMatrix:
    """A matrix of coefficients from a file of numpy or scipy."""
    _check_size(*sides)
    if not path.lower().endswith((".npy", ".npz")):
        raise FileFormatError(f"{path} must end in .npy or .npz: it is a matrix of coefficients")
    content = read_bytes(path)
    try:
        found = np.load(io.BytesIO(content), allow_pickle=False)
        if isinstance(found, np.ndarray):
            return _dense(found, sides)
        with found:
            if "format" in found.files:
                matrix = sp.load_npz(io.BytesIO(content))
                if matrix.shape != tuple(len(side) for side in sides):
                    return _dense(np.empty(matrix.shape[:0]), sides)
                return _dense(matrix.toarray(), sides)
            if len(found.files) == 1:
                return _dense(found[found.files[0]], sides)
    except QueryError:
        raise
    except Exception:  # many kinds of damage, one thing to tell
        raise FileFormatError(f"{path} is damaged, or no file of a matrix") from None
    raise FileFormatError(f"{path} holds several arrays: save one matrix of coefficients")


def _dense(found: Any, sides: tuple[VertexSet, VertexSet]) -> FloatMatrix:
    shape = tuple(len(side) for side in sides)
    if found.shape != shape or found.dtype.kind not in "fiub":
        raise QueryError(f"the matrix of coefficients has {shape[0]:,} x {shape[1]:,} numbers")
    return np.asarray(found, dtype=np.float64)


def query_to_dict(query: Question, universe: Universe) -> dict[str, Any]:
    """A query as plain values with labels, as `read_asked` reads them.

    T of a cut is left out when it is all the rest.
    """
    if isinstance(query, GraphQuery):
        return {"statistic": query.statistic}
    left, right = sides_of(universe.space)
    if isinstance(query, CutQuery):
        S, T = query.masks(universe.space)
        values: dict[str, Any] = {"S": _labels_in(left, S)}
        return values if query.T is None else values | {"T": _labels_in(right, T)}
    if isinstance(query, RankOneQuery):
        u, v = query.vectors(universe.shape)
        return {"left": _by_label(left, u), "right": _by_label(right, v)}
    found = pair_coefficients(query, universe.space)
    ends = np.argwhere(found).tolist()
    return {"entries": [[left.labels[i], right.labels[j], float(found[i, j])] for i, j in ends]}


def labels_of_cut(
    query: Question, universe: Universe
) -> tuple[tuple[Label, ...], tuple[Label, ...]] | tuple[None, None]:
    """The labels of both sets of a cut; None and None of another query."""
    if not isinstance(query, CutQuery):
        return None, None
    (left, right), (S, T) = sides_of(universe.space), query.masks(universe.space)
    return tuple(_labels_in(left, S)), tuple(_labels_in(right, T))


def query_title(query: Question, universe: Universe) -> str:
    """A query in few characters: sizes of its sets, or what it is."""
    if isinstance(query, CutQuery):
        S, T = query.masks(universe.space)
        return f"{S.sum():,} | {T.sum():,}"
    if isinstance(query, GraphQuery):
        return query.statistic
    return "rank one" if isinstance(query, RankOneQuery) else "coefficients"


def _by_label(side: VertexSet, weights: FloatVector) -> dict[str, float]:
    return {str(side.labels[int(i)]): float(weights[i]) for i in np.flatnonzero(weights)}


def _labels_in(vertices: VertexSet, mask: BoolVector) -> list[Label]:
    """The labels that a truth vector chooses."""
    return [label for label, chosen in zip(vertices.labels, mask, strict=True) if chosen]


def folder_of(path: str) -> str:
    """The folder of a file of queries: its matrices are looked for there."""
    return str(Path(path).parent)
