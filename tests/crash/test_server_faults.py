"""A session is approved in the book and begun on the store, with trouble at any call in between."""

import pytest

BETWEEN = "left: approved, not begun"


def test_caps_hold_whatever_call_of_an_approval_fails_or_kills_it(strike, tmp_path):
    """A cap that was passed ends the script."""
    assert strike("server_runner.py", tmp_path, 6)[BETWEEN] > 0


@pytest.mark.slow
def test_caps_hold_at_every_call_of_an_approval(strike, tmp_path):
    assert strike("server_runner.py", tmp_path, 1)[BETWEEN] > 20
