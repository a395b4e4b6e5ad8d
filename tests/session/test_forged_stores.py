"""Stores that were altered, with all digests computed anew, are refused in one line.

Digests detect accidents only: whoever can write the store can compute them again. Then the altered
values are read, and those that make no sense must be reported as damage.
"""

import hashlib
import itertools
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import session_workers as workers

from graphcuts_dp import GraphCutsError, LedgerError
from graphcuts_dp.ledger.records import (
    Kind,
    StoredState,
    encode,
    record_bytes,
    seal,
    unpack_content,
)

WITH_HYPOTHESIS = ("binary", "groups", "median", workers.LEARNT)  # which they store
METHODS = ("gaussian", *WITH_HYPOTHESIS, workers.DISTANCES)
ABSENT = object()  # stands for a value that is removed
WRONG_VALUES = [None, ABSENT, "x", -1, 10**400, float("nan"), 1.5, [], {}, [1, 2], "1/0", True]


class Forger:
    """Alters single values of a store and computes its digests anew.

    Each alteration starts from the original store.

    Attributes:
        records: kind, number and body of each record.
        state: public and secret part of the session's state.
        hypothesis: bytes of the hypothesis of the latest snapshot; empty if there is none.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._original = path, path.read_bytes()
        with self._alteration() as connection:
            self.records = connection.execute("SELECT kind, seq, body FROM records").fetchall()
            self.state = connection.execute("SELECT public, secret FROM states").fetchone()
            snapshot = "SELECT query FROM records WHERE kind = 9"
            (self._digest,) = connection.execute(snapshot).fetchone() or (b"",)
            content = "SELECT data FROM contents WHERE digest = ?"
            (packed,) = connection.execute(content, (self._digest,)).fetchone() or (b"\0",)
            self.hypothesis = unpack_content(packed)

    @contextmanager
    def _alteration(self) -> Iterator[sqlite3.Connection]:
        """Connect to a copy of the original store; at the end compute its digests anew."""
        self.path.write_bytes(self._original)
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            triggers = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
            triggers = connection.execute(triggers).fetchall()
            for name, _ in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            yield connection
            states = connection.execute("SELECT record, nonce, public, secret FROM states")
            seals = {seq: seal(nonce, StoredState(*state)) for seq, nonce, *state in states}
            (header,) = connection.execute("SELECT header FROM ledger").fetchone()
            chain = hashlib.sha256(header)
            for *row, body in connection.execute("SELECT * FROM records ORDER BY seq").fetchall():
                if row[0] in seals:
                    body = encode(json.loads(body) | {"state": seals[row[0]]})
                    connection.execute("UPDATE records SET body = ? WHERE seq = ?", (body, row[0]))
                chain.update(record_bytes(*row, body))
            connection.execute("UPDATE head SET digest = ?", (chain.digest(),))
            for _, sql in triggers:
                connection.execute(sql)

    def replace_record(self, seq: int, body: bytes) -> None:
        with self._alteration() as connection:
            connection.execute("UPDATE records SET body = ? WHERE seq = ?", (body, seq))

    def replace_state(self, public: bytes, secret: bytes) -> None:
        with self._alteration() as connection:
            connection.execute("UPDATE states SET public = ?, secret = ?", (public, secret))

    def replace_hypothesis(self, data: bytes) -> None:
        digest = hashlib.sha256(data).digest()
        with self._alteration() as connection:
            connection.execute(
                "UPDATE contents SET digest = ?, data = ? WHERE digest = ?",
                (digest, b"\0" + data, self._digest),
            )
            connection.execute(
                "UPDATE records SET query = ? WHERE query = ?", (digest, self._digest)
            )


def paths_of_values(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path, as keys and indices, of each value within a value of JSON."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from paths_of_values(value[key], (*path, key))


def forgeries(text: bytes, wrong_values: Iterator[Any]) -> Iterator[bytes]:
    """Yield JSON in which one value, each in turn, is replaced by the next wrong one."""
    for *parents, last in paths_of_values(json.loads(text)):
        container = forged = json.loads(text)
        for key in parents:
            container = container[key]
        container[last] = next(wrong_values)
        if container[last] is ABSENT:
            del container[last]
        yield json.dumps(forged).encode()


def forged_hypotheses(data: bytes) -> list[bytes]:
    """Return bytes with the digest of a hypothesis whose header or arrays are wrong.

    The format is: 8 bytes for the count, a line of magic, a digest of 32 bytes, a line of JSON that
    describes the arrays, the numbers.
    """
    count, body = data[:8], data[8:]
    magic = body[: body.index(b"\n") + 1]
    header, numbers = body[len(magic) + 32 :].split(b"\n", 1)
    header = json.loads(header)
    first, *others = header["arrays"]
    name, code, shape = first
    arrays = (
        None,
        [],
        others,
        [first[:2], *others],
        [["x", code, shape], *others],
        [[name, "x", shape], *others],
        [[name, "O", shape], *others],
        [[name, "<c16", [1]], *others],
        [[name, code, [*shape, 10**9]], *others],
        [[name, code, [-1]], *others],
        [[name, code, []], *others],
        [[name, code, [shape[0] - 1, *shape[1:]]], *others],
    )
    bodies = [
        json.dumps(header | {"arrays": wrong_arrays}).encode() + b"\n" + numbers
        for wrong_arrays in arrays
    ]
    bodies += [b"no line", b"no JSON\n", b"[]\n" + numbers, json.dumps(header).encode() + b"\n"]
    return [
        b"",
        data[:7],
        *(count + magic + hashlib.sha256(body).digest() + body for body in bodies),
    ]


def resume_and_ask(path: Path, method: str, queries: int = 4) -> GraphCutsError | None:
    """Resume a session and ask; return the refusal, or None if it goes on.

    Errors that are not the package's are raised. A refusal because digests do not fit would mean
    that the forger is wrong.
    """
    try:
        with workers.begin(path, method=method) as session:
            assert session.status
            session.ask_all([workers.query(number, method) for number in range(queries)])
    except GraphCutsError as problem:
        refusal = problem
    else:
        return None
    assert "\n" not in str(refusal)
    assert refusal.__cause__ is None  # a cause could quote a secret
    assert "do not fit together" not in str(refusal)
    return refusal


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


@pytest.fixture
def forger(tmp_path, method):
    """Return a forger of a store with three answers, which can be resumed."""
    path = tmp_path / "a.db"
    with workers.begin(path, method=method) as session:
        session.ask_all([workers.query(number, method) for number in range(3)])
    forger = Forger(path)
    assert resume_and_ask(path, method) is None
    return forger


@pytest.mark.thorough(cases=1)
def test_a_forged_record_or_state_is_refused_in_one_line_or_harmless(forger, method):
    wrong_values = itertools.cycle(WRONG_VALUES)
    refusals = []
    forged_kinds = {Kind.ANSWER, Kind.CORRECTION}
    if method == "gaussian":  # the record of the beginning is similar for all methods
        forged_kinds.add(Kind.BEGIN)
    last_record_of_kind = {kind: (seq, body) for kind, seq, body in forger.records}
    for kind, (seq, body) in last_record_of_kind.items():
        if kind in forged_kinds:
            for forged_body in forgeries(body, wrong_values):
                forger.replace_record(seq, forged_body)
                refusals.append(resume_and_ask(forger.path, method))
    public, secret = forger.state
    states = [(forged, secret) for forged in (b"", b"[]", b'"x"', *forgeries(public, wrong_values))]
    states += [
        (public, forged) for forged in (b"", b"{}", b'"x"', *forgeries(secret, wrong_values))
    ]
    for state in states:
        forger.replace_state(*state)
        # Nothing is asked: a test with a forged scale of noise may never end.
        refusals.append(resume_and_ask(forger.path, method, queries=0))
    assert sum(refusal is not None for refusal in refusals) > len(refusals) / 2


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("method", WITH_HYPOTHESIS, indirect=True)
def test_a_forged_hypothesis_is_refused_as_damage(forger, method):
    forged = (
        [b"", b"PK", forger.hypothesis[:99]]
        if method == "binary"
        else forged_hypotheses(forger.hypothesis)
    )
    for data in forged:
        forger.replace_hypothesis(data)
        refusal = resume_and_ask(forger.path, method)
        assert isinstance(refusal, LedgerError)
        assert str(refusal).startswith("the session cannot go on: ")
