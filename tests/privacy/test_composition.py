"""zCDP and (epsilon, delta), costs and their sums, the filter, and scales of noise."""

import itertools
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import quad
from scipy.stats import norm

from graphcuts_dp import ParameterError
from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.ledger.uses import total_cost
from graphcuts_dp.plugins import Cost
from graphcuts_dp.privacy.composition import compose, zcdp_delta, zcdp_epsilon, zcdp_rho
from graphcuts_dp.privacy.filters import (
    CostSum,
    CostSums,
    admits,
    least_epsilon,
    order_switches,
    renyi_budget,
    renyi_cost,
    renyi_order,
)
from graphcuts_dp.privacy.noise_scales import (
    discrete_gaussian_scale,
    gaussian_scale,
    sparse_vector_scales,
)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.2])
def test_rho_is_rounded_down_and_no_other_order_is_better(epsilon, delta):
    rho = zcdp_rho(epsilon=epsilon, delta=delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert zcdp_delta(rho * (1 + 1e-5), epsilon) > delta
    a = 1 + np.exp(np.linspace(-15, 15, 4001))
    logs = (a - 1) * (a * rho - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)
    assert math.exp(logs.min()) >= zcdp_delta(rho, epsilon) * (1 - 1e-9)


def test_bounds_of_a_pure_cost_are_rounded_up():
    for epsilon in (Fraction(n, d) for n in range(1, 30) for d in range(1, 30)):
        cost = Cost.of_pure(epsilon)
        assert Fraction(cost.epsilon) >= epsilon
        assert Fraction(cost.rho) >= epsilon**2 / 2


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.2, 8.0), (1.0, 3.0), (3.0, 1.2)])
def test_the_zcdp_delta_covers_the_gaussian_mechanism(epsilon, sigma):
    """Gaussian noise is 1/(2 sigma^2)-zCDP; its exact delta may not be larger than the bound's."""
    near = 1 / (2 * sigma)
    exact = norm.cdf(near - epsilon * sigma) - math.exp(epsilon) * norm.cdf(-near - epsilon * sigma)
    assert 0 < exact <= zcdp_delta(1 / (2 * sigma**2), epsilon)


SCALES = {"rho": 1.0, "updates": 1, "queries": 1, "beta": 0.1}
WRONG = [
    *((zcdp_epsilon, {"delta": 0.1}, "rho", rho) for rho in (0, math.inf)),
    *((zcdp_epsilon, {"rho": 1}, "delta", delta) for delta in (0, 1)),
    (gaussian_scale, {"delta": 0.1}, "epsilon", 0.0),
    (gaussian_scale, {"epsilon": 1.0}, "delta", 0.0),
    (gaussian_scale, {"epsilon": 1.0, "delta": 0.1}, "sensitivity", 0.0),
    (discrete_gaussian_scale, {"delta": 0.1, "queries": 1}, "epsilon", 0.0),
    (discrete_gaussian_scale, {"epsilon": 1.0, "queries": 1}, "delta", 1.0),
    (discrete_gaussian_scale, {"epsilon": 1.0, "delta": 0.1}, "queries", 0),
    *(
        (sparse_vector_scales, SCALES, name, wrong)
        for name, wrong in {"rho": 0.0, "updates": -1, "queries": 0, "beta": 1.0}.items()
    ),
    *((zcdp_rho, {"delta": 1e-6}, "epsilon", epsilon) for epsilon in (0.0, math.inf)),
    *((zcdp_rho, {"epsilon": 1.0}, "delta", delta) for delta in (0.0, 1.0)),
    (zcdp_delta, {"epsilon": 1.0}, "rho", 0.0),
    (zcdp_delta, {"rho": 1.0}, "epsilon", math.nan),
]


@pytest.mark.parametrize(("function", "given", "name", "wrong"), WRONG)
def test_numbers_out_of_range_are_refused(function, given, name, wrong):
    with pytest.raises(ParameterError, match=name):
        function(**given | {name: wrong})


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.02436, 0.5, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_epsilon_and_delta_are_inverse(rho, delta):
    epsilon = zcdp_epsilon(rho, delta=delta)
    if epsilon > 0:
        assert zcdp_delta(rho, epsilon) == pytest.approx(delta, rel=2e-4)
        assert zcdp_delta(rho, epsilon) <= delta
        assert zcdp_rho(epsilon=epsilon, delta=delta) == pytest.approx(rho, rel=1e-5)


