"""A figure on disk: PNG and PDF, with its table and its parameters beside it."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from graphcuts_dp.graph.atomic import atomic_set, atomic_write


def save_figure(
    figure: Figure,
    base: Path,
    *,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    parameters: Mapping[str, Any],
) -> None:
    """Write `base`.png, .pdf, .csv (the table) and .json (the parameters), replacing what is there.

    The same figure gives the same bytes: no file tells when it was made. All four appear, or none.

    Args:
        figure: what to draw.
        base: path without an ending.
        columns: names of the table's columns.
        rows: the table that the figure shows.
        parameters: what it was made with.

    Raises:
        FileFormatError: the folder is missing, or the disk is full.
    """
    about = json.dumps(parameters, indent=2, allow_nan=False) + "\n"  # fails before files are there
    names = [base.with_suffix(ending) for ending in (".png", ".pdf", ".csv", ".json")]
    with atomic_set(names, force=True) as (png, pdf, csv_file, json_file):
        with atomic_write(png) as handle:
            figure.savefig(handle, format="png", metadata={"Software": None})
        with atomic_write(pdf) as handle:
            figure.savefig(handle, format="pdf", metadata={"CreationDate": None})
        with atomic_write(csv_file) as handle:
            text = io.StringIO(newline="")
            table = csv.writer(text)
            table.writerow(columns)
            table.writerows(rows)
            handle.write(text.getvalue().encode())
        with atomic_write(json_file) as handle:
            handle.write(about.encode())
