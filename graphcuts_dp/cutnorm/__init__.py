"""Cut norms with certificates; reads matrices, never a private graph."""

from graphcuts_dp._lazy import FindName, ListNames, exports

__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "certificate": ("CutNormCertificate",),
    },
)
