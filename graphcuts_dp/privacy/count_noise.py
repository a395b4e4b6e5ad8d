"""Integer noise on counts: what it costs, how far it reaches, and how it is drawn.

`IntegerNoise` is the interface of all additive integer noise, on counts and on entries. On counts,
noise has a name and one exact parameter; what a name means, `COUNT_NOISES` says: a class for each
name, and a line of that table. `ValueNoise` is the noise on one count, `level_noise.LevelNoise`
that on groups of them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import (
    Cost,
    as_stored,
    discrete_gaussian_delta,
    discrete_gaussian_scale,
    rounded_up,
    zcdp_rho,
)
from graphcuts_dp.privacy.laws import NoiseLaw, SubGaussian, TwoSidedGeometric, chernoff_radius
from graphcuts_dp.privacy.noise import (
    EntropySource,
    sample_discrete_gaussian,
    sample_discrete_laplace,
)

Change = tuple[int, int]  # largest sums of |change| and of change^2 of some counts
_SEARCH = 1e-3  # relative width at which the search for the best tail bound ends
_FINE_SEARCH = 2e-3  # likewise, for combinations of counts
_MOST_TERMS = 2**40  # independent noises in one combination, at most


class IntegerNoise(ABC):
    """Additive integer noise: its cost, its law, and exact samples of it."""

    @abstractmethod
    def cost(self, sensitivity: int, *, delta: float = 0.0) -> Cost:
        """Return the cost of one noisy count, whose true value changes by at most so many steps.

        Args:
            sensitivity: largest change between neighbours, in steps.
            delta: for which a cost is stated that is not pure, in [0, 1).
        """

    @abstractmethod
    def law(self, unit: float) -> NoiseLaw:
        """Return the law of the noise times `unit`."""

    @abstractmethod
    def draw_many(self, size: int, source: EntropySource) -> IntVector:
        """Draw independent samples, in steps, shape (size,)."""

    def draw(self, source: EntropySource) -> int:
        """Draw one sample, in steps."""
        return int(self.draw_many(1, source)[0])

    @property
    def deviation(self) -> float:
        """A bound on the standard deviation, in steps."""
        return math.sqrt(self.law(1.0).variance)

    def radius(self, failure: float) -> int:
        """Return t, in steps, with P(|noise| > t) <= failure, proven (Chernoff)."""
        return math.floor(chernoff_radius([(self.law(1.0), 1.0, 1)], -math.log(failure)))


class CountDistribution(ABC):
    """What the name of a noise on counts means. Parameters are exact and > 0.

    A class for each name. Where it only gives the abstract methods, intervals are Chernoff's.
    """

    name: ClassVar[str]
    power: ClassVar[int]
    """The variance is proportional to 1/budget^power."""
    pure: ClassVar[bool]
    """Whether budgets and losses are pure epsilons; else they are zCDP's rho."""

    @abstractmethod
    def parameter(self, budget: Fraction, change: Change) -> Fraction:
        """Return the parameter with which counts of this change lose exactly the budget."""

    @abstractmethod
    def loss(self, parameter: Fraction, change: Change) -> Fraction:
        """Return the privacy loss of counts of this change, exactly; the inverse of `parameter`."""

    @abstractmethod
    def draw(self, parameter: Fraction, size: int, source: EntropySource) -> IntVector:
        """Draw independent samples, shape (size,)."""

    @abstractmethod
    def variance(self, parameter: Fraction) -> float:
        """Return a bound on the variance of one sample, in squared steps."""

    @abstractmethod
    def law(self, parameter: Fraction, unit: float) -> NoiseLaw:
        """Return the law of the noise times `unit`."""

    @abstractmethod
    def radius(self, parameter: Fraction, failure: float) -> int:
        """Return t with P(|noise| > t) <= failure, proven."""

    @abstractmethod
    def log_mgf(self, parameters: FloatVector, s: FloatMatrix) -> FloatMatrix:
        """Return bounds f(s) on ln E e^(s X): even, 0 at 0, and convex in s^2.

        Args:
            parameters: shape (p,).
            s: below `ends`, shape (..., p).
        """

    @abstractmethod
    def ends(self, parameters: FloatVector) -> FloatVector:
        """Return finite numbers below which `log_mgf` is finite, shape of the parameters."""

    @abstractmethod
    def scale(self, change: Change) -> float:
        """Return c where the variance is about c/budget^power, up to a factor for all changes."""

    def budget(self, epsilon: Fraction, *, delta: float) -> Fraction:  # noqa: ARG002
        """Return what (epsilon, delta) allows, as `parameter` takes it: here epsilon itself."""
        return epsilon

    def cost(self, loss: Fraction, *, delta: float) -> Cost:  # noqa: ARG002
        """Return the cost of a loss, which may be a sum: here a pure one."""
        return Cost.of_pure(loss)

    def for_answers(
        self, *, epsilon: float, delta: float, queries: int, sensitivity: int
    ) -> Fraction:
        """Return the parameter of each of k answers that keep (epsilon, delta) together.

        Args:
            epsilon: of all answers.
            delta: likewise.
            queries: k, chosen one after the other.
            sensitivity: largest change of an answer, in steps.
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
        """Return what k answers with this parameter cost together; see `for_answers`."""
        loss = self.loss(parameter, (sensitivity, sensitivity**2))
        return self.cost(loss, delta=delta).times(queries)

    def deviation(self, parameter: Fraction) -> float:
        """Return a bound on the standard deviation of one sample, in steps."""
        return math.sqrt(self.variance(parameter))

    def chernoff_radii(
        self,
        parameters: FloatVector,
        squares: FloatMatrix,
        largest: FloatMatrix,
        log_failures: float,
        *,
        search: float = _SEARCH,
    ) -> FloatVector:
        """Return half widths t by Chernoff's method: P(|sum| > t) <= 2 e^-log_failures, for each.

        f = `log_mgf` is convex in s^2 and 0 at 0, so that sum_m f(s w_m) <= f(s w)/w^2 sum_m w_m^2,
        w being the largest |w_m| of a parameter.

        Args:
            parameters: shape (p,).
            squares: sum of the squared coefficients of the noises of each parameter, shape (a, p).
            largest: the largest absolute coefficient, likewise.
            log_failures: of each answer, and of one side.
            search: relative width at which the search ends.
        """
        used = largest > 0
        size = np.where(used, largest, 1.0)
        counts = np.where(used, squares / size**2, 0.0)
        limit = np.where(used, self.ends(parameters) / size, np.inf).min(axis=1)
        finite = np.isfinite(limit)
        limit = np.where(finite, limit, 1.0)

        def bound(log_part: FloatVector) -> FloatVector:
            s = limit * np.exp(log_part)
            logs = self.log_mgf(parameters, np.where(used, s[:, None] * size, 0.0))
            return np.asarray(((counts * logs).sum(axis=1) + log_failures) / s)

        low, high = np.full(len(limit), -12.0), np.full(len(limit), -1e-6)
        # Every s is valid, so an inexact minimum only widens the bound; it has one valley.
        while (high - low).max(initial=0) > search:
            left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
            worse = bound(left) > bound(right)
            low, high = np.where(worse, left, low), np.where(worse, high, right)
        return np.where(finite, bound((low + high) / 2) * (1 + 1e-9), 0.0)

    def combination_radii(
        self,
        parameters: FloatVector,
        squares: FloatMatrix,
        largest: FloatMatrix,
        absolute: FloatMatrix,  # noqa: ARG002
        failure: float,
    ) -> FloatVector:
        """Return half widths t with P(|sum| > t) <= failure for each combination, proven.

        Args:
            parameters: shape (p,).
            squares: as for `chernoff_radii`.
            largest: likewise.
            absolute: sum of the absolute coefficients, likewise.
            failure: of each combination, in (0, 1).
        """
        logs = math.log(2 / failure)
        return self.chernoff_radii(parameters, squares, largest, logs, search=_FINE_SEARCH)

    def norm_radius(
        self,
        parameters: FloatVector,
        counts: FloatVector,
        coefficients: FloatVector,
        log_failures: float,
        log_part: float,
    ) -> float:
        """Return Chernoff's half width of one side for one combination of noises.

        Its infimum over all `log_part` is a norm of the coefficients.

        Args:
            parameters: of each kind of noise, shape (p,).
            counts: how many noises there are of each kind.
            coefficients: of each kind, not all 0.
            log_failures: ln of 1 over the failure probability.
            log_part: logarithm of s over the largest s that is allowed, < 0; all are valid.
        """
        sizes = np.abs(coefficients)
        with np.errstate(divide="ignore", over="ignore"):
            s = float((self.ends(parameters) / sizes).min()) * math.exp(log_part)
        if not 0 < s < math.inf:
            return math.inf
        return float((log_failures + counts @ self.log_mgf(parameters, s * sizes)) / s)

    def unit_radius(self, parameters: FloatVector, log_failures: float) -> float:
        """Return a bound on `norm_radius` of one noise of the widest parameter."""
        one = np.ones(1)
        return max(
            self.norm_radius(parameters[i : i + 1], one, one, log_failures, math.log(0.5))
            for i in range(len(parameters))
        )

    def normal_quantile(
        self,
        parameters: FloatVector,  # noqa: ARG002
        failure: float,  # noqa: ARG002
    ) -> float:
        """Return z with P(sum > z sqrt(sum variance w^2) + sum |w|) <= failure; 0 if not known."""
        return 0.0


@final
class LaplaceCounts(CountDistribution):
    """P(k) proportional to e^(-r |k|): the discrete Laplace distribution of rate r.

    Guarantee: counts whose changes add up to s steps in modulus lose s r, purely and exactly.
    Source: Ghosh, Roughgarden, Sundararajan 2009.
    """

    name = "laplace"
    power = 2
    pure = True

    def parameter(self, budget: Fraction, change: Change) -> Fraction:
        """See `CountDistribution.parameter`: the rate budget/s."""
        return budget / change[0]

    def loss(self, parameter: Fraction, change: Change) -> Fraction:
        """See `CountDistribution.loss`: s r."""
        return parameter * change[0]

    def draw(self, parameter: Fraction, size: int, source: EntropySource) -> IntVector:
        """See `CountDistribution.draw`."""
        return sample_discrete_laplace(parameter, size, source)

    def variance(self, parameter: Fraction) -> float:
        """See `CountDistribution.variance`: exactly 1/(2 sinh(r/2)^2)."""
        return 0.5 / math.sinh(parameter / 2) ** 2

    def deviation(self, parameter: Fraction) -> float:
        """See `CountDistribution.deviation`: that of real noise, which is larger."""
        return math.sqrt(2) / float(parameter)

    def law(self, parameter: Fraction, unit: float) -> TwoSidedGeometric:
        """See `CountDistribution.law`."""
        return TwoSidedGeometric(float(parameter), unit)

    def radius(self, parameter: Fraction, failure: float) -> int:
        """See `CountDistribution.radius`: the least one."""
        return discrete_laplace_radius(float(parameter), failure=failure)

    def log_mgf(self, parameters: FloatVector, s: FloatMatrix) -> FloatMatrix:
        """See `CountDistribution.log_mgf`: ln((cosh r - 1)/(cosh r - cosh s))."""
        lift = (np.sinh(s / 2) / np.sinh(parameters / 2)) ** 2
        return np.asarray(-np.log1p(-np.minimum(lift, 1 - 1e-12)))

    def scale(self, change: Change) -> float:
        """See `CountDistribution.scale`: s^2, up to a factor."""
        return float(change[0]) ** 2

    def ends(self, parameters: FloatVector) -> FloatVector:
        """See `CountDistribution.ends`: the rates."""
        return parameters

    def combination_radii(
        self,
        parameters: FloatVector,
        squares: FloatMatrix,
        largest: FloatMatrix,
        absolute: FloatMatrix,
        failure: float,
    ) -> FloatVector:
        """See `CountDistribution.combination_radii`: Chernoff's bound for all noises but one.

        Let a X be the term of the largest coefficient of the parameter r where r/largest is least,
        and R the rest, independent of it. For every s in (0, r/a],
        P(a X > y) <= C e^(-s y) for all real y, C being the largest P(X >= j) e^(s a j) over whole
        j; so P(a X + R > t) <= C e^(-s t) E[e^(s R)]. With i = -j >= 0 the product is
        (1 - c e^(-r i)) e^(-s a i), c = e^-r/(1 + e^-r), of which C takes the largest over
        real i >= 0; for j >= 1 it falls. Where there is no R, s = r/a gives the exact tail;
        Chernoff's bound has E[e^(s a X)] in the place of C, infinite there. Of R, as in
        `chernoff_radii`.
        """
        rates = parameters
        rows = np.arange(len(squares))
        with np.errstate(divide="ignore"):
            first = np.argmin(rates / largest, axis=1)
        size, rate = largest[rows, first], rates[first]
        size = np.where(size > 0, size, 1.0)
        rest, widest = squares.copy(), largest.copy()
        rest[rows, first] = np.maximum(rest[rows, first] - size**2, 0)
        beside = np.maximum(absolute[rows, first] - size, 0)
        widest[rows, first] = np.minimum.reduce([size, np.sqrt(rest[rows, first]), beside])
        rest[rows, first] = np.where(widest[rows, first] > 0, rest[rows, first], 0)
        used = widest > 0
        width = np.where(used, widest, 1.0)
        counts = np.where(used, rest / width**2, 0.0)
        ends = np.where(used, rates / width, np.inf).min(axis=1) * (1 - 1e-6)
        top = np.minimum(rate / size * (1 - 1e-12), ends)

        def bound(log_part: FloatVector) -> FloatVector:
            s = top * np.exp(log_part)
            logs = self.log_mgf(rates, np.where(used, s[:, None] * width, 0.0))
            excess = _log_excess(rate, s * size) + (counts * logs).sum(axis=1)
            return np.asarray((math.log(2 / failure) + excess) / s)

        low, high = np.full(len(rows), -8.0), np.zeros(len(rows))
        # Every s is valid, so an inexact minimum only widens the bound.
        while (high - low).max(initial=0) > _FINE_SEARCH:
            left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
            worse = bound(left) > bound(right)
            low, high = np.where(worse, left, low), np.where(worse, high, right)
        best = np.minimum(bound((low + high) / 2), bound(np.zeros(len(rows))))
        return np.where(squares.sum(axis=1) > 0, np.maximum(best, 0) * (1 + 1e-9), 0.0)

    def unit_radius(self, parameters: FloatVector, log_failures: float) -> float:
        """See `CountDistribution.unit_radius`: `log_mgf` at half of the rate is below ln 4."""
        return 2 * (log_failures + math.log(4.0)) / float(parameters.min())


def _log_excess(rate: FloatVector, tilt: FloatVector) -> FloatVector:
    """Return ln C of `LaplaceCounts.combination_radii`, for tilt = s a <= rate."""
    ratio = tilt / (rate + tilt)
    share = 1 / (1 + np.exp(rate))  # c
    steps = np.log(np.maximum(share / ratio, 1.0)) / rate
    turned = np.log(rate / (rate + tilt)) - tilt * steps
    return np.where(share > ratio, turned, -np.log1p(np.exp(-rate)))


@final
class GaussianCounts(CountDistribution):
    """P(k) proportional to e^(-k^2/(2 v)): the discrete Gaussian distribution of parameter v.

    Its variance is at most v. The logarithm of its moment generating function is at most v s^2/2:
    the sum over integers of e^(-(k - a)^2/(2 v)) is largest for a = 0, its Fourier transform being
    positive.

    Guarantee: counts whose squared changes add up to q lose q/(2 v) in zCDP, exactly.
    Source: Canonne, Kamath, Steinke 2020, Theorem 4.
    """

    name = "gaussian"
    power = 1
    pure = False

    def parameter(self, budget: Fraction, change: Change) -> Fraction:
        """See `CountDistribution.parameter`: v = q/(2 rho)."""
        return change[1] / (2 * budget)

    def loss(self, parameter: Fraction, change: Change) -> Fraction:
        """See `CountDistribution.loss`: q/(2 v)."""
        return change[1] / (2 * parameter)

    def draw(self, parameter: Fraction, size: int, source: EntropySource) -> IntVector:
        """See `CountDistribution.draw`."""
        return sample_discrete_gaussian(parameter, size, source)

    def variance(self, parameter: Fraction) -> float:
        """See `CountDistribution.variance`: v."""
        return float(parameter)

    def deviation(self, parameter: Fraction) -> float:
        """See `CountDistribution.deviation`."""
        return math.sqrt(parameter)

    def law(self, parameter: Fraction, unit: float) -> SubGaussian:
        """See `CountDistribution.law`."""
        return SubGaussian(float(parameter) * unit**2)

    def radius(self, parameter: Fraction, failure: float) -> int:
        """See `CountDistribution.radius`."""
        return discrete_gaussian_radius(math.sqrt(parameter), failure=failure)

    def log_mgf(self, parameters: FloatVector, s: FloatMatrix) -> FloatMatrix:
        """See `CountDistribution.log_mgf`: v s^2/2."""
        return np.asarray(parameters * s**2 / 2)

    def scale(self, change: Change) -> float:
        """See `CountDistribution.scale`: q, up to a factor."""
        return float(change[1])

    def ends(self, parameters: FloatVector) -> FloatVector:
        """See `CountDistribution.ends`: no sum asks for more than this."""
        return np.asarray(2.0**20 / np.sqrt(parameters))

    def budget(self, epsilon: Fraction, *, delta: float) -> Fraction:
        """See `CountDistribution.budget`: the largest rho with which it holds.

        Raises:
            ParameterError: a delta that is not between 0 and 1.
        """
        if not 0 < delta < 1:
            raise ParameterError("Gaussian noise needs a delta between 0 and 1, for example 1e-6")
        return Fraction(zcdp_rho(epsilon=as_stored(epsilon), delta=delta))

    def cost(self, loss: Fraction, *, delta: float) -> Cost:
        """See `CountDistribution.cost`: rho, stated for a delta."""
        return Cost.of_rho(rounded_up(loss), delta=delta)

    def for_answers(
        self, *, epsilon: float, delta: float, queries: int, sensitivity: int
    ) -> Fraction:
        """See `CountDistribution.for_answers`: by `discrete_gaussian_scale`."""
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
        """See `CountDistribution.cost_of_answers`: with the delta of this epsilon."""
        plain = super().cost_of_answers(
            parameter, epsilon=epsilon, delta=delta, queries=queries, sensitivity=sensitivity
        )
        scale = math.sqrt(parameter) / sensitivity
        own = discrete_gaussian_delta(scale, epsilon=epsilon, queries=queries)
        return replace(plain, epsilon=epsilon, delta=own)

    def chernoff_radii(
        self,
        parameters: FloatVector,
        squares: FloatMatrix,
        largest: FloatMatrix,  # noqa: ARG002
        log_failures: float,
        *,
        search: float = _SEARCH,  # noqa: ARG002
    ) -> FloatVector:
        """See `CountDistribution.chernoff_radii`: in closed form."""
        return np.asarray(np.sqrt(squares @ parameters) * math.sqrt(2 * log_failures) * (1 + 1e-9))

    def combination_radii(
        self,
        parameters: FloatVector,
        squares: FloatMatrix,
        largest: FloatMatrix,  # noqa: ARG002
        absolute: FloatMatrix,
        failure: float,
    ) -> FloatVector:
        """See `CountDistribution.combination_radii`: the smaller of two bounds.

        1. Chernoff's.
        2. N being normal of variance v, P(X >= j) <= P(N + 1 >= j) + e for all whole j, where
           e = 2 e^(-2 pi^2 v)/(1 - e^(-2 pi^2 v)): with g(k) = e^(-k^2/(2 v)), sums over integers
           lie between integrals of the falling g, and its sum over all integers is between
           sqrt(2 pi v) and (1 + e) times that (Poisson). So X and N can be coupled with
           P(X > N + 1) <= e (Strassen), likewise -X, and a sum of c_m X_m passes t only if that of
           c_m N_m passes t - sum |c_m|, or one of the couplings fails.

        The number of terms is at most (sum |c|)^2/sum c^2 only where they are equal; here the
        couplings of at most 2^40 terms are paid for, which costs nothing from v = 3 on.
        """
        total = squares @ parameters
        plain = np.sqrt(2 * total * math.log(2 / failure))
        missed = _MOST_TERMS * 2 * float(np.exp(-2 * math.pi**2 * parameters).sum())
        if missed >= failure / 4:
            return np.asarray(plain * (1 + 1e-9))
        quantile = -float(scipy.special.ndtri(failure / 2 - missed))
        shifted = np.sqrt(total) * quantile + absolute.sum(axis=1)
        return np.asarray(np.minimum(plain, shifted) * (1 + 1e-9))

    def norm_radius(
        self,
        parameters: FloatVector,
        counts: FloatVector,
        coefficients: FloatVector,
        log_failures: float,
        log_part: float,  # noqa: ARG002
    ) -> float:
        """See `CountDistribution.norm_radius`: the best s in closed form."""
        deviation = math.sqrt(float((counts * parameters) @ coefficients**2))
        return deviation * math.sqrt(2 * log_failures)

    def unit_radius(self, parameters: FloatVector, log_failures: float) -> float:
        """See `CountDistribution.unit_radius`: by either of the two bounds."""
        return math.sqrt(2 * log_failures * float(parameters.max())) + 1

    def normal_quantile(self, parameters: FloatVector, failure: float) -> float:
        """See `CountDistribution.normal_quantile`, and the second bound of `combination_radii`."""
        least = float(parameters.min())
        missed = _MOST_TERMS * 2 * len(parameters) * math.exp(-2 * math.pi**2 * least)
        return 0.0 if missed >= failure / 2 else -float(scipy.special.ndtri(failure - missed))


# The table of noises on counts. Their names stand in files and in options.
COUNT_NOISES: Mapping[str, CountDistribution] = {
    each.name: each for each in (LaplaceCounts(), GaussianCounts())
}


def count_noise(name: str) -> CountDistribution:
    """Return what a name means.

    Raises:
        ParameterError: an unknown name.
    """
    if name not in COUNT_NOISES:
        known = ", ".join(COUNT_NOISES)
        raise ParameterError(f"unknown noise {name!r:.60}; choose one of {known}")
    return COUNT_NOISES[name]


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


@final
@dataclass(frozen=True)
class ValueNoise(IntegerNoise):
    """Integer noise on one count of grid steps.

    Guarantee for a count of sensitivity s steps: that of its distribution, for a change of s.

    Attributes:
        distribution: its name in `COUNT_NOISES`.
        parameter: see there; > 0.
    """

    distribution: str
    parameter: Fraction

    def draw_many(self, size: int, source: EntropySource) -> IntVector:
        """See `IntegerNoise.draw_many`."""
        return count_noise(self.distribution).draw(self.parameter, size, source)

    @property
    def deviation(self) -> float:
        """See `IntegerNoise.deviation`."""
        return count_noise(self.distribution).deviation(self.parameter)

    def law(self, unit: float) -> NoiseLaw:
        """See `IntegerNoise.law`."""
        return count_noise(self.distribution).law(self.parameter, unit)

    def cost(self, sensitivity: int, *, delta: float = 0.0) -> Cost:
        """See `IntegerNoise.cost`."""
        noise = count_noise(self.distribution)
        loss = noise.loss(self.parameter, (sensitivity, sensitivity**2))
        return noise.cost(loss, delta=delta)

    def radius(self, failure: float) -> int:
        """See `IntegerNoise.radius`: by its own tail."""
        return count_noise(self.distribution).radius(self.parameter, failure)
