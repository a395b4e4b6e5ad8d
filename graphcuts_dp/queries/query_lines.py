"""Queries as JSON: read from lines of files and from fields over HTTP, and written back.

A query is a JSON object in one of five forms: a cut, a rank-one query, a list of coefficients, a
file of coefficients, or a statistic of the graph. `read_question` describes the forms. The readers
differ in what they accept:

- `read_cut`: a cut, from a line;
- `read_linear_query`: all forms but a statistic, from a line;
- `read_question`: all forms, from a line;
- `query_from_dict`: all forms, from an object that is parsed already.

`query_to_dict` writes a query in the same forms. `labels_of_cut` and `query_title` are for people.
Names of groups ("@Sales") are not resolved here: `group_names` does that, before a cut is answered.

Terms used here:

- A *space* says which pairs of vertices a query is about, and has their labels: a `VertexSet`, or a
  pair of them for a bipartite or a directed graph. `sides_of(space)` returns the vertices of rows
  and of columns, here called `left` and `right`; they are the same ones if `one_set(space)`.
- A `Universe` is a space with its list of pairs; `Universe.space` and `Universe.shape` (number of
  rows, number of columns) are used here.
- `side.find(label)` is the row number of a vertex. `side.find_text(text)` also takes the label of
  an integer as a text: keys of JSON objects are texts. Both return None for an unknown vertex.
"""

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.array_archive import opened_arrays, parsed_form
from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, QueryError
from graphcuts_dp.queries.coefficients import MOST_COEFFICIENTS, pair_coefficients
from graphcuts_dp.queries.graph_queries import STATISTICS, GraphQuery, Question, require_linear
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
from graphcuts_dp.schema.unpacking import most_unpacked
from graphcuts_dp.schema.vertices import ALL, Label, Space, VertexSet, one_set

_NUMBER_LIMIT = 1e300  # numbers in queries are below it, so that 2^24 of them do not overflow
_CUT_FORM = '{"S": ["ann"], "T": ["kim"]}'
_ALL_FORMS = (
    f'{_CUT_FORM}, {{"left": {{"ann": 0.5}}, "right": {{"kim": 1}}}}, '
    '{"entries": [["ann", "kim", 2.5]]}, {"matrix": "file.npz"} or {"statistic": "triangles"}'
)


def read_lines(path: str) -> list[tuple[int, str]]:
    """Return the lines of a text file that are not empty, with their numbers from 1.

    Raises:
        FileFormatError: the file cannot be read, or is not text.
    """
    try:
        # `read_bytes` raises the `FileFormatError`. "utf-8-sig": some editors begin with a mark.
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not text") from None
    lines = enumerate(text.split("\n"), start=1)
    return [(number, line) for number, line in lines if line.strip()]


def read_cut(line: str, number: int) -> CutQuery:
    """Read a cut query from a line of JSON: {"S": ["ann"], "T": ["kim"]}.

    Without "T", or with null, T means all vertices outside S (all right ones between two sides). A
    set may also be one text: {"S": "@Sales"} names a group, {"S": "*"} means all vertices.

    Args:
        line: the JSON.
        number: number of the line, for messages.

    Raises:
        QueryError: anything else.
    """
    fields = _json_object(line)
    cut = None if fields is None else _cut_from_dict(fields)
    if cut is None:
        raise QueryError(f"{_origin(number)} is not an object like {_CUT_FORM}")
    return cut


