"""Accuracy theorems of the iterative construction mechanism, and the errors in their papers.

At the privacy that users may ask for (epsilon up to 50 for everything), the papers' bounds are
above the total weight of any graph that fits a test. The theorems hold for every epsilon, so they
are tested where they say something: with epsilon_0 of about 20 for each step.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from helpers import cuts_of_halves

import graphcuts_dp as gc
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.construction import IterativeConstruction
from graphcuts_dp.iterative.distinguisher import ExactCuts, Exponential
from graphcuts_dp.iterative.paper_tuning import PAPERS, Margins, PaperIterative
from graphcuts_dp.iterative.tuning import PracticalIterative, TightIterative
from graphcuts_dp.learn.bounds import frieze_kannan_updates, multiplicative_weights_updates
from graphcuts_dp.learn.learners import FriezeKannanLearner, MultiplicativeWeightsLearner
from graphcuts_dp.plugins import Cost, SeededEntropy, Universe
from graphcuts_dp.privacy.composition import compose
from scripts.figures.update_sequence import UpdateSequence

N = 12
UNIVERSE = Universe(N)
BETA = 0.1


def graph_of_two_blocks(seed):
    rng = np.random.default_rng(seed)
    rows, columns = np.triu_indices(N, 1)
    kept = rng.random(len(rows)) < np.where((rows < 6) == (columns < 6), 0.95, 0.05)
    return gc.Graph(rows[kept], columns[kept], vertices=N)


def beyond_the_range(paper, epsilon):
    """A calibration with more epsilon than users may ask for, purely private."""
    calibration = PaperIterative(paper=paper, epsilon=1.0, delta=1e-6, beta=BETA)
    object.__setattr__(calibration, "epsilon", epsilon)
    object.__setattr__(calibration, "delta", 0.0)
    return calibration


def mechanism_of(calibration, learner, *, finder=None, **options):
    finder = finder or Exponential(queries=cuts_of_halves(N, 20), epsilon=Fraction(1))
    return IterativeConstruction(
        learner=learner, distinguisher=finder, calibration=calibration, grid=Grid(), **options
    )


def check_errors(mechanism, graph, runs, seed, *, queries=None):
    """Whether the stated error holds as often as it should; the last run, and rounds of all."""
    queries = queries or mechanism.distinguisher.queries
    truth, source = queries.counts(graph, Grid()), SeededEntropy(seed)
    wrong = rounds = 0
    for _ in range(runs):
        outcome = mechanism.run(graph, source)
        wrong += np.abs(queries.answers(outcome.hypothesis) - truth).max() > outcome.error
        rounds += len(outcome.transcript)
    # More failures have probability 1e-6 if each run fails with probability BETA.
    assert wrong <= scipy.stats.binom.isf(1e-6, runs, BETA)
    return outcome, rounds


def check_theorem(paper, learner, runs, seed):
    graph = graph_of_two_blocks(seed)
    calibration, total = beyond_the_range(paper, 3000.0), float(len(graph.rows))
    mechanism = mechanism_of(calibration, learner, total_weight=total)
    outcome, _ = check_errors(mechanism, graph, runs, seed)
    assert outcome.tuning.rounds >= 1
    return outcome


LEARNERS = [
    FriezeKannanLearner(UNIVERSE, disjoint=True),
    FriezeKannanLearner(UNIVERSE, rule="as printed"),
    MultiplicativeWeightsLearner(UNIVERSE, "as printed"),
    MultiplicativeWeightsLearner(UNIVERSE),
]


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: f"{x.name}, {x.rule}")
def test_accuracy_theorems(paper, learner):
    """DR14 Theorems 5.4 and 5.6, GRU12 Theorem 7.3, Nik17 section 1.2, with their corrections."""
    outcome = check_theorem(paper, learner, 12, 1)
    # It says something: the error is less than the graph's weight.
    assert outcome.error < 60


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: f"{x.name}, {x.rule}")
def test_accuracy_theorems_in_300_runs(paper, learner):
    check_theorem(paper, learner, 300, 2)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", [TightIterative, PracticalIterative])
def test_stated_errors_hold(kind):
    """The error that a calibration states, for all cuts of a list, in 20 runs."""
    calibration = kind(epsilon=50.0, delta=0.01, beta=BETA)
    mechanism = mechanism_of(calibration, LEARNERS[0], refits=4)
    _, rounds = check_errors(mechanism, graph_of_two_blocks(3), 20, 3)
    assert rounds >= 20


def test_dr14_theorem_5_4():
    """The alpha that is chosen is at most the theorem's, but for a bisection's last step."""
    calibration = beyond_the_range("dr14", 3000.0)
    mechanism = mechanism_of(calibration, LEARNERS[0], total_weight=30.0)
    tuning = mechanism.run(graph_of_two_blocks(1), SeededEntropy(1)).tuning
    each = float(mechanism.calibration.epsilon_0(tuning.rounds + 1))  # T jumps where alpha is least
    gamma = BETA / (2 * (tuning.rounds + 1))
    short = tuning.distinguisher.with_epsilon(Fraction(each), rounds=1).shortfall(gamma)
    theorem = max(8 * math.log(1 / gamma) / each, 8 * short)
    assert tuning.error <= theorem * (1 + 1e-6)
    assert tuning.error == pytest.approx(2 * tuning.alpha)


def test_all_cuts_at_once():
    """With ExactCuts the statement is about every cut between disjoint sets: 3^7 of them."""
    n = 7
    rng = np.random.default_rng(4)
    rows, columns = np.triu_indices(n, 1)
    kept = rng.random(len(rows)) < 0.5
    graph, universe = gc.Graph(rows[kept], columns[kept], vertices=n), Universe(n)
    places = np.array(np.meshgrid(*[range(3)] * n)).reshape(n, -1).T
    everything = gc.CutList.of_masks(universe, places == 1, places == 2)
    mechanism = mechanism_of(
        TightIterative(epsilon=50.0, delta=0.01, beta=BETA),
        MultiplicativeWeightsLearner(universe),
        finder=ExactCuts(universe=universe, epsilon=Fraction(1)),
    )
    check_errors(mechanism, graph, 20, 4, queries=everything)


# Errors in the papers.


def test_gru12_alg_3_runs_too_few_rounds():
    """Updates at alpha/2 may come B(alpha/2) times, more often than the printed B(alpha)."""
    universe = Universe(8)
    everything = gc.CutQuery(range(8), range(8))
    alpha = 25.0
    complete = np.ones((8, 8)) - np.eye(8)
    learner = FriezeKannanLearner(universe, rule="as printed")
    rule = learner.construction(alpha=alpha / 2, total_weight=28.0)
    sequence = UpdateSequence(rule, complete)
    sequence.exhaust([everything])
    printed = frieze_kannan_updates(8, 28, rule="as printed")
    assert sequence.count > printed(alpha)
    assert sequence.count <= printed(alpha / 2)


def test_gru12_alg_3_reaches_three_halves_of_alpha():
    """A round that stops at 3/4, with noise of 1/4 and a shortfall of 1/2, leaves 3/2 alpha."""
    margins = Margins.of("gru12")
    assert margins.error == Fraction(3, 2)
    assert margins.threshold - margins.noise >= margins.tolerance
    gap, largest = Fraction(99, 100), Fraction(148, 100)  # in parts of alpha
    assert gap - margins.noise < margins.threshold  # it stops,
    assert largest - gap <= margins.shortfall  # the distinguisher keeps its word,
    assert 1 < largest <= margins.error  # and the error is above alpha.


def test_margins_of_dr14_and_nik17_reach_what_they_claim():
    assert Margins.of("dr14").error == 1
    assert Margins.of("nik17").error == 4
    for margins in map(Margins.of, PAPERS):
        assert margins.threshold - margins.noise >= margins.tolerance


def test_gru12_corollary_7_4_has_a_quarter_of_the_updates():
    """It takes B = 2 m^2 ln V; Theorem A.4's 4 m^2 ln X is 8 m^2 ln V, nearly."""
    n, m = 10**6, 10**7
    proven = multiplicative_weights_updates(n, m, rule="as printed")(1.0)
    ratio = proven / (2 * m**2 * math.log(n))
    assert ratio == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_dr14_theorem_5_7_has_constants_32_and_64(delta):
    """8 F at the prescribed epsilon_0 is 32 T ln(Q/gamma)/epsilon, or 64 sqrt(T ln(1/delta))."""
    rounds, gamma, epsilon = 9, 0.01, 1.0
    calibration = PaperIterative(paper="dr14", epsilon=epsilon, delta=delta)
    tuned = Exponential(queries=cuts_of_halves(N, 50), epsilon=calibration.epsilon_0(rounds))
    log_failures = math.log(100 / gamma)  # each query counts with both signs
    steps = 64 * math.sqrt(rounds * math.log(1 / delta)) if delta else 32 * rounds
    corrected = steps * log_failures / epsilon
    printed = corrected / 4
    assert 8 * tuned.shortfall(gamma) == pytest.approx(corrected, rel=1e-3)
    assert tuned.shortfall(gamma) > printed / 8  # the margin that the printed alpha leaves


