"""Backups and restores of a folder of stores, with a fault or a kill at any call.

No store loses what was spent before the backup; what was spent since is lost only if the user
states how many records. No state that is left accepts a token that was revoked before the backup
or after it.
"""

import re
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults import DEATHS, ERRORS, INTERRUPTIONS, in_copies, in_turn, sweep

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError, LedgerError, Store
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.folder import ServerFiles
from graphcuts_dp.server.folder_backup import back_up_folder, restore_folder
from graphcuts_dp.server.pairing import people_of
from graphcuts_dp.server.people import Person

GRAPHS = {"mail": gc.Graph([0, 1], [1, 2], vertices=4), "phone": gc.Graph([0], [3], vertices=5)}
FAULTS = (*ERRORS, *INTERRUPTIONS, *DEATHS)
EVERY = [5, pytest.param(1, marks=pytest.mark.slow)]
OPTIONS = 'graph = "a.npz"\nbudget = "9"\n'

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@dataclass(frozen=True)
class ServerFolder:
    """A server's folder of stores, and its backup beside it.

    Attributes:
        folder: that holds `graphs`, the stores, and `backup`.
        tokens: of persons, by name.
        records_since_backup: number of records that the stores have and the backup has not.
    """

    folder: Path
    tokens: dict[str, str]
    records_since_backup: int


def files_of(folder: Path) -> ServerFiles:
    return ServerFiles.of(Store(folder / "graphs"))


def release_all(folder: Path) -> None:
    """Charge epsilon = 1 to each store."""
    for name, graph in GRAPHS.items():
        store = Store(folder / "graphs" / f"{name}.db")
        gc.release_graph(graph, epsilon=1.0, fit="none", store=store)


def write_server_folder(folder: Path, *, revoked_since: bool) -> ServerFolder:
    """Write two stores with one use each and a revoked token, a backup, and one more use each.

    Args:
        revoked_since: whether another token is revoked after the backup.
    """
    (folder / "graphs").mkdir()
    for name, graph in GRAPHS.items():
        (folder / "graphs" / f"{name}.toml").write_text(OPTIONS)
        create_ledger(
            Store(folder / "graphs" / f"{name}.db", budget=9.0), graph, privacy_unit="1 edge"
        )
    with files_of(folder).open_pair() as (ledger, book):
        people = people_of(ledger, book)
        tokens = {
            name: people.add(Person(name=name), by="console") for name in ("ann", "bob", "eve")
        }
        people.revoke("bob", by="console")
    release_all(folder)
    back_up_folder(files_of(folder), folder / "backup")
    release_all(folder)
    if revoked_since:
        with files_of(folder).open_pair() as (ledger, book):
            people_of(ledger, book).revoke("eve", by="console")
    with files_of(folder).open_pair():
        pass  # opening writes to each store who may ask
    with pytest.raises(LedgerError, match="--lose-records") as caught:
        restore_folder(folder / "backup", folder / "graphs", replace=True)
    records_since_backup = int(re.search(r"--lose-records (\d+)", str(caught.value))[1])
    return ServerFolder(folder, tokens, records_since_backup)


