"""HR12's learner on an l1 embedding of the map: how a budget is shared, and what is guaranteed.

The sum G(t) of people's distances from t on one coordinate is convex and has slopes from -n to n,
and G(0) + G(W) = n W. With probability 1 - beta, as in `tune_coordinate`, every line is off by no
more than its two radii, and every silent test had G(t) below the hypothesis by less than T + R. The
bounds here use all of that, so they are narrower than one number for all positions. Pure
post-processing.
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

_SLACK = 1e-12  # of the largest sum: far more than floats are off
# The errors of a coordinate of width W fall with its share as W share^-2/3 (pure), W share^-4/10
# (rho; the exponent of epsilon is 4/5): their sum is least for these powers of W.
_PURE_POWER, _RHO_POWER = 3 / 5, 5 / 7


@final
@dataclass(frozen=True, kw_only=True)
class L1Learner:
    """Learns average distances to people from tangents, coordinate by coordinate.

    Each coordinate is learnt by itself, with a share of the budget: the shares add up, since one
    person has a position on each of them. HR12 tests the sum, buys 2 l numbers where it is wrong,
    and uses those of the coordinates that were wrong; which ones these were is private, and is not
    told here by anything but each coordinate's own test. It is also cheaper: a mistake buys two
    numbers, not 2 l, and the errors grow with l^(7/5) and l^(5/3) in place of l^(9/5) and l^(7/3).

    It is made from public numbers alone. Offline it answers all vertices at once, as `NoisySums`
    do; one vertex after the other it answers in a session.

    Attributes:
        embedding: public.
        people: n, public.
        queries: k, how many answers are guaranteed; None if each position of each coordinate is
            asked for once, as the offline mechanism does.
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

    name = "learner"
    typical = None  # how far off the learner is depends on where people are

    @cached_property
    def tunings(self) -> tuple[CoordinateTuning, ...]:
        """One for each coordinate."""
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
            task = CoordinateTask(self.embedding.widths[j], self.people, queries, points)
            part = budget * Fraction(int(share), 2**50)
            beta = self.beta / len(shares)
            tunings.append(tune_coordinate(task, budget=part, pure=pure, beta=beta))
        return tuple(tunings)

    @property
    def noise_parameters(self) -> tuple[Fraction, ...]:
        """Rates or variances of values and counts, coordinate by coordinate."""
        pairs = ((t.value_noise, t.count_noise) for t in self.tunings)
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
        """No guaranteed answer is farther from the average embedded distance, in map units."""
        steps = sum(max(t.below, t.above) for t in self.tunings)
        return min(steps / self.people * self.embedding.unit, self.embedding.reach)

    @property
    def radius(self) -> float:
        """No middle of a guaranteed interval is farther from the average distance on the map.

        An interval that begins at D - w, in embedded lengths of which the sums are known to w,
        ends at the least of the contraction times D and of the diameter, which is at most the
        contraction times the reach: it is widest where these meet.
        """
        of = self.embedding
        steps = sum(tuning.below + tuning.above for tuning in self.tunings)
        slack = 1e-11 * sum(of.widths)  # of `coordinate_bounds`
        width = (steps / self.people + slack) * of.unit * (1 + 1e-9)
        most = min((of.reach + of.rounding) * of.contraction, of.diameter + of.rounding)
        low = max(0.0, most / of.contraction - width - of.rounding)
        return max(0.0, most - low / of.expansion + of.rounding) / 2

    def radii(self, *, confidence: float) -> FloatVector:
        """`radius`, which stands for all vertices.

        Raises:
            ParameterError: a confidence that the noise was not tuned for.
        """
        if confidence > (1 - self.beta) * (1 + 1e-12):
            raise ParameterError("the learner was tuned for a smaller confidence")
        return np.array([self.radius])

    def profiles(self, locations: Locations) -> tuple[Profile, ...]:
        """The private side: where people are on each coordinate.

        Raises:
            ParameterError: another number of people or another map than was planned for.
        """
        points = self.embedding.points
        if locations.people != self.people or len(locations.counts) != len(points):
            raise ParameterError("the plan was made for another map or another number of people")
        return tuple(Profile(points[:, j], locations.counts) for j in range(points.shape[1]))

    def learnt(self, locations: Locations, source: EntropySource) -> tuple[CoordinateState, ...]:
        """Every coordinate, learnt at every position that a vertex has.

        HR12 asks on a grid of l/alpha points, and moves on between them since both the function and
        its hypothesis are 1-Lipschitz; queries are vertices here, so their positions are all there
        is. For it `queries` is None.

        Guarantee: `cost`, for moving any one person.

        Source: HR12, Theorem 2.
        """
        tunings = []
        for j, profile in enumerate(self.profiles(locations)):
            state = start_coordinate(self.tunings[j], source)
            for at in np.unique(self.embedding.points[:, j]).tolist():
                state = step_coordinate(self.tunings[j], state, profile, at, source)
            tunings.append(state)
        return tuple(tunings)

    def answered(
        self, locations: Locations, source: EntropySource, *, confidence: float
    ) -> tuple[FloatVector, FloatVector]:
        """Middles and half widths of the intervals of all vertices, see `NoisySums.answered`.

        Raises:
            ParameterError: a confidence that the noise was not tuned for.
        """
        self.radii(confidence=confidence)
        low, high = self.ranges(self.learnt(locations, source))
        return (low + high) / 2, (high - low) / 2

    def ranges(
        self,
        states: Sequence[CoordinateState],
        rows: IntVector | None = None,
        *,
        tested: bool = True,
    ) -> tuple[FloatVector, FloatVector]:
        """Intervals of the average distances on the map from some vertices; post-processing.

        Args:
            states: of the coordinates.
            rows: of the vertices, shape (k,); None for all.
            tested: whether their positions were all tested. If not, or if a coordinate ran out of
                tangents, the intervals are what is possible at all.

        Returns:
            (low, high), both of shape (k,).
        """
        of, scale = self.embedding, self.embedding.unit / self.people
        points = of.points if rows is None else of.points[rows]
        low, high = np.zeros(len(points)), np.zeros(len(points))
        for j, (state, tuning) in enumerate(zip(states, self.tunings, strict=True)):
            at, back = np.unique(points[:, j], return_inverse=True)
            if tested and guaranteed(states):
                least, most = coordinate_bounds(state.hypothesis, tuning, at)
                low += least[back]
                high += most[back]
            else:
                high += tuning.task.largest_sum(at)[back]
        return (
            np.maximum(0.0, low * scale * (1 - 1e-12) / of.expansion - of.rounding),
            np.minimum(
                (np.minimum(high * scale * (1 + 1e-12), of.reach) + of.rounding) * of.contraction,
                of.diameter + of.rounding,
            ),
        )

    def values(
        self, states: Sequence[CoordinateState], rows: IntVector | None = None
    ) -> FloatVector:
        """Return the learnt embedded distances from some vertices, see `ranges`.

        Each coordinate's sum is brought back to what is possible, 0 to n max(t, W - t), and their
        sum to the largest distance in the embedding.
        """
        points = self.embedding.points if rows is None else self.embedding.points[rows]
        total = np.zeros(len(points))
        for j, (state, tuning) in enumerate(zip(states, self.tunings, strict=True)):
            at = points[:, j]
            total += np.minimum(state.hypothesis(at), tuning.task.largest_sum(at))
        scale = self.embedding.unit / self.people
        return np.asarray(np.minimum(total * scale, self.embedding.reach))