def read_question(line: str, number: int | None, space: Space, *, folder: str = ".") -> Question:
    """Read any query from a line of JSON.

    - {"S": ..., "T": ...}: a cut, see `read_cut`.
    - {"left": {"ann": 0.5}, "right": {"kim": 1}}: a rank-one query; weights from 0 to 1 by label,
      0 where a label is left out, or a list with a number for each vertex. Without "right" its
      weights are 1 - left; between two sides they are 1 for all right vertices.
    - {"entries": [["ann", "kim", 2.5], ...]}: the coefficient of each pair that has one.
    - {"matrix": "file.npz"}: a matrix of coefficients as `MatrixQuery`, from .npy, .npz of numpy
      with one array, or .npz of a sparse matrix of scipy.
    - {"statistic": "triangles"}: a `GraphQuery`, which sessions answer, and releases do not.

    Args:
        line: the JSON.
        number: number of the line, for messages; None for a query that was typed alone.
        space: the vertices that may be named.
        folder: the folder from which paths of files of matrices start. Absolute paths and ".." are
            allowed, so lines should come from somebody who may read these files.

    Raises:
        QueryError: anything else.
        FileFormatError: a file of a matrix that cannot be read.
    """
    fields = _json_object(line)
    query = None
    try:
        if fields is not None:
            query = query_from_dict(fields, space, folder=folder)
    except QueryError as error:
        raise QueryError(f"{_origin(number)}: {error}") from None
    if query is None:
        raise QueryError(f"{_origin(number)} is not an object like {_ALL_FORMS}")
    return query


def read_linear_query(
    line: str, number: int | None, space: Space, *, folder: str = "."
) -> LinearQuery:
    """Read any query but a statistic from a line of JSON; see `read_question`.

    Raises:
        QueryError: a statistic, or no query.
        FileFormatError: a file of a matrix that cannot be read.
    """
    query = read_question(line, number, space, folder=folder)
    try:
        return require_linear(query)
    except QueryError as error:
        raise QueryError(f"{_origin(number)}: {error}") from None


def query_from_dict(
    fields: dict[str, Any], space: Space, *, folder: str | None = None
) -> Question | None:
    """Return a query from an object of JSON in one of the forms of `read_question`.

    Args:
        fields: the object.
        space: the vertices that may be named.
        folder: the folder from which paths of files of matrices start; None if no file may be
            read, as over HTTP.

    Returns:
        The query; None if the object has none of the forms.

    Raises:
        QueryError: a number out of range, an unknown statistic, or an unknown vertex. Vertices of
            cuts are not looked up here, since groups may be among them.
        FileFormatError: a file of a matrix that cannot be read.
    """
    cut = _cut_from_dict(fields)
    if cut is not None:
        return cut
    keys = set(fields)
    left, right = sides_of(space)
    if keys in ({"left"}, {"left", "right"}):
        u = _vertex_weights(fields["left"], left)
        if "right" in fields:
            v = _vertex_weights(fields["right"], right)
        else:
            v = 1 - u if one_set(space) else np.ones(len(right))  # as S and its complement
        return RankOneQuery(u, v)
    if keys == {"entries"}:
        return MatrixQuery(_matrix_of_entries(fields["entries"], left, right))
    if keys == {"matrix"} and isinstance(fields["matrix"], str) and folder is not None:
        # `Path` would change the text of the path, which messages show.
        path = os.path.join(folder, fields["matrix"])  # noqa: PTH118
        return MatrixQuery(_matrix_of_file(path, left, right))
    if keys == {"statistic"}:
        if not isinstance(fields["statistic"], str):
            raise QueryError(f"a statistic is one of {', '.join(STATISTICS)}")
        return GraphQuery(fields["statistic"])
    return None


def query_to_dict(query: Question, universe: Universe) -> dict[str, Any]:
    """Return a query as an object for JSON, which `query_from_dict` reads.

    Sets are written as lists of vertex labels, also those that were made from names of groups. A
    cut has no key "T" if its T is None. A query of any other class than a cut, a rank-one query or
    a statistic is written as the coefficients of its pairs.
    """
    if isinstance(query, GraphQuery):
        return {"statistic": query.statistic}
    left, right = sides_of(universe.space)
    if isinstance(query, CutQuery):
        S, T = query.masks(universe.space)
        fields: dict[str, Any] = {"S": _labels_in(left, S)}
        return fields if query.T is None else fields | {"T": _labels_in(right, T)}
    if isinstance(query, RankOneQuery):
        u, v = query.vectors(universe.shape)
        return {"left": _weights_by_label(left, u), "right": _weights_by_label(right, v)}
    coefficients = pair_coefficients(query, universe.space)
    pairs = np.argwhere(coefficients).tolist()  # [row, column] of those that are not zero
    return {
        "entries": [
            [left.labels[row], right.labels[column], float(coefficients[row, column])]
            for row, column in pairs
        ]
    }


