"""Communities in kept edges: that they are found, and not looked for where there are none."""

import numpy as np
import pytest

from graphcuts_dp.synth import block_model
from graphcuts_dp.synth.block_model import found_groups, shows_structure

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


@pytest.fixture
def _many(monkeypatch):
    """Graphs of these tests count as large."""
    monkeypatch.setattr(block_model, "_MANY", 1000)


@pytest.mark.usefixtures("_many")
@pytest.mark.parametrize("activity", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("degree", [8, 20])
@pytest.mark.parametrize("drawn", [2000, N])
def test_edges_without_communities_are_not_searched(monkeypatch, activity, degree, drawn):
    def never(*_):
        raise AssertionError("searched")

    monkeypatch.setattr(block_model, "_partitions", never)
    monkeypatch.setattr(block_model, "_DRAWN", drawn)
    rows, columns, chances, _ = planted(1, 0.0, degree=degree, activity=activity)
    assert found_groups(rows, columns, chances, N) is None


@pytest.mark.usefixtures("_many")
@pytest.mark.parametrize(("groups", "inside"), [(10, 0.8), (40, 0.7)])
def test_planted_communities_are_searched_and_found(groups, inside):
    rows, columns, chances, codes = planted(groups, inside)
    found = found_groups(rows, columns, chances, N)
    assert found is not None
    table = np.zeros((groups, found.max() + 1))
    np.add.at(table, (codes, found), 1)
    assert table.max(axis=1).sum() > 0.8 * N


@pytest.mark.parametrize("groups", [2, 10, 60, 200])
@pytest.mark.parametrize("drawn", [2000, N])
def test_weak_communities_show(monkeypatch, groups, drawn):
    """Those of second eigenvalue 1.6/sqrt(degree): 1 is where no method sees any."""
    monkeypatch.setattr(block_model, "_DRAWN", drawn)
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
    assert block_model._largest(rows, columns, chances, n, rng) == pytest.approx(exact, rel=1e-4)


def test_edges_among_few_vertices_are_not_compared():
    """Nothing to compare with: they are searched."""
    one = np.array([0])
    assert shows_structure(one, one + 1, np.array([0.0]), 3)
