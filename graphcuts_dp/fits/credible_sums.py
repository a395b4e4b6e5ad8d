"""Which sums of the private graph its noisy data show well: degrees, and sums between blocks."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.deadline import NEVER, Deadline
from graphcuts_dp.fits.base import FitProblem
from graphcuts_dp.fits.contenders import best_structure
from graphcuts_dp.fits.degrees import (
    gaussian_log_likelihood,
    grid_for,
    laplace_log_likelihood,
    posterior_means,
)
from graphcuts_dp.fits.group_targets import (
    PUBLIC_SLACK,
    PublicTargets,
    expected_view,
    public_targets,
)
from graphcuts_dp.fits.log_odds import RIDGE, SLACK, GroupSums
from graphcuts_dp.fits.structure import FEWEST, Structure
from graphcuts_dp.fits.view import View
from graphcuts_dp.fits.weighed_sums import weighed_sums
from graphcuts_dp.measurements.noisy_sums import NoisyDegrees
from graphcuts_dp.privacy.distributions import NoiseDistribution

# Tuned with bench_fit_quality.py: over the twelve graphs of docs/releases.md the median worst cut
# is 0.39 of the raw matrix's, the largest 0.56.
_LEAST_RIDGE = 0.1  # of the ridge: sums that noisy degrees tell well are kept the more closely
_LEAST_DEGREE = 0.01  # of the mean: no vertex is left without any weight
_LEAST_TOTAL = 0.3  # in units of the cap
_FINE = 0.3  # deviation of an entry, in units of the cap, below which entries tell edges
# Of the mean degree, what the structure may lack along a direction: the correlation of neighbours'
# degrees, which is what a direction made of degrees shows, hardly passes .3 in real graphs.
_BESIDE = 0.25
_Counts = list[tuple[FloatVector, float]]
_DEPENDENT = 1e-2  # singular value of unit columns below which they count as dependent


def credible_sums(
    problem: FitProblem, distribution: NoiseDistribution, deadline: Deadline = NEVER
) -> GroupSums:
    """Degrees and block sums for a synthetic graph.

    Without noisy degrees, structure is looked for in Z; degrees are those of the structure plus the
    posterior mean of what Z's row sums show besides. With noisy degrees, these (and Z's row sums)
    give posterior means of the degrees, and structure is looked for in Z less the graph that such
    degrees alone expect (Chung, Lu). The groups that it shows then correct the degrees.

    Sums between groups are weighed from two estimates (`weighed_sums`): what the structure says,
    which lacks all that lies between its directions, and Z's own, whose noise is known.

    Both are corrected to have the degrees as their sums (`_raked`).

    Args:
        problem: Z, noisy degrees and a noisy total if there are any, and a finite cap.
        distribution: of the noise of Z.
        deadline: when to stop sharpening the structure.
    """
    blocks, cap, noisy = problem.blocks, problem.cap, problem.degrees
    plain = View(blocks)
    n, m = blocks.shape
    observed_rows = plain.times(np.ones((m, 1)))[:, 0]
    observed_columns = (
        observed_rows if blocks.symmetric else plain.transposed_times(np.ones((n, 1)))[:, 0]
    )
    sides = [
        _Side(observed_rows, distribution.standard_deviation * math.sqrt(m)),
        _Side(observed_columns, distribution.standard_deviation * math.sqrt(n)),
    ][: 1 if blocks.symmetric else 2]
    total = max(_total(float(observed_rows.sum()), distribution, problem), _LEAST_TOTAL * cap)

    if not noisy:
        structure = best_structure(plain, distribution.standard_deviation, deadline, cap=cap)
        sums = (structure.row_sums, structure.column_sums)
        degrees = [_rescaled(s + side.rest(s), total) for side, s in zip(sides, sums, strict=False)]
        public = _public(problem, degrees, distribution)
        expected, extra = None, []
    else:
        of_rows, of_columns = (
            [(steps * np.float64(d.unit), float(d.rate) / d.unit) for d, steps in bought]
            for bought in ([(d, d.rows) for d in noisy], [(d, d.columns) for d in noisy])
        )
        told = list(zip(sides, (of_rows, of_columns), strict=False))
        likely = [side.with_counts(counts) for side, counts in told]
        degrees = [_rescaled(means, total) for means in likely]
        public = _public(problem, degrees, distribution)
        expected = public.expected if public is not None else expected_view(blocks, degrees, cap)
        structure = best_structure(expected, distribution.standard_deviation, deadline, cap=cap)
        if public is None:
            groups_of = (structure.left_groups, structure.right_groups)
            degrees = [
                _rescaled(_of_groups(means, *side.unbiased(counts), groups), total)
                for means, (side, counts), groups in zip(likely, told, groups_of, strict=False)
            ]
        extra = degrees
    if public is not None:
        degrees = public.degrees
        extra = degrees if extra else []
    rows, columns = degrees[0], degrees[-1]
    first = (None, None) if public is None else public.frames
    left = _frame(n, structure.left_groups, extra[:1], first[0])
    right = left if blocks.symmetric else _frame(m, structure.right_groups, extra[1:], first[1])
    seen = _raked(
        left.T @ plain.times(right),
        left,
        right,
        rows - observed_rows,
        columns - observed_columns,
    )
    said = _said(left, right, structure, expected, rows, columns)
    groups = weighed_sums(
        seen,
        said,
        left,
        right,
        distribution.standard_deviation,
        largest=_BESIDE * total / math.sqrt(n * m),
        symmetric=blocks.symmetric,
    )
    share = min(1.0, max(_LEAST_RIDGE, *(side.share_of_noise(noisy) for side in sides)))
    ridge = RIDGE * share
    # Where entries tell edges by themselves, the graph keeps what is hidden in their noise, too.
    coarse = distribution.standard_deviation > _FINE * cap
    near = structure.near if coarse else 0
    telling = coarse and bool(noisy) and public is None and min(n, m) >= FEWEST
    shown = len(structure.sizes) if telling else None
    if public is None:
        return GroupSums(
            rows, columns, left, right, groups, ridge=ridge, near_noise=near, directions=shown
        )
    where = tuple(slice(0, count) for count in public.sums.shape)
    groups[where] = public.sums
    slack = np.full(groups.shape, SLACK)
    slack[where] = PUBLIC_SLACK
    return GroupSums(rows, columns, left, right, groups, slack, ridge, near)


@final
@dataclass(frozen=True, eq=False)
class _Side:
    """Row or column sums of Z, and the standard deviation of their noise."""

    observed: FloatVector
    deviation: float

    def rest(self, structure: FloatVector) -> FloatVector:
        """Posterior mean of what a structure leaves open."""
        left_open = self.observed - structure
        grid = grid_for(left_open)
        return posterior_means(gaussian_log_likelihood(left_open, grid, self.deviation), grid)

    def share_of_noise(self, noisy: tuple[NoisyDegrees, ...]) -> float:
        """Variance of the degrees with noisy ones, over that without."""
        precision = 1 / self.deviation**2
        return precision / (precision + sum(1 / degrees.variance for degrees in noisy))

    def with_counts(self, counts: _Counts) -> FloatVector:
        """Posterior mean given noisy degrees, too.

        Args:
            counts: noisy degrees and the rate of their two-sided geometric noise, once or twice.
        """
        grid = np.unique(np.maximum(grid_for(self.unbiased(counts)[0]), 0.0))
        likelihood = gaussian_log_likelihood(self.observed, grid, self.deviation)
        for noisy, rate in counts:
            likelihood += laplace_log_likelihood(noisy, grid, rate)
        return posterior_means(likelihood, grid)

    def unbiased(self, counts: _Counts) -> tuple[FloatVector, float]:
        """The best linear combination of row sums and noisy degrees, and its variance."""
        known = [(self.observed, self.deviation**-2.0), *((x, rate**2 / 2) for x, rate in counts)]
        values, weights = zip(*known, strict=True)
        return np.average(values, axis=0, weights=weights), 1 / sum(weights)


def _of_groups(
    means: FloatVector, values: FloatVector, variance: float, groups: FloatMatrix
) -> FloatVector:
    """Posterior means of degrees with what they lack of the sums over soft groups of vertices.

    They were drawn towards one law for all vertices, so that those of a group that is denser than
    others are wrong on one side. What the group of a vertex adds is found by least squares, less
    the share of it that noise alone has, and two standard errors of that.

    Args:
        means: posterior means.
        values: unbiased degrees.
        variance: of these.
        groups: memberships, shape (n, k).
    """
    if groups.shape[1] < 2:
        return means
    frame, sizes, _ = np.linalg.svd(groups - groups.mean(axis=0), full_matrices=False)
    frame = frame[:, sizes > _DEPENDENT * max(sizes.max(), 1.0)]
    along = frame.T @ (values - means)
    noise = variance * (len(along) + 2 * math.sqrt(2 * len(along)))
    kept = max(0.0, 1 - noise / max(float(along @ along), 1e-300))
    return np.maximum(means + kept * (frame @ along), 0.0)


def _total(seen: float, distribution: NoiseDistribution, problem: FitProblem) -> float:
    """Sum of all entries: all that is known of it, weighed by the inverse variances."""
    n, m = problem.shape
    doubled = 2.0 if problem.symmetric else 1.0  # every entry above the diagonal counts twice
    known = [(seen, doubled * n * m * distribution.standard_deviation**2)]
    if problem.total is not None:
        known.append((problem.total.value, problem.total.deviation**2))
    vertices = n if problem.symmetric else (n + m) / 4
    known += [(noisy.total, vertices * noisy.variance) for noisy in problem.degrees]
    for each in problem.groups:
        variance = len(each.values) * each.law.variance
        known.append((doubled * each.total, doubled**2 * variance))
    weights = [1 / variance for _, variance in known]
    values = [value for value, _ in known]
    return float(np.average(values, weights=weights))


def _rescaled(degrees: FloatVector, total: float) -> FloatVector:
    positive = np.maximum(degrees, _LEAST_DEGREE * total / len(degrees))
    scaled: FloatVector = positive * (total / positive.sum())
    return scaled


def _public(
    problem: FitProblem, degrees: list[FloatVector], distribution: NoiseDistribution
) -> PublicTargets | None:
    return public_targets(problem, degrees, distribution) if problem.groups else None


def _frame(
    count: int, groups: FloatMatrix, extra: list[FloatVector], first: FloatMatrix | None = None
) -> FloatMatrix:
    """Orthonormal columns that span the vector of ones, the groups and the degrees.

    Args:
        count: of vertices.
        groups: columns that tell groups apart.
        extra: the degrees, or nothing.
        first: orthonormal columns that the frame begins with, whose span holds the vector of ones.
    """
    ones = [] if first is not None else [np.ones(count)]
    columns = np.column_stack([*ones, groups, *extra, np.zeros((count, 0))])
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    if first is not None:
        columns = columns - first @ (first.T @ columns)
    frame, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    independent: FloatMatrix = frame[:, sizes > _DEPENDENT]
    return independent if first is None else np.hstack([first, independent])


def _said(
    left: FloatMatrix,
    right: FloatMatrix,
    structure: Structure,
    expected: View | None,
    rows: FloatVector,
    columns: FloatVector,
) -> FloatMatrix:
    """Q^T T R of the estimate T that the structure (and what degrees expect) makes, raked."""
    said = (left.T @ structure.left * structure.sizes) @ (structure.right.T @ right)
    u, v = rows - structure.row_sums, columns - structure.column_sums
    if expected is not None:
        known = expected.expected_times(np.column_stack([right, np.ones(len(right))]))
        said = said + left.T @ known[:, :-1]
        u = u - known[:, -1]
        v = u if expected.symmetric else v - expected.expected_column_sums()
    return _raked(said, left, right, u, v)


def _raked(
    groups: FloatMatrix, left: FloatMatrix, right: FloatMatrix, u: FloatVector, v: FloatVector
) -> FloatMatrix:
    """Q^T (T + u 1^T/m + 1 v^T/n - (sum u) 1 1^T/(n m)) R, of the smallest change that adds
    u to the row sums of T and v to its column sums.

    Args:
        groups: Q^T T R.
        left: Q.
        right: R.
        u: shape (n_left,).
        v: shape (n_right,), of the same total.
    """  # noqa: D205
    n, m = len(left), len(right)
    ones_left, ones_right = left.sum(axis=0), right.sum(axis=0)
    raked: FloatMatrix = groups + np.outer(left.T @ u, ones_right) / m
    raked += np.outer(ones_left, right.T @ v) / n
    raked -= u.sum() / (n * m) * np.outer(ones_left, ones_right)
    return raked
