"""Prior law of the weights of a sparse graph, from noisy counts, and posteriors of noisy weights.

A sparse release first measures how many pairs have a weight in each public class of weights, an
octave each (`Classes`). `WeightPrior` turns these noisy counts into a law: points (weights) with
masses (expected numbers of edges); all other pairs have no weight. Under that law it says of a pair

- whose noisy weight was kept, because it reached the threshold: what it truly weighs
  (`KeptPosterior`);
- that has a given weight: how probable it is that the filter misses it.

Everything here is computed from public noisy values.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.measurement import LOWEST, Classes, CountMeasurement

_FEWEST_POINTS = 6  # of a class whose weights are not few whole numbers
_MOST_POINTS = 240  # of a class; a class that needs more lies beyond `_REACH`
_POINTS_IN_SCALE = 3.0  # points for each scale of the noise, so that posteriors do not jump
# The last class has no end if weights have no maximum: it is taken to end at this multiple of its
# start.
_OPEN_CLASS = 8.0
# Deviations of the noise up to which a sum of counts is taken for noise. A sum of noise alone is
# larger with probability e^-8.5.
_CERTAIN = 6.0
# Edges, spread over all points, that the counts may have missed. A noisy weight in a class without
# counted edges may therefore still be an edge.
_UNSEEN_EDGES = 0.5
_TABLE_POINTS = 1500  # noisy weights for which posteriors are tabulated
_REACH = 30.0  # scales of noise above the smallest noisy weight, where the table ends


@final
class KeptPosterior(NamedTuple):
    """Posterior law of kept pairs, k of them.

    Attributes:
        mean: expected weight, shape (k,).
        variance: variance of the weight, shape (k,).
        chance: probability that the pair is an edge, shape (k,).
    """

    mean: FloatVector
    variance: FloatVector
    chance: FloatVector

    @classmethod
    def none(cls) -> Self:
        """Return the posterior of no pair."""
        return cls(np.zeros(0), np.zeros(0), np.zeros(0))


@final
@dataclass(frozen=True, eq=False)
class WeightPrior:
    """Law of the weights of pairs before their noisy values are known.

    Attributes:
        points: weights, ascending, > 0, shape (p,).
        masses: expected number of edges at each point, shape (p,).
        pairs: number of pairs; those that are no edges have weight 0.
    """

    points: FloatVector
    masses: FloatVector
    pairs: float

    @classmethod
    def of(
        cls,
        counts: CountMeasurement[Classes],
        *,
        pairs: float,
        cap: float | None,
        whole: bool,
    ) -> Self:
        """Return the law that noisy counts of classes suggest.

        Each class is spread evenly over the logarithms of its weights.

        Args:
            counts: noisy number of edges in each class.
            pairs: number of pairs.
            cap: public largest weight; None if there is none.
            whole: whether weights are whole numbers.

        Privacy: reads noisy counts alone, which are public.
        """
        class_masses = _denoised_counts(counts)
        class_masses *= max(counts.total, 1.0) / class_masses.sum()
        starts = counts.map.starts
        stops = np.append(starts[1:], cap if cap is not None else starts[-1] * _OPEN_CLASS)
        # The second class starts at 2^LOWEST scales of the noise.
        second_start = float(starts[1]) if len(starts) > 1 else 0.0
        noise_scale = max(second_start, 1e-300) * 2.0**-LOWEST
        points, masses = [], []
        for start, stop, mass in zip(starts, stops, class_masses, strict=True):
            class_points = _points_between(start, stop, noise_scale, whole=whole)
            points.append(class_points)
            masses.append(np.full(len(class_points), mass / len(class_points)))
        return cls(np.concatenate(points), np.concatenate(masses), max(pairs, 1.0))

    @property
    def edges(self) -> float:
        """Expected number of edges."""
        return float(self.masses.sum())

    def missed(self, threshold: float, scale: float) -> FloatVector:
        """Return P(weight + noise < threshold) for each point, shape (p,).

        Args:
            threshold: smallest noisy weight that is kept.
            scale: of the Laplace noise.
        """
        distance = (threshold - self.points) / scale
        tail = np.exp(-np.abs(distance)) / 2
        return np.asarray(np.where(distance > 0, 1 - tail, tail))

    def left(self, threshold: float, scale: float) -> Self:
        """Return the law of the edges that a filter is expected to miss; see `missed`."""
        return replace(self, masses=self.masses * self.missed(threshold, scale))

    def moment(self, power: int) -> float:
        """Return the expected sum of a power of the weights of all edges."""
        return float(self.masses @ self.points**power)

    def posterior(self, noisy: FloatVector, scale: float) -> KeptPosterior:
        """Return the posterior law of pairs with given noisy weights.

        Posteriors are tabulated for 1,500 noisy weights and interpolated, so each value costs one
        look-up. Far above the table no pair without weight is probable, and the law of weights
        changes slowly: there the weight is the noisy one, with the variance of the noise.

        Args:
            noisy: noisy weights, shape (k,).
            scale: of the Laplace noise.
        """
        if not len(noisy):
            return KeptPosterior.none()
        low = float(noisy.min())
        high = min(float(noisy.max()), low + _REACH * scale)
        grid = np.linspace(low, max(high, low), _TABLE_POINTS if high > low else 1)
        # The weight 0 of pairs that are no edges comes first.
        points = np.concatenate([[0.0], self.points])
        no_edges = max(self.pairs - self.edges, 1.0)
        masses = np.maximum(self.masses, _UNSEEN_EDGES / len(self.masses))
        log_masses = np.log(np.concatenate([[no_edges], masses]))
        logs = -np.abs(grid[:, None] - points) / scale + log_masses
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)  # (grid, points): posterior probabilities
        grid_mean, grid_square, grid_chance = shares @ points, shares @ points**2, 1 - shares[:, 0]
        grid_variance = np.maximum(grid_square - grid_mean**2, 0.0)
        mean = np.interp(noisy, grid, grid_mean)
        variance = np.interp(noisy, grid, grid_variance)
        chance = np.interp(noisy, grid, grid_chance)
        beyond = noisy > high
        mean[beyond], variance[beyond], chance[beyond] = noisy[beyond], 2 * scale**2, 1.0
        return KeptPosterior(mean, variance, chance)


def _points_between(start: float, stop: float, noise_scale: float, *, whole: bool) -> FloatVector:
    """Return the points of a class of weights: few whole numbers, or evenly in the logarithm.

    Args:
        start: least weight of the class, >= 0.
        stop: least weight of the next class.
        noise_scale: scale of the noise; there are three points for each one, as far as possible.
        whole: whether weights are whole numbers.
    """
    if whole and stop - start <= _FEWEST_POINTS:
        first = math.ceil(start)
        return np.arange(first, max(math.ceil(stop), first + 1)).astype(np.float64)
    if stop <= start:
        return np.array([start])
    least = start if start > 0 else stop / 2**_FEWEST_POINTS
    for_noise = _POINTS_IN_SCALE * (stop - start) / noise_scale
    count = int(min(max(_FEWEST_POINTS, for_noise), _MOST_POINTS))
    fractions = (np.arange(count) + 0.5) / count
    return np.asarray(least * (stop / least) ** fractions)


def _denoised_counts(counts: CountMeasurement[Classes]) -> FloatVector:
    """Return the counts of classes without what may be noise, shape (classes,).

    One edge in a heavy class weighs as much as many light ones, so noise there must not pass for
    edges. From the heaviest class down, classes are joined to a run until their sum is far above
    its noise. The sum is then spread over the classes of the run that stand out. If the last class
    is far above its noise by itself, it keeps its count, and the classes before it were noise.
    What remains of the run at the lightest class goes to that class.
    """
    (numbers,), deviation = counts.values, math.sqrt(counts.law.variance)
    denoised = np.zeros(len(numbers))
    run: list[int] = []
    for class_index in range(len(denoised) - 1, -1, -1):
        run.append(class_index)
        total = float(numbers[run].sum())
        if numbers[class_index] > _CERTAIN * deviation:
            denoised[class_index] = numbers[class_index]
            run = []
        elif total > _CERTAIN * deviation * math.sqrt(len(run)):
            # Some class exceeds one deviation: there are fewer than 6^2 classes, so that the mean
            # of the run does.
            excess = np.maximum(numbers[run] - deviation, 0.0) ** 2
            denoised[run] = total * excess / excess.sum()
            run = []
    denoised[0] += max(float(numbers[run].sum()), 0.0)
    if not denoised.any():
        denoised[0] = 1.0
    return denoised
