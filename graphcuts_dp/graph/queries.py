"""Queries on a graph: values, exact sensitivities, batches.

A cut query counts every edge once, also when S and T overlap; the matrix form 1_S' A 1_T would
count edges inside both twice. Source: GRU12 section 2, which mixes the two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.vertices import BoolVector, Label, VertexSet

FloatVector = npt.NDArray[np.float64]
Data = AnyGraph | npt.NDArray[Any]
Subset = Iterable[Label] | BoolVector
_BATCH_ENTRIES = 1 << 24  # floats in one block of a batch: 128 MiB


class Query(Protocol):
    """A linear query on the weights of vertex pairs."""

    def value(self, data: Data, *, bipartite: bool = False) -> float:
        """The answer on a graph, or on a matrix whose rows are vertices 0..n-1."""
        ...

    def sensitivity(self, graph: AnyGraph) -> float:
        """Largest change of the value when one pair's weight changes by 1."""
        ...


@final
@dataclass(frozen=True)
class CutQuery:
    """Total weight of the edges with one end in S and the other in T, each edge once.

    Args:
        S: vertex labels, or a truth vector over the vertices (left ones of a bipartite graph).
        T: likewise (right ones of a bipartite graph). None: all vertices outside S (all right
            vertices).
    """

    S: Subset
    T: Subset | None = None

    def __post_init__(self) -> None:
        # Iterators would be used up by the first answer.
        object.__setattr__(self, "S", _keep(self.S))
        object.__setattr__(self, "T", None if self.T is None else _keep(self.T))

    def value(self, data: Data, *, bipartite: bool = False) -> float:
        """The answer.

        Args:
            data: a graph, or a matrix: symmetric with rows 0..n-1, or a biadjacency matrix.
            bipartite: whether a matrix is a biadjacency matrix.

        Raises:
            QueryError: unknown vertices, or a matrix that is not symmetric.
        """
        if isinstance(data, np.ndarray):
            return float(answer_all([self], data, bipartite=bipartite)[0])
        S, T = self.masks(data)
        codes = S * np.uint8(1)
        if isinstance(data, Graph):
            # Bit 0: in S, bit 1: in T. An edge counts when its ends' codes are joined by a table.
            codes |= T * np.uint8(2)
            counted = _CROSSES[codes[data.rows] * np.uint8(4) + codes[data.columns]]
        else:
            counted = S[data.rows] & T[data.columns]
        if not data.weighted:
            return float(np.count_nonzero(counted))
        return float(data.weights[counted].sum())

    def sensitivity(self, graph: AnyGraph) -> float:
        """1, or 0 when no pair of distinct vertices joins S and T. Only the vertex set is read."""
        S, T = self.masks(graph)
        return float(pairs_between(S, T, bipartite=not isinstance(graph, Graph)) > 0)

    def masks(
        self, space: "AnyGraph | VertexSet | tuple[VertexSet, VertexSet]"
    ) -> tuple[BoolVector, BoolVector]:
        """Truth vectors of S and T over the public vertex set(s).

        Raises:
            QueryError: an unknown vertex, or a truth vector of the wrong length.
        """
        left, right = _sides(space)
        S = left.mask(self.S)
        if self.T is not None:
            return S, right.mask(self.T)
        return S, (~S if left is right else np.ones(len(right), dtype=np.bool_))


@final
@dataclass(frozen=True)
class RankOneQuery:
    """The bilinear form u' A v for u, v in [0, 1]^n: edge {i,j} counts u_i v_j + u_j v_i.

    Args:
        u: shape (n,), in [0, 1] (left vertices of a bipartite graph).
        v: shape (n,), in [0, 1] (right vertices of a bipartite graph).

    Raises:
        QueryError: not vectors, or entries outside [0, 1] or not finite.
    """

    u: npt.ArrayLike
    v: npt.ArrayLike
    _vectors: tuple[FloatVector, FloatVector] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vectors = []
        for given in (self.u, self.v):
            vector = np.array(given, dtype=np.float64)
            if vector.ndim != 1 or not ((vector >= 0) & (vector <= 1)).all():
                raise QueryError("u and v of a rank-one query are vectors with entries in [0, 1]")
            vector.flags.writeable = False
            vectors.append(vector)
        object.__setattr__(self, "_vectors", tuple(vectors))

    def value(self, data: Data, *, bipartite: bool = False) -> float:
        """The answer on a graph or a matrix.

        Raises:
            QueryError: vectors of the wrong length.
        """
        matrix = _matrix(data, bipartite)
        u, v = self._vectors
        if matrix.shape != (len(u), len(v)):
            raise QueryError(f"u and v have lengths {(len(u), len(v))}, the data {matrix.shape}")
        return float(u @ (matrix @ v))

    def sensitivity(self, graph: AnyGraph) -> float:
        """Largest coefficient |u_i v_j + u_j v_i| (bipartite: u_i v_j), exactly; at most 2.

        For a fixed j the coefficient is linear in the point (u_i, v_i), so a best i is a corner
        of the convex hull of the other points; it therefore lies on the first two hulls, and only
        pairs of those are tried.
        """
        u, v = self._vectors
        left, right = _sides(graph)
        if (len(u), len(v)) != (len(left), len(right)):
            raise QueryError(
                f"u and v have lengths {(len(u), len(v))}, the vertex sets "
                f"{(len(left), len(right))}"
            )
        if not isinstance(graph, Graph):
            return float(u.max() * v.max())
        if len(u) < 2:
            return 0.0
        outer = _upper_hull(u, v, np.arange(len(u)))
        rest = np.setdiff1d(np.arange(len(u)), outer)
        corners = np.concatenate([outer, _upper_hull(u, v, rest)]) if len(rest) else outer
        joined = np.outer(u[corners], v[corners])
        joined += joined.T
        np.fill_diagonal(joined, 0)
        return float(joined.max())


