"""Stores that end with their process: for sessions that nobody goes on with later."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Self, final

from graphcuts_dp.ledger.opening import Store

_MEMORY = Path("/dev/shm")  # noqa: S108  # of Linux: its files are in memory


@final
class TemporaryStore:
    """A store in a folder of its own, which goes when it is removed, forgotten, or Python ends.

    The folder is in memory where the system has such a place, else among temporary files; only its
    owner may read it. If the process is killed, the folder stays.

    Attributes:
        store: the store.
        remove: removes the folder; a second call does nothing.
    """

    def __init__(self) -> None:
        in_memory = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK)
        folder = tempfile.mkdtemp(prefix="graphcuts-dp-", dir=_MEMORY if in_memory else None)
        self.store: Store = Store(Path(folder) / "session.db")
        self.remove: Callable[[], object] = weakref.finalize(
            self, shutil.rmtree, folder, ignore_errors=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.remove()
