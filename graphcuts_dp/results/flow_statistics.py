"""Compute statistics of a table of flows, each with a derived interval.

Everything here is post-processing of the noisy sums. With X the matrix of a level, E is the table
of the ends of edges: E = X where arcs have a direction, and E = X + diag(X) for one vertex set
without directions, where an edge is seen from both of its ends. t = sum E, r and c are the sums of
its rows and columns.

First what the statistics come as, then `FlowStatistics`, whose methods they are, and what these are
computed by: the linear forms of a level, ratios of quadratic functions of it (modularity,
assortativity), the order of its cells, and tables without dependence. All of it is long, and is one
topic: an interval for a function of one table.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.confidence import (
    DEFAULT_CONFIDENCE,
    INTERVAL_COLUMNS,
    SIMULTANEOUS_COLUMNS,
    percent,
)
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.answers import nearest_within
from graphcuts_dp.estimate.tails import RatioBounds, Side, error_radii, ratio_bounds
from graphcuts_dp.frames import made_frame
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, entropy_source
from graphcuts_dp.privacy.level_noise import Spread
from graphcuts_dp.results.flow_table import ROUNDING, FlowTable, checked_failure
from graphcuts_dp.schema.vertices import Label

_SCALINGS = 30  # rounds of proportional fitting, where some cells are impossible
_MOST = 10_000_000  # simulated tables
_LEAST = 1e-12  # failures below it are not told apart
_HALVINGS = 14  # of bisection, to 2e-3 of a failure
_OUTWARD = 1e-9  # more than floats and the search lose
_ROUNDS = 60
_FEW = 64  # groups
_BOX = 0.1  # of the failure: for the sums of rows and columns, all at once


@final
@dataclass(frozen=True, kw_only=True)
class Statistic:
    """A number computed from flows. May be published.

    Attributes:
        name: what it is.
        value: of the unbiased estimates put in, moved to the nearest number of the interval; NaN
            where the estimated denominator is not above 0.
        interval: (low, high), cut to what is possible; all that is possible where the noise hides
            whether the denominator is 0.
        confidence: that the interval holds the truth, in (0, 1).
        seeded: whether the noise came from a seed, so that the number is not private.
        counted: which rows the flows count and what is left out, which the interval does not allow
            for; empty where all count.
    """

    name: str
    value: float
    interval: tuple[float, float]
    confidence: float
    seeded: bool = False
    counted: str = ""

    def __str__(self) -> str:
        low, high = self.interval
        mark = f"; {self.counted}" if self.counted else ""
        mark += f" [{SEEDED_WARNING}]" if self.seeded else ""
        scope = percent(self.confidence)
        return f"{self.name}: {self.value:,.4g} in [{low:,.4g}, {high:,.4g}] ({scope}){mark}"


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LevelStatistic:
    """Numbers for the groups, or for every two groups, of a level. May be published.

    Attributes:
        name: what they are.
        level: of the groups.
        labels: of the groups; of numbers for every two of them those of the rows, and of the
            columns.
        values: see `Statistic.value`, shape (groups,) or (rows, columns).
        low: of the intervals, likewise.
        high: likewise.
        confidence: of each interval, or of all of them at once.
        simultaneous: whether all intervals (of cells: of all levels) hold at once.
        seeded: whether the noise came from a seed, so that the numbers are not private.
        counted: which rows the flows count and what is left out; empty where all count.
    """

    name: str
    level: str
    labels: tuple[tuple[Label, ...], ...]
    values: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False
    counted: str = ""

    def to_frame(self, kind: Any = None) -> Any:
        """A table, as `Graph.to_frame`: group, or from and to; value, and the interval.

        Its columns are low and high, or simultaneous_low and simultaneous_high.
        """
        ends = np.meshgrid(*(np.array(side, dtype=object) for side in self.labels), indexing="ij")
        names = ("group",) if len(ends) == 1 else ("from", "to")
        columns = (*ends, self.values, self.low, self.high)
        interval = SIMULTANEOUS_COLUMNS if self.simultaneous else INTERVAL_COLUMNS
        heads = (*names, "value", *interval)
        return made_frame(
            {head: column.ravel().tolist() for head, column in zip(heads, columns, strict=True)},
            kind,
        )


@final
@dataclass(frozen=True, kw_only=True)
class RankedFlow:
    """A cell among the largest ones.

    Attributes:
        source: label of the group of the row.
        target: of the column.
        estimate: unbiased, in units of weight; it may lie outside of the interval.
        interval: of the cell; the intervals of all cells of the level hold at once. `value` lies
            in it.
        ranks: the best and the worst place that the cell can have, from 1, on these intervals.
    """

    source: Label
    target: Label
    estimate: float
    interval: tuple[float, float]
    ranks: tuple[int, int]

    @property
    def value(self) -> float:
        """The number to read: of the interval the nearest to the estimate."""
        return nearest_within(self.estimate, self.interval)


@final
@dataclass(frozen=True, kw_only=True)
class TopFlows:
    """The largest flows of a level, in order. May be published.

    Attributes:
        level: of the groups.
        flows: from the largest estimate on.
        set_chance: confidence that these are the largest cells, in any order; see
            `Flows.top_flows`.
        order_chance: likewise that this is their true order.
        confidence: of the intervals and the ranks, all at once.
        seeded: whether the noise came from a seed, so that the table is not private.
        counted: which rows the flows count and what is left out; empty where all count.
    """

    level: str
    flows: tuple[RankedFlow, ...]
    set_chance: float
    order_chance: float
    confidence: float
    seeded: bool = False
    counted: str = ""


@final
@dataclass(frozen=True, kw_only=True)
class IndependenceTest:
    """Chi-square against independence of the two ends. May be published.

    Attributes:
        statistic: the sum over cells of (estimate - expected)^2/(expected + variance of the noise).
        p_value: how often tables without dependence, with noise of the same law, reach it.
        simulations: number of such tables.
        degrees_of_freedom: of the table without noise, for reference.
        level: of the groups.
        seeded: whether the noise of the flows came from a seed, so that the test is not private.
        counted: which rows the flows count and what is left out; empty where all count.
    """

    statistic: float
    p_value: float
    simulations: int
    degrees_of_freedom: int
    level: str
    seeded: bool = False
    counted: str = ""


class FlowStatistics(FlowTable):
    """Statistics of a table of flows; free, as often as you like.

    All of it is computed from the noisy sums alone, so it may be published and costs nothing. The
    groups must be one set: for flows between two sides only the tables per head, the largest flows
    and the test are defined. All are of one table: of one with periods, take `Flows.period`. Weight
    is truly above 0 wherever a ratio is asked for. An edge from a vertex to itself has both of its
    ends there, so without directions it counts as any other inside its group.

    Intervals of ratios come from inverting tests, whose tails are proven; see `ratio_bounds`. Each
    holds by itself with its confidence, whatever the graph is.
    """

    def share_inside(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """The share of the weight that lies inside groups, in [0, 1].

        Args:
            level: None for the finest.
            confidence: of the interval, in (0, 1).

        Raises:
            QueryError: no such level, a confidence out of range, or flows between two sides.
        """
        ends = TableEnds(self, level)
        failure = checked_failure(confidence)
        sides = ends.side(ends.inside), ends.side(ends.everything)
        bounds = ends.bounds(*sides, failure / 2, failure / 2)
        return ends.statistic("share inside", sides, bounds, (0.0, 1.0), confidence)

    def share_outside(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """The share of the weight that passes between different groups; see `share_inside`."""
        inside = self.share_inside(level, confidence=confidence)
        return _turned(inside, "share outside", lambda x: 1 - x)

    def ei_index(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """(outside - inside)/(outside + inside), in [-1, 1]; see `share_inside`.

        Source: Krackhardt, Stern, *Informal Networks and Organizational Crises*, 1988.
        """
        inside = self.share_inside(level, confidence=confidence)
        return _turned(inside, "E-I index", lambda x: 1 - 2 * x)

    def modularity(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """Modularity of the partition: sum over groups of E_aa/t - r_a c_a/t^2.

        E is the table of ends (see the top of this file), t its sum, r and c those of its
        rows and columns. The interval is that of a ratio of quadratic functions; see
        `_mixing`. Arguments and errors as for `share_inside`.

        Args:
            level: of the groups; the finest if None.
            confidence: probability with which each interval holds, in (0, 1).

        Source: Newman, Girvan, *Finding and evaluating community structure in networks*, 2004;
        Leicht, Newman 2008 for directed graphs.
        """
        return _mixing(self, level, confidence, corrected=False)

    def assortativity(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """Newman's coefficient of the mixing matrix e = E/t, in [-1, 1].

        (trace e - sum of e^2)/(1 - sum of e^2), where the sum of e^2 is sum r_a c_a/t^2. Arguments
        and errors as for `share_inside`.

        Args:
            level: of the groups; the finest if None.
            confidence: probability with which each interval holds, in (0, 1).

        Source: Newman, *Mixing patterns in networks*, 2003, equation (2).
        """
        return _mixing(self, level, confidence, corrected=True)

    def conductance(
        self,
        level: str | None = None,
        groups: Iterable[Label] | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
    ) -> LevelStatistic:
        """For each group the weight that leaves it over the smaller of its volume and the rest's.

        The volume of a group is the number (weight) of ends of edges in it. A group without any is
        left open: its interval is all of [0, 1].

        Args:
            level: None for the finest.
            groups: labels; None for all groups of the level.
            confidence: of each interval, in (0, 1).
            simultaneous: ask for intervals that hold for all these groups at once.

        Raises:
            QueryError: no such level or group, a confidence out of range, or flows that have a
                direction or pass between two sides.
        """
        ends = TableEnds(self, level)
        if not self.cells.symmetric:
            raise QueryError("conductance is of flows without a direction")
        picked = ends.labels if groups is None else tuple(groups)
        codes = [self.groups.code(label, self.cells.names(ends.place)[0]) for label in picked]
        failure = checked_failure(confidence) / (len(codes) if simultaneous else 1)
        rows = [_conductance(ends, code, failure) for code in codes]
        values, low, high = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return LevelStatistic(
            name="conductance",
            level=ends.level,
            labels=(picked,),
            values=values,
            low=low,
            high=high,
            confidence=confidence,
            simultaneous=simultaneous,
            seeded=not self.guarantee.is_private,
            counted=self.counted_sentence,
        )

    def contacts(
        self,
        level: str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
    ) -> LevelStatistic:
        """Mean contacts of a member of the row's group with members of the column's group.

        A cell over the size of the row's group; inside a group each edge is a contact of two
        members. Arguments and errors as for `Flows.intervals`.

        Args:
            level: of the groups; the finest if None.
            confidence: probability with which each interval holds, in (0, 1).
            simultaneous: whether all intervals of the level hold at once with that probability.

        Source: Mossong and others, *Social Contacts and Mixing Patterns Relevant to the Spread of
        Infectious Diseases*, 2008.
        """
        left, right = self._sizes(level)
        factor = np.repeat(1 / left[:, None], len(right), axis=1)
        if self.cells.symmetric:  # an edge inside is a contact of both of its ends
            factor[np.diag_indices_from(factor)] *= 2
        return self._scaled(level, factor, "contacts per head", confidence, simultaneous)

    def social_connectedness(
        self,
        level: str | None = None,
        *,
        largest: float = 1e6,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
    ) -> LevelStatistic:
        """Each cell over the product of the sizes of its groups, times one number for all cells.

        That number makes the largest estimate `largest`; it is computed from noisy sums. The
        intervals hold for the true cells over the products of sizes times the same number. A cell
        (a, a) is the weight inside a over the square of its size.

        Args:
            level: None for the finest.
            largest: the largest estimate, > 0.
            confidence: of each interval, in (0, 1).
            simultaneous: see `Flows.intervals`.

        Raises:
            QueryError: no such level, or a number out of range.

        Source: Bailey, Cao, Kuchler, Stroebel, Wong, *Social Connectedness: CountMeasurement,
        Determinants, and Effects*, 2018.
        """
        if not (isinstance(largest, float | int) and 0 < largest < np.inf):
            raise QueryError("the largest index must be a number above 0, for example 1e6")
        left, right = self._sizes(level)
        factor = 1 / (left[:, None] * right[None, :])
        top = float((self.values(level) * factor).max())
        if top > 0:
            factor *= largest / top
        name = "social connectedness index"
        return self._scaled(level, factor, name, confidence, simultaneous)

    def top_flows(
        self, count: int, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> TopFlows:
        """The largest flows of a level, with the chance that they and their order are right.

        A failure b gives intervals that hold for all cells of the level at once with 1 - b. They
        prove an order where each of these cells lies above the next, and the last above all others.
        `order_chance` is 1 minus the least b at which they do, and 0 where there is none: whatever
        the true table is, a wrong order comes out with an `order_chance` of 1 - b or more with a
        probability of at most b (intervals grow as b falls, so that happens only if those for b
        fail). Likewise `set_chance`, for the cells in any order. Not a Bayesian probability, which
        would need a prior.

        Args:
            count: of flows, from 1 to the number of cells of the level.
            level: None for the finest.
            confidence: of the intervals and the ranks, all at once, in (0, 1).

        Raises:
            QueryError: no such level, or a number out of range.
        """
        level_index = place_of_one(self, level)
        size = self.cells.size(level_index)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= size:
            raise QueryError(f"the number of flows must be a whole number from 1 to {size}")
        failure = checked_failure(confidence)
        ranked = _Ranked(self, level_index, count)
        low, high = ranked.bounds(failure)
        lowest, highest = self._possible(low, high, self.cells.pairs(level_index))
        a, b = self.cells.cells(level_index)
        left, right = self.labels(level)
        sorted_low, sorted_high = np.sort(low), np.sort(high)
        flows = []
        for cell in ranked.order[:count]:
            better = size - np.searchsorted(sorted_low, high[cell], side="right")
            not_worse = size - np.searchsorted(sorted_high, low[cell], side="left")
            flows.append(
                RankedFlow(
                    source=left[a[cell]],
                    target=right[b[cell]],
                    estimate=float(ranked.values[cell]),
                    interval=(float(lowest[cell]), float(highest[cell])),
                    ranks=(int(better) + 1, int(not_worse)),
                )
            )
        return TopFlows(
            level=self.cells.levels[level_index - 1],
            flows=tuple(flows),
            set_chance=ranked.chance(ordered=False),
            order_chance=ranked.chance(ordered=True),
            confidence=confidence,
            seeded=not self.guarantee.is_private,
            counted=self.counted_sentence,
        )

    def independence_test(
        self,
        level: str | None = None,
        *,
        simulations: int = 999,
        counts: bool = False,
        seed: int = 0,
    ) -> IndependenceTest:
        """Chi-square of the table against independence of the two ends, with the noise in its law.

        The hypothesis: each edge picks its two ends independently, a group a with a chance p_a (for
        rows and columns, where they differ), among the cells that can hold a pair. The statistic is
        the sum over cells of (x - e)^2/(e + v): x the estimate, e what is expected from the margins
        of the estimates, v the variance of the noise. Its law comes from tables of as many edges
        that are drawn with these e, with fresh noise of the same distributions made consistent in
        the same way, each with the expected cells of its own margins.

        The p-value is (1 + tables that reach the statistic)/(1 + simulations). It would be exact if
        the margins were known; with estimated margins the level holds approximately, which is
        tested by simulation (a parametric bootstrap), not proven.

        Args:
            level: None for the finest.
            simulations: at least 19.
            counts: say that each unit of weight is an observation of its own; graphs without
                weights need not.
            seed: of the simulated tables, which tell nothing about the graph.

        Raises:
            QueryError: no such level, a number out of range, or weights that are not said to be
                counts.

        Source: Gaboardi, Lim, Rogers, Vadhan, *Differentially Private Chi-Squared Hypothesis
        Testing*, 2016, whose Monte Carlo test this is, with the variance of the noise in the
        denominator.
        """
        if self.noisy.map.weighted and not counts:
            raise QueryError(
                "chi-square is for counts, and these edges have weights; if each unit of weight "
                "is an observation of its own, pass counts=True"
            )
        if isinstance(simulations, bool) or not isinstance(simulations, int):
            raise QueryError("the number of simulations must be a whole number, for example 999")
        if not 19 <= simulations <= _MOST:
            raise QueryError("the number of simulations must be at least 19 (999 is common)")
        level_index = place_of_one(self, level)
        table = _Independence(self, level_index)
        values = self.estimates[level_index]
        statistic, expected = table.statistic(values)
        draw = table.null(expected, seed)
        reached = sum(table.statistic(draw())[0] >= statistic for _ in range(simulations))
        return IndependenceTest(
            statistic=statistic,
            p_value=(1 + reached) / (1 + simulations),
            simulations=simulations,
            degrees_of_freedom=table.degrees_of_freedom,
            level=self.cells.levels[level_index - 1],
            seeded=not self.guarantee.is_private,
            counted=self.counted_sentence,
        )

    def _sizes(self, level: str | None) -> tuple[FloatVector, FloatVector]:
        names = self.cells.names(place_of_one(self, level))
        sides = zip((self.groups, self.right_groups), names, strict=True)
        left, right = (side.sizes(name).astype(np.float64) for side, name in sides)
        return left, right

    def _scaled(
        self,
        level: str | None,
        factor: FloatMatrix,
        name: str,
        confidence: float,
        simultaneous: bool,
    ) -> LevelStatistic:
        """Each cell times a number: so are its interval, and the estimate moved into it."""
        low, high = self.intervals(level, confidence=confidence, simultaneous=simultaneous)
        return LevelStatistic(
            name=name,
            level=self.levels[self.cells.level_index(level) - 1],
            labels=self.labels(level),
            values=np.clip(self.values(level), low, high) * factor,
            low=np.nextafter(low * factor, -np.inf),
            high=np.nextafter(high * factor, np.inf),
            confidence=confidence,
            simultaneous=simultaneous,
            seeded=not self.guarantee.is_private,
            counted=self.counted_sentence,
        )


def place_of_one(flows: FlowTable, level: str | None) -> int:
    """The place of a level that has one period.

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


