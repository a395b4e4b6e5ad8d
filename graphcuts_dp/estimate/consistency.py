"""Consistent estimates of a tree of cells by generalised least squares, and their errors.

A table of flows has a tree of *cells* (`CellTree`): each cell of a level is divided into cells of
the next level, its *parts*. Levels are numbered by a *level index*: 0 is the single cell that holds
everything, i the i-th level. Some levels are measured: their sums have independent noise, so they
do not add up. The least-squares estimates do. They are unbiased, and every linear combination of
them has the least variance of all linear unbiased estimates (Gauss, Markov).

Terms used here: a *parent* is the cell of the level above that holds a cell; its *siblings* are the
other parts of the parent. `cells.parents(i)` gives the parent of each cell of level i, as a number
within level i - 1. Numbers per level are lists with an array for each level index.

`LeastSquares` computes the estimates in two passes over the tree, in time and memory proportional
to the number of cells. An `ErrorSpread` summarises the coefficients with which the noise enters an
estimate, for proven intervals (see `tails`). `rounded_cells` rounds the estimates from the top down
to whole numbers that are possible and add up.

Source: Hay, Rastogi, Miklau, Suciu, *Boosting the Accuracy of Differentially Private Histograms
Through Consistency*, 2010, section 4, here with noise that differs between levels, cells of any
number of parts, and levels that were not measured.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement
from graphcuts_dp.schema.cells import CellTree, Picked

_BISECTIONS = 55  # as many as a float has bits
# What is this near below a whole number counts as the whole number: bisection is not exact.
_WHOLE_TOLERANCE = 1e-9
_DIVISION_TOLERANCE = 4e-15  # relative: more than a product and a division lose
_MOST_INTEGER = 2.0**62  # larger counts stay floats

# For each level index, a number for each cell: shape (cells of the level,).
Values = list[FloatVector]


@final
@dataclass(frozen=True, eq=False)
class ErrorSpread:
    """The coefficients of the noise of each level in the errors of some estimates. Public.

    Attributes:
        squares: exact sum of the squared coefficients of a level's noise, shape (estimates, depth).
        largest: bound on the largest absolute coefficient, shape (estimates, depth).
        absolute: bound on the sum of the absolute coefficients, shape (estimates, depth).
        least_largest: lower bound on the largest absolute coefficient, same shape; None where
            `largest` is the coefficient itself.
    """

    squares: FloatMatrix
    largest: FloatMatrix
    absolute: FloatMatrix
    least_largest: FloatMatrix | None = None


class TableFit(Protocol):
    """Name what rounding reads of the least squares of a table: `LeastSquares` or `MarginFit`."""

    @property
    def variances(self) -> Values:
        """Variances of the estimates of each level."""
        ...

    @property
    def upward_variances(self) -> Values:
        """Variances by which cells share out what they lack to their parent."""
        ...


@final
class LeastSquares:
    """The two passes for a tree of cells and given variances of its levels.

    Upward pass: z of a cell combines its noisy sum y (variance v) with the sum S of the z of its
    parts (variance W), by their precisions:

        z = own y + (1 - own) S,   own = w/v,   1/w = 1/v + 1/W,

    where w is the variance of z and W the sum of the parts' w. Downward pass: the estimate x is z
    at the top; the parts of a cell share out what they lack to its x, in proportion to their w:

        x_part = z_part + share (x - S),   share = w_part/W.

    Args:
        cells: the public cells.
        variances: of one noisy sum of each level, > 0, infinite where none was measured, finite at
            the finest level. Only their ratios matter for the estimates. Shape (depth,).

    Attributes:
        variances: of the estimates x, for each level an array of shape (cells,), exact.
        upward_variances: w, for each level an array of shape (cells,).
    """

    def __init__(self, cells: CellTree, variances: FloatVector) -> None:
        # For each level index, shape (cells,): own, share and w of each cell (see the class).
        self.cells = cells
        self._own: Values = [np.empty(0)] * cells.depth
        self._share: Values = [np.ones(1)] * cells.depth
        w: Values = [np.empty(0)] * cells.depth
        finest = cells.depth - 1
        w[finest] = np.full(cells.size(finest), variances[finest])
        self._own[finest] = np.ones(cells.size(finest))
        for level_index in range(finest - 1, -1, -1):
            # Upward pass. W is the variance of S, for each cell of this level.
            W = _sum_to_parents(cells, level_index + 1, w[level_index + 1])
            own_weight = W / (W + variances[level_index])  # w/v, from 1/w = 1/v + 1/W
            own_weight = np.where(np.isinf(variances[level_index]), 0.0, own_weight)
            self._own[level_index] = own_weight
            w[level_index] = (1 - own_weight) * W
            self._share[level_index + 1] = w[level_index + 1] / self._of_parent(level_index + 1, W)
        self.upward_variances = w
        # Downward pass. x_part = (z_part - share S) + share x, where the two summands have
        # independent errors. The first has variance w_part (1 - share), since share = w_part/W.
        self.variances: Values = [w[0]]
        for level_index in range(1, cells.depth):
            share = self._share[level_index]
            parent_variance = self._of_parent(level_index, self.variances[-1])
            self.variances.append(w[level_index] * (1 - share) + share**2 * parent_variance)

    def _of_parent(self, level_index: int, values: FloatVector) -> FloatVector:
        """Return for each cell of a level the value of its cell of the level above."""
        of_parent: FloatVector = values[self.cells.parents(level_index)]
        return of_parent

    def estimates(self, sums: Mapping[int, FloatVector]) -> Values:
        """Return the estimates of all cells, which add up over the levels.

        Args:
            sums: noisy sums of each measured level, by its index, shape (cells,) each.
        """
        depth = self.cells.depth
        z: Values = [np.empty(0)] * depth
        z[-1] = np.array(sums[depth - 1], dtype=np.float64)
        part_sums: Values = [np.empty(0)] * depth  # S
        for level_index in range(depth - 2, -1, -1):
            S = _sum_to_parents(self.cells, level_index + 1, z[level_index + 1])
            part_sums[level_index] = S
            z[level_index] = S
            if level_index in sums:
                z[level_index] = S + self._own[level_index] * (sums[level_index] - S)
        estimates: Values = [z[0]]
        for level_index in range(1, depth):
            lacking = estimates[level_index - 1] - part_sums[level_index - 1]
            of_parent = self._of_parent(level_index, lacking)
            estimates.append(z[level_index] + self._share[level_index] * of_parent)
        return estimates

    def coefficients(self, combination: Mapping[int, FloatVector]) -> Values:
        """Return the coefficients of the noisy sums y in a linear combination of the estimates x.

        `estimates` computes x from y by linear steps. The same steps are walked backwards here, and
        each replaces the coefficient of its result by coefficients of its inputs:

        - From the finest level up, x_part = z_part + share (x_parent - S): a coefficient c of
          x_part becomes c of z_part, share c of x_parent and -share c of S.
        - From the top down, z = own y + (1 - own) S, where S is the sum of the z of the parts: a
          coefficient c of z becomes own c of y and (1 - own) c of S, which each part's z inherits.

        Args:
            combination: coefficients of the estimates of some levels, by level index, shape
                (cells,) each.

        Returns:
            For each level an array of shape (cells,); 0 at levels that were not measured.
        """
        depth = self.cells.depth
        sizes = [self.cells.size(level_index) for level_index in range(depth)]
        # Coefficients of x, S, z and y for each level. `of_S` is that of the cell's own parts' sum.
        of_x = [np.array(combination.get(i, np.zeros(size))) for i, size in enumerate(sizes)]
        of_S: Values = [np.zeros(size) for size in sizes]
        for level_index in range(depth - 1, 0, -1):
            shared = of_x[level_index] * self._share[level_index]
            to_parents = _sum_to_parents(self.cells, level_index, shared)
            of_x[level_index - 1] = of_x[level_index - 1] + to_parents
            of_S[level_index - 1] = -to_parents
        of_y: Values = []
        for level_index in range(depth):
            of_z = of_x[level_index]  # z enters x with 1, and the S of the parent with 1
            if level_index:
                of_z = of_z + self._of_parent(level_index, of_S[level_index - 1])
            of_y.append(self._own[level_index] * of_z)
            of_S[level_index] = of_S[level_index] + (1 - self._own[level_index]) * of_z
        return of_y

    def spread_of(self, coefficients: Sequence[FloatVector]) -> ErrorSpread:
        """Return the spread of one combination, from the coefficients of the noisy sums."""
        absolute_coefficients = [np.abs(level) for level in coefficients]
        rows = [
            [(level**2).sum(), level.max(initial=0.0), level.sum()]
            for level in absolute_coefficients
        ]
        squares, largest, absolute = np.array(rows, dtype=np.float64).T
        return ErrorSpread(squares[None], largest[None], absolute[None])

    def spreads(self, level_index: int) -> ErrorSpread:
        """Return the spreads of the estimates of all cells of a level, in one pass down the tree.

        Split the x of a cell into two parts with different noise: x = k z + rest. z depends only on
        the noisy sums within the cell (*inside*), the rest only on the others (*outside*). At the
        root k = 1 and the rest is 0. To go from a cell to one of its parts, insert
        x = k z + rest and z = own y + (1 - own) S into x_part = z_part + share (x - S):

            x_part = z_part - share (1 - k (1 - own)) S + share k own y + share rest.

        Write t = 1 - k (1 - own). S is z_part plus the z of the siblings, so

            x_part = (1 - share t) z_part
                     - share t (z of the siblings) + share (k own y + rest).

        So the k of the part is 1 - share t. The second line is the rest of the part. Its three
        summands have different noise: that of the siblings, of the parent's y, and of the cells
        outside of the parent. So squares and absolute values of coefficients add up, and the
        largest coefficient is the largest of the three.

        All three are exact. That `largest` is no mere bound matters: see `error_radii`.
        """
        depth = self.cells.depth
        # Spreads of z (inside) and of the rest (outside), for each level. Each has the shape (3,
        # depth, cells), see `_upward_spreads`.
        inside = self._upward_spreads()
        outside = [np.zeros((3, depth, 1))]
        k = np.ones(1)
        for current in range(1, level_index + 1):
            above, share = current - 1, self._share[current]
            t = self._of_parent(current, 1 - k * (1 - self._own[above]))
            own_sum = k * self._own[above]  # coefficient of the parent's y in the parent's x
            # Spread of k own y + rest for the cells of the level above. y has noise of that level,
            # and so may the rest have, from siblings of the parent: other noise than that of y.
            of_own = np.zeros((3, depth, len(own_sum)))
            of_own[:, above] = np.array([own_sum**2, own_sum, own_sum])
            outer = _joined(outside[above], of_own)
            parents = self.cells.parents(current)
            siblings = self._sibling_spreads(current, inside[current])
            outside.append(
                _joined(_scaled(outer[:, :, parents], share), _scaled(siblings, share * t))
            )
            k = 1 - share * t
        spread = _joined(outside[level_index], _scaled(inside[level_index], k))
        squares, largest, absolute = spread
        return ErrorSpread(squares.T, largest.T, absolute.T)

    def _upward_spreads(self) -> list[FloatMatrix]:
        """Return the spread of the z of all cells, for each level.

        z = own y + (1 - own) S, where all noise is different. The noise of the cell's own level is
        that of y alone; the noise of finer levels is that of its parts, times 1 - own.

        Returns:
            For each level an array of shape (3, depth, cells): squares, largest, absolute, for the
            noise of each level.
        """
        depth = self.cells.depth
        spreads: list[FloatMatrix] = [np.empty(0)] * depth
        for level_index in range(depth - 1, -1, -1):
            table = np.zeros((3, depth, self.cells.size(level_index)))
            if level_index < depth - 1:
                next_index = level_index + 1
                parents, of_parts = self.cells.parents(next_index), spreads[next_index]
                for noise_index in range(next_index, depth):
                    squares, largest, absolute = of_parts[:, noise_index]
                    table[0, noise_index] = _sum_to_parents(self.cells, next_index, squares)
                    np.maximum.at(table[1, noise_index], parents, largest)
                    table[2, noise_index] = _sum_to_parents(self.cells, next_index, absolute)
                table = _scaled(table, 1 - self._own[level_index])
            own_weight = self._own[level_index]
            table[:, level_index] = own_weight**2, own_weight, own_weight
            spreads[level_index] = table
        return spreads

    def _sibling_spreads(self, level_index: int, inside: FloatMatrix) -> FloatMatrix:
        """Return the spread of the sum of the z of each cell's siblings.

        The largest coefficient is that of all parts of the parent but the cell itself; 0 if the
        cell has no siblings.

        Args:
            level_index: of the cells.
            inside: spread of the z of these cells, shape (3, depth, cells).
        """
        spreads = np.zeros_like(inside)
        parents, parent_count = self.cells.parents(level_index), self.cells.size(level_index - 1)
        for noise_index in range(level_index, self.cells.depth):
            for measure in (0, 2):  # squares and absolute values add up
                of_cells = inside[measure, noise_index]
                of_parents = _sum_to_parents(self.cells, level_index, of_cells)
                spreads[measure, noise_index] = np.maximum(of_parents[parents] - of_cells, 0)
            spreads[1, noise_index] = _largest_of_siblings(
                inside[1, noise_index], parents, parent_count
            )
        only_part = np.bincount(parents, minlength=parent_count)[parents] == 1
        spreads[:, :, only_part] = 0
        return spreads


def _sum_to_parents(cells: CellTree, level_index: int, values: FloatVector) -> FloatVector:
    """Return the sums of the values of a level's cells over the cells of the level above."""
    parents, parent_count = cells.parents(level_index), cells.size(level_index - 1)
    return np.bincount(parents, weights=values, minlength=parent_count).astype(np.float64)


