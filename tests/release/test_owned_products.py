"""Every product for one owner: whom it protects, what it costs, and what it refuses."""

import numpy as np
import pytest
from offline_calls import choose_from_net, learn, sense

import graphcuts_dp as gc
from graphcuts_dp.errors import BudgetError, LedgerError, ParameterError
from graphcuts_dp.graph.owned_rows import OwnedRows
from graphcuts_dp.session.session import session_of

N = 12
OWNER = {"protect": gc.Protect.owner(at_most=3)}


def rows_of(counting="edges", seed=0, two_sided=False):
    rng = np.random.default_rng(seed)
    owners, count = 30, 200
    vertices = gc.VertexSet(N)
    return OwnedRows(
        (vertices, gc.VertexSet(N)) if two_sided else vertices,
        rng.integers(owners, size=count),
        rng.integers(2**63, size=owners, dtype=np.uint64),
        tuple(rng.integers(N, size=(2, count))),
        rng.exponential(size=count) if counting == "weight" else None,
        counting=counting,
        unit=0.5 if counting == "weight" else 1.0,
    )


def groups():
    return gc.Groups(gc.VertexSet(N), {"half": [v // 6 for v in range(N)]})


def flows(rows, **options):
    return gc.release_flows(rows, groups(), epsilon=1.0, **{**OWNER, **options})


def release(rows, **options):
    return gc.release_graph(rows, **{"epsilon": 12.0, **OWNER, **options})


def iterative(rows, **options):
    return learn(rows, epsilon=1.0, delta=1e-6, **{**OWNER, **options})


def net(rows, **options):
    queries = [gc.CutQuery([0], [1]), gc.CutQuery([1], [2])]
    return choose_from_net(rows, queries, epsilon=1.0, **{**OWNER, **options})


@pytest.mark.parametrize("counting", ["edges", "owners", "rows", "weight"])
def test_flows_and_sessions_of_any_counting(counting, tmp_path):
    rows = rows_of(counting)
    store = gc.Store(tmp_path / "x.db", budget=15)
    made = flows(rows, store=store)
    assert made.guarantee.protects == "1 owner"
    assert made.guarantee.epsilon == 1
    assert "at most 3 count" in made.guarantee.neighbours
    assert "is not" not in made.guarantee.neighbours
    # Discrete Laplace noise of rate 1/3 in whole steps, on the one level that is measured.
    assert [float(rate) for rate in made.noisy.noise.parameters] == [pytest.approx(1 / 3)]
    assert made.noisy.unit == 1
    path = tmp_path / "flows.csv"
    made.save(path)
    assert gc.load(path).guarantee == made.guarantee
    session = {"store": store, "queries": 4, "epsilon": 12.0, "method": "laplace", **OWNER}
    with session_of(rows, **session) as opened:
        assert opened.guarantee.protects == "1 owner"
        first = opened.ask([0, 1], [2, 3])
    with gc.open_session(rows, store=store) as again:  # with the bound that was agreed on
        assert again.ask([0, 1], [2, 3]) == first
        assert again.remaining.queries == 3
    # Other bounds of the same rows are charged to the same store.
    flows(rows, store=store, protect=gc.Protect.owner(at_most=7))
    with pytest.raises(BudgetError, match="does not allow"):
        gc.release_flows(rows, groups(), epsilon=2.5, store=store, **OWNER)
    with pytest.raises(LedgerError, match="about other private data"):
        flows(rows_of(counting, seed=1), store=store)


@pytest.mark.parametrize("make", [release, iterative])
def test_releases(make, tmp_path):
    made = make(rows_of(), store=tmp_path / "x.db")
    assert made.guarantee.protects == "1 owner"
    assert made.guarantee.epsilon == (12 if make is release else 1)
    path = tmp_path / "made.graphml"
    made.save(path)
    assert type(made).load(path).guarantee == made.guarantee


@pytest.mark.parametrize("counting", ["owners", "rows", "weight"])
def test_sparse_releases(counting):
    made = release(rows_of(counting), epsilon=1.0, mechanism="sparse")
    assert made.guarantee.protects == "1 owner"
    assert made.guarantee.epsilon == 1


def test_the_answers_are_those_of_the_bounded_graph():
    rows = rows_of("rows")
    graph = rows.bounded(at_most=3)
    total = graph.weights.sum()
    made = gc.release_flows(
        rows, groups(), epsilon=50.0, seed=1, protect=gc.Protect.owner(at_most=3)
    )
    # Noise of rate 50/3: more than 3 away with a probability below 1e-20.
    assert abs(made.noisy.steps[-1].sum() - total) <= 9
    assert total < len(rows.pairs)


@pytest.mark.parametrize("make", [flows, release, iterative])
def test_an_object_protects_whom_the_words_do(make):
    made = make(rows_of(), protect=gc.Protect.owner(at_most=3))
    assert made.guarantee.protects == "1 owner"
    with pytest.raises(ParameterError, match=r"cannot hide a vertex|under protect='owner'"):
        make(rows_of(), protect=gc.Protect.vertex(degree_bound=3))


def test_a_session_protects_whom_an_object_names(tmp_path):
    terms = {"store": tmp_path / "x.db", "epsilon": 9.0, "queries": 4}
    whom = gc.Protect.owner(at_most=3)
    with session_of(rows_of(), **terms, protect=whom) as session:
        assert session.guarantee.protects == "1 owner"
    for again in ({"protect": whom}, {}):
        gc.open_session(rows_of(), store=terms["store"], **again).close()
    with pytest.raises(ParameterError, match="with protect='owner'"):
        gc.open_session(rows_of(), store=terms["store"], protect=gc.Protect.edges(3))


@pytest.mark.parametrize("make", [flows, release, iterative, net])
def test_what_has_no_owners_protects_none(make):
    graph = rows_of().bounded(at_most=2)
    with pytest.raises(ParameterError, match="needs rows with owners"):
        make(graph)
    with pytest.raises(ParameterError, match="under protect='owner'"):
        make(rows_of(), protect="edges")
    with pytest.raises(ParameterError, match="needs at_most"):
        make(rows_of(), protect="owner")


def test_sessions_and_sensing_refuse_the_same(tmp_path):
    graph = rows_of().bounded(at_most=2)
    terms = {"store": tmp_path / "x.db", "epsilon": 1.0, "queries": 4}
    with pytest.raises(ParameterError, match="needs rows with owners"):
        session_of(graph, **terms, **OWNER)
    with pytest.raises(ParameterError, match="under protect='owner'"):
        session_of(rows_of(), **terms)
    assert not (tmp_path / "x.db").exists()
    query = gc.Query.matrix(np.ones((N, N)))
    with pytest.raises(ParameterError, match="needs rows with owners"):
        sense(rows_of(two_sided=True).bounded(at_most=1), [query], epsilon=1.0, delta=1e-6, **OWNER)
    made = sense(rows_of(two_sided=True), [query], epsilon=9.0, delta=1e-6, rounds=2, **OWNER)
    assert made.guarantee.protects == "1 owner"


def test_a_store_for_edges_takes_no_owners(tmp_path):
    rows = rows_of()
    store = tmp_path / "x.db"
    flows(rows, store=store)
    whole = gc.Graph(rows.pairs >> 31, rows.pairs & (2**31 - 1), vertices=rows.space)
    with pytest.raises(BudgetError, match="protect 1 owner, this one would protect 1 edge"):
        gc.release_flows(whole, groups(), epsilon=1.0, store=store)
    with pytest.raises(LedgerError, match="about other private data"):
        gc.release_flows(rows.bounded(at_most=3), groups(), epsilon=1.0, store=store)
