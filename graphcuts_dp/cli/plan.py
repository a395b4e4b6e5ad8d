"""`graphcuts-dp plan`: which mechanism to run, before any data is touched."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import numbers, out, show_json, show_table
from graphcuts_dp.display import short
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.strategy import equal_groups
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.planning import planner
from graphcuts_dp.planning.planner import Plan
from graphcuts_dp.planning.set_sizes import held, size_table

EXAMPLE = """\
Example: graphcuts-dp plan --vertices 5000 --edges 5e4 --queries 1e6 --epsilon 1 --delta 1e-6

Example: graphcuts-dp plan --vertices 5000 --edges 5e4 --queries 100 --epsilon 0.5,1,2 --delta 0
  --set-sizes 50,100

The command uses formulas only. It reads no data and spends no budget. --edges is a guess that
may be public, such as the number of edges of a similar graph; never count the edges of the
private graph."""


def plan(
    vertices: Annotated[
        str,
        typer.Option(help="Number of vertices; for --bipartite, two numbers separated by a comma."),
    ],
    edges: Annotated[float, typer.Option(help="A public guess of the number of edges.")],
    queries: Annotated[float, typer.Option(help="Number of cuts that will be asked.")],
    epsilon: Annotated[
        str,
        typer.Option(help="Privacy parameter; smaller is more private. Several values: 0.5,1,2."),
    ],
    delta: Annotated[
        float,
        typer.Option(help="0 for pure differential privacy; otherwise choose far below 1/edges."),
    ],
    beta: Annotated[
        float,
        typer.Option(help="Probability that the error of any answer is larger than guaranteed."),
    ] = 0.05,
    bipartite: Annotated[
        bool, typer.Option("--bipartite", help="Plan for a graph with two sides.")
    ] = False,
    directed: Annotated[
        bool, typer.Option("--directed", help="Plan for a graph whose edges have a direction.")
    ] = False,
    target_error: Annotated[
        float | None, typer.Option(help="Also show the epsilon that guarantees this error.")
    ] = None,
    protect: options.Protect = "edges",
    at_most: options.AtMost = None,
    degree_bound: options.DegreeBound = None,
    most_right: Annotated[
        int | None, typer.Option(help="For --bipartite: no cut has more right vertices than this.")
    ] = None,
    linear: Annotated[
        bool, typer.Option("--linear", help="Any linear queries will be asked, not only cuts.")
    ] = False,
    most_spectral: Annotated[
        float | None,
        typer.Option(
            help="With --linear --bipartite: no query's largest singular value is more than so many"
            " times its largest coefficient."
        ),
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(help="Likewise: a public guess of the rank of the matrix of ratings."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Also plan flows: the number of public groups of equal sizes on "
            "each level, coarsest first, such as 5,50; for --bipartite "
            "LEFT:RIGHT, such as 5,50:4,20."
        ),
    ] = None,
    set_sizes: Annotated[
        str | None,
        typer.Option(
            help="Also show the expected error of a cut between two sets of these "
            "sizes, such as 50,100."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Compare what all mechanisms would guarantee, best first. Reads no data."""
    if not queries.is_integer():
        raise ParameterError("--queries must be a whole number, for example 1000 or 1e6")
    if bipartite and directed:
        raise ParameterError("a graph is --bipartite or --directed, not both")
    size = _vertices(vertices, bipartite=bipartite)
    wrong = "--set-sizes are whole numbers with commas between: 50,100"
    sizes = () if set_sizes is None else tuple(numbers(set_sizes, int, wrong))
    epsilons = numbers(epsilon, float, "--epsilon is a number, or several: 0.5,1,2")
    plans = [
        planner.plan(
            size,
            directed=directed,
            edges=edges,
            queries=int(queries),
            epsilon=each,
            delta=delta,
            beta=beta,
            target_error=target_error,
            protect=protect,
            at_most=at_most,
            degree_bound=degree_bound,
            most_right=most_right,
            linear=linear,
            most_spectral=most_spectral,
            rank=rank,
            groups=None if groups is None else _groups(groups, size),
        )
        for each in epsilons
    ]
    tables = [size_table(made, sizes) if sizes else [] for made in plans]
    if as_json:
        told = [_told(made, sizes, table) for made, table in zip(plans, tables, strict=True)]
        show_json(told[0] if len(told) == 1 else {"plans": told})
        return
    if len(plans) == 1:
        show_table(plans[0].title, plans[0].columns, plans[0].cells())
    else:
        _show_beside(plans)
    for made, table in zip(plans, tables, strict=True):
        if sizes:
            _show_sizes(made, sizes, table)
    for remark in plans[0].remarks if len(plans) == 1 else ():
        out.print(remark, markup=False)
    for made in plans if len(plans) > 1 else ():
        out.print(f"epsilon = {made.setting.epsilon:g}. Advice: {made.advice}", markup=False)


