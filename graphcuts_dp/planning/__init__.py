"""Forecasts of errors, from public numbers alone."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "bounds": (
            "ContributionBoundPlan",
            "ContributionBoundRow",
            "DegreeBoundPlan",
            "DegreeBoundRow",
            "plan_contribution_bounds",
            "plan_degree_bounds",
        ),
        "planner": ("Plan", "PlanRow", "RowTable", "plan"),
    },
)
