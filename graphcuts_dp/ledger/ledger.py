"""The durable record of what was asked, spent and answered about one graph.

Records are numbered from 1 and never change. A running SHA-256 over the header and all records up
to the last one is kept beside them, so that records which were lost, altered, added or reordered
are noticed when the ledger is opened: opening reads every record again, and all totals come from
that. Large contents (queries, hypotheses) lie apart under their own SHA-256, which the records
name; they are checked when they are read. What a mechanism needs to go on (`StoredState`) is
replaced by each step; the record of the step holds a digest of the public part, and a commitment
to the secret part that is salted with a nonce, which is overwritten together with the secret.

The digests detect accidents and edits; by themselves they cannot detect that somebody put back an
older copy, or recomputed every digest. Whoever may write the store is trusted; whoever keeps a
`Head` notices an older copy.

Order of a step of a session, and what a crash at each point leaves:
    1. RESERVE is committed             before: nothing was spent, nothing is lost
    2. noise is drawn, the step is made  in between: the reservation counts as spent; the next
                                         process to come applies and records `interrupted`, once
    3. ANSWER and the next state are committed in one transaction
    4. the answer is shown              before: it is on the record, and asking again shows it
Between 1 and 3 the store is locked, so a reservation without an answer that anybody else sees
belongs to a dead process. A failed commit in 1 spends nothing; in 3 it counts as a crash.
"""

import hashlib
import json
import secrets
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.ledger.file import StoreFile, create_store, explained
from graphcuts_dp.ledger.records import Head, Kind, StoredState, UseTotals

_FRAME = struct.Struct(">QqBQQ")  # what the digest of a record starts with
_FETCH = 4096  # records; a transaction has far fewer
_PLAIN, _COMPRESSED = b"\0", b"\1"  # what a stored content starts with


@final
class Entries:
    """Records that are being written in one transaction."""

    def __init__(self, ledger: "Ledger") -> None:
        self._ledger = ledger
        self._connection = ledger.file.connection
        self._chain = ledger.chain.copy()
        self._rows: list[tuple[int, int, int, bytes, bytes]] = []

    @property
    def next(self) -> int:
        """The number that the next record gets."""
        return self._ledger.records + len(self._rows) + 1

    def add(self, kind: Kind, use: int, body: bytes, query: bytes = b"") -> int:
        """Append a record; returns its number."""
        row = (self.next, use, int(kind), query, body)
        self._connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)
        self._chain.update(_framed(*row))
        self._rows.append(row)
        return row[0]

    def plain(self, kind: Kind, use: int, body: dict[str, Any], query: bytes = b"") -> None:
        """Append a record of plain values."""
        self.add(kind, use, encode(body), query)

    def content(self, data: bytes) -> bytes:
        """Keep large contents once, compressed; returns the digest that names them."""
        digest = hashlib.sha256(data).digest()
        packed = zlib.compress(data)
        kept = _COMPRESSED + packed if len(packed) < len(data) else _PLAIN + data
        self._connection.execute(
            "INSERT INTO contents (digest, data) SELECT :digest, :data "
            "WHERE NOT EXISTS (SELECT 1 FROM contents WHERE digest = :digest)",
            {"digest": digest, "data": kept},
        )
        return digest

    def with_state(
        self,
        kind: Kind,
        use: int,
        body: dict[str, Any],
        state: StoredState,
        query: bytes = b"",
    ) -> int:
        """Append a record of a session and replace its state by the one after it."""
        nonce = secrets.token_bytes(32)
        sealed = {**body, "state": _seal(nonce, state)}
        seq = self.add(kind, use, encode(sealed), query)
        self._connection.execute(
            "INSERT INTO states VALUES (?, ?, ?, ?, ?) ON CONFLICT (use) DO UPDATE SET "
            "record = excluded.record, nonce = excluded.nonce, public = excluded.public, "
            "secret = excluded.secret",
            (use, seq, nonce, state.public, state.secret),
        )
        return seq

    def finish(self) -> None:
        """Write the new end of the chain; the last statement of the transaction."""
        self._connection.execute(
            "UPDATE head SET seq = ?, digest = ?", (self.next - 1, self._chain.digest())
        )

    def adopt(self) -> None:
        """Take the records into the totals, once they are committed."""
        self._ledger.follow(self._rows, self._chain)


