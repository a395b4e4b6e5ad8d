"""The noise for one entry of a matrix: three distributions, and the laws of their noise.

A law tells what is public of the noise on one number: its variance and its transforms. A
distribution tells scales, spread and proven tails; it is public, too: it is public: it is made from
epsilon, the weight cap and the name alone.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatVector, IntegerMatrix
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace, sample_flips


class NoiseLaw(Protocol):
    """The law of the noise on one number, as far as it is public.

    Where the law depends on the private number, every statement is a bound over all its values.
    """

    @property
    def step(self) -> float:
        """The noise lies on a grid of this step, somewhere."""

    @property
    def variance(self) -> float:
        """Of the noise, whatever the private number is."""

    @property
    def largest(self) -> float:
        """The noise never passes this in modulus; infinity if it can."""

    def log_mgf(self, s: float) -> float:
        """Upper bound on ln E e^(s X) and on ln E e^(-s X), for 0 < s < `end`."""

    @property
    def end(self) -> float:
        """`log_mgf` is finite below this."""

    def log_modulus(self, u: FloatVector) -> FloatVector:
        """Logarithm of |E e^(iuX)|: the same whatever the private number is."""

    def phase(self, u: FloatVector) -> FloatVector:
        """|arg E e^(iuX)| for u >= 0, up to whole turns: the sign follows the private number."""

    def log_point(self, s: float, count: int) -> float:
        """Bound on ln of the sum over j >= 0 of e^(-s d j) P(S = x + j d), d the step of X.

        S is a sum of `count` of them, each tilted by e^(sX), and x is arbitrary. At most 0.
        """


# Largest of deviation * P(S = j) over all sums S of independent bits and all j.
# Source: Baillon, Cominetti, Vaisman, *A sharp uniform bound for the distribution of sums of
# Bernoulli trials*, 2016.
LARGEST_POINT = 0.4689


@final
@dataclass(frozen=True)
class FlippedBit:
    """Noise of the estimate (y - q)/(1 - 2q) of a bit that is flipped with q = 1/(1+e^epsilon).

    With h = 1/(1 - 2q) and F a bit of probability q, the noise is h (F - q) where the true bit is
    0, and -h (F - q) where it is 1. So its variance and |E e^(iuX)| are public, and the sign of
    everything odd is private.

    Attributes:
        epsilon: exact.
    """

    epsilon: Fraction

    @cached_property
    def flip(self) -> float:
        """The flip probability q."""
        return 1 / (1 + math.exp(self.epsilon))

    @cached_property
    def step(self) -> float:
        """h: the noise lies on a grid of this step, somewhere."""
        return 1 / math.tanh(self.epsilon / 2)

    @property
    def variance(self) -> float:
        """See `NoiseLaw.variance`."""
        return 1 / (2 * math.sinh(self.epsilon / 2)) ** 2

    @property
    def largest(self) -> float:
        """See `NoiseLaw.largest`."""
        return (1 - self.flip) * self.step

    @property
    def end(self) -> float:
        """See `NoiseLaw.end`: finite for all s; e^s must be, too."""
        return 60.0 / self.step

    def log_mgf(self, s: float) -> float:
        """See `NoiseLaw.log_mgf`: the larger of both signs, with 1e-15 for rounding."""
        q = self.flip
        return (
            max(math.log1p(q * math.expm1(z)) - q * z for z in (s * self.step, -s * self.step))
            + 1e-15
        )

    def log_modulus(self, u: FloatVector) -> FloatVector:
        """See `NoiseLaw.log_modulus`: |1 - q + q e^(iv)|^2 = 1 - 4 q (1-q) sin^2(v/2)."""
        q = self.flip
        found: FloatVector = np.log1p(-4 * q * (1 - q) * np.sin(u * (self.step / 2)) ** 2) / 2
        return found

    def phase(self, u: FloatVector) -> FloatVector:
        """See `NoiseLaw.phase`: |arg(1 - q + q e^(iv)) - q v|, which begins as v^3."""
        q, v = self.flip, u * self.step
        found: FloatVector = np.abs(np.arctan2(q * np.sin(v), 1 - q + q * np.cos(v)) - q * v)
        return found

    def log_point(self, s: float, count: int) -> float:
        """See `NoiseLaw.log_point`.

        The tilted sum is a sum of bits still. A bit of log odds l has variance
        1/(4 cosh^2(l/2)); tilting moves log odds of -epsilon and epsilon by +-s h, so none is
        beyond epsilon + s h, and no value of the sum has a probability above 0.4689/deviation.
        """
        odds = (float(self.epsilon) + s * self.step) / 2
        log_cosh = odds + math.log1p(math.exp(-2 * odds)) - math.log(2)
        log_deviation = math.log(count) / 2 - log_cosh - math.log(2)
        return min(
            0.0, math.log(LARGEST_POINT) - log_deviation - math.log(-math.expm1(-s * self.step))
        )


@final
@dataclass(frozen=True)
class TwoSidedGeometric:
    """Noise step * k with P(k) proportional to e^(-rate |k|): discrete Laplace on a grid.

    Attributes:
        rate: exponent for one step, > 0.
        step: of the grid, > 0.
    """

    rate: float
    step: float

    @property
    def variance(self) -> float:
        """See `NoiseLaw.variance`."""
        return self.step**2 / (2 * math.sinh(self.rate / 2) ** 2)

    @property
    def largest(self) -> float:
        """See `NoiseLaw.largest`: it has no bound."""
        return math.inf

    @property
    def end(self) -> float:
        """See `NoiseLaw.end`."""
        return self.rate / self.step * (1 - 1e-9)

    def log_mgf(self, s: float) -> float:
        """See `NoiseLaw.log_mgf`.

        M(s) = sinh(rate/2)^2 / (sinh((rate - z)/2) sinh((rate + z)/2)) with z = s step.
        """
        rate, z = self.rate, s * self.step
        return (
            2 * _log_sinh(rate / 2) - _log_sinh((rate - z) / 2) - _log_sinh((rate + z) / 2) + 1e-15
        )

    def log_modulus(self, u: FloatVector) -> FloatVector:
        """See `NoiseLaw.log_modulus`: 1/(1 + sin^2(v/2)/sinh^2(rate/2)), which is real."""
        found: FloatVector = -np.log1p(
            (np.sin(u * (self.step / 2)) / math.sinh(self.rate / 2)) ** 2
        )
        return found

    def phase(self, u: FloatVector) -> FloatVector:
        """See `NoiseLaw.phase`: 0, the law is symmetric."""
        return np.zeros_like(u)

    def log_point(self, s: float, count: int) -> float:  # noqa: ARG002
        """See `NoiseLaw.log_point`: nothing better than 0 is used."""
        return 0.0


def _log_sinh(x: float) -> float:
    return x + math.log(-math.expm1(-2 * x) / 2)


_LARGEST_STEPS = 2**52  # beyond it a float no longer holds every integer


@dataclass(frozen=True)
class NoiseDistribution(ABC):
    """How one entry is hidden, independently of all others.

    The released integers y ("steps") are turned into unbiased estimates
    (y - `offset`) * `unit` of the entries.

    Attributes:
        epsilon: exact privacy parameter of one entry, and so of the whole matrix: neighbours
            differ in one entry.
        weight_cap: public largest weight; None when there is none and neighbours differ by at
            most 1 in one weight.
    """

    epsilon: Fraction
    weight_cap: float | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which users ask for it."""

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
        """Log likelihood ratio ln P(y | entry = cap) - ln P(y | entry = 0), within epsilon of 0.

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
            Integers, shape (pairs,). Guarantee: epsilon-DP for a change of one entry by at most 1,
            or within [0, weight_cap].

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
        law = self.law

        def bound(log_s: float) -> float:
            s = math.exp(log_s)
            return (pairs * law.log_mgf(s) + math.log(2) + log_failures) / s

        top = math.log(law.end)
        best = scipy.optimize.minimize_scalar(bound, bounds=(top - 30, top), method="bounded")
        return float(best.fun) * (1 + 1e-9) + pairs * self.rounding


@final
@dataclass(frozen=True)
class BinaryResponse(NoiseDistribution):
    """Flip each bit with probability q = 1/(1+e^epsilon); estimate (y-q)/(1-2q).

    Guarantee: P(y | 1)/P(y | 0) is (1-q)/q = e^epsilon or its inverse: epsilon-DP, tight.
    Standard deviation e^(epsilon/2)/(e^epsilon-1). Source: Warner 1965; GRU12 section 6.
    """

    name = "binary"

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


@final
@dataclass(frozen=True)
class LaplaceNoise(NoiseDistribution):
    """Add two-sided geometric noise on a grid: the discrete Laplace distribution.

    Weights are rounded down to the grid first. That keeps the sensitivity: if one weight grows by
    at most s and s is a whole number of steps, its rounded value grows by at most s, since
    floor(a + s) = floor(a) + s and floor is monotone. Weights above 2^52 steps are cut to that,
    which moves no two of them apart. Neither is refused: a refusal would tell about the data.

    Attributes:
        log2_step: the grid is 2^log2_step; 0 for the integers ("discrete-laplace"), below 0 for
            the fine grid of "laplace".

    Guarantee: noise P(k) proportional to e^(-rate |k|) on a value of sensitivity s steps with
    rate s = epsilon: epsilon-DP, tight. Standard deviation sqrt(2)/epsilon up to the grid.
    Source: GRU12 section 6; Ghosh, Roughgarden, Sundararajan 2009 for the discrete distribution.
    """

    log2_step: int = 0

    @property
    def name(self) -> str:
        """The name under which users ask for it."""
        return "laplace" if self.log2_step < 0 else "discrete-laplace"

    @property
    def unit(self) -> float:
        """The grid's step."""
        return 2.0**self.log2_step

    @cached_property
    def sensitivity_steps(self) -> int:
        """By how many steps one entry may differ between neighbours."""
        return math.ceil(Fraction(self.weight_cap or 1.0) / Fraction(2) ** self.log2_step)

    @property
    def most_steps(self) -> int | None:
        """Whole steps of a weight at the cap; None without a cap."""
        if self.weight_cap is None:
            return None
        return math.floor(Fraction(self.weight_cap) / Fraction(self.unit))

    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """See `NoiseDistribution.evidence`: (|y| - |y - s|) rate, s the cap in whole steps."""
        cap = math.floor(Fraction(self.weight_cap or 1.0) / Fraction(self.unit))
        values = np.clip(steps.astype(np.float64), 0, cap)  # |y| - |y - s| = 2 y - s within 0..s
        values *= 2 * float(self.rate)
        values -= cap * float(self.rate)
        return values.astype(dtype)

    @cached_property
    def rate(self) -> Fraction:
        """Exponent of the noise for one step."""
        return self.epsilon / self.sensitivity_steps

    @property
    def law(self) -> TwoSidedGeometric:
        """See `NoiseDistribution.law`."""
        return TwoSidedGeometric(float(self.rate), self.unit)

    @property
    def rounding(self) -> float:
        """See `NoiseDistribution.rounding`: a step of the fine grid."""
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
            steps = np.minimum(np.floor(entries / self.unit), _LARGEST_STEPS)
        noisy = sample_discrete_laplace(self.rate, pairs, source)
        noisy[places] += steps.astype(np.int64)
        return noisy
