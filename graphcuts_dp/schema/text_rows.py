"""Text tables: the head of a file, and its lines as rows of cells.

A *row* is one line, split into cells. How a line is split depends on that line alone, so no row can
swallow or change another: a quote that is left open spoils its own line. A file with a delimiter
has quoted cells, as in CSV; lists with blanks have none. `RowReader` splits lines.

The *head* is all that stands above the first row: blank lines, comments that begin with # or %, a
line `sep=;` that declares the delimiter, and the *header*, a line that names the columns. The name
of the file, the caller's `Columns` and the head decide how rows are read; no row does.
`open_text` reads the head and returns a `TextTable`, which yields the rows.

Terms used here:

- *bad row*: a line that cannot be split. `BadRows` (`schema.bad_rows`) collects them. It refuses
  the file at the end, or leaves them out if its `skip` is true, which is the option
  `on_bad="skip"`.
- *byte-order mark*: a character at the start of a file that names the encoding.
- *comment of our own*: a comment above the rows that begins with "graphcuts-dp:" (`MARK`). A file
  that we wrote states public facts about its graph there.
- *KONECT*: a collection of networks. The first comment of such a file, as `% bip weighted`, gives
  the kind of the network and says whether a third column holds weights.

Where bad rows are left out of a file without a header, the file has no head: comments and blank
lines hold no cells, every other line is a row, and nothing in the file decides how it is read.

Read `open_text` first, then `RowReader.fields`.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import BinaryIO, Literal, final

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import PathLike
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.column_search import has_header
from graphcuts_dp.schema.columns import INTEGER, Columns
from graphcuts_dp.schema.file_bytes import read_text
from graphcuts_dp.schema.text_encoding import NOT_UTF8, utf8_stream
from graphcuts_dp.schema.text_format import (
    TextFormat,
    check_delimiter,
    declared_separator,
    header_separator,
)
from graphcuts_dp.schema.vertices import Label

Row = tuple[int, list[str]]  # the line number, counted from 1, and the cells
Comments = Literal["skip", "keep", "refuse"]  # see `RowReader.comments`

# Text that begins a comment of our own files; public facts about the graph follow it as JSON. It
# has nothing to do with byte-order marks.
MARK = "graphcuts-dp:"
# Bytes of lines that are split at a time: a block and its cells stay in the processor's cache.
_BLOCK_BYTES = 1 << 18
# The character that some programs write at the start of a file to name its encoding.
BYTE_ORDER_MARK = "\ufeff"
# Surrogates stand for bytes that are no text. Valid text has none. `decode_utf8` makes them of the
# bytes of a file, and of those that `utf8_stream` writes for bytes that are no text in the file's
# encoding.
_SURROGATE = re.compile("[\ud800-\udfff]")
# First word of a comment of KONECT: a symmetric, asymmetric or bipartite network. Its second word
# says how pairs are weighted, such as "unweighted", "positive" or "weighted".
_KONECT_KINDS = ("sym", "asym", "bip")


@dataclass(slots=True)
class TextTable:
    """A text table whose head has been read.

    Attributes:
        facts: the JSON text that a comment of our own declares above the first row. None if absent.
        konect_words: the words of the last comment of KONECT above the first row, such as
            ["bip", "weighted"]. Empty if there is none, or if a comment of our own follows it.
        has_header: whether the file has a header.
        first_cells: the names of the columns if there is a header. Without one, the cells of the
            first row. They are private: all that callers may do with them is refuse the file.
            Empty if there is no row, or if a file without a header is read with bad rows left out.
        reader: splits lines into cells.
        stream: the lines that follow `block`.
        block: whole lines of data that were read together with the head.
        line: number of the first line of `block`, counted from 1.
    """

    facts: str | None
    konect_words: list[str]
    has_header: bool
    first_cells: list[str]
    reader: "RowReader"
    stream: BinaryIO
    block: bytes
    line: int

    def blocks(self, size: int) -> Iterator[tuple[bytes, int]]:
        """Generate all rows as blocks of whole lines, each with the number of its first line.

        This reads the stream to its end, so it works once.

        Args:
            size: of a block in bytes, about.
        """
        block, line = self.block, self.line
        while True:
            data = self.stream.read(size)
            if data:
                data += self.stream.readline()  # the rest of a line that was cut
            block += data
            if not block:
                return
            yield block, line
            line += block.count(b"\n")
            block = b""


def open_text(file: BinaryIO, form: TextFormat, columns: Columns, bad: BadRows) -> TextTable:
    """Read the head of a file, up to the header if there is one, else up to the first row.

    Args:
        file: open at its start.
        form: how files with this ending are written.
        columns: the caller's options.
        bad: takes lines above the first row that cannot be split. With `bad.skip` a file without a
            header has no head, and nothing in it decides how it is read.

    Raises:
        FileFormatError: not text in its encoding, a header that cannot be split, or no header
            where there should be one.
        ParameterError: an unknown encoding, or an impossible delimiter.
    """
    # `columns.named` are the columns that the caller picks by name or by number.
    with_header = has_header(columns.header, columns.named, form)
    if columns.delimiter is not None:
        check_delimiter(columns.delimiter)
    # Without a header, and with bad rows left out, the first line may be a private row. So nothing
    # that stands in the file may decide how it is read: not a byte-order mark, nor a comment, nor
    # a line `sep=;`.
    headless = bad.skip and not with_header
    stream = utf8_stream(file, columns.encoding, by_line=bad.skip, detect_mark=not headless)
    comments = _comment_rule(form, with_header=with_header)
    if headless:
        separator = _row_separator(columns.delimiter or form.delimiter, columns)
        reader = RowReader(separator, comments, form.konect, skip_marks=True)
        return TextTable(
            facts=None,
            konect_words=[],
            has_header=False,
            first_cells=[],
            reader=reader,
            stream=stream,  # at the first line
            block=b"",
            line=1,
        )

    facts: str | None = None
    konect_words: list[str] = []
    delimiter = columns.delimiter  # the caller's, else that of a line `sep=;`; None if neither
    line = 1
    while raw_line := stream.readline():
        text = decode_utf8(raw_line)
        # Only the first line can declare a separator, and files of KONECT have no such line.
        declared = declared_separator(text) if line == 1 and not form.konect else None
        text = text.strip()
        # If the caller's delimiter is "=", a line "sep=;" is a row of the cells "sep" and ";".
        if declared is not None and columns.delimiter != "=":
            delimiter = delimiter or declared
        elif text.startswith(("#", "%")) and comments != "refuse":
            comment = text[1:].strip()
            if comment.startswith(MARK):
                facts, konect_words = comment[len(MARK) :], []
            elif form.konect and konect_weighted(comment.split()) is not None:
                konect_words = comment.split()
        elif text:
            separator = delimiter
            if separator is None:
                separator = header_separator(text, form) if with_header else form.delimiter
            reader = RowReader(_row_separator(separator, columns), comments, form.konect)
            try:
                cells = [cell.strip() for cell in reader.fields(decode_utf8(raw_line))]
            except ValueError as problem:
                if with_header:
                    raise FileFormatError(f"line {line}: {problem}") from None
                # The line is counted as a bad row, and the next line is tried as the first row.
                bad.add(str(problem), f"line {line}")
                cells = []
            if any(cells):  # else a line of separators alone, which is neither header nor row
                # A header is no row; a first row is read again with the others.
                block, next_line = (b"", line + 1) if with_header else (raw_line, line)
                return TextTable(
                    facts, konect_words, with_header, cells, reader, stream, block, next_line
                )
        line += 1
    if with_header:
        raise FileFormatError("the file is empty: its first line would name the columns")
    # The stream is at its end, so this reader never splits a line.
    return TextTable(facts, konect_words, with_header, [], RowReader(delimiter), stream, b"", line)


def _comment_rule(form: TextFormat, *, with_header: bool) -> Comments:
    """Return how lines that begin with # or % are read, see `RowReader.comments`."""
    if not form.has_header:  # a list: neither .csv nor .tsv
        return "skip"
    return "keep" if with_header else "refuse"


