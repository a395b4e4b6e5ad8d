"""Rows of a text table one by one: what the fast readers decline, and errors that name the line.

How a row is read depends on that row and on how the file begins, never on other rows: a row with
quotes by the rules of CSV, one without by its separators alone.
"""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.dialect import NOT_UTF8, TextFormat

Row = tuple[int, list[str]]
More = Callable[[], bytes]


def decoded(data: bytes) -> str:
    """UTF-8 as text.

    Raises:
        FileFormatError: it is not.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError(NOT_UTF8) from None


@final
@dataclass(frozen=True, slots=True)
class RowReader:
    """How the rows of one file are split.

    Attributes:
        delimiter: as of `TextFormat`.
        commas: of rows without a delimiter: whether the first row has commas rather than blanks.
    """

    delimiter: str | None
    commas: bool = False

    @classmethod
    def of(cls, form: TextFormat, first: bytes) -> "RowReader":
        """The reader of a file whose first row is `first`."""
        return cls(form.delimiter, form.delimiter is None and b"," in first)

    def rows(self, block: bytes, line: int, more: More | None = None) -> Iterator[Row]:
        """Rows of some whole lines, each with the number of its first line.

        Args:
            block: the lines.
            line: number of the first of them.
            more: gives the next line of the file, or nothing at its end; asked where a quoted cell
                goes on behind the last line of the block.

        Raises:
            FileFormatError: a row that is not in the format, told by its line; or no UTF-8.
        """
        text = decoded(block)
        if self.delimiter in (None, " "):
            return self._plain_rows(text, line)
        if '"' in text:
            return _quoted_rows(text, line, str(self.delimiter), more)
        return _delimited_rows(text, line, str(self.delimiter))

    def _plain_rows(self, text: str, line: int) -> Iterator[Row]:
        """Rows with blanks or commas; lines with # or % are comments."""
        for number, content in enumerate(io.StringIO(text, newline="\n"), line):
            row = content.strip()
            if not row or row[0] in "#%":
                continue
            if self.commas:
                fields = [field.strip() for field in row.split(",")]
                mixed = any(len(field.split()) > 1 for field in fields)
            else:
                fields = row.split()
                mixed = self.delimiter is None and "," in row
            if mixed:
                raise FileFormatError(
                    f"line {number}: blanks and commas are mixed; pass delimiter="
                )
            yield number, fields


def _delimited_rows(text: str, line: int, delimiter: str) -> Iterator[Row]:
    """Rows of a .csv or .tsv file without quotes; blanks around fields do not count."""
    for number, content in enumerate(io.StringIO(text, newline="\n"), line):
        fields = [field.strip() for field in content.split(delimiter)]
        if any(fields):  # spreadsheets leave rows of separators
            yield number, fields


def _quoted_rows(text: str, line: int, delimiter: str, more: More | None) -> Iterator[Row]:
    lines = _Lines(text, more)
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    number = line
    try:
        for fields in reader:
            if any(fields):
                yield number, fields if lines.quoted else [field.strip() for field in fields]
            number = line + reader.line_num
            lines.next_row()
    except csv.Error:
        raise FileFormatError(
            f"line {line + max(reader.line_num, 1) - 1}: malformed row: check its quotes"
        ) from None


@final
class _Lines:
    """Lines of a block, and of what follows as far as its last row goes on there."""

    def __init__(self, text: str, more: More | None) -> None:
        self._lines = io.StringIO(text, newline="")
        self._more = more
        self._within = False
        self.quoted = False

    def next_row(self) -> None:
        """Say that the row is complete."""
        self._within = self.quoted = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._lines.readline()
        if not line and self._within and self._more is not None:
            line = decoded(self._more())
        if not line:
            raise StopIteration
        self._within = True
        self.quoted = self.quoted or '"' in line
        return line
