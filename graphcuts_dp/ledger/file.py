"""The file under a ledger: an SQLite database that is created whole, locked, and never rewritten.

While `mail.db` is in use, `mail.db-lock` and `mail.db-journal` (SQLite's rollback journal) lie
beside it; the last process that closes it removes both. Only the account that created them may read
these files.

- A store appears under its name complete or not at all (written elsewhere, flushed, then linked).
- A step of a session or of another use holds an exclusive lock on the lock file, which the system
  releases when a process dies. SQLite's locks protect single transactions, this one the whole step.
- When a transaction has ended, all of it is in `mail.db` itself, and flushed. A journal is needed
  only to take back a transaction that was cut off. So `mail.db` alone, copied or moved after a
  crash, holds every answer that was shown; if its journal stayed behind, it may hold a part of the
  transaction that was cut off, which reading the records notices: they must fit together (see
  `ledger`), and, where all are read, so must the pages (`StoreFile.check_pages`).
"""

import contextlib
import errno
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import final

from filelock import lock_descriptor, unlock_descriptor

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.files import (
    BYTES,
    LOCKED_STAY,
    flush_folder,
    open_secret,
    others_may_read,
    set_mode,
)

APPLICATION = 0x67634450  # "gcDP"
# Bytes of a content: the longest value of SQLite, less some for the byte that marks compression.
LARGEST_CONTENT = 10**9 - 2**16
VERSION = 2

_TABLES = {
    "ledger": "(id INTEGER PRIMARY KEY CHECK (id = 1), header BLOB NOT NULL)",
    "records": "(seq INTEGER PRIMARY KEY, use INTEGER NOT NULL, kind INTEGER NOT NULL, "
    "query BLOB NOT NULL, body BLOB NOT NULL)",
    "contents": "(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, data BLOB NOT NULL)",
    "head": "(id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, digest BLOB NOT NULL)",
    "states": "(use INTEGER PRIMARY KEY, record INTEGER NOT NULL REFERENCES records (seq), "
    "nonce BLOB NOT NULL, public BLOB NOT NULL, secret BLOB)",
}
_APPEND_ONLY = ("ledger", "records", "contents")


def create_store(path: Path, header: bytes, digest: bytes, *, timeout: float = 30.0) -> bool:
    """Create a store with no records.

    Args:
        path: of the new store.
        header: what the ledger is about, kept unchanged for ever.
        digest: of the header: the start of the chain of records.
        timeout: seconds to wait for other processes that create it.

    Returns:
        Whether it was created; False if something is at the path, perhaps created meanwhile.

    Raises:
        LedgerError: the file cannot be written.
    """
    part = _part_of(path)
    with contextlib.closing(_Lock(path, timeout=timeout, purpose="create the store")) as lock:
        lock.take()
        try:
            if path.exists():
                return False
            _remove(part)  # what a killed process has left
            if os.path.lexists(part):
                raise LedgerError(f"cannot create {path}: {part} is in the way; remove it")
            # 1. An empty file of mode 0600 whatever the umask: SQLite keeps the mode.
            os.close(open_secret(part, new=True))
            # 2. Everything in one transaction. Nobody knows the file yet, so a journal on the disk
            # would be of no use.
            with explained(path), contextlib.closing(_connect(part, timeout=5.0)) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                for statement in _schema().values():
                    connection.execute(statement)
                connection.execute("INSERT INTO ledger VALUES (1, ?)", (header,))
                connection.execute("INSERT INTO head VALUES (1, 0, ?)", (digest,))
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute("COMMIT")
            # 3. Its name.
            flush_file(part)
            try:
                os.link(part, path)
            except FileExistsError:
                return False
            flush_folder(path.parent)
        except OSError as problem:
            raise LedgerError(f"cannot create the store {path}: {_reason(problem)}") from None
        finally:
            _remove(part)
            lock.remove()
    return True


