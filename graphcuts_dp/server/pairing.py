"""Check that a store and the registry of its server are of the same time.

Two files keep what a server must not forget: the store what was spent, the registry (`book`) who
may ask. A copy of one that is put back alone undoes what came after it: an older registry brings
tokens back that were revoked, an older store a budget that was spent. So each knows the other:

- A change of who may do what (a token, limits, a grant, a session that is refused) is a line of the
  registry's audit log. Its number and digest stand in a record of the store, of kind REGISTRY. The
  digest covers all earlier lines, so a registry that lacks the line, or has another one in its
  place, is an older one or a different one.
- The registry notes how many records the store had, and the digest of their chain: at each such
  change, after each answer, when a session begins and when the server ends. A store that does not
  contain these records is an older one or a different one.

A change takes three steps:
    1. The registry commits it: it holds from here on.
    2. The store records its line. After a crash before this step, the next opening records it;
       until then an older registry would go unnoticed, but the command has not ended either.
    3. The registry notes the store. After a crash before this step the note is older, which is
       harmless.
Both are opened for writing only after `check_pair`.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Store, open_ledger, store_id
from graphcuts_dp.ledger.records import Head, Kind
from graphcuts_dp.ledger.uses import time_now
from graphcuts_dp.server.book import FOLDER, Book, book_of, graph_name
from graphcuts_dp.server.people import People

_LINE = "log"  # key of the line of the audit log in the body of a REGISTRY record


def check_pair(ledger: Ledger, book: Book) -> None:
    """Refuse a store and a registry of different times; then finish what a crash has interrupted.

    Args:
        ledger: open, and not locked by the caller.
        book: of the same store.

    Raises:
        LedgerError: one is older than the other, or belongs to another one.
    """
    check_store(ledger, book)
    check_registry(ledger, book)
    record_access(ledger, book)


def check_store(ledger: Ledger, book: Book) -> None:
    """Refuse a store that lacks records that its registry has noted.

    Raises:
        LedgerError: it is older, or another one.
    """
    path, stores = ledger.file.path, book.stores
    if stores and store_id(ledger) not in stores and not book.has_several:
        raise LedgerError(
            f"{book.path} is the registry of another store than {path}: bring back the one that "
            "belongs to it"
        )
    noted_head = stores.get(store_id(ledger))
    if noted_head is None:
        return
    with ledger.locked():
        missing = noted_head.records - ledger.records
        unchanged = noted_head == ledger.head
    if unchanged:
        return
    if missing > 0:
        raise LedgerError(
            f"the store {path} is older than its registry {book.path}: what at least {missing:,} "
            f"record{'s' * (missing > 1)} spent would be forgotten; bring back the latest store, "
            "or both from one backup with `graphcuts-dp serve restore`"
        )
    try:
        Ledger(path, expected=noted_head).close()
    except LedgerError as problem:
        raise LedgerError(
            f"{path} does not go on from the records that its registry {book.path} knows: bring "
            f"back the store that belongs to it ({problem})"
        ) from None


def check_registry(ledger: Ledger, book: Book) -> None:
    """Refuse a registry that lacks changes that its store has recorded.

    Raises:
        LedgerError: it is older, or another one.
    """
    recorded_line = recorded_access(ledger)
    if recorded_line is not None and not book.contains(recorded_line):
        raise LedgerError(_older_registry(ledger.file.path, book.path))


def recorded_access(ledger: Ledger) -> Head | None:
    """Return the line of the audit log that the store has recorded last; None if there is none."""
    with ledger.locked():
        if ledger.registry is None:
            return None
        _, body = ledger.record(ledger.registry)
    return Head.parse(str(body.get(_LINE)))


def record_access(ledger: Ledger, book: Book) -> None:
    """Have the store record the latest change of who may do what, and the registry the store.

    Raises:
        LedgerError: a file cannot be written.
    """
    with ledger.locked():  # so that nobody else records a later line before this one
        recorded_line, access = recorded_access(ledger), book.access_line
        if access is None and recorded_line is None and book.log_head.records:
            access = book.log_head  # a registry of an earlier version
        if access not in (None, recorded_line):
            with ledger.writing() as entries:
                entries.add(Kind.REGISTRY, 0, {_LINE: str(access), "time": time_now()})
        head = ledger.head
    note_store(ledger, book, head)


def note_store(ledger: Ledger, book: Book, head: Head) -> None:
    """Have the registry note the head of the store."""
    store = store_id(ledger)
    if book.stores.get(store) != head:
        with book.writing() as changes:
            changes.note_store(store, str(head), graph_name(ledger.file.path))


def check_not_lost(store: Store) -> None:
    """Refuse to make a store anew whose registry is there: its budget would begin anew.

    Raises:
        LedgerError: there is a registry and no store.
    """
    registry = book_of(store.file)
    if registry.exists() and not store.exists:
        raise LedgerError(
            f"the store {store.path} is missing, but its registry {registry} is there: bring the "
            "store back, since a new one would forget what was spent; for other data, name another "
            "store"
        )


def open_registry(store: Store, path: Path | None = None) -> Book:
    """Open the registry of a store; it is made if there was none.

    Args:
        store: that it belongs to.
        path: of the registry; None for the place beside the store.

    Raises:
        LedgerError: it is lost.
    """
    path = book_of(store.file) if path is None else path
    if not path.exists() and store.exists:
        with closing(open_ledger(store)) as ledger:
            if recorded_access(ledger) is not None:
                raise LedgerError(
                    f"the registry {path} is missing: bring it back, or begin one without tokens: "
                    f"graphcuts-dp serve access revoke-all {_path_for_commands(store, path)}"
                )
    return Book(path)


@contextmanager
def open_pair(store: Store) -> Iterator[tuple[Ledger, Book]]:
    """Open a store and its registry that are of the same time.

    Raises:
        LedgerError: as `check_pair`; or one cannot be opened.
    """
    with closing(open_registry(store)) as book, closing(open_ledger(store)) as ledger:
        check_pair(ledger, book)
        yield ledger, book


def people_of(ledger: Ledger, book: Book) -> People:
    """Return the accounts of a registry, whose changes the store records."""
    return People(book, lambda: record_access(ledger, book))


def revoke_all(store: Store, *, by: str) -> int:
    """Withdraw all tokens of the registry that is there, whatever its age, or of a new one.

    Args:
        store: that it belongs to. One that is older than the registry is refused.
        by: name of whoever withdraws them, for the log.

    Returns:
        How many people had a token.

    Raises:
        LedgerError: as `check_store`; or a file cannot be written.
    """
    with closing(Book(book_of(store.file))) as book, closing(open_ledger(store)) as ledger:
        check_store(ledger, book)
        return people_of(ledger, book).revoke_all(by=by)


def _path_for_commands(store: Store, registry: Path) -> Path:
    """Return the path that commands name: that of the store, or of the folder of a registry."""
    is_of_folder = registry.name == book_of(Path(FOLDER)).name
    return registry.parent if is_of_folder else Path(store.path)


def _older_registry(store: Path, registry: Path) -> str:
    """Return the message on a registry that lacks changes that its store has recorded."""
    path = _path_for_commands(Store(store), registry)
    return (
        f"the registry {registry} is older than the store, or not its own: tokens revoked since "
        "would work again; bring back the latest registry, or withdraw all tokens: graphcuts-dp "
        f"serve access revoke-all {path}"
    )
