"""`graphcuts-dp release-iteratively`: learn a synthetic graph from cuts that are looked for."""

from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import accuracy_notes, progress_bar
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.publishing import show_release
from graphcuts_dp.cli.reading import Reading, check_apart, with_options
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.graph.files import check_labels
from graphcuts_dp.learn.norms import NORM_HELP
from graphcuts_dp.offline.methods import DISTINGUISHER_NAMES
from graphcuts_dp.offline.methods import LEARNT_BY, release_iteratively
from graphcuts_dp.offline.release import IterativeRelease
from graphcuts_dp.offline.tuning import CALIBRATIONS
from graphcuts_dp.results.bundle import check_path
from graphcuts_dp.session.query_lines import folder_of, read_asked, read_lines

EXAMPLE = """Example: graphcuts-dp release-iteratively mail.edges.gz out.graphml --epsilon 1
--delta 1e-6 --queries cuts.jsonl

The command learns a graph from noisy answers to cuts that a private distinguisher finds. It
writes the synthetic graph, a receipt beside it (.json) and the learnt weights
(.hypothesis.npz). Use it for lists of cuts, and for proven errors on small graphs. `release`
makes better synthetic graphs."""


@with_options
def command(
    source: options.PrivateGraph,
    target: Annotated[str, typer.Argument(metavar="OUT", help="File for the synthetic graph.")],
    epsilon: options.Epsilon,
    spending: Spending,
    protecting: Protecting,
    delta: Annotated[
        float,
        typer.Option(
            help="Second privacy parameter, for example 1e-6; response-rank-one and released "
            "need none."
        ),
    ] = 0.0,
    queries: Annotated[
        str | None,
        typer.Option(
            help="Public queries that should be accurate: lines of JSON, as for `session run`."
        ),
    ] = None,
    construction: Annotated[
        str, typer.Option(help=f"Update rule, one of: {', '.join(LEARNT_BY)}.")
    ] = "multiplicative-weights",
    norm: Annotated[
        str | None, typer.Option(help=f"Norm of mirror-descent, l2 if omitted: {NORM_HELP}.")
    ] = None,
    distinguisher: Annotated[
        str, typer.Option(help=f"How cuts are found, one of: {', '.join(DISTINGUISHER_NAMES)}.")
    ] = "auto",
    calibration: Annotated[
        str, typer.Option(help=f"How the budget is divided, one of: {', '.join(CALIBRATIONS)}.")
    ] = "practical",
    player: Annotated[
        str,
        typer.Option(help="Who learns in the query release game: data, query or both."),
    ] = "data",
    hide_queries: Annotated[
        float | None,
        typer.Option(
            help="For the players query and both: how much one query of the list may show."
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Largest number of rounds.")] = None,
    *,
    reading: Reading,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn a synthetic graph from noisy answers to cuts that a private search finds."""
    protecting.of.per_step(epsilon)
    lines = None if queries is None else read_lines(queries)
    store = spending.check()
    check_apart([target], source, reading.vertices, queries, spending.store)
    check_path("iterative construction", target, force=force)
    private, graph = protecting.read(reading, source)
    spending.remind(private, source)
    check_labels(target, graph)
    asked = None
    if queries is not None and lines is not None:
        folder = folder_of(queries)
        asked = [read_asked(line, number, graph.space, folder=folder) for number, line in lines]
    with accuracy_notes(), progress_bar("learning") as progress:
        made = release_iteratively(
            private,
            epsilon=epsilon,
            delta=delta,
            store=store,
            queries=asked,
            construction=construction,
            norm=norm,
            distinguisher=distinguisher,
            calibration=calibration,
            player=player,
            hide_queries=hide_queries,
            rounds=rounds,
            **protecting.options(),
            seed=seed,
            progress=progress,
        )
    written = made.save(target, force=force)
    show_release(_facts(made), made.guarantee, written, source, as_json)


def _facts(made: IterativeRelease) -> dict[str, object]:
    settings, accuracy = made.settings, made.accuracy
    facts: dict[str, object] = {
        "guarantee": str(made.guarantee),
        "epsilon_spent_on": dict(made.guarantee.parts),
        "vertices": " x ".join(str(n) for n in made.universe.shape),
        "construction": settings.construction,
        "distinguisher": settings.distinguisher,
        "rounds": f"{settings.used} of at most {settings.rounds} ({settings.calibration})",
    }
    if accuracy.error is None:
        return facts | {"error": "nothing is proven for this distinguisher"}
    what = "the queries given" if accuracy.queries == "listed" else "cuts between disjoint sets"
    return facts | {
        "error_at_most": accuracy.error,
        "error_of_the_graph_at_most": accuracy.graph_error,
        "which_holds": f"for {what} at once, with probability {accuracy.confidence:.0%}",
    }
