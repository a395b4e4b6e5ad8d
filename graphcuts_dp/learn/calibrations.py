"""Calibrations of learning sessions: how a budget becomes noise, thresholds and a tolerance.

A session answers from a public hypothesis, and tests privately for each query whether the
hypothesis is off. If a test fires, the hypothesis is updated. A calibration takes a budget, the
number k of guaranteed answers, the probability beta of failure and the bound B(alpha) on updates
(`learn.bounds`), and returns a `Tuning`: the tolerance alpha, the largest number c of updates, and
the test with its noise. There are four: `Tight`, and `GRU12`, `JT12` and `DR14` with the constants
of the papers; `CALIBRATIONS` lists them by name.

Units. True answers are counted in whole grid units. `sensitivity` is the largest change of an
answer between neighbours, in grid units. B and alpha are in units of that sensitivity, which is one
edge in a graph without weights. Noise, thresholds and errors of a `Tuning` are in grid units: so
rates are divided by `sensitivity`, and lengths multiplied by it.

`ZcdpBudget` and `PaperBudget` say how much a statistic costs that a session measures at its start,
such as the total weight. A calibration inherits from one of them, and from `KnownCalibration`.

To change something safely: privacy rests on the noise of the test and of measured answers, and on
c, since the session makes no update after c. `_tuned` computes the cost of these (`Tuning.cost`)
and refuses what is above the budget. alpha, B, thresholds and stated errors matter for accuracy
only. Golden numbers of tests depend on all of them.

Terms of `graphcuts_dp.privacy` used here:

- Rates. Integer noise of rate r has P(N = t) proportional to e^(-r |t|): on whole t >= 0 if it is
  one-sided (geometric), on all whole t if it is two-sided (discrete Laplace). A larger rate is less
  noise.
- `ValueNoise(name, parameter)` is noise on one answer. For "laplace" the parameter is the rate, for
  "gaussian" the variance of the discrete Gaussian. `radius(p)` is the t with P(|noise| > t) <= p.
- `at_most(x)` is a Fraction slightly below the float x, with a short denominator. Rates are exact
  fractions, and one that is too small only makes the noise larger.
- The tests. `OneSidedPair(threshold_rate, query_rate, T)` runs two one-sided sparse vector tests.
  `SharedThreshold(threshold_rate, query_rate, T)` runs both with two-sided noise and one noisy
  threshold. `NoisyComparison(rate, T)` compares a noisy answer with the hypothesis and shows it if
  it is farther away than T.
- `Cost` is a privacy cost; it has an `epsilon` and `delta`, and a `rho` (zCDP) or a `pure` epsilon
  where one is proven. A pure cost has a rho as well. `compose(costs, delta=...)` adds up costs: the
  result has a pure epsilon or a rho if all of them have, and the least epsilon that is proven for
  this delta. `check_spent(cost, budget)` raises BudgetError if a cost is above a budget. Pure
  epsilons are compared if the budget is pure, rhos if it has one, else epsilon and delta.
- `SparseVectorScales` has the noise of the tight tests, for sensitivity 1; see `Tight.tune`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar, final

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.bounds import (
    ErrorBound,
    UpdateBound,
    at_least_one,
    checked_guarantee,
    dr14_online,
    gru12_online,
    jt12_online,
    tight_online,
)
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep
from graphcuts_dp.privacy.composition import Cost, check_spent, compose, zcdp_epsilon, zcdp_rho
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.noise_scales import SparseVectorScales, at_most, sparse_vector_scales
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold

TIGHT = "tight"  # name of the calibration of this package; the others are named after papers
# Each statistic that is measured at the start takes this share of the remaining budget, and of the
# remaining beta.
START_SHARE = Fraction(1, 40)
_LARGEST_SCALE = 2**55  # of noise, in grid units: with it 64-bit integers hold every sample
_ROUNDED_DOWN = 1 - 1e-15  # factor that makes up for the rounding of one float operation
_RATE_CUT = 1 - Fraction(1, 10**12)  # factor by which rates are cut until they fit the budget
_LENGTH_MARGIN = 1 + 1e-12  # factor that makes up for the rounding of a quotient of floats

# Filled by `_listed`. The keys are what `calibration=` takes.
CALIBRATIONS: dict[str, type["KnownCalibration"]] = {}

_C = TypeVar("_C", bound="KnownCalibration")


@final
@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Numbers that a calibration chooses for a session.

    Attributes:
        alpha: tolerance of the construction, in units of the answers' sensitivity.
        updates: c, the largest number of updates.
        queries: k, the number of guaranteed answers.
        test: the private test, with its noise.
        value_noise: noise on answers to queries that update; None if these are not measured, or
            if the test itself returns a noisy answer.
        error: error of a hypothesis's answer if no test fired, in grid units.
        value_error: error of a measured answer, in grid units.
        halts: True if the session stops as soon as update c is made. False if it goes on answering
            from the hypothesis and stops when a test fires once more.
    """

    alpha: float
    updates: int
    queries: int
    test: OneSidedPair | SharedThreshold | NoisyComparison
    value_noise: ValueNoise | None = None
    error: int
    value_error: int = 0
    halts: bool

    def cost(self, sensitivity: int, *, delta: float) -> Cost:
        """Return the cost of all tests and measured answers, from the scales of their noise.

        Args:
            sensitivity: largest change of an answer between neighbours, in grid units.
            delta: in [0, 1). The epsilon of the cost is stated for it; a pure cost needs none.
        """
        costs = [self.test.cost(sensitivity, updates=self.updates, delta=delta)]
        if self.value_noise is not None and self.updates:
            costs.append(self.value_noise.cost(sensitivity, delta=delta).times(self.updates))
        return compose(costs, delta=delta)


