"""Compute statistics of a table of flows, each with a derived interval.

Everything here is post-processing of the noisy sums. `FlowStatistics` has the statistics as
methods. Ratios of linear and quadratic functions of a level are computed in `results.flow_ratios`,
the order of the cells by `_RankedCells`, and tables of independent endpoints by `_Independence`.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.results.flow_ratios import EndpointTable, conductance, level_index_of_one, mixing
from graphcuts_dp.results.flow_table import ROUNDING, FlowTable, checked_failure
from graphcuts_dp.results.flow_values import (
    IndependenceTest,
    LevelStatistic,
    RankedFlow,
    Statistic,
    TopFlows,
)
from graphcuts_dp.schema.vertices import Label

_SCALINGS = 30  # rounds of proportional fitting, where some cells are impossible
_LEAST_SIMULATIONS, _MOST_SIMULATIONS = 19, 10_000_000  # 19: for p-values of 1/20
_LEAST_FAILURE = 1e-12  # smaller failure probabilities count as this one
_HALVINGS = 14  # of bisection, to 2e-3 of a failure


class FlowStatistics(FlowTable):
    """Statistics of a table of flows; free, as often as you like.

    All of them are computed from the noisy sums alone, so they may be published and cost nothing.
    The groups must be one set: for flows between two sides only the tables per head, the largest
    flows and the test are defined. All are of one table: of one with periods, take `Flows.period`.
    A ratio is defined only if the true weight in its denominator is above 0. An edge from a vertex
    to itself has both of its endpoints there, so without directions it counts as any other inside
    its group.

    Intervals of ratios come from inverting tests, whose tails are proven; see `ratio_bounds`. Each
    holds by itself with its confidence, whatever the graph is.
    """

    def share_inside(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """Return the share of the weight that lies inside groups, in [0, 1].

        Args:
            level: None for the finest.
            confidence: of the interval, in (0, 1).

        Raises:
            QueryError: no such level, a confidence out of range, or flows between two sides.
        """
        endpoints = EndpointTable(self, level)
        failure = checked_failure(confidence)
        sides = endpoints.side(endpoints.inside), endpoints.side(endpoints.everything)
        bounds = endpoints.bounds(*sides, failure / 2, failure / 2)
        return endpoints.statistic("share inside", sides, bounds, (0.0, 1.0), confidence)

    def share_outside(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """Return the share of the weight that passes between groups; see `share_inside`."""
        inside = self.share_inside(level, confidence=confidence)
        return _decreasing(inside, "share outside", lambda x: 1 - x)

    def ei_index(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """Return (outside - inside)/(outside + inside), in [-1, 1]; see `share_inside`.

        Source: Krackhardt, Stern, *Informal Networks and Organizational Crises*, 1988.
        """
        inside = self.share_inside(level, confidence=confidence)
        return _decreasing(inside, "E-I index", lambda x: 1 - 2 * x)

    def modularity(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """Return the modularity of the partition: sum over groups of E_aa/t - r_a c_a/t^2.

        E is the table of endpoints (see `results.flow_ratios`), t its sum, r and c the sums of its
        rows and columns. The interval is that of a ratio of quadratic functions; see `mixing`.
        Errors as for `share_inside`.

        Args:
            level: of the groups; the finest if None.
            confidence: of the interval, in (0, 1).

        Source: Newman, Girvan, *Finding and evaluating community structure in networks*, 2004;
        Leicht, Newman 2008 for directed graphs.
        """
        return mixing(self, level, confidence, corrected=False)

    def assortativity(
        self, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> Statistic:
        """Return Newman's coefficient of the mixing matrix e = E/t, in [-1, 1].

        (trace e - sum of e^2)/(1 - sum of e^2), where the sum of e^2 is sum r_a c_a/t^2. Errors as
        for `share_inside`.

        Args:
            level: of the groups; the finest if None.
            confidence: of the interval, in (0, 1).

        Source: Newman, *Mixing patterns in networks*, 2003, equation (2).
        """
        return mixing(self, level, confidence, corrected=True)

    def conductance(
        self,
        level: str | None = None,
        groups: Iterable[Label] | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
    ) -> LevelStatistic:
        """Return the conductance of each group: the weight that leaves it over a volume.

        The volume of a group is the number (weight) of endpoints of edges in it; the smaller one of
        the volumes of the group and of all others counts. The interval of a group without endpoints
        is all of [0, 1].

        Args:
            level: None for the finest.
            groups: labels; None for all groups of the level.
            confidence: of each interval, in (0, 1).
            simultaneous: whether the intervals of all these groups hold at once.

        Raises:
            QueryError: no such level or group, a confidence out of range, or flows that have a
                direction or pass between two sides.
        """
        endpoints = EndpointTable(self, level)
        if not self.cells.symmetric:
            raise QueryError("conductance is of flows without a direction")
        picked = endpoints.labels if groups is None else tuple(groups)
        codes = [
            self.groups.code(label, self.cells.names(endpoints.level_index)[0]) for label in picked
        ]
        failure = checked_failure(confidence) / (max(len(codes), 1) if simultaneous else 1)
        rows = [conductance(endpoints, code, failure) for code in codes]
        values, low, high = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return LevelStatistic(
            name="conductance",
            level=endpoints.level,
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
        """Return mean contacts of a member of the row's group with members of the column's group.

        It is the cell over the size of the row's group; inside a group each edge is a contact of
        two members. Errors as for `Flows.intervals`.

        Args:
            level: of the groups; the finest if None.
            confidence: of each interval, in (0, 1).
            simultaneous: whether the intervals of all cells of all levels hold at once.

        Source: Mossong and others, *Social Contacts and Mixing Patterns Relevant to the Spread of
        Infectious Diseases*, 2008.
        """
        left, right = self._sizes(level)
        factor = np.repeat(1 / left[:, None], len(right), axis=1)
        if self.cells.symmetric:  # an edge inside is a contact of both of its endpoints
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
        """Return each cell over the product of the sizes of its groups, times one number.

        The number is the same for all cells, makes the largest estimate `largest`, and is computed
        from noisy sums. The intervals hold for the true cells over the products of sizes times the
        same number. A cell (a, a) is the weight inside a over the square of its size.

        Args:
            level: None for the finest.
            largest: the largest estimate, > 0.
            confidence: of each interval, in (0, 1).
            simultaneous: see `Flows.intervals`.

        Raises:
            QueryError: no such level, or a number out of range.

        Source: Bailey, Cao, Kuchler, Stroebel, Wong, *Social Connectedness: Measurement,
        Determinants, and Effects*, 2018.
        """
        if not (isinstance(largest, float | int) and 0 < largest < np.inf):
            raise QueryError("the largest index must be a number above 0, for example 1e6")
        left, right = self._sizes(level)
        factor = 1 / (left[:, None] * right[None, :])
        largest_ratio = float((self.values(level) * factor).max())
        if largest_ratio > 0:
            factor *= largest / largest_ratio
        name = "social connectedness index"
        return self._scaled(level, factor, name, confidence, simultaneous)

    def top_flows(
        self, count: int, level: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> TopFlows:
        """Return the largest flows of a level, and the confidence that their order is right.

        With a failure probability b, intervals hold for all cells of the level at once with
        probability 1 - b. They prove an order if each of the listed cells lies above the next one,
        and the last above all other cells. `order_chance` is 1 minus the least b at which they do,
        and 0 if there is no such b. Whatever the true table is, a wrong order has an `order_chance`
        of 1 - b or more with a probability of at most b: intervals grow as b falls, so that happens
        only if the intervals for b fail. `set_chance` is the same for the cells in any order.
        Neither is a Bayesian probability, which would need a prior.

        Args:
            count: of flows, from 1 to the number of cells of the level.
            level: None for the finest.
            confidence: of the intervals and the ranks, all at once, in (0, 1).

        Raises:
            QueryError: no such level, or a number out of range.
        """
        level_index = level_index_of_one(self, level)
        size = self.cells.size(level_index)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= size:
            raise QueryError(f"the number of flows must be a whole number from 1 to {size}")
        failure = checked_failure(confidence)
        ranked = _RankedCells(self, level_index, count)
        low, high = ranked.bounds(failure)
        lowest, highest = self._possible(low, high, self.cells.pairs(level_index))
        a, b = self.cells.cells(level_index)
        left, right = self.labels(level)
        sorted_low, sorted_high = np.sort(low), np.sort(high)
        flows = []
        for cell in ranked.order[:count]:
            surely_larger = size - np.searchsorted(sorted_low, high[cell], side="right")
            not_smaller = size - np.searchsorted(sorted_high, low[cell], side="left")
            flows.append(
                RankedFlow(
                    source=left[a[cell]],
                    target=right[b[cell]],
                    estimate=float(ranked.values[cell]),
                    interval=(float(lowest[cell]), float(highest[cell])),
                    ranks=(int(surely_larger) + 1, int(not_smaller)),
                )
            )
        return TopFlows(
            level=self.cells.levels[level_index - 1],
            flows=tuple(flows),
            set_chance=ranked.confidence_of(ordered=False),
            order_chance=ranked.confidence_of(ordered=True),
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
        """Test the independence of the two endpoints by chi-square, with the noise in its law.

        The hypothesis: each edge picks its two endpoints independently, a group a with probability
        p_a (for rows and columns, where they differ), among the cells that can hold a pair. The
        statistic is the sum over cells of (x - e)^2/(e + v): x the estimate, e what is expected
        from the margins of the estimates, v the variance of the noise. Its law comes from tables of
        as many edges that are drawn with these e, with fresh noise of the same distributions made
        consistent in the same way, each with the expected cells of its own margins.

        The p-value is (1 + tables that reach the statistic)/(1 + simulations). It would be exact if
        the margins were known; with estimated margins the level holds approximately, which is
        tested by simulation (a parametric bootstrap), not proven.

        Args:
            level: None for the finest.
            simulations: from 19 to 10,000,000.
            counts: whether each unit of weight is an observation of its own; of graphs without
                weights each edge is one.
            seed: of the simulated tables, which reveal nothing about the graph.

        Raises:
            QueryError: no such level, a number out of range, or weights without `counts`.

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
        if not _LEAST_SIMULATIONS <= simulations <= _MOST_SIMULATIONS:
            raise QueryError(
                f"the number of simulations must be from {_LEAST_SIMULATIONS} to "
                f"{_MOST_SIMULATIONS:,} (999 is common)"
            )
        level_index = level_index_of_one(self, level)
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
        """Return the sizes of the groups of a level, of the rows and of the columns."""
        names = self.cells.names(level_index_of_one(self, level))
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
        """Multiply each cell and its interval by a number; estimates are moved into intervals."""
        low, high = self.intervals(level, confidence=confidence, simultaneous=simultaneous)
        return LevelStatistic(
            name=name,
            level=self.levels[self.cells.level_index(level) - 1],
            labels=self.labels(level),
            values=np.clip(self.values(level), low, high) * factor,
            low=np.maximum(np.nextafter(low * factor, -np.inf), 0.0),
            high=np.nextafter(high * factor, np.inf),
            confidence=confidence,
            simultaneous=simultaneous,
            seeded=not self.guarantee.is_private,
            counted=self.counted_sentence,
        )


