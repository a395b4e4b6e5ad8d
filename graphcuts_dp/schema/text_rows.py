"""Rows of text tables: comments, a header, separators, quotes, and labels that are integers.

A row is a line, and how it is read depends on that line alone: one with quotes is read by the rules
of CSV, one without by its separators. So no row can swallow or change another. How the file is read
depends on its name, on what the caller says, on comments above the first row and, where there is a
header, on that: never on a row.
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import BinaryIO, Literal, final

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import PathLike
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import INTEGER, Columns, has_header
from graphcuts_dp.schema.file_bytes import (
    NOT_UTF8,
    TextFormat,
    check_delimiter,
    declared_separator,
    header_separator,
    read_text,
    utf8_stream,
)

Label = str | int
MARK = "graphcuts-dp:"  # before the facts that a comment tells
BLOCK = 1 << 18  # bytes; a block and its arrays stay in the processor's cache


def labels_of(tokens: Sequence[str]) -> list[Label]:
    """Integers when every token is an integer literal, else all strings as they are."""
    match = INTEGER.match
    if all(map(match, tokens)):
        try:
            return [int(token) for token in tokens]
        except ValueError:  # thousands of digits: Python refuses; a name, then
            return list(tokens)
    return list(tokens)


Row = tuple[int, list[str]]
Comments = Literal["skip", "keep", "refuse"]
BYTE_ORDER_MARK = "\ufeff"
_SPOILT = re.compile("[\ud800-\udfff]")  # what stands for bytes that are no text


def decode_utf8(data: bytes, *, lenient: bool = False) -> str:
    """UTF-8 as text.

    Args:
        data: whole lines.
        lenient: whether bytes that are no UTF-8 become half a surrogate, which is no text.

    Raises:
        FileFormatError: it is not, unless `lenient`.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if lenient:
            return data.decode("utf-8", "surrogateescape")
        raise FileFormatError(NOT_UTF8) from None


@final
@dataclass(frozen=True, slots=True)
class RowReader:
    """How the rows of one file are split.

    Attributes:
        delimiter: the one separator, with quoting; " " for blanks (any run), None for a comma where
            a row holds one and blanks where it holds none, all unquoted.
        comments: what lines that start with # or % are: comments, which are skipped; rows, as in
            files where comments stand only above the header; or refused, in .csv and .tsv files
            without a header.
        konect: whether blanks and tabs may be mixed, and comments tell of weights.
        marks: whether byte-order marks at the start of a line are passed over, on every line alike,
            as in files without a header of which bad rows are left out; else they are refused.
    """

    delimiter: str | None
    comments: Comments = "skip"
    konect: bool = False
    marks: bool = False

    def rows(self, block: bytes, line: int, bad: BadRows) -> Iterator[Row]:
        """Rows of some whole lines, each with its number, of which `line` is the first.

        Args:
            block: the lines.
            line: number of the first one.
            bad: takes the rows that are not in the format.

        Raises:
            FileFormatError: no UTF-8, unless bad rows are left out.
        """
        text = decode_utf8(block, lenient=bad.skip)
        for number, content in enumerate(io.StringIO(text, newline="\n"), line):
            try:
                fields = self.fields(content)
            except ValueError as problem:
                bad.add(str(problem), f"line {number}")
                continue
            if any(fields):  # spreadsheets leave rows of separators
                yield number, fields

    def fields(self, content: str) -> list[str]:
        """The cells of one line; none of a comment. It depends on this line alone.

        Raises:
            ValueError: it is not in the format.
        """
        start = content.lstrip()[:1]
        while self.marks and start == BYTE_ORDER_MARK:
            content = content.lstrip()[1:]
            start = content.lstrip()[:1]
        if start == BYTE_ORDER_MARK:
            raise ValueError("a byte-order mark stands within the file; take it out")
        if not content.isascii() and _SPOILT.search(content):
            raise ValueError(NOT_UTF8)
        if start in ("#", "%") and self.comments != "keep":
            self._check_comment(content.strip())
            return []
        if self.delimiter in (None, " "):
            return self._blanks_or_commas(content)
        return self._cells(content)

    def _check_comment(self, text: str) -> None:
        """Refuse what would mean something else if it stood above the first row."""
        if self.comments == "refuse":
            raise ValueError("begins with # or %; take comments out, and put labels in quotes")
        if declares(text, konect=self.konect):
            raise ValueError("this comment tells how to read the file; move it above the rows")

    def _blanks_or_commas(self, content: str) -> list[str]:
        if self.delimiter is None and "," in content:
            fields = [field.strip() for field in content.split(",")]
            if any(len(field.split()) > 1 for field in fields):
                raise ValueError("blanks and commas are mixed; pass delimiter=")
            return fields
        alone = self.delimiter is None and not self.konect and "\t" in content
        if alone and any(len(cell.split()) > 1 for cell in content.split("\t")):
            raise ValueError("tabs and blanks are mixed; pass delimiter=")
        return content.split()

    def _cells(self, content: str) -> list[str]:
        """Cells of a row with one separator; blanks around them do not count, but in quotes."""
        delimiter = str(self.delimiter)
        if '"' not in content:
            return [field.strip() for field in content.split(delimiter)]
        return _quoted_cells(content.rstrip("\n"), delimiter)


