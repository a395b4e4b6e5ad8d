"""Fresh noise on every answer, and randomised response, behind the same contract; the grid."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from online_cases import METHODS, from_store, two_communities

from graphcuts_dp import (
    Answer,
    BipartiteGraph,
    CutQuery,
    ExhaustedError,
    FileFormatError,
    Graph,
    ParameterError,
    QueryError,
)
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.session.base import Update
from graphcuts_dp.session.plain import BinaryAnswers
from graphcuts_dp.session.runner import read_state, stored_state
from graphcuts_dp.session.terms import SessionTerms

GRAPH = two_communities(24, 3)


def made(method, graph=GRAPH, **numbers):
    given = {"epsilon": 2.0, "delta": 1e-6, "queries": 6, **numbers}
    return SessionTerms.of(method=method, **given).mechanism(Universe.of(graph), Grid.of(graph))


def random_query(rng, n=24):
    return CutQuery(rng.random(n) < 0.5, rng.random(n) < 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_sessions_of_every_method_keep_their_intervals_and_end(method):
    rng = np.random.default_rng(1)
    mechanism, source = made(method), SystemEntropy()
    state = mechanism.start(GRAPH, source)
    for left in reversed(range(6)):
        query = random_query(rng)
        truth = mechanism.grid.count(query, GRAPH) if mechanism.needs_truth else None
        state, answer = mechanism.step(state, query, truth, source)
        low, high = answer.interval
        slack = 2 * (high - low)  # five radii: missed once in 10^9; that intervals hold: elsewhere
        assert low - slack <= query.value(GRAPH) <= high + slack
        assert low <= answer.value <= high
        assert (answer.queries_left, answer.confidence, answer.seeded) == (
            left,
            DEFAULT_CONFIDENCE,
            False,
        )
        copy = from_store(mechanism, state)
        assert stored_state(mechanism, copy) == stored_state(mechanism, state)
        assert mechanism.hypothesis_bytes(copy) == mechanism.hypothesis_bytes(state)
    assert (state.queries, state.stopped) == (6, True)
    with pytest.raises(ExhaustedError):
        mechanism.step(state, query, truth, source)
    pure, guarantee = method in ("laplace", "binary"), mechanism.guarantee()
    assert (guarantee.epsilon, guarantee.delta) == (2.0, 0 if pure else 1e-6)
    assert (mechanism.cost.epsilon, mechanism.cost.pure) == (2.0, 2 if pure else None)
    assert mechanism.cost.rho is not None
    with pytest.raises(QueryError):
        mechanism.unguaranteed(state, CutQuery(["nobody"]))


def test_noise_pays_for_what_is_claimed():
    weights = Graph([0, 1], [1, 2], [0.5, 3.0], vertices=3, max_weight=3.0)
    for graph in (GRAPH, weights):
        laplace = made("laplace", graph, epsilon=0.7, queries=7)
        assert laplace.noise.distribution == "laplace"
        assert laplace.noise.parameter * laplace.grid.sensitivity * 7 == Fraction(0.7)
    gaussian = made("gaussian")
    rho = Fraction(6) / (2 * gaussian.noise.parameter)
    assert rho <= Fraction(gaussian.cost.rho) <= rho * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("method", ["gaussian", "laplace"])
def test_an_interrupted_answer_counts_as_given(method):
    mechanism, source = made(method, queries=2), SystemEntropy()
    state = mechanism.start(GRAPH, source)
    query = CutQuery([0])
    after, _ = mechanism.step(state, query, 3, source)
    lost = mechanism.after_interruption(state, source)
    assert lost.queries >= after.queries
    assert mechanism.after_interruption(lost, source).stopped
    assert (
        mechanism.after_interruption(mechanism.after_interruption(lost, source), source).queries
        == 2
    )
    assert from_store(mechanism, lost, lost=True).queries == 1
    with pytest.raises(FileFormatError, match="other parameters"):
        read_state(replace(mechanism, epsilon=1.0), stored_state(mechanism, lost))
    with pytest.raises(ParameterError, match="true answer"):
        mechanism.step(state, query, None, source)
    assert mechanism.step(state, CutQuery([0], [0]), None, source)[1].confidence == 1
    with pytest.raises(ExhaustedError, match="nothing"):
        mechanism.unguaranteed(state, query)


def test_response_reads_the_graph_once_and_survives_without_it():
    mechanism = made("binary", queries=2)
    assert not mechanism.needs_truth
    state = mechanism.start(GRAPH, SeededEntropy(1))
    query = CutQuery(range(12))
    after, answer = mechanism.step(state, query, None, None)
    assert answer.seeded
    assert mechanism.after_interruption(state, None) is state
    copy = from_store(mechanism, state, lost=True)
    assert mechanism.step(copy, query, None, None)[1] == answer
    data = mechanism.hypothesis_bytes(state)
    assert mechanism.hypothesis_bytes(after) == data
    for damaged in (b"", data[: len(data) // 2]):
        with pytest.raises(FileFormatError):
            from_store(mechanism, state, learnt=damaged)
    last, _ = mechanism.step(after, query, None, None)
    free = mechanism.unguaranteed(last, query)
    assert (free.value, free.guaranteed, free.queries_left) == (answer.value, True, 0)


def test_adaptive_intervals_are_wider():
    query = CutQuery(range(12))
    halves = {}
    for adaptive in (True, False):
        mechanism = replace(made("binary"), adaptive=adaptive)
        _, answer = mechanism.step(mechanism.start(GRAPH, SeededEntropy(1)), query, None, None)
        halves[adaptive] = answer.interval[1] - answer.value
    assert halves[False] < halves[True]
    assert not mechanism.unguaranteed(mechanism.start(GRAPH, SeededEntropy(1)), query).guaranteed


@pytest.mark.parametrize("method", METHODS)
def test_a_graph_of_other_vertices_or_weights_is_refused_before_noise_is_drawn(method):
    more = Graph(GRAPH.rows, GRAPH.columns, vertices=25)
    ones = np.ones(len(GRAPH.rows))
    heavy = Graph(GRAPH.rows, GRAPH.columns, 9 * ones, vertices=24, max_weight=9.0)
    for other in (more, heavy, BipartiteGraph([0], [1], left=24, right=24)):
        with pytest.raises(ParameterError, match="other vertices or weights"):
            made(method).start(other, None)


def test_grids_count_in_steps_and_never_raise_the_sensitivity():
    assert Grid.of(GRAPH) == Grid()
    rng = np.random.default_rng(0)
    rows, columns = np.triu_indices(8, 1)
    weights = rng.uniform(0.1, 1.7, len(rows))
    graph = Graph(rows, columns, weights, vertices=8, max_weight=1.7)
    grid = Grid.of(graph)
    assert grid.weighted
    assert 1.7 <= grid.unit * grid.sensitivity <= 1.7 * (1 + 2**-29)
    heavier = weights.copy()
    heavier[5] = 1.7
    other = Graph(rows, columns, heavier, vertices=8, max_weight=1.7)
    for _ in range(50):
        query = random_query(rng, 8)
        low, value = grid.count(query, graph) * grid.unit, query.value(graph)
        assert low <= value * (1 + 1e-12) <= (low + grid.rounding(28)) * (1 + 1e-12)
        assert 0 <= grid.count(query, other) - grid.count(query, graph) <= grid.sensitivity
    assert grid.total(graph) == sum(int(w // grid.unit) for w in weights)
    assert (Grid().most(4), grid.most(2), Grid(0.5, 2, None).most(1)) == (4, 3.4, np.inf)


def test_huge_weights_are_counted_exactly():
    graph = Graph([0, 0], [1, 2], [2.0**40, 1.0], vertices=3, max_weight_change=1)
    grid = Grid.of(graph)
    assert grid.count(CutQuery([0]), graph) == 2**70 + 2**30
    assert grid.total(graph) == 2**70 + 2**30


def test_a_union_over_directed_cuts_has_twice_as_many():
    """(S, T) and (T, S) are two cuts: the intervals of plain graphs would fail twice as often."""
    for directed in (False, True):
        universe = Universe(30, directed=directed)
        mechanism = BinaryAnswers(universe=universe, grid=Grid(), epsilon=1.0, queries=1)
        for disjoint, base in ((True, 3), (False, 4)):
            cuts = base**30 if directed else base**30 // 2
            failures = math.log(cuts) - math.log(mechanism.beta)
            least = mechanism.distribution.radius(100, log_failures=failures)
            found = mechanism._radius(100, disjoint=disjoint)
            assert found >= least * (1 - 1e-12)
            assert found <= least * 1.02


def test_answers_say_what_they_guarantee():
    answer = Answer(value=3.04, interval=(-1.0, 7.0), confidence=0.95, seeded=True)
    assert str(answer) == "3.0 in [-1.0, 7.0] (95%, all queries at once) [seeded: not private]"
    assert "no guarantee" in str(replace(answer, guaranteed=False))
    assert not answer.updated
    assert replace(answer, updates=(Update(1),)).updated