def guaranteed(states: Sequence[CoordinateState]) -> bool:
    """True if no coordinate has run out of tangents. Public."""
    return all(state.secret is not None for state in states)


def best_learner(embeddings: Sequence[L1Embedding], **terms: Any) -> L1Learner:
    """The learner whose embedding guarantees most: more dimensions distort less, but cost more.

    HR12 chooses the dimension where the additive error of the mechanism meets that of the
    embedding, up to constants; here both are numbers, and their sum is what is compared.

    Source: HR12, Remark 7.1.
    """
    learners = [L1Learner(embedding=embedding, **terms) for embedding in embeddings]
    return min(learners, key=lambda learner: learner.radius)


def coordinate_bounds(
    hypothesis: PiecewiseLinear, tuning: CoordinateTuning, points: IntVector
) -> tuple[FloatVector, FloatVector]:
    """The least and the largest that the sums of distances can be, in steps.

    Below: 0, and each line less its value's radius and twice its count's radius a step away from
    its point. Above: where a line was bought its value plus the radius; where a test was silent the
    hypothesis plus `above`, since it only grows; all people at the farther end; n W less the lower
    bound of the other end; and, since a convex function lies below its chords, no more than the
    lower envelope of all these.

    Args:
        hypothesis: with the lines that were bought, while the coordinate is guaranteed.
        tuning: of the coordinate.
        points: positions that were tested, distinct and ascending, 0..W, shape (k,).

    Returns:
        (low, high), both of shape (k,).
    """
    width = tuning.task.width
    tangent_points = np.array([line.at for line in hypothesis.lines], dtype=np.int64)
    breakpoints = np.unique(np.concatenate([points, tangent_points, np.array([0, width])]))
    chosen = np.searchsorted(breakpoints, points)
    high = tuning.task.largest_sum(breakpoints).astype(np.float64)
    high[chosen] = np.minimum(high[chosen], hypothesis(points) + float(tuning.above))
    low = np.zeros(len(breakpoints))
    for line in hypothesis.lines:
        away = breakpoints - line.at
        off = tuning.value_radius + 2 * tuning.count_radius * np.abs(away)
        low = np.maximum(low, line.value + line.slope * away - off)
        index = int(np.searchsorted(breakpoints, line.at))
        high[index] = min(high[index], line.value + tuning.value_radius)
    total = float(tuning.task.people * width)
    high[0], high[-1] = min(high[0], total - low[-1]), min(high[-1], total - low[0])
    high = _lower_envelope(breakpoints, high)
    low[0], low[-1] = max(low[0], total - high[-1]), max(low[-1], total - high[0])
    slack = _SLACK * total
    return np.maximum(low[chosen] - slack, 0), np.maximum(high, low)[chosen] + slack


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
