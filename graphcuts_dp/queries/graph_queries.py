"""Statistics of whole graphs, the multiway cut, and the class from which users make queries.

A `GraphQuery` asks for a statistic that is no sum over pairs: the number of triangles, the largest
cut, the least cut. Sessions of some methods answer it; releases do not. A `Question` is what
sessions are asked: a linear query or a statistic.

`Query` makes all queries except cuts (`gc.Query.rank_one` and others), and is the base class of
linear queries that users write. `MultiwayCut` is the linear query that
`Query.multiway` returns.

Terms used here; `linear` has more on the first three:

- A *linear query* has a coefficient for each pair of vertices that an edge can join. Its answer is
  the sum over pairs of coefficient times weight. `LinearQuery` is the interface.
- A *space* says which pairs there are: a `VertexSet` (unordered pairs of an undirected graph),
  `Arcs` (ordered pairs of a directed graph), or two vertex sets (a bipartite graph). `one_set` is
  true of the first two.
- `AnyGraph` is a graph of any kind. `rows` and `columns` number the endpoints of its edges. Each
  edge is listed once, also in an undirected graph, and none joins a vertex to itself.
- A *universe* is the list of all pairs of a space, in a fixed order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Protocol, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.queries.linear import (
    AnyGraph,
    LinearQuery,
    MatrixQuery,
    RankOneQuery,
    Subset,
    sides_of,
    space_of,
)
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.vertices import Space, VertexSet, one_set

# The name of each statistic, with its meaning.
STATISTICS: Mapping[str, str] = {
    "triangles": "how many triangles there are",
    "max-cut": "the largest cut",
    "min-cut": "the least cut",
}
_MAX_CUT_VERTICES = 20  # largest and least cuts are found by trying all cuts, 2^19 of 20 vertices


@final
@dataclass(frozen=True)
class GraphQuery:
    """A query for a statistic, an integer, of an undirected graph without weights.

    One more edge never lowers it, and raises it by `sensitivity` at most: the edge closes 0 to
    n - 2 triangles, and adds 0 or 1 to each cut, hence to the largest and to the least of them.

    Sessions count a statistic in units of its sensitivity, rounded down: floor(value / sensitivity)
    changes by 0 or 1 with one edge. So does a cut, and mechanisms for cuts can answer it.

    It has the methods of a `LinearQuery` as well, but most of them only raise an error: code for
    linear queries then refuses a statistic in words for the user.

    Args:
        statistic: "triangles"; "max-cut", the largest cut between a set and its complement;
            "min-cut", the least one between two sets that are not empty (0 if not connected).

    Raises:
        QueryError: an unknown statistic.

    Source: DR14 Theorem 5.10 (queries of low sensitivity that need not be linear).
    """

    statistic: str

    def __post_init__(self) -> None:
        if not isinstance(self.statistic, str) or self.statistic not in STATISTICS:
            raise QueryError(
                f"unknown statistic {self.statistic!r:.60}; choose one of {', '.join(STATISTICS)}"
            )

    def sensitivity(self, space: Space) -> int:
        """Return the largest change of the statistic by one edge; at least 1.

        Raises:
            QueryError: another space than one vertex set.
        """
        n = _vertex_count(space)
        return max(1, n - 2) if self.statistic == "triangles" else 1

    def largest(self, space: Space) -> int:
        """Return the largest value that the statistic has on any graph over the space.

        Raises:
            QueryError: another space than one vertex set.
        """
        n = _vertex_count(space)
        if self.statistic == "triangles":
            return math.comb(n, 3)
        return n * n // 4 if self.statistic == "max-cut" else max(0, n - 1)

    def value(self, graph: AnyGraph) -> int:
        """Return the statistic of a graph, exactly. Private if the graph is.

        Raises:
            QueryError: a graph of another kind or with weights; for cuts, one with more than 20
                vertices, as all cuts are tried.
        """
        if graph.weighted:
            raise QueryError(f"{self.statistic!r} is for undirected graphs without weights")
        self.check(space_of(graph))
        n = _vertex_count(space_of(graph))
        if self.statistic == "triangles":
            return _triangles(graph, n)
        if n < 2:
            return 0
        # Bit i of a code says whether vertex i is in the set. Codes below 2^(n-1) leave the last
        # vertex out, so they are one side of every cut, once. Code 0 is the empty set.
        codes = np.arange(1 << (n - 1))
        cuts = np.zeros(len(codes), dtype=np.int64)  # number of edges that leave each set
        for row, column in zip(graph.rows.tolist(), graph.columns.tolist(), strict=True):
            cuts += ((codes >> row) ^ (codes >> column)) & 1
        return int(cuts.max() if self.statistic == "max-cut" else cuts[1:].min())

    def check(self, space: Space) -> None:
        """Refuse a space over which the statistic cannot be counted.

        Raises:
            QueryError: another space than one vertex set; for cuts, more than 20 vertices.
        """
        n = _vertex_count(space)
        if self.statistic != "triangles" and n > _MAX_CUT_VERTICES:
            raise QueryError(f"{self.statistic!r} is for up to {_MAX_CUT_VERTICES} vertices")

    def scaled_values(self, universe: Universe, databases: npt.NDArray[np.float64]) -> IntVector:
        """Return the statistic of many graphs over its sensitivity, rounded down.

        Args:
            universe: the pairs of one vertex set, X of them; 20 vertices at most for cuts.
            databases: shape (N, X), one graph a row: 1 for each pair that is an edge, else 0, in
                the order of `Universe.pairs`.

        Returns:
            Shape (N,).

        Raises:
            QueryError: as for `check`.
        """
        self.check(universe.space)
        n = universe.shape[0]  # number of vertices
        rows, columns = universe.pairs()  # of each pair, (X,)
        edges = np.asarray(databases, dtype=np.float32)  # (N, X)
        values = np.zeros(len(edges), dtype=np.int64)
        if self.statistic == "triangles":
            pairs = zip(rows.tolist(), columns.tolist(), strict=True)
            pair_index = {pair: index for index, pair in enumerate(pairs)}
            for i in range(n):
                for j in range(i + 1, n):
                    for k in range(j + 1, n):
                        triangle = [pair_index[i, j], pair_index[j, k], pair_index[i, k]]
                        values += edges[:, triangle].all(axis=1)
        elif n > 1:
            codes = np.arange(1, 1 << (n - 1))[:, None]  # sets that are not empty, as in `value`
            crossing = (((codes >> rows) ^ (codes >> columns)) & 1).astype(np.float32)  # (sets, X)
            cuts = edges @ crossing.T  # (N, sets); sums of fewer than 2^24 ones, so exact
            best = cuts.max(axis=1) if self.statistic == "max-cut" else cuts.min(axis=1)
            values += best.astype(np.int64)
        return values // self.sensitivity(universe.space)

    def masks(self, *_: Any) -> NoReturn:
        """Refuse, since a statistic has no sets.

        Raises:
            QueryError: always.
        """
        raise self.not_linear_error()

    def coefficients(self, *_: Any) -> NoReturn:
        """Refuse, since a statistic has no coefficients.

        Raises:
            QueryError: always.
        """
        raise self.not_linear_error()

    # The other methods of `LinearQuery`, but for `value` and `sensitivity`, refuse in the same way.
    # A method that `LinearQuery` gets must be added here.
    coefficients_at: ClassVar[Callable[..., NoReturn]] = coefficients
    coefficient_range: ClassVar[Callable[..., NoReturn]] = coefficients
    factors: ClassVar[Callable[..., NoReturn]] = coefficients
    norm_squared: ClassVar[Callable[..., NoReturn]] = coefficients
    value_on_matrix: ClassVar[Callable[..., NoReturn]] = coefficients

    def not_linear_error(self) -> QueryError:
        """Return the error for places where a linear query is needed, not raised yet."""
        return QueryError(
            f"{self.statistic!r} is no cut: only sessions of the methods median, gaussian and"
            " laplace answer it"
        )


Question = LinearQuery | GraphQuery  # what sessions are asked


def require_linear(query: Question) -> LinearQuery:
    """Return a linear query as it is.

    Raises:
        QueryError: a statistic of a whole graph.
    """
    if isinstance(query, GraphQuery):
        raise query.not_linear_error()
    return query


class Query(LinearQuery, Protocol):
    """A question about a graph.

    Use its static methods `rank_one`, `matrix`, `multiway` and `statistic`, or write a class of
    your own that inherits it. Cuts are asked for by `CutQuery`.

    A class of your own needs the method `coefficients` alone. What it inherits works from the
    coefficients, and can be overridden by something faster. For example, the edges between any two
    of several disjoint groups of an undirected graph::

        class EdgesBetweenGroups(gc.Query):
            def __init__(self, groups):
                self.groups = groups

            def coefficients(self, space):  # a `VertexSet`
                masks = np.array([space.mask(group) for group in self.groups], dtype=float)
                joined = masks.sum(axis=0)[:, None] * masks.sum(axis=0)
                return joined - masks.T @ masks
    """

    @staticmethod
    def rank_one(u: npt.ArrayLike, v: npt.ArrayLike) -> RankOneQuery:
        """Return the query u' A v for u, v in [0, 1]^n, see `RankOneQuery`.

        Raises:
            QueryError: not vectors, or entries outside [0, 1] or not finite.

        Examples:
            >>> gc.Query.rank_one([0, 1, 0], [1, 0, 0.5]).value(gc.Graph.of([(0, 1), (1, 2)]))
            1.5
        """
        return RankOneQuery(u, v)

    @staticmethod
    def matrix(C: npt.ArrayLike) -> MatrixQuery:
        """Return the sum over entries C_ij A_ij, of any real coefficients, see `MatrixQuery`.

        Raises:
            QueryError: not a matrix, or entries that are not finite.
        """
        return MatrixQuery(C)

    @staticmethod
    def multiway(groups: Sequence[Subset]) -> "MultiwayCut":
        """Return the weight of edges between any two of several sets, see `MultiwayCut`.

        Examples:
            >>> gc.Query.multiway([[0], [1], [2]]).value(gc.Graph.of([(0, 1), (1, 2)]))
            2.0
        """
        return MultiwayCut(tuple(groups))

    @staticmethod
    def statistic(name: str) -> GraphQuery:
        """Return a statistic of a whole graph: "triangles", "max-cut" or "min-cut".

        See `GraphQuery`.

        Raises:
            QueryError: another name.
        """
        return GraphQuery(name)


@final
class MultiwayCut(LinearQuery):
    """The weight of edges whose endpoints are in two different sets of a list of sets.

    The coefficient of {i, j} is the number of ordered pairs of different sets (a, b) with i in set
    a and j in set b. That is 0 or 1 if the sets do not meet. Arcs of a directed graph count in both
    directions, in the same way.

    Args:
        groups: sets as for `CutQuery`, of one vertex set: labels, truth vectors, or "*" for all.
    """

    def __init__(self, groups: Sequence[Subset]) -> None:
        self.groups = groups

    def coefficients(self, space: Space) -> FloatMatrix:
        """Return the coefficients: products of the numbers of sets, less pairs inside one set.

        Raises:
            QueryError: two sides, or an unknown vertex.
        """
        left, _ = sides_of(space)  # rows and columns are the same vertices
        if not one_set(space):
            raise QueryError("a multiway cut is for one vertex set; ask for cuts between two sides")
        # 1 for each vertex in a set, (sets, n).
        masks = np.array([left.mask(group) for group in self.groups], dtype=np.float64)
        set_counts = masks.sum(axis=0)  # in how many sets each vertex is, (n,)
        sets_with_both = masks.T @ masks  # number of sets that hold both i and j, (n, n)
        joined: FloatMatrix = set_counts[:, None] * set_counts - sets_with_both
        np.fill_diagonal(joined, 0)
        return joined


def _vertex_count(space: Space) -> int:
    """Return n, the number of vertices of a space that is one vertex set.

    Raises:
        QueryError: another space than one vertex set.
    """
    if not isinstance(space, VertexSet):
        raise QueryError("statistics of whole graphs are for undirected graphs on one vertex set")
    return len(space)


def _triangles(graph: AnyGraph, n: int) -> int:
    """Return the number of triangles: a sixth of the closed walks of three edges, trace(A^3)."""
    rows = np.concatenate([graph.rows, graph.columns])
    columns = np.concatenate([graph.columns, graph.rows])
    ones = np.ones(len(rows), dtype=np.int64)
    # The adjacency matrix, with each edge in both directions.
    matrix = sp.csr_array((ones, (rows, columns)), shape=(n, n))
    return int((matrix @ matrix).multiply(matrix).sum()) // 6
