"""`graphcuts-dp distances`: average distances of all people on a map, at once or in a session."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, note_formulas, progress_bar, remember_written
from graphcuts_dp.cli.job_results import written_report
from graphcuts_dp.cli.options import spelling_keys
from graphcuts_dp.cli.reading import Run
from graphcuts_dp.cli.spending import Spending, current_path, session_source, store_named
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.distances.answers import MECHANISMS, NOISES, DistanceAnswers, answer_distances
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
        """Read the public map, or the points of its vertices if --lp is set."""
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
        """Return plain values by which `from_dict` reads the map again, from any folder."""
        coordinates = self.coordinates and str(Path(self.coordinates).resolve())
        return asdict(replace(self, coordinates=coordinates))

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """Return the options that `to_dict` has recorded.

        Raises:
            TypeError: another version of this program has recorded them.
        """
        return cls(**{**fields, "columns": Columns(**fields.get("columns", {}))})


@final
@dataclass(frozen=True, kw_only=True)
class DistanceTerms(Checked):
    """Options of the guarantee of distances; those that are None have a default elsewhere."""

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
    def stated(self) -> dict[str, Any]:
        """Return the terms that are not omitted, by name."""
        return {name: term for name, term in vars(self).items() if term is not None}


@final
@dataclass(frozen=True, kw_only=True)
class DistanceMethod(Checked):
    """Options of measuring all distances at once."""

    mechanism: str = option("auto", help="How distances are measured.", choices=tuple(MECHANISMS))
    noise: str = option("auto", help="Distribution of the noise.", choices=tuple(NOISES))


@final
@dataclass(frozen=True, kw_only=True)
class SessionQuestions:
    """Options that choose a session and the vertices that it is asked about."""

    ask: Sequence[str] = option(
        (), help="Vertices to ask the session about, with commas between.", parse=split_names
    )
    name: str = options.NAME
    unguaranteed: bool = options.UNGUARANTEED
    expect_head: str | None = options.EXPECT_HEAD


@final
@dataclass(frozen=True, kw_only=True)
class AnswerOutput(Checked):
    """Options of how the answers of all vertices are printed, written and drawn."""

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
    questions: SessionQuestions,
    answer_output: AnswerOutput,
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
    wants_session = terms.queries is not None or bool(questions.ask)
    if wants_session or (map_file is None and spending.store is not None):
        if spending.store is None:
            raise ParameterError("a session is kept in a store: add, for example, --store p.db")
        if answer_output.output is not None or answer_output.plot is not None:
            raise ParameterError("--output and --plot are for all vertices at once")
        store = store_named(spending.store, spending.budget, questions.expect_head)
        files = (map_file, locations)
        name = questions.name
        with _open_session(store, name, files, reading, terms.stated, run.seed) as session:
            return _session_report(session, questions.ask, unguaranteed=questions.unguaranteed)
    if map_file is None or locations is None or terms.epsilon is None:
        raise ParameterError(
            "name the map and the locations, and give --epsilon; or --store and --ask of a session"
        )
    exact_epsilon(terms.epsilon)  # refuses a wrong one before files are read
    charged_store = spending.store_to_charge()
    _check_files(answer_output, force=run.force)
    metric = reading.read(map_file)
    people = Locations.read(metric, locations)
    spending.check_and_register(people.subject, locations)
    with progress_bar("answering") as progress, metric.reporting(progress):
        result = answer_distances(
            metric, people, store=charged_store, seed=run.seed, **vars(method), **terms.stated
        )
    return _write(result, locations, answer_output, force=run.force)


def _open_session(
    store: Store,
    name: str,
    files: tuple[str | None, str | None],
    reading: MapReading,
    terms: dict[str, Any],
    seed: int | None,
) -> DistanceSession:
    """Begin a session, or continue one, whose files and reading the store has recorded.

    Args:
        store: the store of the session.
        name: name of the session.
        files: the map and the locations; None if omitted.
        reading: how the map is read, for a new session.
        terms: the stated terms; a new session states its number of queries.
        seed: as for `session_on`.

    Raises:
        ParameterError: there is no such session, or the store does not know where its files are.
        GraphCutsError: as `open_distance_session`.
    """
    map_file, locations = files
    if "queries" not in terms:
        source = session_source(store, name, DISTANCE_SESSION)
        try:
            reading = MapReading.from_dict(source.get("reading", {}))
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


def _session_report(
    session: DistanceSession, typed_vertices: Sequence[str], *, unguaranteed: bool
) -> Report:
    """Ask a session about vertices, and report the answers; without any, report its status."""
    vertices = session.metric.vertices
    labels = []
    for text in typed_vertices:
        row = vertices.find_text(text)
        if row is None:
            raise QueryError(f"{text!r} is not a vertex of the map")
        labels.append(vertices.labels[row])
    replies = session.ask_all(labels, unguaranteed=unguaranteed) if labels else session.history
    status, error = session.status, session.error_bound
    facts = {
        "session": f"{session.name} ({status.state})",
        "guarantee": str(session.guarantee),
        "answers": f"{status.answers:,}, {status.remaining.queries:,} left",
        "interruptions": f"{status.interruptions:,}",
        "error": f"up to {up_to_digits(error, 4):,.4g} (all guaranteed answers at once)",
    }
    lines = [f"{reply}  {reply.queries_left:,} left" for reply in replies]
    replies_fields = [reply.to_dict() for reply in replies]
    return Report(
        {**status.to_dict(), "error_bound": error, "replies": replies_fields},
        lines if labels else [facts, *lines],
    )


def _check_files(answer_output: AnswerOutput, *, force: bool) -> None:
    """Check that the files of all answers can be written, before anything is read."""
    files: list[str | Path] = []
    if answer_output.output is not None:
        files += [answer_output.output, receipt_path(answer_output.output)]
    if answer_output.plot is not None:
        files.append(answer_output.plot)
    check_writable_set(files, force=force)


def _write(
    result: DistanceAnswers, locations: str, answer_output: AnswerOutput, *, force: bool
) -> Report:
    """Write and draw all answers, and report them."""
    output, plot, spreadsheet = answer_output.output, answer_output.plot, answer_output.spreadsheet
    written: list[str] = []
    if output is not None:
        note_formulas(result.metric.vertices.labels, spreadsheet=spreadsheet)
        written += result.save(output, force=force, spreadsheet=spreadsheet)
        remember_written(written)
    if plot is not None:
        write_figure(result.plot(), plot, force=force)
        written.append(plot)
    report = written_report({}, result.guarantee, written, locations)
    return replace(
        report,
        fields=result.to_dict() | {"files": written},
        blocks=[result],
        most=answer_output.top or None,
    )
