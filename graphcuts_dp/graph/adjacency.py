"""Graphs as values: immutable, validated, on a public vertex set.

A graph may be private, so nothing here prints its edges or their number: `repr` and errors tell
the vertex set and the schema (weighted or not, weight cap), which are public.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatArray, IndexArray
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.vertices import Label, VertexSet

Vertices = VertexSet | int | Iterable[Label]

_KEY_BITS = np.int64(31)  # row numbers are 32-bit integers >= 0
_KEY_MASK = np.int64(2**31 - 1)


class _EdgeList:
    """Edges of either kind of graph, each pair once, sorted, read-only.

    Attributes:
        rows: first end of each edge (row number; for `Graph` always the smaller).
        columns: second end of each edge.
        weights: one positive number for each edge; all ones when the graph is not weighted.
        weighted: public: whether weights other than one are possible.
        weight_cap: public upper bound on any weight; 1 for graphs without weights, else None if
            no bound was given.
        hide_change: 1 if the owner of weights without a cap accepts that a change of a weight by
            at most 1 is all that is hidden; else None. Neither compared nor written to files.
        note: what everybody who meets the graph should know, such as "seeded: not private"; shown
            by `repr`, written to files, not compared.
    """

    rows: IndexArray
    columns: IndexArray
    weights: FloatArray
    weighted: bool
    weight_cap: float | None
    hide_change: float | None
    note: str

    def check_bounded(self) -> None:
        """Check that it is said which change of a weight is to be hidden. Reads the schema only.

        Every mechanism asks for it before it is made.

        Raises:
            ParameterError: weights have neither a cap, nor is `hide_change` given.
        """
        if self.weighted and self.weight_cap is None and self.hide_change is None:
            raise ParameterError(
                "weights without a public cap: pass weight_cap= when you read the graph, or read "
                "it without its weights (weighted=False), or pass hide_change=1 to hide no more "
                "than a change of a weight by 1, and no edge that weighs more"
            )

    def _say(self, note: str, hide_change: float | None) -> None:
        if hide_change not in (None, 1):
            raise GraphError("hide_change can only be 1; scale the weights, or give weight_cap")
        self.note, self.hide_change = note, hide_change

    def _store(
        self,
        first: npt.NDArray[np.int64],
        second: npt.NDArray[np.int64],
        weights: FloatArray | None,
        weight_cap: float | None,
    ) -> None:
        # Both ends in one integer: sorting it sorts pairs, and shifts are faster than divisions.
        keys = first << _KEY_BITS
        keys |= second
        if weight_cap is not None and not (np.isfinite(weight_cap) and weight_cap > 0):
            raise GraphError("weight_cap must be a positive, finite number")
        if weights is None:
            if weight_cap not in (None, 1.0):
                raise GraphError("weight_cap needs a weighted graph")
            keys = _sorted_unique(keys)
            weights = np.ones(len(keys))
            self.weighted, self.weight_cap = False, 1.0
        else:
            keys, weights = _merge_largest(keys, _checked_weights(weights))
            if weight_cap is not None and len(weights) and weights.max() > weight_cap:
                raise GraphError(
                    "an edge weighs more than weight_cap; raise it or clip the weights"
                )
            self.weighted = True
            self.weight_cap = None if weight_cap is None else float(weight_cap)
        self._freeze(
            (keys >> _KEY_BITS).astype(np.int32), (keys & _KEY_MASK).astype(np.int32), weights
        )

    def _store_rows(
        self,
        parts: Iterable[npt.NDArray[Any]],
        shape: tuple[int, int],
        *,
        above_diagonal: bool,
        weighted: bool,
        weight_cap: float | None,
    ) -> None:
        """Keep the non-zero entries of a dense matrix that comes a few rows at a time."""
        rows, columns, masses = [], [], []
        start = 0
        for part in parts:
            if part.ndim != 2 or part.shape[1] != shape[1]:
                raise GraphError("rows of a matrix must be as long as there are columns")
            _checked_weights(part)
            row, column = np.nonzero(np.triu(part, start + 1) if above_diagonal else part)
            masses.append(part[row, column].astype(np.float64) if weighted else len(row))
            rows.append((row + start).astype(np.int32))
            columns.append(column.astype(np.int32))
            start += len(part)
        if start != shape[0]:
            raise GraphError(f"{start} rows for a matrix of {shape[0]}")
        self.weighted, self.weight_cap = weighted, weight_cap if weighted else 1.0
        weights = np.concatenate(masses) if weighted else np.ones(sum(masses))
        if weighted and weight_cap is not None and weights.max(initial=0) > weight_cap:
            raise GraphError("an edge weighs more than weight_cap; raise it or clip the weights")
        self._freeze(np.concatenate(rows), np.concatenate(columns), weights)

    def _freeze(self, rows: IndexArray, columns: IndexArray, weights: FloatArray) -> None:
        self.rows, self.columns, self.weights = rows, columns, weights
        for array in (self.rows, self.columns, self.weights):
            array.flags.writeable = False

    def _same_edges(self, other: "_EdgeList") -> bool:
        return (
            self.weighted == other.weighted
            and self.weight_cap == other.weight_cap
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.columns, other.columns)
            and np.array_equal(self.weights, other.weights)
        )

    def _schema(self) -> str:
        note = f", {self.note}" if self.note else ""
        if not self.weighted:
            return note
        cap = "" if self.weight_cap is None else f", cap={self.weight_cap:g}"
        return f", weighted{cap}{note}"


@final
class Graph(_EdgeList):
    """An undirected graph without loops on a public vertex set.

    Args:
        rows: first end of each edge, row numbers in 0..n-1, shape (edges,).
        columns: second end, likewise. Loops are dropped (they never cross a cut); a pair that
            occurs more than once, in either direction, is one edge with the largest weight.
        weights: None for a simple graph, else finite numbers >= 0; zeros are no edges.
        vertices: public vertex set: a count, labels, or a `VertexSet`.
        weight_cap: public bound on any weight. Neighbouring graphs then differ in one pair by up
            to the cap.
        hide_change: 1 to have weights without a cap, and to hide a change of one by at most 1.
        note: public remark that goes with the graph, also into files.

    Raises:
        GraphError: ends out of range, arrays of unequal length, non-finite or negative weights,
            or a weight above the cap.
    """

    def __init__(
        self,
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        vertices: Vertices,
        weight_cap: float | None = None,
        hide_change: float | None = None,
        note: str = "",
    ) -> None:
        self._say(note, hide_change)
        self.vertices = vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
        n = len(self.vertices)
        first, second, mass = _checked_ends(rows, columns, weights, (n, n))
        keep = first != second
        if mass is not None:
            keep &= mass != 0
        if not keep.all():
            first, second = first[keep], second[keep]
            mass = None if mass is None else mass[keep]
        self._store(np.minimum(first, second), np.maximum(first, second), mass, weight_cap)

    @classmethod
    def from_matrix(
        cls,
        matrix: npt.ArrayLike,
        *,
        vertices: Vertices | None = None,
        weighted: bool | None = None,
        weight_cap: float | None = None,
        hide_change: float | None = None,
    ) -> Self:
        """Graph of a symmetric matrix, dense or scipy sparse; the diagonal is ignored.

        Args:
            matrix: shape (n, n), finite, entries >= 0, symmetric exactly.
            vertices: labels of the rows; 0..n-1 when omitted.
            weighted: False keeps only which entries are non-zero; None means weighted unless
                every entry is 0 or 1, which is then public: say it for a private matrix.
            weight_cap: as for `Graph`.
            hide_change: as for `Graph`.

        Raises:
            GraphError: not square, not symmetric, not finite, negative, or the wrong size.
        """
        entries = _as_coo(matrix)
        if entries.shape[0] != entries.shape[1]:
            raise GraphError("an adjacency matrix is square; use BipartiteGraph for other shapes")
        if (abs(entries - entries.T)).max() != 0:
            raise GraphError("the matrix is not symmetric; symmetrise it first, or give edges")
        rows, columns, weights = entries.row, entries.col, entries.data
        return cls(
            rows,
            columns,
            _matrix_weights(weights, weighted),
            vertices=_matching(vertices, entries.shape[0]),
            weight_cap=weight_cap,
            hide_change=hide_change,
        )

    @classmethod
    def from_rows(
        cls,
        parts: Iterable[npt.NDArray[Any]],
        *,
        vertices: Vertices,
        weighted: bool = True,
        weight_cap: float | None = None,
        note: str = "",
    ) -> Self:
        """Graph of a dense matrix that comes a few rows at a time, in order; needs little memory.

        Only entries above the diagonal are read.

        Args:
            parts: each of shape (some rows, n); finite entries >= 0.
            vertices: as for `Graph`.
            weighted: False keeps only which entries are non-zero.
            weight_cap: as for `Graph`, with weights.
            note: as for `Graph`.

        Raises:
            GraphError: too many or too few rows, rows of the wrong length, entries out of range.
        """
        graph = cls([], [], vertices=vertices, note=note)
        graph._store_rows(
            parts,
            (graph.n, graph.n),
            above_diagonal=True,
            weighted=weighted,
            weight_cap=weight_cap,
        )
        return graph

    @property
    def n(self) -> int:
        """Number of vertices, public."""
        return len(self.vertices)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the adjacency matrix, public: (n, n)."""
        return self.n, self.n

    @property
    def labels(self) -> tuple[Label, ...]:
        """Vertex labels in row order, public."""
        return tuple(self.vertices.labels)

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """Symmetric adjacency matrix, sparse, shape (n, n), zero diagonal. Do not write to it."""
        n = self.n
        rows = np.concatenate([self.rows, self.columns])
        columns = np.concatenate([self.columns, self.rows])
        weights = np.concatenate([self.weights, self.weights])
        return sp.coo_array((weights, (rows, columns)), shape=(n, n)).tocsr()

    def dense(self) -> FloatArray:
        """Symmetric adjacency matrix, dense, shape (n, n)."""
        matrix = np.zeros((self.n, self.n))
        matrix[self.rows, self.columns] = self.weights
        matrix[self.columns, self.rows] = self.weights
        return matrix

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.vertices == other.vertices and self._same_edges(other)

    __hash__ = None  # type: ignore[assignment]  # a hash would be a fingerprint of the edges

    def __repr__(self) -> str:
        return f"Graph(n={self.n}{self._schema()})"


