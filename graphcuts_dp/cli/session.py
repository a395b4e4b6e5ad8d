"""`graphcuts-dp session`: a private graph, answers one by one, and what its store has recorded."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import FrameType
from typing import Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import (
    Report,
    forecast_report,
    out,
    progress_bar,
    say,
    show_facts,
    write_out,
)
from graphcuts_dp.cli.group_reading import GroupFile, GroupsRead
from graphcuts_dp.cli.inspect_data import is_there
from graphcuts_dp.cli.options import Commands
from graphcuts_dp.cli.queries import TypedQuery, read_sets
from graphcuts_dp.cli.reading import STDIN, ApproximatePrivacyOptions, Reading
from graphcuts_dp.cli.session_advice import table_advice
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
from graphcuts_dp.confidence import percent
from graphcuts_dp.display import Card, printable, short_bound
from graphcuts_dp.errors import GraphCutsError, LedgerError, ParameterError, QueryError
from graphcuts_dp.files import PICTURE_ENDINGS
from graphcuts_dp.graph.rows import PrivateData, bounded_graph, without_rows
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Budget, Store, open_ledger
from graphcuts_dp.ledger.uses import SESSION
from graphcuts_dp.options import input_option, option, privacy_option
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.graph_queries import STATISTICS, GraphQuery, Question
from graphcuts_dp.queries.query_lines import (
    folder_of,
    labels_of_cut,
    query_title,
    read_lines,
    read_question,
)
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import Progress
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.vertices import Label
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.methods import Auto, Method
from graphcuts_dp.session.session import Session, named_terms, open_session, session_of
from graphcuts_dp.session.starts import GROUPS, STARTS
from graphcuts_dp.session.store_sessions import SessionStatus
from graphcuts_dp.session.terms import METHOD_NAMES, SessionTerms
from graphcuts_dp.session.transcript import (
    LedgerStatus,
    answer_to_dict,
    export_ledger,
    ledger_status,
    store_status,
)

_SHOWN = 40  # characters of a set
_FREE = "  (free: it was answered before, or has no pairs)"
_PROMPT_HELP = """A query is one or two sets of labels:
  ann, bob | kim, lee    what passes between {ann, bob} and {kim, lee}
  ann, bob               what passes between {ann, bob} and all others
  * | kim                all vertices; of two sides, sets may hold vertices of both
  {"left": {"ann": 0.5}, "right": {"kim": 1}}    any line of `session run`
  @team.txt | kim        a set from a file, one label on each line
  @@Sales, @@IT | kim    groups of the public table --groups
  "Lee, Ann", bob        a name with a comma stands in double quotes
