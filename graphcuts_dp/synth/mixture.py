"""Mixture models of points in Gaussian noise of unit variance: fit, and denoised points.

Message passing (`synth.message_passing`) places every vertex as a noisy point: its true point plus
Gaussian noise of variance 1 in each coordinate. Vertices of one block are alike, so their true
points coincide or lie on a line through the origin:

- blocks of alike vertices are clusters, each with a free mean;
- blocks whose vertices differ in degree are rays: points t v_k along a direction v_k, with a
  spread of scales t.

`Mixture` covers both: components v_k with weights over a grid of scales t; clusters have the one
scale 1. `fit_mixture` fits it by expectation maximisation (EM) and chooses the number and the kind
of components by the Bayesian information criterion. A `Posterior` holds what the mixture says of
each point: its memberships of components, and its posterior mean, the denoised point.
"""

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.resources import NEVER, Deadline

_MOST_COMPONENTS = 24
_STARTS = 3  # k-means++ starts of clusters, for each number of components
_ROUNDS = 60  # of EM at most
_CONVERGED = 1e-6  # relative growth of the log-likelihood below which EM ends
_SCALES = 20  # points of the grid of scales of a ray
_SMALLEST_SCALE = 0.02  # of the grid, over the largest scale
_PATIENCE = 3  # more components are tried until this many numbers in a row are no better
_SAMPLE = 2000  # points from which number and kind of components are chosen
_TINY = 1e-300  # weight of components without any, so that its logarithm is finite
_LEAST_SIGNAL = 0.05  # least variance of posterior means along a usable direction; noise has 1
_LEAST_RELATIVE_SIGNAL = 1e-3  # the same, over the largest such variance
# Posterior means lie closer together than the true points, so inner products along a direction are
# multiplied by an inflation factor; see `Posterior.reliable_directions`. A direction with a larger
# factor than this is left out, since the posterior means hold too little of it.
_MOST_INFLATION = 1.45


@final
@dataclass(frozen=True, eq=False)
class Posterior:
    """Denoised points: where each point lies without its noise, under a mixture.

    Attributes:
        memberships: probability of each component, shape (points, components).
        mean: E, posterior mean of each point, shape (points, dimensions).
        covariance: S, posterior covariance, averaged over the points, shape (dimensions,
            dimensions). In noise of unit variance the posterior covariance at a point is also the
            Jacobian of the posterior mean as a function of the noisy point (Tweedie's formula). So
            S is also the average Jacobian, which message passing needs.
        rays: whether the components are rays rather than clusters.
    """

    memberships: FloatMatrix
    mean: FloatMatrix
    covariance: FloatMatrix
    rays: bool

    def message(self) -> tuple[FloatMatrix, FloatMatrix] | None:
        """Return whitened posterior means and their average Jacobian.

        With the matrix C of `whitening`, they are E C and S C.

        Returns:
            Shapes (points, k) and (dimensions, k); None if no direction carries a signal.
        """
        whitening = self.whitening()
        return None if whitening is None else (self.mean @ whitening, self.covariance @ whitening)

    def whitening(self) -> FloatMatrix | None:
        """Return C such that (E C)^T (E C) is n times the identity, for n points.

        Only directions along which posterior means vary enough to carry a signal are in C.

        Returns:
            C, shape (dimensions, k); None if no direction carries a signal.
        """
        variances, axes = np.linalg.eigh(self.mean.T @ self.mean / len(self.mean))
        largest = variances.max(initial=0.0)
        clear = variances > max(_LEAST_SIGNAL, _LEAST_RELATIVE_SIGNAL * largest)
        if not clear.any():
            return None
        return np.asarray(axes[:, clear] / np.sqrt(variances[clear]))

    def reliable_directions(self) -> tuple[FloatMatrix, FloatVector] | None:
        """Return the directions along which posterior means hold most of the true points.

        The true points X, given the noisy ones, have the expected second moment
        E[X^T X] = E^T E + n S. In the basis C that is returned, C^T E^T E C is n times the
        identity, and C^T (E^T E + n S) C is n times a diagonal matrix of inflation factors. A
        factor f says that inner products of posterior means along this direction must be multiplied
        by f to become those of true points.

        Returns:
            C, shape (dimensions, k), and the factor of each of its columns, at least 1, shape (k,).
            None if there is no such direction.
        """
        whitening = self.whitening()
        if whitening is None:
            return None
        excess = whitening.T @ self.covariance @ whitening  # C^T S C
        second_moment = np.eye(len(excess)) + excess
        factors, axes = np.linalg.eigh((second_moment + second_moment.T) / 2)
        reliable = factors <= _MOST_INFLATION
        if not reliable.any():
            return None
        return whitening @ axes[:, reliable], factors[reliable]


