"""Find the files of a server: one store, or a folder of stores with one registry.

In a folder, `NAME.toml` has the options of one graph, as `serve` takes them, and `NAME.db` is its
store. The registry is `graphs-server`, the lock `graphs-serving`. Of one store `mail.db` they are
`mail.db-server` and `mail.db-serving`, beside it.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Store, open_ledger, peek_store_id
from graphcuts_dp.server.book import FOLDER, GRAPH_NAME, Book, book_of, graph_name, serving
from graphcuts_dp.server.pairing import (
    check_not_lost,
    check_pair,
    check_store,
    open_registry,
    people_of,
    record_access,
)

OPTIONS_ENDING, STORE_ENDING = ".toml", ".db"


@final
@dataclass(frozen=True)
class ServerFiles:
    """Paths of a server's stores, registry and lock.

    Attributes:
        base: path with which those of the registry, the lock and the first token begin.
        stores: of each graph, by its name.
        folder: of several stores; None for one store.
    """

    base: Path
    stores: Mapping[str, Store]
    folder: Path | None = None

    @classmethod
    def of(cls, store: Store) -> Self:
        """Return the files of a server whose store, or folder of stores, this is.

        Raises:
            ParameterError: a folder without graphs, or a name that cannot be typed in an address.
            LedgerError: a store without a file of options.
        """
        path = Path(store.path)
        if not path.is_dir():
            return cls(store.file, {graph_name(store.file): store})
        folder = path.resolve()
        names = sorted(file.stem for file in folder.glob(f"*{OPTIONS_ENDING}"))
        if not names:
            raise ParameterError(
                f"the folder {path} has no graph: write its options into a file NAME.toml"
            )
        for name in names:
            if not GRAPH_NAME.fullmatch(name):
                raise ParameterError(
                    f"{name!r:.60} is no name of a graph; name the file by 1 to 40 small letters, "
                    "digits, '_' and '-'"
                )
        unnamed_stores = sorted(
            file.name
            for file in folder.glob(f"*{STORE_ENDING}")
            if file.stem not in names and peek_store_id(file) is not None
        )
        if unnamed_stores:
            raise LedgerError(
                f"the store {unnamed_stores[0]} in {path} has no file of options; write them into "
                f"{Path(unnamed_stores[0]).stem}{OPTIONS_ENDING}, or move the store elsewhere"
            )
        stores = {name: Store(folder / f"{name}{STORE_ENDING}") for name in names}
        return cls(folder / FOLDER, stores, folder)

    @property
    def existing(self) -> list[Store]:
        """Return the stores that exist; the first start makes the others."""
        return [store for store in self.stores.values() if store.exists]

    def identifiers(self) -> dict[str, str]:
        """Return the identifiers of the stores that exist, by the name of the graph."""
        stored = {name: peek_store_id(store.file) for name, store in self.stores.items()}
        return {name: identifier for name, identifier in stored.items() if identifier is not None}

    def ids_of(self, names: str) -> list[str]:
        """Return the identifiers of the stores of some graphs.

        Args:
            names: of graphs, separated by commas; empty for none.

        Raises:
            ParameterError: a graph that is not there, or has not been served yet.
        """
        identifiers = self.identifiers()
        graph_names = [name.strip() for name in names.split(",") if name.strip()]
        for name in graph_names:
            if name not in identifiers:
                served = ", ".join(identifiers)
                raise ParameterError(
                    f"there is no graph {name!r:.60}; graphs that were served: {served}"
                )
        return [identifiers[name] for name in graph_names]

    def open_book(self) -> Book:
        """Open the registry; that of the folder is made, or taken over from its one store.

        Raises:
            LedgerError: it is lost, or several stores have registries of their own.
        """
        if self.folder is None:
            (store,) = self.stores.values()
            return open_registry(store)
        if not book_of(self.base).exists():
            self._take_over()
        if not book_of(self.base).exists():
            for store in self.existing:
                open_registry(store, book_of(self.base)).close()
        return Book(book_of(self.base))

    def _take_over(self) -> None:
        """Take over the registry of the one store that was served alone before, for the folder.

        Raises:
            LedgerError: several stores have one.
        """
        with_registry = [store for store in self.existing if book_of(store.file).exists()]
        if len(with_registry) > 1:
            names = ", ".join(book_of(store.file).name for store in with_registry)
            raise LedgerError(
                f"the stores in {self.folder} have registries of their own ({names}), and accounts "
                "of one name may be of two people: move all but one away, and create the other "
                "accounts anew"
            )
        for store in with_registry:
            former = book_of(store.file)
            copy = self.base.with_name(f".{self.base.name}-server.part")
            copy.unlink(missing_ok=True)
            with closing(Book(former)) as book:
                book.copy(copy, shown=book_of(self.base))
            copy.replace(book_of(self.base))
            aside = former.with_name(f"{former.name}.taken-over")
            shutil.move(former, aside)
            for journal in ("-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{former}{journal}")  # noqa: PTH108  # a text, not a path

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Hold the lock of the one server of these stores, and that of each of them.

        Raises:
            LedgerError: another server has one.
        """
        with ExitStack() as stack:
            for path in {self.base, *(store.file for store in self.stores.values())}:
                stack.enter_context(serving(path))
            yield

    def check_not_lost(self) -> None:
        """Refuse to make a store anew of which the registry knows.

        Raises:
            LedgerError: a store is missing whose registry is there.
        """
        if self.folder is None:
            (store,) = self.stores.values()
            check_not_lost(store)
        elif book_of(self.base).exists():
            with closing(Book(book_of(self.base))) as book:
                check_none_missing(self, book)

    @contextmanager
    def open_pair(self) -> Iterator[tuple[Ledger, Book]]:
        """Open the registry, and check that all stores are of its time.

        Yields:
            The first store, which records changes of who may do what, and the registry.

        Raises:
            LedgerError: as `check_pair`; a store is missing, or a file cannot be opened.
        """
        if not self.existing:
            raise LedgerError(f"there is no store in {self.folder}; `serve` makes it")
        with ExitStack() as stack:
            book = stack.enter_context(closing(self.open_book()))
            check_none_missing(self, book)
            ledgers = [stack.enter_context(closing(open_ledger(store))) for store in self.existing]
            for ledger in ledgers:
                check_pair(ledger, book)
            yield ledgers[0], book