def test_a_stated_epsilon_is_never_below_the_exact_one():
    assert compose([], delta=0.0) == Cost(epsilon=0.0)
    whole = compose([Cost.of_pure(Fraction(1, 3))] * 3, delta=0.0)
    assert (whole.pure, whole.epsilon, whole.delta) == (1, 1.0, 0.0)
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
    small = Cost.of_rho(0.001, delta=1e-6)  # a large pure cost is added rather than converted
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


def test_what_sessions_cost_together_is_stated_for_the_delta_of_the_store_in_any_order():
    costs = [Cost.of_rho(0.1, delta=1e-9), Cost.of_rho(0.01, delta=1e-6), Cost.of_pure(Fraction(1))]
    for order in itertools.permutations(costs):
        total = total_cost(order, Budget(9.0, 1e-6))
        assert total.delta == 1e-6
        assert 1 < total.epsilon / compose(costs, delta=1e-6).epsilon < 1.2
    assert total_cost(costs[:1]) is costs[0]


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


def test_sums_to_which_costs_are_added_decide_as_all_costs_together():
    """What a server keeps for each analyst: asked in between, at orders of several budgets."""
    rng = np.random.default_rng(3)
    for epsilon, delta in BUDGETS:
        sums, costs = CostSums(), list[Cost]()
        for cost in random_costs(rng, epsilon, delta / 2, 12):
            admitted = admits([*costs, cost], epsilon=epsilon, delta=delta)
            assert sums.allows(cost, epsilon=epsilon, delta=delta) is admitted
            if not admitted:
                continue
            sums.add(cost)
            costs.append(cost)
            assert sums.count == len(costs)
            assert sums.least_epsilon(delta=delta) == pytest.approx(
                least_epsilon(costs, delta=delta), rel=1e-9
            )
        more = sums.with_more(costs[:3])
        assert more.at(None) == CostSum.of([*costs, *costs[:3]], None)
        assert sums.at(None) == CostSum.of(costs, None)  # unchanged


def test_deltas_that_add_up_to_more_have_no_epsilon():
    with pytest.raises(ParameterError, match="raise it"):
        least_epsilon([Cost(epsilon=1.0, delta=1e-6)] * 2, delta=1e-6)


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-3])
def test_gaussian_scale_is_the_smallest(epsilon, delta):
    scale = gaussian_scale(epsilon=epsilon, delta=delta, sensitivity=3.0)

    def exact(sigma):
        """E[(1 - e^(epsilon - loss))_+] by quadrature; the loss is linear in the output."""
        unit = sigma / 3.0
        start = epsilon * unit - 1 / (2 * unit)
        body = quad(
            lambda x: norm.pdf(x) - math.exp(epsilon) * norm.pdf(x + 1 / unit),
            start,
            start + 12,
            epsabs=0,
            epsrel=1e-9,
        )
        return body[0]

    assert exact(scale) == pytest.approx(delta, rel=1e-5)
    assert exact(scale) <= delta * (1 + 1e-6) < exact(scale * 0.99)


@pytest.mark.parametrize(
    ("epsilon", "delta", "queries"),
    [(1.0, 1e-6, 1), (1.0, 1e-6, 30), (0.5, 1e-4, 20), (4.0, 1e-5, 50), (20.0, 1e-5, 60)],
)
def test_discrete_gaussian_scale_by_exact_summation(epsilon, delta, queries):
    """Convolve k distributions; neighbours shift the sum by k. A quarter less noise must fail."""
    scale = discrete_gaussian_scale(epsilon=epsilon, delta=delta, queries=queries)

    def exact(scale):
        width = int(12 * scale) + 5
        one = np.exp(-((np.arange(-width, width + 1) / scale) ** 2) / 2)
        total = np.ones(1)
        for _ in range(queries):
            total = np.convolve(total, one / one.sum())
        shifted = np.concatenate([np.zeros(queries), total[:-queries]])
        return np.maximum(total - math.exp(epsilon) * shifted, 0).sum()

    assert exact(scale) <= delta < exact(0.75 * scale)


