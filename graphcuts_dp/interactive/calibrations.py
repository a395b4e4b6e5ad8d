"""How much noise, how many updates, which tolerance: the papers' choices, and the best one.

All lengths in real numbers are in units of the answers' sensitivity (edges, in a graph without
weights); noise and thresholds are in steps of the grid, of which `sensitivity` make one unit.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.idc.online_bounds import (
    ErrorBound,
    checked_promise,
    dr14_online,
    gru12_online,
    jt12_online,
    tight_online,
)
from graphcuts_dp.idc.update_bounds import UpdateBound
from graphcuts_dp.interactive.sparse_vector import (
    NoisyComparison,
    OneSidedPair,
    SharedThreshold,
)
from graphcuts_dp.interactive.tunings import Tuning
from graphcuts_dp.interactive.value_noise import ValueNoise
from graphcuts_dp.privacy.calibration import sparse_vector_scales
from graphcuts_dp.privacy.composition import Cost, zcdp_epsilon, zcdp_rho
from graphcuts_dp.privacy.guarantee import exact_epsilon

_LARGEST_SCALE = 2**55  # of noise, in steps: 64-bit integers hold every sample


class Calibration(Protocol):
    """A budget and a promise, and the tuning that they give."""

    @property
    def name(self) -> str:
        """Of the method."""
        ...

    @property
    def queries(self) -> int:
        """k: how many answers are promised."""
        ...

    @property
    def beta(self) -> float:
        """Probability that any interval is wrong."""
        ...

    @property
    def cost(self) -> Cost:
        """What is spent, whatever happens."""
        ...

    def with_total(self, sensitivity: int) -> "tuple[ValueNoise, int, Cost, Calibration]":
        """Pay for a noisy total weight out of this budget.

        Returns:
            Its noise, how far it can be off (in steps), its cost, and what is left. Both costs
            together are `cost`.
        """
        ...

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance for a construction with this bound.

        Raises:
            ParameterError: the noise does not fit into 64 bits, or no tolerance is possible.
        """
        ...


TOTAL_SHARE = Fraction(1, 40)  # of the budget, and of beta, for a noisy total weight


