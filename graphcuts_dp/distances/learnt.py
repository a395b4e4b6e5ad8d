"""HR12's mechanisms on an l1 embedding: one vertex after the other, or all of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.distances.coordinate import (
    CoordinateState,
    CoordinateTuning,
    DecomposableHypothesis,
    PiecewiseLinear,
    Profile,
    lose_step,
    start_coordinate,
    step_coordinate,
)
from graphcuts_dp.distances.counts import Answered
from graphcuts_dp.distances.embeddings import embeddings_of
from graphcuts_dp.distances.l1_plan import L1Plan, best_plan
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import ExhaustedError, FileFormatError, ParameterError
from graphcuts_dp.ledger.ledger import APART
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.level_noise import DistributionPair
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.session.base import Answer, Mechanism, Update


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
class InteractiveDistances(Mechanism[int, InteractiveState]):
    """Answers distance queries about private locations, one by one; queries are rows of the map.

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
        together: what all answers cost for those who are protected together; None for one person.
        seed: of the noise, or None.

    Raises:
        ParameterError: a plan without a number of queries.

    Source: HR12, Theorem 1; deviations in `L1Plan` and `tune_coordinate`.
    """

    plan: L1Plan
    together: Cost | None = None
    seed: int | None = None

    name = "distances"
    state = InteractiveState

    def __post_init__(self) -> None:
        if self.plan.queries is None:
            raise ParameterError("an interactive mechanism promises a number of queries")

    @property
    def parameters(self) -> str:
        """See `Mechanism.parameters`."""
        return self.plan.digest

    @property
    def cost(self) -> Cost:
        """See `Mechanism.cost`."""
        return self.together or self.plan.built_cost

    def start(self, data: Locations, source: EntropySource) -> InteractiveState:
        """See `Mechanism.start`.

        Raises:
            ParameterError: locations that the plan was not made for.
        """
        profiles = self.plan.profiles(data)
        states = tuple(start_coordinate(tuning, source) for tuning in self.plan.tunings)
        return InteractiveState(profiles, states, self.plan.queries or 0)

    def check(self, state: InteractiveState, query: int) -> None:
        """See `Mechanism.check`.

        Raises:
            ExhaustedError: all promised answers were given.
            QueryError: a row that may not be asked about.
        """
        self.plan.embedding.check(query)
        if state.queries >= state.limit:
            raise ExhaustedError("all promised distances were answered; plan for more queries")

    def step(
        self, state: InteractiveState, query: int, _truth: int | None, source: EntropySource
    ) -> tuple[InteractiveState, Answer]:
        """See `Mechanism.step`; the state holds the private side, so nothing is asked besides."""
        self.check(state, query)
        point = self.plan.embedding.points[query].tolist()
        parts = zip(self.plan.tunings, state.coordinates, state.profiles, point, strict=True)
        after = tuple(step_coordinate(*part, source) for part in parts)
        before = state.hypothesis
        state = replace(state, coordinates=after, queries=state.queries + 1)
        answer = self.plan.answer(
            state.hypothesis, query, guaranteed=state.guaranteed, seed=source.seed
        )
        return state, replace(
            answer,
            updates=(Update(1),) if state.hypothesis != before else (),
            queries_left=0 if state.stopped else state.limit - state.queries,
        )

    def told(self, _key: Any, answer: Answer) -> Answer:
        """See `Mechanism.told`: the middle of the interval, where it is guaranteed."""
        low, high = answer.interval
        return replace(answer, value=(low + high) / 2) if answer.guaranteed else answer

    def interrupted(self, state: InteractiveState, source: EntropySource) -> InteractiveState:
        """See `Mechanism.interrupted`: the answer counts as given, see `lose_step`."""
        parts = zip(self.plan.tunings, state.coordinates, strict=True)
        return replace(
            state,
            coordinates=tuple(lose_step(tuning, part, source) for tuning, part in parts),
            queries=state.queries + 1,
        )

    def unguaranteed(self, state: InteractiveState, query: int) -> Answer:
        """See `Mechanism.unguaranteed`."""
        answer = self.plan.answer(state.hypothesis, query, guaranteed=False, seed=self.seed)
        return replace(answer, queries_left=0)

    def resumed(
        self,
        state: InteractiveState,
        data: Locations,
        learnt: bytes,  # noqa: ARG002
        since: Sequence[tuple[Any, Update]] = (),  # noqa: ARG002
    ) -> InteractiveState:
        """See `Mechanism.resumed`: with the private side made again."""
        if len(state.coordinates) != len(self.plan.tunings):
            raise FileFormatError("the state is of another plan")
        return replace(state, profiles=self.plan.profiles(data))


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LearntDistances:
    """The offline mechanism on an l1 embedding of the map; answers are the middles of intervals.

    Guarantee: the cost of the plan's tunings, for moving any one person.

    Attributes:
        plan: what is learnt, and with which noise.

    Source: HR12, Theorems 2, 7 and 8.
    """

    plan: L1Plan
    name: str = "learner"

    @classmethod
    def build(
        cls,
        metric: Metric,
        people: int,
        *,
        distribution: DistributionPair,
        epsilon: float | Fraction,
        delta: float,
        confidence: float = 0.95,
    ) -> "LearntDistances":
        """Choose the embedding and the noise. Reads public things only.

        Paths, grids, trees and points at l_1 distances have an exact embedding. Of the embeddings
        of other maps that one is taken whose dimension promises most.

        Args:
            metric: the public map.
            people: n, public.
            distribution: "laplace" for a pure budget, "gaussian" for zCDP.
            epsilon: in [1e-6, 50].
            delta: in (0, 1) for "gaussian"; else it is not spent.
            confidence: that all intervals hold at once.

        Raises:
            ParameterError: a number out of range, or a map that is too large to embed.
        """
        return cls(
            plan=best_plan(
                embeddings_of(metric),
                people=people,
                queries=None,
                epsilon=epsilon,
                delta=delta if distribution == "gaussian" else 0.0,
                beta=1 - confidence,
            )
        )

    @property
    def noise_parameters(self) -> tuple[Fraction, ...]:
        """Rates or variances of values and counts, coordinate by coordinate."""
        pairs = ((t.value_noise, t.count_noise) for t in self.plan.tunings)
        return tuple(noise.parameter for pair in pairs for noise in pair)

    typical = None  # how far off the learner is depends on where people are

    @property
    def cost(self) -> Cost:
        """See `L1Plan.built_cost`."""
        return self.plan.built_cost

    def radii(self, *, confidence: float) -> FloatVector:
        """See `DistanceMechanism`.

        Raises:
            ParameterError: a confidence that the noise was not tuned for.
        """
        self._check(confidence)
        return np.array([self.plan.radius])

    def answered(
        self, locations: Locations, source: EntropySource, *, confidence: float
    ) -> Answered:
        """See `DistanceMechanism`.

        Raises:
            ParameterError: a confidence that the noise was not tuned for.
        """
        self._check(confidence)
        low, high = release_distances(self.plan, locations, source).ranges
        return Answered((low + high) / 2, (high - low) / 2)

    def _check(self, confidence: float) -> None:
        if confidence > (1 - self.plan.beta) * (1 + 1e-12):
            raise ParameterError("the learner was tuned for a smaller confidence")


@final
@dataclass(frozen=True)
class DistanceRelease:
    """A hypothesis that answers all vertices. Public.

    Attributes:
        plan: that it was made by.
        hypothesis: sums of distances in steps, for each coordinate.
        guaranteed: whether no coordinate ran out of tangents, which has probability 1 - beta.
        seed: of the noise, or None.
    """

    plan: L1Plan
    hypothesis: DecomposableHypothesis
    guaranteed: bool
    seed: int | None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What it promises to the people."""
        return self.plan.guarantee(self.seed)

    def answer(self, row: int) -> Answer:
        """About the vertex of one row of the map.

        Raises:
            QueryError: a row that may not be asked about.
        """
        self.plan.embedding.check(row)
        low, high = self.ranges
        return self.plan.answer(
            self.hypothesis,
            row,
            guaranteed=self.guaranteed,
            seed=self.seed,
            interval=(float(low[row]), float(high[row])),
        )

    @cached_property
    def ranges(self) -> tuple[FloatVector, FloatVector]:
        """Intervals of the average distances of all vertices, shape (V,) each."""
        rows = np.arange(len(self.plan.embedding.points))
        return self.plan.ranges(self.hypothesis, rows, guaranteed=self.guaranteed)

    def values(self) -> FloatVector:
        """Estimates for all vertices, shape (V,), promised for query vertices only."""
        points, people = self.plan.embedding.points, self.plan.people
        widths = np.array(self.plan.embedding.widths)
        total = np.zeros(len(points))
        for j, part in enumerate(self.hypothesis.parts):
            most = people * np.maximum(points[:, j], widths[j] - points[:, j])
            total += np.minimum(part.at(points[:, j]), most)
        scale = self.plan.embedding.unit / people
        return np.asarray(np.minimum(total * scale, self.plan.embedding.reach))


