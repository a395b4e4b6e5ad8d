"""The model of a sparse release: kept edges, and a block model of the weight that they leave.

A sparse release does not hold a noisy number for each pair. It holds *kept edges* (pairs above a
threshold, see `kept_edges`), noisy degrees, and noisy sums between groups of vertices.
`SparseModel` is fitted to them. Its expected weights are

    x_ij = kept_ij + r_i c_j B[a_i, b_j],

where the second term is the *residual weight*: a degree-corrected block model with row groups a,
column groups b, shares r and c of the vertices in their groups, and block weights B. This matrix is
never written out in full. Fields whose names begin with `left` are about the residual part, which
kept edges leave; files have these names. `parts` of files are their arrays, and have nothing to do
with vertex parts.

Sums over cuts are computed from *vertex parts*: a partition of the vertices such that each set of
each cut is a union of parts. `VertexParts` adds numbers up over parts once, `CutSets` says which
parts belong to the sets of which cut (`cut_sets` builds both), and `SparseModel.expected` computes
the weights of the cuts. Read `SparseModel` first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolMatrix, FloatMatrix, FloatVector, IndexArray, IntVector
from graphcuts_dp.estimate.misfit import usual_modularity, volume_at_stake
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Space

# Names of the arrays in files, which are those of the fields. Those of the columns are stored for
# directed and bipartite graphs only: of an undirected graph they equal those of the rows.
_ARRAYS = (
    "rows",
    "columns",
    "weights",
    "spread",
    "chances",
    "row_codes",
    "row_factors",
    "row_spread",
    "blocks",
    "left_points",
    "left_shares",
)
_FULL = 1 - 1e-9  # share from which on a set has all of a group
_COLUMN_ARRAYS = ("column_codes", "column_factors", "column_spread")


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class SparseModel:
    """Expected weights x_ij = kept_ij + r_i c_j B[a_i, b_j] of all pairs.

    Attributes:
        space: the vertex sets, which say what pairs there are.
        max_weight: public largest weight, or None if there is none.
        integral: whether weights are whole numbers; for those who draw graphs from the model.
        rows: row of each kept pair (the smaller vertex of an undirected graph), shape (kept,).
        columns: column of each kept pair, shape (kept,).
        weights: expected weight of each kept pair, >= 0, shape (kept,).
        spread: variance of the weight of each kept pair, shape (kept,).
        chances: probability that each kept pair is an edge, shape (kept,).
        row_codes: a, the group of each row, shape (rows,).
        column_codes: b, the group of each column; one object with `row_codes` for an undirected
            graph.
        row_factors: r, which adds up to 1 over each group, shape (rows,).
        column_factors: c; one object with `row_factors` for an undirected graph.
        blocks: B, shape (row groups, column groups); symmetric for an undirected graph.
        row_spread: variance of the residual weight of each row that its noisy degree leaves.
        column_spread: the same of each column.
        left_mean: mean weight of an edge of the residual part.
        left_square: mean squared weight of such an edge.
        left_points: weights that such an edge may have, shape (p,).
        left_shares: probability of each of these weights; adds up to 1, shape (p,).
    """

    space: Space
    max_weight: float | None
    integral: bool
    rows: IndexArray
    columns: IndexArray
    weights: FloatVector
    spread: FloatVector
    chances: FloatVector
    row_codes: IntVector
    column_codes: IntVector
    row_factors: FloatVector
    column_factors: FloatVector
    blocks: FloatMatrix
    row_spread: FloatVector
    column_spread: FloatVector
    left_mean: float
    left_square: float
    left_points: FloatVector
    left_shares: FloatVector

    @property
    def codes(self) -> tuple[IntVector, IntVector]:
        """Groups of the rows and of the columns."""
        return self.row_codes, self.column_codes

    @cached_property
    def layout(self) -> Layout:
        """The pairs as positions in a matrix."""
        return Layout.of(self.space)

    @property
    def symmetric(self) -> bool:
        """True for an undirected graph, whose pairs have no direction."""
        return self.layout.symmetric

    @cached_property
    def kept_matrix(self) -> sp.csr_array:
        """Weights of kept pairs as a sparse matrix; symmetric for an undirected graph."""
        rows, columns, values = self.rows, self.columns, self.weights
        if self.symmetric:
            # Both directions at once: adding the transpose would drop pairs of weight 0.
            rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
            values = np.concatenate([values, values])
        return sp.coo_array((values, (rows, columns)), shape=self.layout.shape).tocsr()

    @cached_property
    def self_weights(self) -> FloatVector:
        """r_i c_i B[a_i, b_i] of each vertex with itself, to be subtracted: it is no pair."""
        if not self.layout.hollow:
            return np.zeros(self.layout.shape[0])
        self_weights: FloatVector = (
            self.row_factors * self.column_factors * self.blocks[self.row_codes, self.column_codes]
        )
        return self_weights

    def degrees(self) -> tuple[FloatVector, FloatVector]:
        """Return the expected row sums and column sums."""
        rows = self.row_factors * self.blocks.sum(axis=1)[self.row_codes] - self.self_weights
        rows = rows + self.kept_matrix.sum(axis=1)
        if self.symmetric:
            return rows, rows
        columns = self.column_factors * self.blocks.sum(axis=0)[self.column_codes]
        if self.layout.hollow:
            columns = columns - self.self_weights
        return rows, columns + self.kept_matrix.sum(axis=0)

    def residual_at(self, rows: IntVector, columns: IntVector) -> FloatVector:
        """Return the residual weight of single pairs, given by their rows and columns."""
        residual: FloatVector = (
            self.row_factors[rows]
            * self.column_factors[columns]
            * self.blocks[self.row_codes[rows], self.column_codes[columns]]
        )
        return residual

    def expected(self, cuts: "CutSets") -> "ExpectedCuts":
        """Return the expected weight of each cut, each pair once, and how far it may be off.

        The variance by chance is the sum of these, of things that vary independently:

        - the number and the weights of the residual edges. Their number on a set of pairs is
          Poisson, with mean (residual weight)/(mean weight of an edge), and each has an independent
          weight; so the variance is (that mean) (mean squared weight of an edge). If weights have a
          maximum, a pair cannot hold more, and the variance is less by the mean share of the
          largest weight that the pairs of the cut hold. Degrees are measured: what they explain of
          the cut is left out;
        - the residual degrees, by `row_spread` and `column_spread`;
        - the weights of kept pairs, by `spread`.

        What degrees explain: let d_i be the residual degree of vertex i, D the sum of all d_i, p_i
        the share of d_i that lies in the cut, and W the residual weight of the cut. By weighted
        least squares, the cut is nearly the sum over its pairs (i, j) of u_i + u_j, with
        u_i = p_i - W/D; half of W/D if rows and columns have degrees of their own. See
        `misfit.MatrixMisfit`, which does the same with a weight for each pair.
        """
        # Shares of the groups in S, T and both: (cuts, groups).
        in_S, in_T = cuts.by_group("S", self.row_factors), cuts.by_group("T", self.column_factors)
        in_both = cuts.by_group("both", self.row_factors)
        self_weight = cuts.by_group("both", self.self_weights).sum(axis=1)

        # Residual weight from each row group to T, and from S to each column group; (cuts, groups).
        weight_to_T, weight_to_S = in_T @ self.blocks.T, in_S @ self.blocks
        # From S to T: each column group has the share in_T of its weight in T.
        residual = (weight_to_S * in_T).sum(axis=1) - self_weight
        if self.symmetric:  # pairs within both sets were counted twice
            residual -= (((in_both @ self.blocks) * in_both).sum(axis=1) - self_weight) / 2
        residual = np.maximum(residual, 0)

        # p of the vertices in S, in T and in both, by groups.
        volumes = self.blocks.sum(axis=1), self.blocks.sum(axis=0)
        p_S, p_T = _shares(weight_to_T, volumes[0]), _shares(weight_to_S, volumes[1])
        p_both = p_S + p_T - _shares(in_both @ self.blocks, volumes[0]) if self.symmetric else p_S
        spread_S, spread_T, spread_both = (
            cuts.by_group("S", self.row_spread),
            cuts.by_group("T", self.column_spread),
            cuts.by_group("both", self.row_spread),
        )
        share = (residual / max(float(volumes[0].sum()), 1e-300))[:, None]  # W/D
        squares_S, squares_T = in_S * volumes[0] * p_S**2, in_T * volumes[1] * p_T**2
        if self.symmetric:
            squares_both = in_both * volumes[0]
            explained = (squares_S - squares_both * p_S**2).sum(axis=1)
            explained += (squares_T - squares_both * p_T**2).sum(axis=1)
            explained += (squares_both * p_both**2).sum(axis=1)
            explained -= 2 * share[:, 0] * residual
            only_S, only_T = spread_S - spread_both, spread_T - spread_both
            of_degrees = (only_S * (p_S - share) ** 2 + only_T * (p_T - share) ** 2).sum(axis=1)
            of_degrees += (spread_both * (p_both - share) ** 2).sum(axis=1)
            outside = self.row_spread.sum() - (only_S + only_T + spread_both).sum(axis=1)
            of_degrees += np.maximum(outside, 0) * share[:, 0] ** 2
        else:
            half = share / 2
            explained = squares_S.sum(axis=1) + squares_T.sum(axis=1) - share[:, 0] * residual
            of_degrees = (spread_S * (p_S - half) ** 2 + spread_T * (p_T - half) ** 2).sum(axis=1)
            outside = self.row_spread.sum() - spread_S.sum(axis=1)
            outside += self.column_spread.sum() - spread_T.sum(axis=1)
            of_degrees += np.maximum(outside, 0) * half[:, 0] ** 2
        of_edges = np.maximum(residual - explained, 0) * self._variance_over_weight(cuts, residual)
        kept_weight, kept_variance = (sums.sums(cuts.S, cuts.T) for sums in cuts.parts.kept)
        variance = np.maximum(kept_variance, 0) + of_edges + of_degrees
        return ExpectedCuts(residual + kept_weight, variance, self._structure(cuts))

    def _variance_over_weight(self, cuts: "CutSets", residual: FloatVector) -> FloatVector:
        """Return the variance of the residual weight of cuts over its mean, degrees aside."""
        ratio = np.full(len(residual), self.left_square / max(self.left_mean, 1e-300))
        if self.max_weight is None:
            return ratio
        in_S, in_T, in_both = (cuts.by_group(of).sum(axis=1) for of in ("S", "T", "both"))
        pairs = np.maximum(in_S * in_T, 1.0)
        if self.symmetric:
            pairs = np.maximum(in_S * in_T - in_both * (in_both + 1) / 2, 1.0)
        return np.asarray(ratio * (1 - np.minimum(residual / (pairs * self.max_weight), 1.0)))

    def _structure(self, cuts: "CutSets") -> FloatVector:
        """Return the variance of cuts by structure that the model may lack, see `misfit`.

        Within each group, structure may have moved its share of the volume that is at stake
        (`volume_at_stake`). Sums between groups are known; what S and T have of two different
        groups may lie anywhere in the cell, and counts as one more volume, evenly over the groups.
        It is 0 where S or T is a single vertex with all others in the other set.
        """
        in_S, in_T = cuts.by_group("S", self.row_factors), cuts.by_group("T", self.column_factors)
        volumes = self.blocks.sum(axis=1), self.blocks.sum(axis=0)
        total = float(volumes[0].sum())
        edges = total / max(self.left_mean, 1e-300) if total else 0.0
        modularity = usual_modularity(edges / max(min(self.layout.shape), 1), 0.0)
        sizes_S, sizes_T, sizes_both = (cuts.by_group(of).sum(axis=1) for of in ("S", "T", "both"))
        if self.symmetric and self.blocks.shape[0] > 1:
            stake = volume_at_stake(in_S * volumes[0], in_T * volumes[0], volumes[0])
            stake = np.where((in_S > _FULL) & (in_T > _FULL), 0.0, stake)
            common = (cuts.by_group("both", self.row_factors) > 0) & (in_S < _FULL)
            stake = np.where(common, np.minimum(in_S, in_T) * volumes[0] / 2, stake)
            between = (in_S @ self.blocks * in_T).sum(axis=1)
            between -= (in_S * in_T * np.diag(self.blocks)).sum(axis=1)
            of_groups = ((in_S < 1 - _FULL) | (in_S > _FULL)).all(axis=1)
            of_groups &= ((in_T < 1 - _FULL) | (in_T > _FULL)).all(axis=1)
            variance = (stake**2).sum(axis=1) + between**2 / self.blocks.shape[0]
            return np.asarray(np.where(of_groups, 0.0, modularity**2 * variance))
        S, T = in_S @ volumes[0], in_T @ volumes[1]
        stake = volume_at_stake(S, T, np.full(len(S), total))
        if self.layout.hollow:
            inside = np.minimum(S, T) / (2 if self.symmetric else 1)
            stake = np.where(sizes_both > 0, inside, stake)
            covering = sizes_S + sizes_T - sizes_both >= self.layout.shape[0]
            known = covering & (np.minimum(sizes_S, sizes_T) <= 1)
        else:
            known = (sizes_S == self.layout.shape[0]) | (sizes_T == self.layout.shape[1])
        return np.asarray(np.where(known, 0.0, (modularity * stake) ** 2))

    def to_parts(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays for files."""
        names = _ARRAYS if self.symmetric else _ARRAYS + _COLUMN_ARRAYS
        arrays = {name: np.asarray(getattr(self, name)) for name in names}
        arrays["left"] = np.array([self.left_mean, self.left_square])
        return arrays

    @classmethod
    def from_parts(
        cls,
        parts: dict[str, npt.NDArray[Any]],
        space: Space,
        *,
        max_weight: float | None,
        integral: bool,
    ) -> Self:
        """Return the model that `to_parts` described.

        Raises:
            KeyError, ValueError, TypeError: if the arrays are not such.
        """
        arrays = dict(parts)
        left_mean, left_square = arrays.pop("left").tolist()
        layout = Layout.of(space)
        if layout.symmetric:
            for name in ("codes", "factors", "spread"):
                arrays[f"column_{name}"] = arrays[f"row_{name}"]
        model = cls(
            space=space,
            max_weight=max_weight,
            integral=integral,
            left_mean=left_mean,
            left_square=left_square,
            **arrays,
        )
        model.check()
        return model

    def check(self) -> None:
        """Check that arrays fit together, indices are in range, and weights are not negative.

        Raises:
            ValueError: if one of these does not hold.
        """
        kept_shape, block_shape = self.rows.shape, self.blocks.shape
        of_kept = (self.columns, self.weights, self.spread, self.chances)
        # Also for blocks that are no matrix; the message is that of all arrays of a wrong form.
        if len(kept_shape) != 1 or len(block_shape) != 2:
            raise ValueError("kept pairs are of different numbers")
        if any(array.shape != kept_shape for array in of_kept):
            raise ValueError("kept pairs are of different numbers")
        row_count, column_count = self.layout.shape
        sides = (
            (row_count, self.rows, self.row_codes, self.row_factors, self.row_spread),
            (
                column_count,
                self.columns,
                self.column_codes,
                self.column_factors,
                self.column_spread,
            ),
        )
        for groups, (size, vertices, codes, factors, variances) in zip(
            block_shape, sides, strict=True
        ):
            if not codes.shape == factors.shape == variances.shape == (size,):
                raise ValueError("there are other vertices")
            for indices, limit in ((vertices, size), (codes, groups)):
                if indices.min(initial=0) < 0 or indices.max(initial=0) >= limit:
                    raise ValueError("a number is out of range")
        nonnegative = (
            self.weights,
            self.spread,
            self.chances,
            self.row_factors,
            self.column_factors,
            self.blocks,
            self.row_spread,
            self.column_spread,
            self.left_points,
            self.left_shares,
            np.array([self.left_mean, self.left_square]),
        )
        if not all(np.isfinite(array).all() and array.min(initial=0) >= 0 for array in nonnegative):
            raise ValueError("a number is below 0 or not finite")