def _part_of(path: Path) -> Path:
    """Return the path of a new store until it is complete and gets its name."""
    return path.with_name(f".{path.name}.part")


def _remove(part: Path) -> None:
    """Remove a partly written store and its journal, where the disk allows it."""
    for suffix in ("", "-journal"):
        with contextlib.suppress(OSError):  # a disk that fails
            Path(f"{part}{suffix}").unlink(missing_ok=True)


def _connect(path: Path, *, timeout: float, read_only: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )


def _schema() -> dict[str, str]:
    """Return every table and trigger of a store, by name."""
    schema = {name: f"CREATE TABLE {name} {columns}" for name, columns in _TABLES.items()}
    for table in _APPEND_ONLY:
        for event in ("UPDATE", "DELETE"):
            name = f"{table}_no_{event.lower()}"
            schema[name] = (
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"
            )
    schema["records_in_order"] = (
        "CREATE TRIGGER records_in_order BEFORE INSERT ON records "
        "WHEN NEW.seq <> (SELECT COALESCE(MAX(seq), 0) + 1 FROM records) "
        "BEGIN SELECT RAISE(ABORT, 'records are append-only'); END"
    )
    return schema


def _reason(problem: Exception) -> str:
    """Return why a file cannot be used, from the error of the system."""
    if isinstance(problem, OSError) and problem.errno is not None:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            return "the disk is full; free some space and try again"
        return os.strerror(problem.errno)
    return "not a valid file name"


def flush_file(path: Path) -> None:
    """Write a file to the disk.

    Raises:
        OSError: the disk fails.
    """
    handle = os.open(path, os.O_RDWR | BYTES)  # Windows flushes what may be written
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise a `LedgerError` of one line about the store where the body raises an error of SQLite.

    Args:
        path: of the store, for the message.
    """
    try:
        yield
    except sqlite3.Error as problem:
        raise LedgerError(f"the store {path} {_diagnosis(problem)}") from None
    except UnicodeDecodeError:  # SQLite quotes what it cannot parse
        raise LedgerError(f"the store {path} is damaged: it was cut short or altered") from None


def _diagnosis(problem: sqlite3.Error) -> str:
    """Return what is wrong with a store, and what to do, from the error of SQLite."""
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_CANTOPEN and _no_handle_left():
        return "cannot be opened: too many files are open; raise the limit (ulimit -n)"
    return {
        sqlite3.SQLITE_FULL: "cannot grow: the disk is full; free some space and try again",
        sqlite3.SQLITE_BUSY: "is busy: another process works on it; try again",
        sqlite3.SQLITE_LOCKED: "is busy: another process works on it; try again",
        sqlite3.SQLITE_READONLY: "cannot be written; check the permissions of file and folder",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened; check the permissions of file and folder",
        sqlite3.SQLITE_IOERR: "cannot be read or written: the disk fails or is full",
        sqlite3.SQLITE_CORRUPT: "is damaged: it was cut short or altered",
        sqlite3.SQLITE_NOTADB: "is not a store of this program, or its start was altered",
        sqlite3.SQLITE_CONSTRAINT: "was altered: a change does not fit its records",
    }.get(code, "is damaged or was altered")


def _no_handle_left() -> bool:
    """Return whether this process, or the system, can open no further file."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as problem:
        return problem.errno in (errno.EMFILE, errno.ENFILE)
    return False


