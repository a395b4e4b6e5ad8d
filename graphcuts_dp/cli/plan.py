"""`graphcuts-dp plan`: which mechanism to run, before any data is touched."""

from typing import Annotated

import typer

from graphcuts_dp.cli.console import out, show_json, show_table
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.groups import GroupTree
from graphcuts_dp.planning import planner
from graphcuts_dp.planning.flows_forecast import equal_groups

EXAMPLE = """\
Example: graphcuts-dp plan --vertices 5000 --edges 5e4 --queries 1e6 --epsilon 1 --delta 1e-6

Formulas only: nothing is read and nothing is spent. --edges is a guess that may be public, such as
the number of a similar graph; never count them in the private graph."""


def plan(
    vertices: Annotated[
        str, typer.Option(help="How many; for --bipartite two numbers with a comma between.")
    ],
    edges: Annotated[float, typer.Option(help="A public guess of how many.")],
    queries: Annotated[float, typer.Option(help="How many cuts will be asked for.")],
    epsilon: Annotated[float, typer.Option(help="Privacy parameter; smaller hides more.")],
    delta: Annotated[float, typer.Option(help="0 for pure privacy; else far below 1/edges.")],
    beta: Annotated[float, typer.Option(help="Probability that any answer is off by more.")] = 0.05,
    bipartite: Annotated[bool, typer.Option("--bipartite", help="Two sides.")] = False,
    directed: Annotated[bool, typer.Option("--directed", help="Edges have a direction.")] = False,
    target_error: Annotated[
        float | None, typer.Option(help="Also show the epsilon that guarantees this error.")
    ] = None,
    protect: Annotated[
        str, typer.Option(help="Whom promises are for: edges, owner or vertex.")
    ] = "edges",
    at_most: Annotated[
        int | None, typer.Option(help="How many edges together, or rows of an owner.")
    ] = None,
    degree_bound: Annotated[int | None, typer.Option(help="Of a vertex.")] = None,
    most_right: Annotated[
        int | None, typer.Option(help="Of --bipartite: no cut has more right vertices.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Also plan flows: numbers of public groups of equal sizes, one a level, coarsest "
            "first, such as 5,50; of --bipartite LEFT:RIGHT, such as 5,50:4,20."
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
    made = planner.plan(
        size,
        directed=directed,
        edges=edges,
        queries=int(queries),
        epsilon=epsilon,
        delta=delta,
        beta=beta,
        target_error=target_error,
        protect=protect,
        at_most=at_most,
        degree_bound=degree_bound,
        most_right=most_right,
        groups=None if groups is None else _groups(groups, size),
    )
    if as_json:
        show_json(made.to_dict())
        return
    show_table(made.title, made.columns, made.cells())
    for remark in made.remarks:
        out.print(remark, markup=False)


def _vertices(text: str, *, bipartite: bool) -> int | tuple[int, int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError("--vertices must be a whole number, for example 5000") from None
    if len(numbers) != (2 if bipartite else 1):
        raise ParameterError("--vertices is LEFT,RIGHT with --bipartite, and one number without it")
    return (numbers[0], numbers[1]) if bipartite else numbers[0]


def _groups(text: str, size: int | tuple[int, int]) -> GroupTree | tuple[GroupTree, GroupTree]:
    """Groups of nearly equal sizes on each level."""
    sides = text.split(":")
    if len(sides) != (2 if isinstance(size, tuple) else 1):
        raise ParameterError("--groups is LEFT:RIGHT with --bipartite, and has no colon without it")
    try:
        counts = [[int(part) for part in side.split(",")] for side in sides]
    except ValueError:
        raise ParameterError("--groups are whole numbers, for example 5,50") from None
    if isinstance(size, tuple):
        return equal_groups(size[0], counts[0]), equal_groups(size[1], counts[1])
    return equal_groups(size, counts[0])
