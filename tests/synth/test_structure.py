"""Structure beyond the noise: what the spectrum tells of it, and what message passing adds.

Products with a noisy matrix less an expected graph, against dense ones.
"""

import math

import numpy as np
import pytest
from noisy_cases import (
    gaussian,
    indicators,
    planted,
    planted_bipartite,
    planted_directed,
    problem,
    spectral_structure,
)

from graphcuts_dp import Graph
from graphcuts_dp.resources import Deadline
from graphcuts_dp.schema import layout as layout_module
from graphcuts_dp.synth import structure as structure_module
from graphcuts_dp.synth.chung_lu import chung_lu_factors
from graphcuts_dp.synth.message_passing import sharpened_structure
from graphcuts_dp.synth.mixture import Mixture, fit_mixture
from graphcuts_dp.synth.spectrum import directions_near_noise, find_spectrum, largest_triples
from graphcuts_dp.synth.structure import View
from scripts.figures.random_graphs import directed_blocks

SIGNALS = (4.0, -3.0, 2.0)  # in units of the noise's deviation times sqrt(n)


def view_of(shape, **options):
    """Gaussian noise on a signal; symmetric where it can be."""
    return View(gaussian(shape, symmetric=shape[0] == shape[1], **options))


def directions(n, k, seed):
    return np.linalg.qr(np.random.default_rng(seed + 100).normal(size=(n, k)))[0]


@pytest.mark.parametrize("shape", [(500, 500), (700, 300), (300, 700)])
def test_a_spectrum_tells_the_signal_and_the_angles(shape):
    """Fluctuations are of order deviation for values and 1/sqrt(n) for cosines squared; six times
    that is allowed."""
    (n, m), deviation = shape, 0.7
    strengths = np.array(SIGNALS if n == m else SIGNALS[::2])
    left = directions(n, len(strengths), 0)
    right = left if n == m else directions(m, len(strengths), 1)
    sizes = strengths * deviation * math.sqrt(max(shape))
    seen = find_spectrum(view_of(shape, deviation=deviation, signal=left * sizes @ right.T))
    assert (seen.right is seen.left) == (n == m)
    assert seen.deviation == pytest.approx(deviation, rel=0.02)
    assert seen.signal == pytest.approx(sizes, abs=6 * deviation)
    near = 6 / math.sqrt(min(shape))
    for noise, found, true in (
        (seen.left_noise, seen.left, left),
        (seen.right_noise, seen.right, right),
    ):
        assert found.T @ found == pytest.approx(np.eye(len(sizes)), abs=1e-5)
        assert 1 - noise == pytest.approx((found * true).sum(axis=0) ** 2, abs=near)
    if n == m:
        assert seen.left_noise == pytest.approx(1 / strengths**2, abs=near)
    # The longer side is told less well.
    assert (seen.left_noise > seen.right_noise).all() == (n > m)


@pytest.mark.parametrize("shape", [(200, 200), (250, 120)])
def test_pure_noise_has_no_structure(shape):
    """No false alarm in 960 matrices of 60 to 600 rows: below 1.5 % each, at a confidence of
    1 - 1e-6; more than four in 15 then have a probability of 2e-6. Nor is noise alone often near
    its own edge: at most one in twenty by the law of Tracy and Widom, 13 of 40 has a chance below
    1e-7."""
    alarms = [len(sharpened_structure(view_of(shape, seed=seed)).sizes) > 0 for seed in range(15)]
    assert sum(alarms) <= 4
    found = [near(view_of((100, shape[1] // 2), seed=seed)) for seed in range(40)]
    assert sum(count > 0 for count in found) < 13


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 7), (7, 1), (3, 3), (5, 9)])
@pytest.mark.parametrize("signal", [0.0, 5.0])
def test_small_and_empty_matrices(shape, signal):
    view = view_of(shape, deviation=0.0, signal=signal)
    seen = find_spectrum(view)
    assert np.isfinite(seen.signal).all()
    assert seen.left.shape == (shape[0], len(seen.signal))
    assert seen.right.shape == (shape[1], len(seen.signal))
    for method in (spectral_structure, sharpened_structure):
        structure = method(view)
        assert np.isfinite(structure.row_sums).all()
        assert np.isfinite(structure.column_sums).all()


def near(view):
    return directions_near_noise(view, largest_triples(view))


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("signal", "count"), [(1.35, 1), (3.0, 0)])
@pytest.mark.parametrize("shape", [(400, 400), (250, 500)])
def test_directions_near_the_noise_are_counted_and_clear_ones_are_not(signal, count, shape):
    """One direction of so many times the least signal that is seen, s (n m)^(1/4).

    1.35 times is a value of 2.09 deviations times sqrt(n), give or take .05, where 2.02 to 2.17
    count: nine of ten.
    """
    left, right = (directions(n, 1, seed)[:, 0] for seed, n in enumerate(shape))
    size = signal * math.prod(shape) ** 0.25
    expected = size * np.outer(left, left if shape[0] == shape[1] else right)
    found = [near(view_of(shape, signal=expected, seed=seed)) for seed in range(8)]
    assert sum(each == count for each in found) >= 5


