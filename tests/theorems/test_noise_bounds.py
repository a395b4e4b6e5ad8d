"""Tail bounds against exact distributions, and GRU12's bounds with their constants corrected."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.signal
import scipy.stats
from helpers import random_graph
from norm_reference import NOISES, exact_cut_norm, truth_and_noisy

import graphcuts_dp as gc
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.worst_cut_errors import expected_worst_cut
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise

LOG_FAILURES = [1e-3, 0.1, 1.0, 3.0, 10.0, 25.0]


def binary_error(distribution, zeros, ones):
    """Values and exact probabilities of (estimate - truth) for that many zeros and ones."""
    q = 1 / (1 + math.exp(distribution.epsilon))
    up = scipy.stats.binom.pmf(np.arange(zeros + 1), zeros, q)  # zeros that became one
    down = scipy.stats.binom.pmf(np.arange(ones + 1), ones, q)[::-1]  # minus ones that became zero
    mass = np.convolve(up, down)
    bits = np.arange(-ones, zeros + 1)
    # estimate = (ones + bits - pairs q) unit, and unit = 1/(1-2q)
    return (ones + bits - (zeros + ones) * q) / (1 - 2 * q) - ones, mass


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 6.0, 20.0])
@pytest.mark.parametrize("pairs", [1, 2, 7, 40, 300])
def test_binary_radius_covers_the_exact_binomial_tail(epsilon, pairs):
    distribution = BinaryResponse(Fraction(epsilon), 1.0)
    for ones in {0, 1, pairs // 2, pairs}:
        error, mass = binary_error(distribution, pairs - ones, ones)
        assert mass.sum() == pytest.approx(1)
        for log_failures in LOG_FAILURES:
            radius = distribution.radius(pairs, log_failures=log_failures)
            outside = mass[np.abs(error) > radius].sum()
            assert outside <= math.exp(-log_failures)


def laplace_error(distribution, pairs):
    """Exact probabilities of the sum of `pairs` noises, in steps, truncated at mass e^-60."""
    rate = float(distribution.rate)
    reach = int(60 / rate) + 1
    r = math.exp(-rate)
    one = (1 - r) / (1 + r) * r ** np.abs(np.arange(-reach, reach + 1))
    mass = one
    for _ in range(pairs - 1):
        mass = scipy.signal.convolve(mass, one, method="direct")
    half = len(mass) // 2
    return np.arange(-half, half + 1), mass


@pytest.mark.parametrize(
    "distribution",
    [
        LaplaceNoise(Fraction(1), 1.0, 0),
        LaplaceNoise(Fraction(1, 4), 1.0, 0),
        LaplaceNoise(Fraction(4), 1.0, 0),
        LaplaceNoise(Fraction(1), 1.0, -3),
        LaplaceNoise(Fraction(1), 3.0, 0),
    ],
)
@pytest.mark.parametrize("pairs", [1, 2, 5, 12])
def test_laplace_radius_covers_the_exact_convolution(distribution, pairs):
    steps, mass = laplace_error(distribution, pairs)
    assert mass.sum() == pytest.approx(1)
    for log_failures in LOG_FAILURES:
        radius = distribution.radius(pairs, log_failures=log_failures)
        # Rounding down to a fine grid moves the estimate by up to one step for each pair.
        for lost in (0, pairs) if distribution.log2_step < 0 else (0,):
            outside = mass[np.abs(steps - lost) * distribution.unit > radius].sum()
            assert outside <= math.exp(-log_failures)


@pytest.mark.parametrize("pairs", [1, 12, 300])
def test_the_radius_is_not_wasteful(pairs):
    """At most 1.6 times the exact quantile for failure probabilities of 5 % and below."""
    binary = BinaryResponse(Fraction(1), 1.0)
    error, mass = binary_error(binary, pairs, 0)
    laplace = LaplaceNoise(Fraction(1), 1.0, 0)
    steps, other = laplace_error(laplace, min(pairs, 12))
    for distribution, size, values, masses in (
        (binary, pairs, error, mass),
        (laplace, min(pairs, 12), steps, other),
    ):
        for log_failures in (3.0, 10.0):
            order = np.argsort(-np.abs(values))
            tail = np.cumsum(masses[order])
            quantile = np.abs(values)[order][np.searchsorted(tail, math.exp(-log_failures))]
            # One pair of binary noise takes two values only: nothing to compare.
            if size > 1 or distribution is laplace:
                assert distribution.radius(size, log_failures=log_failures) <= 1.6 * quantile + 1


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_exceedances_of_samples(noise, epsilon):
    """20,000 sums each; the count beyond the radius is at most Binomial(20000, p) with false
    alarm 1e-7."""
    distribution = noise_distribution(noise, epsilon=epsilon, max_weight=1.0)
    pairs, sums = 30, 20_000
    noisy = distribution.respond(
        pairs * sums, np.empty(0), np.empty(0, dtype=np.int64), SeededEntropy(1)
    ).reshape(sums, pairs)
    errors = np.abs((noisy - distribution.offset).sum(axis=1) * distribution.unit)
    for log_failures in (0.5, 2.0, 5.0):
        beyond = int((errors > distribution.radius(pairs, log_failures=log_failures)).sum())
        assert beyond <= scipy.stats.binom.isf(1e-7, sums, math.exp(-log_failures))


# GRU12 Lemma 6.1 and Theorem 6.5.


def lemma_6_1(epsilon, universe, log_queries, beta):
    """Error of all queries: sqrt(6 |X| ln(2|Q|/beta))/epsilon; 6 as stated, 12 in its proof."""
    return math.sqrt(6 * universe * (log_queries + math.log(2 / beta))) / epsilon


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_our_simultaneous_radius_is_below_gru12_lemma_6_1(noise, n, epsilon):
    beta = 0.05
    universe = n * (n - 1) // 2
    log_queries = 2 * n * math.log(2)  # all pairs of sets
    distribution = noise_distribution(noise, epsilon=epsilon, max_weight=1.0)
    ours = distribution.radius(universe, log_failures=log_queries - math.log(beta))
    theirs = lemma_6_1(epsilon, universe, log_queries, beta)
    rounding = universe * distribution.unit if noise == "laplace" else 0.0
    assert ours <= theirs + rounding
    if noise == "laplace":
        # The constant 6 is not off by much: Chernoff gives 4 in the limit.
        assert ours >= math.sqrt(4 / 6) * theirs * 0.999
    # A cut S, T only feels its own pairs: Theorem 6.5, O(sqrt(n |S||T|)/epsilon).
    small = distribution.radius(n, log_failures=log_queries - math.log(beta))
    assert small < ours / 3


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("noise", NOISES)
def test_no_cut_of_small_graphs_exceeds_the_bounds(noise):
    """All cuts of 60 graphs of 7 vertices, as edges counted once; beta = 0.05.

    More than 14 failures out of 60 at probability 0.05 each have probability below 1e-6.
    """
    n, beta = 7, 0.05
    assert scipy.stats.binom.sf(14, 60, beta) < 1e-6
    pairs = list(itertools.combinations(range(n), 2))
    masks = np.array(list(itertools.product([False, True], repeat=n)))
    distribution = distribution_for(random_graph(n, 0), noise, 1.0)
    log_failures = 2 * n * math.log(2) - math.log(beta)
    radii = np.array(
        [distribution.radius(k, log_failures=log_failures) for k in range(len(pairs) + 1)]
    )
    failures = 0
    for seed in range(60):
        A, z = truth_and_noisy(random_graph(n, seed), noise, seed)
        error = z - A
        form = masks.astype(float) @ error @ masks.T.astype(float)  # matrix form
        count = masks.astype(int) @ (np.ones((n, n)) - np.eye(n)).astype(int) @ masks.T.astype(int)
        inside = masks[:, None, :] & masks[None, :, :]
        inner = np.einsum("abi,ij,abj->ab", inside, error, inside) / 2
        size = inside.sum(axis=2)
        worst = np.abs(form - inner)
        failures += bool((worst > radii[count - size * (size - 1) // 2]).any())
    assert failures <= 14


# The constant of the expected worst cut.


def large_cut(matrix):
    """A cut within a few per cent of the largest, fast; the slow test has certificates."""
    solver = LowRankSolver(matrix.shape, rank=24, dtype=np.float64, seed=0)
    solver.step(matrix, 150)
    return abs(float(solver.round_batch(matrix, 64, 1).values[0]))


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("noise", "n", "seeds"),
    [
        *((noise, 60, 20) for noise in NOISES),
        *(pytest.param(noise, 60, 40, marks=pytest.mark.slow) for noise in NOISES),
        *(pytest.param(noise, 150, 20, marks=pytest.mark.slow) for noise in NOISES),
        pytest.param("laplace", 400, 8, marks=pytest.mark.slow),
    ],
)
def test_the_constant_of_the_expected_worst_cut(noise, n, seeds):
    """The largest cuts found are 0.61 to 0.64 sd n^1.5 on average, a little below the constant
    0.68, which thus errs to a warning; the relaxation, an upper bound, is 0.68 to 0.71.

    One matrix says little. Of the four sums that make up a cut (see `noise_cut_bound`) the total,
    sd n/(2 sqrt 2), alone scatters the ratio by 0.52/sqrt(n); measured over 6 to 40 matrices of
    each size it is 0.5 to 0.75/sqrt(n). The mean of all seeds lies within 4.9 of its deviations but
    for 1e-6; another 0.025 is for the drift with n (0.93 at 60, 0.90 at 400).
    """
    graph = random_graph(n, 1)
    distribution = distribution_for(graph, noise, 1.0)
    found = []
    for seed in range(seeds):
        A, z = truth_and_noisy(graph, noise, seed)
        found.append(large_cut(z - A))
    ratio = np.mean(found) / expected_worst_cut(distribution, (n, n))
    assert abs(ratio - 0.915) <= 0.025 + 4.9 * 0.75 / math.sqrt(n * seeds)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_the_constant_of_the_expected_worst_cut_is_stable(noise):
    graph = random_graph(400, 2)
    distribution = distribution_for(graph, noise, 1.0)
    expected = expected_worst_cut(distribution, (400, 400))
    found = [
        gc.cut_norm(z - A) for A, z in (truth_and_noisy(graph, noise, s + 10) for s in range(6))
    ]
    assert 0.86 <= np.mean([certificate.lower for certificate in found]) / expected <= 1.0
    assert 0.95 <= np.mean([certificate.upper for certificate in found]) / expected <= 1.1


def test_the_constant_for_bipartite_graphs():
    for shape in ((60, 60), (40, 160)):
        graph = random_graph(shape, 1)
        distribution = distribution_for(graph, "binary", 1.0)
        found = []
        for seed in range(4):
            A, z = truth_and_noisy(graph, "binary", seed)
            found.append(large_cut(z - A))
        assert 0.86 <= np.mean(found) / expected_worst_cut(distribution, shape) <= 1.05


# Errata.


def test_the_matrix_form_counts_edges_inside_both_sets_twice():
    """GRU12 section 2 mixes 1_S^T A 1_T with the number of edges between S and T."""
    graph = random_graph(12, 3)
    A = graph.dense()
    rng = np.random.default_rng(0)
    doubled = 0
    for _ in range(50):
        S, T = rng.random(12) < 0.5, rng.random(12) < 0.5
        form = A[np.ix_(S, T)].sum()
        inside = A[np.ix_(S & T, S & T)].sum() / 2
        assert gc.CutQuery(S, T).value(graph) == form - inside
        doubled += inside > 0
    assert doubled > 10
    everything = np.ones(12, dtype=bool)
    whole = gc.CutQuery(everything, everything).value(graph)
    assert (
        exact_cut_norm(A) == A.sum() == 2 * whole
    )  # a sum of four disjoint cuts, two of them twice


def test_one_edge_moves_the_matrix_form_by_two_and_a_cut_query_by_one():
    empty, edge = gc.Graph([], [], vertices=4), gc.Graph([1], [2], vertices=4)
    S, T = np.array([1, 1, 1, 0], bool), np.array([0, 1, 1, 1], bool)
    assert edge.dense()[np.ix_(S, T)].sum() == 2
    assert gc.CutQuery(S, T).value(edge) - gc.CutQuery(S, T).value(empty) == 1
    assert gc.CutQuery(S, T).sensitivity(empty) == 1


def worst_error(estimate, truth):
    """Error of the cut of one half from the other: a fixed cut, no search."""
    n = len(truth)
    half = np.arange(n) < n // 2
    return abs((estimate - truth)[np.ix_(half, ~half)].sum())


@pytest.mark.parametrize("noise", NOISES)
def test_clipping_the_noisy_matrix_entrywise_is_biased(noise):
    """Why nothing clips Z: the error of a cut grows as n^2 after clipping, as n without."""
    sizes = np.array([64, 128, 256, 512])
    clipped, raw = [], []
    for n in sizes:
        A, z = truth_and_noisy(gc.Graph([0], [1], vertices=int(n)), noise, int(n))
        clipped.append(worst_error(np.clip(z, 0, 1), A))
        raw.append(worst_error(z, A))
    slope = np.polyfit(np.log(sizes), np.log(clipped), 1)[0]
    assert 1.95 < slope < 2.05
    distribution = distribution_for(gc.Graph([], [], vertices=4), noise, 1.0)
    for n, error in zip(sizes, raw, strict=True):
        # Unclipped: normal with deviation sd n/2; 6 deviations have probability 2e-9.
        assert error < 6 * distribution.standard_deviation * n / 2
    assert clipped[-1] > 5 * 6 * distribution.standard_deviation * sizes[-1] / 2
    # Clipping and shifting cannot help: dense graphs are biased the other way.
    n = 128
    full = gc.Graph(*np.triu_indices(n, 1), vertices=n)
    A, z = truth_and_noisy(full, noise, 1)
    half = np.arange(n) < n // 2
    assert (np.clip(z, 0, 1) - A)[np.ix_(half, ~half)].sum() < -0.1 * (n / 2) ** 2
