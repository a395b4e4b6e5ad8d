"""Proven half widths of intervals for linear combinations of integer noise, from tail bounds.

The mechanism adds independent integer noise to sums of the cells of a table. Every estimate is a
linear function of these noisy sums, so its error is a *combination*: a linear combination of the
noises. A *radius* of a combination is a number t with P(|error| > t) <= failure. Levels of the
table are numbered: level index 0 is the grand total, i the i-th level; the noise of each measured
level has its own parameter. `LevelNoise` has these parameters, and as `kind` the family of
distributions (a `CountDistribution`), which knows the tail bounds that are used here.

- `error_radii` gives the radius of each of many combinations.
- `LineRadii` gives radii of first - x second for all real x, above a convex function of x. They are
  a little longer.
- `ratio_bounds` gives bounds of a ratio N/D by inverting tests. Whether x is the ratio is tested by
  N - x D, which is 0 if it is. The interval holds every x that no test rejects. It misses the true
  ratio only if the test of that one number errs, so the distribution of the ratio is not needed.
  The ends are found by a bracketed search, for which the convex function is needed.

Source: Fieller, *Some problems in interval estimation*, 1954, here with proven tails in place of
normal ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.consistency import ErrorSpread, Values
from graphcuts_dp.privacy.level_noise import LevelNoise

_COMBINATIONS_AT_ONCE = 1 << 15  # bounds the memory of one call
_COMPARED_BITS = 40  # binary places to which coefficients are rounded up before they are compared

# Chernoff's bound has a free number s between 0 and a largest value, where the moment generating
# function of some noise ends. Every s gives a valid radius; a search looks for a short one. The
# *log share* of s is ln(s/largest value), which is below 0.
_SEARCH_ROUNDS = 12  # golden sections of this search
_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
_FIRST_LOG_SHARE = -1.0  # used until a search has been made
_LEAST_LOG_SHARE, _LARGEST_LOG_SHARE = -8.0, -1e-6  # range of the search
_COEFFICIENT_DIGITS = 12  # to which coefficients are rounded, so that equal ones are recognised
_OUTWARD = 1 + 1e-9  # factor on radii: more than the rounding of floats takes from them

_MOST_DOUBLINGS = 200  # of the distance from the ratio, until an x is found that is no ratio
_END_PRECISION = 1e-4  # of an end of an interval, relative to its distance from the ratio
_NEAREST_SHARE = 0.02  # new points keep this share of the bracket away from both of its ends
_TINY = 1e-300  # keeps the excess inside of the bracket below 0


def error_radii(
    noise: LevelNoise, level_indices: tuple[int, ...], spread: ErrorSpread, *, failure: float
) -> FloatVector:
    """Return half widths t, in grid units, with P(|error| > t) <= failure for each combination.

    A combination of a single noise has the exact tail of that noise (`CountDistribution.radius`).
    Combinations of several noises have the bound of `CountDistribution.combination_radii`. It
    depends on three numbers for each level, made of the coefficients, which `spread` has, and on a
    lower bound on the largest coefficient: few large noises have lighter tails than many small ones
    near the middle, so that an upper bound in its place would give intervals that are too short at
    confidences below about 90 %.

    Args:
        noise: one parameter for each measured level.
        level_indices: the measured levels.
        spread: of the combinations, with a column for each level, measured or not.
        failure: probability with which the error of one combination is larger, in (0, 1).

    Returns:
        Shape (combinations,).
    """
    measured = list(level_indices)
    least = spread.largest if spread.least_largest is None else spread.least_largest
    squares, largest, absolute, least_largest = (
        table[:, measured] for table in (spread.squares, spread.largest, spread.absolute, least)
    )
    parameters = np.array([float(parameter) for parameter in noise.parameters])
    distinct, distinct_index = _distinct_combinations(squares, largest, absolute, -least_largest)
    distinct_radii = np.empty(len(distinct[0]))
    for start in range(0, len(distinct_radii), _COMBINATIONS_AT_ONCE):
        block = slice(start, start + _COMBINATIONS_AT_ONCE)
        block_squares, block_largest, block_absolute, block_least = (
            table[block] for table in distinct
        )
        distinct_radii[block] = noise.kind.combination_radii(
            parameters,
            block_squares,
            block_largest,
            block_absolute,
            failure,
            least_max_coefficients=np.maximum(-block_least, 0.0),
        )
    radii: FloatVector = distinct_radii[distinct_index]
    absolute_sums = absolute.sum(axis=1)
    for column, parameter in enumerate(noise.parameters):
        coefficient = largest[:, column]
        # True if all noise is one noise of this level: the largest coefficient is the sum of all.
        # Compared exactly, without a tolerance: the radius of a discrete noise is the end of a step
        # of its tail, and any other noise, however small its coefficient, can lead beyond it.
        single_noise = (coefficient > 0) & (absolute_sums == coefficient)
        single_radius = noise.kind.radius(parameter, failure)
        radii[single_noise] = single_radius * coefficient[single_noise]
    return radii


def _distinct_combinations(
    *tables: FloatMatrix,
) -> tuple[tuple[FloatMatrix, ...], npt.NDArray[np.intp]]:
    """Return combinations that are equal after rounding up only once.

    Args:
        tables: properties of the combinations, one row each. Radii do not fall where an entry
            rises.

    Returns:
        The tables of the distinct combinations, and for each combination the index of its row.
    """
    raised_tables = [
        np.ldexp(np.ceil(np.ldexp(table, _COMPARED_BITS)), -_COMPARED_BITS) for table in tables
    ]
    rows = np.concatenate(raised_tables, axis=1)
    # Rows are compared by one number each, their product with sqrt(2), sqrt(3), ...: faster than
    # comparing rows. Different rows may get the same number by chance. So each entry of the result
    # is the largest of all rows with that number; radii grow with the entries, so they stay valid.
    row_numbers = rows @ np.sqrt(np.arange(2, 2 + rows.shape[1]))
    _, first, distinct_index = np.unique(row_numbers, return_index=True, return_inverse=True)
    distinct_tables = []
    for table in raised_tables:
        largest = table[first].copy()
        np.maximum.at(largest, distinct_index, table)
        distinct_tables.append(largest)
    return tuple(distinct_tables), distinct_index


@final
class LineRadii:
    """Radii R(x) of the combinations first - x second, for every real x.

    For each x, P(<first - x second, noise> > R(x)) <= failure, and by symmetry of the noise the
    same holds below -R(x). R(x) is at least r(first - x second), where r is a norm of the
    coefficients w, and itself a valid radius. A norm of a linear function of x is convex in x. So R
    lies above a convex function. There are two such norms:

    - *Chernoff's bound* (`CountDistribution.norm_radius`). With L = ln(1/failure) and K_i the
      logarithm of the moment generating function of noise i, r(w) is the infimum over s > 0 of
      (L + sum_i K_i(s w_i))/s. It is a norm: write s = 1/u. Then the expression is
      u (L + sum_i K_i(w_i/u)), the perspective of the convex function L + sum_i K_i(w_i). The
      perspective is convex in (w, u), so its infimum over u is convex in w. Doubling w and u
      doubles it, and K_i is even.
    - *Nearly normal noise* of variances v_i (`CountDistribution.normal_quantile`):
      r(w) = sqrt(sum v_i w_i^2) z + sum |w_i| with z a quantile of the normal law.

    The shorter one is chosen from the noise and both combinations, before any x is tried.

    Args:
        noise: one parameter for each measured level.
        level_indices: the measured levels.
        first: coefficients of the noisy sums, shape (cells,) for each level.
        second: the same of the second combination.
        failure: of each side, in (0, 1/2].
    """

    def __init__(
        self,
        noise: LevelNoise,
        level_indices: tuple[int, ...],
        first: Sequence[FloatVector],
        second: Sequence[FloatVector],
        *,
        failure: float,
    ) -> None:
        self._log_failures = -math.log(failure)
        pairs = [
            _coefficient_pairs(first[level_index], second[level_index])
            for level_index in level_indices
        ]
        # Noises of a level with the same pair (first, second) of coefficients are kept once, with
        # their number. An entry of each of these arrays is such a pair.
        self._first = np.concatenate([level_first for level_first, _, _ in pairs])
        self._second = np.concatenate([level_second for _, level_second, _ in pairs])
        self._counts = np.concatenate([counts for _, _, counts in pairs])
        parameters = np.array([float(parameter) for parameter in noise.parameters])
        self._parameters = np.repeat(parameters, [len(counts) for _, _, counts in pairs])
        self._distribution = noise.kind
        self._log_share = _FIRST_LOG_SHARE
        self._first_slack, self._second_slack = self._rounding_slacks(parameters)
        # The normal quantile z if that bound is shorter; 0: Chernoff's bound is used.
        self._quantile = self._shorter_normal_quantile(failure) if len(self._parameters) else 0.0

    def at(self, x: float, *, search: bool = False) -> float:
        """Return R(x).

        Args:
            x: any number.
            search: whether to look for the best s of Chernoff's bound again. Otherwise the last one
                is taken, which is as valid.
        """
        slack = self._first_slack + abs(x) * self._second_slack
        return self._radius(self._first - x * self._second, search=search) + slack

    def slope(self) -> float:
        """Return the radius of `second` alone: the slope of the convex function for large x."""
        return self._radius(self._second, search=True) + self._second_slack

    def _radius(self, coefficients: FloatVector, *, search: bool) -> float:
        """Return the radius of one combination, without the slack for rounded coefficients.

        A search stores its result, so later calls without one use the best s of this call.
        """
        if not (coefficients != 0).any():
            return 0.0
        if self._quantile:
            return self._normal_radius(coefficients, self._quantile)
        if search:
            self._log_share = self._best_log_share(coefficients)
        return self._chernoff_radius(coefficients, self._log_share) * _OUTWARD

    def _best_log_share(self, coefficients: FloatVector) -> float:
        """Return ln of s over its largest value for which Chernoff's bound is shortest.

        A search by golden sections, between e^-8 and nearly all of the largest value.
        """
        low, high = _LEAST_LOG_SHARE, _LARGEST_LOG_SHARE
        left, right = high - _GOLDEN_RATIO * (high - low), low + _GOLDEN_RATIO * (high - low)
        at_left = self._chernoff_radius(coefficients, left)
        at_right = self._chernoff_radius(coefficients, right)
        for _ in range(_SEARCH_ROUNDS):
            if at_left > at_right:
                low, left, at_left = left, right, at_right
                right = low + _GOLDEN_RATIO * (high - low)
                at_right = self._chernoff_radius(coefficients, right)
            else:
                high, right, at_right = right, left, at_left
                left = high - _GOLDEN_RATIO * (high - low)
                at_left = self._chernoff_radius(coefficients, left)
        return left if at_left < at_right else right

    def _chernoff_radius(self, coefficients: FloatVector, log_share: float) -> float:
        """Return Chernoff's radius of one combination, at one s."""
        return self._distribution.norm_radius(
            self._parameters, self._counts, coefficients, self._log_failures, log_share
        )

    def _normal_radius(self, coefficients: FloatVector, quantile: float) -> float:
        """Return the radius of one combination for nearly normal noise, see the class."""
        # A quantile is known only for Gaussian noise, whose parameter is its variance.
        deviation = math.sqrt(float((self._counts * self._parameters) @ coefficients**2))
        absolute_sum = float(self._counts @ np.abs(coefficients))
        return (deviation * quantile + absolute_sum) * _OUTWARD

    def _shorter_normal_quantile(self, failure: float) -> float:
        """Return the normal quantile z if it gives shorter radii, else 0.

        The radii of both combinations are added up and compared.
        """
        quantile = self._distribution.normal_quantile(self._parameters, failure)
        if not quantile:
            return 0.0
        chernoff, normal = 0.0, 0.0
        for coefficients in (self._first, self._second):
            if (coefficients != 0).any():
                chernoff += self._chernoff_radius(coefficients, _FIRST_LOG_SHARE) * _OUTWARD
            normal += self._normal_radius(coefficients, quantile)
        return 0.0 if normal > chernoff else quantile

    def _rounding_slacks(self, parameters: FloatVector) -> tuple[float, float]:
        """Return bounds on what rounding `first` and `second` took from the radius.

        A radius is a norm. So it changes by at most the sum over all noises of (change of the
        coefficient) (radius of that noise alone, with coefficient 1). Each coefficient changes by
        at most the largest one times 10^-12, see `_rounded`.

        Returns:
            The slack for `first`, and the slack for `second`, which counts |x| times.
        """
        unit_radius = self._distribution.unit_radius(parameters, self._log_failures)
        relative = float(self._counts.sum()) * 10.0**-_COEFFICIENT_DIGITS * unit_radius
        first_size, second_size = (
            float(np.abs(coefficients).max(initial=0.0))
            for coefficients in (self._first, self._second)
        )
        return first_size * relative, second_size * relative


