"""How a mechanism that learns counts the answer to a query, and what it tells of it."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, final

from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.graph_queries import GraphQuery
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.linear_steps import Extent, LinearSteps, pair_coefficients
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.promises import pairs_of

_BITS = 24  # the largest answer of one pair has 2^24 to 2^25 steps, where any queries come


@final
@dataclass(frozen=True, kw_only=True)
class Counting:
    """In which steps a mechanism that learns counts, for queries of largest coefficient 1.

    Attributes:
        step: weight of one step.
        sensitivity: by how many steps an answer can change with one pair's weight.
        unit: how many steps one unit of a hypothesis is; a unit is what a pair can weigh.
        times: what a cut's count in steps of the grid is multiplied with;
        over: and the product, or a count of `linear_count`, is divided by, rounded down.
    """

    step: float
    sensitivity: int
    unit: Fraction
    times: int = 1
    over: int = 1

    @classmethod
    def of(cls, grid: Grid, *, linear: bool) -> Self:
        """Of cuts the steps of the grid; of any linear queries steps fine enough for coefficients.

        The exact count of a linear query has 2^30 steps for the largest coefficient times those of
        the weight. It is divided by a power of two and rounded down, which keeps a bound on its
        change: floor(b) - floor(a) <= ceil(b - a) for b >= a.
        """
        if not linear:
            return cls(step=grid.unit, sensitivity=grid.sensitivity, unit=Fraction(grid.largest))
        times = LinearSteps.most
        exact = times * grid.sensitivity
        over = 1 << max(0, exact.bit_length() - 1 - _BITS)
        return cls(
            step=grid.unit * (over / times),
            sensitivity=-(-exact // over),
            unit=Fraction(times * grid.largest, over),
            times=times,
            over=over,
        )


@final
@dataclass(frozen=True, kw_only=True)
class Asked:
    """A query as a mechanism that learns sees it.

    Attributes:
        query: what it learns from: of largest coefficient 1, in whole steps of 2^-30.
        scale: what its answers are multiplied with: the largest coefficient.
        times: see `Counting`; 1 where the count has the steps of coefficients already.
        over: likewise.
        lowered: by how much rounding may have raised the count, in weight.
        raised: by how much it may have lowered it.
        possible: what the answer can be on any graph.
    """

    query: LinearQuery | GraphQuery
    scale: float = 1.0
    times: int = 1
    over: int = 1
    lowered: float = 0.0
    raised: float = 0.0
    possible: tuple[float, float]

    @classmethod
    def of(
        cls,
        query: LinearQuery | GraphQuery,
        universe: Universe,
        grid: Grid,
        counting: Counting,
    ) -> Self | None:
        """From what was asked. None where the answer is 0 on every graph.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        if isinstance(query, CutQuery | GraphQuery):
            pairs = pairs_of(query, universe)
            if not pairs:
                return None
            return cls(
                query=query,
                times=counting.times,
                over=counting.over,
                raised=grid.rounding(pairs) + _lost(counting),
                possible=(0.0, grid.most(pairs)),
            )
        extent = Extent.of(query, universe.space)
        if not extent.largest:
            return None
        steps = LinearSteps(extent)
        counted = steps.steps(pair_coefficients(query, universe.space))
        rounded = steps.rounding(universe.size, grid.cap)
        # Weights are rounded down by less than a step, so negative coefficients raise the count.
        down = grid.unit if grid.weighted else 0.0
        return cls(
            query=MatrixQuery(counted * 2.0**-30),
            scale=extent.largest,
            over=counting.over,
            lowered=rounded + down * extent.negative,
            raised=rounded + down * extent.positive + _lost(counting) * extent.largest,
            possible=extent.possible(grid.cap),
        )

    def count(self, truth: int) -> int:
        """The true answer in the steps of `Counting`, from what `EdgeCounter` counts. Private."""
        return truth * self.times // self.over

    def told(self, answer: Answer) -> Answer:
        """An answer of the mechanism, about what was asked."""
        if not answer.guaranteed:
            return replace(answer, value=answer.value * self.scale, interval=self.possible)
        low, high = (end * self.scale for end in answer.interval)
        return replace(
            answer,
            value=answer.value * self.scale,
            interval=(low - self.lowered, high + self.raised),
        )


def _lost(counting: Counting) -> float:
    """What rounding the count down can take away, in weight."""
    return counting.step if counting.over > 1 else 0.0
