"""`graphcuts-dp distance-session`: distances on a public map, one vertex after the other.

`graphcuts-dp distances`: the average distance of every vertex of a public map to all people.
"""

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import (
    accuracy_notes,
    out,
    progress_bar,
    say,
    show_facts,
    show_json,
    show_table,
)
from graphcuts_dp.cli.options import Commands, with_options
from graphcuts_dp.cli.publishing import tell_publishing
from graphcuts_dp.cli.reading import TextReading, check_apart
from graphcuts_dp.cli.spelling import spelled
from graphcuts_dp.cli.store_options import Spending, store_named
from graphcuts_dp.distances.answers import (
    DistanceAnswers,
    answer_distances,
    locations_subject,
)
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.map_files import read_map
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.plan import MECHANISMS, NOISES
from graphcuts_dp.distances.session import (
    DistanceSession,
    DistanceSessionStatus,
    open_distance_session,
)
from graphcuts_dp.errors import (
    FileFormatError,
    GraphCutsError,
    LedgerError,
    ParameterError,
    QueryError,
)
from graphcuts_dp.files import check_writable_set
from graphcuts_dp.ledger.opening import Store, open_ledger
from graphcuts_dp.ledger.uses import DISTANCE_SESSION, uses_of
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.plotting.saving import write_figure
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.results.bundle import receipt_path

EXAMPLE = """Example: graphcuts-dp distances roads.csv people.csv --epsilon 1 --plot map.png

Example: graphcuts-dp distances roads.csv people.csv --epsilon 1 --delta 1e-6 --mechanism learner

MAP is public: a graph whose weights are lengths. Without weights, each edge has length 1. Of
parallel edges the shortest counts. Without coordinates the plot is a computed layout. LOCATIONS
is private: a CSV file with a column vertex and one row for each person, or with columns vertex
and people; or a .txt file with the vertex of one person on each line. The place of any one
person is hidden; the number of people is not."""


