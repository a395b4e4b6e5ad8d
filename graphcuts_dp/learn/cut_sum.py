"""A hypothesis that is a start plus a weighted sum of cuts, stored as bit sets.

H = C + sum_k w_k 1_k, where C is a Chung-Lu matrix or constant between public groups, and 1_k is
the indicator of the pairs between S_k and T_k. The answer to a cut query needs only how many
vertices its sets share with each S_k and T_k, so it costs O(updates * n / 64), and the memory is
updates * n / 4 bytes at most.

Source: GRU12 section 5, after Frieze and Kannan 1999 (cut decompositions).
"""

from collections.abc import Sequence
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, HypothesisError, ParameterError, QueryError
from graphcuts_dp.learn.bit_sets import BitSets, pack_bits
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.chung_lu import ChungLu, answer_bilinear
from graphcuts_dp.learn.storage import Arrays, Form, kind_of, pack, unpack
from graphcuts_dp.pairs.queries import CutQuery, LinearQuery
from graphcuts_dp.pairs.universe import Universe

_KIND = "sum of cuts"
_ON_BLOCKS = "sum of cuts on blocks"


@final
class CutSum:
    """A Chung-Lu matrix, or one of blocks, plus weighted cuts; entries may be negative or above 1.

    Args:
        universe: the public vertex pairs.
        start: C. Two vectors of a Chung-Lu matrix must be equal if the universe is plain; blocks
            must be of the same universe.

    Attributes:
        universe: as given.
        start: as given.
        weights: w, shape (updates,).

    Raises:
        HypothesisError: a start that does not fit the universe.
    """

    def __init__(self, universe: Universe, start: ChungLu | BlockHypothesis) -> None:
        if isinstance(start, BlockHypothesis):
            fits = start.universe == universe
        else:
            fits = (len(start.a), len(start.b)) == universe.shape
            if fits and universe.symmetric and (start.a != start.b).any():
                raise HypothesisError("the start of a plain universe needs the same degrees twice")
        if not fits:
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
        """The same weight in [0, 1] on every pair."""
        return cls(universe, ChungLu.constant(universe.shape, weight))

    def plus(self, query: LinearQuery, weight: float) -> Self:
        """A new hypothesis with `weight` times a cut added.

        Raises:
            QueryError: not a cut query, or one that does not fit the vertex sets.
        """
        if not isinstance(query, CutQuery):
            raise QueryError("a sum of cuts is updated by cut queries; use a DenseHypothesis")
        S, T = self.universe.masks(query)
        return self._with_cut(pack_bits(S), pack_bits(T), weight)

    def _with_cut(
        self, S: npt.NDArray[np.uint64], T: npt.NDArray[np.uint64], weight: float
    ) -> Self:
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
        factors, is_cut = query.factors(self.universe.space), isinstance(query, CutQuery)
        if factors is None or (factors.overlap is not None and not is_cut):
            return self.universe.total(self.universe.coefficients(query) * self.dense())
        hollow = self.universe.hollow
        start = answer_bilinear(factors, hollow, self.start.bilinear, self.start.diagonal_sum)
        if is_cut:
            shared = self._cuts_of_cut(factors.left != 0, factors.right != 0)
        else:
            shared = self._cuts_of_rank_one(factors.left, factors.right)
        return start + float(self.weights @ shared)

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries, one after the other."""
        return np.array([self.estimate(query) for query in queries], dtype=np.float64)

    def _cuts_of_cut(self, S_mask: BoolVector, T_mask: BoolVector) -> FloatVector:
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

    def _cuts_of_rank_one(self, u: FloatVector, v: FloatVector) -> FloatVector:
        """The answer of u' A v on each cut's indicator: u' (1_k) v without the diagonal."""
        if not self.universe.symmetric:
            product = (self._S.dots(u[:, None]) * self._T.dots(v[:, None]))[:, 0]
            if self.universe.hollow and len(self._overlapping):
                product[self._overlapping] -= self._both.dots((u * v)[:, None])[:, 0]
            return np.asarray(product, dtype=np.float64)
        vectors = np.stack([u, v, u * v], axis=1)
        S, T, both = (sets.dots(vectors) for sets in (self._S, self._T, self._both))
        count = S[:, 0] * T[:, 1] + S[:, 1] * T[:, 0]
        count[self._overlapping] -= both[:, 0] * both[:, 1] + both[:, 2]
        return np.asarray(count, dtype=np.float64)

    def dense(self) -> FloatMatrix:
        """The matrix, shape (n1, n2): for small universes."""
        matrix = self.start.dense()
        for S, T, weight in zip(self._S.masks(), self._T.masks(), self.weights, strict=True):
            matrix += weight * self.universe.coefficients(CutQuery(S, T))
        self.universe.clear_diagonal(matrix)
        return matrix

    def to_bytes(self) -> bytes:
        """The state; see `Hypothesis`."""
        cuts: Arrays = {"weights": self.weights, "S": self._S.rows, "T": self._T.rows}
        if isinstance(self.start, BlockHypothesis):
            left, right = self.start.labels
            blocks: Arrays = {"left": left, "right": right, "blocks": self.start.weights}
            return pack(_ON_BLOCKS, self.universe, blocks | cuts)
        return pack(_KIND, self.universe, {"a": self.start.a, "b": self.start.b} | cuts)

    @classmethod
    def from_bytes(cls, data: bytes, universe: Universe) -> Self:
        """The hypothesis that `to_bytes` wrote.

        Raises:
            FileFormatError: see `Hypothesis`.
        """
        n_left, n_right = universe.shape
        on_blocks = kind_of(data) == _ON_BLOCKS
        starts: Form = (
            {
                "left": (np.int32, (n_left,)),
                "right": (np.int32, (n_right,)),
                "blocks": (np.float64, (None, None)),
            }
            if on_blocks
            else {"a": (np.float64, (n_left,)), "b": (np.float64, (n_right,))}
        )
        form: Form = {
            **starts,
            "weights": (np.float64, (None,)),
            "S": (np.uint64, (None, -(-n_left // 64))),
            "T": (np.uint64, (None, -(-n_right // 64))),
        }
        found = unpack(data, _ON_BLOCKS if on_blocks else _KIND, universe, form)
        S: npt.NDArray[np.uint64] = found["S"]
        T: npt.NDArray[np.uint64] = found["T"]
        if not len(S) == len(T) == len(found["weights"]):
            raise FileFormatError("the stored hypothesis is damaged: its cuts differ in number")
        for rows, n in ((S, n_left), (T, n_right)):
            if n % 64 and len(rows) and (rows[:, -1] >> np.uint64(n % 64)).any():
                raise FileFormatError(
                    "the stored hypothesis is damaged: a set has unknown vertices"
                )
        start: ChungLu | BlockHypothesis
        try:
            if on_blocks:
                right = None if universe.symmetric else found["right"]
                start = BlockHypothesis(universe, found["left"], found["blocks"], right)
            else:
                start = ChungLu(found["a"], found["b"])
            read = cls(universe, start)
        except (HypothesisError, ParameterError) as problem:
            raise FileFormatError(f"the stored hypothesis is damaged: {problem}") from problem
        read.weights = found["weights"]
        read._S, read._T = BitSets(n_left, S), BitSets(n_right, T)
        if universe.hollow:
            both = S & T
            read._overlapping = np.flatnonzero(both.any(axis=1))
            read._both = BitSets(n_left, both[read._overlapping])
        return read
