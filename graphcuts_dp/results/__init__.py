"""Results that callers can save: releases, tables of flows, their files and receipts."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "flows": ("FlowAnswer",),
        "flows_over_time": ("FlowsOverTime",),
        "od_tables": ("GroupLocations",),
        "partition": ("Partition",),
    },
)
