"""A hypothesis that is a start plus a weighted sum of cuts, stored as bit sets.

The hypothesis of the Frieze-Kannan rule (`learn.rules`) is a matrix

    H = C + sum_k w_k 1_k,    with one k for each update so far.

C is constant on blocks of vertices (`learn.blocks`), often on one block of all. 1_k is the
indicator of the pairs of cut k, those with one vertex in S_k and the other in T_k. The answer to a
cut query (S, T) needs only how many vertices S and T share with each S_k and T_k: it costs
O(updates * n / 64) word operations. The sets take at most 3 updates * n / 8 bytes (S_k, T_k, and
their intersection if it is not empty).

On an undirected or directed graph (`universe.hollow`) no vertex is paired with itself, so vertices
in both S and T need a correction. On an undirected graph (`universe.symmetric`) (i, j) and (j, i)
are one pair. `universe.masks(query)` are the truth vectors of S over rows and of T over columns.

Source: GRU12 section 5, after Frieze and Kannan 1999 (cut decompositions).
"""

from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import HypothesisError, QueryError
from graphcuts_dp.learn.base import Arrays, Hypothesis
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import in_parallel

Words = npt.NDArray[np.uint64]

# From this many words on, the work of counting is divided among processors; below, one is faster.
_PARALLEL_WORDS = 1 << 18
_BLOCK_WORDS = 1 << 16  # counted at a time: 512 KiB stay in the cache while S, T are compared


