"""How far linear combinations of integer noise can be off: proven half widths of intervals.

Intervals for ratios of functions of a table invert tests. Whether x is the ratio N/D is tested by
N - x D, which is 0 if it is; the interval holds every x that no test rejects, so it misses the true
ratio only if the test of that one number errs. No distribution of the ratio itself is needed.

Source: Fieller, *Some problems in interval estimation*, 1954, here with proven tails in place of
normal ones.

The ends of such intervals are found by bisection, for which radii must be convex (`LineRadii`):
`error_radii` is shorter for a single combination, but no convex function of its coefficients.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.consistency import ErrorSpread, Values
from graphcuts_dp.privacy.level_noise import LevelNoise

_BLOCK = 1 << 15  # combinations at a time


def error_radii(
    noise: LevelNoise, places: tuple[int, ...], spread: ErrorSpread, *, failure: float
) -> FloatVector:
    """Half widths t, in steps, with P(|error| > t) <= failure for each combination, proven.

    One noise alone has its own tail (`CountDistribution.radius`); for more, see
    `CountDistribution.combination_radii`.

    Args:
        noise: one parameter for each measured place.
        places: the measured places.
        spread: of the combinations, with a column for each place, measured or not.
        failure: of each combination, in (0, 1).

    Returns:
        Shape (combinations,).
    """
    taken = list(places)
    tables = [table[:, taken] for table in (spread.squares, spread.largest, spread.absolute)]
    parameters = np.array([float(parameter) for parameter in noise.parameters])
    kinds, back = _kinds(*tables)
    bounds = np.empty(len(kinds[0]))
    for start in range(0, len(bounds), _BLOCK):
        part = slice(start, start + _BLOCK)
        squares, most, absolute = (table[part] for table in kinds)
        bounds[part] = noise.kind.combination_radii(parameters, squares, most, absolute, failure)
    found: FloatVector = bounds[back]
    for place, parameter in enumerate(noise.parameters):
        own = noise.kind.radius(parameter, failure)
        size, summed = tables[1][:, place], tables[2].sum(axis=1)
        # Exactly alone: the tail of one noise has steps, which the least of others would pass.
        alone = (size > 0) & (summed == size)
        found[alone] = own * size[alone]
    return found


def _kinds(
    *tables: FloatMatrix,
) -> tuple[tuple[FloatMatrix, ...], npt.NDArray[np.intp]]:
    """Combinations that are alike, once each, rounded up; and which kind each one is."""
    raised = [np.ldexp(np.ceil(np.ldexp(table, 40)), -40) for table in tables]
    rows = np.concatenate(raised, axis=1)
    mixed = rows @ np.sqrt(np.arange(2, 2 + rows.shape[1]))  # rows that differ mix differently
    _, first, back = np.unique(mixed, return_index=True, return_inverse=True)
    # Where two kinds mix to one number all the same, the larger entries hold for both.
    found = []
    for table in raised:
        most = table[first].copy()
        np.maximum.at(most, back, table)
        found.append(most)
    return tuple(found), back


_ROUNDS = 12  # of the search for the best tail bound; every number that it finds is valid
_GOLDEN = (math.sqrt(5) - 1) / 2
_DIGITS = 12  # to which coefficients are rounded, so that equal ones are found
_OUTWARD = 1 + 1e-9  # more than floats lose


@final
class LineRadii:
    """Radii R(x) of the combinations first - x second, for every real x.

    P(<first - x second, noise> > R(x)) <= failure for each x, and likewise below -R(x). R(x) is at
    least r(first - x second), where r is a norm of the coefficients w, so that R lies above a
    convex function of x that is a valid radius itself:

    - Chernoff's bound (`CountDistribution.norm_radius`): r(w) is the infimum over s of
      (L + sum_i K_i(s w_i))/s with L = ln(1/failure) and K_i = `CountDistribution.log_mgf`.
      L + sum K is convex and even; u (L + sum K(w/u)), u = 1/s, is its perspective, convex in both
      w and u, so its infimum over u is convex in w. Doubling w and u doubles it.
    - Noise that is nearly normal, of variances v_i (`CountDistribution.normal_quantile`):
      sqrt(sum v_i w_i^2) z + sum |w_i| with z the normal quantile. Which of the two is taken
      follows from the noise and both combinations before any x is tried.

    Args:
        noise: one parameter for each measured place.
        places: the measured places.
        first: coefficients of the noisy sums, for each place.
        second: likewise.
        failure: of each side, in (0, 1/2].
    """

    def __init__(
        self,
        noise: LevelNoise,
        places: tuple[int, ...],
        first: Sequence[FloatVector],
        second: Sequence[FloatVector],
        *,
        failure: float,
    ) -> None:
        self._log = -math.log(failure)
        kinds = [_pairs_of_coefficients(first[place], second[place]) for place in places]
        self._first = np.concatenate([kind[0] for kind in kinds])
        self._second = np.concatenate([kind[1] for kind in kinds])
        self._counts = np.concatenate([kind[2] for kind in kinds])
        parameters = np.array([float(parameter) for parameter in noise.parameters])
        self._noise = np.repeat(parameters, [len(kind[2]) for kind in kinds])
        self._kind = noise.kind
        self._part = -1.0  # logarithm of s over the largest one that is allowed
        self._normal = 0.0
        self._lost = self._lost_by_rounding(parameters)
        if len(self._noise):
            self._choose_normal(failure)

    def at(self, x: float, *, search: bool = False) -> float:
        """R(x).

        Args:
            x: any number.
            search: look for the best s again; else the last one is taken, which is as valid.
        """
        lost = self._lost[0] + abs(x) * self._lost[1]
        return self._radius(self._first - x * self._second, search) + lost

    def second(self) -> float:
        """The radius of `second` alone: the slope that the convex function has far out."""
        return self._radius(self._second, True) + self._lost[1]

    def _radius(self, coefficients: FloatVector, search: bool) -> float:
        if not (coefficients != 0).any():
            return 0.0
        if self._normal:
            return self._shifted(coefficients)
        if search:
            self._part = self._best_part(coefficients)
        return self._chernoff(coefficients, self._part) * _OUTWARD

    def _best_part(self, coefficients: FloatVector) -> float:
        """By golden sections, between e^-8 and nearly all of what is allowed."""
        low, high = -8.0, -1e-6
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = (self._chernoff(coefficients, part) for part in (left, right))
        for _ in range(_ROUNDS):
            if at_left > at_right:
                low, left, at_left = left, right, at_right
                right = low + _GOLDEN * (high - low)
                at_right = self._chernoff(coefficients, right)
            else:
                high, right, at_right = right, left, at_left
                left = high - _GOLDEN * (high - low)
                at_left = self._chernoff(coefficients, left)
        return left if at_left < at_right else right

    def _chernoff(self, coefficients: FloatVector, part: float) -> float:
        return self._kind.norm_radius(self._noise, self._counts, coefficients, self._log, part)

    def _shifted(self, coefficients: FloatVector) -> float:
        deviation = math.sqrt(float((self._counts * self._noise) @ coefficients**2))
        shift = float(self._counts @ np.abs(coefficients))
        return (deviation * self._normal + shift) * _OUTWARD

    def _choose_normal(self, failure: float) -> None:
        """Take the normal quantile where it is shorter, for both combinations together."""
        quantile = self._kind.normal_quantile(self._noise, failure)
        if quantile:
            both = (self._first, self._second)
            plain = sum(self._radius(each, False) for each in both)
            self._normal = quantile
            if sum(self._shifted(each) for each in both) > plain:
                self._normal = 0.0

    def _lost_by_rounding(self, parameters: FloatVector) -> tuple[float, float]:
        """Bounds on what rounding `first` and `second` took from the radius: r is a norm."""
        one = self._kind.unit_radius(parameters, self._log)
        terms = float(self._counts.sum()) * 10.0**-_DIGITS * one
        sizes = (float(np.abs(each).max(initial=0.0)) for each in (self._first, self._second))
        first, second = (size * terms for size in sizes)
        return first, second


def _pairs_of_coefficients(
    first: FloatVector, second: FloatVector
) -> tuple[FloatVector, FloatVector, npt.NDArray[np.float64]]:
    """Pairs of coefficients, rounded, and how often each occurs; those of 0 and 0 left out."""
    used = (first != 0) | (second != 0)
    mixed = _rounded(first[used]) + 1j * _rounded(second[used])
    found, counts = np.unique(mixed, return_counts=True)
    return found.real, found.imag, counts.astype(np.float64)


def _rounded(values: FloatVector) -> FloatVector:
    largest = float(np.abs(values).max(initial=0.0))
    if not largest:
        return values
    step = largest * 10.0**-_DIGITS
    found: FloatVector = np.rint(values / step) * step
    return found


_DOUBLINGS = 200
_PRECISION = 1e-4  # of an end of an interval, relative to its distance from the ratio


@final
@dataclass(frozen=True, eq=False)
class Side:
    """Numerator or denominator: an estimate, in steps, and what makes its error.

    Attributes:
        value: the estimate.
        told: coefficients of the noisy sums in its error, for each place.
        slack: bound on what else it can be off by.
    """

    value: float
    told: Values
    slack: float


@final
@dataclass(frozen=True)
class RatioBounds:
    """Lower and upper bounds of a ratio; infinite where the denominator may be 0."""

    low: float
    high: float


def ratio_bounds(
    noise: LevelNoise,
    places: tuple[int, ...],
    top: Side,
    bottom: Side,
    *,
    below: float,
    above: float,
) -> RatioBounds:
    """Bounds with P(ratio < low) <= below and P(ratio > high) <= above.

    With N, D the true values, D > 0, n, d the estimates, and R(x) the radius of n - x d (see
    `LineRadii`) plus its slack: x is too large if x d - n > R(x). The true x is called too large
    with a probability of at most `above`. r being the convex function below R,
    h(x) = r(x) - (x d - n) is convex, and far out its slope is r(second) - d. Where that is below
    0, h falls everywhere; so everything beyond an x that is too large is too large, and bisection
    finds an upper bound. It is rounded outward: it is the last x that was found too large.
    Else the denominator may be 0, and there is no bound. Likewise below.

    Args:
        noise: one parameter for each measured place.
        places: the measured places.
        top: the numerator.
        bottom: the denominator, truly > 0.
        below: chance that the lower bound fails, in (0, 1/2].
        above: likewise.
    """
    if bottom.value <= 0:
        return RatioBounds(-math.inf, math.inf)
    ratio = top.value / bottom.value
    if not top.slack and not any(told.any() for told in top.told):
        return RatioBounds(ratio, ratio)  # only known cells, which are 0
    found = []
    for sign, failure in ((-1, below), (1, above)):
        line = LineRadii(noise, places, top.told, bottom.told, failure=failure)
        if line.second() + bottom.slack >= bottom.value:
            found.append(sign * math.inf)
            continue

        def excess(
            x: float, search: bool = False, *, line: LineRadii = line, s: int = sign
        ) -> float:
            radius = line.at(x, search=search) + top.slack + abs(x) * bottom.slack
            return s * (x * bottom.value - top.value) - radius

        found.append(_end(excess, ratio, sign, bottom.value))
    return RatioBounds(*found)


def _end(
    excess: Callable[[float, bool], float], ratio: float, sign: int, denominator: float
) -> float:
    """A number with an excess above 0 on one side of the ratio, near to the first such one."""
    inside, lacking = 0.0, min(excess(ratio, True), -1e-300)
    outside = -lacking / denominator
    for _ in range(_DOUBLINGS):
        passed = excess(ratio + sign * outside, True)
        if passed > 0:
            break
        inside, lacking, outside = outside, passed, 2 * outside
    else:
        return sign * math.inf
    while outside - inside > _PRECISION * outside:
        # False position, kept away from both ends; only numbers that were tried come out.
        part = min(max(lacking / (lacking - passed), 0.02), 0.98)
        middle = inside + part * (outside - inside)
        found = excess(ratio + sign * middle, False)
        if found > 0:
            outside, passed, lacking = middle, found, lacking / 2
        else:
            inside, lacking, passed = middle, min(found, -1e-300), passed / 2
    return ratio + sign * outside
