"""A digest of the public inputs of a use: groups, terminals, queries, a map.

The store keeps the digest with the use. A use is resumed only with the same inputs, since its
measurement is about these inputs.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphcuts_dp.schema.groups import Groups


def public_digest(*inputs: Any) -> str:
    """Return the SHA-256 of public inputs, in hexadecimal; empty if all of them are None.

    Args:
        inputs: numbers, texts, arrays of numbers, `Groups`, None, and sequences and mappings of
            these. They have the same digest if they are equal, of the same types, and in the same
            order.

    Raises:
        TypeError: an input of another type.
    """
    if all(value is None for value in inputs):
        return ""
    digest = hashlib.sha256()
    _add(digest, inputs)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    """Add a value to a digest, with its type and length, so that no two values are encoded alike.

    Raises:
        TypeError: a value of another type.
    """
    if isinstance(value, Groups):
        _add(digest, ("groups", value.tree.to_dict(), value.codes()))
    elif isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        _add(digest, ("array", array.dtype.str, list(array.shape), array.tobytes()))
    elif isinstance(value, Mapping):
        _add(digest, [part for item in value.items() for part in item])
    elif isinstance(value, list | tuple):
        digest.update(f"sequence {len(value)}:".encode())
        for part in value:
            _add(digest, part)
    elif value is None or isinstance(value, bytes | str | int | float | np.generic):
        text = (
            value if isinstance(value, bytes) else repr(value).encode("utf-8", "backslashreplace")
        )
        digest.update(f"{type(value).__name__} {len(text)}:".encode() + text)
    else:
        raise TypeError(f"no digest of a {type(value).__name__}")
