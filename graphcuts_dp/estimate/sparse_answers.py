"""Answers of a sparse release: measured values with proven intervals, estimates elsewhere.

Cuts are answered from sums over parts of the vertices that none of their sets divides: those of few
parts all at once, others a few at a time. Values differ from those of single cuts by the rounding
of sums, about 1e-12 of what is added up.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
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
from graphcuts_dp.estimate.measurement import CellSums, Degrees, Measurements
from graphcuts_dp.estimate.sparse_model import Between, CutSets, SparseModel, VertexParts
from graphcuts_dp.privacy.laws import TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, pairs_of_sizes
from graphcuts_dp.schema.groups import GroupUnion
from graphcuts_dp.schema.value_bounds import most_weight
from graphcuts_dp.schema.vertices import ALL, one_set

_DIGITS = 2  # of a number of noises, which is rounded up
_FEW = 8  # queries of which each is looked at by its vertices
_MOST_PARTS = 2048  # of a side
_OFTEN = 8  # queries for each truth vector that is looked at as a part
_BLOCK = 1 << 21  # numbers in a matrix of cuts and parts
_AT_ONCE = 8  # truth vectors of other cuts, which have 2^8 parts at most
_NUMBERS = 1 << 16  # up to which tables are combined before parts that are empty are left out

# Cells within a cut, if there are any; those that it touches; and whether these are the same.
_Cells = tuple[Estimate | None, Estimate | None, bool]


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
        self.model, self.space, self.shape = model, model.space, model.layout.shape
        degrees = measurements.find(Degrees)
        if degrees is None:
            raise ValueError("a sparse release has degrees")
        self._degrees = degrees
        self._groups = measurements.find(CellSums)

    def estimate(self, queries: Sequence[LinearQuery], options: AnswerOptions) -> Estimates:
        """Estimate cuts; another estimate than "unbiased" is the model's, always.

        Cuts whose sets are unions of public groups, or truth vectors that many queries share, are
        answered together from sums over these. See `Estimator.estimate`.

        Raises:
            QueryError: a cut that does not fit, or another query.
        """
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        if len(cuts) < len(queries):
            raise QueryError(
                "a sparse release answers cut queries: it holds no entry of its own for each pair; "
                "ask its synthetic graph, for example query.value(release.graph), without guarantee"
            )
        parted = parted_cuts(cuts, self.model) if len(cuts) > _FEW else None
        together = self._distinct(cuts, parted) if options.joint and cuts else 1

        def log_failures(sizes: Sizes) -> float:
            return options.log_failures(together, sizes, self.model.layout)

        found: dict[int, QueryEstimate] = {}
        model_only = options.estimate != "unbiased"
        for sets in self._sets(cuts, parted):
            estimates = self._estimates(sets, log_failures, model_only=model_only)
            found.update(zip(sets.places, estimates, strict=True))
        in_order = [found[place] for place in range(len(cuts))]
        return Estimates(in_order, together, options.simultaneous)

    def _distinct(self, queries: Sequence[CutQuery], parted: CutSets | None) -> int:
        """How many cuts a list names; one that is written in two ways may count twice."""
        known = [] if parted is None else list(zip(parted.S, parted.T, strict=True))
        done = set() if parted is None else set(parted.places)
        others = [each.masks(self.space) for i, each in enumerate(queries) if i not in done]
        return sum(distinct_cuts(cuts, symmetric=self.model.symmetric) for cuts in (known, others))

    def _sets(self, queries: Sequence[CutQuery], parted: CutSets | None) -> Iterator[CutSets]:
        """The sets of all cuts: those of few parts first, then all others, some at a time."""
        done: set[int] = set()
        if parted is not None:
            done.update(parted.places)
            step = max(1, _BLOCK // max(parted.S.shape[1], parted.T.shape[1]))
            for start in range(0, len(parted.places), step):
                block = slice(start, start + step)
                places, parts, *sides = parted
                yield CutSets(places[block], parts, *(each[block] for each in sides))
        others = [place for place in range(len(queries)) if place not in done]
        while others:
            vectors = itertools.accumulate(1 if queries[i].T is None else 2 for i in others)
            count = sum(number <= _AT_ONCE for number in itertools.islice(vectors, _AT_ONCE))
            some, others = others[:count], others[count:]
            yield sets_of_masks(self.model, [self._masks(queries[i]) for i in some], some)

    def _masks(self, query: CutQuery) -> tuple[BoolVector, BoolVector | None]:
        """Truth vectors of both sets; of the second None if it is what the first leaves."""
        S, T = query.masks(self.space)
        return S, None if query.T is None and one_set(self.space) else T

    def _estimates(
        self, sets: CutSets, log_failures: Callable[[Sizes], float], *, model_only: bool
    ) -> Iterator[QueryEstimate]:
        """What is known of each cut."""
        counts = sets.by_group(0), sets.by_group(1)
        sizes_of = np.rint(
            [each.sum(axis=1) for each in (*counts, sets.by_group(2))],
        ).astype(np.int64)
        sums = [sets.by_group(side, self._degree_values[side]).sum(axis=1) for side in (0, 1)]
        model: tuple[FloatVector, FloatVector] | None = None
        for row, cells in enumerate(self._cells(*counts)):
            sizes = Sizes(*sizes_of[:, row].tolist())
            if not sizes.S or not sizes.T:
                yield QueryEstimate(0.0, (0.0, 0.0), 0.0)
                continue
            pairs = pairs_of_sizes(*sizes, symmetric=self.model.symmetric)
            most = most_weight(pairs, self.model.max_weight)
            log = log_failures(sizes)
            degrees = float(sums[0][row]), float(sums[1][row])
            measured = self._measured(sizes, degrees, cells)
            if measured is not None and not model_only:
                yield QueryEstimate(measured.value, measured.interval(log), most)
                continue
            interval = (
                self._bounds(sizes, degrees, cells, log)
                if measured is None
                else measured.interval(log)
            )
            if model is None:
                model = self.model.expected(sets)
            value, typical = (float(each[row]) for each in model)
            yield QueryEstimate(value, interval, most, kind="model", typical=typical)

    def _measured(
        self, sizes: Sizes, degrees: tuple[float, float], cells: _Cells
    ) -> Estimate | None:
        """The most precise of the sums that are the cut itself; None if there is none."""
        _, touched, same = cells
        found = [touched] if touched is not None and same else []
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
        self, sizes: Sizes, degrees: tuple[float, float], cells: _Cells, log_failures: float
    ) -> tuple[float, float]:
        """Proven bounds: at least all cells within, at most what touches or meets the sets."""
        within, touched, _ = cells
        above = [self._degree_sum(*each) for each in zip(degrees, sizes[:2], strict=True)]
        above += [] if touched is None else [touched]
        below = [] if within is None else [within]
        each_fails = log_failures + math.log(len(above) + len(below))  # all hold at once
        high = min(bound.interval(each_fails)[1] for bound in above)
        low = max((bound.interval(each_fails)[0] for bound in below), default=0.0)
        return max(low, 0.0), max(high, 0.0)

    def _cells(self, left: FloatMatrix, right: FloatMatrix) -> list[_Cells]:
        """Of cuts that have so many vertices of each group in S and in T."""
        if self._between is None:
            return [(None, None, False)] * len(left)
        law, *between = self._between
        sides = zip(self.model.codes, self.model.blocks.shape, strict=True)
        sizes = [np.bincount(codes, minlength=groups) for codes, groups in sides]
        some = [count > 0.5 for count in (left, right)]
        whole = [
            each & (count > size - 0.5)
            for each, count, size in zip(some, (left, right), sizes, strict=True)
        ]

        def sums(S: BoolMatrix, T: BoolMatrix) -> list[Estimate]:
            values, numbers = (each.sums(S, T).tolist() for each in between)
            return [_sum(law, *each) for each in zip(values, map(round, numbers), strict=True)]

        same = np.logical_and.reduce([(whole[i] == some[i]).all(axis=1) for i in (0, 1)])
        holds = np.logical_and.reduce([each.any(axis=1) for each in whole])
        rows = zip(sums(*whole), sums(*some), holds.tolist(), same.tolist(), strict=True)
        return [(within if hold else None, touched, each) for within, touched, hold, each in rows]

    @cached_property
    def _between(self) -> tuple[TwoSidedGeometric, Between, Between] | None:
        """The law of the sums between groups, these sums, and 1 for each; None without groups."""
        if self._groups is None:
            return None
        cells = self._groups.map
        sums, numbers = np.zeros(cells.shape), np.zeros(cells.shape)
        sums[cells.ends], numbers[cells.ends] = self._groups.values[0], 1
        symmetric = self.model.symmetric
        return self._groups.law, Between(sums, symmetric), Between(numbers, symmetric)

    @cached_property
    def _degree_values(self) -> tuple[FloatVector, FloatVector]:
        """Noisy degrees of rows and of columns, in weight."""
        return self._degrees.values[0], self._degrees.values[-1]

    def _degree_sum(self, value: float, count: int, factor: float = 1.0) -> Estimate:
        """So many degrees that add up to this, times a factor."""
        return _sum(self._degrees.law, factor * value, count, factor)


def _sum(law: TwoSidedGeometric, value: float, count: int, factor: float = 1.0) -> Estimate:
    """So many numbers that add up to this, each with a noise of this law times a factor."""
    return Estimate(value, _noises(law, factor, _rounded_up(count)), ROUNDING * abs(value))


@lru_cache(maxsize=1 << 12)
def _noises(law: TwoSidedGeometric, factor: float, number: int) -> NoiseSum:
    return NoiseSum.of([NoiseTerm(law, factor, number)])


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
    of, numbers = np.zeros(1, dtype=np.int64), 1
    for table in tables:
        count = int(table.max(initial=0)) + 1
        if count > _MOST_PARTS:
            return None
        if numbers * count > _NUMBERS:
            of, numbers = _without_gaps(of)
            if numbers > _MOST_PARTS:
                return None
        of, numbers = of * count + table, numbers * count
    of, numbers = _without_gaps(of)
    if numbers > _MOST_PARTS:
        return None
    first = np.zeros(int(of.max(initial=0)) + 1, dtype=np.int64)
    first[of] = np.arange(len(of))
    return of, first


def _without_gaps(of: IntVector) -> tuple[IntVector, int]:
    """Numbers in the same order, of which each one below the largest occurs; and how many."""
    found = np.bincount(of) > 0
    return (np.cumsum(found) - 1)[of], int(np.count_nonzero(found))


_Known = tuple[IntVector | BoolVector | None, BoolVector]  # numbers of vertices, those in a set
_IN: BoolVector = np.array([False, True])  # of a truth vector: what is in its set


def parted_cuts(queries: Sequence[CutQuery], model: SparseModel) -> CutSets | None:
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
    return _cut_sets(model, list(known), list(known.values())) if known else None


def sets_of_masks(
    model: SparseModel,
    masks: Sequence[tuple[BoolVector, BoolVector | None]],
    places: Sequence[int],
) -> CutSets:
    """The sets of a few cuts at some places of a list; None for what the first set leaves."""
    known = [((S, _IN), (S, ~_IN) if T is None else (T, _IN)) for S, T in masks]
    found = _cut_sets(model, places, known)
    assert found is not None  # noqa: S101  # there are at most 2^8 parts
    return found


def _cut_sets(
    model: SparseModel, places: Sequence[int], known: Sequence[tuple[_Known, _Known]]
) -> CutSets | None:
    """Cuts as parts that none of their sets divides; None if these are too many."""
    (S, T), (left, right) = zip(*known, strict=True), model.layout.shape
    if one_set(model.space):
        rows = columns = _chosen([*S, *T], left)
    else:
        rows, columns = _chosen(S, left), _chosen(T, right)
    if rows is None or columns is None:
        return None
    in_S, in_T = rows[1][: len(S)], columns[1][-len(T) :]
    both = in_S & in_T if rows is columns else np.zeros_like(in_S)
    parts = VertexParts(model, (rows[0], columns[0]), (in_S.shape[1], in_T.shape[1]))
    return CutSets(places, parts, in_S, in_T, both)


def _is_mask(given: object) -> bool:
    return isinstance(given, np.ndarray) and given.dtype == np.bool_


def _known(given: object, size: int, often: bool) -> _Known | None:
    """A set of vertices by a table of numbers and which of them it has; None: it is no such set."""
    if isinstance(given, GroupUnion) and len(given.groups.vertices) == size:
        return given.groups.codes(), given.finest_mask
    if isinstance(given, str) and given == ALL:
        return None, np.ones(1, dtype=np.bool_)
    if often and isinstance(given, np.ndarray) and _is_mask(given) and given.shape == (size,):
        return given, _IN
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
