"""What can be known without the graph: no answer leaves the possible range, and 0 pairs are 0."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from online_cases import METHODS, community_graph, suits, terms_of, two_communities

import graphcuts_dp as gc
from graphcuts_dp.errors import ExhaustedError
from graphcuts_dp.pairs.universe import Universe, most_weight, possible_part
from graphcuts_dp.session.session import Preview, session_of
from graphcuts_dp.session.terms import SessionTerms

N = 12
CAPS = {"plain": 1.0, "bipartite": 1.0, "capped": 0.3, "uncapped": None}
CASES = [(method, kind) for method in METHODS for kind in CAPS if suits(method, kind)]


@pytest.fixture(autouse=True)
def no_forecast(monkeypatch):
    """Every session here is worthless, and to look for a better one takes longer than the rest."""
    monkeypatch.setattr(SessionTerms, "warning", lambda *_: None)


def made(kind):
    return community_graph(kind, N, CAPS[kind], [CAPS[kind] or 7.0] * 2)


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_no_answer_and_no_interval_leaves_what_the_pairs_can_weigh(tmp_path, method, kind):
    graph, rng = made(kind), np.random.default_rng(2)
    queries = [gc.CutQuery(rng.random(N) < 0.3, rng.random(N) < 0.3) for _ in range(28)]
    queries += [gc.CutQuery([0], [1]), gc.CutQuery(range(N))]
    with session_of(
        graph, store=tmp_path / "s.db", seed=5, **terms_of(method, epsilon=0.5, queries=30)
    ) as session:
        answers = session.ask_all(queries)
        if method not in ("gaussian", "laplace"):
            late = gc.CutQuery([2], [3, 4])
            queries.append(late)
            answers += session.ask_all([late], unguaranteed=True)
    ends = 0
    for query, answer in zip(queries, answers, strict=True):
        pairs = int(query.norm_squared(Universe.of(graph).space))
        most = np.inf if CAPS[kind] is None else CAPS[kind] * pairs * (1 + 1e-15)
        low, high = answer.interval
        assert 0 <= low <= answer.value <= high <= most
        ends += (low == 0) + (high >= most * (1 - 1e-9))
    assert ends > 0  # the noise alone would have left the range
    with gc.open_session(graph, store=tmp_path / "s.db") as session:
        assert session.ask_all(queries) == answers  # as they are on the record


def test_a_pair_is_answered_within_one_edge_where_the_papers_noise_is_millions(tmp_path):
    with session_of(
        two_communities(12, 1),
        store=tmp_path / "s.db",
        method="frieze-kannan",
        calibration="gru12",
        epsilon=1.0,
        delta=1e-6,
        queries=10,
    ) as session:
        assert session.error_bound > 10**5
        assert session.ask([0], [1]).interval == (0.0, 1.0)
        assert session.ask(range(6)).interval == (0.0, 36.0)


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


# Cuts without pairs


def without_pairs(kind):
    nobody, everybody = [], range(N)
    if kind == "bipartite":
        return [(nobody, None), (nobody, nobody), (everybody, nobody), (nobody, [3])]
    return [(nobody, None), (nobody, nobody), (everybody, None), ([3], [3]), ([3], nobody)]


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_a_cut_without_pairs_is_free_and_certain(tmp_path, method, kind, monkeypatch):
    graph = made(kind)
    empty = [gc.CutQuery(*sets) for sets in without_pairs(kind)]
    with session_of(
        graph, store=tmp_path / "s.db", **terms_of(method, epsilon=0.5, queries=2)
    ) as session:
        mechanism = type(session._runner.mechanism)
        with monkeypatch.context() as patched:
            for name in ("check", "step", "unguaranteed"):
                patched.setattr(mechanism, name, None)  # called, it fails
            answers = [session.ask(query.S, query.T) for query in empty]
            answers += session.ask_all(empty)
        for answer in answers:
            assert (answer.value, answer.interval, answer.confidence) == (0.0, (0.0, 0.0), 1.0)
            assert answer.guaranteed
        assert session.remaining.queries == 2
        assert len(session.history) == 0
        assert session.cost(empty).new == 0
        mixed = [empty[0], gc.CutQuery([1], [2]), empty[1]]
        assert session.cost(mixed) == Preview(queries=3, free=2, new=1, left=2)
        found = session.ask_all(mixed)
        assert [answer.confidence for answer in found] == [1.0, 0.95, 1.0]
        assert session.remaining.queries == 1
        session.ask([1], [3])
        with pytest.raises(ExhaustedError):
            session.ask([1], [4])
        assert session.ask_all(empty) == answers[: len(empty)]  # which cost nothing
