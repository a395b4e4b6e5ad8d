"""Tables of flows as programs for maps read them: origins, destinations, numbers, and places.

flowmap.blue reads two tables: flows (origin, dest, count, and time if there are periods) and
locations (id, name, lat, lon). kepler.gl reads one, with two columns for each of both places
(origin_lat, origin_lng, dest_lat, dest_lng). Both ignore other columns, here the intervals. A
file of GeoJSON (RFC 7946) has a line for each flow. Places are public, as the groups are.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.confidence import INTERVAL_COLUMNS, SIMULTANEOUS_COLUMNS
from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError
from graphcuts_dp.files import PathLike, atomic_set, atomic_write, check_writable_set
from graphcuts_dp.frames import check_parquet, csv_bytes, frame_of, parquet_bytes, plain
from graphcuts_dp.results.flow_table import FlowTable
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.text_rows import read_table
from graphcuts_dp.schema.vertices import Label

OdColumns = dict[str, Any]  # by name, all of one length

_IDS = ("id", "group", "label")
_LATITUDES = ("lat", "latitude")
_LONGITUDES = ("lon", "lng", "long", "longitude")
_BOUNDS = np.array([90.0, 180.0])  # of the sizes of latitudes and longitudes
_ENDINGS = (".csv", ".parquet", ".geojson")


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class GroupLocations:
    """Locations of public groups, in degrees of WGS84.

    Attributes:
        names: name of each group for people, by its label as text.
        degrees: latitude and longitude of each, in the same order, shape (groups, 2).

    Examples:
        >>> import pandas as pd
        >>> places = pd.DataFrame({"id": ["a", "b"], "lat": [50.1, 52.5], "lon": [8.7, 13.4]})
        >>> gc.results.GroupLocations.of(places).of_labels(["b"]).tolist()
        [[52.5, 13.4]]
    """

    names: Mapping[str, str]
    degrees: FloatMatrix

    @classmethod
    def of(cls, source: Any, groups: Groups | tuple[Groups, Groups] | None = None) -> Self:
        """Read locations from a .csv or .tsv file with a header, or a table of any library.

        The label of a group is in the column id, group or label, else in the first column; its name
        may be in a column name; its place is in lat and lon (or latitude, and lng, long or
        longitude).

        Args:
            source: path of the file, or the table.
            groups: the groups of the flows, of both sides if there are two. The locations may then
                be those of vertices in place of groups: a group of the finest level is in the
                middle of its vertices.

        Raises:
            FileFormatError: the file cannot be read, or has no such columns; or a line, which the
                message names, has a place that is none on earth, or the group of an earlier line.
            ParameterError: the source is something else.
            QueryError: with `groups`, locations that are neither those of all groups nor those of
                all vertices.
        """
        if groups is not None:
            return cls.of(source).of_groups(groups if isinstance(groups, tuple) else (groups,))
        if isinstance(source, cls):
            return source
        if isinstance(source, str | os.PathLike):
            heads, lines = read_table(source)
            return cls._of_rows(str(source), heads, (("line", *line) for line in lines))
        frame = frame_of(source)
        if frame is None:
            raise ParameterError(
                "locations are a file or a table with columns id, lat and lon: a path, or a table "
                "of pandas, polars or pyarrow"
            )
        heads = [str(name).strip().lower() for name in frame.columns]
        rows = zip(*(frame[name].to_list() for name in frame.columns), strict=True)
        return cls._of_rows("locations", heads, (("row", i, row) for i, row in enumerate(rows, 1)))

    @classmethod
    def _of_rows(
        cls, source: str, heads: list[str], rows: Iterable[tuple[str, int, Sequence[Any]]]
    ) -> Self:
        """Read locations from rows.

        Args:
            source: what to call the table in messages.
            heads: names of its columns, in lower case.
            rows: of the table, each after the word ("line" or "row") and the number that messages
                name it by.

        Raises:
            FileFormatError: as for `of`.
        """
        columns = [
            next((heads.index(name) for name in names_of_column if name in heads), None)
            for names_of_column in (_IDS, ("name",), _LATITUDES, _LONGITUDES)
        ]
        label_column, name_column = columns[0] or 0, columns[1]
        place_columns = [column for column in columns[2:] if column is not None]
        if len(place_columns) < 2:
            raise FileFormatError(f"{source}: the columns of places are called lat and lon")
        names: dict[str, str] = {}
        points: list[list[float]] = []
        for word, number, cells in rows:
            where = f"{source}: {word} {number}"
            if len(cells) != len(heads):
                raise FileFormatError(f"{where}: expected {len(heads)} columns, as in the header")
            label = str(cells[label_column]).strip()
            if label in names:
                raise FileFormatError(f"{where}: this group has a {word} already")
            names[label] = label if name_column is None else str(cells[name_column]).strip()
            try:
                point = [float(cells[column]) for column in place_columns]
            except (TypeError, ValueError):
                raise FileFormatError(f"{where}: a coordinate is not a number") from None
            if not (np.abs(point) <= _BOUNDS).all():
                raise FileFormatError(
                    f"{where}: latitudes lie within -90 .. 90, longitudes within -180 .. 180"
                )
            points.append(point)
        return cls(names=names, degrees=np.array(points, dtype=np.float64).reshape(-1, 2))

    def of_groups(self, sides: Sequence[Groups]) -> Self:
        """Return the locations of the finest groups of each side.

        These locations are either those of the groups, or those of their vertices: then a group is
        in the middle of its vertices.

        Args:
            sides: the groups of each side.

        Raises:
            QueryError: they are neither those of all groups nor those of all vertices of a side.
        """
        points: dict[str, list[FloatVector]] = {}  # of each group, with one row or several
        for groups in sides:
            labels, codes = groups.labels(), groups.codes()
            vertices = groups.vertices.labels
            group_count = sum(str(label) in self._rows for label in labels)
            vertex_count = sum(str(label) in self._rows for label in vertices)
            if group_count == len(labels):
                members = zip(labels, labels, strict=True)
            elif vertex_count == len(vertices):
                members = zip(vertices, (labels[code] for code in codes), strict=True)
            else:
                if not vertex_count:
                    self.of_labels(labels)  # raises an error that names a group
                raise QueryError(
                    f"the locations name {group_count} of {len(labels)} groups and {vertex_count} "
                    f"of {len(vertices)} vertices: give those of all groups, or of all vertices"
                )
            for name, label in members:
                points.setdefault(str(label), []).append(self.degrees[self._rows[str(name)]])
        return type(self)(
            names={label: self.names.get(label, label) for label in points},
            degrees=np.array([_middle(np.array(rows)) for rows in points.values()]),
        )

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The row of each label."""
        return {label: row for row, label in enumerate(self.names)}

    def of_labels(self, labels: Sequence[Label]) -> FloatMatrix:
        """Return latitudes and longitudes of groups, shape (groups, 2).

        Args:
            labels: of the groups.

        Raises:
            QueryError: a group has no location.
        """
        rows = self._rows
        missing = [label for label in labels if str(label) not in rows]
        if missing:
            raise QueryError(
                f"{len(missing)} of {len(labels)} groups have no location: {missing[0]!r:.60}"
            )
        return self.degrees[[rows[str(label)] for label in labels]]


