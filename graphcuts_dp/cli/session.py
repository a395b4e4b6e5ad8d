"""`graphcuts-dp session`: begin a session on a private graph, ask its queries, export the answers.

`session_prompt` has the prompt of `repl`, and `store` the command `status`.
"""

import json
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, forecast_report, progress_bar, say, write_out
from graphcuts_dp.cli.group_reading import GroupFile, GroupsRead
from graphcuts_dp.cli.inspect_data import is_there
from graphcuts_dp.cli.options import Commands
from graphcuts_dp.cli.queries import QueryOptions, read_sets
from graphcuts_dp.cli.reading import STDIN, ApproximatePrivacyOptions, Reading
from graphcuts_dp.cli.session_advice import table_advice
from graphcuts_dp.cli.session_prompt import answer_text, converse
from graphcuts_dp.cli.spending import (
    AUTHOR,
    BUDGET,
    PURPOSE,
    SEPARATE_BUDGET,
    current_path,
    expected_refusal,
    session_source,
    store_named,
)
from graphcuts_dp.cli.store import sessions_named, status
from graphcuts_dp.confidence import percent
from graphcuts_dp.display import short_bound
from graphcuts_dp.errors import LedgerError, ParameterError, QueryError
from graphcuts_dp.graph.rows import PrivateData, bounded_graph, without_rows
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Budget, Store, open_ledger
from graphcuts_dp.ledger.uses import SESSION
from graphcuts_dp.options import input_option, option, privacy_option
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.graph_queries import STATISTICS, GraphQuery, Question
from graphcuts_dp.queries.query_lines import folder_of, read_lines, read_question
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import Progress
from graphcuts_dp.session.methods import Auto, Method
from graphcuts_dp.session.session import Session, named_terms, open_session, session_of
from graphcuts_dp.session.starts import GROUPS, STARTS
from graphcuts_dp.session.terms import METHOD_NAMES, SessionTerms
from graphcuts_dp.session.transcript import answer_to_dict, export_ledger, ledger_status

_FREE = "  (free: it was answered before, or has no pairs)"
session: Commands = Commands(
    help="Answer cut queries on a private graph one by one; a store records what was spent.",
)


@final
@dataclass(frozen=True, kw_only=True)
class NewSessionOptions:
    """Options of a new session: the store that is charged and keeps it, and what it records."""

    store: str = privacy_option(
        usual=True,
        help="Store (.db) of the graph, a record of what is spent: the session is charged to it, "
        "and kept in it. Created if it does not exist.",
        metavar="FILE",
    )
    name: str = options.NAME
    budget: Budget | None = BUDGET
    expect_head: str | None = options.EXPECT_HEAD
    purpose: str | None = PURPOSE
    author: str | None = AUTHOR
    separate_budget: str | None = SEPARATE_BUDGET

    def store_to_charge(self) -> Store:
        """Return the store, with what it records of the session."""
        return replace(
            store_named(self.store, self.budget, self.expect_head),
            purpose=self.purpose or "",
            author=self.author or "",
            separate_budget=self.separate_budget or "",
            registered=True,
        )


@final
@dataclass(frozen=True, kw_only=True)
class KeptSession:
    """Options that choose a session which a store keeps."""

    name: str = options.NAME
    graph: str | None = input_option(
        None, help="The private graph, if its file has moved since the start.", metavar="FILE"
    )
    unguaranteed: bool = options.UNGUARANTEED
    expect_head: str | None = options.EXPECT_HEAD

    def resume(self, store: str, grouping: GroupFile) -> Session:
        """Open the session with its graph, and with groups that queries may name.

        The groups are those of the start if no others are named and their file still exists.

        Raises:
            ParameterError: the store has no such session, or does not know where the graph is.
            GraphCutsError: as `open_session`, and as `GroupFile.read`.
        """
        charged_store = store_named(store, expect_head=self.expect_head)
        source = session_source(charged_store, self.name, SESSION)
        path = current_path(self.graph, source.pop("path", None), "--graph")
        try:
            first_grouping = GroupFile.from_dict(source.pop("grouping", {}))
            reading = Reading.from_dict(source)
        except TypeError:
            raise LedgerError("the session was begun by another version of this program") from None
        private = reading.read_again(path, first_grouping)
        if (
            grouping.groups is None
            and first_grouping.groups is not None
            and is_there(first_grouping.groups)
        ):
            grouping = first_grouping
        groups = grouping.read(private.space)
        return open_session(private, store=charged_store, name=self.name, groups=groups)


