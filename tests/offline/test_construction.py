"""The iterative construction mechanism: rounds, accounting, corrections, refusals."""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    MedianLearner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.learn.median import Median, all_graphs
from graphcuts_dp.learn.potentials import SchattenNorm
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.offline.construction import IterativeConstruction
from graphcuts_dp.offline.distinguisher import ExactCuts, Exponential, Found
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.rank_one import ResponseRankOne
from graphcuts_dp.offline.tuning import (
    PaperOffline,
    PracticalOffline,
    PureOffline,
    TightOffline,
)
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import compose, zcdp_rho
from graphcuts_dp.privacy.noise import SeededEntropy

N = 40
UNIVERSE = Universe(N)
HALF = CutQuery(range(N // 2))


def blocks_graph():
    """Two cliques of 20: the cut between them is empty, the uniform start says 205."""
    pairs = [(i, j) for i in range(N) for j in range(i) if (i < 20) == (j < 20)]
    rows, columns = zip(*pairs, strict=True)
    return Graph(rows, columns, vertices=N)


def some_cuts(count=60, seed=1):
    rng = np.random.default_rng(seed)
    S = rng.random((count, N)) < 0.5
    S[0] = np.arange(N) < 20
    return CutList.of_masks(UNIVERSE, S, ~S)


LISTED = Exponential(queries=some_cuts(), epsilon=Fraction(1))
LEARNERS = [
    MultiplicativeWeightsLearner(UNIVERSE),
    FriezeKannanLearner(UNIVERSE, disjoint=True),
    MirrorDescentLearner(UNIVERSE, disjoint=True),
]


def mechanism(calibration=None, learner=LEARNERS[0], distinguisher=LISTED, **options):
    return IterativeConstruction(
        learner=learner,
        distinguisher=distinguisher,
        calibration=calibration or PracticalOffline(epsilon=4.0, delta=1e-6),
        **{"grid": Grid()} | options,
    )


def run(*of, seed=1, graph=None, **options):
    return mechanism(*of, **options).run(graph or blocks_graph(), SeededEntropy(seed))


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
@pytest.mark.parametrize("calibration", ["practical", "tight"])
def test_learns_what_the_graph_looks_like(learner, calibration):
    """The largest gap falls from 205 to below 80; the stated error holds.

    Measured 10 to 45 (seeds 1 to 40); the stated error fails with probability 0.05 a run at most,
    and in none of these.
    """
    kind = PracticalOffline if calibration == "practical" else TightOffline
    graph = blocks_graph()
    made = mechanism(kind(epsilon=10.0, delta=1e-6), learner, refits=4)
    truth = LISTED.queries.counts(graph, Grid())
    outcome = made.run(graph, SeededEntropy(1))
    errors = np.abs(LISTED.queries.answers(outcome.hypothesis) - truth)
    assert errors.max() <= outcome.error
    assert errors.max() < 80
    assert any(measured.updated for measured in outcome.transcript)


@pytest.mark.parametrize(("kind", "calls"), [(PracticalOffline, 3), (TightOffline, 1)])
def test_all_parts_together_cost_the_budget(kind, calls):
    _, _, for_total, rest = kind(epsilon=1.0, delta=1e-6, calls=calls).with_total(1)
    tuning = rest.tune(lambda alpha: 1e4 / alpha**2, LISTED, one=1.0, steps=1)
    answers = Fraction(1) / (2 * tuning.noise.parameter)
    each = tuning.distinguisher.call.rho + float(answers)
    spent = for_total.rho + tuning.rounds * calls * each
    rho = zcdp_rho(epsilon=1.0, delta=1e-6)
    assert rho * (1 - 1e-6) <= spent <= rho * (1 + 1e-12)
    assert tuning.calls == calls


@pytest.mark.parametrize(("paper", "delta"), [("dr14", 0.0), ("dr14", 1e-6), ("gru12", 1e-6)])
def test_all_parts_of_a_papers_mode_cost_the_budget(paper, delta):
    _, _, for_total, rest = PaperOffline(paper=paper, epsilon=1.0, delta=delta).with_total(1)
    tuning = rest.tune(lambda alpha: 1e8 / alpha**2, LISTED, one=1.0, steps=1)
    assert tuning.rounds > 1
    noise = replace(tuning.distinguisher, epsilon=tuning.noise.parameter).call
    spent = compose([for_total, *[tuning.distinguisher.call, noise] * tuning.rounds], delta=delta)
    assert spent.epsilon <= 1.0 + 1e-9
    assert tuning.distinguisher.epsilon <= tuning.noise.parameter


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


@pytest.mark.parametrize("name", ["schatten", "median"])
def test_any_update_rule_can_learn(name):
    """One user has all three items, two have none: all sums of rows, at epsilon = 50.

    Both start with an error of 3; measured at most 1.1 for seeds 1 to 12.
    """
    universe = Universe(3, 3)
    graph = BipartiteGraph([0, 0, 0], [0, 1, 2], left=3, right=3)
    S = np.array([[i >> j & 1 for j in range(3)] for i in range(1, 8)], dtype=bool)
    cuts = CutList.of_masks(universe, S, np.ones_like(S))
    made = mechanism(
        PracticalOffline(epsilon=50.0, delta=1e-3, rounds=12),
        RuleLearner(universe, name),
        Exponential(queries=cuts, epsilon=Fraction(1)),
        refits=20,
    )
    outcome = made.run(graph, SeededEntropy(1))
    off = np.abs(cuts.answers(outcome.hypothesis) - cuts.counts(graph, Grid()))
    assert off.max() < 1.5
    assert off.max() <= outcome.error


def paid_once(universe=UNIVERSE):
    distribution = noise_distribution("binary", epsilon=1.0, weight_cap=None)
    return ResponseRankOne(universe=universe, distribution=distribution)


@pytest.mark.parametrize(("rounds", "calls"), [(8, 1), (3, 2)])
@pytest.mark.parametrize("steps", [1, 50])
def test_all_parts_of_a_pure_calibration_cost_the_budget(rounds, calls, steps):
    """Exactly; so a twin that gave any part more would fail."""
    calibration = PureOffline(universe=UNIVERSE, epsilon=0.7, rounds=rounds, calls=calls)
    noise, _, for_total, rest = calibration.with_total(steps)
    tuning = rest.tune(lambda alpha: 1e4 / alpha**2, paid_once(), one=1.0, steps=steps)
    matrix = tuning.distinguisher.setup.pure
    answers = rounds * calls * tuning.noise.parameter * steps
    assert for_total.pure == noise.parameter * steps
    assert for_total.pure + matrix + answers == calibration.cost.pure == Fraction(0.7)
    parts = calibration.parts(["total weight"])
    assert [name for name, _ in parts] == ["noisy matrix", "total weight", "answers"]
    bought = [float(matrix), float(for_total.pure), float(answers)]
    assert [part for _, part in parts] == pytest.approx(bought)


def test_the_last_round_corrects_where_there_is_nothing_to_state():
    calibration = PureOffline(universe=UNIVERSE, epsilon=20.0, rounds=1)
    outcome = run(calibration, distinguisher=paid_once(), seed=2)
    assert [measured.updated for measured in outcome.transcript] == [True]


def test_the_total_weight_is_fitted_again():
    """Frieze-Kannan takes the empty cut's 205 edges away; old answers put the total back."""
    everything = CutQuery(range(N), range(N))
    found = []
    for refits in (0, 10):
        calibration = PracticalOffline(epsilon=50.0, delta=1e-6, rounds=2)
        learner = FriezeKannanLearner(UNIVERSE)
        outcome = run(calibration, learner, Liar(), refits=refits, seed=3)
        found.append(abs(outcome.hypothesis.estimate(everything) - outcome.total_weight))
    assert found[0] > 150
    assert found[1] < 20


def test_rounds_are_a_hard_cap():
    calibration = PracticalOffline(epsilon=1.0, delta=1e-6, rounds=5, calls=2)
    seen = []
    outcome = mechanism(calibration).run(
        blocks_graph(), SeededEntropy(2), progress=lambda *done: seen.append(done)
    )
    assert [done for done, _ in seen] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [measured.round for measured in outcome.transcript] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert not any(measured.updated for measured in outcome.transcript[-2:])
    assert outcome.stopped == "rounds"


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
        return Found(query=self.query, sign=None)


def test_a_wrong_bound_costs_accuracy_and_not_privacy():
    """B claims a millionth of the updates: there are few rounds, whatever the graph needs."""

    class Boaster:
        universe, name = UNIVERSE, "boaster"

        def construction(self, **numbers):
            made = FriezeKannanLearner(UNIVERSE).construction(**numbers)
            return replace(made, start_potential=made.start_potential / 1e6)

    calibration = TightOffline(epsilon=50.0, delta=1e-6)
    outcome = run(calibration, Boaster(), Liar(), seed=3)
    assert len(outcome.transcript) <= outcome.tuning.rounds < 10


def test_an_answer_corrects_the_hypothesis_up_to_its_noise():
    calibration = PracticalOffline(epsilon=50.0, delta=1e-6, rounds=2)
    outcome = run(calibration, LEARNERS[1], Liar(), seed=4)
    first = outcome.transcript[0]
    deviation = outcome.tuning.value_error
    assert abs(first.value - outcome.hypothesis.estimate(HALF)) == pytest.approx(deviation)
    assert outcome.error == pytest.approx(
        abs(outcome.transcript[1].value - outcome.hypothesis.estimate(HALF)) + outcome.tuning.error
    )


def test_old_answers_are_fitted_again():
    gaps = {}
    for refits in (0, 50):
        calibration = PracticalOffline(epsilon=50.0, delta=1e-6, rounds=8)
        outcome = run(calibration, LEARNERS[1], refits=refits, seed=5)
        old = outcome.transcript[:-1]
        estimates = outcome.hypothesis.estimate_all([measured.query for measured in old])
        gaps[refits] = np.abs(estimates - [measured.value for measured in old]).max()
    assert gaps[50] <= gaps[0]
    assert gaps[50] <= 2 * outcome.tuning.value_error


def test_a_cut_without_pairs_corrects_nothing():
    calibration = PracticalOffline(epsilon=1.0, delta=1e-6, rounds=3)
    outcome = run(calibration, LEARNERS[1], Liar(CutQuery([], [])), seed=6)
    assert not any(measured.updated for measured in outcome.transcript)


def test_weighted_graphs_scale():
    """The same graph with weights of 3 under a cap of 3, in units of the cap."""
    plain = blocks_graph()
    weighted = Graph(
        plain.rows, plain.columns, weights=np.full(len(plain.rows), 3.0), vertices=N, weight_cap=3.0
    )
    grid = Grid.of(weighted)
    calibration = PracticalOffline(epsilon=20.0, delta=1e-6)
    made = mechanism(calibration, distinguisher=replace(LISTED, grid=grid), grid=grid)
    outcome = made.run(weighted, SeededEntropy(1))
    truth = LISTED.queries.counts(weighted, grid) * grid.unit
    errors = np.abs(LISTED.queries.answers(outcome.hypothesis) * made.unit - truth)
    assert errors.max() <= outcome.error * made.unit
    assert errors.max() < 240
    assert made.unit == pytest.approx(3.0)


def test_a_total_is_public_or_the_true_one_and_the_noise_that_is_paid_for():
    edges = len(blocks_graph().rows)
    outcome = run(total_weight=float(edges))
    assert (outcome.total_weight, outcome.total_error) == (edges, 0)
    calibration = PracticalOffline(epsilon=1.0, delta=1e-6, rounds=1)
    noise, *_ = calibration.with_total(1)
    drawn = [noise.draw(SeededEntropy(seed)) for seed in range(10)]
    assert len(set(drawn)) > 5
    for seed, number in enumerate(drawn):
        assert run(calibration, seed=seed).total_weight == edges + number
        none = run(calibration, seed=seed, graph=Graph([], [], vertices=N))
        assert min(none.total_weight, none.total_error) >= 1  # some weight to begin with


def test_tight_tuning_is_the_best_of_its_splits():
    def bound(alpha):
        return 1e6 / alpha**2

    calibration = TightOffline(epsilon=1.0, delta=1e-6)
    best = calibration.tune(bound, LISTED, one=1.0, steps=1)
    for rounds in (10, 100, best.rounds):
        other = replace(calibration, rounds=rounds).tune(bound, LISTED, one=1.0, steps=1)
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
        calibration = PracticalOffline(epsilon=epsilon, delta=1e-6, rounds=rounds)
        cuts = ExactCuts(universe=Universe(12), epsilon=Fraction(1))
        tuning = calibration.tune(bound.update_bound, cuts, one=1.0, steps=1)
        missed = tuning.distinguisher.usual_shortfall
        return tuning.alpha / 4 + tuning.value_error + missed, tuning.rounds

    best, rounds = score(None)
    assert 1 <= rounds <= 16
    assert best <= min(score(other)[0] for other in (2, 3, 4, 8, 16, 64, 1000)) * (1 + 1e-9)


OFFLINE = [
    PracticalOffline(epsilon=1.0, delta=1e-6),
    TightOffline(epsilon=1.0, delta=1e-6),
    *(PaperOffline(paper=paper, epsilon=1.0, delta=1e-6) for paper in ("gru12", "dr14", "nik17")),
    PaperOffline(paper="dr14", epsilon=1.0, delta=0.0),
]


@pytest.mark.parametrize("calibration", OFFLINE)
@pytest.mark.parametrize("steps", [1, 5])
def test_a_total_weight_in_steps_has_noise_for_its_sensitivity(calibration, steps):
    noise, _, cost, _ = calibration.with_total(steps)
    if noise.distribution == "laplace":
        assert noise.parameter * steps == cost.pure
    else:
        assert steps**2 / (2 * noise.parameter) <= Fraction(cost.rho) * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("calibration", OFFLINE)
def test_answers_in_steps_have_noise_for_their_sensitivity(calibration):
    """In units of four steps the same rounds need noise of four times the size, in steps."""
    made = [
        calibration.tune(lambda alpha: 1e8 / alpha**2, LISTED, one=1.0, steps=steps)
        for steps in (1, 4)
    ]
    assert made[0].rounds == made[1].rounds > 1
    fine, coarse = (tuning.noise.parameter for tuning in made)
    assert coarse == (fine * 16 if made[0].noise.distribution == "gaussian" else fine / 4)


@pytest.mark.parametrize("calibration", OFFLINE[2:])
def test_what_a_distinguisher_misses_counts_in_units(calibration):
    """A unit of four edges makes the same shortfall a quarter as large."""
    alphas = [
        calibration.tune(lambda alpha: 1e8 / alpha**2, LISTED, one=one, steps=1).alpha
        for one in (1.0, 4.0, 16.0)
    ]
    assert alphas[0] > alphas[1] >= alphas[2]


def test_no_start_is_farther_off_than_where_no_updates_are_said_to_be_needed():
    """Every cut of every graph on four vertices of few edges; the median starts with half of all.

    Where B is 0, a round that tests nothing would be trusted.
    """
    universe = Universe(4)
    rows, columns = universe.pairs()
    cuts = [CutQuery([v for v in range(4) if side >> v & 1]) for side in range(1, 15)]
    finder = Exponential(queries=CutList(universe, cuts), epsilon=Fraction(1))
    kinds = (MedianLearner, MultiplicativeWeightsLearner, FriezeKannanLearner)
    for kind, edges in itertools.product(kinds, range(1, 6)):
        terms, learner = {"total_weight": float(edges), "total_error": 0.0}, kind(universe)
        bound = mechanism(learner=learner, distinguisher=finder)._update_bound(
            float(edges), 0.0, learner
        )
        start = learner.construction(alpha=1.0, **terms).initial()
        answers = np.array([start.estimate(cut) for cut in cuts])
        for chosen in itertools.combinations(range(6), edges):
            graph = Graph(rows[list(chosen)], columns[list(chosen)], vertices=4)
            truth = np.array([cut.value(graph) for cut in cuts])
            gap = float(np.abs(truth - answers).max())
            assert gap <= 1e-9 or bound(gap * (1 - 1e-9)) > 0
