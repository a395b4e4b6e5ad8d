"""Name the calibrations of learning sessions: ours, and the papers' with their constants.

`Tight`, `GRU12`, `JT12` and `DR14` turn a budget into the numbers of a session: alpha, B, T and the
scales of noise. `CALIBRATIONS` lists them by name. `learn.calibration_base` says what a calibration
is, and what happens if a user sets some of these numbers: then `_scales` and `_lengths` of a class
are the table of its formulas, from which the others are computed.

Units are those of `learn.calibration_base`, which also explains the names of `graphcuts_dp.privacy`
that are used here. `SparseVectorScales` has the noise of the tight tests, for sensitivity 1; see
`Tight._calibrated`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.bounds import (
    PAPER_NOISE,
    PAPER_TOLERANCES,
    ErrorBound,
    UpdateBound,
    at_least_one,
    dr14_online,
    gru12_online,
    jt12_online,
    least_alpha,
    tight_online,
)
from graphcuts_dp.learn.calibration_base import (
    KnownCalibration,
    PaperBudget,
    Tuning,
    ZcdpBudget,
)
from graphcuts_dp.learn.parameters import geometric_quantile
from graphcuts_dp.privacy.composition import zcdp_epsilon
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.noise_scales import SparseVectorScales, at_most, sparse_vector_scales
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold

TIGHT = "tight"  # name of the calibration of this package; the others are named after papers
_RATE_CUT = 1 - Fraction(1, 10**12)  # factor by which rates are cut until they fit the budget

# Filled by `_listed`. The keys are what `calibration=` takes.
CALIBRATIONS: dict[str, type[KnownCalibration]] = {}

_C = TypeVar("_C", bound=KnownCalibration)


def _listed(calibration: type[_C]) -> type[_C]:
    """Add a class to `CALIBRATIONS`."""
    CALIBRATIONS[calibration.name] = calibration
    return calibration


@final
@_listed
@dataclass(frozen=True, kw_only=True)
class Tight(ZcdpBudget, KnownCalibration):
    """Two one-sided tests with geometric noise, accounted by bounded range.

    One instance of a test lasts until it fires. Two run at a time, "the truth is above" and "the
    truth is below", and each update starts a new one: with c updates c + 2 instances at most. The
    tolerance alpha has the least guaranteed error for the given B. If a test fires after update c,
    the session stops: so privacy does not depend on B being right.

    Privacy:
        rho-zCDP with rho = `zcdp_rho(epsilon, delta)`, hence (epsilon, delta)-DP. An instance with
        threshold noise of rate r1 and query noise of rate r2 has a privacy loss of range
        eta = s r1 + 2 s r2 for answers of sensitivity s, and is eta^2/8-zCDP (see `OneSidedPair`).
        The rates are such that (c + 2) eta^2/8 is the rho of the tests. A measured answer with
        discrete Gaussian noise of variance v is s^2/(2 v)-zCDP; c of them take the rest.

    Accuracy: with probability 1 - beta every update is valid, and every guaranteed answer has an
    error of at most alpha + slack of `tight_online`. Rounding to whole grid units is in our favour:
    P(N > t) = e^(-r (t+1)) for whole t, so t = ceil(L/r) - 1 suffices for a probability e^-L.

    Attributes:
        value_share: share of rho for noisy answers to the queries that update. If it is 0, none is
            measured, and the query is tested again after the update.

    Raises:
        ParameterError: a number out of range.
    """

    name = TIGHT
    bound: ClassVar[Callable[..., ErrorBound]] = staticmethod(tight_online)
    scale_names = ("sigma", "threshold_sigma")

    value_share: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.value_share < 1:
            raise ParameterError("value_share is a part of the budget: from 0 to less than 1")

    @property
    def _test_rho(self) -> Fraction:
        """Return the budget of the tests; the other part is for measured answers."""
        return Fraction(self._rho) * (1 - Fraction(self.value_share))

    @property
    def _test_beta(self) -> float:
        """Measured answers fail with probability beta/2, and the tests with the other half."""
        return self.beta / 2 if self.value_share else self.beta

    def _scales(self, updates: float) -> dict[str, float]:
        """Return b2 and b1 of `sparse_vector_scales`."""
        scales = sparse_vector_scales(
            rho=float(self._test_rho),
            updates=updates,
            queries=self.queries,
            beta=self._test_beta,
        )
        # Enlarged by a hair, as rates are cut in `_test_rates`, so that they fit the budget.
        margin = 1 + 1e-11
        return {
            "sigma": scales.query_scale * margin,
            "threshold_sigma": scales.threshold_scale * margin,
        }

    def _noises(self, scales: dict[str, float], updates: int, sensitivity: int) -> dict[str, Any]:
        """Return two one-sided tests, and Gaussian noise for measured answers if they are paid."""
        test = OneSidedPair(
            at_most(1 / scales["threshold_sigma"]) / sensitivity,
            at_most(1 / scales["sigma"]) / sensitivity,
            Fraction(0),
        )
        return {"test": test, "value_noise": self._value_noise(updates, sensitivity)}

    def _lengths(
        self, scales: dict[str, float], updates: int, update_bound: UpdateBound, below: float
    ) -> tuple[float, float]:
        """Return the least alpha at which B allows c updates, and the threshold above it.

        If alpha is set, T is that alpha and the noise of a test.
        """
        del scales
        alpha = self.parameters.alpha
        if alpha is None:
            alpha = least_alpha(update_bound, updates)
        return alpha, math.nextafter(alpha + below, math.inf)

    def _value_noise(self, updates: int, sensitivity: int) -> ValueNoise | None:
        """Return the noise of c measured answers: of variance v they cost c s^2/(2 v)."""
        if not self.value_share or not updates:
            return None
        value_rho = Fraction(self._rho) * Fraction(self.value_share)
        return ValueNoise("gaussian", updates * sensitivity**2 / (2 * value_rho))

    def _calibrated(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance and the noise, see `Calibration.tune`.

        `tight_online` finds c and alpha. It takes a budget as (epsilon, delta) and converts it to
        rho itself. Here the tests have a rho already: so it is converted to the epsilon with that
        rho for `delta`, which comes back as the same rho up to rounding. Privacy does not rest on
        that: the noise below is computed from `test_rho` itself.
        """
        test_rho, test_beta = self._test_rho, self._test_beta
        bound = self._guaranteed(
            update_bound, epsilon=zcdp_epsilon(float(test_rho), delta=self.delta), beta=test_beta
        )
        c = bound.updates
        scales = sparse_vector_scales(
            rho=float(test_rho), updates=c, queries=self.queries, beta=test_beta
        )
        threshold_rate, query_rate = _test_rates(scales, test_rho, c)
        threshold_rate, query_rate = threshold_rate / sensitivity, query_rate / sensitivity
        # `scales` divides test_beta among all noise that is drawn. One draw for a query may fail
        # with probability e^-log_tests = test_beta/(4 (k + c)), one for a threshold with
        # e^-log_thresholds = test_beta/(2 (c + 2)). A margin is the number that the noise exceeds
        # with no more than this probability.
        query_margin = geometric_quantile(scales.log_tests, query_rate)
        threshold_margin = geometric_quantile(scales.log_thresholds, threshold_rate)
        alpha = Fraction(bound.alpha) * sensitivity
        value_noise = self._value_noise(c, sensitivity)
        value_error = 0 if value_noise is None else value_noise.radius(self.beta / (2 * c))
        return self._tuned(
            sensitivity,
            (threshold_rate, query_rate),
            bound,
            # A test that fires at T = alpha + query_margin is right that the gap is >= alpha.
            test=OneSidedPair(threshold_rate, query_rate, alpha + query_margin),
            value_noise=value_noise,
            error=math.ceil(alpha) + query_margin + threshold_margin,
            value_error=value_error,
            halts=False,
        )


