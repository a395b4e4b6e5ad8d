"""Edges that come piece by piece: arrays that grow in place, in the smallest integers that do.

A file of many rows is never in memory as a whole. What its rows say is kept in 8 bytes for two ends
and 8 for a weight, and the arrays grow by an eighth at a time, where they are.

Numbers for names, of which more and more come: a table of hashes in arrays.

Equal names get equal numbers, without a Python object for each name that comes. Each candidate that
the table finds is compared in all its bytes: the result is exact whatever the hashes are.

Arrays that grow at their end, in place, and work on arrays a piece at a time.

Equal pieces of a text get equal numbers, without a Python object for each piece.

A table of hashes finds a candidate for each piece, and all bytes are compared with it: the result
is exact whatever the hashes are. Pieces that lost their place in the table to another piece go
through it once more, with another hash.
"""

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatArray, IndexArray, IntegerVector, IntVector
from graphcuts_dp.io.edge_store import pieces

Words = npt.NDArray[np.uint64]

WORD = 8  # bytes of a word
LONGEST = 256  # bytes; longer pieces are left to the careful reader
_HALF, _BITS = np.uint64(32), np.uint64(3)


@dataclass(frozen=True, slots=True)
class CodedText:
    """Pieces of text by number: piece i is `names[codes[i]]`; the names are distinct."""

    codes: IntVector
    names: list[str]

    def __len__(self) -> int:
        return len(self.codes)


def words_before(data: bytes) -> Words:
    """For each position 0..len(data) the 8 bytes before it as one number, the first byte lowest.

    Bytes before the start are zeros.
    """
    padded = np.frombuffer(b"\0" * WORD + data, dtype=np.uint8)
    return np.ndarray((len(data) + 1,), "<u8", padded.data, 0, (1,))


def piece_hashes(words: Words, starts: IntVector, lengths: IntegerVector, first: Words) -> Words:
    """A number for each piece that depends on all its bytes, most in its highest bits.

    Args:
        words: of the text.
        starts: of the pieces.
        lengths: likewise.
        first: the first word of each.
    """
    hashes = first ^ lengths.astype(np.uint64)
    hashes *= _FACTOR
    hashes ^= hashes >> _HALF
    for skip in range(WORD, int(lengths.max()), WORD):
        longer = np.flatnonzero(lengths > skip)
        part = _masked(words, starts[longer] + skip, lengths[longer] - skip)
        part = (hashes[longer] ^ part) * _FACTOR
        hashes[longer] = part ^ (part >> _HALF)
    hashes *= _FACTOR
    return hashes


def same_bytes(
    words: tuple[Words, Words], starts: tuple[IntVector, IntVector], lengths: IntegerVector
) -> BoolVector:
    """Whether pieces of one text are those of another, which have the same lengths.

    Args:
        words: `words_before` of both texts.
        starts: position of the first byte of each piece, in both.
        lengths: bytes of each piece.
    """
    first, second = (_masked(*text, lengths) for text in zip(words, starts, strict=True))
    equal: BoolVector = first == second
    for skip in range(WORD, int(lengths.max(initial=0)), WORD):
        longer = np.flatnonzero(lengths > skip)
        rest = lengths[longer] - skip
        first, second = (
            _masked(text, begins[longer] + skip, rest)
            for text, begins in zip(words, starts, strict=True)
        )
        equal[longer] &= first == second
    return equal


def _masked(words: Words, starts: IntVector, lengths: IntegerVector) -> Words:
    """The first eight bytes of each piece; zeros where a piece is shorter."""
    taken = np.minimum(lengths, WORD)
    # The word that ends where these bytes end: it never goes beyond the text.
    word: Words = words[starts + taken]
    word >>= (WORD - taken).astype(np.uint64) << _BITS
    return word


