"""Shrinkage of lists of cut answers towards the synthetic graph.

A *cut* (S, T) is the total weight of the pairs with one end in S and the other in T; here S and T
are masks (truth vectors) of the rows and of the columns of the adjacency matrix. A release with a
fit has two numbers for each cut: the *unbiased answer*, whose noise has a known covariance, and the
*synthetic value*, the weight of the cut in the synthetic graph. The synthetic graph is nearly right
on some cuts (random ones, single vertices). On others it is wrong, and then on many of them in the
same way: for example, it puts too much weight between communities. So `shrunk_list` divides a list
into *kinds*, which are groups of similar cuts, and `shrunk_towards` learns from the answers of one
kind how right the synthetic graph is on it (empirical Bayes).

The synthetic graph is made from the same noisy data, so its values repeat a part of the noise of
the answers. That both agree on this part is no evidence that it is right. `Synthetic` therefore
computes which share of the noise is independent of the synthetic graph, and only that noise is
shrunk.

Terms used here:

- *deviation*: a standard deviation.
- *partition*: sets of vertices that have no vertex in common, such as communities. Its *parts* are
  these sets. They need not cover all vertices.
- *hollow*: rows and columns of the matrix are the same vertices, so that its diagonal holds no
  pairs. Bipartite graphs are not hollow; directed and undirected ones are.
- x' is the transpose of x; for a column s and a row t' the matrix s t' has the entries s_i t_j.

The estimates are biased and have no guarantee. They are computed from released numbers, so they
cost no privacy. Read `shrunk_list` first, then `shrunk_towards`.

Source: Lindley, Smith 1972 (a common prior for a list); Mitchell, Beauchamp 1988 (priors with a
spike); Efron, Morris 1972 (limited translation of estimates); Baik, Ben Arous, Peche 2005 (the
singular value from which a direction shows in a noisy matrix).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import scipy

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.estimator import CutMasks
from graphcuts_dp.queries.linear import CutQuery, answer_on_matrix
from graphcuts_dp.schema.vertices import Space

# Constants were chosen on the graphs that scripts/bench/baseline_graphs.py calls "tuning".

# The grids of the factor f, the relative deviation t and the noise multiple g, see
# `_shrunk_together`. The first value of each corrects nothing, and `_log_prior` relies on that.
_FACTORS: FloatVector = np.array(
    [1, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.4, 1.6, 2, 2.5, 3, 4]
)
_RELATIVE_DEVIATIONS: FloatVector = np.array([0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4])
_NOISE_MULTIPLES: FloatVector = np.concatenate([[0.0], np.geomspace(0.4, 100.0, 14)])

# A parameter has a prior probability of correcting something, which is divided equally among the
# other values of its grid. It is one of these numbers, divided by the square root of the number of
# answers of the kind. It is larger for cuts of the parts of a partition, on which the synthetic
# graph is less often right.
_PRIOR_DOUBT = 0.5
_PRIOR_DOUBT_OF_PARTS = 1.2
_LARGEST_PRIOR_DOUBT = 0.9  # probability: some chance is left for "nothing to correct"

# Answers this many standard deviations from the synthetic values may be a kind of their own.
_FAR = 3.0
_CHANCE_OF_TWO_KINDS = 0.1  # prior probability that one kind should be two

# Largest move of an estimate per answer of its kind, in standard deviations of its noise.
_LARGEST_MOVE = 0.45

# Within a kind, each cut has at most this many times as many pairs as the next smaller cut.
_LARGEST_PAIR_RATIO = 1.4
_MOST_CUTS_OF_A_KIND = 200  # cuts: the work grows with the square of their number

# Cuts of a partition are a kind of their own if there are at least so many of them, and if they
# cover at least so many times as many vertices as the next best partition.
_FEWEST_PARTS = 3
_COVERAGE_RATIO = 2

_MOST_DIRECTIONS = 30  # singular vectors of the synthetic graph that are computed
# A covariance has no negative eigenvalue. Where the release also measured sums of groups, the one
# passed here is approximate, and its least eigenvalue may be -x < 0. Then all eigenvalues are wrong
# by about x, and those below this many times x are raised to this many times x.
_EIGENVALUE_ERROR_RATIO = 50.0
_SMALLEST_VARIANCE = 1e-9  # in units of the variance of an answer; less is rounding


@final
class Synthetic:
    """Synthetic values of cuts, and the share of the noise that the synthetic graph repeats.

    The synthetic graph was fitted to a noisy matrix. What it repeats of that noise is computed in
    three steps:

    1. *Detected directions.* Take the matrix less the part that its row and column sums explain.
       Noise of deviation d in each entry hides singular values below d (rows columns)^(1/4). The
       fit can have larger ones only from the noisy matrix, where they were *detected*. Let U (of
       rows) and V (of columns) be their singular vectors, as columns.
    2. *What follows the noise.* To first order, the synthetic graph follows the noise E of the
       matrix by the projection of E onto these directions, U U' E + E V V' - U U' E V V'. What is
       left of E is (I - U U') E (I - V V').
    3. *Of a cut.* Let s and t be the indicators of S and T less their means. (What is constant in
       rows or columns is explained by degrees and left out.) The noise of the cut is s' E t, so the
       entries of E have the coefficients s t'. What is independent of the synthetic graph is
       s' (I - U U') E (I - V V') t, which has the coefficients a b' with a = s - U U' s and
       b = t - V V' t. For an undirected graph they are (s t' + t s')/2 and (a b' + b a')/2.

    A variance is proportional to the sum of the squared coefficients. So the independent share of
    the variance is the squared norm of a b' over that of s t'.

    Args:
        matrix: of the synthetic graph, sparse or dense.
        space: its vertices.
        deviation: standard deviation of the noise of an entry.
        symmetric: whether the graph is undirected.
    """

    def __init__(self, matrix: Any, space: Space, deviation: float, *, symmetric: bool) -> None:
        self._matrix, self._space, self._symmetric = matrix, space, symmetric
        self._deviation = deviation

    def values(self, cuts: Sequence[CutQuery]) -> FloatVector:
        """Return the weights of cuts in the synthetic graph, shape (cuts,)."""
        return answer_on_matrix(cuts, self._matrix, self._space)

    def independent_shares(self, cuts: Sequence[CutMasks]) -> FloatVector:
        """Return the share of the variance of each cut's noise that is independent of the graph.

        Returns:
            Shape (cuts,), in [0, 1]. It is 1 for cuts that degrees explain entirely.
        """
        # Indicators, shapes (cuts, rows) and (cuts, columns). s, t, a and b: see the class.
        S, T = (np.array(side, dtype=np.float64) for side in zip(*cuts, strict=True))
        row_vectors, column_vectors = self._detected_vectors
        s = S - S.mean(axis=1, keepdims=True)
        t = T - T.mean(axis=1, keepdims=True)
        a = s - (s @ row_vectors) @ row_vectors.T
        b = t - (t @ column_vectors) @ column_vectors.T
        all_squares, independent_squares = self._squared_norms(s, t), self._squared_norms(a, b)
        # Of cuts that degrees explain entirely, s or t is 0, and all_squares is 0 but for rounding:
        # far below |S|^2 |T|^2, which it would be without subtracting the means.
        negligible = all_squares <= _SMALLEST_VARIANCE * (S**2).sum(axis=1) * (T**2).sum(axis=1)
        divisor = np.where(negligible, 1.0, all_squares)
        return np.where(negligible, 1.0, np.minimum(independent_squares / divisor, 1.0))

    def _squared_norms(self, s: FloatMatrix, t: FloatMatrix) -> FloatVector:
        """Return |s t'|^2 for each row of s and t, or |s t' + t s'|^2 / 2 if symmetric.

        The factor 1/2 does not matter, since only ratios are used.
        """
        norms: FloatVector = (s**2).sum(axis=1) * (t**2).sum(axis=1)
        return norms + (s * t).sum(axis=1) ** 2 if self._symmetric else norms

    @cached_property
    def _detected_vectors(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Detected singular vectors U, shape (rows, count), and V, shape (columns, count)."""
        matrix, shape = self._matrix, self._matrix.shape
        row_sums, column_sums = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))
        # The part that degrees explain has rank one: row_sums column_sums' / total.
        column_shares = column_sums / max(float(row_sums.sum()), _SMALLEST_VARIANCE)
        if min(shape) <= 2 * _MOST_DIRECTIONS:
            dense = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
            left, sizes, right = np.linalg.svd(dense - np.outer(row_sums, column_shares))
        else:
            without_degrees = scipy.sparse.linalg.LinearOperator(
                shape,
                matvec=lambda x: matrix @ x.ravel() - row_sums * (column_shares @ x.ravel()),
                rmatvec=lambda x: matrix.T @ x.ravel() - column_shares * (row_sums @ x.ravel()),
                dtype=np.float64,
            )
            left, sizes, right = scipy.sparse.linalg.svds(
                without_degrees, k=_MOST_DIRECTIONS, v0=np.ones(min(shape)), tol=1e-3
            )
        detected = sizes > self._deviation * math.prod(shape) ** 0.25
        # `svd` returns square matrices with more vectors than singular values, `svds` exactly as
        # many. The first slice makes them alike, the second selects the detected ones.
        return left[:, : len(sizes)][:, detected], right[: len(sizes)][detected].T


