"""The locations of people: a private multiset of vertices of a public map, and queries about it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError
from graphcuts_dp.files import PathLike
from graphcuts_dp.frames import frame_of
from graphcuts_dp.ledger.identity import identity_of_counts
from graphcuts_dp.ledger.opening import Subject
from graphcuts_dp.schema.file_bytes import read_text
from graphcuts_dp.schema.text_rows import read_table
from graphcuts_dp.schema.vertices import Label, labels_or_number

MOST_PEOPLE = 2**40
NEIGHBOURS = "where any one person is"  # the difference between neighbours, for guarantees
PUBLIC = "the map and the number of people"
_VERTEX_HEADERS = ("vertex", "location", "place", "label")  # names of columns in files
_COUNT_HEADERS = ("people", "count")
_LONGEST_COUNT = 12  # digits of a number of people in a file


@final
class Locations:
    """The vertices at which n people are. Private, except for n.

    Neighbours: one person is at another vertex; n stays.

    Args:
        metric: the public map.
        counts: how many people are at each vertex, whole numbers >= 0, shape (V,).

    Raises:
        QueryError: counts of another length, or that are not whole numbers; no people, or more
            than 2^40.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> people = gc.distances.Locations.from_labels(city, [0, 0, 5])
        >>> people.people
        3
    """

    def __init__(self, metric: Metric, counts: npt.ArrayLike) -> None:
        self.metric = metric
        self.counts: IntVector = _whole_numbers(counts)
        if self.counts.shape != (len(metric),):
            raise QueryError(f"one number of people for each of the {len(metric)} vertices, please")
        self.counts.flags.writeable = False
        self.people: int = int(self.counts.sum())
        if not self.people:
            raise QueryError("there are no people; give at least one location")
        if self.people > MOST_PEOPLE:
            raise QueryError("there are more than 2^40 people; give at most as many")

    @classmethod
    def of(cls, metric: Metric, source: Any) -> "Locations":
        """Return locations on a map, from any form that users have; see `answer_distances`.

        Raises:
            QueryError: locations on another map, or that are not on this one.
            ParameterError: something that holds no locations.
            FileFormatError: a file that cannot be read.
        """
        if isinstance(source, Locations):
            if source.metric is not metric and source.metric.vertices != metric.vertices:
                raise QueryError("these locations are on another map; make them from this one")
            return Locations(metric, source.counts)
        if isinstance(source, str | os.PathLike):
            return cls.read(metric, source)
        if isinstance(source, Mapping):
            return cls.from_counts(metric, source)
        if hasattr(type(source), "columns"):
            return cls._from_table(metric, source)
        if isinstance(source, Iterable):
            return cls.from_labels(metric, source)
        raise ParameterError("locations are a Locations, labels, numbers by label, or a CSV file")

    @classmethod
    def from_labels(cls, metric: Metric, labels: Iterable[Label]) -> Self:
        """Return locations from one label for each person.

        Args:
            metric: the public map.
            labels: the label of each person's vertex.

        Raises:
            QueryError: no label, or one that is not on the map: the message has its position, and
                not its text.
        """
        return cls(metric, np.bincount(_rows_of(metric, labels), minlength=len(metric)))

    @classmethod
    def from_counts(cls, metric: Metric, counts: Mapping[Label, int]) -> Self:
        """Return locations from numbers of people by label; vertices that are left out have none.

        Args:
            metric: the public map.
            counts: people by label of a vertex; whole numbers, at least 0.

        Raises:
            QueryError: as for `from_labels`, or a number that is not whole or below 0.
        """
        return cls(metric, _total_counts(metric, counts, list(counts.values())))

    @classmethod
    def _from_table(cls, metric: Metric, table: Any) -> "Locations":
        """Return the locations in a table, whose columns are named as in a file, see `read`."""
        frame = frame_of(table)
        if frame is None:
            raise ParameterError("the table of locations is of no library that is known here")
        names = list(frame.columns)
        header = [str(name).strip().lower() for name in names]
        vertex_column = _column_index(header, _VERTEX_HEADERS)
        people_column = _column_index(header, _COUNT_HEADERS)
        if vertex_column is None:
            raise ParameterError("the table of locations has no column vertex; rename one")
        labels = frame[names[vertex_column]].to_list()
        if people_column is None:
            return cls.from_labels(metric, labels)
        return cls(metric, _total_counts(metric, labels, frame[names[people_column]].to_list()))

    @classmethod
    def read(cls, metric: Metric, path: PathLike) -> Self:
        """Read one person a row, or one vertex a row with a number of people.

        A .csv or .tsv file begins with the names of its columns: vertex (or else location, place,
        label), and people (or else count); without the latter each row is a person. Any other file
        has one person on each line, by the label of the vertex. All may be packed (.gz). Labels are
        compared as text.

        Args:
            metric: the public map.
            path: the file.

        Raises:
            FileFormatError: the file cannot be read or holds no location; or a row has a vertex
                that is not on the map, or no whole number of people. The message has the line
                number of the row.
        """
        vertex_column, people_column = 0, None
        if str(path).lower().removesuffix(".gz").endswith((".csv", ".tsv")):
            header, rows = read_table(path)
            named_column = _column_index(header, _VERTEX_HEADERS)
            if named_column is None:
                raise FileFormatError(
                    f"{path!s}: the first line names no column vertex; write vertex above the "
                    "rows, or name a file with one vertex on each line .txt"
                )
            vertex_column, people_column = named_column, _column_index(header, _COUNT_HEADERS)
        else:
            lines = enumerate(read_text(path).split("\n"), 1)
            rows = [(line_number, [line]) for line_number, line in lines if line.strip()]
        counts = np.zeros(len(metric), dtype=np.int64)
        for line_number, cells in rows:
            label = cells[vertex_column].strip() if vertex_column < len(cells) else None
            row = None if label is None else metric.vertices.find_text(label)
            if row is None:
                raise FileFormatError(f"{path!s}: line {line_number}: not a vertex of the map")
            count_text = "1"
            if people_column is not None:
                count_text = cells[people_column].strip() if people_column < len(cells) else ""
            is_whole = count_text.isascii() and count_text.isdecimal()
            if not is_whole or len(count_text) > _LONGEST_COUNT:
                raise FileFormatError(
                    f"{path!s}: line {line_number}: the number of people is not a whole number >= 0"
                )
            counts[row] += int(count_text)
        try:
            return cls(metric, counts)
        except QueryError as problem:
            raise FileFormatError(f"{path!s}: {problem}") from None

    @property
    def subject(self) -> Subject:
        """The subject of a ledger: locations are private, the number of people is not."""
        schema = {
            "kind": "locations",
            "vertices": [labels_or_number(self.metric.vertices)],
            "people": self.people,
        }
        return Subject(schema, partial(identity_of_counts, self.counts))

    def __repr__(self) -> str:
        return f"Locations(people={self.people}, {self.metric!r})"


def _column_index(header: Sequence[str], names: Sequence[str]) -> int | None:
    """Return the index of the column with the first of some names; None if there is none.

    Args:
        header: the names of all columns, in lower case.
        names: alternative names, the preferred one first.
    """
    return next((header.index(name) for name in names if name in header), None)


def _total_counts(metric: Metric, labels: Iterable[Label], counts: npt.ArrayLike) -> IntVector:
    """Return the number of people at each vertex, shape (V,), from a label and number for each row.

    Raises:
        QueryError: see `_rows_of` and `_whole_numbers`.
    """
    people = np.zeros(len(metric), dtype=np.int64)
    np.add.at(people, _rows_of(metric, labels), _whole_numbers(counts))
    return people


def _rows_of(metric: Metric, labels: Iterable[Label]) -> IntVector:
    """Return the row of the vertex of each label.

    Raises:
        QueryError: a label that is not on the map; the message has its position, not its text.
    """
    rows = [metric.vertices.find(label) for label in labels]
    if None in rows:
        raise QueryError(
            f"location {rows.index(None) + 1} (counted from 1) is not a vertex of the map"
        )
    return np.array(rows, dtype=np.int64)


def _whole_numbers(counts: npt.ArrayLike) -> IntVector:
    """Return a list of numbers of people as integers.

    Raises:
        QueryError: one is not a whole number from 0 to 2^40.
    """
    refusal = QueryError("numbers of people are a list of whole numbers from 0 to 2^40")
    try:
        array = np.asarray(counts)
    except ValueError:  # lists of several lengths
        raise refusal from None
    is_whole = array.dtype.kind in "iu" or not array.size  # an empty list has no whole type
    if not is_whole or array.ndim != 1 or (array < 0).any() or (array > MOST_PEOPLE).any():
        raise refusal
    return array.astype(np.int64)


@final
@dataclass(frozen=True)
class DistanceQuery:
    """The average shortest-path distance from a vertex to all people.

    Args:
        vertex: a label of the map.

    Source: HR12 section 2.1, which scales the diameter to 1.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> people = gc.distances.Locations.from_labels(city, [0, 0, 5])
        >>> query = gc.distances.DistanceQuery(0)
        >>> round(query.value(people), 3)  # true, and so private
        0.667
    """

    vertex: Label

    def value(self, locations: Locations) -> float:
        """Return the true answer, in the units of the map's lengths. Private.

        Args:
            locations: where the people are, on the map of the query. Private.

        Raises:
            QueryError: the vertex is not on the map.
        """
        metric = locations.metric
        distances = metric.distances_from([metric.row(self.vertex)])[0]
        return float(distances @ locations.counts) / locations.people

    def sensitivity(self, metric: Metric, *, people: int) -> float:
        """Return the largest change of the value if one of `people` persons moves.

        ecc(v)/n: a person can move from v itself, at distance 0, to a farthest vertex, and no two
        distances from v differ by more. The largest over all v is diameter/n.

        Args:
            metric: the public map.
            people: their public number n, at least 1.

        Raises:
            QueryError: the vertex is not on the map.
            ParameterError: n is not a whole number from 1 on.
        """
        distances = metric.distances_from([metric.row(self.vertex)])
        return float(distances.max()) / checked_people(people)


def all_distances(locations: Locations) -> FloatVector:
    """Return the true answers of all vertices, shape (V,). Private.

    O(V) on trees, V shortest-path searches on other maps.
    """
    return locations.metric.weighted_sums(locations.counts) / locations.people


def checked_people(people: int) -> int:
    """Return the public number of people, checked.

    Raises:
        ParameterError: not a whole number of at least 1.
    """
    if isinstance(people, bool) or not isinstance(people, int) or not 1 <= people <= MOST_PEOPLE:
        raise ParameterError("the number of people is a whole number from 1 to 2^40")
    return people
