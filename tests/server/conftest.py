"""Fixtures for tests of the server: a server in this process."""

import pytest
from server_cases import LocalServer


@pytest.fixture
def server(tmp_path):
    """Yield a server of a small graph, without a network, with ticks of a millisecond."""
    with LocalServer(tmp_path) as local_server:
        yield local_server


@pytest.fixture(autouse=True)
def _no_forecast(no_forecast):
    """Skip the forecast of the error: no test here needs it, and it takes a second per session."""
