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
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.consistency import ErrorSpread, Values
from graphcuts_dp.privacy.distributions import discrete_gaussian_radius, discrete_laplace_radius
from graphcuts_dp.privacy.level_noise import LevelNoise

_SEARCH = 2e-3  # relative width at which the search for the best tail bound stops
_BLOCK = 1 << 15  # combinations at a time


def error_radii(
    noise: LevelNoise, places: tuple[int, ...], spread: ErrorSpread, *, failure: float
) -> FloatVector:
    """Half widths t, in steps, with P(|error| > t) <= failure for each combination, proven.

    One noise alone has its own tail. Of discrete Laplace noise else, Chernoff's bound for all but
    the largest coefficient of the most limiting place, and the exact tail of that one, see
    `_laplace`; of discrete Gaussian noise the smaller of two bounds, see `_gaussian`.

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
    laplace = noise.distribution == "laplace"
    kinds, back = _kinds(*tables)
    bounds = np.empty(len(kinds[0]))
    for start in range(0, len(bounds), _BLOCK):
        part = slice(start, start + _BLOCK)
        squares, most, absolute = (table[part] for table in kinds)
        bound = _laplace if laplace else _gaussian
        bounds[part] = bound(parameters, squares, most, absolute, failure)
    found: FloatVector = bounds[back]
    for place, parameter in enumerate(parameters.tolist()):
        own = (
            discrete_laplace_radius(parameter, failure=failure)
            if laplace
            else discrete_gaussian_radius(math.sqrt(parameter), failure=failure)
        )
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


def _laplace(
    rates: FloatVector,
    squares: FloatMatrix,
    largest: FloatMatrix,
    absolute: FloatMatrix,
    failure: float,
) -> FloatVector:
    """Half widths for sums of discrete Laplace noise.

    Let a X be the term of the largest coefficient in the place where rate/largest is least, and R
    the rest, independent of it. For every s in (0, rate/a],
    P(a X > y) <= C e^(-s y) for all real y, C being the largest P(X >= j) e^(s a j) over whole j;
    so P(a X + R > t) <= C e^(-s t) E[e^(s R)]. With i = -j >= 0 the product is
    (1 - c e^(-rate i)) e^(-s a i), c = e^-rate/(1 + e^-rate), of which C takes the largest over
    real i >= 0; for j >= 1 it falls. Where there is no R, s = rate/a gives the exact tail;
    Chernoff's bound has E[e^(s a X)] in the place of C, infinite there. Of R, as in `LevelNoise`:
    f(s) = ln E[e^(s X)] = ln((cosh r - 1)/(cosh r - cosh s)) is convex in s^2 and 0 at 0, so that
    sum_m f(s w_m) <= f(s w)/w^2 sum_m w_m^2, w being the largest |w_m| of a place.
    """
    rows = np.arange(len(squares))
    with np.errstate(divide="ignore"):
        first = np.argmin(rates / largest, axis=1)
    size, rate = largest[rows, first], rates[first]
    size = np.where(size > 0, size, 1.0)
    rest, widest = squares.copy(), largest.copy()
    rest[rows, first] = np.maximum(rest[rows, first] - size**2, 0)
    beside = np.maximum(absolute[rows, first] - size, 0)
    widest[rows, first] = np.minimum.reduce([size, np.sqrt(rest[rows, first]), beside])
    rest[rows, first] = np.where(widest[rows, first] > 0, rest[rows, first], 0)
    used = widest > 0
    width = np.where(used, widest, 1.0)
    counts = np.where(used, rest / width**2, 0.0)
    ends = np.where(used, rates / width, np.inf).min(axis=1) * (1 - 1e-6)
    top = np.minimum(rate / size * (1 - 1e-12), ends)
    high_cosh = 2 * np.sinh(rates / 2) ** 2  # cosh r - 1

    def bound(log_part: FloatVector) -> FloatVector:
        s = top * np.exp(log_part)
        lift = 2 * np.sinh(s[:, None] * width / 2) ** 2
        logs = -np.log1p(-np.minimum(np.where(used, lift / high_cosh, 0.0), 1 - 1e-12))
        excess = _log_excess(rate, s * size) + (counts * logs).sum(axis=1)
        return np.asarray((math.log(2 / failure) + excess) / s)

    low, high = np.full(len(rows), -8.0), np.zeros(len(rows))
    # Every s is valid, so an inexact minimum only widens the bound.
    while (high - low).max(initial=0) > _SEARCH:
        left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
        worse = bound(left) > bound(right)
        low, high = np.where(worse, left, low), np.where(worse, high, right)
    best = np.minimum(bound((low + high) / 2), bound(np.zeros(len(rows))))
    found: FloatVector = np.where(squares.sum(axis=1) > 0, np.maximum(best, 0) * (1 + 1e-9), 0.0)
    return found


def _log_excess(rate: FloatVector, tilt: FloatVector) -> FloatVector:
    """Logarithm of C in `_laplace`, for tilt = s a <= rate."""
    ratio = tilt / (rate + tilt)
    share = 1 / (1 + np.exp(rate))  # c
    steps = np.log(np.maximum(share / ratio, 1.0)) / rate
    turned = np.log(rate / (rate + tilt)) - tilt * steps
    found: FloatVector = np.where(share > ratio, turned, -np.log1p(np.exp(-rate)))
    return found


def _gaussian(
    variances: FloatVector,
    squares: FloatMatrix,
    _largest: FloatMatrix,
    absolute: FloatMatrix,
    failure: float,
) -> FloatVector:
    """Half widths for sums of discrete Gaussian noise: the smaller of two.

    1. Chernoff's bound; the logarithm of the moment generating function is at most v s^2/2, see
       `LevelNoise.radii`.
    2. N being normal of variance v, P(X >= j) <= P(N + 1 >= j) + e for all whole j, where
       e = 2 e^(-2 pi^2 v)/(1 - e^(-2 pi^2 v)): with g(k) = e^(-k^2/(2 v)), sums over integers lie
       between integrals of the falling g, and its sum over all integers is between sqrt(2 pi v) and
       (1 + e) times that (Poisson). So X and N can be coupled with P(X > N + 1) <= e (Strassen),
       likewise -X, and a sum of c_m X_m passes t only if that of c_m N_m passes t - sum |c_m|, or
       one of the couplings fails.

    The number of terms is at most (sum |c|)^2/sum c^2 only where they are equal; here the couplings
    of at most 2^40 terms are paid for, which costs nothing from v = 3 on.
    """
    total = squares @ variances
    plain = np.sqrt(2 * total * math.log(2 / failure))
    missed = 2**40 * 2 * float(np.exp(-2 * math.pi**2 * variances).sum())
    if missed >= failure / 4:
        return np.asarray(plain * (1 + 1e-9))
    quantile = -float(scipy.special.ndtri(failure / 2 - missed))
    shifted = np.sqrt(total) * quantile + absolute.sum(axis=1)
    found: FloatVector = np.minimum(plain, shifted) * (1 + 1e-9)
    return found


_ROUNDS = 12  # of the search for the best tail bound; every number that it finds is valid
_GOLDEN = (math.sqrt(5) - 1) / 2
_DIGITS = 12  # to which coefficients are rounded, so that equal ones are found
_OUTWARD = 1 + 1e-9  # more than floats lose
_MOST_TERMS = 2**40  # independent noises in one combination, at most


@final
class LineRadii:
    """Radii R(x) of the combinations first - x second, for every real x.

    P(<first - x second, noise> > R(x)) <= failure for each x, and likewise below -R(x). R(x) is at
    least r(first - x second), where r is a norm of the coefficients w, so that R lies above a
    convex function of x that is a valid radius itself:

    - Discrete Laplace noise of rates c_i: r(w) is the infimum over s of (L + sum_i K_i(s w_i))/s,
      Chernoff's bound, with L = ln(1/failure) and K_i(t) = ln((cosh c_i - 1)/(cosh c_i - cosh t)).
      L + sum K is convex and even; u (L + sum K(w/u)), u = 1/s, is its perspective, convex in both
      w and u, so its infimum over u is convex in w. Doubling w and u doubles it.
    - Discrete Gaussian noise of variances v_i: sqrt(2 L sum v_i w_i^2), or
      sqrt(sum v_i w_i^2) z + sum |w_i| with z the normal quantile; see `error_radii`. Which of
      them is taken follows from the noise and both combinations before any x is tried.

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
        self._laplace = noise.distribution == "laplace"
        self._part = -1.0  # logarithm of s over the largest one that is allowed
        self._normal = 0.0
        self._lost = self._lost_by_rounding(parameters)
        if not self._laplace and len(self._noise):
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
        if not self._laplace:
            return self._gaussian(coefficients)
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
        sizes = np.abs(coefficients)
        with np.errstate(divide="ignore", over="ignore"):
            s = float((self._noise / sizes).min()) * math.exp(part)
        if not 0 < s < math.inf:
            return math.inf
        lift = (np.sinh(s * sizes / 2) / np.sinh(self._noise / 2)) ** 2
        logs = -np.log1p(-np.minimum(lift, 1 - 1e-12))
        return float((self._log + self._counts @ logs) / s)

    def _gaussian(self, coefficients: FloatVector) -> float:
        deviation = math.sqrt(float((self._counts * self._noise) @ coefficients**2))
        if not self._normal:
            return deviation * math.sqrt(2 * self._log) * _OUTWARD
        shift = float(self._counts @ np.abs(coefficients))
        return (deviation * self._normal + shift) * _OUTWARD

    def _choose_normal(self, failure: float) -> None:
        least = float(self._noise.min())
        missed = _MOST_TERMS * 2 * len(self._noise) * math.exp(-2 * math.pi**2 * least)
        if missed >= failure / 2:
            return
        both = (self._first, self._second)
        plain = sum(self._gaussian(each) for each in both)
        self._normal = -float(scipy.special.ndtri(failure - missed))
        if sum(self._gaussian(each) for each in both) > plain:
            self._normal = 0.0

    def _lost_by_rounding(self, parameters: FloatVector) -> tuple[float, float]:
        """Bounds on what rounding `first` and `second` took from the radius: r is a norm."""
        if self._laplace:  # of one noise, with s at half of what is allowed
            one = 2 * (self._log + math.log(4.0)) / float(parameters.min())
        else:
            one = math.sqrt(2 * self._log * float(parameters.max())) + 1
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