@final
class _Lock:
    """The lock file beside a store, for one thread at a time.

    A process that closes the store removes the file while it has the lock; another one that then
    gets the lock of the removed file notices that it has no name any more, and creates a new file.

    Args:
        path: of the store.
        timeout: seconds that `take` waits.
        purpose: what the lock is for, in messages: "lock", "create the store".
    """

    def __init__(self, path: Path, *, timeout: float, purpose: str) -> None:
        self._store = path
        self._path = Path(f"{path}-lock")
        self._timeout = timeout
        self._purpose = purpose
        self._handle: int | None = None

    def take(self, deadline: float | None = None) -> None:
        """Wait for the lock.

        Args:
            deadline: of `time.monotonic()`; None for the timeout from now on.

        Raises:
            LedgerError: another process or thread had it until then, or the file cannot be written.
        """
        if deadline is None:
            deadline = time.monotonic() + self._timeout
        pause = 0.0005
        while True:
            try:
                if self._handle is None:
                    self._handle = open_secret(self._path)
                    set_mode(self._handle, 0o600)
                if not lock_descriptor(self._handle, blocking=False):
                    if time.monotonic() > deadline:
                        raise self.busy()
                    time.sleep(pause)
                    pause = min(2 * pause, 0.02)
                elif os.fstat(self._handle).st_nlink:
                    return
                else:
                    self.close()
            except OSError as problem:
                reason = _reason(problem)
                raise LedgerError(f"cannot {self._purpose} {self._store}: {reason}") from None

    def release(self) -> None:
        """Release the lock; the file stays open."""
        if self._handle is not None:
            unlock_descriptor(self._handle)

    def remove(self) -> None:
        """Remove the file and release the lock, which this process must have.

        A lock file that stays is harmless.
        """
        if LOCKED_STAY:
            self.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the file, which releases the lock; `take` opens it again."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def busy(self) -> LedgerError:
        """Return the error that another process or thread has the lock."""
        return LedgerError(
            f"the store {self._store} is busy: another process works on it; try again"
        )


