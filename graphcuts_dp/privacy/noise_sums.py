"""Proven intervals for weighted sums of independent noises.

A `NoiseSum` lists its terms: a law (`privacy.laws`), a coefficient, and how many independent noises
of that kind there are. Its `radius` is the half width t of an interval with P(|sum| > t) <= p,
whatever the private data are. It is the least of several proven bounds:

- the *reach*: the largest value that the sum can have at all;
- the *exponential* bound: Chernoff's, from the moment generating functions of the laws;
- the *inverted* bound: Prawitz's inequality, from their characteristic functions;
- for a few flipped bits of one law, the exact quantile.

The failure probability p is passed as `log_failures` = ln(1/p) > 0. Inside the inversion, lengths
are counted in standard deviations of the sum, and frequencies in units of 1/deviation.

Facts of a law that are used here, for a noise X of that law: `max_noise`, a bound on |X|;
`log_mgf`, a bound on ln E e^(sX) for s below `mgf_limit`; `log_modulus` and `phase` of its
characteristic function, if it is `invertible`; `jump_distance`, which bounds how fast that function
turns; and `log_point_sum`, explained at `NoiseSum.exponential_radius`.

Every number that is returned must be an upper bound, since callers state it as proven. The searches
below may be inexact, because each trial value gives a bound that holds.
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
# The integrand of the inversion may turn by this many radians for each unit of frequency; the nodes
# of `_quadrature` resolve 8.
_FASTEST_TURN = 7.0
# A characteristic function is made of waves e^(iux) that turn as fast as x, the values of the
# noise. Of n equal noises only sums of up to 3 jumps are counted: waves of larger sums have small
# weights.
_HARMONICS = 3
# The search for a radius ends at a failure probability within this factor of the one required, or
# when the radius is known to this relative width.
_CLOSE_FAILURE = 0.997
_CLOSE_RADIUS = 2e-4
_QUADRATURE_ERROR = 1e-9  # absolute, of a failure probability
# Factor of the loss by unknown phases, an integral with a kink: more than its numerical error.
_PHASE_MARGIN = 1.001


class NoiseTerm(NamedTuple):
    """Several independent noises of one law, each multiplied by the same coefficient.

    Attributes:
        law: of each noise.
        coefficient: any number; > 0 in a `NoiseSum`.
        number: how many such noises there are, >= 0; > 0 in a `NoiseSum`.
    """

    law: NoiseLaw
    coefficient: float
    number: int


@final
@dataclass(frozen=True)
class NoiseSum:
    """A sum of independent noises. Make it with `of`, which brings the terms into normal form.

    A law may depend on private data; all bounds below hold whatever the data are.

    Attributes:
        terms: with positive coefficients and numbers, and no pair (law, coefficient) twice. The
            methods rely on this, and it is not checked. Equal sums must be equal objects: they are
            keys of the cache of `_least_radius`.
    """

    terms: tuple[NoiseTerm, ...]

    @classmethod
    def of(cls, terms: Sequence[NoiseTerm]) -> "NoiseSum":
        """Return the sum of these terms in a normal form.

        Terms that are zero are left out, negative coefficients become positive, and terms of one
        law and coefficient are joined. The sign of a coefficient does not matter, since each law is
        symmetric, or symmetric up to a sign that is private.
        """
        numbers: dict[tuple[NoiseLaw, float], int] = {}
        for law, coefficient, number in terms:
            if coefficient and number:
                scaled_law = law, abs(coefficient)
                numbers[scaled_law] = numbers.get(scaled_law, 0) + number
        return cls(tuple(NoiseTerm(*scaled_law, number) for scaled_law, number in numbers.items()))

    @cached_property
    def variance(self) -> float:
        """The variance, or an upper bound on it."""
        return math.fsum(c**2 * number * law.variance for law, c, number in self.terms)

    @property
    def deviation(self) -> float:
        """The standard deviation, or an upper bound on it."""
        return math.sqrt(self.variance)

    @property
    def reach(self) -> float:
        """Upper bound on |sum|; infinity if there is none."""
        return math.fsum(c * number * law.max_noise for law, c, number in self.terms) * _OUTWARD

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

        Let M be the moment generating function of the sum S. For every s > 0 the *tilted* law has
        the probabilities P(S = y) e^(s y)/M(s); let E_s be its mean. Then

            P(S >= x) = M(s) e^(-s x) F,   F = E_s[e^(-s (S - x)) if S >= x, else 0] <= 1.

        Chernoff's bound drops F. Here F is bounded by one term c X of the sum, the sum of
        `number` equal noises: fix the values of all other terms. c X takes values on a grid, and
        the tilted probability of each is at most some p_max. So F is at most
        p_max (1 + e^(-s h) + e^(-2 s h) + ...) for the grid width h. `log_point_sum` of the law
        is the logarithm of such a bound. Each term gives one, and the smallest is taken: a product
        over terms would not be valid. M is at most the product of the bounds e^(log_mgf).

        Args:
            log_failures: ln(1/p) for the failure probability p of both tails together, > 0.
        """

        def log_point_sum(s: float) -> float:
            return min(law.log_point_sum(s * c, number) for law, c, number in self.terms)

        return chernoff_radius(self.terms, log_failures, log_point_sum)

    def inverted_radius(self, log_failures: float) -> float:
        """Return a radius from the characteristic function, or infinity if this proves nothing.

        Let f be the characteristic function of the sum. Prawitz's inequality says, for every cutoff
        frequency U > 0 and every t > 0,

            P(|sum| <= t) >= 2 integral over s in 0..1 of k(s) Re f(U s) ds,
            k(s) = g(s) sin(U s t) - (1 - s) cos(U s t),   g(s) = (1 - s) cot(pi s) + 1/pi.

        It is the difference of his lower bound on the distribution function at t and his upper
        bound at -t.

        Write f(u) = r(u) e^(i phi(u)). The modulus r is known. The phase phi is not: the private
        data decide the signs of the phases of the terms. But |phi| is at most the sum of their
        moduli, so Re f = r cos(phi) lies in r c..r, where c is the cosine of that sum, or -1 if the
        sum exceeds pi. So k Re f is at least k r c where k > 0, and at least k r elsewhere.

        The integrals are sums over Gauss-Legendre nodes (`_quadrature`), which are right if the
        integrand does not turn too fast. The kernel k turns by t radians for each unit of
        frequency, and f by about `_HARMONICS` times the largest jump of a law. If both together
        exceed `_FASTEST_TURN`, infinity is returned; for example, if jumps are as large as the
        deviation. `_QUADRATURE_ERROR` and `_PHASE_MARGIN` cover the errors of the sums.

        Source: Prawitz, *Limits for a distribution, if the characteristic function is given in a
        finite domain*, Skandinavisk Aktuarietidskrift 1972.

        Args:
            log_failures: ln(1/p) for the failure probability p, > 0.
        """
        target = math.exp(-log_failures)
        if target < _LEAST_INVERTED or not all(law.invertible for law, _, _ in self.terms):
            return math.inf
        t = float(-scipy.special.ndtri(target / 2))  # in deviations: start at the normal quantile
        largest_jump = max(c * law.jump_distance for law, c, _ in self.terms) / self.deviation
        largest_t = _FASTEST_TURN - _HARMONICS * largest_jump
        if t > largest_t:
            return math.inf
        spectrum = _Spectrum(self, t)
        # Search for the least t with spectrum.failure(t) <= target. It is met at a finite `high`,
        # which is therefore proven, and missed at `low`.
        low, high = 0.0, math.inf
        while high - low > _CLOSE_RADIUS * high or math.isinf(high):
            failure = spectrum.failure(t)
            low, high = (low, t) if failure <= target else (t, high)
            if _CLOSE_FAILURE * target <= failure <= target:
                break
            # Newton's step towards the middle of the accepted failures. The failure probability of
            # a normal law has the derivative -2 density(t).
            middle_failure = target * (1 + _CLOSE_FAILURE) / 2
            t += (failure - middle_failure) / (2 * _normal_density(t))
            # If it leaves low..high or more than about half as much again as `low`, halve low..high
            # instead; while nothing is proven, go on by about a quarter.
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

    t = (ln M(s) + ln 2 + log_failures + log_factor(s))/s at nearly the best s, for M the moment
    generating function of the sum. ln 2 stands for the two tails.

    Args:
        terms: triples as in `NoiseTerm`: a law, a coefficient > 0, and the number of such noises,
            which need not be whole.
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

    Each bit is flipped with chance q. With k ones among the true bits, the sum of the released bits
    is Bin(k, 1-q) + Bin(count - k, q), of mean count q + k (1 - 2 q). Its law is computed for each
    k, and the widest quantile of |sum - mean| is taken. Exchanging zeros and ones exchanges the
    signs of the errors, so k up to count/2 is enough.

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
        errors = np.abs(sums - count * q - ones * (1 - 2 * q))  # (count + 1,)
        order = np.argsort(errors)
        probabilities = np.convolve(unflipped_ones, flipped_zeros)[order]
        # `from_i`[i] is the probability of the i-th smallest error and all after it, `after_i`[i]
        # without itself. Of equal errors the later ones count as larger, which is on the safe side.
        from_i = np.cumsum(probabilities[::-1])[::-1] + _SUM_ERROR
        after_i = np.append(from_i[1:], _SUM_ERROR)
        quantile = np.argmax(after_i <= target)  # the first one that holds; the last always does
        widest = max(widest, float(errors[order][quantile]))
    return widest * law.unit * _OUTWARD


