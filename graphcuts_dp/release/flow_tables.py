"""`release_flows`: what passes between public groups, for all cells of all levels and periods.

Read `release_flows`, `flows_job`, and the methods `measure` and `finish` of `FlowsJob`, in this
order. The shares of the levels are chosen in `estimate.strategy`, from public sizes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.cell_changes import counts_in_parts
from graphcuts_dp.estimate.flow_errors import (
    LevelErrors,
    least_cell_note,
    level_errors,
    noise_warning,
)
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement
from graphcuts_dp.estimate.strategy import (
    ALL_LEVELS,
    FlowStrategy,
    FlowWorkload,
    choose_strategy,
)
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
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
    measure_cells,
    sides_of_groups,
)
from graphcuts_dp.privacy.composition import check_spent, stated_cost
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.guarantees import release_guarantee
from graphcuts_dp.release.job import SMALL_RESULT, Job, execute
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.flows import Flows
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Reach, counted_by
from graphcuts_dp.schema.groups import Groups, Sides

_LINE_BYTES = 100  # of a cell: a line with two names of groups, three numbers; and its noisy sum


@refuses_former_options()
def release_flows(
    graph: PrivateData,
    groups: Groups | tuple[Groups, Groups],
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | Sequence[str] | None = None,
    workload: str | FlowWorkload = ALL_LEVELS,
    privacy_unit: str | PrivacyUnit | None = None,
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> Flows:
    """Release what passes between public groups, for all cells of all levels and periods.

    Args:
        graph: the private graph, or rows, of which those whose ends are equal count, too.
        groups: the public groups of its vertices; of a bipartite graph a pair, left and right,
            with the same number of levels. They come out with the table, so they must be public,
            and not made from the edges.
        epsilon: privacy parameter for one `privacy_unit`, in [1e-6, 50]; all of it is spent.
        delta: in [0, 1); 0 for pure privacy. Above 0 the noise may be Gaussian, where many levels
            pay for it.
        by: of rows with periods: a table for each "day", "month", "quarter" or "year"; or several
            of these, from the coarsest to the finest, over which the budget is divided. None for
            the periods that were declared.
        workload: what should be accurate: "all levels" (every level counts alike), "all cells"
            (every cell of every level counts alike, so that the finest level counts most), "totals"
            (the grand total), or the name of a level; or a `FlowWorkload`, which also says how
            cells are counted, and what you expect in one.
        privacy_unit: what neighbouring data differ by: "edge", "row", or a `PrivacyUnit`; None for
            the edges of a graph, or for rows as they count ("edge" if `counting="edges"`); rows
            with weights need `PrivacyUnit.row(max_units)`, whose bound cuts each. Of a user so many
            pairs, rows or units count, see `Rows.cells`: in all periods together, or, if
            `per_period`, in each. Of a vertex with degree bound D, each cell of the finest level is
            the largest weight that its edges can keep if no vertex keeps more than D of it in this
            cell (see `measure.cells.bounded_cells`): the true one if no vertex has more than D
            there, never above it; other levels are sums of these. Intervals are for this bounded
            table. The noise of a cell grows with D and with the number of groups.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            flows are charged to it, and refused if its budget does not allow them. None for a
            graph of which nothing else is ever released.
        seed: makes the run repeatable and voids the guarantee; None for the system's entropy.

    Raises:
        ParameterError: an option out of range; weights whose bound nobody has given (of a vertex
            they need none); noise that would hide the cells of the finest level, see
            `FlowWorkload.expected_cell`. Nothing was spent.
        GraphError: groups of other vertices, or that can hold no pair.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP, at edge level: `measure_cells` draws all noise,
    at a cost that is added up from its scales before any is drawn; which levels and shares there
    are is chosen from public sizes; the rest is computed from the noisy sums. Neighbours: graphs on
    the same public vertices that differ in one pair, or in `PrivacyUnit.edge(k)` of them, or in all
    edges of one vertex (proof in `bounded_changes`). With `whole` or a fine grid the sums are
    those of weights rounded down, and intervals of the fine grid allow for it. Of rows neighbours
    differ in one row, or in all rows of one user, and each row lies in one period: so every
    period has all of epsilon, and all tables together have epsilon. With a bound for each period
    neighbours differ in the rows of one user in one period.

    Examples:
        >>> flows = gc.release_flows(
        ...     gc.datasets.load("karate"), gc.datasets.load_groups("karate"), epsilon=1.0
        ... )
        >>> low, high = flows.between("Mr. Hi", "Officer").interval
    """
    job = flows_job(
        graph,
        groups,
        epsilon=epsilon,
        delta=delta,
        by=by,
        workload=workload,
        privacy_unit=privacy_unit,
    )
    return execute(job, graph, store=store, seed=seed)


def privacy_unit_of(data: PrivateData, privacy_unit: str | PrivacyUnit | None) -> PrivacyUnit:
    """Return the privacy unit of a table of flows: the one asked for, or what suits the data.

    Reads the schema alone.

    Raises:
        ParameterError: no such privacy unit, or weights of rows whose bound nobody has given.
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
        rows = isinstance(data, Rows) and data.counting != "edges"
        return PrivacyUnit.row() if rows else EDGE
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
) -> "FlowsJob":
    """Return what `release_flows` does with these options. Reads the schema of the data alone.

    Raises:
        ParameterError, GraphError: as `release_flows`.
    """
    empty, exact = without_rows(data), exact_epsilon(epsilon)
    del data  # nothing below can reach it
    privacy_unit, reach = privacy_unit_of(empty, privacy_unit), reach_of(empty)
    work = FlowWorkload.of(workload)
    sides = sides_of_groups(empty, groups)
    cells = cell_tree(empty, sides, by)
    privacy_unit.per_change(exact)  # refuses what would leave too little
    grid, whole = _grid_of(empty, cells, privacy_unit, epsilon=exact, whole=work.whole)
    bounded_data(empty, privacy_unit, whole=whole, by=by)  # refuses what cannot be guaranteed
    changes = changes_on(grid, cells, privacy_unit, reach)
    choose = partial(
        choose_strategy,
        cells,
        delta=delta,
        changes=changes,
        workload=work.accurate,
        noise=work.noise,
    )
    strategy = choose(epsilon=exact)
    plan = strategy.budget_plan(cells, epsilon=exact, delta=delta)
    measured = [changes[place] for place in strategy.places]
    check_spent(strategy.noise.cost(delta=delta, changes=measured), plan.cost)
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
        work=work,
        strategy=strategy,
        choose=choose,
    )


