"""What a synthetic graph is to have: degrees, and sums between blocks that noisy data show well.

Degrees come out better than noisy ones, from the noisy ones alone. Sums between groups of vertices
are weighed from two estimates, each with the weight that its precision deserves. Those between
public groups were measured; they are drawn towards what degrees expect: the graph
x_ij = min(1, t_i t_j) (Chung, Lu). The file is long because each of these corrects the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement, Degrees
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.block_model import best_structure
from graphcuts_dp.synth.structure import Structure, View

# bench_fit_quality.py, ego-Facebook 1500: ridge .003 and slack .1 had a worst cut of 28,800, these
# 13,800.
RIDGE = 0.001  # on log-odds of rows: keeps them finite where a noisy sum is out of reach
# On those of groups: by how much group sums may be missed, per unit of log-odds. Where noise makes
# them negative they contradict the degrees, on which more cuts depend.
SLACK = 1.0
_PUBLIC_SLACK = 0.03  # the same, for sums between public groups


@final
@dataclass(frozen=True, eq=False)
class Targets:
    """What the synthetic graph is to have.

    Attributes:
        rows: row sums, shape (n_left,), positive.
        columns: column sums, shape (n_right,); of an adjacency matrix the same object as `rows`.
        left: Q, orthonormal columns, shape (n_left, k).
        right: R, shape (n_right, l); of an adjacency matrix the same object as `left`.
        groups: Q^T x R, shape (k, l); symmetric if x is.
        slack: by how much each of these may be missed, per unit of log-odds, shape (k, l); or one
            number for all.
        ridge: on the log-odds of rows and columns: by how much row sums may be missed, per unit of
            log-odds and per n.
        near_noise: of the structure behind it: see `Structure.near`.
        directions: how many directions that structure has; None where that tells nothing.
    """

    rows: FloatVector
    columns: FloatVector
    left: FloatMatrix
    right: FloatMatrix
    groups: FloatMatrix
    slack: FloatMatrix | float = SLACK
    ridge: float = RIDGE
    near_noise: int = 0
    directions: int | None = None


_LEAST_RIDGE = 0.1  # of the ridge: sums that noisy degrees tell well are kept the more closely
_LEAST_DEGREE = 0.01  # of the mean: no vertex is left without any weight
_LEAST_TOTAL = 0.3  # in units of the cap
_FINE = 0.3  # deviation of an entry, in units of the cap, below which entries tell edges
# Of the mean degree, what the structure may lack along a direction: the correlation of neighbours'
# degrees, which is what a direction made of degrees shows, hardly passes .3 in real graphs.
_BESIDE = 0.25
_DEPENDENT = 1e-2  # singular value of unit columns below which they count as dependent


def credible_sums(
    problem: FitProblem, distribution: NoiseDistribution, deadline: Deadline = NEVER
) -> Targets:
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
    blocks, cap, noise = problem.blocks, problem.cap, distribution.standard_deviation
    n, m = blocks.shape
    plain = View(blocks)
    sides = _sides(problem, plain, noise)
    total = max(_total(sides[0], distribution, problem), _LEAST_TOTAL * cap)
    public, expected, beside = None, None, False
    if problem.degrees is None:
        structure = best_structure(plain, noise, deadline, cap=cap)
        sums = (structure.row_sums, structure.column_sums)
        degrees = [_rescaled(s + side.rest(s), total) for side, s in zip(sides, sums, strict=False)]
        if problem.groups is not None:
            public = public_targets(problem, problem.groups, degrees, distribution)
    else:
        likely = [side.likely() for side in sides]
        degrees = [_rescaled(means, total) for means in likely]
        if problem.groups is not None:
            public = public_targets(problem, problem.groups, degrees, distribution)
        expected = public.expected if public is not None else expected_view(blocks, degrees, cap)
        structure = best_structure(expected, noise, deadline, cap=cap)
        groups_of = (structure.left_groups, structure.right_groups)
        if public is None:
            degrees = [
                _rescaled(side.of_groups(means, groups), total)
                for side, means, groups in zip(sides, likely, groups_of, strict=False)
            ]
        beside = True
    if public is not None:
        degrees = public.degrees
    rows, columns = degrees[0], degrees[-1]
    first = (None, None) if public is None else public.frames
    left = _frame(n, structure.left_groups, rows if beside else None, first[0])
    right = left
    if not blocks.layout.symmetric:
        right = _frame(m, structure.right_groups, columns if beside else None, first[1])
    seen = _raked(
        left.T @ plain.times(right),
        left,
        right,
        rows - sides[0].observed,
        columns - sides[-1].observed,
    )
    said = _said(left, right, structure, expected, rows, columns)
    largest = _BESIDE * total / math.sqrt(n * m)
    groups = weighed_sums(
        seen, said, left, right, noise, largest=largest, symmetric=blocks.layout.symmetric
    )
    slack = np.full(groups.shape, SLACK)
    if public is not None:
        where = tuple(slice(0, count) for count in public.sums.shape)
        groups[where] = public.sums
        slack[where] = _PUBLIC_SLACK
    # Variance of the degrees with noisy ones, over that without.
    known = 0.0 if problem.degrees is None else 1 / problem.degrees.law.variance
    precisions = [1 / side.deviation**2 for side in sides]
    share = min(1.0, max(_LEAST_RIDGE, *(own / (own + known) for own in precisions)))
    # Where entries tell edges by themselves, the graph keeps what is hidden in their noise, too.
    coarse = noise > _FINE * cap
    telling = coarse and beside and public is None
    return Targets(
        rows=rows,
        columns=columns,
        left=left,
        right=right,
        groups=groups,
        slack=slack,
        ridge=RIDGE * share,
        near_noise=structure.near if coarse else 0,
        directions=len(structure.sizes) if telling else None,
    )


@final
@dataclass(frozen=True, eq=False)
class _Side:
    """What is known of all row sums, or of all column sums.

    Attributes:
        observed: those of Z.
        deviation: of their noise.
        counts: noisy degrees and the rate of their two-sided geometric noise, if there are any.
    """

    observed: FloatVector
    deviation: float
    counts: list[tuple[FloatVector, float]]

    def rest(self, structure: FloatVector) -> FloatVector:
        """Posterior mean of what a structure leaves open."""
        left_open = self.observed - structure
        return posterior_means(left_open, self.deviation, grid_for(left_open))

    def likely(self) -> FloatVector:
        """Posterior mean, given noisy degrees too."""
        grid = np.unique(np.maximum(grid_for(self._unbiased()[0]), 0.0))
        return posterior_means(self.observed, self.deviation, grid, self.counts)

    def _unbiased(self) -> tuple[FloatVector, float]:
        """The best linear combination of row sums and noisy degrees, and its variance."""
        known = [
            (self.observed, self.deviation**-2.0),
            *((x, rate**2 / 2) for x, rate in self.counts),
        ]
        values, weights = zip(*known, strict=True)
        return np.average(values, axis=0, weights=weights), 1 / sum(weights)

    def of_groups(self, means: FloatVector, groups: FloatMatrix) -> FloatVector:
        """Posterior means of degrees with what they lack of the sums over soft groups of vertices.

        They were drawn towards one law for all vertices, so that those of a group that is denser
        than others are wrong on one side. What the group of a vertex adds is found by least
        squares, less the share of it that noise alone has, and two standard errors of that.
        """
        if groups.shape[1] < 2:
            return means
        values, variance = self._unbiased()
        frame, sizes, _ = np.linalg.svd(groups - groups.mean(axis=0), full_matrices=False)
        frame = frame[:, sizes > _DEPENDENT * max(sizes.max(), 1.0)]
        along = frame.T @ (values - means)
        noise = variance * (len(along) + 2 * math.sqrt(2 * len(along)))
        kept = max(0.0, 1 - noise / max(float(along @ along), 1e-300))
        return np.maximum(means + kept * (frame @ along), 0.0)


def _sides(problem: FitProblem, plain: View, deviation: float) -> list[_Side]:
    """The rows and, where they are other vertices, the columns."""
    n, m = plain.shape

    def side(observed: FloatVector, count: int, place: int) -> _Side:
        noisy = problem.degrees
        known = [] if noisy is None else [(noisy.values[place], float(noisy.rate) / noisy.unit)]
        return _Side(observed, deviation * math.sqrt(count), known)

    rows = side(plain.times(np.ones((m, 1)))[:, 0], m, 0)
    if plain.symmetric:
        return [rows]
    columns = plain.transposed_times(np.ones((n, 1)))[:, 0]
    return [rows, side(columns, n, -1)]


def _total(side: _Side, distribution: NoiseDistribution, problem: FitProblem) -> float:
    """Sum of all entries: all that is known of it, weighed by the inverse variances."""
    doubled = 2.0 if problem.symmetric else 1.0  # every entry above the diagonal counts twice
    variance = doubled * math.prod(problem.shape) * distribution.standard_deviation**2
    known = [(float(side.observed.sum()), variance)]
    if problem.total is not None:
        known.append((problem.total.total, problem.total.law.variance))
    known += known_totals(problem.degrees, problem.groups, problem.blocks.layout)
    return weighed(known)


def known_totals(
    degrees: CountMeasurement[Degrees] | None,
    groups: CountMeasurement[CellSums] | None,
    layout: Layout,
) -> list[tuple[float, float]]:
    """Sums of all entries of a matrix that noisy values tell, each with its variance."""
    doubled = 2.0 if layout.symmetric else 1.0
    vertices = layout.shape[0] if layout.symmetric else sum(layout.shape) / 4
    known = [] if degrees is None else [(degrees.total, vertices * degrees.law.variance)]
    if groups is not None:
        variance = len(groups.values[0]) * groups.law.variance
        known.append((doubled * groups.total, doubled**2 * variance))
    return known


def weighed(known: Sequence[tuple[float, float]]) -> float:
    """The mean of values by the inverse of their variances."""
    values, variances = zip(*known, strict=True)
    return float(np.average(values, weights=[1 / variance for variance in variances]))


def _rescaled(degrees: FloatVector, total: float) -> FloatVector:
    positive = np.maximum(degrees, _LEAST_DEGREE * total / len(degrees))
    return np.asarray(positive * (total / positive.sum()))


def _frame(
    count: int, groups: FloatMatrix, degrees: FloatVector | None, first: FloatMatrix | None
) -> FloatMatrix:
    """Orthonormal columns that span the vector of ones, the groups and the degrees.

    It begins with the orthonormal columns `first`, whose span holds the vector of ones, if any.
    """
    ones = [] if first is not None else [np.ones(count)]
    extra = [] if degrees is None else [degrees]
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
    u to the row sums of T and v, of the same total, to its column sums; `groups` is Q^T T R.
    """
    n, m = len(left), len(right)
    ones_left, ones_right = left.sum(axis=0), right.sum(axis=0)
    raked: FloatMatrix = groups + np.outer(left.T @ u, ones_right) / m
    raked += np.outer(ones_left, right.T @ v) / n
    raked -= u.sum() / (n * m) * np.outer(ones_left, ones_right)
    return raked


