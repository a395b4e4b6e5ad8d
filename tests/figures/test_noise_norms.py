"""Norms of matrices of noise, and what they prove of the pair that is found on one."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.iterative.rank_one import ResponseRankOne, top_pair
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.privacy.distributions import BinaryResponse
from graphcuts_dp.privacy.noise import sample_discrete_gaussian
from scripts.figures.noise_norms import _beta_divergence, response_norm, subgaussian_norm
from scripts.figures.random_graphs import planted_partition


def test_a_pair_is_short_by_at_most_twice_the_norm():
    """80 runs, each short by more with probability 0.2 at most: more than 45 failures have
    probability below 1e-8. And the bound is not vacuous: below the best gap."""
    graph = planted_partition(36, 2, 1.0, 0.0, seed=1)
    universe, truth = Universe.of(graph), graph.dense()
    of = ResponseRankOne(universe=universe, distribution=noise_distribution("binary", epsilon=3.0))
    best = np.linalg.norm(truth, 2)
    bound = 2 * response_norm(of.distribution, 36, failure=0.2)
    source, short = SeededEntropy(6), 0
    for _ in range(80):
        pair = top_pair(of.noisy(graph, source), symmetric=True)
        short += pair.left @ truth @ pair.right < best - bound
    assert scipy.stats.binom.sf(45, 80, 0.2) < 1e-8
    assert short <= 45
    assert bound < 1.6 * best


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 12.0])
def test_the_proxy_of_a_centred_bit(epsilon):
    """Kearns-Saul: E exp(t xi) <= exp(t^2 proxy / 2), and no proxy below the variance would do."""
    distribution = BinaryResponse(Fraction(epsilon), 1.0)
    proxy, q = distribution.unit / (2 * epsilon), distribution.offset
    t = np.linspace(-30, 30, 4001) / distribution.unit
    for p in (q, 1 - q):
        log_mgf = np.logaddexp(
            np.log1p(-p) - t * p * distribution.unit, np.log(p) + t * (1 - p) * distribution.unit
        )
        assert (log_mgf <= t**2 * proxy / 2 + 1e-12).all()
    assert proxy >= distribution.standard_deviation**2


@pytest.mark.parametrize("variance", [0.05, 0.3, 1.0, 20.0])
def test_the_proxy_of_the_discrete_gaussian_distribution(variance):
    k = np.arange(-400, 401)
    log_mass = -(k**2) / (2 * variance)
    for t in np.linspace(-8, 8, 161) / max(1.0, math.sqrt(variance)):
        log_mgf = np.logaddexp.reduce(log_mass + t * k) - np.logaddexp.reduce(log_mass)
        assert log_mgf <= t**2 * variance / 2 + 1e-12


@pytest.mark.parametrize(("a", "start", "b"), [(2.0, 0.5, 1.5), (7.5, 0.5, 3.0), (9.0, 3.0, 3.0)])
def test_the_divergence_of_two_beta_distributions(a, start, b):
    first, second = scipy.stats.beta(a, b), scipy.stats.beta(start, b)
    value, _ = scipy.integrate.quad(
        lambda r: first.pdf(r) * (first.logpdf(r) - second.logpdf(r)), 0, 1
    )
    assert _beta_divergence(a, start, b) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("edges", [0, 3, 6])
def test_exactly_on_four_vertices(epsilon, edges):
    """All 2^6 outcomes with their probabilities: the norm is larger no more often than stated."""
    distribution = BinaryResponse(Fraction(epsilon), 1.0)
    truth = np.arange(6) < edges
    rows, columns = np.triu_indices(4, 1)
    norms, masses = [], []
    for bits in itertools.product((0, 1), repeat=6):
        noise = (np.array(bits) - distribution.offset) * distribution.unit - truth
        matrix = np.zeros((4, 4))
        matrix[rows, columns] = matrix[columns, rows] = noise
        norms.append(np.abs(np.linalg.eigvalsh(matrix)).max())
        flips = int((np.array(bits) != truth).sum())
        masses.append(distribution.offset**flips * (1 - distribution.offset) ** (6 - flips))
    assert sum(masses) == pytest.approx(1)
    for failure in (0.9, 0.3, 0.05, 1e-3):
        bound = response_norm(distribution, 4, failure=failure)
        larger = np.array(norms) > bound
        assert np.array(masses)[larger].sum() <= failure


@pytest.mark.parametrize("noise", ["binary", "discrete-laplace", "laplace", "gaussian"])
def test_seeded_noise_stays_below_and_not_far(noise):
    """60 draws, each above the bound with probability 0.05 at most: more than 20 failures have
    probability below 1e-9. The bound for sub-Gaussian noise is at most 1.7 times the mean norm."""
    source, count, universe = SeededEntropy(1), 60, Universe(40)
    pairs = universe.size
    if noise == "gaussian":
        draws = sample_discrete_gaussian(Fraction(4), pairs * count, source).reshape(count, pairs)
        bound = subgaussian_norm(4.0, 40, failure=0.05)
    else:
        distribution = noise_distribution(noise, epsilon=1.0, max_weight=1.0)
        nothing = np.empty(0), np.empty(0, np.int64)
        draws = [
            distribution.estimate(distribution.respond(pairs, *nothing, source))
            for _ in range(count)
        ]
        bound = response_norm(distribution, 40, failure=0.05)
    norms = [np.linalg.norm(universe.matrix_of(draw * 1.0), 2) for draw in draws]
    assert scipy.stats.binom.sf(20, 60, 0.05) < 1e-9
    assert (np.array(norms) > bound).sum() <= 20
    if noise in ("binary", "gaussian"):
        assert bound < 1.7 * np.mean(norms)


def test_the_constant_for_large_matrices():
    """2.22 sqrt(n proxy), and 2.31 sqrt(n) for randomised response at epsilon = 1."""
    n = 10**6
    gaussian = subgaussian_norm(1.0, n, failure=1e-6) / math.sqrt(n)
    assert 2.0 < gaussian < 2.22
    distribution = noise_distribution("binary", epsilon=1.0)
    of_bits = response_norm(distribution, n, failure=1e-6) / math.sqrt(n)
    assert 1.92 < of_bits < 2.31


def test_one_vertex_has_no_noise():
    assert subgaussian_norm(1.0, 1, failure=0.5) == 0
    assert response_norm(noise_distribution("binary", epsilon=1.0), 1, failure=0.5) == 0
