"""Families of integer noise on counts, discrete Laplace and discrete Gaussian, and one noisy count.

`count_distribution` has the interfaces and the terms, and should be read first. `COUNT_NOISES`
lists the families by the names that options and files use. `ValueNoise` is the noise on one count,
given by the name of a family and a parameter; `level_noise.LevelNoise` is the noise on groups of
counts. Theorems named in quotes are in docs/mathematics.md.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, as_stored, rounded_up, zcdp_rho
from graphcuts_dp.privacy.count_distribution import (
    BELOW_LIMIT,
    COMBINATION_SEARCH_WIDTH,
    OUTWARD,
    SEARCH_WIDTH,
    Change,
    CountDistribution,
    IntegerNoise,
    golden_section,
)
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.laws import NoiseLaw, SubGaussian, TwoSidedGeometric
from graphcuts_dp.privacy.noise import sample_discrete_gaussian, sample_discrete_laplace
from graphcuts_dp.privacy.noise_scales import discrete_gaussian_delta, discrete_gaussian_scale

Family = TypeVar("Family", bound=type[CountDistribution])

# The families by name, filled by `_registered`. The names stand in files and in options.
COUNT_NOISES: dict[str, CountDistribution] = {}
# Searches of `LaplaceCounts.combination_radii` begin at e^-8 of the limit of s.
_LEAST_COMBINATION_LOG_TILT = -8.0
# The exact term of `LaplaceCounts.combination_radii` allows s up to its limit r/a; this relative
# distance keeps rounding from passing it.
_BELOW_EXACT_LIMIT = 1e-12
_MOST_TERMS = 2**40  # largest number of independent noises in one combination
# Keeps ln E e^(sX) of Laplace noise finite at its pole. Searches stay `BELOW_LIMIT` away from it.
_LARGEST_LIFT = 1 - 1e-12
# E e^(sX) of Gaussian noise is finite for all s. Searches stop at 2^20/deviation, more than the
# best s of any combination.
_LARGEST_GAUSSIAN_TILT = 2.0**20


@final
@dataclass(frozen=True)
class ValueNoise(IntegerNoise):
    """Integer noise on one count: a family of `COUNT_NOISES` and a parameter.

    Attributes:
        distribution: name of the family.
        parameter: of the family, exact, > 0.

    Privacy:
        A noisy count of sensitivity s has the loss of its family for the change (s, s^2).
    """

    distribution: str
    parameter: Fraction

    def draw_many(self, size: int, source: EntropySource) -> IntVector:
        """Draw independent samples, in grid units, shape (size,).

        Args:
            size: number of samples.
            source: where the noise comes from.
        """
        return count_noise(self.distribution).draw(self.parameter, size, source)

    @property
    def deviation(self) -> float:
        """The standard deviation, or an upper bound on it, in grid units."""
        return count_noise(self.distribution).deviation(self.parameter)

    def law(self, unit: float) -> NoiseLaw:
        """Return the law of the noise times `unit`."""
        return count_noise(self.distribution).law(self.parameter, unit)

    def cost(self, sensitivity: int, *, delta: float = 0.0) -> Cost:
        """Return the privacy cost of one noisy count; see `IntegerNoise.cost`."""
        family = count_noise(self.distribution)
        loss = family.loss(self.parameter, (sensitivity, sensitivity**2))
        return family.cost(loss, delta=delta)

    def radius(self, failure: float) -> int:
        """Return t, in grid units, with P(|noise| > t) <= failure, from the tail of its family.

        Args:
            failure: probability of a larger value, in (0, 1).
        """
        return count_noise(self.distribution).radius(self.parameter, failure)


def count_noise(name: str) -> CountDistribution:
    """Return the family of a name.

    Raises:
        ParameterError: no family has this name.
    """
    if name not in COUNT_NOISES:
        known = ", ".join(COUNT_NOISES)
        raise ParameterError(f"unknown noise {name!r:.60}; choose one of {known}")
    return COUNT_NOISES[name]


def discrete_gaussian_radius(scale: float, *, failure: float) -> int:
    """Return t with P(|X| > t) <= failure for integer X with P(x) ~ exp(-(x/scale)^2/2).

    P(X >= x) is at most P(N >= x - 1) for N normal with standard deviation `scale`.

    Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Proposition 25.
    """
    return math.ceil(scale * float(-scipy.special.ndtri(failure / 2)))


def discrete_laplace_radius(rate: float, *, failure: float) -> int:
    """Return t with P(|X| > t) <= failure for integer X with P(x) ~ e^(-rate |x|).

    P(|X| >= x) = 2 e^(-rate x)/(1 + e^-rate) for whole x >= 1; solving for x gives t = x - 1. t is
    the least whole number that does, or one more if that one meets `failure` by less than rounding.
    """
    least_x = (math.log(2) - math.log1p(math.exp(-rate)) - math.log(failure)) / rate
    return max(0, math.ceil(least_x * (1 + 1e-12)) - 1)


def _registered(family: Family) -> Family:
    """Enter a family in `COUNT_NOISES`, and return it."""
    COUNT_NOISES[family.name] = family()
    return family


@final
@_registered
class LaplaceCounts(CountDistribution):
    """The discrete Laplace distribution of rate r: P(k) proportional to e^(-r |k|).

    Privacy:
        Counts whose differences between neighbours add up to at most l1 in modulus are (l1 r)-DP:
        the probabilities of an outcome differ by a factor of at most e^(r sum |difference|).

    Source: Ghosh, Roughgarden, Sundararajan 2009.
    """

    name = "laplace"
    budget_exponent = 2
    pure = True

    def parameter(self, budget: Fraction, change: Change) -> Fraction:
        """Return the rate budget/l1."""
        l1, _ = change
        return budget / l1

    def loss(self, parameter: Fraction, change: Change) -> Fraction:
        """Return l1 r."""
        l1, _ = change
        return parameter * l1

    def draw(self, parameter: Fraction, size: int, source: EntropySource) -> IntVector:
        """Draw independent samples, shape (size,)."""
        return sample_discrete_laplace(parameter, size, source)

    def variance(self, parameter: Fraction) -> float:
        """Return the exact variance 1/(2 sinh(r/2)^2)."""
        return 0.5 / math.sinh(parameter / 2) ** 2

    def deviation(self, parameter: Fraction) -> float:
        """Return sqrt(2)/r, the standard deviation of real Laplace noise, which is larger."""
        return math.sqrt(2) / float(parameter)

    def law(self, parameter: Fraction, unit: float) -> TwoSidedGeometric:
        """Return the law of the noise times `unit`."""
        return TwoSidedGeometric(float(parameter), unit)

    def radius(self, parameter: Fraction, failure: float) -> int:
        """Return t with P(|noise| > t) <= failure, from the exact tail."""
        return discrete_laplace_radius(float(parameter), failure=failure)

    def log_mgf(self, parameters: FloatVector, s: FloatMatrix) -> FloatMatrix:
        """Return ln((cosh r - 1)/(cosh r - cosh s)) = -ln(1 - lift).

        With lift = sinh^2(s/2)/sinh^2(r/2), since cosh x - 1 = 2 sinh^2(x/2).
        """
        lift = (np.sinh(s / 2) / np.sinh(parameters / 2)) ** 2
        return np.asarray(-np.log1p(-np.minimum(lift, _LARGEST_LIFT)))

    def mgf_limits(self, parameters: FloatVector) -> FloatVector:
        """Return the rates."""
        return parameters

    def variance_factor(self, change: Change) -> float:
        """Return l1^2: the variance is about 2 l1^2/budget^2."""
        l1, _ = change
        return float(l1) ** 2

    def combination_radii(
        self,
        parameters: FloatVector,
        squared_sums: FloatMatrix,
        max_coefficients: FloatMatrix,
        absolute_sums: FloatMatrix,
        failure: float,
        *,
        least_max_coefficients: FloatMatrix | None = None,
    ) -> FloatVector:
        """Return radii t with P(|sum| > t) <= failure; see `CountDistribution.combination_radii`.

        Chernoff's bound is used for all terms but one, and the exact tail for that one. In each
        combination let a X be the term with the smallest ratio of rate r to coefficient a, and R
        the sum of all other terms. By Theorem "One exact tail in a sum of Laplace noises", for
        0 < s <= r/a,

            P(a X + R > t) <= C(s) e^(-s t) E e^(s R).

        The reason: P(X >= j) e^(s a j) <= C(s) for all whole j, whose left side does not rise in j
        from 0 on. Put j = (t - R)/a, and take the mean over R. ln C(s) is `_log_tail_constant`.
        E e^(s R) is bounded as in `chernoff_radii`. If there is no R, s near r/a gives nearly the
        exact tail, which plain Chernoff bounds do not reach.

        a need not be known. Both ln C(s), which falls where s a rises, and the sum of squares left
        are at most what they are for a lower bound on a; the limit r/a on s is at least what it is
        for an upper bound, and the largest coefficient left is at most that bound.
        """
        least_sizes = max_coefficients if least_max_coefficients is None else least_max_coefficients
        rates = parameters
        rows = np.arange(len(squared_sums))
        # The kind of the exact term, its coefficient a and its rate r, shape (combinations,).
        # Absent kinds have the coefficient 0, so their ratio is infinite and they are not chosen.
        with np.errstate(divide="ignore"):
            exact_kind = np.argmin(rates / least_sizes, axis=1)
        exact_size, exact_rate = max_coefficients[rows, exact_kind], rates[exact_kind]
        least_size = np.where(exact_size > 0, least_sizes[rows, exact_kind], 1.0)
        exact_size = np.where(exact_size > 0, exact_size, 1.0)

        # The tables of R. They differ from the given ones only in the kind of the exact term, from
        # which one coefficient a is removed, at least `least_size`. The sum of squares left is
        # sum c_m^2 - a^2. The largest coefficient left is not known, but it is at most each of
        # three numbers: a, the root of the sum of squares left, and the sum of moduli left,
        # sum |c_m| - a.
        other_squares, other_max = squared_sums.copy(), max_coefficients.copy()
        squares_left = np.maximum(other_squares[rows, exact_kind] - least_size**2, 0)
        absolute_left = np.maximum(absolute_sums[rows, exact_kind] - least_size, 0)
        max_left = np.minimum.reduce([exact_size, np.sqrt(squares_left), absolute_left])
        other_max[rows, exact_kind] = max_left
        other_squares[rows, exact_kind] = np.where(max_left > 0, squares_left, 0)

        present = other_max > 0
        sizes = np.where(present, other_max, 1.0)
        equal_terms = np.where(present, other_squares / sizes**2, 0.0)
        # Largest s, shape (combinations,): E e^(s R) must be finite, and s <= r/a.
        limits = np.where(present, rates / sizes, np.inf).min(axis=1) * (1 - BELOW_LIMIT)
        limits = np.minimum(exact_rate / exact_size * (1 - _BELOW_EXACT_LIMIT), limits)

        def radii_at(log_tilts: FloatVector) -> FloatVector:
            s = limits * np.exp(log_tilts)
            log_mgfs = self.log_mgf(rates, np.where(present, s[:, None] * sizes, 0.0))
            log_constants = _log_tail_constant(exact_rate, s * least_size)  # ln C(s)
            log_moments = log_constants + (equal_terms * log_mgfs).sum(axis=1)
            return np.asarray((math.log(2 / failure) + log_moments) / s)

        low, high = np.full(len(rows), _LEAST_COMBINATION_LOG_TILT), np.zeros(len(rows))
        log_tilts = golden_section(radii_at, low, high, COMBINATION_SEARCH_WIDTH)
        # Without R the best s is the limit itself, which the section approaches but never tries.
        radii = np.minimum(radii_at(log_tilts), radii_at(np.zeros(len(rows))))
        return np.where(squared_sums.sum(axis=1) > 0, np.maximum(radii, 0) * OUTWARD, 0.0)

    def unit_radius(self, parameters: FloatVector, log_failures: float) -> float:
        """Return 2 (log_failures + ln 4)/r for the smallest rate r.

        This is Chernoff's radius at s = r/2, where `log_mgf` is below ln 4.
        """
        return 2 * (log_failures + math.log(4.0)) / float(parameters.min())


@final
@_registered
class GaussianCounts(CountDistribution):
    """The discrete Gaussian distribution of parameter v: P(k) proportional to e^(-k^2/(2 v)).

    Its variance is at most v, and ln E e^(sX) is at most v s^2/2. Proof: completing the square
    gives E e^(sX) = e^(v s^2/2) S(v s)/S(0), where S(x) is the sum of e^(-(k - x)^2/(2 v)) over all
    whole k. S has period 1 and positive Fourier coefficients, so it is largest at x = 0.

    Privacy:
        Counts whose squared differences between neighbours add up to at most l2_squared are
        (l2_squared/(2 v))-zCDP (Theorem 4 of the source).

    Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020.
    """

    name = "gaussian"
    budget_exponent = 1
    pure = False

    def parameter(self, budget: Fraction, change: Change) -> Fraction:
        """Return v = l2_squared/(2 rho)."""
        _, l2_squared = change
        return l2_squared / (2 * budget)

    def loss(self, parameter: Fraction, change: Change) -> Fraction:
        """Return rho = l2_squared/(2 v)."""
        _, l2_squared = change
        return l2_squared / (2 * parameter)

    def draw(self, parameter: Fraction, size: int, source: EntropySource) -> IntVector:
        """Draw independent samples, shape (size,)."""
        return sample_discrete_gaussian(parameter, size, source)

    def variance(self, parameter: Fraction) -> float:
        """Return the bound v on the variance."""
        return float(parameter)

    def deviation(self, parameter: Fraction) -> float:
        """Return the bound sqrt(v) on the standard deviation."""
        return math.sqrt(parameter)

    def law(self, parameter: Fraction, unit: float) -> SubGaussian:
        """Return the law of the noise times `unit`."""
        return SubGaussian(float(parameter) * unit**2)

    def radius(self, parameter: Fraction, failure: float) -> int:
        """Return t with P(|noise| > t) <= failure, from the normal tail."""
        return discrete_gaussian_radius(math.sqrt(parameter), failure=failure)

    def log_mgf(self, parameters: FloatVector, s: FloatMatrix) -> FloatMatrix:
        """Return v s^2/2."""
        return np.asarray(parameters * s**2 / 2)

    def mgf_limits(self, parameters: FloatVector) -> FloatVector:
        """Return 2^20/deviation; the moments are finite beyond it, too."""
        return np.asarray(_LARGEST_GAUSSIAN_TILT / np.sqrt(parameters))

    def variance_factor(self, change: Change) -> float:
        """Return l2_squared: the variance is about l2_squared/(2 budget)."""
        _, l2_squared = change
        return float(l2_squared)

    def budget(self, epsilon: Fraction, *, delta: float) -> Fraction:
        """Return the largest rho for which rho-zCDP implies (epsilon, delta)-DP.

        Raises:
            ParameterError: delta is not between 0 and 1.
        """
        if not 0 < delta < 1:
            raise ParameterError("Gaussian noise needs a delta between 0 and 1, for example 1e-6")
        return Fraction(zcdp_rho(epsilon=as_stored(epsilon), delta=delta))

    def cost(self, loss: Fraction, *, delta: float) -> Cost:
        """Return the cost of a loss in rho, stated for a delta."""
        return Cost.of_rho(rounded_up(loss), delta=delta)

    def for_answers(
        self, *, epsilon: float, delta: float, queries: int, sensitivity: int
    ) -> Fraction:
        """Return v for k answers, from `discrete_gaussian_scale`.

        That is the scale sqrt(v) of noise on answers of sensitivity 1. It is rounded up by 1e-12,
        so that the delta which `cost_of_answers` computes from v is not above the one given here.
        """
        scale = discrete_gaussian_scale(epsilon=epsilon, delta=delta, queries=queries)
        return Fraction(scale * (1 + 1e-12)) ** 2 * sensitivity**2

    def cost_of_answers(
        self,
        parameter: Fraction,
        *,
        epsilon: float,
        delta: float,
        queries: int,
        sensitivity: int,
    ) -> Cost:
        """Return the cost of k answers: rho, and the smallest delta proven for this epsilon.

        rho is the sum over the answers. The stated pair of epsilon and delta is not the one that
        follows from rho for the given delta: `discrete_gaussian_delta` proves a smaller one.
        """
        composed = super().cost_of_answers(
            parameter, epsilon=epsilon, delta=delta, queries=queries, sensitivity=sensitivity
        )
        scale = math.sqrt(parameter) / sensitivity
        proven_delta = discrete_gaussian_delta(scale, epsilon=epsilon, queries=queries)
        return replace(composed, epsilon=epsilon, delta=proven_delta)

    def chernoff_radii(
        self,
        parameters: FloatVector,
        squared_sums: FloatMatrix,
        max_coefficients: FloatMatrix,  # noqa: ARG002
        log_failures: float,
        *,
        width: float = SEARCH_WIDTH,  # noqa: ARG002
    ) -> FloatVector:
        """Return Chernoff's radii in closed form: sqrt(2 log_failures sum_m v c_m^2)."""
        deviations = np.sqrt(squared_sums @ parameters)
        return np.asarray(deviations * math.sqrt(2 * log_failures) * OUTWARD)

    def combination_radii(
        self,
        parameters: FloatVector,
        squared_sums: FloatMatrix,
        max_coefficients: FloatMatrix,  # noqa: ARG002
        absolute_sums: FloatMatrix,
        failure: float,
        *,
        least_max_coefficients: FloatMatrix | None = None,  # noqa: ARG002
    ) -> FloatVector:
        """Return the smaller of two radii; see `CountDistribution.combination_radii`.

        1. Chernoff's radius.
        2. By Theorem "Discrete Gaussian noise beside normal noise", each noise X can be drawn
           together with a normal N of variance v such that X <= N + 1, except with a probability of
           about 2 e^(-2 pi^2 v). Such a joint draw is a *coupling*. So each tail of the sum is
           beyond z deviations plus sum |c_m| only if the normal sum is beyond z deviations, or a
           coupling fails. The failures of couplings are added up for `_MOST_TERMS` noises of each
           kind, and the rest of `failure` determines z. They are negligible from v = 3 on. If they
           are more than half of `failure`/2, only the first radius is used.
        """
        variances = squared_sums @ parameters  # of the sums, (combinations,)
        chernoff = np.sqrt(2 * variances * math.log(2 / failure))
        uncoupled = _MOST_TERMS * 2 * float(np.exp(-2 * math.pi**2 * parameters).sum())
        if uncoupled >= failure / 4:
            return np.asarray(chernoff * OUTWARD)
        quantile = -float(scipy.special.ndtri(failure / 2 - uncoupled))  # z
        coupled = np.sqrt(variances) * quantile + absolute_sums.sum(axis=1)
        return np.asarray(np.minimum(chernoff, coupled) * OUTWARD)

    def norm_radius(
        self,
        parameters: FloatVector,
        counts: FloatVector,
        coefficients: FloatVector,
        log_failures: float,
        log_tilt: float,  # noqa: ARG002
    ) -> float:
        """Return Chernoff's radius of one tail at the best s, in closed form."""
        deviation = math.sqrt(float((counts * parameters) @ coefficients**2))
        return deviation * math.sqrt(2 * log_failures)

    def unit_radius(self, parameters: FloatVector, log_failures: float) -> float:
        """Return a bound on both radii of a single noise, Chernoff's and z sqrt(v) + 1.

        z is at most sqrt(2 log_failures), by Chernoff's bound for the normal law.
        """
        return math.sqrt(2 * log_failures * float(parameters.max())) + 1

    def normal_quantile(self, parameters: FloatVector, failure: float) -> float:
        """Return z of the second radius of `combination_radii`, for `failure` of one tail.

        0 if failures of couplings are more than half of `failure`. The couplings of all kinds are
        counted like those of the kind with the smallest v, which fail most often.
        """
        smallest = float(parameters.min())
        uncoupled = _MOST_TERMS * 2 * len(parameters) * math.exp(-2 * math.pi**2 * smallest)
        return 0.0 if uncoupled >= failure / 2 else -float(scipy.special.ndtri(failure - uncoupled))


def _log_tail_constant(rate: FloatVector, tilt: FloatVector) -> FloatVector:
    """Return ln C of Theorem "One exact tail in a sum of Laplace noises", for tilt = s a <= rate.

    C is the largest h(i) = (1 - c e^(-r i)) e^(-s a i) over real i >= 0, with
    c = e^-r/(1 + e^-r) = 1/(1 + e^r). The derivative of ln h is 0 where
    c e^(-r i) = ratio = s a/(r + s a). There 1 - c e^(-r i) = r/(r + s a). If c <= ratio, ln h
    falls for all i > 0, and its largest value is h(0) = 1 - c = 1/(1 + e^-r).
    """
    ratio = tilt / (rate + tilt)
    c = 1 / (1 + np.exp(rate))
    stationary = np.log(np.maximum(c / ratio, 1.0)) / rate  # the i > 0 of derivative 0, if any
    log_at_stationary = np.log(rate / (rate + tilt)) - tilt * stationary
    log_at_zero = -np.log1p(np.exp(-rate))
    return np.where(c > ratio, log_at_stationary, log_at_zero)
