"""A hypothesis that is constant on blocks of vertices.

A hypothesis is a public matrix of weights of vertex pairs, from which queries are answered (see
`learn.base`). Here the vertices are divided into blocks, and a pair weighs as much as the entry of
its two blocks in a small matrix W. n vertices in K blocks cost n + K^2 numbers.

Multiplicative weights multiply the weights of the pairs of a cut (S, T) by a factor. The matrix
stays constant on blocks if each block is first split by S and by T.

The public vertex pairs, the `Universe`, are of three kinds:

- undirected: one vertex set; matrices are symmetric. `universe.symmetric` and `universe.hollow` are
  both true.
- directed: one vertex set; entry (i, j) is the arc from i to j. Only `universe.hollow` is true.
- bipartite: left vertices are rows, right vertices are columns. Neither is true.

Hollow means that no vertex is paired with itself: W may have a weight for the pairs inside a block,
but the diagonal of the large matrix counts as 0.

`universe.masks(query)` are the truth vectors of S over rows and of T over columns, as the query
names them. On an undirected universe a pair {i, j} belongs to the cut if i is in S and j in T or
the other way round.
"""

from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix
from graphcuts_dp.errors import HypothesisError, QueryError
from graphcuts_dp.learn.base import Arrays, Hypothesis, tilt
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.queries.universe import Universe

Labels = npt.NDArray[np.int32]


