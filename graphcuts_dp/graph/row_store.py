"""Keep coded rows in a private database of DuckDB, for bounded group-bys beyond memory. Private.

The table of coded rows (see `engine.Shape`) has three columns: the number of the cell, the key of
the user, and perhaps a weight. Data that do not fit into memory go to a folder that only this
account can read.
"""

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from filelock import lock_descriptor

from graphcuts_dp.errors import FileFormatError, GraphCutsError, GraphError
from graphcuts_dp.files import PathLike, open_secret
from graphcuts_dp.resources import memory_limit

if TYPE_CHECKING:
    import pyarrow as pa

_FOLDER_PREFIX = "graphcuts-dp-"  # of the private folders
_LOCK = "in-use"  # file name of the lock in each of them
_LOCKING_SECONDS = 60.0  # a younger folder may not have its lock yet
_ROWS, _INCOMING = "coded_rows", "incoming_rows"  # names of tables in the database


@final
class RowStore:
    """A table of coded rows in a database of its own. Private.

    Its folder is removed when the store is closed or collected, or when Python ends. The folder of
    a killed process is removed by the next store.

    Args:
        rows: an Arrow table, which stays where it is; or batches of rows, which are read once and
            kept.
        schema: of the batches; None for a table.
        memory: bytes that DuckDB may use; None for three quarters of the memory limit of this
            process, or for DuckDB's own default if that is unknown.
        threads: of DuckDB; None for one on each processor.
        folder: in which the private folder is made; None for the system's temporary folder.

    Raises:
        FileFormatError: DuckDB is not installed.
        GraphCutsError: whatever the batches raise.
    """

    def __init__(
        self,
        rows: "pa.Table | Iterable[pa.RecordBatch]",
        *,
        schema: "pa.Schema | None" = None,
        memory: int | None = None,
        threads: int | None = None,
        folder: PathLike | None = None,
    ) -> None:
        try:
            import duckdb
        except ImportError:
            raise FileFormatError(
                "rows are counted by the package duckdb: python -m pip install "
                "'graphcuts-dp[tables]'"
            ) from None
        limit = memory_limit()
        if memory is None and limit is not None:
            memory = limit * 3 // 4
        spill, lock = _spill_folder(folder)
        config: dict[str, Any] = {
            "temp_directory": spill,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
        }
        if memory is not None:
            config["memory_limit"] = f"{memory}B"
        if threads is not None:
            config["threads"] = threads
        self._remove_folder = weakref.finalize(self, _remove_spill, spill, lock)
        self._connection = duckdb.connect(":memory:", config=config)
        with suppress(duckdb.InvalidInputException):  # a notebook that cannot show a bar
            self._connection.execute("set enable_progress_bar = false")
        self.table: Any = (
            self._connection.from_arrow(rows)
            if schema is None
            else self._copy_batches(rows, schema)
        )

    def _copy_batches(self, batches: "Iterable[pa.RecordBatch]", schema: "pa.Schema") -> Any:
        """Return a table of batches, each of which is read once."""
        import pyarrow as pa

        failures: list[Exception] = []

        def read() -> "Iterator[pa.RecordBatch]":
            try:
                yield from batches
            except Exception as problem:  # noqa: BLE001, RUF100  # DuckDB would wrap and quote it
                failures.append(problem)

        reader = pa.RecordBatchReader.from_batches(schema, read())
        with hiding_rows_in_errors():
            self._connection.register(_INCOMING, reader)
            self._connection.execute(f"create temp table {_ROWS} as from {_INCOMING}")
            self._connection.unregister(_INCOMING)
            if failures:
                raise failures[0]
            return self._connection.table(_ROWS)

    def close(self) -> None:
        """End the connection and remove what it left on the disk."""
        self._connection.close()
        self._remove_folder()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "RowStore(private)"


@contextmanager
def hiding_rows_in_errors() -> Iterator[None]:
    """Replace errors of engines, which quote rows, by one line that quotes none."""
    try:
        yield
    except GraphCutsError:
        raise
    except Exception as problem:
        if isinstance(problem, MemoryError) or "OutOfMemory" in type(problem).__name__:
            raise GraphError(
                "the table does not fit into memory: hand it over as Parquet files, which are read "
                "in parts, or allow duckdb more memory or space on its disk"
            ) from None
        raise GraphError(
            f"the database failed ({type(problem).__name__:.60}): free memory and space on "
            "the disk, and try again"
        ) from None


def _spill_folder(folder: PathLike | None) -> tuple[str, int]:
    """Make and lock a folder that only this user can read, for data beyond memory.

    Folders of this user whose lock nobody holds are removed before: their processes were killed.
    The lock of the new folder is held until `_remove_spill`, or as long as the process lives.

    Returns:
        The folder, and the descriptor of its lock.
    """
    for lock_file in Path(folder or tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*/{_LOCK}"):
        with suppress(OSError):  # it has gone, or belongs to another account
            if time.time() - lock_file.lstat().st_mtime > _LOCKING_SECONDS:
                descriptor = open_secret(lock_file)
                is_abandoned = lock_descriptor(descriptor, blocking=False)
                os.close(descriptor)
                if is_abandoned:
                    shutil.rmtree(lock_file.parent, ignore_errors=True)
    spill = tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=folder)  # of mode 700
    lock = open_secret(Path(spill, _LOCK), new=True)
    lock_descriptor(lock, blocking=True)
    return spill, lock


def _remove_spill(spill: str, lock: int) -> None:
    """Unlock the folder of `_spill_folder`, by closing its lock, and remove it."""
    os.close(lock)
    shutil.rmtree(spill, ignore_errors=True)
