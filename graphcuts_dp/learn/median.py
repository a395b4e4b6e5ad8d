"""The median construction: keep a family of databases, drop the half that is proven wrong.

A query is answered by the median of the family's answers. When the truth is at least alpha above,
every database at or below the median goes, hence at least half of the family. A database whose
answers are all strictly within alpha of the truth is never dropped, so a family that has one can
be halved log2(size) times. Families are listed one by one: for tiny universes only.

Source: GRU12 appendix A.1, Alg. 4; DR14 Definitions 5.2 and 5.6, Alg. 9, Theorem 5.8. Both print
log where halving needs log2.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.learn.base import (
    Arrays,
    Construction,
    Hypothesis,
    Sign,
    checked_tuning,
)
from graphcuts_dp.queries.graph_queries import GraphQuery
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe

_MOST_NUMBERS = 1 << 24  # 128 MiB


@final
class DatabaseFamily(Hypothesis):
    """A median data structure: databases over one universe, answered by the median.

    Args:
        universe: the public vertex pairs.
        databases: shape (N, X), N >= 1: the pairs' weights of each, finite, the pairs in the order
            of `Universe.pairs`.

    Attributes:
        universe: as given.
        databases: read-only.

    Raises:
        HypothesisError: no database, or an array of another form.
    """

    kind = "family of graphs"

    def __init__(self, universe: Universe, databases: npt.ArrayLike) -> None:
        copy = np.array(databases, dtype=np.float64)
        if copy.ndim != 2 or not len(copy) or copy.shape[1] != universe.size:
            raise HypothesisError(f"a family is a matrix with a column for each of {universe.size}")
        if not np.isfinite(copy).all():
            raise HypothesisError("the weights of a family of databases must be finite")
        copy.flags.writeable = False
        self.universe = universe
        self.databases: FloatMatrix = copy

    def __len__(self) -> int:
        return len(self.databases)

    def answers(self, query: LinearQuery | GraphQuery) -> FloatVector:
        """Every database's answer, shape (N,); of a `GraphQuery` in its `steps`.

        Raises:
            QueryError: a query that does not fit the vertex sets, or a `GraphQuery` to weights.
        """
        if isinstance(query, GraphQuery):
            if not self.graphs:
                raise QueryError(f"{query.statistic!r} is for families of graphs without weights")
            return query.steps(self.universe, self.databases).astype(np.float64)
        coefficients = self.universe.coefficients(query)[self.universe.pairs()]
        answers: FloatVector = self.databases @ coefficients
        return answers

    @property
    def graphs(self) -> bool:
        """Whether all databases are graphs without weights."""
        return bool(((self.databases == 0) | (self.databases == 1)).all())

    def estimate(self, query: LinearQuery | GraphQuery) -> float:
        """The median answer; the mean of the middle two if their number is even."""
        return float(np.median(self.answers(query)))

    def median_weights(self) -> FloatMatrix:
        """The median weight of each pair, as a matrix over the universe.

        Its cuts are not the medians of the cuts, so it does not stand for the family.
        """
        matrix = np.zeros(self.universe.shape)
        matrix[self.universe.pairs()] = np.median(self.databases, axis=0)
        return matrix + matrix.T if self.universe.symmetric else matrix

    def arrays(self) -> Arrays:
        """See `Hypothesis`: a bit for each pair.

        Raises:
            HypothesisError: databases with weights, which nothing keeps.
        """
        if not self.graphs:
            raise HypothesisError("only families of graphs without weights are kept")
        return {"graphs": np.packbits(self.databases.astype(np.bool_), axis=1)}

    @classmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """See `Hypothesis`."""
        return cls(universe, np.unpackbits(arrays["graphs"], axis=1, count=universe.size))


@final
@dataclass(frozen=True, kw_only=True)
class Median(Construction[DatabaseFamily]):
    """The halving rule on a family.

    Args:
        start: a family that holds, for every possible truth, a database whose answers to the query
            class are all strictly within alpha: `all_graphs`, `alpha_net`.
        alpha: tolerance in edges, > 0.
        lenient: what becomes of answers that no database fits, as too much noise can make them:
            False refuses, True keeps the databases that come nearest.

    Guarantee: at most log2(N) updates, if all of them are valid ones.

    Raises:
        ParameterError: alpha out of range, or a universe without pairs.
    """

    start: DatabaseFamily
    alpha: float
    lenient: bool = False

    def __post_init__(self) -> None:
        checked_tuning(self.start.universe, self.alpha)

    @property
    def start_potential(self) -> float:  # type: ignore[override]
        """log2(N): how often a family of N databases can be halved."""
        return math.log2(len(self.start))

    def update(
        self,
        hypothesis: DatabaseFamily,
        query: LinearQuery | GraphQuery,
        sign: Sign,
        value: float | None = None,  # noqa: ARG002  # the median needs the sign only
    ) -> DatabaseFamily:
        """The databases on the true side of the median; see `Construction.update`.

        Raises:
            HypothesisError: none is left: the answers fit no database of the family; not if
                `lenient`.
        """
        answers = hypothesis.answers(query)
        kept = sign * (answers - np.median(answers)) > 0
        if self.lenient and not kept.any():
            kept = sign * answers == (sign * answers).max()
        if not kept.any():
            raise HypothesisError("no database of the family fits the answers; use a finer net")
        return DatabaseFamily(hypothesis.universe, hypothesis.databases[kept])

    def least_drop(self, alpha: float) -> float:  # noqa: ARG002  # halves, whatever alpha
        """1: every update halves the family at least."""
        return 1.0


def all_graphs(universe: Universe, edges: int | None = None) -> DatabaseFamily:
    """Every graph without weights, or every one with a given number of edges.

    Args:
        universe: the public vertex pairs.
        edges: number of edges, public, in [0, X]; None for any.

    Raises:
        HypothesisError: too many graphs; the message tells their number.
        ParameterError: edges out of range.

    Source: DR14 Theorem 5.9 (a trivial net).
    """
    X = universe.size
    if edges is None:
        check_size(float(X), X)
        bits = np.arange(2**X)[:, None] >> np.arange(X)
        return DatabaseFamily(universe, bits & 1)
    if not 0 <= edges <= X:
        raise ParameterError(f"edges must lie in [0, {X}], not {edges}")
    check_size(log2_binomial(X, edges), X)
    return family_of(universe, itertools.combinations(range(X), edges), 1.0)


def alpha_net(
    family: DatabaseFamily, queries: Sequence[LinearQuery], alpha: float
) -> DatabaseFamily:
    """A subfamily with a member strictly within alpha of each database on all queries.

    Greedy: a database joins when no earlier member is near it, so members are alpha apart.

    Args:
        family: the databases that the truth may be.
        queries: the query class, at least one.
        alpha: > 0, in edges. DR14 asks for distance <= alpha; `Median` needs it strict.

    Raises:
        HypothesisError: too many databases times queries.
    """
    check_size(math.log2(len(family)), len(queries))
    answers = np.stack([family.answers(query) for query in queries], axis=1)
    uncovered = np.ones(len(family), dtype=np.bool_)
    members = []
    while uncovered.any():
        member = int(uncovered.argmax())
        members.append(member)
        rest = np.flatnonzero(uncovered)
        near = (np.abs(answers[rest] - answers[member]) < alpha).all(axis=1)
        uncovered[rest[near]] = False
    return DatabaseFamily(family.universe, family.databases[members])


def check_size(log2_count: float, numbers: int) -> None:
    """Refuse before anything is built."""
    if log2_count + math.log2(max(numbers, 1)) > math.log2(_MOST_NUMBERS) + 1e-9:
        count = f"{2**log2_count:.0f}" if log2_count < 40 else f"2^{log2_count:.1f}"
        raise HypothesisError(
            f"this would take {count} databases with {numbers} numbers each, more than"
            f" {_MOST_NUMBERS}; use multiplicative weights or Frieze-Kannan"
        )


def log2_binomial(n: int, k: int) -> float:
    """The logarithm of the number of subsets of size k, in bits."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def family_of(
    universe: Universe, chosen: Iterator[tuple[int, ...]], weight: float
) -> DatabaseFamily:
    """The databases with this weight at the chosen pairs, once for each time they are chosen."""
    columns = np.array(list(chosen), dtype=np.int64)
    databases = np.zeros((len(columns), universe.size))
    for column in columns.T:
        databases[np.arange(len(columns)), column] += weight
    return DatabaseFamily(universe, databases)
