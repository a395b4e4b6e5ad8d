"""Backups of a server, while it runs, and bringing them back."""

import json
import shutil
import sqlite3
import threading
from contextlib import closing

import pytest
from processes import ServerProcess
from server_cases import LocalServer, labelled_graph

import graphcuts_dp as gc
from graphcuts_dp import LedgerError, Store
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.server.backup import back_up, read_manifest, restore
from graphcuts_dp.server.book import Book, book_of, serving, verify
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.pairing import open_pair, people_of
from graphcuts_dp.server.people import Person

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@pytest.fixture
def place(tmp_path):
    """A folder for a server, and one for others."""
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


def of_token(store, token):
    with open_pair(store) as (ledger, book):
        login = people_of(ledger, book).of_token(token)
    return None if login is None else login.person.name


def head_of(path):
    return gc.store_status(path).head


def test_a_backup_of_a_running_server_holds_all_that_was_shown(place, tmp_path):
    with LocalServer(place) as server:
        server.add("ann", preapproved=True)
        server.add("bob")
        server.open("ann")
        server.ask("ann", [(["v1"], ["v2"])])
        server.people.revoke("bob", by="curator")
        revoked = server.tokens["bob"]
        manifest = back_up(Store(server.path), tmp_path / "backup")
        head = server.desk.status.head
        server.ask("ann", [(["v3"], ["v4"])])  # it goes on
    folder = tmp_path / "backup"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == dict.fromkeys(
        ("store.db", "store.db-server", "backup.json"), 0o600
    )
    assert manifest == read_manifest(folder)
    assert (manifest.head, manifest.store) == (head, gc.store_status(server.path).store)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "served"]
    (tmp_path / "new").mkdir()
    new = Store(tmp_path / "new" / "mail.db")
    restored = restore(folder, new)
    assert (restored.lost, restored.former, restored.aside, restored.revoked) == (
        *(None, None, None),
        False,
    )
    assert restored.account.uses == 1
    assert head_of(new.path) == head
    assert of_token(new, server.tokens["ann"]) == "ann"
    assert of_token(new, revoked) is None  # `cp` of both files brought it back
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()} == {0o600}
    with (
        closing(Book(book_of(new.file))) as book,
        closing(Desk(labelled_graph(), new, book)) as desk,
    ):
        verify(book.log_start, desk.people.log_lines())
        assert len(desk.status.uses) == 1


def test_copies_by_cp_of_a_running_server_bring_tokens_back_and_are_refused(place, tmp_path):
    """What the backup is for: the write-ahead log of the registry is not in a copy of its file."""
    with LocalServer(place) as server:
        server.add("bob")
        server.desk.book.rows("PRAGMA wal_checkpoint(FULL)")
        server.people.revoke("bob", by="curator")
        for name in ("mail.db", "mail.db-server"):
            shutil.copy(place / name, tmp_path / name)
        copied = Store(tmp_path / "mail.db")
        with closing(Book(book_of(copied.file))) as book:
            token = server.tokens["bob"].split("_")[1]
            assert book.rows("SELECT active FROM tokens WHERE id = ?", (token,)) == [(1,)]
        with pytest.raises(LedgerError, match="tokens revoked since would work again"):
            of_token(copied, server.tokens["bob"])


def test_copies_by_cp_that_lack_all_people_are_refused(place, tmp_path):
    """All that a registry was told since its server started is in its write-ahead log."""
    with LocalServer(place) as server:
        server.add("ann")
        for name in ("mail.db", "mail.db-server"):
            shutil.copy(place / name, tmp_path / name)
        with closing(sqlite3.connect(tmp_path / "mail.db-server")) as connection:
            people = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'people'")
            known = people.fetchall() and connection.execute("SELECT 1 FROM people").fetchall()
        assert not known
        with pytest.raises(LedgerError, match="older than the store"):
            of_token(Store(tmp_path / "mail.db"), server.tokens["ann"])