def _largest_of_siblings(values: FloatVector, parents: IntVector, parent_count: int) -> FloatVector:
    """Return for each cell the largest value of the other cells of its parent, 0 if it is alone.

    Args:
        values: of the cells, >= 0, shape (cells,).
        parents: of the cells, in order, shape (cells,).
        parent_count: number of parents.
    """
    first, second = np.zeros(parent_count), np.zeros(parent_count)
    np.maximum.at(first, parents, values)
    is_first = values == first[parents]
    np.maximum.at(second, parents[~is_first], values[~is_first])
    # Where two cells or more have the largest value, it is also that of the others of each.
    shared = np.bincount(parents[is_first], minlength=parent_count) > 1
    second[shared] = first[shared]
    return np.where(is_first, second[parents], first[parents])


def _scaled(spread: FloatMatrix, factor: FloatVector) -> FloatMatrix:
    """Return the spread of numbers times a factor >= 0; shape (3, depth, cells)."""
    squares, largest, absolute = spread
    return np.stack([squares * factor**2, largest * factor, absolute * factor])


def _joined(first: FloatMatrix, second: FloatMatrix) -> FloatMatrix:
    """Return the spread of the sum of two numbers with different noise; shape (3, depth, cells)."""
    return np.stack([first[0] + second[0], np.maximum(first[1], second[1]), first[2] + second[2]])


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class RoundedFlows:
    """Flows rounded to whole numbers that add up over the levels.

    They are biased where cells are small, since negative estimates are raised to 0. For sums and
    averages use the estimates of `Flows`, the table of a release.

    Attributes:
        cells: the public cells.
        counts: for each level index, whole numbers of units in each cell, shape (cells,), at least
            0 and at most what the pairs of the cell can weigh.
        unit: the weight of a count of 1. It is 1 but for rows whose unit of weight is larger, and
            for weights with an error below 1, where it is a power of ten.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> halves = gc.Groups(gc.VertexSet(club.labels), {"half": [v % 2 for v in range(34)]})
        >>> rounded = gc.release_flows(club, halves, epsilon=1.0).rounded()
        >>> bool((rounded.values() >= 0).all())
        True
    """

    cells: CellTree
    counts: Values
    unit: float

    def column(self, level_index: int) -> IntVector | FloatVector:
        """Return the cells of a level as weights, shape (cells,): whole numbers as integers.

        Args:
            level_index: position in `counts`.
        """
        counts = self.counts[level_index]
        if self.unit < 1:
            return np.round(counts * self.unit, round(-math.log10(self.unit)))
        weights = counts * self.unit
        if self.unit.is_integer() and weights.max(initial=0) < _MOST_INTEGER:
            return weights.astype(np.int64)
        return weights

    def values(self, level: str | None = None, period: str | None = None) -> FloatMatrix:
        """Return the cells of a level as a matrix of weights; see `Flows.values`.

        Args:
            level: name of the level; None for the finest.
            period: name of a period; None for the sum of all.

        Raises:
            QueryError: if there is no such level or period.
        """
        level_index = self.cells.level_index(level)
        # `summed` adds up the cells of all periods asked for, `matrix` arranges the sums by groups.
        counts = self.cells.summed(level_index, self.counts[level_index], period)
        return self.cells.matrix(level_index, counts * self.unit)

    def between(
        self,
        a: Picked,
        b: Picked,
        level: str | None = None,
        *,
        period: Picked | None = None,
    ) -> float:
        """Return the flow between two groups or unions of groups; see `Flows.between`.

        Args:
            a: a group of the rows, or several.
            b: a group of the columns, or several.
            level: name of the level; None for the finest.
            period: a period, or several; None for all.

        Raises:
            QueryError: if there is no such level, group or period.
        """
        level_index = self.cells.level_index(level)
        # `picked` says which cells lie between the groups, in the periods asked for.
        selected = self.cells.picked(level_index, a, b, period)
        return float(self.counts[level_index][selected].sum() * self.unit)


