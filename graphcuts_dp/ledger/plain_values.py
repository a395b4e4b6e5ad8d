"""Turn dataclasses into plain values (those that JSON has) for the records of a ledger, and back.

`plain` writes a dataclass by the names of its fields; `from_plain` reads it by their types, and
refuses values of other types. The metadata `SECRET` marks fields that are stored elsewhere since
they are secret, and `APART` fields that are not stored, since the caller sets them afterwards.
"""

import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.queries.universe import Universe

_STORAGE = "kept"  # key of the metadata of a field
# Marks fields with noise that later answers contain, which a reader of the field could subtract. If
# the secret was lost, the field gets the value of the key "lost" of its metadata, or None.
SECRET: Mapping[str, Any] = {_STORAGE: "secret"}
# Marks fields that the caller sets after `from_plain`, which makes them None.
APART: Mapping[str, Any] = {_STORAGE: "apart"}
# The errors that `from_plain` raises if values are damaged.
DAMAGED = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
_AS_DICT = "stored_as_dict"  # attribute of classes with `to_dict` and `from_dict`
_FORMER = "former_fields"  # attribute of classes: fields of older versions, for `from_former`
_SIMPLE = {int: (int,), float: (int, float), bool: (bool,), str: (str,)}

_hints = lru_cache(get_type_hints)


def plain(value: Any, secrets: list[Any] | None = None) -> Any:
    """Return a dataclass as plain values: its fields by name, without those at their defaults.

    Fields may be numbers, texts, fractions, tuples and other such dataclasses. Fields marked
    `APART`, and those that are not compared, are left out. A class with the attribute
    `stored_as_dict` is stored by its `to_dict`. Of a universe only the numbers of vertices and the
    kind are stored.

    Args:
        value: the dataclass.
        secrets: fields marked `SECRET` are appended to this list; None leaves them out.
    """
    if isinstance(value, Universe):
        return [*value.shape, value.bipartite, value.directed]
    if is_dataclass(value) and not isinstance(value, type):
        if getattr(value, _AS_DICT, False):
            return {"class": type(value).__name__, **cast(Any, value).to_dict()}
        values: dict[str, Any] = {"class": type(value).__name__}
        for member, storage in _members(type(value)):
            part = getattr(value, member.name)
            if storage == "secret" and secrets is not None:
                secrets.append(plain(part))
            elif storage is None and member.compare and part != member.default:
                values[member.name] = plain(part, secrets)
        return values
    if isinstance(value, tuple):
        return [plain(part, secrets) for part in value]
    return str(value) if isinstance(value, Fraction) else value


@lru_cache
def _members(kind: Any) -> tuple[tuple["Field[Any]", Any], ...]:
    """Return the fields of a dataclass, each with None, "secret" or "apart"."""
    return tuple((member, member.metadata.get(_STORAGE)) for member in fields(kind))


@contextmanager
def check_intact(message: str) -> Iterator[None]:
    """Raise a `LedgerError` if the body fails to read stored values.

    Args:
        message: message of the error.

    Raises:
        LedgerError: the body raised one of `DAMAGED`.
    """
    try:
        yield
    except DAMAGED:  # whose messages may quote stored secrets
        raise LedgerError(message) from None


def from_plain(hint: Any, value: Any, secrets: list[Any] | None = None) -> Any:
    """Return the value that `plain` turned into these plain values.

    Fields marked `APART` are None.

    Args:
        hint: type of the value.
        value: plain values.
        secrets: the secret fields that `plain` has appended, which are removed from this list as
            they are read; None if they were lost, see `SECRET`.

    Raises:
        LookupError, TypeError, ValueError, ArithmeticError, AttributeError: `plain` has not written
            these values for this type. The message quotes nothing, since it may be secret.
    """
    if hint in _SIMPLE:
        if type(value) in _SIMPLE[hint]:
            hint(value)  # a whole number may be too large for a float
            return value
        raise ValueError(hint)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        if value is None and len(kinds) < len(get_args(hint)):
            return None
        if isinstance(value, dict):  # a dataclass, which has the name of its class
            kinds = [kind for kind in kinds if kind.__name__ == value["class"]]
        # Unions here are of dataclasses, or of one type and None.
        return from_plain(kinds[0], value, secrets)
    if origin is tuple:
        inner = get_args(hint)
        if not isinstance(value, list | tuple):  # a text is no tuple of letters
            raise ValueError(hint)
        if inner[-1] is ...:
            return tuple(from_plain(inner[0], part, secrets) for part in value)
        return tuple(from_plain(*pair, secrets) for pair in zip(inner, value, strict=True))
    if is_dataclass(hint):
        return _dataclass_of(hint, dict(value), secrets)
    if (origin is Literal and value not in get_args(hint)) or (
        origin is dict and not isinstance(value, dict)
    ):
        raise ValueError(hint)
    return Fraction(value) if hint is Fraction else value


def _dataclass_of(hint: Any, value: dict[str, Any], secrets: list[Any] | None) -> Any:
    """Return an object of a dataclass, see `from_plain`; empties `value`."""
    if value.pop("class") != hint.__name__:
        raise ValueError(hint)
    if getattr(hint, _AS_DICT, False):
        return hint.from_dict(value)
    former = {name: value.pop(name) for name in getattr(hint, _FORMER, ()) if name in value}
    hints = _hints(hint)
    values: dict[str, Any] = {}
    for member, storage in _members(hint):
        if storage == "apart":
            values[member.name] = None
        elif storage == "secret":
            part = member.metadata.get("lost") if secrets is None else secrets.pop(0)
            values[member.name] = None if part is None else from_plain(hints[member.name], part)
        elif member.name in value or member.default is MISSING:
            values[member.name] = from_plain(hints[member.name], value.pop(member.name), secrets)
    if value:
        raise ValueError(hint)
    return hint(**values | hint.from_former(former)) if former else hint(**values)
