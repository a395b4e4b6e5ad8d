"""Queries on the command line: sets that are typed, and files of queries."""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import final

from graphcuts_dp.display import printable
from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError
from graphcuts_dp.io.files import read_vertices
from graphcuts_dp.options import input_option
from graphcuts_dp.queries.group_names import GroupNames, is_group
from graphcuts_dp.queries.linear import MARK, CutQuery, LinearQuery, sides_of
from graphcuts_dp.queries.query_lines import folder_of, read_linear_query, read_lines
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.typed_names import join_names, split_names
from graphcuts_dp.schema.vertices import ALL, Label, Space, VertexSet

_GROUP = "@@"  # before the name of a group; a single @ is for files
_MOST_PAIRS = 10_000
_SHOWN = 40  # characters of a set
_LISTED = 8  # groups that an error names
_LEAST_LIKENESS = 0.7  # of two names, in [0, 1], for one to be meant by the other


@final
@dataclass(frozen=True)
class AskedQuery:
    """A query of a file.

    Attributes:
        query: the query; sets of cuts may still name groups.
        S: the set as it was written, in one text; of another query the line of JSON.
        T: likewise; None for all other vertices, and for another query.
    """

    query: LinearQuery
    S: str
    T: str | None

    @property
    def title(self) -> str:
        """The query in few characters."""
        text = _short(self.S)
        if isinstance(self.query, CutQuery):
            text += f" - {'others' if self.T is None else _short(self.T)}"
        return printable(text)


@final
@dataclass(frozen=True, kw_only=True)
class TypedQuery:
    """One query, if there is any: two sets, or a line."""

    first: str | None = input_option(
        None,
        help='The set S of vertices: ann,bob, @FILE or @@GROUP; "*" is all. A name with a comma '
        "stands in double quotes.",
        flag="--from",
        metavar="SET",
    )
    second: str | None = input_option(
        None,
        help="The set T; if omitted all other vertices, or in a table of flows all groups.",
        flag="--to",
        metavar="SET",
    )
    query: str | None = input_option(
        None, help="Instead of sets: one line of JSON, as in a file.", metavar="JSON"
    )

    def __post_init__(self) -> None:
        if self.first is None and self.second is not None:
            raise ParameterError("leave out --to: it needs --from")


def read_sets(
    first: str,
    second: str | None,
    sides: tuple[VertexSet, VertexSet],
    names: GroupNames | None,
    mark: str = _GROUP,
) -> LinearQuery:
    """The cut between two sets as they were typed, which may name groups.

    Args:
        first: the set S.
        second: the set T, if there is one.
        sides: the vertices that S and T may name.
        names: of groups, if there are any.
        mark: what was typed before the name of a group, for messages.

    Raises:
        QueryError, FileFormatError: as `read_set`.
    """
    groups = (None, None) if names is None else (names.left, names.right)
    S = read_set(first, sides[0], groups[0], mark)
    T = None if second is None else read_set(second, sides[1], groups[1], mark)
    return CutQuery(S, T) if names is None else names.query(S, T)


def read_set(
    text: str, vertices: VertexSet, groups: Groups | None = None, mark: str = _GROUP
) -> list[Label] | str:
    """A set of vertices from the command line: labels with commas between, or @FILE.

    A label that holds a comma, or begins with a quote, stands in double quotes, as in CSV.
    Numbers become integers where the vertices are integers. A word @@NAME names a group, and stays
    as "@NAME", which `members` reads. A star alone stays as it is: all vertices.

    Raises:
        QueryError: an empty label, a group where there are none, or a star where a vertex has that
            name.
        FileFormatError: the file cannot be read.
    """
    if text.strip() == ALL:
        if vertices.find(ALL) is not None:
            raise QueryError(
                "'*' is all vertices, and here one vertex has that name: write the set that you"
                " mean to a file with one label on each line, and type @FILE"
            )
        return ALL
    if text.startswith("@") and not text.startswith(_GROUP):
        try:
            return list(read_vertices(text[1:]).labels)
        except FileFormatError as problem:
            if groups is None or not any(is_group(word[1:], groups) for word in _words(text)):
                raise
            raise FileFormatError(
                f"{problem}; @ is for files, type @{text} for the group"
            ) from None
    words = _words(text)
    if not all(words):
        raise QueryError("an empty label in a set; write labels with single commas between")
    check_quoted(text, words, lambda label: vertices.find_text(label) is not None)
    if groups is not None:
        _check_names(text, words, vertices, groups, mark)
    return [_label(word, vertices, groups) for word in words]


