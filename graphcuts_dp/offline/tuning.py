"""How many rounds, how much noise, which tolerance: zCDP tunings of the iterative construction.

All lengths are in units of the answers' sensitivity (edges, in a graph without weights). In a
proven tuning with tolerance t, noise within a on every answer and a distinguisher that is at most F
short, a round stops when the noisy gap is below t + a. A round that goes on has a gap of at least
t, so its update is a valid one, of which there are at most B(t); a round that stops leaves no gap
above t + 2 a + F. Privacy rests on the number of rounds alone, which is fixed beforehand.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Protocol, Self, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.update_bounds import UpdateBound
from graphcuts_dp.offline.distinguisher import Distinguisher
from graphcuts_dp.privacy.calibration import TOTAL_SHARE
from graphcuts_dp.privacy.composition import Cost, zcdp_rho
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.value_noise import ValueNoise

MOST_ROUNDS = 100_000
_FINEST = 1e-6  # smallest tolerance tried, in units


@final
@dataclass(frozen=True, kw_only=True)
class OfflineTuning:
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
        cost: of all rounds.
        calls: of the distinguisher in a round, each with an answer.
    """

    rounds: int
    alpha: float
    threshold: float | None
    distinguisher: Distinguisher
    noise: ValueNoise | None
    value_error: float
    error: float | None
    cost: Cost
    calls: int = 1

    def built(self, steps: int, *, delta: float) -> list[Cost]:
        """What all rounds cost, part by part, from the scales of their noise.

        Args:
            steps: sensitivity of the answers.
            delta: for which the cost of Gaussian noise is stated.
        """
        if self.noise is None:
            return []
        of_call, count = self.distinguisher.call, self.rounds * self.calls
        parts = [self.noise.cost(steps, delta=delta).times(count)]
        parts += [] if of_call is None else [of_call.times(count)]
        return parts + [part for part in [self.distinguisher.setup] if part is not None]


