"""Flows on disk: the table, the measured sums, and the receipt that ties them together."""

import csv
import io
import json
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.estimate.measurement import NoisyCells
from graphcuts_dp.estimate.strategy import FlowStrategy
from graphcuts_dp.files import atomic_set, atomic_write, check_writable_set
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.results.receipts import (
    PathLike,
    check_files,
    read_receipt,
    receipt_path,
    sha256_of,
    write_receipt,
)

if TYPE_CHECKING:
    import pandas as pd

Table = dict[str, npt.NDArray[Any]]  # columns of one level, see `COLUMNS`

_FORMAT = "flows 2"
COLUMNS = ("level", "from", "to", "value", "low", "high")
_DIGITS = 10  # significant ones of the numbers in the table


def rows_of(cells: CellTree, place: int, numbers: Sequence[FloatVector]) -> Table:
    """Columns of the cells of a place: level, from, to, and the numbers."""
    a, b = cells.cells(place)
    names = cells.rows.levels[place - 1], cells.columns.levels[place - 1]
    left = np.array(cells.rows.labels(names[0]), dtype=object)
    right = np.array(cells.columns.labels(names[1]), dtype=object)
    level = np.full(len(a), cells.levels[place - 1], dtype=object)
    columns: list[npt.NDArray[Any]] = [level, left[a], right[b], *numbers]
    return dict(zip(COLUMNS, columns, strict=True))


def frame_of(parts: Sequence[Table]) -> "pd.DataFrame":
    """One table of several places."""
    import pandas as pd

    return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)


def sums_path(path: PathLike) -> Path:
    """Where the measured sums of flows at `path` are."""
    return Path(f"{os.fspath(path)}.noisy.npz")


def check_flows_path(path: PathLike, *, force: bool = False) -> None:
    """Check that flows can be written here; call it before anything is spent.

    Raises:
        FileFormatError: another ending than .csv, a missing folder, no permission, or a file that
            is there.
    """
    if not os.fspath(path).lower().endswith(".csv"):
        raise FileFormatError(f"{path!s}: a table of flows ends in .csv")
    check_writable_set((path, sums_path(path), receipt_path(path)), force=force)


def write_flows(
    path: PathLike,
    noisy: NoisyCells,
    strategy: FlowStrategy,
    guarantee: PrivacyGuarantee,
    tables: Sequence[Table],
    *,
    force: bool,
) -> tuple[str, ...]:
    """Write the files of flows; see `Flows.save`."""
    check_flows_path(path, force=force)
    names = Path(path), sums_path(path), receipt_path(path)
    with atomic_set(names, force=force) as (table_file, sums_file, receipt_file):
        with atomic_write(table_file) as handle:
            _write_table(handle, tables, seeded=not guarantee.is_private)
        with atomic_write(sums_file) as handle:
            _write_sums(handle, noisy)
        receipt = {
            "format": _FORMAT,
            "guarantee": guarantee.to_dict(),
            "strategy": _described(strategy, noisy),
            "intervals": intervals_text(noisy.degree_bound),
            "cells": {
                "rows": noisy.cells.rows.to_dict(),
                "columns": None if noisy.cells.one_set else noisy.cells.columns.to_dict(),
                "directed": noisy.cells.directed,
            },
            "files": {file.name: sha256_of(file) for file in (table_file, sums_file)},
        }
        write_receipt(receipt_file, receipt)
    return tuple(str(name) for name in names)


def intervals_text(degree_bound: int | None) -> str:
    """What the intervals of a table are for."""
    text = "95 % for each cell by itself"
    if degree_bound is None:
        return text
    return (
        f"{text}; for the bounded table, in which each vertex counts for at most {degree_bound:,}"
        " in each cell of the finest level: a true cell is never below its bounded one, and equal"
        " where no vertex has more than that in a cell"
    )


def read_flows(path: PathLike) -> dict[str, Any]:
    """Read the files of flows: the fields of `Flows`; see `Flows.load`."""
    receipt = read_receipt(path, _FORMAT)
    try:
        if {Path(path).name, sums_path(path).name} != set(receipt["files"]):
            raise FileFormatError(f"{receipt_path(path)} is the receipt of other flows")
        check_files(path, receipt["files"])
        stored = receipt["cells"]
        columns = stored["columns"]
        cells = CellTree(
            GroupTree.from_dict(stored["rows"]),
            None if columns is None else GroupTree.from_dict(columns),
            directed=stored["directed"],
        )
        with sums_path(path).open("rb") as handle:
            parts = _parts(receipt, cells, handle)
    except OSError as problem:
        raise FileFormatError(f"cannot read {sums_path(path)}: {problem.strerror}") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as problem:
        raise FileFormatError(f"{receipt_path(path)} is damaged or of another version") from problem
    check_files(path, receipt["files"])  # as they were read: others may replace flows meanwhile
    return parts


