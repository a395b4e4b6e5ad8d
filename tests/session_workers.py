"""What processes do that tests start, kill, and look after."""

import json
import multiprocessing
import os
import signal
import sqlite3
import warnings
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, BudgetError, PrivacyWarning
from graphcuts_dp.ledger import file as store_module
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.session.session import session_of

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["graphcuts_dp.session.session"])
N = 48
GUARANTEED = 100_000
LEARNT = "schatten"  # a session of mirror descent that learns from any linear queries
DISTANCES = "distances"  # one about where people are on a map
CONNECT = store_module._connect


def private_graph(seed: int = 7, *, tiny: bool = False) -> gc.Graph:
    """About 150 edges on 48 vertices; if tiny, 6 on 5, of which the median can list all graphs."""
    if tiny:
        return gc.Graph([0, 1, 2, 0, 3, 1], [1, 2, 0, 3, 4, 4], vertices=5)
    rng = np.random.default_rng(seed)
    return gc.Graph(rng.integers(0, N, 160), rng.integers(0, N, 160), vertices=N)


def private_ratings(seed: int = 7) -> gc.BipartiteGraph:
    """Ratings of two kinds of users, which no flat start answers."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(2, size=24), rng.integers(2, size=24)
    return gc.BipartiteGraph(*np.nonzero(users[:, None] == items), left=24, right=24)


def kept_groups(graph: gc.Graph) -> gc.Groups:
    """Public groups that say something: by degree, in four parts."""
    order = np.argsort(np.argsort(graph.dense().sum(axis=1), kind="stable"))
    return gc.Groups(graph.vertices, {"part": [f"p{4 * each // N}" for each in order]})


def query(number: int, method: str = "") -> Any:
    """The same query for the same number, others for others."""
    rng = np.random.default_rng(number)
    if method == DISTANCES:
        return number
    if method == LEARNT:
        signs = np.where(private_ratings().dense() > 0, 2.0, -2.0)
        return gc.Query.matrix(signs * (rng.random((24, 24)) < 0.95))
    if method == "median":
        statistics = [gc.Query.statistic(name) for name in ("triangles", "max-cut", "min-cut")]
        return statistics[number] if number < 3 else gc.CutQuery([number % 5])
    return gc.CutQuery(rng.random(N) < 0.5, rng.random(N) < 0.5)


def begin(path, *, method: str = "gaussian", name: str = "default", **options) -> Any:
    """Begin or resume the session that tests use, on a path or a `Store`."""
    if method == DISTANCES:
        city = gc.distances.Metric.grid(3, 4)
        people = gc.distances.Locations(city, np.arange(12) * 900 + 1)
        return gc.distances.open_distance_session(city, people, store=path, epsilon=5.0, queries=8)
    terms = {"epsilon": 40.0, "delta": 0.01, "queries": GUARANTEED} | options
    graph = private_graph(tiny=method == "median")
    if method == LEARNT:
        method, graph = "mirror-descent", private_ratings()
        terms |= {"linear": True, "norm": "schatten-1.5", "max_spectral_norm": 24.0, "queries": 100}
    if method == "groups":  # one that starts from the sums between them
        method = "frieze-kannan"
        terms |= {"start": "groups", "groups": kept_groups(graph)}
    with warnings.catch_warnings():  # these guarantee little, and say so
        warnings.filterwarnings("ignore", "delta = ", PrivacyWarning)
        if method in ("median", "mirror-descent"):
            warnings.simplefilter("ignore", AccuracyWarning)
        return session_of(graph, store=path, method=method, name=name, **terms)


def started(target, *arguments, **options) -> Any:
    """A process that does this, begun."""
    process = PROCESSES.Process(target=target, args=arguments, kwargs=options)
    process.start()
    return process


def ended(process, *, kill: bool = False) -> int:
    """Its exit code, which it must have soon."""
    if kill:
        process.kill()
    process.join(60)
    code = process.exitcode
    process.close()
    return code


def ask_and_log(path: Path, log: Path, first: int, count: int, method: str, batch: int) -> None:
    """Ask queries first..first+count-1 and note each answer the moment that it is shown."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with begin(path, method=method) as session:
        for start in range(first, first + count, batch):
            numbers = range(start, min(start + batch, first + count))
            answers = session.ask_all([query(number, method) for number in numbers])
            for number, answer in zip(numbers, answers, strict=True):
                os.write(handle, json.dumps([number, answer.value]).encode() + b"\n")