@pytest.fixture
def served(place, tmp_path):
    """A store that was served, its backup, and tokens by name."""
    with LocalServer(place) as server:
        server.add("ann", preapproved=True)
        server.open("ann")
        server.ask("ann", [(["v1"], ["v2"])])
    back_up(Store(server.path), tmp_path / "backup")
    return Store(server.path), tmp_path / "backup", server.tokens


def spend(store, count, of=""):
    """Use the store so often, for a purpose; how many records it has then."""
    for number in range(count):
        gc.release_graph(
            labelled_graph(),
            epsilon=0.25,
            fit="none",
            store=Store(store.path, purpose=f"{of}{number}"),
        )
    with closing(Ledger(store.file)) as ledger:
        return ledger.records


def test_records_are_lost_only_where_their_number_is_stated(served, place):
    store, backup, tokens = served
    before, account = spend(store, 0), gc.store_status(store).epsilon
    lost = spend(store, 3) - before
    assert lost >= 3
    everything = {path.name: path.read_bytes() for path in place.iterdir()}

    def unchanged():
        found = {path.name: path.read_bytes() for path in place.iterdir()}
        found.pop("mail.db-serving", None)  # the lock of servers, which stays
        return found == everything

    with pytest.raises(LedgerError, match="exists; add --replace"):
        restore(backup, store)
    for stated in (None, 0, lost - 1, lost + 1):
        words = "not" if stated else f"--lose-records {lost}$"
        with pytest.raises(LedgerError, match=rf"would lose {lost} records.*{words}"):
            restore(backup, store, replace=True, lose_records=stated)
        assert unchanged()
    done = restore(backup, store, replace=True, lose_records=lost)
    assert (done.lost, done.revoked) == (lost, False)
    assert (done.account.total.epsilon, done.former.total.epsilon) == (account, account + 0.75)
    assert gc.store_status(store).epsilon == account
    assert gc.store_status(done.aside).epsilon == account + 0.75  # put aside, not removed
    with open_pair(Store(done.aside)) as (ledger, _):  # with its registry
        assert ledger.records == before + lost
    assert of_token(store, tokens["ann"]) == "ann"
    assert not [path.name for path in place.iterdir() if path.name.endswith(("-wal", "-journal"))]


def test_nothing_is_lost_where_nothing_was_recorded_since(served):
    store, backup, _ = served
    before = head_of(store.path)
    with pytest.raises(LedgerError, match="would lose 0 records, not 1"):
        restore(backup, store, replace=True, lose_records=1)
    done = restore(backup, store, replace=True)
    assert (done.lost, done.revoked) == (0, False)
    assert head_of(store.path) == head_of(done.aside) == before


def test_tokens_that_were_revoked_since_do_not_come_back(served):
    store, backup, tokens = served
    with open_pair(store) as (ledger, book):
        people_of(ledger, book).revoke("ann", by="console")
    with pytest.raises(LedgerError, match="--lose-records 1"):
        restore(backup, store, replace=True)
    done = restore(backup, store, replace=True, lose_records=1)
    assert done.revoked
    assert [of_token(store, token) for token in tokens.values()] == [None, None]


def test_what_the_registry_alone_knows_is_counted(served):
    """The store is gone; its registry has noted how many records it had."""
    store, backup, _ = served
    early = spend(store, 0)
    spend(store, 2)
    with open_pair(store) as (ledger, _):
        late = ledger.records
    store.file.unlink()
    with pytest.raises(LedgerError, match=r"-server exists; add --replace"):
        restore(backup, store)
    with pytest.raises(LedgerError, match=f"would lose {late - early} records"):
        restore(backup, store, replace=True)
    restore(backup, store, replace=True, lose_records=late - early)
    assert spend(store, 0) == early


def test_a_store_that_went_on_otherwise_counts_from_where_they_part(served, tmp_path):
    """Both have records that the other one has not: those of the present one are lost."""
    store, _, _ = served
    before = spend(store, 0)
    for name in ("mail.db", "mail.db-server"):
        shutil.copy(store.file.with_name(name), tmp_path / name)
    spend(store, 3)
    back_up(store, tmp_path / "later")
    for name in ("mail.db", "mail.db-server"):
        shutil.copy(tmp_path / name, store.file.with_name(name))
    lost = spend(store, 1, "other") - before
    with pytest.raises(LedgerError, match=f"would lose {lost} records"):
        restore(tmp_path / "later", store, replace=True)


