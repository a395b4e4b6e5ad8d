"""Values that statistics of a table of flows return, with their intervals. May be published."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.confidence import INTERVAL_COLUMNS, SIMULTANEOUS_COLUMNS, percent
from graphcuts_dp.estimate.answers import nearest_within
from graphcuts_dp.frames import made_frame
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.schema.vertices import Label


@final
@dataclass(frozen=True, kw_only=True)
class Statistic:
    """A number computed from flows. May be published.

    Attributes:
        name: what it is.
        value: computed from the unbiased estimates, then moved to the nearest number of the
            interval; NaN if the estimated denominator is not above 0.
        interval: (low, high), cut to what is possible; all that is possible if the denominator may
            be 0 under the noise.
        confidence: that the interval holds the truth, in (0, 1).
        seeded: whether the noise came from a seed, so that the number is not private.
        counted: which rows the flows count and what is left out, which the interval does not allow
            for; empty where all count.
    """

    name: str
    value: float
    interval: tuple[float, float]
    confidence: float
    seeded: bool = False
    counted: str = ""

    def __str__(self) -> str:
        low, high = self.interval
        mark = f"; {self.counted}" if self.counted else ""
        mark += f" [{SEEDED_WARNING}]" if self.seeded else ""
        scope = percent(self.confidence)
        return f"{self.name}: {self.value:,.4g} in [{low:,.4g}, {high:,.4g}] ({scope}){mark}"


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LevelStatistic:
    """Numbers for the groups, or for every two groups, of a level. May be published.

    Attributes:
        name: what they are.
        level: of the groups.
        labels: of the groups; of numbers for every two of them those of the rows, and of the
            columns.
        values: see `Statistic.value`, shape (groups,) or (rows, columns).
        low: lower bounds of the intervals, of the same shape.
        high: upper bounds of the intervals, of the same shape.
        confidence: of each interval, or of all of them at once.
        simultaneous: whether all intervals (of cells: of all levels) hold at once.
        seeded: whether the noise came from a seed, so that the numbers are not private.
        counted: which rows the flows count and what is left out; empty where all count.
    """

    name: str
    level: str
    labels: tuple[tuple[Label, ...], ...]
    values: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False
    counted: str = ""

    def to_frame(self, kind: Any = None) -> Any:
        """Return a frame of groups (or from and to), value and interval; see `Graph.to_frame`.

        Its columns are low and high, or simultaneous_low and simultaneous_high.
        """
        labels = np.meshgrid(*(np.array(side, dtype=object) for side in self.labels), indexing="ij")
        label_names = ("group",) if len(labels) == 1 else ("from", "to")
        interval = SIMULTANEOUS_COLUMNS if self.simultaneous else INTERVAL_COLUMNS
        names = (*label_names, "value", *interval)
        columns = (*labels, self.values, self.low, self.high)
        return made_frame(
            {name: column.ravel().tolist() for name, column in zip(names, columns, strict=True)},
            kind,
        )


@final
@dataclass(frozen=True, kw_only=True)
class RankedFlow:
    """A cell among the largest ones.

    Attributes:
        source: label of the group of the row.
        target: label of the group of the column.
        estimate: unbiased, in units of weight; it may lie outside of the interval.
        interval: of the cell; the intervals of all cells of the level hold at once. `value` lies
            in it.
        ranks: the best and the worst rank, from 1, that the cell can have if all intervals hold.
    """

    source: Label
    target: Label
    estimate: float
    interval: tuple[float, float]
    ranks: tuple[int, int]

    @property
    def value(self) -> float:
        """Return the number of the interval that is nearest to the estimate."""
        return nearest_within(self.estimate, self.interval)


@final
@dataclass(frozen=True, kw_only=True)
class TopFlows:
    """The largest flows of a level, in order. May be published.

    Attributes:
        level: of the groups.
        flows: the largest estimate first.
        set_chance: confidence that these are the largest cells, in any order; see
            `Flows.top_flows`.
        order_chance: confidence that these are the largest cells in their true order.
        confidence: of the intervals and the ranks, all at once.
        seeded: whether the noise came from a seed, so that the table is not private.
        counted: which rows the flows count and what is left out; empty where all count.
    """

    level: str
    flows: tuple[RankedFlow, ...]
    set_chance: float
    order_chance: float
    confidence: float
    seeded: bool = False
    counted: str = ""


@final
@dataclass(frozen=True, kw_only=True)
class IndependenceTest:
    """Chi-square against independence of the two endpoints. May be published.

    Attributes:
        statistic: the sum over cells of (estimate - expected)^2/(expected + variance of the noise).
        p_value: share of simulated tables of independent endpoints, with noise of the same law,
            whose statistic is at least as large.
        simulations: number of such tables.
        degrees_of_freedom: of the table without noise, for reference.
        level: of the groups.
        seeded: whether the noise of the flows came from a seed, so that the test is not private.
        counted: which rows the flows count and what is left out; empty where all count.
    """

    statistic: float
    p_value: float
    simulations: int
    degrees_of_freedom: int
    level: str
    seeded: bool = False
    counted: str = ""
