"""The interface of integer noise on counts: distributions, privacy cost, and proven tail bounds.

Counts are whole numbers of *grid units*. Two types describe noise on them:

- `IntegerNoise` is the interface of any additive integer noise whose parameters are fixed: its
  cost, its law (`privacy.laws`), and exact samples.
- `CountDistribution` is a family of distributions with one exact parameter that is still open, such
  as the rate of a discrete Laplace distribution. `count_noise` has the families.

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
from fractions import Fraction
from typing import ClassVar

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.laws import NoiseLaw
from graphcuts_dp.privacy.noise_sums import chernoff_radius

Change = tuple[int, int]  # (l1, l2_squared), in grid units and squared grid units

# Width of ln s at which a search for Chernoff's best s ends. The bound changes by the square of
# this, so it is within 1e-6 of the best. There are far more combinations than answers, so their
# search ends earlier.
SEARCH_WIDTH = 1e-3
COMBINATION_SEARCH_WIDTH = 2e-3
_GOLDEN = 0.382, 0.618  # points of a golden section, as shares of the interval
_LEAST_LOG_TILT = -12.0  # searches for s begin at e^-12 of its limit
BELOW_LIMIT = 1e-6  # relative distance that s keeps from the limit at which `log_mgf` is infinite
OUTWARD = 1 + 1e-9  # factor of every radius: more than its floats can lose


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

    A new family is a subclass under `@_registered` in `count_noise`. The abstract methods are
    enough: the other methods then bound tails by Chernoff's method.

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
        width: float = SEARCH_WIDTH,
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

        # ln(s/limit) from -12 to about ln(1 - BELOW_LIMIT).
        low, high = np.full(len(limits), _LEAST_LOG_TILT), np.full(len(limits), -BELOW_LIMIT)
        radii = radii_at(golden_section(radii_at, low, high, width))
        return np.where(nonzero, radii * OUTWARD, 0.0)

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
            width=COMBINATION_SEARCH_WIDTH,
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


def golden_section(
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
