"""What to expect, from public numbers alone."""

from graphcuts_dp.planning.bounds import (
    ContributionBoundPlan,
    ContributionBoundRow,
    DegreeBoundPlan,
    DegreeBoundRow,
    plan_contribution_bounds,
    plan_degree_bounds,
)
from graphcuts_dp.planning.planner import Plan, PlanRow, RowTable, plan

__all__ = [
    "ContributionBoundPlan",
    "ContributionBoundRow",
    "DegreeBoundPlan",
    "DegreeBoundRow",
    "Plan",
    "PlanRow",
    "RowTable",
    "plan",
    "plan_contribution_bounds",
    "plan_degree_bounds",
]
