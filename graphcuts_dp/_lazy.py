"""Names of a package that are imported when one of them is first used.

A command that reads a graph should not wait for everything else.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

FindName = Callable[[str], Any]  # `__getattr__` of a package
ListNames = Callable[[], list[str]]  # `__dir__`


def exports(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[FindName, ListNames, list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from the names in its modules."""
    modules = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return find, lambda: sorted(modules), sorted(modules)