def start_plan(cost: Cost, measured: Iterable[str], remainder: str) -> BudgetPlan:
    """Return the budget plan of a construction that measures some statistics at its start.

    Args:
        cost: of everything together.
        measured: the statistics, in order; each takes `START_SHARE` of the remaining budget.
        remainder: what the remaining budget is spent on.
    """
    # `ZcdpBudget` has a cost with a rho and no pure epsilon. A pure cost of `PaperBudget` has both.
    spent_in_zcdp = cost.rho is not None and cost.pure is None
    noise = "discrete Gaussian" if spent_in_zcdp else "discrete Laplace"
    steps = [BudgetStep(statistic=name, share=START_SHARE, noise=noise) for name in measured]
    # ALL_LEFT is the share of a step that takes what the steps before it leave.
    steps.append(BudgetStep(statistic=remainder, share=ALL_LEFT, noise="as calibrated"))
    return BudgetPlan.of_cost(cost, steps)


class Calibration(ABC):
    """A budget with a guarantee, which tunes a session for any bound on updates.

    Attributes:
        name: as users type it.
        queries: k >= 1: how many answers are guaranteed.
        beta: probability that any interval is wrong, in (0, 1).
    """

    name: ClassVar[str]
    queries: int
    beta: float

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """Cost of the whole session, whatever happens."""

    @abstractmethod
    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """Take `START_SHARE` of budget and beta off for one noisy statistic, as the total weight.

        Sessions call it once for each statistic that they measure at their start.

        Args:
            sensitivity: of the statistic, in its own grid units.

        Returns:
            The noise of the statistic, its error in grid units (which fails with the statistic's
            share of beta), its cost, and this calibration with the budget and beta that remain.
            Both costs together are at most `cost`. The remaining budget is the same for every
            sensitivity.
        """

    @abstractmethod
    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance and the noise for a construction with this bound on updates.

        Args:
            update_bound: B, of a tolerance in units of the answers' sensitivity.
            sensitivity: of the answers, in grid units.

        Raises:
            ParameterError: the noise does not fit into 64 bits, or no tolerance is possible.
            BudgetError: the chosen noise costs more than the budget.
        """


@dataclass(frozen=True, kw_only=True)
class ZcdpBudget:
    """A budget that is spent in zCDP.

    Attributes:
        epsilon: in [1e-6, 50], with delta in (0, 1): of the whole session.
        delta: see epsilon.
        beta: probability of a larger error than stated, in (0, 1).
        rho: the budget that remains of it; None for all that (epsilon, delta) allows.
    """

    epsilon: float
    delta: float
    beta: float = DEFAULT_FAILURE
    rho: float | None = None

    @property
    def _rho(self) -> float:
        """The remaining budget as a number."""
        return zcdp_rho(epsilon=self.epsilon, delta=self.delta) if self.rho is None else self.rho

    @property
    def cost(self) -> Cost:
        """rho-zCDP, whatever happens."""
        if self.rho is not None:
            return Cost.of_rho(self.rho, delta=self.delta)
        return Cost(epsilon=self.epsilon, delta=self.delta, rho=self._rho)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """Divide the budget, see `Calibration.with_total`.

        Privacy:
            Discrete Gaussian noise of variance v on a statistic of sensitivity s is
            s^2/(2 v)-zCDP: START_SHARE of rho for v = s^2/(2 START_SHARE rho).
        """
        rho, beta_share = Fraction(self._rho), float(START_SHARE)
        statistic_rho = rho * START_SHARE
        noise = ValueNoise("gaussian", sensitivity**2 / (2 * statistic_rho))
        remaining_rho = float(rho - statistic_rho) * _ROUNDED_DOWN
        remaining = replace(self, rho=remaining_rho, beta=self.beta * (1 - beta_share))
        cost = noise.cost(sensitivity, delta=self.delta)
        check_spent(compose([cost, remaining.cost], delta=self.delta), self.cost)
        return noise, noise.radius(self.beta * beta_share), cost, remaining


@dataclass(frozen=True, kw_only=True)
class PaperBudget:
    """The (epsilon, delta) of a paper's theorem. The papers take the total as public.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in [0, 1).
        beta: probability of a larger error than stated, in (0, 1).
    """

    epsilon: float
    delta: float
    beta: float = DEFAULT_FAILURE

    @property
    def cost(self) -> Cost:
        """The (epsilon, delta) of the theorem; pure for delta = 0."""
        if not self.delta:
            return Cost.of_pure(Fraction(self.epsilon))
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """Divide the budget, see `Calibration.with_total`.

        Privacy:
            Discrete Laplace noise of rate r on a statistic of sensitivity s is r s-DP:
            START_SHARE of epsilon for r = START_SHARE epsilon/s. Pure epsilons add up.
        """
        epsilon, beta_share = Fraction(self.epsilon), float(START_SHARE)
        statistic_epsilon = epsilon * START_SHARE
        noise = ValueNoise("laplace", statistic_epsilon / sensitivity)
        remaining_epsilon = math.nextafter(float(epsilon - statistic_epsilon), 0)
        cost = noise.cost(sensitivity, delta=self.delta)
        # The statistic is pure, so all of delta is left to the rest. Then the epsilons have to add
        # up to `epsilon`, as those of two pure costs do: the check is made on these.
        remaining_cost = Cost.of_pure(Fraction(remaining_epsilon))
        check_spent(compose([cost, remaining_cost], delta=0.0), Cost.of_pure(epsilon))
        remaining = replace(self, epsilon=remaining_epsilon, beta=self.beta * (1 - beta_share))
        return noise, noise.radius(self.beta * beta_share), cost, remaining


def _listed(calibration: type[_C]) -> type[_C]:
    """Add a class to `CALIBRATIONS`."""
    CALIBRATIONS[calibration.name] = calibration
    return calibration


@dataclass(frozen=True, kw_only=True)
class KnownCalibration(Calibration):
    """Base of the calibrations in this module, with their checks.

    A subclass inherits from a budget class first, then from this class: for example
    `Tight(ZcdpBudget, KnownCalibration)`. The budget class has `cost` and `with_total`; this class
    has `queries`, the checks, and the helpers of `tune`, which the subclass writes itself. Both
    declare the fields epsilon, delta and beta; keep their defaults equal. Budget classes have no
    `__post_init__`, so that of this class runs: a subclass with its own must call it.

    Attributes:
        bound: class attribute: the guaranteed error, as a function of B, `queries`, `epsilon`,
            `delta` and `beta`.
        pure: class attribute: whether delta may be 0.
        epsilon: in [1e-6, 50].
        delta: in (0, 1), or 0 if `pure`.
        queries: k >= 1: how many answers are guaranteed.
        beta: probability that any interval is wrong, in (0, 1).

    Raises:
        ParameterError: a number out of range.
    """

    bound: ClassVar[Callable[..., ErrorBound]]
    pure: ClassVar[bool] = False

    epsilon: float
    delta: float
    queries: int
    beta: float = DEFAULT_FAILURE

    def __post_init__(self) -> None:
        # `checked_guarantee` refuses a delta of 0, which a pure calibration allows. Then 0.5 stands
        # in, a number that it accepts, so that the other numbers are checked.
        delta_to_check = 0.5 if self.pure and self.delta == 0 else self.delta
        checked_guarantee(self.queries, self.epsilon, delta_to_check, self.beta)
        exact_epsilon(self.epsilon)  # raises if epsilon is out of range

    def _guaranteed(self, update_bound: UpdateBound, **changes: float) -> ErrorBound:
        """Return the error bound for the numbers of this calibration, some of them changed."""
        terms: dict[str, Any] = {
            "queries": self.queries,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "beta": self.beta,
        }
        return type(self).bound(update_bound, **terms | changes)

    def _tuned(
        self, sensitivity: int, rates: tuple[Fraction, ...], bound: ErrorBound, **fields: Any
    ) -> Tuning:
        """Return the tuning, after checking that its noise fits into 64 bits and the budget.

        Args:
            sensitivity: of the answers, in grid units.
            rates: rates per grid unit of the discrete Laplace or geometric noise of the test, and
                of `value_noise` if that is "laplace". Only the smallest is checked, so a rate may
                be left out if a smaller one is listed.
            bound: gives alpha and the number of updates.
            fields: the other fields of `Tuning`.

        Raises:
            ParameterError: the noise does not fit into 64 bits.
            BudgetError: the noise costs more than the budget.
        """
        if min(rates) < Fraction(1, _LARGEST_SCALE):
            raise ParameterError(
                "the noise of this method does not fit into 64 bits here; use method 'tight', more"
                " epsilon, or larger units of weight"
            )
        tuning = Tuning(alpha=bound.alpha, updates=bound.updates, queries=self.queries, **fields)
        check_spent(tuning.cost(sensitivity, delta=self.delta), self.cost)
        return tuning


@final
@_listed
@dataclass(frozen=True, kw_only=True)
class Tight(ZcdpBudget, KnownCalibration):
    """Two one-sided tests with geometric noise, accounted by bounded range.

    One instance of a test lasts until it fires. Two run at a time, "the truth is above" and "the
    truth is below", and each update starts a new one: with c updates c + 2 instances at most. The
    tolerance alpha has the least guaranteed error for the given B. If a test fires after update c,
    the session stops: so privacy does not depend on B being right.

    Privacy:
        rho-zCDP with rho = `zcdp_rho(epsilon, delta)`, hence (epsilon, delta)-DP. An instance with
        threshold noise of rate r1 and query noise of rate r2 has a privacy loss of range
        eta = s r1 + 2 s r2 for answers of sensitivity s, and is eta^2/8-zCDP (see `OneSidedPair`).
        The rates are such that (c + 2) eta^2/8 is the rho of the tests. A measured answer with
        discrete Gaussian noise of variance v is s^2/(2 v)-zCDP; c of them take the rest.

    Accuracy: with probability 1 - beta every update is valid, and every guaranteed answer has an
    error of at most alpha + slack of `tight_online`. Rounding to whole grid units is in our favour:
    P(N > t) = e^(-r (t+1)) for whole t, so t = ceil(L/r) - 1 suffices for a probability e^-L.

    Attributes:
        value_share: share of rho for noisy answers to the queries that update. If it is 0, none is
            measured, and the query is tested again after the update.

    Raises:
        ParameterError: a number out of range.
    """

    name = TIGHT
    bound: ClassVar[Callable[..., ErrorBound]] = staticmethod(tight_online)

    value_share: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.value_share < 1:
            raise ParameterError("value_share is a part of the budget: from 0 to less than 1")

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance and the noise, see `Calibration.tune`.

        `tight_online` finds c and alpha. It takes a budget as (epsilon, delta) and converts it to
        rho itself. Here the tests have a rho already: so it is converted to the epsilon with that
        rho for `delta`, which comes back as the same rho up to rounding. Privacy does not rest on
        that: the noise below is computed from `test_rho` itself.
        """
        test_rho = Fraction(self._rho) * (1 - Fraction(self.value_share))
        # Measured answers fail with probability beta/2, and the tests with the other half.
        test_beta = self.beta / 2 if self.value_share else self.beta
        bound = self._guaranteed(
            update_bound, epsilon=zcdp_epsilon(float(test_rho), delta=self.delta), beta=test_beta
        )
        c = bound.updates
        scales = sparse_vector_scales(
            rho=float(test_rho), updates=c, queries=self.queries, beta=test_beta
        )
        threshold_rate, query_rate = _test_rates(scales, test_rho, c)
        threshold_rate, query_rate = threshold_rate / sensitivity, query_rate / sensitivity
        # `scales` divides test_beta among all noise that is drawn. One draw for a query may fail
        # with probability e^-log_tests = test_beta/(4 (k + c)), one for a threshold with
        # e^-log_thresholds = test_beta/(2 (c + 2)). A margin is the number that the noise exceeds
        # with no more than this probability.
        query_margin = _quantile(scales.log_tests, query_rate)
        threshold_margin = _quantile(scales.log_thresholds, threshold_rate)
        alpha = Fraction(bound.alpha) * sensitivity
        value_noise, value_error = None, 0
        if self.value_share and c:
            value_rho = Fraction(self._rho) * Fraction(self.value_share)
            # c measured answers of variance v cost c s^2/(2 v) = value_rho.
            value_noise = ValueNoise("gaussian", c * sensitivity**2 / (2 * value_rho))
            value_error = value_noise.radius(self.beta / (2 * c))
        return self._tuned(
            sensitivity,
            (threshold_rate, query_rate),
            bound,
            # A test that fires at T = alpha + query_margin is right that the gap is >= alpha.
            test=OneSidedPair(threshold_rate, query_rate, alpha + query_margin),
            value_noise=value_noise,
            error=math.ceil(alpha) + query_margin + threshold_margin,
            value_error=value_error,
            halts=False,
        )


