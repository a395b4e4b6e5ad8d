"""`graphcuts-dp release-net`: choose a graph from all on a few vertices."""

from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.publishing import show_release
from graphcuts_dp.cli.reading import Reading, check_apart
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.graph.files import check_labels
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.offline.net_release import NetRelease, release_net
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.results.bundle import check_path
from graphcuts_dp.session.query_lines import read_lines, read_query

EXAMPLE = """Example: graphcuts-dp release-net team.edges out.graphml --epsilon 1
--queries cuts.jsonl --vertices people.txt

The command chooses one of all graphs on at most 6 vertices, or of all with a public number of
edges, so that its answers to the queries are near the true ones. It writes the graph, a receipt
beside it (.json) and the queries (.queries.npz). `answer` gives their proven intervals."""


@with_options
def command(
    source: options.PrivateGraph,
    target: Annotated[
        str, typer.Argument(metavar="OUT", help="File to write the chosen graph to.")
    ],
    epsilon: options.Epsilon,
    queries: Annotated[
        str,
        typer.Option(
            help="Public cuts that should be accurate: lines of JSON, as for `session run`."
        ),
    ],
    spending: Spending,
    protecting: Protecting,
    alpha: Annotated[
        float,
        typer.Option(help="Coarseness of the net: 0 is exact; a coarser net needs less noise."),
    ] = 0.0,
    edges: Annotated[
        int | None,
        typer.Option(
            help="Number of edges, if it is public; this leaves fewer graphs to choose from."
        ),
    ] = None,
    *,
    reading: Reading,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Choose privately a graph with nearly the same answers to given cuts; few vertices only."""
    protecting.of.per_step(epsilon)
    cuts = [read_query(line, number) for number, line in read_lines(queries)]
    store = spending.check()
    check_apart([target], source, reading.vertices, queries, spending.store)
    check_path("net", target, force=force)
    private, graph = protecting.read(reading, source)
    spending.remind(private, source)
    check_labels(target, graph)
    family = None if edges is None else all_graphs(Universe.of(graph), edges)
    made = release_net(
        private,
        cuts,
        epsilon=epsilon,
        alpha=alpha,
        family=family,
        store=store,
        **protecting.options(),
        seed=seed,
    )
    written = made.save(target, force=force)
    show_release(_facts(made), made.guarantee, written, source, as_json)


def _facts(made: NetRelease) -> dict[str, object]:
    return {
        "guarantee": str(made.guarantee),
        "vertices": " x ".join(str(n) for n in made.universe.shape),
        "queries": len(made.coefficients),
        "members": made.members,
        "error_at_most": made.error_bound(0.05),
        "which_holds": "for the queries given at once, with probability 95%",
    }
