"""Backups and restores with a fault at any call leave a complete store, or none."""

import shutil
import sqlite3
from collections.abc import Collection
from pathlib import Path

import pytest
from faults import DEATHS, ERRORS, INTERRUPTIONS, in_copies, in_turn, sweep

import graphcuts_dp as gc
from graphcuts_dp import LedgerError, Store
from graphcuts_dp.ledger import copies
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.backup import back_up, read_manifest, restore
from graphcuts_dp.server.pairing import open_pair, people_of
from graphcuts_dp.server.people import Person

GRAPH = gc.Graph([0, 1], [1, 2], vertices=4)
FAULTS = (*ERRORS, *INTERRUPTIONS, *DEATHS)
# Ctrl-C or a failing disk can prevent the removal of these files; only their owner can read them.
TEMPORARY_SUFFIXES = ("-lock", "-serving", "-journal", "-wal", "-shm", ".part")

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Return a folder with a store that was used after its backup."""
    folder = tmp_path_factory.mktemp("template")
    store = Store(folder / "mail.db", budget=9.0)
    create_ledger(store, GRAPH, privacy_unit="1 edge")
    with open_pair(store) as (ledger, book):
        people_of(ledger, book).add(Person(name="ann"), by="console")
    back_up(store, folder / "backup")
    gc.release_graph(GRAPH, epsilon=1.0, fit="none", store=store)
    return folder


def count_uses(folder: Path) -> int:
    """Open the store with its registry, which must be complete; return its number of uses."""
    with open_pair(Store(folder / "mail.db")) as (ledger, book):
        assert [person.name for person in people_of(ledger, book).all()] == ["ann"]
        return len(ledger.uses)


def check_names_and_modes(folder: Path, expected_names: Collection[str]) -> None:
    """Check that a folder has expected or temporary files only, none readable by others."""
    for path in folder.iterdir():
        is_expected = path.name in expected_names
        is_expected |= path.name.startswith("mail.db.before-restore-")
        assert is_expected or path.name.endswith(TEMPORARY_SUFFIXES), path.name
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.thorough
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_backup_with_a_fault_is_complete_or_absent(template, tmp_path, every):
    outcomes = set()
    prepare = in_copies(
        template, tmp_path, lambda folder: back_up(Store(folder / "mail.db"), folder / "b")
    )
    for _, folder, outcome in sweep(prepare, in_turn(FAULTS, every)):
        check_names_and_modes(folder, ("mail.db", "mail.db-server", "backup", "b"))
        assert count_uses(folder) == 1
        if (folder / "b").exists():
            (folder / "new").mkdir()
            restore(folder / "b", Store(folder / "new" / "mail.db"))
            assert count_uses(folder / "new") == 1
        else:
            back_up(Store(folder / "mail.db"), folder / "b")
        outcomes.add(type(outcome).__name__)
    assert "LedgerError" in outcomes
    assert outcomes <= {"LedgerError", "KeyboardInterrupt", "Manifest", "bool"}


@pytest.mark.thorough
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_restore_with_a_fault_leaves_the_present_store_or_the_restored_one(
    template, tmp_path, every
):
    outcomes, use_counts = set(), set()

    def action(folder):
        return restore(
            folder / "backup",
            Store(folder / "mail.db"),
            replace=True,
            lose_records=records_since_backup(folder),
        )

    for fault, folder, outcome in sweep(
        in_copies(template, tmp_path, action), in_turn(FAULTS, every)
    ):
        check_names_and_modes(folder, ("mail.db", "mail.db-server", "backup"))
        assert Store(folder / "mail.db").exists  # else anybody could create a new one there
        use_counts.add(count_uses(folder))
        action(folder)
        assert count_uses(folder) == 0
        outcomes.add(type(outcome).__name__)
        assert fault in DEATHS or not list(folder.glob("*-journal"))
    assert use_counts == {0, 1}
    assert outcomes <= {"LedgerError", "KeyboardInterrupt", "Restored", "bool"}


def records_since_backup(folder: Path) -> int:
    """Return the number of records of the store that its backup does not have."""
    heads = gc.store_status(folder / "mail.db").head, read_manifest(folder / "backup").head
    present, saved = (int(head.partition(":")[0]) for head in heads)
    return present - saved


def limit_pages(monkeypatch: pytest.MonkeyPatch, pages: int) -> None:
    """Let copies of a database grow to a number of pages only, as on a full disk."""
    connect_to = copies._connect

    def connect_with_few_pages(path: Path) -> sqlite3.Connection:
        connection = connect_to(path)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(copies, "_connect", connect_with_few_pages)


@pytest.mark.parametrize("pages", [1, 5])
def test_a_backup_on_a_full_disk_is_refused_in_one_line_and_leaves_no_file(
    template, tmp_path, monkeypatch, pages
):
    folder = tmp_path / "work"
    shutil.copytree(template, folder)
    before = sorted(path.name for path in folder.iterdir())
    limit_pages(monkeypatch, pages)
    with pytest.raises(LedgerError, match="disk is full") as problem:
        back_up(Store(folder / "mail.db"), folder / "b")
    assert str(folder / "b") in str(problem.value)
    assert "\n" not in str(problem.value)
    assert sorted(path.name for path in folder.iterdir()) == before
