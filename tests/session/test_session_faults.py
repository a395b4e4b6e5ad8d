"""Whatever kills a process, at whatever instruction: the ledger holds what was shown and spent."""

import sqlite3

import pytest
import session_workers as workers

from graphcuts_dp import LedgerError
from graphcuts_dp.ledger.ledger import Ledger


def kill_at_statements(folder, statements, method):
    deaths = 0
    for target in statements:
        for after in (False, True):
            path, log = folder / f"{target}{after}.db", folder / f"{target}{after}.log"
            dying = workers.started(
                workers.ask_and_die, path, log, target, after=after, method=method
            )
            deaths += workers.ended(dying) == -9
            workers.check(path, log, method)
            workers.check(path, log, method)  # what was interrupted is written off once only
    return deaths


@pytest.mark.thorough(cases=1)
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


@pytest.mark.thorough
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
    asking = [
        workers.started(workers.ask_with_others, path, log, worker, "default")
        for worker, log in enumerate(logs, 1)
    ]
    assert [workers.ended(process) for process in asking] == [0, 0]
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
