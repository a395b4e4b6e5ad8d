"""Describe a release by the fields of its receipt and by arrays, and read it back from these.

`release_fields` and `read_release` are for a finished release. What a release measures before and
after its fit is described separately, so that an interrupted run can continue from the store: by
`measurement_parts` and `later_measurement_parts`, which `read_measurements` and
`with_later_measurement` read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.cutnorm.certificate import CutNormCertificate, frozen_mask
from graphcuts_dp.estimate.base import Measurement
from graphcuts_dp.estimate.measurement import (
    CellSums,
    Degrees,
    Measurements,
    read_measurement,
)
from graphcuts_dp.estimate.sparse_model import SparseModel
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results.array_forms import check_label_count
from graphcuts_dp.results.bundle import space_fields, space_from
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Space
from graphcuts_dp.synth.base import FitSummary
from graphcuts_dp.synth.fit_weights import DECIMALS, TOLERANCE

if TYPE_CHECKING:
    from graphcuts_dp.results.release import Release

KIND = "release"  # name in `bundle.KINDS`
_TIME_LIMIT = (
    "seconds of the fit, its certificates and mixtures together; not counted: reading, drawing the "
    "noise, one step of the fit, a rounding to weights 0 and 1, the shortest certificates"
)
_Arrays = dict[str, npt.NDArray[Any]]


def release_fields(release: "Release") -> tuple[dict[str, Any], _Arrays]:
    """Return the fields of the receipt of a finished release, and the arrays beside it.

    The array "about" is the JSON of the vertices, as bytes.
    """
    model, fit, certificate = release._model, release.fit, release.certificate
    halves = release.random_halves()
    noisy = release.measurements.matrix
    space_description = space_fields(release.space)
    measurement_fields, arrays = _fields_and_arrays(release.measurements, release.space)
    if release._weights is not None:  # of an undirected graph the upper half is enough
        symmetric = Layout.of(release.space).symmetric
        arrays["weights"] = np.triu(release._weights) if symmetric else release._weights
    if model is not None:
        arrays |= {f"model/{name}": array for name, array in model.to_parts().items()}
    fields = {
        "shape": list(release.shape),
        "bipartite": space_description["bipartite"],
        "directed": space_description["directed"],
        "measurements": measurement_fields,
        "model": None
        if model is None
        else {"max_weight": model.max_weight, "whole": model.integral},
        "fit": None if fit is None else asdict(fit),
        "time_limit": None if fit is None or fit.time_limit is None else _TIME_LIMIT,
        "certificate": None if certificate is None else _describe_certificate(certificate),
        "random_halves": None if halves is None else halves.to_dict(),
        "certificate_tolerance": None if certificate is None else TOLERANCE,
        "noise_bound": None
        if noisy is None
        else noise_cut_bound(noisy.distribution, noisy.shape, symmetric=noisy.symmetric),
    }
    return fields, arrays


def _fields_and_arrays(measurements: Measurements, space: Space) -> tuple[dict[str, Any], _Arrays]:
    """Return the fields of measurements by name, and their arrays; "about" has the vertices."""
    measurement_fields: dict[str, Any] = {}
    vertices = json.dumps(space_fields(space)).encode()
    arrays: _Arrays = {"about": np.frombuffer(vertices, dtype=np.uint8)}
    for measurement in measurements.values:
        measurement_fields[measurement.name], arrays_of_measurement = measurement.parts()
        arrays |= {
            f"{measurement.name}/{name}": array for name, array in arrays_of_measurement.items()
        }
    return measurement_fields, arrays


def _describe_certificate(certificate: CutNormCertificate) -> dict[str, Any]:
    """Return plain values of a certificate, with its sets as lists of rows and columns."""
    fields = {
        member.name: getattr(certificate, member.name) for member in dataclass_fields(certificate)
    }
    sets = {name: np.flatnonzero(fields[name]).tolist() for name in ("S", "T")}
    return {"of": "cut norm (matrix form) of synthetic minus noisy", **fields, **sets}


def measurement_parts(measurements: Measurements, space: Space) -> ResultParts:
    """Return the parts of all that a release measured, before a graph is fitted to it.

    Args:
        measurements: of the release.
        space: the public vertex set, or both.
    """
    measurement_fields, arrays = _fields_and_arrays(measurements, space)
    return ResultParts(
        kind=KIND,
        guarantee=measurements.guarantee,
        fields={"measurements": measurement_fields},
        arrays=arrays,
    )


def later_measurement_parts(measurements: Measurements) -> ResultParts:
    """Return the parts of the measurement after the fit; see `measurement_parts`.

    Args:
        measurements: of the release; the last one is that after the fit.
    """
    last = measurements.values[-1]
    measurement_fields, arrays = last.parts()
    return ResultParts(
        kind=KIND,
        guarantee=measurements.guarantee,
        fields={"measurements": {last.name: measurement_fields}},
        arrays={f"{last.name}/{name}": array for name, array in arrays.items()},
    )


def with_later_measurement(release: "Release", saved: SavedParts) -> "Release":
    """Return a release with the measurement after its fit.

    Args:
        release: with the measurements before the fit.
        saved: what `later_measurement_parts` returned.

    Raises:
        GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: these are not such
            parts.
    """
    arrays, measurement_fields = saved.arrays(), saved.fields["measurements"]
    later = [
        read_measurement(name, stored, _arrays_of(arrays, name), release.space)
        for name, stored in measurement_fields.items()
    ]
    values = [*release.measurements.values, *later]
    return replace(
        release, measurements=_checked_measurements(saved.guarantee, values, release.shape)
    )


def _arrays_of(arrays: _Arrays, name: str) -> _Arrays:
    """Return the arrays whose names begin with `name/`, without this beginning."""
    prefix = f"{name}/"
    return {
        key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)
    }


def _checked_measurements(
    guarantee: PrivacyGuarantee, values: Sequence[Measurement], shape: tuple[int, int]
) -> Measurements:
    """Return measurements, after a check against the guarantee and the shape of the matrix.

    Raises:
        ValueError: the guarantee is for other measurements, or groups are of other vertices.
    """
    names = [value.name for value in values]
    plan = guarantee.budget_plan
    if plan is None or plan.ran is None:  # releases without a plan have a single measurement
        is_planned = len(names) <= 1
    else:
        is_planned = names == list(plan.names.values())
    if not is_planned:
        raise ValueError("the guarantee is for other measurements")
    measurements = Measurements(tuple(values), guarantee)
    groups = measurements.find(CellSums)
    if groups is not None and tuple(map(len, groups.map.members)) != shape:
        raise ValueError("the groups are of other vertices")
    return measurements


def read_measurements(saved: SavedParts) -> tuple[Measurements, Space]:
    """Return the measurements of a release, and its space, from parts of `measurement_parts`.

    Args:
        saved: these parts, as they were read.

    Raises:
        GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: these are not such
            parts.
    """
    return _measurements(saved.guarantee, saved.fields, saved.arrays())


def _measurements(
    guarantee: PrivacyGuarantee, fields: Mapping[str, Any], arrays: _Arrays
) -> tuple[Measurements, Space]:
    """Return measurements and space from fields and arrays, see `read_measurements`."""
    space = space_from(json.loads(arrays["about"].tobytes()))
    values = [
        read_measurement(name, stored, _arrays_of(arrays, name), space)
        for name, stored in fields["measurements"].items()
    ]
    return _checked_measurements(guarantee, values, Layout.of(space).shape), space


def read_release(saved: SavedParts) -> dict[str, Any]:
    """Return the arguments of `Release` from the fields and arrays of `release_fields`.

    Args:
        saved: the files of a release, see `bundle.opened`.

    Raises:
        GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: `release_fields` has
            not described them.
    """
    fields, arrays = saved.fields, saved.arrays()
    check_label_count(arrays["about"].tobytes(), fields["shape"])
    measurements, space = _measurements(saved.guarantee, fields, arrays)
    layout = Layout.of(space)
    if [*layout.shape, layout.directed] != [*fields["shape"], fields["directed"]]:
        raise ValueError("the receipt is for other vertices")
    side_sizes = layout.shape[: 1 if layout.symmetric else 2]
    degrees = measurements.find(Degrees)
    if degrees is not None and tuple(map(len, degrees.steps)) != side_sizes:
        raise ValueError("the degrees are of other vertices, or of another kind of graph")
    model_fields, model = fields["model"], None
    if model_fields is not None:
        max_weight = model_fields["max_weight"]
        model = SparseModel.from_parts(
            _arrays_of(arrays, "model"),
            space,
            max_weight=None if max_weight is None else float(max_weight),
            integral=bool(model_fields["whole"]),
        )
    if measurements.matrix is None and model is None:
        raise ValueError("a release without entries has a model")
    if model is not None and degrees is None:
        raise ValueError("a model goes with degrees")
    fit, certificate, graph = fields["fit"], fields["certificate"], saved.graph(space)
    weights = arrays.get("weights")
    if weights is not None:
        weights = _stored_weights(weights, layout)
    if not _belong_together(weights, graph, is_sparse=model is not None):
        raise ValueError("a graph that was rounded goes with its weights")
    return {
        "measurements": measurements,
        "certificate": None
        if certificate is None
        else _read_certificate(certificate, layout.shape),
        "fit": None if fit is None or graph is None else FitSummary(**fit),
        "_model": model,
        "_graph": graph,
        "_weights": weights,
    }


def _stored_weights(
    stored: npt.NDArray[Any], layout: Layout
) -> npt.NDArray[np.uint16 | np.float64]:
    """Return the weights of the fit as `release_fields` stores them, for all pairs.

    Raises:
        ValueError: they are of other pairs, below 0, infinite, or in units and larger than 1.
    """
    if stored.dtype not in (np.uint16, np.float64) or stored.shape != layout.shape:
        raise ValueError("the weights are of other pairs")
    if stored.dtype == np.uint16 and stored.max() > 10**DECIMALS:
        raise ValueError("a weight is larger than 1")
    if not (np.isfinite(stored).all() and (stored >= 0).all()):
        raise ValueError("a weight is below 0, or infinite")
    if (layout.hollow and stored.diagonal().any()) or (
        layout.symmetric and any(row[:index].any() for index, row in enumerate(stored))
    ):
        raise ValueError("there are weights outside of the pairs of the layout")
    return stored + stored.T if layout.symmetric else stored


def _belong_together(
    weights: npt.NDArray[Any] | None, graph: AnyGraph | None, *, is_sparse: bool
) -> bool:
    """Return whether a release may have these weights of a fit together with this graph.

    A graph without weights was rounded from weights in decimal units, which are integers. A graph
    with weights was rounded from floats, or is the fit itself and has no weights beside it. The
    graph of a sparse release was drawn from its model.
    """
    if graph is None or is_sparse:
        return weights is None
    if weights is None:
        return graph.weighted
    return bool(graph.weighted == (weights.dtype == np.float64))


def _read_certificate(stored: dict[str, Any], shape: tuple[int, ...]) -> CutNormCertificate:
    """Return the certificate that `_describe_certificate` described."""
    fields = {key: value for key, value in stored.items() if key != "of"}
    for name, size in zip(("S", "T"), shape, strict=True):
        mask = np.zeros(size, dtype=np.bool_)
        mask[fields[name]] = True
        fields[name] = frozen_mask(mask)
    return CutNormCertificate(**fields)
