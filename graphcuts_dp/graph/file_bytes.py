"""The bytes of a file that a user names, and a plain reason where there are none."""

import os
import stat

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.atomic import PathLike
from graphcuts_dp.graph.dialect import as_utf8
from graphcuts_dp.graph.unpack import gunzip

_PIECE = 1 << 20


def read_bytes(path: PathLike) -> bytes:
    """All bytes of a file, or of a pipe that a program writes into, such as bash's `<(...)`.

    Never waits for a writer to come.

    Raises:
        FileFormatError: it does not exist, may not be read, is a folder, a device, or a pipe that
            nothing writes into.
    """
    try:
        # Without this flag, to open a pipe waits for its writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            kind = os.fstat(handle).st_mode
            if stat.S_ISREG(kind):
                with open(handle, "rb", closefd=False) as file:  # opened above
                    return file.read()
            if stat.S_ISFIFO(kind):
                return _from_pipe(handle, path)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise FileFormatError(f"{path!s} does not exist; check the name") from None
    except PermissionError:
        raise FileFormatError(f"no permission to read {path!s}") from None
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a valid file name"
        raise FileFormatError(f"cannot read {path!s}: {reason}") from None
    if stat.S_ISDIR(kind):
        raise FileFormatError(f"{path!s} is a folder, not a file")
    raise FileFormatError(f"{path!s} is a device, not a file; name a file")


def read_unpacked(path: PathLike) -> bytes:
    """All bytes of a file, unpacked if its name ends in .gz.

    Raises:
        FileFormatError: as `read_bytes`, or not a whole gzip file.
    """
    data = read_bytes(path)
    if not os.fspath(path).lower().endswith(".gz"):
        return data
    try:
        return gunzip(data)
    except FileFormatError as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None


def read_text(path: PathLike) -> str:
    """Text in UTF-8, or in what the mark at its start says, perhaps packed (.gz).

    Raises:
        FileFormatError: as `read_unpacked`, or other text.
    """
    data = read_unpacked(path)
    try:
        return as_utf8(data).decode()
    except (UnicodeDecodeError, FileFormatError):
        raise FileFormatError(f"{path!s}: not UTF-8 text; convert it to UTF-8") from None


def _from_pipe(handle: int, path: PathLike) -> bytes:
    try:
        pieces = [os.read(handle, _PIECE)]  # nothing, at once, if there is no writer
    except BlockingIOError:
        pieces = []  # there is one, which has not written yet
    else:
        if not pieces[0]:
            raise FileFormatError(
                f"{path!s} is a pipe that nothing writes into; start its writer, or name a file"
            )
    os.set_blocking(handle, True)
    while piece := os.read(handle, _PIECE):
        pieces.append(piece)
    return b"".join(pieces)