class TableEnds:
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
        self.place: int = place_of_one(flows, level)
        self.level: str = cells.levels[self.place - 1]
        self.labels: tuple[Label, ...] = cells.rows.labels(cells.names(self.place)[0])
        self.codes: tuple[IntVector, IntVector] = cells.cells(self.place)
        self.diagonal: BoolVector = self.codes[0] == self.codes[1]
        self.twice: float = (
            2.0 if cells.symmetric else 1.0
        )  # an edge has two ends where arcs have one
        self.everything: FloatVector = np.full(len(self.codes[0]), self.twice)  # of t
        self.inside: FloatVector = self.everything * self.diagonal  # of the trace of E

    def leaving(self, group: int) -> FloatVector:
        """Return the form of r of a group: of the endpoints in it, or of the arcs from it."""
        coefficients: FloatVector = (self.codes[0] == group).astype(np.float64)
        if self.flows.cells.symmetric:
            coefficients += self.codes[1] == group
        return coefficients

    def entering(self, group: int) -> FloatVector:
        """Return the form of c of a group, of a table with directions."""
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
        """A form as the numerator or the denominator of a ratio, in steps.

        Its slack is what rounding weights down, and floats, can have moved the estimate by.
        """
        flows, sizes = self.flows, np.abs(form)
        estimates = flows.estimates[self.place] / flows.noisy.unit
        slack = ROUNDING * float(sizes @ np.abs(estimates))
        slack += float(sizes @ flows.lost_by_rounding(self.place)) / flows.noisy.unit
        noise_coefficients = flows.fit.coefficients({self.place: form})
        return Side(float(form @ estimates), noise_coefficients, slack)

    def bounds(self, top: Side, bottom: Side, below: float, above: float) -> RatioBounds:
        """Return the bounds of a ratio; see `ratio_bounds`."""
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
        """A ratio with its interval, cut to what is possible."""
        top, bottom = sides
        low, high = (float(np.clip(end, *possible)) for end in (bounds.low, bounds.high))
        ratio = top.value / bottom.value if bottom.value > 0 else float("nan")
        return Statistic(
            name=name,
            value=nearest_within(ratio, (low, high)),
            interval=(low, high),
            confidence=confidence,
            seeded=not self.flows.guarantee.is_private,
            counted=self.flows.counted_sentence,
        )


