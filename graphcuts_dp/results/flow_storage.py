"""What flows are on disk: the table, the measured sums, and fields of the receipt."""

import csv
import io
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.measurement import NoisyCells
from graphcuts_dp.estimate.strategy import FlowStrategy
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.results.bundle import Saved

Table = dict[str, npt.NDArray[Any]]  # columns of one level, see `COLUMNS`

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


def joined(parts: Sequence[Table]) -> Table:
    """One table of several places."""
    return {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}


def flows_fields(
    noisy: NoisyCells, strategy: FlowStrategy
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The receipt and the arrays of flows, from which all can be made again."""
    fields = {
        "strategy": _described(strategy, noisy),
        "intervals": intervals_text(noisy.degree_bound),
        "cells": {
            "rows": noisy.cells.rows.to_dict(),
            "columns": None if noisy.cells.one_set else noisy.cells.columns.to_dict(),
            "directed": noisy.cells.directed,
        },
    }
    sums = zip(noisy.places, noisy.sums, strict=True)
    return fields, {f"sums_{place}": values for place, values in sums}


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


def read_flows(saved: Saved) -> dict[str, Any]:
    """The fields of `Flows`.

    Raises:
        GraphError, LookupError, TypeError, ValueError, ArithmeticError: other files than
            `flows_fields` describes; see `bundle.opened`.
    """
    stored, named = saved.fields["strategy"], saved.fields["cells"]
    columns = None if named["columns"] is None else GroupTree.from_dict(named["columns"])
    cells = CellTree(GroupTree.from_dict(named["rows"]), columns, directed=named["directed"])
    places = tuple(int(place) for place in stored["places"])
    noise = LevelNoise(
        stored["noise"], tuple(Fraction(*parameter) for parameter in stored["parameters"])
    )
    if noise.distribution not in ("laplace", "gaussian") or not len(places) == len(
        noise.parameters
    ):
        raise ValueError("no such noise")
    arrays = saved.arrays()
    sums = tuple(arrays[f"sums_{place}"] for place in places)
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
    return {"noisy": noisy, "strategy": strategy, "guarantee": saved.guarantee}


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


def write_table(tables: Sequence[Table], handle: BinaryIO, *, seeded: bool) -> None:
    """Write the table of flows as CSV; of a seeded run, every row says that it is not private."""
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
