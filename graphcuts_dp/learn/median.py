"""The median construction: keep a family of databases, drop those that are proven wrong.

The hypothesis is a family (list) of databases over one universe of vertex pairs; a query is
answered by the median of their answers. If the truth is at least alpha above the median, every
database at or below the median is dropped: at least half of the family. If some database answers
each query strictly within alpha of the truth, it is never dropped. So a family with such a database
can be halved at most log2(size) times. Families are listed one by one: for tiny universes only.

A `Universe` is the set of public vertex pairs; X is their number. `universe.pairs()` gives the row
and the column of each pair, and so the order of pairs everywhere in this file; `matrix_of` puts
numbers in that order into a matrix. N is the number of databases of a family.

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
    check_tuning,
)
from graphcuts_dp.queries.graph_queries import GraphQuery
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe

_MOST_NUMBERS = 1 << 24  # floats in a family: 128 MiB; building one takes about three times as much
_MOST_PRINTED_BITS = 40  # of a count; a larger one is printed as a power of 2
_ROUNDING = 1e-9  # of logarithms to base 2


@final
class DatabaseFamily(Hypothesis):
    """A list of databases over one universe; a query is answered by the median.

    Args:
        universe: the public vertex pairs.
        databases: weights of the pairs of each database, finite, shape (N, X) with N >= 1; the
            pairs are in the order of `Universe.pairs`.

    Attributes:
        universe: as given.
        databases: as given, read-only.

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
        """Return every database's answer, shape (N,).

        A `GraphQuery` is a statistic of the whole graph, such as the number of triangles. Its
        answers are the statistic divided by its sensitivity and rounded down. So one edge changes
        them by at most 1, as it changes a cut, and the tolerance alpha fits both.

        Raises:
            QueryError: a query that does not fit the vertex sets, or a `GraphQuery` if databases
                have weights.
        """
        if isinstance(query, GraphQuery):
            if not self.graphs:
                raise QueryError(f"{query.statistic!r} is for families of graphs without weights")
            return query.scaled_values(self.universe, self.databases).astype(np.float64)
        coefficients = self.universe.coefficients(query)[self.universe.pairs()]
        answers: FloatVector = self.databases @ coefficients
        return answers

    @property
    def graphs(self) -> bool:
        """True if all databases are graphs without weights."""
        return bool(((self.databases == 0) | (self.databases == 1)).all())

    def estimate(self, query: LinearQuery | GraphQuery) -> float:
        """Return the median answer; the mean of the middle two if their number is even."""
        return float(np.median(self.answers(query)))

    def median_weights(self) -> FloatMatrix:
        """Return the median weight of each pair, as a matrix over the universe.

        It is for display only: its cuts are not the medians of the cuts.
        """
        return self.universe.matrix_of(np.median(self.databases, axis=0))

    def arrays(self) -> Arrays:
        """Return the databases, one bit for each pair.

        Raises:
            HypothesisError: databases with weights, which cannot be stored.
        """
        if not self.graphs:
            raise HypothesisError("only families of graphs without weights are kept")
        return {"graphs": np.packbits(self.databases.astype(np.bool_), axis=1)}

    @classmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """Return the hypothesis of stored arrays, see `Hypothesis.of_arrays`."""
        return cls(universe, np.unpackbits(arrays["graphs"], axis=1, count=universe.size))


@final
@dataclass(frozen=True, kw_only=True)
class Median(Construction[DatabaseFamily]):
    """The halving rule on a family.

    Guarantee: at most log2(N) updates, if some database of the family answers every query of the
        class strictly within alpha of the truth.

    Attributes:
        start: a family that has such a database for every possible truth: `all_graphs`,
            `alpha_net`.
        alpha: tolerance in edges, > 0. `update` does not read it: callers update only by queries
            whose answer is off by alpha.
        lenient: whether an update that fits no database, since noise was too large, keeps the
            nearest databases; else it is refused. After such an update the guarantee does not
            hold.

    Raises:
        ParameterError: alpha out of range, or a universe without pairs.
    """

    start: DatabaseFamily
    alpha: float
    lenient: bool = False

    def __post_init__(self) -> None:
        check_tuning(self.start.universe, self.alpha)

    @property
    def start_potential(self) -> float:  # type: ignore[override]
        """log2(N): how often a family of N databases can be halved."""
        return math.log2(len(self.start))

    def update(
        self,
        hypothesis: DatabaseFamily,
        query: LinearQuery | GraphQuery,
        sign: Sign,
        value: float | None = None,  # noqa: ARG002  # the median needs only the sign
    ) -> DatabaseFamily:
        """Return the databases on the true side of the median, see `Construction.update`.

        Raises:
            HypothesisError: there is none, and not `lenient`.
        """
        answers = hypothesis.answers(query)
        on_true_side = sign * (answers - np.median(answers)) > 0
        if self.lenient and not on_true_side.any():
            # No answer lies on the true side of the median. The largest answers are nearest to the
            # truth if it is above (sign 1), else the smallest ones.
            on_true_side = sign * answers == (sign * answers).max()
        if not on_true_side.any():
            # Noise was too large; or the family is a net, and too coarse for alpha.
            raise HypothesisError("no database of the family fits the answers; use a finer net")
        return DatabaseFamily(hypothesis.universe, hypothesis.databases[on_true_side])

    def least_drop(self, alpha: float) -> float:  # noqa: ARG002  # halves, whatever alpha
        """Return 1: every update that fits a database at least halves the family."""
        return 1.0


