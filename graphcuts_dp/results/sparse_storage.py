"""A sparse release on disk: the graph, what was measured with its model, and the receipt."""

import json
import os
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.estimate.measurement import (
    Measurement,
    Measurements,
    NoisyDegrees,
    NoisyGroups,
    NoisyWeightCounts,
    check_members,
)
from graphcuts_dp.estimate.noisy_matrix import KeptEdges
from graphcuts_dp.estimate.sparse_model import SparseModel
from graphcuts_dp.files import atomic_write
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.file_sets import check_writable_files, writing_files, written_files
from graphcuts_dp.graph.files import graph_files, read_graph, write_graph
from graphcuts_dp.pairs.vertices import Arcs, Space, VertexSet, sets_in
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results.receipts import (
    PathLike,
    check_files,
    form_at,
    read_receipt,
    receipt_path,
    sha256_of,
    write_receipt,
)
from graphcuts_dp.synth.base import FitSummary

_FORMAT = "sparse 1"
_Arrays = dict[str, npt.NDArray[Any]]


def sparse_path(path: PathLike) -> Path:
    """Where measurements and model of a sparse release at `path` are."""
    return Path(f"{os.fspath(path)}.sparse.npz")


def _names(path: PathLike) -> tuple[Path, Path, Path]:
    return Path(path), sparse_path(path), receipt_path(path)


def is_sparse(path: PathLike) -> bool:
    """Whether the release at `path` is a sparse one, by the receipt; False if none can be read."""
    return form_at(path) == _FORMAT  # whoever reads it next tells what is wrong


def check_sparse_path(path: PathLike, *, force: bool = False) -> None:
    """Check that a sparse release can be written here; call it before anything is spent.

    Raises:
        FileFormatError: unknown ending, missing folder, no permission, or a file that is there.
    """
    check_writable_files(_names(path), force=force)


