"""What a synthetic graph is to have between public groups: measured sums, weighed and shrunk.

They are drawn towards what degrees expect: the graph x_ij = min(1, t_i t_j) (Chung, Lu).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.estimate.measurement import CellSums, Measurement
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.structure import View

TOLERANCE = 1e-9  # of a row sum, relative to the mean degree
MAX_ROUNDS = 2000
_STANDSTILL = 1e-13  # change of the sums in a round, likewise, at which there is no use to go on
_LARGEST = 1e100
_SMALLEST = 1e-30  # lower degrees are zeros


def chung_lu_ends(degrees: npt.ArrayLike, *, max_rounds: int = MAX_ROUNDS) -> FloatVector:
    """The t whose matrix min(1, t_i t_j), with zero diagonal, has the given degrees as row sums.

    In a = ln t, the row sums are the gradient of a convex function less the degrees. A round solves
    every row for its own t_i with the others held, and goes half of the way in a: since both ends
    of a pair move, that minimises a majorant of the function. A row is solved exactly from sorted
    prefix sums, so a round takes O(n log n). Real graphs take 30 to 130 rounds; slow are graphs
    near a star, whose t are near 0 and infinity.

    Args:
        degrees: shape (n,), finite. Each is first brought into 0 .. number of other vertices of
            positive degree, which no row sum can leave.
        max_rounds: stop after so many rounds even if the sums do not match yet.

    Returns:
        t >= 0, shape (n,). Row sums match to 1e-9 of the mean degree if
        some t > 0 has those sums and max_rounds allows. Otherwise (a few degrees take more than
        the others have to give) they are as near as the rounds came.

    Source: Chung, Lu, "Connected components in random graphs with given expected degree
    sequences", 2002; there without the cap, for which max t_i t_j <= 1 is assumed.
    """
    wanted = np.array(degrees, dtype=np.float64)
    positive = wanted > _SMALLEST
    target = np.clip(wanted[positive], 0.0, max(positive.sum() - 1, 0))
    ends = np.zeros(len(wanted))
    if len(target) < 2:
        return ends
    t = np.clip(target / np.sqrt(target.sum()), 1 / _LARGEST, _LARGEST)
    before = np.full_like(t, np.inf)
    for _ in range(max_rounds):
        loops = np.minimum(t * t, 1.0)
        sums = _sums(t, t) - loops
        if _settled(sums, before, target):
            break
        t, before = np.sqrt(t * _solve(t, target + loops)), sums
    ends[positive] = t
    return ends


def chung_lu_two_sided_ends(
    rows: npt.ArrayLike, columns: npt.ArrayLike, *, hollow: bool, max_rounds: int = MAX_ROUNDS
) -> tuple[FloatVector, FloatVector]:
    """The r and c whose matrix min(1, r_i c_j) has given row and column sums.

    Rows and columns are solved in turn, each exactly: iterative proportional fitting with a cap. To
    what a row of a hollow matrix is to have, what its entry on the diagonal would be is added as
    the last step tells it, a small part of a row, which settles in a few rounds.

    Args:
        rows: wanted row sums, shape (n_left,), finite; negative ones count as 0. If the totals of
            rows and columns differ, both are scaled to their mean.
        columns: wanted column sums, shape (n_right,), likewise.
        hollow: whether the matrix has a zero diagonal, as that of a directed graph.
        max_rounds: stop after so many rounds even if the sums do not match yet.

    Returns:
        r and c, shapes (n_left,) and (n_right,), >= 0; sums as for `chung_lu_ends`.
    """
    wanted, others = (np.maximum(np.array(x, dtype=np.float64), 0.0) for x in (rows, columns))
    r, c = np.zeros(len(wanted)), np.zeros(len(others))
    left, right = wanted > _SMALLEST, others > _SMALLEST
    if not left.any() or not right.any():
        return r, c

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
        r[left] = _solve(c[right], row_target + loops(left))
        lost = loops(right)
        sums = _sums(r[left], c[right]) - lost
        if _settled(sums, before, column_target):
            break
        c[right], before = _solve(r[left], column_target + lost), sums
    return r, c


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


_SPREADS = 40  # of the grid for the unknown size of what the degrees leave open
_LEAST_SPREAD, _LARGEST_SPREAD = 1e-2, 1e2  # of it, relative to what the degrees expect
_NOTHING = 0.5  # prior chance that the degrees leave nothing open
_LEAST, _MOST = 1e-3, 0.999  # of what the pairs of a cell can weigh
_LEAST_WEIGHT = 0.25  # in units of the cap: no cell with pairs is left without any
_SWEEPS = 12  # of fitting row sums to degrees
_FAR = 4.0  # times: how far one sweep may move an end
PUBLIC_SLACK = 0.03  # as SLACK of `log_odds`, for sums between public groups


@final
@dataclass(frozen=True, eq=False)
class CellEstimates:
    """Unbiased estimates of the sums between groups, from several independent noisy numbers.

    Attributes:
        rows: code of the group of each row.
        columns: of each column; the same object for an adjacency matrix.
        a: for each cell the group of its rows.
        b: the group of its columns; a <= b for an adjacency matrix.
        pairs: how many pairs each cell holds.
        values: weight of each cell, each pair once.
        variances: of the values.
    """

    rows: IntVector
    columns: IntVector
    a: IntVector
    b: IntVector
    pairs: IntVector
    values: FloatVector
    variances: FloatVector

    @classmethod
    def of(cls, measured: Sequence[Measurement[CellSums]]) -> "CellEstimates":
        """Several measurements of the same cells, weighed by their inverse variances."""
        first = measured[0].map
        weights = np.array([1 / each.law.variance for each in measured])
        values = weights @ np.array([each.values[0] for each in measured]) / weights.sum()
        return cls(
            *first.members,
            *first.ends,
            first.pairs,
            values,
            np.full(len(values), 1 / weights.sum()),
        )

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same vertices."""
        return self.columns is self.rows

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Numbers of groups of both sides."""
        return int(self.rows.max()) + 1, int(self.columns.max()) + 1

    @cached_property
    def kinds(self) -> tuple[BoolVector, ...]:
        """Masks of the cells within groups and between groups, as far as there are any."""
        within = (self.a == self.b) & self.symmetric
        return tuple(kind for kind in (within, ~within) if kind.any())

    @cached_property
    def indicators(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Truth of "vertex i is in group g", for rows and columns, shape (n, groups)."""
        left = np.eye(self.shape[0])[self.rows]
        return left, left if self.symmetric else np.eye(self.shape[1])[self.columns]

    def matrix(self, values: FloatVector) -> FloatMatrix:
        """Values of cells as H^T A K has them: in a graph, pairs within a group count twice."""
        found = np.zeros(self.shape)
        found[self.a, self.b] = values
        return found + found.T if self.symmetric else found

    def volumes(self, values: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Sums of the rows of all vertices of each group, and of the columns."""
        matrix = self.matrix(values)
        return matrix.sum(axis=1), matrix.sum(axis=0)

    def cells(self, matrix: FloatMatrix) -> FloatVector:
        """The reverse of `matrix`."""
        values: FloatVector = matrix[self.a, self.b].copy()
        if self.symmetric:
            values[self.a == self.b] /= 2
        return values

    def with_entries(self, sums: FloatVector, entry: float) -> "CellEstimates":
        """Together with sums of noisy entries over the cells, of variance `entry` a pair."""
        own, other = 1 / self.variances, 1 / (entry * self.pairs)
        values = (own * self.values + other * sums) / (own + other)
        return self._with(values, 1 / (own + other))

    def with_volumes(
        self, volumes: tuple[FloatVector, FloatVector], variances: tuple[FloatVector, FloatVector]
    ) -> "CellEstimates":
        """Together with noisy sums of the degrees in each group: generalised least squares.

        Args:
            volumes: sums of the row sums in each group of rows, and likewise of columns.
            variances: of these, > 0.
        """
        left, right = self.shape
        if self.symmetric:
            incidence = np.zeros((left, len(self.a)))
            given, spread = volumes[0], variances[0]
        else:
            incidence = np.zeros((left + right, len(self.a)))
            given, spread = np.concatenate(volumes), np.concatenate(variances)
        cells = np.arange(len(self.a))
        np.add.at(incidence, (self.a, cells), 1.0)
        np.add.at(incidence, (self.b + (0 if self.symmetric else left), cells), 1.0)
        weighted = incidence * self.variances
        inner = weighted @ incidence.T + np.diag(spread)
        gain = np.linalg.solve(inner, weighted)
        values = self.values + gain.T @ (given - incidence @ self.values)
        return self._with(values, self.variances - (gain * weighted).sum(axis=0))

    def shrunk_towards(self, expected: FloatVector, cap: float) -> FloatVector:
        """Cells drawn towards what the degrees expect, as far as they seem to be that.

        A cell is expected (1 + g b) with g normal; b is common to all cells between groups, and
        another to all within groups: 0 with a prior chance of a half, else anything. The posterior
        mean is between the estimate and the expectation. Groups that say nothing about the graph so
        do no harm. Brought into what the pairs can weigh.
        """
        values = self.values.copy()
        for kind in self.kinds:
            values[kind] = _shrunk(values[kind], expected[kind], self.variances[kind], cap=cap)
        room = cap * self.pairs
        least = np.minimum(np.maximum(_LEAST * room, _LEAST_WEIGHT * cap), room / 2)
        return np.clip(values, least, np.maximum(_MOST * room, least))

    def _with(self, values: FloatVector, variances: FloatVector) -> "CellEstimates":
        return CellEstimates(self.rows, self.columns, self.a, self.b, self.pairs, values, variances)


def _shrunk(
    values: FloatVector, expected: FloatVector, variances: FloatVector, *, cap: float
) -> FloatVector:
    expected = np.maximum(expected, _LEAST_WEIGHT * cap)
    scales = np.concatenate([[0.0], np.geomspace(_LEAST_SPREAD, _LARGEST_SPREAD, _SPREADS)])
    difference = values - expected
    kept = spike_and_slab((scales[:, None] * expected) ** 2, difference, variances)
    found: FloatVector = expected + kept * difference
    return found


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
    mean: FloatVector = chances @ (squares / spread)
    return mean


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
    problem: FitProblem, degrees: list[FloatVector], distribution: NoiseDistribution
) -> PublicTargets:
    """Sums between public groups for a synthetic graph, and degrees that fit them.

    1. Unbiased estimates: measured sums, sums of the noisy entries, and sums of the noisy degrees
       in each group, by generalised least squares.
    2. Degrees are scaled to the volumes of their groups; what such degrees alone expect in each
       cell (Chung, Lu) is what the estimates are drawn to (`shrunk_towards`).
    3. Degrees are scaled to the volumes of the result.

    Args:
        problem: with groups, and a finite cap.
        degrees: estimates for the rows and the columns; one array for an adjacency matrix.
        distribution: of the noise of the entries.
    """
    blocks, cap = problem.blocks, problem.cap
    cells = CellEstimates.of(problem.groups)
    left, right = cells.indicators
    seen = left.T @ View(blocks).times(right)
    cells = cells.with_entries(cells.cells(seen), distribution.standard_deviation**2)
    for noisy in problem.degrees:
        counts = np.bincount(cells.rows), np.bincount(cells.columns)
        given = left.T @ noisy.steps[0] * noisy.unit, right.T @ noisy.steps[-1] * noisy.unit
        spread = np.float64(noisy.law.variance)
        cells = cells.with_volumes(given, (counts[0] * spread, counts[1] * spread))
    plain = [_with_volumes(cells, d, cap, side) for side, d in enumerate(degrees)]
    expected = expected_view(blocks, plain, cap)
    alone = cells.cells(left.T @ expected.expected_times(right))
    wanted = cells.shrunk_towards(alone, cap)
    volumes = cells.volumes(wanted)
    final_degrees = [_scaled(cells, d, volumes[side], side) for side, d in enumerate(degrees)]
    ratios = cells.matrix(wanted / np.maximum(alone, 1e-9))
    if cells.symmetric:
        ratios[np.diag_indices_from(ratios)] /= 2
    lengths = [np.sqrt(each.sum(axis=0)) for each in (left, right)]
    return PublicTargets(
        degrees=final_degrees,
        frames=(left / lengths[0], right / lengths[1]),
        sums=cells.matrix(wanted) / np.outer(*lengths),
        expected=_with_ratios(expected, cells, ratios, final_degrees),
    )


def expected_view(blocks: Blocks, degrees: list[FloatVector], cap: float) -> View:
    """Z less the graph that degrees alone expect."""
    if blocks.symmetric:
        ends = chung_lu_ends(degrees[0] / cap)
        return View(blocks, ends, ends, cap)
    wanted = degrees[0] / cap, degrees[1] / cap
    row_ends, column_ends = chung_lu_two_sided_ends(*wanted, hollow=blocks.hollow)
    return View(blocks, row_ends, column_ends, cap)


def _with_volumes(cells: CellEstimates, degrees: FloatVector, cap: float, side: int) -> FloatVector:
    """Degrees scaled within each group to sums between their own and those of the cells.

    Which of the two, the volumes themselves tell, as in `shrunk_towards`: the degrees come from
    noisy data that were shrunk already, and may be the better ones.
    """
    found = cells.volumes(cells.values)[side]
    spread = cells.matrix(cells.variances)
    if cells.symmetric:
        spread[np.diag_indices_from(spread)] *= 2  # pairs within count twice
    own = _group_sums(cells, degrees, side)
    volumes = _shrunk(found, own, spread.sum(axis=1 - side), cap=cap)
    scaled = _scaled(cells, degrees, volumes, side)
    total: FloatVector = scaled * (degrees.sum() / scaled.sum())
    return total


def _group_sums(cells: CellEstimates, degrees: FloatVector, side: int) -> FloatVector:
    groups = cells.columns if side else cells.rows
    sums = np.bincount(groups, weights=degrees, minlength=cells.shape[side])
    return np.asarray(sums, dtype=np.float64)


def _scaled(
    cells: CellEstimates, degrees: FloatVector, volumes: FloatVector, side: int
) -> FloatVector:
    """Degrees scaled within each group to have these sums."""
    groups = cells.columns if side else cells.rows
    factors = np.maximum(volumes, 0.0) / _group_sums(cells, degrees, side)
    scaled: FloatVector = degrees * factors[groups]
    return scaled


def _with_ratios(
    view: View, cells: CellEstimates, ratios: FloatMatrix, degrees: list[FloatVector]
) -> View:
    """The same with other sums between groups, its ends fitted to the degrees again."""
    if view.row_ends is None or view.column_ends is None:
        raise ValueError("only an expected graph has ends")
    rows, columns = view.row_ends, view.column_ends

    def made() -> View:
        return View(view.blocks, rows, columns, view.cap, cells.rows, cells.columns, ratios)

    for _ in range(_SWEEPS):
        sums = made().expected_times(np.ones((view.shape[1], 1)))[:, 0]
        move = np.clip(degrees[0] / np.maximum(sums, 1e-9), 1 / _FAR, _FAR)
        if view.symmetric:
            rows = columns = rows * np.sqrt(move)
        else:
            rows = rows * move
            sums = made().expected_column_sums()
            columns = columns * np.clip(degrees[1] / np.maximum(sums, 1e-9), 1 / _FAR, _FAR)
    return made()
