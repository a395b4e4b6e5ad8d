"""Whole files or none: a file appears under its name only when every byte is on the disk."""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from graphcuts_dp.errors import FileFormatError

PathLike = str | os.PathLike[str]


def check_writable(path: PathLike, *, force: bool = False) -> Path:
    """Check that a file can be written, without writing it.

    Call this before any privacy budget is spent: a release that cannot be saved is budget lost.

    Args:
        path: where the file will be.
        force: True allows to replace a file that is there.

    Returns:
        The path with symbolic links followed.

    Raises:
        FileFormatError: the folder is missing or cannot be written to, the path is a folder, or a
            file is there and `force` is False.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise FileFormatError(f"{path} is a folder; name a file inside it")
        if not target.parent.is_dir():
            raise FileFormatError(f"the folder {target.parent} does not exist; create it first")
        if target.exists():
            if not target.is_file():
                raise FileFormatError(f"{path} is not a regular file; name another one")
            if not force:
                raise _exists(path)
    except (OSError, ValueError) as problem:
        raise FileFormatError(f"cannot write {path!s}: {_reason(problem)}") from None
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileFormatError(f"no permission to write into the folder {target.parent}")
    return target


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
    temporary = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as handle:
            if target.exists():
                os.fchmod(handle.fileno(), target.stat().st_mode & 0o7777)
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        _publish(temporary, target, path, force)
    except OSError as problem:
        raise FileFormatError(f"cannot write {path!s}: {_reason(problem)}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _publish(temporary: Path, target: Path, path: PathLike, force: bool) -> None:
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
    with contextlib.suppress(OSError):  # the folder entry; not every file system can
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _exists(path: PathLike) -> FileFormatError:
    return FileFormatError(f"{path!s} exists; choose another name, or allow replacing (force)")


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.errno is not None:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            return "the disk is full; free some space or choose another folder"
        return os.strerror(problem.errno)
    return "not a valid file name"
