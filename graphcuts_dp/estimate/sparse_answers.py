"""Answers of a sparse release: measured values with proven intervals, estimates elsewhere."""

import math
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.measurement import Measurements, NoisyDegrees, NoisyGroups
from graphcuts_dp.estimate.sparse_model import SparseModel
from graphcuts_dp.pairs.linear_query import AnyGraph as LinearData
from graphcuts_dp.pairs.linear_query import is_plain
from graphcuts_dp.pairs.queries import pairs_of_cut, pairs_of_sizes
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm

_ROUNDING = 1e-12  # of all that is added up: what floats may be off
_MOST_LOOKED = 10_000  # sets that are known
_DIGITS = 2  # of a number of noises, which is rounded up


@final
class SparseEstimate(NamedTuple):
    """What a sparse release says of one cut.

    Attributes:
        value: the estimate.
        measured: whether it is unbiased: read off what was measured. Else it is the model's.
        interval: proven, whatever the graph is.
        typical: typical error of an estimate of the model, no proof; None of a measured value.
    """

    value: float
    measured: bool
    interval: tuple[float, float]
    typical: float | None


@final
class _Looked(NamedTuple):
    """A set, how many it has, and which groups it is the union of, if it is."""

    mask: "weakref.ref[BoolVector]"
    size: int
    groups: BoolVector | None


@final
class Unbiased(NamedTuple):
    """An unbiased value, and its noise."""

    value: float
    noise: NoiseSum

    def radius(self, log_failures: float) -> float:
        """Half width of an interval; `log_failures` is ln of 1 over its failure probability."""
        return self.noise.radius(log_failures) + _ROUNDING * abs(self.value)