_LACKS = 60  # of the grid for the unknown size of what the structure lacks
_SMALLEST_LACK = 0.3  # of it, times the noise, if that is possible


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
        smallest = min(_SMALLEST_LACK * math.sqrt(float(noise.min())), largest / 2)
        lacks = np.concatenate([[0.0], np.geomspace(smallest, largest, _LACKS) ** 2])
        weights[free] = spike_and_slab(lacks[:, None], difference[free], noise[free])
    if symmetric:
        weights = np.triu(weights) + np.triu(weights, 1).T
    weighed: FloatMatrix = said + rows @ (weights * difference) @ columns.T
    return (weighed + weighed.T) / 2 if symmetric else weighed


def _apart_from_ones(frame: FloatMatrix) -> FloatMatrix:
    """Orthonormal columns C such that frame C is orthogonal to the vector of ones."""
    ones = frame.sum(axis=0)
    whole = np.linalg.qr(np.column_stack([ones, np.eye(len(ones))]))[0]
    return np.asarray(whole[:, 1:])


_NOTHING = 0.5  # prior chance that what one estimate has beside another is noise


def spike_and_slab(
    squares: FloatMatrix, difference: FloatVector, noise: FloatVector
) -> FloatVector:
    """Posterior mean of b^2/(b^2 + noise), entry by entry; which row of b^2 holds is common to all.

    The first row, of zeros, has a prior chance of a half; the others share the rest evenly.
    """
    spread = squares + noise
    logs = -0.5 * (np.log(spread) + difference**2 / spread).sum(axis=1)
    logs[0] += math.log(_NOTHING)
    logs[1:] += math.log((1 - _NOTHING) / (len(squares) - 1))
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    return np.asarray(chances @ (squares / spread))


