"""Rows of offline releases: each number is what the release itself is tuned to, and states."""

import itertools
import math
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import MedianLearner, MultiplicativeWeightsLearner, learner_of
from graphcuts_dp.offline.construction import IterativeConstruction, PlayerGame, finished
from graphcuts_dp.offline.distinguisher import Exponential
from graphcuts_dp.offline.query_lists import CutList, QuestionList
from graphcuts_dp.offline.rank_one import Released
from graphcuts_dp.offline.release import Task
from graphcuts_dp.offline.tuning import PracticalOffline, TightOffline
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.planning.planner import plan_of
from graphcuts_dp.privacy.level_noise import KNormNoise
from graphcuts_dp.privacy.noise import SeededEntropy

learn = gc.release_iteratively

PROMISE = {"epsilon": 2.0, "delta": 1e-6}
BETA = 0.05  # as a plan has it
SIZES = [12, (5, 7), "directed"]
SEEDED = gc.PrivacyGuarantee(epsilon=2.0, neighbours="an edge", seed=1)


def row_of(made, method, cuts="fixed k"):
    (found,) = [row for row in made.rows if (row.method, row.cuts) == (method, cuts)]
    return found


@cache
def small(size):
    """A graph on so many vertices, its universe, cuts between disjoint sets, and its plan."""
    rng = np.random.default_rng(5)
    if isinstance(size, tuple):
        rows, columns = np.nonzero(rng.random(size) < 0.4)
        graph = gc.BipartiteGraph(rows, columns, left=size[0], right=size[1])
        masks = [(rng.random(size[0]) < 0.5, rng.random(size[1]) < 0.5) for _ in range(6)]
        masks.append((np.ones(size[0], dtype=bool), np.ones(size[1], dtype=bool)))
    else:
        n, directed = (9, True) if size == "directed" else (size, False)
        chosen = rng.random((n, n)) < 0.4
        rows, columns = np.nonzero(
            chosen & ~np.eye(n, dtype=bool) if directed else np.triu(chosen, 1)
        )
        graph = (gc.DirectedGraph if directed else gc.Graph)(rows, columns, vertices=n)
        masks = [(S := rng.random(n) < 0.5, ~S & (rng.random(n) < 0.8)) for _ in range(6)]
        half = np.arange(n) < n // 2
        masks.append((half, ~half))
    cuts = [gc.CutQuery(S, T) for S, T in masks]
    made = gc.plan(
        9 if size == "directed" else size,
        directed=size == "directed",
        edges=len(graph.rows),
        queries=len(cuts),
        **PROMISE,
    )
    return graph, Universe.of(graph), cuts, made


def tuned(graph, learner, finder):
    """A release with the calibration "tight" whose total weight is known."""
    return IterativeConstruction(
        learner=learner,
        distinguisher=finder,
        calibration=TightOffline(beta=BETA, **PROMISE),
        grid=Grid(),
        total_weight=float(len(graph.rows)),
    )


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_iterative_releases_state_the_number_of_the_plan(size):
    graph, universe, cuts, made = small(size)
    listed = CutList(universe, cuts)
    noise = noise_distribution("binary", epsilon=1.0)
    for method, finder in (
        ("offline MW", Exponential(queries=listed, epsilon=Fraction(1), grid=Grid())),
        ("offline MW released", Released(queries=listed, distribution=noise)),
    ):
        mechanism = tuned(graph, MultiplicativeWeightsLearner(universe), finder)
        outcome = mechanism.run(graph, SeededEntropy(1))
        assert row_of(made, method).guaranteed == pytest.approx(outcome.error, rel=1e-9)
        stated = finished(Task.of(graph, beta=BETA, **PROMISE), mechanism, outcome, SEEDED)
        assert stated.accuracy.error == pytest.approx(outcome.error, rel=1e-9)
        errors = [abs(cut.value(graph) - stated.answer(cut).value) for cut in cuts]
        assert max(errors) <= row_of(made, method).guaranteed


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_lists_of_linear_queries_state_the_number_of_the_plan(size):
    graph, universe, cuts, made = small(size)
    signs = np.random.default_rng(7).choice([-1.0, 0.5, 1.0], (len(cuts), universe.size))
    asked = []
    for row in signs:
        matrix = np.zeros(universe.shape)
        matrix[universe.pairs()] = row
        asked.append(gc.Query.matrix(matrix))
    listed = QuestionList(universe, asked)
    learner = learner_of("multiplicative-weights", universe, signed=listed.signed)
    finder = Exponential(queries=listed, epsilon=Fraction(1), grid=Grid())
    mechanism = tuned(graph, learner, finder)
    outcome = mechanism.run(graph, SeededEntropy(1))
    stated = finished(Task.of(graph, beta=BETA, **PROMISE), mechanism, outcome, SEEDED)
    linear = row_of(made, "offline MW", "linear k")
    assert linear.guaranteed == pytest.approx(stated.accuracy.error, rel=1e-9)
    assert linear.guaranteed > row_of(made, "offline MW").guaranteed
    assert linear.vacuous == (linear.guaranteed >= len(graph.rows))


