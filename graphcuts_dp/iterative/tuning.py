"""Calibrations of the iterative construction: number of rounds, scale of noise, tolerance.

All errors and gaps are in units of the answers' sensitivity (edges, in a graph without weights).
Let the tolerance be t, the noise on every answer within a, and the gap that the distinguisher finds
at most F below the largest. A round stops when its noisy gap is below t + a. A round that goes on
has a gap of at least t, so its update is a valid one, of which there are at most B(t); a round that
stops leaves no gap above t + 2 a + F. Privacy rests on the number of rounds alone, which is fixed
beforehand.

`IterativeCalibration` is the interface. Two calibrations count in zCDP (`PracticalIterative`,
`TightIterative`), and `PureIterative` is for purely private distinguishers that spend their budget
once. Those of the papers are in `paper_tuning`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from operator import itemgetter
from typing import Any, ClassVar, Self, final

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.distinguisher import Distinguisher
from graphcuts_dp.iterative.rank_one import usual_cut_norm
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibration_base import ZcdpBudget, start_plan
from graphcuts_dp.learn.parameters import length_option
from graphcuts_dp.options import Checked, check_probability, option
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.queries.universe import Universe

MOST_ROUNDS = 100_000
_LEAST_TOLERANCE = 1e-6  # smallest tolerance that is tried, in units
_PURE_ROUNDS = 8  # default of `PureIterative`, whose docstring gives the reason
_LAPLACE_DEVIATION = math.sqrt(2)  # of Laplace noise at epsilon = 1
_SHARE_BITS = 20  # shares of a pure budget are fractions of 2^20


@dataclass(frozen=True, kw_only=True)
class IterativeParameters(Checked):
    """Parameters of a release in rounds that a user sets; the calibration computes those left None.

    Tolerance, threshold and sigma are in units of the largest change of an answer, which is an edge
    in a graph without weights. Privacy does not rest on alpha or the threshold: the cost is that of
    the noise for all rounds. The distinguisher gets the budget that the noise on answers leaves.

    Attributes:
        rounds: T, the largest number of rounds.
        alpha: tolerance of the construction; for "tight" and the calibrations of papers.
        threshold: a round whose noisy gap is below it is the last; for the same calibrations.
        sigma: scale of the noise on each answer: the deviation of Gaussian noise for "practical"
            and "tight", the scale of Laplace noise (1/epsilon_0) for the calibrations of papers.
    """

    rounds: int | None = option(
        None, help="Largest number of rounds, T in the papers.", least=1, most=MOST_ROUNDS
    )
    alpha: float | None = length_option(
        help="Tolerance alpha of the construction, in edges; not with calibration practical."
    )
    threshold: float | None = length_option(
        help="Noisy gap below which the rounds stop, in edges; not with calibration practical."
    )
    sigma: float | None = length_option(help="Scale sigma of the noise on each answer, in edges.")

    @property
    def chosen(self) -> dict[str, Any]:
        """The parameters that are set, by name."""
        values = {member.name: getattr(self, member.name) for member in fields(IterativeParameters)}
        return {name: value for name, value in values.items() if value is not None}


@final
@dataclass(frozen=True, kw_only=True)
class IterativeTuning:
    """The numbers that the mechanism uses. Public.

    Attributes:
        rounds: largest number of rounds.
        alpha: tolerance that the construction is tuned to, in units.
        threshold: a round whose noisy gap is below this is the last, in units. None if all rounds
            are used: then an answer corrects by its gap less `value_error`, and if an `error` is
            stated, the last round only measures the error of the result.
        distinguisher: tuned to its part of the budget.
        noise: on each answer, in grid units; None if there are no rounds.
        value_error: with a threshold, a bound on the noise of an answer, which fails with
            probability at most beta/(2 rounds); without one, the scale of the noise. In units.
        error: with probability 1 - beta no query of the class has a larger error, in units; None if
            the distinguisher proves nothing. Without a threshold, the last round's noisy gap is
            added to it.
        void_reason: why no bound holds for the parameters that were set; None if one does.
    """

    rounds: int
    alpha: float
    threshold: float | None = None
    distinguisher: Distinguisher
    noise: ValueNoise | None = None
    value_error: float = 0.0
    error: float | None = None
    void_reason: str | None = None

    def costs(self, sensitivity: int, *, delta: float) -> list[Cost]:
        """Return the costs of all answers, all calls and the setup, from the scales of their noise.

        Args:
            sensitivity: of the answers, in grid units.
            delta: the delta for which the cost of Gaussian noise is stated.
        """
        if self.noise is None:
            return []
        costs_of_round = [self.noise.cost(sensitivity, delta=delta), self.distinguisher.call]
        costs = [cost.times(self.rounds) for cost in costs_of_round if cost is not None]
        setup = self.distinguisher.setup
        return costs if setup is None else [*costs, setup]


@dataclass(frozen=True, kw_only=True)
class IterativeCalibration(ABC):
    """A budget and a way to spend it: on norms that are measured first, then on the rounds.

    Raises:
        ParameterError: a number out of range.
    """

    epsilon: float | Fraction
    delta: float
    beta: float = DEFAULT_FAILURE
    parameters: IterativeParameters = field(default_factory=IterativeParameters)
    _may_be_pure: ClassVar[bool] = False  # True if delta may be 0
    _parameter_names: ClassVar[tuple[str, ...]] = ("rounds", "alpha", "threshold", "sigma")

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not (0 < self.delta < 1 or (self._may_be_pure and self.delta == 0)):
            raise ParameterError(
                "an iterative construction needs delta between 0 and 1, for example delta=1e-6"
            )
        check_probability("beta", self.beta)
        for name in self.parameters.chosen:
            if name not in self._parameter_names:
                raise ParameterError(
                    f"{name} is no parameter of this calibration, which has"
                    f" {', '.join(self._parameter_names)}"
                )

    @property
    def rounds(self) -> int | None:
        """The number of rounds T that is set; None if the calibration chooses it."""
        return self.parameters.rounds

    def check_parameters(self) -> None:  # noqa: B027  # calibrations without sigma refuse nothing
        """Refuse noise on answers that is too small for this budget.

        Raises:
            ParameterError: it is; the message states the least noise that fits.
        """

    def budget_plan(self, names: Sequence[str]) -> BudgetPlan:
        """Return how the budget is spent, where norms of these names are measured first."""
        return start_plan(self.cost, names, "rounds")

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The guaranteed cost of a run, whatever happens in it."""

    @abstractmethod
    def split_budget(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """Divide the budget between a statistic that is measured first and the rounds.

        Args:
            sensitivity: of the statistic, in grid units; of the total weight or another norm.

        Returns:
            The statistic's noise, a bound on that noise (in grid units), the statistic's cost, and
            the calibration with the remaining budget.
        """

    @abstractmethod
    def tune(
        self,
        update_bound: UpdateBound,
        distinguisher: Distinguisher,
        *,
        unit_weight: float,
        sensitivity: int,
    ) -> IterativeTuning:
        """Return the tuning for a construction with this bound on its updates.

        Args:
            update_bound: B, of a tolerance in units; infinite if no bound is known for it.
            distinguisher: with any budget; the tuning has a copy with its share of this budget.
            unit_weight: weight of a unit.
            sensitivity: of an answer in grid units, which is a unit.

        Raises:
            ParameterError: no tuning is possible.
        """


@dataclass(frozen=True, kw_only=True)
class _ZcdpIterative(ZcdpBudget, IterativeCalibration):
    """Base of calibrations in zCDP: T calls get s rho, T answers (1 - s) rho, for the best s."""

    _call_shares: ClassVar[tuple[Fraction, ...]]  # values of s that are tried
    # True if a small gap ends a run; then the stated error rests on all rounds.
    _stops_early: ClassVar[bool] = False

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
        """Return the zCDP cost of all answers with the noise that is set."""
        return Fraction(rounds) / (2 * Fraction(self.parameters.sigma or 0) ** 2)

    def _tried_rounds(self, update_bound: UpdateBound, least: int) -> Iterator[int]:
        """Yield numbers of rounds to try: the one that is set or follows from alpha, or many."""
        most = MOST_ROUNDS
        if self.parameters.sigma is not None:  # the answers must leave some budget for calls
            affordable = 2 * Fraction(self._rho) * Fraction(self.parameters.sigma) ** 2
            most = min(most, max(1, math.ceil(affordable) - 1))
        if self.rounds is not None:
            yield self.rounds
        elif self.parameters.alpha is not None:
            yield int(max(1, min(most, update_bound(self.parameters.alpha))))
        else:
            yield from round_numbers(min(least, most), most)

    def tune(
        self,
        update_bound: UpdateBound,
        distinguisher: Distinguisher,
        *,
        unit_weight: float,
        sensitivity: int,
    ) -> IterativeTuning:
        """See `IterativeCalibration.tune`: the tuning of the least score, see `_candidate`."""
        chosen = self.parameters
        best: tuple[float, IterativeTuning] | None = None
        proves = math.isfinite(distinguisher.shortfall(self.beta))
        least = 2 if proves and not self._stops_early else 1  # one to learn, one to test
        for rounds in self._tried_rounds(update_bound, least):
            alpha = chosen.alpha
            if alpha is None:
                alpha = least_tolerance(update_bound, rounds)
            if alpha is None and chosen.threshold is not None:
                alpha = chosen.threshold
            if alpha is None:
                continue
            candidates = [
                self._candidate(
                    update_bound,
                    distinguisher,
                    rounds=rounds,
                    alpha=alpha,
                    share=share,
                    unit_weight=unit_weight,
                    sensitivity=sensitivity,
                )
                for share in self._call_shares
            ]
            candidate = min(candidates, key=itemgetter(0))
            if best is None or candidate[0] < best[0]:
                best = candidate
            elif candidate[0] > 2 * best[0]:
                break  # the noise dominates, and grows with the rounds
        if best is None:
            raise ParameterError(
                "no number of rounds is proven to be enough here; use fewer rounds or more epsilon"
            )
        return best[1]

    def _candidate(
        self,
        update_bound: UpdateBound,
        distinguisher: Distinguisher,
        *,
        rounds: int,
        alpha: float,
        share: Fraction,
        unit_weight: float,
        sensitivity: int,
    ) -> tuple[float, IterativeTuning]:
        """Return a score, of which the least is best, and the tuning with these numbers.

        Args:
            update_bound: see `tune`.
            distinguisher: see `tune`.
            rounds: T.
            alpha: tolerance of the construction.
            share: s, which calls get; not used if sigma is set.
            unit_weight: see `tune`.
            sensitivity: see `tune`.
        """
        rho, chosen = Fraction(self._rho), self.parameters
        variance = sensitivity**2 * rounds / (2 * rho * (1 - share))
        if chosen.sigma is not None:
            variance = (Fraction(chosen.sigma) * sensitivity) ** 2
            share = 1 - self._answers_rho(rounds) / rho
        # Rounded down, so that calls and answers stay within the budget.
        tuned = distinguisher.with_rho(float(rho * share) * (1 - 1e-15), rounds=rounds)
        noise = ValueNoise("gaussian", variance)
        # A union bound over the answers and calls of all rounds that errors rest on.
        events = 2 * (rounds if self._stops_early else 1)
        # The shortfall of a distinguisher that is charged once is one event for all calls.
        call_failure = self.beta / (2 if tuned.call is None else events)
        shortfall = tuned.shortfall(call_failure) / unit_weight
        is_proven = math.isfinite(shortfall)
        radius = noise.radius(self.beta / events) / sensitivity
        deviation = math.sqrt(noise.parameter) / sensitivity
        if not self._stops_early:
            return alpha / 4 + deviation + tuned.usual_shortfall / unit_weight, IterativeTuning(
                rounds=rounds,
                alpha=alpha,
                distinguisher=tuned,
                noise=noise,
                value_error=deviation,
                error=radius + shortfall if is_proven else None,
            )
        threshold, void = alpha + radius, None
        if chosen.alpha is not None or chosen.threshold is not None:
            # One float more, so that rounding does not make the bound void.
            threshold = chosen.threshold or math.nextafter(threshold, math.inf)
            void = void_reason(update_bound, rounds, alpha, threshold, radius)
        error = threshold + radius + (shortfall if is_proven else 0.0)
        return error if void is None else math.inf, IterativeTuning(
            rounds=rounds,
            alpha=alpha,
            threshold=threshold,
            distinguisher=tuned,
            noise=noise,
            value_error=radius,
            error=error if is_proven and void is None else None,
            void_reason=void,
        )


@final
@dataclass(frozen=True, kw_only=True)
class PracticalIterative(_ZcdpIterative):
    """Use all rounds, and all answers as far as their noise allows; measure the error at the end.

    Each answer corrects the hypothesis by its gap less one deviation of its noise, and earlier
    answers do so again (see `IterativeConstruction.refits`). The last round tests the result: with
    probability 1 - beta no query of the class has an error above the last noisy gap plus the
    noise's radius plus the distinguisher's shortfall, each at beta/2 for that round alone.

    If the distinguisher proves nothing, no error is stated, and the last round corrects as all
    others do.

    T and the distinguisher's part of rho minimise t/4 + deviation + F, where t is the tolerance
    with B(t) = T, and F the usual shortfall of the distinguisher. That this is good is not proven,
    only measured: errors are a fifth or less of what `TightIterative` reaches.

    Guarantee: rho-zCDP, hence (epsilon, delta)-DP.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in (0, 1).
        beta: probability of a larger error than stated, in (0, 1).
        parameters: T and sigma; computed as above if None.

    Raises:
        ParameterError: a number out of range.

    Source: Hardt, Ligett, McSherry, *A Simple and Practical Algorithm for Differentially Private
    Data Release* (MWEM), 2012, for using all rounds and old answers.
    """

    _call_shares = (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10))
    _parameter_names = ("rounds", "sigma")


