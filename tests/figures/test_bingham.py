"""The Bingham sampler against numerically integrated densities."""

import numpy as np
import pytest
import scipy.stats

from scripts.figures.bingham import bingham_samples

FALSE_ALARM = 1e-7  # of each chi-square test, if its seed were drawn at random


def chi_square(counts, mass):
    expected = mass / mass.sum() * counts.sum()
    assert expected.min() > 5
    statistic = ((counts - expected) ** 2 / expected).sum()
    return statistic, scipy.stats.chi2.isf(FALSE_ALARM, len(counts) - 1)


FINE = 60  # points within a bin, for sums in place of integrals


def middles(low, high, count):
    return low + (np.arange(count) + 0.5) * (high - low) / count


def circle(matrix, concentration, sample_at, bins=24):
    angle = middles(-np.pi, np.pi, bins * FINE)
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    density = np.exp(concentration * np.einsum("ij,jk,ik->i", points, matrix, points))
    x = bingham_samples(matrix, sample_at, 40_000, np.random.default_rng(1))
    edges = np.linspace(-np.pi, np.pi, bins + 1)
    counts = np.histogram(np.arctan2(x[:, 1], x[:, 0]), edges)[0]
    return chi_square(counts, density.reshape(bins, FINE).sum(axis=1))


@pytest.mark.parametrize("concentration", [0.0, 0.5, 2.0])
def test_two_dimensions(concentration):
    matrix = np.array([[0.3, 0.7], [0.7, -0.4]])
    statistic, limit = circle(matrix, concentration, concentration)
    assert statistic < limit


def test_a_twin_of_twice_the_concentration_is_caught():
    matrix = np.array([[0.3, 0.7], [0.7, -0.4]])
    statistic, limit = circle(matrix, 0.5, 1.0)
    assert statistic > limit


def test_three_dimensions():
    matrix = np.array([[1.0, 0.5, -0.2], [0.5, -1.0, 0.4], [-0.2, 0.4, 0.2]])
    x = bingham_samples(matrix, 1.2, 40_000, np.random.default_rng(2))
    assert np.allclose(np.linalg.norm(x, axis=1), 1)
    # Height and angle: equal areas have equal surface on the sphere.
    height, angle = np.meshgrid(
        middles(-1, 1, 6 * FINE), middles(-np.pi, np.pi, 8 * FINE), indexing="ij"
    )
    radius = np.sqrt(1 - height**2)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=-1)
    density = np.exp(1.2 * np.einsum("abi,ij,abj->ab", points, matrix, points))
    mass = density.reshape(6, FINE, 8, FINE).sum(axis=(1, 3))
    edges = [np.linspace(-1, 1, 7), np.linspace(-np.pi, np.pi, 9)]
    counts = np.histogram2d(x[:, 2], np.arctan2(x[:, 1], x[:, 0]), edges)[0]
    statistic, limit = chi_square(counts.ravel(), mass.ravel())
    assert statistic < limit