def _middle(degrees: FloatMatrix) -> FloatVector:
    """Return the middle of places on the sphere: the direction of the sum of their unit vectors.

    If this sum is 0, as for two places opposite each other, it is the first place.

    Args:
        degrees: latitudes and longitudes, shape (places, 2).
    """
    first: FloatVector = degrees[0]
    if len(degrees) == 1:
        return first
    latitude, longitude = np.radians(degrees).T
    along = np.cos(latitude)
    x, y, z = (
        float(part.sum())
        for part in (along * np.cos(longitude), along * np.sin(longitude), np.sin(latitude))
    )
    if math.hypot(x, y, z) < 1e-9 * len(degrees):
        return first
    middle = math.atan2(z, math.hypot(x, y)), math.atan2(y, x)
    return np.array([math.degrees(angle) for angle in middle])


def on_a_plane(degrees: FloatMatrix) -> FloatMatrix:
    """Return positions as x and y, in the scale of their middle latitude, shape (groups, 2).

    The plane is cut where the longitudes leave the widest gap, not always at 180 degrees.

    Args:
        degrees: latitudes and longitudes, shape (groups, 2).
    """
    if not len(degrees):
        return degrees
    longitudes = np.unique(degrees[:, 1])
    gaps = np.diff(longitudes, append=longitudes[0] + 360)
    first = longitudes[(int(np.argmax(gaps)) + 1) % len(longitudes)]
    x = first + (degrees[:, 1] - first) % 360
    return np.stack([x * longitude_scale(degrees), degrees[:, 0]], axis=1)


