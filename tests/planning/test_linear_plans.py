"""Plans for any linear queries: which rows, what they go by, and that sessions keep to them."""

import math

import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.session.terms import make_mechanism

TERMS = {"edges": 20_000, "queries": 10**6, "epsilon": 1.0, "delta": 1e-6}


def errors(n=(800, 600), **more):
    made = gc.plan(n, **TERMS | {"linear": True} | more)
    return {(row.method, row.norm): row.guaranteed for row in made.rows}


def test_only_methods_for_all_linear_queries_are_listed():
    found = set(errors())
    assert found == {
        ("gaussian", ""),
        ("laplace", ""),
        ("answer 0", ""),
        ("sensing", ""),
        *(("mirror-descent", norm) for norm in ("l2", "lp", "2,p", "entropy", "schatten")),
    }
    assert ("mirror-descent", "schatten") not in errors(700)
    assert errors()["answer 0", ""] == 20_000


def test_low_rank_and_spread_queries_bring_the_row_of_schatten_down():
    blind, told = errors(), errors(most_spectral=55.0, rank=2)
    assert told["mirror-descent", "l2"] == blind["mirror-descent", "l2"]
    assert blind["mirror-descent", "schatten"] >= blind["mirror-descent", "l2"] * (1 - 1e-9)
    assert told["mirror-descent", "schatten"] < 0.85 * blind["mirror-descent", "schatten"]
    full = errors(most_spectral=55.0, rank=600)
    assert full["mirror-descent", "schatten"] > told["mirror-descent", "schatten"]


@pytest.mark.parametrize("norm", ["l2", "lp", "2,p", "entropy", "schatten"])
def test_a_session_promises_what_its_row_says_but_for_what_it_buys(norm):
    planned = errors()["mirror-descent", norm]
    mechanism = make_mechanism(
        "mirror-descent",
        universe=Universe(800, 600),
        grid=Grid(),
        norm=norm,
        linear=True,
        epsilon=1.0,
        delta=1e-6,
        queries=10**6,
    )
    expected = mechanism.expected_error(20_000.0)
    assert planned * (1 - 1e-6) <= expected <= 1.06 * planned


def test_signed_answers_cost_more_than_cuts_and_noise_on_each_does_not():
    cuts = {(row.method, row.norm): row.guaranteed for row in gc.plan((800, 600), **TERMS).rows}
    linear = errors()
    assert linear["gaussian", ""] == cuts["gaussian", ""]
    assert 1.2 < linear["mirror-descent", "l2"] / cuts["mirror-descent", "l2"] < 2.1
    together = errors(at_most=3)
    assert together["mirror-descent", "l2"] > linear["mirror-descent", "l2"]


def test_the_plan_says_that_it_is_for_linear_queries():
    made = gc.plan((800, 600), **TERMS, linear=True, most_spectral=55.0, rank=2, target_error=900)
    assert "any linear queries of singular values up to 55, rank 2 (a public guess)" in made.title
    assert "off by so many times their largest one" in str(made)
    told = made.to_dict()
    assert (told["linear"], told["most_spectral"], told["rank_guess"]) == (True, 55.0, 2)
    assert told["synthetic_graph"] is None
    row = next(row for row in made.rows if row.norm == "schatten")
    assert row.typical is None
    assert row.epsilon_needed > 0
    assert math.isfinite(row.guaranteed)


@pytest.mark.parametrize(
    ("n", "more", "message"),
    [
        ((80, 60), {"linear": False, "rank": 2}, "are for linear=True"),
        ((80, 60), {"linear": False, "most_spectral": 9.0}, "are for linear=True"),
        ((80, 60), {"rank": 61}, "smaller side"),
        ((80, 60), {"rank": 0}, "smaller side"),
        ((80, 60), {"most_spectral": 0.1}, "at least 1"),
        (80, {"most_spectral": 9.0}, "for bipartite graphs"),
        (80, {"protect": "vertex", "degree_bound": 3}, "is for cuts"),
    ],
)
def test_what_does_not_fit_is_refused(n, more, message):
    with pytest.raises(ParameterError, match=message):
        gc.plan(n, **TERMS | {"edges": 500, "linear": True} | more)
