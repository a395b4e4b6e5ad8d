"""What a mechanism of a session is: a state, and a pure step from a state and a query to an answer.

Nothing here touches a disk. Whoever runs a mechanism (`runner`) keeps the states, never shows an
answer before the state after it is safe, and never steps twice from one state: a step whose result
was lost is followed by `SessionMechanism.interrupted`.

A new session method is a subclass of `CutMechanism` with its state, a frozen dataclass, and an
option object in `terms.METHODS`. A mechanism over other private data than a graph inherits
`SessionMechanism`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar, final

from graphcuts_dp.confidence import percent
from graphcuts_dp.errors import ExhaustedError, ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Sign
from graphcuts_dp.ledger.plain_values import plain
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, change_of_one_pair
from graphcuts_dp.queries.graph_queries import Question, require_linear
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.session.queries import Counted, EdgeCounter, EncodedQuery, decode_query


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

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> import pathlib, tempfile
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "club.db"
        >>> with gc.open_session(club, store=store, epsilon=1.0, queries=10) as session:
        ...     answer = session.ask([0, 1], [2, 3])
        >>> low, high = answer.interval
        >>> low <= answer.value <= high, answer.queries_left
        (True, 9)
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
        scope = f"({percent(self.confidence)}, all queries at once)"
        return f"{self.value:.1f} in [{low:.1f}, {high:.1f}] {scope}{mark}"


ANSWERED = "the session has given all the answers that it guaranteed; start another one"
NOTHING = Answer(value=0.0, interval=(0.0, 0.0), confidence=1.0)  # to a cut without pairs


class State(Protocol):
    """Where a mechanism stands: a frozen dataclass, kept by its fields; no secret in its repr."""

    @property
    def queries(self) -> int:
        """Answers that were given so far, lost ones among them."""

    @property
    def stopped(self) -> bool:
        """Whether no further answer is guaranteed: `SessionMechanism.step` refuses."""


Q = TypeVar("Q")
S = TypeVar("S", bound=State)


class SessionMechanism(ABC, Generic[Q, S]):
    """Answers queries about private data. All its parameters are public.

    Attributes:
        name: the method's.
        version: of what it does: a state of another version is refused.
        state: the class of its states.
    """

    name: str
    version = 1
    state: type[Any]

    @property
    def parameters(self) -> Any:
        """Plain values by name: a state of a mechanism with others is refused."""
        return plain(self)

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What its whole life costs, from start to stop; known before anything is spent."""

    @abstractmethod
    def start(self, data: Any, source: EntropySource) -> S:
        """The state before the first query. Reads the data if the method buys something first.

        Args:
            data: the private data.
            source: where the noise comes from.

        Raises:
            ParameterError: data that it was not made for.
        """

    def counter(self, data: Any) -> Callable[[Sequence[Q]], Sequence[int | None]]:  # noqa: ARG002
        """What tells, exactly and without noise, what steps need of the private data: nothing."""
        return lambda queries: [None] * len(queries)

    @abstractmethod
    def check(self, state: S, query: Q) -> None:
        """Refuse a query that `step` cannot answer. Draws no noise and reads public data alone.

        Raises:
            ExhaustedError: the mechanism has stopped; see `unguaranteed`.
            QueryError: a query that does not fit.
        """

    @abstractmethod
    def step(
        self, state: S, query: Q, truth: int | None, source: EntropySource
    ) -> tuple[S, Answer]:
        """Answer one query.

        A step may correct the hypothesis several times; it is one unit all the same: the state
        and the answer are kept together or not at all.

        Args:
            state: the present one; it must not be used again.
            query: the query.
            truth: what `counter` tells of it.
            source: where the noise comes from.

        Returns:
            The next state and the answer. When the mechanism runs out within the step, the state
            is stopped and the answer not guaranteed.

        Raises:
            ExhaustedError, QueryError: as `check`. Any other error, and any later one, may tell
                what the noise was: the step counts as interrupted.
        """

    def interrupted(self, state: S, source: EntropySource) -> S:  # noqa: ARG002
        """The state after a step was begun from `state` and its result lost, answer included.

        Noise may have been drawn, even an answer computed. Counts as spent whatever the lost step
        can have used. Also right for a state restored without its secret.

        Here, that nothing was: right where a step reads public data only.

        Args:
            state: from which the step was begun.
            source: where the noise comes from.
        """
        return state

    def unguaranteed(self, state: S, query: Q) -> Answer:  # noqa: ARG002
        """An answer from what was learnt so far, free and without guarantee.

        Args:
            state: the present one.
            query: a query of the universe.

        Raises:
            ExhaustedError: the method has learnt nothing to answer from.
            QueryError: a query that does not fit.
        """
        raise ExhaustedError(
            f"method {self.name!r} keeps nothing to answer from; start another one"
        )

    def recorded(self, key: Any, answer: Answer) -> Answer:  # noqa: ARG002
        """An answer as it is recorded and shown. Post-processing with public numbers."""
        return answer

    def learnt(self, state: S) -> bytes | None:  # noqa: ARG002
        """What answers come from, where it is large and changes only by corrections.

        It may be exported. None: all that is learnt is in the state.
        """
        return None

    def decoded(self, data: bytes, content: Callable[[bytes], bytes]) -> Any:  # noqa: ARG002
        """The query of these bytes, whose long parts `content` gives by their SHA-256."""
        return data

    def resumed(
        self,
        state: S,
        data: Any,  # noqa: ARG002
        learnt: bytes,  # noqa: ARG002
        since: Sequence[tuple[Any, Update]] = (),  # noqa: ARG002
    ) -> S:
        """A state of `read_state`, with what lies apart made again.

        Args:
            state: without it.
            data: private.
            learnt: of this state or an earlier one; empty where nothing is kept.
            since: the updates since then, with their queries, in order; they are made again.

        Raises:
            FileFormatError: bytes that are damaged or do not belong together.
        """
        return state


