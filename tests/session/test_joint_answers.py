"""Sessions of one store that are asked together: shared transactions, and no shared fate."""

import os
import signal
import sqlite3
from contextlib import closing

import pytest

import graphcuts_dp as gc
from graphcuts_dp import LedgerError, Store
from graphcuts_dp.ledger.opening import create_ledger, open_ledger
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.ledger.uses import uses_of
from graphcuts_dp.session.runner import Runner
from graphcuts_dp.session.session import ask_together, session_of
from graphcuts_dp.session.store_sessions import OpenStore

GRAPH = gc.Graph([0, 1, 2], [1, 2, 3], vertices=6)
TERMS = {"epsilon": 1.0, "queries": 8, "method": "laplace"}
NAMES = ("a", "b", "c")
CUT = gc.CutQuery([1], [2])

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.db"
    create_ledger(Store(path, budget=9.0), GRAPH, privacy_unit="1 edge")
    with closing(open_ledger(path, GRAPH)) as ledger:
        sessions_on(ledger, path)
    return path


def sessions_on(ledger, path):
    """One session of each name, begun if it is not there."""
    with ledger.locked():
        uses = {use.name: use for use in uses_of(ledger)}
    return [
        session_of(
            GRAPH,
            store=OpenStore(ledger, Store(path), uses.get(name)),
            name=name,
            **({} if name in uses else TERMS),
        )
        for name in NAMES
    ]


def stored_kinds(path):
    """Kinds of the records that are on the disk, as another program finds them."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return [kind for (kind,) in connection.execute("SELECT kind FROM records ORDER BY seq")]


def statuses(path):
    """Answers, interruptions and queries left of each session, as a later process finds them."""
    with closing(open_ledger(path, GRAPH)) as ledger:
        sessions = sessions_on(ledger, path)
        return [
            (status.answers, status.interruptions, status.remaining.queries)
            for status in (session.status for session in sessions)
        ]


def ask_all(sessions, queries=(CUT,)):
    return ask_together([(session, queries, False) for session in sessions])


def test_all_reservations_are_on_the_disk_before_any_noise_and_answers_in_one_transaction(
    path, monkeypatch
):
    steps, found, statements = Runner._steps, [], []

    def watched(runner, *values):
        found.append(stored_kinds(path)[-3:])
        return steps(runner, *values)

    monkeypatch.setattr(Runner, "_steps", watched)
    with closing(open_ledger(path, GRAPH)) as ledger:
        sessions = sessions_on(ledger, path)
        ledger.file.connection.set_trace_callback(statements.append)
        replies = ask_all(sessions)
        assert statements.count("COMMIT") == 2
        statements.clear()
        assert ask_all(sessions) == replies  # from the record
        assert "COMMIT" not in statements
    assert found == [[Kind.RESERVE] * 3] * 3
    assert stored_kinds(path)[-3:] == [Kind.ANSWER] * 3
    assert statuses(path) == [(1, 0, 7)] * 3


def test_noise_is_that_of_each_session_alone(path):
    """Of a hundred queries, three sessions have three lists of errors."""
    with closing(open_ledger(path, GRAPH)) as ledger:
        replies = ask_all(sessions_on(ledger, path), [gc.CutQuery([u]) for u in range(6)])
    assert len({tuple(answer.value for answer in answers) for answers in replies}) == 3


def test_a_step_that_fails_is_paid_for_and_keeps_nobody_from_an_answer(path, monkeypatch):
    steps = Runner._steps

    def fails(runner, *values):
        if runner._number == 2:
            raise OverflowError("depends on the noise")
        return steps(runner, *values)

    with closing(open_ledger(path, GRAPH)) as ledger:
        with monkeypatch.context() as during:
            during.setattr(Runner, "_steps", fails)
            first, problem, third = ask_all(sessions_on(ledger, path))
        assert isinstance(problem, OverflowError)
        assert (len(first), len(third)) == (1, 1)
    assert statuses(path) == [(1, 0, 7), (0, 1, 7), (1, 0, 7)]


@pytest.mark.parametrize(
    ("method", "state"),
    [("_reserve", (0, 0, 8)), ("_add_answers", (0, 1, 7))],
    ids=["reserve", "answer"],
)
def test_a_change_that_cannot_be_written_fails_alone(path, monkeypatch, method, state):
    """What cannot be reserved costs nothing; an answer that is lost counts as spent."""
    write = getattr(Runner, method)

    def fails(runner, *values):
        if runner._number == 2:
            raise LedgerError("the disk is full")
        return write(runner, *values)

    with closing(open_ledger(path, GRAPH)) as ledger:
        with monkeypatch.context() as during:
            during.setattr(Runner, method, fails)
            replies = ask_all(sessions_on(ledger, path))
        assert [type(reply) for reply in replies] == [list, LedgerError, list]
    assert statuses(path) == [(1, 0, 7), state, (1, 0, 7)]


@pytest.mark.parametrize("session", [1, 3])
def test_a_process_that_is_killed_among_the_steps_has_spent_all_of_them(path, session):
    """The answers of those whose steps were made are lost as well: none was shown."""
    child = os.fork()
    if not child:
        steps = Runner._steps

        def killed(runner, *values):
            if runner._number == session:
                os.kill(os.getpid(), signal.SIGKILL)
            return steps(runner, *values)

        Runner._steps = killed
        ask_all(sessions_on(open_ledger(path, GRAPH), path))
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert statuses(path) == [(0, 1, 7)] * 3
    assert statuses(path) == [(0, 1, 7)] * 3  # written off once
