"""A chi-square test against independence that holds its level when the cells are noisy."""

from collections.abc import Callable

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.flows.base import FlowTable
from graphcuts_dp.flows.statistic_values import IndependenceTest
from graphcuts_dp.privacy.entropy import entropy_source

_SCALINGS = 30  # rounds of proportional fitting, where some cells are impossible
_MOST = 10_000_000  # simulated tables


def independence_test(
    flows: FlowTable, level: str | None, simulations: int, counts: bool, seed: int
) -> IndependenceTest:
    """See `FlowStatistics.independence_test`."""
    if flows.noisy.weighted and not counts:
        raise QueryError(
            "chi-square is for counts, and these edges have weights; if each unit of weight is an "
            "observation of its own, pass counts=True"
        )
    if isinstance(simulations, bool) or not isinstance(simulations, int):
        raise QueryError("the number of simulations must be a whole number, for example 999")
    if not 19 <= simulations <= _MOST:
        raise QueryError("the number of simulations must be at least 19 (999 is common)")
    place = flows.cells.place(level)
    table = _Independence(flows, place)
    values = flows.estimates[place]
    statistic, expected = table.statistic(values)
    draw = table.null(expected, seed)
    reached = sum(table.statistic(draw())[0] >= statistic for _ in range(simulations))
    return IndependenceTest(
        statistic=statistic,
        p_value=(1 + reached) / (1 + simulations),
        simulations=simulations,
        degrees_of_freedom=table.degrees_of_freedom,
        level=flows.cells.levels[place - 1],
        seeded=not flows.guarantee.is_private,
    )


class _Independence:
    """The statistic of a level, and tables without dependence."""

    def __init__(self, flows: FlowTable, place: int) -> None:
        self._flows, self._place = flows, place
        cells = flows.cells
        self._a, self._b = cells.cells(place)
        self._shape = cells.shape(place)
        self._variances = flows.fit.variances[place] * flows.noisy.unit**2
        possible = cells.matrix(place, np.ones(len(self._a)))
        self._possible: FloatMatrix | None = None if (possible > 0).all() else possible
        # A cell of one vertex set without directions holds both (a, b) and (b, a).
        twice = cells.symmetric & (self._a != self._b)
        self._half = np.where(cells.symmetric & ~twice, 0.5, 1.0)
        free = len(self._a) - sum(self._shape) + 1
        self.degrees_of_freedom = free + self._shape[0] - 1 if cells.symmetric else free

    def statistic(self, values: FloatVector) -> tuple[float, FloatVector]:
        """The sum, and the expected cells from the margins of the table."""
        expected = self._expected(values)
        off = (values - expected) ** 2 / (expected + self._variances)
        return float(off.sum()), expected

    def _expected(self, values: FloatVector) -> FloatVector:
        left = np.bincount(self._a, weights=values, minlength=self._shape[0])
        right = np.bincount(self._b, weights=values, minlength=self._shape[1])
        if self._flows.cells.symmetric:
            left = right = left + right
        left, right = np.maximum(left, 0), np.maximum(right, 0)
        total = max(float(left.sum()), 1e-300)
        if self._possible is None:
            return left[self._a] * right[self._b] / total * self._half
        rows, columns = left / np.sqrt(total), right / np.sqrt(total)
        for _ in range(_SCALINGS):
            made = rows * (self._possible @ columns)
            factor = np.divide(left, made, out=np.zeros_like(left), where=made > 0)
            if self._flows.cells.symmetric:
                rows = columns = rows * np.sqrt(factor)
                continue
            rows = rows * factor
            made = columns * (self._possible.T @ rows)
            columns *= np.divide(right, made, out=np.zeros_like(right), where=made > 0)
        found: FloatVector = rows[self._a] * columns[self._b] * self._half
        return found

    def null(self, expected: FloatVector, seed: int) -> Callable[[], FloatVector]:
        """Makes estimates of tables with these expected cells, with fresh noise of the same law."""
        flows, noisy = self._flows, self._flows.noisy
        rng = np.random.default_rng(seed)
        source = entropy_source(seed)
        total = round(float(expected.sum()))
        shares = expected / max(float(expected.sum()), 1e-300)

        def draw() -> FloatVector:
            made = rng.multinomial(total, shares) if total else np.zeros(len(shares))
            sums = {}
            for number, place in enumerate(noisy.places):
                sums[place] = noisy.noise.draw(number, flows.cells.size(place), source)
            noise = flows.fit.estimates({p: s.astype(np.float64) for p, s in sums.items()})
            return made + noise[self._place] * noisy.unit

        return draw