@final
@dataclass(frozen=True, eq=False)
class Mixture:
    """Components at the points t v_k, with weights over a grid of scales t.

    Attributes:
        directions: v, shape (components, dimensions): unit vectors of rays, or means of clusters.
        scales: t, shape (scales,); the one scale 1 for clusters.
        weights: of each component and scale, shape (components, scales), sum 1.
    """

    directions: FloatMatrix
    scales: FloatVector
    weights: FloatMatrix

    @property
    def is_rays(self) -> bool:
        """True for rays, False for clusters."""
        return len(self.scales) > 1

    @property
    def parameters(self) -> int:
        """Number of parameters that the information criterion counts.

        In d dimensions a cluster counts d for its mean and 1 for its weight; over all clusters 1 is
        taken off, since weights add up to 1. A ray counts d + 2: d for its direction, 1 for its
        weight, and 1 for how its scales are spread. The count for rays is a rough one: the 20
        weights of the scales count as one number, and nothing is taken off because directions have
        length 1 and weights add up to 1.
        """
        components, dimensions = self.directions.shape
        if self.is_rays:
            return int(components * (dimensions + 2))
        return int(components * (dimensions + 1) - 1)

    @classmethod
    def of_memberships(cls, points: FloatMatrix, memberships: FloatMatrix, *, rays: bool) -> Self:
        """Return a start for EM from soft memberships of points.

        Args:
            points: shape (points, dimensions).
            memberships: shape (points, components).
            rays: whether components are rays.
        """
        sizes = memberships.sum(axis=0) + 1e-9  # of the components, above 0
        shares = (sizes / sizes.sum())[:, None]
        means = memberships.T @ points / sizes[:, None]
        if not rays:
            return cls(means, np.ones(1), shares)
        directions = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
        # Nearly all true points lie closer to the origin than this.
        largest = float(np.quantile(np.linalg.norm(points, axis=1), 0.999)) + 1.0
        # Denser near 0, where the posterior changes most.
        scales = largest * np.linspace(_SMALLEST_SCALE, 1.0, _SCALES) ** 1.5
        weights = np.repeat(shares / _SCALES, _SCALES, axis=1)
        return cls(directions, scales, weights)

    def fitted(self, points: FloatMatrix, rounds: int = _ROUNDS) -> tuple["Mixture", float]:
        """Fit the mixture to points by expectation maximisation, starting from this one.

        Args:
            points: shape (points, dimensions).
            rounds: at most.

        Returns:
            The mixture, and the log-likelihood of the points under the mixture of one update
            before. EM never lowers the likelihood, so this is a lower bound on that of the mixture.
            Both differ little once EM has converged.
        """
        mixture: Mixture = self
        previous = -math.inf
        for _ in range(rounds):
            responsibilities, likelihood = mixture._responsibilities(points)
            mixture = mixture._maximised(points, responsibilities)
            if likelihood - previous < _CONVERGED * abs(likelihood):
                break
            previous = likelihood
        return mixture, likelihood

    def posterior(self, points: FloatMatrix) -> Posterior:
        """Return the posterior law of the true place of each point."""
        responsibilities, _ = self._responsibilities(points)
        amounts = responsibilities @ self.scales  # (points, components): E[t; component k]
        mean = amounts @ self.directions
        # Sum over the points of E[t^2; component k], shape (components,).
        squared_scales = (responsibilities @ self.scales**2).sum(axis=0)
        second_moment = (self.directions.T * squared_scales) @ self.directions
        covariance = (second_moment - mean.T @ mean) / len(points)
        return Posterior(responsibilities.sum(axis=2), mean, covariance, self.is_rays)

    def _responsibilities(self, points: FloatMatrix) -> tuple[FloatMatrix, float]:
        """Return the probability of each component and scale for each point (the E step).

        The log density of x at t v_k is t <x, v_k> - t^2 |v_k|^2/2 - |x|^2/2, up to a constant.

        Returns:
            Shape (points, components, scales), and the log-likelihood of all points.
        """
        inner = points @ self.directions.T  # <x, v_k>, shape (points, components)
        squared_lengths = (self.directions**2).sum(axis=1)
        logs = inner[:, :, None] * self.scales
        logs -= 0.5 * squared_lengths[:, None] * self.scales**2
        logs += np.log(self.weights + _TINY)
        largest = logs.max(axis=(1, 2), keepdims=True)
        logs -= largest
        responsibilities: FloatMatrix = np.exp(logs, out=logs)
        total = responsibilities.sum(axis=(1, 2), keepdims=True)
        responsibilities /= total
        likelihood = float(largest.sum() + np.log(total).sum() - 0.5 * (points**2).sum())
        return responsibilities, likelihood

    def _maximised(self, points: FloatMatrix, responsibilities: FloatMatrix) -> "Mixture":
        """Return the mixture of largest expected log-likelihood (the M step).

        Args:
            points: shape (points, dimensions).
            responsibilities: shape (points, components, scales).
        """
        weights = responsibilities.mean(axis=0)
        sums = (responsibilities @ self.scales).T @ points  # (components, dimensions)
        if self.is_rays:
            directions = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        else:
            directions = sums / (responsibilities.sum(axis=0) + 1e-9)
        return Mixture(directions, self.scales, weights)