def labels_of_cut(
    query: Question, universe: Universe
) -> tuple[tuple[Label, ...], tuple[Label, ...]] | tuple[None, None]:
    """Return the labels of S and of T of a cut; (None, None) for another query."""
    if not isinstance(query, CutQuery):
        return None, None
    left, right = sides_of(universe.space)
    S, T = query.masks(universe.space)
    return tuple(_labels_in(left, S)), tuple(_labels_in(right, T))


def query_title(query: Question, universe: Universe) -> str:
    """Return a query in few characters.

    That is "3 | 12" for a cut with |S| = 3 and |T| = 12, the name of a statistic, or "rank one", or
    "coefficients" for every other query.
    """
    if isinstance(query, CutQuery):
        S, T = query.masks(universe.space)
        return f"{S.sum():,} | {T.sum():,}"
    if isinstance(query, GraphQuery):
        return query.statistic
    return "rank one" if isinstance(query, RankOneQuery) else "coefficients"


def folder_of(path: str) -> str:
    """Return the folder of a file of queries, for the argument `folder` of the readers."""
    return str(Path(path).parent)


def _origin(number: int | None) -> str:
    """Return the subject of a message: a line of a file, or the only query if it is None."""
    return "the query" if number is None else f"line {number} of the queries"


def _json_object(line: str) -> dict[str, Any] | None:
    """Return the object that a line of JSON is; None if it is no object, or has a key twice."""
    try:
        value = json.loads(line, object_pairs_hook=_dict_of_distinct_keys)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _dict_of_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the dictionary of an object of JSON; `json` would keep the last of equal keys."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key occurs twice")
    return fields


def _cut_from_dict(fields: dict[str, Any]) -> CutQuery | None:
    """Return the cut that an object describes; None if it has another form."""
    if "S" not in fields or not set(fields) <= {"S", "T"}:
        return None
    S, T = _set_from_json(fields["S"]), _set_from_json(fields.get("T"))  # T may be None
    if not _is_set(S) or not (T is None or _is_set(T)):
        return None
    return CutQuery(S, T)


def _set_from_json(value: Any) -> Any:
    """Return a text "@Sales" as the list of this one name, and everything else unchanged."""
    return [value] if isinstance(value, str) and value.startswith(MARK) else value


def _is_set(value: Any) -> bool:
    """Return whether a value is a list or "*". Items of lists are checked when it is answered."""
    return isinstance(value, list) or value == ALL


def _vertex_weights(value: Any, side: VertexSet) -> FloatVector:
    """Return a weight for each vertex, shape (n,), from an object by label or a list.

    Raises:
        QueryError: another form, an unknown vertex, or something that is no number.
    """
    weights = np.zeros(len(side))
    if isinstance(value, dict):
        for label, weight in value.items():
            weights[_row_of(label, side)] = _number(weight)
        return weights
    if isinstance(value, list) and len(value) == len(side):
        weights[:] = [_number(weight) for weight in value]
        return weights
    raise QueryError(
        f'weights are an object by label, like {{"ann": 0.5}}, or a list of {len(side):,} numbers'
    )


def _matrix_of_entries(value: Any, left: VertexSet, right: VertexSet) -> FloatMatrix:
    """Return the matrix of coefficients from a list of [label, label, number].

    If two entries have the same labels in the same order, their numbers add up.

    Raises:
        QueryError: another form, an unknown vertex, something that is no number, or too large a
            matrix.
    """
    _require_few_coefficients(left, right)
    form = 'entries are a list of lists like ["ann", "kim", 2.5]'
    if not isinstance(value, list):
        raise QueryError(form)
    matrix = np.zeros((len(left), len(right)))
    for entry in value:
        if not isinstance(entry, list | tuple) or len(entry) != 3:
            raise QueryError(form)
        row_label, column_label, coefficient = entry
        matrix[_row_of(row_label, left), _row_of(column_label, right)] += _number(coefficient)
    return matrix


