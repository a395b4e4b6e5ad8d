"""Guaranteed errors of a session's methods, as far as they can be checked by drawing noise."""

import math

import numpy as np
import pytest

from graphcuts_dp.learn.bounds import SessionWorkload, Setting, noise_of, response_error
from graphcuts_dp.learn.calibrations import guaranteed_error
from graphcuts_dp.session.terms import METHODS

ASKED = SessionWorkload(queries=50, beta=0.2)
SETTING = Setting(n=40, edges=200, workload=ASKED, epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("method", ["gaussian", "laplace", "binary"])
def test_guarantees_hold_as_often_as_promised_and_are_not_far_off(method):
    """400 sessions of 50 answers: beta = 0.2 (fails with probability 1e-6 at most), and of use."""
    rng = np.random.default_rng(11)
    if method == "gaussian":
        noise = np.rint(rng.normal(scale=noise_of("gaussian", SETTING).deviation, size=(400, 50)))
    elif method == "laplace":
        rate = SETTING.epsilon / ASKED.queries
        geometric = rng.geometric(-math.expm1(-rate), size=(2, 400, 50))
        noise = geometric[0] - geometric[1]
    else:
        distribution = SETTING.distribution
        flips = rng.binomial(SETTING.sizes.most, distribution.offset, size=(400, 50))
        noise = (flips - SETTING.sizes.most * distribution.offset) * distribution.unit
    error = guaranteed_error(method, SETTING, adaptive=False)
    worst = np.abs(noise).max(axis=1)
    assert (worst > error).sum() <= 0.2 * 400 + 40  # five deviations
    assert (worst > 0.9 * error).sum() > 0.2 * 400 / 2


def test_adaptive_cuts_cost_more_where_noise_is_drawn_once():
    for method in METHODS:
        fixed = guaranteed_error(method, SETTING, adaptive=False)
        adaptive = guaranteed_error(method, SETTING)
        if method == "binary":
            assert adaptive == response_error(SETTING) > 1.5 * fixed
        else:
            assert adaptive == fixed
