"""Linear queries on the weights of vertex pairs: values, exact sensitivities, batches.

A cut query counts every edge once, also when S and T overlap; the matrix form 1_S' A 1_T would
count edges inside both twice. Source: GRU12 section 2, which mixes the two. `MixedCut` is a cut of
a two-sided graph whose sets hold vertices of both sides.

This module knows graphs by their public interface only, so that post-processing may use queries
without being able to reach `graph.adjacency`.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeGuard, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.schema.vertices import (
    ALL,
    Arcs,
    Label,
    NamedSet,
    Space,
    VertexSet,
    one_set,
    sides_in,
)


class _Edges(Protocol):
    @property
    def rows(self) -> npt.NDArray[np.int32]: ...
    @property
    def columns(self) -> npt.NDArray[np.int32]: ...
    @property
    def weights(self) -> FloatVector: ...
    @property
    def weighted(self) -> bool: ...


class AnyGraph(_Edges, Protocol):
    """What queries read of a graph of any kind, besides its sparse matrix."""

    @property
    def space(self) -> Space:
        """Its vertex set, both, or `Arcs`. Public."""
        ...


Data = AnyGraph | npt.NDArray[Any]


def space_of(graph: AnyGraph | Space) -> Space:
    """The vertex set of a graph, its two, or `Arcs`."""
    return graph if isinstance(graph, VertexSet | tuple) else graph.space


def sides_of(graph: AnyGraph | Space) -> tuple[VertexSet, VertexSet]:
    """Return the vertex sets of rows and of columns; the same object for a plain graph."""
    return sides_in(space_of(graph))


def matrix_of(data: Data, bipartite: bool, directed: bool = False) -> tuple[Any, Space]:
    """The sparse matrix of a graph, or a checked dense one with a zero diagonal; its vertex sets.

    Raises:
        QueryError: no matrix, or one that is not symmetric where it must be.
    """
    if isinstance(data, np.ndarray):
        matrix = np.array(data, dtype=np.float64)
        if matrix.ndim != 2 or not matrix.size:
            raise QueryError("queries are asked of a graph or of a matrix with two dimensions")
        rows, columns = matrix.shape
        if bipartite:
            return matrix, (VertexSet(rows), VertexSet(columns))
        if rows != columns or (not directed and (matrix != matrix.T).any()):
            raise QueryError(
                "the matrix is not symmetric; pass directed=True or bipartite=True if it need not"
            )
        np.fill_diagonal(matrix, 0)
        return matrix, Arcs(VertexSet(rows)) if directed else VertexSet(rows)
    return getattr(data, "adjacency" if one_set(data.space) else "biadjacency"), data.space


class QueryFactors(NamedTuple):
    """A query as u' A v, less the pairs within `overlap`, which u' A v counts twice.

    Over `Arcs`, the entries on the diagonal, which u' A v has and no pair has, are zero in A.

    Attributes:
        left: u.
        right: v.
        overlap: 0/1 vector of the vertices on both sides of a cut; None where a pair shall count
            u_i v_j + u_j v_i, and over two vertex sets.
    """

    left: FloatVector
    right: FloatVector
    overlap: FloatVector | None = None


class LinearQuery(Protocol):
    """A linear query: it has a real coefficient for each vertex pair.

    A class needs its coefficients alone; what it inherits works from them, and can be overridden by
    something faster.

    It can be asked of graphs, matrices, hypotheses and the mechanisms that take linear queries.
    """

    @abstractmethod
    def coefficients(self, space: Space) -> FloatMatrix:
        """The coefficient of each pair, as a new matrix over the vertex sets.

        Shape (n, n), symmetric with a zero diagonal, for one vertex set; (n_left, n_right) for two,
        with a zero diagonal if they are `Arcs`.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        ...

    def factors(self, space: Space) -> QueryFactors | None:
        """The query in factors, if it has them: answers then need no matrix of coefficients."""
        del space
        return None

    def value(self, data: Data, *, bipartite: bool = False, directed: bool = False) -> float:
        """The answer on a graph, or on a matrix whose rows are vertices 0..n-1.

        Raises:
            QueryError: a query that does not fit, or a matrix that is not symmetric.
        """
        return self.value_on_matrix(*matrix_of(data, bipartite, directed))

    def value_on_matrix(self, matrix: Any, space: Space) -> float:
        """The answer on a matrix over the vertex sets, dense or sparse, which is not checked."""
        return weighted_sum(self.coefficients(space), matrix, space)

    def sensitivity(self, graph: AnyGraph | Space) -> float:
        """Largest change of the value when one pair's weight changes by 1.

        Only the vertex sets are read.
        """
        return float(np.abs(self.coefficients(space_of(graph))).max(initial=0.0))

    def norm_squared(self, space: Space) -> float:
        """||q||_2^2 over pairs."""
        coefficients = self.coefficients(space)
        return weighted_sum(coefficients, coefficients, space)

    def coefficient_range(self, space: Space) -> tuple[float, float]:
        """Bounds (low, high) with low <= 0 <= high on the coefficients."""
        coefficients = self.coefficients(space)
        return min(0.0, float(coefficients.min())), max(0.0, float(coefficients.max()))

    def coefficients_at(
        self, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], space: Space
    ) -> FloatVector:
        """The coefficients of some pairs."""
        found: FloatVector = self.coefficients(space)[rows, columns]
        return found