@final
@dataclass(frozen=True, kw_only=True)
class Tight:
    """Two one-sided tests with geometric noise, bounded-range accounting, and a re-test.

    With c updates allowed, c + 2 instances are started at most; rho pays for them as
    (c + 2) eta^2/8 with eta = s r1 + 2 s r2 (see `OneSidedPair`). alpha is the one for which the
    guaranteed error is least, given B. If c updates have happened and a test fires again, the
    mechanism stops: the cap is hard, and privacy never rests on B being right.

    Guarantee: rho-zCDP, rho = `zcdp_rho(epsilon, delta)`, hence (epsilon, delta)-DP. With
    probability 1 - beta every update is a valid one and every guaranteed answer within
    alpha + slack (in `idc.online_bounds.tight_online`), up to a step of rounding, in our favour:
    P(N > t) = e^(-r (t+1)) for whole t, so t = ceil(L/r) - 1 suffices.

    Attributes:
        epsilon: > 0.
        delta: in (0, 1).
        queries: k >= 1.
        beta: in (0, 1).
        value_share: part of rho for noisy answers to the queries that update (discrete Gaussian,
            c/(2 s^2) zCDP); 0 buys none, and re-tests instead.
        rho: what of the budget is here; None for all of it.

    Raises:
        ParameterError: a number out of range.
    """

    epsilon: float
    delta: float
    queries: int
    beta: float = 0.05
    value_share: float = 0.0
    rho: float | None = None

    def __post_init__(self) -> None:
        checked_promise(self.queries, self.epsilon, self.delta, self.beta)
        exact_epsilon(self.epsilon)
        if not 0 <= self.value_share < 1:
            raise ParameterError("value_share is a part of the budget: from 0 to less than 1")

    @property
    def name(self) -> str:
        """Of the method."""
        return "tight"

    @property
    def _rho(self) -> float:
        return zcdp_rho(epsilon=self.epsilon, delta=self.delta) if self.rho is None else self.rho

    @property
    def cost(self) -> Cost:
        """rho-zCDP."""
        if self.rho is not None:
            return Cost.of_rho(self.rho, delta=self.delta)
        return Cost(epsilon=self.epsilon, delta=self.delta, rho=self._rho)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "Calibration"]:
        """See `Calibration.with_total`. A discrete Gaussian of s^2/(2 v)-zCDP."""
        rho = Fraction(self._rho)
        spent = rho * TOTAL_SHARE
        noise = ValueNoise("gaussian", sensitivity**2 / (2 * spent))
        left = float(rho - spent) * (1 - 1e-15)
        share = float(TOTAL_SHARE)
        rest = replace(self, rho=left, beta=self.beta * (1 - share))
        cost = Cost.of_rho(float(spent), delta=self.delta)
        return noise, noise.radius(self.beta * share), cost, rest

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        for_tests = Fraction(self._rho) * (1 - Fraction(self.value_share))
        beta = self.beta / 2 if self.value_share else self.beta
        bound = tight_online(
            update_bound,
            queries=self.queries,
            epsilon=zcdp_epsilon(float(for_tests), delta=self.delta),
            delta=self.delta,
            beta=beta,
        )
        c = bound.updates
        r1, r2 = _rates(for_tests, c, self.queries, beta)
        # In steps: P(N > margin) and P(R > rise) are what the union bounds ask for.
        margin = _quantile(math.log(4 * (self.queries + c) / beta), r2 / sensitivity)
        rise = _quantile(math.log(2 * (c + 2) / beta), r1 / sensitivity)
        alpha = Fraction(bound.alpha) * sensitivity
        test = OneSidedPair(r1 / sensitivity, r2 / sensitivity, alpha + margin)
        error = math.ceil(alpha) + margin + rise
        noise = None
        value_error = 0
        if self.value_share and c:
            spent = Fraction(self._rho) * Fraction(self.value_share)
            noise = ValueNoise("gaussian", c * sensitivity**2 / (2 * spent))
            value_error = noise.radius(self.beta / (2 * c))
        _check_scale(test.threshold_rate, test.query_rate)
        return Tuning(
            alpha=bound.alpha,
            updates=c,
            queries=self.queries,
            test=test,
            value_noise=noise,
            error=error,
            value_error=value_error,
            halts=False,
        )


@final
@dataclass(frozen=True, kw_only=True)
class GRU12:
    """Noisy answers compared with the hypothesis: sigma = 1000 sqrt(B) ln(4/delta)/epsilon.

    T = 4 sigma ln(2k/beta), alpha = 3T/4; stops after update number B. Deviations: noise is the
    two-sided geometric law of the same rate 1/sigma, not Laplace's; errors count edges; where
    B < 1, sigma is that of B = 1, so that the first update has been paid for.

    Guarantee: (epsilon, delta)-DP by the paper's Theorem 4.1. Its proof uses the noise through
    ratios e^(1/sigma) of shifted probabilities and tails e^(-t/sigma), which the geometric law has
    at whole numbers, and a truth that moves by whole steps; the corrected claims leave the theorem
    standing (Claim 4.3: loss <= 2e/sigma for sigma >= 2; Claim 4.7: 11 epsilon0). With probability
    1 - beta/2 hypothesis answers are within 5T/4 (and a step of rounding) and noisy ones T/4.

    Attributes: as `Tight`'s.

    Source: GRU12, Alg. 1.
    """

    epsilon: float
    delta: float
    queries: int
    beta: float = 0.05

    def __post_init__(self) -> None:
        checked_promise(self.queries, self.epsilon, self.delta, self.beta)
        exact_epsilon(self.epsilon)

    @property
    def name(self) -> str:
        """Of the method."""
        return "gru12"

    @property
    def cost(self) -> Cost:
        """The paper's."""
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "Calibration"]:
        """See `Calibration.with_total`: a part of epsilon, pure. The paper takes m as public."""
        noise, radius, cost, left, beta = _pure_total(self, sensitivity)
        return noise, radius, cost, replace(self, epsilon=left, beta=beta)

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        bound = gru12_online(_at_least_one(update_bound), **_numbers(self))
        return _comparison(self, bound, sensitivity, 5 / 4)


