"""A job says what the schema tells, and holds no private row; `execute` charges it."""

import gc as collector
from dataclasses import replace

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, GraphError, ParameterError, flows_job, graph_job
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy import entropy
from graphcuts_dp.release.flow_tables import FlowsJob
from graphcuts_dp.release.job import _SCHEMA, SMALL_RESULT, execute
from graphcuts_dp.results.packing import pack
from tests.audits.rows_in_memory import rows_in_memory

N = 40
USER = gc.PrivacyUnit.user(max_contributions=3)
VERTEX = gc.PrivacyUnit.vertex(max_degree=5)


def owned(count, **options):
    ends = np.arange(count) % N, (np.arange(count) + 1 + np.arange(count) // N) % N
    keys = np.arange(7, dtype=np.uint64)
    return rows_in_memory(gc.VertexSet(N), np.arange(count) % 7, keys, ends, **options)


def edges(kind, count):
    keys = np.random.default_rng(3).permutation(np.flatnonzero(np.triu(np.ones((N, N)), 1)))
    rows, columns = np.divmod(keys[:count], N)
    if kind == "owned":
        return owned(count)
    if kind == "two sides":
        return gc.BipartiteGraph(rows, columns, left=N, right=N)
    if kind == "directed":
        return gc.DirectedGraph(rows, columns, vertices=N)
    if kind == "weighted":
        return gc.Graph(rows, columns, np.full(count, 2.0), vertices=N, max_weight=4.0)
    return gc.Graph(rows, columns, vertices=N)


def groups(kind):
    found = gc.Groups(gc.VertexSet(N), {"half": [v // 20 for v in range(N)]})
    return (found, found) if kind == "two sides" else found


def released(kind, **options):
    privacy_unit = {"privacy_unit": USER} if kind == "owned" else {}
    noise = {"noise": "laplace"} if kind == "weighted" else {}
    options = {"epsilon": 12.0, "groups": groups(kind), **noise, **privacy_unit, **options}
    return lambda data: graph_job(data, **options)


def summed(kind, **options):
    privacy_unit = {"privacy_unit": USER} if kind == "owned" else {}
    return lambda data: flows_job(data, groups(kind), epsilon=1.0, **privacy_unit | options)


KINDS = ["plain", "weighted", "two sides", "directed", "owned"]
JOBS = [
    *[(kind, make(kind)) for kind in KINDS for make in (released, summed)],
    *[(kind, released(kind, mechanism="sparse")) for kind in KINDS],
    ("plain", summed("plain", privacy_unit=VERTEX)),
    ("plain", released("plain", epsilon=0.1)),
]


def said(job):
    return job.kind, job.parameters, job.cost, job.guarantee, job.warning, job.notes


def reachable(start):
    """Everything that an object holds, but for modules, classes and the globals of functions."""
    seen, left = {}, [start]
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, type | type(pytest)):
            continue
        if isinstance(each, dict) and "__builtins__" in each:
            continue
        seen[id(each)] = each
        left += collector.get_referents(each)
    return seen


@pytest.mark.parametrize(("kind", "make"), JOBS)
def test_a_job_says_the_same_whatever_the_edges_are_and_holds_no_private_row(kind, make):
    data = edges(kind, 300)
    job = make(data)
    assert said(make(edges(kind, 0))) == said(job)
    assert job.notes
    parts = vars(data.row_arrays) if kind == "owned" else vars(data)
    arrays = [each for part in parts.values() for each in (part if type(part) is tuple else [part])]
    private = [data, *(each for each in arrays if isinstance(each, np.ndarray))]
    assert private[1:]
    row_arrays = reachable(job)
    assert not {id(each) for each in private} & set(row_arrays)
    assert not [
        each for each in row_arrays.values() if isinstance(each, np.ndarray) and len(each) == 300
    ]
    assert id(data) in reachable(lambda: data)  # so the search finds what is held


OTHERS = {
    "another cap": gc.Graph([0], [1], [1.0], vertices=N, max_weight=5.0),
    "no cap": gc.Graph([0], [1], [1.0], vertices=N, max_weight_change=1),
    "no weights": gc.Graph([0], [1], vertices=N),
    "other vertices": gc.Graph([0], [1], [1.0], vertices=N + 1, max_weight=4.0),
    "directed": gc.DirectedGraph([0], [1], [1.0], vertices=N, max_weight=4.0),
    "owned": edges("owned", 5),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_job_is_for_data_of_its_schema_alone(other, tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(entropy.SystemEntropy, "bytes", never)
    for make in (released("weighted"), summed("weighted")):
        with pytest.raises(ParameterError, match="for other data"):
            execute(make(edges("weighted", 9)), other, store=tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


def test_users_who_can_change_more_are_other_data():
    job = summed("owned")(owned(1, user_is_source=True))
    with pytest.raises(ParameterError, match="for other data"):
        execute(job, owned(9))


def test_weights_that_count_in_other_units_are_other_data():
    def of_unit(unit):
        rows = owned(9, weights=np.ones(9), counting="weight", weight_unit=unit)
        return rows, flows_job(rows, groups("owned"), epsilon=1.0, privacy_unit=USER)

    (rows, job), (others, _) = of_unit(1.0), of_unit(0.01)
    assert job.bounded(rows)
    with pytest.raises(ParameterError, match="for other data"):
        job.bounded(others)


def test_the_schema_of_a_job_has_attributes_of_graphs_or_of_rows():
    known = {name for kind in KINDS for name in dir(edges(kind, 1))}
    assert set(_SCHEMA) <= known


@pytest.mark.thorough
def test_the_measurements_of_a_table_take_no_more_bytes_than_their_job_says():
    n = 700
    graph = gc.Graph([0], [1], vertices=n)
    zones = gc.Groups(graph.vertices, {"zone": list(range(n))})
    job = flows_job(graph, zones, epsilon=1e-5, privacy_unit="edge")
    content = pack(job.parts(job.measure(graph, SeededEntropy(1)), job.guarantee))
    assert SMALL_RESULT < len(content) < job.measured_bytes


def test_running_charges_nothing_and_draws_what_execute_draws(tmp_path):
    graph = edges("plain", 300)
    job = released("plain", fit="none")(graph)
    made = execute(job, graph, store=tmp_path / "x.db", seed=5)
    again = job.run(job.bounded(graph), SeededEntropy(5))
    assert made.answer([0, 1]) == again.answer([0, 1])
    assert len(gc.store_status(tmp_path / "x.db").uses) == 1


def test_a_warning_comes_before_the_charge(tmp_path):
    graph = edges("plain", 9)
    with pytest.raises(AccuracyWarning, match="worthless at this size"):  # an error in tests
        execute(released("plain", epsilon=0.1)(graph), graph, store=tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


def test_what_is_no_private_data_makes_no_job():
    for make in (released("plain"), summed("plain")):
        with pytest.raises(GraphError, match="must be a Graph"):
            make([(0, 1)])


@pytest.mark.parametrize(
    ("privacy_unit", "counted"), [("1 user", []), ("1 user in one month", ["2026-03"])]
)
def test_the_periods_of_a_job_are_charged(tmp_path, monkeypatch, privacy_unit, counted):
    data = edges("owned", 300)
    job = summed("owned")(data)
    guarantee = replace(job.guarantee, privacy_unit=privacy_unit)
    monkeypatch.setattr(FlowsJob, "periods", ("2026-03",))
    execute(replace(job, guarantee=guarantee), data, store=tmp_path / "x.db")
    monkeypatch.setattr(FlowsJob, "periods", None)
    found = gc.store_status(tmp_path / "x.db")
    assert found.uses[0].use.periods == ("2026-03",)
    assert list(found.periods) == counted
    execute(replace(job, guarantee=guarantee), data, store=tmp_path / "x.db")
    assert gc.store_status(tmp_path / "x.db").uses[1].use.periods is None
