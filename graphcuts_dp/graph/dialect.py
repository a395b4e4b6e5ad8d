"""How a text file is written: its encoding, its line ends, its separator.

A mark at the start of the file, its first row and the caller decide, never rows further down: what
is private must not change how it is read. Where the first row leaves two ways, the error names the
option that decides.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.graph.unpack import stream_of

# The longer mark of UTF-32 starts with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_PIECE = 1 << 20  # bytes read at a time
_SEPARATORS = ",;\t|"
_QUOTED = re.compile('"[^"]*"')
_DECLARED = re.compile(r'"?sep=([,;\t|])"?\s*\Z', re.IGNORECASE)
_NO_SEPARATOR = '"\r\n#%.+-_'
NOT_UTF8 = "not UTF-8 text; pass encoding=, for example encoding='cp1252' for Excel on Windows"


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a text edge list separates columns.

    Attributes:
        delimiter: the one separator, with quoting; " " for blanks (any run), None for blanks or
            commas, both unquoted.
        konect: the first comment tells about the third column; later ones (times) are ignored.
    """

    delimiter: str | None = None
    konect: bool = False


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


def utf8_stream(stream: BinaryIO, encoding: str | None = None) -> BinaryIO:
    """The same of a file that is read piece by piece: the first MiB tells how its lines end.

    Raises:
        FileFormatError: as `as_utf8`, here or while it is read.
        ParameterError: likewise, here.
    """
    pieces = _utf8_pieces(stream.read(_PIECE), iter(lambda: stream.read(_PIECE), b""), encoding)
    first = next(pieces, b"")
    return stream_of(chain([first], pieces))


def _utf8_pieces(data: bytes, rest: Iterator[bytes], encoding: str | None) -> Iterator[bytes]:
    mark, own = next(((m, name) for m, name in _MARKS if data.startswith(m)), (b"", None))
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
        pieces = _recoded(pieces, encoding)
    old: bool | None = None  # of an old Macintosh: lines end in a carriage return alone
    for piece in pieces:
        if old is None:
            old = b"\r" in piece and b"\n" not in piece
        yield piece.replace(b"\r", b"\n") if old else piece


def _recoded(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", final=True).encode()
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


def separated(first: str, form: TextFormat) -> TextFormat:
    """The format with the separator that the first row shows.

    In .csv files the one of comma, semicolon, tab and bar that stands outside of quotes; in .tsv
    files the tab if there is one; in other lists blanks or commas, else semicolon or bar.

    Raises:
        FileFormatError: the first row can be read in two ways.
    """
    if form.konect:
        return form
    plain = _QUOTED.sub("", first).strip(" \r\n")
    found = [mark for mark in _SEPARATORS if mark in plain]
    if form.delimiter == "\t" and "\t" in found:
        return form
    if form.delimiter is not None:
        if len(found) > 1:
            raise FileFormatError(
                "the first row has more than one kind of separator; pass delimiter="
            )
        return TextFormat(found[0]) if found else form
    cells = plain.split("\t")
    if len(cells) > 1 and any(len(cell.split()) > 1 for cell in cells):
        raise FileFormatError("the first row has tabs and blanks; pass delimiter=")
    if "," in found or len(plain.split()) > 1 or not found:
        return form
    if len(found) > 1:
        raise FileFormatError("the first row has more than one kind of separator; pass delimiter=")
    return TextFormat(found[0])
