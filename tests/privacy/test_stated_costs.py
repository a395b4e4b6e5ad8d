"""Every product states what its noise costs, and refuses to be built at more than was asked for.

A twin draws less noise than the budget pays for, somewhere below the product. Nobody told the
product: it finds out from the scales of its noise. Whatever takes a budget refuses numbers out of
range, before any graph is read.
"""

import math
import tempfile
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas
import pytest
from products import GRAPH, make

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, CutList, CutQuery, ParameterError, PrivacyUnit
from graphcuts_dp.cuts import least
from graphcuts_dp.distances import counts, learner
from graphcuts_dp.estimate.time_strategy import TimeStrategy
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative import answer_grid, game, tuning
from graphcuts_dp.iterative.distinguisher import ExactCuts, Exponential
from graphcuts_dp.iterative.paper_tuning import PaperIterative
from graphcuts_dp.iterative.power_method import PowerRankOne
from graphcuts_dp.iterative.tuning import PracticalIterative, PureIterative, TightIterative
from graphcuts_dp.learn import calibration_base, calibrations, forecasts
from graphcuts_dp.learn.calibration_base import START_SHARE
from graphcuts_dp.learn.calibrations import CALIBRATIONS, DR14, GRU12, JT12, Tight
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.measure.private_norms import ROOT_STEPS, measure_root_degrees
from graphcuts_dp.measure.statistics import PRIVATE_NORMS
from graphcuts_dp.plugins import Cost, ProposedQuery, SeededEntropy, Universe, ValueNoise
from graphcuts_dp.privacy.composition import check_spent, stated_cost, zcdp_delta, zcdp_rho
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.k_norm import NORMS
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.release import contributions, flow_tables, measuring
from graphcuts_dp.release import structure as structure_release
from graphcuts_dp.session import plain
from graphcuts_dp.session.plain import BinaryAnswers, PerQueryNoise
from graphcuts_dp.session.terms import METHODS, SessionTerms
from scripts.figures.gaussian_rank_one import GaussianRankOne
from tests.audits.registry import _PRODUCTS
from tests.audits.rows_in_memory import rows_in_memory

learn = gc.release_iteratively

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


VERTEX = PrivacyUnit.vertex(max_degree=5)
TINY = gc.Graph(*np.triu_indices(6, 1), vertices=6)
DENSE = gc.Graph(*np.triu_indices(60, 1), vertices=60)  # sessions correct something
HEAVY = gc.Graph(*np.triu_indices(90, 1), np.full(4005, 99.0), vertices=90, max_weight_change=1)
COMPLETE = gc.BipartiteGraph(*np.divmod(np.arange(900), 30), left=30, right=30)
ROWS = rows_in_memory(
    GRAPH.vertices, np.zeros(2, int), np.zeros(1, np.uint64), (np.array([0, 1]), np.array([2, 3]))
)
CUT = gc.CutQuery([0], [4])
SEEDED = {"epsilon": 1.0, "seed": 1}


def made(name, *data, **options):
    return lambda: make(name, *data, **SEEDED | options)


def distance_session(delta):
    def begin():
        with tempfile.TemporaryDirectory() as folder:
            return make("distance session", store=Path(folder) / "p.db", delta=delta, seed=1)

    return begin


def started(graph, **terms):
    """A mechanism of a session that has begun."""
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 20} | terms
    bound = PrivacyUnit.of(terms.get("privacy_unit", EDGE)).max_degree
    grid = Grid.of(graph) if bound is None else Grid.of_vertices(graph, bound)

    def begin():
        mechanism = SessionTerms.of(**terms).mechanism(Universe.of(graph), grid)
        mechanism.start(graph, SeededEntropy(1))
        return mechanism

    return begin


def session(method, calibration="tight", delta=1e-6, value_share=0.0, *, privacy_unit=EDGE):
    return started(
        TINY if method == "median" else DENSE,
        method=method,
        delta=delta,
        calibration=calibration,
        value_share=value_share,
        privacy_unit=privacy_unit,
    )


