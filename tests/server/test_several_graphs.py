"""A folder of stores: graphs by name, one registry, limits across them, backups of all together."""

import json
import re
import shutil
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

import pytest
from command_runs import run_line
from server_cases import NO_LIMITS, TERMS, LocalServer, body_of, labelled_graph, refusal_of

import graphcuts_dp as gc
from graphcuts_dp import LedgerError, ParameterError, Store
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server import client
from graphcuts_dp.server.app import make_app
from graphcuts_dp.server.book import VERSION, Book, book_of
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.folder import ServerFiles, check_none_missing, revoke_all_of_folder
from graphcuts_dp.server.folder_backup import back_up_folder, restore_folder
from graphcuts_dp.server.pairing import people_of
from graphcuts_dp.server.people import People, Person
from graphcuts_dp.server.service import WHOLE_SERVER, Service
from graphcuts_dp.server.settings import Ticks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

NAMES = ("mail", "phone")
ASK = {"queries": [{"S": ["v1"]}]}


def make_folder(folder, names=NAMES):
    """A folder with files of options and stores, as the first start of a server leaves it."""
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(names):
        graph = labelled_graph(number + 1)
        if not (folder / f"{name}.npz").exists():
            graph.write(folder / f"{name}.npz")
        options = f'graph = "{name}.npz"\npublic-vertices-from-file = true\nbudget = "4,delta=1e-5"'
        (folder / f"{name}.toml").write_text(options)
        store = Store(folder / f"{name}.db", budget=(4.0, 1e-5))
        if not store.exists:
            create_ledger(store, graph, privacy_unit="1 edge")
    return ServerFiles.of(Store(folder))


class Campus(LocalServer):
    """An application on two graphs of a folder."""

    def __init__(self, folder, names=NAMES):
        self.names = names
        self.root = Path(folder)
        super().__init__(folder)

    def start(self):
        self.files = make_folder(self.root / "graphs", self.names)
        book = self.files.open_book()
        check_none_missing(self.files, book)
        self.desks = {
            name: Desk(labelled_graph(number + 1), self.files.stores[name], book)
            for number, name in enumerate(self.names)
        }
        self.desk = next(iter(self.desks.values()))
        self.people = self.desk.people
        ticks = Ticks(0.001, queries=1000)
        self.service = Service(list(self.desks.values()), limits=NO_LIMITS, ticks=ticks)
        self.http = TestClient(make_app(self.service), raise_server_exceptions=True)
        self.http.__enter__()

    def add_to(self, name, *graphs, **facts):
        self.add(name, graphs=",".join(self.desks[graph].store for graph in graphs), **facts)

    def open_at(self, graph, name, session="default", **terms):
        body = {"name": session, **TERMS, **terms}
        return self.send(name, "POST", f"/v1/graphs/{graph}/sessions", body)


@pytest.fixture
def campus(tmp_path):
    with Campus(tmp_path) as made:
        yield made


def test_analysts_see_the_graphs_that_they_may_ask_and_no_others(campus):
    campus.add("ann", preapproved=True)
    campus.add_to("bob", "phone", preapproved=True)
    assert campus.get("ann", "graphs") == {"graphs": ["mail", "phone"]}
    assert campus.get("bob", "graphs") == {"graphs": ["phone"]}
    assert campus.get("curator", "graphs") == {"graphs": ["mail", "phone"]}
    for path in ("graph", "vertices", "sessions", "budget"):
        assert campus.send("bob", "GET", f"/v1/graphs/phone/{path}").status_code == 200
        hidden, missing = (
            campus.send("bob", "GET", f"/v1/graphs/{name}/{path}") for name in ("mail", "no")
        )
        refusal_of(hidden, "graph", 404)
        assert hidden.text == missing.text
    refusal_of(campus.open_at("mail", "bob"), "graph", 404)
    assert body_of(campus.open_at("phone", "bob"), 201)["state"] == "open"
    people = {each["name"]: each["graphs"] for each in campus.get("curator", "people")["people"]}
    assert people == {"ann": None, "bob": ["phone"], "curator": None}


