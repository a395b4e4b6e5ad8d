"""A release on disk: the graph, the noisy matrix, and a receipt that ties them together.

The receipt is written last and names the SHA-256 of the other files and of its own fields, so a
set that was interrupted, mixed or damaged is refused when it is read.
"""

import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import scipy

from graphcuts_dp._version import __version__
from graphcuts_dp.cutnorm.certificate import CutNormCertificate, frozen_mask
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.fits.base import FitSummary
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.atomic import atomic_set, atomic_write, check_writable_set
from graphcuts_dp.graph.files import check_writable_graph, read_graph, write_graph
from graphcuts_dp.measurements.noisy_degrees import NoisyDegrees, NoisyTotal
from graphcuts_dp.measurements.noisy_matrix import NoisyMatrix
from graphcuts_dp.measurements.worst_case import noise_cut_bound
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee

PathLike = str | os.PathLike[str]
_FORMAT = 1


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """What a release consists of; see `Release`."""

    graph: AnyGraph | None
    noisy: NoisyMatrix
    guarantee: PrivacyGuarantee
    fit: FitSummary | None
    certificate: CutNormCertificate | None
    degrees: NoisyDegrees | None
    total: NoisyTotal | None


def receipt_path(path: PathLike) -> Path:
    """Where the receipt of a release at `path` is."""
    return Path(f"{os.fspath(path)}.json")


def noisy_path(path: PathLike) -> Path:
    """Where the noisy matrix of a release at `path` is."""
    return Path(f"{os.fspath(path)}.noisy.npz")


def check_release_path(path: PathLike, *, force: bool = False) -> None:
    """Check that a release can be written here; call it before anything is spent.

    Raises:
        FileFormatError: unknown ending, missing folder, no permission, or a file that is there.
    """
    check_writable_graph(path, force=force)
    check_writable_set((path, noisy_path(path), receipt_path(path)), force=force)


def write_release(
    path: PathLike,
    *,
    force: bool,
    graph: AnyGraph | None,
    noisy: NoisyMatrix,
    guarantee: PrivacyGuarantee,
    fit: FitSummary | None,
    certificate: CutNormCertificate | None,
    degrees: NoisyDegrees | None,
    total: NoisyTotal | None,
) -> tuple[str, ...]:
    """Write the files of a release; see `Release.save`."""
    check_release_path(path, force=force)
    names = Path(path), noisy_path(path), receipt_path(path)
    with atomic_set(names, force=force) as (graph_file, noisy_file, receipt_file):
        written = [noisy_file] if graph is None else [graph_file, noisy_file]
        if graph is not None:
            write_graph(graph, graph_file)
        with atomic_write(noisy_file) as handle:
            noisy.write(handle, entropy=guarantee.to_dict()["entropy"])
        receipt = {
            "format": _FORMAT,
            "guarantee": guarantee.to_dict(),
            "noise": _describe_noise(noisy),
            "noisy_degrees": None if degrees is None else degrees.to_dict(),
            "noisy_total": None if total is None else asdict(total),
            "fit": None if fit is None else asdict(fit),
            "certificate": None if certificate is None else _describe_certificate(certificate),
            "noise_bound": noise_cut_bound(noisy.law, noisy.shape, symmetric=noisy.symmetric),
            "files": {file.name: sha256_of(file) for file in written},
        }
        write_receipt(receipt_file, receipt)
    return tuple(str(name) for name in (names if graph is not None else names[1:]))


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


def read_release(path: PathLike) -> Parts:
    """Read the files of a release; see `Release.load`."""
    receipt = read_receipt(path)
    try:
        expected = {noisy_path(path).name} | ({Path(path).name} if receipt["fit"] else set())
        if not expected <= set(receipt["files"]):
            raise FileFormatError(f"{receipt_path(path)} is the receipt of another release")
        check_files(path, receipt["files"])
        with noisy_path(path).open("rb") as handle:
            noisy = NoisyMatrix.read(handle)
        guarantee = PrivacyGuarantee.from_dict(receipt["guarantee"])
        described = receipt["noisy_degrees"]
        degrees = None if described is None else NoisyDegrees.from_dict(described)
        known = receipt["noisy_total"]
        total = None if known is None else NoisyTotal(**known)
        fit = None if receipt["fit"] is None else FitSummary(**receipt["fit"])
        certificate = (
            None
            if receipt["certificate"] is None
            else _certificate(receipt["certificate"], noisy.shape)
        )
    except OSError as problem:
        raise FileFormatError(f"cannot read {noisy_path(path)}: {problem.strerror}") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as problem:
        raise FileFormatError(f"{receipt_path(path)} is damaged or of another version") from problem
    graph = None
    if fit is not None:
        graph = read_graph(
            path,
            vertices=noisy.left if noisy.symmetric else (noisy.left, noisy.right),
            weighted=not fit.unweighted,
            weight_cap=None if fit.unweighted else noisy.law.weight_cap,
            bipartite=not noisy.symmetric,
        )
    check_files(path, receipt["files"])  # as it was read: others may replace a release meanwhile
    return Parts(
        graph=graph,
        noisy=noisy,
        guarantee=guarantee,
        fit=fit,
        certificate=certificate,
        degrees=degrees,
        total=total,
    )


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


def read_receipt(path: PathLike, form: int | str = _FORMAT) -> dict[str, Any]:
    """The fields of the receipt of a release at `path`.

    Raises:
        FileFormatError: none is there, or it is damaged or of another form.
    """
    file = receipt_path(path)
    try:
        receipt = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise FileFormatError(f"{file} does not exist; a release has a receipt beside it") from None
    except OSError as problem:
        raise FileFormatError(f"cannot read {file}: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise FileFormatError(f"{file} is not a receipt: it is damaged") from None
    if not isinstance(receipt, dict) or receipt.get("format") != form:
        raise FileFormatError(f"{file} is not a receipt of this version of the package")
    if receipt.pop("digest", None) != _digest(receipt):
        raise FileFormatError(f"{file} is damaged: its fields do not fit its digest")
    return receipt


def _digest(receipt: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(receipt, sort_keys=True).encode()).hexdigest()


def _describe_noise(noisy: NoisyMatrix) -> dict[str, Any]:
    law = noisy.law
    return {
        "law": law.name,
        "shape": list(noisy.shape),
        "bipartite": not noisy.symmetric,
        "offset": law.offset,
        "unit": law.unit,
        "standard_deviation": law.standard_deviation,
        "weight_cap": law.weight_cap,
        "note": "estimate of an entry = (released integer - offset) * unit",
    }


def _describe_certificate(certificate: CutNormCertificate) -> dict[str, Any]:
    fields = {
        name: getattr(certificate, name)
        for name in certificate.__dataclass_fields__
        if name not in ("S", "T")
    }
    return {
        "of": "cut norm (matrix form) of synthetic minus noisy",
        **fields,
        "S": np.flatnonzero(certificate.S).tolist(),
        "T": np.flatnonzero(certificate.T).tolist(),
    }


def _certificate(stored: dict[str, Any], shape: tuple[int, ...]) -> CutNormCertificate:
    fields = {key: value for key, value in stored.items() if key != "of"}
    for name, size in zip(("S", "T"), shape, strict=True):
        mask = np.zeros(size, dtype=np.bool_)
        mask[fields[name]] = True
        fields[name] = frozen_mask(mask)
    return CutNormCertificate(**fields)


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
