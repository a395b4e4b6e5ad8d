"""The object that `release_flows` returns: noisy flows between public groups, with intervals.

The file is one class, `Flows`, which has everything that a caller can do with the table: ask,
print, draw, export, save and load; other files of this folder do the work.
"""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, DEFAULT_PERCENT, percent
from graphcuts_dp.display import MOST_PICTURED, Card, Displayed, joined
from graphcuts_dp.errors import FileFormatError, QueryError
from graphcuts_dp.estimate.answers import nearest_within
from graphcuts_dp.estimate.counted_rows import CountedRows
from graphcuts_dp.estimate.estimator import AnswerOptions
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement
from graphcuts_dp.estimate.strategy import MARGINS, FlowStrategy
from graphcuts_dp.files import PathLike, atomic_write, check_writable
from graphcuts_dp.frames import check_parquet, csv_bytes, made_frame, parquet_bytes
from graphcuts_dp.plotting import flow_page
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.results import bundle, flow_pictures, od_tables
from graphcuts_dp.results.flow_statistics import FlowStatistics
from graphcuts_dp.results.flow_table import ALL_NUMBERS, NUMBERS, CellSum
from graphcuts_dp.results.margins import margin_columns
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.schema.cells import Picked
from graphcuts_dp.schema.counting import CONTRIBUTED
from graphcuts_dp.schema.vertices import Label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DIGITS = 10  # significant ones of the numbers in the saved table


@final
@dataclass(frozen=True, kw_only=True)
class FlowAnswer:
    """The weight between groups, or a linear combination of cells, in units of weight.

    It prints as the value with its interval.

    Attributes:
        estimate: unbiased, so it may be below 0 and beside the interval; estimates may be added up.
        deviation: standard deviation of its error; exact for Laplace noise, at most that for
            Gaussian noise.
        interval: (low, high), cut to what is possible. `value` lies in it.
        confidence: that the interval holds the truth, in (0, 1).
        simultaneous: whether the interval holds at once with those of all cells; of a sum, with
            those of all sums.
        seeded: whether the noise came from a seed, so that the answer is not private.
        all_rows: where a bound on users (or on the weight of a row) leaves out rows: an interval of
            the same for all rows, with None for an end that nothing bounds. Estimate, value and
            `interval` are of counted rows. None where nothing is left out.
        counted: which rows count and what is left out, in a sentence; empty where all count.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> halves = gc.Groups(gc.VertexSet(club.labels), {"half": [v % 2 for v in range(34)]})
        >>> flows = gc.release_flows(club, halves, epsilon=1.0)
        >>> flows.values().shape
        (2, 2)
        >>> answer = flows.between(0, 1)
        >>> answer.interval[0] <= answer.value <= answer.interval[1]
        True
    """

    estimate: float
    deviation: float
    interval: tuple[float, float]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False
    all_rows: tuple[float | None, float | None] | None = None
    counted: str = ""

    @property
    def value(self) -> float:
        """The number of the interval that is nearest to the estimate. Biased, but possible."""
        return nearest_within(self.estimate, self.interval)

    def __str__(self) -> str:
        low, high = self.interval
        scope = f"{percent(self.confidence)}{', all at once' if self.simultaneous else ''}"
        mark = f" [{SEEDED_WARNING}]" if self.seeded else ""
        counted = f"; {self._all_rows_text}; {self.counted}" if self.counted else ""
        return f"{self.value:,.6g} in [{low:,.6g}, {high:,.6g}] ({scope}){counted}{mark}"

    @property
    def _all_rows_text(self) -> str:
        """The interval of all rows in words, rounded outward to whole numbers."""
        low, high = (None, None) if self.all_rows is None else self.all_rows
        if low is not None and high is not None:
            return f"of all rows in [{math.floor(low):,}, {math.ceil(high):,}]"
        if low is not None:
            return f"of all rows at least {math.floor(low):,}"
        return f"of all rows {'unknown' if high is None else f'at most {math.ceil(high):,}'}"


