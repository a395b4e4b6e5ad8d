"""Universes: all pairs of vertices that queries can be about.

GRU12 sees a graph as a database over the universe X of pairs, and a linear query as a vector q with
one coefficient for each pair. A `Universe` is made from a *space*, which says which pairs there
are: one vertex set (unordered pairs), two sides (pairs across), or `Arcs` (ordered pairs of one
set). The space should be public. If a vertex set was inferred from private edges, `public` says so.

Arrays over the universe come in two shapes. A *matrix over the universe* has a row and a column for
each vertex: symmetric with a zero diagonal for unordered pairs, where each pair has two entries
that agree; with a zero diagonal for arcs; a biadjacency matrix between two sides. A *vector of
values* has one entry for each pair, in the order of `Universe.pairs`; `schema.layout` has the
formulas of that order.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.final_classes import final
from graphcuts_dp.queries.linear import (
    AnyGraph,
    CutQuery,
    LinearQuery,
    answer_on_matrix,
    pairs_of_cut,
    space_of,
)
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Arcs, Label, Space, VertexSet, public_vertices

Vertices = VertexSet | int | Sequence[Label]  # a vertex set, a count n, or labels


@final
class Universe:
    """All pairs of one public vertex set, all pairs across two, or all arcs on one.

    Args:
        vertices: a count n, labels, or a `VertexSet` (left ones of a bipartite graph).
        right: right vertices of a bipartite graph; None if there is one vertex set.
        directed: whether pairs are arcs.

    Attributes:
        space: the vertex set, both, or `Arcs`: what methods of queries take.
        bipartite: whether there are two sides.
        directed: whether pairs are arcs on one vertex set.
        symmetric: whether pairs are unordered: neither `bipartite` nor `directed`.
        hollow: whether matrices have a zero diagonal, since no vertex is paired with itself: not
            `bipartite`.
        shape: (n, n), or (n_left, n_right): the shape of matrices over the universe.
        size: number of pairs X: n (n - 1) / 2, n_left * n_right, or n (n - 1).

    Raises:
        GraphError: labels that are no vertex set, or two sides of a directed graph.
    """

    def __init__(
        self, vertices: Vertices, right: Vertices | None = None, *, directed: bool = False
    ) -> None:
        left = vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
        if directed and right is not None:
            raise GraphError("the arcs of a directed graph are on one vertex set, not on two")
        self.space: Space = Arcs(left) if directed else left
        if right is not None:
            # Make a new object, even if `right is left`: the same object on both sides would mean
            # an undirected graph. `inferred`: whether the set was taken from private edges.
            inferred = isinstance(right, VertexSet) and right.inferred
            self.space = left, VertexSet(right, inferred=inferred)
        self._layout = layout = Layout.of(self.space)
        self.shape: tuple[int, int] = layout.shape
        self.symmetric: bool = layout.symmetric
        self.directed: bool = directed
        self.hollow: bool = layout.hollow
        self.bipartite: bool = not self.hollow
        self.size: int = layout.pairs_before(self.shape[0])  # pairs in all rows

    @classmethod
    def of(cls, graph: AnyGraph) -> Self:
        """Return all pairs of a graph's public vertex sets.

        Args:
            graph: of any kind; its vertex sets are read, and no edge.
        """
        return cls.over(space_of(graph))

    @classmethod
    def over(cls, space: Space) -> Self:
        """Return all pairs of a space: of one vertex set, across two, or `Arcs`.

        Args:
            space: one vertex set, a pair of them, or `Arcs`.
        """
        if isinstance(space, VertexSet):
            return cls(space)
        return cls(space.vertices, directed=True) if isinstance(space, Arcs) else cls(*space)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Universe) and self.space == other.space

    def __hash__(self) -> int:
        return hash(self.space)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else f"bipartite={self.bipartite}"
        return f"Universe(shape={self.shape}, {kind})"

    @property
    def public(self) -> str:
        """Words of a guarantee for the vertex sets, such as "the vertex set".

        They warn if a set was inferred from private edges, and so is not public.
        """
        return public_vertices(self.space)

    @property
    def disjoint_norm_squared(self) -> int:
        """Largest ||q||_2^2 of a cut query q with disjoint S and T.

        That is the largest number of pairs between disjoint sets. It is X if bipartite. Else it is
        floor(n^2/4), by sets of n/2 vertices, for arcs as well: S to T is one direction only.
        """
        return self.size if self.bipartite else self.shape[0] ** 2 // 4

    def pairs(self) -> tuple[IntVector, IntVector]:
        """Return the row and the column of each pair, once, row by row; shape (X,) each."""
        # `Layout` numbers the pairs 0, ..., X - 1; `ends` returns rows and columns of such numbers.
        return self._layout.ends(np.arange(self.size))

    def matrix_of(self, values: FloatVector) -> FloatMatrix:
        """Return the matrix over the universe with one value a pair, zero on its diagonal.

        Args:
            values: shape (X,), in the order of `pairs`.
        """
        matrix = np.zeros(self.shape)
        matrix[self.pairs()] = values
        return matrix + matrix.T if self.symmetric else matrix

    def clear_diagonal(self, matrix: FloatMatrix) -> None:
        """Set to 0, in place, the entries of a matrix over the universe that are no pairs.

        Args:
            matrix: a matrix over the universe.
        """
        if self.hollow:
            np.fill_diagonal(matrix, 0)

    def total(self, matrix: npt.NDArray[Any]) -> float:
        """Return the sum over pairs of the entries of a matrix over the universe.

        Args:
            matrix: a matrix over the universe.
        """
        return float(matrix.sum(dtype=np.float64)) / (2 if self.symmetric else 1)

    def pairs_between(self, query: CutQuery) -> int:
        """Return the number of pairs that a cut query counts.

        Args:
            query: a query of the universe.

        Raises:
            QueryError: an unknown vertex, or a truth vector of the wrong length.
        """
        return pairs_of_cut(*self.masks(query), self.space)

    def answers(self, queries: Sequence[LinearQuery], matrix: Any) -> FloatVector:
        """Return answers on a matrix over the universe, which is not checked again.

        Args:
            queries: in the order of the answers.
            matrix: a matrix over the universe.

        Returns:
            Shape (len(queries),).

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return answer_on_matrix(queries, matrix, self.space)

    def masks(self, query: CutQuery) -> tuple[BoolVector, BoolVector]:
        """Return the truth vectors of S and T; do not write to them.

        Args:
            query: a query of the universe.

        Raises:
            QueryError: an unknown vertex, or a truth vector of the wrong length.
        """
        return query.masks(self.space)

    def coefficients(self, query: LinearQuery) -> FloatMatrix:
        """Return the query as a matrix over the universe: the coefficient of each pair.

        The answer on a matrix H is `total(coefficients * H)`.

        Args:
            query: a query of the universe.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return query.coefficients(self.space)

    def norm_squared(self, query: LinearQuery) -> float:
        """Return ||q||_2^2 over pairs; for a cut query the number of pairs between S and T.

        Args:
            query: a query of the universe.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return query.norm_squared(self.space)

    def coefficient_range(self, query: LinearQuery) -> tuple[float, float]:
        """Return bounds (low, high) on the coefficients of a query, with low <= 0 <= high.

        (0, 1) for every cut query; (0, sensitivity) for a rank-one query.

        Args:
            query: a query of the universe.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return query.coefficient_range(self.space)