@final
class StoreFile:
    """An open handle on a store. Threads take turns by `locked`; a fork must open its own.

    Args:
        path: an existing store.
        timeout: seconds to wait for other processes and threads.
        read_only: True writes no file at all, not even the lock: one transaction of SQLite keeps
            what is read as it is, and writers wait until this handle is closed.

    Attributes:
        path: of the store.
        header: as it was passed to `create_store`.

    Raises:
        LedgerError: not a store of this version, readable by others, damaged, or busy.
    """

    def __init__(self, path: Path, *, timeout: float, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._timeout = timeout
        self._process = os.getpid()
        self._thread_lock = threading.RLock()
        self._depth = 0  # of nested `locked`
        self._lock = _Lock(path, timeout=timeout, purpose="lock")
        self._connection: sqlite3.Connection | None = None
        _check_file(path)
        try:
            with self.locked(), explained(path):
                try:
                    if not read_only:
                        # Left by a process that was killed; perhaps a second name of this file.
                        _remove(_part_of(path))
                    self._connection = _connect(path, timeout=timeout, read_only=read_only)
                    self.header: bytes = self._open(self._connection)
                except BaseException:
                    self._disconnect()
                    raise
        except BaseException:
            self._lock.close()
            raise

    def _open(self, connection: sqlite3.Connection) -> bytes:
        """Check that a new connection is to a store, prepare it, and return the store's header.

        Raises:
            LedgerError: it is to something else, or to a damaged store.
        """
        # A pragma, the value that it must return, and the message if it returns another one.
        checks: list[tuple[str, object, str]] = [
            ("application_id", APPLICATION, "is not a store of this program"),
            (
                "user_version",
                VERSION,
                "is of version {}, written by another version of this program; use that one",
            ),
        ]
        if not self._read_only:
            needs_journal = "is on a disk that cannot hold a journal"
            checks.append(("journal_mode = TRUNCATE", "truncate", needs_journal))
        for pragma, expected, message in checks:
            (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
            if value != expected:
                raise LedgerError(f"the store {self.path} {message.format(value)}")
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        if self.path.stat().st_size % page_size:
            raise LedgerError(f"the store {self.path} is damaged: it was cut short")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # superseded secrets become zeros
        connection.execute("PRAGMA trusted_schema = OFF")
        if self._read_only:
            connection.execute("BEGIN")
        schema = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        if dict(schema.fetchall()) != _schema():
            raise LedgerError(f"the store {self.path} was altered: its tables are not as made")
        (header,) = connection.execute("SELECT header FROM ledger").fetchone() or (None,)
        if not isinstance(header, bytes):
            raise LedgerError(f"the store {self.path} was altered: it has no header")
        return header

    def check_pages(self) -> None:
        """Check that the pages of the file fit together. Within `locked`.

        Raises:
            LedgerError: they do not.
        """
        with explained(self.path):
            answer = self.connection.execute("PRAGMA quick_check(1)").fetchone()
        if answer != ("ok",):
            raise LedgerError(f"the store {self.path} is damaged: it was cut short or altered")

    @property
    def connection(self) -> sqlite3.Connection:
        """Return the connection; use it within `locked` and `explained`.

        Raises:
            LedgerError: this handle was closed, or is used in a fork of its process.
        """
        if self._process != os.getpid():
            raise LedgerError("an open store does not survive a fork; open it in the new process")
        if self._connection is None:
            raise LedgerError(f"the store {self.path} is closed")
        return self._connection

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other threads and processes out of the store; may be nested.

        Raises:
            LedgerError: another thread or process had it for all of the timeout.
        """
        if self._process != os.getpid():
            raise LedgerError("an open store does not survive a fork; open it in the new process")
        deadline = time.monotonic() + self._timeout
        if not self._thread_lock.acquire(timeout=self._timeout):
            raise self._lock.busy()
        try:
            if self._depth == 0 and not self._read_only:
                self._lock.take(deadline)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and not self._read_only:
                    self._lock.release()
        finally:
            self._thread_lock.release()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection within a transaction, which is undone if the body raises an error.

        All of it is on the disk once the `with` statement has ended without an error.

        Raises:
            LedgerError: the disk is full or fails, or the store is busy.
        """
        connection = self.connection
        with explained(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                if connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the handle; the last one that is closed leaves nothing but the store.

        What was written is in the store already, so a store that another process works on is no
        error here: that process removes the lock file and the journal when it closes.

        Raises:
            LedgerError: another thread used this handle for all of the timeout.
        """
        if self._connection is None or self._process != os.getpid():
            return
        if not self._thread_lock.acquire(timeout=self._timeout):
            raise self._lock.busy()
        try:
            with explained(self.path):
                self._disconnect(alone=self._depth > 0 or self._take_free_lock())
        finally:
            self._thread_lock.release()
        self._lock.close()

    def _take_free_lock(self) -> bool:
        """Take the lock unless another process has it, and return whether it was taken."""
        if self._read_only:
            return False
        try:
            self._lock.take(time.monotonic())
        except LedgerError:
            return False
        return True

    def _disconnect(self, *, alone: bool = True) -> None:
        """Close the connection; if this handle is `alone`, remove its files beside the store."""
        connection, self._connection = self._connection, None
        if self._read_only or not alone:
            if connection is not None:
                connection.close()
            return
        if connection is not None:
            # An empty journal that stays is harmless; a damaged file must not keep its handle open.
            with contextlib.closing(connection), contextlib.suppress(sqlite3.Error, ValueError):
                connection.execute("PRAGMA journal_mode = DELETE")
        self._lock.remove()


def _check_file(path: Path) -> None:
    """Check that a store may be at a path, before it is opened.

    Raises:
        LedgerError: nothing is there, no regular file, an empty one, or one that others may read.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise LedgerError(
            f"the store {path} does not exist; make it with a first session or release"
        ) from None
    except (OSError, ValueError) as problem:
        raise LedgerError(f"cannot open the store {path}: {_reason(problem)}") from None
    if not path.is_file():
        raise LedgerError(f"{path} is not a regular file; name another store")
    if others_may_read(status):
        raise LedgerError(f"others may read {path}, which holds secrets; run: chmod 600 {path}")
    if status.st_size == 0:
        raise LedgerError(f"the store {path} is damaged: it is empty")