def test_strangers_learn_no_names_of_graphs(campus):
    for name in ("graphs/mail/graph", "graphs/none/graph", "graph", "graphs"):
        reply = campus.send(None, "GET", f"/v1/{name}")
        assert (reply.status_code, reply.json()["type"]) == (401, "urn:graphcuts-dp:401")
    assert campus.send(None, "GET", "/metrics").status_code == 401


def test_a_curator_changes_who_may_ask_which_graph(campus):
    body = {"name": "ann", "graphs": ["mail"], "preapproved": True}
    campus.tokens["ann"] = campus.post("curator", "people", body, 201)["token"]
    assert campus.get("ann", "graphs")["graphs"] == ["mail"]
    campus.send("curator", "PUT", "/v1/people/ann", {"epsilon": 1.0})  # limits alone
    assert campus.get("ann", "graphs")["graphs"] == ["mail"]
    campus.send("curator", "PUT", "/v1/people/ann", {"graphs": ["phone"]})
    assert campus.get("ann", "graphs")["graphs"] == ["phone"]
    assert campus.log()[-2:] == ["caps", "graphs"]
    campus.send("curator", "PUT", "/v1/people/ann", {"graphs": []})
    assert campus.get("ann", "graphs")["graphs"] == ["mail", "phone"]
    reply = campus.send("curator", "PUT", "/v1/people/ann", {"graphs": ["none"]})
    assert "no graph 'none'" in refusal_of(reply, "value", 422)["detail"]


def test_every_route_of_a_graph_wants_its_name_and_others_have_none(campus):
    """With several graphs a request without a name is refused, not taken for the first one's."""
    described = campus.http.get("/v1/openapi.json").json()["paths"]
    of_graph = [
        path for path in described if path.startswith("/v1/") and not WHOLE_SERVER.match(path)
    ]
    assert len(of_graph) >= 12
    for path in of_graph:
        for method in described[path]:
            filled = path.replace("{name}", "ann.default")
            reply = campus.send("curator", method.upper(), filled, dict(TERMS))
            assert reply.json()["type"] == "urn:graphcuts-dp:graph", path
            named = filled.replace("/v1/", "/v1/graphs/mail/")
            reply = campus.send("curator", method.upper(), named, dict(TERMS))
            assert reply.status_code == 200 or reply.json()["type"] != "urn:graphcuts-dp:graph", (
                path
            )
    for path in ("people", "audit", "me", "graphs"):
        assert campus.send("curator", "GET", f"/v1/{path}").status_code == 200
        assert campus.send("curator", "GET", f"/v1/graphs/mail/{path}").status_code == 404


def test_a_server_of_one_graph_needs_no_name_and_knows_it(tmp_path):
    with LocalServer(tmp_path) as server:
        server.add("ann", preapproved=True)
        assert server.get("ann", "graphs") == {"graphs": ["mail"]}
        server.open("ann")
        plain, named = (
            body_of(server.send("ann", "GET", f"/v1/{prefix}sessions"))
            for prefix in ("", "graphs/mail/")
        )
        assert plain == named
        assert server.send("ann", "GET", "/v1/graphs/other/sessions").status_code == 404


def test_limits_of_a_person_hold_across_graphs(campus):
    campus.add("ann", preapproved=True, epsilon=1.0, queries=30)
    assert campus.open_at("mail", "ann", epsilon=0.75).status_code == 201
    detail = refusal_of(campus.open_at("phone", "ann", epsilon=0.5), "budget")["detail"]
    assert "it would have to be epsilon = 1.25" in detail
    assert campus.open_at("phone", "ann", epsilon=0.25).status_code == 201
    for graph in NAMES:
        found = campus.get("ann", f"graphs/{graph}/budget")
        assert (found["yours"]["epsilon"], found["queries"]) == (1.0, 20)
    assert campus.get("ann", "graphs/mail/budget")["all"]["epsilon"] == 0.75
    assert campus.get("ann", "graphs/phone/budget")["all"]["epsilon"] == 0.25