def mirror_descent(norm, **terms):
    return started(COMPLETE, method="mirror-descent", norm=norm, **terms)


HUNDREDTH = Fraction(101, 100)


def of_noise(module, factor=Fraction(5, 2)):
    """Noise of `factor` times the price, from the module's own constructor."""

    def cheap(distribution, parameter):
        power = factor if distribution == "laplace" else 1 / factor**2
        return ValueNoise(distribution, Fraction(parameter) * power)

    return lambda monkeypatch: monkeypatch.setattr(module, "ValueNoise", cheap)


def of_part(name, module=measuring):
    """A part of a release that is given a hundredth more than it is charged with."""
    real = getattr(module, name)

    def dearer(*positional, epsilon, **keywords):
        return real(*positional, epsilon=epsilon * HUNDREDTH, **keywords)

    return lambda monkeypatch: monkeypatch.setattr(module, name, dearer)


def of_result(module, name, change):
    def broken(monkeypatch):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, **k: change(real(*a, **k)))

    return broken


def dearer_levels(noise):
    factor = HUNDREDTH if noise.distribution == "laplace" else Fraction(99, 100)
    return LevelNoise(noise.distribution, tuple(factor * p for p in noise.parameters))


def dearer_bits(monkeypatch):
    real = plain.BinaryResponse
    monkeypatch.setattr(plain, "BinaryResponse", lambda e, cap: real(e * HUNDREDTH, cap))


def twice(found):
    return found * 2


def of_cut_rates(name):
    def broken(monkeypatch):
        real = least.CutRates.of

        def dearer(*arguments):
            rates = real(*arguments)
            return replace(rates, **{name: 2 * getattr(rates, name)})

        monkeypatch.setattr(least.CutRates, "of", dearer)

    return broken


def first_period(delta):
    """The first table of a series over a horizon of two years."""
    monthly = gc.Rows.of(
        pandas.DataFrame({"source": ["a"], "target": ["b"], "date": ["2026-01-17"]}),
        columns=gc.Columns(period="date"),
        vertices=["a", "b"],
        periods="2026-01..2027-12",
    )
    zones = gc.Groups(gc.VertexSet(["a", "b"]), {"zone": ["a", "b"]})
    with tempfile.TemporaryDirectory() as folder:
        return gc.update_flows(
            monthly, zones, period="2026-01", epsilon=1.0, delta=delta, store=Path(folder) / "p.db"
        )


TESTS = of_result(calibrations, "_test_rates", lambda found: (found[0] * 2, found[1] * 2))
TOTAL = of_noise(calibration_base, 50)
COORDINATES = of_result(
    learner,
    "tune_coordinate",
    lambda tuned: replace(tuned, total_cost=tuned.total_cost * HUNDREDTH),
)
LEVELS = of_result(counts, "split_budget", dearer_levels)
TABLES = of_result(
    flow_tables, "choose_strategy", lambda made: replace(made, noise=dearer_levels(made.noise))
)
ANSWERS = of_noise(forecasts, HUNDREDTH)
OFFLINE = {"answers": of_noise(tuning)}
STEP = {"rate": of_result(PrivacyUnit, "per_change", twice)}
ENTRIES, DEGREES = of_part("noise_distribution"), of_part("measure_refinable_degrees")

