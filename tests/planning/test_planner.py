"""Plans: the known numbers, the papers' formulas, order and marks, the epsilon that is needed."""

import itertools
import json
import math
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, VertexSet, plan
from graphcuts_dp.estimate.flow_errors import guaranteed_flows
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.strategy import (
    choose_strategy,
    equal_groups,
)
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn import bounds
from graphcuts_dp.learn.bounds import (
    at_least_one,
    frieze_kannan_updates,
    multiplicative_weights_updates,
)
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.learn.sizes import pairs_of
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.planning.mechanisms import mechanisms_for
from graphcuts_dp.planning.planner import VACUOUS, plan_of
from graphcuts_dp.plugins import Universe
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.session.terms import SessionTerms

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
MW, FK, MD = "multiplicative-weights", "frieze-kannan", "mirror-descent"
ITERATIVE = ("iterative", "game", "answers", "net", "sensing")

# n, m, k, then errors in thousands as published: tight MW, Gaussian per query, binary, answer 0.
TABLE = [
    (1_000, 2.5e5, 10**4, 9.8, 1.9, 2.2, 125),
    (5_000, 5e4, 10**6, 7.9, 23, 13, 25),
    (10_000, 1e5, 10**6, 11.7, 23, 26, 50),
    (100_000, 1e6, 10**8, 45, 263, 298, 500),
]


def rows_of(made):
    """By method with its norm, calibration, and cuts."""
    return {key_of(row): row for row in made.rows}


def key_of(row):
    return f"{row.method} {row.norm}".strip(), row.calibration, row.cuts


def guarantees(setting, iterative=False):
    """Of all rows; those of offline releases take most of the time."""
    return {key_of(row): row.guaranteed for row in plan_of(setting, iterative=iterative).rows}


@cache
def published(n, m, k):
    return plan(n, edges=m, queries=k, **GUARANTEE)


@pytest.mark.parametrize(("n", "m", "k", "tight", "gaussian", "binary", "zero"), TABLE)
def test_the_table_is_reproduced(n, m, k, tight, gaussian, binary, zero):
    """Within 2 %, or the rounding of the published number if that is coarser."""
    rows = rows_of(published(n, m, k))
    for key, told in [
        ((MW, "tight", "any k"), tight),
        (("gaussian", "", "any k"), gaussian),
        (("binary", "", "fixed k"), binary),
        (("midpoint", "", "all"), zero),
    ]:
        digits = 0.05 if told < 10 or told == 11.7 else 0.5
        assert rows[key].guaranteed / 1e3 == pytest.approx(told, rel=0.02, abs=digits)
    assert rows["answer 0", "", "all"].typical == zero * 1e3


@pytest.mark.parametrize(("n", "m", "k"), [TABLE[1][:3], ((40, 300), 900.0, 50)])
def test_paper_rows_are_their_formulas(n, m, k):
    rows, beta = rows_of(published(n, m, k)), 0.05
    for construction, updates in (
        (MW, multiplicative_weights_updates),
        (FK, frieze_kannan_updates),
    ):
        printed = at_least_one(updates(n, m, rule="as printed"))  # as a session takes it
        for name in ("gru12", "jt12", "dr14"):
            formula = getattr(bounds, f"{name}_online")
            bound = formula(printed, queries=k, beta=beta, **GUARANTEE)
            assert rows[construction, name, "any k"].guaranteed == bound.error
    # GRU12 with multiplicative weights in closed form: 5/3 alpha, where alpha solves equation (3).
    pairs = pairs_of(n)
    closed = math.sqrt(3000 * 2 * m * math.sqrt(math.log(pairs)) * math.log(4e6) * math.log(40 * k))
    few = multiplicative_weights_updates(n, m, rule="as printed")(closed) < 1
    found = rows[MW, "gru12", "any k"].guaranteed
    assert found > 5 / 3 * closed if few else found == pytest.approx(5 / 3 * closed)
    disjoint = frieze_kannan_updates(n, m, disjoint=True)
    tight = bounds.tight_online(disjoint, queries=k, beta=beta, **GUARANTEE).error
    assert rows[FK, "tight", "any k"].guaranteed == tight


