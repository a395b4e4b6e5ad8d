"""What a release is on disk: fields of its receipt, and arrays."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.cutnorm.certificate import CutNormCertificate, frozen_mask
from graphcuts_dp.estimate.measurement import (
    Bought,
    CellSums,
    Degrees,
    Measurement,
    Measurements,
    check_members,
)
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix, noise_cut_bound
from graphcuts_dp.estimate.sparse_model import KeptEdges, SparseModel
from graphcuts_dp.pairs.vertices import Space
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results.bundle import Saved, space_fields, space_from
from graphcuts_dp.synth.base import FitSummary
from graphcuts_dp.synth.finishing import TOLERANCE

DENSE, SPARSE = "release", "sparse"  # kinds of `bundle`
ANSWERS, SYNTHETIC_GRAPH = "answers", "synthetic graph"
# What a release is to be good at where degrees and entries compete, and what the other would give.
WORKLOADS = {
    ANSWERS: f"where the noisy total shows no communities, workload {SYNTHETIC_GRAPH!r} spends "
    "nearly all on degrees: a better synthetic graph, answers between groups several times less "
    "precise",
    SYNTHETIC_GRAPH: f"workload {ANSWERS!r} never spends so much on degrees: on sparse graphs "
    "answers between groups are several times more precise, and the synthetic graph is worse",
}
_TIME_LIMIT = (
    "seconds of the fit, its certificates and mixtures together; not counted: reading, drawing the "
    "noise, one step of the fit, a rounding to weights 0 and 1, one shortest certificate"
)
_Arrays = dict[str, npt.NDArray[Any]]


def dense_fields(
    measurements: Measurements,
    noisy: NoisyMatrix,
    fit: FitSummary | None,
    certificate: CutNormCertificate | None,
    workload: str,
) -> dict[str, Any]:
    """The receipt of a release with a noisy matrix, which writes itself."""
    return {
        "workload": workload,
        "noise": _describe_noise(noisy),
        "measurements": {
            value.name: fields | {"arrays": {name: each.tolist() for name, each in arrays.items()}}
            for value, (fields, arrays) in _in_parts(measurements)
        },
        "fit": None if fit is None else asdict(fit),
        "time_limit": None if fit is None or fit.time_limit is None else _TIME_LIMIT,
        "certificate": None if certificate is None else _describe_certificate(certificate),
        "certificate_tolerance": None if certificate is None else TOLERANCE,
        "noise_bound": noise_cut_bound(noisy.distribution, noisy.shape, symmetric=noisy.symmetric),
    }


def read_dense(saved: Saved) -> dict[str, Any]:
    """The fields of a `Release` with a noisy matrix.

    Raises:
        FileFormatError, LookupError, TypeError, ValueError, ArithmeticError: other files than
            `dense_fields` describes; see `bundle.opened`.
    """
    fields = saved.fields
    with saved.arrays_path.open("rb") as handle:
        noisy = NoisyMatrix.read(handle)
    values = [
        Measurement.from_parts(name, stored, stored["arrays"])
        for name, stored in fields["measurements"].items()
    ]
    if fields["workload"] not in WORKLOADS:
        raise ValueError("an unknown workload")
    certificate = fields["certificate"]
    return {
        "measurements": _paid_for(saved.guarantee, [*values, noisy], noisy.shape),
        "certificate": None if certificate is None else _certificate(certificate, noisy.shape),
        "workload": fields["workload"],
        **_fitted(saved, noisy.space),
    }


def sparse_parts(
    measurements: Measurements, model: SparseModel, fit: FitSummary | None
) -> tuple[dict[str, Any], _Arrays]:
    """The receipt and the arrays of a sparse release; the vertices are an array, too."""
    arrays = {f"model/{name}": each for name, each in model.to_parts().items()}
    described = {}
    for value, (described[value.name], own) in _in_parts(measurements):
        arrays |= {f"{value.name}/{name}": each for name, each in own.items()}
    about = space_fields(model.space) | {"weight_cap": model.weight_cap, "whole": model.whole}
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    fields = {
        "shape": list(model.layout.shape),
        "measurements": described,
        "fit": None if fit is None else asdict(fit),
    }
    return fields, arrays


def read_sparse(saved: Saved) -> dict[str, Any]:
    """The fields of a sparse `Release`.

    Raises:
        GraphError, FileFormatError, LookupError, TypeError, ValueError, ArithmeticError: other
            files than `sparse_parts` describes; see `bundle.opened`.
    """
    arrays = saved.arrays()
    about = json.loads(arrays["about"].tobytes())
    space = space_from(about)
    cap = None if about["weight_cap"] is None else float(about["weight_cap"])
    model = SparseModel.from_parts(
        _named(arrays, "model"), space, weight_cap=cap, whole=bool(about["whole"])
    )
    values = [
        KeptEdges.from_parts(stored, _named(arrays, name), space)
        if name == KeptEdges.name
        else Measurement.from_parts(name, stored, _named(arrays, name))
        for name, stored in saved.fields["measurements"].items()
    ]
    measurements = _paid_for(saved.guarantee, values, model.layout.shape)
    _check_degrees(measurements.find(Degrees), model)
    return {"measurements": measurements, "_model": model, **_fitted(saved, space)}


def _paid_for(
    guarantee: PrivacyGuarantee, values: Sequence[Bought], shape: tuple[int, int]
) -> Measurements:
    """Measurements, checked to be those that a guarantee is for, of a matrix of this shape."""
    names = [value.name for value in values]
    if ([name for name, _ in guarantee.parts] or names[-1:]) != names:
        raise ValueError("the guarantee is for other measurements")
    measurements = Measurements(tuple(values), guarantee)
    check_members(measurements.all_of(CellSums), shape)
    return measurements


def _fitted(saved: Saved, space: Space) -> dict[str, Any]:
    """The synthetic graph and how it was made, where there is one and it is wanted."""
    fit, graph = saved.fields["fit"], saved.graph(space)
    made = None if fit is None else FitSummary(**fit)
    return {"fit": None if graph is None else made, "_graph": graph}


def _in_parts(
    measurements: Measurements,
) -> Iterator[tuple[Measurement[Any] | KeptEdges, tuple[dict[str, Any], _Arrays]]]:
    """What stands in the receipt; the noisy entries have a file of their own."""
    for value in measurements.values:
        if not isinstance(value, NoisyMatrix):
            yield value, value.parts()


def _named(arrays: _Arrays, name: str) -> _Arrays:
    """The arrays of one thing, by their own names."""
    prefix = f"{name}/"
    return {
        key.removeprefix(prefix): each for key, each in arrays.items() if key.startswith(prefix)
    }


def _check_degrees(degrees: Measurement[Degrees] | None, model: SparseModel) -> None:
    shape = model.layout.shape[: 1 if model.symmetric else 2]
    if degrees is None or tuple(map(len, degrees.steps)) != shape:
        raise ValueError("the degrees are of other vertices, or of another kind of graph")


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
