"""A privacy filter and an odometer: adding up costs that are chosen adaptively.

An analyst chooses the next session after seeing the answers of earlier ones. Then a *filter*
decides whether one more mechanism may run: `admits`. It must not accept whenever some valid bound
on a fixed list of costs holds, as `composition.compose` does. The costs depend on earlier answers:
each sequence of answers is a *branch*. If one bound holds on some branches and another one on the
others, and each may fail with probability delta, then together they may fail with more than delta.
So the filter here has three criteria that divide delta between them. Each is a filter by itself:

1. *Pure*: all costs are pure, and their epsilons add up to at most epsilon. It needs no delta.
2. *Stated*: the stated epsilons add up to at most epsilon, and the deltas to at most delta/2.
3. *Renyi*: the Renyi divergences at one order a, fixed beforehand, add up to at most
   epsilon - ln((a-1)/a) + (ln(delta/2) + ln a)/(a-1).

Theorem "A filter with several criteria" of docs/mathematics.md proves that accepting what any of
them accepts is (epsilon, delta)-DP. A single mechanism may also take the whole budget by any of its
bounds, since it is chosen before any answer. All of this holds, too, for interactive mechanisms
that run at the same time.

`least_epsilon` reads the filter as an odometer. A `Cost` has the stated epsilon (`exact_epsilon`)
and delta, and perhaps a pure epsilon and a zCDP rho; all its bounds hold.

Source: basic composition: Rogers, Roth, Ullman, Vadhan, *Privacy Odometers and Filters*, 2016;
Renyi: Feldman, Zrnic, *Individual Privacy Accounting via a Renyi Filter*, 2021, with the conversion
of Canonne, Kamath, Steinke 2020, Prop. 12; interleaved: Haney, Shoemate, Tian, Vadhan, Vyrros, Xu,
Zhang, *Concurrent Composition for Interactive Differential Privacy with Adaptive Privacy-Loss
Parameters*, 2023.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, Self, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_epsilon

# Budgets are compared to 12 digits: 0.1 + 0.2 is more than 0.3 as floats.
_BUDGET_ROUNDING = Fraction(1, 10**12)
_DIVERGENCE_ROUNDING = (
    1e-9  # relative: more than the errors of sums of divergences and of their bound
)
_RENYI_ORDERS = tuple(1 + 2 ** (step / 4) for step in range(-40, 100))  # 1 + 2^-10 ... 1 + 2^25
_LARGEST_EPSILON = 1e9  # at which `least_epsilon` begins its search
_ODOMETER_WIDTH = 1e-4  # relative: `least_epsilon` is right to nearly four digits
_SWITCH_WIDTH = 1e-6  # relative: more than roundings move an epsilon at which the order changes


def admits(costs: Sequence[Cost], *, epsilon: float, delta: float) -> bool:
    """Return True if mechanisms of these costs, chosen adaptively, stay within a budget.

    Args:
        costs: in the order in which they were chosen.
        epsilon: of the budget, > 0 (or 0 for no costs); it is compared to 12 digits.
        delta: of the budget, in [0, 1).

    Privacy:
        Theorem "A filter with several criteria": a tree of mechanisms in which the costs of every
        path are admitted is (epsilon, delta)-DP.
    """
    order = renyi_order(epsilon, delta) if 0 < delta < 1 else None
    return CostSum.of(costs, order).admitted(epsilon=epsilon, delta=delta)


@final
@dataclass(frozen=True)
class CostSum:
    """All that criteria 1 to 3 ask of the costs of some mechanisms: how much it adds up to.

    A sum of 10,000 costs is as small as that of two. So a store that keeps it decides about one
    more use without reading the earlier ones.

    Attributes:
        count: how many mechanisms there are.
        pure: sum of the exact pure epsilons; None if one of the costs has none.
        stated: sum of the stated epsilons.
        deltas: sum of the deltas that are stated beside them; 0 for pure costs.
        order: a > 1, at which divergences are added; None if no budget needs them.
        divergence: sum of the bounds on the Renyi divergences of this order, right to
            `_DIVERGENCE_ROUNDING`; infinity if there is no bound, 0 without an order.
        single: the cost, if there is one; else None.
    """

    count: int = 0
    pure: Fraction | None = Fraction(0)
    stated: Fraction = Fraction(0)
    deltas: Fraction = Fraction(0)
    order: float | None = None
    divergence: float = 0.0
    single: Cost | None = None

    @classmethod
    def of(cls, costs: Sequence[Cost], order: float | None) -> Self:
        """Add up costs.

        Args:
            costs: in any order.
            order: as the attribute.
        """
        pure = [cost.pure for cost in costs if cost.pure is not None]
        divergences = [] if order is None else [renyi_cost(cost, order) for cost in costs]
        return cls(
            count=len(costs),
            pure=sum(pure, Fraction(0)) if len(pure) == len(costs) else None,
            stated=sum((cost.exact_epsilon for cost in costs), Fraction(0)),
            deltas=sum((Fraction(cost.delta) for cost in costs if cost.pure is None), Fraction(0)),
            order=order,
            divergence=math.fsum(divergences),
            single=costs[0] if len(costs) == 1 else None,
        )

    def __add__(self, other: Self) -> "CostSum":
        """Return the sum of the costs of both; their orders must agree."""
        if self.order != other.order:
            raise ValueError("divergences of different orders do not add up")
        pure = None if self.pure is None or other.pure is None else self.pure + other.pure
        return CostSum(
            count=self.count + other.count,
            pure=pure,
            stated=self.stated + other.stated,
            deltas=self.deltas + other.deltas,
            order=self.order,
            divergence=self.divergence + other.divergence,
            single=(self.single or other.single) if self.count + other.count == 1 else None,
        )

    def agrees(self, other: Self) -> bool:
        """Return True if both are sums of the same costs, whose divergences may be rounded."""
        same = replace(self, divergence=0.0) == replace(other, divergence=0.0)
        return same and (
            self.divergence == other.divergence
            or math.isclose(self.divergence, other.divergence, rel_tol=_DIVERGENCE_ROUNDING)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; the order is not among them."""
        return {
            "count": self.count,
            "pure": None if self.pure is None else str(self.pure),
            "stated": str(self.stated),
            "deltas": str(self.deltas),
            "divergence": self.divergence if math.isfinite(self.divergence) else None,
            "single": None if self.single is None else self.single.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any], order: float | None) -> "CostSum":
        """Read what `to_dict` wrote.

        Raises:
            LookupError, TypeError, ValueError: it wrote something else.
        """
        divergence = stored["divergence"]
        return cls(
            count=int(stored["count"]),
            pure=None if stored["pure"] is None else Fraction(stored["pure"]),
            stated=Fraction(stored["stated"]),
            deltas=Fraction(stored["deltas"]),
            order=order,
            divergence=math.inf if divergence is None else float(divergence),
            single=None if stored["single"] is None else Cost.from_dict(stored["single"]),
        )

    def admitted(self, *, epsilon: float, delta: float) -> bool:
        """Return True if mechanisms of these costs stay within a budget, see `admits`.

        Args:
            epsilon: of the budget, > 0 (or 0 for no costs).
            delta: of the budget, in [0, 1). If it is above 0, the order must be the
                `renyi_order` of the budget.
        """
        epsilon_limit = Fraction(epsilon) * (1 + _BUDGET_ROUNDING)
        if self.pure is not None and self.pure <= epsilon_limit:
            return True
        if self.single is not None and _within(self.single, epsilon_limit, delta):
            return True
        if not 0 < delta < 1:
            return False
        delta_limit = Fraction(delta) / 2 * (1 + _BUDGET_ROUNDING)
        if self.stated <= epsilon_limit and self.deltas <= delta_limit:
            return True
        if self.order is None or self.order != renyi_order(epsilon, delta):
            raise ValueError("divergences were added at the order of another budget")
        return self.divergence <= renyi_budget(self.order, epsilon, delta)


