"""Iterative releases as users get them: answers, norms, the median, lists of any queries."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from helpers import cuts_of_halves, two_cliques

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, ParameterError, QueryError
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.construction import IterativeConstruction
from graphcuts_dp.iterative.distinguisher import Exponential
from graphcuts_dp.iterative.learning import DISTINGUISHERS, LISTED
from graphcuts_dp.iterative.paper_tuning import PaperIterative
from graphcuts_dp.iterative.query_lists import QuestionList
from graphcuts_dp.iterative.rounds import nearest_graph
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.learn.learners import MedianLearner
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.queries.graph_queries import STATISTICS
from graphcuts_dp.results.bundle import KINDS
from scripts.figures.bounds import dr14_offline
from scripts.figures.random_graphs import imbalanced_bipartite

EIGHT = gc.Graph([0, 1, 2, 0], [1, 2, 3, 4], vertices=list("abcdefgh"))
CUTS = [gc.CutQuery(["a", "b"]), gc.CutQuery(["a"], ["c", "d"]), gc.CutQuery(["e"], ["a"])]


def released(graph=EIGHT, queries=None, *, construction=None, delta=1e-6, **options):
    """Learning in three rounds with these options, or by another construction."""
    made = construction or gc.Learning(**{"rounds": 3} | options)
    return gc.release_iteratively(
        graph, queries, epsilon=3.0, delta=delta, construction=made, seed=1
    )


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("rule", CONSTRUCTIONS)
@pytest.mark.parametrize("distinguisher", DISTINGUISHERS)
def test_every_construction_with_every_distinguisher(rule, distinguisher):
    queries = CUTS if distinguisher in LISTED else None
    made = released(queries=queries, rule=rule, distinguisher=distinguisher)
    told = made.settings
    assert (told.construction, told.distinguisher, told.used) == (rule, distinguisher, 3)
    assert len(made.transcript) == 3
    unproven = distinguisher in ("response-rank-one", "power-rank-one")
    assert (made.accuracy.error is None) is unproven
    hypothesis = np.clip(made.hypothesis.matrix, 0, 1)
    np.testing.assert_allclose(made.graph.dense(), hypothesis, atol=1e-4)
    delta = 0 if distinguisher in ("response-rank-one", "released") else 1e-6
    assert (made.guarantee.epsilon, made.guarantee.delta) == (3.0, delta)
    assert "seeded" in repr(made)
    assert "seeded" in made.graph.note


def test_intervals_are_for_the_queries_given_and_for_disjoint_sets_without_a_list():
    """The graph answers within its own error, too, with probability 0.95 over seeds."""
    made = released(queries=CUTS)
    assert made.accuracy.queries == "listed"
    for query in CUTS:
        answer = made.answer(query)
        error, most = made.accuracy.error, made.cap * query.norm_squared(made.universe.space)
        ends = answer.value - error, answer.value + error
        assert answer.interval == pytest.approx(tuple(min(max(end, 0), most) for end in ends))
        gap = query.value(made.graph) - query.value(EIGHT)
        assert abs(gap) <= made.accuracy.graph_error
        assert answer.confidence == DEFAULT_CONFIDENCE
    assert made.accuracy.graph_error >= made.accuracy.error
    turned = made.answer(["c", "d"], ["a"])  # a cut of the list, turned around
    assert turned.confidence == DEFAULT_CONFIDENCE
    other = made.answer(["a", "c"])
    assert (other.interval, other.confidence) == ((0.0, 12.0), 1.0)
    assert made.answer_all(CUTS)[1] == made.answer(CUTS[1])
    with pytest.raises(QueryError, match="either"):
        made.answer(CUTS[0], ["a"])
    made = released()
    assert made.accuracy.queries == "disjoint"
    assert made.answer(["a"]).confidence == DEFAULT_CONFIDENCE
    assert made.answer(["a", "b"], ["b", "c"]).confidence == 1.0


def test_bipartite_and_weighted_graphs():
    weights = {"weights": [2.0, 0.5], "max_weight": 2.0}
    made = released(gc.BipartiteGraph([0, 1], [2, 0], left=["x", "y"], right=3, **weights))
    assert made.answer(["x"]).confidence == DEFAULT_CONFIDENCE
    assert made.graph.max_weight == 2.0
    assert made.guarantee.neighbours == "the weight of any one pair, within 0 .. 2"


def test_paid_once_takes_no_delta():
    made = released(distinguisher="response-rank-one", delta=0.0, rounds=None)
    assert made.guarantee.delta == 0
    parts = dict(made.guarantee.spent)
    assert sum(parts.values()) == pytest.approx(3.0)
    assert "noisy matrix" in parts
    assert made.settings.rounds == 8
    with pytest.raises(ParameterError, match="delta"):
        released(distinguisher="response-rank-one", delta=0.0, calibration="tight")


def test_a_calibration_that_would_run_no_round_is_refused_before_it_is_charged(tmp_path):
    learning = gc.Learning(calibration="gru12")
    store = tmp_path / "mail.db"
    with pytest.raises(ParameterError, match="would run no round on any graph of this size"):
        gc.release_iteratively(
            EIGHT, epsilon=1.0, delta=1e-6, construction=learning, store=store, seed=1
        )
    assert not store.exists()


def test_without_rounds_the_total_alone_is_released_after_a_warning():
    """A paper's calibration that cannot prove anything better than the start keeps it.

    Here it has rounds on graphs of nearly all edges alone.
    """
    cuts = gc.CutList(Universe(60), [gc.CutQuery(range(30)), gc.CutQuery(range(20))])
    with pytest.warns(AccuracyWarning, match="a round only if the total weight is above"):
        made = gc.release_iteratively(
            gc.Graph([0], [1], vertices=60),
            cuts,
            epsilon=1.0,
            delta=1e-6,
            construction="multiplicative-weights:calibration=gru12",
            seed=1,
        )
    assert made.settings.used == made.settings.rounds == len(made.transcript) == 0
    assert made.accuracy.error > 0


@pytest.mark.parametrize("player", ["query", "both"])
def test_a_player_that_learns_gets_better_with_more_epsilon(player):
    """Two blocks of six: the worst cut of the list, means of five runs."""
    made = released(queries=CUTS, construction=gc.Game(player=player, rounds=4))
    assert made.settings.used == made.settings.rounds == 4
    assert made.settings.distinguisher == f"player: {player}"
    assert (made.accuracy.queries, len(made.transcript)) == ("listed", 1)
    assert made.answer(CUTS[0]).confidence == DEFAULT_CONFIDENCE
    assert sum(part for _, part in made.guarantee.spent) == pytest.approx(3.0)
    graph, cuts = two_cliques(12), cuts_of_halves(12, 20, 1)
    truth = cuts.on_matrix(graph.dense())
    flat = np.abs(cuts.on_matrix(np.full((12, 12), 30 / 66)) - truth).max()
    worst = []
    for epsilon in (0.5, 40.0):
        terms = {"epsilon": epsilon, "delta": 1e-6, "construction": gc.Game(player=player)}
        found = [gc.release_iteratively(graph, cuts, seed=seed, **terms) for seed in range(5)]
        off = [np.abs(cuts.on_matrix(made.hypothesis.matrix) - truth).max() for made in found]
        worst.append(np.mean(off))
    assert worst[1] < 0.6 * flat
    assert worst[1] < worst[0]


def test_a_hidden_list_is_not_in_the_release(tmp_path):
    pairs = [gc.CutQuery([a], [b]) for a in "abcdefgh" for b in "abcdefgh" if a != b]
    made = released(queries=pairs, construction="game:hide-queries=0.5")
    assert (made.listed, made.transcript, made.accuracy.error) == (None, (), None)
    assert made.answer(pairs[0]).confidence == 1.0
    assert "the number of queries" in made.guarantee.public
    made.save(tmp_path / "out.graphml")
    with np.load(KINDS["iterative construction"].arrays(tmp_path / "out.graphml")) as stored:
        assert not [name for name in stored.files if name.startswith(("list", "places"))]


# The median, which answers statistics of whole graphs.

UNIVERSE = Universe(5)
FIVE = gc.Graph([0, 0, 1, 3], [1, 2, 2, 4], vertices=5)  # a triangle and an edge
QUESTIONS = [
    *(gc.Query.statistic(name) for name in STATISTICS),
    gc.CutQuery([0, 1]),
    gc.CutQuery([0], [3, 4]),
    gc.Query.rank_one([1, 0.5, 0, 0, 0], [0, 0, 1, 1, 0.25]),
]


def test_dr14_theorem_5_10():
    """The error of the median with the exponential mechanism, on statistics, too.

    T is log2 of the number of graphs, X = 10, with the constants of Theorem 5.6 (32 T for delta 0).
    There is more epsilon than users may ask for, purely private: where the theorem says something.
    More failures have probability 1e-6 if each run fails with probability 0.1.
    """
    calibration = PaperIterative(paper="dr14", epsilon=1.0, delta=1e-6, beta=0.1)
    object.__setattr__(calibration, "epsilon", 4000.0)
    object.__setattr__(calibration, "delta", 0.0)
    listed = QuestionList(UNIVERSE, QUESTIONS)
    mechanism = IterativeConstruction(
        learner=MedianLearner(UNIVERSE),
        distinguisher=Exponential(queries=listed, epsilon=Fraction(1)),
        calibration=calibration,
        grid=Grid(),
        total_weight=4.0,
    )
    theorem = dr14_offline(
        lambda _: 10.0, queries=2 * len(listed), epsilon=4000.0, delta=0.0, beta=0.1
    )
    truth = np.array([listed.true_count(own, FIVE, Grid()) for own in listed], dtype=float)
    truth[5] = QUESTIONS[5].value(FIVE) / listed.scale
    wrong = 0
    for seed in range(12):
        outcome = mechanism.run(FIVE, SeededEntropy(seed))
        assert outcome.tuning.rounds == 10
        # A tolerance below an edge leaves room: noise is whole, and has no smaller radius.
        assert outcome.error <= max(theorem.error, 8.0) * (1 + 1e-6)
        gaps = np.abs(listed.answers(outcome.hypothesis) - truth)
        graph, off = nearest_graph(outcome.hypothesis, listed)
        wrong += gaps.max() > outcome.error + listed.rounding(Grid())
        assert off <= gaps.max() + listed.rounding(Grid())  # the truth is one of the graphs
        assert set(np.unique(graph.matrix)) <= {0.0, 1.0}
    assert wrong <= scipy.stats.binom.isf(1e-6, 12, 0.1)


def of_median(epsilon=50.0, seed=1, **options):
    made = gc.Learning(rule="median", **options)
    return gc.release_iteratively(
        FIVE, QUESTIONS, epsilon=epsilon, delta=1e-3, construction=made, seed=seed
    )


@pytest.mark.thorough
@pytest.mark.parametrize("calibration", ["practical", "tight", "dr14"])
def test_statistics_are_answered_within_their_intervals(calibration):
    """And with much epsilon the graph is found, with little it is not, with the same seeds."""
    rounds = {"rounds": 2} if calibration == "dr14" else {}  # by itself it would run none
    made = of_median(calibration=calibration, **rounds)
    assert made.settings.construction == "median"
    for question in QUESTIONS:
        answer, truth = made.answer(question), float(question.value(FIVE))
        assert answer.interval[0] - 1e-9 <= truth <= answer.interval[1] + 1e-9
        assert answer.confidence == DEFAULT_CONFIDENCE
    assert set(np.unique(made.hypothesis.matrix)) <= {0.0, 1.0}
    for measured in made.transcript:
        assert any(measured.query is question for question in made.listed.public_queries)
    if calibration == "practical":
        assert made.plot().axes
        few, wrong = QUESTIONS[1:5], []
        for epsilon in (0.01, 50.0):
            runs = [of_median(epsilon, seed).answer_all(few) for seed in range(5)]
            wrong.append(sum(abs(each.value - query.value(FIVE)) for answers in runs
                             for each, query in zip(answers, few, strict=True)))  # fmt: skip
        assert wrong[1] < 0.5 * wrong[0]


def test_statistics_are_answered_by_the_median_alone():
    made = released(FIVE, QUESTIONS[3:], rule="frieze-kannan")
    with pytest.raises(QueryError, match="median"):
        made.answer(QUESTIONS[0])


# Lists of any linear queries, and norms.


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("signed", [False, True])
def test_lists_of_linear_queries_are_learnt(construction, signed):
    """Stated errors hold, and gaps fall below those of a flat matrix."""
    ends = np.divmod(np.arange(0, 240, 3), 12)
    weights = np.linspace(0.5, 5, 80)
    ratings = gc.BipartiteGraph(*ends, weights, left=20, right=12, max_weight=5.0)
    rng = np.random.default_rng(3)
    queries = [
        gc.Query.matrix(rng.random((20, 12)) * 3 - signed * (rng.random((20, 12)) < 0.5) * 3)
        for _ in range(8)
    ]
    queries.append(gc.Query.matrix(np.where(np.arange(240).reshape(20, 12) % 3, 0, 3.0)))
    truth = np.array([query.value(ratings) for query in queries])
    terms = {"epsilon": 20.0, "delta": 1e-6, "construction": construction, "seed": 1}
    made = gc.release_iteratively(ratings, queries, **terms)
    answers = made.answer_all(queries)
    flat = np.full((20, 12), weights.sum() / 240)
    start = np.abs(Universe(20, 12).answers(queries, flat) - truth).max()
    off = np.abs([answer.value for answer in answers] - truth).max()
    assert off < 0.7 * start
    assert off <= made.accuracy.error
    for answer, true in zip(answers, truth, strict=True):
        assert answer.confidence == DEFAULT_CONFIDENCE
        assert answer.interval[0] <= true <= answer.interval[1]
    assert made.answer(gc.Query.matrix(np.ones((20, 12)))).confidence == 1.0


NORMS = ("l2", "lp", "l1.5", "2,p", "2,1.4", "entropy", "schatten", "schatten-1.5", "auto")
RATINGS = imbalanced_bipartite(12, seed=2)
SIDES = np.random.default_rng(0).random((30, 2, 12)) < 0.5
HALVES = [gc.CutQuery(S, T) for S, T in SIDES]


def by_norm(queries=HALVES, *, epsilon=50.0, delta=1e-3, store=None, **options):
    # Each update with p below 2 solves equations.
    made = gc.Learning(rule="mirror-descent", rounds=3, refits=1, **options)
    terms = {"epsilon": epsilon, "delta": delta, "construction": made, "store": store}
    return gc.release_iteratively(RATINGS, queries, seed=1, **terms)


@pytest.mark.thorough(cases=13)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("calibration", ["practical", "tight"])
def test_every_norm_learns_the_cuts(norm, calibration, tmp_path):
    """Each is better on the list than answering 0, and within what is proven."""
    made = by_norm(norm=norm, calibration=calibration, store=tmp_path / "a.db")
    truths, found = (gc.answer_all(HALVES, graph) for graph in (RATINGS, made.graph))
    assert np.abs(found - truths).max() <= made.accuracy.graph_error
    if calibration == "practical":  # what is proven for p below 2 asks for larger graphs
        assert np.abs(found - truths).max() < truths.max()
    shown = "mirror-descent" if norm == "l2" else f"mirror-descent, norm {norm}"
    assert made.settings.construction == shown
    (use,) = gc.store_status(tmp_path / "a.db").uses
    assert use.use.parameters["construction"] == shown
    parts = dict(made.guarantee.spent)
    assert ("root degrees" in parts) is norm.startswith("2,")
    assert sum(parts.values()) == pytest.approx(50.0)
    if norm == "l2":
        assert by_norm(calibration=calibration).settings == made.settings  # without a norm


def test_a_pure_release_buys_root_degrees_too():
    made = by_norm(None, epsilon=4.0, delta=0.0, norm="2,p", distinguisher="response-rank-one")
    parts = dict(made.guarantee.spent)
    assert set(parts) == {"noisy matrix", "total weight", "root degrees", "answers"}
    assert sum(parts.values()) == pytest.approx(4.0)
    assert made.guarantee.delta == 0