def is_query(given: object) -> TypeGuard[LinearQuery]:
    """Whether this is a whole query, and not a set of vertices."""
    return hasattr(given, "coefficients")


def weighted_sum(coefficients: FloatMatrix, matrix: Any, space: Space) -> float:
    """Sum over pairs of coefficient times weight.

    Args:
        coefficients: a matrix over the vertex sets.
        matrix: likewise, dense or sparse.
        space: the vertex set, or the left and the right one.
    """
    if sp.issparse(matrix):
        total = matrix.multiply(coefficients).sum()
    else:
        total = np.vdot(coefficients, matrix)
    return float(total) / (2 if isinstance(space, VertexSet) else 1)


Subset = Iterable[Label] | BoolVector
MARK = "@"  # begins the name of a group where sets are typed
_BATCH_ENTRIES = 1 << 24  # floats in one block of a batch: 128 MiB


@final
@dataclass(frozen=True)
class CutQuery(LinearQuery):
    """A cut query: total weight of the edges with one end in S and the other in T, each once.

    In a directed graph: of the arcs from S to T, also where S and T overlap.

    Args:
        S: vertex labels, or a truth vector over the vertices (left ones of a bipartite graph), or
            "*": all of them.
        T: likewise (right ones of a bipartite graph). None: all vertices outside S (all right
            vertices).

    Examples:
        >>> path = gc.Graph.of([("ann", "bob"), ("bob", "eve")])
        >>> gc.CutQuery(["bob"]).value(path)  # what passes between Bob and everybody else
        2.0
        >>> gc.CutQuery(["ann"], ["eve"]).value(path)
        0.0
    """

    S: Subset
    T: Subset | None = None

    def __post_init__(self) -> None:
        # Iterators would be used up by the first answer.
        object.__setattr__(self, "S", _keep(self.S))
        object.__setattr__(self, "T", None if self.T is None else _keep(self.T))

    def value(self, data: Data, *, bipartite: bool = False, directed: bool = False) -> float:
        """The answer.

        Args:
            data: a graph, or a matrix: symmetric with rows 0..n-1, or a biadjacency matrix.
            bipartite: whether a matrix is a biadjacency matrix.
            directed: whether a matrix is that of a directed graph.

        Raises:
            QueryError: unknown vertices, or a matrix that is not symmetric.
        """
        if isinstance(data, np.ndarray):
            return float(answer_all([self], data, bipartite=bipartite, directed=directed)[0])
        S, T = self.masks(data)
        codes = S * np.uint8(1)
        if isinstance(data.space, VertexSet):
            # Bit 0: in S, bit 1: in T. An edge counts when its ends' codes are joined by a table.
            codes |= T * np.uint8(2)
            counted = _CROSSES[codes[data.rows] * np.uint8(4) + codes[data.columns]]
        else:
            counted = S[data.rows] & T[data.columns]
        if not data.weighted:
            return float(np.count_nonzero(counted))
        return float(data.weights[counted].sum())

    def sensitivity(self, graph: AnyGraph | Space) -> float:
        """1, or 0 when no pair of distinct vertices joins S and T. Only the vertex set is read."""
        return float(pairs_of_cut(*self.masks(graph), space_of(graph)) > 0)

    def coefficients(self, space: Space) -> FloatMatrix:
        """See `LinearQuery.coefficients`: 1 for pairs between S and T."""
        S, T = self.masks(space)
        joined = np.logical_and.outer(S, T)
        if isinstance(space, VertexSet):
            joined |= joined.T
        if one_set(space):
            np.fill_diagonal(joined, False)
        return joined.astype(np.float64)

    def factors(self, space: Space) -> QueryFactors:
        """See `LinearQuery.factors`."""
        S, T = self.masks(space)
        both = (S & T).astype(np.float64) if isinstance(space, VertexSet) else None
        return QueryFactors(S.astype(np.float64), T.astype(np.float64), both)

    def norm_squared(self, space: Space) -> float:
        """The number of pairs between S and T."""
        return float(pairs_of_cut(*self.masks(space), space))

    def coefficient_range(self, space: Space) -> tuple[float, float]:
        """(0, 1), whatever S and T are."""
        del space
        return 0.0, 1.0

    def coefficients_at(
        self, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], space: Space
    ) -> FloatVector:
        """See `LinearQuery.coefficients_at`."""
        S, T = self.masks(space)
        found: BoolVector = S[rows] & T[columns]
        if isinstance(space, VertexSet):
            found = found | (S[columns] & T[rows])
        if one_set(space):
            found = found & (rows != columns)
        return found.astype(np.float64)

    def masks(self, space: AnyGraph | Space) -> tuple[BoolVector, BoolVector]:
        """Truth vectors of S and T over the public vertex set(s); do not write to them.

        Raises:
            QueryError: an unknown vertex, or a truth vector of the wrong length.
        """
        left, right = sides_of(space)
        S = left.mask(self.S)
        if self.T is not None:
            return S, right.mask(self.T)
        return S, (~S if one_set(space_of(space)) else np.ones(len(right), dtype=np.bool_))


