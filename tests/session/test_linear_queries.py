"""Counts, noise, intervals and records of linear queries other than cuts in sessions."""

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers import random_graph
from online_cases import KINDS, Weighed, graph_of, linear_queries

import graphcuts_dp as gc
from graphcuts_dp import Graph, PrivacyUnit
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


def begin_session(graph: Graph, path: Path, method: str, **options) -> gc.Session:
    """Begin a seeded session of 20 queries with epsilon = 1, unless options say otherwise."""
    terms = {"epsilon": 1.0, "delta": 1e-6 if method == "gaussian" else 0.0, "queries": 20}
    return session_of(graph, store=path, method=method, **terms | {"seed": 5} | options)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_linear_queries_are_exact(kind):
    """Floats would round sums of large products; the expected sum is one of integers."""
    graph = graph_of(kind)
    weight_grid = Grid.of(graph)
    for query in linear_queries(graph):
        coefficient_grid = CoefficientGrid(Extent.of(query, graph.space))
        coefficients = query.coefficients_at(graph.rows, graph.columns, graph.space)
        expected = sum(
            round(Fraction(float(coefficient)) / Fraction(coefficient_grid.unit))
            * math.floor(weight / weight_grid.unit)
            for coefficient, weight in zip(coefficients, graph.weights, strict=True)
        )
        assert linear_count(query, graph, weight_grid) == expected
        counter = EdgeCounter(graph, weight_grid)
        assert counter.counts([gc.CutQuery([0]), query])[1] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_coefficient_is_the_largest_number_of_grid_units(kind):
    """One edge of maximum weight then changes a count by the sensitivity of the noise at most."""
    graph = graph_of(kind)
    for query in linear_queries(graph):
        extent = Extent.of(query, graph.space)
        grid = CoefficientGrid(extent)
        extremes = grid.grid_units(np.array([extent.largest, -extent.largest]))
        assert abs(extremes).max() == grid.max_units


@pytest.mark.parametrize("method", ["laplace", "gaussian"])
def test_noise_is_that_of_a_cut_times_the_largest_coefficient(method):
    mechanism = SessionTerms.of(
        method=method,
        epsilon=0.7,
        queries=5,
        delta=1e-6 if method == "gaussian" else 0.0,
        privacy_unit=PrivacyUnit.edge(3),
    ).mechanism(Universe(9), Grid())
    assert isinstance(mechanism, PerQueryNoise)
    max_units = CoefficientGrid.max_units
    # The parameter of Laplace noise is a rate, 1/scale; that of Gaussian noise is a variance.
    power = 1 if method == "laplace" else -2
    noise, linear_noise = mechanism.noise, mechanism.linear_noise
    assert linear_noise.parameter * Fraction(max_units) ** power == noise.parameter
    sensitivity = mechanism.grid.sensitivity * mechanism.steps
    cost_of_cut = noise.cost(sensitivity, delta=mechanism.delta)
    assert linear_noise.cost(max_units * sensitivity, delta=mechanism.delta) == cost_of_cut


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_is_read_back_from_a_store_and_from_a_line_of_json(kind):
    graph = graph_of(kind)
    universe = Universe.of(graph)
    for query in linear_queries(graph):
        coefficients = query.coefficients(universe.space)
        encoded = encode_query(query, universe)
        contents = {encoded.digest: encoded.data}
        contents |= {hashlib.sha256(part).digest(): part for part in encoded.long_parts}
        from_store = decode_query(encoded.data, universe, contents.__getitem__)
        assert np.array_equal(from_store.coefficients(universe.space), coefficients)
        assert encode_query(from_store, universe).digest == encoded.digest
        line = json.dumps(query_to_dict(query, universe))
        from_line = read_question(line, 1, universe.space)
        assert np.array_equal(from_line.coefficients(universe.space), coefficients)


def test_an_undirected_rank_one_query_has_one_digest_in_both_orders_of_its_vectors():
    universe, rng = Universe(6), np.random.default_rng(0)
    u, v = rng.random((2, 6))
    in_order = encode_query(gc.Query.rank_one(u, v), universe)
    swapped = encode_query(gc.Query.rank_one(v, u), universe)
    assert in_order.digest == swapped.digest


def test_a_rank_one_query_of_indicators_has_the_digest_of_its_cut():
    universe = Universe(6)
    rank_one = encode_query(gc.Query.rank_one([1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]), universe)
    assert rank_one.digest == encode_query(gc.CutQuery([0, 1], [2]), universe).digest


