"""The registry of a server: accounts, requests for sessions, keys of answers, the audit log.

It is an SQLite file beside the store, `mail.db-server` for `mail.db`, readable by your account
only, and called a `Book` in this folder. No budget is kept in it: what was spent stands on the
store alone. Each change is on the disk before it is reported, together with its line of the audit
log, so that a process that is killed leaves neither without the other. Threads and processes may
share a book; a server holds the lock `mail.db-serving` for as long as it runs, so that there is
one.

Each line of the audit log holds the digest of all lines before it. Whoever has kept a head (the
number of a line and its digest) can tell later whether the log still begins with the same lines.
The first digest is that of 32 random bytes, which go out with an export of the log and with nothing
else, so that a head alone tells nothing.

The store keeps the head of the log at the latest change of who may do what, and the book keeps a
head of the store: neither can be put back to an earlier time alone, see `pairing`. A book may have
several stores, one for each graph of a server; it names them by their identifiers, so that a file
that is renamed stays what it is.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

from filelock import lock_descriptor

from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.files import open_secret, others_may_read
from graphcuts_dp.ledger.copies import copy_database
from graphcuts_dp.ledger.file import explained
from graphcuts_dp.ledger.records import Head

APPLICATION = 0x67634253  # "gcBS"
FOLDER = "graphs"  # begins the names of the registry and the lock of a folder of stores
GRAPH_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
VERSION = 4  # of the tables
_VERSION_OF_ONE_STORE = 3  # it has one store, in the table `pairing`
_VERSION_WITHOUT_PAIRING = 2  # it has no store

_TABLES = {
    "about": "(id INTEGER PRIMARY KEY CHECK (id = 1), salt BLOB NOT NULL, "
    "seq INTEGER NOT NULL, digest BLOB NOT NULL, access TEXT NOT NULL DEFAULT '')",
    "people": "(name TEXT PRIMARY KEY, role TEXT NOT NULL, preapproved INTEGER NOT NULL, "
    "epsilon REAL, delta REAL NOT NULL, queries INTEGER, active INTEGER NOT NULL, "
    "graphs TEXT NOT NULL DEFAULT '')",
    "tokens": "(id TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people (name), "
    "digest BLOB NOT NULL, made TEXT NOT NULL, active INTEGER NOT NULL)",
    "logins": "(digest BLOB PRIMARY KEY, token TEXT NOT NULL REFERENCES tokens (id), "
    "csrf TEXT NOT NULL, ends REAL NOT NULL)",
    "requests": "(id TEXT NOT NULL, owner TEXT NOT NULL REFERENCES people (name), "
    "terms TEXT NOT NULL, state TEXT NOT NULL, asked TEXT NOT NULL, decided TEXT, note TEXT, "
    "store TEXT NOT NULL, PRIMARY KEY (store, id))",
    "grants": "(reader TEXT NOT NULL REFERENCES people (name), "
    "owner TEXT NOT NULL REFERENCES people (name), PRIMARY KEY (reader, owner))",
    "keys": "(person TEXT NOT NULL, name TEXT NOT NULL, request BLOB NOT NULL, response TEXT, "
    "made REAL NOT NULL, store TEXT NOT NULL DEFAULT '', PRIMARY KEY (person, name))",
    "stores": "(id TEXT PRIMARY KEY, name TEXT NOT NULL, head TEXT NOT NULL)",
    "audit": "(seq INTEGER PRIMARY KEY, time TEXT NOT NULL, who TEXT NOT NULL, "
    "what TEXT NOT NULL, body TEXT NOT NULL, digest BLOB NOT NULL)",
}
# No request reads all requests of a store. The first one is of an earlier version.
_INDICES = (
    "DROP INDEX IF EXISTS requests_by_analyst",
    "CREATE INDEX IF NOT EXISTS requests_of_analyst ON requests (store, owner)",
    "CREATE INDEX IF NOT EXISTS requests_in_state ON requests (store, state)",
)
# Only lines that were rotated out of the book may be deleted.
_TRIGGERS = {
    f"audit_no_{event.lower()}": f"CREATE TRIGGER audit_no_{event.lower()} BEFORE {event} ON audit "
    f"{when} BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    for event, when in (("UPDATE", ""), ("DELETE", "WHEN OLD.seq > (SELECT seq FROM about)"))
}
# Statements that turn a registry of an earlier version into one of the next.
_UPGRADES = {
    _VERSION_WITHOUT_PAIRING: (
        (
            "CREATE TABLE pairing (id INTEGER PRIMARY KEY CHECK (id = 1), store TEXT NOT NULL, "
            "access TEXT NOT NULL, head TEXT NOT NULL)"
        ),
        "INSERT INTO pairing VALUES (1, '', '', '')",
    ),
    _VERSION_OF_ONE_STORE: (
        f"CREATE TABLE stores {_TABLES['stores']}",
        "INSERT INTO stores SELECT store, '', head FROM pairing WHERE store != ''",
        "ALTER TABLE about ADD COLUMN access TEXT NOT NULL DEFAULT ''",
        "UPDATE about SET access = (SELECT access FROM pairing)",
        "ALTER TABLE people ADD COLUMN graphs TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE keys ADD COLUMN store TEXT NOT NULL DEFAULT ''",
        "UPDATE keys SET store = (SELECT store FROM pairing)",
        "ALTER TABLE requests RENAME TO former_requests",
        f"CREATE TABLE requests {_TABLES['requests']}",
        (
            "INSERT INTO requests SELECT id, owner, terms, state, asked, decided, note, "
            "(SELECT store FROM pairing) FROM former_requests ORDER BY rowid"
        ),
        "DROP TABLE former_requests",
        "DROP TABLE pairing",
    ),
}


def book_of(store: Path) -> Path:
    """Return the path of the book of a store.

    Raises:
        LedgerError: no file can have the name of this store.
    """
    return _beside(store, "server")


def graph_name(store: Path) -> str:
    """Return the name of the graph of a store: that of the file, without its ending.

    A file whose name cannot be typed in an address has the name "graph".
    """
    name = store.stem.lower()
    return name if GRAPH_NAME.fullmatch(name) else "graph"


def now() -> str:
    """Return the time in UTC, as ISO 8601 writes it, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@final
