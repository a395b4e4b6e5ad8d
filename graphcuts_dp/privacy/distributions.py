"""The noise for one entry of a matrix and on one answer: distributions, laws, proven tails, prices.

A law tells what is public of the noise on one number: its variance and its transforms. A
distribution tells scales, spread and proven tails; it is public, too: it is made from epsilon, the
weight cap and the name alone.

`NoiseSum` proves intervals for weighted sums of independent noises whose laws are partly private.
`ValueNoise` is the noise on one answer that is bought outright, with its tail and its price.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Protocol, final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatVector, IntegerMatrix, IntVector
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.noise import (
    EntropySource,
    sample_discrete_gaussian,
    sample_discrete_laplace,
    sample_flips,
)


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


def chernoff_radius(
    terms: Sequence[tuple[NoiseLaw, float, float]],
    log_failures: float,
    log_factor: Callable[[float], float] = lambda s: 0.0,  # noqa: ARG005
) -> float:
    """Half width of an interval for a sum of noises: law, coefficient > 0 and number of each.

    Chernoff's bound at the best s; every s is valid, so the search cannot break it. `log_factor`
    of s bounds the factor that the method leaves out.
    """
    top = math.log(min(law.end / c for law, c, _ in terms))

    def bound(log_s: float) -> float:
        s = math.exp(log_s)
        log_mgf = math.fsum(number * law.log_mgf(s * c) for law, c, number in terms)
        return (log_mgf + log_factor(s) + math.log(2) + log_failures) / s

    best = scipy.optimize.minimize_scalar(bound, bounds=(top - 35, top), method="bounded")
    return float(best.fun) * (1 + 1e-9)


LARGEST_STEPS = 2**62  # of one weight: with its noise it stays below 2^63


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
    floor(a + s) = floor(a) + s and floor is monotone. Nothing is refused: a refusal would tell
    about the data. Weights above 2^62 steps would be cut to that, which moves no two of them apart;
    there are none: a cap has at most 2^51 steps and a weight without one, at most 2^40, has 2^62
    (`noise_distribution`). Weights of rows with owners can only be larger where 2^34 owners meet in
    one pair.

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
            steps = np.minimum(np.floor(entries / self.unit), LARGEST_STEPS)
        noisy = sample_discrete_laplace(self.rate, pairs, source)
        noisy[places] += steps.astype(np.int64)
        return noisy


_LEAST_INVERTED = 1e-7  # smaller failures are left to exponential bounds: floats end at 1e-16
_MOST_SCANNED = 300  # equal bits up to which every number of ones is tried
_NEARLY_NORMAL = 1.05  # no other bound is tried below so many times the normal quantile
_REACH = 8  # 2^_REACH: largest frequency used, in units of 1/deviation
_FASTEST = 7.0  # of what is integrated, in radians for each unit: the nodes follow up to 8
_LEAST_CUTOFF = 4.0
_CLOSE = 0.997  # of the failure probability asked for: near enough
_RESOLUTION = 2e-4  # of a radius: likewise


class NoiseTerm(NamedTuple):
    """So many independent noises of one law, each times a coefficient.

    Attributes:
        law: of each of them.
        coefficient: any number.
        number: of them, >= 0.
    """

    law: NoiseLaw
    coefficient: float
    number: int


@final
@dataclass(frozen=True)
class NoiseSum:
    """A sum of independent noises; what its laws leave open, the private data decide."""

    terms: tuple[NoiseTerm, ...]

    @classmethod
    def of(cls, terms: Sequence[NoiseTerm]) -> "NoiseSum":
        """Without terms that are zero, with positive coefficients, and each kind of term once.

        Each law is symmetric, or symmetric up to a sign that is private anyway.
        """
        counts: dict[tuple[NoiseLaw, float], int] = {}
        for law, coefficient, count in terms:
            if coefficient and count:
                kind = law, abs(coefficient)
                counts[kind] = counts.get(kind, 0) + count
        return cls(tuple(NoiseTerm(*kind, count) for kind, count in counts.items()))

    @cached_property
    def variance(self) -> float:
        """Whatever the private data are."""
        return math.fsum(c**2 * count * law.variance for law, c, count in self.terms)

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.variance)

    def radius(self, log_failures: float) -> float:
        """Half width t of an interval: P(|sum| > t) <= e^-log_failures, whatever the data are.

        The least of several proven bounds: what the terms can reach, the exponential one, the
        inversion of the characteristic function, and for a few equal bits the exact law.

        Args:
            log_failures: ln of 1 over the failure probability, > 0.
        """
        if not self.terms:
            return 0.0
        return _radius(self, log_failures)

    def exponential_radius(self, log_failures: float) -> float:
        """By Chernoff's method, with the factor that it leaves out.

        For every s, P(sum >= x) = M(s) e^(-sx) E_s[e^(-s(sum - x)); sum >= x], E_s being under the
        tilted law. Given all other terms, one term takes values of a grid, so the last factor is at
        most the e^(log_point) of that term; the best is taken. M is at most the product of the
        largest moment generating functions. Both tails count; every s is valid, so the search for
        the best one cannot break the bound.
        """

        def log_point(s: float) -> float:
            return min(law.log_point(s * c, count) for law, c, count in self.terms)

        return chernoff_radius(self.terms, log_failures, log_point)

    def inverted_radius(self, log_failures: float) -> float:
        """From the characteristic function, by Prawitz's inequality; infinity if it proves nothing.

        For any law with characteristic function f, and any U > 0 and t > 0,
        P(|sum| <= t) >= 2 int_0^1 k(s) Re f(Us) ds with
        k(s) = g(s) sin(Ust) - (1-s) cos(Ust), g(s) = (1-s) cot(pi s) + 1/pi:
        the difference of his lower bound of the distribution function at t and of his upper one at
        -t. Here f(u) = r(u) e^(i P(u)), where r is known, and |P| is at most the sum of the phases
        of the terms whatever the data are. So k Re f >= k r c where k > 0, c = cos(min(that sum,
        pi)), and k Re f >= k r elsewhere. What is odd in the law therefore enters as its square
        only, and the interval is nearly that of a normal law with the same variance.

        Integrals are sums over Gauss-Legendre nodes, close enough for all that turns: the kernel
        by t, and f by the steps of the grids that the terms lie on. Where a step is about as large
        as the deviation, so that nothing is nearly normal, nothing is inverted. Against the errors
        of the sums: 1e-9, and a thousandth of all that the unknown phase takes away.

        Source: Prawitz, *Limits for a distribution, if the characteristic function is given in a
        finite domain*, Skandinavisk Aktuarietidskrift 1972.
        """
        wanted = math.exp(-log_failures)
        if wanted < _LEAST_INVERTED:
            return math.inf
        t = float(-scipy.special.ndtri(wanted / 2))
        # Powers of f turn by multiples of a step; those beyond the third are small.
        coarsest = max(c * law.step for law, c, _ in self.terms) / self.deviation
        farthest = _FASTEST - 3 * coarsest
        if t > farthest:
            return math.inf
        spectrum = _Spectrum(self, t)
        low, high = 0.0, math.inf
        # Steps are as if the law were normal, or half the way; whatever is kept is proven.
        while high - low > _RESOLUTION * high or math.isinf(high):
            failure = spectrum.failure(t)
            low, high = (low, t) if failure <= wanted else (t, high)
            if _CLOSE * wanted <= failure <= wanted:
                break
            t += (failure - wanted * (1 + _CLOSE) / 2) / (2 * _normal_density(t))
            if not low < t < min(high, 1.5 * low + 1):
                t = 1.25 * low + 0.1 if math.isinf(high) else (low + high) / 2
            if t > farthest:
                return math.inf
        return high * self.deviation * (1 + 1e-9)

    @property
    def reach(self) -> float:
        """The sum never passes this in modulus; infinity if it can."""
        return math.fsum(c * count * law.largest for law, c, count in self.terms) * (1 + 1e-9)


def _normal_density(t: float) -> float:
    return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)


@lru_cache(maxsize=1 << 14)
def _radius(noise: NoiseSum, log_failures: float) -> float:
    inverted = noise.inverted_radius(log_failures)
    normal = -scipy.special.ndtri(math.exp(-log_failures) / 2) * noise.deviation
    if math.isfinite(inverted) and inverted < _NEARLY_NORMAL * normal:
        return min(noise.reach, inverted)
    found = min(noise.reach, inverted, noise.exponential_radius(log_failures))
    if len(noise.terms) == 1:
        law, coefficient, number = noise.terms[0]
        if isinstance(law, FlippedBit) and number <= _MOST_SCANNED:
            found = min(found, coefficient * equal_bits_radius(law, number, log_failures))
    return found


def equal_bits_radius(law: FlippedBit, count: int, log_failures: float) -> float:
    """The least half width that holds for every number of ones among `count` flipped bits.

    The sum of the released bits is Bin(ones, 1-q) + Bin(count - ones, q); its law is added up for
    each number of ones, and the widest quantile taken. Turning all bits around turns the error
    around, so half of the numbers are enough.

    Args:
        law: of each bit.
        count: >= 1.
        log_failures: ln of 1 over the failure probability; infinity is returned where that is too
            small for floats.
    """
    wanted, q = math.exp(-log_failures), law.flip
    if wanted < _LEAST_INVERTED:
        return math.inf
    sums = np.arange(count + 1)
    widest = 0.0
    for ones in range(count // 2 + 1):
        kept, flipped = _flips(ones, q)[::-1], _flips(count - ones, q)
        errors = np.abs(sums - count * q - ones * (1 - 2 * q))
        order = np.argsort(errors)
        # P(error >= that of each place); 1e-12 covers rounding.
        beyond = np.cumsum(np.convolve(kept, flipped)[order][::-1])[::-1] + 1e-12
        inside = np.append(beyond[1:], 1e-12) <= wanted
        widest = max(widest, float(errors[order][np.argmax(inside)]))
    return widest * law.step * (1 + 1e-9)


def _flips(count: int, q: float) -> FloatVector:
    """Law of the number of ones among `count` bits that are each one with probability q."""
    k = np.arange(count + 1)
    log_ways = math.lgamma(count + 1) - scipy.special.gammaln(k + 1)
    log_ways -= scipy.special.gammaln(count - k + 1)
    found: FloatVector = np.exp(log_ways + k * math.log(q) + (count - k) * math.log1p(-q))
    return found


class _Part(NamedTuple):
    """The kernel at the nodes below a largest frequency.

    Attributes:
        cutoff: U, in units of 1/deviation.
        odd: g(x/U).
        even: 1 - x/U.
    """

    cutoff: float
    odd: FloatVector
    even: FloatVector


class _Grid(NamedTuple):
    """Gauss-Legendre nodes on panels that grow, in units of 1/deviation.

    Attributes:
        nodes: x = u * deviation.
        weights: of the nodes.
        parts: the largest frequencies that are tried.
    """

    nodes: FloatVector
    weights: FloatVector
    parts: tuple[_Part, ...]


@lru_cache(maxsize=1)
def _grid() -> _Grid:
    edges = [0.0, 1.0, *(2.0 ** (half / 2) for half in range(1, 2 * _REACH + 1))]
    nodes: FloatVector = np.empty(0)
    weights: FloatVector = np.empty(0)
    parts = []
    for low, high in itertools.pairwise(edges):
        # Enough for sin(x t) with t of 4 and more, and for the bumps of e^(-x^2/2) width.
        x, w = np.polynomial.legendre.leggauss(24 + math.ceil(4 * (high - low)))
        nodes = np.append(nodes, low + (high - low) * (x + 1) / 2)
        weights = np.append(weights, w * (high - low) / 2)
        if high >= _LEAST_CUTOFF:
            s = nodes / high
            parts.append(_Part(high, (1 - s) / np.tan(np.pi * s) + 1 / np.pi, 1 - s))
    return _Grid(nodes, weights, tuple(parts))


class _Spectrum:
    """What is known of a sum's characteristic function, at the nodes of the grid.

    Args:
        noise: the sum.
        t: in deviations; the largest frequency U is the one that proves the most here.
    """

    def __init__(self, noise: NoiseSum, t: float) -> None:
        grid = _grid()
        u = grid.nodes / noise.deviation
        log_modulus, phase = np.zeros_like(u), np.zeros_like(u)
        for law, coefficient, count in noise.terms:
            log_modulus += count * law.log_modulus(u * coefficient)
            phase += count * law.phase(u * coefficient)
        self._modulus = np.exp(log_modulus) * grid.weights
        self._lost = 1 - np.cos(np.minimum(phase, np.pi))
        self._nodes = grid.nodes
        sines, cosines = np.sin(self._nodes * t), np.cos(self._nodes * t)
        self._part = min(grid.parts, key=lambda part: self._failure(part, sines, cosines))

    def failure(self, t: float) -> float:
        """Upper bound on P(|sum| > t deviations)."""
        x = self._nodes[: len(self._part.odd)] * t
        return self._failure(self._part, np.sin(x), np.cos(x))

    def _failure(self, part: _Part, sines: FloatVector, cosines: FloatVector) -> float:
        end = len(part.odd)
        kernel = (part.odd * sines[:end] - part.even * cosines[:end]) * self._modulus[:end]
        lost = float(np.maximum(kernel, 0) @ self._lost[:end])
        return 1 - 2 / part.cutoff * (float(kernel.sum()) - 1.001 * lost) + 1e-9


def discrete_gaussian_radius(scale: float, *, failure: float) -> int:
    """Half width t with P(|X| > t) <= failure for X ~ exp(-(x/scale)^2/2) on the integers.

    P(X >= x) is at most the continuous distribution's P(N >= x - 1).

    Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Proposition 25.
    """
    return math.ceil(scale * float(-scipy.special.ndtri(failure / 2)))


def discrete_laplace_radius(rate: float, *, failure: float) -> int:
    """Half width t, the least one, with P(|X| > t) <= failure for X ~ e^(-rate |x|).

    P(|X| >= x) = 2 e^(-rate x)/(1 + e^-rate) for whole x >= 1.
    """
    least = (math.log(2) - math.log1p(math.exp(-rate)) - math.log(failure)) / rate
    return max(0, math.ceil(least * (1 + 1e-12)) - 1)


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


@final
@dataclass(frozen=True)
class ValueNoise:
    """Two-sided integer noise added to a count of grid steps.

    Guarantee for a count of sensitivity s steps: "laplace", P(k) proportional to e^(-r |k|), is
    (s r)-DP; "gaussian", P(k) proportional to e^(-k^2/(2 v)), is s^2/(2 v)-zCDP. Both exactly.

    Attributes:
        distribution: which of the two.
        parameter: r, or v in squared steps; > 0.

    Source: Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020, Theorem 4.
    """

    distribution: Literal["laplace", "gaussian"]
    parameter: Fraction

    def draw(self, source: EntropySource) -> int:
        """One sample, in steps."""
        return int(self.draw_many(1, source)[0])

    def draw_many(self, size: int, source: EntropySource) -> IntVector:
        """Independent samples, in steps, shape (size,)."""
        if self.distribution == "laplace":
            return sample_discrete_laplace(self.parameter, size, source)
        return sample_discrete_gaussian(self.parameter, size, source)

    @property
    def deviation(self) -> float:
        """A bound on the standard deviation, in steps."""
        if self.distribution == "laplace":
            return math.sqrt(2) / float(self.parameter)
        return math.sqrt(self.parameter)

    def cost(self, sensitivity: int, *, delta: float) -> Cost:
        """Of one answer whose count changes by so many steps; the class says why.

        Args:
            sensitivity: s, in steps.
            delta: for which the cost of Gaussian noise is stated, in (0, 1).
        """
        if self.distribution == "laplace":
            return Cost.of_pure(sensitivity * self.parameter)
        return Cost.of_rho(rounded_up(sensitivity**2 / (2 * self.parameter)), delta=delta)

    def radius(self, failure: float) -> int:
        """The number of steps t with P(|noise| > t) <= failure, proven."""
        if self.distribution == "laplace":
            return discrete_laplace_radius(float(self.parameter), failure=failure)
        return discrete_gaussian_radius(math.sqrt(self.parameter), failure=failure)
