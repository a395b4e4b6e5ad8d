"""Tests whether a private count is above a hypothesis by more than a threshold.

The tests of `interactive.sparse_vector` do not fit: `OneSidedPair` needs neighbours of which one
is never below the other, and when a person moves some distances grow and others shrink;
`SharedThreshold` tests both signs, and a learner whose hypothesis lies below the truth needs one.

Distance answers with noise on each of them: the baseline that every mechanism has to beat.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.distances.base import NoisySums
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelBudget, LevelNoise, Spread, split_budget
from graphcuts_dp.privacy.noise import sample_geometric

_GRID_BITS = 16  # the diameter has 2^16 to 2^17 grid steps


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PerQuery(NoisySums):
    """Every answer as a query of its own: distances in whole steps, summed, plus integer noise.

    Guarantee: the distances from v are rounded down to whole steps of a public grid, each between 0
    and s_v = floor(ecc(v)/step), so a person who moves changes the sum at v by at most s_v, and all
    sums together by at most `changes` in sum and in sum of squares. That is what composing V
    queries costs, each with its exact sensitivity; noise is the same for all.

    Attributes:
        metric: the public map.
        people: n, public.
        step: of the grid, a power of two, in the units of the lengths.
        changes: see above.
        noise: with one parameter.
        spread: what it does to the answers.
        delta: for which a zCDP cost is stated.
    """

    metric: Metric
    people: int
    step: float
    changes: tuple[int, int]
    noise: LevelNoise
    spread: Spread
    delta: float
    name: str = "per-query"

    @classmethod
    def build(cls, metric: Metric, people: int, **budget: Unpack[LevelBudget]) -> "PerQuery":
        """Choose grid and scale. Reads public things only.

        Raises:
            ParameterError: epsilon or delta out of range.
        """
        step = 2.0 ** (math.floor(math.log2(metric.diameter)) - _GRID_BITS)
        # Two searches on a tree round differently: one step more covers that.
        most = (np.floor(metric.eccentricities / step) + 1).astype(np.int64).tolist()
        changes = sum(most), sum(value**2 for value in most)
        spread = Spread(np.array([[1.0]]), np.array([[1.0]]), len(metric)).scaled(step / people)
        return cls(
            metric=metric,
            people=people,
            step=step,
            changes=changes,
            noise=split_budget(spread, [changes], **budget),
            spread=spread,
            delta=budget["delta"],
        )

    @property
    def rounding(self) -> float:
        """Half a step: distances are rounded down, and half a step is added."""
        return self.step / 2

    @property
    def cost(self) -> Cost:
        """What all answers cost together; see the class."""
        return self.noise.cost(delta=self.delta, changes=[self.changes])

    def answers(self, locations: Locations, source: EntropySource) -> FloatVector:
        """See `NoisySums.answers`."""
        sums = np.zeros(len(self.metric), dtype=np.int64)
        for rows, distances in self.metric.blocks():
            sums[rows] = np.floor(distances / self.step).astype(np.int64) @ locations.counts
        released = sums + self.noise.draw(0, len(sums), source)
        return np.asarray(released * (self.step / self.people) + self.step / 2, dtype=np.float64)


@final
@dataclass(frozen=True)
class AboveThreshold:
    """Fires when q + N >= h + T + R.

    R >= 0 is geometric of rate r1, drawn once for each instance; N >= 0 is fresh and geometric of
    rate r2. An instance is used until it fires once.

    Guarantee, for counts q that change by at most s steps either way, a = s r1 and b = s r2: one
    instance is (a + 2 b)-DP, hence (a + 2 b)^2/2-zCDP, also for queries and hypotheses that are
    chosen after earlier answers.

    Proof. Fixed choices of the analyst fix the thresholds A_i = h_i + T, and the output is the
    number j of the test that fires. P(j) = sum over R >= 0 of
    p(R) prod_{i<j} P(q_i + N < A_i + R) P(q_j + N >= A_j + R), where p(R + s) = e^-a p(R) and
    G(x) = P(N >= x) = e^(-r2 max(x, 0)) has G(x + 2 s) >= e^(-2 b) G(x). For q' = q + d with
    |d_i| <= s, put R + s for R in P'(j): terms are left out, p falls by e^-a, no silent factor
    falls (d_i <= s), and the last is G(A_j + R + s - q_j - d_j) >= e^(-2 b) G(A_j + R - q_j). So
    P'(j) >= e^(-a - 2 b) P(j), and likewise for silence to the end. Exchange q and q'.

    Attributes:
        threshold_rate: r1, of one step.
        query_rate: r2, of one step.
        threshold: T, in steps.

    Source: DR14 section 3.6 (AboveThreshold), with one-sided noise.
    """

    threshold_rate: Fraction
    query_rate: Fraction
    threshold: int

    def start(self, source: EntropySource) -> int:
        """R of a new instance. Secret."""
        return int(sample_geometric(self.threshold_rate, 1, source)[0])

    def fires(self, secret: int, truth: int, estimate: int, source: EntropySource) -> bool:
        """Test once.

        Args:
            secret: R of the running instance.
            truth: q, in steps.
            estimate: h, in steps.
            source: of N.
        """
        noise = int(sample_geometric(self.query_rate, 1, source)[0])
        return truth + noise >= estimate + self.threshold + secret

    def cost(self, sensitivity: int) -> Fraction:
        """Pure epsilon of one instance, a + 2 b, exactly."""
        return sensitivity * (self.threshold_rate + 2 * self.query_rate)


def geometric_quantile(rate: Fraction, *, failure: float) -> int:
    """The least whole t with P(N > t) = e^(-rate (t+1)) <= failure."""
    return max(0, math.ceil(-math.log(failure) / float(rate) * (1 + 1e-12)) - 1)
