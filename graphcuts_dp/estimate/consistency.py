"""Generalised least squares on a tree of cells: estimates in which cells add up, and their noise.

A cell of one place is the sum of its cells of the next. Measured sums do not add up, since each has
noise of its own; the estimates here do, and among all unbiased linear ones they have the least
variance, each of them and each linear combination of them (Gauss, Markov). Computed in two passes,
in time and memory proportional to the number of cells.

Source: Hay, Rastogi, Miklau, Suciu, *Boosting the Accuracy of Differentially Private Histograms
Through Consistency*, 2010, section 4, here with noise that differs between levels, cells of any
number of parts, and levels that were not measured.

From these unbiased tables come whole, non-negative ones, rounded from the top down.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement
from graphcuts_dp.schema.cells import CellTree, Picked

Values = list[FloatVector]  # for each place, a number for each cell


@final
@dataclass(frozen=True, eq=False)
class ErrorSpread:
    """What unit noise in one measured place does to some estimates. Public.

    Attributes:
        squares: sums of the squared coefficients of a place's noise, shape (estimates, depth).
        largest: bounds on the largest absolute coefficients, likewise.
        absolute: bounds on the sums of the absolute coefficients, likewise.
    """

    squares: FloatMatrix
    largest: FloatMatrix
    absolute: FloatMatrix


@final
class LeastSquares:
    """The two passes for a tree of cells and the variances of its places.

    Upwards: z of a cell combines its own sum y (variance v) with the sum S of the z of its parts,
    by their precisions: z = own y + (1 - own) S, own = w/v, 1/w = 1/v + 1/W, W being the sum of the
    parts' w. Downwards: x = z at the top, and what the parts of a cell lack to its x is shared out
    by their w: x_part = z_part + (w_part/W)(x - S).

    Args:
        cells: the public cells.
        variances: of one sum of each place, > 0, infinite where none was measured; finite at the
            last place. Only their ratios matter for the estimates. Shape (depth,).

    Attributes:
        variances: of the estimates of each place, shape (cells,) each, exact for these variances.
        freedom: how much cells give way when their parts must add up: the w above, likewise.
    """

    def __init__(self, cells: CellTree, variances: FloatVector) -> None:
        self.cells = cells
        self._noise = variances
        self._own: Values = [np.empty(0)] * cells.depth
        self._share: Values = [np.ones(1)] * cells.depth
        spread: Values = [np.empty(0)] * cells.depth  # w, the variances of the z
        totals: Values = [np.empty(0)] * cells.depth  # W
        last = cells.depth - 1
        for place in range(last, -1, -1):
            if place == last:
                spread[place] = np.full(cells.size(place), variances[place])
                self._own[place] = np.ones(cells.size(place))
                continue
            totals[place] = self._up(place + 1, spread[place + 1])
            own = totals[place] / (totals[place] + variances[place])
            own = np.where(np.isinf(variances[place]), 0.0, own)
            self._own[place] = own
            spread[place] = (1 - own) * totals[place]
            self._share[place + 1] = spread[place + 1] / self._down(place + 1, totals[place])
        self.freedom = spread
        self.variances: Values = [spread[0]]
        for place in range(1, cells.depth):
            share = self._share[place]
            above = self._down(place, self.variances[-1])
            self.variances.append(spread[place] * (1 - share) + share**2 * above)

    def _up(self, place: int, values: FloatVector) -> FloatVector:
        parents, size = self.cells.parents(place), self.cells.size(place - 1)
        return np.bincount(parents, weights=values, minlength=size).astype(np.float64)

    def _down(self, place: int, values: FloatVector) -> FloatVector:
        found: FloatVector = values[self.cells.parents(place)]
        return found

    def estimates(self, sums: Mapping[int, FloatVector]) -> Values:
        """Estimates for every cell, which add up over the places.

        Args:
            sums: for each measured place the noisy sums, shape (cells,).
        """
        depth = self.cells.depth
        found: Values = [np.empty(0)] * depth
        found[-1] = np.array(sums[depth - 1], dtype=np.float64)
        parts: Values = [np.empty(0)] * depth
        for place in range(depth - 2, -1, -1):
            parts[place] = self._up(place + 1, found[place + 1])
            found[place] = parts[place]
            if place in sums:
                own = self._own[place]
                found[place] = parts[place] + own * (sums[place] - parts[place])
        for place in range(1, depth):
            lacking = self._down(place, found[place - 1] - parts[place - 1])
            found[place] = found[place] + self._share[place] * lacking
        return found

    def coefficients(self, wanted: Mapping[int, FloatVector]) -> Values:
        """The coefficients of the noisy sums in a linear combination of the estimates.

        The passes of `estimates`, transposed and in reverse order.

        Args:
            wanted: coefficients of the cells of some places, shape (cells,) each.

        Returns:
            For each place, shape (cells,); 0 at places that were not measured.
        """
        depth = self.cells.depth
        at_x = [np.array(wanted.get(p, np.zeros(self.cells.size(p)))) for p in range(depth)]
        at_parts: Values = [np.zeros(self.cells.size(p)) for p in range(depth)]
        at_z: Values = list(at_x)
        for place in range(depth - 1, 0, -1):
            pulled = self._up(place, at_x[place] * self._share[place])
            at_x[place - 1] = at_x[place - 1] + pulled
            at_parts[place - 1] = -pulled
            at_z[place] = at_x[place]
        at_z[0] = at_x[0]
        found: Values = []
        for place in range(depth):
            if place:
                at_z[place] = at_z[place] + self._down(place, at_parts[place - 1])
            found.append(self._own[place] * at_z[place])
            at_parts[place] = at_parts[place] + (1 - self._own[place]) * at_z[place]
        return found

    def spread_of(self, coefficients: Sequence[FloatVector]) -> ErrorSpread:
        """The spread of one combination, from the coefficients of the noisy sums."""
        sizes = [np.abs(part) for part in coefficients]
        rows = [[(part**2).sum(), part.max(initial=0.0), part.sum()] for part in sizes]
        squares, largest, absolute = np.array(rows, dtype=np.float64).T
        return ErrorSpread(squares[None], largest[None], absolute[None])

    def spreads(self, place: int) -> ErrorSpread:
        """The spreads of the estimates of all cells of a place, in one sweep down the tree.

        With share = w_part/W, let kept be the coefficient of z in the x of the same cell. All that
        lies below a cell enters every x through its z alone, so with t = 1 - kept (1 - own) of the
        cell above, kept of a part is 1 - share t, and the z of another part of the same cell has
        the coefficient -share t in the part's x; what lies outside has share times its coefficient
        in the x of the cell above. Squares and sums are exact; `largest` takes the part itself for
        one of the others, and is therefore a bound, as is the root of the squares.
        """
        depth = self.cells.depth
        inside = self._inside()
        outside = [np.zeros((3, depth, 1))]
        kept: Values = [np.ones(1)]
        for at in range(1, place + 1):
            share, above = self._share[at], at - 1
            turned = 1 - kept[above] * (1 - self._own[above])
            kept.append(1 - share * self._down(at, turned))
            outer = outside[above].copy()
            alone = kept[above] * self._own[above]  # beside what is there, which is nothing
            outer[:, above] += np.array([alone**2, alone, alone])
            parents = self.cells.parents(at)
            factor = share * self._down(at, turned)
            siblings = self._siblings(at, inside[at])
            outside.append(_joined(_scaled(outer[:, :, parents], share), _scaled(siblings, factor)))
        found = _joined(outside[place], _scaled(inside[place], kept[place]))
        return ErrorSpread(found[0].T, np.minimum(found[1], np.sqrt(found[0])).T, found[2].T)

    def _inside(self) -> list[FloatMatrix]:
        """Of each place the spreads of the z, shape (3, depth, cells)."""
        depth = self.cells.depth
        found: list[FloatMatrix] = [np.empty(0)] * depth
        for place in range(depth - 1, -1, -1):
            table = np.zeros((3, depth, self.cells.size(place)))
            if place < depth - 1:
                below = found[place + 1]
                for level in range(place + 1, depth):
                    table[0, level] = self._up(place + 1, below[0, level])
                    np.maximum.at(table[1, level], self.cells.parents(place + 1), below[1, level])
                    table[2, level] = self._up(place + 1, below[2, level])
                table = _scaled(table, 1 - self._own[place])
            own = self._own[place]
            table[:, place] = own**2, own, own
            found[place] = table
        return found

    def _siblings(self, place: int, inside: FloatMatrix) -> FloatMatrix:
        """What the z of the other parts of the same cell hold; the largest of all of them."""
        found = np.zeros_like(inside)
        parents, size = self.cells.parents(place), self.cells.size(place - 1)
        for level in range(place, self.cells.depth):
            for kind in (0, 2):
                own = inside[kind, level]
                total = np.bincount(parents, weights=own, minlength=size)
                found[kind, level] = np.maximum(total[parents] - own, 0)
            most = np.zeros(size)
            np.maximum.at(most, parents, inside[1, level])
            found[1, level] = most[parents]
        alone = np.bincount(parents, minlength=size)[parents] == 1
        found[:, :, alone] = 0
        return found


def _scaled(table: FloatMatrix, factor: FloatVector) -> FloatMatrix:
    return np.stack([table[0] * factor**2, table[1] * factor, table[2] * factor])


def _joined(first: FloatMatrix, second: FloatMatrix) -> FloatMatrix:
    return np.stack([first[0] + second[0], np.maximum(first[1], second[1]), first[2] + second[2]])


_ROUNDS = 100  # of bisection: more than a float has bits


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class RoundedFlows:
    """Flows rounded to whole numbers of steps that add up over the levels.

    Biased where cells are small, since what is below 0 is raised; for sums and averages take the
    estimates of `Flows`.

    Attributes:
        cells: the public cells.
        counts: for place 0 (everything) and each level, the number of steps in each cell, shape
            (cells,), within 0 and what its pairs can weigh.
        unit: weight of a step; 1 for graphs without weights, and where steps are parts of a row.
    """

    cells: CellTree
    counts: Values
    unit: float

    def values(self, level: str | None = None, period: str | None = None) -> FloatMatrix:
        """The cells of a level as a matrix, in units of weight; see `Flows.values`.

        Raises:
            QueryError: no such level or period.
        """
        place = self.cells.level_index(level)
        counts = self.cells.summed(place, self.counts[place], period)
        return self.cells.matrix(place, counts * self.unit)

    def between(
        self,
        a: Picked,
        b: Picked,
        level: str | None = None,
        *,
        period: Picked | None = None,
    ) -> float:
        """What passes between two groups or unions of groups; see `Flows.between`.

        Raises:
            QueryError: no such level, group or period.
        """
        place = self.cells.level_index(level)
        picked = self.cells.picked(place, a, b, period)
        return float(self.counts[place][picked].sum() * self.unit)


def rounded_cells(
    noisy: CountMeasurement[CellSums], fit: LeastSquares, estimates: Values
) -> RoundedFlows:
    """See `Flows.rounded`.

    Args:
        noisy: what was measured; tells the unit and what is possible.
        fit: of its least squares.
        estimates: of all cells, in units of weight.
    """
    cells, cap = noisy.map.tree, noisy.map.max_weight
    unit = noisy.unit if noisy.map.rounding == "pairs" else max(noisy.unit, 1.0)
    room = math.inf if cap is None else cap // unit
    most: Values = [np.asarray(cells.pairs(place) * room) for place in range(cells.depth)]
    counts: Values = [np.clip(np.rint(estimates[0] / unit), 0, most[0])]
    for place in range(1, cells.depth):
        wanted = estimates[place] / unit
        counts.append(_shared(cells, place, wanted, fit.freedom[place], counts[-1], most[place]))
    return RoundedFlows(cells=cells, counts=counts, unit=unit)


def _shared(
    cells: CellTree,
    place: int,
    wanted: FloatVector,
    freedom: FloatVector,
    totals: FloatVector,
    most: FloatVector,
) -> FloatVector:
    """Whole numbers within 0 and `most` that add up to `totals` and are near `wanted`.

    The nearest real ones, in squares weighted by 1/freedom, are clip(wanted + freedom t, 0, most)
    with one t for each cell above, found by bisection; then the largest remainders are rounded up.
    """
    parents, size = cells.parents(place), cells.size(place - 1)

    def up(values: FloatVector) -> FloatVector:
        return np.bincount(parents, weights=values, minlength=size).astype(np.float64)

    reach = (np.abs(wanted) + totals[parents] + 1) / freedom
    high = np.zeros(size)
    np.maximum.at(high, parents, reach)
    low = -high
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        over = up(np.clip(wanted + freedom * middle[parents], 0, most)) > totals
        low, high = np.where(over, low, middle), np.where(over, middle, high)
        if (high - low).max(initial=0) <= 1e-12 * np.abs(high).max(initial=1):
            break
    found = np.clip(wanted + freedom * ((low + high) / 2)[parents], 0, most)
    whole = np.floor(found + 1e-9)
    return _topped_up(parents, whole, found - whole, totals - up(whole), most)


def _topped_up(
    parents: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    whole: FloatVector,
    remainders: FloatVector,
    lacking: FloatVector,
    most: FloatVector,
) -> FloatVector:
    """One more for as many cells as lack, those of the largest remainders first."""
    while (lacking > 0).any():
        room = whole < most
        order = np.lexsort((-remainders, ~room, parents))
        starts = np.searchsorted(parents[order], np.arange(len(lacking)))
        rank = np.arange(len(order)) - starts[parents[order]]
        chosen = order[(rank < lacking[parents[order]]) & room[order]]
        whole = whole.copy()
        whole[chosen] += 1
        given = np.bincount(parents[chosen], minlength=len(lacking))
        lacking = lacking - given
        if not len(chosen):
            break
    return whole
