"""A graph of kept edges and a degree-corrected block model of what they leave, never a matrix."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IndexArray, IntVector
from graphcuts_dp.estimate.noisy_matrix import pairs_at
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.pairs.vertices import Space

_ARRAYS = (
    *("rows", "columns", "weights", "spread", "chances"),
    *("row_codes", "row_factors", "row_spread", "blocks", "left_points", "left_shares"),
)


class CutSets(Protocol):
    """The sets of some cuts, which add up values over their vertices and kept pairs."""

    def by_group(self, which: int, *values: FloatVector | None) -> list[FloatMatrix]:
        """Sums by the model's groups, shape (cuts, groups), of each of some vectors of values.

        Args:
            which: over S (0), over T (1), or over both: 2, of one vertex set; else zeros.
            values: of each vertex; None for ones.
        """

    def kept(self) -> FloatMatrix:
        """Weight and variance of the kept pairs of each cut, each pair once; shape (2, cuts)."""


@final
@dataclass(frozen=True, eq=False)
class OneCut:
    """A single cut.

    Cost: O(|S| + |T| + groups + kept pairs at the smaller set), and a look at the truth vectors.
    """

    model: "SparseModel"
    S: BoolVector
    T: BoolVector

    @cached_property
    def members(self) -> tuple[IntVector, IntVector, IntVector]:
        """Numbers of the rows, of the columns, and of the vertices in both, where these are one."""
        both = self.S & self.T if self.model.layout.hollow else self.S[:0]
        return np.flatnonzero(self.S), np.flatnonzero(self.T), np.flatnonzero(both)

    def by_group(self, which: int, *values: FloatVector | None) -> list[FloatMatrix]:
        """See `CutSets.by_group`."""
        members, side = self.members[which], int(which == 1)
        codes = (self.model.row_codes, self.model.column_codes)[side][members]
        groups = self.model.blocks.shape[side]
        given = (None if each is None else each[members] for each in values)
        return [np.bincount(codes, each, minlength=groups)[None].astype(float) for each in given]

    def kept(self) -> FloatMatrix:
        """See `CutSets.kept`."""
        return np.array(self.model.kept_sums(*self.members))[:, None]


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class SparseModel:
    """Expected weights x_ij = kept_ij + r_i c_j B[a_i, b_j], never written out.

    Attributes:
        space: which pairs there are.
        weight_cap: public largest weight, or None.
        whole: whether weights are whole numbers.
        rows: row of each kept pair (of an undirected graph the smaller end), shape (kept,).
        columns: column, likewise.
        weights: expected weight of each, >= 0.
        spread: variance of each.
        chances: probability that each is an edge.
        row_codes: group of each row, shape (n,).
        column_codes: group of each column; one object with `row_codes` for an undirected graph.
        row_factors: r, each group sums to 1, shape (n,).
        column_factors: c; one object with `row_factors` for an undirected graph.
        blocks: B, shape (groups, groups); symmetric for an undirected graph.
        row_spread: variance of the residual weight of each row that noise leaves open.
        column_spread: likewise.
        left_mean: mean weight of an edge of the residual part.
        left_square: mean of its square.
        left_points: weights that it may have, shape (p,).
        left_shares: how often each, adds up to 1.
    """

    space: Space
    weight_cap: float | None
    whole: bool
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

    @cached_property
    def layout(self) -> Layout:
        """Which pairs there are, as a matrix."""
        return Layout.of(self.space)

    @property
    def symmetric(self) -> bool:
        """Whether pairs have no direction."""
        return self.layout.symmetric

    @cached_property
    def kept(self) -> sp.csr_array:
        """Weights of kept pairs as a sparse matrix; symmetric for an undirected graph."""
        return self._matrix(self.weights)

    @cached_property
    def kept_spread(self) -> sp.csr_array:
        """Their variances, likewise."""
        return self._matrix(self.spread)

    def _matrix(self, values: FloatVector) -> sp.csr_array:
        # Both ways round in one go: a sum of matrices would drop zeros, of which there are others.
        rows, columns = self.rows, self.columns
        if self.symmetric:
            rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
            values = np.concatenate([values, values])
        return sp.coo_array((values, (rows, columns)), shape=self.layout.shape).tocsr()

    @cached_property
    def loops(self) -> FloatVector:
        """r_i c_i B of each vertex and itself, which is no pair."""
        if not self.layout.hollow:
            return np.zeros(self.layout.shape[0])
        found: FloatVector = (
            self.row_factors * self.column_factors * self.blocks[self.row_codes, self.column_codes]
        )
        return found

    def degrees(self) -> tuple[FloatVector, FloatVector]:
        """Expected row sums and column sums."""
        rows = self.row_factors * self.blocks.sum(axis=1)[self.row_codes] - self.loops
        rows = rows + self.kept.sum(axis=1)
        if self.symmetric:
            return rows, rows
        columns = self.column_factors * self.blocks.sum(axis=0)[self.column_codes]
        if self.layout.hollow:
            columns = columns - self.loops
        return rows, columns + self.kept.sum(axis=0)

    @property
    def total(self) -> float:
        """Expected weight of all pairs."""
        twice = 2 if self.symmetric else 1
        return float(self.degrees()[0].sum()) / twice

    def expected(self, cuts: CutSets) -> tuple[FloatVector, FloatVector]:
        """Expected weight of some cuts, each pair once, and the typical error of each: no proof.

        The error is the deviation of the model's own law: residual edges fall as a Poisson number
        on each pair, weights of kept pairs and residual degrees have their posterior variances, all
        independently. It is what resampling from the model comes to.
        """
        left, left_spread = cuts.by_group(0, self.row_factors, self.row_spread)
        right, right_spread = cuts.by_group(1, self.column_factors, self.column_spread)
        inside, of_loops = cuts.by_group(2, self.row_factors, self.loops)
        loops = of_loops.sum(axis=1)
        onward, back = right @ self.blocks.T, left @ self.blocks
        residual = (back * right).sum(axis=1) - loops
        if self.symmetric:
            residual -= (((inside @ self.blocks) * inside).sum(axis=1) - loops) / 2
        # A residual degree that is off by one moves the cut by the share that goes across.
        across = self.shares(onward, self.blocks.sum(axis=1))
        homeward = self.shares(back, self.blocks.sum(axis=0))
        blurred = (left_spread * across**2).sum(axis=1)
        blurred += (right_spread * homeward**2).sum(axis=1)
        residual = np.maximum(residual, 0)
        scattered = residual * self.left_square / max(self.left_mean, 1e-300)
        kept, spread = cuts.kept()
        return residual + kept, np.sqrt(np.maximum(spread, 0) + scattered + blurred)

    @staticmethod
    def shares(part: npt.NDArray[Any], whole: FloatVector) -> npt.NDArray[Any]:
        """Part / whole along the last axis; 0 where the whole is."""
        found: npt.NDArray[Any] = np.zeros_like(part)
        np.divide(part, whole, out=found, where=np.broadcast_to(whole > 0, part.shape))
        return found

    def kept_sums(self, S: IntVector, T: IntVector, both: IntVector) -> tuple[float, float]:
        """Weight and variance of the kept pairs of a cut, each pair once."""
        if min(len(S), len(T)) * 4 > self.layout.shape[0]:
            return self._kept_listed(S, T)
        kept, spread = self._kept_between(S, T)
        if self.symmetric and len(both):
            inside, inside_spread = self._kept_between(both, both)
            kept, spread = kept - inside / 2, spread - inside_spread / 2
        return kept, spread

    def _kept_listed(self, S: IntVector, T: IntVector) -> tuple[float, float]:
        """Of large sets: looks at every kept pair, once."""
        left, right = (np.zeros(size, dtype=np.bool_) for size in self.layout.shape)
        left[S], right[T] = True, True
        crossing = left[self.rows] & right[self.columns]
        if self.symmetric:
            crossing |= right[self.rows] & left[self.columns]
        return float(self.weights[crossing].sum()), float(self.spread[crossing].sum())

    def _kept_between(self, S: IntVector, T: IntVector) -> tuple[float, float]:
        weights, spread = self.kept, self.kept_spread
        if self.symmetric and len(T) < len(S):
            S, T = T, S
        inside = np.zeros(weights.shape[1], dtype=np.bool_)
        inside[T] = True
        starts, ends = weights.indptr[S], weights.indptr[S + 1]
        counts = ends - starts
        here = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        here = here + np.arange(len(here))
        here = here[inside[weights.indices[here]]]
        return float(weights.data[here].sum()), float(spread.data[here].sum())

    def to_parts(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays for files."""
        found = {name: np.asarray(getattr(self, name)) for name in _ARRAYS}
        if not self.symmetric:
            for name in ("column_codes", "column_factors", "column_spread"):
                found[name] = getattr(self, name)
        found["left"] = np.array([self.left_mean, self.left_square])
        return found

    @classmethod
    def from_parts(
        cls,
        parts: dict[str, npt.NDArray[Any]],
        space: Space,
        *,
        weight_cap: float | None,
        whole: bool,
    ) -> Self:
        """Read what `to_parts` gave.

        Raises:
            KeyError, ValueError, TypeError: it is something else.
        """
        values = dict(parts)
        mean, square = values.pop("left").tolist()
        layout = Layout.of(space)
        if layout.symmetric:
            for name in ("codes", "factors", "spread"):
                values[f"column_{name}"] = values[f"row_{name}"]
        found = cls(
            space=space,
            weight_cap=weight_cap,
            whole=whole,
            left_mean=mean,
            left_square=square,
            **values,
        )
        found.check()
        return found

    def check(self) -> None:
        """Check shapes and ranges of all arrays.

        Raises:
            ValueError: they do not fit together.
        """
        kept, groups = self.rows.shape, self.blocks.shape
        alike = (self.columns, self.weights, self.spread, self.chances)
        if len(kept) != 1 or len(groups) != 2 or any(each.shape != kept for each in alike):
            raise ValueError("kept pairs are of different numbers")
        for side, size in enumerate(self.layout.shape):
            ends = (self.rows, self.columns)[side]
            codes = (self.row_codes, self.column_codes)[side]
            factors = (self.row_factors, self.column_factors)[side]
            spread = (self.row_spread, self.column_spread)[side]
            if not codes.shape == factors.shape == spread.shape == (size,):
                raise ValueError("there are other vertices")
            within = (ends, size), (codes, groups[side])
            if any(each.min(initial=0) < 0 or each.max(initial=0) >= end for each, end in within):
                raise ValueError("a number is out of range")
        numbers = (*alike[1:], self.row_factors, self.column_factors, self.blocks)
        if not all(np.isfinite(each).all() and each.min(initial=0) >= 0 for each in numbers):
            raise ValueError("a number is below 0 or not finite")

    def residual_at(self, rows: IntVector, columns: IntVector) -> FloatVector:
        """Residual weight of single pairs."""
        found: FloatVector = (
            self.row_factors[rows]
            * self.column_factors[columns]
            * self.blocks[self.row_codes[rows], self.column_codes[columns]]
        )
        return found

    def pairs_at(self, places: IntVector) -> tuple[IntVector, IntVector]:
        """Row and column of each place in the order of pairs; see `pairs_at`."""
        return pairs_at(self.layout, places)
