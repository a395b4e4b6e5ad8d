"""A release on disk: the graph, the noisy matrix, and the receipt that ties them together."""

import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphcuts_dp.cutnorm.certificate import CutNormCertificate, frozen_mask
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.estimate.measurement import (
    Measurement,
    Measurements,
    NoisyDegrees,
    NoisyGroups,
    NoisyTotal,
    check_members,
)
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.worst_case import noise_cut_bound
from graphcuts_dp.files import atomic_write
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.file_sets import check_writable_files, writing_files, written_files
from graphcuts_dp.graph.files import graph_files, read_graph, write_graph
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results.receipts import (
    PathLike,
    check_files,
    read_receipt,
    receipt_path,
    sha256_of,
    write_receipt,
)
from graphcuts_dp.synth.base import FitSummary
from graphcuts_dp.synth.certify import TOLERANCE

ANSWERS, SYNTHETIC_GRAPH = "answers", "synthetic graph"
# What a release is to be good at where degrees and entries compete, and what the other would give.
WORKLOADS = {
    ANSWERS: f"where the noisy total shows no communities, workload {SYNTHETIC_GRAPH!r} spends "
    "nearly all on degrees: a better synthetic graph, answers between groups several times less "
    "precise",
    SYNTHETIC_GRAPH: f"workload {ANSWERS!r} never spends so much on degrees: on sparse graphs "
    "answers between groups are several times more precise, and the synthetic graph is worse",
}
_FORMAT = 3  # 3: the total tells the grid of its noise
_TIME_LIMIT = (
    "seconds of the fit, its certificates and mixtures together; not counted: reading, drawing the "
    "noise, one step of the fit, a rounding to weights 0 and 1, one shortest certificate"
)
# What the receipt holds; the noisy entries have a file of their own.
_IN_RECEIPT: dict[str, Callable[[dict[str, Any]], Measurement]] = {
    "groups": partial(NoisyGroups.from_dict, "groups"),
    "groups again": partial(NoisyGroups.from_dict, "groups again"),
    "total": NoisyTotal.from_dict,
    "early degrees": partial(NoisyDegrees.from_dict, early=True),
    "degrees": NoisyDegrees.from_dict,
}


def noisy_path(path: PathLike) -> Path:
    """Where the noisy matrix of a release at `path` is."""
    return Path(f"{os.fspath(path)}.noisy.npz")


def _names(path: PathLike) -> tuple[Path, Path, Path]:
    return Path(path), noisy_path(path), receipt_path(path)


def check_release_path(path: PathLike, *, force: bool = False) -> None:
    """Check that a release can be written here; call it before anything is spent.

    Raises:
        FileFormatError: unknown ending, missing folder, no permission, or a file that is there.
    """
    check_writable_files(_names(path), force=force)


def write_release(
    path: PathLike,
    measurements: Measurements,
    noisy: NoisyMatrix,
    graph: AnyGraph | None,
    fit: FitSummary | None,
    certificate: CutNormCertificate | None,
    *,
    workload: str,
    force: bool,
) -> tuple[str, ...]:
    """Write the files of a release; see `Release.save`."""
    guarantee = measurements.guarantee
    files = writing_files(_names(path), force=force)
    with files as (graph_file, noisy_file, receipt_file):
        written = [noisy_file] if graph is None else [*graph_files(graph_file), noisy_file]
        if graph is not None:
            write_graph(graph, graph_file, about=guarantee.about)
        with atomic_write(noisy_file) as handle:
            noisy.write(handle, entropy=guarantee.to_dict()["entropy"])
        receipt = {
            "format": _FORMAT,
            "guarantee": guarantee.to_dict(),
            "workload": workload,
            "noise": _describe_noise(noisy),
            "measurements": {
                value.name: value.to_dict()
                for value in measurements.values
                if isinstance(value, NoisyTotal | NoisyDegrees | NoisyGroups)
            },
            "fit": None if fit is None else asdict(fit),
            "time_limit": None if fit is None or fit.time_limit is None else _TIME_LIMIT,
            "certificate": None if certificate is None else _describe_certificate(certificate),
            "certificate_tolerance": None if certificate is None else TOLERANCE,
            "noise_bound": noise_cut_bound(
                noisy.distribution, noisy.shape, symmetric=noisy.symmetric
            ),
            "files": {file.name: sha256_of(file) for file in written},
        }
        write_receipt(receipt_file, receipt)
    return written_files(_names(path), graph=graph is not None)


def read_release(path: PathLike) -> dict[str, Any]:
    """Read the files of a release: the fields of a `Release`; see `Release.load`."""
    receipt = read_receipt(path, _FORMAT)
    try:
        expected = {noisy_path(path).name} | ({Path(path).name} if receipt["fit"] else set())
        if not expected <= set(receipt["files"]):
            raise FileFormatError(f"{receipt_path(path)} is the receipt of another release")
        check_files(path, receipt["files"])
        with noisy_path(path).open("rb") as handle:
            noisy = NoisyMatrix.read(handle)
        values = [_IN_RECEIPT[name](stored) for name, stored in receipt["measurements"].items()]
        measurements = Measurements(
            (*values, noisy), PrivacyGuarantee.from_dict(receipt["guarantee"])
        )
        paid_for = [name for name, _ in measurements.guarantee.parts] or [noisy.name]
        if paid_for != [value.name for value in measurements.values]:
            raise ValueError("the guarantee is for other measurements")
        workload = receipt.get("workload", ANSWERS)  # older receipts have none
        if workload not in WORKLOADS:
            raise ValueError("an unknown workload")
        check_members(measurements.all_of(NoisyGroups), noisy.shape)
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
            vertices=(noisy.left, noisy.right) if _bipartite(noisy) else noisy.left,
            weighted=not fit.unweighted,
            weight_cap=None if fit.unweighted else noisy.distribution.weight_cap,
            bipartite=_bipartite(noisy),
            directed=noisy.directed,
        )
    check_files(path, receipt["files"])  # as it was read: others may replace a release meanwhile
    return {
        "measurements": measurements,
        "fit": fit,
        "certificate": certificate,
        "_graph": graph,
        "workload": workload,
    }


def _bipartite(noisy: NoisyMatrix) -> bool:
    return not (noisy.symmetric or noisy.directed)


def _describe_noise(noisy: NoisyMatrix) -> dict[str, Any]:
    distribution = noisy.distribution
    return {
        "distribution": distribution.name,
        "shape": list(noisy.shape),
        "bipartite": _bipartite(noisy),
        "directed": noisy.directed,
        "offset": distribution.offset,
        "unit": distribution.unit,
        "standard_deviation": distribution.standard_deviation,
        "weight_cap": distribution.weight_cap,
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
