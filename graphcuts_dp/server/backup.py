"""Back up a server, and restore it: its store and its registry together, as they were at one time.

Copies by `cp` are neither of one time nor whole: what a registry was told last is in its
write-ahead log, beside it. Here the lock of the store is held while SQLite copies both files. Since
every change is first in the registry and then in the store (see `pairing`), the copies fit
together.

A backup is a folder that this account alone can read, with three files: the store, the registry,
and a manifest with their digests. It holds secrets, as they do.

Whoever restores an older store forgets what was spent since, though it was spent. So restoring
counts the records that would be lost, and a present store is replaced only if that number is
stated. What is replaced is put aside, not removed.
"""

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.files import flush_folder, open_secret
from graphcuts_dp.ledger.copies import copy_database
from graphcuts_dp.ledger.file import flush_file
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.migration import StoreSpending, spending_of
from graphcuts_dp.ledger.opening import Store, peek_store_id, store_id
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.ledger.uses import MADE_BY, time_now
from graphcuts_dp.server.book import Book, book_of, serving
from graphcuts_dp.server.pairing import open_pair, recorded_access, revoke_all

STORE_FILE = "store.db"
REGISTRY_FILE = book_of(Path(STORE_FILE)).name
MANIFEST_FILE = "backup.json"
_FORMAT = 1
_LARGEST_MANIFEST = 1 << 16  # bytes
_CHUNK = 1 << 20  # bytes read at once
_BY = "restore"  # who withdraws tokens, in the audit log
_JOURNALS = ("-journal", "-wal", "-shm")  # that SQLite keeps beside a file


@final
@dataclass(frozen=True)
class Manifest:
    """The manifest of a backup.

    Attributes:
        backup: format of the manifest.
        time: when it was made, in UTC, as ISO 8601 writes it.
        made_by: the version of this program.
        store: identifier of the store.
        head: of the store: number of records and digest.
        registry: line of the audit log of the latest change of who may ask, and digest; empty if
            nothing was changed yet.
        store_sha256: digest of the file of the store.
        registry_sha256: digest of the file of the registry.
    """

    backup: int
    time: str
    made_by: str
    store: str
    head: str
    registry: str
    store_sha256: str
    registry_sha256: str


@final
@dataclass(frozen=True)
class Restored:
    """The report of a restore.

    Attributes:
        manifest: of the backup.
        account: spending of the restored store.
        lost: number of records of the former store that the backup lacks; None if there was no
            former store.
        former: spending of the former store; None if there was none.
        aside: path of the former store; None if there were no former files.
        revoked: whether all tokens were withdrawn, since some were changed after the backup.
    """

    manifest: Manifest
    account: StoreSpending
    lost: int | None
    former: StoreSpending | None
    aside: Path | None
    revoked: bool


def back_up(store: Store, folder: Path) -> Manifest:
    """Copy a store and its registry into a new folder, while the server may run.

    1. Both are checked as at the start of a server: they are of one time.
    2. The store's lock is held while both are copied.
    3. The copies are checked, and the manifest is written.
    4. The folder gets its name: it appears whole or not at all.

    Args:
        store: an existing one.
        folder: where the backup will be; nothing may be there.

    Raises:
        LedgerError: something is there, the store or its registry cannot be used, or the disk is
            full or fails.
    """
    folder, registry = Path(os.path.abspath(folder)), book_of(store.file)  # noqa: PTH100
    if not registry.exists():
        raise LedgerError(f"there is no registry {registry}: no server has served this store")
    if os.path.lexists(folder):
        raise LedgerError(f"{folder} exists; name a new folder")
    with hidden_folder(folder, folder) as part:
        copied, copied_registry = part / STORE_FILE, part / REGISTRY_FILE
        with open_pair(store) as (ledger, book), ledger.locked():
            copy_database(ledger.file.connection, copied, shown=folder)
            book.copy(copied_registry, shown=folder)
            identifier, head = store_id(ledger), ledger.head
        with closing(Ledger(copied, read_only=True)) as copy:
            copy.check_all()
            if copy.head != head:
                raise LedgerError(f"{folder} is not a true copy: the disk fails")
            access = recorded_access(copy)
        manifest = Manifest(
            backup=_FORMAT,
            time=time_now(),
            made_by=MADE_BY,
            store=identifier,
            head=str(head),
            registry="" if access is None else str(access),
            store_sha256=digest_of_file(copied),
            registry_sha256=digest_of_file(copied_registry),
        )
        write_manifest(part / MANIFEST_FILE, asdict(manifest))
        flush_folder(part)
        if os.path.lexists(folder):  # meanwhile
            raise LedgerError(f"{folder} exists; name a new folder")
        part.rename(folder)
        flush_folder(folder.parent)
    return manifest


