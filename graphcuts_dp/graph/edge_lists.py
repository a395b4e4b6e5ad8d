"""Edge lists as text: blank, comma, tab or another separator; SNAP and KONECT comments; headers.

No rule here is a guess that eats an edge: where a file can be read in two ways, the error names
the option that decides.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.assemble import Ends, RawEdges
from graphcuts_dp.graph.coded_text import CodedText
from graphcuts_dp.graph.columns import ColumnPlaces, TextOptions, find_columns, has_header
from graphcuts_dp.graph.dialect import (
    NOT_UTF8,
    TextFormat,
    as_utf8,
    check_delimiter,
    declared_separator,
    separated,
)
from graphcuts_dp.graph.schema import MARK, Schema, load_schema, parse_number
from graphcuts_dp.graph.text_scan import scan, split_cells

Row = tuple[int, list[str]]
_START = 1 << 16  # bytes that nearly always hold the first two rows
_NUMBER = set("0123456789+-.eE")


def read_edge_list(
    data: bytes,
    form: TextFormat,
    options: TextOptions = TextOptions(),  # noqa: B008  # frozen
    *,
    weighted: bool | None = None,
) -> RawEdges:
    """Edges of a text edge list.

    Args:
        data: the whole file.
        form: separators, as the ending of the file's name tells.
        options: see `read_graph`.
        weighted: False ignores the weight column.

    Raises:
        FileFormatError: not text in its encoding, a malformed row (told by line number), or a file
            that can be read in two ways.
        ParameterError: no such encoding or delimiter.
    """
    head = _read_head(as_utf8(data, options.encoding), form)
    body, line, schema = head.body, head.line, head.schema
    form = _separated(head, form, options)
    rows = _first_rows(body, line, form)
    if not rows:
        weights = None if options.weight is None or weighted is False else np.zeros(0)
        return _raw([], [], weights, schema, [])
    if len(rows[0][1]) < 2:
        raise FileFormatError("the first row has fewer than two columns; pass delimiter=")
    first, second = rows[0][1], rows[1][1] if len(rows) > 1 else []
    ours = head.ours and form.delimiter is None  # such lists have no header
    named = has_header(first, second, form, options) if not ours else bool(options.header)
    columns = find_columns(first, named, options, weighted=weighted, declared=head.weighted)
    if named:
        body, line = _without_first_row(body, line, rows)
    return replace(_edges(body, line, form, columns, schema), reading=str(columns))


def _edges(
    body: bytes, line: int, form: TextFormat, columns: ColumnPlaces, schema: Schema
) -> RawEdges:
    separators = {None: b" \t,", " ": b" \t"}.get(form.delimiter)
    if separators is None and form.delimiter is not None:
        separators = form.delimiter.encode()
        separators = separators if len(separators) == 1 else b""
    lines = range(line, 2**63)
    if columns.is_plain and separators:
        found = scan(body, separators)
        if found is not None and (columns.width == 3) == (found.weights is not None):
            weights = None if columns.weight is None else found.weights
            return _raw(found.sources, found.targets, weights, schema, lines)
    made = _from_cells(body, separators, columns, form) if separators else None
    if made is not None:
        return _raw(*made, schema, lines)
    return _careful(_rows(body, line, form), columns, schema)


def _from_cells(
    body: bytes, separators: bytes, columns: ColumnPlaces, form: TextFormat
) -> tuple[CodedText, CodedText, FloatArray | None] | None:
    """Ends and weights of rows that are all alike; None where each needs a closer look."""
    quoting = form.delimiter not in (None, " ")
    places = columns.source, columns.target
    split = split_cells(body, separators, columns.width, places, inner_blanks=quoting)
    ends = None if split is None else split.coded(places)
    if split is None or ends is None:
        return None
    if columns.weight is None:
        return ends[0], ends[1], None
    found = split.coded([columns.weight])
    if found is None or not set("".join(found[0].names)) <= _NUMBER:
        return None
    try:
        distinct = np.array(list(map(float, found[0].names)), dtype=np.float64)
    except ValueError:
        return None
    return ends[0], ends[1], distinct[found[0].codes]


def _raw(
    sources: Ends,
    targets: Ends,
    weights: FloatArray | None,
    schema: Schema,
    lines: Sequence[int],
) -> RawEdges:
    return RawEdges(
        sources=sources,
        targets=targets,
        weights=weights,
        schema=schema,
        where=lambda position: f"line {lines[position]}",
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
    head = _read_head(as_utf8(data, options.encoding), form)
    return list(_rows(head.body, head.line, _separated(head, form, options)))


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands above the first row: what it declares, the rest, and the rest's first line."""

    schema: Schema
    ours: bool
    weighted: bool | None
    delimiter: str | None
    body: bytes
    line: int


