"""Blocks by the equations of Thouless, Anderson and Palmer: honest about noise, and unbiased.

Communities in kept edges: that they are found, and not looked for where there are none.
"""

import math

import numpy as np
import pytest
from noisy_cases import gaussian, indicators, planted_directed, problem

from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.resources import Deadline
from graphcuts_dp.synth import block_model, communities
from graphcuts_dp.synth.block_model import (
    _EVIDENCE_MARGIN,
    best_structure,
    explained,
    fit_blocks,
)
from graphcuts_dp.synth.communities import Edges, find_communities, shows_structure
from graphcuts_dp.synth.message_passing import sharpened_structure
from graphcuts_dp.synth.spectrum import largest_triples
from graphcuts_dp.synth.structure import View


def noisy_blocks(sizes, inside, seed=0, other=None):
    """Entries of a block lie `inside` above those between blocks, on two sides if there are others;
    unit noise."""
    X = indicators(sizes)
    Y = X if other is None else indicators(other)
    expected = inside * (X @ Y.T - (X @ Y.T).mean())
    if other is None:
        np.fill_diagonal(expected, 0)
    return View(gaussian(expected.shape, symmetric=other is None, signal=expected, seed=seed)), X, Y


def fitted(view, count):
    return fit_blocks(view, largest_triples(view), count, 1.0)


def matrix_of(structure):
    return (structure.left * structure.sizes) @ structure.right.T


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(300, 300), (80, 200)])
def test_noise_alone_does_not_reach_the_margin(shape):
    symmetric = shape[0] == shape[1]
    for seed in range(2):
        view = View(gaussian(shape, symmetric=symmetric, seed=seed))
        one = fitted(view, 1).evidence
        assert max(fitted(view, count).evidence for count in (2, 3, 4, 6)) < one + _EVIDENCE_MARGIN
        assert len(best_structure(view, 1.0).sizes) == 0


@pytest.mark.thorough
def test_the_evidence_names_the_number_of_blocks():
    view, X, _ = noisy_blocks((100,) * 4, 2.2 * 20 / 100, seed=0)
    models = {count: fitted(view, count) for count in range(1, 8)}
    best = max(models.values(), key=lambda model: model.evidence)
    assert best.count == 4
    assert best.evidence > models[1].evidence + 50
    found = best.left.argmax(axis=1)
    assert all(np.bincount(found[X[:, b] == 1]).max() > 90 for b in range(4))


def test_one_block_is_the_density():
    """Gaussian integral over one density with a normal prior, by a sum over a fine grid."""
    view = View(gaussian((80, 80), symmetric=True, signal=0.1, seed=3))
    z = view.blocks.estimate()[np.triu_indices(80, 1)]
    densities = np.linspace(-1, 1, 20_001)
    deviation = 0.2
    logs = densities * z.sum() - densities**2 * len(z) / 2
    weights = np.exp(-((densities - z.mean()) ** 2) / (2 * deviation**2))
    weights /= math.sqrt(2 * math.pi) * deviation
    exact = math.log(np.trapezoid(np.exp(logs) * weights, densities))
    assert fitted(view, 1).evidence == pytest.approx(exact, abs=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sizes", "other", "scale", "off", "bias"),
    [((100,) * 4, None, 20 / 100, 130, 60), ((40,) * 4, (100,) * 4, 0.2582, 130, 40)],
    ids=["one side", "two sides"],
)
def test_sums_between_true_blocks_are_unbiased_near_the_threshold(sizes, other, scale, off, bias):
    """Signal 1.5 times the edge, on sides of 400, or of 160 and 400 vertices, where it is
    (sqrt(160) + 20)/2 to a root of 40 times 100: the memberships are soft, the structure's sums are
    not smaller.

    The standard deviation of a sum of noise is 100, or 63; P B P^T itself errs by 170 on average.
    """
    errors, inside = [], 1.5 * scale
    for seed in range(6):
        view, X, Y = noisy_blocks(sizes, inside, seed, other)
        model = fitted(view, 4)
        if other is not None:
            assert model.evidence > max(fitted(view, k).evidence for k in (1, 2)) + _EVIDENCE_MARGIN
        true = inside * np.outer(X.sum(axis=0), Y.sum(axis=0)) * (np.eye(4) - 0.25)
        between = X.T @ matrix_of(model.structure()) @ Y - true
        errors.append(between[~np.eye(4, dtype=bool)])
    assert np.abs(errors).mean() < off
    assert abs(np.mean(errors)) < bias


@pytest.mark.thorough
def test_blocks_near_the_edge_are_told_apart(monkeypatch):
    """Four blocks of 100 whose eigenvalue is 1.7 times sqrt(n): they and their means are found. Of
    two structures the likelier one is kept, and one alone of many vertices."""
    signal = 1.7 * 20 / 100
    view, X, _ = noisy_blocks([100] * 4, signal)
    found = fitted(view, 4).left.argmax(axis=1)
    assert sum(np.bincount(found[X[:, b] == 1]).max() for b in range(4)) > 0.8 * len(X)
    best, sharp = best_structure(view, 1.0), sharpened_structure(view)
    means = X.T @ matrix_of(best) @ X / 100**2
    errors = np.abs(means + signal / 4)[np.triu_indices(4, 1)]
    assert errors.mean() < 0.25 * signal
    assert explained(best, view) >= explained(sharp, view)
    hurried = best_structure(view, 1.0, Deadline(0.0))
    assert len(hurried.sizes) <= 4
    assert np.isfinite(hurried.sizes).all()
    monkeypatch.setattr(block_model, "_MOST_VERTICES", 10)
    assert np.array_equal(best_structure(view, 1.0).sizes, sharp.sizes)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("seed", [4, 5])
