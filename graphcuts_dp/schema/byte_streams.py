"""Streams of bytes: files to be read once, from pieces that arrive one after the other.

`stream_of` turns an iterator of byte strings into a file, so that a reader need not know whether
the bytes come from a disk, a pipe, a gzip file or a decoder. `size_of` tells how much is left.
"""

import io
import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, final

PIECE_BYTES = 1 << 20  # read at a time: large enough that calls cost nothing beside the work


def stream_of(pieces: Iterator[bytes]) -> BinaryIO:
    """Return a file, to be read once, of bytes that come piece by piece."""
    return io.BufferedReader(_PieceReader(pieces), PIECE_BYTES)


def size_of(file: BinaryIO) -> int:
    """Return how many bytes an open file has left; `sys.maxsize` if it cannot tell."""
    if not file.seekable():
        return sys.maxsize
    position = file.tell()
    try:
        return file.seek(0, os.SEEK_END) - position
    finally:
        file.seek(position)


@final
class _PieceReader(io.RawIOBase):
    """A raw file of pieces of bytes, as `io.BufferedReader` reads it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._unread = memoryview(b"")  # of the current piece

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the current piece, and return the number of bytes; 0 at the end."""
        while not self._unread:  # empty pieces are skipped, as 0 bytes would mean the end
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._unread = memoryview(piece)
        count = min(len(buffer), len(self._unread))
        buffer[:count] = self._unread[:count]
        self._unread = self._unread[count:]
        return count
