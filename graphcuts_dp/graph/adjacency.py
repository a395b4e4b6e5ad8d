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

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.edge_keys import EdgeParts, Merge
from graphcuts_dp.graph.edge_store import (
    EdgeStore,
    Vertices,
    as_coo,
    check_ends,
    checked_parts,
    matching,
    matrix_weights,
)
from graphcuts_dp.pairs.vertices import Arcs, Label, Space, VertexSet


@final
class Graph(EdgeStore):
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
        parts = checked_parts(rows, columns, weights, self.shape)
        self._store(parts, weight_cap=weight_cap)

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
            weighted: False keeps only which entries are non-zero; None means weighted unless the
                entries are truth values, by their type.
            weight_cap: as for `Graph`.
            hide_change: as for `Graph`.

        Raises:
            GraphError: not square, not symmetric, not finite, negative, or the wrong size.
        """
        entries = as_coo(matrix)
        if entries.shape[0] != entries.shape[1]:
            raise GraphError("an adjacency matrix is square; use BipartiteGraph for other shapes")
        if (abs(entries - entries.T)).max() != 0:
            raise GraphError(
                "the matrix is not symmetric; symmetrise it first, give edges, or make a "
                "DirectedGraph of it"
            )
        rows, columns, weights = entries.row, entries.col, entries.data
        return cls(
            rows,
            columns,
            matrix_weights(matrix, weights, weighted),
            vertices=matching(vertices, entries.shape[0]),
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
    def space(self) -> VertexSet:
        """What may be joined, public: any two vertices of one set."""
        return self.vertices

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


class _TwoSided(EdgeStore):
    """Edges from a public vertex set of rows to one of columns, two objects even if alike.

    Attributes:
        left: public vertex set of the rows.
        right: of the columns.
    """

    left: VertexSet
    right: VertexSet
    _ordered = True

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


@final
class BipartiteGraph(_TwoSided):
    """A bipartite graph: edges between two public vertex sets, left and right.

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

    _loops = True

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
        parts = checked_parts(rows, columns, weights, self.shape)
        self._store(parts, weight_cap=weight_cap)

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
        entries = as_coo(matrix)
        return cls(
            entries.row,
            entries.col,
            matrix_weights(matrix, entries.data, weighted),
            left=matching(left, entries.shape[0]),
            right=matching(right, entries.shape[1]),
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
        graph._store_rows(parts, graph.shape, weighted=weighted, weight_cap=weight_cap)
        return graph

    @property
    def space(self) -> tuple[VertexSet, VertexSet]:
        """What may be joined, public: any left vertex to any right one."""
        return self.left, self.right

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BipartiteGraph):
            return NotImplemented
        return (self.left, self.right) == (other.left, other.right) and self._same_edges(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"BipartiteGraph(shape={self.shape}{self._schema()})"


@final
class DirectedGraph(_TwoSided):
    """A directed graph: arcs u -> v with u != v on a public vertex set.

    To all that is asked of it, it is a bipartite graph whose two sides are two copies of the vertex
    set, the tails and the heads of arcs, where no vertex can be joined to its own copy.

    Args:
        rows: tail of each arc (the vertex that it leaves), row numbers in 0..n-1, shape (arcs,).
        columns: head, likewise. Loops are dropped; an arc that occurs more than once is one arc
            with the largest weight. u -> v and v -> u are two arcs.
        weights: None for a simple graph, else finite numbers >= 0; zeros are no arcs.
        vertices: public vertex set: a count, labels, or a `VertexSet`.
        weight_cap: public bound on any weight. Neighbouring graphs differ in one arc: it is there
            or not, or its weight differs by up to the cap.
        hide_change: as for `Graph`.
        note: as for `Graph`.

    Attributes:
        left: the vertices as tails of arcs, the rows of the matrix.
        right: the same vertices as heads.

    Raises:
        GraphError: as for `Graph`.
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
        self.space = Arcs(self.vertices)
        self.left, self.right = self.space
        parts = checked_parts(rows, columns, weights, self.shape)
        self._store(parts, weight_cap=weight_cap)

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
        """Graph of a square matrix, dense or scipy sparse: entry (u, v) is the arc u -> v.

        The diagonal is ignored; the rest is as for `Graph.from_matrix`.

        Raises:
            GraphError: not square, not finite, negative, or the wrong number of labels.
        """
        entries = as_coo(matrix)
        if entries.shape[0] != entries.shape[1]:
            raise GraphError("an adjacency matrix is square; use BipartiteGraph for other shapes")
        return cls(
            entries.row,
            entries.col,
            matrix_weights(matrix, entries.data, weighted),
            vertices=matching(vertices, entries.shape[0]),
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
        """Graph of a dense matrix, a few rows at a time; see `Graph.from_rows`.

        Entries on the diagonal are not read.

        Raises:
            GraphError: as for `Graph.from_rows`.
        """
        graph = cls([], [], vertices=vertices, note=note)
        graph._store_rows(parts, graph.shape, loops=False, weighted=weighted, weight_cap=weight_cap)
        return graph

    @property
    def n(self) -> int:
        """Number of vertices, public."""
        return len(self.vertices)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Vertex labels in row order, public."""
        return tuple(self.vertices.labels)

    @property
    def adjacency(self) -> sp.csr_array:
        """Sparse adjacency matrix, shape (n, n): row u, column v for u -> v. Do not write to it."""
        return self.biadjacency

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DirectedGraph):
            return NotImplemented
        return self.vertices == other.vertices and self._same_edges(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"DirectedGraph(n={self.n}{self._schema()})"


AnyGraph = Graph | BipartiteGraph | DirectedGraph


def without_edges(graph: AnyGraph, weights: npt.ArrayLike | None = None, **schema: Any) -> AnyGraph:
    """A graph of the same kind, on the same public vertices, without any edge.

    Args:
        graph: whose vertex sets alone are read.
        weights: an empty array for a graph with weights.
        schema: keywords of `Graph`.
    """
    return on_space(graph.space, [], [], weights, **schema)


def on_space(
    space: Space,
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    **schema: Any,
) -> AnyGraph:
    """The kind of graph whose pairs a space tells, of the given edges.

    Args:
        space: one vertex set, two, or `Arcs`.
        rows: as for `Graph`.
        columns: likewise.
        weights: likewise.
        schema: its other keywords.

    Raises:
        GraphError: as for `Graph`.
    """
    if isinstance(space, VertexSet):
        return Graph(rows, columns, weights, vertices=space, **schema)
    if isinstance(space, Arcs):
        return DirectedGraph(rows, columns, weights, vertices=space.vertices, **schema)
    return BipartiteGraph(rows, columns, weights, left=space[0], right=space[1], **schema)


def from_parts_on(
    space: Space, parts: EdgeParts, *, merge: Merge, weight_cap: float | None, **schema: Any
) -> AnyGraph:
    """The same of edges that nothing else keeps, in little memory; weights are clipped to the cap.

    Args:
        space: as for `on_space`.
        parts: the edges, row numbers within the space; empty then.
        merge: weight of a pair that occurs more than once.
        weight_cap: as for `Graph`.
        schema: its other keywords.

    Raises:
        GraphError: as for `Graph`.
    """
    graph = on_space(space, [], [], **schema)
    check_ends(parts.rows, parts.columns, graph.shape)
    graph._store(parts, weight_cap=weight_cap, clip=True, merge=merge)
    return graph


def from_rows_on(space: Space, parts: Iterable[npt.NDArray[Any]], **schema: Any) -> AnyGraph:
    """The same of a dense matrix that comes a few rows at a time, see `Graph.from_rows`."""
    if isinstance(space, VertexSet):
        return Graph.from_rows(parts, vertices=space, **schema)
    if isinstance(space, Arcs):
        return DirectedGraph.from_rows(parts, vertices=space.vertices, **schema)
    return BipartiteGraph.from_rows(parts, left=space[0], right=space[1], **schema)
