"""True answers, private, of many queries at once; and what a count tells, from public numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.graph_queries import GraphQuery, Question
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.linear_steps import Extent, LinearSteps, exact_sums
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe

_WORD = 8  # queries that one pass over the edges answers
_EDGES = 1 << 15  # edges at a time: their bytes stay in the cache


@final
class EdgeCounter:
    """Counts edges in cuts; keeps what can be computed once for a graph.

    Each vertex gets a byte with one bit for each of 8 queries, so that a pass over the edges
    answers all of them: an edge's byte says which cuts it crosses, and a histogram of the bytes
    gives all counts. Integers only. Graphs with weights, and bounded cuts,
    are answered query by query.

    Args:
        graph: the private graph.
        grid: how answers are counted.
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
        """The true answers, in order: of cuts and statistics in steps, of others `linear_count`.

        Raises:
            QueryError: a query that does not fit the graph.
        """
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        if len(cuts) == len(queries):
            return self._cuts(cuts)
        counted = iter(self._cuts(cuts))
        return [
            next(counted) if isinstance(query, CutQuery) else self._one(query) for query in queries
        ]

    def _cuts(self, queries: Sequence[CutQuery]) -> list[int]:
        if self._graph.weighted or self._grid.bounded is not None:
            return [self._grid.count(query, self._graph) for query in queries]
        answers: list[int] = []
        for start in range(0, len(queries), _WORD):
            answers += self._word(queries[start : start + _WORD])
        return answers

    def _one(self, query: Question) -> int:
        if not isinstance(query, GraphQuery):
            return linear_count(query, self._graph, self._grid)
        if self._grid.bounded is not None:
            raise QueryError(f"{query.statistic!r} cannot hide all edges of a vertex: ask for cuts")
        return query.value(self._graph) // query.sensitivity(self._graph.space)

    def _word(self, queries: Sequence[CutQuery]) -> list[int]:
        masks = [query.masks(self._graph) for query in queries]
        S = _columns_of_bits([S for S, _ in masks])
        T = _columns_of_bits([T for _, T in masks])
        plain = isinstance(self._graph, Graph)
        cut = plain and all(query.T is None for query in queries)
        histogram = np.zeros(1 << _WORD, dtype=np.int64)
        for start in range(0, len(self._rows), _EDGES):
            rows, columns = (ends[start : start + _EDGES] for ends in (self._rows, self._columns))
            if cut:
                words = S[rows] ^ S[columns]
            else:
                words = S[rows] & T[columns]
                if plain:
                    words |= T[rows] & S[columns]
            if len(queries) == 1:
                histogram[1] += np.count_nonzero(words)
            else:
                histogram += np.bincount(words, minlength=len(histogram))
        values = np.arange(len(histogram))
        return [int(histogram[values >> bit & 1 == 1].sum()) for bit in range(len(queries))]


def linear_count(query: LinearQuery, graph: AnyGraph, grid: Grid) -> int:
    """The true answer in steps of `LinearSteps` times steps of the grid, exactly. Private.

    If one pair's weight changes by at most d steps of the grid, the count changes by at most
    `LinearSteps.most` times d, up or down: the steps of a pair's coefficient do not depend on the
    graph, and those of its weight change by at most d.

    Raises:
        QueryError: a query that does not fit the graph, or bounded cuts.
    """
    if grid.bounded is not None:
        raise QueryError(BOUNDED)
    extent = Extent.of(query, graph.space)
    if not extent.largest:
        return 0
    found = query.coefficients_at(graph.rows, graph.columns, graph.space)
    coefficients, weights = LinearSteps(extent).steps(found), grid.edge_steps(graph)
    if weights is None:  # fewer than 2^32 edges of 2^30 steps
        return int(coefficients.sum())
    return exact_sums(coefficients[None, :], weights)[0]


@final
@dataclass(frozen=True, kw_only=True)
class Counted:
    """How a query is counted, from public numbers alone.

    Attributes:
        steps: of its coefficients, and 2^30 of them the largest; None of cuts and statistics, which
            are counted in steps of the grid alone.
        largest: coefficient of a pair.
        step: weight of one step of the count.
        lowered: by how much rounding may have raised the count, in weight.
        raised: by how much it may have lowered it.
        possible: what the answer can be on any graph.
    """

    steps: LinearSteps | None = None
    largest: float = 1.0
    step: float
    lowered: float = 0.0
    raised: float
    possible: tuple[float, float]

    @classmethod
    def of(cls, query: Question, universe: Universe, grid: Grid) -> "Counted | None":
        """None where the answer is 0 on every graph.

        Raises:
            QueryError: a query that does not fit, or another one than a bounded cut where such are
                counted, or coefficients whose rounding nobody can bound.
        """
        if isinstance(query, CutQuery | GraphQuery):
            pairs = pairs_of(query, universe)
            possible, raised = (0.0, grid.most(pairs)), grid.rounding(pairs)
            return cls(step=grid.unit, raised=raised, possible=possible) if pairs else None
        if grid.bounded is not None:
            raise QueryError(BOUNDED)
        extent = Extent.of(query, universe.space)
        if not extent.largest:
            return None
        steps = LinearSteps(extent)
        rounded = steps.rounding(universe.size, grid.cap)
        # Weights are rounded down by less than a step, so negative coefficients raise the count.
        down = grid.unit if grid.weighted else 0.0
        return cls(
            steps=steps,
            largest=extent.largest,
            step=steps.unit * grid.unit,
            lowered=rounded + down * extent.negative,
            raised=rounded + down * extent.positive,
            possible=extent.possible(grid.cap),
        )


def pairs_of(query: CutQuery | GraphQuery, universe: Universe) -> int:
    """How many pairs a cut has; of a statistic of the whole graph its largest number of steps.

    Raises:
        QueryError: unknown vertices, or another query.
    """
    if isinstance(query, GraphQuery):
        query.check(universe.space)
        return -(-query.largest(universe.space) // query.sensitivity(universe.space))
    return universe.pairs_between(query)


BOUNDED = (
    "a session with protect='vertex' answers bounded cuts: for other queries nobody has a bound on"
    " what one vertex can change; ask for cuts, or protect edges or owners"
)


def _columns_of_bits(masks: list[BoolVector]) -> npt.NDArray[np.uint8]:
    words = np.zeros(len(masks[0]), dtype=np.uint8)
    for bit, mask in enumerate(masks):
        words |= mask.view(np.uint8) << np.uint8(bit)
    return words