def _row_separator(delimiter: str | None, columns: Columns) -> str | None:
    """Return the delimiter of rows as `RowReader` has it.

    None lets commas separate cells. Where the decimal sign is a comma, as in 1,5, blanks alone
    separate them, so None becomes " ".
    """
    if delimiter is None and columns.decimal == ",":
        return " "
    return delimiter


def open_text_head(file: BinaryIO, form: TextFormat, columns: Columns) -> TextTable:
    """Read the head of a file as `open_text` does, but no row: the returned table has none.

    Privacy: the result, and whether this raises, depends on the lines above the first row, and on
    the first bytes of the file, which may show that it is UTF-16. In detail:

    1. With a header, `open_text` stops behind it. `BadRows(skip=True)` makes it lenient: a byte
       below the header that is no text raises nothing.
    2. Without a header, and with bad rows left out, there is no head. `open_text` gets an empty
       file.
    3. Else `open_text` gets a copy of the lines above the first row, and never meets a row.

    Raises:
        FileFormatError: as `open_text`; or the encoding is one in which a line depends on others.
        ParameterError: as `open_text`.
    """
    if has_header(columns.header, columns.named, form):
        table = open_text(file, form, columns, BadRows(skip=True))
        return replace(table, stream=io.BytesIO(), block=b"")
    head = b"" if columns.skip else _lines_above_rows(file, form, columns)
    utf8_columns = replace(columns, encoding=None)  # as the copied lines are UTF-8
    return open_text(io.BytesIO(head), form, utf8_columns, BadRows(skip=columns.skip))


