"""The header of a table of text: names of its columns, and what they suggest that a row is.

The header is public and no row is looked at. A table with a column that names people, or dates, is
one of rows such as trips, whose privacy unit is a person or a row. Any other is taken for a graph,
whose privacy unit is an edge.
"""

from collections.abc import Sequence
from pathlib import Path

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import PathLike
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.column_names import (
    is_usual,
    names_dates,
    names_people,
    normalised_names,
    shows_header,
)
from graphcuts_dp.schema.columns import Columns, parse_number
from graphcuts_dp.schema.file_bytes import opened_unpacked
from graphcuts_dp.schema.text_format import TextFormat
from graphcuts_dp.schema.text_rows import begin

_DELIMITERS = {".csv": ",", ".tsv": "\t"}  # of files whose first line names the columns


def names_in_header(path: PathLike, columns: Columns) -> list[str]:
    """Return the names of the columns in the first line of a table; no row is looked at.

    The list is empty if the first line may be a row: if neither the file's name nor the caller says
    that it has names, or if it holds a number or a date. If only the file's name says so, and no
    known word shows a header, it may be a row all the same: then only usual names of columns are
    returned.

    Args:
        path: of the file.
        columns: how it is read.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    file_path = Path(path)
    if not file_path.exists():
        raise FileFormatError(f"{path} does not exist")
    ending = Path(file_path.name.lower().removesuffix(".gz")).suffix
    named = columns.header is True or (columns.header is None and ending in _DELIMITERS)
    if file_path.is_dir() or not named:
        return []
    with opened_unpacked(file_path) as file:
        head = begin(file, TextFormat(_DELIMITERS.get(ending)), columns, BadRows())
    if any(map(_may_be_a_value, head.first_cells)):
        return []
    words = normalised_names(head.first_cells)
    if columns.header is True or any(map(shows_header, words)):
        return head.first_cells
    return [name for name, word in zip(head.first_cells, words, strict=True) if is_usual(word)]


def _may_be_a_value(cell: str) -> bool:
    """Return whether a cell is a number, or begins with a digit, as dates do."""
    return cell.strip()[:1].isdigit() or parse_number(cell) is not None


def suggested_columns(names: Sequence[str]) -> dict[str, str]:
    """Return the columns of users and of periods that names suggest, by "user" and "period".

    A role is left out if no name fits, or several do. The rules are those of `schema.column_names`.
    """
    suggested = {}
    words = normalised_names(names)
    for role, is_named in (("user", names_people), ("period", names_dates)):
        fitting = [name for name, word in zip(names, words, strict=True) if is_named(word)]
        if len(fitting) == 1:
            suggested[role] = fitting[0]
    return suggested
