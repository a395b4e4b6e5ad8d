"""Which sums of the private graph its noisy data show well: degrees, and sums between blocks.

Better degrees than noisy ones, from the noisy ones alone.

Sums between groups from two estimates, each with the weight that its precision deserves.

Two ways to find the structure of a noisy matrix, and which of them to believe.
"""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.measurement import Degrees, Measurement
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.block_model import BlockModel, fit_blocks
from graphcuts_dp.synth.group_targets import (
    PUBLIC_SLACK,
    PublicTargets,
    expected_view,
    public_targets,
    spike_and_slab,
)
from graphcuts_dp.synth.log_odds import RIDGE, SLACK, GroupSums
from graphcuts_dp.synth.message_passing import sharpened_structure
from graphcuts_dp.synth.structure import (
    FEWEST,
    Structure,
    Triples,
    View,
    directions_near_noise,
    find_spectrum,
    largest_triples,
)

_MOST_VERTICES = 2048  # for block models, which read the matrix some hundred times
_MOST_BLOCKS = 10
_FEWEST = 6  # numbers of blocks up to this one are tried in any case
_PATIENCE = 2  # above, until so many in a row are no better
_MARGIN = 3.0  # above the evidence of one block: matrices of noise alone reached 2


def best_structure(
    view: View, deviation: float, deadline: Deadline = NEVER, *, cap: float = 1.0
) -> Structure:
    """The structure that the noisy matrix bears out.

    Singular vectors, sharpened (`sharpened_structure`), find structure of
    any kind, but what lies near the edge of the noise they lose, and then two blocks become one.
    Block models (`fit_blocks`) find blocks there, and nothing else. Of these the one of largest
    evidence competes, where that is clearly above one block's. Of both the one is kept whose
    estimate has the larger likelihood under the law of the noise, less half the logarithm of the
    number of pairs for each entry of the kernel, and of the vertices for each share. Blocks without
    a direction that stands out count as near the noise.

    Args:
        view: the matrix.
        deviation: s, of the noise of an entry.
        deadline: when to stop.
        cap: of an entry.

    Source: Schwarz 1978 (the penalty).
    """
    triples = largest_triples(view)
    seen, near = find_spectrum(view, triples), directions_near_noise(view, triples)
    best = sharpened_structure(view, deadline, seen=seen)
    if max(view.shape) > _MOST_VERTICES:
        return replace(best, near=near)
    deviation = max(deviation, seen.deviation)  # what edges have of their own is noise, too
    blocks = _likeliest(view, triples, deviation, cap, deadline)
    if blocks is not None:
        if not len(seen.signal):
            near = max(near, 1)
        found = blocks.structure()
        ahead = explained(found, view) - explained(best, view)
        if ahead > deviation**2 * _penalty(blocks.count, view):
            best = found
    return replace(best, near=near)


