"""Sums between public groups that a synthetic graph must have, and degrees that agree with them.

The vertices of each side (rows, columns) are split into public groups. A *cell* is a pair of
groups; the sum of a cell is the weight of all pairs with one endpoint in either group. Cell sums
were measured with noise. Two more noisy sources tell of them: the noisy matrix Z, whose entries can
be added up over a cell, and noisy degrees, whose sum over a group is the *volume* of the group.

`CellEstimates` combines the sources without bias. The estimates are then drawn towards the sums
that a graph of those degrees and no other structure expects, the capped Chung-Lu matrix (see
`chung_lu.py`), as far as noise explains the difference. `public_targets` does all steps; read it
first.

Cell sums have two forms. H and K stand for the indicator matrices of the groups: H_ig = 1 if row i
is in group g, K_jh = 1 if column j is in group h.

- As a *matrix*, H^T A K of shape (groups of rows, groups of columns). If A is symmetric, this
  matrix is symmetric and its diagonal counts the pairs within a group twice.
- As a vector with one number a cell, each pair counted once; cells of a symmetric matrix have
  g <= h. `CellEstimates.matrix` and `CellEstimates.cells` convert between the two.

A `View` (`structure.py`) is Z less an *expected matrix* cap * min(1, r_i c_j b_gh), with factors r
and c of the vertices and ratios b between groups. `times` multiplies Z less that matrix with some
vectors, `expected_times` the expected matrix itself.
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
# A cell sum is kept between these shares of the most that its pairs can weigh.
_LOWEST_SHARE, _HIGHEST_SHARE = 1e-3, 0.999
# A cell sum is at least this many caps (largest weights of a pair), so no cell with pairs is empty.
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
        frames: H and K with columns scaled to length 1, which makes them orthonormal.
        sums: the wanted H^T x K for these scaled H and K, shape (groups of rows, groups of
            columns).
        residual: Z less the matrix that these degrees and cell sums lead to expect.
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
    # Step 1.
    estimates = CellEstimates.of(groups)
    left, right = estimates.indicators  # H and K
    entry_sums = estimates.cells(left.T @ View(blocks).times(right))  # Z itself, added up
    estimates = estimates.with_entries(entry_sums, distribution.standard_deviation**2)
    group_sizes = [indicators.sum(axis=0) for indicators in (left, right)]
    noisy = problem.degrees
    if noisy is not None:
        # A degree is a released integer times the unit; `steps` has rows first, columns last.
        volumes = left.T @ noisy.steps[0] * noisy.unit, right.T @ noisy.steps[-1] * noisy.unit
        variances = [sizes * np.float64(noisy.law.variance) for sizes in group_sizes]
        estimates = estimates.with_volumes(volumes, variances)

    # Step 2.
    first_degrees = [
        estimates.agreeing_degrees(side_degrees, cap, side)
        for side, side_degrees in enumerate(degrees)
    ]
    degree_view = expected_view(blocks, first_degrees, cap)
    expected_sums = estimates.cells(left.T @ degree_view.expected_times(right))
    cell_sums = estimates.shrunk_towards(expected_sums, cap)

    # Step 3. Row sums of the matrix of cell sums are volumes of row groups, and so for columns.
    sums = estimates.matrix(cell_sums)
    final_degrees = [
        estimates.scaled_to_volumes(side_degrees, sums.sum(axis=1 - side), side)
        for side, side_degrees in enumerate(degrees)
    ]

    # The expected matrix gets the ratios b_gh = cell sum / sum that degrees expect, and factors
    # that give it the final degrees.
    ratios = estimates.matrix(cell_sums / np.maximum(expected_sums, _TINY))
    if blocks.layout.symmetric:
        ratios[np.diag_indices_from(ratios)] /= 2  # `matrix` doubled them, but they are no sums
    view_with_ratios = replace(degree_view, cells=(*estimates.groups.members, ratios))
    lengths = [np.sqrt(sizes) for sizes in group_sizes]  # of the columns of H and K
    return PublicTargets(
        degrees=final_degrees,
        frames=(left / lengths[0], right / lengths[1]),
        sums=sums / np.outer(*lengths),
        residual=_refitted_to_degrees(view_with_ratios, final_degrees),
    )


@final
@dataclass(frozen=True, eq=False)
class CellEstimates:
    """Unbiased estimates of the sums between groups, from several independent noisy sources.

    Attributes:
        groups: the groups of the vertices, and the list of cells: `members` are the group of each
            row and of each column, `ends` the groups (g, h) of each cell, `pairs` the number of
            pairs in each cell, `shape` the numbers of groups. A symmetric matrix has one `members`
            array twice, and g <= h.
        values: estimated weight of each cell, each pair counted once, shape (cells,).
        variances: of the values, shape (cells,).
    """

    groups: CellSums
    values: FloatVector
    variances: FloatVector

    @classmethod
    def of(cls, measured: CountMeasurement[CellSums]) -> Self:
        """Return the estimates from the measured sums alone.

        `values` of a measurement are in units of weight, in a list of parts (here one), and `law`
        is the law of the noise of each of them.
        """
        values = measured.values[0]
        return cls(measured.map, values, np.full(len(values), measured.law.variance))

    @property
    def symmetric(self) -> bool:
        """True if rows and columns are the same vertices in the same groups."""
        return self.groups.members[0] is self.groups.members[1]

    @cached_property
    def kinds(self) -> tuple[BoolVector, ...]:
        """Masks of the cells within a group (g = h) and of those between groups, shape (cells,).

        Masks without a cell are left out. If rows and columns are not the same vertices, all cells
        lie between groups.
        """
        row_groups, column_groups = self.groups.ends
        is_within_group = (row_groups == column_groups) & self.symmetric
        return tuple(mask for mask in (is_within_group, ~is_within_group) if mask.any())

    @cached_property
    def indicators(self) -> tuple[FloatMatrix, FloatMatrix]:
        """The matrices H and K, shapes (n_left, groups of rows), (n_right, groups of columns)."""
        rows, columns = self.groups.shape
        left = np.eye(rows)[self.groups.members[0]]
        return left, left if self.symmetric else np.eye(columns)[self.groups.members[1]]

    def matrix(self, values: FloatVector) -> FloatMatrix:
        """Arrange one value a cell as the matrix H^T A K.

        Of a symmetric matrix the diagonal gets twice the values.
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
        diagonal of V - gain^T N V. Covariances between cells are dropped.

        Args:
            volumes: of the groups of rows, and of the groups of columns. Of a symmetric matrix the
                former alone are used.
            variances: of the volumes, > 0, same shapes.
        """
        row_groups, column_groups = self.groups.ends
        if self.symmetric:
            volumes, variances = volumes[:1], variances[:1]
        observed, observed_variances = np.concatenate(volumes), np.concatenate(variances)
        incidence = np.zeros((len(observed), len(row_groups)))  # N
        cell_indices = np.arange(len(row_groups))
        np.add.at(incidence, (row_groups, cell_indices), 1.0)
        # Groups of columns follow those of rows; of a symmetric matrix they are the same groups.
        first_column_group = 0 if self.symmetric else self.groups.shape[0]
        np.add.at(incidence, (column_groups + first_column_group, cell_indices), 1.0)
        weighted = incidence * self.variances  # N V
        gain = np.linalg.solve(weighted @ incidence.T + np.diag(observed_variances), weighted)
        values = self.values + gain.T @ (observed - incidence @ self.values)
        return replace(
            self, values=values, variances=self.variances - (gain * weighted).sum(axis=0)
        )

    def shrunk_towards(self, expected: FloatVector, cap: float) -> FloatVector:
        """Return the estimates drawn to expected sums, as far as noise explains the difference.

        `shrunk` has the model, with one unknown spread for all cells between groups, and another
        one for all cells within groups. Both may be 0, so groups that are unrelated to the graph do
        no harm. The result is clipped to what the pairs of a cell can weigh.

        Args:
            expected: what the degrees alone expect of each cell, shape (cells,).
            cap: largest weight of a pair.
        """
        values = self.values.copy()
        for mask in self.kinds:
            values[mask] = shrunk(values[mask], expected[mask], self.variances[mask], cap=cap)
        heaviest = cap * self.groups.pairs  # the most that the pairs of each cell can weigh
        lowest = np.maximum(_LOWEST_SHARE * heaviest, _LOWEST_WEIGHT * cap)
        lowest = np.minimum(lowest, heaviest / 2)  # of a cell with few pairs
        return np.clip(values, lowest, np.maximum(_HIGHEST_SHARE * heaviest, lowest))

    def scaled_to_volumes(
        self, degrees: FloatVector, volumes: FloatVector, side: int
    ) -> FloatVector:
        """Return the degrees of a side, scaled within each group to a volume.

        Args:
            degrees: of one side, > 0.
            volumes: wanted sums over the groups of this side; negative ones count as 0.
            side: 0 for rows, 1 for columns.
        """
        members = self.groups.members[side]
        factors = np.maximum(volumes, 0.0) / np.bincount(members, degrees)
        return np.asarray(degrees * factors[members])

    def agreeing_degrees(self, degrees: FloatVector, cap: float, side: int) -> FloatVector:
        """Return degrees scaled within groups, to volumes between their own and those of the cells.

        The degrees were estimated from noisy data with shrinkage, so their volumes can be closer to
        the truth than those of the cells. Therefore the volumes of the cells are drawn towards
        those of the degrees, as far as noise explains the difference. The total of the degrees
        stays.

        Args:
            degrees: of one side.
            cap: largest weight of a pair.
            side: 0 for rows, 1 for columns.
        """
        cell_volumes = self.matrix(self.values).sum(axis=1 - side)
        variances = self.matrix(self.variances)
        if self.symmetric:
            # A volume has twice the sum of the cell within the group, so four times its variance.
            # `matrix` has put twice its variance on the diagonal.
            variances[np.diag_indices_from(variances)] *= 2
        degree_volumes = np.bincount(self.groups.members[side], degrees).astype(np.float64)
        volumes = shrunk(cell_volumes, degree_volumes, variances.sum(axis=1 - side), cap=cap)
        scaled = self.scaled_to_volumes(degrees, volumes, side)
        if not scaled.any():  # noise has left no group a volume
            return degrees
        return np.asarray(scaled * (degrees.sum() / scaled.sum()))


def shrunk(
    values: FloatVector, expected: FloatVector, variances: FloatVector, *, cap: float
) -> FloatVector:
    """Return values drawn towards what is expected, as far as noise explains the difference.

    The model: a true value is expected * (1 + b g), where g is standard normal and the *spread* b
    is common to all values. b is 0 with prior probability 1/2, else between 0.01 and 100, evenly in
    its logarithm. The posterior mean, which is returned, lies between value and expectation.

    Args:
        values: noisy, shape (k,).
        expected: shape (k,); raised to a quarter of the cap where it is less.
        variances: of the noise, shape (k,).
        cap: largest weight of a pair.
    """
    expected = np.maximum(expected, _LOWEST_WEIGHT * cap)
    spreads = np.concatenate([[0.0], np.geomspace(_SMALLEST_SPREAD, _LARGEST_SPREAD, _SPREADS)])
    difference = values - expected
    # Candidates for the standard deviation b * expected of the signal: shape (spreads, k).
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

    Each sweep multiplies the factor of each row by wanted sum / present sum, and then that of each
    column. In a symmetric matrix r = c, and both factors of a pair change at once, so each is
    multiplied by the root of that ratio.
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
