"""What an online mechanism is: a state, and a pure step from a state and a query to an answer.

Nothing here touches a disk. Whoever runs a mechanism keeps the states (see `State` for which parts
are secret and which are large), never shows an answer before the state after it is safe, and never
steps twice from one state: a step whose result was lost is followed by `Mechanism.interrupted`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar, final

from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Sign
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee


@final
@dataclass(frozen=True)
class Update:
    """One correction of the hypothesis: all that is needed, with its query, to make it again.

    Attributes:
        sign: +1 when the true answer was found above the hypothesis, -1 below.
        value: noisy true answer that the rule was given, or None. Public.
    """

    sign: Sign
    value: float | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer of a session to one query. All of it may be published.

    Attributes:
        value: the estimate.
        interval: (low, high) that holds the true value. A session cuts it and the value to what
            the query can be: of a cut what its pairs can weigh, from 0 to as many caps, or without
            end where there is none.
        confidence: probability with which the intervals of all guaranteed answers of the session
            hold at once, however the queries were chosen; 1 for what is known for certain.
        guaranteed: false when the mechanism had run out: then the interval is the trivial one,
            all that the query could be.
        updates: corrections of the hypothesis that the query brought about, in order.
        queries_left: guaranteed answers that are left; None when there is no limit.
        updates_left: corrections that are left; None when the mechanism makes none.
        seeded: whether noise came from a seed, so that the answer is not private.
    """

    value: float
    interval: tuple[float, float]
    confidence: float
    guaranteed: bool = True
    updates: tuple[Update, ...] = ()
    queries_left: int | None = None
    updates_left: int | None = None
    seeded: bool = False

    @property
    def updated(self) -> bool:
        """Whether the query corrected the hypothesis."""
        return bool(self.updates)

    def __str__(self) -> str:
        low, high = self.interval
        mark = " [seeded: not private]" if self.seeded else ""
        if not self.guaranteed:
            return f"{self.value:.1f}, no guarantee: the session has run out{mark}"
        scope = f"({self.confidence:.0%}, all queries at once)"
        return f"{self.value:.1f} in [{low:.1f}, {high:.1f}] {scope}{mark}"


class State(Protocol):
    """Where a mechanism stands. Immutable; its repr shows no secret.

    The three byte strings together restore it; each carries a version and a digest.
    """

    @property
    def queries(self) -> int:
        """Answers that were given so far."""

    @property
    def updates(self) -> int:
        """Corrections of the hypothesis so far."""

    @property
    def stopped(self) -> bool:
        """Whether no further answer is guaranteed: `Mechanism.step` refuses."""

    @property
    def public(self) -> bytes:
        """Counters and tuning: small (under 4 KiB), changes with every step. May be exported."""

    @property
    def hypothesis(self) -> bytes:
        """What answers come from: may be large; changes only by updates. May be exported."""

    @property
    def secret(self) -> bytes:
        """Noise that is still in use: small. Whoever reads it can undo the protection."""


S = TypeVar("S", bound=State)


class Mechanism(Protocol[S]):
    """Answers queries about one private graph. All its parameters are public.

    Every mechanism answers cuts; which other queries, `check` tells.
    """

    @property
    def name(self) -> str:
        """The method's name."""

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""

    @property
    def grid(self) -> Grid:
        """How true answers are counted."""

    @property
    def cost(self) -> Cost:
        """What its whole life costs, from start to stop; known before anything is spent."""

    @property
    def needs_truth(self) -> bool:
        """Whether `step` reads the graph; else all of it was read by `start`."""

    def guarantee(self, seed: int | None = None) -> PrivacyGuarantee:
        """What its whole life promises: all that it ever outputs, taken together.

        Args:
            seed: of the noise, or None; a seed voids the promise.
        """

    def expected_error(self, total_weight: float) -> float:
        """`error_bound` of a session on a graph of this total weight, before anything is drawn.

        Exact for methods that do not go by the total weight, and where it is fixed; else as if
        the noise on it were 0.

        Args:
            total_weight: a public guess, > 0.
        """

    def error_bound(self, state: S) -> float:
        """The largest half width of an interval of a cut, in weight: that of the most pairs.

        As far as the guarantee holds, no answer is farther off than this. Rounding of floats, of
        a 10^9th part of the value and of this, comes on top.
        """

    def start(self, graph: AnyGraph, source: EntropySource) -> S:
        """The state before the first query. Reads the graph if the method buys something first.

        Raises:
            ParameterError: the graph is not over this universe and grid.
        """

    def check(self, state: S, query: Question) -> None:
        """Refuse a query that `step` cannot answer. Draws no noise and reads public data alone.

        Raises:
            ExhaustedError: the mechanism has stopped; see `unguaranteed`.
            QueryError: a query that does not fit.
        """

    def step(
        self, state: S, query: Question, truth: int | None, source: EntropySource
    ) -> tuple[S, Answer]:
        """Answer one query.

        A step may correct the hypothesis several times; it is one unit all the same: the state
        and the answer are kept together or not at all.

        Args:
            state: the present one; it must not be used again.
            query: the query.
            truth: `EdgeCounter.counts` of it, exact; ignored (may be None) unless `needs_truth`.
            source: where the noise comes from.

        Returns:
            The next state and the answer. When the mechanism runs out within the step, the state
            is stopped and the answer not guaranteed.

        Raises:
            ExhaustedError, QueryError: as `check`, which it calls first. Any other error, and any
                later one, may tell what the noise was: the step counts as interrupted.
        """

    def interrupted(self, state: S, source: EntropySource) -> S:
        """The state after a step was begun from `state` and its result lost, answer included.

        Noise may have been drawn, even an answer computed. Counts as spent whatever the lost step
        can have used. Also right for a state restored without its secret.
        """

    def unguaranteed(self, state: S, query: Question) -> Answer:
        """An answer from the hypothesis as it stands, free and without guarantee.

        Raises:
            ExhaustedError: the method has no hypothesis to answer from.
            QueryError: a query that does not fit.
        """

    def restore(
        self,
        public: bytes,
        secret: bytes | None,
        hypothesis: bytes | None = None,
        since: Iterable[tuple[Question, Update]] = (),
    ) -> S:
        """The state that these bytes were taken from.

        Args:
            public: `State.public`.
            secret: `State.secret` of the same state; None if it was lost: pass the result to
                `interrupted` before the next step.
            hypothesis: `State.hypothesis`, of this state or an earlier one; None for the first
                state's, when the method makes it without reading the graph.
            since: the updates since then, with their queries, in order; they are made again.

        Raises:
            FileFormatError: bytes that are damaged, do not belong together, or belong to a
                mechanism with other parameters.
        """