@final
class Ledger:
    """An open ledger. Every method that reads or writes must be called within `locked`.

    Args:
        path: an existing store.
        timeout: seconds to wait for other processes and threads.
        expected: where the ledger stood at some time; None if nobody knows.

    Attributes:
        file: the store.
        header: what the ledger is about, plain values.
        records: how many records there are.
        chain: running SHA-256 of header and records.
        uses: totals of each use of the data, by number.

    Raises:
        LedgerError: damaged, altered, cut short, of another version, older than `expected`, or
            busy.
    """

    def __init__(self, path: Path, *, timeout: float = 30.0, expected: Head | None = None) -> None:
        self.file = StoreFile(path, timeout=timeout)
        self.records = 0
        self.chain = hashlib.sha256(self.file.header)
        self.uses: dict[int, UseTotals] = {}
        self._expected = expected
        try:
            self.header = decode(self.file.header, path)
            with self.locked():
                self._check_whole()
        except BaseException:
            self.file.close()
            raise

    @property
    def head(self) -> Head:
        """Where the ledger stands."""
        return Head(self.records, self.chain.digest())

    def _check_whole(self) -> None:
        """What the chain does not cover: states, and that the latest queries are there.

        Earlier ones were there when their transaction ended; each is checked when it is read.
        """
        for use in self.uses:
            self.state(use)
        with explained(self.file.path):
            missing = self.file.connection.execute(
                "SELECT 1 FROM records WHERE seq > ? AND query <> x'' AND NOT EXISTS "
                "(SELECT 1 FROM contents WHERE contents.digest = records.query) LIMIT 1",
                (self.records - _FETCH,),
            ).fetchone()
        if missing:
            raise LedgerError(f"the store {self.file.path} was altered: a content is missing")
        if self._expected is not None and self._expected.records > self.records:
            raise LedgerError(
                f"{self.file.path} is an older copy: its latest records are lost; "
                "bring back the store that the expected head was read from"
            )

    @classmethod
    def create(cls, path: Path, header: dict[str, Any]) -> bool:
        """Make a ledger with no records; see `create_store`."""
        text = encode(header)
        return create_store(path, text, hashlib.sha256(text).digest())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep everybody else out, with the totals up to date."""
        with self.file.locked():
            self._catch_up()
            yield

    @contextmanager
    def writing(self) -> Iterator[Entries]:
        """Records that are on the disk when the body has ended, or none of them."""
        with self.file.transaction():
            entries = Entries(self)
            yield entries
            entries.finish()
        entries.adopt()

    def _catch_up(self) -> None:
        """Replay what others have written since, and check it against the chain."""
        path = self.file.path
        with explained(path):
            connection = self.file.connection
            head = connection.execute("SELECT seq, digest FROM head").fetchone()
            if head is None or (head[0] == self.records and head[1] != self.chain.digest()):
                raise LedgerError(f"the store {path} was altered: its records do not fit together")
            if head[0] != self.records or self.records == 0:
                self._replay(head)

    def _replay(self, head: tuple[int, bytes]) -> None:
        path, expected = self.file.path, self._expected
        if expected is not None and not expected.records and self.records == 0:
            self._compare(expected, self.chain)
        cursor = self.file.connection.execute(
            "SELECT seq, use, kind, query, body FROM records WHERE seq > ? ORDER BY seq",
            (self.records,),
        )
        while rows := cursor.fetchmany(_FETCH):
            chain = self.chain.copy()
            try:
                for row in rows:
                    chain.update(_framed(*row))
                    if expected is not None and row[0] == expected.records:
                        self._compare(expected, chain)
                self.follow(rows, chain)
            except (TypeError, struct.error, KeyError):
                raise LedgerError(f"the store {path} was altered: a record is damaged") from None
        if (self.records, self.chain.digest()) != head:
            raise LedgerError(f"the store {path} was altered: its records do not fit together")

    def _compare(self, expected: Head, chain: Any) -> None:
        if chain.digest() != expected.digest:
            raise LedgerError(
                f"{self.file.path} is not the store that the expected head was read from"
            )

    def follow(self, rows: Sequence[tuple[int, int, int, bytes, bytes]], chain: Any) -> None:
        """Take records into the totals, with the chain after them."""
        for seq, use, kind, query, body in rows:
            if kind == Kind.BEGIN:
                self.uses[use] = UseTotals(use, seq)
            else:
                self.uses[use].follow(seq, kind, query, body)
            self.records = seq
        self.chain = chain

    def record(self, seq: int) -> tuple[bytes, dict[str, Any]]:
        """Query digest and plain values of one record."""
        with explained(self.file.path):
            row = self.file.connection.execute(
                "SELECT query, body FROM records WHERE seq = ?", (seq,)
            ).fetchone()
        if row is None:
            raise LedgerError(f"the store {self.file.path} was altered: a record is missing")
        return row[0], decode(row[1], self.file.path)

    def content(self, digest: bytes) -> bytes:
        """Large contents by their digest, checked."""
        with explained(self.file.path):
            row = self.file.connection.execute(
                "SELECT data FROM contents WHERE digest = ?", (digest,)
            ).fetchone()
        data = None if row is None else _unpacked(row[0])
        if data is None or hashlib.sha256(data).digest() != digest:
            raise LedgerError(f"the store {self.file.path} was altered: a content does not fit")
        return data

    def state(self, use: int) -> StoredState | None:
        """Where a session's mechanism stands, checked; None before it has started."""
        seq = self.uses[use].state
        if seq is None:
            return None
        _, body = self.record(seq)
        with explained(self.file.path):
            row = self.file.connection.execute(
                "SELECT record, nonce, public, secret FROM states WHERE use = ?", (use,)
            ).fetchone()
        if row is not None and row[0] == seq:
            state = StoredState(row[2], row[3])
            told, found = body.get("state"), _seal(row[1], state)
            # Without its secret a state is still good for `interrupted`.
            if told == found or (state.secret is None and told and told[0] == found[0]):
                return state
        raise LedgerError(f"the store {self.file.path} was altered: a state does not fit")

    def close(self) -> None:
        """Give the store back."""
        self.file.close()


def encode(value: dict[str, Any]) -> bytes:
    """Plain values as bytes."""
    return json.dumps(value, separators=(",", ":")).encode()


def decode(text: bytes, path: Path) -> dict[str, Any]:
    """Plain values from bytes."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise LedgerError(f"the store {path} was altered: a record is damaged")
    return value


def _unpacked(kept: bytes) -> bytes | None:
    if kept[:1] == _PLAIN:
        return kept[1:]
    try:
        return zlib.decompress(kept[1:])
    except zlib.error:
        return None


def _framed(seq: int, use: int, kind: int, query: bytes, body: bytes) -> bytes:
    return _FRAME.pack(seq, use, kind, len(query), len(body)) + query + body


def _seal(nonce: bytes, state: StoredState) -> list[str]:
    """Digest of the public part, commitment to the secret part."""
    return [
        hashlib.sha256(state.public).hexdigest(),
        hashlib.sha256(nonce + (state.secret or b"")).hexdigest(),
    ]
