"""Estimate what passes between public groups in any window of time: `FlowsOverTime`.

All of it is post-processing of noisy numbers that were published with the periods so far:
`estimate.time_strategy` says which numbers these are, `estimate.time_estimator` has the estimates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, DEFAULT_PERCENT
from graphcuts_dp.display import Card, Displayed, joined
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.counted_rows import CountedRows
from graphcuts_dp.estimate.estimator import check_confidence
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.estimate.time_estimator import SumsOverTime, TimeEstimator, stacked_numbers
from graphcuts_dp.files import PathLike
from graphcuts_dp.frames import made_frame
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results import bundle, flow_pictures
from graphcuts_dp.results.flow_table import noise_verdict
from graphcuts_dp.results.flows import FlowAnswer
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.schema.cells import CellTree, Picked
from graphcuts_dp.schema.periods import Periods, around
from graphcuts_dp.schema.vertices import Label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "flows over time"  # of the measurement, and of the kind of files
_DIGITS = 10  # significant ones of the numbers in the saved table
_RANGE = ".."
_MOST_SHOWN = 20  # rows of the table in a notebook
_NOTE_ON_LONGER_SPANS = (
    "Longer spans than the periods are measured, too, so that sums over many periods are sharper; "
    "--strategy independent spends all of epsilon on the periods."
)


@final
class Window(NamedTuple):
    """Periods that follow each other, of those that are published.

    Attributes:
        first: index of the first one.
        stop: index after the last one.
    """

    first: int
    stop: int


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class FlowsOverTime(Displayed):
    """Noisy weights between public groups in the periods so far. All may be published.

    Estimates are unbiased, add up over windows of periods, and are the least squares of all that is
    published: each further period makes those of earlier windows more accurate, or leaves them as
    they are.

    Attributes:
        noisy: what was published, see `SumsOverTime`.
        guarantee: of differential privacy, for all periods of the horizon together.
        counted_rows: which rows count, where a bound on users (or on the weight of a row) leaves
            out others; None where all count.

    Examples:
        >>> import pandas, pathlib, tempfile
        >>> trips = pandas.DataFrame(
        ...     [("a", "b", "2026-01-17"), ("b", "b", "2026-02-03")],
        ...     columns=["source", "target", "date"],
        ... )
        >>> rows = gc.Rows.of(
        ...     trips,
        ...     columns=gc.Columns(period="date"),
        ...     vertices=["a", "b"],
        ...     periods="2026-01..2030-12",
        ... )
        >>> zones = gc.Groups(gc.VertexSet(["a", "b"]), {"zone": ["a", "b"]})
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "trips.db"
        >>> for month in ("2026-01", "2026-02"):
        ...     flows = gc.update_flows(rows, zones, period=month, epsilon=1.0, store=store)
        >>> flows.periods
        ('2026-01', '2026-02')
        >>> answer = flows.between("a", "b", "2026-01..2026-02")
        >>> answer.interval[0] <= answer.value <= answer.interval[1]
        True
    """

    noisy: CountMeasurement[SumsOverTime]
    guarantee: PrivacyGuarantee
    counted_rows: CountedRows | None = None

    @property
    def cells(self) -> CellTree:
        """Return the public cells."""
        return self.noisy.map.cells

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels of groups, from the coarsest to the finest."""
        return self.cells.levels

    def labels(self, level: str | None) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
        """Return the labels of a level: those of the rows and those of the columns.

        Args:
            level: of the groups; the finest if None.
        """
        left, right = self.cells.names(self.cells.level_index(level))
        return self.cells.rows.labels(left), self.cells.columns.labels(right)

    @property
    def periods(self) -> tuple[str, ...]:
        """Labels of the periods that are published, in the order of time."""
        return self.horizon[: self.noisy.map.published]

    @property
    def horizon(self) -> tuple[str, ...]:
        """Labels of all periods that the guarantee is for."""
        return self.noisy.map.strategy.periods

    @property
    def strategy(self) -> str:
        """Name of what is published with each period: see `TIME_STRATEGIES`."""
        return self.noisy.map.strategy.name

    @property
    def counted_sentence(self) -> str:
        """Return a sentence on the rows that count and those left out; empty if all count."""
        counted = "" if self.counted_rows is None else self.counted_rows.sentence
        return "; ".join(filter(None, (counted, self.trend_warning)))

    @property
    def trend_warning(self) -> str:
        """Return a warning, without its full stop, if later periods count fewer rows; else ""."""
        if self.counted_rows is None:
            return ""
        return self.counted_rows.trend_warning(len(self.horizon), Periods(self.horizon).by)

    @cached_property
    def estimator(self) -> TimeEstimator:
        """Return the least squares by which windows are estimated."""
        return TimeEstimator.of(self.noisy)

    @cached_property
    def _numbers(self) -> FloatMatrix:
        """Return the published numbers, in grid units, shape (numbers, cells)."""
        return stacked_numbers(self.noisy)

    def window(self, periods: str | Sequence[str] | None = None) -> Window:
        """Return the window of the periods that a text or a list of labels names.

        Args:
            periods: one label, "2026-03"; a range, "2026-01..2026-12"; a coarser date, "2026", for
                its periods that are published; a list of labels that follow each other; None for
                all that are published.

        Raises:
            QueryError: no such periods, or some that are not published, that do not follow each
                other, or in a range that ends before it begins.
        """
        known = {label: index for index, label in enumerate(self.periods)}
        if periods is None:
            return Window(0, len(known))
        labels = [periods] if isinstance(periods, str) else list(periods)
        if len(labels) == 1 and _RANGE in labels[0] and labels[0] not in known:
            first, _, last = (part.strip() for part in labels[0].partition(_RANGE))
            window = Window(self.window(first).first, self.window(last).stop)
            if window.first >= window.stop:
                raise QueryError(f"{labels[0]!r:.60} ends before it begins: name the earlier first")
            return window
        if len(labels) == 1 and labels[0] not in known:
            indices_inside = [known[label] for label in known if labels[0] in around(label)]
            if not indices_inside:
                raise QueryError(self._not_published(labels[0]))
            return Window(indices_inside[0], indices_inside[-1] + 1)
        if not labels:
            raise QueryError("a window has at least one period: name it, or take all by None")
        missing = [label for label in labels if label not in known]
        if missing:
            raise QueryError(self._not_published(missing[0]))
        indices = [known[label] for label in labels]
        if indices != list(range(indices[0], indices[-1] + 1)):
            raise QueryError("the periods of a window follow each other: add up several windows")
        return Window(indices[0], indices[-1] + 1)

    def _not_published(self, label: str) -> str:
        """Return the message that a period is not published."""
        published = self.periods
        shown = published[0] if len(published) == 1 else f"{published[0]} to {published[-1]}"
        return f"{label!r:.60} is not published; the periods so far are {shown}"

    def between(
        self,
        a: Picked,
        b: Picked,
        periods: str | Sequence[str] | None = None,
        *,
        level: str | None = None,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> FlowAnswer:
        """Estimate what passes between two groups, or two unions of groups, in a window of periods.

        Args:
            a: label of a group, or several; they may overlap with b. Every row counts once.
            b: label of a group, or several; of directed rows those of their targets.
            periods: see `window`; None for the running total, all periods so far.
            level: of the groups; None for the finest.
            confidence: of the interval, in (0, 1).

        Raises:
            QueryError: no such level, group or periods, or a confidence out of range.
        """
        cells = self.cells
        level_index = cells.level_index(level)
        picked: BoolVector = cells.picked(level_index, a, b)
        for finer in range(level_index + 1, cells.depth):
            picked = picked[cells.parents(finer)]
        return self._answer(picked, self.window(periods), confidence)

    def total(
        self, periods: str | Sequence[str] | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> FlowAnswer:
        """Estimate what passes between all groups in a window of periods.

        Args:
            periods: see `window`.
            confidence: of the interval, in (0, 1).

        Raises:
            QueryError: no such periods, or a confidence out of range.
        """
        everything = np.ones(self.noisy.map.size, dtype=np.bool_)
        return self._answer(everything, self.window(periods), confidence)

    def _answer(self, picked: BoolVector, window: Window, confidence: float) -> FlowAnswer:
        """Return the estimate of the sum of some finest cells in a window."""
        check_confidence(confidence)
        numbers, unit = self._numbers[:, picked], self.noisy.unit
        count = int(picked.sum())
        estimate = float(self.estimator.estimates(numbers, *window).sum()) * unit
        radius = 0.0
        if count:
            radius = self.estimator.radius(*window, count, failure=1 - confidence)
            radius += float(self.estimator.slack(numbers, *window).sum())
        low, high = (max(0.0, estimate + sign * radius * unit) for sign in (-1, 1))
        return FlowAnswer(
            estimate=estimate,
            deviation=self.estimator.deviation(*window) * count**0.5 * unit,
            interval=(low, high),
            confidence=confidence,
            seeded=not self.guarantee.is_private,
            all_rows=(low, None) if self.counted_rows is not None else None,
            counted=self.counted_sentence,
        )

    @property
    def windows(self) -> dict[str, Window]:
        """Return the windows of the table by name: each period, each year, all periods so far."""
        name_of = {Window(index, index + 1): label for index, label in enumerate(self.periods)}
        # A window that is already named, such as a year with one period, keeps its name.
        for year in dict.fromkeys(around(label)[0] for label in self.periods):
            window = self.window(year)
            name_of.setdefault(window, self._name(window, year))
        everything = self.window()
        name_of.setdefault(everything, self._name(everything, ""))
        return {name: window for window, name in name_of.items()}

    def _name(self, window: Window, year: str) -> str:
        """Return the name of a window: a year, or a range if not all of the year is published.

        Args:
            window: the window.
            year: that contains all of it; "" if none does.
        """
        labels = self.periods[window.first : window.stop]
        if year and sum(year in around(label) for label in self.horizon) == len(labels):
            return year
        return labels[0] if len(labels) == 1 else f"{labels[0]}{_RANGE}{labels[-1]}"

    def columns(
        self,
        periods: str | Iterable[str] | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> dict[str, Any]:
        """Return the cells of windows: periods, from, to, estimate, deviation, low and high.

        Args:
            periods: names of windows, see `window`; None for those of `windows`.
            confidence: of each interval, in (0, 1).

        Raises:
            QueryError: no such periods, or a confidence out of range.
        """
        check_confidence(confidence)
        windows = self.windows
        if periods is not None:
            names = [periods] if isinstance(periods, str) else list(periods)
            if not names:
                raise QueryError("a table has at least one window: name it, or take all by None")
            windows = {name: self.window(name) for name in names}
        unit, (row_labels, column_labels) = self.noisy.unit, self.labels(None)
        row_codes, column_codes = self.cells.cells(self.cells.depth - 1)
        size = len(row_codes)
        estimates, deviations, radii = [], [], []
        for window in windows.values():
            estimates.append(self.estimator.estimates(self._numbers, *window))
            deviations.append(np.full(size, self.estimator.deviation(*window)))
            radius = self.estimator.radius(*window, 1, failure=1 - confidence)
            radii.append(radius + self.estimator.slack(self._numbers, *window))
        values, widths = np.concatenate(estimates) * unit, np.concatenate(radii) * unit
        return {
            "periods": np.repeat(np.array(list(windows), dtype=object), size),
            "from": np.array(
                [row_labels[code] for code in row_codes.tolist()] * len(windows), dtype=object
            ),
            "to": np.array(
                [column_labels[code] for code in column_codes.tolist()] * len(windows), dtype=object
            ),
            "estimate": values,
            "deviation": np.concatenate(deviations) * unit,
            "low": np.maximum(0.0, values - widths),
            "high": np.maximum(0.0, values + widths),
        }

    @property
    def noise_verdict(self) -> str:
        """Return a sentence if most numbers of the latest period are noise; else ""."""
        latest = self.periods[-1]
        low = self.columns(latest)["low"]
        return noise_verdict(int((low <= 0).sum()), len(low), f"the table of {latest}")

    def to_frame(
        self,
        periods: str | Iterable[str] | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        kind: Any = None,
    ) -> Any:
        """Return the table of `columns` as a frame.

        Args:
            periods: names of windows; None for each period, each year, and all periods so far.
            confidence: of each interval, in (0, 1).
            kind: see `Graph.to_frame`.

        Raises:
            QueryError: no such periods, or a confidence out of range.
            ParameterError: see `Graph.to_frame`.
        """
        return made_frame(self.columns(periods, confidence=confidence), kind)

    def plot(self, *, title: str | None = None) -> "Figure":
        """Draw the largest cells over the periods so far, as a figure of matplotlib.

        A dark band has the intervals of the table, each for its number alone; the pale one those of
        all cells and periods at once.

        Args:
            title: None for one with the name of the finest level; the guarantee is added.
        """
        return flow_pictures.series_over_periods(self, title)

    def sentences(self) -> tuple[str, ...]:
        """Return sentences that every reader of the table needs."""
        counted = self.counted_sentence
        published = f"{len(self.periods)} of {len(self.horizon)} periods are published"
        return (
            *([f"{counted[:1].upper()}{counted[1:]}."] if counted else []),
            f"Intervals are {DEFAULT_PERCENT} for each cell and window by itself.",
            f"{published}; the guarantee is for all of them together.",
        )

    def save(
        self, path: PathLike, *, force: bool = False, spreadsheet: bool = False
    ) -> tuple[str, ...]:
        """Write the table, a receipt, and the published numbers from which all can be made again.

        Args:
            path: of the table, ending in .csv. Its first line is a comment, "# " and the
                `sentences`; the columns are those of `columns`. The receipt is `path` + ".json",
                the numbers are in `path` + ".noisy.npz".
            force: replace files that are there, such as those of the period before.
            spreadsheet: put an apostrophe before labels that a spreadsheet would run as formulas.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
        """
        return bundle.save(self.to_parts(), path, force=force, spreadsheet=spreadsheet)

    def to_parts(self) -> ResultParts:
        """Return what `save` writes."""
        table = self.columns()
        for name in ("estimate", "deviation", "low", "high"):
            table[name] = [f"{number:.{_DIGITS}g}" for number in table[name].tolist()]
        described, numbers = self.noisy.parts()
        fields: dict[str, Any] = {"published": list(self.periods), "sums": described}
        if self.counted_rows is not None:
            sentence = {"sentence": self.counted_sentence}
            fields["counted_rows"] = self.counted_rows.to_fields() | sentence
        return ResultParts(
            kind=NAME,
            guarantee=self.guarantee,
            fields=fields,
            arrays=numbers,
            table=table,
            comment=" ".join(self.sentences()),
        )

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, NAME) as saved:
            return cls.from_saved(saved)

    @classmethod
    def from_saved(cls, saved: SavedParts) -> Self:
        """Return the flows that `to_parts` described.

        Args:
            saved: the parts of a saved result, as `gc.load` reads them.

        Raises:
            GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: the parts are not
                those of flows over time.
        """
        fields = saved.fields
        noisy = CountMeasurement[SumsOverTime].from_parts(NAME, fields["sums"], saved.arrays())
        if not isinstance(noisy.map, SumsOverTime):
            raise ValueError("there are other sums")
        stored = fields.get("counted_rows")
        return cls(
            noisy=noisy,
            guarantee=saved.guarantee,
            counted_rows=None if stored is None else CountedRows.from_fields(stored),
        )

    def _card(self) -> Card:
        table = self.columns(self.periods[-1])
        order = np.argsort(-table["estimate"], kind="stable").tolist()
        return Card(
            title=f"Flows over time: {', '.join(self.levels)}",
            facts=(
                ("periods", f"{len(self.periods)} of {len(self.horizon)}"),
                ("strategy", self.strategy),
                ("noise", self.noisy.noise_name),
                *self.guarantee.facts,
                ("total so far", self.total()),
            ),
            columns=list(table),
            rows=[[table[name][row] for name in table] for row in order[:_MOST_SHOWN]],
            size=len(order),
            warning=joined(self.guarantee.warning, self.noise_verdict),
            notes=(
                f"Largest cells of {self.periods[-1]}.",
                *self.sentences(),
                *((_NOTE_ON_LONGER_SPANS,) if len(self.guarantee.spent) > 1 else ()),
            ),
        )

    def __repr__(self) -> str:
        groups = ", ".join(
            f"{len(self.cells.rows.labels(name))} {name}" for name in self.cells.rows.levels
        )
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        periods = f"{len(self.periods)} of {len(self.horizon)} periods"
        return f"FlowsOverTime({groups}, {periods}, epsilon={self.guarantee.epsilon:g}{mark})"
