"""Read tables of any library, such as pandas, Polars or pyarrow, and write them in the same kind.

Narwhals supports the libraries; none of them has to be installed.
"""

import csv
import importlib.util
import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError

KINDS = ("pandas", "polars", "pyarrow")  # the first of these that is installed is used

COMMENT = "#"  # begins the first line of a table that has a comment
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # of cells that spreadsheets run


def frame_of(source: Any) -> Any | None:
    """Return a table or series as a narwhals `DataFrame`; None if `source` is neither.

    Lazy tables are computed.

    Raises:
        GraphError: two columns have one name.
    """
    if isinstance(source, list | tuple | dict | set):
        return None
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame: Any = nw.from_native(source, pass_through=True, allow_series=True)
    except DuplicateError:
        raise GraphError("two columns of the table have one name; rename one") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.Series):
        frame = frame.alias(frame.name or "group").to_frame()
    return frame if isinstance(frame, nw.DataFrame) else None


def made_frame(columns: Mapping[str, Sequence[Any] | Any], kind: Any = None) -> Any:
    """Return a table of columns, in the kind of a library.

    Args:
        columns: values by name.
        kind: "pandas", "polars" or "pyarrow", the module itself, or a table of the library; None
            for the first of these that is installed.

    Raises:
        ParameterError: no library is installed, or the kind is unknown.
    """
    import narwhals as nw

    if kind is None:
        kind = next((name for name in KINDS if find_spec(name) is not None), None)
        if kind is None:
            raise ParameterError("install pandas, polars or pyarrow: tables are made of their kind")
    elif not isinstance(kind, str) and frame_of(kind) is not None:
        kind = nw.get_native_namespace(kind)
    if not _named(kind, "pandas"):  # whose columns alone may hold both strings and integers
        columns = {name: _of_one_type(column) for name, column in columns.items()}
    try:
        return nw.from_dict(dict(columns), backend=kind).to_native()
    except ImportError:
        raise ParameterError(f"the package {kind!s:.60} is not installed") from None
    except (ValueError, TypeError, AttributeError, AssertionError):  # by the version of narwhals
        raise ParameterError(
            f"unknown kind of table {kind!r:.60}; choose one of {', '.join(KINDS)}"
        ) from None


def check_parquet() -> None:
    """Check that Parquet can be written.

    Raises:
        FileFormatError: the package for it is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise FileFormatError(
            "Parquet needs the package pyarrow: python -m pip install pyarrow; or save as .csv"
        )


def csv_bytes(
    columns: Mapping[str, Sequence[Any] | Any], *, spreadsheet: bool = False, comment: str = ""
) -> bytes:
    """Return a CSV file of columns.

    Args:
        columns: values by name.
        comment: one line that stands first, after "# "; "" for none.
        spreadsheet: whether an apostrophe is put before texts that a spreadsheet would run as
            formulas, see `is_formula`.
    """
    lists = [plain(column) for column in columns.values()]
    if spreadsheet:
        lists = [[f"'{cell}" if is_formula(cell) else cell for cell in cells] for cells in lists]
    text = io.StringIO()
    if comment:
        text.write(f"{COMMENT} {' '.join(comment.split())}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*lists, strict=True))
    return text.getvalue().encode()


def is_formula(cell: Any) -> bool:
    """Return whether a spreadsheet takes a cell of CSV for a formula: a text that begins like one.

    Numbers are none, whatever their sign.
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULA_STARTS):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def plain(column: Any) -> list[Any]:
    """Return a column as a list of Python values."""
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def parquet_bytes(columns: Mapping[str, Sequence[Any] | Any], *, note: str = "") -> bytes:
    """Return a Parquet file of columns; a column of strings and integers becomes text.

    Args:
        columns: values by name.
        note: written as "note" in the metadata of the file; "" for none.

    Raises:
        FileFormatError: as `check_parquet`.
    """
    check_parquet()
    from pyarrow import parquet

    packed, table = io.BytesIO(), made_frame(columns, "pyarrow")
    if note:
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), "note": note})
    parquet.write_table(table, packed)
    return packed.getvalue()


def _named(kind: Any, name: str) -> bool:
    return (kind if isinstance(kind, str) else getattr(kind, "__name__", "")) == name


def _of_one_type(column: Any) -> Any:
    """Return the column, as text if its values have several types."""
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return column
    values = list(column)
    if len({type(value) for value in values if value is not None}) > 1:
        return [None if value is None else str(value) for value in values]
    return values
