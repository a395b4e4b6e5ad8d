"""`graphcuts-dp session start | ask | run`: a private graph, and answers one by one."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import accuracy_notes, out, progress_bar, say, show_facts, show_json
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.reading import Reading, check_apart
from graphcuts_dp.cli.session_options import answer_text, remembered, resume, typed_cut
from graphcuts_dp.cli.store_options import store_named
from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.files import atomic_write, check_writable
from graphcuts_dp.learn.bounds import SessionWorkload
from graphcuts_dp.options import METHOD
from graphcuts_dp.pairs.graph_queries import STATISTICS, GraphQuery, Question
from graphcuts_dp.resources import Progress
from graphcuts_dp.session.online import GROUPS, STARTS
from graphcuts_dp.session.query_lines import folder_of, read_asked, read_lines
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import METHODS, MirrorDescent
from graphcuts_dp.session.transcript import answer_to_dict

START_EXAMPLE = """Example: graphcuts-dp session start mail.edges.gz --store mail.db --epsilon 1
--delta 1e-6 --queries 10000

Example: graphcuts-dp session start mail.edges.gz --store mail.db --epsilon 1 --delta 1e-6
--queries 10000 --method multiplicative-weights --start groups --groups staff.csv

The whole session costs epsilon and delta once, however many of its queries you ask. The store
records what was spent and answered. Keep it beside the graph, and as private as the graph."""

ASK_EXAMPLE = """Example: graphcuts-dp session ask mail.db --from "ann,bob" --to "kim,lee"

Example: graphcuts-dp session ask mail.db --from @department.txt --complement

Example: graphcuts-dp session ask mail.db --groups staff.csv --from @@Sales,@@IT --to @@Board

A set is a list of labels separated by commas, or @FILE with one label on each line. @@NAME is a
group of the public table --groups, and "*" alone is all vertices. In a bipartite graph a set
may hold vertices of both sides. A query that was answered before is free.

Example: graphcuts-dp session ask mail.db --query '{"left": {"ann": 0.5}, "right": {"kim": 1}}'"""

RUN_EXAMPLE = """Example: graphcuts-dp session run mail.db queries.jsonl -o answers.jsonl

Each line of the queries is an object: {"S": ["ann", "bob"], "T": ["kim"]}. Without "T", the
second set is all other vertices. With --groups a set may name groups: {"S": "@Sales", "T":
["@IT", "kim"]}. "*" instead of a list is all vertices. Other linear queries are possible:
{"left": {"ann": 0.5}, "right": {"kim": 1}} weighs the pair of ann and kim by 0.5 times 1,
{"entries": [["ann", "kim", 2.5]]} weighs it by 2.5, and {"matrix": "file.npz"} reads a matrix
of weights from a file. After an interruption, run the command again: answers on the record are
free."""


@with_options
def start(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="The private graph.")],
    store: Annotated[str, typer.Option(help="File that records what was spent on this graph.")],
    epsilon: options.SessionEpsilon,
    delta: options.Delta = 0.0,
    name: options.Name = "default",
    method: Annotated[
        str,
        typer.Option(
            help=f"auto (smallest guaranteed error), or one of: {', '.join(METHODS)}.",
            rich_help_panel=METHOD,
        ),
    ] = "auto",
    budget_epsilon: options.BudgetEpsilon = None,
    budget_delta: options.BudgetDelta = 0.0,
    expect_head: options.ExpectHead = None,
    *,
    workload: SessionWorkload,
    having: MirrorDescent,  # it has all options that any method has
    protecting: Protecting,
    reading: Reading,
    grouping: GroupReading,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Begin a session of cut queries on a private graph."""
    if having.start == GROUPS and grouping.groups is None:
        raise ParameterError("--start groups needs --groups FILE, a public table of the vertices")
    if having.start != GROUPS and grouping.groups is not None:
        raise ParameterError(
            "--groups is for --start groups here; to name groups in queries, give it to session ask"
        )
    place = store_named(store, budget_epsilon, budget_delta, expect_head)
    private, _ = protecting.read(reading, graph)
    with (
        accuracy_notes(),
        session_of(
            private,
            store=place,
            name=name,
            epsilon=epsilon,
            delta=delta,
            method=method,
            groups=grouping.read(private.space),
            seed=seed,
            source=remembered(graph, reading),
            **vars(workload),
            **vars(having),
            **protecting.options(vertices=True),
        ) as session,
    ):
        status, error, taken = session.status, session.error_bound, session.norm
    agreed = status.terms.parameters
    if as_json:
        chosen = {} if taken is None else {"norm": taken}
        show_json({"store": store, "error_bound": error, **chosen, **status.to_dict()})
        return
    show_facts(
        {
            "session": f"{status.terms.name} in {store}",
            "guarantee": str(status.terms.guarantee),
            "method": str(agreed["method"]) + (f", norm {taken}" if taken else ""),
            **({"start": STARTS[GROUPS]} if agreed.get("start") == GROUPS else {}),
            "queries": f"{agreed['queries']:,}",
            "error": f"up to {error:,.1f} ({1 - agreed['beta']:.0%}, all queries at once)",
        }
    )