def _coefficient_pairs(
    first: FloatVector, second: FloatVector
) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return the distinct pairs of rounded coefficients, without (0, 0), and their numbers."""
    used = (first != 0) | (second != 0)
    pairs = _rounded(first[used]) + 1j * _rounded(second[used])  # complex, to compare pairs
    distinct, counts = np.unique(pairs, return_counts=True)
    return distinct.real, distinct.imag, counts.astype(np.float64)


def _rounded(values: FloatVector) -> FloatVector:
    """Return values rounded to multiples of the largest one times 10^-12."""
    largest = float(np.abs(values).max(initial=0.0))
    if not largest:
        return values
    multiple = largest * 10.0**-_COEFFICIENT_DIGITS
    rounded: FloatVector = np.rint(values / multiple) * multiple
    return rounded


@final
@dataclass(frozen=True, eq=False)
class Side:
    """The numerator or the denominator of a ratio.

    Attributes:
        value: its estimate, in grid units.
        coefficients: of the noisy sums in its error, shape (cells,) for each level.
        slack: bound on the part of its error that is no noise, in grid units.
    """

    value: float
    coefficients: Values
    slack: float


@final
class RatioBounds(NamedTuple):
    """Lower and upper bounds of a ratio; infinite where the denominator may be 0."""

    low: float
    high: float


def ratio_bounds(
    noise: LevelNoise,
    level_indices: tuple[int, ...],
    top: Side,
    bottom: Side,
    *,
    below: float,
    above: float,
) -> RatioBounds:
    """Return bounds with P(ratio < low) <= below and P(ratio > high) <= above.

    Let N and D > 0 be the true values, n and d the estimates, and R(x) the radius of n - x d (see
    `LineRadii`) plus its slack. A number x is *too large* if x d - n > R(x). For the true ratio,
    N - x D = 0, so n - x d is an error; it is below -R(x) with a probability of at most `above`. So
    the true ratio is too large with at most this probability.

    The upper bound shall be a number beyond which all numbers are too large. R need not be convex,
    so look at the convex function r below it, and at h(x) = r(x) - (x d - n), which is convex. Its
    slope for large x is that of r less d. If that is below 0, the slope of h is below 0 everywhere:
    h falls. Let x be too large. Then h(x) <= R(x) - (x d - n) < 0, so h < 0 at every number beyond
    x. These numbers are too large for the radius r, which is valid as well. So the upper bound is
    the least number that the search found to be too large. If the slope is not below 0, the
    denominator may be 0, and there is no bound.

    The lower bound is found in the same way from numbers that are too small.

    Args:
        noise: one parameter for each measured level.
        level_indices: the measured levels.
        top: the numerator.
        bottom: the denominator, truly > 0.
        below: probability that the lower bound fails, in (0, 1/2].
        above: probability that the upper bound fails, in (0, 1/2].
    """
    if bottom.value <= 0:
        return RatioBounds(-math.inf, math.inf)
    if not top.value and not top.slack and not any(level.any() for level in top.coefficients):
        return RatioBounds(0.0, 0.0)  # the numerator is known to be 0, and so is the ratio
    low, high = (
        _ratio_bound(
            LineRadii(noise, level_indices, top.coefficients, bottom.coefficients, failure=failure),
            top,
            bottom,
            sign=sign,
        )
        for sign, failure in ((-1, below), (1, above))
    )
    return RatioBounds(low, high)


def _ratio_bound(radii: LineRadii, top: Side, bottom: Side, *, sign: int) -> float:
    """Return the bound of a ratio on one side: above for sign 1, below for sign -1.

    The *excess* of x says by how much it is too large (or too small): sign (x d - n) - R(x). Points
    of excess above 0 are *outside*, others *inside*, such as the ratio n/d itself. First the
    distance from the ratio is doubled until a point is outside. Then the bracket between an inside
    and an outside point is narrowed by false position: the next point is where the line through
    both excesses is 0. In its Illinois variant the excess of an end that stays is halved, so that
    the same end cannot stay forever. The outside end is returned, which is proven.
    """
    if radii.slope() + bottom.slack >= bottom.value:
        return sign * math.inf
    ratio = top.value / bottom.value

    def excess(distance: float, *, search: bool) -> float:
        x = ratio + sign * distance
        radius = radii.at(x, search=search) + top.slack + abs(x) * bottom.slack
        return sign * (x * bottom.value - top.value) - radius

    inside, excess_inside = 0.0, min(excess(0.0, search=True), -_TINY)
    # Where the line of slope d through the first excess is 0; a first guess, usually too near.
    outside = -excess_inside / bottom.value
    for _ in range(_MOST_DOUBLINGS):
        excess_outside = excess(outside, search=True)
        if excess_outside > 0:
            break
        inside, excess_inside, outside = outside, excess_outside, 2 * outside
    else:
        return sign * math.inf
    while outside - inside > _END_PRECISION * outside:
        share = excess_inside / (excess_inside - excess_outside)
        share = min(max(share, _NEAREST_SHARE), 1 - _NEAREST_SHARE)
        middle = inside + share * (outside - inside)
        excess_middle = excess(middle, search=False)
        if excess_middle > 0:
            outside, excess_outside = middle, excess_middle
            excess_inside = excess_inside / 2
        else:
            inside, excess_inside = middle, min(excess_middle, -_TINY)
            excess_outside = excess_outside / 2
    return ratio + sign * outside