@lru_cache(maxsize=1 << 14)
def _least_radius(noise: NoiseSum, log_failures: float) -> float:
    """Return `NoiseSum.radius` of a sum that has terms; cached, since sums recur in a release."""
    inverted = noise.inverted_radius(log_failures)
    normal = -scipy.special.ndtri(math.exp(-log_failures) / 2) * noise.deviation
    if math.isfinite(inverted) and inverted < _NEARLY_NORMAL * normal:
        return min(noise.reach, inverted)
    radius = min(noise.reach, inverted, noise.exponential_radius(log_failures))
    if len(noise.terms) == 1:
        law, coefficient, number = noise.terms[0]
        if isinstance(law, FlippedBit) and number <= _MOST_SCANNED:
            radius = min(radius, coefficient * equal_bits_radius(law, number, log_failures))
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
    """Return the nodes, which are the same for all sums.

    The panels are 0..1, 1..sqrt 2, sqrt 2..2, and so on in half octaves up to 2^_OCTAVES. A cutoff
    U is tried at each end of a panel from `_LEAST_CUTOFF` on; its kernel uses the nodes below U.
    """
    panel_edges = [0.0, 1.0, *(2.0 ** (half / 2) for half in range(1, 2 * _OCTAVES + 1))]
    nodes: FloatVector = np.empty(0)
    weights: FloatVector = np.empty(0)
    kernels = []
    for low, high in itertools.pairwise(panel_edges):
        # 24 nodes resolve a bump as wide as e^(-x^2/2). Gauss-Legendre sums need more than pi nodes
        # for a full turn of 2 pi radians: four for each unit of frequency resolve 8 radians a unit.
        points, point_weights = np.polynomial.legendre.leggauss(24 + math.ceil(4 * (high - low)))
        nodes = np.append(nodes, low + (high - low) * (points + 1) / 2)
        weights = np.append(weights, point_weights * (high - low) / 2)
        if high >= _LEAST_CUTOFF:
            s = nodes / high
            sine_factors = (1 - s) / np.tan(np.pi * s) + 1 / np.pi  # g(s)
            kernels.append(_Kernel(high, sine_factors, 1 - s))
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
        for law, coefficient, number in noise.terms:
            log_modulus += number * law.log_modulus(frequencies * coefficient)
            phase += number * law.phase(frequencies * coefficient)
        # Letters as in `NoiseSum.inverted_radius`; all arrays have the shape (nodes,).
        self._weighted_modulus = np.exp(log_modulus) * quadrature.weights  # r times the weights
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
        # The integral of k r, less that of k r (1 - c) where k > 0. Over s = x/U it is 1/U times
        # the sum over x.
        loss = float(np.maximum(values, 0) @ self._phase_loss[:size])
        integral = float(values.sum()) - _PHASE_MARGIN * loss
        return 1 - 2 / kernel.cutoff * integral + _QUADRATURE_ERROR
