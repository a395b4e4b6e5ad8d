"""When may one more mechanism be run: a privacy filter for costs that are chosen adaptively.

Whoever asks chooses the next session after seeing the answers of those before, so that different
bounds on the sum may be the smallest on different branches. A rule that admits a session where
*any* valid bound on a fixed list of costs holds is then no filter: its branches can add up to more
than delta. The rule here has several criteria, each a filter by itself, with delta divided among
them before anything is asked.

**Theorem.** Let a rule admit a list of costs if one of criteria 1..m admits it. Let criterion k
alone be a filter for (epsilon, delta_k): a tree of mechanisms of which every path meets it is
(epsilon, delta_k)-DP; and let it admit every beginning of a list that it admits. Then every tree
that the rule admits is (epsilon, sum of delta_k)-DP.

Proof. Let P and Q be the distributions of the transcript for two neighbours. Each transcript t of
the tree ends with costs that some criterion admits; let A_k be those for which k is the first. Stop
the tree before the first mechanism that criterion k does not admit: a tree all of whose paths meet
k, with distributions P_k and Q_k. A transcript in A_k is nowhere stopped, since all its beginnings
meet k, too, so P(t) = P_k(t) and Q(t) = Q_k(t). Hence for every event S

    P(S) - e^epsilon Q(S) = sum over k of P(S, A_k) - e^epsilon Q(S, A_k)
                          = sum over k of P_k(S, A_k) - e^epsilon Q_k(S, A_k) <= sum of delta_k.

**Criteria**, each a filter for adaptively chosen parameters:

1. *Pure*: all costs are pure, and their epsilons add up to at most epsilon. delta_1 = 0.
2. *Stated*: the stated epsilons add up to at most epsilon and the deltas to at most delta/2 (basic
   composition: Rogers, Roth, Ullman, Vadhan, *Privacy Odometers and Filters*, 2016).
3. *Renyi*: the Renyi divergences at one order a, fixed beforehand, add up to at most
   epsilon - ln((a-1)/a) + (ln(delta/2) + ln a)/(a-1) (Feldman, Zrnic, *Individual Privacy
   Accounting via a Renyi Filter*, 2021; conversion: Canonne, Kamath, Steinke 2020, Prop. 12).

Besides, a first mechanism may take the whole budget by whichever of its bounds is the least: it is
chosen before any answer. If no criterion admits it, then none admits a longer list, and the tree is
this one mechanism. If one does, the theorem covers the paths that end after it.

**Sessions side by side** are interactive mechanisms whose questions interleave, with parameters
chosen meanwhile: filters of (epsilon, delta) and of a Renyi divergence of fixed order hold for
them, too (Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang, *Concurrent Composition for Interactive
Differential Privacy with Adaptive Privacy-Loss Parameters*, 2023), and the proof
above never uses that a mechanism has ended before the next begins.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_epsilon

_SLACK = Fraction(1, 10**12)  # 0.1 + 0.2 is more than 0.3 as floats; budgets are read to 12 digits
_ROUNDING = 1e-9  # relative: sums of Renyi divergences and their bound are off by less
_ORDERS = tuple(1 + 2 ** (step / 4) for step in range(-40, 100))  # of the Renyi criterion


@lru_cache(maxsize=256)
def renyi_order(epsilon: float, delta: float) -> float:
    """The order at which the Renyi criterion of a budget allows the largest zCDP cost.

    Args:
        epsilon: > 0.
        delta: in (0, 1), of the whole budget.
    """
    return max(_ORDERS, key=lambda order: renyi_budget(order, epsilon, delta) / order)


def renyi_budget(order: float, epsilon: float, delta: float) -> float:
    """What Renyi divergences of an order may add up to under criterion 3, rounded down.

    Negative where the delta is too small for this order and epsilon.

    Args:
        order: > 1.
        epsilon: > 0.
        delta: in (0, 1), of the whole budget: half of it is this criterion's.
    """
    log_delta = math.log(delta) - math.log(2)
    excess = order - 1
    most = epsilon + math.log1p(1 / excess) + (log_delta + math.log(order)) / excess
    return most - _ROUNDING * (abs(most) + epsilon)


def renyi_cost(cost: Cost, order: float) -> float:
    """The Renyi divergence of an order that a mechanism may have; infinite where none is known.

    rho-zCDP is order * rho. An epsilon-DP mechanism is at most that of randomised response, since
    it can be simulated from one answer of that (Kairouz, Oh, Viswanath 2015; interactive ones: Lyu
    2022): ln((e^(order epsilon) + e^((1 - order) epsilon)) / (1 + e^epsilon)) / (order - 1).
    """
    found = math.inf if cost.rho is None else order * cost.rho
    if cost.pure is not None:
        epsilon = float(cost.pure) * (1 + 1e-15)
        # e^epsilon, where the divergence at order infinity lies, is taken out of the fraction.
        inner = math.log1p(math.exp((1 - 2 * order) * epsilon)) - math.log1p(math.exp(-epsilon))
        found = min(found, max(0.0, epsilon + inner / (order - 1)))
    return found


def admits(costs: Sequence[Cost], *, epsilon: float, delta: float) -> bool:
    """Whether mechanisms of these costs, chosen adaptively in this order, stay within a budget.

    Args:
        costs: in the order in which they were chosen, which matters for the first alone.
        epsilon: > 0.
        delta: in [0, 1).

    Guarantee: a tree of mechanisms in which every path is admitted is (epsilon, delta)-DP: see the
    theorem above. epsilon is taken to 12 digits.
    """
    most = Fraction(epsilon) * (1 + _SLACK)
    pure = [cost.pure for cost in costs if cost.pure is not None]
    if len(pure) == len(costs) and sum(pure, Fraction(0)) <= most:
        return True
    if len(costs) == 1 and _within(costs[0], most, delta):
        return True
    if not 0 < delta < 1:
        return False
    stated = sum((exact(cost) for cost in costs), Fraction(0))
    deltas = sum((Fraction(cost.delta) for cost in costs if cost.pure is None), Fraction(0))
    if stated <= most and deltas <= Fraction(delta) / 2 * (1 + _SLACK):
        return True
    order = renyi_order(epsilon, delta)
    divergence = math.fsum(renyi_cost(cost, order) for cost in costs)
    return divergence <= renyi_budget(order, epsilon, delta)


def least_epsilon(costs: Sequence[Cost], *, delta: float) -> float:
    """The least epsilon, to three digits and rounded up, at which `admits` holds for a delta.

    Read as an odometer: whoever stops before it passes a number fixed beforehand is within that.

    Raises:
        ParameterError: no epsilon up to 10^9 is enough: the deltas of the costs add up to more.
    """
    low, high = 0.0, 1e9
    if not admits(costs, epsilon=high, delta=delta):
        raise ParameterError(f"delta={delta:g} is less than what the mechanisms need; raise it")
    single = sum((exact(cost) for cost in costs), Fraction(0))
    if admits(costs, epsilon=rounded_up(single), delta=delta):
        high = rounded_up(single)
    while high - low > 1e-4 * high:
        middle = math.sqrt(low * high) if low else high / 2
        if admits(costs, epsilon=middle, delta=delta):
            high = middle
        else:
            low = middle
    return high


def _within(cost: Cost, most: Fraction, delta: float) -> bool:
    """Whether one mechanism alone stays within a budget, by any of its bounds."""
    if exact(cost) <= most and (cost.pure is not None or cost.delta <= delta * (1 + 1e-12)):
        return True
    return cost.rho is not None and delta > 0 and zcdp_epsilon(cost.rho, delta=delta) <= most


def exact(cost: Cost) -> Fraction:
    """The epsilon that a cost states, as a fraction."""
    return Fraction(cost.epsilon) if cost.pure is None else cost.pure