def test_a_store_that_is_newer_than_the_present_one_loses_nothing(served, tmp_path):
    store, backup, _ = served
    spend(store, 2)
    back_up(store, tmp_path / "later")
    lost = spend(store, 0) - int(read_manifest(backup).head.partition(":")[0])
    restore(backup, store, replace=True, lose_records=lost)
    done = restore(tmp_path / "later", store, replace=True)
    assert done.lost == 0


def test_a_running_server_is_not_replaced(served):
    store, backup, _ = served
    with (
        serving(store.file),
        pytest.raises(LedgerError, match="another server serves"),
    ):
        restore(backup, store, replace=True)


def test_whoever_has_the_former_store_open_spends_nothing_on_it(served):
    store, backup, _ = served
    terms = {"name": "late", "epsilon": 0.25, "queries": 5}
    with gc.open_session(labelled_graph(), store=store, **terms) as session:
        with closing(Ledger(store.file)) as ledger:
            lost = ledger.records - int(read_manifest(backup).head.partition(":")[0])
        done = restore(backup, store, replace=True, lose_records=lost)
        before = head_of(done.aside)
        with pytest.raises(LedgerError):
            session.ask(["v1"])
    assert head_of(done.aside) == before
    assert spend(store, 1) > 0  # and the store is whole


def change(path, edit):
    values = json.loads(path.read_text())
    edit(values)
    path.write_text(json.dumps(values))


ALTERED = {
    "a byte of the store": lambda folder: _flip(folder / "store.db"),
    "a byte of the registry": lambda folder: _flip(folder / "store.db-server"),
    "no store": lambda folder: (folder / "store.db").unlink(),
    "no registry": lambda folder: (folder / "store.db-server").unlink(),
    "another head": lambda folder: change(
        folder / "backup.json", lambda values: values.update(head=f"1:{'0' * 64}")
    ),
    "another store's": lambda folder: change(
        folder / "backup.json", lambda values: values.update(store="0" * 32)
    ),
}
NO_BACKUPS = {
    "no manifest": lambda folder: (folder / "backup.json").unlink(),
    "not JSON": lambda folder: (folder / "backup.json").write_text("x"),
    "a list": lambda folder: (folder / "backup.json").write_text("[" * 10_000),
    "bytes": lambda folder: (folder / "backup.json").write_bytes(b"\xff\xfe"),
    "a long one": lambda folder: (folder / "backup.json").write_text(" " * 10**6),
    "a field less": lambda folder: change(
        folder / "backup.json", lambda values: values.pop("time")
    ),
    "another type": lambda folder: change(
        folder / "backup.json", lambda values: values.update(head=1)
    ),
    "no folder": shutil.rmtree,
}


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", [*ALTERED, *NO_BACKUPS])
def test_what_is_no_backup_or_was_altered_is_refused_in_one_line(served, place, kind):
    store, backup, _ = served
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    (ALTERED | NO_BACKUPS)[kind](backup)
    words = "was altered" if kind in ALTERED else "no backup"
    for path in (store, Store(place / "new.db")):
        with pytest.raises(LedgerError, match=words) as problem:
            restore(backup, path, replace=True)
        assert "\n" not in str(problem.value)
    after = {path.name: path.read_bytes() for path in place.iterdir()}
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) <= {"mail.db-serving", "new.db-serving"}


def test_backups_of_later_formats_are_refused(served):
    store, backup, _ = served
    change(backup / "backup.json", lambda values: values.update(backup=2))
    with pytest.raises(LedgerError, match="another version"):
        restore(backup, store, replace=True)


