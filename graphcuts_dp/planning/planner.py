"""Compare mechanisms for answers about cuts, from public numbers alone: no data, no noise.

`planning.mechanisms` has the formulas, and says what guaranteed and typical mean.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from graphcuts_dp.display import Card, Tabled, up_to_digits
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.cell_changes import cell_changes, counts_in_parts
from graphcuts_dp.estimate.flow_errors import guaranteed_flows
from graphcuts_dp.estimate.strategy import choose_strategy
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.frames import made_frame
from graphcuts_dp.learn.sizes import ArcsOn, Size, shape_of, usual_edges
from graphcuts_dp.learn.workload import SessionWorkload, Setting
from graphcuts_dp.options import check_type, is_number, no_choice
from graphcuts_dp.planning.mechanisms import (
    ANSWERS,
    FIXED,
    LINEAR,
    ON_PARTITIONS,
    SESSIONS,
    TIGHT,
    NamedMechanism,
    PlannedMechanism,
    mean_absolute,
    mechanisms_for,
)
from graphcuts_dp.planning.synthetic import (
    ResponseForecast,
    SparseForecast,
    SyntheticForecast,
    response_forecast,
    sparse_forecast,
    synthetic_forecast,
)
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, SMALLEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import STEPS, Counting, Reach, counts_once
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.schema.periods import Periods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Groupings = GroupTree | tuple[GroupTree, GroupTree]

VACUOUS = "vacuous here"  # remark on a mechanism that is no better than a trivial answer
FLOWS = "flows"  # method of tables between groups
# Words for what a table counts, by `RowTable.counting`.
_COUNTED_WORDS = {"rows": "rows", "weight": "units of weight", "users": "users", "edges": "pairs"}
LEGEND = """\
MW, FK, MD: multiplicative-weights, frieze-kannan, mirror-descent with its norm. Cuts
between disjoint sets: any k, which may depend on earlier answers; fixed k, chosen
before; or all. Guaranteed: the error of each is at most this, if m is right. Typical:
expected error between random halves, not guaranteed; of MW, FK, MD before any update."""
# Remarks below the table, each on a kind of lines that it may have.
_REMARK_ON_FLOWS = """\
Flows: one cell of the finest level of groups, one union of about sqrt(g) of g groups with
as many others, or one half of the groups with the rest; no other cuts. Each is guaranteed by
itself, as a released table states it, whatever k is.
Tight MW, FK, and MD with norm l2 or entropy: with start='groups' a session begins from noisy sums
between the groups. It then guarantees at most 2.5 % more, and less where the groups say much."""
_REMARK_ON_LISTS = """\
Answers: up to 6 cuts at once. Iterative, game: releases for a public list, the
calibration "tight", or players; linear k: any linear queries, whose largest
coefficient is 1. Players, and "practical", test their error, and mostly state less.
Net: one graph out of all that are possible. Sensing: linear queries on ratings."""
_REMARK_ON_PARTITIONS = """\
Least cut: what a private cut between two vertices weighs above the least one; typical is on
average, and both are far too large where there is a clear cut, or where cutting off one
terminal alone costs little. Partition: half the interval of two halves of a release (response),
chosen after looking; not how good they are."""
_REMARK_ON_VERTICES = """\
Vertices: errors of bounded cuts, which are below the true ones where a vertex has
more than the bound across the cut. A synthetic graph cannot hide a vertex."""
_REMARK_ON_LINEAR_QUERIES = """\
Linear queries: errors for a largest coefficient of 1, of any such queries; multiply them
by the largest coefficient. Statistics need gaussian or laplace."""
# Fields of the workload that the plain values of a plan have.
_WORKLOAD_FIELDS = ("queries", "beta", "linear", "max_right_size", "max_spectral_norm")
_PRECISION = 1e-5  # relative, of the search for the least epsilon
_DIGITS = 4  # significant ones of a least epsilon, which is rounded up


@final
@dataclass(frozen=True, kw_only=True)
class RowTable:
    """A table of flows between groups, for a plan: groups, periods, and what cells count.

    Attributes:
        groups: public groups of the vertices, as for `plan`.
        counting: as of `Rows`: "rows", "weight" (errors are in units), "users" or "edges".
        periods: as for `Rows.read`, such as "2026-01..2026-12"; None for rows without.
        by: as for `release_flows`: "month", or levels such as ["year", "month"].

    Raises:
        ParameterError: another counting, or levels and no periods, or none of these periods.

    Examples:
        >>> groups = gc.datasets.load_groups("karate")
        >>> months = gc.planning.RowTable(groups=groups, periods="2026-01..2026-06")
        >>> unit = gc.PrivacyUnit.user(max_contributions=20, per_period=True)
        >>> plan = gc.plan(34, epsilon=1.0, groups=months, privacy_unit=unit)
        >>> [row.cuts for row in plan.rows if row.method == "flows"]
        ['cell', 'union', 'half']
    """

    groups: Groupings
    counting: Counting = "rows"
    periods: Periods | Sequence[str] | str | None = None
    by: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.counting not in _COUNTED_WORDS:
            raise ParameterError(no_choice("counting", self.counting, _COUNTED_WORDS))
        if self.periods is None and self.by is not None:
            raise ParameterError("by= is for rows with periods: declare them by periods=")
        self.tree  # noqa: B018  # refuses levels that there are not

    @property
    def tree(self) -> GroupTree | None:
        """The periods, on their levels; None without periods."""
        return None if self.periods is None else Periods.of(self.periods).tree(self.by)

    @property
    def description(self) -> str:
        """A description of the lines of flows, in words."""
        tree = self.tree
        period = "" if tree is None else f" in one {tree.levels[-1]}"
        counted = _COUNTED_WORDS[self.counting]
        return (
            f"Flows of {counted}{period}, between groups of the finest level; typical is the "
            "expected error."
        )


@final
@dataclass(frozen=True, kw_only=True)
class PlanRow(NamedMechanism):
    """One mechanism, and the error that it guarantees.

    Attributes:
        guaranteed: with probability 1 - beta no error of these cuts is larger, in edges; of flows
            the error of one of them by itself. Infinite if the mechanism needs delta > 0.
        typical: expected absolute error of a cut between random halves; None where only
            measurements show it. For constructions, that of the first hypothesis.
        vacuous: whether a trivial answer guarantees as much.
        epsilon_needed: least epsilon that guarantees the plan's target, to four digits; infinite
            for never; None if there is no target, of games, whose bound may grow with epsilon, and
            of iterative releases that are vacuous.

    Examples:
        >>> plan = gc.plan(1000, edges=5000, queries=100, epsilon=1.0, delta=1e-6)
        >>> plan.best_method in {row.method for row in plan.rows}
        True
    """

    guaranteed: float
    typical: float | None
    vacuous: bool
    epsilon_needed: float | None = None


@final
@dataclass(frozen=True, repr=False, kw_only=True)
class Plan(Tabled):
    """The errors to expect from all mechanisms for one setting, best first.

    Attributes:
        setting: the public numbers.
        rows: by guaranteed error; least cuts and partitions, which answer no cut, come last.
        target_error: what `PlanRow.epsilon_needed` is for, in edges, or None.
        assumed: whether m is a usual number, as the caller gave none.
        table: the table of rows that flows are of; None for those of a graph.

    Examples:
        >>> plan = gc.plan(1000, edges=5000, queries=100, epsilon=1.0, delta=1e-6)
        >>> plan.best_method in {row.method for row in plan.rows}
        True
    """

    setting: Setting
    rows: tuple[PlanRow, ...]
    target_error: float | None
    assumed: bool = False
    table: RowTable | None = None

    @property
    def best(self) -> PlanRow:
        """The row of least guaranteed error of a session for any k, calibrated as in no paper."""
        return next(
            row
            for row in self.rows
            if row.method in SESSIONS and row.calibration in ("", TIGHT) and row.cuts != FIXED
        )

    @property
    def best_method(self) -> str:
        """The `method` of `best`."""
        return self.best.method

    @property
    def shown(self) -> tuple[PlanRow, ...]:
        """The rows of the printed table.

        Of a `RowTable` they are those of its flows; of a graph all rows but iterative releases that
        are vacuous.
        """
        if self.table is not None:
            return tuple(row for row in self.rows if row.method == FLOWS)
        return tuple(
            row
            for row in self.rows
            if not (row.iterative and (row.vacuous or math.isinf(row.guaranteed)))
        )

    @cached_property
    def advice(self) -> str:
        """Advice to the user, in a sentence."""
        setting = self.setting
        useful = [
            row
            for row in self.rows
            if not (row.trivial or row.vacuous or row.method == FLOWS)
            and row.cuts not in (LINEAR, *ON_PARTITIONS)
        ]
        if useful:
            best = useful[0]
            times = _least_trivial(setting) / best.guaranteed if best.guaranteed else math.inf
            text = f"{best.name} guarantees an error {times:,.3g} times below the best trivial "
            text += "answer's"
            if best.cuts == FIXED:
                names_of_others = (row.name for row in useful if row.cuts != FIXED)
                text += (
                    f"; for queries that depend on answers, {next(names_of_others, 'nothing')} does"
                )
            return text
        remedies = _remedies(setting)
        advice = ", or ".join(remedies) if remedies else "the graph is too small"
        return f"nothing here beats a trivial answer: {advice}"

    @cached_property
    def synthetic(self) -> SyntheticForecast:
        """Forecast of what a synthetic graph keeps."""
        return synthetic_forecast(self.setting)

    @cached_property
    def response(self) -> ResponseForecast:
        """Forecast of what a release with mechanism "randomized-response" keeps."""
        return response_forecast(
            self.setting.n, self.setting.distribution, edges=self.setting.edges
        )

    @cached_property
    def sparse(self) -> SparseForecast:
        """Forecast of what `release_graph` with mechanism "sparse" keeps."""
        return sparse_forecast(self.setting)

    @property
    def title(self) -> str:
        """The setting in words."""
        setting, workload = self.setting, self.setting.workload
        sides = setting.n if isinstance(setting.n, tuple) else shape_of(setting.n)[:1]
        size = " x ".join(f"{side:,}" for side in sides)
        directed = " (directed)" if isinstance(setting.n, ArcsOn) else ""
        guess = "assumed, since no edges are given" if self.assumed else "a public guess"
        edges = "" if self.table is not None else f"m = {setting.edges:,.0f} ({guess}), "
        description = (
            f"n = {size}{directed}, {edges}k = {workload.queries:,}, "
            f"epsilon = {setting.epsilon:g}, delta = {setting.delta:g}, beta = {workload.beta:g}"
        )
        if setting.privacy_unit != EDGE:
            description += f", privacy unit {setting.privacy_unit}"
        if workload.linear:
            description += ", any linear queries"
        for value, words in (
            (workload.max_spectral_norm, " of singular values up to {:,g}"),
            (setting.rank, ", rank {:,} (a public guess)"),
            (workload.max_right_size, ", at most {:,} right vertices"),
            (self.target_error, "; epsilon for an error of {:,g}"),
        ):
            description += "" if value is None else words.format(value)
        return description

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks below the table: what columns and names mean, and what to do."""
        if self.table is not None:
            first_sentence = _REMARK_ON_FLOWS.partition(".")[0] + "."
            return self.table.description, first_sentence
        lines = [LEGEND]
        if any(row.method == FLOWS for row in self.rows):
            lines.append(_REMARK_ON_FLOWS)
        if any(row.iterative for row in self.shown):
            lines.append(_REMARK_ON_LISTS)
        if any(row.cuts in ON_PARTITIONS for row in self.shown):
            lines.append(_REMARK_ON_PARTITIONS)
        if self.setting.workload.linear:
            lines.append(_REMARK_ON_LINEAR_QUERIES)
        elif self.setting.privacy_unit.kind == "vertex":
            lines.append(_REMARK_ON_VERTICES)
        else:
            lines += [
                f"Synthetic graph: {self.synthetic}.",
                f"Randomised response: {self.response}.",
                f"Sparse release: {self.sparse}.",
            ]
        if any(math.isinf(row.guaranteed) for row in self.shown):
            lines.append("Needs delta: give one far below 1/edges, for example a delta of 1e-6.")
        return (*lines, f"Advice: {self.advice}")

    def _picture(self) -> "Figure | None":
        return self.plot()

    def _card(self) -> Card:
        target_columns = () if self.target_error is None else ("epsilon",)
        return Card(
            title=self.title,
            columns=("mechanism", "cuts", "guaranteed", "typical", *target_columns, "remark"),
            rows=[
                (
                    row.name,
                    row.cuts,
                    "needs delta" if math.isinf(row.guaranteed) else _bound_text(row.guaranteed),
                    "-" if row.typical is None else _error_text(row.typical),
                    *([_epsilon_text(row.epsilon_needed)] if target_columns else []),
                    "trivial" if row.trivial else VACUOUS if row.vacuous else "",
                )
                for row in self.shown
            ],
            notes=self.remarks,
        )

    def __repr__(self) -> str:
        epsilon, delta = self.setting.epsilon, self.setting.delta
        return (
            f"Plan({len(self.rows)} mechanisms, epsilon={epsilon:g}, delta={delta:g}, "
            f"best={self.best.name!r})"
        )

    def plot(self) -> "Figure":
        """Draw the guaranteed errors, best first, as a figure of matplotlib."""
        from graphcuts_dp.plotting.answer_lists import plan_figure  # matplotlib is slow to import

        rows = [row for row in self.shown if 0 < row.guaranteed < math.inf]
        rows = [row for row in rows if row.cuts not in ON_PARTITIONS]
        return plan_figure(
            [f"{row.name} ({row.cuts})" for row in rows],
            np.array([row.guaranteed for row in rows]),
            [row.trivial for row in rows],
            title=self.title,
        )

    def to_frame(self, kind: Any = None) -> Any:
        """Return the rows as a table, as `Graph.to_frame`: a column for each field of `PlanRow`.

        Args:
            kind: library of the frame, such as `pandas`; the one that is installed if None.
        """
        names = [column.name for column in fields(PlanRow)]
        return made_frame({name: [getattr(row, name) for row in self.rows] for name in names}, kind)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, by the names of the attributes.

        Infinity becomes None, or "never" of an epsilon.
        """
        setting, workload, synthetic = self.setting, self.setting.workload, None
        if setting.privacy_unit.kind != "vertex" and not workload.linear:
            forecast = asdict(self.synthetic)
            synthetic = {name: _finite(value, "never") for name, value in forecast.items()}
        return {
            "n": list(setting.n) if isinstance(setting.n, tuple) else shape_of(setting.n)[0],
            "directed": isinstance(setting.n, ArcsOn),
            "edges": setting.edges,
            "epsilon": setting.epsilon,
            "delta": setting.delta,
            **{name: getattr(workload, name) for name in _WORKLOAD_FIELDS},
            "rank": setting.rank,
            "privacy_unit": setting.privacy_unit.typed,
            "target_error": self.target_error,
            **({} if self.table is None else {"flows": self.table.description}),
            "rows": [
                asdict(row)
                | {
                    "guaranteed": _finite(row.guaranteed),
                    "epsilon_needed": _finite(row.epsilon_needed, "never"),
                }
                for row in self.rows
            ],
            "best_method": self.best_method,
            "advice": self.advice,
            "synthetic_graph": synthetic,
        }


@refuses_former_options()
def plan(
    n: int | tuple[int, int],
    *,
    epsilon: float,
    edges: float | None = None,
    queries: int | SessionWorkload = 1000,
    delta: float = 0.0,
    directed: bool = False,
    privacy_unit: str | PrivacyUnit = EDGE,
    rank: int | None = None,
    groups: Groupings | RowTable | None = None,
    target_error: float | None = None,
) -> Plan:
    """Compare what all mechanisms would guarantee for a graph of this size. Reads no data.

    Args:
        n: vertices, or (left, right) of a bipartite graph.
        epsilon: privacy parameter, in [1e-6, 50].
        edges: m, a public guess; never look it up in the private graph. If None, what the workload
            expects, else an average degree of 20, and at most half of all pairs.
        queries: k, cuts between disjoint sets, at least 1; or a `SessionWorkload`, which also says
            how sure errors are to hold, and what is announced of queries, as to `open_session`.
        delta: in [0, 1); at 0 the mechanisms that need it are listed without a guarantee.
        directed: whether the graph is directed: n (n - 1) pairs.
        privacy_unit: what neighbouring data differ by. Of a vertex, errors are those of bounded
            cuts (`plan_degree_bounds` says what the bound leaves out), and only mechanisms with a
            known formula are listed.
        rank: of any linear queries on a bipartite graph: a public guess of the rank of the matrix
            of ratings: how many kinds of users explain them. The row of norm "schatten" goes by it.
        groups: public groups of the vertices, a `Groups` or sizes alone (a pair of them for two
            sides): rows for flows between them are added. Or a `RowTable`: flows of rows, perhaps
            by periods, for one `privacy_unit`; errors are those within one period.
        target_error: also find the epsilon that guarantees this, in edges: for each mechanism the
            least one whose error, as the mechanism states it before it is used, is at most this.

    Raises:
        ParameterError: a number out of range, or groups of other vertices.

    Examples:
        >>> plan = gc.plan(5000, edges=50_000, queries=10**6, epsilon=1.0, delta=1e-6)
        >>> plan.best_method
        'multiplicative-weights'
    """
    check_type("directed", directed, bool, "True or False")
    for side in n if isinstance(n, tuple) else (n,):
        check_type("n", side, (int, ArcsOn), "a number of vertices, or a pair of them")
    if isinstance(n, tuple) and len(n) != 2:
        raise ParameterError("n must be a number of vertices, or a pair of them for two sides")
    size: Size = n
    if directed:
        if isinstance(n, tuple):
            raise ParameterError("a directed graph has one number of vertices")
        size = ArcsOn(n)
    workload = queries if isinstance(queries, SessionWorkload) else SessionWorkload(queries=queries)
    if edges is None:
        edges = workload.expected_edges
    setting = Setting(
        n=size,
        edges=usual_edges(size) if edges is None else edges,
        workload=workload,
        epsilon=epsilon,
        delta=delta,
        privacy_unit=PrivacyUnit.of(privacy_unit),
        rank=rank,
    )
    return plan_of(setting, groups=groups, target_error=target_error, assumed=edges is None)


def plan_of(
    setting: Setting,
    *,
    groups: Groupings | RowTable | None = None,
    target_error: float | None = None,
    iterative: bool = True,
    assumed: bool = False,
) -> Plan:
    """Return the plan for a setting.

    Args:
        setting: the public numbers.
        groups: as for `plan`.
        target_error: as for `plan`.
        iterative: whether to list iterative releases, which take most of the time.
        assumed: see `Plan`.

    Raises:
        ParameterError: as for `plan`.
    """
    if setting.workload.linear and groups is not None:
        raise ParameterError("flows between groups are sums of cuts: plan them without linear")
    if target_error is not None and not (is_number(target_error) and 0 < target_error < math.inf):
        raise ParameterError("target_error must be a positive, finite number of edges")
    planned = [
        mechanism for mechanism in mechanisms_for(setting) if iterative or not mechanism.iterative
    ]
    if groups is not None:
        planned += _flow_mechanisms(setting, groups)
    least_trivial = _least_trivial(setting)
    rows = [_row(mechanism, setting, least_trivial, target_error) for mechanism in planned]
    rows.sort(key=lambda row: (row.cuts in ON_PARTITIONS, row.guaranteed))
    return Plan(
        setting=setting,
        rows=tuple(rows),
        target_error=target_error,
        assumed=assumed,
        table=groups if isinstance(groups, RowTable) else None,
    )


def least_epsilon(enough: Callable[[float], bool], *, group_size: int = 1) -> float:
    """Return the least epsilon in range that is enough, rounded up; infinity if none is.

    Args:
        enough: returns whether an epsilon is enough; any larger one must be enough, too.
        group_size: number of changes that share epsilon, none of which may get too little.
    """
    # `PrivacyUnit.per_change` divides the epsilon exactly: no share may be below the smallest.
    smallest = up_to_digits(Fraction(SMALLEST_EPSILON) * group_size, _DIGITS)
    if smallest >= LARGEST_EPSILON or not enough(LARGEST_EPSILON):
        return math.inf
    if enough(smallest):
        return smallest
    low, high = math.log(smallest), math.log(LARGEST_EPSILON)
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return min(LARGEST_EPSILON, up_to_digits(math.exp(high), _DIGITS))


def _row(
    mechanism: PlannedMechanism, setting: Setting, least_trivial: float, target: float | None
) -> PlanRow:
    """Return the row of a mechanism.

    Args:
        mechanism: that is possible for the setting.
        setting: the public numbers.
        least_trivial: least error that a trivial answer guarantees.
        target: error for which the least epsilon is computed; None for none.
    """
    guaranteed = mechanism.guaranteed(setting)
    typical = None
    # Other typical errors are those of cuts.
    has_typical = not setting.workload.linear or mechanism.method in ("gaussian", "laplace")
    if mechanism.typical is not None and has_typical and math.isfinite(guaranteed):
        typical = min(mechanism.typical(setting), guaranteed)
    trivial_error = setting.edges if mechanism.cuts == LINEAR else least_trivial
    vacuous = not mechanism.trivial and mechanism.method != FLOWS and guaranteed >= trivial_error
    needed = None
    if target is not None and mechanism.monotone and not (mechanism.iterative and vacuous):
        needed = least_epsilon(
            lambda epsilon: mechanism.guaranteed(replace(setting, epsilon=epsilon)) <= target,
            group_size=setting.privacy_unit.group_size,
        )
    return PlanRow(
        **{column.name: getattr(mechanism, column.name) for column in fields(NamedMechanism)},
        guaranteed=guaranteed,
        typical=typical,
        vacuous=vacuous,
        epsilon_needed=needed,
    )


def _flow_mechanisms(setting: Setting, grouping: Groupings | RowTable) -> list[PlannedMechanism]:
    """Return the mechanisms for cells, unions and halves of groups.

    They are no arbitrary cuts, so none is called vacuous. Errors are those that a released table
    states of each of its numbers by itself.

    Raises:
        ParameterError: groups of other vertices, or that can hold no pair; or a privacy unit that
            the rows do not have.
    """
    table = grouping if isinstance(grouping, RowTable) else None
    groups = grouping.groups if isinstance(grouping, RowTable) else grouping
    trees = groups if isinstance(groups, tuple) else (groups, None)
    rows, columns = shape_of(setting.n)
    sizes = (rows, columns if isinstance(setting.n, tuple) else None)
    if not all(tree is None or isinstance(tree, GroupTree) for tree in trees):
        raise ParameterError("groups are a Groups or a GroupTree, or a pair of them for two sides")
    if sizes != tuple(None if tree is None else tree.n for tree in trees):
        raise ParameterError("the groups are of other numbers of vertices than the plan")
    try:
        cells = CellTree(
            *trees,
            directed=isinstance(setting.n, ArcsOn),
            loops=table is not None and trees[1] is None,
            periods=None if table is None else table.tree,
        )
    except GraphError as problem:
        raise ParameterError(str(problem)) from None
    privacy_unit = setting.privacy_unit
    weight_of_grid_unit = 1.0
    if table is None:
        changes = cell_changes(cells, privacy_unit)
    else:
        privacy_unit.check_rows(
            table.counting, has_users=True, has_periods=table.periods is not None
        )
        grid_units = STEPS if counts_in_parts(table.counting, privacy_unit) else 1  # of one row
        weight_of_grid_unit = 1 / grid_units
        # The worst case: the rows of a user begin anywhere, and may all fall on one pair.
        reach = Reach(counts_once(table.counting), tail=False)
        changes = cell_changes(
            cells, privacy_unit, sensitivity=grid_units, capped=False, reach=reach
        )

    @cache
    def errors(epsilon: float) -> dict[str, tuple[float, float]]:
        strategy = choose_strategy(cells, epsilon=epsilon, delta=setting.delta, changes=changes)
        return guaranteed_flows(cells, strategy, failure=setting.workload.beta)

    def mechanism(kind: str) -> PlannedMechanism:
        return PlannedMechanism(
            method=FLOWS,
            cuts=kind,
            guaranteed=lambda any_setting: (
                errors(any_setting.epsilon)[kind][0] * weight_of_grid_unit
            ),
            typical=lambda any_setting: (
                mean_absolute(errors(any_setting.epsilon)[kind][1]) * weight_of_grid_unit
            ),
        )

    return [mechanism(kind) for kind in errors(setting.epsilon)]


def _remedies(setting: Setting) -> list[str]:
    """Return advice by which some mechanism becomes better than a trivial answer."""
    remedies = []
    most_queries = _most_queries(setting)
    if most_queries:
        winner = _name_of_winner(_with_queries(setting, most_queries))
        remedies.append(f"ask at most {most_queries:,} queries ({winner})")
    needed = least_epsilon(
        lambda epsilon: bool(_name_of_winner(replace(setting, epsilon=epsilon))),
        group_size=setting.privacy_unit.group_size,
    )
    if math.isfinite(needed):
        winner = _name_of_winner(replace(setting, epsilon=needed))
        remedies.append(f"raise epsilon to {needed:g} ({winner})")
    return remedies


def _name_of_winner(setting: Setting) -> str:
    """Return the name of the mechanism of least error; empty if a trivial answer is as good."""
    candidates = (
        mechanism
        for mechanism in mechanisms_for(setting)
        # Iterative releases are tuned, which takes long, but for "answers".
        if not (mechanism.iterative and mechanism.method != ANSWERS)
        and not mechanism.trivial
        and mechanism.cuts not in ON_PARTITIONS
    )
    best = min(candidates, key=lambda mechanism: mechanism.guaranteed(setting))
    if best.guaranteed(setting) >= _least_trivial(setting):
        return ""
    return f"{best.name}, {FIXED}" if best.cuts == FIXED else best.name


def _least_trivial(setting: Setting) -> float:
    """Return the least error that a trivial answer guarantees."""
    return min(
        mechanism.guaranteed(setting) for mechanism in mechanisms_for(setting) if mechanism.trivial
    )


def _most_queries(setting: Setting) -> int:
    """Return about the most queries, up to a tenth, for which there is a winner; 0 if for none."""
    if not _name_of_winner(_with_queries(setting, 1)):
        return 0
    low, high = 1, setting.workload.queries
    while high - low > max(1, low // 10):
        # Bounds that are far apart are halved by their ratio, others by their difference.
        middle = math.isqrt(low * high) if low * 4 < high else (low + high) // 2
        has_winner = bool(_name_of_winner(_with_queries(setting, middle)))
        low, high = (middle, high) if has_winner else (low, middle)
    return low


def _with_queries(setting: Setting, queries: int) -> Setting:
    """Return a setting with another number of queries."""
    return replace(setting, workload=replace(setting.workload, queries=queries))


def _finite(value: Any, infinite: str | None = None) -> Any:
    """Return a value for JSON, with `infinite` in place of infinity."""
    return infinite if value == math.inf else value


def _error_text(error: float) -> str:
    """Return an error as text."""
    return f"{error:,.0f}" if 10 <= error < 1e9 else f"{error:.2g}"


def _bound_text(error: float) -> str:
    """Return a bound as text, rounded up, so that the guarantee holds as it is printed."""
    return f"{math.ceil(error):,}" if 10 <= error < 1e9 else f"{up_to_digits(error, 2):.2g}"


def _epsilon_text(epsilon: float | None) -> str:
    """Return a least epsilon as text."""
    return "-" if epsilon is None else "never" if math.isinf(epsilon) else f"{epsilon:g}"
