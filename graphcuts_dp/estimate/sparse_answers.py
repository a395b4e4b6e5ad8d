"""Answers of a sparse release: measured values with proven intervals, estimates elsewhere.

A list of more than a few cuts is answered from sums that are made for many of them at once: over
parts of the vertices that no set of the list divides, or over the vertices with the truth vectors
of some cuts as bits of a number. Values differ from those of single cuts by the rounding of sums,
about 1e-12 of what is added up.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

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
from graphcuts_dp.estimate.measurement import CellSums, Degrees, Measurement, Measurements
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.sparse_model import CutSets, PartSums, SparseModel
from graphcuts_dp.pairs.groups import GroupUnion
from graphcuts_dp.pairs.queries import CutQuery, LinearQuery, one_set, pairs_of_sizes
from graphcuts_dp.pairs.universe import most_weight
from graphcuts_dp.pairs.vertices import ALL
from graphcuts_dp.privacy.distributions import NoiseLaw, NoiseSum, NoiseTerm

_DIGITS = 2  # of a number of noises, which is rounded up
_FEW = 8  # queries that are answered one by one
_MOST_PARTS = 2048  # of a side
_OFTEN = 8  # queries for each truth vector that is looked at as a part
_BLOCK = 1 << 21  # numbers in a matrix of cuts and parts
_AT_ONCE = 12  # cuts whose truth vectors are bits of a number

BoolMatrix = npt.NDArray[np.bool_]
_Laws = tuple[tuple[NoiseLaw, float], ...]  # with the factor of a noise of each
_Sums = tuple[FloatVector, IntVector]  # of some cells, and how many they are


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
    within: _Sums
    touched: _Sums


@final
class Between:
    """Sums over pairs between parts, each pair once however it lies in a cut.

    Args:
        matrix: sums over the pairs that are listed with the row in part a, the column in part b.
        symmetric: whether pairs have no direction.
    """

    def __init__(self, matrix: FloatMatrix, symmetric: bool) -> None:
        self._once = matrix
        self._all = matrix + matrix.T if symmetric else matrix
        self._symmetric = symmetric

    def sums(self, S: FloatMatrix, T: FloatMatrix) -> FloatVector:
        """For each cut: pairs with ends in S and T, less those that both orders name."""
        found: FloatVector = ((S @ self._all) * T).sum(axis=1)
        both = S * T if self._symmetric else S[:0]
        if both.any():
            found -= ((both @ self._once) * both).sum(axis=1)
        return found


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
        degrees = measurements.find(Degrees)
        if degrees is None:
            raise ValueError("a sparse release has degrees")
        self._degrees = degrees
        self._groups: Sequence[Measurement[CellSums]] = measurements.all_of(CellSums)

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
        """See `MatrixEstimator.estimates`; another estimate than "unbiased" is the model's, always.

        Cuts whose sets are unions of public groups, or truth vectors that many queries share, are
        answered together from sums over these.
        """
        del synthetic
        parted = parted_cuts(queries, self.model) if len(queries) > _FEW else None
        together = self._distinct(queries, parted) if options.joint and queries else 1

        def log_failures(sizes: Sizes) -> float:
            return options.log_failures(together, sizes, self.model.layout)

        found: dict[int, CutEstimate] = {}
        model_only = options.estimate != "unbiased"
        for places, sets in self._sets(queries, parted):
            estimates = self._estimates(sets, log_failures, model_only=model_only)
            found.update(zip(places, estimates, strict=True))
        return [found[place] for place in range(len(queries))], together

    def _distinct(self, queries: Sequence[CutQuery], parted: "PartedCuts | None") -> int:
        """How many cuts a list names; one that is written in two ways may count twice."""
        known = [] if parted is None else list(zip(parted.S, parted.T, strict=True))
        done = set() if parted is None else set(parted.places)
        others = [each.masks(self.space) for i, each in enumerate(queries) if i not in done]
        return sum(distinct_cuts(cuts, symmetric=self.model.symmetric) for cuts in (known, others))

    def _sets(
        self, queries: Sequence[CutQuery], parted: "PartedCuts | None"
    ) -> Iterator[tuple[Sequence[int], CutSets]]:
        """The sets of cuts and their places in a list: one by one if they are few.

        Else those of few parts first, then all others, some at a time.
        """
        if len(queries) <= _FEW:
            for place, query in enumerate(queries):
                yield [place], self._sets_of_one(*query.masks(self.space))
            return
        done: set[int] = set()
        if parted is not None:
            done.update(parted.places)
            yield from parted.sets(self.model)
        others = [place for place in range(len(queries)) if place not in done]
        for start in range(0, len(others), _AT_ONCE):
            some = others[start : start + _AT_ONCE]
            yield some, sets_of_masks(self.model, [queries[i].masks(self.space) for i in some])

    def _sets_of_one(self, S: BoolVector, T: BoolVector) -> CutSets:
        """A cut. Cost: O(|S| + |T| + groups + kept pairs at the smaller set), and a look."""
        both = S & T if self.model.layout.hollow else S[:0]
        sides = (0, S), (1, T), (0, both)
        sums = [PartSums.of_one(self.model, side, each) for side, each in sides]

        def kept() -> FloatMatrix:
            return np.array(self.model.kept_sums(S, T, both))[:, None]

        return CutSets((sums[0], sums[1], sums[2]), (np.ones((1, 1)),) * 3, kept)

    def _estimates(
        self, sets: CutSets, log_failures: Callable[[Sizes], float], *, model_only: bool
    ) -> Iterator[CutEstimate]:
        """What is known of each cut."""
        counts = sets.by_group(0), sets.by_group(1)
        cells = self._cells(*counts) if self._groups else None
        numbers = [np.rint(each.sum(axis=1)).astype(np.int64) for each in counts]
        both = np.rint(sets.by_group(2).sum(axis=1)).astype(np.int64)
        sums = [sets.by_group(side, self._degree_values[side]).sum(axis=1) for side in (0, 1)]
        model: tuple[FloatVector, FloatVector] | None = None
        for row in range(len(both)):
            sizes = Sizes(int(numbers[0][row]), int(numbers[1][row]), int(both[row]))
            if not sizes.S or not sizes.T:
                yield CutEstimate(0.0, (0.0, 0.0), 0.0)
                continue
            pairs = pairs_of_sizes(*sizes, symmetric=self.model.symmetric)
            most = most_weight(pairs, self.model.weight_cap)
            log = log_failures(sizes)
            degrees = float(sums[0][row]), float(sums[1][row])
            measured = self._measured(sizes, degrees, cells, row)
            if measured is not None and not model_only:
                yield CutEstimate(measured.value, measured.interval(log), most)
                continue
            interval = (
                self._bounds(sizes, degrees, cells, row, log)
                if measured is None
                else measured.interval(log)
            )
            if model is None:
                model = self.model.expected(sets)
            value, typical = (float(each[row]) for each in model)
            yield CutEstimate(value, interval, most, "model", typical)

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

        def sums(sides: list[BoolMatrix]) -> _Sums:
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
        first = self._groups[0].map
        sums, numbers = np.zeros(first.shape), np.zeros(first.shape)
        for each, (_, share) in zip(self._groups, self._cell_laws, strict=True):
            sums[first.ends] += share * each.values[0]
        numbers[first.ends] = 1
        return [Between(each, self.model.symmetric) for each in (sums, numbers)]

    @cached_property
    def _cell_laws(self) -> _Laws:
        """Of measurements of the same cells, each with its share in their best mean."""
        laws = [each.law for each in self._groups]
        return tuple(zip(laws, by_precision(laws), strict=True))

    @cached_property
    def _group_sizes(self) -> list[IntVector]:
        sides = zip(self.model.codes, self.model.blocks.shape, strict=True)
        return [np.bincount(each, minlength=groups) for each, groups in sides]

    @cached_property
    def _degree_values(self) -> tuple[FloatVector, FloatVector]:
        """Noisy degrees of rows and of columns, in weight."""
        return self._degrees.values[0], self._degrees.values[-1]

    def _cell_sum(self, cells: _Sums, row: int) -> Estimate:
        return _sum(self._cell_laws, float(cells[0][row]), int(cells[1][row]))

    def _degree_sum(self, value: float, count: int, factor: float = 1.0) -> Estimate:
        """So many degrees that add up to this, times a factor."""
        return _sum(((self._degrees.law, factor),), factor * value, count)


def _sum(laws: _Laws, value: float, count: int) -> Estimate:
    """So many numbers that add up to this, each with noises of these laws times a factor."""
    return Estimate(value, _noises(laws, _rounded_up(count)), ROUNDING * abs(value))


@lru_cache(maxsize=1 << 12)
def _noises(laws: _Laws, number: int) -> NoiseSum:
    return NoiseSum.of([NoiseTerm(law, factor, number) for law, factor in laws])


def _rounded_up(count: int) -> int:
    """With three leading digits, so that few radii have to be found.

    A sum of more noises is no nearer to 0: discrete Laplace noise is symmetric and unimodal, and
    adding another one then never makes |sum| <= t more likely.
    """
    step: int = 10 ** max(0, len(str(count)) - 1 - _DIGITS)
    return -(-count // step) * step


def common_parts(tables: Iterable[IntVector | BoolVector]) -> tuple[IntVector, IntVector] | None:
    """Parts of the vertices that no table divides; None if they are too many.

    Args:
        tables: numbers from 0 on, one for each vertex; each of them occurs.

    Returns:
        The part of each vertex, and a vertex of each part.
    """
    of: IntVector = np.zeros(1, dtype=np.int64)
    for table in tables:
        count = int(table.max(initial=0)) + 1
        if count > _MOST_PARTS:
            return None
        both = of * count + table
        found = np.bincount(both) > 0
        if np.count_nonzero(found) > _MOST_PARTS:
            return None
        of = (np.cumsum(found) - 1)[both]
    first = np.zeros(int(of.max(initial=0)) + 1, dtype=np.int64)
    first[of] = np.arange(len(of))
    return of, first


@final
@dataclass(frozen=True, eq=False)
class PartedCuts:
    """Cuts of a list whose sets consist of few parts.

    Attributes:
        places: which of the list they are, ascending, q of them.
        of: part of each row, and of each column; one object twice where both are one set.
        S: parts of each S, shape (q, left parts).
        T: parts of each T, shape (q, right parts).
    """

    places: list[int]
    of: tuple[IntVector, IntVector]
    S: BoolMatrix
    T: BoolMatrix

    def sets(self, model: SparseModel) -> Iterator[tuple[list[int], CutSets]]:
        """The sets of some cuts at a time; each takes products of small matrices."""
        shape = self.S.shape[1], self.T.shape[1]
        left, right = (PartSums(model, side, self.of[side], shape[side]) for side in (0, 1))
        ends = np.ravel_multi_index((self.of[0][model.rows], self.of[1][model.columns]), shape)
        kept = []
        for each in (model.weights, model.spread):
            sums = np.bincount(ends, each, shape[0] * shape[1]).astype(np.float64)
            kept.append(Between(sums.reshape(shape), model.symmetric))
        step = max(1, _BLOCK // max(shape))
        for start in range(0, len(self.places), step):
            block = slice(start, start + step)
            S, T = self.S[block].astype(np.float64), self.T[block].astype(np.float64)
            both = S * T if model.layout.hollow else np.zeros_like(S)

            def added(S: FloatMatrix = S, T: FloatMatrix = T) -> FloatMatrix:
                return np.array([each.sums(S, T) for each in kept])

            yield self.places[block], CutSets((left, right, left), (S, T, both), added)


def parted_cuts(queries: Sequence[CutQuery], model: SparseModel) -> PartedCuts | None:
    """The cuts of a list whose sets are unions of public groups, or sets that are asked often.

    None if there is no such cut, or the parts are too many.
    """
    one, (left, right) = one_set(model.space), model.layout.shape
    masks = {id(each) for query in queries for each in (query.S, query.T) if _is_mask(each)}
    often = len(masks) * _OFTEN <= len(queries) and len(masks) <= _MOST_PARTS
    known: dict[int, tuple[_Known, _Known]] = {}
    for place, query in enumerate(queries):
        given = _known(query.S, left, often)
        other = _known(ALL if query.T is None else query.T, right, often)
        if given is not None and other is not None:
            rest = query.T is None and one
            known[place] = given, (given[0], ~given[1]) if rest else other
    if not known:
        return None
    S, T = ([each[side] for each in known.values()] for side in (0, 1))
    if one:
        both = _chosen([*S, *T], left)
        if both is None:
            return None
        of, chosen = both
        return PartedCuts(list(known), (of, of), chosen[: len(S)], chosen[len(S) :])
    rows, columns = _chosen(S, left), _chosen(T, right)
    if rows is None or columns is None:
        return None
    return PartedCuts(list(known), (rows[0], columns[0]), rows[1], columns[1])


_Known = tuple[IntVector | BoolVector | None, BoolVector]  # numbers of vertices, those in a set


def _is_mask(given: object) -> bool:
    return isinstance(given, np.ndarray) and given.dtype == np.bool_


def _known(given: object, size: int, often: bool) -> _Known | None:
    """A set of vertices by a table of numbers and which of them it has; None: it is no such set."""
    if isinstance(given, GroupUnion) and len(given.groups.vertices) == size:
        return given.groups.codes(), given.chosen
    if isinstance(given, str) and given == ALL:
        return None, np.ones(1, dtype=np.bool_)
    if often and isinstance(given, np.ndarray) and _is_mask(given) and given.shape == (size,):
        return given, np.array([False, True])
    return None


def _chosen(sets: Sequence[_Known], size: int) -> tuple[IntVector, BoolMatrix] | None:
    """Parts that none of some sets divides, and which of them each set has."""
    tables = {id(table): table for table, _ in sets if table is not None}
    parts = common_parts([np.zeros(size, dtype=np.int64), *tables.values()])
    if parts is None:
        return None
    of, first = parts
    numbers = {key: table[first].astype(np.int64) for key, table in tables.items()}
    numbers[id(None)] = np.zeros(len(first), dtype=np.int64)
    return of, np.array([chosen[numbers[id(table)]] for table, chosen in sets])


def sets_of_masks(model: SparseModel, masks: Sequence[tuple[BoolVector, BoolVector]]) -> CutSets:
    """The sets of a few cuts, of which each vertex and each kept pair is looked at once for all.

    Parts are numbers whose bits tell the cuts that a vertex is in. Adding up by this number, and
    then the numbers with a bit for each cut, costs about as much as one cut alone.
    """
    left, right = (_numbers(each) for each in zip(*masks, strict=True))
    bits = np.arange(1 << len(masks)) >> np.arange(len(masks))[:, None] & 1
    chosen = bits.astype(np.float64)
    both = left & right if model.layout.hollow else np.zeros_like(left)
    parts = ((0, left), (1, right), (0, both))
    sums = [PartSums(model, side, each, chosen.shape[1]) for side, each in parts]
    none = chosen if model.layout.hollow else np.zeros_like(chosen)

    def kept() -> FloatMatrix:
        crossing, values = model.crossing(left, right), (model.weights, model.spread)
        return np.array([chosen @ np.bincount(crossing, v, chosen.shape[1]) for v in values])

    return CutSets((sums[0], sums[1], sums[2]), (chosen, chosen, none), kept)


def _numbers(masks: Sequence[BoolVector]) -> IntVector:
    """A number for each vertex whose bits tell the sets that it is in."""
    found = np.zeros(len(masks[0]), dtype=np.int64)
    for bit, mask in enumerate(masks):
        found |= mask.astype(np.int64) << bit
    return found