@final
class ExpectedCuts(NamedTuple):
    """Expected weights of cuts in a model, and their variances, shape (cuts,) each.

    Attributes:
        weights: expected.
        by_chance: variances of the weights about them, in the law of the model.
        by_structure: variances by structure that the model may lack, if the sets of a cut mean
            something, see `misfit`.
    """

    weights: FloatVector
    by_chance: FloatVector
    by_structure: FloatVector


def _shares(portion: FloatMatrix, total: FloatVector) -> FloatMatrix:
    """Return portion / total along the last axis, 0 where the total is 0."""
    shares: FloatMatrix = np.zeros_like(portion)
    np.divide(portion, total, out=shares, where=np.broadcast_to(total > 0, portion.shape))
    return shares


@final
class Between:
    """Sums over pairs between vertex parts, for cuts that are unions of parts.

    Args:
        matrix: sums over the listed pairs with the row in part a and the column in part b.
        symmetric: whether pairs have no direction; each is listed in one of both.
    """

    def __init__(self, matrix: FloatMatrix, symmetric: bool) -> None:
        self._listed = matrix
        self._both_directions = matrix + matrix.T if symmetric else matrix
        self._symmetric = symmetric

    def sums(self, S: BoolMatrix, T: BoolMatrix) -> FloatVector:
        """Return the sum over the pairs of each cut, each pair once.

        Args:
            S: parts of the first set of each cut, shape (cuts, parts of rows).
            T: parts of the second set, shape (cuts, parts of columns).
        """
        sums: FloatVector = ((S.astype(np.float64) @ self._both_directions) * T).sum(axis=1)
        both = S & T if self._symmetric else S[:0]  # [:0]: no cuts, so that `any` is False
        if both.any():  # pairs within S and T were added in both directions
            sums -= ((both.astype(np.float64) @ self._listed) * both).sum(axis=1)
        return sums


