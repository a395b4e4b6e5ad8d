"""Estimates from noisy values: measurements, answers to queries, and their intervals."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "consistency": ("RoundedFlows",),
        "noisy_contributions": ("Contributions",),
        "answers": ("CutAnswer",),
    },
)
