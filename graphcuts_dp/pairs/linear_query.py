"""What a linear query on the weights of vertex pairs is, and what it is asked of.

This module knows graphs by their public interface only, so that post-processing may use queries
without being able to reach `graph.adjacency`.
"""

from abc import abstractmethod
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.pairs.vertices import Arcs, Space, VertexSet


class _Edges(Protocol):
    @property
    def rows(self) -> npt.NDArray[np.int32]: ...
    @property
    def columns(self) -> npt.NDArray[np.int32]: ...
    @property
    def weights(self) -> FloatVector: ...
    @property
    def weighted(self) -> bool: ...


class PlainGraph(_Edges, Protocol):
    """What queries read of a `Graph`."""

    @property
    def vertices(self) -> VertexSet:
        """Public vertex set."""
        ...

    @property
    def adjacency(self) -> Any:
        """Symmetric sparse matrix, zero diagonal."""
        ...


class TwoSidedGraph(_Edges, Protocol):
    """What queries read of a `BipartiteGraph`, or of a `DirectedGraph`."""

    @property
    def space(self) -> tuple[VertexSet, VertexSet]:
        """Both vertex sets, or `Arcs`."""
        ...

    @property
    def left(self) -> VertexSet:
        """Public left vertex set."""
        ...

    @property
    def right(self) -> VertexSet:
        """Public right vertex set."""
        ...

    @property
    def biadjacency(self) -> Any:
        """Sparse matrix, shape (n_left, n_right)."""
        ...


AnyGraph = PlainGraph | TwoSidedGraph
Data = AnyGraph | npt.NDArray[Any]


def is_plain(data: Any) -> TypeGuard[PlainGraph]:
    """Whether a graph is undirected on one vertex set."""
    return not hasattr(data, "left")


def sides_of(space: Any) -> tuple[VertexSet, VertexSet]:
    """The vertex sets of rows and of columns; the same object for a plain graph."""
    if isinstance(space, VertexSet):
        return space, space
    if isinstance(space, tuple):
        return space[0], space[1]
    if is_plain(space):
        return space.vertices, space.vertices
    return space.left, space.right


def space_of(graph: AnyGraph | Space) -> Space:
    """The vertex set of a graph, its two, or `Arcs`."""
    if isinstance(graph, VertexSet | tuple):
        return graph
    return graph.vertices if is_plain(graph) else graph.space  # type: ignore[union-attr]


def one_set(space: Any) -> bool:
    """Whether the rows and the columns of a space are the same vertices: all but two sides."""
    return isinstance(space_of(space), VertexSet | Arcs)


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
    if is_plain(data):
        return data.adjacency, data.vertices
    return data.biadjacency, data.space  # type: ignore[union-attr]  # the other kinds


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