def release_distances(plan: L1Plan, locations: Locations, source: EntropySource) -> DistanceRelease:
    """Learn every coordinate at every position that a vertex has.

    HR12 asks on a grid of l/alpha points, and moves on between them since both the function and
    its hypothesis are 1-Lipschitz; queries are vertices here, so their positions are all there is.

    Guarantee: `plan.cost`, for moving any one person.

    Args:
        plan: with `queries` None.
        locations: private.
        source: of noise.

    Raises:
        ParameterError: a plan for a number of queries, or for other locations.

    Source: HR12, Theorem 2.
    """
    if plan.queries is not None:
        raise ParameterError("an offline release answers all vertices: plan with queries=None")
    profiles = plan.profiles(locations)
    found = [
        _learn(tuning, profile, np.unique(plan.embedding.points[:, j]), source)
        for j, (tuning, profile) in enumerate(zip(plan.tunings, profiles, strict=True))
    ]
    return DistanceRelease(
        plan=plan,
        hypothesis=DecomposableHypothesis(tuple(part for part, _ in found)),
        guaranteed=all(kept for _, kept in found),
        seed=source.seed,
    )


def _learn(
    tuning: CoordinateTuning, profile: Profile, positions: IntVector, source: EntropySource
) -> tuple[PiecewiseLinear, bool]:
    state = start_coordinate(tuning, source)
    for at in positions.tolist():
        state = step_coordinate(tuning, state, profile, at, source)
    return state.hypothesis, state.secret is not None
