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

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.pairs import universe
from graphcuts_dp.resources import Deadline
from graphcuts_dp.synth.structure import (
    Structure,
    View,
    directions_near_noise,
    find_spectrum,
    largest_triples,
    sharpened_structure,
)
from graphcuts_dp.synth.targets import chung_lu_ends, chung_lu_two_sided_ends
from scripts.figures.random_graphs import directed_blocks

SIGNALS = (4.0, -3.0, 2.0)  # in units of the noise's deviation times sqrt(n)


def directions(n, k, seed):
    return np.linalg.qr(np.random.default_rng(seed + 100).normal(size=(n, k)))[0]


@pytest.mark.parametrize("seed", range(3))
def test_eigenpairs_of_a_symmetric_matrix(seed):
    """Fluctuations are of order deviation for values and 1/sqrt(n) for cosines squared; six times
    that is allowed."""
    n, deviation = 500, 0.7
    true = directions(n, 3, seed)
    sizes = np.array(SIGNALS) * deviation * math.sqrt(n)
    given = gaussian(
        (n, n), symmetric=True, deviation=deviation, signal=true * sizes @ true.T, seed=seed
    )
    seen = find_spectrum(View(given))
    assert len(seen.signal) == 3
    assert seen.right is seen.left
    assert seen.deviation == pytest.approx(deviation, rel=0.02)
    assert np.abs(seen.signal - sizes).max() < 6 * deviation
    assert seen.left.T @ seen.left == pytest.approx(np.eye(3), abs=1e-5)
    cosines = ((seen.left * true).sum(axis=0)) ** 2
    assert 1 - seen.left_noise == pytest.approx(cosines, abs=6 / math.sqrt(n))
    assert seen.left_noise == pytest.approx(1 / np.array(SIGNALS) ** 2, abs=6 / math.sqrt(n))


@pytest.mark.parametrize("shape", [(700, 300), (300, 700)])
@pytest.mark.parametrize("seed", range(2))
def test_singular_triples_of_a_rectangle(seed, shape):
    n, m = shape
    left, right = directions(n, 2, seed), directions(m, 2, seed + 1)
    sizes = np.array([3.0, 1.8]) * math.sqrt(max(n, m))
    given = gaussian(shape, symmetric=False, signal=left * sizes @ right.T, seed=seed)
    seen = find_spectrum(View(given))
    assert len(seen.signal) == 2
    assert np.abs(seen.signal - sizes).max() < 6
    for noise, found, true in (
        (seen.left_noise, seen.left, left),
        (seen.right_noise, seen.right, right),
    ):
        cosines = ((found * true).sum(axis=0)) ** 2
        assert 1 - noise == pytest.approx(cosines, abs=6 / math.sqrt(min(n, m)))
    # The longer side is told less well.
    assert (seen.left_noise > seen.right_noise).all() == (n > m)


@pytest.mark.parametrize("shape", [(200, 200), (250, 120)])
def test_pure_noise_has_no_structure(shape):
    """No false alarm in 960 matrices of 60 to 600 rows: below 1.5 % each, at a confidence of
    1 - 1e-6; more than five in 25 then have a probability of 1e-6."""
    symmetric = shape[0] == shape[1]
    alarms = 0
    for seed in range(25):
        given = gaussian(shape, symmetric=symmetric, seed=seed)
        structure = sharpened_structure(View(given))
        alarms += len(structure.sizes) > 0
    assert alarms <= 5


def test_bits_of_an_empty_graph_have_no_structure():
    for seed in range(4):
        given = problem(planted((60, 60), 0.0, 0.0)[0], seed=seed)
        assert len(sharpened_structure(View(given.blocks)).sizes) == 0


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 7), (7, 1), (3, 3), (5, 9)])
def test_small_and_empty_matrices(shape):
    symmetric = shape[0] == shape[1]
    for signal in (0.0, 5.0):
        given = gaussian(shape, symmetric=symmetric, deviation=0.0, signal=signal)
        seen = find_spectrum(View(given))
        assert np.isfinite(seen.signal).all()
        assert seen.left.shape == (shape[0], len(seen.signal))
        assert seen.right.shape == (shape[1], len(seen.signal))
        for method in (
            (sharpened_structure,)
            if symmetric
            else (
                spectral_structure,
                sharpened_structure,
            )
        ):
            structure = method(View(given))
            assert np.isfinite(structure.row_sums).all()
            assert np.isfinite(structure.column_sums).all()


