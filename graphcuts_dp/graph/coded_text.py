"""Equal pieces of a text get equal numbers, without a Python object for each piece.

A table of hashes finds a candidate for each piece, and all bytes are compared with it: the result
is exact whatever the hashes are. Pieces that lost their place in the table to another piece go
through it once more, with another hash.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntegerVector, IntVector

Words = npt.NDArray[np.uint64]

WORD = 8  # bytes of a word
LONGEST = 256  # bytes; longer pieces are left to the careful reader
_ROUNDS = 64
_ODD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: spreads what is alike
_HALF, _BITS = np.uint64(32), np.uint64(3)


@dataclass(frozen=True, slots=True)
class CodedText:
    """Pieces of text by number: piece i is `names[codes[i]]`; the names are distinct."""

    codes: IntVector
    names: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def listed(self) -> list[str]:
        """All pieces, one after the other."""
        return [self.names[code] for code in self.codes.tolist()]


def words_before(data: bytes) -> Words:
    """For each position 0..len(data) the 8 bytes before it as one number, the first byte lowest.

    Bytes before the start are zeros.
    """
    padded = np.frombuffer(b"\0" * WORD + data, dtype=np.uint8)
    return np.ndarray((len(data) + 1,), "<u8", padded.data, 0, (1,))


def code(words: Words, starts: IntVector, lengths: IntVector) -> tuple[IntVector, IntVector] | None:
    """Number the distinct pieces of a text.

    Args:
        words: `words_before` of the text.
        starts: position of the first byte of each piece.
        lengths: bytes of each piece, 0 or more.

    Returns:
        The number of each piece, and for each number the index of one piece that has it. None for
        a piece of more than 256 bytes, or hashes that collide over and over.
    """
    if not len(starts):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if int(lengths.max()) > LONGEST:
        return None
    return _code(words, starts, lengths, _ODD, _ROUNDS)


def _code(
    words: Words, starts: IntVector, lengths: IntVector, factor: int, rounds: int
) -> tuple[IntVector, IntVector] | None:
    if not rounds:
        return None
    parts = PieceWords(words, starts, lengths)
    # Twice as many places as pieces, at least: then most distinct pieces have one to themselves.
    bits = (2 * len(starts)).bit_length()
    places = (parts.hashes(np.uint64(factor)) >> np.uint64(64 - bits)).astype(
        np.int32 if bits < 32 else int
    )
    table = np.full(1 << bits, -1, dtype=places.dtype)
    table[places] = np.arange(len(starts), dtype=places.dtype)
    taken = table >= 0
    leaders = table[taken].astype(np.int64)
    codes = (np.cumsum(taken, dtype=places.dtype) - 1)[places].astype(np.int64)
    lost = np.flatnonzero(~parts.equal(leaders, codes))
    if len(lost):
        more = _code(words, starts[lost], lengths[lost], factor * _ODD % 2**64, rounds - 1)
        if more is None:
            return None
        codes[lost] = len(leaders) + more[0]
        leaders = np.concatenate([leaders, lost[more[1]]])
    return codes, leaders


class PieceWords:
    """The words of all pieces: the first of each, the second of those that have one, and so on."""

    def __init__(self, words: Words, starts: IntVector, lengths: IntegerVector) -> None:
        self._lengths = lengths
        self.first = _masked(words, starts, lengths)
        self._others: list[tuple[IntVector, Words]] = []
        for skip in range(WORD, int(lengths.max()), WORD):
            longer = np.flatnonzero(lengths > skip)
            word = _masked(words, starts[longer] + skip, lengths[longer] - skip)
            self._others.append((longer, word))

    def hashes(self, factor: np.uint64) -> Words:
        """A number for each piece that depends on all its bytes, most in its highest bits."""
        hashes = self.first ^ self._lengths.astype(np.uint64)
        hashes *= factor
        hashes ^= hashes >> _HALF
        for longer, word in self._others:
            part = (hashes[longer] ^ word) * factor
            hashes[longer] = part ^ (part >> _HALF)
        hashes *= factor
        return hashes

    def equal(self, leaders: IntVector, codes: IntVector) -> BoolVector:
        """Whether each piece has the bytes of the piece `leaders[codes]`."""
        equal: BoolVector = self._lengths == self._lengths[leaders][codes]
        equal &= self.first == self.first[leaders][codes]
        for longer, word in self._others:
            place = np.searchsorted(longer, leaders)
            place[place == len(longer)] = 0  # a leader that is too short: lengths differ
            equal[longer] &= word == word[place][codes[longer]]
        return equal


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
