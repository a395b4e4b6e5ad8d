"""The Johnson-Lindenstrauss transform as a contender: its proof, its law, its cuts."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy
from contender_runs import run
from helpers import random_graph

from graphcuts_dp import BudgetError, Graph, ParameterError
from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import johnson_lindenstrauss as transform
from scripts.benchmark.contenders.johnson_lindenstrauss import (
    EDGE_VARIANCE,
    JOHNSON_LINDENSTRAUSS,
    ProjectionNoise,
    log_delta,
    projection_noise,
)

GRAPH = random_graph(12, 3)
ADJACENCY = GRAPH.dense()


def gaussian_delta(epsilon, rows, change):
    """Of real Gaussians, exactly: the larger of both directions of chi-square with 1 and 1 + t."""
    law = scipy.stats.chi2(rows)
    grown, scale = rows / 2 * math.log1p(change), 2 * (1 + change) / change
    added = (epsilon + grown) * scale
    removed = max(0.0, (grown - epsilon) * scale)
    return max(
        law.sf(added / (1 + change)) - math.exp(epsilon) * law.sf(added),
        law.cdf(removed) - math.exp(epsilon) * law.cdf(removed / (1 + change)),
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("rows", [1, 7, 256])
@pytest.mark.parametrize("change", [1e-3, 0.05, 0.5])
def test_the_proven_delta_is_above_the_exact_one_of_gaussians(epsilon, rows, change):
    found = math.exp(log_delta(epsilon, rows=rows, change=change))
    assert gaussian_delta(epsilon, rows, change) <= found


@pytest.mark.thorough(cases=26)
@pytest.mark.parametrize("rows", [1, 40, 256])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3])
def test_the_noise_keeps_what_was_asked_and_is_near_the_least(rows, epsilon, delta):
    noise = projection_noise(epsilon=epsilon, delta=delta, rows=rows)
    assert noise.cost(Fraction(epsilon)).delta <= delta
    assert noise.change <= 0.5
    if noise.change < 0.49:
        # A third of it would be too little even for real Gaussians.
        assert gaussian_delta(epsilon, rows, 3 * noise.change) > delta


def likelihood_ratio(change, vertex, difference):
    """P'/P of one row, as `log_delta`'s proof has it."""
    power = change / (1 + change) * difference**2 / (4 * vertex)
    return np.exp(power) / math.sqrt(1 + change)


def on_grid(variance, most):
    """The steps from -most to most, and the discrete Gaussian law on them."""
    steps = np.arange(-most, most + 1)
    law = np.exp(-(steps**2) / (2 * variance))
    return steps, law / law.sum()


def test_likelihoods_and_their_moments_on_the_grid_are_those_of_gaussians():
    """Of the proof's first formula, summed over the grid; of the second, in each direction."""
    edge, vertex = 40.0, 160.0
    steps, along = on_grid(edge, 120)
    for x, y in ((0, 0), (5, -3), (20, 14), (-30, 25)):
        other = np.exp(-((x - steps) ** 2 + (y + steps) ** 2) / (2 * vertex))
        ratio = (along * other).sum() / math.exp(-(x**2 + y**2) / (2 * vertex))
        assert ratio == pytest.approx(likelihood_ratio(2 * edge / vertex, vertex, x - y), rel=1e-9)
    vertex, change = 300.0, 0.4
    x, law = on_grid(vertex, 260)
    ratios = likelihood_ratio(change, vertex, x[:, None] - x[None, :])
    for order in (1.5, -2.0):
        stated = -order * math.log1p(change) - math.log1p(-order * change / (1 + change))
        found = math.log((np.outer(law, law) * ratios**order).sum())
        assert found == pytest.approx(stated / 2, abs=1e-6)


def test_columns_have_the_covariance_of_the_laplacian_and_the_weight():
    """For fixed directions, sums of squares over rows are chi-square, but for the grid."""
    noise = ProjectionNoise(rows=4000, vertex_variance=3 * EDGE_VARIANCE)
    columns = transform.projected(GRAPH, noise, SeededEntropy(1))
    assert columns.shape == (12, 4000)
    assert columns.dtype == np.int64
    covariance = np.diag(ADJACENCY.sum(axis=1)) - ADJACENCY + 3 * np.eye(12)
    for direction in np.random.default_rng(0).normal(size=(20, 12)):
        variance = direction @ covariance @ direction * EDGE_VARIANCE
        chance = scipy.stats.chi2.cdf(((direction @ columns) ** 2).sum() / variance, 4000)
        assert 1e-8 < chance < 1 - 1e-8


def test_small_chunks_give_the_same_law(monkeypatch):
    monkeypatch.setattr(transform, "_CHUNK", 100)
    noise = ProjectionNoise(rows=50, vertex_variance=EDGE_VARIANCE)
    columns = transform.projected(GRAPH, noise, SeededEntropy(2))
    total = (columns.sum(axis=0) ** 2).sum() / (12 * EDGE_VARIANCE)  # edges cancel
    assert 1e-8 < scipy.stats.chi2.cdf(total, 50) < 1 - 1e-8


def test_cuts_are_unbiased():
    """Over 20,000 rows in place of 256, a cut errs by sqrt(2/rows) of itself and what is added."""
    noise = ProjectionNoise(rows=20_000, vertex_variance=4 * EDGE_VARIANCE)
    matrix = transform.estimated(transform.projected(GRAPH, noise, SeededEntropy(3)), noise)
    generator = np.random.default_rng(1)
    for _ in range(30):
        side = generator.random(12) < 0.5
        s = side.sum()
        true = ADJACENCY[side][:, ~side].sum()
        spread = math.sqrt(2 / noise.rows) * (true + 4 * s * (12 - s) / 12)
        assert abs(matrix[side][:, ~side].sum() - true) <= 7 * spread


def test_graphs_without_edges_get_noise_too():
    made = run(JOHNSON_LINDENSTRAUSS, Graph([], [], vertices=3))
    assert (made.estimate[np.triu_indices(3, 1)] != 0).all()


def test_what_no_noise_keeps_is_refused_and_noise_that_costs_more_is_not_drawn(monkeypatch):
    """A twin is built with half the variance: what it costs is added up from that."""
    with pytest.raises(ParameterError, match="no noise"):
        run(JOHNSON_LINDENSTRAUSS, GRAPH, 1e-6, delta=1e-300)

    def halved(**asked):
        noise = projection_noise(**asked)
        return replace(noise, vertex_variance=noise.vertex_variance // 2)

    monkeypatch.setattr(transform, "projection_noise", halved)
    monkeypatch.setattr(transform, "projected", None)
    with pytest.raises(BudgetError, match="nothing was released"):
        run(JOHNSON_LINDENSTRAUSS, GRAPH)


def test_rows_follow_the_vertices_within_bounds():
    assert [transform.rows_for(n) for n in (2, 300, 5000)] == [256, 300, 1024]


def test_the_weight_is_far_below_the_papers():
    """With the constants of the paper's algorithm for 256 rows, at epsilon 1 and delta 1e-6."""
    noise = projection_noise(epsilon=1.0, delta=1e-6, rows=256)
    published = math.sqrt(32 * 256 * math.log(2e6)) * math.log(4 * 256 / 1e-6)
    assert 7000 < published < 7300
    assert 116 < noise.weight < 117
