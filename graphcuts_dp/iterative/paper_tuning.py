"""The calibrations of the papers: their margins and their composition, with the errata corrected.

`PaperIterative` is one of the calibrations of `tuning`, whose module docstring states the units.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, cast, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.iterative.distinguisher import Distinguisher, root_at_most
from graphcuts_dp.iterative.tuning import (
    MOST_ROUNDS,
    IterativeCalibration,
    IterativeTuning,
    least_that_fits,
    least_tolerance,
    void_reason,
)
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibration_base import PaperBudget
from graphcuts_dp.privacy.composition import Cost, compose
from graphcuts_dp.privacy.count_noise import ValueNoise

# The multiples of alpha that each paper takes as tolerance, threshold, noise and shortfall.
_MARGINS = {
    # GRU12 Theorem 7.3 claims alpha; its B(alpha) rounds are too few for updates at alpha/2.
    "gru12": (Fraction(1, 2), Fraction(3, 4), Fraction(1, 4), Fraction(1, 2)),
    "dr14": (Fraction(1, 2), Fraction(3, 4), Fraction(1, 8), Fraction(1, 8)),
    "nik17": (Fraction(1), Fraction(2), Fraction(1), Fraction(1)),
}
PAPERS = tuple(_MARGINS)


@final
@dataclass(frozen=True)
class Margins:
    """The parts into which a paper divides alpha; each is a multiple of alpha.

    Attributes:
        tolerance: of the construction; its rounds are B(tolerance alpha).
        threshold: a round with a smaller noisy gap stops.
        noise: bound on the noise of answers.
        shortfall: bound on the shortfall of the distinguisher.
    """

    tolerance: Fraction
    threshold: Fraction
    noise: Fraction
    shortfall: Fraction

    @classmethod
    def of(cls, paper: str) -> Self:
        """Return the margins of a paper, one of `PAPERS`."""
        return cls(*_MARGINS[paper])

    @property
    def error(self) -> Fraction:
        """The guaranteed error after a round that stops: threshold + noise + shortfall."""
        return self.threshold + self.noise + self.shortfall


@final
@dataclass(frozen=True, kw_only=True)
class PaperIterative(PaperBudget, IterativeCalibration):
    """The papers' composition: every call and every answer epsilon_0-DP, Laplace noise.

    epsilon_0 = epsilon/(2 T) for delta = 0, else epsilon/(4 sqrt(T ln(1/delta))), with
    T = floor(B(tolerance)) rounds. alpha is the least for which the noise of T answers and the
    shortfall of T calls are within their margins, each with probability 1 - beta/2; both depend on
    alpha through T.

    Corrections of the papers: GRU12 Alg. 3 runs B(alpha) rounds of updates at alpha/2, of which
    there may be B(alpha/2), and its proof reaches 3 alpha/2; DR14 Theorem 5.7 prints 8 T and 16,
    where its own Theorem 5.6 gives 32 T and 64; Nik17 has sqrt(L/delta) for sqrt(L ln(1/delta)),
    exponents and noise upside down (here alpha counts edges, and no m appears), and reaches 4
    alpha.

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
        parameters: T, the tolerance, the threshold and the scale of noise, see `_by_parameters`.

    Raises:
        ParameterError: a number out of range.

    Source: GRU12 Alg. 3 and Theorem 7.3; DR14 Alg. 8 and Theorems 5.3 to 5.7; Nik17 Alg. 1.
    """

    paper: str

    def check_parameters(self) -> None:
        """See `IterativeCalibration.check_parameters`.

        Raises:
            ParameterError: noise on answers that is too small for the budget; a threshold without
                rounds or alpha, from which the others follow; or sigma without rounds.
        """
        chosen = self.parameters.chosen
        if chosen and "rounds" not in chosen and ("alpha" not in chosen or "sigma" in chosen):
            alternative = "" if "sigma" in chosen else ", or alpha"
            raise ParameterError(f"with calibration {self.paper!r} set rounds, too{alternative}")
        if self.rounds is not None and "sigma" in chosen:
            self._call_epsilon(self.rounds)

    def check_distinguisher(self, distinguisher: Distinguisher) -> None:
        """Refuse a distinguisher that the papers do not allow, before anything is spent.

        Raises:
            ParameterError: it is not charged by the call.
        """
        if distinguisher.setup is not None or distinguisher.call is None:
            raise ParameterError(
                "the papers' calibrations are for distinguishers that are charged by the call:"
                " exponential or exact-cuts"
            )

    def tune(
        self,
        update_bound: UpdateBound,
        distinguisher: Distinguisher,
        *,
        unit_weight: float,
        sensitivity: int,
    ) -> IterativeTuning:
        """See `IterativeCalibration.tune`."""
        self.check_distinguisher(distinguisher)
        if self.parameters.chosen:
            return self._by_parameters(
                update_bound, distinguisher, unit_weight=unit_weight, sensitivity=sensitivity
            )
        margins = Margins.of(self.paper)

        def tuned_at(alpha: float) -> IterativeTuning | None:
            """Return the tuning with this alpha; None if the margins are too narrow."""
            tolerance = float(margins.tolerance) * alpha
            bound = update_bound(tolerance)
            if not bound < MOST_ROUNDS:
                return None
            rounds = math.floor(bound)
            tuning = IterativeTuning(
                rounds=rounds,
                alpha=tolerance,
                threshold=tolerance,
                distinguisher=distinguisher,
                error=tolerance,
            )
            if not rounds:  # the start is within the tolerance already
                return tuning
            epsilon_0 = self.epsilon_0(rounds)
            tuned = distinguisher.with_epsilon(epsilon_0 * rounds, rounds=rounds)
            noise = ValueNoise("laplace", epsilon_0 / sensitivity)
            value_error = noise.radius(self.beta / (2 * rounds)) / sensitivity
            shortfall = tuned.shortfall(self.beta / (2 * rounds)) / unit_weight
            if value_error > margins.noise * alpha or shortfall > margins.shortfall * alpha:
                return None
            return replace(
                tuning,
                threshold=float(margins.threshold) * alpha,
                distinguisher=tuned,
                noise=noise,
                value_error=value_error,
                error=float(margins.error) * alpha,
            )

        alpha = least_that_fits(lambda alpha: tuned_at(alpha) is not None)
        tuning = None if alpha is None else tuned_at(alpha)
        if tuning is None:
            raise ParameterError("no alpha fits; use more epsilon")
        if tuning.rounds:
            costs_of_round = [
                tuning.distinguisher.call,
                Cost.of_pure(self.epsilon_0(tuning.rounds)),
            ]
            cost = compose(
                [cost for cost in costs_of_round if cost] * tuning.rounds, delta=self.delta
            )
            if cost.epsilon > self.epsilon * (1 + 1e-9):
                raise ParameterError("epsilon is too large for this calibration; use 'tight'")
        return tuning

    def _by_parameters(
        self,
        update_bound: UpdateBound,
        distinguisher: Distinguisher,
        *,
        unit_weight: float,
        sensitivity: int,
    ) -> IterativeTuning:
        """Return the tuning with the parameters that are set; the others follow from these.

        1. T: as set, or B(alpha). Privacy rests on T and on noise alone, not on B.
        2. The scale of noise: as set, or 1/epsilon_0 for T rounds. Calls get the remaining budget.
        3. alpha: as set, or nearly the least tolerance with B(alpha) < T + 1.
        4. The threshold: as set, or the paper's multiple of alpha.
        """
        self.check_parameters()
        chosen, margins = self.parameters, Margins.of(self.paper)
        rounds = self.rounds
        if rounds is None:
            needed_rounds = update_bound(cast(float, chosen.alpha))
            rounds = int(max(1, min(MOST_ROUNDS, needed_rounds)))
        alpha = chosen.alpha
        if alpha is None:
            alpha = least_tolerance(update_bound, rounds)
        if alpha is None:
            raise ParameterError(
                "no tolerance has a bound on the updates here: set alpha, or another eta or step"
            )
        threshold = chosen.threshold
        if threshold is None:
            threshold = float(margins.threshold / margins.tolerance) * alpha
        call_epsilon, answer_epsilon = self._call_epsilon(rounds), self.epsilon_0(rounds)
        if chosen.sigma is not None:
            answer_epsilon = 1 / Fraction(chosen.sigma)
        tuned = distinguisher.with_epsilon(call_epsilon * rounds, rounds=rounds)
        noise = ValueNoise("laplace", answer_epsilon / sensitivity)
        value_error = noise.radius(self.beta / (2 * rounds)) / sensitivity
        shortfall = tuned.shortfall(self.beta / (2 * rounds)) / unit_weight
        void = void_reason(update_bound, rounds, alpha, threshold, value_error)
        return IterativeTuning(
            rounds=rounds,
            alpha=alpha,
            threshold=threshold,
            distinguisher=tuned,
            noise=noise,
            value_error=value_error,
            error=None if void is not None else threshold + value_error + shortfall,
            void_reason=void,
        )

    def _call_epsilon(self, rounds: int) -> Fraction:
        """Return the epsilon of one call: the budget that the noise on answers leaves.

        All calls and answers have 2 T epsilon_0 for delta = 0, else T epsilon_0^2 in zCDP. An
        answer with Laplace noise of scale sigma is 1/sigma-DP.

        Raises:
            ParameterError: the answers leave nothing.
        """
        epsilon_0, sigma = self.epsilon_0(rounds), self.parameters.sigma
        if sigma is None:
            return epsilon_0
        answer_epsilon = 1 / Fraction(sigma)
        if self.delta == 0:
            call_epsilon = 2 * epsilon_0 - answer_epsilon
        else:
            square = 2 * epsilon_0**2 - answer_epsilon**2
            call_epsilon = root_at_most(square) if square > 0 else Fraction(0)
        if call_epsilon <= 0:
            factor = 2 if self.delta == 0 else math.sqrt(2)
            least = 1 / (factor * float(epsilon_0))
            raise ParameterError(
                f"the answers of {rounds} rounds alone would cost the whole budget: sigma must be"
                f" above {least:.7g}, or take fewer rounds"
            )
        return call_epsilon

    def epsilon_0(self, rounds: int) -> Fraction:
        """Return the epsilon of one call or answer, rounded down.

        Args:
            rounds: T.
        """
        if self.delta == 0:
            return Fraction(self.epsilon) / (2 * rounds)
        root = 4 * math.sqrt(rounds * math.log(1 / self.delta))
        return Fraction(self.epsilon / root * (1 - 1e-12))

    @property
    def _may_be_pure(self) -> bool:  # type: ignore[override]
        return self.paper == "dr14"
