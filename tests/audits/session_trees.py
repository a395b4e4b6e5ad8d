"""A store's budget against analysts who choose sessions by the privacy loss of those before.

A session is as bad as its cost allows: the Gaussian mechanism for a zCDP cost, randomised response
for a pure one, and with a delta an output that gives everything away. The privacy loss of all that
came before is known at each step (the worst analyst could compute it from a guess of the graph),
and the next session is the one, of those that the budget's rule admits, with which the loss passes
the budget's epsilon by most. So for given menus the worst of all adaptive trees is computed, not
searched for; only first sessions and menus are tried at random.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import scipy

from graphcuts_dp import ParameterError
from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.plugins import Cost
from graphcuts_dp.privacy.composition import compose, rounded_up, zcdp_epsilon, zcdp_rho
from graphcuts_dp.privacy.filters import admits
from tests.audits.base import Enumerated, audited
from tests.audits.losses import DistributionPair

# Whether a list of costs is within (epsilon, delta).
Rule = Callable[[Sequence[Cost], float, float], bool]
KINDS = ("pure", "gaussian", "stated")
_CELLS = 240  # of the privacy loss of a Gaussian session
_WIDE = 9.0  # standard deviations that they span
_PRECISION = 1e-3  # relative, of the largest session that a rule admits
_SMALLEST = 1e-6  # of the budget: smaller sessions are not tried
_DELTA = 1e-3  # of the audited budget
_UNSTATED = 1e9  # epsilon of a session of which only the zCDP cost counts


def the_rule(costs: Sequence[Cost], epsilon: float, delta: float) -> bool:
    """The rule of a store's budget."""
    return admits(costs, epsilon=epsilon, delta=delta)


def any_bound(costs: Sequence[Cost], epsilon: float, delta: float) -> bool:
    """A broken rule: any bound that is valid for costs fixed beforehand."""
    plain = sum((Fraction(cost.epsilon) for cost in costs), Fraction(0))
    deltas = sum(cost.delta for cost in costs if cost.pure is None)
    if plain <= epsilon and deltas <= delta * (1 + 1e-12):
        return True
    try:
        return compose(costs, delta=delta).epsilon <= epsilon
    except ParameterError:
        return False


