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
    is_public_header,
    may_be_a_value,
    names_dates,
    names_people,
    normalised_names,
)
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.file_bytes import opened_unpacked
from graphcuts_dp.schema.text_format import TextFormat
from graphcuts_dp.schema.text_rows import TextTable, open_text

_DELIMITERS = {".csv": ",", ".tsv": "\t"}  # of files whose first line names the columns


def names_in_header(path: PathLike, columns: Columns) -> list[str]:
    """Return the names of the columns in the first line of a table; no row is looked at.

    The list is empty if the first line may be a row: if it holds a number or a date, or if nobody
    has said that it has names, and its words do not show it for certain, see `is_surely_header`.
    The file's name alone shows nothing.

    Args:
        path: of the file.
        columns: how it is read.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    cells = cells_of_first_line(path, columns)
    if columns.header is True:
        return [] if any(map(may_be_a_value, cells)) else cells
    return cells if is_public_header(cells) else []


def cells_of_first_line(path: PathLike, columns: Columns) -> list[str]:
    """Return the cells of a first line that is read as names of columns. They may be PRIVATE.

    The list is empty if the line is read as a row: the caller says so, or neither the caller nor
    the file's name says that it has names.

    Args:
        path: of the file.
        columns: how it is read.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    table = _table_with_names(path, columns)
    return [] if table is None else table.first_cells


def separator_of_first_line(path: PathLike, columns: Columns) -> str:
    """Return what separates the cells of `cells_of_first_line`. It may be PRIVATE.

    It is "" if the line is read as a row.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    table = _table_with_names(path, columns)
    return "" if table is None else table.reader.delimiter or ""


def _table_with_names(path: PathLike, columns: Columns) -> TextTable | None:
    """Return the head of a file whose first line is read as names; None if it is read as a row.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    file_path = Path(path)
    if not file_path.exists():
        raise FileFormatError(f"{path} does not exist")
    ending = Path(file_path.name.lower().removesuffix(".gz")).suffix
    named = columns.header is True or (columns.header is None and ending in _DELIMITERS)
    if file_path.is_dir() or not named:
        return None
    with opened_unpacked(file_path) as file:
        return open_text(file, TextFormat(_DELIMITERS.get(ending)), columns, BadRows())


def asks_for_header(path: PathLike, columns: Columns) -> bool:
    """Return whether somebody has to say if the first line of a table names its columns.

    That is so if nobody has, the file's name says so, and the words of the line do not.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    if columns.header is not None:
        return False
    return bool(cells_of_first_line(path, columns)) and not names_in_header(path, columns)


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
