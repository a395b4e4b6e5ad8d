"""A figure on disk: PNG and PDF, with its table and its parameters beside it."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from graphcuts_dp.graph.atomic import PathLike, atomic_set, atomic_write


def write_figure(figure: Figure, path: PathLike, *, force: bool = False) -> None:
    """Write a figure to one file, whole or not at all; the same figure gives the same bytes.

    Args:
        figure: what to draw.
        path: where; a PDF if it ends in .pdf, else a PNG.
        force: replace a file that is there.

    Raises:
        FileFormatError: the file cannot be written, or is there.
    """
    pdf = Path(path).suffix.lower() == ".pdf"
    about = {"CreationDate": None} if pdf else {"Software": None}
    with atomic_write(path, force=force) as handle:
        figure.savefig(handle, format="pdf" if pdf else "png", metadata=about)


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
        write_figure(figure, png)
        write_figure(figure, pdf)
        with atomic_write(csv_file) as handle:
            text = io.StringIO(newline="")
            table = csv.writer(text)
            table.writerow(columns)
            table.writerows(rows)
            handle.write(text.getvalue().encode())
        with atomic_write(json_file) as handle:
            handle.write(about.encode())
