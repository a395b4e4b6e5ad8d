"""Number the endpoints of edges: from identifiers to row numbers in public vertex sets.

Read `row_numbers` first. Arrays of 10^8 entries are converted a piece at a time, and in place where
nobody else has them.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count, repeat
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntegerVector, IntVector
from graphcuts_dp.io.codes import CodedText, Identifiers
from graphcuts_dp.io.edge_store import pieces
from graphcuts_dp.io.raw_edges import Options, PublicVertices, RawEdges
from graphcuts_dp.schema.columns import is_integer_literal
from graphcuts_dp.schema.text_rows import labels_of
from graphcuts_dp.schema.vertices import Label, VertexSet, label_order

_MOST_DIGITS = 4000  # of an integer identifier: Python converts longer texts slowly, or refuses
# Integers get their index from a table over their range, if it has at most this many entries: some
# for each integer, and a constant number.
_ENTRIES_PER_INTEGER = 4
_CONSTANT_ENTRIES = 1024
_Conversion = Callable[[IntegerVector], IntegerVector]


def row_numbers(
    raw: RawEdges, options: Options
) -> tuple[IntegerVector, IntegerVector, tuple[VertexSet, ...]]:
    """Return the row numbers of both endpoints of each edge, and the vertex set, or both sets.

    The sets are those of the caller, else those that the source declares, else the vertices that
    occur, sorted. An endpoint outside them has row number -1, and `raw.bad` notes it.

    Raises:
        GraphCutsError: of the class `raw.error`: no vertices, sets that do not fit the source, or
            endpoints that are no identifiers.
    """
    declared = raw.schema.sides if options.bipartite else raw.schema.vertices
    _check_types(raw)
    if raw.as_rows:
        return _renumbered_rows(raw, options.vertices, declared)
    if any(_is_unsigned_64(identifiers) for identifiers in (raw.sources, raw.targets)):
        # They may not fit into int64. The type decides, since no row may.
        raw.sources, raw.targets = _in_decimal(raw.sources, raw.targets)
        raw.literal_integers = True
    endpoints = _zero_based(raw) if options.columns.one_based else [raw.sources, raw.targets]
    listed = declared if options.vertices is None else options.vertices
    if listed is None:
        rows, columns, sets = _rank_occurring(endpoints, raw, options.bipartite)
        if not options.public_vertices:
            sets = tuple(VertexSet(vertices, inferred=True) for vertices in sets)
        return rows, columns, sets
    sets = listed if isinstance(listed, tuple) else (listed,)
    rows, columns = (
        _rows_of_identifiers(identifiers, vertices, raw)
        for identifiers, vertices in zip(endpoints, (sets[0], sets[-1]), strict=True)
    )
    return rows, columns, sets


def numbered_labels(*lists: Sequence[Label]) -> list[CodedText]:
    """Return lists of labels as coded texts, numbered by first occurrence in all lists together."""
    numbers: defaultdict[Label, int] = defaultdict(count().__next__)
    codes = [
        np.fromiter(map(numbers.__getitem__, labels), dtype=np.int64, count=len(labels))
        for labels in lists
    ]
    names = cast(list[str], list(numbers))
    return [CodedText(list_codes, names) for list_codes in codes]


def codes_and_names(identifiers: Identifiers) -> tuple[IntegerVector, Sequence[Any]]:
    """Return the code of each identifier, and the identifiers by code."""
    if isinstance(identifiers, CodedText):
        return identifiers.codes, identifiers.names
    distinct, codes = np.unique(identifiers, return_inverse=True)
    return codes, distinct.tolist()


def _renumbered_rows(
    raw: RawEdges, public: PublicVertices, declared: PublicVertices
) -> tuple[IntegerVector, IntegerVector, tuple[VertexSet, ...]]:
    """Return the result of `row_numbers` for endpoints that are row numbers in declared sets.

    Args:
        raw: the edges, `as_rows`.
        public: the sets of the caller; None if the caller passes none.
        declared: the sets of the source, whose row numbers the endpoints are.
    """
    assert declared is not None  # noqa: S101  # a source whose edges are row numbers lists vertices
    declared_sets = declared if isinstance(declared, tuple) else (declared,)
    rows, columns = (
        _row_numbers_within(endpoints, len(vertices), raw)
        for endpoints, vertices in zip(
            (raw.sources, raw.targets), (declared_sets[0], declared_sets[-1]), strict=True
        )
    )
    if public is None and not raw.arbitrary_order:
        return rows, columns, declared_sets
    if public is None:
        public_sets = tuple(
            VertexSet(sorted(vertices.labels, key=label_order)) for vertices in declared_sets
        )
    else:
        public_sets = public if isinstance(public, tuple) else (public,)
    if raw.anonymous:
        if [*map(len, declared_sets)] != [*map(len, public_sets)]:
            raise raw.error("the number of given vertices differs from that of the matrix")
        return rows, columns, public_sets
    # For each declared set: row number in the public set, by row number in the declared one.
    public_rows = []
    for declared_set, public_set in zip(declared_sets, public_sets, strict=True):
        names = list(map(str, declared_set.labels))
        set_rows = _rows_of_identifiers(numbered_labels(names)[0], public_set, raw, of_edges=False)
        # An endpoint outside the declared set has row -1, which indexes the last entry: -1 again.
        public_rows.append(np.append(set_rows, -1))
    return public_rows[0][rows], public_rows[-1][columns], public_sets


def _row_numbers_within(numbers: Identifiers, size: int, raw: RawEdges) -> IntegerVector:
    """Return row numbers of a source as int64, -1 for those outside 0..size-1."""
    rows = np.asarray(numbers)
    if not len(rows) or (rows.min() >= 0 and rows.max() < size):
        return rows.astype(np.int64, copy=False)
    outside = (rows < 0) | (rows >= size)
    position, bad_count = raw.where(int(np.argmax(outside))), int(np.count_nonzero(outside))
    raw.bad.add("a row number is outside the declared vertices", position, bad_count)
    return np.where(outside, -1, rows.astype(np.int64))


def _check_types(raw: RawEdges) -> None:
    """Refuse endpoints of a plug-in that are no identifiers."""
    for identifiers in (raw.sources, raw.targets):
        if isinstance(identifiers, CodedText):
            fits = not raw.as_rows and type(raw.sources) is type(raw.targets)
        else:
            array = np.asarray(identifiers)
            is_array = raw.as_rows or isinstance(identifiers, np.ndarray)
            fits = is_array and array.ndim == 1 and (array.dtype.kind in "iu" or not len(array))
        if not fits:
            raise raw.error(
                "the reader of this format hands over endpoints that are neither integers in an "
                "array of one dimension, nor both CodedText"
            )


def _is_unsigned_64(identifiers: Identifiers) -> bool:
    """Return whether identifiers are of type uint64, whose integers may not fit into int64."""
    return isinstance(identifiers, np.ndarray) and identifiers.dtype == np.uint64


def _in_decimal(*arrays: Any) -> list[CodedText]:
    """Return the decimal texts of integers of any type, coded with one list of names."""
    distinct = [np.unique(array, return_inverse=True) for array in arrays]
    numbered = numbered_labels(*(list(map(str, integers.tolist())) for integers, _ in distinct))
    return [
        CodedText(text.codes[indices], text.names)
        for text, (_, indices) in zip(numbered, distinct, strict=True)
    ]


def _zero_based(raw: RawEdges) -> list[Identifiers]:
    """Return identifiers 1, 2, ... of both endpoints as 0, 1, ....

    Raises:
        GraphCutsError: another identifier, unless bad rows are skipped.
    """
    # Each name of coded text less by one; "" for a name that is no integer of 1 or more.
    names: list[str] = []
    if isinstance(raw.sources, CodedText):
        names = [_less_by_one(str(name)) for name in raw.sources.names]
    is_integer = np.array([*map(bool, names)], dtype=np.bool_)
    good = np.ones(len(raw.sources), dtype=np.bool_)
    for identifiers in (raw.sources, raw.targets):
        if isinstance(identifiers, CodedText):
            good &= is_integer[identifiers.codes]
        else:
            good &= identifiers >= 1
    if not good.all():
        position, bad_count = raw.where(int(np.argmin(good))), int(np.count_nonzero(~good))
        raw.bad.add("one_based needs integer ids of 1 or more", position, bad_count)
        raw.keep(good)
        raw.bad.check(raw.error)  # raises unless such rows are skipped: they have no number below
    return [
        CodedText(identifiers.codes, names)
        if isinstance(identifiers, CodedText)
        else _convert(identifiers, lambda piece: piece - 1, raw.owned)
        for identifiers in (raw.sources, raw.targets)
    ]


def _less_by_one(name: str) -> str:
    """Return the text of an integer of 1 or more, less by one; "" of any other text."""
    is_positive = is_integer_literal(name) and name[0] not in "-0" and len(name) < _MOST_DIGITS
    return str(int(name) - 1) if is_positive else ""


def _rows_of_identifiers(
    identifiers: Identifiers, vertices: VertexSet, raw: RawEdges, *, of_edges: bool = True
) -> IntegerVector:
    """Return row numbers in a public vertex set, -1 for identifiers that are not in it.

    Args:
        identifiers: to look up in the set.
        vertices: the public vertex set.
        raw: the edges, whose `bad` notes endpoints that are not in the set.
        of_edges: whether these are endpoints of edges; False for the labels of all vertices that a
            source lists, each of which must be in the set.

    Raises:
        GraphCutsError: a label of the source, not `of_edges`, is not in the set.
    """
    rows: IntegerVector
    if isinstance(identifiers, np.ndarray) and vertices.is_default:
        rows = _convert(identifiers, lambda piece: _row_of_range(piece, len(vertices)), raw.owned)
    elif isinstance(identifiers, np.ndarray):
        distinct, (codes,) = _distinct_and_indices([identifiers], raw.owned)
        rows = _rows_of_names(codes, list(map(str, distinct.tolist())), vertices, raw)
    else:
        rows = _rows_of_names(identifiers.codes, [*map(str, identifiers.names)], vertices, raw)
    if len(rows) and rows.min() < 0:
        hint = "" if not vertices.is_default else f" 0..{len(vertices) - 1}"
        fault = f"a vertex is not in the public vertex set{hint}"
        if not of_edges:
            raise raw.error(fault)
        position, bad_count = raw.where(int(np.argmax(rows < 0))), int(np.count_nonzero(rows < 0))
        raw.bad.add(f"{fault}, which vertices= or the groups name", position, bad_count)
    return rows


def _row_of_range(identifiers: IntegerVector, n: int) -> IntVector:
    """Return identifiers in 0..n-1 as they are, and -1 for others, which unsigned types lack."""
    is_vertex = (identifiers >= 0) & (identifiers < n)
    return np.where(is_vertex, identifiers, np.int64(-1))


def _rows_of_names(
    codes: IntegerVector, names: Sequence[Any], vertices: VertexSet, raw: RawEdges
) -> IntegerVector:
    """Return for each code the row number of its name; -1 if the vertex set has no such name."""
    row_of = vertices.text_index.get
    rows_of_names = np.fromiter(map(row_of, names, repeat(-1)), dtype=np.int32, count=len(names))
    return _convert(codes, rows_of_names.__getitem__, raw.owned)


def _rank_occurring(
    endpoints: list[Identifiers], raw: RawEdges, bipartite: bool
) -> tuple[IntegerVector, IntegerVector, tuple[VertexSet, ...]]:
    """Return row numbers among the vertices that occur, and these vertices, sorted."""
    if not len(endpoints[0]):
        raw.bad.check(raw.error)
        raise raw.error("no edges and no vertices; give the public vertex set with vertices=")
    if bipartite:
        left, (rows,) = _sorted_set_and_rows(endpoints[:1], raw)
        right, (columns,) = _sorted_set_and_rows(endpoints[1:], raw)
        return rows, columns, (left, right)
    vertices, (rows, columns) = _sorted_set_and_rows(endpoints, raw)
    return rows, columns, (vertices,)


def _sorted_set_and_rows(
    columns: list[Identifiers], raw: RawEdges
) -> tuple[VertexSet, list[IntegerVector]]:
    """Return the distinct identifiers of some columns, sorted, and row numbers among them."""
    if all(isinstance(identifiers, np.ndarray) for identifiers in columns):
        integers, rows = _distinct_and_indices(cast(list[IntegerVector], columns), raw.owned)
        return VertexSet(integers), rows
    texts = cast(list[CodedText], columns)
    used_codes, indices = _distinct_and_indices([text.codes for text in texts], raw.owned)
    names = [texts[0].names[code] for code in used_codes.tolist()]
    labels: Sequence[Label] = labels_of(names) if raw.literal_integers else names
    same_type = len({type(label) for label in labels}) == 1  # sorted without `label_order`, faster
    key: Any = labels.__getitem__ if same_type else lambda i: label_order(labels[i])
    order = sorted(range(len(labels)), key=key)
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order))
    vertices = VertexSet([labels[i] for i in order])
    return vertices, [
        _convert(column_indices, ranks.__getitem__, raw.owned) for column_indices in indices
    ]


def _distinct_and_indices(
    arrays: list[IntegerVector], owned: bool
) -> tuple[IntVector, list[IntegerVector]]:
    """Return the distinct integers of some arrays, sorted, and the index of each entry in them.

    A table over the range of the integers is used unless they are sparse in it.
    """
    size = sum(map(len, arrays))
    low = min(int(array.min()) for array in arrays if len(array)) if size else 0
    high = max(int(array.max()) for array in arrays if len(array)) if size else -1
    if high - low >= _ENTRIES_PER_INTEGER * size + _CONSTANT_ENTRIES:
        distinct = _distinct(arrays)
        return distinct, [
            _convert(array, lambda piece: _indices_in(distinct, piece), owned) for array in arrays
        ]

    def entries_of(piece: IntegerVector) -> IntVector:
        # Arrays of 32 and of 64 bits may occur together. If `low` did not fit into 32 bits, numpy
        # would raise an error that quotes it.
        return np.subtract(piece, low, dtype=np.int64)

    is_present = np.zeros(high - low + 1, dtype=np.bool_)
    for array in arrays:
        for piece in pieces(array):
            is_present[entries_of(piece)] = True
    distinct = np.flatnonzero(is_present) + low
    if len(distinct) == len(is_present):
        return distinct, [_convert(array, entries_of, owned) for array in arrays]
    index = np.cumsum(is_present, dtype=np.int32) - np.int32(1)
    return distinct, [
        _convert(array, lambda piece: index[entries_of(piece)], owned) for array in arrays
    ]


def _distinct(arrays: list[IntegerVector]) -> IntVector:
    """Return the distinct integers of some arrays, sorted.

    Integers of new pieces are collected until they are as many as the known ones, and are then
    merged with them, so that memory grows with the result and not with the arrays.
    """
    known = np.empty(0, dtype=np.int64)
    waiting: list[npt.NDArray[Any]] = []
    waiting_count = 0
    for array in arrays:
        for piece in pieces(array):
            waiting.append(np.unique(piece))
            waiting_count += len(waiting[-1])
            if waiting_count > len(known):
                known = np.unique(np.concatenate([known, *waiting]))
                waiting, waiting_count = [], 0
    return np.unique(np.concatenate([known, *waiting])).astype(np.int64)


def _indices_in(labels: IntVector, piece: IntegerVector) -> IntegerVector:
    """Return the index of each entry in sorted labels; equal entries are looked up once."""
    distinct, inverse = np.unique(piece, return_inverse=True)
    return np.searchsorted(labels, distinct)[inverse]


def _convert(values: IntegerVector, convert: _Conversion, owned: bool) -> IntegerVector:
    """Return convert(values), a piece at a time, in place if `owned` and writeable.

    The results are row numbers and indices below 2^31, or integers as large as the values. They may
    not fit into the small or unsigned integers that a plug-in hands over, so the result has the
    type of the values only if that is int32 or int64.
    """
    fits_results = values.dtype in (np.int32, np.int64)
    if owned and values.flags.writeable and fits_results:
        result = values
    else:
        result = np.empty(len(values), values.dtype if fits_results else np.int64)
    for old, new in zip(pieces(values), pieces(result), strict=True):
        new[:] = convert(old)
    return result