def all_graphs(universe: Universe, edges: int | None = None) -> DatabaseFamily:
    """Return every graph without weights, or every one with a given number of edges.

    Args:
        universe: the public vertex pairs.
        edges: number of edges, public, in [0, X]; None for any.

    Raises:
        HypothesisError: too many graphs; the message gives their number.
        ParameterError: edges out of range.

    Source: DR14 Theorem 5.9 (a trivial net).
    """
    X = universe.size
    if edges is None:
        check_size(float(X), X)
        bits = np.arange(2**X)[:, None] >> np.arange(X)  # (2^X, X)
        return DatabaseFamily(universe, bits & 1)
    if not 0 <= edges <= X:
        raise ParameterError(f"edges must lie in [0, {X}], not {edges}")
    check_size(log2_binomial(X, edges), X)
    return family_of(universe, itertools.combinations(range(X), edges), 1.0)


def alpha_net(
    family: DatabaseFamily, queries: Sequence[LinearQuery], alpha: float
) -> DatabaseFamily:
    """Return a subfamily with a member strictly within alpha of each database on all queries.

    Greedy. A database is covered if some member answers all queries within alpha of it. As long as
    there are uncovered databases, the first of them becomes a member. So for any two members some
    query has answers at least alpha apart.

    Args:
        family: the databases that the truth may be.
        queries: the query class, at least one.
        alpha: > 0, in edges. DR14 asks for distance <= alpha; `Median` needs it strict.

    Raises:
        HypothesisError: too many databases times queries.
    """
    check_size(math.log2(len(family)), len(queries))
    answers = np.stack([family.answers(query) for query in queries], axis=1)  # (N, queries)
    uncovered = np.ones(len(family), dtype=np.bool_)
    members = []
    while uncovered.any():
        member = int(uncovered.argmax())
        members.append(member)
        candidates = np.flatnonzero(uncovered)
        near = (np.abs(answers[candidates] - answers[member]) < alpha).all(axis=1)
        uncovered[candidates[near]] = False
    return DatabaseFamily(family.universe, family.databases[members])


def check_size(log2_count: float, numbers: int) -> None:
    """Refuse a family that is too large for memory, before it is built.

    Args:
        log2_count: logarithm to base 2 of the number of databases.
        numbers: floats for each database.

    Raises:
        HypothesisError: more than 2^24 floats in all.
    """
    if log2_count + math.log2(max(numbers, 1)) > math.log2(_MOST_NUMBERS) + _ROUNDING:
        if log2_count < _MOST_PRINTED_BITS:
            count = f"{2**log2_count:.0f}"
        else:
            count = f"2^{log2_count:.1f}"
        raise HypothesisError(
            f"this would take {count} databases with {numbers} numbers each, more than"
            f" {_MOST_NUMBERS}; use multiplicative weights or Frieze-Kannan"
        )


def log2_binomial(n: int, k: int) -> float:
    """Return the logarithm to base 2 of the number of subsets of size k."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def family_of(
    universe: Universe, pair_lists: Iterator[tuple[int, ...]], weight: float
) -> DatabaseFamily:
    """Return the databases that have this weight at the listed pairs, and 0 elsewhere.

    Args:
        universe: the public vertex pairs.
        pair_lists: for each database the indices, in 0..X-1, of its pairs; all lists are equally
            long. A pair may be listed several times (families of weighted databases do so): then it
            has a multiple of the weight.
        weight: of one listing.
    """
    columns = np.array(list(pair_lists), dtype=np.int64)  # (databases, pairs)
    databases = np.zeros((len(columns), universe.size))
    for column in columns.T:
        databases[np.arange(len(columns)), column] += weight
    return DatabaseFamily(universe, databases)