def _show_beside(plans: Sequence[Plan]) -> None:
    """Guaranteed errors at each epsilon, in the order of the first plan."""
    shown = {(row.name, row.cuts) for made in plans for row in made.shown}
    rows: dict[tuple[str, str], list[str]] = {
        (row.name, row.cuts): ["needs delta"] * len(plans)
        for row in plans[0].rows
        if (row.name, row.cuts) in shown
    }
    for place, made in enumerate(plans):
        for row in made.rows:
            if (row.name, row.cuts) in rows and not math.isinf(row.guaranteed):
                rows[row.name, row.cuts][place] = short(row.guaranteed)
    title = plans[0].title.replace(
        f"epsilon = {plans[0].setting.epsilon:g}", "guaranteed errors by epsilon"
    )
    heads = [f"epsilon = {made.setting.epsilon:g}" for made in plans]
    cells = [(*names, *errors) for names, errors in rows.items()]
    show_table(title, ("mechanism", "cuts", *heads), cells)


def _show_sizes(
    made: Plan, sizes: tuple[int, ...], table: Sequence[tuple[str, list[float]]]
) -> None:
    holds = [("the cut holds about", [held(made.setting, size) for size in sizes])]
    show_table(
        f"Expected error of a cut between two sets of so many vertices, "
        f"epsilon = {made.setting.epsilon:g}",
        ("mechanism", *(f"{size:,}" for size in sizes)),
        [(name, *map(short, errors)) for name, errors in [*table, *holds]],
    )


def _told(
    made: Plan, sizes: tuple[int, ...], table: Sequence[tuple[str, list[float]]]
) -> dict[str, Any]:
    told = made.to_dict()
    if sizes:
        told["set_sizes"] = list(sizes)
        told["held"] = [held(made.setting, size) for size in sizes]
        told["expected_errors"] = dict(table)
    return told


def _vertices(text: str, *, bipartite: bool) -> int | tuple[int, int]:
    sides = numbers(text, int, "--vertices must be a whole number, for example 5000")
    if len(sides) != (2 if bipartite else 1):
        raise ParameterError("--vertices is LEFT,RIGHT with --bipartite, and one number without it")
    return (sides[0], sides[1]) if bipartite else sides[0]


def _groups(text: str, size: int | tuple[int, int]) -> GroupTree | tuple[GroupTree, GroupTree]:
    """Groups of nearly equal sizes on each level."""
    sides = text.split(":")
    if len(sides) != (2 if isinstance(size, tuple) else 1):
        raise ParameterError("--groups is LEFT:RIGHT with --bipartite, and has no colon without it")
    wrong = "--groups are whole numbers, for example 5,50"
    counts = [numbers(side, int, wrong) for side in sides]
    if isinstance(size, tuple):
        return equal_groups(size[0], counts[0]), equal_groups(size[1], counts[1])
    return equal_groups(size, counts[0])
