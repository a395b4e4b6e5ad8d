"""Proven intervals for weighted sums of independent noises.

A `NoiseSum` lists its terms: a law (`privacy.laws`), a coefficient, and how many independent noises
of that kind there are. Its `radius` is the half width t of an interval with P(|sum| > t) <= p,
whatever the private data are. It is the least of several proven bounds:

- the *reach*: the largest value that the sum can have at all;
- the *exponential* bound: Chernoff's, from the moment generating functions of the laws;
- the *inverted* bound: Prawitz's inequality, from their characteristic functions;
- for a few flipped bits of one law, the exact quantile.

The failure probability p is passed as `log_failures` = ln(1/p). Inside the inversion, lengths are
counted in standard deviations of the sum, and frequencies in units of 1/deviation.
Read `NoiseSum` first.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.privacy.laws import FlippedBit, NoiseLaw

_OUTWARD = 1 + 1e-9  # factor of every radius: more than its floats can lose
# Width of the search for Chernoff's s, in powers of e below its limit: it reaches e^-35 of that
# limit, less than the s of any sum with up to 2^100 terms.
_TILT_SEARCH = 35
# Failure probabilities below this one are left to exponential bounds: the sums of the inversion
# and of exact laws are right to about 1e-12.
_LEAST_INVERTED = 1e-7
_SUM_ERROR = 1e-12  # absolute: more than rounding moves a sum of probabilities
_MOST_SCANNED = 300  # equal bits up to which the law of every number of ones is added up
# An inverted radius below this many normal radii is returned without trying any other bound.
_NEARLY_NORMAL = 1.05
_OCTAVES = 8  # the largest frequency of the inversion is 2^_OCTAVES, in units of 1/deviation
_LEAST_CUTOFF = 4.0  # smallest cutoff frequency U that is tried, in units of 1/deviation
# The integrand may turn by this many radians for each unit of frequency; the nodes below follow 8.
_FASTEST_TURN = 7.0
_HARMONICS = 3  # powers of the transform turn as multiples of a jump; those beyond are small
# The search for a radius ends at a failure probability within this factor of the one required, or
# when the radius is known to this relative width.
_CLOSE_FAILURE = 0.997
_CLOSE_RADIUS = 2e-4
_QUADRATURE_ERROR = 1e-9  # absolute, of a failure probability
_PHASE_MARGIN = 1.001  # factor of the loss by unknown phases, against the error of its quadrature


class NoiseTerm(NamedTuple):
    """Several independent noises of one law, each multiplied by the same coefficient.

    Attributes:
        law: of each noise.
        coefficient: any number.
        number: of noises, >= 0.
    """

    law: NoiseLaw
    coefficient: float
    number: int


@final
@dataclass(frozen=True)
class NoiseSum:
    """A sum of independent noises. Make it with `of`.

    A law may depend on private data; all bounds below hold whatever the data are.

    Attributes:
        terms: with positive coefficients and counts, no kind of noise twice.
    """

    terms: tuple[NoiseTerm, ...]

    @classmethod
    def of(cls, terms: Sequence[NoiseTerm]) -> "NoiseSum":
        """Return the sum of these terms in a normal form.

        Terms that are zero are left out, negative coefficients become positive, and terms of one
        law and coefficient are joined. The sign of a coefficient does not matter, since each law is
        symmetric, or symmetric up to a sign that is private.
        """
        counts: dict[tuple[NoiseLaw, float], int] = {}
        for law, coefficient, count in terms:
            if coefficient and count:
                kind = law, abs(coefficient)
                counts[kind] = counts.get(kind, 0) + count
        return cls(tuple(NoiseTerm(*kind, count) for kind, count in counts.items()))

    @cached_property
    def variance(self) -> float:
        """The variance, or an upper bound on it."""
        return math.fsum(c**2 * count * law.variance for law, c, count in self.terms)

    @property
    def deviation(self) -> float:
        """The standard deviation, or an upper bound on it."""
        return math.sqrt(self.variance)

    @property
    def reach(self) -> float:
        """Upper bound on |sum|; infinity if there is none."""
        return math.fsum(c * count * law.max_noise for law, c, count in self.terms) * _OUTWARD

    def radius(self, log_failures: float) -> float:
        """Return t with P(|sum| > t) <= e^-log_failures, the least of the bounds of this module.

        Args:
            log_failures: ln(1/p) for the failure probability p, > 0.
        """
        if not self.terms:
            return 0.0
        return _least_radius(self, log_failures)

    def exponential_radius(self, log_failures: float) -> float:
        """Return Chernoff's radius, with the factor that Chernoff's bound leaves out.

        For every s > 0, with M the moment generating function of the sum and E_s the mean under
        the tilted law (probabilities times e^(s sum), normalised),

            P(sum >= x) = M(s) e^(-s x) E_s[e^(-s (sum - x)); sum >= x].

        M is at most the product of the bounds e^(log_mgf). Condition on all terms but one: that
        term takes values on a grid, so the last factor is at most e^(log_point_sum) of that term.
        The smallest such bound is taken. Both tails are counted. Every s gives a valid bound, so an
        inexact search for the best s cannot break it.

        Args:
            log_failures: ln(1/p) for the failure probability p, > 0.
        """

        def log_point_sum(s: float) -> float:
            return min(law.log_point_sum(s * c, count) for law, c, count in self.terms)

        return chernoff_radius(self.terms, log_failures, log_point_sum)

    def inverted_radius(self, log_failures: float) -> float:
        """Return a radius from the characteristic function, or infinity if this proves nothing.

        Let f be the characteristic function of the sum. Prawitz's inequality says, for all U > 0
        and t > 0,

            P(|sum| <= t) >= 2 integral over s in 0..1 of k(s) Re f(U s) ds,
            k(s) = g(s) sin(U s t) - (1 - s) cos(U s t),   g(s) = (1 - s) cot(pi s) + 1/pi.

        It is the difference of his lower bound on the distribution function at t and his upper
        bound at -t. Write f(u) = r(u) e^(i phi(u)). The modulus r is known. The private data decide
        the signs of the phases, so |phi| is at most the sum of the phases of all terms; let c be
        the cosine of that sum, or -1 if the sum exceeds pi. Then k Re f >= k r c where k > 0, and
        k Re f >= k r elsewhere. The odd part of the law thus enters by its square only, and the
        interval is nearly that of a normal law of the same variance.

        The integrals are sums over Gauss-Legendre nodes. Their spacing suits an integrand that
        turns as fast as the kernel (by t) and f (by the jumps of the laws) do; beyond that, as for
        a sum with jumps as large as its deviation, infinity is returned. `_QUADRATURE_ERROR` and
        `_PHASE_MARGIN` cover the errors of the sums.

        Source: Prawitz, *Limits for a distribution, if the characteristic function is given in a
        finite domain*, Skandinavisk Aktuarietidskrift 1972.

        Args:
            log_failures: ln(1/p) for the failure probability p, > 0.
        """
        target = math.exp(-log_failures)
        if target < _LEAST_INVERTED or not all(law.invertible for law, _, _ in self.terms):
            return math.inf
        t = float(-scipy.special.ndtri(target / 2))  # start at the normal quantile
        largest_jump = max(c * law.jump_distance for law, c, _ in self.terms) / self.deviation
        largest_t = _FASTEST_TURN - _HARMONICS * largest_jump
        if t > largest_t:
            return math.inf
        spectrum = _Spectrum(self, t)
        low, high = 0.0, math.inf  # every finite `high` is proven, `low` is not
        while high - low > _CLOSE_RADIUS * high or math.isinf(high):
            failure = spectrum.failure(t)
            low, high = (low, t) if failure <= target else (t, high)
            if _CLOSE_FAILURE * target <= failure <= target:
                break
            # Newton's step as if the law were normal, towards the middle of the accepted failures.
            t += (failure - target * (1 + _CLOSE_FAILURE) / 2) / (2 * _normal_density(t))
            # A step that leaves the bracket, or goes far, is replaced by a small or a halving one.
            if not low < t < min(high, 1.5 * low + 1):
                t = 1.25 * low + 0.1 if math.isinf(high) else (low + high) / 2
            if t > largest_t:
                return math.inf
        return high * self.deviation * _OUTWARD


def chernoff_radius(
    terms: Sequence[tuple[NoiseLaw, float, float]],
    log_failures: float,
    log_factor: Callable[[float], float] = lambda s: 0.0,  # noqa: ARG005
) -> float:
    """Return t with P(|sum of noises| > t) <= e^-log_failures, by Chernoff's bound.

    t = (ln M(s) + ln 2 + log_failures + log_factor(s))/s at nearly the best s. Every s gives a
    valid bound, so an inexact search cannot break it.

    Args:
        terms: law, coefficient > 0 and number of the noises of each kind.
        log_failures: ln(1/p) for the failure probability p of both tails together.
        log_factor: a bound, for each s, on the logarithm of the factor that Chernoff's bound
            leaves out; 0 if nothing is known of it.
    """
    log_limit = math.log(min(law.mgf_limit / c for law, c, _ in terms))

    def radius_at(log_s: float) -> float:
        s = math.exp(log_s)
        log_mgf = math.fsum(number * law.log_mgf(s * c) for law, c, number in terms)
        return (log_mgf + log_factor(s) + math.log(2) + log_failures) / s

    best = scipy.optimize.minimize_scalar(
        radius_at, bounds=(log_limit - _TILT_SEARCH, log_limit), method="bounded"
    )
    return float(best.fun) * _OUTWARD


def equal_bits_radius(law: FlippedBit, count: int, log_failures: float) -> float:
    """Return the least radius that holds for every number of ones among `count` flipped bits.

    With k ones among the true bits, the sum of the released bits is Bin(k, 1-q) + Bin(count - k,
    q). Its law is computed for each k, and the widest quantile is taken. Exchanging zeros and ones
    exchanges the signs of the errors, so k up to count/2 is enough.

    Args:
        law: of each bit.
        count: number of bits, >= 1.
        log_failures: ln(1/p) for the failure probability p.

    Returns:
        The radius for the sum of the estimates of the bits; infinity if p is too small for floats.
    """
    target, q = math.exp(-log_failures), law.flip
    if target < _LEAST_INVERTED:
        return math.inf
    sums = np.arange(count + 1)
    widest = 0.0
    for ones in range(count // 2 + 1):
        unflipped_ones = _binomial_law(ones, q)[::-1]
        flipped_zeros = _binomial_law(count - ones, q)
        errors = np.abs(sums - count * q - ones * (1 - 2 * q))
        order = np.argsort(errors)
        probabilities = np.convolve(unflipped_ones, flipped_zeros)[order]
        # P(error >= errors[order][i]) for each i, and the same with ">".
        at_least = np.cumsum(probabilities[::-1])[::-1] + _SUM_ERROR
        above = np.append(at_least[1:], _SUM_ERROR)
        quantile = np.argmax(above <= target)  # the first one that holds
        widest = max(widest, float(errors[order][quantile]))
    return widest * law.unit * _OUTWARD


@lru_cache(maxsize=1 << 14)
def _least_radius(noise: NoiseSum, log_failures: float) -> float:
    """Return `NoiseSum.radius` of a sum with terms; releases ask for the same sums again."""
    inverted = noise.inverted_radius(log_failures)
    normal = -scipy.special.ndtri(math.exp(-log_failures) / 2) * noise.deviation
    if math.isfinite(inverted) and inverted < _NEARLY_NORMAL * normal:
        return min(noise.reach, inverted)
    radius = min(noise.reach, inverted, noise.exponential_radius(log_failures))
    if len(noise.terms) == 1:
        law, coefficient, count = noise.terms[0]
        if isinstance(law, FlippedBit) and count <= _MOST_SCANNED:
            radius = min(radius, coefficient * equal_bits_radius(law, count, log_failures))
    return radius


def _normal_density(t: float) -> float:
    """Return the density of the standard normal law at t."""
    return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)


def _binomial_law(count: int, q: float) -> FloatVector:
    """Return P(k of `count` bits are one), k = 0..count, for bits that are one with chance q."""
    k = np.arange(count + 1)
    log_ways = math.lgamma(count + 1) - scipy.special.gammaln(k + 1)
    log_ways -= scipy.special.gammaln(count - k + 1)
    return np.asarray(np.exp(log_ways + k * math.log(q) + (count - k) * math.log1p(-q)))


class _Kernel(NamedTuple):
    """Factors of Prawitz's kernel k(s), s = x/U, at the nodes x below one cutoff frequency U.

    Attributes:
        cutoff: U, in units of 1/deviation.
        sine_factors: g(s), which multiplies sin(x t).
        cosine_factors: 1 - s, which multiplies cos(x t).
    """

    cutoff: float
    sine_factors: FloatVector
    cosine_factors: FloatVector


class _Quadrature(NamedTuple):
    """Gauss-Legendre nodes on panels that grow with the frequency.

    Attributes:
        nodes: frequencies x = u * deviation, ascending.
        weights: of the nodes.
        kernels: for each cutoff that is tried; each uses the first nodes.
    """

    nodes: FloatVector
    weights: FloatVector
    kernels: tuple[_Kernel, ...]


@lru_cache(maxsize=1)
def _quadrature() -> _Quadrature:
    """Return the nodes, which are the same for all sums."""
    panel_edges = [0.0, 1.0, *(2.0 ** (half / 2) for half in range(1, 2 * _OCTAVES + 1))]
    nodes: FloatVector = np.empty(0)
    weights: FloatVector = np.empty(0)
    kernels = []
    for low, high in itertools.pairwise(panel_edges):
        # 24 nodes resolve a bump as wide as e^(-x^2/2); four more for each unit of frequency
        # resolve an integrand that turns by up to 8 radians a unit.
        points, point_weights = np.polynomial.legendre.leggauss(24 + math.ceil(4 * (high - low)))
        nodes = np.append(nodes, low + (high - low) * (points + 1) / 2)
        weights = np.append(weights, point_weights * (high - low) / 2)
        if high >= _LEAST_CUTOFF:
            s = nodes / high
            kernels.append(_Kernel(high, (1 - s) / np.tan(np.pi * s) + 1 / np.pi, 1 - s))
    return _Quadrature(nodes, weights, tuple(kernels))


class _Spectrum:
    """The characteristic function of a sum at the nodes, and the cutoff frequency for it.

    Every cutoff proves a bound. The one that proves most at a first t is used for all t.

    Args:
        noise: the sum.
        t: the first t, in standard deviations.
    """

    def __init__(self, noise: NoiseSum, t: float) -> None:
        quadrature = _quadrature()
        frequencies = quadrature.nodes / noise.deviation
        log_modulus, phase = np.zeros_like(frequencies), np.zeros_like(frequencies)
        for law, coefficient, count in noise.terms:
            log_modulus += count * law.log_modulus(frequencies * coefficient)
            phase += count * law.phase(frequencies * coefficient)
        self._weighted_modulus = np.exp(log_modulus) * quadrature.weights
        self._phase_loss = 1 - np.cos(np.minimum(phase, np.pi))  # 1 - c
        self._nodes = quadrature.nodes
        sines, cosines = np.sin(self._nodes * t), np.cos(self._nodes * t)
        self._kernel = min(
            quadrature.kernels, key=lambda kernel: self._failure(kernel, sines, cosines)
        )

    def failure(self, t: float) -> float:
        """Return an upper bound on P(|sum| > t), t in standard deviations."""
        angles = self._nodes[: len(self._kernel.sine_factors)] * t
        return self._failure(self._kernel, np.sin(angles), np.cos(angles))

    def _failure(self, kernel: _Kernel, sines: FloatVector, cosines: FloatVector) -> float:
        """Return the bound of one cutoff, from sin(x t) and cos(x t) at the nodes x."""
        size = len(kernel.sine_factors)
        values = kernel.sine_factors * sines[:size] - kernel.cosine_factors * cosines[:size]
        values = values * self._weighted_modulus[:size]  # k r, times the weights of the nodes
        loss = float(np.maximum(values, 0) @ self._phase_loss[:size])
        integral = float(values.sum()) - _PHASE_MARGIN * loss
        return 1 - 2 / kernel.cutoff * integral + _QUADRATURE_ERROR
