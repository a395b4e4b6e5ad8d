"""Costs: conversions and sums."""

import itertools
from fractions import Fraction

import pytest

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.ledger.spending import Budget, total_cost
from graphcuts_dp.privacy.composition import Cost, compose, zcdp_delta, zcdp_epsilon, zcdp_rho


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.02436, 0.5, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_epsilon_and_delta_are_inverse(rho, delta):
    epsilon = zcdp_epsilon(rho, delta=delta)
    if epsilon > 0:
        assert zcdp_delta(rho, epsilon) == pytest.approx(delta, rel=2e-4)
        assert zcdp_delta(rho, epsilon) <= delta
        assert zcdp_rho(epsilon=epsilon, delta=delta) == pytest.approx(rho, rel=1e-5)


def test_epsilon_of_the_reference_budget():
    assert zcdp_epsilon(0.02436, delta=1e-6) == pytest.approx(1, rel=2e-4)


@pytest.mark.parametrize(("rho", "delta"), [(0, 0.1), (float("inf"), 0.1), (1, 0), (1, 1)])
def test_epsilon_refuses(rho, delta):
    with pytest.raises(ParameterError):
        zcdp_epsilon(rho, delta=delta)


def test_pure_costs_add_up_exactly():
    total = compose([Cost.of_pure(Fraction(1, 3))] * 3, delta=0.0)
    assert (total.pure, total.epsilon, total.delta) == (1, 1.0, 0.0)
    assert compose([Cost.of_pure(Fraction(1, 10))] * 10, delta=0.0).epsilon == 1.0


def test_a_stated_epsilon_is_never_below_the_exact_one():
    for cost in (Cost.of_pure(Fraction(1, 3)), compose([Cost.of_pure(Fraction(0.1))] * 7, delta=0)):
        assert cost.pure <= Fraction(cost.epsilon) <= cost.pure * (1 + Fraction(1, 2**52))
    stated = [Cost(epsilon=epsilon, delta=1e-9) for epsilon in (0.1, 0.7, 0.4)]
    exact = sum(Fraction(cost.epsilon) for cost in stated)
    assert exact <= Fraction(compose(stated, delta=1e-6).epsilon)
    assert sum(cost.epsilon for cost in stated) < exact  # as floats add


def test_many_small_costs_add_up_in_zcdp():
    total = compose([Cost.of_pure(Fraction(1, 100))] * 100, delta=1e-6)
    assert total.pure == 1
    assert total.rho == pytest.approx(100 * 0.01**2 / 2)
    assert (total.epsilon, total.delta) == (zcdp_epsilon(total.rho, delta=1e-6), 1e-6)
    assert total.epsilon < 0.5


def test_a_large_pure_cost_is_added_rather_than_converted():
    small = Cost.of_rho(0.001, delta=1e-6)
    total = compose([Cost.of_pure(Fraction(5)), small], delta=1e-6)
    assert total.epsilon == pytest.approx(5 + small.epsilon)
    assert total.pure is None


def test_costs_without_zcdp_are_added_with_their_delta():
    stated = Cost(epsilon=0.5, delta=1e-7)
    total = compose([stated, Cost.of_rho(0.01, delta=1e-6)], delta=1e-6)
    assert total.epsilon == pytest.approx(0.5 + zcdp_epsilon(0.01, delta=9e-7))
    assert total.rho is None
    assert compose([stated, stated], delta=1e-6).delta == pytest.approx(2e-7)
    with pytest.raises(ParameterError, match="delta"):
        compose([stated] * 20, delta=1e-6)
    with pytest.raises(ParameterError, match="delta"):
        compose([Cost.of_rho(0.01, delta=1e-6)], delta=0.0)


def test_nothing_costs_nothing():
    assert compose([], delta=0.0) == Cost(epsilon=0.0)


def test_what_sessions_cost_together_is_stated_for_the_delta_of_the_store_in_any_order():
    costs = [Cost.of_rho(0.1, delta=1e-9), Cost.of_rho(0.01, delta=1e-6), Cost.of_pure(Fraction(1))]
    for order in itertools.permutations(costs):
        total = total_cost(order, Budget(9.0, 1e-6))
        assert total.delta == 1e-6
        assert 1 < total.epsilon / compose(costs, delta=1e-6).epsilon < 1.2
    assert total_cost(costs[:1]) is costs[0]


def test_costs_that_only_add_up_are_stated_for_the_sum_of_their_deltas():
    total = total_cost([Cost(epsilon=0.5, delta=1e-7)] * 3)
    assert (total.epsilon, total.delta) == (1.5, pytest.approx(3e-7))
