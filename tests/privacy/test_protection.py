"""Whom a promise protects: names, budgets of a step, and costs of k steps against exact laws."""

import math
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.errors import BudgetError, ParameterError
from graphcuts_dp.estimate.changes import cell_changes, largest_squares
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.privacy.composition import Cost, zcdp_delta, zcdp_rho
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.protection import EDGE, Protect


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "1 edge"),
        ({"at_most": 1}, "1 edge"),
        ({"at_most": 10}, "10 edges"),
        ({"protect": "owner", "at_most": 20}, "1 owner"),
        ({"protect": "vertex", "degree_bound": 50}, "1 vertex"),
    ],
)
def test_names(options, text):
    assert str(Protect.of(options.pop("protect", "edges"), **options)) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protect": "nodes"}, "unknown protect='nodes'; choose one of 'edges', 'owner', 'vertex'"),
        ({"protect": "edges", "at_most": 0}, "at_most must be a whole number from 1 on"),
        ({"protect": "edges", "at_most": True}, "at_most must be a whole number"),
        ({"protect": "edges", "at_most": 2.5}, "at_most must be a whole number"),
        ({"protect": "edges", "degree_bound": 5}, "degree_bound is for protect='vertex'"),
        ({"protect": "owner"}, "protect='owner' needs at_most"),
        ({"protect": "vertex"}, "protect='vertex' needs degree_bound"),
        ({"protect": "vertex", "degree_bound": 5, "at_most": 2}, "takes degree_bound"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Protect.of(options.pop("protect"), **options)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (Protect.edges(), "1 edge"),
        (Protect.edges(3), "3 edges"),
        (Protect.owner(at_most=20), "1 owner"),
        (Protect.vertex(degree_bound=5), "1 vertex"),
    ],
)
def test_an_object_stands_for_the_words(made, text):
    assert str(made) == text
    assert Protect.of(made) is made
    assert Protect.of(**made.keywords) == made
    with pytest.raises(ParameterError, match="leave out the other one"):
        Protect.of(made, at_most=2)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "nodes"},
        {"steps": 0},
        {"steps": True},
        {"kind": "vertex"},
        {"degree_bound": 2},
        {"kind": "vertex", "degree_bound": 0},
    ],
)
def test_an_object_is_checked_when_it_is_made(fields):
    with pytest.raises(ParameterError):
        Protect(**fields)


def test_people_are_counted():
    assert str(Protect.of_people(1)) == "1 person"
    assert str(Protect.of_people(3)) == "3 people"
    with pytest.raises(ParameterError, match="at_most"):
        Protect.of_people(0)


def test_each_step_has_its_part_of_epsilon_exactly():
    assert Protect(steps=3).per_step(1.0) == Fraction(1, 3)
    with pytest.raises(ParameterError, match="leaves less than 1e-06 for each of 10,000,000"):
        Protect(steps=10**7).per_step(1.0)


def test_one_step_costs_what_it_costs():
    cost = Cost(epsilon=0.7, delta=1e-6, rho=0.01)
    assert cost.for_group(1) is cost


@pytest.mark.parametrize("steps", [2, 5, 40])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_pure_costs_of_many_steps_are_those_of_randomised_response(steps, epsilon):
    """Of k bits that all change: the largest likelihood ratio is e^(k epsilon), exactly."""
    stay = math.exp(epsilon) / (1 + math.exp(epsilon))
    ratio = steps * (math.log(stay) - math.log1p(-stay))
    group = Cost.of_pure(Fraction(epsilon)).for_group(steps)
    assert group.pure == steps * Fraction(epsilon)
    assert group.epsilon == pytest.approx(ratio, rel=1e-12)
    assert group.rho == pytest.approx(steps**2 * epsilon**2 / 2, rel=1e-12)


@pytest.mark.parametrize("steps", [2, 7])
def test_zcdp_costs_of_many_steps_are_those_of_the_gaussian(steps):
    """A sum that moves by k under noise of variance v has divergence k^2/(2 v), exactly."""
    variance = 50.0
    one = Cost.of_rho(1 / (2 * variance), delta=1e-6)
    group = one.for_group(steps)
    assert group.rho == pytest.approx(steps**2 / (2 * variance), rel=1e-12)
    assert zcdp_delta(group.rho, group.epsilon) <= 1e-6