@final
@dataclass(frozen=True)
class RankOneQuery(LinearQuery):
    """A query u' A v for u, v in [0, 1]^n: the edge {i,j} counts u_i v_j + u_j v_i.

    In a bipartite or a directed graph, the edge (i, j) counts u_i v_j.

    Args:
        u: shape (n,), in [0, 1] (left vertices of a bipartite graph).
        v: shape (n,), in [0, 1] (right vertices of a bipartite graph).

    Raises:
        QueryError: not vectors, or entries outside [0, 1] or not finite.

    Examples:
        >>> path = gc.Graph.of([(0, 1), (1, 2)])
        >>> gc.Query.rank_one([0, 1, 0], [1, 0, 0.5]).value(path)
        1.5
    """

    u: npt.ArrayLike
    v: npt.ArrayLike
    _vectors: tuple[FloatVector, FloatVector] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vectors = []
        for given in (self.u, self.v):
            vector = _numbers(given)
            if vector.ndim != 1 or not ((vector >= 0) & (vector <= 1)).all():
                raise QueryError("u and v of a rank-one query are vectors with entries in [0, 1]")
            vector.flags.writeable = False
            vectors.append(vector)
        object.__setattr__(self, "_vectors", tuple(vectors))

    def vectors(self, shape: tuple[int, int]) -> tuple[FloatVector, FloatVector]:
        """(u, v), read-only, checked against the numbers of vertices.

        Raises:
            QueryError: vectors of the wrong length.
        """
        u, v = self._vectors
        if shape != (len(u), len(v)):
            raise QueryError(f"u and v have lengths {(len(u), len(v))}, the vertex sets {shape}")
        return u, v

    def value(self, data: Data, *, bipartite: bool = False, directed: bool = False) -> float:
        """The answer on a graph or a matrix.

        Raises:
            QueryError: vectors of the wrong length.
        """
        matrix, _ = matrix_of(data, bipartite, directed)
        u, v = self.vectors(matrix.shape)
        return float(u @ (matrix @ v))

    def coefficients(self, space: Space) -> FloatMatrix:
        """See `LinearQuery.coefficients`: u_i v_j + u_j v_i."""
        return _folded(np.outer(*self.vectors(_shape(space))), space)

    def factors(self, space: Space) -> QueryFactors:
        """See `LinearQuery.factors`."""
        return QueryFactors(*self.vectors(_shape(space)))

    def norm_squared(self, space: Space) -> float:
        """See `LinearQuery.norm_squared`."""
        u, v = self.vectors(_shape(space))
        if isinstance(space, Arcs):
            return float((u * u) @ _sums_of_others(v * v))
        if not isinstance(space, VertexSet):
            return float(u @ u) * float(v @ v)
        # (u_i v_j + u_j v_i)^2 over i < j. Taking the diagonal off the products of sums would
        # leave rounding errors only when one vertex has nearly all of u and v.
        return float((u * u) @ _sums_of_others(v * v) + (u * v) @ _sums_of_others(u * v))

    def coefficient_range(self, space: Space) -> tuple[float, float]:
        """(0, sensitivity)."""
        return 0.0, self.sensitivity(space)

    def coefficients_at(
        self, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], space: Space
    ) -> FloatVector:
        """See `LinearQuery.coefficients_at`."""
        u, v = self.vectors(_shape(space))
        found: FloatVector = u[rows] * v[columns]
        if isinstance(space, VertexSet):
            found = found + u[columns] * v[rows]
        if one_set(space):
            found = found * (rows != columns)
        return found

    def sensitivity(self, graph: AnyGraph | Space) -> float:
        """Largest coefficient |u_i v_j + u_j v_i| (else u_i v_j), exactly; at most 2 (else 1).

        For a fixed j the coefficient is linear in the point (u_i, v_i), so a best i is a corner
        of the convex hull of the other points; it therefore lies on the first two hulls, and only
        pairs of those are tried.
        """
        left, right = sides_of(graph)
        u, v = self.vectors((len(left), len(right)))
        if isinstance(space_of(graph), Arcs):
            return _largest_product(u, v)
        if left is not right:
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


