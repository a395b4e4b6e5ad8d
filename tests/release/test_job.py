"""A job says what the schema tells, and holds no private row; `execute` charges it."""

import gc as collector

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning, GraphError, ParameterError
from graphcuts_dp.graph.owned_rows import OwnedRows
from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.release.job import execute
from graphcuts_dp.release.releases import flows_job, graph_job

N = 40
OWNER = gc.Protect.owner(at_most=3)


def edges(kind, count):
    rng = np.random.default_rng(3)
    keys = rng.permutation([i * N + j for i in range(N) for j in range(i + 1, N)])[:count]
    rows, columns = keys // N, keys % N
    weights = np.full(count, 2.0) if kind == "weighted" else None
    if kind == "owned":
        owners = np.arange(count) % 7
        return OwnedRows(gc.VertexSet(N), owners, np.arange(7, dtype=np.uint64), (rows, columns))
    if kind == "two sides":
        return gc.BipartiteGraph(rows, columns, left=N, right=N)
    if kind == "directed":
        return gc.DirectedGraph(rows, columns, vertices=N)
    return gc.Graph(
        rows, columns, weights, vertices=N, **({"weight_cap": 4.0} if weights is not None else {})
    )


def groups(kind):
    found = gc.Groups(gc.VertexSet(N), {"half": [v // 20 for v in range(N)]})
    return (found, found) if kind == "two sides" else found


def released(kind, **options):
    whom = {"protect": OWNER} if kind == "owned" else {}
    noise = {"noise": "laplace"} if kind == "weighted" else {}
    return lambda data: graph_job(
        data, **{"epsilon": 12.0, "groups": groups(kind), **noise, **whom, **options}
    )


def summed(kind):
    whom = {"protect": OWNER} if kind == "owned" else {}
    return lambda data: flows_job(data, groups(kind), epsilon=1.0, **whom)


KINDS = ["plain", "weighted", "two sides", "directed", "owned"]
JOBS = [
    *[(kind, make(kind)) for kind in KINDS for make in (released, summed)],
    *[(kind, released(kind, mechanism="sparse")) for kind in KINDS],
    (
        "plain",
        lambda data: flows_job(
            data, groups("plain"), epsilon=1.0, protect=gc.Protect.vertex(degree_bound=5)
        ),
    ),
    ("plain", released("plain", epsilon=0.1)),
]


def said(job):
    return job.kind, job.parameters, job.cost, job.guarantee, job.warning, job.notes


@pytest.mark.parametrize(("kind", "make"), JOBS)
def test_a_job_says_the_same_whatever_the_edges_are(kind, make):
    first = said(make(edges(kind, 0)))
    assert said(make(edges(kind, 300))) == first
    assert first[5]  # it has notes


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
def test_a_job_holds_no_private_row(kind, make):
    data = edges(kind, 300)
    job = make(data)
    held = reachable(job)
    private = [data, *(value for value in vars(data).values() if isinstance(value, np.ndarray))]
    assert private[1:]
    assert not {id(each) for each in private} & set(held)
    rows = [each for each in held.values() if isinstance(each, np.ndarray) and len(each) == 300]
    assert not rows
    assert id(data) in reachable(lambda: data)  # so the search finds what is held


OTHERS = {
    "another cap": gc.Graph([0], [1], [1.0], vertices=N, weight_cap=5.0),
    "no cap": gc.Graph([0], [1], [1.0], vertices=N, hide_change=1),
    "no weights": gc.Graph([0], [1], vertices=N),
    "other vertices": gc.Graph([0], [1], [1.0], vertices=N + 1, weight_cap=4.0),
    "directed": gc.DirectedGraph([0], [1], [1.0], vertices=N, weight_cap=4.0),
    "owned": edges("owned", 5),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_job_is_for_data_of_its_schema_alone(other, tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(noise.SystemEntropy, "bytes", never)
    for make in (released("weighted"), summed("weighted")):
        with pytest.raises(ParameterError, match="for other data"):
            execute(make(edges("weighted", 9)), other, store=tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


def test_owners_who_can_change_more_are_other_data():
    tails = OwnedRows(
        gc.VertexSet(N),
        np.zeros(1),
        np.zeros(1, dtype=np.uint64),
        (np.zeros(1), np.ones(1)),
        owner_is_tail=True,
    )
    job = flows_job(tails, groups("owned"), epsilon=1.0, protect=OWNER)
    with pytest.raises(ParameterError, match="for other data"):
        execute(job, edges("owned", 9))


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
