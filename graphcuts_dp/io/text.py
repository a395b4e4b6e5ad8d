"""Read and write edge lists as text: any separator, SNAP and KONECT comments, headers.

`RowReader.fields` of one line (`schema.text_rows`) defines how a line is read. Arrow reads the
plain lines, many at a time, with the same result: UTF-8 without quotes, comments, unusual blanks
and signs of another separator, with as many cells as there are columns, none of the used ones
empty. Every other line is read by `fields`, one at a time. No line influences how another is read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatArray, IntVector
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.io.batches import TableBatch, integer_view
from graphcuts_dp.io.codes import ENDPOINT_ROLES, BatchCollector, integers_of
from graphcuts_dp.io.convert import MISSING, join_batches, period_fault
from graphcuts_dp.io.edge_store import EdgeStore, write_edges
from graphcuts_dp.io.periods import period_numbers_of_text
from graphcuts_dp.io.raw_edges import (
    Options,
    RawEdges,
    Schema,
    dump_schema,
    load_schema,
)
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.column_search import (
    ColumnPositions,
    check_names,
    check_no_names,
    find_columns,
    number_columns,
)
from graphcuts_dp.schema.columns import parse_number
from graphcuts_dp.schema.text_format import TextFormat
from graphcuts_dp.schema.text_rows import (
    MARK,
    Row,
    TextTable,
    declares_undirected,
    konect_weighted,
    open_text,
)
from graphcuts_dp.schema.vertices import VertexSet, vertex_sets

if TYPE_CHECKING:
    import pyarrow as pa

# Bytes of lines that are read at a time; smaller blocks cost more calls than they save memory.
BLOCK = 1 << 20
# Columns of lines that Arrow splits. It splits all columns, also those that are not read, so wider
# lines are left to `fields`.
_MOST_COLUMNS = 1_000
# Bytes of a block that Arrow splits, whose offsets are 32-bit integers. A block is larger than
# `BLOCK` if it has a long line.
_MOST_BYTES = 1 << 30
# Blanks for Python but not for Arrow, and the end of a C string.
_CONTROLS = b"\0\v\f\x1c\x1d\x1e\x1f"
# Blanks beyond ASCII, which Python strips, and byte-order marks, which Arrow drops at the start.
_UNUSUAL = re.compile(
    rb"\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80|\xef\xbb\xbf"
)
_PLAIN_NUMBER = {".": r"^[0-9]+(?:\.[0-9]+)?$", ",": "^[0-9]+(?:,[0-9]+)?$"}
_NO_NUMBER = {
    ".": "the weight is not a number; pass decimal=',' for decimal commas, or weighted=False for a "
    "graph without weights",
    ",": "the weight is not a number with a decimal comma, and without dots between thousands; "
    "pass decimal='.' for decimal points",
}


def read_edge_list(file: BinaryIO, options: Options, *, form: TextFormat) -> RawEdges:
    """Read the edges of a text edge list, a block of lines at a time.

    Args:
        file: open at its start.
        options: its columns, and whether weights are read.
        form: separators, by the ending of the file's name.

    Raises:
        FileFormatError: not text in its encoding, a malformed row (with its line number), or a file
            that can be read in two ways.
        ParameterError: no such encoding or delimiter.
    """
    bad = BadRows(skip=options.columns.skip)
    return edges_of_text(text_batches(file, options, form=form, bad=bad), options, bad)


def edges_of_text(table: "TextBatches", options: Options, bad: BadRows) -> RawEdges:
    """Read all rows of a text table into memory, as edges.

    Raises:
        FileFormatError: as `read_edge_list`.
    """
    collector = BatchCollector(table.roles)
    for batch in table.batches:
        collector.add(batch)
    fields = collector.take()
    return RawEdges(
        **fields,
        schema=table.schema,
        owned=True,
        time_zone=options.columns.time_zone,
        columns=table.columns,
        reading=table.reading,
        bad=bad,
        where=lambda position: f"line {collector.row_number(position)}",
        error=FileFormatError,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBatches:
    """A text table whose head has been read.

    Attributes:
        schema: public facts that comments above the rows declare.
        columns: positions of the columns.
        roles: of the columns that batches have, such as "source", "user" and "weight".
        reading: sentences that name the columns that are read and ignored; they depend on no row.
        batches: the rows, which are read as they are taken.
    """

    schema: Schema
    columns: ColumnPositions
    roles: list[str]
    reading: str
    batches: Iterator[TableBatch]


def text_batches(
    file: BinaryIO, options: Options, *, form: TextFormat, bad: BadRows
) -> TextBatches:
    """Open a text table: read its head, and its rows as its batches are taken.

    Args:
        file: open at its start.
        options: its columns, whether weights are read, and its periods.
        form: separators, by the ending of the file's name.
        bad: takes bad rows; leaves them out if `options` say so.

    Raises:
        FileFormatError: as `read_edge_list`, here or while batches are taken.
        ParameterError: no such encoding or delimiter.
    """
    return batches_of(open_text(file, form, options.columns, bad), options, bad)


def batches_of(table: TextTable, options: Options, bad: BadRows) -> TextBatches:
    """Find the columns of a text table whose head has been read; see `text_batches`.

    Raises:
        FileFormatError: the caller must say which columns are meant.
    """
    if len(table.first_cells) == 1:
        raise FileFormatError("the first line has fewer than two columns; pass delimiter=")
    schema = Schema() if table.facts is None else load_schema(table.facts)
    declared = schema.weighted
    if table.konect_words:
        declared = konect_weighted(table.konect_words)
        schema = Schema(directed=False) if declares_undirected(table.konect_words) else schema
    columns = _columns(table, options, declared)
    reader = _BlockReader(table, columns, options, bad)
    return TextBatches(
        schema=schema,
        columns=columns,
        roles=[
            role for role in reader.positions if role != "period" or options.periods is not None
        ],
        reading=columns.reading(skip=options.columns.skip, text=True),
        batches=(reader.batch(block, line) for block, line in table.blocks(BLOCK)),
    )


def numbers_of(texts: "pa.Array", decimal: str) -> tuple[FloatArray, BoolVector]:
    """Return weights, and which cells are numbers, by the rules of `parse_number`.

    Args:
        texts: trimmed cells, of large_string.
        decimal: the character before decimals.
    """
    import pyarrow as pa
    from pyarrow import compute

    plain = compute.match_substring_regex(texts, _PLAIN_NUMBER[decimal])
    weights, good = np.zeros(len(texts)), np.ones(len(texts), dtype=np.bool_)
    is_plain = plain.to_numpy(zero_copy_only=False).copy()
    try:
        plain_texts = texts if is_plain.all() else texts.filter(plain)
        plain_texts = (
            plain_texts if decimal == "." else compute.replace_substring(plain_texts, ",", ".")
        )
        weights[is_plain] = plain_texts.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # digits beyond the range of floats
        is_plain[:] = False
    other_texts = texts.filter(pa.array(~is_plain)).to_pylist()
    for position, text in zip(np.flatnonzero(~is_plain).tolist(), other_texts, strict=True):
        number = parse_number(text, decimal)
        weights[position], good[position] = 0.0 if number is None else number, number is not None
    return weights, good


def write_edge_list(graph: EdgeStore, handle: BinaryIO, *, form: TextFormat) -> None:
    """Write one row for each edge.

    A comment `# graphcuts-dp: {...}` above them holds the vertex set, so isolated vertices and the
    types of labels survive. Files with a delimiter begin with a header instead, `source,target` or
    `source,target,weight`, since many programs take the first line of such a file for the header.

    Raises:
        FileFormatError: a label cannot be written in this format.
    """
    left, right = vertex_sets(graph.space)
    sources = edge_names(left, form)
    targets = sources if right is left else edge_names(right, form)
    separator = form.delimiter or " "
    if form.delimiter is None:
        handle.write(f"# {MARK} {dump_schema(graph)}\n".encode())
    else:
        names = ["source", "target", "weight"][: 3 if graph.weighted else 2]
        handle.write((separator.join(names) + "\n").encode())
    pair_line, triple_line = (separator.join(["%s"] * count) + "\n" for count in (2, 3))
    write_edges(graph, handle, sources, targets, pair_line, triple_line)


def edge_names(vertices: VertexSet, form: TextFormat) -> list[str]:
    """Return each label as it stands in a row, quoted if the format has quotes.

    Raises:
        FileFormatError: a label cannot be written in this format.
    """
    names = list(vertices.text_index)
    if vertices.is_default:
        return names
    if "" in names:
        raise FileFormatError("a text edge list cannot hold an empty label; write .graphml or .gml")
    if form.delimiter is not None:
        if any("\n" in name or "\r" in name for name in names):
            raise FileFormatError(
                "a label holds a line break, and a row is one line; write .graphml"
            )
        return [_quoted(name, form.delimiter) for name in names]
    for name in names:
        if name[0] in "#%\ufeff" or "," in name or len(name.split()) != 1 or name != name.strip():
            raise FileFormatError(
                "a label holds blanks, a comma, or starts with # or %; write .csv or .graphml"
            )
    return names


def _columns(table: TextTable, options: Options, declared: bool | None) -> ColumnPositions:
    """Find the columns by the names in the header, or by their numbers.

    If the caller announces neither a header nor columns, the ending of the file's name decides
    whether there is a header, and a first line that looks otherwise is refused. A file with a
    comment of this package has no header, even if its first row joins vertices named "source" and
    "target".
    """
    columns_option, weighted = options.columns, options.weighted
    first_cells = table.first_cells
    is_announced = columns_option.header is not None or any(
        column is not None for column in columns_option.named
    )
    if not table.has_header:
        if not is_announced and not columns_option.skip and table.facts is None:
            check_no_names(first_cells)
        return number_columns(
            columns_option, len(first_cells), table.line, weighted=weighted, declared=declared
        )
    if not is_announced:
        check_names(first_cells)
    columns = find_columns(first_cells, columns_option, weighted=weighted, declared=declared)
    if not is_announced:
        check_names(first_cells, columns)
    return columns


@final
class _BlockReader:
    """Turns blocks of whole lines into batches.

    Args:
        table: how its lines are split.
        columns: the cells that are read.
        options: how weights are written, and which periods there are.
        bad: takes bad rows.
    """

    def __init__(
        self, table: TextTable, columns: ColumnPositions, options: Options, bad: BadRows
    ) -> None:
        self.positions = dict(columns.used)  # of the columns that are read, by role
        self._reader, self._columns, self._bad = table.reader, columns, bad
        self._options, self._decimal = options, options.columns.decimal
        # Whether each row must have as many cells as there are columns, and no more.
        self._exact = table.has_header or not options.columns.skip
        self._text: set[str] = set()  # roles whose column has an identifier that is no integer

    def batch(self, block: bytes, line: int) -> TableBatch:
        """Return the rows of a block of whole lines; `line` is the number of its first line."""
        if not block.endswith(b"\n"):
            block += b"\n"
        line_ends = 1 + np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        separator = self._separator(block[: line_ends[0]])
        plain = np.zeros(len(line_ends), dtype=np.bool_)
        rows = None
        if separator and len(block) < _MOST_BYTES:
            plain = self._plain_lines(block, line_ends, separator)
            rows = self._rows_by_arrow(block, line_ends, plain, line, separator)
        if rows is None or not plain.all():
            rows_by_fields = self._rows_by_fields(block, line_ends, ~plain, line)
            rows = rows_by_fields if rows is None else _joined_in_order(rows, rows_by_fields)
        return self._converted(rows)

    def _separator(self, first_line: bytes) -> bytes:
        """Return the byte at which Arrow splits lines; empty if `fields` must split all of them.

        Lines may differ in their separator. Then it is that of the first line, and lines with
        another one are split by `fields`, with the same result in more time.
        """
        delimiter = self._reader.delimiter
        if delimiter is None and b"," in first_line:
            return b","
        if delimiter in (None, " "):
            is_tabbed = delimiter is None and not self._reader.konect and b"\t" in first_line
            return b"\t" if is_tabbed else b" "
        usual = delimiter.isascii() and (delimiter.isprintable() or delimiter == "\t")
        return delimiter.encode() if usual else b""

    def _plain_lines(self, block: bytes, line_ends: IntVector, separator: bytes) -> BoolVector:
        """Return which lines Arrow splits as `fields` does.

        These are the lines of UTF-8 without any byte that only `fields` handles. Their number of
        cells is not checked here.
        """
        delimiter = self._reader.delimiter
        marks = _CONTROLS  # bytes that only `fields` handles
        if self._reader.comments != "keep":
            marks += b"#%"
        if delimiter not in (None, " "):
            marks += b'"'
        elif delimiter is None:
            # Each line may have a separator of its own. In KONECT files tabs are blanks, which
            # `_single_blanks` replaces.
            is_blank_konect = separator == b" " and self._reader.konect
            separators = b"," if is_blank_konect else b",\t "
            marks += separators.replace(separator, b"")
        present = [mark for mark in marks if mark in block]
        plain = np.ones(len(line_ends), dtype=np.bool_)
        if present:
            is_mark = np.zeros(256, dtype=np.bool_)
            is_mark[present] = True
            _clear(plain, line_ends, np.flatnonzero(is_mark[np.frombuffer(block, np.uint8)]))
        if not block.isascii():
            _clear(plain, line_ends, [match.start() for match in _UNUSUAL.finditer(block)])
            if not _is_utf8(block):
                plain &= np.array([*map(_is_utf8, block.split(b"\n")[:-1])])
        return plain

    def _rows_by_arrow(
        self, block: bytes, line_ends: IntVector, plain: BoolVector, line: int, separator: bytes
    ) -> TableBatch | None:
        """Return the rows of plain lines; None if Arrow refuses them all.

        Lines with another number of cells, an empty cell or a weight that is no number are taken
        out of `plain`: they are read by fields.
        """
        from pyarrow import compute

        content = block
        if not plain.all():
            sizes = np.diff(line_ends, prepend=0)
            content = np.frombuffer(block, np.uint8)[np.repeat(plain, sizes)].tobytes()
        if self._reader.delimiter in (None, " ") and separator != b",":
            content = _single_blanks(content, separator)
        cells, miscounted = self._cells(content, separator)
        lines = np.flatnonzero(plain)
        plain[lines[miscounted]] = False
        if cells is None:
            plain[:] = False
            return None
        lines = np.delete(lines, miscounted)
        weights, good = None, np.ones(len(lines), dtype=np.bool_)
        if "weight" in cells:
            weights, good = numbers_of(cells.pop("weight"), self._decimal)
        for text in cells.values():
            good &= integer_view(compute.binary_length(text)) > 0
        plain[lines[~good]] = False
        row_numbers: range | IntVector = line + lines
        if len(lines) == len(line_ends):  # as in nearly all blocks: a range takes no memory
            row_numbers = range(line, line + len(line_ends))
        rows = TableBatch(cells, weights, None, row_numbers)
        return rows if good.all() else rows.take(np.flatnonzero(good))

    def _cells(
        self, content: bytes, separator: bytes
    ) -> tuple["dict[str, pa.Array] | None", list[int]]:
        """Split lines into cells.

        Returns:
            Cells by the roles of their columns, None if Arrow refuses; and the indices of the lines
            that are left out since they have another number of cells.
        """
        import pyarrow as pa
        from pyarrow import compute, csv

        width = self._columns.width
        if not self._exact:  # rows may have more cells; most have as many as the first
            width = max(width, 1 + content[: content.find(b"\n")].count(separator))
        if width > _MOST_COLUMNS or not content:
            return None, []
        names = [str(position) for position in range(width)]
        used = [names[position] for position in self.positions.values()]
        miscounted: list[int] = []

        def leave_out(row: "csv.InvalidRow") -> str:
            miscounted.append(row.number - 1)
            return "skip"

        try:
            table = csv.read_csv(
                pa.py_buffer(content),
                csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names),
                csv.ParseOptions(
                    delimiter=separator.decode(),
                    quote_char=False,
                    escape_char=False,
                    newlines_in_values=False,
                    ignore_empty_lines=False,
                    invalid_row_handler=leave_out,
                ),
                csv.ConvertOptions(
                    check_utf8=False,  # it is
                    column_types=dict.fromkeys(used, pa.large_string()),
                    include_columns=used,
                    null_values=[],
                ),
            )
        except pa.ArrowException:
            return None, []
        columns = [column.combine_chunks() for column in table.columns]
        if self._reader.delimiter is not None and (b" " in content or b"\t" in content):
            columns = [compute.ascii_trim(column, characters=" \t") for column in columns]
        return dict(zip(self.positions, columns, strict=True)), miscounted

    def _rows_by_fields(
        self, block: bytes, line_ends: IntVector, chosen: BoolVector, line: int
    ) -> TableBatch:
        """Read the chosen lines, each by itself, and note bad rows.

        If bad rows are refused, the error names all kinds of faults. So a row that lacks one
        endpoint or a sound weight stays, with its other endpoint or the weight 0 instead: what
        else it holds is then checked, too.
        """
        import pyarrow as pa

        width, bad = self._columns.width, self._bad
        text_positions = dict(self.positions)
        weight_position = text_positions.pop("weight", None)
        columns: list[list[str]] = [[] for _ in text_positions]
        weights: list[float] = []
        lines: list[int] = []
        for number, fields in self._split(block, line_ends, chosen, line):
            if len(fields) < width or (self._exact and len(fields) > width):
                bad.add(f"expected {width} columns, as in the first row", f"line {number}")
                continue
            cells = [fields[position] for position in text_positions.values()]
            weight: float | None = 0.0
            if weight_position is not None:
                weight = parse_number(fields[weight_position], self._decimal)
            if weight is None or not all(cells):
                for role, position in text_positions.items():
                    if not fields[position]:
                        bad.add(MISSING[role], f"line {number}")
                if weight is None and weight_position is not None:
                    is_empty = not fields[weight_position]
                    fault = MISSING["weight"] if is_empty else _NO_NUMBER[self._decimal]
                    bad.add(fault, f"line {number}")
                endpoint = fields[text_positions["source"]] or fields[text_positions["target"]]
                if bad.skip or not endpoint:
                    continue
                cells = [
                    fields[position] or (endpoint if role in ENDPOINT_ROLES else "")
                    for role, position in text_positions.items()
                ]
            for column, cell in zip(columns, cells, strict=True):
                column.append(cell)
            weights.append(0.0 if weight is None else weight)
            lines.append(number)
        return TableBatch(
            {
                role: pa.array(column, pa.large_string())
                for role, column in zip(text_positions, columns, strict=True)
            },
            None if weight_position is None else np.array(weights, dtype=np.float64),
            None,
            np.array(lines, dtype=np.int64),
        )

    def _split(
        self, block: bytes, line_ends: IntVector, chosen: BoolVector, line: int
    ) -> Iterator[Row]:
        """Yield the rows of the chosen lines; adjacent ones are handed over together."""
        starts = np.concatenate([[0], line_ends])
        run_bounds = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
        for first, stop in run_bounds.reshape(-1, 2).tolist():
            yield from self._reader.rows(
                block[starts[first] : starts[stop]], line + first, self._bad
            )

    def _converted(self, rows: TableBatch) -> TableBatch:
        """Return rows whose periods are numbers, and whose columns of integers are integers."""
        from pyarrow import compute

        texts, periods = rows.columns.pop("period", None), self._options.periods
        if texts is not None and periods is not None:
            rows.periods, sound = period_numbers_of_text(texts, self._options)
            if not sound.all():  # an empty period was noted as missing already
                sound |= compute.equal(texts, "").to_numpy(zero_copy_only=False)
            if not sound.all():
                first_line = rows.row_numbers[int(np.argmin(sound))]
                unsound_count = int(np.count_nonzero(~sound))
                fault = period_fault(self._options)
                self._bad.add(fault, f"line {first_line}", unsound_count)
                rows = rows.take(np.flatnonzero(sound)) if self._bad.skip else rows
        for role in rows.columns.keys() - self._text:
            integers = integers_of(rows.columns[role])
            if integers is None:
                # One text makes all of the column text, so later batches are not converted.
                self._text.add(role)
            else:
                rows.columns[role] = integers
        return rows


def _joined_in_order(first: TableBatch, second: TableBatch) -> TableBatch:
    """Join two batches in the order of their row numbers."""
    rows = join_batches([first, second])
    return rows.take(np.argsort(rows.row_numbers))


def _clear(plain: BoolVector, line_ends: IntVector, positions: IntVector | list[int]) -> None:
    """Take lines out of `plain` by positions of bytes in them."""
    plain[np.searchsorted(line_ends, positions, side="right")] = False


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _single_blanks(content: bytes, blank: bytes) -> bytes:
    """Return lines with one blank where there are several, and with none at their ends."""
    if blank == b" " and b"\t" in content:
        content = content.replace(b"\t", b" ")
    while blank * 2 in content:
        content = content.replace(blank * 2, blank)
    if b"\n" + blank in content or blank + b"\n" in content:
        content = content.replace(b"\n" + blank, b"\n").replace(blank + b"\n", b"\n")
    return content.removeprefix(blank)


def _quoted(name: str, delimiter: str) -> str:
    """Return a label in quotes, unless it reads the same without them."""
    plain = (
        name == name.strip()
        and name[0] not in "#%\ufeff"
        and not any(mark in name for mark in (delimiter, '"'))
    )
    return name if plain else '"' + name.replace('"', '""') + '"'