def test_blocks_that_are_not_found_again_are_no_structure(seed):
    """Twelve blocks that nothing can see: their likelihood alone would believe blocks of noise."""
    inside = 0.6 * math.sqrt(300) / 25
    view, X, _ = noisy_blocks([25] * 12, inside, seed)
    expected = inside * (X @ X.T - 1 / 12) * (1 - np.eye(300))
    found = matrix_of(best_structure(view, 1.0))
    assert ((found - expected) ** 2).sum() <= 1.02 * (expected**2).sum()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", ["plain", "bipartite", "directed"])
def test_likelihood_against_the_dense_sum(kind):
    view, _, _ = noisy_blocks([60] * 3, 1.0)
    pairs = np.triu(np.ones((180, 180), dtype=bool), 1)
    if kind == "bipartite":
        view = View(Blocks.from_matrix(view.blocks.estimate()[:100], symmetric=False))
        pairs = np.ones((100, 180), dtype=bool)
    if kind == "directed":
        graph, _ = planted_directed([60] * 3, 0.6, 0.1, 0.1)
        view, pairs = View(problem(graph, epsilon=3.0).blocks), ~np.eye(180, dtype=bool)
    structure = best_structure(view, 1.0)
    assert len(structure.sizes)
    T, z = matrix_of(structure), view.blocks.estimate()
    dense = float((z * T - T**2 / 2)[pairs].sum())
    assert explained(structure, view) == pytest.approx(dense, rel=1e-4)


N = 6000


def planted(groups, inside, *, degree=20, activity=0.6, n=N, seed=0):
    """Edges, the chance of each, and the group of each vertex; uneven activity."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, groups, n)
    active = rng.lognormal(0, activity, n)
    rows = rng.choice(n, n * degree // 2, p=active / active.sum())
    columns = rng.choice(n, len(rows), p=active / active.sum())
    within = rng.random(len(rows)) < inside
    for group in range(groups):
        share = active * (codes == group)
        at = within & (codes[rows] == group)
        columns[at] = rng.choice(n, at.sum(), p=share / share.sum())
    apart = rows != columns
    chances = rng.choice([0.3, 0.7, 1.0], apart.sum())
    return rows[apart], columns[apart], chances, codes


@pytest.mark.parametrize(
    ("activity", "degree", "drawn"), [(0.0, 8, N), (0.6, 20, 2000), (1.5, 8, 2000), (1.5, 20, N)]
)
def test_edges_without_communities_are_not_searched(monkeypatch, activity, degree, drawn):
    def never(*_):
        raise AssertionError("searched")

    monkeypatch.setattr(communities, "_MANY_EDGES", 1000)
    monkeypatch.setattr(communities, "_partitions", never)
    monkeypatch.setattr(communities, "_SAMPLED_VERTICES", drawn)
    rows, columns, chances, _ = planted(1, 0.0, degree=degree, activity=activity)
    assert find_communities(rows, columns, chances, N) is None


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("groups", "inside", "many"), [(3, 0.8, 1000), (10, 0.8, 10**9), (40, 0.7, 1000)]
)
def test_planted_communities_are_searched_and_found(monkeypatch, groups, inside, many):
    monkeypatch.setattr(communities, "_MANY_EDGES", many)
    rows, columns, chances, codes = planted(groups, inside)
    found = find_communities(rows, columns, chances, N)
    assert found is not None
    table = np.zeros((groups, found.max() + 1))
    np.add.at(table, (codes, found), 1)
    assert table.max(axis=1).sum() > (0.95 if groups == 3 else 0.8) * N
    assert np.array_equal(found, find_communities(rows, columns, chances, N))


def test_few_edges_at_random_are_searched_in_vain():
    rows, columns, chances, _ = planted(1, 0.0, degree=40, activity=0.0, n=600)
    assert find_communities(rows, columns, chances, 600) is None
    assert find_communities(rows[:9], columns[:9], chances[:9], 600) is None


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(("groups", "drawn"), [(2, 2000), (10, N), (60, 2000), (200, N)])
def test_weak_communities_show(monkeypatch, groups, drawn):
    """Those of second eigenvalue 1.6/sqrt(degree): 1 is where no method sees any."""
    monkeypatch.setattr(communities, "_SAMPLED_VERTICES", drawn)
    *edges, _ = planted(groups, 1.6 / 24**0.5, degree=24, activity=0.0, n=2 * N)
    weights = np.ones(len(edges[0]))
    assert shows_structure(*edges[:2], weights, 2 * N)


def test_the_eigenvalue_is_that_of_the_whole_matrix():
    n = 400
    rows, columns, chances, _ = planted(4, 0.6, n=n)
    whole = np.zeros((n, n))
    np.add.at(whole, (rows, columns), chances)
    whole += whole.T
    degrees = whole.sum(axis=0)
    scale = 1 / np.sqrt(degrees + degrees.mean())
    rest = whole - np.outer(degrees, degrees) / degrees.sum()
    exact = np.linalg.eigvalsh(scale[:, None] * rest * scale)[-1]
    rng = np.random.default_rng(0)
    found = communities._largest_eigenvalue(Edges(rows, columns, chances), n, rng)
    assert found == pytest.approx(exact, rel=1e-4)


def test_edges_among_few_vertices_are_not_compared():
    """Nothing to compare with: they are searched."""
    one = np.array([0])
    assert shows_structure(one, one + 1, np.array([0.0]), 3)
