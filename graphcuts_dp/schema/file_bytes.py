"""The bytes of a file that a user names, and a plain reason where there are none.

How a text file is written: its encoding, its line ends, its separator.

The name of the file, the caller, a mark at its start and its header decide, never a row: what is
private must not change how it is read.

Packed files, without the risk that a small one fills the memory (a "zip bomb").

A file may unpack to `most_unpacked` bytes and no further: 200 times its own size, or 64 MiB if that
is more. Edge lists pack 3 to 20 times, matrices of ones up to 10 times; bombs up to 1,000 times,
and nested ones are not unpacked twice.
"""

import codecs
import gzip
import io
import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, final

from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.files import BYTES, PathLike

_RATIO = 200
_ALWAYS = 1 << 26  # bytes


def most_unpacked(packed: int) -> int:
    """To how many bytes a file of `packed` bytes may unpack."""
    return max(_ALWAYS, _RATIO * packed)


def check_unpacked(count: int, packed: int) -> None:
    """Check that a file of `packed` bytes does not unpack to far too many.

    Raises:
        FileFormatError: `count` bytes are more than `most_unpacked`.
    """
    most = most_unpacked(packed)
    if count > most:
        raise FileFormatError(
            f"unpacks to more than {most >> 20} MiB, over {_RATIO} times its size, as bombs do; "
            "if it is right, pass it unpacked"
        )


def _gunzipped(file: BinaryIO, packed: int) -> Iterator[bytes]:
    """The same of a file of `packed` bytes, piece by piece; raises while it is read."""
    count = 0
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            while piece := stream.read(_PIECE):
                count += len(piece)
                check_unpacked(count, packed)
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


def check_archive(data: bytes) -> None:
    """Check that the members of a zip archive unpack to no more than `most_unpacked` together.

    Their sizes are what the archive declares; `zipfile` reads no further than that.

    Raises:
        FileFormatError: they do.
        zipfile.BadZipFile: not an archive.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_unpacked(sum(member.file_size for member in archive.infolist()), len(data))


# The longer mark of UTF-32 starts with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNICODE = {
    *("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"),
    *("utf-32", "utf-32-le", "utf-32-be"),
}
# With these some encodings switch how they read what follows.
_SWITCHES = b"\x1b$B!!\x1b(B\x0e!\x0f~{!!~}+AGE-\\n\\x0a\x81!\xe0\x41"
_SPOIL = "graphcuts_dp.spoil"  # what is no text becomes half a surrogate, which UTF-8 cannot hold
codecs.register_error(_SPOIL, lambda problem: ("\udcff", problem.end))  # type: ignore[attr-defined]
_SEPARATORS = ",;\t|"
_QUOTED = re.compile('"[^"]*"')
_DECLARED = re.compile(r'"?sep=([,;\t|])"?\s*\Z', re.IGNORECASE)
_NO_SEPARATOR = '"\r\n#%.+-_'
NOT_UTF8 = "not UTF-8 text; pass encoding=, for example encoding='cp1252' for Excel on Windows"


@dataclass(frozen=True, slots=True)
class TextFormat:
    """What the ending of a text edge list tells.

    Attributes:
        delimiter: the separator of a .csv or .tsv file; None for lists with blanks or commas,
            without quotes.
        konect: the first comment tells about the third column; later ones (times) are ignored.
    """

    delimiter: str | None = None
    konect: bool = False

    @property
    def has_header(self) -> bool:
        """Whether such files have a header, where the caller does not say."""
        return self.delimiter is not None


def as_utf8(data: bytes, encoding: str | None = None) -> bytes:
    """Text as UTF-8 without a byte-order mark, with lines that end in a newline.

    Args:
        data: the whole file.
        encoding: a name that Python knows; None for what the mark at the start says, else UTF-8,
            which is not checked here.

    Raises:
        FileFormatError: not text in this encoding, or UTF-16 without a mark.
        ParameterError: no such encoding.
    """
    return b"".join(_utf8_pieces(data, iter(()), encoding))


def utf8_stream(
    stream: BinaryIO, encoding: str | None = None, *, by_line: bool = False, marks: bool = True
) -> BinaryIO:
    """The same of a file that is read piece by piece.

    Args:
        stream: the file.
        encoding: as for `as_utf8`.
        by_line: whether what is no text becomes bytes that are no UTF-8, and spoils its own line.
        marks: whether a mark at the start tells the encoding; else it is a sign of the first line.

    Raises:
        FileFormatError: as `as_utf8`, here or while it is read; or `by_line` of an encoding in
            which a line depends on others.
        ParameterError: likewise, here.
    """
    rest = iter(lambda: stream.read(_PIECE), b"")
    data = stream.read(_PIECE)
    if not marks:
        encoding = encoding or "utf-8"
    pieces = _utf8_pieces(data, rest, encoding, by_line=by_line, marks=marks)
    first = next(pieces, b"")
    return stream_of(chain([first], pieces))


def _utf8_pieces(
    data: bytes,
    rest: Iterator[bytes],
    encoding: str | None,
    *,
    by_line: bool = False,
    marks: bool = True,
) -> Iterator[bytes]:
    known = _MARKS if marks else ()
    mark, own = next(((m, name) for m, name in known if data.startswith(m)), (b"", None))
    if encoding is None and own is None and data[1:2] == b"\0" != data[:1]:
        raise FileFormatError("looks like UTF-16 without its mark; pass encoding='utf-16-le'")
    if encoding is not None:
        _check_encoding(encoding)
    else:
        encoding = own or "utf-8"
    if own is not None:
        data = data.removeprefix(mark)
        encoding = own if encoding.lower().startswith("utf") else encoding
    pieces: Iterator[bytes] = chain([data], rest)
    if codecs.lookup(encoding).name != "utf-8":
        if not marks and codecs.lookup(encoding).name in ("utf-16", "utf-32"):
            raise FileFormatError(
                "on_bad='skip' without a header needs an encoding with an order of bytes, such as "
                "encoding='utf-16-le': a mark would stand in the first row"
            )
        if by_line and not _has_lines(encoding):
            raise FileFormatError(
                "on_bad='skip' needs an encoding in which no line depends on others; save the file "
                "as UTF-8"
            )
        pieces = _recoded(pieces, encoding, _SPOIL if by_line else "strict")
    return _with_newlines(pieces)


def _with_newlines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same, but every line ends in a newline: a carriage return ends one wherever it stands."""
    within = False  # the piece before ended between a carriage return and, perhaps, its newline
    for given in pieces:
        piece = given[1:] if within and given[:1] == b"\n" else given
        within = given[-1:] == b"\r" or (within and not given)
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield piece


