"""Which pairs of vertices there are: as places in a matrix, and as the universe of queries.

`Layout` tells places of one vertex set, of two, of arcs. GRU12 sees a graph as a database over the
universe X of pairs, and a linear query as a vector q with one coefficient for each pair. A matrix
over the universe is symmetric with a zero diagonal (a pair of a plain graph thus has two entries,
which always agree), or a biadjacency matrix, or that of a directed graph, with a zero diagonal.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeVar, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.pairs.queries import (
    AnyGraph,
    CutQuery,
    LinearQuery,
    answer_on_matrix,
    pairs_of_cut,
    sides_of,
    space_of,
)
from graphcuts_dp.pairs.vertices import Arcs, Label, Space, VertexSet, public_vertices

Index = TypeVar("Index", int, npt.NDArray[np.int64])

_BLOCK_ENTRIES = 1 << 20  # in float32 four MiB, which caches hold
_LEAST_BLOCKS = 8  # of a matrix of more than 2^17 entries, so that processors share it
_SMALL = 1 << 17


@dataclass(frozen=True)
class Layout:
    """The shape of a noisy matrix and how its rows are cut.

    Attributes:
        shape: rows and columns.
        symmetric: whether it is an adjacency matrix: symmetric with zero diagonal.
        directed: whether it is that of a directed graph: square, each entry a pair of its own, and
            none on the diagonal, which is zero.
    """

    shape: tuple[int, int]
    symmetric: bool
    directed: bool = False

    @classmethod
    def of(cls, space: Space) -> Self:
        """The layout of a matrix over one vertex set, over two, or over `Arcs`."""
        left, right = sides_of(space)
        return cls((len(left), len(right)), left is right, isinstance(space, Arcs))

    @property
    def hollow(self) -> bool:
        """Whether the diagonal is zero, since no vertex is paired with itself."""
        return self.symmetric or self.directed

    def bounds(self) -> list[tuple[int, int]]:
        """First row and end of each block, in order. Each starts at a multiple of eight."""
        rows, columns = self.shape
        if rows * columns <= _SMALL:
            return [(0, rows)]
        height = min(_BLOCK_ENTRIES // columns, rows // _LEAST_BLOCKS)
        height = max(8, -(-height // 8) * 8)
        return [(start, min(start + height, rows)) for start in range(0, rows, height)]

    def pairs_before(self, row: Index) -> Index:
        """How many pairs lie in the rows above `row`; of a symmetric matrix, pairs i < j."""
        rows, columns = self.shape
        if self.symmetric:
            return row * (2 * rows - row - 1) // 2
        return row * (columns - self.directed)

    def places(self, rows: IntVector, columns: IntVector) -> IntVector:
        """The place of each pair among all, in row order; of a symmetric matrix, rows < columns."""
        along = columns
        if self.symmetric:
            along = columns - rows - 1  # row i begins with j = i + 1
        elif self.directed:
            along = columns - (columns > rows)
        return self.pairs_before(rows) + along

    def ends(
        self, places: IntVector, start: int = 0, stop: int | None = None
    ) -> tuple[IntVector, IntVector]:
        """Row and column of each place, shape (k,); the inverse of `places`.

        No place lies in rows before `start`, nor in row `stop` or later ones; None for the end.
        """
        stop = self.shape[0] if stop is None else stop
        before = self.pairs_before(np.arange(start, stop + 1, dtype=np.int64))
        rows = np.searchsorted(before, places, side="right") - 1
        along = places - before[rows]
        rows += start
        if self.symmetric:
            along += rows + 1
        elif self.directed:
            along += along >= rows
        return rows, along

    def unfold(self, values: npt.NDArray[Any], start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start..stop-1 from one value a pair, in row order.

        Returns:
            All columns; of a symmetric matrix the columns from `start` on, zero where j <= i.
        """
        columns = self.shape[1]
        if self.directed:
            full = np.zeros((stop - start, columns), dtype=values.dtype)
            full[self._off_diagonal(start, stop)] = values
            return full
        if not self.symmetric:
            return values.reshape(stop - start, columns)
        upper = np.zeros((stop - start, columns - start), dtype=values.dtype)
        taken = 0
        for i in range(stop - start):
            count = columns - start - i - 1
            upper[i, i + 1 :] = values[taken : taken + count]
            taken += count
        return upper

    def fold(self, rows: npt.NDArray[Any], start: int) -> npt.NDArray[Any]:
        """One value a pair, in row order, from full rows that begin at `start`."""
        if self.directed:
            return rows[self._off_diagonal(start, start + len(rows))]
        if not self.symmetric:
            return rows.ravel()
        return np.concatenate([row[start + i + 1 :] for i, row in enumerate(rows)])

    def _off_diagonal(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Which entries of some rows are not on the diagonal."""
        kept = np.ones((stop - start, self.shape[1]), dtype=np.bool_)
        kept[np.arange(stop - start), np.arange(start, stop)] = False
        return kept


def most_weight(pairs: float, cap: float | None) -> float:
    """What so many pairs, or coefficients, weigh at most, rounded up; infinity without a cap."""
    if cap is None:
        return math.inf
    most = cap * pairs
    exact = math.isinf(most) or Fraction(most) >= Fraction(cap) * Fraction(pairs)
    return most if exact else math.nextafter(most, math.inf)


def possible_part(
    interval: tuple[float, float], most: float, least: float = 0.0
) -> tuple[float, float]:
    """The part of an interval where a query can lie: of a cut none is below 0, as no weight is.

    It holds every possible truth that the interval holds. One that lies beside all possible truths
    becomes the nearest of them.

    Args:
        interval: (low, high).
        most: the most that the query can be; of a cut what its pairs can weigh, see `most_weight`.
        least: the least, below 0 where coefficients are.
    """
    low, high = interval
    return min(max(low, least), most), min(max(high, least), most)


Vertices = VertexSet | int | Sequence[Label]


@final
class Universe:
    """All pairs of one public vertex set, all pairs across two, or all arcs on one.

    Args:
        vertices: a count n, labels, or a `VertexSet` (left ones of a bipartite graph).
        right: right vertices of a bipartite graph; None for another one.
        directed: whether pairs are arcs.

    Attributes:
        space: the vertex set, or the two, or `Arcs`: what `CutQuery.masks` and `sensitivity` take.
        bipartite: whether there are two sides.
        directed: whether pairs are arcs on one vertex set.
        symmetric: whether there is one set of unordered pairs: neither of the two.
        hollow: whether no vertex is paired with itself, so that matrices have a zero diagonal: not
            bipartite.
        shape: (n, n), or (n_left, n_right): the shape of matrices over the universe.
        size: number of pairs X = n (n - 1) / 2, n_left * n_right, or n (n - 1).

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
            # Always a new object: queries take one object on both sides for one set.
            inferred = isinstance(right, VertexSet) and right.inferred
            self.space = left, VertexSet(right, inferred=inferred)
        self._layout = layout = Layout.of(self.space)
        self.shape, self.symmetric, self.directed = layout.shape, layout.symmetric, directed
        self.hollow = layout.hollow
        self.bipartite = not self.hollow
        self.size = layout.pairs_before(self.shape[0])

    @classmethod
    def of(cls, graph: AnyGraph) -> Self:
        """All pairs of a graph's public vertex sets."""
        return cls.over(space_of(graph))

    @classmethod
    def over(cls, space: Space) -> Self:
        """All pairs of a space: of one vertex set, across two, or `Arcs`."""
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
        """What a guarantee says about the vertex sets."""
        return public_vertices(self.space)

    @property
    def disjoint_norm_squared(self) -> int:
        """Largest number of pairs between disjoint S and T: floor(n^2/4), or X if bipartite."""
        return self.size if self.bipartite else self.shape[0] ** 2 // 4

    def clear_diagonal(self, matrix: FloatMatrix) -> None:
        """Set to 0, in place, the entries of a matrix over the universe that are no pairs."""
        if self.hollow:
            np.fill_diagonal(matrix, 0)

    def pairs_between(self, query: CutQuery) -> int:
        """How many pairs a cut query counts.

        Raises:
            QueryError: as for `masks`.
        """
        return pairs_of_cut(*self.masks(query), self.space)

    def pairs(self) -> tuple[IntVector, IntVector]:
        """Row and column of each pair once, in the order of rows; shape (X,) each."""
        return self._layout.ends(np.arange(self.size))

    def matrix_of(self, values: FloatVector) -> FloatMatrix:
        """The matrix with one value a pair, in the order of `pairs`; zero where there is none."""
        matrix = np.zeros(self.shape)
        matrix[self.pairs()] = values
        return matrix + matrix.T if self.symmetric else matrix

    def total(self, matrix: npt.NDArray[Any]) -> float:
        """Sum over pairs of the entries of a matrix over the universe."""
        return float(matrix.sum(dtype=np.float64)) / (2 if self.symmetric else 1)

    def answers(self, queries: Sequence[LinearQuery], matrix: Any) -> FloatVector:
        """Answers on a matrix over the universe, which is not checked again.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return answer_on_matrix(queries, matrix, self.space)

    def masks(self, query: CutQuery) -> tuple[BoolVector, BoolVector]:
        """Truth vectors of S and T.

        Raises:
            QueryError: an unknown vertex, or a truth vector of the wrong length.
        """
        return query.masks(self.space)

    def coefficients(self, query: LinearQuery) -> FloatMatrix:
        """The query as a matrix over the universe: the coefficient of each pair.

        The answer on a matrix H is `total(coefficients * H)`.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return query.coefficients(self.space)

    def norm_squared(self, query: LinearQuery) -> float:
        """||q||_2^2 over pairs; for a cut query the number of pairs between S and T.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return query.norm_squared(self.space)

    def coefficient_range(self, query: LinearQuery) -> tuple[float, float]:
        """Bounds (low, high) with low <= 0 <= high on the coefficients of a query.

        (0, 1) for every cut query; (0, sensitivity) for a rank-one query.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return query.coefficient_range(self.space)
