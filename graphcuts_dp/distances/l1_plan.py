"""How a budget is shared by the coordinates of an l1 embedding, and what is promised for it.

How far a coordinate's true sums of distances can be from what was learnt: from released lines.

The sum G(t) of people's distances from t is convex and has slopes from -n to n, and G(0) + G(W) =
n W. With probability 1 - beta, as in `tune_coordinate`, every line is off by no more than its two
radii, and every silent test had G(t) below the hypothesis by less than T + R. The bounds here use
all of that, so they are narrower than one number for all positions. Pure post-processing.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.distances.coordinate import (
    CoordinateTask,
    CoordinateTuning,
    DecomposableHypothesis,
    PiecewiseLinear,
    Profile,
    largest_sum,
    tune_coordinate,
)
from graphcuts_dp.distances.embeddings import L1Embedding
from graphcuts_dp.distances.locations import HIDDEN, PUBLIC, Locations, checked_people
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.ledger.ledger import plain
from graphcuts_dp.privacy.composition import Cost, rounded_up, stated_cost, zcdp_rho
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.session.base import Answer

_SLACK = 1e-12  # of the largest sum: far more than floats are off


def coordinate_bounds(
    hypothesis: PiecewiseLinear, tuning: CoordinateTuning, points: IntVector, *, tested: BoolVector
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
        points: positions, distinct and ascending, 0..W, shape (k,).
        tested: whether the test's last answer about a position is in the hypothesis, shape (k,).

    Returns:
        (low, high), both of shape (k,).
    """
    people, width = tuning.task.people, tuning.task.width
    own = np.array([line.at for line in hypothesis.lines], dtype=np.int64)
    places = np.unique(np.concatenate([points, own, np.array([0, width])]))
    high = people * np.maximum(places, width - places).astype(np.float64)
    where = np.searchsorted(places, points[tested])
    silent = hypothesis.at(points[tested]).astype(np.float64) + tuning.above
    high[where] = np.minimum(high[where], silent)
    low = np.zeros(len(places))
    for line in hypothesis.lines:
        away = places - line.at
        off = tuning.value_radius + 2 * tuning.count_radius * np.abs(away)
        low = np.maximum(low, line.value + line.slope * away - off)
        place = int(np.searchsorted(places, line.at))
        high[place] = min(high[place], line.value + tuning.value_radius)
    whole = float(people * width)
    high[0], high[-1] = min(high[0], whole - low[-1]), min(high[-1], whole - low[0])
    high = _lower_envelope(places, high)
    low[0], low[-1] = max(low[0], whole - high[-1]), max(low[-1], whole - high[0])
    chosen = np.searchsorted(places, points)
    slack = _SLACK * whole
    return np.maximum(low[chosen] - slack, 0), np.maximum(high, low)[chosen] + slack


def _lower_envelope(places: IntVector, values: FloatVector) -> FloatVector:
    """The largest convex function that is nowhere above, at the same places."""
    corners: list[int] = []
    x, y = places.astype(np.float64).tolist(), values.tolist()
    for k in range(len(x)):
        while len(corners) > 1:
            i, j = corners[-2:]
            if (y[j] - y[i]) * (x[k] - x[i]) < (y[k] - y[i]) * (x[j] - x[i]):
                break
            corners.pop()
        corners.append(k)
    return np.asarray(np.interp(x, [x[k] for k in corners], [y[k] for k in corners]))


# The errors of a coordinate of width W fall with its share as W share^-2/3 (pure), W share^-4/10
# (rho; the exponent of epsilon is 4/5): their sum is least for these powers of W.
_PURE_POWER, _RHO_POWER = 3 / 5, 5 / 7


