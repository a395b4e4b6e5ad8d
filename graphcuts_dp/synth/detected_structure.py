"""Structure and uneven degrees, detected by two noisy numbers, and the share of degrees.

The numbers are the structure test (`measure.structure_test`), which is large if the graph has
communities or parts that avoid themselves, and the unevenness of its degrees, the sum of their
distances from the median. From them and a noisy total, `chosen_share` chooses the share of epsilon
for the degrees. The aim is small regret: a worst cut near that of the share that would have been
best in hindsight.

Terms used here: the *signal* is the largest singular value of the structure, in a graph without
directions the largest modulus of an eigenvalue. It stands out of noisy entries if it exceeds
sqrt(s^2 + p (1 - p)) (sqrt(n) + sqrt(m))/2 for n rows and m columns, where s is the standard
deviation of the noise of an entry and p the density. The *strength* is the signal over this
threshold. The *spread* is the mean distance of degrees from their median, less what chance
explains, over the deviation of the noise of row sums of entries.

All weights are in units of the largest one. Then an entry with mean p has a variance of at most
p (1 - p), which is its variance in a graph without weights; where weights differ, the test detects
less than it could.

Everything here reads public facts and noisy numbers alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.schema.layout import Layout

# Largest number of tested vertices: a part of the vertices shows an eigenvalue of all, since the
# test has no noise on entries. A round of the test takes O(m^3) operations on m vertices.
MOST_TESTED = 300
_DENSITY_STEPS = 4096  # grid units of a density of 1: entries of the matrix are exact floats

# Constants of `chosen_share` and `signal_of`, see scripts/bench/regret_graphs.py for the graphs
# that they were chosen on.
_NO_SIGNAL = 0.25  # share of the value without structure: smaller excesses count as none
HIDDEN_SHARE = Fraction(4, 5)  # share of the degrees if structure is undetectable
# Shares of the degrees if structure is still detectable beside them.
_SMALL_SHARE, _MEDIUM_SHARE = Fraction(1, 5), Fraction(7, 20)
DEGREE_SHARES = (_SMALL_SHARE, _MEDIUM_SHARE, HIDDEN_SHARE)
# Least strength of detectable structure, with all of the budget: .9, and .4 more for each unit of
# the spread beyond .1, since uneven degrees are lost if the entries get all.
_LEAST_STRENGTH, _STRENGTH_FOR_SPREAD, _LITTLE_SPREAD = 0.9, 0.4, 0.1
_UNEVEN = 0.75  # spread from which degrees are worth a share beside any structure
# Strengths that structure must keep in the entries if degrees get .35, and .2.
_CLEAR, _STILL_SHOWN = 1.8, 1.6


@final
@dataclass(frozen=True, eq=False)
class StructureSetting:
    """The public setting of a structure test.

    Attributes:
        layout: of the matrix of the graph, n rows and m columns.
        density: p, a multiple of 1/4096 in (0, 1).
        rows: numbers of the r tested rows, ascending, shape (r,).
        columns: numbers of the c tested columns, ascending, shape (c,); the same object as `rows`
            for a graph without directions, equal to it for a directed graph.
    """

    layout: Layout
    density: float
    rows: IntVector
    columns: IntVector

    @classmethod
    def of(cls, layout: Layout, total: float) -> Self:
        """Return the setting for a matrix with a noisy sum.

        The density is clipped to [1/n, 1 - 1/n], with the larger side in the place of n, and then
        rounded. At most `MOST_TESTED` vertices of both sides together are tested, half of them on
        the smaller side, if it has so many. They are chosen at random without regard to the graph.

        Args:
            layout: of the matrix, two vertices on each side at least.
            total: noisy sum of all entries of the matrix, in largest weights.
        """
        n, m = layout.shape
        least = 1 / max(n, m)
        density = min(max(total / (n * (m - layout.hollow)), least), 1 - least)
        density = min(max(round(density * _DENSITY_STEPS), 1), _DENSITY_STEPS - 1) / _DENSITY_STEPS
        if layout.symmetric:
            rows = columns = _chosen(n, MOST_TESTED)
        else:
            fewer = min(n, m, MOST_TESTED // 2)
            rows = _chosen(n, fewer if n <= m else MOST_TESTED - fewer)
            columns = _chosen(m, fewer if m <= n else MOST_TESTED - fewer)
        return cls(layout, density, rows, columns)

    @property
    def tested(self) -> int:
        """Return the number of rows of the tested matrix: r, or r + c if there are two sides."""
        r, c = self._sides
        return r if self.layout.symmetric else r + c

    @property
    def _sides(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def _variance(self) -> float:
        """Return p (1 - p), the largest variance of an entry without structure."""
        return self.density * (1 - self.density)

    @property
    def radius(self) -> float:
        """Return R = (sqrt(r) + sqrt(c))/2 sqrt(p (1 - p)).

        Without structure, A - p J has eigenvalues, or singular values, up to 2 R.
        """
        r, c = self._sides
        return (math.sqrt(r) + math.sqrt(c)) / 2 * math.sqrt(self._variance)

    @property
    def tau(self) -> float:
        """Return the smoothing of the test: half the radius."""
        return self.radius / 2

    @cached_property
    def _without(self) -> float:
        """Return the value of many vertices without structure, over the `_weight`.

        Let the minimiser y be a in rows and b in columns, and r >= c. Without structure the squares
        of the singular values follow the law of Marchenko and Pastur, which ends at 4 R^2. The
        smoothing is so small that a b is this end, and r a + c b - tau (r - c) log a is least at

            a = (tau (r - c) + sqrt(tau^2 (r - c)^2 + 16 r c R^2))/(2 r).

        There the inverse of the matrix has g = (1 + sqrt(c/r))/a on the diagonal of the rows,
        h = (1 + sqrt(r/c))/b on that of the columns, and the log determinant is
        sqrt(r c) - r log g - c log h. With r = c the value is 2 r (2 R - tau (log R + 1/2)), as for
        the semicircle of a graph without directions on 2 r vertices.
        """
        c, r = sorted(self._sides)
        tau, end = self.tau, 4 * self.radius**2
        difference = tau * (r - c)
        a = (difference + math.sqrt(difference**2 + 4 * r * c * end)) / (2 * r)
        b = end / a
        g, h = (1 + math.sqrt(c / r)) / a, (1 + math.sqrt(r / c)) / b
        log_determinant = math.sqrt(r * c) - r * math.log(g) - c * math.log(h)
        return (r * a + c * b - tau * log_determinant) / (2 * math.sqrt(r * c))

    @property
    def _weight(self) -> float:
        """Return what an eigenvalue or singular value beyond 2 R adds to the value, over itself."""
        r, c = self._sides
        return float(r) if self.layout.symmetric else 2 * math.sqrt(r * c)

    def signal_of(self, value: float) -> float:
        """Return the largest singular value of structure in the whole graph; 0 if none is detected.

        One singular value l' beyond 2 R replaces 2 R by l' - tau log(l'/2 R) in the value that is
        expected without structure. It belongs to a singular value l of the structure with
        (l l')^2 = (l^2 + r p (1 - p)) (l^2 + c p (1 - p)), which is l' = l + R^2/l if r = c. For
        graphs without directions these are eigenvalues.

        Args:
            value: noisy value of the test.

        Source: Benaych-Georges, Nadakuditi 2011 and 2012.
        """
        (n, m), (r, c) = self.layout.shape, self._sides
        radius, weight = self.radius, self._weight
        excess = value / weight - self._without
        if excess < _NO_SIGNAL * self._without:
            return 0.0
        smoothing = self.tau * self.tested / weight
        outlier = excess + 2 * radius
        for _ in range(50):
            outlier = excess + 2 * radius + smoothing * math.log(outlier / (2 * radius))
        linear = max(outlier**2 - (r + c) * self._variance, 0.0)
        root = math.sqrt(max(linear**2 - 4 * r * c * self._variance**2, 0.0))
        return math.sqrt((linear + root) / 2 * (n * m / (r * c)))


def tested_vertices(layout: Layout) -> int:
    """Return how many vertices a structure test has: n of one side, n + m of two.

    Of two sides the tested matrix is symmetric, too, with a row for each vertex of either side.
    """
    n, m = layout.shape
    return n if layout.symmetric else n + m


def _chosen(vertices: int, most: int) -> IntVector:
    """Return numbers of vertices, `most` at most, ascending, chosen without regard to the graph."""
    if vertices <= most:
        return np.arange(vertices)
    return np.sort(np.random.default_rng(1).permutation(vertices)[:most])


def _eigenvalue_threshold(shape: tuple[int, int], density: float, deviation: float) -> float:
    """Return the singular value from which structure stands out of noise; see the module."""
    n, m = shape
    sides = (math.sqrt(n) + math.sqrt(m)) / 2
    return sides * math.sqrt(deviation**2 + density * (1 - density))


def shows_structure_at(
    signal: float, shape: tuple[int, int], density: float, deviation: float
) -> bool:
    """Return whether noisy entries are likely to show structure.

    Args:
        signal: largest singular value of the structure, see `StructureSetting.signal_of`.
        shape: rows and columns of the matrix.
        density: p.
        deviation: standard deviation of the noise of an entry, in largest weights.
    """
    return signal >= _LEAST_STRENGTH * _eigenvalue_threshold(shape, density, deviation)


def chosen_share(
    setting: StructureSetting,
    *,
    structure: float,
    unevenness: float,
    deviation: Callable[[Fraction], float],
) -> Fraction:
    """Return the share that the degrees get of the budget left by the tests; 0 if they get none.

    1. If structure is undetectable, the worst cut is that of the degrees: they get `HIDDEN_SHARE`.
       To be detectable, it needs a strength of .9 with all of the budget, and more if degrees are
       uneven.
    2. If degrees are uneven, or if the strength with .65 of the budget is at least 1.8, degrees get
       .35: structure shows beside them.
    3. If the strength with .8 of the budget is at least 1.6, they get .2.
    4. Else the entries get all.

    Args:
        setting: setting of the structure test.
        structure: noisy value of the structure test.
        unevenness: noisy sum of the distances of degrees from their median.
        deviation: returns the standard deviation of the noise of an entry from the share that the
            entries get of what the tests leave.
    """
    (n, m), p = setting.layout.shape, setting.density
    signal = setting.signal_of(structure)

    def strength(entry_share: Fraction) -> float:
        return signal / _eigenvalue_threshold((n, m), p, deviation(entry_share))

    # Root of the number of entries that a degree sums, the mean of all degrees of both sides.
    root_entries = (n * math.sqrt(m) + m * math.sqrt(n)) / (n + m)
    degrees = n if setting.layout.symmetric else n + m
    mean_distance = max(unevenness / degrees, 0.0)
    chance = math.sqrt(2 / math.pi * p * (1 - p)) * root_entries
    beyond_chance = math.sqrt(max(mean_distance**2 - chance**2, 0.0))
    spread = beyond_chance / (deviation(Fraction(1)) * root_entries)
    least = _LEAST_STRENGTH + _STRENGTH_FOR_SPREAD * max(spread - _LITTLE_SPREAD, 0.0)
    if strength(Fraction(1)) < least:
        return HIDDEN_SHARE
    if spread >= _UNEVEN or strength(1 - _MEDIUM_SHARE) >= _CLEAR:
        return _MEDIUM_SHARE
    if strength(1 - _SMALL_SHARE) >= _STILL_SHOWN:
        return _SMALL_SHARE
    return Fraction(0)
