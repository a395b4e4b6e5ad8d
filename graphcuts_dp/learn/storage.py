"""Hypotheses as bytes: a magic line, a SHA-256, a line of JSON, and plain arrays. No pickle."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.pairs.universe import Universe

Arrays = dict[str, npt.NDArray[Any]]
# The dtype of each array and its shape, where None stands for any length.
Form = Mapping[str, tuple[npt.DTypeLike, tuple[int | None, ...]]]
_MAGIC = b"graphcuts-dp hypothesis 1\n"
_DIGEST_BYTES = 32


def pack(kind: str, universe: Universe, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Bytes that `unpack` reads back; equal arrays give equal bytes.

    Args:
        kind: name of the class, checked when reading.
        universe: its shape is stored, its labels are not.
        arrays: of numbers or truth values.
    """
    # Little-endian on every machine.
    plain = {key: np.asarray(a, dtype=a.dtype.newbyteorder("<")) for key, a in arrays.items()}
    header = {
        "kind": kind,
        "shape": universe.shape,
        **_kind_of(universe),
        "arrays": [[key, array.dtype.str, array.shape] for key, array in plain.items()],
    }
    body = json.dumps(header).encode() + b"\n" + b"".join(a.tobytes() for a in plain.values())
    return _MAGIC + hashlib.sha256(body).digest() + body


def _kind_of(universe: Universe) -> dict[str, bool]:
    kind = {"bipartite": universe.bipartite}
    return kind | {"directed": True} if universe.directed else kind


def unpack(data: bytes, kind: str, universe: Universe, form: Form) -> Arrays:
    """The arrays that `pack` wrote, checked.

    Args:
        data: the bytes.
        kind: the name given to `pack`.
        universe: must have the stored shape.
        form: of the arrays, in the order in which they were packed.

    Raises:
        FileFormatError: damaged bytes, another kind, universe or form, or floating-point numbers
            that are not finite.
    """
    start = len(_MAGIC) + _DIGEST_BYTES
    body = memoryview(data)[start:]
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise FileFormatError("these bytes are not a stored hypothesis, or damaged")
    end = data.find(b"\n", start)
    try:
        header = json.loads(data[start:end])
        if header["kind"] != kind:
            raise FileFormatError(f"these bytes do not hold a {kind}")
        stored_kind = {key: header[key] for key in ("bipartite", "directed") if key in header}
        if header["shape"] != [*universe.shape] or stored_kind != _kind_of(universe):
            raise FileFormatError("the stored hypothesis is for another universe")
        found: Arrays = {}
        at = end + 1
        for (key, (dtype, lengths)), (name, stored, shape) in zip(
            form.items(), header["arrays"], strict=True
        ):
            little = np.dtype(dtype).newbyteorder("<")
            if (name, np.dtype(stored)) != (key, little) or not _fits(shape, lengths):
                raise FileFormatError(f"the stored hypothesis is damaged: {key} has another form")
            count = math.prod(shape)
            array = np.frombuffer(data, dtype=little, count=count, offset=at)
            found[key] = array.reshape(shape).astype(dtype)
            at += array.nbytes
    except (LookupError, TypeError, ValueError) as problem:
        raise FileFormatError("the stored hypothesis is damaged") from problem
    if at != len(data):
        raise FileFormatError("the stored hypothesis is damaged: it is too long")
    for key, array in found.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise FileFormatError(f"the stored hypothesis is damaged: {key} is not finite")
    return found


def kind_of(data: bytes) -> str | None:
    """The name of the class that `pack` was given; None where it cannot be read. Not checked."""
    start = len(_MAGIC) + _DIGEST_BYTES
    try:
        kind = json.loads(data[start : data.find(b"\n", start)])["kind"]
    except (LookupError, TypeError, ValueError):
        return None
    return kind if isinstance(kind, str) else None


def _fits(shape: list[int], lengths: tuple[int | None, ...]) -> bool:
    return len(shape) == len(lengths) and all(
        length >= 0 and wanted in (None, length)
        for length, wanted in zip(shape, lengths, strict=True)
    )
