"""Read plain edge lists at memory speed, or decline.

The body of most edge lists is `id separator id [separator weight] newline` with ids that are plain
digits. Such bytes become arrays without a Python object for each token. Anything else (quotes,
names, blanks at line ends, leading zeros, comments between rows) makes `scan` return None, and the
careful line-by-line reader takes over; it never makes a guess. Names take `cells`, which splits the
whole text at once where all rows are alike.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray

_NEWLINE, _ZERO = 10, 48
_SEPARATORS = b" \t,"
_BLOCK = 1 << 18  # bytes; a block and its arrays stay in the processor's cache
_MOST_DIGITS = 18  # fits in 64 bits
_BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != "\n"]
_NUMBER_BYTES = b"0123456789+-.eE"


@dataclass(frozen=True, slots=True)
class Columns:
    """Two columns of ids and perhaps one of weights, all of the same length."""

    sources: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    weights: FloatArray | None


def scan(body: bytes, separators: bytes = _SEPARATORS) -> Columns | None:
    """Parse rows of two ids and perhaps a weight, or decline.

    Args:
        body: the rows, without comments and header. The last newline may be missing.
        separators: bytes that may stand between the columns; the first row tells which one does.

    Returns:
        The columns in file order, or None if a row is not exactly of the plain form, or if there
        is no row.
    """
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n")
    end = body.find(b"\n")
    first = body if end < 0 else body[:end]
    found = [mark for mark in separators if mark in first]
    if len(found) != 1:
        return None
    separator = found[0]
    count = first.count(bytes([separator])) + 1
    if count > 3:
        return None
    parts = []
    for block in _blocks(body):
        part = _scan_block(block, separator, count)
        if part is None:
            return None
        parts.append(part)
    return Columns(
        np.concatenate([part.sources for part in parts], dtype=np.int64),
        np.concatenate([part.targets for part in parts], dtype=np.int64),
        None if count == 2 else np.concatenate([p.weights for p in parts if p.weights is not None]),
    )


def cells(
    body: bytes, separators: bytes, width: int, filled: Sequence[int], *, inner_blanks: bool
) -> list[str] | None:
    """All cells, row by row, of rows that all have `width` of them, or decline.

    Args:
        body: the rows, without comments and header. The last newline may be missing.
        separators: bytes that may stand between the columns; the first row tells which one does.
        width: number of columns.
        filled: columns in which no cell may be empty.
        inner_blanks: whether cells may hold blanks, though not at their ends.

    Returns:
        The cells, or None: text that is not UTF-8, quotes, comments, blanks, a row of another
        length, or more than one kind of separator.
    """
    body = body.replace(b"\r\n", b"\n")
    if not body.endswith(b"\n"):
        body += b"\n"
    first = body[: body.find(b"\n")]
    found = [bytes([mark]) for mark in separators if mark in first]
    if len(found) != 1 or any(mark in body for mark in (b'"', b"#", b"%", b"\r")):
        return None
    separator = found[0].decode()
    bytes_ = np.frombuffer(body, dtype=np.uint8)
    ends = np.flatnonzero((bytes_ == _NEWLINE) | (bytes_ == ord(separator)))
    marks = bytes_[ends]
    if len(ends) % width or (marks[width - 1 :: width] != _NEWLINE).any():
        return None
    if np.count_nonzero(marks == _NEWLINE) * width != len(ends):
        return None
    lengths = np.diff(ends, prepend=-1) - 1
    if any((lengths[column::width] < 1).any() for column in filled):
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    if not inner_blanks and separator != "," and "," in text:
        return None
    if any(blank in text for blank in _BLANKS if blank != separator):
        mark = re.escape(separator)
        at_an_end = rf"(?:^|[\n{mark}])[^\S\n{mark}]|[^\S\n{mark}][\n{mark}]"
        if not inner_blanks or re.search(at_an_end, text):
            return None
    return text.replace("\n", separator).split(separator)[:-1]


def _blocks(body: bytes) -> Iterator[bytes]:
    """Pieces of whole lines, each ending in a newline."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start + _BLOCK) + 1
        if end == 0:
            block = body[start:]
            yield block if block.endswith(b"\n") else block + b"\n"
            return
        yield body[start:end]
        start = end


def _scan_block(block: bytes, separator: int, count: int) -> Columns | None:
    bytes_ = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero((bytes_ == separator) | (bytes_ == _NEWLINE)).astype(np.int32)
    if len(ends) % count:
        return None
    marks = bytes_[ends].reshape(-1, count)
    if (marks[:, :-1] != separator).any() or (marks[:, -1] != _NEWLINE).any():
        return None
    lengths = np.diff(ends, prepend=np.int32(-1)) - np.int32(1)
    if (lengths < 1).any():
        return None
    digits = bytes_ - np.uint8(_ZERO)
    columns = []
    for column in range(2):
        values = _integers(digits, ends[column::count], lengths[column::count])
        if values is None:
            return None
        columns.append(values)
    weights: FloatArray | None = None
    if count == 3:
        whole = _integers(digits, ends[2::3], lengths[2::3])
        if whole is not None:
            weights = whole.astype(np.float64)
        else:
            weights = _decimals(block, separator)
            if weights is None:
                return None
    return Columns(columns[0], columns[1], weights)


def _integers(
    digits: npt.NDArray[np.uint8], ends: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64] | None:
    """Numbers whose digits end before `ends`; None if one is long or not plain digits."""
    longest = int(lengths.max())
    if longest > _MOST_DIGITS:
        return None
    last = digits[ends - 1]
    worst = int(last.max())
    values = last.astype(np.int64)
    for place in range(1, longest):
        # Short tokens read bytes before their start, perhaps before the block; those count zero.
        digit = digits[ends - 1 - place]
        digit[lengths <= place] = 0
        worst = max(worst, int(digit.max()))
        values += digit * np.int64(10**place)
    leading = digits[ends - lengths]
    if worst > 9 or ((leading == 0) & (lengths > 1)).any():
        return None
    return values


def _decimals(block: bytes, separator: int) -> FloatArray | None:
    """Third column as numbers; None if a token is not a plain decimal number."""
    if block.translate(None, _NUMBER_BYTES + bytes([separator, _NEWLINE])):
        return None
    tokens = block.replace(bytes([separator]), b" ").split()[2::3]
    try:
        return np.fromiter(map(float, tokens), dtype=np.float64, count=len(tokens))
    except ValueError:
        return None
