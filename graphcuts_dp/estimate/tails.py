"""How far linear combinations of integer noise can be off: proven half widths of intervals."""

import math

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.consistency import ErrorSpread
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.value_noise import discrete_gaussian_radius, discrete_laplace_radius

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
    squares, largest, absolute = (
        table[:, taken] for table in (spread.squares, spread.largest, spread.absolute)
    )
    kinds, back = _kinds(squares, largest, absolute)
    bounds = np.empty(len(kinds[0]))
    for start in range(0, len(bounds), _BLOCK):
        part = slice(start, start + _BLOCK)
        bounds[part] = _bounds(noise, kinds[0][part], kinds[1][part], kinds[2][part], failure)
    found: FloatVector = bounds[back]
    for place, own in enumerate(_own_radii(noise, failure)):
        size = largest[:, place]
        # Exactly alone: the tail of one noise has steps, which the least of others would pass.
        alone = (size > 0) & (absolute.sum(axis=1) == size)
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


def _bounds(
    noise: LevelNoise,
    squares: FloatMatrix,
    largest: FloatMatrix,
    absolute: FloatMatrix,
    failure: float,
) -> FloatVector:
    parameters = np.array([float(parameter) for parameter in noise.parameters])
    if noise.distribution == "laplace":
        return _laplace(parameters, squares, largest, absolute, failure)
    return _gaussian(parameters, squares, absolute, failure)


def _own_radii(noise: LevelNoise, failure: float) -> list[int]:
    """Half widths for one noise of each place."""
    if noise.distribution == "laplace":
        return [discrete_laplace_radius(float(p), failure=failure) for p in noise.parameters]
    return [discrete_gaussian_radius(math.sqrt(p), failure=failure) for p in noise.parameters]


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
    variances: FloatVector, squares: FloatMatrix, absolute: FloatMatrix, failure: float
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