@session.command()
def start(
    *,
    graph: str = options.PRIVATE_GRAPH,
    new: NewSessionOptions,
    privacy: ApproximatePrivacyOptions,
    queries: SessionWorkload = option(
        usual=True,
        help="How many queries the session answers, and of what kind; see the keys below.",
        of=SessionWorkload,
    ),
    reading: Reading,
    grouping: GroupFile,
    method: Method = option(
        Auto(),
        help="How queries are answered; if omitted, auto: the method of least guaranteed error.",
        of=METHOD_NAMES,
    ),
    dry_run: bool = options.DRY_RUN,
    seed: int | None = options.SEED,
) -> Report:
    """Begin a session of cut queries on a private graph.

    Example: graphcuts-dp session start mail.edges.gz --store mail.db --epsilon 1 --delta 1e-6
    --queries 10000

    Example: graphcuts-dp session start mail.edges.gz --store mail.db --epsilon 1 --delta 1e-6
    --queries 10000 --method multiplicative-weights:start=groups --groups staff.csv

    --groups FILE names the vertices where --vertices does not, and queries may name these groups.

    The whole session costs epsilon and delta once, however many of its queries you ask. The store
    records what was spent and answered. Keep it beside the graph, and as private as the graph.
    """
    if graph == STDIN:
        raise ParameterError("a session reads its data again later: name a file in place of -")
    starts_from_groups = getattr(method, "start", None) == GROUPS  # an option of some methods
    if starts_from_groups and grouping.groups is None:
        raise ParameterError("start=groups needs --groups FILE, a public table of the vertices")
    privacy_unit = reading.unit_or_default(privacy.privacy_unit)
    terms = named_terms(privacy.epsilon, privacy.delta, queries, method)
    terms["privacy_unit"] = privacy_unit.typed
    terms.pop("rule", None)  # learners of one's own are for Python
    store = new.store_to_charge()
    if dry_run:
        empty, groups = reading.empty_data(privacy_unit, grouping)
        return _forecast(empty, groups, privacy_unit, SessionTerms.of(**terms), store)
    private, groups = reading.read_private(graph, privacy_unit, grouping)
    advice = table_advice(without_rows(private), groups, SessionTerms.of(**terms))
    if advice:
        say(f"{'note' if groups is None else 'warning'}: {advice}")
    source = {"path": str(Path(graph).resolve()), **reading.to_dict()}
    if groups is not None:
        source["grouping"] = grouping.to_dict()
    with session_of(
        private,
        store=store,
        name=new.name,
        groups=groups if starts_from_groups else None,
        seed=seed,
        source=source,
        **terms,
    ) as new_session:
        return _start_report(new_session, new.store, is_seeded=seed is not None)


def _forecast(
    empty: PrivateData,
    groups: GroupsRead,
    privacy_unit: PrivacyUnit,
    requested: SessionTerms,
    store: Store,
) -> Report:
    """Forecast the errors of a session, and a refusal by its store, from public facts alone."""
    graph = bounded_graph(empty, privacy_unit)
    universe, grid = Universe.of(graph), requested.grid(graph)
    terms = requested.resolved(universe, grid)
    mechanism = terms.mechanism(universe, grid)
    guarantee = terms.guarantee(mechanism, None)
    error = terms.expected_error(universe, grid)
    notes = [
        expected_refusal(store, guarantee=guarantee, cost=mechanism.cost, data=empty),
        f"It answers by the method {terms.method.name}.",
        *terms.parameter_notes(universe, grid),
        table_advice(empty, groups, requested),
    ]
    return forecast_report(
        guarantee,
        privacy_unit,
        [(f"each of {terms.workload.queries:,} answers, all at once", error)],
        notes,
        terms.warning(universe, grid),
    )