_GRID = 121
_ROUNDS = 150


def posterior_means(
    observed: FloatVector,
    deviation: float,
    grid: FloatVector,
    counts: Sequence[tuple[FloatVector, float]] = (),
) -> FloatVector:
    """Posterior mean of each unknown under the prior that fits all observations best.

    The prior is any distribution on the grid (nonparametric maximum likelihood), found by
    expectation maximisation. Errors are never much above those of the best common shrinkage.

    Args:
        observed: each with a sum of many independent errors of a standard deviation.
        deviation: of these.
        grid: shape (points,).
        counts: observations of the same besides, each with the rate at which the density of its
            two-sided geometric or Laplace noise falls.

    Source: Robbins 1956; Kiefer, Wolfowitz 1956; Jiang, Zhang 2009.
    """
    logs = -0.5 * ((observed[:, None] - grid) / deviation) ** 2
    for noisy, rate in counts:
        logs -= rate * np.abs(noisy[:, None] - grid)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(posterior_shares(likelihood, np.ones(len(likelihood)), _ROUNDS) @ grid)


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


_SPREADS = 40  # of the grid for the unknown size of what the degrees leave open
_LEAST_SPREAD, _LARGEST_SPREAD = 1e-2, 1e2  # of it, relative to what the degrees expect
_LEAST, _MOST = 1e-3, 0.999  # of what the pairs of a cell can weigh
_LEAST_WEIGHT = 0.25  # in units of the cap: no cell with pairs is left without any
_SWEEPS = 12  # of fitting row sums to degrees
_FAR = 4.0  # times: how far one sweep may move an end