def overlap(structure, expected):
    """Share of the expected matrix that lies in the span of the structure."""
    inner = structure.left.T @ expected @ structure.right
    return (inner**2).sum() / (expected**2).sum()


SIZES = (100, 100, 100)
ROUND = np.roll(np.eye(3), 1, axis=1)  # each block to the next, the last to the first
KINDS = ["undirected", "directed", "bipartite"]


def blocks_of(kind, high, seed, sizes=SIZES):
    """A graph of three blocks on either side, its expected matrix, blocks, and dense cells."""
    left = indicators(sizes)
    if kind == "undirected":
        return *planted(sizes, high, 0.1, seed), left, left, np.eye(3)
    if kind == "bipartite":
        graph, expected = planted_bipartite(sizes, (70, 70, 70), high, 0.1, seed)
        return graph, expected, left, indicators((70, 70, 70)), np.eye(3)
    core = 0.1 + (high - 0.1) * ROUND
    return directed_blocks(len(left), core, seed=seed), left @ core @ left.T, left, left, ROUND


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_message_passing_sharpens_directions_and_finds_soft_groups(kind):
    """Three blocks that are hard to see. Inner products along the true ones are unbiased: sums
    between blocks deviate from the truth of the graph by a tenth on the average over seeds, though
    the directions hold only part of the true ones."""
    shares, ratios = [], []
    for seed in range(2):
        high = 0.55 if kind == "undirected" else 0.6
        graph, expected, left, right, cells = blocks_of(kind, high, seed)
        view = View(problem(graph, epsilon=1.0, seed=seed).blocks)
        both = spectral_structure(view), sharpened_structure(view)
        shares.append([overlap(structure, expected) for structure in both])
        truth = left.T @ graph.dense() @ right
        for structure in both:
            said = left.T @ structure.left * structure.sizes @ structure.right.T @ right
            ratios.append((said / truth)[cells == 1])
        sharp = both[1]
        assert (len(sharp.left_groups), len(sharp.right_groups)) == graph.shape
        assert (sharp.left_groups is sharp.right_groups) == isinstance(graph, Graph)
        for groups, blocks in ((sharp.left_groups, left), (sharp.right_groups, right)):
            assert groups.sum(axis=1) == pytest.approx(np.ones(len(blocks)))
            found = groups.argmax(axis=1).reshape(3, -1)
            assert np.mean(found == np.median(found, axis=1)[:, None]) > 0.9
    plain, sharpened = np.transpose(shares)
    assert (sharpened > plain).all()
    assert 1 - np.mean(sharpened) < 0.5 * (1 - np.mean(plain))
    for index in (0, 1):
        assert np.abs(np.mean(ratios[index::2]) - 1) < 0.1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "high", "sizes"),
    [
        ("undirected", 0.32, (200, 200, 200)),
        ("directed", 0.45, SIZES),
        ("bipartite", 0.45, SIZES),
    ],
)
def test_blocks_that_are_hard_to_see_keep_the_size_of_their_contrasts(kind, high, sizes):
    """Where a third of the contrasts is hidden, they would come out a fifth too small if the sizes
    did not make up for what the directions lack; within a tenth as it is."""
    ratios, plain, sharp = [], [], []
    for seed in range(2):
        graph, expected, left, right, _ = blocks_of(kind, high, seed, sizes)
        view = View(problem(graph, seed=seed).blocks)
        structure = sharpened_structure(view)
        apart = [np.eye(len(side)) - 1 / len(side) for side in (left, right)]
        contrasts = apart[0] @ expected @ apart[1]
        said = structure.left * structure.sizes @ structure.right.T
        ratios.append(np.vdot(said, contrasts) / np.vdot(contrasts, contrasts))
        sharp.append(overlap(structure, contrasts))
        plain.append(overlap(spectral_structure(view), contrasts))
    assert np.mean(ratios) == pytest.approx(1, abs=0.09 if kind == "undirected" else 0.1)
    assert np.mean(sharp) > (1.4 if kind == "undirected" else 1.05) * np.mean(plain)


