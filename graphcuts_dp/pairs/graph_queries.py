"""Queries about a whole graph that are no sums over its pairs: triangles, largest, least cut."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.pairs.linear_query import AnyGraph, LinearQuery, one_set, sides_of, space_of
from graphcuts_dp.pairs.queries import MatrixQuery, RankOneQuery, Subset
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Space, VertexSet

_MOST_VERTICES = 20  # of whose cuts all are looked at


@final
@dataclass(frozen=True)
class GraphQuery:
    """A query for a statistic, a whole number, of an undirected graph without weights.

    An edge more can only raise it, by `sensitivity` at most: it closes 0 to n - 2 triangles, and
    adds 0 or 1 to each cut, hence to the largest and to the least of them. So it is monotone, as
    cuts are, and `steps`, the number over the sensitivity, rounded down, changes by 0 or 1.

    Args:
        statistic: "triangles"; "max-cut", the largest cut between a set and its complement;
            "min-cut", the least one between two sets that are not empty (0 if not connected).

    Raises:
        QueryError: an unknown statistic.

    Source: DR14 Theorem 5.10 (queries of low sensitivity that need not be linear).
    """

    statistic: str

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise QueryError(
                f"unknown statistic {self.statistic!r:.60}; choose one of {', '.join(STATISTICS)}"
            )

    def sensitivity(self, space: Space) -> int:
        """By how much it changes with one edge, at most; at least 1.

        Raises:
            QueryError: another space than one vertex set.
        """
        n = _vertices(space)
        return max(1, n - 2) if self.statistic == "triangles" else 1

    def largest(self, space: Space) -> int:
        """What it is for no graph above.

        Raises:
            QueryError: as for `sensitivity`.
        """
        n = _vertices(space)
        if self.statistic == "triangles":
            return math.comb(n, 3)
        return n * n // 4 if self.statistic == "max-cut" else max(0, n - 1)

    def value(self, graph: AnyGraph) -> int:
        """The number, exactly. Private if the graph is.

        Raises:
            QueryError: a graph of another kind, with weights, or (but for triangles) with more than
                20 vertices: all cuts are looked at.
        """
        if graph.weighted:
            raise QueryError(f"{self.statistic!r} is for undirected graphs without weights")
        self.check(space_of(graph))
        n = _vertices(space_of(graph))
        if self.statistic == "triangles":
            return _triangles(graph, n)
        crossed = np.zeros(1 << max(0, n - 1), dtype=np.int64)
        sets = np.arange(len(crossed))
        for i, j in zip(graph.rows, graph.columns, strict=True):
            crossed += (sets >> int(i) ^ sets >> int(j)) & 1
        if n < 2:
            return 0
        return int(crossed.max() if self.statistic == "max-cut" else crossed[1:].min())

    def check(self, space: Space) -> None:
        """Refuse vertex sets of which it cannot be counted.

        Raises:
            QueryError: as for `value`.
        """
        n = _vertices(space)
        if self.statistic != "triangles" and n > _MOST_VERTICES:
            raise QueryError(f"{self.statistic!r} is for up to {_MOST_VERTICES} vertices")

    def steps(self, universe: Universe, databases: npt.NDArray[np.float64]) -> IntVector:
        """Of many graphs: the number over the sensitivity, rounded down; shape (N,).

        Args:
            universe: of up to 20 vertices.
            databases: shape (N, X): 0 or 1 for each pair in the order of `Universe.pairs`.

        Raises:
            QueryError: as for `value`.
        """
        self.check(universe.space)
        n = universe.shape[0]
        rows, columns = universe.pairs()
        present = np.asarray(databases, dtype=np.float32)  # whole numbers below 2^24: exact
        found = np.zeros(len(present), dtype=np.int64)
        if self.statistic == "triangles":
            place = {pair: k for k, pair in enumerate(zip(rows, columns, strict=True))}
            for i in range(n):
                for j in range(i + 1, n):
                    for k in range(j + 1, n):
                        sides = [place[i, j], place[j, k], place[i, k]]
                        found += present[:, sides].all(axis=1)
        elif n > 1:
            sets = np.arange(1, 1 << (n - 1))[:, None]
            crossing = ((sets >> rows ^ sets >> columns) & 1).astype(np.float32)
            cuts = present @ crossing.T
            best = cuts.max(axis=1) if self.statistic == "max-cut" else cuts.min(axis=1)
            found += best.astype(np.int64)
        return found // self.sensitivity(universe.space)

    def masks(self, *_: Any) -> NoReturn:
        """Refused: it has no sets, and none of what linear queries have.

        Raises:
            QueryError: always.
        """
        raise QueryError(
            f"{self.statistic!r} is no cut: only sessions of the methods median, gaussian and"
            " laplace answer it"
        )

    coefficients = coefficients_at = coefficient_range = factors = masks
    norm_squared = value_on_matrix = masks


Question = LinearQuery | GraphQuery  # what sessions are asked

STATISTICS: Mapping[str, str] = {
    "triangles": "how many triangles there are",
    "max-cut": "the largest cut",
    "min-cut": "the least cut",
}


def _vertices(space: Space) -> int:
    if not isinstance(space, VertexSet):
        raise QueryError("statistics of whole graphs are for undirected graphs on one vertex set")
    return len(space)


def _triangles(graph: AnyGraph, n: int) -> int:
    ends = np.concatenate([graph.rows, graph.columns]), np.concatenate([graph.columns, graph.rows])
    ones = np.ones(len(ends[0]), dtype=np.int64)
    matrix = sp.csr_array((ones, ends), shape=(n, n))
    return int((matrix @ matrix).multiply(matrix).sum()) // 6


class Query(LinearQuery, Protocol):
    """A question about a graph: made by one of these, or of a class of your own that inherits this.

    Cuts are asked for by `CutQuery`.

    A class of your own needs its coefficients alone; what it inherits works from them, and can be
    overridden by something faster. Edges between any two of several groups::

        class MultiwayCut(gc.Query):
            def __init__(self, groups):
                self.groups = groups

            def coefficients(self, space):
                masks = np.array([space.mask(group) for group in self.groups], dtype=float)
                joined = masks.sum(axis=0)[:, None] * masks.sum(axis=0)
                return joined - masks.T @ masks
    """

    @staticmethod
    def rank_one(u: npt.ArrayLike, v: npt.ArrayLike) -> RankOneQuery:
        """The query u' A v for u, v in [0, 1]^n, see `RankOneQuery`.

        Raises:
            QueryError: not vectors, or entries outside [0, 1] or not finite.

        Examples:
            >>> gc.Query.rank_one([0, 1, 0], [1, 0, 0.5]).value(gc.Graph.of([(0, 1), (1, 2)]))
            1.5
        """
        return RankOneQuery(u, v)

    @staticmethod
    def matrix(C: npt.ArrayLike) -> MatrixQuery:
        """The sum over entries C_ij A_ij, of any real coefficients, see `MatrixQuery`.

        Raises:
            QueryError: not a matrix, or entries that are not finite.
        """
        return MatrixQuery(C)

    @staticmethod
    def multiway(groups: Sequence[Subset]) -> "MultiwayCut":
        """The weight of edges between any two of several sets, see `MultiwayCut`.

        Examples:
            >>> gc.Query.multiway([[0], [1], [2]]).value(gc.Graph.of([(0, 1), (1, 2)]))
            2.0
        """
        return MultiwayCut(tuple(groups))

    @staticmethod
    def statistic(name: str) -> GraphQuery:
        """A statistic of a whole graph: "triangles", "max-cut" or "min-cut", see `GraphQuery`.

        Raises:
            QueryError: another name.
        """
        return GraphQuery(name)


@final
class MultiwayCut(LinearQuery):
    """Edges with one end in one of several sets and the other in another one.

    An edge counts once for each two sets that it joins in one direction: once, if sets do not meet.

    Args:
        groups: sets as for `CutQuery`, of one vertex set.
    """

    def __init__(self, groups: Sequence[Subset]) -> None:
        self.groups = groups

    def coefficients(self, space: Space) -> FloatMatrix:
        """See `LinearQuery.coefficients`.

        Raises:
            QueryError: two sides, or an unknown vertex.
        """
        left, _ = sides_of(space)
        if not one_set(space):
            raise QueryError("a multiway cut is for one vertex set; ask for cuts between two sides")
        masks = np.array([left.mask(group) for group in self.groups], dtype=np.float64)
        joined: FloatMatrix = masks.sum(axis=0)[:, None] * masks.sum(axis=0) - masks.T @ masks
        np.fill_diagonal(joined, 0)
        return joined
