"""The store and the ledger: what they refuse, and that they say why in one line."""

import hashlib
import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import session_workers as workers

from graphcuts_dp import LedgerError
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.records import Kind, StoredState

SECRET = b"the noise of a running test"


def content(number):
    """Five thousand bytes that cannot be compressed."""
    return b"".join(hashlib.sha256(bytes([number, part])).digest() for part in range(157))[:5000]


@pytest.fixture(scope="module")
def master(tmp_path_factory):
    """A store with a session of one state and five answers."""
    path = tmp_path_factory.mktemp("master") / "mail.db"
    Ledger.create(path, {"format": 1})
    ledger = Ledger(path)
    with ledger.locked():
        with ledger.writing() as entries:
            entries.add(Kind.BEGIN, 1, {"name": "default"})
            entries.add(Kind.STARTED, 1, {}, state=StoredState(b"public", SECRET))
        for number in range(5):
            with ledger.writing() as entries:
                digest = entries.add_content(content(number))
                entries.add(Kind.RESERVE, 1, digest)
            with ledger.writing() as entries:
                state = StoredState(b"public %d" % number, SECRET)
                entries.add(Kind.ANSWER, 1, {"value": number}, query=digest, state=state)
    ledger.close()
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, master):
    """A copy of it."""
    path = tmp_path / "mail.db"
    path.touch(0o600)
    path.write_bytes(master)
    return path


