"""Measures of a whole matrix: its largest singular value, and the modularity of a partition."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from graphcuts_dp.arrays import IntVector
from scripts.benchmark.base import SparseMatrix
from scripts.benchmark.made_graphs import uniform

_SMALL = 400  # on which all singular values are as fast


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
