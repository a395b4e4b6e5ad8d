"""Stores that somebody has altered, and then made every digest of anew: refused in one line.

The digests find accidents; whoever may write the store can make them again. Then what was altered
is read, and what cannot be read must be told as any other damage is.
"""

import hashlib
import itertools
import json
import sqlite3
from contextlib import closing, contextmanager

import pytest
import session_workers as workers

from graphcuts_dp import GraphCutsError, LedgerError
from graphcuts_dp.ledger.records import Kind, StoredState, encode, framed, seal, unpacked

METHODS = ("gaussian", "binary", "groups", "median", workers.LEARNT, workers.DISTANCES)
LEFT_OUT = object()
ODD = [None, LEFT_OUT, "x", -1, 10**400, float("nan"), 1.5, [], {}, [1, 2], "1/0", True]


class Forger:
    """Alters a store."""

    def __init__(self, path):
        self.path, self.whole = path, path.read_bytes()
        with self.altered() as connection:
            self.records = connection.execute("SELECT kind, seq, body FROM records").fetchall()
            self.states = connection.execute("SELECT public, secret FROM states").fetchone()
            latest = "SELECT query FROM records WHERE kind = 9"  # a snapshot
            (self.digest,) = connection.execute(latest).fetchone() or (b"",)
            kept = "SELECT data FROM contents WHERE digest = ?"
            (kept,) = connection.execute(kept, (self.digest,)).fetchone() or (b"\0",)
            self.learnt = unpacked(kept)

    @contextmanager
    def altered(self):
        """A connection to change the store as it was made; then its digests are made again."""
        self.path.write_bytes(self.whole)
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
                chain.update(framed(*row, body))
            connection.execute("UPDATE head SET digest = ?", (chain.digest(),))
            for _, sql in triggers:
                connection.execute(sql)

    def record(self, seq, body):
        """A record says something else."""
        with self.altered() as connection:
            connection.execute("UPDATE records SET body = ? WHERE seq = ?", (body, seq))

    def state(self, public, secret):
        """The state of the session is another one."""
        with self.altered() as connection:
            connection.execute("UPDATE states SET public = ?, secret = ?", (public, secret))

    def hypothesis(self, data):
        """What was learnt is something else."""
        digest = hashlib.sha256(data).digest()
        with self.altered() as connection:
            new = (digest, b"\0" + data, self.digest)
            connection.execute("UPDATE contents SET digest = ?, data = ? WHERE digest = ?", new)
            new = (digest, self.digest)
            connection.execute("UPDATE records SET query = ? WHERE query = ?", new)


def places(value, path=()):
    """Where values lie within plain values."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from places(value[key], (*path, key))


def forgeries(text, odd):
    """Plain values of which one, each in turn, is the next odd one, or left out."""
    for *above, last in places(json.loads(text)):
        inner = whole = json.loads(text)
        for key in above:
            inner = inner[key]
        inner[last] = next(odd)
        if inner[last] is LEFT_OUT:
            del inner[last]
        yield json.dumps(whole).encode()


def forged_hypotheses(learnt):
    """What says that it is a hypothesis, with the right digest, and is none."""
    count, rest = learnt[:8], learnt[8:]
    magic = rest[: rest.index(b"\n") + 1]
    header, numbers = rest[len(magic) + 32 :].split(b"\n", 1)
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
    bodies = [json.dumps(header | {"arrays": each}).encode() + b"\n" + numbers for each in arrays]
    bodies += [b"no line", b"no JSON\n", b"[]\n" + numbers, json.dumps(header).encode() + b"\n"]
    return [b"", learnt[:7], *(count + magic + hashlib.sha256(b).digest() + b for b in bodies)]


def refusal(path, method, asked=4):
    """What a session on a store says, in one line; None if it goes on.

    Anything but an error of the package's own is a fault. That digests do not fit would mean that
    nothing was forged.
    """
    try:
        with workers.begin(path, method=method) as session:
            assert session.status
            session.ask_all([workers.query(number, method) for number in range(asked)])
    except GraphCutsError as problem:
        found = problem
    else:
        return None
    assert "\n" not in str(found)
    assert found.__cause__ is None  # which could quote a secret
    assert "do not fit together" not in str(found)
    return found


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("method", METHODS)
def test_a_forged_store_is_told_as_a_damaged_one(tmp_path, method):
    path = tmp_path / "a.db"
    with workers.begin(path, method=method) as session:
        session.ask_all([workers.query(number, method) for number in range(3)])
    forger, odd = Forger(path), itertools.cycle(ODD)
    assert refusal(path, method) is None
    refused = []
    forged_kinds = {Kind.ANSWER, Kind.CORRECTION}
    if method == "gaussian":  # all sessions begin alike
        forged_kinds.add(Kind.BEGIN)
    for kind, seq, body in {kind: (kind, *rest) for kind, *rest in forger.records}.values():
        if kind in forged_kinds:
            for forged in forgeries(body, odd):
                forger.record(seq, forged)
                refused.append(refusal(path, method))
    public, secret = forger.states
    states = [(each, secret) for each in (b"", b"[]", b'"x"', *forgeries(public, odd))]
    states += [(public, each) for each in (b"", b"{}", b'"x"', *forgeries(secret, odd))]
    for state in states:
        forger.state(*state)
        refused.append(refusal(path, method, asked=0))  # noise of any size may never end
    assert len([each for each in refused if each is not None]) > len(refused) / 2
    if method not in ("gaussian", workers.DISTANCES):  # these have nothing apart
        damaged = forged_hypotheses if method != "binary" else lambda data: [b"", b"PK", data[:99]]
        for forged in damaged(forger.learnt):
            forger.hypothesis(forged)
            problem = refusal(path, method)
            assert isinstance(problem, LedgerError)
            assert str(problem).startswith("the session cannot go on: ")
