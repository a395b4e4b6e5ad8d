"""Estimates of lists of cuts between the unbiased answers and those of the synthetic graph.

The synthetic graph is nearly right on some kinds of cuts (random ones, single vertices) and wrong
on others in a way that the cuts of a kind share (it fills in what lies between communities). The
unbiased answers have noise of known covariance, much of it common to the cuts of a list. So a list
is divided into kinds of alike cuts, and each kind learns how far the synthetic graph is right for
it. The estimates have no guarantee: they are biased, and made as if the synthetic graph, which was
fitted to the same noisy data, did not share their noise.

Source: Lindley, Smith 1972 (one law for a list); Mitchell, Beauchamp 1988 (spikes); Efron, Morris
1972 (estimates that move by a limited number of deviations).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector

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
_NEARLY = 50.0  # times as much as variances below 0 may others be wrong
_SMALLEST = 1e-9  # variance of a combination of answers, in theirs: less is rounding

Cut = tuple[BoolVector, BoolVector]


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
        covariances: of the errors of the unbiased answers to some cuts.
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
    for kind in _kinds(cuts, np.unique(np.array(place, dtype=np.int64)), hollow=hollow):
        own = covariances([cuts[number] for number in kind])
        found[kind] = shrunk_towards(synthetic[kind], unbiased[kind], own)
    return found[place]


def _kinds(cuts: Sequence[Cut], places: IntVector, *, hollow: bool) -> list[IntVector]:
    """The cuts at some places, those that are alike together.

    That is, they lie in the same way to the vertices (S against all others, S within itself,
    disjoint sets, others), and each joins at most `_ALIKE` times as many pairs as the next smaller
    one of them.
    """
    relations, pairs = [], []
    for number in places.tolist():
        S, T = cuts[number]
        both = int(np.count_nonzero(S & T)) if hollow else 0
        whole = bool((S | T).all()) if hollow else bool(S.all() or T.all())
        sizes = int(np.count_nonzero(S)), int(np.count_nonzero(T))
        relations.append((whole, both > 0, (both, both) == sizes))
        pairs.append(max(1, sizes[0] * sizes[1] - both * (both + 1) // 2))
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
    return [places[kind] for kind in found]


def shrunk_towards(
    synthetic: FloatVector, unbiased: FloatVector, covariance: FloatMatrix
) -> FloatVector:
    """Unbiased answers of a kind, drawn towards those of the synthetic graph.

    Cuts that are one kind by their sizes may be two all the same, such as communities among random
    halves. So answers more than 3 deviations from the synthetic graph are also tried by themselves,
    and stay so if the answers are then more likely, ten times at least.

    Args:
        synthetic: shape (queries,).
        unbiased: likewise.
        covariance: of the errors of the unbiased ones, shape (queries, queries); an answer without
            noise stays as it is.
    """

    def estimated(some: BoolVector) -> tuple[FloatVector, float]:
        return _together(synthetic[some], unbiased[some], covariance[np.ix_(some, some)])

    found = unbiased.copy()
    variances = covariance.diagonal()
    noisy = variances > 0
    if not noisy.any():
        return found
    found[noisy], likely = estimated(noisy)
    far = noisy & ((unbiased - synthetic) ** 2 > _FAR**2 * variances)
    near = noisy & ~far
    if far.any() and near.any():
        parts = [estimated(far), estimated(near)]
        if sum(log for _, log in parts) + math.log(_TWO_KINDS) > likely:
            found[far], found[near] = parts[0][0], parts[1][0]
    return found


def _together(
    synthetic: FloatVector, unbiased: FloatVector, covariance: FloatMatrix
) -> tuple[FloatVector, float]:
    """Estimates of answers of one kind, and the logarithm of how likely the answers are.

    Let y be the unbiased answers, s their deviations, C the covariance of their errors, and let the
    truth be normal with mean f m, m being the synthetic graph's answers, and independent deviations
    of variance t^2 m^2 + g^2 s^2. Its best estimate is then y - C (C + t^2 diag(m^2) + g^2
    diag(s^2))^-1 (y - f m). The factor f, t and g are common to the kind; each has nothing to
    correct (f = 1, t = 0, g = 0) with a prior chance of 1 - 1/(2 sqrt(answers)), else any value of
    a grid, and the estimates are averaged over what the answers leave open. In units of s one
    decomposition for each t serves all f and g.

    Few answers can tell little of f, t and g, so no estimate moves by more than .45 deviations for
    each of them.
    """
    count, scale = len(unbiased), np.sqrt(covariance.diagonal())
    y, m = unbiased / scale, synthetic / scale
    noise = covariance / np.outer(scale, scale)
    of_relative, of_factors, of_ratios = (
        _prior(len(grid), count) for grid in (_RELATIVE, _FACTORS, _RATIOS)
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


def _prior(values: int, answers: int) -> FloatVector:
    """Logarithms of the chances of the values of a grid, of which the first corrects nothing."""
    others = 0.5 / math.sqrt(answers)
    found = np.full(values, math.log(others / (values - 1)))
    found[0] = math.log1p(-others)
    return found
