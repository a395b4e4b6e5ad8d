"""Answers of releases to rank-one, matrix and other linear queries: values, laws, intervals."""

import math

import numpy as np
import pytest
import scipy.stats
from group_cases import drawn
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.estimate.least_squares import MatrixEstimator, weighted_radius
from graphcuts_dp.estimate.measurement import Degrees
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.laws import FlippedBit, TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

SHAPES = {"plain": 14, "bipartite": (8, 12), "directed": 13}
KINDS = pytest.mark.parametrize("kind", SHAPES)


def graph_of(kind, **options):
    return random_graph(
        SHAPES[kind], density=0.4, max_weight_change=None, directed=kind == "directed", **options
    )


def linear_queries(graph):
    """Return a rank-one query, one of a dense matrix and one of a sparse matrix."""
    rng = np.random.default_rng(1)
    rows, columns = graph.shape
    return [
        gc.Query.rank_one(rng.random(rows), rng.random(columns)),
        gc.Query.matrix(rng.normal(size=(rows, columns))),
        gc.Query.matrix((rng.random((rows, columns)) < 0.2) * 3.0),
    ]


def released(graph, mechanism="randomized-response", seed=0, **options):
    return drawn(graph, None, mechanism, source=SeededEntropy(seed), **options)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("runs", [60, pytest.param(150, marks=pytest.mark.slow)])
@KINDS
@pytest.mark.parametrize("mechanism", ["randomized-response", "degrees+randomized-response"])
def test_answers_are_unbiased_and_intervals_hold(kind, mechanism, runs):
    """Means lie within 5 standard errors; the number of misses has a probability above 1e-9."""
    graph = graph_of(kind)
    queries = linear_queries(graph)
    truths = np.array([query.value(graph) for query in queries])
    estimates, misses = [], np.zeros(len(queries), dtype=int)
    for seed in range(runs):
        answers = released(graph, mechanism, seed).answer_all(queries)
        estimates.append([answer.estimate for answer in answers])
        low, high = np.array([answer.interval for answer in answers]).T
        misses += (truths < low) | (truths > high)
    errors = np.array(estimates) - truths
    assert (np.abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / math.sqrt(runs)).all()
    assert (misses <= scipy.stats.binom.isf(1e-9, runs, 0.05)).all()


@KINDS
def test_without_degrees_an_estimate_is_the_sum_of_noisy_entries(kind):
    graph = graph_of(kind)
    release = released(graph)
    noisy_entries = release.noisy.estimate()
    queries = linear_queries(graph)
    estimates = [answer.estimate for answer in release.answer_all(queries)]
    expected = [query.value_on_matrix(noisy_entries, graph.space) for query in queries]
    assert estimates == pytest.approx(expected)


@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace"])
def test_intervals_of_weights_include_the_rounding_to_grid_units(noise):
    graph = graph_of("bipartite", largest=4.0, max_weight=4.0)
    for seed in range(20):
        release = released(graph, "degrees+randomized-response", seed, noise=noise, epsilon=1.0)
        for query in linear_queries(graph):
            low, high = release.answer(query, confidence=1 - 1e-9).interval
            assert low <= query.value(graph) <= high


@KINDS
def test_noisy_degrees_are_used_with_the_least_variance(kind):
    """The estimate moves the coefficients of each vertex; no small change of the shifts is better.

    The shifts of directed graphs are approximate, by up to 0.1 % of the variance.
    """
    graph = graph_of(kind)
    release = released(graph, "degrees+randomized-response", epsilon=3.0)
    estimator = MatrixEstimator(release.measurements, release.noisy)
    entry_variance = release.noisy.distribution.law.variance
    degree_variance = release.measurements.find(Degrees).law.variance
    coefficients = np.asarray(linear_queries(graph)[1].coefficients(graph.space))
    if kind == "plain":
        coefficients = np.triu(coefficients, 1)

    def variance(row_shifts, column_shifts):
        remaining = coefficients - estimator._added_shifts(row_shifts, column_shifts)
        squared_shifts = row_shifts @ row_shifts
        if kind != "plain":  # rows and columns have one shift if undirected
            squared_shifts += column_shifts @ column_shifts
        entries_part = entry_variance * float((remaining**2).sum())
        return entries_part + degree_variance * float(squared_shifts)

    row_shifts, column_shifts = estimator._best_shifts(
        coefficients, estimator._sums.for_values.degrees
    )
    least_variance = variance(row_shifts, column_shifts)
    tolerance = 0.999 if kind == "directed" else 1
    rng = np.random.default_rng(0)
    for _ in range(20):
        row_change = 0.05 * rng.normal(size=len(row_shifts))
        column_change = (
            row_change if kind == "plain" else 0.05 * rng.normal(size=len(column_shifts))
        )
        changed = variance(row_shifts + row_change, column_shifts + column_change)
        assert changed > least_variance * tolerance
    assert least_variance < variance(0 * row_shifts, 0 * column_shifts)


