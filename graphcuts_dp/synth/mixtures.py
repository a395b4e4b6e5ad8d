"""Mixture models of points seen in Gaussian noise of unit variance, and what they say of each.

Vertices of a noisy graph become points whose coordinates carry independent noise of variance one
(see `structure`). Blocks of alike vertices are then clusters with free means; blocks whose vertices
differ in degree are rays t v with a spread of scales t. Both are fitted by expectation
maximisation, the number of components and the kind are chosen by the Bayesian information
criterion, and the posterior of each point's place is what an empirical-Bayes denoiser needs.
"""

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.deadline import NEVER, Deadline

# Tuned with bench_fit_quality.py: over the twelve graphs of docs/releases.md the median worst cut
# is 0.39 of the raw matrix's, the largest 0.56.
_MOST_COMPONENTS = 24
_STARTS = 3
_ROUNDS = 60
_SETTLED = 1e-6  # relative growth of the likelihood at which a fit stands still
_SCALES = 20
_SMALLEST_SCALE = 0.02  # of the largest
_PATIENCE = 3  # more components are tried until this many in a row are no better
_SAMPLE = 2000  # points from which number and kind of components are chosen
_TINY = 1e-300


@final
@dataclass(frozen=True, eq=False)
class Posterior:
    """Where each point lies without its noise, as far as a mixture can tell.

    Attributes:
        memberships: probability of each component, shape (points, components).
        mean: posterior mean of each point's place, shape (points, dimensions).
        covariance: average over the points of the posterior covariance; by Tweedie's formula also
            the average Jacobian of `mean` as a function of the points.
    """

    memberships: FloatMatrix
    mean: FloatMatrix
    covariance: FloatMatrix


@final
@dataclass(frozen=True, eq=False)
class Mixture:
    """Components on rays t v_k with weights over a grid of scales t; one scale: plain means.

    Attributes:
        directions: v, shape (components, dimensions).
        scales: t, shape (scales,).
        weights: of each component and scale, shape (components, scales), total 1.
    """

    directions: FloatMatrix
    scales: FloatVector
    weights: FloatMatrix

    @property
    def is_rays(self) -> bool:
        """Whether components are rays rather than points."""
        return len(self.scales) > 1

    @property
    def parameters(self) -> int:
        """How many numbers the criterion counts: means and weights, or directions and a spread."""
        components, dimensions = self.directions.shape
        if self.is_rays:
            return int(components * (dimensions + 2))
        return int(components * (dimensions + 1) - 1)

    @classmethod
    def of_memberships(cls, points: FloatMatrix, memberships: FloatMatrix, *, rays: bool) -> Self:
        """A first guess from soft memberships.

        Args:
            points: shape (points, dimensions).
            memberships: shape (points, components).
            rays: which kind.
        """
        sizes = memberships.sum(axis=0) + 1e-9
        means = memberships.T @ points / sizes[:, None]
        if not rays:
            return cls(means, np.ones(1), (sizes / sizes.sum())[:, None])
        directions = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
        largest = float(np.quantile(np.linalg.norm(points, axis=1), 0.999)) + 1.0
        scales = largest * np.linspace(_SMALLEST_SCALE, 1.0, _SCALES) ** 1.5
        weights = np.repeat((sizes / sizes.sum())[:, None] / _SCALES, _SCALES, axis=1)
        return cls(directions, scales, weights)

    def fitted(self, points: FloatMatrix, rounds: int = _ROUNDS) -> tuple["Mixture", float]:
        """Expectation maximisation from here; the mixture and its log-likelihood."""
        mixture: Mixture = self
        before = -math.inf
        for _ in range(rounds):
            shares, likelihood = mixture._shares(points)
            mixture = mixture._maximised(points, shares)
            if likelihood - before < _SETTLED * abs(likelihood):
                break
            before = likelihood
        return mixture, likelihood

    def posterior(self, points: FloatMatrix) -> Posterior:
        """What the mixture says of each point."""
        shares, _ = self._shares(points)
        amounts = shares @ self.scales
        mean = amounts @ self.directions
        squares = (shares @ self.scales**2).sum(axis=0)
        second = (self.directions.T * squares) @ self.directions
        covariance = (second - mean.T @ mean) / len(points)
        return Posterior(shares.sum(axis=2), mean, covariance)

    def _shares(self, points: FloatMatrix) -> tuple[FloatMatrix, float]:
        """Probability of each component and scale for each point, and the log-likelihood."""
        along = points @ self.directions.T
        lengths = (self.directions**2).sum(axis=1)
        logs = along[:, :, None] * self.scales
        logs -= 0.5 * lengths[:, None] * self.scales**2
        logs += np.log(self.weights + _TINY)
        top = logs.max(axis=(1, 2), keepdims=True)
        logs -= top
        shares: FloatMatrix = np.exp(logs, out=logs)
        total = shares.sum(axis=(1, 2), keepdims=True)
        shares /= total
        likelihood = float(top.sum() + np.log(total).sum() - 0.5 * (points**2).sum())
        return shares, likelihood

    def _maximised(self, points: FloatMatrix, shares: FloatMatrix) -> "Mixture":
        weights = shares.mean(axis=0)
        pull = (shares @ self.scales).T @ points
        if self.is_rays:
            directions = pull / np.maximum(np.linalg.norm(pull, axis=1, keepdims=True), 1e-9)
        else:
            directions = pull / (shares.sum(axis=0) + 1e-9)
        return Mixture(directions, self.scales, weights)


