"""Prior law of the weights of a sparse graph, from noisy counts, and posteriors of noisy weights.

A sparse release first measures how many pairs have a weight in each of some public classes of
weights (`Classes`): [u, s/4), [s/4, s/2), [s/2, s), [s, 2s), and so on, rounded up to multiples of
the grid unit u, where s is the scale of the noise with all of epsilon. The last class ends at the
public largest weight; without one it has no end.

`WeightPrior` turns these noisy counts into a law: points (weights) with masses (expected numbers of
edges); all other pairs have weight 0. Then Laplace noise is added to each pair's weight, and a
filter keeps the pairs whose noisy weight reaches a public threshold. Edges below it are missed. The
law says

- of a kept pair with a given noisy weight: what it truly weighs (`posterior`, `KeptPosterior`);
- of an edge with a given weight: how probable it is that the filter misses it (`missed`), and so
  what law the weights of all missed edges have (`left`).

Everything here is computed from public noisy values. The scale of Laplace noise is b in the density
e^(-|x|/b)/(2b); its variance is 2 b^2.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.measurement import LOWEST, Classes, CountMeasurement

_FEWEST_POINTS = 6  # of a class whose weights are not few whole numbers
# Points of a class at most. At 3 points for each scale of the noise they suffice for classes that
# are up to 80 scales long. Longer classes begin at 128 scales, where mostly no posterior is
# computed any more (`_REACH`).
_MOST_POINTS = 240
_POINTS_IN_SCALE = 3.0  # points for each scale of the noise, so that posteriors do not jump
# Without a largest weight the last class has no end: it is taken to end at this multiple of its
# start.
_OPEN_CLASS = 8.0
# A sum of noisy counts is taken for noise alone unless it exceeds this many standard deviations of
# its noise. One count of Laplace noise alone exceeds them with probability e^(-6 sqrt(2))/2.
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
        integral: bool,
    ) -> Self:
        """Return the law that noisy counts of classes suggest.

        Each class is spread evenly over the logarithms of its weights, or over its whole numbers
        if they are few.

        Args:
            counts: noisy number of edges in each class.
            pairs: number of pairs.
            cap: public largest weight; None if there is none.
            integral: whether weights are whole numbers.

        Privacy: reads noisy counts alone, which are public.
        """
        class_masses = _denoised_counts(counts)  # number of edges in each class, shape (classes,)
        class_masses *= max(counts.total, 1.0) / class_masses.sum()  # at least one edge in all
        starts = counts.map.starts  # least weight of each class, ascending, the first above 0
        stops = np.append(starts[1:], cap if cap is not None else starts[-1] * _OPEN_CLASS)
        # The second class starts at 2^LOWEST = 1/4 of the scale of the noise, rounded up to the
        # grid. The scale only decides how many points a class gets.
        second_start = float(starts[1]) if len(starts) > 1 else 0.0
        noise_scale = max(second_start, 1e-300) * 2.0**-LOWEST
        points, masses = [], []
        for index, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            # The largest weight is a weight of the last class.
            closed = cap is not None and index == len(starts) - 1
            class_points = _points_between(
                start, stop, noise_scale, integral=integral, closed=closed
            )
            points.append(class_points)
            masses.append(np.full(len(class_points), class_masses[index] / len(class_points)))
        return cls(np.concatenate(points), np.concatenate(masses), max(pairs, 1.0))

    @property
    def edges(self) -> float:
        """Expected number of edges."""
        return float(self.masses.sum())

    def missed(self, threshold: float, scale: float) -> FloatVector:
        """Return the probability P(weight + noise < threshold) for each point, shape (p,).

        Args:
            threshold: smallest noisy weight that is kept.
            scale: of the Laplace noise.
        """
        distance = (threshold - self.points) / scale  # > 0 below the threshold
        tail = np.exp(-np.abs(distance)) / 2
        return np.asarray(np.where(distance > 0, 1 - tail, tail))

    def left(self, threshold: float, scale: float) -> Self:
        """Return the law of the weights of the edges that a filter is expected to miss.

        Args:
            threshold: smallest noisy weight that is kept.
            scale: of the Laplace noise.
        """
        return replace(self, masses=self.masses * self.missed(threshold, scale))

    def moment(self, power: int) -> float:
        """Return the expected sum of a power of the weights of all edges."""
        return float(self.masses @ self.points**power)

    def posterior(self, noisy: FloatVector, scale: float) -> KeptPosterior:
        """Return the posterior law of pairs with given noisy weights.

        By Bayes' rule, a pair of noisy weight y has the weight x with a probability in proportion
        to mass(x) e^(-|y - x|/scale), where the mass of x = 0 is the number of pairs that are no
        edges. Half an edge that the counts may have missed is spread over the points, in this
        method alone: else no noisy weight in a class without counted edges could be an edge.

        Posteriors are tabulated for 1,500 noisy weights and interpolated, so each value costs one
        look-up. The table ends 30 scales above the smallest noisy weight. Above it a pair without
        weight is improbable, and the law of weights changes slowly: there the weight is the noisy
        one, with the variance 2 scale^2 of the noise.

        Args:
            noisy: noisy weights, in any order, shape (k,).
            scale: of the Laplace noise.
        """
        if not len(noisy):
            return KeptPosterior.none()
        low = float(noisy.min())
        high = min(float(noisy.max()), low + _REACH * scale)
        grid = np.linspace(low, high, _TABLE_POINTS if high > low else 1)  # noisy weights
        # The weight 0 of pairs that are no edges comes first, here and in `shares`.
        points = np.concatenate([[0.0], self.points])
        no_edges = max(self.pairs - self.edges, 1.0)
        masses = np.maximum(self.masses, _UNSEEN_EDGES / len(self.masses))
        log_masses = np.log(np.concatenate([[no_edges], masses]))
        logs = -np.abs(grid[:, None] - points) / scale + log_masses  # (grid, points)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)  # posterior probability of each point
        # Of each noisy weight of the grid: posterior mean, mean square, P(the pair is an edge).
        grid_mean, grid_square, grid_chance = shares @ points, shares @ points**2, 1 - shares[:, 0]
        grid_variance = np.maximum(grid_square - grid_mean**2, 0.0)
        mean = np.interp(noisy, grid, grid_mean)
        variance = np.interp(noisy, grid, grid_variance)
        chance = np.interp(noisy, grid, grid_chance)
        beyond = noisy > high
        mean[beyond], variance[beyond], chance[beyond] = noisy[beyond], 2 * scale**2, 1.0
        return KeptPosterior(mean, variance, chance)


def _points_between(
    start: float, stop: float, noise_scale: float, *, integral: bool, closed: bool = False
) -> FloatVector:
    """Return the points of a class of weights, ascending, at least one.

    A class of up to 6 whole numbers has these as its points. Other classes have points that lie
    evenly in the logarithm.

    Args:
        start: least weight of the class, >= 0.
        stop: least weight of the next class; of the last class the largest weight.
        closed: whether `stop` is itself a weight of the class.
        noise_scale: scale of the noise. A class has three points for each scale of its length, but
            at least 6 points and at most 240.
        integral: whether weights are whole numbers.
    """
    if integral and stop - start + closed <= _FEWEST_POINTS:
        first, last = math.ceil(start), math.floor(stop) if closed else math.ceil(stop) - 1
        return np.arange(first, max(last, first) + 1).astype(np.float64)
    if stop <= start:  # the last class, if the largest weight begins it
        return np.array([start])
    # A class from 0 on has no logarithm of its start: its points begin 6 octaves below its end.
    least = start if start > 0 else stop / 2**_FEWEST_POINTS
    count_for_noise = _POINTS_IN_SCALE * (stop - start) / noise_scale
    count = int(min(max(_FEWEST_POINTS, count_for_noise), _MOST_POINTS))
    fractions = (np.arange(count) + 0.5) / count
    return np.asarray(least * (stop / least) ** fractions)


def _denoised_counts(counts: CountMeasurement[Classes]) -> FloatVector:
    """Return the counts of classes without what may be noise, none below 0, shape (classes,).

    One edge in a heavy class weighs as much as many light ones, so noise there must not pass for
    edges. The loop goes from the heaviest class down and adds each class to a run. "Far above its
    noise" means: more than 6 standard deviations. There are three cases.

    1. The class is far above its noise by itself. It keeps its count. The heavier classes of the
       run are taken for noise and get 0. A new run begins.
    2. The sum of the run is far above its noise. It is spread over the classes of the run, in
       proportion to the square of what each has above one deviation. A new run begins.
    3. Otherwise the run goes on with the next class.

    The sum of a run that is left after the lightest class is given to the lightest class.
    """
    # The measurement has one part, an array with a noisy number for each class.
    (numbers,), deviation = counts.values, math.sqrt(counts.law.variance)
    denoised = np.zeros(len(numbers))
    run: list[int] = []  # indices of classes
    for class_index in range(len(denoised) - 1, -1, -1):
        run.append(class_index)
        total = float(numbers[run].sum())
        if numbers[class_index] > _CERTAIN * deviation:
            denoised[class_index] = numbers[class_index]
            run = []
        elif total > _CERTAIN * deviation * math.sqrt(len(run)):
            # No division by 0: the mean of the r classes of the run is above 6/sqrt(r) deviations.
            # There are fewer than 36 classes, so this is more than one, and some class exceeds it.
            excess = np.maximum(numbers[run] - deviation, 0.0) ** 2
            denoised[run] = total * excess / excess.sum()
            run = []
    denoised[0] += max(float(numbers[run].sum()), 0.0)
    if not denoised.any():
        denoised[0] = 1.0  # callers divide by the sum
    return denoised
