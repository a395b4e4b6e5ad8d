"""`graphcuts-dp serve`: sessions for analysts over HTTP, and backups of their stores.

`serve_access` has the commands of `serve access`.
"""

import os
import tomllib
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

import typer
from typer.exceptions import TyperException

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, out
from graphcuts_dp.cli.group_reading import GroupFile, GroupsRead
from graphcuts_dp.cli.options import Commands, command_first, with_options
from graphcuts_dp.cli.reading import GRAPH_UNIT, Reading
from graphcuts_dp.cli.serve_access import BY_CONSOLE, STORE, access, existing_store
from graphcuts_dp.cli.spending import BUDGET, SEPARATE_BUDGET, store_named
from graphcuts_dp.errors import GraphCutsError, LedgerError, ParameterError
from graphcuts_dp.files import open_secret
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.ledger.charges import check_known
from graphcuts_dp.ledger.known_data import register
from graphcuts_dp.ledger.opening import Budget, Store, Subject, create_ledger, peek_store_id
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.options import input_option, output_option, privacy_option
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.server.backup import Restored, back_up, records, restore
from graphcuts_dp.server.folder import OPTIONS_ENDING, ServerFiles, check_none_missing
from graphcuts_dp.server.folder_backup import (
    FolderRestored,
    back_up_folder,
    is_folder_backup,
    restore_folder,
)
from graphcuts_dp.server.people import CURATOR, People, Person
from graphcuts_dp.server.settings import Binding

serve: Commands = Commands(
    cls=command_first("start"),
    help="Serve sessions to analysts over HTTP, with a page for browsers.",
)
serve.add_typer(access, name="access")


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
        charged_store = _store_to_serve(store, budget, expect_head, separate_budget)
        files = ServerFiles.of(charged_store)  # with its budget and its expected head
        graphs = [_GraphToServe(charged_store, graph, reading, grouping, privacy_unit)]
    else:
        if graph is not None or budget is not None or expect_head or separate_budget:
            raise ParameterError("of a folder, each graph has its options in its file NAME.toml")
        graphs = [_graph_of_folder(files, name) for name in files.stores]
    for graph_to_serve in graphs:
        charged_store = graph_to_serve.store
        if not charged_store.exists and charged_store.budget is None:
            name = "" if files.folder is None else f" ({charged_store.file.name})"
            raise ParameterError(
                f"a new store needs --budget, the limit of all that is spent{name}"
            )
    files.check_not_lost()
    with files.serving(), ExitStack() as stack:
        graphs_read = [graph_to_serve.read() for graph_to_serve in graphs]
        registry = stack.enter_context(closing(files.open_book()))
        check_none_missing(files, registry)
        session_services = []
        for graph_to_serve, (private, groups) in zip(graphs, graphs_read, strict=True):
            session_service = Desk(
                private, graph_to_serve.store, registry, groups, graph_to_serve.privacy_unit
            )
            session_services.append(stack.enter_context(closing(session_service)))
        accounts = session_services[0].people  # those of the registry, the same for all
        if not any(person.role == CURATOR for person in accounts.all()):
            out.print(f"token of the curator: {_write_first_token(accounts, files.base)}")
        service = Service(session_services, binding)
        run(service, binding, lambda url: out.print(f"listening on {url}", markup=False))


@final
@dataclass(frozen=True)
class _GraphToServe:
    """A private graph of the server: how it is read, and which store is charged for it."""

    store: Store
    graph: str
    reading: Reading
    grouping: GroupFile
    privacy_unit: PrivacyUnit

    def read(self) -> tuple[AnyGraph, GroupsRead]:
        """Return the private graph and its groups, and create its store if there is none.

        Raises:
            GraphCutsError: the graph cannot be read, or the store is about another graph.
        """
        private, groups = self.reading.read_private(self.graph, self.privacy_unit, self.grouping)
        if isinstance(private, Rows):
            raise ParameterError("the server reads graphs, not rows with users")
        check_known(Subject.of(private), self.store)  # refuses data of another store
        if not self.store.exists:
            create_ledger(self.store, private, privacy_unit=str(self.privacy_unit))
        register(Subject.of(private), str(self.store.file), peek_store_id(self.store.file) or "")
        return private, groups


def _store_to_serve(
    path: str, budget: Budget | None, expect_head: str | None, separate_budget: str | None
) -> Store:
    store = store_named(path, budget, expect_head)
    return replace(store, separate_budget=separate_budget or "")


# A command that no user can type: it parses the keys of a file NAME.toml like options.
_graph_command: Commands = Commands()