@pytest.mark.parametrize("directed", [False, True])
def test_release_and_all_cuts(directed):
    made = plan(500, directed=directed, edges=3e4, queries=10, **GUARANTEE)
    rows = rows_of(made)
    distribution = noise_distribution("binary", epsilon=1.0)
    entries = noise_distribution("binary", epsilon=0.99)  # the rest is for random halves
    bound = noise_cut_bound(entries, (500, 500), symmetric=not directed, confidence=0.95)
    assert rows["release", "", "all"].guaranteed == pytest.approx(2 * bound)
    assert rows["release", "", "all"].typical is None
    # beta/3^n for each pair of disjoint sets, at most n^2/4 pairs each; twice as many arcs
    failures = 500 * math.log(3) + math.log(2) * directed - math.log(0.05)
    every = distribution.radius(62_500, log_failures=failures)
    assert rows["binary", "", "all"].guaranteed == pytest.approx(every)
    assert rows["binary", "", "fixed k"].guaranteed < every / 3
    assert made.title.startswith(f"n = 500{' (directed)' * directed}, m = 30,000")
    assert (made.to_dict()["n"], made.to_dict()["directed"]) == (500, directed)
    assert made.setting.pairs == 500 * 499 // (1 if directed else 2)


# Typical errors and trivial guarantees, against enumeration and simulation


@pytest.mark.parametrize(("n", "directed"), [(60, False), ((40, 90), False), (60, True)])
def test_typical_errors_on_random_halves(n, directed):
    rng, one_set = np.random.default_rng(3), isinstance(n, int)
    universe = Universe(n, directed=directed) if one_set else Universe(*n)
    matrix = (rng.random(universe.shape) < 0.3).astype(float)
    if universe.symmetric:
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    universe.clear_diagonal(matrix)
    m = universe.total(matrix)
    rows = rows_of(plan(n, directed=directed, edges=m, queries=10, **GUARANTEE))
    S = rng.random((4000, universe.shape[0])) < 0.5
    T = ~S if one_set else rng.random((4000, universe.shape[1])) < 0.5
    cuts = np.einsum("qi,ij,qj->q", S, matrix, T, optimize=True)
    pairs = S.sum(1) * T.sum(1)
    typical = {key[0]: row.typical for key, row in rows.items() if key[1] in ("", "tight")}
    assert typical["answer 0"] == pytest.approx(cuts.mean(), rel=0.02)
    errors = np.abs(cuts - m / universe.size * pairs).mean()
    assert typical[MW] == pytest.approx(errors, rel=0.06)
    assert typical["density only"] == pytest.approx(errors, rel=0.08)
    middle = (np.minimum(m, pairs) + np.maximum(0, m - universe.size + pairs)) / 2
    assert typical["midpoint"] == pytest.approx(np.abs(cuts - middle).mean(), rel=0.08)
    noise = rng.normal(size=4000) * noise_distribution("binary", epsilon=1.0).standard_deviation
    assert typical["binary"] == pytest.approx(np.abs(noise * np.sqrt(pairs)).mean(), rel=0.06)
    assert typical["laplace"] == pytest.approx(1 / math.sinh(0.1))


@pytest.mark.parametrize(("n", "directed"), [(5, False), ((2, 3), False), (3, True)])
def test_trivial_guarantees_hold_on_every_graph(n, directed):
    """All graphs, all disjoint cuts, the number of edges known: noise only widens them."""
    universe = Universe(n, directed=directed) if isinstance(n, int) else Universe(*n)
    sides = [
        [np.array(side) for side in itertools.product((False, True), repeat=size)]
        for size in universe.shape
    ]
    family = np.unique(
        [
            universe.coefficients(gc.CutQuery(S, T))[universe.pairs()]
            for S, T in itertools.product(*sides)
            if universe.bipartite or not (S & T).any()
        ],
        axis=0,
    ).astype(float)
    graphs = all_graphs(universe).databases
    values, p, X = graphs @ family.T, family.sum(1), universe.size
    for m in range(1, X + 1):
        found = values[graphs.sum(1) == m]
        rows = rows_of(plan(n, directed=directed, edges=m, queries=1, epsilon=50.0, delta=0.0))
        middle = (np.minimum(m, p) + np.maximum(0, m - X + p)) / 2
        for method, answers in (
            ("answer 0", 0 * p),
            ("midpoint", middle),
            ("density only", m * p / X),
        ):
            worst = np.abs(found - answers).max()
            assert worst <= rows[method, "", "all"].guaranteed + 1e-9, (m, method)
            if method == "answer 0":
                assert worst == rows[method, "", "all"].guaranteed


