"""Store the edges of all kinds of graphs as sorted arrays, each pair once.

A pair is packed into one integer, its key; keys sort as pairs do. Edges are thus sorted and merged
in little memory: beside the resulting arrays, 8 bytes for the key of each edge, and for weighted
edges their order.
"""

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IndexArray, IntegerVector, IntVector
from graphcuts_dp.display import Card, Displayed, size_text
from graphcuts_dp.errors import GraphError, KindError, ParameterError
from graphcuts_dp.schema.vertices import (
    Arcs,
    Label,
    Space,
    VertexSet,
    one_set,
    sets_in,
    sides_in,
)

Merge = Literal["max", "min", "sum"]
Above = Literal["refuse", "clip", "keep"]
Vertices = VertexSet | int | Iterable[Label]

DEFAULT_MERGE: Merge = "sum"  # the default for weights of parallel edges
LARGEST_OPEN = 2.0**40  # the largest weight without a maximum: 64 bits count it in units of 2^-20
ABOVE_OPEN = (
    "a weight is above 2^40 (1.1e12), the largest with max_weight_change=1: pass max_weight=, or "
    "divide all weights by a public number, which then is the change between neighbours"
)
PIECE = 1 << 18  # entries that are converted at a time: their results stay in the cache
MOST_ROWS = 2**31  # vertices of a side: row numbers are 32-bit integers >= 0
# Attributes that hold an object of this process, or are computed from the edges.
_NOT_PICKLED = ("origin", "adjacency", "biadjacency")
_WRITTEN_EDGES = 1 << 16  # edges that are written at a time
_KEY_BITS = np.int64(31)  # bits of a key that hold the second endpoint
_KEY_MASK = np.int64(2**31 - 1)  # selects the second endpoint of a key; the largest row number
_MERGED_BY = {"max": np.maximum, "min": np.minimum, "sum": np.add}


@dataclass(slots=True)
class EdgeParts:
    """Edges to be stored in a graph, which empties this object, so that no other one keeps them.

    Attributes:
        rows: row number of the first endpoint of each edge.
        columns: row number of the second endpoint.
        weights: finite and not negative; None for a graph without weights.
        owned: whether the graph may overwrite the weights.
    """

    rows: IntegerVector
    columns: IntegerVector
    weights: FloatArray | None
    owned: bool = False


def parts_of_arrays(
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    weights: npt.ArrayLike | None,
) -> EdgeParts:
    """Check arrays of edges that a caller passes, and return them as parts; weights are copied.

    Raises:
        GraphError: endpoints that are no integers, arrays of unequal lengths, or a weight that is
            negative or not finite.
    """
    endpoints = []
    for values in (rows, columns):
        array = np.asarray(values)
        if array.size == 0:
            array = array.astype(np.int64).reshape(-1)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise GraphError("endpoints of edges must be one-dimensional arrays of row numbers")
        endpoints.append(array)
    first, second = endpoints
    copied = None if weights is None else np.array(weights, dtype=np.float64).reshape(-1)
    if len(first) != len(second) or (copied is not None and len(copied) != len(first)):
        raise GraphError("endpoints and weights of edges must have the same length")
    if copied is not None:
        _check_weights(copied)
    return EdgeParts(first, second, copied, owned=True)


def check_endpoints(rows: IntegerVector, columns: IntegerVector, shape: tuple[int, int]) -> None:
    """Check that row numbers lie within a shape.

    Raises:
        GraphError: one does not.
    """
    for array, size in ((rows, shape[0]), (columns, shape[1])):
        if size > MOST_ROWS:
            raise GraphError("a graph has at most 2**31 vertices on a side")
        if array.size and (array.min() < 0 or array.max() >= size):
            raise GraphError("an endpoint of an edge lies outside the public vertex set")