def _lines_above_rows(file: BinaryIO, form: TextFormat, columns: Columns) -> bytes:
    """Return the blank lines, comments and `sep=` line above the first row, in UTF-8.

    It must stop at the line that `open_text` takes for the first row of a file without a header: a
    change of the rules there is a change here.
    """
    head = b""
    # As `_comment_rule` without a header: in .csv and .tsv files such a line is a bad row.
    comment_signs = () if form.has_header else (b"#", b"%")
    stream = utf8_stream(file, columns.encoding, by_line=True)
    while line := stream.readline():
        text = line.strip()
        is_first = not head and not form.konect
        declares_separator = is_first and (
            declared_separator(text.decode("utf-8", "replace")) is not None
        )
        if text and not text.startswith(comment_signs) and not declares_separator:
            break
        head += line
    return head


@final
@dataclass(frozen=True, slots=True)
class RowReader:
    """Split the lines of one file into cells.

    Attributes:
        delimiter: the one character between cells, which may be quoted. " " stands for any run of
            blanks. None stands for a comma on lines that have one, and for blanks on others. Quotes
            have no meaning with " " and None.
        comments: how lines that begin with # or % are read. "skip": they are comments. "keep": they
            are rows, in files where comments stand only above the header. "refuse": they are bad
            rows, in .csv and .tsv files without a header.
        konect: whether the file is one of KONECT: blanks and tabs may be mixed on a line, and a
            comment may declare weights.
        skip_marks: whether byte-order marks at the start of any line are removed. This is so in
            files that have no header and are read with bad rows left out. Else such a line is bad.
    """

    delimiter: str | None
    comments: Comments = "skip"
    konect: bool = False
    skip_marks: bool = False

    def rows(self, block: bytes, line: int, bad: BadRows) -> Iterator[Row]:
        """Generate the rows of some whole lines, without comments and empty rows.

        Args:
            block: the lines.
            line: number of the first of them, counted from 1.
            bad: takes the lines that cannot be split.

        Raises:
            FileFormatError: the block is not UTF-8, unless bad rows are left out.
        """
        text = decode_utf8(block, lenient=bad.skip)
        for number, content in enumerate(io.StringIO(text, newline="\n"), line):
            try:
                cells = self.fields(content)
            except ValueError as problem:
                bad.add(str(problem), f"line {number}")
                continue
            if any(cells):  # spreadsheets leave rows of separators alone
                yield number, cells

    def fields(self, content: str) -> list[str]:
        """Return the cells of one line; none if it is a comment.

        Privacy: the result depends on this line and on public attributes alone.

        Raises:
            ValueError: the line is a bad row; the message quotes nothing of it.
        """
        start = content.lstrip()[:1]
        # Programs that join files may leave several marks. A mark is no blank, so `lstrip` stops
        # at each of them.
        while self.skip_marks and start == BYTE_ORDER_MARK:
            content = content.lstrip()[1:]
            start = content.lstrip()[:1]
        if start == BYTE_ORDER_MARK:
            raise ValueError("a byte-order mark stands within the file; take it out")
        if not content.isascii() and _SURROGATE.search(content):
            raise ValueError(NOT_UTF8)
        if start in ("#", "%") and self.comments != "keep":
            self._check_comment(content.strip())
            return []
        if self.delimiter in (None, " "):
            return self._unquoted_cells(content)
        delimiter = str(self.delimiter)
        if '"' in content:
            return _quoted_cells(content.rstrip("\n"), delimiter)
        return [cell.strip() for cell in content.split(delimiter)]

    def _check_comment(self, text: str) -> None:
        """Raise for a comment among the rows that must not stand there.

        Comments among rows are ignored. But one that declares weights or facts has its effect only
        above the first row, so whoever put it below meant something that would not happen.
        """
        if self.comments == "refuse":
            raise ValueError("begins with # or %; take comments out, and put labels in quotes")
        comment = text[1:].strip()
        declares_weights = self.konect and konect_weighted(comment.split()) is not None
        if declares_weights or comment.startswith(MARK):
            raise ValueError("this comment tells how to read the file; move it above the rows")

    def _unquoted_cells(self, content: str) -> list[str]:
        """Split a line at blanks or, where commas may separate cells, at its commas."""
        if self.delimiter is None and "," in content:
            cells = [cell.strip() for cell in content.split(",")]
            if any(len(cell.split()) > 1 for cell in cells):
                raise ValueError("blanks and commas are mixed; pass delimiter=")
            return cells
        # Blanks and tabs both separate here. In the line "New York<tab>Boston" the tab is meant as
        # the only separator, and its first cell would fall apart at the blank. So a line with tabs
        # is refused if a piece between tabs holds blanks.
        tabs_may_separate = self.delimiter is None and not self.konect and "\t" in content
        if tabs_may_separate and any(len(cell.split()) > 1 for cell in content.split("\t")):
            raise ValueError("tabs and blanks are mixed; pass delimiter=")
        return content.split()


