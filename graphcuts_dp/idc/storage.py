"""Hypotheses as bytes: named plain arrays, no pickle."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.universe import Universe

Arrays = dict[str, npt.NDArray[Any]]


def pack(kind: str, universe: Universe, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Bytes that `unpack` reads back; equal arrays give equal bytes.

    Args:
        kind: name of the class, checked when reading.
        universe: its shape is stored, its labels are not.
        arrays: of numbers or truth values.
    """
    handle = io.BytesIO()
    header = np.array([*universe.shape, universe.bipartite], dtype=np.int64)
    name = np.frombuffer(kind.encode(), dtype=np.uint8)
    with zipfile.ZipFile(handle, "w") as archive:
        for key, array in {"kind": name, "header": header, **arrays}.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
            # A fixed date (ZipInfo's default) keeps the bytes the same.
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), member.getvalue())
    return handle.getvalue()


def unpack(
    data: bytes,
    kind: str,
    universe: Universe,
    expected: Mapping[str, tuple[npt.DTypeLike, tuple[int | None, ...]]],
) -> Arrays:
    """The arrays that `pack` wrote, checked.

    Args:
        data: the bytes.
        kind: the name given to `pack`.
        universe: must have the stored shape.
        expected: dtype and shape of each array; None stands for any length.

    Raises:
        FileFormatError: damaged bytes, another kind, universe, dtype or shape, or floating-point
            numbers that are not finite.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        stored, header = bytes(arrays["kind"]).decode(), arrays["header"].tolist()
        found = {key: arrays[key] for key in expected}
    except (OSError, EOFError, LookupError, ValueError, TypeError, zipfile.BadZipFile) as problem:
        raise FileFormatError("these bytes are not a stored hypothesis, or damaged") from problem
    if stored != kind:
        raise FileFormatError(f"these bytes hold a {stored[:40]!r}, not a {kind}")
    if header != [*universe.shape, int(universe.bipartite)]:
        raise FileFormatError("the stored hypothesis is for another universe than the one given")
    for key, (dtype, shape) in expected.items():
        array = found[key]
        lengths_fit = len(array.shape) == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
        )
        if array.dtype != np.dtype(dtype) or not lengths_fit:
            raise FileFormatError(f"the stored hypothesis is damaged: {key} has the wrong form")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise FileFormatError(f"the stored hypothesis is damaged: {key} is not finite")
    return found