@_graph_command.command()
def _graph_to_serve(
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
    charged_store = _store_to_serve(store, budget, expect_head, separate_budget)
    return _GraphToServe(charged_store, graph, reading, grouping, privacy_unit)


def _graph_of_folder(files: ServerFiles, name: str) -> _GraphToServe:
    """Return a graph of a folder, by the options in its file NAME.toml.

    Raises:
        ParameterError: the file is no TOML, or has a key that is no option of `serve`.
        GraphCutsError: an option has a wrong value.
    """
    store_path = files.stores[name].file
    options_path = store_path.with_suffix(OPTIONS_ENDING)
    words = [str(store_path), *_words_of_options(options_path)]
    try:
        parameters = typer.main.get_command(_graph_command).make_context("serve", words).params
        # Commands take a list for an option that may be repeated; the parser makes a tuple.
        typed = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in parameters.items()
        }
        graph: _GraphToServe = with_options(_graph_to_serve).report(**typed)  # type: ignore[attr-defined]
    except TyperException as problem:
        message = str(problem.format_message()).replace("--", "")
        raise ParameterError(f"{options_path.name}: {message}") from None
    except GraphCutsError as problem:
        raise type(problem)(f"{options_path.name}: {problem}") from None
    return graph


def _words_of_options(path: Path) -> list[str]:
    """Return the options in a TOML file as they would be typed.

    A value that is the name of a file in the same folder becomes the path of this file.

    Raises:
        ParameterError: the file cannot be read or is no TOML, or a value is no single one.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ParameterError(f"{path.name} is no file of options (TOML, in UTF-8)") from None
    words = []
    for key, value in values.items():
        if not isinstance(value, str | int | float):
            raise ParameterError(f"{path.name}: {key} must be a text, a number, true or false")
        if value is True:
            words.append(f"--{key}")
        elif value is not False:
            text = str(value)
            neighbour = str(path.parent / text)
            # `os.path.isfile` is False for texts that no file can have as name; Path's may raise.
            is_neighbour = text == Path(text).name and os.path.isfile(neighbour)  # noqa: PTH113
            words += [f"--{key}", neighbour if is_neighbour else text]
    return words


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
    manifest = back_up(existing_store(store), Path(folder))
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
        restored_folder = restore_folder(
            Path(folder), Path(store), replace=replace, lose_records=lose_records
        )
        return _restored_folder_report(store, restored_folder)
    restored = restore(Path(folder), store_named(store), replace=replace, lose_records=lose_records)
    return _restored_report(store, restored)


def _restored_report(store: str, restored: Restored) -> Report:
    time, account, former = restored.manifest.time, restored.account, restored.former
    lines = [f"{store} is as it was at {time}: {account}"]
    if restored.lost is None:
        lines.append(f"there was no store to compare: what was spent after {time} is not in it")
    elif restored.lost:
        before = "" if former is None else f"; before: {former}"
        lines.append(f"lost: {records(restored.lost)} of the former store{before}")
    if restored.aside is not None:
        lines.append(f"the former files are {restored.aside} and those that begin with this name")
    if restored.revoked:
        lines.append(_advice_after_revocation(store))
    fields = _fields_of_restore(restored) | {
        "epsilon": account.total.epsilon,
        "former_epsilon": None if former is None else former.total.epsilon,
    }
    return Report(fields, lines)


def _restored_folder_report(store: str, restored: FolderRestored) -> Report:
    time = restored.manifest.time
    lines = [f"{store} is as it was at {time}"]
    lines += [f"{name}: {account}" for name, account in restored.accounts.items()]
    if restored.lost is None:
        lines.append(f"there was no store to compare: what was spent after {time} is not in them")
    elif restored.lost:
        lines.append(f"lost: {records(restored.lost)} of the former stores")
    if restored.aside is not None:
        lines.append(f"the former files have before-restore in their names, in {store}")
    if restored.revoked:
        lines.append(_advice_after_revocation(store))
    return Report(_fields_of_restore(restored), lines)


def _fields_of_restore(restored: Restored | FolderRestored) -> dict[str, Any]:
    return {
        **asdict(restored.manifest),
        "lost_records": restored.lost,
        "aside": None if restored.aside is None else str(restored.aside),
        "tokens_withdrawn": restored.revoked,
    }


def _advice_after_revocation(store: str) -> str:
    return (
        "tokens or limits were changed after the backup: all tokens are withdrawn; check the "
        f"limits, then make new tokens with: graphcuts-dp serve access renew {store} NAME"
    )


def _write_first_token(accounts: People, base: Path) -> Path:
    """Create a curator, who can create all others, and return the file of the token.

    Args:
        accounts: the accounts of the server.
        base: path with which that of the file begins.

    Raises:
        LedgerError: the file exists, or cannot be written.
    """
    path = base.with_name(f"{base.name}-token")
    try:
        handle = open_secret(path, new=True)
    except FileExistsError:
        raise LedgerError(f"{path} is there already; move it away, and start again") from None
    except OSError as problem:
        raise LedgerError(f"cannot write {path}: {problem.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(accounts.add(Person(name=CURATOR, role=CURATOR), by=BY_CONSOLE) + "\n")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