def write_sparse(
    path: PathLike,
    measurements: Measurements,
    model: SparseModel,
    graph: AnyGraph | None,
    fit: FitSummary | None,
    *,
    force: bool,
) -> tuple[str, ...]:
    """Write the files of a sparse release; see `Release.save`."""
    guarantee = measurements.guarantee
    arrays, described = _described(measurements)
    arrays |= {f"model/{name}": each for name, each in model.to_parts().items()}
    header = {
        "entropy": guarantee.to_dict()["entropy"],
        "space": _space_to_dict(model.space),
        "weight_cap": model.weight_cap,
        "whole": model.whole,
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    files = writing_files(_names(path), force=force)
    with files as (graph_file, sparse_file, receipt_file):
        written = [sparse_file] if graph is None else [*graph_files(graph_file), sparse_file]
        if graph is not None:
            write_graph(graph, graph_file, about=guarantee.about)
        with atomic_write(sparse_file) as handle:
            np.savez(handle, allow_pickle=False, **arrays)
        receipt = {
            "format": _FORMAT,
            "guarantee": guarantee.to_dict(),
            "shape": list(model.layout.shape),
            "measurements": described,
            "fit": None if fit is None else asdict(fit),
            "files": {file.name: sha256_of(file) for file in written},
        }
        write_receipt(receipt_file, receipt)
    return written_files(_names(path), graph=graph is not None)


def read_sparse(path: PathLike, *, graph: bool = True) -> dict[str, Any]:
    """Read the files of a sparse release: the fields of a `Release`; see `Release.load`.

    Args:
        path: of the release.
        graph: whether to read the synthetic graph, too.

    Raises:
        FileFormatError: a file is missing, damaged, or not the one that the receipt names.
    """
    receipt = read_receipt(path, _FORMAT)
    try:
        expected = {sparse_path(path).name} | ({Path(path).name} if receipt["fit"] else set())
        if not expected <= set(receipt["files"]):
            raise FileFormatError(f"{receipt_path(path)} is the receipt of another release")
        named = receipt["files"]
        if not graph:  # nor has it to be there
            named = {name: named[name] for name in (sparse_path(path).name,)}
        check_files(path, named)
        with np.load(sparse_path(path), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays["header"].tobytes())
        space = _space_from_dict(header["space"])
        cap = None if header["weight_cap"] is None else float(header["weight_cap"])
        own = {
            name.removeprefix("model/"): each
            for name, each in arrays.items()
            if name.startswith("model/")
        }
        model = SparseModel.from_parts(own, space, weight_cap=cap, whole=bool(header["whole"]))
        values = [
            _read(name, stored, arrays, space) for name, stored in receipt["measurements"].items()
        ]
        guarantee = PrivacyGuarantee.from_dict(receipt["guarantee"])
        measurements = Measurements(tuple(values), guarantee)
        if [name for name, _ in guarantee.parts] != [value.name for value in values]:
            raise ValueError("the guarantee is for other measurements")
        check_members(measurements.all_of(NoisyGroups), model.layout.shape)
        _check_degrees(measurements.find(NoisyDegrees), model)
        fit = None if receipt["fit"] is None else FitSummary(**receipt["fit"])
    except OSError as problem:
        raise FileFormatError(f"cannot read {sparse_path(path)}: {problem.strerror}") from None
    except FileFormatError:
        raise
    except Exception as problem:
        # Many kinds of damage, one thing to tell.
        raise FileFormatError(f"{receipt_path(path)} is damaged or of another version") from problem
    found = None
    if fit is not None and graph:
        sets = sets_in(space)
        found = read_graph(
            path,
            vertices=(sets[0], sets[1]) if len(sets) == 2 else sets[0],
            weighted=not fit.unweighted,
            weight_cap=None if fit.unweighted else cap,
            bipartite=len(sets) == 2,
            directed=isinstance(space, Arcs),
        )
    check_files(path, named)  # as it was read: others may replace a release meanwhile
    fit = fit if graph else None
    return {"measurements": measurements, "fit": fit, "_graph": found, "_model": model}


def _check_degrees(degrees: NoisyDegrees | None, model: SparseModel) -> None:
    if degrees is None or (len(degrees.rows), len(degrees.columns)) != model.layout.shape:
        raise ValueError("the degrees are of other vertices")
    if degrees.symmetric is not model.symmetric:
        raise ValueError("the degrees are of another kind of graph")


def _described(measurements: Measurements) -> tuple[_Arrays, dict[str, Any]]:
    """What goes into files as arrays, and what goes into the receipt."""
    arrays: _Arrays = {}
    described: dict[str, Any] = {}
    for value in measurements.values:
        if isinstance(value, KeptEdges):
            described[value.name] = value.to_dict()
            arrays |= {f"{value.name}/{name}": each for name, each in value.arrays().items()}
        elif isinstance(value, NoisyDegrees):
            described[value.name] = {
                "unit": value.unit,
                "rate": [value.rate.numerator, value.rate.denominator],
                "epsilon": [value.epsilon.numerator, value.epsilon.denominator],
            }
            arrays[f"{value.name}/rows"] = value.rows
            if not value.symmetric:
                arrays[f"{value.name}/columns"] = value.columns
        elif isinstance(value, NoisyGroups):
            stored = value.to_dict()
            for side in ("rows", "columns"):
                if stored[side] is not None:
                    stored[side].pop("groups")
                    arrays[f"{value.name}/{side}"] = getattr(value, side)
            described[value.name] = stored
        elif isinstance(value, NoisyWeightCounts):
            described[value.name] = value.to_dict()
    return arrays, described


def _read(name: str, stored: dict[str, Any], arrays: _Arrays, space: Space) -> Measurement:
    own = {
        key.removeprefix(f"{name}/"): each
        for key, each in arrays.items()
        if key.startswith(f"{name}/")
    }
    if name == "weights":
        return NoisyWeightCounts.from_dict(stored)
    if name == "kept edges":
        return KeptEdges.from_parts(stored, own, space)
    if name == "degrees":
        rows = own["rows"].astype(np.int64)
        return NoisyDegrees(
            rows=rows,
            columns=own["columns"].astype(np.int64) if "columns" in own else rows,
            unit=float(stored["unit"]),
            rate=Fraction(*stored["rate"]),
            epsilon=Fraction(*stored["epsilon"]),
        )
    if name not in ("groups", "found groups"):
        raise ValueError("an unknown measurement")
    for side in ("rows", "columns"):
        if stored[side] is not None:
            stored[side]["groups"] = own[side]
    return NoisyGroups.from_dict("groups" if name == "groups" else "found groups", stored)


def _labels(vertices: VertexSet) -> list[Any] | int:
    labels = vertices.labels
    return len(labels) if isinstance(labels, range) else list(labels)


def _space_to_dict(space: Space) -> dict[str, Any]:
    sets = sets_in(space)
    return {
        "left": _labels(sets[0]),
        "right": _labels(sets[1]) if len(sets) == 2 else None,
        "directed": isinstance(space, Arcs),
    }


def _space_from_dict(stored: dict[str, Any]) -> Space:
    left = VertexSet(stored["left"])
    if stored["right"] is not None:
        return left, VertexSet(stored["right"])
    return Arcs(left) if stored["directed"] is True else left