def _check_names(
    text: str, words: Sequence[str], vertices: VertexSet, groups: Groups, mark: str
) -> None:
    """Refuse groups that there are none of, and those that were typed without their mark.

    Args:
        text: a set as it was typed.
        words: the labels that it was split into.
        vertices: that may be named.
        groups: likewise.
        mark: what stands before the name of a group.

    Raises:
        QueryError: such a name; the message has the one that was meant.
    """
    for word in words:
        name = word.removeprefix(_GROUP)
        if vertices.find_text(word) is not None or (word != name and is_group(name, groups)):
            continue
        if word == name:  # perhaps the name of a group, else an unknown vertex
            if is_group(name, groups):
                raise QueryError(
                    f"unknown vertex {name!r:.60}; a group is typed {_typed(name, mark)}"
                )
            continue
        labels = [str(label) for level in groups.levels for label in groups.labels(level)]
        meant = [*similar_names(text, labels), *similar_names(name, labels)]
        close = f"; did you mean {_typed(meant[0], mark)}?" if meant else ""
        known = ", ".join(_typed(label, mark) for label in labels[-_LISTED:])
        more = "; there are " + ("..., " if len(labels) > _LISTED else "") + known
        raise QueryError(f"unknown group {mark + name!r:.60}{close or more}")


def _typed(label: str, mark: str) -> str:
    """Return how the name of a group is typed on the command line."""
    word = mark + label
    typed = join_names([word])
    return word if typed == word else f"'{typed}'"


def similar_names(text: str, labels: Iterable[str]) -> list[str]:
    """Return public names that are spelled nearly like a text, the most similar one first.

    Args:
        text: as it was typed, perhaps with @ and quotes.
        labels: the names that there are.
    """
    by_spelling = {label.casefold(): label for label in labels}
    spelling = text.strip().replace('"', "").lstrip("@").casefold()
    close = get_close_matches(spelling, sorted(by_spelling), cutoff=_LEAST_LIKENESS)
    return [by_spelling[match] for match in close]


def check_quoted(text: str, words: Sequence[str], is_known: Callable[[str], bool]) -> None:
    """Refuse a label with a comma that was typed without quotes.

    Args:
        text: a set as it was typed.
        words: the labels that it was split into.
        is_known: returns whether a text is a label.

    Raises:
        QueryError: the whole text is a label, and not all words are.
    """
    label = text.strip()
    if len(words) > 1 and is_known(label) and not all(map(is_known, words)):
        raise QueryError(
            f"{label!r:.60} holds a comma: type it in double quotes: '{join_names([label])}'"
        )


def _words(text: str) -> list[str]:
    """Return the labels of a set; see `split_names`.

    Raises:
        QueryError: quotes that do not match.
    """
    try:
        return split_names(text)
    except ParameterError as problem:
        raise QueryError(str(problem)) from None


def _label(word: str, vertices: VertexSet, groups: Groups | None) -> Label:
    if vertices.find(word) is not None:
        return word
    if not word.startswith(_GROUP):
        # An integer as files have them: no sign but a minus, no leading zero, ASCII digits alone.
        return int(word) if re.fullmatch("0|-?[1-9][0-9]{0,99}", word) else word
    if groups is None:
        raise QueryError(
            f"{word[:60]} names a group, and there are none: give --groups FILE; a file whose name "
            f"begins with @ is typed @./{word[1:60]}"
        )
    return word[1:]