def shown(log: Path) -> list[tuple[int, float]]:
    """What `ask_and_log` has noted."""
    if not log.exists():
        return []
    return [tuple(json.loads(line)) for line in log.read_text().splitlines()]


class CountingConnection(sqlite3.Connection):
    """Does something at one statement, counted from the first one of the process."""

    target = 0
    seen = 0
    after = False
    act = staticmethod(lambda: None)

    def execute(self, statement, *values):
        """Count, act, and go on if that returns; who is killed loses nothing that was written."""
        statement = statement.replace("synchronous = FULL", "synchronous = OFF")
        kind = CountingConnection
        kind.seen += 1
        hit = kind.seen == kind.target
        if hit and not kind.after:
            kind.act()
        result = super().execute(statement, *values)
        if hit and kind.after:
            result.close()  # what failed has no rows that could still be read
            kind.act()
        return result


def count_statements(target: int, *, after: bool, act) -> None:
    """Let every connection of this process act at a statement."""
    CountingConnection.target, CountingConnection.after = target, after
    CountingConnection.seen = 0
    CountingConnection.act = staticmethod(act)

    def connect(*arguments, **options) -> sqlite3.Connection:
        counting = partial(sqlite3.connect, factory=CountingConnection)
        with mock.patch.object(store_module.sqlite3, "connect", counting):
            return CONNECT(*arguments, **options)

    store_module._connect = connect


def die() -> None:
    """As kill -9 would have it."""
    os.kill(os.getpid(), signal.SIGKILL)


def ask_and_die(path: Path, log: Path, target: int, *, after: bool, method: str) -> None:
    """Begin a session and ask, singly and in a batch; die at a statement."""
    os.fsync = lambda _: None
    count_statements(target, after=after, act=die)
    ask_and_log(path, log, 0, 3, method, 1)
    ask_and_log(path, log, 3, 5, method, 3)


def ask_with_others(path: Path, log: Path, worker: int, name: str) -> None:
    """Ask some queries that others ask too, and some of one's own."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with begin(path, name=name) as session:
        for number in [*range(10), *range(100 * worker, 100 * worker + 10)]:
            asked = query(number)
            value = session.ask(asked.S, asked.T).value
            os.write(handle, json.dumps([number, value]).encode() + b"\n")


def check(path, log, method, before=0):
    """Reopen a store; returns how many records it has.

    Every answer that was shown is on the record, every reserved step is answered, released or
    written off, and all of them are counted by the mechanism.
    """
    if not path.exists():
        assert shown(log) == []
        return 0
    try:
        session = begin(path, method=method)
    except BudgetError:
        pytest.fail("a store without cap refused a session")
    with session:
        if session.status.state == "failed":
            assert shown(log) == []
            with pytest.raises(BudgetError, match="interrupted while it started"):
                session.ask_all([query(1, method)])
            return 0
        left = session.status.remaining.queries
        for number, value in shown(log):
            asked = query(number, method)
            assert session.ask_all([asked])[0].value == value
        assert session.status.remaining.queries == left
        ledger = session._ledger
        with ledger.locked():
            assert session._runner.totals.reserved == 0
            state = session._runner.current_state()
            kinds = [
                (kind, len(body))
                for kind, body in ledger.file.connection.execute("SELECT kind, body FROM records")
            ]
            reserved = sum(size // 32 for kind, size in kinds if kind == Kind.RESERVE)
            answered = sum(kind in (Kind.ANSWER, Kind.CORRECTION) for kind, _ in kinds)
            lost = session._runner.totals.interruptions
            assert lost == sum(kind == Kind.INTERRUPTED for kind, _ in kinds)
            assert reserved >= answered
            assert (reserved > answered) == (lost > 0)
            if method == "gaussian":
                assert state.queries == reserved
            if method == DISTANCES:
                tunings = session._runner.mechanism.learner.tunings
                for tuning, part in zip(tunings, state.coordinates, strict=True):
                    assert part.updates <= tuning.updates
                    assert part.lost >= lost or part.secret is None
            records = ledger.records
        assert records >= before
    return records
