"""Whole, non-negative tables from unbiased ones, from the top down."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.consistency import LeastSquares, Values
from graphcuts_dp.estimate.measurement import NoisyCells
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.pairs.vertices import Label

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
        unit: weight of a step; 1 for graphs without weights.
    """

    cells: CellTree
    counts: Values
    unit: float

    def values(self, level: str | None = None) -> FloatMatrix:
        """The cells of a level as a matrix, in units of weight; see `Flows.values`.

        Raises:
            QueryError: no such level.
        """
        place = self.cells.place(level)
        return self.cells.matrix(place, self.counts[place] * self.unit)

    def between(
        self, a: Label | Iterable[Label], b: Label | Iterable[Label], level: str | None = None
    ) -> float:
        """What passes between two groups or unions of groups; see `Flows.between`.

        Raises:
            QueryError: no such level or group.
        """
        place = self.cells.place(level)
        picked = self.cells.picked(place, a, b)
        return float(self.counts[place][picked].sum() * self.unit)


def rounded_cells(noisy: NoisyCells, fit: LeastSquares, estimates: Values) -> RoundedFlows:
    """See `Flows.rounded`.

    Args:
        noisy: what was measured; tells the unit and what is possible.
        fit: of its least squares.
        estimates: of all cells, in units of weight.
    """
    cells = noisy.cells
    most = [_most(noisy, place) for place in range(cells.depth)]
    counts: Values = [np.clip(np.rint(estimates[0] / noisy.unit), 0, most[0])]
    for place in range(1, cells.depth):
        wanted = estimates[place] / noisy.unit
        counts.append(_shared(cells, place, wanted, fit.freedom(place), counts[-1], most[place]))
    return RoundedFlows(cells=cells, counts=counts, unit=noisy.unit)


def _most(noisy: NoisyCells, place: int) -> FloatVector:
    """What the pairs of each cell can weigh, in whole steps."""
    pairs = noisy.cells.pairs(place).astype(np.float64)
    if noisy.weight_cap is None:
        return np.full(len(pairs), np.inf)
    steps: FloatVector = pairs * np.floor(noisy.weight_cap / noisy.unit)
    return steps


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