@final
@dataclass(frozen=True)
class MatrixQuery(LinearQuery):
    """A linear query with any real coefficients: the sum over entries C_ij A_ij.

    Edge {i,j} counts C_ij + C_ji, as it does for `RankOneQuery`, which is the case C = u v'. The
    diagonal of C is ignored.

    Args:
        C: shape (n, n), or (n_left, n_right) for bipartite graphs, finite. It is copied.

    Raises:
        QueryError: not a matrix, or entries that are not finite.

    Examples:
        >>> path = gc.Graph.of([(0, 1), (1, 2)])
        >>> gc.Query.matrix([[0, 2.5, 0], [0, 0, 0], [0, 0, 0]]).value(path)
        2.5

    Source: JT12 section 4.2.
    """

    C: npt.ArrayLike
    _entries: FloatMatrix = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        entries = _numbers(self.C)
        if entries.ndim != 2 or not entries.size or not np.isfinite(entries).all():
            raise QueryError("the coefficients of a matrix query are a matrix of finite numbers")
        entries.flags.writeable = False
        object.__setattr__(self, "_entries", entries)

    def entries(self, shape: tuple[int, int]) -> FloatMatrix:
        """C, read-only, checked against the numbers of vertices.

        Raises:
            QueryError: a matrix of the wrong shape.
        """
        if self._entries.shape != shape:
            raise QueryError(f"C has shape {self._entries.shape}, the vertex sets {shape}")
        return self._entries

    def coefficients(self, space: Space) -> FloatMatrix:
        """See `LinearQuery.coefficients`: C_ij + C_ji, or C_ij where pairs are ordered."""
        return _folded(self.entries(_shape(space)).copy(), space)

    def value_on_matrix(self, matrix: Any, space: Space) -> float:
        """See `LinearQuery.value_on_matrix`: the sum over all entries, with no matrix made."""
        del space
        C = self.entries(matrix.shape)
        return float(matrix.multiply(C).sum() if sp.issparse(matrix) else np.vdot(C, matrix))


def answer_all(
    queries: Sequence[LinearQuery],
    data: Data,
    *,
    bipartite: bool = False,
    directed: bool = False,
) -> FloatVector:
    """Compute the answers of many queries by a few matrix products.

    Args:
        queries: cut, rank-one and matrix queries, mixed at will.
        data: a graph, or a matrix whose rows are vertices 0..n-1.
        bipartite: whether a matrix is a biadjacency matrix.
        directed: whether a matrix is that of a directed graph.

    Returns:
        Shape (len(queries),), in the order of the queries.

    Raises:
        QueryError: as for single queries.

    Examples:
        >>> path = gc.Graph.of([(0, 1), (1, 2)])
        >>> gc.answer_all([gc.CutQuery([1]), gc.CutQuery([0])], path)
        array([2., 1.])
    """
    matrix, space = matrix_of(data, bipartite, directed)
    return answer_on_matrix(queries, matrix, space)


