"""Public grids for the answers of linear queries on ratings, and blocks of equal pairs.

`AnswerGrid` counts answers in whole units, so that noise is drawn on integers and the sensitivity
is exact. `QueryBlocks` makes a list of cuts smaller: rows and columns that are in the same sets of
all cuts are taken together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.errors import GraphError, ParameterError, QueryError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.iterative.distinguisher import root_at_most
from graphcuts_dp.iterative.query_lists import MOST_NUMBERS
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.queries.coefficients import Extent
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, MatrixQuery
from graphcuts_dp.queries.mixed_cuts import with_sides
from graphcuts_dp.queries.plain import plain_query
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.vertices import Space

SUM_BITS = 61  # answers stay below 2^61 units: differences of two fit into 64 bits
MOST_SENSED_PAIRS = 1 << 25  # pairs of a universe that is sensed: its hypothesis has 256 MiB
_MOST_BITS = 20  # the largest coefficient and the largest rating have at most 2^21 units each
_LARGEST_DEVIATION = 2**55  # of noise, in units: 64-bit integers hold every sample


@final
class AnswerGrid:
    """A public grid on which answers of linear queries are whole numbers of units.

    Privacy: sensitivities hold for queries from `plain_query` alone. Their coefficients are the
    same each time that they are read, and do not depend on the ratings.

    Args:
        universe: users and items.
        queries: the list, read by `plain_query`.
        cap: public largest rating.

    Attributes:
        queries: the list.
        cap: the largest rating.
        sensitivity: Delta: the largest change of an answer by one rating, in units.
        unit: weight of a unit, a power of two.
        rounding: largest difference between an answer on the grid and the true one, in weight.

    Raises:
        ParameterError: queries that are all constant, or numbers that are too large or small.
        GraphError: too many pairs.
        QueryError: a query that does not fit the vertex sets.
    """

    def __init__(self, universe: Universe, queries: Sequence[LinearQuery], cap: float) -> None:
        if universe.size > MOST_SENSED_PAIRS:
            raise GraphError(f"sensing holds all pairs, up to {MOST_SENSED_PAIRS}: use fewer items")
        self.queries: tuple[LinearQuery, ...] = tuple(queries)
        self.universe = universe
        self.cap: float = float(cap)
        largest = max(Extent.of(query, universe.space).largest for query in queries)
        if largest == 0:
            raise ParameterError("all queries are constant: there is nothing to measure")
        # A coefficient and a rating have fewer than 2^(bits + 1) units each.
        bits = min(_MOST_BITS, (SUM_BITS - universe.size.bit_length()) // 2 - 1)
        self._rating_unit = 2.0 ** (math.floor(math.log2(cap)) - bits)
        self._coefficient_unit = 2.0 ** (math.floor(math.log2(largest)) - bits)
        self.unit: float = self._rating_unit * self._coefficient_unit
        if not 0 < self.unit < math.inf:
            raise ParameterError("coefficients times max_weight must be numbers of usual size")
        # Rounding is monotone: the largest coefficient has the most units.
        self._most_rating_units = math.floor(cap / self._rating_unit)
        self._most_coefficient_units = round(largest / self._coefficient_unit)
        self.sensitivity: int = self._most_coefficient_units * self._most_rating_units
        rounding_of_entry = cap * self._coefficient_unit / 2 + self._rating_unit * largest
        self.rounding: float = universe.size * rounding_of_entry

    def count(self, ratings: BipartiteGraph) -> IntVector:
        """Return all true answers in units, exactly, shape (len(queries),). Private."""
        weights = np.floor(ratings.weights / self._rating_unit).astype(np.int64)
        answers = []
        for query in self.queries:
            coefficients = query.coefficients_at(ratings.rows, ratings.columns, self.universe.space)
            answers.append(int(self._coefficient_units(coefficients).astype(np.int64) @ weights))
        return np.array(answers, dtype=np.int64)

    @cached_property
    def squared_sensitivity(self) -> int:
        """The squared length of the largest change of the list of answers by one rating, in units.

        The largest over pairs of the sum over queries of squared coefficients, with a margin for
        the rounding of floats, times the square of the largest rating, all in units.
        """
        total = np.zeros(self.universe.shape)
        for query in self.queries:
            units = self._coefficient_units(self.universe.coefficients(query))
            total += units * units
        return math.ceil(float(total.max()) * (1 + 1e-9)) * self._most_rating_units**2

    def noise(self, rho: Fraction, rounds: int) -> tuple[Fraction, ValueNoise]:
        """Return the rate of each choice and the noise of each measurement of some rounds.

        A round spends half of rho/rounds on its choice, and half on its measurement. A choice of
        rate c is (2 c Delta)^2/8-zCDP, a measurement of variance v is Delta^2/(2 v)-zCDP.

        Args:
            rho: zCDP budget of all rounds together.
            rounds: number of choices, and of measurements.

        Raises:
            ParameterError: noise that does not fit into 64 bits.
        """
        noise = ValueNoise("gaussian", self.sensitivity**2 * rounds / rho)
        if noise.parameter > _LARGEST_DEVIATION**2:
            raise ParameterError("the noise does not fit into 64 bits: use more epsilon")
        return root_at_most(4 * rho / rounds) / (2 * self.sensitivity), noise

    def noise_for_all(self, rho: Fraction) -> ValueNoise | None:
        """Return the noise of measurements of all queries; None if 64 bits do not hold it."""
        noise = ValueNoise("gaussian", self.squared_sensitivity / (2 * rho))
        return noise if noise.parameter <= _LARGEST_DEVIATION**2 else None

    def radius(self, noise: ValueNoise, failure: float) -> float:
        """Return a bound on the error of a measured value, in weight.

        Args:
            noise: of the measurement.
            failure: probability of a larger error, at most.
        """
        return (self.unit * noise.radius(failure) + self.rounding) * (1 + 1e-9)

    def error_less_gap(
        self, rate: Fraction, noise: ValueNoise, beta: float, *, queries: int
    ) -> float:
        """Return a bound on the largest error on a list minus the noisy gap of the last round.

        Args:
            rate: rate of the choice of the last round.
            noise: noise on its measurement.
            beta: probability of a larger error, at most.
            queries: length of the list.
        """
        signed_queries = 2 * queries
        # The gap of the choice is at most so far below the largest; estimates are rounded by 1.
        shortfall = math.log(2 * signed_queries / beta) / float(rate) + 1
        return (self.unit * (noise.radius(beta / 2) + shortfall) + self.rounding) * (1 + 1e-9)

    def in_units(self, answers: FloatVector) -> IntVector:
        """Return answers of a hypothesis in units, clipped to a range far beyond any truth."""
        limit = 2.0**SUM_BITS
        units: IntVector = np.rint(np.clip(answers / self.unit, -limit, limit)).astype(np.int64)
        return units

    def _coefficient_units(self, coefficients: FloatVector) -> FloatVector:
        """Return coefficients in whole units, none above that of the largest coefficient."""
        most = self._most_coefficient_units
        return np.clip(np.rint(coefficients / self._coefficient_unit), -most, most)


def plain_queries(queries: Sequence[LinearQuery], space: Space) -> list[LinearQuery]:
    """Return a list of queries as `plain_query` reads them.

    Raises:
        QueryError: a query that does not fit, or queries of classes of the user's own that together
            have more than 2^24 coefficients.
    """
    plain_list, coefficients = [], 0
    for query in queries:
        query_of_sides = with_sides(query, space)
        plain = plain_query(query_of_sides, space)
        plain_list.append(plain)
        is_of_user_class = plain is not query_of_sides and isinstance(plain, MatrixQuery)
        if is_of_user_class:
            coefficients += math.prod(Universe.over(space).shape)
        if coefficients > MOST_NUMBERS:
            raise QueryError(
                f"queries of classes of your own hold at most {MOST_NUMBERS:,} coefficients"
                " together: give fewer, or cuts and rank-one queries"
            )
    return plain_list


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class QueryBlocks:
    """A list of queries on a matrix, and the same list on a smaller one with one entry for a block.

    All cuts of the list are sums of whole blocks. Replacing the entries x of a block by one entry
    sqrt(rows columns) x maps matrices that are constant on blocks to smaller ones, and keeps inner
    products and singular values. Mirror descent that starts at 0, with a potential of singular
    values or of the sum of squares, never leaves such matrices: it is the same in both, and takes
    less time and memory in the smaller.

    Attributes:
        all_pairs: the universe of the list.
        universe: one row for each class of rows, one column for each class of columns.
        queries: those of the list, on `universe`, in their order.
        classes: the class of each row, and of each column.
    """

    all_pairs: Universe
    universe: Universe
    queries: tuple[LinearQuery, ...]
    classes: tuple[IntVector, IntVector]

    @classmethod
    def of(cls, queries: Sequence[LinearQuery], universe: Universe) -> Self:
        """Return the blocks of a list; single entries if one of its queries is no cut.

        Args:
            queries: on a bipartite universe.
            universe: the public vertex pairs.
        """
        shape, cuts = universe.shape, [query for query in queries if isinstance(query, CutQuery)]
        if len(cuts) < len(queries):
            rows, columns = np.arange(shape[0]), np.arange(shape[1])
            return cls(
                all_pairs=universe, universe=universe, queries=(*queries,), classes=(rows, columns)
            )
        masks = [query.masks(universe.space) for query in cuts]
        rows, columns = (_classes([pair[side] for pair in masks], shape[side]) for side in (0, 1))
        left, right = _size_roots(rows), _size_roots(columns)
        first_members = [np.unique(classes, return_index=True)[1] for classes in (rows, columns)]
        return cls(
            all_pairs=universe,
            universe=Universe(len(left), len(right)),
            queries=tuple(
                MatrixQuery(np.outer(left * S[first_members[0]], right * T[first_members[1]]))
                for S, T in masks
            ),
            classes=(rows, columns),
        )

    def expand(self, hypothesis: DenseHypothesis) -> DenseHypothesis:
        """Return the hypothesis on all pairs for one on the blocks."""
        if self.universe is self.all_pairs:
            return hypothesis
        entries = hypothesis.matrix / np.outer(*map(_size_roots, self.classes))
        return DenseHypothesis(self.all_pairs, entries[np.ix_(*self.classes)])


def _classes(masks: Sequence[BoolVector], size: int) -> IntVector:
    """Return a class for each index, from 0 on: the same for indices in the same sets."""
    classes = np.zeros(size, dtype=np.int64)
    for mask in masks:
        classes = np.unique(2 * classes + mask, return_inverse=True)[1]
    return classes


def _size_roots(classes: IntVector) -> FloatVector:
    """Return the square root of the size of each class."""
    return np.sqrt(np.bincount(classes))