def test_what_was_approved_on_one_graph_and_has_not_begun_counts_on_the_other(campus, monkeypatch):
    campus.add("ann", preapproved=True, epsilon=1.0)

    def fails(*_, **__):
        raise LedgerError("the disk is full")

    with monkeypatch.context() as full:
        full.setattr("graphcuts_dp.server.open_sessions.session_of", fails)
        assert campus.open_at("mail", "ann", epsilon=0.75).status_code == 503
    detail = refusal_of(campus.open_at("phone", "ann", epsilon=0.5), "budget")["detail"]
    assert "1 of them approved and not begun" in detail


def test_sessions_of_one_name_are_two_and_so_are_keys(campus):
    campus.add("ann", preapproved=True)
    for graph in NAMES:
        campus.open_at(graph, "ann")
    for graph, count in (("mail", 1), ("phone", 2)):
        queries = {"queries": [{"S": [f"v{i}"]} for i in range(count)]}
        path = f"/v1/graphs/{graph}/sessions/ann.default"
        reply = campus.send("ann", "POST", f"{path}/answers", queries, **{"Idempotency-Key": graph})
        assert len(body_of(reply)["answers"]) == count
        assert body_of(campus.send("ann", "GET", f"{path}/answers"))["total"] == count
    queries = {"queries": [{"S": ["v0"]}]}
    path = "/v1/graphs/phone/sessions/ann.default/answers"
    reply = campus.send("ann", "POST", path, queries, **{"Idempotency-Key": "mail"})
    refusal_of(reply, "key")  # of the same request, to the other graph
    metrics = campus.send("curator", "GET", "/metrics").text
    assert 'graphcuts_dp_answers_total{graph="phone"} 2' in metrics
    assert 'graphcuts_dp_budget_left_epsilon{graph="mail"} 3.5' in metrics
    assert campus.http.get("/readyz").status_code == 200


def test_the_client_names_the_graph(campus, monkeypatch):
    campus.add("ann", preapproved=True)
    campus.add_to("bob", "phone", preapproved=True)

    def connected(name, **terms):
        class Line(client.Connection):
            def send(self, method, path, body=None, *, key=None):
                headers = {} if key is None else {"Idempotency-Key": key}
                reply = campus.send(name, method, self._path_at_graph(path), body, **headers)
                if reply.status_code >= 400:
                    raise client._error_of(reply.status_code, reply.content)
                return reply.content

        monkeypatch.setattr(client, "Connection", Line)
        return gc.connect("http://localhost:1", "none", **terms)

    with pytest.raises(ParameterError, match="graph=; you may ask: mail, phone"):
        connected("ann", **TERMS)
    with connected("ann", graph="mail", **TERMS) as session:
        assert (session.state, session.ask(["v1"]).guaranteed) == ("open", True)
        assert len(session.history) == 1
    with connected("bob", **TERMS) as session:  # who may ask one alone
        assert session.state == "open"
    assert [len(list(desk.requests)) for desk in campus.desks.values()] == [1, 1]


def test_a_token_and_a_change_hold_for_all_graphs_and_a_restart_keeps_them(tmp_path):
    with Campus(tmp_path) as campus:
        campus.add("ann", preapproved=True)
        campus.open_at("phone", "ann")
        tokens = campus.tokens
    with Campus(tmp_path) as campus:
        campus.tokens = tokens
        assert campus.get("ann", "graphs/phone/sessions")["sessions"][0]["state"] == "open"
        campus.people.revoke("ann", by="curator")
        for graph in NAMES:
            assert campus.send("ann", "GET", f"/v1/graphs/{graph}/graph").status_code == 401


def changed(files, *calls):
    """Change who may do what, as `serve access` does."""
    with files.open_pair() as (ledger, book):
        people = people_of(ledger, book)
        return [call(people) for call in calls]


def add_ann(people):
    return people.add(Person(name="ann"), by="console")


