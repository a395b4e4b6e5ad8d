"""Parameters of a user's own in sessions: every one, with the bound and the cost of its theorem."""

import dataclasses
import math
import re

import numpy as np
import pytest
from parameter_cases import EVERYTHING, LENGTHS, METHODS, NOISES, typed, values_of

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.constructions import learner_of
from graphcuts_dp.options import chosen
from graphcuts_dp.plugins import Universe
from graphcuts_dp.privacy.noisy_comparison import comparison_epsilon
from graphcuts_dp.session.terms import METHOD_NAMES, SessionTerms

N, EDGES, K, BETA = 1000, 20_000, 1000, 0.05
PAIRS = N * (N - 1) // 2
TERMS = {"epsilon": 1.0, "delta": 1e-6, "queries": K}


def found(method, **values):
    return gc.session_parameters(METHODS[method][0](**values), N, edges=EDGES, **TERMS)


@pytest.mark.parametrize(("method", "calibration"), EVERYTHING)
def test_every_parameter_is_taken_from_python_and_as_text(method, calibration):
    values = values_of(method, calibration)
    made = METHODS[method][0](**values)
    assert chosen(typed(method, values), METHOD_NAMES, "method") == made
    terms = SessionTerms(
        epsilon=1.0, delta=1e-6, method=made, workload=gc.SessionWorkload(queries=K)
    )
    assert SessionTerms.of(**terms.to_dict()) == terms  # what a store keeps
    result = found(method, **values)
    numbers = {name: getattr(result.method, name) for name in (*LENGTHS, *NOISES[calibration])}
    assert numbers == pytest.approx({**LENGTHS, **NOISES[calibration]})


@pytest.mark.parametrize(("method", "calibration"), EVERYTHING)
def test_the_bound_on_updates_is_the_theorems_formula(method, calibration):
    """From the drop of the potential in one update, with the noisy total at its guess."""
    values = values_of(method, calibration)
    alpha, printed = values["alpha"], calibration != "tight"
    terms = SessionTerms.of(method=method, **values, **TERMS)
    error = terms.mechanism(Universe(N), Grid()).expected_total_error(EDGES)
    density = EDGES / PAIRS
    if method == "multiplicative-weights":
        eta, share = values["eta"], (alpha - error) / EDGES
        drop = eta * share - (eta**2 if printed else eta**2 / 8)
        potential = math.log(PAIRS) - (0 if printed else math.log(EDGES - error))
    elif method == "frieze-kannan":
        drop = values["step"] * (2 * alpha - values["step"]) / PAIRS
        potential = EDGES + error
        if not printed:
            potential = EDGES * (1 - density) + error * (1 - 2 * density)
    else:
        drop = values["eta"] * alpha - values["eta"] ** 2 * PAIRS / 2
        potential = (EDGES * (1 - density) + error * (1 - 2 * density)) / 2
    bound = potential / drop if drop > 0 else math.inf
    assert found(method, **values).update_bound == pytest.approx(bound, rel=1e-9)


def test_the_error_is_the_threshold_and_the_noise_that_gru12_allows_for():
    """Theorem 4.9: 5T/4 for T = 4 sigma ln(2k/beta), with whichever sigma."""
    for calibration in ("gru12", "jt12"):
        result = found("frieze-kannan", calibration=calibration, sigma=400.0, updates=2000)
        left_beta = BETA * (1 - 1 / 40)  # the total weight has a fortieth
        threshold = 4 * 400 * math.log(2 * K / left_beta)
        assert result.method.threshold == pytest.approx(threshold)
        part = {"gru12": 3 / 4, "jt12": 1 / 2}[calibration]
        assert result.method.alpha == pytest.approx(part * threshold)
        assert result.void_reason is None
        assert 1.25 * threshold - 1 <= result.error_bound <= 1.25 * threshold + 2


def test_the_error_of_the_tight_tests_is_the_tail_of_their_noise():
    """T + b, where no more than beta of all noise together is beyond what the bound allows for."""
    result = found("multiplicative-weights", updates=300, sigma=150.0, threshold_sigma=130.0)
    made = result.method
    left_beta = BETA * (1 - 1 / 40)
    above = result.error_bound - math.ceil(made.threshold)
    below = made.threshold - made.alpha
    failures = 302 * math.exp(-(above + 1) / 130) + 2 * (K + 300) * math.exp(-(below + 1) / 150)
    assert 0.97 * left_beta < failures <= left_beta * (1 + 1e-6)


def test_the_cost_is_that_of_the_noise_and_of_the_updates():
    for sigma, updates in ((400.0, 500), (900.0, 500), (900.0, 20)):
        result = found("multiplicative-weights", calibration="gru12", sigma=sigma, updates=updates)
        exact = comparison_epsilon(1 / sigma, updates=updates, delta=1e-6)
        assert result.noise_epsilon == pytest.approx(exact, rel=1e-9)
        assert result.noise_epsilon < 1


