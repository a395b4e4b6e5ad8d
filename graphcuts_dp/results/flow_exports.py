"""What a table of flows becomes for others: pictures, and files of other programs.

All of it is post-processing of the noisy sums.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import QueryError
from graphcuts_dp.files import PathLike, atomic_write, check_writable
from graphcuts_dp.pairs.group_tables import listed
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.privacy.guarantee import promise_text
from graphcuts_dp.privacy.noise import SEEDED_WARNING
from graphcuts_dp.results import od_tables
from graphcuts_dp.results.flow_table import FlowTable
from graphcuts_dp.tables.frames import check_parquet, made_frame, parquet_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphcuts_dp.plotting.flow_tables import FlowPicture, PeriodPicture


class FlowExports(FlowTable):
    """Pictures and files of a table of flows; free, as often as you like."""

    def plot(
        self,
        level: str | None = None,
        *,
        period: str | None = None,
        by: str | None = None,
        locations: Any = None,
        coordinates: Mapping[Label, Sequence[float]] | None = None,
        title: str | None = None,
    ) -> "Figure":
        """Draw the noisy table of a level: a heat map, or a map where groups have places.

        With `by` the largest cells of the level, all periods taken together, over its periods. The
        heat map is white where estimates are below 0, and shows their errors: in numbers, or where
        there are many cells by paleness. The map has an arc for each flow that is above 0 for sure.

        Args:
            level: None for the finest.
            period: one of the level; None for all of them together.
            by: "month", for example: draw the largest cells over the periods of this level.
            locations: for a map: public places of the groups in degrees, see `to_od`.
            coordinates: instead, the place (x, y) of each group of the level on a plane, in one
                unit on both axes. None of both for a heat map.
            title: above the picture, before the guarantee; None for "Flows by LEVEL" and period.

        Returns:
            A figure of matplotlib: `figure.savefig("flows.png")`.

        Raises:
            QueryError: no such level or period, a group without a place, or things that do not
                go together.
            FileFormatError, ParameterError: locations that are none, as for `to_od`.
        """
        from graphcuts_dp.plotting import flow_tables  # matplotlib is slow to import

        if by is not None:
            if any(each is not None for each in (period, locations, coordinates)):
                raise QueryError("by= draws all periods on no map: leave period= and places out")
            return flow_tables.periods_figure(_over_periods(self, level, by, title))
        places = _places(self, level, locations, coordinates)
        picture = _picture(self, level, period, title)
        if places is None:
            return flow_tables.heat_map_figure(picture)
        return flow_tables.flow_map_figure(picture, places)

    def write_parquet(
        self,
        path: PathLike,
        level: str | None = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        force: bool = False,
    ) -> None:
        """Write the table of `Flows.to_frame` as a Parquet file; of a seeded run with a `mark`.

        Labels are written as strings where a column has both strings and integers.

        Args:
            path: where.
            level: None for all levels.
            confidence: of each interval, in (0, 1).
            simultaneous: see `Flows.intervals`.
            force: replace a file that is there.

        Raises:
            QueryError: no such level, or a confidence out of range.
            FileFormatError: the package pyarrow is not installed, a missing folder, a file that is
                there, a full disk.
        """
        check_parquet()
        columns = self.columns(level, confidence=confidence, simultaneous=simultaneous)
        check_writable(path, force=force)
        mark = (
            {} if self.guarantee.is_private else {"mark": [SEEDED_WARNING] * len(columns["value"])}
        )
        data = parquet_bytes({**columns, **mark})
        with atomic_write(path, force=force) as handle:
            handle.write(data)

    def to_od(
        self,
        locations: Any = None,
        level: str | None = None,
        *,
        all_cells: bool = False,
        confidence: float = 0.95,
        kind: Any = None,
    ) -> Any:
        """The flows of a level as flowmap.blue and kepler.gl read them, the largest first.

        Columns: origin, dest, count and the interval low, high; where there are periods time; with
        locations also origin_lat, origin_lng, dest_lat, dest_lng. A count is the possible number
        that is nearest to the estimate, whole where the numbers counted are, else to two digits of
        its error: it lies in its interval, and is not below 0. Flows without a direction have one
        row, in either order.

        Args:
            locations: public places of the groups, in degrees: the path of a .csv or .tsv file, or
                a table, with columns id, lat, lon, and perhaps name.
            level: None for the finest.
            all_cells: ask for all flows; else only those that are above 0 for sure, by intervals
                that hold for all cells at once. Most others are noise.
            confidence: of the intervals, all at once, in (0, 1).
            kind: see `Graph.to_frame`.

        Raises:
            QueryError: no such level, a confidence out of range, or a group without a location.
            FileFormatError: locations that cannot be read.
            ParameterError: locations of another kind; see also `Graph.to_frame`.
        """
        places = None if locations is None else od_tables.GroupLocations.of(locations)
        columns = od_tables.od_columns(
            self, places, level, confidence=confidence, all_cells=all_cells
        )
        return made_frame(columns, kind)

    def to_locations(self, locations: Any, level: str | None = None, *, kind: Any = None) -> Any:
        """The places of the groups of a level as flowmap.blue reads them: id, name, lat, lon.

        Arguments and errors as for `to_od`.
        """
        places = od_tables.GroupLocations.of(locations)
        return made_frame(od_tables.location_columns(self, places, level), kind)

    def write_od(
        self,
        path: PathLike,
        locations: Any = None,
        level: str | None = None,
        *,
        all_cells: bool = False,
        confidence: float = 0.95,
        force: bool = False,
    ) -> tuple[str, ...]:
        """Write the table of `to_od` for a map; of a seeded run with a `mark` in every row.

        Args:
            path: ending in .csv or .parquet, or in .geojson for lines between places (GeoJSON, RFC
                7946; what passes inside a group is a point). Beside a .csv with locations, these
                are written to NAME.locations.csv: the two sheets of flowmap.blue.
            locations: see `to_od`; lines need them.
            level: None for the finest.
            all_cells: see `to_od`.
            confidence: likewise.
            force: replace files that are there.

        Returns:
            The paths written.

        Raises:
            QueryError, ParameterError: as `to_od`.
            FileFormatError: another ending, no locations for lines, or locations that cannot be
                read; the package pyarrow is not installed; a missing folder, a file that is there,
                a full disk.
        """
        od_tables.od_files(path, located=locations is not None)
        places = None if locations is None else od_tables.GroupLocations.of(locations)
        told = od_tables.od_columns(self, places, level, confidence=confidence, all_cells=all_cells)
        located = None if places is None else od_tables.location_columns(self, places, level)
        seeded = not self.guarantee.is_private
        return od_tables.write_od(path, told, located, seeded=seeded, force=force)


def _picture(
    flows: FlowTable, level: str | None, period: str | None, title: str | None
) -> "FlowPicture":
    """The table of a level, as it is drawn."""
    from graphcuts_dp.plotting.flow_tables import FlowPicture  # matplotlib is slow to import

    place = flows.cells.place(level)
    name = flows.cells.levels[place - 1]
    names = flows.cells.names(place)
    rows, columns = flows.labels(level)
    possible = flows.cells.matrix(place, np.ones(len(flows.cells.ends(place)[0]), dtype=np.bool_))
    low, high = flows.intervals(level, period, simultaneous=True)
    title = title or f"Flows by {name}" + ("" if period is None else f", {period}")
    return FlowPicture(
        values=np.clip(flows.values(level, period), low, high),
        errors=flows.deviations(level, period),
        low=low,
        possible=possible,
        rows=[str(label) for label in rows],
        columns=[str(label) for label in columns],
        breaks=(_breaks(flows.groups, names[0]), _breaks(flows.right_groups, names[1])),
        symmetric=flows.cells.symmetric,
        title=f"{title} ({promise_text(flows.guarantee)})",
        unit=flows.noisy.map.counted,
        whole=flows.noisy.map.whole,
    )


def _over_periods(
    flows: FlowTable, level: str | None, by: str, title: str | None
) -> "PeriodPicture":
    """The largest cells of a level over its periods, as they are drawn.

    Raises:
        QueryError: no such level, or none with these periods.
    """
    from graphcuts_dp.plotting.flow_tables import MOST_SMALL, PeriodPicture

    cells = flows.cells
    places = [place for place in range(1, cells.depth) if cells.time(place) == by]
    if flows.periods is None or not places:
        known = [] if flows.periods is None else flows.periods.levels
        told = f"; it has {listed(known)}" if known else ""
        raise QueryError(f"this table has no periods {by!r:.60}{told}")
    place = places[-1] if level is None else cells.place(level)
    if place not in places:
        named = listed([cells.levels[each - 1] for each in places])
        raise QueryError(f"levels by {by!r:.60} are {named}")
    table = flows.rows_of(place, 0.95, True)
    count = len(cells.lengths(place))
    values, low, high = (table[name].reshape(count, -1).T for name in ("value", "low", "high"))
    order = np.argsort(-values.sum(axis=1), kind="stable")[:MOST_SMALL]
    arrow = "-" if cells.symmetric else "\N{RIGHTWARDS ARROW}"
    names = [
        f"within {a}" if cells.one_set and a == b else f"{a} {arrow} {b}"
        for a, b in zip(table["from"][order], table["to"][order], strict=True)
    ]
    groups = cells.levels[place - 1].removesuffix(f" by {by}")
    title = title or f"Largest flows by {groups} and {by}"
    return PeriodPicture(
        periods=[str(label) for label in flows.periods.labels(by)],
        cells=names,
        values=np.clip(values, low, high)[order],
        low=low[order],
        high=high[order],
        title=f"{title} ({promise_text(flows.guarantee)})",
        unit=flows.noisy.map.counted,
        others=len(values) - len(order),
    )


def _breaks(groups: GroupTree, level: str) -> list[tuple[str, int]]:
    """The groups of the level before and how many of this level's each of them holds."""
    place = groups.levels.index(level)
    if place == 0:
        return []
    above = groups.labels(groups.levels[place - 1])
    counts = np.bincount(groups.parents(level), minlength=len(above))
    return [(str(name), int(count)) for name, count in zip(above, counts, strict=True)]