def test_a_size_and_an_epsilon_are_enough():
    made = plan(5000, epsilon=1.0)
    assert "m = 50,000 (assumed, since no edges are given), k = 1,000, " in made.title
    assert "Needs delta: give one" in str(made)
    assert made.rows == plan(5000, edges=5e4, queries=1000, epsilon=1.0, delta=0.0).rows
    assert plan((3, 4), epsilon=1.0).setting.edges == 6
    assert plan(10, epsilon=1.0, directed=True).setting.edges == 45


# Order, marks, advice


def test_best_first_and_marks():
    made = published(5_000, 5e4, 10**6)
    *rows, least_cut, halves = made.rows
    guaranteed = [row.guaranteed for row in rows]
    assert guaranteed == sorted(guaranteed)
    assert (least_cut.method, halves.method) == ("least cut", "partition")
    least = min(row.guaranteed for row in made.rows if row.trivial)
    for row in made.rows:
        assert row.vacuous == (not row.trivial and row.guaranteed >= least)
    assert sum(row.trivial for row in made.rows) == 3
    assert (made.best_method, made.best.calibration) == (MW, "tight")
    text = str(made)
    assert text.count(VACUOUS) == sum(row.vacuous for row in made.shown)
    hidden = {row.method for row in made.rows if row not in made.shown}
    assert hidden == {"iterative MW released", "game query"}
    assert hidden <= {row["method"] for row in made.to_dict()["rows"]}
    assert hidden <= set(made.to_frame()["method"])
    assert "game both" in text
    assert "game query" not in text
    assert text.splitlines()[-1].startswith("Advice: tight MW guarantees")


@pytest.mark.thorough
def test_which_is_best_depends_on_the_sizes():
    def made(queries, n=1000, edges=2.5e5, epsilon=1.0):
        return plan(n, edges=edges, queries=queries, epsilon=epsilon, delta=1e-6)

    assert made(10**4).best_method == "gaussian"
    assert made(1).best_method == made(4).best_method == "laplace"
    assert (made(4).rows[0].method, made(4).rows[0].cuts) == ("answers", "fixed k")
    fixed = made(10**9)
    assert fixed.rows[0].method == "binary"  # for cuts fixed before, but not for a session:
    assert fixed.best_method == MW
    assert "queries that depend on answers, tight MW" in fixed.advice
    assert made(10**9, 30, 200, 5.0).best_method == "binary"


def test_delta_zero_leaves_the_pure_mechanisms():
    made = plan(2000, edges=1e5, queries=20, epsilon=1.0, delta=0.0)
    without = {row.name for row in made.shown if math.isinf(row.guaranteed)}
    assert [row.guaranteed for row in made.rows if row.iterative] == [math.inf] * 4
    online = {f"{name} {rule}" for name in ("tight", "gru12", "jt12") for rule in ("MW", "FK")}
    online |= {f"tight MD {norm}" for norm in ("l2", "lp", "entropy")} | {"jt12 MD auto"}
    assert without == {"gaussian"} | online
    assert made.best_method == "laplace"
    assert "needs delta" in str(made)


@pytest.mark.thorough
def test_advice_when_everything_is_vacuous():
    made = plan(200, edges=300, queries=1000, **GUARANTEE)
    assert all(row.vacuous or row.trivial for row in made.rows)
    assert made.advice.startswith("nothing here beats a trivial answer: ask at most ")
    fewer = int(made.advice.split("at most ")[1].split()[0].replace(",", ""))
    raised = float(made.advice.split("epsilon to ")[1].split()[0])

    def useful(**changed):
        again = plan(200, edges=300, **({"queries": 1000} | GUARANTEE | changed))
        answers = [row for row in again.rows if row.cuts not in ("between two", "halves")]
        return not all(row.vacuous or row.trivial for row in answers)

    assert useful(queries=fewer)
    assert not useful(queries=math.ceil(fewer * 1.2))
    assert useful(epsilon=raised)
    assert not useful(epsilon=raised * 0.99)
    tiny = plan(3, edges=1, queries=1, epsilon=1e-6, delta=0.0)
    assert "raise epsilon" in tiny.advice
    assert "ask" not in tiny.advice