@final
class Flows(FlowStatistics, Displayed):
    """Noisy weights between public groups of a private graph, on all levels. All may be published.

    The estimates are unbiased and add up over the levels: a cell is the sum of the cells of the
    next level within it. Of one vertex set without directions, the cell (a, b) is the weight of
    the edges between a and b, and (a, a) that of the edges inside a, each edge once.

    Attributes:
        noisy: what was measured: sums with noise, for the levels that got a share.
        strategy: which levels these are, and the shares.
        guarantee: of differential privacy, for all of it together.
        counted_rows: which rows count, where a bound on users (or on the weight of a row) leaves
            out others; None where all count.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> halves = gc.Groups(gc.VertexSet(club.labels), {"half": [v % 2 for v in range(34)]})
        >>> flows = gc.release_flows(club, halves, epsilon=1.0)
        >>> flows.values().shape
        (2, 2)
        >>> answer = flows.between(0, 1)
        >>> answer.interval[0] <= answer.value <= answer.interval[1]
        True
    """

    def between(
        self,
        a: Picked,
        b: Picked,
        level: str | None = None,
        *,
        period: Picked | None = None,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
    ) -> FlowAnswer:
        """Answer what passes between two groups, or unions of groups; inside one if they are equal.

        Args:
            a: label of a group, or several; they may overlap with b. Every edge counts once.
            b: label of a group, or several; in a directed graph those of the targets of the arcs,
                of two sides those of the right one.
            level: None for the finest.
            period: label of a period of the level, or several; None for all of them together.
            confidence: of the interval, in (0, 1).
            simultaneous: whether the interval holds at once with others: that of two groups in one
                period with those of all cells, that of a sum with those of all unions of groups and
                periods (it follows from the noise of the sum). Choose it for groups that are picked
                after looking at the table.

        Raises:
            QueryError: no such level, group or period, or a confidence out of range.
        """
        a, b = _reusable(a), _reusable(b)
        period = None if period is None else _reusable(period)
        level_index = self.cells.level_index(level)
        coefficients = self.cells.picked(level_index, a, b, period).astype(np.float64)
        log_choices = self._log_choices(level_index, a, b, period) if simultaneous else None
        query = CellSum(level_index, coefficients, union=True, log_choices=log_choices)
        return self._answer(query, confidence, simultaneous)

    def _log_choices(self, level_index: int, a: Picked, b: Picked, period: Picked | None) -> float:
        """Return -ln of the share of the failure probability that a union gets, see `CellSum`.

        The shares of all levels are equal. So are, within a level, those of all numbers of groups
        and of periods, and with these numbers, those of all unions.
        """
        rows, columns = self.cells.shape(level_index)
        periods = len(self.cells.lengths(level_index))
        picked = len(self.cells.period_codes(level_index, period))
        sizes = ((rows, _count(a)), (columns, _count(b)), (periods, picked))
        return math.log(len(self.levels)) + sum(
            math.log(size) + _log_binomial(size, min(count, size)) for size, count in sizes
        )

    def linear(
        self,
        coefficients: npt.ArrayLike,
        level: str | None = None,
        *,
        period: Picked | None = None,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
    ) -> FlowAnswer:
        """Return a linear combination of the cells of a level, with its exact variance.

        Args:
            coefficients: one for each cell, shape (groups, groups); symmetric for one vertex set
                without directions, where each cell (a, b) = (b, a) counts once. Or one such matrix
                for each period of the level, shape (periods, groups, groups).
            level: None for the finest.
            period: of one matrix: the periods that it is for; None for all of them together.
            confidence: of the interval, in (0, 1).
            simultaneous: whether intervals hold for all combinations at once: their half width is
                the sum of |coefficient| times the half widths of the cells. Choose it for
                coefficients that were chosen after looking at the table.

        Raises:
            QueryError: no such level or period, coefficients that do not fit, or a confidence out
                of range.
        """
        level_index = self.cells.level_index(level)
        shape, count = self.cells.shape(level_index), len(self.cells.lengths(level_index))
        refusal = QueryError(f"coefficients of this level are finite numbers of shape {shape}")
        try:
            matrices = np.asarray(coefficients, dtype=np.float64)
        except (TypeError, ValueError):
            raise refusal from None
        if matrices.shape == shape:
            matrix, matrices = matrices, np.zeros((count, *shape))
            matrices[self.cells.period_codes(level_index, period)] = matrix
        elif period is not None:
            raise QueryError("coefficients for every period need no period=: leave it out")
        if matrices.shape != (count, *shape) or not np.isfinite(matrices).all():
            raise refusal
        if self.cells.symmetric and (matrices != matrices.swapaxes(1, 2)).any():
            raise QueryError("coefficients must be symmetric: (a, b) and (b, a) are one cell")
        cell_coefficients = matrices[
            self.cells.periods_of(level_index), *self.cells.cells(level_index)
        ]
        return self._answer(CellSum(level_index, cell_coefficients), confidence, simultaneous)

    def period(self, label: str) -> Self:
        """Return the table of one of the coarsest periods, as if it had been released alone.

        Its estimates and intervals are those of the whole table; "all at once" means all cells of
        this period. The guarantee is that of the whole table.

        Args:
            label: of the period.

        Raises:
            QueryError: no such period, or a table without periods.
        """
        if self.periods is None:
            raise QueryError("this table has no periods")
        (code,) = self.cells.period_codes(1, [label])
        if not self.cells.has_period_trees:
            return self
        tree, level_indices = self.cells.of_period(label), self.noisy.map.measured_levels
        measured_levels = zip(level_indices, self.noisy.steps, strict=False)
        steps = [
            level_steps[self.cells.in_period(level_index, code)]
            for level_index, level_steps in measured_levels
        ]
        if self.noisy.map.margins:
            # Margins are sorted by their finest period, with equally many in each.
            finest = self.cells.depth - 1
            margins, period_count = self.cells.margins, len(self.cells.lengths(finest))
            margins_of_period = margins.total // period_count
            periods_inside = (
                margins.leaving[self.cells.in_period(finest, code)] // margins_of_period
            )
            is_inside = np.zeros(period_count, dtype=np.bool_)  # for each finest period
            is_inside[periods_inside] = True
            steps.append(self.noisy.steps[-1][np.repeat(is_inside, margins_of_period)])
        noisy = replace(self.noisy, map=replace(self.noisy.map, tree=tree), steps=tuple(steps))
        fit = self.fit_on(tree)
        deviations = tuple(math.sqrt(float(variances.mean())) for variances in fit.variances)
        return replace(self, noisy=noisy, strategy=replace(self.strategy, deviations=deviations))

    @property
    def budget_plan(self) -> BudgetPlan | None:
        """Budget plan of the measurement; None if it is unknown."""
        return self.guarantee.budget_plan

    @cached_property
    def total(self) -> FlowAnswer:
        """The weight of all edges, with an interval of the default confidence."""
        return self._answer(CellSum(0, np.ones(1), union=True), DEFAULT_CONFIDENCE, False)

    @property
    def table(self) -> Any:
        """All cells of all levels, rounded and estimated, with their intervals; see `to_frame`."""
        return self.to_frame()

    def margins(
        self,
        level: str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        kind: Any = None,
    ) -> Any:
        """Return what leaves and what enters each group of a level, in each of its periods.

        The columns are those of `to_frame`, with "*" for all groups in "from" or in "to". A count
        is the sum of the rounded cells, an estimate the sum of the estimates, and the interval is
        that of this sum alone. Without directions there is one margin of each group: all edges that
        touch it, those inside once.

        Args:
            level: None for the finest.
            confidence: of each interval, in (0, 1).
            kind: see `Graph.to_frame`.

        Raises:
            QueryError: no such level, or a confidence out of range.
            ParameterError: see `Graph.to_frame`.
        """
        return made_frame(margin_columns(self, level, confidence), kind)

    def write_margins(
        self, path: PathLike, *, force: bool = False, spreadsheet: bool = False
    ) -> None:
        """Write the table of `margins` of the finest level as a .csv file.

        Its first line is a comment, as in the file of `save`; of a seeded run every row has a
        `mark`.

        Args:
            path: ending in .csv.
            force: replace a file that is there.
            spreadsheet: see `save`.

        Raises:
            FileFormatError: another ending, a missing folder, a file that is there, a full disk.
        """
        if not os.fspath(path).lower().endswith(".csv"):
            raise FileFormatError(f"{path!s} must end in .csv: margins are a table")
        check_writable(path, force=force)
        columns = bundle.marked(margin_columns(self, None, DEFAULT_CONFIDENCE), self.guarantee)
        comment = " ".join(self.sentences())
        with atomic_write(path, force=force) as handle:
            handle.write(csv_bytes(columns, spreadsheet=spreadsheet, comment=comment))

    def plot(
        self,
        level: str | None = None,
        *,
        period: str | None = None,
        by: str | None = None,
        locations: Any = None,
        coordinates: Mapping[Label, Sequence[float]] | None = None,
        panels: str | None = None,
        title: str | None = None,
    ) -> "Figure":
        """Draw the noisy table of a level: a heat map, or a map where groups have places.

        The heat map is white where estimates are below 0, and shows the half widths of their
        intervals: in numbers, or where there are many cells by paleness. The map has an arrow for
        each flow that is above 0 for sure, by intervals that hold for all cells at once; flows
        without a direction have no heads. With `by` there are several small pictures in one scale:
        a chart over time for each of the largest cells, or a heat map or map for each period.

        Args:
            level: None for the finest.
            period: one of the level; None for all of them together.
            by: name of a level of periods, such as "month", which are drawn beside each other.
            locations: for a map: public places of the groups in degrees, see `to_od`.
            coordinates: for a map, in place of `locations`: the place (x, y) of each group of the
                level on a plane, in the same unit on both axes.
            panels: with `by`: "cells" for a chart over time of each of the largest cells, "periods"
                for a heat map, or with places a map, of each period. None for "periods" with
                places, else "cells".
            title: above the picture, before the guarantee; None for "Flows by LEVEL". A single
                period is added.

        Returns:
            A figure of matplotlib: `figure.savefig("flows.png")`.

        Raises:
            QueryError: no such level or period, a group without a place, or arguments that exclude
                each other.
            FileFormatError, ParameterError: as for `to_od`.
        """
        from graphcuts_dp.plotting import flow_maps, flow_tables  # matplotlib is slow to import

        points = flow_pictures.places_of(self, level, locations, coordinates)
        if by is None and panels is not None:
            raise QueryError("panels= says what the pictures of by= are of: add by=")
        if by is not None:
            if period is not None:
                raise QueryError("by= draws all periods: leave period= out")
            panels = panels or (flow_pictures.CELLS if points is None else flow_pictures.PERIODS)
            if panels == flow_pictures.PERIODS:
                return flow_pictures.by_period(self, level, by, points, title)
            if panels != flow_pictures.CELLS or points is not None:
                raise QueryError('panels= is "cells", without places, or "periods"')
            return flow_pictures.over_periods(self, level, by, title)
        picture = flow_pictures.picture_of(self, level, period, title)
        if points is None:
            return flow_tables.heat_map_figure(picture)
        return flow_maps.flow_map_figure(picture, points)

    def to_html(
        self,
        path: PathLike,
        level: str | None = None,
        *,
        locations: Any = None,
        coordinates: Mapping[Label, Sequence[float]] | None = None,
        title: str | None = None,
        force: bool = False,
    ) -> None:
        """Write a page that shows the noisy table of a level in a browser, without any network.

        With places a map with an arrow for each flow that is above 0 for sure, by intervals that
        hold at once, else a matrix. A click, or the arrow keys, shows a number with its interval;
        where there are periods, one is chosen. The page is one file that fetches nothing. It holds
        what it shows and no more: of a map at most 400 flows of each period, of a matrix the groups
        with the largest sums, at most 60 a side; it says so where others are left out.

        Args:
            path: ending in .html.
            level: None for the finest.
            locations: see `plot`.
            coordinates: see `plot`.
            title: of the page; None for "Flows by LEVEL". The guarantee stands below it.
            force: replace a file that is there.

        Raises:
            QueryError: no such level, or a group without a place.
            FileFormatError, ParameterError: locations as for `to_od`; another ending, a missing
                folder, a file that is there, a full disk.
        """
        flow_page.check_html(path, force=force)
        points = flow_pictures.places_of(self, level, locations, coordinates)
        page = flow_page.page_of(flow_pictures.page_data(self, level, points, title))
        with atomic_write(path, force=force) as handle:
            handle.write(page.encode())

    def write_parquet(
        self,
        path: PathLike,
        level: str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        simultaneous: bool = False,
        force: bool = False,
    ) -> None:
        """Write the table of `Flows.to_frame` as a Parquet file; of a seeded run with a `mark`.

        The metadata of the file has the `sentences` as a note. Labels are written as strings if a
        column has both strings and integers.

        Args:
            path: of the file.
            level: None for all levels.
            confidence: of each interval, in (0, 1).
            simultaneous: see `to_frame`.
            force: replace a file that is there.

        Raises:
            QueryError: no such level, or a confidence out of range.
            FileFormatError: the package pyarrow is not installed, a missing folder, a file that is
                there, a full disk.
        """
        check_parquet()
        columns = self.columns(level, confidence=confidence, simultaneous=simultaneous)
        check_writable(path, force=force)
        note = " ".join(self.sentences(simultaneous=simultaneous))
        data = parquet_bytes(self._with_marks(columns), note=note)
        with atomic_write(path, force=force) as handle:
            handle.write(data)

    def to_od(
        self,
        locations: Any = None,
        level: str | None = None,
        *,
        all_cells: bool = False,
        confidence: float = DEFAULT_CONFIDENCE,
        kind: Any = None,
    ) -> Any:
        """Return the flows of a level as flowmap.blue and kepler.gl read them, the largest first.

        Columns: origin, dest, count, estimate, low, high, simultaneous_low, simultaneous_high and
        outside, as in `to_frame`; where there are periods time; with locations also origin_lat,
        origin_lng, dest_lat, dest_lng. Flows without a direction have one row, in either order.

        Args:
            locations: public places of the groups, in degrees: the path of a .csv or .tsv file, or
                a table, with columns id, lat, lon, and perhaps name.
            level: None for the finest.
            all_cells: True for all flows; False for those that the simultaneous intervals prove to
                be above 0. Most others are noise.
            confidence: of the intervals, in (0, 1).
            kind: see `Graph.to_frame`.

        Raises:
            QueryError: no such level, a confidence out of range, or a group without a location.
            FileFormatError: locations that cannot be read.
            ParameterError: locations of another kind; see also `Graph.to_frame`.
        """
        columns = od_tables.od_columns(
            self, locations, level, confidence=confidence, all_cells=all_cells
        )
        return made_frame(columns, kind)

    def to_locations(self, locations: Any, level: str | None = None, *, kind: Any = None) -> Any:
        """Return the positions of the groups of a level for flowmap.blue: id, name, lat, lon.

        Errors as for `to_od`.

        Args:
            locations: public places of the groups, see `to_od`.
            level: of the groups; the finest if None.
            kind: library of the frame, such as `pandas`; the one that is installed if None.
        """
        return made_frame(od_tables.location_columns(self, locations, level), kind)

    def write_od(
        self,
        path: PathLike,
        locations: Any = None,
        level: str | None = None,
        *,
        all_cells: bool = False,
        confidence: float = DEFAULT_CONFIDENCE,
        force: bool = False,
    ) -> tuple[str, ...]:
        """Write the table of `to_od` for a map; of a seeded run with a `mark` in every row.

        Programs that draw maps take the first line of a .csv file for the names of its columns, so
        the `sentences` stand in no line of it. Other files have them as a note.

        Args:
            path: ending in .csv or .parquet, or in .geojson for lines between places (GeoJSON, RFC
                7946; what passes inside a group is a point). Beside a .csv with locations, these
                are written to NAME.locations.csv: the two sheets of flowmap.blue.
            locations: see `to_od`; lines need them.
            level: None for the finest.
            all_cells: see `to_od`.
            confidence: of the intervals, in (0, 1).
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
        known_locations = None if locations is None else od_tables.GroupLocations.of(locations)
        columns = od_tables.od_columns(
            self, known_locations, level, confidence=confidence, all_cells=all_cells
        )
        located = (
            None
            if known_locations is None
            else od_tables.location_columns(self, known_locations, level)
        )
        columns = self._with_marks(columns)
        note = " ".join(self.sentences(simultaneous=True))
        return od_tables.write_od(path, columns, located, note=note, force=force)

    def save(
        self, path: PathLike, *, force: bool = False, spreadsheet: bool = False
    ) -> tuple[str, ...]:
        """Write the table, a receipt, and the measured sums from which all can be made again.

        Args:
            path: of the table, ending in .csv. Its first line is a comment, "# " and the
                `sentences`. The columns are those of `to_frame`, with intervals of the default
                confidence; of a seeded run each row has a `mark` that it is not private. The
                receipt is `path` + ".json", the sums are in `path` + ".noisy.npz".
            force: replace files that are there.
            spreadsheet: put an apostrophe before labels that a spreadsheet would run as formulas.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
        """
        return bundle.save(self.to_parts(), path, force=force, spreadsheet=spreadsheet)

    def _with_marks(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a file without a first line, with `counted` and `mark`."""
        return bundle.marked(bundle.counted(columns, self.counted_sentence), self.guarantee)

    def to_parts(self) -> ResultParts:
        """Return what `save` writes."""
        table: dict[str, Any] = self.columns()
        for name in table.keys() & {*NUMBERS, *ALL_NUMBERS}:
            table[name] = [f"{x:.{_DIGITS}g}" for x in table[name].tolist()]
        strategy, unit = self.strategy, self.noisy.unit
        names = ("total", *self.levels)
        described, sums = self.noisy.parts()
        deviations = zip(names, strategy.deviations, strict=True)
        fields = {
            "workload": strategy.workload,
            "measured": [
                *(names[level_index] for level_index in self.noisy.map.measured_levels),
                *([MARGINS] if self.noisy.map.margins else []),
            ],
            "shares": [[share.numerator, share.denominator] for share in strategy.shares],
            "expected_deviations": {name: deviation * unit for name, deviation in deviations},
            "deviations_in_steps": list(strategy.deviations),
            "intervals": self._intervals_text,
            "sums": described,
        }
        if self.counted_rows is not None:
            fields["counted_rows"] = self.counted_rows.to_fields()
        return ResultParts(
            kind="flows",
            guarantee=self.guarantee,
            fields=fields,
            arrays=sums,
            table=table,
            comment=" ".join(self.sentences()),
        )

    @property
    def _intervals_text(self) -> str:
        """Return in words what the intervals of the table hold for."""
        text = f"{DEFAULT_PERCENT} for each cell by itself"
        max_degree = self.noisy.map.max_degree
        if self.counted_rows is not None:
            return f"{text}; {self.counted_rows.sentence}"
        if max_degree is None:
            return text
        return (
            f"{text}; for the bounded table, in which each vertex counts for at most "
            f"{max_degree:,} in each cell of the finest level: a true cell is never below its "
            "bounded one, and equal where no vertex has more than that in a cell"
        )

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, "flows") as saved:
            return cls.from_saved(saved)

    @classmethod
    def from_saved(cls, saved: SavedParts) -> Self:
        """Return the flows that `to_parts` described.

        Args:
            saved: the parts of a saved result, as `gc.load` reads them.

        Raises:
            GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: the parts are not
                those of flows.
        """
        fields = saved.fields
        noisy = CountMeasurement[CellSums].from_parts("flows", fields["sums"], saved.arrays())
        strategy = FlowStrategy(
            workload=fields["workload"],
            measured_levels=noisy.map.measured_levels,
            shares=tuple(Fraction(*share) for share in fields["shares"]),
            noise=replace(
                noisy.noise, parameters=noisy.noise.parameters[: len(noisy.map.measured_levels)]
            ),
            deviations=tuple(float(deviation) for deviation in fields["deviations_in_steps"]),
            margin_noise=(
                replace(noisy.noise, parameters=noisy.noise.parameters[-1:])
                if noisy.map.margins
                else None
            ),
        )
        counting, stored = noisy.map.counting, fields.get("counted_rows")
        counted_rows = None if stored is None else CountedRows.from_fields(stored)
        if stored is None and counting is not None:  # versions before 0.2.0 did not store it
            counted_rows = CountedRows.of_neighbours(
                saved.guarantee.neighbours, CONTRIBUTED[counting]
            )
        return cls(
            noisy=noisy, strategy=strategy, guarantee=saved.guarantee, counted_rows=counted_rows
        )

    def _answer(self, query: CellSum, confidence: float, simultaneous: bool) -> FlowAnswer:
        """Return the estimate of one combination of cells, as callers get it."""
        options = AnswerOptions(confidence=confidence, simultaneous=simultaneous)
        (answer,) = self.estimate([query], options).queries
        return FlowAnswer(
            estimate=answer.value,
            deviation=0.0 if answer.typical is None else answer.typical,
            interval=answer.interval,
            confidence=confidence,
            simultaneous=simultaneous,
            seeded=not self.guarantee.is_private,
            all_rows=self.all_rows(query, options),
            counted=self.counted_sentence,
        )

    def _picture(self) -> "Figure | None":
        is_small = self.cells.size(self.cells.depth - 1) <= MOST_PICTURED**2
        return self.plot() if is_small else None

    def _card(self) -> Card:
        finest = self.cells.depth - 1
        table = self.rows_of(finest, DEFAULT_CONFIDENCE, False)
        order = np.argsort(-table["estimate"], kind="stable").tolist()
        names = [name for name in table if name not in ("level", "outside")]
        return Card(
            title=f"Flows between groups: {', '.join(self.levels)}",
            facts=(
                *self.guarantee.facts,
                ("noise", self.strategy.noise.distribution),
                ("total", replace(self.total, counted="")),  # the notes say what is counted
            ),
            columns=names,
            rows=[[table[name][row] for name in names] for row in order[:20]],
            size=len(order),
            warning=joined(self.guarantee.warning, self.noise_verdict),
            notes=(
                f"Largest of {len(order):,} cells of level {self.levels[-1]!r}.",
                *self.sentences(),
            ),
        )

    def __repr__(self) -> str:
        trees = [self.groups] if self.periods is None else [self.groups, self.periods]
        levels = [(tree, name) for tree in trees for name in tree.levels]
        counts = ", ".join(f"{len(tree.labels(name))} {name}" for tree, name in levels)
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return f"Flows({counts}, epsilon={self.guarantee.epsilon:g}{mark})"


def _reusable(labels: Picked) -> Picked:
    """Return labels that can be read more than once: an iterator as a list."""
    return labels if isinstance(labels, str) or not isinstance(labels, Iterable) else list(labels)


def _count(labels: Picked) -> int:
    """Return the number of different labels."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        return 1
    return len(set(labels))


def _log_binomial(total: int, chosen: int) -> float:
    """Return the natural logarithm of a binomial coefficient."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)
