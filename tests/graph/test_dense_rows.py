"""Graphs from a dense matrix that comes a few rows at a time."""

import numpy as np
import pytest

from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph

RNG = np.random.default_rng(0)
ENTRIES = np.where(RNG.random((11, 11)) < 0.4, RNG.random((11, 11)), 0.0)


def parts(matrix, height):
    return (matrix[start : start + height] for start in range(0, len(matrix), height))


@pytest.mark.parametrize("height", [1, 3, 11])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_same_graph_as_from_the_whole_matrix(height, weighted):
    symmetric = np.triu(ENTRIES, 1) + np.triu(ENTRIES, 1).T
    options = {"weighted": weighted, "weight_cap": 1.0 if weighted else None}
    whole = Graph.from_matrix(symmetric, **options)
    # Only what lies above the diagonal is read.
    found = Graph.from_rows(parts(ENTRIES, height), vertices=11, note="x", **options)
    assert found == whole
    assert found.note == "x"
    assert not found.weights.flags.writeable
    assert (found.rows.dtype, found.weights.dtype) == (np.int32, np.float64)
    wide = ENTRIES[:, :7].astype(np.float32)
    both = BipartiteGraph.from_rows(parts(wide, height), left=11, right=7, **options)
    assert both == BipartiteGraph.from_matrix(wide, **options)


def test_a_matrix_without_entries():
    empty = Graph.from_rows(parts(np.zeros((4, 4), dtype=np.uint8), 3), vertices=4, weighted=False)
    assert empty == Graph([], [], vertices=4)


@pytest.mark.parametrize(
    ("matrix", "match"),
    [
        (np.zeros((3, 4)), "3 rows for a matrix of 4"),
        (np.zeros((5, 4)), "5 rows for a matrix of 4"),
        (np.zeros((4, 5)), "as long as"),
        (np.full((4, 4), np.nan), "finite"),
        (np.full((4, 4), -1.0), "negative"),
        (np.full((4, 4), 2.0), "weight_cap"),
    ],
)
def test_rows_that_do_not_fit(matrix, match):
    with pytest.raises(GraphError, match=match):
        Graph.from_rows(parts(matrix, 2), vertices=4, weight_cap=1.0)
