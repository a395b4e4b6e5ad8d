"""Laws of additive noise: the public facts about the noise on one number.

A *law* is a probability distribution of noise X of mean 0. It may depend on the private number to
which the noise is added (the flips of a bit do); every fact stated here then holds whatever that
number is. A law needs two facts: a variance, and an upper bound on ln E e^(sX), the logarithm of
its moment generating function (`log_mgf`). From these two, Chernoff's bound gives intervals. A law
that states more facts gets shorter intervals. `BoundedLaw` is a base class with defaults for those:
its name means that moments are bounded, and not that the noise is.

A law with a known *characteristic function* E e^(iuX) is `invertible`: `privacy.noise_sums` can
compute intervals for sums of its noise from that function, by Prawitz's inequality. The function
is given as a modulus and a phase, since the sign of the phase may be private.

Read `NoiseLaw` first, then `TwoSidedGeometric` as an example. `privacy.noise_sums` proves intervals
from laws.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, final

import numpy as np

from graphcuts_dp.arrays import FloatVector

# P(S = j) <= LARGEST_POINT/deviation for every sum S of independent bits and every j.
# Source: Baillon, Cominetti, Vaisman, *A sharp uniform bound for the distribution of sums of
# Bernoulli trials*, 2016.
LARGEST_POINT = 0.4689
# Largest s of a law whose moment generating function is finite everywhere, in units of
# 1/deviation. The best s for a failure probability p is sqrt(2 ln(2/p)) of these units for normal
# noise; e^15 leaves room for every p that a float can hold.
_LARGEST_TILT = math.exp(15)
# Largest exponent s h of a flipped bit: e^60 is still an ordinary float.
_LARGEST_EXPONENT = 60.0
_ROUNDING = 1e-15  # absolute: more than the floats of a `log_mgf` below lose
_BELOW_LIMIT = 1 - 1e-9  # relative: `mgf_limit` stays below the pole of the function


class NoiseLaw(Protocol):
    """The law of the noise X on one number, as far as it is public.

    If the law depends on the private number, every fact must hold for all values of that number.
    Intervals are stated as proven, so a bound must never be too small.
    """

    @property
    def variance(self) -> float:
        """The variance of X, or an upper bound on it."""

    @property
    def max_noise(self) -> float:
        """Upper bound on |X|; infinity if there is none."""

    def log_mgf(self, s: float) -> float:
        """Return an upper bound on ln E e^(sX) and on ln E e^(-sX), for 0 < s < `mgf_limit`."""

    @property
    def mgf_limit(self) -> float:
        """The limit of s below which `log_mgf` is finite."""

    @property
    def invertible(self) -> bool:
        """True if `log_modulus` and `phase` are known."""

    def log_modulus(self, frequencies: FloatVector) -> FloatVector:
        """Return ln |E e^(iuX)| for frequencies u; it does not depend on the private number."""

    def phase(self, frequencies: FloatVector) -> FloatVector:
        """Return |arg E e^(iuX)| for frequencies u >= 0, up to multiples of 2 pi.

        The sign of the argument may depend on the private number.
        """

    @property
    def jump_distance(self) -> float:
        """Largest distance between neighbouring jumps of the distribution function of X.

        For noise on a grid this is the value of one grid unit. A sum of noises whose jumps are far
        apart, compared with its standard deviation, is not nearly normal, and is not inverted.
        """

    def log_point_sum(self, s: float, count: int) -> float:
        """Return an upper bound, at most 0, on ln of sum over j >= 0 of e^(-s d j) P(S = x + j d).

        Here d is `jump_distance`, x is any number, and S is the sum of `count` independent copies
        of X under the *tilted* law, whose probabilities are those of X times e^(sX), normalised.
        It bounds the factor that Chernoff's bound leaves out; see `NoiseSum.exponential_radius`.
        """


class BoundedLaw(ABC):
    """Base class of laws that state a variance and a bound on `log_mgf`, and nothing else.

    A subclass may override the other facts; see `NoiseLaw` for their meaning.
    """

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of X, or an upper bound on it."""

    @abstractmethod
    def log_mgf(self, s: float) -> float:
        """Return an upper bound on ln E e^(sX) and on ln E e^(-sX), for 0 < s < `mgf_limit`."""

    @property
    def max_noise(self) -> float:
        """Infinity: no bound on |X| is known."""
        return math.inf

    @property
    def mgf_limit(self) -> float:
        """A number above every s that an interval needs; `log_mgf` is finite everywhere."""
        return _LARGEST_TILT / math.sqrt(self.variance)

    @property
    def invertible(self) -> bool:
        """False: the characteristic function is not known."""
        return False

    def log_modulus(self, frequencies: FloatVector) -> FloatVector:
        """Return 0 for each frequency; the logarithm of a modulus is never above 0."""
        return np.zeros_like(frequencies)

    def phase(self, frequencies: FloatVector) -> FloatVector:
        """Return 0 for each frequency: the transform of a law symmetric about 0 is real."""
        return np.zeros_like(frequencies)

    @property
    def jump_distance(self) -> float:
        """Infinity; only laws that are inverted need it."""
        return math.inf

    def log_point_sum(self, s: float, count: int) -> float:  # noqa: ARG002
        """Return 0, the bound that holds for every law."""
        return 0.0


