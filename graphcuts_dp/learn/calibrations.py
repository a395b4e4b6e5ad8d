"""How much noise, how many updates, which tolerance: budgets of sessions that learn.

All lengths in real numbers are in units of the answers' sensitivity (edges, in a graph without
weights); noise and thresholds are in steps of the grid, of which `sensitivity` make one unit. What
is guaranteed is a function of `learn.bounds`, which each calibration names as its `bound`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self, final

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bounds import (
    CutSizes,
    ErrorBound,
    Setting,
    Size,
    UpdateBound,
    at_least_one,
    checked_guarantee,
    dr14_online,
    gru12_online,
    jt12_online,
    shape_of,
    tight_online,
)
from graphcuts_dp.learn.learners import MOST_PAIRS
from graphcuts_dp.learn.norms import AUTO, MOST_VERTICES, norm_updates
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep
from graphcuts_dp.privacy.composition import Cost, check_spent, compose, zcdp_epsilon, zcdp_rho
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.noise_scales import SparseVectorScales, at_most, sparse_vector_scales
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold

# Of what is left of a construction's budget and beta, for each statistic that it measures at its
# start, such as the total weight.
START_SHARE = Fraction(1, 40)
_LARGEST_SCALE = 2**55  # of noise, in steps: 64-bit integers hold every sample


@final
@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What a calibration chooses.

    Attributes:
        alpha: tolerance of the construction, in units of the answers' sensitivity.
        updates: c, hard cap on the number of updates.
        queries: k, how many answers are guaranteed.
        test: with its noise.
        value_noise: on the answers that updates buy, or None where none is bought or the test
            makes them.
        error: in steps; how far a hypothesis's answer can be from the truth when no test fired.
        value_error: in steps; how far a bought answer can be.
        halts: whether the mechanism stops after update number c; else it goes on until a test
            fires once more.
    """

    alpha: float
    updates: int
    queries: int
    test: OneSidedPair | SharedThreshold | NoisyComparison
    value_noise: ValueNoise | None = None
    error: int
    value_error: int = 0
    halts: bool

    def cost(self, sensitivity: int, *, delta: float) -> Cost:
        """What all tests and bought answers cost together, from the scales of their noise.

        Args:
            sensitivity: of the answers, in steps.
            delta: for which a cost that is not pure is stated, in [0, 1).
        """
        parts = [self.test.cost(sensitivity, updates=self.updates, delta=delta)]
        if self.value_noise is not None and self.updates:
            parts.append(self.value_noise.cost(sensitivity, delta=delta).times(self.updates))
        return compose(parts, delta=delta)


def start_plan(cost: Cost, measured: Iterable[str], rest: str) -> BudgetPlan:
    """Return the plan of a construction that measures some statistics at its start.

    Args:
        cost: of everything together.
        measured: the statistics, in order; each takes `START_SHARE` of what is left.
        rest: what the rest is spent on.
    """
    noise = "discrete Laplace" if cost.rho is None or cost.pure is not None else "discrete Gaussian"
    steps = [BudgetStep(statistic=name, share=START_SHARE, noise=noise) for name in measured]
    steps.append(BudgetStep(statistic=rest, share=ALL_LEFT, noise="as calibrated"))
    return BudgetPlan.of_cost(cost, steps)


class Calibration(ABC):
    """A budget, what is guaranteed for it, and the tuning that they give.

    Attributes:
        name: as it is typed.
        queries: k >= 1: how many answers are guaranteed.
        beta: probability that any interval is wrong, in (0, 1).
    """

    name: ClassVar[str]
    queries: int
    beta: float

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What is spent, whatever happens."""

    @abstractmethod
    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """Pay for a noisy number, such as the total weight, out of this budget.

        Returns:
            Its noise, how far it can be off (in steps), its cost, and what is left, which is the
            same whatever the sensitivity. Both costs together are `cost`.
        """

    @abstractmethod
    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance for a construction with this bound.

        Raises:
            ParameterError: the noise does not fit into 64 bits, or no tolerance is possible.
            BudgetError: the noise that was chosen costs more than the budget.
        """


