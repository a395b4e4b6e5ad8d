"""Stores that end with their process: for sessions that nobody continues later."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Self, final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.ledger.opening import Store

_MEMORY = Path("/dev/shm")  # noqa: S108  # of Linux, whose files there are in memory


@final
class TemporaryStore:
    """A store in a folder of its own, which lasts as long as this object.

    The folder is deleted by `remove`, when the object is garbage, or when Python ends; if the
    process is killed, it stays. It is in memory where the system has such a folder, else among
    temporary files, and only this account may read it.

    Attributes:
        store: the store.
        remove: deletes the folder; a second call does nothing.

    Raises:
        LedgerError: there is no room for a folder.
    """

    def __init__(self) -> None:
        folder = _new_folder()
        self.store: Store = Store(Path(folder) / "session.db")
        self.remove: Callable[[], object] = weakref.finalize(
            self, shutil.rmtree, folder, ignore_errors=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.remove()


def _new_folder() -> str:
    """Return a new folder that this account alone may read.

    Raises:
        LedgerError: there is no room for it.
    """
    in_memory = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK)
    try:
        return tempfile.mkdtemp(prefix="graphcuts-dp-", dir=_MEMORY if in_memory else None)
    except OSError as problem:
        raise LedgerError(
            f"cannot make a temporary store: {problem.strerror}; name a store, or another folder "
            "for temporary files by the variable TMPDIR"
        ) from None
