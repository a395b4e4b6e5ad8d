"""Costs that dp_accounting adds up are ours by the same theorem, never above ours by another.

Each accountant is given what `to_dp_event` makes for it; dp_accounting has the reference numbers.
"""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import graphcuts_dp as gc
from graphcuts_dp import BudgetPlan, ParameterError, PrivacyGuarantee, PrivacyUnit
from graphcuts_dp.plugins import Cost
from graphcuts_dp.privacy.budget_plan import BudgetStep, Condition
from graphcuts_dp.privacy.composition import compose, zcdp_epsilon
from graphcuts_dp.privacy.dp_events import built_event, pure_event, response_event, zcdp_event

ADD, REPLACE, SPECIAL = NeighboringRelation
CLUB = gc.datasets.load("karate")
GRID = 1e-5  # to which the accountant for privacy loss distributions rounds each loss up
EPSILONS = (0.01, 0.1, 0.5, 1.0, 3.0)


def pure(epsilon, plan=None):
    return PrivacyGuarantee(epsilon=epsilon, neighbours="x", budget_plan=plan)


def concentrated(rho, delta=1e-6):
    cost = Cost.of_rho(rho, delta=delta)
    guarantee = PrivacyGuarantee(epsilon=cost.epsilon, delta=delta, neighbours="x")
    return PrivacyUnit.edge(1).guarantee(guarantee, cost)


def step(name, share, **options):
    return BudgetStep(statistic=name, share=Fraction(share), noise="discrete Laplace", **options)


def added(accountant, guarantees):
    for guarantee in guarantees:
        accountant.compose(guarantee.to_dp_event(accountant))
    return accountant


@pytest.mark.parametrize("relation", [ADD, REPLACE, SPECIAL])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_loss_of_one_pure_step_is_that_of_randomised_response(relation, epsilon):
    """delta(x) = (e^epsilon - e^x)/(1 + e^epsilon), the worst of all mechanisms with epsilon."""
    accountant = PLDAccountant(relation, value_discretization_interval=GRID)
    added(accountant, [pure(epsilon)])
    for x in (0.0, epsilon / 3, 0.9 * epsilon):
        exact = (math.exp(epsilon) - math.exp(x)) / (1 + math.exp(epsilon))
        told = accountant.get_delta(x)
        assert exact * (1 - 1e-9) <= told <= exact + 2 * GRID * math.exp(epsilon)


@pytest.mark.parametrize("epsilons", [(1.0,), (0.1, 0.2, 0.3), (0.05,) * 20])
def test_sums_of_pure_costs_are_those_of_dp_accounting(epsilons):
    """Order infinity of Renyi privacy is pure privacy, and there epsilons add up."""
    accountant = RdpAccountant(orders=[math.inf], neighboring_relation=REPLACE)
    added(accountant, map(pure, epsilons))
    ours = compose([Cost.of_pure(Fraction(e)) for e in epsilons], delta=0.0).epsilon
    assert accountant._rdp[0] == pytest.approx(ours, rel=1e-6)
    assert accountant._rdp[0] >= ours * (1 - 1e-12)  # rounded against us


@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-10])
@pytest.mark.parametrize("rhos", [(0.01,), (0.3,), (0.001, 0.02, 0.1), (0.05,) * 20])
def test_sums_of_concentrated_costs_are_those_of_dp_accounting(rhos, delta):
    """On a fine grid of orders around the best one, which is near sqrt(ln(1/delta)/rho)."""
    middle = math.sqrt(-math.log(delta) / sum(rhos))
    orders = 1 + middle * np.exp(np.linspace(-1.5, 1.5, 6001))
    accountant = added(RdpAccountant(orders, REPLACE), [concentrated(rho) for rho in rhos])
    ours = compose([Cost.of_rho(rho, delta=1e-6) for rho in rhos], delta=delta)
    assert accountant.get_epsilon(delta) == pytest.approx(
        zcdp_epsilon(sum(rhos), delta=delta), rel=1e-6
    )
    assert ours.rho == pytest.approx(sum(rhos), rel=1e-12)


