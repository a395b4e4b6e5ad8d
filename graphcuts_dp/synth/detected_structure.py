"""What two cheap noisy numbers say of a graph, and the share of the degrees that follows from it.

The numbers are the structure test (`measure.structure_test`), which is large if the graph has
communities or parts that avoid themselves, and the unevenness of its degrees, the sum of their
distances from the median. From them and a noisy total, `chosen_share` chooses the share of epsilon
for the degrees. The aim is small regret: a worst cut near that of the share that would have been
best in hindsight.

Terms used here: the *signal* is the largest eigenvalue of the structure. An eigenvalue of the
structure stands out of noisy entries if it exceeds sqrt(n (s^2 + p (1 - p))), where s is the
standard deviation of the noise of an entry and p the density. The *strength* is the signal over
this. The *spread* is the mean distance of degrees from their median, less what chance explains,
over the deviation of the noise of row sums of entries.

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

# Vertices of the largest test: an eigenvalue of n vertices shows in a part of them, since the test
# meets no noise on entries. A round of the test takes O(n^3) operations.
MOST_TESTED = 300
_DENSITY_STEPS = 4096  # of a public density, so that entries of the matrix are exact

# Constants of `chosen_share` and `signal_of`, see scripts/bench/regret_graphs.py for the graphs
# that they were chosen on.
_NO_SIGNAL = 0.25  # of the value without structure: smaller excesses count as none
HIDDEN_SHARE = Fraction(4, 5)  # share of the degrees if structure is undetectable
DEGREE_SHARES = (Fraction(1, 5), Fraction(7, 20), HIDDEN_SHARE)
# The strength with all of the budget that structure must have to count: .95, and .4 more for each
# unit of the spread beyond .1, since uneven degrees are lost if the entries get all.
_LEAST_STRENGTH, _STRENGTH_FOR_SPREAD, _LITTLE_SPREAD = 0.95, 0.4, 0.1
_UNEVEN = 0.75  # spread from which degrees are worth a share beside clear structure
# Strengths that entries must keep if degrees get .35, and .2.
_CLEAR, _CLEAR_BESIDE_UNEVEN, _STILL_SHOWN = 1.6, 1.35, 1.35


@final
@dataclass(frozen=True, eq=False)
class StructureSetting:
    """The public setting of a structure test.

    Attributes:
        all_vertices: n.
        density: p, a multiple of 1/4096.
        vertices: the tested ones, ascending.
    """

    all_vertices: int
    density: float
    vertices: IntVector

    @classmethod
    def of(cls, vertices: int, total: float) -> Self:
        """Return the setting for a number of vertices and a noisy sum of the matrix.

        The density is at least 1/n, and at most 1 - 1/n. Above `MOST_TESTED` vertices, so many are
        tested, chosen at random without regard to the graph.
        """
        n = vertices
        density = min(max(total / (n * (n - 1)), 1 / n), 1 - 1 / n)
        density = min(max(round(density * _DENSITY_STEPS), 1), _DENSITY_STEPS - 1) / _DENSITY_STEPS
        tested = np.arange(n)
        if n > MOST_TESTED:
            chosen = np.random.default_rng(1).permutation(n)[:MOST_TESTED]
            tested = np.sort(chosen)
        return cls(n, density, tested)

    @cached_property
    def radius(self) -> float:
        """Largest eigenvalue R of A - p J without structure, sqrt(m p (1 - p)), on m vertices."""
        return math.sqrt(len(self.vertices) * self.density * (1 - self.density))

    @property
    def tau(self) -> float:
        """The smoothing of the test: half the radius."""
        return self.radius / 2

    def signal_of(self, value: float) -> float:
        """Return the largest eigenvalue of structure in the whole graph; 0 if none is detected.

        Without structure, the eigenvalues of the matrix are those of a semicircle of radius 2 R,
        and the value is m f_0, f_0 = 2 R - tau (log R + 1/2), for many vertices. One eigenvalue l'
        beyond the semicircle replaces 2 R by l' - tau log(l'/2 R), and it belongs to an eigenvalue
        l of the structure with l' = l + R^2/l.

        Args:
            value: of the test, noisy.
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


def shows_structure_at(signal: float, vertices: int, density: float, deviation: float) -> bool:
    """Return whether entries with noise of a deviation are likely to show structure.

    Args:
        signal: largest eigenvalue of the structure, see `StructureSetting.signal_of`.
        vertices: n.
        density: p.
        deviation: standard deviation of the noise of an entry.
    """
    noise = math.sqrt(vertices * (deviation**2 + density * (1 - density)))
    return signal >= _LEAST_STRENGTH * noise


def chosen_share(
    setting: StructureSetting,
    *,
    structure: float,
    unevenness: float,
    deviation: Callable[[Fraction], float],
) -> Fraction:
    """Return the share of the degrees in what the tests leave; 0 for none.

    1. If structure is undetectable, the worst cut is that of the degrees: they get `HIDDEN_SHARE`.
       To be detectable, it needs a strength of .95 with all of the budget, and more if degrees are
       uneven.
    2. If its strength with .65 of the budget is at least 1.6, or 1.35 if degrees are uneven,
       degrees get .35: structure shows all the same.
    3. If it is at least 1.35 with .8 of the budget, and degrees are uneven, they get .2.
    4. Else the entries get all.

    Args:
        setting: of the test.
        structure: noisy value of the test.
        unevenness: noisy sum of the distances of degrees from their median.
        deviation: returns the standard deviation of the noise of an entry that gets a part of what
            the tests leave.
    """
    n, p = setting.all_vertices, setting.density
    signal = setting.signal_of(structure)

    def strength(part: Fraction) -> float:
        return signal / math.sqrt(n * (deviation(part) ** 2 + p * (1 - p)))

    mean_distance = max(unevenness / n, 0.0)
    beyond_chance = max(mean_distance**2 - 2 / math.pi * n * p * (1 - p), 0.0)
    spread = math.sqrt(beyond_chance) / (deviation(Fraction(1)) * math.sqrt(n))
    uneven = spread >= _UNEVEN
    least = _LEAST_STRENGTH + _STRENGTH_FOR_SPREAD * max(spread - _LITTLE_SPREAD, 0.0)
    if strength(Fraction(1)) < least:
        return HIDDEN_SHARE
    if strength(Fraction(13, 20)) >= (_CLEAR_BESIDE_UNEVEN if uneven else _CLEAR):
        return Fraction(7, 20)
    if uneven and strength(Fraction(4, 5)) >= _STILL_SHOWN:
        return Fraction(1, 5)
    return Fraction(0)
