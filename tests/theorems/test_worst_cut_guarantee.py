"""The bound that a release states for its worst cut, against exact worst cuts.

Claims: with probability 95 % the noise is within `noise_cut_bound`, and then the error of the
synthetic graph is within the certificate plus that, for every fit. With the maximum-entropy fit the
certificate is within the bound, too, or the first-order fit stands in for it.
"""

import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest
from helpers import random_graph
from norm_reference import NOISES, exact_cut_norm, truth_and_noisy

import graphcuts_dp as gc
from graphcuts_dp import GraphError, QueryError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.synth import finishing, fit_weights

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

MODES = [
    ("maximum-entropy", "randomized-response"),
    ("maximum-entropy", "degrees+randomized-response"),
    ("maximum-entropy", "auto"),
    ("first-order", "auto"),
    ("cutting-plane", "auto"),
    ("spectral", "auto"),
]
DENSITIES = (0.0, 0.15, 0.5, 0.95)
EPSILONS = (0.3, 1.0, 3.0)


def sample(seed, n):
    """A graph, every third one bipartite."""
    density = DENSITIES[seed % 4]
    if seed % 3 == 2:
        return random_graph((n, n - 3), seed, density=density)
    return random_graph(n, seed, density=density)


def errors_of(made, graph):
    """Exact ||x - A||_C and ||z - A||_C."""
    A = graph.dense()
    return exact_cut_norm(made.graph.dense() - A), exact_cut_norm(made.noisy.estimate() - A)


def check(made, graph):
    """All that must hold: the noise within its bound, and the error within the stated one."""
    noisy = made.noisy
    bound = noise_cut_bound(noisy.distribution, noisy.shape, symmetric=noisy.symmetric)
    error, noise = errors_of(made, graph)
    stated = made.worst_cut_error_bound(0.95)
    assert stated <= (made.certificate.upper + bound) * 1.02  # a part of the failures is for totals
    assert error <= (made.certificate.upper + noise) * (1 + 1e-9)  # the triangle inequality
    if made.fit.method == "maximum-entropy":
        assert made.certificate.upper <= bound or made.fit.mixed == 1
        if made.certificate.upper <= bound:
            assert stated <= 2.01 * bound
    assert noise <= bound
    assert error <= stated


