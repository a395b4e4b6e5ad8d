"""Synthetic graphs: noise once, then post-processing."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "contributions": (
            "ContributionBound",
            "DegreeBound",
            "choose_contribution_bound",
            "choose_degree_bound",
            "release_contributions",
        ),
        "job": ("BudgetPlan",),  # which a job has before, and a result after
        "structure": ("DetectedStructure", "detect_structure"),
    },
)
