"""Answers of releases to rank-one, matrix and other linear queries: values, laws, intervals."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from group_cases import drawn
from helpers import random_graph

from graphcuts_dp import CutQuery, QueryError, release_graph
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.estimate.least_squares import MatrixEstimator, weighted_radius
from graphcuts_dp.estimate.measurement import Degrees
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.laws import FlippedBit, TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm
from graphcuts_dp.queries.linear import MatrixQuery, RankOneQuery

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
SHAPES = {"plain": 14, "bipartite": (8, 12), "directed": 13}


def graph_of(kind, seed=0, **options):
    options = {"directed": True} | options if kind == "directed" else options
    return random_graph(SHAPES[kind], seed, density=0.4, max_weight_change=None, **options)


def queries_of(graph, seed=1):
    rng = np.random.default_rng(seed)
    rows, columns = graph.shape
    return [
        RankOneQuery(rng.random(rows), rng.random(columns)),
        MatrixQuery(rng.normal(size=(rows, columns))),
        MatrixQuery((rng.random((rows, columns)) < 0.2) * 3.0),
    ]


def made_of(graph, mechanism="randomized-response", seed=0, **options):
    return drawn(graph, None, mechanism, source=SeededEntropy(seed), **options)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("runs", [60, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("mechanism", ["randomized-response", "degrees+randomized-response"])
def test_answers_are_right_on_average_and_intervals_hold(kind, mechanism, runs):
    """The mean of all seeds within 5 standard errors, and at most so many misses of 95 % as chance
    allows but for 1e-9 (binomial). Entries alone are added up."""
    graph = graph_of(kind)
    queries = queries_of(graph)
    truths = np.array([query.value(graph) for query in queries])
    values, missed = [], np.zeros(len(queries), dtype=int)
    for seed in range(runs):
        made = made_of(graph, mechanism, seed)
        answers = made.answer_all(queries)
        values.append([answer.estimate for answer in answers])
        ends = np.array([answer.interval for answer in answers])
        missed += (truths < ends[:, 0]) | (truths > ends[:, 1])
    if mechanism == "randomized-response":
        z = made.noisy.estimate()
        added = [query.value_on_matrix(z, graph.space) for query in queries]
        assert values[-1] == pytest.approx(added)
    errors = np.array(values) - truths
    assert (np.abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / math.sqrt(runs)).all()
    assert (missed <= scipy.stats.binom.isf(1e-9, runs, 0.05)).all()


@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace"])
def test_weights_are_answered_with_the_grid_in_the_interval(noise):
    graph = graph_of("bipartite", largest=4.0, max_weight=4.0)
    for seed in range(20):
        made = made_of(graph, "degrees+randomized-response", seed, noise=noise, epsilon=1.0)
        for query in queries_of(graph):
            low, high = made.answer(query, confidence=1 - 1e-9).interval
            assert low <= query.value(graph) <= high


@pytest.mark.parametrize("kind", SHAPES)
def test_the_best_use_of_degrees_is_found(kind):
    """No other shift of a vertex has less variance: the gradient vanishes (of arcs, nearly)."""
    graph = graph_of(kind)
    made = made_of(graph, "degrees+randomized-response", epsilon=3.0)
    estimator = MatrixEstimator(made.measurements, made.noisy)
    degrees = made.measurements.find(Degrees)
    entry, own = made.noisy.distribution.law.variance, degrees.law.variance
    coefficients = np.asarray(queries_of(graph)[1].coefficients(graph.space))
    if kind == "plain":
        coefficients = np.triu(coefficients, 1)

    def variance(k, columns):
        rest = coefficients - estimator._added_shifts(k, columns)
        sums = k @ k + (0 if kind == "plain" else columns @ columns)
        return entry * float((rest**2).sum()) + own * float(sums)

    k, columns = estimator._best_shifts(coefficients, estimator._sums.for_values.degrees)
    best = variance(k, columns)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = 0.05 * rng.normal(size=len(k))
        other = moved if kind == "plain" else 0.05 * rng.normal(size=len(columns))
        assert variance(k + moved, columns + other) > best * (1 if kind != "directed" else 0.999)
    assert best < variance(0 * k, 0 * columns)


def test_levels_lose_little_and_prove_as_much():
    """Against the exact sum of the same noises where each can be a term of its own."""
    rng = np.random.default_rng(0)
    for law in (FlippedBit(1), TwoSidedGeometric(0.5, 1.0)):
        few = rng.integers(1, 100, 500) / 64
        exact = NoiseSum.of([NoiseTerm(law, float(c), 1) for c in few]).radius(math.log(20))
        assert weighted_radius([(law, few)], math.log(20)) == pytest.approx(exact, rel=1e-9)
        many = rng.lognormal(size=20_000)
        normal = 1.96 * math.sqrt(law.variance * float(many @ many))
        assert normal * 0.99 < weighted_radius([(law, many)], math.log(20)) < 1.12 * normal


def test_no_corner_of_a_rank_one_query_passes_the_simultaneous_interval():
    graph = graph_of("plain")
    for seed in range(10):
        made = made_of(graph, "randomized-response", seed)
        noise = made.noisy.estimate() - graph.dense()
        rng = np.random.default_rng(seed)
        for _ in range(10):
            v = (rng.random(14) < 0.5) * 0.9
            u = (noise @ v > 0) * 0.9
            query = RankOneQuery(u, v)
            low, high = made.answer(query, simultaneous=True).interval
            assert low <= query.value(graph) <= high
    with pytest.raises(QueryError, match="proven for cuts and rank-one"):
        made.answer(MatrixQuery(noise), simultaneous=True)


def test_joint_lists_mix_cuts_and_other_queries():
    graph = graph_of("plain")
    made = made_of(graph)
    mixed = [CutQuery([0, 1], [2, 3]), *queries_of(graph)]
    alone, joint = made.answer_all(mixed), made.answer_all(mixed, joint=True)
    for first, second in itertools.zip_longest(alone, joint):
        assert first.value == second.value
        assert second.interval[0] <= first.interval[0] < first.interval[1] <= second.interval[1]
        assert (second.together, second.confidence) == (4, DEFAULT_CONFIDENCE)
    assert alone[0] == made.answer([0, 1], [2, 3])
    with pytest.raises(QueryError, match="shrunk estimates are made of cuts"):
        made.answer(mixed[1], estimate="shrunk")


def test_a_rank_one_query_that_is_a_cut_is_answered_as_that_cut():
    made = made_of(graph_of("plain"), "degrees+randomized-response")
    u, v = np.eye(14)[0], 1 - np.eye(14)[0]
    assert made.answer(RankOneQuery(u, v)) == made.answer([0])


def test_sparse_releases_refuse_other_queries_in_words():
    graph = graph_of("plain")
    made = release_graph(graph, epsilon=1.0, mechanism="sparse", fit="none", seed=1)
    with pytest.raises(QueryError, match="a sparse release answers cut queries"):
        made.answer(queries_of(graph)[0])
