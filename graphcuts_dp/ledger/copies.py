"""Whole copies of SQLite files, by SQLite's own backup: pages of a journal are in them."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.files import BYTES, open_secret
from graphcuts_dp.ledger.file import explained


def copy_database(source: sqlite3.Connection, target: Path, *, shown: Path) -> None:
    """Copy a database as it is now into a new file, which this account alone can read.

    The copy is one file without a journal, and on the disk when this returns. Nobody may write the
    source meanwhile; for a store, its lock is held.

    Args:
        source: open.
        target: a new file; what has been written of it is left where this fails.
        shown: name of the copy in messages.

    Raises:
        LedgerError: it cannot be written, or the source cannot be read.
    """
    try:
        os.close(open_secret(target, new=True))
        with explained(shown), closing(_connect(target)) as copy:
            copy.execute("PRAGMA journal_mode = OFF")  # nobody knows the file yet
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # of a registry's: one file, no WAL
        flush_file(target)
    except OSError as problem:
        raise LedgerError(f"cannot write {shown}: {problem.strerror}") from None


def flush_file(path: Path) -> None:
    """Have a file on the disk.

    Raises:
        OSError: the disk fails.
    """
    handle = os.open(path, os.O_RDWR | BYTES)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None)