@final
class VertexParts:
    """A partition of the rows and one of the columns, with sums over its parts.

    Each table of sums is computed once, when it is first needed.

    Args:
        model: of the release.
        of: part of each row, and of each column; one object twice if both are one vertex set.
        shape: numbers of parts of the rows, and of the columns.
    """

    def __init__(
        self, model: SparseModel, of: tuple[IntVector, IntVector], shape: tuple[int, int]
    ) -> None:
        self._model, self._of, self._shape = model, of, shape
        # Tables by side and `id` of the array of values, so that an array must not be changed after
        # it was passed to `table`. The array is stored beside its table: it then stays alive, and
        # no other array can get its `id`.
        self._tables: dict[tuple[int, int], tuple[FloatVector | None, FloatMatrix]] = {}
        self._one_vertex_set = of[0] is of[1] and model.codes[0] is model.codes[1]

    def table(self, side: int, values: FloatVector | None) -> FloatMatrix:
        """Return sums of values over each part and group, shape (parts, groups).

        Args:
            side: 0 for rows, 1 for columns.
            values: of each row or column; None for ones.
        """
        side = 0 if self._one_vertex_set else side
        key = side, id(values)
        if key not in self._tables:
            shape = self._shape[side], self._model.blocks.shape[side]
            # The entry (part, group) of each vertex, as a position in the flattened table.
            positions = self._of[side] * shape[1] + self._model.codes[side]
            sums = np.bincount(positions, values, math.prod(shape)).reshape(shape)
            self._tables[key] = values, sums.astype(np.float64)
        return self._tables[key][1]

    @cached_property
    def kept(self) -> tuple[Between, Between]:
        """Weight, and variance, of the kept pairs between parts."""
        model, shape, (row_parts, column_parts) = self._model, self._shape, self._of
        positions = np.ravel_multi_index(
            (row_parts[model.rows], column_parts[model.columns]), shape
        )
        weights, variances = (
            np.bincount(positions, values, math.prod(shape)).astype(np.float64).reshape(shape)
            for values in (model.weights, model.spread)
        )
        return Between(weights, model.symmetric), Between(variances, model.symmetric)


