"""Numbers for names, of which more and more come: a table of hashes in arrays.

Equal names get equal numbers, without a Python object for each name that comes. Each candidate that
the table finds is compared in all its bytes: the result is exact whatever the hashes are.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IndexArray, IntegerVector, IntVector
from graphcuts_dp.graph.coded_text import LONGEST, WORD, PieceWords, Words, same_bytes, words_before
from graphcuts_dp.graph.growing import Growing, pieces

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
        parts = PieceWords(words, starts, lengths)
        hashes = parts.hashes(_FACTOR)
        places = (hashes >> self._shift).astype(np.int64)
        left: IntVector | slice = slice(None)  # at first all
        while True:
            found = self._places[places[left]]
            if len(found) and found.min() < 0:
                empty = np.flatnonzero(found < 0)
                new = self._claimed(empty if isinstance(left, slice) else left[empty], places)
                numbers[new] = np.arange(len(self), len(self) + len(new))
                self._places[places[new]] = numbers[new]
                self._keep_pieces(words, starts[new], lengths[new], parts.first[new], hashes[new])
                found = self._places[places[left]]
            spans = self._spans.values[found]
            sizes = spans & _SIZE
            alike = self._first.values[found] == parts.first[left]
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
