"""Noisy sums of weights: the total and the degrees."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.privacy.noise_laws import TwoSidedGeometric


@final
@dataclass(frozen=True)
class NoisyTotal:
    """The sum of the whole matrix (each edge of an undirected graph twice), with noise.

    Attributes:
        value: unbiased; may be negative.
        unit: the noise is a whole number of these, each sign alike: a step of the grid, twice that
            for an undirected graph.
        rate: the noise k units has probability proportional to e^(-rate |k|).
        epsilon: what it cost, exactly.
    """

    value: float
    unit: float
    rate: Fraction
    epsilon: Fraction

    name = "total"

    @property
    def law(self) -> TwoSidedGeometric:
        """Of the noise."""
        return TwoSidedGeometric(float(self.rate), self.unit)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise."""
        return math.sqrt(self.law.variance)

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values."""
        return {
            "value": self.value,
            "unit": self.unit,
            "rate": [self.rate.numerator, self.rate.denominator],
            "epsilon": [self.epsilon.numerator, self.epsilon.denominator],
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        return cls(
            value=float(stored["value"]),
            unit=float(stored["unit"]),
            rate=Fraction(*stored["rate"]),
            epsilon=Fraction(*stored["epsilon"]),
        )


@final
@dataclass(frozen=True, eq=False)
class NoisyDegrees:
    """All degrees (row and column sums of the weights), each with discrete Laplace noise.

    Attributes:
        rows: released integers, in steps of `unit`, shape (n,) or (n_left,).
        columns: shape (n_right,); for an adjacency matrix the same object as `rows`.
        unit: weight of a step; 1 for graphs without weights.
        rate: the noise k has probability proportional to e^(-rate |k|).
        epsilon: what all of them cost together, exactly.
        early: whether they were bought to choose how to spend the rest; there may be later ones.
    """

    rows: IntVector
    columns: IntVector
    unit: float
    rate: Fraction
    epsilon: Fraction
    early: bool = False

    @property
    def name(self) -> str:
        """See `Measurement.name`."""
        return "early degrees" if self.early else "degrees"

    @property
    def variance(self) -> float:
        """Of the noise of one degree, in units of weight."""
        return self.unit**2 / (2 * math.sinh(float(self.rate) / 2) ** 2)

    @property
    def law(self) -> TwoSidedGeometric:
        """Of the noise of each, in weight."""
        return TwoSidedGeometric(float(self.rate), self.unit)

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same vertices."""
        return self.columns is self.rows

    @property
    def total(self) -> float:
        """Unbiased estimate of the sum of all row sums; twice the edges of an adjacency matrix."""
        return float(self.rows.sum() + self.columns.sum()) / 2 * self.unit

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values."""
        return {
            "rows": self.rows.tolist(),
            "columns": None if self.symmetric else self.columns.tolist(),
            "unit": self.unit,
            "rate": [self.rate.numerator, self.rate.denominator],
            "epsilon": [self.epsilon.numerator, self.epsilon.denominator],
            "note": "degree = (released integer) * unit, plus two-sided geometric noise",
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any], *, early: bool = False) -> Self:
        """Read what `to_dict` wrote.

        Args:
            stored: that.
            early: as for the class.

        Raises:
            KeyError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        rows = np.array(stored["rows"], dtype=np.int64)
        columns = stored["columns"]
        return cls(
            rows=rows,
            columns=rows if columns is None else np.array(columns, dtype=np.int64),
            unit=float(stored["unit"]),
            rate=Fraction(*stored["rate"]),
            epsilon=Fraction(*stored["epsilon"]),
            early=early,
        )