def restore(
    folder: Path, store: Store, *, replace: bool = False, lose_records: int | None = None
) -> Restored:
    """Bring a store and its registry back from a backup; no server may run.

    1. The backup is copied beside the store; its digests, its records and that both files are of
       one time are checked.
    2. The present store is compared with it, under its lock, and records that would be lost are
       counted.
    3. The present files are put aside, and the copies take their names.
    Where tokens or limits were changed after the backup, all tokens of the copy are withdrawn.

    Args:
        folder: as `back_up` made it.
        store: where to bring it back.
        replace: whether a present store, which must be the same one, is replaced.
        lose_records: how many of its records will be lost, exactly; None for none.

    Raises:
        LedgerError: no backup, altered, something is there, a server runs, or the disk is full or
            fails. Then all is as before.
    """
    manifest = read_manifest(folder)
    target = store.file
    with serving(target), hidden_folder(target, target) as part:
        copied = part / STORE_FILE
        copy_verified(folder / STORE_FILE, copied, manifest.store_sha256, folder)
        copy_verified(
            folder / REGISTRY_FILE, part / REGISTRY_FILE, manifest.registry_sha256, folder
        )
        with closing(Ledger(copied, read_only=True)) as ledger:
            if (store_id(ledger), str(ledger.head)) != (manifest.store, manifest.head):
                raise altered_backup(folder)
            ledger.check_all()
            account = spending_of(ledger)
        with open_pair(Store(copied)):
            pass
        with open_present(target, book_of(target), manifest.store) as present:
            if present is not None and not replace:
                raise LedgerError(
                    f"{present.path} exists; add --replace to put it aside, if it is the same store"
                )
            lost = 0 if present is None else present.lost(copied)
            if lost != (lose_records or 0):
                former = None if present is None else present.account
                raise LedgerError(loss_refusal(target, lost, lose_records, account, former))
            revoked = present is not None and lacks_change(part / REGISTRY_FILE, present.access)
            if revoked:
                revoke_all(Store(copied), by=_BY)
            flush_file(copied)
            flush_file(part / REGISTRY_FILE)
            aside = aside_of(target)
            exchange(
                [
                    (part / REGISTRY_FILE, book_of(target), book_of(aside)),
                    (copied, target, aside),
                ]
            )
    return Restored(
        manifest=manifest,
        account=account,
        lost=None if present is None else lost,
        former=None if present is None else present.account,
        aside=aside if present is not None else None,
        revoked=revoked,
    )


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a backup.

    Raises:
        LedgerError: the folder is no backup of this version.
    """
    problem = LedgerError(f"{folder} is no backup as `serve backup` makes it")
    try:
        with (folder / MANIFEST_FILE).open("rb") as file:
            text = file.read(_LARGEST_MANIFEST + 1)
        values: Any = json.loads(text) if len(text) <= _LARGEST_MANIFEST else None
        kinds = {member.name: member.type for member in fields(Manifest)}
        if not isinstance(values, dict) or set(values) != set(kinds):
            raise problem
        if any(type(values[name]) is not kind for name, kind in kinds.items()):
            raise problem
    except (OSError, ValueError, RecursionError):
        raise problem from None
    if values["backup"] != _FORMAT:
        raise LedgerError(f"{folder} was made by another version of this program: use that version")
    return Manifest(**values)


@contextmanager
def hidden_folder(target: Path, shown: Path) -> Iterator[Path]:
    """Make a new folder beside a target, of this account alone, which is removed in the end.

    Raises:
        LedgerError: it cannot be made; or the body raised an OSError.
    """
    try:
        part = target.with_name(f".{target.name}.{token_hex(4)}.part")
        part.mkdir(mode=0o700)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a valid name"
        raise LedgerError(f"cannot write {shown}: {reason}") from None
    try:
        yield part
    except OSError as problem:
        raise LedgerError(f"cannot write {shown}: {problem.strerror}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest, see `write_flushed`."""
    write_flushed(path, (json.dumps(manifest, indent=1) + "\n").encode())


