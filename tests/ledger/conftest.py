"""A private graph, and where its store goes."""

import pytest
import session_workers as workers


@pytest.fixture
def path(tmp_path):
    """Where a store goes that is not there yet."""
    return tmp_path / "mail.db"


@pytest.fixture
def graph():
    """A small private graph."""
    return workers.private_graph()