@final
@dataclass(frozen=True, eq=False)
class CellEstimates:
    """Unbiased estimates of the sums between groups, from several independent noisy numbers.

    Attributes:
        groups: tells the groups and the cells between them.
        values: weight of each cell, each pair once.
        variances: of the values.
    """

    groups: CellSums
    values: FloatVector
    variances: FloatVector

    @classmethod
    def of(cls, measured: CountMeasurement[CellSums]) -> Self:
        """Those that were measured alone."""
        values = measured.values[0]
        return cls(measured.map, values, np.full(len(values), measured.law.variance))

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same vertices."""
        return self.groups.members[0] is self.groups.members[1]

    @cached_property
    def kinds(self) -> tuple[BoolVector, ...]:
        """Masks of the cells within groups and between groups, as far as there are any."""
        a, b = self.groups.ends
        within = (a == b) & self.symmetric
        return tuple(kind for kind in (within, ~within) if kind.any())

    @cached_property
    def indicators(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Truth of "vertex i is in group g", for rows and columns, shape (n, groups)."""
        rows, columns = self.groups.shape
        left = np.eye(rows)[self.groups.members[0]]
        return left, left if self.symmetric else np.eye(columns)[self.groups.members[1]]

    def matrix(self, values: FloatVector) -> FloatMatrix:
        """Values of cells as H^T A K has them: in a graph, pairs within a group count twice."""
        found = np.zeros(self.groups.shape)
        found[self.groups.ends] = values
        return found + found.T if self.symmetric else found

    def cells(self, matrix: FloatMatrix) -> FloatVector:
        """The reverse of `matrix`."""
        a, b = self.groups.ends
        values: FloatVector = matrix[a, b].copy()
        if self.symmetric:
            values[a == b] /= 2
        return values

    def with_entries(self, sums: FloatVector, entry: float) -> Self:
        """Together with sums of noisy entries over the cells, of variance `entry` a pair."""
        own, other = 1 / self.variances, 1 / (entry * self.groups.pairs)
        values = (own * self.values + other * sums) / (own + other)
        return replace(self, values=values, variances=1 / (own + other))

    def with_volumes(
        self, volumes: Sequence[FloatVector], variances: Sequence[FloatVector]
    ) -> Self:
        """Together with noisy sums of the degrees in each group: generalised least squares.

        Args:
            volumes: sums of the row sums in each group of rows, and likewise of columns.
            variances: of these, > 0.
        """
        a, b = self.groups.ends
        if self.symmetric:
            volumes, variances = volumes[:1], variances[:1]
        given, spread = np.concatenate(volumes), np.concatenate(variances)
        incidence = np.zeros((len(given), len(a)))
        cells = np.arange(len(a))
        np.add.at(incidence, (a, cells), 1.0)
        offset = 0 if self.symmetric else self.groups.shape[0]
        np.add.at(incidence, (b + offset, cells), 1.0)
        weighted = incidence * self.variances
        inner = weighted @ incidence.T + np.diag(spread)
        gain = np.linalg.solve(inner, weighted)
        values = self.values + gain.T @ (given - incidence @ self.values)
        return replace(
            self, values=values, variances=self.variances - (gain * weighted).sum(axis=0)
        )

    def shrunk_towards(self, expected: FloatVector, cap: float) -> FloatVector:
        """Cells drawn towards what the degrees expect, as far as they seem to be that.

        A cell is expected (1 + g b) with g normal; b is common to all cells between groups, and
        another to all within groups: 0 with a prior chance of a half, else anything. The posterior
        mean is between the estimate and the expectation. Groups that say nothing about the graph so
        do no harm. Brought into what the pairs can weigh.
        """
        values = self.values.copy()
        for kind in self.kinds:
            values[kind] = shrunk(values[kind], expected[kind], self.variances[kind], cap=cap)
        room = cap * self.groups.pairs
        least = np.minimum(np.maximum(_LEAST * room, _LEAST_WEIGHT * cap), room / 2)
        return np.clip(values, least, np.maximum(_MOST * room, least))

    def scaled(self, degrees: FloatVector, volumes: FloatVector, side: int) -> FloatVector:
        """Degrees scaled within each group to have these sums."""
        groups = self.groups.members[side]
        factors = np.maximum(volumes, 0.0) / np.bincount(groups, degrees)
        return np.asarray(degrees * factors[groups])

    def with_volumes_of(self, degrees: FloatVector, cap: float, side: int) -> FloatVector:
        """Degrees scaled within each group to sums between their own and those of the cells.

        Which of the two, the volumes themselves tell, as in `shrunk_towards`: the degrees come from
        noisy data that were shrunk already, and may be the better ones.
        """
        found = self.matrix(self.values).sum(axis=1 - side)
        spread = self.matrix(self.variances)
        if self.symmetric:
            spread[np.diag_indices_from(spread)] *= 2  # pairs within count twice
        own = np.bincount(self.groups.members[side], degrees)
        volumes = shrunk(found, own.astype(np.float64), spread.sum(axis=1 - side), cap=cap)
        scaled = self.scaled(degrees, volumes, side)
        if not scaled.any():  # noise has left no group a volume
            return degrees
        return np.asarray(scaled * (degrees.sum() / scaled.sum()))


