"""Which stores in a folder are about given private data."""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from graphcuts_dp.graph.owned_rows import PrivateData
from graphcuts_dp.ledger.file import APPLICATION
from graphcuts_dp.ledger.opening import Subject, is_about

_START = b"SQLite format 3\0"
_PLACE = slice(68, 72)  # of the application's number in the first page
_MOST_FILES = 10_000


def stores_beside(folders: Iterable[Path], data: PrivateData | Subject) -> Iterator[Path]:
    """Stores among the files of some folders that are about these data.

    Files that cannot be read are passed over: this is a reminder, not a lock.

    Args:
        folders: they are not searched further down.
        data: private; only whether a store is about them is told.
    """
    subject = Subject.of(data)
    for folder in folders:
        with contextlib.suppress(OSError):
            for number, path in enumerate(sorted(folder.iterdir())):
                if number >= _MOST_FILES:
                    break
                if _is_store(path) and _concerns(path, subject):
                    yield path


def _is_store(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as handle:
            start = handle.read(_PLACE.stop)
    except OSError:
        return False
    return start.startswith(_START) and start[_PLACE] == APPLICATION.to_bytes(4, "big")


def _concerns(path: Path, subject: Subject) -> bool:
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as connection:
            (header,) = connection.execute("SELECT header FROM ledger").fetchone()
        return is_about(json.loads(header), subject)
    except (sqlite3.Error, ValueError, LookupError, TypeError):
        return False