def _quoted_cells(content: str, delimiter: str) -> list[str]:
    """Return the cells of a row with quotes; blanks count within quotes, and nowhere else.

    Raises:
        ValueError: a quote that does not end, or text beside a quoted cell.
    """
    cells: list[str] = []
    cell, start = _cell_pattern(delimiter), 0
    while True:
        found = cell.match(content, start)
        if found is None or (found[1] is None and found[2].lstrip().startswith('"')):
            raise ValueError("malformed row: check its quotes, which end on their line")
        quoted = found[1]
        cells.append(found[2].strip() if quoted is None else quoted.replace('""', '"'))
        start = found.end()
        if not found[3]:
            return cells


@cache
def _cell_pattern(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of one cell and of what ends it: group 1 if quoted, else group 2."""
    mark = re.escape(delimiter)
    blanks = rf"[^\S{mark}]*"
    return re.compile(rf'(?:{blanks}"((?:[^"]|"")*)"{blanks}|([^{mark}]*))({mark}|\Z)')


def declares(comment: str, *, konect: bool) -> bool:
    """Whether a comment, if it stands above the rows, tells how these are read."""
    words = comment[1:].split()
    if konect and konect_weighted(words) is not None:
        return True
    return comment[1:].strip().startswith(MARK)


def konect_weighted(words: list[str]) -> bool | None:
    """What a first line such as `% bip weighted` says about the third column; None if nothing."""
    if len(words) < 2 or words[0] not in ("sym", "asym", "bip"):
        return None
    return words[1] != "unweighted"


def read_rows(
    data: bytes, form: TextFormat, columns: Columns
) -> tuple[list[str] | None, list[Row]]:
    """A text table that is no edge list: its header, if it has one, and its rows.

    Args:
        data: the whole file.
        form: what the ending of the file's name tells.
        columns: see `Columns`.

    Raises:
        FileFormatError: as `read_edge_list`.
        ParameterError: likewise.
    """
    bad = BadRows()
    table = begin(io.BytesIO(data), form, columns, bad)
    blocks = table.blocks(lambda: BLOCK)
    found = [row for block, line in blocks for row in table.reader.rows(block, line, bad)]
    bad.check()
    return (table.first if table.named else None), found


def read_table(path: PathLike) -> tuple[list[str], list[Row]]:
    """The names of the columns of a .csv or .tsv file, in small letters, and rows by line number.

    Raises:
        FileFormatError: it cannot be read, or is malformed.
    """
    tabs = str(path).lower().removesuffix(".gz").endswith(".tsv")
    data = read_text(path).encode()
    try:
        names, rows = read_rows(data, TextFormat("\t" if tabs else ","), Columns(header=True))
    except FileFormatError as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None
    return [cell.strip().lower() for cell in names or ()], list(rows)


@dataclass(slots=True)
class TextTable:
    """A file whose head has been read.

    Attributes:
        facts: what a comment of ours above the first row tells, as JSON; None if there is none.
        konect: the words of a comment of KONECT that came after it; none if there is none.
        named: whether there is a header.
        first: the names of the columns, or without a header the cells of the first row, of which
            nothing but their number may be used; none if there is no row, or bad rows are left out.
        reader: how the rows are split.
        stream: what follows `block`.
        block: the rows that were read already, whole lines.
        line: the number of its first line.
    """

    facts: str | None
    konect: list[str]
    named: bool
    first: list[str]
    reader: RowReader
    stream: BinaryIO
    block: bytes
    line: int

    def blocks(self, size: Callable[[], int]) -> Iterator[tuple[bytes, int]]:
        """All rows as blocks of whole lines of about `size` bytes, each with its first number."""
        block, line = self.block, self.line
        while True:
            more = self.stream.read(size())
            block += more + (self.stream.readline() if more else b"")
            if not block:
                return
            yield block, line
            line += block.count(b"\n")
            block = b""


def open_text_head(file: BinaryIO, form: TextFormat, columns: Columns) -> TextTable:
    """Read the head of a file as `begin` does, and no row: the table that is returned has none.

    Raises:
        FileFormatError: as `begin`; or an encoding in which a line depends on others.
        ParameterError: likewise.
    """
    if has_header(columns.header, columns.named, form):
        table = begin(file, form, columns, BadRows(skip=True))
        return replace(table, stream=io.BytesIO(), block=b"")
    head = b""
    if not columns.skip:
        comments = () if form.has_header else (b"#", b"%")
        stream = utf8_stream(file, columns.encoding, by_line=True)
        while line := stream.readline():
            text = line.strip()
            is_first = not head and not form.konect
            if text and not text.startswith(comments) and not (is_first and _declares_one(text)):
                break
            head += line
    return begin(
        io.BytesIO(head), form, replace(columns, encoding=None), BadRows(skip=columns.skip)
    )


def _declares_one(line: bytes) -> bool:
    return declared_separator(line.decode("utf-8", "replace")) is not None


def _split(delimiter: str | None, columns: Columns) -> str | None:
    """The separator of rows; where a comma may stand in numbers, it never separates blank lists."""
    return " " if delimiter is None and columns.decimal == "," else delimiter


def begin(file: BinaryIO, form: TextFormat, columns: Columns, bad: BadRows) -> TextTable:
    """Read the head of a file: comments, blank lines, `sep=;`, and the header if there is one."""
    named = has_header(columns.header, columns.named, form)
    if columns.delimiter is not None:
        check_delimiter(columns.delimiter)
    headless = bad.skip and not named  # nothing that stands in the file tells how to read it
    stream = utf8_stream(file, columns.encoding, by_line=bad.skip, marks=not headless)
    comments: Comments = "skip" if not form.has_header else "keep" if named else "refuse"
    facts: str | None = None
    konect: list[str] = []
    delimiter, line = columns.delimiter, 1
    if headless:
        split = _split(delimiter or form.delimiter, columns)
        reader = RowReader(split, comments, form.konect, marks=True)
        return TextTable(None, [], named, [], reader, stream, b"", line)
    while row := stream.readline():
        text = decode_utf8(row)
        separator = None if line > 1 or form.konect else declared_separator(text)
        text = text.strip()
        if separator is not None and columns.delimiter != "=":  # which such a line would hold
            delimiter = delimiter or separator
        elif text.startswith(("#", "%")) and comments != "refuse":
            words = text[1:].strip()
            if words.startswith(MARK):
                facts, konect = words[len(MARK) :], []
            elif form.konect and konect_weighted(words.split()) is not None:
                konect = words.split()
        elif text:
            split = delimiter or (header_separator(text, form) if named else form.delimiter)
            reader = RowReader(_split(split, columns), comments, form.konect)
            try:
                first = [name.strip() for name in reader.fields(decode_utf8(row))]
            except ValueError as problem:
                if named:
                    raise FileFormatError(f"line {line}: {problem}") from None
                bad.add(str(problem), f"line {line}")
                first = []
            if any(first):
                place = (b"", line + 1) if named else (row, line)
                return TextTable(facts, konect, named, first, reader, stream, *place)
        line += 1
    if named:
        raise FileFormatError("the file is empty: its first line would name the columns")
    return TextTable(facts, konect, named, [], RowReader(delimiter), stream, b"", line)
