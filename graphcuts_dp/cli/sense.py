"""`graphcuts-dp sense`: linear queries on private ratings, such as sums over groups."""

from dataclasses import replace
from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import accuracy_notes, progress_bar
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.publishing import show_release
from graphcuts_dp.cli.query_files import read_query_file
from graphcuts_dp.cli.reading import Reading, check_apart
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.offline.sensing import release_sensing
from graphcuts_dp.offline.sensing_release import SensingRelease
from graphcuts_dp.pairs.linear_query import space_of
from graphcuts_dp.results.bundle import check_path

EXAMPLE = """Example: graphcuts-dp sense ratings.csv out.npz --queries sums.jsonl --epsilon 1
--delta 1e-6 --weight-cap 5 --vertices users.txt,films.txt

Example: graphcuts-dp sense ratings.csv out.npz --queries sums.csv --epsilon 1 --delta 1e-6
--weight-cap 5 --groups cities.csv --right-groups genres.csv

The command answers a public list of queries on a matrix of ratings with noise, and learns a matrix
from the answers. Users are in the first column of the file and items in the second. The list is a
.csv table with columns S (users) and T (items), or has lines as for `session run`. With --groups,
"@Seattle" names a group. `graphcuts-dp answer out.npz --queries sums.jsonl` gives the answers with
intervals."""


@with_options
def sense(
    source: Annotated[str, typer.Argument(metavar="RATINGS", help="The private ratings.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The .npz file to write.")],
    queries: Annotated[
        str, typer.Option(metavar="FILE", help="The public list of queries: a .csv or .jsonl file.")
    ],
    epsilon: options.Epsilon,
    delta: Annotated[float, typer.Option(help="Second privacy parameter, for example 1e-6.")],
    spending: Spending,
    protecting: Protecting,
    rounds: Annotated[
        int | None,
        typer.Option(help="Number of queries that are chosen and measured; if omitted, all or 10."),
    ] = None,
    p: Annotated[
        float | None,
        typer.Option("--p", help="Exponent of the Schatten norm: 2 (Frobenius) or near 1."),
    ] = None,
    beta: Annotated[
        float, typer.Option(help="Probability that the error of any answer is larger than stated.")
    ] = 0.05,
    expected_ratings: Annotated[
        float | None,
        typer.Option(help="A public guess of the number of ratings, used only for the warning."),
    ] = None,
    *,
    grouping: GroupReading,
    reading: Reading,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Answer a list of queries on private ratings, and learn a matrix from the answers."""
    if reading.directed:
        raise ParameterError("ratings have two sides; leave out --directed")
    protecting.of.per_step(epsilon)
    store = spending.check()
    check_apart([target], source, reading.vertices, queries, spending.store, *grouping.files)
    check_path("sensing", target, force=force)
    private, graph = protecting.read(replace(reading, bipartite=True), source)
    spending.remind(private, source)
    space = space_of(graph)
    asked = read_query_file(queries, space, grouping.names(space))
    with accuracy_notes(), progress_bar("learning") as progress:
        made = release_sensing(
            private,  # type: ignore[arg-type]  # refused there if it is another kind
            [each.query for each in asked],
            epsilon=epsilon,
            delta=delta,
            store=store,
            rounds=rounds,
            p=p,
            beta=beta,
            expected_ratings=expected_ratings,
            **protecting.options(),
            seed=seed,
            progress=progress,
        )
    written = made.save(target, force=force)
    show_release(_facts(made), made.guarantee, written, source, as_json)


def _facts(made: SensingRelease) -> dict[str, object]:
    every = made.radius is not None
    return {
        "guarantee": str(made.guarantee),
        "ratings": " x ".join(f"{n:,}" for n in made.universe.shape),
        "queries": len(made.listed),
        "measured": "every query" if every else f"{len(made.measurements)} that were chosen",
        "error_at_most": made.error,
        "which_holds": f"for all queries of the list at once, with probability {1 - made.beta:.0%}",
    }
