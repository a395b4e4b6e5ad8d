"""States of mechanisms as plain values: one form for all of them.

A state is a frozen dataclass of numbers, texts, fractions, tuples and other such dataclasses. Its
fields are kept by name; those marked `SECRET` lie apart from the others, and those marked `APART`
are not kept here: what they are made of again is `Mechanism.learnt`, or the private data. A field
that is new has a default, which older states are read with.
"""

import hashlib
import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.ledger.records import StoredState
from graphcuts_dp.pairs.universe import Universe

Plain = Any

# Noise that is still in use: who reads it can undo the protection. "lost" may tell what a field is
# where its secret was lost; else None.
SECRET: Mapping[str, Plain] = {"kept": "secret"}
APART: Mapping[str, Plain] = {"kept": "apart"}


def stored_state(mechanism: Any, state: Any) -> StoredState:
    """What the ledger keeps of a state: whose it is, and its fields by name."""
    secrets: list[Plain] = []
    public = {**_header(mechanism), "state": _plain(state, secrets)}
    return StoredState(json.dumps(public).encode(), json.dumps(secrets).encode())


def read_state(mechanism: Any, stored: StoredState) -> Any:
    """The state that `stored_state` wrote; a secret that was lost, and what lies apart, is None.

    Raises:
        FileFormatError: damaged values, or those of another mechanism, version or parameters.
            Nothing is quoted: it may be secret.
    """
    try:
        public = json.loads(stored.public)
        header = {key: value for key, value in public.items() if key != "state"}
        if header != _header(mechanism):
            raise FileFormatError("the stored state belongs to a mechanism with other parameters")
        secrets = None if stored.secret is None else iter(json.loads(stored.secret))
        return _read(mechanism.state, public["state"], secrets)
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration):
        raise FileFormatError("the stored state is damaged") from None


def _header(mechanism: Any) -> dict[str, Plain]:
    """A mechanism's identity: its kind, its version, and a digest of its parameters by name."""
    parameters = json.dumps(mechanism.parameters, sort_keys=True)
    return {
        "kind": mechanism.name,
        "version": mechanism.version,
        "parameters": hashlib.sha256(parameters.encode()).hexdigest()[:32],
    }


def named(value: Any) -> Plain:
    """Public parameters by name, without those that have their defaults; vertices by number."""
    if isinstance(value, Universe):
        return [*value.shape, value.bipartite, value.directed]
    if is_dataclass(value) and not isinstance(value, type):
        found = {
            each.name: named(getattr(value, each.name))
            for each in fields(value)
            if each.compare and getattr(value, each.name) != each.default
        }
        return {"kind": type(value).__name__, **found}
    if isinstance(value, tuple):
        return [named(each) for each in value]
    return str(value) if isinstance(value, Fraction) else value


def _plain(value: Any, secrets: list[Plain]) -> Plain:
    if is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Plain] = {"kind": type(value).__name__}
        for each in fields(value):
            part = getattr(value, each.name)
            if _kept(each) == "secret":
                secrets.append(_plain(part, []))
            elif _kept(each) is None:
                found[each.name] = _plain(part, secrets)
        return found
    if isinstance(value, tuple):
        return [_plain(each, secrets) for each in value]
    return str(value) if isinstance(value, Fraction) else value


def _kept(each: "Field[Any]") -> Any:
    return each.metadata.get("kept")


_hints = lru_cache(get_type_hints)


def _read(hint: Any, value: Plain, secrets: Iterator[Plain] | None) -> Any:
    """The value of a type; fails by one of the exceptions that `read_state` knows."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _read_one_of(get_args(hint), value, secrets)
    if origin is tuple:
        inner = get_args(hint)
        if inner[-1] is ...:
            return tuple(_read(inner[0], each, secrets) for each in value)
        return tuple(_read(*pair, secrets) for pair in zip(inner, value, strict=True))
    if is_dataclass(hint):
        return _read_dataclass(hint, value, secrets)
    if hint is Fraction:
        return Fraction(value)
    if hint in (int, float, bool, str):
        return _checked(hint, value)
    return value


def _read_one_of(kinds: tuple[Any, ...], value: Plain, secrets: Iterator[Plain] | None) -> Any:
    if value is None and type(None) in kinds:
        return None
    some = [kind for kind in kinds if kind is not type(None)]
    if isinstance(value, dict):
        some = [kind for kind in some if kind.__name__ == value["kind"]]
    return _read(some[0], value, secrets)


def _read_dataclass(hint: Any, value: Plain, secrets: Iterator[Plain] | None) -> Any:
    if value["kind"] != hint.__name__:
        raise ValueError(value["kind"])
    hints = _hints(hint)
    found: dict[str, Any] = {}
    known = {each.name for each in fields(hint)} | {"kind"}
    if not set(value) <= known:
        raise ValueError
    for each in fields(hint):
        if _kept(each) == "apart":
            found[each.name] = None
        elif _kept(each) == "secret":
            part = each.metadata.get("lost") if secrets is None else next(secrets)
            found[each.name] = None if part is None else _read(hints[each.name], part, None)
        elif each.name in value or each.default is MISSING:
            found[each.name] = _read(hints[each.name], value[each.name], secrets)
    return hint(**found)


def _checked(kind: type, value: Plain) -> Any:
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    raise ValueError(kind)
