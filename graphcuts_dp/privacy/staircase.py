"""The staircase mechanism: noise of least variance for an entry of bounded change.

Laplace noise falls with every step; staircase noise stays level for a whole sensitivity, and then
falls by e^-epsilon at once, which is all that privacy asks for. The larger epsilon is, the more
that saves: the standard deviation falls as e^(-epsilon/3) in place of 1/epsilon.

Source: GV14; Geng, Kairouz, Oh, Viswanath, *The Staircase Mechanism in Differential Privacy*, 2015.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import IntegerNoise
from graphcuts_dp.privacy.distributions import GridNoise
from graphcuts_dp.privacy.laws import BoundedLaw, log_sinh
from graphcuts_dp.privacy.noise import EntropySource, sample_staircase, wide_context

_DIGITS = 100  # of the variances that the best staircase is chosen by
_ROUNDING = 1e-14  # more than floats lose in `log_mgf`


@final
@dataclass(frozen=True)
class Staircase(IntegerNoise):
    """P(k) proportional to e^(-epsilon m(|k|)), m(j) = floor((j + s - r)/s).

    Guarantee: (ceil(d/s) epsilon)-DP, purely, on a count that changes by at most d steps. Proof for
        d <= s: m grows by exactly one over s steps, so by at most one over d; | |k+d| - |k| | <= d,
        so that P(k)/P(k+d) is within e^(+-epsilon). A larger change is ceil(d/s) such changes.

    Attributes:
        epsilon: > 0.
        period: s >= 1, in steps.
        inner: r in 1..s: half the width of the top step, the integers |k| < r.
    """

    epsilon: Fraction
    period: int
    inner: int

    def cost(self, sensitivity: int, *, delta: float = 0.0) -> Cost:  # noqa: ARG002
        """See `IntegerNoise.cost`."""
        return Cost.of_pure(-(-sensitivity // self.period) * self.epsilon)

    def law(self, unit: float) -> "StaircaseLaw":
        """See `IntegerNoise.law`."""
        return StaircaseLaw(float(self.epsilon), self.period, self.inner, unit)

    def draw_many(self, size: int, source: EntropySource) -> IntVector:
        """See `IntegerNoise.draw_many`: exact (`sample_staircase`)."""
        return sample_staircase(self.epsilon, self.period, self.inner, size, source)

    def level(self, steps: npt.NDArray[Any]) -> IntVector:
        """Return m(|k|) for k in 64 bits: ln P(k) is -epsilon m(|k|), up to a constant."""
        lengths = np.abs(np.asarray(steps, dtype=np.int64))
        return np.asarray((lengths + (self.period - self.inner)) // self.period)


@final
@dataclass(frozen=True)
class StaircaseLaw(BoundedLaw):
    """The law of `unit` times staircase noise.

    With q = e^-epsilon, a = t (r - 1/2), b = t s/2 and Z = 2r - 1 + 2 s q/(1 - q), summing the
    geometric series over the steps gives E e^(tK) = (sinh a + R)/(sinh(t/2) Z), where

        R = e^(-epsilon/2) sinh b (sinh(epsilon/2) cosh a cosh b + cosh(epsilon/2) sinh a sinh b)
            / (sinh(epsilon/2 - b) sinh(epsilon/2 + b)),

    for |t| s < epsilon. All terms are positive: nothing is lost by rounding.

    Attributes:
        epsilon: > 0.
        period: s, in grid steps.
        inner: r, likewise.
        unit: of the grid, > 0.
    """

    epsilon: float
    period: int
    inner: int
    unit: float

    @property
    def invertible(self) -> bool:
        """See `NoiseLaw.invertible`: it has a formula."""
        return True

    @property
    def step(self) -> float:
        """See `NoiseLaw.step`: from the top to the end of the first step down."""
        return (self.period + self.inner) * self.unit

    @cached_property
    def _mass(self) -> float:
        """Z: the sum of all weights, the top's being 1."""
        return 2 * self.inner - 1 + 2 * self.period / math.expm1(self.epsilon)

    @cached_property
    def variance(self) -> float:
        """See `NoiseLaw.variance`: exact up to rounding; see `_moments`."""
        power = Fraction(math.exp(-self.epsilon))
        missing = Fraction(-math.expm1(-self.epsilon))
        squares, _ = _moments(self.period, self.inner, power, missing)
        return float(squares) / self._mass * self.unit**2

    @property
    def end(self) -> float:
        """See `NoiseLaw.end`."""
        return self.epsilon / (self.period * self.unit) * (1 - 1e-9)

    def log_mgf(self, s: float) -> float:
        """See `NoiseLaw.log_mgf`: the formula of the class; `_ROUNDING` is for rounding."""
        half, t = self.epsilon / 2, s * self.unit
        a, b = t * (self.inner - 0.5), t * self.period / 2
        tail = math.exp(-half) * math.sinh(b)
        tail *= math.sinh(half) * math.cosh(a) * math.cosh(b) + math.cosh(half) * (
            math.sinh(a) * math.sinh(b)
        )
        log_tail = math.log(tail) - log_sinh(half - b) - log_sinh(half + b)
        whole = math.sinh(a) + math.exp(log_tail)
        return math.log(whole / (math.sinh(t / 2) * self._mass)) + _ROUNDING

    def transform(self, u: FloatVector) -> FloatVector:
        """Return E e^(iuX), which is real: the formula of the class at t = i u unit."""
        half = self.epsilon / 2
        v = u * self.unit
        v = v - 2 * math.pi * np.rint(v / (2 * math.pi))  # it repeats itself
        near = np.abs(v) < 1e-150  # of 0, where it is 1
        v = np.where(near, 1e-150, v)
        a, b = v * (self.inner - 0.5), v * (self.period / 2)
        turned = math.sinh(half) * np.cos(a) * np.cos(b) - math.cosh(half) * np.sin(a) * np.sin(b)
        tail = math.exp(-half) * np.sin(b) * turned / (math.sinh(half) ** 2 + np.sin(b) ** 2)
        found: FloatVector = (np.sin(a) + tail) / (np.sin(v / 2) * self._mass)
        return np.where(near, 1.0, found)

    def log_modulus(self, u: FloatVector) -> FloatVector:
        """See `NoiseLaw.log_modulus`."""
        return np.asarray(np.log(np.clip(np.abs(self.transform(u)), 1e-300, 1.0)))

    def phase(self, u: FloatVector) -> FloatVector:
        """See `NoiseLaw.phase`: half a turn where the transform is below 0."""
        return np.where(self.transform(u) < 0, math.pi, 0.0)


