"""Many vertex sets, one bit for each vertex, and counts of what they share with another set.

A hypothesis that is a matrix: one number for each pair.
"""

from collections.abc import Sequence
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, HypothesisError
from graphcuts_dp.learn.storage import pack, unpack
from graphcuts_dp.pairs.queries import LinearQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.resources import in_parallel

_KIND = "dense hypothesis"


@final
class DenseHypothesis:
    """A matrix over the universe, n1 x n2 numbers. Entries may be negative or above 1.

    Args:
        universe: the public vertex pairs.
        matrix: of the universe's shape, finite; symmetric if plain (the diagonal is set to 0, too
            if directed). It is copied. A released synthetic graph as such is a warm start.

    Attributes:
        universe: as given.
        matrix: shape (n1, n2), read-only.

    Raises:
        HypothesisError: a matrix that is none over the universe.
    """

    def __init__(self, universe: Universe, matrix: npt.ArrayLike) -> None:
        copy = np.array(matrix, dtype=np.float64)
        if copy.shape != universe.shape or not np.isfinite(copy).all():
            raise HypothesisError(f"a dense hypothesis needs finite numbers, {universe.shape}")
        universe.clear_diagonal(copy)
        if universe.symmetric and (copy != copy.T).any():
            raise HypothesisError("the matrix of a plain universe must be symmetric")
        copy.flags.writeable = False
        self.universe = universe
        self.matrix: FloatMatrix = copy

    @classmethod
    def constant(cls, universe: Universe, weight: float) -> Self:
        """The same weight on every pair."""
        return cls(universe, np.full(universe.shape, weight))

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query."""
        return float(self.universe.answers([query], self.matrix)[0])

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries."""
        return self.universe.answers(queries, self.matrix)

    def dense(self) -> FloatMatrix:
        """The matrix, read-only."""
        return self.matrix

    def plus(self, query: LinearQuery, weight: float) -> Self:
        """A new hypothesis with `weight` times the query's coefficients added."""
        return type(self)(self.universe, self.matrix + weight * self.universe.coefficients(query))

    def tilted(self, query: LinearQuery, exponent: float) -> Self:
        """A new hypothesis, weights times exp(exponent * coefficient), with the same total."""
        weights = tilt(self.matrix, self.universe.coefficients(query), exponent)
        self.universe.clear_diagonal(weights)
        return type(self)(self.universe, weights * (self.total() / self.universe.total(weights)))

    def total(self) -> float:
        """Sum of the weights of all pairs."""
        return self.universe.total(self.matrix)

    def to_bytes(self) -> bytes:
        """The state; see `Hypothesis`."""
        return pack(_KIND, self.universe, {"matrix": self.matrix})

    @classmethod
    def from_bytes(cls, data: bytes, universe: Universe) -> Self:
        """The hypothesis that `to_bytes` wrote.

        Raises:
            FileFormatError: see `Hypothesis`.
        """
        found = unpack(data, _KIND, universe, {"matrix": (np.float64, universe.shape)})
        try:
            return cls(universe, found["matrix"])
        except HypothesisError as problem:
            raise FileFormatError(f"the stored hypothesis is damaged: {problem}") from problem


def tilt(
    weights: FloatMatrix, coefficients: npt.NDArray[np.generic], exponent: float
) -> FloatMatrix:
    """Weights times exp(exponent * coefficient); a positive one never reaches 0.

    Raises:
        HypothesisError: a negative weight.
    """
    if (weights < 0).any():
        raise HypothesisError("multiplicative weights need a start without negative weights")
    tilted: FloatMatrix = weights * np.exp(exponent * coefficients.astype(np.float64))
    return np.maximum(tilted, np.finfo(np.float64).tiny)


Words = npt.NDArray[np.uint64]
_SHARED_OUT = 1 << 18  # words from which all processors count
_BLOCK_WORDS = 1 << 16  # 512 KiB at a time: between two passes it stays in the cache


def pack_bits(mask: BoolVector) -> Words:
    """A truth vector as 64-bit words, the last one filled up with zeros."""
    packed = np.zeros(-(-len(mask) // 64) * 8, dtype=np.uint8)
    bits = np.packbits(mask, bitorder="little")
    packed[: len(bits)] = bits
    return packed.view(np.uint64)


@final
class BitSets:
    """An immutable sequence of vertex sets.

    Appending is cheap: sequences that grow out of one another share their rows. Not for use by
    several threads at once.

    Args:
        n: number of vertices, at least 1.
        rows: shape (count, ceil(n / 64)), read; None for no sets.

    Attributes:
        n: as given.
        rows: the words of the sets, shape (count, ceil(n / 64)). Do not write to it.
        sizes: numbers of elements, shape (count,).
    """

    def __init__(self, n: int, rows: Words | None = None) -> None:
        self.n = n
        self.rows: Words = np.empty((0, -(-n // 64)), dtype=np.uint64) if rows is None else rows
        # The rows lie at the front of a buffer; whoever holds the longest sequence may write on.
        self._buffer, self._used = self.rows, [len(self.rows)]
        self.sizes = np.bitwise_count(self.rows).sum(axis=1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def appended(self, words: Words) -> Self:
        """A sequence with one more set, given as words of `pack_bits`."""
        count = len(self)
        longer = object.__new__(type(self))
        longer.n, longer._buffer, longer._used = self.n, self._buffer, self._used
        if self._used[0] != count or count == len(self._buffer):
            longer._buffer = np.empty((max(8, 2 * count), self.rows.shape[1]), dtype=np.uint64)
            longer._buffer[:count] = self.rows
            longer._used = [count]
        longer._buffer[count] = words
        longer._used[0] = count + 1
        longer.rows = longer._buffer[: count + 1]
        longer.sizes = np.append(self.sizes, np.bitwise_count(words).sum(dtype=np.int64))
        return longer

    def shared(self, *others: Words) -> npt.NDArray[np.float64]:
        """Numbers of elements that each set shares with other sets, shape (others, count).

        Costs count * n / 64 word operations for each; several at once share the memory traffic.
        """
        step = max(1, _BLOCK_WORDS // self.rows.shape[1])
        parts = [self.rows[start : start + step] for start in range(0, len(self), step)]

        def count(part: Words) -> npt.NDArray[np.float64]:
            common = [
                np.bitwise_count(part & words).sum(axis=1, dtype=np.uint32) for words in others
            ]
            return np.array(common, dtype=np.float64)

        if self.rows.size < _SHARED_OUT:
            found = [count(part) for part in parts]
        else:
            found = list(in_parallel(count, parts))
        return np.hstack(found) if found else np.zeros((len(others), 0))

    def masks(self) -> npt.NDArray[np.bool_]:
        """Truth vectors, shape (count, n)."""
        return _unpacked(self.rows, self.n)

    def dots(self, vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sums of each vector over each set, shape (count, k).

        Args:
            vectors: shape (n, k).
        """
        sums = np.empty((len(self), vectors.shape[1]))
        step = max(1, _BLOCK_WORDS // self.rows.shape[1])
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            sums[part] = _unpacked(self.rows[part], self.n).astype(np.float64) @ vectors
        return sums


def _unpacked(rows: Words, n: int) -> npt.NDArray[np.bool_]:
    bits = np.unpackbits(rows.view(np.uint8), axis=1, count=n, bitorder="little")
    return bits.view(np.bool_)
