"""Model a graph by its true degrees alone, after Chung and Lu. Reads the truth.

A pair (i, j) has the expected weight r_i c_j / w, where r and c are the sums of the rows and the
columns and w is the sum of all entries; no more than the maximum weight, and 0 on a diagonal.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph, graph_on_space

_MOST_PAIRS = 10**8  # up to which pairs are drawn one by one
_ROWS = 256  # whose pairs are drawn at once
_TINY = 1e-300  # in place of 0, in divisors


def expected_by_degrees(graph: AnyGraph) -> FloatMatrix:
    """Return the matrix of the weights that true degrees expect, dense, of the graph's shape.

    Source: Chung, Lu 2002.
    """
    rows, columns = _sums(graph.to_scipy())
    expected = np.outer(rows, columns / max(rows.sum(), _TINY))
    if not isinstance(graph, BipartiteGraph):
        np.fill_diagonal(expected, 0.0)
    max_weight = graph.max_weight if graph.weighted else 1.0
    return expected if max_weight is None else np.minimum(expected, max_weight, out=expected)


def draw_by_degrees(graph: AnyGraph, *, seed: int) -> AnyGraph:
    """Draw a graph that has the true degrees in expectation, and nothing else of the graph.

    With k and l the numbers of edges of rows and columns, and m their sum, the pair (i, j) is an
    edge with probability min(1, k_i l_j / m). In a weighted graph, an edge has the weight that
    makes its expected weight the one of `expected_by_degrees`. Above 1e8 pairs, k_i l_j / m is the
    mean of a Poisson number of parallel edges, of which one is kept: some large degrees come out
    smaller.

    Args:
        graph: of any kind.
        seed: of the draw, 0 or larger.

    Source: Chung, Lu 2002; Norros, Reittu 2006 for parallel edges.
    """
    rng = np.random.default_rng(seed)
    matrix = graph.to_scipy()
    weight_sums = _sums(matrix)
    matrix.data[:] = 1.0
    degrees = _sums(matrix)
    m = max(float(degrees[0].sum()), _TINY)
    few_pairs = matrix.shape[0] * matrix.shape[1] <= _MOST_PAIRS
    draw = _draw_one_by_one if few_pairs else _draw_with_parallel_edges
    rows, columns = draw(degrees[0], degrees[1] / m, rng)
    is_pair = np.ones(len(rows), dtype=np.bool_)
    if isinstance(graph, Graph):
        is_pair = rows < columns
    elif not isinstance(graph, BipartiteGraph):
        is_pair = rows != columns
    rows, columns = rows[is_pair], columns[is_pair]
    if not graph.weighted:
        return graph_on_space(graph.space, rows, columns)
    total = max(float(weight_sums[0].sum()), _TINY)
    probabilities = np.minimum(degrees[0][rows] * degrees[1][columns] / m, 1.0)
    weights = weight_sums[0][rows] * weight_sums[1][columns] / total / probabilities
    max_weight = graph.max_weight
    if max_weight is not None:
        weights = np.minimum(weights, max_weight)
    return graph_on_space(graph.space, rows, columns, weights, max_weight=max_weight)


def _sums(matrix: Any) -> tuple[FloatVector, FloatVector]:
    """Return the sums of the rows and of the columns of a sparse matrix."""
    rows, columns = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))
    return rows.astype(np.float64), columns.astype(np.float64)


def _draw_one_by_one(
    rows: FloatVector, columns: FloatVector, rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Draw each pair (i, j) by itself, with probability min(1, rows_i columns_j)."""
    edges = []
    for start in range(0, len(rows), _ROWS):
        row_block = rows[start : start + _ROWS]
        hits = np.nonzero(rng.random((len(row_block), len(columns))) < np.outer(row_block, columns))
        edges.append((hits[0] + start, hits[1]))
    return np.concatenate([pair[0] for pair in edges]), np.concatenate([pair[1] for pair in edges])


def _draw_with_parallel_edges(
    rows: FloatVector, columns: FloatVector, rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Draw a Poisson number of edges for each pair (i, j), of mean rows_i columns_j."""
    count = int(rng.poisson(rows.sum() * columns.sum()))
    if not count:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    first, second = (
        rng.choice(len(sums), size=count, p=sums / sums.sum()) for sums in (rows, columns)
    )
    return first, second
