"""The server as a process: the client, kill -9 under load, SIGTERM, slow and broken requests."""

import json
import random
import signal
import socket
import threading
import time
from contextlib import closing

import numpy as np
import pytest
from processes import ServerProcess
from server_cases import labelled_graph

import graphcuts_dp as gc
from graphcuts_dp import (
    BudgetError,
    ExhaustedError,
    GraphCutsError,
    ParameterError,
    QueryError,
    ServerError,
    Store,
)
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.server.backup import back_up, restore
from graphcuts_dp.server.book import Book, book_of, verify
from graphcuts_dp.server.pairing import open_pair, people_of
from graphcuts_dp.server.people import People

OPTIONS = ("--budget", "8", "--tick", "0.02", "--rate", "100000")


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    found = ServerProcess(tmp_path_factory.mktemp("served"), labelled_graph(), *OPTIONS)
    found.add("ann", preapproved=True, epsilon=4.0)
    found.add("bob")
    yield found
    assert found.stop() == 0


def connected(process, name="ann", session="default", **more):
    terms = {"epsilon": 1.0, "queries": 50, "method": "laplace", **more}
    return gc.connect(process.url, process.tokens[name], name=session, **terms)


def test_a_remote_session_is_used_like_one_at_home(process):
    with connected(process) as session:
        assert (session.id, session.state, session.name) == ("ann.default", "open", "default")
        one = session.ask(["v1", "v2"], ["v3"])
        assert isinstance(one, gc.Answer)
        assert one.confidence == DEFAULT_CONFIDENCE
        mask = np.zeros(24, dtype=bool)
        mask[[1, 2]] = True
        rest = np.zeros(24, dtype=bool)
        rest[3] = True
        cuts = [gc.CutQuery(mask, rest), gc.CutQuery(["v4"]), gc.CutQuery(["v5"], ["v6"])]
        preview = session.cost(cuts)
        assert (preview.queries, preview.free, preview.new, preview.left) == (3, 1, 2, 49)
        answers = session.ask_all(cuts)
        assert answers[0].value == one.value
        assert session.remaining.queries == 47
        assert [answer for _, answer in session.history] == [one, *answers[1:]]
        assert session.vertices[0].labels[:2] == ("v0", "v1")
        assert session.error_bound > 0
        assert len(session.export()["answers"]) == 3
        assert "epsilon = 1" in session.guarantee
        assert "RemoteSession('ann.default', open)" in repr(session)
    with connected(process) as session:
        assert session.ask(["v4"]) == answers[1]


def test_errors_of_the_server_are_those_at_home(process):
    with connected(process, session="small", queries=1) as session:
        with pytest.raises(QueryError, match="unknown vertex"):
            session.ask(["nobody"])
        with pytest.raises(QueryError, match="list of labels"):
            session.ask("v1")
        session.ask(["v1"])
        with pytest.raises(ExhaustedError):
            session.ask(["v2"])
    with pytest.raises(BudgetError, match="your limit"):
        connected(process, session="large", epsilon=4.0)
    with pytest.raises(ParameterError, match="no session"):
        gc.connect(process.url, process.tokens["ann"], name="none")
    for options, message in (
        ({"method": gc.MirrorDescent(norm="l0")}, "norm"),
        ({"queries": gc.SessionWorkload(queries=50, max_right_size=2)}, "max_right_size"),
    ):
        learnt = {"method": "mirror-descent", "delta": 1e-6, **options}
        with pytest.raises(GraphCutsError, match=message):
            connected(process, session="learnt", **learnt)
    with pytest.raises(ServerError, match="valid token"):
        gc.connect(process.url, "gcdp_x")
    with connected(process, "bob") as session:
        assert session.state == "waiting"
        with pytest.raises(ServerError, match="waits for the curator"):
            session.ask(["v1"])


@pytest.mark.parametrize("url", ["example.org", "ftp://x", "http://", "http://example.org"])
def test_addresses_that_are_none(url):
    with pytest.raises(ParameterError, match=r"address of a server|https alone"):
        gc.connect(url, "x")


