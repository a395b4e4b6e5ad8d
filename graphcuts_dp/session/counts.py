"""Exact counts of the true answers of sessions, on public grids.

`EdgeCounter` counts the true answers, which are private. `QueryCount` is the meaning of the count
of a query, from public numbers, and `CountUnits` are the units in which a mechanism that learns
counts all of its queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.grid import DIGIT_BITS, Grid
from graphcuts_dp.queries.coefficients import CoefficientGrid, Extent, exact_sums
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.queries.universe import Universe

BOUNDED_CUTS_ONLY = (
    "a session with privacy_unit='vertex' answers bounded cuts: no bound is known on what one "
    "vertex can change of other queries; ask for cuts, or take privacy_unit='edge' or 'user'"
)
_QUERIES_A_PASS = 8  # cuts that one pass over the edges answers, one bit of a byte each
_EDGES_A_CHUNK = 1 << 15  # edges at a time: their bytes stay in the cache
# If a mechanism answers all linear queries, one pair changes an answer by up to 2^24 to 2^25 count
# units.
_SENSITIVITY_BITS = 24


@final
class EdgeCounter:
    """Count the true answers of queries about one private graph.

    Each vertex gets a byte with one bit for each of 8 cuts, so that one pass over the edges counts
    all of them: an edge's byte shows which cuts it crosses, and a histogram of the bytes has all
    counts. Graphs with weights, and bounded cuts, are counted query by query. Integers only.

    Args:
        graph: the private graph.
        grid: the grid on which weights are counted.
    """

    def __init__(self, graph: AnyGraph, grid: Grid) -> None:
        self._graph = graph
        self._grid = grid
        # Index arrays of the platform's size: numpy would convert others at each use.
        self._rows = graph.rows.astype(np.intp)
        self._columns = graph.columns.astype(np.intp)

    def __repr__(self) -> str:
        return "EdgeCounter()"

    def counts(self, queries: Sequence[Question]) -> list[int]:
        """Return the true answers, in order: cuts and statistics in grid units, see `QueryCount`.

        Raises:
            QueryError: a query that does not fit the graph.
        """
        cuts = iter(self._count_cuts([query for query in queries if isinstance(query, CutQuery)]))
        return [
            next(cuts) if isinstance(query, CutQuery) else self._count(query) for query in queries
        ]

    def _count_cuts(self, queries: Sequence[CutQuery]) -> list[int]:
        """Return the true answers of cuts."""
        if self._graph.weighted or self._grid.bounded is not None:
            return [self._grid.count(query, self._graph) for query in queries]
        answers: list[int] = []
        for start in range(0, len(queries), _QUERIES_A_PASS):
            answers += self._count_in_one_pass(queries[start : start + _QUERIES_A_PASS])
        return answers

    def _count(self, query: Question) -> int:
        """Return the true answer of a query that is no cut."""
        if not isinstance(query, GraphQuery):
            return linear_count(query, self._graph, self._grid)
        if self._grid.bounded is not None:
            raise QueryError(f"{query.statistic!r} cannot hide all edges of a vertex: ask for cuts")
        return query.value(self._graph) // query.sensitivity(self._graph.space)

    def _count_in_one_pass(self, queries: Sequence[CutQuery]) -> list[int]:
        """Return the counts of at most 8 cuts, by one pass over the edges."""
        masks = [query.masks(self._graph.space) for query in queries]
        S, T = (_bytes_of_vertices(side) for side in zip(*masks, strict=True))
        undirected = isinstance(self._graph, Graph)
        are_complements = undirected and all(query.T is None for query in queries)
        histogram = np.zeros(1 << _QUERIES_A_PASS, dtype=np.int64)
        for start in range(0, len(self._rows), _EDGES_A_CHUNK):
            chunk = slice(start, start + _EDGES_A_CHUNK)
            rows, columns = self._rows[chunk], self._columns[chunk]
            if are_complements:  # half as many bytes are looked up
                crossed = S[rows] ^ S[columns]
            else:
                crossed = S[rows] & T[columns]
                if undirected:
                    crossed |= T[rows] & S[columns]
            if len(queries) == 1:  # a third of the time of a histogram
                histogram[1] += np.count_nonzero(crossed)
            else:
                histogram += np.bincount(crossed, minlength=len(histogram))
        values = np.arange(len(histogram))
        return [int(histogram[values >> bit & 1 == 1].sum()) for bit in range(len(queries))]


@final
@dataclass(frozen=True, kw_only=True)
class QueryCount:
    """The meaning of the exact count of a query, from public numbers alone.

    Attributes:
        coefficient_grid: the grid of the query's coefficients, on which the largest has 2^30 units;
            None for cuts and statistics, which are counted in grid units alone.
        largest: the largest coefficient of a pair.
        unit: weight of one unit of the count.
        excess: largest amount by which rounding may have raised the count, in weight.
        deficit: largest amount by which rounding may have lowered the count, in weight.
        possible: the range of the answer over all graphs.
        sensitivity: of a `GraphQuery`; the count is the statistic divided by it, rounded down. 1
            for other queries.
    """

    coefficient_grid: CoefficientGrid | None = None
    largest: float = 1.0
    unit: float
    excess: float = 0.0
    deficit: float
    possible: tuple[float, float]
    sensitivity: int = 1

    @classmethod
    def of(cls, query: Question, universe: Universe, grid: Grid) -> "QueryCount | None":
        """Return how a query is counted; None if its answer is 0 on every graph.

        Raises:
            QueryError: a query that does not fit, another query than a cut if cuts are bounded, or
                coefficients whose rounding error has no bound.
        """
        if isinstance(query, CutQuery):
            pairs = universe.pairs_between(query)
            if not pairs:
                return None
            return cls(
                unit=grid.unit, deficit=grid.rounding(pairs), possible=(0.0, grid.most(pairs))
            )
        if isinstance(query, GraphQuery):
            query.check(universe.space)
            largest = query.largest(universe.space)
            sensitivity = query.sensitivity(universe.space)
            if not largest:
                return None
            return cls(
                unit=grid.unit,
                deficit=grid.rounding(-(-largest // sensitivity)),
                possible=(0.0, grid.most(largest)),
                sensitivity=sensitivity,
            )
        if grid.bounded is not None:
            raise QueryError(BOUNDED_CUTS_ONLY)
        extent = Extent.of(query, universe.space)
        if not extent.largest:
            return None
        coefficient_grid = CoefficientGrid(extent)
        coefficient_error = coefficient_grid.rounding_error(universe.size, grid.cap)
        # Weights are rounded down by less than a unit, so negative coefficients raise the count.
        weight_error = grid.unit if grid.weighted else 0.0
        return cls(
            coefficient_grid=coefficient_grid,
            largest=extent.largest,
            unit=coefficient_grid.unit * grid.unit,
            excess=coefficient_error + weight_error * extent.negative,
            deficit=coefficient_error + weight_error * extent.positive,
            possible=extent.possible(grid.cap),
        )


@final
@dataclass(frozen=True, kw_only=True)
class CountUnits:
    """The units in which a mechanism that learns counts queries with largest coefficient 1.

    A count of `EdgeCounter` is converted into count units: for cuts it is (count * multiplier) //
    divisor; for other linear queries count // divisor, since `linear_count` has multiplied it.

    Attributes:
        unit: weight of one count unit.
        sensitivity: largest change of an answer by one pair's weight, in count units.
        per_pair: the largest weight of a pair in count units. Hypotheses have that weight as unit.
        multiplier: as above.
        divisor: as above; a power of two.
    """

    unit: float
    sensitivity: int
    per_pair: Fraction
    multiplier: int = 1
    divisor: int = 1

    @classmethod
    def of(cls, grid: Grid, *, linear: bool) -> Self:
        """Return grid units if only cuts are counted, else units fine enough for linear queries.

        The exact count of a linear query has 2^30 units for the largest coefficient times those of
        the weight. It is divided by a power of two and rounded down, which keeps a bound on its
        change: floor(b) - floor(a) <= ceil(b - a) for b >= a.
        """
        if not linear:
            return cls(
                unit=grid.unit, sensitivity=grid.sensitivity, per_pair=Fraction(grid.largest)
            )
        multiplier = CoefficientGrid.max_units
        exact = multiplier * grid.sensitivity
        divisor = 1 << max(0, exact.bit_length() - 1 - _SENSITIVITY_BITS)
        return cls(
            unit=grid.unit * (divisor / multiplier),
            sensitivity=-(-exact // divisor),
            per_pair=Fraction(multiplier * grid.largest, divisor),
            multiplier=multiplier,
            divisor=divisor,
        )

    def count(self, truth: int, query: QueryCount) -> int:
        """Return a true answer of `EdgeCounter` in count units. Private.

        Args:
            truth: the count of `EdgeCounter`.
            query: the meaning of that count.
        """
        return truth * (1 if query.coefficient_grid else self.multiplier) // self.divisor


def linear_count(query: LinearQuery, graph: AnyGraph, grid: Grid) -> int:
    """Return the true answer in units of `CoefficientGrid` times grid units, exactly. Private.

    If one pair's weight changes by at most d grid units, the count changes by at most
    `CoefficientGrid.max_units` times d, up or down: the units of a pair's coefficient do not depend
    on the graph, and those of its weight change by at most d.

    Raises:
        QueryError: a query that does not fit the graph, or bounded cuts.
    """
    if grid.bounded is not None:
        raise QueryError(BOUNDED_CUTS_ONLY)
    extent = Extent.of(query, graph.space)
    if not extent.largest:
        return 0
    coefficients = CoefficientGrid(extent).grid_units(
        query.coefficients_at(graph.rows, graph.columns, graph.space)
    )
    if not graph.weighted:  # fewer than 2^32 edges of 2^30 units
        return int(coefficients.sum())
    digits = grid.digits_of(graph.weights)
    sums = [exact_sums(coefficients[None, :], digit)[0] for digit in digits]
    return sum(total << (DIGIT_BITS * position) for position, total in enumerate(sums))


def _bytes_of_vertices(masks: Sequence[BoolVector]) -> npt.NDArray[np.uint8]:
    """Return a byte for each vertex, with a bit for each mask.

    Faster than numpy's `packbits`, which goes vertex by vertex here.
    """
    words = np.zeros(len(masks[0]), dtype=np.uint8)
    for bit, mask in enumerate(masks):
        words |= mask.view(np.uint8) << np.uint8(bit)
    return words