def _read_head(data: bytes, form: TextFormat) -> _Head:
    """Comments, blank lines and `sep=;` at the top."""
    schema, start, line = Schema(), 0, 1
    ours, weighted, delimiter = False, None, None
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        text = data[start:end].strip()
        if line == 1 and not form.konect:
            delimiter = declared_separator(data[start:end].decode("latin-1"))
        if text and text[:1] not in b"#%" and (line > 1 or delimiter is None):
            break
        words = text[1:].strip()
        if words.startswith(MARK.encode()):
            schema = load_schema(_decoded(words[len(MARK) :]))
            ours, weighted = True, schema.weighted
        elif form.konect and line == 1:
            weighted = _konect_weighted(words.split())
            if words.split()[:1] == [b"sym"]:
                schema = Schema(directed=False)
        start, line = end, line + 1
    return _Head(schema, ours, weighted, delimiter, data[start:], line)


def _separated(head: _Head, form: TextFormat, options: TextOptions) -> TextFormat:
    """The format with the separator that the caller, the head, or the first row tells."""
    if options.delimiter is not None:
        check_delimiter(options.delimiter)
        return replace(form, delimiter=options.delimiter)
    if head.delimiter is not None:
        return replace(form, delimiter=head.delimiter)
    return separated(_first_row(head.body), form)


def _konect_weighted(words: list[bytes]) -> bool | None:
    """What a first line such as `% bip weighted` says about the third column; None if nothing."""
    if len(words) < 2 or words[0] not in (b"sym", b"asym", b"bip"):
        return None
    return words[1] != b"unweighted"


def _first_row(body: bytes) -> str:
    return _decoded(body[: body.find(b"\n") + 1 or len(body)])


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError(NOT_UTF8) from None


def _first_rows(body: bytes, line: int, form: TextFormat) -> list[Row]:
    """The first two rows; whole lines at the start hold them, unless these are comments."""
    end = body.rfind(b"\n", 0, _START) + 1
    # A quoted cell may go on behind the last of these lines.
    if 0 < end < len(body) and b'"' not in body[:end]:
        rows = list(islice(_rows(body[:end], line, form), 2))
        if len(rows) == 2:
            return rows
    return list(islice(_rows(body, line, form), 2))


def _rows(body: bytes, line: int, form: TextFormat) -> Iterator[Row]:
    text = _decoded(body)
    if form.delimiter is None or form.delimiter == " ":
        return _text_rows(text, line, None if form.delimiter is None else False)
    if '"' in text:
        return _quoted_rows(text, line, form.delimiter)
    return _delimited_rows(text, line, form.delimiter)


def _text_rows(text: str, line: int, commas: bool | None) -> Iterator[Row]:
    """Rows with blanks or commas (None: the first row tells); lines with # or % are comments."""
    told = commas is None
    for number, content in enumerate(io.StringIO(text, newline="\n"), line):
        row = content.strip()
        if not row or row[0] in "#%":
            continue
        if commas is None:
            commas = "," in row
        if commas:
            fields = [field.strip() for field in row.split(",")]
            mixed = any(len(field.split()) > 1 for field in fields)
        else:
            fields = row.split()
            mixed = told and "," in row
        if mixed:
            raise FileFormatError(f"line {number}: blanks and commas are mixed; pass delimiter=")
        yield number, fields


def _delimited_rows(text: str, line: int, delimiter: str) -> Iterator[Row]:
    """Rows of a .csv or .tsv file without quotes; blanks around fields do not count."""
    for number, content in enumerate(io.StringIO(text, newline="\n"), line):
        fields = [field.strip() for field in content.split(delimiter)]
        if any(fields):  # spreadsheets leave rows of separators
            yield number, fields


def _quoted_rows(text: str, line: int, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True
    )
    number = line
    try:
        for fields in reader:
            if any(fields):
                yield number, fields
            number = line + reader.line_num
    except csv.Error:
        raise FileFormatError(
            f"line {line + max(reader.line_num, 1) - 1}: malformed row: check its quotes"
        ) from None


def _without_first_row(body: bytes, line: int, rows: list[Row]) -> tuple[bytes, int]:
    """The body after the header, which is on the first line unless a quoted name breaks it."""
    next_line = rows[1][0] if len(rows) > 1 else None
    if next_line is None:
        return b"", line + 1
    for _ in range(next_line - line):
        body = body[body.find(b"\n") + 1 :]
    return body, next_line


def _careful(rows: Iterator[Row], columns: ColumnPlaces, schema: Schema) -> RawEdges:
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
            raise FileFormatError(f"line {line}: malformed row: an id is empty")
        if columns.weight is not None:
            weight = parse_number(fields[columns.weight])
            if weight is None:
                raise FileFormatError(
                    f"line {line}: malformed row: the weight is not a number; "
                    "pass weighted=False if that column is not a weight"
                )
            weights.append(weight)
        sources.append(source)
        targets.append(target)
        lines.append(line)
    found = None if columns.weight is None else np.array(weights, dtype=np.float64)
    return _raw(sources, targets, found, schema, lines)
