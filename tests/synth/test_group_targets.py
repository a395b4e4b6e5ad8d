"""Synthetic graphs that are held to measured sums between public groups.

Row sums of the capped Chung-Lu matrix are the degrees asked for, wherever that is possible.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import CellSums, Degrees
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.release.measuring import measure
from graphcuts_dp.release.shares import group_plan
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.targets import CellEstimates, credible_sums, shrunk
from scripts.benchmark.baselines import chung_lu, chung_lu_bipartite, chung_lu_directed

SIZES = (30, 20, 25, 15)
LABELS = np.repeat(np.arange(4), SIZES)


def made(kind, seed=0):
    """A graph whose blocks differ, and groups that are these blocks."""
    random = np.random.default_rng(seed)
    chances = np.array([[0.5, 0.1, 0.02, 0.3], [0.1, 0.2, 0.4, 0.05], [0.02, 0.4, 0.3, 0.1],
                        [0.3, 0.05, 0.1, 0.6]])  # fmt: skip
    if kind == "two sides":
        columns = LABELS[::2]
        rows, ends = np.nonzero(random.random((90, 45)) < chances[LABELS][:, columns])
        graph = gc.BipartiteGraph(rows, ends, left=90, right=45)
        sides = (graph.left, LABELS), (graph.right, columns)
        return graph, tuple(Groups(each, {"g": own.tolist()}) for each, own in sides)
    rows, ends = np.nonzero(np.triu(random.random((90, 90)) < chances[LABELS][:, LABELS], 1))
    weights = None if kind == "graph" else np.full(len(rows), 1.5)
    cap = None if kind == "graph" else 2.0
    graph = gc.Graph(rows, ends, weights, vertices=90, weight_cap=cap)
    return graph, Groups(graph.vertices, {"g": LABELS.tolist()})


def bought(kind, how, epsilon=8.0):
    graph, groups = made(kind)
    noise = "laplace" if kind == "weights" else "binary"
    found = measure(
        graph,
        epsilon=epsilon,
        noise=noise,
        source=SeededEntropy(5),
        groups=group_plan(graph, groups),
        response=gc.Response(how),
    )
    noisy = found.values[-1]
    cap = noisy.distribution.weight_cap
    degrees, looks = found.find(Degrees), found.all_of(CellSums)
    return (
        graph,
        noisy,
        FitProblem(noisy.blocks, cap, () if degrees is None else (degrees,), None, looks),
    )


@pytest.mark.parametrize("kind", ["graph", "weights", "two sides"])
@pytest.mark.parametrize("how", ["response", "degrees+response"])
def test_degrees_and_sums_between_groups_agree_and_are_near_the_truth(kind, how):
    graph, noisy, problem = bought(kind, how)
    sums = credible_sums(problem, noisy.distribution)
    cells = CellEstimates.of(problem.groups)
    left, right = cells.indicators
    lengths = [np.sqrt(each.sum(axis=0)) for each in (left, right)]
    count = cells.groups.shape
    wanted = sums.groups[: count[0], : count[1]] * np.outer(*lengths)
    # The frame begins with the groups, and degrees have the volumes of the groups as their sums.
    assert np.allclose(sums.left[:, : count[0]] * lengths[0], left)
    assert np.allclose(wanted.sum(axis=1), left.T @ sums.rows)
    assert np.allclose(wanted.sum(axis=0), right.T @ sums.columns)
    assert (sums.slack[: count[0], : count[1]] < sums.slack.max()).all()
    truth = left.T @ graph.dense() @ right
    spread = 2 * np.sqrt(cells.variances.max())
    assert np.abs(wanted - truth).max() <= 6 * spread


@pytest.mark.parametrize("kind", ["graph", "weights", "two sides"])
def test_the_synthetic_graph_has_the_sums(kind):
    graph, groups = made(kind)
    noise = "laplace" if kind == "weights" else "binary"
    release = gc.release_graph(graph, epsilon=2.0, noise=noise, groups=groups, seed=2)
    plain = gc.release_graph(graph, epsilon=2.0, noise=noise, seed=2)
    cells = CellEstimates.of(release.measurements.all_of(CellSums))
    left, right = cells.indicators
    errors = [
        np.abs(left.T @ (each.graph.dense() - graph.dense()) @ right).mean()
        for each in (release, plain)
    ]
    assert errors[0] <= 6 * np.sqrt(cells.variances.max())
    assert errors[0] < errors[1]


def test_generalised_least_squares_of_cells_sums_of_entries_and_degrees():
    """Against the dense formula, with the variances that were promised."""
    for kind in ("graph", "two sides"):
        _, _, problem = bought(kind, "degrees+response")
        cells = CellEstimates.of(problem.groups)
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
    expected = random.random(300) * 50 + 20
    variances = np.full(300, 900.0)
    noise = random.normal(size=300) * 30
    quiet = shrunk(expected + noise, expected, variances, cap=1.0)
    assert np.abs(quiet - expected).mean() < 0.15 * np.abs(noise).mean()
    structure = expected * (1 + 3 * random.normal(size=300))
    loud = shrunk(structure + noise, expected, variances, cap=1.0)
    assert np.abs(loud - structure).mean() < 1.05 * np.abs(noise).mean()


def off_diagonal(weights, columns=None):
    """min(1, w_i v_j), the diagonal zero when both sides are one."""
    matrix = np.minimum(np.outer(weights, weights if columns is None else columns), 1.0)
    if columns is None:
        np.fill_diagonal(matrix, 0.0)
    return matrix


weights = st.lists(st.floats(0.1, 2.0), min_size=8, max_size=30)


@settings(max_examples=25, deadline=None)
@given(weights)
def test_the_degrees_of_such_a_matrix_give_degrees_back(t):
    wanted = off_diagonal(t).sum(axis=1)
    x = chung_lu(wanted)
    assert np.abs(x.sum(axis=1) - wanted).max() <= 1e-4 * wanted.mean()


@settings(max_examples=25, deadline=None)
@given(weights, st.randoms(use_true_random=False))
def test_directed_sums_are_given_back(r, random):
    c = random.sample(r, len(r))
    wanted = np.minimum(np.outer(r, c), 1.0)
    np.fill_diagonal(wanted, 0.0)
    x = chung_lu_directed(wanted.sum(axis=1), wanted.sum(axis=0))
    assert not x.diagonal().any()
    mean = wanted.sum(axis=1).mean()
    for axis in (0, 1):
        assert np.abs(x.sum(axis=axis) - wanted.sum(axis=axis)).max() <= 1e-4 * mean


def test_directed_degrees_at_the_edge():
    """No arcs, one vertex, a star, only one vertex with arcs in: numbers, and no warnings."""
    for rows, columns in (
        ([0, 0], [0, 0]),
        ([1], [1]),
        ([5, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1]),
        ([1, 1, 1], [3, 0, 0]),
        ([2, 2, 2], [2, 2, 2]),
        ([-1, 4], [3, -2]),
    ):
        x = chung_lu_directed(rows, columns)
        assert np.isfinite(x).all()
        assert ((x >= 0) & (x <= 1)).all()
        assert not x.diagonal().any()
    full = chung_lu_directed([2, 2, 2], [2, 2, 2])
    assert full == pytest.approx(1 - np.eye(3))
    star = chung_lu_directed([5, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1])
    assert star.sum(axis=1) == pytest.approx([5, 0, 0, 0, 0, 0])


@settings(max_examples=25, deadline=None)
@given(weights, weights)
def test_bipartite_sums_are_given_back(r, c):
    wanted = off_diagonal(r, c)
    x = chung_lu_bipartite(wanted.sum(axis=1), wanted.sum(axis=0))
    assert np.abs(x.sum(axis=1) - wanted.sum(axis=1)).max() <= 1e-4 * wanted.sum(axis=1).mean()
    assert np.abs(x.sum(axis=0) - wanted.sum(axis=0)).max() <= 1e-4 * wanted.sum(axis=1).mean()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-5, 40), min_size=1, max_size=30))
def test_whatever_the_degrees_it_is_a_graph(degrees):
    x = chung_lu(degrees, max_rounds=50)
    assert x.shape == (len(degrees), len(degrees))
    assert (x >= 0).all()
    assert (x <= 1).all()
    assert np.array_equal(x, x.T)
    assert not x.diagonal().any()
    assert not x[np.array(degrees) <= 0].any()
    y = chung_lu_bipartite(degrees, degrees[::-1], max_rounds=50)
    assert (y >= 0).all()
    assert (y <= 1).all()


def test_the_form_is_a_product_below_the_cap():
    x = chung_lu([8, 5, 3, 2, 2, 2, 2])
    free = x[2:, :2]
    assert np.linalg.matrix_rank(free[:, 1:], tol=1e-9) == 1
    assert x[2, 3] * x[4, 5] == pytest.approx(x[2, 4] * x[3, 5])
    assert x[0, 1] == 1.0


def test_the_degrees_of_a_real_graph():
    graph = gc.datasets.load("us_flights_2008")
    degrees = np.bincount(np.r_[graph.rows, graph.columns])
    assert np.abs(chung_lu(degrees).sum(axis=1) - degrees).max() <= 1e-6


def test_edge_cases():
    assert chung_lu([]).shape == (0, 0)
    assert not chung_lu([3.0]).any()
    assert not chung_lu([0, -1, 0]).any()
    np.testing.assert_allclose(chung_lu([4] * 5), 1 - np.eye(5), atol=1e-8)
    assert not chung_lu_bipartite([0, 0], [1, 2, 3]).any()
    # One vertex asks for more than the others have: they come near their own degrees.
    star = chung_lu([50, 1, 1, 1, 1])
    assert star.sum(axis=1) == pytest.approx([4, 1, 1, 1, 1], abs=0.01)
    assert np.isfinite(chung_lu([1e300, 1e-300, 1, 1])).all()


def test_unequal_totals_meet_in_the_middle():
    x = chung_lu_bipartite([1, 3, 1, 1], [1, 1, 2, 0, 0, 0])
    assert x.sum() == pytest.approx(5)
    assert x.sum(axis=1) == pytest.approx([5 / 6, 15 / 6, 5 / 6, 5 / 6])
    assert x.sum(axis=0) == pytest.approx([1.25, 1.25, 2.5, 0, 0, 0])