def shrunk(
    values: FloatVector, expected: FloatVector, variances: FloatVector, *, cap: float
) -> FloatVector:
    """Values drawn towards what is expected, as far as noise explains the difference."""
    expected = np.maximum(expected, _LEAST_WEIGHT * cap)
    scales = np.concatenate([[0.0], np.geomspace(_LEAST_SPREAD, _LARGEST_SPREAD, _SPREADS)])
    difference = values - expected
    kept = spike_and_slab((scales[:, None] * expected) ** 2, difference, variances)
    return np.asarray(expected + kept * difference)


@final
@dataclass(frozen=True, eq=False)
class PublicTargets:
    """What public groups add to the sums that a synthetic graph is to have.

    Attributes:
        degrees: of rows and columns (one array for an adjacency matrix), with the volumes of the
            groups as their sums.
        frames: orthonormal indicators of the groups, H and K.
        sums: H^T x K that is wanted, with the sums of the degrees in each group as row sums.
        expected: Z less the matrix that these degrees and sums alone expect.
    """

    degrees: list[FloatVector]
    frames: tuple[FloatMatrix, FloatMatrix]
    sums: FloatMatrix
    expected: View


def public_targets(
    problem: FitProblem,
    groups: CountMeasurement[CellSums],
    degrees: list[FloatVector],
    distribution: NoiseDistribution,
) -> PublicTargets:
    """Sums between public groups for a synthetic graph, and degrees that fit them.

    1. Unbiased estimates: measured sums, sums of the noisy entries, and sums of the noisy degrees
       in each group, by generalised least squares.
    2. Degrees are scaled to the volumes of their groups; what such degrees alone expect in each
       cell (Chung, Lu) is what the estimates are drawn to (`shrunk_towards`).
    3. Degrees are scaled to the volumes of the result.

    Args:
        problem: with a finite cap.
        groups: noisy sums between them.
        degrees: estimates for the rows and the columns; one array for an adjacency matrix.
        distribution: of the noise of the entries.
    """
    blocks, cap = problem.blocks, problem.cap
    cells = CellEstimates.of(groups)
    left, right = cells.indicators
    seen = left.T @ View(blocks).times(right)
    cells = cells.with_entries(cells.cells(seen), distribution.standard_deviation**2)
    counts = [each.sum(axis=0) for each in (left, right)]
    if (noisy := problem.degrees) is not None:
        given = left.T @ noisy.steps[0] * noisy.unit, right.T @ noisy.steps[-1] * noisy.unit
        cells = cells.with_volumes(
            given, [count * np.float64(noisy.law.variance) for count in counts]
        )
    plain = [cells.with_volumes_of(d, cap, side) for side, d in enumerate(degrees)]
    expected = expected_view(blocks, plain, cap)
    alone = cells.cells(left.T @ expected.expected_times(right))
    wanted = cells.shrunk_towards(alone, cap)
    sums = cells.matrix(wanted)
    final_degrees = [
        cells.scaled(d, sums.sum(axis=1 - side), side) for side, d in enumerate(degrees)
    ]
    ratios = cells.matrix(wanted / np.maximum(alone, 1e-9))
    if blocks.layout.symmetric:
        ratios[np.diag_indices_from(ratios)] /= 2
    lengths = [np.sqrt(count) for count in counts]
    view = replace(expected, cells=(*cells.groups.members, ratios))
    return PublicTargets(
        degrees=final_degrees,
        frames=(left / lengths[0], right / lengths[1]),
        sums=sums / np.outer(*lengths),
        expected=_with_degrees(view, final_degrees),
    )