@final
@dataclass(frozen=True, kw_only=True)
class TightIterative(_ZcdpIterative):
    """Stop when the result is proven to be good, with the rounds and shares of least proven error.

    Over rounds T and shares s of rho the error t + 2 a + F is least, where t is the smallest
    tolerance with B(t) < T + 1. If the distinguisher proves nothing, F is left out.

    Guarantee: rho-zCDP, hence (epsilon, delta)-DP. With probability 1 - beta the result is within
    `IterativeTuning.error` on all queries of the distinguisher's class: answers and calls fail with
    probability beta/2 each, in a union over the rounds.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in (0, 1).
        beta: probability of a larger error, in (0, 1).
        parameters: T, the tolerance, the threshold and the deviation of noise; the best if None.
            For others a bound is proven only if `IterativeTuning.void_reason` is None.

    Raises:
        ParameterError: a number out of range.

    Source: DR14 Alg. 8 and Theorem 5.4, with zCDP in place of advanced composition, and its own
    margins in place of eighths of alpha.
    """

    _call_shares = tuple(Fraction(k, 10) for k in range(1, 10))
    _stops_early = True


@final
@dataclass(frozen=True, kw_only=True)
class PureIterative(IterativeCalibration):
    """Use all rounds, and all answers as far as their noise allows; no error is proven.

    The distinguisher's noisy matrix costs epsilon_1, the total weight epsilon_2, and each of T
    answers epsilon_3/T. If F_i/epsilon_i is the error that each part causes, their sum is least for
    epsilon_i proportional to sqrt(F_i): F_1 is `usual_cut_norm`, F_2 twice the deviation of Laplace
    noise (the cut of all pairs counts each twice), F_3 is T times that deviation. Nearly all of
    epsilon goes to the matrix: 0.88 at n = 200. (By zCDP, half of a budget of (1, 1e-6) would give
    the matrix only 0.16.)

    Eight rounds are the default: two planted blocks need one, four need four. With 12 and more,
    cuts that are mere noise made graphs without strong blocks worse.

    Guarantee: epsilon-DP: basic composition of pure mechanisms.

    Attributes:
        universe: the public vertex pairs, whose number decides the shares of epsilon.
        epsilon: in [1e-6, 50].
        beta: probability that the error of the total weight is larger than the tuning assumes.
        parameters: T alone.

    Raises:
        ParameterError: a number out of range.
    """

    universe: Universe
    delta: float = 0.0
    _may_be_pure = True
    _parameter_names = ("rounds",)

    @property
    def rounds(self) -> int:
        """The number of rounds T."""
        return self.parameters.rounds or _PURE_ROUNDS

    @property
    def cost(self) -> Cost:
        """epsilon-DP, purely."""
        return Cost.of_pure(Fraction(self.epsilon))

    @property
    def _shares(self) -> tuple[Fraction, Fraction]:
        """The total weight's share of epsilon, and the matrix's share of what then remains."""
        matrix = math.sqrt(usual_cut_norm(self.universe))
        total = math.sqrt(2 * _LAPLACE_DEVIATION)
        answers = math.sqrt(_LAPLACE_DEVIATION * self.rounds)
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

    def split_budget(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "PureIterative"]:
        """See `IterativeCalibration.split_budget`. Discrete Laplace noise."""
        epsilon_of_total = Fraction(self.epsilon) * self._shares[0]
        noise = ValueNoise("laplace", epsilon_of_total / sensitivity)
        remaining = replace(self, epsilon=Fraction(self.epsilon) - epsilon_of_total)
        return noise, noise.radius(self.beta), Cost.of_pure(epsilon_of_total), remaining

    def tune(
        self,
        update_bound: UpdateBound,
        distinguisher: Distinguisher,
        *,
        unit_weight: float,
        sensitivity: int,
    ) -> IterativeTuning:
        """See `IterativeCalibration.tune`.

        Raises:
            ParameterError: a distinguisher that is charged by the call, or not purely private.
        """
        del unit_weight
        if distinguisher.call is not None:
            raise ParameterError(
                "this calibration is for distinguishers that are charged once: use "
                "PracticalIterative"
            )
        epsilon_of_matrix = Fraction(self.epsilon) * self._shares[1]
        epsilon_of_answer = (Fraction(self.epsilon) - epsilon_of_matrix) / self.rounds
        noise = ValueNoise("laplace", epsilon_of_answer / sensitivity)
        alpha = least_tolerance(update_bound, self.rounds)
        if alpha is None:
            raise ParameterError("the construction cannot be tuned; use another one")
        return IterativeTuning(
            rounds=self.rounds,
            alpha=alpha,
            distinguisher=distinguisher.with_epsilon(epsilon_of_matrix, rounds=1),
            noise=noise,
            value_error=_LAPLACE_DEVIATION / float(epsilon_of_answer),
        )


