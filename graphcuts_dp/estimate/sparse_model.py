"""A graph of kept edges and a degree-corrected block model of what they leave, never a matrix."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IndexArray, IntVector
from graphcuts_dp.estimate.noisy_matrix import pairs_at
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.pairs.vertices import Space

_ARRAYS = (
    *("rows", "columns", "weights", "spread", "chances"),
    *("row_codes", "row_factors", "row_spread", "blocks", "left_points", "left_shares"),
)


class Expected(NamedTuple):
    """What a model says of a cut.

    Attributes:
        value: its expected weight.
        deviation: typical error: the standard deviation under the model itself, and no proof.
    """

    value: float
    deviation: float


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

    def expected(self, S: IntVector, T: IntVector, both: IntVector | None = None) -> Expected:
        """Expected weight between two sets of row and column numbers, each pair once.

        Args:
            S: row numbers, ascending.
            T: column numbers, ascending.
            both: those in both sets, if they are known; None to look.

        The deviation is that of the model's own law: residual edges fall as a Poisson number on
        each pair, weights of kept pairs and residual degrees have their posterior variances, all
        independently. It is what resampling from the model comes to.

        Cost: O(|S| + |T| + groups^2 + kept pairs at the smaller set).
        """
        if not self.layout.hollow:
            both = S[:0]
        elif both is None:
            both = np.intersect1d(S, T, assume_unique=True)
        residual, blurred = self._residual(S, T, both)
        if min(len(S), len(T)) * 4 > self.layout.shape[0]:
            kept, spread = self._kept_listed(S, T)
        else:
            kept, spread = self._kept_between(S, T)
            if self.symmetric and len(both):
                inside, inside_spread = self._kept_between(both, both)
                kept, spread = kept - inside / 2, spread - inside_spread / 2
        scattered = max(residual, 0.0) * self.left_square / max(self.left_mean, 1e-300)
        return Expected(
            max(residual, 0.0) + kept, float(np.sqrt(max(spread, 0.0) + scattered + blurred))
        )

    def _residual(self, S: IntVector, T: IntVector, both: IntVector) -> tuple[float, float]:
        count = self.blocks.shape
        left = np.bincount(self.row_codes[S], self.row_factors[S], minlength=count[0])
        right = np.bincount(self.column_codes[T], self.column_factors[T], minlength=count[1])
        value = float(left @ self.blocks @ right)
        if len(both):
            value -= float(self.loops[both].sum())
            if self.symmetric:
                inside = np.bincount(
                    self.row_codes[both], self.row_factors[both], minlength=count[0]
                )
                value -= float(inside @ self.blocks @ inside - self.loops[both].sum()) / 2
        # A residual degree that is off by one moves the cut by the share that goes across.
        across = self.shares(self.blocks @ right, self.blocks.sum(axis=1))
        back = self.shares(left @ self.blocks, self.blocks.sum(axis=0))
        blurred = float(across[self.row_codes[S]] ** 2 @ self.row_spread[S])
        blurred += float(back[self.column_codes[T]] ** 2 @ self.column_spread[T])
        return value, blurred

    @staticmethod
    def shares(part: npt.NDArray[Any], whole: FloatVector) -> npt.NDArray[Any]:
        """Part / whole along the last axis; 0 where the whole is."""
        found: npt.NDArray[Any] = np.zeros_like(part)
        np.divide(part, whole, out=found, where=np.broadcast_to(whole > 0, part.shape))
        return found

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
