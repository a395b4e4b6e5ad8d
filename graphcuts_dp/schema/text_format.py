"""Text formats: which separator stands between the cells of a text file.

The ending of the file's name, the caller, a first line `sep=;` and the header decide, never a row:
private rows must not change how a file is read. `check_delimiter` checks the caller's choice.
"""

import re
from dataclasses import dataclass

from graphcuts_dp.errors import FileFormatError, ParameterError

_SEPARATORS = ",;\t|"  # those that are looked for in the header of a .csv or .tsv file
_NOT_SEPARATING = '"\r\n#%.+-_'  # characters of quotes, line ends, comments, numbers and names
_QUOTED = re.compile('"[^"]*"')
_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?\s*\Z', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Rules by which text files with one ending of their name are written.

    Attributes:
        delimiter: the usual separator of .csv or .tsv files. None for lists with blanks or commas,
            which have no quotes.
        konect: whether the files are those of the KONECT collection: their first comment declares
            whether the third column holds weights; later columns, such as times, are ignored.
    """

    delimiter: str | None = None
    konect: bool = False

    @property
    def has_header(self) -> bool:
        """Return whether such files have a header if the caller does not say."""
        return self.delimiter is not None


def check_delimiter(delimiter: str) -> None:
    """Check a separator that the caller chose.

    Raises:
        ParameterError: it is not one character, or one that stands in numbers, names or comments.
    """
    is_character = isinstance(delimiter, str) and len(delimiter) == 1
    if not is_character or delimiter.isalnum() or delimiter in _NOT_SEPARATING:
        raise ParameterError("delimiter must be one separating character, such as ';' or a tab")


def declared_separator(line: str) -> str | None:
    """Return the separator that a line `sep=;` declares, as in Excel; None for other lines."""
    match = _SEPARATOR_LINE.match(line)
    return match[1] if match else None


def header_separator(header: str, form: TextFormat) -> str | None:
    """Return the separator that the header of a .csv or .tsv file shows outside of quotes.

    The first of these that applies decides:

    1. Files that are neither .csv nor .tsv have `form.delimiter`, which is None.
    2. If the header has none of the separators in `_SEPARATORS`, it is `form.delimiter`.
    3. If a .tsv file has a tab in its header, it is the tab, whatever else the header has.
    4. If the header has one kind of separator, it is this one.

    Raises:
        FileFormatError: the header has several kinds of separators.
    """
    unquoted = _QUOTED.sub("", header).strip(" \n")  # a tab at an end stays: it separates cells
    separators = [separator for separator in _SEPARATORS if separator in unquoted]
    if form.delimiter is None or not separators:
        return form.delimiter
    if form.delimiter == "\t" and "\t" in separators:
        return form.delimiter
    if len(separators) > 1:
        raise FileFormatError("the header has more than one kind of separator; pass delimiter=")
    return separators[0]