@final
class CostSums:
    """Keep the `CostSum` of the same costs at each requested order; more costs can be added.

    A server keeps one for each analyst: what one more use costs depends on the orders that were
    asked for, of which there are 140, and not on the number of earlier uses.

    Args:
        costs: in any order.
    """

    def __init__(self, costs: Iterable[Cost] = ()) -> None:
        self._costs = Counter(costs)
        self._sums: dict[float | None, CostSum] = {}

    def add(self, cost: Cost) -> None:
        """Count one more cost."""
        self._costs[cost] += 1
        for order, present in self._sums.items():
            self._sums[order] = present + CostSum.of([cost], order)

    def with_more(self, costs: Iterable[Cost]) -> "CostSums":
        """Return the sums of these costs and others."""
        more = CostSums()
        more._costs, more._sums = self._costs.copy(), self._sums.copy()
        for cost in costs:
            more.add(cost)
        return more

    def elements(self) -> list[Cost]:
        """Return all costs, equal ones together."""
        return list(self._costs.elements())

    @property
    def count(self) -> int:
        """Return the number of costs."""
        return self._costs.total()

    def allows(self, cost: Cost, *, epsilon: float, delta: float) -> bool:
        """Return True if one more mechanism stays within a budget beside these, see `admits`."""
        order = renyi_order(epsilon, delta) if 0 < delta < 1 else None
        together = self.at(order) + CostSum.of([cost], order)
        return together.admitted(epsilon=epsilon, delta=delta)

    def at(self, order: float | None) -> CostSum:
        """Return the sum at an order, see `CostSum`."""
        if order not in self._sums:
            self._sums[order] = CostSum.of(self.elements(), order)
        return self._sums[order]

    def admitted(self, *, epsilon: float, delta: float) -> bool:
        """Return True if all of these stay within a budget, see `admits`."""
        order = renyi_order(epsilon, delta) if 0 < delta < 1 else None
        return self.at(order).admitted(epsilon=epsilon, delta=delta)

    def least_epsilon(self, *, delta: float) -> float:
        """Return what `least_epsilon` does for these costs.

        Raises:
            ParameterError: as there.
        """
        low, high = 0.0, _LARGEST_EPSILON
        top = high  # from which on criterion 1 or 2 holds, or the search ends
        if not self.admitted(epsilon=high, delta=delta):
            raise ParameterError(f"delta={delta:g} is less than what the mechanisms need; raise it")
        # The sum is often the answer, exactly, and else a better start than 10^9.
        stated = rounded_up(self.at(None).stated)
        if self.admitted(epsilon=stated, delta=delta):
            high = top = stated
        return _beyond_gaps(self, _bisected(self, low, high, delta), top, delta)