def test_the_median_states_at_most_twice_what_holds_of_it():
    graph = gc.Graph([0, 1, 2, 0], [1, 2, 3, 4], vertices=5)
    universe = Universe.of(graph)
    cuts = CutList(universe, [gc.CutQuery([0]), gc.CutQuery([1, 2]), gc.CutQuery([0], [3, 4])])
    made = gc.plan(5, edges=4, queries=3, epsilon=40.0, delta=1e-3)
    mechanism = IterativeConstruction(
        learner=MedianLearner(universe),
        distinguisher=Exponential(queries=cuts, epsilon=Fraction(1), grid=Grid()),
        calibration=TightOffline(epsilon=40.0, delta=1e-3, beta=BETA),
        grid=Grid(),
        total_weight=4.0,
    )
    outcome = mechanism.run(graph, SeededEntropy(1))
    row = row_of(made, "offline median")
    assert row.guaranteed == pytest.approx(2 * outcome.error, rel=1e-9)
    stated = finished(Task.of(graph, beta=BETA, **PROMISE), mechanism, outcome, SEEDED)
    assert outcome.error <= stated.accuracy.error <= row.guaranteed
    seven = gc.plan(7, edges=4, queries=3, epsilon=40.0, delta=1e-3)
    assert "offline median" not in {row.method for row in seven.rows}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("player", ["query", "both"])
def test_games_are_tuned_to_the_number_of_the_plan(size, player):
    graph, universe, cuts, made = small(size)
    game = PlayerGame(
        queries=CutList(universe, cuts),
        grid=Grid(),
        calibration=PracticalOffline(beta=BETA / 4, **PROMISE),
        game=gc.Game(player=player),
        beta=BETA,
    )
    tuning = game.tune(float(len(graph.rows)), 1.0, game.calibration)
    row = row_of(made, f"game {player}")
    assert row.guaranteed == tuning.bound
    outcome = game.run(graph, SeededEntropy(2))
    assert outcome.error <= outcome.tuning.bound


# Answers at once


def every_kind(k):
    """k cuts of a graph without edges, of which pairs are in any and in no others."""
    kinds = np.array(list(itertools.product((False, True), repeat=k)))
    return gc.Graph([], [], vertices=len(kinds)), [gc.CutQuery(side) for side in kinds.T]


@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("at_most", [1, 3])
def test_answers_at_once_state_no_more_than_the_plan(k, at_most):
    """The same number where all columns are there, and few enough vectors to add up are not."""
    graph, cuts = every_kind(k)
    terms = {"epsilon": 0.7, "protect": gc.Protect.edges(at_most)}
    made = gc.plan(max(3, len(graph.vertices)), edges=1, queries=k, **terms)
    row = row_of(made, "answers")
    found = learn(graph, cuts, construction="answers", seed=1, **terms)
    assert found.accuracy.error <= row.guaranteed
    if k == 1 or k >= 4:
        assert found.accuracy.error == row.guaranteed
    disjoint = [gc.CutQuery([i], [i + 1]) for i in range(min(k, len(graph.vertices) - 1))]
    fewer = learn(graph, disjoint, construction="answers", seed=1, **terms)
    assert fewer.accuracy.error <= row.guaranteed
    if k > 1:
        laplace = learn(graph, cuts, construction="laplace", seed=1, **terms)
        assert row.guaranteed <= laplace.accuracy.error
        (session,) = [row for row in made.rows if row.method == "laplace"]
        assert row.guaranteed < session.guaranteed


@pytest.mark.parametrize("k", [2, 4])
def test_the_typical_error_is_a_mean(k):
    """Of 400 draws for all columns; six standard errors."""
    columns = np.array(list(itertools.product((0, 1), repeat=k)))
    noise, source = KNormNoise.of_columns(columns, Fraction(1, 50)), SeededEntropy(k)
    drawn = np.abs([noise.draw(source) for _ in range(400)]).mean(axis=1)
    made = gc.plan(1000, edges=1000, queries=k, epsilon=1 / 50)
    typical = row_of(made, "answers").typical
    assert typical == pytest.approx(50 * (k + 2) / 3)
    assert abs(drawn.mean() - typical) < 6 * drawn.std() / math.sqrt(400)


# What is left out


