"""Answers of a sparse release: measured values with proven intervals, estimates elsewhere.

A list of more than a few cuts is answered from sums that are made for many of them at once; values
differ from those of single cuts by the rounding of sums, about 1e-12 of what is added up.
"""

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.estimate.answers import (
    ROUNDING,
    AnswerOptions,
    CutEstimate,
    Estimate,
    Sizes,
    by_precision,
    distinct_cuts,
)
from graphcuts_dp.estimate.cut_sums import (
    Between,
    BoolMatrix,
    CutSums,
    PartedCuts,
    parted_cuts,
    sums_over_parts,
    sums_over_vertices,
)
from graphcuts_dp.estimate.measurement import Measurements, NoisyDegrees, NoisyGroups
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.sparse_model import OneCut, SparseModel
from graphcuts_dp.pairs.layout import most_weight
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import CutQuery, pairs_of_sizes
from graphcuts_dp.privacy.value_noise import NoiseSum, NoiseTerm

_MOST_KNOWN = 1 << 22  # numbers that are kept of sets that are known
_DIGITS = 2  # of a number of noises, which is rounded up
_FEW = 8  # queries that are answered one by one

_LogFailures = Callable[[Sizes], float]


@final
class _KnownSet(NamedTuple):
    """A set, how many vertices of each group it has, and the sum of their noisy degrees."""

    mask: "weakref.ref[BoolVector]"
    counts: FloatVector
    degrees: float