def shrunk_list(
    cuts: Sequence[CutMasks],
    synthetic: FloatVector,
    unbiased: FloatVector,
    covariances: Callable[[Sequence[CutMasks]], FloatMatrix],
    *,
    hollow: bool,
    symmetric: bool,
) -> FloatVector:
    """Return shrunk estimates of a list of cuts.

    Cuts that occur several times are shrunk once. The distinct ones are divided into kinds, and
    each kind is shrunk by itself.

    Args:
        cuts: masks of rows and of columns.
        synthetic: synthetic values, shape (cuts,).
        unbiased: unbiased answers, shape (cuts,).
        covariances: returns, for some of the cuts, the covariance of the noise of their unbiased
            answers that the synthetic graph does not repeat, shape (cuts, cuts).
        hollow: whether rows and columns are the same vertices, see the module.
        symmetric: whether (S, T) and (T, S) are one cut.

    Returns:
        Shape (cuts,).
    """
    keys = [(S.tobytes(), T.tobytes()) for S, T in cuts]
    first_index_of = dict[tuple[bytes, ...], int]()
    # For each cut, the index of the first cut of the list that is equal to it.
    first_equal = [
        first_index_of.setdefault(tuple(sorted(key)) if symmetric else key, index)
        for index, key in enumerate(keys)
    ]
    estimates = unbiased.copy()
    distinct = np.unique(np.array(first_equal, dtype=np.int64))
    for kind, parts in _kinds(cuts, distinct, hollow=hollow):
        covariance = covariances([cuts[index] for index in kind])
        estimates[kind] = shrunk_towards(synthetic[kind], unbiased[kind], covariance, parts=parts)
    return estimates[first_equal]