def test_pure_costs_beside_concentrated_ones_in_zcdp():
    """What is left where neighbours add or remove a record: epsilon^2/2, as is stated."""
    orders = 1 + np.exp(np.linspace(-2, 5, 8001))
    accountant = RdpAccountant(orders, ADD)
    added(accountant, [pure(0.1)] * 40 + [concentrated(0.01)] * 40)
    total = 40 * (0.1**2 / 2 + 0.01)
    assert accountant.get_epsilon(1e-6) == pytest.approx(zcdp_epsilon(total, delta=1e-6), rel=1e-6)
    one = added(RdpAccountant(orders, ADD), [pure(1.0)]).get_epsilon(1e-6)
    assert one == pytest.approx(5.2, abs=0.05)
    replaced = added(RdpAccountant([*orders, 1e6], REPLACE), [pure(1.0)])
    assert replaced.get_epsilon(1e-6) == pytest.approx(1.0, abs=1e-4)
    special = added(RdpAccountant(orders, SPECIAL), [pure(1.0)]).get_epsilon(1e-6)
    assert special == pytest.approx(one)


@pytest.mark.thorough(cases=9)
@pytest.mark.parametrize("relation", [ADD, REPLACE, SPECIAL])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("epsilons", [(1.0,), (0.1, 0.2, 0.3), (0.05,) * 20, (0.3,) * 60])
def test_privacy_loss_distributions_are_never_above_our_sums(epsilons, delta, relation):
    """Up to the grid, on which every loss is rounded up."""
    accountant = added(
        PLDAccountant(relation, value_discretization_interval=GRID), map(pure, epsilons)
    )
    costs = [Cost.of_pure(Fraction(epsilon)) for epsilon in epsilons]
    ours = compose(costs, delta=delta).epsilon
    theirs = accountant.get_epsilon(delta)
    assert theirs <= ours + GRID * len(epsilons) + 1e-9
    if delta == 0.0:  # the same theorem: the sum
        assert theirs >= ours * (1 - 1e-9)
    if delta == 1e-3 and len(epsilons) == 60:
        assert theirs < 0.9 * ours


def test_randomised_response_understates_where_a_record_becomes_special():
    """Why it is used for neighbours that replace a record alone; and its count is ignored."""
    event = built_event(response_event([Fraction(1)]))
    special = PLDAccountant(SPECIAL, value_discretization_interval=GRID).compose(event)
    assert special.get_epsilon(0.0) < 0.7
    counted = PLDAccountant(REPLACE, value_discretization_interval=GRID).compose(event, 10)
    assert counted.get_epsilon(0.0) < 1.1
    exact = built_event(pure_event([Fraction(1)]))
    assert PLDAccountant(ADD).compose(exact, 10).get_epsilon(0.0) >= 10


