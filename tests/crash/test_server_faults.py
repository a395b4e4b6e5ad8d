"""A session is approved in the book and begun on the store, with trouble at any call in between."""

import pytest


@pytest.mark.parametrize(("stride", "least"), [(6, 1), pytest.param(1, 21, marks=pytest.mark.slow)])
def test_caps_hold_whatever_call_of_an_approval_fails_or_kills_it(strike, tmp_path, stride, least):
    """A cap that was passed ends the script."""
    found = strike("server_runner.py", tmp_path, stride)
    assert found["left: approved, not begun"] >= least
