"""Every product for one user: whom it protects, what it costs, and what it refuses."""

from functools import partial

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, LedgerError, ParameterError
from graphcuts_dp.schema.counting import COUNTINGS
from graphcuts_dp.session.session import session_of
from tests.audits.rows_in_memory import bounded, rows_in_memory

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

N = 12
THREE = gc.PrivacyUnit.user(max_contributions=3)
GROUPS = gc.Groups(gc.VertexSet(N), {"half": [v // 6 for v in range(N)]})
QUERIES = [gc.CutQuery([0], [1]), gc.CutQuery([1], [2])]


def rows_of(counting="edges", seed=0, two_sided=False):
    rng = np.random.default_rng(seed)
    users, count = 30, 200
    vertices = gc.VertexSet(N)
    return rows_in_memory(
        (vertices, gc.VertexSet(N)) if two_sided else vertices,
        rng.integers(users, size=count),
        rng.integers(2**63, size=users, dtype=np.uint64),
        tuple(rng.integers(N, size=(2, count))),
        rng.exponential(size=count) if counting == "weight" else None,
        counting=counting,
        weight_unit=0.5 if counting == "weight" else 1.0,
    )


def flows(rows, *, epsilon=1.0, privacy_unit=THREE, **options):
    return gc.release_flows(rows, GROUPS, epsilon=epsilon, privacy_unit=privacy_unit, **options)


def release(rows, *, epsilon=12.0, privacy_unit=THREE, **options):
    return gc.release_graph(rows, epsilon=epsilon, privacy_unit=privacy_unit, **options)


def learn(
    rows, queries=QUERIES, *, epsilon=1.0, privacy_unit=THREE, construction="net", delta=1e-6
):
    options = {"construction": construction, "delta": delta, "privacy_unit": privacy_unit}
    return gc.release_iteratively(rows, queries, epsilon=epsilon, **options)


net = partial(learn, delta=0.0)
iterative = partial(learn, queries=None, construction="multiplicative-weights")
sensing = partial(
    learn, queries=[gc.Query.matrix(np.ones((N, N)))], construction="sensing:rounds=2", epsilon=9.0
)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("counting", COUNTINGS)
def test_flows_and_sessions_of_any_counting(counting, tmp_path):
    rows = rows_of(counting)
    store = gc.Store(tmp_path / "x.db", budget=15)
    made = flows(rows, store=store)
    assert (made.guarantee.privacy_unit, made.guarantee.epsilon) == ("1 user", 1)
    assert "at most 3 count" in made.guarantee.neighbours
    # Discrete Laplace noise of rate 1/3 for a pair or row, on the one level that is measured.
    steps = 1 if counting == "edges" else 1024
    assert made.noisy.unit == rows.weight_unit / steps
    rates = [float(rate) for rate in made.noisy.noise.parameters]
    assert rates == [pytest.approx(1 / (3 * steps))]
    terms = {"queries": 4, "epsilon": 12.0, "method": "laplace", "privacy_unit": THREE}
    with session_of(rows, store=store, **terms) as opened:
        assert opened.guarantee.privacy_unit == "1 user"
        first = opened.ask([0, 1], [2, 3])
    for again in ({"privacy_unit": THREE}, {}):  # with the bound that was agreed on
        with gc.open_session(rows, store=store, **again) as opened:
            assert opened.ask([0, 1], [2, 3]) == first
            assert opened.remaining.queries == 3
    with pytest.raises(ParameterError, match="with privacy_unit='user:max-contributions=3'"):
        gc.open_session(rows, store=store, privacy_unit=gc.PrivacyUnit.edge(3))
    # Other bounds of the same rows are charged to the same store.
    flows(rows, store=store, privacy_unit=gc.PrivacyUnit.user(max_contributions=7))
    with pytest.raises(BudgetError, match="does not allow"):
        flows(rows, epsilon=2.5, store=store)
    with pytest.raises(LedgerError, match="about other private data"):
        flows(rows_of(counting, seed=1), store=store)


sparse = partial(release, mechanism="sparse")


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("make", "counting", "epsilon"),
    [
        *((sparse, counting, 1.0) for counting in COUNTINGS),
        *((release, "edges", 12.0), (iterative, "edges", 1.0), (sensing, "edges", 9.0)),
    ],
)
def test_releases_protect_one_user(make, counting, epsilon):
    made = make(rows_of(counting, two_sided=make is sensing), epsilon=epsilon)
    assert (made.guarantee.privacy_unit, made.guarantee.epsilon) == ("1 user", epsilon)


def test_the_answers_are_those_of_the_bounded_graph():
    rows = rows_of("rows")
    total = bounded(rows, 3).weights.sum()
    made = flows(rows, epsilon=50.0, seed=1, workload=gc.FlowWorkload(whole=True))
    # Noise of rate 50/3: more than 3 away with a probability below 1e-20.
    assert abs(made.noisy.steps[-1].sum() - total) <= 9
    assert total < len(rows.row_arrays.endpoints[0])


@pytest.mark.parametrize("make", [flows, release, iterative, net, sensing])
def test_users_need_users_and_users_alone(make):
    rows = rows_of(two_sided=make is sensing)
    with pytest.raises(ParameterError, match="needs rows, not a graph"):
        make(bounded(rows, 2))
    for privacy_unit, words in (
        ("row", "is for rows or their weights"),
        ("user", "needs max_contributions"),
        (gc.PrivacyUnit.vertex(max_degree=3), "not possible here|is for graphs"),
        (gc.PrivacyUnit.user(max_contributions=2, per_period=True), "needs rows with periods="),
    ):
        with pytest.raises(ParameterError, match=words):
            make(rows, privacy_unit=privacy_unit)
    with pytest.raises(ParameterError, match="is about whether a pair has any row"):
        make(rows_of("users", two_sided=make is sensing), privacy_unit="edge")


def test_sessions_refuse_the_same_before_they_open(tmp_path):
    terms = {"store": tmp_path / "x.db", "epsilon": 1.0, "queries": 4}
    with pytest.raises(ParameterError, match="needs rows, not a graph"):
        session_of(bounded(rows_of(), 2), **terms, privacy_unit=THREE)
    with pytest.raises(ParameterError, match="is about whether a pair has any row"):
        session_of(rows_of("rows"), **terms)
    assert not (tmp_path / "x.db").exists()


def test_a_store_for_edges_takes_no_users(tmp_path):
    rows, store = rows_of(), tmp_path / "x.db"
    flows(rows, store=store)
    whole = gc.Graph(*rows.row_arrays.endpoints, vertices=rows.space)
    with pytest.raises(BudgetError, match="is 1 user, that of this use 1 edge"):
        flows(whole, privacy_unit="edge", store=store)
    with pytest.raises(LedgerError, match="about other private data"):
        flows(bounded(rows, 3), privacy_unit="edge", store=store)
