"""`graphcuts-dp plan`: which mechanism to run, before any data is touched."""

import math
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast, final, get_args

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report
from graphcuts_dp.display import Card, short
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.estimate.measurement import Counting
from graphcuts_dp.estimate.noisy_matrix import expected_worst_cut, largest_cut, noise_distribution
from graphcuts_dp.estimate.strategy import equal_groups
from graphcuts_dp.learn.bounds import SessionWorkload
from graphcuts_dp.options import INPUT, OUTPUT, PRIVACY, Checked, option, read_options
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.planning import planner
from graphcuts_dp.planning.planner import Plan, RowTable, least_epsilon
from graphcuts_dp.privacy.distributions import discrete_laplace_radius
from graphcuts_dp.privacy.guarantee import EDGE, LARGEST_EPSILON, PRIORS, PROTECTIONS, Protect
from graphcuts_dp.tables.columns import Columns

T = TypeVar("T")
EVERYBODY, ANALYSTS, TEAM = WHO = ("everybody", "analysts", "team")
_FAILURE = 0.05
_LARGE = 3.0  # an epsilon from which a promise is weak
_QUERIES = 50  # that analysts ask
# Of each protection: what bounds it, the question, and the default.
_BOUNDS = {
    "edges": ("at-most", "How many edges together?", 1),
    "owner": ("at-most", "How many rows of an owner count?", 20),
    "vertex": ("degree-bound", "How many edges of a vertex count?", 50),
}


def _list_of(kind: Callable[[str], T], what: str) -> Callable[[str], list[T]]:
    """What reads numbers with commas between."""

    def read(text: str) -> list[T]:
        try:
            return [kind(part) for part in text.split(",")]
        except ValueError:
            raise ParameterError(f"{text!r:.40}: {what}") from None

    return read


@final
@dataclass(frozen=True, kw_only=True)
class PlannedGraph(Checked):
    """The graph that a plan is for, from public numbers."""

    n: list[int] | None = option(
        None,
        help="Number of vertices; LEFT,RIGHT of a graph with two sides.",
        parse=_list_of(int, "--n is a whole number, or LEFT,RIGHT"),
        metavar="COUNT",
        group=INPUT,
    )
    edges: float | None = option(
        None, help="A public guess of the number of edges; 10 a vertex if omitted.", group=INPUT
    )
    rank: int | None = option(
        None,
        help="With --queries K,linear and two sides: a public guess of the rank of the matrix "
        "of weights.",
    )
    kind: str = option(
        "undirected",
        help="Of the graph; with two sides leave it out.",
        choices=("undirected", "directed"),
        group=INPUT,
    )


@final
@dataclass(frozen=True, kw_only=True)
class PlannedPromise(Checked):
    """What a plan promises, to whom, and whether that is explained."""

    epsilon: list[float] | None = option(
        None,
        help="Privacy parameter; smaller is more private. Several values: 0.5,1,2.",
        parse=_list_of(float, "--epsilon is a number, or several: 0.5,1,2"),
        metavar="NUMBER",
        group=PRIVACY,
    )
    delta: float = options.DELTA
    protect: Protect | None = option(
        None,
        help="Whom the promise protects; edges if omitted.",
        of=PROTECTIONS,
        group=PRIVACY,
    )
    explain: bool = option(
        False, help="Explain in plain words what the promise means.", group=OUTPUT
    )
    priors: Sequence[float] = option(
        PRIORS,
        help="With --explain: what an attacker may believe before the release.",
        parse=_list_of(float, "--priors are numbers with commas between: 0.01,0.5"),
        metavar="NUMBERS",
        group=OUTPUT,
    )


@final
@dataclass(frozen=True, kw_only=True)
class PlannedFlows(Checked):
    """The flows that are planned, too."""

    groups: str | None = option(
        None,
        help="Also plan flows: the number of public groups of equal sizes on each level, "
        "coarsest first, such as 5,50; of two sides LEFT:RIGHT, such as 5,50:4,20. With --ask "
        "the public table of the groups, or none.",
        group=INPUT,
    )
    counting: str | None = option(
        None,
        help="With --groups: flows of rows, and what they count; see `flows`. Rows if periods are "
        "named.",
        choices=tuple(get_args(Counting)),
        group=INPUT,
    )
    periods: str | None = option(
        None,
        help="With --groups: the periods of rows, as 2026-01..2026-12.",
        metavar="FROM..TO",
        group=INPUT,
    )
    by: str | None = option(
        None, help="With --periods: levels of them, as year,month; see `flows`.", group=INPUT
    )