def edit(path, statement, *, guarded=True):
    """Change a store behind its back; if not guarded, also what may only grow."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        triggers = [] if guarded else found.fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, trigger in triggers:
            connection.execute(trigger)


def refusal(path):
    with pytest.raises(LedgerError) as caught:
        Ledger(path).close()
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


def test_totals_come_from_replay(path):
    ledger = Ledger(path)
    totals = ledger.uses[1]
    assert (totals.reserved, len(totals.shown)) == (0, 5)
    with ledger.locked():
        assert ledger.record(totals.shown[2])[1]["value"] == 2
        assert ledger.state(1) == StoredState(b"public 4", SECRET)
    ledger.close()


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_files_are_for_their_user_only(tmp_path, mask):
    path = tmp_path / "a.db"
    before = os.umask(mask)
    try:
        session = workers.begin(path)
        session.ask([1])
    finally:
        os.umask(before)
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["a.db", "a.db-journal", "a.db-lock"]
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    session.close()
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_what_is_written_is_flushed_and_what_is_deleted_is_gone(path, monkeypatch):
    """Of a crash of the machine no test can tell; that secrets leave the file is tested below."""
    monkeypatch.undo()  # what keeps tests from waiting for the disk
    ledger = Ledger(path)
    for name, value in (("journal_mode", "truncate"), ("synchronous", 2), ("foreign_keys", 1)):
        assert ledger.file.connection.execute(f"PRAGMA {name}").fetchone() == (value,)
    ledger.close()


def test_a_store_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    named, path = [], tmp_path / "a.db"
    monkeypatch.setattr(os, "fsync", lambda _: named.append(path.exists()))
    workers.begin(path).close()
    assert named == [False, True]


def test_tables_are_append_only(path):
    for statement in (
        "DELETE FROM ledger",
        "DELETE FROM records WHERE seq = 12",
        "DELETE FROM contents",
        "UPDATE ledger SET header = x'00'",
        "UPDATE records SET body = x'00'",
        "UPDATE contents SET data = x'00'",
        "INSERT INTO records VALUES (20, 1, 3, x'', x'7b7d')",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            edit(path, statement)
    with pytest.raises(sqlite3.IntegrityError):
        edit(path, "INSERT OR REPLACE INTO records VALUES (2, 1, 3, x'', x'7b7d')")
    edit(path, "DROP TRIGGER records_no_delete")
    assert "tables are not as made" in refusal(path)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM records WHERE seq = 12", "do not fit together"),
        ("DELETE FROM records", "do not fit together"),
        ("UPDATE records SET body = x'7b7d' WHERE seq = 6", "do not fit together"),
        ("UPDATE records SET body = 'text' WHERE seq = 6", "a record is damaged"),
        ("UPDATE records SET kind = 3 WHERE seq = 6", "do not fit together"),
        ("UPDATE records SET use = 2 WHERE seq = 6", "a record is damaged"),
        ("INSERT INTO records VALUES (13, 1, 7, x'', x'7b7d')", "do not fit together"),
        ("UPDATE head SET seq = 11", "do not fit together"),
        ("UPDATE head SET digest = x'00'", "do not fit together"),
        ("DELETE FROM head", "do not fit together"),
        ("DELETE FROM states", "a state does not fit"),
        ("UPDATE states SET public = x'00'", "a state does not fit"),
        ("UPDATE states SET secret = x'00'", "a state does not fit"),
        ("UPDATE states SET nonce = x'00'", "a state does not fit"),
        ("UPDATE states SET record = 10", "a state does not fit"),
        ("UPDATE ledger SET header = x'7b7d'", "do not fit together"),
        ("DELETE FROM ledger", "it has no header"),
        ("DELETE FROM contents WHERE id = 5", "a content is missing"),
        ("PRAGMA application_id = 5", "not a store"),
        ("DROP TABLE states", "its tables are not as made"),
        ("CREATE TABLE more (x)", "its tables are not as made"),
    ],
)
def test_an_altered_store_is_refused(path, statement, words):
    edit(path, statement, guarded=False)
    assert words in refusal(path)


def test_altered_contents_are_refused_when_they_are_read(path):
    edit(path, "UPDATE contents SET data = x'00' WHERE id = 3", guarded=False)
    ledger = Ledger(path)
    with ledger.locked(), pytest.raises(LedgerError, match="a content does not fit"):
        ledger.content(hashlib.sha256(content(2)).digest())
    ledger.close()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_store_is_refused(path, share):
    size = path.stat().st_size
    os.truncate(path, int(size * share))
    assert "damaged" in refusal(path) or "not a store" in refusal(path)


def test_flipped_bytes_are_refused_or_harmless(path):
    original = path.read_bytes()
    ledger = Ledger(path)
    truth = (ledger.records, ledger.chain.digest())
    ledger.close()
    refused = 0
    for place in range(0, len(original), 211):
        path.write_bytes(original[:place] + bytes([original[place] ^ 255]) + original[place + 1 :])
        try:
            ledger = Ledger(path)
        except LedgerError:
            refused += 1
        else:
            # Contents are checked when they are read; free space tells nothing.
            assert (ledger.records, ledger.chain.digest()) == truth
            ledger.close()
    assert refused > 10


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a.db"
    assert "does not exist" in refusal(path)
    path.write_text("not a database, but long enough to be looked at" * 40)
    path.chmod(0o600)
    assert "not a store" in refusal(path)
    path.unlink()
    edit(path, "CREATE TABLE t (x)")
    path.chmod(0o600)
    assert "not a store" in refusal(path)
    path.chmod(0o644)
    assert "chmod 600" in refusal(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "not a regular file" in refusal(folder)
    assert {file.name for file in tmp_path.iterdir()} == {"a.db", "folder"}


def test_a_store_is_made_once(path):
    before = path.read_bytes()
    assert not Ledger.create(path, {"format": 1})
    assert path.read_bytes() == before
    with pytest.raises(LedgerError, match="cannot create"):
        Ledger.create(path.with_name("nowhere") / "a.db", {"format": 1})
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_superseded_secrets_leave_the_store(tmp_path):
    path = tmp_path / "a.db"
    Ledger.create(path, {"format": 1})
    ledger = Ledger(path)
    first, second = os.urandom(32), os.urandom(32)
    with ledger.locked():
        with ledger.writing() as entries:
            entries.add(Kind.BEGIN, 1, {"name": "default"})
            entries.add(Kind.STARTED, 1, {}, state=StoredState(b"public", first))
        with ledger.writing() as entries:
            entries.add(Kind.INTERRUPTED, 1, {}, state=StoredState(b"public", second))
        assert repr(first)[2:-1] not in repr(ledger.state(1))
        assert "secret" not in repr(ledger.state(1))
    ledger.close()
    content = path.read_bytes()
    assert first not in content
    assert second in content


def test_a_state_without_its_secret_is_still_good(path):
    edit(path, "UPDATE states SET secret = NULL")
    ledger = Ledger(path)
    with ledger.locked():
        assert ledger.state(1) == StoredState(b"public 4", None)
    ledger.close()


def test_a_busy_store_says_so(path):
    """Held by another that locks it, and by one that does not know of locks."""
    ledger = Ledger(path)
    with (
        ledger.locked(),
        ThreadPoolExecutor() as pool,
        pytest.raises(LedgerError, match="busy"),
    ):
        pool.submit(Ledger, path, timeout=0.05).result()
    ledger.close()
    ledger = Ledger(path, timeout=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ledger.locked(), pytest.raises(LedgerError, match="busy"), ledger.writing() as entries:
            entries.add(Kind.RELEASE, 1, {})
        other.execute("ROLLBACK")
    with ledger.locked(), ledger.writing() as entries:
        entries.add(Kind.RELEASE, 1, {})
    assert ledger.records == 13
    ledger.close()


def test_a_closed_or_forked_ledger_is_refused(path, monkeypatch):
    ledger = Ledger(path)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(LedgerError, match="fork"), ledger.locked():
        pass
    ledger.close()  # does nothing here: the connection belongs to the parent
    monkeypatch.undo()
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"), ledger.locked():
        pass


def test_the_digest_of_the_graph_is_salted(tmp_path):
    headers = []
    for name in ("a.db", "b.db"):
        with workers.begin(tmp_path / name) as session:
            headers.append(session._ledger.header)
    assert headers[0]["data"] != headers[1]["data"]
    assert headers[0]["salt"] != headers[1]["salt"]
