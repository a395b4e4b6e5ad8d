"""Half widths of intervals: never too short, by exact summation, and hardly too long."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from graphcuts_dp.privacy.distributions import BinaryResponse
from graphcuts_dp.privacy.value_noise import (
    discrete_gaussian_radius,
    discrete_laplace_radius,
    noise_distribution,
    response_radius,
)


def binary(epsilon) -> BinaryResponse:
    distribution = noise_distribution("binary", epsilon=epsilon)
    assert isinstance(distribution, BinaryResponse)
    return distribution


@pytest.mark.parametrize("scale", [0.7, 3.0, 55.5])
@pytest.mark.parametrize("failure", [0.3, 1e-3, 1e-9])
def test_discrete_gaussian(scale, failure):
    radius = discrete_gaussian_radius(scale, failure=failure)
    x = np.arange(-int(20 * scale) - 5, int(20 * scale) + 6)
    weights = np.exp(-((x / scale) ** 2) / 2)
    weights /= weights.sum()
    assert weights[np.abs(x) > radius].sum() <= failure
    assert weights[np.abs(x) > radius - 2].sum() > failure  # by Proposition 25, one may be lost


@pytest.mark.parametrize("rate", [2.0, 0.3, 0.001])
@pytest.mark.parametrize("failure", [0.9, 0.05, 1e-8])
def test_discrete_laplace_is_the_least(rate, failure):
    radius = discrete_laplace_radius(rate, failure=failure)

    def beyond(t):
        return 1.0 if t < 0 else 2 * math.exp(-rate * (t + 1)) / (1 + math.exp(-rate))

    assert beyond(radius) <= failure * (1 + 1e-9)
    assert beyond(radius - 1) > failure


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("pairs", [1, 12, 700])
@pytest.mark.parametrize("failure", [0.2, 1e-3, 1e-9])
def test_binary_response_whatever_the_truth(epsilon, pairs, failure):
    distribution = binary(epsilon)
    radius, q = response_radius(distribution, pairs, failure=failure), distribution.offset
    for ones in {0, pairs // 3, pairs}:
        distribution_of_sum = np.convolve(
            binom.pmf(np.arange(pairs - ones + 1), pairs - ones, q),
            binom.pmf(np.arange(ones + 1), ones, 1 - q),
        )
        errors = (np.arange(pairs + 1) - pairs * q) * distribution.unit - ones
        assert distribution_of_sum[np.abs(errors) > radius].sum() <= failure
    assert radius <= distribution.radius(pairs, log_failures=-math.log(failure)) * (1 + 1e-6)


@pytest.mark.parametrize("pairs", [250_000, 10**10])
@pytest.mark.parametrize("failure", [5e-6, 5e-10])
def test_binary_response_is_near_the_normal_approximation(pairs, failure):
    distribution = binary(1.0)
    normal = distribution.standard_deviation * math.sqrt(pairs) * norm.isf(failure / 2)
    assert normal < response_radius(distribution, pairs, failure=failure) < 1.012 * normal
    assert response_radius(distribution, 0, failure=failure) == 0
