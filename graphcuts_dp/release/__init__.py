"""Releases: noise is drawn once, and results are computed from the noisy numbers alone."""

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
            "contributions_job",
            "release_contributions",
        ),
        "flow_tables": ("flows_job",),
        "graphs": ("graph_job",),
        "job": ("BudgetPlan", "Job"),  # a job has a plan before, and a result after
        "structure": ("DetectedStructure", "detect_structure"),
        "updates": ("UpdatePlan", "end_series", "update_flows", "update_plan"),
    },
)