@dataclass(frozen=True, kw_only=True)
class ZcdpBudget:
    """A budget that is spent in zCDP, and a noisy number that is bought first.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in (0, 1).
        beta: probability of a larger error than stated, in (0, 1).
        rho: what of the budget is here; None for all of it.
    """

    epsilon: float
    delta: float
    beta: float = DEFAULT_FAILURE
    rho: float | None = None

    @property
    def _rho(self) -> float:
        return zcdp_rho(epsilon=self.epsilon, delta=self.delta) if self.rho is None else self.rho

    @property
    def cost(self) -> Cost:
        """rho-zCDP, whatever happens."""
        if self.rho is not None:
            return Cost.of_rho(self.rho, delta=self.delta)
        return Cost(epsilon=self.epsilon, delta=self.delta, rho=self._rho)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """See `Calibration.with_total`. A discrete Gaussian of s^2/(2 v)-zCDP."""
        rho, share = Fraction(self._rho), float(START_SHARE)
        spent = rho * START_SHARE
        noise = ValueNoise("gaussian", sensitivity**2 / (2 * spent))
        left = float(rho - spent) * (1 - 1e-15)
        rest = replace(self, rho=left, beta=self.beta * (1 - share))
        cost = noise.cost(sensitivity, delta=self.delta)
        check_spent(compose([cost, rest.cost], delta=self.delta), self.cost)
        return noise, noise.radius(self.beta * share), cost, rest


@dataclass(frozen=True, kw_only=True)
class PaperBudget:
    """The budget of a paper's theorem. The papers take a total as public: here it is bought.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in [0, 1).
        beta: probability of a larger error than stated, in (0, 1).
    """

    epsilon: float
    delta: float
    beta: float = DEFAULT_FAILURE

    @property
    def cost(self) -> Cost:
        """The (epsilon, delta) of the theorem; pure for delta = 0."""
        if not self.delta:
            return Cost.of_pure(Fraction(self.epsilon))
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """See `Calibration.with_total`. Discrete Laplace noise: a part of epsilon, pure."""
        total, share = Fraction(self.epsilon), float(START_SHARE)
        spent = total * START_SHARE
        noise = ValueNoise("laplace", spent / sensitivity)
        left = math.nextafter(float(total - spent), 0)
        cost = noise.cost(sensitivity, delta=self.delta)
        check_spent(compose([cost, Cost.of_pure(Fraction(left))], delta=0.0), Cost.of_pure(total))
        rest = replace(self, epsilon=left, beta=self.beta * (1 - share))
        return noise, noise.radius(self.beta * share), cost, rest


@dataclass(frozen=True, kw_only=True)
class KnownCalibration(Calibration):
    """One of the table.

    Attributes:
        bound: the error that is guaranteed, from B and epsilon, delta, queries and beta.
        pure: whether delta may be 0.
        epsilon: > 0.
        delta: in (0, 1), or 0 where it may be.
        queries: see `Calibration`.
        beta: likewise.

    Raises:
        ParameterError: a number out of range.
    """

    bound: ClassVar[Callable[..., ErrorBound]]
    pure: ClassVar[bool] = False

    epsilon: float
    delta: float
    queries: int
    beta: float = DEFAULT_FAILURE

    def __post_init__(self) -> None:
        delta = self.delta or 0.5 if self.pure else self.delta
        checked_guarantee(self.queries, self.epsilon, delta, self.beta)
        exact_epsilon(self.epsilon)

    def _guaranteed(self, update_bound: UpdateBound, **changed: float) -> ErrorBound:
        terms: dict[str, Any] = {
            "queries": self.queries,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "beta": self.beta,
        }
        return type(self).bound(update_bound, **terms | changed)

    def _tuned(
        self, sensitivity: int, rates: tuple[Fraction, ...], bound: ErrorBound, **chosen: Any
    ) -> Tuning:
        """The tuning of a bound, whose noise must fit into 64 bits and into the budget."""
        if min(rates) < Fraction(1, _LARGEST_SCALE):
            raise ParameterError(
                "the noise of this method does not fit into 64 bits here; use method 'tight', more"
                " epsilon, or larger units of weight"
            )
        tuning = Tuning(alpha=bound.alpha, updates=bound.updates, queries=self.queries, **chosen)
        check_spent(tuning.cost(sensitivity, delta=self.delta), self.cost)
        return tuning


