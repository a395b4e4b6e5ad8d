"""What is refused: options of every construction, and objects that a researcher makes by hand."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError, HypothesisError, ParameterError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.construction import IterativeConstruction
from graphcuts_dp.iterative.distinguisher import ExactCuts, Exponential
from graphcuts_dp.iterative.power_method import PowerRankOne
from graphcuts_dp.iterative.query_lists import QuestionList
from graphcuts_dp.iterative.rank_one import Released, ResponseRankOne
from graphcuts_dp.iterative.tuning import (
    IterativeParameters,
    PracticalIterative,
    PureIterative,
    TightIterative,
)
from graphcuts_dp.learn.learners import MultiplicativeWeightsLearner
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs
from graphcuts_dp.options import described
from graphcuts_dp.plugins import ProposedQuery, SeededEntropy, Universe

GRAPH = gc.Graph([0, 1, 2, 0], [1, 2, 3, 4], vertices=8)
SIDES = gc.BipartiteGraph([0, 2], [1, 3], [1.0, 4.5], left=6, right=4, max_weight=5.0)
TINY = gc.Graph([0, 1], [1, 2], vertices=4)
ONE = gc.Graph([], [], vertices=1)
WEIGHTED = gc.Graph([0], [1], [0.5], vertices=4, max_weight=1.0)
UNCAPPED = gc.Graph([0], [1], [2.0], vertices=3, max_weight_change=1)
CUTS = [gc.CutQuery([0, 1]), gc.CutQuery([0], [2, 3])]
SUMS = [gc.CutQuery([0, 1], [2, 3]), gc.Query.matrix(np.ones((6, 4)))]
NEGATIVE = [gc.Query.matrix(-np.ones((6, 4)))]
STATISTIC = [gc.Query.statistic("triangles")]
ELSEWHERE = gc.CutList(Universe(3), [gc.CutQuery([0])])
OF_FIVE = ExactCuts(universe=Universe(5), epsilon=Fraction(1))
OF_SIDES = {"graph": SIDES, "queries": NEGATIVE}
# Of each construction a graph and queries that fit it.
USUAL = {
    "frieze-kannan": (GRAPH, None),
    "mirror-descent": (SIDES, SUMS[:1]),
    "median": (TINY, CUTS),
    "game": (GRAPH, CUTS),
    "net": (TINY, CUTS),
    "answers": (GRAPH, CUTS),
    "k-norm": (GRAPH, CUTS),
    "sensing": (SIDES, SUMS),
}
NET_OF = {
    each: {"construction": gc.Net(family=family)}
    for each, family in {
        "list": [[1.0]],
        "elsewhere": all_graphs(Universe(3)),
        "negative": DatabaseFamily(Universe(4), [[-1.0] * 6]),
    }.items()
}
REFUSED = [  # the construction, what else is changed, and what it says
    ("average", {}, "unknown construction"),
    ("frieze-kannan:distinguisher=best", {}, "unknown distinguisher"),
    ("frieze-kannan:distinguisher=exponential", {}, "need queries"),
    ("frieze-kannan:distinguisher=exact-cuts", {"queries": CUTS}, "need queries"),
    ("frieze-kannan:distinguisher=released", {"graph": SIDES, "queries": SUMS}, "of cuts"),
    ("frieze-kannan:distinguisher=exact-cuts", {"graph": random_graph(30)}, "22"),
    ("", {"construction": gc.Learning(distinguisher=3)}, "distinguisher is a name"),
    ("", {"construction": gc.Learning(distinguisher=OF_FIVE)}, "over other vertices"),
    ("frieze-kannan:calibration=loose", {}, "unknown calibration"),
    ("frieze-kannan:calibration=dr14", {}, "would run no round on any graph of this size"),
    ("frieze-kannan:calibration=dr14,sigma=30", {}, "set rounds, too"),
    ("frieze-kannan:calibration=dr14,threshold=30", {}, "set rounds, too, or alpha"),
    ("frieze-kannan:calibration=dr14,rounds=3,sigma=3", {}, "sigma must be above"),
    ("frieze-kannan:calibration=tight,rounds=3,sigma=3", {}, "sigma must be above"),
    ("frieze-kannan:rounds=3,alpha=3", {}, "alpha is no parameter of this calibration"),
    ("frieze-kannan:eta=0.1", {}, "eta is for"),
    ("multiplicative-weights:step=3", {}, "step is for"),
    ("mirror-descent:norm=auto,eta=0.1", {}, "name it"),
    ("multiplicative-weights:sigma=0", {}, "sigma must be a number at least 1e-06"),
    ("multiplicative-weights:rounds=0", {}, "rounds must be a whole number at least 1"),
    ("frieze-kannan:calibration=tight", {"delta": 0.0}, "needs delta"),
    ("multiplicative-weights:calibration=gru12", OF_SIDES, "as printed"),
    ("frieze-kannan:calibration=dr14,distinguisher=response-rank-one", {}, "charged by the call"),
    ("frieze-kannan:norm=l2", {}, "norm is for"),
    ("frieze-kannan", {"delta": 0.0}, "needs delta"),
    ("frieze-kannan", {"delta": None}, "delta must be"),
    ("frieze-kannan:distinguisher=response-rank-one", {"delta": 2.0}, "delta must be"),
    ("frieze-kannan", {"beta": 1.0}, "beta"),
    ("frieze-kannan", {"beta": "5 %"}, "beta must be"),
    ("frieze-kannan", {"privacy_unit": 3}, "privacy_unit is"),
    ("frieze-kannan", {"epsilon": -1.0}, "epsilon"),
    ("frieze-kannan", {"queries": 3}, "a list of queries"),
    ("frieze-kannan", {"queries": []}, "at least one"),
    ("frieze-kannan", {"queries": ELSEWHERE}, "other vertices"),
    ("frieze-kannan", {"queries": STATISTIC}, "statistics of whole graphs"),
    ("frieze-kannan", {"graph": gc.Graph([0], [1], vertices=9000)}, "8192"),
    ("frieze-kannan", {"graph": ONE}, "one vertex"),
    ("frieze-kannan", {"graph": "no graph"}, "private data are a graph"),
    (
        "frieze-kannan",
        {"graph": gc.Graph([0], [1], [1.5], vertices=3)},
        "max_weight=.*weighted=False",
    ),
    ("mirror-descent:norm=l3", {}, "exponent p"),
    ("mirror-descent:norm=best", {}, "unknown norm"),
    ("mirror-descent:norm=entropy", {"queries": NEGATIVE}, "not negative"),
    ("mirror-descent:norm=auto", {"queries": NEGATIVE}, "not negative"),
    ("median", {"queries": None}, "list of queries"),
    ("median:norm=l2", {}, "no norm"),
    ("median", {"graph": WEIGHTED}, "without weights"),
    ("median", {"graph": GRAPH}, "16"),
    ("median", {"graph": SIDES, "queries": STATISTIC}, "one vertex set"),
    ("game", {"queries": None}, "needs queries"),
    ("game", {"delta": 0.0}, "delta"),
    ("game:hide-queries=0.01", {}, "too short"),
    ("game", OF_SIDES, "a list of cuts"),
    ("net", {"queries": []}, "at least one"),
    ("net", {"queries": [gc.CutQuery([])]}, "constant"),
    ("net", {"queries": [[0, 1]]}, "no matrix of coefficients"),
    ("net", {"graph": GRAPH}, r"2\^28 graphs .* release_graph"),
    ("net", {"graph": WEIGHTED}, "without weights"),
    ("net", NET_OF["list"], "family is"),
    ("net", NET_OF["elsewhere"], "other vertices"),
    ("net", NET_OF["negative"], "negative"),
    ("k-norm", {"queries": [gc.CutQuery([i]) for i in range(7)]}, "at most 6"),
    ("answers", {"queries": []}, "at least one"),
    ("answers", {"queries": [gc.CutQuery([0])] * 1001}, "at most 1000"),
    ("answers", {"queries": ELSEWHERE}, "other vertices"),
    ("answers", {"queries": [gc.CutQuery([9])]}, "9"),
    ("answers", {"queries": [gc.Query.rank_one([1] * 8, [1] * 8)]}, "CutQuery"),
    ("answers", {"graph": UNCAPPED, "queries": CUTS[:1]}, "max_weight"),
    ("answers", {"graph": ONE}, "one vertex"),
    ("sensing", {"delta": 0.0}, "delta"),
    ("sensing", {"queries": []}, "at least one"),
    ("sensing", {"queries": [gc.Query.matrix(np.zeros((6, 4)))]}, "constant"),
    ("sensing", {"queries": [gc.Query.matrix(np.ones((4, 6)))]}, "shape"),
    ("sensing", {"queries": [gc.Query.matrix(np.full((6, 4), 1e-320))]}, "usual size"),
    ("sensing", {"graph": GRAPH, "queries": CUTS}, "BipartiteGraph"),
    ("sensing", {"graph": gc.BipartiteGraph([0], [1], [2.0], left=6, right=4)}, "max_weight"),
    ("sensing", {"graph": gc.BipartiteGraph([], [], left=10**4, right=10**4)}, "fewer items"),
    ("sensing:rounds=10000", {"epsilon": 1e-6}, "64 bits"),
]


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize(("construction", "change", "told"), REFUSED)
def test_options_that_do_not_fit_are_refused(construction, change, told):
    graph, queries = USUAL.get(construction.partition(":")[0], (GRAPH, None))
    delta = 0.0 if construction in ("net", "answers", "k-norm") else 1e-6
    terms = {"construction": construction, "epsilon": 1.0, "delta": delta}
    terms |= {"graph": graph, "queries": queries} | change
    with pytest.raises(GraphCutsError, match=told):
        gc.release_iteratively(terms.pop("graph"), terms.pop("queries"), **terms)


@pytest.mark.parametrize("kind", [gc.Learning, gc.Game, gc.Net, gc.Sensing])
def test_every_option_of_a_construction_has_its_range(kind):
    ranged = [each for each in described(kind) if each.range or each.choices]
    assert ranged
    for each in ranged:
        wrong = "nobody" if each.choices else -1
        with pytest.raises(ParameterError, match=each.name):
            kind(**{each.name: wrong})


FIVE, LISTED = Universe(5), gc.CutList(Universe(8), CUTS)
ONE_EPSILON = {"epsilon": Fraction(1)}
POWER = PowerRankOne(universe=FIVE, rho=0.1, delta=1e-6)
FINE = Grid(2.0**-30, 2**30, 1.0)
BITS = noise_distribution("binary", epsilon=1.0)
ONES = [gc.Query.matrix(np.ones((5, 5)))]
MASKS = np.zeros((1, 5), bool)
CUTS_OF_ALL = ExactCuts(universe=Universe(8), **ONE_EPSILON)
TIGHT = {"update_bound": lambda _: math.inf, "unit_weight": 1.0, "sensitivity": 1}
MECHANISM = IterativeConstruction(
    learner=MultiplicativeWeightsLearner(Universe(8)),
    distinguisher=CUTS_OF_ALL,
    calibration=PracticalIterative(epsilon=1.0, delta=1e-6),
    grid=Grid(),
)


class Pairs:
    """A distinguisher that finds what is no cut."""

    name, setup, call, universe, usual_shortfall = "pairs", None, None, Universe(8), 0.0

    def shortfall(self, _):
        return math.inf

    def with_rho(self, *_, **__):
        return self

    begin = with_rho

    def find(self, *_):
        return ProposedQuery(query=gc.Query.matrix(np.ones((8, 8))), sign=None)


def run(graph=GRAPH, **options):
    return replace(MECHANISM, **options).run(graph, SeededEntropy(1))


BY_HAND = [
    (lambda: gc.CutList(FIVE, []), "at least one"),
    (lambda: gc.CutList(FIVE, ONES), "CutQuery"),
    (lambda: gc.CutList.of_masks(FIVE, MASKS[:0], MASKS[:0]), "at least one"),
    (lambda: gc.CutList.of_masks(FIVE, MASKS[:, 1:], MASKS), "lengths"),
    (lambda: gc.CutList.of_words(FIVE, np.zeros((1, 2)), np.zeros((1, 2))), "no cuts"),
    (lambda: QuestionList(FIVE, []), "at least one"),
    (lambda: QuestionList(FIVE, [gc.Query.matrix(np.zeros((5, 5)))]), "constant"),
    (lambda: QuestionList(FIVE, [gc.CutQuery([0])] * (1 << 21)), "at most"),
    (lambda: QuestionList(FIVE, [gc.Query.matrix(np.ones((4, 4)))]), "shape"),
    (lambda: QuestionList(FIVE, ["no query"]), "coefficients"),
    (lambda: QuestionList(Universe(4, 5), STATISTIC), "one vertex set"),
    (lambda: QuestionList(FIVE, ONES)[0].coefficients(Universe(4).space), "other vertex sets"),
    (lambda: CUTS_OF_ALL.with_rho(-1.0, rounds=1), "budget"),
    (lambda: ExactCuts(universe=Universe(23), **ONE_EPSILON), "up to 22"),
    (lambda: replace(POWER, grid=Grid(cap=None)), "max_weight"),
    (lambda: replace(POWER, steps=0), "steps"),
    (lambda: replace(POWER, certificate_rho=-1.0), "rho"),
    (lambda: replace(POWER, rho=1e-12, grid=FINE), "64 bits"),
    (lambda: replace(POWER, certificate_rho=1e-12, grid=FINE), "64 bits"),
    (lambda: POWER.with_epsilon(Fraction(1), rounds=1), "no pure bound"),
    (
        lambda: PureIterative(universe=FIVE, epsilon=1.0).tune(
            distinguisher=ResponseRankOne(universe=FIVE, distribution=BITS), **TIGHT
        ),
        "cannot be tuned",
    ),
    (
        lambda: TightIterative(
            epsilon=1.0, delta=1e-6, parameters=IterativeParameters(rounds=1)
        ).tune(distinguisher=CUTS_OF_ALL, **TIGHT),
        "no number of rounds",
    ),
    (lambda: run(distinguisher=ExactCuts(universe=FIVE, **ONE_EPSILON)), "other vertices"),
    (lambda: run(TINY), "other vertices"),
    (lambda: run(distinguisher=Pairs()), "find cuts"),
    (lambda: run(calibration=PureIterative(universe=Universe(8), epsilon=1.0)), "charged once"),
]


@pytest.mark.thorough(cases=11)
@pytest.mark.parametrize(("make", "told"), BY_HAND)
def test_objects_made_by_hand_are_refused(make, told):
    with pytest.raises(GraphCutsError, match=told):
        make()


SEARCHES = [
    Exponential(queries=LISTED, **ONE_EPSILON),
    CUTS_OF_ALL,
    ResponseRankOne(universe=Universe(8), distribution=BITS),
    Released(queries=LISTED, distribution=BITS),
    PowerRankOne(universe=Universe(8), rho=0.1, delta=1e-6, certificate_rho=0.1),
]


@pytest.mark.parametrize("of", SEARCHES, ids=lambda of: of.name)
def test_searches_refuse_other_graphs_and_hypotheses_and_show_nothing(of):
    for other in (TINY, SIDES, gc.Graph([0], [1], [0.5], vertices=8, max_weight=2.0)):
        with pytest.raises(ParameterError):
            of.begin(other, SeededEntropy(1))
    search = of.begin(GRAPH, SeededEntropy(1))
    assert "=" not in repr(search)
    if of is SEARCHES[0]:
        return  # any hypothesis can answer a list

    class Opaque:
        universe = Universe(8)

    asks = [search.find, search.prove] if getattr(search, "prove", None) else [search.find]
    for ask in asks:
        with pytest.raises(HypothesisError, match=r"another universe|other vertices"):
            ask(all_graphs(Universe(3)), SeededEntropy(2))
        if of.name != "released":
            with pytest.raises(HypothesisError, match="is a matrix"):
                ask(Opaque(), SeededEntropy(2))
