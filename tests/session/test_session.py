"""Sessions: what they answer, spend, refuse and remember."""

import hashlib
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import session_workers as workers
from helpers import LARGE_DELTA
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, LedgerError, ParameterError, QueryError, open_session
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.ledger.uses import total_cost
from graphcuts_dp.plugins import Cost, Universe
from graphcuts_dp.schema.value_bounds import most_weight, possible_part
from graphcuts_dp.session import runner
from graphcuts_dp.session.counts import EdgeCounter
from graphcuts_dp.session.plain import PerQueryNoise
from graphcuts_dp.session.queries import decode_query, encode_query
from graphcuts_dp.session.session import session_of

pytestmark = LARGE_DELTA
LEARNING = ("multiplicative-weights", "frieze-kannan", "mirror-descent")
GAUSSIAN = {"method": "gaussian", "epsilon": 40.0, "delta": 0.01, "queries": 500}
WEIGHTS = GAUSSIAN | {"method": "multiplicative-weights"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mail.db"


@pytest.fixture
def graph():
    return workers.private_graph()


def test_fractions_are_agreed_on_as_floats_that_are_not_above_them(path, graph):
    delta, beta = Fraction(1, 10**6), Fraction(1, 30)
    work = gc.SessionWorkload(queries=5, beta=beta)
    for _ in range(2):  # begun, and resumed
        terms = {"epsilon": Fraction(1, 3), "delta": delta, "queries": work}
        with open_session(graph, store=path, **terms) as session:
            agreed = session.parameters
            assert agreed["epsilon"] == session.guarantee.epsilon <= Fraction(1, 3)
            assert agreed["delta"] <= delta < agreed["delta"] + 1e-20
            assert agreed["beta"] <= beta


def test_a_query_is_the_same_however_it_is_written(path):
    with workers.begin(path) as session:
        answer = session.ask([1, 2], [3])
        mask = np.zeros(workers.N, dtype=bool)
        mask[[1, 2]] = True
        assert session.ask("*", [3]) == session.ask(range(workers.N), [3])
        for again in (([2, 1, 1], [3]), ([3], [1, 2]), (mask, np.array([3])), ((1, 2), {3})):
            assert session.ask(*again) == answer
        whole = session.ask([1, 2])
        assert session.ask(~mask) == whole
        assert session.ask([1, 2], ~mask) == whole
        assert len(session.history) == 3
        assert session.remaining.queries == workers.GUARANTEED - 3
        assert session.ask([1, 3], [2]) != answer


@pytest.mark.usefixtures("no_forecast")
def test_sides_of_a_bipartite_graph_are_kept_apart(path):
    graph = gc.BipartiteGraph([0, 1, 2], [0, 1, 1], left=3, right=["a", "b"])
    with open_session(
        graph, store=path, epsilon=40.0, delta=0.01, queries=50, method="gaussian"
    ) as session:
        assert session.ask([0, 1]) == session.ask([0, 1], ["a", "b"])
        session.ask([0], ["a"])
        session.ask([1], ["a"])
        assert len(session.history) == 3
        assert session.vertices[1].labels == ("a", "b")
        assert session.export()["answers"][1]["T"] == ["a"]


@pytest.mark.thorough
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_query_has_one_form(data):
    n = data.draw(st.one_of(st.integers(1, 40), st.just(600)))
    other = data.draw(st.one_of(st.none(), st.just("arcs"), st.integers(1, 600)))
    universe = Universe(n, directed=True) if other == "arcs" else Universe(n, other)
    left, right = universe.shape
    S, T = (
        np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
        for size in (left, right)
    )
    coded = encode_query(gc.CutQuery(S, T), universe)
    kept = {hashlib.sha256(each).digest(): each for each in coded.long_parts}  # long ones, by name
    again = encode_query(decode_query(coded.data, universe, kept.__getitem__), universe)
    assert (again.data, again.digest) == (coded.data, coded.digest)
    found = {tuple(side.tolist()) for side in coded.query.masks(universe.space)}
    assert found == {tuple(S.tolist()), tuple(T.tolist())}
    if not universe.bipartite:
        turned = encode_query(gc.CutQuery(T, S), universe).digest
        assert (turned == coded.digest) is (universe.symmetric or bool((S == T).all()))
    if not universe.symmetric:
        asked = coded.query.masks(universe.space)
        assert all(np.array_equal(a, b) for a, b in zip(asked, (S, T), strict=True))
    with pytest.raises(LedgerError):
        decode_query(coded.data + b"x", universe, kept.__getitem__)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([gc.Graph, gc.BipartiteGraph, gc.DirectedGraph]),
    st.integers(1, 20),
)
@settings(max_examples=60, deadline=None)
def test_counts_are_exact(seed, kind, queries):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    ends = rng.integers(0, n, (2, int(rng.integers(0, 60))))
    sides = {"left": n, "right": n} if kind is gc.BipartiteGraph else {"vertices": n}
    graph = kind(*ends, **sides)
    asked = [
        gc.CutQuery(rng.random(n) < 0.5, None if rng.random() < 0.3 else rng.random(n) < 0.5)
        for _ in range(queries)
    ]
    counter = EdgeCounter(graph, Grid.of(graph))
    assert counter.counts(asked) == [int(query.value(graph)) for query in asked]
    assert repr(counter) == "EdgeCounter()"


