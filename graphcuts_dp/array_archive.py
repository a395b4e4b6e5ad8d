"""Archives of arrays (`.npz` files) that are checked before anything of them is unpacked.

An archive is a zip file with one *member*, a `.npy` file, for each array. Whoever made it may have
made it in order to harm: a small archive can unpack to gigabytes, name another size than it has, or
hold objects of Python, which run code when they are read. So the reader trusts nothing:

1. The directory of the archive is read: how many members there are, their names, how they are
   packed, and how many bytes each says that it unpacks to. Their sum must be within a limit.
2. Of each member the first bytes are unpacked, the *header*. It names the type and the shape of the
   array, which must be numbers, truth values or text, and exactly as many bytes as the directory
   says.
3. Only then are arrays unpacked, piece by piece, and never more bytes than were declared.

`opened_arrays` does steps 1 and 2 and gives an `ArrayArchive`. Its `forms` are the types and shapes
of all arrays, so that a caller can refuse other shapes than expected before `read` unpacks an
array. `read_arrays` does all three steps, `check_arrays` the first two. `write_arrays` writes an
archive.
"""

import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import FileFormatError

MOST_RATIO = 200  # unpacked bytes for each byte of a file, above which a large one is refused
_LEVEL = 1  # of compression: two fifths of the time of the default, and 2 % larger
_MOST_MEMBERS = 1000  # of an archive; results have at most some dozens
_HEADER_BYTES = 4096  # of a member that are unpacked to find its header; numpy writes 128
_PIECE_BYTES = 1 << 20  # that are unpacked at once
_MOST_DIMENSIONS = 8
_LONGEST = 2**48  # entries along one dimension
_PADDING = "padding"  # name of a member without meaning, see `write_arrays`
_MAGIC = b"\x93NUMPY"  # first bytes of each .npy file
_ENCRYPTED = 0x1  # bit of the flags of a member
# One or two words with a slash between them. No word begins with a dot.
_NAME = re.compile(r"\w[\w .-]{0,99}(/\w[\w .-]{0,99})?")
# Truth values, integers, floats, and texts of bytes or of characters.
_TYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|[SU][1-9][0-9]{0,8})")
# The three entries of a header, in any order: `{'descr': '<f8', 'shape': (3,), ...}`.
_ENTRY = (
    rb"""['"](?:descr['"]\s*:\s*['"](?P<type>[^'"]{1,20})['"]"""
    rb"""|fortran_order['"]\s*:\s*(?P<fortran>True|False)"""
    rb"""|shape['"]\s*:\s*\(\s*(?P<shape>[0-9, ]*)\))\s*"""
)
_FIELD = re.compile(_ENTRY)
_HEADER = re.compile(
    rb"\{\s*(?:%(entry)s,\s*){2}%(entry)s,?\s*\}\s*"
    % {b"entry": re.sub(rb"\?P<\w+>", b"?:", _ENTRY)}
)


