"""`graphcuts-dp serve`: sessions for analysts over HTTP, who may use them, and the audit log."""

import dataclasses
import os
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from typer.exceptions import TyperException

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, out, write_out
from graphcuts_dp.cli.group_reading import GroupFile
from graphcuts_dp.cli.options import Commands, command_first, with_options
from graphcuts_dp.cli.reading import GRAPH_UNIT, Reading
from graphcuts_dp.cli.spending import BUDGET, SEPARATE_BUDGET, store_named
from graphcuts_dp.display import Card
from graphcuts_dp.errors import GraphCutsError, LedgerError, ParameterError
from graphcuts_dp.files import open_secret
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.ledger.charges import check_known
from graphcuts_dp.ledger.known_data import register
from graphcuts_dp.ledger.opening import (
    Budget,
    Store,
    Subject,
    create_ledger,
    ledger_budget,
    open_ledger,
    peek_store_id,
)
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.options import input_option, option, output_option, privacy_option
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.server.backup import Restored, back_up, records, restore
from graphcuts_dp.server.book import log_text, read_export, verify
from graphcuts_dp.server.folder import (
    OPTIONS_ENDING,
    ServerFiles,
    check_none_missing,
    revoke_all_of_folder,
)
from graphcuts_dp.server.folder_backup import back_up_folder, is_folder_backup, restore_folder
from graphcuts_dp.server.pairing import people_of, revoke_all
from graphcuts_dp.server.people import CURATOR, MOST_QUERIES, ROLES, Caps, People, Person
from graphcuts_dp.server.settings import Binding

serve: Commands = Commands(
    cls=command_first("start"),
    help="Serve sessions to analysts over HTTP, with a page for browsers.",
)
access: Commands = Commands(help="Manage who may use the server, and verify its audit log.")
serve.add_typer(access, name="access")
STORE = typer.Argument(metavar="STORE", help="The store of the server.")
PERSON = typer.Argument(metavar="NAME", help="Name of the person.")
_BY = "console"


@serve.command()
def start(
    *,
    store: str = typer.Argument(
        metavar="STORE", help="The store, created if it does not exist; or a folder of stores."
    ),
    graph: str | None = input_option(
        None, help="The private graph; in a folder, each NAME.toml names its own.", metavar="FILE"
    ),
    binding: Binding,
    reading: Reading,
    grouping: GroupFile,
    privacy_unit: PrivacyUnit = GRAPH_UNIT,
    budget: Budget | None = BUDGET,
    expect_head: str | None = options.EXPECT_HEAD,
    separate_budget: str | None = SEPARATE_BUDGET,
) -> None:
    """Serve sessions to analysts over HTTP, with a page for browsers.

    Example: graphcuts-dp serve mail.db --graph mail.edges.gz --vertices staff.txt --budget 2

    Example: graphcuts-dp serve graphs/

    The first start creates a curator, whose token it writes to mail.db-token, which only your
    account can read: move it to where you keep passwords. The server listens on this machine only,
    unless you give --host; then it needs a certificate, or a proxy that encrypts. `serve access`
    makes more tokens. A line for each request goes to stderr: method, path, status, seconds and
    person. A folder has a file NAME.toml for each graph, with its options as keys (graph, vertices,
    groups, budget and others, in quotes as they are typed here), and stores NAME.db. Accounts and
    limits are for all of its graphs. You may leave out the word `start`.
    """
    try:
        from graphcuts_dp.server.app import serve as run
        from graphcuts_dp.server.desk import Desk
        from graphcuts_dp.server.service import Service
    except ImportError:
        raise ParameterError(
            "the server needs more packages: python -m pip install fastapi uvicorn"
        ) from None
    files = ServerFiles.of(Store(store))
    if files.folder is None:
        if graph is None:
            raise ParameterError("name the private graph: graph=FILE")
        only_store = dataclasses.replace(
            store_named(store, budget, expect_head), separate_budget=separate_budget or ""
        )
        files = ServerFiles.of(only_store)
        graphs = [_GraphToServe(only_store, graph, reading, grouping, privacy_unit)]
    else:
        if graph is not None or budget is not None or expect_head or separate_budget:
            raise ParameterError("of a folder, each graph has its options in its file NAME.toml")
        graphs = [_graph_of_folder(files, name) for name in files.stores]
    for served in graphs:
        if not served.store.exists and served.store.budget is None:
            named = "" if files.folder is None else f" ({served.store.file.name})"
            raise ParameterError(
                f"a new store needs --budget, the limit of all that is spent{named}"
            )
    files.check_not_lost()
    with files.serving(), ExitStack() as stack:
        private = [served.read() for served in graphs]
        book = stack.enter_context(closing(files.open_book()))
        check_none_missing(files, book)
        desks = [
            stack.enter_context(
                closing(Desk(data, served.store, book, groups, served.privacy_unit))
            )
            for served, (data, groups) in zip(graphs, private, strict=True)
        ]
        people = desks[0].people
        if not any(person.role == CURATOR for person in people.all()):
            out.print(f"token of the curator: {_first_token(people, files.base)}")
        service = Service(desks, binding)
        run(service, binding, lambda url: out.print(f"listening on {url}", markup=False))