@final
class BlockHypothesis(Hypothesis):
    """A matrix whose entry (i, j) is W[block of i, block of j].

    The arguments are not checked. `of_arrays` checks shapes, the range of the block numbers and
    finite weights of arrays from a file. It does not look for gaps in the numbers or at the
    symmetry of W: those are true of what `arrays` wrote.

    Args:
        universe: the public vertex pairs.
        labels: block number of each vertex (bipartite: of each left one; directed: of each vertex
            as a tail), shape (n,). The numbers are 0, 1, ..., without gaps.
        weights: W, finite, shape (K, K) and symmetric, or (K_left, K_right).
        right: block numbers of the right vertices (directed: of each vertex as a head of arcs);
            None if the universe is undirected.

    Attributes:
        universe: as given.
        labels: block numbers of the rows and of the columns; the same array twice if undirected.
        weights: W, read-only.
    """

    kind = "hypothesis on blocks"

    def __init__(
        self,
        universe: Universe,
        labels: npt.ArrayLike,
        weights: npt.ArrayLike,
        right: npt.ArrayLike | None = None,
    ) -> None:
        left = np.array(labels, dtype=np.int32)
        self.universe = universe
        self.labels: tuple[Labels, Labels] = (
            left,
            left if right is None else np.array(right, dtype=np.int32),
        )
        self._sizes = tuple(np.bincount(side).astype(np.float64) for side in self.labels)
        self.weights: FloatMatrix = np.array(weights, dtype=np.float64)
        for side in self.labels:
            side.flags.writeable = False
        self.weights.flags.writeable = False

    @classmethod
    def constant(cls, universe: Universe, weight: float) -> Self:
        """Return the hypothesis with the same weight on every pair: one block on each side."""
        n_left, n_right = universe.shape
        right = None if universe.symmetric else np.zeros(n_right, dtype=np.int32)
        left = np.zeros(n_left, dtype=np.int32)
        return cls(universe, left, [[weight]], right)

    def estimate(self, query: LinearQuery) -> float:
        """Return the answer to one query, in O(n + K^2) for cuts.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        if not isinstance(query, CutQuery):
            return float(self.universe.answers([query], self.dense())[0])
        S, T = self.universe.masks(query)
        answer = self._sum_between(S, T)
        if not self.universe.hollow:
            return answer
        both = S & T
        if not both.any():
            return answer
        self_weights = self.weights[self.labels[0], self.labels[1]]  # (n,), of (i, i)
        diagonal = float(np.einsum("i,i", self_weights, both))  # of the vertices in both S and T
        if not self.universe.symmetric:
            return answer - diagonal
        # Undirected. Let P be the weight of the pairs {i, j} with i and j in both. In `answer`,
        # - each such pair is counted twice, as (i, j) and (j, i), and must count once: P too much;
        # - each (i, i) with i in both is counted, and must not be: `diagonal` too much.
        # The sum over all i and j in both is 2 P + diagonal, so P + diagonal is half of that sum
        # and `diagonal`.
        return answer - (self._sum_between(both, both) + diagonal) / 2

    def _sum_between(self, S: BoolVector, T: BoolVector) -> float:
        """Return the sum of the entries with row in S and column in T, the diagonal included."""
        rows, columns = self.weights.shape
        in_S = np.bincount(self.labels[0], weights=S, minlength=rows)  # vertices of S per block
        in_T = np.bincount(self.labels[1], weights=T, minlength=columns)
        return float(in_S @ self.weights @ in_T)

    def tilted(self, query: LinearQuery, exponent: float) -> Self:
        """Return a hypothesis with weights times exp(exponent * coefficient), of the same total.

        Raises:
            QueryError: not a cut query, or one that does not fit the vertex sets.
            HypothesisError: a negative weight.
        """
        if not isinstance(query, CutQuery):
            raise QueryError("blocks are updated by cut queries; use a DenseHypothesis")
        S, T = self.universe.masks(query)
        # Split each block by S and T. `left` is the new block of each row, shape (n,). Per new
        # block: `old_left` is the old block that it is a part of, `in_S` whether it lies in S.
        if self.universe.symmetric:
            left, old_left, (in_S, in_T) = _split_blocks(self.labels[0], S, T)
            right, old_right = left, old_left
        else:
            left, old_left, (in_S,) = _split_blocks(self.labels[0], S)
            right, old_right, (in_T,) = _split_blocks(self.labels[1], T)
        coefficients = np.logical_and.outer(in_S, in_T)
        if self.universe.symmetric:
            coefficients |= coefficients.T
        split_weights = self.weights[np.ix_(old_left, old_right)]
        tilted = self._with(left, right, tilt(split_weights, coefficients, exponent))
        # The tilted hypothesis has another total, which needs the new block sizes; scale it back.
        return self._with(left, right, tilted.weights * (self.total() / tilted.total()))

    def _with(self, left: Labels, right: Labels, weights: FloatMatrix) -> Self:
        """Return a hypothesis over the same universe, with other blocks and weights."""
        return type(self)(self.universe, left, weights, None if self.universe.symmetric else right)

    def total(self) -> float:
        """Return the sum of the weights of all pairs."""
        # (K_left, K_right): how many entries of the large matrix have the weight of two blocks
        entries = np.outer(*self._sizes)
        if self.universe.hollow:
            # The diagonal is no pair. Take 1 off the entry of (block of i as a row, block of i as a
            # column), for each vertex i. `self.labels` holds the row and column index of each i;
            # `subtract.at` counts repeated indices as often as they occur.
            np.subtract.at(entries, self.labels, 1)
        # `universe.total` adds up a matrix of any shape and, if pairs are undirected, halves the
        # sum, since each pair is counted as (i, j) and (j, i).
        return self.universe.total(self.weights * entries)

    def dense(self) -> FloatMatrix:
        """Return the matrix, shape (n1, n2): for small universes."""
        matrix = self.weights[np.ix_(*self.labels)]
        self.universe.clear_diagonal(matrix)
        return matrix

    def arrays(self) -> Arrays:
        """Return the block numbers of both sides and W."""
        left, right = self.labels
        return {"left": left, "right": right, "weights": self.weights}

    @classmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """Return the hypothesis of stored arrays, see `Hypothesis.of_arrays`.

        Raises:
            HypothesisError: labels and weights that do not belong together.
        """
        left, weights = arrays["left"], arrays["weights"]
        right = None if universe.symmetric else arrays["right"]
        sides = (left, left if right is None else right)
        for labels, n, blocks in zip(sides, universe.shape, weights.shape, strict=True):
            if labels.shape != (n,) or labels.min() < 0 or labels.max() != blocks - 1:
                raise HypothesisError("labels and weights of blocks do not belong together")
        if not np.isfinite(weights).all():
            raise HypothesisError("the weights of blocks must be finite")
        return cls(universe, left, weights, right)


def _split_blocks(
    labels: Labels, *masks: BoolVector
) -> tuple[Labels, npt.NDArray[np.int64], list[BoolVector]]:
    """Split each block into the vertices inside and outside of each mask.

    The code of a vertex is its block number in binary, followed by one bit for each mask. Codes
    that occur are numbered 0, 1, ...: these are the new blocks.

    Args:
        labels: block number of each vertex, shape (n,).
        masks: truth vectors of vertex sets, shape (n,) each.

    Returns:
        The new block number of each vertex, shape (n,); the old block of each new one, shape
        (new blocks,); and for each mask, whether each new block lies in it, shape (new blocks,).
    """
    codes = labels.astype(np.int64)
    for mask in masks:
        codes = 2 * codes + mask
    block_codes = np.flatnonzero(np.bincount(codes))  # (new blocks,), sorted
    block_of_code = np.zeros(block_codes[-1] + 1, dtype=np.int32)
    block_of_code[block_codes] = np.arange(len(block_codes))
    # The last mask has the lowest bit.
    shifts = reversed(range(len(masks)))
    inside = [(block_codes >> shift & 1).astype(np.bool_) for shift in shifts]
    return block_of_code[codes], block_codes >> len(masks), inside