def pair_keys(
    parts: EdgeParts, *, ordered: bool, loops: bool
) -> tuple[IntVector, FloatArray | None]:
    """Return the key of each edge, and the weights; the parts are empty afterwards.

    Args:
        parts: the edges.
        ordered: whether (u, v) and (v, u) are two pairs; else the smaller endpoint comes first.
        loops: whether edges with equal endpoints are kept.
    """
    keys = np.empty(len(parts.rows), dtype=np.int64)
    count = 0
    weights = parts.weights
    if weights is not None and not (parts.owned and weights.flags.writeable):
        weights = weights.copy()
    for start in range(0, len(keys), PIECE):
        piece = slice(start, start + PIECE)
        first, second = parts.rows[piece], parts.columns[piece]
        kept_edges = slice(None) if loops else first != second
        if not ordered:
            first, second = np.minimum(first, second), np.maximum(first, second)
        kept_keys = (first.astype(np.int64) << _KEY_BITS | second.astype(np.int64))[kept_edges]
        stop = count + len(kept_keys)
        keys[count:stop] = kept_keys
        if weights is not None:
            weights[count:stop] = weights[piece][kept_edges]
        count = stop
    parts.rows = parts.columns = np.empty(0, dtype=np.int64)
    parts.weights = None
    return shortened(keys, count), None if weights is None else shortened(weights, count)


def sorted_distinct(keys: IntVector) -> IntVector:
    """Sort keys in place, and return each once, in order."""
    keys.sort()
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first]


def sorted_merged(
    keys: IntVector, weights: FloatArray, merge: Merge
) -> tuple[IntVector, FloatArray]:
    """Return each key once, in order, with the largest, the smallest or the sum of its weights.

    Keys of weight 0 are left out. Weights are added in the order of the rows; a sum above the
    largest float becomes that float, so that all weights stay finite. Overwrites the arrays.
    """
    # The order of the rows matters for sums alone; an unstable sort is faster.
    order: IntegerVector = np.argsort(keys, kind="stable" if merge == "sum" else None)
    if len(keys) <= _KEY_MASK:
        order = order.astype(np.int32)
    scratch = np.empty(len(keys), dtype=np.int64)
    for array in (keys, weights):
        _permute(array, order, scratch.view(array.dtype))
    del scratch, order
    start = count = 0
    while start < len(keys):
        end = start + PIECE
        if end < len(keys):  # a piece holds all edges of its last pair
            end = int(np.searchsorted(keys, keys[end - 1], side="right"))
        piece = keys[start:end]
        first = np.flatnonzero(np.concatenate([[True], piece[1:] != piece[:-1]]))
        with np.errstate(over="ignore"):  # a warning would reveal huge weights
            merged = _MERGED_BY[merge].reduceat(weights[start:end], first)
        positive = merged != 0
        stop = count + int(np.count_nonzero(positive))
        keys[count:stop] = piece[first][positive]
        weights[count:stop] = np.minimum(merged[positive], np.finfo(np.float64).max)
        start, count = end, stop
    return shortened(keys, count), shortened(weights, count)


def unpacked_keys(keys: IntVector) -> tuple[IndexArray, IndexArray]:
    """Return both endpoints of each key."""
    return (keys >> _KEY_BITS).astype(np.int32), (keys & _KEY_MASK).astype(np.int32)


