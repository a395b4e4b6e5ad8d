"""What statistics of flows come as: one number, a number for each group, one for each cell."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.tables.frames import made_frame


@final
@dataclass(frozen=True, kw_only=True)
class Statistic:
    """A number computed from flows. May be published.

    Attributes:
        name: what it is.
        value: of the unbiased estimates put in; not unbiased itself, and NaN where the estimated
            denominator is not above 0.
        interval: (low, high), cut to what is possible; all that is possible where the noise hides
            whether the denominator is 0.
        confidence: that the interval holds the truth, in (0, 1).
        seeded: whether the noise came from a seed, so that the number is not private.
    """

    name: str
    value: float
    interval: tuple[float, float]
    confidence: float
    seeded: bool = False

    def __str__(self) -> str:
        low, high = self.interval
        mark = f" [{SEEDED_WARNING}]" if self.seeded else ""
        return (
            f"{self.name}: {self.value:,.4g} in [{low:,.4g}, {high:,.4g}] "
            f"({self.confidence:.0%}){mark}"
        )


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class GroupStatistic:
    """A number for each group of a level. May be published.

    Attributes:
        name: what it is.
        level: of the groups.
        labels: of the groups.
        values: shape (groups,); see `Statistic.value`.
        low: of the intervals, likewise.
        high: likewise.
        confidence: of each interval, or of all of them at once.
        simultaneous: whether all intervals hold at once.
        seeded: whether the noise came from a seed, so that the numbers are not private.
    """

    name: str
    level: str
    labels: tuple[Label, ...]
    values: FloatVector
    low: FloatVector
    high: FloatVector
    confidence: float
    simultaneous: bool = False
    seeded: bool = False

    def to_frame(self, kind: Any = None) -> Any:
        """A table, as `Graph.to_frame`, with columns group, value, low, high."""
        numbers = {"value": self.values, "low": self.low, "high": self.high}
        return made_frame({"group": list(self.labels), **numbers}, kind)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CellStatistic:
    """A number for each two groups of a level. May be published.

    Attributes:
        name: what it is.
        level: of the groups.
        rows: labels of the groups of the rows.
        columns: of the columns.
        values: shape (rows, columns).
        low: of the intervals, likewise.
        high: likewise.
        confidence: of each interval, or of all of them at once.
        simultaneous: whether all intervals of all levels hold at once.
        seeded: whether the noise came from a seed, so that the numbers are not private.
    """

    name: str
    level: str
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    values: FloatMatrix
    low: FloatMatrix
    high: FloatMatrix
    confidence: float
    simultaneous: bool = False
    seeded: bool = False

    def to_frame(self, kind: Any = None) -> Any:
        """A table, as `Graph.to_frame`, with columns from, to, value, low, high."""
        return made_frame(
            {
                "from": np.repeat(np.array(self.rows, dtype=object), len(self.columns)),
                "to": np.tile(np.array(self.columns, dtype=object), len(self.rows)),
                "value": self.values.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
            },
            kind,
        )


@final
@dataclass(frozen=True, kw_only=True)
class RankedFlow:
    """A cell among the largest ones.

    Attributes:
        source: label of the group of the row.
        target: of the column.
        value: the unbiased estimate, in units of weight.
        interval: of the cell; the intervals of all cells of the level hold at once.
        ranks: the best and the worst place that the cell can have, from 1, on these intervals.
    """

    source: Label
    target: Label
    value: float
    interval: tuple[float, float]
    ranks: tuple[int, int]


@final
@dataclass(frozen=True, kw_only=True)
class TopFlows:
    """The largest flows of a level, in order. May be published.

    Attributes:
        level: of the groups.
        flows: from the largest estimate on.
        set_chance: confidence that these are the largest cells, in any order; see
            `Flows.top_flows`.
        order_chance: likewise that this is their true order.
        confidence: of the intervals and the ranks, all at once.
        seeded: whether the noise came from a seed, so that the table is not private.
    """

    level: str
    flows: tuple[RankedFlow, ...]
    set_chance: float
    order_chance: float
    confidence: float
    seeded: bool = False


@final
@dataclass(frozen=True, kw_only=True)
class IndependenceTest:
    """Chi-square against independence of the two ends. May be published.

    Attributes:
        statistic: the sum over cells of (estimate - expected)^2/(expected + variance of the noise).
        p_value: how often tables without dependence, with noise of the same law, reach it.
        simulations: number of such tables.
        degrees_of_freedom: of the table without noise, for reference.
        level: of the groups.
        seeded: whether the noise of the flows came from a seed, so that the test is not private.
    """

    statistic: float
    p_value: float
    simulations: int
    degrees_of_freedom: int
    level: str
    seeded: bool = False
