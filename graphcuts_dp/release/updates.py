"""Publish a table of flows period after period, from rows that grow: `update_flows`.

Read `update_flows`, then `update_plan`. What is published when is chosen by
`estimate.time_strategy`; the order of its steps, and what a crash leaves, is in `ledger.series`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from graphcuts_dp.confidence import DEFAULT_FAILURE, DEFAULT_PERCENT
from graphcuts_dp.display import short, short_bound
from graphcuts_dp.errors import AccuracyWarning, KindError, ParameterError
from graphcuts_dp.estimate.cell_changes import counts_in_parts
from graphcuts_dp.estimate.counted_rows import CountedRows
from graphcuts_dp.estimate.flow_errors import least_cell_note, noise_warning
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.estimate.strategy import FlowWorkload
from graphcuts_dp.estimate.time_estimator import SumsOverTime, TimeEstimator
from graphcuts_dp.estimate.time_strategy import (
    CALENDAR_YEARS,
    INDEPENDENT,
    PERIOD_SHARE,
    TimeStrategy,
)
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.lifelong import check_lifelong, has_lifelong_bound
from graphcuts_dp.graph.rows import Rows, without_rows
from graphcuts_dp.ledger.opening import Store, data_schema
from graphcuts_dp.ledger.public_inputs import public_digest
from graphcuts_dp.ledger.series import (
    SeriesRecord,
    SeriesTerms,
    begin_series,
    end_series,
    find_series,
    publish_period,
    series_state,
)
from graphcuts_dp.measure.cells import (
    cell_tree,
    changes_on,
    grid_of_rows,
    sides_of_groups,
)
from graphcuts_dp.measure.updates import UpdateState, measure_period, true_sums
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import check_spent, stated_cost
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.flow_tables import privacy_unit_of
from graphcuts_dp.release.guarantees import release_guarantee
from graphcuts_dp.results.flows_over_time import NAME, FlowsOverTime
from graphcuts_dp.results.packing import ResultParts, pack, unpack
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import counted_by
from graphcuts_dp.schema.groups import Groups, Sides

__all__ = ("UpdatePlan", "end_series", "update_flows", "update_plan")
_PERIOD = "period of flows"  # kind of the stored parts of one period
_SERIES = "flows"  # default name of a series


def update_flows(  # noqa: PLR0913  # public options, all keyword-only
    rows: Rows,
    groups: Groups | tuple[Groups, Groups],
    *,
    period: str,
    epsilon: float,
    delta: float = 0.0,
    privacy_unit: str | PrivacyUnit | None = None,
    strategy: str = "auto",
    whole: bool = False,
    expected_cell: float | None = None,
    store: PathLike | Store,
    series: str = _SERIES,
) -> FlowsOverTime:
    """Publish a table of flows for one more period, once the period is over.

    The same call with the next `period`, month after month, makes a series. Its whole cost is
    charged by the first one, for all periods that the rows declare, its *horizon*: one row lies in
    one month, so a hundred months cost epsilon once. A call that was interrupted is repeated as it
    is; it costs nothing more. A period that is published already comes from the store, the same
    each time, and its rows are not read.

    Args:
        rows: private rows with periods, whose `periods` are the horizon, such as
            "2026-01..2030-12". They may be all rows so far, or those of this period alone; rows of
            other periods do not count. Rows that come after their period was published never do.
        groups: public groups of the vertices, as for `release_flows`. The finest level is
            published; others are sums of it.
        period: label of the period to publish, the next one of the horizon.
        epsilon: of the guarantee for one `privacy_unit` and the whole horizon, in [1e-6, 50].
        delta: of the same; above 0 noise is Gaussian.
        privacy_unit: as for `release_flows`. With `PrivacyUnit.user(max_contributions=k)` at most k
            rows of a user count in all periods together: in each period at most the remainder of k,
            see `graph.lifelong`. The store then holds the number of counted rows of each user.
        strategy: the published sums: "independent", those of each period; "calendar-years", those
            of each period, and with the last one of a year those of the year, for a third of the
            budget; "square-root", running sums with Gaussian noise, which make windows of six
            months and more accurate, and single months less; "auto" for the last of these with a
            delta, else for the second if the horizon has a whole calendar year, else for the first.
            See `estimate.time_strategy`.
        whole: whether only whole rows of a user count, if the bound leaves a part of one.
        expected_cell: a public guess of what a cell holds in one period, see `FlowWorkload`: the
            series is refused before its first period is charged if noise is above it.
        store: the store that is charged; it has the published sums, and what later periods need.
        series: its name, if the store has several.

    Raises:
        KindError: something else than rows.
        ParameterError: an option out of range; a period that is none of the horizon, or not the
            next one; a series that was begun with other options, or has ended. Nothing was spent.
        GraphError: groups of other vertices; bad rows, unless these are left out.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP by zCDP, for one privacy unit and everything that
    the series publishes in the horizon together, also if later rows depend on published sums. The
    sensitivity is exact: `estimate.time_strategy`, `measure.updates.true_sums`, and
    `graph.lifelong` for a user. All noise is fresh, on whole numbers, from the entropy of the
    operating system; there is no seed, since noise of a seed that is used twice would reveal the
    rows. The store holds private data of earlier periods: true sums that later sums need, and the
    counts of users; the last period, or `end_series`, erases them.

    Examples:
        >>> import pandas, pathlib, tempfile
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "trips.db"
        >>> trips = pandas.DataFrame({"source": ["a"], "target": ["b"], "date": ["2026-01-17"]})
        >>> rows = gc.Rows.of(
        ...     trips,
        ...     columns=gc.Columns(period="date"),
        ...     vertices=["a", "b"],
        ...     periods="2026-01..2030-12",
        ... )
        >>> zones = gc.Groups(gc.VertexSet(["a", "b"]), {"zone": ["a", "b"]})
        >>> flows = gc.update_flows(rows, zones, period="2026-01", epsilon=1.0, store=store)
        >>> flows.periods, gc.store_status(store).epsilon
        (('2026-01',), 1.0)
    """
    plan = update_plan(
        rows,
        groups,
        epsilon=epsilon,
        delta=delta,
        privacy_unit=privacy_unit,
        strategy=strategy,
        whole=whole,
        expected_cell=expected_cell,
        series=series,
    )
    published = plan.published(store, period)
    return plan.publish(rows, period, store=store) if published is None else published


def update_plan(
    rows: Rows,
    groups: Groups | tuple[Groups, Groups],
    *,
    epsilon: float,
    delta: float = 0.0,
    privacy_unit: str | PrivacyUnit | None = None,
    strategy: str = "auto",
    whole: bool = False,
    expected_cell: float | None = None,
    series: str = _SERIES,
) -> "UpdatePlan":
    """Return the plan of a series: its sums, its guarantee and its cost. Reads no private row.

    Args:
        rows: private, of which the schema alone is read; or `Rows.empty`.
        groups: as for `update_flows`.
        epsilon: as for `update_flows`.
        delta: as for `update_flows`.
        privacy_unit: as for `update_flows`.
        strategy: as for `update_flows`.
        whole: as for `update_flows`.
        expected_cell: as for `update_flows`.
        series: as for `update_flows`.

    Raises:
        ParameterError, GraphError: as `update_flows`.

    Examples:
        >>> vertices = ["a", "b"]
        >>> rows = gc.Rows.empty(
        ...     columns=gc.Columns(period="date"), vertices=vertices, periods="2026-01..2030-12"
        ... )
        >>> zones = gc.Groups(gc.VertexSet(vertices), {"zone": vertices})
        >>> plan = gc.release.update_plan(rows, zones, epsilon=1.0, delta=1e-6)
        >>> plan.strategy.name, plan.terms.cost.epsilon
        ('square-root', 1.0)
    """
    _check_has_periods(rows)
    empty, amount = _without_rows(rows), exact_epsilon(epsilon)
    del rows  # nothing below can reach it
    if not (isinstance(series, str) and series.isprintable() and 0 < len(series) <= 100):
        raise ParameterError("series is the name of the series, a printable text, such as 'flows'")
    unit = privacy_unit_of(empty, privacy_unit)
    unit.check_rows(empty.counting, has_users=empty.owned, has_periods=True)
    if has_lifelong_bound(unit):
        check_lifelong(empty, unit)
    unit.per_change(amount)  # refuses a privacy unit that would leave too little
    sides = sides_of_groups(empty, groups)
    cells = cell_tree_of_period(empty, sides)
    whole = whole or not counts_in_parts(empty.counting, unit)
    grid = grid_of_rows(whole=whole, unit=empty.weight_unit)
    largest_change, _ = changes_on(grid, cells, unit)[-1]  # L1 norm, of the finest level
    time_strategy = TimeStrategy.choose(_horizon(empty), strategy=strategy, delta=delta)
    budget = time_strategy.budget_plan(epsilon=amount, delta=delta)
    noise = time_strategy.noise(budget, largest_change)
    check_spent(noise.cost(delta=delta, changes=time_strategy.changes(largest_change)), budget.cost)
    return UpdatePlan(
        public=empty,
        epsilon=epsilon,
        delta=delta,
        privacy_unit=unit,
        sides=sides,
        cells=cells,
        grid=grid,
        whole=whole,
        largest_change=largest_change,
        strategy=time_strategy,
        budget_plan=budget,
        noise=noise,
        series=series,
        expected_cell=FlowWorkload(expected_cell=expected_cell).expected_cell,
    )


def cell_tree_of_period(empty: Rows, sides: Sides) -> CellTree:
    """Return the public cells of one period of rows."""
    cells = cell_tree(empty, sides)  # those of all periods
    columns = None if cells.one_set else cells.columns
    return CellTree(cells.rows, columns, directed=cells.directed, loops=cells.loops)


@final
class PeriodNoise(NamedTuple):
    """The noise of the cells of one period.

    Attributes:
        deviations: standard deviation of the noise of a cell, for each level of groups, in grid
            units; as those of `estimate.flow_errors.CellNoise`.
        half_width: of the interval of a cell of the finest level, of the default confidence, in
            units of weight.
    """

    deviations: tuple[float, ...]
    half_width: float


@final
@dataclass(frozen=True, kw_only=True)
class UpdatePlan:
    """Plan of a table over time, made without any private row: all of it may be shown.

    Attributes:
        public: the schema of the rows, without any row.
        epsilon: requested epsilon.
        delta: requested delta.
        privacy_unit: of the guarantee.
        sides: public groups of both endpoints.
        cells: the public cells of a period.
        grid: the grid on which rows are counted.
        whole: whether a grid unit is a whole row.
        largest_change: K, by which a privacy unit changes the true sums of all periods together, at
            most; in grid units.
        strategy: the sums that are published with each period.
        budget_plan: how the budget is spent.
        noise: of each level of the strategy.
        series: name of the series.
        expected_cell: a public guess of what a cell holds in one period, see `FlowWorkload`.

    Examples:
        >>> rows = gc.Rows.empty(
        ...     columns=gc.Columns(period="date"), vertices=["a", "b"], periods="2026..2030"
        ... )
        >>> zones = gc.Groups(gc.VertexSet(["a", "b"]), {"zone": ["a", "b"]})
        >>> gc.release.update_plan(rows, zones, epsilon=1.0).strategy.name
        'independent'
    """

    public: Rows
    epsilon: float | Fraction
    delta: float
    privacy_unit: PrivacyUnit
    sides: Sides
    cells: CellTree
    grid: Grid
    whole: bool
    largest_change: int
    strategy: TimeStrategy
    budget_plan: BudgetPlan
    noise: LevelNoise
    series: str
    expected_cell: float | None = None

    @cached_property
    def terms(self) -> SeriesTerms:
        """The cost that the store charges, and the facts that must not change between periods."""
        cost = stated_cost(self.budget_plan.cost, epsilon=self.epsilon, delta=self.delta)
        guarantee = release_guarantee(self.public, cost, self.privacy_unit, groups=True)
        schema = data_schema(self.public)
        # A refusal names the first that has changed by its key. Vertices and groups are digests.
        parameters = {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "strategy": self.strategy.name,
            "bound on contributions": self.privacy_unit.group_size,
            "vertices": public_digest(schema["vertices"]),
            "groups": public_digest(self.sides),
            "directions": bool(schema["directed"]),
            "counting": self.public.counting,
            "weight unit": float(self.public.weight_unit),
            "whole rows": self.whole,
            # With another column of users, their bound would start anew.
            **{f"column of {role}": name for role, name in self.public.named_columns},
            # The sums and their noise, which another version of the package might choose otherwise.
            "noise": [self.noise.distribution, *map(str, self.noise.parameters)],
            "published sums": public_digest(
                [level.rows.tolist() for level in self.strategy.levels]
            ),
        }
        return SeriesTerms(
            name=self.series,
            parameters=parameters,
            cost=cost,
            guarantee=guarantee,
            periods=self.strategy.periods,
            column=self.public.period_column,
        )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee for all periods of the horizon together."""
        return self.terms.guarantee

    def published(
        self, store: PathLike | Store, period: str, *, read_only: bool = False
    ) -> FlowsOverTime | None:
        """Return the table that was published with a period; None if the period is the next one.

        Reads no private row, and charges nothing.

        Args:
            store: of the series.
            period: label of a period of the horizon.
            read_only: whether the store is opened for reading alone, which writes no file at all.

        Raises:
            ParameterError: no such period, or neither published nor the next one; a series that was
                begun with other options, or has ended.
            LedgerError: the store cannot be used.
        """
        index = self._index(period)
        record = find_series(store, self.terms, read_only=read_only)
        count = 0 if record is None else len(record.contents)
        if record is not None and index < count:
            return self._table(record, record.contents[: index + 1])
        self._check_next(index, count)
        if record is not None:
            self._check_not_ended(record)
        return None

    def publish(self, rows: Rows, period: str, *, store: PathLike | Store) -> FlowsOverTime:
        """Charge the series if it begins, and publish its next period.

        Args:
            rows: private, of the schema of this plan.
            period: its label.
            store: the store that is charged.

        Raises:
            ParameterError, GraphError, BudgetError, LedgerError: as `update_flows`.

        Warns:
            AccuracyWarning: before anything is spent, if noise hides the cells of a period.

        Guarantee: that of `terms`, for all periods of the horizon together.
        """
        index = self._index(period)
        same_columns = rows.named_columns == self.public.named_columns
        same_schema = data_schema(rows) == data_schema(self.public)
        if not (same_schema and same_columns and rows.periods == self.public.periods):
            raise ParameterError("this plan is for other rows: make one for the schema of these")
        if find_series(store, self.terms) is None:
            warning = self.warning  # which refuses a table of noise before anything is spent
            if warning is not None:
                warnings.warn(warning, AccuracyWarning, stacklevel=3)
        record = begin_series(store, rows, self.terms)
        if index < len(record.contents):
            return self._table(record, record.contents[: index + 1])
        self._check_next(index, len(record.contents))
        self._check_not_ended(record)
        state = UpdateState.start(self.privacy_unit)
        if record.state is not None:
            state = UpdateState.unpack(record.state.secret)
            state.check(self.strategy, self.privacy_unit, period=index)
        state = true_sums(
            rows,
            self.sides,
            self.cells,
            state,
            period=index,
            grid=self.grid,
            whole=self.whole,
            privacy_unit=self.privacy_unit,
        )
        numbers, state = measure_period(
            state, self.strategy, self.noise, period=index, source=entropy_source(None)
        )
        content = pack(
            ResultParts(
                kind=_PERIOD,
                guarantee=self.terms.guarantee,
                fields={"period": period},
                arrays={f"numbers {level}": array for level, array in enumerate(numbers)},
            )
        )
        publish_period(store, record, content, series_state(index + 1, state.pack()))
        # The privacy boundary: no measurement has left the process before.
        return self._table(record, (*record.contents, content))

    def table(self, numbers: Sequence[Sequence[Any]], guarantee: PrivacyGuarantee) -> FlowsOverTime:
        """Return the table of the published sums.

        Args:
            numbers: for each period so far, in order, and each level of the strategy: the published
                sums, shape (sums, cells).
            guarantee: with the provenance.
        """
        levels = range(len(self.strategy.levels))
        numbers_of_levels = tuple(
            np.concatenate([period[level] for period in numbers]).ravel().astype(np.int64)
            for level in levels
        )
        noisy = CountMeasurement(
            name=NAME,
            map=SumsOverTime(
                cells=self.cells,
                strategy=self.strategy,
                published=len(numbers),
                counting=self.public.counting,
            ),
            steps=numbers_of_levels,
            unit=self.grid.unit,
            noise=self.noise,
            changes=self.strategy.changes(self.largest_change),
        )
        plan = self.budget_plan.with_certain_runs()
        return FlowsOverTime(
            noisy=noisy,
            guarantee=replace(guarantee, budget_plan=plan),
            counted_rows=self._counted_rows,
        )

    def errors(self) -> tuple[tuple[str, float], ...]:
        """Return half widths of intervals of a cell for windows of several lengths.

        They have the default confidence and are for windows in the middle of the horizon, once all
        periods are published.
        """
        return self._errors_of(self.strategy, self.noise)

    def _errors_of(
        self, strategy: TimeStrategy, noise: LevelNoise
    ) -> tuple[tuple[str, float], ...]:
        """Return what `errors` does for a strategy and its noise."""
        count = len(strategy.periods)
        estimator = TimeEstimator(strategy, noise, count)
        errors = []
        for length in dict.fromkeys(min(size, count) for size in (1, 6, 12, 24, count)):
            first = (count - length) // 2
            radius = estimator.radius(first, first + length, 1, failure=DEFAULT_FAILURE)
            name = f"{length} {self.by}s together" if length > 1 else f"one {self.by}"
            errors.append((f"a cell, {name}", radius * self.grid.unit))
        return tuple(errors)

    @property
    def by(self) -> str:
        """The kind of the periods, such as "month"."""
        return self.public.periods.by if self.public.periods is not None else "period"

    @cached_property
    def period_noise(self) -> PeriodNoise:
        """The noise of one period in the middle of the horizon, once all are published."""
        return self._period_noise(self.noise)

    def _period_noise(self, noise: LevelNoise) -> PeriodNoise:
        """Return the noise of the cells of one period, of all levels of groups.

        Coarser cells are sums of finest ones, with independent noise.
        """
        count, cells = len(self.strategy.periods), self.cells
        estimator, middle = TimeEstimator(self.strategy, noise, count), (count - 1) // 2
        deviation = estimator.deviation(middle, middle + 1)
        sizes = [cells.size(level_index) for level_index in range(cells.depth)]
        deviations = tuple(deviation * (sizes[-1] / size) ** 0.5 for size in sizes)
        radius = estimator.radius(middle, middle + 1, 1, failure=DEFAULT_FAILURE)
        return PeriodNoise(deviations, radius * self.grid.unit)

    @property
    def warning(self) -> str | None:
        """Return a warning if noise will hide the cells of a period; None if it will not.

        Raises:
            ParameterError: it will, and `expected_cell` is not 0; see `noise_warning`.
        """

        def noise_at(*, epsilon: float) -> PeriodNoise:
            budget = self.strategy.budget_plan(epsilon=epsilon, delta=self.delta)
            return self._period_noise(self.strategy.noise(budget, self.largest_change))

        return noise_warning(
            self.cells,
            noise_at,
            self.period_noise,
            epsilon=exact_epsilon(self.epsilon),
            unit=self.grid.unit,
            weighted=self.public.weighted,
            expected=self.expected_cell,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences to show before anything is spent."""
        kind, count = self.guarantee.differs_within, len(self.strategy.periods)
        horizon = f"{self.strategy.periods[0]} to {self.strategy.periods[-1]}"
        for_whom = "for a user, whose rows count up to the bound in all of them together"
        if kind == "row":
            for_whom = "for one row, since it lies in one of them"
        elif kind is not None:
            for_whom = f"for the privacy unit in one {kind}; in k {kind}s it costs k times epsilon"
        notes = [
            self._trend_note,
            f"All {count} periods, {horizon}, cost epsilon once {for_whom}.",
            *self._error_notes,
        ]
        if has_lifelong_bound(self.privacy_unit):
            notes.append(
                "The store keeps how many rows of each user have counted: it is private, and "
                "readable by your account alone."
            )
        if self._keeps_sums:
            notes.append(
                "The store keeps true sums of earlier periods that later numbers read: it is "
                "private, and readable by your account alone."
            )
        return tuple(filter(None, notes))

    @property
    def _trend_note(self) -> str:
        """Sentences on the trend that a bound for the whole horizon causes; "" if there is none."""
        count, counted_rows = len(self.strategy.periods), self._counted_rows
        warning = "" if counted_rows is None else counted_rows.trend_warning(count, self.by)
        if not warning:
            return ""
        return (
            f"{warning[:1].upper()}{warning[1:]}. A bound of about {count:,} times the "
            f"{self.public.what} that a regular person has in one {self.by} avoids most of this. "
            f"So does `per-period` with a bound on one {self.by} and epsilon / {count:,}, which "
            "has the same noise as that, and the same guarantee for the whole horizon."
        )

    @property
    def _error_notes(self) -> tuple[str, ...]:
        """The errors of a cell of one period in sentences, and what sums of years cost."""
        level, unit = self.cells.levels[-1], self.grid.unit
        deviation = self.period_noise.deviations[-1] * unit
        half_width = self.period_noise.half_width
        expected = (
            f"Expected error of a cell of level {level!r:.60} in one {self.by}: "
            f"{short(deviation)} (root mean square); its {DEFAULT_PERCENT} interval is "
            f"±{short_bound(half_width)}."
        )
        notes = [expected]
        if self.public.weighted and self.expected_cell is None:
            counted = counted_by(self.public.counting)
            when = f" in one {self.by}"
            notes.append(
                least_cell_note(
                    self.cells, self.period_noise, unit=unit, counted=counted, when=when
                )
            )
        if self.strategy.name == CALENDAR_YEARS:
            independent = TimeStrategy(name=INDEPENDENT, periods=self.strategy.periods)
            budget = independent.budget_plan(epsilon=self.epsilon, delta=self.delta)
            noise = independent.noise(budget, self.largest_change)
            _, error = self._errors_of(independent, noise)[0]  # of one period
            notes.append(
                f"Sums of calendar years are measured, too, for {float(1 - PERIOD_SHARE):.0%} of "
                f"the budget. If single {self.by}s matter most, --strategy independent "
                f'(strategy="independent") makes that ±{short_bound(error)}.'
            )
        return tuple(notes)

    @property
    def _keeps_sums(self) -> bool:
        """True if later sums need true sums of earlier periods."""
        return any(
            np.count_nonzero(summed_periods) > 1  # a sum over several periods
            for level in self.strategy.levels
            for summed_periods in level.rows
        )

    @property
    def _counted_rows(self) -> CountedRows | None:
        """The rule by which rows are counted; None if no bound leaves any out."""
        unit, rows = self.privacy_unit, self.public
        if unit.kind == "user":
            per = f"person and {self.by}" if unit.per_period else "person"
            return CountedRows(max_contributions=unit.group_size, what=rows.what, per=per)
        if unit.kind == "row" and rows.counting == "weight":
            return CountedRows(max_contributions=unit.group_size, what=rows.what, per="row")
        return None

    def _index(self, period: str) -> int:
        """Return the index of a period of the horizon.

        Raises:
            ParameterError: it is none of them.
        """
        if period not in self.strategy.periods:
            first, last = self.strategy.periods[0], self.strategy.periods[-1]
            raise ParameterError(
                f"period={period!r:.60} is none of the declared periods, {first} to {last}"
            )
        return self.strategy.periods.index(period)

    def _check_next(self, index: int, published: int) -> None:
        """Refuse a period that is not the next one.

        Args:
            index: of the period in the horizon.
            published: how many periods are published.

        Raises:
            ParameterError: another one has to be published first.
        """
        if index != published and not published:
            raise ParameterError(
                f"the series {self.series!r} has no period yet, and starts with "
                f"{self.strategy.periods[0]}: a table of `flows` is no part of it. For a table of "
                "a later period alone use `flows` with this one in periods= and, for rows of "
                "another file, --same-people-as STORE (same_people=True)"
            )
        if index != published:
            raise ParameterError(
                f"periods are published in their order: the next one of the series "
                f"{self.series!r} is {self.strategy.periods[published]}"
            )

    def _check_not_ended(self, record: SeriesRecord) -> None:
        """Refuse a series that was ended, whose store has erased what later sums need.

        Raises:
            ParameterError: it has ended.
        """
        if record.ended:
            raise ParameterError(f"the series {self.series!r} has ended, and publishes no more")

    def _table(self, record: SeriesRecord, contents: Sequence[bytes]) -> FlowsOverTime:
        """Return the table of the published sums, from what the store has of each period."""
        numbers = []
        for content in contents:
            arrays = unpack(content, record.provenance).arrays()
            numbers.append([arrays[f"numbers {level}"] for level in range(len(arrays))])
        return self.table(numbers, self.guarantee.released_as(record.provenance))


def _check_has_periods(source: object) -> None:
    """Check that a source is rows with periods.

    Raises:
        KindError: it is not rows, so the column of its periods is not known.
        ParameterError: rows without periods.
    """
    if not isinstance(source, Rows):
        raise KindError(
            "a table over time is of rows with periods: gc.Rows.of(table, "
            "columns=gc.Columns(period=...), vertices=..., periods=...), or gc.Rows.read of a file"
        )
    if source.periods is None:
        raise ParameterError(
            "a table over time needs the declared periods of its rows: read them with periods="
        )


def _without_rows(rows: Rows) -> Rows:
    """Return the schema of rows, without any row."""
    empty = without_rows(rows)
    assert isinstance(empty, Rows)  # noqa: S101  # as they were
    return empty


def _horizon(rows: Rows) -> tuple[str, ...]:
    """Return the labels of the declared periods."""
    return () if rows.periods is None else rows.periods.labels