class _CutShape(NamedTuple):
    """The properties of a cut by which kinds are formed.

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


def _cut_shape(S: BoolVector, T: BoolVector, *, hollow: bool) -> _CutShape:
    """Return the shape of a cut."""
    common = int(np.count_nonzero(S & T)) if hollow else 0  # vertices in both sets
    covering = bool((S | T).all()) if hollow else bool(S.all() or T.all())
    sizes = int(np.count_nonzero(S)), int(np.count_nonzero(T))
    return _CutShape(
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


def _kinds(
    cuts: Sequence[CutMasks], indices: IntVector, *, hollow: bool
) -> Iterator[tuple[IntVector, bool]]:
    """Divide cuts into kinds.

    Cuts of a kind have the same relation of S to T, and each joins at most 1.4 times as many pairs
    as the next smaller one. Such a kind may mix two things: cuts between the parts of a meaningful
    partition (communities, say), and cuts of random sets of about the same size. They are told
    apart by their sets: any two parts of a partition are equal or disjoint, while random sets
    overlap. So the cuts of the largest partition become a kind of their own, if it is clear.

    Args:
        cuts: masks of rows and of columns.
        indices: which of them to divide.
        hollow: whether rows and columns are the same vertices.

    Yields:
        Indices of the cuts of a kind, and whether they are cuts of the parts of a partition.
    """
    shapes = [_cut_shape(*cuts[index], hollow=hollow) for index in indices.tolist()]
    order = sorted(range(len(shapes)), key=lambda i: (shapes[i].relation, shapes[i].pairs))
    kinds: list[list[int]] = []
    previous: _CutShape | None = None
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
        members = indices[np.array(kind)]
        sets = [shapes[position].sets for position in kind]
        of_partition, covered = _largest_partition(sets)
        # The partition is clear if it covers several times as many vertices as the largest one of
        # the remaining cuts. Among random sets, the best two would cover about as many.
        remaining = np.setdiff1d(np.arange(len(kind)), of_partition)
        next_covered = _largest_partition([sets[i] for i in remaining])[1] if len(remaining) else 0
        if len(of_partition) < _FEWEST_PARTS or covered < _COVERAGE_RATIO * next_covered:
            yield members, False
            continue
        yield members[of_partition], True
        if len(remaining):
            yield members[remaining], False


def _largest_partition(sets: Sequence[BoolMatrix]) -> tuple[IntVector, int]:
    """Return cuts any two of whose sets are equal or disjoint, and how many vertices they cover.

    Two cuts are compatible if any two of their four sets are equal or disjoint. A greedy search
    starts from each cut in turn. It looks at the cuts compatible with the first one, those that are
    compatible with the most of them first, and adds each that is compatible with all selected ones.
    The result is the selection that covers most vertices; a cut alone is no selection.

    Args:
        sets: two sets of each cut, shape (2, vertices) each.

    Returns:
        Indices of cuts, ascending, and a number of vertices; empty and 0 if there is no selection.
    """
    flat = np.concatenate(sets).astype(np.float64)  # (2 cuts, vertices)
    common = flat @ flat.T  # sizes of the intersections of any two sets
    sizes = common.diagonal()
    equal_or_disjoint = (common == 0) | ((common == sizes) & (common == sizes[:, None]))
    compatible = equal_or_disjoint.reshape(len(sets), 2, len(sets), 2).all(axis=(1, 3))
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


def shrunk_towards(
    synthetic: FloatVector, unbiased: FloatVector, covariance: FloatMatrix, *, parts: bool = False
) -> FloatVector:
    """Return the estimates of one kind: unbiased answers shrunk towards the synthetic values.

    Cuts of one kind by their shape may still be two kinds, such as communities among random halves.
    So the estimates are computed twice: for all answers together; and for two subsets, the answers
    more than 3 deviations from their synthetic values, and the others. The second estimates are
    returned if the answers are more than ten times as likely under two kinds as under one.

    A single answer says next to nothing about the error of the synthetic graph. It moves towards
    the synthetic value by .45 deviations, or all the way if that is less. Its mean absolute error
    is at most 1.1 times that of the unbiased answer: for normal noise z the mean of |z + .45| is
    .8773, that of |z| is .7979, and moves that stop at the synthetic value cost less.

    Args:
        synthetic: synthetic values, shape (cuts,).
        unbiased: unbiased answers, shape (cuts,).
        covariance: of the noise of the unbiased answers that the synthetic graph does not repeat,
            shape (cuts, cuts). An answer of variance 0 stays as it is.
        parts: whether the cuts are those of the parts of a partition, on which the synthetic graph
            is less often right.

    Returns:
        Shape (cuts,).
    """

    # Estimates of the answers in a mask, and their log likelihood.
    def shrunk_subset(subset: BoolVector) -> tuple[FloatVector, float]:
        subset_covariance = covariance[np.ix_(subset, subset)]
        return _shrunk_together(synthetic[subset], unbiased[subset], subset_covariance, parts=parts)

    estimates = unbiased.copy()
    variances = covariance.diagonal()
    noisy = variances > 0
    if not noisy.any():
        return estimates
    if np.count_nonzero(noisy) == 1:
        largest_moves = _LARGEST_MOVE * np.sqrt(np.maximum(variances, 0))
        return unbiased - np.clip(unbiased - synthetic, -largest_moves, largest_moves)
    estimates[noisy], log_likelihood = shrunk_subset(noisy)
    far = noisy & ((unbiased - synthetic) ** 2 > _FAR**2 * variances)
    near = noisy & ~far
    if far.any() and near.any():
        far_estimates, log_likelihood_far = shrunk_subset(far)
        near_estimates, log_likelihood_near = shrunk_subset(near)
        log_of_two = log_likelihood_far + log_likelihood_near + math.log(_CHANCE_OF_TWO_KINDS)
        if log_of_two > log_likelihood:
            estimates[far], estimates[near] = far_estimates, near_estimates
    return estimates


def _shrunk_together(
    synthetic: FloatVector, unbiased: FloatVector, covariance: FloatMatrix, *, parts: bool
) -> tuple[FloatVector, float]:
    """Return the estimates of answers of one kind, and the log likelihood of the answers.

    Let y be the unbiased answers, s their deviations, C the covariance of their noise, and m the
    synthetic values. The true values are normal with mean f m and independent deviations of
    variance t^2 m^2 + g^2 s^2, so that their best estimate is

        y - C (C + t^2 diag(m^2) + g^2 diag(s^2))^-1 (y - f m).

    The factor f, the relative deviation t and the noise multiple g are common to the kind. Each has
    nothing to correct (f = 1, t = 0, g = 0) with the prior probability 1 - .5/sqrt(answers), or 1 -
    1.2/sqrt(answers) for parts of a partition; otherwise each other value of its grid is equally
    likely. The estimates are averaged over the posterior of (t, f, g).

    The code divides y, m and C by the deviations s. Then g^2 diag(s^2) is g^2 I, which changes all
    eigenvalues by g^2 and no eigenvector. So one eigendecomposition of C + t^2 diag(m^2) for each t
    serves all f and g. The *axes* are its eigenvectors.

    A few answers say little about f, t and g, so no estimate moves by more than .45 deviations
    times the number of answers.

    Args:
        synthetic: m, shape (cuts,).
        unbiased: y, shape (cuts,).
        covariance: C, with a positive diagonal, shape (cuts, cuts).
        parts: see `shrunk_towards`.
    """
    count, scale = len(unbiased), np.sqrt(covariance.diagonal())
    y, m = unbiased / scale, synthetic / scale
    noise = covariance / np.outer(scale, scale)
    log_prior_t, log_prior_f, log_prior_g = (
        _log_prior(len(grid), count, parts=parts)
        for grid in (_RELATIVE_DEVIATIONS, _FACTORS, _NOISE_MULTIPLES)
    )
    lowest_eigenvalue = float(scipy.linalg.eigvalsh(noise, subset_by_index=[0, 0])[0])
    least_variance = max(_SMALLEST_VARIANCE, -_EIGENVALUE_ERROR_RATIO * lowest_eigenvalue)
    log_posterior = np.empty((len(_RELATIVE_DEVIATIONS), len(_FACTORS), len(_NOISE_MULTIPLES)))
    solutions = []  # for each t: eigenvectors, residuals (f, axis), precisions (g, axis)
    for t_index, t in enumerate(_RELATIVE_DEVIATIONS):
        eigenvalues, axes = scipy.linalg.eigh(noise + np.diag((t * m) ** 2))
        variances = np.maximum(eigenvalues, least_variance) + _NOISE_MULTIPLES[:, None] ** 2
        precisions = 1 / variances
        residuals = axes.T @ y - _FACTORS[:, None] * (axes.T @ m)
        # Log density of a normal law: -(sum of residual^2 / variance + sum of ln variance) / 2.
        log_density = -((residuals**2) @ precisions.T + np.log(variances).sum(axis=1)) / 2
        log_posterior[t_index] = log_density
        log_posterior[t_index] += log_prior_t[t_index] + log_prior_f[:, None] + log_prior_g
        solutions.append((axes, residuals, precisions))
    log_likelihood = float(scipy.special.logsumexp(log_posterior))
    # Posterior mean of (C + t^2 diag(m^2) + g^2)^-1 (y - f m). For one t and g, and in the axes, it
    # is the precision (g, axis) times the posterior mean of the residual (f, axis).
    weighted_residuals = np.zeros(count)
    posterior = np.exp(log_posterior - log_likelihood)
    for posterior_of_f_g, (axes, residuals, precisions) in zip(posterior, solutions, strict=True):
        mean_residuals = posterior_of_f_g.T @ residuals  # (g, axis), summed over f
        weighted_residuals += axes @ (mean_residuals * precisions).sum(axis=0)
    largest_move = _LARGEST_MOVE * count
    moves = np.clip(noise @ weighted_residuals, -largest_move, largest_move)
    return unbiased - scale * moves, log_likelihood


def _log_prior(grid_size: int, answers: int, *, parts: bool) -> FloatVector:
    """Return the log prior of the values of a grid, whose first value corrects nothing."""
    doubt = _PRIOR_DOUBT_OF_PARTS if parts else _PRIOR_DOUBT
    chance_of_others = min(doubt / math.sqrt(answers), _LARGEST_PRIOR_DOUBT)
    log_prior = np.full(grid_size, math.log(chance_of_others / (grid_size - 1)))
    log_prior[0] = math.log1p(-chance_of_others)
    return log_prior
