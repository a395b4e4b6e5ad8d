"""Sums that a synthetic graph must have: degrees, and sums that noisy data show well.

The maximum-entropy fit (`maximum_entropy.py`) looks for a matrix x with given row and column sums
(the degrees) and a given small matrix Q^T x R of sums. `credible_sums` estimates both from the
noisy matrix Z, noisy degrees and sums between public groups. All of these are noisy already, so
this is post-processing and costs no privacy.

Terms of this file:

- The *structure* is a low-rank estimate F diag(sizes) G^T of what lies behind Z, along directions
  that stand out of the noise (`structure.py`). It comes with soft groups of vertices.
- The *residual* is Z less the graph that the degrees alone expect (`chung_lu.py`), and the *model*
  is the structure, plus that expected graph where the structure was found in the residual.
- A *frame* Q is a matrix of orthonormal columns, one row a vertex. Its columns span the vector of
  ones, the groups and the degrees. R is the frame of the columns of Z.
- To *rake* a matrix is to change it as little as possible so that it gets given row and column
  sums.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement, Degrees
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.block_model import best_structure
from graphcuts_dp.synth.empirical_bayes import (
    LaplaceObservations,
    grid_for,
    posterior_means,
    spike_and_slab,
)
from graphcuts_dp.synth.group_sums import PublicTargets, expected_view, public_targets
from graphcuts_dp.synth.structure import Structure, View

# How far sums of the synthetic graph may differ from the targets, per unit of log-odds that the fit
# moves to meet them. Measured by bench_fit_quality.py on ego-Facebook, 1500 vertices: with
# RIDGE = .003 and SLACK = .1 the worst cut was off by 28,800, with these values by 13,800.
RIDGE = 0.001  # of row and column sums: keeps log-odds finite where a noisy sum is out of reach
# Of Q^T x R. It is large because noise can make these sums negative. They then contradict the
# degrees, on which more cuts depend.
SLACK = 1.0
_PUBLIC_SLACK = 0.03  # of the sums between public groups, which were measured
_LEAST_RIDGE_SHARE = 0.1  # the ridge shrinks to this share of RIDGE if noisy degrees are precise

_LEAST_DEGREE = 0.01  # in mean degrees: no vertex is left without any weight
_LEAST_TOTAL = 0.3  # in caps (largest weights of a pair): the smallest total of all entries
# Standard deviation of an entry, in caps, up to which single entries tell edges by themselves.
_FINE_NOISE = 0.3
# Largest entry of Q^T A R that the model may lack, in mean degrees. A direction made of degrees
# shows the correlation of neighbours' degrees, which hardly passes .3 in real graphs.
_LARGEST_ERROR = 0.25
_SMALLEST_ERROR = 0.3  # smallest one that is considered beside 0, in deviations of the noise
_ERROR_SIZES = 60  # candidates between the smallest and the largest
_DEPENDENT = 1e-2  # singular value of unit columns below which they count as linearly dependent
_TINY_DEVIATION = 1e-12  # in place of a deviation of 0
_TINY = 1e-300  # in place of a square sum of 0, by which is divided


@final
@dataclass(frozen=True, eq=False)
class Targets:
    """Sums that the synthetic matrix x must have, and how closely.

    Attributes:
        rows: row sums, shape (n_left,), positive.
        columns: column sums, shape (n_right,); of a symmetric matrix the same object as `rows`.
        left_frame: Q, orthonormal columns, shape (n_left, k).
        right_frame: R, shape (n_right, l); of a symmetric matrix the same object as `left_frame`.
        frame_sums: the wanted Q^T x R, shape (k, l); symmetric if x is.
        slack: by how much each of these may be missed per unit of log-odds, shape (k, l); or one
            number for all.
        ridge: by how much row and column sums may be missed, per unit of log-odds and per vertex.
        near_noise: number of directions of Z that barely pass its noise, see `Structure.near`; 0
            where single entries tell edges by themselves.
        directions: number of directions of the structure. None if that number is not informative:
            single entries tell edges by themselves, there are no noisy degrees, or there are public
            groups.
    """

    rows: FloatVector
    columns: FloatVector
    left_frame: FloatMatrix
    right_frame: FloatMatrix
    frame_sums: FloatMatrix
    slack: FloatMatrix | float = SLACK
    ridge: float = RIDGE
    near_noise: int = 0
    directions: int | None = None


def credible_sums(
    problem: FitProblem, distribution: NoiseDistribution, deadline: Deadline = NEVER
) -> Targets:
    """Return degrees and sums for a synthetic graph, estimated from all noisy data.

    1. Find the degrees and the structure (`_structure_first` without noisy degrees,
       `_degrees_first` with them).
    2. Build the frames Q and R from the groups of the structure, the degrees and the public groups.
    3. Combine two estimates of Q^T A R (`combined_sums`): that of the model, which lacks all that
       lies between its directions, and that of Z, whose noise is known. Rake both to the degrees
       first.
    4. Replace the sums between public groups by those of `public_targets`.

    Args:
        problem: Z, with a finite cap; noisy degrees, a noisy total and sums between public groups
            if they were measured.
        distribution: of the noise of Z.
        deadline: when to stop sharpening the structure.
    """
    blocks, cap, noise = problem.blocks, problem.cap, distribution.standard_deviation
    symmetric = blocks.layout.symmetric
    n, m = blocks.shape
    noisy_view = View(blocks)
    sides = _sides(problem, noisy_view, noise)
    total = max(_total(sides[0], distribution, problem), _LEAST_TOTAL * cap)
    if problem.degrees is None:
        model = _structure_first(problem, distribution, sides, total, deadline)
    else:
        model = _degrees_first(problem, distribution, sides, total, deadline)
    structure, public = model.structure, model.public
    rows, columns = model.degrees[0], model.degrees[-1]

    has_noisy_degrees = problem.degrees is not None
    public_left, public_right = (None, None) if public is None else public.frames
    left = _frame(n, structure.left_groups, rows if has_noisy_degrees else None, public_left)
    right = left
    if not symmetric:
        right = _frame(
            m, structure.right_groups, columns if has_noisy_degrees else None, public_right
        )

    matrix_sums = _raked(
        left.T @ noisy_view.times(right),
        left,
        right,
        rows - sides[0].observed,
        columns - sides[-1].observed,
    )
    frame_sums = combined_sums(
        matrix_sums,
        _model_sums(left, right, model),
        left,
        right,
        noise,
        largest_error=_LARGEST_ERROR * total / math.sqrt(n * m),
        symmetric=symmetric,
    )
    slack = np.full(frame_sums.shape, SLACK)
    if public is not None:  # the frames begin with the public groups
        public_block = tuple(slice(0, count) for count in public.sums.shape)
        frame_sums[public_block] = public.sums
        slack[public_block] = _PUBLIC_SLACK

    coarse = noise > _FINE_NOISE * cap
    informative = coarse and has_noisy_degrees and public is None
    return Targets(
        rows=rows,
        columns=columns,
        left_frame=left,
        right_frame=right,
        frame_sums=frame_sums,
        slack=slack,
        ridge=RIDGE * _ridge_share(problem, sides),
        near_noise=structure.near if coarse else 0,
        directions=len(structure.sizes) if informative else None,
    )


def combined_sums(
    matrix_sums: FloatMatrix,
    model_sums: FloatMatrix,
    left: FloatMatrix,
    right: FloatMatrix,
    deviation: float,
    *,
    largest_error: float,
    symmetric: bool,
) -> FloatMatrix:
    """Combine two estimates of Q^T A R by their precisions.

    Both have the same row and column sums, so they differ only along directions that are orthogonal
    to the vector of ones. There every entry of `matrix_sums` has noise of variance s^2 (2 s^2 on
    the diagonal of a symmetric matrix, whose pairs count twice), and `model_sums` has errors of a
    common standard deviation b. b is 0 with prior probability 1/2, else anything up to
    `largest_error`, evenly in its logarithm. The result moves from `model_sums` towards
    `matrix_sums` by the posterior mean of b^2/(b^2 + variance). Where s is far above
    `largest_error`, that share is nearly 0 and the sums of the model stay.

    Args:
        matrix_sums: Q^T Z R, raked to the wanted row and column sums.
        model_sums: Q^T T R of the model's matrix T, raked likewise.
        left: Q, orthonormal columns that span the vector of ones, shape (n_left, k).
        right: R, orthonormal columns that span the vector of ones, shape (n_right, l).
        deviation: s, standard deviation of the noise of an entry of Z.
        largest_error: upper end of the prior of b.
        symmetric: whether Z is symmetric, and Q = R.

    Source: Mitchell, Beauchamp 1988 (spike and slab); James, Stein 1961 (shrinkage by one share for
    all entries, which this refines).
    """
    # Coordinates of all directions that are orthogonal to the vector of ones.
    rows, columns = _orthogonal_to_ones(left), _orthogonal_to_ones(right)
    difference = rows.T @ (matrix_sums - model_sums) @ columns
    independent = np.ones(difference.shape, dtype=np.bool_)
    deviation = max(deviation, _TINY_DEVIATION)
    variances = np.full(difference.shape, deviation**2)
    if symmetric:
        difference = (difference + difference.T) / 2
        np.fill_diagonal(variances, 2 * deviation**2)
        independent = np.triu(independent)
    shares = np.zeros(difference.shape)
    if difference.size:
        smallest = _SMALLEST_ERROR * math.sqrt(float(variances.min()))
        smallest = min(smallest, largest_error / 2)
        sizes = np.geomspace(smallest, largest_error, _ERROR_SIZES)
        squares = np.concatenate([[0.0], sizes**2])
        shares[independent] = spike_and_slab(
            squares[:, None], difference[independent], variances[independent]
        )
    if symmetric:
        shares = np.triu(shares) + np.triu(shares, 1).T
    combined: FloatMatrix = model_sums + rows @ (shares * difference) @ columns.T
    return (combined + combined.T) / 2 if symmetric else combined


def known_totals(
    degrees: CountMeasurement[Degrees] | None,
    groups: CountMeasurement[CellSums] | None,
    layout: Layout,
) -> list[tuple[float, float]]:
    """Return noisy sums of all entries of a matrix, each with the variance of its noise.

    Args:
        degrees: noisy degrees, or None.
        groups: noisy sums between groups, or None.
        layout: of the matrix.
    """
    totals = []
    if degrees is not None:
        # Of two sides the total is the mean of both totals: half of the sum of all n + m degrees.
        terms = layout.shape[0] if layout.symmetric else sum(layout.shape) / 4
        totals.append((degrees.total, terms * degrees.law.variance))
    if groups is not None:
        # A symmetric matrix has every pair twice.
        entries_per_pair = 2.0 if layout.symmetric else 1.0
        variance = len(groups.values[0]) * groups.law.variance
        totals.append((entries_per_pair * groups.total, entries_per_pair**2 * variance))
    return totals


def precision_weighted_mean(estimates: Sequence[tuple[float, float]]) -> float:
    """Return the mean of estimates (value, variance), weighted by inverse variances."""
    values, variances = zip(*estimates, strict=True)
    return float(np.average(values, weights=[1 / variance for variance in variances]))


@final
@dataclass(frozen=True, eq=False)
class _Model:
    """Degrees and structure, from which both estimates of Q^T A R are made.

    Attributes:
        degrees: final row sums and column sums; a list of one array for a symmetric matrix.
        structure: what was found in Z, or in `residual`.
        residual: Z less the graph that the degrees alone expect; None if the structure was looked
            for in Z itself.
        public: targets between public groups; None if there are none.
    """

    degrees: list[FloatVector]
    structure: Structure
    residual: View | None
    public: PublicTargets | None


def _structure_first(
    problem: FitProblem,
    distribution: NoiseDistribution,
    sides: Sequence["_Side"],
    total: float,
    deadline: Deadline,
) -> _Model:
    """Find the structure in Z, and then the degrees; for problems without noisy degrees.

    A degree is that of the structure, plus the posterior mean of what the row sum of Z shows beyond
    it.
    """
    view = View(problem.blocks)
    structure = best_structure(view, distribution.standard_deviation, deadline, cap=problem.cap)
    degrees = [
        _with_total(sums + side.posterior_remainder(sums), total)
        for side, sums in zip(sides, (structure.row_sums, structure.column_sums), strict=False)
    ]
    if problem.groups is None:
        return _Model(degrees, structure, None, None)
    public = public_targets(problem, problem.groups, degrees, distribution)
    return _Model(public.degrees, structure, None, public)


def _degrees_first(
    problem: FitProblem,
    distribution: NoiseDistribution,
    sides: Sequence["_Side"],
    total: float,
    deadline: Deadline,
) -> _Model:
    """Find the degrees, then the structure in Z less the graph that they expect.

    Without public groups, the groups that the structure shows correct the degrees. With public
    groups, `public_targets` does.
    """
    noise, cap = distribution.standard_deviation, problem.cap
    likely_degrees = [side.posterior_degrees() for side in sides]
    degrees = [_with_total(means, total) for means in likely_degrees]
    if problem.groups is not None:
        public = public_targets(problem, problem.groups, degrees, distribution)
        structure = best_structure(public.residual, noise, deadline, cap=cap)
        return _Model(public.degrees, structure, public.residual, public)
    residual = expected_view(problem.blocks, degrees, cap)
    structure = best_structure(residual, noise, deadline, cap=cap)
    side_groups = (structure.left_groups, structure.right_groups)
    corrected_degrees = [
        _with_total(side.corrected_by_groups(means, groups), total)
        for side, means, groups in zip(sides, likely_degrees, side_groups, strict=False)
    ]
    return _Model(corrected_degrees, structure, residual, None)


@final
@dataclass(frozen=True, eq=False)
class _Side:
    """Observations of all row sums, or of all column sums, of the true matrix.

    Attributes:
        observed: the sums of Z, shape (vertices,).
        deviation: standard deviation of their noise.
        noisy_degrees: the noisy degrees; none or one.
    """

    observed: FloatVector
    deviation: float
    noisy_degrees: list[LaplaceObservations]

    def posterior_remainder(self, structure_sums: FloatVector) -> FloatVector:
        """Return the posterior mean of what the sums have beyond those of a structure."""
        remainder = self.observed - structure_sums
        return posterior_means(remainder, self.deviation, grid_for(remainder))

    def posterior_degrees(self) -> FloatVector:
        """Return the posterior means of the degrees, given the sums of Z and noisy degrees."""
        estimates, _ = self._unbiased_degrees()
        grid = np.unique(np.maximum(grid_for(estimates), 0.0))
        return posterior_means(self.observed, self.deviation, grid, self.noisy_degrees)

    def corrected_by_groups(self, means: FloatVector, groups: FloatMatrix) -> FloatVector:
        """Return posterior means of degrees, corrected for soft groups of vertices.

        The posterior means were drawn towards one prior for all vertices. So the degrees in a group
        that is denser than others come out too small. The correction is the projection of
        (unbiased degrees - posterior means) on the space of the groups, times a share. The squared
        length of the projection is compared with what k independent noises of variance v give:
        k v on average, with a standard error of sqrt(2 k) v. The share is
        max(0, 1 - (k v + 2 sqrt(2 k) v) / squared length), as of James and Stein.

        Args:
            means: posterior means, shape (vertices,).
            groups: columns that tell groups apart, shape (vertices, groups).
        """
        if groups.shape[1] < 2:
            return means
        unbiased, variance = self._unbiased_degrees()
        frame, sizes, _ = np.linalg.svd(groups - groups.mean(axis=0), full_matrices=False)
        frame = frame[:, sizes > _DEPENDENT * max(sizes.max(), 1.0)]
        projection = frame.T @ (unbiased - means)
        k = len(projection)
        noise = variance * (k + 2 * math.sqrt(2 * k))
        share = max(0.0, 1 - noise / max(float(projection @ projection), _TINY))
        return np.maximum(means + share * (frame @ projection), 0.0)

    def _unbiased_degrees(self) -> tuple[FloatVector, float]:
        """Return the best linear combination of sums of Z and noisy degrees, and its variance."""
        estimates = [(self.observed, self.deviation**-2.0)]  # values, and 1/variance
        for values, rate in self.noisy_degrees:
            estimates.append((values, rate**2 / 2))
        all_values, precisions = zip(*estimates, strict=True)
        return np.average(all_values, axis=0, weights=precisions), 1 / sum(precisions)


def _sides(problem: FitProblem, view: View, deviation: float) -> list[_Side]:
    """Return the observations of the rows and, unless Z is symmetric, of the columns.

    `view` is Z, and `deviation` the standard deviation of the noise of its entries.
    """
    n, m = view.shape
    noisy = problem.degrees

    def side(observed: FloatVector, entries: int, index: int) -> _Side:
        noisy_degrees = []
        if noisy is not None:
            # The rate is that of the noise in grid units; a degree is a number of units times unit.
            rate = float(noisy.rate) / noisy.unit
            noisy_degrees.append(LaplaceObservations(noisy.values[index], rate))
        return _Side(observed, deviation * math.sqrt(entries), noisy_degrees)

    rows = side(view.times(np.ones((m, 1)))[:, 0], m, 0)
    if view.symmetric:
        return [rows]
    columns = view.transposed_times(np.ones((n, 1)))[:, 0]
    return [rows, side(columns, n, -1)]


def _total(rows: _Side, distribution: NoiseDistribution, problem: FitProblem) -> float:
    """Return the sum of all entries, from all noisy sums weighted by inverse variances."""
    # In a symmetric matrix of n m entries, n m / 2 independent noises count twice, each with four
    # times its variance.
    doubled = 2.0 if problem.symmetric else 1.0
    variance = doubled * math.prod(problem.shape) * distribution.standard_deviation**2
    estimates = [(float(rows.observed.sum()), variance)]
    if problem.total is not None:
        estimates.append((problem.total.total, problem.total.law.variance))
    estimates += known_totals(problem.degrees, problem.groups, problem.blocks.layout)
    return precision_weighted_mean(estimates)


def _with_total(degrees: FloatVector, total: float) -> FloatVector:
    """Return degrees scaled to a total, after raising small ones to a least degree."""
    positive = np.maximum(degrees, _LEAST_DEGREE * total / len(degrees))
    return np.asarray(positive * (total / positive.sum()))


def _ridge_share(problem: FitProblem, sides: Sequence[_Side]) -> float:
    """Return the variance of degrees with noisy degrees, over that without; at least the least."""
    if problem.degrees is None:
        return 1.0
    degree_precision = 1 / problem.degrees.law.variance
    matrix_precisions = [1 / side.deviation**2 for side in sides]
    shares = [precision / (precision + degree_precision) for precision in matrix_precisions]
    return min(1.0, max(_LEAST_RIDGE_SHARE, *shares))


def _frame(
    count: int,
    groups: FloatMatrix,
    degrees: FloatVector | None,
    public_frame: FloatMatrix | None,
) -> FloatMatrix:
    """Return orthonormal columns that span the vector of ones, the groups and the degrees.

    Args:
        count: number of vertices.
        groups: shape (count, groups).
        degrees: shape (count,); None to leave them out.
        public_frame: orthonormal columns with which the frame begins, whose span holds the vector
            of ones; None if there are none.
    """
    ones = [] if public_frame is not None else [np.ones(count)]
    extra = [] if degrees is None else [degrees]
    columns = np.column_stack([*ones, groups, *extra, np.zeros((count, 0))])
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    if public_frame is not None:
        columns = columns - public_frame @ (public_frame.T @ columns)
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    independent: FloatMatrix = basis[:, sizes > _DEPENDENT]
    return independent if public_frame is None else np.hstack([public_frame, independent])


def _model_sums(left: FloatMatrix, right: FloatMatrix, model: _Model) -> FloatMatrix:
    """Return Q^T T R of the matrix T of a model, raked to the model's degrees.

    T is the structure, plus the expected graph if the structure was found in the residual.
    """
    structure, residual = model.structure, model.residual
    sums = (left.T @ structure.left * structure.sizes) @ (structure.right.T @ right)
    missing_rows = model.degrees[0] - structure.row_sums
    missing_columns = model.degrees[-1] - structure.column_sums
    if residual is not None:
        # One pass over the expected graph gives its product with R and its row sums.
        products = residual.expected_times(np.column_stack([right, np.ones(len(right))]))
        sums = sums + left.T @ products[:, :-1]
        missing_rows = missing_rows - products[:, -1]
        if residual.symmetric:
            missing_columns = missing_rows
        else:
            missing_columns = missing_columns - residual.expected_column_sums()
    return _raked(sums, left, right, missing_rows, missing_columns)


def _raked(
    sums: FloatMatrix, left: FloatMatrix, right: FloatMatrix, u: FloatVector, v: FloatVector
) -> FloatMatrix:
    """Return Q^T T' R, where T' is T changed as little as possible to gain row and column sums.

    T' = T + u 1^T/m + 1 v^T/n - (sum u) 1 1^T/(n m). Its row sums are those of T plus u, its column
    sums those of T plus v.

    Args:
        sums: Q^T T R, shape (k, l).
        left: Q, shape (n, k).
        right: R, shape (m, l).
        u: what the row sums gain, shape (n,).
        v: what the column sums gain, shape (m,); its total is that of u.
    """
    n, m = len(left), len(right)
    ones_left, ones_right = left.sum(axis=0), right.sum(axis=0)  # Q^T 1 and R^T 1
    raked: FloatMatrix = sums + np.outer(left.T @ u, ones_right) / m
    raked += np.outer(ones_left, right.T @ v) / n
    raked -= u.sum() / (n * m) * np.outer(ones_left, ones_right)
    return raked


def _orthogonal_to_ones(frame: FloatMatrix) -> FloatMatrix:
    """Return orthonormal columns C such that frame C is orthogonal to the vector of ones.

    The first column of the QR decomposition is the vector of ones in the frame's coordinates; C is
    all others.
    """
    ones = frame.sum(axis=0)
    basis = np.linalg.qr(np.column_stack([ones, np.eye(len(ones))]))[0]
    return np.asarray(basis[:, 1:])
