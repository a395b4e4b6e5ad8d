"""An error within a step may reveal the noise, so the step is charged.

An error is injected at lines all along a step, one line at a time. Only a refusal of `check`, which
precedes the noise, leaves the state unchanged. Otherwise whoever can cause an error after a test
has fired could repeat the test without charge under the same secret threshold.
"""

import contextlib
import sys
from types import FrameType
from typing import Any, Self

import pytest
import session_workers as workers

from graphcuts_dp import HypothesisError, QueryError
from graphcuts_dp.session import runner
from graphcuts_dp.session.plain import PerQueryNoise

PACKAGE = runner.__file__.rsplit("/", 2)[0]


class LineFault:
    """Raises at the n-th line of the package that runs within a mechanism's step.

    Args:
        line: n, from 1; one above the length of a step only counts its lines.

    Attributes:
        remaining_lines: until the fault.
        functions: names of the functions from the line outwards to `step`; None if no fault.
    """

    def __init__(self, line: int) -> None:
        self.remaining_lines = line
        self.functions: list[str] | None = None
        self._in_step = False

    def __enter__(self) -> Self:
        sys.settrace(self._trace_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace_call(self, frame: FrameType, *_: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        if code.co_name == "step":
            self._in_step = True
        return self._trace_line if self._in_step else None

    def _trace_line(self, frame: FrameType | None, event: str, _: object) -> Any:
        if event == "return" and frame.f_code.co_name == "step":
            self._in_step = False
        if event == "line" and self._in_step:
            self.remaining_lines -= 1
            if not self.remaining_lines:
                self.functions = []
                while frame is not None and frame.f_code.co_name != "_steps":
                    self.functions.append(frame.f_code.co_name)
                    frame = frame.f_back
                raise HypothesisError("injected")
        return self._trace_line


def ask_with_fault(session: Any, number: int, line: int) -> LineFault:
    """Ask a query, a new one for each number, with a fault at a line of its step."""
    query = workers.query(1000 + number)
    with LineFault(line) as fault, contextlib.suppress(HypothesisError):
        session.ask(query.S, query.T)
    return fault


def count_interruptions(session: Any) -> int:
    """Return how many steps of a session were charged without an answer."""
    with session._ledger.locked():
        session._runner.current_state()  # interrupted steps are counted when the state is read
    return session.status.interruptions


@pytest.mark.parametrize("method", ["gaussian", "multiplicative-weights"])
def test_an_error_at_any_line_of_a_step_is_charged(tmp_path, method):
    functions_with_fault = set()
    positions = 16  # of faults, evenly spaced in a step
    no_fault = 10**6
    with workers.begin(tmp_path / "a.db", method=method, epsilon=10.0, queries=500) as session:
        ask_with_fault(session, -2, no_fault)  # the first step computes tables and is longer
        step_lines = no_fault - ask_with_fault(session, -1, no_fault).remaining_lines
        faults = 0
        for position in (5 * index % positions for index in range(1, positions)):
            if not session.remaining.queries:
                break  # interrupted corrections may use up the session
            line = max(1, step_lines * position // positions)
            fault = ask_with_fault(session, position, line)
            faults += fault.functions is not None  # a step without a correction may be shorter
            functions_with_fault |= set(fault.functions or ())
            assert count_interruptions(session) == faults, fault.functions
    assert faults >= 5
    core_function = "draw" if method == "gaussian" else "_test_and_correct"
    assert {"step", core_function} <= functions_with_fault


def test_an_error_of_check_that_is_no_refusal_is_charged(tmp_path, monkeypatch):
    """A mistake in `check` could depend on the private graph or on earlier noise."""
    with workers.begin(tmp_path / "a.db") as session:
        session.ask([1])
        for number in range(2):
            with monkeypatch.context() as patch:
                patch.setattr(PerQueryNoise, "check", lambda *_: 1 // 0)
                with pytest.raises(ZeroDivisionError):
                    session.ask([2, 3 + number])
            assert count_interruptions(session) == number + 1


def test_a_refusal_of_check_is_free_and_a_refusal_of_step_is_charged(tmp_path, monkeypatch):
    original_step = PerQueryNoise.step

    def refuse(*_):
        raise QueryError("refused")

    def step_and_refuse(*arguments):
        original_step(*arguments)
        raise QueryError("a test has fired")

    with workers.begin(tmp_path / "a.db") as session:
        session.ask([1])
        for name, refusing, charged in (("check", refuse, 0), ("step", step_and_refuse, 3)):
            with monkeypatch.context() as patch:
                patch.setattr(PerQueryNoise, name, refusing)
                for number in range(3):
                    with pytest.raises(QueryError):
                        session.ask([2, 3 + number])
            answer = session.ask([charged])
            assert session.status.interruptions == charged
        assert answer.queries_left == workers.GUARANTEED - 6