# The epsilon that a target needs


@pytest.mark.thorough
def test_target_error_is_the_inverse():
    target = 1500.0
    made = plan((30, 200), edges=2e3, queries=10**4, target_error=target, **GUARANTEE)
    formulas = {key_of(each): each.guaranteed for each in mechanisms_for(made.setting)}
    needed = []
    for row in made.rows:
        if row.method in ("game query", "game both") or (row.iterative and row.vacuous):
            assert row.epsilon_needed is None
            continue
        needed.append(row.epsilon_needed)
        for epsilon, enough in (
            (min(row.epsilon_needed, 50.0), row.epsilon_needed <= 50),
            (0.99 * row.epsilon_needed, False),
        ):
            if 1e-6 <= epsilon <= 50:
                setting = replace(made.setting, epsilon=epsilon)
                assert (formulas[key_of(row)](setting) <= target) is enough
    assert any(0 < value < math.inf for value in needed)
    assert str(made).count("never") == sum(map(math.isinf, needed)) > 0
    entries = [entry["epsilon_needed"] for entry in made.to_dict()["rows"]]
    assert entries.count("never") == str(made).count("never")


def test_a_target_that_needs_nothing():
    rows = rows_of(plan(50, edges=10, queries=5, target_error=10.0, **GUARANTEE))
    assert rows["answer 0", "", "all"].epsilon_needed == 1e-6
    assert rows["midpoint", "", "all"].epsilon_needed < 1


# Properties

small = st.builds(
    dict,
    n=st.one_of(st.integers(3, 10**6), st.tuples(st.integers(2, 10**5), st.integers(2, 10**5))),
    share=st.floats(0.1, 0.95),
    queries=st.integers(1, 10**12),
    epsilon=st.floats(0.01, 20),
    delta=st.sampled_from([0.0, 1e-9, 1e-3]),
    beta=st.sampled_from([1e-6, 0.05, 0.3]),
)


def setting_of(n, *, share, queries, beta, **guarantee):
    work = gc.SessionWorkload(queries=queries, beta=beta)
    return Setting(n=n, edges=max(1.0, pairs_of(n) ** share), workload=work, **guarantee)


@settings(max_examples=12, deadline=None)
@given(small)
def test_more_epsilon_fewer_queries_and_fewer_vertices_never_hurt(drawn):
    nothing_hurts(setting_of(**drawn))


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("n", [6, 300, (70, 200)])
def test_nor_do_they_hurt_offline_releases(n):
    guarantee = {"epsilon": 2.0, "delta": 1e-6}
    nothing_hurts(setting_of(n, share=0.7, queries=5, beta=0.05, **guarantee), iterative=True)


def nothing_hurts(setting, iterative=False):
    base, n, work = guarantees(setting, iterative), setting.n, setting.workload
    larger = 2 * n if isinstance(n, int) else (2 * n[0], n[1])
    for changed in (
        {"epsilon": setting.epsilon / 2},
        {"workload": replace(work, queries=3 * work.queries)},
        {"n": larger},
    ):
        worse = guarantees(replace(setting, **changed), iterative)
        for key, error in base.items():
            if key not in worse:  # more vertices than a norm can have, or pairs to list graphs of
                assert key[0].startswith(("mirror-descent", "median", *ITERATIVE))
            elif key[0].startswith("game"):  # they play what is usually best, not what is proven
                assert error > 0
            elif key[0] not in ("midpoint", "density only"):  # a complete graph has no doubt
                assert error <= worse[key] * (1 + 1e-6), key
    assert all(error >= 0 for error in base.values())