def check_seed(seed, size, epsilon, **options):
    graph = sample(seed, size)
    noise = NOISES[seed // 3 % 3]
    check(gc.release_graph(graph, epsilon=epsilon, noise=noise, seed=seed, **options), graph)


@pytest.mark.thorough
@pytest.mark.parametrize(("fit", "mechanism"), MODES)
def test_the_stated_bound_holds_for_every_fit(fit, mechanism):
    """Six seeds of each mode: every density with every kind of graph in half of the modes. At 95 %
    more than 4 failures would have probability 2e-6; the bound is wide, and none is seen."""
    mode = MODES.index((fit, mechanism))
    for seed in (seed for seed in range(12) if (seed + seed // 4 + mode) % 2 == 0):
        size = 20 if seed == 0 else 8 + seed % 5
        check_seed(seed, size, EPSILONS[seed // 2 % 3], fit=fit, mechanism=mechanism)


@pytest.mark.slow
@pytest.mark.parametrize(("fit", "mechanism"), MODES)
def test_the_stated_bound_holds_for_200_seeds_of_every_fit(fit, mechanism):
    for seed in range(200):
        size = (20, 17, 14, 11, 8)[seed // 40]
        check_seed(seed, size, EPSILONS[seed % 3], fit=fit, mechanism=mechanism)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace"])
def test_the_stated_bound_holds_for_weights(noise):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows, columns = np.nonzero(np.triu(rng.random((10, 10)) < 0.4, 1))
        weights = rng.integers(1, 4, len(rows)).astype(float)
        graph = gc.Graph(rows, columns, weights, vertices=10, max_weight=3.0)
        check(gc.release_graph(graph, epsilon=2.0, noise=noise, seed=seed), graph)


# The bound on the noise.


def pure_noise(distribution, shape, seed):
    """Of a graph without edges, of two sides where they differ."""
    graph = random_graph(shape if shape[0] != shape[1] else shape[0], density=0.0)
    return truth_and_noisy(graph, distribution.name, seed, distribution.epsilon)[1]


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("shape", [(7, 7), (6, 9), (1, 8)])
def test_pure_noise_is_within_the_bound(noise, shape):
    """200 matrices for each distribution and shape: all within; and the bound is not empty talk."""
    for epsilon in (0.5, 2.0):
        distribution = noise_distribution(noise, epsilon=epsilon, max_weight=1.0)
        bound = noise_cut_bound(distribution, shape, symmetric=shape[0] == shape[1])
        norms = [exact_cut_norm(pure_noise(distribution, shape, seed)) for seed in range(100)]
        assert max(norms) <= bound <= 6 * np.mean(norms)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [100, 400, 3000])
def test_the_bound_is_about_twice_the_norm(noise, n):
    """1.42 sd n^1.5 (the norm is 0.6 to 0.7 of it); Laplace tails add to that where n is small."""
    distribution = noise_distribution(noise, epsilon=1.0, max_weight=1.0)
    ratio = noise_cut_bound(distribution, (n, n), symmetric=True) / (
        distribution.standard_deviation * n**1.5
    )
    rounding = distribution.unit * n**2 if noise == "laplace" else 0.0
    assert 1.2 < ratio < 1.65 + rounding / (distribution.standard_deviation * n**1.5)


def test_the_bound_is_a_sum_over_signs():
    """The identity behind it, and that each term is bounded for all signs at once."""
    rng = np.random.default_rng(0)
    E = rng.normal(size=(6, 8))
    for s, t in zip(rng.choice([-1, 1], (50, 6)), rng.choice([-1, 1], (50, 8)), strict=True):
        S, T = (s + 1) / 2, (t + 1) / 2
        parts = E.sum() + s @ E.sum(axis=1) + E.sum(axis=0) @ t + s @ E @ t
        assert pytest.approx(parts) == 4 * (S @ E @ T)


def test_the_bound_grows_with_the_confidence_and_the_noise():
    def bound(confidence, epsilon=1.0, symmetric=True):
        distribution = noise_distribution("laplace", epsilon=epsilon, max_weight=1.0)
        return noise_cut_bound(distribution, (20, 20), symmetric=symmetric, confidence=confidence)

    for symmetric in (True, False):
        bounds = [bound(c, symmetric=symmetric) for c in (0.01, 0.5, 0.95, 0.999, 1 - 1e-12)]
        assert bounds[0] > 0
        assert bounds == sorted(bounds)
        assert bounds[2] < bound(0.95, epsilon=0.5, symmetric=symmetric)


@functools.cache
def draws_of_noise(n, draws):
    """Shape (draws, n, n); shared, so not to be written to."""
    distribution = distribution_for(gc.Graph([], [], vertices=n), "discrete-laplace", 1.0)
    return np.array([pure_noise(distribution, (n, n), seed) for seed in range(draws)])


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("signs", [0, 5, 10])
def test_each_term_stays_below_its_share(signs):
    """Exceedances of one term at a confidence that lets it fail often: a 20th at most, and at
    most 5 deviations more of what is counted (false alarm 3e-7)."""
    n, draws, confidence = 5, 1500, 0.05
    distribution = distribution_for(gc.Graph([], [], vertices=n), "discrete-laplace", 1.0)
    failures = -math.log1p(-confidence)
    bound = 2 * distribution.radius(n * (n - 1) // 2, log_failures=failures + signs * math.log(2))
    masks = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    ones = np.ones((1, n))
    left, right = {0: (ones, ones), 5: (masks, ones), 10: (masks, masks)}[signs]
    beyond = (np.abs(left @ draws_of_noise(n, draws) @ right.T) > bound).any(axis=(1, 2)).sum()
    allowed = 1 - confidence
    assert beyond <= draws * allowed + 5 * math.sqrt(draws * allowed * (1 - allowed))


# Where the maximum-entropy fit is too far from the noisy matrix.


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("shape", [14, (9, 14)])
@pytest.mark.parametrize("seed", range(2))
def test_a_fit_out_of_bounds_is_mixed_until_it_is_within(shape, seed, monkeypatch):
    """With a smaller bound, between the certificates of the two fits (share 0: below both)."""
    graph = random_graph(shape, seed)
    plain, first = (
        gc.release_graph(graph, epsilon=2.0, fit=fit, mechanism="randomized-response", seed=seed)
        for fit in ("maximum-entropy", "first-order")
    )
    far, near = plain.certificate.upper, first.certificate.upper
    assert near < far
    for share in (0.999, 0.8, 0.0):
        bound = near * 0.5 if share == 0 else near + share * (far - near)
        with monkeypatch.context() as patch:
            patch.setattr(finishing, "noise_cut_bound", lambda *_, b=bound, **__: b)
            made = gc.release_graph(graph, epsilon=2.0, mechanism="randomized-response", seed=seed)
        assert made.fit.method == "maximum-entropy"
        if share == 0:
            assert made.fit.mixed == 1
            assert np.array_equal(made.expected.dense(), first.expected.dense())
        else:  # rounding moves certificates, too: near the bound its coins may ask for all
            assert 0 < made.fit.mixed <= 1
            assert made.fit.mixed < 1 or share == 0.999
            assert made.certificate.upper <= bound
        x = made.graph.dense()
        assert 0 <= x.min() <= x.max() <= 1
        assert made.certificate.verify(x - made.noisy.estimate()) == pytest.approx(
            made.certificate.lower
        )


@pytest.mark.thorough
@pytest.mark.parametrize("missed", [1, 3])
def test_a_mixture_that_misses_the_bound_does_not_cost_the_whole_fit(missed, monkeypatch):
    """Certificates of mixtures are as high as the fit's itself, some times: then more is mixed in,
    and the fit is not thrown away."""
    graph = random_graph(14, 0, largest=1.0, max_weight=1.0)  # no rounding to 0 and 1
    options = {"epsilon": 2.0, "noise": "laplace", "mechanism": "randomized-response", "seed": 0}
    far = gc.release_graph(graph, **options).certificate.upper
    near = gc.release_graph(graph, fit="first-order", **options).certificate.upper
    bound = (far + near) / 2
    tried = []

    def certify_badly(*arguments, **options):
        tried.append(real(*arguments, **options))
        # The first two are of the fits, as they are; then come the mixtures.
        if 2 < len(tried) <= 2 + missed:
            return dataclasses.replace(tried[-1], upper=far)
        return tried[-1]

    real = fit_weights.certify
    with monkeypatch.context() as patch:
        patch.setattr(finishing, "noise_cut_bound", lambda *_, **__: bound)
        patch.setattr(finishing, "certify", certify_badly)
        made = gc.release_graph(graph, **options)
    assert len(tried) == 3 + missed
    assert made.certificate.upper == tried[-1].upper <= bound
    assert 0.4 < made.fit.mixed < (0.6 if missed == 1 else 0.8)


def test_shares_begin_at_the_line_between_two_fits_and_end_at_the_other():
    shares = list(finishing._shares(10.0, 2.0, 9.999999))
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.002
    assert shares[-1] == 1
    assert len(shares) < 8
    assert list(finishing._shares(10.0, 2.0, 2.0)) == [1.0]
    assert list(finishing._shares(10.0, 12.0, 9.0)) == [1.0]


def test_rounding_does_not_lead_out_of_the_bound(monkeypatch):
    """Coin flips come after mixing and move the certificate by a few per cent, up or down."""
    mixtures = []
    for seed in range(2):
        graph = random_graph(30, seed)
        options = {"epsilon": 1.0, "mechanism": "randomized-response", "seed": seed}
        far = gc.release_graph(graph, **options).certificate.upper
        with monkeypatch.context() as patch:
            patch.setattr(finishing, "noise_cut_bound", lambda *_, b=0.95 * far, **__: b)
            made = gc.release_graph(graph, **options)
        assert made.certificate.upper <= 0.95 * far or made.fit.mixed == 1
        mixtures.append(made.fit.mixed)
    assert all(mixtures)


def test_the_share_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(finishing, "noise_cut_bound", lambda *_, **__: 1e-3)
    made = gc.release_graph(random_graph(12, 1), epsilon=2.0, seed=0)
    made.save(tmp_path / "g.csv")
    assert gc.Release.load(tmp_path / "g.csv").fit.mixed == made.fit.mixed == 1


def test_rounded_graphs_state_a_bound_that_holds():
    """Rounding to 0 and 1 moves cuts; the certificate is of what comes out."""
    for seed in range(5):
        graph = random_graph(12, seed)
        made = gc.release_graph(graph, epsilon=1.0, seed=seed)
        assert errors_of(made, graph)[0] <= made.worst_cut_error_bound()


def test_who_has_no_graph_has_no_bound():
    made = gc.release_graph(random_graph(9, 0), epsilon=1.0, fit="none")
    with pytest.raises(GraphError, match="no synthetic graph"):
        made.worst_cut_error_bound()
    with pytest.raises(QueryError, match="confidence"):
        made.worst_cut_error_bound(1)


def test_a_sparse_graph_is_bounded_by_its_total():
    """Where noise is larger than all that there is, no cut can be off by more than the totals."""
    graph = random_graph(60, 3, density=0.03)
    made = gc.release_graph(graph, epsilon=1.0, seed=0)
    stated = made.worst_cut_error_bound()
    bound = noise_cut_bound(made.noisy.distribution, made.noisy.shape, symmetric=True)
    assert stated < 0.5 * (made.certificate.upper + bound)
    everything = np.ones(60, dtype=bool)
    total = made.answer(everything, everything, confidence=0.995).interval[1]
    assert stated == pytest.approx(2 * max(total, made.graph.weights.sum()))
    assert stated >= 2 * max(graph.weights.sum(), made.graph.weights.sum())
