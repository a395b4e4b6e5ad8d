"""Files that a user names: open them without waiting, and read their bytes or their text.

A name may be that of a file or of a pipe into which a program writes, such as bash's `<(...)`.
Nothing here waits for a writer to come. A name that ends in .gz is unpacked, up to the limit of
`schema.unpacking`. Every failure becomes a `FileFormatError` with a plain reason.

Four functions read whole files: `read_bytes` reads a file as it is, `read_unpacked` unpacks it,
`read_text` also brings it to text, and `whole_file` reads one that is open already.
`opened_unpacked` gives a stream, for formats that are read piece by piece.
"""

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import BinaryIO

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import BYTES, PathLike
from graphcuts_dp.schema.byte_streams import PIECE_BYTES, stream_of
from graphcuts_dp.schema.text_encoding import as_utf8
from graphcuts_dp.schema.unpacking import gunzipped


def whole_file(file: BinaryIO, encoding: str | None = None, *, text: bool = True) -> bytes:
    """Return all bytes of an open file, for formats that are not read piece by piece.

    Args:
        file: open at its start.
        encoding: as for `schema.text_encoding.as_utf8`.
        text: whether the bytes are text, which is brought to UTF-8.

    Raises:
        FileFormatError: the file is empty, or not text in this encoding.
        ParameterError: no such encoding.
    """
    data = file.read()
    if text:
        data = as_utf8(data, encoding)
    if not data.strip():
        raise FileFormatError("the file is empty")
    return data


def read_bytes(path: PathLike) -> bytes:
    """Return all bytes of a file or a pipe.

    Raises:
        FileFormatError: it does not exist, may not be read, or is a folder, a device, or a pipe
            that nothing writes into.
    """
    with _opened(path) as file:
        return file.read()


def read_unpacked(path: PathLike) -> bytes:
    """Return all bytes of a file, unpacked if its name ends in .gz.

    Raises:
        FileFormatError: as `read_bytes`; or not a whole gzip file.
    """
    with opened_unpacked(path) as file:
        try:
            return file.read()
        except FileFormatError as problem:
            raise FileFormatError(f"{path!s}: {problem}") from None


def read_text(path: PathLike) -> str:
    """Return a text file, unpacked if its name ends in .gz.

    The text is in the encoding that a byte-order mark at its start names, such as UTF-16, else in
    UTF-8. Every error asks for UTF-8, which has no other form.

    Raises:
        FileFormatError: as `read_unpacked`, or no such text.
    """
    data = read_unpacked(path)
    try:
        return as_utf8(data).decode()
    except (UnicodeDecodeError, FileFormatError):
        raise FileFormatError(f"{path!s}: not UTF-8 text; convert it to UTF-8") from None


@contextmanager
def opened_unpacked(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file as a stream, unpacked if its name ends in .gz, and close it at the end.

    The file is closed when the `with` statement ends. An `OSError` in its body is taken for one of
    reading the file, and becomes "cannot read" and the name of the file.

    Raises:
        FileFormatError: as `read_bytes`; while the stream is read: not a whole gzip file, or one
            that unpacks to more than `schema.unpacking` allows.
    """
    with _opened(path) as file:
        if not os.fspath(path).lower().endswith(".gz"):
            yield file
        elif file.seekable():
            yield stream_of(gunzipped(file, os.fstat(file.fileno()).st_size))
        else:
            # `gunzipped` needs the packed size for its limit. That of a pipe is not known before
            # its end, so read all of it.
            data = file.read()
            yield stream_of(gunzipped(io.BytesIO(data), len(data)))


@contextmanager
def _opened(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file or a pipe as a stream, and close it at the end."""
    descriptor, mode = _descriptor_and_mode(path)
    try:
        if stat.S_ISREG(mode):
            # `closefd=False`: `os.close` below closes the descriptor, of files and of pipes.
            with open(descriptor, "rb", closefd=False) as file:
                yield file
        elif stat.S_ISFIFO(mode):
            yield stream_of(_open_pipe(descriptor, path))
        elif stat.S_ISDIR(mode):
            raise FileFormatError(f"{path!s} is a folder, not a file")
        else:
            raise FileFormatError(f"{path!s} is a device, not a file; name a file")
    except OSError as problem:
        raise FileFormatError(f"cannot read {path!s}: {problem.strerror}") from None
    finally:
        os.close(descriptor)


def _descriptor_and_mode(path: PathLike) -> tuple[int, int]:
    """Return the descriptor of an opened file, and its mode, which tells files from pipes."""
    try:
        # O_NONBLOCK, which Windows lacks: opening a pipe must not wait for its writer. BYTES: flags
        # by which bytes are not translated, and programs that this one starts do not inherit the
        # descriptor.
        descriptor = os.open(path, getattr(os, "O_NONBLOCK", 0) | os.O_RDONLY | BYTES)
        return descriptor, os.fstat(descriptor).st_mode
    except FileNotFoundError:
        raise FileFormatError(f"{path!s} does not exist; check the name") from None
    except PermissionError:
        raise FileFormatError(f"no permission to read {path!s}") from None
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a valid file name"
        raise FileFormatError(f"cannot read {path!s}: {reason}") from None


def _open_pipe(descriptor: int, path: PathLike) -> Iterator[bytes]:
    """Read the first bytes of a pipe at once, and return an iterator over all its pieces.

    The descriptor was opened with O_NONBLOCK, so the first read does not wait. It

    1. returns no bytes if the pipe has no writer;
    2. raises `BlockingIOError` if there is a writer, which has not written yet;
    3. returns bytes if there are some.

    In the cases 2 and 3 there is or was a writer, so later reads may wait for it.

    Raises:
        FileFormatError: nothing writes into the pipe.
    """
    first = b""
    try:
        first = os.read(descriptor, PIECE_BYTES)
        if not first:
            raise FileFormatError(
                f"{path!s} is a pipe that nothing writes into; start its writer, or name a file"
            )
    except BlockingIOError:
        pass
    os.set_blocking(descriptor, True)
    following = iter(lambda: os.read(descriptor, PIECE_BYTES), b"")
    return chain([first] if first else [], following)
