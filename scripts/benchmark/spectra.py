"""Measure a whole matrix: its largest singular value, and how a partition disagrees with it."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from graphcuts_dp.arrays import IntVector
from scripts.benchmark.base import SparseMatrix
from scripts.benchmark.made_graphs import uniform

_SMALL = 400  # on which all singular values are as fast


def largest_singular(matrix: SparseMatrix) -> float:
    """Return the spectral norm of a dense or sparse matrix, to about 1e-6."""
    if max(matrix.shape) <= _SMALL:
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        return float(np.linalg.norm(dense, 2))
    if not abs(matrix).max():
        return 0.0
    start = uniform(106, min(matrix.shape)) - 0.5
    values = spla.svds(matrix, k=1, v0=start, tol=1e-7, return_singular_vectors=False)
    return float(values[0])


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
