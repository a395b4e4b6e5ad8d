"""Estimates of lists of cuts between the unbiased answers and those of the synthetic graph.

The synthetic graph is nearly right on some kinds of cuts (random ones, single vertices) and wrong
on others in a way that the cuts of a kind share (it fills in what lies between communities). The
unbiased answers have noise of known covariance, much of it common to the cuts of a list. So a list
is divided into kinds of alike cuts, and each kind learns how far the synthetic graph is right for
it. Where the synthetic graph follows the noisy data its noise is theirs, and that the two agree
says nothing: only noise that it does not share is removed. The estimates have no guarantee: they
are biased.

Source: Lindley, Smith 1972 (one law for a list); Mitchell, Beauchamp 1988 (spikes); Efron, Morris
1972 (estimates that move by a limited number of deviations); Baik, Ben Arous, Peche 2005 (from
where on a direction shows in a noisy matrix).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np
import scipy

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.queries.linear import CutQuery, answer_on_matrix
from graphcuts_dp.schema.vertices import Space

# What may hold for a kind of cuts, each with nothing to correct first. Constants were chosen on the
# made graphs that scripts/bench/baseline_graphs.py calls "tuning".
_FACTORS: FloatVector = np.array(
    [1, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.4, 1.6, 2, 2.5, 3, 4]
)
_RELATIVE: FloatVector = np.array([0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4])
_RATIOS: FloatVector = np.concatenate([[0.0], np.geomspace(0.4, 100.0, 14)])
_FAR, _TWO_KINDS = 3.0, 0.1  # deviations; and the chance of two kinds in one, before
_MOST_MOVED = 0.45  # deviations by which an estimate moves, for each cut of its kind
_ALIKE = 1.4  # cuts of one kind: as many times as many pairs as the next smaller, at most
_MOST_TOGETHER = 200  # cuts of a kind; the work grows with the square of it
_LEAST_PARTS, _COVERED = 3, 2  # parts; and how many times as many vertices as the next best cover
_DOUBT, _DOUBT_OF_PARTS, _MOST_DOUBT = 0.5, 1.2, 0.9  # over the square root of the answers
_MOST_SEEN = 30  # directions of the synthetic graph that are looked for
_NEARLY = 50.0  # times as much as variances below 0 may others be wrong
_SMALLEST = 1e-9  # variance of a combination of answers, in theirs: less is rounding

Cut = tuple[BoolVector, BoolVector]


@final
class Synthetic:
    """What the synthetic graph says of cuts, and how far it repeats the noise of the entries.

    Noise of deviation s in the entries of a matrix hides singular values below s (rows columns)^1/4
    of what degrees do not tell. Larger ones of the synthetic graph were therefore seen, and their
    singular vectors U (of rows) and V (of columns) follow the noise E: to first order, with what
    else they may do left open, by its projection U U' E + E V V' - U U' E V V'. Degrees take what
    is constant in rows or columns, so let a cut have the coefficients s t' (and t s' where pairs
    have no direction), s and t less their means. Outside of the projection these are a b' (and
    b a'), a = s - U U' s, b = t - V V' t: the shares of their squares is the share of the noise of
    the cut that the synthetic graph does not repeat.

    Args:
        matrix: of the synthetic graph, sparse or dense.
        space: its vertices.
        deviation: of the noise of an entry.
        symmetric: whether pairs have no direction.
    """

    def __init__(self, matrix: Any, space: Space, deviation: float, *, symmetric: bool) -> None:
        self._matrix, self._space, self._symmetric = matrix, space, symmetric
        self._deviation = deviation

    def values(self, cuts: Sequence[CutQuery]) -> FloatVector:
        """Of cuts on its vertices."""
        return answer_on_matrix(cuts, self._matrix, self._space)

    def apart(self, cuts: Sequence[Cut]) -> FloatVector:
        """The share of the variance of each cut's noise that it does not repeat."""
        sides = [np.array(side, dtype=np.float64) for side in zip(*cuts, strict=True)]
        centred = [side - side.mean(axis=1, keepdims=True) for side in sides]
        left = [
            side - (side @ seen) @ seen.T for side, seen in zip(centred, self._seen, strict=True)
        ]
        whole, found = self._squares(*centred), self._squares(*left)
        few = whole <= _SMALLEST * (sides[0] ** 2).sum(axis=1) * (sides[1] ** 2).sum(axis=1)
        return np.where(few, 1.0, np.minimum(found / np.where(few, 1.0, whole), 1.0))

    def _squares(self, s: FloatMatrix, t: FloatMatrix) -> FloatVector:
        """Half the sum of the squared coefficients of s t' + t s', or all of those of s t'."""
        found: FloatVector = (s**2).sum(axis=1) * (t**2).sum(axis=1)
        return found + (s * t).sum(axis=1) ** 2 if self._symmetric else found

    @cached_property
    def _seen(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Singular vectors of rows and of columns, shape (rows, seen) and (columns, seen)."""
        matrix, shape = self._matrix, self._matrix.shape
        rows, columns = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))
        columns = columns / max(float(rows.sum()), _SMALLEST)
        if min(shape) <= 2 * _MOST_SEEN:
            dense = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
            left, sizes, right = np.linalg.svd(dense - np.outer(rows, columns))
        else:
            without_degrees = scipy.sparse.linalg.LinearOperator(
                shape,
                matvec=lambda x: matrix @ x.ravel() - rows * (columns @ x.ravel()),
                rmatvec=lambda x: matrix.T @ x.ravel() - columns * (rows @ x.ravel()),
                dtype=np.float64,
            )
            left, sizes, right = scipy.sparse.linalg.svds(
                without_degrees, k=_MOST_SEEN, v0=np.ones(min(shape)), tol=1e-3
            )
        seen = sizes > self._deviation * math.prod(shape) ** 0.25
        return left[:, : len(sizes)][:, seen], right[: len(sizes)][seen].T


def shrunk_list(
    cuts: Sequence[Cut],
    synthetic: FloatVector,
    unbiased: FloatVector,
    covariances: Callable[[Sequence[Cut]], FloatMatrix],
    *,
    hollow: bool,
    symmetric: bool,
) -> FloatVector:
    """Estimates of a list of cuts, each from those of its kind.

    Args:
        cuts: masks of rows and of columns.
        synthetic: what the synthetic graph has of each.
        unbiased: answers to them.
        covariances: of the errors of the unbiased answers to some cuts, of what the synthetic graph
            does not share of them.
        hollow: whether rows and columns are the same vertices.
        symmetric: whether (S, T) and (T, S) are one cut.
    """
    named = [(S.tobytes(), T.tobytes()) for S, T in cuts]
    first = dict[tuple[bytes, ...], int]()
    place = [
        first.setdefault(tuple(sorted(name)) if symmetric else name, number)
        for number, name in enumerate(named)
    ]
    found = unbiased.copy()
    for kind, parts in _kinds(cuts, np.unique(np.array(place, dtype=np.int64)), hollow=hollow):
        own = covariances([cuts[number] for number in kind])
        found[kind] = shrunk_towards(synthetic[kind], unbiased[kind], own, parts=parts)
    return found[place]


def _kinds(
    cuts: Sequence[Cut], places: IntVector, *, hollow: bool
) -> Iterator[tuple[IntVector, bool]]:
    """The cuts at some places, those that are alike together; and whether they are of parts.

    That is, they lie in the same way to the vertices (S against all others, S within itself,
    disjoint sets, others), and each joins at most `_ALIKE` times as many pairs as the next smaller
    one of them. Among cuts as large as they are, those of the parts of the vertices that somebody
    knows are another kind than those of random sets: no two parts meet in some vertices only.
    """
    relations, pairs, sets = [], [], []
    for number in places.tolist():
        S, T = cuts[number]
        both = int(np.count_nonzero(S & T)) if hollow else 0
        whole = bool((S | T).all()) if hollow else bool(S.all() or T.all())
        sizes = int(np.count_nonzero(S)), int(np.count_nonzero(T))
        relations.append((whole, both > 0, (both, both) == sizes))
        pairs.append(max(1, sizes[0] * sizes[1] - both * (both + 1) // 2))
        sets.append(_sets(S, T, whole=whole, hollow=hollow))
    order = sorted(range(len(places)), key=lambda i: (relations[i], pairs[i]))
    found: list[list[int]] = []
    for last, number in zip([None, *order], order, strict=False):
        new = (
            last is None
            or relations[last] != relations[number]
            or pairs[number] > _ALIKE * pairs[last]
            or len(found[-1]) == _MOST_TOGETHER
        )
        if new:
            found.append([])
        found[-1].append(number)
    for kind in found:
        parts, covered = _parts([sets[number] for number in kind])
        others = np.setdiff1d(np.arange(len(kind)), parts)
        next_covered = _parts([sets[kind[at]] for at in others])[1] if len(others) else 0
        known = len(parts) >= _LEAST_PARTS and covered >= _COVERED * next_covered
        for some, of_parts in (
            ((parts, True), (others, False)) if known else ((slice(None), False),)
        ):
            chosen = places[np.array(kind)[some]]
            if len(chosen):
                yield chosen, of_parts


def _sets(S: BoolVector, T: BoolVector, *, whole: bool, hollow: bool) -> BoolMatrix:
    """The sets that a cut is about, a line each: of one against all others, the smaller one."""
    if hollow:
        smaller = min(S, T, key=np.count_nonzero)
        return np.array([smaller, smaller] if whole else [S, T])
    none_of_S, none_of_T = np.zeros_like(S), np.zeros_like(T)
    of_rows, of_columns = np.append(S, none_of_T), np.append(none_of_S, T)
    if whole:
        return np.array([of_columns if S.all() else of_rows] * 2)
    return np.array([of_rows, of_columns])


def _parts(sets: Sequence[BoolMatrix]) -> tuple[IntVector, int]:
    """Cuts whose sets are the same or disjoint, any two of them, and how many vertices they cover.

    From each cut on, others are added in the order of how many of its partners are theirs; of what
    is found so, that which covers most. One cut alone is none.
    """
    flat = np.concatenate(sets).astype(np.float64)
    common = flat @ flat.T
    sizes = common.diagonal()
    apart = (common == 0) | ((common == sizes) & (common == sizes[:, None]))
    partners = apart.reshape(len(sets), 2, len(sets), 2).all(axis=(1, 3))
    best, most = np.empty(0, dtype=np.int64), 0
    for start in range(len(sets)):
        near = np.flatnonzero(partners[start])
        chosen, free = [start], partners[start].copy()
        for other in near[np.argsort(-partners[np.ix_(near, near)].sum(axis=1), kind="stable")]:
            if free[other] and other != start:
                chosen.append(int(other))
                free &= partners[other]
        covered = int(np.any([sets[at].any(axis=0) for at in chosen], axis=0).sum())
        if covered > most and len(chosen) > 1:
            best, most = np.sort(chosen), covered
        if len(best) == len(sets):
            break
    return best, most


def shrunk_towards(
    synthetic: FloatVector, unbiased: FloatVector, covariance: FloatMatrix, *, parts: bool = False
) -> FloatVector:
    """Unbiased answers of a kind, drawn towards those of the synthetic graph.

    Cuts that are one kind by their sizes may be two all the same, such as communities among random
    halves. So answers more than 3 deviations from the synthetic graph are also tried by themselves,
    and stay so if the answers are then more likely, ten times at least.

    An answer without others of its kind moves towards the synthetic graph by .45 deviations or all
    the way, whichever is less. Its mean absolute error is that of the unbiased one times 1.1 at
    most: with normal noise the mean of |z + .45| is .8773, that of |z| .7979, and moves that end at
    the synthetic graph cost less.

    Args:
        synthetic: shape (queries,).
        unbiased: likewise.
        covariance: of the errors of the unbiased ones, of what the synthetic graph does not share,
            shape (queries, queries); an answer without such noise stays as it is.
        parts: whether the cuts are of parts that somebody knows, of which the synthetic graph is
            less often right than of sets that have nothing to do with the graph.
    """

    def estimated(some: BoolVector) -> tuple[FloatVector, float]:
        own = covariance[np.ix_(some, some)]
        return _together(synthetic[some], unbiased[some], own, parts=parts)

    found = unbiased.copy()
    variances = covariance.diagonal()
    noisy = variances > 0
    if not noisy.any():
        return found
    if np.count_nonzero(noisy) == 1:  # tells next to nothing of how far the synthetic graph is off
        most = _MOST_MOVED * np.sqrt(np.maximum(variances, 0))
        return unbiased - np.clip(unbiased - synthetic, -most, most)
    found[noisy], likely = estimated(noisy)
    far = noisy & ((unbiased - synthetic) ** 2 > _FAR**2 * variances)
    near = noisy & ~far
    if far.any() and near.any():
        (of_far, log_far), (of_near, log_near) = estimated(far), estimated(near)
        if log_far + log_near + math.log(_TWO_KINDS) > likely:
            found[far], found[near] = of_far, of_near
    return found


def _together(
    synthetic: FloatVector, unbiased: FloatVector, covariance: FloatMatrix, *, parts: bool
) -> tuple[FloatVector, float]:
    """Estimates of answers of one kind, and the logarithm of how likely the answers are.

    Let y be the unbiased answers, s their deviations, C the covariance of their errors, and let the
    truth be normal with mean f m, m being the synthetic graph's answers, and independent deviations
    of variance t^2 m^2 + g^2 s^2. Its best estimate is then y - C (C + t^2 diag(m^2) + g^2
    diag(s^2))^-1 (y - f m). The factor f, t and g are common to the kind; each has nothing to
    correct (f = 1, t = 0, g = 0) with a prior chance of 1 - .5/sqrt(answers), of parts of
    1 - 1.2/sqrt(answers), else any value of a grid, and the estimates are averaged over what the
    answers leave open. In units of s one decomposition for each t serves all f and g.

    Few answers can tell little of f, t and g, so no estimate moves by more than .45 deviations for
    each of them.
    """
    count, scale = len(unbiased), np.sqrt(covariance.diagonal())
    y, m = unbiased / scale, synthetic / scale
    noise = covariance / np.outer(scale, scale)
    of_relative, of_factors, of_ratios = (
        _prior(len(grid), count, parts=parts) for grid in (_RELATIVE, _FACTORS, _RATIOS)
    )
    # Covariances of answers with groups hold nearly: variances below 0 show by how much, about.
    lowest = float(scipy.linalg.eigvalsh(noise, subset_by_index=[0, 0])[0])
    least = max(_SMALLEST, -_NEARLY * lowest)
    logs = np.empty((len(_RELATIVE), len(_FACTORS), len(_RATIOS)))
    solved = []
    for place, relative in enumerate(_RELATIVE):
        variances, axes = scipy.linalg.eigh(noise + np.diag((relative * m) ** 2))
        spreads = np.maximum(variances, least) + _RATIOS[:, None] ** 2
        residuals = axes.T @ y - _FACTORS[:, None] * (axes.T @ m)
        logs[place] = -((residuals**2) @ (1 / spreads).T + np.log(spreads).sum(axis=1)) / 2
        logs[place] += of_relative[place] + of_factors[:, None] + of_ratios
        solved.append((axes, residuals, 1 / spreads))
    likely = float(scipy.special.logsumexp(logs))
    moves = np.zeros(count)
    for chances, (axes, residuals, weights) in zip(np.exp(logs - likely), solved, strict=True):
        moves += axes @ ((chances.T @ residuals) * weights).sum(axis=0)
    most = _MOST_MOVED * count
    return unbiased - scale * np.clip(noise @ moves, -most, most), likely


def _prior(values: int, answers: int, *, parts: bool) -> FloatVector:
    """Logarithms of the chances of the values of a grid, of which the first corrects nothing."""
    doubt = _DOUBT_OF_PARTS if parts else _DOUBT
    others = min(doubt / math.sqrt(answers), _MOST_DOUBT)
    found = np.full(values, math.log(others / (values - 1)))
    found[0] = math.log1p(-others)
    return found
