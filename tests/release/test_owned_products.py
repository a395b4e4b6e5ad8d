"""Every product for one owner: whom it protects, what it costs, and what it refuses."""

from functools import partial

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import BudgetError, LedgerError, ParameterError
from graphcuts_dp.graph.rows import COUNTINGS
from graphcuts_dp.session.session import session_of
from tests.audits.rows_in_memory import bounded, rows_in_memory

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

N = 12
THREE = gc.Protect.owner(at_most=3)
GROUPS = gc.Groups(gc.VertexSet(N), {"half": [v // 6 for v in range(N)]})
QUERIES = [gc.CutQuery([0], [1]), gc.CutQuery([1], [2])]


def rows_of(counting="edges", seed=0, two_sided=False):
    rng = np.random.default_rng(seed)
    owners, count = 30, 200
    vertices = gc.VertexSet(N)
    return rows_in_memory(
        (vertices, gc.VertexSet(N)) if two_sided else vertices,
        rng.integers(owners, size=count),
        rng.integers(2**63, size=owners, dtype=np.uint64),
        tuple(rng.integers(N, size=(2, count))),
        rng.exponential(size=count) if counting == "weight" else None,
        counting=counting,
        unit=0.5 if counting == "weight" else 1.0,
    )


def flows(rows, *, epsilon=1.0, protect=THREE, **options):
    return gc.release_flows(rows, GROUPS, epsilon=epsilon, protect=protect, **options)


def release(rows, *, epsilon=12.0, protect=THREE, **options):
    return gc.release_graph(rows, epsilon=epsilon, protect=protect, **options)


def learn(rows, queries=QUERIES, *, epsilon=1.0, protect=THREE, construction="net", delta=1e-6):
    options = {"construction": construction, "delta": delta, "protect": protect}
    return gc.release_iteratively(rows, queries, epsilon=epsilon, **options)


net = partial(learn, delta=0.0)
iterative = partial(learn, queries=None, construction="multiplicative-weights")
sensing = partial(
    learn, queries=[gc.Query.matrix(np.ones((N, N)))], construction="sensing:rounds=2", epsilon=9.0
)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_flows_and_sessions_of_any_counting(counting, tmp_path):
    rows = rows_of(counting)
    store = gc.Store(tmp_path / "x.db", budget=15)
    made = flows(rows, store=store)
    assert (made.guarantee.protects, made.guarantee.epsilon) == ("1 owner", 1)
    assert "at most 3 count" in made.guarantee.neighbours
    # Discrete Laplace noise of rate 1/3 for a pair or row, on the one level that is measured.
    steps = 1 if counting == "edges" else 1024
    assert made.noisy.unit == rows.unit / steps
    rates = [float(rate) for rate in made.noisy.noise.parameters]
    assert rates == [pytest.approx(1 / (3 * steps))]
    terms = {"queries": 4, "epsilon": 12.0, "method": "laplace", "protect": THREE}
    with session_of(rows, store=store, **terms) as opened:
        assert opened.guarantee.protects == "1 owner"
        first = opened.ask([0, 1], [2, 3])
    for again in ({"protect": THREE}, {}):  # with the bound that was agreed on
        with gc.open_session(rows, store=store, **again) as opened:
            assert opened.ask([0, 1], [2, 3]) == first
            assert opened.remaining.queries == 3
    with pytest.raises(ParameterError, match="with protect='owner'"):
        gc.open_session(rows, store=store, protect=gc.Protect.edges(3))
    # Other bounds of the same rows are charged to the same store.
    flows(rows, store=store, protect=gc.Protect.owner(at_most=7))
    with pytest.raises(BudgetError, match="does not allow"):
        flows(rows, epsilon=2.5, store=store)
    with pytest.raises(LedgerError, match="about other private data"):
        flows(rows_of(counting, seed=1), store=store)


sparse = partial(release, mechanism="sparse")


@pytest.mark.parametrize(
    ("make", "counting", "epsilon"),
    [
        *((sparse, counting, 1.0) for counting in COUNTINGS),
        *((release, "edges", 12.0), (iterative, "edges", 1.0), (sensing, "edges", 9.0)),
    ],
)
def test_releases_protect_one_owner(make, counting, epsilon):
    made = make(rows_of(counting, two_sided=make is sensing), epsilon=epsilon)
    assert (made.guarantee.protects, made.guarantee.epsilon) == ("1 owner", epsilon)


def test_the_answers_are_those_of_the_bounded_graph():
    rows = rows_of("rows")
    total = bounded(rows, 3).weights.sum()
    made = flows(rows, epsilon=50.0, seed=1, workload=gc.FlowWorkload(whole=True))
    # Noise of rate 50/3: more than 3 away with a probability below 1e-20.
    assert abs(made.noisy.steps[-1].sum() - total) <= 9
    assert total < len(rows.held.ends[0])


@pytest.mark.parametrize("make", [flows, release, iterative, net, sensing])
def test_owners_need_owners_and_owners_alone(make):
    rows = rows_of(two_sided=make is sensing)
    with pytest.raises(ParameterError, match="needs rows, not a graph"):
        make(bounded(rows, 2))
    for whom, words in (
        ("rows", "is for rows or their weights"),
        ("owner", "needs at_most"),
        (gc.Protect.vertex(degree_bound=3), "cannot hide a vertex|is for graphs"),
        (gc.Protect.owner(at_most=2, per_period=True), "needs rows with periods="),
    ):
        with pytest.raises(ParameterError, match=words):
            make(rows, protect=whom)
    with pytest.raises(ParameterError, match="hides whether a pair has any row"):
        make(rows_of("owners", two_sided=make is sensing), protect="edges")


def test_sessions_refuse_the_same_before_they_open(tmp_path):
    terms = {"store": tmp_path / "x.db", "epsilon": 1.0, "queries": 4}
    with pytest.raises(ParameterError, match="needs rows, not a graph"):
        session_of(bounded(rows_of(), 2), **terms, protect=THREE)
    with pytest.raises(ParameterError, match="hides whether a pair has any row"):
        session_of(rows_of("rows"), **terms)
    assert not (tmp_path / "x.db").exists()


def test_a_store_for_edges_takes_no_owners(tmp_path):
    rows, store = rows_of(), tmp_path / "x.db"
    flows(rows, store=store)
    whole = gc.Graph(*rows.held.ends, vertices=rows.space)
    with pytest.raises(BudgetError, match="protect 1 owner, this one would protect 1 edge"):
        flows(whole, protect="edges", store=store)
    with pytest.raises(LedgerError, match="about other private data"):
        flows(bounded(rows, 3), protect="edges", store=store)