@final
@dataclass(frozen=True, kw_only=True)
class Questions(Checked):
    """What is asked at a terminal, and what of it is known."""

    asking: bool = option(
        False, help="Ask five questions, and print the command to type.", flag="--ask", group=OUTPUT
    )
    data: str | None = option(
        None, help="With --ask: the private graph.", metavar="FILE", group=INPUT
    )
    columns: Any = option(
        (),
        parse=str,
        help="With --ask: how to read its columns, such as owner=patient; see `release`.",
        group=INPUT,
    )
    who: str | None = option(None, help="With --ask: who asks.", choices=WHO, group=INPUT)


def plan(
    *,
    graph: PlannedGraph,
    promise: PlannedPromise,
    queries: SessionWorkload = option(
        SessionWorkload(queries=1000),
        help="How many queries will be asked, and of what; 1000 if omitted.",
        of=SessionWorkload,
    ),
    flows: PlannedFlows,
    target_error: float | None = option(
        None, help="Also show the epsilon that guarantees this error.", group=OUTPUT
    ),
    questions: Questions,
) -> Report:
    """Compare what all mechanisms would guarantee, best first. Reads no data.

    Example: graphcuts-dp plan --n 5000 --edges 5e4 --queries 1e6 --epsilon 1 --delta 1e-6

    Example: graphcuts-dp plan --n 5000 --epsilon 0.5,1,2

    Example: graphcuts-dp plan --n 200 --groups 5,50 --periods 2026-01..2026-12 --by month
    --protect owner:at-most=20 --epsilon 1

    Example: graphcuts-dp plan --explain --epsilon 1 --protect vertex:degree-bound=50

    Example: graphcuts-dp plan --ask

    The command uses formulas only. It reads no data and spends no budget. --edges is a guess that
    may be public, such as the number of edges of a similar graph; never count the edges of the
    private graph. --explain says in plain words what a promise means. --ask asks five questions and
    prints the command to type; it takes the defaults where nobody sits at a terminal.
    """
    n, epsilon, explain, protect = graph.n, promise.epsilon, promise.explain, promise.protect
    if questions.asking:
        return _ask(
            questions,
            groups=flows.groups,
            protect=protect,
            error=target_error,
            n=None if n is None else n[0],
        )
    for name in ("data", "columns", "who"):
        if getattr(questions, name):
            raise ParameterError(f"--{name} is for --ask; add --ask or leave it out")
    missing = [
        f"--{name} {example}"
        for name, value, example in (("n", n, "5000"), ("epsilon", epsilon, "1"))
        if value is None and not (explain and name == "n")
    ]
    if missing:
        raise ParameterError(f"a plan needs {' and '.join(missing)}, for example; or --ask")
    epsilons, sides = epsilon or [], n or []
    if protect is None:
        counting, periods = flows.counting, flows.periods
        single = counting in ("rows", "weight") or (counting is None and periods is not None)
        protect = Protect.rows() if single else EDGE
    if explain:
        if len(epsilons) > 1:
            raise ParameterError("--explain takes one --epsilon")
        told = protect.explain(epsilon=epsilons[0], delta=promise.delta, priors=promise.priors)
        return Report(told.to_dict(), [told])
    if len(sides) > 2:
        raise ParameterError("--n is a whole number, or LEFT,RIGHT of a graph with two sides")
    plans = [
        planner.plan(
            (sides[0], sides[1]) if len(sides) == 2 else sides[0],
            epsilon=each,
            edges=graph.edges,
            queries=queries,
            delta=promise.delta,
            rank=graph.rank,
            directed=graph.kind == "directed",
            protect=protect,
            groups=_flows(flows, sides),
            target_error=target_error,
        )
        for each in epsilons
    ]
    documents = [made.to_dict() for made in plans]
    if len(plans) == 1:
        return Report(documents[0], plans)
    advice = [
        f"epsilon = {made.setting.epsilon:g}. Advice: {made.advice}"
        for made in plans
        if made.table is None
    ]
    return Report({"plans": documents}, [_beside(plans), *advice])


def _beside(plans: Sequence[Plan]) -> Card:
    """Guaranteed errors at each epsilon, in the order of the first plan."""
    shown = {(row.name, row.cuts) for made in plans for row in made.shown}
    errors = [{(row.name, row.cuts): row.guaranteed for row in made.rows} for made in plans]
    return Card(
        title=plans[0].title.replace(
            f"epsilon = {plans[0].setting.epsilon:g}", "errors by epsilon"
        ),
        columns=("mechanism", "cuts", *(f"epsilon = {made.setting.epsilon:g}" for made in plans)),
        rows=[
            (
                *row,
                *(
                    "needs delta" if math.isinf(found[row]) else short(found[row])
                    for found in errors
                ),
            )
            for row in errors[0]
            if row in shown
        ],
    )


