"""Iterative releases of the median, and of lists of other queries than cuts."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from offline_calls import learn

import graphcuts_dp as gc
from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import MedianLearner, linear_learner
from graphcuts_dp.offline.construction import IterativeConstruction
from graphcuts_dp.offline.distinguisher import Exponential
from graphcuts_dp.offline.methods import nearest_graph
from graphcuts_dp.offline.query_lists import QuestionList
from graphcuts_dp.offline.tuning import PaperOffline
from graphcuts_dp.pairs.graph_queries import STATISTICS
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.figures.bounds import dr14_offline

N = 5
UNIVERSE = Universe(N)
GRAPH = gc.Graph([0, 0, 1, 3], [1, 2, 2, 4], vertices=N)  # a triangle and an edge
QUESTIONS = [
    *(gc.Query.statistic(name) for name in STATISTICS),
    gc.CutQuery([0, 1]),
    gc.CutQuery([0], [3, 4]),
    gc.Query.rank_one([1, 0.5, 0, 0, 0], [0, 0, 1, 1, 0.25]),
]


def released(graph=GRAPH, **options):
    options = {
        "epsilon": 50.0,
        "delta": 1e-3,
        "queries": QUESTIONS,
        "construction": "median",
        "seed": 1,
    } | options
    return learn(graph, **options)


def beyond_the_range(epsilon):
    """More epsilon than users may ask for, purely private: where the theorem says something."""
    calibration = PaperOffline(paper="dr14", epsilon=1.0, delta=1e-6, beta=0.1)
    object.__setattr__(calibration, "epsilon", epsilon)
    object.__setattr__(calibration, "delta", 0.0)
    return calibration


def test_dr14_theorem_5_10():
    """The error of the median with the exponential mechanism, on statistics, too.

    T is log2 of the number of graphs, X = 10, with the constants of Theorem 5.6 (32 T for delta 0).
    More failures have probability 1e-6 if each run fails with probability 0.1.
    """
    listed = QuestionList(UNIVERSE, QUESTIONS)
    mechanism = IterativeConstruction(
        learner=MedianLearner(UNIVERSE),
        distinguisher=Exponential(queries=listed, epsilon=Fraction(1)),
        calibration=beyond_the_range(4000.0),
        grid=Grid(),
        total_weight=4.0,
    )
    theorem = dr14_offline(
        lambda _: 10.0, queries=2 * len(listed), epsilon=4000.0, delta=0.0, beta=0.1
    )
    truth = np.array([listed.counted(own, GRAPH, Grid()) for own in listed], dtype=float)
    truth[5] = QUESTIONS[5].value(GRAPH) / listed.scale
    wrong = 0
    for seed in range(12):
        outcome = mechanism.run(GRAPH, SeededEntropy(seed))
        assert outcome.tuning.rounds == 10
        # A tolerance below an edge leaves room: noise is whole, and has no smaller radius.
        assert outcome.error <= max(theorem.error, 8.0) * (1 + 1e-6)
        gaps = np.abs(listed.answers(outcome.hypothesis) - truth)
        graph, off = nearest_graph(outcome.hypothesis, listed)
        wrong += gaps.max() > outcome.error + listed.rounding(Grid())
        assert off <= gaps.max() + listed.rounding(Grid())  # the truth is one of the graphs
        assert set(np.unique(graph.matrix)) <= {0.0, 1.0}
    assert wrong <= scipy.stats.binom.isf(1e-6, 12, 0.1)


@pytest.mark.parametrize("calibration", ["practical", "tight", "dr14"])
def test_statistics_are_answered_within_their_intervals(calibration):
    made = released(calibration=calibration)
    assert made.settings.construction == "median"
    for question in QUESTIONS:
        answer, truth = made.answer(question), float(question.value(GRAPH))
        assert answer.interval[0] - 1e-9 <= truth <= answer.interval[1] + 1e-9
        assert answer.confidence == 0.95
    assert set(np.unique(made.hypothesis.matrix)) <= {0.0, 1.0}
    for measured in made.transcript:
        assert any(measured.query is question for question in made.listed.asked)
    if made.transcript:
        assert made.plot().axes


def test_with_much_epsilon_the_graph_is_found():
    """At epsilon = 50 all answers are right; at 0.01 they are not, with the same seeds."""
    wrong = {}
    for epsilon in (0.01, 50.0):
        wrong[epsilon] = 0.0
        for seed in range(5):
            made = released(epsilon=epsilon, seed=seed)
            wrong[epsilon] += sum(
                abs(made.answer(q).value - q.value(GRAPH)) for q in QUESTIONS[1:5]
            )
    assert wrong[50.0] < 0.5 * wrong[0.01]


def test_statistics_are_answered_by_the_median_alone():
    with pytest.raises(QueryError, match="median"):
        released(construction="frieze-kannan", queries=QUESTIONS[3:]).answer(QUESTIONS[0])


RATINGS = gc.BipartiteGraph(
    *np.divmod(np.arange(0, 240, 3), 12),
    np.linspace(0.5, 5, 80),
    left=20,
    right=12,
    weight_cap=5.0,
)


@pytest.mark.parametrize(
    "construction", ["multiplicative-weights", "frieze-kannan", "mirror-descent"]
)
@pytest.mark.parametrize("signed", [False, True])
def test_lists_of_linear_queries_are_learnt(construction, signed):
    """Stated errors hold, and gaps fall below those of a flat matrix."""
    rng = np.random.default_rng(3)
    queries = [
        gc.Query.matrix(rng.random((20, 12)) * 3 - signed * (rng.random((20, 12)) < 0.5) * 3)
        for _ in range(8)
    ]
    queries.append(gc.Query.matrix(np.where(np.arange(240).reshape(20, 12) % 3, 0, 3.0)))
    truth = np.array([query.value(RATINGS) for query in queries])
    made = gc.release_iteratively(
        RATINGS, epsilon=20.0, delta=1e-6, queries=queries, construction=construction, seed=1
    )
    values = np.array([answer.value for answer in made.answer_all(queries)])
    flat = np.full((20, 12), RATINGS.weights.sum() / 240)
    start = np.abs(Universe(20, 12).answers(queries, flat) - truth).max()
    assert np.abs(values - truth).max() < 0.7 * start
    assert np.abs(values - truth).max() <= made.accuracy.error
    for query, true in zip(queries, truth, strict=True):
        answer = made.answer(query)
        assert answer.confidence == 0.95
        assert answer.interval[0] <= true <= answer.interval[1]
    assert made.answer(gc.Query.matrix(np.ones((20, 12)))).confidence == 1.0


def test_updates_by_linear_queries_stay_within_their_bound():
    """B of the dense learners, against queries that are always off as much as can be."""
    rng = np.random.default_rng(1)
    universe = Universe(6)
    rows, columns = universe.pairs()
    for name in ("multiplicative-weights", "frieze-kannan"):
        learner = linear_learner(name, universe, signed=True, rule="tight", norm=None)
        for _ in range(4):
            truth = np.zeros((6, 6))
            truth[rows, columns] = rng.random(15) < 0.4
            truth += truth.T
            total = max(float(truth.sum() / 2), 1.0)
            alpha = 1.0
            rule = learner.construction(alpha=alpha, total_weight=total, total_error=0.0)
            hypothesis, count = rule.initial(), 0
            pool = [gc.Query.matrix(np.triu(rng.uniform(-1, 1, (6, 6)), 1)) for _ in range(60)]
            true = universe.answers(pool, truth)
            while True:
                gaps = true - hypothesis.estimate_all(pool)
                worst = int(np.argmax(np.abs(gaps)))
                if abs(gaps[worst]) < alpha:
                    break
                hypothesis = rule.update(hypothesis, pool[worst], 1 if gaps[worst] > 0 else -1)
                count += 1
            assert count <= math.floor(rule.update_bound(alpha))
