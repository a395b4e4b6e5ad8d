"""Packed files, without the risk that a small one fills the memory (a "zip bomb").

A file may unpack to `most_unpacked` bytes and no further: 200 times its own size, or 64 MiB if that
is more. Edge lists pack 3 to 20 times, matrices of ones up to 10 times; bombs up to 1,000 times,
and nested ones are not unpacked twice.
"""

import gzip
import io
import zipfile
import zlib

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
    most = most_unpacked(len(data))
    unpacked = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            while piece := stream.read(_PIECE):
                unpacked.write(piece)
                if unpacked.tell() > most:
                    raise FileFormatError(_too_large(most))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FileFormatError("not a whole gzip file; take off .gz if it is not packed") from None
    return unpacked.getvalue()


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
