"""`store migrate`: stores of earlier versions are checked and copied, and nothing is forgotten."""

import errno
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
import session_workers as workers
from faults import ERRORS, INTERRUPTIONS, one_of, strike, sweep, visible
from format_facts import VERSION_0_1
from test_store_faults import NOBODY, as_nobody

import graphcuts_dp as gc
from graphcuts_dp import LedgerError
from graphcuts_dp.ledger import copies, migration
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.migration import migrate_store

NAMES = sorted(VERSION_0_1.facts["stores"])


def everything(folder):
    """Names, contents and modes of all that is in a folder, hidden files too."""
    return {
        path.name: (path.read_bytes(), path.stat().st_mode & 0o777) for path in folder.iterdir()
    }


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("name", NAMES)
def test_a_store_of_version_0_1_is_checked_and_copied(tmp_path, name):
    path = VERSION_0_1.unpack(tmp_path, name)
    before, known = gc.store_status(path), everything(tmp_path)
    tried = migrate_store(path, dry_run=True)
    assert everything(tmp_path) == known
    done = migrate_store(path, dry_run=False)
    assert (tried.dry_run, done.dry_run) == (True, False)
    assert (done.before, done.after, done.steps) == (9, 10, ())
    assert (tried.account, tried.head, tried.records) == (done.account, done.head, done.records)
    assert (done.account.uses, done.account.total.epsilon) == (len(before.uses), before.epsilon)
    assert str(done.head) == VERSION_0_1.facts["stores"][name]["head"] == gc.store_status(path).head
    assert done.backup.name.startswith(f"{name}.before-")
    after = everything(tmp_path)
    assert after.pop(done.backup.name)[1] == 0o600
    assert after == known  # it was read as it is
    assert gc.store_status(done.backup).to_dict() == before.to_dict()
    with pytest.raises(LedgerError, match="exists; move it away"):
        migrate_store(path, dry_run=False)


def test_a_store_of_this_version_with_a_budget_and_no_use(tmp_path):
    path = tmp_path / "a.db"
    workers.begin(path).close()
    done = migrate_store(path, dry_run=True)
    assert (done.before, done.after, done.account.uses) == (10, 10, 1)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_store_in_use_is_migrated_between_its_steps(tmp_path, dry_run):
    with workers.begin(tmp_path / "a.db") as session:
        session.ask([1])
        done = migrate_store(tmp_path / "a.db", dry_run=dry_run)
        session.ask([2])  # and goes on
        after = session.status.answers
    assert (after, done.head.records + 1 < _records(tmp_path / "a.db")) == (2, True)
    if not dry_run:
        gc.store_status(gc.Store(tmp_path / "a.db", expect_head=str(done.head)))
        assert _records(done.backup) == done.head.records


def _records(path):
    with closing(Ledger(path)) as ledger:
        return ledger.records


def test_a_store_that_somebody_works_on_is_busy(tmp_path):
    path = tmp_path / "a.db"
    workers.begin(path).close()
    with closing(Ledger(path)) as ledger, ledger.locked():
        with pytest.raises(LedgerError, match="busy"):
            migrate_store(path, dry_run=False, timeout=0.05)
        assert migrate_store(path, dry_run=True, timeout=0.05).head == ledger.head
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_a_transaction_that_was_cut_off_is_not_taken_back_by_a_dry_run(tmp_path):
    path = tmp_path / "a.db"
    workers.begin(path).close()
    (tmp_path / "a.db-journal").write_bytes(b"half of one")
    with pytest.raises(LedgerError, match="store status"):
        migrate_store(path, dry_run=True)
    assert (tmp_path / "a.db-journal").read_bytes() == b"half of one"


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "does not exist"),
        ("text", "not a store"),
        ("empty", "is empty"),
        ("another database", "not a store of this program"),
        ("folder", "not a regular file"),
        ("cut short", "damaged"),
        ("a page of zeros", "damaged|altered"),
        ("a content", "a content does not fit"),
        ("readable", "others may read"),
    ],
)
def test_what_is_no_whole_store_is_refused_and_stays(tmp_path, kind, words, dry_run):
    path = VERSION_0_1.unpack(tmp_path, "letters.db")
    data = path.read_bytes()
    if kind in ("missing", "folder", "another database"):
        path.unlink()
    if kind == "folder":
        path.mkdir(mode=0o700)
    elif kind == "another database":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE a (b)")
        path.chmod(0o600)
    elif kind == "readable":
        path.chmod(0o644)
    elif kind == "a content":
        with closing(sqlite3.connect(path)) as connection:
            (sql,) = connection.execute(
                "SELECT sql FROM sqlite_schema WHERE name = 'contents_no_update'"
            ).fetchone()
            connection.execute("DROP TRIGGER contents_no_update")
            connection.execute("UPDATE contents SET data = ? WHERE id = 2", (b"\0other",))
            connection.execute(sql)
            connection.commit()
    elif kind != "missing":
        changed = {"text": b"x" * 4096, "empty": b"", "cut short": data[:-4096]}
        zeros = data[:8192] + bytes(4096) + data[12288:]
        path.write_bytes(changed.get(kind, zeros))
    before = sorted(file.name for file in tmp_path.iterdir())
    with pytest.raises(LedgerError, match=words):
        migrate_store(path, dry_run=dry_run)
    assert sorted(file.name for file in tmp_path.iterdir()) == before