def _turned(found: Statistic, name: str, change: Callable[[float], float]) -> Statistic:
    """A falling function of a statistic."""
    low, high = found.interval
    return replace(
        found, name=name, value=change(found.value), interval=(change(high), change(low))
    )


def _conductance(ends: TableEnds, group: int, failure: float) -> tuple[float, float, float]:
    """The larger of cut/volume and cut/rest.

    The truth is one of the two ratios, and which one is no matter of the noise. Its own upper bound
    fails with half of the failure, so the larger upper bound does. The larger lower bound fails
    only if one of the two does: a quarter each.
    """
    inside = ends.leaving(group)
    crossing = np.where((ends.codes[0] == group) & ends.diagonal, 0, inside)
    cut = ends.side(crossing)
    sides = [ends.side(form) for form in (inside, ends.everything - inside)]
    ratios = [ends.bounds(cut, side, failure / 4, failure / 2) for side in sides]
    low = float(np.clip(max(ratio.low for ratio in ratios), 0, 1))
    high = float(np.clip(max(ratio.high for ratio in ratios), 0, 1))
    least = min(side.value for side in sides)
    ratio = cut.value / least if least > 0 else math.nan
    return nearest_within(ratio, (low, high)), low, high


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
    added = np.clip(1 - low.sum() - (np.cumsum(room) - room), 0, room)
    shares = low[order] + added
    most = float(((low + high)[order] * shares - (low * high)[order]).sum())
    return max(least - _OUTWARD, 0.0), min(most + _OUTWARD, 1.0)


