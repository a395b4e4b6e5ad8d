"""Measure the cost of one more session on a server with 10,000 sessions and 100,000 queries.

Run `python -m scripts.bench.bench_many_sessions [--quick] [--folder DIR]`. A hundred analysts open
sessions in turn, each asks ten queries in it, and nobody closes any. After 100, 1,000, ... sessions
it prints the processor milliseconds to open a session with its first ten answers, to ask in the
oldest session (which was put away) and to list the sessions of an analyst, for each session that
the list has; then the megabytes of the process, its open files, and the SQL statements of opening,
asking and reading the budget. Everything is done by the session service, without HTTP and its
ticks. `--quick` ends at 1,000 sessions; `--folder` is where the store lies: on a file system in
memory a flush costs nothing.
"""

import resource
import sqlite3
import tempfile
import time
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.ledger.opening import Store, create_ledger
from graphcuts_dp.server.api import _sessions_text
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.models import Ask, SessionIn
from graphcuts_dp.server.people import Person
from graphcuts_dp.server.queues import run_all
from scripts.bench.harness import Table, run

ANALYSTS = 100
ASKED = 10  # queries of each session
VERTICES = 200
COLUMNS = (
    "sessions:>9, answers:>9, open_ms:>9.1f ask_ms:>8.1f list_ms:>9.2f megabytes:>11.1f "
    "files:>7, SQL_open:>9, SQL_ask:>9, SQL_budget:>11,"
)
statements = [0]  # how many were run
_connect = sqlite3.connect


def main(quick: bool, folder: str | None) -> None:
    """Print the table."""
    random = np.random.default_rng(0)
    graph = gc.Graph(*random.integers(VERTICES, size=(2, 2000)), vertices=VERTICES)
    table = Table(COLUMNS)
    sqlite3.connect = _traced  # type: ignore[assignment]
    with tempfile.TemporaryDirectory(dir=folder) as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = Store(Path(name) / "many.db", budget=(50.0, 0.0))
        create_ledger(store, graph, privacy_unit="1 edge")
        with closing(Book(book_of(store.file))) as book, closing(Desk(graph, store, book)) as desk:
            people = [Person(name=f"analyst{i}", preapproved=True) for i in range(ANALYSTS)]
            for person in people:
                desk.people.add(person, by="console")
            count = 0
            for stop in (100, 1000) if quick else (100, 1000, 2000, 5000, 10_000):
                while count < stop - 20:
                    open_and_ask(desk, people, count)
                    count += 1
                table.row(stop, stop * ASKED, *measured(desk, people, count, stop))
                count = stop


def measured(desk: Desk, people: list[Person], count: int, stop: int) -> tuple[float, ...]:
    """Open the last sessions of a stage, and return the cells of its row."""
    opened = milliseconds(lambda: [open_and_ask(desk, people, n) for n in range(count, stop)])
    asked = milliseconds(lambda: [ask(desk, people, n, n + stop) for n in range(20)])
    listed = milliseconds(lambda: run_all(_sessions_text(desk, people[0])))
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    files = len(list(Path("/dev/fd").iterdir()))
    counts = [
        counted(lambda: begin(desk, people, f"extra{stop}", 0)),
        counted(lambda: ask(desk, people, 1, stop + 50)),
        counted(lambda: (desk.spent, desk.claims(people[0].name).total(None))),
    ]
    return opened / 20, asked / 20, listed / (stop / ANALYSTS), memory / 1e6, files, *counts


def open_and_ask(desk: Desk, people: list[Person], number: int) -> None:
    """Open one more session, and ask its first queries."""
    begin(desk, people, f"s{number}", number)
    ask(desk, people, number, 0, ASKED)


def begin(desk: Desk, people: list[Person], name: str, number: int) -> None:
    """Ask for a session, which begins at once."""
    terms = {"name": name, "epsilon": 1e-3, "queries": 20, "method": "laplace"}
    desk.request(people[number % ANALYSTS], SessionIn.model_validate(terms))


def ask(desk: Desk, people: list[Person], number: int, first: int, count: int = 1) -> None:
    """Ask some queries in a session, all in one request."""
    person = people[number % ANALYSTS]
    pairs = [divmod(first + i, VERTICES - 1) for i in range(count)]
    queries: list[Any] = [{"S": [u % VERTICES], "T": [(u + v + 1) % VERTICES]} for u, v in pairs]
    asked = Ask.model_validate({"queries": queries})
    desk.ask(person, f"{person.name}.s{number}", asked, f"{number} {first}")


def milliseconds(action: Any) -> float:
    """Processor milliseconds of a call."""
    start = time.process_time()
    action()
    return 1000 * (time.process_time() - start)


def counted(action: Any) -> int:
    """SQL statements of a call."""
    before = statements[0]
    action()
    return statements[0] - before


def _traced(*given: Any, **named: Any) -> sqlite3.Connection:
    connection = _connect(*given, **named)
    connection.set_trace_callback(_count)
    return connection


def _count(_: str) -> None:
    statements[0] += 1


if __name__ == "__main__":
    run(main, __doc__, folder=str)