def near(given):
    view = View(given)
    return directions_near_noise(view, largest_triples(view))


@pytest.mark.parametrize("shape", [(100, 100), (60, 150)])
def test_noise_alone_is_rarely_near_its_own_edge(shape):
    """At most one in twenty by the law of Tracy and Widom: 18 of 60 has a chance below 1e-9."""
    symmetric = shape[0] == shape[1]
    found = [near(gaussian(shape, symmetric=symmetric, seed=seed)) for seed in range(60)]
    assert sum(count > 0 for count in found) < 18


@pytest.mark.parametrize(("signal", "count"), [(1.35, 1), (3.0, 0)])
@pytest.mark.parametrize("shape", [(400, 400), (250, 500)])
def test_directions_near_the_noise_are_counted_and_clear_ones_are_not(signal, count, shape):
    """One direction of so many times the least signal that is seen, s (n m)^(1/4).

    1.35 times is a value of 2.09 deviations times sqrt(n), give or take .05, where 2.02 to 2.17
    count: nine of ten.
    """
    symmetric = shape[0] == shape[1]
    left, right = (directions(n, 1, seed)[:, 0] for seed, n in enumerate(shape))
    size = signal * math.prod(shape) ** 0.25
    expected = size * np.outer(left, left if symmetric else right)
    found = [near(gaussian(shape, symmetric=symmetric, signal=expected, seed=s)) for s in range(8)]
    assert sum(each == count for each in found) >= 5


def test_small_matrices_have_no_direction_near_their_noise():
    given = [gaussian((n, n), symmetric=True, seed=seed) for n in (1, 2, 49) for seed in range(20)]
    assert not any(map(near, given))


def overlap(structure, expected):
    """Share of the expected matrix that lies in the span of the structure."""
    inner = structure.left.T @ expected @ structure.right
    return (inner**2).sum() / (expected**2).sum()


SIZES = (100, 100, 100)


@pytest.fixture(scope="module")
def estimates():
    """Structures by both methods of several graphs of three blocks that are hard to see."""
    found = []
    for seed in range(4):
        graph, expected = planted(SIZES, 0.55, 0.1, seed)
        view = View(problem(graph, epsilon=1.0, seed=seed).blocks)
        found.append((spectral_structure(view), sharpened_structure(view), expected, graph))
    return found


def test_message_passing_sharpens_directions(estimates):
    plain, sharp = ([overlap(case[index], case[2]) for case in estimates] for index in (0, 1))
    assert all(s > p for s, p in zip(sharp, plain, strict=True))
    assert 1 - np.mean(sharp) < 0.5 * (1 - np.mean(plain))


def test_soft_groups_are_the_blocks(estimates):
    for _, sharp, _, _ in estimates:
        assert sharp.left_groups is sharp.right_groups
        assert sharp.left_groups.sum(axis=1) == pytest.approx(np.ones(300))
        found = sharp.left_groups.argmax(axis=1).reshape(3, 100)
        assert np.mean(found == np.median(found, axis=1)[:, None]) > 0.9


@pytest.mark.parametrize("index", [0, 1])
def test_inner_products_along_the_true_blocks_are_unbiased(estimates, index):
    """Sums between blocks, as deviations from the truth of the graph: a tenth on the average over
    seeds, though the directions hold only part of the true ones."""
    groups = indicators(SIZES)
    ratios = []
    for case in estimates:
        structure, graph = case[index], case[3]
        said = groups.T @ structure.left * structure.sizes @ structure.right.T @ groups
        true = groups.T @ graph.dense() @ groups
        ratios.append(np.diag(said) / np.diag(true))
    assert np.abs(np.mean(ratios) - 1) < 0.1


