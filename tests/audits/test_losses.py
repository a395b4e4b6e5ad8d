"""Losses by laws and by ratios: they hold as often as they say, and are not vacuous."""

import math

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.evaluation.audit import Claim
from tests.audits.losses import exact_loss, loss_by_ratio, visible_by_ratio


@pytest.mark.parametrize("rho", [0.1, 0.5, 2.0])
def test_exact_losses_of_known_distributions(rho):
    """Discrete Gaussian and randomised response, with the closed forms for both."""
    reach = int(math.sqrt(600 / rho))
    k = np.arange(-reach, reach + 1)
    first, second = (np.exp(-rho * (k - shift) ** 2) for shift in (0, 1))
    first, second = first / first.sum(), second / second.sum()
    assert exact_loss(first, second, Claim(rho, kind="rho")) == pytest.approx(rho, rel=1e-6)
    flip = 1 / (1 + math.exp(rho))
    bits = [1 - flip, flip], [flip, 1 - flip]
    assert exact_loss(*bits, Claim(1.0)) == pytest.approx(rho)
    delta = 0.01
    epsilon = math.log((1 - flip - delta) / flip)
    assert exact_loss(*bits, Claim(1.0, delta)) == pytest.approx(epsilon)
    assert exact_loss([0.5, 0.5, 0], [0.5, 0.4, 0.1], Claim(1.0)) == math.inf
    assert exact_loss([0.5, 0.5], [0.5, 0.5], Claim(1.0)) == 0


def parts(rate, factor, rng, runs, count=5):
    """Log-likelihood ratios of several counts with discrete Laplace noise of rate factor * rate.

    The ratio is by the law of noise of this rate, which is the noise only where the factor is 1.
    """
    stay = 1 - math.exp(-factor * rate)
    found = []
    for truth in (0, 1):
        geometric = rng.geometric(stay, (2, runs, count))
        noisy = truth + geometric[0] - geometric[1]
        found.append((rate * (np.abs(noisy - 1) - np.abs(noisy))).sum(axis=1))
    return tuple(found)


@pytest.mark.parametrize("count", [1, 5])
def test_the_ratio_sees_nearly_all_of_a_loss_that_is_shared_by_many_parts(count):
    rng = np.random.default_rng(7)
    runs = [parts(1 / count, 1, rng, size, count) for size in (1000, 8000)]
    seen = loss_by_ratio(*runs)
    assert 0.7 < seen <= 1
    assert 0.8 < visible_by_ratio(Claim(1.0), 8000) < 1
    if count == 1:  # the same loss as that of one bit, and a little more that tells less
        assert seen < visible_by_ratio(Claim(1.0), 8000) + 0.05
    assert visible_by_ratio(Claim(1.0), 1) == 0


def test_noise_that_is_too_small_passes_the_law_and_too_large_falls_short():
    rng = np.random.default_rng(8)
    loud, quiet = (
        loss_by_ratio(*(parts(0.2, factor, rng, size) for size in (500, 4000)))
        for factor in (1.5, 0.5)
    )
    assert loud > 1.1
    assert quiet < 0.5
    same = np.linspace(-1, 1, 50), np.linspace(-1, 1, 50)
    assert loss_by_ratio(same, same) == 0


def test_a_sound_law_is_refuted_no_more_often_than_claimed():
    """At alpha = 0.1 on 300 sound mechanisms; 55 refuted or more have probability below 1e-5."""
    rng = np.random.default_rng(9)
    wrong = sum(
        loss_by_ratio(parts(0.2, 1, rng, 40), parts(0.2, 1, rng, 80), alpha=0.1) > 1 + 1e-9
        for _ in range(300)
    )
    assert scipy.stats.binom.sf(54, 300, 0.1) < 1e-5
    assert wrong < 55
