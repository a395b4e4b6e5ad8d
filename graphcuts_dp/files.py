"""Whole files or none: a file appears under its name only when every byte is on the disk.

What differs between systems is here, and nowhere else: locks (by filelock), flags of `os.open`, the
permissions of secret files, and flushing of folders. Windows has no bits for the permissions of
others: who may read a file there follows from the folder that it is in.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, final

from graphcuts_dp.errors import FileFormatError

PathLike = str | os.PathLike[str]

PICTURE_ENDINGS = (".png", ".pdf", ".svg")  # of the files that plots are drawn to

_UNIX = hasattr(os, "geteuid")

# Whether a file that somebody has open cannot be removed, so that its lock cannot lose its name.
LOCKED_STAY = not _UNIX

_SQLITE = b"SQLite format 3\0"  # the first bytes of each database, such as a store
_KEPT: ContextVar[frozenset[Path]] = ContextVar("files that are not written", default=frozenset())

# Bytes as they are, and no handle for the programs that this one starts.
BYTES = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@final
class OccupiedPathError(FileFormatError):
    """A file is where one is to be written, and may not be replaced."""


def open_secret(path: PathLike, *, new: bool = False) -> int:
    """Open a file that only its owner can read, whatever the umask; create it if it is missing.

    Args:
        path: where; a symbolic link is refused where the system can.
        new: True refuses a file that is there.

    Raises:
        OSError: it cannot be opened or made.
    """
    flags = os.O_RDWR | os.O_CREAT | BYTES | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags | os.O_EXCL if new else flags, 0o600)
    if new:
        set_mode(handle, 0o600)
    return handle


def set_mode(handle: int, mode: int) -> None:
    """Set the permissions of an open file, where the system has such."""
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


def others_may_read(status: os.stat_result) -> bool:
    """Return whether others may read or write a file; False on systems without permissions."""
    return _UNIX and status.st_mode & 0o077 != 0


def flush_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, where a system can.

    Raises:
        OSError: the disk fails.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder, and writes names at once
        if _UNIX:
            raise
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def kept_files(paths: Iterable[PathLike]) -> Iterator[None]:
    """Refuse to write any of these files within the `with` statement, even by force.

    Args:
        paths: files that a command reads or keeps. They need not exist.
    """
    before = _KEPT.set(_KEPT.get() | {Path(os.path.realpath(path)) for path in paths})
    try:
        yield
    finally:
        _KEPT.reset(before)


def check_not_kept(path: PathLike) -> None:
    """Check that a file is none of the `kept_files`.

    Raises:
        FileFormatError: it is one.
    """
    if Path(os.path.realpath(path)) in _KEPT.get():
        raise FileFormatError(f"{path} is read or kept by this command; write to another file")


def check_picture(path: PathLike) -> None:
    """Check that the name of a file ends as a picture's.

    Raises:
        FileFormatError: it ends otherwise.
    """
    if not str(path).lower().endswith(PICTURE_ENDINGS):
        raise FileFormatError(f"{path}: a plot ends in .png, .pdf or .svg")


def check_writable(path: PathLike, *, force: bool = False) -> Path:
    """Check that a file can be written, without writing it.

    Call this before any privacy budget is spent: a release that cannot be saved is budget lost.

    Args:
        path: where the file will be.
        force: True allows to replace a file that is there.

    Returns:
        The path with symbolic links followed.

    Raises:
        FileFormatError: the folder is missing or cannot be written to, the path is a folder or one
            of the `kept_files`, or a file is there and `force` is False. A database is never
            replaced: it may be a store, which alone knows what was spent.
    """
    try:
        target = Path(os.path.realpath(path))
        check_not_kept(path)
        if target.is_dir():
            raise FileFormatError(f"{path} is a folder; name a file inside it")
        if not target.parent.is_dir():
            raise FileFormatError(f"the folder {target.parent} does not exist; create it first")
        kind = _mode(target)  # looked at once: another process may replace it at any moment
        if kind is not None:
            if not stat.S_ISREG(kind):
                raise FileFormatError(f"{path} is not a regular file; name another one")
            if not force:
                raise _exists(path)
            if is_database(target):
                raise FileFormatError(
                    f"{path} is a database, perhaps a store, and is never replaced; write to "
                    "another file"
                )
    except (OSError, ValueError) as problem:
        raise FileFormatError(f"cannot write {path!s}: {_reason(problem)}") from None
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileFormatError(f"no permission to write into the folder {target.parent}")
    return target


def check_space(paths: Iterable[PathLike], needed: int) -> None:
    """Check that the disk has room for a result, before any privacy budget is spent.

    Args:
        paths: of files that will be written; one that names no folder is in the working folder.
        needed: bytes that each of them may take, estimated from public sizes.

    Raises:
        FileFormatError: a disk has less than that, as far as the system tells.
    """
    for path in paths:
        folder = Path(os.path.realpath(path)).parent
        try:
            free = shutil.disk_usage(folder).free
        except OSError:  # the system does not tell; writing will
            continue
        if free < needed:
            raise FileFormatError(
                f"{path!s} may need {_megabytes(needed)}, and its disk has {_megabytes(free)}: "
                "free some space or choose another folder; nothing was spent"
            )


def _megabytes(size: int) -> str:
    return f"{max(size / 1e6, 0.001):,.3g} MB"


def is_database(file: Path) -> bool:
    """Return whether a file is a database of SQLite, as stores are; False if it cannot be read."""
    try:
        with file.open("rb") as handle:
            return handle.read(len(_SQLITE)) == _SQLITE
    except (PermissionError, FileNotFoundError):  # another process may have moved it meanwhile
        return False


def check_writable_set(paths: Sequence[PathLike], *, force: bool = False) -> list[Path]:
    """Check files that will be written together by `check_writable`; they must be different files.

    Returns:
        The paths with symbolic links followed, in the same order.

    Raises:
        FileFormatError: as `check_writable` for any of them, or two of them are the same file.
    """
    targets = [check_writable(path, force=force) for path in paths]
    for index, target in enumerate(targets):
        if target in targets[:index]:
            other = paths[targets.index(target)]
            raise FileFormatError(
                f"{paths[index]!s} and {other!s} are the same file; choose another name"
            )
    return targets


@contextlib.contextmanager
def atomic_write(path: PathLike, *, force: bool = False) -> Iterator[BinaryIO]:
    """Write a file so that it appears whole or not at all.

    Bytes go to a temporary file in the same folder, which is flushed to the disk and then renamed.
    When the body of the `with` statement raises, or is interrupted, nothing is left behind and a
    file that was there before stays as it was. A file that is replaced keeps its permissions.

    Args:
        path: where the file will be.
        force: True replaces a file that is there; False refuses, also when one appears meanwhile.

    Yields:
        A binary file handle. Its attribute `name` is the path of the temporary file, for
        libraries that want a path.

    Raises:
        FileFormatError: as `check_writable`; or the disk is full or fails while writing.
    """
    target = check_writable(path, force=force)
    temporary = target.with_name(_hidden_name())
    try:
        with temporary.open("xb") as handle:
            mode = _mode(target)
            if mode is not None:
                set_mode(handle.fileno(), stat.S_IMODE(mode))
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        _publish(temporary, target, path, force=force)
    except OSError as problem:
        raise FileFormatError(f"cannot write {path!s}: {_reason(problem)}") from None
    finally:
        _discard(temporary)


@final
@dataclass(frozen=True)
class _Member:
    """One file of a set: the name that the user gave, where it goes, and its hidden places."""

    path: PathLike
    target: Path
    folder: Path

    @property
    def new(self) -> Path:
        return self.folder / "new" / Path(self.path).name

    @property
    def old(self) -> Path:
        return self.folder / "old" / Path(self.path).name


@contextlib.contextmanager
def atomic_set(paths: Sequence[PathLike], *, force: bool = False) -> Iterator[tuple[Path, ...]]:
    """Write files that belong together so that all of them appear, or none.

    1. The body writes, by `atomic_write`, under the same names in a hidden folder beside the
       targets.
    2. Files that are to be replaced are moved into that folder, the last one first.
    3. The new files are moved to their places, the last one last.

    When any of this fails or is interrupted, the older files are moved back: all is as before.
    Put the file that vouches for the others last: it is in its place only while the others are in
    theirs, also if the process is killed between two moves. Then nothing is lost: what is not in
    its place is in the hidden folder. Processes that write sets into one folder take turns at
    moving, so that sets do not mix.

    Args:
        paths: where the files will be. One that the body leaves out will not be there: with
            `force`, an older file is removed.
        force: True replaces files that are there; False refuses, also when one appears meanwhile.

    Yields:
        The paths to write to, in the same order.

    Raises:
        FileFormatError: as `check_writable_set`; or the disk is full or fails.
    """
    token = _hidden_name()
    members = [
        _Member(path, target, target.parent / token)
        for path, target in zip(paths, check_writable_set(paths, force=force), strict=True)
    ]
    folders = sorted({member.folder for member in members})
    try:
        for folder in folders:
            folder.mkdir(mode=0o700)
            (folder / "new").mkdir()
            (folder / "old").mkdir()
        yield tuple(member.new for member in members)
        with contextlib.ExitStack() as turns:
            for folder in folders:
                turns.enter_context(_turn(folder.parent))
            new_status = [member.new.stat() if member.new.exists() else None for member in members]
            try:
                _move(members, force=force)
            except BaseException:
                kept_folders, folders = folders, []  # they stay if undoing fails
                _move_back(members, new_status)
                folders = kept_folders
                raise
    except FileFormatError as problem:
        text = str(problem)
        for member in members:
            text = text.replace(str(member.new), str(member.path))
        raise FileFormatError(text) from None
    except OSError as problem:
        raise FileFormatError(f"cannot write {paths[0]!s}: {_reason(problem)}") from None
    finally:
        for folder in folders:
            _discard(folder)


def _move(members: Sequence[_Member], *, force: bool) -> None:
    for member in members:
        if not force and member.target.exists():
            raise _exists(member.path)
    for member in reversed(members):
        mode = _mode(member.target) if force else None
        if mode is not None:
            if member.new.exists():
                member.new.chmod(stat.S_IMODE(mode))
            with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                member.target.rename(member.old)
    for member in members:
        if member.new.exists():
            _publish(member.new, member.target, member.path, force=force)


def _move_back(members: Sequence[_Member], made: Sequence[os.stat_result | None]) -> None:
    """Undo `_move` from wherever it stopped; takes away only what this process has made."""
    try:
        for member, new in reversed(list(zip(members, made, strict=True))):
            if new and member.target.exists() and os.path.samestat(new, member.target.stat()):
                member.target.unlink()
        for member in members:
            if member.old.exists():
                member.old.rename(member.target)
    except OSError as problem:
        raise FileFormatError(
            f"cannot write {members[0].path!s}: {_reason(problem)}; "
            f"the older files and the new ones are in {members[0].folder}"
        ) from None


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Keep others who publish sets out of a folder."""
    from filelock import lock_descriptor  # at use: it imports asyncio and ssl

    handle = None
    try:
        with contextlib.suppress(OSError):  # not every folder may be opened, or can be locked
            handle = os.open(folder, os.O_RDONLY)
            lock_descriptor(handle, poll_interval=0.005)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _publish(temporary: Path, target: Path, path: PathLike, *, force: bool) -> None:
    if force:
        temporary.replace(target)
    else:
        try:
            os.link(temporary, target)  # unlike a rename, fails when the name is taken
        except FileExistsError:
            raise _exists(path) from None
        except OSError:  # no hard links on this file system
            if target.exists():
                raise _exists(path) from None
            temporary.replace(target)
    with contextlib.suppress(OSError):  # not every file system can
        flush_folder(target.parent)


def _discard(temporary: Path) -> None:
    """Remove a temporary file or folder, also when Ctrl-C is pressed meanwhile."""
    try:
        _remove(temporary)
    finally:
        _remove(temporary)


def _remove(temporary: Path) -> None:
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _hidden_name() -> str:
    return f".{secrets.token_hex(8)}.part"


def _mode(file: Path) -> int | None:
    """Return kind and permissions of a file; None if it is missing."""
    try:
        return file.stat().st_mode
    except FileNotFoundError:
        return None


def _exists(path: PathLike) -> FileFormatError:
    return OccupiedPathError(f"{path!s} exists; choose another name, or allow replacing (force)")


def _reason(problem: Exception) -> str:
    if not isinstance(problem, OSError):
        return "not a valid file name"
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; free some space or choose another folder"
    return problem.strerror or str(problem) or "it failed"
