"""What several files of these tests need."""

import pytest

from graphcuts_dp.session.terms import SessionTerms


@pytest.fixture
def no_forecast(monkeypatch):
    """Many sessions of tests are worthless, and to look for better ones takes longer than they."""
    monkeypatch.setattr(SessionTerms, "warning", lambda *_: None)
