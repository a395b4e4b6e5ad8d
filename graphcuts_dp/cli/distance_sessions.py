"""`graphcuts-dp distance-session`: distances on a public map, one vertex after the other."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from graphcuts_dp.cli.console import accuracy_notes, out, show_facts, show_json
from graphcuts_dp.cli.distances import CoordinatesOption, LpOption, read_map_file
from graphcuts_dp.cli.reading import TextReading, with_options
from graphcuts_dp.cli.session_options import JsonOption, NameOption, UnguaranteedOption
from graphcuts_dp.cli.store_options import (
    BudgetDeltaOption,
    BudgetEpsilonOption,
    ExpectHeadOption,
    store_named,
)
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.session import (
    DistanceSession,
    DistanceSessionStatus,
    open_distance_session,
)
from graphcuts_dp.errors import LedgerError, ParameterError, QueryError
from graphcuts_dp.graph.vertices import Label
from graphcuts_dp.ledger.opening import Store, open_ledger
from graphcuts_dp.ledger.uses import DISTANCE_SESSION, uses_of

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

distance_sessions = typer.Typer(
    help="Answer the average distance of all people, vertex by vertex, with a durable ledger.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@distance_sessions.command(epilog=START_EXAMPLE)
@with_options
def start(
    map_file: Annotated[str, typer.Argument(metavar="MAP", help="The public map.")],
    locations: Annotated[
        str, typer.Argument(metavar="LOCATIONS", help="The private locations of people.")
    ],
    store: Annotated[str, typer.Option(help="File that records what was spent on the locations.")],
    epsilon: Annotated[
        float, typer.Option(help="Epsilon of the whole session; smaller is more private.")
    ],
    queries: Annotated[int, typer.Option(help="Number of answers that the session promises.")],
    delta: Annotated[
        float, typer.Option(help="0 for pure differential privacy; otherwise choose far below 1/n.")
    ] = 0.0,
    at_most: Annotated[int, typer.Option(help="Number of people that are protected together.")] = 1,
    confidence: Annotated[
        float, typer.Option(help="Probability that all intervals hold at once.")
    ] = 0.95,
    name: NameOption = "default",
    ignore_lengths: Annotated[
        bool, typer.Option("--ignore-lengths", help="Give every edge of the map length 1.")
    ] = False,
    coordinates: CoordinatesOption = None,
    lp: LpOption = None,
    budget_epsilon: BudgetEpsilonOption = None,
    budget_delta: BudgetDeltaOption = 0.0,
    expect_head: ExpectHeadOption = None,
    *,
    reading: TextReading,
    seed: Annotated[
        int | None, typer.Option(help="Seed of a repeatable run. NOT PRIVATE: for tests only.")
    ] = None,
    as_json: JsonOption = False,
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
    name: NameOption = "default",
    map_file: MapOption = None,
    locations: LocationsOption = None,
    unguaranteed: UnguaranteedOption = False,
    expect_head: ExpectHeadOption = None,
    as_json: JsonOption = False,
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
    name: NameOption = "default",
    map_file: MapOption = None,
    locations: LocationsOption = None,
    expect_head: ExpectHeadOption = None,
    as_json: JsonOption = False,
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
    ledger = open_ledger(store)
    try:
        with ledger.locked():
            uses = [use for use in uses_of(ledger) if use.kind == DISTANCE_SESSION]
    finally:
        ledger.close()
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