@pytest.mark.parametrize(
    ("calibration", "noise"),
    [
        ("gru12", {"sigma": 3.0}),
        ("jt12", {"sigma": 3.0}),
        ("dr14", {"sigma": 3.0}),
        ("dr14", {"value_sigma": 3.0}),
        ("tight", {"sigma": 3.0}),
        ("tight", {"sigma": 3.0, "threshold_sigma": 3.0}),
    ],
)
def test_noise_that_the_budget_does_not_pay_for_is_refused_with_the_least_that_it_does(
    calibration, noise
):
    with pytest.raises(ParameterError, match="must be at least") as caught:
        found("multiplicative-weights", calibration=calibration, updates=50, **noise)
    message = str(caught.value)
    assert "\n" not in message
    words = message.split()
    least = {name: float(words[words.index(name) + 5].rstrip(",")) for name in noise}
    enough = {name: value * (1 + 1e-6) for name, value in least.items()}
    result = found("multiplicative-weights", calibration=calibration, updates=50, **enough)
    assert result.noise_epsilon <= 1
    little = {name: value * (1 - 1e-3) for name, value in least.items()}
    with pytest.raises(ParameterError, match="must be at least"):
        found("multiplicative-weights", calibration=calibration, updates=50, **little)


@pytest.mark.parametrize("calibration", NOISES)
def test_noise_alone_allows_as_many_updates_as_the_budget_pays_for(calibration):
    values = {"calibration": calibration, "sigma": 300.0}
    updates = found("frieze-kannan", **values).method.updates
    found("frieze-kannan", updates=updates, **values)
    with pytest.raises(ParameterError, match=f"updates at most {updates}"):
        found("frieze-kannan", updates=updates + 1, **values)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"calibration": "gru12", "updates": 20}, "52.* updates can be needed"),
        ({"calibration": "gru12", "threshold": 900.0}, "a test that fires proves none at all"),
        ({"calibration": "dr14", "alpha": 9e5, "threshold": 9e5}, "a test that fires proves"),
        ({"alpha": 100.0, "sigma": 200.0}, "updates can be needed at alpha = 100"),
        ({"eta": 7.9, "updates": 100, "alpha": 900.0}, "any number of updates"),
    ],
)
def test_values_that_do_not_fit_together_have_no_bound(values, reason):
    result = found("multiplicative-weights", **values)
    assert result.error_bound == math.inf
    terms = SessionTerms.of(
        method="multiplicative-weights", expected_edges=EDGES, **values, **TERMS
    )
    warning = terms.warning(Universe(N), Grid())
    assert warning.startswith("no bound holds for these values: ")
    assert re.search(reason, result.void_reason)
    assert result.void_reason in warning


@pytest.mark.parametrize(
    ("method", "values", "message"),
    [
        ("multiplicative-weights", {"alpha": 0.0}, "alpha must be a number at least 1e-06"),
        ("multiplicative-weights", {"updates": 0}, "updates must be a whole number at least 1"),
        ("multiplicative-weights", {"updates": 2.5}, "updates must be a whole number"),
        (
            "multiplicative-weights",
            {"threshold": -1.0},
            "threshold must be a number at least 1e-06",
        ),
        (
            "multiplicative-weights",
            {"sigma": math.inf},
            "sigma must be a number at least 1e-06 and at",
        ),
        ("multiplicative-weights", {"eta": 0.0}, "eta must be a number above 0 and at most 100"),
        ("frieze-kannan", {"step": 0.0}, "step must be a number above 0"),
        ("mirror-descent", {"eta": -1.0}, "eta must be a number above 0"),
        ("mirror-descent", {"eta": 1.0}, "name it, for example norm='l2'"),
        (
            "frieze-kannan",
            {"calibration": "gru12", "threshold_sigma": 3.0},
            "threshold_sigma is no parameter of calibration 'gru12', which has alpha, updates,",
        ),
        ("frieze-kannan", {"value_sigma": 3.0}, "value_sigma is no parameter of calibration"),
        ("frieze-kannan", {"start": "groups", "sigma": 99.0}, "leave out sigma"),
        ("frieze-kannan", {"start": "groups", "step": 9.0}, "leave out the step"),
    ],
)
def test_values_out_of_range_are_refused_in_one_line(method, values, message):
    with pytest.raises(ParameterError) as caught:
        found(method, **values)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.thorough(cases=8)
@pytest.mark.parametrize("calibration", NOISES)
@pytest.mark.parametrize("method", METHODS)
def test_a_calibration_is_read_out_changed_in_one_value_and_passed_back(method, calibration):
    named = {"norm": "l2"} if method == "mirror-descent" else {}
    plain = found(method, calibration=calibration, **named)
    assert plain.void_reason is None
    again = gc.session_parameters(plain.method, N, edges=EDGES, **TERMS)
    for name in ("alpha", "updates", "threshold", "sigma"):
        assert getattr(again.method, name) == pytest.approx(getattr(plain.method, name), rel=1e-9)
    assert again.void_reason is None
    assert again.error_bound <= plain.error_bound * (1 + 1e-9) + 2
    changed = dataclasses.replace(plain.method, sigma=9 * plain.method.sigma)
    other = gc.session_parameters(changed, N, edges=EDGES, **TERMS)
    assert other.method.sigma == pytest.approx(9 * plain.method.sigma)
    assert other.method.updates == plain.method.updates
    assert other.noise_epsilon < again.noise_epsilon
    assert other.void_reason is not None  # T is too near for so much noise


