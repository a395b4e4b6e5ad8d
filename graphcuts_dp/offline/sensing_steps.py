"""How answers about a matrix of ratings are counted in steps, and the noise that hides a rating."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.offline.scoring import root_at_most
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.value_noise import ValueNoise

SUM_BITS = 61  # of answers in steps: differences of two fit into 64 bits
_MOST_BITS = 20  # the largest coefficient and the largest rating have 2^20 to 2^21 steps, or fewer
MOST_SENSED_PAIRS = 1 << 25  # 256 MiB for a hypothesis
_LARGEST_DEVIATION = 2**55  # of noise, in steps: 64-bit integers hold every sample


@final
class Steps:
    """How answers are counted in whole public steps.

    Args:
        universe: users and items.
        queries: the list.
        cap: public largest rating.

    Attributes:
        queries: as given.
        cap: as given.
        sensitivity: Delta: by how many steps one rating can change an answer, at most.
        unit: of the answers, a power of two.
        rounding: how far an answer in steps may be from the true one, in units of ratings.

    Raises:
        ParameterError: no cap, no query, or queries that are all constant.
        GraphError: too many pairs.
        QueryError: a query that does not fit the vertex sets.
    """

    def __init__(
        self, universe: Universe, queries: Sequence[LinearQuery], cap: float | None
    ) -> None:
        if cap is None:
            raise ParameterError("sensing needs a public largest rating: give weight_cap")
        if not queries:
            raise ParameterError("sensing needs at least one query")
        if universe.size > MOST_SENSED_PAIRS:
            raise GraphError(f"sensing holds all pairs, up to {MOST_SENSED_PAIRS}: use fewer items")
        self.queries = tuple(queries)
        self.universe = universe
        self.cap = float(cap)
        largest = max(query.sensitivity(universe.space) for query in queries)
        if largest == 0:
            raise ParameterError("all queries are constant: there is nothing to measure")
        # A coefficient and a rating have fewer than 2^(bits + 1) steps each.
        bits = min(_MOST_BITS, (SUM_BITS - universe.size.bit_length()) // 2 - 1)
        self._of_ratings = 2.0 ** (math.floor(math.log2(cap)) - bits)
        self._of_coefficients = 2.0 ** (math.floor(math.log2(largest)) - bits)
        self.unit = self._of_ratings * self._of_coefficients
        if not 0 < self.unit < math.inf:
            raise ParameterError("coefficients times weight_cap must be numbers of usual size")
        # Rounding is monotone: the largest coefficient has the most steps.
        most = self._rating_steps = math.floor(cap / self._of_ratings)
        self.sensitivity = round(largest / self._of_coefficients) * most
        of_entry = cap * self._of_coefficients / 2 + self._of_ratings * largest
        self.rounding = universe.size * of_entry

    def count(self, ratings: BipartiteGraph) -> IntVector:
        """All true answers, shape (len(queries),), exactly in steps. Private."""
        weights = np.floor(ratings.weights / self._of_ratings).astype(np.int64)
        ends = ratings.rows, ratings.columns
        return np.array(
            [int(self._coefficients(query, *ends) @ weights) for query in self.queries],
            dtype=np.int64,
        )

    def noise(self, rho: Fraction, rounds: int) -> tuple[Fraction, ValueNoise]:
        """Rate of each choice and noise of each measurement, rho-zCDP in so many rounds.

        Raises:
            ParameterError: noise that does not fit into 64 bits.
        """
        of_values = ValueNoise("gaussian", self.sensitivity**2 * rounds / rho)
        if of_values.parameter > _LARGEST_DEVIATION**2:
            raise ParameterError("the noise does not fit into 64 bits: use more epsilon")
        return root_at_most(4 * rho / rounds) / (2 * self.sensitivity), of_values

    def rho(self, rate: Fraction, noise: ValueNoise, rounds: int) -> Fraction:
        """Of so many choices of this rate and measurements with this noise."""
        choice = (2 * self.sensitivity * rate) ** 2 / 8
        measured = Fraction(self.sensitivity) ** 2 / (2 * noise.parameter)
        return rounds * (choice + measured)

    @cached_property
    def square(self) -> int:
        """Square of the length of the vector by which one rating can move all answers, in steps.

        The largest over pairs of the sum over queries of squared steps of coefficients, with a
        margin for the rounding of floats, times the square of a rating's steps.
        """
        total = np.zeros(self.universe.shape)
        for query in self.queries:
            found = np.rint(self.universe.coefficients(query) / self._of_coefficients)
            total += found * found
        return math.ceil(float(total.max()) * (1 + 1e-9)) * self._rating_steps**2

    def noise_for_all(self, rho: Fraction) -> ValueNoise | None:
        """Noise of measurements of all queries; None if it does not fit into 64 bits."""
        of_values = ValueNoise("gaussian", self.square / (2 * rho))
        return of_values if of_values.parameter <= _LARGEST_DEVIATION**2 else None

    def cost_of_all(self, noise: ValueNoise, delta: float) -> Cost:
        """Of one measurement of each query."""
        return Cost.of_rho(rounded_up(self.square / (2 * noise.parameter)), delta=delta)

    def radius(self, noise: ValueNoise, failure: float) -> float:
        """How far a measured value may be off, but for that probability."""
        return (self.unit * noise.radius(failure) + self.rounding) * (1 + 1e-9)

    def slack(self, rate: Fraction, noise: ValueNoise, beta: float, *, queries: int) -> float:
        """How far above the last gap the error on so many queries may be, but for beta."""
        choices = 2 * queries
        short = math.log(2 * choices / beta) / float(rate) + 1  # and the estimates' rounding
        return (self.unit * (noise.radius(beta / 2) + short) + self.rounding) * (1 + 1e-9)

    def _coefficients(
        self, query: LinearQuery, rows: npt.NDArray[np.int32], columns: npt.NDArray[np.int32]
    ) -> IntVector:
        """Of the pairs asked for, in steps."""
        found = query.coefficients_at(rows, columns, self.universe.space)
        return np.rint(found / self._of_coefficients).astype(np.int64)
