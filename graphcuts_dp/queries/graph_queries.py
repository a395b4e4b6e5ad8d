"""Queries besides cuts: linear ones in whole steps of any size, and those about a whole graph.

Public of a linear query is how large its coefficients are (`Extent`); noise is bought for their
whole steps (`LinearSteps`). A `GraphQuery` is no sum over pairs: triangles, largest, least cut.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Protocol, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.queries.linear import (
    AnyGraph,
    CutQuery,
    LinearQuery,
    MatrixQuery,
    RankOneQuery,
    Subset,
    pairs_of_cut,
    sides_of,
    space_of,
)
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.value_bounds import most_weight
from graphcuts_dp.schema.vertices import Space, VertexSet, one_set

MOST_COEFFICIENTS = 1 << 24  # of a query that is given by all of them: 128 MiB
_BITS = 30  # the largest coefficient has 2^30 steps
_FLOATS = 1e-9  # what sums of floats may be off, relatively: far more than they are


@final
@dataclass(frozen=True)
class Extent:
    """How large the coefficients of a query are, over all public pairs. Reads no graph.

    Attributes:
        largest: largest modulus of a coefficient: the sensitivity.
        negative: sum of the moduli of those below 0, rounded up.
        positive: sum of those above 0, rounded up.
        whole: whether each is a whole number of `LinearSteps.unit`.
    """

    largest: float
    negative: float
    positive: float
    whole: bool

    @classmethod
    def of(cls, query: LinearQuery, space: Space) -> "Extent":
        """The extent of a query.

        Raises:
            QueryError: a query that does not fit the vertex sets, has coefficients that are not
                finite, or is given by more than 2^24 coefficients.
        """
        if isinstance(query, RankOneQuery):
            return _of_rank_one(query, space)
        if isinstance(query, CutQuery):
            pairs = pairs_of_cut(*query.masks(space), space)
            return cls(float(pairs > 0), 0.0, float(pairs), whole=True)
        coefficients = pair_coefficients(query, space)
        # Either triangle of a symmetric matrix; nothing else lies on the other one.
        largest = float(np.abs(coefficients).max(initial=0.0))
        unit = largest * 2.0**-_BITS
        steps = np.rint(coefficients / unit) if unit > 0 else coefficients
        return cls(
            largest=largest,
            negative=-float(np.minimum(coefficients, 0).sum()) * (1 + _FLOATS),
            positive=float(np.maximum(coefficients, 0).sum()) * (1 + _FLOATS),
            whole=bool((steps * unit == coefficients).all()),
        )

    @property
    def modulus(self) -> float:
        """Sum of the moduli of all coefficients."""
        return self.negative + self.positive

    def possible(self, cap: float | None) -> tuple[float, float]:
        """(low, high) between which the answer lies on every graph with weights from 0 to a cap.

        Args:
            cap: None where there is none: then a side is endless, or 0.
        """
        sides = self.negative, self.positive
        low, high = (most_weight(side, cap) if side else 0.0 for side in sides)
        return 0.0 - low, high


def _of_rank_one(query: RankOneQuery, space: Space) -> Extent:
    left, right = sides_of(space)
    u, v = query.vectors((len(left), len(right)))
    # Entries are not below 0, and nor are coefficients. Pairs of a vertex with itself are none.
    positive = float(u.sum()) * float(v.sum())
    if one_set(space):
        positive = max(0.0, positive - float(u @ v))
    largest = query.sensitivity(space)
    # Dyadic entries of few digits have coefficients that are whole steps of 2^-30 times 1 or 2.
    few = all(bool((np.ldexp(x, 14) == np.rint(np.ldexp(x, 14))).all()) for x in (u, v))
    whole = few and np.frexp(largest)[0] == 0.5 and largest <= 2
    slack = _FLOATS * float(u.sum()) * float(v.sum())
    return Extent(largest, 0.0, (positive + slack) if largest else 0.0, bool(whole))


def pair_coefficients(query: LinearQuery, space: Space) -> FloatMatrix:
    """The coefficient of each pair, once: of one vertex set above the diagonal, zeros elsewhere.

    Raises:
        QueryError: coefficients that are not finite or of another shape, not symmetric where they
            must be, or more than 2^24.
    """
    left, right = sides_of(space)
    if len(left) * len(right) > MOST_COEFFICIENTS:
        raise QueryError(
            f"a query with a coefficient for each pair is for up to {MOST_COEFFICIENTS:,} of them;"
            " cuts and rank-one queries have no such limit"
        )
    try:
        found = np.array(query.coefficients(space), dtype=np.float64)
    except QueryError:
        raise
    except (AttributeError, TypeError, ValueError):
        raise QueryError(f"{type(query).__name__} gives no matrix of coefficients") from None
    if found.shape != (len(left), len(right)) or not np.isfinite(found).all():
        raise QueryError(
            f"the coefficients of a query are finite numbers, {len(left)} x {len(right)} of them"
        )
    if isinstance(space, VertexSet):
        if not np.array_equal(found, found.T):
            raise QueryError("the coefficients of a query on one vertex set are symmetric")
        found = np.triu(found, 1)
    elif one_set(space):
        np.fill_diagonal(found, 0)
    return found + 0.0  # -0.0 and 0.0 are one number


def exact_sums(coefficients: IntMatrix, weights: IntVector) -> list[int]:
    """Sums of products of whole numbers, exactly, one for each row.

    Args:
        coefficients: shape (k, N), of at most 2^31 in size, N at most 2^24.
        weights: shape (N,), from 0 to below 2^64.
    """
    # Digits of 16 bits: products of two are below 2^32, and so many of them fit into 64 bits.
    total = [0] * len(coefficients)
    low, high = coefficients & 0xFFFF, coefficients >> 16
    for shift in range(0, 53, 16):
        digit = weights >> shift & 0xFFFF
        for part, place in ((low, shift), (high, shift + 16)):
            total = [
                sum_so_far + (int(found) << place)
                for sum_so_far, found in zip(total, part @ digit, strict=True)
            ]
    return total


def as_cut(query: RankOneQuery, space: Space) -> CutQuery | None:
    """The cut that a rank-one query is, if both vectors are indicators of sets that do not meet.

    Where pairs are ordered, the sets may meet: each arc counts once.
    """
    left, right = sides_of(space)
    u, v = query.vectors((len(left), len(right)))
    if not all(bool(((x == 0) | (x == 1)).all()) for x in (u, v)):
        return None
    S, T = u > 0, v > 0
    return None if isinstance(space, VertexSet) and (S & T).any() else CutQuery(S, T)


@final
@dataclass(frozen=True)
class LinearSteps:
    """Coefficients in whole steps of 2^-30 of the largest one, rounded to the nearest.

    An answer is then a whole number of steps of coefficients times steps of weights. If one
    weight changes by at most d of its steps, the count changes by at most 2^30 d: no coefficient
    has more than 2^30 steps, which `steps` makes sure of whatever floats do.

    Attributes:
        extent: of the query; `largest` > 0.
    """

    extent: Extent
    most: ClassVar[int] = 1 << _BITS  # steps of the largest coefficient

    @cached_property
    def unit(self) -> float:
        """Of one step, exact: the largest coefficient over 2^30."""
        return self.extent.largest * 2.0**-_BITS

    def steps(self, coefficients: FloatVector) -> IntVector:
        """Some coefficients in steps."""
        found = np.rint(coefficients / self.unit)
        return np.clip(found, -self.most, self.most).astype(np.int64)

    def rounding(self, pairs: int, cap: float | None) -> float:
        """By how much rounding coefficients can move an answer, in weight.

        Args:
            pairs: of the universe.
            cap: public largest weight; None where there is none.

        Raises:
            QueryError: nobody can tell, as weights have no bound.
        """
        if self.extent.whole:
            return 0.0
        if cap is None:
            raise QueryError(
                "without a max_weight the coefficients of a query must be whole multiples of a "
                "2^-30th part of the largest one; give the graph a max_weight"
            )
        return pairs * cap * self.unit * (0.5 + _FLOATS)


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
        if not isinstance(self.statistic, str) or self.statistic not in STATISTICS:
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