def _moments(period: int, inner: int, power: Any, missing: Any) -> tuple[Any, Any]:
    """Sums of k^2 and of 1 over all integers, each times its weight (the top's is 1).

    With a = r + s (m-1), the s integers from a on have squares that add up to
    s a^2 + a s (s-1) + (s-1) s (2s-1)/6; sums over m >= 1 of q^m, (m-1) q^m and (m-1)^2 q^m are
    q/(1-q), q^2/(1-q)^2 and q^2 (1+q)/(1-q)^3.

    Args:
        period: s.
        inner: r.
        power: q, of a type that can be exact.
        missing: 1 - q, which may be known better.
    """
    s, r = period, inner
    first = power / missing
    second = first * first
    third = second * (1 + power) / missing
    constant = s * r * r + r * s * (s - 1) + (s - 1) * s * (2 * s - 1) // 6
    linear = s * s * (2 * r + s - 1)
    top = (r - 1) * r * (2 * r - 1) // 3
    squares = top + 2 * (constant * first + linear * second + s**3 * third)
    return squares, 2 * r - 1 + 2 * s * first


@lru_cache(maxsize=256)
def best_inner(epsilon: Fraction, period: int) -> int:
    """Return the r in 1..s for which staircase noise has the least variance.

    The sum of squares of `_moments` is convex in r, the sum of weights linear and positive: a ratio
    of the two falls up to its least value, and grows from there on. So r is found by halving.
    Decimals of 100 digits decide: the result is the same on every machine.

    Args:
        epsilon: > 0.
        period: s >= 1.
    """
    with localcontext(wide_context(_DIGITS)):
        power = (-Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()

        def variance(inner: int) -> Decimal:
            squares, mass = _moments(period, inner, power, 1 - power)
            return Decimal(squares) / Decimal(mass)

        low, high = 1, period
        while low < high:
            middle = (low + high) // 2
            if variance(middle) <= variance(middle + 1):
                high = middle
            else:
                low = middle + 1
        return low


_GRID_BITS = 20  # the top step has at least about so many bits of width


@final
@dataclass(frozen=True)
class StaircaseNoise(GridNoise):
    """Add staircase noise to capped weights, on a grid that is fine beside the top step.

    Guarantee: weights lie within 0..cap, so their steps differ by at most `sensitivity_steps`,
    which is the period: epsilon-DP (`Staircase`), tight. Of all additive noise that is epsilon-DP
    for this change, none has a smaller variance, up to the grid.
    """

    name = "staircase"

    @classmethod
    def for_cap(cls, epsilon: Fraction, max_weight: float) -> "StaircaseNoise":
        """Return the noise on its own grid: the top step is about e^(-epsilon/3) caps wide."""
        narrower = math.ceil(float(epsilon) / (3 * math.log(2)))
        step = math.floor(math.log2(max_weight)) - _GRID_BITS - narrower
        return cls(epsilon, max_weight, min(step, -1))  # finer than whole numbers: see `rounding`

    @cached_property
    def noise(self) -> Staircase:
        """See `GridNoise.noise`."""
        s = self.sensitivity_steps
        return Staircase(self.epsilon, s, best_inner(self.epsilon, s))

    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """See `NoiseDistribution.evidence`: -epsilon, 0 or epsilon."""
        cap = math.floor(Fraction(self.max_weight or 1.0) / Fraction(self.unit))
        levels = self.noise.level(steps) - self.noise.level(steps.astype(np.int64) - cap)
        return np.asarray(levels * float(self.epsilon), dtype=dtype)
