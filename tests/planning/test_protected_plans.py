"""Plans for several edges, owners and vertices, beside what sessions and flows then promise."""

import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.strategy import equal_groups

NUMBERS = {"edges": 400, "queries": 20, "epsilon": 1.0, "delta": 1e-6}


def error_of(made, method):
    return next(row.guaranteed for row in made.rows if row.method == method)


def test_an_owner_of_k_rows_is_k_edges():
    owner = gc.plan(60, protect="owner", at_most=5, **NUMBERS)
    edges = gc.plan(60, at_most=5, **NUMBERS)
    assert [row.guaranteed for row in owner.rows] == [row.guaranteed for row in edges.rows]
    assert "protects 1 owner" in owner.title
    assert owner.to_dict()["protects"] == "1 owner"


def test_a_vertex_has_the_noise_of_its_bound():
    made = gc.plan(60, protect="vertex", degree_bound=7, **NUMBERS)
    one = gc.plan(60, **NUMBERS)
    for method in ("laplace", "gaussian"):
        ratio = error_of(made, method) / error_of(one, method)
        assert ratio == pytest.approx(7, rel=0.02)
    assert {row.method for row in made.rows} == {
        *("laplace", "gaussian", "answer 0", "midpoint", "density only")
    }
    assert "protects 1 vertex" in made.title
    assert "below the true ones" in str(made)
    assert "Synthetic graph:" not in str(made)
    assert made.to_dict()["degree_bound"] == 7


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("method", ["laplace", "gaussian"])
def test_a_session_promises_what_the_plan_said(tmp_path, method):
    made = gc.plan(60, protect="vertex", degree_bound=7, **NUMBERS)
    graph = gc.Graph([0, 1], [1, 2], vertices=60)
    with gc.open_session(
        graph,
        store=tmp_path / "s.db",
        epsilon=1.0,
        delta=1e-6 if method == "gaussian" else 0.0,
        queries=20,
        method=method,
        protect="vertex",
        degree_bound=7,
    ) as session:
        assert session.error_bound == pytest.approx(error_of(made, method), rel=0.02)


def test_flows_are_planned_for_a_vertex():
    groups = equal_groups(60, [4])
    plain = gc.plan(60, groups=groups, **NUMBERS)
    made = gc.plan(60, groups=groups, protect="vertex", degree_bound=7, **NUMBERS)
    cell = {"one": plain, "vertex": made}
    errors = {
        name: next(row.guaranteed for row in each.rows if row.cuts == "cell")
        for name, each in cell.items()
    }
    # A vertex changes 4 cells by 7 each.
    assert 7 < errors["vertex"] / errors["one"] <= 28


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protect": "vertex"}, "needs degree_bound"),
        ({"protect": "owner"}, "needs at_most"),
        ({"protect": "edges", "degree_bound": 4}, "degree_bound is for"),
        ({"at_most": 0}, "at_most must be"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        gc.plan(60, **NUMBERS, **options)
