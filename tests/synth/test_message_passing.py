"""Mixtures of points in unit noise: what they recover, how many, and their posteriors."""

import numpy as np
import pytest

from graphcuts_dp.synth.structure import Mixture, fit_mixture


def clusters(centres, size, seed=0):
    rng = np.random.default_rng(seed)
    places = np.repeat(np.asarray(centres, float), size, axis=0)
    return places, places + rng.normal(size=places.shape)


CENTRES = [[6, 0, 0], [0, 6, 0], [0, 0, 6], [-4, -4, 0]]


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_found(seed):
    """Means of 150 points are off by 5/sqrt(150) = 0.41 in a coordinate with 6e-7."""
    places, points = clusters(CENTRES, 150, seed)
    mixture = fit_mixture(points)
    assert not mixture.is_rays
    assert len(mixture.directions) == 4
    for centre in CENTRES:
        assert np.abs(mixture.directions - centre).max(axis=1).min() < 0.5
    assert mixture.weights.sum() == pytest.approx(1)
    posterior = mixture.posterior(points)
    assert posterior.memberships.sum(axis=1) == pytest.approx(np.ones(600))
    found = posterior.memberships.argmax(axis=1).reshape(4, 150)
    assert np.mean(found == np.median(found, axis=1)[:, None]) > 0.97
    # Knowing the clusters takes nearly all of the noise (3 a point) away.
    assert ((posterior.mean - places) ** 2).sum(axis=1).mean() < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_rays_are_found(seed):
    """Blocks whose vertices differ in degree: directions come out, lengths follow the points."""
    rng = np.random.default_rng(seed)
    true = np.array([[1.0, 0.0], [0.5, 0.75**0.5]])
    lengths = rng.uniform(2, 16, 600)
    places = lengths[:, None] * np.repeat(true, 300, axis=0)
    points = places + rng.normal(size=places.shape)
    mixture = fit_mixture(points)
    assert mixture.is_rays
    assert len(mixture.directions) == 2
    assert np.abs(mixture.directions @ true.T).max(axis=0) == pytest.approx([1, 1], abs=0.01)
    mean = mixture.posterior(points).mean
    # Across the rays the noise (1 of 2 a point) is gone.
    assert ((mean - places) ** 2).sum(axis=1).mean() < 1.4


@pytest.mark.parametrize("dimensions", [1, 3])
def test_pure_noise_is_one_component(dimensions):
    for seed in range(6):
        points = np.random.default_rng(seed).normal(size=(400, dimensions))
        mixture = fit_mixture(points)
        assert len(mixture.directions) == 1
        assert ((mixture.posterior(points).mean) ** 2).sum(axis=1).mean() < 0.1 * dimensions


@pytest.mark.parametrize("rays", [True, False])
def test_the_posterior_covariance_is_the_average_jacobian(rays):
    """Tweedie: d mean/d point is the posterior covariance, point by point."""
    _, points = clusters([[3, 0], [0, 3]], 40)
    memberships = np.repeat(np.eye(2), 40, axis=0)
    mixture, _ = Mixture.of_memberships(points, memberships, rays=rays).fitted(points, 5)
    assert mixture.is_rays == rays
    h = 1e-4
    jacobian = np.zeros((2, 2))
    for axis, step in enumerate(h * np.eye(2)):
        change = mixture.posterior(points + step).mean - mixture.posterior(points - step).mean
        jacobian[:, axis] = change.mean(axis=0) / (2 * h)
    assert mixture.posterior(points).covariance == pytest.approx(jacobian, abs=1e-6)


@pytest.mark.parametrize("rays", [True, False])
def test_expectation_maximisation_never_loses_likelihood(rays):
    _, points = clusters([[2, 0], [0, 2], [-2, -1]], 60)
    rng = np.random.default_rng(0)
    mixture = Mixture.of_memberships(points, rng.dirichlet(np.ones(3), 180), rays=rays)
    before = -np.inf
    for _ in range(25):
        mixture, likelihood = mixture.fitted(points, 1)
        assert likelihood >= before - 1e-9 * abs(likelihood)
        before = likelihood
        assert mixture.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "points",
    [np.zeros((1, 1)), np.zeros((2, 3)), np.ones((5, 2)), 1e7 * np.eye(4), np.zeros((30, 1))],
)
def test_few_equal_or_far_points(points):
    mixture = fit_mixture(points)
    posterior = mixture.posterior(points)
    assert np.isfinite(posterior.mean).all()
    assert np.isfinite(posterior.covariance).all()
    assert posterior.memberships.shape == (len(points), len(mixture.directions))


def test_many_points_are_sampled_and_the_choice_repeats():
    _, points = clusters(CENTRES, 700)
    first, second = fit_mixture(points), fit_mixture(points)
    assert np.array_equal(first.directions, second.directions)
    assert len(first.directions) == 4


def test_parameters_are_counted():
    means = Mixture(np.zeros((3, 2)), np.ones(1), np.full((3, 1), 1 / 3))
    rays = Mixture(np.zeros((3, 2)), np.linspace(0.1, 1, 20), np.full((3, 20), 1 / 60))
    assert means.parameters == 3 * 2 + 2
    assert rays.parameters == 3 * (2 + 2)