@with_options
def ask(
    store: options.SessionStore,
    first: Annotated[
        str | None, typer.Option("--from", help='The set S of vertices; "*" is all of them.')
    ] = None,
    second: Annotated[str | None, typer.Option("--to", help="The set T.")] = None,
    complement: options.Complement = False,
    query: Annotated[
        str | None, typer.Option(help="Instead of sets: a line of JSON, as for `session run`.")
    ] = None,
    statistic: Annotated[
        str | None,
        typer.Option(help=f"Instead of sets, a statistic of the graph: {', '.join(STATISTICS)}."),
    ] = None,
    name: options.Name = "default",
    graph: options.MovedGraph = None,
    *,
    grouping: GroupReading,
    unguaranteed: options.Unguaranteed = False,
    expect_head: options.ExpectHead = None,
    as_json: options.Json = False,
) -> None:
    """Ask how much weight passes between S and T."""
    if sum(each is not None for each in (first, query, statistic)) != 1 or (
        first is None and (complement or second is not None)
    ):
        raise ParameterError("give either sets, --from and perhaps --to, or --query or --statistic")
    of_graph = None if statistic is None else GraphQuery(statistic)
    if complement and second is not None:
        raise ParameterError("give --to or --complement, not both")
    place = store_named(store, expect_head=expect_head)
    with resume(place, name, graph, grouping) as session:
        asked: Question
        if of_graph is not None:
            asked = of_graph
        elif query is not None:
            asked = read_asked(query, None, session.universe.space)
        else:
            asked = typed_cut(session, first or "", second)
        answer = session.ask(asked, unguaranteed=unguaranteed)
        guarantee = session.guarantee
    if as_json:
        show_json({**answer_to_dict(answer), "guarantee": str(guarantee)})
    else:
        out.print(answer_text(answer), markup=False)


@with_options
def run(
    store: options.SessionStore,
    queries: Annotated[str, typer.Argument(metavar="QUERIES", help="A .jsonl file of queries.")],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="File for the answers; standard output if omitted."),
    ] = None,
    name: options.Name = "default",
    graph: options.MovedGraph = None,
    *,
    grouping: GroupReading,
    unguaranteed: options.Unguaranteed = False,
    expect_head: options.ExpectHead = None,
    force: options.ForceOutput = False,
) -> None:
    """Answer a file of queries; it can be resumed after an interruption."""
    check_apart([output], store, queries, graph, *grouping.files)
    if output is not None:
        check_writable(output, force=force)
    lines = read_lines(queries)
    place = store_named(store, expect_head=expect_head)
    with resume(place, name, graph, grouping) as session:
        space, folder = session.universe.space, folder_of(queries)
        parsed = [read_asked(line, number, space, folder=folder) for number, line in lines]
        try:
            preview = session.cost(parsed)
        except QueryError as problem:
            more = "; to name groups give --groups FILE" if "vertex '@" in str(problem) else ""
            raise QueryError(f"{problem}{more}") from None
        if not preview.allowed and not unguaranteed:
            raise ParameterError(
                f"{preview.new:,} new queries, but the session has {preview.left:,} left; "
                "nothing was asked (--unguaranteed answers the rest without guarantee)"
            )
        with _between_chunks(len(parsed)) as progress:
            answers = session.ask_all(parsed, unguaranteed=unguaranteed, progress=progress)
    # A file of answers repeats the queries, so that it can be read alone.
    rows = (
        json.dumps(json.loads(line) | answer_to_dict(answer)) + "\n"
        for (_, line), answer in zip(lines, answers, strict=True)
    )
    if output is None:
        sys.stdout.writelines(rows)
        return
    with atomic_write(output, force=force) as handle:
        handle.writelines(row.encode() for row in rows)
    say(f"{len(answers):,} answers in {output}, {preview.free:,} of them free")


@contextmanager
def _between_chunks(total: int) -> Iterator[Progress]:
    """A progress bar; Ctrl-C waits for the chunk at work, since what is cut off counts as spent."""
    asked: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt  # the second time means now
        asked.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        with progress_bar(f"{total:,} queries") as bar:

            def report(done: float, message: str) -> None:
                bar(done, message)
                if asked:
                    say("note: answers so far are on the record; run it again to go on")
                    raise KeyboardInterrupt

            yield report
    finally:
        signal.signal(signal.SIGINT, before)
