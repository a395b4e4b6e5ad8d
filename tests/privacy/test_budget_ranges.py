"""Whatever takes a budget refuses numbers out of range, before any graph is read."""

import math
from fractions import Fraction

import pytest

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.ledger.spending import Budget
from graphcuts_dp.offline.distinguishers import Exponential
from graphcuts_dp.offline.exact_cuts import ExactCuts
from graphcuts_dp.offline.power_method import PowerRankOne
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.tuning import PaperOffline, PracticalOffline, PureOffline, TightOffline
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.session.calibrations import DR14, GRU12, JT12, Tight
from graphcuts_dp.session.per_query import PerQueryNoise
from graphcuts_dp.session.response import BinaryAnswers
from scripts.figures.gaussian_rank_one import GaussianRankOne

UNIVERSE = Universe(5)
PLAIN = {"universe": UNIVERSE, "grid": Grid(), "queries": 3}
# What takes a budget, the numbers it needs beside it, and whether delta = 0 is allowed.
TAKERS = [
    (Tight, {"queries": 3}, False),
    (GRU12, {"queries": 3}, False),
    (JT12, {"queries": 3}, False),
    (DR14, {"queries": 3}, True),
    (PerQueryNoise, {"distribution": "gaussian", **PLAIN}, False),
    (PracticalOffline, {}, False),
    (TightOffline, {}, False),
    (PaperOffline, {"paper": "gru12"}, False),
    (PaperOffline, {"paper": "dr14"}, True),
]
PURE = [
    (DR14, {"queries": 3, "delta": 0.0}),
    (PerQueryNoise, {"distribution": "laplace", **PLAIN}),
    (BinaryAnswers, PLAIN),
    (PureOffline, {"universe": UNIVERSE}),
]
EVERY = [(made, {"delta": 1e-6, **given}) for made, given, _ in TAKERS] + PURE
NO_PROBABILITY = [0.0, 1.0, -0.1, 1.5, math.nan, math.inf]
LIST = CutList(UNIVERSE, [CutQuery([0], [1]), CutQuery([0], [2])])


def names(cases):
    return [
        f"{made.__name__}-{given.get('paper', given.get('distribution', ''))}"
        for made, given, *_ in cases
    ]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-7, 51.0, True])
@pytest.mark.parametrize(
    ("made", "given"), [*EVERY, (Budget, {})], ids=names([*EVERY, (Budget, {})])
)
def test_an_epsilon_out_of_range_is_refused(made, given, epsilon):
    made(**given, epsilon=0.5)
    with pytest.raises(ParameterError, match="epsilon"):
        made(**given, epsilon=epsilon)


@pytest.mark.parametrize("delta", NO_PROBABILITY)
@pytest.mark.parametrize(("made", "given", "pure"), TAKERS, ids=names(TAKERS))
def test_a_delta_out_of_range_is_refused(made, given, pure, delta):
    if pure and delta == 0:
        assert made(**given, epsilon=0.5, delta=delta).cost.pure == Fraction(1, 2)
        return
    with pytest.raises(ParameterError, match="delta"):
        made(**given, epsilon=0.5, delta=delta)


@pytest.mark.parametrize("beta", NO_PROBABILITY)
@pytest.mark.parametrize(("made", "given"), EVERY, ids=names(EVERY))
def test_a_beta_out_of_range_is_refused(made, given, beta):
    with pytest.raises(ParameterError, match="beta"):
        made(**given, epsilon=0.5, beta=beta)


ASKED = [(made, given) for made, given in EVERY if "queries" in given]


@pytest.mark.parametrize(("made", "given"), ASKED, ids=names(ASKED))
def test_a_number_of_queries_out_of_range_is_refused(made, given):
    for queries in (0, -1):
        with pytest.raises(ParameterError, match="queries"):
            made(**{**given, "queries": queries}, epsilon=0.5)


@pytest.mark.parametrize("delta", [1.0, -1e-9, math.nan, True, "1e-6"])
def test_a_budget_refuses_a_delta_out_of_range(delta):
    with pytest.raises(ParameterError):
        Budget(1.0, delta)


@pytest.mark.parametrize("made", [GaussianRankOne, PowerRankOne])
@pytest.mark.parametrize("rho", [0.0, -1.0, 1e-13, math.nan, math.inf])
def test_a_rho_out_of_range_is_refused(made, rho):
    made(universe=UNIVERSE, grid=Grid(), rho=0.1, delta=1e-6)
    with pytest.raises(ParameterError, match="rho"):
        made(universe=UNIVERSE, grid=Grid(), rho=rho, delta=1e-6)


@pytest.mark.parametrize("made", [GaussianRankOne, PowerRankOne])
@pytest.mark.parametrize("rounds", [0, -1, True, 2.0])
def test_a_number_of_rounds_out_of_range_is_refused(made, rounds):
    with pytest.raises(ParameterError, match="rounds"):
        made(universe=UNIVERSE, grid=Grid(), rho=0.1, delta=1e-6).with_rho(0.1, rounds=rounds)


DISTINGUISHERS = [
    Exponential(queries=LIST, epsilon=Fraction(1)),
    ExactCuts(universe=UNIVERSE, epsilon=Fraction(1)),
]


@pytest.mark.parametrize("distinguisher", DISTINGUISHERS, ids=lambda made: made.name)
def test_a_call_with_hardly_any_epsilon_is_refused(distinguisher):
    for rounds in (0, -1, True, 2.0):
        with pytest.raises(ParameterError, match="rounds"):
            distinguisher.with_rho(0.1, rounds=rounds)
        with pytest.raises(ParameterError, match="rounds"):
            distinguisher.with_epsilon(Fraction(1), rounds=rounds)
    with pytest.raises(ParameterError, match="fewer rounds"):
        distinguisher.with_epsilon(Fraction(1, 10**30), rounds=1)