@final
@dataclass(frozen=True)
class SubGaussian(BoundedLaw):
    """A law symmetric about 0 with ln E e^(sX) <= v s^2/2 for all s, such as that of N(0, v).

    Attributes:
        parameter: v > 0, an upper bound on the variance.
    """

    parameter: float

    @property
    def variance(self) -> float:
        """The bound v."""
        return self.parameter

    def log_mgf(self, s: float) -> float:
        """Return v s^2/2."""
        return self.parameter * s * s / 2


@final
@dataclass(frozen=True)
class FlippedBit:
    """The law of the estimate (y - q)/(1 - 2q) of a bit, flipped with q = 1/(1 + e^epsilon).

    Let h = 1/(1 - 2q), and let F be 1 with probability q and 0 otherwise. The noise of the estimate
    is h (F - q) if the true bit is 0, and -h (F - q) if it is 1. So the variance and the modulus
    |E e^(iuX)| are public; the sign of the phase depends on the private bit.

    Attributes:
        epsilon: privacy parameter of one bit, exact, > 0.
    """

    epsilon: Fraction

    invertible = True  # `log_modulus` and `phase` are exact

    @cached_property
    def flip(self) -> float:
        """The flip probability q."""
        return 1 / (1 + math.exp(self.epsilon))

    @cached_property
    def unit(self) -> float:
        """The factor h = 1/(1 - 2q): two values of the noise differ by it."""
        return 1 / math.tanh(self.epsilon / 2)

    @property
    def jump_distance(self) -> float:
        """The factor h."""
        return self.unit

    @property
    def variance(self) -> float:
        """The variance q (1 - q) h^2, exactly."""
        return 1 / (2 * math.sinh(self.epsilon / 2)) ** 2

    @property
    def max_noise(self) -> float:
        """The noise (1 - q) h of a flipped bit."""
        return (1 - self.flip) * self.unit

    @property
    def mgf_limit(self) -> float:
        """The s at which e^(s h) would leave the range of ordinary floats."""
        return _LARGEST_EXPONENT / self.unit

    def log_mgf(self, s: float) -> float:
        """Return the larger of ln E e^(s h (F - q)) and ln E e^(-s h (F - q))."""
        q = self.flip
        exponents = (s * self.unit, -s * self.unit)
        return max(math.log1p(q * math.expm1(z)) - q * z for z in exponents) + _ROUNDING

    def log_modulus(self, frequencies: FloatVector) -> FloatVector:
        """Return ln |E e^(iuX)|, from |1 - q + q e^(iv)|^2 = 1 - 4 q (1-q) sin^2(v/2), v = h u."""
        q = self.flip
        squared = np.log1p(-4 * q * (1 - q) * np.sin(frequencies * (self.unit / 2)) ** 2)
        return np.asarray(squared / 2)

    def phase(self, frequencies: FloatVector) -> FloatVector:
        """Return |arg(1 - q + q e^(iv)) - q v| with v = h u; near 0 it grows as v^3."""
        q, v = self.flip, frequencies * self.unit
        argument = np.arctan2(q * np.sin(v), 1 - q + q * np.cos(v))
        return np.asarray(np.abs(argument - q * v))

    def log_point_sum(self, s: float, count: int) -> float:
        """Return the bound of `NoiseLaw.log_point_sum` from the largest point probability.

        A tilted sum of bits is again a sum of independent bits. Tilting changes the log odds of a
        bit, -epsilon or epsilon, by s h, so their modulus l is at most epsilon + s h. A bit of log
        odds l has variance 1/(4 cosh^2(l/2)), which falls with l. So the deviation of the sum is at
        least sqrt(count)/(2 cosh((epsilon + s h)/2)). No value of the sum has a probability above
        `LARGEST_POINT`/deviation, and the sum over j of e^(-s h j) is 1/(1 - e^(-s h)).
        """
        half_log_odds = (float(self.epsilon) + s * self.unit) / 2
        log_cosh = half_log_odds + math.log1p(math.exp(-2 * half_log_odds)) - math.log(2)
        log_deviation = math.log(count) / 2 - log_cosh - math.log(2)
        log_decay = math.log(-math.expm1(-s * self.unit))  # ln(1 - e^(-s h))
        return min(0.0, math.log(LARGEST_POINT) - log_deviation - log_decay)