# product: {name: (how it is made, {what is broken: how})}
CASES = {
    "release_graph": {
        "response": (made("response"), {"entries": ENTRIES}),
        "auto": (
            made("auto", noise="laplace"),
            {"total": of_part("measure_refinable_total"), "entries": ENTRIES},
        ),
        "tested": (
            lambda: gc.release_graph(DENSE, **SEEDED),
            {
                "structure": of_part("measure_structure"),
                "unevenness": of_part("measure_unevenness"),
            },
        ),
        "degrees": (
            made("auto", mechanism="degrees+randomized-response", noise="discrete-laplace"),
            {"degrees": DEGREES, "entries": ENTRIES},
        ),
        "groups": (
            made("groups", noise="discrete-laplace"),
            {"sums": of_part("measure_refinable_groups"), "entries": ENTRIES},
        ),
        "sparse": (
            made("sparse", HEAVY, fit=gc.FitOptions(time_limit=1e-9)),
            {
                "counts": of_part("measure_weight_counts"),
                "kept edges": ENTRIES,
                "degrees": DEGREES,
            },
        ),
    },
    "release_iteratively": {
        "practical": (made("iterative, practical"), OFFLINE | {"total": TOTAL}),
        "tight": (made("iterative, tight"), OFFLINE | {"total": TOTAL}),
        "pure": (made("iterative, pure"), OFFLINE),
        "dr14": (made("iterative, dr14", delta=0.0), {"total": TOTAL}),
        "gru12": (made("iterative, gru12", epsilon=50.0), {"total": TOTAL}),
        "both players": (
            made("iterative, both players"),
            {
                "test": of_noise(game),
                "draws": of_result(game, "root_at_most", twice),
            },
        ),
        "net": (made("net"), STEP),
        "sensing": (
            made("sensing"),
            {
                "values": of_noise(answer_grid, HUNDREDTH),
                "choices": of_result(answer_grid, "root_at_most", twice),
            },
        ),
        **{noise: (made("answers", construction=noise), STEP) for noise in NORMS},
    },
    "distances.answer_distances": {
        f"{mechanism}, {noise}": (
            made("distances", mechanism=mechanism, noise=noise, delta=1e-6),
            {"coordinates": COORDINATES} if mechanism == "learner" else {"levels": LEVELS},
        )
        for mechanism in ("tree-counts", "histogram", "per-query", "learner")
        for noise in ("laplace", "gaussian")
    },
    "distances.open_distance_session": {
        f"delta={delta:g}": (distance_session(delta), {"coordinates": COORDINATES})
        for delta in (0.0, 1e-6)
    },
    "choose_degree_bound": {
        "choice": (
            lambda: gc.choose_degree_bound(DENSE, **SEEDED),
            {"rate": of_result(contributions, "score_rate", twice)},
        )
    },
    "detect_structure": {
        "test": (
            lambda: gc.detect_structure(DENSE, **SEEDED),
            {
                name: of_part(name, structure_release)
                for name in ("measure_total", "measure_structure")
            },
        )
    },
    "release_flows": {
        f"{name}, {privacy_unit}": (made(name, privacy_unit=privacy_unit), {"levels": TABLES})
        for name in ("flows", "flows, gaussian")
        for privacy_unit in (EDGE, VERTEX)
    },
    "update_flows": {
        name: (
            partial(first_period, delta),
            {"levels": of_result(TimeStrategy, "noise", dearer_levels)},
        )
        for name, delta in (("laplace", 0.0), ("gaussian", 1e-6))
    },
    "release_contributions": {
        "classes": (
            lambda: gc.release_contributions(ROWS, **SEEDED),
            {"counts": of_result(contributions, "exact_epsilon", twice)},
        )
    },
    "choose_contribution_bound": {
        "quantile": (
            lambda: gc.choose_contribution_bound(ROWS, **SEEDED),
            {"choice": of_result(contributions, "rate_of_choice", twice)},
        )
    },
    "least_cut": {
        name: (
            made(name),
            {
                rate: of_cut_rates(rate)
                for rate in ("cut", "terminal", "between", *["across"] * (name == "cut"))
            },
        )
        for name in ("cut", "cut, several")
    },
    "open_session": {
        "tight": (session("multiplicative-weights"), {"tests": TESTS, "total": TOTAL}),
        "tight, root degrees": (mirror_descent("2,p"), {"tests": TESTS, "bought": TOTAL}),
        "tight, linear queries, nuclear norm": (
            mirror_descent("schatten", linear=True, max_spectral_norm=12.0),
            {"tests": TESTS, "bought": TOTAL},
        ),
        "jt12, root degrees": (mirror_descent("2,p", calibration="jt12"), {"bought": TOTAL}),
        "tight, vertex": (session("multiplicative-weights", privacy_unit=VERTEX), {"tests": TESTS}),
        "gaussian, vertex": (session("gaussian", privacy_unit=VERTEX), {"answers": ANSWERS}),
        "laplace, vertex": (session("laplace", privacy_unit=VERTEX), {"answers": ANSWERS}),
        "tight with values": (
            session("frieze-kannan", value_share=0.5),
            {"values": of_noise(calibrations)},
        ),
        **{
            f"{name}, delta={delta:g}": (
                session("multiplicative-weights", name, delta),
                {
                    "tests": of_result(calibrations, "at_most", lambda rate, by=much: rate * by),
                    "total": TOTAL,
                },
            )
            for name, delta, much in (
                ("gru12", 1e-6, 2000),
                ("jt12", 1e-6, 200),
                ("dr14", 1e-6, 5),
                ("dr14", 0.0, Fraction(11, 10)),
            )
        },
        "median": (session("median"), {"tests": TESTS}),
        "gaussian": (session("gaussian"), {"answers": ANSWERS}),
        "laplace": (session("laplace"), {"answers": ANSWERS}),
        "binary": (session("binary"), {"flips": dearer_bits}),
    },
}
SOUND = [(product, name) for product, cases in CASES.items() for name in cases]
TWINS = [(p, name, twin) for p, cases in CASES.items() for name in cases for twin in cases[name][1]]


