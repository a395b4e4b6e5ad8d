"""Fresh noise on every answer: no hypothesis, nothing to learn."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, final

from graphcuts_dp.errors import ExhaustedError, ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.online_bounds import checked_promise
from graphcuts_dp.pairs.graph_queries import GraphQuery, Question
from graphcuts_dp.pairs.linear_steps import Extent, LinearSteps
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.calibration import discrete_gaussian_delta, discrete_gaussian_scale
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.session.base import Answer, Update
from graphcuts_dp.session.counts import BOUNDED
from graphcuts_dp.session.packing import fingerprint, pack, unpack, whole_number
from graphcuts_dp.session.promises import NOTHING, check_graph, pairs_of, promise


@final
@dataclass(frozen=True)
class CountState:
    """State of `PerQueryNoise`: how many answers were paid for. Nothing is secret.

    Attributes:
        owner: fingerprint of the mechanism.
        limit: how many there are.
        queries: how many are gone, interrupted ones included.
        updates: none.
    """

    owner: str = field(repr=False)
    limit: int
    queries: int = 0
    updates: int = 0

    @property
    def stopped(self) -> bool:
        """See `State.stopped`."""
        return self.queries >= self.limit

    @property
    def public(self) -> bytes:
        """See `State.public`."""
        return pack("public", self.owner, {"queries": self.queries})

    hypothesis = b""  # empty: nothing is learnt

    secret = b""  # empty: no noise is kept


@final
@dataclass(frozen=True, kw_only=True)
class PerQueryNoise:
    """k answers, each with noise of its own.

    Guarantee. A cut query has sensitivity s = `steps` times `grid.sensitivity`, exactly; and so has
    a statistic of the whole graph, counted in its own steps (see `GraphQuery`).
    "laplace": each answer has discrete Laplace noise of rate epsilon/(k s) in exact fractions, so
    it is (epsilon/k)-DP, and k of them are epsilon-DP. "gaussian": discrete Gaussian noise of
    s `discrete_gaussian_scale`, proven (epsilon, delta)-private for k adaptive queries of change s,
    and k/(2 scale^2)-zCDP; a smaller change d is dominated by s, because the best events are half
    lines and P(X >= a) - e^epsilon P(X >= a + d) grows with d. No more than k answers are ever
    given. Each interval fails with probability beta/k at most, whatever the query and all other
    noise, so all of them hold with 1 - beta.

    Attributes:
        distribution: "gaussian" or "laplace".
        universe: the public vertex pairs.
        grid: how true answers are counted.
        epsilon: in [1e-6, 50].
        delta: in (0, 1) for "gaussian", 0 for "laplace".
        queries: k >= 1.
        beta: in (0, 1).
        steps: how many steps of the grid's neighbours are hidden together, see `Protect`: an
            answer then changes by at most so many times s, which the noise is made for.

    Raises:
        ParameterError: a number out of range.
    """

    distribution: Literal["gaussian", "laplace"]
    universe: Universe
    grid: Grid
    epsilon: float
    queries: int
    delta: float = 0.0
    beta: float = 0.05
    steps: int = 1

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        checked_promise(self.queries, self.epsilon, self.delta or 0.5, self.beta)
        if self.distribution not in ("gaussian", "laplace"):
            raise ParameterError(
                f"the distribution is 'gaussian' or 'laplace', not {self.distribution!r}"
            )
        if (self.distribution == "gaussian") is not (self.delta > 0):
            raise ParameterError("gaussian noise needs delta > 0; laplace noise is for delta = 0")

    @property
    def name(self) -> str:
        """As users type it."""
        return self.distribution

    @property
    def _sensitivity(self) -> int:
        """By how many steps of the grid an answer can differ."""
        return self.grid.sensitivity * self.steps

    @cached_property
    def _scale_squared(self) -> Fraction:
        """Of Gaussian noise for sensitivity 1, rounded up."""
        scale = discrete_gaussian_scale(
            epsilon=self.epsilon, delta=self.delta, queries=self.queries
        )
        return Fraction(scale * (1 + 1e-12)) ** 2

    @cached_property
    def noise(self) -> ValueNoise:
        """On each answer, in steps."""
        if self.distribution == "laplace":
            rate = Fraction(self.epsilon) / (self.queries * self._sensitivity)
            return ValueNoise("laplace", rate)
        return ValueNoise("gaussian", self._scale_squared * self._sensitivity**2)

    @cached_property
    def linear_noise(self) -> ValueNoise:
        """On each answer to another query than a cut, in steps of `LinearSteps` and the grid."""
        most = LinearSteps.most
        if self.distribution == "laplace":
            return ValueNoise("laplace", self.noise.parameter / most)
        return ValueNoise("gaussian", self.noise.parameter * most**2)

    @cached_property
    def cost(self) -> Cost:
        """See `Mechanism.cost`: of k answers with `noise`, which is at most what was asked for."""
        all_of_them = self.noise.cost(self._sensitivity, delta=self.delta).times(self.queries)
        if self.distribution == "gaussian":
            scale = math.sqrt(self.noise.parameter) / self._sensitivity
            delta = discrete_gaussian_delta(scale, epsilon=self.epsilon, queries=self.queries)
            all_of_them = replace(all_of_them, epsilon=self.epsilon, delta=delta)
        stated_cost(all_of_them, epsilon=self.epsilon, delta=self.delta)
        return replace(all_of_them, epsilon=self.epsilon, delta=self.delta)

    needs_truth = True  # each step reads the graph

    @cached_property
    def _owner(self) -> str:
        return fingerprint(self)

    @cached_property
    def _radius(self) -> int:
        return self.noise.radius(self.beta / self.queries)

    @cached_property
    def _linear_radius(self) -> int:
        return self.linear_noise.radius(self.beta / self.queries)

    def expected_error(self, total_weight: float) -> float:  # noqa: ARG002
        """See `Mechanism.expected_error`: the same for all graphs."""
        return self._radius * self.grid.unit + self.grid.rounding(self.universe.size)

    def error_bound(self, state: CountState) -> float:  # noqa: ARG002
        """See `Mechanism.error_bound`."""
        return self.expected_error(0.0)

    def guarantee(self, seed: int | None = None) -> PrivacyGuarantee:
        """See `Mechanism.guarantee`."""
        return promise(self.cost, self.universe, self.grid, seed=seed)

    def start(self, graph: AnyGraph, source: EntropySource) -> CountState:  # noqa: ARG002
        """See `Mechanism.start`: nothing is read."""
        check_graph(graph, self.universe, self.grid)
        return CountState(self._owner, self.queries)

    def check(self, state: CountState, query: Question) -> None:
        """See `Mechanism.check`: every query, of bounded cuts cuts alone."""
        if state.stopped:
            raise ExhaustedError(
                "the session has given all the answers that it promised; start another one"
            )
        _Asked.of(query, self)

    def step(
        self, state: CountState, query: Question, truth: int | None, source: EntropySource
    ) -> tuple[CountState, Answer]:
        """See `Mechanism.step`. A query that is 0 on all graphs is free and certain."""
        if state.stopped:
            self.check(state, query)
        asked = _Asked.of(query, self)
        if asked is None:
            return state, replace(NOTHING, queries_left=state.limit - state.queries)
        if truth is None:
            raise ParameterError("this step needs the true answer")
        state = replace(state, queries=state.queries + 1)
        value = (truth + asked.noise.draw(source)) * asked.unit
        # A float may lose the last digits of a sum of steps.
        radius = asked.radius * asked.unit + 1e-15 * abs(value)
        return state, Answer(
            value=value,
            interval=(value - radius - asked.lowered, value + radius + asked.raised),
            confidence=1 - self.beta,
            queries_left=state.limit - state.queries,
            seeded=source.seed is not None,
        )

    def interrupted(self, state: CountState, source: EntropySource) -> CountState:  # noqa: ARG002
        """See `Mechanism.interrupted`: the answer that was lost counts as given.

        Proof that enough is charged: a step draws noise for one answer, so at most one more answer
        was made than `state` counts, and that one is counted now.
        """
        return state if state.stopped else replace(state, queries=state.queries + 1)

    def unguaranteed(self, state: CountState, query: Question) -> Answer:  # noqa: ARG002
        """See `Mechanism.unguaranteed`: there is nothing to answer from.

        Raises:
            ExhaustedError: always.
        """
        raise ExhaustedError(
            f"method {self.distribution!r} keeps nothing to answer from; start another one"
        )

    def restore(
        self,
        public: bytes,
        secret: bytes | None,  # noqa: ARG002
        hypothesis: bytes | None = None,  # noqa: ARG002
        since: Iterable[tuple[Question, Update]] = (),  # noqa: ARG002
    ) -> CountState:
        """See `Mechanism.restore`: the public part is all there is."""
        content = unpack(public, "public", self._owner)
        return CountState(self._owner, self.queries, whole_number(content, "queries"))


@final
@dataclass(frozen=True)
class _Asked:
    """How a query is counted and answered.

    Attributes:
        noise: on its count.
        radius: in steps of the count, half width of the interval.
        unit: weight of a step.
        lowered: by how much rounding may have raised the count, in weight.
        raised: by how much it may have lowered it.
    """

    noise: ValueNoise
    radius: int
    unit: float
    lowered: float
    raised: float

    @classmethod
    def of(cls, query: Question, made: PerQueryNoise) -> "_Asked | None":
        """None where the answer is 0 on every graph.

        Raises:
            QueryError: a query that does not fit, or another one than a bounded cut where such are
                counted, or coefficients whose rounding nobody can bound.
        """
        grid = made.grid
        if isinstance(query, CutQuery | GraphQuery):
            pairs = pairs_of(query, made.universe)
            if not pairs:
                return None
            return cls(made.noise, made._radius, grid.unit, 0.0, grid.rounding(pairs))
        if grid.bounded is not None:
            raise QueryError(BOUNDED)
        extent = Extent.of(query, made.universe.space)
        if not extent.largest:
            return None
        steps = LinearSteps(extent)
        rounded = steps.rounding(made.universe.size, grid.cap)
        # Weights are rounded down by less than a step, so negative coefficients raise the count.
        down = grid.unit if grid.weighted else 0.0
        return cls(
            made.linear_noise,
            made._linear_radius,
            steps.unit * grid.unit,
            rounded + down * extent.negative,
            rounded + down * extent.positive,
        )