def _decreasing(statistic: Statistic, name: str, function: Callable[[float], float]) -> Statistic:
    """Apply a decreasing function to a statistic, which swaps the bounds of its interval."""
    low, high = statistic.interval
    interval = function(high), function(low)
    return replace(statistic, name=name, value=function(statistic.value), interval=interval)


@final
class _RankedCells:
    """The cells of a level in the order of their estimates, with intervals for all at once.

    Args:
        flows: the table.
        level_index: of a level with one period.
        count: number of the largest cells that are asked for.

    Attributes:
        values: estimates, shape (cells,).
        order: indices of the cells, that with the largest estimate first.
    """

    def __init__(self, flows: FlowTable, level_index: int, count: int) -> None:
        self._flows, self._level_index, self._count = flows, level_index, count
        self._spread = flows.fit.spreads(level_index)
        self.values: FloatVector = flows.estimates[level_index]
        self.order = np.argsort(-self.values, kind="stable")

    def bounds(self, failure: float) -> tuple[FloatVector, FloatVector]:
        """Return lower and upper bounds of intervals that hold for all cells at once."""
        noisy, cell_failure = self._flows.noisy, failure / len(self.values)
        indices = noisy.map.noise_indices
        radii = error_radii(noisy.noise, indices, self._spread, failure=cell_failure) * noisy.unit
        radii = radii + ROUNDING * np.abs(self.values)
        low, high = self.values - radii, self.values + radii
        if noisy.map.integral:
            low, high = np.ceil(low), np.floor(high)
            # If no whole number lies in an interval, take the nearest ones on both sides.
            return np.minimum(low, high), np.maximum(low, high)
        return low, high + self._flows.lost_by_rounding(self._level_index)

    def _are_largest(self, log_failure: float, *, ordered: bool) -> bool:
        """Return whether the intervals prove that the first cells are the largest ones.

        Args:
            log_failure: logarithm of the failure probability of the intervals.
            ordered: whether they must also prove the order of these cells.
        """
        low, high = self.bounds(math.exp(log_failure))
        top, other_cells = self.order[: self._count], self.order[self._count :]
        next_high = float(high[other_cells].max(initial=-math.inf))
        if ordered:
            return bool((low[top] > np.append(high[top][1:], next_high)).all())
        return bool(low[top].min() > next_high)

    def confidence_of(self, *, ordered: bool) -> float:
        """Return the largest confidence at which the intervals prove the selection, rounded down.

        Args:
            ordered: as for `_are_largest`.
        """
        left, right = math.log(_LEAST_FAILURE), math.log(1 - 1e-9)
        if not self._are_largest(right, ordered=ordered):
            return 0.0
        if self._are_largest(left, ordered=ordered):
            return 1 - _LEAST_FAILURE
        for _ in range(_HALVINGS):
            middle = (left + right) / 2
            if self._are_largest(middle, ordered=ordered):
                right = middle
            else:
                left = middle
        return 1 - math.exp(right)


