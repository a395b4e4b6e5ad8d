"""One person's requests, or somebody's wrong tokens, keep nobody else from an answer."""

import asyncio
import http.client
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from processes import ServerProcess
from server_cases import TERMS, LocalServer, TestClient, body_of, labelled_graph, refusal_of

from graphcuts_dp import QueryError, Session
from graphcuts_dp.server import app, open_sessions
from graphcuts_dp.server.book import verify
from graphcuts_dp.server.models import RefusedError
from graphcuts_dp.server.queues import Turns, UnderWay, one_step
from graphcuts_dp.server.settings import Limits

FEW = Limits(rate=1e6, burst=10**6, failures=3, waiting=4)
SECONDS = 60  # after which a test that hangs fails
DUMMY = {"terms": TERMS, "queries": [{"S": ["v1"]}]}


@pytest.fixture
def server(tmp_path):
    """Two analysts, each with a session; four requests of one person may be under way."""
    with LocalServer(tmp_path, budget=(8.0, 0.0), limits=FEW) as served:
        for name in ("ann", "eve"):
            served.add(name, preapproved=True)
            served.open(name, queries=2000)
        yield served


@pytest.fixture
def threads():
    """Threads that send requests at the same time."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


def arrivals(server, monkeypatch, work):
    """A semaphore that is released each time that a request reaches the queue of a thread.

    Args:
        server: the application.
        monkeypatch: of pytest.
        work: of the desk, that the queue is for; it returns a generator.
    """
    arrived, original = threading.Semaphore(0), getattr(server.desk, work)

    def counted(*given):
        arrived.release()  # the loop does nothing else before the request is in its queue
        return original(*given)

    monkeypatch.setattr(server.desk, work, counted)
    return arrived


def test_requests_to_simulated_graphs_starve_nobody(server, threads, monkeypatch):
    """Once one counter was shared by all: the requests of one analyst had others sent away."""
    released, simulated_like = threading.Event(), open_sessions.simulated_like
    monkeypatch.setattr(
        open_sessions,
        "simulated_like",
        lambda graph: released.wait(SECONDS) and simulated_like(graph),
    )
    arrived = arrivals(server, monkeypatch, "simulated_answers")
    sent = [threads.submit(server.send, "eve", "POST", "/v1/dummy", DUMMY) for _ in range(4)]
    assert all(arrived.acquire(timeout=SECONDS) for _ in sent)
    try:
        assert server.ask("ann", [(["v1"], None)]).status_code == 200
        refused = server.send("eve", "POST", "/v1/dummy", DUMMY)
        assert (
            "4 requests of yours are under way" in refusal_of(refused, "under-way", 429)["detail"]
        )
        assert int(refused.headers["retry-after"]) > 0
        assert server.send("eve", "GET", "/v1/sessions").status_code == 429
    finally:
        released.set()
    assert [reply.result().status_code for reply in sent] == [200] * 4
    assert server.send("eve", "POST", "/v1/dummy", DUMMY).status_code == 200


@pytest.mark.thorough
def test_a_large_batch_lets_others_go_first(server, threads, monkeypatch):
    """An analyst asks while the first chunk of 1,000 queries of another is at work."""
    arrived = arrivals(server, monkeypatch, "ask_in_steps")
    ask_together, begun, finished = open_sessions.ask_together, threading.Event(), []

    def followed(requests):
        names = [session.name for session, *_ in requests]
        if names == ["eve.default"] and not begun.is_set():
            begun.set()
            assert arrived.acquire(timeout=SECONDS)  # of eve
            assert arrived.acquire(timeout=SECONDS)  # of ann
        replies = ask_together(requests)
        for name, answers in zip(names, replies, strict=True):
            finished.extend([name] * len(answers))
        return replies

    monkeypatch.setattr(open_sessions, "ask_together", followed)
    cuts = [([f"v{i}" for i in range(24) if number >> i & 1], None) for number in range(1, 1001)]
    batch = threads.submit(server.ask, "eve", cuts)
    assert begun.wait(SECONDS)
    assert server.ask("ann", [(["v1"], None)]).status_code == 200
    reply = body_of(batch.result())
    assert (reply["new"], len(reply["answers"])) == (1000, 1000)
    assert finished.index("ann.default") == Session.chunk
    lines = [(line.who, line.what) for line, _ in server.people.log_lines()][-4:]
    assert lines == [("eve", "ask"), ("ann", "ask"), ("ann", "answered"), ("eve", "answered")]


def test_analysts_who_ask_at_once_share_the_flushes_of_the_files(tmp_path, threads, monkeypatch):
    """Once each answer took four transactions of its own, which wait for the disk."""
    statements, connect = [], sqlite3.connect

    def traced(*given, **named):
        connection = connect(*given, **named)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    names = ("ann", "bob", "cem", "dan", "fay")
    with LocalServer(tmp_path, budget=(8.0, 0.0)) as server:
        for name in (*names, "eve"):
            server.add(name, preapproved=True)
            server.open(name)
        arrived, released = arrivals(server, monkeypatch, "ask_in_steps"), threading.Event()
        at_work = threading.Event()
        monkeypatch.setattr(
            server.desk, "not_ready", lambda: at_work.set() or (released.wait(SECONDS) and None)
        )
        held = threads.submit(server.send, None, "GET", "/readyz")
        assert at_work.wait(SECONDS)
        sent = [threads.submit(server.ask, name, [(["v1"], None)], key="k") for name in names]
        assert all(arrived.acquire(timeout=SECONDS) for _ in sent)
        statements.clear()
        released.set()
        replies = [body_of(reply.result()) for reply in sent]
        held.result()
        assert statements.count("COMMIT") == 4
        assert [reply["new"] for reply in replies] == [1] * len(names)
        again = [body_of(server.ask(name, [(["v1"], None)], key="k")) for name in names]
        assert [reply["answers"] for reply in again] == [reply["answers"] for reply in replies]
        verify(server.desk.book.log_start, server.people.log_lines())
        lines = [(line.who, line.what) for line, _ in server.people.log_lines()][-10:]
        assert sorted(lines[:5]) == [(name, "ask") for name in names]
        assert sorted(lines[5:]) == [(name, "answered") for name in names]


def test_a_part_that_cannot_be_done_fails_those_who_wait_for_it_and_nobody_else():
    class Part:
        def parts_to_join(self, parts):
            return [self, *parts]

        def do_together(self, parts):
            raise QueryError(f"{len(parts)} parts")

    def work(name):
        yield None
        try:
            yield Part()
        except QueryError as problem:
            return f"{name}: {problem}"

    async def served():
        turns = Turns("test")
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            tasks = [group.create_task(turns.run(name, work(name))) for name in ("ann", "bob")]
            other = group.create_task(turns.run("eve", one_step(lambda: 7)))
        turns.close()
        return [task.result() for task in (*tasks, other)]

    *told_to, seven = asyncio.run(served())
    assert sorted(told_to) in (["ann: 1 parts", "bob: 1 parts"], ["ann: 2 parts", "bob: 2 parts"])
    assert seven == 7


def test_a_batch_is_refused_whole_and_answered_whole(server):
    cuts = [([f"v{i}", f"v{j}"], None) for i in range(24) for j in range(i)]
    assert server.open("ann", "small", queries=200).status_code == 201
    refusal_of(server.ask("ann", cuts, "small"), "exhausted")
    assert server.get("ann", "sessions/ann.small")["answers"] == 0
    first = body_of(server.ask("ann", cuts[:200], "small", key="one"))
    again = body_of(server.ask("ann", cuts[:200], "small", key="one"))
    assert (first["answers"], first["new"], again["new"]) == (again["answers"], 200, 0)


def test_persons_take_turns_and_steps_of_work_are_turns():
    order = []

    def steps(name, count):
        for number in range(count):
            order.append(f"{name}{number}")
            if number + 1 < count:
                yield
        return name

    def fails():
        order.append("fails")
        raise QueryError("no such vertex")

    async def served():
        turns, gate = Turns("test"), threading.Event()
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            jobs = [("eve", one_step(gate.wait)), ("eve", steps("e", 3))]
            jobs += [("eve", one_step(lambda: 7)), ("ann", steps("a", 2)), ("bob", steps("b", 1))]
            tasks = [group.create_task(turns.run(*job)) for job in jobs]
            problem_of = group.create_task(refused(turns.run("bob", one_step(fails))))
            dropped = asyncio.ensure_future(
                turns.run("bob", one_step(lambda: order.append("dropped")))
            )
            await asyncio.sleep(0)  # all are in their queues
            dropped.cancel()
            gate.set()
        turns.close()
        return [task.result() for task in tasks], problem_of.result()

    async def refused(work):
        with pytest.raises(QueryError) as info:
            await work
        return str(info.value)

    results, message = asyncio.run(served())
    assert results == [True, "e", 7, "a", "b"]
    assert message == "no such vertex"
    assert order == ["a0", "b0", "e0", "a1", "fails", "e1", "e2"]


def test_requests_under_way_are_bounded_by_person_and_by_session():
    bounds = UnderWay(person=3, session=2)
    leaves = [bounds.enter("ann", "ann.a"), bounds.enter("ann", "ann.a")]
    for session, message in (("ann.a", "2 requests of yours in this session"), (None, "")):
        if message:
            with pytest.raises(RefusedError, match=message) as info:
                bounds.enter("ann", session)
            assert (info.value.status, info.value.headers) == (429, {"Retry-After": "1"})
        else:
            leaves.append(bounds.enter("ann", session))
    with pytest.raises(RefusedError, match="3 requests of yours are"):
        bounds.enter("ann", "ann.b")
    leaves.append(bounds.enter("eve", "ann.a"))  # counts of others change nothing
    for leave in leaves:
        leave()
    assert not bounds._counts


def test_a_request_counts_until_its_reply_has_left(server, monkeypatch):
    """Else the refusal of one more would show, between two ticks, when the work was done."""
    wait, counted = app._Reply._wait, []

    async def followed(reply):
        await wait(reply)
        counted.append(dict(server.service.under_way._counts))

    monkeypatch.setattr(app._Reply, "_wait", followed)
    assert server.ask("ann", [(["v1"], None)]).status_code == 200
    assert server.send("ann", "POST", "/v1/sessions/ann.default/cost", {}).status_code == 422
    assert server.http.get("/v1/me").status_code == 401
    session = {("ann",): 1, ("ann", "ann.default"): 1}
    assert counted == [session, session, {}]
    assert not server.service.under_way._counts


def test_a_valid_token_is_accepted_whatever_wrong_ones_came_before(server):
    """Once twelve wrong tokens locked out everybody behind the same address."""
    wrong = [{"Authorization": f"Bearer gcdp_{number}"} for number in range(12)]
    statuses = [server.http.get("/v1/me", headers=headers).status_code for headers in wrong]
    assert statuses == [401] * 3 + [429] * 9
    assert server.send("ann", "GET", "/v1/me").status_code == 200
    entered = server.http.post("/v1/login", json={"token": server.tokens["ann"]})
    assert entered.status_code == 200
    assert server.http.get("/v1/me").status_code == 200  # by the cookie
    assert server.http.post("/v1/login", json={"token": "gcdp_x"}).status_code == 429


def test_wrong_tokens_are_limited_by_address_and_by_token(server):
    def status(address, token):
        client = TestClient(server.http.app, client=(address, 5000))
        return client.get("/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code

    one_token = [status(f"192.0.2.{number}", "gcdp_same") for number in range(5)]
    assert one_token == [401] * 3 + [429] * 2
    assert [status("198.51.100.1", f"gcdp_{number}") for number in range(4)] == [401] * 3 + [429]
    assert status("198.51.100.2", "gcdp_another") == 401
    assert status("192.0.2.1", server.tokens["ann"]) == 200


def test_logins_of_one_person_are_limited(tmp_path):
    with LocalServer(tmp_path, limits=Limits(rate=1e-9, burst=3)) as server:
        body = {"token": server.tokens["curator"]}
        statuses = [server.http.post("/v1/login", json=body).status_code for _ in range(5)]
    assert statuses == [200] * 3 + [429] * 2


@pytest.mark.thorough
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("size", [9 << 20, 40 << 20])
def test_a_request_that_is_too_large_sees_its_refusal(served, size, chunked):
    """Once the connection was closed while the client still sent, which lost the refusal."""
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=SECONDS)
    body = (bytes(1 << 16) for _ in range(size >> 16)) if chunked else bytes(size)
    headers = {"Transfer-Encoding": "chunked"} if chunked else {}
    line.request("POST", "/v1/login", body, headers, encode_chunked=chunked)
    reply = line.getresponse()
    assert (reply.status, reply.getheader("connection")) == (413, "close")
    assert b"at most" in reply.read()
    line.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server in a process of its own."""
    graph = labelled_graph(seed=413)  # one that no other store of the tests is about
    process = ServerProcess(tmp_path_factory.mktemp("served"), graph, "--budget", "8")
    yield process
    assert process.stop() == 0