@final
class ArrayForm(NamedTuple):
    """The type and the shape of a stored array.

    Attributes:
        dtype: numbers, truth values or text.
        shape: as the header says.
        fortran: whether columns follow each other in the file, and not rows.
        start: bytes of the header, after which the entries begin.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    start: int

    @property
    def nbytes(self) -> int:
        """Bytes of all entries."""
        return math.prod(self.shape) * self.dtype.itemsize

    @classmethod
    def of(cls, type_name: object, shape: object, *, fortran: bool = False, start: int = 0) -> Self:
        """Return the form of an array that is described by values from a file, checked.

        Args:
            type_name: as `dtype.str`.
            shape: lengths.
            fortran: see `fortran` of the class.
            start: see `start` of the class.

        Raises:
            FileFormatError: other entries than real numbers, truth values or text.
            ValueError: no shape.
        """
        if not isinstance(type_name, str) or not _TYPE.fullmatch(type_name):
            raise FileFormatError("arrays have real entries, truth values or text")
        if not isinstance(shape, list | tuple) or len(shape) > _MOST_DIMENSIONS:
            raise ValueError("no shape, or one of too many dimensions")
        if any(type(length) is not int or not 0 <= length <= _LONGEST for length in shape):
            raise ValueError("no length of an array")
        return cls(np.dtype(type_name), tuple(shape), fortran, start)


@final
class ArrayArchive:
    """An open archive whose directory and headers are checked.

    Attributes:
        forms: type and shape of each array, by its name.
    """

    def __init__(self, archive: zipfile.ZipFile, forms: Mapping[str, ArrayForm]) -> None:
        self._archive = archive
        self.forms = forms

    def read(self, name: str) -> npt.NDArray[Any]:
        """Unpack an array, with numbers in the byte order of this machine.

        Raises:
            FileFormatError: its bytes are damaged, or are more or fewer than declared.
            LookupError: no such array.
        """
        form = self.forms[name]
        entries = np.empty(form.nbytes, dtype=np.uint8)
        count = 0
        with (
            _reported(f"the array {name!r} is damaged"),
            self._archive.open(f"{name}.npy") as stream,
        ):
            stream.read(form.start)
            # One byte more than declared would show that there are too many.
            while piece := stream.read(min(_PIECE_BYTES, form.nbytes - count + 1)):
                entries[count : count + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
                count += len(piece)
        if count != form.nbytes:
            raise FileFormatError(f"the array {name!r} is damaged: it has another size")
        array = entries.view(form.dtype).reshape(form.shape, order="F" if form.fortran else "C")
        return array.astype(form.dtype.newbyteorder("="), copy=False)


@contextmanager
def opened_arrays(file: str | Path | BinaryIO, *, limit: int) -> Iterator[ArrayArchive]:
    """Open an archive, and check its directory and the headers of all members.

    Args:
        file: its path, or open at its start.
        limit: most bytes to which all members may unpack together.

    Raises:
        FileFormatError: no archive of arrays, or one that is refused; see the module.
        OSError: the file cannot be read.
    """
    with _reported("this is no archive of arrays (.npz), or it is damaged"):
        archive = zipfile.ZipFile(file)
    with archive:
        members = archive.infolist()
        _check_directory(members, limit)
        forms = {_name_of(member): _form(archive, member) for member in members}
        forms.pop(_PADDING, None)
        yield ArrayArchive(archive, forms)


def read_arrays(file: str | Path | BinaryIO, *, limit: int) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays of an archive by their names.

    Args:
        file: as for `opened_arrays`.
        limit: as for `opened_arrays`.

    Raises:
        FileFormatError, OSError: as `opened_arrays`; or an array is damaged.
    """
    with opened_arrays(file, limit=limit) as archive:
        return {name: archive.read(name) for name in archive.forms}


def check_arrays(file: str | Path | BinaryIO, *, limit: int) -> dict[str, ArrayForm]:
    """Return the form of each array of an archive, without unpacking one.

    Args:
        file: as for `opened_arrays`.
        limit: as for `opened_arrays`.

    Raises:
        FileFormatError, OSError: as `opened_arrays`.
    """
    with opened_arrays(file, limit=limit) as archive:
        return dict(archive.forms)


