"""Names that users type after `gc.`, those of its submodules among them."""

import inspect
from typing import Any

import graphcuts_dp as gc


def public_names() -> dict[str, Any]:
    """Each name with what it names; of a submodule's names such as "planning.PlanRow"."""
    found: dict[str, Any] = {}
    for name in gc.__all__:
        value = getattr(gc, name)
        inner = getattr(value, "__all__", ()) if inspect.ismodule(value) else ()
        found |= {
            each if hasattr(gc, each) else f"{name}.{each}": getattr(value, each)
            for each in inner
            if each not in gc.__all__
        }
        if not inner:
            found[name] = value
    return found
