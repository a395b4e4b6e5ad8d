"""`graphcuts-dp release-iteratively`: learn from noisy answers to a list, or to what is off."""

import dataclasses
from typing import Annotated, Any

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
from graphcuts_dp.graph.files import check_labels
from graphcuts_dp.offline.construction import Game
from graphcuts_dp.offline.lists import Net, Sensing
from graphcuts_dp.offline.methods import (
    NAMES,
    Learning,
    construction_of,
    release_iteratively,
)
from graphcuts_dp.offline.release import GRAPH, IterativeRelease, NetChoice
from graphcuts_dp.options import INPUT, METHOD, Option, described, option
from graphcuts_dp.pairs.groups import GroupNames
from graphcuts_dp.pairs.queries import CutQuery, space_of
from graphcuts_dp.pairs.vertices import Space
from graphcuts_dp.results.bundle import check_path
from graphcuts_dp.session.query_lines import folder_of, read_asked, read_lines

EXAMPLE = """Example: graphcuts-dp release-iteratively mail.edges.gz out.graphml --epsilon 1
--delta 1e-6 --queries cuts.jsonl

Example: graphcuts-dp release-iteratively mail.edges.gz out.npz --epsilon 1 --queries cuts.csv
--construction answers --groups staff.csv

Example: graphcuts-dp release-iteratively ratings.csv out.npz --epsilon 1 --delta 1e-6
--queries sums.jsonl --construction sensing --weight-cap 5 --vertices users.txt,films.txt

The command learns a graph from noisy answers to cuts that a private search finds. It writes the
synthetic graph, a receipt beside it (.json) and the learnt weights (.hypothesis.npz). Use it for
lists of queries, and for proven errors on small graphs; `release` makes better synthetic graphs.
The list is a .csv table with columns S and T, or has lines as for `session run`; with --groups,
"@Sales" names a group. Other constructions: net chooses one of all graphs on few vertices; answers,
k-norm and laplace answer up to 1000 cuts at once, purely privately, and nothing else; sensing
answers linear queries on ratings (users in the first column, items in the second), and learns a
matrix. `graphcuts-dp answer OUT --queries cuts.csv` gives answers with intervals."""


def _all_options() -> Any:
    """Options of every construction, each name once, and none given: what one refuses, it says."""
    known: dict[str, Option] = {}
    for kind in (Learning, Game, Net, Sensing):
        for each in described(kind):
            if each.kind or each.parse:
                known.setdefault(each.name, each)
    fields: list[Any] = []
    for name, each in known.items():
        usual = "" if each.default is None else f" Usually {each.default}."
        more = {"parse": each.parse, "choices": each.choices, "flag": each.flag}
        field = option(None, help=each.help + usual, group=each.group, **more)
        fields.append((name, (each.kind or str) | None, field))
    return dataclasses.make_dataclass("Method", fields, frozen=True, kw_only=True)


Method: Any = _all_options()


@with_options
def command(
    source: options.PrivateGraph,
    target: Annotated[str, typer.Argument(metavar="OUT", help="File for what is released.")],
    epsilon: options.Epsilon,
    spending: Spending,
    protecting: Protecting,
    method: Method,
    delta: options.Delta = 0.0,
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Public queries: a .csv or .jsonl file.", rich_help_panel=INPUT
        ),
    ] = None,
    construction: Annotated[
        str,
        typer.Option(
            help=f"What is drawn and learnt, one of: {', '.join(NAMES)}.", rich_help_panel=METHOD
        ),
    ] = "multiplicative-weights",
    beta: Annotated[
        float,
        typer.Option(
            help="Probability that an answer is farther off than stated.", rich_help_panel=METHOD
        ),
    ] = 0.05,
    *,
    grouping: GroupReading,
    reading: Reading,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn from noisy answers to queries that are given, or that a private search finds."""
    given = {name: value for name, value in vars(method).items() if value is not None}
    words = ",".join(f"{name}={value}".replace(",", "\\,") for name, value in given.items())
    chosen = construction_of(f"{construction}:{words}" if words else construction)
    protecting.of.per_step(epsilon)
    store = spending.check()
    check_apart([target], source, reading.vertices, queries, spending.store, *grouping.files)
    check_path(chosen.files, target, force=force)
    if isinstance(chosen, Sensing):
        if reading.directed:
            raise ParameterError("ratings have two sides; leave out --directed")
        reading = dataclasses.replace(reading, bipartite=True)
    private, graph = protecting.read(reading, source)
    spending.remind(private, source)
    if chosen.files == GRAPH:
        check_labels(target, graph)
    space = space_of(graph)
    asked = None if queries is None else _read(queries, space, grouping.names(space))
    with accuracy_notes(), progress_bar("learning") as progress:
        made = release_iteratively(
            private,
            asked,
            epsilon=epsilon,
            delta=delta,
            construction=chosen,
            beta=beta,
            protect=protecting.of,
            store=store,
            seed=seed,
            progress=progress,
        )
    written = made.save(target, force=force)
    show_release(_facts(made), made.guarantee, written, source, as_json)


def _read(path: str, space: Space, names: GroupNames | None) -> list[Any]:
    """The queries of a file; sets of cuts may name groups."""
    if path.lower().endswith(".csv"):
        return [each.query for each in read_query_file(path, space, names)]
    folder = folder_of(path)
    asked = [read_asked(line, number, space, folder=folder) for number, line in read_lines(path)]
    if names is None:
        return asked
    return [names.named(each) if isinstance(each, CutQuery) else each for each in asked]


def _facts(made: IterativeRelease) -> dict[str, object]:
    settings, accuracy = made.settings, made.accuracy
    facts: dict[str, object] = {
        "guarantee": str(made.guarantee),
        "epsilon_spent_on": dict(made.guarantee.parts),
        "vertices": " x ".join(f"{n:,}" for n in made.universe.shape),
        "construction": settings.construction,
        "distinguisher": settings.distinguisher,
        "rounds": f"{settings.used} of at most {settings.rounds} ({settings.calibration})",
        "queries": None if made.listed is None else len(made.listed),
        "members": made.law.members if isinstance(made.law, NetChoice) else None,
    }
    facts = {name: fact for name, fact in facts.items() if fact not in (None, "", {})}
    if accuracy.error is None:
        return facts | {"error": "nothing is proven for this distinguisher"}
    what = "cuts between disjoint sets" if made.listed is None else "the queries given"
    facts["error_at_most"] = accuracy.error
    if accuracy.graph_error is not None:
        facts["error_of_the_graph_at_most"] = accuracy.graph_error
    return facts | {
        "which_holds": f"for {what} at once, with probability {accuracy.confidence:.0%}",
    }
