"""A backup of a folder of stores, and bringing it back, with trouble or a kill at any call.

Nothing is lost: what was spent before the backup is on each store, at any time, and what was spent
since is given up by whoever states it. Nothing is revived: tokens that were revoked, before the
backup or after it, are not accepted in any state that is left.
"""

import re
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults import DEATHS, ERRORS, INTERRUPTIONS, one_of, sweep

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError, LedgerError, Store
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.folder import ServerFiles
from graphcuts_dp.server.folder_backup import back_up_folder, restore_folder
from graphcuts_dp.server.pairing import people_of
from graphcuts_dp.server.people import Person

GRAPHS = {"mail": gc.Graph([0, 1], [1, 2], vertices=4), "phone": gc.Graph([0], [3], vertices=5)}
TROUBLES = (*ERRORS, *INTERRUPTIONS, *DEATHS)
EVERY = [5, pytest.param(1, marks=pytest.mark.slow)]
OPTIONS = 'graph = "a.npz"\nbudget = "9"\n'

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@dataclass(frozen=True)
class Served:
    """A folder that was served, and its backup beside it.

    Attributes:
        folder: that holds both.
        tokens: of persons, by name.
        lost: records that the stores have and the backup has not.
    """

    folder: Path
    tokens: dict[str, str]
    lost: int


def files_of(folder):
    return ServerFiles.of(Store(folder / "graphs"))


def spend(folder):
    for name, graph in GRAPHS.items():
        store = Store(folder / "graphs" / f"{name}.db")
        gc.release_graph(graph, epsilon=1.0, fit="none", store=store)


def make(folder, *, revoked_since):
    """Two stores with a use each and a token that was revoked; then a backup; then a use more."""
    (folder / "graphs").mkdir()
    for name, graph in GRAPHS.items():
        (folder / "graphs" / f"{name}.toml").write_text(OPTIONS)
        create_ledger(
            Store(folder / "graphs" / f"{name}.db", budget=9.0), graph, privacy_unit="1 edge"
        )
    with files_of(folder).paired() as (ledger, book):
        people = people_of(ledger, book)
        tokens = {
            name: people.add(Person(name=name), by="console") for name in ("ann", "bob", "eve")
        }
        people.revoke("bob", by="console")
    spend(folder)
    back_up_folder(files_of(folder), folder / "backup")
    spend(folder)
    if revoked_since:
        with files_of(folder).paired() as (ledger, book):
            people_of(ledger, book).revoke("eve", by="console")
    with files_of(folder).paired():
        pass  # each store records by now who may ask
    with pytest.raises(LedgerError, match="--lose-records") as caught:
        restore_folder(folder / "backup", folder / "graphs", replace=True)
    lost = int(re.search(r"--lose-records (\d+)", str(caught.value))[1])
    return Served(folder, tokens, lost)


@pytest.fixture(scope="module", params=[True, False], ids=["revoked since", "spent since"])
def served(tmp_path_factory, request):
    return make(tmp_path_factory.mktemp("served"), revoked_since=request.param)


def fresh(folder, tmp_path, action):
    """Folders with copies of one, and an action on each, for `sweep`."""
    numbers = iter(range(10_000))

    def one():
        copy = tmp_path / f"work {next(numbers)}"
        shutil.copytree(folder, copy)
        return copy, lambda: action(copy)

    return one


def uses_by_store(folder):
    """How many uses each store has; each is there, under its name."""
    counts = []
    for name in GRAPHS:
        with closing(Ledger(folder / "graphs" / f"{name}.db")) as ledger:
            counts.append(len(ledger.uses))
    return tuple(counts)


def accepted(folder, served):
    """Who is let in, as a server finds the files; None where it refuses to start."""
    try:
        files = files_of(folder)
        files.check_not_lost()
        with files.paired() as (ledger, book):
            people = people_of(ledger, book)
            return {
                name for name, token in served.tokens.items() if people.of_token(token) is not None
            }
    except LedgerError:
        return None