def rounded_cells(
    noisy: CountMeasurement[CellSums], fit: TableFit, estimates: Values
) -> RoundedFlows:
    """Return estimates rounded to possible whole numbers that add up; see `Flows.rounded`.

    The total of each of the coarsest periods is rounded first: its own estimate, which does not
    depend on other periods. Then the cells of each level are rounded so that they add up to the
    rounded cells of the level above.

    Args:
        noisy: the measurement, which gives the unit and the maximum weight of a pair.
        fit: the least squares of these estimates.
        estimates: of all cells, in units of weight.
    """
    cells = noisy.map.tree
    finest = cells.depth - 1
    unit = _rounding_unit(noisy, float(fit.variances[finest].min()))
    most = _most_units(noisy, unit)
    # The coarsest period of each cell of the first level, as its parent in place of the root.
    periods = cells.periods_of(1)
    period_sums = np.bincount(periods, weights=estimates[1] / unit)
    totals: FloatVector = np.clip(np.rint(period_sums), 0, np.bincount(periods, weights=most[1]))
    counts: Values = [np.array([totals.sum()])]
    for level_index in range(1, cells.depth):
        counts.append(
            _shared_out(
                periods if level_index == 1 else cells.parents(level_index),
                targets=estimates[level_index] / unit,
                variances=fit.upward_variances[level_index],
                totals=totals,
                most=most[level_index],
            )
        )
        totals = counts[-1]
    return RoundedFlows(cells=cells, counts=counts, unit=unit)


