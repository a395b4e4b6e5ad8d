"""Answers to many cuts between few parts of a sparse release: from sums over parts alone.

Everything that `SparseEstimator.estimate` adds up over vertices is added up over the parts once;
each cut then takes a product of small matrices. Values differ from those of single cuts by the
rounding of sums, about 1e-12 of what is added up.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.fits.sparse_model import SparseModel
from graphcuts_dp.graph.queries import pairs_of_sizes
from graphcuts_dp.release.known_parts import CommonParts, PartedCuts
from graphcuts_dp.release.sparse_answers import SparseEstimate, SparseEstimator, Unbiased

_BLOCK = 1 << 21  # numbers in a matrix of cuts and parts

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
@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the parts of one side; all of shape (parts,) or (parts, groups).

    Attributes:
        sizes: how many vertices.
        degrees: of noisy degrees, in weight.
        within: 1 for the model's group that a part lies in.
        factors: of the model's factors, by group.
        spread: of the spread of residual degrees, by group.
    """

    sizes: FloatVector
    degrees: FloatVector
    within: FloatMatrix
    factors: FloatMatrix
    spread: FloatMatrix

    @classmethod
    def of(
        cls,
        parts: CommonParts,
        degrees: FloatVector,
        codes: IntVector,
        factors: FloatVector,
        spread: FloatVector,
        groups: int,
    ) -> "_Sums":
        count = len(parts.first)
        within = np.zeros((count, groups))
        within[np.arange(count), codes[parts.first]] = 1

        def added(values: FloatVector | None) -> FloatVector:
            return np.bincount(parts.of, values, minlength=count).astype(np.float64)

        by_group = (added(each)[:, None] * within for each in (factors, spread))
        return cls(added(None), added(degrees), within, *by_group)


@final
class _Between:
    """Sums over pairs between parts, each pair once however it lies in a cut.

    Args:
        matrix: sums over the pairs that are listed with the row in part a, the column in part b.
        symmetric: whether pairs have no direction.
    """

    def __init__(self, matrix: FloatMatrix, symmetric: bool) -> None:
        self._once = matrix
        self._all = matrix + matrix.T if symmetric else matrix
        self._symmetric = symmetric

    def sums(self, S: FloatMatrix, T: FloatMatrix, both: FloatMatrix) -> FloatVector:
        """For each cut: pairs with ends in S and T, less those that both orders name."""
        found: FloatVector = ((S @ self._all) * T).sum(axis=1)
        if self._symmetric and both.any():
            found -= ((both @ self._once) * both).sum(axis=1)
        return found