def _test_rates(
    scales: SparseVectorScales, rho: Fraction, updates: int
) -> tuple[Fraction, Fraction]:
    """Return r1 and r2 for sensitivity 1, with (c + 2) (r1 + 2 r2)^2/8 <= rho exactly.

    The floats of `scales` satisfy this but for rounding. Privacy rests on the exact inequality, so
    the rates are cut by a few parts in 10^12 until it holds.

    Args:
        scales: mean noise of a threshold and of a query: 1/r1 and 1/r2.
        rho: the budget of the tests.
        updates: c.
    """
    r1, r2 = at_most(1 / scales.threshold_scale), at_most(1 / scales.query_scale)
    while (updates + 2) * (r1 + 2 * r2) ** 2 / 8 > rho:
        r1, r2 = r1 * _RATE_CUT, r2 * _RATE_CUT
    return r1, r2


def _quantile(log_failures: float, rate: Fraction) -> int:
    """Return the least whole t with P(N > t) = e^(-rate (t+1)) <= e^-log_failures."""
    return max(0, math.ceil(log_failures / float(rate) * _LENGTH_MARGIN) - 1)


@dataclass(frozen=True, kw_only=True)
class _Paper(PaperBudget, KnownCalibration):
    """A paper's calibration, as printed. Each class lists its deviations.

    Epsilon is at most 1 for delta > 0, as in the theorems.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta and self.epsilon > 1:
            raise ParameterError(
                f"the theorem behind {self.name!r} is for epsilon up to 1; use calibration 'tight'"
            )

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance and the noise for noisy answers compared with the hypothesis.

        `bound.threshold` is T = 4 sigma ln(2k/beta), where sigma is the scale of the noise: so its
        rate 1/sigma is 4 ln(2k/beta)/T. See `Calibration.tune`.

        The stated error is `bound.error` in grid units, rounded up, plus 1. Noise Z here is a whole
        number. With r = e^-rate, P(|Z| > t) = 2 r^(t+1)/(1 + r) < r^t for whole t >= 0. So |Z| is
        at most ceil(T/4), but for the probability beta/(2k) that Laplace noise exceeds T/4. The
        error T + ceil(T/4) of an answer without update is below 5T/4 + 1.
        """
        bound = self._guaranteed(at_least_one(update_bound))
        log_failures = math.log(2 * self.queries / self.beta)
        rate = at_most(4 * log_failures / bound.threshold) / sensitivity
        return self._tuned(
            sensitivity,
            (rate,),
            bound,
            test=NoisyComparison(rate, Fraction(bound.threshold) * sensitivity),
            error=math.ceil(bound.error * sensitivity) + 1,
            value_error=ValueNoise("laplace", rate).radius(math.exp(-log_failures)),
            halts=True,
        )


