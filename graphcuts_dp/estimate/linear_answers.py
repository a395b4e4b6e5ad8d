"""Answers of a release to linear queries that are no cuts, from its noisy entries and degrees."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.answers import by_precision
from graphcuts_dp.estimate.measurement import Measurements, NoisyDegrees
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.worst_case import noise_cut_bound
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.linear_steps import Extent, pair_coefficients
from graphcuts_dp.pairs.queries import RankOneQuery
from graphcuts_dp.privacy.distributions import NoiseLaw
from graphcuts_dp.privacy.value_noise import NoiseSum, NoiseTerm

_ROUNDING = 1e-11  # of all that is added up: what floats may be off
_LEVELS = 200  # of coefficients that are kept apart
_FOR_REST = 0.02  # of a failure probability: for what the levels leave out


@final
class LinearEstimator:
    """Estimates linear queries from noisy entries and degrees. Reads noisy values alone.

    For any numbers k_i the sum over pairs of (c_ij - k_i - k_j) Z_ij, plus that over vertices of
    k_i d_i, is unbiased, d being the noisy degrees; of two sides and of arcs, c_ij - k_i - l_j. The
    k of least variance solves a system that is constant off its diagonal, see
    `measurements.combination` (of arcs as if each vertex were paired with itself, too: unbiased all
    the same, and nearly the best).

    Args:
        measurements: of a release.
        noisy: the noisy matrix among them.
    """

    def __init__(self, measurements: Measurements, noisy: NoisyMatrix) -> None:
        self._noisy = noisy
        self._degrees = [v for v in measurements.values if isinstance(v, NoisyDegrees)]

    @cached_property
    def _estimates(self) -> FloatMatrix:
        found: FloatMatrix = np.asarray(self._noisy.estimate())
        if self._noisy.symmetric:
            found = np.triu(found, 1)
        return found

    def estimate(
        self, query: LinearQuery, log_failures: float, *, simultaneous: bool
    ) -> tuple[float, tuple[float, float]]:
        """The unbiased estimate, and its proven interval, cut to what the query can be.

        `log_failures` is ln of 1 over its failure probability; a simultaneous one holds for all
        rank-one queries at once.

        Raises:
            QueryError: a query that does not fit; an interval for all queries at once of one that
                is not rank-one: coefficients that follow the noise are off by all of it.
        """
        noisy = self._noisy
        extent = Extent.of(query, noisy.space)
        least, most = extent.possible(noisy.distribution.weight_cap)
        if not extent.largest:
            return 0.0, (0.0, 0.0)
        coefficients = pair_coefficients(query, noisy.space)
        value, radius = self._combined(coefficients, log_failures)
        centre = value
        if simultaneous:
            centre, radius = self._for_all(query, coefficients, log_failures)
        low, high = (min(max(x, least), most) for x in (centre - radius, centre + radius))
        return value, (low, high)

    def _for_all(
        self, query: LinearQuery, coefficients: FloatMatrix, log_failures: float
    ) -> tuple[float, float]:
        """Value and half width of entries alone, for all rank-one queries at once.

        u' E v is bilinear, so that it is largest at a cut of the cut norm.

        Source: GRU12 Remark 6.4.
        """
        if not isinstance(query, RankOneQuery):
            raise QueryError(
                "an interval for all queries at once, chosen after looking at the release, is"
                " proven for cuts and rank-one queries; other coefficients could follow the"
                " noise pair by pair"
            )
        noisy = self._noisy
        u, v = query.vectors(noisy.shape)
        worst = noise_cut_bound(
            noisy.distribution,
            noisy.shape,
            symmetric=noisy.symmetric,
            confidence=-math.expm1(-log_failures),
        )
        centre = float(np.vdot(coefficients, self._estimates))
        slack = _ROUNDING * abs(centre) + self._rounding(coefficients)
        return centre, worst * float(u.max()) * float(v.max()) + slack

    def _rounding(self, coefficients: FloatMatrix) -> float:
        """What rounding weights down by less than a step may move the sum of entries by."""
        return self._noisy.distribution.rounding * float(np.abs(coefficients).sum())

    def _combined(self, coefficients: FloatMatrix, log_failures: float) -> tuple[float, float]:
        """The estimate of least variance, and the half width of its interval."""
        shifts = self._shifts(coefficients)
        rest = coefficients if shifts is None else coefficients - self._spread(*shifts)
        entries = rest * self._estimates
        slack = _ROUNDING * float(np.abs(entries).sum()) + self._rounding(rest)
        parts = [float(entries.sum())]
        noises = [(self._noisy.distribution.law, np.abs(rest[rest != 0]))]
        if shifts is not None:
            sides = 1 if self._noisy.symmetric else 2
            shares = by_precision([degrees.law for degrees in self._degrees])
            for degrees, share in zip(self._degrees, shares, strict=True):
                values = degrees.rows, degrees.columns
                for k, given in zip(shifts[:sides], values[:sides], strict=True):
                    parts += (share * k * (degrees.unit * given)).tolist()
                    noises.append((degrees.law, np.abs(share * k)))
            if self._noisy.distribution.rounding:  # wherever a weight is counted
                largest = max(degrees.unit for degrees in self._degrees)
                for k, pairs in zip(shifts, self._noisy.shape[::-1], strict=True):
                    slack += largest * pairs * float(np.abs(k).sum())
        slack += _ROUNDING * math.fsum(map(abs, parts))
        return math.fsum(parts), weighted_radius(noises, log_failures) + slack

    def _spread(self, k: FloatVector, columns: FloatVector) -> FloatMatrix:
        """k_i + l_j at the place of each pair."""
        found: FloatMatrix = np.add.outer(k, columns)
        if self._noisy.symmetric:
            return np.triu(found, 1)
        if self._noisy.directed:
            np.fill_diagonal(found, 0)
        return found

    def _shifts(self, coefficients: FloatMatrix) -> tuple[FloatVector, FloatVector] | None:
        """The best k and l; one array twice for one vertex set. None without degrees."""
        if not self._degrees:
            return None
        entry = self._noisy.distribution.law.variance
        degree = 1 / sum(1 / degrees.law.variance for degrees in self._degrees)
        rows, columns = coefficients.sum(axis=1), coefficients.sum(axis=0)
        n, m = coefficients.shape
        if self._noisy.symmetric:
            sums = rows + columns
            own = entry * (n - 2) + degree
            k = entry * (sums - entry * sums.sum() / (own + n * entry)) / own
            return k, k
        first, second = entry * m + degree, entry * n + degree
        total = entry * float(rows.sum())
        # Of K = sum k and L = sum l: first K + entry n L = total, second L + entry m K = total.
        determinant = first * second - entry**2 * n * m
        all_k = (second - entry * n) * total / determinant
        all_l = (first - entry * m) * total / determinant
        return (entry * rows - entry * all_l) / first, (entry * columns - entry * all_k) / second


def weighted_radius(noises: Sequence[tuple[NoiseLaw, FloatVector]], log_failures: float) -> float:
    """Half width of an interval for a sum of independent noises, each times its coefficient.

    Coefficients are rounded to a few levels. The sum with rounded ones is `NoiseSum`'s, and gets
    all but a fiftieth of the failure probability. What is left out has coefficients of at most h in
    modulus; cumulant generating functions are convex and 0 at 0, so that of r X at s is at most r/h
    times that of h X, and Chernoff's bound follows with the sum of all r/h in place of a number of
    noises.

    `noises` are of each law the moduli of the coefficients; `log_failures` is ln of 1 over the
    failure probability.
    """
    terms: list[NoiseTerm] = []
    left: list[tuple[NoiseLaw, float, float]] = []
    for law, coefficients in noises:
        used = coefficients[coefficients > 0]
        if not len(used):
            continue
        levels, counts, rest = _levelled(used)
        terms += [NoiseTerm(law, c, n) for c, n in zip(levels, counts, strict=True)]
        widest = float(rest.max(initial=0.0))
        if widest > 0:
            left.append((law, widest, float(rest.sum()) / widest))
    if not terms:
        return 0.0
    main = NoiseSum.of(terms)
    if not left:
        return main.radius(log_failures)
    of_main = log_failures - math.log1p(-_FOR_REST)
    return main.radius(of_main) + _chernoff(left, log_failures - math.log(_FOR_REST))


def _levelled(coefficients: FloatVector) -> tuple[list[float], list[int], FloatVector]:
    """Levels, how many coefficients each has, and how far these are from it."""
    found, counts = np.unique(coefficients, return_counts=True)
    if len(found) <= _LEVELS:
        return found.tolist(), counts.tolist(), np.zeros(0)
    largest = float(found[-1])
    # Squares of even steps: small coefficients are told apart more finely.
    places = np.rint(_LEVELS * np.sqrt(coefficients / largest))
    kept, inverse, counts = np.unique(places, return_inverse=True, return_counts=True)
    levels = largest * (kept / _LEVELS) ** 2
    rest: FloatVector = np.abs(coefficients - levels[inverse])
    some = levels > 0
    return levels[some].tolist(), counts[some].tolist(), rest


def _chernoff(left: Sequence[tuple[NoiseLaw, float, float]], log_failures: float) -> float:
    """Every s is valid, so the search for the best one cannot break the bound."""
    top = math.log(min(law.end / widest for law, widest, _ in left))

    def bound(log_s: float) -> float:
        s = math.exp(log_s)
        log_mgf = math.fsum(number * law.log_mgf(s * widest) for law, widest, number in left)
        return (log_mgf + math.log(2) + log_failures) / s

    best = scipy.optimize.minimize_scalar(bound, bounds=(top - 35, top), method="bounded")
    return float(best.fun) * (1 + 1e-9)