def longitude_scale(degrees: FloatMatrix) -> float:
    """Return the length of a degree of longitude on the middle latitude, in degrees of latitude.

    Args:
        degrees: latitudes and longitudes, shape (groups, 2), at least one group.
    """
    return math.cos(math.radians(float(degrees[:, 0].min() + degrees[:, 0].max()) / 2))


def od_columns(
    flows: FlowTable,
    locations: Any,
    level: str | None,
    *,
    confidence: float,
    all_cells: bool,
) -> OdColumns:
    """Return the columns of `Flows.to_od`, the largest flows first."""
    known = None if locations is None else GroupLocations.of(locations)
    table = flows.columns(
        flows.levels[flows.cells.level_index(level) - 1], confidence=confidence, simultaneous=True
    )
    estimate, above_zero = table["estimate"], table[SIMULTANEOUS_COLUMNS[0]] > 0
    rows = np.arange(len(estimate)) if all_cells else np.flatnonzero(above_zero)
    rows = rows[np.lexsort((-estimate[rows], -table["count"][rows]))]
    digits = _digits(flows, level)
    columns: OdColumns = {"origin": table["from"][rows], "dest": table["to"][rows]}
    columns["count"] = table["count"][rows]
    columns["estimate"] = np.round(estimate[rows], digits)
    for name in (*INTERVAL_COLUMNS, *SIMULTANEOUS_COLUMNS):
        columns[name] = _outward(table[name][rows], digits, up=name.endswith("high"))
    columns["outside"] = table["outside"][rows]
    if "period" in table:
        columns["time"] = table["period"][rows]
    if known is not None:
        for name, labels in zip(("origin", "dest"), flows.labels(level), strict=True):
            point_of = dict(zip(labels, known.of_labels(labels), strict=True))
            points = np.array([point_of[label] for label in columns[name]]).reshape(-1, 2)
            columns |= {f"{name}_lat": points[:, 0], f"{name}_lng": points[:, 1]}
    return columns


def _digits(flows: FlowTable, level: str | None) -> int:
    """Return the number of decimals of the numbers of a level: to two digits of the least error."""
    level_index = flows.cells.level_index(level)
    error = math.sqrt(float(flows.fit.variances[level_index].min())) * flows.noisy.unit
    return max(1 - math.floor(math.log10(error)), 0)


def _outward(bounds: FloatVector, digits: int, *, up: bool) -> FloatVector:
    """Return bounds of intervals with a number of decimals, rounded up or down."""
    last_digit = 10.0**-digits
    multiples = np.ceil(bounds / last_digit) if up else np.floor(bounds / last_digit)
    return np.asarray(np.round(multiples * last_digit, digits))