class Changes:
    """Changes that one transaction makes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        return self._connection.execute(statement, values)

    def log(self, who: str, event: str, body: dict[str, Any], *, access: bool = False) -> None:
        """Append a line to the audit log.

        Args:
            who: name of the person who sent the request.
            event: its kind.
            body: plain values.
            access: whether the event changes who may do what: then the store has to record the
                line.
        """
        row = self.execute("SELECT seq, digest FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
        if row is None:
            row = self.execute("SELECT seq, digest FROM about").fetchone()
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        entry = LogLine(row[0] + 1, now(), who, event, text)
        values = (entry.seq, entry.time, who, event, text, digest_of_entry(row[1], entry))
        self.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", values)
        if access:
            head = Head(entry.seq, values[-1])
            self.execute("UPDATE about SET access = ?", (str(head),))

    def note_store(self, store: str, head: str, name: str | None = None) -> None:
        """Note the head of a store.

        Requests and keys that a book had before it knew any store belong to the first one.

        Args:
            store: identifier of the store.
            head: number of its records and digest.
            name: of its graph; None for the one that is noted.
        """
        if self.execute("SELECT 1 FROM stores LIMIT 1").fetchone() is None:
            for table in ("requests", "keys"):
                statement = f"UPDATE {table} SET store = ? WHERE store = ''"  # noqa: S608
                self.execute(statement, (store,))
        self.execute(
            "INSERT INTO stores VALUES (?1, COALESCE(?2, ''), ?3) ON CONFLICT (id) DO UPDATE SET "
            "name = COALESCE(?2, name), head = ?3",
            (store, name, head),
        )


@final
class Book:
    """An open registry; created if it is not there.

    Raises:
        LedgerError: not a book of this version, readable by others, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []  # of all threads
        self._lock = threading.Lock()
        handle = _open_file(path, f"cannot open the book {path}")
        try:
            if others_may_read(os.fstat(handle)):
                raise LedgerError(f"others may read {path}, which holds secrets; run: chmod 600 it")
        finally:
            os.close(handle)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Create the tables of a new file, or upgrade those of an earlier version.

        Raises:
            LedgerError: no registry of a known version.
        """
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
                salt = secrets.token_bytes(32)
                values = (salt, first_digest(salt))
                changes.execute("INSERT INTO about VALUES (1, ?, 0, ?, '')", values)
                changes.execute(f"PRAGMA application_id = {APPLICATION}")
                changes.execute(f"PRAGMA user_version = {VERSION}")
            elif application == APPLICATION and version in (*_UPGRADES, VERSION):
                for old_version in range(version, VERSION):
                    for statement in _UPGRADES[old_version]:
                        changes.execute(statement)
                    changes.execute(f"PRAGMA user_version = {old_version + 1}")
            else:
                raise LedgerError(f"{self.path} is no book of this version of the program")
            for statement in _INDICES:
                changes.execute(statement)

    def _connection(self) -> sqlite3.Connection:
        """Return the connection of the present thread."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=30.0, isolation_level=None, check_same_thread=False
            )
            with self._lock:  # first: `close` must know it if the next statements fail
                self._connections.append(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            self._local.connection = connection
        return connection

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that a statement of SQL gives."""
        with explained(self.path):
            return self._connection().execute(statement, values).fetchall()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Changes]:
        """Make changes in one transaction: on the disk when the body has ended, or undone.

        They are undone if the body raises an exception.
        """
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

    def copy(self, target: Path, *, shown: Path) -> None:
        """Copy the book as it is now into a new file, see `copy_database`."""
        copy_database(self._connection(), target, shown=shown)

    @property
    def salt(self) -> bytes:
        """Return the bytes that the chain of the audit log starts with."""
        ((salt,),) = self.rows("SELECT salt FROM about")
        return bytes(salt)

    @property
    def log_start(self) -> Head:
        """Return the last line that was rotated out of the audit log; line 0 if none was."""
        return Head(*self.rows("SELECT seq, digest FROM about")[0])

    @property
    def access_line(self) -> Head | None:
        """Return the line of the audit log of the latest change of who may do what, or None."""
        ((text,),) = self.rows("SELECT access FROM about")
        return Head.parse(text) if text else None

    @property
    def stores(self) -> dict[str, Head | None]:
        """Return the least head of each store that was noted, by its identifier."""
        rows = self.rows("SELECT id, head FROM stores")
        return {store: Head.parse(head) if head else None for store, head in rows}

    @property
    def has_several(self) -> bool:
        """Return whether this is the registry of a folder of stores."""
        return self.path.name == book_of(Path(FOLDER)).name

    @property
    def log_head(self) -> Head:
        """Return the latest line of the audit log and its digest."""
        rows = self.rows("SELECT seq, digest FROM audit ORDER BY seq DESC LIMIT 1")
        return Head(*rows[0]) if rows else self.log_start

    def contains(self, head: Head) -> bool:
        """Return True if the audit log has this line, or had it and it was rotated out."""
        start = self.log_start
        if head.records <= start.records:
            return head.records < start.records or head == start
        values = (head.records, head.digest)
        return bool(self.rows("SELECT 1 FROM audit WHERE seq = ? AND digest = ?", values))

    def rotate(self, head: Head, *, keys_before: float, by: str) -> None:
        """Remove the lines of the audit log up to a head, and old keys of requests.

        The caller has written these lines to a file before. Later lines continue the chain.

        Args:
            head: the last line to remove.
            keys_before: keys from before this time, in seconds since 1970, are removed if they have
                answers; a request that is sent again with such a key is a new one.
            by: name of whoever removes them, for the log.

        Raises:
            LedgerError: the log has no such line.
        """
        with self.writing() as changes:
            values = (head.records, head.digest)
            line = changes.execute("SELECT 1 FROM audit WHERE seq = ? AND digest = ?", values)
            if line.fetchone() is None:
                raise LedgerError("the audit log has no such line; it was rotated meanwhile")
            changes.execute("UPDATE about SET seq = ?, digest = ?", values)
            changes.execute("DELETE FROM audit WHERE seq <= ?", values[:1])
            removed = changes.execute(
                "DELETE FROM keys WHERE made < ? AND response IS NOT NULL", (keys_before,)
            )
            changes.log(by, "rotated", {"head": str(head), "keys": removed.rowcount})

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()


@final
@dataclass(frozen=True, eq=False)
class BookChange:
    """A change of the registry that shares its transaction with those of other requests.

    It is a `queues.JointPart`.

    Attributes:
        book: the registry.
        make: writes the change.
    """

    book: Book
    make: Callable[[Changes], object]

    def parts_to_join(self, parts: Sequence[Any]) -> "list[BookChange]":
        """Return this change, and all others of the same registry."""
        others = (part for part in parts if isinstance(part, BookChange))
        return [self, *(part for part in others if part.book is self.book)]

    @staticmethod
    def do_together(parts: "Sequence[BookChange]") -> list[None]:
        """Make the changes in one transaction, in their order.

        Raises:
            LedgerError: the registry cannot be written; then none is made.
        """
        with parts[0].book.writing() as changes:
            for part in parts:
                part.make(changes)
        return [None] * len(parts)


@contextlib.contextmanager
def serving(store: Path) -> Iterator[None]:
    """Hold the lock of the one server of a store.

    Raises:
        LedgerError: another server has it, or the file cannot be made.
    """
    handle = _open_file(_beside(store, "serving"), f"cannot lock {store}")
    try:
        if not lock_descriptor(handle, blocking=False):
            raise LedgerError(f"another server serves {store}; stop that one first")
        yield
    finally:
        os.close(handle)


@final
@dataclass(frozen=True)
class LogLine:
    """One line of the audit log.

    Attributes:
        seq: its number, from 1.
        time: in UTC, as ISO 8601 writes it.
        who: name of the person who sent the request; "console" for commands on the curator's
            machine.
        what: kind of event.
        body: the rest, as the text of a JSON object.
    """

    seq: int
    time: str
    who: str
    what: str
    body: str


def first_digest(salt: bytes) -> bytes:
    """Return the digest that the chain of an audit log starts with."""
    return hashlib.sha256(b"audit log of graphcuts_dp\0" + salt).digest()


def digest_of_entry(before: bytes, entry: LogLine) -> bytes:
    """Return the digest of a line and of all before it."""
    line = [entry.seq, entry.time, entry.who, entry.what, entry.body]
    return hashlib.sha256(before + json.dumps(line).encode()).digest()


def verify(
    start: Head, lines: Iterable[tuple[LogLine, bytes]], expected: Head | None = None
) -> Head:
    """Compute the chain of an audit log again, and return its present head.

    Args:
        start: the line before the first one, see `first_digest`.
        lines: all lines in order, each with the digest that is kept beside it.
        expected: a head that was kept at some time; None if there is none.

    Raises:
        LedgerError: a line was changed, added, left out or moved; or the log does not go on from
            the expected head, or begins after it.
    """
    digest, number = start.digest, start.records
    if expected is not None and expected.records < number:
        raise LedgerError(
            f"the log begins after the kept head: verify the files of earlier lines first, up to "
            f"line {number}"
        )
    if expected is not None and expected.records == number and expected != start:
        raise LedgerError(f"line {number} of the audit log is not that of the kept head")
    is_head_reached = expected is None or expected == start  # or no head is expected
    for entry, stored_digest in lines:
        digest = digest_of_entry(digest, entry)
        if entry.seq != number + 1 or stored_digest != digest:
            raise LedgerError(f"the audit log was altered at line {number + 1}")
        number = entry.seq
        if expected is not None and expected.records == number:
            if expected.digest != digest:
                raise LedgerError(f"line {number} of the audit log is not that of the kept head")
            is_head_reached = True
    if not is_head_reached:
        raise LedgerError("the audit log is shorter than at the kept head: lines are missing")
    return Head(number, digest)


def read_export(text: str) -> tuple[Head, list[tuple[LogLine, bytes]]]:
    """Read an exported log: JSON lines, the first of which names the line before all others.

    Raises:
        ParameterError: something else.
    """
    try:
        header, *lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        start = Head.parse(header["after"])
        if not start.records and start.digest != first_digest(bytes.fromhex(header["salt"])):
            raise ValueError("a first line of another log")
        return start, [_line_from(values) for values in lines]
    except (ValueError, LookupError, TypeError, AttributeError, ParameterError):
        raise ParameterError("that is no audit log as `serve access log` writes it") from None


def log_text(salt: bytes, start: Head, lines: Iterable[tuple[LogLine, bytes]]) -> str:
    """Return a log as JSON lines: the start of its chain, then each line after `start`."""
    header = {"log": "graphcuts_dp server", "salt": salt.hex(), "after": str(start)}
    return "".join(
        json.dumps(values) + "\n" for values in [header, *(line_of(*line) for line in lines)]
    )


def line_of(entry: LogLine, digest: bytes) -> dict[str, Any]:
    """Return a line of an exported log as plain values."""
    return {**vars(entry), "digest": digest.hex()}


def _beside(store: Path, role: str) -> Path:
    """Return the path of a file that belongs to a store, by its role.

    Raises:
        LedgerError: no file can have the name of this store.
    """
    if not store.name:
        raise LedgerError(f"{store} is no name of a store")
    return store.with_name(f"{store.name}-{role}")


def _open_file(path: Path, failure: str) -> int:
    """Open a file that this account alone can read, and create it if it is missing.

    Raises:
        LedgerError: it cannot be opened; the message begins with `failure`.
    """
    try:
        return open_secret(path)
    except OSError as problem:
        raise LedgerError(f"{failure}: {problem.strerror}") from None


def _line_from(values: dict[str, Any]) -> tuple[LogLine, bytes]:
    """Return a line and its digest from the plain values of `line_of`."""
    entry = LogLine(*(values[name] for name in ("seq", "time", "who", "what", "body")))
    return entry, bytes.fromhex(values["digest"])
