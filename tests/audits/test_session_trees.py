"""No adaptive tree of sessions passes a store's budget; by a rule without a filter some do."""

import math

import numpy as np
import pytest

from graphcuts_dp.plugins import Cost
from tests.audits.session_trees import (
    BUDGETS,
    any_bound,
    excess,
    gaussian,
    losses_of,
    search,
    the_rule,
)

COSTS = [Cost.of_pure(1), gaussian(0.3, 1e-3), Cost(epsilon=0.7, delta=1e-2)]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("budget", BUDGETS)
def test_no_tree_passes_its_budget(budget):
    worst = search(the_rule, count=200, budgets=[budget])
    assert 0.4 < worst <= 1


@pytest.mark.slow
def test_no_tree_of_a_hundred_thousand_passes_its_budget():
    assert search(the_rule, count=33_400, seed=2) <= 1


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("budget", "least"), list(zip(BUDGETS, (1.2, 1.15, 1.02), strict=True)))
def test_a_rule_by_which_any_bound_counts_is_caught(budget, least):
    """The attack: Gaussian answers, then a pure session if their loss is large, else more noise."""
    assert search(any_bound, count=60, budgets=[budget]) > least


@pytest.mark.parametrize("cost", COSTS)
def test_the_two_descriptions_of_a_worst_session_agree(cost):
    """Cells and formula; cells merge outputs, and so can only fall short."""
    cells = losses_of(cost)
    assert cells.first.sum() == pytest.approx(1)
    assert cells.second.sum() == pytest.approx(1)
    for epsilon in (-0.5, 0.0, 0.3, 0.9, 1.5):
        summed = np.maximum(0, cells.first - math.exp(epsilon) * cells.second).sum()
        formula = float(excess(cost, np.array([epsilon]))[0])
        assert summed == pytest.approx(formula, rel=1e-2)
        assert summed <= formula * (1 + 1e-9)


def test_a_gaussian_session_is_stated_sharply():
    cost = gaussian(0.05, 1e-5)
    assert float(excess(cost, np.array([cost.epsilon]))[0]) <= 1e-5
    assert float(excess(cost, np.array([cost.epsilon - 1e-6]))[0]) > 1e-5