@final
@dataclass(frozen=True)
class TwoSidedGeometric:
    """The law of `unit` * k with P(k) proportional to e^(-rate |k|): discrete Laplace on a grid.

    Attributes:
        rate: decay for one grid unit, > 0.
        unit: value of one grid unit, > 0.
    """

    rate: float
    unit: float

    invertible = True  # `log_modulus` and `phase` are exact

    @property
    def jump_distance(self) -> float:
        """The value of one grid unit."""
        return self.unit

    @property
    def variance(self) -> float:
        """The variance unit^2/(2 sinh^2(rate/2)), exactly."""
        return self.unit**2 / (2 * math.sinh(self.rate / 2) ** 2)

    @property
    def max_noise(self) -> float:
        """Infinity: |X| has no bound."""
        return math.inf

    @property
    def mgf_limit(self) -> float:
        """The pole rate/unit of the moment generating function, rounded down."""
        return self.rate / self.unit * _BELOW_LIMIT

    def log_mgf(self, s: float) -> float:
        """Return ln M(s).

        M(s) = sinh(rate/2)^2 / (sinh((rate - z)/2) sinh((rate + z)/2)) with z = s unit.
        """
        rate, z = self.rate, s * self.unit
        log_denominators = log_sinh((rate - z) / 2), log_sinh((rate + z) / 2)
        return 2 * log_sinh(rate / 2) - log_denominators[0] - log_denominators[1] + _ROUNDING

    def log_modulus(self, frequencies: FloatVector) -> FloatVector:
        """Return ln E e^(iuX) = -ln(1 + sin^2(v/2)/sinh^2(rate/2)) with v = u unit."""
        ratio = np.sin(frequencies * (self.unit / 2)) / math.sinh(self.rate / 2)
        return np.asarray(-np.log1p(ratio**2))

    def phase(self, frequencies: FloatVector) -> FloatVector:
        """Return 0 for each frequency: the law is symmetric, and its transform positive."""
        return np.zeros_like(frequencies)

    def log_point_sum(self, s: float, count: int) -> float:  # noqa: ARG002
        """Return 0, the bound that holds for every law."""
        return 0.0


def log_sinh(x: float) -> float:
    """Return ln sinh x for x > 0, without overflow."""
    return x + math.log(-math.expm1(-2 * x) / 2)