@final
class _Cells(NamedTuple):
    """Cells between groups, of some cuts: those within a cut, and those that it touches.

    Attributes:
        unions: whether all cells that a cut touches are within it.
        holds: whether there is a group within each of both sets.
        within: sums and numbers of cells.
        touched: likewise.
    """

    unions: BoolVector
    holds: BoolVector
    within: tuple[FloatVector, IntVector]
    touched: tuple[FloatVector, IntVector]


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

    noise_name = None  # of entries, of which there are none

    def __init__(self, measurements: Measurements, model: SparseModel) -> None:
        self.model, self.space, self.shape = model, model.space, model.layout.shape
        degrees = measurements.find(NoisyDegrees)
        if degrees is None:
            raise ValueError("a sparse release has degrees")
        self._degrees = degrees
        self._groups: Sequence[NoisyGroups] = measurements.all_of(NoisyGroups)
        self._known_sets: dict[tuple[int, int], _KnownSet] = {}
        self._noises: dict[tuple[str, int], NoiseSum] = {}

    @property
    def noisy(self) -> NoisyMatrix:
        """Raises GraphError: there is none."""
        raise GraphError("a sparse release has no noisy matrix; ask answer, or its graph")

    def linear(
        self, query: LinearQuery, log_failures: float, *, simultaneous: bool
    ) -> tuple[float, tuple[float, float]]:
        """Raises QueryError: cuts alone are answered."""
        del query, log_failures, simultaneous
        raise QueryError(
            "a sparse release answers cut queries: it holds no entry of its own for each pair; "
            "ask its synthetic graph, for example query.value(release.graph), without guarantee"
        )

    def estimates(
        self,
        queries: Sequence[CutQuery],
        options: AnswerOptions,
        synthetic: object = None,
    ) -> tuple[list[CutEstimate], int]:
        """See `Estimator.estimates`; any other estimate than "unbiased" is the model's, always.

        Cuts whose sets are unions of public groups, or truth vectors that many queries share, are
        answered together from sums over these.
        """
        del synthetic
        parted = None
        if len(queries) > _FEW:
            codes = self.model.row_codes, self.model.column_codes
            parted = parted_cuts(queries, self.space, codes)
        together = self._distinct(queries, parted) if options.joint and queries else 1

        def log_failures(sizes: Sizes) -> float:
            return options.log_failures(together, sizes, self.model.layout)

        found: dict[int, CutEstimate] = {}
        model_only = options.estimate != "unbiased"
        for sums in self._sums(queries, parted):
            found.update(self._estimates(sums, log_failures, model_only=model_only))
        return [found[place] for place in range(len(queries))], together

    def _distinct(self, queries: Sequence[CutQuery], parted: PartedCuts | None) -> int:
        """How many cuts a list names; one that is written in two ways may count twice."""
        known: list[tuple[BoolVector, BoolVector]] = []
        done: set[int] = set()
        if parted is not None:
            known, done = list(zip(parted.S, parted.T, strict=True)), set(parted.places.tolist())
        others = [each.masks(self.space) for i, each in enumerate(queries) if i not in done]
        return sum(distinct_cuts(cuts, symmetric=self.model.symmetric) for cuts in (known, others))

    def _sums(self, queries: Sequence[CutQuery], parted: PartedCuts | None) -> Iterator[CutSums]:
        """Sums one by one for a few cuts; else for those of few parts, and for all others."""
        if len(queries) <= _FEW:
            for place, query in enumerate(queries):
                yield self._sums_of_one(place, *query.masks(self.space))
            return
        done: set[int] = set()
        if parted is not None:
            done.update(parted.places.tolist())
            yield from sums_over_parts(self.model, self._degree_values, parted)
        others = [place for place in range(len(queries)) if place not in done]
        masks = (queries[place].masks(self.space) for place in others)
        yield from sums_over_vertices(self.model, self._degree_values, others, masks)

    def _sums_of_one(self, place: int, S: BoolVector, T: BoolVector) -> CutSums:
        sets = self._look(S, 0), self._look(T, 1)
        both = S & T if self.model.layout.hollow else S[:0]
        return CutSums(
            places=np.array([place]),
            degrees=(np.array([sets[0].degrees]), np.array([sets[1].degrees])),
            counts=(sets[0].counts[None], sets[1].counts[None]),
            in_both=np.array([np.count_nonzero(both)]),
            sets=OneCut(self.model, S, T),
        )

    def _look(self, mask: BoolVector, side: int) -> _KnownSet:
        """What a set of rows (0) or columns (1) is.

        Sets that cannot be written to, such as those that a group's name stands for, are looked at
        once: later they are known by the object that they are.
        """
        known = self._known_sets.get((id(mask), side))
        if known is not None and known.mask() is mask:
            return known
        groups = self.model.blocks.shape[side]
        codes = (self.model.row_codes, self.model.column_codes)[side]
        counts = np.bincount(codes[mask], minlength=groups).astype(np.float64)
        degrees = float(self._degree_values[side][mask].sum())
        found = _KnownSet(weakref.ref(mask), counts, degrees)
        if not mask.flags.writeable:
            if len(self._known_sets) * groups >= _MOST_KNOWN:
                self._known_sets.clear()
            self._known_sets[id(mask), side] = found
        return found

    def _estimates(
        self, sums: CutSums, log_failures: _LogFailures, *, model_only: bool
    ) -> Iterator[tuple[int, CutEstimate]]:
        """The place of each cut in the list, and what is known of it."""
        cells = self._cells(*sums.counts) if self._groups else None
        numbers = [np.rint(each.sum(axis=1)).astype(np.int64) for each in sums.counts]
        both = np.rint(sums.in_both).astype(np.int64)
        model: tuple[FloatVector, FloatVector] | None = None
        for row, place in enumerate(sums.places.tolist()):
            sizes = Sizes(int(numbers[0][row]), int(numbers[1][row]), int(both[row]))
            if not sizes.S or not sizes.T:
                yield place, CutEstimate(0.0, (0.0, 0.0), 0.0)
                continue
            pairs = pairs_of_sizes(*sizes, symmetric=self.model.symmetric)
            most = most_weight(pairs, self.model.weight_cap)
            log = log_failures(sizes)
            degrees = float(sums.degrees[0][row]), float(sums.degrees[1][row])
            measured = self._measured(sizes, degrees, cells, row)
            if measured is not None and not model_only:
                yield place, CutEstimate(measured.value, measured.interval(log), most)
                continue
            interval = (
                self._bounds(sizes, degrees, cells, row, log)
                if measured is None
                else measured.interval(log)
            )
            if model is None:
                model = self.model.expected(sums.sets)
            value, typical = (float(each[row]) for each in model)
            yield place, CutEstimate(value, interval, most, "model", typical)

    def _measured(
        self, sizes: Sizes, degrees: tuple[float, float], cells: _Cells | None, row: int
    ) -> Estimate | None:
        """The most precise of the sums that are the cut itself; None if there is none."""
        found = []
        if cells is not None and cells.unions[row]:
            found.append(self._cell_sum(cells.touched, row))
        found += [
            self._degree_sum(degrees[side], count, factor)
            for side, count, factor in self._exact_degrees(sizes)
        ]
        return min(found, key=lambda each: each.noise.variance, default=None)

    def _exact_degrees(self, sizes: Sizes) -> list[tuple[int, int, float]]:
        """Which degrees add up to a cut: side (0 for those of S), how many, and what times them."""
        n, width = self.shape
        if not self.model.symmetric:
            found = [(0, sizes.S, 1.0)] if width == sizes.T else []
            return [*found, (1, sizes.T, 1.0)] if n == sizes.S else found
        if sizes.S == sizes.T == n:  # each edge is in two degrees
            return [(0, n, 0.5)]
        for side in (0, 1):
            others = sizes[1 - side]
            if sizes[side] == 1 and others >= n - 1 and (others == n or not sizes.both):
                return [(side, 1, 1.0)]
        return []

    def _bounds(
        self,
        sizes: Sizes,
        degrees: tuple[float, float],
        cells: _Cells | None,
        row: int,
        log_failures: float,
    ) -> tuple[float, float]:
        """Proven bounds: at least all cells within, at most what touches or meets the sets."""
        above = [self._degree_sum(*each) for each in zip(degrees, sizes[:2], strict=True)]
        below = []
        if cells is not None:
            above.append(self._cell_sum(cells.touched, row))
            if cells.holds[row]:
                below.append(self._cell_sum(cells.within, row))
        each_fails = log_failures + math.log(len(above) + len(below))  # all hold at once
        high = min(bound.interval(each_fails)[1] for bound in above)
        low = max((bound.interval(each_fails)[0] for bound in below), default=0.0)
        return max(low, 0.0), max(high, 0.0)

    def _cells(self, left: FloatMatrix, right: FloatMatrix) -> _Cells:
        """Of cuts that have so many vertices of each group in S and in T."""
        counts = left, right
        some = [count > 0.5 for count in counts]
        whole = [
            each & (count > size - 0.5)
            for each, count, size in zip(some, counts, self._group_sizes, strict=True)
        ]
        same = [(a == b).all(axis=1) for a, b in zip(whole, some, strict=True)]

        def sums(sides: list[BoolMatrix]) -> tuple[FloatVector, IntVector]:
            S, T = (each.astype(np.float64) for each in sides)
            values, numbers = (each.sums(S, T) for each in self._between)
            return values, np.rint(numbers).astype(np.int64)

        return _Cells(
            unions=np.logical_and(*same),
            holds=np.logical_and(whole[0].any(axis=1), whole[1].any(axis=1)),
            within=sums(whole),
            touched=sums(some),
        )

    @cached_property
    def _between(self) -> list[Between]:
        """Of the cells between groups: their sums, and 1 for each."""
        first = self._groups[0]
        sums, numbers = np.zeros(first.shape), np.zeros(first.shape)
        for each, share in zip(self._groups, self._cell_shares, strict=True):
            sums[first.ends] += share * each.values
        numbers[first.ends] = 1
        return [Between(each, self.model.symmetric) for each in (sums, numbers)]

    @cached_property
    def _cell_shares(self) -> list[float]:
        """Of measurements of the same cells."""
        return by_precision([each.law for each in self._groups])

    @cached_property
    def _group_sizes(self) -> list[IntVector]:
        codes = self.model.row_codes, self.model.column_codes
        sizes = zip(codes, self.model.blocks.shape, strict=True)
        return [np.bincount(each, minlength=groups) for each, groups in sizes]

    @cached_property
    def _degree_values(self) -> tuple[FloatVector, FloatVector]:
        """Noisy degrees of rows and of columns, in weight."""
        unit = np.float64(self._degrees.unit)
        rows: FloatVector = self._degrees.rows * unit
        return rows, rows if self._degrees.symmetric else self._degrees.columns * unit

    def _cell_sum(self, cells: tuple[FloatVector, IntVector], row: int) -> Estimate:
        return self._sum("cells", float(cells[0][row]), int(cells[1][row]))

    def _degree_sum(self, value: float, count: int, factor: float = 1.0) -> Estimate:
        """So many degrees that add up to this, times a factor."""
        return self._sum("degrees" if factor == 1 else "half degrees", factor * value, count)

    def _sum(self, kind: str, value: float, count: int) -> Estimate:
        """So many cells, or degrees, that add up to this; each sum of noises is made once."""
        number = _rounded_up(count)
        if (kind, number) not in self._noises:
            terms = [NoiseTerm(self._degrees.law, 1.0 if kind == "degrees" else 0.5, number)]
            if kind == "cells":
                terms = [
                    NoiseTerm(each.law, share, number)
                    for share, each in zip(self._cell_shares, self._groups, strict=True)
                ]
            self._noises[kind, number] = NoiseSum.of(terms)
        return Estimate(value, self._noises[kind, number], ROUNDING * abs(value))


def _rounded_up(count: int) -> int:
    """With three leading digits, so that few radii have to be found.

    A sum of more noises is no nearer to 0: discrete Laplace noise is symmetric and unimodal, and
    adding another one then never makes |sum| <= t more likely.
    """
    step: int = 10 ** max(0, len(str(count)) - 1 - _DIGITS)
    return -(-count // step) * step
