"""A store and the registry of its server are of the same time, or nothing starts."""

import contextlib
import shutil
import sqlite3
from contextlib import closing

import pytest
from format_facts import VERSION_0_1
from server_cases import LocalServer, labelled_graph

import graphcuts_dp as gc
from graphcuts_dp import LedgerError, Store
from graphcuts_dp.ledger.file import StoreFile
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import create_ledger, open_ledger
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.pairing import (
    check_not_lost,
    check_pair,
    open_pair,
    open_registry,
    people_of,
    record_access,
    recorded_access,
    revoke_all,
)
from graphcuts_dp.server.people import Person


@pytest.fixture
def store(tmp_path):
    place = Store(tmp_path / "mail.db", budget=2.0)
    create_ledger(place, gc.Graph([0], [1], vertices=3), privacy_unit="1 edge")
    return place


def add(store, *names):
    """Make people; their tokens."""
    with open_pair(store) as (ledger, book):
        return [people_of(ledger, book).add(Person(name=name), by="console") for name in names]


def change(store, call):
    with open_pair(store) as (ledger, book):
        call(people_of(ledger, book))


def put_aside(store, folder, *suffixes):
    """Copy files as somebody does who knows nothing of journals."""
    folder.mkdir()
    for suffix in suffixes:
        name = f"{store.file.name}{suffix}"
        shutil.copy(store.file.with_name(name), folder / name)


def bring_back(store, folder):
    for path in folder.iterdir():
        shutil.copy(path, store.file.with_name(path.name))


def look(people):
    """Change nothing."""
    people.all()


CHANGES = {
    "revoked": lambda people: people.revoke("ann", by="console"),
    "renewed": lambda people: people.renew("ann", by="console"),
    "limits": lambda people: people.change(Person(name="ann", epsilon=0.5), by="console"),
    "grant": lambda people: people.grant("ann", "bob", allowed=False, by="console"),
    "added": lambda people: people.add(Person(name="cleo"), by="console"),
}


@pytest.mark.parametrize("change_of", CHANGES)
def test_a_registry_from_before_a_change_is_refused(store, tmp_path, change_of):
    (token, _) = add(store, "ann", "bob")
    put_aside(store, tmp_path / "copy", "-server")
    change(store, CHANGES[change_of])
    bring_back(store, tmp_path / "copy")
    with pytest.raises(LedgerError, match=r"older than the store.*revoke-all"):
        change(store, look)
    with closing(Book(book_of(store.file))) as book, closing(open_ledger(store)) as ledger:
        assert people_of(ledger, book).of_token(token)  # which is why it is refused
        with pytest.raises(LedgerError, match="tokens revoked since"):
            check_pair(ledger, book)


def test_a_server_refuses_an_older_registry_and_an_older_store(tmp_path):
    with LocalServer(tmp_path) as server:
        server.add("ann", preapproved=True)
    store = Store(server.path)
    put_aside(store, tmp_path / "early", "", "-server")
    with LocalServer(tmp_path) as server:
        server.tokens["ann"] = server.people.renew("ann", by="curator")
        server.open("ann")
        server.ask("ann", [(["v1"], ["v2"])])
        server.people.revoke("ann", by="curator")
    put_aside(store, tmp_path / "late", "", "-server")
    early, late = tmp_path / "early", tmp_path / "late"

    def started(store_from, registry_from):
        shutil.copy(store_from / "mail.db", store.file)
        shutil.copy(registry_from / "mail.db-server", book_of(store.file))
        with closing(Book(book_of(store.file))) as book:
            Desk(labelled_graph(), store, book).close()

    started(late, late)
    with pytest.raises(LedgerError, match=r"registry .* is older than the store"):
        started(late, early)
    with pytest.raises(LedgerError, match=r"store .* is older than its registry"):
        started(early, late)
    started(late, late)


def test_a_store_that_lost_answers_alone_is_noticed(tmp_path):
    """No token was changed in between: what the registry notes of the store tells it."""
    with LocalServer(tmp_path) as server:
        server.add("ann", preapproved=True)
        server.open("ann")
        server.ask("ann", [(["v1"], ["v2"])])
        shutil.copy(server.path, tmp_path / "early.db")
        before = server.desk.status.head
        server.ask("ann", [(["v3"], ["v4"])])
        assert server.desk.status.head != before
        # a kill now: the note was made with the answer
        noted = server.desk.book.stores[server.desk.store]
        assert str(noted) == server.desk.status.head
    shutil.copy(tmp_path / "early.db", server.path)
    with pytest.raises(LedgerError, match="at least 2 records spent would be forgotten"):
        change(Store(server.path), look)


def test_stores_and_registries_of_others_are_refused(store, tmp_path):
    add(store, "ann")
    other = Store(tmp_path / "other.db", budget=2.0)
    create_ledger(other, gc.Graph([0], [2], vertices=3), privacy_unit="1 edge")
    shutil.copy(book_of(store.file), book_of(other.file))
    with pytest.raises(LedgerError, match="registry of another store"):
        add(other, "bob")
    with pytest.raises(LedgerError, match="registry of another store"):
        revoke_all(other, by="console")