def test_a_multiple_of_an_answered_query_is_free_in_any_form(tmp_path):
    graph = graph_of("plain")
    coefficients = Weighed().coefficients(graph.space)
    matrix, half = gc.Query.matrix(coefficients), gc.Query.matrix(coefficients / 2)
    with begin_session(graph, tmp_path / "s.db", "laplace") as session:
        first = session.ask(Weighed())
        assert session.cost([half]).free == 1
    with gc.open_session(graph, store=tmp_path / "s.db") as session:
        assert session.ask(half) == first
        assert session.cost([matrix]).new == 1  # an undirected pair counts both of its entries
        assert session.remaining.queries == 19
        assert np.array_equal(session.history[0].query.coefficients(graph.space), coefficients)
        assert session.export()["answers"][0]["entries"]


def test_a_query_without_pairs_is_answered_by_zero_for_free(tmp_path):
    graph = graph_of("plain")
    with begin_session(graph, tmp_path / "s.db", "laplace") as session:
        for empty in (gc.Query.rank_one(np.zeros(14), np.ones(14)), gc.Query.matrix(np.eye(14))):
            assert session.ask(empty).interval == (0.0, 0.0)
        assert session.remaining.queries == 20


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("shape", [10, (6, 8)], ids=["undirected", "bipartite"])
@pytest.mark.parametrize("overlapping", [False, True], ids=["disjoint", "overlapping"])
def test_intervals_of_binary_answers_to_rank_one_queries_hold_and_are_not_too_wide(
    shape, overlapping
):
    """A rank-one query is a convex combination of cuts, so that their worst error bounds its own.

    The queries are chosen with knowledge of the noise.
    """
    graph = random_graph(shape, 1)
    universe = Universe.of(graph)
    mechanism = SessionTerms.of(method="binary", epsilon=0.5, queries=10**6).mechanism(
        universe, Grid()
    )
    weights = graph.dense() if isinstance(shape, int) else graph.biadjacency.toarray()
    rng = np.random.default_rng(3)
    worst_share = 0.0  # of the half-width of the interval
    for seed in range(20):
        state = mechanism.start(graph, SeededEntropy(seed))
        estimate = state.matrix.estimate()
        for _ in range(20):
            v = (rng.random(universe.shape[1]) < 0.5).astype(float)
            u = ((estimate - weights) @ v > 0).astype(float)  # of largest error for this v
            if not overlapping and not universe.bipartite:
                u *= 1 - v
            query = gc.Query.rank_one(0.9 * u, 0.9 * v)
            _, answer = mechanism.step(state, query, None, SeededEntropy(0))
            low, high = answer.interval
            true_value = query.value(graph)
            assert low <= true_value <= high
            assert answer.value == pytest.approx(float(0.81 * u @ estimate @ v))
            if high > low:
                worst_share = max(worst_share, abs(answer.value - true_value) / (high - low) * 2)
    assert worst_share > 0.2


def test_a_cut_of_sets_that_mix_both_sides_counts_each_edge_once(tmp_path):
    """The expected values are those of the same graph as an undirected one."""
    users, films = ["ann", "bob", "cy"], ["up", "heat", "ran"]
    graph = gc.BipartiteGraph.of(
        [("ann", "up"), ("ann", "heat"), ("bob", "ran"), ("cy", "heat")], vertices=(users, films)
    )
    undirected = gc.Graph(graph.rows, graph.columns + 3, vertices=6)
    labels = users + films
    with begin_session(graph, tmp_path / "s.db", "laplace", epsilon=50, queries=1) as session:
        answer = session.ask(["ann", "up"], ["cy", "heat"])
        expected = gc.CutQuery([0, 3], [2, 4]).value(undirected)
        assert answer.value == pytest.approx(expected, abs=0.5)
    for S, T in ((["ann", "up"], None), (["ann", "heat"], ["ann", "heat"]), (["up"], ["bob"])):
        mixed = with_sides(gc.CutQuery(S, T), graph.space)
        assert isinstance(mixed, MixedCut)
        indices = [
            None if vertices is None else [labels.index(label) for label in vertices]
            for vertices in (S, T)
        ]
        assert mixed.value(graph) == gc.CutQuery(*indices).value(undirected)
