"""Text encodings: bring the text of a file to UTF-8 whose lines end in a newline.

The encoding is that of the caller, else that of the *byte-order mark*, a few bytes with which some
programs start a file to name its encoding, else UTF-8. No row decides.

Files are recoded in *pieces* of a fixed number of bytes, which may end within a line or a
character.

Where bad rows are left out (`by_line`), a byte that is no text must not stop the reading. It is
recoded as bytes that are not valid UTF-8. Whoever splits the lines later (`schema.text_rows`) finds
the invalid bytes, and takes their line for a bad row; other lines are as they were. This needs an
encoding in which no line depends on the lines before it, see `_is_independent_of_context`.
"""

import codecs
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.schema.byte_streams import PIECE_BYTES, stream_of

NOT_UTF8 = "not UTF-8 text; pass encoding=, for example encoding='cp1252' for Excel on Windows"

# Byte-order marks and their encodings. The longer mark of UTF-32 starts with that of UTF-16, so it
# stands before it.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings of Unicode: each of their code units is read without regard to those before it.
_UNICODE = {
    *("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"),
    *("utf-32", "utf-32-le", "utf-32-be"),
}
# Bytes with which encodings switch how they read the bytes that follow.
_SWITCHES = (
    b"\x1b$B!!\x1b(B"  # escape sequences of ISO-2022, around a character of two bytes
    b"\x0e!\x0f"  # shift out, and shift in
    b"~{!!~}"  # HZ
    b"+AGE-"  # UTF-7
    b"\\n\\x0a"  # escapes of Python (unicode_escape)
    b"\x81!"  # lead byte of Shift-JIS and of GBK
    b"\xe0\x41"  # lead byte of UTF-8 and of other encodings of several bytes
)
# Name of an error handler of `codecs`. It replaces bytes that are no text by the code point U+DCFF,
# a low surrogate, which is no character. Written with "surrogatepass", this gives the bytes
# ED B3 BF, which are not valid UTF-8.
_SURROGATE_ERRORS = "graphcuts_dp.spoil"
codecs.register_error(
    _SURROGATE_ERRORS,
    lambda problem: ("\udcff", problem.end),  # type: ignore[attr-defined]
)


def as_utf8(data: bytes, encoding: str | None = None) -> bytes:
    """Return text as UTF-8 without a byte-order mark, with lines that end in a newline.

    Args:
        data: the whole file.
        encoding: a name that Python knows. None: that of the byte-order mark, else UTF-8, which is
            not checked here.

    Raises:
        FileFormatError: not text in this encoding, or UTF-16 without a mark.
        ParameterError: no such encoding.
    """
    return b"".join(_utf8_pieces(data, iter(()), encoding))


def utf8_stream(
    stream: BinaryIO,
    encoding: str | None = None,
    *,
    by_line: bool = False,
    detect_mark: bool = True,
) -> BinaryIO:
    """Return the text of a file as a stream of UTF-8, as `as_utf8` does, read piece by piece.

    Args:
        stream: the file.
        encoding: as for `as_utf8`.
        by_line: whether bytes that are no text become bytes that are not UTF-8, so that only their
            own line is a bad row. Else they raise.
        detect_mark: whether a byte-order mark at the start tells the encoding, and is removed. If
            false, a mark stays in the first line, and None for `encoding` means UTF-8.

    Raises:
        FileFormatError: as `as_utf8`, here or while the stream is read. With `by_line` also an
            encoding in which a line depends on others.
        ParameterError: no such encoding; raised here.
    """
    first = stream.read(PIECE_BYTES)
    following = iter(lambda: stream.read(PIECE_BYTES), b"")
    if not detect_mark:
        encoding = encoding or "utf-8"
    pieces = _utf8_pieces(first, following, encoding, by_line=by_line, detect_mark=detect_mark)
    # Recode the first piece at once, so that its errors are raised here and not in the stream.
    first_recoded = next(pieces, b"")
    return stream_of(chain([first_recoded], pieces))


