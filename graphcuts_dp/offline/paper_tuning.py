"""The papers' calibrations of the iterative construction: their margins, their composition."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.update_bounds import UpdateBound
from graphcuts_dp.offline.distinguisher import Distinguisher
from graphcuts_dp.offline.tuning import (
    MOST_ROUNDS,
    OfflineTuning,
    check_probabilities,
    least_that_fits,
)
from graphcuts_dp.privacy.calibration import TOTAL_SHARE
from graphcuts_dp.privacy.composition import Cost, compose
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.value_noise import ValueNoise


@final
@dataclass(frozen=True, kw_only=True)
class Margins:
    """How a paper cuts alpha up; each number is a part of alpha.

    Attributes:
        tolerance: of the construction; its rounds are B(tolerance alpha).
        threshold: below which a round stops.
        noise: what the noise of answers may be.
        shortfall: what the distinguisher may be short.
        error: what is then guaranteed: threshold + noise + shortfall.
    """

    tolerance: Fraction
    threshold: Fraction
    noise: Fraction
    shortfall: Fraction

    @property
    def error(self) -> Fraction:
        """What a round that stops leaves; one that goes on has a gap of threshold - noise."""
        return self.threshold + self.noise + self.shortfall


MARGINS = {
    # GRU12 Theorem 7.3 claims alpha; its B(alpha) rounds are too few for updates at alpha/2.
    "gru12": Margins(
        tolerance=Fraction(1, 2),
        threshold=Fraction(3, 4),
        noise=Fraction(1, 4),
        shortfall=Fraction(1, 2),
    ),
    "dr14": Margins(
        tolerance=Fraction(1, 2),
        threshold=Fraction(3, 4),
        noise=Fraction(1, 8),
        shortfall=Fraction(1, 8),
    ),
    "nik17": Margins(
        tolerance=Fraction(1), threshold=Fraction(2), noise=Fraction(1), shortfall=Fraction(1)
    ),
}
CALIBRATIONS = ("practical", "tight", *MARGINS)


@final
@dataclass(frozen=True, kw_only=True)
class PaperOffline:
    """The papers' composition: every call and every answer epsilon_0-DP, Laplace noise.

    epsilon_0 = epsilon/(2 T) for delta = 0, else epsilon/(4 sqrt(T ln(1/delta))), with
    T = floor(B(tolerance)) rounds. alpha is the least one for which the noise of T answers and the
    shortfall of T calls are within their margins, each with probability 1 - beta/2; both depend on
    alpha through T.

    Corrections: GRU12 Alg. 3 runs B(alpha) rounds of updates at alpha/2, of which there may be
    B(alpha/2), and its proof reaches 3 alpha/2; DR14 Theorem 5.7 prints 8 T and 16, where its own
    Theorem 5.6 gives 32 T and 64; Nik17 has sqrt(L/delta) for sqrt(L ln(1/delta)), exponents and
    noise upside down (here alpha counts edges, and no m appears), and reaches 4 alpha.

    Guarantee: (epsilon, delta)-DP: the threshold has no noise, T is fixed beforehand, and there are
    2 T mechanisms, T calls and T answers, each epsilon_0-DP:
    1. delta = 0: 2 T epsilon_0 = epsilon.
    2. Else each is epsilon_0^2/2-zCDP, so all are rho-zCDP with
       rho = T epsilon_0^2 = epsilon^2/(16 ln(1/delta)).
    3. That is (rho + 2 sqrt(rho ln(1/delta)), delta)-DP, epsilon^2/(16 ln(1/delta)) + epsilon/2,
       at most epsilon just when epsilon <= 8 ln(1/delta); beyond that it is refused.
    DR14 Theorem 3.20, which the papers use, gives epsilon/2 + 2 T epsilon_0 (exp(epsilon_0) - 1) in
    step 3, whose second term is more than twice as large.

    Attributes:
        paper: "gru12", "dr14" or "nik17".
        epsilon: in [1e-6, 50].
        delta: in [0, 1); > 0 for "gru12" and "nik17".
        beta: probability of a larger error, in (0, 1).

    Raises:
        ParameterError: a number out of range.

    Source: GRU12 Alg. 3 and Theorem 7.3; DR14 Alg. 8 and Theorems 5.3 to 5.7; Nik17 Alg. 1.
    """

    paper: str
    epsilon: float
    delta: float
    beta: float = 0.05

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if self.paper not in MARGINS:
            raise ParameterError(
                f"unknown calibration {self.paper!r}; choose one of {', '.join(CALIBRATIONS)}"
            )
        check_probabilities(self.delta, self.beta, pure=self.paper == "dr14")

    @property
    def cost(self) -> Cost:
        """The (epsilon, delta) that was promised."""
        if self.delta == 0:
            return Cost.of_pure(Fraction(self.epsilon))
        return Cost(epsilon=self.epsilon, delta=self.delta)

    @property
    def margins(self) -> Margins:
        """Of the paper."""
        return MARGINS[self.paper]

    def each(self, rounds: int) -> Fraction:
        """epsilon_0, rounded down."""
        if self.delta == 0:
            return Fraction(self.epsilon) / (2 * rounds)
        root = 4 * math.sqrt(rounds * math.log(1 / self.delta))
        return Fraction(self.epsilon / root * (1 - 1e-12))

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "PaperOffline"]:
        """See `OfflineCalibration.with_total`. Discrete Laplace noise, purely private."""
        spent = Fraction(self.epsilon) * TOTAL_SHARE
        noise = ValueNoise("laplace", spent / sensitivity)
        share = float(TOTAL_SHARE)
        rest = PaperOffline(
            paper=self.paper,
            epsilon=math.nextafter(self.epsilon * (1 - share), 0),
            delta=self.delta,
            beta=self.beta * (1 - share),
        )
        return noise, noise.radius(self.beta * share), Cost.of_pure(spent), rest

    def tune(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> OfflineTuning:
        """See `OfflineCalibration.tune`."""
        if distinguisher.setup is not None or distinguisher.call is None:
            raise ParameterError(
                "the papers' calibrations are for distinguishers that pay by the call: exponential"
                " or exact-cuts"
            )

        def at(alpha: float) -> OfflineTuning | None:
            return self._with(alpha, update_bound, distinguisher, one, steps)

        alpha = least_that_fits(lambda alpha: at(alpha) is not None)
        found = None if alpha is None else at(alpha)
        if found is None:
            raise ParameterError("no alpha fits; use more epsilon")
        if found.rounds:
            parts = [found.distinguisher.call, Cost.of_pure(self.each(found.rounds))]
            spent = compose([part for part in parts if part] * found.rounds, delta=self.delta)
            if spent.epsilon > self.epsilon * (1 + 1e-9):
                raise ParameterError("epsilon is too large for this calibration; use 'tight'")
        return found

    def _with(
        self,
        alpha: float,
        update_bound: UpdateBound,
        distinguisher: Distinguisher,
        one: float,
        steps: int,
    ) -> OfflineTuning | None:
        """The tuning with this alpha, or None where the margins are too narrow."""
        margins = self.margins
        tolerance = float(margins.tolerance) * alpha
        bound = update_bound(tolerance)
        if not bound < MOST_ROUNDS:
            return None
        rounds = math.floor(bound)
        error = float(margins.error) * alpha
        if not rounds:
            return _no_rounds(tolerance, distinguisher, self.cost)
        each = self.each(rounds)
        tuned = distinguisher.with_epsilon(each * rounds, rounds=rounds)
        noise = ValueNoise("laplace", each / steps)
        value_error = noise.radius(self.beta / (2 * rounds)) / steps
        short = tuned.shortfall(self.beta / (2 * rounds)) / one
        if value_error > margins.noise * alpha or short > margins.shortfall * alpha:
            return None
        return OfflineTuning(
            rounds=rounds,
            alpha=tolerance,
            threshold=float(margins.threshold) * alpha,
            distinguisher=tuned,
            noise=noise,
            value_error=value_error,
            error=error,
            cost=self.cost,
        )


def _no_rounds(tolerance: float, distinguisher: Distinguisher, cost: Cost) -> OfflineTuning:
    """B < 1: the start is within the tolerance already."""
    return OfflineTuning(
        rounds=0,
        alpha=tolerance,
        threshold=tolerance,
        distinguisher=distinguisher,
        noise=None,
        value_error=0.0,
        error=tolerance,
        cost=cost,
    )
