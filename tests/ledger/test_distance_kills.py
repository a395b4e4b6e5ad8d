"""Sessions of distances killed at every statement of the store: nothing shown is ever lost."""

import json
import os
import signal
from contextlib import suppress

import numpy as np
import pytest
import session_workers as workers

import graphcuts_dp as gc
from graphcuts_dp.errors import ExhaustedError

MAP = gc.distances.Metric.grid(3, 4)
PEOPLE = gc.distances.Locations(MAP, np.arange(12) * 900 + 1)
TERMS = {"epsilon": 5.0, "queries": 8}
ASKED = ([0], [5], [0, 7, 3])


def begin(path):
    return gc.distances.open_distance_session(MAP, PEOPLE, store=path, **TERMS)


def use(path, say):
    """Begin or resume, ask singly and several at once; show each answer at once."""
    with begin(path) as session, suppress(ExhaustedError):
        for vertices in ASKED:
            for reply in session.ask_all(vertices):
                os.write(say, json.dumps([reply.vertex, reply.value]).encode() + b"\n")


def in_child(path, target, *, after):
    """Use a store in a child that dies at a statement; returns what it showed, and whether."""
    hear, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            workers.count_statements(target, after=after, act=workers.die)
            use(path, say)
        except BaseException:  # the parent sees the status
            os._exit(1)
        os._exit(0)
    os.close(say)
    with os.fdopen(hear) as stream:
        shown = [tuple(json.loads(line)) for line in stream]
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0
    return shown, killed


def check(path, shown):
    """Whoever comes next finds all that was shown, and no step is left open or taken back."""
    if not path.exists():
        assert not shown
        return 0
    told = gc.store_status(path)
    if not told.uses or told.uses[0].state in ("unfinished", "failed"):  # while it started
        assert not shown
        return 0
    assert told.epsilon == 5.0
    with begin(path) as session:
        known = {reply.vertex: reply.value for reply in session.history}
        status = session.status
        assert known.items() >= dict(shown).items()
        assert status.remaining.queries <= 8 - len(known) - status.interruptions or (
            status.state == "stopped"
        )
        with session._ledger.locked():
            runner = session._runner
            state, reserved = runner.present(), runner.totals.reserved
        assert reserved == 0
        for tuning, part in zip(runner.mechanism.learner.tunings, state.coordinates, strict=True):
            assert part.updates <= tuning.updates
            assert part.lost >= status.interruptions or part.secret is None
        for vertex, value in known.items():
            assert session.ask(vertex).value == value
        return status.interruptions


def strike(folder, stride):
    begin(folder / "warm.db").close()  # what is computed once is not computed in every child
    interruptions, kills, target = 0, 0, 1
    for after in (False, True):
        target = 1 + (stride > 1)
        while True:
            path = folder / f"{target}{after}.db"
            shown, killed = in_child(path, target, after=after)
            if not killed:
                break
            kills += 1
            interruptions += check(path, shown)
            target += stride
    return kills, interruptions


def test_kills_at_some_statements(tmp_path):
    kills, interruptions = strike(tmp_path, 5)
    assert kills > 12
    assert interruptions >= 1


@pytest.mark.slow
def test_kills_at_every_statement(tmp_path):
    kills, interruptions = strike(tmp_path, 1)
    assert kills > 60
    assert interruptions > 5


def test_a_session_killed_again_and_again_keeps_all_that_it_showed(tmp_path):
    """Until it has run out, which lost steps bring about sooner."""
    path, shown = tmp_path / "a.db", []
    begin(path).close()
    for target in (20, 24, 30, 22, 10**6):
        more, killed = in_child(path, target, after=True)
        shown += more
        check(path, shown)
    assert not killed
    assert len({vertex for vertex, _ in shown}) >= 1