@final
class Growing:
    """An array of one dimension that grows at its end.

    Args:
        dtype: of its entries.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._bytes = bytearray()  # grows in place where the system can; arrays hold both sizes

    def __len__(self) -> int:
        return len(self._bytes) // self._dtype.itemsize

    @property
    def values(self) -> npt.NDArray[Any]:
        """What is in it; a view, to be let go before the next entry comes."""
        return np.frombuffer(self._bytes, dtype=self._dtype)

    def extend(self, values: npt.ArrayLike) -> None:
        """Put values at its end, converted to its type."""
        self._bytes.extend(np.ascontiguousarray(values, dtype=self._dtype).data)

    def take(self) -> npt.NDArray[Any]:
        """The array; nothing is left here."""
        values = self.values
        self._bytes = bytearray()
        return values


_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads what is alike
_SIZE_BITS = np.int64(9)
_SIZE = np.int64(511)  # more than LONGEST
_LEAST_BITS = 12  # of the number of places in a new table


@final
class NameTable:
    """Distinct names in the order of their numbers 0, 1, ..."""

    def __init__(self) -> None:
        self._bytes = Growing(np.uint8)  # all names, one after the other
        self._bytes.extend(np.zeros(WORD, dtype=np.uint8))
        self._spans = Growing(np.int64)  # where each begins, and how long it is
        self._first = Growing(np.uint64)  # the first word of each
        self._hashes = Growing(np.uint64)
        self._long: dict[str, int] = {}
        self._set_places(_LEAST_BITS)

    def __len__(self) -> int:
        return len(self._spans)

    def names(self) -> list[str]:
        """All names."""
        data = self._bytes.values[WORD:].tobytes()
        names: list[str] = []
        for spans in pieces(self._spans.values):
            starts = (spans >> _SIZE_BITS).tolist()
            ends = ((spans >> _SIZE_BITS) + (spans & _SIZE)).tolist()
            names += [data[a:b].decode() for a, b in zip(starts, ends, strict=True)]
        for name, number in self._long.items():
            names[number] = name
        return names

    def numbers_of(self, names: Sequence[str]) -> IndexArray:
        """The numbers of names; new ones get the next numbers."""
        coded = [name.encode() for name in names]
        lengths = np.fromiter(map(len, coded), dtype=np.int64, count=len(coded))
        numbers = np.empty(len(coded), dtype=np.int32)
        short = lengths <= LONGEST
        starts = np.cumsum(lengths) - lengths
        words = words_before(b"".join(coded))
        numbers[short] = self.numbers(words, starts[short], lengths[short])
        for place in np.flatnonzero(~short).tolist():
            name = names[place]
            if name not in self._long:
                self._long[name] = len(self)
                nothing = np.zeros(1, dtype=np.uint64)
                self._keep(np.empty(0, np.uint8), np.zeros(1, np.int64), nothing, nothing)
            numbers[place] = self._long[name]
        return numbers

    def numbers(self, words: Words, starts: IntVector, lengths: IntegerVector) -> IndexArray:
        """The numbers of pieces of a text.

        Args:
            words: `words_before` of the text.
            starts: position of the first byte of each piece.
            lengths: bytes of each, at most `LONGEST`.
        """
        numbers = np.full(len(starts), -1, dtype=np.int32)
        if not len(starts):
            return numbers
        self._make_room(len(starts))
        first = _masked(words, starts, lengths)
        hashes = piece_hashes(words, starts, lengths, first)
        places = (hashes >> self._shift).astype(np.int64)
        left: IntVector | slice = slice(None)  # at first all
        while True:
            found = self._places[places[left]]
            if len(found) and found.min() < 0:
                empty = np.flatnonzero(found < 0)
                new = self._claimed(empty if isinstance(left, slice) else left[empty], places)
                numbers[new] = np.arange(len(self), len(self) + len(new))
                self._places[places[new]] = numbers[new]
                self._keep_pieces(words, starts[new], lengths[new], first[new], hashes[new])
                found = self._places[places[left]]
            spans = self._spans.values[found]
            sizes = spans & _SIZE
            alike = self._first.values[found] == first[left]
            alike &= sizes == lengths[left]
            if sizes.max(initial=0) > WORD:
                long = np.flatnonzero(alike & (sizes > WORD))
                begins = starts[left][long] + WORD, (spans[long] >> _SIZE_BITS) + WORD
                alike[long] = same_bytes((words, self._words()), begins, sizes[long] - WORD)
            if isinstance(left, slice):
                np.copyto(numbers, found, where=alike)
                rest = np.flatnonzero(~alike)
            else:
                numbers[left[alike]] = found[alike]
                rest = left[~alike]
            if not len(rest):
                return numbers
            places[rest] = (places[rest] + 1) & (len(self._places) - 1)
            left = rest

    def _claimed(self, empty: IntVector, places: IntVector) -> IntVector:
        """Of pieces that point to an empty place, one for each such place."""
        self._places[places[empty]] = np.arange(len(empty), dtype=np.int32)
        claimed: IntVector = empty[self._places[places[empty]] == np.arange(len(empty))]
        return claimed

    def _words(self) -> Words:
        data = self._bytes.values
        return np.ndarray((len(data) - WORD + 1,), "<u8", data.data, 0, (1,))

    def _keep_pieces(
        self, words: Words, starts: IntVector, lengths: IntegerVector, first: Words, hashes: Words
    ) -> None:
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        # The word before the position behind a byte ends with this byte.
        last = words[np.repeat(starts, lengths) + within + 1] >> np.uint64(8 * (WORD - 1))
        self._keep(last.astype(np.uint8), lengths, first, hashes)

    def _keep(
        self, data: npt.NDArray[np.uint8], lengths: IntegerVector, first: Words, hashes: Words
    ) -> None:
        starts = len(self._bytes) - WORD + np.cumsum(lengths) - lengths
        self._spans.extend(starts << _SIZE_BITS | lengths)
        self._bytes.extend(data)
        self._first.extend(first)
        self._hashes.extend(hashes)

    def _make_room(self, count: int) -> None:
        """Have twice as many places as there can be names after `count` more pieces."""
        bits = (2 * (len(self) + count)).bit_length()
        if 1 << bits <= len(self._places):
            return
        self._set_places(bits)
        places = (self._hashes.values >> self._shift).astype(np.int64)
        long = np.fromiter(self._long.values(), dtype=np.int64, count=len(self._long))
        left = np.delete(np.arange(len(self)), long)
        while len(left):
            empty = left[self._places[places[left]] < 0]
            kept = self._claimed(empty, places)
            self._places[places[kept]] = kept
            left = left[self._places[places[left]] != left]
            places[left] = (places[left] + 1) & (len(self._places) - 1)

    def _set_places(self, bits: int) -> None:
        self._places = np.full(1 << bits, -1, dtype=np.int32)
        self._shift = np.uint64(64 - bits)


_MOST_INT32 = 2**31 - 1
_PLAIN = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


@final
@dataclass(frozen=True, slots=True)
class TextPieces:
    """A column as pieces of a text: `words_before` of it, and where each piece starts and ends."""

    words: Words
    starts: IntVector
    lengths: IntegerVector

    def __len__(self) -> int:
        return len(self.starts)


ENDS = ("source", "target")
OTHERS = ("owner", "period")  # that rows may have beside their ends
GatheredEnds = IntegerVector | TextPieces | Sequence[str]


@final
class GatheredColumns:
    """Columns whose names share their numbers, such as both ends, as they come.

    They are integers as long as all are plain ones; from the first other one on they are names.

    Args:
        count: number of columns.
        as_text: whether text that is a plain integer is that integer.
    """

    def __init__(self, count: int, *, as_text: bool = True) -> None:
        self._as_text = as_text
        self._columns = [Growing(np.int32) for _ in range(count)]
        self._table: NameTable | None = None

    def __len__(self) -> int:
        return len(self._columns[0])

    @property
    def integers(self) -> bool:
        """Whether all entries up to here are integers."""
        return self._table is None

    def add(self, columns: Sequence[GatheredEnds]) -> None:
        """Put entries behind those that are there.

        Args:
            columns: of each column integers, pieces of a text, names by number, or names.
        """
        if self._table is None:
            plain = [_plain_integers(each, self._as_text) for each in columns]
            if all(each is not None for each in plain):
                for place, values in enumerate(plain):
                    self._add_integers(place, cast(IntegerVector, values))
                return
            self._table = self._names_begin()
        parts = [each for each in columns if isinstance(each, TextPieces)]
        if len(parts) == len(columns) and len({id(each.words) for each in parts}) == 1:
            # All at once: what a call costs beside its pieces is a large part.
            starts = np.concatenate([each.starts for each in parts])
            lengths = np.concatenate([each.lengths for each in parts])
            numbers = self._table.numbers(parts[0].words, starts, lengths)
            for grown, some in zip(self._columns, np.split(numbers, len(parts)), strict=True):
                grown.extend(some)
            return
        for grown, each in zip(self._columns, columns, strict=True):
            grown.extend(_numbers(each, self._table))

    def take(self) -> list[npt.NDArray[Any] | CodedText]:
        """All entries, which nothing here keeps: integers, or names by number."""
        table, self._table = self._table, None
        columns = [grown.take() for grown in self._columns]
        if table is None:
            return [*columns]
        names = table.names()
        return [CodedText(each, names) for each in columns]

    def _add_integers(self, place: int, values: IntegerVector) -> None:
        grown = self._columns[place]
        if grown.values.dtype == np.int32 and len(values) and _is_wide(values):
            wide = Growing(np.int64)
            wide.extend(grown.values)
            self._columns[place] = grown = wide
        grown.extend(values)

    def _names_begin(self) -> NameTable:
        """From now on names: the integers up to here become names, too."""
        table = NameTable()
        for place, grown in enumerate(self._columns):
            numbers = Growing(np.int32)
            for piece in pieces(grown.values):
                numbers.extend(_numbers(piece, table))
            self._columns[place] = numbers
        return table


@final
class Gathered:
    """Rows of an edge list, as they come.

    Args:
        used: names of what each row has: source and target, perhaps weight, owner and period.
        as_text: whether text that is a plain integer is that integer.
    """

    def __init__(self, used: Container[str], *, as_text: bool = True) -> None:
        groups = (ENDS, *((name,) for name in OTHERS if name in used))
        self._groups = {group: GatheredColumns(len(group), as_text=as_text) for group in groups}
        self._weights = Growing(np.float64) if "weight" in used else None
        self._starts: list[int] = []
        self._places: list[Sequence[int]] = []

    @property
    def groups(self) -> Iterable[tuple[str, ...]]:
        """The columns beside the weight; those of a group share the numbers of their names."""
        return self._groups

    def are_integers(self, group: tuple[str, ...]) -> bool:
        """Whether all entries of these columns up to here are integers."""
        return self._groups[group].integers

    def add(
        self,
        columns: Mapping[str, GatheredEnds],
        weights: FloatArray | None,
        places: Sequence[int],
    ) -> None:
        """Put rows behind those that are there.

        Args:
            columns: source, target, and owner and period where there are any: integers, pieces of
                a text, names by number, or a list of names.
            weights: one for each row, or None if there are none.
            places: the number of the line, or row of a table, of each row.
        """
        self._starts.append(len(self._groups[ENDS]))
        self._places.append(places)
        if self._weights is not None and weights is not None:
            self._weights.extend(weights)
        for group, grown in self._groups.items():
            grown.add([columns[name] for name in group])

    def take(self) -> dict[str, Any]:
        """What `RawEdges` has of all rows, which nothing here keeps but their places."""
        found: dict[str, Any] = {"weights": None if self._weights is None else self._weights.take()}
        for group, grown in self._groups.items():
            found |= zip([f"{name}s" for name in group], grown.take(), strict=True)
        return found

    def place(self, position: int) -> int:
        """The number of the line, or row, of a row by its position among all."""
        piece = bisect_right(self._starts, position) - 1
        return self._places[piece][position - self._starts[piece]]


def _is_wide(values: IntegerVector) -> bool:
    return bool(values.max() > _MOST_INT32 or values.min() < -_MOST_INT32)


def _numbers(ends: GatheredEnds, table: NameTable) -> IndexArray:
    if isinstance(ends, TextPieces):
        return table.numbers(ends.words, ends.starts, ends.lengths)
    if isinstance(ends, np.ndarray):
        distinct, inverse = np.unique(ends, return_inverse=True)
        return table.numbers_of(list(map(str, distinct.tolist())))[inverse]
    return table.numbers_of(ends)


def _plain_integers(ends: GatheredEnds, as_text: bool) -> IntegerVector | None:
    """The ends as integers that are not negative; None if one is another text."""
    if isinstance(ends, np.ndarray):
        return ends
    if isinstance(ends, TextPieces) or not as_text:
        return None  # the reader of pieces has tried
    if not all(map(_PLAIN.fullmatch, ends)):
        return None
    return np.array(list(map(int, ends)), dtype=np.int64)
