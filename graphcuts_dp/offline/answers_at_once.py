"""A few cuts answered at once, with K-norm noise: pure privacy, less noise than one by one.

What is released comes first: answers, a picture, files; then what is bought, and how.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Self, final

import numpy as np

from graphcuts_dp.display import Card, Displayed, size_text
from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.estimate.answers import AnswerList, whole_query
from graphcuts_dp.estimate.noisy_matrix import CutAnswer
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.pairs.layout import possible_part
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.linear_steps import as_cut
from graphcuts_dp.pairs.mixed_cuts import understood
from graphcuts_dp.pairs.queries import CutQuery, RankOneQuery, Subset
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, promise_text
from graphcuts_dp.privacy.level_noise import NORMS, KNormNoise
from graphcuts_dp.results import bundle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from dataclasses import replace

import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntMatrix
from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.owned_rows import PrivateData, paired_graph
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import hidden_change
from graphcuts_dp.privacy.level_noise import MOST_COUNTS
from graphcuts_dp.privacy.protection import EDGE, Protect

_KIND = "answers"


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FewAnswers(Displayed):
    """Answers to a list of cuts that were bought together. All of it may be published.

    Attributes:
        queries: the list.
        values: the noisy answers in weight, in order.
        guarantee: the promise of differential privacy.
        noise: "k-norm" or "laplace".
        law: the distribution of the noise, in steps of the grid.
        grid: how cuts were counted.
        confidence: of all intervals at once, in (0, 1), where none is asked for.
    """

    queries: CutList
    values: tuple[float, ...]
    guarantee: PrivacyGuarantee
    noise: str
    law: KNormNoise
    grid: Grid
    confidence: float

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.queries.universe

    @cached_property
    def answers(self) -> AnswerList:
        """`CutAnswer` for each cut, in order; the intervals hold for all of them at once."""
        return self.answer_all(self.queries)

    @cached_property
    def radius(self) -> float:
        """By how much noise has moved any answer, in weight, but for 1 - confidence."""
        return self.radius_at(self.confidence)

    def radius_at(self, confidence: float) -> float:
        """By how much noise has moved any answer, in weight, with this probability for all at once.

        Half the length of every interval, before it is cut to what is possible.

        Args:
            confidence: in (0, 1).

        Raises:
            ParameterError: confidence out of range.
        """
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence must be between 0 and 1, not {confidence}")
        # 1 - confidence, rounded down
        return self.law.radius(math.nextafter(1 - confidence, 0)) * self.grid.unit

    def answer(
        self,
        S: Subset | LinearQuery,
        T: Subset | None = None,
        *,
        confidence: float | None = None,
    ) -> CutAnswer:
        """The answer to a cut of the list; free, as often as you like.

        Args:
            S: vertex labels or a truth vector, or a whole query.
            T: likewise; None for all vertices outside S (all right ones).
            confidence: of the intervals of all cuts of the list at once, in (0, 1); None for that
                of the release.

        Raises:
            ParameterError: confidence out of range.
            QueryError: an unknown vertex, or a query that is not in the list.
        """
        return self.answer_all([whole_query(S, T)], confidence=confidence)[0]

    def answer_all(
        self, queries: Iterable[LinearQuery], *, confidence: float | None = None
    ) -> AnswerList:
        """Answer several cuts of the list; see `answer`."""
        level = self.confidence if confidence is None else confidence
        radius = self.radius if confidence is None else self.radius_at(level)
        made = AnswerList()
        for query in queries:
            place = self._place(query)
            pairs = self.universe.pairs_between(self.queries[place])
            value = self.values[place]
            ends = value - radius, value + radius + self.grid.rounding(pairs)
            made.append(
                CutAnswer(
                    value=value,
                    interval=possible_part(ends, self.grid.most(pairs)),
                    confidence=level,
                    together=len(self.queries),
                    seeded=not self.guarantee.is_private,
                )
            )
        return made

    def _place(self, query: LinearQuery) -> int:
        """Where a query stands in the list."""
        space = self.universe.space
        known = understood(query, space)
        if isinstance(known, RankOneQuery):
            known = as_cut(known, space) or known
        place = self.queries.find(known) if isinstance(known, CutQuery) else None
        if place is None:
            raise QueryError(
                f"only the {len(self.queries):,} cuts of the list were answered, and this query is"
                " none of them"
            )
        return place

    def plot(self, *, title: str | None = None) -> "Figure":
        """Draw the answers with their intervals, in order.

        Args:
            title: above the picture, before the guarantee.

        Returns:
            A figure of matplotlib.
        """
        from graphcuts_dp.plotting.answer_lists import answer_list_figure  # slow: matplotlib

        ends = np.array([answer.interval for answer in self.answers])
        return answer_list_figure(
            values=np.array(self.values),
            low=ends[:, 0],
            high=ends[:, 1],
            title=f"{title or 'Cuts'} ({promise_text(self.guarantee)})",
            across=f"cut, in the order of the list; {self.confidence:.0%} for all at once",
        )

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the cuts and their answers at `path`, a receipt at `path` + ".json".

        Args:
            path: where; it ends in .npz.
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        grid, (S, T) = self.grid, self.queries.words
        fields = {
            "noise": self.noise,
            "rate": str(self.law.rate),
            "weight": self.law.weight,
            "confidence": self.confidence,
            "error": self.radius,
            "queries": len(self.queries),
            "grid": {"unit": grid.unit, "sensitivity": grid.sensitivity, "cap": grid.cap},
            **bundle.space_fields(self.universe.space),
        }
        arrays = {"S": S, "T": T, "values": self.values, "facets": self.law.facets}
        return bundle.save(_KIND, path, self.guarantee, fields, arrays, force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, _KIND) as saved:
            fields, arrays = saved.fields, saved.arrays()
            made = cls(
                queries=CutList.of_words(Universe.over(saved.space), arrays["S"], arrays["T"]),
                values=tuple(arrays["values"].tolist()),
                guarantee=saved.guarantee,
                noise=fields["noise"],
                law=KNormNoise(arrays["facets"], fields["weight"], Fraction(fields["rate"])),
                grid=Grid(**fields["grid"]),
                confidence=fields["confidence"],
            )
            counts = {len(made.values), len(made.queries), made.law.counts}
            if len(counts) > 1 or made.noise not in NORMS:
                raise ValueError("answers to other cuts")
            made.radius  # noqa: B018  # refuses what is no confidence
            return made

    def _card(self) -> Card:
        return Card(
            title=f"{len(self.values):,} answers",
            facts=(
                ("vertices", size_text(self.universe.shape)),
                ("noise", self.noise),
                ("off by at most", f"{self.radius:,.5g}"),
                *self.guarantee.facts,
            ),
            warning=self.guarantee.warning,
        )

    def __repr__(self) -> str:
        mark = f", {self.guarantee.warning}" if self.guarantee.warning else ""
        return (
            f"FewAnswers({len(self.values)} cuts, epsilon={self.guarantee.epsilon:g}, "
            f"noise={self.noise!r}{mark})"
        )


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
        protect: whom the promise is for: "edges", see `Protect.of`.
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
    protection: Protect = EDGE,
) -> Buying:
    """What `release_answers` buys for one step of a protection. Reads the graph's schema only.

    Raises:
        ParameterError: as `release_answers`.
        GraphError: likewise.
        QueryError: likewise.
    """
    if not isinstance(graph, AnyGraph):
        raise GraphError("the first argument must be a Graph; make one by Graph.of, or read_graph")
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