@final
class SparseEstimator:
    """Estimates cuts from noisy sums and a sparse model. Reads noisy values alone.

    A value is measured where the cut is a union of cells between groups, one vertex and all others,
    or (of arcs and of two sides) some rows and all columns, or all rows and some columns. Intervals
    are proven for every cut: weights are not below 0, so that a cut is at most the sum of the cells
    that it touches, and of the degrees at either set, and at least that of the cells within it.
    Several such bounds share the failure probability.

    Args:
        measurements: of a release.
        model: made of them.
    """

    def __init__(self, measurements: Measurements, model: SparseModel) -> None:
        self.model = model
        degrees = measurements.find(NoisyDegrees)
        if degrees is None:
            raise ValueError("a sparse release has degrees")
        self._degrees = degrees
        self._groups: Sequence[NoisyGroups] = measurements.all_of(NoisyGroups)
        self._looked: dict[tuple[int, int], _Looked] = {}
        self._noises: dict[tuple[str, int], NoiseSum] = {}

    @cached_property
    def degree_values(self) -> tuple[FloatVector, FloatVector]:
        """Noisy degrees of rows and of columns, in weight."""
        unit = np.float64(self._degrees.unit)
        rows: FloatVector = self._degrees.rows * unit
        if self._degrees.symmetric:
            return rows, rows
        columns: FloatVector = self._degrees.columns * unit
        return rows, columns

    @cached_property
    def cell_sums(self) -> tuple[FloatMatrix, FloatMatrix] | None:
        """Sum of each cell between groups, and 1 where there is one; None without any."""
        if not self._groups:
            return None
        first = self._groups[0]
        sums, numbers = np.zeros(first.shape), np.zeros(first.shape)
        for each, share in zip(self._groups, self._cell_shares, strict=True):
            sums[first.ends] += share * each.values
        numbers[first.ends] = 1
        return sums, numbers

    @cached_property
    def _cell_shares(self) -> list[float]:
        """Of measurements of the same cells, by their precision."""
        precision = np.array([1 / each.law.variance for each in self._groups])
        shares: list[float] = (precision / precision.sum()).tolist()
        return shares

    def estimate(self, S: BoolVector, T: BoolVector, log_failures: float) -> SparseEstimate:
        """What is known of a cut.

        Args:
            S: mask of rows.
            T: mask of columns.
            log_failures: ln of 1 over the failure probability of the interval.
        """
        sizes = self._look(S, 0).size, self._look(T, 1).size
        if not all(sizes):
            return SparseEstimate(0.0, True, (0.0, 0.0), None)
        measured = self._measured(S, T, sizes)
        if measured is not None:
            radius = measured.radius(log_failures)
            interval = measured.value - radius, measured.value + radius
            return SparseEstimate(measured.value, True, interval, None)
        rows, columns = np.flatnonzero(S), np.flatnonzero(T)
        both = np.flatnonzero(S & T) if self.model.layout.hollow else None
        found = self.model.expected(rows, columns, both)
        bounds = self._bounds(rows, columns, log_failures)
        return SparseEstimate(found.value, False, bounds, found.deviation)

    def _measured(self, S: BoolVector, T: BoolVector, sizes: tuple[int, int]) -> Unbiased | None:
        found = [*self._cells_exactly(S, T, sizes), *self._degrees_exactly(S, T, sizes)]
        return min(found, key=lambda each: each.noise.variance, default=None)

    def _cells_exactly(
        self, S: BoolVector, T: BoolVector, sizes: tuple[int, int]
    ) -> list[Unbiased]:
        """The sum of cells that is the cut itself: both sets are unions of groups."""
        left = self._look(S, 0).groups
        if left is None:
            return []
        if self.model.layout.hollow and sum(sizes) == len(S) and not np.logical_and(S, T).any():
            return [self._cells(left, ~left)]
        right = self._look(T, 1).groups
        return [] if right is None else [self._cells(left, right)]

    def pairs(self, S: BoolVector, T: BoolVector) -> int:
        """Number of vertex pairs of a cut, each once."""
        left, right = self._look(S, 0), self._look(T, 1)
        if left.groups is None or right.groups is None:
            return pairs_of_cut(S, T, self.model.space)
        both = 0
        if self.model.layout.hollow:
            both = int(self._group_sizes[0][left.groups & right.groups].sum())
        return pairs_of_sizes(left.size, right.size, both, symmetric=self.model.symmetric)

    def _look(self, mask: BoolVector, side: int) -> "_Looked":
        """What a set of rows (0) or columns (1) is.

        Sets that cannot be written to, such as those that a group's name stands for, are looked at
        once: later they are known by the object that they are.
        """
        known = self._looked.get((id(mask), side))
        if known is not None and known.mask() is mask:
            return known
        found = _Looked(
            weakref.ref(mask), int(np.count_nonzero(mask)), self._whole_groups(mask, side)
        )
        if not mask.flags.writeable:
            if len(self._looked) >= _MOST_LOOKED:
                self._looked.clear()
            self._looked[id(mask), side] = found
        return found

    def _whole_groups(self, mask: BoolVector, side: int) -> BoolVector | None:
        """Which groups a set is the union of; None if it is not."""
        if not self._groups:
            return None
        of_group = mask[self._one[side]]
        codes = (self._groups[0].rows, self._groups[0].columns)[side]
        return of_group if np.array_equal(of_group[codes], mask) else None

    @cached_property
    def _one(self) -> tuple[IntVector, IntVector]:
        """A member of each group, of rows and of columns."""
        first = self._groups[0]
        left, right = (
            np.unique(codes, return_index=True)[1] for codes in (first.rows, first.columns)
        )
        return left, right

    @cached_property
    def _group_sizes(self) -> tuple[FloatVector, FloatVector]:
        first = self._groups[0]
        left, right = (
            np.maximum(np.bincount(codes, minlength=count), 1).astype(np.float64)
            for codes, count in zip((first.rows, first.columns), first.shape, strict=True)
        )
        return left, right

    def _group_counts(self, rows: IntVector, columns: IntVector) -> tuple[IntVector, IntVector]:
        first = self._groups[0]
        return (
            np.bincount(first.rows[rows], minlength=first.shape[0]),
            np.bincount(first.columns[columns], minlength=first.shape[1]),
        )

    def _cells(self, left: BoolVector, right: BoolVector) -> Unbiased:
        """Sum of all cells between some groups and others, each once."""
        a, b = self._groups[0].ends
        inside = left[a] & right[b]
        if self._groups[0].symmetric:
            inside |= left[b] & right[a]
        return self._sum_of_cells(inside)

    def _sum_of_cells(self, inside: BoolVector) -> Unbiased:
        value = sum(
            share * float(each.values[inside].sum())
            for share, each in zip(self._cell_shares, self._groups, strict=True)
        )
        return self.sum_of_cells(float(value), int(inside.sum()))

    def sum_of_cells(self, value: float, count: int) -> Unbiased:
        """So many cells that add up to this."""
        return Unbiased(value, self._noise("cells", _rounded_up(count)))

    def _degrees_exactly(
        self, S: BoolVector, T: BoolVector, sizes: tuple[int, int]
    ) -> list[Unbiased]:
        """Sums of degrees that are the cut itself."""
        both = int(np.count_nonzero(S & T)) if self.model.symmetric and 1 in sizes else 0
        return [
            self.sum_of_degrees(float(self.degree_values[side][(S, T)[side]].sum()), count, factor)
            for side, count, factor in self.exact_degrees(sizes, both)
        ]

    def exact_degrees(self, sizes: tuple[int, int], both: int) -> list[tuple[int, int, float]]:
        """Which degrees add up to a cut: side (0 for those of S), how many, and what times them.

        Args:
            sizes: of S and T.
            both: how many vertices are in both, of an undirected graph.
        """
        n, width = self.model.layout.shape
        if not self.model.symmetric:
            found = [(0, sizes[0], 1.0)] if sizes[1] == width else []
            return [*found, (1, sizes[1], 1.0)] if sizes[0] == n else found
        if sizes == (n, n):  # each edge is in two degrees
            return [(0, n, 0.5)]
        for side in (0, 1):
            others = sizes[1 - side]
            if sizes[side] == 1 and others >= n - 1 and (others == n or not both):
                return [(side, 1, 1.0)]
        return []

    def sum_of_degrees(self, value: float, count: int, factor: float = 1.0) -> Unbiased:
        """So many degrees that add up to this, times a factor."""
        kind = "degrees" if factor == 1 else "half degrees"
        return Unbiased(factor * value, self._noise(kind, _rounded_up(count)))

    def _noise(self, kind: str, count: int) -> NoiseSum:
        """Of so many cells, or degrees; each sum is made once."""
        if (kind, count) not in self._noises:
            factor = 0.5 if kind == "half degrees" else 1.0
            terms = [NoiseTerm(self._degrees.law, factor, count)]
            if kind == "cells":
                terms = [
                    NoiseTerm(each.law, share, count)
                    for share, each in zip(self._cell_shares, self._groups, strict=True)
                ]
            self._noises[kind, count] = NoiseSum.of(terms)
        return self._noises[kind, count]

    def _bounds(
        self, rows: IntVector, columns: IntVector, log_failures: float
    ) -> tuple[float, float]:
        """Proven bounds: at least all cells within, at most what touches or meets the sets."""
        above = [
            self.sum_of_degrees(float(values[members].sum()), len(members))
            for values, members in zip(self.degree_values, (rows, columns), strict=True)
        ]
        below: list[Unbiased] = []
        if self._groups:
            counts = self._group_counts(rows, columns)
            above.append(self._cells(counts[0] > 0, counts[1] > 0))
            whole = [count == size for count, size in zip(counts, self._group_sizes, strict=True)]
            if all(each.any() for each in whole):
                below.append(self._cells(whole[0], whole[1]))
        return self.between(above, below, log_failures)

    def between(
        self, above: Sequence[Unbiased], below: Sequence[Unbiased], log_failures: float
    ) -> tuple[float, float]:
        """Bounds on what lies below some sums and above others; all hold at once.

        Args:
            above: sums that a weight is at most.
            below: that it is at least.
            log_failures: ln of 1 over the failure probability.
        """
        each_fails = log_failures + math.log(len(above) + len(below))
        high = min(bound.value + bound.radius(each_fails) for bound in above)
        low = max((bound.value - bound.radius(each_fails) for bound in below), default=0.0)
        return max(low, 0.0), max(high, 0.0)

    def total_at_most(self, log_failures: float) -> float:
        """A number that the weight of all pairs does not pass, but with that probability."""
        shape = self.model.layout.shape
        S, T = (np.ones(size, dtype=np.bool_) for size in shape)
        measured = self._measured(S, T, shape)
        if measured is None:
            raise ValueError("the total is measured")
        return measured.value + measured.radius(log_failures)


def worst_error_of_sparse(
    estimator: SparseEstimator, graph: LinearData, confidence: float
) -> float:
    """See `Release.worst_cut_error_bound`: the larger of both total weights, in matrix form.

    Args:
        estimator: of the release.
        graph: the synthetic graph.
        confidence: of the bound.
    """
    twice = 2 if is_plain(graph) else 1
    total = estimator.total_at_most(-math.log1p(-confidence))
    return twice * max(total, float(graph.weights.sum()) * (1 + 1e-12))


def _rounded_up(count: int) -> int:
    """With three leading digits, so that few radii have to be found.

    A sum of more noises is no nearer to 0: discrete Laplace noise is symmetric and unimodal, and
    adding another one then never makes |sum| <= t more likely.
    """
    step: int = 10 ** max(0, len(str(count)) - 1 - _DIGITS)
    return -(-count // step) * step