def test_other_stores_and_files_that_others_may_read_are_not_replaced(served, tmp_path):
    store, backup, _ = served
    (tmp_path / "other").mkdir()
    with LocalServer(tmp_path / "other", graph=labelled_graph(seed=2)) as server:
        server.add("eve")
    with pytest.raises(LedgerError, match="belongs to another store"):
        restore(backup, Store(server.path), replace=True)
    book_of(server.path).unlink()
    with pytest.raises(LedgerError, match="another store than that of the backup"):
        restore(backup, Store(server.path), replace=True)
    for path in (store.file, book_of(store.file)):
        path.chmod(0o644)
        with pytest.raises(LedgerError, match="others may read"):
            restore(backup, store, replace=True)
        path.chmod(0o600)
    restore(backup, store, replace=True)


def test_a_damaged_store_is_put_away_by_its_owner(served):
    store, backup, _ = served
    data = store.file.read_bytes()
    store.file.write_bytes(data[: len(data) // 2])
    with pytest.raises(LedgerError, match=r"what would be lost is not known.*move it away"):
        restore(backup, store, replace=True)
    store.file.rename(store.file.with_name("damaged"))
    assert restore(backup, store, replace=True).lost == 0  # as the registry knows


def test_a_backup_goes_nowhere_else(served, tmp_path):
    store, backup, _ = served
    with pytest.raises(LedgerError, match="exists; name a new folder"):
        back_up(store, backup)
    with pytest.raises(LedgerError, match="cannot write"):
        back_up(store, tmp_path / "missing" / "backup")
    book_of(store.file).unlink()
    with pytest.raises(LedgerError, match="no server has served this store"):
        back_up(store, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_backups_while_tokens_change_and_answers_come(place, tmp_path):
    """Each backup is of one time: it opens, and its tokens are those of its log."""
    with LocalServer(place) as server:
        server.add("ann", preapproved=True)
        server.open("ann", queries=200)
        store, stop, problems = Store(server.path), threading.Event(), []

        def change_tokens():
            try:
                while not stop.is_set():
                    with open_pair(store) as (ledger, book):
                        people_of(ledger, book).renew("ann", by="console")
            except LedgerError as problem:
                problems.append(problem)

        thread = threading.Thread(target=change_tokens)
        thread.start()
        for number in range(6):
            back_up(store, tmp_path / f"backup {number}")
        stop.set()
        thread.join()
    assert problems == []
    heads = []
    for number in range(6):
        (tmp_path / f"new {number}").mkdir()
        new = Store(tmp_path / f"new {number}" / "mail.db")
        restore(tmp_path / f"backup {number}", new)
        with open_pair(new) as (ledger, book):
            assert book.contains(book.access_line)
            active = book.rows("SELECT COUNT(*) FROM tokens WHERE active AND person = 'ann'")
            assert active == [(1,)]
            heads.append(ledger.records)
    assert heads == sorted(heads)


@pytest.mark.thorough
def test_a_backup_of_a_server_in_another_process(place, tmp_path):
    process = ServerProcess(place, labelled_graph(), "--budget", "2", "--tick", "0.02")
    try:
        process.add("ann", preapproved=True)
        with gc.connect(process.url, process.tokens["ann"], epsilon=1.0, queries=5) as session:
            answer = session.ask(["v1"])
            back_up(Store(process.store), tmp_path / "backup")
            with pytest.raises(LedgerError, match="another server serves"):
                restore(tmp_path / "backup", Store(process.store), replace=True)
    finally:
        assert process.stop() == 0
    process.store.unlink()
    book_of(process.store).unlink()
    restore(tmp_path / "backup", Store(process.store))
    process.start()
    try:
        with gc.connect(process.url, process.tokens["ann"]) as session:
            assert session.ask(["v1"]) == answer  # on the record, and free
    finally:
        assert process.stop() == 0


def test_a_registry_copy_is_one_file(served):
    _, backup, _ = served
    with closing(sqlite3.connect(f"file:{backup}/store.db-server?mode=ro", uri=True)) as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with closing(Book(backup / "store.db-server")) as book:
        assert book.rows("SELECT name FROM people ORDER BY name") == [("ann",), ("curator",)]
    assert Person(name="ann").active