@final
@dataclass(frozen=True, kw_only=True)
class Tight(ZcdpBudget, KnownCalibration):
    """Two one-sided tests with geometric noise, bounded-range accounting, and a re-test.

    With c updates allowed, c + 2 instances are started at most; rho pays for them as
    (c + 2) eta^2/8 with eta = s r1 + 2 s r2 (see `OneSidedPair`). alpha is the one for which the
    guaranteed error is least, given B. If c updates have happened and a test fires again, the
    mechanism stops: the cap is hard, and privacy never rests on B being right.

    Guarantee: rho-zCDP, rho = `zcdp_rho(epsilon, delta)`, hence (epsilon, delta)-DP. With
    probability 1 - beta every update is a valid one and every guaranteed answer within
    alpha + slack (in `learn.bounds.tight_online`), up to a step of rounding, in our favour:
    P(N > t) = e^(-r (t+1)) for whole t, so t = ceil(L/r) - 1 suffices.

    Attributes:
        value_share: part of rho for noisy answers to the queries that update (discrete Gaussian,
            c/(2 s^2) zCDP); 0 buys none, and re-tests instead.

    Raises:
        ParameterError: a number out of range.
    """

    name = "tight"
    bound = staticmethod(tight_online)

    value_share: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.value_share < 1:
            raise ParameterError("value_share is a part of the budget: from 0 to less than 1")

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        for_tests = Fraction(self._rho) * (1 - Fraction(self.value_share))
        beta = self.beta / 2 if self.value_share else self.beta
        bound = self._guaranteed(
            update_bound, epsilon=zcdp_epsilon(float(for_tests), delta=self.delta), beta=beta
        )
        c = bound.updates
        scales = sparse_vector_scales(
            rho=float(for_tests), updates=c, queries=self.queries, beta=beta
        )
        r1, r2 = _rates(scales, for_tests, c)
        # In steps: P(N > margin) and P(R > rise) are what the union bounds ask for.
        margin = _quantile(scales.log_tests, r2 / sensitivity)
        rise = _quantile(scales.log_thresholds, r1 / sensitivity)
        alpha = Fraction(bound.alpha) * sensitivity
        test = OneSidedPair(r1 / sensitivity, r2 / sensitivity, alpha + margin)
        error = math.ceil(alpha) + margin + rise
        noise = None
        value_error = 0
        if self.value_share and c:
            spent = Fraction(self._rho) * Fraction(self.value_share)
            noise = ValueNoise("gaussian", c * sensitivity**2 / (2 * spent))
            value_error = noise.radius(self.beta / (2 * c))
        return self._tuned(
            sensitivity,
            (test.threshold_rate, test.query_rate),
            bound,
            test=test,
            value_noise=noise,
            error=error,
            value_error=value_error,
            halts=False,
        )


def _rates(scales: SparseVectorScales, rho: Fraction, c: int) -> tuple[Fraction, Fraction]:
    """r1 and r2 for one unit, with (c + 2) (r1 + 2 r2)^2/8 <= rho exactly."""
    r1, r2 = at_most(1 / scales.threshold_scale), at_most(1 / scales.query_scale)
    while (c + 2) * (r1 + 2 * r2) ** 2 / 8 > rho:
        r1, r2 = r1 * (1 - Fraction(1, 10**12)), r2 * (1 - Fraction(1, 10**12))
    return r1, r2


def _quantile(log_failures: float, rate: Fraction) -> int:
    """The least whole t with P(N > t) = e^(-rate (t+1)) <= e^-log_failures."""
    return max(0, math.ceil(log_failures / float(rate) * (1 + 1e-12)) - 1)


@dataclass(frozen=True, kw_only=True)
class _Paper(PaperBudget, KnownCalibration):
    """A paper's calibration, to the letter; each says what had to deviate.

    Epsilon is at most 1 for delta > 0, as in the theorems. The constants are in `bound`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta and self.epsilon > 1:
            raise ParameterError(
                f"the theorem behind {self.name!r} is for epsilon up to 1; use calibration 'tight'"
            )

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`: noisy answers are compared with the hypothesis."""
        bound = self._guaranteed(at_least_one(update_bound))
        logs = math.log(2 * self.queries / self.beta)
        rate = at_most(4 * logs / bound.threshold) / sensitivity
        return self._tuned(
            sensitivity,
            (rate,),
            bound,
            test=NoisyComparison(rate, Fraction(bound.threshold) * sensitivity),
            error=math.ceil(bound.error * sensitivity) + 1,
            value_error=ValueNoise("laplace", rate).radius(math.exp(-logs)),
            halts=True,
        )


