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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.estimator import CutMasks
from graphcuts_dp.estimate.misfit import Misfit, MisfitVariances
from graphcuts_dp.estimate.set_overlaps import (
    SetsOfKind,
    kinds_by_size,
    largest_partition,
    overlap_by_chance,
)
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
# graph is less often right, and smaller for sets that overlap by chance.
_PRIOR_DOUBTS: Mapping[SetsOfKind, float] = {"parts": 1.2, "other": 0.5, "chance": 0.1}
_LARGEST_PRIOR_DOUBT = 0.9  # probability: some chance is left for "nothing to correct"

# Typical errors use the posterior to this power. Values that the answers hardly tell from "nothing
# to correct" then count little; the posterior itself overstates errors on random cuts.
_SHARPNESS = 2.0
# A misfit is not seen by a list of k answers up to about this many times their noise over k^(1/2),
# as variances.
_MOST_UNSEEN = 0.4

# Answers this many standard deviations from the synthetic values may be a kind of their own.
_FAR = 3.0
_CHANCE_OF_TWO_KINDS = 0.1  # prior probability that one kind should be two

# Largest move of an estimate per answer of its kind, in standard deviations of its noise.
_LARGEST_MOVE = 0.45

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
        self.matrix: Any = matrix
        self._space = space
        self._symmetric = symmetric
        self._deviation = deviation

    def values(self, cuts: Sequence[CutQuery]) -> FloatVector:
        """Return the weights of cuts in the synthetic graph, shape (cuts,)."""
        return answer_on_matrix(cuts, self.matrix, self._space)

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
        matrix, shape = self.matrix, self.matrix.shape
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
    misfit: Misfit | None = None,
) -> "ShrunkAnswers":
    """Return shrunk estimates of a list of cuts, and how large their errors typically are.

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
        misfit: of the synthetic graph, before any answer is seen; None for none.
    """
    keys = [(S.tobytes(), T.tobytes()) for S, T in cuts]
    first_index_of = dict[tuple[bytes, ...], int]()
    # For each cut, the index of the first cut of the list that is equal to it.
    first_equal = [
        first_index_of.setdefault(tuple(sorted(key)) if symmetric else key, index)
        for index, key in enumerate(keys)
    ]
    values, error_variances = unbiased.copy(), np.zeros_like(unbiased)
    distinct = np.unique(np.array(first_equal, dtype=np.int64))
    for kind, sets in _kinds(cuts, distinct, hollow=hollow):
        of_kind = [cuts[index] for index in kind]
        covariance = covariances(of_kind)
        values[kind], error_variances[kind] = shrunk_towards(
            synthetic[kind],
            unbiased[kind],
            covariance,
            sets=sets,
            misfit=None if misfit is None else misfit(of_kind, meaningful=sets != "chance"),
        )
    return ShrunkAnswers(values[first_equal], error_variances[first_equal])


def _kinds(
    cuts: Sequence[CutMasks], indices: IntVector, *, hollow: bool
) -> Iterator[tuple[IntVector, SetsOfKind]]:
    """Divide cuts into kinds.

    Cuts of a kind have the same relation of S to T, and each joins at most 1.4 times as many pairs
    as the next smaller one (`kinds_by_size`). Such a kind may mix two things: cuts between the
    parts of a meaningful partition (communities, say), and cuts of random sets of about the same
    size. They are told apart by their sets: any two parts of a partition are equal or hardly
    overlap, while random sets overlap by chance. So the cuts of the largest partition become a kind
    of their own, if it is clear. Parts may have exchanged a few of their vertices.

    Args:
        cuts: masks of rows and of columns.
        indices: which of them to divide.
        hollow: whether rows and columns are the same vertices.

    Yields:
        Indices of the cuts of a kind, and what their sets are.
    """
    for positions, sets in kinds_by_size([cuts[i] for i in indices.tolist()], hollow=hollow):
        members = indices[np.array(positions)]
        of_partition, covered = largest_partition(sets)
        # The partition is clear if it covers several times as many vertices as the largest one of
        # the remaining cuts. Among random sets, the best two would cover about as many.
        remaining = np.setdiff1d(np.arange(len(positions)), of_partition)
        next_covered = largest_partition([sets[i] for i in remaining])[1] if len(remaining) else 0
        if len(of_partition) < _FEWEST_PARTS or covered < _COVERAGE_RATIO * next_covered:
            yield members, _chance_or_other(sets)
            continue
        yield members[of_partition], "parts"
        if len(remaining):
            yield members[remaining], _chance_or_other([sets[i] for i in remaining])


