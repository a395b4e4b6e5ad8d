"""Answers of a sparse release: measured values with proven intervals, model values elsewhere.

A sparse release has noisy degrees, perhaps noisy sums between groups of vertices, and a model
fitted to them (`SparseModel`); it has no noisy number for each pair. A *cell* is the set of pairs
between two groups. A cut is *measured* if cells or degrees add up to it exactly; then its value is
unbiased. Otherwise its value is that of the model, without guarantee. Intervals are proven in both
cases. They are about the weights after rounding down to grid units, as documented for sparse
releases; so their slack covers the rounding of floats alone.

A *mask* is a truth vector of vertices. *Vertex parts* are sets of vertices that no set of any of
the cuts divides, so that each cut is answered from sums over parts (see `cut_sets`). `CutSets` says
which parts belong to which set; `sets.by_group("S")` gives for each cut and each group of the model
the number of vertices in S, and `sets.by_group("S", values)` the sum of their values. Cuts whose
sets are shared by many are answered all at once, others a few at a time. So values depend in their
last digits on the list: sums are rounded by about 1e-12 of what is added up.

A `NoiseSum` is the law of a sum of independent noises; `log_failures` is ln(1/p) for a failure
probability p. Read `SparseEstimator` first.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.cut_sets import parted_cuts, sets_of_masks
from graphcuts_dp.estimate.estimator import (
    ROUNDING,
    AnswerOptions,
    Estimate,
    Estimates,
    QueryEstimate,
    Sizes,
    distinct_cuts,
)
from graphcuts_dp.estimate.measurement import CellSums, Degrees, Measurements
from graphcuts_dp.estimate.set_overlaps import kinds_by_size, overlap_by_chance
from graphcuts_dp.estimate.sparse_model import Between, CutSets, ExpectedCuts, SparseModel
from graphcuts_dp.privacy.laws import TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, pairs_of_sizes
from graphcuts_dp.schema.value_bounds import most_weight
from graphcuts_dp.schema.vertices import Space, one_set

_LEADING_DIGITS = 3  # of a number of noises, which is rounded up so that few radii are computed
# Lists of at most so many queries are not searched for shared sets: all are answered from masks.
_FEWEST_FOR_PARTS = 8
# Cuts without shared sets are answered in batches with at most so many masks, and so with at most
# 2^8 parts.
_MASKS_AT_ONCE = 8
# Lists whose masks have more entries in all are not searched for sets that overlap by chance.
_LARGEST_COMPARED = 1 << 26
_BLOCK_ENTRIES = 1 << 21  # entries of a matrix of cuts and parts, which bounds the memory


class _CellBounds(NamedTuple):
    """Noisy sums over cells that bound a cut from below and from above.

    Attributes:
        contained: sum of the cells that lie entirely within the cut; None if there are none.
        touched: sum of the cells that the cut touches; None without groups.
        exact: whether both are the same cells, so that they are the cut itself.
    """

    contained: Estimate | None
    touched: Estimate | None
    exact: bool


class _DegreeSum(NamedTuple):
    """Degrees that add up to a cut.

    Attributes:
        side: 0 for the degrees of S, 1 for those of T.
        degrees: how many are added up.
        factor: what each of them is multiplied by.
    """

    side: int
    degrees: int
    factor: float


@final
class SparseEstimator:
    """Estimates cuts from noisy sums and a sparse model. Reads noisy values alone.

    A cut is measured if it is a union of cells, or one vertex against all others, or (of directed
    and bipartite graphs) some rows and all columns, or all rows and some columns.

    Intervals are proven for every cut. Weights are not negative, so a cut is at most the sum of the
    cells that it touches, at most the sum of the degrees in S, and at most that in T; it is at
    least the sum of the cells within it. These bounds share the failure probability.

    Args:
        measurements: of a release.
        model: fitted to them.
    """

    def __init__(self, measurements: Measurements, model: SparseModel) -> None:
        self.model: SparseModel = model
        self.space: Space = model.space
        self.shape: tuple[int, int] = model.layout.shape
        degrees = measurements.find(Degrees)
        if degrees is None:
            raise ValueError("a sparse release has degrees")
        self._degrees = degrees
        self._groups = measurements.find(CellSums)

    def estimate(self, queries: Sequence[LinearQuery], options: AnswerOptions) -> Estimates:
        """Estimate cuts; see `Estimator.estimate`.

        If `options.estimate` is not "unbiased", every value is that of the model.

        Raises:
            QueryError: if a query does not fit the vertex sets, or is no cut.
        """
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        if len(cuts) < len(queries):
            raise QueryError(
                "a sparse release answers cut queries: it holds no entry of its own for each pair; "
                "ask its synthetic graph, for example query.value(release.graph), without guarantee"
            )
        parted = parted_cuts(cuts, self.model) if len(cuts) > _FEWEST_FOR_PARTS else None
        together = self._distinct_cuts(cuts, parted) if options.joint and cuts else 1

        def log_failures(sizes: Sizes) -> float:
            return options.log_failures(together, sizes, self.model.layout)

        estimates: dict[int, QueryEstimate] = {}
        model_only = options.estimate != "unbiased"
        by_chance = self._sets_by_chance(cuts)
        for sets in self._batches(cuts, parted):
            of_sets = self._estimates(sets, log_failures, by_chance, model_only=model_only)
            estimates.update(zip(sets.indices, of_sets, strict=True))
        in_order = [estimates[index] for index in range(len(cuts))]
        return Estimates(in_order, together, options.simultaneous)

    def _distinct_cuts(self, queries: Sequence[CutQuery], parted: CutSets | None) -> int:
        """Return how many distinct cuts a list has, or more.

        Cuts of shared sets are compared by their parts, others by their masks. A cut that occurs in
        both forms counts twice, which only makes intervals longer.
        """
        by_parts = [] if parted is None else list(zip(parted.S, parted.T, strict=True))
        parted_indices = set() if parted is None else set(parted.indices)
        by_masks = [
            query.masks(self.space)
            for index, query in enumerate(queries)
            if index not in parted_indices
        ]
        symmetric = self.model.symmetric
        return sum(distinct_cuts(cuts, symmetric=symmetric) for cuts in (by_parts, by_masks))

    def _batches(self, queries: Sequence[CutQuery], parted: CutSets | None) -> Iterator[CutSets]:
        """Yield the sets of all cuts in batches: those with shared sets first, then the others."""
        parted_indices: set[int] = set()  # of the cuts with shared sets
        if parted is not None:
            parted_indices.update(parted.indices)
            cuts_at_once = max(1, _BLOCK_ENTRIES // max(parted.S.shape[1], parted.T.shape[1]))
            for start in range(0, len(parted.indices), cuts_at_once):
                yield parted.subset(slice(start, start + cuts_at_once))
        batch: list[int] = []
        mask_count = 0
        for index, query in enumerate(queries):
            if index in parted_indices:
                continue
            new_masks = 1 if query.T is None else 2
            if mask_count + new_masks > _MASKS_AT_ONCE:
                yield self._sets_of(queries, batch)
                batch, mask_count = [], 0
            batch.append(index)
            mask_count += new_masks
        if batch:
            yield self._sets_of(queries, batch)

    def _sets_of(self, queries: Sequence[CutQuery], indices: list[int]) -> CutSets:
        """Return the sets of a batch of cuts from their masks."""
        return sets_of_masks(self.model, [self._masks(queries[i]) for i in indices], indices)

    def _masks(self, query: CutQuery) -> tuple[BoolVector, BoolVector | None]:
        """Return masks of S and T; None for T if it is the complement of S."""
        S, T = query.masks(self.space)
        return S, None if query.T is None and one_set(self.space) else T

    def _estimates(
        self,
        sets: CutSets,
        log_failures: Callable[[Sizes], float],
        by_chance: BoolVector,
        *,
        model_only: bool,
    ) -> Iterator[QueryEstimate]:
        """Yield the estimate of each cut, with its proven interval.

        Args:
            sets: of the cuts.
            log_failures: ln of 1 over the failure probability of a cut, from its sizes.
            by_chance: whether the sets of each cut of the whole list overlap as random ones do.
            model_only: whether the value is that of the model even where the cut was measured.
        """
        # Numbers of vertices of each group in S and in T, shape (cuts, groups).
        counts_S, counts_T = sets.by_group("S"), sets.by_group("T")
        size_table = np.rint(
            [counts.sum(axis=1) for counts in (counts_S, counts_T, sets.by_group("both"))],
        ).astype(np.int64)
        degree_sums_S = sets.by_group("S", self._degree_values[0]).sum(axis=1)
        degree_sums_T = sets.by_group("T", self._degree_values[1]).sum(axis=1)
        expected: ExpectedCuts | None = None
        for cut, bounds in enumerate(self._cell_bounds(counts_S, counts_T)):
            sizes = Sizes(*size_table[:, cut].tolist())
            if not sizes.S or not sizes.T:
                yield QueryEstimate(0.0, (0.0, 0.0), 0.0, typical=0.0)
                continue
            pairs = pairs_of_sizes(*sizes, symmetric=self.model.symmetric)
            # `pairs` is how many pairs a cut of these sizes joins, `most` what they can weigh.
            most = most_weight(pairs, self.model.max_weight)
            log = log_failures(sizes)
            degree_sums = float(degree_sums_S[cut]), float(degree_sums_T[cut])
            measured = self._measured(sizes, degree_sums, bounds)
            if measured is not None and not model_only:
                yield QueryEstimate(
                    measured.value, measured.interval(log), most, typical=measured.noise.deviation
                )
                continue
            interval = (
                self._proven_interval(sizes, degree_sums, bounds, log)
                if measured is None
                else measured.interval(log)
            )
            if expected is None:  # computed for all cuts when one needs them
                expected = self.model.expected(sets)
            variance = float(expected.by_chance[cut])
            if not by_chance[sets.indices[cut]]:
                variance += float(expected.by_structure[cut])
            yield QueryEstimate(
                float(expected.weights[cut]),
                interval,
                most,
                kind="model",
                typical=math.sqrt(variance),
            )

    def _sets_by_chance(self, queries: Sequence[CutQuery]) -> BoolVector:
        """Return whether the sets of each cut overlap with others of its kind as random ones do.

        False where that cannot be decided: for a cut without another of its kind in the list, and
        for lists that would take much memory to compare. Then typical errors count structure that
        the model lacks.
        """
        by_chance = np.zeros(len(queries), dtype=np.bool_)
        if len(queries) * sum(self.shape) > _LARGEST_COMPARED:
            return by_chance
        cuts = [query.masks(self.space) for query in queries]
        for positions, sets in kinds_by_size(cuts, hollow=self.model.layout.hollow):
            by_chance[positions] = overlap_by_chance(sets)
        return by_chance

    def _measured(
        self, sizes: Sizes, degree_sums: tuple[float, float], bounds: _CellBounds
    ) -> Estimate | None:
        """Return the most precise sum that is the cut itself; None if the cut was not measured."""
        estimates = []
        if bounds.touched is not None and bounds.exact:
            estimates.append(bounds.touched)
        for exact in self._exact_degree_sums(sizes):
            value = degree_sums[exact.side]
            estimates.append(self._degree_estimate(value, exact.degrees, exact.factor))
        return min(estimates, key=lambda estimate: estimate.noise.variance, default=None)

    def _exact_degree_sums(self, sizes: Sizes) -> list[_DegreeSum]:
        """Return the sums of degrees that are a cut of these sizes."""
        row_count, column_count = self.shape
        if not self.model.symmetric:
            sums = [_DegreeSum(0, sizes.S, 1.0)] if column_count == sizes.T else []
            if row_count == sizes.S:
                sums.append(_DegreeSum(1, sizes.T, 1.0))
            return sums
        if sizes.S == sizes.T == row_count:  # each edge is in two degrees
            return [_DegreeSum(0, row_count, 0.5)]
        # One set is a single vertex v, the other all others, or all vertices (v itself adds no
        # pair). Then the cut is the degree of v. The other set has n - 1 vertices without v, or n.
        for side in (0, 1):
            opposite_size = sizes[1 - side]
            if sizes[side] != 1 or opposite_size < row_count - 1:
                continue
            if opposite_size == row_count or not sizes.both:
                return [_DegreeSum(side, 1, 1.0)]
        return []

    def _proven_interval(
        self,
        sizes: Sizes,
        degree_sums: tuple[float, float],
        bounds: _CellBounds,
        log_failures: float,
    ) -> tuple[float, float]:
        """Return proven bounds of a cut that was not measured.

        Upper bounds are the degrees in S, the degrees in T and the touched cells; the lower bound
        is the sum of the contained cells. They share the failure probability, so that all hold at
        once.
        """
        upper = [
            self._degree_estimate(degree_sums[0], sizes.S),
            self._degree_estimate(degree_sums[1], sizes.T),
        ]
        if bounds.touched is not None:
            upper.append(bounds.touched)
        lower = [] if bounds.contained is None else [bounds.contained]
        log_failures_of_one = log_failures + math.log(len(upper) + len(lower))
        high = min(estimate.interval(log_failures_of_one)[1] for estimate in upper)
        low = max((estimate.interval(log_failures_of_one)[0] for estimate in lower), default=0.0)
        return max(low, 0.0), max(high, 0.0)

    def _cell_bounds(self, counts_S: FloatMatrix, counts_T: FloatMatrix) -> list[_CellBounds]:
        """Return the sums over cells that bound each cut.

        A cell (a, b) is touched if S has a vertex of a and T one of b; it is contained if S has all
        of a and T all of b. If S and T are unions of groups, the same cells are touched and
        contained, and they are exactly the cut.

        Args:
            counts_S: number of vertices of each row group in S, shape (cuts, row groups).
            counts_T: number of vertices of each column group in T, shape (cuts, column groups).
        """
        if self._sums_between is None:
            return [_CellBounds(None, None, exact=False)] * len(counts_S)
        # `between.sums(S, T)` adds up the noisy sums of all cells between the groups in S and those
        # in T; `cells_between.sums` counts these cells, each of which has noise of its own.
        law, between, cells_between = self._sums_between
        (row_codes, column_codes), (row_groups, column_groups) = (
            self.model.codes,
            self.model.blocks.shape,
        )
        # Counts are whole numbers in floats; half a vertex is safe against rounding.
        touched_S, touched_T = counts_S > 0.5, counts_T > 0.5
        full_S = touched_S & (counts_S > np.bincount(row_codes, minlength=row_groups) - 0.5)
        full_T = touched_T & (counts_T > np.bincount(column_codes, minlength=column_groups) - 0.5)

        # Estimates of the sums between groups, given which groups S and T have, (cuts, groups).
        def estimates(S: BoolMatrix, T: BoolMatrix) -> list[Estimate]:
            values, cell_counts = between.sums(S, T).tolist(), cells_between.sums(S, T).tolist()
            return [
                _sum_estimate(law, value, round(count))
                for value, count in zip(values, cell_counts, strict=True)
            ]

        # Exact if each touched group is full. A cell is contained if S and T both have full groups.
        exact = np.logical_and((full_S == touched_S).all(axis=1), (full_T == touched_T).all(axis=1))
        has_cells = np.logical_and(full_S.any(axis=1), full_T.any(axis=1))
        bounds = zip(
            estimates(full_S, full_T),
            estimates(touched_S, touched_T),
            has_cells.tolist(),
            exact.tolist(),
            strict=True,
        )
        return [
            _CellBounds(contained if has_contained else None, touched, is_exact)
            for contained, touched, has_contained, is_exact in bounds
        ]

    @cached_property
    def _sums_between(self) -> tuple[TwoSidedGeometric, Between, Between] | None:
        """Law of the sums between groups, the sums, and numbers of cells; None without groups."""
        if self._groups is None:
            return None
        cells = self._groups.map
        sums, cell_counts = np.zeros(cells.shape), np.zeros(cells.shape)
        sums[cells.ends], cell_counts[cells.ends] = self._groups.values[0], 1
        symmetric = self.model.symmetric
        return self._groups.law, Between(sums, symmetric), Between(cell_counts, symmetric)

    @cached_property
    def _degree_values(self) -> tuple[FloatVector, FloatVector]:
        """Noisy degrees of rows and of columns, in units of weight."""
        return self._degrees.values[0], self._degrees.values[-1]

    def _degree_estimate(self, total: float, count: int, factor: float = 1.0) -> Estimate:
        """Return the estimate factor * total, where `total` is a sum of `count` noisy degrees."""
        return _sum_estimate(self._degrees.law, factor * total, count, factor)


def _sum_estimate(
    law: TwoSidedGeometric, value: float, count: int, factor: float = 1.0
) -> Estimate:
    """Return the estimate of a sum of noisy numbers.

    Args:
        law: of the noise of each number.
        value: of the sum, factor included.
        count: how many numbers are added up.
        factor: what each number, and so its noise, was multiplied by.
    """
    return Estimate(value, _noise_sum(law, factor, _rounded_up(count)), ROUNDING * abs(value))


@lru_cache(maxsize=1 << 12)
def _noise_sum(law: TwoSidedGeometric, factor: float, count: int) -> NoiseSum:
    """Return the law of `factor` times a sum of `count` noises."""
    return NoiseSum.of([NoiseTerm(law, factor, count)])


def _rounded_up(count: int) -> int:
    """Return a number of noises rounded up to three leading digits.

    The radius stays valid with more noises: discrete Laplace noise is symmetric and unimodal, so
    adding an independent one never makes |sum| <= t more likely.
    """
    multiple: int = 10 ** max(0, len(str(count)) - _LEADING_DIGITS)
    return -(-count // multiple) * multiple
