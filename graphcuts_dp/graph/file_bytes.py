"""The bytes of a file that a user names, and a plain reason where there are none."""

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import BinaryIO

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.atomic import PathLike
from graphcuts_dp.graph.dialect import as_utf8
from graphcuts_dp.graph.unpack import gunzipped, stream_of

_PIECE = 1 << 20


def read_bytes(path: PathLike) -> bytes:
    """All bytes of a file, or of a pipe that a program writes into, such as bash's `<(...)`.

    Never waits for a writer to come.

    Raises:
        FileFormatError: it does not exist, may not be read, is a folder, a device, or a pipe that
            nothing writes into.
    """
    with _opened(path) as file:
        return file.read()


def read_unpacked(path: PathLike) -> bytes:
    """All bytes of a file, unpacked if its name ends in .gz.

    Raises:
        FileFormatError: as `read_bytes`, or not a whole gzip file.
    """
    with opened_unpacked(path) as file:
        try:
            return file.read()
        except FileFormatError as problem:
            raise FileFormatError(f"{path!s}: {problem}") from None


@contextmanager
def opened_unpacked(path: PathLike) -> Iterator[BinaryIO]:
    """The same as a stream, for formats that are read piece by piece.

    Raises:
        FileFormatError: as `read_bytes`; not a whole gzip file, while it is read.
    """
    with _opened(path) as file:
        if not os.fspath(path).lower().endswith(".gz"):
            yield file
        elif file.seekable():
            yield gunzipped(file, os.fstat(file.fileno()).st_size)
        else:  # how much a pipe may unpack to is known at its end
            data = file.read()
            yield gunzipped(io.BytesIO(data), len(data))


@contextmanager
def _opened(path: PathLike) -> Iterator[BinaryIO]:
    handle, kind = _handle(path)
    try:
        if stat.S_ISREG(kind):
            with open(handle, "rb", closefd=False) as file:  # opened above
                yield file
        elif stat.S_ISFIFO(kind):
            yield stream_of(_from_pipe(handle, path))
        elif stat.S_ISDIR(kind):
            raise FileFormatError(f"{path!s} is a folder, not a file")
        else:
            raise FileFormatError(f"{path!s} is a device, not a file; name a file")
    except OSError as problem:
        raise FileFormatError(f"cannot read {path!s}: {problem.strerror}") from None
    finally:
        os.close(handle)


def _handle(path: PathLike) -> tuple[int, int]:
    """An open file, and of what kind it is."""
    try:
        # Without this flag, to open a pipe waits for its writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return handle, os.fstat(handle).st_mode
    except FileNotFoundError:
        raise FileFormatError(f"{path!s} does not exist; check the name") from None
    except PermissionError:
        raise FileFormatError(f"no permission to read {path!s}") from None
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a valid file name"
        raise FileFormatError(f"cannot read {path!s}: {reason}") from None


def size_of(file: BinaryIO) -> int:
    """How many bytes an open file has behind its place; of one that cannot tell, all that fit."""
    if not file.seekable():
        return sys.maxsize
    here = file.tell()
    try:
        return file.seek(0, os.SEEK_END) - here
    finally:
        file.seek(here)


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


def _from_pipe(handle: int, path: PathLike) -> Iterator[bytes]:
    first = b""
    try:
        first = os.read(handle, _PIECE)  # nothing, at once, if there is no writer
        if not first:
            raise FileFormatError(
                f"{path!s} is a pipe that nothing writes into; start its writer, or name a file"
            )
    except BlockingIOError:
        pass  # there is one, which has not written yet
    os.set_blocking(handle, True)
    return chain([first] if first else [], iter(lambda: os.read(handle, _PIECE), b""))
