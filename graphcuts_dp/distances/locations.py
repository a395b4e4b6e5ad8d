"""Where people are: a private multiset of vertices of a public map."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import FileFormatError, QueryError
from graphcuts_dp.graph.atomic import PathLike
from graphcuts_dp.graph.file_bytes import read_text
from graphcuts_dp.graph.vertices import Label

_VERTEX_HEADS = ("vertex", "location", "place", "label")
_COUNT_HEADS = ("people", "count")
MOST_PEOPLE = 2**40
HIDDEN = "where any one person is"
PUBLIC = "the map and the number of people"


@final
class Locations:
    """The vertices at which n people are. Private, except for n.

    Neighbours: one person is at another vertex; n stays.

    Args:
        metric: the public map.
        counts: how many people are at each vertex, whole numbers >= 0, shape (V,).

    Raises:
        QueryError: counts of a wrong length or sort, or nobody.
    """

    def __init__(self, metric: Metric, counts: npt.ArrayLike) -> None:
        given = np.asarray(counts)
        if given.shape != (len(metric),):
            raise QueryError(f"one number of people for each of the {len(metric)} vertices, please")
        if given.dtype.kind not in "iu" or (given < 0).any() or (given > MOST_PEOPLE).any():
            raise QueryError("numbers of people are whole numbers >= 0")
        self.metric = metric
        self.counts: IntVector = given.astype(np.int64)
        self.counts.flags.writeable = False
        self.people = int(self.counts.sum())
        if not 1 <= self.people <= MOST_PEOPLE:
            raise QueryError("there are no people; give at least one location")

    @classmethod
    def from_labels(cls, metric: Metric, labels: Iterable[Label]) -> Self:
        """One label for each person.

        Raises:
            QueryError: a label that is not on the map (told by its number, not its name), or none.
        """
        rows = [metric.vertices.find(label) for label in labels]
        if None in rows:
            raise QueryError(
                f"location {rows.index(None) + 1} (counted from 1) is not a vertex of the map"
            )
        return cls(metric, np.bincount(np.array(rows, dtype=np.int64), minlength=len(metric)))

    @classmethod
    def from_counts(cls, metric: Metric, counts: Mapping[Label, int]) -> Self:
        """Numbers of people by label; vertices that are left out have none.

        Raises:
            QueryError: as for `from_labels`, or a number that is not whole or below 0.
        """
        held = np.zeros(len(metric), dtype=np.int64)
        for place, (label, count) in enumerate(counts.items()):
            row = metric.vertices.find(label)
            if row is None:
                raise QueryError(f"entry {place + 1} of the counts is not a vertex of the map")
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
                raise QueryError("numbers of people are whole numbers >= 0")
            held[row] += count
        return cls(metric, held)

    @classmethod
    def read(cls, metric: Metric, path: PathLike) -> Self:
        """Read a CSV file: one person a row, or one vertex a row with a number of people.

        The first row may name the columns: vertex (or location, place, label), and people (or
        count). Without it, the first column is the vertex and each row a person. Numbers are
        integers if the map's labels are.

        Raises:
            FileFormatError: the file cannot be read, holds no location, or names in a row (told by
                its number) a vertex that is not on the map, or no whole number of people.
        """
        rows = _csv_rows(path)
        vertex, people = 0, None
        start = 0
        if rows:
            heads = [cell.strip().lower() for cell in rows[0][1]]
            known = [i for i, head in enumerate(heads) if head in _VERTEX_HEADS]
            if known and metric.vertices.find_text(rows[0][1][known[0]].strip()) is None:
                vertex, start = known[0], 1
                people = next((i for i, head in enumerate(heads) if head in _COUNT_HEADS), None)
        counts = np.zeros(len(metric), dtype=np.int64)
        for line, cells in rows[start:]:
            row = metric.vertices.find_text(cells[vertex].strip()) if vertex < len(cells) else None
            if row is None:
                raise FileFormatError(f"{path!s}: line {line}: not a vertex of the map")
            counts[row] += 1 if people is None else _people(cells, people, f"{path!s}: line {line}")
        try:
            return cls(metric, counts)
        except QueryError as problem:
            raise FileFormatError(f"{path!s}: {problem}") from None

    def __repr__(self) -> str:
        return f"Locations(people={self.people}, {self.metric!r})"


def _people(cells: list[str], column: int, where: str) -> int:
    text = cells[column].strip() if column < len(cells) else ""
    if not (text.isascii() and text.isdecimal()) or len(text) > 12:
        raise FileFormatError(f"{where}: the number of people is not a whole number >= 0")
    return int(text)


def _csv_rows(path: PathLike) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if any(map(str.strip, cells))]
    except csv.Error:
        raise FileFormatError(f"{path!s}: line {reader.line_num}: not valid CSV") from None
