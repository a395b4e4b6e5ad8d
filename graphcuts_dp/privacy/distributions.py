"""Noise of the entries of a matrix: what it costs, its law, and how entries are hidden by it.

A distribution is public: it is made from epsilon, the maximum weight and a name alone; the table of
names is `NOISES` of `estimate.noisy_matrix`. Read `NoiseDistribution` first. `GridNoise` rounds
weights down to a grid and adds an `IntegerNoise`; a new noise is mostly a class of that kind, as
`LaplaceNoise` here and `staircase.StaircaseNoise`.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntegerMatrix
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import IntegerNoise, ValueNoise
from graphcuts_dp.privacy.laws import FlippedBit, NoiseLaw, NoiseSum, NoiseTerm, chernoff_radius
from graphcuts_dp.privacy.noise import EntropySource, sample_flips

LARGEST_STEPS = 2**62  # of one weight: with its noise it stays below 2^63
_GRID_BITS = 20  # a fine grid has 2^20 to 2^21 steps within the scale of the noise


@dataclass(frozen=True)
class NoiseDistribution(ABC):
    """How one entry is hidden, independently of all others.

    The released integers y ("steps") are turned into unbiased estimates
    (y - `offset`) * `unit` of the entries.

    Attributes:
        epsilon: exact: what the noise was made for; `cost` tells what it keeps.
        max_weight: public largest weight; None when there is none and neighbours differ by at
            most 1 in one weight.
    """

    epsilon: Fraction
    max_weight: float | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which users ask for it."""

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What one noisy entry costs, and so the whole matrix: neighbours differ in one entry."""

    @property
    def offset(self) -> float:
        """Subtracted from the released integers before scaling."""
        return 0.0

    @property
    @abstractmethod
    def unit(self) -> float:
        """Factor from released integers to estimates."""

    @property
    def bits(self) -> bool:
        """Whether the released integers are 0 and 1."""
        return False

    def estimate(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Unbiased estimates of entries from their released integers, any shape."""
        values = steps.astype(dtype)
        values -= values.dtype.type(self.offset)
        values *= values.dtype.type(self.unit)
        return values

    @abstractmethod
    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Log likelihood ratio ln P(y | entry = cap) - ln P(y | entry = 0).

        Within epsilon of 0, if the noise has a pure cost.

        Args:
            steps: released integers y, any shape.
            dtype: of the result.

        Without a cap, for an entry of 1 in place of the cap.
        """

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """Of the noise of one estimate; rounding down to a grid is not counted."""

    @property
    def standard_deviation(self) -> float:
        """Of the estimate of one entry."""
        return math.sqrt(self.law.variance)

    @property
    def rounding(self) -> float:
        """By how much rounding to a fine grid may have lowered one entry.

        0 where cuts are those of the rounded weights, as with discrete-laplace noise.
        """
        return 0.0

    @abstractmethod
    def respond(
        self,
        pairs: int,
        entries: npt.NDArray[np.float64],
        places: npt.NDArray[np.int64],
        source: EntropySource,
    ) -> IntegerMatrix:
        """Noisy integers for all `pairs` entries.

        Args:
            pairs: number of entries of the matrix, public.
            entries: the non-zero ones, private.
            places: their places in 0..pairs-1, private, distinct.
            source: where the noise comes from.

        Returns:
            Integers, shape (pairs,). Guarantee: `cost`, for a change of one entry by at most 1, or
            within [0, max_weight].

        Nothing is refused and no error depends on the entries.
        """

    def radius(self, pairs: int, *, log_failures: float) -> float:
        """Half width of an interval for a sum of `pairs` entries.

        Chernoff: t = (pairs ln M(s) + ln 2 + log_failures)/s, where the signs that follow the
        unknown truth are those of the larger moment generating function M. Every s is valid, so
        the numerical search cannot break the bound. `rounding` is added for each pair.

        Args:
            pairs: >= 0.
            log_failures: ln of 1 over the failure probability of one sum, > 0.

        Returns:
            t with P(|estimate - truth| > t) <= exp(-log_failures), proven; rounded up.
        """
        if pairs == 0:
            return 0.0
        return chernoff_radius([(self.law, 1.0, pairs)], log_failures) + pairs * self.rounding


@final
@dataclass(frozen=True)
class BinaryResponse(NoiseDistribution):
    """Flip each bit with probability q = 1/(1+e^epsilon); estimate (y-q)/(1-2q).

    Guarantee: P(y | 1)/P(y | 0) is (1-q)/q = e^epsilon or its inverse: epsilon-DP, tight.
    Standard deviation e^(epsilon/2)/(e^epsilon-1). Source: Warner 1965; GRU12 section 6.
    """

    name = "binary"

    @property
    def cost(self) -> Cost:
        """See `NoiseDistribution.cost`: epsilon, purely."""
        return Cost.of_pure(self.epsilon)

    @property
    def offset(self) -> float:
        """The flip probability q."""
        return 1 / (1 + math.exp(self.epsilon))

    @property
    def unit(self) -> float:
        """1/(1-2q)."""
        return 1 / math.tanh(self.epsilon / 2)

    bits = True  # the released integers are flipped bits

    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """See `NoiseDistribution.evidence`: epsilon for a one, -epsilon for a zero."""
        values = steps.astype(dtype)
        values *= values.dtype.type(2 * float(self.epsilon))
        values -= values.dtype.type(float(self.epsilon))
        return values

    @property
    def law(self) -> FlippedBit:
        """See `NoiseDistribution.law`."""
        return FlippedBit(self.epsilon)

    def respond(
        self,
        pairs: int,
        entries: npt.NDArray[np.float64],
        places: npt.NDArray[np.int64],
        source: EntropySource,
    ) -> IntegerMatrix:
        """See `NoiseDistribution.respond`: the released integers are flipped bits."""
        bits = sample_flips(self.epsilon, pairs, source).view(np.uint8)
        bits[places] ^= entries != 0
        return bits


@dataclass(frozen=True)
class GridNoise(NoiseDistribution):
    """Round weights down to a grid, and add integer noise to the steps.

    That keeps the sensitivity: if one weight grows by at most s and s is a whole number of steps,
    its rounded value grows by at most s, since floor(a + s) = floor(a) + s and floor is monotone.
    Nothing is refused: a refusal would tell about the data. Weights above 2^62 steps would be cut
    to that, which moves no two of them apart; there are none: a cap has at most 2^51 steps and a
    weight without one, at most 2^40, has 2^62 (`noise_distribution`). Weights of rows with users
    can only be larger where 2^34 users meet in one pair.

    Attributes:
        log2_step: the grid is 2^log2_step; 0 for the integers.

    Guarantee: what `noise` costs for a change of `sensitivity_steps`.
    """

    log2_step: int = 0

    @property
    @abstractmethod
    def noise(self) -> IntegerNoise:
        """What is added to the steps of each entry."""

    @property
    def cost(self) -> Cost:
        """See `NoiseDistribution.cost`: a pure one; noise with another states its delta."""
        return self.noise.cost(self.sensitivity_steps)

    @property
    def unit(self) -> float:
        """The grid's step."""
        return 2.0**self.log2_step

    @cached_property
    def sensitivity_steps(self) -> int:
        """By how many steps one entry may differ between neighbours."""
        return math.ceil(Fraction(self.max_weight or 1.0) / Fraction(2) ** self.log2_step)

    @property
    def most_steps(self) -> int | None:
        """Whole steps of a weight at the cap; None without a cap."""
        if self.max_weight is None:
            return None
        return math.floor(Fraction(self.max_weight) / Fraction(self.unit))

    @property
    def law(self) -> NoiseLaw:
        """See `NoiseDistribution.law`."""
        return self.noise.law(self.unit)

    @property
    def rounding(self) -> float:
        """See `NoiseDistribution.rounding`: a step of a grid that is finer than whole numbers."""
        return self.unit if self.log2_step < 0 else 0.0

    def respond(
        self,
        pairs: int,
        entries: npt.NDArray[np.float64],
        places: npt.NDArray[np.int64],
        source: EntropySource,
    ) -> IntegerMatrix:
        """See `NoiseDistribution.respond`. The released integers count grid steps."""
        with np.errstate(over="ignore"):  # a warning would tell of a huge weight
            steps = np.minimum(np.floor(entries / self.unit), LARGEST_STEPS)
        noisy = self.noise.draw_many(pairs, source)
        noisy[places] += steps.astype(np.int64)
        return noisy


