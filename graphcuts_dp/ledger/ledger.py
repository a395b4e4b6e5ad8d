"""The durable record of what was asked, spent and answered about one private data set.

Records are numbered from 1 and never change. A running SHA-256 over the header and all records up
to the last one is stored beside them, so that a reader notices if records were lost, altered, added
or reordered. All totals come from records. Large contents (queries, hypotheses) are in a table of
their own under their SHA-256, which the records name; they are checked when they are read. The
state that a mechanism continues from (`StoredState`) is replaced by each step; the record of the
step holds a digest of the public part, and a commitment to the secret part that is salted with a
nonce, which is overwritten together with the secret.

**Checkpoints.** After some records there is a CHECKPOINT record. It holds the sums of the costs of
all uses before it, and the value of the running digest, which starts again from that value. To
charge one more use, the records from the latest checkpoint on suffice, so the time does not depend
on the number of earlier uses. Everything else reads and checks all records (`Ledger.uses`), and
compares each checkpoint with the sums of the records before it.

The digests detect accidents and edits; by themselves they cannot detect that somebody put back an
older copy, or recomputed every digest. Whoever may write the store is trusted; whoever keeps a
`Head` notices an older copy.

The steps of a query in a session, and what a crash between them leaves:
    1. RESERVE is committed              before: nothing was spent, nothing is lost
    2. noise is drawn, the mechanism     in between: the reservation counts as spent; the next
       takes its step                    process that opens the store records INTERRUPTED, once
    3. ANSWER and the next state are committed in one transaction
    4. the answer is shown               before: it is on the record, and asking again shows it
Between 1 and 3 the store is locked, so a reservation without an answer that another process sees
belongs to a dead process. A failed commit in 1 spends nothing; in 3 it counts as a crash.
"""

import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.former_names import current
from graphcuts_dp.ledger.file import StoreFile, create_store, explained
from graphcuts_dp.ledger.plain_values import check_intact, from_plain
from graphcuts_dp.ledger.records import (
    Entries,
    Head,
    Kind,
    Row,
    StoredState,
    UseTotals,
    decode,
    encode,
    extend_chain,
    seal,
    unpack_content,
)
from graphcuts_dp.ledger.spending import Coverage, SpendingTotals
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee

_FETCHED_RECORDS = 4096  # records that are read at a time; a transaction has far fewer
_STATEMENT_VALUES = 500  # values of one statement: SQLite allows at least 999
_CHECKPOINT_RECORDS = 64  # after so many records, a transaction begins with a checkpoint
# Version of the rules by which spending is added up: raise it when `SpendingTotals` or `Coverage`
# compute other sums from the same records. Checkpoints of other versions are not used.
_SUMMING_RULES = 1


