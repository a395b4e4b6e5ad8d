"""Compute ratios of functions of one table of flows, with intervals whose tails are proven.

With X the matrix of a level, E is the table of the endpoints of edges: E = X if edges have a
direction, and E = X + diag(X) for one vertex set without directions, where an edge is counted at
both of its endpoints. t = sum E, r and c are the sums of its rows and columns.

Read `EndpointTable` first: it has the linear forms of a level. `mixing` computes modularity and
assortativity from them, `conductance` that of a group.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.answers import nearest_within
from graphcuts_dp.estimate.tails import RatioBounds, Side, ratio_bounds
from graphcuts_dp.privacy.level_noise import Spread
from graphcuts_dp.results.flow_table import ROUNDING, FlowTable, checked_failure
from graphcuts_dp.results.flow_values import Statistic
from graphcuts_dp.schema.vertices import Label

_OUTWARD = 1e-9  # more than floats and the bisection of `squared_shares` lose
_ROUNDS = 60  # of that bisection
_FEW_GROUPS = 64  # up to so many, `mixing` also computes the interval by shares
_FORMS_SHARE = 0.1  # of the failure probability, for all linear forms at once in `_by_gradient`


def level_index_of_one(flows: FlowTable, level: str | None) -> int:
    """Return the index of a level that has one period.

    Raises:
        QueryError: no such level, or one of several periods.
    """
    cells, level_index = flows.cells, flows.cells.level_index(level)
    time, count = cells.period_level(level_index), len(cells.lengths(level_index))
    if cells.periods is None or time is None or count == 1:
        return level_index
    if time == cells.period_level(1):
        raise QueryError(
            f"this is a number of one period, and there are {count}: take "
            f"flows.period({cells.periods.labels(time)[0]!r:.60})"
        )
    raise QueryError(
        f"this is a number of one period, and level {cells.levels[level_index - 1]!r:.60} has "
        f"{count} in each {cells.period_level(1)}: name a level of the latter, and take "
        "flows.period(...)"
    )


class EndpointTable:
    """The linear forms of a level that statistics are made of, as coefficients of its cells.

    Args:
        flows: whose groups are one set.
        level: None for the finest.

    Raises:
        QueryError: no such level, one of several periods, or flows between two sides.
    """

    def __init__(self, flows: FlowTable, level: str | None) -> None:
        cells = flows.cells
        if not cells.one_set:
            raise QueryError("flows between two sides have no inside: this needs one vertex set")
        self.flows = flows
        self.level_index: int = level_index_of_one(flows, level)
        self.level: str = cells.levels[self.level_index - 1]
        self.labels: tuple[Label, ...] = cells.rows.labels(cells.names(self.level_index)[0])
        self.codes: tuple[IntVector, IntVector] = cells.cells(self.level_index)
        self.diagonal: BoolVector = self.codes[0] == self.codes[1]
        # An edge is counted at both of its endpoints, an arc once.
        self.weight_of_edge: float = 2.0 if cells.symmetric else 1.0
        # The forms of t and of the trace of E.
        self.everything: FloatVector = np.full(len(self.codes[0]), self.weight_of_edge)
        self.inside: FloatVector = self.everything * self.diagonal

    def leaving(self, group: int) -> FloatVector:
        """Return the form of r_a: the endpoints in a group, or with directions the arcs from it.

        Args:
            group: its code.
        """
        coefficients: FloatVector = (self.codes[0] == group).astype(np.float64)
        if self.flows.cells.symmetric:
            coefficients += self.codes[1] == group
        return coefficients

    def entering(self, group: int) -> FloatVector:
        """Return the form of c_a, the arcs to a group, of a directed table.

        Args:
            group: its code.
        """
        return np.asarray((self.codes[1] == group).astype(np.float64))

    def forms(self) -> Iterator[FloatVector]:
        """Yield the forms of t, trace E, the sums of rows, and those of columns if they differ."""
        yield self.everything
        yield self.inside
        groups = range(len(self.labels))
        yield from (self.leaving(group) for group in groups)
        if not self.flows.cells.symmetric:
            yield from (self.entering(group) for group in groups)

    def side(self, form: FloatVector) -> Side:
        """Return a form as the numerator or the denominator of a ratio, in grid units.

        Its slack bounds the error of the estimate by floats and by rounding weights down.

        Args:
            form: coefficients of the cells.
        """
        flows, sizes = self.flows, np.abs(form)
        estimates = flows.estimates[self.level_index] / flows.noisy.unit
        slack = ROUNDING * float(sizes @ np.abs(estimates))
        slack += float(sizes @ flows.lost_by_rounding(self.level_index)) / flows.noisy.unit
        noise_coefficients = flows.fit.coefficients({self.level_index: form})
        return Side(float(form @ estimates), noise_coefficients, slack)

    def bounds(self, top: Side, bottom: Side, below: float, above: float) -> RatioBounds:
        """Return the bounds of the ratio top/bottom; see `ratio_bounds`.

        Args:
            top: numerator.
            bottom: denominator.
            below: failure probability of the lower bound.
            above: failure probability of the upper bound.
        """
        noisy = self.flows.noisy
        indices = noisy.map.noise_indices
        return ratio_bounds(noisy.noise, indices, top, bottom, below=below, above=above)

    def statistic(
        self,
        name: str,
        sides: tuple[Side, Side],
        bounds: RatioBounds,
        possible: tuple[float, float],
        confidence: float,
    ) -> Statistic:
        """Return a ratio with its interval, cut to what is possible.

        Args:
            name: of the statistic.
            sides: numerator and denominator.
            bounds: of the ratio.
            possible: its smallest and its largest possible value.
            confidence: of the bounds.
        """
        top, bottom = sides
        low, high = (float(np.clip(bound, *possible)) for bound in (bounds.low, bounds.high))
        ratio = top.value / bottom.value if bottom.value > 0 else float("nan")
        return Statistic(
            name=name,
            value=nearest_within(ratio, (low, high)),
            interval=(low, high),
            confidence=confidence,
            seeded=not self.flows.guarantee.is_private,
            counted=self.flows.counted_sentence,
        )


def conductance(endpoints: EndpointTable, group: int, failure: float) -> tuple[float, float, float]:
    """Return the larger of cut/volume and cut/(remaining volume), with its interval.

    The truth is one of the two ratios, and which one does not depend on the noise. The upper bound
    of that ratio fails with half of the failure probability, and so does the larger upper bound.
    The larger lower bound fails only if one of the two does: a quarter each.

    Args:
        endpoints: of a table without directions.
        group: its code.
        failure: probability.

    Returns:
        Value, lower bound and upper bound.
    """
    inside = endpoints.leaving(group)
    crossing = np.where((endpoints.codes[0] == group) & endpoints.diagonal, 0, inside)
    cut = endpoints.side(crossing)
    sides = [endpoints.side(form) for form in (inside, endpoints.everything - inside)]
    ratios = [endpoints.bounds(cut, side, failure / 4, failure / 2) for side in sides]
    low = float(np.clip(max(ratio.low for ratio in ratios), 0, 1))
    high = float(np.clip(max(ratio.high for ratio in ratios), 0, 1))
    least = min(side.value for side in sides)
    ratio = cut.value / least if least > 0 else math.nan
    return nearest_within(ratio, (low, high)), low, high


def mixing(flows: FlowTable, level: str | None, confidence: float, *, corrected: bool) -> Statistic:
    """Return the modularity (t trace E - sum r c)/t^2, or the assortativity if `corrected`.

    The assortativity has the denominator t^2 - sum r c.

    If there are few groups, each of two intervals gets half of the failure probability, and their
    intersection is returned: `_by_shares` is the shorter one for few edges, `_by_gradient` for
    many.

    Args:
        flows: the table.
        level: None for the finest.
        confidence: of the interval, in (0, 1).
        corrected: True for the assortativity.

    Raises:
        QueryError: as for `EndpointTable`, or a confidence out of range.
    """
    endpoints = EndpointTable(flows, level)
    failure = checked_failure(confidence)
    has_few_groups = len(endpoints.labels) <= _FEW_GROUPS
    gradient_failure = failure / 2 if has_few_groups else failure
    sides, bounds = _by_gradient(endpoints, gradient_failure, corrected=corrected)
    low, high = bounds.low, bounds.high
    if has_few_groups:
        second = _by_shares(endpoints, failure / 2, corrected=corrected)
        low, high = max(low, second.low), min(high, second.high)
        low, high = min(low, high), max(low, high)  # disjoint only if one of them failed
    name = "assortativity" if corrected else "modularity"
    least = -0.5 if flows.cells.symmetric and not corrected else -1.0
    return endpoints.statistic(name, sides, RatioBounds(low, high), (least, 1.0), confidence)


def _by_gradient(
    endpoints: EndpointTable, failure: float, *, corrected: bool
) -> tuple[tuple[Side, Side], RatioBounds]:
    """Bound the ratio of two quadratic functions, each linearised at the estimate.

    Let f be a quadratic function of the table and e the error of the estimates. Exactly
    f(estimate) = f(truth) + g e + f(e), where g is the gradient at the truth: a fixed combination
    of cells, independent of the noise, so that its radius is proven. It is known up to the error of
    the gradient at the estimate. Let d be bounds on the errors of the forms t, trace E, r and c,
    all at once (a tenth of the failure probability). A product l m of two forms has
    |f(e)| <= d_l d_m, and the error of its gradient, e_m l + e_l m, has a radius of at most
    2 d_l d_m, since a radius is a norm that is at most d_l for the form l. So 3 d_l d_m for each
    product is added to the radius of the gradient at the estimate.
    """
    flows, count = endpoints.flows, len(endpoints.labels)
    noisy = flows.noisy
    forms = [endpoints.side(form) for form in endpoints.forms()]
    indices = noisy.map.noise_indices
    sizes = [[np.abs(form.coefficients[index]) for index in indices] for form in forms]
    spread = Spread(
        squares=np.array([[(size**2).sum() for size in form_sizes] for form_sizes in sizes]),
        largest=np.array([[size.max(initial=0.0) for size in form_sizes] for form_sizes in sizes]),
        answers=len(forms),
    )
    errors = noisy.noise.radii(spread, failure=failure * _FORMS_SHARE)  # d
    errors = errors + np.array([form.slack for form in forms])
    products_slack = float(errors[2 : 2 + count] @ errors[-count:])  # sum of d_r d_c
    # The sum of r c at the estimates, and its gradient by cells.
    a, b = endpoints.codes
    cells = flows.estimates[endpoints.level_index] / noisy.unit
    rows, columns = (
        np.bincount(codes, weights=cells, minlength=count) for codes in endpoints.codes
    )
    if flows.cells.symmetric:
        rows = columns = rows + columns
    products, gradient = float(rows @ columns), endpoints.weight_of_edge * (columns[a] + rows[b])
    total, trace = forms[0].value, forms[1].value
    # Numerator and denominator: first their gradients, then their values and their errors.
    top = endpoints.side(total * endpoints.inside + trace * endpoints.everything - gradient)
    bottom = endpoints.side(2 * total * endpoints.everything - (gradient if corrected else 0.0))
    top = replace(
        top,
        value=total * trace - products,
        slack=top.slack + 3 * (errors[0] * errors[1] + products_slack),
    )
    bottom = replace(
        bottom,
        value=total**2 - (products if corrected else 0.0),
        slack=bottom.slack + 3 * (errors[0] ** 2 + (products_slack if corrected else 0.0)),
    )
    tail_failure = failure * (1 - _FORMS_SHARE) / 2
    return (top, bottom), endpoints.bounds(top, bottom, tail_failure, tail_failure)


def _by_shares(endpoints: EndpointTable, failure: float, *, corrected: bool) -> RatioBounds:
    """Combine simultaneous bounds on the share inside, s, and on the share of each group.

    With P the sum of the products of shares, modularity is s - P and assortativity
    (s - P)/(1 - P); both rise with s and fall with P.
    """
    everything = endpoints.side(endpoints.everything)
    forms = list(endpoints.forms())[1:]
    tail_failure = failure / (2 * len(forms))
    ratios = [
        endpoints.bounds(endpoints.side(form), everything, tail_failure, tail_failure)
        for form in forms
    ]
    low = np.clip([bounds.low for bounds in ratios], 0, 1)
    high = np.clip([bounds.high for bounds in ratios], 0, 1)
    count = len(endpoints.labels)
    rows = low[1 : 1 + count], high[1 : 1 + count]
    if endpoints.flows.cells.symmetric:
        least, most = squared_shares(*rows)
    else:
        columns = low[1 + count :], high[1 + count :]
        least = max(float(rows[0] @ columns[0]) - _OUTWARD, 0.0)
        most = min(float(rows[1] @ columns[1]) + _OUTWARD, 1.0)
    modularity_low, modularity_high = low[0] - most, high[0] - least
    if not corrected:
        return RatioBounds(float(modularity_low), float(modularity_high))
    return RatioBounds(
        float(modularity_low / (1 - most)) if most < 1 else -1.0,
        float(modularity_high / (1 - least)) if least < 1 else 1.0,
    )


def squared_shares(low: FloatVector, high: FloatVector) -> tuple[float, float]:
    """Return bounds on sum p^2 over all p with low <= p <= high and sum p = 1.

    The least is reached by water filling: all p are the same number, clipped to their bounds. For
    the largest, p^2 <= (low + high) p - low high between the bounds; the sum of that is linear in
    p, and largest if 1 - sum low is added to the p with the largest low + high first.

    Args:
        low: shape (groups,), sum at most 1.
        high: shape (groups,), at least low, sum at least 1.
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
    added = np.clip(1 - low.sum() - (np.cumsum(room) - room), 0, room)
    shares = low[order] + added
    most = float(((low + high)[order] * shares - (low * high)[order]).sum())
    return max(least - _OUTWARD, 0.0), min(most + _OUTWARD, 1.0)
