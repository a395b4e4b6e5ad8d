"""The rule that admits sessions to a store: its criteria, their bounds, and their order."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import (
    Cost,
    admits,
    least_epsilon,
    renyi_budget,
    renyi_cost,
    renyi_order,
    zcdp_epsilon,
    zcdp_rho,
)

BUDGETS = [(0.1, 1e-9), (1.0, 1e-6), (2.0, 1e-6), (8.0, 1e-2)]


def random_costs(rng, epsilon, delta, count):
    kinds = [
        lambda size: Cost.of_pure(Fraction(epsilon * size)),
        lambda size: Cost.of_rho(size * zcdp_rho(epsilon=epsilon, delta=delta), delta=delta / 4),
        lambda size: Cost(epsilon=epsilon * size, delta=delta * size),
    ]
    return [kinds[rng.integers(3)](rng.random() / count) for _ in range(count)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_what_is_admitted_is_admitted_at_every_step_before(epsilon, delta):
    """The theorem needs it: a criterion never admits a list and refuses its beginning."""
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(200):
        costs = random_costs(rng, epsilon, delta, 4)
        steps = [admits(costs[:n], epsilon=epsilon, delta=delta) for n in range(1, 5)]
        assert steps == sorted(steps, reverse=True)
        seen.add(sum(steps))
    assert {1, 4} <= seen or {2, 4} <= seen


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 24.0, 1000.0])
def test_the_divergence_of_pure_costs_is_that_of_randomised_response(epsilon, order):
    p = np.array([1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))])
    logs = order * np.log(p) + (1 - order) * np.log(p[::-1])
    exact = float(np.logaddexp(*logs)) / (order - 1)
    found = renyi_cost(Cost(epsilon=epsilon, pure=Fraction(epsilon)), order)
    assert found == pytest.approx(exact, rel=1e-6, abs=1e-9)
    assert found >= exact * (1 - 1e-9) - 1e-12
    assert found <= epsilon * (1 + 1e-12)


def test_divergences_of_zcdp_grow_with_the_order_and_unknown_ones_are_infinite():
    assert renyi_cost(Cost(epsilon=1.0, delta=1e-6, rho=0.02), 10.0) == pytest.approx(0.2)
    assert renyi_cost(Cost(epsilon=1.0, delta=1e-6), 10.0) == math.inf


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_order_gives_nearly_what_half_of_delta_allows(epsilon, delta):
    order = renyi_order(epsilon, delta)
    rho = renyi_budget(order, epsilon, delta) / order
    best = zcdp_rho(epsilon=epsilon, delta=delta / 2)
    assert 0.98 * best < rho < best * (1 + 1e-6)
    parts = [Cost(epsilon=1e6, delta=delta, rho=rho / 8)] * 8
    assert admits(parts, epsilon=epsilon, delta=delta)
    assert not admits([*parts, parts[0]], epsilon=epsilon, delta=delta)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_sum_of_gaussians_at_the_limit_is_within_the_budget(epsilon, delta):
    order = renyi_order(epsilon, delta)
    spread = math.sqrt(2 * renyi_budget(order, epsilon, delta) / order)
    at = epsilon / spread
    true = scipy.stats.norm.sf(at - spread / 2) - math.exp(epsilon) * scipy.stats.norm.sf(
        at + spread / 2
    )
    assert true <= delta / 2


def test_a_first_session_may_take_the_whole_budget_and_then_nothing_follows():
    rho = zcdp_rho(epsilon=1.0, delta=1e-6) * (1 - 1e-6)  # both conversions round up
    whole = [Cost.of_rho(rho, delta=1e-6), Cost(epsilon=1.0, delta=1e-6)]
    tiny = [Cost.of_pure(Fraction(1, 10**9)), Cost(epsilon=1e-9, rho=1e-15)]
    for cost, after in itertools.product(whole, tiny):
        assert admits([cost], epsilon=1.0, delta=1e-6)
        assert not admits([cost, after], epsilon=1.0, delta=1e-6)
        assert not admits([after, cost], epsilon=1.0, delta=1e-6)
        assert not admits([cost], epsilon=0.99, delta=1e-6)
        assert not admits([cost], epsilon=1.0, delta=0.9e-6)
        assert not admits([cost], epsilon=1.0, delta=0.0)


def test_pure_costs_add_up_to_the_last_digit_of_the_budget():
    tenth = Cost.of_pure(Fraction(1, 10))
    for delta in (0.0, 1e-6):
        assert admits([tenth] * 10, epsilon=1.0, delta=delta)
        assert not admits([tenth] * 11, epsilon=1.0, delta=0.0)
    assert admits([tenth] * 11, epsilon=1.0, delta=1e-6) == (
        11 * renyi_cost(tenth, renyi_order(1.0, 1e-6))
        <= renyi_budget(renyi_order(1.0, 1e-6), 1.0, 1e-6)
    )


def test_the_odometer_is_the_least_epsilon_of_the_filter():
    rng = np.random.default_rng(2)
    for epsilon, delta in BUDGETS:
        for _ in range(10):
            costs = random_costs(rng, epsilon, delta / 2, 3)
            found = least_epsilon(costs, delta=delta)
            assert admits(costs, epsilon=found, delta=delta)
            assert not admits(costs, epsilon=found * 0.999, delta=delta)
    assert least_epsilon([Cost.of_pure(Fraction(1, 3))], delta=0.0) >= Fraction(1, 3)
    single = Cost.of_rho(0.02, delta=1e-6)
    assert least_epsilon([single], delta=1e-6) == pytest.approx(zcdp_epsilon(0.02, delta=1e-6))


def test_deltas_that_add_up_to_more_have_no_epsilon():
    with pytest.raises(ParameterError, match="raise it"):
        least_epsilon([Cost(epsilon=1.0, delta=1e-6)] * 2, delta=1e-6)