def test_an_older_registry_is_refused_and_tokens_can_be_withdrawn(tmp_path):
    files = make_folder(tmp_path / "graphs")
    changed(files, add_ann)
    registry = book_of(files.base)
    shutil.copy(registry, tmp_path / "older")
    changed(files, lambda people: people.revoke("ann", by="console"))
    shutil.copy(tmp_path / "older", registry)
    with pytest.raises(LedgerError, match=rf"older than the store.*revoke-all {files.folder}$"):
        changed(files, add_ann)
    assert revoke_all_of_folder(files, by="console") == 1
    assert changed(files, lambda people: people.all())[0][0].active is False


def test_a_store_that_is_missing_renamed_or_exchanged_is_refused(tmp_path):
    files = make_folder(tmp_path / "graphs")
    changed(files, add_ann)
    mail, phone = (files.folder / f"{name}.db" for name in NAMES)
    aside = tmp_path / "aside.db"

    def refused(match):
        again = ServerFiles.of(Store(files.folder))
        with pytest.raises(LedgerError, match=match):
            again.check_not_lost()
        with pytest.raises(LedgerError, match=match):
            changed(again, add_ann)

    mail.rename(aside)
    refused("store mail.db.*is missing")
    store = Store(mail, budget=4.0)  # a fresh budget for the same graph
    create_ledger(store, labelled_graph(1), privacy_unit="1 edge")
    refused("store mail.db.*is missing")
    mail.unlink()
    phone.rename(mail)
    aside.rename(phone)
    refused("give it this name back")


def test_a_graph_is_added_to_a_folder(tmp_path):
    with Campus(tmp_path, ("mail",)) as campus:
        campus.add("ann", preapproved=True)
        campus.add_to("bob", "mail")
        tokens = campus.tokens
    with Campus(tmp_path, ("mail", "phone")) as campus:
        campus.tokens = tokens
        assert campus.get("ann", "graphs")["graphs"] == ["mail", "phone"]
        assert campus.get("bob", "graphs")["graphs"] == ["mail"]


def test_the_registry_of_one_store_is_taken_over_with_its_tokens_and_sessions(tmp_path):
    folder = tmp_path / "graphs"
    folder.mkdir()
    with LocalServer(folder) as server:
        server.add("ann", preapproved=True)
        server.open("ann")
        server.ask("ann", [(["v1"], None)], key="k")
        tokens, value = server.tokens, server.ask("ann", [(["v1"], None)], key="k").json()
    with Campus(tmp_path) as campus:
        campus.tokens = tokens
        (session,) = campus.get("ann", "graphs/mail/sessions")["sessions"]
        assert (session["id"], session["answers"]) == ("ann.default", 1)
        path = "/v1/graphs/mail/sessions/ann.default/answers"
        body = {"queries": [{"S": ["v1"], "T": None}]}
        again = campus.send("ann", "POST", path, body, **{"Idempotency-Key": "k"})
        assert body_of(again)["answers"] == value["answers"]
        assert campus.get("ann", "graphs/phone/sessions")["sessions"] == []
    assert not (folder / "mail.db-server").exists()
    assert (folder / "mail.db-server.taken-over").exists()
    with pytest.raises(LedgerError, match="is missing"):  # it serves in its folder from now on
        ServerFiles.of(Store(folder / "mail.db")).open_book()


def test_registries_of_two_stores_are_not_thrown_together(tmp_path):
    files = make_folder(tmp_path / "graphs")
    for store in files.existing:
        with closing(Book(book_of(store.file))) as book:
            add_ann(People(book))
    with pytest.raises(LedgerError, match="registries of their own"):
        files.open_book()


FORMER = """
CREATE TABLE pairing (id INTEGER PRIMARY KEY, store TEXT, access TEXT, head TEXT);
INSERT INTO pairing SELECT 1, stores.id, about.access, stores.head FROM stores, about;
CREATE TABLE old_requests (id TEXT PRIMARY KEY, owner TEXT NOT NULL REFERENCES people (name),
    terms TEXT NOT NULL, state TEXT NOT NULL, asked TEXT NOT NULL, decided TEXT, note TEXT);
INSERT INTO old_requests SELECT id, owner, terms, state, asked, decided, note FROM requests;
DROP TABLE requests;
ALTER TABLE old_requests RENAME TO requests;
DROP TABLE stores;
ALTER TABLE about DROP COLUMN access;
ALTER TABLE people DROP COLUMN graphs;
ALTER TABLE keys DROP COLUMN store;
PRAGMA user_version = 3;
"""


