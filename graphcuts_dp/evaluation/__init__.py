"""Measured errors of synthetic graphs. They read the true graph and are marked as not private."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "comparison": ("compare",),
        "comparison_tables": ("ComparisonRow", "GraphComparison"),
        "cut_error": ("cut_errors",),
    },
)