def fit_mixture(points: FloatMatrix, deadline: Deadline = NEVER) -> Mixture:
    """Return the mixture that the Bayesian information criterion prefers.

    Numbers of components are tried from 1 on, until three in a row are no better. For each number,
    clusters are fitted from several k-means++ starts, and rays from the memberships of the best
    clusters. Of more than 2,000 points, a sample is used.

    Draws: the sample comes first, then the starts in the order of the number of components. Golden
    results depend on this order.

    Args:
        points: shape (points, dimensions), each coordinate with noise of variance one.
        deadline: after which no more components are tried; by default there is none.

    Source: Dempster, Laird, Rubin 1977 (EM); Schwarz 1978 (criterion); Arthur, Vassilvitskii 2007.
    """
    random = np.random.default_rng(0)  # starting points only: nothing private, no noise
    if len(points) > _SAMPLE:
        points = points[random.choice(len(points), _SAMPLE, replace=False)]
    most = min(2 * points.shape[1] + 4, _MOST_COMPONENTS, len(points))
    best, best_score = _best_mixture(points, 1, random)
    numbers_without_gain = 0
    for components in range(2, most + 1):
        if numbers_without_gain == _PATIENCE or deadline.passed():
            break
        mixture, score = _best_mixture(points, components, random)
        if score > best_score:
            best, best_score, numbers_without_gain = mixture, score, 0
        else:
            numbers_without_gain += 1
    return best


def far_apart(points: FloatMatrix, count: int, random: np.random.Generator) -> FloatMatrix:
    """Choose points far from each other (k-means++), shape (count, dimensions).

    Each next one is drawn with a probability proportional to its squared distance from the nearest
    of those chosen before. `synth.block_model` uses this function and `squared_distances`, too.

    Source: Arthur, Vassilvitskii 2007.
    """
    chosen = [int(random.integers(len(points)))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < count:
        nearest = np.minimum(nearest, squared_distances(points, points[chosen[-1:]])[:, 0])
        total = nearest.sum()
        probabilities = nearest / total if total > 0 else None  # None: all with equal probability
        chosen.append(int(random.choice(len(points), p=probabilities)))
    return np.asarray(points[chosen])


def squared_distances(points: FloatMatrix, centres: FloatMatrix) -> FloatMatrix:
    """Return the squared distance of each point from each centre, shape (points, centres)."""
    return np.asarray(((points[:, None] - centres) ** 2).sum(axis=2))


def _best_mixture(
    points: FloatMatrix, components: int, random: np.random.Generator
) -> tuple[Mixture, float]:
    """Return the better of clusters and rays for a number of components, with its score.

    The score is the log-likelihood less half the logarithm of the number of points for each
    parameter.
    """
    penalty = 0.5 * math.log(len(points))
    starts = [
        Mixture.of_memberships(points, _nearest(points, components, random), rays=False)
        for _ in range(_STARTS if components > 1 else 1)
    ]
    fits = [start.fitted(points) for start in starts]
    clusters, likelihood = max(fits, key=lambda fit: fit[1])
    score = likelihood - penalty * clusters.parameters
    memberships = clusters.posterior(points).memberships
    rays, ray_likelihood = Mixture.of_memberships(points, memberships, rays=True).fitted(points)
    ray_score = ray_likelihood - penalty * rays.parameters
    return (rays, ray_score) if ray_score > score else (clusters, score)


def _nearest(points: FloatMatrix, components: int, random: np.random.Generator) -> FloatMatrix:
    """Return 0/1 memberships of the nearest of some `far_apart` points."""
    distances = squared_distances(points, far_apart(points, components, random))
    return np.asarray(np.eye(components)[distances.argmin(axis=1)])
