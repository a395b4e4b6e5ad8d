"""`graphcuts-dp serve access`: who may use the server, within which limits, and the audit log."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, write_out
from graphcuts_dp.cli.options import Commands
from graphcuts_dp.cli.spending import store_named
from graphcuts_dp.display import Card
from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.ledger.opening import Store, ledger_budget, open_ledger
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.options import input_option, option, privacy_option
from graphcuts_dp.server.book import log_text, read_export, verify
from graphcuts_dp.server.folder import ServerFiles, revoke_all_of_folder
from graphcuts_dp.server.pairing import people_of, revoke_all
from graphcuts_dp.server.people import MOST_QUERIES, ROLES, Caps, People, Person

access: Commands = Commands(help="Manage who may use the server, and verify its audit log.")
STORE = typer.Argument(metavar="STORE", help="The store of the server.")
BY_CONSOLE = "console"  # the audit log names it as the author of what these commands change
_NAME = typer.Argument(metavar="NAME", help="Name of the person.")
_SECONDS_OF_DAY = 24 * 60 * 60


@access.command()
def add(
    *,
    store: str = STORE,
    name: str = _NAME,
    caps: Caps,
    graphs: str = privacy_option(
        "",
        help="Names of the graphs of a folder that this person may ask, separated by commas; "
        "all, also those that are added later, if omitted.",
    ),
    role: str = privacy_option(
        "analyst",
        help="A curator approves and reads all, an analyst asks, a monitor reads /metrics.",
        choices=ROLES,
    ),
) -> Report:
    """Create a person, and show the token once.

    Example: graphcuts-dp serve access add mail.db ann --epsilon 1 --queries 10000

    The token is shown only once. With --preapproved, sessions within these limits begin without
    your approval.
    """
    stores = ServerFiles.of(Store(store)).ids_of(graphs)
    person = Person(name=name, role=role, graphs=",".join(stores), **vars(caps))
    with _open_accounts(store) as accounts:
        token = accounts.add(person, by=BY_CONSOLE)
    return _token_report(name, token, _notes_above_budget(store, person))


@access.command()
def limits(
    *,
    store: str = STORE,
    name: str = _NAME,
    epsilon: float | None = privacy_option(
        None, help="New limit of epsilon for all sessions together.", least=1e-6, most=50
    ),
    delta: float | None = privacy_option(
        None, help="New limit of delta for all sessions together.", least=0, below=1
    ),
    queries: int | None = privacy_option(
        None, help="New limit of the number of guaranteed answers.", least=1, most=MOST_QUERIES
    ),
    preapproved: bool | None = privacy_option(
        None, help="Whether sessions within the limits need no approval."
    ),
    graphs: str | None = privacy_option(
        None,
        help="Names of the graphs of a folder that this person may ask, separated by commas; an "
        "empty text for all.",
    ),
) -> Report:
    """Change the limits of a person; those that are not stated stay.

    Example: graphcuts-dp serve access limits mail.db ann --epsilon 2 --delta 1e-6
    """
    limits = {"epsilon": epsilon, "delta": delta, "queries": queries, "preapproved": preapproved}
    changes: dict[str, Any] = {key: value for key, value in limits.items() if value is not None}
    if graphs is not None:
        changes["graphs"] = ",".join(ServerFiles.of(Store(store)).ids_of(graphs))
    if not changes:
        raise ParameterError("state the limits that change, such as --epsilon 2 --delta 1e-6")
    with _open_accounts(store) as accounts:
        person = replace(accounts.find(name), **changes)
        accounts.change(person, by=BY_CONSOLE)
        if graphs is not None:
            accounts.restrict(name, [*filter(None, person.graphs.split(","))], by=BY_CONSOLE)
    limit = "none" if person.cap is None else str(person.cap)
    count = "any number" if person.queries is None else f"{person.queries:,}"
    approval = "needs no approval" if person.preapproved else "asks for approval"
    line = f"limits of {name}: {limit}; {count} of queries; {approval}"
    return Report(vars(person), [line], _notes_above_budget(store, person))


@access.command()
def renew(*, store: str = STORE, name: str = _NAME) -> Report:
    """Withdraw all tokens of a person, and show a new one once.

    Example: graphcuts-dp serve access renew mail.db ann
    """
    with _open_accounts(store) as accounts:
        return _token_report(name, accounts.renew(name, by=BY_CONSOLE))


@access.command()
def revoke(*, store: str = STORE, name: str = _NAME) -> Report:
    """Withdraw all tokens of a person; answers stay on the record.

    Example: graphcuts-dp serve access revoke mail.db ann
    """
    with _open_accounts(store) as accounts:
        accounts.revoke(name, by=BY_CONSOLE)
    return Report({"name": name, "active": False}, [f"{name} has no token any more"])


@access.command("revoke-all")
def withdraw_all(*, store: str = STORE) -> Report:
    """Withdraw all tokens, so that an older registry is accepted.

    Example: graphcuts-dp serve access revoke-all mail.db

    A server does not start with a registry that lacks changes of which its store knows: tokens that
    were revoked would work again. If the latest registry is lost, bring back an older one, and this
    command withdraws all its tokens, its grants, and what --preapproved allowed; its limits stay.
    Without a registry it makes an empty one. `serve access renew` gives somebody a new token.
    """
    files = ServerFiles.of(Store(store))
    if files.folder is None:
        count = revoke_all(existing_store(store), by=BY_CONSOLE)
    else:
        count = revoke_all_of_folder(files, by=BY_CONSOLE)
    line = f"{count:,} people have no token any more; check their limits before you renew any"
    return Report({"people": count}, [line])


@access.command("list")
def list_people(*, store: str = STORE) -> Report:
    """List who may use the server.

    Example: graphcuts-dp serve access list mail.db
    """
    with _open_accounts(store) as accounts:
        people = accounts.all()
    graph_names = {
        identifier: name for name, identifier in ServerFiles.of(Store(store)).identifiers().items()
    }
    rows = [
        (
            person.name,
            person.role,
            "yes" if person.active else "revoked",
            "yes" if person.preapproved else "no",
            str(person.cap or "none"),
            "none" if person.queries is None else f"{person.queries:,}",
            ", ".join(graph_names.get(graph, graph) for graph in person.graphs.split(",")) or "all",
        )
        for person in people
    ]
    columns = ("name", "role", "active", "preapproved", "limit", "queries", "graphs")
    return Report(
        [vars(person) for person in people],
        [Card(title=f"People of {store}", columns=columns, rows=rows)],
    )


@access.command()
def log(
    *, store: str = STORE, output: str | None = options.OUT, force: bool = options.FORCE
) -> None:
    """Write the audit log, with its digests, as JSON lines.

    Example: graphcuts-dp serve access log mail.db -o audit.jsonl
    """
    with _open_accounts(store) as accounts:
        text = accounts.log_text()
    write_out([text], output, force=force)


@access.command("verify")
def verify_log(
    *,
    store: str = STORE,
    expect_head: str | None = input_option(
        None, help="The head that this command printed earlier; the log must still contain it."
    ),
    file: str | None = input_option(
        None,
        help="A log that `serve access log` wrote, to check instead of the store's.",
        metavar="FILE",
    ),
) -> Report:
    """Check that the audit log is unaltered, and print its head.

    Example: graphcuts-dp serve access verify mail.db --expect-head 12:3fa9...

    Example: graphcuts-dp serve access verify mail.db --file audit.jsonl

    The command prints the head of the log. Keep it: with --expect-head, the command later detects
    whether the log up to this head was altered.
    """
    expected = None if expect_head is None else Head.parse(expect_head)
    if file is not None:
        try:
            start, lines = read_export(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise ParameterError(f"cannot read {file}") from None
        head = verify(start, lines, expected)
    else:
        with _open_accounts(store) as accounts:
            head = verify(accounts.book.log_start, accounts.log_lines(), expected)
    return Report({"head": str(head)}, [str(head)])


@access.command()
def rotate(
    *,
    store: str = STORE,
    output: str = option(help="File to move the lines of the log to.", metavar="FILE"),
    keys_days: float = option(
        30.0,
        help="Remove idempotency keys of requests that were answered more than so many days ago.",
        least=0,
    ),
    force: bool = options.FORCE,
) -> Report:
    """Write the audit log to a file, and go on with an empty one in the same chain.

    Example: graphcuts-dp serve access rotate mail.db --output audit-2026.jsonl

    The server may run meanwhile. Keep the files: each says after which line it begins, and `serve
    access verify --file` checks it. Old idempotency keys are removed, too: a request that is sent
    again after that counts as a new one, and is free if its answers are on the record.
    """
    with _open_accounts(store) as accounts:
        head, start = accounts.log_head, accounts.book.log_start
        if head == start:
            raise ParameterError("the audit log has no line since it was rotated")
        count = head.records - start.records
        lines = accounts.log_lines(limit=count)
        write_out([log_text(accounts.book.salt, start, lines)], output, force=force)
        keys_before = time.time() - keys_days * _SECONDS_OF_DAY
        accounts.book.rotate(head, keys_before=keys_before, by=BY_CONSOLE)
    message = f"{count:,} lines are in {output} and no longer in the log; its head is {head}"
    return Report({"head": str(head), "lines": count, "file": output}, [message])


def existing_store(path: str) -> Store:
    """Return the store at a path.

    Raises:
        LedgerError: the store does not exist.
    """
    store = store_named(path)
    if not store.exists:
        raise LedgerError(f"the store {path} does not exist; `serve` makes it")
    return store


@contextmanager
def _open_accounts(store: str) -> Iterator[People]:
    """Open the accounts of a server, by the path of its store or of its folder of stores."""
    files = ServerFiles.of(Store(store))
    if files.folder is None:
        existing_store(store)
    with files.open_pair() as (ledger, book):
        yield people_of(ledger, book)


def _token_report(name: str, token: str, notes: Sequence[str] = ()) -> Report:
    line = f"token of {name}, shown this once: {token}"
    return Report({"name": name, "token": token}, [line], notes)


def _notes_above_budget(store: str, person: Person) -> list[str]:
    """Return a note for each store whose budget is less than the limit of a person."""
    files, limit = ServerFiles.of(Store(store)), person.cap
    if limit is None:
        return []
    notes = []
    for name, charged_store in files.stores.items():
        if not charged_store.exists:
            continue
        with closing(open_ledger(charged_store)) as ledger:
            budget = ledger_budget(ledger)
        if budget is not None and (limit.epsilon > budget.epsilon or limit.delta > budget.delta):
            above = "the store's budget" if files.folder is None else f"the budget of {name}"
            notes.append(
                f"The limit of {person.name} is above {above}, {budget}, which holds for all."
            )
    return notes
