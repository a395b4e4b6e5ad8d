"""`graphcuts-dp serve backup`, `serve restore` and `store migrate`."""

import json

import pytest

import graphcuts_dp as gc
from graphcuts_dp import Store
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.book import Book

KARATE = gc.datasets.load("karate")

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@pytest.fixture
def store(command_line, tmp_path):
    """A store that has a registry with ann, and a backup of both."""
    create_ledger(Store(tmp_path / "mail.db", budget=9.0), KARATE, privacy_unit="1 edge")
    assert command_line("serve", "access", "add", "mail.db", "ann")[0] == 0
    assert command_line("serve", "backup", "mail.db", "kept/")[0] == 0
    return tmp_path / "mail.db"


def spend(store, epsilon=1.0):
    gc.release_graph(KARATE, epsilon=epsilon, fit="none", store=store)


def test_a_backup_and_back(store, done, told, refused, tmp_path):
    manifest = json.loads((tmp_path / "kept" / "backup.json").read_text())
    assert manifest["head"] == gc.store_status(store).head
    assert "exists; name a new folder" in refused("serve", "backup", "mail.db", "kept")
    shown, _ = done("serve", "backup", "mail.db", "again")
    assert shown.startswith("again holds mail.db, 1 record, and its registry; head 1:")
    shown, _ = done("serve", "restore", "kept", "new.db")
    assert "there was no store to compare" in shown
    assert gc.store_status(tmp_path / "new.db").head == manifest["head"]
    (ann,) = told("serve", "access", "list", "new.db")
    assert ann["active"]


def test_what_would_be_lost_is_told_and_has_to_be_stated(store, call, done, told):
    spend(store)
    status, out, err = call("serve", "restore", "kept", "mail.db")
    assert (status, out, "add --replace" in err) == (2, "", True)
    status, out, err = call("serve", "restore", "kept", "mail.db", "--replace")
    (line,) = err.splitlines()
    assert (status, out) == (2, "")
    assert "would lose 2 records (now 1 use, epsilon = 1 spent; budget epsilon = 9; then" in line
    assert line.endswith("if you accept that: --lose-records 2")
    words = ("serve", "restore", "kept", "mail.db", "--replace", "--lose-records")
    assert call(*words, "1")[0] == 2
    assert gc.store_status(store).epsilon == 1.0
    restored = told(*words, "2")
    assert (restored["lost_records"], restored["epsilon"], restored["former_epsilon"]) == (2, 0, 1)
    assert gc.store_status(restored["aside"]).epsilon == 1.0
    assert not restored["tokens_withdrawn"]
    assert gc.store_status(store).epsilon == 0
    done("serve", "access", "revoke", "mail.db", "ann")
    shown, _ = done(*words, "1")
    assert "lost: 1 record of the former store; before: 0 uses" in shown
    assert "all tokens are withdrawn" in shown
    (ann,) = told("serve", "access", "list", "mail.db")
    assert not ann["active"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("serve backup none.db new", "does not exist"),
        ("serve backup mail.db no/where", "cannot write"),
        ("serve backup mail.db mail.db", "exists; name a new folder"),
        ("serve restore no-folder new.db", "is no backup"),
        ("serve restore . new.db", "is no backup"),
        ("serve restore kept mail.db --lose-records -1", "--lose-records"),
        ("store migrate none.db", "does not exist"),
        ("store migrate kept", "not a regular file"),
        ("store migrate kept/backup.json --dry-run", "not a store"),
    ],
)
def test_what_is_refused_is_one_line_and_changes_nothing(store, refused, line, words):
    assert store.exists()
    assert words in refused(*line.split())


def test_a_server_starts_with_files_of_one_time_alone(store, done, call, monkeypatch, tmp_path):
    """An older registry, an older store, and one of both alone are refused, in one line."""
    app = pytest.importorskip("graphcuts_dp.server.app")
    monkeypatch.setattr(app, "serve", lambda *_: None)
    KARATE.write(tmp_path / "karate.npz")
    registry = tmp_path / "mail.db-server"
    line = ["serve", "mail.db", "--graph", "karate.npz", "--public-vertices-from-file"]
    line += ["--budget", "9"]
    done(*line)
    early = {path: path.read_bytes() for path in (store, registry)}
    done("serve", "access", "revoke", "mail.db", "ann")
    late = {path: path.read_bytes() for path in (store, registry)}
    for files, words in (
        ({store: early[store], registry: late[registry]}, "would be forgotten"),
        ({store: late[store], registry: early[registry]}, "tokens revoked since would work again"),
        ({registry: late[registry]}, "a new one would forget what was spent"),
        ({store: late[store]}, "is missing: bring it back"),
    ):
        for path in (store, registry):
            path.unlink(missing_ok=True)
        for path, data in files.items():
            path.write_bytes(data)
            path.chmod(0o600)
        status, out, err = call(*line)
        (problem,) = (text for text in err.splitlines() if not text.startswith("note: "))
        assert (status, out, words in problem) == (2, "", True), err
        assert {path for path in (store, registry) if path.exists()} == set(files)
    done("serve", "access", "revoke-all", "mail.db")
    (tmp_path / "mail.db-token").rename(tmp_path / "former-token")
    assert "token of the curator" in done(*line)[0]


def test_migrating_tells_the_format_and_what_was_spent(store, done, refused, tmp_path):
    spend(store)
    tried, _ = done("store", "migrate", "mail.db", "--dry-run")
    shown, _ = done("store", "migrate", "mail.db")
    first, second = shown.splitlines()
    assert first.startswith("mail.db has format 10 (this version writes 10) and is read as it is")
    assert second == "before and after: 1 use, epsilon = 1 spent; budget epsilon = 9"
    assert tried == shown.replace("it was copied", "it would be copied")
    (copy,) = tmp_path.glob("mail.db.before-*")
    assert gc.store_status(copy).epsilon == 1.0
    assert "exists; move it away" in refused("store", "migrate", "mail.db")


def test_the_registry_of_a_backup_is_read_without_a_log_beside_it(store, tmp_path):
    assert store.exists()
    names = {path.name for path in (tmp_path / "kept").iterdir()}
    assert names == {"store.db", "store.db-server", "backup.json"}
    book = Book(tmp_path / "kept" / "store.db-server")
    assert book.rows("SELECT name FROM people") == [("ann",)]
    book.close()