def _test_rates(
    scales: SparseVectorScales, rho: Fraction, updates: int
) -> tuple[Fraction, Fraction]:
    """Return r1 and r2 for sensitivity 1, with (c + 2) (r1 + 2 r2)^2/8 <= rho exactly.

    The floats of `scales` satisfy this but for rounding. Privacy rests on the exact inequality, so
    the rates are cut by a few parts in 10^12 until it holds.

    Args:
        scales: mean noise of a threshold and of a query: 1/r1 and 1/r2.
        rho: the budget of the tests.
        updates: c.
    """
    r1, r2 = at_most(1 / scales.threshold_scale), at_most(1 / scales.query_scale)
    while (updates + 2) * (r1 + 2 * r2) ** 2 / 8 > rho:
        r1, r2 = r1 * _RATE_CUT, r2 * _RATE_CUT
    return r1, r2


@dataclass(frozen=True, kw_only=True)
class _Paper(PaperBudget, KnownCalibration):
    """A paper's calibration, as printed. Each class lists its deviations.

    Epsilon is at most 1 for delta > 0, as in the theorems.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta and self.epsilon > 1:
            raise ParameterError(
                f"the theorem behind {self.name!r} is for epsilon up to 1; use calibration 'tight'"
            )

    def _noises(self, scales: dict[str, float], updates: int, sensitivity: int) -> dict[str, Any]:
        """Return the noisy comparison; its answers are measured answers, too."""
        del updates
        rate = at_most(1 / scales["sigma"]) / sensitivity
        return {"test": NoisyComparison(rate, Fraction(0))}

    def _scales(self, updates: float) -> dict[str, float]:
        """Return sigma = C sqrt(B) ln(4/delta)/epsilon with the paper's C."""
        constant = PAPER_NOISE[self.name]
        root = math.sqrt(max(1.0, updates))
        return {"sigma": constant * root * math.log(4 / self.delta) / self.epsilon}

    def _lengths(
        self, scales: dict[str, float], updates: int, update_bound: UpdateBound, below: float
    ) -> tuple[float, float]:
        """Return the paper's part of T, and T = 4 sigma ln(2k/beta)."""
        del updates, update_bound, below
        threshold = 4 * scales["sigma"] * math.log(2 * self.queries / self.beta)
        return PAPER_TOLERANCES[self.name] * threshold, threshold

    def _calibrated(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance and the noise for noisy answers compared with the hypothesis.

        `bound.threshold` is T = 4 sigma ln(2k/beta), where sigma is the scale of the noise: so its
        rate 1/sigma is 4 ln(2k/beta)/T. See `Calibration.tune`.

        The stated error is `bound.error` in grid units, rounded up, plus 1. Noise Z here is a whole
        number. With r = e^-rate, P(|Z| > t) = 2 r^(t+1)/(1 + r) < r^t for whole t >= 0. So |Z| is
        at most ceil(T/4), but for the probability beta/(2k) that Laplace noise exceeds T/4. The
        error T + ceil(T/4) of an answer without update is below 5T/4 + 1.
        """
        bound = self._guaranteed(at_least_one(update_bound))
        log_failures = math.log(2 * self.queries / self.beta)
        rate = at_most(4 * log_failures / bound.threshold) / sensitivity
        return self._tuned(
            sensitivity,
            (rate,),
            bound,
            test=NoisyComparison(rate, Fraction(bound.threshold) * sensitivity),
            error=math.ceil(bound.error * sensitivity) + 1,
            value_error=ValueNoise("laplace", rate).radius(math.exp(-log_failures)),
            halts=True,
        )


@final
@_listed
@dataclass(frozen=True, kw_only=True)
class GRU12(_Paper):
    """Noisy answers compared with the hypothesis: sigma = 1000 sqrt(B) ln(4/delta)/epsilon.

    T = 4 sigma ln(2k/beta), alpha = 3T/4. The session stops at update number B. Deviations: the
    noise is the two-sided geometric distribution of the same rate 1/sigma, not Laplace's; errors
    count edges; if B < 1, sigma is that of B = 1, so that the first update has been paid for.

    Privacy:
        (epsilon, delta)-DP, as the paper's Theorem 4.1 says. Its proof does not hold as printed.
        The proof below is for any constant C >= 100 in place of 1000, epsilon <= 1 and B >= 1.

        It rests on Theorem "Noisy comparison with a public guess" (docs/mathematics.md; see
        `privacy.noisy_comparison.comparison_moment`): let one noisy count be e-DP, and choose a
        number a > 0. Then any number of tests of which at most B show their noisy count are
        (epsilon, delta')-DP with

            delta' = exp(mu B - a epsilon),        mu = 2 artanh(K theta^2/(1 - a theta)),
            theta = exp(e) - 1,                    K = a (a+1)/2 exp((a+2) e).

        The threshold is public and without noise, and nothing rests on it. Let L = ln(4/delta),
        which is above ln 4 > 1.386. The noise has e = 1/sigma = epsilon/(C sqrt(B) L). Choose
        a = 2 L/epsilon. We bound the parts of mu one by one:

        1. The numbers. a >= 2 L > 2.77, since epsilon <= 1. a e = 2/(C sqrt(B)) <= 2/C. And
           e <= 1/(C L) < 0.722/C, which is below 0.0073.
        2. theta <= 1.01 e for such a small e. So a theta <= 1.01 * 2/C <= 0.0202, and the
           denominator 1 - a theta is above 0.979.
        3. (a + 2) e < (2 + 2 * 0.722)/C < 3.45/C <= 0.0345, so exp((a + 2) e) < 1.036.
        4. By 1, (a e)^2 = 4/(C^2 B) and 1/a < 1/2.77 < 0.361. So
           a (a + 1) e^2 = (a e)^2 (1 + 1/a) < 4 * 1.361/(C^2 B) < 5.45/(C^2 B).
        5. K theta^2 = a (a + 1)/2 * exp((a + 2) e) * theta^2. With 3 for the second factor and 2
           for the third it is below a (a + 1) e^2/2 * 1.036 * 1.01^2. By 4 this is below
           5.45/2 * 1.057/(C^2 B) < 2.89/(C^2 B).
        6. Dividing by the denominator, the argument of artanh is below 2.96/(C^2 B) <= 0.0003.
           There 2 artanh(x) < 2.01 x, so mu < 2.01 * 2.96/(C^2 B) < 6/(C^2 B).
        7. So mu B < 6/C^2 <= 0.0006, and a epsilon = 2 L. delta' < exp(0.0006) exp(-2 L), which
           is below 1.001 (delta/4)^2 < delta.

        The constant is loose: by the same theorem C = 2.2 would do. `Tuning.cost` states what the
        noise of a tuning really costs.

    Accuracy: with probability 1 - beta/2, and so with 1 - beta, the error of hypothesis answers is
    at most 5T/4, and that of noisy answers at most T/4. In grid units the first is rounded up, and
    1 is added, for noise in whole numbers.

    Source: GRU12, Alg. 1.
    """

    name = "gru12"
    bound: ClassVar[Callable[..., ErrorBound]] = staticmethod(gru12_online)


@final
@_listed
@dataclass(frozen=True, kw_only=True)
class JT12(_Paper):
    """As GRU12, with epsilon0 = epsilon/(100 sqrt(B) ln(4/delta)), T = (4/epsilon0) ln(2k/beta).

    Updates are valid for alpha = T/2, and B is B(T/2); the paper takes it as a number. The error is
    2T as printed. Deviations: those of `GRU12`; gamma, the change of the data, is 1.

    Privacy:
        (epsilon, delta)-DP, as the paper's Theorem 1 says, which takes it from GRU12 with another
        constant: by the proof in `GRU12`, with e = epsilon0 and C = 100.

    Source: JT12, Alg. 1 and Theorem 2.
    """

    name = "jt12"
    bound: ClassVar[Callable[..., ErrorBound]] = staticmethod(jt12_online)


@final
@_listed
@dataclass(frozen=True, kw_only=True)
class DR14(_Paper):
    """NumericSparse on both signs of every discrepancy: threshold 2 alpha, answers within 3 alpha.

    The formulas are for sensitivity 1. Let c be the largest number of updates, and
    S = sqrt(32 c ln(2/delta)), or S = 2c for delta = 0.
    Noise has scale S/e1 on the threshold, 2 S/e1 on each test, and S/e2 on each measured answer,
    with e1 = epsilon sqrt(512)/(sqrt(512) + 1) and e2 = 2 epsilon/(sqrt(512) + 1), or 8/9 and 2/9
    of epsilon for delta = 0. So e1 + e2/2 = epsilon. Deviations:

    - The noise is two-sided geometric, not Laplace's.
    - The logarithm is of 2k queries, one for each sign.
    - The book says that a measured answer is within alpha. For delta > 0 this does not follow from
      the scale of its noise. Here its interval is computed from that noise.

    Privacy:
        (epsilon, delta)-DP, as the book's theorem on NumericSparse (section 3.6) says:
        1. An instance of the test is 2 e1/S-DP (see `SharedThreshold`), an answer e2/S-DP; there
           are at most c of each, after which the session stops.
        2. delta = 0: c (2 e1 + e2)/(2 c) = e1 + e2/2 = epsilon.
        3. Else they are rho-zCDP with rho = c ((2 e1/S)^2 + (e2/S)^2)/2, which is
           (4 e1^2 + e2^2)/(64 ln(2/delta)) < 0.0575 epsilon^2/ln(2/delta), since
           4 e1^2 + e2^2 < 3.68 epsilon^2.
        4. That is (rho + 2 sqrt(rho ln(1/delta)), delta)-DP. Here rho < 0.0575 epsilon^2/0.693
           <= 0.083 epsilon, as ln(2/delta) > ln 2 > 0.693 and epsilon <= 1. And
           rho ln(1/delta) < 0.0575 epsilon^2, so twice its root is below 0.48 epsilon. The sum is
           below epsilon.

    Source: DR14, Alg. 3 (NumericSparse) and Alg. 11.
    """

    name = "dr14"
    bound: ClassVar[Callable[..., ErrorBound]] = staticmethod(dr14_online)
    pure = True
    scale_names = ("sigma", "threshold_sigma", "value_sigma")

    def _scales(self, updates: float) -> dict[str, float]:
        """Return 2 S/e1 for the tests, S/e1 for the threshold, S/e2 for measured answers."""
        scale, test_epsilon, value_epsilon = self._shares(max(1.0, updates))
        return {
            "sigma": 2 * scale / test_epsilon,
            "threshold_sigma": scale / test_epsilon,
            "value_sigma": scale / value_epsilon,
        }

    def _noises(self, scales: dict[str, float], updates: int, sensitivity: int) -> dict[str, Any]:
        """Return both tests against one noisy threshold, and Laplace noise for answers."""
        del updates
        test = SharedThreshold(
            at_most(1 / scales["threshold_sigma"]) / sensitivity,
            at_most(1 / scales["sigma"]) / sensitivity,
            Fraction(0),
        )
        value_noise = ValueNoise("laplace", at_most(1 / scales["value_sigma"]) / sensitivity)
        return {"test": test, "value_noise": value_noise}

    def _lengths(
        self, scales: dict[str, float], updates: int, update_bound: UpdateBound, below: float
    ) -> tuple[float, float]:
        """Return alpha = 2 sigma (ln 2k + ln(4c/beta)), and T = 2 alpha."""
        del update_bound, below
        logs = math.log(2 * self.queries) + math.log(4 * updates / self.beta)
        alpha = 2 * scales["sigma"] * logs
        return alpha, 2 * alpha

    def _shares(self, c: float) -> tuple[float, float, float]:
        """Return S, e1 and e2 for c updates."""
        if self.delta == 0:
            return 2 * c, 8 / 9 * self.epsilon, 2 / 9 * self.epsilon
        scale = math.sqrt(32 * c * math.log(2 / self.delta))
        test_epsilon = self.epsilon * math.sqrt(512) / (math.sqrt(512) + 1)
        return scale, test_epsilon, 2 * self.epsilon / (math.sqrt(512) + 1)

    def _calibrated(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """Choose the tolerance and the noise, see `Calibration.tune`."""
        update_bound = at_least_one(update_bound)
        bound = self._guaranteed(update_bound)
        # The book's c is B(alpha), a real number. The session allows `bound.updates` updates: this
        # is B(alpha) rounded down, except that a B a rounding error below a whole number counts as
        # that number. Then it is the larger of the two. A larger c means more noise, so it is safe.
        c = max(update_bound(bound.alpha), bound.updates)
        scale, test_epsilon, value_epsilon = self._shares(c)
        rate = at_most(test_epsilon / scale) / sensitivity
        value_noise = ValueNoise("laplace", at_most(value_epsilon / scale) / sensitivity)
        return self._tuned(
            sensitivity,
            (rate / 2, value_noise.parameter),  # `rate` need not be listed: it is above rate/2
            bound,
            test=SharedThreshold(rate, rate / 2, Fraction(2 * bound.alpha) * sensitivity),
            value_noise=value_noise,
            error=math.ceil(bound.error * sensitivity) + 1,  # 1 for noise in whole numbers
            value_error=value_noise.radius(self.beta / (2 * c)),
            halts=True,
        )
