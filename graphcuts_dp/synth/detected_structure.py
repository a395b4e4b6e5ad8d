"""Structure and uneven degrees, detected by two noisy numbers, and the share of degrees.

The numbers are the structure test (`measure.structure_test`), which is large if the graph has
communities or parts that avoid themselves, and the unevenness of its degrees, the sum of their
distances from the median. From them and a noisy total, `chosen_share` chooses the share of epsilon
for the degrees. The aim is small regret: a worst cut near that of the share that would have been
best in hindsight.

Terms used here: the *signal* is the largest eigenvalue of the structure. An eigenvalue of the
structure stands out of noisy entries if it exceeds sqrt(n (s^2 + p (1 - p))), where s is the
standard deviation of the noise of an entry and p the density. The *strength* is the signal over
this threshold. The *spread* is the mean distance of degrees from their median, less what chance
explains, over the deviation of the noise of row sums of entries.

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
# Least strength of detectable structure, with all of the budget: .95, and .4 more for each unit of
# the spread beyond .1, since uneven degrees are lost if the entries get all.
_LEAST_STRENGTH, _STRENGTH_FOR_SPREAD, _LITTLE_SPREAD = 0.95, 0.4, 0.1
_UNEVEN = 0.75  # spread from which degrees are worth a share beside clear structure
# Strengths that structure must keep in the entries if degrees get .35 (without, and with uneven
# degrees), and .2.
_CLEAR, _CLEAR_BESIDE_UNEVEN, _STILL_SHOWN = 1.6, 1.35, 1.35


@final
@dataclass(frozen=True, eq=False)
class StructureSetting:
    """The public setting of a structure test.

    Attributes:
        all_vertices: n, the number of vertices of the graph.
        density: p, a multiple of 1/4096 in (0, 1).
        vertices: numbers of the m tested vertices, ascending, shape (m,).
    """

    all_vertices: int
    density: float
    vertices: IntVector

    @classmethod
    def of(cls, vertices: int, total: float) -> Self:
        """Return the setting for a number of vertices and a noisy sum of the matrix.

        The density is clipped to [1/n, 1 - 1/n] and then rounded. Of more than `MOST_TESTED`
        vertices so many are tested, chosen at random without regard to the graph.

        Args:
            vertices: n, at least 2.
            total: noisy sum of all entries of the matrix.
        """
        n = vertices
        density = min(max(total / (n * (n - 1)), 1 / n), 1 - 1 / n)
        density = min(max(round(density * _DENSITY_STEPS), 1), _DENSITY_STEPS - 1) / _DENSITY_STEPS
        tested = np.arange(n)
        if n > MOST_TESTED:
            tested = np.sort(np.random.default_rng(1).permutation(n)[:MOST_TESTED])
        return cls(n, density, tested)

    @cached_property
    def radius(self) -> float:
        """Return R = sqrt(m p (1 - p)); without structure A - p J has eigenvalues up to 2 R."""
        return math.sqrt(len(self.vertices) * self.density * (1 - self.density))

    @property
    def tau(self) -> float:
        """Return the smoothing of the test: half the radius."""
        return self.radius / 2

    def signal_of(self, value: float) -> float:
        """Return the largest eigenvalue of structure in the whole graph; 0 if none is detected.

        Without structure, the eigenvalues of the matrix are those of a semicircle of radius 2 R,
        and the value is m f_0, f_0 = 2 R - tau (log R + 1/2), for many vertices. One eigenvalue l'
        beyond the semicircle replaces 2 R by l' - tau log(l'/2 R), and it belongs to an eigenvalue
        l of the structure with l' = l + R^2/l.

        Args:
            value: noisy value of the test.
        """
        m, radius, tau = len(self.vertices), self.radius, self.tau
        without = 2 * radius - tau * (math.log(radius) + 0.5)
        excess = value / m - without
        if excess < _NO_SIGNAL * without:
            return 0.0
        outlier = excess + 2 * radius
        for _ in range(50):
            outlier = excess + 2 * radius + tau * math.log(outlier / (2 * radius))
        signal = (outlier + math.sqrt(max(outlier**2 - 4 * radius**2, 0.0))) / 2
        return signal * self.all_vertices / m


def _eigenvalue_threshold(vertices: int, density: float, deviation: float) -> float:
    """Return the eigenvalue from which structure stands out of noisy entries; see the module."""
    return math.sqrt(vertices * (deviation**2 + density * (1 - density)))


def shows_structure_at(signal: float, vertices: int, density: float, deviation: float) -> bool:
    """Return whether noisy entries are likely to show structure.

    Args:
        signal: largest eigenvalue of the structure, see `StructureSetting.signal_of`.
        vertices: n.
        density: p.
        deviation: standard deviation of the noise of an entry.
    """
    return signal >= _LEAST_STRENGTH * _eigenvalue_threshold(vertices, density, deviation)


def chosen_share(
    setting: StructureSetting,
    *,
    structure: float,
    unevenness: float,
    deviation: Callable[[Fraction], float],
) -> Fraction:
    """Return the share that the degrees get of the budget left by the tests; 0 if they get none.

    1. If structure is undetectable, the worst cut is that of the degrees: they get `HIDDEN_SHARE`.
       To be detectable, it needs a strength of .95 with all of the budget, and more if degrees are
       uneven.
    2. If its strength with .65 of the budget is at least 1.6, or 1.35 if degrees are uneven,
       degrees get .35: structure shows beside them.
    3. If it is at least 1.35 with .8 of the budget, and degrees are uneven, they get .2.
    4. Else the entries get all.

    Args:
        setting: setting of the structure test.
        structure: noisy value of the structure test.
        unevenness: noisy sum of the distances of degrees from their median.
        deviation: returns the standard deviation of the noise of an entry from the share that the
            entries get of what the tests leave.
    """
    n, p = setting.all_vertices, setting.density
    signal = setting.signal_of(structure)

    def strength(entry_share: Fraction) -> float:
        return signal / _eigenvalue_threshold(n, p, deviation(entry_share))

    mean_distance = max(unevenness / n, 0.0)
    beyond_chance = max(mean_distance**2 - 2 / math.pi * n * p * (1 - p), 0.0)
    spread = math.sqrt(beyond_chance) / (deviation(Fraction(1)) * math.sqrt(n))
    uneven = spread >= _UNEVEN
    least = _LEAST_STRENGTH + _STRENGTH_FOR_SPREAD * max(spread - _LITTLE_SPREAD, 0.0)
    if strength(Fraction(1)) < least:
        return HIDDEN_SHARE
    if strength(1 - _MEDIUM_SHARE) >= (_CLEAR_BESIDE_UNEVEN if uneven else _CLEAR):
        return _MEDIUM_SHARE
    if uneven and strength(1 - _SMALL_SHARE) >= _STILL_SHOWN:
        return _SMALL_SHARE
    return Fraction(0)