def _rounding_unit(noisy: CountMeasurement[CellSums], variance: float) -> float:
    """Return the weight of a count of 1.

    Edges, rows and amounts are counted in whole numbers, even where their grid units are fractions.
    So are weights, unless their error is below 1: then it is the power of ten that gives two digits
    of the error.

    Args:
        noisy: the measurement.
        variance: least variance of a finest cell, in squared grid units.
    """
    if noisy.map.rounding == "none" or not noisy.map.weighted or noisy.map.integral:
        return max(noisy.unit, 1.0)
    error = math.sqrt(variance) * noisy.unit
    return 1.0 if error >= 1 or not error else 10.0 ** (math.floor(math.log10(error)) - 1)


def _most_units(noisy: CountMeasurement[CellSums], unit: float) -> Values:
    """Return the most whole units of each cell, for each level; infinite without a maximum weight.

    Coarser cells can hold what their finest cells can hold together in whole units.
    """
    cells, max_weight = noisy.map.tree, noisy.map.max_weight
    finest = cells.depth - 1
    if max_weight is None:
        return [np.full(cells.size(index), math.inf) for index in range(cells.depth)]
    heaviest = math.floor(max_weight) if noisy.map.integral else max_weight
    units = cells.pairs(finest) * heaviest / unit
    most: Values = [np.floor(units * (1 + _DIVISION_TOLERANCE))]
    for level_index in range(finest, 0, -1):
        most.insert(0, _sum_to_parents(cells, level_index, most[0]))
    return most