def _likeliest(
    view: View, triples: Triples, deviation: float, cap: float, deadline: Deadline
) -> BlockModel | None:
    """The block model of largest evidence, or None where one block explains as much."""
    one = fit_blocks(view, triples, 1, deviation, cap).evidence
    best, score, worse = None, one + _MARGIN, 0
    most = min(_MOST_BLOCKS, min(view.shape) // 2, len(triples[0]))
    for count in range(2, most + 1):
        if deadline.passed() or (count > _FEWEST and worse >= _PATIENCE):
            break
        blocks = fit_blocks(view, triples, count, deviation, cap)
        if blocks.evidence > score:
            best, score, worse = blocks, blocks.evidence, 0
        else:
            worse += 1
    return best


def _penalty(count: int, view: View) -> float:
    """For the kernel's entries, and the shares of the blocks of each side."""
    n, m = view.shape
    if view.symmetric:
        return count * (count + 1) / 4 * math.log(n * (n - 1) / 2) + (count - 1) / 2 * math.log(n)
    return count**2 / 2 * math.log(n * m) + (count - 1) / 2 * math.log(n * m)


def explained(structure: Structure, view: View) -> float:
    """Log likelihood of a noisy matrix above that of no structure, times s^2.

    With T the structure's estimate, the sum over pairs of z T - T^2/2.
    """
    left, right = structure.left, structure.right
    shown = (left * view.times(right)).sum(axis=0)
    squares = float((structure.sizes**2).sum())
    if view.blocks.layout.hollow:
        diagonal = (left * right) @ structure.sizes
        squares -= float(diagonal @ diagonal)
    found = float(np.dot(structure.sizes, shown) - squares / 2)
    return found / 2 if view.symmetric else found


_SPREADS = 60  # of the grid for the unknown size of what the structure lacks
_SMALLEST = 0.3  # of it, times the noise, if that is possible


def weighed_sums(
    seen: FloatMatrix,
    said: FloatMatrix,
    left: FloatMatrix,
    right: FloatMatrix,
    deviation: float,
    *,
    largest: float,
    symmetric: bool,
) -> FloatMatrix:
    """What two estimates of Q^T A R say together.

    Both have the same row and column sums, so they differ only along directions that are orthogonal
    to the vector of ones; there `seen` has noise of variance s^2 in every entry (2 s^2 on the
    diagonal of a symmetric matrix, whose pairs count twice), and `said` errors of a common size b.
    b is 0 with a prior chance of a half, else anything up to `largest`, evenly in its logarithm;
    the best combination weighs `seen` by the posterior mean of b^2/(b^2 + variance). Where noise
    covers all that the entries can be, the structure stays as it is.

    Args:
        seen: Q^T Z R, with the wanted row and column sums.
        said: the same of the structure.
        left: Q, orthonormal columns that span the vector of ones, shape (n_left, k).
        right: R, likewise, shape (n_right, l).
        deviation: s, of the noise of an entry of Z.
        largest: what an entry of Q^T A R is not expected to pass; the mean degree.
        symmetric: whether Z is, and Q = R.

    Source: Mitchell, Beauchamp 1988 (a spike and a slab); James, Stein 1961 for what it replaces.
    """
    rows, columns = _apart_from_ones(left), _apart_from_ones(right)
    difference = rows.T @ (seen - said) @ columns
    free = np.ones(difference.shape, dtype=np.bool_)
    noise = np.full(difference.shape, max(deviation, 1e-12) ** 2)
    if symmetric:
        difference = (difference + difference.T) / 2
        np.fill_diagonal(noise, 2 * max(deviation, 1e-12) ** 2)
        free = np.triu(free)
    weights = np.zeros(difference.shape)
    if difference.size:
        weights[free] = _shares(difference[free], noise[free], largest)
    if symmetric:
        weights = np.triu(weights) + np.triu(weights, 1).T
    weighed: FloatMatrix = said + rows @ (weights * difference) @ columns.T
    return (weighed + weighed.T) / 2 if symmetric else weighed


def _shares(difference: FloatVector, noise: FloatVector, largest: float) -> FloatVector:
    """Posterior mean of b^2/(b^2 + noise), entry by entry, b being common to all."""
    smallest = min(_SMALLEST * math.sqrt(float(noise.min())), largest / 2)
    spreads = np.geomspace(smallest, largest, _SPREADS)
    squares = np.concatenate([[0.0], spreads**2])[:, None]
    return spike_and_slab(squares, difference, noise)


def _apart_from_ones(frame: FloatMatrix) -> FloatMatrix:
    """Orthonormal columns C such that frame C is orthogonal to the vector of ones."""
    ones = frame.sum(axis=0)
    whole = np.linalg.qr(np.column_stack([ones, np.eye(len(ones))]))[0]
    apart: FloatMatrix = whole[:, 1:]
    return apart


_GRID = 121
_ROUNDS = 150


def posterior_means(log_likelihood: FloatMatrix, grid: FloatVector) -> FloatVector:
    """Posterior mean of each unknown under the prior that fits all observations best.

    The prior is any distribution on the grid (nonparametric maximum likelihood), found by
    expectation maximisation. Errors are never much above those of the best common shrinkage.

    Args:
        log_likelihood: of each observation at each grid point, up to a constant in each row;
            shape (observations, points).
        grid: shape (points,).

    Source: Robbins 1956; Kiefer, Wolfowitz 1956; Jiang, Zhang 2009.
    """
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    means: FloatVector = posterior_shares(likelihood, np.ones(len(likelihood)), _ROUNDS) @ grid
    return means


def posterior_shares(likelihood: FloatMatrix, counts: FloatVector, rounds: int) -> FloatMatrix:
    """Chance of each grid point for each observation, under the law that explains all best.

    Args:
        likelihood: shape (observations, points).
        counts: how often each observation was made.
        rounds: of expectation maximisation.
    """
    masses = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    shares = likelihood
    for _ in range(rounds):
        shares = likelihood * masses
        shares /= shares.sum(axis=1, keepdims=True)
        masses = counts @ shares
        masses /= masses.sum()
    return shares


def grid_for(observed: FloatVector) -> FloatVector:
    """Points over the range of the observations, denser where most of them lie."""
    spread = np.linspace(observed.min(), observed.max(), _GRID)
    low, high = np.quantile(observed, [0.02, 0.98])
    bulk = np.linspace(float(low), float(high), _GRID)
    return np.unique(np.concatenate([spread, bulk]))


def gaussian_log_likelihood(
    observed: FloatVector, grid: FloatVector, deviation: float
) -> FloatMatrix:
    """Of a sum of many independent errors with a given standard deviation."""
    scaled: FloatMatrix = (observed[:, None] - grid) / deviation
    return -0.5 * scaled**2


def laplace_log_likelihood(observed: FloatVector, grid: FloatVector, rate: float) -> FloatMatrix:
    """Of two-sided geometric or Laplace noise with density falling as e^(-rate |x|)."""
    distance: FloatMatrix = np.abs(observed[:, None] - grid)
    return -rate * distance


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
            for bought in ([(d, d.steps[0]) for d in noisy], [(d, d.steps[-1]) for d in noisy])
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

    def share_of_noise(self, noisy: tuple[Measurement[Degrees], ...]) -> float:
        """Variance of the degrees with noisy ones, over that without."""
        precision = 1 / self.deviation**2
        return precision / (precision + sum(1 / degrees.law.variance for degrees in noisy))

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
        known.append((problem.total.total, problem.total.law.variance))
    vertices = n if problem.symmetric else (n + m) / 4
    known += [(noisy.total, vertices * noisy.law.variance) for noisy in problem.degrees]
    for each in problem.groups:
        variance = len(each.values[0]) * each.law.variance
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
    """
    n, m = len(left), len(right)
    ones_left, ones_right = left.sum(axis=0), right.sum(axis=0)
    raked: FloatMatrix = groups + np.outer(left.T @ u, ones_right) / m
    raked += np.outer(ones_left, right.T @ v) / n
    raked -= u.sum() / (n * m) * np.outer(ones_left, ones_right)
    return raked
