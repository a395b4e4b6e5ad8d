"""`graphcuts-dp plan`: which mechanism to run, before any data is touched."""

import math
import os
import shlex
import sys
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import cast, final, get_args

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.reading import PRIVACY_UNIT
from graphcuts_dp.confidence import DEFAULT_FAILURE, DEFAULT_PERCENT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.estimate.counted_rows import counted_sentence
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.strategy import equal_groups
from graphcuts_dp.estimate.worst_cut_errors import expected_worst_cut, largest_cut
from graphcuts_dp.learn.sizes import usual_edges
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.options import Checked, input_option, option, output_option
from graphcuts_dp.planning import planner
from graphcuts_dp.planning.planner import RowTable, least_epsilon
from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import BOUND_KEYS, PrivacyUnit, UnitKind
from graphcuts_dp.release.graphs import graph_job
from graphcuts_dp.release.usefulness import made_up_graph, usefulness_of
from graphcuts_dp.schema.counting import CONTRIBUTED, Counting
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.schema.typed_names import split_names
from graphcuts_dp.schema.vertices import VertexSet

EVERYBODY, ANALYSTS, TEAM = WHO = ("everybody", "analysts", "team")
_LARGE = 3.0  # an epsilon from which a guarantee is weak
_QUERIES = 50  # that analysts ask
_DIGITS = 3  # significant ones of an advised epsilon, which is rounded up
_FORECAST_VERTICES = 300  # most vertices of a graph on which a release is forecast: 20 ms a time
# Of each privacy unit: the question about its bound, and the default.
_BOUNDS: dict[UnitKind, tuple[str, int]] = {
    "edge": ("How many edges together?", 1),
    "user": ("How many rows of a user count?", 20),
    "vertex": ("How many edges of a vertex count?", 50),
}


def _counts(text: str, problem: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"{text!r:.40}: {problem}") from None


def _size(text: str) -> int | tuple[int, int]:
    problem = "--n is a whole number, or LEFT,RIGHT of a graph with two sides"
    n, *others = _counts(text, problem)
    if len(others) > 1:
        raise ParameterError(problem)
    return (n, others[0]) if others else n


@final
@dataclass(frozen=True, kw_only=True)
class PlannedGraph(Checked):
    """The graph that a plan is for, from public numbers."""

    n: int | tuple[int, int] | None = input_option(
        None,
        help="Number of vertices; LEFT,RIGHT of a graph with two sides.",
        parse=_size,
        metavar="COUNT",
    )
    edges: float | None = input_option(
        None, help="A public guess of the number of edges; 10 a vertex if omitted."
    )
    rank: int | None = option(
        None,
        help="With --queries K,linear and two sides: a public guess of the rank of the matrix "
        "of weights.",
    )
    kind: str = input_option(
        "undirected",
        help="Of the graph; with two sides leave it out.",
        choices=("undirected", "directed"),
    )


@final
@dataclass(frozen=True, kw_only=True)
class PlannedFlows(Checked):
    """The flows that are planned, too."""

    groups: str | None = input_option(
        None,
        help="Also plan flows: the number of public groups of equal sizes on each level, "
        "coarsest first, such as 5,50; of two sides LEFT:RIGHT, such as 5,50:4,20.",
    )
    counting: str | None = input_option(
        None,
        help="With --groups: flows of rows, and what they count; see `flows`. Rows if periods are "
        "named.",
        choices=tuple(get_args(Counting)),
    )
    periods: str | None = input_option(
        None, help="With --groups: the periods of rows, as 2026-01..2026-12.", metavar="FROM..TO"
    )
    by: list[str] | None = input_option(
        None,
        help="With --periods: levels of them, as year,month; see `flows`.",
        parse=split_names,
    )

    def of(
        self, n: int | tuple[int, int]
    ) -> GroupTree | tuple[GroupTree, GroupTree] | RowTable | None:
        """The flows to plan: of a graph, or of rows where an option speaks of these."""
        given = None if self.groups is None else _groups(self.groups, n)
        if (self.counting, self.periods, self.by) == (None, None, None):
            return given
        if given is None:
            raise ParameterError(
                "--counting, --periods and --by are for flows: add --groups, as 5,50"
            )
        return RowTable(
            groups=given,
            counting=cast(Counting, self.counting or "rows"),
            periods=self.periods,
            by=self.by,
        )