def fine_grid(scale: float | Fraction) -> int:
    """Return the `log2_step` of a grid that is fine beside noise of this scale, and below 1."""
    return min(math.floor(math.log2(scale)) - _GRID_BITS, -1)


@final
@dataclass(frozen=True)
class LaplaceNoise(GridNoise):
    """Add two-sided geometric noise on a grid: the discrete Laplace distribution.

    The grid of whole numbers is "discrete-laplace", a finer one "laplace".

    Guarantee: noise P(k) proportional to e^(-rate |k|) on a value of sensitivity s steps with
    rate s = epsilon: epsilon-DP, tight. Standard deviation sqrt(2)/epsilon up to the grid.
    Source: GRU12 section 6; Ghosh, Roughgarden, Sundararajan 2009 for the discrete distribution.
    """

    @property
    def name(self) -> str:
        """The name under which users ask for it."""
        return "laplace" if self.log2_step < 0 else "discrete-laplace"

    @property
    def noise(self) -> ValueNoise:
        """See `GridNoise.noise`."""
        return ValueNoise("laplace", self.rate)

    @cached_property
    def rate(self) -> Fraction:
        """Exponent of the noise for one step."""
        return self.epsilon / self.sensitivity_steps

    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """See `NoiseDistribution.evidence`: (|y| - |y - s|) rate, s the cap in whole steps."""
        cap = math.floor(Fraction(self.max_weight or 1.0) / Fraction(self.unit))
        values = np.clip(steps.astype(np.float64), 0, cap)  # |y| - |y - s| = 2 y - s within 0..s
        values *= 2 * float(self.rate)
        values -= cap * float(self.rate)
        return values.astype(dtype)


def response_radius(distribution: BinaryResponse, pairs: int, *, failure: float) -> float:
    """Half width of an interval for the sum of so many entries under binary randomised response.

    `BinaryResponse.radius` is Chernoff's bound. The factor that it leaves out comes in here, see
    `NoiseSum.exponential_radius`. From thousands of pairs on this is 5 to 25 % shorter than
    Chernoff's, and 0.5 to 5 % longer than the normal approximation, which proves nothing (epsilon
    of 3 or less).

    The cut must have been chosen without looking at other answers from the same noisy matrix.

    Args:
        distribution: of the entries.
        pairs: number of entries in the sum, >= 0; a cut between S and T has |S||T|.
        failure: in (0, 1); P(|estimate - truth| > t) is at most this, whatever the truth.

    Source: Baillon, Cominetti, Vaisman, *A sharp uniform bound for the distribution of sums of
    Bernoulli trials*, 2016, for 0.4689.
    """
    if pairs == 0:
        return 0.0
    return NoiseSum.of([NoiseTerm(distribution.law, 1.0, pairs)]).exponential_radius(
        -math.log(failure)
    )
