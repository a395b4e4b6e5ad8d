"""Edge lists as text: blank, comma, tab or another separator; SNAP and KONECT comments; headers.

No rule here is a guess that eats an edge: where a file can be read in two ways, the error names
the option that decides. Files are read a block of lines at a time: each by the fastest reader that
takes it, so that one odd row costs its block, not the file.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO, final

import numpy as np

from graphcuts_dp.arrays import FloatArray, IntVector
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.coded_text import CodedText
from graphcuts_dp.graph.columns import ColumnPlaces, TextOptions, find_columns, has_header
from graphcuts_dp.graph.dialect import (
    TextFormat,
    check_delimiter,
    declared_separator,
    separated,
    utf8_stream,
)
from graphcuts_dp.graph.gathered import Gathered, TextPieces
from graphcuts_dp.graph.raw_edges import RawEdges
from graphcuts_dp.graph.schema import MARK, Schema, load_schema, parse_number
from graphcuts_dp.graph.text_rows import Row, RowReader, decoded
from graphcuts_dp.graph.text_scan import scan_block, split_cells

_BLOCK = 1 << 18  # bytes; a block and its arrays stay in the processor's cache
_NUMBER = set("0123456789+-.eE")


def read_edge_list(
    data: bytes | BinaryIO,
    form: TextFormat,
    options: TextOptions = TextOptions(),  # noqa: B008  # frozen
    *,
    weighted: bool | None = None,
) -> RawEdges:
    """Edges of a text edge list.

    Args:
        data: the whole file, or the file open at its start, which is read a piece at a time.
        form: separators, as the ending of the file's name tells.
        options: see `read_graph`.
        weighted: False ignores the weight column.

    Raises:
        FileFormatError: not text in its encoding, a malformed row (told by line number), or a file
            that can be read in two ways.
        ParameterError: no such encoding or delimiter.
    """
    stream = utf8_stream(io.BytesIO(data) if isinstance(data, bytes) else data, options.encoding)
    head = _read_head(stream, form)
    form = _separated(head, form, options)
    reader = RowReader.of(form, head.first)
    blocks = _Blocks(stream, head)
    rows = blocks.first_rows(reader)
    if not rows:
        weights = None if options.weight is None or weighted is False else np.zeros(0)
        return _raw(Gathered(weighted=weights is not None), head.schema)
    if len(rows[0][1]) < 2:
        raise FileFormatError("the first row has fewer than two columns; pass delimiter=")
    first, second = rows[0][1], rows[1][1] if len(rows) > 1 else []
    ours = head.ours and form.delimiter is None  # such lists have no header
    named = has_header(first, second, form, options) if not ours else bool(options.header)
    columns = find_columns(first, named, options, weighted=weighted, declared=head.weighted)
    if named:
        blocks.drop_first_row(rows)
    gathered = Gathered(weighted=columns.weight is not None)
    separator = _one_separator(blocks.block, form)
    for block, line in blocks:
        if not gathered.integers:
            blocks.size = 4 * _BLOCK  # what a search for names costs beside them is then little
        if separator is None or not _add_fast(gathered, block, line, separator, columns, form):
            _add_rows(gathered, reader.rows(block, line, blocks.more), columns)
    return replace(_raw(gathered, head.schema), columns=columns)


def _one_separator(block: bytes, form: TextFormat) -> bytes | None:
    """The one byte that stands between the columns of the first row, for the fast readers."""
    separators = {None: b" \t,", " ": b" \t"}.get(form.delimiter)
    if separators is None:
        separators = str(form.delimiter).encode()
        return separators if len(separators) == 1 else None
    first = block[: block.find(b"\n") + 1 or len(block)]
    found = [bytes([mark]) for mark in separators if mark in first]
    return found[0] if len(found) == 1 else None


def _add_fast(
    gathered: Gathered,
    block: bytes,
    line: int,
    separator: bytes,
    columns: ColumnPlaces,
    form: TextFormat,
) -> bool:
    """Read a block of rows that are all alike; False where each needs a closer look."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    if not block.endswith(b"\n"):
        block += b"\n"
    made: _Found | None = None
    if columns.is_plain and gathered.integers:
        found = scan_block(block, separator[0], columns.width)
        if found is not None:
            made = found.sources, found.targets, None if columns.weight is None else found.weights
    if made is None:
        made = _from_cells(block, separator, columns, form, gathered.integers)
    if made is None:
        return False
    gathered.add(*made, range(line, line + len(made[0])))
    return True


_Found = tuple[IntVector | TextPieces, IntVector | TextPieces, FloatArray | None]


def _from_cells(
    block: bytes, separator: bytes, columns: ColumnPlaces, form: TextFormat, integers: bool
) -> _Found | None:
    """Ends and weights of rows that are all alike; None where each needs a closer look."""
    quoting = form.delimiter not in (None, " ")
    places = columns.source, columns.target
    split = split_cells(block, separator, columns.width, places, inner_blanks=quoting)
    if split is None:
        return None
    weights = None
    if columns.weight is not None:
        found = split.integers(columns.weight)
        weights = _decimals(split.coded([columns.weight])) if found is None else found.astype(float)
        if weights is None:
            return None
    if integers:
        sources, targets = (split.integers(place) for place in places)
        if sources is not None and targets is not None:
            return sources, targets, weights
    ends = split.texts(places)
    return None if ends is None else (ends[0], ends[1], weights)


