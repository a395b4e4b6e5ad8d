"""Constructions that wait for their tolerance and for the total weight of the graph."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NotRequired, Protocol, TypedDict, Unpack, final

from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.learn.base import Construction, Rule
from graphcuts_dp.learn.block_start import BlockStart, Distance
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.learn.frieze_kannan import frieze_kannan
from graphcuts_dp.learn.median import Median, all_graphs
from graphcuts_dp.learn.multiplicative_weights import multiplicative_weights
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe

# A side, where a matrix of all pairs is held: 8 n^2 bytes are then 512 MiB.
MOST_DENSE_VERTICES = 8192
MOST_PAIRS = 16  # of the median: it lists 2^16 graphs
Learned = Construction[Any]


class ToleranceTerms(TypedDict):
    """What a construction is tuned to; see `Learner.construction`."""

    alpha: float
    total_weight: float
    total_error: float
    value_error: NotRequired[float | None]


class Learner(Protocol):
    """An update rule with its public sizes. Everything about it is in its repr.

    A rule of your own, which `release_iteratively(graph, construction=HalfSteps(universe), ...)`
    takes; `Universe.of(graph)` gives the universe. Privacy does not rest on it; the stated accuracy
    rests on the `update_bound` of its construction::

        @dataclass(frozen=True)
        class HalfSteps:
            universe: Universe
            name: str = "half-steps"

            def construction(self, *, alpha, total_weight, total_error, value_error=None):
                return FriezeKannanRule(
                    start=CutSum.constant(self.universe, total_weight / self.universe.size),
                    alpha=alpha / 2,
                    start_potential=total_weight,
                )

            def check(self, query):
                self.universe.masks(query)

    With a `version` of its own it is also a method of sessions, see `learn.own_learner.OwnLearner`.
    """

    @property
    def name(self) -> str:
        """As users type it."""

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""

    def construction(
        self,
        *,
        alpha: float,
        total_weight: float,
        total_error: float,
        value_error: float | None = None,
    ) -> Learned:
        """The construction tuned to alpha, for weights in [0, 1].

        Args:
            alpha: tolerance.
            total_weight: the total weight, or a noisy value of it, in (0, X].
            total_error: how far the true total may be from `total_weight`, >= 0.
            value_error: how far values given to updates may be off; None means alpha.

        Raises:
            ParameterError: an alpha that is too small for `total_error`.
        """

    def check(self, query: CutQuery) -> None:
        """Refuse queries that a hypothesis could not be updated by.

        Raises:
            QueryError: such a query, or unknown vertices.
        """


@final
@dataclass(frozen=True)
class FriezeKannanLearner:
    """Sums of cuts: for graphs of any size. `disjoint` limits it to queries with disjoint S and T.

    That halves the number of updates: see `learn.frieze_kannan`.
    """

    universe: Universe
    disjoint: bool = False
    rule: Rule = "tight"

    name = "frieze-kannan"

    def construction(self, **terms: Unpack[ToleranceTerms]) -> Learned:
        """See `Learner.construction`."""
        return frieze_kannan(
            self.universe,
            **terms,
            rule=self.rule,
            largest_norm_squared=self.universe.disjoint_norm_squared if self.disjoint else None,
        )

    @property
    def distance(self) -> Distance | None:
        """See `GroupLearner`. The paper's rule starts from nothing."""
        return "squares" if self.rule == "tight" else None

    def potential_scale(self, total_weight: float) -> float:  # noqa: ARG002
        """See `GroupLearner`."""
        return 1.0

    def first(self, start: BlockStart) -> CutSum:
        """See `GroupLearner`."""
        return CutSum(self.universe, start.blocks(len(start.weights)))

    def check(self, query: CutQuery) -> None:
        """See `Learner.check`."""
        self.universe.masks(query)
        if self.disjoint:
            check_disjoint(query, self.universe)


def check_disjoint(query: CutQuery, universe: Universe) -> None:
    """Refuse a cut of which S and T share vertices, where others were announced.

    Raises:
        QueryError: such a cut, or unknown vertices.
    """
    S, T = universe.masks(query)
    if not universe.bipartite and (S & T).any():
        raise QueryError(
            "only cuts with disjoint S and T were announced; start again without disjoint=True"
        )


@final
@dataclass(frozen=True)
class MultiplicativeWeightsLearner:
    """A weight for every pair in the end: for up to 8192 vertices a side.

    Raises:
        ParameterError: more vertices than that.
    """

    universe: Universe
    rule: Rule = "tight"

    def __post_init__(self) -> None:
        if max(self.universe.shape) > MOST_DENSE_VERTICES:
            raise ParameterError(
                f"multiplicative weights hold a number for each pair: up to {MOST_DENSE_VERTICES}"
                " vertices; use construction='frieze-kannan'"
            )

    name = "multiplicative-weights"

    def construction(self, **terms: Unpack[ToleranceTerms]) -> Learned:
        """See `Learner.construction`. No update can make more blocks than there are vertices."""
        return multiplicative_weights(
            self.universe,
            **terms,
            rule=self.rule,
            max_blocks=max(self.universe.shape),
        )

    @property
    def distance(self) -> Distance | None:
        """See `GroupLearner`."""
        return "relative entropy" if self.rule == "tight" else None

    def potential_scale(self, total_weight: float) -> float:  # noqa: ARG002
        """See `GroupLearner`."""
        return 1.0

    def first(self, start: BlockStart) -> BlockHypothesis:
        """See `GroupLearner`."""
        return start.blocks(max(self.universe.shape))

    def check(self, query: CutQuery) -> None:
        """See `Learner.check`."""
        self.universe.masks(query)


@final
@dataclass(frozen=True)
class MedianLearner:
    """The median of all graphs without weights that the answers still allow; at most 16 pairs.

    Sessions ask it statistics of whole graphs, too: see `GraphQuery`.

    Raises:
        ParameterError: more pairs than that, or none.
    """

    universe: Universe

    def __post_init__(self) -> None:
        if not 1 <= self.universe.size <= MOST_PAIRS:
            raise ParameterError(
                f"the median lists all graphs: up to {MOST_PAIRS} vertex pairs; use"
                " multiplicative-weights or frieze-kannan"
            )

    name = "median"

    def construction(self, **terms: Unpack[ToleranceTerms]) -> Learned:
        """See `Learner.construction`: the total weight plays no part."""
        return Median(start=_every_graph(self.universe), alpha=terms["alpha"], lenient=True)

    def check(self, query: CutQuery) -> None:
        """See `Learner.check`."""
        self.universe.masks(query)


_every_graph = lru_cache(maxsize=4)(all_graphs)
