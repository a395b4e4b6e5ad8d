"""Whatever kills a process, at whatever instruction: the ledger holds what was shown and spent."""

import multiprocessing
import random
import sqlite3
import time

import pytest
import session_workers as workers

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.ledger.ledger import Ledger

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["graphcuts_dp.session.session"])

_ENDLESS = 5000  # queries that no process gets through before it is killed


def run_and_kill(target, arguments, delay):
    process = PROCESSES.Process(target=target, args=arguments)
    process.start()
    if delay is None:
        process.join(30)
    else:
        time.sleep(delay)
        process.kill()
        process.join(30)
    code = process.exitcode
    process.close()
    return code


def kill_at_random(folder, trials, seed):
    rng = random.Random(seed)
    killed = 0
    stores = max(3, trials // 30)  # what is checked after each kill grows with the store
    for store in range(stores):
        method = ("gaussian", "multiplicative-weights", "gaussian")[store % 3]
        path, log = folder / f"{store}.db", folder / f"{store}.log"
        records = first = 0
        for _ in range(trials // stores):
            batch = rng.choice((1, 1, 4))
            arguments = (path, log, first, _ENDLESS, method, batch)
            code = run_and_kill(workers.ask_and_log, arguments, rng.uniform(0.0, 0.25))
            killed += code == -9
            records = workers.check(path, log, method, records)
            if code != -9:  # interruptions use updates up: only a session that ran out may end
                with workers.begin(path, method=method) as session:
                    assert session.remaining.queries == 0
                path, log, records = (
                    folder / f"{store}-{first}.db",
                    folder / f"{store}-{first}.log",
                    0,
                )
            if not records and path.exists():  # killed while it started: the next one is fresh
                path, log = folder / f"{store}-{first}.db", folder / f"{store}-{first}.log"
            first += _ENDLESS
    assert killed >= 0.9 * trials


def test_processes_killed_at_random_moments(tmp_path):
    kill_at_random(tmp_path, 18, seed=1)


@pytest.mark.slow
def test_hundreds_of_processes_killed_at_random_moments(tmp_path):
    kill_at_random(tmp_path, 600, seed=2)


def kill_at_statements(folder, statements, method):
    deaths = 0
    for target in statements:
        for after in (False, True):
            path, log = folder / f"{target}{after}.db", folder / f"{target}{after}.log"
            process = PROCESSES.Process(
                target=workers.ask_and_die,
                args=(path, log, target),
                kwargs={"after": after, "method": method},
            )
            process.start()
            process.join(30)
            deaths += process.exitcode == -9
            workers.check(path, log, method)
            workers.check(path, log, method)  # what was interrupted is written off once only
    return deaths


@pytest.mark.parametrize(
    ("method", "apart"),
    [("gaussian", 12), ("median", 18), ("schatten", 18), ("groups", 18), ("distances", 12)],
)
def test_processes_killed_at_a_statement(tmp_path, method, apart):
    statements = range(2, 130, apart)
    deaths = kill_at_statements(tmp_path, statements, method)
    assert deaths > len(statements)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["gaussian", "multiplicative-weights", "schatten", "groups", "distances"]
)
def test_processes_killed_at_each_statement(tmp_path, method):
    assert kill_at_statements(tmp_path, range(1, 180), method) > 200


@pytest.fixture
def unpatched():
    before = workers.store_module._connect
    yield
    workers.store_module._connect = before


@pytest.mark.usefixtures("unpatched")
@pytest.mark.parametrize("after", [False, True])
def test_a_failing_statement_is_told_and_loses_nothing(tmp_path, after):
    path, log = tmp_path / "a.db", tmp_path / "a.log"
    workers.ask_and_log(path, log, 0, 2, "gaussian", 1)

    def fail():
        problem = sqlite3.OperationalError("database or disk is full")
        problem.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise problem

    refused = 0
    for target in range(1, 60):
        workers.count_statements(target, after=after, act=fail)
        try:
            workers.ask_and_log(path, log, 10 * target, 3, "gaussian", 2)
        except LedgerError as problem:
            refused += "disk is full" in str(problem)
        workers.count_statements(0, after=False, act=fail)
        workers.check(path, log, "gaussian")
    assert refused > 30


def test_a_full_disk_spends_nothing_before_the_noise(tmp_path):
    path = tmp_path / "a.db"
    with workers.begin(path) as session:
        session.ask([1])
        connection = session._ledger.file.connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        left = session.remaining.queries
        asked = 0
        with pytest.raises(LedgerError, match="the disk is full"):  # noqa: PT012
            while True:
                session.ask(workers.query(asked).S)
                asked += 1
        left -= asked
        connection.execute(f"PRAGMA max_page_count = {10 * pages}")
        session.ask([2, 3])
        # At most the one step whose answer had no room counts as spent.
        assert left - 2 <= session.remaining.queries <= left - 1


def test_two_processes_on_one_store(tmp_path):
    path = tmp_path / "a.db"
    logs = [tmp_path / f"{worker}.log" for worker in range(2)]
    processes = [
        PROCESSES.Process(
            target=workers.ask_with_others, args=(path, logs[worker], worker + 1, "default")
        )
        for worker in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    answers = [dict(workers.shown(log)) for log in logs]
    assert [len(found) for found in answers] == [20, 20]
    assert all(answers[0][number] == answers[1][number] for number in range(10))
    for log in logs:
        workers.check(path, log, "gaussian")
    ledger = Ledger(path)
    assert len(ledger.uses) == 1
    assert len(ledger.uses[1].shown) == 30
    assert ledger.uses[1].interruptions == 0
    ledger.close()