def _shared_out(
    parents: IntVector,
    *,
    targets: FloatVector,
    variances: FloatVector,
    totals: FloatVector,
    most: FloatVector,
) -> FloatVector:
    """Return whole numbers from 0 to `most` that add up to `totals` and are near the targets.

    For each parent, the real numbers x that minimise the sum of (x - target)^2/variance under the
    same conditions are clip(target + variance t, 0, most) with one number t (a Lagrange
    multiplier). Their sum grows with t, so t is found by bisection. Then they are rounded down, and
    the largest remainders are rounded up.

    Args:
        parents: of the cells that are rounded, shape (cells,).
        targets: shape (cells,).
        variances: > 0, shape (cells,).
        totals: whole numbers, one for each parent, at most the sum of `most` over its parts.
        most: largest number of each cell, shape (cells,).
    """
    parent_count = len(totals)
    # Only ratios within a parent matter. What follows depends on no other parent, so that a period
    # is rounded alike by itself and with others.
    largest = np.zeros(parent_count)
    np.maximum.at(largest, parents, variances)
    variances = variances / largest[parents]
    # At t = +reach a cell alone has more than the total of its parent, unless `most` stops it; at
    # t = -reach it is 0. So t lies between -high and high, the largest reach of the cells.
    reach = (np.abs(targets) + totals[parents] + 1) / variances
    high = np.zeros(parent_count)
    np.maximum.at(high, parents, reach)
    low = -high
    for _ in range(_BISECTIONS):
        t = (low + high) / 2
        shares = np.clip(targets + variances * t[parents], 0, most)
        too_large = np.bincount(parents, weights=shares, minlength=parent_count) > totals
        low, high = np.where(too_large, low, t), np.where(too_large, t, high)
    shares = np.clip(targets + variances * ((low + high) / 2)[parents], 0, most)
    floors = np.floor(shares + _WHOLE_TOLERANCE)
    lacking = totals - np.bincount(parents, weights=floors, minlength=parent_count)
    return _with_remainders_rounded_up(parents, floors, shares - floors, lacking, most)