@final
@dataclass(frozen=True, kw_only=True)
class L1Plan:
    """Tunings for all coordinates, from public numbers alone.

    Each coordinate is learnt by itself, with a share of the budget: the shares add up, since one
    person has a position on each of them. HR12 tests the sum, buys 2 l numbers where it is wrong,
    and uses those of the coordinates that were wrong; which ones these were is private, and is not
    told here by anything but each coordinate's own test. It is also cheaper: a mistake buys two
    numbers, not 2 l, and the errors grow with l^(7/5) and l^(5/3) in place of l^(9/5) and l^(7/3).

    Attributes:
        embedding: public.
        people: n, public.
        queries: k, how many answers are promised; None if each position of each coordinate is
            asked for once, as the offline mechanism does.
        epsilon: in [1e-6, 50].
        delta: 0 for pure differential privacy, else in (0, 1) for zCDP.
        beta: probability that any guaranteed interval is wrong, in (0, 1).

    Raises:
        ParameterError: a number out of range.

    Source: HR12, Theorems 1 and 2.
    """

    embedding: L1Embedding
    people: int
    queries: int | None
    epsilon: float | Fraction
    delta: float = 0.0
    beta: float = 0.05

    def __post_init__(self) -> None:
        checked_people(self.people)
        exact_epsilon(self.epsilon)
        if self.queries is not None and self.queries < 1:
            raise ParameterError("at least one query must be promised")
        if not (0 <= self.delta < 1 and 0 < self.beta < 1):
            raise ParameterError("delta is 0 or in (0, 1), beta in (0, 1)")

    @cached_property
    def cost(self) -> Cost:
        """What the whole budget is, pure or rho-zCDP. Nothing ever spends more."""
        if self.delta == 0:
            return Cost.of_pure(exact_epsilon(self.epsilon))
        epsilon = float(self.epsilon)
        return Cost(
            epsilon=epsilon, delta=self.delta, rho=zcdp_rho(epsilon=epsilon, delta=self.delta)
        )

    @cached_property
    def tunings(self) -> tuple[CoordinateTuning, ...]:
        """One for each coordinate."""
        pure = self.cost.pure
        budget = Fraction(self.cost.rho or 0) if pure is None else pure
        widths = np.array(self.embedding.widths, dtype=np.float64)
        weights = widths ** (_RHO_POWER if pure is None else _PURE_POWER)
        # Rounded down, so that they add up to no more than 1.
        shares = np.floor(weights / weights.sum() * 2.0**50 * (1 - 1e-12)).tolist()
        beta = self.beta / len(widths)
        return tuple(
            tune_coordinate(
                self._task(j),
                budget=budget * Fraction(int(share), 2**50),
                pure=pure is not None,
                beta=beta,
            )
            for j, share in enumerate(shares)
        )

    def _task(self, j: int) -> CoordinateTask:
        points = len(np.unique(self.embedding.points[:, j]))
        queries = points if self.queries is None else self.queries
        return CoordinateTask(self.embedding.widths[j], self.people, queries, points)

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

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that the noise of a session depends on: the same when it is resumed."""
        numbers = json.dumps(plain((self.tunings, self.embedding.unit)), sort_keys=True)
        digest = hashlib.sha256(numbers.encode())
        digest.update(self.embedding.points.astype("<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def built_cost(self) -> Cost:
        """What all coordinates cost together, from the scales of their noise."""
        spent = sum((tuning.spent for tuning in self.tunings), Fraction(0))
        if self.delta == 0:
            return Cost.of_pure(spent)
        return Cost.of_rho(rounded_up(spent), delta=self.delta)

    def guarantee(self, seed: int | None = None) -> PrivacyGuarantee:
        """What everything that comes out promises, taken together.

        Raises:
            BudgetError: the coordinates cost more than was asked for.
        """
        cost = stated_cost(self.built_cost, epsilon=self.epsilon, delta=self.delta)
        return PrivacyGuarantee(
            epsilon=cost.epsilon,
            delta=cost.delta,
            neighbours=HIDDEN,
            public=PUBLIC,
            seed=seed,
        )

    def profiles(self, locations: Locations) -> tuple[Profile, ...]:
        """The private side: where people are on each coordinate.

        Raises:
            ParameterError: another number of people or another map than was planned for.
        """
        points = self.embedding.points
        if locations.people != self.people or len(locations.counts) != len(points):
            raise ParameterError("the plan was made for another map or another number of people")
        return tuple(Profile(points[:, j], locations.counts) for j in range(points.shape[1]))

    def ranges(
        self, hypothesis: DecomposableHypothesis, rows: IntVector, *, guaranteed: bool
    ) -> tuple[FloatVector, FloatVector]:
        """Intervals for vertices whose positions were all tested; post-processing.

        Args:
            hypothesis: what was learnt.
            rows: of the vertices, shape (k,).
            guaranteed: whether no coordinate ran out of tangents; else what is possible at all.

        Returns:
            (low, high) of the average distance on the map, both of shape (k,).
        """
        low, high = np.zeros(len(rows)), np.zeros(len(rows))
        for j, (part, tuning) in enumerate(zip(hypothesis.parts, self.tunings, strict=True)):
            at, back = np.unique(self.embedding.points[rows, j], return_inverse=True)
            if guaranteed:
                known = np.ones(len(at), dtype=np.bool_)
                least, most = coordinate_bounds(part, tuning, at, tested=known)
                low += least[back]
                high += most[back]
            else:
                high += self.people * np.maximum(at, tuning.task.width - at)[back]
        of, scale = self.embedding, self.embedding.unit / self.people
        return (
            np.maximum(0.0, low * scale * (1 - 1e-12) / of.expansion - of.rounding),
            np.minimum(
                (np.minimum(high * scale * (1 + 1e-12), of.reach) + of.rounding) * of.contraction,
                of.diameter + of.rounding,
            ),
        )

    def answer(
        self,
        hypothesis: DecomposableHypothesis,
        row: int,
        *,
        guaranteed: bool,
        seed: int | None,
        interval: tuple[float, float] | None = None,
    ) -> Answer:
        """What a hypothesis says about a vertex that was just tested; post-processing.

        Each coordinate's sum is brought back to what is possible, 0 to n max(t, W - t), and their
        sum to the largest distance in the embedding.

        Args:
            hypothesis: what was learnt.
            row: of the vertex.
            guaranteed: whether no coordinate ran out of tangents.
            seed: of the noise, or None.
            interval: a narrower one that is known; None for that of `ranges`.

        Raises:
            QueryError: a row that may not be asked about.
        """
        self.embedding.check(row)
        point = self.embedding.points[row].tolist()
        parts = zip(hypothesis.parts, self.tunings, point, strict=True)
        value = sum(min(int(part(at)), largest_sum(tuning, at)) for part, tuning, at in parts)
        if interval is None:
            low, high = self.ranges(hypothesis, np.array([row]), guaranteed=guaranteed)
            interval = float(low[0]), float(high[0])
        scale = self.embedding.unit / self.people
        return Answer(
            value=min(value * scale, self.embedding.reach),
            interval=interval,
            confidence=1 - self.beta,
            guaranteed=guaranteed,
            seeded=seed is not None,
        )


def best_plan(embeddings: Sequence[L1Embedding], **terms: Any) -> L1Plan:
    """The plan for the embedding that promises most: more dimensions distort less, but cost more.

    HR12 chooses the dimension where the additive error of the mechanism meets that of the
    embedding, up to constants; here both are numbers, and their sum is what is compared.

    Raises:
        ParameterError: a number out of range.

    Source: HR12, Remark 7.1.
    """
    plans = [L1Plan(embedding=embedding, **terms) for embedding in embeddings]
    return min(plans, key=lambda plan: plan.radius)
