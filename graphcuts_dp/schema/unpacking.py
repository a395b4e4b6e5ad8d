"""Packed files, and the limit to which they may unpack, so that a small one cannot fill the memory.

A file may unpack to 200 times its own size, or to 64 MiB if that is more, see `most_unpacked`. Edge
lists pack 3 to 20 times, matrices of ones up to 10 times. Files that are built to fill the memory
("zip bombs") pack up to 1,000 times. Archives within archives would pack further, but a file is
unpacked only once here: what it holds is read as it is.
"""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from graphcuts_dp import array_archive
from graphcuts_dp.array_archive import MOST_RATIO
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.schema.byte_streams import PIECE_BYTES

_ALWAYS_ALLOWED = 1 << 26  # unpacked bytes (64 MiB), which any computer holds


def most_unpacked(packed: int) -> int:
    """Return the most bytes to which a file of `packed` bytes may unpack."""
    return array_archive.most_unpacked(packed, _ALWAYS_ALLOWED)


def check_unpacked(count: int, packed: int) -> None:
    """Refuse a file of `packed` bytes that unpacks to `count` bytes, if that is too many.

    Raises:
        FileFormatError: `count` is more than `most_unpacked(packed)`.
    """
    most = most_unpacked(packed)
    if count > most:
        # The limit is the larger of 64 MiB and 200 times the size, so "over 200 times" holds, too.
        raise FileFormatError(
            f"unpacks to more than {most >> 20} MiB, over {MOST_RATIO} times its size, as bombs "
            "do; if it is right, pass it unpacked"
        )


def check_archive(data: bytes) -> None:
    """Check that the members of a zip archive unpack to no more than `most_unpacked` together.

    The archive declares the sizes of its members, and `zipfile` reads no further than that.

    Raises:
        FileFormatError: they unpack to more.
        zipfile.BadZipFile: `data` is no archive.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_unpacked(sum(member.file_size for member in archive.infolist()), len(data))


def gunzipped(file: BinaryIO, packed: int) -> Iterator[bytes]:
    """Generate the unpacked bytes of a gzip file, piece by piece.

    Args:
        file: open at its start.
        packed: its size in bytes.

    Raises:
        FileFormatError: while pieces are taken: no whole gzip file, or more than `most_unpacked`.
    """
    count = 0
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            while piece := stream.read(PIECE_BYTES):
                count += len(piece)
                check_unpacked(count, packed)
                yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FileFormatError("not a whole gzip file; take off .gz if it is not packed") from None
