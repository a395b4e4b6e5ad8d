"""Integer noise on counts: its distributions, their privacy cost, and proven tail bounds.

Counts are whole numbers of *grid units*. Three types describe noise on them:

- `IntegerNoise` is the interface of any additive integer noise whose parameters are fixed: its
  cost, its law (`privacy.laws`), and exact samples.
- `CountDistribution` is a family of distributions with one exact parameter that is still open, such
  as the rate of a discrete Laplace distribution. Each family has a name, which options and files
  use; `COUNT_NOISES` lists them.
- `ValueNoise` is an `IntegerNoise`: the noise on one count, given by the name of a family and a
  parameter. `level_noise.LevelNoise` is the noise on groups of counts.

Theorems named in quotes are in docs/mathematics.md. Terms used here:

- A `Change` (l1, l2_squared) bounds by how much one privacy unit can change some counts: l1 is the
  largest sum of |difference| over these counts, l2_squared the largest sum of difference^2.
- The *loss* of noisy counts is their exact privacy cost, and a *budget* what it may be: epsilon for
  families with `pure`, else rho of zCDP.
- A *combination* is a sum of c_m X_m over independent noises X_m of one family, with public
  coefficients c_m. Noises of a combination with the same parameter form a *kind*. Tables of shape
  (combinations, kinds) hold a fact about the coefficients c_m of each kind in each combination.
- A *radius* is a t with P(|error| > t) <= failure. `log_failures` is ln(1/failure) > 0; most
  methods mean by it the failure of one of the two tails, and their docstrings say so.
- s is the argument of a moment generating function E e^(sX), also called the *tilt*. Chernoff's
  bound P(X > t) <= e^(-s t) E e^(sX) holds for every s > 0, so a search for the best s may be
  inexact.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeVar, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, as_stored, rounded_up, zcdp_rho
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.laws import NoiseLaw, SubGaussian, TwoSidedGeometric
from graphcuts_dp.privacy.noise import sample_discrete_gaussian, sample_discrete_laplace
from graphcuts_dp.privacy.noise_scales import discrete_gaussian_delta, discrete_gaussian_scale
from graphcuts_dp.privacy.noise_sums import chernoff_radius

Change = tuple[int, int]  # (l1, l2_squared), in grid units and squared grid units
Family = TypeVar("Family", bound="type[CountDistribution]")

# The families by name, filled by `_registered`. The names stand in files and in options.
COUNT_NOISES: "dict[str, CountDistribution]" = {}

# Width of ln s at which a search for Chernoff's best s ends. The bound changes by the square of
# this, so it is within 1e-6 of the best. There are far more combinations than answers, so their
# search ends earlier.
_SEARCH_WIDTH = 1e-3
_COMBINATION_SEARCH_WIDTH = 2e-3
_GOLDEN = 0.382, 0.618  # points of a golden section, as shares of the interval
# Searches for s begin at e^-12 of its limit, those of `LaplaceCounts.combination_radii` at e^-8.
_LEAST_LOG_TILT = -12.0
_LEAST_COMBINATION_LOG_TILT = -8.0
_BELOW_LIMIT = 1e-6  # relative distance that s keeps from the limit at which `log_mgf` is infinite
# The exact term of `LaplaceCounts.combination_radii` allows s up to its limit r/a; this relative
# distance keeps rounding from passing it.
_BELOW_EXACT_LIMIT = 1e-12
_OUTWARD = 1 + 1e-9  # factor of every radius: more than its floats can lose
_MOST_TERMS = 2**40  # largest number of independent noises in one combination
# Keeps ln E e^(sX) of Laplace noise finite at its pole. Searches stay `_BELOW_LIMIT` away from it.
_LARGEST_LIFT = 1 - 1e-12
# E e^(sX) of Gaussian noise is finite for all s. Searches stop at 2^20/deviation, more than the
# best s of any combination.
_LARGEST_GAUSSIAN_TILT = 2.0**20


class IntegerNoise(ABC):
    """Additive integer noise with fixed parameters: its cost, its law, and exact samples."""

    @abstractmethod
    def cost(self, sensitivity: int, *, delta: float = 0.0) -> Cost:
        """Return the privacy cost of one noisy count.

        Args:
            sensitivity: largest change of the true count between neighbours, in grid units.
            delta: in [0, 1); a cost that is not pure is stated for this delta.
        """

    @abstractmethod
    def law(self, unit: float) -> NoiseLaw:
        """Return the law of the noise times `unit`, the value of one grid unit."""

    @abstractmethod
    def draw_many(self, size: int, source: EntropySource) -> IntVector:
        """Draw independent samples, in grid units, shape (size,).

        Args:
            size: number of samples.
            source: where the noise comes from.
        """

    def draw(self, source: EntropySource) -> int:
        """Draw one sample, in grid units.

        Args:
            source: where the noise comes from.
        """
        return int(self.draw_many(1, source)[0])

    @property
    def deviation(self) -> float:
        """The standard deviation, or an upper bound on it, in grid units."""
        return math.sqrt(self.law(1.0).variance)

    def radius(self, failure: float) -> int:
        """Return t, in grid units, with P(|noise| > t) <= failure, by Chernoff's bound.

        Args:
            failure: in (0, 1).
        """
        single_noise = (self.law(1.0), 1.0, 1)  # law, coefficient, number of such noises
        return math.floor(chernoff_radius([single_noise], -math.log(failure)))


class CountDistribution(ABC):
    """A named family of integer distributions with one exact parameter > 0.

    A new family is a subclass under `@_registered` in this file. The abstract methods are enough:
    the other methods then bound tails by Chernoff's method.

    Invariants: `loss(parameter(budget, change), change)` is exactly the budget, in fractions, since
    releases state their cost by `loss`. Every radius and moment is an upper bound; callers print
    them as proven.
    """

    name: ClassVar[str]  # in options and files
    budget_exponent: ClassVar[int]  # the variance is about proportional to 1/budget^budget_exponent
    pure: ClassVar[bool]  # budgets and losses are pure epsilons if true, else rho of zCDP

    @abstractmethod
    def parameter(self, budget: Fraction, change: Change) -> Fraction:
        """Return the parameter with which counts of this change lose exactly the budget."""

    @abstractmethod
    def loss(self, parameter: Fraction, change: Change) -> Fraction:
        """Return the exact privacy loss of counts of this change; the inverse of `parameter`."""

    @abstractmethod
    def draw(self, parameter: Fraction, size: int, source: EntropySource) -> IntVector:
        """Draw independent samples, shape (size,)."""

    @abstractmethod
    def variance(self, parameter: Fraction) -> float:
        """Return the variance of one sample, or an upper bound on it, in squared grid units."""

    @abstractmethod
    def law(self, parameter: Fraction, unit: float) -> NoiseLaw:
        """Return the law of the noise times `unit`, the value of one grid unit."""

    @abstractmethod
    def radius(self, parameter: Fraction, failure: float) -> int:
        """Return t with P(|noise| > t) <= failure for one sample, in grid units, proven."""

    @abstractmethod
    def log_mgf(self, parameters: FloatVector, s: FloatMatrix) -> FloatMatrix:
        """Return upper bounds f(s) on ln E e^(sX); f is even, f(0) = 0, and f is convex in s^2.

        Args:
            parameters: one for each kind of noise, shape (kinds,).
            s: in 0..`mgf_limits`, shape (..., kinds).
        """

    @abstractmethod
    def mgf_limits(self, parameters: FloatVector) -> FloatVector:
        """Return finite limits of s below which `log_mgf` is finite, shape of the parameters."""

    @abstractmethod
    def variance_factor(self, change: Change) -> float:
        """Return a factor: the variance for this change is about factor/budget^budget_exponent.

        Only ratios of factors are used, so a constant that is the same for all changes is left out.
        """

    def budget(self, epsilon: Fraction, *, delta: float) -> Fraction:  # noqa: ARG002
        """Return the budget that (epsilon, delta) allows, in the currency of `parameter`.

        The default is for pure noise: epsilon.
        """
        return epsilon

    def cost(self, loss: Fraction, *, delta: float) -> Cost:  # noqa: ARG002
        """Return the cost of a loss, which may be a sum of losses.

        The default is for pure noise.
        """
        return Cost.of_pure(loss)

    def for_answers(
        self, *, epsilon: float, delta: float, queries: int, sensitivity: int
    ) -> Fraction:
        """Return the parameter with which k noisy answers are (epsilon, delta)-DP together.

        Args:
            epsilon: of all answers together.
            delta: of all answers together, in [0, 1).
            queries: k; each may be chosen after the answers before it.
            sensitivity: largest change of one answer, in grid units.
        """
        budget = self.budget(Fraction(epsilon), delta=delta) / queries
        return self.parameter(budget, (sensitivity, sensitivity**2))

    def cost_of_answers(
        self,
        parameter: Fraction,
        *,
        epsilon: float,  # noqa: ARG002
        delta: float,
        queries: int,
        sensitivity: int,
    ) -> Cost:
        """Return the cost of k noisy answers together; see `for_answers`.

        Args:
            parameter: of the noise on each answer.
            epsilon: for which a family may state the smallest delta that it can prove.
            delta: for which a cost that is not pure is stated.
            queries: k.
            sensitivity: largest change of one answer, in grid units.
        """
        loss = self.loss(parameter, (sensitivity, sensitivity**2))
        return self.cost(loss, delta=delta).times(queries)

    def deviation(self, parameter: Fraction) -> float:
        """Return an upper bound on the standard deviation of one sample, in grid units."""
        return math.sqrt(self.variance(parameter))

    def chernoff_radii(
        self,
        parameters: FloatVector,
        squared_sums: FloatMatrix,
        max_coefficients: FloatMatrix,
        log_failures: float,
        *,
        width: float = _SEARCH_WIDTH,
    ) -> FloatVector:
        """Return radii t with P(|sum| > t) <= 2 e^-log_failures, shape (combinations,).

        Chernoff: t = (sum over kinds of F(s) + log_failures)/s for the best s. The noises of one
        kind, with coefficients c_m and w the largest |c_m|, contribute

            F(s) = sum_m f(s c_m) <= f(s w) sum_m c_m^2/w^2.

        Here f = `log_mgf` is convex in s^2 and 0 at s = 0, so f(s c_m) <= (c_m/w)^2 f(s w). The
        bound is that of sum_m c_m^2/w^2 noises which all have the coefficient w.

        Args:
            parameters: one for each kind of noise, shape (kinds,).
            squared_sums: sums of c_m^2, shape (combinations, kinds).
            max_coefficients: w for each combination and kind, shape (combinations, kinds); 0 if a
                combination has no noise of a kind.
            log_failures: ln(1/failure) of *one* tail, > 0.
            width: of ln s at which the search for the best s ends.
        """
        present = max_coefficients > 0
        sizes = np.where(present, max_coefficients, 1.0)
        # The number of noises of coefficient w in the bound, (combinations, kinds).
        equal_terms = np.where(present, squared_sums / sizes**2, 0.0)
        limits = np.where(present, self.mgf_limits(parameters) / sizes, np.inf).min(axis=1)
        nonzero = np.isfinite(limits)  # combinations that have any noise
        limits = np.where(nonzero, limits, 1.0)

        def radii_at(log_tilts: FloatVector) -> FloatVector:
            s = limits * np.exp(log_tilts)
            log_mgfs = self.log_mgf(parameters, np.where(present, s[:, None] * sizes, 0.0))
            return np.asarray(((equal_terms * log_mgfs).sum(axis=1) + log_failures) / s)

        # ln(s/limit) from -12 to about ln(1 - _BELOW_LIMIT).
        low, high = np.full(len(limits), _LEAST_LOG_TILT), np.full(len(limits), -_BELOW_LIMIT)
        radii = radii_at(_golden_section(radii_at, low, high, width))
        return np.where(nonzero, radii * _OUTWARD, 0.0)

    def combination_radii(
        self,
        parameters: FloatVector,
        squared_sums: FloatMatrix,
        max_coefficients: FloatMatrix,
        absolute_sums: FloatMatrix,  # noqa: ARG002
        failure: float,
        *,
        least_max_coefficients: FloatMatrix | None = None,  # noqa: ARG002
    ) -> FloatVector:
        """Return radii t with P(|sum| > t) <= failure, proven, shape (combinations,).

        A family may do better than Chernoff's bound, which is the default.

        Args:
            parameters: one for each kind of noise, shape (kinds,).
            squared_sums: as for `chernoff_radii`.
            max_coefficients: as for `chernoff_radii`.
            absolute_sums: sums of |c_m|, shape (combinations, kinds).
            failure: probability of both tails, for each combination, in (0, 1).
            least_max_coefficients: lower bounds on the largest |c_m|, where `max_coefficients` are
                upper bounds, same shape; None where those are the largest |c_m| themselves.
        """
        log_failures = math.log(2 / failure)
        return self.chernoff_radii(
            parameters,
            squared_sums,
            max_coefficients,
            log_failures,
            width=_COMBINATION_SEARCH_WIDTH,
        )

    def norm_radius(
        self,
        parameters: FloatVector,
        counts: FloatVector,
        coefficients: FloatVector,
        log_failures: float,
        log_tilt: float,
    ) -> float:
        """Return Chernoff's radius of one tail, at one s, for one combination.

        The infimum of this radius over all s is a norm of the vector of coefficients, so it obeys
        the triangle inequality. `estimate.tails` relies on that: it rounds coefficients, and adds
        the radius of the combination that rounding removed. Overrides must keep it.

        Args:
            parameters: one for each kind of noise, shape (kinds,).
            counts: number of noises of each kind, shape (kinds,).
            coefficients: one for all noises of a kind, not all 0, shape (kinds,).
            log_failures: ln(1/failure) of one tail.
            log_tilt: ln(s/largest allowed s), < 0; every one gives a valid radius.
        """
        sizes = np.abs(coefficients)
        with np.errstate(divide="ignore", over="ignore"):
            s = float((self.mgf_limits(parameters) / sizes).min()) * math.exp(log_tilt)
        if not 0 < s < math.inf:
            return math.inf
        return float((log_failures + counts @ self.log_mgf(parameters, s * sizes)) / s)

    def unit_radius(self, parameters: FloatVector, log_failures: float) -> float:
        """Return a bound on `norm_radius` of one noise with coefficient 1, whichever its kind is.

        Args:
            parameters: one for each kind of noise, shape (kinds,).
            log_failures: as for `norm_radius`.
        """
        one = np.ones(1)
        # The radius of each kind at half of its largest s, which is valid as any s is.
        return max(
            self.norm_radius(parameters[i : i + 1], one, one, log_failures, math.log(0.5))
            for i in range(len(parameters))
        )

    def normal_quantile(
        self,
        parameters: FloatVector,  # noqa: ARG002
        failure: float,  # noqa: ARG002
    ) -> float:
        """Return z with P(sum of c_m X_m > z sqrt(sum v_m c_m^2) + sum |c_m|) <= failure.

        v_m is the variance parameter of X_m. 0, the default, means that no such z is known:
        `estimate.tails`, which takes the smaller one of this radius and `norm_radius`, then uses
        the latter only.
        """
        return 0.0


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
        limits = np.where(present, rates / sizes, np.inf).min(axis=1) * (1 - _BELOW_LIMIT)
        limits = np.minimum(exact_rate / exact_size * (1 - _BELOW_EXACT_LIMIT), limits)

        def radii_at(log_tilts: FloatVector) -> FloatVector:
            s = limits * np.exp(log_tilts)
            log_mgfs = self.log_mgf(rates, np.where(present, s[:, None] * sizes, 0.0))
            log_constants = _log_tail_constant(exact_rate, s * least_size)  # ln C(s)
            log_moments = log_constants + (equal_terms * log_mgfs).sum(axis=1)
            return np.asarray((math.log(2 / failure) + log_moments) / s)

        low, high = np.full(len(rows), _LEAST_COMBINATION_LOG_TILT), np.zeros(len(rows))
        log_tilts = _golden_section(radii_at, low, high, _COMBINATION_SEARCH_WIDTH)
        # Without R the best s is the limit itself, which the section approaches but never tries.
        radii = np.minimum(radii_at(log_tilts), radii_at(np.zeros(len(rows))))
        return np.where(squared_sums.sum(axis=1) > 0, np.maximum(radii, 0) * _OUTWARD, 0.0)

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
        width: float = _SEARCH_WIDTH,  # noqa: ARG002
    ) -> FloatVector:
        """Return Chernoff's radii in closed form: sqrt(2 log_failures sum_m v c_m^2)."""
        deviations = np.sqrt(squared_sums @ parameters)
        return np.asarray(deviations * math.sqrt(2 * log_failures) * _OUTWARD)

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
            return np.asarray(chernoff * _OUTWARD)
        quantile = -float(scipy.special.ndtri(failure / 2 - uncoupled))  # z
        coupled = np.sqrt(variances) * quantile + absolute_sums.sum(axis=1)
        return np.asarray(np.minimum(chernoff, coupled) * _OUTWARD)

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


def _golden_section(
    function: Callable[[FloatVector], FloatVector],
    low: FloatVector,
    high: FloatVector,
    width: float,
) -> FloatVector:
    """Return nearly the arguments in low..high at which each component of a function is least.

    All components are searched at once, shape (combinations,); component i of the result depends
    only on component i of the arguments, and has one valley. The functions here are radii that hold
    at every argument, so an inexact minimum only makes a radius wider.
    """
    while (high - low).max(initial=0) > width:
        left, right = low + (high - low) * _GOLDEN[0], low + (high - low) * _GOLDEN[1]
        right_is_lower = function(left) > function(right)
        low, high = np.where(right_is_lower, left, low), np.where(right_is_lower, high, right)
    return np.asarray((low + high) / 2)


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
