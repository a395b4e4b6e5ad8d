"""What a ledger holds: kinds of records, what they add up to, states, and the head of the chain."""

import hashlib
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Self, final

from graphcuts_dp.errors import ParameterError

DIGEST_SIZE = hashlib.sha256().digest_size


class Kind(IntEnum):
    """What a record tells. The numbers are part of the file format."""

    BEGIN = 1  # a use of the data was begun: its whole cost is spent
    STARTED = 2  # its mechanism has its first state
    RESERVE = 3  # steps are about to be made
    ANSWER = 4  # the answer of a step
    CORRECTION = 5  # the answer of a step that corrected the hypothesis
    RELEASE = 6  # reserved steps that were not made: the mechanism had stopped before them
    INTERRUPTED = 7  # reserved steps that were lost count as spent
    UNGUARANTEED = 8  # an answer after the mechanism had stopped; it cost nothing
    SNAPSHOT = 9  # the hypothesis after all corrections so far
    FINISHED = 10  # a use that is no session has handed over its result


@final
@dataclass(frozen=True)
class Head:
    """Where a ledger stood: whoever keeps it can tell a later copy from an older one.

    It may be shown: the digest starts with a header that holds 32 random bytes, known to the store
    alone, and so tells nothing of the private data or of the records.

    Attributes:
        records: how many there were.
        digest: SHA-256 of the header and all of them.
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
            found = cls(int(number), bytes.fromhex(digest))
        except ValueError:
            found = cls(-1, b"")
        if found.records < 0 or len(found.digest) != DIGEST_SIZE or str(found) != text.strip():
            raise ParameterError(
                "a head is what `store status` prints, a number and 64 digits: 12:3fa9..."
            )
        return found


@final
@dataclass
class UseTotals:
    """What replaying the records of one use of the data gives; most of it is about sessions.

    Attributes:
        number: of the use, from 1.
        begin: number of its BEGIN record.
        started: whether a session's mechanism has a state, or another use has its result.
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
            self.reserved += len(body) // DIGEST_SIZE
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
        elif kind == Kind.FINISHED:
            self.started = True


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