def shortened(array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """Return the first entries of an array, in no more memory than needed.

    The array is resized in place if it owns its memory, so no other object may use it.
    """
    if count == len(array):
        return array
    if not array.flags.owndata:
        return array[:count].copy()
    array.resize(count, refcheck=False)
    return array


def pieces(array: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return views of an array, one after the other, each small enough for the cache."""
    return [array[start : start + PIECE] for start in range(0, len(array), PIECE)]


def _check_weights(weights: FloatArray) -> None:
    if not np.isfinite(weights).all():
        raise GraphError("an edge weight is not a finite number")
    if (weights < 0).any():
        raise GraphError("an edge weight is negative; weights must be >= 0")


def _permute(array: npt.NDArray[Any], order: IntegerVector, scratch: npt.NDArray[Any]) -> None:
    """Set array to array[order]; numpy's 8-byte indices exist for a piece at a time only."""
    for new, indices in zip(pieces(scratch), pieces(order), strict=True):
        new[:] = array[indices]
    array[:] = scratch


class EdgeStore(Displayed):
    """Edges of any kind of graph, each pair once, sorted, read-only.

    Attributes:
        space: public: the pairs that may be joined: one vertex set, two of them, or `Arcs`.
        rows: first endpoint of each edge (row number; for `Graph` always the smaller, for
            `DirectedGraph` the vertex that the arc leaves).
        columns: second endpoint of each edge.
        weights: one positive number for each edge; all ones when the graph is not weighted.
        weighted: public: whether weights other than one are possible.
        max_weight: public upper bound on any weight; 1 for graphs without weights; None if
            absent.
        max_weight_change: 1 if neighbouring graphs of weights without a maximum differ in one
            weight by at most 1; else None. Neither compared nor written to files. The public upper
            bound on a weight is then `LARGEST_OPEN`, 2^40; rows above it are refused, or clipped
            to it where bad rows are skipped.
        note: a remark for all who use the graph, such as "seeded: not private"; shown by `repr`,
            written to files, not compared.
        reading: public: which parts of the source were read, in sentences that depend on the kind
            of source and its declared names alone; neither compared nor written to files.
        origin: the object of another library that was converted to this graph, by which a second
            use of the same data is recognised. Private.

    A graph is a collection of its vertices, which are public. The number of edges is not: a graph
    does not become an array, and only methods for that purpose (`to_scipy`, `to_frame`, ...) show
    edges.
    """

    space: Space
    rows: IndexArray
    columns: IndexArray
    weights: FloatArray
    weighted: bool
    max_weight: float | None
    max_weight_change: float | None
    note: str
    reading: str = ""
    origin: "weakref.ref[Any] | None" = None

    def __len__(self) -> int:
        """Return the number of vertices, public; of both sides together if there are two."""
        return sum(map(len, sets_in(self.space)))

    def __iter__(self) -> Iterator[Label]:
        """Return the labels of the vertices, public, in row order; left ones before right ones."""
        return chain.from_iterable(vertices.labels for vertices in sets_in(self.space))

    def __contains__(self, label: Hashable) -> bool:
        """Return whether a vertex has this label, on either side; 1 and "1" are two labels."""
        return any(vertices.find(label) is not None for vertices in sets_in(self.space))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Refuse to become an array, since that would show the edges.

        Raises:
            KindError: always.
        """
        raise KindError(
            f"a {type(self).__name__} is no array, since its edges may be private: to_scipy() "
            "and dense() make a matrix that holds them, np.array(graph.labels) the labels"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the edges are in it, so a pickle is as private as the graph."""
        return {name: value for name, value in vars(self).items() if name not in _NOT_PICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for array in (self.rows, self.columns, self.weights):
            array.flags.writeable = False  # pickles do not keep this flag

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the matrix of all pairs, public."""
        left, right = sides_in(self.space)
        return len(left), len(right)

    def dense(self) -> FloatArray:
        """Return the matrix of all pairs, dense, of `shape`; symmetric if pairs have no order."""
        matrix = np.zeros(self.shape)
        matrix[self.rows, self.columns] = self.weights
        if isinstance(self.space, VertexSet):
            matrix[self.columns, self.rows] = self.weights
        return matrix

    def without_edges(self) -> Self:
        """Return a graph of the same kind, schema and public vertices, without any edge."""
        graph = object.__new__(type(self))
        nothing = np.zeros(0, dtype=np.int64)
        parts = EdgeParts(nothing, nothing, np.zeros(0) if self.weighted else None, owned=True)
        graph._set_up(
            self.space, parts, max_weight=self.max_weight, max_weight_change=self.max_weight_change
        )
        return graph

    def check_bounded(self) -> None:
        """Check that weights have a public bound, or their change has. Reads the schema only.

        Every mechanism checks this before it is built.

        Raises:
            ParameterError: weights with neither `max_weight` nor `max_weight_change`.
        """
        if self.weighted and self.max_weight is None and self.max_weight_change is None:
            raise ParameterError(
                "weights without a public bound: pass max_weight= when you read the graph, or make "
                "it by Graph.of, or leave its weights out (weighted=False), or pass "
                "max_weight_change=1: then neighbours differ in one weight by at most 1, and an "
                "edge that weighs more is detectable"
            )

    def _set_up(
        self,
        space: Space,
        parts: EdgeParts | None,
        max_weight: float | None = None,
        max_weight_change: float | None = None,
        note: str = "",
        *,
        clip: bool = False,
        above: Above = "refuse",
        merge: Merge = "max",
    ) -> None:
        """Store edges, each pair once; empties the parts.

        Sensitivity: clipping sums of weights to a public bound, the maximum or `LARGEST_OPEN`,
        moves no two of them further apart: min(x, b) grows by no more than x.

        Args:
            space: the pairs that may be joined.
            parts: the edges, with weights that are finite and not negative; None if a call of
                `_store_rows` follows, which stores them.
            max_weight: as for `Graph`.
            max_weight_change: as for `Graph`.
            note: as for `Graph`.
            clip: clip weights above the maximum to it, rather than refuse them.
            above: rule for weights above `LARGEST_OPEN` if `max_weight_change` is set instead of a
                maximum: refuse them, clip them, or keep them. They are kept if users are bounded,
                since no edge then weighs more than 2^53 grid units of rows.
            merge: weight of a pair that occurs more than once.
        """
        if max_weight_change not in (None, 1):
            raise GraphError(
                "max_weight_change can only be 1; scale the weights, or give max_weight"
            )
        if not one_set(space) and space[0] is space[1]:  # type: ignore[index]
            # Two sides with equal labels are still two sets, but one object would mean one set.
            left = space[0]  # type: ignore[index]
            space = left, VertexSet(left, inferred=left.inferred)
        self.space, self.note, self.max_weight_change = space, note, max_weight_change
        if parts is not None:
            check_endpoints(parts.rows, parts.columns, self.shape)
            self._store(parts, max_weight, clip, above, merge)

    def _store(
        self, parts: EdgeParts, max_weight: float | None, clip: bool, above: Above, merge: Merge
    ) -> None:
        """Sort, merge and store edges; arguments are those of `_set_up`."""
        if max_weight is not None and not (np.isfinite(max_weight) and max_weight > 0):
            raise GraphError("max_weight must be a positive, finite number")
        if parts.weights is None and max_weight not in (None, 1.0):
            raise GraphError("max_weight needs a weighted graph")
        ordered, loops = not isinstance(self.space, VertexSet), not one_set(self.space)
        keys, weights = pair_keys(parts, ordered=ordered, loops=loops)
        if weights is None:
            keys = sorted_distinct(keys)
        else:
            keys, weights = sorted_merged(keys, weights, merge)
            if max_weight is not None and clip:
                np.minimum(weights, max_weight, out=weights)
            elif max_weight is None and self.max_weight_change is not None and above != "keep":
                if above == "refuse" and weights.max(initial=0) > LARGEST_OPEN:
                    raise GraphError(ABOVE_OPEN)
                np.minimum(weights, LARGEST_OPEN, out=weights)
        rows, columns = unpacked_keys(keys)
        del keys
        self._freeze(rows, columns, weights, max_weight)

    def _store_rows(
        self, parts: Iterable[npt.NDArray[Any]], *, weighted: bool, max_weight: float | None
    ) -> None:
        """Store the non-zero entries of a dense matrix that comes a few rows at a time."""
        rows, columns, entries = [], [], []
        start = 0
        for part in parts:
            if part.ndim != 2 or part.shape[1] != self.shape[1]:
                raise GraphError("rows of a matrix must be as long as there are columns")
            _check_weights(part)
            # Of a symmetric matrix, the entries above the diagonal are read.
            symmetric = isinstance(self.space, VertexSet)
            row, column = np.nonzero(np.triu(part, start + 1) if symmetric else part)
            if isinstance(self.space, Arcs):
                off_diagonal = row + start != column
                row, column = row[off_diagonal], column[off_diagonal]
            entries.append(part[row, column].astype(np.float64))
            rows.append((row + start).astype(np.int32))
            columns.append(column.astype(np.int32))
            start += len(part)
        if start != self.shape[0]:
            raise GraphError(f"{start} rows for a matrix of {self.shape[0]}")
        weights = np.concatenate(entries) if weighted else None
        self._freeze(np.concatenate(rows), np.concatenate(columns), weights, max_weight)

    def _freeze(
        self,
        rows: IndexArray,
        columns: IndexArray,
        weights: FloatArray | None,
        max_weight: float | None,
    ) -> None:
        """Store the arrays of sorted edges, and forbid to write to them."""
        if weights is not None and max_weight is not None and weights.max(initial=0) > max_weight:
            raise GraphError("an edge weighs more than max_weight; raise it or clip the weights")
        self.weighted = weights is not None
        if weights is None:
            max_weight = 1.0
        self.max_weight = None if max_weight is None else float(max_weight)
        self.rows, self.columns = rows, columns
        self.weights = np.ones(len(rows)) if weights is None else weights
        for array in (self.rows, self.columns, self.weights):
            array.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EdgeStore) or type(other) is not type(self):
            return NotImplemented
        return (
            self.space == other.space
            and self.weighted == other.weighted
            and self.max_weight == other.max_weight
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.columns, other.columns)
            and np.array_equal(self.weights, other.weights)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # a hash would be a fingerprint of the edges

    def __repr__(self) -> str:
        size = f"n={self.shape[0]}" if one_set(self.space) else f"shape={self.shape}"
        maximum = "" if self.max_weight is None else f", max_weight={self.max_weight:g}"
        weights = f", weighted{maximum}" if self.weighted else ""
        return f"{type(self).__name__}({size}{weights}{self.note and f', {self.note}'})"

    def _card(self) -> Card:
        weights: object = "none: an edge is there or not"
        if self.weighted:
            maximum = self.max_weight
            weights = "without a maximum" if maximum is None else f"at most {maximum:g}"
        return Card(
            title=type(self).__name__,
            facts=(
                ("vertices", size_text(self.shape[: 1 if one_set(self.space) else 2])),
                ("weights", weights),
                ("edges", "not shown: they may be private, and so may their number"),
                *([("reading", self.reading)] if self.reading else []),
            ),
            warning=self.note,
        )


def write_edges(
    graph: EdgeStore,
    handle: BinaryIO,
    sources: list[str],
    targets: list[str],
    plain: str,
    weighted: str,
    number: Callable[[str], str] = str,
    *,
    lower: bool = False,
) -> None:
    """Write each edge by the template for graphs without weights, or for those with weights.

    The smaller row number of an undirected edge comes first, or second if `lower`. A weight is
    written as the shortest text that is read as the same number, without a decimal point if all
    weights are whole numbers.

    Args:
        graph: whose edges are written.
        handle: of the open file.
        sources: text of each first endpoint by its row number.
        targets: text of each second endpoint by its row number.
        plain: template for an edge of a graph without weights.
        weighted: template for an edge of a graph with weights.
        number: converts the text of a weight to that of the format.
        lower: whether edges stand in the lower triangle of the matrix.
    """
    weights = graph.weights
    is_whole = bool((weights < 1e15).all() and (weights == np.floor(weights)).all())
    for start in range(0, len(graph.rows), _WRITTEN_EDGES):
        piece = slice(start, start + _WRITTEN_EDGES)
        first = [sources[row] for row in graph.rows[piece].tolist()]
        second = [targets[column] for column in graph.columns[piece].tolist()]
        if lower:
            first, second = second, first
        if graph.weighted:
            values = (weights[piece].astype(np.int64) if is_whole else weights[piece]).tolist()
            numbers = (number(repr(value)) for value in values)
            lines = [weighted % row for row in zip(first, second, numbers, strict=True)]
        else:
            lines = [plain % row for row in zip(first, second, strict=True)]
        handle.write("".join(lines).encode())
