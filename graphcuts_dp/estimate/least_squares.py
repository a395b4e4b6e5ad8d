"""The best linear unbiased estimates of linear queries from a release with a noisy matrix.

Such a release knows *entries* (the noisy weight of every pair), and perhaps noisy degrees, a noisy
total, and noisy sums between public groups. `MatrixEstimator` combines them with the least
variance. `pair_types` has the mathematics, and should be read first: cuts are estimated there by a
regression over a few *pair types*. For queries that are no cuts, entries and degrees alone are
combined, pair by pair. The file is one estimator, whose methods share the measurements.

Terms used here:

- A *mask* is a truth vector of the rows, or of the columns, of the adjacency matrix.
- A *pair type* is a set of pairs that the estimate of a cut gives the same coefficient. A *cell* is
  a set of vertices that lie alike to the cut; a pair type joins two cells.
- A *noisy sum* is a noisy degree, the noisy total, or a noisy sum between two groups. Those that
  the estimate gives the same coefficient k form a *column* of a `SummedRows`, which holds all
  columns of one measurement.
- A `NoiseSum` is the law of a sum of independent noises. A `NoiseTerm` of it has a law, a
  coefficient, and the number of noises that have both.
- *Rounding loss*: weights are rounded down to a grid before noise is added. What an estimate can
  lose by that is bounded and added to its interval, as its *slack*. Entries whose grid is that of
  whole numbers lose nothing, since their answers are about the rounded weights.
- `log_failures` is ln(1/p) for a failure probability p, which may be smaller than any float.
- Decisions of the release have *looked at* some noisy sums. Values and intervals then use different
  numbers (`usable_sums`), and neither uses numbers that a decision has looked at.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.estimator import (
    ROUNDING,
    AnswerOptions,
    CutMasks,
    Estimate,
    Estimates,
    Interval,
    QueryEstimate,
    Sizes,
    distinct_cuts,
)
from graphcuts_dp.estimate.measurement import CellSums, Measurements
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.pair_types import (
    PairTypes,
    SideClasses,
    SummedRows,
    best_combination,
    group_classes,
)
from graphcuts_dp.estimate.usable_sums import (
    Candidate,
    RefinedCombination,
    SingleSum,
    SumsBeside,
    UsableMeasurements,
    UsableSums,
)
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.privacy.laws import NoiseLaw
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm, chernoff_radius
from graphcuts_dp.privacy.refined_noise import LimitLaplace
from graphcuts_dp.queries.coefficients import Extent, pair_coefficients
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, RankOneQuery, pairs_of_cut
from graphcuts_dp.schema.value_bounds import most_weight
from graphcuts_dp.schema.vertices import Space

# Relative error of floats in the value of a query that is no cut, over the sum of what is added up.
_LINEAR_ROUNDING = 1e-11
_COEFFICIENT_LEVELS = 200  # different coefficients in a sum of noises, see `weighted_radius`
_REMAINDER_SHARE = 0.02  # of a failure probability, for what rounding to these levels leaves out


@final
class MatrixEstimator:
    """Estimates linear queries by the best linear unbiased combination of what was measured.

    Cuts use entries, degrees, the total and sums between public groups; other queries use entries
    and degrees. Reads noisy values alone.

    Args:
        measurements: of a release.
        noisy: the noisy matrix among them.
    """

    def __init__(self, measurements: Measurements, noisy: NoisyMatrix) -> None:
        self.noisy: NoisyMatrix = noisy
        self.space: Space = noisy.space
        self.shape: tuple[int, int] = noisy.shape
        self._sums = UsableMeasurements.of(measurements)
        self._cell_entries: FloatVector | None = None

    def estimate(self, queries: Sequence[LinearQuery], options: AnswerOptions) -> Estimates:
        """Estimate any linear queries; see `Estimator.estimate`.

        A list of cuts alone may have shrunk or model estimates; this class gives unbiased ones all
        the same, and `shrunk_answers` replaces them. A list with other queries is refused then. If
        intervals are to hold at once (`joint`), each query of such a list gets an equal part of the
        failure probability.

        Raises:
            QueryError: if a query does not fit the vertex sets; if a query is no cut and another
                estimate than the unbiased one is asked for; if an interval for all queries at once
                is asked for a query that is not rank-one. Coefficients that follow the noise pair
                by pair would have all of it as their error.
        """
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        if len(cuts) == len(queries):
            return self._estimate_cuts(cuts, options)
        together = len(queries) if options.joint else 1  # queries that share the failure
        log_failures = math.log(together) - math.log1p(-options.confidence)
        failure_of_one = (1 - options.confidence) / together
        options_of_one = replace(options, confidence=1 - failure_of_one, joint=False)
        estimates: list[QueryEstimate] = []
        for query in queries:
            if isinstance(query, CutQuery):
                estimates += self._estimate_cuts([query], options_of_one).queries
                continue
            estimates.append(
                self._estimate_linear(query, log_failures, simultaneous=options.simultaneous)
            )
            if options.estimate != "unbiased":
                raise QueryError(
                    "shrunk estimates are made of cuts; other queries have unbiased ones"
                )
        return Estimates(estimates, together, options.simultaneous)

    def estimate_cut(self, S: BoolVector, T: BoolVector) -> Estimate:
        """Return the estimate of a cut that has the least variance.

        Args:
            S: mask of the rows.
            T: mask of the columns.
        """
        return self._cut_estimates(S, T, [(1.0, 1.0)], self._sums.for_values)[0]

    def interval_of_cut(
        self, S: BoolVector, T: BoolVector, log_failures: float, *, several: bool = False
    ) -> Interval:
        """Return a proven interval of a cut.

        It is that of the combination of least variance of what intervals may use; or, of several
        cuts at once, of `estimate_cut_for_all`. A cut whose weight is one refined sum has others,
        from the law of its noise given its coarse copy; the shortest one is returned. The
        choice depends on public numbers alone: half widths before anything is drawn.

        Args:
            S: mask of the rows.
            T: mask of the columns.
            log_failures: ln of 1 over the failure probability of the interval.
            several: whether the intervals of several cuts are to hold at once.
        """
        if several:
            combined = self.estimate_cut_for_all(S, T, log_failures)
        else:
            combined = self._cut_estimates(S, T, [(1.0, 1.0)], self._sums.for_intervals)[0]
        interval = combined.interval(log_failures)
        radius = combined.noise.radius(log_failures)
        for candidate in self._refined_candidates(S, T):
            if candidate.radius(log_failures) < radius:
                radius, interval = candidate.radius(log_failures), candidate.interval(log_failures)
        return interval

    def estimate_cut_for_all(self, S: BoolVector, T: BoolVector, log_failures: float) -> Estimate:
        """Return the estimate whose interval is the shortest that holds for all cuts at once.

        Each cut then has so small a share of the failure probability that the tails of single
        noises matter. So combinations are tried that use sums less than their variance suggests, or
        not at all. All of them are unbiased, and the choice depends on public numbers alone.

        Args:
            S: mask of the rows.
            T: mask of the columns.
            log_failures: ln of 1 over the failure probability that this cut gets.
        """
        # At a failure probability of e^-L, Laplace noise of variance v has a radius of about
        # L sqrt(v/2), and normal noise one of sqrt(2 L v). The squares differ by the factor L/4. So
        # a single Laplace noise counts as if its variance were L/4 times as large.
        tail_factor = max(1.0, log_failures / 4)
        # For degrees, and for the other sums; None uses entries alone.
        factors = [(1.0, 1.0), (1.0, tail_factor), (tail_factor, tail_factor), None]
        candidates = self._cut_estimates(S, T, factors, self._sums.for_intervals)
        return min(candidates, key=lambda estimate: estimate.radius(log_failures))

    def covariances(self, cuts: Sequence[CutMasks]) -> FloatMatrix:
        """Return the covariances of the errors of the estimates of cuts, shape (cuts, cuts).

        In the notation of `pair_types`, the best k of a query q solves s^2 <q - f, h_r> = k_r v_r
        for each noisy sum r, since the derivative of the variance by k_r is 0. Another query q' has
        k' and f' = sum_r k'_r h_r. The covariance of both errors is

            s^2 <q - f, q' - f'> + sum_r k_r k'_r v_r.

        By the equation for k, the second sum is s^2 <q - f, f'>. So the covariance is
        s^2 <q - f, q'>, and needs only the coefficients of one of the cuts.

        If a cut splits so many groups that some share a k (`group_classes`), the equation holds
        only for their sum, and the covariance is approximate. Then it may be not symmetric, and the
        mean of both triangles is returned.

        Args:
            cuts: masks of rows and columns.
        """
        layout, variance = self.noisy.blocks.layout, self.noisy.distribution.law.variance
        covariances: FloatMatrix = np.empty((len(cuts), len(cuts)))
        S, T = (np.array(side, dtype=np.float64) for side in zip(*cuts, strict=True))
        for index, cut in enumerate(cuts):
            types, degree_rows, sum_rows = self._rows_of_cut(*cut, self._sums.for_values)
            # q - f for each pair type of this cut, and how many of its pairs each other cut joins.
            entry_coefficients, _ = _best(types, [*degree_rows, *sum_rows], entry=variance)
            joined = types.pairs_joined_by(S, T, layout)
            covariances[index] = variance * (entry_coefficients @ joined)
        return (covariances + covariances.T) / 2

    def _estimate_cuts(self, queries: Sequence[CutQuery], options: AnswerOptions) -> Estimates:
        """Estimate cuts; the distinct cuts of a joint list share the failure probability.

        Values always have the least variance. Intervals may come from another estimate, see
        `interval_of_cut`; its centre need not be the value.
        """
        noisy, cuts = self.noisy, [query.masks(self.space) for query in queries]
        max_weight = noisy.distribution.max_weight
        together = distinct_cuts(cuts, symmetric=noisy.symmetric) if options.joint and cuts else 1
        estimates = []
        for S, T in cuts:
            estimate = self.estimate_cut(S, T)
            sizes = Sizes.of(S, T, one_set=noisy.symmetric)
            log_failures = options.log_failures(together, sizes, noisy.blocks.layout)
            several = options.simultaneous or together > 1
            if several or self._sums.refined:
                interval = self.interval_of_cut(S, T, log_failures, several=several)
            else:  # that of the value itself
                interval = estimate.interval(log_failures)
            most = most_weight(pairs_of_cut(S, T, self.space), max_weight)
            typical = estimate.noise.deviation
            estimates.append(QueryEstimate(estimate.value, interval, most, typical=typical))
        return Estimates(estimates, together, options.simultaneous)

    def _cut_estimates(
        self,
        S: BoolVector,
        T: BoolVector,
        variance_factors: Sequence[tuple[float, float] | None],
        sums: SumsBeside,
    ) -> list[Estimate]:
        """Return unbiased estimates of a cut, one for each choice of variance factors.

        Args:
            S: mask of the rows.
            T: mask of the columns.
            variance_factors: for each estimate two numbers, by which the variances of degrees and
                of the other sums are multiplied in the search for the best k (see
                `SummedRows.variance_factor`); None for an estimate from entries alone.
            sums: that are combined with the entries.
        """
        if not pairs_of_cut(S, T, self.space):
            return [Estimate(0.0, NoiseSum(()), 0.0)]
        types, degree_rows, sum_rows = self._rows_of_cut(S, T, sums)
        entry_sum = self.noisy.cut_value(S, T)
        estimates = []
        for factors in variance_factors:
            rows: list[SummedRows] = []
            if factors is not None:
                of_degrees, of_sums = factors
                rows += [replace(row, variance_factor=of_degrees) for row in degree_rows]
                rows += [replace(row, variance_factor=of_sums) for row in sum_rows]
            estimates.append(self._combined(types, entry_sum, rows))
        return estimates

    def _rows_of_cut(
        self, S: BoolVector, T: BoolVector, sums: SumsBeside
    ) -> tuple[PairTypes, list[SummedRows], list[SummedRows]]:
        """Return the pair types of a cut, the columns of degrees, and those of other sums.

        Either list is empty if nothing such was measured.
        """
        types, classes = self._types_of_cut(S, T)
        degree_rows, *sum_rows = self._rows(types, classes, sums)
        return types, _present([degree_rows]), _present(sum_rows)

    def _types_of_cut(self, S: BoolVector, T: BoolVector) -> tuple[PairTypes, SideClasses | None]:
        """Return the pair types of a cut, and the classes of groups; None without usable groups."""
        groups = self._sums.for_values.groups
        classes = None if groups is None else group_classes(groups.map, S, T)
        return PairTypes.of(S, T, self.noisy.blocks.layout, classes), classes

    def _rows(
        self, types: PairTypes, classes: SideClasses | None, sums: SumsBeside
    ) -> list[SummedRows | None]:
        """Return the columns of degrees, of the total and of groups; None for what there is not."""
        degrees, total, groups = sums
        return [
            None if degrees is None else self._degree_rows(degrees, types),
            None if total is None else self._total_row(total, types),
            None if groups is None or classes is None else self._group_rows(groups, types, classes),
        ]

    def _refined_candidates(self, S: BoolVector, T: BoolVector) -> Iterator[Candidate]:
        """Yield intervals of a cut whose weight is one refined sum, by its law given a coarse copy.

        1. That of the sum alone, see `RefinedRates.single_interval`.
        2. That of the best combination of the refined sum with all else that intervals may use. Its
           error is k N2 + G with G independent of the sum's noise. Given N1 = n >= 0, N2 lies
           between Z and L stochastically, where L is its law for n to infinity (`LimitLaplace`) and
           Z that for n = 0; where L is negative, all three can be drawn equal. So the error passes
           t with at most the probability that k L + G does, and falls below -t with at most that
           of k L + G, plus P(|G| > t). Mirrored for n < 0.
        """
        sums = self._sums
        if not sums.refined or not pairs_of_cut(S, T, self.space):
            return
        types, classes = self._types_of_cut(S, T)
        all_rows = self._rows(types, classes, sums.for_intervals)
        joined = types.counts > 0  # types without a pair do not count
        query = types.cut_coefficients[joined][:, None]
        entry_loss = self.noisy.distribution.rounding
        pairs = float(types.counts @ types.cut_coefficients)
        for index, (rates, fresh) in enumerate(zip(sums.rates, all_rows, strict=True)):
            if rates is None or fresh is None:
                continue
            same = (fresh.patterns[joined] == query).all(axis=0) & (fresh.sum_counts == 1)
            if not same.any():
                continue
            coarse = self._rows(types, classes, sums.coarse)[index]
            fine = self._rows(types, classes, sums.fine)[index]
            if coarse is None or fine is None:
                continue
            for column in np.flatnonzero(same):
                unit, value = fine.law.jump_distance, float(fine.values[column])
                loss = fine.rounding_loss * pairs if entry_loss else 0.0
                yield SingleSum(
                    rates=rates,
                    unit=unit,
                    coarse=round(float(coarse.values[column]) / unit),
                    fine=round(value / unit),
                    slack=ROUNDING * abs(value) + loss,
                )
                chosen = np.arange(len(same)) == column
                exact_rows = list(all_rows)
                exact_rows[index] = fresh.columns(~chosen)
                limit = LimitLaplace(rates, unit)
                refined = replace(fine.columns(chosen), law=limit)
                combined = self._combined(
                    types, self.noisy.cut_value(S, T), [refined, *_present(exact_rows)]
                )
                yield RefinedCombination(combined, limit)

    def _degree_rows(self, degrees: UsableSums, types: PairTypes) -> SummedRows:
        """Return the degrees of each cell as a column."""
        # One part of degrees for an undirected graph; else those of rows, then those of columns.
        noisy_sums = np.concatenate(degrees.steps)  # in grid units
        entry_sums = np.concatenate(self._vertex_sums)  # the same sums of the noisy entries
        cell_count = len(types.sizes)
        cell_sums = np.bincount(types.cell_of, noisy_sums, cell_count)
        return SummedRows(
            patterns=types.endpoints,
            values=np.asarray(degrees.unit * cell_sums),
            entry_sums=np.bincount(types.cell_of, entry_sums, cell_count).astype(np.float64),
            law=degrees.law,
            sum_counts=types.sizes,
            rounding_loss=degrees.unit,
        )

    def _total_row(self, total: UsableSums, types: PairTypes) -> SummedRows:
        """Return the total as one column that counts each pair once.

        The measured total counts each pair of an undirected graph twice. Half of it is used, so its
        noise and its rounding loss are halved by a halved unit.
        """
        multiplicity = 2 if self.noisy.symmetric else 1  # how often the total counts each pair
        unit = total.unit / multiplicity
        return SummedRows(
            patterns=np.ones((len(types.counts), 1)),
            values=np.array([float(total.values[0][0]) / multiplicity]),
            entry_sums=np.array([math.fsum(self._vertex_sums[0]) / multiplicity]),
            law=total.law_of(unit),
            sum_counts=np.ones(1, dtype=np.int64),
            rounding_loss=unit,
        )

    def _group_rows(
        self, measured: UsableSums, types: PairTypes, classes: SideClasses
    ) -> SummedRows:
        """Return the sums between groups; those between two classes of groups form a column.

        A *class* is a set of groups that lie alike to the cut, see `group_classes`. A *block* is
        the set of pairs between two classes. All vertices of a cell of `types`, and all of a group,
        are in one class; so a block is a union of pair types, and of measured cells.
        """
        groups: CellSums = measured.map
        # In an undirected graph, `types.cell_of` and the first array of `classes` are for all
        # vertices; otherwise both list the rows first, then the columns.
        class_of_cell = np.zeros(len(types.sizes), dtype=np.int64)
        class_of_cell[types.cell_of] = np.concatenate(classes)[: len(types.cell_of)]
        class_of_row_group, class_of_column_group = (
            _classes_of_groups(codes, side_classes)
            for codes, side_classes in zip(groups.members, classes, strict=True)
        )
        a, b = groups.ends  # row group and column group of each measured sum
        # The block of each measured sum is its pair of classes, the smaller one first, since a pair
        # has no direction here. (Of directed and bipartite graphs, classes of rows have smaller
        # numbers than those of columns, so that sorting changes nothing.)
        class_pairs = np.sort([class_of_row_group[a], class_of_column_group[b]], axis=0)
        blocks, block_of_sum = np.unique(class_pairs, axis=1, return_inverse=True)
        block_of_sum = block_of_sum.ravel()
        # The same pair of classes for each pair type, and whether it is that of a block.
        type_classes = np.sort([class_of_cell[types.first], class_of_cell[types.second]], axis=0)
        in_block = (type_classes[:, :, None] == blocks[:, None, :]).all(axis=0)  # (types, blocks)
        entry_sums = self._entries_between(groups)
        return SummedRows(
            patterns=in_block.astype(np.float64),
            values=np.bincount(block_of_sum, weights=measured.values[0]).astype(np.float64),
            entry_sums=np.bincount(block_of_sum, weights=entry_sums).astype(np.float64),
            law=measured.law,
            sum_counts=np.bincount(block_of_sum),
            rounding_loss=measured.unit if groups.weighted else 0.0,  # counts are not rounded
        )

    @cached_property
    def _vertex_sums(self) -> tuple[FloatVector, ...]:
        """Sums of the noisy entries at each row, and at each column where these differ."""
        return self.noisy.vertex_sums()

    def _entries_between(self, groups: CellSums) -> FloatVector:
        """Return sums of the noisy entries over the cells between groups, each pair once."""
        if self._cell_entries is None:
            in_row_group, in_column_group = (
                np.eye(group_count)[codes]
                for group_count, codes in zip(groups.shape, groups.members, strict=True)
            )  # (rows, groups) and (columns, groups)
            # Sums over all pairs of groups, from which those of the measured cells are picked.
            sums = (in_row_group.T @ self.noisy.blocks.times(in_column_group))[groups.ends]
            if groups.tree.symmetric:  # pairs within a group were counted in both directions
                sums[groups.ends[0] == groups.ends[1]] /= 2
            self._cell_entries = np.asarray(sums)
        return self._cell_entries

    def _combined(self, types: PairTypes, entry_sum: float, rows: Sequence[SummedRows]) -> Estimate:
        """Return the combination of least variance, with the law of its error.

        In the notation of `pair_types` the value is sum_p (q_p - f_p) Z_p + sum_r k_r y_r. It is
        computed as: the sum of the entries of the cut, plus for each column k (noisy sums - the
        same sums of entries).

        The noises of all entries and of all noisy sums are independent. So the law has a term for
        each pair type (coefficient q - f, one noise for each pair) and one for each column
        (coefficient k, one noise for each sum). Rounding down moves each entry, and what each pair
        adds to a noisy sum, by at most the rounding loss.

        Args:
            types: of the cut.
            entry_sum: sum of the noisy entries of the cut.
            rows: noisy sums that are combined with it.
        """
        law = self.noisy.distribution.law
        entry_loss = self.noisy.distribution.rounding  # 0 if answers are about rounded weights
        counts = types.counts
        # q - f of each pair type, and k of the columns of all `rows`, one after another.
        entry_coefficients, k = _best(types, rows, entry=law.variance)
        summands = [entry_sum]
        coefficients_and_counts = zip(entry_coefficients.tolist(), counts.tolist(), strict=True)
        terms = [
            NoiseTerm(law, coefficient, count) for coefficient, count in coefficients_and_counts
        ]
        losses = [entry_loss * float(counts @ np.abs(entry_coefficients))]
        for row in rows:
            column_count = len(row.sum_counts)
            row_k, k = k[:column_count], k[column_count:]  # the next columns are those of this row
            summands += [*(row_k * row.values), *(-row_k * row.entry_sums)]
            losses.append(row.rounding_loss * float(counts @ np.abs(row.patterns @ row_k)))
            factors = zip(row_k.tolist(), row.sum_counts.tolist(), strict=True)
            terms += [NoiseTerm(row.law, factor, sum_count) for factor, sum_count in factors]
        slack = ROUNDING * math.fsum(map(abs, summands))
        if entry_loss:  # else no loss counts: the noisy sums were rounded on the same grid
            slack += math.fsum(losses)
        return Estimate(math.fsum(summands), NoiseSum.of(terms), slack)

    @cached_property
    def _dense_entries(self) -> FloatMatrix:
        """All noisy entries, each pair once: of an undirected graph above the diagonal."""
        entries: FloatMatrix = np.asarray(self.noisy.estimate())
        if self.noisy.symmetric:
            entries = np.triu(entries, 1)
        return entries

    def _estimate_linear(
        self, query: LinearQuery, log_failures: float, *, simultaneous: bool
    ) -> QueryEstimate:
        """Estimate a query that is no cut from entries and degrees, with its proven interval.

        Args:
            query: that is no cut.
            log_failures: ln of 1 over the failure probability of the interval.
            simultaneous: whether the interval holds for all rank-one queries at once.

        Raises:
            QueryError: as for `estimate`.
        """
        noisy = self.noisy
        # `possible` values follow from the sums of the positive and of the negative coefficients;
        # `largest` is the largest absolute coefficient.
        extent = Extent.of(query, noisy.space)
        least, most = extent.possible(noisy.distribution.max_weight)
        if not extent.largest:  # all coefficients are 0
            return QueryEstimate(0.0, (0.0, 0.0), 0.0)
        coefficients = pair_coefficients(query, noisy.space)
        sums = self._sums
        value, radius = self._combined_by_pairs(coefficients, log_failures, sums.for_values.degrees)
        centre = value
        if simultaneous:
            centre, radius = self._entries_for_all(query, coefficients, log_failures)
        elif sums.refined:
            degrees = sums.for_intervals.degrees
            centre, radius = self._combined_by_pairs(coefficients, log_failures, degrees)
        return QueryEstimate(value, (centre - radius, centre + radius), most, least)

    def _entries_for_all(
        self, query: LinearQuery, coefficients: FloatMatrix, log_failures: float
    ) -> tuple[float, float]:
        """Return value and half width from entries alone, for all rank-one queries at once.

        For vectors u and v with entries in [0, 1] the error u' E v is linear in each of them, so it
        is largest where all entries are 0 or 1, which is a cut. So it is at most the largest error
        of all cuts, and for other u, v >= 0 at most max(u) max(v) times that.

        Source: Gupta, Roth, Ullman, *Iterative Constructions and Private Data Release*, 2012,
        Remark 6.4.

        Raises:
            QueryError: if the query is not rank-one.
        """
        if not isinstance(query, RankOneQuery):
            raise QueryError(
                "an interval for all queries at once, chosen after looking at the release, is"
                " proven for cuts and rank-one queries; other coefficients could follow the"
                " noise pair by pair"
            )
        noisy = self.noisy
        u, v = query.vectors(noisy.shape)
        cut_norm_bound = noise_cut_bound(
            noisy.distribution,
            noisy.shape,
            symmetric=noisy.symmetric,
            confidence=-math.expm1(-log_failures),
        )
        centre = float(np.vdot(coefficients, self._dense_entries))
        slack = _LINEAR_ROUNDING * abs(centre) + self._entry_losses(coefficients)
        return centre, cut_norm_bound * float(u.max()) * float(v.max()) + slack

    def _entry_losses(self, coefficients: FloatMatrix) -> float:
        """Return a bound on what rounding weights down takes from a sum of entries."""
        return self.noisy.distribution.rounding * float(np.abs(coefficients).sum())

    def _combined_by_pairs(
        self, coefficients: FloatMatrix, log_failures: float, degrees: UsableSums | None
    ) -> tuple[float, float]:
        """Return the estimate of least variance and the half width of its interval.

        Let Z be the noisy entries and d the noisy degrees. For any numbers k_i, one for each
        vertex, the sum over pairs of (c_ij - k_i - k_j) Z_ij plus the sum over vertices of k_i d_i
        is unbiased. Of bipartite and directed graphs it is c_ij - k_i - l_j, with l for the
        columns. The numbers k and l are called *shifts* here.

        Args:
            coefficients: c, of each pair once, shape (rows, columns).
            log_failures: ln of 1 over the failure probability.
            degrees: None for entries alone.
        """
        shifts = self._best_shifts(coefficients, degrees)
        if shifts is None:
            entry_coefficients = coefficients
        else:
            entry_coefficients = coefficients - self._added_shifts(*shifts)
        entries = entry_coefficients * self._dense_entries
        slack = _LINEAR_ROUNDING * float(np.abs(entries).sum())
        slack += self._entry_losses(entry_coefficients)
        summands = [float(entries.sum())]
        used = entry_coefficients[entry_coefficients != 0]
        noises = [(self.noisy.distribution.law, np.abs(used))]
        if shifts is not None and degrees is not None:
            # Not strict: an undirected graph has the same shifts twice, and degrees once.
            for k, degree_values in zip(shifts, degrees.values, strict=False):
                summands += (k * degree_values).tolist()
                noises.append((degrees.law, np.abs(k)))
            if self.noisy.distribution.rounding:
                # A degree loses up to a unit for each pair of its vertex: a row has as many pairs
                # as there are columns. An undirected graph is counted twice, which is safe.
                for k, pairs_of_vertex in zip(shifts, self.noisy.shape[::-1], strict=True):
                    slack += degrees.unit * pairs_of_vertex * float(np.abs(k).sum())
        slack += _LINEAR_ROUNDING * math.fsum(map(abs, summands))
        return math.fsum(summands), weighted_radius(noises, log_failures) + slack

    def _added_shifts(self, k: FloatVector, columns: FloatVector) -> FloatMatrix:
        """Return k_i + l_j for each pair, 0 where there is none, shape (rows, columns)."""
        shifts: FloatMatrix = np.add.outer(k, columns)
        if self.noisy.symmetric:
            return np.triu(shifts, 1)
        if self.noisy.directed:
            np.fill_diagonal(shifts, 0)
        return shifts

    def _best_shifts(
        self, coefficients: FloatMatrix, degrees: UsableSums | None
    ) -> tuple[FloatVector, FloatVector] | None:
        """Return the k and l of least variance; one array twice for an undirected graph.

        Let s^2 be the variance of an entry and t^2 that of a degree. For an undirected graph the
        derivative of the variance by k_i is 0 if

            (s^2 (n - 2) + t^2) k_i + s^2 sum_j k_j = s^2 w_i,   w_i = sum_j c_ij.

        Adding up over i gives sum_j k_j, and then each k_i. For rows and columns the equations are

            (s^2 m + t^2) k_i + s^2 sum_j l_j = s^2 (sum of c in row i),
            (s^2 n + t^2) l_j + s^2 sum_i k_i = s^2 (sum of c in column j),

        for n rows and m columns; added up, they are two equations for the two sums. A directed
        graph has no pair (i, i), which would change the equations a little. They are used all the
        same: the estimate stays unbiased, and its variance is nearly the least.

        Returns:
            None without degrees.
        """
        if degrees is None:
            return None
        entry_variance = self.noisy.distribution.law.variance
        degree_variance = degrees.law.variance
        row_sums, column_sums = coefficients.sum(axis=1), coefficients.sum(axis=0)
        n, m = coefficients.shape
        if self.noisy.symmetric:
            w = row_sums + column_sums
            diagonal = entry_variance * (n - 2) + degree_variance
            k = (
                entry_variance
                * (w - entry_variance * w.sum() / (diagonal + n * entry_variance))
                / diagonal
            )
            return k, k
        row_diagonal = entry_variance * m + degree_variance
        column_diagonal = entry_variance * n + degree_variance
        total = entry_variance * float(row_sums.sum())
        # With K = sum k and L = sum l: row_diagonal K + s^2 n L = total, column_diagonal L + s^2 m
        # K = total.
        determinant = row_diagonal * column_diagonal - entry_variance**2 * n * m
        sum_k = (column_diagonal - entry_variance * n) * total / determinant
        sum_l = (row_diagonal - entry_variance * m) * total / determinant
        return (
            (entry_variance * row_sums - entry_variance * sum_l) / row_diagonal,
            (entry_variance * column_sums - entry_variance * sum_k) / column_diagonal,
        )


def _best(
    types: PairTypes, rows: Sequence[SummedRows], *, entry: float
) -> tuple[FloatVector, FloatVector]:
    """Return q - f of each pair type, and k of the columns of all `rows`, one after another.

    Args:
        types: of the cut.
        rows: the noisy sums; none for entries alone.
        entry: variance of a noisy entry.
    """
    no_patterns = np.empty((len(types.counts), 0))  # `hstack` needs an array even if rows are empty
    return best_combination(
        types.counts,
        types.cut_coefficients,
        np.hstack([no_patterns, *(row.patterns for row in rows)]),
        np.concatenate([[], *(row.variances for row in rows)]),
        entry=entry,
    )


def _present(rows: Sequence[SummedRows | None]) -> list[SummedRows]:
    """Return what is not None."""
    return [row for row in rows if row is not None]


def _classes_of_groups(groups: IntVector, classes: IntVector) -> IntVector:
    """Return the class of each group, from the group and the class of each vertex."""
    class_of_group = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    class_of_group[groups] = classes
    return class_of_group


def weighted_radius(noises: Sequence[tuple[NoiseLaw, FloatVector]], log_failures: float) -> float:
    """Return the half width of an interval for a sum of independent noises with coefficients.

    `NoiseSum` takes time proportional to the number of different coefficients. So they are rounded
    to at most 200 levels, and what rounding leaves is bounded apart:

    - The sum with rounded coefficients has the radius of `NoiseSum`, at all but a fiftieth of the
      failure probability.
    - The remainders r of a law are at most h in absolute value. Let K be the cumulant generating
      function of one noise X. It is convex and 0 at 0, so K(r s) <= (r/h) K(h s). So the remainders
      together have at most the generating function of R = (sum of all r)/h noises with coefficient
      h, and Chernoff's bound for R noises holds for them (R need not be whole). It gets the
      fiftieth.

    The radius of the whole sum is at most the sum of both radii.

    Args:
        noises: for each law the absolute values of the coefficients.
        log_failures: ln of 1 over the failure probability.
    """
    terms: list[NoiseTerm] = []
    remainder_terms: list[tuple[NoiseLaw, float, float]] = []
    for law, coefficients in noises:
        used = coefficients[coefficients > 0]
        if not len(used):
            continue
        levels, counts, remainders = _rounded_to_levels(used)
        terms += [NoiseTerm(law, c, n) for c, n in zip(levels, counts, strict=True)]
        largest = float(remainders.max(initial=0.0))
        if largest > 0:
            remainder_terms.append((law, largest, float(remainders.sum()) / largest))
    if not terms:
        return 0.0
    rounded_sum = NoiseSum.of(terms)
    if not remainder_terms:
        return rounded_sum.radius(log_failures)
    main_radius = rounded_sum.radius(log_failures - math.log1p(-_REMAINDER_SHARE))
    return main_radius + chernoff_radius(remainder_terms, log_failures - math.log(_REMAINDER_SHARE))


def _rounded_to_levels(coefficients: FloatVector) -> tuple[list[float], list[int], FloatVector]:
    """Return levels > 0, how many coefficients each has, and the remainders of all coefficients."""
    distinct, counts = np.unique(coefficients, return_counts=True)
    if len(distinct) <= _COEFFICIENT_LEVELS:
        return distinct.tolist(), counts.tolist(), np.zeros(0)
    largest = float(distinct[-1])
    # Levels are squares of evenly spaced numbers, so they are finer for small coefficients.
    roots = np.rint(_COEFFICIENT_LEVELS * np.sqrt(coefficients / largest))
    used_roots, level_index, counts = np.unique(roots, return_inverse=True, return_counts=True)
    levels = largest * (used_roots / _COEFFICIENT_LEVELS) ** 2
    remainders: FloatVector = np.abs(coefficients - levels[level_index])
    positive = levels > 0
    return levels[positive].tolist(), counts[positive].tolist(), remainders
