"""A graph of kept edges and a degree-corrected block model of what they leave, never a matrix."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolMatrix, FloatMatrix, FloatVector, IndexArray, IntVector
from graphcuts_dp.estimate.base import PairMeasurement
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.exceeding import tail_chance
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Space

_ARRAYS = (
    *("rows", "columns", "weights", "spread", "chances"),
    *("row_codes", "row_factors", "row_spread", "blocks", "left_points", "left_shares"),
)


FALSE_SHARE = 0.1  # false edges for each edge, in a filter
_GRAINS = 8  # of a threshold within the scale of the noise


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class KeptEdges(PairMeasurement):
    """All pairs whose noisy weight reached a threshold, in the order of pairs.

    What comes out has the law of the whole noisy matrix filtered by a public threshold: kept pairs
    with weight, and pairs without, look alike. Values are biased upwards, since small ones are
    missing.

    Attributes:
        rows: row of each kept pair (of an undirected graph the smaller end), shape (k,).
        columns: its column, shape (k,).
        steps: released integers, each at least the threshold; the noisy weight is steps * unit.
        threshold: public, in steps, >= 1.
        distribution: of the noise of each pair.
        space: which pairs there are.
    """

    rows: IndexArray
    columns: IndexArray
    steps: IntVector
    threshold: int
    distribution: LaplaceNoise
    space: Space

    name = "kept edges"

    @property
    def pair_noise(self) -> LaplaceNoise:
        """See `PairMeasurement.pair_noise`."""
        return self.distribution

    @cached_property
    def layout(self) -> Layout:
        """How pairs are ordered."""
        return Layout.of(self.space)

    @cached_property
    def weights(self) -> FloatVector:
        """Noisy weights in units of weight, shape (k,)."""
        weights: FloatVector = self.steps * np.float64(self.unit)
        return weights

    @property
    def false_chance(self) -> float:
        """Probability that a pair without weight is kept."""
        return tail_chance(self.distribution.rate, self.threshold)

    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Plain values for receipts, and arrays: the pairs and their integers."""
        rate = self.distribution.rate
        fields = {
            "threshold": self.threshold,
            "unit": self.unit,
            "log2_step": self.distribution.log2_step,
            "max_weight": self.distribution.max_weight,
            "epsilon": [self.epsilon.numerator, self.epsilon.denominator],
            "rate": [rate.numerator, rate.denominator],
            "false_chance": self.false_chance,
            "note": "noisy weight = (released integer) * unit; pairs below the threshold are "
            "not released, pairs without weight are kept with the false chance",
        }
        return fields, {"rows": self.rows, "columns": self.columns, "steps": self.steps}

    @classmethod
    def from_parts(
        cls, stored: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], space: Space
    ) -> Self:
        """Read what `parts` gave.

        Raises:
            KeyError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        cap = stored["max_weight"]
        distribution = LaplaceNoise(
            Fraction(*stored["epsilon"]),
            None if cap is None else float(cap),
            int(stored["log2_step"]),
        )
        if distribution.rate != Fraction(*stored["rate"]):
            raise ValueError("the noise is of another scale")
        rows, columns = (np.array(arrays[name], dtype=np.int32) for name in ("rows", "columns"))
        steps = np.array(arrays["steps"], dtype=np.int64)
        found = cls(
            rows=rows,
            columns=columns,
            steps=steps,
            threshold=int(stored["threshold"]),
            distribution=distribution,
            space=space,
        )
        found.check()
        return found

    def check(self) -> None:
        """Check that pairs are in order, within the space, and reach the threshold.

        Raises:
            ValueError: they are not.
        """
        if not self.rows.shape == self.columns.shape == self.steps.shape or self.rows.ndim != 1:
            raise ValueError("there is one value for each pair")
        if not len(self.rows):
            return
        shape = self.layout.shape
        ends = (self.rows, shape[0]), (self.columns, shape[1])
        if any(each.min() < 0 or each.max() >= size for each, size in ends):
            raise ValueError("a pair lies outside the vertex set")
        if self.layout.symmetric and (self.rows >= self.columns).any():
            raise ValueError("a pair is the wrong way round")
        if self.layout.directed and (self.rows == self.columns).any():
            raise ValueError("a vertex is paired with itself")
        places = self.layout.places(self.rows.astype(np.int64), self.columns.astype(np.int64))
        if (np.diff(places) <= 0).any() or self.steps.min() < self.threshold:
            raise ValueError("pairs are out of order, or below the threshold")

    def __repr__(self) -> str:
        return f"KeptEdges(threshold={self.threshold * self.unit:g}, law={self.distribution.law})"


def threshold_for(
    distribution: LaplaceNoise, *, pairs: int, edges: float, false_share: float = FALSE_SHARE
) -> int:
    """The least threshold at which false edges are expected to be a share of the edges, at most.

    N e^(-rate T)/(1 + e^-rate) <= share m, so that T >= ln(N/(share m (1 + e^-rate)))/rate; that is
    rounded up to an eighth of the noise's scale, so that few samplers of gaps are made.

    Args:
        distribution: of the noise.
        pairs: N, how many pairs there are.
        edges: m, from noisy data; less than one counts as one.
        false_share: false edges for each edge.

    Returns:
        In steps, >= 1.
    """
    rate = float(distribution.rate)
    wanted = false_share * max(edges, 1.0)
    grain = max(1, math.floor(1 / (_GRAINS * rate)))
    least = (math.log(pairs / wanted) - math.log1p(math.exp(-rate))) / rate
    return max(1, math.ceil(least / grain)) * grain


@final
class Between:
    """Sums over pairs between parts, each pair once however it lies in a cut.

    Args:
        matrix: sums over the pairs that are listed with the row in part a, the column in part b.
        symmetric: whether pairs have no direction.
    """

    def __init__(self, matrix: FloatMatrix, symmetric: bool) -> None:
        self._once = matrix
        self._all = matrix + matrix.T if symmetric else matrix
        self._symmetric = symmetric

    def sums(self, S: BoolMatrix, T: BoolMatrix) -> FloatVector:
        """For each cut: pairs with ends in S and T, less those that both orders name."""
        found: FloatVector = ((S.astype(np.float64) @ self._all) * T).sum(axis=1)
        both = S & T if self._symmetric else S[:0]
        if both.any():
            found -= ((both.astype(np.float64) @ self._once) * both).sum(axis=1)
        return found


@final
class VertexParts:
    """Parts of the vertices, and sums over them by the model's groups, each added up once.

    Args:
        model: of the groups.
        of: part of each row, and of each column; one object twice where both are one set.
        shape: how many parts there are of the rows, and of the columns.
    """

    def __init__(
        self, model: "SparseModel", of: tuple[IntVector, IntVector], shape: tuple[int, int]
    ) -> None:
        self._model, self._of, self._shape = model, of, shape
        self._tables: dict[tuple[int, int], tuple[FloatVector | None, FloatMatrix]] = {}
        # Of one vertex set both sides have the same sums, and are added up once.
        self._one = of[0] is of[1] and model.codes[0] is model.codes[1]

    def table(self, side: int, values: FloatVector | None) -> FloatMatrix:
        """Sums of values of each row (side 0) or column (1), or of ones, shape (parts, groups)."""
        side = 0 if self._one else side
        key = side, id(values)
        if key not in self._tables:
            shape = self._shape[side], self._model.blocks.shape[side]
            places = self._of[side] * shape[1] + self._model.codes[side]
            sums = np.bincount(places, values, math.prod(shape)).reshape(shape)
            self._tables[key] = values, sums.astype(np.float64)
        return self._tables[key][1]

    @cached_property
    def kept(self) -> tuple[Between, Between]:
        """Weight, and variance, of the kept pairs between parts."""
        model, shape, (rows, columns) = self._model, self._shape, self._of
        ends = np.ravel_multi_index((rows[model.rows], columns[model.columns]), shape)
        weights, spread = (
            np.bincount(ends, each, math.prod(shape)).astype(np.float64).reshape(shape)
            for each in (model.weights, model.spread)
        )
        return Between(weights, model.symmetric), Between(spread, model.symmetric)


@final
class CutSets(NamedTuple):
    """The sets of some cuts of a list, as parts of the vertices.

    Attributes:
        places: which of the list they are, q of them.
        parts: that no set divides.
        S: parts of each S, shape (q, parts of rows).
        T: parts of each T, shape (q, parts of columns).
        both: parts of the vertices in both, of one vertex set; else none.
    """

    places: Sequence[int]
    parts: VertexParts
    S: BoolMatrix
    T: BoolMatrix
    both: BoolMatrix

    def by_group(self, which: int, values: FloatVector | None = None) -> FloatMatrix:
        """Sums of values of each vertex by the model's groups, shape (q, groups).

        Args:
            which: of those in S (0), in T (1), in both (2).
            values: None for ones.
        """
        chosen = (self.S, self.T, self.both)[which].astype(np.float64)
        return np.asarray(chosen @ self.parts.table(which % 2, values))


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class SparseModel:
    """Expected weights x_ij = kept_ij + r_i c_j B[a_i, b_j], never written out.

    Attributes:
        space: which pairs there are.
        max_weight: public largest weight, or None.
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
    max_weight: float | None
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

    @property
    def codes(self) -> tuple[IntVector, IntVector]:
        """Groups of the rows and of the columns."""
        return self.row_codes, self.column_codes

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
        # Both ways round in one go: a sum of matrices would drop zeros, of which there are others.
        rows, columns, values = self.rows, self.columns, self.weights
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

    def expected(self, cuts: CutSets) -> tuple[FloatVector, FloatVector]:
        """Expected weight of some cuts, each pair once, and the typical error of each: no proof.

        The error is the deviation of the model's own law: residual edges fall as a Poisson number
        on each pair, weights of kept pairs and residual degrees have their posterior variances, all
        independently. It is what resampling from the model comes to.
        """
        left, left_spread = (cuts.by_group(0, v) for v in (self.row_factors, self.row_spread))
        right, right_spread = (
            cuts.by_group(1, v) for v in (self.column_factors, self.column_spread)
        )
        inside, loops = cuts.by_group(2, self.row_factors), cuts.by_group(2, self.loops).sum(axis=1)
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
        kept, spread = (each.sums(cuts.S, cuts.T) for each in cuts.parts.kept)
        return residual + kept, np.sqrt(np.maximum(spread, 0) + scattered + blurred)

    @staticmethod
    def shares(part: npt.NDArray[Any], whole: FloatVector) -> npt.NDArray[Any]:
        """Part / whole along the last axis; 0 where the whole is."""
        found: npt.NDArray[Any] = np.zeros_like(part)
        np.divide(part, whole, out=found, where=np.broadcast_to(whole > 0, part.shape))
        return found

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
        max_weight: float | None,
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
            max_weight=max_weight,
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