@final
@dataclass(frozen=True, kw_only=True)
class GRU12(_Paper):
    """Noisy answers compared with the hypothesis: sigma = 1000 sqrt(B) ln(4/delta)/epsilon.

    T = 4 sigma ln(2k/beta), alpha = 3T/4; stops after update number B. Deviations: noise is the
    two-sided geometric distribution of the same rate 1/sigma, not Laplace's; errors count edges;
    where B < 1, sigma is that of B = 1, so that the first update has been paid for.

    Guarantee: (epsilon, delta)-DP, as the paper's Theorem 4.1 says; its proof does not hold as
    printed, and the constant is loose. Proof, from the theorem in `comparison_moment`, for any
    constant C >= 100 in place of 1000. The threshold is public and without noise, and nothing rests
    on it. Let L = ln(4/delta) > 1.386, e = 1/sigma = epsilon/(C sqrt(B) L) and a = 2 L/epsilon,
    with epsilon <= 1, B >= 1, and at most B updates, after which the mechanism stops:
    1. a > 2.77, a e <= 2/C, e < 0.722/C.
    2. theta = exp(e) - 1 <= 1.01 e, so 1 - a theta > 0.979.
    3. (a + 2) e < 3.45/C, so exp((a + 2) e) < 1.036.
    4. a (a + 1) e^2 = (a e)^2 (1 + 1/a) < 4/(C^2 B) 1.361 < 5.45/(C^2 B).
    5. K theta^2 < 5.45/2 1.036 1.01^2/(C^2 B) < 2.89/(C^2 B).
    6. mu = 2 artanh(K theta^2/(1 - a theta)) < 2.01 2.96/(C^2 B) < 6/(C^2 B).
    7. ln delta' = mu B - a epsilon < 6/C^2 - 2 L, so delta' < 1.001 (delta/4)^2 < delta.
    By the same theorem C = 2.2 would do: `Tuning.cost` says what a tuning really costs.

    With probability 1 - beta/2 hypothesis answers are within 5T/4 (and a step of rounding) and
    noisy ones T/4.

    Source: GRU12, Alg. 1.
    """

    name = "gru12"
    bound = staticmethod(gru12_online)


@final
@dataclass(frozen=True, kw_only=True)
class JT12(_Paper):
    """As GRU12, with epsilon0 = epsilon/(100 sqrt(B) ln(4/delta)), T = (4/epsilon0) ln(2k/beta).

    Updates are valid for alpha = T/2. B is B(T/2); the paper takes it as given. Errors: 2T as
    printed. Deviations: as in `GRU12`; gamma, the change of the data, is 1.

    Guarantee: (epsilon, delta)-DP, as the paper's Theorem 1 says, which takes it from GRU12 with
    another constant: by the proof in `GRU12`, with e = epsilon0 and C = 100.

    Source: JT12, Alg. 1 and Theorem 2.
    """

    name = "jt12"
    bound = staticmethod(jt12_online)


@final
@dataclass(frozen=True, kw_only=True)
class DR14(_Paper):
    """NumericSparse on both signs of every discrepancy, threshold 2 alpha, answers within 3 alpha.

    sigma(e) = sqrt(32 c ln(2/delta))/e, or 2c/e for delta = 0. The threshold has noise of scale
    sigma(e1), each test 2 sigma(e1), each answer that is bought sigma(e2), with
    e1 = epsilon sqrt(512)/(sqrt(512) + 1) and e2 = 2 epsilon/(sqrt(512) + 1), or 8/9 and 2/9 of
    epsilon for delta = 0; so e1 + e2/2 = epsilon. Deviations: two-sided geometric noise; 2k queries
    in the logarithm; the interval of a bought answer is the one that its noise gives (for delta > 0
    the book's claim for it, alpha, does not follow from its own scale).

    Guarantee: (epsilon, delta)-DP, as the book's theorem on NumericSparse (section 3.6) says. Let
    S = sqrt(32 c ln(2/delta)), or 2 c for delta = 0:
    1. An instance of the test is 2 e1/S-DP (see `SharedThreshold`), an answer e2/S-DP; there are at
       most c of each, after which the mechanism stops.
    2. delta = 0: c (2 e1 + e2)/(2 c) = e1 + e2/2 = epsilon.
    3. Else they are rho-zCDP with rho = c ((2 e1/S)^2 + (e2/S)^2)/2, which is
       (4 e1^2 + e2^2)/(64 ln(2/delta)) < 0.0575 epsilon^2/ln(2/delta), since
       4 e1^2 + e2^2 < 3.68 epsilon^2.
    4. That is (rho + 2 sqrt(rho ln(1/delta)), delta)-DP: with epsilon <= 1 and ln(2/delta) > 0.693
       less than (0.083 + 0.48) epsilon.

    Source: DR14, Alg. 3 (NumericSparse) and Alg. 11.
    """

    name = "dr14"
    bound = staticmethod(dr14_online)
    pure = True

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        update_bound = at_least_one(update_bound)
        bound = self._guaranteed(update_bound)
        # To the letter c is B(alpha), a real number; more of it means more noise.
        c = max(update_bound(bound.alpha), bound.updates)
        if self.delta == 0:
            spread, first, second = 2 * c, 8 / 9 * self.epsilon, 2 / 9 * self.epsilon
        else:
            spread = math.sqrt(32 * c * math.log(2 / self.delta))
            first = self.epsilon * math.sqrt(512) / (math.sqrt(512) + 1)
            second = 2 * self.epsilon / (math.sqrt(512) + 1)
        rate = at_most(first / spread) / sensitivity
        noise = ValueNoise("laplace", at_most(second / spread) / sensitivity)
        test = SharedThreshold(rate, rate / 2, Fraction(2 * bound.alpha) * sensitivity)
        return self._tuned(
            sensitivity,
            (rate / 2, noise.parameter),
            bound,
            test=test,
            value_noise=noise,
            error=math.ceil(bound.error * sensitivity) + 1,
            value_error=noise.radius(self.beta / (2 * c)),
            halts=True,
        )


