"""The file under a ledger: an SQLite database that is created whole, locked, and never rewritten.

Beside `mail.db` lie, while it is in use, `mail.db-wal` and `mail.db-shm` (SQLite's write-ahead log)
and `mail.db-mark` (a lock, and the place that the records had reached). Closing the last handle
leaves `mail.db` alone. All are readable by their owner only.

- A store appears under its name complete or not at all (written elsewhere, flushed, then linked).
- A step holds an exclusive lock on the mark file, which the system releases when a process dies.
  SQLite's own locks protect the single transactions, this one the whole step between two of them.
- The mark is written after each commit. If the write-ahead log is later deleted or cut short, the
  records end before the mark, and the store is refused instead of forgetting what was spent.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import sqlite3
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import final

from graphcuts_dp.errors import LedgerError

APPLICATION = 0x67634450  # "gcDP"
VERSION = 1
_MARK = struct.Struct(">8sQ32s")
_MAGIC = b"gcdpmark"
_WAL_PAGES = 100  # a short log is written over and over, which flushes faster than a growing one

_TABLES = {
    "ledger": "(id INTEGER PRIMARY KEY CHECK (id = 1), header BLOB NOT NULL)",
    "records": "(seq INTEGER PRIMARY KEY, session INTEGER NOT NULL, kind INTEGER NOT NULL, "
    "query BLOB NOT NULL, body BLOB NOT NULL)",
    "contents": "(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, data BLOB NOT NULL)",
    "head": "(id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, digest BLOB NOT NULL)",
    "states": "(session INTEGER PRIMARY KEY, record INTEGER NOT NULL REFERENCES records (seq), "
    "nonce BLOB NOT NULL, public BLOB NOT NULL, secret BLOB)",
}
_APPEND_ONLY = ("ledger", "records", "contents")


def _schema() -> dict[str, str]:
    """Every table and trigger of a store, by name."""
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


def create_store(path: Path, header: bytes, digest: bytes) -> bool:
    """Make a store with no records.

    Args:
        path: where.
        header: what the ledger is about, kept unchanged for ever.
        digest: of the header: the start of the chain of records.

    Returns:
        Whether it was made; False if something is there already, perhaps made meanwhile.

    Raises:
        LedgerError: the file cannot be written.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        # 1. An empty file of mode 0600 whatever the umask: SQLite keeps the mode for its log.
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        os.fchmod(handle, 0o600)
        os.close(handle)
        # 2. Everything in one transaction. Without a log: what closing could not move from there
        #    into the file, it would not tell.
        with explained(path), contextlib.closing(_connect(part, timeout=5.0)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _schema().values():
                connection.execute(statement)
            connection.execute("INSERT INTO ledger VALUES (1, ?)", (header,))
            connection.execute("INSERT INTO head VALUES (1, 0, ?)", (digest,))
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
        # 3. Its name, which only one of several creators gets.
        _flush(part)
        os.link(part, path)
        _flush(path.parent)
    except FileExistsError:
        return False
    except OSError as problem:
        raise LedgerError(f"cannot create the store {path}: {_reason(problem)}") from None
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):  # a disk that fails
                Path(f"{part}{suffix}").unlink(missing_ok=True)
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
class StoreFile:
    """One open handle on a store. Threads take turns by `locked`; a fork must open its own.

    Args:
        path: an existing store.
        timeout: seconds to wait for other processes and threads.

    Attributes:
        path: as given.
        header: what was given to `create_store`.
        marked: (records, digest) that the mark told when the store was opened, or None.

    Raises:
        LedgerError: not a store of this version, readable by others, damaged, or busy.
    """

    def __init__(self, path: Path, *, timeout: float) -> None:
        self.path = path
        self._timeout = timeout
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._depth = 0
        self._mark: int | None = None
        self._connection: sqlite3.Connection | None = None
        _check_file(path)
        try:
            with self.locked(), explained(path):
                try:
                    self.marked = self._read_mark()
                    whole = not _has_content(self._log_path)
                    self._connection = _connect(path, timeout=timeout)
                    self.header = self._open(self._connection, whole=whole)
                except BaseException:
                    self._disconnect(refused=True)
                    raise
        except BaseException:
            self._drop_mark()
            raise

    def _open(self, connection: sqlite3.Connection, *, whole: bool) -> bytes:
        for pragma, expected, name in (
            ("application_id", APPLICATION, "is not a store of this program"),
            (
                "user_version",
                VERSION,
                "is of version {}, written by another version of this program; use that one",
            ),
            ("journal_mode = WAL", "wal", "is on a disk that cannot hold a write-ahead log"),
        ):
            (found,) = connection.execute(f"PRAGMA {pragma}").fetchone()
            if found != expected:
                raise LedgerError(f"the store {self.path} {name.format(found)}")
        # A log that is at work may hold the end of the file; without one it must be all there.
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        if whole and self.path.stat().st_size % page_size:
            raise LedgerError(f"the store {self.path} is damaged: it was cut short")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # superseded secrets become zeros
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        if dict(found.fetchall()) != _schema():
            raise LedgerError(f"the store {self.path} was altered: its tables are not as made")
        (header,) = connection.execute("SELECT header FROM ledger").fetchone() or (None,)
        if not isinstance(header, bytes):
            raise LedgerError(f"the store {self.path} was altered: it has no header")
        return header

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection; use it within `locked` and `explained`.

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
            raise self._busy()
        try:
            if self._depth == 0:
                self._take(deadline)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and self._mark is not None:
                    fcntl.flock(self._mark, fcntl.LOCK_UN)
        finally:
            self._turn.release()

    def _take(self, deadline: float) -> None:
        pause = 0.0005
        while True:
            try:
                if self._mark is None:
                    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                    self._mark = os.open(self._mark_path, flags, 0o600)
                    os.fchmod(self._mark, 0o600)
                fcntl.flock(self._mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(self._mark).st_nlink:
                    return
                os.close(self._mark)  # whoever closed the store last removed this file
                self._mark = None
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise self._busy() from None
                time.sleep(pause)
                pause = min(2 * pause, 0.02)
            except OSError as problem:
                raise LedgerError(f"cannot lock {self.path}: {_reason(problem)}") from None

    def _busy(self) -> LedgerError:
        return LedgerError(f"the store {self.path} is busy: another process works on it; try again")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One durable change: on the disk once the body has ended without an exception, or undone.

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

    @property
    def _log_path(self) -> Path:
        return Path(f"{self.path}-wal")

    @property
    def _mark_path(self) -> Path:
        return Path(f"{self.path}-mark")

    def mark(self, records: int, digest: bytes) -> None:
        """Note how far the records go. Needs no flush: it may lag behind, never run ahead."""
        if self._mark is not None:
            with contextlib.suppress(OSError):
                os.pwrite(self._mark, _MARK.pack(_MAGIC, records, digest), 0)

    def _read_mark(self) -> tuple[int, bytes] | None:
        if self._mark is None:
            return None
        text = os.pread(self._mark, _MARK.size + 1, 0)
        if not text:
            return None
        if len(text) != _MARK.size or text[: len(_MAGIC)] != _MAGIC:
            raise LedgerError(f"{self._mark_path} is not the mark of a store; it was altered")
        _, records, digest = _MARK.unpack(text)
        return records, digest

    def close(self, *, refused: bool = False) -> None:
        """Give the handle back; the last one to do so leaves the store as one file.

        Args:
            refused: whether the records were not accepted: then the mark stays as evidence.
        """
        if self._connection is None or self._process != os.getpid():
            return
        with self.locked(), explained(self.path):
            self._disconnect(refused=refused)
        self._drop_mark()

    def _disconnect(self, *, refused: bool) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if self._mark is not None:
            unused = os.fstat(self._mark).st_size == 0
            if unused or not (refused or self._log_path.exists()):
                with contextlib.suppress(OSError):  # a mark that stays is harmless
                    self._mark_path.unlink(missing_ok=True)

    def _drop_mark(self) -> None:
        if self._mark is not None:
            os.close(self._mark)
            self._mark = None


def _connect(path: Path, *, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
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
            f"the store {path} does not exist; make it with a first session"
        ) from None
    except (OSError, ValueError) as problem:
        raise LedgerError(f"cannot open the store {path}: {_reason(problem)}") from None
    if not path.is_file():
        raise LedgerError(f"{path} is not a regular file; name another store")
    if status.st_mode & 0o077:
        raise LedgerError(f"others may read {path}, which holds secrets; run: chmod 600 {path}")
    if status.st_size == 0:
        raise LedgerError(f"the store {path} is damaged: it is empty")


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _diagnosis(problem: sqlite3.Error) -> str:
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
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


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.errno is not None:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            return "the disk is full; free some space and try again"
        return os.strerror(problem.errno)
    return "not a valid file name"
