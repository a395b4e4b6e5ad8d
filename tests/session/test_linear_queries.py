"""Rank-one, matrix and other linear queries in sessions: counts, noise, intervals, records."""

import hashlib
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers import random_graph
from online_cases import KINDS, Weighed, graph_of, linear_queries

import graphcuts_dp as gc
from graphcuts_dp import PrivacyUnit
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.queries.coefficients import CoefficientGrid, Extent
from graphcuts_dp.queries.mixed_cuts import MixedCut, with_sides
from graphcuts_dp.queries.query_lines import query_to_dict, read_question
from graphcuts_dp.session.counts import EdgeCounter, linear_count
from graphcuts_dp.session.plain import PerQueryNoise
from graphcuts_dp.session.queries import decode_query, encode_query
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import SessionTerms

pytestmark = pytest.mark.usefixtures("no_forecast")


def opened(graph, path, method, **options):
    terms = {"epsilon": 1.0, "delta": 1e-6 if method == "gaussian" else 0.0, "queries": 20}
    return session_of(graph, store=path, method=method, **terms | {"seed": 5} | options)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_exact_whatever_the_size_of_the_numbers(kind):
    """In fractions: each coefficient in its steps, times each weight in its steps."""
    graph = graph_of(kind)
    grid = Grid.of(graph)
    for query in linear_queries(graph):
        extent = Extent.of(query, graph.space)
        steps = CoefficientGrid(extent)
        found = query.coefficients_at(graph.rows, graph.columns, graph.space)
        expected = sum(
            round(Fraction(float(c)) / Fraction(steps.unit)) * math.floor(w / grid.unit)
            for c, w in zip(found, graph.weights, strict=True)
        )
        assert linear_count(query, graph, grid) == expected
        assert EdgeCounter(graph, grid).counts([gc.CutQuery([0]), query])[1] == expected
        # One pair at the cap moves a count by no more than the noise is made for.
        assert (
            abs(steps.grid_units(np.array([extent.largest, -extent.largest]))).max()
            == steps.max_units
        )


@pytest.mark.parametrize("method", ["laplace", "gaussian"])
def test_noise_is_that_of_a_cut_times_the_largest_coefficient(method):
    made = SessionTerms.of(
        method=method,
        epsilon=0.7,
        queries=5,
        delta=1e-6 if method == "gaussian" else 0.0,
        privacy_unit=PrivacyUnit.edge(3),
    ).mechanism(Universe(9), Grid())
    assert isinstance(made, PerQueryNoise)
    most, power = CoefficientGrid.max_units, 1 if method == "laplace" else -2
    assert made.linear_noise.parameter * Fraction(most) ** power == made.noise.parameter
    cut = made.noise.cost(made.grid.sensitivity * made.steps, delta=made.delta)
    linear = made.linear_noise.cost(most * made.grid.sensitivity * made.steps, delta=made.delta)
    assert cut == linear


@pytest.mark.parametrize("kind", KINDS)
def test_every_query_has_one_form_that_is_read_back(kind):
    graph = graph_of(kind)
    universe = Universe.of(graph)
    for query in linear_queries(graph):
        coded = encode_query(query, universe)
        kept = {coded.digest: coded.data}
        kept |= {hashlib.sha256(part).digest(): part for part in coded.long_parts}
        again = decode_query(coded.data, universe, kept.__getitem__)
        expected = query.coefficients(universe.space)
        assert np.array_equal(again.coefficients(universe.space), expected)
        assert encode_query(again, universe).digest == coded.digest
        line = json.dumps(query_to_dict(query, universe))
        typed = read_question(line, 1, universe.space)
        assert np.array_equal(typed.coefficients(universe.space), expected)


def test_the_two_ends_of_a_plain_rank_one_query_can_be_exchanged():
    universe, rng = Universe(6), np.random.default_rng(0)
    u, v = rng.random((2, 6))
    first, second = (encode_query(gc.Query.rank_one(*x), universe) for x in ((u, v), (v, u)))
    assert first.digest == second.digest
    cut = encode_query(gc.Query.rank_one([1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]), universe)
    assert cut.digest == encode_query(gc.CutQuery([0, 1], [2]), universe).digest


