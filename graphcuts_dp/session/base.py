"""Mechanisms of sessions: a state, and a pure step from a state and a query to an answer.

Nothing here touches a disk. The `runner` stores the states, never shows an answer before the state
after it is stored, and never steps twice from one state: a step whose result was lost is followed
by `SessionMechanism.after_interruption`.

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
from graphcuts_dp.session.counts import EdgeCounter, QueryCount
from graphcuts_dp.session.queries import EncodedQuery, decode_query

NO_ANSWERS_LEFT = "the session has given all the answers that it guaranteed; start another one"

Q = TypeVar("Q")
S = TypeVar("S", bound="State")


@final
@dataclass(frozen=True)
class Update:
    """One correction of the hypothesis: with its query, it determines the next hypothesis.

    Attributes:
        sign: +1 if a test found the true answer above the hypothesis, -1 if below.
        value: noisy true answer that the update rule used; None if it used none. Public.
    """

    sign: Sign
    value: float | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer of a session to one query. All of it may be published.

    Attributes:
        value: the estimate.
        interval: (low, high) that contains the true value. A session clips it and the value to the
            possible range of the query: for a cut from 0 to the largest total weight of its pairs,
            which is infinite if weights have no maximum.
        confidence: probability with which the intervals of all guaranteed answers of the session
            hold at once, however the queries were chosen; 1 for a certain answer.
        guaranteed: false if the mechanism had run out: the interval is then the possible range.
        updates: corrections of the hypothesis by the query, in order.
        queries_left: guaranteed answers that are left; None if there is no limit.
        updates_left: corrections that are left; None if the mechanism makes none.
        seeded: true if the noise came from a seed, so that the answer is not private.

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
        """True if the query corrected the hypothesis."""
        return bool(self.updates)

    def __str__(self) -> str:
        low, high = self.interval
        mark = " [seeded: not private]" if self.seeded else ""
        if not self.guaranteed:
            return f"{self.value:.1f}, no guarantee: the session has run out{mark}"
        scope = f"({percent(self.confidence)}, all queries at once)"
        return f"{self.value:.1f} in [{low:.1f}, {high:.1f}] {scope}{mark}"


def zero_answer() -> Answer:
    """Return the certain answer to a query that is 0 on every graph, as a cut without pairs is."""
    return Answer(value=0.0, interval=(0.0, 0.0), confidence=1.0)


class State(Protocol):
    """A state of a mechanism: a frozen dataclass that is stored by its fields.

    Its repr shows no secret.
    """

    @property
    def queries(self) -> int:
        """The number of answers so far, lost ones included."""

    @property
    def stopped(self) -> bool:
        """True if no further answer is guaranteed: `SessionMechanism.step` refuses."""


class SessionMechanism(ABC, Generic[Q, S]):
    """Base of mechanisms that answer queries about private data. All parameters are public.

    Attributes:
        name: the name of the method, as it is typed.
        version: number of the algorithm: a state of another version is refused.
        state: the class of its states.
    """

    name: str
    version = 1
    state: type[Any]

    @property
    def parameters(self) -> Any:
        """Plain values by name; a state of a mechanism with other parameters is refused."""
        return plain(self)

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The cost of a whole session, from start to stop; known before anything is spent."""

    @abstractmethod
    def start(self, data: Any, source: EntropySource) -> S:
        """Return the state before the first query, after the measurements of the method, if any.

        Args:
            data: the private data.
            source: where the noise comes from.

        Raises:
            ParameterError: data that do not fit the mechanism.
        """

    def counter(self, data: Any) -> Callable[[Sequence[Q]], Sequence[int | None]]:  # noqa: ARG002
        """Return the function from queries to the exact true answers that `step` needs. Private.

        Here it returns None for each query: for mechanisms whose steps read public data alone.
        """
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

        A step may correct the hypothesis several times, but it is atomic: the state and the answer
        are stored together or not at all.

        Args:
            state: the current one; it must not be used again.
            query: the query.
            truth: the result of `counter` for it.
            source: where the noise comes from.

        Returns:
            The next state and the answer. If the mechanism runs out within the step, the state is
            stopped and the answer not guaranteed.

        Raises:
            ExhaustedError, QueryError: as `check`. Any other error, and any later one, may reveal
                the noise: the step counts as interrupted.
        """

    def after_interruption(self, state: S, source: EntropySource) -> S:  # noqa: ARG002
        """Return the state after a step from `state` whose result was lost, answer included.

        Noise may have been drawn, even an answer computed. Everything that the lost step can have
        used counts as spent. Also correct for a state that was restored without its secret.

        Here nothing was used: correct for mechanisms whose steps read public data alone.

        Args:
            state: from which the lost step began.
            source: where the noise comes from.
        """
        return state

    def unguaranteed(self, state: S, query: Q) -> Answer:  # noqa: ARG002
        """Return an answer by the current hypothesis, free and without guarantee.

        Args:
            state: the current one.
            query: a query of the universe.

        Raises:
            ExhaustedError: the method has no hypothesis.
            QueryError: a query that does not fit.
        """
        raise ExhaustedError(
            f"method {self.name!r} keeps nothing to answer from; start another one"
        )

    def public_answer(self, query: EncodedQuery, answer: Answer) -> Answer:  # noqa: ARG002
        """Return the answer to record and show. Post-processing with public numbers."""
        return answer

    def hypothesis_bytes(self, state: S) -> bytes | None:  # noqa: ARG002
        """Return the public hypothesis, which is stored apart from the state since it is large.

        None if the stored state has everything.
        """
        return None

    def decode(self, data: bytes, content: Callable[[bytes], bytes]) -> Any:  # noqa: ARG002
        """Return the query of these bytes, whose long parts `content` returns by their SHA-256.

        Here it returns the bytes themselves, for mechanisms whose `restore` repeats no updates.
        """
        return data

    def restore(
        self,
        state: S,
        data: Any,  # noqa: ARG002
        hypothesis: bytes,  # noqa: ARG002
        updates: Sequence[tuple[Any, Update]] = (),  # noqa: ARG002
    ) -> S:
        """Return a state of `read_state`, completed by what is stored apart from it.

        Args:
            state: as it was stored.
            data: the private data.
            hypothesis: `hypothesis_bytes` of this state or an earlier one; empty if there are none.
            updates: the updates since that state, with their queries, in order; they are repeated.

        Raises:
            FileFormatError: bytes that are damaged or do not belong together.
        """
        return state


class CutMechanism(SessionMechanism[Question, S]):
    """Base of mechanisms that answer queries about one private graph.

    All of them answer cuts; `check` refuses other queries that a mechanism does not answer.

    Attributes:
        universe: the public vertex pairs.
        grid: the grid on which true answers are counted.
        needs_truth: true if `step` needs true answers; else only `start` reads the graph.
    """

    universe: Universe
    grid: Grid
    needs_truth = True

    @property
    def budget_plan(self) -> BudgetPlan:
        """The shares of the answers, and of the statistics that are measured before them."""
        return BudgetPlan.of_one("answers", self.name, self.cost)

    def guarantee(self, seed: int | None = None) -> PrivacyGuarantee:
        """Return the guarantee of a whole session, for all of its outputs together.

        Args:
            seed: of the noise, or None; a seed voids the guarantee.
        """
        universe, grid = self.universe, self.grid
        maximum = ", the maximum weight" if grid.weighted and grid.cap is not None else ""
        degree_bound = "" if grid.bounded is None else ", the degree bound"
        return PrivacyGuarantee(
            epsilon=self.cost.epsilon,
            delta=self.cost.delta,
            neighbours=change_of_one_pair(
                weighted=grid.weighted, max_weight=grid.cap, directed=universe.directed
            ),
            public=universe.public + maximum + degree_bound,
            seed=seed,
            budget_plan=self.budget_plan.with_certain_runs(),
        )

    @abstractmethod
    def expected_error(self, total_weight: float) -> float:
        """Return `error_bound` of a session on a graph of this total weight, before it begins.

        A method that measures the total weight depends on the noisy one: the bound is then as if
        that noise were 0. For other methods it is exact.

        Args:
            total_weight: a public guess; only methods that measure the total weight use it.
        """

    def error_bound(self, state: S) -> float:  # noqa: ARG002
        """Return the largest half width of the interval of a cut, in weight.

        If the guarantee holds, the error of every answer is at most this, plus the rounding of
        floats, 10^-9 of the value and of the half width.

        Args:
            state: the current one.
        """
        return self.expected_error(0.0)  # of methods that do not measure the total weight

    def void_reason(self, state: S) -> str | None:  # noqa: ARG002
        """Return why no bound on the error of all answers holds; None if one does.

        Only parameters that a user has set can make it void; `error_bound` is then infinite. The
        interval of each answer holds in any case.

        Args:
            state: the current one.
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

    def public_answer(self, query: EncodedQuery, answer: Answer) -> Answer:
        """See `SessionMechanism.public_answer`: the answer, clipped to the possible range.

        A statistic that is counted as f multiples of its sensitivity s lies in [f s, f s + s - 1].
        Clipping takes no value farther from the truth, and no truth out of an interval; an interval
        outside the possible range becomes the nearest possible value.
        """
        count = QueryCount.of(query.query, self.universe, self.grid)
        if count is None:
            return answer
        scale, remainder = count.sensitivity, count.sensitivity - 1
        low, high = answer.interval
        least, most = count.possible
        value, low, high = (
            min(max(number, least), most)
            for number in (
                answer.value * scale + remainder / 2,
                low * scale,
                high * scale + remainder,
            )
        )
        return replace(answer, value=value, interval=(low, high))

    def hypothesis_bytes(self, state: S) -> bytes | None:  # noqa: ARG002
        """See `SessionMechanism.hypothesis_bytes`: empty."""
        return b""

    def decode(self, data: bytes, content: Callable[[bytes], bytes]) -> Question:
        """See `SessionMechanism.decode`."""
        return decode_query(data, self.universe, content)


def check_graph(graph: AnyGraph, universe: Universe, grid: Grid) -> None:
    """Refuse a graph that does not fit a mechanism. Reads its schema only.

    Raises:
        ParameterError: other vertices, or other weights.
    """
    if Universe.of(graph) != universe or not grid.fits(graph):
        raise ParameterError("the mechanism was made for a graph with other vertices or weights")


def only_cuts(query: Question, method: str) -> CutQuery:
    """Return a query that is a cut; refuse others, for methods that learn from cuts.

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