def answer_all(
    queries: Sequence[CutQuery | RankOneQuery],
    data: Data,
    *,
    bipartite: bool = False,
) -> FloatVector:
    """Answers of many queries by a few matrix products.

    Args:
        queries: cut and rank-one queries, mixed at will.
        data: a graph, or a matrix whose rows are vertices 0..n-1.
        bipartite: whether a matrix is a biadjacency matrix.

    Returns:
        Shape (len(queries),), in the order of the queries.

    Raises:
        QueryError: as for single queries.
    """
    matrix = _matrix(data, bipartite)
    plain = isinstance(data, Graph) or (not bipartite and isinstance(data, np.ndarray))
    space: Any = data
    if isinstance(data, np.ndarray):
        sides = VertexSet(matrix.shape[0]), VertexSet(matrix.shape[1])
        space = sides[0] if plain else sides
    answers = np.empty(len(queries))
    block = max(1, _BATCH_ENTRIES // (matrix.shape[0] + matrix.shape[1]))
    for start in range(0, len(queries), block):
        part = queries[start : start + block]
        answers[start : start + len(part)] = _answer_block(part, matrix, space, plain=plain)
    return answers


def _answer_block(
    queries: Sequence[CutQuery | RankOneQuery], matrix: Any, space: Any, *, plain: bool
) -> FloatVector:
    left = np.empty((len(queries), matrix.shape[0]))
    right = np.empty((len(queries), matrix.shape[1]))
    both = np.zeros((len(queries), matrix.shape[0])) if plain else None
    for i, query in enumerate(queries):
        if isinstance(query, RankOneQuery):
            u, v = query._vectors
            if (len(u), len(v)) != matrix.shape:
                raise QueryError(f"u and v have lengths {(len(u), len(v))}, not {matrix.shape}")
            left[i], right[i] = u, v
        else:
            S, T = query.masks(space)
            left[i], right[i] = S, T
            if both is not None:
                both[i] = S & T
    answers = np.einsum("ij,ij->i", left @ matrix, right)
    if both is not None:
        overlapping = np.flatnonzero(both.any(axis=1))
        inside = both[overlapping]
        answers[overlapping] -= np.einsum("ij,ij->i", inside @ matrix, inside) / 2
    return np.asarray(answers, dtype=np.float64)


def pairs_between(S: BoolVector, T: BoolVector, *, bipartite: bool) -> int:
    """Number of vertex pairs with one end in S and the other in T, each pair once."""
    product = int(S.sum()) * int(T.sum())
    if bipartite:
        return product
    both = int((S & T).sum())
    return product - both - both * (both - 1) // 2


def _keep(subset: Subset) -> Subset:
    if isinstance(subset, np.ndarray):
        return subset.copy()
    if isinstance(subset, str):
        raise QueryError(f"a set of vertices is a list of labels, not the string {subset!r}")
    return tuple(subset)


def _sides(space: Any) -> tuple[VertexSet, VertexSet]:
    if isinstance(space, VertexSet):
        return space, space
    if isinstance(space, tuple):
        return space[0], space[1]
    if isinstance(space, Graph):
        return space.vertices, space.vertices
    return space.left, space.right


def _matrix(data: Data, bipartite: bool) -> Any:
    """The sparse matrix of a graph, or a checked dense one with a zero diagonal."""
    if isinstance(data, Graph):
        return data.adjacency
    if isinstance(data, np.ndarray):
        matrix = np.array(data, dtype=np.float64)
        if matrix.ndim != 2 or not matrix.size:
            raise QueryError("queries are asked of a graph or of a matrix with two dimensions")
        if not bipartite:
            if matrix.shape[0] != matrix.shape[1] or (matrix != matrix.T).any():
                raise QueryError("the matrix is not symmetric; pass bipartite=True if it need not")
            np.fill_diagonal(matrix, 0)
        return matrix
    return data.biadjacency


def _crossing_table() -> npt.NDArray[np.bool_]:
    codes = np.arange(16)
    first, second = codes // 4, codes % 4
    return ((first & 1) & (second >> 1) | (second & 1) & (first >> 1)).astype(np.bool_)


_CROSSES = _crossing_table()


def _upper_hull(
    u: FloatVector, v: FloatVector, subset: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Points of `subset` that maximise a u + b v for some a, b >= 0 (ties kept out)."""
    order = subset[np.lexsort((-v[subset], -u[subset]))]
    hull: list[int] = []
    for i in order:
        if hull and v[i] <= v[hull[-1]]:
            continue  # dominated: not larger in either coordinate
        while len(hull) > 1 and (u[hull[-1]] - u[hull[-2]]) * (v[i] - v[hull[-2]]) <= (
            v[hull[-1]] - v[hull[-2]]
        ) * (u[i] - u[hull[-2]]):
            hull.pop()
        hull.append(int(i))
    return np.array(hull, dtype=np.int64)
