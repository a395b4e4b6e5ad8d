"""What people compute from a table of flows, each with an interval that is derived.

Everything here is post-processing of the noisy sums. With X the matrix of a level, E is the table
of the ends of edges: E = X where arcs have a direction, and E = X + diag(X) for one vertex set
without directions, where an edge is seen from both of its ends. t = sum E, r and c are the sums of
its rows and columns.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.tails import RatioBounds, Side, ratio_bounds
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.results.flow_table import FlowTable, checked_failure
from graphcuts_dp.results.flow_values import GroupStatistic, Statistic

_FLOAT = 1e-12  # relative to a value: more than floats lose


class TableEnds:
    """The linear forms of a level that statistics are made of, as coefficients of its cells.

    Args:
        flows: whose groups are one set.
        level: None for the finest.

    Raises:
        QueryError: no such level, or flows between two sides.
    """

    def __init__(self, flows: FlowTable, level: str | None) -> None:
        cells = flows.cells
        if not cells.one_set:
            raise QueryError("flows between two sides have no inside: this needs one vertex set")
        self.flows = flows
        self.place = cells.place(level)
        self.level = cells.levels[self.place - 1]
        self.labels = cells.rows.labels(self.level)
        self.codes = cells.cells(self.place)
        self._diagonal = self.codes[0] == self.codes[1]

    @property
    def inside(self) -> FloatVector:
        """Of the trace of E."""
        found: FloatVector = self._diagonal * (2.0 if self.flows.cells.symmetric else 1.0)
        return found

    @property
    def everything(self) -> FloatVector:
        """Of t."""
        return np.full(len(self._diagonal), 2.0 if self.flows.cells.symmetric else 1.0)

    def leaving(self, group: int) -> FloatVector:
        """Of r of a group: of the ends in it, or of the arcs from it."""
        found: FloatVector = (self.codes[0] == group).astype(np.float64)
        if self.flows.cells.symmetric:
            found += self.codes[1] == group
        return found

    def entering(self, group: int) -> FloatVector:
        """Of c of a group."""
        if self.flows.cells.symmetric:
            return self.leaving(group)
        found: FloatVector = (self.codes[1] == group).astype(np.float64)
        return found

    def crossing(self, group: int) -> FloatVector:
        """Of what leaves a group for another."""
        found = self.leaving(group).copy()
        found[(self.codes[0] == group) & self._diagonal] = 0
        return found

    def value(self, wanted: FloatVector) -> float:
        """The estimate of a form, in steps."""
        return float(wanted @ self.flows.estimates[self.place]) / self.flows.noisy.unit

    def lost(self, wanted: FloatVector) -> float:
        """By how much rounding weights down, and floats, can have moved the estimate, in steps."""
        sizes = np.abs(wanted)
        noisy = self.flows.noisy
        floats = _FLOAT * float(sizes @ np.abs(self.flows.estimates[self.place])) / noisy.unit
        if noisy.whole:
            return floats
        return floats + float(sizes @ self.flows.cells.pairs(self.place))

    def side(self, wanted: FloatVector) -> Side:
        """A form as the numerator or the denominator of a ratio."""
        told = self.flows.fit.coefficients({self.place: wanted})
        return Side(self.value(wanted), told, self.lost(wanted))

    def bounds(self, top: Side, bottom: Side, below: float, above: float) -> RatioBounds:
        """Of a ratio; see `ratio_bounds`."""
        noisy = self.flows.noisy
        return ratio_bounds(noisy.noise, noisy.places, top, bottom, below=below, above=above)


def share(flows: FlowTable, level: str | None, confidence: float) -> Statistic:
    """The share of the weight inside groups; see `FlowStatistics.share_inside`."""
    ends = TableEnds(flows, level)
    failure = checked_failure(confidence)
    top, bottom = ends.side(ends.inside), ends.side(ends.everything)
    bounds = ends.bounds(top, bottom, failure / 2, failure / 2)
    return as_statistic(flows, "share inside", (top, bottom), bounds, (0.0, 1.0), confidence)


def turned(found: Statistic, name: str, change: Callable[[float], float]) -> Statistic:
    """A falling function of a statistic."""
    low, high = found.interval
    return replace(
        found, name=name, value=change(found.value), interval=(change(high), change(low))
    )


def conductance(
    flows: FlowTable,
    level: str | None,
    groups: Iterable[Label] | None,
    confidence: float,
    simultaneous: bool,
) -> GroupStatistic:
    """See `FlowStatistics.conductance`."""
    ends = TableEnds(flows, level)
    if not flows.cells.symmetric:
        raise QueryError("conductance is of flows without a direction")
    picked = ends.labels if groups is None else tuple(groups)
    codes = [flows.groups.code(label, ends.level) for label in picked]
    failure = checked_failure(confidence) / (len(codes) if simultaneous else 1)
    rows = [_conductance(ends, code, failure) for code in codes]
    values, low, high = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return GroupStatistic(
        name="conductance",
        level=ends.level,
        labels=picked,
        values=values,
        low=low,
        high=high,
        confidence=confidence,
        simultaneous=simultaneous,
        seeded=not flows.guarantee.is_private,
    )


def _conductance(ends: TableEnds, group: int, failure: float) -> tuple[float, float, float]:
    """The larger of cut/volume and cut/rest.

    The truth is one of the two ratios, and which one is no matter of the noise. Its own upper bound
    fails with half of the failure, so the larger upper bound does. The larger lower bound fails
    only if one of the two does: a quarter each.
    """
    inside = ends.leaving(group)
    cut = ends.side(ends.crossing(group))
    sides = [ends.side(wanted) for wanted in (inside, ends.everything - inside)]
    found = [ends.bounds(cut, side, failure / 4, failure / 2) for side in sides]
    low = float(np.clip(max(each.low for each in found), 0, 1))
    high = float(np.clip(max(each.high for each in found), 0, 1))
    least = min(side.value for side in sides)
    return cut.value / least if least > 0 else np.nan, low, high


def as_statistic(
    flows: FlowTable,
    name: str,
    sides: tuple[Side, Side],
    bounds: RatioBounds,
    possible: tuple[float, float],
    confidence: float,
) -> Statistic:
    """A ratio with its interval, cut to what is possible."""
    top, bottom = sides
    low, high = (float(np.clip(end, *possible)) for end in (bounds.low, bounds.high))
    return Statistic(
        name=name,
        value=top.value / bottom.value if bottom.value > 0 else float("nan"),
        interval=(low, high),
        confidence=confidence,
        seeded=not flows.guarantee.is_private,
    )
