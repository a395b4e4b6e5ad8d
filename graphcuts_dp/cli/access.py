"""`graphcuts-dp access`: who may use the server of a store, and the log of what they did."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import out, show_json, show_table
from graphcuts_dp.cli.options import Commands
from graphcuts_dp.cli.store_options import store_named
from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.files import atomic_write
from graphcuts_dp.ledger.ledger import Head
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.chain import log_text, read_export, verify
from graphcuts_dp.server.people import ROLES, Caps, People, Person

ADD_EXAMPLE = """Example: graphcuts-dp access add mail.db ann --epsilon 1 --queries 10000

The token is shown only once. With --preapproved, sessions within these caps begin without your
approval."""
RENEW_EXAMPLE = "Example: graphcuts-dp access renew mail.db ann"
REVOKE_EXAMPLE = "Example: graphcuts-dp access revoke mail.db ann"
LIST_EXAMPLE = "Example: graphcuts-dp access list mail.db"
LOG_EXAMPLE = "Example: graphcuts-dp access log mail.db -o audit.jsonl"
VERIFY_EXAMPLE = """Example: graphcuts-dp access verify mail.db --expect-head 12:3fa9...

Example: graphcuts-dp access verify mail.db --file audit.jsonl

The command prints the head of the log. Keep it: with --expect-head, the command later detects
whether the log up to this head was altered."""

StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help="The store of the server.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the person.")]
_BY = "console"

access = Commands(
    help="Manage who may use the server of a store, and verify its audit log.",
)


@access.command(epilog=ADD_EXAMPLE)
@options.with_options
def add(
    store: StoreArgument,
    name: NameArgument,
    role: Annotated[str, typer.Option(help=f"Role, one of: {', '.join(ROLES)}.")] = "analyst",
    as_json: options.Json = False,
    *,
    caps: Caps,
) -> None:
    """Create a person, and show the token once."""
    person = Person(name=name, role=role, **vars(caps))
    with _people(store) as people:
        _show_token(name, people.add(person, by=_BY).text, as_json)


@access.command(epilog=RENEW_EXAMPLE)
def renew(store: StoreArgument, name: NameArgument, as_json: options.Json = False) -> None:
    """Withdraw all tokens of a person, and show a new one once."""
    with _people(store) as people:
        _show_token(name, people.renew(name, by=_BY).text, as_json)


@access.command(epilog=REVOKE_EXAMPLE)
def revoke(store: StoreArgument, name: NameArgument) -> None:
    """Withdraw all tokens of a person; answers stay on the record."""
    with _people(store) as people:
        people.revoke(name, by=_BY)
    out.print(f"{name} has no token any more", markup=False)


@access.command("list", epilog=LIST_EXAMPLE)
def list_people(store: StoreArgument, as_json: options.Json = False) -> None:
    """List who may use the server."""
    with _people(store) as people:
        found = people.all()
    if as_json:
        show_json([vars(each) for each in found])
        return
    rows = [
        (
            each.name,
            each.role,
            "yes" if each.active else "revoked",
            "yes" if each.preapproved else "no",
            str(each.cap or "none"),
            "none" if each.queries is None else f"{each.queries:,}",
        )
        for each in found
    ]
    columns = ("name", "role", "active", "preapproved", "cap", "queries")
    show_table(f"People of {store}", columns, rows)


@access.command(epilog=LOG_EXAMPLE)
def log(
    store: StoreArgument,
    output: options.Output = None,
    force: options.ForceOutput = False,
) -> None:
    """Write the audit log, with its digests, as JSON lines."""
    with _people(store) as people:
        text = log_text(people.book.salt, people.log_lines())
    if output is None:
        sys.stdout.write(text)
        return
    with atomic_write(output, force=force) as handle:
        handle.write(text.encode())


@access.command("verify", epilog=VERIFY_EXAMPLE)
def verify_log(
    store: StoreArgument,
    expect_head: Annotated[
        str | None,
        typer.Option(
            help="The head that this command printed earlier; the log must still contain it."
        ),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="An exported log to check, instead of the store's.")
    ] = None,
) -> None:
    """Check that the audit log is complete and unaltered, and print its head."""
    expected = None if expect_head is None else Head.parse(expect_head)
    if file is not None:
        try:
            salt, lines = read_export(Path(file).read_text())
        except (OSError, UnicodeDecodeError):
            raise ParameterError(f"cannot read {file}") from None
        head = verify(salt, lines, expected)
    else:
        with _people(store) as people:
            head = verify(people.book.salt, people.log_lines(), expected)
    out.print(f"{head}", markup=False)


def _show_token(name: str, token: str, as_json: bool) -> None:
    if as_json:
        show_json({"name": name, "token": token})
    else:
        out.print(f"token of {name}, shown this once: {token}", markup=False)


@contextmanager
def _people(store: str) -> Iterator[People]:
    place = store_named(store)
    if not place.exists:
        raise LedgerError(f"the store {store} does not exist; `serve` makes it")
    with closing(Book(book_of(place.file))) as book:
        yield People(book)
