"""Fresh noise on every answer: no hypothesis, nothing to learn."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, final

from graphcuts_dp.errors import ExhaustedError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bounds import checked_promise, noise_on_each, radius_of_each
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.linear_steps import LinearSteps
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.calibration import discrete_gaussian_delta
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.session.base import NOTHING, Answer, CutMechanism, check_graph
from graphcuts_dp.session.counts import Counted


@final
@dataclass(frozen=True)
class CountState:
    """State of `PerQueryNoise`: how many answers were paid for. Nothing is secret.

    Attributes:
        limit: how many there are.
        queries: how many are gone, interrupted ones included.
    """

    limit: int
    queries: int = 0

    @property
    def stopped(self) -> bool:
        """See `State.stopped`."""
        return self.queries >= self.limit


@final
@dataclass(frozen=True, kw_only=True)
class PerQueryNoise(CutMechanism[CountState]):
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

    state = CountState

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
    def name(self) -> str:  # type: ignore[override]  # the distribution is the method
        """As users type it."""
        return self.distribution

    @property
    def _sensitivity(self) -> int:
        """By how many steps of the grid an answer can differ."""
        return self.grid.sensitivity * self.steps

    @cached_property
    def noise(self) -> ValueNoise:
        """On each answer, in steps."""
        return noise_on_each(
            self.distribution,
            epsilon=self.epsilon,
            delta=self.delta,
            queries=self.queries,
            sensitivity=self._sensitivity,
        )

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

    @cached_property
    def _radius(self) -> int:
        return radius_of_each(self.noise, queries=self.queries, beta=self.beta)

    @cached_property
    def _linear_radius(self) -> int:
        return radius_of_each(self.linear_noise, queries=self.queries, beta=self.beta)

    def expected_error(self, total_weight: float) -> float:  # noqa: ARG002
        """See `Mechanism.expected_error`: the same for all graphs."""
        return self._radius * self.grid.unit + self.grid.rounding(self.universe.size)

    def start(self, graph: AnyGraph, source: EntropySource) -> CountState:  # noqa: ARG002
        """See `Mechanism.start`: nothing is read."""
        check_graph(graph, self.universe, self.grid)
        return CountState(self.queries)

    def check(self, state: CountState, query: Question) -> None:
        """See `Mechanism.check`: every query, of bounded cuts cuts alone."""
        if state.stopped:
            raise ExhaustedError(
                "the session has given all the answers that it promised; start another one"
            )
        Counted.of(query, self.universe, self.grid)

    def step(
        self, state: CountState, query: Question, truth: int | None, source: EntropySource
    ) -> tuple[CountState, Answer]:
        """See `Mechanism.step`. A query that is 0 on all graphs is free and certain."""
        if state.stopped:
            self.check(state, query)
        counted = Counted.of(query, self.universe, self.grid)
        if counted is None:
            return state, replace(NOTHING, queries_left=state.limit - state.queries)
        if truth is None:
            raise ParameterError("this step needs the true answer")
        state = replace(state, queries=state.queries + 1)
        noise, steps = self.noise, self._radius
        if counted.steps is not None:
            noise, steps = self.linear_noise, self._linear_radius
        value = (truth + noise.draw(source)) * counted.step
        # A float may lose the last digits of a sum of steps.
        radius = steps * counted.step + 1e-15 * abs(value)
        return state, Answer(
            value=value,
            interval=(value - radius - counted.lowered, value + radius + counted.raised),
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