def answer_on_matrix(queries: Sequence[LinearQuery], matrix: Any, space: Space) -> FloatVector:
    """`answer_all` on a matrix that is known to be right: nothing is checked or copied.

    Args:
        queries: cut, rank-one and matrix queries, mixed at will.
        matrix: dense or sparse; symmetric with a zero diagonal when `space` is one vertex set,
            else a biadjacency matrix.
        space: the vertex set, or the left and the right one.

    Raises:
        QueryError: a query that does not fit the vertex sets.
    """
    answers = np.empty(len(queries))
    block = max(1, _BATCH_ENTRIES // (matrix.shape[0] + matrix.shape[1]))
    for start in range(0, len(queries), block):
        factored: dict[int, QueryFactors] = {}
        for i, query in enumerate(queries[start : start + block], start):
            factors = query.factors(space)
            if factors is None:
                answers[i] = query.value_on_matrix(matrix, space)
            else:
                factored[i] = factors
        if factored:
            answers[list(factored)] = _answer_block(list(factored.values()), matrix)
    return answers


def _answer_block(factored: list[QueryFactors], matrix: Any) -> FloatVector:
    left = np.array([factors.left for factors in factored])
    right = np.array([factors.right for factors in factored])
    both = np.zeros_like(left)
    for i, factors in enumerate(factored):
        if factors.overlap is not None:
            both[i] = factors.overlap
    answers = np.einsum("ij,ij->i", left @ matrix, right)
    overlapping = np.flatnonzero(both.any(axis=1))
    if len(overlapping):
        inside = both[overlapping]
        answers[overlapping] -= np.einsum("ij,ij->i", inside @ matrix, inside) / 2
    return np.asarray(answers, dtype=np.float64)


def pairs_of_sizes(S: int, T: int, both: int, *, symmetric: bool) -> int:
    """`pairs_of_cut` between sets of known sizes.

    Args:
        S: how many rows.
        T: how many columns.
        both: how many vertices are in both; 0 between two sides.
        symmetric: whether {i, j} is one pair.
    """
    twice = both * (both - 1) // 2 if symmetric else 0
    return S * T - both - twice


def pairs_of_cut(S: BoolVector, T: BoolVector, space: Space) -> int:
    """Number of pairs of a space with the first end in S and the second in T, each pair once."""
    both = int(np.count_nonzero(S & T)) if one_set(space) else 0
    sizes = int(np.count_nonzero(S)), int(np.count_nonzero(T))
    return pairs_of_sizes(*sizes, both, symmetric=isinstance(space, VertexSet))


def _keep(subset: Subset | str) -> Subset:
    if isinstance(subset, NamedSet):
        return subset  # it does not change
    if isinstance(subset, np.ndarray):
        if subset.flags.owndata and not subset.flags.writeable:
            return subset  # nobody writes to it: many queries can share it
        copy = subset.copy()
        copy.flags.writeable = False
        return copy
    if isinstance(subset, str):
        if subset == ALL:
            return ALL
        hint = ""
        if subset.startswith(MARK):
            hint = "; to name groups, open the session, or make the release, with groups="
        raise QueryError(f"a set of vertices is a list of labels, not the string {subset!r}{hint}")
    try:
        return tuple(subset)
    except TypeError:
        raise QueryError(f"a set of vertices is a list of labels, not {subset!r}") from None


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


def _shape(space: Space) -> tuple[int, int]:
    left, right = sides_of(space)
    return len(left), len(right)


def _folded(entries: FloatMatrix, space: Space) -> FloatMatrix:
    """The coefficient of each pair: of one vertex set, both entries of the pair together."""
    if isinstance(space, VertexSet):
        entries += entries.T.copy()
    if one_set(space):
        np.fill_diagonal(entries, 0)
    return entries


def _largest_product(u: FloatVector, v: FloatVector) -> float:
    """Max u_i v_j over i != j: one of the two largest u_i with one of the two largest v_j."""
    first, second = np.argsort(-u)[:2], np.argsort(-v)[:2]
    return max((float(u[i] * v[j]) for i in first for j in second if i != j), default=0.0)


def _sums_of_others(x: FloatVector) -> FloatVector:
    """sum_{j != i} x_j for each i, without subtracting."""
    others = np.zeros(len(x))
    others[1:] = np.cumsum(x[:-1])
    others[:-1] += np.cumsum(x[:0:-1])[::-1]
    return others


@final
class MixedCut(LinearQuery):
    """Edges of a bipartite graph with one end in S and the other in T, each once.

    S and T may each hold vertices of both sides, as in a graph that forgets its sides: an edge
    counts if its left end is in S and its right end in T, or its left end in T and its right end in
    S. Coefficients are 0 or 1.

    Args:
        S: masks of its left and of its right vertices.
        T: likewise.
    """

    def __init__(self, S: tuple[BoolVector, BoolVector], T: tuple[BoolVector, BoolVector]) -> None:
        self.S = S
        self.T = T

    def __repr__(self) -> str:
        return "MixedCut()"

    @property
    def parts(self) -> int:
        """Of how many cuts between a left and a right set it is the sum or difference.

        Two; and where both ends can be in both sets, what these two count twice is a third.
        """
        twice = (self.S[0] & self.T[0]).any() and (self.S[1] & self.T[1]).any()
        return 3 if twice else 2

    def coefficients(self, space: Space) -> FloatMatrix:
        """See `LinearQuery.coefficients`.

        Raises:
            QueryError: masks of other vertex sets.
        """
        shape = tuple(len(side) for side in space) if isinstance(space, tuple) else ()
        if shape != (len(self.S[0]), len(self.S[1])):
            raise QueryError("this query was made for other vertex sets")
        joined = np.logical_and.outer(self.S[0], self.T[1])
        joined |= np.logical_and.outer(self.T[0], self.S[1])
        return joined.astype(np.float64)

    def coefficients_at(
        self, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], space: Space
    ) -> FloatVector:
        """See `LinearQuery.coefficients_at`."""
        del space
        found = (self.S[0][rows] & self.T[1][columns]) | (self.T[0][rows] & self.S[1][columns])
        return np.asarray(found, dtype=np.float64)


