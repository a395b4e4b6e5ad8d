"""`store migrate` checks and copies stores of earlier versions, and keeps all that was spent."""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import session_workers as workers
from faults import ERRORS, INTERRUPTIONS, in_copies, in_turn, strike, sweep, visible
from format_facts import VERSION_0_1
from test_backup_faults import limit_pages
from test_store_faults import NOBODY, run_as_nobody

import graphcuts_dp as gc
from graphcuts_dp import LedgerError
from graphcuts_dp.ledger import migration as migration_module
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.migration import migrate_store

STORE_NAMES = sorted(VERSION_0_1.facts["stores"])


def contents_and_modes(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the contents and modes of all files of a folder by name, hidden ones included."""
    return {
        path.name: (path.read_bytes(), path.stat().st_mode & 0o777) for path in folder.iterdir()
    }


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("name", STORE_NAMES)
def test_a_store_of_version_0_1_is_checked_and_copied(tmp_path, name):
    path = VERSION_0_1.unpack(tmp_path, name)
    status_before, files_before = gc.store_status(path), contents_and_modes(tmp_path)
    dry = migrate_store(path, dry_run=True)
    assert contents_and_modes(tmp_path) == files_before
    migration = migrate_store(path, dry_run=False)
    assert (dry.dry_run, migration.dry_run) == (True, False)
    assert (migration.before, migration.after, migration.steps) == (9, 10, ())
    assert dry.spending == migration.spending
    assert (dry.head, dry.records) == (migration.head, migration.records)
    assert migration.spending.uses == len(status_before.uses)
    assert migration.spending.total.epsilon == status_before.epsilon
    assert str(migration.head) == VERSION_0_1.facts["stores"][name]["head"]
    assert str(migration.head) == gc.store_status(path).head
    assert migration.backup.name.startswith(f"{name}.before-")
    files_after = contents_and_modes(tmp_path)
    assert files_after.pop(migration.backup.name)[1] == 0o600
    assert files_after == files_before
    assert gc.store_status(migration.backup).to_dict() == status_before.to_dict()
    with pytest.raises(LedgerError, match="exists; move it away"):
        migrate_store(path, dry_run=False)


def test_a_store_of_this_version_keeps_its_version(tmp_path):
    path = tmp_path / "a.db"
    workers.begin(path).close()
    migration = migrate_store(path, dry_run=True)
    assert (migration.before, migration.after, migration.spending.uses) == (10, 10, 1)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_session_goes_on_after_its_store_was_migrated_between_two_steps(tmp_path, dry_run):
    path = tmp_path / "a.db"
    with workers.begin(path) as session:
        session.ask([1])
        migration = migrate_store(path, dry_run=dry_run)
        session.ask([2])
        answers = session.status.answers
    assert answers == 2
    assert migration.head.records + 1 < count_records(path)
    if not dry_run:
        gc.store_status(gc.Store(path, expect_head=str(migration.head)))
        assert count_records(migration.backup) == migration.head.records


def count_records(path: Path) -> int:
    with closing(Ledger(path)) as ledger:
        return ledger.records


def test_a_locked_store_is_refused_as_busy_but_a_dry_run_reads_it(tmp_path):
    path = tmp_path / "a.db"
    workers.begin(path).close()
    with closing(Ledger(path)) as ledger, ledger.locked():
        with pytest.raises(LedgerError, match="busy"):
            migrate_store(path, dry_run=False, timeout=0.05)
        assert migrate_store(path, dry_run=True, timeout=0.05).head == ledger.head
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_a_dry_run_does_not_roll_back_an_interrupted_transaction(tmp_path):
    path = tmp_path / "a.db"
    workers.begin(path).close()
    journal = tmp_path / "a.db-journal"
    journal.write_bytes(b"half a journal")
    with pytest.raises(LedgerError, match="store status"):
        migrate_store(path, dry_run=True)
    assert journal.read_bytes() == b"half a journal"


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("damage", "message"),
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
def test_a_file_that_is_no_intact_store_is_refused_and_no_file_is_added(
    tmp_path, damage, message, dry_run
):
    path = VERSION_0_1.unpack(tmp_path, "letters.db")
    data = path.read_bytes()
    if damage in ("missing", "folder", "another database"):
        path.unlink()
    if damage == "folder":
        path.mkdir(mode=0o700)
    elif damage == "another database":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE a (b)")
        path.chmod(0o600)
    elif damage == "readable":
        path.chmod(0o644)
    elif damage == "a content":
        with closing(sqlite3.connect(path)) as connection:
            (sql,) = connection.execute(
                "SELECT sql FROM sqlite_schema WHERE name = 'contents_no_update'"
            ).fetchone()
            connection.execute("DROP TRIGGER contents_no_update")
            connection.execute("UPDATE contents SET data = ? WHERE id = 2", (b"\0other",))
            connection.execute(sql)
            connection.commit()
    elif damage != "missing":
        contents = {
            "text": b"x" * 4096,
            "empty": b"",
            "cut short": data[:-4096],
            "a page of zeros": data[:8192] + bytes(4096) + data[12288:],
        }
        path.write_bytes(contents[damage])
    before = sorted(file.name for file in tmp_path.iterdir())
    with pytest.raises(LedgerError, match=message):
        migrate_store(path, dry_run=dry_run)
    assert sorted(file.name for file in tmp_path.iterdir()) == before


def in_copies_of_a_store(tmp_path: Path) -> Callable[[], tuple[Path, Callable[[], object]]]:
    """Return `prepare` for `sweep`: the migration of a store of version 0.1."""
    template = tmp_path / "template"
    template.mkdir()
    VERSION_0_1.unpack(template, "letters.db")
    return in_copies(
        template, tmp_path, lambda folder: migrate_store(folder / "letters.db", dry_run=False)
    )


def test_a_migration_with_a_fault_leaves_the_store_unchanged_and_a_complete_copy_or_none(tmp_path):
    store_bytes, outcomes, leftovers = None, [], 0
    prepare = in_copies_of_a_store(tmp_path)
    for _, folder, outcome in sweep(prepare, in_turn((*ERRORS, *INTERRUPTIONS))):
        files = visible(folder)
        store_bytes = store_bytes or files["letters.db"]
        assert files.pop("letters.db") == store_bytes
        leftovers += len(list(folder.glob(".*.part*")))
        for name in set(files) - {"letters.db-lock"}:  # an abandoned lock file is harmless
            assert name.startswith("letters.db.before-")
            shutil.move(folder / name, tmp_path / "copy.db")
            assert (
                gc.store_status(tmp_path / "copy.db").head
                == gc.store_status(folder / "letters.db").head
            )
        outcomes.append(type(outcome).__name__)
        migrate_store(folder / "letters.db", dry_run=False)
    assert leftovers <= 2  # the fault was at the removal of the hidden file
    assert {"LedgerError", "KeyboardInterrupt"} <= set(outcomes)
    assert set(outcomes) <= {"LedgerError", "KeyboardInterrupt", "Migration"}


def test_a_migration_on_a_full_disk_is_refused_in_one_line_and_leaves_no_copy(
    tmp_path, monkeypatch
):
    path = VERSION_0_1.unpack(tmp_path, "letters.db")
    before = contents_and_modes(tmp_path)
    limit_pages(monkeypatch, 1)
    with pytest.raises(LedgerError, match=r"before-.*disk is full") as problem:
        migrate_store(path, dry_run=False)
    assert "\n" not in str(problem.value)
    assert contents_and_modes(tmp_path) == before


def test_a_migration_in_a_read_only_folder_is_refused_but_a_dry_run_works():
    folder = Path(tempfile.mkdtemp())
    path = VERSION_0_1.unpack(folder, "letters.db")
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    folder.chmod(0o555)
    try:
        report = run_as_nobody(lambda: str(migrate_store(path, dry_run=False)))
        assert report.startswith("LedgerError(")
        assert os.strerror(errno.EACCES) in report
        assert run_as_nobody(lambda: str(migrate_store(path, dry_run=True).records)) == "35"
        assert [file.name for file in folder.iterdir()] == ["letters.db"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_step_that_changes_what_was_spent_is_refused_and_runs_after_the_copy(
    tmp_path, monkeypatch
):
    path = VERSION_0_1.unpack(tmp_path, "letters.db")
    copies_at_step = []

    def forget_a_use(ledger):
        copies_at_step.append([file for file in tmp_path.iterdir() if ".before-" in file.name])
        ledger.uses.popitem()

    monkeypatch.setattr(migration_module, "STEPS", {9: forget_a_use})
    assert migrate_store(path, dry_run=True).steps == (9,)
    assert copies_at_step == []
    with pytest.raises(LedgerError, match="what was spent has changed: bring back"):
        migrate_store(path, dry_run=False)
    assert len(copies_at_step[0]) == 1


def test_a_fault_at_the_first_call_of_a_migration_is_injected(tmp_path):
    """Else the sweep above would pass without a fault; the first call opens the lock."""
    folder, action = in_copies_of_a_store(tmp_path)()
    assert isinstance(strike(ERRORS[0], 1, action), LedgerError)
    assert list(visible(folder)) == ["letters.db"]
