"""Columns of the private file of `plan --ask`, as its first line names them.

A first line may be a row, so that it must not be shown before somebody says that it holds names.
`column_names` returns all names, and `shown_names` those that may be shown.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import final

from graphcuts_dp.cli.dialogue import NO, YES, Answers
from graphcuts_dp.cli.inspect_data import inspect_head
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.io.files import FORMATS, ending_of
from graphcuts_dp.schema.column_names import is_surely_header, is_usual, normalised_names
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.header_words import endpoint_pairs
from graphcuts_dp.schema.table_headers import names_in_header, suggested_columns

# Kinds of first lines. NO_TEXT is the kind of files that store the names of columns apart.
NAMES, ROW, UNCLEAR, NO_TEXT = "names", "row", "unclear", "no text"


@final
@dataclass(frozen=True, kw_only=True)
class FirstLine:
    """The first line of a private file, before anybody is asked about it.

    Attributes:
        kind: NAMES, ROW, UNCLEAR or NO_TEXT.
        names: names of the columns; empty if the line is a row or holds a number.
        usual: usual names among them, such as "sender".
    """

    kind: str
    names: tuple[str, ...]
    usual: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the names that may be shown before anybody is asked: those of a sure header."""
        return self.names if self.kind in (NAMES, NO_TEXT) else ()


def first_line(path: str) -> FirstLine:
    """Return the first line of a private file; its kind follows from it and the file's name.

    Raises:
        GraphCutsError: as `inspect_head`.
    """
    head = inspect_head(path, Reading()).head
    if head.has_header is None:
        names = tuple(column.name for column in head.columns if column.name)
        return FirstLine(kind=NO_TEXT, names=names, usual=names)
    names = tuple(names_in_header(path, Columns(header=True)))
    words = normalised_names(names)
    usual = tuple(name for name, word in zip(names, words, strict=True) if is_usual(word))
    if head.has_header and is_surely_header(words):
        return FirstLine(kind=NAMES, names=names, usual=usual)
    if head.has_header or endpoint_pairs(words, range(len(words))):
        return FirstLine(kind=UNCLEAR, names=names, usual=usual)
    return FirstLine(kind=ROW, names=(), usual=())


def column_names(answers: Answers) -> tuple[str, ...]:
    """Return the names of the columns; empty if the first line is a row or holds a number."""
    path = answers.get("data")
    if path is None or answers.get("header") == NO:
        return ()
    return first_line(path).names


def shown_names(answers: Answers) -> tuple[str, ...]:
    """Return the names if they may be shown: the line is surely a header, or said to be one."""
    names = column_names(answers)
    if answers.get("header") == YES or not names:
        return names
    return first_line(answers["data"]).shown


def suggested_column(answers: Answers, role: str) -> str:
    """Return the shown column whose name suggests a role; "" if there is none.

    Args:
        answers: the answers so far.
        role: "user" or "period".
    """
    names = shown_names(answers) if answers["data"] else ()
    return suggested_columns(names).get(role, "")


def is_usual_pair(answers: Answers) -> bool:
    """Return whether the columns of endpoints have usual names, as "sender" and "recipient"."""
    words = normalised_names(answers.get("endpoints") or column_names(answers))
    return bool(endpoint_pairs(words, range(len(words))))


def endpoint_names(answers: Answers) -> tuple[str, str] | None:
    """Return the names of the columns of source and target.

    Returns:
        The names that were answered, or else the only two that can be meant. None if there are
        none, or they may not be shown.
    """
    if answers.get("data") is None:
        return None
    columns = answers.get("endpoints")
    if columns is None:
        names = column_names(answers)
        words = normalised_names(names)
        pairs = endpoint_pairs(words, range(len(words)))
        if not pairs and len(names) == 2:
            pairs = [(0, 1)]
        if len(pairs) != 1:
            return None
        columns = [names[position] for position in pairs[0]]
    source, target = columns
    return (source, target) if {source, target} <= {*shown_names(answers)} else None


def may_have_rows(path: str) -> bool:
    """Return whether a file can hold rows, of which several name the same pair."""
    return Path(path).is_dir() or FORMATS[ending_of(path)].columns
