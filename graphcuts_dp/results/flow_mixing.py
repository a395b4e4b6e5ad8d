"""Modularity and assortativity: ratios of quadratic functions of a table, with intervals.

Bounds on the sum of squared shares of groups, from simultaneous bounds on each share.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.tails import RatioBounds, Side
from graphcuts_dp.privacy.level_noise import Spread
from graphcuts_dp.results.flow_statistics import TableEnds, as_statistic
from graphcuts_dp.results.flow_table import FlowTable, checked_failure
from graphcuts_dp.results.flow_values import Statistic

_OUTWARD = 1e-9  # more than floats and the search lose
_ROUNDS = 60


def squared_shares(low: FloatVector, high: FloatVector) -> tuple[float, float]:
    """Bounds on sum p^2 over all p with low <= p <= high and sum p = 1.

    The least is found by water filling: p is one number, clipped to its bounds. For the largest,
    p^2 <= (low + high) p - low high between the bounds; the sum of that is linear in p and largest
    where what low leaves of 1 goes to the largest low + high first.

    Args:
        low: shape (groups,), sum at most 1.
        high: likewise, at least low, sum at least 1.
    """
    left, right = 0.0, 1.0
    for _ in range(_ROUNDS):
        middle = (left + right) / 2
        if np.clip(middle, low, high).sum() > 1:
            right = middle
        else:
            left = middle
    least = float((np.clip(left, low, high) ** 2).sum())
    order = np.argsort(-(low + high), kind="stable")
    room = (high - low)[order]
    given = np.clip(1 - low.sum() - (np.cumsum(room) - room), 0, room)
    taken = low[order] + given
    most = float(((low + high)[order] * taken - (low * high)[order]).sum())
    return max(least - _OUTWARD, 0.0), min(most + _OUTWARD, 1.0)


def multiplied_shares(
    rows: tuple[FloatVector, FloatVector], columns: tuple[FloatVector, FloatVector]
) -> tuple[float, float]:
    """Bounds on sum p q, from those on the shares p and q."""
    least, most = (float(rows[end] @ columns[end]) for end in (0, 1))
    return max(least - _OUTWARD, 0.0), min(most + _OUTWARD, 1.0)


_FEW = 64  # groups
_BOX = 0.1  # of the failure: for the sums of rows and columns, all at once


def mixing(flows: FlowTable, level: str | None, confidence: float, *, corrected: bool) -> Statistic:
    """Modularity, (t trace E - sum r c)/t^2; corrected, over t^2 - sum r c: assortativity.

    Where there are few groups, half of the failure goes to each of two intervals, and what lies in
    both comes out: `_by_shares` is the shorter one for few edges, `_by_gradient` for many.
    """
    ends = TableEnds(flows, level)
    failure = checked_failure(confidence)
    few = len(ends.labels) <= _FEW
    sides, bounds = _by_gradient(ends, failure / 2 if few else failure, corrected=corrected)
    low, high = bounds.low, bounds.high
    if few:
        second = _by_shares(ends, failure / 2, corrected=corrected)
        low, high = max(low, second.low), min(high, second.high)
        low, high = min(low, high), max(low, high)  # apart only if one of them failed
    name = "assortativity" if corrected else "modularity"
    least = -0.5 if flows.cells.symmetric and not corrected else -1.0
    return as_statistic(flows, name, sides, RatioBounds(low, high), (least, 1.0), confidence)


def _by_gradient(
    ends: TableEnds, failure: float, *, corrected: bool
) -> tuple[tuple[Side, Side], RatioBounds]:
    """The ratio of two quadratic functions, each linearised at the estimate.

    Let f be a quadratic function of the table and e the error of the estimates. Exactly
    f(estimate) = f(truth) + g e + f(e), g being the gradient at the truth: a fixed combination of
    cells, not made from the noise, so that its radius is proven. It is known up to the error of
    the gradient at the estimate. With d bounds on the errors of the forms t, trace E, r and c, all
    at once (a tenth of the failure), a product l m of two of them has |f(e)| <= d_l d_m, and
    its gradient is off by e_m l + e_l m, which has a radius of at most 2 d_l d_m, since a radius is
    a norm that is at most d_l for the form l. So 3 d_l d_m for each product is added to the radius
    of the gradient at the estimate.
    """
    sums = _Sums.of(ends, failure * _BOX)
    inside, everything = ends.inside, ends.everything
    total, trace = ends.value(everything), ends.value(inside)
    products, gradient, slack = sums.products(ends)
    top = ends.side(total * inside + trace * everything - gradient)
    bottom = ends.side(2 * total * everything - (gradient if corrected else 0.0))
    top = Side(
        total * trace - products,
        top.told,
        top.slack + 3 * (sums.total * sums.trace + slack),
    )
    bottom = Side(
        total**2 - (products if corrected else 0.0),
        bottom.told,
        bottom.slack + 3 * (sums.total**2 + (slack if corrected else 0.0)),
    )
    each = failure * (1 - _BOX) / 2
    return (top, bottom), ends.bounds(top, bottom, each, each)


def _by_shares(ends: TableEnds, failure: float, *, corrected: bool) -> RatioBounds:
    """From bounds on the share inside, s, and on the share of each group, all at once.

    With P the sum of the products of shares, modularity is s - P and assortativity
    (s - P)/(1 - P); both rise with s and fall with P.
    """
    everything = ends.side(ends.everything)
    wanted = list(_forms(ends))[1:]
    each = failure / (2 * len(wanted))
    found = [ends.bounds(ends.side(form), everything, each, each) for form in wanted]
    low = np.clip([bounds.low for bounds in found], 0, 1)
    high = np.clip([bounds.high for bounds in found], 0, 1)
    count = len(ends.labels)
    rows = low[1 : 1 + count], high[1 : 1 + count]
    if ends.flows.cells.symmetric:
        least, most = squared_shares(*rows)
    else:
        least, most = multiplied_shares(rows, (low[1 + count :], high[1 + count :]))
    down, up = low[0] - most, high[0] - least
    if not corrected:
        return RatioBounds(float(down), float(up))
    return RatioBounds(
        float(down / (1 - most)) if most < 1 else -1.0,
        float(up / (1 - least)) if least < 1 else 1.0,
    )


@final
@dataclass(frozen=True, eq=False)
class _Sums:
    """Bounds on the errors of t, trace E, and of each sum of a row and of a column, all at once."""

    total: float
    trace: float
    rows: FloatVector
    columns: FloatVector

    @classmethod
    def of(cls, ends: TableEnds, failure: float) -> "_Sums":
        count = len(ends.labels)
        noisy = ends.flows.noisy
        squares, largest, lost = [], [], []
        for wanted in _forms(ends):
            told = ends.flows.fit.coefficients({ends.place: wanted})
            sizes = [np.abs(told[place]) for place in noisy.places]
            squares.append([(size**2).sum() for size in sizes])
            largest.append([size.max(initial=0.0) for size in sizes])
            lost.append(ends.lost(wanted))
        spread = Spread(np.array(squares), np.array(largest), len(lost))
        found = noisy.noise.radii(spread, failure=failure) + np.array(lost)
        rows = found[2 : 2 + count]
        return cls(
            found[0], found[1], rows, rows if ends.flows.cells.symmetric else found[2 + count :]
        )

    def products(self, ends: TableEnds) -> tuple[float, FloatVector, float]:
        """The sum of r c at the estimates, its gradient by cells, and the sum of d_r d_c."""
        a, b = ends.codes
        cells = ends.flows.estimates[ends.place] / ends.flows.noisy.unit
        count = len(ends.labels)
        rows = np.bincount(a, weights=cells, minlength=count).astype(np.float64)
        columns = np.bincount(b, weights=cells, minlength=count).astype(np.float64)
        if ends.flows.cells.symmetric:
            rows = columns = rows + columns
            gradient = 2 * (rows[a] + rows[b])
        else:
            gradient = columns[a] + rows[b]
        return float(rows @ columns), gradient, float(self.rows @ self.columns)


def _forms(ends: TableEnds) -> Iterator[FloatVector]:
    """Coefficients of t, trace E, the sums of rows, and those of columns where they differ."""
    yield ends.everything
    yield ends.inside
    groups = range(len(ends.labels))
    yield from (ends.leaving(group) for group in groups)
    if not ends.flows.cells.symmetric:
        yield from (ends.entering(group) for group in groups)
