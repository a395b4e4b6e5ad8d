"""How many rounds, how much noise, which tolerance: tunings of the iterative construction.

All lengths are in units of the answers' sensitivity (edges, in a graph without weights). In a
proven tuning with tolerance t, noise within a on every answer and a distinguisher that is at most F
short, a round stops when the noisy gap is below t + a. A round that goes on has a gap of at least
t, so its update is a valid one, of which there are at most B(t); a round that stops leaves no gap
above t + 2 a + F. Privacy rests on the number of rounds alone, which is fixed beforehand.

Two calibrations count in zCDP; one is for distinguishers that are paid once, and purely private;
one has the papers' margins and their composition.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from operator import itemgetter
from typing import Any, ClassVar, Self, cast, final

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.distinguisher import Distinguisher, root_at_most
from graphcuts_dp.iterative.rank_one import usual_cut_norm
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibration_base import PaperBudget, ZcdpBudget, start_plan
from graphcuts_dp.learn.parameters import length_option
from graphcuts_dp.options import Checked, check_probability, option
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep
from graphcuts_dp.privacy.composition import Cost, compose
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.queries.universe import Universe

MOST_ROUNDS = 100_000
_FINEST = 1e-6  # smallest tolerance tried, in units


@dataclass(frozen=True, kw_only=True)
class IterativeParameters(Checked):
    """Set numbers of a release in rounds; the calibration computes those that are None.

    Lengths are in units of the largest change of an answer, which is an edge in a graph without
    weights. Nothing about privacy rests on alpha or the threshold: the cost is that of the noise
    for all rounds. What noise on answers leaves of the budget goes to the distinguisher.

    Attributes:
        rounds: T, the largest number of rounds.
        alpha: tolerance of the construction, of "tight" and of the calibrations of papers.
        threshold: a round whose noisy gap is below it is the last, of the same calibrations.
        sigma: scale of the noise on each answer: the deviation of Gaussian noise for "practical"
            and "tight", the scale of Laplace noise (1/epsilon_0) for those of papers.
    """

    rounds: int | None = option(
        None, help="Largest number of rounds, T in the papers.", least=1, most=MOST_ROUNDS
    )
    alpha: float | None = length_option(
        help="Tolerance alpha of the construction, in edges; not of practical."
    )
    threshold: float | None = length_option(
        help="Noisy gap below which the rounds stop, in edges; not of practical."
    )
    sigma: float | None = length_option(help="Scale sigma of the noise on each answer, in edges.")

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the parameters that are set, by name."""
        values = {member.name: getattr(self, member.name) for member in fields(IterativeParameters)}
        return {name: value for name, value in values.items() if value is not None}


_ALL_COMPUTED = IterativeParameters()  # none is set


@final
@dataclass(frozen=True, kw_only=True)
class IterativeTuning:
    """What the mechanism runs on. Public.

    Attributes:
        rounds: hard cap on the number of rounds.
        alpha: tolerance that the construction is tuned to, in units.
        threshold: a round whose noisy gaps are all below this stops, in units; None: all rounds are
            used, and each answer corrects by its gap less `value_error`; if an `error` is stated,
            the last round only tells how far off the result is.
        distinguisher: tuned to its part of the budget.
        noise: on each answer, in steps; None where there are no rounds.
        value_error: an answer is farther off with probability beta/(2 rounds) at most, in units;
            without a threshold, the noise's scale.
        error: with probability 1 - beta the result is nowhere farther off, in units; None where the
            distinguisher proves nothing. Without a threshold, what comes on top of the last round's
            noisy gaps.
        void_reason: why nothing is proven for the parameters that were set; None if the
            calibration's own numbers, or fitting ones, are used.
    """

    rounds: int
    alpha: float
    threshold: float | None = None
    distinguisher: Distinguisher
    noise: ValueNoise | None = None
    value_error: float = 0.0
    error: float | None = None
    void_reason: str | None = None

    def built(self, steps: int, *, delta: float) -> list[Cost]:
        """What all rounds cost, part by part, from the scales of their noise.

        Args:
            steps: sensitivity of the answers.
            delta: for which the cost of Gaussian noise is stated.
        """
        if self.noise is None:
            return []
        each = [self.noise.cost(steps, delta=delta), self.distinguisher.call]
        parts = [part.times(self.rounds) for part in each if part is not None]
        return parts + [part for part in [self.distinguisher.setup] if part is not None]