def _start_report(new_session: Session, store: str, *, is_seeded: bool) -> Report:
    """Report the terms of a session that has begun, and the errors that they guarantee."""
    status, norm = new_session.status, new_session.norm
    error, void_reason = new_session.error_bound, new_session.void_reason
    guarantee, parameters = status.terms.guarantee, status.terms.parameters
    fields: dict[str, Any] = {"store": store, "error_bound": error if void_reason is None else None}
    facts = {
        "session": f"{status.terms.name} in {store}",
        "guarantee": str(guarantee),
    }
    if not is_seeded:
        facts["in short"] = guarantee.in_short
    facts["method"] = str(parameters["method"])
    if norm is not None:
        facts["method"] += f", norm {norm}"
        fields["norm"] = norm
    if parameters.get("start") == GROUPS:
        facts["start"] = STARTS[GROUPS]
    facts["queries"] = f"{parameters['queries']:,}"
    if void_reason is None:
        scope = f"{percent(1 - parameters['beta'])}, all queries at once"
        facts["error"] = f"up to {short_bound(error)} ({scope})"
    else:
        facts["error"] = f"no bound holds for these values: {void_reason}"
        fields["void_reason"] = void_reason
    return Report(fields | status.to_dict(), [facts])


@session.command()
def ask(
    *,
    store: str = options.SESSION_STORE,
    grouping: GroupFile,
    typed_query: QueryOptions,
    statistic: str | None = input_option(
        None, help="Instead of sets, a statistic of the graph.", choices=tuple(STATISTICS)
    ),
    kept: KeptSession,
) -> Report:
    """Ask how much weight passes between S and T.

    Example: graphcuts-dp session ask mail.db --from "ann,bob" --to "kim,lee"

    Example: graphcuts-dp session ask mail.db --from @department.txt

    Example: graphcuts-dp session ask mail.db --groups staff.csv --from @@Sales,@@IT --to @@Board

    Example: graphcuts-dp session ask mail.db --query '{"left": {"ann": 0.5}, "right": {"kim": 1}}'

    A set is a list of labels separated by commas, or @FILE with one label on each line. @@NAME is a
    group of the public table --groups, and "*" alone is all vertices. In a bipartite graph a set
    may hold vertices of both sides. A query that was answered before is free.
    """
    given_options = (typed_query.first, typed_query.query, statistic)
    if sum(value is not None for value in given_options) != 1:
        raise ParameterError("give either sets, --from and perhaps --to, or --query or --statistic")
    graph_query = None if statistic is None else GraphQuery(statistic)
    with kept.resume(store, grouping) as kept_session:
        question = graph_query or _read_question(typed_query, kept_session)
        is_free = not kept_session.cost([question]).new
        answer = kept_session.ask(question, unguaranteed=kept.unguaranteed)
        guarantee = str(kept_session.guarantee)
        left = kept_session.remaining.queries if is_free else answer.queries_left
    line = answer_text(replace(answer, queries_left=left)) + (_FREE if is_free else "")
    return Report({**answer_to_dict(answer), "guarantee": guarantee}, [line])


def _read_question(typed_query: QueryOptions, kept_session: Session) -> Question:
    if typed_query.query is not None:
        return read_question(typed_query.query, None, kept_session.universe.space)
    return read_sets(
        typed_query.first or "", typed_query.second, kept_session.vertices, kept_session.groups
    )


