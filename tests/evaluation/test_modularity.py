"""Communities and modularity beside networkx, and the worst cut beside enumeration."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import graphcuts_dp as gc
from graphcuts_dp.evaluation.modularity import block_sums, communities_of, modularity
from graphcuts_dp.evaluation.worst_cut import worst_cut

TOLERANCE = 0.05


@pytest.mark.parametrize("directed", [False, True])
def test_modularity_is_that_of_networkx(directed):
    random = np.random.default_rng(6)
    matrix = random.random((12, 12)) * (1 - np.eye(12))
    matrix = matrix if directed else matrix + matrix.T
    codes = random.integers(0, 3, 12)
    network = nx.from_numpy_array(matrix, create_using=nx.DiGraph if directed else nx.Graph)
    parts = [set(np.flatnonzero(codes == part).tolist()) for part in range(3)]
    expected = nx.community.modularity(network, parts)
    assert modularity(matrix, codes) == pytest.approx(expected)
    assert modularity(sp.csr_array(matrix), codes) == pytest.approx(expected)
    assert modularity(0 * matrix, codes) == 0.0


def test_modularity_of_two_sides_is_barbers():
    """His definition, term by term: the weight within a part less r_i c_j over all weight."""
    random = np.random.default_rng(3)
    matrix, rows, columns = random.random((7, 5)), random.integers(0, 3, 7), np.arange(5) % 2
    r, c, total = matrix.sum(axis=1), matrix.sum(axis=0), matrix.sum()
    same = rows[:, None] == columns
    expected = ((matrix - np.outer(r, c) / total) * same).sum() / total
    assert modularity(matrix, rows, columns) == pytest.approx(expected)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_sums_between_parts_are_those_of_blocks(form):
    """Of more rows than are added up at once, in single precision as well."""
    random = np.random.default_rng(4)
    matrix = random.random((600, 20)).astype(np.float32)
    rows, columns = random.integers(0, 3, 600), random.integers(0, 4, 20)
    expected = [
        [matrix[rows == i][:, columns == j].sum(dtype=np.float64) for j in range(4)]
        for i in range(4)
    ]
    assert block_sums(form(matrix), rows, columns) == pytest.approx(np.array(expected), rel=1e-5)


def test_communities_of_every_kind_of_graph():
    rows, columns = np.nonzero(np.triu(np.arange(24)[:, None] // 12 == np.arange(24) // 12, 1))
    graph = gc.Graph([*rows, 0], [*columns, 12], vertices=24)
    arcs = gc.DirectedGraph([*rows, 0], [*columns, 12], vertices=24)
    sides = gc.BipartiteGraph([*rows, 0], [*columns, 12], left=24, right=24)
    for codes in (communities_of(graph), communities_of(arcs)):
        assert len(set(codes[:12])) == len(set(codes[12:])) == 1
        assert codes[0] != codes[12]
    codes = communities_of(sides, seed=2)
    assert codes.shape == (48,)
    assert codes[1] == codes[24 + 5] != codes[24 + 20]  # left 1 with right 5, not with right 20


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_the_worst_cut_is_that_of_enumeration(low):
    random = np.random.default_rng(8)
    matrix = np.triu(random.uniform(low, 1.0, (9, 9)) * (random.random((9, 9)) < 0.7), 1)
    matrix = matrix + matrix.T
    sums = np.array(list(product((0.0, 1.0), repeat=9))) @ matrix
    expected = max((part * (part > 0)).sum(axis=1).max() for part in (sums, -sums))
    lower, upper = worst_cut(matrix, tolerance=TOLERANCE, time_limit=20.0)
    assert lower <= expected * (1 + 1e-9)
    assert upper >= expected * (1 - 1e-9)
    assert upper <= (1 + TOLERANCE) * lower * (1 + 1e-9)
