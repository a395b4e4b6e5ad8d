"""Rows of offline releases: each number is what the release itself is tuned to, and states."""

import itertools
import math
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, CutList
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.construction import IterativeConstruction
from graphcuts_dp.iterative.distinguisher import Exponential
from graphcuts_dp.iterative.game import PlayerGame
from graphcuts_dp.iterative.query_lists import QuestionList
from graphcuts_dp.iterative.rank_one import Released
from graphcuts_dp.iterative.rounds import release_of_outcome
from graphcuts_dp.iterative.tuning import PracticalIterative, TightIterative
from graphcuts_dp.learn.constructions import learner_of
from graphcuts_dp.learn.learners import MedianLearner, MultiplicativeWeightsLearner
from graphcuts_dp.planning.planner import plan_of
from graphcuts_dp.plugins import SeededEntropy, Task, Universe
from graphcuts_dp.privacy.k_norm import KNormNoise

learn = gc.release_iteratively

GUARANTEE = {"epsilon": 2.0, "delta": 1e-6}
BETA = DEFAULT_FAILURE
SIZES = [12, (5, 7), "directed"]
SEEDED = gc.PrivacyGuarantee(epsilon=2.0, neighbours="an edge", seed=1)


def row_of(made, method, cuts="fixed k"):
    (found,) = [row for row in made.rows if (row.method, row.cuts) == (method, cuts)]
    return found