def _has_lines(encoding: str) -> bool:
    """Whether each byte, or unit of Unicode, is one character, whatever stands before it."""
    if codecs.lookup(encoding).name in _UNICODE:
        return True
    text = bytes(range(256)) + _SWITCHES
    alone = (text[i : i + 1].decode(encoding, "replace") for i in range(len(text)))
    return text.decode(encoding, "replace") == "".join(alone)


def _recoded(pieces: Iterator[bytes], encoding: str, errors: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode("utf-8", "surrogatepass")
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")
    except UnicodeError:
        raise FileFormatError(f"not text in {encoding}; pass another encoding=") from None


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)  # refuses codecs that are no text encodings, too
    except (LookupError, ValueError, TypeError):
        raise ParameterError(
            "unknown encoding; choose one such as utf-8, utf-16, cp1252, latin-1"
        ) from None


def declared_separator(line: str) -> str | None:
    """The separator that a line `sep=;` declares, as Excel reads and writes it; else None."""
    found = _DECLARED.match(line)
    return found[1] if found else None


def check_delimiter(delimiter: str) -> None:
    """Check a separator that the caller gives.

    Raises:
        ParameterError: not one character, or one that stands in numbers, names or comments.
    """
    good = isinstance(delimiter, str) and len(delimiter) == 1
    if not good or delimiter.isalnum() or delimiter in _NO_SEPARATOR:
        raise ParameterError("delimiter must be one separating character, such as ';' or a tab")


def header_separator(header: str, form: TextFormat) -> str | None:
    """The separator of a .csv or .tsv file that its header shows outside of quotes.

    Raises:
        FileFormatError: the header can be read in two ways.
    """
    plain = _QUOTED.sub("", header).strip(" \n")
    found = [mark for mark in _SEPARATORS if mark in plain]
    if not found or form.delimiter is None or (form.delimiter == "\t" and "\t" in found):
        return form.delimiter
    if len(found) > 1:
        raise FileFormatError("the header has more than one kind of separator; pass delimiter=")
    return found[0]


_PIECE = 1 << 20


def whole_file(file: BinaryIO, encoding: str | None = None, *, text: bool = True) -> bytes:
    """All of an open file, of formats that are not read piece by piece.

    Args:
        file: open at its start.
        encoding: as for `as_utf8`.
        text: whether it is brought to UTF-8.

    Raises:
        FileFormatError: nothing is in it, or it is not text in this encoding.
        ParameterError: no such encoding.
    """
    data = file.read()
    if text:
        data = as_utf8(data, encoding)
    if not data.strip():
        raise FileFormatError("the file is empty")
    return data


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
            yield stream_of(_gunzipped(file, os.fstat(file.fileno()).st_size))
        else:  # how much a pipe may unpack to is known at its end
            data = file.read()
            yield stream_of(_gunzipped(io.BytesIO(data), len(data)))


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
        # Without the first flag, to open a pipe waits for its writer.
        handle = os.open(path, getattr(os, "O_NONBLOCK", 0) | os.O_RDONLY | BYTES)
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
