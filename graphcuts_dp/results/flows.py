"""The object that a user gets: what passes between public groups, with intervals."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.display import MOST_PICTURED, Card, Displayed
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.answers import nearest_within
from graphcuts_dp.estimate.consistency import LeastSquares, RoundedFlows, rounded_cells
from graphcuts_dp.estimate.measurement import CellSums, Measurement
from graphcuts_dp.estimate.strategy import FlowStrategy
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.files import PathLike
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.privacy.noise import SEEDED_WARNING
from graphcuts_dp.results import bundle
from graphcuts_dp.results.flow_exports import FlowExports
from graphcuts_dp.results.flow_statistics import FlowStatistics
from graphcuts_dp.results.flow_table import (
    ROUNDING,
    checked_failure,
    intervals_text,
    write_table,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Picked = Label | Iterable[Label]


@final
@dataclass(frozen=True, kw_only=True)
class FlowAnswer:
    """The weight between groups, or a linear combination of cells, in units of weight.

    It prints as the possible value with its interval.

    Attributes:
        value: unbiased, so it may be below 0 and beside the interval; values may be added up.
        deviation: standard deviation of its error; exact for Laplace noise, at most that for
            Gaussian noise.
        interval: (low, high), cut to what is possible.
        confidence: that the interval holds the truth, in (0, 1).
        simultaneous: whether the intervals of all cells and combinations hold at once.
        seeded: whether the noise came from a seed, so that the answer is not private.
    """

    value: float
    deviation: float
    interval: tuple[float, float]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False

    @property
    def possible(self) -> float:
        """The value in the interval that is nearest to the estimate: it is biased, but possible."""
        return nearest_within(self.value, self.interval)

    def __str__(self) -> str:
        low, high = self.interval
        scope = f"{self.confidence:.0%}{', all at once' if self.simultaneous else ''}"
        mark = f" [{SEEDED_WARNING}]" if self.seeded else ""
        return f"{self.possible:,.6g} in [{low:,.6g}, {high:,.6g}] ({scope}){mark}"


@final
class Flows(FlowStatistics, FlowExports, Displayed):
    """Noisy weights between public groups of a private graph, on all levels. All may be published.

    The estimates are unbiased and add up over the levels: a cell is the sum of the cells of the
    next level within it. Of one vertex set without directions, the cell (a, b) is the weight of
    the edges between a and b, and (a, a) that of the edges inside a, each edge once.

    Attributes:
        noisy: what was measured: sums with noise, for the levels that got a share.
        strategy: which levels these are, and the shares.
        guarantee: the promise of differential privacy, for all of it together.
    """

    def between(
        self,
        a: Picked,
        b: Picked,
        level: str | None = None,
        *,
        period: Picked | None = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> FlowAnswer:
        """What passes between two groups, or two unions of groups; inside one if they are one.

        Args:
            a: label of a group, or several; they may overlap with b. Every edge counts once.
            b: likewise; of a directed graph where the arcs go, of two sides on the right.
            level: None for the finest.
            period: label of a period of the level, or several; None for all of them together.
            confidence: of the interval, in (0, 1).
            simultaneous: ask for intervals that hold for all pairs of groups at once.

        Raises:
            QueryError: no such level, group or period, or a confidence out of range.
        """
        place = self.cells.place(level)
        wanted = self.cells.picked(place, a, b, period).astype(np.float64)
        return self._answer(place, wanted, confidence, simultaneous, possible=True)

    def linear(
        self,
        coefficients: npt.ArrayLike,
        level: str | None = None,
        *,
        period: Picked | None = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> FlowAnswer:
        """A linear combination of the cells of a level, with its exact variance.

        Args:
            coefficients: one for each cell, shape (groups, groups); symmetric for one vertex set
                without directions, where each cell (a, b) = (b, a) counts once. Or one such matrix
                for each period of the level, shape (periods, groups, groups).
            level: None for the finest.
            period: of one matrix: the periods that it is for; None for all of them together.
            confidence: of the interval, in (0, 1).
            simultaneous: ask for intervals that hold for all combinations at once: the sum of
                |coefficient| times the half widths of the cells. Choose it for coefficients that
                were made after looking at the table.

        Raises:
            QueryError: no such level or period, coefficients that do not fit, or a confidence out
                of range.
        """
        given = np.asarray(coefficients, dtype=np.float64)
        place = self.cells.place(level)
        shape, count = self.cells.shape(place), len(self.cells.lengths(place))
        found = given
        if given.shape == shape:
            found = np.zeros((count, *shape))
            found[self.cells.period_codes(place, period)] = given
        elif period is not None:
            raise QueryError("coefficients for every period need no period=: leave it out")
        if found.shape != (count, *shape) or not np.isfinite(found).all():
            raise QueryError(f"coefficients of this level are finite numbers of shape {shape}")
        if self.cells.symmetric and (found != found.swapaxes(1, 2)).any():
            raise QueryError("coefficients must be symmetric: (a, b) and (b, a) are one cell")
        wanted = found[self.cells.periods_of(place), *self.cells.cells(place)]
        return self._answer(place, wanted, confidence, simultaneous, possible=False)

    def period(self, label: str) -> Self:
        """The table of one of the coarsest periods, as if it had been released alone.

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
        if not self.cells.apart:
            return self
        tree, places = self.cells.of_period(label), self.noisy.map.places
        parts = zip(places, self.noisy.steps, strict=True)
        noisy = replace(
            self.noisy,
            map=replace(self.noisy.map, tree=tree),
            steps=tuple(steps[self.cells.within(place, code)] for place, steps in parts),
        )
        fit = LeastSquares(tree, self.variances)
        deviations = tuple(math.sqrt(float(each.mean())) for each in fit.variances)
        return replace(self, noisy=noisy, strategy=replace(self.strategy, deviations=deviations))

    @cached_property
    def total(self) -> FlowAnswer:
        """The weight of all edges, with a 95 % interval."""
        return self._answer(0, np.ones(1), 0.95, False, possible=True)

    @property
    def table(self) -> Any:
        """All cells of all levels: level, (period,) from, to, value, low, high; see `to_frame`."""
        return self.to_frame()

    def rounded(self) -> RoundedFlows:
        """Whole, non-negative and possible numbers that add up too; biased where cells are small.

        From the top down: of the numbers within [0, what is possible] that add up to their cell,
        those that are nearest to the estimates in least squares, then rounded to whole steps by
        largest remainders. Post-processing of the estimates, which stay as they are.
        """
        return rounded_cells(self.noisy, self.fit, self.estimates)

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the table, a receipt, and the measured sums from which all can be made again.

        Args:
            path: of the table, ending in .csv, with columns level, (period,) from, to, value, low,
                high (intervals of 95 % each); of a seeded run also `mark`, which says in every row
                that it is not private. The receipt is `path` + ".json", the sums are in `path` +
                ".noisy.npz".
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
        """
        tables = [self.rows_of(place, 0.95, False) for place in range(1, self.cells.depth)]
        table = partial(write_table, tables, seeded=not self.guarantee.is_private)
        strategy, unit = self.strategy, self.noisy.unit
        names = ("total", *self.levels)
        described, sums = self.noisy.parts()
        deviations = zip(names, strategy.deviations, strict=True)
        fields = {
            "workload": strategy.workload,
            "measured": [names[place] for place in self.noisy.map.places],
            "shares": [[share.numerator, share.denominator] for share in strategy.shares],
            "expected_deviations": {name: each * unit for name, each in deviations},
            "deviations_in_steps": list(strategy.deviations),
            "intervals": intervals_text(self.noisy.map.degree_bound),
            "sums": described,
        }
        return bundle.save("flows", path, self.guarantee, fields, sums, table=table, force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, "flows") as saved:
            fields = saved.fields
            noisy = Measurement[CellSums].from_parts("flows", fields["sums"], saved.arrays())
            strategy = FlowStrategy(
                workload=fields["workload"],
                places=noisy.map.places,
                shares=tuple(Fraction(*share) for share in fields["shares"]),
                noise=noisy.noise,
                deviations=tuple(float(each) for each in fields["deviations_in_steps"]),
            )
            return cls(noisy=noisy, strategy=strategy, guarantee=saved.guarantee)

    def _answer(
        self,
        place: int,
        wanted: FloatVector,
        confidence: float,
        simultaneous: bool,
        *,
        possible: bool,
    ) -> FlowAnswer:
        failure, noisy = checked_failure(confidence), self.noisy
        spread = self.fit.spread_of(self.fit.coefficients({place: wanted}))
        measured = list(noisy.map.places)
        variance = float(spread.squares[0, measured] @ self.variances[measured])
        value = float(wanted @ self.estimates[place])
        if simultaneous:
            radius = float(np.abs(wanted) @ self._radii(place, confidence, True))
        else:
            steps = error_radii(noisy.noise, noisy.map.places, spread, failure=failure)
            radius = float(steps[0]) * noisy.unit
        lost = wanted * self.lost_by_rounding(place)
        radius += ROUNDING * float(np.abs(wanted) @ np.abs(self.estimates[place]))
        low = np.array([value - radius + np.minimum(lost, 0).sum()])
        high = np.array([value + radius + np.maximum(lost, 0).sum()])
        if possible:
            pairs = self.cells.pairs(place)[wanted > 0].sum(keepdims=True)
            low, high = self._possible(low, high, pairs)
        return FlowAnswer(
            value=value,
            deviation=math.sqrt(variance) * noisy.unit,
            interval=(float(low[0]), float(high[0])),
            confidence=confidence,
            simultaneous=simultaneous,
            seeded=not self.guarantee.is_private,
        )

    def _picture(self) -> "Figure | None":
        few = self.cells.size(self.cells.depth - 1) <= MOST_PICTURED**2
        return self.plot() if few else None

    def _card(self) -> Card:
        place = self.cells.depth - 1
        table = self.rows_of(place, 0.95, True)
        order = np.argsort(-table["value"], kind="stable").tolist()
        names = [name for name in table if name != "level"]
        table["value"] = np.clip(table["value"], table["low"], table["high"])
        return Card(
            title=f"Flows between groups: {', '.join(self.levels)}",
            facts=(
                *self.guarantee.facts,
                ("noise", self.strategy.noise.distribution),
                ("total", self.total),
            ),
            columns=names,
            rows=[[table[name][row] for name in names] for row in order[:20]],
            size=len(order),
            warning=self.guarantee.warning,
            notes=(
                f"Largest of {len(order):,} cells of level {self.levels[-1]!r}.",
                "Intervals of all cells hold at once, 95%; values are the nearest possible ones.",
            ),
        )

    def __repr__(self) -> str:
        trees = [self.groups] if self.periods is None else [self.groups, self.periods]
        levels = [(tree, name) for tree in trees for name in tree.levels]
        counts = ", ".join(f"{len(tree.labels(name))} {name}" for tree, name in levels)
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return f"Flows({counts}, epsilon={self.guarantee.epsilon:g}{mark})"
