"""From zCDP to (epsilon, delta) and back, on the safe side."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import zcdp_delta, zcdp_rho


def test_rho_of_one_and_a_millionth():
    assert zcdp_rho(epsilon=1.0, delta=1e-6) == pytest.approx(0.02436, abs=5e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.2])
def test_rho_is_rounded_down_and_no_other_order_is_better(epsilon, delta):
    rho = zcdp_rho(epsilon=epsilon, delta=delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert zcdp_delta(rho * (1 + 1e-5), epsilon) > delta
    a = 1 + np.exp(np.linspace(-15, 15, 4001))
    logs = (a - 1) * (a * rho - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)
    assert math.exp(logs.min()) >= zcdp_delta(rho, epsilon) * (1 - 1e-9)


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.2, 8.0), (1.0, 3.0), (3.0, 1.2)])
def test_the_zcdp_delta_covers_the_gaussian_mechanism(epsilon, sigma):
    """Gaussian noise is 1/(2 sigma^2)-zCDP; its exact delta may not be larger than the bound's."""
    near = 1 / (2 * sigma)
    exact = norm.cdf(near - epsilon * sigma) - math.exp(epsilon) * norm.cdf(-near - epsilon * sigma)
    assert 0 < exact <= zcdp_delta(1 / (2 * sigma**2), epsilon)


@pytest.mark.parametrize(
    "call",
    [
        lambda: zcdp_rho(epsilon=0.0, delta=1e-6),
        lambda: zcdp_rho(epsilon=math.inf, delta=1e-6),
        lambda: zcdp_rho(epsilon=1.0, delta=0.0),
        lambda: zcdp_rho(epsilon=1.0, delta=1.0),
        lambda: zcdp_delta(0.0, 1.0),
        lambda: zcdp_delta(1.0, math.nan),
    ],
)
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises(ParameterError):
        call()