def _flows(
    asked: PlannedFlows, sides: Sequence[int]
) -> GroupTree | tuple[GroupTree, GroupTree] | RowTable | None:
    """The flows to plan: of a graph, or of rows where an option speaks of these."""
    given = None if asked.groups is None else _groups(asked.groups, sides)
    if (asked.counting, asked.periods, asked.by) == (None, None, None):
        return given
    if given is None:
        raise ParameterError("--counting, --periods and --by are for flows: add --groups, as 5,50")
    return RowTable(
        groups=given,
        counting=cast(Counting, asked.counting or "rows"),
        periods=asked.periods,
        by=None if asked.by is None else asked.by.split(","),
    )


def _groups(text: str, sides: Sequence[int]) -> GroupTree | tuple[GroupTree, GroupTree]:
    """Groups of nearly equal sizes on each level."""
    texts = text.split(":")
    if len(texts) != len(sides):
        raise ParameterError("--groups is LEFT:RIGHT for two sides, and has no colon for one")
    read = _list_of(int, "--groups are whole numbers, for example 5,50")
    made = [equal_groups(n, read(each)) for n, each in zip(sides, texts, strict=True)]
    return (made[0], made[1]) if len(made) == 2 else made[0]


def _ask(
    known: Questions,
    *,
    groups: str | None,
    protect: Protect | None,
    error: float | None,
    n: int | None,
) -> Report:
    """Ask what is not given, and say the command to type with its forecast."""
    data = _file(_asked("1. Which file holds the private graph?", known.data, ""), "--data FILE")
    groups = _asked(
        "2. Which public table names the groups of vertices? (or: none)", groups, "none"
    )
    if groups != "none":
        _file(groups, "--groups FILE")
    if protect is None:
        kind = _asked("3. Whom to protect: edges, owner or vertex?", None, "edges")
        if kind not in _BOUNDS:
            names = ", ".join(_BOUNDS)
            raise ParameterError(f"unknown --protect {kind!r:.60}; choose one of {names}")
        key, question, usual = _BOUNDS[kind]
        bound = _number(f"   {question}", None, usual, whole=True)
        protect = PROTECTIONS[kind](**{key.replace("-", "_"): int(bound)})
    columns = known.columns
    if protect.kind == "owner" and not columns:
        column = _asked("   Which column says whose a row is?", None, "")
        columns = f"owner={column}" if column else ""
    if protect.kind == "owner" and not (columns and read_options(columns, Columns).owner):
        raise ParameterError(
            "--protect owner needs --columns owner=COLUMN, which names whose a row is"
        )
    error = _number("4. By how many edges may an answer be off?", error, 20)
    if not 0 < error < math.inf:
        raise ParameterError("--target-error is a number of edges above 0, for example 20")
    who = _asked(f"5. Who asks: {', '.join(WHO)}?", known.who, EVERYBODY)
    if who not in WHO:
        raise ParameterError(f"unknown --who {who!r:.60}; choose one of {', '.join(WHO)}")
    if who == EVERYBODY and groups == "none":
        n = int(_number("   How many vertices are there? (if that is public)", n, 0, whole=True))
    named = None if groups == "none" else groups
    words, epsilon, promise, hint = _proposal(data, named, protect, error, who, n)
    words += ["--budget" if who == TEAM else "--epsilon", f"{epsilon:g}"]
    words += ["--vertices", str(n)] if n else []
    words += ["--columns", columns] if columns else []
    words += ["--counting", "edges"] if protect.kind == "owner" else []
    bound = protect.degree_bound or protect.steps
    if protect != Protect():
        words += ["--protect", f"{protect.kind}:{_BOUNDS[protect.kind][0]}={bound}"]
    line = shlex.join(["graphcuts-dp", *words])
    told = protect.explain(epsilon=epsilon).sentences
    parts = [
        f"Type:\n\n  {line}\n",
        f"Forecast: epsilon = {short(epsilon)} keeps that error for {promise}.",
        f"Protected: {told['Protected']}",
        f"Strength: {told['Strength']}",
    ]
    if epsilon >= _LARGE:
        parts.append(
            f"That is weak: an epsilon of {short(epsilon)} hides little. Allow more error, or "
            "protect fewer together."
        )
    facts = {
        "command": line,
        "epsilon": epsilon,
        "error_of": promise,
        "protects": str(protect),
        "private_file_read": False,
    }
    nothing = "Nothing of the private file was read, nothing spent; the forecast is a formula."
    return Report(facts, [*parts, hint], [nothing])