def least_epsilon(costs: Sequence[Cost], *, delta: float) -> float:
    """Return nearly the least epsilon from which on `admits` holds for a delta; never less.

    It is at most 1e-4, relatively, above some epsilon that is not admitted; 0 for no costs.

    This is an odometer: an analyst who stops before it passes a number fixed beforehand has spent
    at most that number. For let e be the number. At each step the odometer is at most e, and
    `admits` holds at every epsilon from the odometer on, so at e: the filter for e admits each
    path. That it holds at the odometer alone would not do. Criterion 3 takes another order at each
    epsilon, and one that allows more zCDP may allow less of pure mechanisms, so that `admits` may
    fail again at a larger epsilon; see `_beyond_gaps`.

    Args:
        costs: in the order in which they were chosen.
        delta: in [0, 1).

    Raises:
        ParameterError: no epsilon up to 10^9 suffices: the costs need more than delta.
    """
    return CostSums(costs).least_epsilon(delta=delta)


def _bisected(costs: CostSums, low: float, high: float, delta: float) -> float:
    """Return an admitted epsilon that is within the width of the odometer of one that is not.

    Args:
        costs: as for `least_epsilon`.
        low: an epsilon that is not admitted, or 0.
        high: an epsilon that is admitted.
        delta: as for `least_epsilon`.
    """
    # Halve low..high, on the scale of logarithms once low is above 0. `high` is always admitted.
    while high - low > _ODOMETER_WIDTH * high:
        middle = math.sqrt(low * high) if low else high / 2
        if costs.admitted(epsilon=middle, delta=delta):
            high = middle
        else:
            low = middle
    return high


def _beyond_gaps(costs: CostSums, high: float, top: float, delta: float) -> float:
    """Return the least admitted epsilon, from `high` on, above which all are admitted.

    Between two `order_switches` criterion 3 has one order, so the epsilons that it admits have no
    gap there; the other criteria have none at all. So it suffices to look at both ends of each
    switch, with the orders of both sides.

    Args:
        costs: as for `least_epsilon`.
        high: an epsilon that is admitted.
        top: an epsilon from which on all are admitted, or the largest one that counts.
        delta: as for `least_epsilon`.
    """
    if not 0 < delta < 1:
        return high
    least = high / (1 + _SWITCH_WIDTH)
    switches = [switch for switch in order_switches(delta) if least < switch.epsilon < top]
    ends = [switch.epsilon * (1 - _SWITCH_WIDTH) for switch in switches[1:]]
    for switch, end in zip(switches, [*ends, top], strict=False):  # none if there is no switch
        below, above = (switch.epsilon * (1 + sign * _SWITCH_WIDTH) for sign in (-1, 1))
        start = max(below, high)
        if start >= above or all(
            _renyi_admits(costs, order, start, delta) for order in switch.orders
        ):
            continue
        # From here to the next switch there is one order: if its end is not admitted, nothing is.
        if costs.admitted(epsilon=end, delta=delta):
            high = _bisected(costs, above, end, delta) if above < end else end
        else:
            high = end  # and the next switch finds it not admitted
    return high


