"""Answers one by one: mechanisms that keep a state between queries."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "base": ("Answer",),
        "transcript": ("LedgerStatus",),
    },
)
