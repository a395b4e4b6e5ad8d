"""The best linear unbiased estimate of a sum of weights, from public numbers alone.

A release knows three kinds of unbiased numbers: every entry, sums of the entries at each vertex
(degrees), and sums over blocks of pairs (the total is one, over all pairs), each with independent
noise of known variance. A query has a coefficient q_p for each pair p. For any numbers k_r, one for
each sum r with coefficients h_rp,

    sum_p (q_p - f_p) Z_p + sum_r k_r y_r   with   f_p = sum_r k_r h_rp

is unbiased, since the second sum puts back what the first leaves out, and its variance is

    V(k) = s^2 sum_p (q_p - f_p)^2 + sum_r k_r^2 v_r,

s^2 being the variance of an entry and v_r that of a sum. The best k minimises this quadratic: a
ridge regression of q on the patterns of the sums. By Gauss and Markov no other unbiased linear
estimate has a smaller variance. With degrees of variance t^2 alone it is k = s^2 M^-1 w,
M = (s^2 (n-2) + t^2) I + s^2 1 1', w_i = sum_j q_ij, and V = s^2 sum q^2 - s^4 w' M^-1 w.

Permuting vertices that play the same part in a cut changes nothing, and V is convex, so the best k
is constant on them. Vertices are therefore taken in *cells* (for a cut at most four: in S, in T, in
both, in none; a directed graph has these for tails and for heads of arcs), pairs in types (cell,
cell), and the regression has as many unknowns as there are cells and blocks, whatever the number of
vertices. Blocks of pairs must be unions of types: sums over blocks that cut through the cells need
finer cells (`classes` of `PairTypes.of`), nothing else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.estimator import (
    ROUNDING,
    AnswerOptions,
    Estimate,
    Estimates,
    QueryEstimate,
    Sizes,
    distinct_cuts,
)
from graphcuts_dp.estimate.measurement import (
    CellSums,
    CountMeasurement,
    Degrees,
    Measurements,
    Total,
)
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix, noise_cut_bound
from graphcuts_dp.estimate.shrinkage import Cut
from graphcuts_dp.privacy.laws import NoiseLaw, TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm, chernoff_radius
from graphcuts_dp.queries.coefficients import Extent, pair_coefficients
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, RankOneQuery, pairs_of_cut
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.value_bounds import most_weight

_MOST_SPLIT = 12  # groups that a cut splits and that are kept apart; see `group_classes`
_LINEAR_ROUNDING = 1e-11  # of all that is added up for a query that is no cut
_LEVELS = 200  # of coefficients that are kept apart
_FOR_REST = 0.02  # of a failure probability: for what the levels leave out

_Sides = tuple[IntVector, IntVector]  # a number of each row and each column


@final
@dataclass(frozen=True, eq=False)
class PairTypes:
    """Vertices in cells, the pairs between them by type, and a cut of which all cells are parts.

    Attributes:
        sizes: number of vertices of each cell, all > 0; of two sides those of the rows first.
        cell: of each vertex: of the rows, and then of the columns unless pairs have no direction.
        first: for each type of pairs the cell of one end (of the rows, if there are two sides).
        second: the cell of the other end; the same for pairs within a cell.
        counts: how many pairs there are of each type.
        joined: coefficient of each in the cut, 1 where it joins S and T.
    """

    sizes: IntVector
    cell: IntVector
    first: IntVector
    second: IntVector
    counts: IntVector
    joined: FloatVector

    @classmethod
    def of(
        cls, S: BoolVector, T: BoolVector, layout: Layout, classes: _Sides | None = None
    ) -> "PairTypes":
        """Of a cut, by masks of rows and of columns.

        Cells lie within classes, a number >= 0 for each row and each column, so that blocks of
        pairs between classes are unions of types; None for one class.
        """
        tails, heads = S.astype(np.int64), 2 * T.astype(np.int64)
        if layout.hollow:  # rows and columns are the same vertices
            tails = heads = tails + heads
        codes, rows, sizes = _cells(tails, None if classes is None else classes[0])
        if layout.symmetric:
            first, second = np.triu_indices(len(sizes))
            apart = sizes[first] * sizes[second]
            counts = np.where(first == second, sizes[first] * (sizes[first] - 1) // 2, apart)
            a, b = codes[first], codes[second]
            joined = ((a & 1) & (b >> 1)) | ((b & 1) & (a >> 1))
            return cls(sizes, rows, first, second, counts, joined.astype(float))
        others, columns, many = _cells(heads, None if classes is None else classes[1])
        first, second = np.indices((len(sizes), len(many))).reshape(2, -1)
        counts = sizes[first] * many[second]
        if layout.hollow:  # a vertex is no pair with itself
            counts = counts - np.bincount(rows * len(many) + columns, minlength=len(counts))
        joined = (codes[first] & 1) * (others[second] >> 1)
        before = len(sizes)
        return cls(
            np.concatenate([sizes, many]),
            np.concatenate([rows, columns + before]),
            first,
            second + before,
            counts,
            joined.astype(float),
        )

    @property
    def ends(self) -> FloatMatrix:
        """How many ends a pair of each type has in each cell, shape (types, cells): 0, 1 or 2."""
        cells = np.arange(len(self.sizes))
        found: FloatMatrix = (self.first[:, None] == cells).astype(float)
        found += self.second[:, None] == cells
        return found

    def joined_by(self, S: FloatMatrix, T: FloatMatrix, layout: Layout) -> FloatMatrix:
        """How many pairs of each type other cuts join, shape (types, cuts).

        `S` and `T` are 1 at the rows and columns of each of the cuts, shape (cuts, vertices).
        """
        cells = (np.arange(len(self.sizes))[:, None] == self.cell).astype(np.float64)
        if layout.symmetric:
            one, other, both = cells @ S.T, cells @ T.T, cells @ (S * T).T
            first, second = self.first, self.second
            found = one[first] * other[second] + one[second] * other[first]
            found -= both[first] * both[second]
            within = first == second
            twice = both[first] * (both[first] + 1) / 2  # with a pair of each vertex with itself
            inside = one[first] * other[first] - twice
            return np.asarray(np.where(within[:, None], inside, found))
        rows, columns = cells[:, : S.shape[1]], cells[:, S.shape[1] :]
        found = (rows @ S.T)[self.first] * (columns @ T.T)[self.second]
        if layout.hollow:
            found -= (rows[self.first] * columns[self.second]) @ (S * T).T
        return np.asarray(found)


def _cells(codes: IntVector, classes: IntVector | None) -> tuple[IntVector, IntVector, IntVector]:
    """The code of each cell, the cell of each vertex, the sizes of the cells."""
    keys = codes if classes is None else codes + 4 * classes
    found, cells, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return found % 4, cells, sizes


@final
@dataclass(frozen=True, eq=False)
class SummedRows:
    """Noisy sums of weights as rows over the types of pairs, and how they were measured.

    A column stands for sums that get one number k: the degrees of a cell, or a sum over a block.

    Attributes:
        patterns: how often the sums count a pair of each type, shape (types, columns).
        values: the noisy sums of each column, added up, in weight, shape (columns,).
        entries: the same sums of the noisy entries.
        law: of the noise of each sum.
        numbers: how many sums each column adds up, shape (columns,).
        step: by how much each pair may have been rounded down.
        distrust: what their variance is multiplied by before the best combination is looked for.
    """

    patterns: FloatMatrix
    values: FloatVector
    entries: FloatVector
    law: TwoSidedGeometric
    numbers: IntVector
    step: float
    distrust: float = 1.0

    @property
    def variances(self) -> FloatVector:
        """Of the noise of each column for k = 1, times the distrust."""
        return np.asarray(self.numbers * self.law.variance * self.distrust)


def best_combination(
    counts: IntVector,
    query: FloatVector,
    patterns: FloatMatrix,
    variances: FloatVector,
    *,
    entry: float,
) -> tuple[FloatVector, FloatVector]:
    """The combination of least variance: q - f of each type, and k of each column.

    Args:
        counts: how many pairs there are of each type, shape (types,).
        query: coefficient of the pairs of each type, shape (types,).
        patterns: how often each column counts them, see `SummedRows`; shape (types, columns).
        variances: of the columns, > 0.
        entry: variance of a noisy entry, > 0.

    Solved as a ridge regression; any rounding in the solution costs variance and no bias.
    """
    if not len(variances):
        return query, np.empty(0)
    weighted = patterns * (entry * counts)[:, None]
    # Scaled to a unit diagonal: variances of degrees and totals may differ by many orders.
    normal = patterns.T @ weighted
    normal[np.diag_indices_from(normal)] += variances
    scale = 1 / np.sqrt(normal.diagonal())
    solved = scale * np.linalg.solve(normal * np.outer(scale, scale), scale * (weighted.T @ query))
    return query - patterns @ solved, solved


def _best(
    types: PairTypes, rows: Sequence[SummedRows], *, entry: float
) -> tuple[FloatVector, FloatVector]:
    """`best_combination` for a cut."""
    return best_combination(
        types.counts,
        types.joined,
        np.hstack([np.empty((len(types.counts), 0)), *(each.patterns for each in rows)]),
        np.concatenate([[], *(each.variances for each in rows)]),
        entry=entry,
    )


@final
class MatrixEstimator:
    """Estimates linear queries by the best linear unbiased combination of what was measured.

    For cuts that are entries, degrees, the total, and sums between public groups, each as rows over
    the types of pairs of the cut; for other queries entries and degrees. Reads noisy values alone.

    Args:
        measurements: of a release.
        noisy: the noisy matrix among them.
    """

    def __init__(self, measurements: Measurements, noisy: NoisyMatrix) -> None:
        self.noisy, self.space, self.shape = noisy, noisy.space, noisy.shape
        self._degrees = measurements.find(Degrees)
        self._total = measurements.find(Total)
        self._groups = measurements.find(CellSums)
        self._entries_of_cells: FloatVector | None = None

    def estimate(self, queries: Sequence[LinearQuery], options: AnswerOptions) -> Estimates:
        """Estimate any linear queries; see `Estimator.estimate`.

        Raises:
            QueryError: a query that does not fit; one that is no cut, and another estimate than the
                unbiased one; an interval for all queries at once of one that is not rank-one:
                coefficients that follow the noise are off by all of it.
        """
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        if len(cuts) == len(queries):
            return self._estimate_cuts(cuts, options)
        together = len(queries) if options.joint else 1
        log_failures = math.log(together) - math.log1p(-options.confidence)
        alone = replace(options, confidence=1 - (1 - options.confidence) / together, joint=False)
        estimates: list[QueryEstimate] = []
        for query in queries:
            if isinstance(query, CutQuery):
                estimates += self._estimate_cuts([query], alone).queries
                continue
            estimates.append(
                self._estimate_linear(query, log_failures, simultaneous=options.simultaneous)
            )
            if options.estimate != "unbiased":
                raise QueryError(
                    "shrunk estimates are made of cuts; other queries have unbiased ones"
                )
        return Estimates(estimates, together, options.simultaneous)

    def _estimate_cuts(self, queries: Sequence[CutQuery], options: AnswerOptions) -> Estimates:
        """Estimate cuts; of a joint list, different ones share the failure probability."""
        noisy, cuts = self.noisy, [query.masks(self.space) for query in queries]
        cap = noisy.distribution.max_weight
        most = [most_weight(pairs_of_cut(*masks, self.space), cap) for masks in cuts]
        together = distinct_cuts(cuts, symmetric=noisy.symmetric) if options.joint and cuts else 1

        def interval(own: Estimate, S: BoolVector, T: BoolVector) -> tuple[float, float]:
            sizes = Sizes.of(S, T, one_set=noisy.symmetric)
            log_failures = options.log_failures(together, sizes, noisy.blocks.layout)
            if options.simultaneous or together > 1:
                own = self.estimate_cut_for_all(S, T, log_failures)
            return own.interval(log_failures)

        found = [self.estimate_cut(*masks) for masks in cuts]
        intervals = [interval(each, *masks) for each, masks in zip(found, cuts, strict=True)]
        facts = zip((each.value for each in found), intervals, most, strict=True)
        estimates = [QueryEstimate(*each) for each in facts]
        return Estimates(estimates, together, options.simultaneous)

    def estimate_cut(self, S: BoolVector, T: BoolVector) -> Estimate:
        """The estimate of a cut, given by masks of rows and of columns, of the least variance."""
        return self._estimates(S, T, [(1.0, 1.0)])[0]

    def estimate_cut_for_all(self, S: BoolVector, T: BoolVector, log_failures: float) -> Estimate:
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
        types, degrees, sums = self._measured(S, T)
        of_entries = self.noisy.cut_value(S, T)
        found = []
        for distrust in distrusts:
            pairs = () if distrust is None else zip((degrees, sums), distrust, strict=True)
            rows = [replace(each, distrust=wary) for some, wary in pairs for each in some]
            found.append(self._combined(types, of_entries, rows))
        return found

    def _measured(
        self, S: BoolVector, T: BoolVector
    ) -> tuple[PairTypes, list[SummedRows], list[SummedRows]]:
        """The types of pairs of a cut, and what degrees and what other sums say of them."""
        classes = None if self._groups is None else group_classes(self._groups.map, S, T)
        types = PairTypes.of(S, T, self.noisy.blocks.layout, classes)
        degrees, sums = (
            [self.rows_for(each, types, classes) for each in some if each is not None]
            for some in ((self._degrees,), (self._total, self._groups))
        )
        return types, degrees, sums

    def covariances(self, cuts: Sequence[Cut]) -> FloatMatrix:
        """Of the errors of the estimates of cuts, shape (cuts, cuts).

        For the best k of a query q, s^2 <q - f, h_r> = k_r v_r for each sum r, so that the
        covariance with the estimate of another query q' is s^2 <q - f, q'>. (Where groups that a
        cut splits are taken together, nearly.)
        """
        layout, variance = self.noisy.blocks.layout, self.noisy.distribution.law.variance
        found: FloatMatrix = np.empty((len(cuts), len(cuts)))
        S, T = (np.array(side, dtype=np.float64) for side in zip(*cuts, strict=True))
        for place, cut in enumerate(cuts):
            types, degrees, sums = self._measured(*cut)
            entries, _ = _best(types, [*degrees, *sums], entry=variance)
            found[place] = variance * (entries @ types.joined_by(S, T, layout))
        return (found + found.T) / 2

    def _combined(
        self, types: PairTypes, of_entries: float, rows: Sequence[SummedRows]
    ) -> Estimate:
        """The combination of least variance.

        Its error: each pair of a type, each vertex of a cell, each sum has noises of its own.
        Rounding down to fine grids may move it by the step of each number's own grid for each pair.
        """
        law, rounding = self.noisy.distribution.law, self.noisy.distribution.rounding
        counts = types.counts
        entries, k = _best(types, rows, entry=law.variance)
        parts = [of_entries]
        weights = zip(entries.tolist(), counts.tolist(), strict=True)
        terms = [NoiseTerm(law, weight, count) for weight, count in weights]
        moved = [rounding * float(counts @ np.abs(entries))]
        for each in rows:
            own, k = k[: len(each.numbers)], k[len(each.numbers) :]
            parts += [*(own * each.values), *(-own * each.entries)]
            moved.append(each.step * float(counts @ np.abs(each.patterns @ own)))
            numbers = zip(own.tolist(), each.numbers.tolist(), strict=True)
            terms += [NoiseTerm(each.law, factor, number) for factor, number in numbers]
        slack = ROUNDING * math.fsum(map(abs, parts))
        if rounding:
            slack += math.fsum(moved)
        return Estimate(math.fsum(parts), NoiseSum.of(terms), slack)

    def rows_for(
        self, measured: CountMeasurement[Any], types: PairTypes, classes: _Sides | None
    ) -> SummedRows:
        """What a measurement says of the pairs of a cut."""
        if isinstance(measured.map, CellSums) and classes is not None:
            return self._rows_of_groups(measured, types, classes)
        if isinstance(measured.map, Degrees):
            sums, size = np.concatenate(measured.steps).astype(np.float64), len(types.sizes)
            entries = np.concatenate(self._vertex_sums)
            return SummedRows(
                patterns=types.ends,
                values=np.asarray(measured.unit * np.bincount(types.cell, sums, size)),
                entries=np.bincount(types.cell, entries, size).astype(np.float64),
                law=measured.law,
                numbers=types.sizes,
                step=measured.unit,
            )
        twice = 2 if self.noisy.symmetric else 1  # the total counts each pair so often
        step = measured.unit / twice
        return SummedRows(
            patterns=np.ones((len(types.counts), 1)),
            values=np.array([measured.total / twice]),
            entries=np.array([math.fsum(self._vertex_sums[0]) / twice]),
            law=replace(measured.law, unit=step),
            numbers=np.ones(1, dtype=np.int64),
            step=step,
        )

    def _rows_of_groups(
        self, measured: CountMeasurement[CellSums], types: PairTypes, classes: _Sides
    ) -> SummedRows:
        """The sums between every two classes of groups."""
        groups = measured.map
        of_cells = np.zeros(len(types.sizes), dtype=np.int64)
        of_cells[types.cell] = np.concatenate(classes)[: len(types.cell)]
        of_groups = [
            _of_groups(codes, own) for codes, own in zip(groups.members, classes, strict=True)
        ]
        a, b = groups.ends
        ends = np.sort([of_groups[0][a], of_groups[1][b]], axis=0)
        blocks, block = np.unique(ends, axis=1, return_inverse=True)
        block = block.ravel()
        joined = np.sort([of_cells[types.first], of_cells[types.second]], axis=0)
        return SummedRows(
            patterns=(joined[:, :, None] == blocks[:, None, :]).all(axis=0).astype(np.float64),
            values=np.bincount(block, weights=measured.values[0]).astype(np.float64),
            entries=np.bincount(block, weights=self._cell_entries(groups)).astype(np.float64),
            law=measured.law,
            numbers=np.bincount(block),
            step=measured.unit if groups.weighted else 0.0,
        )

    @cached_property
    def _vertex_sums(self) -> tuple[FloatVector, ...]:
        """Sums of the noisy entries at each vertex: of rows, and of columns where these differ."""
        return self.noisy.vertex_sums()

    def _cell_entries(self, groups: CellSums) -> FloatVector:
        """Sums of the noisy entries over the cells between groups, each pair once."""
        if self._entries_of_cells is None:
            left, right = (
                np.eye(n)[own] for n, own in zip(groups.shape, groups.members, strict=True)
            )
            sums = (left.T @ self.noisy.blocks.times(right))[groups.ends]
            if groups.tree.symmetric:
                sums[groups.ends[0] == groups.ends[1]] /= 2
            self._entries_of_cells = np.asarray(sums)
        return self._entries_of_cells

    @cached_property
    def _dense(self) -> FloatMatrix:
        found: FloatMatrix = np.asarray(self.noisy.estimate())
        if self.noisy.symmetric:
            found = np.triu(found, 1)
        return found

    def _estimate_linear(
        self, query: LinearQuery, log_failures: float, *, simultaneous: bool
    ) -> QueryEstimate:
        """Estimate a query that is no cut from entries and degrees, with its proven interval.

        `log_failures` is ln of 1 over the failure probability of the interval; a simultaneous one
        holds for all rank-one queries at once. See `estimate` for the errors.
        """
        noisy = self.noisy
        extent = Extent.of(query, noisy.space)
        least, most = extent.possible(noisy.distribution.max_weight)
        if not extent.largest:
            return QueryEstimate(0.0, (0.0, 0.0), 0.0)
        coefficients = pair_coefficients(query, noisy.space)
        value, radius = self._by_pairs(coefficients, log_failures)
        centre = value
        if simultaneous:
            centre, radius = self._for_all(query, coefficients, log_failures)
        return QueryEstimate(value, (centre - radius, centre + radius), most, least)

    def _for_all(
        self, query: LinearQuery, coefficients: FloatMatrix, log_failures: float
    ) -> tuple[float, float]:
        """Value and half width of entries alone, for all rank-one queries at once.

        u' E v is bilinear, so that it is largest at a cut of the cut norm.

        Source: GRU12 Remark 6.4.
        """
        if not isinstance(query, RankOneQuery):
            raise QueryError(
                "an interval for all queries at once, chosen after looking at the release, is"
                " proven for cuts and rank-one queries; other coefficients could follow the"
                " noise pair by pair"
            )
        noisy = self.noisy
        u, v = query.vectors(noisy.shape)
        worst = noise_cut_bound(
            noisy.distribution,
            noisy.shape,
            symmetric=noisy.symmetric,
            confidence=-math.expm1(-log_failures),
        )
        centre = float(np.vdot(coefficients, self._dense))
        slack = _LINEAR_ROUNDING * abs(centre) + self._rounding(coefficients)
        return centre, worst * float(u.max()) * float(v.max()) + slack

    def _rounding(self, coefficients: FloatMatrix) -> float:
        """What rounding weights down by less than a step may move the sum of entries by."""
        return self.noisy.distribution.rounding * float(np.abs(coefficients).sum())

    def _by_pairs(self, coefficients: FloatMatrix, log_failures: float) -> tuple[float, float]:
        """The estimate of least variance, and the half width of its interval.

        For any numbers k_i the sum over pairs of (c_ij - k_i - k_j) Z_ij, plus that over vertices
        of k_i d_i, is unbiased, d being the noisy degrees; of two sides and of arcs,
        c_ij - k_i - l_j. The k of least variance solves a system that is constant off its diagonal
        (of arcs as if each vertex were paired with itself, too: unbiased all the same, and nearly
        the best).
        """
        shifts = self._shifts(coefficients)
        rest = coefficients if shifts is None else coefficients - self._spread(*shifts)
        entries = rest * self._dense
        slack = _LINEAR_ROUNDING * float(np.abs(entries).sum()) + self._rounding(rest)
        parts = [float(entries.sum())]
        noises = [(self.noisy.distribution.law, np.abs(rest[rest != 0]))]
        if shifts is not None and self._degrees is not None:
            for k, values in zip(shifts, self._degrees.values, strict=False):
                parts += (k * values).tolist()
                noises.append((self._degrees.law, np.abs(k)))
            if self.noisy.distribution.rounding:  # wherever a weight is counted
                for k, pairs in zip(shifts, self.noisy.shape[::-1], strict=True):
                    slack += self._degrees.unit * pairs * float(np.abs(k).sum())
        slack += _LINEAR_ROUNDING * math.fsum(map(abs, parts))
        return math.fsum(parts), weighted_radius(noises, log_failures) + slack

    def _spread(self, k: FloatVector, columns: FloatVector) -> FloatMatrix:
        """k_i + l_j at the place of each pair."""
        found: FloatMatrix = np.add.outer(k, columns)
        if self.noisy.symmetric:
            return np.triu(found, 1)
        if self.noisy.directed:
            np.fill_diagonal(found, 0)
        return found

    def _shifts(self, coefficients: FloatMatrix) -> tuple[FloatVector, FloatVector] | None:
        """The best k and l; one array twice for one vertex set. None without degrees."""
        if self._degrees is None:
            return None
        entry = self.noisy.distribution.law.variance
        degree = self._degrees.law.variance
        rows, columns = coefficients.sum(axis=1), coefficients.sum(axis=0)
        n, m = coefficients.shape
        if self.noisy.symmetric:
            sums = rows + columns
            own = entry * (n - 2) + degree
            k = entry * (sums - entry * sums.sum() / (own + n * entry)) / own
            return k, k
        first, second = entry * m + degree, entry * n + degree
        total = entry * float(rows.sum())
        # Of K = sum k and L = sum l: first K + entry n L = total, second L + entry m K = total.
        determinant = first * second - entry**2 * n * m
        all_k = (second - entry * n) * total / determinant
        all_l = (first - entry * m) * total / determinant
        return (entry * rows - entry * all_l) / first, (entry * columns - entry * all_k) / second


def group_classes(groups: CellSums, S: BoolVector, T: BoolVector) -> _Sides:
    """A class for each row and each column (one array twice for a plain graph).

    Groups that a cut does not split are in one class for each of the ways in which they can
    lie (in S, in T, in both, in none): permuting such groups changes nothing but their sizes.
    Each of the groups that it splits is a class of its own, as far as there are at most 12; if
    there are more, the smaller ones are one class. Fewer classes mean fewer numbers that are
    used apart, never a bias.
    """
    of_rows, of_columns = groups.members
    if groups.tree.symmetric:
        found = _classes(of_rows, S + 2 * T.astype(np.int64))
        return found, found
    rows = _classes(of_rows, S.astype(np.int64))
    columns = _classes(of_columns, T.astype(np.int64))
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


def weighted_radius(noises: Sequence[tuple[NoiseLaw, FloatVector]], log_failures: float) -> float:
    """Half width of an interval for a sum of independent noises, each times its coefficient.

    Coefficients are rounded to a few levels. The sum with rounded ones is `NoiseSum`'s, and gets
    all but a fiftieth of the failure probability. What is left out has coefficients of at most h in
    modulus; cumulant generating functions are convex and 0 at 0, so that of r X at s is at most r/h
    times that of h X, and Chernoff's bound follows with the sum of all r/h in place of a number of
    noises.

    `noises` are of each law the moduli of the coefficients; `log_failures` is ln of 1 over the
    failure probability.
    """
    terms: list[NoiseTerm] = []
    left: list[tuple[NoiseLaw, float, float]] = []
    for law, coefficients in noises:
        used = coefficients[coefficients > 0]
        if not len(used):
            continue
        levels, counts, rest = _levelled(used)
        terms += [NoiseTerm(law, c, n) for c, n in zip(levels, counts, strict=True)]
        widest = float(rest.max(initial=0.0))
        if widest > 0:
            left.append((law, widest, float(rest.sum()) / widest))
    if not terms:
        return 0.0
    main = NoiseSum.of(terms)
    if not left:
        return main.radius(log_failures)
    of_main = log_failures - math.log1p(-_FOR_REST)
    return main.radius(of_main) + chernoff_radius(left, log_failures - math.log(_FOR_REST))


def _levelled(coefficients: FloatVector) -> tuple[list[float], list[int], FloatVector]:
    """Levels, how many coefficients each has, and how far these are from it."""
    found, counts = np.unique(coefficients, return_counts=True)
    if len(found) <= _LEVELS:
        return found.tolist(), counts.tolist(), np.zeros(0)
    largest = float(found[-1])
    # Squares of even steps: small coefficients are told apart more finely.
    places = np.rint(_LEVELS * np.sqrt(coefficients / largest))
    kept, inverse, counts = np.unique(places, return_inverse=True, return_counts=True)
    levels = largest * (kept / _LEVELS) ** 2
    rest: FloatVector = np.abs(coefficients - levels[inverse])
    some = levels > 0
    return levels[some].tolist(), counts[some].tolist(), rest
