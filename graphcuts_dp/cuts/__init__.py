"""Private cuts of the least weight: which vertices hang together, and where a graph breaks."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "least": ("cut_job", "least_cut"),
    },
)