@final
@_listed
@dataclass(frozen=True, kw_only=True)
class GRU12(_Paper):
    """Noisy answers compared with the hypothesis: sigma = 1000 sqrt(B) ln(4/delta)/epsilon.

    T = 4 sigma ln(2k/beta), alpha = 3T/4. The session stops at update number B. Deviations: the
    noise is the two-sided geometric distribution of the same rate 1/sigma, not Laplace's; errors
    count edges; if B < 1, sigma is that of B = 1, so that the first update has been paid for.

    Privacy:
        (epsilon, delta)-DP, as the paper's Theorem 4.1 says. Its proof does not hold as printed.
        The proof below is for any constant C >= 100 in place of 1000, epsilon <= 1 and B >= 1.

        It rests on Theorem "Noisy comparison with a public guess" (docs/mathematics.md; see
        `privacy.noisy_comparison.comparison_moment`): let one noisy count be e-DP, and choose a
        number a > 0. Then any number of tests of which at most B show their noisy count are
        (epsilon, delta')-DP with

            delta' = exp(mu B - a epsilon),        mu = 2 artanh(K theta^2/(1 - a theta)),
            theta = exp(e) - 1,                    K = a (a+1)/2 exp((a+2) e).

        The threshold is public and without noise, and nothing rests on it. Let L = ln(4/delta),
        which is above ln 4 > 1.386. The noise has e = 1/sigma = epsilon/(C sqrt(B) L). Choose
        a = 2 L/epsilon. We bound the parts of mu one by one:

        1. The numbers. a >= 2 L > 2.77, since epsilon <= 1. a e = 2/(C sqrt(B)) <= 2/C. And
           e <= 1/(C L) < 0.722/C, which is below 0.0073.
        2. theta <= 1.01 e for such a small e. So a theta <= 1.01 * 2/C <= 0.0202, and the
           denominator 1 - a theta is above 0.979.
        3. (a + 2) e < (2 + 2 * 0.722)/C < 3.45/C <= 0.0345, so exp((a + 2) e) < 1.036.
        4. By 1, (a e)^2 = 4/(C^2 B) and 1/a < 1/2.77 < 0.361. So
           a (a + 1) e^2 = (a e)^2 (1 + 1/a) < 4 * 1.361/(C^2 B) < 5.45/(C^2 B).
        5. K theta^2 = a (a + 1)/2 * exp((a + 2) e) * theta^2. With 3 for the second factor and 2
           for the third it is below a (a + 1) e^2/2 * 1.036 * 1.01^2. By 4 this is below
           5.45/2 * 1.057/(C^2 B) < 2.89/(C^2 B).
        6. Dividing by the denominator, the argument of artanh is below 2.96/(C^2 B) <= 0.0003.
           There 2 artanh(x) < 2.01 x, so mu < 2.01 * 2.96/(C^2 B) < 6/(C^2 B).
        7. So mu B < 6/C^2 <= 0.0006, and a epsilon = 2 L. delta' < exp(0.0006) exp(-2 L), which
           is below 1.001 (delta/4)^2 < delta.

        The constant is loose: by the same theorem C = 2.2 would do. `Tuning.cost` states what the
        noise of a tuning really costs.

    Accuracy: with probability 1 - beta/2, and so with 1 - beta, the error of hypothesis answers is
    at most 5T/4, and that of noisy answers at most T/4. In grid units the first is rounded up, and
    1 is added, for noise in whole numbers.

    Source: GRU12, Alg. 1.
    """

    name = "gru12"
    bound: ClassVar[Callable[..., ErrorBound]] = staticmethod(gru12_online)