def _numbers(given: npt.ArrayLike) -> FloatMatrix:
    """A copy as floats.

    Raises:
        QueryError: something that is no number.
    """
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise QueryError("the coefficients of a query are numbers") from None


def understood(query: LinearQuery, space: Space) -> LinearQuery:
    """A cut whose sets mix both sides as a `MixedCut`; every other query as it is.

    A set without T means all vertices outside S, on both sides, as soon as S holds a right vertex.
    Where S has left vertices and T right ones alone, nothing changes.

    Raises:
        QueryError: a label of the other side that both sides have, so that nobody can tell which
            vertex is meant; an unknown vertex.
    """
    if not isinstance(query, CutQuery) or isinstance(space, VertexSet | Arcs):
        return query
    left, right = space
    if _on_its_side(query.S, left) and (query.T is None or _on_its_side(query.T, right)):
        return query
    S = _split(query.S, left, right)
    T = (~S[0], ~S[1]) if query.T is None else _split(query.T, left, right)
    return MixedCut(S, T)


def _on_its_side(subset: Subset, side: VertexSet) -> bool:
    """Whether a set is on its side; what is unknown on both sides is left to `mask` to refuse."""
    if isinstance(subset, np.ndarray | str | NamedSet):
        return True
    return all(side.find(label) is not None for label in subset)


def _split(subset: Subset, left: VertexSet, right: VertexSet) -> tuple[BoolVector, BoolVector]:
    """The left and the right vertices of a set."""
    if isinstance(subset, str):  # no other text is a set
        return np.ones(len(left), dtype=np.bool_), np.ones(len(right), dtype=np.bool_)
    if isinstance(subset, np.ndarray):
        raise QueryError(
            "one set holds vertices of both sides, the other one is a truth vector: write labels"
        )
    labels: Iterable[Label] = subset if isinstance(subset, Collection) else tuple(subset)
    here: list[Label] = []
    there: list[Label] = []
    for label in labels:
        sides = left.find(label), right.find(label)
        if None not in sides:
            raise QueryError(
                f"{label!r:.60} is a vertex of both sides: in a set that mixes them nobody can tell"
                " which one is meant; ask for S on the left and T on the right"
            )
        if sides == (None, None):
            raise QueryError(f"unknown vertex {label!r:.60}; it is on neither side")
        (here if sides[0] is not None else there).append(label)
    return left.mask(here), right.mask(there)
