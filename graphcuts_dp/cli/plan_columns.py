"""Columns of private and public files, as `plan --ask` learns of them from their first lines."""

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

NAMES, ROW, UNCLEAR, NO_TEXT = "names", "row", "unclear", "no text"  # what a first line is


def may_have_rows(path: str) -> bool:
    """Return whether a file can hold rows, of which several name the same pair."""
    return Path(path).is_dir() or FORMATS[ending_of(path)].columns


@final
@dataclass(frozen=True, kw_only=True)
class FirstLine:
    """Reading of the first line of a private file, before anybody is asked.

    Attributes:
        kind: NAMES, a ROW, UNCLEAR, or NO_TEXT of a file that stores the names of its columns.
        names: of the columns, if they are names; empty if it holds a number, or is a row.
        usual: those of the names that are usual ones; of an unclear line they are not shown.
    """

    kind: str
    names: tuple[str, ...]
    usual: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the names that may be shown before anybody is asked: those of a sure header."""
        return self.names if self.kind in (NAMES, NO_TEXT) else ()


def first_line(path: str) -> FirstLine:
    """Return what the first line of a private file is, by its name and that line alone.

    Raises:
        GraphCutsError: as `inspect_head`.
    """
    head = inspect_head(path, Reading()).head
    if head.named is None:
        names = tuple(column.name for column in head.columns if column.name)
        return FirstLine(kind=NO_TEXT, names=names, usual=names)
    names = tuple(names_in_header(path, Columns(header=True)))
    words = normalised_names(names)
    usual = tuple(name for name, word in zip(names, words, strict=True) if is_usual(word))
    if head.named and is_surely_header(words):
        return FirstLine(kind=NAMES, names=names, usual=usual)
    if head.named or endpoint_pairs(words, range(len(words))):
        return FirstLine(kind=UNCLEAR, names=names, usual=usual)
    return FirstLine(kind=ROW, names=(), usual=())


def column_names(answers: Answers) -> tuple[str, ...]:
    """Return the names of the columns of the private file, from its head.

    They are empty if its first line is a row, or holds a number.
    """
    path = answers.get("data")
    if path is None or answers.get("header") == NO:
        return ()
    return first_line(path).names


def shown_names(answers: Answers) -> tuple[str, ...]:
    """Return the names that may be shown: of a sure header, or if somebody said that it is one."""
    names = column_names(answers)
    is_stated = answers.get("header") == YES
    return names if is_stated or not names else first_line(answers["data"]).shown


def suggested_column(answers: Answers, role: str) -> str:
    """Return the shown column that is usual for a role, "user" or "period"; "" for none."""
    return suggested_columns(shown_names(answers) if answers["data"] else ()).get(role, "")


def is_usual_pair(answers: Answers) -> bool:
    """Return whether the names of the endpoints are those of a source and a target of one kind."""
    words = normalised_names(answers.get("endpoints") or column_names(answers))
    return bool(endpoint_pairs(words, range(len(words))))


def endpoint_names(answers: Answers) -> tuple[str, str] | None:
    """Return the names of the columns that rows join, as far as they may be shown; else None."""
    if answers.get("data") is None:
        return None
    shown, names = shown_names(answers), column_names(answers)
    typed = answers.get("endpoints")
    if typed is not None:
        source, target = typed
        return (source, target) if {source, target} <= {*shown} else None
    words = normalised_names(names)
    pairs = endpoint_pairs(words, range(len(words)))
    if len(names) == 2:
        pairs = pairs or [(0, 1)]
    if len(pairs) != 1:
        return None
    source, target = (names[position] for position in pairs[0])
    return (source, target) if {source, target} <= {*shown} else None
