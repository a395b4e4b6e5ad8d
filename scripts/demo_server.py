"""Serve the bundled flights to a curator and an analyst: `make demo-server`, Ctrl-C ends it.

The graph is public (direct flights between US airports in 2008); the demo treats it as private. The
store is made anew each time.
"""

import os
import shutil
import sys
from pathlib import Path

import graphcuts_dp as gc
from graphcuts_dp.cli.console import out
from graphcuts_dp.datasets import load_groups
from graphcuts_dp.ledger.opening import Store, create_ledger
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.people import People, Person

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "demo-output" / "server"
PORT = "8470"


def main() -> None:
    """Make the store, two people and their tokens; then become the server."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    flights = ROOT / "datasets" / "us_flights_2008.csv"
    graph = gc.read_graph(flights, weighted=False, public_vertices_from_file=True)
    groups = load_groups("us-flights")
    rows = [f"{label},{groups.group_of(label, 'region')}\n" for label in graph.vertices.labels]
    (FOLDER / "regions.csv").write_text("airport,region\n" + "".join(rows))
    store = Store(FOLDER / "flights.db", budget=(4.0, 1e-5))
    create_ledger(store, graph, privacy_unit="1 edge")
    book = Book(book_of(store.file))
    people = People(book)
    for person in (
        Person(name="curator", role="curator"),
        Person(name="ann", preapproved=True, epsilon=2.0, delta=1e-5, queries=500),
        Person(name="bob"),
    ):
        out.print(f"{person.name:<8} {people.add(person, by='console')}", markup=False)
    book.close()
    out.print(f"Open http://127.0.0.1:{PORT}/ and sign in with one of these tokens.", markup=False)
    line = [sys.executable, "-m", "graphcuts_dp", "serve", str(store.path), "--port", PORT]
    line += ["--graph", str(flights), "--ignore-weights", "--public-vertices-from-file"]
    sys.stdout.flush()
    os.execv(sys.executable, [*line, "--groups", str(FOLDER / "regions.csv")])  # noqa: S606


if __name__ == "__main__":
    main()