class _Independence:
    """The statistic of independence of a level, and tables of independent endpoints.

    Args:
        flows: the table.
        level_index: of a level with one period.

    Attributes:
        degrees_of_freedom: of the table without noise.
    """

    def __init__(self, flows: FlowTable, level_index: int) -> None:
        self._flows, self._level_index = flows, level_index
        cells = flows.cells
        self._a, self._b = cells.cells(level_index)
        self._shape = cells.shape(level_index)
        self._variances = flows.fit.variances[level_index] * flows.noisy.unit**2
        possible = cells.matrix(level_index, np.ones(len(self._a)))
        self._possible: FloatMatrix | None = None if (possible > 0).all() else possible
        # A cell of one vertex set without directions holds both (a, b) and (b, a).
        is_half = cells.symmetric & (self._a == self._b)  # holds (a, a) alone
        self._shares = np.where(is_half, 0.5, 1.0)
        free = len(self._a) - sum(self._shape) + 1
        self.degrees_of_freedom = free + self._shape[0] - 1 if cells.symmetric else free

    def statistic(self, values: FloatVector) -> tuple[float, FloatVector]:
        """Return the statistic of a table, and the cells that are expected from its margins.

        Args:
            values: of the cells, shape (cells,).
        """
        expected = self._expected(values)
        terms = (values - expected) ** 2 / (expected + self._variances)
        return float(terms.sum()), expected

    def _expected(self, values: FloatVector) -> FloatVector:
        """Return the cells of a table of independent endpoints with the margins of this one."""
        left = np.bincount(self._a, weights=values, minlength=self._shape[0])
        right = np.bincount(self._b, weights=values, minlength=self._shape[1])
        if self._flows.cells.symmetric:
            left = right = left + right
        left, right = np.maximum(left, 0), np.maximum(right, 0)
        total = max(float(left.sum()), 1e-300)
        if self._possible is None:
            return left[self._a] * right[self._b] / total * self._shares
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
        return np.asarray(rows[self._a] * columns[self._b] * self._shares)

    def null(self, expected: FloatVector, seed: int) -> Callable[[], FloatVector]:
        """Return a function that simulates tables with these expected cells and the same noise.

        Args:
            expected: cells, shape (cells,).
            seed: of the simulation.
        """
        flows, noisy = self._flows, self._flows.noisy
        rng = np.random.default_rng(seed)
        source = entropy_source(seed)
        total = round(float(expected.sum()))
        shares = expected / max(float(expected.sum()), 1e-300)

        def draw() -> FloatVector:
            counts = rng.multinomial(total, shares) if total else np.zeros(len(shares))
            sums = {}
            parts = zip(noisy.map.noise_indices, noisy.steps, strict=True)
            for part_index, (index, steps) in enumerate(parts):
                sums[index] = noisy.noise.draw(part_index, len(steps), source)
            noise = flows.fit.estimates(
                {index: steps.astype(np.float64) for index, steps in sums.items()}
            )
            return counts + noise[self._level_index] * noisy.unit

        return draw