def test_a_registry_of_the_version_before_is_migrated_and_loses_nothing(tmp_path):
    with LocalServer(tmp_path) as server:
        server.add("ann", preapproved=True, epsilon=1.0)
        server.add("bob")
        server.open("ann")
        server.open("bob")
        first = server.ask("ann", [(["v1"], None)], key="k").json()
        tokens, log = server.tokens, server.people.log_text()
        people = server.people.all()
    connection = sqlite3.connect(book_of(server.path))
    connection.executescript(FORMER)
    connection.close()
    with LocalServer(tmp_path) as server:
        server.tokens = tokens
        assert server.people.all() == people
        assert server.people.log_text() == log
        states = [each["state"] for each in server.get("curator", "sessions")["sessions"]]
        assert states == ["open", "waiting"]
        assert server.ask("ann", [(["v1"], None)], key="k").json()["answers"] == first["answers"]
        assert server.open("ann", "more", epsilon=0.75).status_code == 409  # 0.5 is spent
        assert server.desk.book.rows("PRAGMA user_version") == [(VERSION,)]
        assert not server.desk.book.has_several


def used(folder, session):
    """Open a session on each graph, with an answer; return heads of stores, and the token."""
    with Campus(folder) as campus:
        if session == "a":
            campus.add("ann", preapproved=True)
        else:
            campus.tokens["ann"] = campus.people.renew("ann", by="curator")
        for graph in NAMES:
            assert campus.open_at(graph, "ann", session).status_code == 201
            path = f"/v1/graphs/{graph}/sessions/ann.{session}/answers"
            assert campus.send("ann", "POST", path, ASK).status_code == 200
        return [desk.status.head for desk in campus.desks.values()], campus.tokens["ann"]


def heads(folder):
    with Campus(folder) as campus:
        return [desk.status.head for desk in campus.desks.values()]


def test_a_backup_has_all_stores_and_what_is_lost_is_counted(tmp_path):
    early, former_token = used(tmp_path, "a")
    files, backup = make_folder(tmp_path / "graphs"), tmp_path / "backup"
    manifest = back_up_folder(files, backup)
    assert sorted(manifest.stores) == sorted(NAMES)
    names = {path.name for path in backup.iterdir()}
    options = {f"{name}{ending}" for name in NAMES for ending in (".db", ".toml")}
    assert names == {"backup.json", "graphs-server"} | options
    assert all(path.stat().st_mode & 0o077 == 0 for path in (backup, backup / "graphs-server"))
    late, _ = used(tmp_path, "b")
    assert late != early
    with pytest.raises(LedgerError, match="add --replace"):
        restore_folder(backup, files.folder)
    with pytest.raises(LedgerError, match=r"would lose \d+ records") as caught:
        restore_folder(backup, files.folder, replace=True)
    lost = int(re.search(r"--lose-records (\d+)", str(caught.value))[1])
    for wrong in (lost - 1, lost + 1):
        with pytest.raises(LedgerError, match="nothing was changed"):
            restore_folder(backup, files.folder, replace=True, lose_records=wrong)
    restored = restore_folder(backup, files.folder, replace=True, lose_records=lost)
    assert restored.lost == lost > 0
    assert restored.revoked  # the token of ann was renewed after the backup
    with Campus(tmp_path) as campus:
        campus.tokens["ann"] = former_token
        assert campus.send("ann", "GET", "/v1/me").status_code == 401
        assert all(len(desk.status.uses) == 1 for desk in campus.desks.values())
    aside = [path.name for path in files.folder.iterdir() if "before-restore" in path.name]
    assert len(aside) == 3


