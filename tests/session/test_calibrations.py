"""Calibrations against the formulas of the papers, and budgets that are never passed."""

import math
from fractions import Fraction

import pytest

from graphcuts_dp import ParameterError
from graphcuts_dp.learn import bounds
from graphcuts_dp.learn.bounds import multiplicative_weights_updates
from graphcuts_dp.learn.calibration_base import START_SHARE
from graphcuts_dp.learn.calibrations import DR14, GRU12, JT12, Tight
from graphcuts_dp.plugins import ValueNoise
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6, "queries": 10**6, "beta": 0.05}
UPDATES = multiplicative_weights_updates(5000, 50_000)
# So large that the papers' modes allow for updates.
PAPERS = multiplicative_weights_updates(10**6, 10**9, rule="as printed")
FORMULAS = {
    GRU12: bounds.gru12_online,
    JT12: bounds.jt12_online,
    DR14: bounds.dr14_online,
}


@pytest.mark.parametrize("calibration", FORMULAS)
def test_paper_calibrations_are_the_formulas(calibration):
    tuning = calibration(**GUARANTEE).tune(PAPERS, 1)
    bound = FORMULAS[calibration](PAPERS, **GUARANTEE)
    assert tuning.alpha == pytest.approx(bound.alpha, rel=1e-9)
    assert tuning.updates == bound.updates > 10
    assert float(tuning.test.threshold) == pytest.approx(bound.threshold)
    assert bound.error <= tuning.error <= bound.error + 2
    assert tuning.halts


def test_gru12_and_jt12_noise_to_the_letter():
    for calibration, constant in ((GRU12, 1000), (JT12, 100)):
        tuning = calibration(**GUARANTEE).tune(PAPERS, 1)
        scale = constant * math.sqrt(PAPERS(tuning.alpha)) * math.log(4e6)
        assert isinstance(tuning.test, NoisyComparison)
        assert float(1 / tuning.test.rate) == pytest.approx(scale, rel=1e-9)
        assert 1 / tuning.test.rate >= Fraction(scale) * (1 - Fraction(1, 10**9))
        assert float(tuning.test.threshold) == pytest.approx(4 * scale * math.log(4e7))
        assert tuning.value_error == pytest.approx(scale * math.log(4e7), abs=1)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_dr14_noise_to_the_letter(delta):
    guarantee = {**GUARANTEE, "delta": delta}
    tuning = DR14(**guarantee).tune(PAPERS, 1)
    c = PAPERS(tuning.alpha)
    spread = math.sqrt(32 * c * math.log(2e6)) if delta else 2 * c
    first = math.sqrt(512) / (math.sqrt(512) + 1) if delta else 8 / 9
    second = 2 / (math.sqrt(512) + 1) if delta else 2 / 9
    assert isinstance(tuning.test, SharedThreshold)
    assert float(tuning.test.threshold_rate) == pytest.approx(first / spread)
    assert float(tuning.test.query_rate) == pytest.approx(first / spread / 2)
    assert float(tuning.value_noise.parameter) == pytest.approx(second / spread)
    assert first + second / 2 == pytest.approx(1)
    assert DR14(**guarantee).cost.pure == (None if delta else 1)


@pytest.mark.parametrize("calibration", FORMULAS)
def test_papers_pay_for_one_update_where_the_bound_says_none(calibration):
    tuning = calibration(**GUARANTEE).tune(lambda _: 0.01, 1)
    assert tuning.updates == 1
    assert tuning == calibration(**GUARANTEE).tune(lambda _: 1.0, 1)


@pytest.mark.parametrize("sensitivity", [1, 3, 2**30])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_tight_budget_is_never_passed(sensitivity, share):
    calibration = Tight(**GUARANTEE, value_share=share)
    tuning = calibration.tune(UPDATES, sensitivity)
    rho = Fraction(zcdp_rho(epsilon=1.0, delta=1e-6))
    eta = sensitivity * (tuning.test.threshold_rate + 2 * tuning.test.query_rate)
    spent = (tuning.updates + 2) * eta**2 / 8  # exact
    if share:
        assert tuning.value_noise.distribution == "gaussian"
        spent += tuning.updates * sensitivity**2 / (2 * tuning.value_noise.parameter)
    assert rho * (1 - Fraction(1, 10**6)) < spent <= rho
    assert calibration.cost.rho == float(rho)