def _mixing(
    flows: FlowTable, level: str | None, confidence: float, *, corrected: bool
) -> Statistic:
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
    return ends.statistic(name, sides, RatioBounds(low, high), (least, 1.0), confidence)


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
    noisy, count, symmetric = ends.flows.noisy, len(ends.labels), ends.flows.cells.symmetric
    forms = [ends.side(form) for form in ends.forms()]
    indices = noisy.map.noise_indices
    sizes = [[np.abs(form.coefficients[index]) for index in indices] for form in forms]
    spread = Spread(
        np.array([[(size**2).sum() for size in form_sizes] for form_sizes in sizes]),
        np.array([[size.max(initial=0.0) for size in form_sizes] for form_sizes in sizes]),
        len(forms),
    )
    errors = noisy.noise.radii(spread, failure=failure * _BOX)  # d
    errors = errors + np.array([form.slack for form in forms])
    slack = float(errors[2 : 2 + count] @ errors[-count:])
    # The sum of r c at the estimates, and its gradient by cells.
    a, b = ends.codes
    cells = ends.flows.estimates[ends.place] / noisy.unit
    rows, columns = (np.bincount(codes, weights=cells, minlength=count) for codes in ends.codes)
    if symmetric:
        rows = columns = rows + columns
    products, gradient = float(rows @ columns), ends.twice * (columns[a] + rows[b])
    total, trace = forms[0].value, forms[1].value
    top = ends.side(total * ends.inside + trace * ends.everything - gradient)
    bottom = ends.side(2 * total * ends.everything - (gradient if corrected else 0.0))
    top = replace(
        top,
        value=total * trace - products,
        slack=top.slack + 3 * (errors[0] * errors[1] + slack),
    )
    bottom = replace(
        bottom,
        value=total**2 - (products if corrected else 0.0),
        slack=bottom.slack + 3 * (errors[0] ** 2 + (slack if corrected else 0.0)),
    )
    tail_failure = failure * (1 - _BOX) / 2
    return (top, bottom), ends.bounds(top, bottom, tail_failure, tail_failure)


