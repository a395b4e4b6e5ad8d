"""Laws of noise: what is public of the noise on one number, and proven intervals for sums of it.

Read `NoiseLaw` first: a law of additive noise needs a variance and a bound on its moment generating
function (`log_mgf`); everything else has a default, and makes intervals shorter where it is given.
`NoiseSum` proves intervals for weighted sums of independent noises whose laws are partly private.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatVector


class NoiseLaw(Protocol):
    """The law of the noise on one number, as far as it is public.

    Where the law depends on the private number, every statement is a bound over all its values.
    """

    @property
    def step(self) -> float:
        """Largest distance between neighbouring steps of the distribution function, of a grid say.

        `NoiseSum.inverted_radius` inverts nothing where that is large beside the deviation.
        """

    @property
    def variance(self) -> float:
        """Of the noise, or a bound on it, whatever the private number is."""

    @property
    def largest(self) -> float:
        """The noise never passes this in modulus; infinity if it can."""

    def log_mgf(self, s: float) -> float:
        """Upper bound on ln E e^(s X) and on ln E e^(-s X), for 0 < s < `end`."""

    @property
    def end(self) -> float:
        """`log_mgf` is finite below this."""

    @property
    def invertible(self) -> bool:
        """Whether `log_modulus` and `phase` are known."""

    def log_modulus(self, u: FloatVector) -> FloatVector:
        """Logarithm of |E e^(iuX)|: the same whatever the private number is."""

    def phase(self, u: FloatVector) -> FloatVector:
        """|arg E e^(iuX)| for u >= 0, up to whole turns: the sign follows the private number."""

    def log_point(self, s: float, count: int) -> float:
        """Bound on ln of the sum over j >= 0 of e^(-s d j) P(S = x + j d), d the step of X.

        S is a sum of `count` of them, each tilted by e^(sX), and x is arbitrary. At most 0.
        """


_FARTHEST = math.exp(15)  # times 1/deviation: largest s, where a moment generating function has one


class BoundedLaw(ABC):
    """Base of laws of which no more than a variance and a bound on `log_mgf` must be known.

    Intervals for sums of such noises are Chernoff's. See `NoiseLaw` for all that a law can add.
    """

    @property
    @abstractmethod
    def variance(self) -> float:
        """See `NoiseLaw.variance`."""

    @abstractmethod
    def log_mgf(self, s: float) -> float:
        """See `NoiseLaw.log_mgf`."""

    @property
    def step(self) -> float:
        """See `NoiseLaw.step`: not used by a law that is not inverted."""
        return math.inf

    @property
    def largest(self) -> float:
        """See `NoiseLaw.largest`: it has no bound."""
        return math.inf

    @property
    def end(self) -> float:
        """See `NoiseLaw.end`: `log_mgf` is finite everywhere; no sum asks for more than this."""
        return _FARTHEST / math.sqrt(self.variance)

    @property
    def invertible(self) -> bool:
        """See `NoiseLaw.invertible`."""
        return False

    def log_modulus(self, u: FloatVector) -> FloatVector:
        """See `NoiseLaw.log_modulus`: 0 is above it."""
        return np.zeros_like(u)

    def phase(self, u: FloatVector) -> FloatVector:
        """See `NoiseLaw.phase`: a law that is symmetric about 0 has a real transform."""
        return np.zeros_like(u)

    def log_point(self, s: float, count: int) -> float:  # noqa: ARG002
        """See `NoiseLaw.log_point`: 0 always holds."""
        return 0.0


@final
@dataclass(frozen=True)
class SubGaussian(BoundedLaw):
    """Noise with ln E e^(sX) <= v s^2/2 for all s, symmetric about 0: that of Gaussian noise.

    Attributes:
        parameter: v > 0, which the variance does not pass.
    """

    parameter: float

    @property
    def variance(self) -> float:
        """See `NoiseLaw.variance`."""
        return self.parameter

    def log_mgf(self, s: float) -> float:
        """See `NoiseLaw.log_mgf`."""
        return self.parameter * s * s / 2


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

    invertible = True  # see `NoiseLaw.invertible`

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

    invertible = True  # see `NoiseLaw.invertible`

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
        return 2 * log_sinh(rate / 2) - log_sinh((rate - z) / 2) - log_sinh((rate + z) / 2) + 1e-15

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


def log_sinh(x: float) -> float:
    """Return ln sinh x for x > 0, without overflow."""
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
        if wanted < _LEAST_INVERTED or not all(law.invertible for law, _, _ in self.terms):
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