@dataclasses.dataclass(frozen=True)
class _GraphToServe:
    """A graph that a server will have, and how it is read."""

    store: Store
    graph: str
    reading: Reading
    grouping: GroupFile
    privacy_unit: PrivacyUnit

    def read(self) -> tuple[Any, Any]:
        """Return the private graph and its groups; its store is made if it is not there.

        Raises:
            GraphCutsError: it cannot be read, or its store is about another graph.
        """
        private, groups = self.reading.read_private(self.graph, self.privacy_unit, self.grouping)
        if isinstance(private, Rows):
            raise ParameterError("the server reads graphs, not rows with users")
        check_known(Subject.of(private), self.store)
        if not self.store.exists:
            create_ledger(self.store, private, privacy_unit=str(self.privacy_unit))
        register(Subject.of(private), str(self.store.file), peek_store_id(self.store.file) or "")
        return private, groups


_folder_files: Commands = Commands()  # of which no program is made: it reads files NAME.toml


@_folder_files.command()
def _graph_options(
    *,
    store: str = typer.Argument(metavar="STORE"),
    graph: str = input_option(help="The private graph.", metavar="FILE"),
    reading: Reading,
    grouping: GroupFile,
    privacy_unit: PrivacyUnit = GRAPH_UNIT,
    budget: Budget | None = BUDGET,
    expect_head: str | None = options.EXPECT_HEAD,
    separate_budget: str | None = SEPARATE_BUDGET,
) -> Any:
    """Return a graph of a folder to serve; its options are those of `serve start` for one store."""
    charged = dataclasses.replace(
        store_named(store, budget, expect_head), separate_budget=separate_budget or ""
    )
    return _GraphToServe(charged, graph, reading, grouping, privacy_unit)


def _graph_of_folder(files: ServerFiles, name: str) -> _GraphToServe:
    """Read the options of a graph of a folder from its file.

    Names of files are those in the folder, unless they are whole paths.

    Raises:
        ParameterError: the file is no TOML, or has options that `serve` has not.
    """
    store = files.stores[name].file
    path = store.with_suffix(OPTIONS_ENDING)
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ParameterError(f"{path.name} is no file of options (TOML, in UTF-8)") from None
    words = [str(store)]
    for key, value in stated.items():
        if isinstance(value, dict | list) or not isinstance(value, str | int | float):
            raise ParameterError(f"{path.name}: {key} must be a text, a number, true or false")
        if value is True:
            words.append(f"--{key}")
        elif value is not False:
            text = str(value)
            inside = store.with_name(text) if text == Path(text).name else Path(text)
            words += [f"--{key}", str(inside) if inside.is_file() else text]
    command = typer.main.get_command(_folder_files)
    try:
        params = command.make_context("serve", words).params
        typed = {key: list(v) if isinstance(v, tuple) else v for key, v in params.items()}
        graph: _GraphToServe = with_options(_graph_options).report(**typed)  # type: ignore[attr-defined]
    except TyperException as problem:
        raise ParameterError(f"{path.name}: {_misuse(problem)}") from None
    except GraphCutsError as problem:
        raise type(problem)(f"{path.name}: {problem}") from None
    return graph


def _misuse(problem: Any) -> str:
    """Return what is wrong with the words of a command."""
    return str(problem.format_message()).replace("--", "")


@serve.command()
def backup(
    *,
    store: str = STORE,
    folder: str = typer.Argument(metavar="DIR", help="A new folder for the backup."),
) -> Report:
    """Copy the store and the registry; the server may run.

    Example: graphcuts-dp serve backup mail.db backups/mail-2026-03-01

    Copies that `cp` makes of the two files may not fit together. The folder holds secrets, as the
    store does: your account alone can read it. It appears whole or not at all, with a manifest of
    digests.
    """
    files = ServerFiles.of(Store(store))
    if files.folder is not None:
        copies = back_up_folder(files, Path(folder))
        line = f"{folder} holds {', '.join(copies.stores)} of {store}, and their registry"
        return Report(asdict(copies), [line])
    manifest = back_up(_existing(store), Path(folder))
    count = records(Head.parse(manifest.head).records)
    line = f"{folder} holds {store}, {count}, and its registry; head {manifest.head}"
    return Report(asdict(manifest), [line])


