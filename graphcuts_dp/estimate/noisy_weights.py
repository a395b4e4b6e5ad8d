"""How many edges weigh how much, with noise: counts in public classes of weight."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.privacy.noise_laws import TwoSidedGeometric

_CLASSES_AN_OCTAVE = 1
LOWEST, _HIGHEST = -2, 12  # powers of two, in scales of the noise of all of epsilon


@final
@dataclass(frozen=True, eq=False)
class NoisyWeightCounts:
    """How many pairs have a weight in each public class; pairs without weight are in none.

    Attributes:
        lower: least whole number of steps of each class, ascending from 1; a class ends where the
            next begins, and the last one has no end but the cap.
        counts: released integers, shape (classes,); unbiased, may be negative.
        unit: weight of a step.
        rate: the noise k has probability proportional to e^(-rate |k|).
        epsilon: what all of them cost together, exactly.
    """

    lower: IntVector
    counts: IntVector
    unit: float
    rate: Fraction
    epsilon: Fraction

    name = "weights"

    @property
    def law(self) -> TwoSidedGeometric:
        """Of the noise of each count."""
        return TwoSidedGeometric(float(self.rate), 1.0)

    @property
    def edges(self) -> float:
        """Unbiased number of pairs with weight."""
        return float(self.counts.sum())

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one count."""
        return math.sqrt(self.law.variance)

    @property
    def starts(self) -> FloatVector:
        """Least weight of each class, shape (classes,)."""
        starts: FloatVector = self.lower * np.float64(self.unit)
        return starts

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values."""
        return {
            "lower": self.lower.tolist(),
            "counts": self.counts.tolist(),
            "unit": self.unit,
            "rate": [self.rate.numerator, self.rate.denominator],
            "epsilon": [self.epsilon.numerator, self.epsilon.denominator],
            "note": "pairs whose weight is lower * unit or more, but less than the next class, "
            "plus two-sided geometric noise",
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        lower = np.array(stored["lower"], dtype=np.int64)
        counts = np.array(stored["counts"], dtype=np.int64)
        if lower.shape != counts.shape or lower.ndim != 1 or not len(lower):
            raise ValueError("there is one count for each class")
        if lower[0] != 1 or (np.diff(lower) <= 0).any():
            raise ValueError("classes of weight are ascending")
        return cls(
            lower,
            counts,
            float(stored["unit"]),
            Fraction(*stored["rate"]),
            Fraction(*stored["epsilon"]),
        )


def weight_classes(scale: float, cap: int | None) -> IntVector:
    """Where public classes of weight begin, in steps: one an octave about the scale of the noise.

    Args:
        scale: of the noise of all of epsilon, in steps: finer weights drown in it.
        cap: largest weight, in steps; None without one. A graph without weights has one class.
    """
    if cap == 1:
        return np.ones(1, dtype=np.int64)
    octaves = np.arange(LOWEST * _CLASSES_AN_OCTAVE, _HIGHEST * _CLASSES_AN_OCTAVE + 1)
    starts = np.ceil(scale * 2.0 ** (octaves / _CLASSES_AN_OCTAVE))
    starts = starts[starts <= (2**52 if cap is None else cap)]
    return np.unique(np.concatenate([[1], np.maximum(starts, 1)])).astype(np.int64)
