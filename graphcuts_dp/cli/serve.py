"""`graphcuts-dp serve`: sessions for analysts, in a browser and over HTTP."""

from contextlib import closing
from pathlib import Path
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
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 takes any free port.", min=0, max=65535)
    ] = 8470,
    certificate: Annotated[
        str | None,
        typer.Option(help="PEM file with the certificate for HTTPS; it may contain the key."),
    ] = None,
    key: Annotated[str | None, typer.Option(help="PEM file with the key.")] = None,
    server_name: Annotated[
        str | None, typer.Option(help="Host names that users type, separated by commas.")
    ] = None,
    behind_proxy: Annotated[
        str,
        typer.Option(
            help="Address of a proxy that encrypts and passes on the address of the client. Plain "
            "HTTP from other addresses is refused. Several are separated by commas."
        ),
    ] = "",
    tick: Annotated[
        float,
        typer.Option(
            help="Seconds between ticks; replies leave at ticks, which hides how "
            "long the work took."
        ),
    ] = 0.25,
    rate: Annotated[float, typer.Option(help="Limit on requests per second of one person.")] = 20.0,
    *,
    protecting: Protecting,
    reading: Reading,
    grouping: GroupReading,
) -> None:
    """Serve sessions to analysts over HTTP, with a page for browsers."""
    try:
        from graphcuts_dp.server.book import Book, book_of, serving
        from graphcuts_dp.server.desk import Desk
        from graphcuts_dp.server.limits import Limits
        from graphcuts_dp.server.running import Binding
        from graphcuts_dp.server.running import serve as run
        from graphcuts_dp.server.service import Service
        from graphcuts_dp.server.ticks import Ticks
    except ImportError:
        raise ParameterError(
            "the server needs more packages: pip install 'graphcuts-dp[server]'"
        ) from None
    binding = Binding(
        host=host,
        port=port,
        certificate=None if certificate is None else Path(certificate),
        key=None if key is None else Path(key),
        names=tuple(filter(None, (server_name or "").split(","))),
        behind_proxy=behind_proxy,
    )
    place = store_named(store, budget_epsilon, budget_delta, expect_head)
    if not place.exists and budget_epsilon is None:
        raise ParameterError("a new store needs --budget-epsilon, a cap on all that is spent")
    limits, ticks = Limits(rate=rate), Ticks(tick)
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
            service = Service(
                desk,
                limits=limits,
                ticks=ticks,
                hosts=binding.hosts,
                secure=binding.secure,
                proxies=binding.proxies,
            )
            run(service, binding, lambda url: out.print(f"listening on {url}", markup=False))


def _tell_first_curator(people: People) -> None:
    """Somebody must be able to begin; only whoever starts the server sees the token."""
    if not any(each.role == CURATOR for each in people.all()):
        token = people.add(Person(name=CURATOR, role=CURATOR), by="console")
        out.print(f"token of the curator, shown this once: {token.text}", markup=False)
