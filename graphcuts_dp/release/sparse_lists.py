"""Answers to many cuts of a sparse release: from sums that are made for many of them at once.

Values differ from those of single cuts by the rounding of sums, about 1e-12 of what is added up.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.graph.queries import pairs_of_sizes
from graphcuts_dp.release.cut_sums import Added, Adding, Between
from graphcuts_dp.release.sparse_answers import SparseEstimate, SparseEstimator, Unbiased

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


class Estimated(NamedTuple):
    """A cut of a list.

    Attributes:
        place: in the list.
        estimate: of it.
        sizes: of its sets.
    """

    place: int
    estimate: SparseEstimate
    sizes: Sizes


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
    ) -> Iterator[Estimated]:
        """What is known of each cut.

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
                yield Estimated(place, estimate, sizes)

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