def write_arrays(
    handle: BinaryIO, arrays: Mapping[str, npt.ArrayLike], *, always_allowed: int
) -> None:
    """Write an archive of arrays, which `opened_arrays` reads with a limit from its size.

    The limit of a reader is `always_allowed` bytes, or `MOST_RATIO` bytes for each byte of the
    archive if that is more. Arrays that are nearly all zero pack better than that. Where a large
    archive would be above the limit, a member of zeros that are not packed is added, half a percent
    of what the archive unpacks to. So no archive that is written here is refused for its size.

    Args:
        handle: open for writing.
        arrays: by their names; numbers, truth values or text.
        always_allowed: unpacked bytes that a reader allows an archive of any size.
    """
    with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)
        members = archive.infolist()
        packed = sum(member.compress_size for member in members)
        unpacked = sum(member.file_size for member in members)
        missing = -(-unpacked // (MOST_RATIO - 1)) - packed  # the padding is unpacked, too
        if unpacked > always_allowed and missing > 0:
            padding = zipfile.ZipInfo(f"{_PADDING}.npy")  # stored as it is
            with archive.open(padding, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.zeros(missing, dtype=np.uint8))


def most_unpacked(packed: int, always_allowed: int) -> int:
    """Return the most bytes to which a file of `packed` bytes may unpack."""
    return max(always_allowed, MOST_RATIO * packed)


def parsed_form(first: bytes) -> ArrayForm:
    """Return the form that the header of a .npy file names.

    Args:
        first: bytes of the file, from its start, which hold the whole header.

    Raises:
        FileFormatError: an array of objects, of complex numbers or of records.
        ValueError: no such header.
    """
    if not first.startswith(_MAGIC) or first[6:8] not in (b"\x01\x00", b"\x02\x00"):
        raise ValueError("no .npy file of version 1 or 2")
    text_start = 10 if first[6] == 1 else 12
    start = text_start + int.from_bytes(first[8:text_start], "little")
    header = first[text_start:start]
    if start > len(first) or not _HEADER.fullmatch(header):
        raise ValueError("no header, or a long one")
    fields: dict[str, bytes] = {}
    for match in _FIELD.finditer(header):
        fields |= {name: text for name, text in match.groupdict().items() if text is not None}
    if len(fields) != len(ArrayForm._fields) - 1:
        raise ValueError("a header in which something is missing")
    lengths = [int(length) for length in fields["shape"].replace(b",", b" ").split()]
    fortran = fields["fortran"] == b"True"
    return ArrayForm.of(fields["type"].decode(), lengths, fortran=fortran, start=start)


@contextmanager
def _reported(text: str) -> Iterator[None]:
    """Report every failure of the `with` statement by one message, but for a lack of memory.

    zipfile and zlib raise errors of many classes if an archive is damaged.

    Raises:
        FileFormatError: with this text.
        OSError: the file cannot be read; the caller names it.
    """
    try:
        yield
    except (FileFormatError, OSError, MemoryError):
        raise
    except Exception:
        raise FileFormatError(text) from None


def _check_directory(members: list[zipfile.ZipInfo], limit: int) -> None:
    """Check all that the directory of an archive says about its members.

    Raises:
        FileFormatError: too many members, names that are none, or twice, another way of packing
            than DEFLATE, or more unpacked bytes than the limit.
    """
    if len(members) > _MOST_MEMBERS:
        raise FileFormatError(f"the archive has more than {_MOST_MEMBERS:,} members")
    names = {member.filename for member in members}
    if len(names) < len(members):
        raise FileFormatError("the archive has two arrays of one name")
    for member in members:
        if not (_NAME.fullmatch(_name_of(member)) and member.filename.endswith(".npy")):
            raise FileFormatError("the archive has a member that is not named as an array")
        packed_as_usual = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not packed_as_usual or member.flag_bits & _ENCRYPTED:
            raise FileFormatError("the archive is encrypted, or packed in another way than DEFLATE")
    unpacked = sum(member.file_size for member in members)
    if unpacked > limit:
        raise FileFormatError(
            f"the archive unpacks to {unpacked:,} bytes, as bombs do; at most {limit:,} are "
            "allowed for its size"
        )


def _form(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> ArrayForm:
    """Return the form of an array, from the first bytes of its member.

    Raises:
        FileFormatError: a header that is damaged, or names objects, or another size than the
            directory.
    """
    with _reported(f"the array {_name_of(member)!r} is damaged"):
        with archive.open(member) as stream:
            first = stream.read(_HEADER_BYTES)
        form = parsed_form(first)
    if form.start + form.nbytes != member.file_size:
        raise FileFormatError(f"the array {_name_of(member)!r} is damaged: it has another size")
    return form


def _name_of(member: zipfile.ZipInfo) -> str:
    """Return the name of the array of a member."""
    return member.filename.removesuffix(".npy")
