"""A server of a small graph, without a network, and the people who use it."""

import pytest
from server_cases import Office


@pytest.fixture
def office(tmp_path):
    """A running application, with ticks of a millisecond."""
    with Office(tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_forecast(no_forecast):
    """No test here is about it, and it takes a second where a session begins."""