class OfflineCalibration(Protocol):
    """A budget and a way to spend it."""

    @property
    def cost(self) -> Cost:
        """What is promised, whatever happens."""

    def with_total(self, sensitivity: int) -> "tuple[ValueNoise, int, Cost, OfflineCalibration]":
        """Pay for a noisy total weight out of this budget.

        Returns:
            Its noise, how far it can be off (in steps), its cost, and what is left.
        """

    def tune(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> OfflineTuning:
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
class _ZcdpOffline(ABC):
    """What the calibrations with zCDP accounting share: T calls get s rho, T answers (1 - s) rho.

    Raises:
        ParameterError: a number out of range.
    """

    epsilon: float
    delta: float
    beta: float = 0.05
    rounds: int | None = None
    calls: int = 1
    rho: float | None = None
    _shares: ClassVar[tuple[Fraction, ...]]  # parts of rho for the distinguisher that are tried

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        check_probabilities(self.delta, self.beta)
        check_counts(self.rounds, self.calls)

    @property
    def _rho(self) -> float:
        return zcdp_rho(epsilon=self.epsilon, delta=self.delta) if self.rho is None else self.rho

    @property
    def cost(self) -> Cost:
        """rho-zCDP, whatever happens."""
        return Cost(epsilon=self.epsilon, delta=self.delta, rho=self._rho)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """See `OfflineCalibration.with_total`. Discrete Gaussian, s^2/(2 v)-zCDP."""
        spent = Fraction(self._rho) * TOTAL_SHARE
        noise = ValueNoise("gaussian", sensitivity**2 / (2 * spent))
        share = float(TOTAL_SHARE)
        left = float(Fraction(self._rho) - spent) * (1 - 1e-15)
        rest = replace(self, rho=left, beta=self.beta * (1 - share))
        cost = Cost.of_rho(float(spent), delta=self.delta)
        return noise, noise.radius(self.beta * share), cost, rest

    def tune(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> OfflineTuning:
        """See `OfflineCalibration.tune`."""
        best: tuple[float, OfflineTuning] | None = None
        cost = Cost.of_rho(self._rho, delta=self.delta)
        least = self._least_rounds(distinguisher)
        for rounds in _round_numbers(least) if self.rounds is None else (self.rounds,):
            alpha = least_tolerance(update_bound, rounds)
            if alpha is None:
                continue
            found = []
            for share in self._shares:
                tuned, noise = self._split(rounds, share, distinguisher, steps)
                split = OfflineTuning(
                    rounds=rounds,
                    alpha=alpha,
                    threshold=None,
                    distinguisher=tuned,
                    noise=noise,
                    value_error=0.0,
                    error=None,
                    cost=cost,
                    calls=self.calls,
                )
                found.append(self._made(split, noise, one=one, steps=steps))
            here = min(found, key=lambda pair: pair[0])
            if best is None or here[0] < best[0]:
                best = here
            elif here[0] > 2 * best[0]:
                break  # the noise has the upper hand, and grows with the rounds
        if best is None:
            raise ParameterError(
                "no number of rounds is proven to be enough here; use fewer rounds or more epsilon"
            )
        return best[1]

    def _split(
        self, rounds: int, share: Fraction, distinguisher: Distinguisher, steps: int
    ) -> tuple[Distinguisher, ValueNoise]:
        calls = rounds * self.calls
        rho = Fraction(self._rho)
        tuned = distinguisher.with_rho(float(rho * share) * (1 - 1e-15), rounds=calls)
        noise = ValueNoise("gaussian", steps**2 * calls / (2 * rho * (1 - share)))
        return tuned, noise

    def _least_rounds(self, distinguisher: Distinguisher) -> int:  # noqa: ARG002
        return 1

    @abstractmethod
    def _made(
        self, split: OfflineTuning, noise: ValueNoise, *, one: float, steps: int
    ) -> tuple[float, OfflineTuning]:
        """The tuning, and a score of which the least is best."""


@final
@dataclass(frozen=True, kw_only=True)
class PracticalOffline(_ZcdpOffline):
    """All rounds are used, and all answers as far as their noise allows; the error is measured.

    Each answer corrects the hypothesis by its gap less one deviation of its noise, and old answers
    do so again (see `IterativeConstruction.refits`). The last round tests the result: with
    probability 1 - beta no query of the class is farther off than the last noisy gap plus the
    noise's radius plus the distinguisher's shortfall, each at beta/2 for that round alone.

    Where the distinguisher proves nothing there is nothing to state, and the last round corrects
    as all others do.

    T and the distinguisher's part of rho minimise t/4 + deviation + F, where t is the tolerance
    with B(t) = T, and F what the distinguisher is usually short. Nothing of this is proven to be
    good, only measured: errors are a fifth or less of what `TightOffline` reaches.

    Guarantee: rho-zCDP, hence (epsilon, delta)-DP.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in (0, 1).
        beta: probability of a larger error than stated, in (0, 1).
        rounds: T; None for the above.
        calls: of the distinguisher in a round, >= 1, each with an answer.
        rho: what of the budget is here; None for all of it.

    Raises:
        ParameterError: a number out of range.

    Source: Hardt, Ligett, McSherry, *A Simple and Practical Algorithm for Differentially Private
    Data Release* (MWEM), 2012, for using all rounds and old answers.
    """

    _shares = (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10))

    def _least_rounds(self, distinguisher: Distinguisher) -> int:
        return 2 if math.isfinite(distinguisher.shortfall(self.beta)) else 1

    def _made(
        self, split: OfflineTuning, noise: ValueNoise, *, one: float, steps: int
    ) -> tuple[float, OfflineTuning]:
        tuned = split.distinguisher
        short = tuned.shortfall(self.beta / (2 * (1 if tuned.call is None else self.calls))) / one
        deviation = math.sqrt(noise.parameter) / steps
        radius = noise.radius(self.beta / (2 * self.calls)) / steps
        usual = tuned.usual_shortfall / one
        error = radius + short if math.isfinite(short) else None
        made = replace(split, value_error=deviation, error=error)
        return split.alpha / 4 + deviation + usual, made


@final
@dataclass(frozen=True, kw_only=True)
class TightOffline(_ZcdpOffline):
    """Stops when the result is proven to be good; rounds and split with the least proven error.

    Over rounds T and shares s of rho the error t + 2 a + F is least, where t is the smallest
    tolerance with B(t) < T + 1. Where the distinguisher proves nothing, F is left out.

    Guarantee: rho-zCDP, hence (epsilon, delta)-DP. With probability 1 - beta the result is within
    `OfflineTuning.error` on all queries of the distinguisher's class: answers and calls fail with
    probability beta/2 each, in a union over the rounds.

    Attributes:
        epsilon: in [1e-6, 50].
        delta: in (0, 1).
        beta: probability of a larger error, in (0, 1).
        rounds: T; None for the best.
        calls: of the distinguisher in a round, >= 1, each with an answer.
        rho: what of the budget is here; None for all of it.

    Raises:
        ParameterError: a number out of range.

    Source: DR14 Alg. 8 and Theorem 5.4, with zCDP in place of advanced composition, and its own
    margins in place of eighths of alpha.
    """

    _shares = tuple(Fraction(k, 10) for k in range(1, 10))

    def _made(
        self, split: OfflineTuning, noise: ValueNoise, *, one: float, steps: int
    ) -> tuple[float, OfflineTuning]:
        tuned, calls = split.distinguisher, split.rounds * self.calls
        value_error = noise.radius(self.beta / (2 * calls)) / steps
        short = tuned.shortfall(self.beta / (2 * (1 if tuned.call is None else calls))) / one
        proven = math.isfinite(short)
        error = split.alpha + 2 * value_error + (short if proven else 0.0)
        return error, replace(
            split,
            threshold=split.alpha + value_error,
            value_error=value_error,
            error=error if proven else None,
        )


def check_probabilities(delta: float, beta: float, *, pure: bool = False) -> None:
    """Check delta in (0, 1), or [0, 1) if `pure`, and beta in (0, 1).

    Raises:
        ParameterError: a number out of range.
    """
    if not (0 < delta < 1 or (pure and delta == 0)):
        raise ParameterError(
            "an iterative construction needs delta between 0 and 1, for example delta=1e-6"
        )
    if not 0 < beta < 1:
        raise ParameterError(f"beta must be between 0 and 1, not {beta}")


def check_counts(rounds: int | None, calls: int) -> None:
    """Check numbers of rounds and of calls in each.

    Raises:
        ParameterError: a number out of range.
    """
    if rounds is not None and not _whole(rounds, MOST_ROUNDS):
        raise ParameterError(f"rounds must be a whole number from 1 to {MOST_ROUNDS}")
    if not _whole(calls, 1000):
        raise ParameterError("queries_per_round must be a whole number from 1 to 1000")


def _round_numbers(rounds: int) -> Iterator[int]:
    while rounds <= MOST_ROUNDS:
        yield rounds
        rounds = max(rounds + 1, math.floor(rounds * 1.2))


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


def _whole(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