def location_columns(flows: FlowTable, locations: Any, level: str | None) -> OdColumns:
    """Return the columns of `Flows.to_locations`."""
    known, (left, right) = GroupLocations.of(locations), flows.labels(level)
    labels = tuple(dict.fromkeys((*left, *right)))
    degrees = known.of_labels(labels)
    names = [known.names[str(label)] for label in labels]
    ids = np.array(labels, dtype=object)
    return {"id": ids, "name": names, "lat": degrees[:, 0], "lon": degrees[:, 1]}


def od_files(path: PathLike, *, located: bool) -> tuple[Path, ...]:
    """Return the files that `write_od` writes: for CSV with locations a second one for these.

    Args:
        path: of the first file.
        located: whether there are locations.

    Raises:
        FileFormatError: another ending, lines without locations, or Parquet without its package.
    """
    first = Path(path)
    ending = first.suffix.lower()
    if ending not in _ENDINGS:
        raise FileFormatError(f"{path!s} must end in {', '.join(_ENDINGS)}: flows for a map")
    if ending == ".parquet":
        check_parquet()
    if ending == ".geojson" and not located:
        raise FileFormatError(f"{path!s}: lines need locations=, where the groups are")
    if ending == ".csv" and located:
        return first, first.with_suffix(f".locations{first.suffix}")
    return (first,)


def write_od(
    path: PathLike, flows: OdColumns, places: OdColumns | None, *, note: str, force: bool
) -> tuple[str, ...]:
    """Write flows, with the places of the groups if there are any, and return the paths.

    The ending of the path decides the format.

    Args:
        path: see `od_files`.
        flows: see `od_columns`.
        places: see `location_columns`.
        note: on the numbers; a .csv file has no place for it.
        force: replace files that are there.

    Raises:
        FileFormatError: as `od_files`; or a file cannot be written.
    """
    files = od_files(path, located=places is not None)
    check_writable_set(files, force=force)
    ending = files[0].suffix.lower()
    if ending == ".parquet":
        data = [parquet_bytes(flows, note=note)]
    elif ending == ".geojson":
        data = [_geojson(flows, note)]
    else:
        data = [csv_bytes(content) for content in (flows, places) if content is not None]
    with atomic_set(files, force=force) as targets:
        for target, content in zip(targets, data, strict=True):
            with atomic_write(target) as handle:
                handle.write(content)
    return tuple(map(str, files))


def _geojson(columns: OdColumns, note: str) -> bytes:
    """Return a collection of lines, the largest flow last, so that it is drawn on top.

    What passes inside a group is a point. A line that crosses the meridian of 180 degrees is cut
    there, as RFC 7946 (3.1.9) wants it.
    """
    coordinates = [
        columns[f"{name}_{axis}"] for name in ("origin", "dest") for axis in ("lng", "lat")
    ]
    json_columns = {
        name: plain(columns[name]) for name in columns if not name.endswith(("_lat", "_lng"))
    }
    features = [
        {
            "type": "Feature",
            "geometry": _geometry((x, y), (u, v)),
            "properties": dict(zip(json_columns, values, strict=True)),
        }
        for x, y, u, v, *values in zip(
            *map(plain, coordinates), *json_columns.values(), strict=True
        )
    ]
    collection = {"type": "FeatureCollection", "note": note, "features": features[::-1]}
    return (json.dumps(collection, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _geometry(start: tuple[float, float], end: tuple[float, float]) -> dict[str, Any]:
    """Return the line between two points (longitude, latitude)."""
    if start == end:
        return {"type": "Point", "coordinates": list(start)}
    (x, y), (u, v) = start, end
    if abs(u - x) <= 180:
        return {"type": "LineString", "coordinates": [list(start), list(end)]}
    meridian = math.copysign(180.0, x)  # where the line leaves the map; it enters it at -meridian
    width = u + 2 * meridian - x  # 0 if both points are on this meridian
    crossing = y + (v - y) * (meridian - x) / width if width else y
    parts = [[[x, y], [meridian, crossing]], [[-meridian, crossing], [u, v]]]
    return {"type": "MultiLineString", "coordinates": parts}