def fit_mixture(points: FloatMatrix, deadline: Deadline = NEVER) -> Mixture:
    """The mixture that the Bayesian information criterion prefers.

    Components are added while that helps, each number from several k-means++ starts; at each
    number both kinds are tried. From a sample of 2,000 points if there are more.

    Args:
        points: shape (points, dimensions), each coordinate with noise of variance one.
        deadline: after which no more components are tried.

    Source: Dempster, Laird, Rubin 1977 (EM); Schwarz 1978 (criterion); Arthur, Vassilvitskii 2007.
    """
    random = np.random.default_rng(0)  # starting points only: nothing private, no noise
    if len(points) > _SAMPLE:
        points = points[random.choice(len(points), _SAMPLE, replace=False)]
    most = min(2 * points.shape[1] + 4, _MOST_COMPONENTS, len(points))
    best, best_score, worse = None, -math.inf, 0
    for components in range(1, most + 1):
        mixture, score = _best_of(points, components, random)
        if score > best_score:
            best, best_score, worse = mixture, score, 0
        else:
            worse += 1
        if worse == _PATIENCE or deadline.passed():
            break
    assert best is not None  # noqa: S101  # one component has a finite score
    return best


def _best_of(
    points: FloatMatrix, components: int, random: np.random.Generator
) -> tuple[Mixture, float]:
    """The better kind with a number of components, and its score."""
    penalty = 0.5 * math.log(len(points))
    starts = [
        Mixture.of_memberships(points, _nearest(points, components, random), rays=False)
        for _ in range(_STARTS if components > 1 else 1)
    ]
    means, likelihood = max((start.fitted(points) for start in starts), key=lambda found: found[1])
    score = likelihood - penalty * means.parameters
    memberships = means.posterior(points).memberships
    rays, likelihood = Mixture.of_memberships(points, memberships, rays=True).fitted(points)
    ray_score = likelihood - penalty * rays.parameters
    return (rays, ray_score) if ray_score > score else (means, score)


def _nearest(points: FloatMatrix, components: int, random: np.random.Generator) -> FloatMatrix:
    """Memberships by the nearest of some points chosen far from each other."""
    chosen = [int(random.integers(len(points)))]
    distances = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    nearest = np.zeros(len(points), dtype=np.int64)
    for k in range(1, components):
        total = distances.sum()
        if total <= 0:
            break
        chosen.append(int(random.choice(len(points), p=distances / total)))
        fresh = ((points - points[chosen[-1]]) ** 2).sum(axis=1)
        nearest[fresh < distances] = k
        distances = np.minimum(distances, fresh)
    return np.eye(components)[nearest]
