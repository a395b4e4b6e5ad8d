"""What is public of the noise on one number: its variance and its transforms."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, final

import numpy as np

from graphcuts_dp.arrays import FloatVector


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
