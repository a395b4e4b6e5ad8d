"""The noisy sums that answers use: those of which it does not matter what decisions looked at.

A release decides what to measure from numbers that it has measured. An interval from a number that
a decision has looked at does not hold in the branch that was taken, see `privacy.refined_noise`. So
of each `CountMeasurement` answers use, in grid units,

- of counts that no decision has looked at, the released integers;
- of refined counts, of which a decision saw a coarse copy, the unbiased numbers for values, and the
  fresh numbers for intervals;
- of counts that a decision has looked at themselves, nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.estimate.estimator import Estimate, Interval
from graphcuts_dp.estimate.measurement import (
    CellSums,
    CountMeasurement,
    Degrees,
    K,
    Measurements,
    Total,
)
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.laws import NoiseLaw, TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum
from graphcuts_dp.privacy.refined_noise import CorrectedLaplace, LimitLaplace, RefinedRates

# Of the failure probability of a `RefinedCombination`, for P(|G| > t).
_SHARE_OF_OTHERS = 0.02

_Counts = CountMeasurement[Any]


@final
@dataclass(frozen=True, eq=False)
class UsableSums:
    """Numbers with independent noise of one law, which estimators combine.

    Attributes:
        map: what is summed.
        steps: noisy sums in grid units, an array for each part.
        unit: what a grid unit stands for.
        law: of the noise of each, in units of `values`.
    """

    map: Any
    steps: tuple[FloatVector, ...]
    unit: float
    law: TwoSidedGeometric | CorrectedLaplace

    @property
    def values(self) -> tuple[FloatVector, ...]:
        """The noisy sums in units of weight."""
        return tuple(part * self.unit for part in self.steps)

    def law_of(self, unit: float) -> NoiseLaw:
        """Return the law of the noise if a grid unit stands for another weight."""
        return replace(self.law, unit=unit)


class SumsBeside(NamedTuple):
    """The noisy sums beside the entries of a noisy matrix; None for what there is not."""

    degrees: UsableSums | None
    total: UsableSums | None
    groups: UsableSums | None


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class UsableMeasurements:
    """The noisy sums that answers of one release use beside its entries.

    Attributes:
        for_values: unbiased sums.
        for_intervals: sums whose noise is independent of what decisions have looked at.
        coarse: of refined counts alone, the coarse copies.
        fine: of the same counts, the refined copies.
        rates: of both copies, in the order of `SumsBeside`; None for what was not refined.
    """

    for_values: SumsBeside
    for_intervals: SumsBeside
    coarse: SumsBeside
    fine: SumsBeside
    rates: tuple[RefinedRates | None, ...]

    @property
    def refined(self) -> bool:
        """True if there are refined counts, so that values and intervals use different sums."""
        return any(self.rates)

    @classmethod
    def of(cls, measurements: Measurements) -> Self:
        """Return what answers use of the measurements of a release."""
        counts = [measurements.find(kind) for kind in (Degrees, Total, CellSums)]
        looks = [
            None if count is None or count.used_in_decision else count.look for count in counts
        ]
        copies = [
            [
                None if look is None or count is None else _sums(count, steps_of(count, look))
                for count, look in zip(counts, looks, strict=True)
            ]
            for steps_of in (lambda _, look: look.steps, lambda count, _: count.steps)
        ]
        return cls(
            for_values=SumsBeside(*map(sums_for_values, counts)),
            for_intervals=SumsBeside(*map(sums_for_intervals, counts)),
            coarse=SumsBeside(*copies[0]),
            fine=SumsBeside(*copies[1]),
            rates=tuple(
                None if look is None or count is None else look.rates(count.noise)
                for count, look in zip(counts, looks, strict=True)
            ),
        )


class Candidate(Protocol):
    """An interval of a cut that may be the shortest one."""

    def radius(self, log_failures: float) -> float:
        """Return the largest half width that it can have, without slack, a public number."""

    def interval(self, log_failures: float) -> Interval:
        """Return the interval; `log_failures` is ln of 1 over its failure probability."""


@final
@dataclass(frozen=True)
class RefinedCombination:
    """A combination of one refined sum with numbers of which no decision has seen the noise.

    `MatrixEstimator` has the proof of its interval, which holds given the coarse copy.

    Attributes:
        estimate: with the limit of the law of the refined sum in its noise.
        law: that limit.
    """

    estimate: Estimate
    law: LimitLaplace

    def radius(self, log_failures: float) -> float:
        """See `Candidate.radius`."""
        other_terms = NoiseSum.of(
            [term for term in self.estimate.noise.terms if term.law != self.law]
        )
        return max(
            self.estimate.noise.radius(log_failures - math.log1p(-_SHARE_OF_OTHERS)),
            other_terms.radius(log_failures - math.log(_SHARE_OF_OTHERS)),
        )

    def interval(self, log_failures: float) -> Interval:
        """See `Candidate.interval`."""
        radius = self.radius(log_failures) + self.estimate.slack
        return self.estimate.value - radius, self.estimate.value + radius


@final
@dataclass(frozen=True, kw_only=True)
class SingleSum:
    """A refined sum, its coarse copy, and the interval of the true sum given the latter.

    Attributes:
        rates: of both copies.
        unit: what a grid unit stands for.
        coarse: the integer that decisions may have looked at.
        fine: the refined integer.
        slack: bound on the part of the error that is no noise.
    """

    rates: RefinedRates
    unit: float
    coarse: int
    fine: int
    slack: float

    def radius(self, log_failures: float) -> float:
        """See `Candidate.radius`."""
        return self.rates.conditional_radius(log_failures) * self.unit

    def interval(self, log_failures: float) -> Interval:
        """See `Candidate.interval` and `RefinedRates.single_interval`."""
        low, high = self.rates.single_interval(self.coarse, self.fine, log_failures)
        return low * self.unit - self.slack, high * self.unit + self.slack


def sums_for_values(measured: _Counts | None) -> UsableSums | None:
    """Return unbiased sums for the values of answers; None if there are none to be used.

    Given whatever decisions of the release have looked at, their errors have mean 0.
    """
    if measured is None or measured.used_in_decision:
        return None
    if measured.look is None:
        return _sums(measured, measured.steps)
    rates = measured.look.rates(measured.noise)
    pairs = zip(measured.look.steps, measured.steps, strict=True)
    corrected = tuple(rates.corrected(coarse, fine) for coarse, fine in pairs)
    law = CorrectedLaplace(rates, measured.unit)
    return UsableSums(measured.map, corrected, measured.unit, law)


def sums_for_intervals(measured: _Counts | None) -> UsableSums | None:
    """Return sums for intervals; None if there are none to be used.

    Their noises are independent of all that decisions of the release have looked at.
    """
    if measured is None or measured.used_in_decision:
        return None
    if measured.look is None:
        return _sums(measured, measured.steps)
    rate = float(measured.look.rates(measured.noise).fresh)
    law = TwoSidedGeometric(rate, measured.unit)
    return replace(_sums(measured, measured.look.fresh), law=law)


def _sums(measured: _Counts, steps: Sequence[IntVector]) -> UsableSums:
    """Return integers of a measurement with the law of its noise."""
    parts = tuple(part.astype(np.float64) for part in steps)
    return UsableSums(measured.map, parts, measured.unit, measured.law)


def with_fresh_sums(measured: CountMeasurement[K], source: EntropySource) -> CountMeasurement[K]:
    """Return refined counts with fresh numbers drawn anew, see `Look.fresh`.

    Args:
        measured: refined counts.
        source: of the random bits.

    Privacy:
        Reads released numbers alone: post-processing.
    """
    look = measured.look
    if look is None:
        return measured
    fresh = []
    for index, (coarse, fine) in enumerate(zip(look.steps, measured.steps, strict=True)):
        rates = RefinedRates(look.noise.parameters[index], measured.noise.parameters[index])
        signs = np.sign((coarse - fine).astype(np.float64)).astype(np.int64)
        fresh.append(fine + rates.fresh_changes(signs, source))
    return replace(measured, look=replace(look, fresh=tuple(fresh)))