def test_a_backup_is_brought_to_a_new_machine_whole_or_not_at_all(tmp_path):
    _, token = used(tmp_path, "a")
    early = heads(tmp_path)  # each store has recorded by now who may ask
    backup = tmp_path / "backup"
    back_up_folder(make_folder(tmp_path / "graphs"), backup)
    restored = restore_folder(backup, tmp_path / "new")
    assert (restored.lost, restored.revoked, restored.aside) == (None, False, None)
    (tmp_path / "other").mkdir()
    (tmp_path / "new").rename(tmp_path / "other" / "graphs")
    for name in NAMES:
        shutil.copy(tmp_path / "graphs" / f"{name}.npz", tmp_path / "other" / "graphs")
    assert heads(tmp_path / "other") == early
    with Campus(tmp_path / "other") as campus:
        campus.tokens["ann"] = token
        assert campus.get("ann", "graphs/phone/sessions")["sessions"][0]["answers"] == 1
    damaged = bytearray((backup / "phone.db").read_bytes())
    damaged[-1] ^= 1
    (backup / "phone.db").write_bytes(damaged)
    with pytest.raises(LedgerError, match="altered"):
        restore_folder(backup, tmp_path / "newer")
    assert list((tmp_path / "newer").glob("*.db")) == []


def test_a_restore_keeps_out_of_a_folder_with_another_store(tmp_path):
    make_folder(tmp_path / "graphs")
    used(tmp_path, "a")
    backup = tmp_path / "backup"
    back_up_folder(make_folder(tmp_path / "graphs"), backup)
    make_folder(tmp_path / "graphs", (*NAMES, "third"))
    with pytest.raises(LedgerError, match=r"third\.db is not in the backup"):
        restore_folder(backup, tmp_path / "graphs", replace=True)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `serve` with these words in this process: (status, standard output, error)."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run_line("serve", *words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('graph = "mail.npz"\nbudget = "1"\nvertexes = 3', "mail.toml: No such option: vertexes"),
        ('budget = "1"', "mail.toml: Missing option 'graph'"),
        ('graph = "none.npz"\nbudget = "1"\nvertices = 3', "none.npz"),
        ('graph = "mail.npz"\nvertices = 3', "needs --budget"),
        ('graph = ["mail.npz"]', "graph must be a text"),
        ('graph = "mail.npz"\nbudget = ""', "mail.toml: "),
        (f'graph = "mail.npz"\nvertices = "{"v" * 300}"\nbudget = "1"', "File name too long"),
        ("graph = ", "no file of options"),
        ('graph = "mail.npz"\nbudget = "-1"', "mail.toml: "),
        (None, "has no graph: write its options into a file NAME.toml"),
    ],
)
def test_options_of_a_graph_that_are_wrong_are_refused_in_a_line(tmp_path, run, options, message):
    (tmp_path / "graphs").mkdir()
    labelled_graph().write(tmp_path / "graphs" / "mail.npz")
    if options is not None:
        (tmp_path / "graphs" / "mail.toml").write_text(options)
    status, out, err = run("graphs", "--port", "0")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not list((tmp_path / "graphs").glob("*.db"))


def test_commands_work_on_a_folder(tmp_path, run):
    make_folder(tmp_path / "graphs")
    for words, message in (
        (("graphs", "--graph", "mail.npz"), "each graph has its options in its file"),
        (("access", "add", "graphs", "ann", "--graphs", "none"), "there is no graph 'none'"),
    ):
        status, _, err = run(*words)
        assert (status, message in err) == (2, True), err

    def printed(*words):
        status, out, err = run(*words)
        assert status == 0, err
        return out

    added = printed("access", "add", "graphs", "ann", "--graphs", "phone", "--json")
    assert json.loads(added)["name"] == "ann"
    assert "phone" in printed("access", "list", "graphs")
    printed("access", "limits", "graphs", "ann", "--graphs", "mail,phone")
    assert "mail, phone" in printed("access", "list", "graphs")
    assert "holds mail, phone of graphs" in printed("backup", "graphs", "kept")
    assert "mail: 0 uses" in printed("restore", "kept", "new")
    assert "ann" in printed("access", "list", "new")