# What `calibration=` can name.
CALIBRATIONS: Mapping[str, type[Tight | GRU12 | JT12 | DR14]] = {
    each.name: each for each in (Tight, GRU12, JT12, DR14)
}


# The error of a session of each method: with probability 1 - beta no answer about disjoint sets is
# farther off; infinite where delta is 0 and must not be, or epsilon too small for so many edges.

Updates = Callable[[Size, float, Rule, bool], UpdateBound]


def learning_error(updates: Updates, setting: Setting, calibration: str = Tight.name) -> float:
    """Of a construction, with m known, however the cuts are chosen.

    A session buys m with a small part of its budget and is about 2 % worse.

    Args:
        updates: B from size, edges, the form of the rule and whether sets are disjoint. The papers'
            mechanisms have their rules as printed, which know nothing of disjoint sets.
        setting: the public numbers.
        calibration: a name of the table.
    """
    known, tight = CALIBRATIONS[calibration], calibration == Tight.name
    if setting.delta == 0 and not known.pure:
        return math.inf
    work = setting.workload
    try:
        one = setting.for_one(zcdp=tight)
    except ParameterError:  # too little is left for one of many edges
        return math.inf
    bound = updates(one.n, one.edges, "tight" if tight else "as printed", tight)
    return known.bound(
        bound if tight else at_least_one(bound),
        queries=work.queries,
        epsilon=one.epsilon,
        delta=one.delta,
        beta=work.beta,
    ).error


def mirror_descent_error(
    setting: Setting, *, norm: str = AUTO, calibration: str = Tight.name
) -> float:
    """Of mirror descent, whose norm and announced right vertices B depends on.

    Args:
        setting: the public numbers.
        norm: see `parse_norm`; for "2,p" of a graph with the largest sum of root degrees.
        calibration: as for `learning_error`.

    Returns:
        Infinity for more vertices than a matrix of all pairs can have.

    Raises:
        ParameterError: a norm that such a graph cannot have.
    """
    if max(shape_of(setting.n)) > max(MOST_VERTICES.values()):
        return math.inf
    sizes = setting.sizes
    if calibration != Tight.name:
        sizes = CutSizes.of(setting.n, max_right_size=setting.workload.max_right_size)
    # The largest nuclear norm of a graph of this rank, by Cauchy and Schwarz.
    nuclear = None if setting.rank is None else math.sqrt(setting.rank * setting.edges)
    updates = partial(norm_updates, norm=norm, sizes=sizes, nuclear=nuclear)
    return learning_error(updates, setting, calibration=calibration)


def median_error(setting: Setting) -> float:
    """Of the median of all graphs: B is the number of pairs; infinite for more than it can list."""
    if setting.pairs > MOST_PAIRS or setting.privacy_unit.kind == "vertex":
        return math.inf
    pairs = float(setting.pairs)
    return learning_error(lambda *_: lambda _: pairs, setting)
