"""The file under a ledger: an SQLite database that is created whole, locked, and never rewritten.

Beside `mail.db` lie, while it is in use, `mail.db-lock` and `mail.db-journal` (SQLite's rollback
journal). Closing leaves `mail.db` alone. All are readable by their owner only.

- A store appears under its name complete or not at all (written elsewhere, flushed, then linked).
- A step holds an exclusive lock on the lock file, which the system releases when a process dies.
  SQLite's own locks protect the single transactions, this one the whole step between two of them.
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
LARGEST_CONTENT = 10**9 - 2**16  # bytes: the longest value of SQLite, less some for a mark
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


def create_store(path: Path, header: bytes, digest: bytes, *, timeout: float = 30.0) -> bool:
    """Make a store with no records.

    Args:
        path: where.
        header: what the ledger is about, kept unchanged for ever.
        digest: of the header: the start of the chain of records.
        timeout: seconds to wait for others that make it.

    Returns:
        Whether it was made; False if something is there already, perhaps made meanwhile.

    Raises:
        LedgerError: the file cannot be written.
    """
    part = _part_of(path)
    with contextlib.closing(_Lock(path, timeout=timeout, doing="create the store")) as lock:
        lock.take()
        try:
            if path.exists():
                return False
            _remove(part)  # what a killed process has left
            # 1. An empty file of mode 0600 whatever the umask: SQLite keeps the mode.
            os.close(open_secret(part, new=True))
            # 2. Everything in one transaction. Nobody knows the file: a journal is for nothing.
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
            _flush(part)
            os.link(part, path)
            flush_folder(path.parent)
        except FileExistsError:
            return False
        except OSError as problem:
            raise LedgerError(f"cannot create the store {path}: {_reason(problem)}") from None
        finally:
            _remove(part)
            lock.remove()
    return True


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into one line about the store."""
    try:
        yield
    except sqlite3.Error as problem:
        raise LedgerError(f"the store {path} {_diagnosis(problem)}") from None
    except UnicodeDecodeError:  # SQLite quotes what it cannot parse
        raise LedgerError(f"the store {path} is damaged: it was cut short or altered") from None


@final
class _Lock:
    """The lock beside a store, for one thread at a time.

    Whoever closes the store removes the file while holding the lock; those who then get the lock of
    the removed file notice that it has no name any more, and make another.
    """

    def __init__(self, path: Path, *, timeout: float, doing: str) -> None:
        self._path = Path(f"{path}-lock")
        self._of = path
        self._timeout = timeout
        self._doing = doing
        self._handle: int | None = None

    def take(self, deadline: float | None = None) -> None:
        """Wait for the lock.

        Raises:
            LedgerError: somebody else held it for all of the timeout, or the file cannot be made.
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
                raise LedgerError(f"cannot {self._doing} {self._of}: {reason}") from None

    def give(self) -> None:
        """Let others have it."""
        if self._handle is not None:
            unlock_descriptor(self._handle)

    def remove(self) -> None:
        """Remove its file and give it back for good; only while it is held.

        A lock file that stays is harmless.
        """
        if LOCKED_STAY:
            self.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Give it back for good."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def busy(self) -> LedgerError:
        """Return the error for when somebody else has it."""
        return LedgerError(f"the store {self._of} is busy: another process works on it; try again")


@final
class StoreFile:
    """One open handle on a store. Threads take turns by `locked`; a fork must open its own.

    Args:
        path: an existing store.
        timeout: seconds to wait for other processes and threads.
        read_only: True writes no file at all, not even the lock: one transaction of SQLite keeps
            what is read as it is, and writers wait until this handle is closed.

    Attributes:
        path: as given.
        header: what was given to `create_store`.

    Raises:
        LedgerError: not a store of this version, readable by others, damaged, or busy.
    """

    def __init__(self, path: Path, *, timeout: float, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._timeout = timeout
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._depth = 0
        self._lock = _Lock(path, timeout=timeout, doing="lock")
        self._connection: sqlite3.Connection | None = None
        _check_file(path)
        try:
            with self.locked(), explained(path):
                try:
                    if not read_only:
                        _remove(_part_of(path))  # a second name of this file, or one left behind
                    self._connection = _connect(path, timeout=timeout, read_only=read_only)
                    self.header: bytes = self._open(self._connection)
                except BaseException:
                    self._disconnect()
                    raise
        except BaseException:
            self._lock.close()
            raise

    def _open(self, connection: sqlite3.Connection) -> bytes:
        for pragma, expected, name in (
            ("application_id", APPLICATION, "is not a store of this program"),
            (
                "user_version",
                VERSION,
                "is of version {}, written by another version of this program; use that one",
            ),
            ("journal_mode = TRUNCATE", "truncate", "is on a disk that cannot hold a journal"),
        )[: 2 if self._read_only else 3]:
            (stored,) = connection.execute(f"PRAGMA {pragma}").fetchone()
            if stored != expected:
                raise LedgerError(f"the store {self.path} {name.format(stored)}")
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
        """Check that the pages of the file fit together; within `locked`.

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
            LedgerError: closed, or inherited by a fork.
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
            LedgerError: somebody else held it for all of the timeout.
        """
        if self._process != os.getpid():
            raise LedgerError("an open store does not survive a fork; open it in the new process")
        deadline = time.monotonic() + self._timeout
        if not self._turn.acquire(timeout=self._timeout):
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
                    self._lock.give()
        finally:
            self._turn.release()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Make one durable change: on the disk once the body has ended without an error, or undone.

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
        """Give the handle back; nothing but the store is left."""
        if self._connection is None or self._process != os.getpid():
            return
        with self.locked(), explained(self.path):
            self._disconnect()
        self._lock.close()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if self._read_only:
            if connection is not None:
                connection.close()
            return
        if connection is not None:
            # An empty journal that stays is harmless; a damaged file must not keep its handle open.
            with contextlib.closing(connection), contextlib.suppress(sqlite3.Error, ValueError):
                connection.execute("PRAGMA journal_mode = DELETE")
        self._lock.remove()


def _connect(path: Path, *, timeout: float, read_only: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )


def _check_file(path: Path) -> None:
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


def _part_of(path: Path) -> Path:
    """Return the path at which a store is made, before it gets its name."""
    return path.with_name(f".{path.name}.part")


def _remove(part: Path) -> None:
    for suffix in ("", "-journal"):
        with contextlib.suppress(OSError):  # a disk that fails
            Path(f"{part}{suffix}").unlink(missing_ok=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDWR | BYTES)  # Windows flushes what may be written
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _diagnosis(problem: sqlite3.Error) -> str:
    """Return what is wrong with a store, and what to do, by the error of SQLite."""
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


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.errno is not None:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            return "the disk is full; free some space and try again"
        return os.strerror(problem.errno)
    return "not a valid file name"