@with_options
def distances(
    map_file: options.PublicMap,
    locations: options.PrivateLocations,
    epsilon: Annotated[float, typer.Option(help="Epsilon of one person; smaller is more private.")],
    spending: Spending,
    delta: options.Delta = 0.0,
    mechanism: Annotated[
        str, typer.Option(help=f"Mechanism, one of: {', '.join(MECHANISMS)}.")
    ] = "auto",
    noise: Annotated[str, typer.Option(help=f"Noise, one of: {', '.join(NOISES)}.")] = "auto",
    confidence: options.Confidence = 0.95,
    coordinates: options.Coordinates = None,
    ignore_lengths: options.IgnoreLengths = False,
    lp: options.Lp = None,
    at_most: options.People = 1,
    top: Annotated[int, typer.Option(help="Number of best vertices to show; 0 shows all.")] = 20,
    *,
    reading: TextReading,
    output: Annotated[
        str | None, typer.Option(help="CSV file for all answers; a receipt is written beside it.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option(help="Draw the map, coloured by the answers: .png or .pdf.")
    ] = None,
    unit: Annotated[str, typer.Option(help="Unit of the lengths, for the plot.")] = "",
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Release privately the average distance of all people from every vertex of a map."""
    exact_epsilon(epsilon)
    if top < 0:
        raise ParameterError("--top must be 0 or more")
    store = spending.check()
    check_apart([output, plot], map_file, locations, coordinates, spending.store)
    _check_paths(output, plot, force=force)
    metric = read_map_file(map_file, coordinates, ignore_lengths, reading, lp)
    placed = Locations.read(metric, locations)
    spending.remind(locations_subject(placed), locations)
    with accuracy_notes(), progress_bar("answering") as progress, metric.reporting(progress):
        made = answer_distances(
            metric,
            placed,
            epsilon=epsilon,
            delta=delta,
            at_most=at_most,
            store=store,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
            seed=seed,
        )
    written = [] if output is None else list(made.save(output, force=force))
    if plot is not None:
        write_figure(made.plot(unit=unit), plot, force=force)
        written.append(plot)
    if as_json:
        show_json(made.to_dict() | {"files": written})
        return
    _show(made, top, unit)
    for file in written:
        say(f"wrote {file}")
    if written:
        tell_publishing(made.guarantee, written, locations)


def read_map_file(
    path: str,
    coordinates: str | None,
    ignore_lengths: bool,
    reading: TextReading,
    lp: float | None = None,
) -> Metric:
    """The public map of a command; what is wrong with the file is told in the command's words."""
    text = reading.columns()
    if lp is not None and coordinates is None:
        raise ParameterError("--lp needs --coordinates")
    try:
        made = read_map(path, coordinates=coordinates, ignore_lengths=ignore_lengths, text=text)
        if lp is None or made.coordinates is None:
            return made
        return Metric.of_points(made.coordinates, p=lp, vertices=made.vertices)
    except GraphCutsError as problem:
        told = spelled(problem, path)
        told.args = (str(told).replace("--ignore-weights", "--ignore-lengths"),)
        raise told from None


def _show(made: DistanceAnswers, top: int, unit: str) -> None:
    show_facts(
        {
            "guarantee": str(made.guarantee),
            "map": made.plan.title,
            "choice": made.plan.reason,
            "may be the best": f"{len(made.candidates)} of {len(made.values)} vertices",
        }
    )
    order = np.argsort(made.values, kind="stable").tolist()
    answers = made.all()
    shown = [answers[row] for row in (order[:top] if top else order)]
    show_table(
        f"Average distance to all people{f' in {unit}' if unit else ''}, "
        f"nearest {len(shown)} of {len(order)}; intervals hold at once, {made.confidence:.0%}",
        ("vertex", "distance", "low", "high"),
        [(str(a.vertex), *(f"{x:,.4g}" for x in (a.value, *a.interval))) for a in shown],
    )


def _check_paths(output: str | None, plot: str | None, *, force: bool) -> None:
    if plot is not None and not plot.lower().endswith((".png", ".pdf")):
        raise FileFormatError(f"{plot}: a plot ends in .png or .pdf")
    answers = () if output is None else (output, receipt_path(output))
    check_writable_set([*answers, *(() if plot is None else (plot,))], force=force)


START_EXAMPLE = """Example: graphcuts-dp distance-session start roads.csv people.csv --store p.db
--epsilon 1 --queries 20

MAP is public and LOCATIONS is private, as for `distances`. That command answers all vertices at
once for the same cost, and on most maps with a smaller error. Use a session for few vertices that
you choose one after the other. The store records what is spent, with all other uses of these
locations."""
ASK_EXAMPLE = """Example: graphcuts-dp distance-session ask p.db v3 v7

Answers are written to the disk before they are shown. A vertex that was asked before is free. After
an interruption, ask again; the queries that the lost step may have used count as spent."""
STATUS_EXAMPLE = """Example: graphcuts-dp distance-session status p.db

Shows the number of queries left, and every answer so far."""

StoreArgument = Annotated[
    str, typer.Argument(metavar="STORE", help="The store, made by `distance-session start`.")
]
MapOption = Annotated[
    str | None, typer.Option("--map", help="The public map, if its file has moved since the start.")
]
LocationsOption = Annotated[
    str | None, typer.Option("--locations", help="The locations, if their file has moved.")
]

distance_sessions = Commands(
    help="Answer the average distance of all people, vertex by vertex, with a durable ledger.",
)


@distance_sessions.command(epilog=START_EXAMPLE)
@with_options
def start(
    map_file: options.PublicMap,
    locations: options.PrivateLocations,
    store: Annotated[str, typer.Option(help="File that records what was spent on the locations.")],
    epsilon: options.SessionEpsilon,
    queries: options.Promised,
    delta: options.Delta = 0.0,
    at_most: options.People = 1,
    confidence: options.Confidence = 0.95,
    name: options.Name = "default",
    ignore_lengths: options.IgnoreLengths = False,
    coordinates: options.Coordinates = None,
    lp: options.Lp = None,
    budget_epsilon: options.BudgetEpsilon = None,
    budget_delta: options.BudgetDelta = 0.0,
    expect_head: options.ExpectHead = None,
    *,
    reading: TextReading,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Begin a session of distances on private locations."""
    place = store_named(store, budget_epsilon, budget_delta, expect_head)
    metric = read_map_file(map_file, coordinates, ignore_lengths, reading, lp)
    with (
        accuracy_notes(),
        open_distance_session(
            metric,
            Locations.read(metric, locations),
            store=place,
            name=name,
            epsilon=epsilon,
            delta=delta,
            queries=queries,
            at_most=at_most,
            confidence=confidence,
            seed=seed,
            source={
                "map": str(Path(map_file).resolve()),
                "locations": str(Path(locations).resolve()),
                "coordinates": None if coordinates is None else str(Path(coordinates).resolve()),
                "lp": lp,
                "ignore_lengths": ignore_lengths,
                "reading": asdict(reading),
            },
        ) as session,
    ):
        status, error = session.status, session.error_bound
    if as_json:
        show_json({"store": store, "error_bound": error, **status.to_dict()})
        return
    show_facts({**_facts(status), "error": f"up to {error:,.4g} (all guaranteed answers at once)"})


@distance_sessions.command(epilog=ASK_EXAMPLE)
def ask(
    store: StoreArgument,
    vertices: Annotated[
        list[str], typer.Argument(metavar="VERTEX...", help="Vertices of the map.")
    ],
    name: options.Name = "default",
    map_file: MapOption = None,
    locations: LocationsOption = None,
    unguaranteed: options.Unguaranteed = False,
    expect_head: options.ExpectHead = None,
    as_json: options.Json = False,
) -> None:
    """Ask for the average distance of all people from vertices."""
    with _resumed(store_named(store, expect_head=expect_head), name, map_file, locations) as it:
        labels = [_label(it.metric, text) for text in vertices]
        replies = it.ask_all(labels, unguaranteed=unguaranteed)
        guarantee = it.guarantee
    if as_json:
        show_json({"answers": [r.to_dict() for r in replies], "guarantee": str(guarantee)})
        return
    for reply in replies:
        out.print(f"{reply}  {reply.queries_left:,} left", markup=False)


@distance_sessions.command(epilog=STATUS_EXAMPLE)
def status(
    store: StoreArgument,
    name: options.Name = "default",
    map_file: MapOption = None,
    locations: LocationsOption = None,
    expect_head: options.ExpectHead = None,
    as_json: options.Json = False,
) -> None:
    """Show what is left of a session, and every answer so far."""
    with _resumed(store_named(store, expect_head=expect_head), name, map_file, locations) as it:
        found, history = it.status, it.history
    if as_json:
        show_json({**found.to_dict(), "history": [reply.to_dict() for reply in history]})
        return
    show_facts(_facts(found))
    for reply in history:
        out.print(str(reply), markup=False)


def _facts(found: DistanceSessionStatus) -> dict[str, str]:
    return {
        "session": f"{found.name} ({found.state})",
        "guarantee": str(found.guarantee),
        "answers": f"{found.answers:,}, {found.queries_left:,} left",
        "interruptions": f"{found.interruptions:,}",
    }


def _label(metric: Metric, text: str) -> Label:
    row = metric.vertices.find_text(text)
    if row is None:
        raise QueryError(f"{text!r} is not a vertex of the map")
    return metric.vertices.labels[row]


def _resumed(
    store: Store, name: str, map_file: str | None, locations: str | None
) -> DistanceSession:
    """Open a session on a store, with its map and its locations.

    Raises:
        ParameterError: no such session, or nobody knows where its files are.
        GraphCutsError: as `open_distance_session`.
    """
    with closing(open_ledger(store)) as ledger, ledger.locked():
        uses = [use for use in uses_of(ledger) if use.kind == DISTANCE_SESSION]
    known = {use.name: use.source for use in uses}
    if name not in known:
        there = ", ".join(known) or "none"
        raise ParameterError(f"no session {name!r} in {store.path}; there is: {there}")
    source: dict[str, Any] = known[name]
    try:
        reading = TextReading(**source.get("reading", {}))
    except TypeError:
        raise LedgerError("the session was begun by another version of this program") from None
    metric = read_map_file(
        _there("--map", map_file, source.get("map")),
        source.get("coordinates"),
        bool(source.get("ignore_lengths")),
        reading,
        source.get("lp"),
    )
    file = _there("--locations", locations, source.get("locations"))
    return open_distance_session(metric, Locations.read(metric, file), store=store, name=name)


def _there(option: str, given: str | None, remembered: str | None) -> str:
    found = given or remembered
    if found is None:
        raise ParameterError(f"the store does not know where the file is; pass {option}")
    if given is None and not Path(found).is_file():
        raise ParameterError(f"the file is no longer at {found}; pass {option}")
    return found
