"""Tokens, people, and the audit log of what was done."""

import hashlib
import hmac
import os
import sqlite3

import pytest

from graphcuts_dp import LedgerError, ParameterError
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.server.book import Book, read_export, serving, verify
from graphcuts_dp.server.people import People, Person
from graphcuts_dp.server.settings import Rates


@pytest.fixture
def people(tmp_path):
    book = Book(tmp_path / "mail.db-server")
    yield People(book)
    book.close()


def add(people, *names):
    for name in names:
        people.add(Person(name=name), by="console")


def test_a_token_counts_until_it_is_withdrawn(people):
    token = people.add(Person(name="ann"), by="console")
    assert people.of_token(token).person.name == "ann"
    other = people.renew("ann", by="console")
    assert people.of_token(token) is None
    assert people.of_token(other).person == Person(name="ann")
    people.revoke("ann", by="console")
    assert people.of_token(other) is None
    assert not people.find("ann").active


def test_tokens_are_kept_as_digests_and_shown_nowhere(people, tmp_path):
    token = people.add(Person(name="ann"), by="console")
    people.log_in(people.of_token(token))
    people.book.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert hashlib.sha256(token.encode()).digest() in kept
    assert token.encode() not in kept
    assert token.split("_", 2)[2].encode() not in kept  # the secret may hold "_", too
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.iterdir())


def test_all_comparisons_go_by_whole_digests(people, monkeypatch):
    """A wrong token, and one of nobody, take the same way as a right one."""
    seen = []
    plain = hmac.compare_digest
    monkeypatch.setattr(
        hmac,
        "compare_digest",
        lambda one, two: seen.append((len(one), len(two))) or plain(one, two),
    )
    token = people.add(Person(name="ann"), by="console")
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    nobody = "gcdp_" + "0" * 16 + token[21:]
    assert people.of_token(token)
    for text in (wrong, nobody, "", "gcdp", token + "\n", "é" * 50):
        assert people.of_token(text) is None
    assert seen == [(32, 32)] * 7


def test_a_login_ends_with_the_token_and_by_itself(people, monkeypatch):
    token = people.add(Person(name="ann"), by="console")
    secret, csrf = people.log_in(people.of_token(token))
    found = people.of_login(secret)
    assert (found.person.name, found.csrf) == ("ann", csrf)
    assert people.of_login(csrf) is None
    with monkeypatch.context() as later:
        later.setattr("graphcuts_dp.server.people.time.time", lambda: 9e9)
        assert people.of_login(secret) is None
    assert people.of_login(secret)
    people.revoke("ann", by="console")
    assert people.of_login(secret) is None


@pytest.mark.parametrize(
    "facts",
    [
        *({"name": name} for name in ("Ann", "a.b", "", "a" * 41)),
        *({"epsilon": epsilon} for epsilon in (0, float("nan"))),
        *({"role": "king"}, {"queries": 0}, {"delta": 0.1}, {"epsilon": 1, "delta": 1.0}),
    ],
)
def test_people_that_cannot_be(facts):
    with pytest.raises(ParameterError):
        Person(**{"name": "ann"} | facts)


def test_names_are_taken_once_and_nobody_is_nobody(people):
    people.add(Person(name="ann"), by="console")
    with pytest.raises(ParameterError, match="already"):
        people.add(Person(name="ann"), by="console")
    for call in (people.find, lambda name: people.revoke(name, by="x")):
        for name in ("bob", "\udcff"):  # no text that SQLite takes
            with pytest.raises(ParameterError, match="nobody named"):
                call(name)


def changed(people, statement, *values):
    """Alter the log as somebody with the file and without its triggers would."""
    connection = sqlite3.connect(people.book.path)
    connection.execute("DROP TRIGGER IF EXISTS audit_no_update")
    connection.execute("DROP TRIGGER IF EXISTS audit_no_delete")
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def checked(people, expected=None):
    return verify(people.book.log_start, people.log_lines(), expected)


def test_the_log_is_a_chain(people):
    empty = people.log_head
    assert (empty.records, checked(people)) == (0, empty)
    add(people, "ann", "bob", "cleo")
    early = people.log_head
    assert checked(people) == early == Head.parse(str(early))
    people.revoke("bob", by="console")
    for head in (empty, early, people.log_head):
        assert checked(people, head) == people.log_head
    start, lines = read_export(people.log_text())
    assert verify(start, lines, early) == people.log_head


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET who = 'ann' WHERE seq = 2",
        "UPDATE audit SET body = '{}' WHERE seq = 2",
        "UPDATE audit SET time = '2020-01-01' WHERE seq = 3",
        "DELETE FROM audit WHERE seq = 2",
        "UPDATE audit SET seq = 9 WHERE seq = 3",
        "UPDATE audit SET digest = x'00' WHERE seq = 1",
    ],
)
def test_whoever_alters_the_log_is_noticed(people, statement):
    add(people, "ann", "bob", "cleo")
    changed(people, statement)
    with pytest.raises(LedgerError, match="altered"):
        checked(people)


def test_a_log_that_was_cut_short_is_noticed_by_a_head(people):
    add(people, "ann", "bob")
    head = people.log_head
    changed(people, "DELETE FROM audit WHERE seq = 2")
    assert checked(people).records == 1  # the chain alone cannot tell
    with pytest.raises(LedgerError, match="lines are missing"):
        checked(people, head)
    with pytest.raises(LedgerError, match="not that of the kept head"):
        checked(people, Head(1, bytes(32)))


def test_the_log_refuses_changes(people):
    add(people, "ann")
    for statement in ("UPDATE audit SET who = 'x'", "DELETE FROM audit"):
        with pytest.raises(LedgerError), people.book.writing() as changes:
            changes.execute(statement)
    assert checked(people).records == 1


@pytest.mark.parametrize("text", ["", "x", "{}", '{"salt": 1}', '{"salt": "zz"}\n', "[]\n1"])
def test_other_files_are_no_logs(text):
    with pytest.raises(ParameterError, match="no audit log"):
        read_export(text)


def test_a_change_and_its_line_are_both_there_or_neither(people):
    def half():
        with people.book.writing() as changes:
            changes.log("ann", "ask", {})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert people.log_head.records == 0


def test_other_files_are_no_books(tmp_path):
    path = tmp_path / "book"
    path.write_bytes(b"x" * 4096)
    os.chmod(path, 0o600)  # noqa: PTH101
    with pytest.raises(LedgerError):
        Book(path)
    path.unlink()
    Book(path).close()
    path.chmod(0o644)
    with pytest.raises(LedgerError, match="others may read"):
        Book(path)


def test_one_server_for_each_store(tmp_path):
    with serving(tmp_path / "mail.db"):
        second = serving(tmp_path / "mail.db")
        with pytest.raises(LedgerError, match="another server"):
            second.__enter__()
    with serving(tmp_path / "mail.db"):
        pass


def test_buckets_fill_at_their_rate():
    rates = Rates(2.0, 3)
    assert [rates.wait("ann", 0.0) for _ in range(3)] == [0, 0, 0]
    assert rates.wait("ann", 0.0) == 0.5
    assert rates.wait("bob", 0.0) == 0
    assert rates.wait("ann", 0.5) == 0
    assert rates.wait("ann", 0.6) == 0.4
    assert rates.wait("ann", 0.6, take=False) == 0.4
    for number in range(20_000):  # names of strangers do not fill the memory
        rates.wait(f"stranger {number}", 1.0)
    assert len(rates._buckets) <= 10_000
