"""Edge lists as text: blank, comma, tab or another separator; SNAP and KONECT comments; headers.

Files are read a block of lines at a time, so that one odd row costs its block, not the file. Where
all rows of a block are alike, `split_cells` finds all cells at once, and plain digits and names
become arrays without a Python object for each. It declines anything else (quotes, blanks at line
ends, comments between rows), and the careful reader of `schema.text_rows` takes over, row by row;
neither ever makes a guess.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from graphcuts_dp.arrays import FloatArray, IntegerVector, IntVector
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.io.assemble import (
    Options,
    RawEdges,
    Schema,
    dump_schema,
    load_schema,
    token_table,
)
from graphcuts_dp.io.edge_store import EdgeStore, write_edges
from graphcuts_dp.io.gathered import (
    ENDS,
    LONGEST,
    WORD,
    Gathered,
    GatheredEnds,
    TextPieces,
    Words,
    words_before,
)
from graphcuts_dp.pairs.vertices import VertexSet, vertex_sets
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import (
    ColumnPlaces,
    check_names,
    check_no_names,
    find_columns,
    number_columns,
    parse_number,
)
from graphcuts_dp.schema.file_bytes import TextFormat
from graphcuts_dp.schema.text_rows import BLOCK, BYTE_ORDER_MARK, MARK, Row, begin, konect_weighted

_NUMBER = b"0123456789+-.eE"
_ODD_MARK = BYTE_ORDER_MARK.encode()
_NEWLINE = 10
_LONGEST_BODY = 2**31 - 1  # its places are 32-bit integers
_MOST_DIGITS = 18  # fits in 64 bits
# The smallest number of so many digits, but for the 0: smaller ones have leading zeros.
_LEAST = np.array([0, 0, *(10**digits for digits in range(1, _MOST_DIGITS))], dtype=np.int64)
_NO_END = "an end is missing, as in exports of databases that hold vertices among the edges"
_NO_NUMBER = {
    ".": "the weight is not a number; pass decimal=',' for decimal commas, or weighted=False for a "
    "graph without weights",
    ",": "the weight is not a number with a decimal comma, and without dots between thousands; "
    "pass decimal='.' for decimal points",
}
_EMPTY = {
    "source": _NO_END,
    "target": _NO_END,
    "owner": "the owner is missing",
    "period": "the period is missing",
}
_BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != "\n"]
_BLANK_BITS = np.arange(8 * WORD, -1, -8, dtype=np.uint64)  # of a word with 0..8 digits
_ASCII_BLANKS = [blank for blank in _BLANKS if blank.isascii()]


def write_edge_list(graph: EdgeStore, handle: BinaryIO, *, form: TextFormat) -> None:
    """Write one row for each edge.

    A comment `# graphcuts-dp: {...}` above them holds the vertex set, so isolated vertices and the
    types of labels survive. Files with a delimiter begin with a header instead, `source,target` or
    `source,target,weight`, for the programs that take their first line for one.

    Raises:
        FileFormatError: a label cannot be written in this format.
        GraphError: two labels look alike as text.
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
    plain, weighted = (separator.join(["%s"] * count) + "\n" for count in (2, 3))
    write_edges(graph, handle, sources, targets, plain, weighted)


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


