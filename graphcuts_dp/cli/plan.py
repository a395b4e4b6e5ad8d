"""`graphcuts-dp plan`: which mechanism to run, before any data is touched."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from graphcuts_dp.cli import options
from graphcuts_dp.cli.ask import WHO, ask
from graphcuts_dp.cli.console import Report, Table
from graphcuts_dp.cli.reading import PROTECT
from graphcuts_dp.display import short
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.strategy import equal_groups
from graphcuts_dp.learn.bounds import SessionWorkload
from graphcuts_dp.options import INPUT, OUTPUT, PRIVACY, Option
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.planning import planner
from graphcuts_dp.planning.planner import Plan
from graphcuts_dp.privacy.guarantee import EDGE, PRIORS, Protect

T = TypeVar("T")


def _list_of(kind: Callable[[str], T], what: str) -> Callable[[str], list[T]]:
    """What reads numbers with commas between."""

    def read(text: str) -> list[T]:
        try:
            return [kind(part) for part in text.split(",")]
        except ValueError:
            raise ParameterError(f"{text!r:.40}: {what}") from None

    return read


def plan(
    n: Annotated[
        list[int] | None,
        Option(
            help="Number of vertices; LEFT,RIGHT of a graph with two sides.",
            parse=_list_of(int, "--n is a whole number, or LEFT,RIGHT"),
            metavar="COUNT",
            group=INPUT,
        ),
    ] = None,
    epsilon: Annotated[
        list[float] | None,
        Option(
            help="Privacy parameter; smaller is more private. Several values: 0.5,1,2.",
            parse=_list_of(float, "--epsilon is a number, or several: 0.5,1,2"),
            metavar="NUMBER",
            group=PRIVACY,
        ),
    ] = None,
    edges: Annotated[
        float | None,
        Option(help="A public guess of the number of edges; 10 a vertex if omitted.", group=INPUT),
    ] = None,
    queries: Annotated[
        SessionWorkload,
        Option(
            help="How many queries will be asked, and of what; 1000 if omitted.", of=SessionWorkload
        ),
    ] = SessionWorkload(queries=1000),  # noqa: B008
    rank: Annotated[
        int | None,
        Option(
            help="With --queries K,linear and two sides: a public guess of the rank of the matrix "
            "of weights."
        ),
    ] = None,
    delta: options.Delta = 0.0,
    kind: Annotated[
        str,
        Option(
            help="Of the graph; with two sides leave it out.",
            choices=("undirected", "directed"),
            group=INPUT,
        ),
    ] = "undirected",
    protect: Annotated[Protect | None, PROTECT] = None,
    groups: Annotated[
        str | None,
        Option(
            help="Also plan flows: the number of public groups of equal sizes on each level, "
            "coarsest first, such as 5,50; of two sides LEFT:RIGHT, such as 5,50:4,20. With --ask "
            "the public table of the groups, or none.",
            group=INPUT,
        ),
    ] = None,
    target_error: Annotated[
        float | None,
        Option(help="Also show the epsilon that guarantees this error.", group=OUTPUT),
    ] = None,
    set_sizes: Annotated[
        list[int],
        Option(
            help="Also show the expected error of a cut between two sets of these sizes, such as "
            "50,100.",
            parse=_list_of(int, "--set-sizes are whole numbers with commas between: 50,100"),
            metavar="COUNTS",
            group=OUTPUT,
        ),
    ] = [],  # noqa: B006  # read only
    explain: Annotated[
        bool, Option(help="Explain in plain words what the promise means.", group=OUTPUT)
    ] = False,
    priors: Annotated[
        Sequence[float],
        Option(
            help="With --explain: what an attacker may believe before the release.",
            parse=_list_of(float, "--priors are numbers with commas between: 0.01,0.5"),
            metavar="NUMBERS",
            group=OUTPUT,
        ),
    ] = PRIORS,
    asking: Annotated[
        bool,
        Option(
            help="Ask five questions, and print the command to type.", flag="--ask", group=OUTPUT
        ),
    ] = False,
    data: Annotated[
        str | None, Option(help="With --ask: the private graph.", metavar="FILE", group=INPUT)
    ] = None,
    columns: Annotated[
        str | None,
        Option(
            help="With --ask: how to read its columns, such as owner=patient; see `release`.",
            group=INPUT,
        ),
    ] = None,
    who: Annotated[
        str | None, Option(help="With --ask: who asks.", choices=WHO, group=INPUT)
    ] = None,
) -> Report:
    """Compare what all mechanisms would guarantee, best first. Reads no data.

    Example: graphcuts-dp plan --n 5000 --edges 5e4 --queries 1e6 --epsilon 1 --delta 1e-6

    Example: graphcuts-dp plan --n 5000 --epsilon 0.5,1,2 --set-sizes 50,100

    Example: graphcuts-dp plan --explain --epsilon 1 --protect vertex:degree-bound=50

    Example: graphcuts-dp plan --ask

    The command uses formulas only. It reads no data and spends no budget. --edges is a guess that
    may be public, such as the number of edges of a similar graph; never count the edges of the
    private graph. --explain says in plain words what a promise means. --ask asks five questions and
    prints the command to type; it takes the defaults where nobody sits at a terminal.
    """
    if asking:
        return ask(
            data=data,
            groups=groups,
            protect=protect,
            columns=columns,
            error=target_error,
            who=who,
            n=None if n is None else n[0],
        )
    missing = [
        f"--{name} {example}"
        for name, value, example in (("n", n, "5000"), ("epsilon", epsilon, "1"))
        if value is None and not (explain and name == "n")
    ]
    if missing:
        raise ParameterError(f"a plan needs {' and '.join(missing)}, for example; or --ask")
    epsilons, sides, protect = epsilon or [], n or [], protect or EDGE
    if explain:
        if len(epsilons) > 1:
            raise ParameterError("--explain takes one --epsilon")
        told = protect.explain(epsilon=epsilons[0], delta=delta, priors=priors)
        return Report(told.to_dict(), [told])
    if len(sides) > 2:
        raise ParameterError("--n is a whole number, or LEFT,RIGHT of a graph with two sides")
    plans = [
        planner.plan(
            (sides[0], sides[1]) if len(sides) == 2 else sides[0],
            epsilon=each,
            edges=edges,
            queries=queries,
            delta=delta,
            rank=rank,
            directed=kind == "directed",
            protect=protect,
            groups=None if groups is None else _groups(groups, sides),
            target_error=target_error,
        )
        for each in epsilons
    ]
    parts: list[Any] = list(plans) if len(plans) == 1 else [_beside(plans)]
    documents = [made.to_dict() for made in plans]
    for made, document in zip(plans, documents, strict=True):
        told_of = f"epsilon = {made.setting.epsilon:g}"
        if len(plans) > 1:
            parts.append(f"{told_of}. Advice: {made.advice}")
        if set_sizes:
            small = made.small_sets(*set_sizes)
            document |= {"set_sizes": set_sizes, "expected_errors": small}
            title = f"Expected error of a cut between two sets of so many vertices, {told_of}"
            heads = ("mechanism", *(f"{size:,}" for size in set_sizes))
            rows = [(name, *map(short, errors)) for name, errors in small.items()]
            parts.append(Table(title, heads, rows))
    return Report(documents[0] if len(plans) == 1 else {"plans": documents}, parts)


def _beside(plans: Sequence[Plan]) -> Table:
    """Guaranteed errors at each epsilon, in the order of the first plan."""
    shown = {(row.name, row.cuts) for made in plans for row in made.shown}
    errors = [{(row.name, row.cuts): row.guaranteed for row in made.rows} for made in plans]
    return Table(
        plans[0].title.replace(f"epsilon = {plans[0].setting.epsilon:g}", "errors by epsilon"),
        ("mechanism", "cuts", *(f"epsilon = {made.setting.epsilon:g}" for made in plans)),
        [
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


def _groups(text: str, sides: Sequence[int]) -> GroupTree | tuple[GroupTree, GroupTree]:
    """Groups of nearly equal sizes on each level."""
    texts = text.split(":")
    if len(texts) != len(sides):
        raise ParameterError("--groups is LEFT:RIGHT for two sides, and has no colon for one")
    read = _list_of(int, "--groups are whole numbers, for example 5,50")
    made = [equal_groups(n, read(each)) for n, each in zip(sides, texts, strict=True)]
    return (made[0], made[1]) if len(made) == 2 else made[0]