@final
class ListEstimator:
    """Estimates cuts between parts; see `SparseEstimator`, whose values these are.

    Args:
        estimator: of the release.
        cuts: of a list.
    """

    def __init__(self, estimator: SparseEstimator, cuts: PartedCuts) -> None:
        self._own, self._cuts = estimator, cuts
        model = self._model = estimator.model
        sides = (
            (cuts.left, model.row_codes, model.row_factors, model.row_spread),
            (cuts.right, model.column_codes, model.column_factors, model.column_spread),
        )
        self._rows, self._columns = (
            _Sums.of(parts, degrees, codes, factors, spread, groups)
            for (parts, codes, factors, spread), degrees, groups in zip(
                sides, estimator.degree_values, model.blocks.shape, strict=True
            )
        )
        self._kept = _Between(_pair_sums(model, cuts, model.weights), model.symmetric)
        self._spread = _Between(_pair_sums(model, cuts, model.spread), model.symmetric)
        self._loops = np.bincount(
            cuts.left.of if model.layout.hollow else np.zeros(0, dtype=np.int64),
            model.loops if model.layout.hollow else None,
            minlength=len(cuts.left.first),
        ).astype(np.float64)
        cells = estimator.cell_sums
        self._cells = None if cells is None else _Between(cells[0], model.symmetric)
        self._numbers = None if cells is None else _Between(cells[1], model.symmetric)

    def estimates(
        self, log_failures: Callable[[Sizes], float], *, model_only: bool
    ) -> Iterator[Estimated]:
        """What is known of each cut.

        Args:
            log_failures: ln of 1 over the failure probability of the interval of a cut.
            model_only: whether values are the model's where cuts were measured, too.
        """
        step = max(1, _BLOCK // max(self._cuts.S.shape[1], self._cuts.T.shape[1]))
        for start in range(0, len(self._cuts.places), step):
            block = slice(start, start + step)
            found = _Block.of(self, self._cuts.S[block], self._cuts.T[block])
            for row, place in enumerate(self._cuts.places[block].tolist()):
                sizes = found.sizes_of(row)
                estimate = found.estimate(row, sizes, log_failures(sizes), model_only=model_only)
                yield Estimated(place, estimate, sizes)

    def expected(
        self, S: FloatMatrix, T: FloatMatrix, both: FloatMatrix
    ) -> tuple[FloatVector, FloatVector]:
        """See `SparseModel.expected`."""
        model, rows, columns = self._model, self._rows, self._columns
        left, right = S @ rows.factors, T @ columns.factors
        onward, back = right @ model.blocks.T, left @ model.blocks
        residual = (back * right).sum(axis=1)
        if both.any():
            loops = both @ self._loops
            residual -= loops
            if model.symmetric:
                inside = both @ rows.factors
                residual -= (((inside @ model.blocks) * inside).sum(axis=1) - loops) / 2
        across = model.shares(onward, model.blocks.sum(axis=1))
        homeward = model.shares(back, model.blocks.sum(axis=0))
        blurred = ((S @ rows.spread) * across**2).sum(axis=1)
        blurred += ((T @ columns.spread) * homeward**2).sum(axis=1)
        residual = np.maximum(residual, 0)
        scattered = residual * model.left_square / max(model.left_mean, 1e-300)
        spread = np.maximum(self._spread.sums(S, T, both), 0)
        return residual + self._kept.sums(S, T, both), np.sqrt(spread + scattered + blurred)

    def cells(self, left: FloatMatrix, right: FloatMatrix) -> _Cells:
        """Sums of all cells between some groups and others, and how many cells."""
        if self._cells is None or self._numbers is None:
            raise ValueError("no groups were measured")
        both = left * right if self._model.symmetric else left[:, :0]
        values, numbers = (each.sums(left, right, both) for each in (self._cells, self._numbers))
        return values, np.rint(numbers).astype(np.int64)

    @property
    def sums(self) -> tuple[_Sums, _Sums]:
        """Of both sides."""
        return self._rows, self._columns

    @property
    def has_cells(self) -> bool:
        """Whether sums between groups were measured."""
        return self._cells is not None

    @property
    def own(self) -> SparseEstimator:
        """What answers single cuts."""
        return self._own


def _pair_sums(model: SparseModel, cuts: PartedCuts, values: FloatVector) -> FloatMatrix:
    shape = len(cuts.left.first), len(cuts.right.first)
    places = cuts.left.of[model.rows] * shape[1] + cuts.right.of[model.columns]
    sums = np.bincount(places, values, minlength=shape[0] * shape[1])
    return sums.astype(np.float64).reshape(shape)


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
    def of(
        cls, lists: ListEstimator, S: npt.NDArray[np.bool_], T: npt.NDArray[np.bool_]
    ) -> "_Block":
        rows, columns = lists.sums
        model = lists.own.model
        hollow = model.layout.hollow
        left, right = S.astype(np.float64), T.astype(np.float64)
        both = (S & T).astype(np.float64) if hollow else left[:, :0]
        in_both = both @ rows.sizes if hollow else np.zeros(len(S))
        value, deviation = lists.expected(left, right, both)
        touched = inside = None
        unions = holds = np.zeros(len(S), dtype=np.bool_)
        if lists.has_cells:
            counts = left @ rows.within, right @ columns.within
            some = [count > 0 for count in counts]
            whole = [
                each & (count == side.within.sum(axis=0))
                for each, count, side in zip(some, counts, lists.sums, strict=True)
            ]
            unions = np.logical_and(
                *((a == b).all(axis=1) for a, b in zip(whole, some, strict=True))
            )
            holds = np.logical_and(*(each.any(axis=1) for each in whole))
            touched = lists.cells(*(each.astype(np.float64) for each in some))
            inside = lists.cells(*(each.astype(np.float64) for each in whole))
        sizes = tuple(
            np.rint(each).astype(np.int64)
            for each in (left @ rows.sizes, right @ columns.sizes, in_both)
        )
        return cls(
            own=lists.own,
            sizes=(sizes[0], sizes[1], sizes[2]),
            value=value,
            deviation=deviation,
            degrees=(left @ rows.degrees, right @ columns.degrees),
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
