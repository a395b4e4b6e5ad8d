"""HR12's offline mechanism: one release from which all average distances can be read."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.distances.coordinate import Profile, start_coordinate, step_coordinate
from graphcuts_dp.distances.coordinate_tuning import CoordinateTuning
from graphcuts_dp.distances.decomposable import DecomposableHypothesis
from graphcuts_dp.distances.l1_plan import L1Answer, L1Plan
from graphcuts_dp.distances.learner import PiecewiseLinear
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee


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

    def answer(self, row: int) -> L1Answer:
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
