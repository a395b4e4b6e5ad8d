"""Read queries of the command line: typed sets of vertices or groups, and files of queries.

A word of a set is a label, or names a group after a mark: "@@" on the command line, where "@" is
for files, and "@" in files. Groups stay in a query as "@NAME", which `GroupNames.query` resolves.
"""

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

_GROUP = "@@"  # stands before the name of a typed group; a single @ is for files
_MOST_PAIRS = 10_000  # of groups, which are answered together
_LONGEST_SET = 40  # characters of a set in a title
_LISTED = 8  # groups that an error lists
_LEAST_SIMILARITY = 0.7  # of two names, in [0, 1], for one to be suggested for the other
# An integer as files have them: no sign but a minus, no leading zero, ASCII digits alone.
_INTEGER = re.compile("0|-?[1-9][0-9]{0,99}")


@final
@dataclass(frozen=True)
class QueryWithText:
    """A query, and how it was written.

    Attributes:
        query: the query; sets of cuts may still name groups.
        S: the text of the set S of a cut; the line of JSON of any other query.
        T: the text of the set T of a cut; None if it is all other vertices, or if the query is no
            cut.
    """

    query: LinearQuery
    S: str
    T: str | None

    @property
    def title(self) -> str:
        """Return the query in few characters."""
        text = _shortened(self.S)
        if isinstance(self.query, CutQuery):
            text += f" - {'others' if self.T is None else _shortened(self.T)}"
        return printable(text)


@final
@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """Options of one query: two sets, or a line of JSON; all None if no query is typed."""

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
    """Return the cut between two typed sets.

    Args:
        first: text of the set S.
        second: text of the set T; None if it is all other vertices.
        sides: the vertices that S may name, and those that T may name.
        names: the groups that may be named; None if there are none.
        mark: how names of groups are marked in messages.

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
    """Return the labels of a typed set: labels with commas between, or those of @FILE.

    A label that holds a comma, or begins with a quote, stands in double quotes, as in CSV. Numbers
    become integers if no vertex has them as text. A word @@NAME names a group, and becomes "@NAME".
    A star alone is all vertices, and stays as it is.

    Args:
        text: the typed set.
        vertices: the vertices that may be named.
        groups: the groups that may be named; None if there are none.
        mark: how names of groups are marked in messages.

    Raises:
        QueryError: an empty label, an unknown group, a group if there are none, or a star if a
            vertex has that name.
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
        _check_group_names(text, words, vertices, groups, mark)
    return [_label(word, vertices, groups) for word in words]


def read_query_file(path: str, space: Space, names: GroupNames | None) -> list[QueryWithText]:
    """Return the queries of a file. If a cut has no set T, it is all other vertices.

    Args:
        path: a .csv table with the column S and perhaps T, whose cells hold labels with commas
            between, and names of groups after "@"; or any other file with lines of JSON such as
            {"S": ["ann"], "T": ["kim"]}, see `read_linear_query`.
        space: the vertices that may be named.
        names: the groups that may be named; None if there are none.

    Raises:
        FileFormatError: the file cannot be read.
        QueryError: the file has no query, or a line is none; the message has its number.
    """
    if path.lower().endswith(".csv"):
        queries = _queries_of_table(path, space, names)
    else:
        lines = read_lines(path)
        queries = [_query_of_line(line, number, space, path, names) for number, line in lines]
    if not queries:
        raise QueryError(f"{path} has no queries")
    return queries


def pairs_of_groups(names: GroupNames, space: Space) -> list[QueryWithText]:
    """Return the cuts between all pairs of groups of the finest level.

    If the vertices are one set, the cuts within each group are among them.

    Raises:
        QueryError: there are more than ten thousand pairs.
    """
    has_one_set = isinstance(space, VertexSet)
    left, right = (
        [(f"{MARK}{label}", groups.codes() == code) for code, label in enumerate(groups.labels())]
        for groups in (names.left, names.right)
    )
    pairs = [
        (first, second)
        for index, first in enumerate(left)
        for second in right[index if has_one_set else 0 :]
    ]
    if len(pairs) > _MOST_PAIRS:
        raise QueryError(
            f"{len(pairs):,} pairs of groups are too many: take a coarser level by "
            "--groups-columns levels=, or release a table of them, graphcuts-dp flows"
        )
    return [QueryWithText(CutQuery(S, T), text_S, text_T) for (text_S, S), (text_T, T) in pairs]


def similar_names(text: str, labels: Iterable[str]) -> list[str]:
    """Return public names that are spelled similarly to a text, the most similar one first.

    Args:
        text: a typed text, perhaps with @ and quotes.
        labels: the known names.
    """
    by_spelling = {label.casefold(): label for label in labels}
    spelling = text.strip().replace('"', "").lstrip("@").casefold()
    close = get_close_matches(spelling, sorted(by_spelling), cutoff=_LEAST_SIMILARITY)
    return [by_spelling[match] for match in close]


