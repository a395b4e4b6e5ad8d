"""Older copies of a store, what a killed process leaves of a new one, and how it grows."""

import contextlib
import os
import shutil
import sqlite3

import numpy as np
import pytest
import session_workers as workers

import graphcuts_dp as gc
from graphcuts_dp import LedgerError, ParameterError
from graphcuts_dp.ledger.file import StoreFile, explained
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.session.session import session_of


def test_whoever_keeps_the_head_notices_an_older_copy(tmp_path):
    path, older = tmp_path / "a.db", tmp_path / "older.db"
    with workers.begin(path) as session:
        session.ask([1])
    shutil.copy(path, older)
    early = gc.store_status(path).head
    with workers.begin(path) as session:
        session.ask([2])
    late = gc.store_status(path).head
    for head in (early, late):  # a store that has grown since is as good as the same
        gc.store_status(gc.Store(path, expect_head=head))
        workers.begin(gc.Store(path, expect_head=head)).close()
    gc.store_status(gc.Store(older, expect_head=early))
    with pytest.raises(LedgerError, match="an older copy"):
        gc.store_status(gc.Store(older, expect_head=late))
    with pytest.raises(LedgerError, match="an older copy"):
        workers.begin(gc.Store(older, expect_head=late))
    with workers.begin(older) as session:  # another past, as long
        session.ask([3])
    with pytest.raises(LedgerError, match="is not the store"):
        gc.store_status(gc.Store(older, expect_head=late))


def test_the_head_of_a_store_without_records_is_checked_too(tmp_path):
    for name in ("a.db", "b.db"):
        Ledger.create(tmp_path / name, {"format": 1, "name": name})
    ledger = Ledger(tmp_path / "a.db")
    head = ledger.head
    ledger.close()
    Ledger(tmp_path / "a.db", expected=head).close()
    with pytest.raises(LedgerError, match="is not the store"):
        Ledger(tmp_path / "b.db", expected=head)
    assert Head.parse(str(head)) == head


@pytest.mark.parametrize("text", ["", "5", "x:00", "5:00", "05:" + "0" * 64, "-1:" + "0" * 64])
def test_what_is_no_head_is_refused(tmp_path, text):
    workers.begin(tmp_path / "a.db").close()
    with pytest.raises(ParameterError, match="a head is what"):
        gc.store_status(gc.Store(tmp_path / "a.db", expect_head=text))


def test_a_process_killed_while_it_makes_a_store_leaves_nothing_for_good(tmp_path):
    path, log = tmp_path / "a.db", tmp_path / "a.log"
    for target in (6, 13):
        how = {"after": True, "method": "gaussian"}
        assert workers.ended(workers.started(workers.ask_and_die, path, log, target, **how)) == -9
    assert not path.exists()
    assert (tmp_path / ".a.db.part").exists()
    (tmp_path / ".a.db.part-journal").write_bytes(b"half of one")
    workers.begin(path).close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.db", "a.log"]


def test_a_store_that_is_in_use_elsewhere_is_closed_without_an_error(tmp_path):
    """What was written is safe, so a result must not be lost by an error of closing."""
    path = tmp_path / "a.db"
    Ledger.create(path, {"format": 1})
    first, second = (StoreFile(path, timeout=0.01) for _ in range(2))
    with second.locked():
        first.close()
        with pytest.raises(LedgerError, match="is closed"):
            _ = first.connection
        with second.transaction() as connection:  # its journal is still its own
            connection.execute("UPDATE head SET seq = 0")
    second.close()
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_what_lies_where_a_store_is_made_is_named(tmp_path):
    (tmp_path / ".a.db.part").mkdir()
    with pytest.raises(LedgerError, match="part is in the way; remove it"):
        Ledger.create(tmp_path / "a.db", {"format": 1})


def grown_by(path, queries, n):
    """How many bytes the store grows by for each query, all of which come back."""
    graph = gc.Graph([0], [1], vertices=n)
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 10**5, "method": "gaussian"}
    with session_of(graph, store=path, **terms) as session:
        first = path.stat().st_size
        answers = session.ask_all(queries)
        grown = path.stat().st_size - first
        known = [{*map(bytes, entry.query.masks(graph))} for entry in session.history]
    assert known == [{*map(bytes, query.masks(graph))} for query in queries]
    with gc.open_session(graph, store=path) as session:
        assert session.ask_all(queries) == answers
        assert session.remaining.queries == 10**5 - len(queries)
    return grown / len(queries)


def test_long_sets_are_kept_once_each_and_compressed(tmp_path):
    """Half-sets of 20,000 vertices take 2.5 kB each as bits, two of them 5 kB."""
    n, rng = 20_000, np.random.default_rng(1)
    groups = [rng.random(n) < 0.5 for _ in range(12)]
    pairs = [gc.CutQuery(S, T) for S in groups[:6] for T in groups[6:]]
    assert grown_by(tmp_path / "named.db", pairs, n) < 2500
    ranges = [gc.CutQuery(np.arange(n) < 10_000 + 5 * k) for k in range(40)]
    assert grown_by(tmp_path / "compressed.db", ranges, n) < 900


def test_a_process_with_too_many_files_is_told_so(tmp_path):
    """Once the message blamed the permissions of the store."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return
    path = tmp_path / "a.db"
    Ledger.create(path, {"format": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    handles = [os.open(path, os.O_RDONLY)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (handles[0] + 1, hard))
        with contextlib.suppress(OSError):
            while True:
                handles.append(os.open(path, os.O_RDONLY))
        with pytest.raises(LedgerError, match="too many files are open"), explained(path):
            sqlite3.connect(path).execute("SELECT 1 FROM records")
    finally:
        for handle in handles:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with pytest.raises(LedgerError, match="check the permissions"), explained(path):
        raise cannot_open()


def cannot_open():
    """The error of SQLite for a file that it cannot open."""
    with pytest.raises(sqlite3.OperationalError) as caught:
        sqlite3.connect("file:/no/such/folder/a.db?mode=ro", uri=True).execute("SELECT 1")
    return caught.value