def _by_shares(ends: TableEnds, failure: float, *, corrected: bool) -> RatioBounds:
    """From bounds on the share inside, s, and on the share of each group, all at once.

    With P the sum of the products of shares, modularity is s - P and assortativity
    (s - P)/(1 - P); both rise with s and fall with P.
    """
    everything = ends.side(ends.everything)
    forms = list(ends.forms())[1:]
    tail_failure = failure / (2 * len(forms))
    ratios = [
        ends.bounds(ends.side(form), everything, tail_failure, tail_failure) for form in forms
    ]
    low = np.clip([bounds.low for bounds in ratios], 0, 1)
    high = np.clip([bounds.high for bounds in ratios], 0, 1)
    count = len(ends.labels)
    rows = low[1 : 1 + count], high[1 : 1 + count]
    if ends.flows.cells.symmetric:
        least, most = squared_shares(*rows)
    else:
        columns = low[1 + count :], high[1 + count :]
        least = max(float(rows[0] @ columns[0]) - _OUTWARD, 0.0)
        most = min(float(rows[1] @ columns[1]) + _OUTWARD, 1.0)
    down, up = low[0] - most, high[0] - least
    if not corrected:
        return RatioBounds(float(down), float(up))
    return RatioBounds(
        float(down / (1 - most)) if most < 1 else -1.0,
        float(up / (1 - least)) if least < 1 else 1.0,
    )


