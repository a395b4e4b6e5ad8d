"""`graphcuts-dp distances`: average distances of all people on a map, at once or one by one."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, note_formulas, progress_bar, remember_written
from graphcuts_dp.cli.job_results import written_report
from graphcuts_dp.cli.options import spelling_keys
from graphcuts_dp.cli.reading import Run
from graphcuts_dp.cli.spending import Spending, current_path, session_source, store_named
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.distances.answers import MECHANISMS, NOISES, answer_distances
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric, read_map
from graphcuts_dp.distances.session import DistanceSession, session_on
from graphcuts_dp.errors import LedgerError, ParameterError, QueryError
from graphcuts_dp.files import check_writable_set
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import DISTANCE_SESSION
from graphcuts_dp.options import (
    Checked,
    input_option,
    option,
    output_option,
    privacy_option,
)
from graphcuts_dp.plotting.style import write_figure
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.results.bundle import receipt_path
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.typed_names import split_names


@final
@dataclass(frozen=True, kw_only=True)
class MapReading:
    """Options that read a public map."""

    columns: Columns = input_option(
        Columns(), help="How to read the columns of the map; weights are lengths.", of=Columns
    )
    coordinates: str | None = input_option(
        None, help="CSV file with the columns vertex, and x and y, or lon and lat.", metavar="FILE"
    )
    ignore_weights: bool = input_option(False, help="Give every edge of the map length 1.")
    lp: float | None = input_option(
        None,
        help="Exponent p of the l_p norm, from 1 to 2 (2: straight lines): distances are computed "
        "from --coordinates, and not along the edges of the map.",
    )

    def read(self, path: str) -> Metric:
        """The public map."""
        if self.lp is not None and self.coordinates is None:
            raise ParameterError("--lp needs --coordinates")
        with spelling_keys("--columns", Columns, path):
            public_map = read_map(
                path,
                coordinates=self.coordinates,
                ignore_lengths=self.ignore_weights,
                text=self.columns,
            )
        if self.lp is None or public_map.coordinates is None:
            return public_map
        return Metric.of_points(public_map.coordinates, p=self.lp, vertices=public_map.vertices)

    def to_dict(self) -> dict[str, Any]:
        """Return what reads the map again, from any folder."""
        coordinates = self.coordinates and str(Path(self.coordinates).resolve())
        return asdict(replace(self, coordinates=coordinates))


@final
@dataclass(frozen=True, kw_only=True)
class DistanceTerms(Checked):
    """Options of the guarantee of distances; None is the default of its kind of use."""

    epsilon: float | None = privacy_option(
        None, help="Epsilon of one person; smaller is more private."
    )
    delta: float | None = privacy_option(
        None, help="0, if omitted, for pure privacy; else far below 1/n."
    )
    group_size: int | None = privacy_option(
        None, help="People who are one privacy unit together; 1 if omitted."
    )
    queries: int | None = option(None, help="Begin a session that guarantees so many answers.")
    confidence: float | None = output_option(
        None,
        help=f"Probability that all intervals hold at once; {DEFAULT_CONFIDENCE:g} if omitted.",
    )

    @property
    def given(self) -> dict[str, Any]:
        """Return those that were given, by name."""
        return {key: value for key, value in vars(self).items() if value is not None}


@final
@dataclass(frozen=True, kw_only=True)
class DistanceMethod(Checked):
    """Options of measuring all distances at once."""

    mechanism: str = option("auto", help="How distances are measured.", choices=tuple(MECHANISMS))
    noise: str = option("auto", help="Distribution of the noise.", choices=tuple(NOISES))


@final
@dataclass(frozen=True, kw_only=True)
class Asking:
    """Options of what a session is asked."""

    ask: Sequence[str] = option(
        (), help="Vertices to ask the session about, with commas between.", parse=split_names
    )
    name: str = options.NAME
    unguaranteed: bool = options.UNGUARANTEED
    expect_head: str | None = options.EXPECT_HEAD


@final
@dataclass(frozen=True, kw_only=True)
class Shown(Checked):
    """Options of what is shown of all answers, and written."""

    top: int = output_option(20, help="Best vertices to show; 0 shows all.", least=0)
    output: str | None = output_option(
        None, help="CSV file for all answers; a receipt is written beside it.", metavar="FILE"
    )
    plot: str | None = options.PLOT
    spreadsheet: bool = options.SPREADSHEET


def distances(
    *,
    reading: MapReading,
    spending: Spending,
    map_file: str | None = typer.Argument(None, metavar="MAP", help="The public map."),
    locations: str | None = typer.Argument(
        None, metavar="LOCATIONS", help="The private locations of people."
    ),
    terms: DistanceTerms,
    method: DistanceMethod,
    asking: Asking,
    shown: Shown,
    run: Run,
) -> Report:
    """Release privately the average distance of all people from every vertex of a map.

    Example: graphcuts-dp distances roads.csv people.csv --epsilon 1 --plot map.png

    Example: graphcuts-dp distances roads.csv people.csv --epsilon 1 --delta 1e-6
    --mechanism learner

    Example: graphcuts-dp distances roads.csv people.csv --epsilon 1 --queries 20 --store p.db
    --ask v3

    Example: graphcuts-dp distances --store p.db --ask v7,v9

    MAP is public: a graph whose weights are lengths. Without weights, each edge has length 1. Of
    parallel edges the shortest counts. Without coordinates the plot is a computed layout. LOCATIONS
    is private: a CSV file with a column vertex and one row for each person, or with columns vertex
    and people; or a .txt file with the vertex of one person on each line. The location of any one
    person is hidden; the number of people is not.

    With --queries a session begins, which answers vertices that you choose one after the other;
    later --store and --ask are enough, and without --ask the session says what is left and all its
    answers. To answer all vertices at once costs the same, and on most maps has a smaller error.
    Answers are written to the disk before they are shown. A vertex that was asked before is free.
    After an interruption, ask again; the queries that the lost step may have used count as spent.
    """
    output, plot = shown.output, shown.plot
    in_session = terms.queries is not None or asking.ask
    if in_session or (map_file is None and spending.store is not None):
        if spending.store is None:
            raise ParameterError("a session is kept in a store: add, for example, --store p.db")
        if output is not None or plot is not None:
            raise ParameterError("--output and --plot are for all vertices at once")
        store = store_named(spending.store, spending.budget, asking.expect_head)
        files = (map_file, locations)
        with _session(store, asking.name, files, reading, terms.given, run.seed) as opened:
            return _asked(opened, asking.ask, unguaranteed=asking.unguaranteed)
    if map_file is None or locations is None or terms.epsilon is None:
        raise ParameterError(
            "name the map and the locations, and give --epsilon; or --store and --ask of a session"
        )
    exact_epsilon(terms.epsilon)
    charged = spending.store_to_charge()
    answers = () if output is None else (output, receipt_path(output))
    check_writable_set([*answers, *filter(None, [plot])], force=run.force)
    metric = reading.read(map_file)
    placed = Locations.read(metric, locations)
    spending.check_and_register(placed.subject, locations)
    with progress_bar("answering") as progress, metric.reporting(progress):
        result = answer_distances(
            metric, placed, store=charged, seed=run.seed, **vars(method), **terms.given
        )
    written: list[str] = []
    if output is not None:
        note_formulas(metric.vertices.labels, spreadsheet=shown.spreadsheet)
        written += result.save(output, force=run.force, spreadsheet=shown.spreadsheet)
        remember_written(written)
    if plot is not None:
        write_figure(result.plot(), plot, force=run.force)
        written.append(plot)
    report = written_report({}, result.guarantee, written, locations)
    return replace(
        report,
        fields=result.to_dict() | {"files": written},
        blocks=[result],
        most=shown.top or None,
    )


def _asked(session: DistanceSession, asked: Sequence[str], *, unguaranteed: bool) -> Report:
    """Report the answers asked for, or where a session stands with all answers so far."""
    labels, vertices = [], session.metric.vertices
    for text in asked:
        row = vertices.find_text(text)
        if row is None:
            raise QueryError(f"{text!r} is not a vertex of the map")
        labels.append(vertices.labels[row])
    replies = session.ask_all(labels, unguaranteed=unguaranteed) if asked else session.history
    status, error = session.status, session.error_bound
    facts = {
        "session": f"{session.name} ({status.state})",
        "guarantee": str(session.guarantee),
        "answers": f"{status.answers:,}, {status.remaining.queries:,} left",
        "interruptions": f"{status.interruptions:,}",
        "error": f"up to {up_to_digits(error, 4):,.4g} (all guaranteed answers at once)",
    }
    lines = [f"{reply}  {reply.queries_left:,} left" for reply in replies]
    reply_fields = [reply.to_dict() for reply in replies]
    return Report(
        {**status.to_dict(), "error_bound": error, "replies": reply_fields},
        lines if asked else [facts, *lines],
    )


def _session(
    store: Store,
    name: str,
    files: tuple[str | None, str | None],
    reading: MapReading,
    terms: dict[str, Any],
    seed: int | None,
) -> DistanceSession:
    """Begin a session, or go on with one, whose files the store remembers.

    Raises:
        ParameterError: no such session, or nobody knows where its files are.
        GraphCutsError: as `open_distance_session`.
    """
    map_file, locations = files
    if "queries" not in terms:
        source = session_source(store, name, DISTANCE_SESSION)
        try:
            read = dict(source.get("reading", {}))
            reading = MapReading(**{**read, "columns": Columns(**read.get("columns", {}))})
        except TypeError:
            raise LedgerError("the session was begun by another version of this program") from None
        map_file = current_path(map_file, source.get("map"), "MAP and LOCATIONS")
        locations = current_path(locations, source.get("locations"), "MAP and LOCATIONS")
    if map_file is None or locations is None:
        raise ParameterError("a new session needs the files MAP and LOCATIONS")
    metric = reading.read(map_file)
    return session_on(
        Locations.read(metric, locations),
        terms,
        store=store,
        name=name,
        seed=seed,
        source={
            "map": str(Path(map_file).resolve()),
            "locations": str(Path(locations).resolve()),
            "reading": reading.to_dict(),
        },
    )
