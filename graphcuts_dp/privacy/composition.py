"""The privacy cost of mechanisms, alone and together.

A `Cost` states what a mechanism spends in up to three *currencies*, in each of which a bound is
proven: pure epsilon-DP, rho-zCDP (zero-concentrated DP), and (epsilon, delta)-DP. `compose` adds up
costs that are fixed beforehand; `privacy.filters` decides about costs that are chosen adaptively.

A mechanism is *built* from a budget: the scales of its noise are computed from it, with rounding.
`stated_cost` and `check_spent` compare the cost of what was built with the budget before any noise
is drawn. Sums of epsilons are exact fractions, rounded up to floats (`rounded_up`).

zCDP implies (epsilon, delta)-DP for many pairs: `zcdp_epsilon`, `zcdp_delta` and `zcdp_rho` each
compute one of the three numbers from the other two, each on the safe side: epsilons and deltas
never too small, a rho that a budget allows never too large.

Papers: DR14 is Dwork, Roth, *The Algorithmic Foundations of Differential Privacy*, 2014.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar, final

import scipy

from graphcuts_dp.errors import BudgetError, ParameterError
from graphcuts_dp.options import check_positive, check_probability

Number = TypeVar("Number", float, Fraction)

# Relative margin of every converted epsilon and rho: more than the errors of the searches below.
_SEARCH_MARGIN = 1e-7
_SUM_MARGIN = 1e-13  # relative: more than rounding moves a sum; far below _SEARCH_MARGIN
# A cost that is below its budget by no more than this relative part states the budget itself: the
# difference comes from rounding only.
_ROUNDING_LEFT = 1e-6
_LARGEST_EXPONENT = 700  # e^700 times any delta that a float can hold is above 1
_CACHED = 1024  # results of conversions: releases ask for the same numbers again


@final
@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of a mechanism, in every currency in which a bound is proven. All bounds hold.

    Attributes:
        epsilon: with `delta`, the *stated* (epsilon, delta)-DP bound. If `pure` is known, it is
            that, rounded up.
        delta: >= 0; 0 if `pure` is known. Mechanisms have less than 1; a bound of 1 or more, which
            is trivial, can come from `times` and `for_group`.
        rho: zCDP bound; None if none is proven.
        pure: exact epsilon of a pure bound; None if none is proven.
    """

    epsilon: float
    delta: float = 0.0
    rho: float | None = None
    pure: Fraction | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for receipts."""
        return asdict(self) | {"pure": None if self.pure is None else str(self.pure)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "Cost":
        """Read what `to_dict` wrote.

        Args:
            stored: what `to_dict` returned, perhaps of an earlier version.

        Raises:
            TypeError: the fields are others.
            ValueError: the pure epsilon is no fraction.
        """
        pure = stored["pure"]
        return cls(**stored | {"pure": None if pure is None else Fraction(pure)})

    @classmethod
    def of_pure(cls, epsilon: Fraction) -> "Cost":
        """Return the cost of epsilon-DP, which is epsilon^2/2-zCDP (Bun, Steinke 2016, Prop. 1.4).

        Args:
            epsilon: >= 0, exact.
        """
        return cls(epsilon=rounded_up(epsilon), rho=rounded_up(epsilon**2 / 2), pure=epsilon)

    @classmethod
    def of_rho(cls, rho: float, *, delta: float) -> "Cost":
        """Return the cost of rho-zCDP, stated for a delta in (0, 1).

        Args:
            rho: of zCDP, at least 0.
            delta: in [0, 1).
        """
        return cls(epsilon=zcdp_epsilon(rho, delta=delta), delta=delta, rho=rho)

    @property
    def exact_epsilon(self) -> Fraction:
        """The epsilon that the cost states: the pure one if there is one."""
        return Fraction(self.epsilon) if self.pure is None else self.pure

    def times(self, count: int) -> "Cost":
        """Return the cost of `count` >= 1 mechanisms of this cost."""
        return Cost(
            epsilon=rounded_up(Fraction(self.epsilon) * count),
            delta=rounded_up(Fraction(self.delta) * count),
            rho=None if self.rho is None else rounded_up(Fraction(self.rho) * count),
            pure=None if self.pure is None else self.pure * count,
        )

    def for_group(self, group_size: int) -> "Cost":
        """Return the cost for data that differ by k changes instead of one.

        A path of k changes leads from one data set to the other, and this cost is proven for each
        change. Then, for k changes,

        - epsilon-DP becomes k epsilon-DP, and rho-zCDP becomes k^2 rho-zCDP;
        - if there are a rho and a delta above 0, the delta is kept, and epsilon is converted from
          k^2 rho;
        - otherwise (epsilon, delta) becomes
          (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))).

        Args:
            group_size: k >= 1.

        Source: DR14 Theorem 2.2 and its proof; Bun, Steinke 2016, Proposition 1.9.
        """
        if group_size == 1:
            return self
        rho = None if self.rho is None else rounded_up(Fraction(self.rho) * group_size**2)
        if self.pure is not None:
            pure = self.pure * group_size
            return Cost(epsilon=rounded_up(pure), rho=rho, pure=pure)
        if rho and self.delta:
            return Cost.of_rho(rho, delta=self.delta)
        epsilon = rounded_up(Fraction(self.epsilon) * group_size)
        return Cost(epsilon=epsilon, delta=self._group_delta(group_size), rho=rho)

    def _group_delta(self, group_size: int) -> float:
        """Return delta (e^(k epsilon) - 1)/(e^epsilon - 1), rounded up, and at most 1."""
        if not self.delta:
            return 0.0
        if not self.epsilon:
            return min(1.0, rounded_up(Fraction(self.delta) * group_size))
        if self.epsilon * group_size > _LARGEST_EXPONENT:
            return 1.0
        factor = math.expm1(self.epsilon * group_size) / math.expm1(self.epsilon)
        return min(1.0, self.delta * factor * (1 + _SUM_MARGIN))

    def keeps(self, *, epsilon: float | Fraction, delta: float = 0.0) -> bool:
        """Return True if one of the bounds proves (epsilon, delta)-DP.

        Args:
            epsilon: at least 0.
            delta: in [0, 1).

        Raises:
            ParameterError: epsilon is not above 0, and the cost has a rho.
        """
        if self.pure is not None and self.pure <= Fraction(epsilon):
            return True
        if self.rho and delta and zcdp_delta(self.rho, as_stored(epsilon)) <= delta:
            return True
        return Fraction(self.epsilon) <= Fraction(epsilon) and self.delta <= delta


def stated_cost(built: Cost, *, epsilon: float | Fraction, delta: float = 0.0) -> Cost:
    """Return the cost that a mechanism states which was built for a budget (epsilon, delta).

    If the pure bound meets the budget, it is stated, with delta 0. Otherwise, if there is a rho,
    the epsilon that follows from it for this delta is stated. Otherwise epsilon and delta are those
    of the mechanism. A stated epsilon that is below that of the budget by rounding only is replaced
    by it. rho and the pure bound stay as they are.

    Args:
        built: the cost of the mechanism, from the scales of its noise.
        epsilon: of the budget.
        delta: of the budget, in [0, 1).

    Raises:
        BudgetError: the mechanism costs more than the budget.
    """
    if not built.keeps(epsilon=epsilon, delta=delta):
        raise BudgetError(_excess_message(float(epsilon), delta))
    if built.pure is not None and built.pure <= Fraction(epsilon):
        stated_epsilon, stated_delta = rounded_up(built.pure), 0.0
    elif built.rho and delta:
        stated_epsilon, stated_delta = zcdp_epsilon(built.rho, delta=delta), delta
    else:
        stated_epsilon, stated_delta = built.epsilon, built.delta
    budget_epsilon = rounded_up(Fraction(epsilon))
    if stated_epsilon > budget_epsilon * (1 - _ROUNDING_LEFT):
        stated_epsilon = budget_epsilon
    return Cost(epsilon=stated_epsilon, delta=stated_delta, rho=built.rho, pure=built.pure)


def check_spent(built: Cost, budget: Cost) -> None:
    """Raise an error if one measurement of a mechanism costs more than its share of the budget.

    Costs are compared in the currency of the budget: the measurements before it were drawn under
    that currency, and the costs of all of them must add up in one.

    Args:
        built: the cost of the measurement, from the scales of its noise.
        budget: its share: pure, or zCDP, or else stated as (epsilon, delta).

    Raises:
        BudgetError: it costs more.
    """
    if built.epsilon == built.delta == 0:
        return
    if budget.pure is not None:
        within_budget = built.pure is not None and built.pure <= budget.pure
    elif budget.rho is not None:
        within_budget = built.rho is not None and built.rho <= budget.rho * (1 + _SUM_MARGIN)
    else:
        within_budget = built.keeps(epsilon=budget.epsilon, delta=budget.delta)
    if not within_budget:
        raise BudgetError(_excess_message(budget.epsilon, budget.delta))


def _excess_message(epsilon: float, delta: float) -> str:
    """Return the message for a mechanism that costs more than its budget."""
    return (
        f"as it was built this would cost more than epsilon = {epsilon:g}, delta = {delta:g}; "
        "nothing was released: prove the costs of your own parts, or report this"
    )


def compose(costs: Iterable[Cost], *, delta: float) -> Cost:
    """Return the cost of several mechanisms on one graph, run one after another or interleaved.

    epsilon is the smallest of these valid bounds:

    - the sum of the pure epsilons, if all costs are pure;
    - the sum of the stated epsilons, if the stated deltas add up to at most delta;
    - the rhos added up and converted for what the other costs leave of delta, plus the stated
      epsilons of all costs without a rho;
    - the same, with the pure costs on the side of the stated epsilons.

    The bound that is smallest depends on the costs. So the costs must be fixed before any of the
    mechanisms runs; for costs that are chosen adaptively see `filters.admits`.

    Args:
        costs: of the mechanisms.
        delta: that all of them may have together, in [0, 1); 0 if all are pure.

    Raises:
        ParameterError: no bound is known for this delta.

    Source: Bun, Steinke 2016 (zCDP adds up); Lyu 2022 and Vadhan, Zhang 2023 (also interleaved).
    """
    costs = list(costs)
    rho = _sum_if_known([cost.rho for cost in costs])
    pure = _sum_if_known([cost.pure for cost in costs])
    bounds = []  # pairs (epsilon, delta)
    if pure is not None:
        bounds.append((rounded_up(pure), 0.0))
    stated_delta = sum(cost.delta for cost in costs)
    if stated_delta <= delta:
        stated_epsilon = sum(Fraction(cost.epsilon) for cost in costs)
        bounds.append((rounded_up(stated_epsilon), stated_delta))
    # `converted` costs count by their rho, all `added` ones by their stated epsilon and delta. A
    # pure cost with a rho may be on either side; first all of these are converted, then none.
    for pure_as_zcdp in (True, False):
        converted = [
            cost for cost in costs if cost.rho is not None and (pure_as_zcdp or cost.pure is None)
        ]
        added = [
            cost for cost in costs if cost.rho is None or not (pure_as_zcdp or cost.pure is None)
        ]
        shared_rho = sum(cost.rho or 0.0 for cost in converted)
        added_delta = sum(cost.delta for cost in added if cost.pure is None)  # pure costs need none
        if shared_rho and added_delta < delta:
            # The conversion uses all of delta that the added costs leave.
            shared_epsilon = zcdp_epsilon(shared_rho, delta=delta - added_delta)
            epsilons = [*(cost.epsilon for cost in added), shared_epsilon]
            bounds.append((rounded_up(sum(Fraction(epsilon) for epsilon in epsilons)), delta))
    if not bounds:
        raise ParameterError(f"delta={delta:g} is less than what the mechanisms need; raise it")
    least_epsilon, its_delta = min(bounds)
    return Cost(epsilon=least_epsilon, delta=its_delta, rho=rho, pure=pure)


def _sum_if_known(numbers: list[Number | None]) -> Number | None:
    """Return the sum of numbers; None if one of them is None, or if there are none."""
    known = [number for number in numbers if number is not None]
    return sum(known[1:], known[0]) if len(known) == len(numbers) and known else None


def rounded_up(number: Fraction | int) -> float:
    """Return the least float that is not below an exact number."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def as_stored(number: float | Fraction) -> float:
    """Return a parameter as files and receipts hold it.

    A fraction becomes the largest float that is not above it; a float stays as it is. Scales of
    noise are computed from this float, so that whoever reads the file computes the same ones.
    """
    if not isinstance(number, Fraction):
        return number
    nearest = float(number)
    return nearest if nearest <= number else math.nextafter(nearest, -math.inf)


