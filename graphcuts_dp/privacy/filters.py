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
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_epsilon

# Budgets are compared to 12 digits: 0.1 + 0.2 is more than 0.3 as floats.
_BUDGET_ROUNDING = Fraction(1, 10**12)
_DIVERGENCE_ROUNDING = 1e-9  # relative: more than sums of divergences and their bound are off by
_RENYI_ORDERS = tuple(1 + 2 ** (step / 4) for step in range(-40, 100))  # 1 + 2^-10 ... 1 + 2^25
_LARGEST_EPSILON = 1e9  # at which `least_epsilon` begins its search
_ODOMETER_WIDTH = 1e-4  # relative: `least_epsilon` is right to nearly four digits


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
    epsilon_limit = Fraction(epsilon) * (1 + _BUDGET_ROUNDING)
    pure = [cost.pure for cost in costs if cost.pure is not None]
    if len(pure) == len(costs) and sum(pure, Fraction(0)) <= epsilon_limit:
        return True
    if len(costs) == 1 and _within(costs[0], epsilon_limit, delta):
        return True
    if not 0 < delta < 1:
        return False
    stated = sum((cost.exact_epsilon for cost in costs), Fraction(0))
    deltas = sum((Fraction(cost.delta) for cost in costs if cost.pure is None), Fraction(0))
    delta_limit = Fraction(delta) / 2 * (1 + _BUDGET_ROUNDING)
    if stated <= epsilon_limit and deltas <= delta_limit:
        return True
    order = renyi_order(epsilon, delta)
    divergence = math.fsum(renyi_cost(cost, order) for cost in costs)
    return divergence <= renyi_budget(order, epsilon, delta)


def least_epsilon(costs: Sequence[Cost], *, delta: float) -> float:
    """Return nearly the least epsilon at which `admits` holds for a delta; never less.

    It is at most 1e-4, relatively, above some epsilon that is not admitted; 0 for no costs.

    This is an odometer: an analyst who stops before it passes a number fixed beforehand has spent
    at most that number.

    Args:
        costs: in the order in which they were chosen.
        delta: in [0, 1).

    Raises:
        ParameterError: no epsilon up to 10^9 suffices: the costs need more than delta.
    """
    low, high = 0.0, _LARGEST_EPSILON
    if not admits(costs, epsilon=high, delta=delta):
        raise ParameterError(f"delta={delta:g} is less than what the mechanisms need; raise it")
    # The sum is often the answer, exactly, and else a better start than 10^9.
    stated = sum((cost.exact_epsilon for cost in costs), Fraction(0))
    if admits(costs, epsilon=rounded_up(stated), delta=delta):
        high = rounded_up(stated)
    # Halve low..high, on the scale of logarithms once low is above 0. `high` is always admitted, so
    # the result is valid even where `admits` does not grow with epsilon: its order depends on it.
    while high - low > _ODOMETER_WIDTH * high:
        middle = math.sqrt(low * high) if low else high / 2
        if admits(costs, epsilon=middle, delta=delta):
            high = middle
        else:
            low = middle
    return high


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
