"""`graphcuts-dp release-answers`: a short list of cuts, answered at once."""

from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.publishing import show_release
from graphcuts_dp.cli.query_files import read_query_file
from graphcuts_dp.cli.reading import Reading, check_apart
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.errors import QueryError
from graphcuts_dp.offline.answers_at_once import FewAnswers, release_answers
from graphcuts_dp.pairs.linear_query import space_of
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.results.bundle import check_path

EXAMPLE = """Example: graphcuts-dp release-answers mail.edges.gz out.npz --queries cuts.csv
--epsilon 1 --vertices staff.txt

Example: graphcuts-dp release-answers mail.edges.gz out.npz --queries sales.jsonl --epsilon 1
--vertices staff.txt --groups staff.csv --at-most 20

The command answers a public list of 1 to 1000 cuts at once, purely privately, and nothing else.
Up to 6 cuts get K-norm noise where it promises shorter intervals. The list is a .csv table with
columns S and T, or has lines as for `session run`. With --groups, "@Sales" names a group.
`graphcuts-dp answer out.npz --queries cuts.csv` gives the answers with intervals."""


@with_options
def command(
    source: options.PrivateGraph,
    target: Annotated[str, typer.Argument(metavar="OUT", help="The .npz file to write.")],
    queries: Annotated[
        str, typer.Option(metavar="FILE", help="The public list of cuts: a .csv or .jsonl file.")
    ],
    epsilon: options.Epsilon,
    spending: Spending,
    protecting: Protecting,
    noise: Annotated[
        str,
        typer.Option(
            help="k-norm (at most 6 cuts), laplace, or auto: the one of the shorter intervals."
        ),
    ] = "auto",
    confidence: Annotated[
        float, typer.Option(help="Probability that all intervals at once hold the true values.")
    ] = 0.95,
    *,
    grouping: GroupReading,
    reading: Reading,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Answer a short list of cuts at once, with noise in the shape of what one pair can change."""
    protecting.of.per_step(epsilon)
    store = spending.check()
    check_apart([target], source, reading.vertices, queries, spending.store, *grouping.files)
    check_path("answers", target, force=force)
    private, graph = protecting.read(reading, source)
    spending.remind(private, source)
    space = space_of(graph)
    cuts: list[CutQuery] = []
    for asked in read_query_file(queries, space, grouping.names(space)):
        if not isinstance(asked.query, CutQuery):
            raise QueryError(f"{asked.title} is no cut: `release` and `session` answer others")
        cuts.append(asked.query)
    made = release_answers(
        private,
        cuts,
        epsilon=epsilon,
        noise=noise,
        confidence=confidence,
        store=store,
        **protecting.options(),
        seed=seed,
    )
    written = made.save(target, force=force)
    show_release(_facts(made), made.guarantee, written, source, as_json)


def _facts(made: FewAnswers) -> dict[str, object]:
    return {
        "guarantee": str(made.guarantee),
        "vertices": " x ".join(f"{n:,}" for n in made.universe.shape),
        "cuts": len(made.queries),
        "noise": made.noise,
        "error_at_most": made.radius,
        "which_holds": f"for all these cuts at once, with probability {made.confidence:.0%}",
    }
