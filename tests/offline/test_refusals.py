"""What is refused: options of every construction, and objects that a researcher makes by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers import random_graph
from offline_calls import learn

import graphcuts_dp as gc
from graphcuts_dp.errors import GraphError, HypothesisError, ParameterError, QueryError
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import MultiplicativeWeightsLearner
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs
from graphcuts_dp.offline.construction import IterativeConstruction
from graphcuts_dp.offline.distinguisher import ExactCuts, Exponential, Found
from graphcuts_dp.offline.query_lists import CutList, QuestionList
from graphcuts_dp.offline.rank_one import PowerRankOne, Released, ResponseRankOne
from graphcuts_dp.offline.tuning import PracticalOffline, PureOffline, TightOffline
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy

GRAPH = gc.Graph([0, 1, 2, 0], [1, 2, 3, 4], vertices=8)
SIDES = gc.BipartiteGraph([0, 2], [1, 3], [1.0, 4.5], left=6, right=4, weight_cap=5.0)
TINY = gc.Graph([0, 1], [1, 2], vertices=4)
CUTS = [gc.CutQuery([0, 1]), gc.CutQuery([0], [2, 3])]
SUMS = [gc.CutQuery([0, 1], [2, 3]), gc.Query.matrix(np.ones((6, 4)))]
NEGATIVE = [gc.Query.matrix(-np.ones((6, 4)))]
STATISTIC = [gc.Query.statistic("triangles")]
WEIGHTED = gc.Graph([0], [1], [0.5], vertices=4, weight_cap=1.0)
UNCAPPED = gc.Graph([0], [1], [2.0], vertices=3, hide_change=1)
ONE = gc.Graph([], [], vertices=1)
ELSEWHERE = CutList(Universe(3), [gc.CutQuery([0])])
P, Q, H, G = ParameterError, QueryError, HypothesisError, GraphError
# Of each construction what is usual, and then: what is changed, the error, and what it says.
USUAL = {
    "multiplicative-weights": {"graph": GRAPH, "queries": None, "delta": 1e-6},
    "mirror-descent": {"graph": SIDES, "queries": SUMS[:1], "delta": 1e-6},
    "median": {"graph": TINY, "queries": CUTS, "delta": 1e-6},
    "game": {"graph": GRAPH, "queries": CUTS, "delta": 1e-6},
    "net": {"graph": TINY, "queries": CUTS},
    "answers": {"graph": GRAPH, "queries": CUTS},
    "sensing": {"graph": SIDES, "queries": SUMS, "delta": 1e-6},
}
REFUSED = {
    "multiplicative-weights": [
        ({"construction": "average"}, P, "unknown construction"),
        ({"distinguisher": "best"}, P, "unknown distinguisher"),
        ({"distinguisher": "exponential"}, P, "need queries"),
        ({"distinguisher": "exact-cuts", "queries": CUTS}, P, "need queries"),
        ({"distinguisher": "released", "graph": SIDES, "queries": SUMS}, P, "lists of cuts"),
        ({"distinguisher": "exact-cuts", "graph": random_graph(30)}, P, "22"),
        ({"distinguisher": 3}, P, "distinguisher is a name"),
        ({"distinguisher": ExactCuts(universe=Universe(5), epsilon=Fraction(1))}, P, "other vert"),
        ({"calibration": "loose"}, P, "unknown calibration"),
        ({"calibration": "dr14", "rounds": 3}, P, "are for the calibrations"),
        ({"calibration": "tight", "delta": 0.0}, P, "needs delta"),
        ({"calibration": "gru12", "graph": SIDES, "queries": NEGATIVE}, P, "as printed"),
        ({"calibration": "dr14", "distinguisher": "response-rank-one"}, P, "pay by the call"),
        ({"rounds": 0}, P, "rounds"),
        ({"rounds": True}, P, "rounds"),
        ({"queries_per_round": 0}, P, "queries_per_round"),
        ({"refits": -1}, P, "refits"),
        ({"hide_queries": 0.01}, P, "unknown option"),
        ({"delta": 0.0}, P, "needs delta"),
        ({"delta": 2.0, "distinguisher": "response-rank-one"}, P, "delta must be"),
        ({"beta": 1.0}, P, "beta"),
        ({"beta": "5 %"}, P, "beta must be"),
        ({"delta": None}, P, "delta must be"),
        ({"protect": 3}, P, "protect is"),
        ({"queries": 3}, Q, "a list of queries"),
        ({"epsilon": -1.0}, P, "epsilon"),
        ({"queries": []}, P, "at least one"),
        ({"queries": ELSEWHERE}, P, "other vertices"),
        ({"queries": STATISTIC}, P, "statistics of whole graphs"),
        ({"graph": gc.Graph([0], [1], vertices=9000)}, P, "8192"),
        ({"graph": ONE}, G, "one vertex"),
        ({"graph": "no graph"}, G, "must be a Graph"),
        ({"graph": gc.Graph([0], [1], [1.5], vertices=3)}, P, "weight_cap"),
        ({"norm": "l2"}, P, "norm is for"),
    ],
    "mirror-descent": [
        ({"norm": "l3"}, P, "exponent p"),
        ({"norm": "best"}, P, "unknown norm"),
        ({"norm": "entropy", "queries": NEGATIVE}, P, "not negative"),
        ({"norm": "auto", "queries": NEGATIVE}, P, "not negative"),
    ],
    "median": [
        ({"queries": None}, P, "list of queries"),
        ({"norm": "l2"}, P, "no norm"),
        ({"graph": WEIGHTED}, P, "without weights"),
        ({"graph": GRAPH}, P, "16"),
        ({"graph": SIDES, "queries": STATISTIC}, Q, "one vertex set"),
    ],
    "game": [
        ({"player": "nobody"}, P, "unknown player"),
        ({"player": "data"}, P, "unknown player"),
        ({"queries": None}, P, "needs queries"),
        ({"calibration": "tight"}, P, "unknown option"),
        ({"refits": 3}, P, "unknown option"),
        ({"queries_per_round": 0}, P, "queries_per_round"),
        ({"rounds": 1}, P, "rounds"),
        ({"rounds": 2001}, P, "rounds"),
        ({"delta": 0.0}, P, "delta"),
        ({"hide_queries": 0.01}, P, "too short"),
        ({"hide_queries": 0.0}, P, "hide_queries"),
        ({"hide_queries": 1.0}, P, "hide_queries"),
        ({"graph": SIDES, "queries": NEGATIVE}, P, "a list of cuts"),
    ],
    "net": [
        ({"epsilon": 0.0}, P, "positive"),
        ({"alpha": -1.0}, P, "alpha"),
        ({"alpha": math.nan}, P, "alpha"),
        ({"queries": []}, P, "at least one"),
        ({"queries": [gc.CutQuery([])]}, P, "constant"),
        ({"queries": [[0, 1]]}, Q, "no matrix of coefficients"),
        ({"family": [[1.0]]}, P, "family is"),
        ({"graph": GRAPH}, H, r"2\^28 graphs .* release_graph"),
        ({"graph": WEIGHTED}, G, "without weights"),
        ({"family": all_graphs(Universe(3))}, H, "other vertices"),
        ({"family": DatabaseFamily(Universe(4), [[-1.0] * 6])}, H, "negative"),
    ],
    "answers": [
        ({"queries": [gc.CutQuery([i]) for i in range(7)], "noise": "k-norm"}, P, "at most 6"),
        ({"noise": "gaussian"}, P, "unknown construction"),
        ({"epsilon": 0}, P, "epsilon"),
        ({"queries": []}, P, "at least one"),
        ({"queries": [gc.CutQuery([0])] * 1001}, P, "at most 1000"),
        ({"queries": ELSEWHERE}, P, "other vertices"),
        ({"queries": [gc.CutQuery([9])]}, Q, "9"),
        ({"queries": [gc.Query.rank_one([1] * 8, [1] * 8)]}, Q, "CutQuery"),
        ({"graph": UNCAPPED, "queries": [gc.CutQuery([0])]}, P, "weight_cap"),
        ({"graph": ONE}, G, "one vertex"),
    ],
    "sensing": [
        ({"epsilon": 51.0}, P, "out of range"),
        ({"delta": 0.0}, P, "delta"),
        ({"rounds": 0}, P, "rounds"),
        ({"p": 1.0}, P, "p"),
        ({"expected_ratings": -1}, P, "expected_ratings"),
        ({"queries": []}, P, "at least one"),
        ({"queries": [gc.Query.matrix(np.zeros((6, 4)))]}, P, "constant"),
        ({"queries": [gc.Query.matrix(np.ones((4, 6)))]}, Q, "shape"),
        ({"queries": [gc.Query.matrix(np.full((6, 4), 1e-320))]}, P, "usual size"),
        ({"graph": GRAPH, "queries": CUTS}, G, "BipartiteGraph"),
        ({"graph": gc.BipartiteGraph([0], [1], [2.0], left=6, right=4)}, P, "weight_cap"),
        (
            {"graph": gc.BipartiteGraph([], [], left=10**4, right=10**4), "queries": SUMS[:1]},
            G,
            "fewer items",
        ),
        ({"epsilon": 1e-6, "rounds": 10_000}, P, "64 bits"),
    ],
}


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize(
    ("construction", "change", "error", "message"),
    [(name, *row) for name, rows in REFUSED.items() for row in rows],
)
def test_options_that_do_not_fit_are_refused(construction, change, error, message):
    options = {"construction": construction, "epsilon": 1.0} | USUAL[construction] | change
    with pytest.raises(error, match=message):
        learn(options.pop("graph"), options.pop("queries"), **options)


FIVE, LISTED = Universe(5), CutList(Universe(8), CUTS)
ONE_EPSILON = {"epsilon": Fraction(1)}
POWER = {"universe": FIVE, "rho": 0.1, "delta": 1e-6}
BITS = noise_distribution("binary", epsilon=1.0)
LINEAR = QuestionList(FIVE, [gc.Query.matrix(np.ones((5, 5)))])
MASKS = np.zeros((1, 5), bool)
CUTS_OF_ALL = ExactCuts(universe=Universe(8), **ONE_EPSILON)
TIGHT = {"update_bound": lambda _: math.inf, "one": 1.0, "steps": 1}


def mechanism(**options):
    usual = {
        "learner": MultiplicativeWeightsLearner(Universe(8)),
        "distinguisher": CUTS_OF_ALL,
        "calibration": PracticalOffline(epsilon=1.0, delta=1e-6),
        "grid": Grid(),
    }
    return IterativeConstruction(**usual | options)


class Pairs:
    """A distinguisher that finds what is no cut."""

    name, setup, call, universe, usual_shortfall = "pairs", None, None, Universe(8), 0.0

    def shortfall(self, _):
        return math.inf

    def with_rho(self, *_, **__):
        return self

    begin = with_rho

    def find(self, *_):
        return Found(query=gc.Query.matrix(np.ones((8, 8))), sign=None)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CutList(FIVE, []), P, "at least one"),
        (lambda: CutList(FIVE, [gc.Query.matrix(np.ones((5, 5)))]), Q, "CutQuery"),
        (lambda: CutList.of_masks(FIVE, MASKS[:0], MASKS[:0]), P, "at least one"),
        (lambda: CutList.of_masks(FIVE, MASKS[:, 1:], MASKS), P, "lengths"),
        (lambda: CutList.of_words(FIVE, np.zeros((1, 2)), np.zeros((1, 2))), P, "no cuts"),
        (lambda: QuestionList(FIVE, []), P, "at least one"),
        (lambda: QuestionList(FIVE, [gc.Query.matrix(np.zeros((5, 5)))]), P, "constant"),
        (lambda: QuestionList(FIVE, [gc.CutQuery([0])] * (1 << 21)), P, "at most"),
        (lambda: QuestionList(FIVE, [gc.Query.matrix(np.ones((4, 4)))]), Q, "shape"),
        (lambda: QuestionList(FIVE, ["no query"]), Q, "coefficients"),
        (lambda: QuestionList(Universe(4, 5), STATISTIC), Q, "one vertex set"),
        (lambda: LINEAR[0].coefficients(Universe(4).space), Q, "other vertex sets"),
        (
            lambda: Exponential(queries=LISTED, grid=Grid(1.0, 1, None), **ONE_EPSILON),
            P,
            "weight_cap",
        ),
        (lambda: CUTS_OF_ALL.with_rho(-1.0, rounds=1), P, "budget"),
        (lambda: ExactCuts(universe=Universe(23), **ONE_EPSILON), P, "up to 22"),
        (lambda: PowerRankOne(**POWER, grid=Grid(cap=None)), P, "weight_cap"),
        (lambda: PowerRankOne(**POWER, steps=0), P, "steps"),
        (lambda: PowerRankOne(**POWER, certificate=-1.0), P, "rho"),
        (
            lambda: PowerRankOne(**POWER | {"rho": 1e-12}, grid=Grid(2.0**-30, 2**30, 1.0)),
            P,
            "64 bits",
        ),
        (
            lambda: PowerRankOne(**POWER, certificate=1e-12, grid=Grid(2.0**-30, 2**30, 1.0)),
            P,
            "64 bits",
        ),
        (lambda: PowerRankOne(**POWER).with_epsilon(Fraction(1), rounds=1), P, "no pure bound"),
        (
            lambda: PureOffline(universe=FIVE, epsilon=1.0).tune(
                distinguisher=ResponseRankOne(universe=FIVE, distribution=BITS), **TIGHT
            ),
            P,
            "cannot be tuned",
        ),
        (
            lambda: TightOffline(epsilon=1.0, delta=1e-6, rounds=1).tune(
                distinguisher=CUTS_OF_ALL, **TIGHT
            ),
            P,
            "no number of rounds",
        ),
        (lambda: mechanism(grid=Grid(1.0, 1, None)), P, "weight_cap"),
        (
            lambda: mechanism(distinguisher=ExactCuts(universe=FIVE, **ONE_EPSILON)),
            P,
            "other vertices",
        ),
        (lambda: mechanism().run(TINY, SeededEntropy(1)), P, "other vertices"),
        (lambda: mechanism(distinguisher=Pairs()).run(GRAPH, SeededEntropy(1)), Q, "find cuts"),
        (
            lambda: mechanism(calibration=PureOffline(universe=Universe(8), epsilon=1.0)).run(
                GRAPH, SeededEntropy(1)
            ),
            P,
            "paid once",
        ),
    ],
)
def test_objects_made_by_hand_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


SEARCHES = [
    Exponential(queries=LISTED, **ONE_EPSILON),
    CUTS_OF_ALL,
    ResponseRankOne(universe=Universe(8), distribution=BITS),
    Released(queries=LISTED, distribution=BITS),
    PowerRankOne(universe=Universe(8), rho=0.1, delta=1e-6, certificate=0.1),
]


@pytest.mark.parametrize("of", SEARCHES, ids=lambda of: of.name)
def test_searches_refuse_other_graphs_and_hypotheses_and_show_nothing(of):
    for other in (TINY, SIDES, gc.Graph([0], [1], [0.5], vertices=8, weight_cap=2.0)):
        with pytest.raises(ParameterError):
            of.begin(other, SeededEntropy(1))
    search = of.begin(GRAPH, SeededEntropy(1))
    assert "=" not in repr(search)
    if of is SEARCHES[0]:
        return  # any hypothesis can answer a list

    class Opaque:
        universe = Universe(8)

    asks = [search.find, search.prove] if getattr(search, "prove", None) else [search.find]
    elsewhere = all_graphs(Universe(3))
    for ask in asks:
        with pytest.raises(HypothesisError, match=r"another universe|other vertices"):
            ask(elsewhere, SeededEntropy(2))
        if of.name != "released":
            with pytest.raises(HypothesisError, match="is a matrix"):
                ask(Opaque(), SeededEntropy(2))