def _proposal(
    data: str, groups: str | None, protection: Protect, error: float, who: str, vertices: int | None
) -> tuple[list[str], float, str, str]:
    """The command, the least epsilon that keeps the error, what the error is of, and a hint.

    Args:
        data: path of the private graph, which is not read.
        groups: path of the public groups, or None.
        protection: whom to protect.
        error: in edges, that an answer may be off by with probability 95%.
        who: one of `WHO`.
        vertices: public number of vertices, or None.

    Raises:
        ParameterError: answers that do not fit together, or an error that no epsilon keeps.
    """
    change = protection.degree_bound or protection.steps
    if who == EVERYBODY and groups is not None:
        if protection.kind == "vertex":
            raise ParameterError(
                "what a table costs that hides vertices depends on how many groups there are: "
                "graphcuts-dp flows tells it before it spends; or choose --who analysts"
            )
        return (
            ["flows", data, groups, "flows.csv"],
            _rounded(
                least_epsilon(
                    lambda e: discrete_laplace_radius(e / change, failure=_FAILURE) <= error
                )
            ),
            "a sum between two groups of one level, each with probability 95%",
            "If the table of groups has several columns, add --groups-columns levels=NAME.",
        )
    if who == EVERYBODY:
        if protection.kind == "vertex":
            raise ParameterError("a published graph cannot hide a vertex: choose --who analysts")
        if vertices is None or vertices < 2:
            raise ParameterError(
                "what a published graph costs grows with its size: give --n, if it is public"
            )
        shape = vertices, vertices

        def enough(epsilon: float) -> bool:
            """In the normal approximation; and a release is not refused as worthless."""
            noise = noise_distribution("binary", epsilon=epsilon, weight_cap=1.0)
            between_halves = 1.96 * noise.standard_deviation * shape[0] / 2
            holds = largest_cut(shape, symmetric=True, cap=1.0)
            return between_halves <= error and expected_worst_cut(noise, shape) <= holds

        return (
            ["release", data, "synthetic.graphml"],
            _rounded(change * least_epsilon(enough)),
            "a cut between halves of all vertices, about, each with probability 95%",
            "Before you spend: add --dry-run EDGES for a forecast in full.",
        )
    if who == TEAM and protection.kind == "owner":
        raise ParameterError("the server reads graphs, not rows with owners: choose --who analysts")
    words = ["session", "start", data, "--store", f"{data}.db", "--queries", str(_QUERIES)]
    if who == TEAM:
        words = ["serve", f"{data}.db", "--graph", data]
    each = change * _QUERIES
    failure = _FAILURE / _QUERIES
    return (
        words,
        _rounded(
            least_epsilon(lambda e: discrete_laplace_radius(e / each, failure=failure) <= error)
        ),
        f"each of {_QUERIES} answers, all at once with probability 95%",
        "Other numbers of queries cost otherwise: graphcuts-dp plan compares methods.",
    )


def _rounded(epsilon: float) -> float:
    """Up, to two digits.

    Raises:
        ParameterError: more than any release may cost.
    """
    if not epsilon <= LARGEST_EPSILON / 1.1:
        raise ParameterError(
            "so small an error cannot be had for these answers at any epsilon that hides anything: "
            "allow more, name public groups, or protect fewer edges together"
        )
    scale = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return max(float(f"{math.ceil(epsilon / scale * (1 - 1e-12)) * scale:.2g}"), 1e-3)


def _file(path: str, option_of: str) -> str:
    if not path:
        raise ParameterError(f"name the file: {option_of}")
    if not os.path.isfile(path):  # noqa: PTH113  # false for names too long, too
        raise FileFormatError(f"{path} does not exist; it should be the file of {option_of}")
    return path


def _asked(question: str, given: str | None, default: str) -> str:
    """What was given as an option; else what is typed, or the default."""
    if given is not None or not sys.stdin.isatty():
        return default if given is None else given
    shown = f" [{default}]" if default else ""
    try:
        return input(f"{question}{shown} ").strip() or default
    except EOFError:
        return default


def _number(question: str, given: object, default: int, *, whole: bool = False) -> float:
    text = _asked(question, None if given is None else str(given), str(default))
    try:
        number = float(text)
    except ValueError:
        raise ParameterError(f"{text!r:.40} is no number such as {default}") from None
    if whole and not number.is_integer():
        raise ParameterError(f"{number:g} is no whole number such as {default}")
    return number