def test_the_reservation_is_on_the_disk_before_the_noise(path, monkeypatch):
    step, seen = PerQueryNoise.step, []

    def look(*arguments):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
            last = reader.execute("SELECT kind, body FROM records ORDER BY seq DESC").fetchone()
        seen.append((last[0] == Kind.RESERVE, len(last[1]) // 32))
        return step(*arguments)

    monkeypatch.setattr(PerQueryNoise, "step", look)
    with workers.begin(path) as session:
        session.ask([1])
        session.ask_all([workers.query(number) for number in range(5)])
        session.ask([1])
    assert seen == [(True, 1), *[(True, 5)] * 5]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError, ValueError])
def test_a_step_that_was_cut_off_counts_as_spent(path, problem, monkeypatch):
    def broken(*_):
        raise problem

    with workers.begin(path) as session:
        session.ask([1])
        with monkeypatch.context() as patched:
            patched.setattr(PerQueryNoise, "step", broken)
            with pytest.raises(problem):
                session.ask_all([workers.query(number) for number in range(3)])
        with workers.begin(path) as another:  # whoever comes next writes it off
            assert another.remaining.queries == workers.GUARANTEED - 4
        assert session.ask([2]).queries_left == workers.GUARANTEED - 5
        assert session.status.interruptions == 1


def test_a_lost_secret_uses_up_the_instance(path, graph):
    with session_of(graph, store=path, **WEIGHTS) as session:
        before = session.ask([1])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE states SET secret = NULL")
    with open_session(graph, store=path) as session:
        assert session.status.interruptions == 1
        assert session.ask([2]).updates_left < before.updates_left
        assert session.ask([1]) == before


def test_a_query_that_the_method_does_not_take_spends_nothing(path, graph):
    with session_of(
        graph, store=path, disjoint=True, **(GAUSSIAN | {"method": "frieze-kannan"})
    ) as session:
        good, bad = gc.CutQuery([1], [2]), gc.CutQuery([1, 2], [2, 3])
        with pytest.raises(QueryError, match="disjoint"):
            session.ask_all([good, bad, gc.CutQuery([5], [6])])
        assert len(session.history) == 1
        assert session.cost([good, bad]).free == 1
        assert session.ask([7]).queries_left == 498
        assert session.status.interruptions == 0


def test_seeded_sessions_say_so(path, graph):
    with session_of(graph, store=path, seed=3, **GAUSSIAN) as session:
        assert session.ask([1]).seeded
        for told in (repr(session), str(session.guarantee), json.dumps(session.export())):
            assert "not private" in told
    with open_session(graph, store=path) as session:
        assert session.ask([3]).seeded
    with pytest.raises(ParameterError, match="seed"):
        open_session(graph, store=path, seed=4)