Commands:
  :status                what was guaranteed, asked and left
  :cost QUERY            whether a query is on the record already; asks nothing
  :history [N]           the latest answers
  :plot FILE.png         draw all answers with their intervals (.png, .pdf or .svg)
  :help                  this text
  :quit                  leave; the session stays open for another day"""
session: Commands = Commands(
    help="Answer cut queries on a private graph one by one; a store records what was spent.",
)


@final
@dataclass(frozen=True, kw_only=True)
class NewSession:
    """Options of a new session: where it is kept, and as what."""

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

    @property
    def opened(self) -> Store:
        """The store, with what is stated of the session."""
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
    """Options that choose the session of a store that goes on."""

    name: str = options.NAME
    graph: str | None = input_option(
        None, help="The private graph, if its file has moved since the start.", metavar="FILE"
    )
    unguaranteed: bool = options.UNGUARANTEED
    expect_head: str | None = options.EXPECT_HEAD

    def resume(self, store: str, grouping: GroupFile) -> Session:
        """Open it with its graph, and with groups that queries may name.

        They are those that it began with, if they are still there and no others are given.

        Raises:
            ParameterError: no such session, or nobody knows where the graph is.
            GraphCutsError: as `open_session`, and as `GroupFile.read`.
        """
        opened_store = store_named(store, expect_head=self.expect_head)
        source = session_source(opened_store, self.name, SESSION)
        path = current_path(self.graph, source.pop("path", None), "--graph")
        try:
            began_with = GroupFile.from_dict(source.pop("grouping", {}))
            reading = Reading.from_dict(source)
        except TypeError:
            raise LedgerError("the session was begun by another version of this program") from None
        private = reading.read_again(path, began_with)
        if grouping.groups is None and began_with.groups and is_there(began_with.groups):
            grouping = began_with
        groups = grouping.read(private.space)
        return open_session(private, store=opened_store, name=self.name, groups=groups)


@session.command()
def start(
    *,
    graph: str = options.PRIVATE_GRAPH,
    place: NewSession,
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
    on_groups = getattr(method, "start", None) == GROUPS
    if on_groups and grouping.groups is None:
        raise ParameterError("start=groups needs --groups FILE, a public table of the vertices")
    privacy_unit = reading.unit_or_default(privacy.privacy_unit)
    terms = named_terms(privacy.epsilon, privacy.delta, queries, method)
    terms["privacy_unit"] = privacy_unit.typed
    terms.pop("rule", None)
    if dry_run:
        empty, groups = reading.empty_data(privacy_unit, grouping)
        return _foretold(empty, groups, privacy_unit, SessionTerms.of(**terms), place.opened)
    opened_store = place.opened
    private, groups = reading.read_private(graph, privacy_unit, grouping)
    advice = table_advice(without_rows(private), groups, SessionTerms.of(**terms))
    if advice:
        say(f"{'note' if groups is None else 'warning'}: {advice}")
    source = {"path": str(Path(graph).resolve()), **reading.to_dict()}
    if groups is not None:
        source["grouping"] = grouping.to_dict()
    with session_of(
        private,
        store=opened_store,
        name=place.name,
        groups=groups if on_groups else None,
        seed=seed,
        source=source,
        **terms,
    ) as new_session:
        status, error, norm = new_session.status, new_session.error_bound, new_session.norm
        void = new_session.void_reason
    agreed = status.terms.parameters
    chosen = {} if norm is None else {"norm": norm}
    facts = {
        "session": f"{status.terms.name} in {place.store}",
        "guarantee": str(status.terms.guarantee),
        **({"in short": status.terms.guarantee.in_short} if seed is None else {}),
        "method": str(agreed["method"]) + (f", norm {norm}" if norm else ""),
        **({"start": STARTS[GROUPS]} if agreed.get("start") == GROUPS else {}),
        "queries": f"{agreed['queries']:,}",
        "error": f"up to {short_bound(error)} ({percent(1 - agreed['beta'])}, all queries at once)",
    }
    if void is not None:
        facts["error"] = f"no bound holds for these values: {void}"
        chosen["void_reason"] = void
    bound = {"error_bound": error if void is None else None}
    return Report({"store": place.store, **bound, **chosen, **status.to_dict()}, [facts])


def _foretold(
    empty: PrivateData,
    groups: GroupsRead,
    privacy_unit: PrivacyUnit,
    asked: SessionTerms,
    store: Store,
) -> Report:
    """Forecast a session, and whether its store would refuse it, from public facts alone."""
    graph = bounded_graph(empty, privacy_unit)
    universe, grid = Universe.of(graph), asked.grid(graph)
    terms = asked.resolved(universe, grid)
    mechanism = terms.mechanism(universe, grid)
    error = terms.expected_error(universe, grid)
    guarantee = terms.guarantee(mechanism, None)
    return forecast_report(
        guarantee,
        privacy_unit,
        [(f"each of {terms.workload.queries:,} answers, all at once", error)],
        [
            expected_refusal(store, guarantee=guarantee, cost=mechanism.cost, data=empty),
            f"It answers by the method {terms.method.name}.",
            *terms.parameter_notes(universe, grid),
            table_advice(empty, groups, asked),
        ],
        terms.warning(universe, grid),
    )


@session.command()
def ask(
    *,
    store: str = options.SESSION_STORE,
    grouping: GroupFile,
    typed: TypedQuery,
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
    if sum(option_value is not None for option_value in (typed.first, typed.query, statistic)) != 1:
        raise ParameterError("give either sets, --from and perhaps --to, or --query or --statistic")
    of_graph = None if statistic is None else GraphQuery(statistic)
    with kept.resume(store, grouping) as opened:
        question: Question
        if of_graph is not None:
            question = of_graph
        elif typed.query is not None:
            question = read_question(typed.query, None, opened.universe.space)
        else:
            question = read_sets(typed.first or "", typed.second, opened.vertices, opened.groups)
        is_free = not opened.cost([question]).new
        answer = opened.ask(question, unguaranteed=kept.unguaranteed)
        guarantee = str(opened.guarantee)
        left = opened.remaining.queries if is_free else answer.queries_left
    line = answer_text(replace(answer, queries_left=left)) + _FREE * is_free
    return Report({**answer_to_dict(answer), "guarantee": guarantee}, [line])


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
    with kept.resume(store, grouping) as opened:
        space = opened.universe.space
        questions = [read_question(line, number, space, folder=folder) for number, line in lines]
        try:
            preview = opened.cost(questions)
        except QueryError as problem:
            more = "; to name groups give --groups FILE" if "vertex '@" in str(problem) else ""
            raise QueryError(f"{problem}{more}") from None
        if not preview.allowed and not kept.unguaranteed:
            raise ParameterError(
                f"{preview.new:,} new queries, but the session has {preview.left:,} left; "
                "nothing was asked (--unguaranteed answers the rest without guarantee)"
            )
        with _between_chunks(len(questions)) as progress:
            answers = opened.ask_all(questions, unguaranteed=kept.unguaranteed, progress=progress)
    # A file of answers repeats the queries, so that it can be read alone.
    rows = (
        json.dumps(json.loads(line) | answer_to_dict(answer)) + "\n"
        for (_, line), answer in zip(lines, answers, strict=True)
    )
    write_out(rows, output, force=force)
    if output is not None:
        say(f"{len(answers):,} answers in {output}, {preview.free:,} of them free")


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
    with kept.resume(store, grouping) as opened:
        _converse(opened, unguaranteed=kept.unguaranteed)


@session.command()
def status(
    *,
    store: str = options.SESSION_STORE,
    name: str | None = options.ANY_NAME,
    expect_head: str | None = options.EXPECT_HEAD,
) -> Report:
    """Show what was spent on the private data, and what is left.

    Example: graphcuts-dp session status mail.db

    `session status` and `store status` are one command. It shows all releases and sessions on one
    graph, who began them and when, and what they cost together. Keep the head that it prints: with
    --expect-head, every command that opens the store refuses an older copy of it.
    """
    ledger_status = store_status(store_named(store, expect_head=expect_head))
    chosen = _chosen(ledger_status, name)
    columns = ("no.", "began (UTC)", "by", "use", "purpose", "state", "epsilon", "delta", "files")
    rows = [
        (
            str(use_status.use.number),
            use_status.use.time.removesuffix("+00:00").replace("T", " "),
            use_status.use.author or use_status.use.user,
            f"{use_status.use.kind} {use_status.use.name}".rstrip()
            + _periods_text(use_status.use.periods)
            + (" (seeded: not private)" if use_status.use.seed is not None else ""),
            use_status.use.purpose,
            use_status.state,
            f"{use_status.use.guarantee.epsilon:g}",
            f"{use_status.use.guarantee.delta:g}",
            ", ".join(use_status.files),
        )
        for use_status in ledger_status.uses
    ]
    delta = f", delta = {ledger_status.delta:g}" if ledger_status.delta else ""
    mark = " (seeded: not private)" if ledger_status.seeded else ""
    largest = "the most on one period" if ledger_status.periods else "all uses together"
    totals = {
        largest: f"epsilon = {ledger_status.epsilon:.4g}{delta}{mark}",
        **_in_all(ledger_status),
        "privacy_unit": ledger_status.privacy_unit,
        "budget": f"{ledger_status.budget}; {ledger_status.left:.4g} is left"
        if ledger_status.budget
        else "no limit",
        "head": ledger_status.head,
    }
    return Report(
        {
            **ledger_status.to_dict(),
            "sessions": [session_status.to_dict() for session_status in chosen],
        },
        [
            Card(title=f"Spent on the data of {store}", columns=columns, rows=rows),
            *_by_period(ledger_status),
            *(session_facts(session_status) for session_status in chosen),
            totals,
        ],
    )


def _periods_text(periods: tuple[str, ...] | None) -> str:
    if periods is None:
        return ""
    return f" of {periods[0]}" if len(periods) == 1 else f" of {len(periods):,} periods"


def _by_period(found: LedgerStatus) -> Iterator[Card]:
    """Generate a table of what was spent on each period, if uses name any."""
    if found.periods:
        costs = [(label, f"{c.epsilon:.4g}", f"{c.delta:g}") for label, c in found.periods.items()]
        rows = [
            (run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}", *cost)
            for cost, equal in groupby(costs, key=itemgetter(1, 2))
            for run in _consecutive([label for label, *_ in equal])
        ]
        yield Card(title="Spent by period", columns=("period", "epsilon", "delta"), rows=rows)


def _consecutive(labels: list[str]) -> Iterator[list[str]]:
    """Generate runs of labels that are all dates from the first to the last, in order."""
    run = labels[:1]
    for label in labels[1:]:
        if _all_between(run[0], label) == (*run, label):
            run.append(label)
        else:
            yield run
            run = [label]
    yield run


def _all_between(first: str, last: str) -> tuple[str, ...]:
    """Return the labels of the dates from the first to the last; empty if these are no dates."""
    try:
        return Periods.of(f"{first}..{last}").labels
    except GraphCutsError:
        return ()


def _in_all(found: LedgerStatus) -> dict[str, str]:
    """Return what was spent on all periods of a user together, for printing."""
    cost = found.all_periods
    if cost is None:
        return {}
    delta = f", delta = {cost.delta:g}" if cost.delta else ""
    return {"all periods together": f"epsilon = {cost.epsilon:.4g}{delta}"}


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
        _chosen(ledger_status(ledger), name)
        write_out(_document(ledger, name), output, force=force)


def _document(ledger: Ledger, name: str | None) -> Iterator[str]:
    """One JSON object, an answer on each line."""
    parts = export_ledger(ledger, name)
    header = json.dumps(next(parts), indent=2)
    yield header.removesuffix("\n}") + ',\n  "answers": ['
    for index, answer in enumerate(parts):
        yield (",\n    " if index else "\n    ") + json.dumps(answer)
    yield "\n  ]\n}\n"


def _chosen(found: LedgerStatus, name: str | None) -> list[SessionStatus]:
    chosen = [
        session_status
        for session_status in found.sessions
        if name in (None, session_status.terms.name)
    ]
    if name is not None and not chosen:
        known = ", ".join(session_status.terms.name for session_status in found.sessions) or "none"
        raise ParameterError(f"no session {name!r} in the store; there is: {known}")
    return chosen


def session_facts(each: SessionStatus) -> dict[str, object]:
    """Return where a session stands, for printing."""
    left = each.remaining.queries
    facts: dict[str, object] = {
        "session": f"{each.terms.name} ({each.state})",
        "method": each.terms.parameters["method"],
        "guarantee": each.terms.guarantee,
        "answers": f"{each.answers:,}, {each.corrections:,} of them corrected",
        "queries left": "no limit" if left is None else f"{left:,}",
    }
    if each.remaining.updates is not None:
        facts["corrections left"] = f"{each.remaining.updates:,}"
    if each.interruptions:
        facts["interruptions"] = f"{each.interruptions:,}, counted as spent"
    return facts


def answer_text(answer: Answer) -> str:
    """An answer on one line, with what is left."""
    parts = [str(answer)]
    if answer.updated:
        parts.append("corrected")
    if answer.queries_left is not None:
        parts.append(f"{answer.queries_left:,} left")
    return "  ".join(parts)


@contextmanager
def _between_chunks(total: int) -> Iterator[Progress]:
    """A progress bar; Ctrl-C waits for the chunk at work, since what is cut off counts as spent."""
    interrupts: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if interrupts:
            raise KeyboardInterrupt  # the second time means now
        interrupts.append(number)

    before: Any = signal.signal(signal.SIGINT, note)
    try:
        with progress_bar(f"{total:,} queries") as bar:

            def report(done: float, message: str) -> None:
                bar(done, message)
                if interrupts:
                    say("note: answers so far are on the record; run it again to go on")
                    raise KeyboardInterrupt

            yield report
    finally:
        signal.signal(signal.SIGINT, before)


def _converse(session: Session, *, unguaranteed: bool) -> None:
    """Answer line after line until the last one."""
    prompt = Prompt(session, unguaranteed=unguaranteed)
    if sys.stdin.isatty():
        out.print(f"session {session.name}: {session.guarantee}", markup=False)
        out.print("type a query, or :help", markup=False)
        _complete(prompt)
    while prompt.turn():
        pass


@final
class Prompt:
    """Reads lines and acts on them.

    Args:
        session: the open session.
        unguaranteed: as for `Session.ask`.
    """

    def __init__(self, session: Session, *, unguaranteed: bool) -> None:
        self._session = session
        self._unguaranteed = unguaranteed
        self._left, self._right = session.vertices
        self._commands: dict[str, Callable[[str], None]] = {
            ":status": self._status,
            ":cost": self._cost,
            ":history": self._history,
            ":plot": self._plot,
            ":help": lambda _: out.print(_PROMPT_HELP, markup=False),
        }

    def turn(self) -> bool:
        """One line; False when it was the last."""
        try:
            line = input(self._prompt() if sys.stdin.isatty() else "").strip()
        except EOFError:
            return False
        except KeyboardInterrupt:
            out.print()  # a line that was given up
            return True
        command, _, argument = line.partition(" ")
        if command in (":quit", ":q", ":exit"):
            return False
        try:
            if command in self._commands:
                self._commands[command](argument.strip())
            elif line.startswith(":"):
                say(f"error: unknown command {command}; :help lists them")
            elif line:
                self._ask(line)
        except LedgerError:
            raise  # nothing more can be recorded
        except GraphCutsError as problem:
            say(f"error: {problem}")
        return True

    def completions(self, word: str, before: str) -> list[str]:
        """Return what a word may become.

        Args:
            word: the text of the label so far.
            before: the line before it.
        """
        if not before and word.startswith(":"):
            return [name for name in (*self._commands, ":quit") if name.startswith(word)]
        vertices = self._right if "|" in before else self._left
        return [text for label in vertices.labels if (text := str(label)).startswith(word)]

    def _prompt(self) -> str:
        left = self._session.remaining.queries
        return f"{self._session.name}> " if left is None else f"{left:,} left> "

    def _query(self, line: str) -> Question:
        if line.startswith("{"):
            return read_question(line, None, self._session.universe.space)
        first, bar, second = line.partition("|")
        if "|" in second:
            raise QueryError("a query has one | at most, between its two sets")
        return read_sets(
            first.strip(),
            second.strip() if bar else None,
            self._session.vertices,
            self._session.groups,
        )

    def _ask(self, line: str) -> None:
        answer = self._session.ask(self._query(line), unguaranteed=self._unguaranteed)
        out.print(answer_text(answer), markup=False)

    def _cost(self, line: str) -> None:
        preview = self._session.cost([self._query(line)])
        free = "free: on the record, or without pairs"
        out.print(free if preview.free else "one new query", markup=False)

    def _status(self, _: str) -> None:
        show_facts(session_facts(self._session.status))

    def _history(self, rest: str) -> None:
        count = int(rest[:18]) if rest.isascii() and rest.isdigit() else 10
        history = self._session.history
        first = max(0, len(history) - count)
        for number, entry in enumerate(history[first:], start=first + 1):
            cut = _query_text(entry.query, self._session.universe)
            out.print(f"{number:>6}  {cut:<30}  {answer_text(entry.answer)}", markup=False)

    def _plot(self, path: str) -> None:
        if not path.lower().endswith(PICTURE_ENDINGS):
            raise QueryError("name a file, for example :plot answers.png")
        from graphcuts_dp.plotting.style import write_figure

        write_figure(self._session.plot(), path)
        points = self._session.history
        out.print(f"{len(points):,} answers drawn to {path}", markup=False)


def _complete(prompt: Prompt) -> None:
    """Complete labels with Tab, and keep lines for the arrow keys."""
    try:
        import readline
    except ImportError:  # not every Python is built with it
        return
    readline.set_completer_delims(",|\t\n")
    readline.parse_and_bind("tab: complete")

    def completer(text: str, index: int) -> str | None:
        word = text.lstrip()
        before = readline.get_line_buffer()[: readline.get_begidx()]
        matches = prompt.completions(word, before)
        gap = text[: len(text) - len(word)]
        return gap + matches[index] if index < len(matches) else None

    readline.set_completer(completer)


def _query_text(query: Question, universe: Universe) -> str:
    """A cut by its labels, of which what is too long is cut off; of another query what it is."""
    S, T = labels_of_cut(query, universe)
    if S is None or T is None:
        return query_title(query, universe)
    one_set = not universe.bipartite
    covers_all = one_set and len(S) + len(T) == universe.shape[0] and not set(S) & set(T)
    return f"{_shortened(S)} | {'others' if covers_all and len(T) > 1 else _shortened(T)}"


def _shortened(labels: tuple[Label, ...]) -> str:
    text = ", ".join(map(str, labels))
    if len(text) > _SHOWN:
        text = f"{text[:_SHOWN]}... ({len(labels):,})"
    return printable(text)
