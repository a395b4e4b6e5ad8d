"""What a release measures is compared, by the scales of its noise, with what its plan gave it."""

from fractions import Fraction

import pytest

from graphcuts_dp import BudgetError, BudgetPlan
from graphcuts_dp.plugins import Cost
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetStep
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.release.measuring import check_amounts

HALF = Fraction(1, 2)
GAUSSIAN = Cost.of_rho(zcdp_rho(epsilon=0.5, delta=1e-6), delta=1e-6)


class Priced:
    """A measurement of which the cost alone is known."""

    def __init__(self, cost):
        self._cost = cost

    def cost(self):
        return self._cost


def check(degrees, entries, *, delta=0.0):
    """Compare two costs with the halves of a plan."""
    steps = (
        BudgetStep(statistic="degrees", share=HALF, noise="laplace"),
        BudgetStep(statistic="entries", share=ALL_LEFT, noise="laplace"),
    )
    run = BudgetPlan(steps=steps, amount=Fraction(1), delta=delta).with_certain_runs()
    check_amounts(run, {"degrees": Priced(degrees), "entries": Priced(entries)})


def test_costs_within_their_amounts_pass():
    check(Cost.of_pure(HALF), Cost.of_pure(HALF))
    check(Cost.of_pure(HALF), GAUSSIAN, delta=1e-6)
    check(GAUSSIAN, GAUSSIAN, delta=2e-6)


@pytest.mark.parametrize(
    ("costs", "delta"),
    [
        pytest.param([Cost.of_pure(HALF + Fraction(1, 10**12))] * 2, 0.0, id="sum"),
        pytest.param([Cost.of_pure(Fraction(3, 5)), Cost.of_pure(Fraction(2, 5))], 0.0, id="pure"),
        pytest.param([Cost.of_pure(HALF), GAUSSIAN], 0.0, id="no delta"),
        pytest.param([GAUSSIAN, GAUSSIAN], 1.5e-6, id="two deltas"),
        pytest.param([Cost.of_pure(HALF), Cost(epsilon=0.5, delta=2e-6)], 1e-6, id="delta"),
    ],
)
def test_what_costs_more_than_its_amount_is_refused(costs, delta):
    with pytest.raises(BudgetError, match="would cost more"):
        check(*costs, delta=delta)