def _utf8_pieces(
    first: bytes,
    following: Iterator[bytes],
    encoding: str | None,
    *,
    by_line: bool = False,
    detect_mark: bool = True,
) -> Iterator[bytes]:
    """Return an iterator over the pieces of a file in UTF-8.

    This is no generator: errors of the encoding are raised at the call, before a piece is taken.

    Args:
        first: the first piece, which begins with the byte-order mark if there is one.
        following: the other pieces.
        encoding, by_line, detect_mark: as for `utf8_stream`.
    """
    mark, mark_encoding = _mark_of(first) if detect_mark else (b"", None)
    if encoding is None and mark_encoding is None and _looks_like_utf16(first):
        raise FileFormatError("looks like UTF-16 without its mark; pass encoding='utf-16-le'")
    if encoding is not None:
        _check_encoding(encoding)
    if mark_encoding is not None:
        first = first.removeprefix(mark)
        # The mark is removed in any case. Where the caller names no encoding, or one of Unicode,
        # the encoding of the mark holds; it also gives the order of bytes. If the caller names
        # another one, such as cp1252, the caller's holds.
        if encoding is None or encoding.lower().startswith("utf"):
            encoding = mark_encoding
    encoding = encoding or "utf-8"
    pieces: Iterator[bytes] = chain([first], following)
    name = codecs.lookup(encoding).name
    if name != "utf-8":  # UTF-8 passes as it is; whoever reads the lines checks it
        # The codecs "utf-16" and "utf-32" take the order of bytes from a mark at the start.
        if not detect_mark and name in ("utf-16", "utf-32"):
            raise FileFormatError(
                "on_bad='skip' without a header needs an encoding with an order of bytes, such as "
                "encoding='utf-16-le': a mark would stand in the first row"
            )
        if by_line and not _is_independent_of_context(encoding):
            raise FileFormatError(
                "on_bad='skip' needs an encoding in which no line depends on others; save the file "
                "as UTF-8"
            )
        pieces = _recoded(pieces, encoding, _SURROGATE_ERRORS if by_line else "strict")
    return _with_newlines(pieces)


def _mark_of(data: bytes) -> tuple[bytes, str | None]:
    """Return the byte-order mark at the start of a file and its encoding; (b"", None) if absent."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    return b"", None


def _looks_like_utf16(data: bytes) -> bool:
    """Return whether the second byte is zero and the first is not, as in UTF-16 of ASCII text."""
    return data[1:2] == b"\0" and data[:1] != b"\0"


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)  # also refuses codecs that are no text encodings
    except (LookupError, ValueError, TypeError):
        raise ParameterError(
            "unknown encoding; choose one such as utf-8, utf-16, cp1252, latin-1"
        ) from None


def _is_independent_of_context(encoding: str) -> bool:
    """Return whether each byte, or each unit of Unicode, is read without regard to those before.

    The test: a sequence of all bytes and of all known switches must be the same text if it is
    decoded at once and if it is decoded byte by byte.
    """
    if codecs.lookup(encoding).name in _UNICODE:
        return True
    text = bytes(range(256)) + _SWITCHES
    characters = [text[i : i + 1].decode(encoding, "replace") for i in range(len(text))]
    return text.decode(encoding, "replace") == "".join(characters)


def _recoded(pieces: Iterator[bytes], encoding: str, errors: str) -> Iterator[bytes]:
    """Generate pieces of text in UTF-8; surrogates become bytes that are not UTF-8.

    Args:
        pieces: of text in `encoding`.
        encoding: their encoding.
        errors: name of an error handler of `codecs`: "strict" or `_SURROGATE_ERRORS`.

    Raises:
        FileFormatError: while pieces are taken: not text in this encoding, if `errors` is "strict".
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode("utf-8", "surrogatepass")
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")
    except UnicodeError:
        raise FileFormatError(f"not text in {encoding}; pass another encoding=") from None


def _with_newlines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Generate pieces whose lines end in a newline, instead of CR or CR LF.

    A piece can end between the CR and the LF of one line end. The CR has then become a newline, so
    the LF at the start of the next piece is dropped.
    """
    after_return = False  # whether the last byte before this piece is a CR
    for raw_piece in pieces:
        if not raw_piece:  # a decoder can give nothing yet; `after_return` stays
            yield raw_piece
            continue
        piece = raw_piece
        if after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        after_return = raw_piece.endswith(b"\r")
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield piece
