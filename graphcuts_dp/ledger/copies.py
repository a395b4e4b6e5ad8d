"""Copy whole SQLite files by SQLite's backup interface, with what is in a journal or WAL file."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.files import open_secret
from graphcuts_dp.ledger.file import explained, flush_file


def copy_database(source: sqlite3.Connection, target: Path, *, shown: Path) -> None:
    """Copy a database as it is now into a new file, which this account alone can read.

    The copy is one file without a journal, and on the disk when this returns. Nobody may write the
    source meanwhile; for a store, the caller holds its lock.

    Args:
        source: an open connection.
        target: path of the copy; no file may be there. If this fails, a part of it may stay there.
        shown: name of the copy in messages.

    Raises:
        LedgerError: the copy cannot be written, or the source cannot be read.
    """
    try:
        os.close(open_secret(target, new=True))
        with explained(shown), closing(_connect(target)) as copy:
            copy.execute("PRAGMA journal_mode = OFF")  # no other process knows the file yet
            source.backup(copy)
            # A registry is in WAL mode, which is copied, too; the copy is to be a single file.
            copy.execute("PRAGMA journal_mode = DELETE")
        flush_file(target)
    except OSError as problem:
        raise LedgerError(f"cannot write {shown}: {problem.strerror}") from None


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None)