@lru_cache(maxsize=_CACHED, typed=True)
def zcdp_epsilon(rho: float, *, delta: float) -> float:
    """Return epsilon such that rho-zCDP implies (epsilon, delta)-DP, rounded up.

    epsilon = inf over a > 1 of a rho + ln(1 - 1/a) - ln(a delta)/(a - 1). Every a gives a valid
    epsilon, so an inexact search is safe.

    Args:
        rho: > 0.
        delta: in (0, 1).

    Raises:
        ParameterError: rho or delta is out of range.

    Source: Canonne, Kamath, Steinke 2020, Proposition 12.
    """
    check_positive(rho=rho)
    check_probability("delta", delta)

    def epsilon_at(log_excess: float) -> float:
        excess = math.exp(log_excess)  # a - 1
        a = 1 + excess
        return a * rho - math.log1p(1 / excess) - (math.log(a) + math.log(delta)) / excess

    # The best a - 1 is about sqrt(ln(1/delta)/rho); it is searched from e^-12 to e^6 times that.
    middle = math.log(-math.log(delta) / rho) / 2
    best = scipy.optimize.minimize_scalar(
        epsilon_at, bounds=(middle - 12, middle + 6), method="bounded", options={"xatol": 1e-9}
    )
    return max(0.0, float(best.fun)) * (1 + _SEARCH_MARGIN)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return delta in (0, 1] such that rho-zCDP implies (epsilon, delta)-DP.

    delta = inf over a > 1 of exp((a-1)(a rho - epsilon)) (1 - 1/a)^a/(a - 1). Every a gives a valid
    delta, so an inexact search is safe.

    Args:
        rho: > 0.
        epsilon: > 0.

    Raises:
        ParameterError: rho or epsilon is out of range.

    Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Corollary 13.
    """
    check_positive(rho=rho, epsilon=epsilon)
    return math.exp(_zcdp_log_delta(rho, epsilon))


@lru_cache(maxsize=_CACHED, typed=True)
def zcdp_rho(*, epsilon: float, delta: float) -> float:
    """Return the largest rho for which rho-zCDP implies (epsilon, delta)-DP, rounded down.

    For example, (1, 1e-6) allows 0.02436.

    Args:
        epsilon: > 0.
        delta: in (0, 1).

    Raises:
        ParameterError: epsilon or delta is out of range.
    """
    check_probability("delta", delta)
    check_positive(epsilon=epsilon)

    def log_ratio(log_rho: float) -> float:
        """Return ln(delta of rho) - ln delta, which grows with rho."""
        return _zcdp_log_delta(math.exp(log_rho), epsilon) - math.log(delta)

    low = math.log(epsilon) - 1
    while log_ratio(low) > 0:
        low -= 2
    high = low + 2
    while log_ratio(high) < 0:
        high += 2
    log_rho = float(scipy.optimize.brentq(log_ratio, low, high, xtol=1e-12))
    return math.exp(log_rho) * (1 - _SEARCH_MARGIN)


def _zcdp_log_delta(rho: float, epsilon: float) -> float:
    """Return the logarithm of `zcdp_delta`, which may be too small for a float."""

    def log_delta_at(log_excess: float) -> float:
        excess = math.exp(log_excess)  # a - 1
        a = 1 + excess
        return excess * (a * rho - epsilon) - a * math.log1p(1 / excess) - log_excess

    # The best a - 1 is at most about (epsilon + rho)/(2 rho) + 1/epsilon.
    log_largest = math.log(10 * (1 + epsilon / rho + 1 / epsilon))
    best = scipy.optimize.minimize_scalar(
        log_delta_at, bounds=(-20.0, log_largest), method="bounded", options={"xatol": 1e-9}
    )
    return min(0.0, float(best.fun))