def test_dr14_alphas_count_edges_here():
    """Theorem 5.4's 1/||x||_1 is gone: noise and shortfall do not depend on the weight."""
    found = []
    for total_weight in (20.0, 60.0):
        made = mechanism_of(
            beyond_the_range("dr14", 1000.0), LEARNERS[0], total_weight=total_weight
        )
        tuning = made.run(graph_of_two_blocks(1), SeededEntropy(1)).tuning
        found.append((tuning.rounds, tuning.alpha))
        log_terms = math.log(2 * tuning.rounds / BETA)
        each = float(made.calibration.epsilon_0(tuning.rounds))
        assert 2 * tuning.alpha >= 8 * (log_terms / each - 1)
    assert found[0] != found[1]


def test_nik17_exponent_as_printed_is_not_private():
    """exp(|gap|/(2 epsilon_0/n)) tells more the smaller epsilon_0 is, where it should tell less."""
    epsilon = 0.1
    here, there = np.array([3.0, 0.0]), np.array([2.0, 0.0])  # counts of one query and of another

    def loss(rate):
        distributions = [np.exp(rate * gaps) / np.exp(rate * gaps).sum() for gaps in (here, there)]
        return np.abs(np.log(distributions[0] / distributions[1])).max()

    assert loss(1 / (2 * epsilon)) > 10 * epsilon
    assert loss(epsilon / 2) <= epsilon
    tuned = Exponential(queries=cuts_of_halves(N, 2), epsilon=Fraction(1, 10))
    rate = tuned.scoring.rate(tuned.epsilon) * tuned.scoring.sensitivity
    assert rate == Fraction(1, 20)


def test_nik17_composition_has_a_logarithm_of_delta():
    """2 L steps cost about epsilon_0 sqrt(4 L ln(1/delta)), far less than with sqrt(L/delta)."""
    steps, each, delta = 100, Fraction(1, 1000), 1e-6
    spent = compose([Cost.of_pure(each)] * (2 * steps), delta=delta).epsilon
    assert spent <= float(each) * math.sqrt(4 * steps * math.log(1 / delta)) * 1.01
    assert spent < float(each) * math.sqrt(steps / delta) / 100
