"""Back up and restore a folder of stores: all stores and their registry, as they were at one time.

As `backup` does for one store, and by the same steps. The locks of all stores are held, in the
order of their names, while the files are copied. A backup is a folder with `graphs-server`, the
stores, their files of options, and a manifest.
"""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.files import flush_folder
from graphcuts_dp.ledger.copies import copy_database
from graphcuts_dp.ledger.file import flush_file
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.migration import StoreSpending, spending_of
from graphcuts_dp.ledger.opening import Store, open_ledger, store_id
from graphcuts_dp.ledger.uses import MADE_BY, time_now
from graphcuts_dp.server.backup import (
    MANIFEST_FILE,
    PresentFiles,
    altered_backup,
    aside_of,
    copy_verified,
    digest_of_file,
    exchange,
    hidden_folder,
    lacks_change,
    loss_refusal,
    open_present,
    write_flushed,
    write_manifest,
)
from graphcuts_dp.server.book import FOLDER, GRAPH_NAME, Book, book_of
from graphcuts_dp.server.folder import (
    OPTIONS_ENDING,
    STORE_ENDING,
    ServerFiles,
    check_none_missing,
    revoke_all_of_folder,
)
from graphcuts_dp.server.pairing import check_pair, recorded_access

_FORMAT = 2  # a backup of one store has format 1
_REGISTRY_FILE = book_of(Path(FOLDER)).name
_LARGEST_MANIFEST = 1 << 20  # bytes
_BY = "restore"  # who withdraws tokens, in the audit log


@final
@dataclass(frozen=True)
class StoreCopy:
    """The copy of one store in a backup.

    Attributes:
        store: identifier of the store.
        head: of the store: number of records and digest.
        sha256: digest of the file.
    """

    store: str
    head: str
    sha256: str


@final
@dataclass(frozen=True)
class FolderManifest:
    """The manifest of a backup of a folder.

    Attributes:
        backup: format of the manifest.
        time: when it was made, in UTC, as ISO 8601 writes it.
        made_by: the version of this program.
        registry_sha256: digest of the file of the registry.
        stores: copies of the stores, by the name of the graph.
    """

    backup: int
    time: str
    made_by: str
    registry_sha256: str
    stores: Mapping[str, StoreCopy]


@final
@dataclass(frozen=True)
class FolderRestored:
    """The report of a restore of a folder.

    Attributes:
        manifest: of the backup.
        accounts: spending of each restored store, by the name of the graph.
        lost: number of records of the former stores that the backup lacks; None if there were no
            former stores.
        aside: path with which that of the former registry begins; None if there was none.
        revoked: whether all tokens were withdrawn, since some were changed after the backup.
    """

    manifest: FolderManifest
    accounts: Mapping[str, StoreSpending]
    lost: int | None
    aside: Path | None
    revoked: bool