def _chance_or_other(sets: Sequence[BoolMatrix]) -> SetsOfKind:
    """Return whether sets overlap as random ones do."""
    return "chance" if overlap_by_chance(sets) else "other"


class ShrunkAnswers(NamedTuple):
    """Shrunk estimates, and the typical squares of their errors.

    Attributes:
        values: shape (cuts,).
        error_variances: mean squared errors that are to be expected, by a model and no proof. The
            noise that the synthetic graph repeats is not among them.
    """

    values: FloatVector
    error_variances: FloatVector


def shrunk_towards(
    synthetic: FloatVector,
    unbiased: FloatVector,
    covariance: FloatMatrix,
    *,
    sets: SetsOfKind = "other",
    misfit: MisfitVariances | None = None,
) -> ShrunkAnswers:
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
        sets: what the sets of the cuts are. On parts of a partition the synthetic graph is less
            often right.
        misfit: variances of the synthetic values about the truth, before any answer is seen; None
            for none.
    """
    if misfit is None:
        misfit = MisfitVariances(np.zeros_like(unbiased), np.zeros_like(unbiased))
    values, error_variances = unbiased.copy(), np.zeros_like(unbiased)
    variances = covariance.diagonal()
    noisy = variances > 0

    # Estimates of the answers in a mask, their squared errors, and their log likelihood.
    def shrunk_subset(subset: BoolVector) -> tuple[FloatVector, FloatVector, float]:
        kind = _Kind(
            synthetic[subset],
            unbiased[subset],
            covariance[np.ix_(subset, subset)],
            sets,
            MisfitVariances(misfit.by_chance[subset], misfit.by_structure[subset]),
        )
        return kind.shrunk()

    if not noisy.any():
        return ShrunkAnswers(values, error_variances)
    if np.count_nonzero(noisy) == 1:
        largest_moves = _LARGEST_MOVE * np.sqrt(np.maximum(variances, 0))
        values = unbiased - np.clip(unbiased - synthetic, -largest_moves, largest_moves)
        error_variances = _errors_of_single_answers(synthetic, unbiased, values, variances, misfit)
        return ShrunkAnswers(values, error_variances)
    values[noisy], error_variances[noisy], log_likelihood = shrunk_subset(noisy)
    far = noisy & ((unbiased - synthetic) ** 2 > _FAR**2 * variances)
    near = noisy & ~far
    if far.any() and near.any():
        of_far, of_near = shrunk_subset(far), shrunk_subset(near)
        log_of_two = of_far[2] + of_near[2] + math.log(_CHANCE_OF_TWO_KINDS)
        if log_of_two > log_likelihood:
            values[far], values[near] = of_far[0], of_near[0]
            error_variances[far], error_variances[near] = of_far[1], of_near[1]
    return ShrunkAnswers(values, error_variances)


def _errors_of_single_answers(
    synthetic: FloatVector,
    unbiased: FloatVector,
    values: FloatVector,
    variances: FloatVector,
    misfit: MisfitVariances,
) -> FloatVector:
    """Return the typical squared errors of answers that are each shrunk alone.

    There are two cases, equally likely beforehand: the error of the synthetic value is its `misfit`
    alone, or a multiple of the noise as in `_NOISE_MULTIPLES`. The answer shows which is likelier.
    In the second case the error is nearly that of the unbiased answer.
    """
    noise = np.where(variances > 0, variances, 1.0)
    squares = (unbiased - synthetic) ** 2 / noise
    of_misfit = misfit.by_chance + misfit.by_structure
    spread = 1 + of_misfit / noise
    fits = np.exp(-squares / (2 * spread)) / np.sqrt(spread)
    spreads = 1 + _NOISE_MULTIPLES[1:, None] ** 2
    fails = (np.exp(-squares / (2 * spreads)) / np.sqrt(spreads)).mean(axis=0)
    fits = fits / np.maximum(fits + fails, _SMALLEST_VARIANCE)
    share = of_misfit / (of_misfit + noise)  # of the way from the synthetic value to the answer
    centre = synthetic + share * (unbiased - synthetic)
    errors: FloatVector = fits * ((values - centre) ** 2 + share * noise) + (1 - fits) * noise
    return np.where(variances > 0, errors, 0.0)


class _Kind(NamedTuple):
    """The answers of one kind, each with noise.

    Let y be the unbiased answers, s their deviations, C the covariance of their noise, and m the
    synthetic values. The true values are normal with mean f m and independent deviations of
    variance t^2 m^2 + g^2 s^2, so that their best estimate is

        y - C (C + t^2 diag(m^2) + g^2 diag(s^2))^-1 (y - f m).

    The factor f, the relative deviation t and the noise multiple g are common to the kind. Each has
    nothing to correct (f = 1, t = 0, g = 0) with the prior probability 1 - c/sqrt(answers), where c
    is the prior doubt; otherwise each other value of its grid is equally likely. The estimates are
    averaged over the posterior of (t, f, g).

    Attributes:
        synthetic: m, shape (cuts,).
        unbiased: y, shape (cuts,).
        covariance: C, with a positive diagonal, shape (cuts, cuts).
        sets: see `shrunk_towards`.
        misfit: variances beside t^2 m^2 + g^2 s^2, which typical errors alone count.
    """

    synthetic: FloatVector
    unbiased: FloatVector
    covariance: FloatMatrix
    sets: SetsOfKind
    misfit: MisfitVariances

    def shrunk(self) -> tuple[FloatVector, FloatVector, float]:
        """Return the estimates, their typical squared errors, and the log likelihood.

        The code divides y, m and C by the deviations s. Then g^2 diag(s^2) is g^2 I, which changes
        all eigenvalues by g^2 and no eigenvector. So one eigendecomposition of C + t^2 diag(m^2)
        for each t serves all f and g. The *axes* are its eigenvectors.

        A few answers say little about f, t and g, so no estimate moves by more than .45 deviations
        times the number of answers.
        """
        count, scale = len(self.unbiased), np.sqrt(self.covariance.diagonal())
        y, m = self.unbiased / scale, self.synthetic / scale
        noise = self.covariance / np.outer(scale, scale)
        log_prior_t, log_prior_f, log_prior_g = (
            _log_prior(len(grid), count, self.sets)
            for grid in (_RELATIVE_DEVIATIONS, _FACTORS, _NOISE_MULTIPLES)
        )
        lowest_eigenvalue = float(scipy.linalg.eigvalsh(noise, subset_by_index=[0, 0])[0])
        least_variance = max(_SMALLEST_VARIANCE, -_EIGENVALUE_ERROR_RATIO * lowest_eigenvalue)
        log_posterior = np.empty((len(_RELATIVE_DEVIATIONS), len(_FACTORS), len(_NOISE_MULTIPLES)))
        solutions: list[_Solution] = []
        for t_index, t in enumerate(_RELATIVE_DEVIATIONS):
            eigenvalues, axes = scipy.linalg.eigh(noise + np.diag((t * m) ** 2))
            variances = np.maximum(eigenvalues, least_variance) + _NOISE_MULTIPLES[:, None] ** 2
            precisions = 1 / variances
            residuals = axes.T @ y - _FACTORS[:, None] * (axes.T @ m)
            # Log density of a normal law: -(sum of residual^2 / variance + sum of ln variance) / 2.
            log_density = -((residuals**2) @ precisions.T + np.log(variances).sum(axis=1)) / 2
            log_posterior[t_index] = log_density
            log_posterior[t_index] += log_prior_t[t_index] + log_prior_f[:, None] + log_prior_g
            solutions.append(_Solution(axes, residuals, precisions))
        log_likelihood = float(scipy.special.logsumexp(log_posterior))
        # Posterior mean of (C + t^2 diag(m^2) + g^2)^-1 (y - f m). For one t and g, and in the
        # axes, it is the precision (g, axis) times the posterior mean of the residual (f, axis).
        weighted_residuals = np.zeros(count)
        posterior = np.exp(log_posterior - log_likelihood)
        for posterior_of_f_g, (axes, residuals, precisions) in zip(
            posterior, solutions, strict=True
        ):
            mean_residuals = posterior_of_f_g.T @ residuals  # (g, axis), summed over f
            weighted_residuals += axes @ (mean_residuals * precisions).sum(axis=0)
        largest_move = _LARGEST_MOVE * count
        moves = np.clip(noise @ weighted_residuals, -largest_move, largest_move)
        sharpened = np.exp(_SHARPNESS * (log_posterior - log_posterior.max()))
        squares = self._squared_errors(noise, moves, sharpened / sharpened.sum(), solutions)
        return self.unbiased - scale * moves, scale**2 * squares, log_likelihood

    def _squared_errors(
        self,
        noise: FloatMatrix,
        moves: FloatVector,
        posterior: npt.NDArray[np.float64],
        solutions: "Sequence[_Solution]",
    ) -> FloatVector:
        """Return typical squared errors of the moved answers, in units of their noise.

        They are the sum of four parts:

        - the posterior variance of the truth for given t, f and g, C - C P C with the precision
          matrix P = (C + t^2 diag(m^2) + g^2)^-1, averaged over the posterior;
        - the posterior variance of the best estimate, which differs with t, f and g, and the
          squared difference of its mean from the one that was taken;
        - the misfit by chance. An estimate takes the part W = C P of it over from the synthetic
          values, so that a variance b^2 has the share diag(W diag(b^2) W');
        - the misfit by structure, likewise, as far as f = 1: another factor has corrected it. It
          cannot be more than these answers would have shown (`_MOST_UNSEEN`).

        Args:
            noise: C in units of the deviations, shape (cuts, cuts).
            moves: of the answers, in deviations.
            posterior: weights of (t, f, g), which add up to 1.
            solutions: of each t.
        """
        count, variances = len(moves), self.covariance.diagonal()
        inner, mean, mean_square = np.zeros(count), np.zeros(count), np.zeros(count)
        # W, and its part with f = 1, averaged over the posterior.
        correction, uncorrected = np.zeros_like(noise), np.zeros(count)
        for of_f_g, (axes, residuals, precisions) in zip(posterior, solutions, strict=True):
            spread_noise = noise @ axes  # C times each axis
            of_axes = of_f_g.sum(axis=0) @ precisions  # (axis,)
            inner += of_f_g.sum() * noise.diagonal() - spread_noise**2 @ of_axes
            correction += (spread_noise * of_axes) @ axes.T
            uncorrected += (spread_noise * (of_f_g[0] @ precisions) * axes).sum(axis=1)
            best = (residuals[:, None, :] * precisions).reshape(-1, count) @ spread_noise.T
            mean += of_f_g.reshape(-1) @ best
            mean_square += of_f_g.reshape(-1) @ best**2
        unseen = np.minimum(self.misfit.by_structure / variances, _MOST_UNSEEN / math.sqrt(count))
        errors: FloatVector = np.maximum(inner, 0) + np.maximum(mean_square - mean**2, 0)
        errors += (moves - mean) ** 2 + correction**2 @ (self.misfit.by_chance / variances)
        return errors + uncorrected**2 * unseen


class _Solution(NamedTuple):
    """The posterior of one relative deviation t, in the axes.

    Attributes:
        axes: as columns, shape (cuts, axes).
        residuals: y - f m, shape (factors, axes).
        precisions: shape (noise multiples, axes).
    """

    axes: FloatMatrix
    residuals: FloatMatrix
    precisions: FloatMatrix


def _log_prior(grid_size: int, answers: int, sets: SetsOfKind) -> FloatVector:
    """Return the log prior of the values of a grid, whose first value corrects nothing."""
    doubt = _PRIOR_DOUBTS[sets]
    chance_of_others = min(doubt / math.sqrt(answers), _LARGEST_PRIOR_DOUBT)
    log_prior = np.full(grid_size, math.log(chance_of_others / (grid_size - 1)))
    log_prior[0] = math.log1p(-chance_of_others)
    return log_prior
