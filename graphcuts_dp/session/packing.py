"""States as bytes: a magic line, a SHA-256, and a line of JSON. No pickle."""

import hashlib
import json
from typing import Any

from graphcuts_dp.errors import FileFormatError

_MAGIC = b"graphcuts-dp state 1\n"
_DIGEST_BYTES = 32


def pack(kind: str, owner: str, content: dict[str, Any]) -> bytes:
    """Bytes that `unpack` reads back.

    Args:
        kind: which part of a state this is.
        owner: `fingerprint` of the mechanism.
        content: plain values.
    """
    body = json.dumps({"kind": kind, "owner": owner, "content": content}).encode()
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes, kind: str, owner: str) -> dict[str, Any]:
    """What `pack` was given.

    Raises:
        FileFormatError: damaged bytes, another part, or another mechanism. Nothing of the content
            is quoted: it may be secret.
    """
    start = len(_MAGIC) + _DIGEST_BYTES
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise FileFormatError("these bytes are not a stored state, or damaged")
    try:
        header = json.loads(body)
        found, belongs, content = header["kind"], header["owner"], header["content"]
    except (LookupError, TypeError, ValueError) as problem:
        raise FileFormatError("the stored state is damaged") from problem
    if found != kind:
        raise FileFormatError(f"these bytes are not the {kind} part of a state")
    if belongs != owner:
        raise FileFormatError("the stored state belongs to a mechanism with other parameters")
    if not isinstance(content, dict):
        raise FileFormatError("the stored state is damaged")
    return content


def fingerprint(mechanism: object) -> str:
    """A short name for a mechanism and all its parameters: a digest of its repr."""
    return hashlib.sha256(repr(mechanism).encode()).hexdigest()[:32]


def pack_hypothesis(owner: str, updates: int, data: bytes) -> bytes:
    """A hypothesis's own bytes, with whose it is and after how many updates."""
    return pack("hypothesis", owner, {"updates": updates}) + b"\n" + data


def unpack_hypothesis(data: bytes, owner: str) -> tuple[int, bytes]:
    """The number of updates, and the hypothesis's own bytes, which have a digest of their own.

    Raises:
        FileFormatError: as for `unpack`.
    """
    start = len(_MAGIC) + _DIGEST_BYTES
    end = data.find(b"\n", start)
    content = unpack(data[: max(end, 0)], "hypothesis", owner)
    return whole_number(content, "updates"), data[end + 1 :]


def whole_number(content: dict[str, Any], key: str) -> int:
    """A whole number >= 0.

    Raises:
        FileFormatError: it is something else.
    """
    value = content.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise FileFormatError(f"the stored state is damaged: {key}")
    return value