@final
@dataclass(frozen=True, kw_only=True)
class JT12:
    """As GRU12, with epsilon0 = epsilon/(100 sqrt(B) ln(4/delta)), T = (4/epsilon0) ln(2k/beta).

    Updates are valid for alpha = T/2. B is B(T/2); the paper takes it as given. Errors: 2T as
    printed. Deviations: as in `GRU12`; gamma, the change of the data, is 1.

    Guarantee: (epsilon, delta)-DP by the paper's Theorem 1, with the constant 100 in place of
    GRU12's 1000, which the same proof supports.

    Attributes: as `Tight`'s.

    Source: JT12, Alg. 1 and Theorem 2.
    """

    epsilon: float
    delta: float
    queries: int
    beta: float = 0.05

    def __post_init__(self) -> None:
        checked_promise(self.queries, self.epsilon, self.delta, self.beta)
        exact_epsilon(self.epsilon)

    @property
    def name(self) -> str:
        """Of the method."""
        return "jt12"

    @property
    def cost(self) -> Cost:
        """The paper's."""
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "Calibration"]:
        """See `Calibration.with_total`: a part of epsilon, pure. The paper takes m as public."""
        noise, radius, cost, left, beta = _pure_total(self, sensitivity)
        return noise, radius, cost, replace(self, epsilon=left, beta=beta)

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        bound = jt12_online(_at_least_one(update_bound), **_numbers(self))
        return _comparison(self, bound, sensitivity, 2.0)


@final
@dataclass(frozen=True, kw_only=True)
class DR14:
    """NumericSparse on both signs of every discrepancy, threshold 2 alpha, answers within 3 alpha.

    sigma(e) = sqrt(32 c ln(2/delta))/e, or 2c/e for delta = 0. The threshold has noise of scale
    sigma(e1), each test 2 sigma(e1), each answer that is bought sigma(e2), with
    e1 = epsilon sqrt(512)/(sqrt(512) + 1) and e2 = 2 epsilon/(sqrt(512) + 1), or 8/9 and 2/9 of
    epsilon for delta = 0; so e1 + e2/2 = epsilon. Deviations: two-sided geometric noise; 2k queries
    in the logarithm; the interval of a bought answer is the one that its noise gives (for delta > 0
    the book's claim for it, alpha, does not follow from its own scale).

    Guarantee: (epsilon, delta)-DP by the book's Theorem 3.25 and 3.26 on Sparse and composition.

    Attributes: as `Tight`'s, with delta in [0, 1).

    Source: DR14, Alg. 3 (NumericSparse) and Alg. 11.
    """

    epsilon: float
    delta: float
    queries: int
    beta: float = 0.05

    def __post_init__(self) -> None:
        checked_promise(self.queries, self.epsilon, self.delta or 0.5, self.beta)
        exact_epsilon(self.epsilon)

    @property
    def name(self) -> str:
        """Of the method."""
        return "dr14"

    @property
    def cost(self) -> Cost:
        """The book's; pure for delta = 0."""
        if self.delta:
            return Cost(epsilon=self.epsilon, delta=self.delta)
        return Cost.of_pure(Fraction(self.epsilon))

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "Calibration"]:
        """See `Calibration.with_total`: a part of epsilon, pure. The book takes m as public."""
        noise, radius, cost, left, beta = _pure_total(self, sensitivity)
        return noise, radius, cost, replace(self, epsilon=left, beta=beta)

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        update_bound = _at_least_one(update_bound)
        bound = dr14_online(update_bound, **_numbers(self))
        # To the letter c is B(alpha), a real number; more of it means more noise.
        c = max(update_bound(bound.alpha), bound.updates)
        if self.delta == 0:
            spread, first, second = 2 * c, 8 / 9 * self.epsilon, 2 / 9 * self.epsilon
        else:
            spread = math.sqrt(32 * c * math.log(2 / self.delta))
            first = self.epsilon * math.sqrt(512) / (math.sqrt(512) + 1)
            second = 2 * self.epsilon / (math.sqrt(512) + 1)
        rate = _at_most(first / spread) / sensitivity
        noise = ValueNoise("laplace", _at_most(second / spread) / sensitivity)
        test = SharedThreshold(rate, rate / 2, Fraction(2 * bound.alpha) * sensitivity)
        _check_scale(rate / 2, noise.parameter)
        return Tuning(
            alpha=bound.alpha,
            updates=bound.updates,
            queries=self.queries,
            test=test,
            value_noise=noise,
            error=math.ceil(bound.error * sensitivity) + 1,
            value_error=noise.radius(self.beta / (2 * c)),
            halts=True,
        )