@pytest.fixture(scope="module", params=[True, False], ids=["revoked since", "spent since"])
def server_folder(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("server")
    return write_server_folder(folder, revoked_since=request.param)


def uses_by_store(folder: Path) -> tuple[int, ...]:
    """Return the number of uses of each store."""
    counts = []
    for name in GRAPHS:
        with closing(Ledger(folder / "graphs" / f"{name}.db")) as ledger:
            counts.append(len(ledger.uses))
    return tuple(counts)


def accepted_persons(folder: Path, tokens: dict[str, str]) -> set[str] | None:
    """Return the persons whose tokens a server accepts; None if it refuses to start."""
    try:
        files = files_of(folder)
        files.check_not_lost()
        with files.open_pair() as (ledger, book):
            people = people_of(ledger, book)
            return {name for name, token in tokens.items() if people.of_token(token) is not None}
    except LedgerError:
        return None


@pytest.mark.thorough
@pytest.mark.parametrize("every", EVERY)
def test_a_backup_of_a_folder_with_a_fault_is_complete_or_absent(server_folder, tmp_path, every):
    outcomes = set()
    prepare = in_copies(
        server_folder.folder,
        tmp_path,
        lambda folder: back_up_folder(files_of(folder), folder / "b"),
    )
    tokens = server_folder.tokens
    before = accepted_persons(server_folder.folder, tokens)
    assert "bob" not in before
    for _, folder, outcome in sweep(prepare, in_turn(FAULTS, every)):
        assert uses_by_store(folder) == (2, 2)
        assert accepted_persons(folder, tokens) == before
        if not (folder / "b").exists():
            back_up_folder(files_of(folder), folder / "b")
        (folder / "new").mkdir()
        restore_folder(folder / "b", folder / "new" / "graphs")
        assert uses_by_store(folder / "new") == (2, 2)
        assert accepted_persons(folder / "new", tokens) == before
        outcomes.add(type(outcome).__name__)
        shutil.rmtree(folder)
    assert "LedgerError" in outcomes
    assert outcomes <= {"LedgerError", "KeyboardInterrupt", "FolderManifest", "bool"}


@pytest.mark.thorough
@pytest.mark.parametrize("every", EVERY)
def test_a_restore_of_a_folder_with_a_fault_accepts_no_revoked_token_and_can_be_repeated(
    server_folder, tmp_path, every
):
    use_counts, accepted_sets = set(), set()
    tokens = server_folder.tokens
    before = accepted_persons(server_folder.folder, tokens)

    def restore(folder, records):
        return restore_folder(
            folder / "backup", folder / "graphs", replace=True, lose_records=records
        )

    def restore_again(folder):
        with pytest.raises(LedgerError) as caught:
            restore(folder, 10**6)
        restore(folder, int(re.search(r"would lose (\d+)", str(caught.value))[1]))

    prepare = in_copies(
        server_folder.folder,
        tmp_path,
        lambda folder: restore(folder, server_folder.records_since_backup),
    )
    for _, folder, outcome in sweep(prepare, in_turn(FAULTS, every)):
        counts, persons = uses_by_store(folder), accepted_persons(folder, tokens)
        assert set(counts) <= {1, 2}
        assert persons is None or persons <= before
        use_counts.add(counts)
        accepted_sets.add(None if persons is None else frozenset(persons))
        if counts == (2, 2) and persons is not None:
            assert persons in (before, set())
        restore_again(folder)
        assert uses_by_store(folder) == (1, 1)
        assert accepted_persons(folder, tokens) <= before
        assert all((folder / "graphs" / f"{name}.toml").read_text() == OPTIONS for name in GRAPHS)
        assert type(outcome).__name__ in {
            "LedgerError",
            "KeyboardInterrupt",
            "FolderRestored",
            "bool",
        }
        shutil.rmtree(folder)
    assert {(2, 2), (1, 1)} <= use_counts
    assert frozenset(before) in accepted_sets


@pytest.mark.parametrize("every", EVERY)
def test_a_killed_restore_on_a_new_machine_leaves_all_stores_or_no_server_that_starts(
    server_folder, tmp_path, every
):
    """With files of options and no store, a server would create a store that has spent nothing."""
    server_refused = False
    prepare_copy = in_copies(
        server_folder.folder,
        tmp_path,
        lambda folder: restore_folder(folder / "backup", folder / "new" / "graphs"),
    )

    def prepare():
        folder, action = prepare_copy()
        (folder / "new").mkdir()
        return folder, action

    for _, folder, _ in sweep(prepare, in_turn(DEATHS, every)):
        new = folder / "new" / "graphs"
        try:
            files = ServerFiles.of(Store(new))
            files.check_not_lost()
            assert len(files.existing) == len(files.stores) == len(GRAPHS)
        except GraphCutsError:
            server_refused = True
        restore_folder(folder / "backup", new, replace=True)
        assert uses_by_store(folder / "new") == (1, 1)
        assert "bob" not in accepted_persons(folder / "new", server_folder.tokens)
        shutil.rmtree(folder)
    assert server_refused
