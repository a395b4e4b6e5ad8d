"""Answers of a sparse release as users get them: cut to what is possible, with their labels.

Answers to many cuts of a sparse release: from sums that are made for many of them at once.

Values differ from those of single cuts by the rounding of sums, about 1e-12 of what is added up.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.estimate.answers import distinct_cuts, log_cuts_of_sizes
from graphcuts_dp.estimate.cut_sums import Added, Adding, Between, MaskSums, PartSums
from graphcuts_dp.estimate.known_parts import PartedCuts, parted_cuts
from graphcuts_dp.estimate.noisy_matrix import CutAnswer
from graphcuts_dp.estimate.sparse_answers import SparseEstimate, SparseEstimator, Unbiased
from graphcuts_dp.estimate.sparse_model import SparseModel
from graphcuts_dp.pairs.layout import most_weight, possible_part
from graphcuts_dp.pairs.queries import CutQuery, pairs_of_sizes

BoolMatrix = npt.NDArray[np.bool_]
_Cells = tuple[FloatVector, IntVector]  # sums of cells, and how many


class Sizes(NamedTuple):
    """How many vertices a cut has.

    Attributes:
        S: in S.
        T: in T.
        both: in both, where these are of one set.
        pairs: vertex pairs, each once.
    """

    S: int
    T: int
    both: int
    pairs: int


@final
class ListEstimator:
    """Estimates a list of cuts; see `SparseEstimator`, whose values these are.

    Args:
        estimator: of the release.
    """

    def __init__(self, estimator: SparseEstimator) -> None:
        self.own = estimator
        self._model = estimator.model
        cells = estimator.cell_sums
        self._cells = None
        if cells is not None:
            self._cells = [Between(each, self._model.symmetric) for each in cells]
        self.group_sizes = [
            np.bincount(codes, minlength=count).astype(np.float64)
            for codes, count in zip(
                (self._model.row_codes, self._model.column_codes),
                self._model.blocks.shape,
                strict=True,
            )
        ]

    def estimates(
        self, adding: Adding, log_failures: Callable[[Sizes], float], *, model_only: bool
    ) -> Iterator[tuple[int, SparseEstimate, Sizes]]:
        """The place of each cut in the list, what is known of it, and the sizes of its sets.

        Args:
            adding: the cuts.
            log_failures: ln of 1 over the failure probability of the interval of a cut.
            model_only: whether values are the model's where cuts were measured, too.
        """
        for added in adding.blocks():
            found = _Block.of(self, added)
            for row, place in enumerate(added.places.tolist()):
                sizes = found.sizes_of(row)
                estimate = found.estimate(row, sizes, log_failures(sizes), model_only=model_only)
                yield place, estimate, sizes

    def expected(self, added: Added) -> tuple[FloatVector, FloatVector]:
        """See `SparseModel.expected`."""
        model = self._model
        left, right, inside = added.factors
        onward, back = right @ model.blocks.T, left @ model.blocks
        residual = (back * right).sum(axis=1) - added.loops
        if model.symmetric:
            residual -= (((inside @ model.blocks) * inside).sum(axis=1) - added.loops) / 2
        across = model.shares(onward, model.blocks.sum(axis=1))
        homeward = model.shares(back, model.blocks.sum(axis=0))
        blurred = (added.spread[0] * across**2).sum(axis=1)
        blurred += (added.spread[1] * homeward**2).sum(axis=1)
        residual = np.maximum(residual, 0)
        scattered = residual * model.left_square / max(model.left_mean, 1e-300)
        spread = np.maximum(added.kept_spread, 0)
        return residual + added.kept, np.sqrt(spread + scattered + blurred)

    @property
    def has_cells(self) -> bool:
        """Whether sums between groups were measured."""
        return self._cells is not None

    def cells(self, left: BoolMatrix, right: BoolMatrix) -> _Cells:
        """Sums of all cells between some groups and others, and how many cells."""
        if self._cells is None:
            raise ValueError("no groups were measured")
        S, T = left.astype(np.float64), right.astype(np.float64)
        both = S * T if self._model.symmetric else S
        values, numbers = (each.sums(S, T, both) for each in self._cells)
        return values, np.rint(numbers).astype(np.int64)


@final
@dataclass(frozen=True, eq=False)
class _Block:
    """Some cuts; vectors have an entry for each.

    Attributes:
        own: what answers single cuts.
        sizes: of S, of T, of both.
        value: the model's.
        deviation: the model's.
        degrees: noisy degrees of S and of T added up.
        unions: whether both sets are unions of measured groups.
        holds: whether there is a measured group in each of both sets.
        touched: sum and number of the cells that a cut touches; None without groups.
        inside: of those that lie in it; likewise.
    """

    own: SparseEstimator
    sizes: tuple[IntVector, IntVector, IntVector]
    value: FloatVector
    deviation: FloatVector
    degrees: tuple[FloatVector, FloatVector]
    unions: BoolVector
    holds: BoolVector
    touched: _Cells | None
    inside: _Cells | None

    @classmethod
    def of(cls, lists: ListEstimator, added: Added) -> "_Block":
        value, deviation = lists.expected(added)
        touched = inside = None
        unions = holds = np.zeros(len(value), dtype=np.bool_)
        if lists.has_cells:
            some = [count > 0.5 for count in added.counts]
            whole = [
                each & (count > size - 0.5)
                for each, count, size in zip(some, added.counts, lists.group_sizes, strict=True)
            ]
            same = [(a == b).all(axis=1) for a, b in zip(whole, some, strict=True)]
            unions = np.logical_and(same[0], same[1])
            holds = np.logical_and(whole[0].any(axis=1), whole[1].any(axis=1))
            touched, inside = lists.cells(some[0], some[1]), lists.cells(whole[0], whole[1])
        numbers = (*(each.sum(axis=1) for each in added.counts), added.in_both)
        sizes = [np.rint(each).astype(np.int64) for each in numbers]
        return cls(
            own=lists.own,
            sizes=(sizes[0], sizes[1], sizes[2]),
            value=value,
            deviation=deviation,
            degrees=added.degrees,
            unions=unions,
            holds=holds,
            touched=touched,
            inside=inside,
        )

    def sizes_of(self, row: int) -> Sizes:
        """Of a cut."""
        in_s, in_t, both = (int(each[row]) for each in self.sizes)
        pairs = pairs_of_sizes(in_s, in_t, both, symmetric=self.own.model.symmetric)
        return Sizes(in_s, in_t, both, pairs)

    def estimate(
        self, row: int, sizes: Sizes, log_failures: float, *, model_only: bool
    ) -> SparseEstimate:
        """See `SparseEstimator.estimate`."""
        if not sizes.S or not sizes.T:
            return SparseEstimate(0.0, True, (0.0, 0.0), None)
        own = self.own
        sums = self.degrees[0][row], self.degrees[1][row]
        found = [
            own.sum_of_degrees(float(sums[side]), count, factor)
            for side, count, factor in own.exact_degrees((sizes.S, sizes.T), sizes.both)
        ]
        if self.touched is not None and self.unions[row]:
            found.append(_at(own, self.touched, row))
        measured = min(found, key=lambda each: each.noise.variance, default=None)
        value, typical = float(self.value[row]), float(self.deviation[row])
        if measured is None:
            above = [
                own.sum_of_degrees(float(one), count)
                for one, count in zip(sums, (sizes.S, sizes.T), strict=True)
            ]
            below = []
            if self.touched is not None:
                above.append(_at(own, self.touched, row))
            if self.inside is not None and self.holds[row]:
                below.append(_at(own, self.inside, row))
            interval = own.between(above, below, log_failures)
            return SparseEstimate(value, False, interval, typical)
        radius = measured.radius(log_failures)
        interval = measured.value - radius, measured.value + radius
        if model_only:
            return SparseEstimate(value, False, interval, typical)
        return SparseEstimate(measured.value, True, interval, None)


def _at(own: SparseEstimator, cells: _Cells, row: int) -> Unbiased:
    return own.sum_of_cells(float(cells[0][row]), int(cells[1][row]))


_FEW = 8  # queries that are answered one by one


def sparse_answers(
    estimator: SparseEstimator,
    queries: Sequence[CutQuery],
    *,
    confidence: float,
    simultaneous: bool,
    joint: bool,
    model_only: bool,
    seeded: bool,
) -> list[CutAnswer]:
    """Answers to cut queries; see `Release.answer_all`.

    Cuts whose sets are unions of public groups, or truth vectors that many queries share, are
    answered together from sums over these; see `ListEstimator`.

    Args:
        estimator: of the release.
        queries: on the vertex sets of the release.
        confidence: of each interval.
        simultaneous: whether intervals hold for all cuts at once.
        joint: whether they hold for all of these at once; see `Release.answer_all`.
        model_only: whether the model answers where the cut was measured, too.
        seeded: whether the noise came from a seed.
    """
    model, cap = estimator.model, estimator.model.weight_cap
    if len(queries) <= _FEW:
        parted, together = None, 1
        if joint and queries:
            together = _distinct(estimator, queries, None)
    else:
        parted = parted_cuts(queries, model.space, (model.row_codes, model.column_codes))
        together = _distinct(estimator, queries, parted) if joint else 1
    failures = math.log(together) - math.log1p(-confidence)

    def log_failures(sizes: Sizes) -> float:
        if not simultaneous:
            return failures
        shape, symmetric = model.layout.shape, model.symmetric
        return failures + log_cuts_of_sizes(sizes[:3], shape, symmetric=symmetric)

    def answer(estimate: SparseEstimate, most: float) -> CutAnswer:
        return CutAnswer(
            value=estimate.value,
            interval=possible_part(estimate.interval, most),
            confidence=confidence,
            simultaneous=simultaneous,
            together=together,
            seeded=seeded,
            estimate="unbiased" if estimate.typical is None else "model",
            typical_error=estimate.typical,
        )

    found: dict[int, CutAnswer] = {}
    if len(queries) <= _FEW:
        for place, query in enumerate(queries):
            S, T = query.masks(model.space)
            pairs = 0 if cap is None else estimator.pairs(S, T)  # else nobody has to count them
            sizes = Sizes(int(S.sum()), int(T.sum()), _in_both(S, T, model), pairs)
            estimate = estimator.estimate(S, T, log_failures(sizes))
            if model_only and estimate.measured and sizes.S and sizes.T:
                value, typical = model.expected(np.flatnonzero(S), np.flatnonzero(T))
                estimate = SparseEstimate(value, False, estimate.interval, typical)
            found[place] = answer(estimate, math.inf if cap is None else most_weight(pairs, cap))
    else:
        lists = ListEstimator(estimator)
        for adding in _added_up(estimator, queries, parted):
            for place, estimate, sizes in lists.estimates(
                adding, log_failures, model_only=model_only
            ):
                most = math.inf if cap is None else most_weight(sizes.pairs, cap)
                found[place] = answer(estimate, most)
    return [found[place] for place in range(len(queries))]


def _in_both(S: BoolVector, T: BoolVector, model: SparseModel) -> int:
    return int(np.count_nonzero(S & T)) if model.layout.hollow else 0


def _added_up(
    estimator: SparseEstimator, queries: Sequence[CutQuery], parted: PartedCuts | None
) -> Iterator[Adding]:
    """Sums for those of few parts, and for all others."""
    model, degrees = estimator.model, estimator.degree_values
    done: set[int] = set()
    if parted is not None:
        done.update(parted.places.tolist())
        yield PartSums(model, degrees, parted)
    others = [place for place in range(len(queries)) if place not in done]
    masks = (queries[place].masks(model.space) for place in others)
    yield MaskSums(model, degrees, others, masks)


def _distinct(
    estimator: SparseEstimator, queries: Sequence[CutQuery], parted: PartedCuts | None
) -> int:
    """How many cuts a list names; one that is written in two ways may count twice."""
    model = estimator.model
    if parted is None:
        cuts = [query.masks(model.space) for query in queries]
        return distinct_cuts(cuts, symmetric=model.symmetric)
    done = set(parted.places.tolist())
    others = [query.masks(model.space) for i, query in enumerate(queries) if i not in done]
    known = list(zip(parted.S, parted.T, strict=True))
    return distinct_cuts(known, symmetric=model.symmetric) + distinct_cuts(
        others, symmetric=model.symmetric
    )
