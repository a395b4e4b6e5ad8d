"""Parameters of a user's own in releases by rounds: every one, with its bound and its cost."""

import math
from fractions import Fraction

import numpy as np
import pytest
from parameter_cases import NUMBERS, ROUNDS, STEPS

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, ParameterError
from graphcuts_dp.iterative.methods import CONSTRUCTION, construction_of
from graphcuts_dp.options import chosen
from graphcuts_dp.plugins import Task
from graphcuts_dp.privacy.composition import compose, zcdp_rho
from graphcuts_dp.privacy.count_noise import discrete_gaussian_radius, discrete_laplace_radius

N, DELTA, BETA = 400, 1e-6, 0.05
PAIRS = N * (N - 1) // 2
CUTS = [gc.CutQuery(range(start, start + 40)) for start in range(0, 360, 6)]
EVERYTHING = [(rule, calibration) for rule in STEPS for calibration in NUMBERS]
EMPTY = gc.Graph([], [], vertices=N)
_UPPER = np.triu(np.random.default_rng(0).random((N, N)) < 0.5, 1)
HALF = gc.Graph(*(indices.tolist() for indices in np.nonzero(_UPPER)), vertices=N)


def mechanism(values):
    task = Task(EMPTY, CUTS, epsilon=1.0, delta=DELTA, beta=BETA)
    return gc.Learning(**values).mechanism(task)


@pytest.mark.parametrize(("rule", "calibration"), EVERYTHING)
def test_every_parameter_is_taken_from_python_and_as_text(rule, calibration):
    values = {"calibration": calibration, **STEPS[rule], **NUMBERS[calibration]}
    text = ",".join(f"{name}={value}" for name, value in values.items())
    assert chosen(f"{rule}:{text}", CONSTRUCTION, "construction") == gc.Learning(
        rule=rule, **values
    )
    assert construction_of(f"{rule}:{text}").chosen == NUMBERS[calibration]
    tuning = mechanism({"rule": rule, **values}).tuning_at(PAIRS / 4)
    assert tuning.rounds == ROUNDS
    if calibration != "practical":
        assert (tuning.alpha, tuning.threshold) == (values["alpha"], values["threshold"])
    scale = float(tuning.noise.parameter)
    found = math.sqrt(scale) if tuning.noise.distribution == "gaussian" else 1 / scale
    assert found == pytest.approx(values["sigma"], rel=1e-9)


@pytest.mark.parametrize("calibration", ["tight", "gru12", "dr14", "nik17"])
def test_the_bound_is_the_theorems_formula(calibration):
    """Threshold, noise and shortfall; the last two fail with probability beta/2 each."""
    # With a step of alpha there are at most m X/alpha^2 = 6.2 updates.
    values = {"calibration": calibration, **NUMBERS[calibration], "alpha": 16e3, "threshold": 17e3}
    tuning = mechanism({"rule": "frieze-kannan", **values, "step": 16e3}).tuning_at(PAIRS / 4)
    left = BETA * (1 - 1 / 40)  # the total weight has a fortieth
    failure = left / (2 * ROUNDS)
    if calibration == "tight":
        noise = discrete_gaussian_radius(values["sigma"], failure=failure)
    else:
        noise = discrete_laplace_radius(1 / values["sigma"], failure=failure)
    finder = tuning.distinguisher
    # The exponential mechanism over 2k signed cuts is short by more than this with probability
    # gamma at most: ln((2k - 1)/gamma) over the rate of its scores.
    rate = float(finder.scoring.rate(finder.epsilon)) * finder.scoring.sensitivity
    short = math.log((2 * len(CUTS) - 1) / failure) / rate
    assert tuning.void_reason is None
    assert tuning.error == pytest.approx(values["threshold"] + noise + short, abs=2)


@pytest.mark.parametrize("sigma", [40.0, 90.0, 400.0])
@pytest.mark.parametrize("calibration", NUMBERS)
def test_the_cost_is_that_of_noise_and_rounds_and_no_more_than_the_budget(calibration, sigma):
    values = {"calibration": calibration, **NUMBERS[calibration], "sigma": sigma}
    made = mechanism({"rule": "multiplicative-weights", **values})
    tuning = made.tuning_at(PAIRS / 4)
    parts = tuning.costs(1, delta=DELTA)
    answers = parts[0]
    if calibration in ("practical", "tight"):
        assert answers.rho == pytest.approx(ROUNDS / (2 * sigma**2), rel=1e-9)
        rho = zcdp_rho(epsilon=1.0, delta=DELTA) * 39 / 40
        assert compose(parts, delta=DELTA).rho == pytest.approx(rho, rel=1e-6)
    else:
        assert answers.pure == pytest.approx(Fraction(ROUNDS) / Fraction(sigma), rel=1e-9)
    assert compose(parts, delta=DELTA).epsilon <= 1


@pytest.mark.parametrize("calibration", NUMBERS)
def test_noise_that_leaves_nothing_is_refused_with_the_least_that_does(calibration):
    values = {"calibration": calibration, "rounds": ROUNDS, "rule": "frieze-kannan"}
    with pytest.raises(ParameterError, match="sigma must be above") as caught:
        mechanism({**values, "sigma": 1.0})
    least = float(str(caught.value).split("above ")[1].split(",")[0])
    mechanism({**values, "sigma": least * (1 + 1e-6)})
    with pytest.raises(ParameterError, match="sigma must be above"):
        mechanism({**values, "sigma": least * (1 - 1e-6)})


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"calibration": "tight", "rounds": 5, "threshold": 30.0}, "updates need an error of"),
        ({"calibration": "dr14", "rounds": 2, "alpha": 900.0}, "updates can be needed"),
        (
            {"calibration": "tight", "rounds": 5, "alpha": 900.0, "eta": 3.0, "threshold": 2e3},
            "any number of updates",
        ),
    ],
)
def test_values_that_do_not_fit_together_have_no_bound_and_say_so(values, reason):
    made = mechanism(values)
    tuning = made.tuning_at(PAIRS / 4)
    assert tuning.error is None
    assert reason in tuning.void_reason
    with pytest.warns(AccuracyWarning, match="no bound holds for these values"):
        release = gc.release_iteratively(
            HALF, CUTS, epsilon=1.0, delta=DELTA, construction=gc.Learning(**values), seed=1
        )
    assert release.accuracy.error is None
    assert release.settings.void_reason is not None
    assert "no bound holds" in str(release._card().facts)


def test_more_noise_on_answers_leaves_more_for_the_distinguisher():
    terms = {"calibration": "dr14", "rounds": ROUNDS, "rule": "frieze-kannan"}
    less, more = (
        mechanism({**terms, "sigma": sigma}).tuning_at(PAIRS / 4) for sigma in (70.0, 700.0)
    )
    assert more.distinguisher.call.epsilon > less.distinguisher.call.epsilon


def test_a_step_is_made_in_every_round():
    graph = gc.Graph(np.zeros(200, int), np.arange(1, 201), vertices=N)
    step = 7.0
    learning = gc.Learning(rule="frieze-kannan", rounds=3, refits=0, step=step)
    made = gc.release_iteratively(
        graph, [gc.CutQuery([0])], epsilon=5.0, delta=DELTA, construction=learning, seed=2
    )
    query = gc.CutQuery([0])
    start = made.settings.total / PAIRS * (N - 1)
    updates = sum(measured.updated for measured in made.transcript)
    assert updates >= 1
    assert made.hypothesis.estimate(query) == pytest.approx(start + updates * step, rel=1e-6)
