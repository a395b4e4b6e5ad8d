"""Records of a ledger: their kinds, how they are written, and the totals of those of one use.

`Entries` writes records within a transaction of the store. Each record extends a running SHA-256
(`extend_chain`), which every reader computes again. `UseTotals` adds up the records of one use of
the data. `ledger` has the order in which records are written, and the reasons.
"""

import hashlib
import json
import secrets
import sqlite3
import struct
import zlib
from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any, Self, cast, final

from graphcuts_dp.errors import LedgerError, ParameterError

DIGEST_SIZE = hashlib.sha256().digest_size
Row = tuple[int, int, int, bytes, bytes]  # number, use, kind, query, body
_FRAME = struct.Struct(">QqBQQ")  # number, use, kind, and lengths of query and body
_PLAIN, _COMPRESSED = b"\0", b"\1"  # first byte of a stored content


class Kind(IntEnum):
    """Kinds of records. The numbers are part of the file format."""

    BEGIN = 1  # a use of the data was begun: its whole cost is spent
    STARTED = 2  # its mechanism has its first state
    RESERVE = 3  # budget is reserved for steps that follow
    ANSWER = 4  # the answer of a step
    CORRECTION = 5  # the answer of a step that corrected the hypothesis
    RELEASE = 6  # reserved steps will not be made: the mechanism had stopped before them
    INTERRUPTED = 7  # reserved steps were lost in a crash, and count as spent
    UNGUARANTEED = 8  # an answer after the mechanism had stopped; it cost nothing
    SNAPSHOT = 9  # the hypothesis after all corrections so far
    FINISHED = 10  # what a use that is no session has measured; only then may it leave the process
    RESUMED = 11  # an interrupted use is measured again
    SAVED = 12  # the files that hold the result of a use
    JOINED = 13  # other data about the same people share the budget; it belongs to no use
    CHECKPOINT = 14  # what all uses so far add up to; it belongs to no use
    REGISTRY = 15  # who may use a server has changed, see `server.pairing`; it belongs to no use
    MEASURED = 16  # first measurement of a use that has two
    PERIOD = 17  # what a series has published with one period, see `series`
    ENDED = 18  # a series publishes no more: its secret state was erased