def pack_bits(mask: BoolVector) -> Words:
    """Return a truth vector as 64-bit words, the last one filled up with zeros."""
    packed = np.zeros(-(-len(mask) // 64) * 8, dtype=np.uint8)
    bits = np.packbits(mask, bitorder="little")
    packed[: len(bits)] = bits
    return packed.view(np.uint64)


@final
class BitSets:
    """An immutable sequence of vertex sets.

    Args:
        n: number of vertices, at least 1.
        rows: words of `pack_bits`, one row a set, shape (count, ceil(n / 64)); None for no sets.
            They are not copied.

    Attributes:
        n: as given.
        rows: the words, shape (count, ceil(n / 64)). Do not write to it.
        sizes: number of elements of each set, shape (count,).
    """

    def __init__(self, n: int, rows: Words | None = None) -> None:
        self.n = n
        self.rows: Words = np.empty((0, -(-n // 64)), dtype=np.uint64) if rows is None else rows
        self.sizes: IntVector = np.bitwise_count(self.rows).sum(axis=1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def appended(self, words: Words) -> Self:
        """Return a sequence with one more set, given as words of `pack_bits`.

        All sets are copied. That takes less time than one answer.
        """
        return type(self)(self.n, np.vstack([self.rows, words]))

    def shared(self, *queried: Words) -> npt.NDArray[np.float64]:
        """Count the elements that each set shares with each queried set.

        It costs count * n / 64 word operations for each queried set. One call with several queried
        sets is faster than several calls: the rows are read from memory once.

        Args:
            queried: sets as words of `pack_bits`.

        Returns:
            Counts, shape (len(queried), count).
        """
        block_rows = max(1, _BLOCK_WORDS // self.rows.shape[1])
        blocks = [
            self.rows[start : start + block_rows] for start in range(0, len(self), block_rows)
        ]

        def count(block: Words) -> npt.NDArray[np.float64]:
            counts = [
                np.bitwise_count(block & words).sum(axis=1, dtype=np.uint32) for words in queried
            ]
            return np.array(counts, dtype=np.float64)

        if not blocks:
            return np.zeros((len(queried), 0))
        if self.rows.size < _PARALLEL_WORDS:
            return np.hstack([count(block) for block in blocks])
        return np.hstack(list(in_parallel(count, blocks)))  # by threads; in the order of `blocks`

    def masks(self) -> npt.NDArray[np.bool_]:
        """Return the sets as truth vectors, shape (count, n)."""
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
        weights: w, shape (updates,). Do not write to it.

    Raises:
        HypothesisError: a start over another universe.
    """

    kind = "sum of cuts on blocks"

    def __init__(self, universe: Universe, start: BlockHypothesis) -> None:
        if start.universe != universe:
            raise HypothesisError(f"the start does not fit a universe of shape {universe.shape}")
        self.universe = universe
        self.start = start
        self.weights: FloatVector = np.empty(0)
        # S_k and T_k of each update k, in the order of `weights`.
        self._S, self._T = (BitSets(n) for n in universe.shape)
        # On one vertex set S_k and T_k may overlap. `_both` has the sets S_k & T_k that are not
        # empty; `_overlapping` has their k, increasing, shape (len(_both),). So
        # `pairs[self._overlapping] -= ...` corrects the counts of just these cuts. Both stay empty
        # on a bipartite universe.
        self._both = BitSets(universe.shape[0])
        self._overlapping: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    @classmethod
    def constant(cls, universe: Universe, weight: float) -> Self:
        """Return the hypothesis with the same weight on every pair.

        Args:
            universe: the public vertex pairs.
            weight: of each pair.
        """
        return cls(universe, BlockHypothesis.constant(universe, weight))

    def plus(self, query: LinearQuery, weight: float) -> Self:
        """Return a hypothesis with `weight` times a cut added.

        Args:
            query: a cut of the universe.
            weight: factor of the cut, of either sign.

        Raises:
            QueryError: not a cut query, or one that does not fit the vertex sets.
        """
        if not isinstance(query, CutQuery):
            raise QueryError("a sum of cuts is updated by cut queries; use a DenseHypothesis")
        S, T = (pack_bits(mask) for mask in self.universe.masks(query))
        # Objects are immutable for their users. `plus` and `of_arrays` set attributes, but only of
        # the new object that they return.
        longer = type(self)(self.universe, self.start)
        longer.weights = np.append(self.weights, weight)
        longer._S, longer._T = self._S.appended(S), self._T.appended(T)
        longer._both, longer._overlapping = self._both, self._overlapping
        if self.universe.hollow and (S & T).any():
            longer._both = self._both.appended(S & T)
            longer._overlapping = np.append(self._overlapping, len(self.weights))
        return longer

    def estimate(self, query: LinearQuery) -> float:
        """Return the answer to one query: fast for cuts, slower for others.

        Args:
            query: a query of the universe.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        if not isinstance(query, CutQuery):
            return float(self.universe.answers([query], self.dense())[0])
        pairs = self._shared_pairs(*self.universe.masks(query))
        return self.start.estimate(query) + float(self.weights @ pairs)

    def _shared_pairs(self, S_mask: BoolVector, T_mask: BoolVector) -> FloatVector:
        """Count the pairs that the cut between S and T shares with each cut, shape (updates,)."""
        if not self.universe.symmetric:
            return self._shared_ordered_pairs(S_mask, T_mask)
        if np.array_equal(T_mask, ~S_mask):
            return self._shared_with_bisection(S_mask)
        S, T = pack_bits(S_mask), pack_bits(T_mask)
        both = S & T
        # S_k_in_S: how many vertices of S_k lie in S, shape (updates,), and so on. The arrays with
        # `both_k`, of S_k & T_k, have the shape of `_overlapping`.
        if both.any():
            S_k_in_S, S_k_in_T, S_k_in_both = self._S.shared(S, T, both)
            T_k_in_S, T_k_in_T, T_k_in_both = self._T.shared(S, T, both)
            both_k_in_S, both_k_in_T, both_k_in_both = self._both.shared(S, T, both)
        else:
            S_k_in_S, S_k_in_T = self._S.shared(S, T)
            T_k_in_S, T_k_in_T = self._T.shared(S, T)
            both_k_in_S, both_k_in_T = self._both.shared(S, T)
        # Count (i, j) with i in S and j in T: once if i is in S_k and j in T_k, and once more if i
        # is in T_k and j in S_k. Each shared pair {i, j} should count once, but is counted
        # - twice if both its vertices lie in S_k & T_k: either order fits cut k;
        # - twice if both lie in S & T: (j, i) is counted as well;
        # - four times if both conditions hold.
        pairs = S_k_in_S * T_k_in_T + S_k_in_T * T_k_in_S
        # Take back half of the counts of the pairs inside S_k & T_k.
        pairs[self._overlapping] -= both_k_in_S * both_k_in_T
        if both.any():
            # Take back half of the counts of the pairs inside S & T. Let x vertices lie in all four
            # sets. Any two of them are a pair with both conditions: counted four times, and taken
            # back twice above and twice here. So these x (x - 1)/2 pairs are added once. (i, i) is
            # no pair. It is counted twice for each of the x, taken back once above and once here,
            # and so not counted in the end.
            pairs -= S_k_in_both * T_k_in_both
            pairs[self._overlapping] += both_k_in_both * (both_k_in_both - 1) / 2
        return np.asarray(pairs)

    def _shared_ordered_pairs(self, S_mask: BoolVector, T_mask: BoolVector) -> FloatVector:
        """Count shared pairs of rows in S and columns in T, on a directed or bipartite universe."""
        S, T = pack_bits(S_mask), pack_bits(T_mask)
        pairs: FloatVector = self._S.shared(S)[0] * self._T.shared(T)[0]
        if self.universe.hollow and len(self._overlapping):
            pairs[self._overlapping] -= self._both.shared(S & T)[0]
        return pairs

    def _shared_with_bisection(self, S_mask: BoolVector) -> FloatVector:
        """Count shared pairs of the cut between S and all other vertices, on an undirected one.

        This is the usual kind of cut. It needs half of the counts of the general case, since a set
        shares with the complement of S what it does not share with S.
        """
        S = pack_bits(S_mask)
        S_k_in_S, T_k_in_S = self._S.shared(S)[0], self._T.shared(S)[0]
        pairs: FloatVector = S_k_in_S * (self._T.sizes - T_k_in_S)
        pairs = pairs + T_k_in_S * (self._S.sizes - S_k_in_S)
        if len(self._overlapping):
            both_k_in_S = self._both.shared(S)[0]
            pairs[self._overlapping] -= both_k_in_S * (self._both.sizes - both_k_in_S)
        return pairs

    def dense(self) -> FloatMatrix:
        """Return the matrix, shape (n1, n2): for small universes."""
        matrix = self.start.dense()
        for S, T, weight in zip(self._S.masks(), self._T.masks(), self.weights, strict=True):
            matrix += weight * self.universe.coefficients(CutQuery(S, T))
        self.universe.clear_diagonal(matrix)
        return matrix

    def arrays(self) -> Arrays:
        """Return the block numbers and weights of the start, and the weights and sets of cuts."""
        left, right = self.start.labels
        return {
            "left": left,
            "right": right,
            "blocks": self.start.weights,
            "weights": self.weights,
            "S": self._S.rows,
            "T": self._T.rows,
        }

    @classmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """Return the hypothesis of stored arrays, see `Hypothesis.of_arrays`.

        Raises:
            HypothesisError: sets and weights that do not belong together.
        """
        start_arrays = {  # by the names of `BlockHypothesis.arrays`
            "left": arrays["left"],
            "right": arrays["right"],
            "weights": arrays["blocks"],
        }
        hypothesis = cls(universe, BlockHypothesis.of_arrays(universe, start_arrays))
        weights = arrays["weights"]
        S: Words = arrays["S"]
        T: Words = arrays["T"]
        for rows, n in zip((S, T), universe.shape, strict=True):
            if rows.dtype != np.uint64 or rows.shape != (*weights.shape, -(-n // 64)):
                raise HypothesisError("the sets and weights of cuts do not belong together")
        if not np.isfinite(weights).all():
            raise HypothesisError("the weights of cuts must be finite")
        n_left, n_right = universe.shape
        hypothesis.weights = weights
        hypothesis._S, hypothesis._T = BitSets(n_left, S), BitSets(n_right, T)
        if universe.hollow:
            both = S & T
            hypothesis._overlapping = np.flatnonzero(both.any(axis=1))
            hypothesis._both = BitSets(n_left, both[hypothesis._overlapping])
        return hypothesis