def _quoted_cells(content: str, delimiter: str) -> list[str]:
    """Return the cells of a line with quotes. Blanks count within quotes, and are cut elsewhere.

    Raises:
        ValueError: a quote does not end on the line, or text stands beside a quoted cell.
    """
    cells: list[str] = []
    pattern = _cell_pattern(delimiter)
    start = 0
    while True:
        match = pattern.match(content, start)
        if match is None:
            raise ValueError("malformed row: check its quotes, which end on their line")
        quoted, unquoted, separator = match.groups()
        if quoted is None and unquoted.lstrip().startswith('"'):
            raise ValueError("malformed row: check its quotes, which end on their line")
        cells.append(unquoted.strip() if quoted is None else quoted.replace('""', '"'))
        start = match.end()
        if not separator:
            return cells


@cache
def _cell_pattern(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of one cell and the separator, or the end of the line, behind it.

    Group 1 is the text between quotes, group 2 an unquoted cell, and group 3 the separator, which
    is empty at the end of the line.
    """
    separator = re.escape(delimiter)
    # [^\S...] is a character that is neither a non-blank (\S) nor the separator: a blank other than
    # the separator, which may be a tab.
    blanks = rf"[^\S{separator}]*"
    quoted = rf'{blanks}"((?:[^"]|"")*)"{blanks}'
    unquoted = rf"([^{separator}]*)"
    return re.compile(rf"(?:{quoted}|{unquoted})({separator}|\Z)")


def decode_utf8(data: bytes, *, lenient: bool = False) -> str:
    """Return UTF-8 as text.

    Args:
        data: whole lines.
        lenient: whether each byte that is not UTF-8 becomes a surrogate, a character that no text
            holds, so that only its own line is spoilt.

    Raises:
        FileFormatError: the bytes are not UTF-8, unless `lenient`.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if lenient:
            return data.decode("utf-8", "surrogateescape")
        raise FileFormatError(NOT_UTF8) from None


def konect_weighted(words: list[str]) -> bool | None:
    """Return whether a comment of KONECT such as `% bip weighted` declares a column of weights.

    Args:
        words: of the comment, without its sign.

    Returns:
        None if it is another comment.
    """
    if len(words) < 2 or words[0] not in _KONECT_KINDS:
        return None
    return words[1] != "unweighted"


def declares_undirected(konect_words: list[str]) -> bool:
    """Return whether a comment of KONECT declares undirected edges: its first word is `sym`."""
    return konect_words[:1] == ["sym"]


def read_rows(
    data: bytes, form: TextFormat, columns: Columns
) -> tuple[list[str] | None, list[Row]]:
    """Read a public text table: its header, None if it has none, and its rows.

    Args:
        data: the whole file.
        form: how files with this ending are written.
        columns: the caller's options.

    Raises:
        FileFormatError: as `open_text`, or a malformed row, with its line number.
        ParameterError: as `open_text`.
    """
    bad = BadRows()
    table = open_text(io.BytesIO(data), form, columns, bad)
    rows = [
        row
        for block, line in table.blocks(_BLOCK_BYTES)
        for row in table.reader.rows(block, line, bad)
    ]
    bad.check()
    return (table.first_cells if table.has_header else None), rows


def read_table(path: PathLike) -> tuple[list[str], list[Row]]:
    """Read a public .csv or .tsv file with a header: its column names in small letters, its rows.

    Unlike `read_rows` it opens the file, and takes no option.

    Raises:
        FileFormatError: the file cannot be read, or is malformed.
    """
    is_tsv = str(path).lower().removesuffix(".gz").endswith(".tsv")
    data = read_text(path).encode()
    form = TextFormat("\t" if is_tsv else ",")
    try:
        header, rows = read_rows(data, form, Columns(header=True))
    except FileFormatError as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None
    return [name.strip().lower() for name in header or ()], rows


def labels_of(tokens: Sequence[str]) -> list[Label]:
    """Return integers if every token is an integer literal, else the tokens as they are.

    Tokens with so many digits that Python refuses to convert them stay text, as do all others then.
    """
    if all(map(INTEGER.match, tokens)):
        try:
            return [int(token) for token in tokens]
        except ValueError:  # thousands of digits
            return list(tokens)
    return list(tokens)
