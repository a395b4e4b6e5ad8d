"""Python as on Windows, as far as a Unix system can play it; for `pytest -p` and `python -c`.

There is no `fcntl` and no `resource`, `os` has neither Unix flags nor `fchmod`, a folder cannot be
opened, a file that is only read cannot be flushed, and one that is locked cannot be removed. The
package for locks is loaded before all this: on Windows it has a way of its own.
"""

import errno
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import filelock

_MODULES = ("fcntl", "resource", "pwd", "grp", "termios")
os.environ.setdefault("USERNAME", "curator")
_NAMES = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "fchmod", "geteuid", "sysconf")
_really_open, _really_sync, _really_unlink = os.open, os.fsync, os.unlink
_really_lock, _really_unlock = filelock.lock_descriptor, filelock.unlock_descriptor
_really_close = os.close
_locked: dict[int, tuple[int, int]] = {}
_turn = threading.Lock()


def _open(path: Any, flags: int, *rest: Any, **options: Any) -> int:
    handle = _really_open(path, flags, *rest, **options)
    if stat.S_ISDIR(os.fstat(handle).st_mode) and "dir_fd" not in options and flags == os.O_RDONLY:
        _really_close(handle)
        raise PermissionError(errno.EACCES, "Permission denied", path)
    return handle


def _sync(handle: Any) -> None:
    number = handle if isinstance(handle, int) else handle.fileno()
    facts = Path(f"/proc/self/fdinfo/{number}").read_text(encoding="ascii").splitlines()
    flags = next(int(line.split()[1], 8) for line in facts if line.startswith("flags"))
    if flags & (os.O_WRONLY | os.O_RDWR) == 0:
        raise OSError(errno.EBADF, "Bad file descriptor")
    _really_sync(handle)


def _lock(handle: int, **options: Any) -> bool:
    if not _really_lock(handle, **options):
        return False
    with _turn:
        status = os.fstat(handle)
        _locked[handle] = status.st_dev, status.st_ino
    return True


def _unlock(handle: int) -> None:
    with _turn:
        _locked.pop(handle, None)
    _really_unlock(handle)


def _close(handle: int) -> None:
    with _turn:
        _locked.pop(handle, None)
    _really_close(handle)


def _unlink(path: Any, **options: Any) -> None:
    if "dir_fd" not in options and os.path.lexists(path):
        status = os.lstat(path)
        if (status.st_dev, status.st_ino) in _locked.values():
            raise PermissionError(errno.EACCES, "The process cannot access the file", path)
    _really_unlink(path, **options)


for _name in _MODULES:
    sys.modules[_name] = None  # type: ignore[assignment]
for _name in _NAMES:
    if hasattr(os, _name):
        delattr(os, _name)
os.open, os.fsync, os.unlink, os.close = _open, _sync, _unlink, _close
filelock.lock_descriptor, filelock.unlock_descriptor = _lock, _unlock
