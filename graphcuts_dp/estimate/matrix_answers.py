"""The one estimate of every cut from noisy entries, with its noise: all that was bought counts.

Each measurement is told as rows over the types of pairs of a cut, see `combination`.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.estimate.answers import (
    ROUNDING,
    AnswerOptions,
    CutEstimate,
    Estimate,
    Sizes,
    by_precision,
    distinct_cuts,
    shrunk_towards,
)
from graphcuts_dp.estimate.combination import PairTypes, Rows, best_combination, cut_types
from graphcuts_dp.estimate.linear_answers import LinearEstimator
from graphcuts_dp.estimate.measurement import Measurements, NoisyDegrees, NoisyGroups, NoisyTotal
from graphcuts_dp.estimate.noisy_matrix import EstimateKind, NoisyMatrix
from graphcuts_dp.pairs.layout import most_weight
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import CutQuery, pairs_of_cut
from graphcuts_dp.privacy.distributions import TwoSidedGeometric
from graphcuts_dp.privacy.value_noise import NoiseSum, NoiseTerm

_MOST_SPLIT = 12  # groups that a cut splits and that are kept apart; see `group_classes`

_Sides = tuple[IntVector, IntVector]  # a number of each row and each column


@final
class MatrixEstimator:
    """Estimates cuts by the best linear unbiased combination of all that was measured.

    That are entries, degrees, the total, and sums between public groups.

    Reads noisy values alone, so it is post-processing. See `estimate.combination`.

    Args:
        measurements: of a release.
        noisy: the noisy matrix among them.
    """

    def __init__(self, measurements: Measurements, noisy: NoisyMatrix) -> None:
        self.noisy, self.space, self.shape = noisy, noisy.space, noisy.shape
        self._degrees = measurements.all_of(NoisyDegrees)
        self._totals = measurements.all_of(NoisyTotal)
        self._groups = measurements.all_of(NoisyGroups)
        self._linear = LinearEstimator(measurements, noisy)

    @property
    def noise_name(self) -> str:
        """Of the entries."""
        return self.noisy.distribution.name

    def linear(
        self, query: LinearQuery, log_failures: float, *, simultaneous: bool
    ) -> tuple[float, tuple[float, float]]:
        """See `LinearEstimator.estimate`."""
        return self._linear.estimate(query, log_failures, simultaneous=simultaneous)

    def estimates(
        self,
        queries: Sequence[CutQuery],
        options: AnswerOptions,
        synthetic: Callable[[], FloatVector] | None = None,
    ) -> tuple[list[CutEstimate], int]:
        """See `Estimator.estimates`."""
        noisy, cuts = self.noisy, [query.masks(self.space) for query in queries]
        cap = noisy.distribution.weight_cap
        most = [most_weight(pairs_of_cut(*masks, self.space), cap) for masks in cuts]
        together = distinct_cuts(cuts, symmetric=noisy.symmetric) if options.joint and cuts else 1

        def interval(own: Estimate, S: BoolVector, T: BoolVector) -> tuple[float, float]:
            sizes = Sizes.of(S, T, one_set=noisy.symmetric)
            log_failures = options.log_failures(together, sizes, noisy.blocks.layout)
            if options.simultaneous or together > 1:
                own = self.estimate_for_all(S, T, log_failures)
            return own.interval(log_failures)

        found = [self.estimate(*masks) for masks in cuts]
        values = [each.value for each in found]
        kind: EstimateKind = "unbiased"
        if options.estimate == "shrunk" and synthetic is not None:
            kind = "shrunk"
            deviations = np.array([each.noise.deviation for each in found])
            shrunk = shrunk_towards(synthetic(), np.array(values), deviations)
            values = np.clip(shrunk, 0, most).tolist()
        intervals = [interval(each, *masks) for each, masks in zip(found, cuts, strict=True)]
        facts = zip(values, intervals, most, strict=True)
        return [CutEstimate(*each, kind) for each in facts], together

    def estimate(self, S: BoolVector, T: BoolVector) -> Estimate:
        """The estimate of a cut, given by masks of rows and of columns, of the least variance."""
        return self._estimates(S, T, [(1.0, 1.0)])[0]

    def estimate_for_all(self, S: BoolVector, T: BoolVector, log_failures: float) -> Estimate:
        """The estimate whose interval is the shortest that holds for all cuts at once.

        Each cut has so small a share of the failure probability that the tails of single noises
        count: a sum is then trusted less than its variance says, or not used. All combinations are
        unbiased, and which one is taken depends on public numbers alone.

        Args:
            S: mask of rows.
            T: mask of columns.
            log_failures: of this cut, its share for all cuts included.
        """
        # A Laplace tail e^-L is L/4 times as far away as that of a normal law, squared.
        wary = max(1.0, log_failures / 4)
        tried = self._estimates(S, T, [(1.0, 1.0), (1.0, wary), (wary, wary), None])
        return min(tried, key=lambda estimate: estimate.radius(log_failures))

    def _estimates(
        self, S: BoolVector, T: BoolVector, distrusts: Sequence[tuple[float, float] | None]
    ) -> list[Estimate]:
        """Unbiased estimates, one for each distrust.

        That is what variances of degrees, and those of sums over blocks, are multiplied by first;
        None for entries alone.
        """
        if not pairs_of_cut(S, T, self.space):
            return [Estimate(0.0, NoiseSum(()), 0.0)]
        classes = group_classes(self._groups[0], S, T) if self._groups else None
        types, joined, cells = cut_types(S, T, self.noisy.blocks.layout, classes=classes)
        of_entries = self.noisy.cut_value(S, T)
        degrees = [self._rows_of_degrees(each, types, cells) for each in self._degrees]
        sums = [self._rows_of_total(each, types) for each in self._totals]
        if classes is not None:
            sums.append(self._rows_of_groups(types, cells, classes))
        found = []
        for distrust in distrusts:
            rows = [*degrees, *sums] if distrust is not None else []
            of_degrees, of_sums = distrust or (1.0, 1.0)
            factors = [of_degrees] * len(degrees) + [of_sums] * len(sums)
            found.append(self._combined(types, joined, of_entries, rows, factors))
        return found

    def _combined(
        self,
        types: PairTypes,
        joined: FloatVector,
        of_entries: float,
        rows: Sequence[Rows],
        distrust: Sequence[float],
    ) -> Estimate:
        """The combination of least variance, those of rows taken as so many times as large.

        Its error: each pair of a type, each vertex of a cell, each sum has noises of its own.
        Rounding down to fine grids may move it by the step of each number's own grid for each pair.
        """
        law, rounding = self.noisy.distribution.law, self.noisy.distribution.rounding
        counts = types.counts
        entries, k = best_combination(
            counts,
            joined,
            np.hstack([np.empty((len(counts), 0)), *(each.patterns for each in rows)]),
            np.concatenate(
                [[], *(f * each.variances for f, each in zip(distrust, rows, strict=False))]
            ),
            entry=law.variance,
        )
        parts = [of_entries]
        weights = zip(entries.tolist(), counts.tolist(), strict=True)
        terms = [NoiseTerm(law, weight, count) for weight, count in weights]
        moved = [rounding * float(counts @ np.abs(entries))]
        for each in rows:
            own, k = k[: len(each.noises)], k[len(each.noises) :]
            parts += [*(own * each.values), *(-own * each.entries)]
            moved.append(each.step * float(counts @ np.abs(each.patterns @ own)))
            for factor, noises in zip(own.tolist(), each.noises, strict=True):
                terms += [NoiseTerm(law, factor * c, count) for law, c, count in noises]
        slack = ROUNDING * math.fsum(map(abs, parts))
        if rounding:
            slack += math.fsum(moved)
        return Estimate(math.fsum(parts), NoiseSum.of(terms), slack)

    def _rows_of_degrees(self, degrees: NoisyDegrees, types: PairTypes, cells: _Sides) -> Rows:
        count = len(types.sizes)
        return Rows(
            patterns=types.ends,
            values=degrees.unit * _sums_by_cell((degrees.rows, degrees.columns), cells, count),
            entries=_sums_by_cell(self._vertex_sums, cells, count),
            noises=[[NoiseTerm(degrees.law, 1.0, size)] for size in types.sizes.tolist()],
            step=degrees.unit,
        )

    def _rows_of_total(self, total: NoisyTotal, types: PairTypes) -> Rows:
        """The total counts each pair of an undirected graph twice."""
        twice = 2 if self.noisy.symmetric else 1
        law = TwoSidedGeometric(float(total.rate), total.unit / twice)
        return Rows(
            patterns=np.ones((len(types.counts), 1)),
            values=np.array([total.value / twice]),
            entries=np.array([self._entry_total / twice]),
            noises=[[NoiseTerm(law, 1.0, 1)]],
            step=total.unit / twice,
        )

    def _rows_of_groups(self, types: PairTypes, cells: _Sides, classes: _Sides) -> Rows:
        """The sums between every two classes of groups; several looks in their best mean."""
        first = self._groups[0]
        of_cells = np.zeros(len(types.sizes), dtype=np.int64)
        for own, cell in zip(classes, cells, strict=True):
            of_cells[cell] = own
        of_groups = [
            _of_groups(codes, own)
            for codes, own in zip((first.rows, first.columns), classes, strict=True)
        ]
        ends = np.sort([of_groups[0][first.ends[0]], of_groups[1][first.ends[1]]], axis=0)
        blocks, block = np.unique(ends, axis=1, return_inverse=True)
        block = block.ravel()
        joined = np.sort([of_cells[types.first], of_cells[types.second]], axis=0)
        laws = [each.law for each in self._groups]
        shares = by_precision(laws)
        values = sum(
            share * np.bincount(block, weights=each.values)
            for share, each in zip(shares, self._groups, strict=True)
        )
        return Rows(
            patterns=(joined[:, :, None] == blocks[:, None, :]).all(axis=0).astype(np.float64),
            values=np.asarray(values),
            entries=np.bincount(block, weights=self._cell_entries).astype(np.float64),
            noises=[
                [NoiseTerm(law, share, count) for law, share in zip(laws, shares, strict=True)]
                for count in np.bincount(block).tolist()
            ],
            step=max(each.unit for each in self._groups) if first.measured.weighted else 0.0,
        )

    @cached_property
    def _vertex_sums(self) -> tuple[FloatVector, FloatVector]:
        """Sums of the noisy entries at each vertex: of rows, of columns."""
        return self.noisy.vertex_sums()

    @cached_property
    def _entry_total(self) -> float:
        return math.fsum(self._vertex_sums[0])

    @cached_property
    def _cell_entries(self) -> FloatVector:
        """Sums of the noisy entries over the cells between groups, each pair once."""
        first = self._groups[0]
        left, right = (
            np.eye(count)[codes]
            for count, codes in zip(first.shape, (first.rows, first.columns), strict=True)
        )
        sums = (left.T @ self.noisy.blocks.times(right))[first.ends]
        if first.symmetric:
            sums[first.ends[0] == first.ends[1]] /= 2
        return np.asarray(sums)


def group_classes(groups: NoisyGroups, S: BoolVector, T: BoolVector) -> _Sides:
    """A class for each row and each column (one array twice for a plain graph).

    Groups that a cut does not split are in one class for each of the ways in which they can
    lie (in S, in T, in both, in none): permuting such groups changes nothing but their sizes.
    Each of the groups that it splits is a class of its own, as far as there are at most 12; if
    there are more, the smaller ones are one class. Fewer classes mean fewer numbers that are
    used apart, never a bias.
    """
    if groups.symmetric:
        found = _classes(groups.rows, S + 2 * T.astype(np.int64))
        return found, found
    rows = _classes(groups.rows, S.astype(np.int64))
    columns = _classes(groups.columns, T.astype(np.int64))
    return rows, columns + int(rows.max()) + 1


def _classes(groups: IntVector, codes: IntVector) -> IntVector:
    """The class of each vertex, from its group and how it lies to the cut; numbered from 0."""
    count = int(groups.max()) + 1
    low, high = np.full(count, 4), np.full(count, -1)
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    of_group = low.copy()  # 0 to 3: not split
    (split,) = np.nonzero(low < high)
    sizes = np.bincount(groups, minlength=count)[split]
    order = split[np.argsort(-sizes, kind="stable")]
    of_group[order] = 4 + np.minimum(np.arange(len(order)), _MOST_SPLIT - 1)
    found: IntVector = np.unique(of_group, return_inverse=True)[1].ravel()[groups]
    return found


def _of_groups(groups: IntVector, classes: IntVector) -> IntVector:
    """The class of each group, from those of its members."""
    found = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    found[groups] = classes
    return found


def _sums_by_cell(
    values: tuple[FloatVector | IntVector, FloatVector | IntVector], cells: _Sides, count: int
) -> FloatVector:
    """Sums of the values of the vertices in each cell.

    Values and cells are of rows and of columns; one array twice for a plain graph.
    """
    sides = (0, 1) if cells[1] is not cells[0] else (0,)
    found = [np.bincount(cells[i], weights=values[i], minlength=count) for i in sides]
    total: FloatVector = np.sum(found, axis=0, dtype=np.float64)
    return total