@final
class _Ranked:
    """Cells in the order of their estimates, and intervals for all of them at once."""

    def __init__(self, flows: FlowTable, place: int, count: int) -> None:
        self._flows, self._place, self._count = flows, place, count
        self._spread = flows.fit.spreads(place)
        self.values: FloatVector = flows.estimates[place]
        self.order = np.argsort(-self.values, kind="stable")

    def bounds(self, failure: float) -> tuple[FloatVector, FloatVector]:
        """Ends of the intervals, all at once."""
        noisy, cell_failure = self._flows.noisy, failure / len(self.values)
        indices = noisy.map.noise_indices
        radii = error_radii(noisy.noise, indices, self._spread, failure=cell_failure) * noisy.unit
        radii = radii + ROUNDING * np.abs(self.values)
        low, high = self.values - radii, self.values + radii
        if noisy.map.whole:
            low, high = np.ceil(low), np.floor(high)
            # No whole number lies between: take those beside.
            return np.minimum(low, high), np.maximum(low, high)
        return low, high + self._flows.lost_by_rounding(self._place)

    def _apart(self, log_failure: float, *, ordered: bool) -> bool:
        """Return whether the intervals prove that these are the largest cells, perhaps in order."""
        low, high = self.bounds(math.exp(log_failure))
        top, other_cells = self.order[: self._count], self.order[self._count :]
        next_high = float(high[other_cells].max(initial=-math.inf))
        if ordered:
            return bool((low[top] > np.append(high[top][1:], next_high)).all())
        return bool(low[top].min() > next_high)

    def chance(self, *, ordered: bool) -> float:
        """One minus the least failure at which the intervals are apart, rounded down."""
        left, right = math.log(_LEAST), math.log(1 - 1e-9)
        if not self._apart(right, ordered=ordered):
            return 0.0
        if self._apart(left, ordered=ordered):
            return 1 - _LEAST
        for _ in range(_HALVINGS):
            middle = (left + right) / 2
            if self._apart(middle, ordered=ordered):
                right = middle
            else:
                left = middle
        return 1 - math.exp(right)