def write_flushed(path: Path, text: bytes) -> None:
    """Write a new file, which this account alone can read, and flush it."""
    with os.fdopen(open_secret(path, new=True), "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def altered_backup(folder: Path) -> LedgerError:
    """Return the error for a backup whose files are not those of its manifest."""
    return LedgerError(f"the backup {folder} was altered, or is damaged: use another one")


def copy_verified(source: Path, target: Path, sha256: str, folder: Path) -> None:
    """Copy a file of a backup, whose digest must be that of the manifest.

    Raises:
        LedgerError: it is missing, or has another digest.
    """
    digest = hashlib.sha256()
    try:
        opened = source.open("rb")
    except OSError:
        raise altered_backup(folder) from None
    with opened, os.fdopen(open_secret(target, new=True), "wb") as copy:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
            copy.write(chunk)
    if digest.hexdigest() != sha256:
        raise altered_backup(folder)


@final
@dataclass(frozen=True)
class PresentFiles:
    """The store and registry that a restore would replace.

    Attributes:
        path: a file that is there.
        ledger: the store, locked; None if only its registry is there.
        noted: number of records that the registry has noted of the store.
        account: spending of the store; None without a store.
        access: line of the latest change of who may ask; None if there is none.
    """

    path: Path
    ledger: Ledger | None
    noted: int
    account: StoreSpending | None
    access: Head | None

    def lost(self, copied: Path) -> int:
        """Return how many records a copy of the store lacks; both begin with the same records."""
        with closing(Ledger(copied, read_only=True)) as other:
            if self.ledger is None:
                return max(0, self.noted - other.records)
            common = _common_records(self.ledger.file.connection, other.file.connection)
            return max(self.ledger.records - common, self.noted - other.records)


def lacks_change(registry: Path, access: Head | None) -> bool:
    """Return True if a registry lacks a change of who may ask."""
    with closing(Book(registry)) as book:
        return access is not None and not book.contains(access)


@contextmanager
def open_present(target: Path, registry: Path, identifier: str) -> Iterator[PresentFiles | None]:
    """Open and lock the store that a restore would replace, if there is one.

    Args:
        target: path of a store.
        registry: that it belongs to.
        identifier: of the store that will be brought back there.

    Raises:
        LedgerError: it is another store, or it cannot be read: then nobody knows what would be
            lost.
    """
    noted, access = 0, None
    if os.path.lexists(registry):
        with _explain_unreadable(registry), closing(Book(registry)) as book:
            stores = book.stores
            if stores and identifier not in stores:
                raise LedgerError(f"{registry} belongs to another store: name another place")
            head = stores.get(identifier)
            noted = 0 if head is None else head.records
            access = book.access_line
    if not os.path.lexists(target):
        if not os.path.lexists(registry):
            yield None
            return
        yield PresentFiles(registry, None, noted, None, access)
        return
    if peek_store_id(target) not in (None, identifier):
        raise LedgerError(f"{target} is another store than that of the backup: name another place")
    with contextlib.ExitStack() as stack:
        with _explain_unreadable(target):
            ledger = stack.enter_context(closing(Ledger(target)))
            stack.enter_context(ledger.locked())
            recorded, account = recorded_access(ledger), spending_of(ledger)
        yield PresentFiles(target, ledger, noted, account, access or recorded)


def loss_refusal(
    target: Path,
    lost: int,
    stated: int | None,
    account: StoreSpending,
    former: StoreSpending | None,
) -> str:
    """Return the refusal of a restore that would lose another number of records than stated."""
    if stated:
        return f"restoring {target} would lose {records(lost)}, not {stated:,}: nothing was changed"
    before = "" if former is None else f" (now {former}; then {account})"
    return (
        f"restoring {target} would lose {records(lost)}{before}: what was spent since was spent "
        f"all the same, and the budget would not know; if you accept that: --lose-records {lost}"
    )


def records(count: int) -> str:
    """Return a number of records in words."""
    return f"{count:,} record{'s' * (count != 1)}"


def aside_of(path: Path) -> Path:
    """Return the path to which a restore moves a file that it replaces now."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return path.with_name(f"{path.name}.before-restore-{stamp}")


def exchange(files: Sequence[tuple[Path, Path, Path]]) -> None:
    """Put the present files aside and the new ones in their place, or leave all as it was.

    1. Journals are moved away: SQLite would take what is in them for a part of the new files.
    2. The registry, then the stores: the present file gets a second name, and the new one takes its
       first name at once.
    There is a file under the name of a store at any time, so that nobody can make a new one there,
    with all its budget. If this is interrupted after the registry, `check_pair` refuses the files,
    unless both registries are the same.

    Args:
        files: path of the new file, path of the present file that it replaces, and path to which
            that is moved; the registry first.
    """
    undo: list[Callable[[], object]] = []
    journals = [
        (Path(f"{target}{suffix}"), Path(f"{former}{suffix}"))
        for _, target, former in files
        for suffix in _JOURNALS
    ]
    try:
        for journal, other in journals:
            if os.path.lexists(journal):
                journal.rename(other)
                undo.append(partial(other.rename, journal))
        for new, target, former in files:
            if os.path.lexists(target):
                undo.append(partial(_put_back, former, target))
                os.link(target, former)
                new.replace(target)
            else:
                os.link(new, target)  # never over a file that has appeared meanwhile
                undo.append(target.unlink)
        flush_folder(files[0][1].parent)
    except BaseException:
        for step in reversed(undo):
            with suppress(OSError):
                step()
        raise
    for _, journal in journals:  # empty ones are not needed
        with suppress(OSError):
            if not journal.stat().st_size:
                journal.unlink()


def _common_records(one: sqlite3.Connection, other: sqlite3.Connection) -> int:
    """Return the number of equal records with which two stores begin."""
    statement = "SELECT seq, use, kind, query, body FROM records ORDER BY seq"
    common = 0
    for row, other_row in zip(one.execute(statement), other.execute(statement), strict=False):
        if row != other_row:
            break
        common += 1
    return common


@contextmanager
def _explain_unreadable(path: Path) -> Iterator[None]:
    """Raise errors of reading a present file with advice on how to restore without it."""
    try:
        yield
    except LedgerError as problem:
        raise LedgerError(
            f"{path} is there, and what would be lost is not known ({problem}): if it is damaged, "
            "move it away yourself, and restore without --replace"
        ) from None


def _put_back(former: Path, target: Path) -> None:
    """Give a file its first name back; where it still has both, the second one goes."""
    former.replace(target)  # does nothing to two names of one file
    former.unlink(missing_ok=True)
