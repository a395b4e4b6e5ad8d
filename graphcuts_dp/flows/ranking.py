"""The largest flows, and how sure their order is."""

import math
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.flows.base import FlowTable
from graphcuts_dp.flows.statistic_values import RankedFlow, TopFlows
from graphcuts_dp.flows.statistics import checked_failure
from graphcuts_dp.flows.tails import error_radii

_LEAST = 1e-12  # failures below it are not told apart
_ROUNDS = 14  # of bisection, to 2e-3 of a failure


def top_flows(flows: FlowTable, count: int, level: str | None, confidence: float) -> TopFlows:
    """See `FlowStatistics.top_flows`."""
    place = flows.cells.place(level)
    size = flows.cells.size(place)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= size:
        raise QueryError(f"the number of flows must be a whole number from 1 to {size}")
    failure = checked_failure(confidence)
    ranked = _Ranked(flows, place, count)
    low, high = ranked.bounds(failure)
    a, b = flows.cells.cells(place)
    name = flows.groups.levels[place - 1], flows.right_groups.levels[place - 1]
    left, right = flows.groups.labels(name[0]), flows.right_groups.labels(name[1])
    sorted_low, sorted_high = np.sort(low), np.sort(high)
    found = []
    for cell in ranked.order[:count]:
        better = size - np.searchsorted(sorted_low, high[cell], side="right")
        not_worse = size - np.searchsorted(sorted_high, low[cell], side="left")
        found.append(
            RankedFlow(
                source=left[a[cell]],
                target=right[b[cell]],
                value=float(ranked.values[cell]),
                interval=(max(0.0, float(low[cell])), max(0.0, float(high[cell]))),
                ranks=(int(better) + 1, int(not_worse)),
            )
        )
    return TopFlows(
        level=flows.cells.levels[place - 1],
        flows=tuple(found),
        set_chance=ranked.chance(ordered=False),
        order_chance=ranked.chance(ordered=True),
        confidence=confidence,
        seeded=not flows.guarantee.is_private,
    )


@final
class _Ranked:
    """Cells in the order of their estimates, and intervals for all of them at once."""

    def __init__(self, flows: FlowTable, place: int, count: int) -> None:
        self._noisy = flows.noisy
        self._spread = flows.fit.spreads(place)
        self._count = count
        self.values: FloatVector = flows.estimates[place]
        self.order = np.argsort(-self.values, kind="stable")
        lost = 0.0 if flows.noisy.whole else flows.noisy.unit
        self._lost = flows.cells.pairs(place) * lost

    def bounds(self, failure: float) -> tuple[FloatVector, FloatVector]:
        """Ends of the intervals, all at once."""
        noisy = self._noisy
        each = failure / len(self.values)
        radii = error_radii(noisy.noise, noisy.places, self._spread, failure=each) * noisy.unit
        radii = radii + 1e-12 * np.abs(self.values)
        low, high = self.values - radii, self.values + radii + self._lost
        return (np.ceil(low), np.floor(high)) if noisy.whole else (low, high)

    def chance(self, *, ordered: bool) -> float:
        """One minus the least failure at which the intervals are apart, rounded down."""

        def apart(log_failure: float) -> bool:
            low, high = self.bounds(math.exp(log_failure))
            top, rest = self.order[: self._count], self.order[self._count :]
            beside = float(high[rest].max(initial=-math.inf))
            if ordered:
                below = np.append(high[top][1:], beside)
                return bool((low[top] > below).all())
            return bool(low[top].min() > beside)

        left, right = math.log(_LEAST), math.log(1 - 1e-9)
        if not apart(right):
            return 0.0
        if apart(left):
            return 1 - _LEAST
        for _ in range(_ROUNDS):
            middle = (left + right) / 2
            left, right = (left, middle) if apart(middle) else (middle, right)
        return 1 - math.exp(right)