@final
class Ledger:
    """An open ledger. Every method that reads or writes must be called within `locked`.

    Args:
        path: an existing store.
        timeout: seconds to wait for other processes and threads.
        expected: an earlier head of the ledger; None if none is known.
        whole: True reads and checks all records. False reads from the latest checkpoint on, which
            suffices to charge a use and to finish it; earlier records are read if needed.
        read_only: as for `StoreFile`.

    Attributes:
        file: the store.
        header: what the ledger is about, plain values.
        records: number of records.
        chain: running SHA-256 of header and records.
        joined: numbers of the JOINED records, each of other data about the same people.
        registry: number of the latest REGISTRY record; None if there is none.

    Raises:
        LedgerError: the store is damaged, altered, cut short, of another version, older than
            `expected`, or busy.
    """

    def __init__(
        self,
        path: Path,
        *,
        timeout: float = 30.0,
        expected: Head | None = None,
        whole: bool = True,
        read_only: bool = False,
    ) -> None:
        self.file: StoreFile = StoreFile(path, timeout=timeout, read_only=read_only)
        self._expected = expected
        self._reset()
        try:
            self.header: Any = current(decode(self.file.header, path))
            with self.file.locked():
                if whole or expected is not None or not self._begin_at_checkpoint():
                    self._read_whole()
                else:
                    self._catch_up()
        except BaseException:
            self.file.close()
            raise

    def _reset(self) -> None:
        """Set all totals to those before the first record."""
        self.records: int = 0
        self.chain: Any = hashlib.sha256(self.file.header)
        self.joined: list[int] = []
        self.registry: int | None = None
        self._is_unread = True  # whether no record was read yet
        self._whole = True  # whether reading began at the first record
        self._uses: dict[int, UseTotals] = {}  # of the records that were read
        self._checkpoint = 0  # number of the latest CHECKPOINT record
        # Costs are added up when `spending` needs them: `_uncounted` has the bodies of the BEGIN
        # records that `_spending` does not include yet.
        self._spending: SpendingTotals | None = None
        self._uncounted: list[bytes] = []

    def _begin_at_checkpoint(self) -> bool:
        """Set all totals to those before the latest checkpoint; False if no checkpoint can be used.

        The digest of all records from there on proves that the checkpoint is as it was written.
        """
        path = self.file.path
        with explained(path):
            row = self.file.connection.execute(
                "SELECT seq, body FROM records WHERE kind = ? ORDER BY seq DESC LIMIT 1",
                (Kind.CHECKPOINT,),
            ).fetchone()
        if row is None:
            return False
        with check_intact(f"the store {path} was altered: a checkpoint is damaged"):
            seq, body = row[0], decode(row[1], path)
            if body["rules"] != _SUMMING_RULES:
                return False
            self.records, self.chain = seq - 1, _DigestValue(bytes.fromhex(body["before"]))
            self.joined = [int(record) for record in body["joined"]]
            self.registry = None if body["registry"] is None else int(body["registry"])
            self._spending = SpendingTotals.from_dict(body["spending"])
            self._whole = False
        return True

    def _read_whole(self) -> None:
        """Read and check all records."""
        self._reset()
        self.file.check_pages()
        self._catch_up()
        self._check_whole()

    @property
    def uses(self) -> Mapping[int, UseTotals]:
        """Return the totals of each use of the data, by number. Within `locked`."""
        if not self._whole:
            self._read_whole()
        return self._uses

    def totals(self, use: int) -> UseTotals:
        """Return the totals of one use. Reads earlier records if it began there. Within `locked`.

        Args:
            use: its number.
        """
        return self._uses[use] if use in self._uses else self.uses[use]

    def answers(self, use: int) -> Mapping[bytes, int]:
        """Return the number of the record of the latest answer to each query of a session.

        The first call reads them; they are kept up to date until `forget_answers`. Within `locked`.

        Args:
            use: number of the session.

        Returns:
            Numbers of records by digest of the query.
        """
        totals = self.totals(use)
        if totals.answers is None:
            statement = "SELECT query, seq FROM records WHERE seq IN ({}) ORDER BY seq"
            latest: dict[bytes, int] = {}
            with explained(self.file.path):
                for start in range(0, len(totals.shown), _STATEMENT_VALUES):
                    records = totals.shown[start : start + _STATEMENT_VALUES].tolist()
                    marks = ",".join("?" * len(records))
                    latest.update(self.file.connection.execute(statement.format(marks), records))
            totals.answers = latest
        return totals.answers

    def forget_answers(self, use: int) -> None:
        """Free the memory of `answers`, which can be read again."""
        if use in self._uses:
            self._uses[use].answers = None

    @property
    def spending(self) -> SpendingTotals:
        """Return the costs of all uses, added up. Within `locked`.

        Raises:
            LedgerError: a record is damaged.
        """
        with check_intact(
            f"the store {self.file.path} was written by another version, or is damaged"
        ):
            if self._spending is None:
                budget = self.header["budget"]
                limits = None if budget is None else (budget["epsilon"], budget["delta"])
                self._spending = SpendingTotals.under(limits)
            while self._uncounted:
                use = current(decode(self._uncounted[0], self.file.path))
                self._spending.add([_coverage_and_cost(use)])
                del self._uncounted[0]
            return self._spending

    @property
    def head(self) -> Head:
        """Return the position of the latest record."""
        return Head(self.records, self.chain.digest())

    def _check_whole(self) -> None:
        """Check what the chain does not cover: states, and that no recent query is missing.

        Only queries of the last `_FETCHED_RECORDS` records are looked for. Other queries are
        checked when they are read.

        Raises:
            LedgerError: a state does not fit, a query is missing, or this is an older copy.
        """
        for use in self._uses:
            self.state(use)
        with explained(self.file.path):
            missing = self.file.connection.execute(
                "SELECT 1 FROM records WHERE seq > ? AND query <> x'' AND NOT EXISTS "
                "(SELECT 1 FROM contents WHERE contents.digest = records.query) LIMIT 1",
                (self.records - _FETCHED_RECORDS,),
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
        """Create a ledger with no records, and return whether it was created; see `create_store`.

        Args:
            path: of the new store.
            header: what the ledger is about, plain values.
        """
        text = encode(header)
        return create_store(path, text, hashlib.sha256(text).digest())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads and processes out of the store, with the totals up to date.

        Raises:
            LedgerError: as `StoreFile.locked`, or what others have written is damaged.
        """
        with self.file.locked():
            self._catch_up()
            yield

    @contextmanager
    def writing(self) -> Iterator[Entries]:
        """Yield an object that writes records: all are on the disk after the body, or none.

        Raises:
            LedgerError: as `StoreFile.transaction`.
        """
        is_due = self.records - self._checkpoint >= _CHECKPOINT_RECORDS
        checkpoint = self._checkpoint_body() if is_due else None
        with self.file.transaction() as connection:
            entries = Entries(connection, self.records, self.chain.copy())
            if checkpoint is not None:
                entries.add(Kind.CHECKPOINT, 0, checkpoint)
            yield entries
            connection.execute(
                "UPDATE head SET seq = ?, digest = ?", (entries.records, entries.chain.digest())
            )
        self._count(entries.rows, entries.chain)

    def _catch_up(self) -> None:
        """Read the records that others have written since, and check them against the chain."""
        path = self.file.path
        with explained(path):
            connection = self.file.connection
            head = connection.execute("SELECT seq, digest FROM head").fetchone()
            if head is None or (head[0] == self.records and head[1] != self.chain.digest()):
                raise LedgerError(f"the store {path} was altered: its records do not fit together")
            if head[0] != self.records or self._is_unread:
                self._is_unread = False
                self._read_up_to(head)

    def _read_up_to(self, head: tuple[int, bytes]) -> None:
        """Read the records after those that were read, and check that they end at a head.

        Args:
            head: number of the last record, and the chain after it, as the store has them.

        Raises:
            LedgerError: they do not, or a record is damaged, or they are not those of `expected`.
        """
        path, expected = self.file.path, self._expected
        if expected is not None and not expected.records and self.records == 0:
            self._check_expected(expected, self.chain)
        cursor = self.file.connection.execute(
            "SELECT seq, use, kind, query, body FROM records WHERE seq > ? ORDER BY seq",
            (self.records,),
        )
        while rows := cursor.fetchmany(_FETCHED_RECORDS):
            chain = self.chain.copy()
            try:
                for row in rows:
                    chain = extend_chain(chain, row)
                    if expected is not None and row[0] == expected.records:
                        self._check_expected(expected, chain)
                self._count(rows, chain)
            except (TypeError, struct.error, KeyError, ValueError):
                raise LedgerError(f"the store {path} was altered: a record is damaged") from None
        if (self.records, self.chain.digest()) != head:
            raise LedgerError(f"the store {path} was altered: its records do not fit together")

    def _check_expected(self, expected: Head, chain: Any) -> None:
        """Check the chain after the last record of an expected head.

        Raises:
            LedgerError: it is another one.
        """
        if chain.digest() != expected.digest:
            raise LedgerError(
                f"{self.file.path} is not the store that the expected head was read from"
            )

    def _count(self, rows: Sequence[Row], chain: Any) -> None:
        """Add records to the totals.

        Args:
            rows: the records, in order.
            chain: after the last one.
        """
        for seq, use, kind, query, body in rows:
            if kind == Kind.BEGIN:
                self._uses[use] = UseTotals(use, seq)
                self._uncounted.append(body)
            elif kind == Kind.JOINED:
                self.joined.append(seq)
            elif kind == Kind.CHECKPOINT:
                self._check_checkpoint(decode(body, self.file.path))
                self._checkpoint = seq
            elif kind == Kind.REGISTRY:
                self.registry = seq
            elif use in self._uses or self._whole:
                self._uses[use].add(seq, kind, query, body)
            self.records = seq
        self.chain = chain

    def _checkpoint_body(self) -> dict[str, Any]:
        """Return the body of a checkpoint after the latest record."""
        return {
            "before": self.chain.digest().hex(),
            "rules": _SUMMING_RULES,
            "joined": self.joined,
            "registry": self.registry,
            "spending": self.spending.to_dict(),
        }

    def _check_checkpoint(self, stored: dict[str, Any]) -> None:
        """Check the body of a checkpoint against the records before it.

        Raises:
            LedgerError: they do not fit together.
        """
        with check_intact(f"the store {self.file.path} was altered: a checkpoint is damaged"):
            fits = (stored["joined"], stored["registry"]) == (self.joined, self.registry)
            if stored["rules"] == _SUMMING_RULES:
                fits &= self.spending.agrees(SpendingTotals.from_dict(stored["spending"]))
        if not fits:
            raise LedgerError(
                f"the store {self.file.path} was altered: a checkpoint is not what the uses before "
                "it add up to"
            )

    def record(self, seq: int) -> tuple[bytes, dict[str, Any]]:
        """Return the digest of the query (empty if none) and the plain values of a record.

        Raises:
            LedgerError: it is missing or damaged.
        """
        with explained(self.file.path):
            row = self.file.connection.execute(
                "SELECT query, body FROM records WHERE seq = ?", (seq,)
            ).fetchone()
        if row is None:
            raise LedgerError(f"the store {self.file.path} was altered: a record is missing")
        return row[0], current(decode(row[1], self.file.path))

    def content(self, digest: bytes) -> bytes:
        """Return a large content by its SHA-256, checked.

        Raises:
            LedgerError: it is missing or damaged.
        """
        with explained(self.file.path):
            row = self.file.connection.execute(
                "SELECT data FROM contents WHERE digest = ?", (digest,)
            ).fetchone()
        data = None if row is None else unpack_content(row[0])
        if data is None or hashlib.sha256(data).digest() != digest:
            raise LedgerError(f"the store {self.file.path} was altered: a content does not fit")
        return data

    def state(self, use: int) -> StoredState | None:
        """Return the state of the mechanism of a use, checked; None before it has started.

        Raises:
            LedgerError: it is missing or damaged.
        """
        seq = self.totals(use).state
        if seq is None:
            return None
        _, body = self.record(seq)
        with explained(self.file.path):
            row = self.file.connection.execute(
                "SELECT record, nonce, public, secret FROM states WHERE use = ?", (use,)
            ).fetchone()
        if row is not None and row[0] == seq:
            state = StoredState(row[2], row[3])
            recorded, computed = body.get("state"), seal(row[1], state)
            # A state without its secret is enough to record an interruption.
            if recorded == computed or (
                state.secret is None and recorded and recorded[0] == computed[0]
            ):
                return state
        raise LedgerError(f"the store {self.file.path} was altered: a state does not fit")

    def check_all(self) -> int:
        """Check every page, record, state and content, from the first one on.

        Returns:
            Number of contents.

        Raises:
            LedgerError: something was altered or is damaged.
        """
        path, connection = self.file.path, self.file.connection
        with explained(path):
            if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                raise LedgerError(f"the store {path} is damaged: it was cut short or altered")
            chain: Any = hashlib.sha256(self.file.header)
            rows = connection.execute(
                "SELECT seq, use, kind, query, body FROM records ORDER BY seq"
            )
            for row in rows:
                chain = extend_chain(chain, row)
            digests = [digest for (digest,) in connection.execute("SELECT digest FROM contents")]
        if chain.digest() != self.chain.digest():
            raise LedgerError(f"the store {path} was altered: its records do not fit together")
        for use in self.uses:
            self.state(use)
        for digest in digests:
            self.content(digest)
        return len(digests)

    def close(self) -> None:
        """Close the store."""
        self.file.close()


def _coverage_and_cost(use: dict[str, Any]) -> tuple[Coverage | None, Cost]:
    """Return the periods that a BEGIN record counts for, and its cost.

    Raises:
        LookupError, TypeError, ValueError, ArithmeticError, AttributeError: it is no such record,
            see `plain_values.DAMAGED`.
    """
    periods, column = use.get("periods"), use.get("column", "")
    if periods is not None and not (isinstance(periods, list) and periods and all(periods)):
        raise ValueError("there are no periods, or one has no label")
    labels = from_plain(tuple[str, ...] | None, periods)
    # A record leaves out fields of the guarantee that have their default value.
    unit = from_plain(str, use["guarantee"].get("privacy_unit", PrivacyGuarantee.privacy_unit))
    coverage = Coverage.of(labels, from_plain(str, column), unit)
    return coverage, from_plain(Cost, use["cost"])


@final
class _DigestValue:
    """A running digest of which only the value is known, so that a checkpoint must follow."""

    def __init__(self, value: bytes) -> None:
        self._value = value

    def digest(self) -> bytes:
        """Return the value."""
        return self._value

    def copy(self) -> "_DigestValue":
        """Return this object, which never changes."""
        return self
