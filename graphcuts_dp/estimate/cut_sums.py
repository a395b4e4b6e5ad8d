"""What cuts add up of a sparse release, for many at once: over parts, or over vertices."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.sparse_model import CutSets, SparseModel
from graphcuts_dp.pairs.groups import GroupUnion
from graphcuts_dp.pairs.linear_query import one_set, sides_of
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.vertices import ALL, Space

_MOST_PARTS = 2048  # of a side
_OFTEN = 8  # queries for each truth vector that is looked at as a part
_SPLIT = 40  # truth vectors that divide parts at a time
_BLOCK = 1 << 21  # numbers in a matrix of cuts and parts
_AT_ONCE = 16  # cuts whose truth vectors are bits of a number
_BITS = 8  # of them, where sums are by group, too

BoolMatrix = npt.NDArray[np.bool_]
Values = tuple[FloatVector, FloatVector]  # of rows and of columns


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CutSums:
    """Sums for some cuts, an entry or a row for each.

    Attributes:
        places: which of a list they are.
        degrees: of noisy degrees of S and of T, in weight.
        counts: vertices of S in each group of the model, and of T; shape (cuts, groups).
        in_both: vertices that are in both sets, of one vertex set.
        sets: add up for the model, which cuts that were measured do without.
    """

    places: IntVector
    degrees: Values
    counts: tuple[FloatMatrix, FloatMatrix]
    in_both: FloatVector
    sets: CutSets

    @classmethod
    def of(cls, sets: CutSets, places: IntVector, degrees: Values) -> "CutSums":
        """Sums for cuts that stand at these places of a list."""
        (left, rows), (right, columns) = (sets.by_group(i, None, degrees[i]) for i in (0, 1))
        (both,) = sets.by_group(2, None)
        return cls(
            places=places,
            degrees=(rows.sum(axis=1), columns.sum(axis=1)),
            counts=(left, right),
            in_both=both.sum(axis=1),
            sets=sets,
        )


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
@dataclass(frozen=True, eq=False)
class CommonParts:
    """The vertices of one side in parts that no set of a list divides.

    Attributes:
        of: part of each vertex, shape (n,).
        first: a vertex of each part, shape (parts,).
    """

    of: IntVector
    first: IntVector

    @classmethod
    def common(
        cls, codes: Sequence[IntVector], masks: Sequence[BoolVector]
    ) -> "CommonParts | None":
        """Parts that neither a group nor a truth vector divides; None if they are too many."""
        of = np.zeros(len(codes[0]), dtype=np.int64)
        first = np.zeros(1, dtype=np.int64)
        bits = (_numbers(masks[start : start + _SPLIT]) for start in range(0, len(masks), _SPLIT))
        for each in itertools.chain(codes, bits):
            both = of * (int(each.max()) + 1) + each
            _, first, of = np.unique(both, return_index=True, return_inverse=True)
            if len(first) > _MOST_PARTS:
                return None
        return cls(of, first)


@final
@dataclass(frozen=True, eq=False)
class PartedCuts:
    """Cuts of a list whose sets consist of few parts.

    Attributes:
        places: which of the list they are, ascending, shape (q,).
        left: parts of the rows.
        right: parts of the columns; the same object where both are one set.
        S: parts of each S, shape (q, left parts).
        T: parts of each T, shape (q, right parts).
    """

    places: IntVector
    left: CommonParts
    right: CommonParts
    S: BoolMatrix
    T: BoolMatrix


def parted_cuts(
    queries: Sequence[CutQuery], space: Space, codes: tuple[IntVector, IntVector]
) -> PartedCuts | None:
    """The cuts of a list whose sets are unions of public groups, or sets that are asked often.

    Parts of rows and of columns lie in the groups of `codes`. None if there is no such cut, or the
    parts are too many.
    """
    one = one_set(space)
    masks = {id(each) for query in queries for each in (query.S, query.T) if _is_mask(each)}
    often = len(masks) * _OFTEN <= len(queries) and len(masks) <= _MOST_PARTS
    sizes = tuple(len(side) for side in sides_of(space))
    places = [
        place
        for place, query in enumerate(queries)
        if _known(query.S, sizes[0], often)
        and (query.T is None or _known(query.T, sizes[1], often))
    ]
    if not places:
        return None
    chosen = [queries[place] for place in places]
    sides = [query.S for query in chosen], [query.T for query in chosen]
    if one:
        left = right = _parts([*sides[0], *sides[1]], codes[0])
    else:
        left, right = _parts(sides[0], codes[0]), _parts(sides[1], codes[1])
    if left is None or right is None:
        return None
    S = _chosen(sides[0], left)
    T = _chosen([ALL if each is None and not one else each for each in sides[1]], right)
    if one:
        rest = [query.T is None for query in chosen]
        T[rest] = ~S[rest]
    return PartedCuts(np.array(places), left, right, S, T)


def _parts(sets: Sequence[object], codes: IntVector) -> CommonParts | None:
    """Parts that none of some sets divides, and that lie in the groups of some codes."""
    tables = {id(each.groups): each.groups.codes() for each in sets if isinstance(each, GroupUnion)}
    masks = {id(each): each for each in sets if isinstance(each, np.ndarray)}
    return CommonParts.common([codes, *tables.values()], list(masks.values()))


def _is_mask(given: object) -> bool:
    return isinstance(given, np.ndarray) and given.dtype == np.bool_


def _known(given: object, size: int, often: bool) -> bool:
    if isinstance(given, GroupUnion):
        return len(given.groups.vertices) == size
    if isinstance(given, str):
        return given == ALL
    return often and isinstance(given, np.ndarray) and _is_mask(given) and given.shape == (size,)


def _chosen(sets: Sequence[object], parts: CommonParts) -> BoolMatrix:
    """Which parts each set has; of None no part."""
    found = np.zeros((len(sets), len(parts.first)), dtype=np.bool_)
    tables: dict[int, IntVector] = {}
    for row, given in zip(found, sets, strict=True):
        if isinstance(given, GroupUnion):
            groups = given.groups
            if id(groups) not in tables:
                tables[id(groups)] = groups.codes()[parts.first]
            row[:] = given.chosen[tables[id(groups)]]
        elif isinstance(given, np.ndarray):
            row[:] = given[parts.first]
        elif given is not None:
            row[:] = True
    return found


def sums_over_parts(model: SparseModel, degrees: Values, cuts: PartedCuts) -> Iterator[CutSums]:
    """Sums for cuts between few parts, some at a time."""
    parts = _Parts(model, cuts)
    step = max(1, _BLOCK // max(cuts.S.shape[1], cuts.T.shape[1]))
    for start in range(0, len(cuts.places), step):
        block = slice(start, start + step)
        S, T = cuts.S[block].astype(np.float64), cuts.T[block].astype(np.float64)
        both = S * T if model.layout.hollow else np.zeros_like(S)
        yield CutSums.of(_PartSets(parts, (S, T, both)), cuts.places[block], degrees)


@final
class _Parts:
    """Sums over the parts of a list, each made when it is first asked for."""

    def __init__(self, model: SparseModel, cuts: PartedCuts) -> None:
        self._sides, self._within = (cuts.left, cuts.right), []
        codes = model.row_codes, model.column_codes
        for parts, code, groups in zip(self._sides, codes, model.blocks.shape, strict=True):
            within = np.zeros((len(parts.first), groups))
            within[np.arange(len(parts.first)), code[parts.first]] = 1
            self._within.append(within)
        self._tables: dict[tuple[int, int], tuple[FloatVector | None, FloatMatrix]] = {}
        ends = self._sides[0].of[model.rows], self._sides[1].of[model.columns]
        shape = len(cuts.left.first), len(cuts.right.first)
        places = np.ravel_multi_index(ends, shape)
        self.kept = []
        for each in (model.weights, model.spread):
            sums = np.bincount(places, each, minlength=shape[0] * shape[1]).astype(np.float64)
            self.kept.append(Between(sums.reshape(shape), model.symmetric))

    def by_group(self, side: int, values: FloatVector | None) -> FloatMatrix:
        """Sums of values (of ones, where there are none) of each part, at its group."""
        if (side, id(values)) not in self._tables:
            within = self._within[side]
            sums = np.bincount(self._sides[side].of, values, minlength=len(within))
            self._tables[side, id(values)] = values, sums.astype(np.float64)[:, None] * within
        return self._tables[side, id(values)][1]


@final
@dataclass(frozen=True, eq=False)
class _PartSets:
    """Cuts between few parts: each takes products of small matrices."""

    parts: _Parts
    sets: tuple[FloatMatrix, FloatMatrix, FloatMatrix]

    def by_group(self, which: int, *values: FloatVector | None) -> list[FloatMatrix]:
        """See `CutSets.by_group`."""
        tables = (self.parts.by_group(int(which == 1), each) for each in values)
        return [self.sets[which] @ table for table in tables]

    def kept(self) -> FloatMatrix:
        """See `CutSets.kept`."""
        return np.array([each.sums(*self.sets[:2]) for each in self.parts.kept])


def sums_over_vertices(
    model: SparseModel,
    degrees: Values,
    places: Sequence[int],
    masks: Iterator[tuple[BoolVector, BoolVector]],
) -> Iterator[CutSums]:
    """Sums for any cuts, some at a time.

    Args:
        model: of the release.
        degrees: noisy degrees of rows and columns, in weight.
        places: which of a list the cuts are.
        masks: truth vectors of each, made when they are asked for.
    """
    for start in range(0, len(places), _AT_ONCE):
        some = np.array(places[start : start + _AT_ONCE])
        S, T = zip(*(next(masks) for _ in some), strict=True)
        yield CutSums.of(_MaskSets(model, S, T), some, degrees)


@final
class _MaskSets:
    """Any cuts: each vertex and each kept pair is looked at once for all of these.

    The truth vectors of some cuts are bits of a number for each vertex. Adding up by this number,
    and then the numbers with a bit for each cut, costs about as much as one cut alone.
    """

    def __init__(
        self, model: SparseModel, S: Sequence[BoolVector], T: Sequence[BoolVector]
    ) -> None:
        self._model, self._count = model, len(S)
        self._numbers = [_numbers(each) for each in (S, T)]
        both = np.zeros(1, dtype=np.int64)
        if model.layout.hollow:
            both = self._numbers[0] & self._numbers[1]
        self._numbers.append(both)

    def by_group(self, which: int, *values: FloatVector | None) -> list[FloatMatrix]:
        """See `CutSets.by_group`."""
        model, numbers = self._model, self._numbers[which]
        codes = (model.row_codes, model.column_codes)[which == 1]
        groups = model.blocks.shape[which == 1]
        if not numbers.any():
            return [np.zeros((self._count, groups)) for _ in values]
        found: list[list[FloatMatrix]] = [[] for _ in values]
        for start in range(0, self._count, _BITS):
            bits = min(_BITS, self._count - start)
            size = 1 << bits
            keys = codes * size + (numbers >> start & (size - 1))
            for sums, each in zip(found, values, strict=True):
                table = np.bincount(keys, each, minlength=groups * size).reshape(groups, size)
                sums.append((table @ _decoded(bits)).T)
        return [np.concatenate(each) for each in found]

    def kept(self) -> FloatMatrix:
        """See `CutSets.kept`."""
        model = self._model
        left, right = (each.astype(np.uint16) for each in self._numbers[:2])
        crossing = left[model.rows] & right[model.columns]
        if model.symmetric:
            crossing |= right[model.rows] & left[model.columns]
        places, decoded = crossing.astype(np.int64), _decoded(self._count)
        sums = (
            np.bincount(places, each, minlength=len(decoded)) @ decoded
            for each in (model.weights, model.spread)
        )
        return np.array(list(sums))


def _numbers(masks: Sequence[BoolVector]) -> IntVector:
    """A number for each vertex whose bits tell the sets that it is in."""
    found = np.zeros(len(masks[0]), dtype=np.int64)
    for bit, mask in enumerate(masks):
        found |= mask.astype(np.int64) << bit
    return found


def _decoded(count: int) -> npt.NDArray[np.float64]:
    """Which bits each number has, shape (2^count, count)."""
    numbers = np.arange(1 << count)[:, None]
    return ((numbers >> np.arange(count)) & 1).astype(np.float64)