def _groups(text: str, n: int | tuple[int, int]) -> GroupTree | tuple[GroupTree, GroupTree]:
    """Groups of nearly equal sizes on each level."""
    sides, texts = n if isinstance(n, tuple) else (n,), text.split(":")
    if len(texts) != len(sides):
        raise ParameterError("--groups is LEFT:RIGHT for two sides, and has no colon for one")
    problem = "--groups are whole numbers, for example 5,50"
    made = [equal_groups(n, _counts(each, problem)) for n, each in zip(sides, texts, strict=True)]
    return (made[0], made[1]) if len(made) == 2 else made[0]


def plan(
    *,
    graph: PlannedGraph,
    epsilon: float | None = options.ANY_EPSILON,
    delta: float = options.DELTA,
    privacy_unit: PrivacyUnit | None = PRIVACY_UNIT,
    queries: SessionWorkload = option(
        SessionWorkload(queries=1000),
        help="How many queries will be asked, and of what; 1000 if omitted.",
        of=SessionWorkload,
    ),
    flows: PlannedFlows,
    target_error: float | None = output_option(
        None, help="Also show the epsilon that guarantees this error."
    ),
    explain: bool = output_option(False, help="Explain in plain words what the guarantee means."),
    ask: bool = output_option(False, help="Ask five questions, and print the command to type."),
) -> Report:
    """Compare what all mechanisms would guarantee, best first. Reads no data.

    Example: graphcuts-dp plan --n 5000 --edges 5e4 --queries 1e6 --epsilon 1 --delta 1e-6

    Example: graphcuts-dp plan --n 200 --groups 5,50 --periods 2026-01..2026-12 --by month
    --privacy-unit user:max-contributions=20 --epsilon 1

    Example: graphcuts-dp plan --explain --epsilon 1 --privacy-unit vertex:max-degree=50

    Example: graphcuts-dp plan --ask

    The command uses formulas only. It reads no data and spends no budget. --edges is a guess that
    may be public, such as the number of edges of a similar graph; never count the edges of the
    private graph. --explain says in plain words what a guarantee means. --ask asks five questions
    and prints the command to type; an empty line takes the default.
    """
    if ask:
        return _ask()
    missing = [
        f"--{name} {example}"
        for name, value, example in (("n", graph.n, "5000"), ("epsilon", epsilon, "1"))
        if value is None and not (explain and name == "n")
    ]
    if missing:
        raise ParameterError(f"a plan needs {' and '.join(missing)}, for example; or --ask")
    if privacy_unit is None:
        counting, periods = flows.counting, flows.periods
        single = counting in ("rows", "weight") or (counting is None and periods is not None)
        privacy_unit = PrivacyUnit.row() if single else EDGE
    if explain:
        told = privacy_unit.explain(epsilon=cast(float, epsilon), delta=delta)
        return Report(told.to_dict(), [told])
    n = cast(int, graph.n)
    made = planner.plan(
        n,
        epsilon=cast(float, epsilon),
        edges=graph.edges,
        queries=queries,
        delta=delta,
        rank=graph.rank,
        directed=graph.kind == "directed",
        privacy_unit=privacy_unit,
        groups=flows.of(n),
        target_error=target_error,
    )
    return Report(made.to_dict(), [made], _counted_notes(privacy_unit, flows))


def _counted_notes(privacy_unit: PrivacyUnit, flows: PlannedFlows) -> list[str]:
    """Return what planned flows of users count, and what compares bounds on users."""
    if privacy_unit.kind != "user" or flows.groups is None:
        return []
    counting = cast(Counting, flows.counting or "rows")
    sentence = counted_sentence(privacy_unit.group_size, what=CONTRIBUTED[counting])
    note = (
        f"Errors are of counted {CONTRIBUTED[counting]}: {sentence}. With a known maximum, flows "
        "--dry-run --known-max NUMBER compares this bound with it, for all rows."
    )
    return [note]


