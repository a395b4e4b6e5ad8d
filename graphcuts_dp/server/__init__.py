"""Interactive sessions for analysts who do not hold the graph: over HTTP, and in a browser."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "client": ("RemoteSession",),
    },
)
