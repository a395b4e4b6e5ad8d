"""The noisy norms of bipartite graphs: sensitivity, proven nearness, and that they bound the norm.

Both count 1,024 steps for a change by 1: the sum of the roots of the left degrees, and the nuclear
norm.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure import private_norms as measured
from graphcuts_dp.measure.private_norms import (
    NUCLEAR_STEPS,
    ROOT_STEPS,
    measure_nuclear_norm,
    measure_root_degrees,
    nuclear_norm,
    root_degrees,
)
from graphcuts_dp.plugins import SeededEntropy, ValueNoise

BOTH = pytest.mark.parametrize("norm", [root_degrees, nuclear_norm])
CHARGED = {root_degrees: ROOT_STEPS, nuclear_norm: NUCLEAR_STEPS}


def graph_of(matrix, cap=None):
    rows, columns = np.nonzero(matrix)
    weights = () if cap is None else (matrix[rows, columns],)
    more = {} if cap is None else {"max_weight": cap}
    left, right = matrix.shape
    return gc.BipartiteGraph(rows, columns, *weights, left=left, right=right, **more)


def count(matrix, cap=None, norm=nuclear_norm):
    graph = graph_of(matrix, cap)
    return norm(graph, Grid.of(graph))


def true_norm(matrix):
    return float(np.linalg.svd(np.asarray(matrix, dtype=float), compute_uv=False).sum())


@BOTH
def test_changing_a_pair_moves_the_count_by_what_is_charged_and_hardly_less(norm):
    """All graphs on 3 x 3 vertices and all their neighbours."""
    found = {
        bits: count(np.array(bits).reshape(3, 3), norm=norm)
        for bits in itertools.product((0, 1), repeat=9)
    }
    moved = [
        abs(found[bits] - found[(*bits[:k], 1 - bits[k], *bits[k + 1 :])])
        for bits, k in itertools.product(found, range(9))
    ]
    assert 1024 <= max(moved) <= CHARGED[norm]


@BOTH
def test_changing_a_weight_moves_the_count_by_at_most_what_is_charged(norm):
    rng, largest = np.random.default_rng(4), 0
    for shape in ((2, 3), (4, 4), (3, 9), (30, 20)):
        for _ in range(60):
            low = np.outer(rng.random(shape[0]), rng.random(shape[1]))
            matrix = 3.0 * low * (rng.random(shape) < 0.8)
            other = matrix.copy()
            place = rng.integers(shape[0]), rng.integers(shape[1])
            other[place] = rng.choice([0.0, 0.0005, 2.999, 3.0])
            matrix[place] = rng.choice([0.0, 3.0, matrix[place]])
            moved = count(matrix, 3.0, norm) - count(other, 3.0, norm)
            largest = max(largest, abs(moved))
    assert 0.5 * CHARGED[norm] < largest <= CHARGED[norm]


def test_roots_bound_the_group_norm_and_are_exact_but_for_a_step_a_row():
    rng = np.random.default_rng(5)
    for _ in range(50):
        matrix = rng.random((2, 3)) * 3 * (rng.random((2, 3)) < 0.7)
        steps = count(matrix, 3.0, root_degrees)
        roots = float(np.sqrt((matrix / 3.0).sum(axis=1)).sum())
        assert roots * ROOT_STEPS - 2.01 <= steps <= roots * ROOT_STEPS + 1e-6
        assert (steps + 2.01) / ROOT_STEPS >= np.linalg.norm(matrix / 3.0, axis=1).sum()


def test_nuclear_norms_that_are_known():
    block = np.zeros((8, 12))
    block[:4, :9] = 1
    assert abs(count(block) - 6 * 1024) <= 1  # of rank one: its Euclidean norm
    assert abs(count(np.eye(7)) - 7 * 1024) <= 1
    assert count(np.zeros((3, 4))) == 0
    assert count(2.5 * block, 2.5) == pytest.approx(6 * 1024, abs=1)


@pytest.mark.parametrize("n", [2, 40, 300])
def test_what_is_computed_passes_its_check_on_matrices_of_every_kind(n):
    rng = np.random.default_rng(n)
    hilbert = 1.0 / (1.0 + np.add.outer(np.arange(n), np.arange(n)))
    kinds = [
        rng.random((n, n)),
        (rng.random((n, 2 * n)) < 0.03).astype(float),
        np.ones((n, n)),
        np.triu(np.ones((n, n))),
        np.eye(n),
        hilbert,
        np.outer(2.0 ** -np.linspace(0, 30, n), np.ones(n)),
        np.zeros((n, n)),
        np.kron(np.eye(2), np.ones((n // 2, n // 2))),
    ]
    for matrix in kinds:
        assert measured._checked_norm(matrix) == pytest.approx(true_norm(matrix), abs=1e-6)


def test_the_check_finds_what_is_wrong():
    matrix = np.random.default_rng(1).random((20, 30))
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    assert measured._is_near(matrix, left, values, right)
    for parts in (
        (left, values + 1e-3, right),
        (left * (1 + 1e-4), values, right),
        (left, values, right * (1 + 1e-4)),
        (left, np.append(values[:-1], 0.0), right),
        (left[:, ::-1], values, right),
    ):
        assert not measured._is_near(matrix, *parts)


def test_without_a_proof_the_count_is_public(monkeypatch):
    """The same for all graphs on these vertices."""
    monkeypatch.setattr(measured, "_is_near", lambda *_: False)
    most = math.floor(1024 * math.sqrt(3 * 12))
    assert count(np.ones((3, 4))) == count(np.eye(3, 4)) == most

    def fails(*_, **__):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "svd", fails)
    assert count(np.ones((3, 4))) == most


@pytest.mark.parametrize(
    ("buy", "norm", "truth", "rounded"),
    [
        (measure_root_degrees, root_degrees, lambda x: np.sqrt(x.sum(axis=1)).sum(), 10),
        (measure_nuclear_norm, nuclear_norm, true_norm, 4),
    ],
    ids=["root degrees", "nuclear norm"],
)
def test_what_is_bought_is_not_below_the_truth_where_the_noise_is_within_its_radius(
    buy, norm, truth, rounded
):
    matrix = np.random.default_rng(2).random((9, 7)) * 3.0
    graph = graph_of(matrix, 3.0)
    noise = ValueNoise("gaussian", Fraction(5 * CHARGED[norm]) ** 2)
    radius, exact = noise.radius(1e-9), truth(matrix / 3.0)
    for seed in range(50):
        bought = buy(graph, Grid.of(graph), noise, radius, SeededEntropy(seed))
        assert exact * (1 - 1e-6) <= bought <= exact + (2 * radius + rounded) / 1024


@BOTH
def test_other_graphs_are_refused(norm):
    with pytest.raises(ParameterError, match="of bipartite graphs"):
        norm(gc.Graph([0], [1], vertices=3), Grid())
    graph = graph_of(np.ones((2, 3)))
    with pytest.raises(ParameterError, match="for guarantees for edges"):
        norm(graph, Grid.of_vertices(graph, 2))