def test_messages_where_there_is_nothing_or_no_time():
    nothing = problem(directed_blocks(200, [[0.0]], seed=1)).blocks
    assert len(sharpened_structure(View(nothing)).sizes) == 0
    graph, *_ = blocks_of("directed", 0.6, 0)
    view = View(problem(graph).blocks)
    hurried, plain = sharpened_structure(view, Deadline(0.0)), spectral_structure(view)
    assert hurried.sizes.tolist() == plain.sizes.tolist()
    assert np.array_equal(hurried.right, plain.right)


@pytest.mark.thorough(cases=11)
@pytest.mark.parametrize("keeps_rows", [False, True])
@pytest.mark.parametrize("most_above_cap", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1.0, 0.01])
@pytest.mark.parametrize("rows_at_once", [None, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_products_are_the_dense_ones(
    kind, rows_at_once, scale, most_above_cap, keeps_rows, monkeypatch
):
    """Of the noisy matrix Z, and of Z less the expected graph; if dense, its entries reach the cap.

    With small degrees the expected graph is a product of factors, and is not written out; nor is it
    where few products, here all that are, lie above the cap.
    """
    monkeypatch.setattr(structure_module, "_MOST_ABOVE_CAP", most_above_cap)
    if not keeps_rows:
        monkeypatch.setattr(structure_module, "_MOST_KEPT_ENTRIES", 0)
    if rows_at_once:
        monkeypatch.setattr(layout_module, "_SMALL", 0)
        monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 1)
    rows, columns, cap = np.linspace(1, 30, 35), np.linspace(30, 1, 35) ** 1.1, 2.5
    if kind == "undirected":
        graph, columns = planted((15, 20), 0.6, 0.1)[0], None
    elif kind == "directed":
        graph = planted_directed((15, 20), 0.6, 0.1, 0.2)[0]
    else:
        graph, columns = planted_bipartite((15, 20), (10, 9), 0.6, 0.1)[0], np.linspace(2, 34, 19)
    blocks = problem(graph).blocks
    if columns is not None:
        columns = scale * columns
    ends = chung_lu_factors(scale * rows, columns, hollow=kind != "bipartite")
    expected, Z = cap * np.minimum(np.outer(*ends), 1), blocks.estimate()
    if kind != "bipartite":
        np.fill_diagonal(expected, 0)
    assert (expected >= cap).any() == (scale == 1)  # somewhere the minimum matters
    rng = np.random.default_rng(0)
    near = {"abs": 1e-4, "rel": 1e-4}  # float32
    for view, less in ((View(blocks), 0 * Z), (View(blocks, ends, cap), expected)):
        dense = Z - less
        n, m = dense.shape
        assert (view.shape, view.symmetric) == ((n, m), kind == "undirected")
        right, left = rng.normal(size=(m, 3)), rng.normal(size=(n, 2))
        assert view.times(right) == pytest.approx(dense @ right, **near)
        assert view.transposed_times(left) == pytest.approx(dense.T @ left, **near)
        assert view.square_sum == pytest.approx((dense**2).sum(), rel=1e-5)
        assert view.expected_times(right) == pytest.approx(less @ right, **near)
        assert view.times(right).dtype == np.float64
    assert view.expected_column_sums() == pytest.approx(expected.sum(axis=0), **near)


# Mixtures of points in unit noise.


def clusters(centres, size, seed=0):
    rng = np.random.default_rng(seed)
    places = np.repeat(np.asarray(centres, float), size, axis=0)
    return places, places + rng.normal(size=places.shape)


CENTRES = [[6, 0, 0], [0, 6, 0], [0, 0, 6], [-4, -4, 0]]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_found(seed):
    """Means of 150 points are off by 5/sqrt(150) = 0.41 in a coordinate with 6e-7."""
    places, points = clusters(CENTRES, 150, seed)
    mixture = fit_mixture(points)
    assert not mixture.is_rays
    assert len(mixture.directions) == 4
    for centre in CENTRES:
        assert np.abs(mixture.directions - centre).max(axis=1).min() < 0.5
    assert mixture.weights.sum() == pytest.approx(1)
    posterior = mixture.posterior(points)
    assert posterior.memberships.sum(axis=1) == pytest.approx(np.ones(600))
    found = posterior.memberships.argmax(axis=1).reshape(4, 150)
    assert np.mean(found == np.median(found, axis=1)[:, None]) > 0.97
    # Knowing the clusters takes nearly all of the noise (3 a point) away.
    assert ((posterior.mean - places) ** 2).sum(axis=1).mean() < 0.5


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("seed", range(3))
def test_rays_are_found(seed):
    """Blocks whose vertices differ in degree: directions come out, lengths follow the points."""
    rng = np.random.default_rng(seed)
    true = np.array([[1.0, 0.0], [0.5, 0.75**0.5]])
    places = rng.uniform(2, 16, 600)[:, None] * np.repeat(true, 300, axis=0)
    points = places + rng.normal(size=places.shape)
    mixture = fit_mixture(points)
    assert mixture.is_rays
    assert len(mixture.directions) == 2
    assert np.abs(mixture.directions @ true.T).max(axis=0) == pytest.approx([1, 1], abs=0.01)
    mean = mixture.posterior(points).mean
    # Across the rays the noise (1 of 2 a point) is gone.
    assert ((mean - places) ** 2).sum(axis=1).mean() < 1.4


@pytest.mark.thorough
@pytest.mark.parametrize("dimensions", [1, 3])
def test_pure_noise_is_one_component(dimensions):
    for seed in range(6):
        points = np.random.default_rng(seed).normal(size=(400, dimensions))
        mixture = fit_mixture(points)
        assert len(mixture.directions) == 1
        assert ((mixture.posterior(points).mean) ** 2).sum(axis=1).mean() < 0.1 * dimensions


@pytest.mark.parametrize("rays", [True, False])
def test_the_posterior_covariance_is_the_average_jacobian(rays):
    """Tweedie: d mean/d point is the posterior covariance, point by point."""
    _, points = clusters([[3, 0], [0, 3]], 40)
    memberships = np.repeat(np.eye(2), 40, axis=0)
    mixture, _ = Mixture.of_memberships(points, memberships, rays=rays).fitted(points, 5)
    assert mixture.is_rays == rays
    h = 1e-4
    jacobian = np.zeros((2, 2))
    for axis, step in enumerate(h * np.eye(2)):
        change = mixture.posterior(points + step).mean - mixture.posterior(points - step).mean
        jacobian[:, axis] = change.mean(axis=0) / (2 * h)
    assert mixture.posterior(points).covariance == pytest.approx(jacobian, abs=1e-6)


@pytest.mark.parametrize(
    "points",
    [np.zeros((1, 1)), np.zeros((2, 3)), np.ones((5, 2)), 1e7 * np.eye(4), np.zeros((30, 1))],
)
def test_few_equal_or_far_points(points):
    mixture = fit_mixture(points)
    posterior = mixture.posterior(points)
    assert np.isfinite(posterior.mean).all()
    assert np.isfinite(posterior.covariance).all()
    assert posterior.memberships.shape == (len(points), len(mixture.directions))


@pytest.mark.thorough
def test_many_points_are_sampled_and_the_choice_repeats():
    _, points = clusters(CENTRES, 520)
    first, second = fit_mixture(points), fit_mixture(points)
    assert np.array_equal(first.directions, second.directions)
    assert len(first.directions) == 4
