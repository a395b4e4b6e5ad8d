"""An index of the private data that this account has charged, and of the stores that know them.

A store knows its own data, but two stores know nothing of each other. The index of an account lies
in its state folder and names, for data that commands have charged, the store. Data are known by
digests under a key of the account (`ledger.identity`), so without the key the index reveals
nothing. Only the account may read both.

The index is a reminder against accidents: whoever removes it, or works under another account, is
not stopped. A store beside the data is found without it (`opening.stores_beside`).
"""

import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from filelock import lock_descriptor

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.files import open_secret
from graphcuts_dp.ledger.identity import Identity
from graphcuts_dp.ledger.opening import READING, Subject, digests_agree

STATE_FOLDER = "GRAPHCUTS_DP_STATE"  # variable of the environment that names the state folder
_KEY_BYTES = 32
_KEY, _INDEX, _LOCK = "key", "known-data.jsonl", "lock"
_LOCKED: ContextVar[Path | None] = ContextVar("folder of the index that is locked", default=None)


@final
@dataclass(frozen=True)
class KnownUse:
    """A line of the index: data that were charged to a store, or used without one.

    Attributes:
        digests: of the data, under the key of the account.
        reading: how they were read, see `opening.READING`.
        store: absolute path of the store; empty if none was charged.
        identifier: of the store, see `opening.store_id`; empty if none was charged.
    """

    digests: Identity
    reading: dict[str, Any]
    store: str
    identifier: str

    def concerns(self, digests: Identity, schema: dict[str, Any]) -> bool:
        """Return whether data with these digests and this schema are those of this line."""
        common = not set(self.digests.values()).isdisjoint(digests.values())
        return common and digests_agree(self.digests, self.reading, digests, schema)


def state_folder() -> Path:
    """Return the folder of the index.

    The variable `STATE_FOLDER` of the environment names it. By default it lies in the folder that
    the system has for state of programs.

    Raises:
        LedgerError: no variable names a folder, and the home folder of the account is not known.
    """
    chosen = os.environ.get(STATE_FOLDER)
    if chosen:
        return Path(chosen)
    variable, below_home = "XDG_STATE_HOME", Path(".local", "state")
    if sys.platform == "win32":
        variable, below_home = "LOCALAPPDATA", Path("AppData", "Local")
    base = os.environ.get(variable)
    try:
        return (Path(base) if base else Path.home() / below_home) / "graphcuts-dp"
    except RuntimeError:  # a container whose user has no name
        raise LedgerError(
            "the home folder of this account is not known, and with it that of the index of known "
            f"data; name a folder by the variable {STATE_FOLDER}"
        ) from None


def uses_of_data(subject: Subject) -> tuple[KnownUse, ...]:
    """Return the lines of the index about data, in order; none about rows without digests.

    Rows that stay in an engine and have no name have no digests.

    Raises:
        LedgerError: the index cannot be read.
    """
    with index_locked() as folder:
        digests = _digests(folder, subject)
        if not digests:
            return ()
        schema = subject.schema
        return tuple(use for use in _lines(folder) if use.concerns(digests, schema))


def _digests(folder: Path, subject: Subject) -> Identity:
    """Return digests of data under the key of the account; none of rows without a name."""
    try:
        return subject.identify(_key(folder))
    except LedgerError:  # rows of an engine without a name
        return {}


def _key(folder: Path) -> bytes:
    """Return the key of the account, which is drawn when it is first needed."""
    file = folder / _KEY
    key = file.read_bytes() if file.exists() else b""
    if len(key) == _KEY_BYTES:
        return key
    key = secrets.token_bytes(_KEY_BYTES)
    partial = file.with_name(f"{_KEY}.part")
    with suppress(FileNotFoundError):
        partial.unlink()
    with os.fdopen(open_secret(partial, new=True), "wb") as handle:
        handle.write(key)
        handle.flush()
        os.fsync(handle.fileno())
    partial.replace(file)
    return key


def _lines(folder: Path) -> Iterator[KnownUse]:
    """Yield the lines of the index that are whole."""
    file = folder / _INDEX
    if not file.exists():
        return
    for line in file.read_bytes().splitlines():
        with suppress(ValueError, LookupError, TypeError, AttributeError):  # of a cut-off line
            stored = json.loads(line)
            digests = {str(name): str(digest) for name, digest in stored["digests"].items()}
            reading = dict(stored["reading"])
            yield KnownUse(digests, reading, str(stored["store"]), str(stored["identifier"]))


def register(subject: Subject, store: str, identifier: str = "") -> None:
    """Add a line about data to the index, unless it is there already.

    Args:
        subject: the data.
        store: absolute path of the store that is charged; empty if none is.
        identifier: of that store, see `opening.store_id`.

    Raises:
        LedgerError: the index cannot be written.
    """
    with index_locked() as folder:
        digests = _digests(folder, subject)
        known = any(
            (use.store, use.identifier, use.digests) == (store, identifier, digests)
            for use in _lines(folder)
        )
        if not digests or known:
            return
        handle = open_secret(folder / _INDEX)
        with os.fdopen(handle, "r+b") as file:
            is_cut_off = file.read()[-1:] not in (b"", b"\n")  # by a killed process
            stored = {
                "digests": digests,
                "reading": {name: subject.schema.get(name) for name in READING},
                "store": store,
                "identifier": identifier,
            }
            line_break = "\n" if is_cut_off else ""
            file.write(f"{line_break}{json.dumps(stored)}\n".encode())
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def index_locked() -> Iterator[Path]:
    """Yield the folder of the index, and keep other processes and threads out; may be nested.

    Raises:
        LedgerError: the folder cannot be used.
    """
    locked_folder = _LOCKED.get()
    if locked_folder is not None:
        yield locked_folder
        return
    folder = state_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = open_secret(folder / _LOCK)
        try:
            lock_descriptor(handle)
            token = _LOCKED.set(folder)
            try:
                yield folder
            finally:
                _LOCKED.reset(token)
        finally:
            os.close(handle)
    except OSError as problem:
        raise LedgerError(
            f"the index of known data in {folder} cannot be used: {problem.strerror}; name another "
            f"folder by the variable {STATE_FOLDER}"
        ) from None
