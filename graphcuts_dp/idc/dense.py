"""A hypothesis that is a matrix: one number for each pair."""

from collections.abc import Sequence
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, HypothesisError
from graphcuts_dp.graph.linear_query import LinearQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.storage import pack, unpack

_KIND = "dense hypothesis"


@final
class DenseHypothesis:
    """A matrix over the universe, n1 x n2 numbers. Entries may be negative or above 1.

    Args:
        universe: the public vertex pairs.
        matrix: of the universe's shape, finite; symmetric if plain (the diagonal is set to 0, too
            if directed). It is copied. A released synthetic graph as such is a warm start.

    Attributes:
        universe: as given.
        matrix: shape (n1, n2), read-only.

    Raises:
        HypothesisError: a matrix that is none over the universe.
    """

    def __init__(self, universe: Universe, matrix: npt.ArrayLike) -> None:
        copy = np.array(matrix, dtype=np.float64)
        if copy.shape != universe.shape or not np.isfinite(copy).all():
            raise HypothesisError(f"a dense hypothesis needs finite numbers, {universe.shape}")
        universe.clear_diagonal(copy)
        if universe.symmetric and (copy != copy.T).any():
            raise HypothesisError("the matrix of a plain universe must be symmetric")
        copy.flags.writeable = False
        self.universe = universe
        self.matrix: FloatMatrix = copy

    @classmethod
    def warm(cls, universe: Universe, matrix: npt.ArrayLike) -> Self:
        """The weights of a released synthetic graph, as they are.

        Args:
            universe: the public vertex pairs.
            matrix: as for the class, entries in [0, 1].

        Raises:
            MatrixError: another shape, not symmetric, or entries outside [0, 1].
        """
        return cls(universe, universe.checked(matrix, upper=1))

    @classmethod
    def constant(cls, universe: Universe, weight: float) -> Self:
        """The same weight on every pair."""
        return cls(universe, np.full(universe.shape, weight))

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query."""
        return float(self.universe.answers([query], self.matrix)[0])

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries."""
        return self.universe.answers(queries, self.matrix)

    def dense(self) -> FloatMatrix:
        """The matrix, read-only."""
        return self.matrix

    def plus(self, query: LinearQuery, weight: float) -> Self:
        """A new hypothesis with `weight` times the query's coefficients added."""
        return type(self)(self.universe, self.matrix + weight * self.universe.coefficients(query))

    def tilted(self, query: LinearQuery, exponent: float) -> Self:
        """A new hypothesis, weights times exp(exponent * coefficient), with the same total."""
        weights = tilt(self.matrix, self.universe.coefficients(query), exponent)
        self.universe.clear_diagonal(weights)
        return type(self)(self.universe, weights * (self.total() / self.universe.total(weights)))

    def total(self) -> float:
        """Sum of the weights of all pairs."""
        return self.universe.total(self.matrix)

    def to_bytes(self) -> bytes:
        """The state; see `Hypothesis`."""
        return pack(_KIND, self.universe, {"matrix": self.matrix})

    @classmethod
    def from_bytes(cls, data: bytes, universe: Universe) -> Self:
        """The hypothesis that `to_bytes` wrote.

        Raises:
            FileFormatError: see `Hypothesis`.
        """
        found = unpack(data, _KIND, universe, {"matrix": (np.float64, universe.shape)})
        try:
            return cls(universe, found["matrix"])
        except HypothesisError as problem:
            raise FileFormatError(f"the stored hypothesis is damaged: {problem}") from problem


def tilt(
    weights: FloatMatrix, coefficients: npt.NDArray[np.generic], exponent: float
) -> FloatMatrix:
    """Weights times exp(exponent * coefficient); a positive one never reaches 0.

    Raises:
        HypothesisError: a negative weight.
    """
    if (weights < 0).any():
        raise HypothesisError("multiplicative weights need a start without negative weights")
    tilted: FloatMatrix = weights * np.exp(exponent * coefficients.astype(np.float64))
    return np.maximum(tilted, np.finfo(np.float64).tiny)
