"""Lists of cuts whose sets are put together of few parts: public groups, or sets asked often."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.pairs.groups import GroupUnion
from graphcuts_dp.pairs.linear_query import one_set, sides_of
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.vertices import ALL, Space

_MOST_PARTS = 2048  # of a side
_OFTEN = 8  # queries for each truth vector that is looked at as a part
_BITS = 40  # truth vectors at a time

_Masks = npt.NDArray[np.bool_]


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
        """CommonParts that neither a group nor a truth vector divides; None if they are too many.

        Args:
            codes: group of each vertex, for one or several tables of groups.
            masks: truth vectors.
        """
        of = np.zeros(len(codes[0]), dtype=np.int64)
        first = np.zeros(1, dtype=np.int64)
        bits = (_bits(masks[start : start + _BITS]) for start in range(0, len(masks), _BITS))
        for each in itertools.chain(codes, bits):
            both = of * (int(each.max()) + 1) + each
            _, first, of = np.unique(both, return_index=True, return_inverse=True)
            if len(first) > _MOST_PARTS:
                return None
        return cls(of, first)


def _bits(masks: Sequence[BoolVector]) -> IntVector:
    """A number for each vertex that tells which sets have it."""
    found = np.zeros(len(masks[0]), dtype=np.int64)
    for mask in masks:
        found = 2 * found + mask
    return found


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
    S: _Masks
    T: _Masks


def parted_cuts(
    queries: Sequence[CutQuery], space: Space, codes: tuple[IntVector, IntVector]
) -> PartedCuts | None:
    """The cuts of a list whose sets are unions of public groups, or sets that are asked often.

    Args:
        queries: the list.
        space: of the vertices.
        codes: groups that parts of rows and of columns shall lie in.

    Returns:
        None if there is none, or the parts are too many.
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
    """CommonParts that none of some sets divides, and that lie in the groups of some codes."""
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


def _chosen(sets: Sequence[object], parts: CommonParts) -> _Masks:
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