def check_quoted(text: str, words: Sequence[str], is_known: Callable[[str], bool]) -> None:
    """Refuse a label with a comma that was typed without quotes.

    Args:
        text: the typed set.
        words: the words of the set.
        is_known: returns whether a text is a label.

    Raises:
        QueryError: the whole text is a label, and some word is none.
    """
    label = text.strip()
    if len(words) > 1 and is_known(label) and not all(map(is_known, words)):
        raise QueryError(
            f"{label!r:.60} holds a comma: type it in double quotes: '{join_names([label])}'"
        )


def _query_of_line(
    line: str, number: int, space: Space, path: str, names: GroupNames | None
) -> QueryWithText:
    query = read_linear_query(line, number, space, folder=folder_of(path))
    if not isinstance(query, CutQuery):
        return QueryWithText(query, line.strip(), None)
    S, T = _set_text(query.S), None if query.T is None else _set_text(query.T)
    return QueryWithText(query if names is None else names.named(query), S, T)


def _queries_of_table(path: str, space: Space, names: GroupNames | None) -> list[QueryWithText]:
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
    sides, queries = sides_of(space), []
    for (number, _), row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise QueryError(
                f"line {number} of the queries has {len(row)} cells, not {len(header)}"
            )
        cells = dict(zip(header, row, strict=True))
        S, T = cells["S"].strip(), cells.get("T", "").strip() or None
        try:
            typed_T = None if T is None else _as_typed(T)
            query = read_sets(_as_typed(S), typed_T, sides, names, MARK)
        except QueryError as problem:
            raise QueryError(f"line {number} of the queries: {problem}") from None
        queries.append(QueryWithText(query, S, T))
    return queries


def _as_typed(cell: str) -> str:
    """Return a cell as it is typed on the command line, where a group is "@@NAME"."""
    return join_names(MARK + word if word.startswith(MARK) else word for word in _words(cell))


def _words(text: str) -> list[str]:
    """Split a typed set into words; see `split_names`.

    Raises:
        QueryError: quotes that do not match.
    """
    try:
        return split_names(text)
    except ParameterError as problem:
        raise QueryError(str(problem)) from None


def _label(word: str, vertices: VertexSet, groups: Groups | None) -> Label:
    """Return the label that a word means, or "@NAME" of a group.

    Raises:
        QueryError: the word names a group, and there are none.
    """
    if vertices.find(word) is not None:
        return word
    if not word.startswith(_GROUP):
        return int(word) if _INTEGER.fullmatch(word) else word
    if groups is None:
        raise QueryError(
            f"{word[:60]} names a group, and there are none: give --groups FILE; a file whose name "
            f"begins with @ is typed @./{word[1:60]}"
        )
    return word.removeprefix("@")


def _check_group_names(
    text: str, words: Sequence[str], vertices: VertexSet, groups: Groups, mark: str
) -> None:
    """Refuse unknown groups, and known ones that were typed without their mark.

    Args:
        text: the typed set.
        words: the words of the set.
        vertices: the vertices that may be named.
        groups: the groups that may be named.
        mark: how names of groups are marked in messages.

    Raises:
        QueryError: such a name; the message suggests how it is typed.
    """
    for word in words:
        if vertices.find_text(word) is not None:
            continue
        name, is_marked = word.removeprefix(_GROUP), word.startswith(_GROUP)
        if not is_marked:
            if is_group(name, groups):
                raise QueryError(
                    f"unknown vertex {name!r:.60}; a group is typed {_typed_group(name, mark)}"
                )
            continue  # an unknown vertex, which the query refuses
        if is_group(name, groups):
            continue
        labels = [str(label) for level in groups.levels for label in groups.labels(level)]
        suggestions = [*similar_names(text, labels), *similar_names(name, labels)]
        if suggestions:
            advice = f"; did you mean {_typed_group(suggestions[0], mark)}?"
        else:
            omission = "..., " if len(labels) > _LISTED else ""
            listed = ", ".join(_typed_group(label, mark) for label in labels[-_LISTED:])
            advice = f"; there are {omission}{listed}"
        raise QueryError(f"unknown group {mark + name!r:.60}{advice}")


def _typed_group(label: str, mark: str) -> str:
    """Return how the name of a group is typed, with its mark and quotes."""
    word = mark + label
    typed = join_names([word])
    return word if typed == word else f"'{typed}'"


def _set_text(vertex_set: object) -> str:
    if isinstance(vertex_set, list | tuple):
        return join_names(vertex_set)
    return str(vertex_set)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SET else text[: _LONGEST_SET - 3] + "..."
