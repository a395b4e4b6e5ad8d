"""Edge lists as text: blank, comma or tab between columns; SNAP and KONECT comments; headers.

No rule here is a guess that eats an edge: where a file can be read in two ways, the error names
the option that decides.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.assemble import RawEdges
from graphcuts_dp.graph.schema import MARK, Schema, is_integer_literal, load_schema, parse_number
from graphcuts_dp.graph.text_scan import scan

Column = str | int
Row = tuple[int, list[str]]

_SOURCES = ("source", "from", "src", "origin", "u", "node1", "left", "user", "ego")
_TARGETS = ("target", "to", "dst", "destination", "v", "node2", "right", "item", "alter")
_WEIGHTS = ("weight", "weights", "w", "count", "counts")


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a text edge list separates columns.

    Attributes:
        delimiter: the one separator, with quoting; None for blanks (any run) or commas, unquoted.
        konect: further columns (time stamps) are allowed and ignored.
    """

    delimiter: str | None = None
    konect: bool = False


@dataclass(frozen=True, slots=True)
class _Layout:
    """Number of columns and where source, target and weight stand."""

    width: int
    source: int
    target: int
    weight: int | None

    @property
    def is_plain(self) -> bool:
        return (self.source, self.target) == (0, 1) and (
            (self.width, self.weight) in ((2, None), (3, None), (3, 2))
        )


def read_edge_list(
    data: bytes,
    form: TextFormat,
    *,
    header: bool | None = None,
    columns: Sequence[Column] | None = None,
    weighted: bool | None = None,
) -> RawEdges:
    """Edges of a text edge list.

    Args:
        data: the whole file.
        form: separators.
        header: see `read_graph`.
        columns: see `read_graph`.
        weighted: False ignores the weight column.

    Raises:
        FileFormatError: not UTF-8, a malformed row (told by line number), or a file that can be
            read in two ways.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    schema, body, line = _split_head(data)
    rows = list(islice(_rows(body, line, form), 2))
    if not rows:
        return _raw([], [], None, schema, [])
    if len(rows[0][1]) < 2:
        raise FileFormatError("the first row has fewer than two columns; check the separator")
    has_header = _has_header(rows, form, header)
    layout = _layout(rows[0][1], has_header, columns, form, weighted)
    if has_header:
        body, line = _without_first_row(body, line, rows)
    if layout.is_plain:
        found = scan(body, form.delimiter.encode() if form.delimiter else b" \t,")
        if found is not None and (layout.width == 3) == (found.weights is not None):
            weights = None if layout.weight is None else found.weights
            return _raw(found.sources, found.targets, weights, schema, range(line, 2**63))
    return _careful(_rows(body, line, form), layout, schema)


def _raw(
    sources: object,
    targets: object,
    weights: object,
    schema: Schema,
    lines: Sequence[int],
) -> RawEdges:
    return RawEdges(
        sources=sources,  # type: ignore[arg-type]
        targets=targets,  # type: ignore[arg-type]
        weights=weights,  # type: ignore[arg-type]
        schema=schema,
        where=lambda position: f"line {lines[position]}",
        error=FileFormatError,
    )


def _split_head(data: bytes) -> tuple[Schema, bytes, int]:
    """Comments and blank lines at the top: what they declare, the rest, and its line number."""
    schema, start, line = Schema(), 0, 1
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        text = data[start:end].strip()
        if text and text[:1] not in b"#%":
            break
        words = text[1:].strip()
        if words.startswith(MARK.encode()):
            schema = load_schema(_decoded(words[len(MARK) :]))
        start, line = end, line + 1
    return schema, data[start:], line


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError("not UTF-8 text; convert it to UTF-8") from None


def _rows(body: bytes, line: int, form: TextFormat) -> Iterator[Row]:
    text = _decoded(body)
    if form.delimiter is None:
        return _text_rows(text, line)
    if '"' in text:
        return _quoted_rows(text, line, form.delimiter)
    return _delimited_rows(text, line, form.delimiter)


def _text_rows(text: str, line: int) -> Iterator[Row]:
    """Rows with blanks or commas; lines that start with # or % are comments."""
    commas: bool | None = None
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
            mixed = "," in row
        if mixed:
            raise FileFormatError(
                f"line {number}: blanks and commas are mixed; use one of them, or a .csv file"
            )
        yield number, fields


def _delimited_rows(text: str, line: int, delimiter: str) -> Iterator[Row]:
    """Rows of a .csv or .tsv file without quotes; blanks around fields do not count."""
    for number, content in enumerate(io.StringIO(text, newline="\n"), line):
        if content.strip():
            yield number, [field.strip() for field in content.split(delimiter)]


