"""A page without a network, beside private files."""

import subprocess
from types import SimpleNamespace

import pytest
from page_cases import page_of, run_in_a_fork, write_mail, write_trips

from graphcuts_dp.page import private_file


@pytest.fixture
def trips(tmp_path):
    return write_trips(tmp_path)


@pytest.fixture
def mail(tmp_path):
    return write_mail(tmp_path)


@pytest.fixture
def page(tmp_path):
    return page_of(tmp_path / "results")


@pytest.fixture
def forked(monkeypatch):
    """Rows are counted in forks of this process: to start Python anew takes a second."""
    started = SimpleNamespace(run=run_in_a_fork, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(private_file, "subprocess", started)