LAWS = pytest.mark.parametrize("law", [FlippedBit(1), TwoSidedGeometric(0.5, 1.0)])


@LAWS
def test_the_radius_of_few_weighted_noises_is_that_of_their_exact_sum(law):
    weights = np.random.default_rng(0).integers(1, 100, 500) / 64
    exact = NoiseSum.of([NoiseTerm(law, float(weight), 1) for weight in weights])
    radius = weighted_radius([(law, weights)], math.log(20))
    assert radius == pytest.approx(exact.radius(math.log(20)), rel=1e-9)


@LAWS
def test_the_radius_of_many_weighted_noises_exceeds_the_normal_one_by_an_eighth_at_most(law):
    """Their weights are rounded up to a few levels."""
    weights = np.random.default_rng(0).lognormal(size=20_000)
    normal_radius = 1.96 * math.sqrt(law.variance * float(weights @ weights))
    radius = weighted_radius([(law, weights)], math.log(20))
    assert normal_radius * 0.99 < radius < 1.12 * normal_radius


def test_rank_one_queries_chosen_after_looking_at_the_noise_are_within_simultaneous_intervals():
    """u is chosen to make the error largest for a random v."""
    graph = graph_of("plain")
    for seed in range(10):
        release = released(graph, seed=seed)
        errors = release.noisy.estimate() - graph.dense()
        rng = np.random.default_rng(seed)
        for _ in range(10):
            v = (rng.random(14) < 0.5) * 0.9
            query = gc.Query.rank_one((errors @ v > 0) * 0.9, v)
            low, high = release.answer(query, simultaneous=True).interval
            assert low <= query.value(graph) <= high


def test_matrix_queries_have_no_simultaneous_intervals():
    graph = graph_of("plain")
    _, matrix_query, _ = linear_queries(graph)
    with pytest.raises(gc.QueryError, match="proven for cuts and rank-one"):
        released(graph).answer(matrix_query, simultaneous=True)


def test_joint_lists_may_mix_cuts_and_other_queries():
    graph = graph_of("plain")
    release = released(graph)
    queries = [gc.CutQuery([0, 1], [2, 3]), *linear_queries(graph)]
    separate, joint = release.answer_all(queries), release.answer_all(queries, joint=True)
    for of_separate, of_joint in zip(separate, joint, strict=True):
        assert of_separate.value == of_joint.value
        low, high = of_separate.interval
        joint_low, joint_high = of_joint.interval
        assert joint_low <= low < high <= joint_high
        assert (of_joint.together, of_joint.confidence) == (4, DEFAULT_CONFIDENCE)
    assert separate[0] == release.answer([0, 1], [2, 3])


def test_shrunk_estimates_are_only_for_cuts():
    graph = graph_of("plain")
    with pytest.raises(gc.QueryError, match="shrunk estimates are made of cuts"):
        released(graph).answer(linear_queries(graph)[0], estimate="shrunk")


def test_a_rank_one_query_that_is_a_cut_is_answered_as_that_cut():
    release = released(graph_of("plain"), "degrees+randomized-response")
    indicator = np.eye(14)[0]
    assert release.answer(gc.Query.rank_one(indicator, 1 - indicator)) == release.answer([0])


def test_sparse_releases_refuse_other_queries_than_cuts():
    graph = graph_of("plain")
    release = gc.release_graph(graph, epsilon=1.0, mechanism="sparse", fit="none", seed=1)
    with pytest.raises(gc.QueryError, match="a sparse release answers cut queries"):
        release.answer(linear_queries(graph)[0])