_Paper = GRU12 | JT12 | DR14


def _numbers(promise: _Paper) -> dict[str, float]:
    return {
        "queries": promise.queries,
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "beta": promise.beta,
    }


def _at_least_one(update_bound: UpdateBound) -> UpdateBound:
    """One update must be paid for even where B says that none happens: the cap must be hard."""
    return lambda alpha: max(1.0, update_bound(alpha))


def _pure_total(promise: _Paper, sensitivity: int) -> tuple[ValueNoise, int, Cost, float, float]:
    """Noise, failures, cost, and the epsilon and beta that are left."""
    total, share = Fraction(promise.epsilon), float(TOTAL_SHARE)
    spent = total * TOTAL_SHARE
    left = math.nextafter(float(total - spent), 0)
    noise = ValueNoise("laplace", spent / sensitivity)
    radius = noise.radius(promise.beta * share)
    return noise, radius, Cost.of_pure(spent), left, promise.beta * (1 - share)


def _comparison(promise: GRU12 | JT12, bound: ErrorBound, sensitivity: int, error: float) -> Tuning:
    """The tuning that GRU12 and JT12 share; `error` in thresholds."""
    logs = math.log(2 * promise.queries / promise.beta)
    rate = _at_most(4 * logs / bound.threshold) / sensitivity
    _check_scale(rate)
    return Tuning(
        alpha=bound.alpha,
        updates=bound.updates,
        queries=promise.queries,
        test=NoisyComparison(rate, Fraction(bound.threshold) * sensitivity),
        error=math.ceil(error * bound.threshold * sensitivity) + 1,
        value_error=ValueNoise("laplace", rate).radius(math.exp(-logs)),
        halts=True,
    )


def _rates(rho: Fraction, c: int, queries: int, beta: float) -> tuple[Fraction, Fraction]:
    """r1 and r2 for one unit, with (c + 2) (r1 + 2 r2)^2/8 <= rho exactly."""
    scales = sparse_vector_scales(rho=float(rho), updates=c, queries=queries, beta=beta)
    r1, r2 = _at_most(1 / scales.threshold_scale), _at_most(1 / scales.query_scale)
    while (c + 2) * (r1 + 2 * r2) ** 2 / 8 > rho:
        r1, r2 = r1 * (1 - Fraction(1, 10**12)), r2 * (1 - Fraction(1, 10**12))
    return r1, r2


def _at_most(rate: float) -> Fraction:
    """A fraction below `rate` by a few parts in 10^13, that is not long to write."""
    shift = 45 - math.frexp(rate)[1]
    return Fraction(math.floor(math.ldexp(rate * (1 - 1e-13), shift)), 1) / Fraction(2) ** shift


def _quantile(log_failures: float, rate: Fraction) -> int:
    """The least whole t with P(N > t) = e^(-rate (t+1)) <= e^-log_failures."""
    return max(0, math.ceil(log_failures / float(rate) * (1 + 1e-12)) - 1)


def _check_scale(*rates: Fraction) -> None:
    if min(rates) < Fraction(1, _LARGEST_SCALE):
        raise ParameterError(
            "the noise of this method does not fit into 64 bits here; use method 'tight', more"
            " epsilon, or larger units of weight"
        )
