"""Names that users type after `gc.`, those of its submodules among them."""

import inspect
from typing import Any

import graphcuts_dp as gc


def public_names() -> dict[str, Any]:
    """Return each public object by its name; those of submodules by "planning.PlanRow"."""
    objects: dict[str, Any] = {}
    for name in gc.__all__:
        value = getattr(gc, name)
        inner_names = getattr(value, "__all__", ()) if inspect.ismodule(value) else ()
        objects |= {
            inner_name if hasattr(gc, inner_name) else f"{name}.{inner_name}": getattr(
                value, inner_name
            )
            for inner_name in inner_names
            if inner_name not in gc.__all__
        }
        if not inner_names:
            objects[name] = value
    return objects
