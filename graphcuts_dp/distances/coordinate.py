"""Learns one coordinate's sums of distances, privately: HR12's mechanism in one dimension."""

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.distances.coordinate_tuning import CoordinateTuning
from graphcuts_dp.distances.learner import Line, PiecewiseLinear
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.session.states import SECRET


@final
class Profile:
    """Where people are on one coordinate: sums of distances and their slopes. Private.

    Args:
        positions: of the vertices, whole numbers >= 0, shape (V,).
        counts: people at each vertex, shape (V,).
    """

    def __init__(self, positions: IntVector, counts: IntVector) -> None:
        order = np.argsort(positions, kind="stable")
        self._positions = positions[order]
        self._people = np.concatenate([[0], np.cumsum(counts[order])])
        self._moments = np.concatenate([[0], np.cumsum(counts[order] * self._positions)])

    def count(self, at: int) -> int:
        """People at or below a position."""
        return int(self._people[np.searchsorted(self._positions, at, side="right")])

    def value(self, at: int) -> int:
        """The sum over people of their distance from a position."""
        index = np.searchsorted(self._positions, at, side="right")
        people, moment = int(self._people[index]), int(self._moments[index])
        total, whole = int(self._people[-1]), int(self._moments[-1])
        return at * (2 * people - total) + whole - 2 * moment

    def __repr__(self) -> str:
        return "Profile()"


@final
@dataclass(frozen=True)
class CoordinateState:
    """Where the mechanism stands. Immutable.

    Attributes:
        hypothesis: public.
        secret: noise of the running instance; None when no test is allowed any more.
        tests: made so far.
        lost: tests that may have bought a tangent which nobody has seen.
    """

    hypothesis: PiecewiseLinear
    secret: int | None = field(repr=False, metadata={**SECRET, "lost": 0})
    tests: int = 0
    lost: int = 0

    @property
    def updates(self) -> int:
        """Tangents that count as bought so far."""
        return len(self.hypothesis.lines) + self.lost


def start_coordinate(tuning: CoordinateTuning, source: EntropySource) -> CoordinateState:
    """The state before the first test. Reads nothing private."""
    return CoordinateState(PiecewiseLinear(), tuning.test.start(source))


def step_coordinate(
    tuning: CoordinateTuning,
    state: CoordinateState,
    profile: Profile,
    at: int,
    source: EntropySource,
) -> CoordinateState:
    """Test the hypothesis at a position, and correct it there if it is too low.

    Whether it was is told by the test alone, with its noise. Noisy tangents are brought back to
    what is possible: counts to 0..n, values to 0..n max(t, W - t). If a test fires after the last
    tangent that was paid for, the coordinate ends: `secret` is None, nothing private is read any
    more, and the hypothesis has no guarantee.

    Guarantee, for moving one person: `tuning.spent`, as pure epsilon or as rho, for all steps from
    a start together. At most c tangents are bought and c + 1 instances started, whatever happens.

    Args:
        tuning: of the coordinate.
        state: the present one.
        profile: private.
        at: position, 0..W.
        source: of noise.
    """
    secret = state.secret
    if secret is None or state.tests >= tuning.task.queries:
        return replace(state, secret=None)
    state = replace(state, tests=state.tests + 1)
    estimate = int(state.hypothesis(at))
    if not tuning.test.fires(secret, profile.value(at), estimate, source):
        return state
    if state.updates >= tuning.updates:
        return replace(state, secret=None)
    people, most = tuning.task.people, largest_sum(tuning, at)
    value = min(max(profile.value(at) + tuning.value_noise.draw(source), 0), most)
    count = min(max(profile.count(at) + tuning.count_noise.draw(source), 0), people)
    line = Line(at=at, value=value, slope=2 * count - people)
    return replace(
        state,
        hypothesis=state.hypothesis.with_line(line),
        secret=tuning.test.start(source),
    )


def lose_step(
    tuning: CoordinateTuning, state: CoordinateState, source: EntropySource
) -> CoordinateState:
    """The state after a step from this one whose outcome was lost, as if it had bought a tangent.

    Its running noise may have been used, so it is never used again: a new instance begins, of the
    c + 1 that are paid for. Reads nothing private.

    Args:
        tuning: of the coordinate.
        state: before that step.
        source: of noise.
    """
    if state.secret is None or state.tests >= tuning.task.queries:
        return replace(state, secret=None)
    if state.updates >= tuning.updates:
        return replace(state, tests=state.tests + 1, secret=None)
    return replace(
        state,
        tests=state.tests + 1,
        lost=state.lost + 1,
        secret=tuning.test.start(source),
    )


def largest_sum(tuning: CoordinateTuning, at: int) -> int:
    """No sum of distances from this position is larger: all people at the farther end."""
    return tuning.task.people * max(at, tuning.task.width - at)
