"""`graphcuts-dp serve`: sessions for analysts, in a browser and over HTTP."""

from contextlib import closing
from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import accuracy_notes, out
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.cli.store_options import store_named
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.people import CURATOR, People, Person
from graphcuts_dp.server.settings import Binding

EXAMPLE = """\
Example: graphcuts-dp serve mail.db --graph mail.edges.gz --vertices staff.txt --budget-epsilon 2

The first start creates a curator and prints the token once. The server listens on this machine
only, unless you give --host; then it needs a certificate, or a proxy that encrypts. `access`
makes more tokens."""


@with_options
def serve(
    store: Annotated[
        str, typer.Argument(metavar="STORE", help="The store; created if it does not exist.")
    ],
    graph: Annotated[str, typer.Option("--graph", help="The private graph.")],
    budget_epsilon: options.BudgetEpsilon = None,
    budget_delta: options.BudgetDelta = 0.0,
    expect_head: options.ExpectHead = None,
    *,
    binding: Binding,
    protecting: Protecting,
    reading: Reading,
    grouping: GroupReading,
) -> None:
    """Serve sessions to analysts over HTTP, with a page for browsers."""
    try:
        from graphcuts_dp.server.app import serve as run
        from graphcuts_dp.server.book import Book, book_of, serving
        from graphcuts_dp.server.desk import Desk
        from graphcuts_dp.server.service import Service
    except ImportError:
        raise ParameterError(
            "the server needs more packages: pip install 'graphcuts-dp[server]'"
        ) from None
    place = store_named(store, budget_epsilon, budget_delta, expect_head)
    if not place.exists and budget_epsilon is None:
        raise ParameterError("a new store needs --budget-epsilon, a cap on all that is spent")
    with serving(place.file):
        private = reading.read_private(graph)
        groups = grouping.read(private.space)
        if not place.exists:
            with accuracy_notes():
                create_ledger(place, private, protects=str(protecting.of))
        whom = {
            name: value
            for name, value in protecting.options(vertices=True).items()
            if value not in (None, "edges")
        }
        with (
            closing(Book(book_of(place.file))) as book,
            closing(Desk(private, place, book, groups, whom)) as desk,
        ):
            _tell_first_curator(desk.people)
            service = Service(desk, binding)
            run(service, binding, lambda url: out.print(f"listening on {url}", markup=False))


def _tell_first_curator(people: People) -> None:
    """Somebody must be able to begin; only whoever starts the server sees the token."""
    if not any(each.role == CURATOR for each in people.all()):
        token = people.add(Person(name=CURATOR, role=CURATOR), by="console")
        out.print(f"token of the curator, shown this once: {token.text}", markup=False)
