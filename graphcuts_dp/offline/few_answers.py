"""A few cuts answered at once, with K-norm noise: pure privacy, less noise than one by one."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntMatrix
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.owned_rows import PrivateData
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.measure.parted import paired_graph
from graphcuts_dp.offline.answers_at_once import FewAnswers
from graphcuts_dp.offline.cut_list import CutList
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change
from graphcuts_dp.privacy.k_norm import MOST_COUNTS, NORMS, KNormNoise
from graphcuts_dp.privacy.protection import EDGE, Protection

MOST_ANSWERS = 1000
_COARSER = 1 << 20  # steps of a grid that make one here: a weight at the cap has about 2^10


def release_answers(
    graph: PrivateData,
    queries: Iterable[CutQuery],
    *,
    epsilon: float,
    noise: str = "auto",
    confidence: float = 0.95,
    protect: str = "edges",
    at_most: int | None = None,
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> FewAnswers:
    """Answer a few cuts at once, purely privately.

    Args:
        graph: the private graph; weights need a public cap.
        queries: a public list of cuts, 1 to 1000 of them.
        epsilon: privacy parameter for all answers together, for whom `protect` names, in
            [1e-6, 50]; all of it is spent.
        noise: "k-norm" (at most 6 cuts): noise in the shape of what one pair can change of all
            answers; "laplace": independent noise, for the largest number of cuts that one pair is
            in; "auto": the one that promises shorter intervals.
        confidence: of all intervals at once, in (0, 1).
        protect: whom the promise is for: "edges", see `Protection.of`.
        at_most: of edges: how many may change together, 1 if omitted.
        store: see `release_graph`.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.

    Raises:
        ParameterError: a number out of range, an unknown noise, too many cuts for it, or weights
            without a public cap.
        GraphError: something else than a graph, or one without pairs.
        QueryError: a query that is no cut of the graph.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP at edge level: the counts change by a column of the matrix of queries,
        times at most `Grid.sensitivity` steps of one weight, which `KNormNoise` hides; columns and
        noise are made from the vertices and the queries alone.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> made = gc.release_answers(club, [gc.CutQuery([0]), gc.CutQuery([33])], epsilon=1.0)
        >>> low, high = made.answer([33]).interval  # both intervals hold with 95%

    Source: Hardt, Talwar 2010; GRU12, Table 1 (the K-norm mechanism).
    """
    private = graph
    graph, protection = paired_graph(private, protect, at_most=at_most, epsilon=epsilon)
    buying = buying_of(
        graph, queries, epsilon=epsilon, noise=noise, confidence=confidence, protection=protection
    )
    source = entropy_source(seed)
    cost = protection.cost(buying.cost, epsilon=epsilon)
    promised = PrivacyGuarantee(
        epsilon=buying.cost.epsilon,
        neighbours=hidden_change(
            weighted=graph.weighted,
            weight_cap=buying.grid.cap,
            directed=buying.queries.universe.directed,
        ),
        public=buying.queries.universe.public + ", the queries",
        seed=seed,
    )
    guarantee = protection.promise(promised, cost)
    with charged(
        store,
        private,
        kind="answers",
        parameters={"queries": len(buying.queries), "noise": buying.name},
        cost=cost,
        guarantee=guarantee,
    ):
        values = buying.values(graph, source)
    return buying.answered(values, guarantee)


@final
@dataclass(frozen=True, kw_only=True)
class Buying:
    """What is bought, from public numbers alone.

    Attributes:
        queries: the list.
        grid: how cuts are counted, coarser than `Grid.of` where there are weights.
        noise: on the counts, in steps.
        name: of the noise.
        confidence: of the intervals.
    """

    queries: CutList
    grid: Grid
    noise: KNormNoise
    name: str
    confidence: float

    @property
    def cost(self) -> Cost:
        """For one pair."""
        return self.noise.cost(self.grid.sensitivity)

    @cached_property
    def radius(self) -> float:
        """By how much noise may move any answer, in weight, but for 1 - confidence."""
        return self.noise.radius(math.nextafter(1 - self.confidence, 0)) * self.grid.unit

    def values(self, graph: AnyGraph, source: EntropySource) -> list[float]:
        """The noisy answers in weight; the only place that reads the graph."""
        counts = self.queries.counts(graph, self.grid)
        return [float(noisy * self.grid.unit) for noisy in counts + self.noise.draw(source)]

    def answered(self, values: list[float], guarantee: PrivacyGuarantee) -> FewAnswers:
        """What is released."""
        return FewAnswers(
            queries=self.queries,
            values=tuple(values),
            guarantee=guarantee,
            noise=self.name,
            law=self.noise,
            grid=self.grid,
            confidence=self.confidence,
        )


def buying_of(
    graph: AnyGraph,
    queries: Iterable[CutQuery],
    *,
    epsilon: float,
    noise: str = "auto",
    confidence: float = 0.95,
    protection: Protection = EDGE,
) -> Buying:
    """What `release_answers` buys for one step of a protection. Reads the graph's schema only.

    Raises:
        ParameterError: as `release_answers`.
        GraphError: likewise.
        QueryError: likewise.
    """
    if not isinstance(graph, AnyGraph):
        raise GraphError("the first argument must be a Graph; build one with read_graph")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be between 0 and 1, not {confidence}")
    if noise not in ("auto", *NORMS):
        raise ParameterError(f"unknown noise {noise!r:.40}; choose one of auto, {', '.join(NORMS)}")
    universe = Universe.of(graph)
    if not universe.size:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to answer")
    listed = queries if isinstance(queries, CutList) else CutList(universe, queries)
    if listed.universe != universe:
        raise ParameterError("the queries are for other vertices than the graph's")
    if len(listed) > MOST_ANSWERS:
        raise ParameterError(f"at most {MOST_ANSWERS} cuts are answered at once; use release_graph")
    grid = _coarse(Grid.of(graph))
    rate = Fraction(protection.per_step(epsilon)) / grid.sensitivity
    columns = columns_of(listed)
    names = [noise] if noise != "auto" else [*NORMS] if len(listed) <= MOST_COUNTS else ["laplace"]
    found = [
        Buying(
            queries=listed,
            grid=grid,
            noise=KNormNoise.of_columns(columns, rate, norm=name),
            name=name,
            confidence=confidence,
        )
        for name in names
    ]
    return min(found, key=lambda buying: buying.radius)


def columns_of(queries: CutList) -> IntMatrix:
    """Which cuts count a pair, for every two kinds of vertices that there are; shape (c, k).

    A kind of vertex is told by the sets of the list that it is in. Where only one vertex is of a
    kind, two such make no pair; their column does no harm.
    """
    S, T = (
        np.array([query_masks[side] for query_masks in map(queries.universe.masks, queries)])
        for side in (0, 1)
    )
    symmetric = queries.universe.symmetric
    k = len(queries)
    rows = np.unique(np.concatenate([S, T]).T if symmetric else S.T, axis=0)
    others = rows if symmetric else np.unique(T.T, axis=0)
    found: set[bytes] = set()
    for row in rows:
        here = _either(row, others, k) if symmetric else row & others
        found |= {column.tobytes() for column in np.unique(here, axis=0)}
    columns = [np.frombuffer(column, dtype=np.bool_) for column in sorted(found)]
    return np.array(columns).astype(np.int64)


def _either(row: BoolVector, others: npt.NDArray[np.bool_], k: int) -> npt.NDArray[np.bool_]:
    """Which cuts have one vertex in S and the other in T, either way round."""
    return (row[:k] & others[:, k:]) | (row[k:] & others[:, :k])


def _coarse(grid: Grid) -> Grid:
    if grid.cap is None:
        raise ParameterError("answers need a public weight_cap; read the graph with one")
    if not grid.weighted:
        return grid
    return replace(grid, unit=grid.unit * _COARSER, sensitivity=-(-grid.sensitivity // _COARSER))
