"""Decide whether sets of vertices are parts of a partition, or overlap as random sets do.

Sets that mean something, such as communities, are often parts of a partition: any two of them have
no vertex in common, or next to none if a few vertices were exchanged. Random sets overlap by about
the product of their sizes over the number of vertices. Sets are public: queries are chosen by the
analyst.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from graphcuts_dp.arrays import BoolMatrix, BoolVector, IntVector
from graphcuts_dp.estimate.estimator import CutMasks

# What the sets of the cuts of a kind are: parts of a partition; sets that overlap as random sets
# do; or others, among them sets that are too few to decide.
SetsOfKind = Literal["parts", "chance", "other"]

# Within a kind, each cut has at most this many times as many pairs as the next smaller cut.
_LARGEST_PAIR_RATIO = 1.4
_MOST_CUTS_OF_A_KIND = 200  # cuts: the work grows with the square of their number

# Two sets hardly overlap if they have in common at most this share of the smaller one, and at most
# this share of what random sets of their sizes have, or a single vertex.
_LARGEST_SHARE = 0.1
_LARGEST_SHARE_OF_CHANCE = 0.5

_FEWEST_SETS = 3  # of which it is decided whether they overlap by chance
_DEVIATIONS_OF_CHANCE = 4.0  # standard deviations that overlaps of random sets may be from the mean
_TINY = 1e-12  # replaces a variance of 0 as a divisor


class CutShape(NamedTuple):
    """The properties of a cut that decide its kind.

    Attributes:
        relation: three truth values: whether S and T together cover all vertices (if not hollow:
            whether one of them covers its side), whether they overlap, and whether they are equal.
        pairs: number of unordered pairs that the cut joins, at least 1. In a directed graph with S
            and T that overlap, more pairs are joined. It serves only to order the cuts by size.
        sets: masks of the two sets that the cut is about, shape (2, vertices), see `_sets`.
    """

    relation: tuple[bool, bool, bool]
    pairs: int
    sets: BoolMatrix


def _cut_shape(S: BoolVector, T: BoolVector, *, hollow: bool) -> CutShape:
    """Return the shape of a cut."""
    common = int(np.count_nonzero(S & T)) if hollow else 0  # vertices in both sets
    covering = bool((S | T).all()) if hollow else bool(S.all() or T.all())
    sizes = int(np.count_nonzero(S)), int(np.count_nonzero(T))
    return CutShape(
        relation=(covering, common > 0, (common, common) == sizes),
        # Of the |S| |T| pairs, the common vertices give `common` pairs of a vertex with itself, and
        # count each of the common (common - 1)/2 pairs within them twice.
        pairs=max(1, sizes[0] * sizes[1] - common * (common + 1) // 2),
        sets=_sets(S, T, covering=covering, hollow=hollow),
    )


def _sets(S: BoolVector, T: BoolVector, *, covering: bool, hollow: bool) -> BoolMatrix:
    """Return masks of the two sets that a cut is about, shape (2, vertices).

    A set against all other vertices is about the smaller side only, which is returned twice. Of a
    bipartite graph, vertices are the rows followed by the columns.
    """
    if hollow:
        smaller = min(S, T, key=np.count_nonzero)
        return np.array([smaller, smaller] if covering else [S, T])
    row_set, column_set = np.append(S, np.zeros_like(T)), np.append(np.zeros_like(S), T)
    if covering:
        return np.array([column_set if S.all() else row_set] * 2)
    return np.array([row_set, column_set])


def kinds_by_size(
    cuts: Sequence[CutMasks], *, hollow: bool
) -> Iterator[tuple[list[int], list[BoolMatrix]]]:
    """Divide cuts by the relation of S to T and by size.

    Each cut of a kind joins at most 1.4 times as many pairs as the next smaller one.

    Args:
        cuts: masks of rows and of columns.
        hollow: whether rows and columns are the same vertices.

    Yields:
        Indices of the cuts of a kind, smaller cuts first, and the two sets of each, see `_sets`.
    """
    shapes = [_cut_shape(S, T, hollow=hollow) for S, T in cuts]
    order = sorted(range(len(shapes)), key=lambda i: (shapes[i].relation, shapes[i].pairs))
    kinds: list[list[int]] = []
    previous: CutShape | None = None
    for position in order:
        shape = shapes[position]
        starts_a_kind = (
            previous is None
            or previous.relation != shape.relation
            or shape.pairs > _LARGEST_PAIR_RATIO * previous.pairs
            or len(kinds[-1]) == _MOST_CUTS_OF_A_KIND
        )
        if starts_a_kind:
            kinds.append([])
        kinds[-1].append(position)
        previous = shape
    for kind in kinds:
        yield kind, [shapes[position].sets for position in kind]


def overlap_by_chance(sets: Sequence[BoolMatrix]) -> bool:
    """Return whether the sets of some cuts overlap as random sets of their sizes would.

    The number of vertices that two random sets of sizes a and b have in common is hypergeometric,
    of mean a b/n. Its squared deviation over its variance has mean 1 and a variance of about
    2 + 1/variance. The mean over all pairs of distinct sets is compared with 1 plus four of its
    standard deviations, as if pairs were independent. The sum of all deviations is compared with
    four of its own, which detects small disjoint sets. Fewer than three distinct sets decide
    nothing, and the answer is False; single vertices always count as random.

    Args:
        sets: two sets of each cut, shape (2, vertices) each.
    """
    distinct = np.unique(np.concatenate(sets), axis=0).astype(np.float64)
    count, n = distinct.shape
    sizes = distinct.sum(axis=1)
    if sizes.max() <= 1:
        return True
    if count < _FEWEST_SETS:
        return False
    pairs = np.triu_indices(count, 1)
    common = (distinct @ distinct.T)[pairs]
    means = (np.outer(sizes, sizes) / n)[pairs]
    outside = (np.outer(n - sizes, n - sizes) / (n * max(n - 1, 1)))[pairs]
    variances = np.maximum(means * outside, _TINY)
    if abs(float((common - means).sum())) > _DEVIATIONS_OF_CHANCE * math.sqrt(variances.sum()):
        return False
    squares = (common - means) ** 2 / variances
    deviation = math.sqrt(float(np.mean(2 + 1 / variances)) / len(squares))
    return float(squares.mean()) < 1 + _DEVIATIONS_OF_CHANCE * deviation


def largest_partition(sets: Sequence[BoolMatrix]) -> tuple[IntVector, int]:
    """Select many cuts whose sets are pairwise equal or nearly disjoint.

    Two cuts are compatible if any two of their four sets are, see `equal_or_disjoint`. A greedy
    search starts from each cut in turn. Of the cuts compatible with the first one, it looks first
    at those that are compatible with the most others, and adds each that is compatible with all
    selected ones. The best selection covers the most vertices; a cut alone is no selection.

    Args:
        sets: two sets of each cut, shape (2, vertices) each.

    Returns:
        Indices of the selected cuts, ascending, and the number of vertices that they cover; empty
        and 0 if there is no selection.
    """
    compatible_sets = equal_or_disjoint(np.concatenate(sets))  # (2 cuts, 2 cuts)
    compatible: BoolMatrix = np.asarray(
        compatible_sets.reshape(len(sets), 2, len(sets), 2).all(axis=(1, 3))
    )
    best, most_covered = np.empty(0, dtype=np.int64), 0
    for start in range(len(sets)):
        candidates = np.flatnonzero(compatible[start])
        degrees = compatible[np.ix_(candidates, candidates)].sum(axis=1)
        selection = [start]
        selectable = compatible[start].copy()  # compatible with every selected cut
        for candidate in candidates[np.argsort(-degrees, kind="stable")]:
            if selectable[candidate] and candidate != start:
                selection.append(int(candidate))
                selectable &= compatible[candidate]
        covered = int(np.any([sets[cut].any(axis=0) for cut in selection], axis=0).sum())
        if covered > most_covered and len(selection) > 1:
            best, most_covered = np.sort(selection), covered
        if len(best) == len(sets):  # all cuts are compatible: no other start can do better
            break
    return best, most_covered


def equal_or_disjoint(sets: BoolMatrix) -> BoolMatrix:
    """Return whether sets are equal or hardly overlap, for any two of them.

    Args:
        sets: masks, shape (sets, vertices).

    Returns:
        Shape (sets, sets), symmetric, True on the diagonal.
    """
    masks = sets.astype(np.float64)
    common = masks @ masks.T  # sizes of the intersections
    sizes = common.diagonal()
    smaller = np.minimum(sizes, sizes[:, None])
    by_chance = np.outer(sizes, sizes) / max(sets.shape[1], 1)
    few = common <= _LARGEST_SHARE * smaller
    disjoint = few & (common <= np.maximum(_LARGEST_SHARE_OF_CHANCE * by_chance, 1))
    equal = (common == sizes) & (common == sizes[:, None])
    return np.asarray(disjoint | equal)