def _with_remainders_rounded_up(
    parents: IntVector,
    counts: FloatVector,
    remainders: FloatVector,
    lacking: FloatVector,
    most: FloatVector,
) -> FloatVector:
    """Return whole numbers with 1 added to the cells of the largest remainders.

    Args:
        parents: parent of each cell, shape (cells,).
        counts: whole numbers, at most `most`, shape (cells,).
        remainders: what rounding down left, shape (cells,).
        lacking: how much the cells of each parent lack to its total, shape (parents,). If there is
            less room than that below `most`, all cells with room are filled and the rest is left.
        most: largest number of each cell, shape (cells,).
    """
    while (lacking > 0).any():
        has_room = counts < most
        # Each round adds at most 1 to each cell. Order cells by parent; within a parent those with
        # room come first, and of these the largest remainders. The first `lacking` ones are raised.
        order = np.lexsort((-remainders, ~has_room, parents))
        ordered_parents = parents[order]
        first_of_parent = np.searchsorted(ordered_parents, np.arange(len(lacking)))
        rank_in_parent = np.arange(len(order)) - first_of_parent[ordered_parents]
        raised = order[(rank_in_parent < lacking[ordered_parents]) & has_room[order]]
        counts = counts.copy()
        counts[raised] += 1
        lacking = lacking - np.bincount(parents[raised], minlength=len(lacking))
        if not len(raised):
            break
    return counts
