"""What to expect, from public numbers alone."""

from graphcuts_dp.planning.bounds import (
    BoundPlan,
    BoundRow,
    DegreePlan,
    DegreeRow,
    plan_bounds,
    plan_degree_bounds,
)
from graphcuts_dp.planning.planner import Plan, PlanRow, RowTable, plan

__all__ = [
    "BoundPlan",
    "BoundRow",
    "DegreePlan",
    "DegreeRow",
    "Plan",
    "PlanRow",
    "RowTable",
    "plan",
    "plan_bounds",
    "plan_degree_bounds",
]
