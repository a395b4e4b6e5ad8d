"""What noisy counts of weights tell of one pair whose noisy weight was kept, or was not."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.measurement import LOWEST, NoisyWeightCounts

_POINTS = 6  # of each class, at least
_OPEN = 8.0  # the class without an end is taken to end at so many times its start
_DOUBT = 6.0  # deviations: sums of counts below are taken for noise; it passes with e^-8.5 each
_UNSEEN = 0.5  # edges that such a class may hold all the same, for what a kept weight says
_TABLE = 1500  # noisy weights at which the posterior is added up
_REACH = 30.0  # scales of noise above the threshold, beyond which a noisy weight is as it is
_FINE = 3.0  # points within a scale of noise, so that the posterior falls between them
_MOST_POINTS = 240  # of a class; those that would take more lie beyond that reach


@final
@dataclass(frozen=True, eq=False)
class WeightPrior:
    """Weights of pairs before their noisy values are seen: points with expected numbers of pairs.

    Attributes:
        points: weights, ascending, > 0, shape (p,).
        masses: expected number of edges at each, shape (p,).
        pairs: how many pairs there are; those without weight are the rest.
    """

    points: FloatVector
    masses: FloatVector
    pairs: float

    @classmethod
    def of(
        cls,
        counts: NoisyWeightCounts,
        *,
        pairs: float,
        cap: float | None,
        whole: bool,
    ) -> "WeightPrior":
        """From noisy counts: each class spread evenly over its weights, in the logarithm.

        Args:
            counts: noisy counts of classes.
            pairs: how many pairs there are.
            cap: largest weight, or None.
            whole: whether weights are whole numbers.
        """
        found = _believed(counts)
        found *= max(counts.edges, 1.0) / found.sum()
        starts = counts.starts
        ends = np.append(starts[1:], cap if cap is not None else starts[-1] * _OPEN)
        scale = max(float(starts[1]) if len(starts) > 1 else 0.0, 1e-300) * 2.0**-LOWEST
        points, masses = [], []
        for start, end, mass in zip(starts, ends, found, strict=True):
            least = start if start > 0 else end / 2**_POINTS
            if whole and end - start <= _POINTS:
                inside = np.arange(math.ceil(start), max(math.ceil(end), math.ceil(start) + 1))
                inside = inside.astype(np.float64)
            elif end <= start:
                inside = np.array([start])
            else:
                count = int(min(max(_POINTS, _FINE * (end - start) / scale), _MOST_POINTS))
                steps = (np.arange(count) + 0.5) / count
                inside = least * (end / least) ** steps
            points.append(inside)
            masses.append(np.full(len(inside), mass / len(inside)))
        return cls(np.concatenate(points), np.concatenate(masses), max(pairs, 1.0))

    @property
    def edges(self) -> float:
        """Expected number of edges."""
        return float(self.masses.sum())

    @property
    def total(self) -> float:
        """Expected weight of all edges."""
        return float(self.points @ self.masses)

    def missed(self, threshold: float, scale: float) -> FloatVector:
        """P(weight + noise < threshold) for each point, under Laplace noise of a scale."""
        beyond = (threshold - self.points) / scale
        tail = np.exp(-np.abs(beyond)) / 2
        chances: FloatVector = np.where(beyond > 0, 1 - tail, tail)
        return chances

    def left(self, threshold: float, scale: float) -> "LeftOver":
        """The edges that a filter is expected to leave out."""
        masses = self.masses * self.missed(threshold, scale)
        number = max(float(masses.sum()), 1e-9)
        first, second = (float(masses @ self.points**k) for k in (1, 2))
        return LeftOver(number, first, second, self.points, masses)

    def posterior(self, noisy: FloatVector, scale: float) -> "KeptPosterior":
        """Weights of pairs with given noisy values, under Laplace noise of a scale.

        Args:
            noisy: values, shape (k,).
            scale: of the noise, in weight.

        Cost: one table look-up for each value.
        """
        if not len(noisy):
            return KeptPosterior(*(np.zeros(0) for _ in range(3)))
        low = float(noisy.min())
        high = min(float(noisy.max()), low + _REACH * scale)
        grid = np.linspace(low, max(high, low), _TABLE if high > low else 1)
        mean, square, chance = self._table(grid, scale)
        found = np.interp(noisy, grid, mean)
        spread = np.interp(noisy, grid, np.maximum(square - mean**2, 0.0))
        chances = np.interp(noisy, grid, chance)
        # No pair without weight, nor a sharp change of the law of weights, is near: as it is.
        beyond = noisy > high
        found[beyond], spread[beyond], chances[beyond] = noisy[beyond], 2 * scale**2, 1.0
        return KeptPosterior(found, spread, chances)

    def _table(
        self, grid: FloatVector, scale: float
    ) -> tuple[FloatVector, FloatVector, FloatVector]:
        logs: FloatMatrix = -np.abs(grid[:, None] - self._all_points) / scale
        logs += self._log_masses
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return (
            shares @ self._all_points,
            shares @ self._all_points**2,
            1 - shares[:, 0],
        )

    @cached_property
    def _all_points(self) -> FloatVector:
        return np.concatenate([[0.0], self.points])

    @cached_property
    def _log_masses(self) -> FloatVector:
        empty = max(self.pairs - self.edges, 1.0)
        masses = np.maximum(self.masses, _UNSEEN / len(self.masses))
        logs: FloatVector = np.log(np.concatenate([[empty], masses]))
        return logs


def _believed(counts: NoisyWeightCounts) -> FloatVector:
    """Counts of classes without what may be noise: a false heavy edge would count for many.

    From the heaviest class down, classes are put together until their sum is far above its noise.
    It is then spread over those of them that stand out; but where the last one is far above its
    noise by itself, what came before was noise. What is left at the end is light.
    """
    found = np.zeros(len(counts.counts))
    run: list[int] = []
    for place in range(len(found) - 1, -1, -1):
        run.append(place)
        total = float(counts.counts[run].sum())
        if counts.counts[place] > _DOUBT * counts.deviation:
            found[place] = counts.counts[place]
            run = []
        elif total > _DOUBT * counts.deviation * math.sqrt(len(run)):
            shares = np.maximum(counts.counts[run] - counts.deviation, 0.0) ** 2
            found[run] = total * shares / shares.sum()
            run = []
    found[0] += max(float(counts.counts[run].sum()), 0.0)
    if not found.any():
        found[0] = 1.0
    return found


@final
@dataclass(frozen=True, eq=False)
class LeftOver:
    """Edges that a filter leaves out, as expected.

    Attributes:
        edges: how many.
        weight: of all of them.
        squares: sum of the squares of their weights.
        points: weights that they may have, shape (p,).
        masses: how many of each.
    """

    edges: float
    weight: float
    squares: float
    points: FloatVector
    masses: FloatVector

    @property
    def mean(self) -> float:
        """Weight of one."""
        return self.weight / self.edges


@final
@dataclass(frozen=True, eq=False)
class KeptPosterior:
    """What is known of kept pairs.

    Attributes:
        mean: expected weight, shape (k,).
        variance: of the weight.
        chance: that it is an edge.
    """

    mean: FloatVector
    variance: FloatVector
    chance: FloatVector