def guarantee_of(made):
    return made.guarantee() if callable(made.guarantee) else made.guarantee


@pytest.mark.thorough(cases=8)
@pytest.mark.parametrize(("product", "name"), SOUND)
def test_every_product_states_at_most_what_was_asked_for(product, name):
    guarantee = guarantee_of(CASES[product][name][0]())
    asked = 50 if name == "gru12" else 1
    if "vertex" in name or "linear" in name:  # steps of a group leave a millionth
        assert asked * (1 - 1e-6) < guarantee.epsilon <= asked
    else:
        assert guarantee.epsilon == asked
    assert guarantee.delta in (0, 1e-6)


@pytest.mark.thorough(cases=20)
@pytest.mark.parametrize(("product", "name", "twin"), TWINS)
def test_every_product_refuses_noise_that_costs_more_than_was_asked_for(
    product, name, twin, monkeypatch
):
    make, broken = CASES[product][name]
    broken[twin](monkeypatch)
    with pytest.raises(BudgetError, match="would cost more than epsilon = "):
        guarantee_of(make())


def test_no_product_and_no_session_method_is_left_out():
    assert set(CASES) == set(_PRODUCTS)
    names = {name.split(",")[0].removesuffix(" with values") for name in CASES["open_session"]}
    constructions = set(METHODS) & set(CONSTRUCTIONS)
    assert names == (set(METHODS) - constructions) | set(CALIBRATIONS)


class Own:
    """A distinguisher that says what it costs, and reads nothing."""

    name, call, usual_shortfall = "own", None, 0.0
    universe = Universe(6)

    def __init__(self, setup):
        self.setup = setup

    def shortfall(self, _):
        return np.inf

    def with_rho(self, _, **__):
        return self

    def with_epsilon(self, _, **__):
        return self

    def begin(self, *_):
        return self

    def find(self, *_):
        return ProposedQuery(query=CUT, sign=None)


def test_a_distinguisher_of_ones_own_that_costs_more_than_it_was_given_is_refused():
    def run(setup, delta=0.0, **options):
        made = gc.Learning(distinguisher=Own(setup), **options)
        return learn(GRAPH, epsilon=1.0, delta=delta, construction=made, seed=1)

    more = "prove the costs of your own parts"
    with pytest.raises(BudgetError, match=more):
        run(Cost.of_pure(Fraction(2)))
    with pytest.raises(BudgetError, match=more):
        run(Cost.of_rho(1.0, delta=1e-6), delta=1e-6, calibration="tight")
    assert run(None).guarantee.epsilon == 1


