"""Linear queries: cuts, rank-one queries, matrices of coefficients, and their answers.

A linear query has one real coefficient for each pair of vertices that an edge can join. Its answer
is the sum over pairs of coefficient times weight. `LinearQuery` is the interface; `CutQuery`,
`RankOneQuery` and `MatrixQuery` are the three kinds, each with faster formulas of its own. They are
one topic and one file: each method is the same sum for three forms of coefficients. Answers are
exact here, so those on a private graph are private; sessions and releases add noise.

A `Space` says which pairs there are; it is public. Three kinds of it occur everywhere below:

- a `VertexSet`: an undirected graph; {i, j} is one pair, and matrices are symmetric;
- `Arcs` of one vertex set: a directed graph; (i, j) and (j, i) are two pairs;
- two vertex sets, the left and the right side of a bipartite graph: (i, j) joins one of each.

`one_set(space)` is true for the first two. There no vertex is paired with itself, so matrices have
a zero diagonal. `isinstance(space, VertexSet)` is true for the first alone. The other two are
tuples (rows, columns): `Arcs` is a subclass of tuple, with two equal sets that are not the same
object. `sides_of` returns rows and columns for all three, the same object twice for a `VertexSet`.

A set of vertices in a query is a list of labels, truth values, one for each vertex of its side
(True for the vertices in the set), "*" for all vertices, or a `NamedSet`: a set stored by a name,
such as a group, which makes its truth vector when asked. Integers are labels; `VertexSet.at` makes
a set of row numbers. `VertexSet.mask` turns each of these into a truth vector, and refuses unknown
vertices.

A cut query counts every edge once, also where S and T overlap; 1_S' A 1_T would count the edges
inside both twice. (GRU12 section 2 uses both forms.) This module imports no class of graphs: it
knows graphs by the protocols below, so code that works on public numbers may import it.

Citations such as GRU12 stand for papers; docs/papers.md lists them.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeGuard, cast, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import KindError, QueryError
from graphcuts_dp.schema.vertices import (
    ALL,
    Arcs,
    Label,
    NamedSet,
    Space,
    VertexSet,
    one_set,
    plain_subset,
    sides_in,
)

MARK = "@"  # begins a name of a group, such as "@Sales", which `group_names` replaces by a set
# Floats in the vectors u and v of one block of a batch of answers: 128 MiB. Copies, overlaps
# and products with the matrix take up to four times as much besides.
_BATCH_ENTRIES = 1 << 24

# The code of a vertex has bit 0 set if it is in S, and bit 1 if it is in T. Entry 4 a + b says
# whether an edge between vertices of codes a and b has one endpoint in S and the other in T.
_JOINS_S_AND_T = np.array(
    [
        # b: neither, S, T, both
        [False, False, False, False],  # a: in neither
        [False, False, True, True],  # a: in S
        [False, True, False, True],  # a: in T
        [False, True, True, True],  # a: in both
    ]
).ravel()

Subset = Iterable[Label] | BoolVector  # see the text above; "*" and named sets are iterables


class AnyGraph(Protocol):
    """A graph of any kind, as queries read it besides its sparse matrix.

    Each edge is listed once, also in an undirected graph, and no edge joins a vertex to itself.
    """

    @property
    def rows(self) -> npt.NDArray[np.int32]:
        """Row number of the first endpoint of each edge, shape (edges,)."""
        ...

    @property
    def columns(self) -> npt.NDArray[np.int32]:
        """Column number of the second endpoint of each edge, shape (edges,)."""
        ...

    @property
    def weights(self) -> FloatVector:
        """Weight of each edge, shape (edges,)."""
        ...

    @property
    def weighted(self) -> bool:
        """Return whether some weight may differ from 1. If not, answers are numbers of edges."""
        ...

    @property
    def space(self) -> Space:
        """The pairs that its edges can join: its vertex set, both, or `Arcs`. Public."""
        ...


class _GraphOnOneSet(AnyGraph, Protocol):
    """An undirected or a directed graph, with its sparse matrix, (n, n)."""

    @property
    def adjacency(self) -> Any: ...


class _GraphOnTwoSides(AnyGraph, Protocol):
    """A bipartite graph, with its sparse matrix, (n_left, n_right)."""

    @property
    def biadjacency(self) -> Any: ...


Data = AnyGraph | npt.NDArray[Any]  # what a query can be asked of: a graph, or a dense matrix


def space_of(graph: AnyGraph | Space) -> Space:
    """Return the space of a graph; a space is returned as it is."""
    return graph if isinstance(graph, VertexSet | tuple) else graph.space


def sides_of(graph: AnyGraph | Space) -> tuple[VertexSet, VertexSet]:
    """Return the vertex sets of rows and of columns; the same object for a plain graph."""
    return sides_in(space_of(graph))


def matrix_and_space(data: Data, bipartite: bool, directed: bool = False) -> tuple[Any, Space]:
    """Return the matrix of a graph with its space, or a checked copy of a dense matrix.

    Args:
        data: a graph, or a matrix whose rows are vertices 0..n-1.
        bipartite: whether a matrix is a biadjacency matrix.
        directed: whether a matrix is that of a directed graph; not read if `bipartite`.

    Returns:
        The sparse matrix of the graph, or the dense copy; and the space that it is over. Unless
        `bipartite`, entries on the diagonal of a dense matrix are ignored: the copy has zeros.

    Raises:
        QueryError: not a matrix, or one that is not symmetric where it must be.
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
    check_graph(data)
    if one_set(data.space):
        return cast(_GraphOnOneSet, data).adjacency, data.space
    return cast(_GraphOnTwoSides, data).biadjacency, data.space