def test_a_store_that_went_on_otherwise_is_refused(store, tmp_path):
    """Two copies of a store that were both used have as many records, and other ones."""
    add(store, "ann")
    put_aside(store, tmp_path / "copy", "")
    add(store, "bob")
    put_aside(store, tmp_path / "registry", "-server")
    bring_back(store, tmp_path / "copy")
    book_of(store.file).unlink()
    revoke_all(store, by="console")  # a record that the first registry does not know
    bring_back(store, tmp_path / "registry")
    with pytest.raises(LedgerError, match="does not go on from the records"):
        add(store, "cleo")


def test_a_registry_that_went_on_otherwise_is_refused(store, tmp_path):
    add(store, "ann")
    put_aside(store, tmp_path / "copy", "-server")
    change(store, CHANGES["revoked"])
    bring_back(store, tmp_path / "copy")
    with closing(Book(book_of(store.file))) as book, book.writing() as changes:
        for name in ("eve", "mallory"):  # more lines than before
            changes.log("console", "person", {"name": name}, access=True)
    with pytest.raises(LedgerError, match="or not its own"):
        change(store, look)


def test_an_honest_operator_revokes_all_and_goes_on(store, tmp_path):
    tokens = add(store, "ann", "bob")
    put_aside(store, tmp_path / "copy", "-server")
    change(store, CHANGES["revoked"])
    put_aside(store, tmp_path / "late", "-server")
    bring_back(store, tmp_path / "copy")
    assert revoke_all(store, by="console") == 2
    with open_pair(store) as (ledger, book):
        people = people_of(ledger, book)
        assert [people.of_token(token) for token in tokens] == [None, None]
        renewed = people.renew("bob", by="console")
        assert people.of_token(renewed)
        assert not people.find("bob").preapproved
    bring_back(store, tmp_path / "late")  # the lost one, found again: it lacks the reset
    with pytest.raises(LedgerError, match="or not its own"):
        change(store, look)


def test_a_lost_registry_is_no_new_one(store):
    add(store, "ann")
    book_of(store.file).unlink()
    with pytest.raises(LedgerError, match="is missing: bring it back"):
        open_registry(store)
    assert not book_of(store.file).exists()
    assert revoke_all(store, by="console") == 0
    add(store, "ann")


def test_a_lost_store_is_no_new_one(store):
    check_not_lost(store)
    add(store, "ann")
    check_not_lost(store)
    store.file.unlink()
    with pytest.raises(LedgerError, match="a new one would forget what was spent"):
        check_not_lost(store)


@contextlib.contextmanager
def failing_store(monkeypatch):
    """A store that cannot be written."""

    def fails(_):
        raise LedgerError("the store is full")

    with monkeypatch.context() as patch:
        patch.setattr(StoreFile, "transaction", fails)
        yield


def test_a_change_holds_though_the_store_cannot_be_written(store, monkeypatch):
    """The registry comes first: a token is withdrawn whatever the store does."""
    (token,) = add(store, "ann")
    with open_pair(store) as (ledger, book):
        people = people_of(ledger, book)
        with failing_store(monkeypatch), pytest.raises(LedgerError, match="the change holds, but"):
            people.revoke("ann", by="console")
        assert people.of_token(token) is None
        assert recorded_access(ledger) != book.access_line
        with failing_store(monkeypatch):
            assert people.add(Person(name="bob"), by="console")
    with open_pair(store) as (ledger, book):  # the next opening makes up for it
        assert recorded_access(ledger) == book.access_line


def test_what_the_store_keeps_is_one_short_record_for_each_change(store):
    with closing(open_ledger(store)) as ledger:
        before = ledger.head.records
    add(store, "ann", "bob")
    for _ in range(2):  # opening records nothing
        change(store, look)
    with closing(open_ledger(store)) as ledger, ledger.locked():
        assert ledger.head.records == before + 2
        digest, body = ledger.record(ledger.registry)
        assert (digest, set(body)) == (b"", {"log", "time"})
        assert not ledger.uses


def test_stores_and_registries_of_version_0_1_learn_of_each_other(tmp_path):
    place = Store(VERSION_0_1.unpack(tmp_path, "server.db"))
    before = gc.store_status(place)
    with closing(sqlite3.connect(book_of(place.file))) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    put_aside(place, tmp_path / "copy", "-server")
    with open_pair(place) as (ledger, book):
        assert recorded_access(ledger) == book.log_head
        people_of(ledger, book).renew("ann", by="console")
    after = gc.store_status(place)
    assert (after.epsilon, after.delta, len(after.uses), after.store) == (
        *(before.epsilon, before.delta, len(before.uses)),
        before.store,
    )
    gc.store_status(Store(place.path, expect_head=before.head))
    bring_back(place, tmp_path / "copy")
    with pytest.raises(LedgerError, match="older than the store"):
        change(place, look)


def test_lines_that_were_rotated_out_are_still_known(store):
    add(store, "ann")
    with open_pair(store) as (ledger, book):
        people = people_of(ledger, book)
        book.rotate(people.log_head, keys_before=0, by="console")
        record_access(ledger, book)
    change(store, CHANGES["revoked"])


def test_a_server_notes_where_the_store_stands_when_a_session_begins(tmp_path):
    with LocalServer(tmp_path, graph=labelled_graph()) as server:
        server.add("ann", preapproved=True)
        server.open("ann")
        assert str(server.desk.book.stores[server.desk.store]) == server.desk.status.head
        head = server.desk.status.head
    with closing(Ledger(server.path)) as ledger:
        assert str(ledger.head) == head
