"""Edge lists as text: blank, comma, tab or another separator; SNAP and KONECT comments; headers.

How a file is read depends on its name, on what the caller says, on comments above the first row
and, where there is a header, on that: never on a row. Where a file can be read in two ways, the
error names the option that decides. Files are read a block of lines at a time: each by the fastest
reader that takes it, so that one odd row costs its block, not the file.

Rows of a text table one by one: what the fast readers decline, and errors that name the line.

A row is a line, and how it is read depends on that line alone: one with quotes is read by the rules
of CSV, one without by its separators. So no row can swallow or change another.

Write edge lists as text, so that reading them gives back the same graph.
"""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, Literal, final

import numpy as np

from graphcuts_dp.arrays import FloatArray, IntVector
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.columns import (
    ColumnPlaces,
    TextOptions,
    check_names,
    check_no_names,
    find_columns,
    has_header,
    number_columns,
)
from graphcuts_dp.graph.file_bytes import (
    NOT_UTF8,
    TextFormat,
    check_delimiter,
    declared_separator,
    header_separator,
    utf8_stream,
)
from graphcuts_dp.graph.gathered import CodedText, Gathered, TextPieces
from graphcuts_dp.graph.raw_edges import RawEdges
from graphcuts_dp.graph.schema import (
    MARK,
    Schema,
    dump_schema,
    load_schema,
    parse_number,
    token_table,
)
from graphcuts_dp.graph.text_scan import scan_block, split_cells
from graphcuts_dp.pairs.vertices import VertexSet

_CHUNK = 1 << 16


def write_edge_list(graph: AnyGraph, handle: BinaryIO, form: TextFormat) -> None:
    """Write one row for each edge.

    A comment `# graphcuts-dp: {...}` above them holds the vertex set, so isolated vertices and the
    types of labels survive. Files with a delimiter begin with a header instead, `source,target` or
    `source,target,weight`, for the programs that take their first line for one.

    Raises:
        FileFormatError: a label cannot be written in this format.
        GraphError: two labels look alike as text.
    """
    left, right = (graph.vertices,) * 2 if isinstance(graph, Graph) else (graph.left, graph.right)
    sources = edge_names(left, form)
    targets = sources if right is left else edge_names(right, form)
    separator = form.delimiter or " "
    if form.delimiter is None:
        handle.write(f"# {MARK} {dump_schema(graph)}\n".encode())
    else:
        names = ["source", "target", "weight"][: 3 if graph.weighted else 2]
        handle.write((separator.join(names) + "\n").encode())
    plain, weighted = (separator.join(["%s"] * count) + "\n" for count in (2, 3))
    write_edges(graph, handle, sources, targets, plain, weighted)


def write_edges(
    graph: AnyGraph,
    handle: BinaryIO,
    sources: list[str],
    targets: list[str],
    plain: str,
    weighted: str,
    number: Callable[[str], str] = str,
    *,
    lower: bool = False,
) -> None:
    """Write each edge by the template for graphs without weights, or for those with.

    An edge of a plain graph has the smaller place first, or second if it is `lower`.
    """
    for first, second, weights in edge_chunks(graph, sources, targets):
        if lower:
            first, second = second, first
        if weights is None:
            lines = [plain % row for row in zip(first, second, strict=True)]
        else:
            numbers = map(number, weights)
            lines = [weighted % row for row in zip(first, second, numbers, strict=True)]
        handle.write("".join(lines).encode())


def edge_chunks(
    graph: AnyGraph, sources: list[str], targets: list[str]
) -> Iterator[tuple[list[str], list[str], list[str] | None]]:
    """Names of both ends of the edges, and their weights as text, in pieces."""
    whole = are_whole(graph.weights)
    for start in range(0, len(graph.rows), _CHUNK):
        piece = slice(start, start + _CHUNK)
        yield (
            [sources[row] for row in graph.rows[piece].tolist()],
            [targets[column] for column in graph.columns[piece].tolist()],
            weight_texts(graph.weights[piece], whole=whole) if graph.weighted else None,
        )


def are_whole(weights: FloatArray) -> bool:
    """Whether all weights are whole numbers that are written without a decimal point."""
    return bool((weights < 1e15).all() and (weights == np.floor(weights)).all())


def weight_texts(weights: FloatArray, *, whole: bool) -> list[str]:
    """Shortest text of each weight that reads back as the same number.

    Args:
        weights: some weights of a graph.
        whole: `are_whole` of all its weights.
    """
    if whole:
        return list(map(str, weights.astype(np.int64).tolist()))
    return list(map(repr, weights.tolist()))