def read_query_file(path: str, space: Space, names: GroupNames | None) -> list[AskedQuery]:
    """The queries of a file.

    Args:
        path: of a .csv table with columns S and, if wanted, T, whose cells hold labels with commas
            between, and names of groups after "@"; any other file has lines of JSON such as
            {"S": ["ann"], "T": ["kim"]}, see `read_linear_query`. Without T: all other vertices.
        space: the vertices that may be named.
        names: groups that may be named.

    Raises:
        FileFormatError: the file cannot be read.
        QueryError: a line that is no query; the message has its number.
    """
    if path.lower().endswith(".csv"):
        questions = _of_table(path, space, names)
    else:
        lines = read_lines(path)
        questions = [_of_line(line, number, space, path, names) for number, line in lines]
    if not questions:
        raise QueryError(f"{path} has no queries")
    return questions


def _of_line(
    line: str, number: int, space: Space, path: str, names: GroupNames | None
) -> AskedQuery:
    query = read_linear_query(line, number, space, folder=folder_of(path))
    if not isinstance(query, CutQuery):
        return AskedQuery(query, line.strip(), None)
    S, T = _text(query.S), None if query.T is None else _text(query.T)
    return AskedQuery(query if names is None else names.named(query), S, T)


def _of_table(path: str, space: Space, names: GroupNames | None) -> list[AskedQuery]:
    lines = read_lines(path)
    try:
        rows = list(csv.reader([line for _, line in lines], strict=True))
    except csv.Error as problem:
        raise FileFormatError(f"{path} is no table: {problem}") from None
    header = [cell.strip() for cell in rows[0]] if rows else []
    if "S" not in header or not set(header) <= {"S", "T"} or len(header) != len(set(header)):
        raise FileFormatError(f"{path} needs a first row S,T (or S alone), and no other columns")
    if len(rows) != len(lines):
        raise FileFormatError(f"{path} has a cell of several lines")
    sides, questions = sides_of(space), []
    for (number, _), row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise QueryError(
                f"line {number} of the queries has {len(row)} cells, not {len(header)}"
            )
        cells = dict(zip(header, row, strict=True))
        S, T = cells["S"].strip(), cells.get("T", "").strip() or None
        try:
            marked = _marked(S), None if T is None else _marked(T)
            query = read_sets(*marked, sides, names, MARK)
        except QueryError as problem:
            raise QueryError(f"line {number} of the queries: {problem}") from None
        questions.append(AskedQuery(query, S, T))
    return questions


def _marked(cell: str) -> str:
    """In a cell "@NAME" is a group, never a file."""
    return join_names(MARK + word if word.startswith(MARK) else word for word in _words(cell))


def pairs_of_groups(names: GroupNames, space: Space) -> list[AskedQuery]:
    """The cuts between all pairs of groups of the finest level, and within each of one vertex set.

    Raises:
        QueryError: more than ten thousand pairs.
    """
    one_set = isinstance(space, VertexSet)
    left, right = (
        [(f"{MARK}{label}", groups.codes() == code) for code, label in enumerate(groups.labels())]
        for groups in (names.left, names.right)
    )
    pairs = [
        (first, second)
        for number, first in enumerate(left)
        for second in right[number if one_set else 0 :]
    ]
    if len(pairs) > _MOST_PAIRS:
        raise QueryError(
            f"{len(pairs):,} pairs of groups are too many: take a coarser level by "
            "--groups-columns levels=, or release a table of them, graphcuts-dp flows"
        )
    return [AskedQuery(CutQuery(S, T), named_S, named_T) for (named_S, S), (named_T, T) in pairs]


def _text(given: object) -> str:
    return join_names(given) if isinstance(given, list | tuple) else str(given)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