def test_parameters_of_a_session_are_kept(path, graph):
    for budget in ((1.0, 2.0), 0.0, (1.0, 0.1, 2), "much"):
        with pytest.raises(ParameterError):
            session_of(graph, store=gc.Store(path, budget=budget), **GAUSSIAN)
        assert not path.exists()
    session_of(graph, store=path, **GAUSSIAN).close()
    changes = ({"epsilon": 1.0}, {"queries": 3}, {"method": "laplace"}, {"beta": 0.1})
    for change in changes:
        with pytest.raises(ParameterError, match="choose another name"):
            session_of(graph, store=path, **change)
    session_of(graph, store=path, **GAUSSIAN).close()


def test_a_budget_is_a_filter_and_its_total_an_odometer():
    zcdp = [Cost.of_rho(0.02, delta=1e-6) for _ in range(4)]
    each, budget = zcdp[0].epsilon, Budget(2.5 * zcdp[0].epsilon, 1e-6)
    assert budget.allows(zcdp)
    assert not Budget(2.5 * each, 1e-9).allows(zcdp)
    total = total_cost(zcdp, budget)
    assert total.delta == 1e-6
    assert each < total.epsilon < 2.5 * each
    assert total_cost(zcdp).epsilon == pytest.approx(4 * each)  # no delta was fixed beforehand
    few = [Cost(epsilon=1.0, delta=1e-6, rho=0.03), Cost.of_pure(Fraction(1, 2))]
    assert total_cost(few).epsilon == pytest.approx(1.5)
    assert Budget(1.5, 2e-6).allows(few)  # what is stated may use half of the delta
    assert not Budget(1.49, 2e-6).allows(few)
    assert not Budget(1.5, 1e-6).allows(few)
    assert Budget(1.0, 1e-6).allows(few[:1])  # a first session may use all of it
    stated = [Cost(epsilon=1.0, delta=5e-7)] * 2  # an older store may hold what is not admitted
    assert not Budget(2.0, 1e-6).allows(stated)
    assert total_cost(stated, Budget(2.0, 1e-6)).epsilon == 2.0
    assert Budget(0.3).allows([Cost.of_pure(Fraction(1, 10))] * 3)
    assert not Budget(0.3).allows([replace(Cost.of_pure(Fraction(1, 10)), delta=1e-9)] * 4)


def test_a_session_that_was_interrupted_while_it_started_stays_spent(path, graph, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner.Runner, "start", broken)
    with pytest.raises(KeyboardInterrupt):
        session_of(graph, store=gc.Store(path, budget=(45.0, 0.1)), **GAUSSIAN)
    monkeypatch.undo()
    with open_session(graph, store=path) as session:
        assert session.status.state == "failed"
        with pytest.raises(BudgetError, match="another under a new name"):
            session.ask([1])
    with pytest.raises(BudgetError, match="does not allow"):
        session_of(graph, store=path, name="two", **GAUSSIAN)


def test_exports_hold_nothing_secret(path, graph):
    with session_of(graph, store=path, **WEIGHTS) as session:
        session.ask([1, 2])
        session.ask([3], [4, 5])
        exported = session.export()
        text = json.dumps(exported, allow_nan=False)
        header, state = session._ledger.header, session._ledger.state(1)
    for secret in (header["salt"], *header["data"].values(), state.secret.hex(), "nonce", "secret"):
        assert secret not in text
    assert '"noise"' not in text
    assert exported["answers"][0]["S"] == [1, 2]
    assert exported["answers"][1]["S"] == [3]
    assert exported["answers"][1]["T"] == [4, 5]
    assert exported["sessions"][0]["guarantee"]["epsilon"] == 40.0
    assert str(len(graph.rows)) not in repr(session) + str(session)