class OrderSwitch(NamedTuple):
    """An epsilon at which criterion 3 changes its order.

    Attributes:
        epsilon: where it changes, right to `_SWITCH_WIDTH`.
        orders: below and above.
    """

    epsilon: float
    orders: tuple[float, float]


@lru_cache(maxsize=64)
def order_switches(delta: float) -> tuple[OrderSwitch, ...]:
    """Return where `renyi_order` changes with epsilon, ascending.

    The order a maximises a line in epsilon, (epsilon + c_a)/a with c_a from `renyi_budget`; its
    rounding moves the lines by `_DIVERGENCE_ROUNDING` relatively. The largest of the lines is
    convex and piecewise linear, with the smaller orders, of larger slope, to the right.

    Args:
        delta: of the whole budget, in (0, 1).
    """
    log_delta = math.log(delta) - math.log(2)
    hull: list[tuple[float, float]] = []  # (order, epsilon from which on it is the best)
    for order in reversed(_RENYI_ORDERS):  # ascending slopes
        excess = order - 1
        constant = math.log1p(1 / excess) + (log_delta + math.log(order)) / excess
        start = -math.inf
        while hull:
            other, since = hull[-1]
            other_excess = other - 1
            other_constant = (
                math.log1p(1 / other_excess) + (log_delta + math.log(other)) / other_excess
            )
            # (e + c)/a = (e + c')/a' at e = (c' a - c a')/(a' - a)
            start = (other_constant * order - constant * other) / (other - order)
            if start > since:
                break
            hull.pop()
            start = -math.inf
        hull.append((order, start))
    return tuple(
        OrderSwitch(start, (before[0], order))
        for before, (order, start) in pairwise(hull)
        if start > 0
    )


def _renyi_admits(costs: CostSums, order: float, epsilon: float, delta: float) -> bool:
    """Return True if criterion 3 holds at an order."""
    return costs.at(order).divergence <= renyi_budget(order, epsilon, delta)


@lru_cache(maxsize=256)
def renyi_order(epsilon: float, delta: float) -> float:
    """Return the order at which the Renyi criterion of a budget allows the largest zCDP cost.

    Args:
        epsilon: > 0.
        delta: of the whole budget, in (0, 1).
    """
    return max(_RENYI_ORDERS, key=lambda order: renyi_budget(order, epsilon, delta) / order)


def renyi_budget(order: float, epsilon: float, delta: float) -> float:
    """Return the limit of criterion 3 on the sum of Renyi divergences of an order, rounded down.

    It is negative if delta is too small for this order and epsilon.

    Args:
        order: a > 1.
        epsilon: > 0.
        delta: of the whole budget, in (0, 1); half of it is for this criterion.
    """
    log_delta = math.log(delta) - math.log(2)
    excess = order - 1
    limit = epsilon + math.log1p(1 / excess) + (log_delta + math.log(order)) / excess
    return limit - _DIVERGENCE_ROUNDING * (abs(limit) + epsilon)


def renyi_cost(cost: Cost, order: float) -> float:
    """Return an upper bound on the Renyi divergence of a mechanism; infinity if none is known.

    rho-zCDP means at most a rho. An epsilon-DP mechanism has at most the divergence of randomised
    response, since it can be simulated from one answer of that:

        ln((e^(a epsilon) + e^((1-a) epsilon))/(1 + e^epsilon))/(a - 1).

    Args:
        cost: of the mechanism.
        order: a > 1.

    Source: Kairouz, Oh, Viswanath 2015; interactive mechanisms: Lyu 2022.
    """
    divergence = math.inf if cost.rho is None else order * cost.rho
    if cost.pure is not None:
        epsilon = float(cost.pure) * (1 + 1e-15)  # at least the exact one
        # The fraction is e^((a-1) epsilon) (1 + e^((1-2a) epsilon))/(1 + e^-epsilon).
        inner = math.log1p(math.exp((1 - 2 * order) * epsilon)) - math.log1p(math.exp(-epsilon))
        divergence = min(divergence, max(0.0, epsilon + inner / (order - 1)))
    return divergence


def _within(cost: Cost, epsilon_limit: Fraction, delta: float) -> bool:
    """Return True if one mechanism alone stays within a budget, by any of its bounds.

    Epsilon and delta are compared to 12 digits, as by `admits`.
    """
    stated_delta_fits = cost.pure is not None or cost.delta <= delta * (1 + 1e-12)
    if cost.exact_epsilon <= epsilon_limit and stated_delta_fits:
        return True
    return (
        cost.rho is not None and delta > 0 and zcdp_epsilon(cost.rho, delta=delta) <= epsilon_limit
    )