def _grid_of(
    empty: PrivateData,
    cells: CellTree,
    privacy_unit: PrivacyUnit,
    *,
    epsilon: Fraction,
    whole: bool,
) -> tuple[Grid, bool]:
    """Return the steps that weights or rows are counted in, and whether these are whole numbers."""
    if isinstance(empty, Rows):
        # Rows that are not scaled down lose nothing by whole steps.
        whole = whole or not counts_in_parts(empty.counting, privacy_unit)
        return grid_of_rows(whole=whole, unit=empty.weight_unit), whole
    grid = grid_of_cells(
        empty,
        epsilon=float(epsilon),
        whole=whole,
        privacy_unit=privacy_unit,
        groups=sum(cells.shape(cells.depth - 1)),
    )
    return grid, whole


def bounded_data(
    data: PrivateData, privacy_unit: PrivacyUnit, *, whole: bool, by: str | Sequence[str] | None
) -> AnyGraph | PairCounts:
    """Return private data in which nobody has more than the guarantee allows. Private.

    Raises:
        ParameterError: data that cannot be bounded so.
    """
    if isinstance(data, Rows):
        return counted_rows(data, privacy_unit, whole=whole, by=by)
    return bounded_graph(data, privacy_unit)


@final
@dataclass(frozen=True, kw_only=True)
class FlowsJob(Job[Flows]):
    """A release of a table of flows.

    Attributes:
        sides: public groups of the rows and the columns.
        cells: the public cells.
        grid: the steps that weights or rows are counted in.
        whole: whether these are whole numbers.
        by: levels of the periods, as they were asked for.
        privacy_unit: of the guarantee.
        reach: which cells one user's rows can change; None for a graph.
        work: what should be accurate.
        strategy: how the levels are measured.
        choose: the same for another epsilon, for advice.
    """

    kind: str = "flows"
    sides: Sides
    cells: CellTree
    grid: Grid
    whole: bool
    by: str | Sequence[str] | None
    privacy_unit: PrivacyUnit
    reach: Reach | None
    work: FlowWorkload
    strategy: FlowStrategy
    choose: Callable[..., FlowStrategy]

    @property
    def inputs(self) -> Sequence[Any]:
        """See `Job.inputs`."""
        return (self.sides, self.by)

    def bound(self, data: PrivateData) -> AnyGraph | PairCounts:
        """See `Job.bound`."""
        return bounded_data(data, self.privacy_unit, whole=self.whole, by=self.by)

    def measure(
        self, bounded: AnyGraph | PairCounts, source: EntropySource, progress: Progress = silent
    ) -> CountMeasurement[CellSums]:
        """See `Job.measure`: the sums of the cells of all levels of the plan."""
        del progress
        return measure_cells(
            bounded,
            self.sides,
            self.cells,
            places=self.strategy.places,
            noise=self.strategy.noise,
            grid=self.grid,
            whole=self.whole,
            privacy_unit=self.privacy_unit,
            reach=self.reach,
            source=source,
        )

    def finish(
        self,
        measured: CountMeasurement[CellSums],
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> Flows:
        """See `Job.finish`."""
        del source, progress
        return Flows(noisy=measured, strategy=self.strategy, guarantee=guarantee)

    def parts(
        self, measured: CountMeasurement[CellSums], guarantee: PrivacyGuarantee
    ) -> ResultParts:
        """See `Job.parts`."""
        return Flows(noisy=measured, strategy=self.strategy, guarantee=guarantee).to_parts()

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
            "workload": self.work.accurate,
            "levels": [step.statistic for step in self.budget_plan.steps],
            **({} if bound is None else {"max_degree": bound}),
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

    @cached_property
    def _level_errors(self) -> tuple[LevelErrors, ...]:
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
            expected=self.work.expected_cell,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Job.notes`."""
        notes = [level.note for level in self._level_errors]
        rows = self.public
        if isinstance(rows, Rows) and rows.weighted and self.work.expected_cell is None:
            counted = counted_by(rows.counting)
            note = least_cell_note(self.cells, self.strategy, unit=self.grid.unit, counted=counted)
            notes.append(note)
        return tuple(filter(None, notes))

    def errors(self) -> Iterable[tuple[str, float]]:
        """See `Job.errors`."""
        levels = self._level_errors[::-1]
        return tuple((f"a cell of level {level.level!r}", level.within) for level in levels)
