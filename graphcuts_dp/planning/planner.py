"""Which mechanism answers cuts best, from public numbers alone: no data, no noise.

`planning.mechanisms` has the formulas, and says what guaranteed and typical mean.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.changes import cell_changes
from graphcuts_dp.estimate.strategy import choose_strategy, guaranteed_flows
from graphcuts_dp.learn.update_bounds import ArcsOn, Size, shape_of
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.planning.mechanisms import (
    ANSWERS,
    FIXED,
    LINEAR,
    PlannedMechanism,
    mechanisms_for,
    name_of,
)
from graphcuts_dp.planning.synthetic import (
    SparseForecast,
    SyntheticForecast,
    sparse_forecast,
    synthetic_forecast,
)
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, SMALLEST_EPSILON
from graphcuts_dp.privacy.protection import EDGE
from graphcuts_dp.session.choice import Setting
from graphcuts_dp.session.methods import METHODS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VACUOUS = "vacuous here"
FLOWS = "flows"
Groupings = GroupTree | tuple[GroupTree, GroupTree]
LEGEND = """\
MW, FK, MD: multiplicative-weights, frieze-kannan, mirror-descent with its norm. Cuts
between disjoint sets: any k, which may depend on earlier answers; fixed k, chosen
before; or all. Guaranteed: none of them is farther off, if m is right. Typical:
expected error between random halves, not promised; of MW, FK, MD before any update."""
_OF_FLOWS = """\
Flows: fixed k cells of the finest level of groups, unions of about sqrt(g) of g
groups with as many others, or halves of the groups with the rest; no other cuts.
Tight MW, FK, and MD with norm l2 or entropy: with start='groups' a session begins from noisy sums
between the groups. It then guarantees at most 2.5 % more, and less where the groups say much."""
_OF_LISTS = """\
Answers: up to 6 cuts at once. Offline, game: iterative releases for a public list, the
calibration "tight", or players; linear k: any linear queries, whose largest
coefficient is 1. Players, and "practical", test their error, and mostly state less.
Net: one graph out of all that are possible. Sensing: linear queries on ratings."""
_OF_VERTICES = """\
Vertices: errors of bounded cuts, which are below the true ones where a vertex has
more than the bound across the cut. A synthetic graph cannot hide a vertex."""
_OF_LINEAR = """\
Linear queries: errors for a largest coefficient of 1, of any such queries; others are
off by so many times their largest one. Statistics need gaussian or laplace."""
_PRECISION = 1e-5  # relative, of an epsilon that is looked for


@final
@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """One mechanism, and the error that it guarantees.

    Attributes:
        method: the name that a session takes as `method`; "release" for the synthetic graph;
            "answers" for `release_answers`; of `release_iteratively` with calibration="tight"
            "offline MW", "offline MW released" (its distinguisher), "offline median", and "game
            query", "game both" with a player; "net" for `release_net`, "sensing" for
            `release_sensing`; "flows" for a table between public groups; else one of the trivial
            answers "answer 0", "midpoint" (the middle of what a noisy number of edges leaves
            possible), "density only" (a noisy number of edges, spread evenly).
        calibration: of "multiplicative-weights" and "frieze-kannan", as a session takes it:
            "tight", "gru12", "jt12" or "dr14"; else empty.
        cuts: which cuts the guarantee is for: "any k", which may depend on earlier answers,
            "fixed k", chosen before, or "all" at once; of flows "cell", "union" (of about sqrt(g)
            of g groups with as many others) or "half" (of the groups with the rest): fixed k of
            these, of the finest level. "linear k": fixed k linear queries with coefficients in
            [-1, 1].
        guaranteed: with probability 1 - beta none of these cuts is farther off, in edges; infinite
            if the mechanism needs delta > 0.
        typical: expected absolute error of a cut between random halves; None where only
            measurements tell. Constructions: of the first hypothesis, before any update.
        trivial: whether hardly anything was learnt from the graph.
        vacuous: whether a trivial answer guarantees as much.
        epsilon_needed: least epsilon that guarantees the plan's target, to four digits; infinite
            for never; None if there is no target, of games, whose bound may grow with epsilon, and
            of offline releases that are vacuous.
        norm: of mirror descent; empty for others. What "2,p" guarantees whatever the degrees are.
        offline: whether all queries are answered at once, from a public list. Such rows are printed
            only where they are not vacuous.
    """

    method: str
    calibration: str
    cuts: str
    guaranteed: float
    typical: float | None
    trivial: bool
    vacuous: bool
    epsilon_needed: float | None = None
    norm: str = ""
    offline: bool = False

    @property
    def name(self) -> str:
        """For people: "gaussian", "tight MW"."""
        return name_of(self.method, self.calibration, self.norm)


@final
@dataclass(frozen=True, repr=False, kw_only=True)
class Plan(Displayed):
    """The errors to expect from all mechanisms for one setting, best first.

    Attributes:
        setting: the public numbers.
        rows: by guaranteed error.
        target_error: what `PlanRow.epsilon_needed` is for, in edges, or None.
    """

    setting: Setting
    rows: tuple[PlanRow, ...]
    target_error: float | None

    @property
    def best(self) -> PlanRow:
        """The session's row of least guarantee: adaptive queries, no paper's calibration."""
        return next(
            row
            for row in self.rows
            if row.method in METHODS and row.calibration in ("", "tight") and row.cuts != FIXED
        )

    @property
    def best_method(self) -> str:
        """The `method` of `best`."""
        return self.best.method

    @property
    def shown(self) -> tuple[PlanRow, ...]:
        """The rows of the printed table: without offline releases that learn nothing here."""
        return tuple(
            row
            for row in self.rows
            if not (row.offline and (row.vacuous or math.isinf(row.guaranteed)))
        )

    @cached_property
    def advice(self) -> str:
        """What to do, in a sentence."""
        return _advice(self.setting, self.rows)

    @cached_property
    def synthetic(self) -> SyntheticForecast:
        """What a synthetic graph will keep."""
        return synthetic_forecast(self.setting)

    @cached_property
    def sparse(self) -> SparseForecast:
        """What `release_graph` with mechanism "sparse" will keep."""
        return sparse_forecast(self.setting)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines below the table."""
        if self.setting.linear:
            return (f"{self.legend}\n{_OF_LINEAR}", f"Advice: {self.advice}")
        if self.setting.protect == "vertex":
            return (
                f"{self.legend}\n{_OF_VERTICES}",
                f"Advice: {self.advice}",
            )
        return (
            self.legend,
            f"Synthetic graph: {self.synthetic}.",
            f"Sparse release: {self.sparse}.",
            f"Advice: {self.advice}",
        )

    @property
    def title(self) -> str:
        """The setting in words."""
        s = self.setting
        sides = s.n if isinstance(s.n, tuple) else shape_of(s.n)[:1]
        n = " x ".join(f"{side:,}" for side in sides)
        if isinstance(s.n, ArcsOn):
            n += " (directed)"
        together = "" if s.protection == EDGE else f", protects {s.protection}"
        if s.linear:
            together += ", any linear queries"
        if s.most_spectral is not None:
            together += f" of singular values up to {s.most_spectral:,g}"
        if s.rank is not None:
            together += f", rank {s.rank:,} (a public guess)"
        right = "" if s.most_right is None else f", at most {s.most_right:,} right vertices"
        target = (
            "" if self.target_error is None else f"; epsilon for an error of {self.target_error:,g}"
        )
        return (
            f"n = {n}, m = {s.edges:,.0f} (a public guess), k = {s.queries:,}, "
            f"epsilon = {s.epsilon:g}, delta = {s.delta:g}, beta = {s.beta:g}"
            f"{together}{right}{target}"
        )

    @property
    def legend(self) -> str:
        """What the columns and names mean."""
        lines = [LEGEND]
        if any(row.method == FLOWS for row in self.rows):
            lines.append(_OF_FLOWS)
        if any(row.offline for row in self.shown):
            lines.append(_OF_LISTS)
        return "\n".join(lines)

    @property
    def columns(self) -> tuple[str, ...]:
        """Heads of the table."""
        needed = () if self.target_error is None else ("epsilon",)
        return ("mechanism", "cuts", "guaranteed", "typical", *needed, "")

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text."""
        return [
            (
                row.name,
                row.cuts,
                "needs delta" if math.isinf(row.guaranteed) else _shown(row.guaranteed),
                "-" if row.typical is None else _shown(row.typical),
                *(() if self.target_error is None else (_shown_epsilon(row.epsilon_needed),)),
                "trivial" if row.trivial else VACUOUS if row.vacuous else "",
            )
            for row in self.shown
        ]

    def _card(self) -> Card:
        heads = (*self.columns[:-1], "remark")
        return Card(title=self.title, columns=heads, rows=self.cells(), notes=self.remarks)

    def __repr__(self) -> str:
        s = self.setting
        return (
            f"Plan({len(self.rows)} mechanisms, epsilon={s.epsilon:g}, delta={s.delta:g}, "
            f"best={self.best.name!r})"
        )

    def plot(self) -> "Figure":
        """Draw the guaranteed errors, best first, as a figure of matplotlib."""
        from graphcuts_dp.plotting.plans import plan_figure  # matplotlib is slow to import

        rows = [row for row in self.shown if 0 < row.guaranteed < math.inf]
        return plan_figure(
            [f"{row.name} ({row.cuts})" for row in rows],
            np.array([row.guaranteed for row in rows]),
            [row.trivial for row in rows],
            title=self.title,
        )

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a table: the attributes of `PlanRow`, one column each."""
        import pandas as pd

        names = [field.name for field in fields(PlanRow)]
        return pd.DataFrame(
            [[getattr(row, name) for name in names] for row in self.rows], None, names
        )

    def __str__(self) -> str:
        lines = [self.columns, *self.cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [self.title]
        for first, *rest in lines:
            numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
            text.append("  ".join([first.ljust(widths[0]), *numbers]).rstrip())
        return "\n".join([*text, *self.remarks])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; infinity becomes None, with the reason beside it."""
        s = self.setting
        return {
            "vertices": list(s.n) if isinstance(s.n, tuple) else shape_of(s.n)[0],
            "directed": isinstance(s.n, ArcsOn),
            "edges_guess": s.edges,
            "queries": s.queries,
            "epsilon": s.epsilon,
            "delta": s.delta,
            "beta": s.beta,
            "protects": str(s.protection),
            "degree_bound": s.degree_bound,
            "most_right": s.most_right,
            "linear": s.linear,
            "most_spectral": s.most_spectral,
            "rank_guess": s.rank,
            "target_error": self.target_error,
            "rows": [self._row_dict(row) for row in self.rows],
            "best_method": self.best_method,
            "advice": self.advice,
            "synthetic_graph": None
            if s.protect == "vertex" or s.linear
            else {
                "keeps": self.synthetic.keeps,
                "epsilon_for_communities": _number_or_never(self.synthetic.epsilon_for_communities),
                "epsilon_for_edges": _number_or_never(self.synthetic.epsilon_for_edges),
            },
        }

    def _row_dict(self, row: PlanRow) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "method": row.method,
            "calibration": row.calibration or None,
            "norm": row.norm or None,
            "cuts": row.cuts,
            "guaranteed_error": None if math.isinf(row.guaranteed) else row.guaranteed,
            "typical_error": row.typical,
            "trivial": row.trivial,
            "vacuous": row.vacuous,
            "offline": row.offline,
        }
        if row.epsilon_needed is not None:
            entry["epsilon_needed"] = _number_or_never(row.epsilon_needed)
        return entry


def plan(  # noqa: PLR0913  # each is a public number of the setting
    n: int | tuple[int, int],
    *,
    directed: bool = False,
    edges: float,
    queries: int,
    epsilon: float,
    delta: float,
    beta: float = 0.05,
    target_error: float | None = None,
    groups: Groupings | None = None,
    protect: str = "edges",
    at_most: int | None = None,
    degree_bound: int | None = None,
    most_right: int | None = None,
    offline: bool = True,
    linear: bool = False,
    most_spectral: float | None = None,
    rank: int | None = None,
) -> Plan:
    """Compare what all mechanisms would guarantee for a graph of this size. Reads no data.

    Args:
        n: vertices, or (left, right) of a bipartite graph.
        directed: whether the graph is directed: n (n - 1) pairs.
        edges: m, a public guess; never look it up in the private graph.
        queries: k, cuts between disjoint sets, at least 1.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); at 0 the mechanisms that need it are listed without a guarantee.
        beta: probability that any answer is farther off than guaranteed.
        target_error: also find the epsilon that guarantees this, in edges.
        groups: public groups of the vertices, a `Groups` or sizes alone (a pair of them for two
            sides): rows for flows between them are added.
        protect: whom promises are for, see `Protect.of`. Of a vertex, errors are those of
            bounded cuts (what the bound takes away is told by `plan_degree_bounds`), and only
            mechanisms are listed that a formula is known for.
        at_most: of edges how many may change together; of an owner how many rows count.
        degree_bound: of a vertex.
        most_right: of a bipartite graph: no cut has more right vertices, as in `open_session`.
        offline: whether to list what answers a public list at once; it takes most of the time.
        linear: k are any linear queries, not only cuts; errors are for a largest coefficient of 1.
        most_spectral: of these, on a bipartite graph: see `open_session`.
        rank: likewise, a public guess of the rank of the matrix of ratings: how many kinds of users
            explain them. The row of norm "schatten" goes by it.

    Raises:
        ParameterError: a number out of range, or groups of other vertices.

    Examples:
        >>> plan = gc.plan(5000, edges=50_000, queries=10**6, epsilon=1.0, delta=1e-6)
        >>> plan.best_method
        'multiplicative-weights'
    """
    size: Size = n
    if directed:
        if isinstance(n, tuple):
            raise ParameterError("a directed graph has one number of vertices")
        size = ArcsOn(n)
    setting = Setting(
        n=size,
        edges=edges,
        queries=queries,
        epsilon=epsilon,
        delta=delta,
        beta=beta,
        at_most=at_most,
        protect=protect,
        degree_bound=degree_bound,
        most_right=most_right,
        linear=linear,
        most_spectral=most_spectral,
        rank=rank,
    )
    if linear and groups is not None:
        raise ParameterError("flows between groups are sums of cuts: plan them without linear")
    if target_error is not None and not (math.isfinite(target_error) and target_error > 0):
        raise ParameterError("target_error must be a positive, finite number of edges")
    least = _least_trivial(setting)
    found = [
        _row(mechanism, setting, least, target_error)
        for mechanism in mechanisms_for(setting)
        if offline or not mechanism.offline
    ]
    if groups is not None:
        found += _flow_rows(setting, groups, target_error)
    rows = sorted(found, key=lambda row: row.guaranteed)
    return Plan(setting=setting, rows=tuple(rows), target_error=target_error)


def _row(
    mechanism: PlannedMechanism, setting: Setting, least: float, target: float | None
) -> PlanRow:
    guaranteed = mechanism.guaranteed(setting)
    typical = None
    halves = not setting.linear or mechanism.method in ("gaussian", "laplace")
    if mechanism.typical is not None and halves and math.isfinite(guaranteed):
        typical = min(mechanism.typical(setting), guaranteed)
    most = setting.edges if mechanism.cuts == LINEAR else least
    vacuous = not mechanism.trivial and guaranteed >= most
    needed = None
    if target is not None and mechanism.monotone and not (mechanism.offline and vacuous):
        needed = _least_epsilon(
            setting,
            lambda epsilon: mechanism.guaranteed(replace(setting, epsilon=epsilon)) <= target,
        )
    return PlanRow(
        method=mechanism.method,
        calibration=mechanism.calibration,
        cuts=mechanism.cuts,
        guaranteed=guaranteed,
        typical=typical,
        trivial=mechanism.trivial,
        vacuous=vacuous,
        epsilon_needed=needed,
        norm=mechanism.norm,
        offline=mechanism.offline,
    )


def _flow_rows(setting: Setting, groups: Groupings, target: float | None) -> list[PlanRow]:
    """Cells, unions and halves of groups; they are no arbitrary cuts, so none is called vacuous."""
    pair = groups if isinstance(groups, tuple) else (groups, None)
    rows, columns = shape_of(setting.n)
    sizes = (rows, columns if isinstance(setting.n, tuple) else None)
    if not all(each is None or isinstance(each, GroupTree) for each in pair):
        raise ParameterError("groups are a Groups or a GroupTree, or a pair of them for two sides")
    if sizes != tuple(None if each is None else each.n for each in pair):
        raise ParameterError("the groups are of other numbers of vertices than the plan")
    try:
        cells = CellTree(*pair, directed=isinstance(setting.n, ArcsOn))
    except GraphError as problem:
        raise ParameterError(str(problem)) from None

    changes = cell_changes(cells, setting.protection)

    def errors(epsilon: float) -> dict[str, tuple[float, float]]:
        strategy = choose_strategy(cells, epsilon=epsilon, delta=setting.delta, changes=changes)
        return guaranteed_flows(cells, strategy, failure=setting.beta / setting.queries)

    def row(kind: str, guaranteed: float, deviation: float) -> PlanRow:
        needed = None
        if target is not None:
            needed = _least_epsilon(setting, lambda epsilon: errors(epsilon)[kind][0] <= target)
        return PlanRow(
            method=FLOWS,
            calibration="",
            cuts=kind,
            guaranteed=guaranteed,
            typical=min(guaranteed, deviation * math.sqrt(2 / math.pi)),
            trivial=False,
            vacuous=False,
            epsilon_needed=needed,
        )

    return [row(kind, *found) for kind, found in errors(setting.epsilon).items()]


def _least_epsilon(setting: Setting, enough: Callable[[float], bool]) -> float:
    """The least epsilon in range that is enough, rounded up; infinity if none is."""
    smallest = _rounded_up(SMALLEST_EPSILON * setting.protection.steps)  # so that steps have it
    if smallest >= LARGEST_EPSILON or not enough(LARGEST_EPSILON):
        return math.inf
    if enough(smallest):
        return smallest
    low, high = math.log(smallest), math.log(LARGEST_EPSILON)
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return min(LARGEST_EPSILON, _rounded_up(math.exp(high)))


def _advice(setting: Setting, rows: tuple[PlanRow, ...]) -> str:
    useful = [
        r
        for r in rows
        if not r.trivial and not r.vacuous and r.method != FLOWS and r.cuts != LINEAR
    ]
    if useful:
        best = useful[0]
        times = _least_trivial(setting) / best.guaranteed if best.guaranteed else math.inf
        text = f"{best.name} guarantees an error {times:,.3g} times below the best trivial answer's"
        if best.cuts == FIXED:
            others = (row.name for row in useful if row.cuts != FIXED)
            text += f"; for queries that depend on answers, {next(others, 'nothing')} does"
        return text
    ways = []
    fewer = _most_queries(setting)
    if fewer:
        winner = _winner(replace(setting, queries=fewer))
        ways.append(f"ask at most {fewer:,} queries ({winner})")
    needed = _least_epsilon(
        setting, lambda epsilon: bool(_winner(replace(setting, epsilon=epsilon)))
    )
    if math.isfinite(needed):
        winner = _winner(replace(setting, epsilon=needed))
        ways.append(f"raise epsilon to {needed:g} ({winner})")
    start = "nothing here beats a trivial answer"
    return f"{start}: {', or '.join(ways)}" if ways else f"{start}: the graph is too small"


def _winner(setting: Setting) -> str:
    """What guarantees least, if that is less than the trivial answers; else empty."""
    known = (m for m in mechanisms_for(setting) if not m.trivial)
    # Other offline releases are tuned, which takes long.
    quick = (m for m in known if m.method == ANSWERS or not m.offline)
    best = min(quick, key=lambda m: m.guaranteed(setting))
    if best.guaranteed(setting) >= _least_trivial(setting):
        return ""
    return f"{best.name}, {FIXED}" if best.cuts == FIXED else best.name


def _least_trivial(setting: Setting) -> float:
    return min(m.guaranteed(setting) for m in mechanisms_for(setting) if m.trivial)


def _most_queries(setting: Setting) -> int:
    """The most queries, to a tenth, with which something is useful; 0 for none."""
    if not _winner(replace(setting, queries=1)):
        return 0
    low, high = 1, setting.queries
    while high - low > max(1, low // 10):
        middle = math.isqrt(low * high) if low * 4 < high else (low + high) // 2
        enough = _winner(replace(setting, queries=middle))
        low, high = (middle, high) if enough else (low, middle)
    return low


def _rounded_up(value: float) -> float:
    """To four digits, never down."""
    rounded = float(f"{value:.4g}")
    return rounded if rounded >= value else float(f"{value * 1.0005:.4g}")


def _number_or_never(epsilon: float) -> float | str:
    return "never" if math.isinf(epsilon) else epsilon


def _shown(error: float) -> str:
    return f"{error:,.0f}" if 10 <= error < 1e9 else f"{error:.2g}"


def _shown_epsilon(epsilon: float | None) -> str:
    if epsilon is None:
        return "-"
    return "never" if math.isinf(epsilon) else f"{epsilon:g}"
