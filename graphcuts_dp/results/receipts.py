"""Receipts: JSON beside what was released, which ties the files together.

A receipt is written last and names the SHA-256 of the other files and of its own fields, so a set
that was interrupted, mixed or damaged is refused when it is read.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.files import atomic_write

PathLike = str | os.PathLike[str]
_DAMAGE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError)


def receipt_path(path: PathLike) -> Path:
    """Where the receipt of a release at `path` is."""
    return Path(f"{os.fspath(path)}.json")


def write_receipt(file: Path, fields: dict[str, Any]) -> None:
    """Write a receipt, with versions and a digest of its fields."""
    versions = {
        "graphcuts_dp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    receipt = {**fields, "versions": versions}
    receipt["digest"] = _digest(receipt)
    with atomic_write(file) as handle:
        handle.write(json.dumps(receipt, indent=2).encode() + b"\n")


def check_files(path: PathLike, files: dict[str, str]) -> None:
    """Check that the files of the release at `path` are those that its receipt names.

    Raises:
        FileFormatError: one is missing, or another one.
    """
    for name, digest in files.items():
        file = Path(path).parent / Path(name).name
        if not file.is_file():
            raise FileFormatError(f"{file} is missing; it belongs to the release at {path!s}")
        if sha256_of(file) != digest:
            raise FileFormatError(f"{file} is not the file that the receipt names; it changed")


def read_arrays(path: PathLike, receipt: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a release whose one file, an .npz, is at `path`.

    Raises:
        FileFormatError: the receipt is of another release, or the file is not the one it names.
        OSError, ValueError: as numpy; see `telling_damage`.
    """
    if set(receipt["files"]) != {Path(path).name}:
        raise FileFormatError(f"{receipt_path(path)} is the receipt of another release")
    check_files(path, receipt["files"])
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    check_files(path, receipt["files"])  # as read: others may replace it meanwhile
    return arrays


@contextmanager
def telling_damage(path: PathLike) -> Iterator[None]:
    """Tell whatever goes wrong while the files of a release at `path` are read as such.

    Raises:
        FileFormatError: a file cannot be read, or does not hold what its receipt says.
    """
    try:
        yield
    except FileFormatError:
        raise
    except OSError as problem:
        raise FileFormatError(f"cannot read {path!s}: {problem.strerror}") from None
    except (*_DAMAGE, GraphCutsError) as problem:
        raise FileFormatError(f"{receipt_path(path)} is damaged or of another version") from problem


def read_receipt(path: PathLike, *forms: int | str) -> dict[str, Any]:
    """The fields of the receipt of a release at `path`.

    Raises:
        FileFormatError: none is there, or it is damaged or of none of these forms.
    """
    file = receipt_path(path)
    receipt = _loaded(file)
    if not isinstance(receipt, dict) or receipt.get("format") not in forms:
        raise FileFormatError(f"{file} is not a receipt of this version of the package")
    return _undamaged(file, receipt)


def form_at(path: PathLike) -> str:
    """The form of the receipt of a release at `path`, unchecked; "" where none is in words."""
    try:
        form = json.loads(receipt_path(path).read_bytes()).get("format")
    except (OSError, ValueError, RecursionError, AttributeError):
        return ""
    return form if isinstance(form, str) else ""


def read_any_receipt(path: PathLike) -> tuple[Path, dict[str, Any]]:
    """The receipt of whatever was released, and where it is.

    Raises:
        FileFormatError: there is none, or its fields do not fit its digest.
    """
    file = Path(path) if os.fspath(path).endswith(".json") else receipt_path(path)
    receipt = _loaded(file)
    if not isinstance(receipt, dict) or not {"guarantee", "files", "digest"} <= set(receipt):
        raise FileFormatError(f"{file} is not a receipt of this package")
    return file, _undamaged(file, receipt)


def _loaded(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        raise FileFormatError(f"{file} does not exist; a release has a receipt beside it") from None
    except OSError as problem:
        raise FileFormatError(f"cannot read {file}: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise FileFormatError(f"{file} is not a receipt: it is damaged") from None


def _undamaged(file: Path, receipt: dict[str, Any]) -> dict[str, Any]:
    if receipt.pop("digest", None) != _digest(receipt):
        raise FileFormatError(f"{file} is damaged: its fields do not fit its digest")
    return receipt


def _digest(receipt: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(receipt, sort_keys=True).encode()).hexdigest()


def sha256_of(file: Path) -> str:
    """Of a file, in hexadecimal.

    Raises:
        FileFormatError: the file cannot be read.
    """
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as problem:
        raise FileFormatError(f"cannot read {file}: {problem.strerror}") from None
