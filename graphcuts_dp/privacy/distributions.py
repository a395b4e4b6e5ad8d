"""Noise on the entries of a matrix of weights: its cost, its law, and the noisy entries.

A `NoiseDistribution` turns each private entry into a public integer y, independently of all other
entries; (y - offset) * unit is an unbiased estimate of the entry, after rounding to the grid if
there is one. The distribution itself is public: epsilon, the maximum weight and a name determine
it. The names are in `NOISES` of `estimate.noises`.

There are two ways to add noise. `BinaryResponse` flips the bits of a graph without weights.
`GridNoise` counts weights in grid units of 2^log2_step, rounds them down to whole numbers, and adds
an `IntegerNoise` (`privacy.count_noise`), which has a cost, a law and exact samples. Subclasses
choose that noise and the grid, as `LaplaceNoise` here and `staircase.StaircaseNoise`. A *fine* grid
is one with units below 1, chosen so small that rounding hardly matters beside the noise.

Released integers are called *steps*: numbers of grid units, or the bits of a binary response.

Papers: GRU12 is Gupta, Roth, Ullman, *Iterative Constructions and Private Data Release*, 2012.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntegerMatrix
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_distribution import IntegerNoise
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.laws import FlippedBit, NoiseLaw
from graphcuts_dp.privacy.noise import sample_flips
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm, chernoff_radius

LARGEST_STEPS = 2**62  # grid units of one weight: with its noise it stays below 2^63
_SCALE_BITS = 20  # a fine grid has 2^20 to 2^21 units within the scale of the noise


@dataclass(frozen=True)
class NoiseDistribution(ABC):
    """Noise on one entry of a matrix, independent of all other entries.

    Attributes:
        epsilon: privacy parameter that the noise was made for, exact; `cost` is what it spends.
        max_weight: public maximum weight of an entry; None if there is none. Neighbours differ in
            one entry: within 0..max_weight, or by at most 1 if there is no maximum.
    """

    epsilon: Fraction
    max_weight: float | None = None

    bits: ClassVar[bool] = False  # True if the released integers are 0 and 1

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which users choose it."""

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The cost of one noisy entry, which is that of all: neighbours differ in one entry."""

    @property
    def offset(self) -> float:
        """The number subtracted from a released integer before it is scaled."""
        return 0.0

    @property
    @abstractmethod
    def unit(self) -> float:
        """The factor from a released integer to an estimate."""

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """The law of the noise of one estimate, without the rounding to a grid."""

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the estimate of one entry."""
        return math.sqrt(self.law.variance)

    @property
    def rounding(self) -> float:
        """The largest amount by which rounding to a fine grid lowers one entry.

        Radii of errors include it. It is 0 without a fine grid: on whole numbers, as for
        discrete-laplace noise, errors are stated against the cuts of the rounded weights.
        """
        return 0.0

    def estimate(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Return unbiased estimates of the (rounded) entries, (y - offset) * unit.

        Args:
            steps: released integers y, any shape.
            dtype: of the result.
        """
        values = steps.astype(dtype)
        values -= values.dtype.type(self.offset)
        values *= values.dtype.type(self.unit)
        return values

    @abstractmethod
    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Return log likelihood ratios ln P(y | entry = w) - ln P(y | entry = 0).

        Here w is the maximum weight, or 1 if there is none. If the noise has a pure cost, the
        ratios lie within -epsilon..epsilon.

        Args:
            steps: released integers y, any shape.
            dtype: of the result.
        """

    @abstractmethod
    def respond(
        self,
        pairs: int,
        entries: npt.NDArray[np.float64],
        indices: npt.NDArray[np.int64],
        source: EntropySource,
    ) -> IntegerMatrix:
        """Draw the released integers of all entries.

        Nothing is refused, and no error depends on the entries.

        Args:
            pairs: number of entries of the matrix, public.
            entries: the non-zero entries. Private.
            indices: their positions in 0..pairs-1, distinct. Private.
            source: of the noise.

        Returns:
            Integers, shape (pairs,).

        Privacy:
            The cost is `cost`, for neighbours that differ in one entry as the class says.
        """

    def radius(self, pairs: int, *, log_failures: float) -> float:
        """Return t with P(|estimate - truth| > t) <= e^-log_failures for a sum of entries, proven.

        Chernoff's bound (`noise_sums.chernoff_radius`), plus `rounding` for each entry.

        Args:
            pairs: number of entries in the sum, >= 0.
            log_failures: ln(1/p) for the failure probability p of one sum, > 0.
        """
        if pairs == 0:
            return 0.0
        return chernoff_radius([(self.law, 1.0, pairs)], log_failures) + pairs * self.rounding


@final
@dataclass(frozen=True)
class BinaryResponse(NoiseDistribution):
    """Randomised response: flip each bit with probability q = 1/(1 + e^epsilon).

    The estimate of a bit is (y - q)/(1 - 2q). Its standard deviation is
    e^(epsilon/2)/(e^epsilon - 1).

    Privacy:
        P(y | 1)/P(y | 0) is (1-q)/q = e^epsilon or its inverse: epsilon-DP, tight.

    Source: Warner 1965; GRU12 section 6.
    """

    name = "binary"
    bits = True

    @property
    def cost(self) -> Cost:
        """The pure cost epsilon."""
        return Cost.of_pure(self.epsilon)

    @property
    def offset(self) -> float:
        """The flip probability q."""
        return 1 / (1 + math.exp(self.epsilon))

    @property
    def unit(self) -> float:
        """The factor 1/(1 - 2q)."""
        return 1 / math.tanh(self.epsilon / 2)

    @property
    def law(self) -> FlippedBit:
        """The law of the noise of one estimate."""
        return FlippedBit(self.epsilon)

    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Return epsilon for a released one and -epsilon for a released zero."""
        values = steps.astype(dtype)
        values *= values.dtype.type(2 * float(self.epsilon))
        values -= values.dtype.type(float(self.epsilon))
        return values

    def respond(
        self,
        pairs: int,
        entries: npt.NDArray[np.float64],
        indices: npt.NDArray[np.int64],
        source: EntropySource,
    ) -> IntegerMatrix:
        """Draw the flipped bits of all entries; see `NoiseDistribution.respond`."""
        released = sample_flips(self.epsilon, pairs, source).view(np.uint8)
        released[indices] ^= entries != 0
        return released


@dataclass(frozen=True)
class GridNoise(NoiseDistribution):
    """Round weights down to a grid, and add integer noise to the number of grid units.

    Rounding keeps the sensitivity: if a weight grows by at most s, and s is a whole number of grid
    units, its rounded value grows by at most s, since floor(a + s) = floor(a) + s and floor is
    monotone.

    A weight above `LARGEST_STEPS` = 2^62 grid units is cut to that. Refusing it would reveal
    something about the data, and cutting moves no two weights apart. Callers choose grids and
    limits of weights such that none is cut in practice
    (`estimate.noisy_matrix.noise_distribution`). Noise is far below 2^62 but for a negligible
    probability, so that the sum fits into 64 bits.

    Attributes:
        log2_step: one grid unit is 2^log2_step; 0 for whole numbers.

    Privacy:
        The cost is that of `noise` for a change by `sensitivity_steps`.
    """

    log2_step: int = 0

    @property
    @abstractmethod
    def noise(self) -> IntegerNoise:
        """The noise on the grid units of one entry."""

    @property
    def cost(self) -> Cost:
        """The cost of `noise` for a delta of 0; subclasses must use noise that needs no delta."""
        return self.noise.cost(self.sensitivity_steps)

    @property
    def unit(self) -> float:
        """The value of one grid unit."""
        return 2.0**self.log2_step

    @cached_property
    def sensitivity_steps(self) -> int:
        """The largest difference of one entry between neighbours, in grid units, rounded up."""
        return math.ceil(Fraction(self.max_weight or 1.0) / Fraction(2) ** self.log2_step)

    @property
    def most_steps(self) -> int | None:
        """The largest rounded entry, in grid units; None if there is no maximum weight."""
        return None if self.max_weight is None else self.evidence_steps

    @property
    def evidence_steps(self) -> int:
        """The maximum weight in grid units, or 1 if there is none, rounded down like an entry.

        `evidence` compares this entry with 0.
        """
        return math.floor(Fraction(self.max_weight or 1.0) / Fraction(self.unit))

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise of one estimate."""
        return self.noise.law(self.unit)

    @property
    def rounding(self) -> float:
        """One grid unit if the grid is finer than whole numbers, else 0."""
        return self.unit if self.log2_step < 0 else 0.0

    def respond(
        self,
        pairs: int,
        entries: npt.NDArray[np.float64],
        indices: npt.NDArray[np.int64],
        source: EntropySource,
    ) -> IntegerMatrix:
        """Draw the noisy grid units of all entries; see `NoiseDistribution.respond`."""
        with np.errstate(over="ignore"):  # a warning would reveal a huge weight
            rounded = np.minimum(np.floor(entries / self.unit), LARGEST_STEPS)
        noisy = self.noise.draw_many(pairs, source)
        noisy[indices] += rounded.astype(np.int64)
        return noisy


@final
@dataclass(frozen=True)
class LaplaceNoise(GridNoise):
    """Add two-sided geometric noise on a grid: the discrete Laplace distribution.

    Users choose it as "discrete-laplace" on whole numbers, and as "laplace" on a finer grid.

    Privacy:
        Noise with P(k) proportional to e^(-rate |k|) on a count that changes by at most s grid
        units, with rate s = epsilon: epsilon-DP, tight.

    The standard deviation is sqrt(2) s/epsilon grid units, up to the grid.

    Source: GRU12 section 6; Ghosh, Roughgarden, Sundararajan 2009 for the discrete distribution.
    """

    @property
    def name(self) -> str:
        """The name under which users choose it."""
        return "laplace" if self.log2_step < 0 else "discrete-laplace"

    @property
    def noise(self) -> ValueNoise:
        """The noise on the grid units of one entry."""
        return ValueNoise("laplace", self.rate)

    @cached_property
    def rate(self) -> Fraction:
        """The rate epsilon/s for one grid unit."""
        return self.epsilon / self.sensitivity_steps

    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Return log likelihood ratios (|y| - |y - w|) rate; see `NoiseDistribution.evidence`."""
        w = self.evidence_steps
        # |y| - |y - w| is -w for y <= 0, 2 y - w within 0..w, and w beyond.
        values = np.clip(steps.astype(np.float64), 0, w)
        values *= 2 * float(self.rate)
        values -= w * float(self.rate)
        return values.astype(dtype)


def fine_grid(scale: float | Fraction) -> int:
    """Return the log2_step, below 0, of a grid that is fine beside noise of this scale."""
    return min(math.floor(math.log2(scale)) - _SCALE_BITS, -1)


def response_radius(distribution: BinaryResponse, pairs: int, *, failure: float) -> float:
    """Return t with P(|estimate - truth| > t) <= failure for a sum of entries, proven.

    It solves Chernoff's bound times a factor below 1 that Chernoff's bound leaves out: the chance,
    under a tilted law, that the sum passes t by little (`NoiseSum.exponential_radius`). So it is
    shorter than `BinaryResponse.radius`. The entries of the sum must have been chosen without
    looking at other answers from the same noisy matrix.

    Args:
        distribution: of the entries.
        pairs: number of entries in the sum, >= 0; a cut between S and T has |S| |T|.
        failure: in (0, 1).

    Source: the largest point probability of a sum of bits, `laws.LARGEST_POINT`.
    """
    if pairs == 0:
        return 0.0
    noise_sum = NoiseSum.of([NoiseTerm(distribution.law, 1.0, pairs)])
    return noise_sum.exponential_radius(-math.log(failure))
