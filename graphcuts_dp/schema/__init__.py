"""Public facts about private data: vertices, groups, periods, tables and their columns."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "group_tree": ("GroupTree",),
    },
)