def edge_names(vertices: VertexSet, form: TextFormat) -> list[str]:
    """Each label as it stands in a row, quoted where the format has quotes.

    Raises:
        FileFormatError: a label cannot be written in this format.
        GraphError: two labels look alike as text.
    """
    names = list(token_table(vertices))
    if vertices.is_default:
        return names
    if "" in names:
        raise FileFormatError("a text edge list cannot hold an empty label; write .graphml or .gml")
    if form.delimiter is not None:
        if any("\n" in name or "\r" in name for name in names):
            raise FileFormatError(
                "a label holds a line break, and a row is one line; write .graphml or .gml"
            )
        return [_quoted(name, form.delimiter) for name in names]
    for name in names:
        if name[0] in "#%\ufeff" or "," in name or len(name.split()) != 1 or name != name.strip():
            raise FileFormatError(
                "a label holds blanks, a comma, or starts with # or %; write .csv or .graphml"
            )
    return names


def _quoted(name: str, delimiter: str) -> str:
    plain = (
        name == name.strip()
        and name[0] not in "#%\ufeff"
        and not any(mark in name for mark in (delimiter, '"'))
    )
    return name if plain else '"' + name.replace('"', '""') + '"'


Row = tuple[int, list[str]]
Comments = Literal["skip", "keep", "refuse"]
BYTE_ORDER_MARK = "\ufeff"


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
        delimiter: the one separator, with quoting; " " for blanks (any run), None for a comma where
            a row holds one and blanks where it holds none, all unquoted.
        comments: what lines that start with # or % are: comments, which are skipped; rows, as in
            files where comments stand only above the header; or refused, in .csv and .tsv files
            without a header.
        konect: whether blanks and tabs may be mixed, and comments tell of weights.
    """

    delimiter: str | None
    comments: Comments = "skip"
    konect: bool = False

    def rows(self, block: bytes, line: int) -> Iterator[Row]:
        """Rows of some whole lines, each with its number, of which `line` is the first.

        Raises:
            FileFormatError: a row that is not in the format, told by its line; or no UTF-8.
        """
        split = self._blanks_or_commas if self.delimiter in (None, " ") else self._cells
        for number, content in enumerate(io.StringIO(decoded(block), newline="\n"), line):
            start = content.lstrip()[:1]
            if start == BYTE_ORDER_MARK:
                raise FileFormatError(
                    f"line {number}: a byte-order mark stands within the file; take it out"
                )
            if start in ("#", "%") and self.comments != "keep":
                self._check_comment(content.strip(), number)
                continue
            try:
                fields = split(content)
            except ValueError as problem:
                raise FileFormatError(f"line {number}: {problem}") from None
            if any(fields):  # spreadsheets leave rows of separators
                yield number, fields

    def _check_comment(self, text: str, number: int) -> None:
        """Refuse what would mean something else if it stood above the first row."""
        if self.comments == "refuse":
            raise FileFormatError(
                f"line {number}: begins with # or %; take comments out, and put labels in quotes"
            )
        if declares(text, konect=self.konect):
            raise FileFormatError(
                f"line {number}: this comment tells how to read the file; move it above the rows"
            )

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
        reader = csv.reader([content], delimiter=delimiter, strict=True, skipinitialspace=True)
        try:
            return next(reader)
        except csv.Error:
            raise ValueError("malformed row: check its quotes, which end on their line") from None


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


_BLOCK = 1 << 18  # bytes; a block and its arrays stay in the processor's cache
_NUMBER = set("0123456789+-.eE")
_ODD_MARK = BYTE_ORDER_MARK.encode()


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
    table = _begin(io.BytesIO(data) if isinstance(data, bytes) else data, form, options)
    first = table.first
    if len(first) == 1:
        raise FileFormatError("the first line has fewer than two columns; pass delimiter=")
    announced = options.header is not None or any(each is not None for each in options.named)
    if table.named:
        if not announced:
            check_names(first)
        columns = find_columns(first, options, weighted=weighted, declared=table.declared)
        if not announced:
            check_names(first, columns)
    else:
        if not announced:
            check_no_names(first)
        columns = number_columns(
            options, len(first), table.line, weighted=weighted, declared=table.declared
        )
    gathered = Gathered(weighted=columns.weight is not None)

    def size() -> int:
        # What a search for names costs beside a larger block is little.
        return _BLOCK if gathered.integers else 4 * _BLOCK

    for block, line in table.blocks(size):
        if not _add_fast(gathered, block, line, columns, table.reader.delimiter):
            _add_rows(gathered, table.reader.rows(block, line), columns)
    return replace(_raw(gathered, table.schema), columns=columns)


def _one_separator(block: bytes, delimiter: str | None) -> bytes | None:
    """The one byte that stands between the columns of the first row, for the fast readers."""
    separators = {None: b" \t,", " ": b" \t"}.get(delimiter)
    if separators is None:
        separators = str(delimiter).encode()
        return separators if len(separators) == 1 else None
    first = block[: block.find(b"\n") + 1 or len(block)]
    found = [bytes([mark]) for mark in separators if mark in first]
    return found[0] if len(found) == 1 else None


def _add_fast(
    gathered: Gathered, block: bytes, line: int, columns: ColumnPlaces, delimiter: str | None
) -> bool:
    """Read a block of rows that are all alike; False where each needs a closer look."""
    separator = _one_separator(block, delimiter)
    if separator is None or _ODD_MARK in block:
        return False
    if not block.endswith(b"\n"):
        block += b"\n"
    made: _Found | None = None
    if columns.is_plain and gathered.integers:
        found = scan_block(block, separator[0], columns.width)
        if found is not None:
            made = found.sources, found.targets, None if columns.weight is None else found.weights
    if made is None:
        made = _from_cells(block, separator, columns, delimiter, gathered.integers)
    if made is None:
        return False
    gathered.add(*made, range(line, line + len(made[0])))
    return True


_Found = tuple[IntVector | TextPieces, IntVector | TextPieces, FloatArray | None]


def _from_cells(
    block: bytes, separator: bytes, columns: ColumnPlaces, delimiter: str | None, integers: bool
) -> _Found | None:
    """Ends and weights of rows that are all alike; None where each needs a closer look."""
    quoting = delimiter not in (None, " ")
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


def read_rows(
    data: bytes, form: TextFormat, options: TextOptions
) -> tuple[list[str] | None, list[Row]]:
    """A text table that is no edge list: its header, if it has one, and its rows.

    Args:
        data: the whole file.
        form: what the ending of the file's name tells.
        options: see `read_graph`.

    Raises:
        FileFormatError: as `read_edge_list`.
        ParameterError: likewise.
    """
    table = _begin(io.BytesIO(data), form, options)
    blocks = table.blocks(lambda: _BLOCK)
    found = [row for block, line in blocks for row in table.reader.rows(block, line)]
    return (table.first if table.named else None), found


@dataclass(slots=True)
class _Table:
    """A file whose head has been read.

    Attributes:
        schema: what the comments above the first row declare.
        declared: whether these say that there are weights; None if they say nothing.
        named: whether there is a header.
        first: the names of the columns, or without a header the cells of the first row, of which
            nothing but their number may be used; none if there is no row.
        reader: how the rows are split.
        stream: what follows `block`.
        block: the rows that were read already, whole lines.
        line: the number of its first line.
    """

    schema: Schema
    declared: bool | None
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


def _begin(file: BinaryIO, form: TextFormat, options: TextOptions) -> _Table:
    """Read the head of a file: comments, blank lines, `sep=;`, and the header if there is one."""
    named = has_header(options.header, options.named, form)
    if options.delimiter is not None:
        check_delimiter(options.delimiter)
    stream = utf8_stream(file, options.encoding)
    comments: Comments = "skip" if not form.has_header else "keep" if named else "refuse"
    schema, declared, delimiter = Schema(), None, options.delimiter
    line = 1
    while row := stream.readline():
        text = decoded(row)
        separator = None if line > 1 or form.konect else declared_separator(text)
        text = text.strip()
        if separator is not None and options.delimiter != "=":  # which such a line would hold
            delimiter = delimiter or separator
        elif text.startswith(("#", "%")) and comments != "refuse":
            words = text[1:].strip()
            if words.startswith(MARK):
                schema = load_schema(words[len(MARK) :])
                declared = schema.weighted
            elif form.konect and (found := konect_weighted(words.split())) is not None:
                declared = found
                schema = Schema(directed=False) if words.split()[0] == "sym" else schema
        elif text:
            split = delimiter or (header_separator(text, form) if named else form.delimiter)
            reader = RowReader(split, comments, form.konect)
            for _, first in reader.rows(row, line):
                place = (b"", line + 1) if named else (row, line)
                return _Table(schema, declared, named, first, reader, stream, *place)
        line += 1
    if named:
        raise FileFormatError("the file is empty: its first line would name the columns")
    return _Table(schema, declared, named, [], RowReader(delimiter), stream, b"", line)


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