@final
class BipartiteGraph(_EdgeList):
    """Edges between two public vertex sets, left and right.

    Args:
        rows: left end of each edge, row numbers in 0..n_left-1.
        columns: right end of each edge, in 0..n_right-1. A pair that occurs more than once is one
            edge with the largest weight.
        weights: None for a simple graph, else finite numbers >= 0; zeros are no edges.
        left: public left vertex set: a count, labels, or a `VertexSet`.
        right: public right vertex set, likewise. A label may occur on both sides.
        weight_cap: as for `Graph`.
        hide_change: as for `Graph`.
        note: as for `Graph`.

    Raises:
        GraphError: as for `Graph`.
    """

    def __init__(
        self,
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        left: Vertices,
        right: Vertices,
        weight_cap: float | None = None,
        hide_change: float | None = None,
        note: str = "",
    ) -> None:
        self._say(note, hide_change)
        self.left = left if isinstance(left, VertexSet) else VertexSet(left)
        self.right = right if isinstance(right, VertexSet) else VertexSet(right)
        if self.right is self.left:
            # Two sides with equal labels are still two: elsewhere, one object means one set.
            self.right = VertexSet(self.left, inferred=self.left.inferred)
        first, second, mass = _checked_ends(rows, columns, weights, self.shape)
        if mass is not None and not mass.all():
            keep = mass != 0
            first, second, mass = first[keep], second[keep], mass[keep]
        self._store(first, second, mass, weight_cap)

    @classmethod
    def from_matrix(
        cls,
        matrix: npt.ArrayLike,
        *,
        left: Vertices | None = None,
        right: Vertices | None = None,
        weighted: bool | None = None,
        weight_cap: float | None = None,
        hide_change: float | None = None,
    ) -> Self:
        """Bipartite graph of a biadjacency matrix, dense or scipy sparse; see `Graph.from_matrix`.

        Raises:
            GraphError: not two-dimensional, not finite, negative, or labels of the wrong number.
        """
        entries = _as_coo(matrix)
        return cls(
            entries.row,
            entries.col,
            _matrix_weights(entries.data, weighted),
            left=_matching(left, entries.shape[0]),
            right=_matching(right, entries.shape[1]),
            weight_cap=weight_cap,
            hide_change=hide_change,
        )

    @classmethod
    def from_rows(
        cls,
        parts: Iterable[npt.NDArray[Any]],
        *,
        left: Vertices,
        right: Vertices,
        weighted: bool = True,
        weight_cap: float | None = None,
        note: str = "",
    ) -> Self:
        """Graph of a dense biadjacency matrix, a few rows at a time; see `Graph.from_rows`.

        Raises:
            GraphError: as for `Graph.from_rows`.
        """
        graph = cls([], [], left=left, right=right, note=note)
        graph._store_rows(
            parts, graph.shape, above_diagonal=False, weighted=weighted, weight_cap=weight_cap
        )
        return graph

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of left and right vertices, public."""
        return len(self.left), len(self.right)

    @cached_property
    def biadjacency(self) -> sp.csr_array:
        """Biadjacency matrix, sparse, shape (n_left, n_right). Do not write to it."""
        return sp.coo_array((self.weights, (self.rows, self.columns)), shape=self.shape).tocsr()

    def dense(self) -> FloatArray:
        """Biadjacency matrix, dense, shape (n_left, n_right)."""
        matrix = np.zeros(self.shape)
        matrix[self.rows, self.columns] = self.weights
        return matrix

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BipartiteGraph):
            return NotImplemented
        return (self.left, self.right) == (other.left, other.right) and self._same_edges(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"BipartiteGraph(shape={self.shape}{self._schema()})"


AnyGraph = Graph | BipartiteGraph


def _checked_ends(
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    shape: tuple[int, int],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], FloatArray | None]:
    """Edge ends as integers within the shape, and weights of the same length."""
    ends = []
    for given, size in ((rows, shape[0]), (columns, shape[1])):
        if size > _KEY_MASK + 1:
            raise GraphError("a graph has at most 2**31 vertices on a side")
        array = np.asarray(given)
        if array.size == 0:
            array = array.astype(np.int64).reshape(-1)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise GraphError("edge ends must be one-dimensional arrays of row numbers")
        if array.size and (array.min() < 0 or array.max() >= size):
            raise GraphError("an edge end lies outside the public vertex set")
        ends.append(array.astype(np.int64, copy=False))
    mass = None if weights is None else np.array(weights, dtype=np.float64).reshape(-1)
    if len(ends[0]) != len(ends[1]) or (mass is not None and len(mass) != len(ends[0])):
        raise GraphError("edge ends and weights must have the same length")
    return ends[0], ends[1], mass


def _checked_weights(weights: FloatArray) -> FloatArray:
    if not np.isfinite(weights).all():
        raise GraphError("an edge weight is not a finite number")
    if (weights < 0).any():
        raise GraphError("an edge weight is negative; weights must be >= 0")
    return weights


def _sorted_unique(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    # np.unique hashes since numpy 2.3; sorting integers is several times faster here.
    keys = np.sort(keys)
    if len(keys) > 1:
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return keys


def _merge_largest(
    keys: npt.NDArray[np.int64], weights: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    if len(keys) < 2:
        return keys, weights
    first = np.concatenate([[True], keys[1:] != keys[:-1]])
    return keys[first], np.maximum.reduceat(weights, np.flatnonzero(first))


def _as_coo(matrix: npt.ArrayLike) -> sp.coo_array:
    if not sp.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":  # type: ignore[union-attr]
        raise GraphError("a matrix of a graph has two dimensions and real entries")
    entries = sp.coo_array(matrix, dtype=np.float64)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    if 0 in entries.shape:
        raise GraphError("a graph needs at least one vertex")
    return entries


def _matrix_weights(weights: FloatArray, weighted: bool | None) -> FloatArray | None:
    # Checked here too: the simple graph of a matrix must not be built on NaN entries.
    _checked_weights(weights)
    if weighted is None:
        weighted = not np.isin(weights, (0.0, 1.0)).all()
    if weighted:
        return weights
    return None


def _matching(vertices: Vertices | None, size: int) -> VertexSet:
    if vertices is None:
        return VertexSet(size)
    found = vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
    if len(found) != size:
        raise GraphError(f"{len(found)} labels for a matrix with {size} rows or columns")
    return found
