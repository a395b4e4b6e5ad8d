"""`release_flows`: the weight between public groups, for all cells of all levels and periods.

Read `release_flows`, `flows_job`, and the methods `measure` and `finish` of `FlowsJob`, in this
order. The shares of the levels are chosen in `estimate.strategy`, from public sizes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.all_rows_forecast import all_rows_widths, comparison_of_widths
from graphcuts_dp.estimate.cell_changes import counts_in_parts
from graphcuts_dp.estimate.counted_rows import NAME as LEFT_OUT
from graphcuts_dp.estimate.counted_rows import SHARE as LEFT_OUT_SHARE
from graphcuts_dp.estimate.counted_rows import CountedRows, left_out_noise
from graphcuts_dp.estimate.flow_errors import (
    LevelErrors,
    MarginErrors,
    least_cell_note,
    level_errors,
    margin_errors,
    noise_warning,
)
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement, NonlinearCounts
from graphcuts_dp.estimate.strategy import (
    ALL_LEVELS,
    MARGINS,
    FlowStrategy,
    FlowWorkload,
    choose_strategy,
)
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.private_data import PrivateSource, private_data
from graphcuts_dp.graph.rows import (
    PairCounts,
    PrivateData,
    Rows,
    bounded_graph,
    counted_rows,
    reach_of,
    without_rows,
)
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.cells import (
    cell_tree,
    changes_on,
    grid_of_cells,
    grid_of_rows,
    margin_change_on,
    measure_cells,
    sides_of_groups,
)
from graphcuts_dp.measure.left_out import measure_left_out
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep
from graphcuts_dp.privacy.composition import check_spent, stated_cost
from graphcuts_dp.privacy.default_unit import default_unit
from graphcuts_dp.privacy.entropy import EntropySource, Seed
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.guarantees import release_guarantee
from graphcuts_dp.release.job import SMALL_RESULT, Job, execute
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.flows import Flows
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import STEPS, Reach, counted_by
from graphcuts_dp.schema.groups import Groups, Sides

_LINE_BYTES = 100  # of a cell: a line with two names of groups and three numbers, and a noisy sum
_SUM_BYTES = 8  # of a noisy sum


@refuses_former_options()
def release_flows(  # noqa: PLR0913  # public options, all keyword-only
    graph: PrivateSource,
    groups: Groups | tuple[Groups, Groups],
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | Sequence[str] | None = None,
    workload: str | FlowWorkload = ALL_LEVELS,
    privacy_unit: str | PrivacyUnit | None = None,
    known_max: int | None = None,
    measure_margins: bool = False,
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
) -> Flows:
    """Release the flows between public groups, for all cells of all levels and periods.

    Args:
        graph: the private graph; rows, of which those with two equal endpoints count, too; or a
            graph of networkx or igraph, a matrix, or a table, see `private_data`.
        groups: the public groups of its vertices; of a bipartite graph a pair, left and right,
            with the same number of levels. They are released with the table, so they must be
            public, and not computed from the edges.
        epsilon: privacy parameter for one `privacy_unit`, in [1e-6, 50]; all of it is spent.
        delta: in [0, 1); 0 for pure privacy. Above 0 the noise may be Gaussian, if there are enough
            levels for it to be smaller.
        by: for rows with periods: a table for each "day", "month", "quarter" or "year"; or several
            of these, from the coarsest to the finest, over which the budget is divided. None for
            the periods that were declared.
        workload: what should be accurate: "all levels" (every level counts alike), "all cells"
            (every cell of every level counts alike, so that the finest level counts most), "totals"
            (the grand total), or the name of a level; or a `FlowWorkload`, which also has options
            for the counting of cells, and your guess of a cell.
        privacy_unit: the difference between neighbouring data: "edge", "row", or a `PrivacyUnit`;
            None for the edges of a graph, or for rows as they count ("edge" if `counting="edges"`);
            rows with weights need `PrivacyUnit.row(max_units)`, whose bound limits each of them.
            For a user at most `max_contributions` pairs, rows or units count, see `Rows.cells`: in
            all periods together, or, if `per_period`, in each. For a vertex with degree bound D,
            cells of the finest level are bounded: from the edges of a cell as much weight counts
            as is possible if no vertex keeps more than D of it (see `measure.cells.bounded_cells`).
            That is the true weight if no vertex has more than D there, and never above it; other
            levels are sums of these. Intervals are for this bounded table. The noise of a cell
            grows with D and with the number of groups.
        known_max: a publicly known maximum of the rows (or pairs) of a user, in a period if the
            bound is for each; None if there is none. With it a tenth of the budget goes to a noisy
            sum of the rows that the bound leaves out, and `all_low` and `all_high` are intervals of
            the count of all rows. Without it there are lower ends alone, since the rows that are
            left out have no public bound. If a user has more rows than this nevertheless, at most
            known_max - max_contributions of those that are left out count in the sum. See
            `estimate.counted_rows`.
        measure_margins: whether the sums of what leaves and of what enters each group of the finest
            level are measured with noise of their own, for a quarter of the budget of cells.
            Otherwise these margins are sums of cells. All cells are estimated from both, so that
            the table adds up. Margins of many groups become narrower, single cells wider; refused
            if margins do not.
        store: path of the store, or a `Store`, that records what was spent on this graph: the flows
            are charged to it, and refused if its budget does not allow them. None for a graph of
            which nothing else is ever released.
        seed: makes the run repeatable and voids the guarantee; None for the system's entropy.

    Raises:
        ParameterError: an option out of range; weights without a public bound (for a vertex they
            need none); noise larger than the cells of the finest level, see
            `FlowWorkload.expected_cell`; a known_max below the bound, of weights, or without users;
            measured margins that would be no narrower than sums of cells, or too many of them.
            Nothing was spent.
        GraphError: groups of other vertices, or that can hold no pair.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP, at edge level: `measure_cells` draws all noise,
    at a cost that is computed from its scales before any is drawn; levels and shares are chosen
    from public sizes; everything else is computed from the noisy sums. Neighbours: graphs on the
    same public vertices that differ in one pair, or in `PrivacyUnit.edge(k)` of them, or in all
    edges of one vertex (proof in `bounded_changes`). The sums are those of weights that are rounded
    down to a fine grid, for which intervals allow, or with `FlowWorkload(whole=True)` to whole
    numbers. For rows, neighbours
    differ in one row, or in all rows of one user, and each row lies in one period: so every
    period has all of epsilon, and all tables together have epsilon. With a bound for each period
    neighbours differ in the rows of one user in one period.

    Examples:
        >>> flows = gc.release_flows(
        ...     gc.datasets.load("karate"), gc.datasets.load_groups("karate"), epsilon=1.0
        ... )
        >>> low, high = flows.between("Mr. Hi", "Officer").interval
    """
    data = private_data(graph)
    job = flows_job(
        data,
        groups,
        epsilon=epsilon,
        delta=delta,
        by=by,
        workload=workload,
        privacy_unit=privacy_unit,
        known_max=known_max,
        measure_margins=measure_margins,
    )
    return execute(job, data, store=store, seed=seed)


def privacy_unit_of(data: PrivateData, privacy_unit: str | PrivacyUnit | None) -> PrivacyUnit:
    """Return the privacy unit of a table of flows: the requested one, or the default for the data.

    Reads the schema alone.

    Raises:
        ParameterError: no such privacy unit, or weights of rows without a bound.
    """
    if (
        privacy_unit is None
        and isinstance(data, Rows)
        and data.counting == "weight"
        and not data.owned
    ):
        raise ParameterError(
            "say how many units of the weight of a row count, since what is above is left out: "
            "pass privacy_unit='row:max-units=50'"
        )
    if privacy_unit is None:
        return default_unit(data.counting if isinstance(data, Rows) else None)
    return PrivacyUnit.of(privacy_unit)


def flows_job(
    data: PrivateData,
    groups: Groups | tuple[Groups, Groups],
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | Sequence[str] | None = None,
    workload: str | FlowWorkload = ALL_LEVELS,
    privacy_unit: str | PrivacyUnit | None = None,
    known_max: int | None = None,
    measure_margins: bool = False,
) -> "FlowsJob":
    """Return the job of `release_flows` with these options. Reads the schema of the data alone.

    Args:
        data: the private graph or rows, or data of the same schema without rows.
        groups: as for `release_flows`.
        epsilon: as for `release_flows`.
        delta: as for `release_flows`.
        by: as for `release_flows`.
        workload: as for `release_flows`.
        privacy_unit: as for `release_flows`.
        known_max: as for `release_flows`.
        measure_margins: as for `release_flows`.

    Raises:
        ParameterError, GraphError: as `release_flows`.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> groups = gc.Groups(club.vertices, {"half": [v % 2 for v in range(34)]})
        >>> job = gc.release.flows_job(club, groups, epsilon=1.0)
        >>> job.cost.epsilon
        1.0
    """
    empty, amount = without_rows(data), exact_epsilon(epsilon)
    del data  # nothing below can reach it
    privacy_unit, reach = privacy_unit_of(empty, privacy_unit), reach_of(empty)
    flow_workload = FlowWorkload.of(workload)
    sides = sides_of_groups(empty, groups)
    cells = cell_tree(empty, sides, by)
    privacy_unit.per_change(amount)  # refuses a privacy unit that would leave too little
    whole = flow_workload.whole
    if isinstance(empty, Rows):
        # Rows that are not scaled down lose nothing by whole units.
        whole = whole or not counts_in_parts(empty.counting, privacy_unit)
    grid = _grid_of(empty, cells, privacy_unit, epsilon=amount, whole=whole)
    # Refuses data that cannot be bounded so.
    bounded_data(empty, privacy_unit, whole=whole, by=by, known_max=known_max)
    left_out_change = _left_out_change(empty, privacy_unit, grid, whole=whole, known_max=known_max)
    changes = changes_on(grid, cells, privacy_unit, reach)
    margin_change = margin_change_on(grid, cells, privacy_unit, reach) if measure_margins else None
    # Where the rows that are left out are measured, cells have the rest of the budget.
    cells_portion = 1 - LEFT_OUT_SHARE if left_out_change else ALL_LEFT
    choose = partial(
        choose_strategy,
        cells,
        delta=delta,
        changes=changes,
        workload=flow_workload.accurate,
        noise=flow_workload.noise,
        portion=cells_portion,
        margin_change=margin_change,
    )
    strategy = choose(epsilon=amount)
    margin_comparison = None
    if margin_change is not None:
        noise_name = strategy.noise.distribution
        without_margins = choose(epsilon=amount, margin_change=None, noise=noise_name)
        margin_comparison = _checked_margin_errors(cells, strategy, without_margins, grid)
    plan = strategy.budget_plan(cells, epsilon=amount, delta=delta)
    noise = strategy.all_noise
    left_out = None
    measured_changes = [changes[level] for level in strategy.measured_levels]
    if margin_change is not None:
        measured_changes.append(margin_change)
    if left_out_change:
        change = left_out_change, left_out_change**2  # L1 norm, and squared L2 norm
        left_out = left_out_noise(noise.distribution, plan.amount, change)
        plan, noise = _with_left_out(plan, noise, left_out)
        measured_changes.insert(0, change)
    check_spent(noise.cost(delta=delta, changes=measured_changes), plan.cost)
    cost = stated_cost(plan.cost, epsilon=epsilon, delta=delta)
    return FlowsJob(
        public=empty,
        epsilon=epsilon,
        delta=delta,
        budget_plan=plan,
        guarantee=release_guarantee(empty, cost, privacy_unit, groups=True),
        sides=sides,
        cells=cells,
        grid=grid,
        whole=whole,
        by=by,
        privacy_unit=privacy_unit,
        reach=reach,
        workload=flow_workload,
        strategy=strategy,
        choose=choose,
        known_max=known_max,
        left_out_change=left_out_change,
        left_out_noise=left_out,
        margin_comparison=margin_comparison,
    )


def bounded_data(
    data: PrivateData,
    privacy_unit: PrivacyUnit,
    *,
    whole: bool,
    by: str | Sequence[str] | None,
    known_max: int | None = None,
) -> AnyGraph | PairCounts:
    """Return private data that are bounded for the privacy unit of the guarantee. Private.

    Raises:
        ParameterError: data that cannot be bounded so.
    """
    if isinstance(data, Rows):
        return counted_rows(data, privacy_unit, whole=whole, by=by, known_max=known_max)
    if known_max is not None:
        raise ParameterError(
            "known_max is what no user has more rows of: it is for rows with privacy_unit='user'"
        )
    return bounded_graph(data, privacy_unit)


class MeasuredFlows(NamedTuple):
    """The measurements of a release of flows.

    Attributes:
        cells: the noisy sums of the cells of all levels of the plan.
        left_out: the noisy sum of the rows that the bound leaves out; None if it is not measured.
    """

    cells: CountMeasurement[CellSums]
    left_out: CountMeasurement[NonlinearCounts] | None


@final
@dataclass(frozen=True, kw_only=True)
class FlowsJob(Job[Flows]):
    """The job of a release of a table of flows.

    Attributes:
        sides: public groups of both endpoints, twice the same ones unless the graph is bipartite.
        cells: the public cells.
        grid: the grid on which weights or rows are counted.
        whole: whether its units are whole numbers.
        by: the requested levels of the periods.
        privacy_unit: of the guarantee.
        reach: the cells that one user's rows can change; None for a graph.
        workload: the levels that should be accurate, and how cells are counted.
        strategy: how the levels are measured.
        choose: returns the strategy for another epsilon, for advice.
        known_max: publicly known maximum of the rows of a user; None if there is none.
        left_out_change: sensitivity of the sum of the rows that the bound leaves out, in grid
            units; 0 if it is not measured.
        left_out_noise: noise of that sum; None if it is not measured.
        margin_comparison: errors with measured margins, and with margins that are sums of cells;
            None if they are such sums.
    """

    kind: str = "flows"
    sides: Sides
    cells: CellTree
    grid: Grid
    whole: bool
    by: str | Sequence[str] | None
    privacy_unit: PrivacyUnit
    reach: Reach | None
    workload: FlowWorkload
    strategy: FlowStrategy
    choose: Callable[..., FlowStrategy]
    known_max: int | None = None
    left_out_change: int = 0
    left_out_noise: LevelNoise | None = None
    margin_comparison: MarginErrors | None = None

    @property
    def inputs(self) -> Sequence[Any]:
        """See `Job.inputs`."""
        return (self.sides, self.by)

    def bound(self, data: PrivateData) -> AnyGraph | PairCounts:
        """See `Job.bound`."""
        known_max = self.known_max if self.left_out_change else None
        return bounded_data(
            data, self.privacy_unit, whole=self.whole, by=self.by, known_max=known_max
        )

    def measure(
        self, bounded: AnyGraph | PairCounts, source: EntropySource, progress: Progress = silent
    ) -> MeasuredFlows:
        """See `Job.measure`: the sums of the cells of all levels, and of the rows left out.

        Privacy: independent noise, whose costs add up to that of the plan; see `measure_cells` and
        `measure_left_out`.
        """
        del progress
        left_out = None
        if self.left_out_noise is not None and isinstance(bounded, PairCounts):
            left_out = measure_left_out(
                bounded, change=self.left_out_change, noise=self.left_out_noise, source=source
            )
        cells = measure_cells(
            bounded,
            self.sides,
            self.cells,
            measured_levels=self.strategy.measured_levels,
            noise=self.strategy.all_noise,
            grid=self.grid,
            whole=self.whole,
            privacy_unit=self.privacy_unit,
            reach=self.reach,
            margins=self.strategy.margin_noise is not None,
            source=source,
        )
        return MeasuredFlows(cells, left_out)

    def finish(
        self,
        measured: MeasuredFlows,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> Flows:
        """See `Job.finish`."""
        del source, progress
        return self._flows(measured, guarantee)

    def parts(self, measured: MeasuredFlows, guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`."""
        return self._flows(measured, guarantee).to_parts()

    def _flows(self, measured: MeasuredFlows, guarantee: PrivacyGuarantee) -> Flows:
        """Return the table of the measurements."""
        return Flows(
            noisy=measured.cells,
            strategy=self.strategy,
            guarantee=guarantee,
            counted_rows=self._counted_rows(measured.left_out),
        )

    def _counted_rows(
        self, left_out: CountMeasurement[NonlinearCounts] | None
    ) -> CountedRows | None:
        """Return the rule by which rows are counted; None if no bound leaves any out."""
        rows, unit = self.public, self.privacy_unit
        if not isinstance(rows, Rows) or unit.kind not in ("user", "row"):
            return None
        if unit.kind == "row" and rows.counting != "weight":
            return None
        per = "row" if unit.kind == "row" else "person"
        if unit.per_period and rows.periods is not None:
            per += f" and {rows.periods.by}"
        return CountedRows(
            max_contributions=unit.group_size,
            what=rows.what,
            per=per,
            known_max=self.known_max,
            left_out=left_out,
        )

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> Flows:
        """See `Job.completed`."""
        del completion, progress
        return Flows.from_saved(saved)

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        bound = self.privacy_unit.max_degree
        return {
            "workload": self.workload.accurate,
            "levels": [
                step.statistic
                for step in self.budget_plan.steps
                if step.statistic not in (LEFT_OUT, MARGINS)
            ],
            **({} if bound is None else {"max_degree": bound}),
            **({} if self.known_max is None else {"known_max": self.known_max}),
            **({} if self.margin_comparison is None else {"measure_margins": True}),
        }

    @property
    def periods(self) -> tuple[str, ...] | None:
        """See `Job.periods`."""
        rows = self.public
        return rows.periods.labels if isinstance(rows, Rows) and rows.periods else None

    @property
    def result_bytes(self) -> int:
        """See `Job.result_bytes`: a line of the table, and the noisy sum."""
        return SMALL_RESULT + _LINE_BYTES * self.cells.total_size

    @property
    def measured_bytes(self) -> int:
        """See `Job.measured_bytes`: the noisy sums of all levels, and measured margins.

        There are no more margins than cells, but for two groups and less.
        """
        sums = self.cells.total_size * (1 if self.margin_comparison is None else 2)
        return SMALL_RESULT + _SUM_BYTES * sums

    @cached_property
    def _level_errors(self) -> tuple[LevelErrors, ...]:
        """The errors of the cells of each level, the coarsest first."""
        return tuple(level_errors(self.cells, self.strategy, unit=self.grid.unit))

    @property
    def warning(self) -> str | None:
        """See `Job.warning`."""
        return noise_warning(
            self.cells,
            self.choose,
            self.strategy,
            epsilon=exact_epsilon(self.epsilon),
            unit=self.grid.unit,
            weighted=self.public.weighted,
            expected=self.workload.expected_cell,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Job.notes`."""
        notes = [level.note for level in self._level_errors]
        if self.margin_comparison is not None:
            notes.append(self.margin_comparison.note)
        rows = self.public
        if isinstance(rows, Rows) and rows.weighted and self.workload.expected_cell is None:
            counted = counted_by(rows.counting)
            note = least_cell_note(self.cells, self.strategy, unit=self.grid.unit, counted=counted)
            notes.append(note)
        return tuple(filter(None, (*notes, self._all_rows_note)))

    @property
    def _all_rows_note(self) -> str:
        """Sentences on intervals of the count of all rows; empty where all rows count.

        With a known maximum they compare its widths with those of a bound of that maximum.
        """
        if self.known_max is None:
            counted = self._counted_rows(None)
            if counted is None:
                return ""
            advice = (
                "--known-max NUMBER (known_max=), if no user is publicly known to have more, gives "
                "intervals of all rows; without it there are lower ends alone."
            )
            sentence = counted.sentence[:1].upper() + counted.sentence[1:]
            return f"{sentence}." + ("" if counted.per == "row" else f" {advice}")
        if not self.left_out_change or not isinstance(self.public, Rows):
            return ""
        left, right = self.sides
        try:
            job_with_known_max = flows_job(
                self.public,
                left if left is right else (left, right),
                epsilon=float(self.epsilon),
                delta=self.delta,
                by=self.by,
                workload=self.workload,
                privacy_unit=replace(self.privacy_unit, group_size=self.known_max),
                measure_margins=self.margin_comparison is not None,
            )
        except ParameterError:  # epsilon is too small for so much noise
            return ""
        widths = [
            all_rows_widths(
                job.cells, job.strategy, unit=job.grid.unit, left_out=job.left_out_noise
            )
            for job in (self, job_with_known_max)
        ]
        return comparison_of_widths(
            *widths,
            bound=self.privacy_unit.group_size,
            known_max=self.known_max,
            what=self.public.what,
        )

    def errors(self) -> Iterable[tuple[str, float]]:
        """See `Job.errors`."""
        levels = self._level_errors[::-1]
        errors = [(f"a cell of level {level.level!r}", level.half_width) for level in levels]
        if self.margin_comparison is not None:
            errors.append(("what leaves or enters a group", self.margin_comparison.margin))
        return tuple(errors)


def _checked_margin_errors(
    cells: CellTree, strategy: FlowStrategy, without_margins: FlowStrategy, grid: Grid
) -> MarginErrors:
    """Return the errors with measured margins, and with margins that are sums of cells.

    Args:
        cells: the public cells.
        strategy: with measured margins.
        without_margins: with the same noise and without measured margins.
        grid: of the weights or rows.

    Raises:
        ParameterError: measured margins would be no narrower.
    """
    errors = margin_errors(cells, strategy, without_margins, unit=grid.unit)
    if errors.margin >= errors.margin_without:
        raise ParameterError(
            "measured margins would be no narrower than sums of cells, of so few groups: leave "
            "measure_margins out"
        )
    return errors


def _with_left_out(
    plan: BudgetPlan, noise: LevelNoise, left_out: LevelNoise
) -> tuple[BudgetPlan, LevelNoise]:
    """Return a plan and its noise with a first step for the sum of the rows that are left out.

    The shares of the levels are of the budget after this step, so they need no change.

    Args:
        plan: for the levels alone.
        noise: of the levels.
        left_out: noise of the sum.
    """
    step = BudgetStep(statistic=LEFT_OUT, share=LEFT_OUT_SHARE, noise=plan.steps[0].noise)
    parameters = (*left_out.parameters, *noise.parameters)
    return replace(plan, steps=(step, *plan.steps)), replace(noise, parameters=parameters)


def _grid_of(
    empty: PrivateData,
    cells: CellTree,
    privacy_unit: PrivacyUnit,
    *,
    epsilon: Fraction,
    whole: bool,
) -> Grid:
    """Return the grid of weights or rows."""
    if isinstance(empty, Rows):
        return grid_of_rows(whole=whole, unit=empty.weight_unit)
    return grid_of_cells(
        empty,
        epsilon=float(epsilon),
        whole=whole,
        privacy_unit=privacy_unit,
        groups=sum(cells.shape(cells.depth - 1)),
    )


def _left_out_change(
    empty: PrivateData,
    privacy_unit: PrivacyUnit,
    grid: Grid,
    *,
    whole: bool,
    known_max: int | None,
) -> int:
    """Return the sensitivity of the sum of the rows that the bound leaves out, in grid units.

    It is `Rows.most_left_out`, in rows if rows are counted whole; 0 if the sum is not measured.
    """
    if not isinstance(empty, Rows):
        return 0
    change = empty.most_left_out(privacy_unit, whole=whole, known_max=known_max)
    return change // STEPS if grid.unit == empty.weight_unit else change
