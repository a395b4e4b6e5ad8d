"""The chain of the audit log: each line holds the digest of all lines before it.

Whoever has kept a head (the number of a line and its digest) can tell later whether the log still
begins with the same lines. The first digest is that of 32 random bytes, which go out with an export
of the log and with nothing else, so that a head alone tells nothing.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.ledger.ledger import Head


@final
@dataclass(frozen=True)
class LogLine:
    """One line of the audit log.

    Attributes:
        seq: its number, from 1.
        time: in UTC, as ISO 8601 writes it.
        who: whose request it was; "console" for commands on the curator's machine.
        what: kind of event.
        body: the rest, as the text of a JSON object.
    """

    seq: int
    time: str
    who: str
    what: str
    body: str


def first_digest(salt: bytes) -> bytes:
    """What the chain starts with."""
    return hashlib.sha256(b"audit log of graphcuts_dp\0" + salt).digest()


def digest_of_entry(before: bytes, entry: LogLine) -> bytes:
    """Digest of a line and of all before it."""
    line = [entry.seq, entry.time, entry.who, entry.what, entry.body]
    return hashlib.sha256(before + json.dumps(line).encode()).digest()


def verify(
    salt: bytes, lines: Iterable[tuple[LogLine, bytes]], expected: Head | None = None
) -> Head:
    """Compute the chain again.

    Args:
        salt: what it starts with.
        lines: all lines in order, each with the digest that is kept beside it.
        expected: a head that was kept at some time; None if nobody did.

    Returns:
        The present head.

    Raises:
        LedgerError: a line was changed, added, left out or moved; or the log does not go on from
            the expected head.
    """
    digest, number = first_digest(salt), 0
    met = expected is None or (expected.records == 0 and expected.digest == digest)
    for entry, kept in lines:
        digest = digest_of_entry(digest, entry)
        if entry.seq != number + 1 or kept != digest:
            raise LedgerError(f"the audit log was altered at line {number + 1}")
        number = entry.seq
        if expected is not None and expected.records == number:
            if expected.digest != digest:
                raise LedgerError(f"line {number} of the audit log is not that of the kept head")
            met = True
    if not met:
        raise LedgerError("the audit log is shorter than at the kept head: lines are missing")
    return Head(number, digest)


def read_export(text: str) -> tuple[bytes, list[tuple[LogLine, bytes]]]:
    """An exported log: JSON lines, first one with the salt.

    Raises:
        ParameterError: something else.
    """
    try:
        header, *lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        salt = bytes.fromhex(header["salt"])
        return salt, [_line(values) for values in lines]
    except (ValueError, LookupError, TypeError):
        raise ParameterError("that is no audit log as `serve access log` writes it") from None


def _line(values: dict[str, Any]) -> tuple[LogLine, bytes]:
    entry = LogLine(*(values[name] for name in ("seq", "time", "who", "what", "body")))
    return entry, bytes.fromhex(values["digest"])


def log_text(salt: bytes, lines: Iterable[tuple[LogLine, bytes]]) -> str:
    """A log as JSON lines: first what its chain starts with, then each line."""
    header = {"log": "graphcuts_dp server", "salt": salt.hex()}
    return "".join(
        json.dumps(each) + "\n" for each in [header, *(line_of(*each) for each in lines)]
    )


def line_of(entry: LogLine, digest: bytes) -> dict[str, Any]:
    """A line of an exported log as plain values."""
    return {**vars(entry), "digest": digest.hex()}