def test_tight_tuning_is_the_formula():
    tuning = Tight(**GUARANTEE).tune(UPDATES, 1)
    bound = bounds.tight_online(UPDATES, **GUARANTEE)
    assert (tuning.updates, tuning.halts) == (bound.updates, False)
    assert tuning.alpha == pytest.approx(bound.alpha, rel=1e-6)
    assert bound.error - 3 <= tuning.error <= bound.error * (1 + 1e-6) + 1


@pytest.mark.parametrize("sensitivity", [1, 7])
def test_intervals_are_what_the_tails_give(sensitivity):
    """Probabilities of the failures that the error counts on, from the geometric distributions."""
    tuning = Tight(**GUARANTEE).tune(UPDATES, sensitivity)
    test, c, k = tuning.test, tuning.updates, GUARANTEE["queries"]
    alpha = Fraction(tuning.alpha) * sensitivity
    margin = test.threshold - alpha
    rise = tuning.error - math.ceil(alpha) - margin
    failures = 2 * (k + c) * math.exp(-float(test.query_rate) * float(margin + 1))
    failures += (c + 2) * math.exp(-float(test.threshold_rate) * float(rise + 1))
    assert 0.049 < failures <= 0.05
    assert isinstance(test, OneSidedPair)


@pytest.mark.parametrize("calibration", [Tight, GRU12, JT12, DR14])
def test_a_noisy_total_is_paid_out_of_the_same_budget(calibration):
    whole = calibration(**GUARANTEE)
    noise, radius, cost, rest = whole.split_budget(1)
    assert rest.beta + GUARANTEE["beta"] * START_SHARE == pytest.approx(GUARANTEE["beta"])
    assert noise.radius(GUARANTEE["beta"] * float(START_SHARE)) == radius
    if calibration is Tight:
        assert Fraction(cost.rho) + Fraction(rest.cost.rho) <= Fraction(whole.cost.rho)
        assert 1 / (2 * noise.parameter) <= Fraction(whole.cost.rho) * START_SHARE
    else:
        assert cost.pure + Fraction(rest.epsilon) <= Fraction(whole.epsilon)
        assert noise == ValueNoise("laplace", cost.pure)


@pytest.mark.parametrize("calibration", [GRU12, JT12, DR14])
def test_steps_of_papers_scale_with_the_sensitivity(calibration):
    one, five = (calibration(**GUARANTEE).tune(PAPERS, sensitivity) for sensitivity in (1, 5))
    assert five.test.threshold == 5 * one.test.threshold
    for name in ("rate", "threshold_rate", "query_rate"):
        if hasattr(one.test, name):
            assert 5 * getattr(five.test, name) == getattr(one.test, name)
    if one.value_noise is not None:
        assert 5 * five.value_noise.parameter == one.value_noise.parameter
    assert (five.updates, five.alpha) == (one.updates, one.alpha)
    assert abs(five.error - 5 * one.error) <= 10  # rounded up, and one more


@pytest.mark.parametrize("calibration", [Tight, GRU12, JT12, DR14])
@pytest.mark.parametrize("change", [{"queries": 0}, {"delta": 1.0}, {"beta": 0.0}, {"beta": 1.0}])
def test_every_calibration_refuses_numbers_out_of_range_by_itself(calibration, change):
    with pytest.raises(ParameterError, match=next(iter(change))):
        calibration(**{**GUARANTEE, **change})


@pytest.mark.parametrize("calibration", FORMULAS)
def test_papers_are_held_to_the_range_of_their_theorems(calibration):
    with pytest.raises(ParameterError, match="up to 1"):
        calibration(**{**GUARANTEE, "epsilon": 1.5})
    assert DR14(epsilon=1.5, delta=0.0, queries=5).cost.pure == Fraction(3, 2)


@pytest.mark.parametrize("made", [Tight, GRU12, JT12, DR14])
def test_noise_beyond_64_bits_is_refused(made):
    calibration = made(epsilon=1e-3, delta=1e-6, queries=10)
    bound = UPDATES if made is Tight else PAPERS
    calibration.tune(bound, 1)
    with pytest.raises(ParameterError, match="64 bits"):
        calibration.tune(bound, 2**53)