@final
@dataclass(frozen=True)
class Losses:
    """The distribution of a session's privacy loss on two neighbours, in cells.

    Attributes:
        first: probabilities of the cells on one neighbour.
        second: on the other.
    """

    first: FloatVector
    second: FloatVector

    @property
    def loss(self) -> FloatVector:
        """The logarithm of their ratio; infinite for what happens on the first only."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: FloatVector = np.log(self.first) - np.log(self.second)
        found[self.first == 0] = -np.inf
        return found


def losses_of(cost: Cost) -> Losses:
    """The worst session of a cost. Cells merge outputs, which overstates nothing."""
    if cost.rho is not None and cost.pure is None:
        spread = math.sqrt(2 * cost.rho)
        inner = np.linspace(-_WIDE, _WIDE, _CELLS - 1)
        return Losses(_cell_masses(inner), _cell_masses(inner + spread))
    epsilon, delta = cost.epsilon, 0.0 if cost.pure is not None else cost.delta
    likely = 1 / (1 + math.exp(-epsilon))
    bit = np.array([likely, 1 - likely]) * (1 - delta)
    return Losses(np.append(bit, [delta, 0.0]), np.append(bit[::-1], [0.0, delta]))


def _cell_masses(edges: FloatVector) -> FloatVector:
    """Normal probabilities between edges and beyond the outer ones, exact in both tails."""
    below, above = scipy.special.ndtr(edges), scipy.special.ndtr(-edges)
    inner = np.where(edges[1:] < 0, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], inner, above[-1:]])


def excess(cost: Cost, epsilon: FloatVector) -> FloatVector:
    """Largest P(S) - e^epsilon Q(S) of the worst session of a cost, for many epsilons."""
    if cost.rho is not None and cost.pure is None:
        spread = math.sqrt(2 * cost.rho)
        at = epsilon / spread
        return np.asarray(
            scipy.special.ndtr(spread / 2 - at)
            - np.exp(epsilon + scipy.special.log_ndtr(-spread / 2 - at))
        )
    delta = 0.0 if cost.pure is not None else cost.delta
    likely = 1 / (1 + math.exp(-cost.epsilon))
    with np.errstate(over="ignore"):
        # Losses of +-epsilon: what each probability exceeds, where it does.
        high = np.maximum(0, likely - np.exp(epsilon) * (1 - likely))
        low = np.maximum(0, (1 - likely) - np.exp(epsilon) * likely)
    return np.asarray(delta + (1 - delta) * (high + low))


def gaussian(rho: float, delta: float) -> Cost:
    """A session of fresh Gaussian noise, stated as sharply as it can be for a delta."""
    bare = Cost(epsilon=0.0, rho=rho)
    least = scipy.optimize.brentq(
        lambda epsilon: float(excess(bare, np.array([epsilon]))[0]) - delta,
        -1.0,
        zcdp_epsilon(rho, delta=delta),
        xtol=1e-12,
    )
    return Cost(epsilon=max(0.0, least) * (1 + 1e-9) + 1e-9, delta=delta, rho=rho)


def largest(
    kind: str, before: Sequence[Cost], rule: Rule, epsilon: float, delta: float
) -> Cost | None:
    """The largest session of a kind that a rule admits after others, to a thousandth, or None.

    Args:
        kind: "pure", "gaussian" or "stated".
        before: costs of the sessions before.
        rule: of the budget.
        epsilon: of the budget.
        delta: of the budget.
    """
    spent = sum(cost.delta for cost in before if cost.pure is None)

    def made(size: float) -> Cost:
        if kind == "pure":
            return Cost.of_pure(Fraction(size))
        if kind == "gaussian":
            return Cost(epsilon=_UNSTATED, delta=delta, rho=size)
        return Cost(epsilon=size, delta=max(0.0, delta / 2 - spent))

    low, high = epsilon * _SMALLEST, 2 * epsilon + 1
    if not rule([*before, made(low)], epsilon, delta):
        return None
    while high > low * (1 + _PRECISION):
        middle = math.sqrt(low * high)
        if rule([*before, made(middle)], epsilon, delta):
            low = middle
        else:
            high = middle
    return made(low)


def worst_tree(first: Cost, menu: Sequence[Cost], epsilon: float) -> float:
    """The delta at epsilon of the worst tree: after the first session one of a menu, or none.

    Args:
        first: cost of the first session.
        menu: costs to choose from after it.
        epsilon: of the budget.
    """
    cells = losses_of(first)
    found, sure = cells.loss, cells.first > 0
    left = np.where(np.isfinite(found), epsilon - found, 0.0)[sure]
    options = [-np.expm1(np.minimum(left, 0))] + [excess(cost, left) for cost in menu]
    best = np.where(np.isposinf(found[sure]), 1.0, np.max(options, axis=0))
    return float(cells.first[sure] @ best)


def tree_distribution(
    first: Cost, menu: Sequence[Cost], epsilon: float, name: str
) -> DistributionPair:
    """The distribution of all transcripts of that tree on both neighbours."""
    cells = losses_of(first)
    with np.errstate(invalid="ignore"):
        left = epsilon - cells.loss
    finite = np.where(np.isfinite(left), left, 0.0)
    options = np.array([excess(cost, finite) for cost in menu])
    choice = options.argmax(axis=0)
    parts = []
    for number, cost in enumerate(menu):
        here, then = choice == number, losses_of(cost)
        parts.append(
            (np.outer(cells.first[here], then.first), np.outer(cells.second[here], then.second))
        )
    first_side, second_side = (
        np.concatenate([part[side].ravel() for part in parts]) for side in (0, 1)
    )
    return DistributionPair(name, first_side, second_side)


def random_trees(
    rule: Rule, epsilon: float, delta: float, count: int, seed: int
) -> Iterator[tuple[Cost, list[Cost]]]:
    """First sessions and menus that a rule admits: the largest of each kind, for random firsts.

    Args:
        rule: of the budget.
        epsilon: of the budget.
        delta: of the budget.
        count: how many trees.
        seed: of the choice.
    """
    rng = np.random.default_rng(seed)
    whole = zcdp_rho(epsilon=epsilon, delta=delta)
    made = 0
    while made < count:
        share = 10 ** rng.uniform(-3, 0)  # small first sessions leave the most to choose
        kind = rng.choice(["gaussian", "gaussian", "gaussian", "pure", "stated"])
        if kind == "gaussian":
            first = gaussian(whole * share, delta * float(rng.choice([1.0, 1.0, 0.5, 0.01])))
        elif kind == "pure":
            first = Cost.of_pure(Fraction(epsilon * share))
        else:
            first = Cost(epsilon=epsilon * share, delta=delta / 2 * rng.random())
        if not rule([first], epsilon, delta):
            continue
        made += 1
        found = (largest(after, [first], rule, epsilon, delta) for after in KINDS)
        yield first, [cost for cost in found if cost is not None]


BUDGETS = ((8.0, 1e-2), (4.0, 1e-6), (2.0, 1e-6))  # where the broken rule shows most


def search(
    rule: Rule, *, count: int, seed: int = 1, budgets: Sequence[tuple[float, float]] = BUDGETS
) -> float:
    """The largest delta of any tree tried, over that of its budget.

    Args:
        rule: of the budget.
        count: trees for each budget.
        seed: of the choice.
        budgets: (epsilon, delta).
    """
    worst = 0.0
    for epsilon, delta in budgets:
        for first, menu in random_trees(rule, epsilon, delta, count, seed):
            worst = max(worst, worst_tree(first, menu, epsilon) / delta)
    return worst


def _distributions(rule: Rule, epsilon: float) -> Iterator[DistributionPair]:
    for number, (first, menu) in enumerate(random_trees(rule, epsilon, _DELTA, 24, seed=1)):
        if menu:
            yield tree_distribution(first, menu, epsilon, f"tree {number}")


@audited("budget of a store")
def _audit(epsilon: float) -> Enumerated:
    """For eight times the epsilon that is asked for: there the broken rule shows."""
    budget = 8 * epsilon
    return Enumerated(
        claim=Claim(rounded_up(Fraction(budget)), _DELTA),
        distributions=lambda: _distributions(the_rule, budget),
        incorrect_variants={"any bound counts": lambda: _distributions(any_bound, budget)},
    )
