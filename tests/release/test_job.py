"""A job states what follows from the schema, and holds no private row; `execute` charges it."""

import gc as collector
from dataclasses import replace

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy import entropy
from graphcuts_dp.release.flow_tables import FlowsJob
from graphcuts_dp.release.job import _SCHEMA, SMALL_RESULT, execute
from graphcuts_dp.results.packing import pack
from tests.audits.rows_in_memory import rows_in_memory

N = 40  # vertices, or vertices of each side
USER = gc.PrivacyUnit.user(max_contributions=3)
VERTEX = gc.PrivacyUnit.vertex(max_degree=5)


def rows_of_seven_users(count, **options):
    """Return so many rows, of users 0..6 in turn."""
    row_numbers = np.arange(count)
    sources, targets = row_numbers % N, (row_numbers + 1 + row_numbers // N) % N
    marks = np.arange(7, dtype=np.uint64)
    return rows_in_memory(gc.VertexSet(N), row_numbers % 7, marks, (sources, targets), **options)


def private_data(kind, count):
    """Return random private data of a kind: so many edges, or rows."""
    all_pairs = np.flatnonzero(np.triu(np.ones((N, N)), 1))
    pairs = np.random.default_rng(3).permutation(all_pairs)[:count]
    rows, columns = np.divmod(pairs, N)
    if kind == "rows":
        return rows_of_seven_users(count)
    if kind == "two sides":
        return gc.BipartiteGraph(rows, columns, left=N, right=N)
    if kind == "directed":
        return gc.DirectedGraph(rows, columns, vertices=N)
    if kind == "weighted":
        return gc.Graph(rows, columns, np.full(count, 2.0), vertices=N, max_weight=4.0)
    return gc.Graph(rows, columns, vertices=N)


def two_groups(kind):
    groups = gc.Groups(gc.VertexSet(N), {"half": [vertex // 20 for vertex in range(N)]})
    return (groups, groups) if kind == "two sides" else groups


def graph_job_of(kind, data, **options):
    defaults = {"epsilon": 12.0, "groups": two_groups(kind)}
    defaults |= {"noise": "laplace"} if kind == "weighted" else {}
    defaults |= {"privacy_unit": USER} if kind == "rows" else {}
    return gc.graph_job(data, **defaults | options)


def flows_job_of(kind, data, **options):
    defaults = {"privacy_unit": USER} if kind == "rows" else {}
    return gc.flows_job(data, two_groups(kind), epsilon=1.0, **defaults | options)


KINDS = ["plain", "weighted", "two sides", "directed", "rows"]
JOBS = [
    *[
        pytest.param(kind, job_of, {}, id=f"{name}, {kind}")
        for kind in KINDS
        for name, job_of in (("graph", graph_job_of), ("flows", flows_job_of))
    ],
    *[
        pytest.param(kind, graph_job_of, {"mechanism": "sparse"}, id=f"sparse graph, {kind}")
        for kind in KINDS
    ],
    pytest.param("plain", flows_job_of, {"privacy_unit": VERTEX}, id="flows, vertex"),
    pytest.param("plain", graph_job_of, {"epsilon": 0.1}, id="graph, with a warning"),
]


def statements_of(job):
    return job.kind, job.parameters, job.cost, job.guarantee, job.warning, job.notes


def objects_held_by(start):
    """Return all objects that an object holds, by id.

    Modules, classes and the globals of functions are left out.
    """
    held, remaining = {}, [start]
    while remaining:
        current = remaining.pop()
        if id(current) in held or isinstance(current, type | type(pytest)):
            continue
        if isinstance(current, dict) and "__builtins__" in current:
            continue
        held[id(current)] = current
        remaining += collector.get_referents(current)
    return held


@pytest.mark.parametrize(("kind", "job_of", "options"), JOBS)
def test_a_job_states_the_same_whatever_the_edges_are(kind, job_of, options):
    job, job_without_edges = (
        job_of(kind, private_data(kind, count), **options) for count in (300, 0)
    )
    assert statements_of(job) == statements_of(job_without_edges)
    assert job.notes


@pytest.mark.parametrize(("kind", "job_of", "options"), JOBS)
def test_a_job_holds_no_private_row(kind, job_of, options):
    data = private_data(kind, 300)
    fields = vars(data.row_arrays) if kind == "rows" else vars(data)
    private_arrays = [
        value
        for field in fields.values()
        for value in (field if type(field) is tuple else [field])
        if isinstance(value, np.ndarray)
    ]
    assert private_arrays

    held = objects_held_by(job_of(kind, data, **options))

    assert not {id(value) for value in (data, *private_arrays)} & set(held)
    copies = [
        value for value in held.values() if isinstance(value, np.ndarray) and len(value) == 300
    ]
    assert not copies


def test_the_search_for_objects_looks_into_functions():
    data = private_data("plain", 9)
    assert id(data) in objects_held_by(lambda: data)


WEIGHTED_EDGE = ([0], [1], [1.0])
OTHER_DATA = {
    "another maximum weight": gc.Graph(*WEIGHTED_EDGE, vertices=N, max_weight=5.0),
    "no maximum weight": gc.Graph(*WEIGHTED_EDGE, vertices=N, max_weight_change=1),
    "no weights": gc.Graph([0], [1], vertices=N),
    "other vertices": gc.Graph(*WEIGHTED_EDGE, vertices=N + 1, max_weight=4.0),
    "directed": gc.DirectedGraph(*WEIGHTED_EDGE, vertices=N, max_weight=4.0),
    "rows": private_data("rows", 5),
}


@pytest.mark.parametrize("other", OTHER_DATA.values(), ids=OTHER_DATA)
def test_a_job_is_for_data_of_its_schema_alone(other, tmp_path, monkeypatch):
    def fail(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(entropy.SystemEntropy, "bytes", fail)
    for job_of in (graph_job_of, flows_job_of):
        job = job_of("weighted", private_data("weighted", 9))
        with pytest.raises(gc.ParameterError, match="for other data"):
            execute(job, other, store=tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


def test_rows_whose_users_can_change_more_are_other_data():
    job = flows_job_of("rows", rows_of_seven_users(1, user_is_source=True))
    with pytest.raises(gc.ParameterError, match="for other data"):
        execute(job, rows_of_seven_users(9))


def test_weights_that_count_in_other_units_are_other_data():
    rows, rows_in_cents = (
        rows_of_seven_users(9, weights=np.ones(9), counting="weight", weight_unit=unit)
        for unit in (1.0, 0.01)
    )
    job = flows_job_of("rows", rows)
    assert job.bounded(rows)
    with pytest.raises(gc.ParameterError, match="for other data"):
        job.bounded(rows_in_cents)


def test_the_schema_of_a_job_has_attributes_of_graphs_or_of_rows():
    attributes = {name for kind in KINDS for name in dir(private_data(kind, 1))}
    assert set(_SCHEMA) <= attributes


@pytest.mark.thorough
def test_the_measurements_of_a_table_take_no_more_bytes_than_their_job_states():
    n = 700
    graph = gc.Graph([0], [1], vertices=n)
    single_vertices = gc.Groups(graph.vertices, {"zone": list(range(n))})
    job = gc.flows_job(graph, single_vertices, epsilon=1e-5, privacy_unit="edge")
    content = pack(job.parts(job.measure(graph, SeededEntropy(1)), job.guarantee))
    assert SMALL_RESULT < len(content) < job.measured_bytes


def test_run_draws_what_execute_draws_and_charges_nothing(tmp_path):
    graph = private_data("plain", 300)
    job = graph_job_of("plain", graph, fit="none")
    executed = execute(job, graph, store=tmp_path / "x.db", seed=5)
    run = job.run(job.bounded(graph), SeededEntropy(5))
    assert executed.answer([0, 1]) == run.answer([0, 1])
    assert len(gc.store_status(tmp_path / "x.db").uses) == 1


def test_a_warning_comes_before_the_charge(tmp_path):
    """Tests turn warnings into errors, which end a release."""
    graph = private_data("plain", 9)
    job = graph_job_of("plain", graph, epsilon=0.1)
    with pytest.raises(gc.AccuracyWarning, match="worthless at this size"):
        execute(job, graph, store=tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize("job_of", [graph_job_of, flows_job_of])
def test_a_list_of_pairs_is_no_private_data(job_of):
    with pytest.raises(gc.GraphError, match="must be a Graph"):
        job_of("plain", [(0, 1)])


@pytest.mark.parametrize(
    ("privacy_unit", "charged_periods"), [("1 user", []), ("1 user in one month", ["2026-03"])]
)
def test_the_periods_of_a_job_are_charged_if_they_belong_to_its_privacy_unit(
    tmp_path, monkeypatch, privacy_unit, charged_periods
):
    data = private_data("rows", 300)
    job = flows_job_of("rows", data)
    job = replace(job, guarantee=replace(job.guarantee, privacy_unit=privacy_unit))
    monkeypatch.setattr(FlowsJob, "periods", ("2026-03",))
    execute(job, data, store=tmp_path / "x.db")
    monkeypatch.setattr(FlowsJob, "periods", None)
    status = gc.store_status(tmp_path / "x.db")
    assert status.uses[0].use.periods == ("2026-03",)
    assert list(status.periods) == charged_periods


def test_a_job_without_periods_is_charged_to_none(tmp_path):
    data = private_data("rows", 300)
    execute(flows_job_of("rows", data), data, store=tmp_path / "x.db")
    (use,) = gc.store_status(tmp_path / "x.db").uses
    assert use.use.periods is None
