"""Packed files, without the risk that a small one fills the memory (a "zip bomb").

A file may unpack to `most_unpacked` bytes and no further: 200 times its own size, or 64 MiB if that
is more. Edge lists pack 3 to 20 times, matrices of ones up to 10 times; bombs up to 1,000 times,
and nested ones are not unpacked twice.
"""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, final

from graphcuts_dp.errors import FileFormatError

_RATIO = 200
_ALWAYS = 1 << 26  # bytes
_PIECE = 1 << 20  # bytes unpacked at a time


def most_unpacked(packed: int) -> int:
    """To how many bytes a file of `packed` bytes may unpack."""
    return max(_ALWAYS, _RATIO * packed)


def gunzip(data: bytes) -> bytes:
    """Unpack a gzip file of one or more members.

    Raises:
        FileFormatError: damaged, cut short, or larger than `most_unpacked`.
    """
    return gunzipped(io.BytesIO(data), len(data)).read()


def gunzipped(file: BinaryIO, packed: int) -> BinaryIO:
    """The same of a file of `packed` bytes as a stream, which raises while it is read."""
    return stream_of(_unpacked(file, most_unpacked(packed)))


def _unpacked(file: BinaryIO, most: int) -> Iterator[bytes]:
    count = 0
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            while piece := stream.read(_PIECE):
                count += len(piece)
                if count > most:
                    raise FileFormatError(_too_large(most))
                yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FileFormatError("not a whole gzip file; take off .gz if it is not packed") from None


def stream_of(pieces: Iterator[bytes]) -> BinaryIO:
    """A file to be read once, of bytes that come piece by piece."""
    return io.BufferedReader(_Pieces(pieces), _PIECE)


@final
class _Pieces(io.RawIOBase):
    """Pieces of bytes one after the other, as `io.BufferedReader` takes them."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def check_unpacked(count: int, packed: int) -> None:
    """Check that a file of `packed` bytes does not unpack to far too many.

    Raises:
        FileFormatError: `count` bytes are more than `most_unpacked`.
    """
    if count > most_unpacked(packed):
        raise FileFormatError(_too_large(most_unpacked(packed)))


def check_archive(data: bytes) -> None:
    """Check that the members of a zip archive unpack to no more than `most_unpacked` together.

    Their sizes are what the archive declares; `zipfile` reads no further than that.

    Raises:
        FileFormatError: they do.
        zipfile.BadZipFile: not an archive.
    """
    most = most_unpacked(len(data))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > most:
            raise FileFormatError(_too_large(most))


def _too_large(most: int) -> str:
    return (
        f"unpacks to more than {most >> 20} MiB, over {_RATIO} times its size, as bombs do; "
        "if it is right, pass it unpacked"
    )