def _least_delta(shift, rate, epsilon):
    """The exact delta of a truncated Laplace-like law on integers that is shifted."""
    support = np.arange(-400, 401)
    law = np.exp(-rate * np.abs(support)) * (np.abs(support) <= 30)
    law /= law.sum()
    moved = np.roll(law, shift)
    return float(np.maximum(law - math.exp(epsilon) * moved, 0).sum())


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_stated_costs_of_many_steps_hold_for_a_law_that_is_only_approximate(steps):
    """Truncated noise is (rate, delta)-DP for one step; k steps are checked against its law."""
    rate = 0.3
    delta = _least_delta(1, rate, rate)
    assert delta > 0
    group = Cost(epsilon=rate, delta=delta).for_group(steps)
    exact = _least_delta(steps, rate, group.epsilon)
    assert exact <= group.delta * (1 + 1e-9)
    # The plain sum of deltas is too little: the factor e^epsilon is needed.
    assert exact > steps * delta * 0.99


def test_a_group_never_states_a_delta_above_one():
    assert Cost(epsilon=20.0, delta=1e-3).for_group(100).delta == 1.0
    assert Cost(epsilon=0.0, delta=0.01).for_group(3).delta == pytest.approx(0.03)


@pytest.mark.parametrize("steps", [1, 2, 10, 100])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-3)])
@pytest.mark.parametrize("zcdp", [False, True])
def test_the_budget_of_a_step_keeps_that_of_all(steps, epsilon, delta, zcdp):
    protection = Protect(steps=steps)
    each, its_delta = protection.step_budget(epsilon=epsilon, delta=delta, zcdp=zcdp)
    if zcdp:
        rho = zcdp_rho(epsilon=each, delta=its_delta)
        step = Cost(epsilon=each, delta=its_delta, rho=rho)
    else:
        step = Cost(epsilon=each, delta=its_delta)
    whole = protection.cost(step, epsilon=epsilon, delta=delta)
    assert whole.epsilon <= epsilon
    assert whole.delta <= delta
    # It is not wasted either: a hundredth more would not do.
    dearer = Cost(epsilon=each * 1.01, delta=its_delta, rho=None if not zcdp else rho * 1.02)
    with pytest.raises(BudgetError):
        protection.cost(dearer, epsilon=epsilon, delta=delta)


def test_pure_budgets_of_a_step_are_divided():
    assert Protect(steps=10).step_budget(epsilon=1.0, delta=0.0, zcdp=True) == (
        pytest.approx(0.1),
        0.0,
    )


def test_a_guarantee_says_who_is_hidden():
    step = PrivacyGuarantee(
        epsilon=0.1, neighbours="one pair", parts=(("degrees", 0.04), ("entries", 0.06))
    )
    whole = Protect(steps=10).promise(step, Cost.of_pure(Fraction(1)))
    assert whole.protects == "10 edges"
    assert whole.neighbours == "any 10 changes together, each: one pair"
    assert [name for name, _ in whole.parts] == ["degrees", "entries"]
    assert sum(epsilon for _, epsilon in whole.parts) == pytest.approx(1.0)
    assert PrivacyGuarantee.from_dict(whole.to_dict()) == whole
    assert "protects 10 edges" in str(whole)
    assert EDGE.promise(step, Cost.of_pure(Fraction(1, 10))) == step


def test_the_largest_squares_are_those_of_a_search():
    generator = np.random.default_rng(5)
    for _ in range(200):
        room = generator.integers(0, 5, size=generator.integers(1, 5))
        total = int(generator.integers(0, 9))
        grid = np.stack(np.meshgrid(*(np.arange(r + 1) for r in room)), -1).reshape(-1, len(room))
        allowed = grid[grid.sum(axis=1) <= total]
        assert largest_squares(room, total) == (allowed**2).sum(axis=1).max()


def test_cells_change_by_what_k_pairs_can_change():
    cells = CellTree(GroupTree({"part": ["a", "b"]}, [[2, 3]], [[0, 0]]))
    assert cell_changes(cells) == ((1, 1), (1, 1))
    # Pairs: 10 in all; 1 inside the first part, 3 inside the second, 6 between them.
    assert cell_changes(cells, Protect(steps=8)) == ((8, 64), (8, 36 + 4))
    assert cell_changes(cells, Protect(steps=8), capped=False) == ((8, 64), (8, 64))
    assert cell_changes(cells, Protect(steps=2), sensitivity=5) == ((10, 100), (10, 100))