def measure_total(
    calibration: IterativeCalibration, graph: AnyGraph, grid: Grid, source: EntropySource
) -> tuple[float, float, IterativeCalibration]:
    """Measure the total weight, with noise.

    Returns:
        The noisy total weight in units, a bound on its error, and the calibration with the
        remaining budget.

    Guarantee: the cost of `IterativeCalibration.split_budget`: one change of the graph moves the
    total weight by at most `Grid.sensitivity` grid units.
    """
    noise, radius, _, remaining = calibration.split_budget(grid.sensitivity)
    noisy = (grid.total(graph) + noise.draw(source)) / grid.sensitivity
    # The truth is in [0, X]; multiplicative weights need some weight to begin with.
    total_weight = min(max(noisy, 1.0), float(Universe.of(graph).size))
    total_error = max(radius / grid.sensitivity, 1.0 if noisy < 1 else 0.0)
    return total_weight, total_error, remaining


def void_reason(
    update_bound: UpdateBound, rounds: int, alpha: float, threshold: float, value_error: float
) -> str | None:
    """Return why no bound holds for these numbers; None if one does.

    The theorem is DR14 Theorem 5.4 with any numbers. Let the noise on all answers be within a. A
    round that goes on has a gap of at least threshold - a. If that is at least alpha, its update is
    a valid one, of which there are at most B(alpha). If B(alpha) < T + 1, then some round stops,
    and leaves no gap above threshold + a + F, where F is the distinguisher's shortfall.

    Args:
        update_bound: B, of a tolerance in units.
        rounds: T.
        alpha: tolerance of the construction.
        threshold: a smaller noisy gap ends the rounds.
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


def least_tolerance(update_bound: UpdateBound, rounds: int) -> float | None:
    """Return nearly the least tolerance t with B(t) < rounds + 1; None if there is none."""
    return least_that_fits(lambda alpha: update_bound(alpha) < rounds + 1)


def least_that_fits(fits: Callable[[float], bool]) -> float | None:
    """Return nearly the least number that fits, by bisection; None if none up to 2^80 fits.

    Args:
        fits: a condition that holds from some number on.
    """
    high = 1.0
    while not fits(high):
        high *= 2
        if high > 2.0**80:
            return None
    low = high / 2
    while low > _LEAST_TOLERANCE and fits(low):
        low, high = low / 2, low
    for _ in range(25):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def round_numbers(rounds: int, most: int) -> Iterator[int]:
    """Yield numbers of rounds up to a largest, each about a fifth larger than the one before."""
    while rounds < most:
        yield rounds
        rounds = max(rounds + 1, math.floor(rounds * 1.2))
    yield most


def _fraction(share: float) -> Fraction:
    """Return the multiple of 2^-20 that is nearest to a share."""
    return Fraction(round(share * 2**_SHARE_BITS), 2**_SHARE_BITS)