def test_blocks_that_are_hard_to_see_keep_the_size_of_their_contrasts():
    """Where a third of the contrasts is hidden, they would come out a fifth too small if the sizes
    did not make up for what the directions lack; within 9 % as it is."""
    sizes = (200, 200, 200)
    groups = indicators(sizes)
    contrasts = np.linalg.qr((groups - groups.mean(axis=0))[:, :2])[0]
    ratios, plain, sharp = [], [], []
    for seed in range(4):
        graph, expected = planted(sizes, 0.32, 0.1, seed)
        view = View(problem(graph, seed=seed).blocks)
        structure = sharpened_structure(view)
        said = contrasts.T @ structure.left * structure.sizes @ structure.right.T @ contrasts
        ratios.append(np.trace(said) / np.trace(contrasts.T @ expected @ contrasts))
        apart = contrasts @ contrasts.T @ expected @ contrasts @ contrasts.T
        sharp.append(overlap(structure, apart))
        plain.append(overlap(spectral_structure(view), apart))
    assert np.mean(ratios) == pytest.approx(1, abs=0.09)
    assert np.mean(sharp) > 1.4 * np.mean(plain)


# Rows and columns that differ.

ROUND = np.roll(np.eye(3), 1, axis=1)  # each block to the next, the last to the first


def two_sided(kind, high, seed):
    """A graph of three blocks on either side, its expected matrix, blocks, and cells of arcs."""
    left = indicators(SIZES)
    if kind == "bipartite":
        graph, expected = planted_bipartite(SIZES, (70, 70, 70), high, 0.1, seed)
        return graph, expected, left, indicators((70, 70, 70)), np.eye(3)
    core = 0.1 + (high - 0.1) * ROUND
    graph = directed_blocks(300, core, seed=seed)
    return graph, left @ core @ left.T, left, left, ROUND


@pytest.fixture(scope="module", params=["directed", "bipartite"])
def two_sided_estimates(request):
    found = []
    for seed in range(4):
        graph, *truth = two_sided(request.param, 0.6, seed)
        view = View(problem(graph, epsilon=1.0, seed=seed).blocks)
        found.append((spectral_structure(view), sharpened_structure(view), graph, *truth))
    return found


def test_two_sided_messages_sharpen_directions(two_sided_estimates):
    plain, sharp = ([overlap(case[i], case[3]) for case in two_sided_estimates] for i in (0, 1))
    assert all(s > p for s, p in zip(sharp, plain, strict=True))
    assert 1 - np.mean(sharp) < 0.5 * (1 - np.mean(plain))


def test_two_sided_soft_groups_are_the_blocks(two_sided_estimates):
    for _, sharp, graph, _, left, right, _ in two_sided_estimates:
        assert (len(sharp.left_groups), len(sharp.right_groups)) == graph.shape
        for groups, blocks in ((sharp.left_groups, left), (sharp.right_groups, right)):
            assert groups.sum(axis=1) == pytest.approx(np.ones(len(blocks)))
            found = groups.argmax(axis=1).reshape(3, -1)
            assert np.mean(found == np.median(found, axis=1)[:, None]) > 0.9


def test_two_sided_inner_products_along_the_true_blocks_are_unbiased(two_sided_estimates):
    """As for adjacency matrices: a tenth on the average over seeds."""
    ratios = []
    for _, sharp, graph, _, left, right, cells in two_sided_estimates:
        said = left.T @ sharp.left * sharp.sizes @ sharp.right.T @ right
        true = left.T @ graph.dense() @ right
        ratios.append((said / true)[cells == 1])
    assert np.abs(np.mean(ratios, axis=0) - 1).max() < 0.1


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_two_sided_contrasts_that_are_hard_to_see_keep_their_size(kind):
    ratios = []
    for seed in range(4):
        graph, expected, left, right, _ = two_sided(kind, 0.45, seed)
        structure = sharpened_structure(View(problem(graph, seed=seed).blocks))
        apart = [np.eye(len(side)) - 1 / len(side) for side in (left, right)]
        contrasts = apart[0] @ expected @ apart[1]
        said = structure.left * structure.sizes @ structure.right.T
        ratios.append(np.vdot(said, contrasts) / np.vdot(contrasts, contrasts))
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


def test_two_sided_messages_where_there_is_nothing_or_no_time():
    nothing = problem(directed_blocks(200, [[0.0]], seed=1)).blocks
    assert len(sharpened_structure(View(nothing)).sizes) == 0
    graph, *_ = two_sided("directed", 0.6, 0)
    view = View(problem(graph).blocks)
    hurried, plain = sharpened_structure(view, Deadline(0.0)), spectral_structure(view)
    assert hurried.sizes.tolist() == plain.sizes.tolist()
    assert np.array_equal(hurried.right, plain.right)


