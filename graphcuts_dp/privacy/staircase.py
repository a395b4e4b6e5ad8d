"""The staircase mechanism: additive noise of least variance for a change of bounded size.

The probabilities of Laplace noise fall with every grid unit. Those of staircase noise stay level on
a *stair* as wide as the largest change, and fall by e^-epsilon at the next stair; privacy needs no
more. The larger epsilon is, the more this saves: the standard deviation falls as e^(-epsilon/3),
not as 1/epsilon.

Letters: s is the *period*, the width of a stair; r is the *inner* half width of the top stair, the
integers |k| < r; m(|k|) is the number of stairs between the top and k. `Staircase` is the noise,
`StaircaseLaw` its law (see `privacy.laws`), and `StaircaseNoise` applies it to the weights of a
matrix.

Inherited terms: `GridNoise` multiplies a weight by a power of 2 and rounds it to a whole number of
grid units (*steps*). `sensitivity_steps` is the largest difference of two weights in steps, rounded
up; `evidence_steps` is the largest weight itself, rounded down. A law states facts about noise X
times a unit: its moment generating function E e^(zX), and its characteristic function, here called
*transform*, E e^(iuX).

Source: GV14; Geng, Kairouz, Oh, Viswanath, *The Staircase Mechanism in Differential Privacy*, 2015.

Papers: GV14 is Geng, Viswanath, *The Optimal Mechanism in Differential Privacy*, 2014.
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
from graphcuts_dp.privacy.count_distribution import IntegerNoise
from graphcuts_dp.privacy.distributions import GridNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.inversion import wide_context
from graphcuts_dp.privacy.laws import BoundedLaw, log_sinh
from graphcuts_dp.privacy.noise import sample_staircase

_VARIANCE_DIGITS = 100  # decimal digits of the variances that `best_inner` compares
_ROUNDING = 1e-14  # absolute: more than the floats of `log_mgf` lose
_NEAR_ZERO = 1e-150  # frequencies below this have a transform of 1
_LEAST_MODULUS = 1e-300  # keeps the logarithm of a modulus finite
_TOP_STAIR_BITS = 20  # the top stair is at least about 2^20 grid units wide


@final
@dataclass(frozen=True)
class Staircase(IntegerNoise):
    """Integer noise with P(k) proportional to e^(-epsilon m(|k|)), m(j) = floor((j + s - r)/s).

    Attributes:
        epsilon: > 0.
        period: s >= 1, in grid units.
        inner: r in 1..s, in grid units.

    Privacy:
        (ceil(d/s) epsilon)-DP for a count that changes by at most d. Proof for d <= s: m grows by
        exactly one over s integers, so by at most one over d. Since | |k+d| - |k| | <= d, P(k) and
        P(k+d) differ by a factor of at most e^epsilon. A larger change is ceil(d/s) such changes.
    """

    epsilon: Fraction
    period: int
    inner: int

    def cost(self, sensitivity: int, *, delta: float = 0.0) -> Cost:  # noqa: ARG002
        """Return the cost of one noisy count; see `IntegerNoise.cost`."""
        return Cost.of_pure(-(-sensitivity // self.period) * self.epsilon)

    def law(self, unit: float) -> "StaircaseLaw":
        """Return the law of the noise times `unit`."""
        return StaircaseLaw(float(self.epsilon), self.period, self.inner, unit)

    def draw_many(self, size: int, source: EntropySource) -> IntVector:
        """Draw independent samples, exactly, in grid units, shape (size,)."""
        return sample_staircase(self.epsilon, self.period, self.inner, size, source)

    def stairs_below_top(self, numbers: npt.NDArray[Any]) -> IntVector:
        """Return m(|k|): ln P(k) is -epsilon m(|k|), up to a constant.

        Args:
            numbers: k, whole numbers that fit into 64 bits; others raise an OverflowError.
        """
        lengths = np.abs(np.asarray(numbers, dtype=np.int64))
        return np.asarray((lengths + (self.period - self.inner)) // self.period)


@final
@dataclass(frozen=True)
class StaircaseLaw(BoundedLaw):
    """The law of `unit` times staircase noise K.

    Let q = e^-epsilon, and weigh the numbers of the top with 1 and those of stair m with q^m. All
    weights add up to Z = 2r - 1 + 2 s q/(1 - q). With a = t (r - 1/2) and b = t s/2, for
    |t| s < epsilon:

    - The top |k| < r has the sum of e^(tk) = sinh(a)/sinh(t/2), a geometric series.
    - Stair m on both sides is s numbers around +-(r - 1/2 + (m - 1/2) s). Its e^(tk) add up to
      2 cosh(a + (2m - 1) b) sinh(b)/sinh(t/2).
    - Summing q^m times that over m >= 1, again geometric, gives R/sinh(t/2) with

        R = e^(-epsilon/2) sinh b (sinh(epsilon/2) cosh a cosh b + cosh(epsilon/2) sinh a sinh b)
            / (sinh(epsilon/2 - b) sinh(epsilon/2 + b)).

    So E e^(tK) = (sinh a + R)/(sinh(t/2) Z). For t > 0 all terms are positive, so no floats cancel.

    Attributes:
        epsilon: > 0.
        period: s, in grid units.
        inner: r, in grid units.
        unit: value of one grid unit, > 0.
    """

    epsilon: float
    period: int
    inner: int
    unit: float

    @property
    def invertible(self) -> bool:
        """True: the characteristic function has a formula."""
        return True

    @property
    def jump_distance(self) -> float:
        """(s + r) unit: the distance from the middle of the top to the end of the next stair.

        Jumps of the distribution function are a unit apart. But an inversion must resolve that the
        probabilities change only from stair to stair, so the width of stairs counts here.
        """
        return (self.period + self.inner) * self.unit

    @cached_property
    def _total_weight(self) -> float:
        """Z: the sum of all weights if those of the top are 1."""
        return 2 * self.inner - 1 + 2 * self.period / math.expm1(self.epsilon)

    @cached_property
    def variance(self) -> float:
        """The variance, exact up to rounding."""
        # 1 - q has a float of its own: for a small epsilon, 1 minus the float of q would lose
        # digits. Fractions keep the large sums of squares exact.
        power = Fraction(math.exp(-self.epsilon))  # q
        complement = Fraction(-math.expm1(-self.epsilon))  # 1 - q
        squares = _sum_of_squares(self.period, self.inner, power, complement)
        return float(squares) / self._total_weight * self.unit**2

    @property
    def mgf_limit(self) -> float:
        """The pole epsilon/(s unit) of the moment generating function, rounded down."""
        return self.epsilon / (self.period * self.unit) * (1 - 1e-9)

    def log_mgf(self, s: float) -> float:
        """Return ln E e^(sX), by the formula of the class at t = s unit.

        Here s is the argument, as in all laws, and not the period.
        """
        half, t = self.epsilon / 2, s * self.unit
        a, b = t * (self.inner - 0.5), t * self.period / 2
        tail = math.exp(-half) * math.sinh(b)
        tail *= math.sinh(half) * math.cosh(a) * math.cosh(b) + math.cosh(half) * (
            math.sinh(a) * math.sinh(b)
        )
        log_tail = math.log(tail) - log_sinh(half - b) - log_sinh(half + b)  # ln R
        numerator = math.sinh(a) + math.exp(log_tail)
        return math.log(numerator / (math.sinh(t / 2) * self._total_weight)) + _ROUNDING

    def transform(self, frequencies: FloatVector) -> FloatVector:
        """Return E e^(iuX), which is real, by the formula of the class at t = i v, v = u unit.

        There sinh(i x) = i sin x and cosh(i x) = cos x; the factors i cancel, and the denominator
        sinh(epsilon/2 - i b) sinh(epsilon/2 + i b) is sinh^2(epsilon/2) + sin^2 b.
        """
        half = self.epsilon / 2
        v = frequencies * self.unit
        # e^(ivK) for whole K does not change if v changes by 2 pi. Small v keep the sines precise.
        v = v - 2 * math.pi * np.rint(v / (2 * math.pi))
        near_zero = np.abs(v) < _NEAR_ZERO
        v = np.where(near_zero, _NEAR_ZERO, v)
        a, b = v * (self.inner - 0.5), v * (self.period / 2)
        products = math.sinh(half) * np.cos(a) * np.cos(b) - math.cosh(half) * np.sin(a) * np.sin(b)
        tail = math.exp(-half) * np.sin(b) * products / (math.sinh(half) ** 2 + np.sin(b) ** 2)
        transform: FloatVector = (np.sin(a) + tail) / (np.sin(v / 2) * self._total_weight)
        return np.where(near_zero, 1.0, transform)

    def log_modulus(self, frequencies: FloatVector) -> FloatVector:
        """Return ln |E e^(iuX)|."""
        modulus = np.clip(np.abs(self.transform(frequencies)), _LEAST_MODULUS, 1.0)
        return np.asarray(np.log(modulus))

    def phase(self, frequencies: FloatVector) -> FloatVector:
        """Return pi where the transform is negative, and 0 elsewhere."""
        return np.where(self.transform(frequencies) < 0, math.pi, 0.0)


@lru_cache(maxsize=256)
def best_inner(epsilon: Fraction, period: int) -> int:
    """Return the r in 1..s for which staircase noise has the least variance.

    The variance is a sum of squares that is convex in r, over a sum of weights that is linear in r
    and positive. Such a ratio falls up to its least value and grows from there on, so r is found by
    halving. Decimals of 100 digits, and not floats, make the result the same on every machine:
    the noise of a stored release is made again from epsilon and the period.

    Args:
        epsilon: > 0.
        period: s >= 1.
    """
    with localcontext(wide_context(_VARIANCE_DIGITS)):
        power = (-Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()

        def variance(inner: int) -> Decimal:
            squares = Decimal(_sum_of_squares(period, inner, power, 1 - power))
            total_weight = 2 * inner - 1 + 2 * period * (power / (1 - power))
            return squares / Decimal(total_weight)

        low, high = 1, period
        while low < high:
            middle = (low + high) // 2
            if variance(middle) <= variance(middle + 1):
                high = middle
            else:
                low = middle + 1
        return low


def _sum_of_squares(period: int, inner: int, power: Any, complement: Any) -> Any:
    """Return the sum of k^2 over all integers k, each times its weight (that of the top is 1).

    Let n = m - 1. Stair m >= 1 on one side has the s integers from c = r + s n on. Their squares
    add up to s c^2 + c s (s-1) + (s-1) s (2s-1)/6. As a polynomial in n this is

        s^3 n^2 + s^2 (2r + s - 1) n + (s r^2 + r s (s-1) + (s-1) s (2s-1)/6).

    The sums over m >= 1 of q^m, n q^m and n^2 q^m are q/(1-q), q^2/(1-q)^2 and
    q^2 (1+q)/(1-q)^3. The top |k| < r has the squares 2 (1 + 4 + ... + (r-1)^2).

    Args:
        period: s.
        inner: r.
        power: q = e^-epsilon, a Fraction or Decimal.
        complement: 1 - q, of the same type, which the caller may know more precisely than q.
    """
    s, r = period, inner
    sum_of_powers = power / complement
    linear_sum = sum_of_powers * sum_of_powers
    square_sum = linear_sum * (1 + power) / complement
    # Both divisions // are without remainder: 1 + 4 + ... + (x-1)^2 is (x-1) x (2x-1)/6.
    constant_coefficient = s * r * r + r * s * (s - 1) + (s - 1) * s * (2 * s - 1) // 6
    linear_coefficient = s * s * (2 * r + s - 1)
    top = (r - 1) * r * (2 * r - 1) // 3
    one_side = (
        constant_coefficient * sum_of_powers + linear_coefficient * linear_sum + s**3 * square_sum
    )
    return top + 2 * one_side


@final
@dataclass(frozen=True)
class StaircaseNoise(GridNoise):
    """Add staircase noise to weights with a maximum, on a grid that is fine beside the top stair.

    Privacy:
        Weights lie within 0..max_weight, so their grid units differ by at most
        `sensitivity_steps`, which is the period: epsilon-DP (`Staircase`), tight. No additive noise
        that is epsilon-DP for this change has a smaller variance, up to the grid.
    """

    name = "staircase"

    @classmethod
    def for_max_weight(cls, epsilon: Fraction, max_weight: float) -> "StaircaseNoise":
        """Return the noise on its own grid, for a top stair about e^(-epsilon/3) max_weight wide.

        Args:
            epsilon: > 0.
            max_weight: largest weight, > 0.
        """
        # The top stair is narrower than the largest weight by about 2^narrowing_bits.
        narrowing_bits = math.ceil(float(epsilon) / (3 * math.log(2)))
        log2_step = math.floor(math.log2(max_weight)) - _TOP_STAIR_BITS - narrowing_bits
        # Below 0, since `GridNoise.rounding` takes a grid of whole weights or multiples of them as
        # exact, and a finer one as one on which weights are rounded.
        return cls(epsilon, max_weight, min(log2_step, -1))

    @cached_property
    def noise(self) -> Staircase:
        """The staircase noise of least variance for the sensitivity."""
        s = self.sensitivity_steps
        return Staircase(self.epsilon, s, best_inner(self.epsilon, s))

    def evidence(
        self, steps: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Return the log likelihood ratio of released integers: -epsilon, 0 or epsilon.

        It is ln P(released | largest weight) - ln P(released | weight 0), for each released number
        of steps; see `NoiseDistribution.evidence`.
        """
        if_zero = self.noise.stairs_below_top(steps)
        if_largest = self.noise.stairs_below_top(steps.astype(np.int64) - self.evidence_steps)
        return np.asarray((if_zero - if_largest) * float(self.epsilon), dtype=dtype)
