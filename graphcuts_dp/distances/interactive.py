"""HR12's interactive mechanism: average distances, one vertex after the other."""

from dataclasses import dataclass, field, replace
from typing import final

from graphcuts_dp.distances.coordinate import (
    CoordinateState,
    Profile,
    lose_step,
    start_coordinate,
    step_coordinate,
)
from graphcuts_dp.distances.decomposable import DecomposableHypothesis
from graphcuts_dp.distances.l1_plan import L1Answer, L1Plan
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.errors import ExhaustedError, ParameterError
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.session.states import APART


@final
@dataclass(frozen=True)
class InteractiveState:
    """Where the mechanism stands. Immutable; its repr shows no secret.

    Attributes:
        profiles: the private side.
        coordinates: one state each.
        limit: how many answers are promised.
        queries: answers given so far, lost ones among them.
    """

    profiles: tuple[Profile, ...] = field(repr=False, metadata=APART)
    coordinates: tuple[CoordinateState, ...] = field(repr=False)
    limit: int
    queries: int = 0

    @property
    def hypothesis(self) -> DecomposableHypothesis:
        """What answers come from. Public."""
        return DecomposableHypothesis(tuple(state.hypothesis for state in self.coordinates))

    @property
    def guaranteed(self) -> bool:
        """Whether no coordinate has run out of tangents. Public."""
        return all(state.secret is not None for state in self.coordinates)

    @property
    def stopped(self) -> bool:
        """See `session.base.State`."""
        return not self.guaranteed or self.queries >= self.limit


@final
@dataclass(frozen=True)
class InteractiveDistances:
    """Answers distance queries about private locations, one by one.

    A step tests each coordinate at the vertex's position, buys a tangent where a test fires, and
    answers from the hypothesis. A step's state is used once: steps from the same state would draw
    new noise against the same running tests.

    Guarantee: `plan.cost`, for moving any one person, for all answers together, also when queries
    are chosen after earlier answers. Coordinates are mechanisms on the same people and add up,
    interleaved with the analyst's choices (Lyu 2022); each spends at most its share, a hard cap
    that does not rest on the mistake bound. With probability 1 - beta all guaranteed intervals
    hold, and no coordinate runs out of tangents.

    Attributes:
        plan: with `queries` set.

    Raises:
        ParameterError: a plan without a number of queries.

    Source: HR12, Theorem 1; deviations in `L1Plan` and `tune_coordinate`.
    """

    plan: L1Plan

    def __post_init__(self) -> None:
        if self.plan.queries is None:
            raise ParameterError("an interactive mechanism promises a number of queries")

    def start(self, locations: Locations, source: EntropySource) -> InteractiveState:
        """The state before the first query.

        Raises:
            ParameterError: locations that the plan was not made for.
        """
        profiles = self.plan.profiles(locations)
        states = tuple(start_coordinate(tuning, source) for tuning in self.plan.tunings)
        return InteractiveState(profiles, states, self.plan.queries or 0)

    def step(
        self, state: InteractiveState, row: int, source: EntropySource
    ) -> tuple[InteractiveState, L1Answer]:
        """Answer one query.

        Args:
            state: the present one.
            row: of the query's vertex; see `Metric.row`.
            source: of noise.

        Raises:
            ExhaustedError: all promised answers were given.
            QueryError: a row that may not be asked about.
        """
        self.plan.embedding.check(row)
        if state.queries >= (self.plan.queries or 0):
            raise ExhaustedError("all promised distances were answered; plan for more queries")
        point = self.plan.embedding.points[row].tolist()
        parts = zip(self.plan.tunings, state.coordinates, state.profiles, point, strict=True)
        after = tuple(step_coordinate(*part, source) for part in parts)
        state = replace(state, coordinates=after, queries=state.queries + 1)
        answer = self.plan.answer(
            state.hypothesis, row, guaranteed=state.guaranteed, seed=source.seed
        )
        return state, answer

    def interrupted(self, state: InteractiveState, source: EntropySource) -> InteractiveState:
        """The state after a step whose answer was lost: it counts as given, see `lose_step`.

        Args:
            state: before that step.
            source: of noise.
        """
        parts = zip(self.plan.tunings, state.coordinates, strict=True)
        return replace(
            state,
            coordinates=tuple(lose_step(tuning, part, source) for tuning, part in parts),
            queries=state.queries + 1,
        )