def test_rectangles_have_unbiased_inner_products():
    left, right = (120, 120), (80, 80)
    ratios = []
    for seed in range(4):
        graph, _ = planted_bipartite(left, right, 0.6, 0.1, seed)
        structure = spectral_structure(View(problem(graph, seed=seed).blocks))
        L, R = indicators(left), indicators(right)
        said = L.T @ structure.left * structure.sizes @ structure.right.T @ R
        ratios.append(np.diag(said) / np.diag(L.T @ graph.dense() @ R))
    assert np.abs(np.mean(ratios) - 1) < 0.1


def test_sums_of_a_structure_are_those_of_its_matrix():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    structure = Structure(left, right, np.array([2.0, -1.0]), left, right)
    dense = left * structure.sizes @ right.T
    assert structure.row_sums == pytest.approx(dense.sum(axis=1))
    assert structure.column_sums == pytest.approx(dense.sum(axis=0))
    assert not Structure.none((5, 4)).row_sums.any()


def views(kind, cap=1.0):
    """A view of Z, one of Z less the expected graph, and both as dense matrices."""
    if kind == "directed":
        given = problem(planted_directed((15, 20), 0.6, 0.1, 0.2)[0])
        r, c = chung_lu_two_sided_ends(
            np.linspace(1, 30, 35), np.linspace(30, 1, 35) ** 1.1, hollow=True
        )
        expected = cap * np.minimum(np.outer(r, c), 1)
        np.fill_diagonal(expected, 0)
    elif kind == "symmetric":
        given = problem(planted((15, 20), 0.6, 0.1)[0])
        r = c = chung_lu_ends(np.linspace(1, 30, 35))
        expected = cap * np.minimum(np.outer(r, c), 1)
        np.fill_diagonal(expected, 0)
    else:
        given = problem(planted_bipartite((15, 20), (10, 9), 0.6, 0.1)[0])
        r, c = chung_lu_two_sided_ends(np.linspace(1, 18, 35), np.linspace(2, 34, 19), hollow=False)
        expected = cap * np.minimum(np.outer(r, c), 1)
    assert (expected >= cap).any()  # somewhere the minimum matters
    Z = given.blocks.estimate()
    less = View(given.blocks, (r, c), cap)
    return [(View(given.blocks), Z, 0 * Z), (less, Z - expected, expected)]


@pytest.mark.parametrize("rows_at_once", [None, 8])
@pytest.mark.parametrize("cap", [1.0, 2.5])
@pytest.mark.parametrize("kind", ["symmetric", "bipartite", "directed"])
def test_products_are_the_dense_ones(kind, cap, rows_at_once, monkeypatch):
    if rows_at_once:
        monkeypatch.setattr(universe, "_SMALL", 0)
        monkeypatch.setattr(universe, "_BLOCK_ENTRIES", 1)
    rng = np.random.default_rng(0)
    for view, dense, expected in views(kind, cap):
        n, m = dense.shape
        assert (view.shape, view.symmetric) == ((n, m), kind == "symmetric")
        right, left = rng.normal(size=(m, 3)), rng.normal(size=(n, 2))
        near = {"abs": 1e-4, "rel": 1e-4}  # float32
        assert view.times(right) == pytest.approx(dense @ right, **near)
        assert view.transposed_times(left) == pytest.approx(dense.T @ left, **near)
        assert view.square_sum() == pytest.approx((dense**2).sum(), rel=1e-5)
        assert view.expected_times(right) == pytest.approx(expected @ right, **near)
        if view.ends is not None:
            assert view.expected_column_sums() == pytest.approx(expected.sum(axis=0), **near)
        assert view.times(right).dtype == np.float64


def test_ends_near_a_star_stay_within_numbers():
    """Degrees that only a star has send one end to infinity and the others to zero."""
    n = 40
    star = Graph(np.zeros(n - 1, int), np.arange(1, n), vertices=n)
    given = problem(star)
    ends = np.full(n, 1e-70)
    ends[0] = 0.7e70
    view = View(given.blocks, (ends, ends))
    assert view.expected_times(np.ones((n, 1)))[:, 0] == pytest.approx(
        [0.7 * (n - 1)] + [0.7] * (n - 1)
    )
    real = chung_lu_ends(star.dense().sum(axis=1) + 0.1)
    assert np.isfinite(View(given.blocks, (real, real)).times(np.ones((n, 1)))).all()