def _ask() -> Report:
    """Ask what a plan needs, and say the command to type with its forecast."""
    data = _file(_asked("1. Which file holds the private graph?", ""))
    groups = _asked("2. Which public table names the groups of vertices? (or: none)", "none")
    named = None if groups == "none" else _file(groups)
    kind = cast(UnitKind, _chosen("3. Privacy unit", tuple(_BOUNDS)))
    question, usual = _BOUNDS[kind]
    bound = int(_number(f"   {question}", usual, whole=True))
    privacy_unit = PrivacyUnit.of(f"{kind}:{BOUND_KEYS[kind]}={bound}")
    user = _asked("   Which column says whose a row is?", "") if kind == "user" else ""
    if kind == "user" and not user:
        raise ParameterError("privacy unit user needs the column that names the user of each row")
    error = _number("4. By how many edges may an answer be off?", 20)
    if not 0 < error < math.inf:
        raise ParameterError("the error is a number of edges above 0, for example 20")
    who, n = _chosen("5. Who asks", WHO), 0
    if (who == EVERYBODY and named is None) or (who != EVERYBODY and user):
        n = int(_number("   How many vertices are there? (if that is public)", 0, whole=True))
    words, epsilon, subject, hint = _proposal(data, named, privacy_unit, error, who, n)
    words += ["--budget" if who == TEAM else "--epsilon", f"{epsilon:g}"]
    words += ["--vertices", str(n)] if n else []
    words += ["--columns", f"user={user}", "--counting", "edges"] if user else []
    words += ["--privacy-unit", privacy_unit.typed] if privacy_unit != EDGE else []
    line = shlex.join(["graphcuts-dp", *words])
    told = privacy_unit.explain(epsilon=epsilon).sentences
    parts = [
        f"Type:\n\n  {line}\n",
        f"Forecast: epsilon = {epsilon:g} keeps that error for {subject}.",
        f"The guarantee: {told['The guarantee']}",
        f"Strength: {told['Strength']}",
    ]
    if epsilon >= _LARGE:
        parts.append(
            f"That is weak: an epsilon of {epsilon:g} hides little. Allow more error, or "
            "take a smaller privacy unit."
        )
    facts = {
        "command": line,
        "epsilon": epsilon,
        "error_of": subject,
        "privacy_unit": str(privacy_unit),
        "private_file_read": False,
    }
    nothing = "Nothing of the private file was read, nothing spent; the forecast is a formula."
    return Report(facts, [*parts, hint], [nothing])


def _proposal(
    data: str, groups: str | None, privacy_unit: PrivacyUnit, error: float, who: str, vertices: int
) -> tuple[list[str], float, str, str]:
    """The command, the least epsilon that keeps the error, what the error is of, and a hint.

    Args:
        data: path of the private graph, which is not read.
        groups: path of the public groups, or None.
        privacy_unit: what neighbours differ by.
        error: in edges, that an answer keeps with the default confidence.
        who: one of `WHO`.
        vertices: public number of vertices; 0 where nobody was asked.

    Raises:
        ParameterError: answers that do not fit together, or an error that no epsilon keeps.
    """
    change = privacy_unit.max_degree or privacy_unit.group_size
    if who == EVERYBODY and groups is not None:
        if privacy_unit.kind == "vertex":
            raise ParameterError(
                "what a table costs that hides vertices depends on how many groups there are: "
                "graphcuts-dp flows tells it before it spends; or choose analysts"
            )
        return (
            ["flows", data, groups, "flows.csv"],
            _epsilon_of_sums(error, change),
            f"a sum between two groups of one level, each with probability {DEFAULT_PERCENT}",
            "If the table of groups has several columns, add --groups-columns levels=NAME.",
        )
    if who == EVERYBODY:
        if privacy_unit.kind == "vertex":
            raise ParameterError("a published graph cannot hide a vertex: choose analysts")
        if vertices < 2:
            raise ParameterError(
                "what a published graph costs grows with its size: say how many vertices there "
                "are, if that is public"
            )
        return (
            ["release", data, "synthetic.graphml"],
            _epsilon_of_graph(error, vertices, change),
            f"a cut between halves of all vertices, about, each with probability {DEFAULT_PERCENT}",
            "Before you spend: add --dry-run EDGES for a forecast in full.",
        )
    if who == TEAM and privacy_unit.kind == "user":
        raise ParameterError("the server reads graphs, not rows with users: choose analysts")
    words = ["session", "start", data, "--store", f"{data}.db", "--queries", str(_QUERIES)]
    if who == TEAM:
        words = ["serve", f"{data}.db", "--graph", data]
    return (
        words,
        _epsilon_of_sums(error, change, _QUERIES),
        f"each of {_QUERIES} answers, all at once with probability {DEFAULT_PERCENT}",
        "Other numbers of queries cost otherwise: graphcuts-dp plan compares methods.",
    )