def read_edge_list(file: BinaryIO, options: Options, *, form: TextFormat) -> RawEdges:
    """Edges of a text edge list, which is read a piece at a time.

    Args:
        file: open at its start.
        options: its columns, and whether weights are read.
        form: separators, as the ending of the file's name tells.

    Raises:
        FileFormatError: not text in its encoding, a malformed row (told by line number), or a file
            that can be read in two ways.
        ParameterError: no such encoding or delimiter.
    """
    given, weighted = options.columns, options.weighted
    bad = BadRows(skip=given.skip)
    table = begin(file, form, given, bad)
    first = table.first
    if len(first) == 1:
        raise FileFormatError("the first line has fewer than two columns; pass delimiter=")
    schema = Schema() if table.facts is None else load_schema(table.facts)
    declared = schema.weighted
    if table.konect:
        declared = konect_weighted(table.konect)
        schema = Schema(directed=False) if table.konect[0] == "sym" else schema
    announced = given.header is not None or any(each is not None for each in given.named)
    if table.named:
        if not announced:
            check_names(first)
        columns = find_columns(first, given, weighted=weighted, declared=declared)
        if not announced:
            check_names(first, columns)
    else:
        if not announced and not given.skip:
            check_no_names(first)
        columns = number_columns(
            given, len(first), table.line, weighted=weighted, declared=declared
        )
    gathered = Gathered(columns.used)
    exact = table.named or not given.skip

    def size() -> int:
        # What a search for names costs beside a larger block is little.
        return BLOCK if gathered.are_integers(ENDS) else 4 * BLOCK

    for block, line in table.blocks(size):
        if not _add_fast(gathered, block, line, columns, table.reader.delimiter, given.decimal):
            rows = table.reader.rows(block, line, bad)
            _add_rows(gathered, rows, columns, options, bad, exact=exact)
    found = gathered.take()
    found["users"] = found.pop("owners", None)
    if found.get("periods") is not None and options.periods is not None:
        import pyarrow as pa
        from graphcuts_dp.io.assemble import codes_and_names, some_of
        from graphcuts_dp.io.convert import period_fault
        from graphcuts_dp.io.periods import period_numbers_of_text
        codes, names = codes_and_names(found["periods"])
        per, ok = period_numbers_of_text(pa.array([*map(str, names)], pa.large_string()), options)
        found["periods"], sound = per[codes], ok[codes]
        if not sound.all():
            bad.add(period_fault(options), f"line {gathered.place(int(np.argmin(sound)))}")
            if bad.skip:
                found = {k: None if v is None else some_of(v, sound) for k, v in found.items()}
    return RawEdges(
        **found,
        schema=schema,
        owned=True,
        columns=columns,
        reading=columns.reading(skip=given.skip, text=True),
        bad=bad,
        where=lambda position: f"line {gathered.place(position)}",
        error=FileFormatError,
    )


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
    gathered: Gathered,
    block: bytes,
    line: int,
    columns: ColumnPlaces,
    delimiter: str | None,
    decimal: str,
) -> bool:
    """Read a block of rows that are all alike; False where each needs a closer look."""
    separator = _one_separator(block, delimiter)
    if separator is None or _ODD_MARK in block:
        return False
    named = {name: place for name, place in columns.used.items() if name != "weight"}
    quoting = delimiter not in (None, " ")
    cells = split_cells(block, separator, columns.width, [*named.values()], inner_blanks=quoting)
    if cells is None:
        return False
    weights = None
    if columns.weight is not None:
        weights = cells.numbers(columns.weight, decimal)
        if weights is None:
            return False
    found: dict[str, GatheredEnds] = {}
    for group in gathered.groups:
        places = [named[name] for name in group]
        some = [cells.integers(place) for place in places] if gathered.are_integers(group) else []
        texts = [] if some and all(each is not None for each in some) else map(cells.texts, places)
        for name, column in zip(group, list(texts) or some, strict=True):
            if column is None:
                return False
            found[name] = column
    gathered.add(found, weights, range(line, line + len(cells.ends) // columns.width))
    return True


def _add_rows(
    gathered: Gathered,
    rows: Iterator[Row],
    columns: ColumnPlaces,
    options: Options,
    bad: BadRows,
    *,
    exact: bool,
) -> None:
    """Row by row. Of bad rows that are to be refused, the cells that are there are looked at.

    Args:
        gathered: takes the rows.
        rows: with their lines.
        columns: which cells are read.
        options: how weights are written, and which periods there are.
        bad: takes the bad rows.
        exact: whether a row may have no cells beyond those of the columns.
    """
    named = {name: place for name, place in columns.used.items() if name != "weight"}
    found: dict[str, list[str]] = {name: [] for name in named}
    weights: list[float] = []
    lines: list[int] = []
    decimal = options.columns.decimal
    period = "" if options.periods is None else options.periods.labels[0]
    for line, fields in rows:
        if len(fields) != columns.width and (exact or len(fields) < columns.width):
            bad.add(f"expected {columns.width} columns, as in the first row", f"line {line}")
            continue
        missing = [name for name, place in named.items() if not fields[place]]
        weight = 0.0 if columns.weight is None else parse_number(fields[columns.weight], decimal)
        if missing or weight is None:
            for name in missing:
                bad.add(_EMPTY[name], f"line {line}")
            if weight is None:
                bad.add(_NO_NUMBER[decimal], f"line {line}")
            if bad.skip:
                continue
        some_end = fields[columns.source] or fields[columns.target]
        if not some_end:
            continue
        for name, place in named.items():
            found[name].append(fields[place] or (some_end if name in ENDS else period))
        weights.append(weight or 0.0)
        lines.append(line)
    numbers = None if columns.weight is None else np.array(weights, dtype=np.float64)
    gathered.add(found, numbers, lines)


@dataclass(frozen=True, slots=True)
class TextCells:
    """A text whose rows all have `width` cells; ends and lengths go row by row."""

    body: bytes
    words: Words
    width: int
    ends: IntegerVector
    lengths: IntegerVector

    def integers(self, place: int) -> IntVector | None:
        """The column at this place as integers; None if a cell is not plain digits."""
        column = slice(place, None, self.width)
        return integers_of(self.words, self.ends[column], self.lengths[column])

    def texts(self, place: int) -> TextPieces | None:
        """The column at this place as it stands; None if a cell is very long."""
        column = slice(place, None, self.width)
        lengths = self.lengths[column].astype(np.int64)
        if lengths.max(initial=0) > LONGEST:
            return None
        return TextPieces(self.words, self.ends[column] - lengths, lengths)

    def numbers(self, place: int, decimal: str = ".") -> FloatArray | None:
        """The column at this place as numbers; None if a cell is no plain decimal number."""
        whole = self.integers(place)
        if whole is not None:
            return whole.astype(np.float64)
        separator = self.body[self.lengths[0] : self.lengths[0] + 1]  # what ends the first cell
        cells = self.body.replace(b"\n", separator).split(separator)[place : -1 : self.width]
        if decimal == ",":
            if any(b"." in cell for cell in cells):
                return None
            cells = [cell.replace(b",", b".") for cell in cells]
        if b"".join(cells).translate(None, _NUMBER):
            return None
        try:
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            return None


def split_cells(
    body: bytes, separator: bytes, width: int, filled: Sequence[int], *, inner_blanks: bool
) -> TextCells | None:
    """Find the cells of rows that all have `width` of them, or decline.

    Args:
        body: the rows, without comments and header. The last newline may be missing.
        separator: the byte that stands between the columns.
        width: number of columns.
        filled: columns in which no cell may be empty.
        inner_blanks: whether cells may hold blanks, though not at their ends.

    Returns:
        The cells, or None: text that is not UTF-8, quotes, comments, blanks, or a row of another
        length.
    """
    if not body.endswith(b"\n"):
        body += b"\n"
    if any(mark in body for mark in (b'"', b"#", b"%")) or len(body) > _LONGEST_BODY:
        return None
    bytes_ = np.frombuffer(body, dtype=np.uint8)
    ends = np.flatnonzero((bytes_ == _NEWLINE) | (bytes_ == ord(separator))).astype(np.int32)
    if len(ends) % width:
        return None
    last_of_row = bytes_[ends].reshape(-1, width) == _NEWLINE
    if last_of_row[:, :-1].any() or not last_of_row[:, -1].all():
        return None
    lengths = np.diff(ends, prepend=np.int32(-1)) - np.int32(1)
    if any((lengths[column::width] < 1).any() for column in filled):
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    mark = separator.decode()
    if not inner_blanks and mark != "," and "," in text:
        return None
    blanks = _ASCII_BLANKS if body.isascii() else _BLANKS
    if any(blank in text for blank in blanks if blank != mark):
        mark = re.escape(mark)
        at_an_end = rf"(?:^|[\n{mark}])[^\S\n{mark}]|[^\S\n{mark}][\n{mark}]"
        if not inner_blanks or re.search(at_an_end, text):
            return None
    return TextCells(body, words_before(body), width, ends, lengths)


def integers_of(words: Words, ends: IntegerVector, lengths: IntegerVector) -> IntVector | None:
    """Numbers of pieces of a text; None if one is not plain digits without a leading zero.

    Args:
        words: `words_before` of the text.
        ends: position behind the last byte of each piece.
        lengths: bytes of each piece.
    """
    return None if lengths.min(initial=1) < 1 else _integers(words, ends, lengths)


def _integers(words: Words, ends: IntegerVector, lengths: IntegerVector) -> IntVector | None:
    """Numbers whose digits end before `ends`; None if one is long or not plain digits."""
    longest = int(lengths.max(initial=0))
    if longest > _MOST_DIGITS:
        return None
    values = _eight_digits(words[ends], lengths)
    if values is None:
        return None
    for skip in range(WORD, longest, WORD):
        longer = np.flatnonzero(lengths > skip)
        higher = _eight_digits(words[ends[longer] - skip], lengths[longer] - skip)
        if higher is None:
            return None
        values[longer] += higher * np.int64(10**skip)
    return None if (values < _LEAST[lengths]).any() else values


def _eight_digits(words: Words, lengths: IntegerVector) -> IntVector | None:
    """Numbers of the last digits, up to eight, in words of eight characters; None if not digits.

    All eight digits of a word are turned at once: pairs into numbers below 100, pairs of these
    into numbers below 10^4, and both of these into one.
    """
    blank = _BLANK_BITS[np.minimum(lengths, WORD)]
    words = words ^ np.uint64(0x3030303030303030)
    words >>= blank
    words <<= blank
    wrong = words + np.uint64(0x7676767676767676)
    wrong |= words
    if int(np.bitwise_or.reduce(wrong)) & 0x8080808080808080:
        return None
    pairs = words * np.uint64(10)
    words >>= np.uint64(8)
    pairs += words
    every = np.uint64(0x000000FF000000FF)
    fours = pairs & every
    fours *= np.uint64(100 + (10**6 << 32))
    pairs >>= np.uint64(16)
    pairs &= every
    pairs *= np.uint64(1 + (10**4 << 32))
    fours += pairs
    fours >>= np.uint64(32)
    return fours.view(np.int64)