def test_a_graph_in_a_file_and_a_store_behind_a_link(tmp_path, graph):
    (tmp_path / "folder").mkdir()
    link, real = tmp_path / "link.db", tmp_path / "folder" / "real.db"
    link.symlink_to(real)
    source = tmp_path / "mail.edges"
    graph.write(source)
    with session_of(source, store=link, **GAUSSIAN) as session:  # a path is read
        assert session._terms.source == {"path": str(source.resolve())}
        answer = session.ask([1])
    with open_session(graph, store=real) as session:
        assert session.ask([1]) == answer
    assert [file.name for file in real.parent.iterdir()] == ["real.db"]


def test_eight_threads_on_one_session_and_on_one_store(path, graph):
    def work(number):
        asked = [*range(6), *range(100 * (number + 1), 100 * (number + 1) + 4)]
        own = nullcontext(shared) if number % 2 else open_session(graph, store=path)
        with own as session:
            return [session.ask(workers.query(i).S, workers.query(i).T) for i in asked]

    with session_of(graph, store=path, **GAUSSIAN) as shared:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(work, range(8)))
        assert all(answers[:6] == found[0][:6] for answers in found)
        assert len(shared.history) == 6 + 8 * 4
        assert shared.remaining.queries == 500 - 38
        assert shared.status.interruptions == 0


def communities():
    """256 vertices in 16 groups, all pairs of some groups joined; queries that find them."""
    rng = np.random.default_rng(0)
    group = np.arange(256) // 16
    joined = np.triu(rng.random((16, 16)) < 0.5)
    joined |= joined.T
    graph = gc.Graph(*np.nonzero(np.triu(joined[group][:, group], 1)), vertices=256)
    halves = [gc.CutQuery(np.isin(group, rng.permutation(16)[:8])) for _ in range(60)]
    pairs = [gc.CutQuery(group == i, group == j) for i in range(16) for j in range(i)]
    return graph, halves + pairs


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("method", LEARNING)
def test_corrections_are_made_again_when_a_session_is_opened(path, method, monkeypatch):
    monkeypatch.setattr(runner, "_MOST_CORRECTIONS", 8)
    graph, queries = communities()
    options = {"epsilon": 50.0, "delta": 0.5, "queries": 2000, "method": method}
    with (
        session_of(graph, store=path, **options) as first,
        open_session(graph, store=path) as second,
    ):
        for start in range(0, len(queries), 10):
            # Turns: each must take over what the other one has learnt.
            session = first if start % 20 else second
            session.ask_all(queries[start : start + 10])
        assert first.status.corrections > 16
        totals = first._runner.totals
        assert len(totals.corrections) < first.status.corrections  # thanks to snapshots
        with first._ledger.locked():
            learnt = first._runner.mechanism.hypothesis_bytes(first._runner.current_state())
        with second._ledger.locked():
            assert (
                second._runner.mechanism.hypothesis_bytes(second._runner.current_state()) == learnt
            )
    with open_session(graph, store=path) as session:
        assert session._runner.mechanism.hypothesis_bytes(session._runner.current_state()) == learnt
        assert session.status.interruptions == 0


@given(
    st.floats(-1e6, 1e6),
    st.floats(0, 1e6),
    st.one_of(st.just(np.inf), st.floats(0, 1e6)),
    st.data(),
)
def test_a_cut_interval_holds_every_possible_truth_that_it_held(middle, radius, most, data):
    truth = data.draw(st.floats(0, min(most, 1e6)))
    low, high = possible_part((middle - radius, middle + radius), most)
    assert 0 <= low <= high <= most
    if middle - radius <= truth <= middle + radius:
        assert low <= truth <= high


@given(st.floats(1e-3, 1e6), st.integers(0, 10**6))
def test_the_most_that_pairs_can_weigh_is_never_rounded_down(cap, pairs):
    most = Fraction(most_weight(pairs, cap))
    assert Fraction(cap) * pairs <= most <= Fraction(cap) * pairs * (1 + Fraction(1, 2**51))
