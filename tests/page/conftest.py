"""Fixtures for tests of the page: private files, and a page without a network."""

import subprocess
from types import SimpleNamespace

import pytest
from page_cases import open_page, run_in_a_fork, write_mail, write_trips

from graphcuts_dp.page import private_file


@pytest.fixture
def trips(tmp_path):
    return write_trips(tmp_path)


@pytest.fixture
def mail(tmp_path):
    return write_mail(tmp_path)


@pytest.fixture
def page(tmp_path):
    return open_page(tmp_path / "results")


@pytest.fixture
def forked(monkeypatch):
    """Count rows in forks of this process, since starting Python takes a second."""
    forking = SimpleNamespace(run=run_in_a_fork, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(private_file, "subprocess", forking)