def sent(process, data, *, wait=5.0):
    """What comes back for raw bytes."""
    with socket.create_connection(("127.0.0.1", process.port), timeout=wait) as line:
        line.sendall(data)
        try:
            return line.recv(65536)
        except (TimeoutError, ConnectionResetError):
            return b""


def test_requests_that_are_none_are_refused(process):
    cases = {
        b"nonsense\r\n\r\n": b"400",
        b"GET /v1/me HTTP/1.1\r\nHost: evil.example\r\n\r\n": b"400",
        b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000 + b"\r\n\r\n": b"431",
        b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n": b"401",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": b"404",
        b"GET /page/..%2f..%2fapi.py HTTP/1.1\r\nHost: localhost\r\n\r\n": b"404",
        b"BREW /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n": b"405",
        b"POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n": b"413",
        b"POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n"
        b"Content-Length: 2\r\n\r\n{}": b"415",
    }
    for data, status in cases.items():
        assert sent(process, data).split(b" ")[1] == status, data[:80]
    told = (process.folder / "errors.txt").read_text()
    assert "Traceback" not in told
    assert not [line for line in told.splitlines() if "passwd" in line and " 404 " not in line]


@pytest.mark.thorough
def test_requests_with_another_one_inside_are_refused_or_answered_once(process):
    """What a proxy may read as one request and the server as two."""
    head = f"Host: localhost\r\nAuthorization: Bearer {process.tokens['curator']}\r\n"
    inside = f"GET /v1/audit HTTP/1.1\r\n{head}\r\n"
    cases = {
        f"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inside}": 422,
        "Content-Length: 4\r\nContent-Length: 10\r\n\r\n0123456789": 400,
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n": 400,
        "Host: evil\r\nContent-Length: 0\r\n\r\n": 400,
        **{
            f"Content-Length: {length}\r\n\r\n01234": 400
            for length in ("+5", "-1", "99999999999999999999999")
        },
    }
    for rest, status in cases.items():
        reply = sent(process, f"POST /v1/plan HTTP/1.1\r\n{head}{rest}".encode())
        assert int(reply.split(b" ")[1]) == status, rest[:60]
        assert reply.count(b"HTTP/1.1 ") == 1
    for start, status in (
        ("GET http://evil/v1/me", 404),
        ("CONNECT evil:443", 404),
        ("TRACE /v1/me", 405),
        ("GET /v1/me%0d%0aINJECTED%1b[31m", 404),
    ):
        reply = sent(process, f"{start} HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())
        assert int(reply.split(b" ")[1]) == status, start
    lines = (process.folder / "errors.txt").read_text().splitlines()
    assert not [line for line in lines if line.startswith("INJECTED") or "\x1b" in line]


@pytest.mark.thorough
def test_the_command_refuses_a_second_server(process):
    status, errors = process.run_second_server()
    assert (status, "another server" in errors) == (2, True), errors


def under_kills(process, *, clients, each, kills, seed, up=0.5, between=lambda _: None):
    """Clients that ask, each query under its own key, while the server is killed and restarted.

    `between` is called with the number of kills before each start.
    """
    process.add("ann", preapproved=True)
    total = 2 * clients * each + 2 * kills
    with connected(process, queries=total):
        pass
    found, problems = {}, []

    def work(number):
        try:
            with gc.connect(process.url, process.tokens["ann"]) as session:
                for i in range(each):
                    cut = [f"v{j}" for j in range(24) if (number * each + i + 1) >> j & 1]
                    found[number, i] = session.ask(cut)
        except Exception as problem:  # told below
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    pause = random.Random(seed)
    done = 0
    while done < kills and any(thread.is_alive() for thread in threads):
        time.sleep(pause.uniform(0.0, up))
        process.kill()
        done += 1
        between(done)
        process.start()
    for thread in threads:
        thread.join()
    assert problems == [], [f"{type(each).__name__}: {each}" for each in problems]
    with connected(process, queries=total) as session:
        history = session.history
        left = session.remaining.queries
        lost = session._connection.ask("GET", session._path())["interruptions"]
    assert process.stop() == 0
    assert "Traceback" not in (process.folder / "errors.txt").read_text()
    judge_kills(process, found, history, clients * each, total - left, lost, done)
    return done


def judge_kills(process, found, history, asked, used, lost, kills):
    """One answer and one charge for each query, but for steps that a kill cut off."""
    assert len(found) == len(history) == asked
    values = sorted((answer.value, answer.interval) for _, answer in history)
    assert values == sorted((answer.value, answer.interval) for answer in found.values())
    assert asked <= used <= asked + lost
    assert lost <= kills
    book = Book(book_of(process.store))
    keys = book.rows("SELECT COUNT(*), COUNT(response) FROM keys")
    assert keys == [(asked, asked)]
    people = People(book)
    verify(book.log_start, people.log_lines())
    answered = [line for line, _ in people.log_lines() if line.what == "answered"]
    assert sum(json.loads(line.body)["queries"] for line in answered) >= asked
    book.close()


@pytest.mark.thorough
def test_kill_9_under_load_loses_and_doubles_nothing(tmp_path):
    process = ServerProcess(tmp_path, labelled_graph(), *OPTIONS)
    assert under_kills(process, clients=2, each=8, kills=1, seed=1) > 0


@pytest.mark.thorough
def test_a_terminal_that_closes_ends_a_server_in_good_order(tmp_path):
    """SIGHUP is as SIGTERM: the reply that is awaited comes, and the registry is closed."""
    process = ServerProcess(tmp_path, labelled_graph(), "--budget", "8", "--tick", "1")
    process.add("ann", preapproved=True)
    with connected(process) as session:
        asked = []
        thread = threading.Thread(target=lambda: asked.append(session.ask(["v1"])))
        thread.start()
        with closing(Book(book_of(process.store))) as book:
            while not book.rows("SELECT 1 FROM audit WHERE what = 'ask'"):
                time.sleep(0.02)
        status = process.stop(signal.SIGHUP)
        thread.join()
    assert (status, len(asked)) == (0, 1)
    assert not book_of(process.store).with_name("mail.db-server-wal").exists()
    assert "Traceback" not in (tmp_path / "errors.txt").read_text()


@pytest.mark.slow
def test_kill_9_two_hundred_times(tmp_path):
    process = ServerProcess(tmp_path, labelled_graph(), *OPTIONS)
    assert under_kills(process, clients=8, each=4500, kills=200, seed=2, up=3.0) == 200


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("clients", "each", "kills", "every", "up"),
    [(2, 8, 1, 1, 0.5), pytest.param(8, 1200, 50, 5, 3.0, marks=pytest.mark.slow)],
)
def test_kills_with_backups_and_restores_between_lose_and_revive_nothing(
    tmp_path, monkeypatch, clients, each, kills, every, up
):
    """The store is brought back from a backup again and again while clients wait for it."""
    monkeypatch.setattr("graphcuts_dp.server.client._PAUSES", (0.1,) * 10_000)  # they do wait
    served = tmp_path / "served"
    served.mkdir()
    process = ServerProcess(served, labelled_graph(), *OPTIONS)
    revoked, restored = [], []

    def brought_back(number):
        if number % every:
            return
        store, name = Store(process.store), f"leaver{number}"
        process.add(name)
        with open_pair(store) as (ledger, book):
            people_of(ledger, book).revoke(name, by="console")
        revoked.append(process.tokens[name])
        back_up(store, tmp_path / f"backup {number}")
        restored.append(restore(tmp_path / f"backup {number}", store, replace=True))

    done = under_kills(
        process, clients=clients, each=each, kills=kills, seed=3, up=up, between=brought_back
    )
    assert done >= every
    assert len(restored) == done // every
    assert {outcome.revoked for outcome in restored} == {False}
    with closing(Book(book_of(process.store))) as book:
        people = People(book)
        assert people.of_token(process.tokens["ann"]).person.name == "ann"
        assert {people.of_token(token) for token in revoked} == {None}