_ASKED = 600  # random cuts that the adversary tries


def adversary(learner, truth, *, alpha, total, most):
    """Updates that whoever knows the truth can force, of cuts and of their complements."""
    universe = learner.universe
    rule = learner.construction(alpha=alpha, total_weight=total, total_error=0.0)
    hypothesis, n = rule.initial(), universe.shape[0]
    rng, updates = np.random.default_rng(0), 0
    for _ in range(_ASKED):
        S, T = rng.random((2, n)) < 0.5
        query = gc.CutQuery(S, T)
        gap = truth.cut(S, T) - hypothesis.estimate(query)
        if abs(gap) >= alpha:
            hypothesis = rule.update(hypothesis, query, 1 if gap > 0 else -1)
            updates += 1
            if updates > most:
                break
    return updates, rule.update_bound(alpha)


class Truth:
    """A random graph with a dense half."""

    def __init__(self, n=14):
        rng = np.random.default_rng(5)
        half = np.arange(n) < n // 2
        chance = np.where(half[:, None] & half, 0.95, 0.1)
        upper = np.triu(rng.random((n, n)) < chance, 1)
        self.matrix = (upper | upper.T).astype(float)
        self.total = float(upper.sum())

    def cut(self, S, T):
        universe = Universe(len(S))
        return float(universe.answers([gc.CutQuery(S, T)], self.matrix)[0])


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("factor", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("rule", ["tight", "as printed"])
@pytest.mark.parametrize("method", METHODS)
def test_no_adversary_makes_more_updates_than_the_bound_of_a_step(method, rule, factor):
    truth = Truth()
    alpha, universe = 5.0, Universe(14)
    pairs = universe.size
    best = {
        "multiplicative-weights": 4 * alpha / truth.total,
        "frieze-kannan": alpha,
        "mirror-descent": alpha / pairs,
    }[method]
    if method == "multiplicative-weights" and rule == "as printed":
        best /= 8
    terms = {"norm": "l2"} if method == "mirror-descent" else {}
    learner = learner_of(method, universe, rule=rule, step=factor * best, **terms)
    updates, bound = adversary(learner, truth, alpha=alpha, total=truth.total, most=3000)
    assert 0 < updates <= bound < math.inf


@pytest.mark.parametrize("method", METHODS)
def test_beyond_twice_the_best_step_nothing_is_proven_and_updates_do_not_end(method):
    truth = Truth()
    alpha, universe = 5.0, Universe(14)
    step = {
        "multiplicative-weights": 40 * alpha / truth.total,
        "frieze-kannan": 20 * alpha,
        "mirror-descent": 20 * alpha / universe.size,
    }[method]
    terms = {"norm": "l2"} if method == "mirror-descent" else {}
    learner = learner_of(method, universe, step=step, **terms)
    plain = learner_of(method, universe, **terms)
    _, usual = adversary(plain, truth, alpha=alpha, total=truth.total, most=1)
    updates, bound = adversary(learner, truth, alpha=alpha, total=truth.total, most=300)
    assert bound == math.inf
    assert updates > usual


def test_a_session_keeps_its_parameters_and_says_what_holds(tmp_path):
    graph = gc.Graph([0, 1, 2], [1, 2, 3], vertices=30)
    method = gc.MultiplicativeWeights(calibration="gru12", sigma=200.0, updates=5, eta=0.1)
    options = {"epsilon": 1.0, "delta": 1e-6, "queries": 20, "store": tmp_path / "s.db"}
    with pytest.warns(AccuracyWarning, match="no bound holds for these values"):
        opened = gc.open_session(graph, method=method, **options)
    with opened as session:
        first = session.ask([0, 1])
        parameters = session.learning_parameters
        assert (parameters.sigma, parameters.updates) == (pytest.approx(200.0), 5)
        assert session.error_bound == math.inf
        assert "updates can be needed" in session.void_reason
        assert first.interval[0] <= 1 <= first.interval[1]
    with gc.open_session(graph, store=tmp_path / "s.db") as again:
        assert again.learning_parameters == parameters
        assert again.ask([0, 1]).value == first.value
    with gc.open_session(graph, epsilon=1.0, queries=3, method="laplace") as plain:
        assert plain.learning_parameters is None
        assert plain.void_reason is None
    with pytest.raises(ParameterError, match="only methods that learn"):
        gc.session_parameters("gaussian", N, edges=EDGES, **TERMS)
    two_sided = gc.session_parameters(
        "frieze-kannan:calibration=dr14,updates=30", (40, 50), edges=300, **TERMS
    )
    assert two_sided.method.updates == 30
