"""A session is approved in the book and begun on the store, with trouble at any call in between."""

import pytest


@pytest.mark.thorough
@pytest.mark.parametrize(("stride", "least"), [(6, 1), pytest.param(1, 21, marks=pytest.mark.slow)])
def test_caps_hold_whatever_call_of_an_approval_fails_or_kills_it(strike, tmp_path, stride, least):
    """A cap that was passed ends the script."""
    found = strike("server_runner.py", tmp_path, stride)
    assert found["left: approved, not begun"] >= least


@pytest.mark.thorough
@pytest.mark.parametrize(("stride", "least"), [(5, 0), pytest.param(1, 1, marks=pytest.mark.slow)])
def test_questions_that_are_answered_together_survive_trouble_at_any_call(
    strike, tmp_path, stride, least
):
    """An answer that is lost, doubled or charged to nobody ends the script."""
    found = strike("joint_runner.py", tmp_path, stride)
    assert found["left: 0 cut off, 2 shown"] >= 1
    assert found.get("left: 2 cut off, 0 shown", 0) >= least