def _matrix_of_file(path: str, left: VertexSet, right: VertexSet) -> FloatMatrix:
    """Read a matrix of coefficients from a file of numpy or scipy.

    Raises:
        QueryError: a matrix of the wrong shape, or of something else than numbers.
        FileFormatError: the file cannot be read, or does not hold one matrix.
    """
    _require_few_coefficients(left, right)
    if not path.lower().endswith((".npy", ".npz")):
        raise FileFormatError(f"{path} must end in .npy or .npz: it is a matrix of coefficients")
    content = read_bytes(path)
    shape = len(left), len(right)
    try:
        if not zipfile.is_zipfile(io.BytesIO(content)):
            # Look at the header first: a small file can claim a shape that takes all memory.
            if parsed_form(content).shape != shape:
                raise _wrong_matrix(shape)
            return _checked_matrix(np.load(io.BytesIO(content), allow_pickle=False), shape)
        # `archive.forms` has the shape of each array by name, from the headers.
        with opened_arrays(io.BytesIO(content), limit=most_unpacked(len(content))) as archive:
            names = list(archive.forms)
            if "format" in names:  # a sparse matrix of scipy
                sparse = sp.load_npz(io.BytesIO(content))
                if sparse.shape != shape:  # before the dense matrix is allocated
                    raise _wrong_matrix(shape)
                return _checked_matrix(sparse.toarray(), shape)
            if len(names) == 1:
                if archive.forms[names[0]].shape != shape:
                    raise _wrong_matrix(shape)
                return _checked_matrix(archive.read(names[0]), shape)
    except QueryError:
        raise
    except Exception:  # there are many kinds of damage, and one message
        raise FileFormatError(f"{path} is damaged, or no file of a matrix") from None
    raise FileFormatError(f"{path} holds several arrays: save one matrix of coefficients")


def _checked_matrix(matrix: Any, shape: tuple[int, int]) -> FloatMatrix:
    """Return a matrix of real numbers (kinds of dtype: float, integers, truth values) as floats.

    Raises:
        QueryError: another shape or kind.
    """
    if matrix.shape != shape or matrix.dtype.kind not in "fiub":
        raise _wrong_matrix(shape)
    return np.asarray(matrix, dtype=np.float64)


def _wrong_matrix(shape: tuple[int, int]) -> QueryError:
    """Return the error for a matrix of another shape than this, or of no real numbers."""
    return QueryError(f"the matrix of coefficients must have {shape[0]:,} x {shape[1]:,} numbers")


def _require_few_coefficients(left: VertexSet, right: VertexSet) -> None:
    """Refuse a matrix that is too large, before it is allocated."""
    if len(left) * len(right) > MOST_COEFFICIENTS:
        raise QueryError(
            f"a query with a coefficient for each pair is for up to {MOST_COEFFICIENTS:,} of them"
        )


def _row_of(label: Any, side: VertexSet) -> int:
    """Return the row number of a label, which is an integer or a text, "7" also for 7.

    Raises:
        QueryError: an unknown vertex, or another type (`side.find` refuses True and False).
    """
    if isinstance(label, str):
        row = side.find_text(label)
    else:
        row = side.find(label) if isinstance(label, int) else None
    if row is None:
        raise QueryError(f"unknown vertex {label!r:.60}")
    return row


def _number(value: Any) -> float:
    """Return a number of JSON as a float.

    Raises:
        QueryError: no number, not finite, or too large.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) < _NUMBER_LIMIT:  # true for NaN as well
        raise QueryError(f"{value!r:.60} is no number")
    return float(value)


def _weights_by_label(side: VertexSet, weights: FloatVector) -> dict[str, float]:
    """Return the weights that are not zero, by label as text, as keys of JSON are."""
    return {str(side.labels[int(row)]): float(weights[row]) for row in np.flatnonzero(weights)}


def _labels_in(vertices: VertexSet, mask: BoolVector) -> list[Label]:
    """Return the labels of the vertices for which a truth vector is true."""
    return [label for label, chosen in zip(vertices.labels, mask, strict=True) if chosen]