def check_graph(data: object) -> None:
    """Check that data are a graph of this package, of which a true answer can be computed.

    Raises:
        KindError: something else.
    """
    if not hasattr(data, "space"):
        raise KindError(
            "true answers are those of a graph or of a dense matrix of numpy: make a graph of "
            "what you have, gc.Graph.of(source)"
        )


class QueryFactors(NamedTuple):
    """A query as u' A v - o' A o / 2, where A is the matrix of the graph.

    The second term is the weight of the pairs inside `overlap`, which u' A v counts twice. Where no
    vertex is paired with itself, u_i v_i may be any number: it meets the zero A_ii.

    Attributes:
        left: u, shape (rows,).
        right: v, shape (columns,).
        overlap: o, the 0/1 vector of the vertices in both sets of a cut. None if there is no second
            term: for rank-one queries, and for cuts where pairs are ordered.
    """

    left: FloatVector
    right: FloatVector
    overlap: FloatVector | None = None


class LinearQuery(Protocol):
    """A linear query: it has a real coefficient for each vertex pair.

    A class needs its coefficients alone. What it inherits works from them, and can be overridden by
    something faster, which must return the same numbers up to rounding.

    Besides graphs, it can be asked of dense matrices, such as the estimates of a private graph that
    mechanisms keep, and of sessions and releases.
    """

    @abstractmethod
    def coefficients(self, space: Space) -> FloatMatrix:
        """Return the coefficient of each pair, as a new matrix over the space.

        Shape (n, n), symmetric with a zero diagonal, for one vertex set; (n, n) with a zero
        diagonal for `Arcs`; (n_left, n_right) for two sides.

        Args:
            space: the public vertex sets.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        ...

    def factors(self, space: Space) -> QueryFactors | None:
        """Return the query in factors; None if it has none.

        `answer_on_matrix` answers a query with factors by them, and others by `value_on_matrix`.

        Args:
            space: the public vertex sets.
        """
        del space
        return None

    def value(self, data: Data, *, bipartite: bool = False, directed: bool = False) -> float:
        """Return the answer.

        Args:
            data: a graph, or a matrix whose rows are vertices 0..n-1: symmetric, unless one of the
                following is true.
            bipartite: whether a matrix is a biadjacency matrix.
            directed: whether a matrix is that of a directed graph.

        Raises:
            QueryError: a query that does not fit, or a matrix that is not symmetric.
        """
        return self.value_on_matrix(*matrix_and_space(data, bipartite, directed))

    def value_on_matrix(self, matrix: Any, space: Space) -> float:
        """Return the answer on a dense or sparse matrix over the space, which is not checked.

        It makes the matrix of coefficients. Cuts and rank-one queries inherit this, but have faster
        ways for callers: `value`, and `answer_on_matrix`.

        Args:
            matrix: a matrix over the universe.
            space: the public vertex sets.
        """
        return weighted_sum(self.coefficients(space), matrix, space)

    def sensitivity(self, graph: AnyGraph | Space) -> float:
        """Return the largest change of the value when one pair's weight changes by 1.

        This is the largest absolute coefficient.

        Args:
            graph: a space, or a graph, of which only the space is read.
        """
        return float(np.abs(self.coefficients(space_of(graph))).max(initial=0.0))

    def norm_squared(self, space: Space) -> float:
        """Return ||q||_2^2, the sum over pairs of the squared coefficients.

        Args:
            space: the public vertex sets.
        """
        coefficients = self.coefficients(space)
        return weighted_sum(coefficients, coefficients, space)

    def coefficient_range(self, space: Space) -> tuple[float, float]:
        """Return bounds (low, high) on the coefficients, with low <= 0 <= high.

        Args:
            space: the public vertex sets.
        """
        coefficients = self.coefficients(space)
        return min(0.0, float(coefficients.min())), max(0.0, float(coefficients.max()))

    def coefficients_at(
        self, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], space: Space
    ) -> FloatVector:
        """Return the coefficients of the pairs (rows[k], columns[k]), shape (k,).

        Args:
            rows: row numbers, shape (k,).
            columns: column numbers, shape (k,).
            space: the public vertex sets.
        """
        coefficients: FloatVector = self.coefficients(space)[rows, columns]
        return coefficients


def is_query(query_or_set: object) -> TypeGuard[LinearQuery]:
    """Return whether an argument is a query, and not a set of vertices.

    It looks for a method `coefficients`, so that classes of users need not inherit `LinearQuery`. A
    `GraphQuery`, a statistic that is no linear query, passes as well: its `coefficients` raises the
    error that the user should see. Callers that must not take one exclude it first.
    """
    return hasattr(query_or_set, "coefficients")


def weighted_sum(coefficients: FloatMatrix, matrix: Any, space: Space) -> float:
    """Return the sum over pairs of coefficient times weight.

    Args:
        coefficients: a dense matrix over the space.
        matrix: the weights, a dense or sparse matrix over the space.
        space: says whether each pair has two entries, which always agree, or one.
    """
    if sp.issparse(matrix):
        total = matrix.multiply(coefficients).sum()
    else:
        total = np.vdot(coefficients, matrix)
    return float(total) / (2 if isinstance(space, VertexSet) else 1)


@final
@dataclass(frozen=True)
class CutQuery(LinearQuery):
    """A cut query: total weight of the edges with one end in S and the other in T, each once.

    In a directed graph: of the arcs from S to T, also where S and T overlap.

    Queries are dataclasses, so == compares the arguments as they were passed. It raises an error
    for arrays; compare coefficients instead.

    Args:
        S: vertex labels, or a truth vector over the vertices (left ones of a bipartite graph), or
            "*" for all of them.
        T: the same (right vertices of a bipartite graph). None for all vertices outside S (all
            right vertices of a bipartite graph).

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
        object.__setattr__(self, "S", _unchanging(self.S))
        object.__setattr__(self, "T", None if self.T is None else _unchanging(self.T))

    def value(self, data: Data, *, bipartite: bool = False, directed: bool = False) -> float:
        """Return the answer, of a graph by one look at each edge.

        Args:
            data: a graph, or a matrix, see `LinearQuery.value`.
            bipartite: whether a matrix is a biadjacency matrix.
            directed: whether a matrix is that of a directed graph.

        Raises:
            QueryError: unknown vertices, or a matrix that is not symmetric.
        """
        if isinstance(data, np.ndarray):
            return float(answer_all([self], data, bipartite=bipartite, directed=directed)[0])
        check_graph(data)
        S, T = self.masks(data)
        if isinstance(data.space, VertexSet):
            codes = S * np.uint8(1) | T * np.uint8(2)  # (n,)
            counted = _JOINS_S_AND_T[codes[data.rows] * np.uint8(4) + codes[data.columns]]
        else:
            counted = S[data.rows] & T[data.columns]
        if not data.weighted:
            return float(np.count_nonzero(counted))
        return float(data.weights[counted].sum())

    def sensitivity(self, graph: AnyGraph | Space) -> float:
        """Return 1, or 0 if no pair joins S and T. Of a graph, only the space is read."""
        return float(pairs_of_cut(*self.masks(graph), space_of(graph)) > 0)

    def coefficients(self, space: Space) -> FloatMatrix:
        """Return 1 for each pair between S and T, and 0 for others.

        Args:
            space: the public vertex sets.

        Raises:
            QueryError: an unknown vertex, or a truth vector of the wrong length.
        """
        S, T = self.masks(space)
        joined = np.logical_and.outer(S, T)
        if isinstance(space, VertexSet):
            joined |= joined.T
        if one_set(space):
            np.fill_diagonal(joined, False)
        return joined.astype(np.float64)

    def factors(self, space: Space) -> QueryFactors:
        """Return the indicators of S and T, and of their overlap where pairs are unordered.

        Args:
            space: the public vertex sets.
        """
        S, T = self.masks(space)
        overlap = (S & T).astype(np.float64) if isinstance(space, VertexSet) else None
        return QueryFactors(S.astype(np.float64), T.astype(np.float64), overlap)

    def norm_squared(self, space: Space) -> float:
        """Return the number of pairs between S and T.

        Args:
            space: the public vertex sets.
        """
        return float(pairs_of_cut(*self.masks(space), space))

    def coefficient_range(self, space: Space) -> tuple[float, float]:
        """Return (0, 1) for all S and T.

        Args:
            space: the public vertex sets.
        """
        del space
        return 0.0, 1.0

    def coefficients_at(
        self, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], space: Space
    ) -> FloatVector:
        """Return 1 for each of these pairs that joins S and T, and 0 for others.

        Args:
            rows: row numbers, shape (k,).
            columns: column numbers, shape (k,).
            space: the public vertex sets.
        """
        S, T = self.masks(space)
        joined: BoolVector = S[rows] & T[columns]
        if isinstance(space, VertexSet):
            joined = joined | (S[columns] & T[rows])
        if one_set(space):
            joined = joined & (rows != columns)
        return joined.astype(np.float64)

    def masks(self, space: AnyGraph | Space) -> tuple[BoolVector, BoolVector]:
        """Return the truth vectors of S and T over the public vertices; do not write to them.

        Args:
            space: a space, or a graph, of which only the space is read.

        Returns:
            Shapes (rows,) and (columns,); both (n,) for one vertex set.

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

    In a bipartite or a directed graph, the edge (i, j) counts u_i v_j. The vectors are copied:
    answers do not change if the arrays that were passed do.

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
    # Read-only copies of u and v.
    _vectors: tuple[FloatVector, FloatVector] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vectors = []
        for entries in (self.u, self.v):
            vector = _copied_numbers(entries)
            if vector.ndim != 1 or not ((vector >= 0) & (vector <= 1)).all():
                raise QueryError("u and v of a rank-one query are vectors with entries in [0, 1]")
            vector.flags.writeable = False
            vectors.append(vector)
        object.__setattr__(self, "_vectors", tuple(vectors))

    def vectors(self, shape: tuple[int, int]) -> tuple[FloatVector, FloatVector]:
        """Return (u, v), read-only, checked against the numbers of vertices.

        Raises:
            QueryError: vectors of the wrong length.
        """
        u, v = self._vectors
        if shape != (len(u), len(v)):
            raise QueryError(f"u and v have lengths {(len(u), len(v))}, the vertex sets {shape}")
        return u, v

    def value(self, data: Data, *, bipartite: bool = False, directed: bool = False) -> float:
        """Return u' A v, see `LinearQuery.value`.

        Raises:
            QueryError: vectors of the wrong length, or a matrix that is not symmetric.
        """
        matrix, _ = matrix_and_space(data, bipartite, directed)
        u, v = self.vectors(matrix.shape)
        return float(u @ (matrix @ v))

    def coefficients(self, space: Space) -> FloatMatrix:
        """Return u_i v_j + u_j v_i for one vertex set, and u_i v_j where pairs are ordered."""
        return _coefficients_of_entries(np.outer(*self.vectors(_shape(space))), space)

    def factors(self, space: Space) -> QueryFactors:
        """Return u and v, without an overlap."""
        return QueryFactors(*self.vectors(_shape(space)))

    def norm_squared(self, space: Space) -> float:
        """Return ||q||_2^2 over pairs, from sums of products of u and v.

        For one vertex set the sum over pairs of (u_i v_j + u_j v_i)^2 is

            sum_i u_i^2 sum_{j != i} v_j^2 + sum_i u_i v_i sum_{j != i} u_j v_j.

        The inner sums leave j = i out from the start: to subtract the terms j = i from full sums
        would leave nothing but rounding errors where one vertex has nearly all of u and v.
        """
        u, v = self.vectors(_shape(space))
        if isinstance(space, Arcs):
            return float((u * u) @ _sums_of_others(v * v))
        if not isinstance(space, VertexSet):
            return float(u @ u) * float(v @ v)
        return float((u * u) @ _sums_of_others(v * v) + (u * v) @ _sums_of_others(u * v))

    def coefficient_range(self, space: Space) -> tuple[float, float]:
        """Return (0, sensitivity)."""
        return 0.0, self.sensitivity(space)

    def coefficients_at(
        self, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], space: Space
    ) -> FloatVector:
        """Return the coefficients of these pairs, see `coefficients`."""
        u, v = self.vectors(_shape(space))
        coefficients: FloatVector = u[rows] * v[columns]
        if isinstance(space, VertexSet):
            coefficients = coefficients + u[columns] * v[rows]
        if one_set(space):
            coefficients = coefficients * (rows != columns)
        return coefficients

    def sensitivity(self, graph: AnyGraph | Space) -> float:
        """Return the largest coefficient: at most 2 for one vertex set, else at most 1.

        It is exact where pairs are ordered. For one vertex set, rounding can make it too small by a
        relative 12 n 2^-53, see `_upper_hull`. Noise that must hide the largest coefficient relies
        on `CoefficientGrid`, which cuts off what exceeds this one.

        For one vertex set, take vertex i as the point (u_i, v_i). For a fixed j the coefficient
        u_i v_j + u_j v_i is linear in that point, with factors >= 0. So over any set of points
        without j, it is largest at some corner of their upper hull, see `_upper_hull`.

        Only corners of two hulls are paired: the hull of all points, and the hull of the inner
        points, which are no corners of the first. Proof: let {i, j} be a best pair. If j is no
        corner of the first hull, some corner of it is as good as i. If j is a corner of it, then i
        is another corner, or an inner point, and some corner of the second hull is as good. So i
        can be chosen from the two hulls. With this i fixed, so can j. QED.
        """
        left, right = sides_of(graph)
        u, v = self.vectors((len(left), len(right)))
        if isinstance(space_of(graph), Arcs):
            return _largest_product(u, v)
        if left is not right:  # two sides
            return float(u.max() * v.max())
        if len(u) < 2:
            return 0.0
        vertices = np.arange(len(u))
        corners = _upper_hull(u, v, vertices)
        inner = np.setdiff1d(vertices, corners)
        if len(inner):
            corners = np.concatenate([corners, _upper_hull(u, v, inner)])
        coefficients = np.outer(u[corners], v[corners])  # (corners, corners)
        coefficients += coefficients.T
        np.fill_diagonal(coefficients, 0)
        return float(coefficients.max())


@final
@dataclass(frozen=True)
class MatrixQuery(LinearQuery):
    """A linear query with any real coefficients: the sum over entries C_ij A_ij.

    Edge {i,j} counts C_ij + C_ji, as it does for `RankOneQuery`, which is the case C = u v'. The
    diagonal of C is ignored.

    Args:
        C: shape (n, n), or (n_left, n_right) for bipartite graphs, finite. Answers use a copy; the
            attribute C stays the array that was passed.

    Raises:
        QueryError: not a matrix, or entries that are not finite.

    Examples:
        >>> path = gc.Graph.of([(0, 1), (1, 2)])
        >>> gc.Query.matrix([[0, 2.5, 0], [0, 0, 0], [0, 0, 0]]).value(path)
        2.5

    Source: JT12 section 4.2.
    """

    C: npt.ArrayLike
    _entries: FloatMatrix = field(init=False, repr=False, compare=False)  # read-only copy of C

    def __post_init__(self) -> None:
        entries = _copied_numbers(self.C)
        if entries.ndim != 2 or not entries.size or not np.isfinite(entries).all():
            raise QueryError("the coefficients of a matrix query are a matrix of finite numbers")
        entries.flags.writeable = False
        object.__setattr__(self, "_entries", entries)

    def entries(self, shape: tuple[int, int]) -> FloatMatrix:
        """Return C, read-only, checked against the numbers of vertices.

        Raises:
            QueryError: a matrix of the wrong shape.
        """
        if self._entries.shape != shape:
            raise QueryError(f"C has shape {self._entries.shape}, the vertex sets {shape}")
        return self._entries

    def coefficients(self, space: Space) -> FloatMatrix:
        """Return C_ij + C_ji for one vertex set, and C_ij where pairs are ordered."""
        return _coefficients_of_entries(self.entries(_shape(space)).copy(), space)

    def value_on_matrix(self, matrix: Any, space: Space) -> float:
        """Return the sum over all entries C_ij A_ij, without a matrix of coefficients.

        For one vertex set A has each pair in two entries, which meet C_ij and C_ji.
        """
        del space  # the sum is over all entries in each kind of space
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
        queries: linear queries of any kinds, mixed at will.
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
    matrix, space = matrix_and_space(data, bipartite, directed)
    return answer_on_matrix(queries, matrix, space)


def answer_on_matrix(queries: Sequence[LinearQuery], matrix: Any, space: Space) -> FloatVector:
    """Compute the answers on a matrix that is known to be right: it is not checked or copied.

    Args:
        queries: linear queries of any kinds, mixed at will.
        matrix: dense or sparse, over the space: symmetric for one vertex set, and with a zero
            diagonal unless there are two sides.
        space: the vertex set, both, or `Arcs`.

    Returns:
        Shape (len(queries),), in the order of the queries.

    Raises:
        QueryError: a query that does not fit the vertex sets.
    """
    answers = np.empty(len(queries))
    block = max(1, _BATCH_ENTRIES // (matrix.shape[0] + matrix.shape[1]))  # queries at a time
    for start in range(0, len(queries), block):
        indices: list[int] = []  # of the queries of this block that have factors
        batch: list[QueryFactors] = []  # their factors
        for index, query in enumerate(queries[start : start + block], start):
            factors = query.factors(space)
            if factors is None:
                answers[index] = query.value_on_matrix(matrix, space)
            else:
                indices.append(index)
                batch.append(factors)
        if batch:
            answers[indices] = _answers_of_factors(batch, matrix)
    return answers


def _answers_of_factors(batch: list[QueryFactors], matrix: Any) -> FloatVector:
    """Return u' A v - o' A o / 2 for each query, shape (queries,)."""
    left = np.array([factors.left for factors in batch])  # (queries, rows)
    right = np.array([factors.right for factors in batch])  # (queries, columns)
    overlaps = np.zeros_like(left)  # (queries, rows)
    for index, factors in enumerate(batch):
        if factors.overlap is not None:
            overlaps[index] = factors.overlap
    answers = np.einsum("ij,ij->i", left @ matrix, right)  # row sums of the products
    overlapping = np.flatnonzero(overlaps.any(axis=1))
    if len(overlapping):
        inside = overlaps[overlapping]
        answers[overlapping] -= np.einsum("ij,ij->i", inside @ matrix, inside) / 2
    return np.asarray(answers, dtype=np.float64)


def pairs_of_cut(S: BoolVector, T: BoolVector, space: Space) -> int:
    """Return the number of pairs of a space that join S and T, each pair once.

    Args:
        S: truth vector over the rows.
        T: truth vector over the columns.
        space: the vertex set, both, or `Arcs`.
    """
    both = int(np.count_nonzero(S & T)) if one_set(space) else 0
    sizes = int(np.count_nonzero(S)), int(np.count_nonzero(T))
    return pairs_of_sizes(*sizes, both, symmetric=isinstance(space, VertexSet))


def pairs_of_sizes(rows: int, columns: int, both: int, *, symmetric: bool) -> int:
    """Return the number of pairs between two sets of known sizes, each pair once.

    That is |S| |T|, less the |S & T| pairs of a vertex with itself, and less the pairs inside
    S & T, which |S| |T| counts twice if pairs are unordered.

    Args:
        rows: |S|, the size of the set of rows.
        columns: |T|, the size of the set of columns.
        both: |S & T|, the number of vertices in both; 0 between two sides.
        symmetric: whether {i, j} is one pair.
    """
    counted_twice = both * (both - 1) // 2 if symmetric else 0
    return rows * columns - both - counted_twice


def _unchanging(subset: Subset | str) -> Subset:
    """Return a set that nobody can change later: labels as a tuple, a truth vector read-only.

    An iterator becomes a tuple too, since the first answer would use it up.

    Raises:
        QueryError: something that is no set of vertices.
    """
    if isinstance(subset, NamedSet):
        return subset
    if isinstance(subset, np.ndarray) and subset.dtype != np.object_:
        # A read-only array that owns its memory is shared by queries, not copied. A view is copied:
        # its memory can be written through another array.
        if subset.flags.owndata and not subset.flags.writeable:
            return subset
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
        members = plain_subset(subset)
    except TypeError:
        raise QueryError(f"a set of vertices is a list of labels, not {subset!r}") from None
    if not isinstance(members, np.ndarray):
        return tuple(members)
    members.flags.writeable = False
    return members


def _copied_numbers(entries: npt.ArrayLike) -> FloatMatrix:
    """Return a copy as an array of floats.

    Raises:
        QueryError: something that is no number.
    """
    try:
        return np.array(entries, dtype=np.float64)
    except (TypeError, ValueError):
        raise QueryError("the coefficients of a query are numbers") from None


def _shape(space: Space) -> tuple[int, int]:
    """Return the numbers of rows and of columns of a matrix over a space."""
    left, right = sides_of(space)
    return len(left), len(right)


def _coefficients_of_entries(entries: FloatMatrix, space: Space) -> FloatMatrix:
    """Turn entries C_ij into coefficients, in place: C_ij + C_ji where {i, j} is one pair."""
    if isinstance(space, VertexSet):
        entries += entries.T.copy()  # the transpose shares the memory that is written
    if one_set(space):
        np.fill_diagonal(entries, 0)
    return entries


def _sums_of_others(x: FloatVector) -> FloatVector:
    """Return sum_{j != i} x_j for each i, without subtracting, shape (n,)."""
    before, after = np.zeros(len(x)), np.zeros(len(x))  # sums of all x_j with j < i, and with j > i
    before[1:] = np.cumsum(x[:-1])
    backwards = x[1:][::-1]
    after[:-1] = np.cumsum(backwards)[::-1]
    return before + after


def _largest_product(u: FloatVector, v: FloatVector) -> float:
    """Return max u_i v_j over i != j; 0 if there is one vertex.

    One of the two largest u_i with one of the two largest v_j attains it: if the largest of both
    belong to one vertex, one of them goes with the second largest of the other.
    """
    largest_u, largest_v = np.argsort(-u)[:2], np.argsort(-v)[:2]
    products = [float(u[i] * v[j]) for i in largest_u for j in largest_v if i != j]
    return max(products, default=0.0)


def _upper_hull(u: FloatVector, v: FloatVector, vertices: IntVector) -> IntVector:
    """Return the corners of the upper right convex hull of the points (u_i, v_i).

    For all a, b >= 0, one of the corners maximises a u_i + b v_i over `vertices`. Of equal points
    at most one is returned; of points on a line between two corners none.

    The points are visited from right to left: u falls, so v rises from corner to corner. A new
    point ends the hull so far. Each earlier corner that is now on or below the line between its
    neighbours is no corner any more.

    Rounding: a point is dropped wrongly only if a u_i + b v_i is larger by at most a relative
    6 * 2^-53 than at a neighbour that stays at that time. (The two products below have a relative
    error of 3 * 2^-53 each, so the point is higher than the line by at most 6 * 2^-53 v_i.) The
    neighbour may be dropped later in the same way, so after n points the maximum is too small by a
    relative 6 n 2^-53 at most.

    Args:
        u: shape (n,).
        v: shape (n,).
        vertices: row numbers of the points that are looked at.
    """
    # By falling u; of equal u the largest v first.
    order = vertices[np.lexsort((-v[vertices], -u[vertices]))]
    hull: list[int] = []
    for i in order:
        if hull and v[i] <= v[hull[-1]]:
            continue  # another point is at least as large in both coordinates
        while len(hull) > 1:
            last, before = hull[-1], hull[-2]
            # The corner `last` stays if the line from `before` rises more steeply to it than to i:
            # (v_last - v_before) / (u_before - u_last) > (v_i - v_before) / (u_before - u_i).
            rise_to_last = (v[last] - v[before]) * (u[before] - u[i])
            rise_to_i = (v[i] - v[before]) * (u[before] - u[last])
            if rise_to_last > rise_to_i:
                break
            hull.pop()
        hull.append(int(i))
    return np.array(hull, dtype=np.int64)