@pytest.mark.thorough
@pytest.mark.parametrize("every", EVERY)
def test_a_backup_of_a_folder_is_there_whole_or_not_at_all(served, tmp_path, every):
    outcomes = set()
    action = fresh(
        served.folder, tmp_path, lambda folder: back_up_folder(files_of(folder), folder / "b")
    )
    before = accepted(served.folder, served)
    assert {"bob"}.isdisjoint(before)
    for _, folder, outcome in sweep(action, one_of(TROUBLES, every)):
        assert uses_by_store(folder) == (2, 2)
        assert accepted(folder, served) == before
        if not (folder / "b").exists():
            back_up_folder(files_of(folder), folder / "b")
        (folder / "new").mkdir()
        restore_folder(folder / "b", folder / "new" / "graphs")
        assert uses_by_store(folder / "new") == (2, 2)
        assert accepted(folder / "new", served) == before
        outcomes.add(type(outcome).__name__)
        shutil.rmtree(folder)
    assert "LedgerError" in outcomes
    assert outcomes <= {"LedgerError", "KeyboardInterrupt", "FolderManifest", "bool"}


@pytest.mark.thorough
@pytest.mark.parametrize("every", EVERY)
def test_a_restore_of_a_folder_revives_no_token_and_can_be_done_again(served, tmp_path, every):
    seen, left = set(), set()
    before = accepted(served.folder, served)

    def action(folder):
        return restore_folder(
            folder / "backup", folder / "graphs", replace=True, lose_records=served.lost
        )

    def finish(folder):
        with pytest.raises(LedgerError) as caught:
            restore_folder(folder / "backup", folder / "graphs", replace=True, lose_records=10**6)
        lost = int(re.search(r"would lose (\d+)", str(caught.value))[1])
        restore_folder(folder / "backup", folder / "graphs", replace=True, lose_records=lost)

    for _, folder, outcome in sweep(
        fresh(served.folder, tmp_path, action), one_of(TROUBLES, every)
    ):
        counts, persons = uses_by_store(folder), accepted(folder, served)
        assert set(counts) <= {1, 2}
        assert persons is None or persons <= before  # refused, or nobody who was sent away
        seen.add(counts)
        left.add(None if persons is None else frozenset(persons))
        if counts == (2, 2) and persons is not None:
            assert persons in (before, set())
        finish(folder)
        assert uses_by_store(folder) == (1, 1)
        assert accepted(folder, served) <= before
        assert all((folder / "graphs" / f"{name}.toml").read_text() == OPTIONS for name in GRAPHS)
        assert type(outcome).__name__ in {
            "LedgerError",
            "KeyboardInterrupt",
            "FolderRestored",
            "bool",
        }
        shutil.rmtree(folder)
    assert {(2, 2), (1, 1)} <= seen
    assert frozenset(before) in left


@pytest.mark.parametrize("every", EVERY)
def test_a_restore_on_a_new_machine_leaves_nothing_that_a_server_would_begin_anew(
    served, tmp_path, every
):
    """With files of options and no store, a server would make one that has spent nothing."""
    started = set()

    def action(folder):
        return restore_folder(folder / "backup", folder / "new" / "graphs")

    def prepared():
        folder, act = one()
        (folder / "new").mkdir()
        return folder, act

    one = fresh(served.folder, tmp_path, action)
    for _, folder, _ in sweep(prepared, one_of(DEATHS, every)):
        new = folder / "new" / "graphs"
        try:
            files = ServerFiles.of(Store(new))
            files.check_not_lost()
            whole = len(files.existing) == len(files.stores) == len(GRAPHS)
        except GraphCutsError:
            whole = None  # a server does not start
        assert whole is not False
        started.add(whole)
        restore_folder(folder / "backup", new, replace=True)
        assert uses_by_store(folder / "new") == (1, 1)
        assert {"bob"}.isdisjoint(accepted(folder / "new", served))
        shutil.rmtree(folder)
    assert None in started
