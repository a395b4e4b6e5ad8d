"""A page without a network, beside private files."""

import pytest
from page_cases import page_of, write_mail, write_trips


@pytest.fixture
def trips(tmp_path):
    return write_trips(tmp_path)


@pytest.fixture
def mail(tmp_path):
    return write_mail(tmp_path)


@pytest.fixture
def page(tmp_path):
    return page_of(tmp_path / "results")
