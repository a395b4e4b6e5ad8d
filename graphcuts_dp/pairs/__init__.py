"""What public code needs of a graph: which pairs there are, vertices, groups, cells, queries."""

from graphcuts_dp._lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "groups": ("GroupTree",),
    },
)