def expected_view(blocks: Blocks, degrees: list[FloatVector], cap: float) -> View:
    """Z less the graph that degrees alone expect."""
    columns = None if blocks.layout.symmetric else degrees[1] / cap
    return View(blocks, chung_lu_ends(degrees[0] / cap, columns, hollow=blocks.layout.hollow), cap)


def _with_degrees(view: View, degrees: list[FloatVector]) -> View:
    """The same with ends that are fitted to the degrees again."""

    def move(wanted: FloatVector, sums: FloatVector) -> FloatVector:
        return np.clip(wanted / np.maximum(sums, 1e-9), 1 / _FAR, _FAR)

    for _ in range(_SWEEPS):
        assert view.factors is not None  # noqa: S101  # an expected graph has them
        rows, columns = view.factors
        sums = view.expected_times(np.ones((view.shape[1], 1)))[:, 0]
        if view.symmetric:
            rows = columns = rows * np.sqrt(move(degrees[0], sums))
        else:
            rows = rows * move(degrees[0], sums)
            view = replace(view, factors=(rows, columns))
            columns = columns * move(degrees[1], view.expected_column_sums())
        view = replace(view, factors=(rows, columns))
    return view


TOLERANCE = 1e-9  # of a row sum, relative to the mean degree
MAX_ROUNDS = 2000
_STANDSTILL = 1e-13  # change of the sums in a round, likewise, at which there is no use to go on
_LARGEST = 1e100
_SMALLEST = 1e-30  # lower degrees are zeros