def _decimals(found: list[CodedText] | None) -> FloatArray | None:
    if found is None or not set("".join(found[0].names)) <= _NUMBER:
        return None
    try:
        distinct = np.array(list(map(float, found[0].names)), dtype=np.float64)
    except ValueError:
        return None
    return distinct[found[0].codes]


def _raw(gathered: Gathered, schema: Schema) -> RawEdges:
    sources, targets = gathered.ends()
    return RawEdges(
        sources=sources,
        targets=targets,
        weights=gathered.weights(),
        schema=schema,
        owned=True,
        where=lambda position: f"line {gathered.place(position)}",
        error=FileFormatError,
    )


def read_rows(data: bytes, form: TextFormat, options: TextOptions) -> list[Row]:
    """Rows of a text table that is no edge list, each with the number of its line.

    Args:
        data: the whole file.
        form: separators, as the ending of the file's name tells.
        options: of which separator and encoding are read.

    Raises:
        FileFormatError: as `read_edge_list`.
        ParameterError: likewise.
    """
    stream = utf8_stream(io.BytesIO(data), options.encoding)
    head = _read_head(stream, form)
    reader = RowReader.of(_separated(head, form, options), head.first)
    return list(reader.rows(head.first + stream.read(), head.line))


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands above the first row: what it declares, and the first row with its number."""

    schema: Schema
    ours: bool
    weighted: bool | None
    delimiter: str | None
    first: bytes
    line: int


def _read_head(stream: BinaryIO, form: TextFormat) -> _Head:
    """Comments, blank lines and `sep=;` at the top."""
    schema, line = Schema(), 1
    ours, weighted, delimiter = False, None, None
    while row := stream.readline():
        text = row.strip()
        if line == 1 and not form.konect:
            delimiter = declared_separator(row.decode("latin-1"))
        if text and text[:1] not in b"#%" and (line > 1 or delimiter is None):
            break
        words = text[1:].strip()
        if words.startswith(MARK.encode()):
            schema = load_schema(decoded(words[len(MARK) :]))
            ours, weighted = True, schema.weighted
        elif form.konect and line == 1:
            weighted = _konect_weighted(words.split())
            if words.split()[:1] == [b"sym"]:
                schema = Schema(directed=False)
        line += 1
    return _Head(schema, ours, weighted, delimiter, row, line)


def _separated(head: _Head, form: TextFormat, options: TextOptions) -> TextFormat:
    """The format with the separator that the caller, the head, or the first row tells."""
    if options.delimiter is not None:
        check_delimiter(options.delimiter)
        return replace(form, delimiter=options.delimiter)
    if head.delimiter is not None:
        return replace(form, delimiter=head.delimiter)
    return separated(decoded(head.first), form)


def _konect_weighted(words: list[bytes]) -> bool | None:
    """What a first line such as `% bip weighted` says about the third column; None if nothing."""
    if len(words) < 2 or words[0] not in (b"sym", b"asym", b"bip"):
        return None
    return words[1] != b"unweighted"


@final
class _Blocks:
    """The rows of a file as blocks of whole lines, each with the number of its first line."""

    def __init__(self, stream: BinaryIO, head: _Head) -> None:
        self._stream = stream
        self.block = head.first
        self.size = _BLOCK
        self._line = head.line
        self._extend(self.size)

    def _extend(self, size: int) -> bool:
        """Put more lines behind the block; False if there are none."""
        more = self._stream.read(size)
        self.block += more + (self._stream.readline() if more else b"")
        return bool(more)

    def first_rows(self, reader: RowReader) -> list[Row]:
        """The first two rows; the block is made as long as it takes to see them."""
        while True:
            problem = None
            try:
                rows = list(islice(reader.rows(self.block, self._line), 2))
                if len(rows) == 2:
                    return rows
            except FileFormatError as found:  # perhaps a quoted cell that goes on
                problem = found
            if not self._extend(len(self.block) + 1):
                if problem is not None:
                    raise problem
                return rows

    def drop_first_row(self, rows: list[Row]) -> None:
        """Take the header off, which is one line unless a quoted name breaks it."""
        next_line = rows[1][0] if len(rows) > 1 else None
        if next_line is None:
            self.block = b""
            return
        for _ in range(next_line - self._line):
            self.block = self.block[self.block.find(b"\n") + 1 :]
        self._line = next_line

    def more(self) -> bytes:
        """The line behind the block that is at work, which then belongs to it."""
        line = self._stream.readline()
        self._line += 1
        return line

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        while self.block:
            block, line = self.block, self._line
            self._line += block.count(b"\n")
            yield block, line
            self.block = b""
            self._extend(self.size)


def _add_rows(gathered: Gathered, rows: Iterator[Row], columns: ColumnPlaces) -> None:
    """Row by row; an error names the line."""
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    lines: list[int] = []
    for line, fields in rows:
        if len(fields) != columns.width:
            raise FileFormatError(
                f"line {line}: malformed row: expected {columns.width} columns, as in the first row"
            )
        source, target = fields[columns.source], fields[columns.target]
        if not source or not target:
            raise FileFormatError(
                f"line {line}: malformed row: an id is empty; take out rows that are no edges, "
                "such as the vertices in some exports of databases"
            )
        if columns.weight is not None:
            weight = parse_number(fields[columns.weight])
            if weight is None:
                raise FileFormatError(
                    f"line {line}: malformed row: the weight is not a number (write "
                    "decimals with a point); pass weighted=False if that column is not a weight"
                )
            weights.append(weight)
        sources.append(source)
        targets.append(target)
        lines.append(line)
    found = None if columns.weight is None else np.array(weights, dtype=np.float64)
    gathered.add(sources, targets, found, lines)