def _described(strategy: FlowStrategy, noisy: NoisyCells) -> dict[str, Any]:
    names = ("total", *noisy.cells.levels)
    return {
        "workload": strategy.workload,
        "places": list(noisy.places),
        "measured": [names[place] for place in noisy.places],
        "shares": [[share.numerator, share.denominator] for share in strategy.shares],
        "noise": strategy.noise.distribution,
        "parameters": [[p.numerator, p.denominator] for p in strategy.noise.parameters],
        "expected_deviations": {
            name: deviation * noisy.unit
            for name, deviation in zip(names, strategy.deviations, strict=True)
        },
        "deviations_in_steps": list(strategy.deviations),
        "unit": noisy.unit,
        "changes": [list(change) for change in noisy.changes],
        "weight_cap": noisy.weight_cap,
        "weighted": noisy.weighted,
        "whole": noisy.whole,
        "degree_bound": noisy.degree_bound,
        "note": "sum = (released integer) * unit; estimates are least squares over the levels",
    }


def _parts(receipt: dict[str, Any], cells: CellTree, handle: BinaryIO) -> dict[str, Any]:
    stored = receipt["strategy"]
    places = tuple(int(place) for place in stored["places"])
    noise = LevelNoise(
        stored["noise"], tuple(Fraction(*parameter) for parameter in stored["parameters"])
    )
    if noise.distribution not in ("laplace", "gaussian") or not len(places) == len(
        noise.parameters
    ):
        raise ValueError("no such noise")
    with np.load(handle, allow_pickle=False) as archive:
        sums = tuple(archive[f"sums_{place}"] for place in places)
    for place, values in zip(places, sums, strict=True):
        if values.shape != (cells.size(place),) or values.dtype != np.int64:
            raise ValueError("sums of other cells")
        values.flags.writeable = False
    if not places or places[-1] != cells.depth - 1:
        raise ValueError("the finest level was not measured")
    noisy = NoisyCells(
        cells=cells,
        places=places,
        sums=sums,
        noise=noise,
        unit=float(stored["unit"]),
        changes=tuple((int(most), int(squared)) for most, squared in stored["changes"]),
        weight_cap=stored["weight_cap"],
        weighted=bool(stored["weighted"]),
        whole=bool(stored["whole"]),
        degree_bound=None if stored["degree_bound"] is None else int(stored["degree_bound"]),
    )
    strategy = FlowStrategy(
        workload=stored["workload"],
        places=places,
        shares=tuple(Fraction(*share) for share in stored["shares"]),
        noise=noise,
        deviations=tuple(float(each) for each in stored["deviations_in_steps"]),
    )
    guarantee = PrivacyGuarantee.from_dict(receipt["guarantee"])
    return {"noisy": noisy, "strategy": strategy, "guarantee": guarantee}


def _write_sums(handle: BinaryIO, noisy: NoisyCells) -> None:
    header = json.dumps({"format": _FORMAT, "unit": noisy.unit})
    arrays: dict[str, Any] = {
        f"sums_{place}": values for place, values in zip(noisy.places, noisy.sums, strict=True)
    }
    np.savez_compressed(handle, header=np.frombuffer(header.encode(), dtype=np.uint8), **arrays)


def _write_table(handle: BinaryIO, tables: Sequence[Table], *, seeded: bool) -> None:
    # A column, since a comment would be taken for the heads of the columns.
    head, mark = (("mark",), f",{SEEDED_WARNING}") if seeded else ((), "")
    handle.write((",".join((*COLUMNS, *head)) + "\n").encode())
    for table in tables:
        texts = [_quoted(table[name]) for name in COLUMNS[:3]]
        numbers = [table[name].tolist() for name in COLUMNS[3:]]
        lines = [
            f"{level},{a},{b},{value:.{_DIGITS}g},{low:.{_DIGITS}g},{high:.{_DIGITS}g}{mark}\n"
            for level, a, b, value, low, high in zip(*texts, *numbers, strict=True)
        ]
        handle.write("".join(lines).encode())


def _quoted(labels: npt.NDArray[Any]) -> list[str]:
    """Cells of a table; labels that need it stand in quotes."""
    known: dict[Any, str] = {}
    for label in dict.fromkeys(labels.tolist()):
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow([label])
        known[label] = text.getvalue()
    return [known[label] for label in labels.tolist()]