@cache
def small(size):
    """A graph on so many vertices, its universe, cuts between disjoint sets, and its plan."""
    directed = size == "directed"
    n = 9 if directed else size
    graph, rng = random_graph(n, 5, density=0.4, directed=directed), np.random.default_rng(5)
    universe = Universe.of(graph)
    masks = [[rng.random(side) < 0.5 for side in universe.shape] for _ in range(6)]
    rows, columns = universe.shape  # the last cut has the most pairs
    masks.append(
        [np.arange(rows) < (rows if universe.bipartite else rows // 2), np.ones(columns) > 0]
    )
    cuts = [gc.CutQuery(S, T if universe.bipartite else ~S & T) for S, T in masks]
    made = gc.plan(n, directed=directed, edges=len(graph.rows), queries=len(cuts), **GUARANTEE)
    return graph, universe, cuts, made


def check_tight(graph, learner, queries, row, *, finder=None, **guarantee):
    """A release with the calibration "tight" whose total weight is known is tuned to the row."""
    guarantee = GUARANTEE | guarantee
    mechanism = IterativeConstruction(
        learner=learner,
        distinguisher=finder or Exponential(queries=queries, epsilon=Fraction(1), grid=Grid()),
        calibration=TightIterative(beta=BETA, **guarantee),
        grid=Grid(),
        total_weight=float(len(graph.rows)),
    )
    outcome = mechanism.run(graph, SeededEntropy(1))
    stated = release_of_outcome(Task(graph, beta=BETA, **GUARANTEE), mechanism, outcome, SEEDED)
    assert stated.accuracy.error <= row.guaranteed * (1 + 1e-9)
    return stated, outcome


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_iterative_releases_state_the_number_of_the_plan(size):
    graph, universe, cuts, made = small(size)
    listed, learner = CutList(universe, cuts), MultiplicativeWeightsLearner(universe)
    noise = noise_distribution("binary", epsilon=1.0)
    for method, finder in (
        ("iterative MW", None),
        ("iterative MW released", Released(queries=listed, distribution=noise)),
    ):
        row = row_of(made, method)
        stated, outcome = check_tight(graph, learner, listed, row, finder=finder)
        assert row.guaranteed == pytest.approx(outcome.error, rel=1e-9)
        assert stated.accuracy.error == pytest.approx(outcome.error, rel=1e-9)
        errors = [abs(cut.value(graph) - stated.answer(cut).value) for cut in cuts]
        assert max(errors) <= row.guaranteed


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_lists_of_linear_queries_state_the_number_of_the_plan(size):
    graph, universe, cuts, made = small(size)
    asked = []
    for signs in np.random.default_rng(7).choice([-1.0, 0.5, 1.0], (len(cuts), universe.size)):
        matrix = np.zeros(universe.shape)
        matrix[universe.pairs()] = signs
        asked.append(gc.Query.matrix(matrix))
    listed = QuestionList(universe, asked)
    learner = learner_of("multiplicative-weights", universe, signed=listed.signed)
    linear = row_of(made, "iterative MW", "linear k")
    stated, _ = check_tight(graph, learner, listed, linear)
    assert linear.guaranteed == pytest.approx(stated.accuracy.error, rel=1e-9)
    assert linear.guaranteed > row_of(made, "iterative MW").guaranteed
    assert linear.vacuous == (linear.guaranteed >= len(graph.rows))


def test_the_median_states_at_most_twice_what_holds_of_it():
    graph = gc.Graph([0, 1, 2, 0], [1, 2, 3, 4], vertices=5)
    universe, guarantee = Universe.of(graph), {"epsilon": 40.0, "delta": 1e-3}
    cuts = CutList(universe, [gc.CutQuery([0]), gc.CutQuery([1, 2]), gc.CutQuery([0], [3, 4])])
    row = row_of(gc.plan(5, edges=4, queries=3, **guarantee), "iterative median")
    stated, outcome = check_tight(graph, MedianLearner(universe), cuts, row, **guarantee)
    assert row.guaranteed == pytest.approx(2 * outcome.error, rel=1e-9)
    assert outcome.error <= stated.accuracy.error
    seven = gc.plan(7, edges=4, queries=3, **guarantee)
    assert "iterative median" not in {row.method for row in seven.rows}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("player", ["query", "both"])
def test_games_are_tuned_to_the_number_of_the_plan(size, player):
    graph, universe, cuts, made = small(size)
    game = PlayerGame(
        queries=CutList(universe, cuts),
        grid=Grid(),
        calibration=PracticalIterative(beta=BETA / 4, **GUARANTEE),
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


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("max_contributions", [1, 3])
def test_answers_at_once_state_no_more_than_the_plan(k, max_contributions):
    """The same number where all columns are there, and few enough vectors to add up are not."""
    graph, cuts = every_kind(k)
    terms = {"epsilon": 0.7, "privacy_unit": gc.PrivacyUnit.edge(max_contributions)}
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


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("k", [2, 4])
def test_the_typical_error_is_a_mean(k):
    """Of 200 draws for all columns; six standard errors."""
    columns = np.array(list(itertools.product((0, 1), repeat=k)))
    noise, source = KNormNoise.of_columns(columns, Fraction(1, 50)), SeededEntropy(k)
    drawn = np.abs([noise.draw(source) for _ in range(200)]).mean(axis=1)
    typical = row_of(gc.plan(1000, edges=1000, queries=k, epsilon=1 / 50), "answers").typical
    assert typical == pytest.approx(50 * (k + 2) / 3)
    assert abs(drawn.mean() - typical) < 6 * drawn.std() / math.sqrt(200)


# What is left out


@pytest.mark.thorough
def test_rows_are_there_only_where_they_are_possible():
    def made(n, edges, queries, **more):
        return gc.plan(n, edges=edges, queries=queries, **GUARANTEE | more)

    def methods(made):
        return {(row.method, row.cuts) for row in made.rows}

    names = ("iterative MW", "iterative MW released", "game query", "game both")
    lists = {(name, "fixed k") for name in names}
    answers, linear = ("answers", "fixed k"), ("iterative MW", "linear k")
    few = made(100, 500, 6)
    assert lists | {answers, linear} <= methods(few)
    assert answers not in methods(made(100, 500, 7))
    long = methods(made(5000, 5e4, 10**4))
    assert lists <= long
    assert linear not in long
    assert not lists & methods(made(9000, 5e4, 10))
    vertex = made(100, 500, 4, privacy_unit=gc.PrivacyUnit.vertex(max_degree=9))
    assert not any(row.iterative for row in vertex.rows)
    without = plan_of(few.setting, iterative=False)
    assert without.rows == tuple(row for row in few.rows if not row.iterative)
    tiny = made(6, 7, 3, epsilon=1e-5, privacy_unit=gc.PrivacyUnit.edge(9))
    assert all(row.guaranteed >= 7 for row in tiny.rows if row.iterative)
    nothing = made(200, 300, 1000, epsilon=1.0)
    assert "Iterative, game" not in str(nothing)
    assert len(nothing.shown) < len(nothing.rows)


# The net mechanism, and sensing


@pytest.mark.parametrize("n", [4, (2, 3), 5])
def test_the_net_states_the_number_of_the_plan(n):
    """Cuts of single pairs tell all graphs apart: the net has each of them."""
    graph = (
        gc.BipartiteGraph([0, 1], [1, 2], left=2, right=3)
        if isinstance(n, tuple)
        else gc.Graph([0, 1], [1, 3], vertices=n)
    )
    universe = Universe.of(graph)
    cuts = [gc.CutQuery([int(a)], [int(b)]) for a, b in zip(*universe.pairs(), strict=True)]
    terms = {"epsilon": 3.0, "privacy_unit": gc.PrivacyUnit.edge(2)}
    made = gc.plan(n, edges=2, queries=len(cuts), **terms)
    found = learn(graph, cuts, construction="net", seed=1, **terms)
    assert row_of(made, "net").guaranteed == found.law.error(BETA)
    fewer = learn(graph, cuts[:2], construction="net", seed=1, **terms)
    assert fewer.law.error(BETA) <= row_of(made, "net").guaranteed
    seven = gc.plan(7, edges=2, queries=3, epsilon=3.0)
    assert "net" not in {row.method for row in seven.rows}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("max_contributions", [1, 3])
@pytest.mark.parametrize("k", [1, 4, 25])
def test_sensing_states_the_number_of_the_plan(k, max_contributions):
    """All queries have the first rating: that moves them all."""
    rng = np.random.default_rng(k)
    graph = gc.BipartiteGraph([0, 1, 3], [2, 2, 5], left=5, right=7)
    asked = []
    for _ in range(k):
        matrix = rng.uniform(-1, 1, (5, 7))
        matrix[0, 0] = 1.0
        asked.append(gc.Query.matrix(matrix))
    terms = GUARANTEE | {"privacy_unit": gc.PrivacyUnit.edge(max_contributions)}
    made = gc.plan((5, 7), edges=3, queries=k, **terms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # it is told what is guaranteed
        found = learn(graph, asked, construction="sensing", seed=1, **terms)
    row = row_of(made, "sensing", "linear k")
    if math.isinf(row.guaranteed):
        assert len(found.transcript) == 10
    else:
        assert row.guaranteed == pytest.approx(found.accuracy.error, rel=1e-6)
        assert len(found.transcript) == k
    plain = gc.plan(12, edges=3, queries=k, **GUARANTEE)
    assert "sensing" not in {row.method for row in plain.rows}
    pure = gc.plan((5, 7), edges=3, queries=k, epsilon=2.0)
    assert math.isinf(row_of(pure, "sensing", "linear k").guaranteed)


def test_plans_of_linear_queries_have_the_rows_of_lists_of_them():
    cuts, linear = (
        gc.plan((5, 7), edges=12, queries=gc.SessionWorkload(queries=4, linear=linear), **GUARANTEE)
        for linear in (False, True)
    )
    for method in ("iterative MW", "sensing"):
        both = [row_of(made, method, "linear k").guaranteed for made in (cuts, linear)]
        assert both[0] == both[1]
    assert {row.cuts for row in linear.rows if row.iterative} == {"linear k"}