def fresh(tmp_path):
    """Folders with a store of version 0.1, and its migration, for `sweep`."""
    made = VERSION_0_1.unpack(tmp_path, "letters.db")
    numbers = iter(range(10_000))

    def one():
        folder = tmp_path / f"work {next(numbers)}"
        folder.mkdir()
        shutil.copy(made, folder / "letters.db")
        return folder, lambda: migrate_store(folder / "letters.db", dry_run=False)

    return one


def test_a_copy_is_there_whole_or_not_at_all(tmp_path):
    """Every call that changes files fails once: the store is unharmed, the next run succeeds."""
    data, outcomes, leftovers = None, [], 0
    make = fresh(tmp_path)
    for _, folder, outcome in sweep(make, one_of((*ERRORS, *INTERRUPTIONS))):
        files = visible(folder)
        data = data or files["letters.db"]
        assert files.pop("letters.db") == data
        leftovers += len(list(folder.glob(".*.part*")))
        for name in set(files) - {"letters.db-lock"}:  # a lock file that stays is harmless
            assert name.startswith("letters.db.before-")
            shutil.move(folder / name, tmp_path / "copy.db")
            assert (
                gc.store_status(tmp_path / "copy.db").head
                == gc.store_status(folder / "letters.db").head
            )
        outcomes.append(type(outcome).__name__)
        migrate_store(folder / "letters.db", dry_run=False)
    assert leftovers <= 2  # where removing the hidden file is what failed
    assert {"LedgerError", "KeyboardInterrupt"} <= set(outcomes)
    assert set(outcomes) <= {"LedgerError", "KeyboardInterrupt", "Migration"}


def full_disk(monkeypatch):
    """Let no copy of a database grow beyond a page."""
    plain = copies._connect

    def connect(path):
        connection = plain(path)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(copies, "_connect", connect)


def test_a_full_disk_is_told_in_one_line_and_leaves_nothing(tmp_path, monkeypatch):
    path = VERSION_0_1.unpack(tmp_path, "letters.db")
    before = everything(tmp_path)
    full_disk(monkeypatch)
    with pytest.raises(LedgerError, match=r"before-.*disk is full") as problem:
        migrate_store(path, dry_run=False)
    assert "\n" not in str(problem.value)
    assert everything(tmp_path) == before


def test_a_read_only_folder_is_told_and_a_dry_run_works_there():
    folder = Path(tempfile.mkdtemp())
    path = VERSION_0_1.unpack(folder, "letters.db")
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    folder.chmod(0o555)
    try:
        told = as_nobody(lambda: str(migrate_store(path, dry_run=False)))
        assert told.startswith("LedgerError(")
        assert os.strerror(errno.EACCES) in told
        assert as_nobody(lambda: str(migrate_store(path, dry_run=True).records)) == "35"
        assert [file.name for file in folder.iterdir()] == ["letters.db"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_step_runs_after_the_copy_and_may_not_change_what_was_spent(tmp_path, monkeypatch):
    path = VERSION_0_1.unpack(tmp_path, "letters.db")
    seen = []

    def step(ledger):
        seen.append(sorted(file.name for file in tmp_path.iterdir() if ".before-" in file.name))
        ledger.uses.popitem()  # a mistake

    monkeypatch.setattr(migration, "STEPS", {9: step})
    assert migrate_store(path, dry_run=True).steps == (9,)
    assert seen == []
    with pytest.raises(LedgerError, match="what was spent has changed: bring back"):
        migrate_store(path, dry_run=False)
    assert len(seen[0]) == 1


def test_a_strike_that_never_comes_is_noticed(tmp_path):
    """`sweep` did strike: the first call of a migration opens its lock."""
    folder, action = fresh(tmp_path)()
    assert isinstance(strike(ERRORS[0], 1, action), LedgerError)
    assert list(visible(folder)) == ["letters.db"]
