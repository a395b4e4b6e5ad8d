"""An error from within a step may tell what the noise was, so the step is paid for.

An error is injected at lines all along a step, one line a time. Only what `check`
refuses, before the noise, may leave the state as it was: else whoever can cause an error after a
test has fired learns it again and again under one secret threshold.
"""

import contextlib
import sys

import pytest
import session_workers as workers

from graphcuts_dp import HypothesisError, QueryError
from graphcuts_dp.session import runner
from graphcuts_dp.session.plain import PerQueryNoise

PACKAGE = runner.__file__.rsplit("/", 2)[0]


class Fault:
    """Raises at one line of the package that is run within a mechanism's step."""

    def __init__(self, line):
        self.left = line
        self.within = None  # names of the functions from the step to the line
        self.depth = 0

    def __enter__(self):
        sys.settrace(self.enter)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def enter(self, frame, *_):
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        if code.co_name == "step" and self.depth == 0:
            self.depth = 1
        return self.line if self.depth else None

    def line(self, frame, event, _):
        code = frame.f_code
        if event == "return" and code.co_name == "step":
            self.depth = 0
        if event == "line" and self.depth:
            self.left -= 1
            if not self.left:
                names = []
                while frame is not None and frame.f_code.co_name != "_steps":
                    names.append(frame.f_code.co_name)
                    frame = frame.f_back
                self.within = names
                raise HypothesisError("injected")
        return self.line


def fail_at(session, number, line):
    """Ask a query of which a line fails; the names of the functions that it was in, if any."""
    asked = workers.query(1000 + number)
    with Fault(line) as fault, contextlib.suppress(HypothesisError):
        session.ask(asked.S, asked.T)
    return fault


def interruptions(session):
    with session._ledger.locked():
        session._runner.current_state()
    return session.status.interruptions


@pytest.mark.parametrize("method", ["gaussian", "multiplicative-weights"])
def test_an_error_at_any_line_of_a_step_is_paid_for(tmp_path, method):
    reached = set()
    lines = 16
    with workers.begin(tmp_path / "a.db", method=method, epsilon=10.0, queries=500) as session:
        # The second step, since the first one makes tables.
        whole = [10**6 - fail_at(session, -number, 10**6).left for number in (2, 1)][1]
        failed = 0
        for number in (5 * turn % lines for turn in range(1, lines)):
            if not session.remaining.queries:
                break  # corrections that were lost count, too
            fault = fail_at(session, number, max(1, whole * number // lines))
            failed += fault.within is not None  # a step of another branch may be shorter
            reached |= set(fault.within or ())
            assert interruptions(session) == failed, fault.within
    assert failed >= 5
    assert {"step", "draw" if method == "gaussian" else "_test_and_correct"} <= reached


def test_an_error_that_is_no_refusal_is_paid_for_wherever_it_comes_from(tmp_path, monkeypatch):
    """A mistake of the program within `check` may have any cause: the graph, or the noise."""
    with workers.begin(tmp_path / "a.db") as session:
        session.ask([1])
        for number in range(2):
            with monkeypatch.context() as mistaken:
                mistaken.setattr(PerQueryNoise, "check", lambda *_: 1 // 0)
                with pytest.raises(ZeroDivisionError):
                    session.ask([2, 3 + number])
            assert interruptions(session) == number + 1


def test_what_check_refuses_is_free_and_what_step_refuses_is_not(tmp_path, monkeypatch):
    made = PerQueryNoise.step

    def refuse(*_):
        raise QueryError("refused")

    def step(*arguments):
        made(*arguments)
        raise QueryError("a test has fired")

    with workers.begin(tmp_path / "a.db") as session:
        session.ask([1])
        for name, wrong, lost in (("check", refuse, 0), ("step", step, 3)):
            with monkeypatch.context() as patched:
                patched.setattr(PerQueryNoise, name, wrong)
                for number in range(3):
                    with pytest.raises(QueryError):
                        session.ask([2, 3 + number])
            left = session.ask([lost]).queries_left
            assert session.status.interruptions == lost
        assert left == workers.GUARANTEED - 6
