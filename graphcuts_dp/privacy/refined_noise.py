"""Laplace noise that was refined after a look: what stays true given the coarse copy.

A decision looks at a coarse copy Y1 = x + N1 of a number x, of rate r. Then a finer copy
Y2 = x + N2 of rate s > r is drawn with `RefinableLaplace`, so that N1 = N2 + W for a W that is
independent of N2. Given what the decision saw, N2 no longer has its law: where Y1 was large, N2 was
likely large, too. So an interval Y2 +- t for the law of N2 can fail far more often than it states
in the branch that the decision took. This module has three remedies. They hold given N1 = n for
every n, hence given all copies up to the coarse one, and whatever was decided from them, the finer
rate included:

- the *conditional law* of N2 (`conditional_tail`), which gives intervals of one number;
- an *unbiased* number: N2 - c sign(N1 - N2) has mean 0 given N1, for the constant c of
  `bias_correction`;
- a *fresh* number: a random number of known law that depends on sign(N1 - N2) alone turns Y2 into
  x + F, with F independent of N1 and of rate s - r (`fresh_changes`), as if the finer epsilon had
  been spent on independent noise. Its noise is known whatever the coarse copy was, so sums of many
  such numbers have intervals, too. The unbiased number is its mean given both copies, and so never
  errs more.

Rates are of integers in grid units: P(k) is proportional to e^(-rate |k|). Proofs: Theorem "Refined
noise given its coarse copy" and Theorem "Fresh noise from refined noise" of docs/mathematics.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.laws import BoundedLaw, TwoSidedGeometric
from graphcuts_dp.privacy.noise import sample_discrete_laplace, sample_geometric

_OUTWARD = 1e-9  # of logarithms of tails: more than their floats lose
_ROUNDING = 1e-14  # absolute: more than the floats of a `log_mgf` lose
_WORD = 2.0**64  # words of 64 bits, from which events are drawn


@final
@dataclass(frozen=True)
class RefinedRates:
    """The rates of a coarse copy and of its finer copy.

    Attributes:
        coarse: r > 0, of the last copy that a decision looked at.
        fine: s > r.

    Raises:
        ValueError: the rates are out of range.
    """

    coarse: Fraction
    fine: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.coarse < self.fine:
            raise ValueError("the finer copy has the larger rate")

    @property
    def fresh(self) -> Fraction:
        """The rate s - r of fresh noise."""
        return self.fine - self.coarse

    @property
    def apart(self) -> float:
        """P(N1 != N2) = (1 - (sinh(r/2)/sinh(s/2))^2) (1 - tanh(r/2))."""
        falls = math.expm1(-self.coarse) / math.expm1(-self.fine)
        return (1 - math.exp(-self.fresh) * falls**2) * (1 - math.tanh(self.coarse / 2))

    @property
    def bias_correction(self) -> float:
        """The constant c = sinh r / (cosh s - cosh r), in grid units.

        That is e^-a (1 - e^-2r)/((1 - e^-a)(1 - e^-b)) for a = s - r and b = s + r.
        """
        a, b = float(self.fresh), float(self.fine + self.coarse)
        rises = math.expm1(-2 * self.coarse) / (math.expm1(-a) * math.expm1(-b))
        return -math.exp(-a) * rises

    def conditional_tail(self, m: int, n: int | None = None) -> float:
        """Return P(|N2| >= m | N1 = n); without n, a bound for all n that large ones attain.

        Let a = s - r, b = s + r, A = (1 - e^-b)/(1 - e^-2s) and B = (1 - e^-a)/(1 - e^-2s). Then
        for n >= 0: P(N2 >= m | n) = A e^(-a m) for 1 <= m <= n, and B e^(2 r n - b m) for m > n;
        and P(N2 <= -m | n) = B e^(-b m) for m >= 1. Mirrored for n < 0. The first formula exceeds
        the second for m > n, so with it the sum of both tails bounds P(|N2| >= m | n) for every n.

        Args:
            m: >= 0.
            n: the coarse noise.
        """
        return math.exp(self._log_tail(m, n))

    def _log_tail(self, m: int, n: int | None) -> float:
        """Return the logarithm of `conditional_tail`."""
        if m == 0:
            return 0.0
        r, a, b = (float(rate) for rate in (self.coarse, self.fresh, self.fine + self.coarse))
        scale = -math.expm1(-2 * self.fine)
        A, B = -math.expm1(-b) / scale, -math.expm1(-a) / scale
        away = B * math.exp(-2 * r * m)  # times e^(-a m), as the next line
        towards = A if n is None or abs(n) >= m else B * math.exp(-2 * r * (m - abs(n)))
        return math.log(towards + away) - a * m

    def conditional_radius(self, log_failures: float) -> int:
        """Return the least t with P(|N2| > t | N1 = n) <= e^-log_failures for every n.

        Args:
            log_failures: ln(1/p) for the failure probability p.
        """
        return _largest(lambda m: self._passes(m, None, log_failures), self.fresh, log_failures)

    def single_interval(self, coarse: int, fine: int, log_failures: float) -> tuple[int, int]:
        """Return whole numbers (low, high) that x leaves with probability at most p given N1.

        They bound the set of all x that a test of the conditional law at n = coarse - x accepts:
        those with P(|N2| >= |fine - x| given N1 = n) > p. On the side of the coarse copy the
        distance is `conditional_radius`; on the other side it is less. Tails fall with the distance
        on either side, so each end is found by bisection.

        Args:
            coarse: the number that the decision saw, in grid units.
            fine: the refined number.
            log_failures: ln(1/p).
        """
        between = coarse - fine
        ends = []
        for sign in (1, -1):  # of fine - x

            def passes(m: int, sign: int = sign) -> bool:
                return self._passes(m, between + sign * m, log_failures)

            ends.append(fine - sign * _largest(passes, self.fresh, log_failures))
        return ends[0], ends[1]

    def _passes(self, m: int, n: int | None, log_failures: float) -> bool:
        """Return whether the tail from m on is above the failure probability, rounded down."""
        return self._log_tail(m, n) > -log_failures - _OUTWARD

    def corrected(self, coarse: IntVector, fine: IntVector) -> FloatVector:
        """Return the unbiased numbers fine - c sign(coarse - fine), in grid units."""
        signs = np.sign((coarse - fine).astype(np.float64))
        return np.asarray(fine.astype(np.float64) - self.bias_correction * signs)

    def fresh_changes(self, signs: IntVector, source: EntropySource) -> IntVector:
        """Draw what turns refined numbers into fresh ones, given sign(N1 - N2) of each.

        For a positive sign the change is 0 with probability (1 - e^-(s-r))/(1 - e^-(s+r)), else
        -1 - G with G geometric of rate s - r; mirrored for a negative sign. For the sign 0 it is 0
        with probability (cosh(s-r) - 1)/(e^r cosh s - 1), else discrete Laplace noise of rate
        s - r. Events are drawn with 64 bits: their probabilities are those to within 2^-52.

        Args:
            signs: -1, 0 or 1 for each number.
            source: of the random bits.

        Privacy:
            Reads differences of released numbers alone: post-processing.
        """
        r, a, b = (float(rate) for rate in (self.coarse, self.fresh, self.fine + self.coarse))
        # Both sides of the fraction times 2 e^-b.
        zero_if_equal = math.exp(-2 * r) * math.expm1(-a) ** 2
        zero_if_equal /= math.exp(-b) * math.expm1(-a) - math.expm1(-b)
        zero_if_apart = math.expm1(-a) / math.expm1(-b)
        count = len(signs)
        words = source.bytes(8 * count).view(np.uint64).astype(np.float64)
        chances = np.where(signs == 0, zero_if_equal, zero_if_apart)
        stays = words < chances * _WORD
        lengths = 1 + sample_geometric(self.fresh, count, source)
        both_ways = sample_discrete_laplace(self.fresh, count, source)
        changes: IntVector = np.where(signs == 0, both_ways, -signs * lengths)
        changes[stays] = 0
        return changes


@final
@dataclass(frozen=True)
class CorrectedLaplace(BoundedLaw):
    """The law of the error of an unbiased number: unit * (N2 - c sign(N1 - N2)).

    Its variance is that over all coarse copies. The bound on the moment generating function, that
    of the fresh noise, holds given each of them, by Jensen's inequality.

    Attributes:
        rates: of both copies.
        unit: value of one grid unit, > 0.
    """

    rates: RefinedRates
    unit: float

    @property
    def variance(self) -> float:
        """The variance unit^2 (1/(2 sinh(s/2)^2) + c^2 P(N1 != N2)), exactly.

        N2 and sign(N1 - N2) are independent.
        """
        refined = TwoSidedGeometric(float(self.rates.fine), 1.0).variance
        correction = self.rates.bias_correction**2 * self.rates.apart
        return self.unit**2 * (refined + correction)

    @property
    def mgf_limit(self) -> float:
        """The pole of the function of the fresh noise."""
        return self._fresh.mgf_limit

    def log_mgf(self, s: float) -> float:
        """Return that of the fresh noise."""
        return self._fresh.log_mgf(s)

    @property
    def _fresh(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(float(self.rates.fresh), self.unit)


@final
@dataclass(frozen=True)
class LimitLaplace(BoundedLaw):
    """The limit of the law of unit * N2 given N1 = n for n to plus or minus infinity.

    For plus infinity it is the law of X - Y for independent geometric X of rate a = s - r and Y of
    rate b = s + r; mirrored for minus infinity. Which one it is is private, as with `FlippedBit`.
    Its mean is not 0: `variance` is the mean square, and radii count from 0.

    Attributes:
        rates: of both copies.
        unit: value of one grid unit, > 0.
    """

    rates: RefinedRates
    unit: float

    invertible = True  # `log_modulus` and `phase` are exact

    @cached_property
    def _sides(self) -> tuple[float, float]:
        """The rates a and b."""
        return float(self.rates.fresh), float(self.rates.fine + self.rates.coarse)

    @cached_property
    def variance(self) -> float:
        """The mean square: with m(x) = 1/(e^x - 1), m(a)(1 + m(a)) + m(b)(1 + m(b)) + mean^2."""
        up, down = (1 / math.expm1(rate) for rate in self._sides)
        return self.unit**2 * (up * (1 + up) + down * (1 + down) + (up - down) ** 2)

    @property
    def jump_distance(self) -> float:
        """The value of one grid unit."""
        return self.unit

    @property
    def mgf_limit(self) -> float:
        """The pole a/unit of the moment generating function, rounded down."""
        return self._sides[0] / self.unit * (1 - _OUTWARD)

    def log_mgf(self, s: float) -> float:
        """Return ln E e^(s X), which for s > 0 is larger for plus infinity.

        With z = s unit: ln (1 - e^-a)(1 - e^-b)/((1 - e^(z-a))(1 - e^(-z-b))).
        """
        (a, b), z = self._sides, s * self.unit
        return _log_rise(a) + _log_rise(b) - _log_rise(a - z) - _log_rise(b + z) + _ROUNDING

    def log_modulus(self, frequencies: FloatVector) -> FloatVector:
        """Return ln |E e^(iuX)|, half the sum of that of two-sided noise of the rates a and b."""
        laws = (TwoSidedGeometric(rate, self.unit) for rate in self._sides)
        up, down = (law.log_modulus(frequencies) for law in laws)
        return np.asarray((up + down) / 2)

    def phase(self, frequencies: FloatVector) -> FloatVector:
        """Return |arg E e^(iuX)|: the difference of the arguments of both geometric variables."""
        v = frequencies * self.unit
        up, down = (
            np.arctan2(math.exp(-rate) * np.sin(v), 1 - math.exp(-rate) * np.cos(v))
            for rate in self._sides
        )
        return np.asarray(np.abs(up - down))


def _log_rise(x: float) -> float:
    """Return ln(1 - e^-x) for x > 0."""
    return math.log(-math.expm1(-x))


def _largest(passes: Callable[[int], bool], rate: Fraction, log_failures: float) -> int:
    """Return the largest m >= 0 that passes, where all up to it do and none beyond.

    Args:
        passes: true for 0.
        rate: s - r; the first m that is tried is ln(1/p)/rate.
        log_failures: ln(1/p).
    """
    low, high = 0, math.ceil(max(log_failures, 1.0) / rate)
    while passes(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low
