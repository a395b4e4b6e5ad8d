"""Sums that a synthetic graph must have: degrees, and sums that noisy data show well.

The maximum-entropy fit (`maximum_entropy.py`) looks for a matrix x with given row and column sums
(the degrees) and a given small matrix Q^T x R of sums. `credible_sums` estimates both from the
noisy matrix Z, noisy degrees and sums between public groups. All of these are noisy already, so
this is post-processing and costs no privacy.

Terms of this file:

- A is the true matrix, Z = A + noise. A *side* is the rows or the columns; a symmetric matrix has
  one. Lists by side have one or two entries, so `[0]` is the rows and `[-1]` the columns.
- The *cap* is the public largest weight of a pair. Constants "in caps" are multiples of it.
- The *structure* (`structure.py`) is a low-rank estimate F diag(sizes) G^T of A, along directions
  that stand out of the noise. `left_groups` and `right_groups` are columns of numbers by which soft
  groups of its vertices differ.
- The *expected graph* is what the degrees alone lead to expect (`chung_lu.py`). The *residual* is Z
  less the expected graph. A `View` is Z or the residual; it multiplies itself (`times`) or the
  expected graph (`expected_times`) with a few vectors and holds no dense matrix.
- The *model* T is the structure, plus the expected graph if the structure was looked for in the
  residual.
- A *frame* Q is a matrix of orthonormal columns, one row a vertex, that spans the vector of ones,
  the groups, the degrees if noisy ones were measured, and public groups. R is the frame of the
  columns of Z.
- To *rake* a matrix is to change it as little as possible so that it gets given row and column
  sums.
- The *law* of a measurement of counts is that of the noise of each number, in units of `values`.
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

# The fit meets a target by a multiplier, which is added to log-odds (see `maximum_entropy.py`).
# RIDGE and SLACK are penalties on these multipliers: a sum whose multiplier is m misses its target
# by an amount proportional to RIDGE m, or SLACK m. Measured by bench_fit_quality.py on
# ego-Facebook, 1500 vertices: the error of the worst cut was 28,800 with RIDGE = .003 and
# SLACK = .1, and 13,800 with these values.
RIDGE = 0.001  # of row and column sums: keeps log-odds finite where a noisy sum is out of reach
# Of the sums Q^T x R. Noise can make some of them negative, which no graph with these degrees has.
# SLACK is large, so that the degrees win then: more cuts depend on them.
SLACK = 1.0
_PUBLIC_SLACK = 0.03  # in place of SLACK for the sums between public groups, which were measured
_LEAST_RIDGE_SHARE = 0.1  # the ridge shrinks to this share of RIDGE if noisy degrees are precise

_LEAST_DEGREE = 0.01  # in mean degrees: no vertex is left without any weight
_LEAST_TOTAL = 0.3  # in caps (largest weights of a pair): the smallest total of all entries
# Up to this standard deviation of the noise of an entry, in caps, a single entry shows whether a
# pair is an edge.
_FINE_NOISE = 0.3
# Candidates for the typical error of an entry of Q^T T R, the sums of the model: 0, and so many
# sizes from the smallest (in standard deviations of the noise) to the largest (in mean degrees).
# The largest is what a model may lack that detects nothing: an entry of Q^T A R for a column of
# degrees shows the correlation of neighbours' degrees, which hardly passes .3 in real graphs.
_ERROR_SIZES = 60
_SMALLEST_ERROR = 0.3
_LARGEST_ERROR = 0.25
# Columns of length 1 whose matrix has a singular value below this count as linearly dependent.
_DEPENDENT = 1e-2
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
        slack: penalty for the multiplier of each of these sums, see `SLACK`: 0 demands the sum
            exactly. Shape (k, l), or one number for all.
        ridge: the same for row and column sums, see `RIDGE`.
        near_noise: number of directions of Z that barely pass its noise, see `Structure.near`; 0
            if single entries show the edges.
        directions: number of directions of the structure. None if that number is not informative:
            if single entries show the edges, if there are no noisy degrees, or if there are public
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
    3. Combine two estimates of Q^T A R (`combined_sums`): Q^T T R of the model, which lacks all
       structure that was not detected, and Q^T Z R, whose noise is known. Rake both to the degrees
       first.
    4. Replace the sums between public groups by those of `public_targets`.

    Args:
        problem: Z, with a finite cap; noisy degrees, a noisy total and sums between public groups
            if they were measured.
        distribution: of the noise of Z.
        deadline: when to stop sharpening the structure.
    """
    blocks, cap, deviation = problem.blocks, problem.cap, distribution.standard_deviation
    symmetric = blocks.layout.symmetric
    n, m = blocks.shape
    noisy_view = View(blocks)  # Z itself: no expected graph is subtracted
    sides = _sides(problem, noisy_view, deviation)
    total = max(_total(sides[0], distribution, problem), _LEAST_TOTAL * cap)
    if problem.degrees is None:
        model = _structure_first(problem, distribution, sides, total, deadline)
    else:
        model = _degrees_first(problem, distribution, sides, total, deadline)
    structure, public = model.structure, model.public
    rows, columns = model.degrees[0], model.degrees[-1]

    # Degrees that were estimated without noisy degrees are no columns of the frames.
    row_degrees, column_degrees = (None, None) if problem.degrees is None else (rows, columns)
    public_left, public_right = (None, None) if public is None else public.frames
    left = right = _frame(n, structure.left_groups, row_degrees, public_left)
    if not symmetric:
        right = _frame(m, structure.right_groups, column_degrees, public_right)

    # Z has the row sums `observed`; raked, it has the row sums `rows`.
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
        deviation,
        largest_error=_LARGEST_ERROR * total / math.sqrt(n * m),
        symmetric=symmetric,
    )
    slack = np.full(frame_sums.shape, SLACK)
    if public is not None:  # the frames begin with the public groups
        public_block = tuple(slice(0, count) for count in public.sums.shape)
        frame_sums[public_block] = public.sums
        slack[public_block] = _PUBLIC_SLACK

    coarse = deviation > _FINE_NOISE * cap  # single entries do not show the edges
    informative = coarse and problem.degrees is not None and public is None
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

    The matrices behind both estimates have the same row and column sums, so their difference gives
    0 on the vector of ones, from either side. Therefore `matrix_sums` - `model_sums` is written in
    coordinates of the directions that are orthogonal to the vector of ones. In these coordinates it
    is a matrix D, each entry of which is an error of the model plus noise of Z:

    - the noise has variance s^2, or 2 s^2 on the diagonal of a symmetric matrix, whose pairs count
      twice;
    - the error has a standard deviation b that is common to all entries. b is 0 with prior
      probability 1/2, else one of many sizes up to `largest_error`, evenly in its logarithm.

    Each entry of D is multiplied by the posterior mean of b^2/(b^2 + variance), and the result,
    back in the coordinates of Q and R, is added to `model_sums`. If s is far above `largest_error`,
    hardly anything is added.

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
    # Bases of the directions orthogonal to the vector of ones, shapes (k, k - 1), (l, l - 1).
    rows, columns = _orthogonal_to_ones(left), _orthogonal_to_ones(right)
    difference = rows.T @ (matrix_sums - model_sums) @ columns  # D
    independent = np.ones(difference.shape, dtype=np.bool_)  # each pair of equal entries once
    deviation = max(deviation, _TINY_DEVIATION)
    variances = np.full(difference.shape, deviation**2)
    if symmetric:
        difference = (difference + difference.T) / 2
        np.fill_diagonal(variances, 2 * deviation**2)
        independent = np.triu(independent)
    shares = np.zeros(difference.shape)
    if difference.size:  # frames of more than the vector of ones
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
    """Return noisy sums of all entries of a matrix, as (sum, variance of its noise).

    Args:
        degrees: noisy degrees, or None.
        groups: noisy sums between groups, or None.
        layout: of the matrix.
    """
    totals = []
    if degrees is not None:
        # `degrees.total` is the sum of the n degrees of a symmetric matrix. Else it is half of the
        # sum of the n + m degrees of both sides, and so has a quarter of that sum's variance.
        variances_added = layout.shape[0] if layout.symmetric else sum(layout.shape) / 4
        totals.append((degrees.total, variances_added * degrees.law.variance))
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
        structure: what was detected in Z, or in `residual`.
        residual: Z less the expected graph; None if the structure was looked for in Z itself.
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

    `sides` are the observed sums of rows and columns, `total` the wanted sum of all degrees.
    A degree is the row sum of the structure, plus an estimate of the remainder: the posterior mean
    of true row sum less row sum of the structure.
    """
    view = View(problem.blocks)
    structure = best_structure(view, distribution.standard_deviation, deadline, cap=problem.cap)
    structure_sums = (structure.row_sums, structure.column_sums)
    degrees = [  # of one or two sides: a symmetric matrix takes the row sums alone
        _with_total(sums + side.posterior_remainder(sums), total)
        for side, sums in zip(sides, structure_sums, strict=False)
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
    """Find the degrees, then the structure in the residual; for problems with noisy degrees.

    `sides` are the observed sums of rows and columns, `total` the wanted sum of all degrees.
    Without public groups, the groups that the structure shows correct the degrees. With public
    groups, `public_targets` does.
    """
    deviation, cap = distribution.standard_deviation, problem.cap
    likely_degrees = [side.posterior_degrees() for side in sides]
    degrees = [_with_total(means, total) for means in likely_degrees]
    if problem.groups is not None:
        public = public_targets(problem, problem.groups, degrees, distribution)
        structure = best_structure(public.residual, deviation, deadline, cap=cap)
        return _Model(public.degrees, structure, public.residual, public)
    residual = expected_view(problem.blocks, degrees, cap)
    structure = best_structure(residual, deviation, deadline, cap=cap)
    side_groups = (structure.left_groups, structure.right_groups)
    corrected_degrees = [  # of one or two sides
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
        noisy_degrees: the noisy degrees, in a list of one; an empty list without them.
    """

    observed: FloatVector
    deviation: float
    noisy_degrees: list[LaplaceObservations]

    def posterior_remainder(self, structure_sums: FloatVector) -> FloatVector:
        """Return the posterior means of true sums less the sums of a structure."""
        remainder = self.observed - structure_sums
        return posterior_means(remainder, self.deviation, grid_for(remainder))

    def posterior_degrees(self) -> FloatVector:
        """Return the posterior means of the degrees, given the sums of Z and noisy degrees."""
        unbiased, _ = self._unbiased_degrees()
        grid = np.unique(np.maximum(grid_for(unbiased), 0.0))  # degrees are not negative
        return posterior_means(self.observed, self.deviation, grid, self.noisy_degrees)

    def corrected_by_groups(self, means: FloatVector, groups: FloatMatrix) -> FloatVector:
        """Return posterior means of degrees, corrected for soft groups of vertices.

        The posterior means were drawn towards one prior for all vertices. So the degrees in a group
        that is denser than others come out too small. The correction takes the differences between
        unbiased degrees and posterior means, projects them on the k-dimensional space of the
        groups, and multiplies the projection by a share.

        If the differences were noise of variance v alone, the squared length of the projection
        would be k v on average, with a standard deviation of sqrt(2 k) v. So with two such
        deviations as a margin the share is max(0, 1 - (k v + 2 sqrt(2 k) v) / squared length): the
        shrinkage of James and Stein.

        Args:
            means: posterior means, shape (vertices,).
            groups: columns that tell groups apart, shape (vertices, groups).
        """
        if groups.shape[1] < 2:
            return means
        unbiased, variance = self._unbiased_degrees()
        # An orthonormal basis of the space of the groups, without the vector of ones.
        basis, sizes, _ = np.linalg.svd(groups - groups.mean(axis=0), full_matrices=False)
        basis = basis[:, sizes > _DEPENDENT * max(sizes.max(), 1.0)]
        projection = basis.T @ (unbiased - means)  # coordinates in this basis, shape (k,)
        k = len(projection)
        largest_noise = variance * (k + 2 * math.sqrt(2 * k))
        share = max(0.0, 1 - largest_noise / max(float(projection @ projection), _TINY))
        return np.maximum(means + share * (basis @ projection), 0.0)

    def _unbiased_degrees(self) -> tuple[FloatVector, float]:
        """Return the mean of sums of Z and noisy degrees by precision, and its variance."""
        estimates = [(self.observed, self.deviation**-2.0)]  # values, and 1/variance
        for values, rate in self.noisy_degrees:
            estimates.append((values, rate**2 / 2))  # Laplace noise has the variance 2/rate^2
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
            # `noisy.rate` is per grid unit, and `values` are integers of grid units times `unit`.
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
    # A symmetric matrix has n m / 2 independent noises. Each stands twice in the sum, so it adds
    # four times its variance: 2 n m variances in all.
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
    """Return by how much noisy degrees let the ridge shrink.

    It is (variance of a degree from Z and noisy degrees) / (variance from Z alone), and at least
    `_LEAST_RIDGE_SHARE`; of two sides the larger one.
    """
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
    """Return orthonormal columns that span the vector of ones and all arguments.

    Args:
        count: number of vertices.
        groups: shape (count, groups).
        degrees: shape (count,); None to leave them out.
        public_frame: orthonormal columns with which the frame begins, whose span holds the vector
            of ones; None if there are none.
    """
    columns = groups
    if public_frame is None:
        columns = np.column_stack([np.ones(count), columns])
    if degrees is not None:
        columns = np.column_stack([columns, degrees])
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    if public_frame is not None:  # take out what the public frame spans
        columns = columns - public_frame @ (public_frame.T @ columns)
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    independent: FloatMatrix = basis[:, sizes > _DEPENDENT]
    return independent if public_frame is None else np.hstack([public_frame, independent])


def _model_sums(left: FloatMatrix, right: FloatMatrix, model: _Model) -> FloatMatrix:
    """Return Q^T T R of the matrix T of a model, raked to the model's degrees.

    T is the structure, plus the expected graph if there is a residual.
    """
    structure, residual = model.structure, model.residual
    # Q^T F diag(sizes) G^T R.
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

    T' = T + u 1^T/m + 1 v^T/n - (sum u) 1 1^T/(n m) is the change of least square sum. Since
    sum u = sum v, row i of T' has the sum of row i of T, plus u_i, plus (sum v - sum u)/n = 0; the
    columns alike.

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
    """Return a basis C, shape (k, k - 1), such that frame C is orthogonal to the vector of ones.

    The vector of ones is frame @ c with c = frame^T 1, since the frame spans it. So C has to be an
    orthonormal basis of all vectors orthogonal to c. The QR decomposition of (c, identity) begins
    with c scaled to length 1; C is its other columns.
    """
    ones = frame.sum(axis=0)  # c
    basis = np.linalg.qr(np.column_stack([ones, np.eye(len(ones))]))[0]
    return np.asarray(basis[:, 1:])
