"""The iterative construction mechanism: rounds, accounting, corrections."""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from helpers import cuts_of_halves, two_cliques

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.construction import IterativeConstruction
from graphcuts_dp.iterative.distinguisher import ExactCuts, Exponential
from graphcuts_dp.iterative.paper_tuning import PaperIterative
from graphcuts_dp.iterative.rank_one import ResponseRankOne
from graphcuts_dp.iterative.tuning import (
    IterativeParameters,
    PracticalIterative,
    PureIterative,
    TightIterative,
)
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    MedianLearner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.learn.median import Median, all_graphs
from graphcuts_dp.learn.potentials import SchattenNorm
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.plugins import Cost, ProposedQuery, SeededEntropy, Universe
from graphcuts_dp.privacy.composition import compose, zcdp_rho

N = 40
UNIVERSE = Universe(N)
HALF = gc.CutQuery(range(N // 2))  # empty in two cliques of 20, where the uniform start says 205
DELTA = 1e-6


LISTED = Exponential(queries=cuts_of_halves(N, 60, 1), epsilon=Fraction(1))
LEARNERS = [
    MultiplicativeWeightsLearner(UNIVERSE),
    FriezeKannanLearner(UNIVERSE, disjoint=True),
    MirrorDescentLearner(UNIVERSE, disjoint=True),
]
MECHANISM = IterativeConstruction(
    learner=LEARNERS[0],
    distinguisher=LISTED,
    calibration=PracticalIterative(epsilon=4.0, delta=DELTA),
    grid=Grid(),
)


def practical(epsilon, **options):
    parameters = IterativeParameters(**options)
    return PracticalIterative(epsilon=epsilon, delta=DELTA, parameters=parameters)


def run(seed=1, graph=None, **options):
    made = replace(MECHANISM, **options)
    return made.run(two_cliques(N) if graph is None else graph, SeededEntropy(seed))


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
@pytest.mark.parametrize("kind", [PracticalIterative, TightIterative])
@pytest.mark.parametrize("cap", [None, 3.0])
def test_learns_what_the_graph_looks_like(learner, kind, cap):
    """The largest gap falls from 205 to below 80; the stated error holds. Likewise where all edges
    have the largest weight, in units of it.

    Measured 10 to 45 (seeds 1 to 40); the stated error fails with probability 0.05 a run at most,
    and in none of these.
    """
    graph = two_cliques(N)
    if cap is not None:
        graph = two_cliques(N, weights=np.full(len(graph.rows), cap), max_weight=cap)
    grid = Grid.of(graph)
    options = {"learner": learner, "calibration": kind(epsilon=10.0, delta=DELTA), "refits": 4}
    options |= {"grid": grid, "distinguisher": replace(LISTED, grid=grid)}
    outcome, unit = run(graph=graph, **options), replace(MECHANISM, grid=grid).unit
    assert unit == pytest.approx(cap or 1.0)
    truth = LISTED.queries.counts(graph, grid) * grid.unit
    errors = np.abs(LISTED.queries.answers(outcome.hypothesis) * unit - truth)
    assert errors.max() <= outcome.error * unit
    assert errors.max() < 80 * unit
    assert any(measured.updated for measured in outcome.transcript)


@dataclass(frozen=True)
class RuleLearner:
    """A learner of one's own, of nine pairs: mirror descent with a Schatten norm, or the median."""

    universe: Universe
    name: str

    def construction(self, *, alpha, total_weight, total_error, value_error=None):
        del total_error
        if self.name == "median":
            return Median(start=all_graphs(self.universe), alpha=alpha)
        return MirrorDescentRule(
            start=minimal_start(self.universe, SchattenNorm(1.5)),
            psi=SchattenNorm(1.5),
            alpha=alpha,
            zeta=float(self.universe.size),
            start_potential=total_weight,
            value_error=value_error,
        )

    def check(self, query):
        self.universe.masks(query)


@pytest.mark.parametrize("name", ["schatten", "median"])
def test_any_update_rule_can_learn(name):
    """One user has all three items, two have none: all sums of rows, at epsilon = 50.

    Both start with an error of 3; measured at most 1.1 for seeds 1 to 12.
    """
    universe = Universe(3, 3)
    graph = gc.BipartiteGraph([0, 0, 0], [0, 1, 2], left=3, right=3)
    S = np.array([[i >> j & 1 for j in range(3)] for i in range(1, 8)], dtype=bool)
    cuts = gc.CutList.of_masks(universe, S, np.ones_like(S))
    outcome = run(
        graph=graph,
        learner=RuleLearner(universe, name),
        distinguisher=Exponential(queries=cuts, epsilon=Fraction(1)),
        calibration=PracticalIterative(
            epsilon=50.0, delta=1e-3, parameters=IterativeParameters(rounds=12)
        ),
        refits=20,
    )
    off = np.abs(cuts.answers(outcome.hypothesis) - cuts.counts(graph, Grid()))
    assert off.max() < 1.5
    assert off.max() <= outcome.error


# What is paid for.

BITS = noise_distribution("binary", epsilon=1.0, max_weight=None)
PAID_ONCE = ResponseRankOne(universe=UNIVERSE, distribution=BITS)
TERMS = {"epsilon": 1.0, "delta": DELTA}
CALIBRATIONS = {
    "practical": PracticalIterative(**TERMS),
    "tight": TightIterative(**TERMS),
    **{paper: PaperIterative(paper=paper, **TERMS) for paper in ("gru12", "dr14", "nik17")},
    "dr14, pure": PaperIterative(paper="dr14", epsilon=1.0, delta=0.0),
    "pure": PureIterative(universe=UNIVERSE, epsilon=1.0, parameters=IterativeParameters(rounds=8)),
    "pure, three rounds": PureIterative(
        universe=UNIVERSE, epsilon=1.0, parameters=IterativeParameters(rounds=3)
    ),
}


def cost_of(noise, steps):
    """As the class of the noise proves it, of a sensitivity of so many steps."""
    if noise.distribution == "laplace":
        return Cost.of_pure(noise.parameter * steps)
    return Cost.of_rho(float(steps**2 / (2 * noise.parameter)), delta=DELTA)


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("steps", [1, 4])
def test_all_parts_together_cost_the_budget(name, steps):
    """The noisy total, answers and calls, from the scales of their noise; papers leave a part."""
    calibration = CALIBRATIONS[name]
    noise, _, for_total, rest = calibration.split_budget(steps)
    finder = PAID_ONCE if name.startswith("pure") else LISTED
    tuning = rest.tune(lambda alpha: 1e8 / alpha**2, finder, unit_weight=1.0, sensitivity=steps)
    assert tuning.rounds > 1
    total, count = cost_of(noise, steps), tuning.rounds
    assert total.epsilon <= for_total.epsilon * (1 + 1e-9)
    each = [cost_of(tuning.noise, steps), tuning.distinguisher.call]
    parts = [total, *(part.times(count) for part in each if part is not None)]
    parts += [part for part in [tuning.distinguisher.setup] if part is not None]
    spent = compose(parts, delta=calibration.cost.delta).epsilon
    if name in ("practical", "tight"):
        spent = sum(part.rho for part in parts) / zcdp_rho(**TERMS)
    assert spent <= 1 + 1e-9
    if isinstance(calibration, PaperIterative):
        assert tuning.distinguisher.epsilon <= tuning.noise.parameter * steps
    else:
        assert spent >= 1 - 1e-5
    if name.startswith("pure"):
        assert sum(part.pure for part in parts) == calibration.cost.pure == 1
        plan = calibration.budget_plan(["total weight"]).with_certain_runs()
        told = dict(plan.spent_by_statistic(1.0))
        assert list(told) == ["total weight", "noisy matrix", "answers"]
        assert list(told.values()) == pytest.approx(
            [float(part.pure) for part in (parts[0], parts[2], parts[1])]
        )


@pytest.mark.parametrize("name", ["gru12", "dr14", "nik17", "dr14, pure"])
def test_what_a_distinguisher_misses_counts_in_units(name):
    """A unit of four edges makes the same shortfall a quarter as large."""
    alphas = [
        CALIBRATIONS[name]
        .tune(lambda alpha: 1e8 / alpha**2, LISTED, unit_weight=one, sensitivity=1)
        .alpha
        for one in (1.0, 4.0, 16.0)
    ]
    assert alphas[0] > alphas[1] >= alphas[2]


def test_tight_tuning_is_the_best_of_its_splits():
    def bound(alpha):
        return 1e6 / alpha**2

    calibration = CALIBRATIONS["tight"]
    best = calibration.tune(bound, LISTED, unit_weight=1.0, sensitivity=1)
    for rounds in (10, 100, best.rounds):
        other = replace(calibration, parameters=IterativeParameters(rounds=rounds))
        other = other.tune(bound, LISTED, unit_weight=1.0, sensitivity=1)
        assert best.error <= other.error
        assert math.floor(bound(other.alpha)) <= rounds
        assert other.threshold == other.alpha + other.value_error


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_practical_number_of_rounds_balances_noise_and_what_is_left_to_learn(epsilon):
    """No other number has a smaller sum of alpha/4, the noise and what a call may miss."""
    bound = MultiplicativeWeightsLearner(Universe(12)).construction(
        alpha=20.0, total_weight=30.0, total_error=0.0
    )

    def score(rounds):
        cuts = ExactCuts(universe=Universe(12), epsilon=Fraction(1))
        tuning = practical(epsilon, rounds=rounds).tune(
            bound.update_bound, cuts, unit_weight=1.0, sensitivity=1
        )
        missed = tuning.distinguisher.usual_shortfall
        return tuning.alpha / 4 + tuning.value_error + missed, tuning.rounds

    best, rounds = score(None)
    assert 1 <= rounds <= 16
    assert best <= min(score(other)[0] for other in (2, 3, 4, 8, 16, 64, 1000)) * (1 + 1e-9)


def test_a_total_is_public_or_the_true_one_and_the_noise_that_is_paid_for():
    edges = len(two_cliques(N).rows)
    outcome = run(total_weight=float(edges))
    assert (outcome.total_weight, outcome.total_error) == (edges, 0)
    calibration = practical(1.0, rounds=1)
    noise, *_ = calibration.split_budget(1)
    drawn = [noise.draw(SeededEntropy(seed)) for seed in range(10)]
    assert len(set(drawn)) > 5
    for seed, number in enumerate(drawn):
        assert run(seed, calibration=calibration).total_weight == edges + number
        none = run(seed, gc.Graph([], [], vertices=N), calibration=calibration)
        assert min(none.total_weight, none.total_error) >= 1  # some weight to begin with


# Rounds and corrections.


class Liar:
    """A distinguisher that finds the same cut for ever; the noise may be huge."""

    name, setup, universe = "liar", None, UNIVERSE
    call = LISTED.call
    usual_shortfall = 0.0

    def __init__(self, query=HALF):
        self.query = query

    def shortfall(self, _):
        return 0.0

    def with_rho(self, *_, **__):
        return self

    with_epsilon = begin = with_rho

    def find(self, *_):
        return ProposedQuery(query=self.query, sign=None)


def lied_to(seed, calibration, learner=LEARNERS[1], query=HALF, **options):
    options |= {"calibration": calibration, "learner": learner, "distinguisher": Liar(query)}
    return run(seed, **options)


def test_rounds_are_a_hard_cap_and_the_last_one_corrects_where_there_is_nothing_to_state():
    seen = []
    outcome = replace(MECHANISM, calibration=practical(1.0, rounds=5)).run(
        two_cliques(N), SeededEntropy(2), progress=lambda *done: seen.append(done)
    )
    assert [done for done, _ in seen] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [measured.round for measured in outcome.transcript] == [1, 2, 3, 4, 5]
    assert not outcome.transcript[-1].updated
    assert outcome.stopped == "rounds"
    calibration = PureIterative(
        universe=UNIVERSE, epsilon=20.0, parameters=IterativeParameters(rounds=1)
    )
    outcome = run(2, calibration=calibration, distinguisher=PAID_ONCE)
    assert [measured.updated for measured in outcome.transcript] == [True]


def test_a_wrong_bound_costs_accuracy_and_not_privacy():
    """B claims a millionth of the updates: there are few rounds, whatever the graph needs."""

    class Boaster:
        universe, name = UNIVERSE, "boaster"

        def construction(self, **numbers):
            made = FriezeKannanLearner(UNIVERSE).construction(**numbers)
            return replace(made, start_potential=made.start_potential / 1e6)

        def check(self, query):
            raise NotImplementedError

    outcome = lied_to(3, TightIterative(epsilon=50.0, delta=DELTA), Boaster())
    assert len(outcome.transcript) <= outcome.tuning.rounds < 10


def test_an_answer_corrects_the_hypothesis_up_to_its_noise():
    outcome = lied_to(4, practical(50.0, rounds=2))
    off = [abs(each.value - outcome.hypothesis.estimate(HALF)) for each in outcome.transcript]
    assert off[0] == pytest.approx(outcome.tuning.value_error)
    assert outcome.error == pytest.approx(off[1] + outcome.tuning.error)
    nothing = lied_to(6, practical(1.0, rounds=3), query=gc.CutQuery([], []))
    assert not any(measured.updated for measured in nothing.transcript)  # a cut without pairs


def test_old_answers_and_the_total_weight_are_fitted_again():
    """Frieze-Kannan takes the empty cut's 205 edges away; old answers put the total back."""
    gaps, totals = {}, {}
    for refits in (0, 50):
        options = {"calibration": practical(50.0, rounds=8), "learner": LEARNERS[1]}
        outcome = run(5, refits=refits, **options)
        old = outcome.transcript[:-1]
        estimates = outcome.hypothesis.estimate_all([measured.query for measured in old])
        off = np.abs(estimates - [measured.value for measured in old]).max()
        gaps[refits] = off / outcome.tuning.value_error
        learner = FriezeKannanLearner(UNIVERSE)
        outcome = lied_to(3, practical(50.0, rounds=2), learner, refits=refits)
        everything = outcome.hypothesis.estimate(gc.CutQuery(range(N), range(N)))
        totals[refits] = abs(everything - outcome.total_weight)
    assert gaps[50] <= gaps[0]
    assert gaps[50] <= 2
    assert totals[0] > 150
    assert totals[50] < 20


def test_no_start_is_farther_off_than_where_no_updates_are_said_to_be_needed():
    """Every cut of every graph on four vertices of few edges; the median starts with half of all.

    Where B is 0, a round that tests nothing would be trusted.
    """
    universe = Universe(4)
    rows, columns = universe.pairs()
    cuts = [gc.CutQuery([v for v in range(4) if side >> v & 1]) for side in range(1, 15)]
    finder = Exponential(queries=gc.CutList(universe, cuts), epsilon=Fraction(1))
    kinds = (MedianLearner, MultiplicativeWeightsLearner, FriezeKannanLearner)
    for kind, edges in itertools.product(kinds, range(1, 6)):
        terms, learner = {"total_weight": float(edges), "total_error": 0.0}, kind(universe)
        made = replace(MECHANISM, learner=learner, distinguisher=finder)
        bound = made._update_bound(float(edges), 0.0, learner)
        start = learner.construction(alpha=1.0, **terms).initial()
        answers = np.array([start.estimate(cut) for cut in cuts])
        for chosen in itertools.combinations(range(6), edges):
            graph = gc.Graph(rows[list(chosen)], columns[list(chosen)], vertices=4)
            truth = np.array([cut.value(graph) for cut in cuts])
            gap = float(np.abs(truth - answers).max())
            assert gap <= 1e-9 or bound(gap * (1 - 1e-9)) > 0