def chung_lu_ends(
    rows: npt.ArrayLike,
    columns: npt.ArrayLike | None = None,
    *,
    hollow: bool = True,
    max_rounds: int = MAX_ROUNDS,
) -> tuple[FloatVector, FloatVector]:
    """The r and c whose matrix min(1, r_i c_j) has given row and column sums.

    Rows and columns are solved in turn, each exactly: iterative proportional fitting with a cap. To
    what a row of a hollow matrix is to have, what its entry on the diagonal would be is added as
    the last step tells it, a small part of a row, which settles in a few rounds.

    Of a symmetric matrix r = c = t. In a = ln t its row sums are the gradient of a convex function
    less the degrees. A round solves every row for its own t_i with the others held, and goes half
    of the way in a: since both ends of a pair move, that minimises a majorant of the function. Real
    graphs take 30 to 130 rounds; slow are graphs near a star, whose t are near 0 and infinity.

    A row is solved exactly from sorted prefix sums, so a round takes O(n log n).

    Args:
        rows: wanted row sums, shape (n_left,), finite; negative ones count as 0, and none can be
            more than the number of columns with a positive sum.
        columns: wanted column sums, shape (n_right,), likewise; None for those of a symmetric
            matrix. If the totals of rows and columns differ, both are scaled to their mean.
        hollow: whether the matrix has a zero diagonal.
        max_rounds: stop after so many rounds even if the sums do not match yet.

    Returns:
        r and c, shapes (n_left,) and (n_right,), >= 0; of a symmetric matrix one object. Sums match
        to 1e-9 of the mean degree if some ends > 0 have those sums and max_rounds allows. Otherwise
        (a few degrees take more than the others have to give) they are as near as the rounds came.

    Source: Chung, Lu, "Connected components in random graphs with given expected degree
    sequences", 2002; there without the cap, for which max t_i t_j <= 1 is assumed.
    """
    symmetric = columns is None
    wanted = np.maximum(np.array(rows, dtype=np.float64), 0.0)
    others = wanted if columns is None else np.maximum(np.array(columns, dtype=np.float64), 0.0)
    r, c = np.zeros(len(wanted)), np.zeros(len(others))
    left, right = wanted > _SMALLEST, others > _SMALLEST
    if not left.any() or not right.any() or (symmetric and left.sum() < 2):
        return c if symmetric else r, c

    def loops(where: BoolVector) -> FloatVector:
        return np.minimum(r * c, 1.0)[where] if hollow else np.zeros(int(where.sum()))

    total = (wanted.sum() + others.sum()) / 2
    most = (right.sum() - right, left.sum() - left) if hollow else (right.sum(), left.sum())
    row_target = np.minimum(wanted * (total / wanted.sum()), most[0])[left]
    column_target = np.minimum(others * (total / others.sum()), most[1])[right]
    start = column_target / np.sqrt(max(column_target.sum(), _SMALLEST))
    c[right] = np.clip(start, 1 / _LARGEST, _LARGEST)
    before = np.full_like(column_target, np.inf)
    for _ in range(max_rounds):
        r[left] = c[right] if symmetric else _solve(c[right], row_target + loops(left))
        lost = loops(right)
        sums = _sums(r[left], c[right]) - lost
        if _settled(sums, before, column_target):
            break
        solved, before = _solve(r[left], column_target + lost), sums
        c[right] = np.sqrt(c[right] * solved) if symmetric else solved
    return c if symmetric else r, c


def _settled(sums: FloatVector, before: FloatVector, target: FloatVector) -> bool:
    scale = target.mean()
    near = np.abs(sums - target).max() <= TOLERANCE * scale
    return bool(near or np.abs(sums - before).max() <= _STANDSTILL * scale)


def _sorted_with_tails(t: FloatVector) -> tuple[FloatVector, FloatVector]:
    """The t from the largest down, and for k = 0..n the sum of all but the k largest."""
    falling = np.sort(t)[::-1]
    tails = np.zeros(len(t) + 1)
    tails[:-1] = np.cumsum(falling[::-1])[::-1]
    return falling, tails


def _sums(t: FloatVector, others: FloatVector) -> FloatVector:
    """Sum over i of min(1, t_i o_j), for each j."""
    falling, tails = _sorted_with_tails(t)
    # Capped are the t_i >= 1/o_j.
    capped = len(t) - np.searchsorted(falling[::-1], 1.0 / others, side="left")
    return np.asarray(capped + others * tails[capped])


def _solve(t: FloatVector, target: FloatVector) -> FloatVector:
    """The s_j with sum over i of min(1, t_i s_j) = target_j, for 0 < target_j <= len(t)."""
    falling, tails = _sorted_with_tails(t)
    k = np.arange(1, len(t) + 1)
    # The sum at s = 1/(k-th largest t), where the k-th entry just reaches its cap.
    at_cap = np.maximum.accumulate(k + tails[1:] / falling)
    capped = np.searchsorted(at_cap, target, side="right")
    full = capped == len(t)
    tail = np.where(full, 1.0, tails[capped])
    solution = np.where(full, 1.0 / falling[-1], (target - capped) / tail)
    # Sums that nothing reaches send t to 0 and infinity.
    return np.clip(solution, 1 / _LARGEST, _LARGEST)