def test_rows_are_there_only_where_they_are_possible():
    def methods(made):
        return {(row.method, row.cuts) for row in made.rows}

    lists = {
        (name, "fixed k")
        for name in ("offline MW", "offline MW released", "game query", "game both")
    }
    few = gc.plan(100, edges=500, queries=6, **PROMISE)
    assert lists | {("answers", "fixed k"), ("offline MW", "linear k")} <= methods(few)
    many = gc.plan(100, edges=500, queries=7, **PROMISE)
    assert ("answers", "fixed k") not in methods(many)
    long = gc.plan(5000, edges=5e4, queries=10**4, **PROMISE)
    assert lists <= methods(long)
    assert ("offline MW", "linear k") not in methods(long)
    large = gc.plan(9000, edges=5e4, queries=10, **PROMISE)
    assert not lists & methods(large)
    protect = gc.Protect.vertex(degree_bound=9)
    vertex = gc.plan(100, edges=500, queries=4, protect=protect, **PROMISE)
    assert not any(row.offline for row in vertex.rows)
    without = plan_of(few.setting, offline=False)
    assert without.rows == tuple(row for row in few.rows if not row.offline)
    protect = gc.Protect.edges(9)
    tiny = gc.plan(6, edges=7, queries=3, epsilon=1e-5, delta=1e-6, protect=protect)
    assert all(row.guaranteed >= 7 for row in tiny.rows if row.offline)
    nothing = gc.plan(200, edges=300, queries=1000, epsilon=1.0, delta=1e-6)
    assert "Offline, game" not in str(nothing)
    assert len(nothing.shown) < len(nothing.rows)


# The net mechanism, and sensing


@pytest.mark.parametrize("n", [4, (2, 3), 5])
def test_the_net_states_the_number_of_the_plan(n):
    """Cuts of single pairs tell all graphs apart: the net has each of them."""
    sides = n if isinstance(n, tuple) else None
    graph = (
        gc.BipartiteGraph([0, 1], [1, 2], left=2, right=3)
        if sides
        else gc.Graph([0, 1], [1, 3], vertices=n)
    )
    universe = Universe.of(graph)
    cuts = [gc.CutQuery([int(a)], [int(b)]) for a, b in zip(*universe.pairs(), strict=True)]
    terms = {"epsilon": 3.0, "protect": gc.Protect.edges(2)}
    made = gc.plan(n, edges=2, queries=len(cuts), **terms)
    found = learn(graph, cuts, construction="net", seed=1, **terms)
    assert row_of(made, "net").guaranteed == found.law.error(BETA)
    fewer = learn(graph, cuts[:2], construction="net", seed=1, **terms)
    assert fewer.law.error(BETA) <= row_of(made, "net").guaranteed
    seven = gc.plan(7, edges=2, queries=3, epsilon=3.0)
    assert "net" not in {row.method for row in seven.rows}


@pytest.mark.parametrize("at_most", [1, 3])
@pytest.mark.parametrize("k", [1, 4, 25])
def test_sensing_states_the_number_of_the_plan(k, at_most):
    """All queries have the first rating: that moves them all."""
    rng = np.random.default_rng(k)
    graph = gc.BipartiteGraph([0, 1, 3], [2, 2, 5], left=5, right=7)
    asked = []
    for _ in range(k):
        matrix = rng.uniform(-1, 1, (5, 7))
        matrix[0, 0] = 1.0
        asked.append(gc.Query.matrix(matrix))
    terms = PROMISE | {"protect": gc.Protect.edges(at_most)}
    made = gc.plan((5, 7), edges=3, queries=k, **terms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # it is told what is promised
        found = learn(graph, asked, construction="sensing", seed=1, **terms)
    row = row_of(made, "sensing", "linear k")
    if math.isinf(row.guaranteed):
        assert len(found.transcript) == 10
    else:
        assert row.guaranteed == pytest.approx(found.accuracy.error, rel=1e-6)
        assert len(found.transcript) == k
    plain = gc.plan(12, edges=3, queries=k, **PROMISE)
    assert "sensing" not in {row.method for row in plain.rows}
    pure = gc.plan((5, 7), edges=3, queries=k, epsilon=2.0)
    assert math.isinf(row_of(pure, "sensing", "linear k").guaranteed)


def test_plans_of_linear_queries_have_the_rows_of_lists_of_them():
    cuts, linear = (
        gc.plan((5, 7), edges=12, queries=gc.SessionWorkload(queries=4, linear=linear), **PROMISE)
        for linear in (False, True)
    )
    for method in ("offline MW", "sensing"):
        both = [row_of(made, method, "linear k").guaranteed for made in (cuts, linear)]
        assert both[0] == both[1]
    assert {row.cuts for row in linear.rows if row.offline} == {"linear k"}
