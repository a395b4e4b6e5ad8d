"""A hypothesis that is constant on the blocks of a partition, and a first one from noisy sums.

Multiplying by a function of a cut's indicator keeps a matrix constant on blocks once the partition
is refined by the cut's two sets. n vertices in K blocks cost n + K^2 numbers.

A first hypothesis can be made of noisy sums between public groups. The potential of an update rule
is a distance between the truth D and the hypothesis h. Let h be the same, h_ab > 0, on all pairs of
a cell of the table of groups, d the density of all pairs, M_ab the weight of D in a cell, and N_ab
its number of pairs. For weights in [0, 1]:

1. Squares (Frieze-Kannan): the bound on ||D - d||^2 uses only that sum D_ij^2 <= M. With the same
   step ||D - h||^2 exceeds it by sum_ab N_ab (h_ab^2 - d^2) + sum_ab M_ab 2 (d - h_ab) at most.
2. Relative entropy (multiplicative weights), where h has the total of d: KL(D^||h^) is
   KL(D^||d^) + sum_ab (M_ab/M) ln(d/h_ab), exactly.

So the start is as near as one more number says, G = sum_ab M_ab c_ab with public c_ab. A pair lies
in one cell, so it moves G by at most max |c_ab|: a noisy value is cheap, and no union over cells
is needed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.learn.base import Arrays, Hypothesis, tilt
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.cells import CellTree

Labels = npt.NDArray[np.int32]
Distance = Literal["squares", "relative entropy"]

GAIN_STEPS = 1024  # that coefficients of G are counted in
MOST_GROUPS = 2048  # of a side
_LEAST = 1 / 64  # of the density of all pairs: bounds ln(d/h_ab)


@final
class BlockHypothesis(Hypothesis):
    """Pair {i,j} weighs W[block of i, block of j].

    Args:
        universe: the public vertex pairs.
        labels: block number of each vertex (left ones), shape (n,), integers from 0 on, each
            number up to the largest used.
        right: block numbers of the right vertices (of the vertices as heads of arcs); None if the
            universe is plain.
        weights: W, shape (K, K) and symmetric, or (K_left, K_right); finite.

    Attributes:
        universe: as given.
        labels: block numbers of the vertices of either side, the same array twice if plain.
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
        """One block (on each side): the same weight on every pair."""
        n_left, n_right = universe.shape
        right = None if universe.symmetric else np.zeros(n_right, dtype=np.int32)
        left = np.zeros(n_left, dtype=np.int32)
        return cls(universe, left, [[weight]], right)

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query; O(n + K^2) for cuts.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        if not isinstance(query, CutQuery):
            return float(self.universe.answers([query], self.dense())[0])
        S, T = self.universe.masks(query)
        answer = self._between(S, T)
        if not self.universe.hollow or not (both := S & T).any():
            return answer
        diagonal = float(np.einsum("i,i", self.weights[self.labels], both))
        if not self.universe.symmetric:
            return answer - diagonal
        # Pairs inside both were counted twice, and vertices of both with themselves once.
        return answer - (self._between(both, both) + diagonal) / 2

    def _between(self, S: BoolVector, T: BoolVector) -> float:
        """The sum of W over S and T, the diagonal included."""
        rows, columns = self.weights.shape
        left = np.bincount(self.labels[0], weights=S, minlength=rows)
        right = np.bincount(self.labels[1], weights=T, minlength=columns)
        return float(left @ self.weights @ right)

    def tilted(self, query: LinearQuery, exponent: float) -> Self:
        """A new hypothesis, weights times exp(exponent * coefficient), with the same total.

        Raises:
            QueryError: not a cut query, or one that does not fit the vertex sets.
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
        inside = np.logical_and.outer(in_S, in_T)
        if self.universe.symmetric:
            inside |= inside.T
        weights = self.weights[np.ix_(rows, columns)]
        tilted = self._like(left, right, tilt(weights, inside, exponent))
        return self._like(left, right, tilted.weights * (self.total() / tilted.total()))

    def _like(self, left: Labels, right: Labels, weights: FloatMatrix) -> Self:
        return type(self)(self.universe, left, weights, None if self.universe.symmetric else right)

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

    def arrays(self) -> Arrays:
        """See `Hypothesis`."""
        left, right = self.labels
        return {"left": left, "right": right, "weights": self.weights}

    @classmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """See `Hypothesis`."""
        left, weights = arrays["left"], arrays["weights"]
        right = None if universe.symmetric else arrays["right"]
        sides = (left, left if right is None else right)
        for labels, n, blocks in zip(sides, universe.shape, weights.shape, strict=True):
            if labels.shape != (n,) or labels.min() < 0 or labels.max() != blocks - 1:
                raise HypothesisError("labels and weights of blocks do not belong together")
        if not np.isfinite(weights).all():
            raise HypothesisError("the weights of blocks must be finite")
        return cls(universe, left, weights, right)


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


@final
@dataclass(frozen=True, eq=False)
class BlockStart:
    """A density for each two groups, of the same total weight as one density for all.

    Attributes:
        universe: the public vertex pairs.
        labels: of the rows, and of the columns: the number of each vertex's group.
        weights: h_ab, shape (groups, groups); symmetric where the universe is.
        cells: the codes a and b of each cell, and how many pairs it holds; shape (cells,) each.
        density: d.
    """

    universe: Universe
    labels: tuple[Labels, Labels]
    weights: FloatMatrix
    cells: tuple[IntVector, IntVector, IntVector]
    density: float

    @cached_property
    def _own(self) -> FloatVector:
        a, b, _ = self.cells
        return np.asarray(self.weights[a, b])

    def coefficients(self, distance: Distance) -> IntVector:
        """c_ab of each cell, rounded up to whole numbers of 1/1024."""
        if distance == "squares":
            found = 2 * (self.density - self._own)
        else:
            found = np.log(self.density / self._own)
        return np.ceil(found * GAIN_STEPS).astype(np.int64)

    def potential(
        self,
        distance: Distance,
        *,
        flat: float,
        gain: float,
        total_weight: float,
        total_error: float,
    ) -> float:
        """An upper bound on the distance between the truth and this start.

        Args:
            distance: which one.
            flat: an upper bound on that between the truth and one density for all pairs.
            gain: an upper bound on G.
            total_weight: M or a noisy value of it.
            total_error: how far the true M may be from that.
        """
        if distance == "squares":
            pairs = self.cells[2]
            return max(0.0, flat + float(pairs @ (self._own**2 - self.density**2)) + gain)
        most = float(self.coefficients(distance).max()) / GAIN_STEPS  # a mean is not larger
        total = total_weight - total_error if gain > 0 else total_weight + total_error
        return max(0.0, flat + (min(most, gain / total) if total > 0 else most))

    def blocks(self) -> BlockHypothesis:
        """The start as a hypothesis that multiplicative weights can tilt."""
        right = None if self.universe.symmetric else self.labels[1]
        return BlockHypothesis(self.universe, self.labels[0], self.weights, right)


def start_from_sums(
    universe: Universe,
    cells: CellTree,
    codes: tuple[IntVector, IntVector],
    sums: npt.ArrayLike,
    *,
    deviation: float,
    total_weight: float,
) -> BlockStart:
    """The start that noisy sums between groups suggest. Post-processing.

    The density of a cell is drawn towards that of all pairs, the more the less its sum says:
    h = d + b^2/(b^2 + v) (seen - d), where v is the variance of the noise on the density of the
    cell and b^2 how much the densities of cells vary beyond that: by the method of moments, from
    the squares of the sums less what d would give and less the variance of the noise. It is kept
    above d/64, and scaled to the total weight.

    Args:
        universe: the public vertex pairs.
        cells: the public cells; those of the finest level are used.
        codes: number of the group of each row and of each column.
        sums: noisy weight of each of these cells, in units of the largest weight.
        deviation: of their noise.
        total_weight: of all pairs together, in (0, X].

    Raises:
        ParameterError: too many groups.
    """
    place = cells.depth - 1
    if max(cells.shape(place)) > MOST_GROUPS:
        raise ParameterError(
            f"a session starts from at most {MOST_GROUPS:,} groups; give it a coarser level"
        )
    a, b = cells.cells(place)
    pairs = cells.pairs(place)
    density = total_weight / universe.size
    off = np.asarray(sums, dtype=np.float64) - density * pairs
    beyond = float((off**2).sum()) - len(off) * deviation**2
    spread = max(0.0, beyond / float((pairs.astype(np.float64) ** 2).sum()))
    weight = spread / (spread + (deviation / pairs) ** 2)
    kept = np.maximum(density + weight * off / pairs, density * _LEAST)
    kept = np.minimum(kept, 1.0)
    kept *= total_weight / float(pairs @ kept)
    # Groups without a pair of their own, such as one vertex, have no cell: any number does.
    weights = cells.matrix(place, kept - density) + density
    used = [np.unique(each, return_inverse=True) for each in codes]
    number = [np.full(n, -1, dtype=np.int64) for n in weights.shape]
    for places, (present, _) in zip(number, used, strict=True):
        places[present] = np.arange(len(present))
    return BlockStart(
        universe=universe,
        labels=(used[0][1].astype(np.int32), used[1][1].astype(np.int32)),
        weights=weights[np.ix_(used[0][0], used[1][0])],
        cells=(number[0][a], number[1][b], pairs),
        density=density,
    )
