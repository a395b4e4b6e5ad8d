"""Measures of a whole matrix: its largest singular value, and what a partition is worth in it."""

import random

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from graphcuts_dp.arrays import IntVector
from scripts.benchmark.base import SparseMatrix
from scripts.benchmark.made_graphs import uniform

_SMALL = 400  # on which all singular values are as fast
_SEED = 1  # of the search for partitions


def largest_singular(matrix: SparseMatrix) -> float:
    """The spectral norm of a dense or sparse matrix, to about 1e-6."""
    if max(matrix.shape) <= _SMALL:
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        return float(np.linalg.norm(dense, 2))
    if not abs(matrix).max():
        return 0.0
    start = uniform(106, min(matrix.shape)) - 0.5
    values = spla.svds(matrix, k=1, v0=start, tol=1e-7, return_singular_vectors=False)
    return float(values[0])


def modularity(matrix: SparseMatrix, codes: IntVector) -> float:
    """Newman's modularity of a partition, of a directed graph that of Leicht and Newman.

    Args:
        matrix: square; of an undirected graph symmetric.
        codes: part of each vertex, shape (n,).

    Returns:
        The share of the weight inside parts beyond that of a graph with the same degrees; 0 for a
        matrix whose sum is not above 0.
    """
    n, parts = len(codes), int(codes.max()) + 1
    member = sp.csr_array((np.ones(n), (np.arange(n), codes)), shape=(n, parts))
    table = member.T @ (matrix @ member)
    table = table.toarray() if sp.issparse(table) else np.asarray(table)
    total = float(table.sum())
    if not total > 0:
        return 0.0
    expected = float(table.sum(axis=1) @ table.sum(axis=0))
    return float(np.trace(table)) / total - expected / total**2


def disagreements(matrix: SparseMatrix, codes: IntVector) -> float:
    """Count the pairs on which a partition and a graph without weights disagree.

    Edges between parts, and pairs within a part that are no edges.

    Args:
        matrix: symmetric, entries 0 and 1, no diagonal.
        codes: part of each vertex, shape (n,).
    """
    sizes = np.bincount(codes).astype(np.float64)
    edges = sp.coo_array(matrix)
    inside = float(np.count_nonzero(codes[edges.row] == codes[edges.col])) / 2
    return float(edges.nnz) / 2 - 2 * inside + float((sizes * (sizes - 1)).sum()) / 2


def best_parts(matrix: SparseMatrix, *, resolution: float | None) -> IntVector:
    """Find a partition of great worth in a graph, the same each time.

    Args:
        matrix: symmetric; entries below 0 count as 0.
        resolution: None for communities of great modularity, by Louvain's method; else for a great
            sum of the weights within parts, each less `resolution`, by Leiden's.

    Source: Blondel, Guillaume, Lambiotte, Lefebvre 2008, and Traag, Waltman, van Eck 2019, as in
    igraph.
    """
    import igraph  # slow to import, and only needed here

    upper = sp.triu(sp.coo_array(matrix), 1).tocoo()
    kept = upper.data > 0
    endpoints = np.column_stack([upper.row[kept], upper.col[kept]])
    network = igraph.Graph(n=matrix.shape[0], edges=endpoints)
    weights = upper.data[kept].tolist()
    igraph.set_random_number_generator(random.Random(_SEED))  # noqa: S311
    try:
        if resolution is None:
            found = network.community_multilevel(weights=weights)
        else:
            found = network.community_leiden(
                objective_function="CPM", weights=weights, resolution=resolution, n_iterations=-1
            )
    finally:
        igraph.set_random_number_generator(random)
    return np.asarray(found.membership, dtype=np.int64)