@final
@dataclass(frozen=True)
class Head:
    """Position of a ledger: whoever keeps it can tell a later copy from an older one.

    It may be shown: the digest starts with a header that holds 32 random bytes, known to the store
    alone, and so reveals nothing of the private data or of the records.

    Attributes:
        records: number of records.
        digest: SHA-256 of the header and all records.
    """

    records: int
    digest: bytes

    def __str__(self) -> str:
        return f"{self.records}:{self.digest.hex()}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote.

        Raises:
            ParameterError: it is something else.
        """
        number, _, digest = text.strip().partition(":")
        try:
            head = cls(int(number), bytes.fromhex(digest))
        except ValueError:
            head = cls(-1, b"")
        if head.records < 0 or len(head.digest) != DIGEST_SIZE or str(head) != text.strip():
            raise ParameterError(
                "a head is what `store status` prints, a number and 64 digits: 12:3fa9..."
            )
        return head


@final
@dataclass(slots=True)
class UseTotals:
    """Totals of the records of one use of the data; most of them are about sessions.

    It is small, since a server keeps that of each session for as long as it runs.

    Attributes:
        number: of the use, from 1.
        begin: number of its BEGIN record.
        started: whether the mechanism of a session has a state, or another use has a measurement.
        reserved: steps that are reserved and not yet answered.
        corrected: number of answers that corrected the hypothesis.
        interruptions: number of all INTERRUPTED records.
        lost: numbers of the INTERRUPTED records since the latest answer.
        answers: number of the record of the latest answer, by digest of the query; None until
            `Ledger.answers` is called.
        shown: numbers of the records of all answers, in order.
        snapshot: number of the SNAPSHOT record of the latest hypothesis; None if absent.
        corrections: numbers of the CORRECTION records since that snapshot.
        state: number of the record that the stored state belongs to; None if absent.
        measured: number of the MEASURED record; None if absent.
        finished: number of the FINISHED record; None if absent.
        saved: numbers of the SAVED records, in order.
        published: numbers of the PERIOD records of a series, in order.
        ended: number of the ENDED record of a series; None if absent.
    """

    number: int
    begin: int
    started: bool = False
    reserved: int = 0
    corrected: int = 0
    interruptions: int = 0
    lost: tuple[int, ...] = ()
    answers: dict[bytes, int] | None = None
    shown: "array[int]" = field(default_factory=partial(array, "q"))
    snapshot: int | None = None
    corrections: tuple[int, ...] = ()
    state: int | None = None
    measured: int | None = None
    finished: int | None = None
    saved: tuple[int, ...] = ()
    published: tuple[int, ...] = ()
    ended: int | None = None

    def add(self, seq: int, kind: int, query: bytes, body: bytes) -> None:
        """Add one more record of the use.

        Args:
            seq: number of the record.
            kind: one of `Kind`.
            query: digest of its query; empty if it has none.
            body: its plain values, encoded; for a RESERVE record the digests of its steps.
        """
        if kind in (Kind.ANSWER, Kind.CORRECTION):
            self._show(query, seq)
            self.lost = ()
            self.reserved -= 1
            self.state = seq
            if kind == Kind.CORRECTION:
                self.corrections += (seq,)
                self.corrected += 1
        elif kind == Kind.RESERVE:
            self.reserved += len(body) // DIGEST_SIZE
        elif kind in (Kind.RELEASE, Kind.INTERRUPTED):
            self.reserved = 0
            if kind == Kind.INTERRUPTED:
                self.interruptions += 1
                self.lost += (seq,)
                self.state = seq
        elif kind == Kind.UNGUARANTEED:
            self._show(query, seq)
        elif kind == Kind.SNAPSHOT:
            self.snapshot = seq
            self.corrections = ()
        elif kind == Kind.STARTED:
            self.started = True
            self.state = seq
        elif kind == Kind.MEASURED:
            self.measured = seq
        elif kind == Kind.FINISHED:
            self.started = True
            self.finished = seq
        elif kind == Kind.SAVED:
            self.saved += (seq,)
        elif kind == Kind.PERIOD:
            self.started = True
            self.state = seq
            self.published += (seq,)
        elif kind == Kind.ENDED:
            self.state = self.ended = seq

    def _show(self, query: bytes, seq: int) -> None:
        """Add the record of an answer that was shown."""
        self.shown.append(seq)
        if self.answers is not None:
            self.answers[query] = seq


@final
@dataclass(frozen=True)
class StoredState:
    """State that a mechanism continues from. Secret: no repr, no export.

    Attributes:
        public: `State.public`.
        secret: `State.secret`; None if it was lost.
    """

    public: bytes = field(repr=False)
    secret: bytes | None = field(repr=False)


@final
class Entries:
    """Records that are being written in one transaction.

    Args:
        connection: within a transaction.
        records: number of the last record before it.
        chain: running digest after that record.

    Attributes:
        records: number of the last record so far.
        chain: running digest after that record.
        rows: the records so far.
    """

    def __init__(self, connection: sqlite3.Connection, records: int, chain: Any) -> None:
        self._connection = connection
        self.records: int = records
        self.chain: Any = chain
        self.rows: list[Row] = []

    def add(
        self,
        kind: Kind,
        use: int,
        body: bytes | dict[str, Any],
        *,
        query: bytes = b"",
        state: StoredState | None = None,
    ) -> None:
        """Append a record, and store the state of its use if there is a new one.

        Args:
            kind: of the record.
            use: number of the use; 0 for a record that belongs to none.
            body: plain values, or their encoding.
            query: digest of the query; empty if it has none.
            state: next state of the use, which replaces the stored one; `body` must then be plain
                values.
        """
        nonce = secrets.token_bytes(32)
        if state is not None:
            body = {**cast(dict[str, Any], body), "state": seal(nonce, state)}
        self.records += 1
        row = (self.records, use, int(kind), query, encode(body))
        self._connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)
        self.chain = extend_chain(self.chain, row)
        self.rows.append(row)
        if state is not None:
            self._connection.execute(
                "INSERT INTO states VALUES (?, ?, ?, ?, ?) ON CONFLICT (use) DO UPDATE SET "
                "record = excluded.record, nonce = excluded.nonce, public = excluded.public, "
                "secret = excluded.secret",
                (use, self.records, nonce, state.public, state.secret),
            )

    def add_content(self, data: bytes, *, packed: bool = False) -> bytes:
        """Store a large content, unless it is stored already, and return the digest that names it.

        Args:
            data: the content.
            packed: whether it is compressed already; else it is compressed here.
        """
        digest = hashlib.sha256(data).digest()
        compressed = data if packed else zlib.compress(data)
        stored = _COMPRESSED + compressed if len(compressed) < len(data) else _PLAIN + data
        self._connection.execute(
            "INSERT INTO contents (digest, data) SELECT :digest, :data "
            "WHERE NOT EXISTS (SELECT 1 FROM contents WHERE digest = :digest)",
            {"digest": digest, "data": stored},
        )
        return digest


def encode(value: bytes | dict[str, Any]) -> bytes:
    """Return plain values as JSON in bytes; bytes as they are."""
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


def decode(text: bytes, path: Path) -> dict[str, Any]:
    """Return plain values from JSON in bytes.

    Args:
        text: as `encode` returned it.
        path: of the store, for the message.

    Raises:
        LedgerError: it is no object of JSON.
    """
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise LedgerError(f"the store {path} was altered: a record is damaged")
    return value


def record_bytes(seq: int, use: int, kind: int, query: bytes, body: bytes) -> bytes:
    """Return the bytes of a record for the running digest; no two records have the same bytes."""
    return _FRAME.pack(seq, use, kind, len(query), len(body)) + query + body


def extend_chain(chain: Any, row: Row) -> Any:
    """Return the running digest with one more record; `chain` itself may be changed.

    A checkpoint holds the value of the digest before it, and the digest starts again from that
    value. So a reader who begins at the checkpoint computes the same digests.

    Raises:
        LookupError, ValueError: the checkpoint holds another value before it.
    """
    if row[2] == Kind.CHECKPOINT:
        before = chain.digest()
        if json.loads(row[4])["before"] != before.hex():
            raise ValueError("a checkpoint that follows other records")
        chain = hashlib.sha256(before)
    chain.update(record_bytes(*row))
    return chain


def unpack_content(stored: bytes) -> bytes | None:
    """Return a content as it was before it was stored; None if it is damaged."""
    if stored[:1] == _PLAIN:
        return stored[1:]
    try:
        return zlib.decompress(stored[1:])
    except zlib.error:
        return None


def seal(nonce: bytes, state: StoredState) -> list[str]:
    """Return a digest of the public part of a state, and a commitment to its secret part."""
    return [
        hashlib.sha256(state.public).hexdigest(),
        hashlib.sha256(nonce + (state.secret or b"")).hexdigest(),
    ]
