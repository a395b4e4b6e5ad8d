"""A hypothesis that is a start plus a weighted sum of cuts, stored as bit sets.

H = C + sum_k w_k 1_k, where C is constant between public groups, or everywhere, and 1_k is the
indicator of the pairs between S_k and T_k. The answer to a cut query needs only how many vertices
its sets share with each S_k and T_k, so it costs O(updates * n / 64), and the memory is
updates * n / 4 bytes at most.

Source: GRU12 section 5, after Frieze and Kannan 1999 (cut decompositions).
"""

from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import HypothesisError, QueryError
from graphcuts_dp.learn.base import Arrays, Hypothesis
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import in_parallel

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
        self.sizes = np.bitwise_count(self.rows).sum(axis=1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def appended(self, words: Words) -> Self:
        """A sequence with one more set, given as words of `pack_bits`.

        The sets are copied, which takes less than to count what a query shares with them.
        """
        return type(self)(self.n, np.vstack([self.rows, words]))

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
        packed = self.rows.view(np.uint8)
        return np.unpackbits(packed, axis=1, count=self.n, bitorder="little").view(np.bool_)


@final
class CutSum(Hypothesis):
    """A matrix constant on blocks plus weighted cuts; entries may be negative or above 1.

    Args:
        universe: the public vertex pairs.
        start: C, over the same universe.

    Attributes:
        universe: as given.
        start: as given.
        weights: w, shape (updates,).

    Raises:
        HypothesisError: a start that does not fit the universe.
    """

    kind = "sum of cuts on blocks"

    def __init__(self, universe: Universe, start: BlockHypothesis) -> None:
        if start.universe != universe:
            raise HypothesisError(f"the start does not fit a universe of shape {universe.shape}")
        self.universe = universe
        self.start = start
        self.weights: FloatVector = np.empty(0)
        self._S, self._T = (BitSets(n) for n in universe.shape)
        # S_k & T_k where not empty (of one vertex set only), and the k of each.
        self._both = BitSets(universe.shape[0])
        self._overlapping: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    @classmethod
    def constant(cls, universe: Universe, weight: float) -> Self:
        """The same weight on every pair."""
        return cls(universe, BlockHypothesis.constant(universe, weight))

    def plus(self, query: LinearQuery, weight: float) -> Self:
        """A new hypothesis with `weight` times a cut added.

        Raises:
            QueryError: not a cut query, or one that does not fit the vertex sets.
        """
        if not isinstance(query, CutQuery):
            raise QueryError("a sum of cuts is updated by cut queries; use a DenseHypothesis")
        S, T = (pack_bits(mask) for mask in self.universe.masks(query))
        longer = type(self)(self.universe, self.start)
        longer.weights = np.append(self.weights, weight)
        longer._S, longer._T = self._S.appended(S), self._T.appended(T)
        longer._both, longer._overlapping = self._both, self._overlapping
        if self.universe.hollow and (S & T).any():
            longer._both = self._both.appended(S & T)
            longer._overlapping = np.append(self._overlapping, len(self.weights))
        return longer

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query: fast for cuts, slower for the others.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        if not isinstance(query, CutQuery):
            return float(self.universe.answers([query], self.dense())[0])
        shared = self._shared(*self.universe.masks(query))
        return self.start.estimate(query) + float(self.weights @ shared)

    def _shared(self, S_mask: BoolVector, T_mask: BoolVector) -> FloatVector:
        """How many pairs the cut between S and T shares with each cut."""
        S, T = pack_bits(S_mask), pack_bits(T_mask)
        if not self.universe.symmetric:
            count = self._S.shared(S)[0] * self._T.shared(T)[0]
            if self.universe.hollow and len(self._overlapping):
                count[self._overlapping] -= self._both.shared(S & T)[0]
            return np.asarray(count)
        if np.array_equal(T_mask, ~S_mask):
            in_S, in_T = self._S.shared(S)[0], self._T.shared(S)[0]
            count = in_S * (self._T.sizes - in_T) + in_T * (self._S.sizes - in_S)
            if len(self._overlapping):
                in_both = self._both.shared(S)[0]
                count[self._overlapping] -= in_both * (self._both.sizes - in_both)
            return np.asarray(count)
        # Pairs within both S_k and T_k, or both S and T, are counted twice, and a vertex in all
        # four sets is paired with itself; that is taken back.
        both = S & T
        asked = [S, T, both] if both.any() else [S, T]
        by_S, by_T, by_both = (sets.shared(*asked) for sets in (self._S, self._T, self._both))
        count = by_S[0] * by_T[1] + by_S[1] * by_T[0]
        count[self._overlapping] -= by_both[0] * by_both[1]
        if len(asked) == 3:
            count -= by_S[2] * by_T[2]
            count[self._overlapping] += by_both[2] * (by_both[2] - 1) / 2
        return np.asarray(count)

    def dense(self) -> FloatMatrix:
        """The matrix, shape (n1, n2): for small universes."""
        matrix = self.start.dense()
        for S, T, weight in zip(self._S.masks(), self._T.masks(), self.weights, strict=True):
            matrix += weight * self.universe.coefficients(CutQuery(S, T))
        self.universe.clear_diagonal(matrix)
        return matrix

    def arrays(self) -> Arrays:
        """See `Hypothesis`."""
        left, right = self.start.labels
        blocks: Arrays = {"left": left, "right": right, "blocks": self.start.weights}
        return blocks | {"weights": self.weights, "S": self._S.rows, "T": self._T.rows}

    @classmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """See `Hypothesis`."""
        S: Words = arrays["S"]
        T: Words = arrays["T"]
        read = cls(
            universe, BlockHypothesis.of_arrays(universe, arrays | {"weights": arrays["blocks"]})
        )
        read.weights = arrays["weights"]
        for rows, n in zip((S, T), universe.shape, strict=True):
            if rows.dtype != np.uint64 or rows.shape != (*read.weights.shape, -(-n // 64)):
                raise HypothesisError("the sets and weights of cuts do not belong together")
        if not np.isfinite(read.weights).all():
            raise HypothesisError("the weights of cuts must be finite")
        read._S, read._T = (
            BitSets(n, rows) for rows, n in zip((S, T), universe.shape, strict=True)
        )
        if universe.hollow:
            both = S & T
            read._overlapping = np.flatnonzero(both.any(axis=1))
            read._both = BitSets(universe.shape[0], both[read._overlapping])
        return read