@dataclass(frozen=True, kw_only=True)
class IterativeCalibration(ABC):
    """A budget and a way to spend it; a part of it goes to each norm that is bought first.

    Raises:
        ParameterError: a number out of range.
    """

    epsilon: float | Fraction
    delta: float
    beta: float = DEFAULT_FAILURE
    parameters: IterativeParameters = _ALL_COMPUTED
    _pure: ClassVar[bool] = False  # whether delta may be 0
    # The parameters that it has.
    _known: ClassVar[tuple[str, ...]] = ("rounds", "alpha", "threshold", "sigma")

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not (0 < self.delta < 1 or (self._pure and self.delta == 0)):
            raise ParameterError(
                "an iterative construction needs delta between 0 and 1, for example delta=1e-6"
            )
        check_probability("beta", self.beta)
        for name in self.parameters.chosen:
            if name not in self._known:
                raise ParameterError(
                    f"{name} is no parameter of this calibration, which has"
                    f" {', '.join(self._known)}"
                )

    @property
    def rounds(self) -> int | None:
        """T, if it is set."""
        return self.parameters.rounds

    def check_parameters(self) -> None:  # noqa: B027  # most calibrations cannot be given too much
        """Refuse noise on answers that this budget does not pay for.

        Raises:
            ParameterError: with the least noise that will do.
        """

    def budget_plan(self, names: Sequence[str]) -> BudgetPlan:
        """Return how the budget is spent, where norms of these names are measured first."""
        return start_plan(self.cost, names, "rounds")

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What is guaranteed, whatever happens."""

    @abstractmethod
    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """Pay for a noisy total weight out of this budget.

        Returns:
            Its noise, how far it can be off (in steps), its cost, and what is left.
        """

    @abstractmethod
    def tune(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> IterativeTuning:
        """The tuning for a construction with this bound.

        Args:
            update_bound: B; infinite where the construction cannot be tuned so finely.
            distinguisher: to be tuned, too.
            one: weight of a unit.
            steps: of the grid that make a unit.

        Raises:
            ParameterError: no tuning is possible.
        """


@dataclass(frozen=True, kw_only=True)
class _ZcdpIterative(ZcdpBudget, IterativeCalibration):
    """What those with zCDP accounting share: T calls get s rho, T answers (1 - s) rho."""

    _shares: ClassVar[tuple[Fraction, ...]]  # parts of rho for the distinguisher that are tried
    _stops: ClassVar[bool] = False  # rounds that are near enough end it: errors rest on all rounds

    def check_parameters(self) -> None:
        """See `IterativeCalibration.check_parameters`: T answers cost T/(2 sigma^2) of rho."""
        sigma, rounds = self.parameters.sigma, self.rounds or 1
        if sigma is not None and self._answers_rho(rounds) >= Fraction(self._rho):
            least = math.sqrt(rounds / (2 * self._rho))
            raise ParameterError(
                f"the answers of {rounds} rounds alone would cost the whole budget: sigma must be"
                f" above {least:.7g}, or take fewer rounds"
            )

    def _answers_rho(self, rounds: int) -> Fraction:
        """Return the cost of all answers with the noise that is set."""
        return Fraction(rounds) / (2 * Fraction(self.parameters.sigma or 0) ** 2)

    def _tried_rounds(self, update_bound: UpdateBound, least: int) -> Iterator[int]:
        """Return numbers of rounds to try: that which is set, or follows from alpha, or many."""
        most = MOST_ROUNDS
        if self.parameters.sigma is not None:  # so many that calls get something, too
            affordable = 2 * Fraction(self._rho) * Fraction(self.parameters.sigma) ** 2
            most = min(most, max(1, math.ceil(affordable) - 1))
        if self.rounds is not None:
            yield self.rounds
        elif self.parameters.alpha is not None:
            yield int(max(1, min(most, update_bound(self.parameters.alpha))))
        else:
            yield from round_numbers(min(least, most), most)

    def tune(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> IterativeTuning:
        """See `IterativeCalibration.tune`."""
        rho = Fraction(self._rho)
        chosen = self.parameters

        def split(rounds: int, alpha: float, share: Fraction) -> tuple[float, IterativeTuning]:
            """The tuning with these rounds and this share, and a score of which least is best."""
            variance = steps**2 * rounds / (2 * rho * (1 - share))
            if chosen.sigma is not None:
                variance = (Fraction(chosen.sigma) * steps) ** 2
                share = 1 - self._answers_rho(rounds) / rho
            tuned = distinguisher.with_rho(float(rho * share) * (1 - 1e-15), rounds=rounds)
            noise = ValueNoise("gaussian", variance)
            # An answer is within the radius, and a call so short, in all rounds that count.
            union = 2 * (rounds if self._stops else 1)
            once = tuned.call is None  # then short once, not in each call
            short = tuned.shortfall(self.beta / (2 if once else union)) / one
            proven, radius = math.isfinite(short), noise.radius(self.beta / union) / steps
            threshold: float | None = None
            value_error = math.sqrt(noise.parameter) / steps
            error = radius + short
            score = alpha / 4 + value_error + tuned.usual_shortfall / one
            void = None
            if self._stops:
                threshold, value_error = alpha + radius, radius
                if chosen.alpha is not None or chosen.threshold is not None:
                    threshold = chosen.threshold or math.nextafter(threshold, math.inf)
                    void = void_reason(update_bound, rounds, alpha, threshold, radius)
                score = error = threshold + radius + (short if proven else 0.0)
                if void is not None:
                    score = math.inf
            return score, IterativeTuning(
                rounds=rounds,
                alpha=alpha,
                threshold=threshold,
                distinguisher=tuned,
                noise=noise,
                value_error=value_error,
                error=error if proven and void is None else None,
                void_reason=void,
            )

        best: tuple[float, IterativeTuning] | None = None
        proves = math.isfinite(distinguisher.shortfall(self.beta))
        least = 2 if proves and not self._stops else 1  # the last round of others is a test
        for rounds in self._tried_rounds(update_bound, least):
            alpha = chosen.alpha
            if alpha is None:
                alpha = least_tolerance(update_bound, rounds)
            if alpha is None and chosen.threshold is not None:
                alpha = chosen.threshold
            if alpha is None:
                continue
            here = min((split(rounds, alpha, share) for share in self._shares), key=itemgetter(0))
            if best is None or here[0] < best[0]:
                best = here
            elif here[0] > 2 * best[0]:
                break  # the noise has the upper hand, and grows with the rounds
        if best is None:
            raise ParameterError(
                "no number of rounds is proven to be enough here; use fewer rounds or more epsilon"
            )
        return best[1]


@final
@dataclass(frozen=True, kw_only=True)
class PracticalIterative(_ZcdpIterative):
    """All rounds are used, and all answers as far as their noise allows; the error is measured.

    Each answer corrects the hypothesis by its gap less one deviation of its noise, and old answers
    do so again (see `IterativeConstruction.refits`). The last round tests the result: with
    probability 1 - beta no query of the class is farther off than the last noisy gap plus the
    noise's radius plus the distinguisher's shortfall, each at beta/2 for that round alone.

    Where the distinguisher proves nothing there is nothing to state, and the last round corrects
    as all others do.

    T and the distinguisher's part of rho minimise t/4 + deviation + F, where t is the tolerance
    with B(t) = T, and F what the distinguisher is usually short. Nothing of this is proven to be
    good, only measured: errors are a fifth or less of what `TightIterative` reaches.

    Guarantee: rho-zCDP, hence (epsilon, delta)-DP.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in (0, 1).
        beta: probability of a larger error than stated, in (0, 1).
        parameters: T and sigma; None for the above.

    Raises:
        ParameterError: a number out of range.

    Source: Hardt, Ligett, McSherry, *A Simple and Practical Algorithm for Differentially Private
    Data Release* (MWEM), 2012, for using all rounds and old answers.
    """

    _shares = (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10))
    _known = ("rounds", "sigma")


@final
@dataclass(frozen=True, kw_only=True)
class TightIterative(_ZcdpIterative):
    """Stops when the result is proven to be good; rounds and split with the least proven error.

    Over rounds T and shares s of rho the error t + 2 a + F is least, where t is the smallest
    tolerance with B(t) < T + 1. Where the distinguisher proves nothing, F is left out.

    Guarantee: rho-zCDP, hence (epsilon, delta)-DP. With probability 1 - beta the result is within
    `IterativeTuning.error` on all queries of the distinguisher's class: answers and calls fail with
    probability beta/2 each, in a union over the rounds.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in (0, 1).
        beta: probability of a larger error, in (0, 1).
        parameters: T, the tolerance, the threshold and the deviation of noise; None for the best.
            Others than these are proven to be good only if `void_reason` is None.

    Raises:
        ParameterError: a number out of range.

    Source: DR14 Alg. 8 and Theorem 5.4, with zCDP in place of advanced composition, and its own
    margins in place of eighths of alpha.
    """

    _shares = tuple(Fraction(k, 10) for k in range(1, 10))
    _stops = True


def round_numbers(rounds: int, most: int) -> Iterator[int]:
    """Numbers of rounds that are tried, each about a fifth larger than the one before."""
    while rounds < most:
        yield rounds
        rounds = max(rounds + 1, math.floor(rounds * 1.2))
    yield most


def least_tolerance(update_bound: UpdateBound, rounds: int) -> float | None:
    """Nearly the least tolerance t with B(t) < rounds + 1; None where there is none."""
    return least_that_fits(lambda alpha: update_bound(alpha) < rounds + 1)


def least_that_fits(fits: Callable[[float], bool]) -> float | None:
    """Nearly the least number from which a condition holds, by bisection; it holds there."""
    high = 1.0
    while not fits(high):
        high *= 2
        if high > 2.0**80:
            return None
    low = high / 2
    while low > _FINEST and fits(low):
        low, high = low / 2, low
    for _ in range(25):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


_ROUNDS = 8
_LAPLACE = math.sqrt(2)  # deviation of Laplace noise at epsilon = 1
_SHARE_BITS = 20


@final
@dataclass(frozen=True, kw_only=True)
class PureIterative(IterativeCalibration):
    """All rounds are used, and all answers as far as their noise allows; nothing is proven.

    A noisy matrix hides epsilon_1, the total weight epsilon_2, and T rounds of answers
    epsilon_3/T each. With F_i/epsilon_i the error that each part brings about, their sum is
    least where epsilon_i is proportional to sqrt(F_i): F_1 is `usual_cut_norm`, F_2 twice the
    deviation of Laplace noise (the cut of all pairs counts each twice), F_3 T times it.
    Nearly all of epsilon goes to the matrix: 0.88 at n = 200. Half of what (1, 1e-6) allows by zCDP
    would be worth 0.16.

    Eight rounds by default: two planted blocks need one, four need four. With 12 and more, cuts of
    mere noise made graphs without strong blocks worse.

    Guarantee: epsilon-DP: basic composition of pure mechanisms.

    Attributes:
        universe: the public vertex pairs; epsilon is cut up by their number.
        epsilon: in [1e-6, 50].
        beta: probability with which the total weight is farther off than it is taken for.
        parameters: T alone.

    Raises:
        ParameterError: a number out of range.
    """

    universe: Universe
    delta: float = 0.0
    _pure = True
    _known = ("rounds",)

    @property
    def rounds(self) -> int:
        """T."""
        return self.parameters.rounds or _ROUNDS

    @property
    def cost(self) -> Cost:
        """Purely epsilon-DP."""
        return Cost.of_pure(Fraction(self.epsilon))

    @property
    def _shares(self) -> tuple[Fraction, Fraction]:
        """What the total weight gets of epsilon, and what the noisy matrix gets of the rest."""
        matrix = math.sqrt(usual_cut_norm(self.universe))
        total = math.sqrt(2 * _LAPLACE)
        answers = math.sqrt(_LAPLACE * self.rounds)
        return _fraction(total / (matrix + total + answers)), _fraction(matrix / (matrix + answers))

    def budget_plan(self, names: Sequence[str]) -> BudgetPlan:
        """See `IterativeCalibration.budget_plan`."""
        total, matrix = self._shares
        shares = dict.fromkeys(names, total) | {"noisy matrix": matrix, "answers": ALL_LEFT}
        steps = [
            BudgetStep(statistic=name, share=share, noise="discrete Laplace")
            for name, share in shares.items()
        ]
        return BudgetPlan.of_cost(self.cost, steps)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "PureIterative"]:
        """See `IterativeCalibration.with_total`. Discrete Laplace noise."""
        spent = Fraction(self.epsilon) * self._shares[0]
        noise = ValueNoise("laplace", spent / sensitivity)
        rest = replace(self, epsilon=Fraction(self.epsilon) - spent)
        return noise, noise.radius(self.beta), Cost.of_pure(spent), rest

    def tune(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> IterativeTuning:
        """See `IterativeCalibration.tune`.

        Raises:
            ParameterError: a distinguisher that is paid by the call, or not purely private.
        """
        del one
        if distinguisher.call is not None:
            raise ParameterError(
                "this calibration is for distinguishers that are charged once: use "
                "PracticalIterative"
            )
        for_matrix = Fraction(self.epsilon) * self._shares[1]
        each = (Fraction(self.epsilon) - for_matrix) / self.rounds
        noise = ValueNoise("laplace", each / steps)
        alpha = least_tolerance(update_bound, self.rounds)
        if alpha is None:
            raise ParameterError("the construction cannot be tuned; use another one")
        return IterativeTuning(
            rounds=self.rounds,
            alpha=alpha,
            distinguisher=distinguisher.with_epsilon(for_matrix, rounds=1),
            noise=noise,
            value_error=_LAPLACE / float(each),
        )


def _fraction(share: float) -> Fraction:
    return Fraction(round(share * 2**_SHARE_BITS), 2**_SHARE_BITS)


@final
@dataclass(frozen=True)
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


MARGINS = {  # tolerance, threshold, noise, shortfall
    # GRU12 Theorem 7.3 claims alpha; its B(alpha) rounds are too few for updates at alpha/2.
    "gru12": Margins(Fraction(1, 2), Fraction(3, 4), Fraction(1, 4), Fraction(1, 2)),
    "dr14": Margins(Fraction(1, 2), Fraction(3, 4), Fraction(1, 8), Fraction(1, 8)),
    "nik17": Margins(Fraction(1), Fraction(2), Fraction(1), Fraction(1)),
}
CALIBRATIONS = ("practical", "tight", *MARGINS)


@final
@dataclass(frozen=True, kw_only=True)
class PaperIterative(PaperBudget, IterativeCalibration):
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
        parameters: T, the tolerance, the threshold and the scale of noise, see `_by_parameters`.

    Raises:
        ParameterError: a number out of range.

    Source: GRU12 Alg. 3 and Theorem 7.3; DR14 Alg. 8 and Theorems 5.3 to 5.7; Nik17 Alg. 1.
    """

    paper: str

    @property
    def _pure(self) -> bool:  # type: ignore[override]
        return self.paper == "dr14"

    def each(self, rounds: int) -> Fraction:
        """epsilon_0, rounded down."""
        if self.delta == 0:
            return Fraction(self.epsilon) / (2 * rounds)
        root = 4 * math.sqrt(rounds * math.log(1 / self.delta))
        return Fraction(self.epsilon / root * (1 - 1e-12))

    def check_distinguisher(self, distinguisher: Distinguisher) -> None:
        """Refuse a distinguisher that the paper has not; call it before anything is spent.

        Raises:
            ParameterError: it does not pay by the call.
        """
        if distinguisher.setup is not None or distinguisher.call is None:
            raise ParameterError(
                "the papers' calibrations are for distinguishers that pay by the call: exponential"
                " or exact-cuts"
            )

    def tune(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> IterativeTuning:
        """See `IterativeCalibration.tune`."""
        self.check_distinguisher(distinguisher)
        if self.parameters.chosen:
            return self._by_parameters(update_bound, distinguisher, one=one, steps=steps)
        margins = MARGINS[self.paper]

        def at(alpha: float) -> IterativeTuning | None:
            """The tuning with this alpha, or None where the margins are too narrow."""
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
            each = self.each(rounds)
            tuned = distinguisher.with_epsilon(each * rounds, rounds=rounds)
            noise = ValueNoise("laplace", each / steps)
            value_error = noise.radius(self.beta / (2 * rounds)) / steps
            short = tuned.shortfall(self.beta / (2 * rounds)) / one
            if value_error > margins.noise * alpha or short > margins.shortfall * alpha:
                return None
            return replace(
                tuning,
                threshold=float(margins.threshold) * alpha,
                distinguisher=tuned,
                noise=noise,
                value_error=value_error,
                error=float(margins.error) * alpha,
            )

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

    def check_parameters(self) -> None:
        """See `IterativeCalibration.check_parameters`.

        Raises:
            ParameterError: see there; or neither rounds nor alpha is set, from which the others
                follow; or sigma without rounds.
        """
        chosen = self.parameters.chosen
        if chosen and "rounds" not in chosen and ("alpha" not in chosen or "sigma" in chosen):
            raise ParameterError(
                f"with calibration {self.paper!r} set rounds, too"
                + ("" if "sigma" in chosen else ", or alpha")
            )
        if self.rounds is not None and "sigma" in chosen:
            self._call_epsilon(self.rounds)

    def _call_epsilon(self, rounds: int) -> Fraction:
        """Return epsilon of one call: what the noise on answers leaves of the budget.

        All calls and answers have 2 T epsilon_0 for delta = 0, else T epsilon_0^2 in zCDP; see
        `each`. An answer with Laplace noise of scale sigma is 1/sigma-DP.

        Raises:
            ParameterError: the answers leave nothing.
        """
        each, sigma = self.each(rounds), self.parameters.sigma
        if sigma is None:
            return each
        answer = 1 / Fraction(sigma)
        if self.delta == 0:
            left = 2 * each - answer
        else:
            square = 2 * each**2 - answer**2
            left = root_at_most(square) if square > 0 else Fraction(0)
        if left <= 0:
            least = 1 / (2 * float(each)) if self.delta == 0 else 1 / (math.sqrt(2) * float(each))
            raise ParameterError(
                f"the answers of {rounds} rounds alone would cost the whole budget: sigma must be"
                f" above {least:.7g}, or take fewer rounds"
            )
        return left

    def _by_parameters(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> IterativeTuning:
        """Return the tuning with the parameters that are set; the others follow from these.

        1. T: what is set, or B(alpha). Privacy rests on T and on noise alone, not on B.
        2. The scale of noise: what is set, or 1/epsilon_0 for T rounds. Calls get the rest.
        3. alpha: what is set, or nearly the least tolerance with B(alpha) < T + 1.
        4. The threshold: what is set, or the paper's multiple of alpha.
        """
        self.check_parameters()
        chosen, margins = self.parameters, MARGINS[self.paper]
        rounds = self.rounds
        if rounds is None:
            needed = update_bound(cast(float, chosen.alpha))
            rounds = int(max(1, min(MOST_ROUNDS, needed)))
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
        call, answer = self._call_epsilon(rounds), self.each(rounds)
        if chosen.sigma is not None:
            answer = 1 / Fraction(chosen.sigma)
        tuned = distinguisher.with_epsilon(call * rounds, rounds=rounds)
        noise = ValueNoise("laplace", answer / steps)
        value_error = noise.radius(self.beta / (2 * rounds)) / steps
        short = tuned.shortfall(self.beta / (2 * rounds)) / one
        void = void_reason(update_bound, rounds, alpha, threshold, value_error)
        return IterativeTuning(
            rounds=rounds,
            alpha=alpha,
            threshold=threshold,
            distinguisher=tuned,
            noise=noise,
            value_error=value_error,
            error=None if void is not None else threshold + value_error + short,
            void_reason=void,
        )


def void_reason(
    update_bound: UpdateBound, rounds: int, alpha: float, threshold: float, value_error: float
) -> str | None:
    """Return why no bound holds for these numbers; None if one does.

    The theorem (DR14 Theorem 5.4 with any numbers; `TightIterative` states the same). Let noise on
    all answers be within a. A round that goes on has a gap of at least threshold - a. If that is at
    least alpha, its update is a valid one, of which there are at most B(alpha). If fewer than
    T + 1 can happen, a round stops, and leaves no gap above threshold + a + F, where F is what
    the distinguisher may be short.

    Args:
        update_bound: B, of a tolerance in units.
        rounds: T.
        alpha: tolerance of the construction.
        threshold: below which a noisy gap ends the rounds.
        value_error: a.
    """
    if Fraction(threshold) - Fraction(value_error) < Fraction(alpha):
        return (
            f"updates need an error of alpha = {alpha:.6g}, and a round that goes on proves"
            f" {max(0.0, threshold - value_error):.6g} (threshold less noise)"
        )
    needed = update_bound(alpha)
    if not needed < rounds + 1:
        amount = f"{needed:,.6g}" if math.isfinite(needed) else "any number of"
        return (
            f"{amount} updates can be needed at alpha = {alpha:.6g}, and there are {rounds} rounds"
        )
    return None


def buy_total(
    budget: IterativeCalibration, graph: AnyGraph, grid: Grid, source: EntropySource
) -> tuple[float, float, IterativeCalibration]:
    """A noisy total weight in units, how far it may be off, and what is left of the budget."""
    steps = grid.sensitivity
    noise, radius, _, rest = budget.with_total(steps)
    noisy = (grid.total(graph) + noise.draw(source)) / steps
    # The truth is in [0, X]; multiplicative weights need some weight to begin with.
    total_weight = min(max(noisy, 1.0), float(Universe.of(graph).size))
    return total_weight, max(radius / steps, 1.0 if noisy < 1 else 0.0), rest