@final
class CutSets(NamedTuple):
    """The sets of some cuts of a list, each as a union of vertex parts.

    Attributes:
        indices: which cuts of the list they are, q of them.
        parts: the partition, of which no set divides a part.
        S: which parts belong to the first set of each cut, shape (q, parts of rows).
        T: which parts belong to the second set, shape (q, parts of columns).
        both: which parts belong to both sets, of one vertex set; all False for two vertex sets.
    """

    indices: Sequence[int]
    parts: VertexParts
    S: BoolMatrix
    T: BoolMatrix
    both: BoolMatrix

    def by_group(
        self, vertices: Literal["S", "T", "both"], values: FloatVector | None = None
    ) -> FloatMatrix:
        """Return sums over the vertices of S, T or both, by groups of the model.

        Args:
            vertices: the set to add up over.
            values: of each row (S, both) or column (T); None for ones, which counts vertices.

        Returns:
            Shape (q, groups).
        """
        if vertices == "S":
            side, members = 0, self.S
        elif vertices == "T":
            side, members = 1, self.T
        else:
            side, members = 0, self.both
        return np.asarray(members.astype(np.float64) @ self.parts.table(side, values))

    def subset(self, chosen: slice) -> "CutSets":
        """Return the sets of some of the cuts."""
        return CutSets(
            self.indices[chosen], self.parts, self.S[chosen], self.T[chosen], self.both[chosen]
        )