@final
@_listed
@dataclass(frozen=True, kw_only=True)
class JT12(_Paper):
    """As GRU12, with epsilon0 = epsilon/(100 sqrt(B) ln(4/delta)), T = (4/epsilon0) ln(2k/beta).

    Updates are valid for alpha = T/2, and B is B(T/2); the paper takes it as a number. The error is
    2T as printed. Deviations: those of `GRU12`; gamma, the change of the data, is 1.

    Privacy:
        (epsilon, delta)-DP, as the paper's Theorem 1 says, which takes it from GRU12 with another
        constant: by the proof in `GRU12`, with e = epsilon0 and C = 100.

    Source: JT12, Alg. 1 and Theorem 2.
    """

    name = "jt12"
    bound: ClassVar[Callable[..., ErrorBound]] = staticmethod(jt12_online)


@final
@_listed
@dataclass(frozen=True, kw_only=True)
class DR14(_Paper):
    """NumericSparse on both signs of every discrepancy: threshold 2 alpha, answers within 3 alpha.

    The formulas are for sensitivity 1. Let c be the largest number of updates, and
    S = sqrt(32 c ln(2/delta)), or S = 2c for delta = 0.
    Noise has scale S/e1 on the threshold, 2 S/e1 on each test, and S/e2 on each measured answer,
    with e1 = epsilon sqrt(512)/(sqrt(512) + 1) and e2 = 2 epsilon/(sqrt(512) + 1), or 8/9 and 2/9
    of epsilon for delta = 0. So e1 + e2/2 = epsilon. Deviations:

    - The noise is two-sided geometric, not Laplace's.
    - The logarithm is of 2k queries, one for each sign.
    - The book says that a measured answer is within alpha. For delta > 0 this does not follow from
      the scale of its noise. Here its interval is computed from that noise.

    Privacy:
        (epsilon, delta)-DP, as the book's theorem on NumericSparse (section 3.6) says:
        1. An instance of the test is 2 e1/S-DP (see `SharedThreshold`), an answer e2/S-DP; there
           are at most c of each, after which the session stops.
        2. delta = 0: c (2 e1 + e2)/(2 c) = e1 + e2/2 = epsilon.
        3. Else they are rho-zCDP with rho = c ((2 e1/S)^2 + (e2/S)^2)/2, which is
           (4 e1^2 + e2^2)/(64 ln(2/delta)) < 0.0575 epsilon^2/ln(2/delta), since
           4 e1^2 + e2^2 < 3.68 epsilon^2.
        4. That is (rho + 2 sqrt(rho ln(1/delta)), delta)-DP. Here rho < 0.0575 epsilon^2/0.693
           <= 0.083 epsilon, as ln(2/delta) > ln 2 > 0.693 and epsilon <= 1. And
           rho ln(1/delta) < 0.0575 epsilon^2, so twice its root is below 0.48 epsilon. The sum is
           below epsilon.

    Source: DR14, Alg. 3 (NumericSparse) and Alg. 11.
    """

    name = "dr14"
    bound: ClassVar[Callable[..., ErrorBound]] = staticmethod(dr14_online)
    pure = True

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance and the noise, see `Calibration.tune`."""
        update_bound = at_least_one(update_bound)
        bound = self._guaranteed(update_bound)
        # The book's c is B(alpha), a real number. The session allows `bound.updates` updates: this
        # is B(alpha) rounded down, except that a B a rounding error below a whole number counts as
        # that number. Then it is the larger of the two. A larger c means more noise, so it is safe.
        c = max(update_bound(bound.alpha), bound.updates)
        if self.delta == 0:
            scale = 2 * c  # S
            test_epsilon, value_epsilon = 8 / 9 * self.epsilon, 2 / 9 * self.epsilon  # e1, e2
        else:
            scale = math.sqrt(32 * c * math.log(2 / self.delta))
            test_epsilon = self.epsilon * math.sqrt(512) / (math.sqrt(512) + 1)
            value_epsilon = 2 * self.epsilon / (math.sqrt(512) + 1)
        rate = at_most(test_epsilon / scale) / sensitivity
        value_noise = ValueNoise("laplace", at_most(value_epsilon / scale) / sensitivity)
        return self._tuned(
            sensitivity,
            (rate / 2, value_noise.parameter),  # `rate` need not be listed: it is above rate/2
            bound,
            test=SharedThreshold(rate, rate / 2, Fraction(2 * bound.alpha) * sensitivity),
            value_noise=value_noise,
            error=math.ceil(bound.error * sensitivity) + 1,  # 1 for noise in whole numbers
            value_error=value_noise.radius(self.beta / (2 * c)),
            halts=True,
        )
