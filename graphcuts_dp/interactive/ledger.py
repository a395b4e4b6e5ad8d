"""The durable record of what was asked, spent and answered about one graph.

Records are numbered from 1 and never change. A running SHA-256 over the header and all records up
to the last one is kept beside them, so that records which were lost, altered, added or reordered
are noticed when the ledger is opened: opening reads every record again, and all totals come from
that. Large contents (queries, hypotheses) lie apart under their own SHA-256, which the records
name; they are checked when they are read. What a mechanism needs to go on (`StoredState`) is
replaced by each step; the record of the step holds a digest of the public part, and a commitment
to the secret part that is salted with a nonce, which is overwritten together with the secret.

The digests detect accidents and edits; they cannot detect that somebody put back an older copy of
all files, or recomputed every digest. Whoever may write the store is trusted.

Order of a step, by `Session`, and what a crash at each point leaves:
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.interactive.store import StoreFile, create_store, explained

_FRAME = struct.Struct(">QqBQQ")  # what the digest of a record starts with
_FETCH = 4096


class Kind(IntEnum):
    """What a record tells. The numbers are part of the file format."""

    BEGIN = 1  # a session was begun: its whole cost is spent
    STARTED = 2  # its mechanism has its first state
    RESERVE = 3  # steps are about to be made
    ANSWER = 4  # the answer of a step
    CORRECTION = 5  # the answer of a step that corrected the hypothesis
    RELEASE = 6  # reserved steps that were not made: the mechanism had stopped before them
    INTERRUPTED = 7  # reserved steps that were lost count as spent
    UNGUARANTEED = 8  # an answer after the mechanism had stopped; it cost nothing
    SNAPSHOT = 9  # the hypothesis after all corrections so far


ANSWERS = (Kind.ANSWER, Kind.CORRECTION, Kind.UNGUARANTEED)


@final
@dataclass
class SessionTotals:
    """What replaying the records of a session gives.

    Attributes:
        number: of the session, from 1.
        begin: number of its BEGIN record.
        started: whether its mechanism has a state.
        reserved: steps that are reserved and not yet answered.
        steps: answered steps.
        corrected: answers that corrected the hypothesis.
        interruptions: times that reserved steps were lost.
        lost: records of interruptions since the latest answer.
        answers: record of the latest answer, by digest of the query.
        shown: records of all answers, in order.
        snapshot: record of the latest hypothesis, or None.
        corrections: records of corrections since that snapshot.
        state: record that the stored state belongs to, or None.
    """

    number: int
    begin: int
    started: bool = False
    reserved: int = 0
    steps: int = 0
    corrected: int = 0
    interruptions: int = 0
    lost: list[int] = field(default_factory=list)
    answers: dict[bytes, int] = field(default_factory=dict)
    shown: list[int] = field(default_factory=list)
    snapshot: int | None = None
    corrections: list[int] = field(default_factory=list)
    state: int | None = None

    def follow(self, seq: int, kind: int, query: bytes, body: bytes) -> None:
        """Take one more record into account."""
        if kind in (Kind.ANSWER, Kind.CORRECTION):
            self.answers[query] = seq
            self.shown.append(seq)
            self.lost.clear()
            self.reserved -= 1
            self.steps += 1
            self.state = seq
            if kind == Kind.CORRECTION:
                self.corrections.append(seq)
                self.corrected += 1
        elif kind == Kind.RESERVE:
            self.reserved += len(body) // hashlib.sha256().digest_size
        elif kind in (Kind.RELEASE, Kind.INTERRUPTED):
            self.reserved = 0
            if kind == Kind.INTERRUPTED:
                self.interruptions += 1
                self.lost.append(seq)
                self.state = seq
        elif kind == Kind.UNGUARANTEED:
            self.answers[query] = seq
            self.shown.append(seq)
        elif kind == Kind.SNAPSHOT:
            self.snapshot = seq
            self.corrections.clear()
        elif kind == Kind.STARTED:
            self.started = True
            self.state = seq


@final
@dataclass(frozen=True)
class StoredState:
    """What a mechanism goes on from. Secret: no repr, no export.

    Attributes:
        public: `State.public`.
        secret: `State.secret`, or None if it was lost.
    """

    public: bytes = field(repr=False)
    secret: bytes | None = field(repr=False)


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

    def add(self, kind: Kind, session: int, body: bytes, query: bytes = b"") -> int:
        """Append a record; returns its number."""
        row = (self.next, session, int(kind), query, body)
        self._connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)
        self._chain.update(_framed(*row))
        self._rows.append(row)
        return row[0]

    def plain(self, kind: Kind, session: int, body: dict[str, Any], query: bytes = b"") -> None:
        """Append a record of plain values."""
        self.add(kind, session, encode(body), query)

    def content(self, data: bytes) -> bytes:
        """Keep large contents once; returns the digest that names them."""
        digest = hashlib.sha256(data).digest()
        self._connection.execute(
            "INSERT INTO contents (digest, data) SELECT :digest, :data "
            "WHERE NOT EXISTS (SELECT 1 FROM contents WHERE digest = :digest)",
            {"digest": digest, "data": data},
        )
        return digest

    def with_state(
        self,
        kind: Kind,
        session: int,
        body: dict[str, Any],
        state: StoredState,
        query: bytes = b"",
    ) -> int:
        """Append a record and replace the session's state by the one after it."""
        nonce = secrets.token_bytes(32)
        sealed = {**body, "state": _seal(nonce, state)}
        seq = self.add(kind, session, encode(sealed), query)
        self._connection.execute(
            "INSERT INTO states VALUES (?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET "
            "record = excluded.record, nonce = excluded.nonce, public = excluded.public, "
            "secret = excluded.secret",
            (session, seq, nonce, state.public, state.secret),
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

    Attributes:
        file: the store.
        header: what the ledger is about, plain values.
        records: how many records there are.
        chain: running SHA-256 of header and records.
        sessions: totals of each session, by number.

    Raises:
        LedgerError: damaged, altered, cut short, of another version, or busy.
    """

    def __init__(self, path: Path, *, timeout: float = 30.0) -> None:
        self.file = StoreFile(path, timeout=timeout)
        self.records = 0
        self.chain = hashlib.sha256(self.file.header)
        self.sessions: dict[int, SessionTotals] = {}
        try:
            self.header = decode(self.file.header, path)
            with self.locked():
                for session in self.sessions:
                    self.state(session)
        except BaseException:
            self.file.close(refused=True)
            raise

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
        self.file.mark(self.records, self.chain.digest())

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
        path, marked = self.file.path, self.file.marked
        cursor = self.file.connection.execute(
            "SELECT seq, session, kind, query, body FROM records WHERE seq > ? ORDER BY seq",
            (self.records,),
        )
        while rows := cursor.fetchmany(_FETCH):
            chain = self.chain.copy()
            try:
                for row in rows:
                    chain.update(_framed(*row))
                    if marked is not None and row[0] == marked[0] and chain.digest() != marked[1]:
                        raise LedgerError(f"the store {path} was altered since it was last used")
                self.follow(rows, chain)
            except (TypeError, struct.error, KeyError):
                raise LedgerError(f"the store {path} was altered: a record is damaged") from None
        if (self.records, self.chain.digest()) != head:
            raise LedgerError(f"the store {path} was altered: its records do not fit together")
        if marked is not None and marked[0] > self.records:
            raise LedgerError(
                f"the latest records of {path} are lost: {path.name}-wal is missing or cut short; "
                "bring that file back"
            )

    def follow(self, rows: Sequence[tuple[int, int, int, bytes, bytes]], chain: Any) -> None:
        """Take records into the totals, with the chain after them."""
        for seq, session, kind, query, body in rows:
            if kind == Kind.BEGIN:
                self.sessions[session] = SessionTotals(session, seq)
            else:
                self.sessions[session].follow(seq, kind, query, body)
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
        if row is None or hashlib.sha256(row[0]).digest() != digest:
            raise LedgerError(f"the store {self.file.path} was altered: a content does not fit")
        data: bytes = row[0]
        return data

    def state(self, session: int) -> StoredState | None:
        """Where a session's mechanism stands, checked; None before it has started."""
        seq = self.sessions[session].state
        if seq is None:
            return None
        _, body = self.record(seq)
        with explained(self.file.path):
            row = self.file.connection.execute(
                "SELECT record, nonce, public, secret FROM states WHERE session = ?", (session,)
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


def _framed(seq: int, session: int, kind: int, query: bytes, body: bytes) -> bytes:
    return _FRAME.pack(seq, session, kind, len(query), len(body)) + query + body


def _seal(nonce: bytes, state: StoredState) -> list[str]:
    """Digest of the public part, commitment to the secret part."""
    return [
        hashlib.sha256(state.public).hexdigest(),
        hashlib.sha256(nonce + (state.secret or b"")).hexdigest(),
    ]
