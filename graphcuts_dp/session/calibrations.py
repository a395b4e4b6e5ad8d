"""How much noise, how many updates, which tolerance: the contract, and the best choice.

The papers' choices are in `paper_calibrations`.

All lengths in real numbers are in units of the answers' sensitivity (edges, in a graph without
weights); noise and thresholds are in steps of the grid, of which `sensitivity` make one unit.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.online_bounds import checked_promise, tight_online
from graphcuts_dp.learn.update_bounds import UpdateBound
from graphcuts_dp.privacy.calibration import TOTAL_SHARE, at_most, sparse_vector_scales
from graphcuts_dp.privacy.composition import Cost, check_paid, compose, zcdp_epsilon, zcdp_rho
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.session.sparse_vector import OneSidedPair
from graphcuts_dp.session.tunings import Tuning

_LARGEST_SCALE = 2**55  # of noise, in steps: 64-bit integers hold every sample


class Calibration(Protocol):
    """A budget and a promise, and the tuning that they give."""

    @property
    def name(self) -> str:
        """As users type it."""

    @property
    def queries(self) -> int:
        """k: how many answers are promised."""

    @property
    def beta(self) -> float:
        """Probability that any interval is wrong."""

    @property
    def cost(self) -> Cost:
        """What is spent, whatever happens."""

    def with_total(self, sensitivity: int) -> "tuple[ValueNoise, int, Cost, Calibration]":
        """Pay for a noisy total weight out of this budget.

        Returns:
            Its noise, how far it can be off (in steps), its cost, and what is left. Both costs
            together are `cost`.
        """

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance for a construction with this bound.

        Raises:
            ParameterError: the noise does not fit into 64 bits, or no tolerance is possible.
            BudgetError: the noise that was chosen costs more than the budget.
        """


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

    name = "tight"

    @property
    def _rho(self) -> float:
        return zcdp_rho(epsilon=self.epsilon, delta=self.delta) if self.rho is None else self.rho

    @property
    def cost(self) -> Cost:
        """rho-zCDP, whatever happens."""
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
        cost = noise.cost(sensitivity, delta=self.delta)
        check_paid(compose([cost, rest.cost], delta=self.delta), self.cost)
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
        check_scale(test.threshold_rate, test.query_rate)
        tuning = Tuning(
            alpha=bound.alpha,
            updates=c,
            queries=self.queries,
            test=test,
            value_noise=noise,
            error=error,
            value_error=value_error,
            halts=False,
        )
        return paid(tuning, self.cost, sensitivity)


def _rates(rho: Fraction, c: int, queries: int, beta: float) -> tuple[Fraction, Fraction]:
    """r1 and r2 for one unit, with (c + 2) (r1 + 2 r2)^2/8 <= rho exactly."""
    scales = sparse_vector_scales(rho=float(rho), updates=c, queries=queries, beta=beta)
    r1, r2 = at_most(1 / scales.threshold_scale), at_most(1 / scales.query_scale)
    while (c + 2) * (r1 + 2 * r2) ** 2 / 8 > rho:
        r1, r2 = r1 * (1 - Fraction(1, 10**12)), r2 * (1 - Fraction(1, 10**12))
    return r1, r2


def _quantile(log_failures: float, rate: Fraction) -> int:
    """The least whole t with P(N > t) = e^(-rate (t+1)) <= e^-log_failures."""
    return max(0, math.ceil(log_failures / float(rate) * (1 + 1e-12)) - 1)


def paid(tuning: Tuning, budget: Cost, sensitivity: int) -> Tuning:
    """The tuning, whose noise must not cost more than the budget.

    Args:
        tuning: what a calibration has chosen.
        budget: of the calibration.
        sensitivity: of the answers, in steps.

    Raises:
        BudgetError: it costs more.
    """
    check_paid(tuning.cost(sensitivity, delta=budget.delta), budget)
    return tuning


def check_scale(*rates: Fraction) -> None:
    """Refuse noise that is too large for 64-bit integers.

    Raises:
        ParameterError: the mean of a distribution with one of these rates is more than 2^55 steps.
    """
    if min(rates) < Fraction(1, _LARGEST_SCALE):
        raise ParameterError(
            "the noise of this method does not fit into 64 bits here; use method 'tight', more"
            " epsilon, or larger units of weight"
        )