@serve.command("restore")
def bring_back(
    *,
    folder: str = typer.Argument(metavar="DIR", help="A backup by `serve backup`."),
    store: str = STORE,
    replace: bool = output_option(
        False, help="If the store exists, move it and its registry aside."
    ),
    lose_records: int | None = privacy_option(
        None,
        help="The exact number of records of the present store that are not in the backup and "
        "will be lost; the command states it when it refuses.",
        least=0,
    ),
) -> Report:
    """Bring a backup back; the server must not run.

    Example: graphcuts-dp serve restore backups/mail-2026-03-01 mail.db

    Example: graphcuts-dp serve restore backups/mail-2026-03-01 mail.db --replace --lose-records 7

    An older store does not know what was spent since, so more may be spent than the budget allows.
    So the command refuses to lose records, unless you state their number. If tokens or limits were
    changed after the backup, it withdraws all tokens.
    """
    if is_folder_backup(Path(folder)):
        return _folder_restored(store, folder, replace=replace, lose_records=lose_records)
    opened = store_named(store)
    restored = restore(Path(folder), opened, replace=replace, lose_records=lose_records)
    return Report(_restored_fields(restored), _restored_lines(store, restored))


def _folder_restored(store: str, folder: str, *, replace: bool, lose_records: int | None) -> Report:
    """Bring back a folder of stores, and report it."""
    restored = restore_folder(Path(folder), Path(store), replace=replace, lose_records=lose_records)
    time, lost = restored.manifest.time, restored.lost
    lines = [f"{store} is as it was at {time}"]
    lines += [f"{name}: {account}" for name, account in restored.accounts.items()]
    if lost is None:
        lines.append(f"there was no store to compare: what was spent after {time} is not in them")
    elif lost:
        lines.append(f"lost: {records(lost)} of the former stores")
    if restored.aside is not None:
        lines.append(f"the former files have before-restore in their names, in {store}")
    if restored.revoked:
        lines.append(_revoked(store))
    fields = {
        **asdict(restored.manifest),
        "lost_records": lost,
        "aside": None if restored.aside is None else str(restored.aside),
        "tokens_withdrawn": restored.revoked,
    }
    return Report(fields, lines)


def _revoked(store: str) -> str:
    return (
        "tokens or limits were changed after the backup: all tokens are withdrawn; check the "
        f"limits, then make new tokens with: graphcuts-dp serve access renew {store} NAME"
    )


def _restored_fields(restored: Restored) -> dict[str, Any]:
    former = restored.former
    return {
        **asdict(restored.manifest),
        "lost_records": restored.lost,
        "epsilon": restored.account.total.epsilon,
        "former_epsilon": None if former is None else former.total.epsilon,
        "aside": None if restored.aside is None else str(restored.aside),
        "tokens_withdrawn": restored.revoked,
    }


def _restored_lines(store: str, restored: Restored) -> list[str]:
    time, account = restored.manifest.time, restored.account
    lines = [f"{store} is as it was at {time}: {account}"]
    if restored.lost is None:
        lines.append(f"there was no store to compare: what was spent after {time} is not in it")
    elif restored.lost:
        before = "" if restored.former is None else f"; before: {restored.former}"
        lines.append(f"lost: {records(restored.lost)} of the former store{before}")
    if restored.aside is not None:
        lines.append(f"the former files are {restored.aside} and those that begin with this name")
    if restored.revoked:
        lines.append(_revoked(store))
    return lines