class CutMechanism(SessionMechanism[Question, S]):
    """Answers queries about one private graph. Each answers cuts; which others, `check` tells.

    Attributes:
        universe: the public vertex pairs.
        grid: how true answers are counted.
        needs_truth: whether `step` reads the graph; else all of it was read by `start`.
    """

    universe: Universe
    grid: Grid
    needs_truth = True

    @property
    def budget_plan(self) -> BudgetPlan:
        """How the cost is spent: on the answers, and on what is measured before them."""
        return BudgetPlan.of_one("answers", self.name, self.cost)

    def guarantee(self, seed: int | None = None) -> PrivacyGuarantee:
        """What its whole life guarantees: all that it ever outputs, taken together.

        Args:
            seed: of the noise, or None; a seed voids the guarantee.
        """
        universe, grid = self.universe, self.grid
        capped = ", the maximum weight" if grid.weighted and grid.cap is not None else ""
        bounded = "" if grid.bounded is None else ", the degree bound"
        return PrivacyGuarantee(
            epsilon=self.cost.epsilon,
            delta=self.cost.delta,
            neighbours=change_of_one_pair(
                weighted=grid.weighted, max_weight=grid.cap, directed=universe.directed
            ),
            public=universe.public + capped + bounded,
            seed=seed,
            budget_plan=self.budget_plan.with_certain_runs(),
        )

    @abstractmethod
    def expected_error(self, total_weight: float) -> float:
        """`error_bound` of a session on a graph of this total weight, before anything is drawn.

        Exact for methods that do not go by the total weight, and where it is fixed; else as if
        the noise on it were 0.

        Args:
            total_weight: a public guess, > 0.
        """

    def error_bound(self, state: S) -> float:  # noqa: ARG002
        """The largest half width of an interval of a cut, in weight: that of the most pairs.

        As far as the guarantee holds, the error of every answer is at most this. Rounding of
        floats, of a 10^9th part of the value and of this, comes on top.

        Args:
            state: the present one.
        """
        return self.expected_error(0.0)

    def void_reason(self, state: S) -> str | None:  # noqa: ARG002
        """Return why no bound on the error of all answers holds; None if one does.

        Only parameters that a user has set can make it void; `error_bound` is then infinite. The
        interval of each answer holds as ever.

        Args:
            state: the present one.
        """
        return None

    def expected_void_reason(self, total_weight: float) -> str | None:  # noqa: ARG002
        """Return `void_reason` of a session on a graph of this total weight.

        Args:
            total_weight: a public guess, > 0.
        """
        return None

    def counter(self, data: AnyGraph) -> Callable[[Sequence[Question]], Sequence[int | None]]:
        """See `SessionMechanism.counter`: `EdgeCounter.counts`."""
        return EdgeCounter(data, self.grid).counts if self.needs_truth else super().counter(data)

    def recorded(self, key: EncodedQuery, answer: Answer) -> Answer:
        """See `SessionMechanism.recorded`: about the number, cut to what it can be on any graph.

        A statistic of f steps of its sensitivity s lies in [f s, f s + s - 1]. Cutting takes no
        value farther from the truth, and no truth out of an interval; one that lies beside all
        possible truths becomes the nearest of them.
        """
        counted = Counted.of(key.query, self.universe, self.grid)
        if counted is None:
            return answer
        steps, rest = counted.sensitivity, counted.sensitivity - 1
        low, high = answer.interval
        least, most = counted.possible
        ends = (answer.value * steps + rest / 2, low * steps, high * steps + rest)
        value, low, high = (min(max(each, least), most) for each in ends)
        return replace(answer, value=value, interval=(low, high))

    def learnt(self, state: S) -> bytes | None:  # noqa: ARG002
        """See `SessionMechanism.learnt`: nothing."""
        return b""

    def decoded(self, data: bytes, content: Callable[[bytes], bytes]) -> Question:
        """See `SessionMechanism.decoded`."""
        return decode_query(data, self.universe, content)


def check_graph(graph: AnyGraph, universe: Universe, grid: Grid) -> None:
    """Refuse a graph that a mechanism was not made for. Reads its schema only.

    Raises:
        ParameterError: other vertices, or other weights.
    """
    if Universe.of(graph) != universe or not grid.fits(graph):
        raise ParameterError("the mechanism was made for a graph with other vertices or weights")


def only_cuts(query: Question, method: str) -> CutQuery:
    """A cut query; others are refused by methods that learn from cuts.

    Raises:
        QueryError: another query.
    """
    query = require_linear(query)
    if isinstance(query, CutQuery):
        return query
    raise QueryError(
        f"method {method!r} learns from cuts and answers cut queries, not {type(query).__name__}"
        " (a cut that mixes both sides counts as such, unless it is asked in two parts); methods"
        " 'gaussian', 'laplace' and 'mirror-descent' answer every linear query, 'binary' rank-one"
        " ones: start a session with linear=True"
    )