def _quoted_rows(text: str, line: int, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True
    )
    number = line
    try:
        for fields in reader:
            if fields:
                yield number, fields
            number = line + reader.line_num
    except csv.Error:
        raise FileFormatError(
            f"line {line + max(reader.line_num, 1) - 1}: malformed row: check its quotes"
        ) from None


def _has_header(rows: list[Row], form: TextFormat, header: bool | None) -> bool:
    """Whether the first row names the columns.

    Text lists have a header only if the caller says so. In .csv and .tsv files the first row is
    an edge if a column beyond the second is a number, or an id is an integer (names are not); it
    is a header if its first two cells are well-known names, or a column beyond the second is a
    number in the next row but not in this one. All else is for the caller to decide.
    """
    if header is not None or form.delimiter is None:
        return bool(header)
    line, first = rows[0]
    second = rows[1][1] if len(rows) > 1 else []
    if any(parse_number(cell) is not None for cell in first[2:]):
        return False
    if any(is_integer_literal(cell) for cell in first[:2]):
        return False
    if _known_ends(first) is not None:
        return True
    if any(parse_number(cell) is not None for cell in second[2 : len(first)]):
        return True
    raise FileFormatError(
        f"cannot tell whether line {line} is a header or an edge; pass header=True or header=False"
    )


def _known_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Positions of two well-known column names that belong together."""
    lower = [name.strip().casefold() for name in names]
    for source, target in zip(_SOURCES, _TARGETS, strict=True):
        if lower.count(source) == 1 and lower.count(target) == 1:
            return lower.index(source), lower.index(target)
    return None


def _without_first_row(body: bytes, line: int, rows: list[Row]) -> tuple[bytes, int]:
    """The body after the header, which is on the first line unless a quoted name breaks it."""
    next_line = rows[1][0] if len(rows) > 1 else None
    if next_line is None:
        return b"", line + 1
    for _ in range(next_line - line):
        body = body[body.find(b"\n") + 1 :]
    return body, next_line


def _layout(
    first: list[str],
    has_header: bool,
    columns: Sequence[Column] | None,
    form: TextFormat,
    weighted: bool | None,
) -> _Layout:
    width = len(first)
    if columns is not None:
        picked = [_position(column, first, has_header) for column in columns]
        if len(picked) not in (2, 3) or len(set(picked)) != len(picked):
            raise FileFormatError("columns= names two or three different columns")
        source, target, *rest = picked
        weight = rest[0] if rest else None
    elif has_header:
        source, target = _known_ends(first) or (0, 1)
        weight = _weight_column(first, {source, target}, weighted)
    else:
        if width > 3 and not form.konect:
            raise FileFormatError(
                "more than three columns; pass columns=, such as (0, 1) or (0, 1, 2)"
            )
        source, target, weight = 0, 1, 2 if width > 2 else None
    if weighted is False:
        weight = None
    return _Layout(width, source, target, weight)


def _position(column: Column, first: list[str], has_header: bool) -> int:
    if isinstance(column, str):
        if not has_header:
            raise FileFormatError("columns= by name needs a header; pass header=True or positions")
        if first.count(column) != 1:
            raise FileFormatError(f"the header does not have exactly one column {column!r}")
        return first.index(column)
    if not 0 <= column < len(first):
        raise FileFormatError(f"there is no column {column}; the first column is 0")
    return column


def _weight_column(first: list[str], ends: set[int], weighted: bool | None) -> int | None:
    lower = [name.strip().casefold() for name in first]
    for name in _WEIGHTS:
        if lower.count(name) == 1 and lower.index(name) not in ends:
            return lower.index(name)
    others = [column for column in range(len(first)) if column not in ends]
    if len(others) > 1 and weighted is not False:
        raise FileFormatError(
            "cannot tell which column is the weight; pass columns=, or weighted=False"
        )
    return others[0] if others else None


def _careful(rows: Iterator[Row], layout: _Layout, schema: Schema) -> RawEdges:
    """Row by row; an error names the line."""
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    lines: list[int] = []
    for line, fields in rows:
        if len(fields) != layout.width:
            raise FileFormatError(
                f"line {line}: malformed row: expected {layout.width} columns, as in the first row"
            )
        source, target = fields[layout.source], fields[layout.target]
        if not source or not target:
            raise FileFormatError(f"line {line}: malformed row: an id is empty")
        if layout.weight is not None:
            weight = parse_number(fields[layout.weight])
            if weight is None:
                raise FileFormatError(
                    f"line {line}: malformed row: the weight is not a number; "
                    "pass weighted=False or columns= if it is not a weight"
                )
            weights.append(weight)
        sources.append(source)
        targets.append(target)
        lines.append(line)
    found = None if layout.weight is None else np.array(weights, dtype=np.float64)
    return _raw(sources, targets, found, schema, lines)