@settings(max_examples=8, deadline=None)
@given(small)
def test_every_plan_is_whole(drawn):
    setting = setting_of(**drawn)
    made = plan_of(setting)
    assert len(made.rows) == len(rows_of(made)) >= 16  # and more where there is room for them
    assert json.loads(json.dumps(made.to_dict(), allow_nan=False))["edges"] == setting.edges
    hidden = [row for row in made.rows if row not in made.shown]
    assert all(row.iterative and (row.vacuous or math.isinf(row.guaranteed)) for row in hidden)
    assert (
        len(str(made).splitlines()) == 2 + len(made.shown) + "\n".join(made.remarks).count("\n") + 1
    )
    session = [
        row.guaranteed
        for row in made.rows
        if row.name in ("tight MW", "tight FK", "gaussian", "laplace", "binary")
        and row.cuts != "fixed k"
    ]
    assert len(session) == 5
    assert made.best.guaranteed == min(session)
    for row in made.rows:
        assert row.typical is None or 0 <= row.typical <= row.guaranteed


# For whom: several edges, users, vertices

OF_60 = {"edges": 400, "queries": 20, **GUARANTEE}


def error_of(made, method):
    return next(row.guaranteed for row in made.rows if row.method == method)


def test_a_user_of_k_rows_is_k_edges():
    user = plan(60, privacy_unit=gc.PrivacyUnit.user(max_contributions=5), **OF_60)
    edges = plan(60, privacy_unit=gc.PrivacyUnit.edge(5), **OF_60)
    assert [row.guaranteed for row in user.rows] == [row.guaranteed for row in edges.rows]
    assert "privacy unit 1 user" in user.title


def test_a_vertex_has_the_noise_of_its_bound():
    groups = equal_groups(60, [4])
    made = plan(60, privacy_unit=gc.PrivacyUnit.vertex(max_degree=7), groups=groups, **OF_60)
    one = plan(60, groups=groups, **OF_60)
    for method in ("laplace", "gaussian"):
        assert error_of(made, method) / error_of(one, method) == pytest.approx(7, rel=0.02)
    # A vertex changes 4 cells by 7 each.
    assert 7 < error_of(made, "flows") / error_of(one, "flows") <= 28
    methods = {"laplace", "gaussian", "answer 0", "midpoint", "density only", "flows"}
    assert {row.method for row in made.rows} == methods
    assert "below the true ones" in str(made)
    assert "Synthetic graph:" not in str(made)
    assert made.to_dict()["privacy_unit"] == "vertex:max-degree=7"


# Any linear queries


@cache
def linear_plan(n=(800, 600), *, privacy_unit="edge", rank=None, **more):
    workload = gc.SessionWorkload(queries=10**6, linear=True, **more)
    return plan(
        n, edges=20_000, queries=workload, privacy_unit=privacy_unit, rank=rank, **GUARANTEE
    )


def linear_errors(*size, **more):
    made = linear_plan(*size, **more)
    return {(row.method, row.norm): row.guaranteed for row in made.rows}


def test_only_methods_for_all_linear_queries_are_listed():
    assert set(linear_errors()) == {
        ("gaussian", ""),
        ("laplace", ""),
        ("answer 0", ""),
        ("sensing", ""),
        *((MD, norm) for norm in ("l2", "lp", "2,p", "entropy", "schatten")),
    }
    assert (MD, "schatten") not in linear_errors(700)
    assert linear_errors()["answer 0", ""] == 20_000


def test_low_rank_and_spread_queries_bring_the_row_of_schatten_down():
    blind, told = linear_errors(), linear_errors(max_spectral_norm=55.0, rank=2)
    assert told[MD, "l2"] == blind[MD, "l2"]
    assert blind[MD, "schatten"] >= blind[MD, "l2"] * (1 - 1e-9)
    assert told[MD, "schatten"] < 0.85 * blind[MD, "schatten"]
    full = linear_errors(max_spectral_norm=55.0, rank=600)
    assert full[MD, "schatten"] > told[MD, "schatten"]


@pytest.mark.parametrize("norm", ["l2", "lp", "2,p", "entropy", "schatten"])
def test_a_linear_session_guarantees_what_its_row_says_but_for_what_it_buys(norm):
    mechanism = SessionTerms.of(
        method=MD, norm=norm, linear=True, queries=10**6, **GUARANTEE
    ).mechanism(Universe(800, 600), Grid())
    planned = linear_errors()[MD, norm]
    assert planned * (1 - 1e-6) <= mechanism.expected_error(20_000.0) <= 1.06 * planned


