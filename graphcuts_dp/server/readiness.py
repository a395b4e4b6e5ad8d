"""Check that a server can take changes: its stores are writable and its registry fits."""

import os
from contextlib import suppress
from typing import Final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.server.book import Book
from graphcuts_dp.server.pairing import check_registry

FREE_BYTES: Final = 16 << 20  # of the disk; below that a store may soon take no answer
# A result stands for this long, so that nobody can load the store by asking.
RECHECK_SECONDS: Final = 5.0


def not_ready(ledger: Ledger, book: Book) -> str | None:
    """Return what keeps a store and its registry from taking changes, None if nothing does.

    1. The store under its name is still the open one, and its account may write it.
    2. Its disk has space.
    3. Its lock can be had, and it is read to its end.
    4. The registry has the latest change that the store records.

    Args:
        ledger: open.
        book: open, of the same server.

    Returns:
        "store", "disk" or "registry".
    """
    path = ledger.file.path
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return "store"
    with suppress(OSError):
        disk = os.statvfs(path.parent)
        if disk.f_bavail * disk.f_frsize < FREE_BYTES:
            return "disk"
    try:
        with ledger.locked():
            pass
    except LedgerError:
        return "store"
    try:
        check_registry(ledger, book)
        with book.writing():
            pass
    except LedgerError:
        return "registry"
    return None
