"""Calibrate learning sessions: turn a budget into noise and thresholds.

A session answers from a public hypothesis, and tests privately for each query whether the
hypothesis is off. If a test fires, the hypothesis is updated. A calibration takes a budget, the
number k of guaranteed answers, the probability beta of failure and the bound B(alpha) on updates
(`learn.bounds`), and returns a `Tuning`: the tolerance alpha, the largest number c of updates, and
the test with its noise. `learn.calibrations` has those of this package and of the papers.

Units. True answers are counted in whole grid units. `sensitivity` is the largest change of an
answer between neighbours, in grid units. B and alpha are in units of that sensitivity, which is one
edge in a graph without weights. Noise, thresholds and errors of a `Tuning` are in grid units: so
rates are divided by `sensitivity`, and lengths multiplied by it.

`ZcdpBudget` and `PaperBudget` say how much a statistic costs that a session measures at its start,
such as the total weight. A calibration inherits from one of them, and from `KnownCalibration`,
which also computes what is not set where a user sets some parameters (`learn.parameters`).

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
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, final

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import BudgetError, ParameterError
from graphcuts_dp.learn.bounds import (
    ErrorBound,
    UpdateBound,
    allowed_updates,
    checked_guarantee,
)
from graphcuts_dp.learn.parameters import (
    MOST_UPDATES,
    SessionParameters,
    check_names,
    margins_of,
    read_out,
    void_reason,
)
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep
from graphcuts_dp.privacy.composition import Cost, check_spent, compose, zcdp_rho
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold

# Each statistic that is measured at the start takes this share of the remaining budget, and of the
# remaining beta.
START_SHARE = Fraction(1, 40)
# None is set. One object, since stores leave out fields that have their default.
_ALL_COMPUTED = SessionParameters()
_LARGEST_SCALE = 2**55  # of noise, in grid units: with it 64-bit integers hold every sample
_ROUNDED_DOWN = 1 - 1e-15  # factor that makes up for the rounding of one float operation
_ROUNDED_ALPHA = 1 - 1e-12  # factor that makes up for the rounding of a difference
_MOST_FACTOR = 2.0**60  # by which noise is enlarged in search of what a budget pays for


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

    def parameters(self, sensitivity: int) -> SessionParameters:
        """Return the numbers as parameters, which can be changed and given to a calibration.

        Args:
            sensitivity: largest change of an answer between neighbours, in grid units.
        """
        return SessionParameters(
            alpha=self.alpha,
            updates=max(1, self.updates),
            **read_out(self.test, self.value_noise, sensitivity),
        )

    def void_reason(
        self, update_bound: UpdateBound, sensitivity: int, *, beta: float
    ) -> str | None:
        """Return why no bound on the error of all k answers holds; None if one does.

        Args:
            update_bound: B, of a tolerance in units of the answers' sensitivity.
            sensitivity: largest change of an answer between neighbours, in grid units.
            beta: probability of failure of the tests and measured answers together, in (0, 1).
        """
        # Half of beta is for measured answers, where the test leaves them none.
        halved = isinstance(self.test, OneSidedPair) and self.value_noise is not None
        return void_reason(
            self.test,
            update_bound,
            alpha=self.alpha,
            updates=self.updates,
            queries=self.queries,
            beta=beta / 2 if halved else beta,
            sensitivity=sensitivity,
        )


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
    """Base of calibrations: tune a session of one budget for any bound on updates.

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
    def split_budget(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
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
    """Base of calibrations whose budget is spent in zCDP.

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
        """Return the remaining budget."""
        return zcdp_rho(epsilon=self.epsilon, delta=self.delta) if self.rho is None else self.rho

    @property
    def cost(self) -> Cost:
        """rho-zCDP, whatever happens."""
        if self.rho is not None:
            return Cost.of_rho(self.rho, delta=self.delta)
        return Cost(epsilon=self.epsilon, delta=self.delta, rho=self._rho)

    def split_budget(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """Divide the budget, see `Calibration.split_budget`.

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
    """Base of calibrations with the (epsilon, delta) of a paper's theorem.

    The papers take the total as public.

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
        """Return the (epsilon, delta) of the theorem; pure for delta = 0."""
        if not self.delta:
            return Cost.of_pure(Fraction(self.epsilon))
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def split_budget(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """Divide the budget, see `Calibration.split_budget`.

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


@dataclass(frozen=True, kw_only=True)
class KnownCalibration(Calibration):
    """Base of the calibrations in this module, with their checks.

    A subclass inherits from a budget class first, then from this class: for example
    `Tight(ZcdpBudget, KnownCalibration)`. The budget class has `cost` and `split_budget`; this
    class has `queries`, the checks, and the helpers of `tune`, which the subclass writes itself.
    Both declare the fields epsilon, delta and beta; keep their defaults equal. Budget classes have
    no `__post_init__`, so that of this class runs: a subclass with its own must call it.

    Attributes:
        bound: class attribute: the guaranteed error, as a function of B, `queries`, `epsilon`,
            `delta` and `beta`.
        pure: class attribute: whether delta may be 0.
        scale_names: class attribute: the scales of noise among the parameters.
        epsilon: in [1e-6, 50].
        delta: in (0, 1), or 0 if `pure`.
        queries: k >= 1: how many answers are guaranteed.
        beta: probability that any interval is wrong, in (0, 1).
        parameters: numbers that are set; the others are computed, see `_by_parameters`.

    Raises:
        ParameterError: a number out of range, or a parameter that the calibration does not have.
    """

    bound: ClassVar[Callable[..., ErrorBound]]
    pure: ClassVar[bool] = False
    scale_names: ClassVar[tuple[str, ...]] = ("sigma",)

    epsilon: float
    delta: float
    queries: int
    beta: float = DEFAULT_FAILURE
    parameters: SessionParameters = _ALL_COMPUTED

    def __post_init__(self) -> None:
        # `checked_guarantee` refuses a delta of 0, which a pure calibration allows. Then 0.5 stands
        # in, a number that it accepts, so that the other numbers are checked.
        delta_to_check = 0.5 if self.pure and self.delta == 0 else self.delta
        checked_guarantee(self.queries, self.epsilon, delta_to_check, self.beta)
        exact_epsilon(self.epsilon)  # raises if epsilon is out of range
        known = ("alpha", "updates", "threshold", *self.scale_names)
        check_names(self.parameters.chosen, known, self.name)

    @final
    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance and the noise, see `Calibration.tune`."""
        if self.parameters.chosen:
            return self._by_parameters(update_bound, sensitivity)
        return self._calibrated(update_bound, sensitivity)

    @abstractmethod
    def _calibrated(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Return the tuning of the calibration itself, see `Calibration.tune`."""

    @abstractmethod
    def _scales(self, updates: float) -> dict[str, float]:
        """Return the scales of noise that the calibration pays for with c updates, in units."""

    @abstractmethod
    def _noises(self, scales: dict[str, float], updates: int, sensitivity: int) -> dict[str, Any]:
        """Return the fields of `Tuning` that draw noise, with a threshold of 0.

        Args:
            scales: of the noise, in units, by the names of `scale_names`.
            updates: c.
            sensitivity: of the answers, in grid units.
        """

    @abstractmethod
    def _lengths(
        self, scales: dict[str, float], updates: int, update_bound: UpdateBound, below: float
    ) -> tuple[float, float]:
        """Return alpha and T in units where neither is set.

        Args:
            scales: of the noise, in units.
            updates: c.
            update_bound: B, of a tolerance in units.
            below: the first of `margins_of` the test, in units.
        """

    def check_parameters(self, sensitivity: int) -> None:
        """Refuse noise that the budget does not pay for, from public numbers alone.

        Args:
            sensitivity: of the answers, in grid units.

        Raises:
            ParameterError: with the least noise, or the most updates, that will do.
        """
        chosen = self.parameters.chosen
        scales = {name: chosen[name] for name in self.scale_names if name in chosen}
        updates = chosen.get("updates", 1)
        if not scales or self._affordable(updates, sensitivity):
            return
        factor, low = 2.0, 1.0
        while factor < _MOST_FACTOR and not self._affordable(updates, sensitivity, factor):
            low, factor = factor, factor * 2
        for _ in range(50):
            middle = math.sqrt(low * factor)
            if self._affordable(updates, sensitivity, middle):
                factor = middle
            else:
                low = middle
        least = " and ".join(
            f"{name} must be at least {scale * factor:.7g}" for name, scale in scales.items()
        )
        most = self._most_updates(sensitivity)
        fewer = f", or updates at most {most}" if most and "updates" in chosen else ""
        raise ParameterError(
            f"this noise costs more than the session's epsilon and delta: for updates={updates},"
            f" {least}{fewer}"
        )

    def _affordable(self, updates: int, sensitivity: int, factor: float = 1.0) -> bool:
        """Tell whether the budget pays for c updates with the chosen noise, times a factor."""
        scales = self._chosen_scales(updates, factor)
        noises = self._noises(scales, updates, sensitivity)
        tuning = Tuning(
            alpha=1.0, updates=updates, queries=self.queries, error=0, halts=True, **noises
        )
        try:
            check_spent(tuning.cost(sensitivity, delta=self.delta), self.cost)
        # Nothing is proven for so little noise, or its cost is beyond the floats.
        except (BudgetError, ParameterError, OverflowError):
            return False
        return True

    def _chosen_scales(self, updates: int, factor: float = 1.0) -> dict[str, float]:
        """Return the scales that are set, times a factor, and the calibration's for the others."""
        chosen = self.parameters.chosen
        scales = {name: chosen[name] * factor for name in self.scale_names if name in chosen}
        return self._scales(updates) | scales

    def _most_updates(self, sensitivity: int) -> int:
        """Return the largest number of updates that the budget pays for; 0 for none."""
        low, high = 0, 1
        while high <= MOST_UPDATES and self._affordable(high, sensitivity):
            low, high = high, 2 * high
        high = min(high, MOST_UPDATES + 1)
        while high - low > 1:
            middle = (low + high) // 2
            if self._affordable(middle, sensitivity):
                low = middle
            else:
                high = middle
        return low

    def _by_parameters(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Return the tuning with the parameters that are set; the others follow from these.

        1. c, the number of updates: what is set; else B(alpha) if alpha is set, and no more than
           the budget pays for if a scale of noise is set; else as many as it pays for, if a scale
           is set; else the calibration's.
        2. Scales of noise: what is set; else what the calibration pays for with c updates.
        3. T and alpha: what is set. If only T is set, alpha is the largest tolerance at which all
           updates are valid, T less the noise of tests. Else both are computed as the calibration
           computes them from the noise.

        Privacy:
            Nothing rests on alpha, T, B, or on a formula of the calibration: the cost is that of
            the test and of measured answers with the noise that is drawn, for c updates, and is
            compared with the budget (`_tuned`).

        Raises:
            ParameterError: see `check_parameters`; or noise that does not fit into 64 bits.
            BudgetError: the noise costs more than the budget.
        """
        self.check_parameters(sensitivity)
        chosen = self.parameters.chosen
        updates = self._chosen_updates(update_bound, sensitivity)
        scales = self._chosen_scales(updates)
        noises = self._noises(scales, updates, sensitivity)
        test, value_noise = noises["test"], noises.get("value_noise")
        beta = self._test_beta
        below, above = margins_of(test, queries=self.queries, updates=updates, beta=beta)
        margin = below / sensitivity
        alpha, threshold = chosen.get("alpha"), chosen.get("threshold")
        if threshold is None:
            usual_alpha, threshold = self._lengths(scales, updates, update_bound, margin)
            alpha = usual_alpha if alpha is None else alpha
        elif alpha is None:
            # Rounded down: at this alpha every update must be valid.
            alpha = (threshold - margin) * _ROUNDED_ALPHA if threshold > margin else threshold
        grid_threshold = Fraction(threshold) * sensitivity
        value_error = above if isinstance(test, NoisyComparison) else 0
        if value_noise is not None:
            value_error = value_noise.radius(self.beta / (2 * updates))
        rates = [1 / (Fraction(scale) * sensitivity) for scale in scales.values()]
        return self._tuned(
            sensitivity,
            tuple(rates),
            ErrorBound(alpha=alpha, updates=updates, threshold=threshold, error=0.0),
            **noises | {"test": replace(test, threshold=grid_threshold)},
            error=math.ceil(grid_threshold + above),
            value_error=value_error,
            halts=not isinstance(test, OneSidedPair),
        )

    @property
    def _test_beta(self) -> float:
        """Probability of failure that `margins_of` the test gets."""
        return self.beta

    def _chosen_updates(self, update_bound: UpdateBound, sensitivity: int) -> int:
        """Return c, see `_by_parameters`."""
        chosen = self.parameters.chosen
        if "updates" in chosen:
            return int(chosen["updates"])
        noisy = any(name in chosen for name in self.scale_names)
        most = self._most_updates(sensitivity) if noisy else MOST_UPDATES
        if "alpha" in chosen:
            needed = update_bound(chosen["alpha"])
            return most if needed > most else max(1, allowed_updates(needed))
        if noisy:
            return most
        plain = replace(self, parameters=_ALL_COMPUTED)
        return max(1, plain._calibrated(update_bound, sensitivity).updates)

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