def _epsilon_of_sums(error: float, change: int, count: int = 1) -> float:
    """Epsilon at which no error of so many sums with Laplace noise is larger, all at once."""

    def enough(epsilon: float) -> bool:
        radius = discrete_laplace_radius(
            epsilon / (change * count), failure=DEFAULT_FAILURE / count
        )
        return radius <= error

    return _rounded(least_epsilon(enough))


def _epsilon_of_graph(error: float, n: int, change: int) -> float:
    """Epsilon at which `release --dry-run` states no larger error of a cut between halves.

    And a release is not refused as worthless. The graph of the dry run has as many edges as is
    usual. Of more than `_FORECAST_VERTICES` a smaller one is tried, with errors in proportion, and
    with an average degree as far from the noise, on which the mechanism chooses how it spends its
    budget.

    Args:
        error: in edges.
        n: public number of vertices.
        change: edges that are one privacy unit.
    """
    tried = min(n, _FORECAST_VERTICES)
    edges = usual_edges(n) * (tried / n) ** 1.5  # the average degree times sqrt(tried/n)
    graph = made_up_graph(VertexSet(tried), max(1.0, edges), weighted=False, max_weight=None)

    def enough(epsilon: float) -> bool:
        noise = noise_distribution("binary", epsilon=epsilon, max_weight=1.0)
        holds = largest_cut((n, n), symmetric=True, cap=1.0)
        if expected_worst_cut(noise, (n, n)) > holds:
            return False
        job = graph_job(graph, epsilon=epsilon, simulated=True)
        forecast = usefulness_of(job.run(graph, SeededEntropy(0)), edges=edges)
        halves = next(question for question in forecast.questions if "halves" in question.what)
        return halves.error * n / tried <= error

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forecasts at an epsilon that nobody chose
        for_edge = least_epsilon(enough)
    return _rounded(for_edge if math.isinf(for_edge) else Fraction(for_edge) * change)


def _rounded(epsilon: float | Fraction) -> float:
    """Up, to three digits.

    Raises:
        ParameterError: more than any release may cost.
    """
    if not epsilon <= LARGEST_EPSILON / 1.1:
        raise ParameterError(
            "so small an error cannot be had for these answers at any epsilon that hides anything: "
            "allow more, name public groups, or a smaller group of edges"
        )
    return max(up_to_digits(epsilon, _DIGITS), 1e-3)


def _file(path: str) -> str:
    if not os.path.isfile(path):  # noqa: PTH113  # false for names too long, too
        raise FileFormatError(f"{path!r} does not exist; name a file")
    return path


def _asked(question: str, default: str) -> str:
    """What is typed, or the default; the question is not printed where nobody sits."""
    shown = f"{question} [{default}] " if default else f"{question} "
    try:
        return input(shown if sys.stdin.isatty() else "").strip() or default
    except EOFError:
        return default


def _chosen(question: str, names: tuple[str, ...]) -> str:
    found = _asked(f"{question}: {', '.join(names)}?", names[0])
    if found not in names:
        raise ParameterError(f"{found!r:.60} is none of {', '.join(names)}")
    return found


def _number(question: str, default: int, *, whole: bool = False) -> float:
    text = _asked(question, str(default))
    try:
        number = float(text)
    except ValueError:
        raise ParameterError(f"{text!r:.40} is no number such as {default}") from None
    if whole and not number.is_integer():
        raise ParameterError(f"{number:g} is no whole number such as {default}")
    return number
