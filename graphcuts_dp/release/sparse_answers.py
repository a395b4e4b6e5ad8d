"""Answers of a sparse release: measured values with proven intervals, estimates elsewhere."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.fits.sparse_model import SparseModel
from graphcuts_dp.graph.linear_query import AnyGraph as LinearData
from graphcuts_dp.graph.linear_query import is_plain
from graphcuts_dp.measurements.base import Measurements
from graphcuts_dp.measurements.noisy_groups import NoisyGroups
from graphcuts_dp.measurements.noisy_sums import NoisyDegrees
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm

_ROUNDING = 1e-12  # of all that is added up: what floats may be off
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
class _Measured(NamedTuple):
    """An unbiased value, and its noise."""

    value: float
    noise: NoiseSum

    def radius(self, log_failures: float) -> float:
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

    @cached_property
    def _row_values(self) -> FloatVector:
        values: FloatVector = self._degrees.rows * np.float64(self._degrees.unit)
        return values

    @cached_property
    def _column_values(self) -> FloatVector:
        if self._degrees.symmetric:
            return self._row_values
        values: FloatVector = self._degrees.columns * np.float64(self._degrees.unit)
        return values

    def estimate(self, S: BoolVector, T: BoolVector, log_failures: float) -> SparseEstimate:
        """What is known of a cut.

        Args:
            S: mask of rows.
            T: mask of columns.
            log_failures: ln of 1 over the failure probability of the interval.
        """
        rows, columns = np.flatnonzero(S), np.flatnonzero(T)
        if not len(rows) or not len(columns):
            return SparseEstimate(0.0, True, (0.0, 0.0), None)
        measured = self._measured(rows, columns)
        if measured is not None:
            radius = measured.radius(log_failures)
            interval = measured.value - radius, measured.value + radius
            return SparseEstimate(measured.value, True, interval, None)
        found = self.model.expected(rows, columns)
        bounds = self._bounds(rows, columns, log_failures)
        return SparseEstimate(found.value, False, bounds, found.deviation)

    def _measured(self, rows: IntVector, columns: IntVector) -> _Measured | None:
        found = [*self._cells_exactly(rows, columns), *self._degrees_exactly(rows, columns)]
        return min(found, key=lambda each: each.noise.variance, default=None)

    def _cells_exactly(self, rows: IntVector, columns: IntVector) -> list[_Measured]:
        if not self._groups:
            return []
        counts = self._group_counts(rows, columns)
        sizes = self._group_sizes
        if not all(
            np.isin(found, (0, 1)).all()
            for found in (count / size for count, size in zip(counts, sizes, strict=True))
        ):
            return []
        return [self._cells(*(count > 0 for count in counts))]

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

    def _cells(self, left: BoolVector, right: BoolVector) -> _Measured:
        """Sum of all cells between some groups and others, each once."""
        a, b = self._groups[0].ends
        inside = left[a] & right[b]
        if self._groups[0].symmetric:
            inside |= left[b] & right[a]
        return self._sum_of_cells(inside)

    def _sum_of_cells(self, inside: BoolVector) -> _Measured:
        precision = np.array([1 / each.law.variance for each in self._groups])
        shares = precision / precision.sum()
        value = sum(
            share * float(each.values[inside].sum())
            for share, each in zip(shares, self._groups, strict=True)
        )
        count = _rounded_up(int(inside.sum()))
        terms = [
            NoiseTerm(each.law, float(share), count)
            for share, each in zip(shares, self._groups, strict=True)
        ]
        return _Measured(float(value), NoiseSum.of(terms))

    def _degrees_exactly(self, rows: IntVector, columns: IntVector) -> list[_Measured]:
        """Sums of degrees that are the cut itself."""
        n, width = self.model.layout.shape
        if not self.model.symmetric:
            found = []
            if len(columns) == width:
                found.append(self._sum_of_degrees(self._row_values[rows]))
            if len(rows) == n:
                found.append(self._sum_of_degrees(self._column_values[columns]))
            return found
        if len(rows) == n == len(columns):  # each edge is in two degrees
            return [self._sum_of_degrees(self._row_values, 0.5)]
        for few, many in ((rows, columns), (columns, rows)):
            if len(few) == 1 and len(many) >= n - 1:
                others = len(many) == n or few[0] not in many
                if others:
                    return [self._sum_of_degrees(self._row_values[few])]
        return []

    def _sum_of_degrees(self, values: FloatVector, factor: float = 1.0) -> _Measured:
        term = NoiseTerm(self._degrees.law, factor, _rounded_up(len(values)))
        return _Measured(factor * float(values.sum()), NoiseSum.of([term]))

    def _bounds(
        self, rows: IntVector, columns: IntVector, log_failures: float
    ) -> tuple[float, float]:
        """Proven bounds: at least all cells within, at most what touches or meets the sets."""
        above = [
            self._sum_of_degrees(self._row_values[rows]),
            self._sum_of_degrees(self._column_values[columns]),
        ]
        below: list[_Measured] = []
        if self._groups:
            counts = self._group_counts(rows, columns)
            above.append(self._cells(counts[0] > 0, counts[1] > 0))
            whole = [count == size for count, size in zip(counts, self._group_sizes, strict=True)]
            if all(each.any() for each in whole):
                below.append(self._cells(whole[0], whole[1]))
        each_fails = log_failures + math.log(len(above) + len(below))
        high = min(bound.value + bound.radius(each_fails) for bound in above)
        low = max((bound.value - bound.radius(each_fails) for bound in below), default=0.0)
        return max(low, 0.0), max(high, 0.0)

    def total_at_most(self, log_failures: float) -> float:
        """A number that the weight of all pairs does not pass, but with that probability."""
        shape = self.model.layout.shape
        everything = [np.arange(size) for size in shape]
        measured = self._measured(everything[0], everything[1])
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
