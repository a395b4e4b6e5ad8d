"""The papers' calibrations, to the letter; see each for what had to deviate."""

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.online_bounds import (
    ErrorBound,
    checked_promise,
    dr14_online,
    gru12_online,
    jt12_online,
)
from graphcuts_dp.learn.update_bounds import UpdateBound, at_least_one
from graphcuts_dp.privacy.calibration import TOTAL_SHARE, at_most
from graphcuts_dp.privacy.composition import Cost, check_paid, compose
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.session.calibrations import check_scale, paid
from graphcuts_dp.session.sparse_vector import NoisyComparison, SharedThreshold
from graphcuts_dp.session.tunings import Tuning


@dataclass(frozen=True, kw_only=True)
class _Paper:
    """A paper's calibration: its attributes are as `Tight`'s, and so are its costs."""

    epsilon: float
    delta: float
    queries: int
    beta: float = 0.05
    name: ClassVar[str]

    def __post_init__(self) -> None:
        checked_promise(self.queries, self.epsilon, self.delta, self.beta)
        exact_epsilon(self.epsilon)
        if self.epsilon > 1:
            raise ParameterError(
                f"the theorem behind {self.name!r} is for epsilon up to 1; use calibration 'tight'"
            )

    @property
    def cost(self) -> Cost:
        """The (epsilon, delta) of the theorem."""
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """See `Calibration.with_total`: a part of epsilon, pure. The papers take m as public."""
        total, share = Fraction(self.epsilon), float(TOTAL_SHARE)
        spent = total * TOTAL_SHARE
        left = math.nextafter(float(total - spent), 0)
        noise = ValueNoise("laplace", spent / sensitivity)
        radius = noise.radius(self.beta * share)
        cost = noise.cost(sensitivity, delta=self.delta)
        check_paid(compose([cost, Cost.of_pure(Fraction(left))], delta=0.0), Cost.of_pure(total))
        return noise, radius, cost, replace(self, epsilon=left, beta=self.beta * (1 - share))


@final
@dataclass(frozen=True, kw_only=True)
class GRU12(_Paper):
    """Noisy answers compared with the hypothesis: sigma = 1000 sqrt(B) ln(4/delta)/epsilon.

    T = 4 sigma ln(2k/beta), alpha = 3T/4; stops after update number B. Deviations: noise is the
    two-sided geometric distribution of the same rate 1/sigma, not Laplace's; errors count edges;
    where B < 1, sigma is that of B = 1, so that the first update has been paid for.

    Guarantee: (epsilon, delta)-DP, as the paper's Theorem 4.1 says; its proof does not hold as
    printed, and the constant is loose. Proof, from the theorem in `privacy.calibration`, for any
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

    Attributes: as `Tight`'s, with epsilon at most 1, as in the theorem.

    Source: GRU12, Alg. 1.
    """

    name = "gru12"

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        bound = gru12_online(at_least_one(update_bound), **asdict(self))
        return _comparison(self, bound, sensitivity, 5 / 4)


@final
@dataclass(frozen=True, kw_only=True)
class JT12(_Paper):
    """As GRU12, with epsilon0 = epsilon/(100 sqrt(B) ln(4/delta)), T = (4/epsilon0) ln(2k/beta).

    Updates are valid for alpha = T/2. B is B(T/2); the paper takes it as given. Errors: 2T as
    printed. Deviations: as in `GRU12`; gamma, the change of the data, is 1.

    Guarantee: (epsilon, delta)-DP, as the paper's Theorem 1 says, which takes it from GRU12 with
    another constant: by the proof in `GRU12`, with e = epsilon0 and C = 100.

    Attributes: as `GRU12`'s.

    Source: JT12, Alg. 1 and Theorem 2.
    """

    name = "jt12"

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        bound = jt12_online(at_least_one(update_bound), **asdict(self))
        return _comparison(self, bound, sensitivity, 2.0)


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

    Attributes: as `GRU12`'s; for delta = 0 epsilon may be larger than 1.

    Source: DR14, Alg. 3 (NumericSparse) and Alg. 11.
    """

    name = "dr14"

    def __post_init__(self) -> None:
        if self.delta:
            super().__post_init__()
        checked_promise(self.queries, self.epsilon, self.delta or 0.5, self.beta)
        exact_epsilon(self.epsilon)

    @property
    def cost(self) -> Cost:
        """The book's; pure for delta = 0."""
        return super().cost if self.delta else Cost.of_pure(Fraction(self.epsilon))

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:
        """See `Calibration.tune`."""
        update_bound = at_least_one(update_bound)
        bound = dr14_online(update_bound, **asdict(self))
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
        check_scale(rate / 2, noise.parameter)
        tuning = Tuning(
            alpha=bound.alpha,
            updates=bound.updates,
            queries=self.queries,
            test=test,
            value_noise=noise,
            error=math.ceil(bound.error * sensitivity) + 1,
            value_error=noise.radius(self.beta / (2 * c)),
            halts=True,
        )
        return paid(tuning, self.cost, sensitivity)


def _comparison(promise: GRU12 | JT12, bound: ErrorBound, sensitivity: int, error: float) -> Tuning:
    """The tuning that GRU12 and JT12 share; `error` in thresholds."""
    logs = math.log(2 * promise.queries / promise.beta)
    rate = at_most(4 * logs / bound.threshold) / sensitivity
    check_scale(rate)
    tuning = Tuning(
        alpha=bound.alpha,
        updates=bound.updates,
        queries=promise.queries,
        test=NoisyComparison(rate, Fraction(bound.threshold) * sensitivity),
        error=math.ceil(error * bound.threshold * sensitivity) + 1,
        value_error=ValueNoise("laplace", rate).radius(math.exp(-logs)),
        halts=True,
    )
    return paid(tuning, promise.cost, sensitivity)
