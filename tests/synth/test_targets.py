"""What a synthetic graph is to have: degrees and sums from noisy data, and those of public groups.

Shrinkage that helps, and sums that fit each other; two estimates, each of which counts for what it
is worth; row sums of the capped Chung-Lu matrix that are the degrees asked for.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from group_cases import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_cases import indicators, planted, planted_bipartite, planted_directed, problem
from noisy_numbers import total_of

import graphcuts_dp as gc
from graphcuts_dp import Groups
from graphcuts_dp.estimate.measurement import CellSums, Degrees
from graphcuts_dp.plugins import FitProblem
from graphcuts_dp.resources import Deadline
from graphcuts_dp.synth import chung_lu as chung_lu_module
from graphcuts_dp.synth import empirical_bayes, targets
from graphcuts_dp.synth.group_sums import CellEstimates, shrunk
from graphcuts_dp.synth.targets import credible_sums


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_posterior_means_beat_raw_on_a_heavy_tail(distribution):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        true = np.minimum(3 * (1 + rng.pareto(1.3, 500)), 500)
        if distribution == "gaussian":
            observed = true + rng.normal(0, 10, 500)
            means = empirical_bayes.posterior_means(
                observed, 10.0, empirical_bayes.grid_for(observed)
            )
        else:
            observed = true + rng.laplace(0, 10 / 2**0.5, 500)
            counts = [(observed, 2**0.5 / 10)]
            means = empirical_bayes.posterior_means(
                observed, math.inf, empirical_bayes.grid_for(observed), counts
            )
        assert ((means - true) ** 2).mean() < 0.6 * ((observed - true) ** 2).mean()
        # The tail is not shrunk away.
        large = true > 100
        assert np.abs(means[large] - true[large]).mean() < 20


@pytest.mark.parametrize("observed", [np.array([3.0]), np.full(7, -2.0), np.array([0.0, 1e12])])
def test_single_equal_and_far_observations(observed):
    grid = empirical_bayes.grid_for(observed)
    assert grid.min() >= observed.min()
    assert grid.max() <= observed.max()
    means = empirical_bayes.posterior_means(observed, 1.0, grid)
    assert means == pytest.approx(observed, rel=0.02, abs=1e-9)


CASES = pytest.mark.parametrize("case", ["undirected", "directed", "bipartite"])


def blocks_of(case, size=60):
    """A graph of two blocks on either side."""
    if case == "undirected":
        return planted((size,) * 2, 0.5, 0.1)[0]
    if case == "directed":
        return planted_directed((size,) * 2, 0.5, 0.1, 0.1)[0]
    return planted_bipartite((size,) * 2, (size * 2 // 3,) * 2, 0.5, 0.1)[0]


def sums_of(asked, *deadline):
    return credible_sums(asked, asked.blocks.distribution, *deadline)


@pytest.mark.thorough(cases=1)
@CASES
def test_sums_fit_each_other_and_noisy_degrees_make_better_ones(case):
    """Totals agree; frames are orthonormal; group sums, raked, have the degrees as margins."""
    graph, errors = blocks_of(case), []
    for degrees in (None, 1):
        asked = [problem(graph, epsilon=0.5, degrees=degrees, seed=seed) for seed in range(2)]
        found = [sums_of(each) for each in asked]
        for sums in found:
            assert (len(sums.rows), len(sums.columns)) == graph.shape
            assert sums.rows.sum() == pytest.approx(sums.columns.sum())
            assert sums.rows.min() > 0
            for frame in (sums.left_frame, sums.right_frame):
                assert frame.T @ frame == pytest.approx(np.eye(frame.shape[1]), abs=1e-9)
            spanned = sums.right_frame @ sums.right_frame.sum(axis=0)
            assert spanned == pytest.approx(np.ones(graph.shape[1]), abs=1e-6)
            near = 0.02 * sums.rows.sum() / len(sums.rows)
            margins = sums.frame_sums @ sums.right_frame.sum(axis=0)
            assert margins == pytest.approx(sums.left_frame.T @ sums.rows, abs=near)
            if case == "undirected":
                assert sums.columns is sums.rows
                assert sums.right_frame is sums.left_frame
                assert np.array_equal(sums.frame_sums, sums.frame_sums.T)
        true = graph.dense().sum(axis=1)
        errors.append(np.mean([((sums.rows - true) ** 2).mean() for sums in found]))
    raw = np.mean([((each.blocks.estimate().sum(axis=1) - true) ** 2).mean() for each in asked])
    assert errors[1] < 0.5 * errors[0] < 0.5 * raw


@pytest.mark.parametrize("degrees", [None, 4])
@CASES
def test_a_better_total_is_used(case, degrees):
    graph = blocks_of(case, 20)
    true = graph.dense().sum()
    asked = problem(graph, epsilon=0.2, degrees=degrees)
    known = replace(asked, total=total_of(true, 1e-3))
    useless = replace(asked, total=total_of(-1e30, 1e30))
    found, plain, same = (
        sums_of(each, Deadline(0.0)).rows.sum() for each in (known, asked, useless)
    )
    assert found == pytest.approx(true, rel=1e-3)
    assert abs(plain - true) > abs(found - true)
    assert same == pytest.approx(plain)


@pytest.mark.thorough
def test_true_blocks_get_their_sums():
    """Of blocks that are well seen: within a tenth. Noisy degrees of little epsilon draw all
    degrees towards one mean, unless blocks are seen.

    Blocks of 160 and 100 have average degrees of 73 and 53. The sum of the noise over a block is
    about 300; without the blocks the sum of the degrees of the larger one errs by 1,000 and more.
    """
    graph, _ = planted((100, 100), 0.6, 0.1)
    groups, A = indicators((100, 100)), graph.dense()
    for degrees in (None, 1):
        sums = sums_of(problem(graph, degrees=degrees))
        inner = groups.T @ sums.left_frame
        assert inner @ sums.frame_sums @ inner.T == pytest.approx(groups.T @ A @ groups, rel=0.1)
    sizes = (160, 130, 110, 100)
    graph, _ = planted(sizes, 0.4, 0.05)
    rows = sums_of(problem(graph, degrees=0.08)).rows
    errors = indicators(sizes).T @ (rows - graph.dense().sum(axis=1))
    assert np.abs(errors).mean() < 400


def seen_by(frame, deviation, seed):
    """Symmetric noise on the sums along a frame, without what touches the vector of ones, which
    both estimates have alike."""
    k = frame.shape[1]
    noise = np.random.default_rng(seed).normal(0, deviation, (k, k))
    ones = frame.sum(axis=0) / np.linalg.norm(frame.sum(axis=0))
    keep = np.eye(k) - np.outer(ones, ones)
    return keep @ (noise + noise.T) @ keep / np.sqrt(2)


def frame_of(n, k):
    columns = np.random.default_rng(0).normal(size=(n, k))
    columns[:, 0] = 1.0
    return np.linalg.qr(columns)[0]


def weighed(seen, frame, deviation, largest, *, symmetric=True):
    nothing = np.zeros(seen.shape)
    return targets.combined_sums(
        seen, nothing, frame, frame, deviation, largest_error=largest, symmetric=symmetric
    )


@pytest.mark.parametrize("symmetric", [True, False])
def test_what_noise_explains_leaves_the_structure_and_the_rest_is_taken(symmetric):
    """A mean squared error of a tenth of the noise's, over 40 draws of ten or more numbers; without
    a weight it would be that of the noise, 36 of variance 1 a draw."""
    frame, errors = frame_of(200, 7), []
    for seed in range(40):
        seen = seen_by(frame, 1.0, seed)
        found = weighed(seen, frame, 1.0, 50.0, symmetric=symmetric)
        errors.append((found**2).sum() / (seen**2).sum())
    assert np.mean(errors) < 0.1
    frame = frame_of(200, 5)
    seen = seen_by(frame, 30.0, 1) + seen_by(frame, 1.0, 2)
    found = weighed(seen, frame, 1.0, 100.0, symmetric=symmetric)
    assert found == pytest.approx(seen, abs=0.5)
    assert not symmetric or np.array_equal(found, found.T)


def test_noise_above_all_that_entries_can_be_counts_for_little():
    """Errors of a size that only the noise has: the matrix gets a weight of (5/1000)^2 at most.
    Sums that the vector of ones tells stay."""
    frame = frame_of(200, 2)
    seen = seen_by(frame, 1000.0, 3)
    assert np.abs(weighed(seen, frame, 1000.0, 5.0)).max() <= 2.5e-5 * np.abs(seen).max()
    frame, said = frame_of(50, 1), np.array([[7.0]])
    assert (
        targets.combined_sums(said, said, frame, frame, 1.0, largest_error=9.0, symmetric=True)
        == said
    )


# Sums between public groups.

LABELS = np.repeat(np.arange(4), (30, 20, 25, 15))
CHANCES = np.array(
    [[0.5, 0.1, 0.02, 0.3], [0.1, 0.2, 0.4, 0.05], [0.02, 0.4, 0.3, 0.1], [0.3, 0.05, 0.1, 0.6]]
)
GROUPED = pytest.mark.parametrize("kind", ["graph", "weights", "two sides"])


def grouped(kind):
    """A graph whose blocks differ, groups that are these blocks, and the noise that suits it."""
    random, columns = np.random.default_rng(0), LABELS[::2]
    if kind == "two sides":
        ends = np.nonzero(random.random((90, 45)) < CHANCES[LABELS][:, columns])
        graph = gc.BipartiteGraph(*ends, left=90, right=45)
        sides = (graph.left, LABELS), (graph.right, columns)
        return graph, tuple(Groups(each, {"g": own.tolist()}) for each, own in sides), "binary"
    ends = np.nonzero(np.triu(random.random((90, 90)) < CHANCES[LABELS][:, LABELS], 1))
    heavy = {"weights": np.full(len(ends[0]), 1.5), "max_weight": 2.0}
    graph = gc.Graph(*ends, vertices=90, **heavy if kind == "weights" else {})
    noise = "laplace" if kind == "weights" else "binary"
    return graph, Groups(graph.vertices, {"g": LABELS.tolist()}), noise


def bought(kind, how):
    """A graph, its noisy entries, and what a fit is given."""
    graph, groups, noise = grouped(kind)
    found = drawn(graph, groups, how, noise=noise, epsilon=8.0).measurements
    noisy, degrees, sums = found.values[-1], found.find(Degrees), found.find(CellSums)
    return graph, FitProblem(noisy.blocks, noisy.distribution.max_weight, degrees, None, sums)


@pytest.mark.thorough(cases=1)
@GROUPED
@pytest.mark.parametrize("how", ["randomized-response", "degrees+randomized-response"])
def test_degrees_and_sums_between_groups_agree_and_are_near_the_truth(kind, how):
    graph, asked = bought(kind, how)
    sums = sums_of(asked)
    cells = CellEstimates.of(asked.groups)
    left, right = cells.indicators
    lengths = [np.sqrt(each.sum(axis=0)) for each in (left, right)]
    count = cells.groups.shape
    wanted = sums.frame_sums[: count[0], : count[1]] * np.outer(*lengths)
    # The frame begins with the groups, and degrees have the volumes of the groups as their sums.
    assert np.allclose(sums.left_frame[:, : count[0]] * lengths[0], left)
    assert np.allclose(wanted.sum(axis=1), left.T @ sums.rows)
    assert np.allclose(wanted.sum(axis=0), right.T @ sums.columns)
    if sums.slack.shape != count:  # besides the groups
        assert (sums.slack[: count[0], : count[1]] < sums.slack.max()).all()
    spread = 2 * np.sqrt(cells.variances.max())
    assert np.abs(wanted - left.T @ graph.dense() @ right).max() <= 6 * spread


@pytest.mark.thorough(cases=1)
@GROUPED
def test_the_synthetic_graph_has_the_sums(kind):
    graph, groups, noise = grouped(kind)
    release, plain = (
        gc.release_graph(graph, epsilon=2.0, noise=noise, groups=given, seed=2)
        for given in (groups, None)
    )
    cells = CellEstimates.of(release.measurements.find(CellSums))
    left, right = cells.indicators
    errors = [
        np.abs(left.T @ (each.graph.dense() - graph.dense()) @ right).mean()
        for each in (release, plain)
    ]
    assert errors[0] <= 6 * np.sqrt(cells.variances.max())
    assert errors[0] < errors[1]


@pytest.mark.parametrize("kind", ["graph", "two sides"])
def test_generalised_least_squares_of_cells_sums_of_entries_and_degrees(kind):
    """Against the dense formula, with the variances that were guaranteed."""
    cells = CellEstimates.of(bought(kind, "degrees+randomized-response")[1].groups)
    random = np.random.default_rng(1)
    seen = random.normal(size=len(cells.values)) * 50
    volumes = tuple(random.normal(size=count) * 50 for count in cells.groups.shape)
    spreads = tuple(random.random(count) + 1 for count in cells.groups.shape)
    both = cells.with_entries(seen, 0.9).with_volumes(volumes, spreads)
    ends = np.zeros((sum(cells.groups.shape), len(cells.values)))
    for cell, (a, b) in enumerate(zip(*cells.groups.ends, strict=True)):
        ends[a, cell] += 1
        ends[b if cells.symmetric else cells.groups.shape[0] + b, cell] += 1
    if cells.symmetric:
        ends, volumes, spreads = ends[: cells.groups.shape[0]], volumes[:1], spreads[:1]
    patterns = np.vstack([np.eye(len(seen)), np.eye(len(seen)), ends])
    values = np.concatenate([cells.values, seen, *volumes])
    variances = np.concatenate([cells.variances, 0.9 * cells.groups.pairs, *spreads])
    inverse = np.linalg.inv(patterns.T @ (patterns / variances[:, None]))
    assert np.allclose(both.values, inverse @ patterns.T @ (values / variances))
    assert np.allclose(both.variances, np.diag(inverse))


def test_what_noise_explains_is_drawn_to_what_degrees_expect():
    random = np.random.default_rng(8)
    expected, variances = random.random(300) * 50 + 20, np.full(300, 900.0)
    noise = random.normal(size=300) * 30
    structure = expected * (1 + 3 * random.normal(size=300))
    for truth, most in ((expected, 0.15), (structure, 1.05)):
        found = shrunk(truth + noise, expected, variances, cap=1.0)
        assert np.abs(found - truth).mean() < most * np.abs(noise).mean()


# The capped Chung-Lu matrix.


def chung_lu(kind, rows, columns):
    """The matrix of what was found, which is a graph: finite, within the box, hollow, symmetric."""
    if kind == "graph":
        r, c = chung_lu_module.chung_lu_factors(rows)
    else:
        r, c = chung_lu_module.chung_lu_factors(rows, columns, hollow=kind == "arcs")
    x = np.minimum(np.outer(r, c), 1.0)
    if kind != "two sides":
        np.fill_diagonal(x, 0.0)
    assert np.isfinite(x).all()
    assert x.min(initial=0) >= 0
    assert kind != "graph" or np.array_equal(x, x.T)
    return x


kinds = st.sampled_from(["graph", "arcs", "two sides"])
weights = st.lists(st.floats(0.1, 2.0), min_size=8, max_size=30)


@settings(max_examples=60, deadline=None)
@given(kinds, weights, weights, st.randoms(use_true_random=False))
def test_the_sums_of_such_a_matrix_give_it_back(kind, r, c, random):
    c = {"graph": r, "arcs": random.sample(r, len(r)), "two sides": c}[kind]
    wanted = np.minimum(np.outer(r, c), 1.0)
    if kind != "two sides":
        np.fill_diagonal(wanted, 0.0)
    x = chung_lu(kind, wanted.sum(axis=1), wanted.sum(axis=0))
    for axis in (0, 1):
        away = np.abs(x.sum(axis=axis) - wanted.sum(axis=axis)).max()
        assert away <= 1e-4 * wanted.sum(axis=1).mean()


@settings(max_examples=60, deadline=None)
@given(kinds, st.lists(st.integers(-5, 40), min_size=1, max_size=30))
def test_whatever_the_degrees_it_is_a_graph(kind, degrees):
    x = chung_lu(kind, degrees, degrees[::-1])
    assert not x[np.array(degrees) <= 0].any()


@pytest.mark.parametrize(
    ("kind", "rows", "columns", "sums"),
    [
        ("graph", [], [], []),
        ("graph", [3.0], [], [0]),
        ("graph", [0, -1, 0], [], [0, 0, 0]),
        ("graph", [4] * 5, [], [4] * 5),
        # One vertex asks for more than the others have: they come near their own degrees.
        ("graph", [50, 1, 1, 1, 1], [], [4, 1, 1, 1, 1]),
        ("graph", [1e300, 1e-300, 1, 1], [], None),
        ("arcs", [5, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1], [5, 0, 0, 0, 0, 0]),
        ("arcs", [1, 1, 1], [3, 0, 0], None),
        ("arcs", [2, 2, 2], [2, 2, 2], [2, 2, 2]),
        ("two sides", [0, 0], [1, 2, 3], [0, 0]),
        # Unequal totals meet in the middle.
        ("two sides", [1, 3, 1, 1], [1, 1, 2, 0, 0, 0], [5 / 6, 15 / 6, 5 / 6, 5 / 6]),
    ],
)
def test_degrees_at_the_edge(kind, rows, columns, sums):
    """Numbers, and no warnings."""
    x = chung_lu(kind, rows, columns)
    if sums is not None:
        assert x.sum(axis=1) == pytest.approx(sums, abs=0.01)


def test_the_degrees_of_a_real_graph():
    graph = gc.datasets.load("us_flights_2008")
    degrees = np.bincount(np.r_[graph.rows, graph.columns])
    assert np.abs(chung_lu("graph", degrees, []).sum(axis=1) - degrees).max() <= 1e-6