def _places(
    flows: FlowTable,
    level: str | None,
    locations: Any,
    coordinates: Mapping[Label, Sequence[float]] | None,
) -> tuple[FloatMatrix, FloatMatrix] | None:
    """Places on a plane of the groups of the rows and of the columns; None without any.

    Raises:
        QueryError: a group without a place, places that are no pairs of numbers, or both kinds.
        FileFormatError, ParameterError: locations that are none.
    """
    left, right = flows.labels(level)
    if locations is None and coordinates is None:
        return None
    if coordinates is None:
        known = od_tables.GroupLocations.of(locations)
        found = od_tables.on_a_plane(known.of_labels((*left, *right)))
        return found[: len(left)], found[len(left) :]
    if locations is not None:
        raise QueryError("locations= and coordinates= are two ways to place groups: choose one")
    return _on_plane(left, coordinates), _on_plane(right, coordinates)


def _on_plane(labels: Sequence[Label], coordinates: Mapping[Label, Sequence[float]]) -> FloatMatrix:
    """Places of groups, shape (groups, 2).

    Raises:
        QueryError: a group without a place, or places that are no pairs of numbers.
    """
    missing = [label for label in labels if label not in coordinates]
    if missing:
        raise QueryError(
            f"{len(missing)} of {len(labels)} groups have no coordinates: {missing[0]!r:.60}"
        )
    try:
        found: npt.NDArray[np.float64] = np.array([coordinates[x] for x in labels], dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (len(labels), 2) or not np.isfinite(found).all():
        raise QueryError("coordinates are pairs of numbers: {'Texas': (-99.0, 31.5), ...}")
    return found
