"""Cuts of a list as unions of vertex parts, so that their sums are computed together.

A *mask* is a truth vector of vertices. A *vertex part* is a set of vertices that each set of each
cut holds entirely or not at all. With few parts, numbers are added up over the parts once, and each
cut adds up its parts. The result is a `CutSets`: the indices of the cuts in the list, the
partition into parts (`VertexParts`), and which parts belong to S, to T, and to both.

A *coding* gives each vertex a number >= 0, its *code*: the number of its group, or 0 and 1 for a
mask. A set of vertices is then given by a coding and the codes that belong to it (`_CodedSet`).
Unions of the same groups have the same coding. If a list has no others, its parts are the groups.

`parted_cuts` finds the cuts of a list whose sets are *shared*: unions of public groups, or masks
that many queries use. `sets_of_masks` takes a few cuts with any masks: k masks divide the vertices
into at most 2^k parts. Both compute the parts by `common_parts`. Codings are recognised by the
identity of their arrays, so one mask object should serve all queries that use it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

import numpy as np

from graphcuts_dp.arrays import BoolMatrix, BoolVector, IntVector
from graphcuts_dp.estimate.sparse_model import CutSets, SparseModel, VertexParts
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.schema.groups import GroupUnion
from graphcuts_dp.schema.vertices import ALL, one_set

_MOST_PARTS = 2048  # parts of the rows, or of the columns
_QUERIES_PER_SHARED_MASK = 8  # masks are shared if at least so many queries come to each of them
# Codes are combined up to this number before unused ones are removed, which takes a pass.
_MOST_CODES = 1 << 16

# Vertices are in the set of a mask if its value there is True: code 0 is not a member, code 1 is.
_MASK_MEMBERS: BoolVector = np.array([False, True])


class _CodedSet(NamedTuple):
    """A set of vertices, as those whose code is among some codes.

    Attributes:
        codes: code of each vertex, shape (vertices,); None if all vertices have code 0.
        members: for each code, whether its vertices are in the set, shape (codes,).
    """

    codes: IntVector | BoolVector | None
    members: BoolVector

    @property
    def complement(self) -> "_CodedSet":
        """All other vertices."""
        return _CodedSet(self.codes, ~self.members)


def parted_cuts(queries: Sequence[CutQuery], model: SparseModel) -> CutSets | None:
    """Return the cuts of a list whose sets are unions of public groups, or shared masks.

    Returns:
        None if there is no such cut, or if there would be too many parts.
    """
    one_vertex_set, (row_count, column_count) = one_set(model.space), model.layout.shape
    masks = {
        id(vertices) for query in queries for vertices in (query.S, query.T) if _is_mask(vertices)
    }
    # Each mask may double the number of parts. That pays only if many queries use it.
    shared = len(masks) * _QUERIES_PER_SHARED_MASK <= len(queries) and len(masks) <= _MOST_PARTS
    coded_cuts: dict[int, tuple[_CodedSet, _CodedSet]] = {}
    for index, query in enumerate(queries):
        # T = None stands for the complement of S if rows and columns are one vertex set, and for
        # all columns otherwise.
        S = _coded_set(query.S, row_count, masks_are_shared=shared)
        T = _coded_set(ALL if query.T is None else query.T, column_count, masks_are_shared=shared)
        if S is not None and T is not None:
            complement = query.T is None and one_vertex_set
            coded_cuts[index] = S, S.complement if complement else T
    return _cut_sets(model, list(coded_cuts), list(coded_cuts.values())) if coded_cuts else None


def sets_of_masks(
    model: SparseModel,
    masks: Sequence[tuple[BoolVector, BoolVector | None]],
    indices: Sequence[int],
) -> CutSets:
    """Return the sets of a few cuts.

    Args:
        model: of the release.
        masks: of S and of T; None for T if it is the complement of S.
        indices: of these cuts in a list.

    Raises:
        ValueError: if the masks are so many that there are too many parts.
    """
    coded_cuts = []
    for S_mask, T_mask in masks:
        S = _CodedSet(S_mask, _MASK_MEMBERS)
        T = S.complement if T_mask is None else _CodedSet(T_mask, _MASK_MEMBERS)
        coded_cuts.append((S, T))
    sets = _cut_sets(model, indices, coded_cuts)
    if sets is None:
        raise ValueError("these masks have too many vertex parts")
    return sets


def _cut_sets(
    model: SparseModel,
    indices: Sequence[int],
    coded_cuts: Sequence[tuple[_CodedSet, _CodedSet]],
) -> CutSets | None:
    """Return cuts as unions of vertex parts; None if there are too many parts.

    Args:
        model: of the release.
        indices: of the cuts in their list.
        coded_cuts: their sets S and T.
    """
    (S, T), (row_count, column_count) = zip(*coded_cuts, strict=True), model.layout.shape
    if one_set(model.space):
        rows = columns = _parts_of_sets([*S, *T], row_count)
    else:
        rows, columns = _parts_of_sets(S, row_count), _parts_of_sets(T, column_count)
    if rows is None or columns is None:
        return None
    row_parts, row_members = rows
    column_parts, column_members = columns
    # Of one vertex set, `row_members` and `column_members` are one array: the sets S, then the sets
    # T. Of two, the first has the sets S alone and the second the sets T alone.
    in_S, in_T = row_members[: len(S)], column_members[-len(T) :]  # (cuts, parts)
    both = in_S & in_T if rows is columns else np.zeros_like(in_S)
    shape = in_S.shape[1], in_T.shape[1]
    parts = VertexParts(model, (row_parts, column_parts), shape)
    return CutSets(indices, parts, in_S, in_T, both)


def _parts_of_sets(sets: Sequence[_CodedSet], vertices: int) -> tuple[IntVector, BoolMatrix] | None:
    """Divide vertices into parts so that no set divides a part.

    Args:
        sets: of vertices.
        vertices: number of vertices.

    Returns:
        The part of each vertex, shape (vertices,), and for each set which parts belong to it, shape
        (sets, parts); None if there are too many parts.
    """
    # Codings by the identity of the array, since many sets share one.
    distinct_codes = {
        id(coded_set.codes): coded_set.codes for coded_set in sets if coded_set.codes is not None
    }
    common = common_parts([np.zeros(vertices, dtype=np.int64), *distinct_codes.values()])
    if common is None:
        return None
    part_of, vertex_of_part = common
    # All vertices of a part have the same code, so that of one of them is the code of the part.
    codes_of_parts = {
        identity: codes[vertex_of_part].astype(np.int64)
        for identity, codes in distinct_codes.items()
    }
    all_zero = np.zeros(len(vertex_of_part), dtype=np.int64)
    members = []
    for coded_set in sets:
        codes = all_zero if coded_set.codes is None else codes_of_parts[id(coded_set.codes)]
        members.append(coded_set.members[codes])
    return part_of, np.array(members)


def common_parts(codings: Iterable[IntVector | BoolVector]) -> tuple[IntVector, IntVector] | None:
    """Return the coarsest partition of the vertices such that each coding is constant on its parts.

    The codes of several codings are combined into one number, as digits of different bases. These
    numbers are renumbered without gaps whenever they might exceed `_MOST_CODES`, so that they and
    the arrays indexed by them stay small.

    Args:
        codings: a code of each vertex, >= 0, shape (vertices,) each. Gaps in the codes are allowed,
            but a coding whose largest code is `_MOST_PARTS` or more counts as too many parts.

    Returns:
        The part of each vertex, and one vertex of each part; None if there are too many parts.
    """
    part_of, part_count = np.zeros(1, dtype=np.int64), 1
    for codes in codings:
        code_count = int(codes.max(initial=0)) + 1
        if code_count > _MOST_PARTS:
            return None
        if part_count * code_count > _MOST_CODES:
            part_of, part_count = _without_gaps(part_of)
            if part_count > _MOST_PARTS:
                return None
        part_of, part_count = part_of * code_count + codes, part_count * code_count
    part_of, part_count = _without_gaps(part_of)
    if part_count > _MOST_PARTS:
        return None
    vertex_of_part = np.zeros(int(part_of.max(initial=0)) + 1, dtype=np.int64)
    vertex_of_part[part_of] = np.arange(len(part_of))  # of several vertices, one stays
    return part_of, vertex_of_part


def _without_gaps(codes: IntVector) -> tuple[IntVector, int]:
    """Return codes renumbered from 0 in the same order, and how many distinct ones there are."""
    occurs = np.bincount(codes) > 0
    return (np.cumsum(occurs) - 1)[codes], int(np.count_nonzero(occurs))


def _coded_set(vertices: object, size: int, *, masks_are_shared: bool) -> _CodedSet | None:
    """Return a set of a query as codes; None if it is neither a union of groups nor shared.

    Args:
        vertices: the set as the query has it.
        size: number of vertices on its side.
        masks_are_shared: whether masks count as codes.
    """
    if isinstance(vertices, GroupUnion) and len(vertices.groups.vertices) == size:
        # Finest group of each vertex, and for each finest group whether the union holds it.
        return _CodedSet(vertices.groups.codes(), vertices.finest_mask)
    if isinstance(vertices, str) and vertices == ALL:
        return _CodedSet(None, np.ones(1, dtype=np.bool_))
    if masks_are_shared and _is_mask(vertices) and vertices.shape == (size,):
        return _CodedSet(vertices, _MASK_MEMBERS)
    return None


def _is_mask(vertices: object) -> TypeGuard[BoolVector]:
    """Return whether a set of a query is a truth vector."""
    return isinstance(vertices, np.ndarray) and vertices.dtype == np.bool_