class _Independence:
    """The statistic of a level, and tables without dependence."""

    def __init__(self, flows: FlowTable, place: int) -> None:
        self._flows, self._place = flows, place
        cells = flows.cells
        self._a, self._b = cells.cells(place)
        self._shape = cells.shape(place)
        self._variances = flows.fit.variances[place] * flows.noisy.unit**2
        possible = cells.matrix(place, np.ones(len(self._a)))
        self._possible: FloatMatrix | None = None if (possible > 0).all() else possible
        # A cell of one vertex set without directions holds both (a, b) and (b, a).
        twice = cells.symmetric & (self._a != self._b)
        self._half = np.where(cells.symmetric & ~twice, 0.5, 1.0)
        free = len(self._a) - sum(self._shape) + 1
        self.degrees_of_freedom = free + self._shape[0] - 1 if cells.symmetric else free

    def statistic(self, values: FloatVector) -> tuple[float, FloatVector]:
        """The sum, and the expected cells from the margins of the table."""
        expected = self._expected(values)
        off = (values - expected) ** 2 / (expected + self._variances)
        return float(off.sum()), expected

    def _expected(self, values: FloatVector) -> FloatVector:
        left = np.bincount(self._a, weights=values, minlength=self._shape[0])
        right = np.bincount(self._b, weights=values, minlength=self._shape[1])
        if self._flows.cells.symmetric:
            left = right = left + right
        left, right = np.maximum(left, 0), np.maximum(right, 0)
        total = max(float(left.sum()), 1e-300)
        if self._possible is None:
            return left[self._a] * right[self._b] / total * self._half
        rows, columns = left / np.sqrt(total), right / np.sqrt(total)
        for _ in range(_SCALINGS):
            sums = rows * (self._possible @ columns)
            factor = np.divide(left, sums, out=np.zeros_like(left), where=sums > 0)
            if self._flows.cells.symmetric:
                rows = columns = rows * np.sqrt(factor)
                continue
            rows = rows * factor
            sums = columns * (self._possible.T @ rows)
            columns *= np.divide(right, sums, out=np.zeros_like(right), where=sums > 0)
        return np.asarray(rows[self._a] * columns[self._b] * self._half)

    def null(self, expected: FloatVector, seed: int) -> Callable[[], FloatVector]:
        """Makes estimates of tables with these expected cells, with fresh noise of the same law."""
        flows, noisy = self._flows, self._flows.noisy
        rng = np.random.default_rng(seed)
        source = entropy_source(seed)
        total = round(float(expected.sum()))
        shares = expected / max(float(expected.sum()), 1e-300)

        def draw() -> FloatVector:
            counts = rng.multinomial(total, shares) if total else np.zeros(len(shares))
            sums = {}
            parts = zip(noisy.map.noise_indices, noisy.steps, strict=True)
            for number, (index, steps) in enumerate(parts):
                sums[index] = noisy.noise.draw(number, len(steps), source)
            noise = flows.fit.estimates({p: s.astype(np.float64) for p, s in sums.items()})
            return counts + noise[self._place] * noisy.unit

        return draw