def check_none_missing(files: ServerFiles, book: Book) -> None:
    """Refuse a folder without a store that its registry knows, since it would be made anew.

    Raises:
        LedgerError: one is missing.
    """
    if files.folder is None:
        return
    present = {identifier: name for name, identifier in files.identifiers().items()}
    for identifier, name in book.rows("SELECT id, name FROM stores"):
        if present.get(identifier) is None:
            raise LedgerError(
                f"the store {name}{STORE_ENDING} of {files.folder} is missing, or another one has "
                "its name: bring it back, since what was spent on it counts against limits, and a "
                "new one would forget it"
            )
        if name and present[identifier] != name:
            raise LedgerError(
                f"the store {present[identifier]}{STORE_ENDING} of {files.folder} was called "
                f"{name}{STORE_ENDING}: give it this name back"
            )


def revoke_all_of_folder(files: ServerFiles, *, by: str) -> int:
    """Withdraw all tokens of the registry of a folder, whatever its age, or of a new one.

    All stores record it, so that the registry is accepted by each of them.

    Args:
        files: of a folder. A store that is older than the registry is refused.
        by: name of whoever withdraws them, for the log.

    Returns:
        How many people had a token.

    Raises:
        LedgerError: as `check_store`; or a file cannot be written.
    """
    if not files.existing:
        raise LedgerError(f"there is no store in {files.folder}; `serve` makes it")
    with ExitStack() as stack:
        book = stack.enter_context(closing(Book(book_of(files.base))))
        check_none_missing(files, book)
        ledgers = [stack.enter_context(closing(open_ledger(store))) for store in files.existing]
        for ledger in ledgers:
            check_store(ledger, book)
        count = people_of(ledgers[0], book).revoke_all(by=by)
        for ledger in ledgers:
            record_access(ledger, book)
    return count
