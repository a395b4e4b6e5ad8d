"""Find communities of a graph, and measure partitions: sums of blocks, modularity.

A partition is one number for each vertex, its part. Of a bipartite graph rows and columns have
partitions of their own, with the same numbers of parts.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph
from graphcuts_dp.resources import repeatable_igraph

_ROWS = 256  # of a dense matrix that are added up at once, so that copies are small


def best_parts(matrix: Any, *, resolution: float | None = None, seed: int = 1) -> IntVector:
    """Find a partition of a graph with a large objective, the same each time.

    Args:
        matrix: symmetric, shape (n, n), dense or sparse; entries below 0 count as 0.
        resolution: None to maximise modularity by Louvain's method; else Leiden's method maximises
            the sum of the weights of pairs within parts, each less `resolution`.
        seed: of the order in which the method looks at vertices, 0 or larger.

    Returns:
        The part of each vertex, shape (n,).

    Source: Blondel, Guillaume, Lambiotte, Lefebvre 2008, and Traag, Waltman, van Eck 2019, as in
    igraph.
    """
    upper = sp.triu(sp.coo_array(matrix), 1).tocoo()
    positive = upper.data > 0
    endpoints = np.column_stack([upper.row[positive], upper.col[positive]])
    weights = upper.data[positive].tolist()
    with repeatable_igraph(seed) as igraph:
        network = igraph.Graph(n=matrix.shape[0], edges=endpoints)
        if resolution is None:
            partition = network.community_multilevel(weights=weights)
        else:
            partition = network.community_leiden(
                objective_function="CPM", weights=weights, resolution=resolution, n_iterations=-1
            )
    return np.asarray(partition.membership, dtype=np.int64)


def communities_of(graph: AnyGraph, *, seed: int = 1) -> IntVector:
    """Return the community of each vertex by Louvain's method; see `best_parts`.

    Args:
        graph: of a directed graph without the directions; of a bipartite graph the left vertices
            come first, then the right ones.
        seed: of `best_parts`.

    Returns:
        Shape (n,), of a bipartite graph (n_left + n_right,).
    """
    matrix = graph.to_scipy()
    if isinstance(graph, BipartiteGraph):
        matrix = sp.block_array([[None, matrix], [matrix.T, None]], format="csr")
    elif isinstance(graph, DirectedGraph):
        matrix = matrix + matrix.T
    return best_parts(matrix, seed=seed)


def block_sums(matrix: Any, rows: IntVector, columns: IntVector | None = None) -> FloatMatrix:
    """Return the sum of the entries between each part of the rows and each part of the columns.

    Args:
        matrix: shape (n_rows, n_columns), dense or sparse; added up in double precision.
        rows: part of each row, shape (n_rows,), from 0.
        columns: part of each column; None if rows and columns are the same vertices.

    Returns:
        Shape (parts, parts), where parts is 1 + the largest number in `rows` and `columns`.
    """
    columns = rows if columns is None else columns
    parts = 1 + max(int(part_of_vertex.max(initial=0)) for part_of_vertex in (rows, columns))
    left, right = _members(rows, parts), _members(columns, parts)
    if sp.issparse(matrix):
        table: FloatMatrix = (left.T @ (matrix @ right)).toarray()
        return table
    table = np.zeros((parts, parts))
    for start in range(0, len(rows), _ROWS):
        row_block = np.asarray(matrix[start : start + _ROWS], dtype=np.float64)
        table += left[start : start + _ROWS].T @ (row_block @ right)
    return table


def modularity(matrix: Any, rows: IntVector, columns: IntVector | None = None) -> float:
    """Return the modularity of a partition: its weight inside parts minus the expected weight.

    With B the sums between parts and w the sum of all entries, it is trace(B)/w minus the sum over
    parts of the row sum times the column sum of B, over w^2.

    Args:
        matrix: symmetric for an undirected graph; of a directed graph that of Leicht and Newman is
            returned, of a bipartite graph Barber's. Dense or sparse.
        rows: part of each row, shape (n_rows,), from 0.
        columns: part of each column; None if rows and columns are the same vertices.

    Returns:
        A number of at most 1; 0 for a matrix whose sum is not above 0.

    Source: Newman 2004; Leicht, Newman 2008; Barber 2007.
    """
    table = block_sums(matrix, rows, columns)
    total = float(table.sum())
    if not total > 0:
        return 0.0
    expected = float(table.sum(axis=1) @ table.sum(axis=0))
    return float(np.trace(table)) / total - expected / total**2


def _members(part_of_vertex: npt.NDArray[Any], parts: int) -> sp.csr_array:
    """Return the matrix of shape (vertices, parts) that is 1 where a vertex is in a part."""
    n = len(part_of_vertex)
    return sp.csr_array((np.ones(n), (np.arange(n), part_of_vertex)), shape=(n, parts))