RELEASES = {
    "entries": {"mechanism": "randomized-response"},
    "degrees and entries": {"mechanism": "degrees+randomized-response"},
    "auto": {},
    "groups": {
        "groups": gc.Groups(gc.VertexSet(CLUB.labels), {"half": [v % 2 for v in range(34)]})
    },
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", RELEASES)
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_each_step_of_a_plan_is_an_event(kind, epsilon):
    """Its events cost what the guarantee states, and no run of the plan costs more of a step."""
    job = gc.release.graph_job(CLUB, epsilon=epsilon, **RELEASES[kind])
    guarantee = job.run(job.bounded(CLUB), gc_source()).guarantee
    losses = guarantee.pure_losses
    assert sum(losses) == Fraction(guarantee.epsilon)
    runs = [run.amounts for run in job.budget_plan.possible_runs]
    certain = [
        amount
        for statistic, amount in runs[0].items()
        if all(run.get(statistic) == amount for run in runs)
    ]
    assert len(losses) - len(certain) in (0, 1)
    assert [float(loss) for loss in losses[: len(certain)]] == pytest.approx(
        [float(amount) for amount in certain]
    )
    if kind in ("entries", "degrees and entries"):
        assert len(losses) == len(guarantee.budget_plan.amounts) >= 2
    for run in runs:  # what depends on results costs no more than the last event
        others = sum(run.values(), Fraction(0)) - sum(certain, Fraction(0))
        assert others <= sum(losses, Fraction(0)) - sum(losses[: len(certain)], Fraction(0)) + 1e-12
    assert json.loads(json.dumps(guarantee.to_dict()))["dp_event"] == guarantee.dp_event
    names = [event["event"] for event in guarantee.dp_event.get("events", [guarantee.dp_event])]
    assert names == ["DiscreteLaplaceDpEvent"] * len(losses)
    accountant = PLDAccountant(value_discretization_interval=GRID)
    accountant.compose(built_event(guarantee.dp_event))
    assert epsilon * (1 - 1e-9) <= accountant.get_epsilon(0.0) <= epsilon + len(losses) * GRID


def gc_source():
    from graphcuts_dp.privacy.entropy import entropy_source

    return entropy_source(None)


def test_amounts_that_depend_on_results_are_one_event():
    """A part of 1/2 in all runs; the rest is split by a result, so it counts as one mechanism."""
    found = Condition("something was found")
    plan = BudgetPlan(
        steps=(
            step("total", "1/2"),
            step("degrees", "1/3", conditions=(found,)),
            step("entries", "1"),
        ),
        amount=Fraction(1),
        group_size=2,
    )
    assert plan.separate_amounts(Fraction(2)) == (1, 1)
    assert pure(2.0, plan).pure_losses == (1, 1)
    fixed = BudgetPlan(steps=(step("total", "1/4"), step("entries", "1")), amount=Fraction(1))
    assert fixed.separate_amounts(Fraction(1)) == (Fraction(1, 4), Fraction(3, 4))
    rounded = Fraction(1) + Fraction(1, 2**52)
    assert fixed.separate_amounts(rounded) == (Fraction(1, 4), rounded - Fraction(1, 4))
    assert sum(fixed.separate_amounts(Fraction(3, 2))) == Fraction(3, 2)


def test_groups_of_changes_cost_their_square_in_zcdp():
    plan = BudgetPlan(
        steps=(step("total", "1/4"), step("entries", "1")),
        amount=Fraction(1, 100),
        currency="rho",
        delta=1e-6,
        group_size=3,
    )
    guarantee = replace(concentrated(0.09), budget_plan=plan)
    rhos = guarantee.concentrated_losses
    assert float(sum(rhos)) == pytest.approx(guarantee.rho)
    assert [float(rho) for rho in rhos] == pytest.approx([0.0225, 0.0675])
    assert [event["rho"] for event in guarantee.dp_event["events"]] == pytest.approx(
        [0.0225, 0.0675]
    )


def test_what_has_no_event_says_so():
    one = pure(1.0)
    assert one.dp_event == {
        "event": "DiscreteLaplaceDpEvent",
        "noise_parameter": 1.0,
        "sensitivity": 1,
    }
    assert one.zcdp_event == {"event": "ZCDpEvent", "rho": 0.5, "xi": 0.0}
    assert pure(0.1).zcdp_event["rho"] >= Fraction(0.1) ** 2 / 2
    assert pure(0.1).dp_event["noise_parameter"] >= 0.1
    seeded, approximate = replace(one, seed=3), replace(one, delta=1e-6)
    for guarantee in (seeded, approximate):
        assert guarantee.dp_event is None
        assert guarantee.zcdp_event is None
        with pytest.raises(ParameterError, match="no event"):
            guarantee.to_dp_event(RdpAccountant())
    with pytest.raises(ParameterError, match="Renyi"):
        concentrated(0.1).to_dp_event(PLDAccountant())
    assert replace(approximate, rho=0.25).dp_event["rho"] == 0.25
    assert replace(one, rho=0.25).zcdp_event["rho"] == 0.25  # smaller than 1/2
    assert PrivacyGuarantee.from_dict(replace(one, rho=0.25).to_dict()).rho == 0.25
    nothing = pure(0.0)
    assert nothing.dp_event == {"event": "NoOpDpEvent"}
    assert PLDAccountant().compose(nothing.to_dp_event(PLDAccountant())).get_epsilon(0.0) == 0
    with pytest.raises(ParameterError, match="unknown event"):
        built_event({"event": "NonPrivateDpEvent"})


@pytest.mark.parametrize("loss", [1e-6, 1.0, 50.0, 900.0])
def test_noise_parameters_are_rounded_against_us(loss):
    (event,) = (response_event([Fraction(loss)]),)
    p = event["noise_parameter"]
    assert p <= 2 / (1 + math.exp(min(loss, 700)))
    if 0 < p < 1:
        assert math.log(2 / p - 1) == pytest.approx(loss, rel=1e-6)
    assert isinstance(built_event(zcdp_event([Fraction(loss)])), dp_event.ZCDpEvent)