@access.command()
def add(
    *,
    store: str = STORE,
    name: str = PERSON,
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
    with _people(store) as people:
        token = people.add(person, by=_BY)
    return _shown(name, token, _beyond(store, person))


@access.command()
def limits(
    *,
    store: str = STORE,
    name: str = PERSON,
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
    options = {"epsilon": epsilon, "delta": delta, "queries": queries, "preapproved": preapproved}
    stated: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    if graphs is not None:
        stated["graphs"] = ",".join(ServerFiles.of(Store(store)).ids_of(graphs))
    if not stated:
        raise ParameterError("state the limits that change, such as --epsilon 2 --delta 1e-6")
    with _people(store) as people:
        person = dataclasses.replace(people.find(name), **stated)
        people.change(person, by=_BY)
        if graphs is not None:
            people.restrict(name, [*filter(None, person.graphs.split(","))], by=_BY)
    shown = "none" if person.cap is None else str(person.cap)
    count = "any number" if person.queries is None else f"{person.queries:,}"
    asks = "needs no approval" if person.preapproved else "asks for approval"
    line = f"limits of {name}: {shown}; {count} of queries; {asks}"
    return Report(vars(person), [line], _beyond(store, person))


@access.command()
def renew(*, store: str = STORE, name: str = PERSON) -> Report:
    """Withdraw all tokens of a person, and show a new one once.

    Example: graphcuts-dp serve access renew mail.db ann
    """
    with _people(store) as people:
        return _shown(name, people.renew(name, by=_BY))


@access.command()
def revoke(*, store: str = STORE, name: str = PERSON) -> Report:
    """Withdraw all tokens of a person; answers stay on the record.

    Example: graphcuts-dp serve access revoke mail.db ann
    """
    with _people(store) as people:
        people.revoke(name, by=_BY)
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
        count = revoke_all(_existing(store), by=_BY)
    else:
        count = revoke_all_of_folder(files, by=_BY)
    line = f"{count:,} people have no token any more; check their limits before you renew any"
    return Report({"people": count}, [line])


@access.command("list")
def list_people(*, store: str = STORE) -> Report:
    """List who may use the server.

    Example: graphcuts-dp serve access list mail.db
    """
    with _people(store) as people:
        accounts = people.all()
    names = {
        identifier: name for name, identifier in ServerFiles.of(Store(store)).identifiers().items()
    }
    rows = [
        (
            account.name,
            account.role,
            "yes" if account.active else "revoked",
            "yes" if account.preapproved else "no",
            str(account.cap or "none"),
            "none" if account.queries is None else f"{account.queries:,}",
            ", ".join(names.get(one, one) for one in account.graphs.split(",")) or "all",
        )
        for account in accounts
    ]
    columns = ("name", "role", "active", "preapproved", "limit", "queries", "graphs")
    return Report(
        [vars(account) for account in accounts],
        [Card(title=f"People of {store}", columns=columns, rows=rows)],
    )


@access.command()
def log(
    *, store: str = STORE, output: str | None = options.OUT, force: bool = options.FORCE
) -> None:
    """Write the audit log, with its digests, as JSON lines.

    Example: graphcuts-dp serve access log mail.db -o audit.jsonl
    """
    with _people(store) as people:
        text = people.log_text()
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
        with _people(store) as people:
            head = verify(people.book.log_start, people.log_lines(), expected)
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
    with _people(store) as people:
        head, start = people.log_head, people.book.log_start
        if head == start:
            raise ParameterError("the audit log has no line since it was rotated")
        count = head.records - start.records
        lines = people.log_lines(limit=count)
        write_out([log_text(people.book.salt, start, lines)], output, force=force)
        people.book.rotate(head, keys_before=time.time() - keys_days * 86400, by=_BY)
    message = f"{count:,} lines are in {output} and no longer in the log; its head is {head}"
    return Report({"head": str(head), "lines": count, "file": output}, [message])


def _first_token(people: People, store: Path) -> Path:
    """Make a curator, since somebody must be able to begin, and a file with the token."""
    path = store.with_name(f"{store.name}-token")
    try:
        handle = open_secret(path, new=True)
    except FileExistsError:
        raise LedgerError(f"{path} is there already; move it away, and start again") from None
    except OSError as problem:
        raise LedgerError(f"cannot write {path}: {problem.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(people.add(Person(name=CURATOR, role=CURATOR), by=_BY) + "\n")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _beyond(store: str, person: Person) -> list[str]:
    """Notes where the limits of somebody are above the budget of a store, which all share."""
    files, cap, notes = ServerFiles.of(Store(store)), person.cap, list[str]()
    for name, charged in files.stores.items():
        if cap is None or not charged.exists:
            continue
        with closing(open_ledger(charged)) as ledger:
            whole_budget = ledger_budget(ledger)
        if whole_budget is not None and not (
            cap.epsilon <= whole_budget.epsilon and cap.delta <= whole_budget.delta
        ):
            above = "the store's budget" if files.folder is None else f"the budget of {name}"
            notes.append(
                f"The limit of {person.name} is above {above}, {whole_budget}, which holds for all."
            )
    return notes


def _shown(name: str, token: str, notes: Sequence[str] = ()) -> Report:
    line = f"token of {name}, shown this once: {token}"
    return Report({"name": name, "token": token}, [line], notes)


def _existing(store: str) -> Store:
    opened = store_named(store)
    if not opened.exists:
        raise LedgerError(f"the store {store} does not exist; `serve` makes it")
    return opened


@contextmanager
def _people(store: str) -> Iterator[People]:
    files = ServerFiles.of(Store(store))
    if files.folder is None:
        _existing(store)
    with files.paired() as (ledger, book):
        yield people_of(ledger, book)
