"""Graphs from a dense matrix that comes a few rows at a time."""

import numpy as np
import pytest

from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph, from_rows_on
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import VertexSet

RNG = np.random.default_rng(0)
ENTRIES = np.where(RNG.random((11, 11)) < 0.4, RNG.random((11, 11)), 0.0)


def parts(matrix, height):
    return (matrix[start : start + height] for start in range(0, len(matrix), height))


@pytest.mark.parametrize("height", [1, 3, 11])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_same_graph_as_from_the_whole_matrix(height, weighted):
    symmetric = np.triu(ENTRIES, 1) + np.triu(ENTRIES, 1).T
    options = {"weighted": weighted, "weight_cap": 1.0 if weighted else None}
    whole = Graph.of(symmetric, **options)
    # Only what lies above the diagonal is read.
    found = from_rows_on(Universe(11).space, parts(ENTRIES, height), note="x", **options)
    assert found == whole
    assert found.note == "x"
    assert not found.weights.flags.writeable
    assert (found.rows.dtype, found.weights.dtype) == (np.int32, np.float64)
    wide = ENTRIES[:, :7].astype(np.float32)
    both = from_rows_on(Universe(11, 7).space, parts(wide, height), **options)
    assert both == BipartiteGraph.of(wide, **options)


def test_a_matrix_without_entries():
    empty = from_rows_on(VertexSet(4), parts(np.zeros((4, 4), dtype=np.uint8), 3), weighted=False)
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
        from_rows_on(VertexSet(4), parts(matrix, 2), weight_cap=1.0)