def test_a_part_is_compared_with_its_budget_in_the_currency_of_the_budget():
    rho = Cost.of_rho(0.02, delta=1e-6)
    for part, budget in (
        (rho, rho),
        (Cost(epsilon=0.0), rho),
        (Cost(epsilon=0.1, delta=1e-9), Cost(epsilon=0.2, delta=1e-8)),
        (Cost.of_pure(Fraction(1, 10)), rho),
    ):
        check_spent(part, budget)
    for part, budget in (
        (Cost.of_pure(Fraction(3, 10)), rho),  # its epsilon is less, its rho more
        (rho, Cost.of_pure(Fraction(2))),
        (Cost(epsilon=0.1, delta=0.0), rho),
        (Cost(epsilon=0.1, delta=1e-7), Cost(epsilon=0.2, delta=1e-8)),
    ):
        with pytest.raises(BudgetError):
            check_spent(part, budget)


def test_what_is_stated_is_a_bound_that_is_proven():
    pure = Cost.of_pure(Fraction(1, 3))
    assert stated_cost(pure, epsilon=1.0).epsilon >= Fraction(1, 3)
    assert stated_cost(pure, epsilon=Fraction(1, 3)).epsilon >= Fraction(1, 3)
    rho = zcdp_rho(epsilon=1.0, delta=1e-6)
    whole = stated_cost(Cost.of_rho(rho, delta=1e-6), epsilon=1.0, delta=1e-6)
    assert (whole.epsilon, whole.delta) == (1.0, 1e-6)
    assert zcdp_delta(rho, whole.epsilon) <= 1e-6
    half = stated_cost(Cost.of_rho(rho / 4, delta=1e-6), epsilon=1.0, delta=1e-6)
    assert zcdp_delta(rho / 4, half.epsilon) <= 1e-6
    assert half.epsilon < 0.52
    for much, delta in ((1.0001, 1e-6), (1.0, 0.0), (1.0, 9e-7)):
        with pytest.raises(BudgetError):
            stated_cost(Cost.of_rho(rho * much, delta=1e-6), epsilon=1.0, delta=delta)
    stated = Cost(epsilon=0.5, delta=1e-7)
    assert stated_cost(stated, epsilon=1.0, delta=1e-6) == stated
    with pytest.raises(BudgetError):
        stated_cost(stated, epsilon=0.4, delta=1e-6)


def test_costs_of_many_are_the_sums_of_each():
    each = Cost.of_rho(0.1, delta=1e-7)
    assert each.times(3).rho >= 3 * Fraction(0.1)
    assert each.times(3).delta >= 3 * Fraction(1e-7)
    assert each.times(3).epsilon >= 3 * Fraction(each.epsilon)
    assert np.isclose(each.times(3).rho, 0.3)
    assert Cost.of_pure(Fraction(1, 3)).times(6).pure == 2


BUDGET = {"epsilon": 2.0, "delta": 1e-6}
ROOTS = {
    "session": mirror_descent("2,p", **BUDGET),
    "release": lambda: learn(
        COMPLETE, [CUT], construction=gc.Learning(rule="mirror-descent", norm="2,p"), **BUDGET
    ),
}


@pytest.mark.parametrize("product", ROOTS)
def test_one_edge_costs_no_more_of_root_degrees_than_their_part_of_the_budget(product, monkeypatch):
    """The calibration states their price from a budget of its own; here it is of what is drawn."""
    bought = []

    def spy(graph, grid, noise, radius, source):
        bought.append((noise, radius))
        return measure_root_degrees(graph, grid, noise, radius, source)

    monkeypatch.setitem(PRIVATE_NORMS, "root degrees", (ROOT_STEPS, spy))
    ROOTS[product]()
    ((noise, radius),) = bought
    share = float(START_SHARE)
    allowed = zcdp_rho(**BUDGET) * (1 - share) * share
    spent = noise.cost(ROOT_STEPS, delta=BUDGET["delta"]).rho
    assert 0.9 * allowed < spent <= allowed * (1 + 1e-9)
    assert radius >= noise.radius(0.05)