def test_signed_answers_cost_more_than_cuts_and_noise_on_each_does_not():
    rows = rows_of(plan((800, 600), edges=20_000, queries=10**6, **GUARANTEE))
    linear = linear_errors()
    assert linear["gaussian", ""] == rows["gaussian", "", "any k"].guaranteed
    of_cuts = rows[f"{MD} l2", "tight", "any k"].guaranteed
    assert 1.2 < linear[MD, "l2"] / of_cuts < 2.1
    assert linear_errors(privacy_unit=gc.PrivacyUnit.edge(3))[MD, "l2"] > linear[MD, "l2"]


def test_the_plan_says_that_it_is_for_linear_queries():
    made = linear_plan(max_spectral_norm=55.0, rank=2)
    assert "any linear queries of singular values up to 55, rank 2 (a public guess)" in made.title
    assert "multiply them by the largest coefficient" in " ".join(str(made).split())
    told = made.to_dict()
    assert (told["linear"], told["max_spectral_norm"], told["rank"]) == (True, 55.0, 2)
    assert told["synthetic_graph"] is None
    assert next(row for row in made.rows if row.norm == "schatten").typical is None


# Flows between groups


@pytest.mark.thorough
def test_a_plan_has_rows_for_cells_unions_and_halves():
    groups = equal_groups(1000, [4, 16])
    sizes = {"edges": 1e4, "queries": 20, "epsilon": 1.0}
    made = plan(1000, groups=groups, target_error=30.0, **sizes)
    rows = {row.cuts: row for row in made.rows if row.method == "flows"}
    assert list(rows) == ["cell", "union", "half"]
    assert rows["cell"].guaranteed < rows["union"].guaranteed < rows["half"].guaranteed
    assert not any(row.vacuous or row.trivial for row in rows.values())
    plain = plan(1000, **sizes)
    assert (made.best_method, made.advice) == (plain.best_method, plain.advice)

    def halves(epsilon):
        strategy = choose_strategy(CellTree(groups), epsilon=epsilon)
        return guaranteed_flows(CellTree(groups), strategy, failure=0.05)["half"]

    assert rows["half"].guaranteed == halves(1.0)[0]
    assert rows["cell"].epsilon_needed < rows["half"].epsilon_needed
    assert halves(rows["half"].epsilon_needed)[0] <= 30
    assert "Flows: one cell" in str(made)
    assert "Flows" not in str(plain)
    sides = equal_groups(60, [12])
    assert error_of(plan((60, 60), groups=(sides, sides), edges=10, epsilon=1.0), "flows") > 0


# Refusals


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 51.0}, "epsilon"),
        ({"queries": {"beta": 1e-18}}, "beta must be at least 1e-12"),
        ({"edges": 0.5}, "edges must lie"),
        ({"edges": 46.0}, "edges must lie between 1 and the number of pairs, 45"),
        ({"edges": "many"}, "edges must lie"),
        ({"queries": 10**18 + 1}, "queries must be"),
        ({"n": 2}, "two vertex pairs"),
        ({"n": (3, 3, 3)}, "n must be"),
        ({"n": 10**10}, "n must be"),
        ({"n": (5, 6), "directed": True}, "one number of vertices"),
        ({"target_error": "small"}, "target_error must be"),
        ({"rank": 2}, "are for linear=True"),
        ({"queries": {"max_spectral_norm": 9.0}}, "are for linear=True"),
        ({"n": (8, 6), "queries": {"linear": True}, "rank": 7}, "smaller side"),
        ({"queries": {"linear": True, "max_spectral_norm": 9.0}}, "for bipartite graphs"),
        (
            {"queries": {"linear": True}, "privacy_unit": gc.PrivacyUnit.vertex(max_degree=3)},
            "for cuts",
        ),
        ({"queries": {"linear": True}, "groups": equal_groups(10, [2])}, "without linear"),
        ({"groups": [5, 5]}, "groups are a Groups or a GroupTree"),
        ({"groups": equal_groups(11, [2])}, "other numbers of vertices"),
        ({"n": (10, 10), "groups": equal_groups(10, [2])}, "other numbers of vertices"),
    ],
)
def test_numbers_out_of_range_are_refused(wrong, message):
    named = {"n": 10, "edges": 9, "queries": 3, **GUARANTEE} | wrong
    asked = named.pop("queries")
    asked = {"queries": 3, **asked} if isinstance(asked, dict) else {"queries": asked}
    with pytest.raises(ParameterError, match=message) as problem:
        plan(queries=gc.SessionWorkload(**asked), **named)
    assert "\n" not in str(problem.value)


