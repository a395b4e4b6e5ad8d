"""Noise on an answer: how far sums of noises can be off, and noise that is bought for one answer.

`NoiseSum` proves intervals for weighted sums of independent noises whose laws are partly private.
`ValueNoise` is the noise on one answer that is bought outright, with its tail and its price.
`NOISES` is what `noise=` of a release can name.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.distributions import (
    BinaryResponse,
    FlippedBit,
    LaplaceNoise,
    NoiseDistribution,
    NoiseLaw,
)
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.noise import sample_discrete_gaussian, sample_discrete_laplace

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
        top = math.log(min(law.end / c for law, c, _ in self.terms))

        def bound(log_s: float) -> float:
            s = math.exp(log_s)
            log_mgf = math.fsum(count * law.log_mgf(s * c) for law, c, count in self.terms)
            log_point = min(law.log_point(s * c, count) for law, c, count in self.terms)
            return (log_mgf + log_point + math.log(2) + log_failures) / s

        best = scipy.optimize.minimize_scalar(bound, bounds=(top - 35, top), method="bounded")
        return float(best.fun) * (1 + 1e-9)

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


_GRID_BITS = 20  # the Laplace grid has 2^20 to 2^21 steps within its scale
_LARGEST_SCALE = 2**44  # of the noise, in steps: 64-bit integers hold it, and sums of it


def noise_distribution(
    name: str, *, epsilon: float | Fraction, weight_cap: float | None = None
) -> NoiseDistribution:
    """The distribution of a name: "binary", "laplace" or "discrete-laplace".

    Args:
        name: one of `NOISES`.
        epsilon: privacy parameter, in [1e-6, 50].
        weight_cap: public largest weight; None if neighbours differ by at most 1 in one weight.

    Raises:
        ParameterError: an unknown name, epsilon out of range, a cap that is not positive and
            finite, a fractional cap with discrete-laplace, or noise too large for 64 bits.
    """
    exact = exact_epsilon(epsilon)
    if weight_cap is not None and not (math.isfinite(weight_cap) and weight_cap > 0):
        raise ParameterError("weight_cap must be a positive, finite number")
    if (weight_cap or 1.0) / exact > _LARGEST_SCALE:
        raise ParameterError("the weight cap is too large for this epsilon; rescale the weights")
    return _distribution(name, exact, weight_cap)


@lru_cache(maxsize=64)  # distributions keep what they have computed of themselves
def _distribution(name: str, exact: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if name not in NOISES:
        raise ParameterError(f"unknown noise {name!r}; choose one of {', '.join(NOISES)}")
    return NOISES[name](exact, weight_cap)


def _binary(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if weight_cap not in (None, 1.0):
        raise ParameterError("binary noise is for graphs without weights: use laplace noise")
    return BinaryResponse(epsilon, 1.0)


def _laplace(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    scale = Fraction(weight_cap or 1.0) / epsilon
    step = math.floor(math.log2(scale)) - _GRID_BITS
    return LaplaceNoise(epsilon, weight_cap, min(step, -1))


def _discrete_laplace(epsilon: Fraction, weight_cap: float | None) -> NoiseDistribution:
    if weight_cap is not None and not float(weight_cap).is_integer():
        raise ParameterError(
            "discrete-laplace noise needs a whole-number weight cap: use laplace noise"
        )
    return LaplaceNoise(epsilon, weight_cap)


# The table of noises: what `noise=` of a release can name. Each is made from epsilon and the cap.
NOISES: Mapping[str, Callable[[Fraction, float | None], NoiseDistribution]] = {
    "binary": _binary,
    "laplace": _laplace,
    "discrete-laplace": _discrete_laplace,
}


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
