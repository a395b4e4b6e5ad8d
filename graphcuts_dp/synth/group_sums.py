"""Sums between public groups that a synthetic graph must have, and degrees that agree with them.

The vertices of each side are split into public groups. A *cell* is a pair of groups; the sum of a
cell is the weight of all pairs with one endpoint in either group. Cell sums were measured with
noise. Two more noisy sources tell of them: the noisy matrix Z, whose entries can be added up over a
cell, and noisy degrees, whose sum over a group is the *volume* of the group.

`CellEstimates` combines the sources without bias. The estimates are then drawn towards the sums
that a graph of those degrees and no other structure expects, the capped Chung-Lu matrix (see
`chung_lu.py`), as far as noise explains the difference. `public_targets` does all steps.

H and K stand for the indicator matrices of the groups: H_ig = 1 if row i is in group g, K_jh = 1 if
column j is in group h. So H^T A K is the matrix of cell sums of a matrix A; for a graph without
directions it counts the pairs within a group twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.chung_lu import chung_lu_factors
from graphcuts_dp.synth.empirical_bayes import spike_and_slab
from graphcuts_dp.synth.structure import View

# Candidates for the typical relative difference between cell sums and what degrees expect.
_SPREADS = 40
_SMALLEST_SPREAD, _LARGEST_SPREAD = 1e-2, 1e2
# A cell sum is kept between these shares of the most that its pairs can weigh ...
_LOWEST_SHARE, _HIGHEST_SHARE = 1e-3, 0.999
# ... and at or above this many caps (the largest weight of a pair): no cell with pairs is empty.
_LOWEST_WEIGHT = 0.25
_FACTOR_SWEEPS = 12  # of refitting the factors of an expected matrix to degrees
_LARGEST_CHANGE = 4.0  # a sweep multiplies or divides a factor by at most this
_TINY = 1e-9  # in place of an expected sum of 0, by which is divided


@final
@dataclass(frozen=True, eq=False)
class PublicTargets:
    """Sums that public groups ask of a synthetic graph.

    Attributes:
        degrees: of rows and columns (a list of one array for a symmetric matrix); their sums over
            the groups are the row and column sums of the cell sums.
        frames: the indicators of the groups, H and K, with columns scaled to length 1.
        sums: the wanted H^T x K for these scaled H and K, shape (groups of rows, groups of
            columns).
        residual: Z less the matrix that these degrees and cell sums alone expect.
    """

    degrees: list[FloatVector]
    frames: tuple[FloatMatrix, FloatMatrix]
    sums: FloatMatrix
    residual: View


def public_targets(
    problem: FitProblem,
    groups: CountMeasurement[CellSums],
    degrees: list[FloatVector],
    distribution: NoiseDistribution,
) -> PublicTargets:
    """Return sums between public groups for a synthetic graph, and degrees that agree with them.

    1. Estimate the cell sums without bias: from measured sums, sums of the noisy entries, and
       volumes of the noisy degrees, by generalised least squares.
    2. Scale the degrees to the volumes of those estimates. Compute the cell sums that such degrees
       alone expect (Chung, Lu), and draw the estimates towards them (`shrunk_towards`).
    3. Scale the degrees to the volumes of the result.

    Args:
        problem: Z, noisy degrees or None, and a finite cap.
        groups: the measured cell sums.
        degrees: estimates for the rows and the columns; a list of one array for a symmetric matrix.
        distribution: of the noise of the entries of Z.
    """
    blocks, cap = problem.blocks, problem.cap
    cells = CellEstimates.of(groups)
    left, right = cells.indicators
    matrix_sums = left.T @ View(blocks).times(right)
    cells = cells.with_entries(cells.cells(matrix_sums), distribution.standard_deviation**2)
    group_sizes = [indicators.sum(axis=0) for indicators in (left, right)]
    noisy = problem.degrees
    if noisy is not None:
        volumes = left.T @ noisy.steps[0] * noisy.unit, right.T @ noisy.steps[-1] * noisy.unit
        variances = [sizes * np.float64(noisy.law.variance) for sizes in group_sizes]
        cells = cells.with_volumes(volumes, variances)

    first_degrees = [
        cells.with_volumes_of(side_degrees, cap, side) for side, side_degrees in enumerate(degrees)
    ]
    residual = expected_view(blocks, first_degrees, cap)
    expected_sums = cells.cells(left.T @ residual.expected_times(right))
    cell_sums = cells.shrunk_towards(expected_sums, cap)

    sums = cells.matrix(cell_sums)
    final_degrees = [
        cells.scaled(side_degrees, sums.sum(axis=1 - side), side)
        for side, side_degrees in enumerate(degrees)
    ]
    ratios = cells.matrix(cell_sums / np.maximum(expected_sums, _TINY))
    if blocks.layout.symmetric:
        ratios[np.diag_indices_from(ratios)] /= 2  # `matrix` counts pairs within groups twice
    residual = replace(residual, cells=(*cells.groups.members, ratios))
    lengths = [np.sqrt(sizes) for sizes in group_sizes]  # of the columns of H and K
    return PublicTargets(
        degrees=final_degrees,
        frames=(left / lengths[0], right / lengths[1]),
        sums=sums / np.outer(*lengths),
        residual=_refitted_to_degrees(residual, final_degrees),
    )


@final
@dataclass(frozen=True, eq=False)
class CellEstimates:
    """Unbiased estimates of the sums between groups, from several independent noisy sources.

    Attributes:
        groups: the groups of the vertices, and the list of cells.
        values: estimated weight of each cell, each pair counted once, shape (cells,).
        variances: of the values, shape (cells,).
    """

    groups: CellSums
    values: FloatVector
    variances: FloatVector

    @classmethod
    def of(cls, measured: CountMeasurement[CellSums]) -> Self:
        """Return the estimates from the measured sums alone."""
        values = measured.values[0]
        return cls(measured.map, values, np.full(len(values), measured.law.variance))

    @property
    def symmetric(self) -> bool:
        """True if rows and columns are the same vertices in the same groups."""
        return self.groups.members[0] is self.groups.members[1]

    @cached_property
    def kinds(self) -> tuple[BoolVector, ...]:
        """Masks of the cells within groups and of those between groups; no mask of an empty kind.

        All cells of a matrix that is not symmetric lie between groups.
        """
        row_groups, column_groups = self.groups.ends
        within = (row_groups == column_groups) & self.symmetric
        return tuple(mask for mask in (within, ~within) if mask.any())

    @cached_property
    def indicators(self) -> tuple[FloatMatrix, FloatMatrix]:
        """The matrices H and K, shapes (n_left, groups of rows), (n_right, groups of columns)."""
        rows, columns = self.groups.shape
        left = np.eye(rows)[self.groups.members[0]]
        return left, left if self.symmetric else np.eye(columns)[self.groups.members[1]]

    def matrix(self, values: FloatVector) -> FloatMatrix:
        """Arrange one value a cell as the matrix H^T A K.

        In a symmetric matrix, H^T A K counts the pairs within a group twice, so the diagonal gets
        twice the values.
        """
        matrix = np.zeros(self.groups.shape)
        matrix[self.groups.ends] = values
        return matrix + matrix.T if self.symmetric else matrix

    def cells(self, matrix: FloatMatrix) -> FloatVector:
        """Return the value of each cell of a matrix H^T A K: the inverse of `matrix`."""
        row_groups, column_groups = self.groups.ends
        values: FloatVector = matrix[row_groups, column_groups].copy()
        if self.symmetric:
            values[row_groups == column_groups] /= 2
        return values

    def with_entries(self, sums: FloatVector, entry_variance: float) -> Self:
        """Return estimates that also use sums of noisy entries, weighted by inverse variances.

        Args:
            sums: of the noisy entries in each cell, each pair once, shape (cells,).
            entry_variance: of the noise of one entry.
        """
        precisions, entry_precisions = 1 / self.variances, 1 / (entry_variance * self.groups.pairs)
        total = precisions + entry_precisions
        values = (precisions * self.values + entry_precisions * sums) / total
        return replace(self, values=values, variances=1 / total)

    def with_volumes(
        self, volumes: Sequence[FloatVector], variances: Sequence[FloatVector]
    ) -> Self:
        """Return estimates that also use noisy volumes, by generalised least squares.

        The volumes are y = N v + noise for the cell sums v, where N_gc is how often the cell c
        counts in the volume of the group g: once for each endpoint in g. With V the diagonal matrix
        of the present variances and Y that of the volumes' variances, the gain is
        (N V N^T + Y)^-1 N V. The new values are v + gain^T (y - N v), and their variances are the
        diagonal of V - gain^T N V.

        Args:
            volumes: sums of the row sums over the groups of rows, then of the column sums over the
                groups of columns. Of a symmetric matrix the former alone are used.
            variances: of the volumes, > 0, same shapes.
        """
        row_groups, column_groups = self.groups.ends
        if self.symmetric:
            volumes, variances = volumes[:1], variances[:1]
        observed, observed_variances = np.concatenate(volumes), np.concatenate(variances)
        incidence = np.zeros((len(observed), len(row_groups)))  # N
        cells = np.arange(len(row_groups))
        np.add.at(incidence, (row_groups, cells), 1.0)
        first_column_group = 0 if self.symmetric else self.groups.shape[0]
        np.add.at(incidence, (column_groups + first_column_group, cells), 1.0)
        weighted = incidence * self.variances  # N V
        gain = np.linalg.solve(weighted @ incidence.T + np.diag(observed_variances), weighted)
        values = self.values + gain.T @ (observed - incidence @ self.values)
        return replace(
            self, values=values, variances=self.variances - (gain * weighted).sum(axis=0)
        )

    def shrunk_towards(self, expected: FloatVector, cap: float) -> FloatVector:
        """Return the estimates drawn to expected sums, as far as noise explains the difference.

        The model: a cell sum is expected * (1 + b g) with g standard normal. One b is common to all
        cells between groups, and another one to all cells within groups; b is 0 with prior
        probability 1/2, else anything (`shrunk`). The posterior mean lies between estimate and
        expectation. Groups that are unrelated to the graph therefore do no harm. The result is
        clipped to what the pairs of a cell can weigh.

        Args:
            expected: what the degrees alone expect of each cell, shape (cells,).
            cap: largest weight of a pair.
        """
        values = self.values.copy()
        for kind in self.kinds:
            values[kind] = shrunk(values[kind], expected[kind], self.variances[kind], cap=cap)
        largest = cap * self.groups.pairs
        lowest = np.maximum(_LOWEST_SHARE * largest, _LOWEST_WEIGHT * cap)
        lowest = np.minimum(lowest, largest / 2)  # of a cell with few pairs
        return np.clip(values, lowest, np.maximum(_HIGHEST_SHARE * largest, lowest))

    def scaled(self, degrees: FloatVector, volumes: FloatVector, side: int) -> FloatVector:
        """Return the degrees of a side (0: rows, 1: columns), scaled within groups to volumes."""
        members = self.groups.members[side]
        factors = np.maximum(volumes, 0.0) / np.bincount(members, degrees)
        return np.asarray(degrees * factors[members])

    def with_volumes_of(self, degrees: FloatVector, cap: float, side: int) -> FloatVector:
        """Return degrees scaled within groups, to volumes between their own and those of the cells.

        The degrees come from noisy data that were shrunk already, and their volumes may be the
        better ones. So the volumes of the cells are drawn towards those of the degrees, as far as
        noise explains the difference. The total of the degrees stays.

        Args:
            degrees: of one side.
            cap: largest weight of a pair.
            side: 0 for rows, 1 for columns.
        """
        cell_volumes = self.matrix(self.values).sum(axis=1 - side)
        variances = self.matrix(self.variances)
        if self.symmetric:
            # Pairs within a group count twice, so their variance counts four times; `matrix` has
            # doubled it already.
            variances[np.diag_indices_from(variances)] *= 2
        degree_volumes = np.bincount(self.groups.members[side], degrees).astype(np.float64)
        volumes = shrunk(cell_volumes, degree_volumes, variances.sum(axis=1 - side), cap=cap)
        scaled = self.scaled(degrees, volumes, side)
        if not scaled.any():  # noise has left no group a volume
            return degrees
        return np.asarray(scaled * (degrees.sum() / scaled.sum()))


def shrunk(
    values: FloatVector, expected: FloatVector, variances: FloatVector, *, cap: float
) -> FloatVector:
    """Return values drawn towards what is expected, as far as noise explains the difference.

    The true value is expected * (1 + b g) with g standard normal and one b for all values. b is 0
    with prior probability 1/2, else between 0.01 and 100, evenly in its logarithm.

    Args:
        values: noisy, shape (k,).
        expected: shape (k,); raised to a quarter of the cap where it is less.
        variances: of the noise, shape (k,).
        cap: largest weight of a pair.
    """
    expected = np.maximum(expected, _LOWEST_WEIGHT * cap)
    spreads = np.concatenate([[0.0], np.geomspace(_SMALLEST_SPREAD, _LARGEST_SPREAD, _SPREADS)])
    difference = values - expected
    signal_share = spike_and_slab((spreads[:, None] * expected) ** 2, difference, variances)
    return np.asarray(expected + signal_share * difference)


def expected_view(blocks: Blocks, degrees: list[FloatVector], cap: float) -> View:
    """Return Z less the matrix cap min(1, r_i c_j) that degrees alone expect.

    Args:
        blocks: Z.
        degrees: row sums and column sums; a list of one array for a symmetric matrix.
        cap: largest weight of a pair.
    """
    columns = None if blocks.layout.symmetric else degrees[1] / cap
    factors = chung_lu_factors(degrees[0] / cap, columns, hollow=blocks.layout.hollow)
    return View(blocks, factors, cap)


def _refitted_to_degrees(view: View, degrees: list[FloatVector]) -> View:
    """Return the view with the factors r and c of its expected matrix fitted to degrees again.

    Each sweep multiplies the factor of a row by wanted sum / present sum, and then that of a
    column. In a symmetric matrix r = c, both endpoints of a pair move at once, and the root of that
    ratio is taken.
    """
    for _ in range(_FACTOR_SWEEPS):
        assert view.factors is not None  # noqa: S101  # an expected matrix has factors
        rows, columns = view.factors
        row_sums = view.expected_times(np.ones((view.shape[1], 1)))[:, 0]
        if view.symmetric:
            rows = columns = rows * np.sqrt(_limited_ratio(degrees[0], row_sums))
        else:
            rows = rows * _limited_ratio(degrees[0], row_sums)
            view = replace(view, factors=(rows, columns))
            columns = columns * _limited_ratio(degrees[1], view.expected_column_sums())
        view = replace(view, factors=(rows, columns))
    return view


def _limited_ratio(target: FloatVector, sums: FloatVector) -> FloatVector:
    """Return target / sums, within the largest change of a sweep."""
    return np.clip(target / np.maximum(sums, _TINY), 1 / _LARGEST_CHANGE, _LARGEST_CHANGE)