def test_an_answer_on_the_record_is_free_in_whatever_form_it_is_asked(tmp_path):
    graph = graph_of("plain")
    entries = gc.Query.matrix(Weighed().coefficients(graph.space))
    half = gc.Query.matrix(Weighed().coefficients(graph.space) / 2)
    with opened(graph, tmp_path / "s.db", "laplace") as session:
        first = session.ask(Weighed())
        assert session.cost([half]).free == 1
        for nothing in (gc.Query.rank_one(np.zeros(14), np.ones(14)), gc.Query.matrix(np.eye(14))):
            assert session.ask(nothing).interval == (0.0, 0.0)  # and certain
    with gc.open_session(graph, store=tmp_path / "s.db") as session:
        assert session.ask(half) == first
        assert session.cost([entries]).new == 1  # a pair counts both of its entries
        assert session.remaining.queries == 19
        assert np.array_equal(
            session.history[0].query.coefficients(graph.space), Weighed().coefficients(graph.space)
        )
        assert session.export()["answers"][0]["entries"]


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("shape", [10, (6, 8)])
@pytest.mark.parametrize("overlapping", [False, True])
def test_binary_answers_of_rank_one_queries_are_as_far_off_as_proven(shape, overlapping):
    """All corners of a rank-one query are cuts; the bound is the worst of all drawn ones."""
    graph = random_graph(shape, 1)
    universe = Universe.of(graph)
    made = SessionTerms.of(method="binary", epsilon=0.5, queries=10**6).mechanism(universe, Grid())
    truth = graph.dense() if isinstance(shape, int) else graph.biadjacency.toarray()
    rng = np.random.default_rng(3)
    worst = 0.0
    for seed in range(20):
        state = made.start(graph, SeededEntropy(seed))
        noise = state.matrix.estimate() - truth
        for _ in range(20):
            v = (rng.random(universe.shape[1]) < 0.5).astype(float)
            u = (noise @ v > 0).astype(float)  # the worst u of this v
            if not overlapping and not universe.bipartite:
                u *= 1 - v
            query = gc.Query.rank_one(0.9 * u, 0.9 * v)
            _, answer = made.step(state, query, None, SeededEntropy(0))
            low, high = answer.interval
            assert low <= query.value(graph) <= high
            assert answer.value == pytest.approx(float(0.81 * u @ state.matrix.estimate() @ v))
            if high > low:
                worst = max(worst, abs(answer.value - query.value(graph)) / (high - low) * 2)
    assert worst > 0.2  # the interval is no formality


def test_a_set_that_mixes_both_sides_counts_each_edge_once(tmp_path):
    users, films = ["ann", "bob", "cy"], ["up", "heat", "ran"]
    graph = gc.BipartiteGraph.of(
        [("ann", "up"), ("ann", "heat"), ("bob", "ran"), ("cy", "heat")], vertices=(users, films)
    )
    plain = gc.Graph(graph.rows, graph.columns + 3, vertices=6)
    names = users + films
    with opened(graph, tmp_path / "s.db", "laplace", epsilon=50, queries=1) as session:
        answer = session.ask(["ann", "up"], ["cy", "heat"])
        expected = gc.CutQuery([0, 3], [2, 4]).value(plain)
        assert answer.value == pytest.approx(expected, abs=0.5)
    for S, T in ((["ann", "up"], None), (["ann", "heat"], ["ann", "heat"]), (["up"], ["bob"])):
        asked = gc.CutQuery(S, T)
        mixed = with_sides(asked, graph.space)
        assert isinstance(mixed, MixedCut)
        where = [[names.index(label) for label in each] if each else None for each in (S, T)]
        assert mixed.value(graph) == gc.CutQuery(*where).value(plain)