MONTHS = {"periods": "2026-01..2026-06"}


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("table", "privacy_unit"),
    [
        ({}, gc.PrivacyUnit.row()),
        ({}, gc.PrivacyUnit.user(max_contributions=20)),
        ({"counting": "weight"}, gc.PrivacyUnit.row(30)),
        ({"counting": "weight"} | MONTHS, gc.PrivacyUnit.user(max_contributions=7)),
        ({"counting": "users"} | MONTHS, gc.PrivacyUnit.user(max_contributions=9)),
        ({"counting": "edges"} | MONTHS, gc.PrivacyUnit.edge(2)),
        (MONTHS | {"by": "month"}, gc.PrivacyUnit.user(max_contributions=6, per_period=True)),
        (MONTHS | {"by": ["quarter", "month"]}, gc.PrivacyUnit.row()),
    ],
)
@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_flows_of_rows_are_planned_as_they_are_released(table, privacy_unit, kind):
    """For the same public numbers: the errors of a table that was released of no row."""
    delta, owned = 1e-6, privacy_unit.kind == "user"
    frame = {"who": ["x"] * owned, "a": [0] * owned, "b": [0] * owned, "when": ["x"] * owned}
    columns = gc.Columns(source="a", target="b", user="who" if owned else None)
    if "periods" in table:
        columns = replace(columns, period="when")
    if table.get("counting") == "weight":
        columns = replace(columns, weight="paid")
    frame = pd.DataFrame({**frame, "paid": [1.0] * owned})[:0]
    frame = frame.astype({"who": str, "a": int, "b": int, "when": str})
    n, sizes = (40, 30) if kind == "bipartite" else 40, [2, 8]
    how = {name: value for name, value in table.items() if name != "by"}
    rows = gc.Rows.of(frame, columns=columns, vertices=n, kind=kind, **how)
    sets = rows.space if kind == "bipartite" else (VertexSet(40),)
    groups = tuple(
        gc.Groups(
            each,
            {
                f"level {i}": [str(v * k // len(each)) for v in range(len(each))]
                for i, k in enumerate(sizes, 1)
            },
        )
        for each in sets
    )
    groups = groups if kind == "bipartite" else groups[0]
    words = {"epsilon": 2.0, "delta": delta, "privacy_unit": privacy_unit}
    work = gc.FlowWorkload(expected_cell=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = gc.release_flows(rows, groups, by=table.get("by"), workload=work, **words)
    expected = guaranteed_flows(made.cells, made.strategy, failure=0.05)
    plans = gc.plan(
        n,
        queries=7,
        directed=kind == "directed",
        groups=gc.planning.RowTable(groups=groups, **table),
        **words,
    )
    assert {row.cuts: row.guaranteed for row in plans.shown} == pytest.approx(
        {name: error * made.noisy.unit for name, (error, _) in expected.items()}
    )
    assert {row.method for row in plans.shown} == {"flows"}
    assert ("in one month" in str(plans)) is ("periods" in table)


@pytest.mark.parametrize(
    ("table", "privacy_unit", "message"),
    [
        ({"counting": "trips"}, "edge", "unknown counting"),
        ({"by": "month"}, "row", "declare them by periods="),
        ({"periods": "2026-01..2026-03", "by": "day"}, "row", "the periods are months"),
        ({}, gc.PrivacyUnit.user(max_contributions=2, per_period=True), "rows with periods"),
        ({}, "edge", "counting='edges'"),
        ({"counting": "edges"}, "row", "for rows or their weights"),
        ({}, gc.PrivacyUnit.vertex(max_degree=3), "for graphs"),
    ],
)
def test_tables_of_rows_that_cannot_be_planned(table, privacy_unit, message):
    def planned():
        groups = gc.planning.RowTable(groups=equal_groups(40, [2, 8]), **table)
        return plan(40, epsilon=1.0, groups=groups, privacy_unit=privacy_unit)

    with pytest.raises(ParameterError, match=message):
        planned()
