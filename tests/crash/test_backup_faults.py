"""A backup, and bringing it back, on a disk that fails or is full at any call."""

import shutil

import pytest
from faults import DEATHS, ERRORS, INTERRUPTIONS, one_of, sweep

import graphcuts_dp as gc
from graphcuts_dp import LedgerError, Store
from graphcuts_dp.ledger import copies
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.backup import back_up, read_manifest, restore
from graphcuts_dp.server.pairing import paired, people_of
from graphcuts_dp.server.people import Person

GRAPH = gc.Graph([0, 1], [1, 2], vertices=4)
TROUBLES = (*ERRORS, *INTERRUPTIONS, *DEATHS)
# A Ctrl-C or a failing disk can keep these from being removed; all are of this account alone.
HARMLESS = ("-lock", "-serving", "-journal", "-wal", "-shm")

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store that was used after its backup."""
    folder = tmp_path_factory.mktemp("made")
    store = Store(folder / "mail.db", budget=9.0)
    create_ledger(store, GRAPH, privacy_unit="1 edge")
    with paired(store) as (ledger, book):
        people_of(ledger, book).add(Person(name="ann"), by="console")
    back_up(store, folder / "backup")
    gc.release_graph(GRAPH, epsilon=1.0, fit="none", store=store)
    return folder


def fresh(made, tmp_path, action):
    """Folders with copies of it, and an action on each, for `sweep`."""
    numbers = iter(range(10_000))

    def one():
        folder = tmp_path / f"work {next(numbers)}"
        shutil.copytree(made, folder)
        return folder, lambda: action(folder)

    return one


def whole(folder):
    """What a user finds: store, registry and backups that are opened without complaint."""
    with paired(Store(folder / "mail.db")) as (ledger, book):
        assert [person.name for person in people_of(ledger, book).all()] == ["ann"]
        return len(ledger.uses)


def check_names(folder, allowed):
    for path in folder.iterdir():
        known = path.name in allowed or path.name.startswith("mail.db.before-restore-")
        assert known or path.name.endswith((*HARMLESS, ".part")), path.name
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.thorough
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_backup_is_there_whole_or_not_at_all(made, tmp_path, every):
    outcomes = set()
    action = fresh(made, tmp_path, lambda folder: back_up(Store(folder / "mail.db"), folder / "b"))
    for _, folder, outcome in sweep(action, one_of(TROUBLES, every)):
        check_names(folder, ("mail.db", "mail.db-server", "backup", "b"))
        assert whole(folder) == 1
        if (folder / "b").exists():
            (folder / "new").mkdir()
            restore(folder / "b", Store(folder / "new" / "mail.db"))
            assert whole(folder / "new") == 1
        else:
            back_up(Store(folder / "mail.db"), folder / "b")
        outcomes.add(type(outcome).__name__)
    assert "LedgerError" in outcomes
    assert outcomes <= {"LedgerError", "KeyboardInterrupt", "Manifest", "bool"}


@pytest.mark.thorough
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_restore_leaves_the_present_store_or_that_of_the_backup(made, tmp_path, every):
    outcomes, used = set(), set()

    def action(folder):
        lost = _lost(folder)
        return restore(
            folder / "backup", Store(folder / "mail.db"), replace=True, lose_records=lost
        )

    for trouble, folder, outcome in sweep(fresh(made, tmp_path, action), one_of(TROUBLES, every)):
        check_names(folder, ("mail.db", "mail.db-server", "backup"))
        present = Store(folder / "mail.db")
        assert present.exists  # at no time could somebody make a new one in its place
        used.add(whole(folder))
        restore(folder / "backup", present, replace=True, lose_records=_lost(folder))
        assert whole(folder) == 0
        outcomes.add(type(outcome).__name__)
        assert trouble in DEATHS or not list(folder.glob("*-journal"))
    assert {0, 1} == used
    assert outcomes <= {"LedgerError", "KeyboardInterrupt", "Restored", "bool"}


def _records(head):
    return int(head.partition(":")[0])


def _lost(folder):
    head = gc.store_status(folder / "mail.db").head
    return _records(head) - _records(read_manifest(folder / "backup").head)


@pytest.mark.parametrize("pages", [1, 5])
def test_a_full_disk_is_told_in_one_line_and_leaves_nothing(made, tmp_path, monkeypatch, pages):
    plain = copies._connect

    def connect(path):
        connection = plain(path)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    shutil.copytree(made, tmp_path / "work")
    before = sorted(path.name for path in (tmp_path / "work").iterdir())
    monkeypatch.setattr(copies, "_connect", connect)
    with pytest.raises(LedgerError, match="disk is full") as problem:
        back_up(Store(tmp_path / "work" / "mail.db"), tmp_path / "work" / "b")
    assert str(tmp_path / "work" / "b") in str(problem.value)
    assert "\n" not in str(problem.value)
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == before