def back_up_folder(files: ServerFiles, folder: Path) -> FolderManifest:
    """Copy the stores and the registry of a folder into a new folder, while the server may run.

    Args:
        files: of a folder.
        folder: where the backup will be; nothing may be there.

    Raises:
        LedgerError: something is there, a file cannot be used, or the disk is full or fails.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100
    if not book_of(files.base).exists():
        raise LedgerError(f"there is no registry in {files.folder}: no server has served it")
    if os.path.lexists(folder):
        raise LedgerError(f"{folder} exists; name a new folder")
    with hidden_folder(folder, folder) as part, ExitStack() as stack:
        book = stack.enter_context(closing(Book(book_of(files.base))))
        check_none_missing(files, book)
        stores = {name: store for name, store in files.stores.items() if store.exists}
        ledgers = {
            name: stack.enter_context(closing(open_ledger(store))) for name, store in stores.items()
        }
        for ledger in ledgers.values():
            check_pair(ledger, book)
        for ledger in ledgers.values():
            stack.enter_context(ledger.locked())
        copies = {}
        for name, ledger in ledgers.items():
            copied = part / f"{name}{STORE_ENDING}"
            copy_database(ledger.file.connection, copied, shown=folder)
            copies[name] = StoreCopy(store_id(ledger), str(ledger.head), digest_of_file(copied))
        book.copy(part / _REGISTRY_FILE, shown=folder)
        for name, copy in copies.items():
            with closing(Ledger(part / f"{name}{STORE_ENDING}", read_only=True)) as ledger:
                ledger.check_all()
                if str(ledger.head) != copy.head:
                    raise LedgerError(f"{folder} is not a true copy: the disk fails")
            options = stores[name].file.with_suffix(OPTIONS_ENDING)
            write_flushed(part / options.name, options.read_bytes())
        manifest = FolderManifest(
            backup=_FORMAT,
            time=time_now(),
            made_by=MADE_BY,
            registry_sha256=digest_of_file(part / _REGISTRY_FILE),
            stores=copies,
        )
        write_manifest(part / MANIFEST_FILE, asdict(manifest))
        flush_folder(part)
        if os.path.lexists(folder):  # meanwhile
            raise LedgerError(f"{folder} exists; name a new folder")
        part.rename(folder)
        flush_folder(folder.parent)
    return manifest


def is_folder_backup(folder: Path) -> bool:
    """Return True if a folder holds a backup of a folder of stores."""
    return (folder / _REGISTRY_FILE).exists()


def read_folder_manifest(folder: Path) -> FolderManifest:
    """Read the manifest of a backup of a folder.

    Raises:
        LedgerError: the folder is no backup of a folder by this version.
    """
    problem = LedgerError(f"{folder} is no backup of a folder as `serve backup` makes it")
    try:
        with (folder / MANIFEST_FILE).open("rb") as file:
            text = file.read(_LARGEST_MANIFEST + 1)
        values: Any = json.loads(text) if len(text) <= _LARGEST_MANIFEST else None
        stores = {name: StoreCopy(**copy) for name, copy in values.pop("stores").items()}
        manifest = FolderManifest(**values, stores=stores)
        has_names = all(GRAPH_NAME.fullmatch(name) for name in stores)
        texts = [manifest.time, manifest.made_by, manifest.registry_sha256]
        texts += [text for copy in stores.values() for text in vars(copy).values()]
        has_texts = all(isinstance(text, str) for text in texts)
        if not has_names or manifest.backup != _FORMAT or not has_texts:
            raise problem
    except (OSError, ValueError, RecursionError, TypeError, AttributeError, LookupError):
        raise problem from None
    return manifest


def restore_folder(
    backup: Path, folder: Path, *, replace: bool = False, lose_records: int | None = None
) -> FolderRestored:
    """Bring the stores and the registry of a folder back from a backup; no server may run.

    1. The backup is copied beside the stores; its digests, its records and that all files are of
       one time are checked.
    2. The present stores are compared with it, under their locks, and records that would be lost
       are counted, of all stores together.
    3. The present files are put aside, and the copies take their names.
    Where tokens or limits were changed after the backup, all tokens of the copy are withdrawn.
    Files of options that are there stay as they are; others appear whole, after the stores.

    Args:
        backup: as `back_up_folder` made it.
        folder: where to bring it back; it is made if it is not there.
        replace: whether present stores, which must be the same ones, are replaced.
        lose_records: how many of their records will be lost, exactly; None for none.

    Raises:
        LedgerError: no backup, altered, something is there, a server runs, or the disk is full or
            fails. Then all is as before.
    """
    manifest = read_folder_manifest(backup)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise LedgerError(f"cannot write {folder}: {problem.strerror}") from None
    folder = folder.resolve()
    base, names = folder / FOLDER, sorted(manifest.stores)
    targets = {name: folder / f"{name}{STORE_ENDING}" for name in names}
    _check_no_other(folder, names)
    present_files = ServerFiles(base, {name: Store(path) for name, path in targets.items()}, folder)
    with present_files.serving(), hidden_folder(base, folder) as part, ExitStack() as stack:
        copied = _copies(backup, part, manifest)
        accounts = _check_copies(backup, copied, manifest)
        present: dict[str, PresentFiles] = {}
        for name in names:
            present_store = stack.enter_context(
                open_present(targets[name], book_of(base), manifest.stores[name].store)
            )
            if present_store is not None:
                present[name] = present_store
        if present and not replace:
            path = next(iter(present.values())).path
            raise LedgerError(
                f"{path} exists; add --replace to put it aside, if it is the same store"
            )
        lost = sum(store.lost(copied.stores[name].file) for name, store in present.items())
        if lost != (lose_records or 0):
            account = next(iter(accounts.values()))
            raise LedgerError(loss_refusal(folder, lost, lose_records, account, None))
        revoked = any(
            lacks_change(book_of(copied.base), store.access) for store in present.values()
        )
        if revoked:
            revoke_all_of_folder(copied, by=_BY)
        for name in names:
            flush_file(copied.stores[name].file)
        flush_file(book_of(copied.base))
        aside = aside_of(base)
        stores = [(copied.stores[name].file, targets[name]) for name in names]
        options = [target.with_suffix(OPTIONS_ENDING) for target in targets.values()]
        missing_options = [file for file in options if not os.path.lexists(file)]
        exchange(
            [
                (book_of(copied.base), book_of(base), book_of(aside)),
                *((copy, target, aside_of(target)) for copy, target in stores),
                # Last: with them a server would make stores that are not there, with all budget.
                *((part / file.name, file, aside_of(file)) for file in missing_options),
            ]
        )
    return FolderRestored(
        manifest=manifest,
        accounts=accounts,
        lost=lost if present else None,
        aside=aside if present else None,
        revoked=revoked,
    )


def _check_no_other(folder: Path, names: list[str]) -> None:
    """Refuse a folder with a store that is not in the backup: its registry would not know it.

    Raises:
        LedgerError: there is one.
    """
    for file in sorted(folder.glob(f"*{STORE_ENDING}")):
        if file.stem not in names:
            raise LedgerError(
                f"{file} is not in the backup, whose registry does not know it: move it to another "
                "folder first"
            )


def _copies(backup: Path, part: Path, manifest: FolderManifest) -> ServerFiles:
    """Copy the files of a backup, whose digests must be those of the manifest.

    Raises:
        LedgerError: a file is missing, or has another digest.
    """
    copy_verified(backup / _REGISTRY_FILE, part / _REGISTRY_FILE, manifest.registry_sha256, backup)
    stores = {}
    for name, copy in manifest.stores.items():
        path = part / f"{name}{STORE_ENDING}"
        copy_verified(backup / path.name, path, copy.sha256, backup)
        options = path.with_suffix(OPTIONS_ENDING)
        try:
            text = (backup / options.name).read_bytes()
        except OSError:
            raise altered_backup(backup) from None
        write_flushed(options, text)
        stores[name] = Store(path)
    return ServerFiles(part / FOLDER, stores, part)


def _check_copies(
    backup: Path, copied: ServerFiles, manifest: FolderManifest
) -> dict[str, StoreSpending]:
    """Check the records of all copies, and that they are of one time; return their spending.

    Raises:
        LedgerError: they are not as the manifest says, or not of one time.
    """
    accounts = {}
    for name, copy in manifest.stores.items():
        with closing(Ledger(copied.stores[name].file, read_only=True)) as ledger:
            if (store_id(ledger), str(ledger.head)) != (copy.store, copy.head):
                raise altered_backup(backup)
            ledger.check_all()
            accounts[name] = spending_of(ledger)
    with copied.open_pair() as (ledger, _):
        recorded_access(ledger)
    return accounts
