"""The server's book: who may ask, what was asked for, keys of answered requests, the audit log.

It is an SQLite file beside the store: `mail.db-server` for `mail.db`, readable by its owner only.
No budget is kept in it: what was spent stands on the store alone. Each change is on the disk before
it is told, together with its line of the audit log, so that a process that is killed leaves neither
without the other. Threads and processes may share a book; a server holds the lock `mail.db-serving`
for as long as it runs, so that there is one.
"""

import contextlib
import errno
import fcntl
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.ledger.file import explained
from graphcuts_dp.server.chain import LogLine, digest_of_entry, first_digest

APPLICATION = 0x67634253  # "gcBS"
VERSION = 1

_TABLES = {
    "about": "(id INTEGER PRIMARY KEY CHECK (id = 1), salt BLOB NOT NULL)",
    "people": "(name TEXT PRIMARY KEY, role TEXT NOT NULL, preapproved INTEGER NOT NULL, "
    "epsilon REAL, delta REAL NOT NULL, queries INTEGER, active INTEGER NOT NULL)",
    "tokens": "(id TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people (name), "
    "digest BLOB NOT NULL, made TEXT NOT NULL, active INTEGER NOT NULL)",
    "logins": "(digest BLOB PRIMARY KEY, token TEXT NOT NULL REFERENCES tokens (id), "
    "csrf TEXT NOT NULL, ends REAL NOT NULL)",
    "requests": "(id TEXT PRIMARY KEY, owner TEXT NOT NULL REFERENCES people (name), "
    "terms TEXT NOT NULL, state TEXT NOT NULL, asked TEXT NOT NULL, decided TEXT, note TEXT)",
    "grants": "(reader TEXT NOT NULL REFERENCES people (name), "
    "owner TEXT NOT NULL REFERENCES people (name), PRIMARY KEY (reader, owner))",
    "keys": "(person TEXT NOT NULL, name TEXT NOT NULL, request BLOB NOT NULL, response TEXT, "
    "PRIMARY KEY (person, name))",
    "audit": "(seq INTEGER PRIMARY KEY, time TEXT NOT NULL, who TEXT NOT NULL, "
    "what TEXT NOT NULL, body TEXT NOT NULL, digest BLOB NOT NULL)",
}
_TRIGGERS = {
    f"audit_no_{event.lower()}": f"CREATE TRIGGER audit_no_{event.lower()} BEFORE {event} ON audit "
    "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    for event in ("UPDATE", "DELETE")
}


def book_of(store: Path) -> Path:
    """Where the book of a store is.

    Raises:
        LedgerError: no file can have the name of this store.
    """
    return _beside(store, "server")


def _beside(store: Path, what: str) -> Path:
    if not store.name:
        raise LedgerError(f"{store} is no name of a store")
    return store.with_name(f"{store.name}-{what}")


def _opened(path: Path, trouble: str) -> int:
    """A handle on a file of the owner's alone, which is made if it is missing."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise LedgerError(f"{trouble}: {problem.strerror}") from None


def now() -> str:
    """The time in UTC, as ISO 8601 writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@final
class Changes:
    """What one transaction writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        return self._connection.execute(statement, values)

    def log(self, who: str, what: str, body: dict[str, Any]) -> None:
        """Append a line to the audit log."""
        row = self.execute("SELECT seq, digest FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
        if row is None:
            (salt,) = self.execute("SELECT salt FROM about").fetchone()
            row = 0, first_digest(salt)
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        entry = LogLine(row[0] + 1, now(), who, what, text)
        values = (entry.seq, entry.time, who, what, text, digest_of_entry(row[1], entry))
        self.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", values)


@final
class Book:
    """An open book; made if it is not there.

    Raises:
        LedgerError: not a book of this version, readable by others, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._turn = threading.Lock()
        handle = _opened(path, f"cannot open the book {path}")
        try:
            if os.fstat(handle).st_mode & 0o077:
                raise LedgerError(f"others may read {path}, which holds secrets; run: chmod 600 it")
        finally:
            os.close(handle)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        with explained(self.path):
            self._connection().execute("PRAGMA journal_mode = WAL")
        with self.writing() as changes:
            (application,) = changes.execute("PRAGMA application_id").fetchone()
            (version,) = changes.execute("PRAGMA user_version").fetchone()
            (tables,) = changes.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
            if not tables and not application:
                for name, columns in _TABLES.items():
                    changes.execute(f"CREATE TABLE {name} {columns}")
                for trigger in _TRIGGERS.values():
                    changes.execute(trigger)
                changes.execute("INSERT INTO about VALUES (1, ?)", (secrets.token_bytes(32),))
                changes.execute(f"PRAGMA application_id = {APPLICATION}")
                changes.execute(f"PRAGMA user_version = {VERSION}")
            elif (application, version) != (APPLICATION, VERSION):
                raise LedgerError(f"{self.path} is no book of this version of the program")

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = sqlite3.connect(
                self.path, timeout=30.0, isolation_level=None, check_same_thread=False
            )
            with self._turn:  # first: `close` must know it if the next statements fail
                self._all.append(found)
            found.execute("PRAGMA synchronous = FULL")
            found.execute("PRAGMA foreign_keys = ON")
            found.execute("PRAGMA trusted_schema = OFF")
            self._local.connection = found
        return found

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """What a question gives."""
        with explained(self.path):
            return self._connection().execute(statement, values).fetchall()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Changes]:
        """One change: on the disk once the body has ended without an exception, or undone."""
        with explained(self.path):
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Changes(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    @property
    def salt(self) -> bytes:
        """What the chain of the audit log starts with."""
        ((salt,),) = self.rows("SELECT salt FROM about")
        return bytes(salt)

    def close(self) -> None:
        """Give it back."""
        with self._turn:
            for connection in self._all:
                connection.close()
            self._all.clear()
        self._local = threading.local()


@contextlib.contextmanager
def serving(store: Path) -> Iterator[None]:
    """Hold the lock of the one server of a store.

    Raises:
        LedgerError: another server has it, or the file cannot be made.
    """
    handle = _opened(_beside(store, "serving"), f"cannot lock {store}")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except OSError as problem:
        if problem.errno in (errno.EAGAIN, errno.EACCES):
            raise LedgerError(f"another server serves {store}; stop that one first") from None
        raise
    finally:
        os.close(handle)
