"""Read plain edge lists at memory speed, or decline.

The body of most edge lists is `id separator id [separator weight] newline` with ids that are plain
digits. Such bytes become arrays without a Python object for each token. Anything else (quotes,
names, blanks at line ends, leading zeros, comments between rows) makes `scan_block` return None,
and the careful line-by-line reader takes over; it never makes a guess. Names take `split_cells`,
which finds all cells at once where all rows are alike.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IntegerVector, IntVector
from graphcuts_dp.graph.gathered import (
    LONGEST,
    WORD,
    CodedText,
    TextPieces,
    Words,
    code,
    words_before,
)

_NEWLINE = 10
_MOST_DIGITS = 18  # fits in 64 bits
# The smallest number of so many digits, but for the 0: smaller ones have leading zeros.
_LEAST = np.array([0, 0, *(10**digits for digits in range(1, _MOST_DIGITS))], dtype=np.int64)
_BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != "\n"]
_BLANK_BITS = np.arange(8 * WORD, -1, -8, dtype=np.uint64)  # of a word with 0..8 digits
_ASCII_BLANKS = [blank for blank in _BLANKS if blank.isascii()]
_NUMBER_BYTES = b"0123456789+-.eE"


@dataclass(frozen=True, slots=True)
class Columns:
    """Two columns of ids and perhaps one of weights, all of the same length."""

    sources: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    weights: FloatArray | None


@dataclass(frozen=True, slots=True)
class Cells:
    """A text whose rows all have `width` cells; starts and lengths go row by row."""

    body: bytes
    width: int
    starts: IntVector
    lengths: IntVector

    def coded(self, places: Sequence[int]) -> list[CodedText] | None:
        """The columns at these places, with one list of names for all of them, or decline."""
        starts = np.concatenate([self.starts[place :: self.width] for place in places])
        lengths = np.concatenate([self.lengths[place :: self.width] for place in places])
        found = code(words_before(self.body), starts, lengths)
        if found is None:
            return None
        codes, leaders = found
        names = self._names(starts[leaders], lengths[leaders])
        return [CodedText(column, names) for column in np.split(codes, len(places))]

    def integers(self, place: int) -> IntVector | None:
        """The column at this place as integers; None if a cell is not plain digits."""
        starts, lengths = self.starts[place :: self.width], self.lengths[place :: self.width]
        return integers_of(words_before(self.body), starts + lengths, lengths)

    def texts(self, places: Sequence[int]) -> list[TextPieces] | None:
        """The columns at these places as they stand; None if a cell is very long."""
        found = []
        words = words_before(self.body)
        for place in places:
            starts, lengths = self.starts[place :: self.width], self.lengths[place :: self.width]
            if lengths.max(initial=0) > LONGEST:
                return None
            found.append(TextPieces(words, starts, lengths))
        return found

    def _names(self, starts: IntVector, lengths: IntVector) -> list[str]:
        """These cells as strings: joined by newlines, which no cell holds, then split at once."""
        if not len(starts):
            return []
        ends = np.cumsum(lengths + 1)
        places = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths - 1), lengths + 1)
        joined = np.frombuffer(self.body, dtype=np.uint8)[places]
        joined[ends - 1] = _NEWLINE
        text: str = joined.tobytes().decode()
        return text.split("\n")[:-1]


def split_cells(
    body: bytes, separators: bytes, width: int, filled: Sequence[int], *, inner_blanks: bool
) -> Cells | None:
    """Find the cells of rows that all have `width` of them, or decline.

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
    if b"\r" in body:
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
    blanks = _ASCII_BLANKS if body.isascii() else _BLANKS
    if any(blank in text for blank in blanks if blank != separator):
        mark = re.escape(separator)
        at_an_end = rf"(?:^|[\n{mark}])[^\S\n{mark}]|[^\S\n{mark}][\n{mark}]"
        if not inner_blanks or re.search(at_an_end, text):
            return None
    return Cells(body, width, ends - lengths, lengths)


def scan_block(block: bytes, separator: int, count: int) -> Columns | None:
    """Parse rows of two ids and perhaps a weight, or return None if a row is not of that form.

    Args:
        block: rows that all end in a newline, without carriage returns.
        separator: the byte between columns.
        count: how many columns there are, 2 or 3.
    """
    bytes_ = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero((bytes_ == separator) | (bytes_ == _NEWLINE)).astype(np.int32)
    if len(ends) % count:
        return None
    marks = bytes_[ends].reshape(-1, count)
    if (marks[:, :-1] != separator).any() or (marks[:, -1] != _NEWLINE).any():
        return None
    lengths = ends - np.int32(1)
    lengths[1:] -= ends[:-1]
    lengths[0] += 1
    if (lengths < 1).any():
        return None
    words = words_before(block)
    numbers = _integers(words, ends, lengths)
    if numbers is not None:
        weights = numbers[2::3].astype(np.float64) if count == 3 else None
        return Columns(numbers[0::count], numbers[1::count], weights)
    if count == 2:
        return None
    columns = [_integers(words, ends[place::3], lengths[place::3]) for place in range(2)]
    weights = _decimals(block, separator)
    if columns[0] is None or columns[1] is None or weights is None:
        return None
    return Columns(columns[0], columns[1], weights)


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


def _decimals(block: bytes, separator: int) -> FloatArray | None:
    """Third column as numbers; None if a token is not a plain decimal number."""
    if block.translate(None, _NUMBER_BYTES + bytes([separator, _NEWLINE])):
        return None
    tokens = block.replace(bytes([separator]), b" ").split()[2::3]
    try:
        return np.fromiter(map(float, tokens), dtype=np.float64, count=len(tokens))
    except ValueError:
        return None
