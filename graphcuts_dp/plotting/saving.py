"""A figure on disk: PNG and PDF, with its table and its parameters beside it."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure


def save_figure(
    figure: Figure,
    base: Path,
    *,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    parameters: Mapping[str, Any],
) -> None:
    """Write `base`.png, .pdf, .csv (the table) and .json (the parameters), replacing what is there.

    The same figure gives the same bytes: no file tells when it was made.

    Args:
        figure: what to draw.
        base: path without an ending.
        columns: names of the table's columns.
        rows: the table that the figure shows.
        parameters: what it was made with.
    """
    about = json.dumps(parameters, indent=2, allow_nan=False) + "\n"  # fails before files are there
    figure.savefig(base.with_suffix(".png"), metadata={"Software": None})
    figure.savefig(base.with_suffix(".pdf"), metadata={"CreationDate": None})
    with base.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(rows)
    base.with_suffix(".json").write_text(about, encoding="utf-8")