def test_discrete_gaussian_scale_nears_the_continuous_one():
    """From above, and never above that of zCDP."""
    for queries in (1, 10, 1000, 10**6, 10**12):
        scale = discrete_gaussian_scale(epsilon=1.0, delta=1e-6, queries=queries)
        continuous = gaussian_scale(epsilon=1.0, delta=1e-6, sensitivity=math.sqrt(queries))
        by_zcdp = math.sqrt(queries / 2 / zcdp_rho(epsilon=1.0, delta=1e-6))
        assert continuous <= scale <= by_zcdp * (1 + 1e-8)
        assert scale < continuous * (1.002 if queries >= 1000 else 1.08)


def test_sparse_vector_scales_balance():
    """b1 L1 + b2 L2 is the slack, its least for that eta, and the budget is spent."""
    rho, c, k, beta = 0.02, 30, 1000, 0.05
    scales = sparse_vector_scales(rho=rho, updates=c, queries=k, beta=beta)
    L1, L2 = math.log(2 * (c + 2) / beta), math.log(4 * (k + c) / beta)
    assert (c + 2) * scales.range**2 / 8 == pytest.approx(rho)
    assert 1 / scales.threshold_scale + 2 / scales.query_scale == pytest.approx(scales.range)
    assert scales.margin == pytest.approx(scales.query_scale * L2)
    slack = scales.threshold_scale * L1 + scales.query_scale * L2
    assert slack == pytest.approx(scales.slack)
    for factor in (0.8, 1.25):
        b1 = scales.threshold_scale * factor
        b2 = 2 / (scales.range - 1 / b1)
        assert b1 * L1 + b2 * L2 > scales.slack
    # The failure probabilities of c + 2 thresholds and 2(k + c) tests add up to beta.
    assert (c + 2) * math.exp(-L1) + 2 * (k + c) * math.exp(-L2) == pytest.approx(beta)


def test_the_order_changes_where_it_is_said_to():
    for delta in (1e-2, 1e-5, 1e-9):
        switches = order_switches(delta)
        assert [switch.epsilon for switch in switches] == sorted(s.epsilon for s in switches)
        for switch in switches:
            if not 1e-6 < switch.epsilon < 1e6:
                continue
            sides = (switch.epsilon * (1 - 1e-6), switch.epsilon * (1 + 1e-6))
            assert tuple(renyi_order(side, delta) for side in sides) == switch.orders
        for first, second in pairwise(switches):
            middle = math.sqrt(first.epsilon * second.epsilon)
            if 1e-6 < middle < 1e6:
                assert renyi_order(middle, delta) == first.orders[1] == second.orders[0]


def gaps(delta):
    """Costs that are admitted just below a switch of the order, and not just above it."""
    for switch in order_switches(delta):
        below, above = (switch.epsilon * (1 + sign * 1e-6) for sign in (-1, 1))
        if not 0.5 < switch.epsilon < 20:
            continue
        for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
            one = Cost.of_pure(epsilon)
            order = switch.orders[0]
            count = int(renyi_budget(order, below, delta) / renyi_cost(one, order))
            costs = [one] * count
            if count * epsilon > Fraction(above) and not admits(costs, epsilon=above, delta=delta):
                yield costs, below, above


def test_the_odometer_is_a_number_from_which_on_the_filter_admits():
    found = 0
    for delta in (1e-3, 1e-6):
        for costs, below, above in gaps(delta):
            found += admits(costs, epsilon=below, delta=delta)
            odometer = least_epsilon(costs, delta=delta)
            assert odometer > above
            stated = float(sum(cost.exact_epsilon for cost in costs))
            for step in range(11):
                epsilon = odometer * (stated / odometer) ** (step / 10)
                assert admits(costs, epsilon=epsilon, delta=delta)
    assert found >= 3  # where a bisection alone would have stopped too early
