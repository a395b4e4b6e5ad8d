"""Learn the sums of distances on one coordinate privately: HR12's mechanism in one dimension.

A sum of distances is convex and Lipschitz. It is learnt from tangents, one at each mistake; the
hypothesis is the largest of these lines. With exact tangents it never lies above the function. With
tangents whose error is at most e anywhere in the interval, it lies at most e above the function. So
all larger mistakes have one sign: the function is above the hypothesis. `AboveThreshold` tests for
that sign alone. Of the tests in `privacy.sparse_vector`, `OneSidedPair` needs neighbours of which
one is never below the other, but if a person moves, some distances grow and others shrink;
`SharedThreshold` tests both signs.

All numbers are counted in grid units of the coordinate's public grid, and summed over people, not
averaged. So all private numbers are whole.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.ledger.plain_values import SECRET
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_geometric
from graphcuts_dp.privacy.noise_scales import at_most

_LARGEST_SUM = 2**58  # people times width: 64-bit integers hold every sum with its noise
_LARGEST_SCALE = 2**55  # of noise: 64-bit integers hold every sample
_CANDIDATES = 160  # numbers of tangents that are tried
_SHARE_BITS = 20  # shares of a budget are multiples of 2^-20


@final
@dataclass(frozen=True)
class Line:
    """A straight line through a point.

    Attributes:
        at: position of the point.
        value: value of the line at the point.
        slope: slope of the line.
    """

    at: float
    value: float
    slope: float

    def __call__(self, x: Any) -> Any:
        """Return the value at x, or at many points."""
        return self.value + self.slope * (x - self.at)


@final
@dataclass(frozen=True)
class PiecewiseLinear:
    """The largest of some lines, and of 0. Immutable.

    Attributes:
        lines: in the order in which they were added.

    Source: HR12, Figure 1; its first line, of slope and value 0, is the 0 here.
    """

    lines: tuple[Line, ...] = ()

    def __call__(self, x: npt.ArrayLike) -> Any:
        """Return the value at a point, or at many; a whole number if x and all lines are."""
        largest = np.zeros_like(x)
        for line in self.lines:
            largest = np.maximum(largest, line(x))
        return largest

    def with_line(self, line: Line) -> "PiecewiseLinear":
        """Return the hypothesis after a mistake at `line.at`, with the tangent there."""
        return PiecewiseLinear((*self.lines, line))


@final
@dataclass(frozen=True)
class AboveThreshold:
    """A test of a true sum q against an estimate h, which fires when q + N >= h + T + R.

    R >= 0 is geometric of rate r1, drawn once for each instance; N >= 0 is fresh and geometric of
    rate r2. An instance is used until it fires once.

    Guarantee, for counts q that change by at most s grid units either way, a = s r1 and b = s r2:
    one instance is (a + 2 b)-DP, hence (a + 2 b)^2/2-zCDP, also for queries and hypotheses that are
    chosen after earlier answers.

    Proof. Fixed choices of the analyst fix the thresholds A_i = h_i + T, and the output is the
    number j of the test that fires. P(j) = sum over R >= 0 of
    p(R) prod_{i<j} P(q_i + N < A_i + R) P(q_j + N >= A_j + R), where p(R + s) = e^-a p(R) and
    G(x) = P(N >= x) = e^(-r2 max(x, 0)) has G(x + 2 s) >= e^(-2 b) G(x). For q' = q + d with
    |d_i| <= s, put R + s for R in P'(j): terms are left out, p falls by e^-a, no silent factor
    falls (d_i <= s), and the last is G(A_j + R + s - q_j - d_j) >= e^(-2 b) G(A_j + R - q_j). So
    P'(j) >= e^(-a - 2 b) P(j), and likewise for silence to the end. Exchange q and q'.

    Attributes:
        threshold_rate: r1, for one grid unit.
        query_rate: r2, for one grid unit.
        threshold: T, in grid units.

    Source: DR14 section 3.6 (AboveThreshold), with one-sided noise.
    """

    threshold_rate: Fraction
    query_rate: Fraction
    threshold: int

    def start(self, source: EntropySource) -> int:
        """Draw R of a new instance. Secret."""
        return int(sample_geometric(self.threshold_rate, 1, source)[0])

    def fires(self, secret: int, truth: int, estimate: int, source: EntropySource) -> bool:
        """Return whether the test fires; the secret is R of the running instance."""
        noise = int(sample_geometric(self.query_rate, 1, source)[0])
        return truth + noise >= estimate + self.threshold + secret

    def cost(self, sensitivity: int) -> Fraction:
        """Return the pure epsilon of one instance, a + 2 b, exactly."""
        return sensitivity * (self.threshold_rate + 2 * self.query_rate)


@final
@dataclass(frozen=True)
class CoordinateTask:
    """The task of learning one coordinate, in public numbers.

    Attributes:
        width: W: positions are 0..W, W >= 1.
        people: n >= 1.
        queries: k >= 1, the largest number of tests.
        points: number of positions that can be tested, >= 1.

    Raises:
        ParameterError: sums of distances that do not fit into 64 bits.
    """

    width: int
    people: int
    queries: int
    points: int

    def __post_init__(self) -> None:
        if self.people * self.width > _LARGEST_SUM:
            raise ParameterError("too many people for so fine a grid; take a larger unit of length")

    @property
    def most_updates(self) -> int:
        """The largest number of updates: at most one for each point and each query."""
        return min(self.queries, self.points)

    def largest_sum(self, positions: IntVector) -> IntVector:
        """Return the largest possible sums of distances: of all people at the farther end."""
        return np.asarray(self.people * np.maximum(positions, self.width - positions))


@final
@dataclass(frozen=True)
class CoordinateTuning:
    """Parameters of a coordinate's mechanism at a budget.

    Attributes:
        task: the public numbers of the coordinate.
        updates: c, the largest number of tangents that are measured.
        test: the test, with the rates of its noise.
        value_noise: noise on the value of a tangent.
        count_noise: noise on the number of people at or below a position, which decides the slope.
        value_radius: bound on the errors of all measured values, in grid units.
        count_radius: bound on the errors of all measured counts.
        below: the truth is at most so far below a guaranteed hypothesis, in grid units.
        above: the truth is at most so far above a guaranteed hypothesis, in grid units.
        total_cost: exact cost of `updates` tangents and `updates` + 1 instances of the test: pure
            epsilon, or rho.
    """

    task: CoordinateTask
    updates: int
    test: AboveThreshold
    value_noise: ValueNoise
    count_noise: ValueNoise
    value_radius: int
    count_radius: int
    below: int
    above: int
    total_cost: Fraction


@final
class Profile:
    """Sums of distances of people on one coordinate, and their slopes. Private.

    Args:
        positions: of the vertices, whole numbers >= 0, shape (V,).
        counts: people at each vertex, shape (V,).
    """

    def __init__(self, positions: IntVector, counts: IntVector) -> None:
        order = np.argsort(positions, kind="stable")
        self._positions = positions[order]
        # Number of people, and sum of their positions, among the first 0, 1, ... vertices.
        self._people = np.concatenate([[0], np.cumsum(counts[order])])
        self._moments = np.concatenate([[0], np.cumsum(counts[order] * self._positions)])

    def count(self, position: int) -> int:
        """Count the people at or below a position."""
        return int(self._people[np.searchsorted(self._positions, position, side="right")])

    def value(self, position: int) -> int:
        """Return the sum over people of their distance from a position."""
        index = np.searchsorted(self._positions, position, side="right")
        people_below, moment_below = int(self._people[index]), int(self._moments[index])
        people, moment = int(self._people[-1]), int(self._moments[-1])
        return position * (2 * people_below - people) + moment - 2 * moment_below

    def __repr__(self) -> str:
        return "Profile()"


@final
@dataclass(frozen=True)
class CoordinateState:
    """State of the mechanism. Immutable.

    Attributes:
        hypothesis: the hypothesis, public.
        secret: R of the running instance; None when no test is allowed any more.
        tests: number of tests so far.
        lost: number of tests whose outcome was lost, each of which may have measured a tangent.
    """

    hypothesis: PiecewiseLinear
    secret: int | None = field(repr=False, metadata={**SECRET, "lost": 0})
    tests: int = 0
    lost: int = 0

    @property
    def updates(self) -> int:
        """The number of tangents that count as measured so far."""
        return len(self.hypothesis.lines) + self.lost


@lru_cache(maxsize=4096)
def tune_coordinate(
    task: CoordinateTask, *, budget: Fraction, pure: bool, beta: float
) -> CoordinateTuning:
    """Return the tuning whose limit c on updates has the least guaranteed error.

    Moving a person changes a sum of distances by at most max(t, W - t) <= W grid units, and the
    number of people at or below t by at most 1, so their slope 2 count - n by 2 (HR12, proof of
    Theorem 1, says that the derivative's sensitivity is that of the value: O(1/n)).

    Accuracy. The error of a tangent is at most e = value radius + 2 W count radius anywhere. A test
    that fires shows q - h >= T - N >= e + g, so the errors of the exact tangents of earlier updates
    are at least g there, and there are at most 1 + sqrt(2 n W/g) <= c mistakes (HR12, Lemma 4). A
    silent test shows q - h < T + R. All of this holds with probability 1 - beta, of which N, R,
    values and counts have a quarter each.

    Args:
        task: the public numbers of the coordinate.
        budget: a pure epsilon (discrete Laplace noise on tangents), or rho (discrete Gaussian).
        pure: whether the budget is a pure epsilon.
        beta: probability that a bound fails, in (0, 1).

    Raises:
        ParameterError: noise too large for 64-bit integers.
    """
    limits = np.unique(np.rint(np.geomspace(1, task.most_updates, _CANDIDATES))).astype(np.int64)
    errors = [_predicted_error(task, int(c), float(budget), pure, beta)[0] for c in limits]
    return _tuning_of(task, int(limits[int(np.argmin(errors))]), budget, pure, beta)


def start_coordinate(tuning: CoordinateTuning, source: EntropySource) -> CoordinateState:
    """Return the state before the first test. Reads nothing private."""
    return CoordinateState(PiecewiseLinear(), tuning.test.start(source))


def step_coordinate(
    tuning: CoordinateTuning,
    state: CoordinateState,
    profile: Profile,
    position: int,
    source: EntropySource,
) -> CoordinateState:
    """Test the hypothesis at a position, and correct it there if it is too low.

    Only the noisy test decides whether it is too low. Noisy tangents are moved into the possible
    range: counts into 0..n, values into 0..n max(t, W - t). If a test fires after the last tangent
    of the budget, the coordinate ends: `secret` is None, nothing private is read any more, and the
    hypothesis has no guarantee.

    Guarantee, for moving one person: `tuning.total_cost`, pure epsilon or rho, for all steps from
    a start together. At most c tangents are measured and c + 1 instances started, whatever happens.
    """
    secret = state.secret
    if secret is None or state.tests >= tuning.task.queries:
        return replace(state, secret=None)
    state = replace(state, tests=state.tests + 1)
    estimate = int(state.hypothesis(position))
    if not tuning.test.fires(secret, profile.value(position), estimate, source):
        return state
    if state.updates >= tuning.updates:
        return replace(state, secret=None)
    people = tuning.task.people
    largest_value = int(tuning.task.largest_sum(np.array(position)))
    value = min(max(profile.value(position) + tuning.value_noise.draw(source), 0), largest_value)
    count = min(max(profile.count(position) + tuning.count_noise.draw(source), 0), people)
    line = Line(at=position, value=value, slope=2 * count - people)
    return replace(
        state,
        hypothesis=state.hypothesis.with_line(line),
        secret=tuning.test.start(source),
    )


def lose_step(
    tuning: CoordinateTuning, state: CoordinateState, source: EntropySource
) -> CoordinateState:
    """Return the state after a step whose outcome was lost, as if a tangent had been measured.

    The noise of the running instance may have been used, so it is never used again: a new instance
    begins, one of the c + 1 in the budget. Reads nothing private.
    """
    if state.secret is None or state.tests >= tuning.task.queries:
        return replace(state, secret=None)
    state = replace(state, tests=state.tests + 1)
    if state.updates >= tuning.updates:
        return replace(state, secret=None)
    return replace(state, lost=state.lost + 1, secret=tuning.test.start(source))


def _tuning_of(
    task: CoordinateTask, c: int, budget: Fraction, pure: bool, beta: float
) -> CoordinateTuning:
    """Return the tuning with c updates, see `tune_coordinate`.

    Raises:
        ParameterError: noise too large for 64-bit integers.
    """
    _, share = _predicted_error(task, c, float(budget), pure, beta)
    tangents_budget = _share_of(budget, share)
    # Of a tangent's value and count, such that value radius + 2 width count radius is least.
    value_budget = _share_of(tangents_budget / c, 1 / (1 + 2 ** (1 / 2 if pure else 2 / 3)))
    value_noise = _tangent_noise(task.width, value_budget, pure)
    count_noise = _tangent_noise(1, tangents_budget / c - value_budget, pure)
    log_r, log_n = _log_failures(task, c, beta)
    instance_budget = (budget - tangents_budget) / (c + 1)
    epsilon = float(instance_budget) if pure else math.sqrt(2 * float(instance_budget))
    epsilon_of_r = epsilon * math.sqrt(log_r) / (math.sqrt(log_r) + math.sqrt(2 * log_n))
    r1 = at_most(epsilon_of_r / task.width)
    r2 = at_most((epsilon - epsilon_of_r) / (2 * task.width))
    if min(r1, r2) < Fraction(1, _LARGEST_SCALE):
        raise ParameterError("the noise does not fit into 64 bits; use more epsilon")
    failure = beta / 4
    value_radius = value_noise.radius(failure / c)
    count_radius = count_noise.radius(failure / c)
    tangent_error = value_radius + 2 * task.width * count_radius
    largest_n = geometric_quantile(r2, failure=failure / task.queries)
    largest_r = geometric_quantile(r1, failure=failure / (c + 1))
    tolerance = tangent_error + _gap(task, c)
    test = AboveThreshold(r1, r2, tolerance + largest_n)
    instance_cost = test.cost(task.width)
    if pure:
        tangent_cost = task.width * value_noise.parameter + count_noise.parameter
    else:
        instance_cost = instance_cost**2 / 2
        tangent_cost = task.width**2 / (2 * value_noise.parameter) + 1 / (2 * count_noise.parameter)
    return CoordinateTuning(
        task=task,
        updates=c,
        test=test,
        value_noise=value_noise,
        count_noise=count_noise,
        value_radius=value_radius,
        count_radius=count_radius,
        below=tangent_error,
        above=tolerance + largest_n + largest_r,
        total_cost=(c + 1) * instance_cost + c * tangent_cost,
    )


def _predicted_error(
    task: CoordinateTask, c: int, budget: float, pure: bool, beta: float
) -> tuple[float, float]:
    """Return the error in grid units, and the share of the budget for tangents, before rounding.

    With a share x of the budget for tangents, radii of their noise are a/x^p, with p = 1 for a pure
    epsilon and 1/2 for rho, and those of the tests b/(1-x)^p. Their sum is least where x : 1-x is
    as a^(1/(1+p)) : b^(1/(1+p)). Within a tangent the budget is divided in the same way between the
    value and the count, whose error weighs twice.
    """
    log_r, log_n = _log_failures(task, c, beta)
    p, epsilon_scale = (1.0, budget) if pure else (0.5, 2 * budget)
    exponent = 1 / (1 + p)
    quantile = math.log(4 * c / beta) if pure else -scipy.special.ndtri(beta / (8 * c))
    of_tangents = task.width * quantile * (c / epsilon_scale) ** p * (1 + 2**exponent) ** (1 + p)
    of_tests = task.width * (math.sqrt(log_r) + math.sqrt(2 * log_n)) ** 2
    of_tests *= ((c + 1) / epsilon_scale) ** p
    share = float(of_tangents**exponent / (of_tangents**exponent + of_tests**exponent))
    return of_tangents / share**p + of_tests / (1 - share) ** p + _gap(task, c), share


def _log_failures(task: CoordinateTask, c: int, beta: float) -> tuple[float, float]:
    """Return ln(1/failure) of each R, of which there are c + 1, and of each N, one a query."""
    return math.log(4 * (c + 1) / beta), math.log(4 * task.queries / beta)


def _gap(task: CoordinateTask, c: int) -> int:
    """Return g, the least whole number > 0 for which no more than c mistakes are possible."""
    if c >= task.most_updates:
        return 1
    if c == 1:
        return 2 * task.people * task.width + 1  # more than the error of any tangent
    return max(1, math.ceil(2 * task.people * task.width / (c - 1) ** 2))


def _share_of(budget: Fraction, share: float) -> Fraction:
    """Return a share of a budget, rounded to a multiple of 2^-20 of it."""
    return budget * Fraction(round(share * 2**_SHARE_BITS), 2**_SHARE_BITS)


def _tangent_noise(sensitivity: int, budget: Fraction, pure: bool) -> ValueNoise:
    """Return the noise on a number of a tangent, at its budget."""
    if pure:
        return ValueNoise("laplace", at_most(float(budget) / sensitivity))
    # At least s^2/(2 rho), rounded up to a fraction that is short to write.
    variance = Fraction(math.ceil(sensitivity**2 / (2 * budget) * 1024), 1024)
    return ValueNoise("gaussian", variance)


def geometric_quantile(rate: Fraction, *, failure: float) -> int:
    """Return the least whole t with P(N > t) = e^(-rate (t+1)) <= failure."""
    return max(0, math.ceil(-math.log(failure) / float(rate) * (1 + 1e-12)) - 1)
