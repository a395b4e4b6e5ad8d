"""Learn average distances on an l1 embedding of the map (HR12): budget shares and guarantees.

The sum G(t) of people's distances from t on one coordinate is convex and has slopes from -n to n,
and G(0) + G(W) = n W. With probability 1 - beta, as in `tune_coordinate`, the error of every line
is at most its two radii, and at every silent test G(t) was less than T + R away from the
hypothesis, with T and R of `AboveThreshold`. The bounds here use all of these facts, so they are
narrower than one number for all positions. They are post-processing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.distances.coordinate import (
    CoordinateState,
    CoordinateTask,
    CoordinateTuning,
    PiecewiseLinear,
    Profile,
    start_coordinate,
    step_coordinate,
    tune_coordinate,
)
from graphcuts_dp.distances.embeddings import L1Embedding
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_rho
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon

_SLACK = 1e-12  # of the largest sum: far more than the rounding error of floats
_SLACK_OF_RADIUS = 1e-11  # more than what `_SLACK` adds at both ends of an interval
# The error of a coordinate of width W falls with its share s of the budget as W s^(-2/3) for a pure
# epsilon, and W s^(-2/5) for rho. The sum of the errors is least for shares that grow as these
# powers of W.
_PURE_POWER, _RHO_POWER = 3 / 5, 5 / 7


@final
@dataclass(frozen=True, kw_only=True)
class L1Learner:
    """Learn average distances to people from tangents, coordinate by coordinate.

    Each coordinate is learnt by itself, with a share of the budget; the shares add up, since every
    person has a position on each coordinate. HR12 tests the sum over the l coordinates instead:
    where it is wrong, 2 l numbers are measured, of which those of the wrong coordinates are used.
    Which coordinates are wrong is private; here only the test of each coordinate reveals it. A
    mistake costs two numbers instead of 2 l, and the errors grow with l^(7/5) and l^(5/3) instead
    of l^(9/5) and l^(7/3).

    A learner is made from public numbers alone. It answers all vertices at once, as `NoisySums`
    do, or one vertex after the other in a session.

    Attributes:
        embedding: the public embedding of the map.
        people: n, public.
        queries: k, how many answers are guaranteed; None if each position of each coordinate is
            asked for once, as for all vertices at once.
        epsilon: in [1e-6, 50].
        delta: 0 for pure differential privacy, else in (0, 1) for zCDP.
        beta: probability that any guaranteed interval is wrong, in (0, 1).

    Source: HR12, Theorems 1, 2, 7 and 8.
    """

    embedding: L1Embedding
    people: int
    queries: int | None
    epsilon: float | Fraction
    delta: float = 0.0
    beta: float = DEFAULT_FAILURE

    name = "learner"  # of the mechanism, as it is typed
    typical = None  # see `NoisySums.typical`: the error depends on where people are

    @cached_property
    def tunings(self) -> tuple[CoordinateTuning, ...]:
        """The tuning of each coordinate."""
        pure, budget = not self.delta, exact_epsilon(self.epsilon)
        if self.delta:
            budget = Fraction(zcdp_rho(epsilon=float(self.epsilon), delta=self.delta))
        widths = np.array(self.embedding.widths, dtype=np.float64)
        weights = widths ** (_PURE_POWER if pure else _RHO_POWER)
        # Rounded down, so that they add up to no more than 1.
        shares = np.floor(weights / weights.sum() * 2.0**50 * (1 - 1e-12)).tolist()
        tunings = []
        for j, share in enumerate(shares):
            points = len(np.unique(self.embedding.points[:, j]))
            queries = points if self.queries is None else self.queries
            task = CoordinateTask(
                width=self.embedding.widths[j], people=self.people, queries=queries, points=points
            )
            share_of_budget = budget * Fraction(int(share), 2**50)
            beta = self.beta / len(shares)
            tunings.append(tune_coordinate(task, budget=share_of_budget, pure=pure, beta=beta))
        return tuple(tunings)

    @property
    def noise_parameters(self) -> tuple[Fraction, ...]:
        """Rates or variances of values and counts, coordinate by coordinate."""
        pairs = ((tuning.value_noise, tuning.count_noise) for tuning in self.tunings)
        return tuple(noise.parameter for pair in pairs for noise in pair)

    @cached_property
    def cost(self) -> Cost:
        """Cost of all coordinates together, for a move of one person, from their noise."""
        total_cost = sum((tuning.total_cost for tuning in self.tunings), Fraction(0))
        if self.delta == 0:
            return Cost.of_pure(total_cost)
        return Cost.of_rho(rounded_up(total_cost), delta=self.delta)

    @property
    def budget_plan(self) -> BudgetPlan:
        """Budget plan: the shares of the coordinates of the embedding, as `tunings` has them."""
        noise = "discrete Gaussian" if self.delta else "discrete Laplace"
        return BudgetPlan.of_one("people along each coordinate", noise, self.cost)

    @property
    def error(self) -> float:
        """Bound on the errors of guaranteed `values`: of embedded distances, in map units."""
        grid_units = sum(max(tuning.below, tuning.above) for tuning in self.tunings)
        return min(grid_units / self.people * self.embedding.unit, self.embedding.reach)

    @property
    def radius(self) -> float:
        """Bound on the half widths of guaranteed intervals of `ranges`: of distances on the map.

        If the embedded distance is between D - w and D, the interval goes from (D - w)/expansion to
        the smaller one of contraction D and the diameter, both with the rounding. It is widest
        where these two are equal.
        """
        embedding = self.embedding
        rounding = embedding.rounding
        grid_units = sum(tuning.below + tuning.above for tuning in self.tunings)
        slack = _SLACK_OF_RADIUS * sum(embedding.widths)
        width = (grid_units / self.people + slack) * embedding.unit * (1 + 1e-9)
        high = min(
            (embedding.reach + rounding) * embedding.contraction, embedding.diameter + rounding
        )
        embedded_low = max(0.0, high / embedding.contraction - width - rounding)
        return max(0.0, high - embedded_low / embedding.expansion + rounding) / 2

    def radii(self, *, confidence: float) -> FloatVector:
        """Return `radius` in an array of one number, which holds for all vertices.

        Raises:
            ParameterError: a confidence that the noise was not tuned for.
        """
        if confidence > (1 - self.beta) * (1 + 1e-12):
            raise ParameterError("the learner was tuned for a smaller confidence")
        return np.array([self.radius])

    def profiles(self, locations: Locations) -> tuple[Profile, ...]:
        """Return where people are on each coordinate. Private.

        Raises:
            ParameterError: the plan was made for another number of people, or another map.
        """
        points = self.embedding.points
        if locations.people != self.people or len(locations.counts) != len(points):
            raise ParameterError("the plan was made for another map or another number of people")
        return tuple(Profile(points[:, j], locations.counts) for j in range(points.shape[1]))

    def learn(self, locations: Locations, source: EntropySource) -> tuple[CoordinateState, ...]:
        """Learn every coordinate at every position that a vertex has; return the final states.

        HR12 asks at l/alpha points of a grid, which is enough since the function and its hypothesis
        are 1-Lipschitz. Here queries are vertices, so it is enough to ask at their positions. A
        learner for this method has `queries` None.

        Guarantee: `cost`, for moving any one person.

        Source: HR12, Theorem 2.
        """
        states = []
        for j, profile in enumerate(self.profiles(locations)):
            state = start_coordinate(self.tunings[j], source)
            for position in np.unique(self.embedding.points[:, j]).tolist():
                state = step_coordinate(self.tunings[j], state, profile, position, source)
            states.append(state)
        return tuple(states)

    def answer_all(
        self, locations: Locations, source: EntropySource, *, confidence: float
    ) -> tuple[FloatVector, FloatVector]:
        """Return middles and half widths of intervals of all vertices, see `NoisySums.answer_all`.

        Raises:
            ParameterError: a confidence that the noise was not tuned for.
        """
        self.radii(confidence=confidence)  # refuses one that the noise was not tuned for
        low, high = self.ranges(self.learn(locations, source))
        return (low + high) / 2, (high - low) / 2

    def ranges(
        self,
        states: Sequence[CoordinateState],
        rows: IntVector | None = None,
        *,
        tested: bool = True,
    ) -> tuple[FloatVector, FloatVector]:
        """Return intervals of the average distances on the map from some vertices.

        This is post-processing.

        Args:
            states: of the coordinates.
            rows: of the vertices, shape (k,); None for all.
            tested: whether all their positions were tested. If not, or if a coordinate ran out of
                tangents, the intervals hold all possible values.

        Returns:
            (low, high), both of shape (k,).
        """
        embedding, scale = self.embedding, self.embedding.unit / self.people
        points = embedding.points if rows is None else embedding.points[rows]
        low, high = np.zeros(len(points)), np.zeros(len(points))
        for j, (state, tuning) in enumerate(zip(states, self.tunings, strict=True)):
            positions, inverse = np.unique(points[:, j], return_inverse=True)
            if tested and are_guaranteed(states):
                lower_sums, upper_sums = coordinate_bounds(state.hypothesis, tuning, positions)
                low += lower_sums[inverse]
                high += upper_sums[inverse]
            else:
                high += tuning.task.largest_sum(positions)[inverse]
        # From sums in grid units to average embedded distances, and from these to those of the map.
        embedded_low = low * scale * (1 - 1e-12)
        embedded_high = np.minimum(high * scale * (1 + 1e-12), embedding.reach)
        rounding = embedding.rounding
        return (
            np.maximum(0.0, embedded_low / embedding.expansion - rounding),
            np.minimum(
                (embedded_high + rounding) * embedding.contraction, embedding.diameter + rounding
            ),
        )

    def values(
        self, states: Sequence[CoordinateState], rows: IntVector | None = None
    ) -> FloatVector:
        """Return the learnt average embedded distances from some vertices, see `ranges`.

        Each coordinate's sum is clipped to its possible range, 0 to n max(t, W - t), and the total
        to the largest distance in the embedding.
        """
        points = self.embedding.points if rows is None else self.embedding.points[rows]
        total = np.zeros(len(points))
        for j, (state, tuning) in enumerate(zip(states, self.tunings, strict=True)):
            positions = points[:, j]
            total += np.minimum(state.hypothesis(positions), tuning.task.largest_sum(positions))
        scale = self.embedding.unit / self.people
        return np.asarray(np.minimum(total * scale, self.embedding.reach))


def are_guaranteed(states: Sequence[CoordinateState]) -> bool:
    """Return whether no coordinate has run out of tangents. Public."""
    return all(state.secret is not None for state in states)


def best_learner(embeddings: Sequence[L1Embedding], **terms: Any) -> L1Learner:
    """Return the learner of the smallest guaranteed error.

    More dimensions distort less, but cost more. HR12 chooses the dimension at which the additive
    errors of mechanism and embedding are equal up to constants. Here both errors are numbers, and
    their sums are compared.

    Source: HR12, Remark 7.1.
    """
    learners = [L1Learner(embedding=embedding, **terms) for embedding in embeddings]
    return min(learners, key=lambda learner: learner.radius)


def coordinate_bounds(
    hypothesis: PiecewiseLinear, tuning: CoordinateTuning, points: IntVector
) -> tuple[FloatVector, FloatVector]:
    """Return lower and upper bounds of the sums of distances, in grid units.

    Lower bounds: 0; and each measured line less the radius of its value, and less twice the radius
    of its count for each grid unit away from its point. Upper bounds: at the point of a line its
    value plus the radius; at a silent test the hypothesis plus `above`, since the hypothesis only
    grows; the sum if all people were at 0 or at W, whichever is farther; G(0) = n W - G(W), with
    the lower bound of G(W), and the same for G(W). Since a convex function lies below its chords,
    the lower convex envelope of all upper bounds is an upper bound.

    Args:
        hypothesis: the measured lines of a coordinate that is guaranteed.
        tuning: the tuning of the coordinate.
        points: positions that were tested, distinct and ascending, 0..W, shape (k,).

    Returns:
        (low, high), both of shape (k,).
    """
    width = tuning.task.width
    tangent_points = np.array([line.at for line in hypothesis.lines], dtype=np.int64)
    breakpoints = np.unique(np.concatenate([points, tangent_points, np.array([0, width])]))
    tested_indices = np.searchsorted(breakpoints, points)
    high = tuning.task.largest_sum(breakpoints).astype(np.float64)
    high_of_silent_tests = hypothesis(points) + float(tuning.above)
    high[tested_indices] = np.minimum(high[tested_indices], high_of_silent_tests)
    low = np.zeros(len(breakpoints))
    for line in hypothesis.lines:
        distance = breakpoints - line.at
        error = tuning.value_radius + 2 * tuning.count_radius * np.abs(distance)
        low = np.maximum(low, line.value + line.slope * distance - error)
        index = int(np.searchsorted(breakpoints, line.at))
        high[index] = min(high[index], line.value + tuning.value_radius)
    total = float(tuning.task.people * width)
    high[0], high[-1] = min(high[0], total - low[-1]), min(high[-1], total - low[0])
    high = _lower_envelope(breakpoints, high)
    low[0], low[-1] = max(low[0], total - high[-1]), max(low[-1], total - high[0])
    slack = _SLACK * total
    high = np.maximum(high, low)
    return np.maximum(low[tested_indices] - slack, 0), high[tested_indices] + slack


def _lower_envelope(positions: IntVector, values: FloatVector) -> FloatVector:
    """Return the largest convex function that is nowhere above the values, at their positions."""
    corners: list[int] = []
    x, y = positions.astype(np.float64).tolist(), values.tolist()
    for k in range(len(x)):
        while len(corners) > 1:
            i, j = corners[-2:]
            if (y[j] - y[i]) * (x[k] - x[i]) < (y[k] - y[i]) * (x[j] - x[i]):
                break
            corners.pop()
        corners.append(k)
    return np.asarray(np.interp(x, [x[k] for k in corners], [y[k] for k in corners]))
