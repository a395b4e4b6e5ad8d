"""A hypothesis that is constant on the blocks of a partition of the vertices.

Multiplying by a function of a cut's indicator keeps a matrix constant on blocks once the partition
is refined by the cut's two sets. n vertices in K blocks cost n + K^2 numbers.
"""

from collections.abc import Sequence
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, HypothesisError, QueryError
from graphcuts_dp.learn.bit_sets import tilt
from graphcuts_dp.learn.chung_lu import answer_bilinear
from graphcuts_dp.learn.storage import Form, pack, unpack
from graphcuts_dp.pairs.queries import CutQuery, LinearQuery
from graphcuts_dp.pairs.universe import Universe

_KIND = "hypothesis on blocks"
Labels = npt.NDArray[np.int32]


@final
class BlockHypothesis:
    """Pair {i,j} weighs W[block of i, block of j].

    Args:
        universe: the public vertex pairs.
        labels: block number of each vertex (left ones), shape (n,), integers from 0 on, each
            number up to the largest used.
        right: block numbers of the right vertices (of the vertices as heads of arcs); None if the
            universe is plain.
        weights: W, shape (K, K) and symmetric, or (K_left, K_right); finite.
        max_blocks: largest number of blocks that an update may make on a side; W takes
            8 max_blocks^2 bytes at most.

    Attributes:
        universe: as given.
        labels: block numbers of the vertices of either side, the same array twice if plain.
        weights: W, read-only.
        max_blocks: as given.

    Raises:
        HypothesisError: labels or weights that do not fit each other or the universe.
    """

    def __init__(
        self,
        universe: Universe,
        labels: npt.ArrayLike,
        weights: npt.ArrayLike,
        right: npt.ArrayLike | None = None,
        *,
        max_blocks: int = 2048,
    ) -> None:
        sides = [_block_labels(labels, universe.shape[0])]
        if universe.symmetric is not (right is None):
            raise HypothesisError(
                "block labels of right vertices go with a bipartite or directed universe"
            )
        sides.append(sides[0] if right is None else _block_labels(right, universe.shape[1]))
        self.universe = universe
        self.max_blocks = max_blocks
        self.labels: tuple[Labels, Labels] = (sides[0], sides[1])
        self._sizes = tuple(np.bincount(side).astype(np.float64) for side in sides)
        self.weights: FloatMatrix = np.array(weights, dtype=np.float64)
        blocks = len(self._sizes[0]), len(self._sizes[1])
        if self.weights.shape != blocks or not np.isfinite(self.weights).all():
            raise HypothesisError(f"the weights of blocks are a finite matrix of shape {blocks}")
        if right is None and (self.weights != self.weights.T).any():
            raise HypothesisError(
                "the weights of blocks must be symmetric if the universe is plain"
            )
        self.weights.flags.writeable = False

    @classmethod
    def constant(cls, universe: Universe, weight: float, *, max_blocks: int = 2048) -> Self:
        """One block (on each side): the same weight on every pair."""
        n_left, n_right = universe.shape
        right = None if universe.symmetric else np.zeros(n_right, dtype=np.int32)
        left = np.zeros(n_left, dtype=np.int32)
        return cls(universe, left, [[weight]], right, max_blocks=max_blocks)

    @property
    def blocks(self) -> int:
        """Number of blocks, of the side that has more."""
        return max(len(sizes) for sizes in self._sizes)

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query; O(n + K^2) for those with factors.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        factors, hollow = query.factors(self.universe.space), self.universe.hollow
        if factors is None:
            return self.universe.total(self.universe.coefficients(query) * self.dense())
        return answer_bilinear(factors, hollow, self.bilinear, self.diagonal_sum)

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries, one after the other."""
        return np.array([self.estimate(query) for query in queries], dtype=np.float64)

    def bilinear(self, u: FloatVector, v: FloatVector) -> float:
        """The form u' W v over vertices, the diagonal included; O(n + K^2)."""
        rows, columns = self.weights.shape
        left = np.bincount(self.labels[0], weights=u, minlength=rows)
        right = np.bincount(self.labels[1], weights=v, minlength=columns)
        return float(left @ self.weights @ right)

    def diagonal_sum(self, x: FloatVector) -> float:
        """The sum of W_ii x_i over vertices."""
        return float(np.einsum("i,i", self.weights[self.labels], x))

    def tilted(self, query: LinearQuery, exponent: float) -> Self:
        """A new hypothesis, weights times exp(exponent * coefficient), with the same total.

        Raises:
            QueryError: not a cut query, or one that does not fit the vertex sets.
            HypothesisError: more blocks than `max_blocks`.
        """
        if not isinstance(query, CutQuery):
            raise QueryError("blocks are updated by cut queries; use a DenseHypothesis")
        S, T = self.universe.masks(query)
        if not self.universe.symmetric:
            left, rows, (in_S,) = _refined(self.labels[0], S)
            right, columns, (in_T,) = _refined(self.labels[1], T)
        else:
            left, rows, (in_S, in_T) = _refined(self.labels[0], S, T)
            right, columns = left, rows
        if max(len(rows), len(columns)) > self.max_blocks:
            raise HypothesisError(
                f"this update makes more than max_blocks={self.max_blocks} blocks; raise the limit,"
                " or use a DenseHypothesis, or Frieze-Kannan, which needs no blocks"
            )
        inside = np.logical_and.outer(in_S, in_T)
        if self.universe.symmetric:
            inside |= inside.T
        weights = self.weights[np.ix_(rows, columns)]
        tilted = self._like(left, right, tilt(weights, inside, exponent))
        return self._like(left, right, tilted.weights * (self.total() / tilted.total()))

    def _like(self, left: Labels, right: Labels, weights: FloatMatrix) -> Self:
        return type(self)(
            self.universe,
            left,
            weights,
            None if self.universe.symmetric else right,
            max_blocks=self.max_blocks,
        )

    def total(self) -> float:
        """Sum of the weights of all pairs."""
        counts = np.outer(*self._sizes)
        if self.universe.hollow:
            np.subtract.at(counts, self.labels, 1)
        return self.universe.total(self.weights * counts)

    def dense(self) -> FloatMatrix:
        """The matrix, shape (n1, n2): for small universes."""
        matrix = self.weights[np.ix_(*self.labels)]
        self.universe.clear_diagonal(matrix)
        return matrix

    def to_bytes(self) -> bytes:
        """The state; see `Hypothesis`."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "left": self.labels[0],
            "right": self.labels[1],
            "weights": self.weights,
            "max_blocks": np.array(self.max_blocks, dtype=np.int64),
        }
        return pack(_KIND, self.universe, arrays)

    @classmethod
    def from_bytes(cls, data: bytes, universe: Universe) -> Self:
        """The hypothesis that `to_bytes` wrote.

        Raises:
            FileFormatError: see `Hypothesis`.
        """
        form: Form = {
            "left": (np.int32, (universe.shape[0],)),
            "right": (np.int32, (universe.shape[1],)),
            "weights": (np.float64, (None, None)),
            "max_blocks": (np.int64, ()),
        }
        found = unpack(data, _KIND, universe, form)
        try:
            right = None if universe.symmetric else found["right"]
            limit = int(found["max_blocks"])
            return cls(universe, found["left"], found["weights"], right, max_blocks=limit)
        except HypothesisError as problem:
            raise FileFormatError(f"the stored hypothesis is damaged: {problem}") from problem


def _block_labels(labels: npt.ArrayLike, n: int) -> Labels:
    found = np.asarray(labels)
    if found.shape != (n,) or found.dtype.kind not in "iu":
        raise HypothesisError(f"block labels are {n} integers")
    # A hypothesis has no more blocks than vertices, so that no label can ask for much memory.
    if found.min() < 0 or found.max() >= n or not np.bincount(found).all():
        raise HypothesisError("block labels must be 0, 1, ... with none left out")
    copy = found.astype(np.int32)
    copy.flags.writeable = False
    return copy


def _refined(
    labels: Labels, *masks: BoolVector
) -> tuple[Labels, npt.NDArray[np.int64], list[BoolVector]]:
    """New labels; for each new block its old one; and whether it lies in each mask."""
    codes = labels.astype(np.int64)
    for mask in masks:
        codes = 2 * codes + mask
    used = np.flatnonzero(np.bincount(codes))
    number = np.zeros(used[-1] + 1, dtype=np.int32)
    number[used] = np.arange(len(used))
    inside = [(used >> shift & 1).astype(np.bool_) for shift in reversed(range(len(masks)))]
    return number[codes], used >> len(masks), inside
