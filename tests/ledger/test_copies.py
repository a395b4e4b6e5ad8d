"""Copies of databases: new files, on the disk when the copy is made."""

import os
import sqlite3
from contextlib import closing

import pytest

from graphcuts_dp import LedgerError
from graphcuts_dp.ledger.copies import copy_database


@pytest.fixture
def source(tmp_path):
    """A database with one number."""
    with closing(sqlite3.connect(tmp_path / "source.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE numbers (number)")
        connection.execute("INSERT INTO numbers VALUES (7)")
        yield connection


def test_a_copy_is_on_the_disk_and_of_this_account_alone(source, tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino))
    target = tmp_path / "copy.db"
    copy_database(source, target, shown=target)
    assert target.stat().st_ino in flushed
    assert target.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(target)) as copy:
        assert copy.execute("SELECT number FROM numbers").fetchall() == [(7,)]


def test_a_copy_takes_the_place_of_no_file(source, tmp_path):
    target = tmp_path / "kept.db"
    target.write_text("kept")
    with pytest.raises(LedgerError, match=r"cannot write .*kept\.db"):
        copy_database(source, target, shown=target)
    assert target.read_text() == "kept"
