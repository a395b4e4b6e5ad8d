"""Check the result of a contender, and bring it into the one form that measures take."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.errors import MatrixError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from scripts.benchmark.base import Answers, Clustering, Estimate, SparseMatrix

_DENSE = 0.2  # share of entries above which a sparse matrix costs more than a dense one
_DENSE_ENTRIES = 5_000**2
_ASYMMETRY = 1e-9  # relative, of rounding


def truth_of(graph: AnyGraph) -> SparseMatrix:
    """Return the sparse matrix of a graph: each edge of an undirected one twice."""
    return graph.to_scipy()


def checked_estimate(estimate: Estimate, graph: AnyGraph) -> SparseMatrix | Answers | Clustering:
    """Return the estimate as a matrix of the graph's shape, a function, or a partition.

    Args:
        estimate: what was handed in.
        graph: the true graph, of which the shape and the kind are read.

    Returns:
        A matrix with a zero diagonal where no pair lies there, symmetric for an undirected graph;
        a graph that is more than a fifth full comes as a dense one, up to 25 million entries.

    Raises:
        MatrixError: another shape or kind, entries that are not finite, no symmetry, or a partition
            of two sides or without a part for each vertex.
    """
    if isinstance(estimate, Clustering):
        return _checked_clustering(estimate, graph)
    if isinstance(estimate, Graph | DirectedGraph | BipartiteGraph):
        if type(estimate) is not type(graph):
            raise MatrixError("the estimate is a graph of another kind")
        return _one_form(estimate.to_scipy(), graph)
    if callable(estimate):
        return estimate
    return _one_form(estimate, graph)


def _checked_clustering(clustering: Clustering, graph: AnyGraph) -> Clustering:
    """Return the same partition with parts numbered from 0 on, without gaps."""
    codes = np.asarray(clustering.codes)
    if isinstance(graph, BipartiteGraph):
        raise MatrixError("a partition is of one set of vertices, and this graph has two")
    if codes.shape != graph.shape[:1] or codes.dtype.kind not in "iu" or (codes < 0).any():
        raise MatrixError("a partition has one integer from 0 on for each vertex")
    return Clustering(np.unique(codes, return_inverse=True)[1].astype(np.int64))


def _one_form(estimate: Any, graph: AnyGraph) -> SparseMatrix:
    sparse = sp.issparse(estimate)
    matrix = sp.csr_array(estimate, dtype=np.float64) if sparse else _dense(estimate)
    if matrix.shape != graph.shape:
        raise MatrixError(f"the estimate has shape {matrix.shape}, the graph {graph.shape}")
    entries = matrix.data if sparse else matrix
    if not np.isfinite(entries).all():
        raise MatrixError("the estimate has entries that are not finite")
    rows, columns = graph.shape
    if sparse and matrix.nnz > _DENSE * rows * columns and rows * columns <= _DENSE_ENTRIES:
        matrix, sparse = matrix.toarray(), False
    if not isinstance(graph, BipartiteGraph):
        matrix = _hollow(matrix) if sparse else matrix.copy()
        if not sparse:
            np.fill_diagonal(matrix, 0.0)
    if isinstance(graph, Graph):
        gap = abs(matrix - matrix.T).max()
        if gap > _ASYMMETRY * abs(matrix).max():
            raise MatrixError("the estimate of an undirected graph must be symmetric")
    return matrix


def _dense(estimate: Any) -> Any:
    try:
        matrix = np.asarray(estimate, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2:
        raise MatrixError(
            "an estimate is a graph, a matrix, a partition, or a function of two masks"
        )
    return matrix


def _hollow(matrix: SparseMatrix) -> SparseMatrix:
    return (matrix - sp.diags_array(matrix.diagonal(), dtype=np.float64)).tocsr()
