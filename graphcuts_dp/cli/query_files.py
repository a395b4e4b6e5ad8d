"""Files of queries on the command line: lines of JSON, or a table with columns S and T."""

import csv
from dataclasses import dataclass
from typing import final

from graphcuts_dp.cli.reading import read_set
from graphcuts_dp.errors import FileFormatError, QueryError
from graphcuts_dp.pairs.groups import MARK, GroupNames, asked_query
from graphcuts_dp.pairs.queries import CutQuery, LinearQuery, sides_of
from graphcuts_dp.pairs.vertices import Label, Space, VertexSet
from graphcuts_dp.session.query_lines import folder_of, read_linear, read_lines

_MOST_PAIRS = 10_000
_SHOWN = 40  # characters of a set


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
        if not isinstance(self.query, CutQuery):
            return "".join(c if c.isprintable() else repr(c)[1:-1] for c in _short(self.S))
        text = f"{_short(self.S)} - {'others' if self.T is None else _short(self.T)}"
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def read_query_file(path: str, space: Space, names: GroupNames | None) -> list[AskedQuery]:
    """The queries of a file.

    Args:
        path: of a .csv table with columns S and, if wanted, T, whose cells hold labels with commas
            between, and names of groups after "@"; any other file has lines of JSON such as
            {"S": ["ann"], "T": ["kim"]}, see `read_linear`. Without T: all other vertices.
        space: the vertices that may be named.
        names: groups that may be named.

    Raises:
        FileFormatError: the file cannot be read.
        QueryError: a line that is no query; the message has its number.
    """
    if path.lower().endswith(".csv"):
        return list(_of_table(path, space, names))
    found = []
    for number, line in read_lines(path):
        query = read_linear(line, number, space, folder=folder_of(path))
        if not isinstance(query, CutQuery):
            found.append(AskedQuery(query, line.strip(), None))
            continue
        S, T = _text(query.S), None if query.T is None else _text(query.T)
        found.append(AskedQuery(query if names is None else names.named(query), S, T))
    return _some(found, path)


def pairs_of_groups(names: GroupNames, space: Space) -> list[AskedQuery]:
    """The cuts between all pairs of groups of the finest level, and within each of one vertex set.

    Args:
        names: of the groups.
        space: of the vertices.

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
            f"{len(pairs):,} pairs of groups are too many: take a coarser level by --levels, or "
            "release a table of them, graphcuts-dp flows"
        )
    return [AskedQuery(CutQuery(S, T), named_S, named_T) for (named_S, S), (named_T, T) in pairs]


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
    sides = sides_of(space)
    found = []
    for (number, _), row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise QueryError(
                f"line {number} of the queries has {len(row)} cells, not {len(header)}"
            )
        cells = dict(zip(header, row, strict=True))
        S, T = cells["S"].strip(), cells.get("T", "").strip() or None
        try:
            sets = _labels(S, sides[0], names), None if T is None else _labels(T, sides[1], names)
            found.append(AskedQuery(asked_query(*sets, names), S, T))
        except QueryError as problem:
            raise QueryError(f"line {number} of the queries: {problem}") from None
    return _some(found, path)


def _labels(cell: str, side: VertexSet, names: GroupNames | None) -> list[Label] | str:
    """Labels of a cell; "@NAME" is a group, never a file."""
    words = [word.strip() for word in cell.split(",")]
    marked = [MARK + word if word.startswith(MARK) else word for word in words]
    groups = None if names is None else names.left if side is names.left.vertices else names.right
    return read_set(",".join(marked), side, groups)


def _text(given: object) -> str:
    return ",".join(map(str, given)) if isinstance(given, list | tuple) else str(given)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _some(found: list[AskedQuery], path: str) -> list[AskedQuery]:
    if not found:
        raise QueryError(f"{path} has no queries")
    return found
