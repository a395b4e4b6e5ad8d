"""HR12, Remark 8.1: what an s-sensitive embedding costs."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.distances.embeddings import exact_embedding
from graphcuts_dp.distances.locations import all_distances
from graphcuts_dp.errors import BudgetError, ParameterError
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.figures.sensitive_plans import plan_sensitive

METRIC = gc.distances.Metric.path(30)
TERMS = {"people": 10**6, "queries": None, "epsilon": 1.0}


def planned(sensitivity, **options):
    return plan_sensitive(exact_embedding(METRIC), sensitivity=sensitivity, **(TERMS | options))


@pytest.mark.parametrize("sensitivity", [1, 2, 7])
def test_pure_costs_of_all_moves_add_up_to_what_was_asked_for(sensitivity):
    made = planned(sensitivity)
    assert made.cost.pure == sensitivity * made.plan.cost.pure <= 1
    assert made.cost.pure > Fraction(99, 100)
    assert made.guarantee().epsilon == 1
    assert f"up to {sensitivity}" in str(made.guarantee())


def test_rho_grows_with_the_square():
    made = planned(5, delta=1e-6)
    one = planned(1, delta=1e-6)
    assert made.cost.rho == pytest.approx(25 * made.plan.cost.rho)
    assert made.plan.cost.rho == pytest.approx(one.plan.cost.rho / 25, rel=1e-3)
    assert (made.guarantee().epsilon, made.guarantee().delta) == (1, 1e-6)


def test_the_plan_of_a_1_sensitive_one_keeps_no_promise_for_more():
    """A twin that takes the noise for one point where two move."""
    twin = replace(planned(1), sensitivity=2)
    with pytest.raises(BudgetError, match="would cost more"):
        twin.guarantee()


def test_errors_grow_with_the_sensitivity_and_still_hold():
    here = gc.distances.Locations(METRIC, np.full(30, 10**6 // 30) + (np.arange(30) < 10**6 % 30))
    truth = all_distances(here)
    radii = []
    for sensitivity in (1, 4):
        made = planned(sensitivity, beta=1e-8)
        low, high = made.plan.ranges(made.plan.learnt(here, SeededEntropy(1)))
        assert (low <= truth).all()
        assert (truth <= high).all()
        radii.append(made.plan.radius)
    assert radii[1] > 2 * radii[0]


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(0, 1.0), (1.5, 1.0), (10**6, 0.5)])
def test_numbers_out_of_range_are_refused(sensitivity, epsilon):
    with pytest.raises(ParameterError):
        planned(sensitivity, epsilon=epsilon)