UNIVERSE = Universe(5)
PLAIN = {"universe": UNIVERSE, "grid": Grid(), "queries": 3}
# What takes a budget, the numbers it needs beside it, and whether delta = 0 is allowed.
TAKERS = [
    (Tight, {"queries": 3}, False),
    (GRU12, {"queries": 3}, False),
    (JT12, {"queries": 3}, False),
    (DR14, {"queries": 3}, True),
    (PerQueryNoise, {"distribution": "gaussian", **PLAIN}, False),
    (PracticalIterative, {}, False),
    (TightIterative, {}, False),
    (PaperIterative, {"paper": "gru12"}, False),
    (PaperIterative, {"paper": "dr14"}, True),
]
PURE = [
    (DR14, {"queries": 3, "delta": 0.0}),
    (PerQueryNoise, {"distribution": "laplace", **PLAIN}),
    (BinaryAnswers, PLAIN),
    (PureIterative, {"universe": UNIVERSE}),
]
EVERY = [(made, {"delta": 1e-6, **given}) for made, given, _ in TAKERS] + PURE
NO_PROBABILITY = [0.0, 1.0, -0.1, 1.5, math.nan, math.inf]
LIST = CutList(UNIVERSE, [CutQuery([0], [1]), CutQuery([0], [2])])


NO_EPSILON = [0.0, -1.0, math.nan, math.inf, 1e-7, 51.0, True]
MIXED_UP = [
    *((made, given, "epsilon", NO_EPSILON) for made, given in [*EVERY, (Budget, {})]),
    *((made, given, "beta", NO_PROBABILITY) for made, given in EVERY),
    *((made, given, "delta", NO_PROBABILITY[pure:]) for made, given, pure in TAKERS),
    (Budget, {}, "delta", [1.0, -1e-9, math.nan, True, "1e-6"]),
    *((made, given, "queries", [0, -1]) for made, given in EVERY if "queries" in given),
]


@pytest.mark.parametrize(("made", "given", "name", "wrong"), MIXED_UP)
def test_a_number_out_of_range_is_refused(made, given, name, wrong):
    good = {"epsilon": 0.5, **given}
    if name != "delta":
        made(**good)
    for number in wrong:
        with pytest.raises(ParameterError, match=name):
            made(**good | {name: number})


@pytest.mark.parametrize(("made", "given"), [each[:2] for each in TAKERS if each[2]])
def test_without_delta_the_cost_is_pure(made, given):
    assert made(**given, epsilon=0.5, delta=0.0).cost.pure == Fraction(1, 2)


@pytest.mark.parametrize("made", [GaussianRankOne, partial(PowerRankOne, delta=1e-6)])
@pytest.mark.parametrize("rho", [0.0, -1.0, 1e-13, math.nan, math.inf])
def test_a_rho_out_of_range_is_refused(made, rho):
    made(universe=UNIVERSE, grid=Grid(), rho=0.1)
    with pytest.raises(ParameterError, match="rho"):
        made(universe=UNIVERSE, grid=Grid(), rho=rho)


DISTINGUISHERS = [
    Exponential(queries=LIST, epsilon=Fraction(1)),
    ExactCuts(universe=UNIVERSE, epsilon=Fraction(1)),
]


@pytest.mark.parametrize("distinguisher", DISTINGUISHERS, ids=lambda made: made.name)
def test_a_call_with_hardly_any_epsilon_is_refused(distinguisher):
    with pytest.raises(ParameterError, match="fewer rounds"):
        distinguisher.with_epsilon(Fraction(1, 10**30), rounds=1)
