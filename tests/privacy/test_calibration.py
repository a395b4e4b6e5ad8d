"""Scales are as small as what they promise allows, and no smaller."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.calibration import (
    discrete_gaussian_scale,
    gaussian_scale,
    sparse_vector_scales,
)
from graphcuts_dp.privacy.composition import zcdp_rho


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-3])
def test_gaussian_scale_is_the_smallest(epsilon, delta):
    scale = gaussian_scale(epsilon=epsilon, delta=delta, sensitivity=3.0)

    def exact(sigma):
        """E[(1 - e^(epsilon - loss))_+] by quadrature; the loss is linear in the output."""
        unit = sigma / 3.0
        start = epsilon * unit - 1 / (2 * unit)
        body = quad(
            lambda x: norm.pdf(x) - math.exp(epsilon) * norm.pdf(x + 1 / unit),
            start,
            start + 12,
            epsabs=0,
            epsrel=1e-9,
        )
        return body[0]

    assert exact(scale) == pytest.approx(delta, rel=1e-5)
    assert exact(scale) <= delta * (1 + 1e-6) < exact(scale * 0.99)


@pytest.mark.parametrize(
    ("epsilon", "delta", "queries"),
    [(1.0, 1e-6, 1), (1.0, 1e-6, 30), (0.5, 1e-4, 20), (4.0, 1e-5, 50), (20.0, 1e-5, 60)],
)
def test_discrete_gaussian_scale_by_exact_summation(epsilon, delta, queries):
    """Convolve k distributions; neighbours shift the sum by k. A quarter less noise must fail."""
    scale = discrete_gaussian_scale(epsilon=epsilon, delta=delta, queries=queries)

    def exact(scale):
        width = int(12 * scale) + 5
        one = np.exp(-((np.arange(-width, width + 1) / scale) ** 2) / 2)
        total = np.ones(1)
        for _ in range(queries):
            total = np.convolve(total, one / one.sum())
        shifted = np.concatenate([np.zeros(queries), total[:-queries]])
        return np.maximum(total - math.exp(epsilon) * shifted, 0).sum()

    assert exact(scale) <= delta < exact(0.75 * scale)


def test_discrete_gaussian_scale_nears_the_continuous_one():
    """From above, and never above that of zCDP."""
    for queries in (1, 10, 1000, 10**6, 10**12):
        scale = discrete_gaussian_scale(epsilon=1.0, delta=1e-6, queries=queries)
        continuous = gaussian_scale(epsilon=1.0, delta=1e-6, sensitivity=math.sqrt(queries))
        by_zcdp = math.sqrt(queries / 2 / zcdp_rho(epsilon=1.0, delta=1e-6))
        assert continuous <= scale <= by_zcdp * (1 + 1e-8)
        assert scale < continuous * (1.002 if queries >= 1000 else 1.08)


def test_sparse_vector_scales_balance():
    """b1 L1 + b2 L2 is the slack, its least for that eta, and the budget is spent."""
    rho, c, k, beta = 0.02, 30, 1000, 0.05
    scales = sparse_vector_scales(rho=rho, updates=c, queries=k, beta=beta)
    L1, L2 = math.log(2 * (c + 2) / beta), math.log(4 * (k + c) / beta)
    assert (c + 2) * scales.range**2 / 8 == pytest.approx(rho)
    assert 1 / scales.threshold_scale + 2 / scales.query_scale == pytest.approx(scales.range)
    assert scales.margin == pytest.approx(scales.query_scale * L2)
    slack = scales.threshold_scale * L1 + scales.query_scale * L2
    assert slack == pytest.approx(scales.slack)
    for factor in (0.8, 1.25):
        b1 = scales.threshold_scale * factor
        b2 = 2 / (scales.range - 1 / b1)
        assert b1 * L1 + b2 * L2 > scales.slack
    # The failure probabilities of c + 2 thresholds and 2(k + c) tests add up to beta.
    assert (c + 2) * math.exp(-L1) + 2 * (k + c) * math.exp(-L2) == pytest.approx(beta)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian_scale(epsilon=0.0, delta=0.1),
        lambda: gaussian_scale(epsilon=1.0, delta=0.0),
        lambda: gaussian_scale(epsilon=1.0, delta=0.1, sensitivity=0.0),
        lambda: discrete_gaussian_scale(epsilon=0.0, delta=0.1, queries=1),
        lambda: discrete_gaussian_scale(epsilon=1.0, delta=1.0, queries=1),
        lambda: discrete_gaussian_scale(epsilon=1.0, delta=0.1, queries=0),
        lambda: sparse_vector_scales(rho=0.0, updates=1, queries=1, beta=0.1),
        lambda: sparse_vector_scales(rho=1.0, updates=-1, queries=1, beta=0.1),
        lambda: sparse_vector_scales(rho=1.0, updates=1, queries=0, beta=0.1),
        lambda: sparse_vector_scales(rho=1.0, updates=1, queries=1, beta=1.0),
    ],
)
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises(ParameterError):
        call()