@session.command()
def run(
    *,
    store: str = options.SESSION_STORE,
    queries: str = typer.Argument(metavar="QUERIES", help="A .jsonl file of queries."),
    grouping: GroupFile,
    output: str | None = options.OUT,
    kept: KeptSession,
    force: bool = options.FORCE,
) -> None:
    """Answer a file of queries; it can be resumed after an interruption.

    Example: graphcuts-dp session run mail.db queries.jsonl -o answers.jsonl

    Each line of the queries is an object: {"S": ["ann", "bob"], "T": ["kim"]}. Without "T", the
    second set is all other vertices. With --groups a set may name groups: {"S": "@Sales", "T":
    ["@IT", "kim"]}. "*" instead of a list is all vertices. Other linear queries are possible:
    {"left": {"ann": 0.5}, "right": {"kim": 1}} weighs the pair of ann and kim by 0.5 times 1,
    {"entries": [["ann", "kim", 2.5]]} weighs it by 2.5, and {"matrix": "file.npz"} reads a matrix
    of weights from a file. After an interruption, run the command again: answers on the record are
    free.
    """
    lines, folder = read_lines(queries), folder_of(queries)
    with kept.resume(store, grouping) as kept_session:
        space = kept_session.universe.space
        questions = [read_question(line, number, space, folder=folder) for number, line in lines]
        try:
            preview = kept_session.cost(questions)
        except QueryError as problem:
            advice = "; to name groups give --groups FILE" if "vertex '@" in str(problem) else ""
            raise QueryError(f"{problem}{advice}") from None
        if not preview.allowed and not kept.unguaranteed:
            raise ParameterError(
                f"{preview.new:,} new queries, but the session has {preview.left:,} left; "
                "nothing was asked (--unguaranteed answers the rest without guarantee)"
            )
        with _interruptible_between_chunks(len(questions)) as progress:
            answers = kept_session.ask_all(
                questions, unguaranteed=kept.unguaranteed, progress=progress
            )
    # A file of answers repeats the queries, so that it can be read alone.
    rows = (
        json.dumps(json.loads(line) | answer_to_dict(answer)) + "\n"
        for (_, line), answer in zip(lines, answers, strict=True)
    )
    write_out(rows, output, force=force)
    if output is not None:
        say(f"{len(answers):,} answers in {output}, {preview.free:,} of them free")


@contextmanager
def _interruptible_between_chunks(total: int) -> Iterator[Progress]:
    """Show progress, and let Ctrl-C wait for the end of a chunk of queries.

    Queries of a chunk that is interrupted count as spent. A second Ctrl-C interrupts at once.
    """
    interrupts: list[int] = []

    def note_interrupt(number: int, _frame: FrameType | None) -> None:
        if interrupts:
            raise KeyboardInterrupt
        interrupts.append(number)

    handler_before: Any = signal.signal(signal.SIGINT, note_interrupt)
    try:
        with progress_bar(f"{total:,} queries") as show_progress:

            def report(done: float, message: str) -> None:
                show_progress(done, message)
                if interrupts:
                    say("note: answers so far are on the record; run it again to go on")
                    raise KeyboardInterrupt

            yield report
    finally:
        signal.signal(signal.SIGINT, handler_before)


@session.command()
def repl(
    *,
    store: str = options.SESSION_STORE,
    grouping: GroupFile,
    kept: KeptSession,
) -> None:
    """Ask queries at a prompt.

    Example: graphcuts-dp session repl mail.db

    Type a query such as:  ann, bob | kim, lee   (without | the second set is all other vertices).
    Tab completes labels, the arrow keys bring back earlier lines, and :help lists the commands.
    """
    with kept.resume(store, grouping) as kept_session:
        converse(kept_session, unguaranteed=kept.unguaranteed)


session.command()(status)


@session.command()
def export(
    *,
    store: str = options.SESSION_STORE,
    output: str | None = options.OUT,
    name: str | None = options.ANY_NAME,
    expect_head: str | None = options.EXPECT_HEAD,
    force: bool = options.FORCE,
) -> None:
    """Write the transcript and its guarantee, as JSON.

    Example: graphcuts-dp session export mail.db -o transcript.json

    The transcript contains every answer with its query, and the guarantee for all of them. It
    contains nothing secret, so you may publish it.
    """
    with closing(open_ledger(store_named(store, expect_head=expect_head))) as ledger:
        sessions_named(ledger_status(ledger), name)  # refuses a name of no session
        write_out(_transcript(ledger, name), output, force=force)


def _transcript(ledger: Ledger, name: str | None) -> Iterator[str]:
    """Generate the text of one JSON object, with an answer on each line."""
    parts = export_ledger(ledger, name)
    header = next(parts)
    yield json.dumps(header, indent=2).removesuffix("\n}") + ',\n  "answers": ['
    for index, answer in enumerate(parts):
        yield (",\n    " if index else "\n    ") + json.dumps(answer)
    yield "\n  ]\n}\n"
