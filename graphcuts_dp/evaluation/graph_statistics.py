"""Compute statistics of a graph that researchers report. Of a private graph, none is private.

All take scipy sparse matrices in canonical form, with entries > 0 and no others: "symmetric" for an
undirected graph, of shape (n, n) with u -> v in row u for a directed one, of shape (n_left,
n_right) for a bipartite one. What cannot be defined is None: of a graph without edges, there is no
mean path length.

Where the exact number would take long, it is estimated from a sample, and a `StatisticValue` says
so.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.sparse.csgraph import connected_components

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.resources import repeatable_igraph

_MOST_DENSE_VERTICES = 1_000  # vertices up to which triangles are counted in a dense matrix
_MOST_TERMS = 2 * 10**7  # pairs of neighbours, of all vertices, that are looked at one by one
_WEDGES = 200_000  # pairs of neighbours in a sample: shares of it have a deviation below .0012
_MOST_SOURCES = 1_000  # vertices up to which all paths are measured
_SAMPLED_SOURCES = 500
_FEWEST_SOURCES = 20
_MOST_STEPS = 3 * 10**8  # edges and vertices that all searches for paths together may meet
_MOST_DENSE_ROWS = 400  # rows up to which all eigenvalues are as fast as some


class StatisticValue(NamedTuple):
    """A number that describes a graph.

    Attributes:
        value: the number; None if it is not defined.
        sample: what it was estimated from; "" if it is exact.
    """

    value: float | None
    sample: str = ""


def clustering(matrix: sp.csr_array, *, seed: int = 0) -> tuple[StatisticValue, StatisticValue]:
    """Return the global and the mean local clustering coefficient of an undirected graph.

    With closed_i the sum over ordered pairs of neighbours j, k of i of (w_ij w_ik w_jk)^(1/3), and
    d_i the number of neighbours: sum_i closed_i / sum_i d_i (d_i - 1), and the mean over all
    vertices of closed_i / (d_i (d_i - 1)), which counts as 0 for fewer than two neighbours. If all
    entries are one, these are transitivity and Watts and Strogatz's coefficient.

    Args:
        matrix: symmetric, shape (n, n), entries in (0, 1]; divide weights by the largest one.
        seed: of the samples. Above 1,000 vertices and 2e7 pairs of neighbours, each coefficient is
            estimated from 200,000 pairs of neighbours.

    Source: Watts, Strogatz 1998; Onnela, Saramaki, Kertesz, Kaski 2005 for weights; Seshadhri,
    Pinar, Kolda 2013 for the sample.
    """
    roots = matrix.copy()
    roots.data = np.cbrt(roots.data)
    degrees = np.diff(matrix.indptr).astype(np.float64)
    pairs = degrees * (degrees - 1)
    if not pairs.sum():
        return StatisticValue(0.0), StatisticValue(0.0)
    if len(degrees) > _MOST_DENSE_VERTICES and float((degrees**2).sum()) > _MOST_TERMS:
        return _sampled_clustering(roots, pairs, np.random.default_rng(seed))
    if len(degrees) <= _MOST_DENSE_VERTICES:
        dense = roots.toarray()
        closed = ((dense @ dense) * dense).sum(axis=1)
    else:
        closed = np.asarray((roots @ roots).multiply(roots).sum(axis=1)).ravel()
    local = np.divide(closed, pairs, out=np.zeros_like(closed), where=pairs > 0)
    return StatisticValue(float(closed.sum() / pairs.sum())), StatisticValue(float(local.mean()))


def bipartite_clustering(matrix: sp.csr_array) -> StatisticValue:
    """Return four times the number of squares over the number of paths of three edges.

    Args:
        matrix: shape (n_left, n_right), all entries one.

    Source: Robins, Alexander 2004.
    """
    shared = (
        matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    ).tocoo()
    common = shared.data[shared.row < shared.col]
    squares = float((common * (common - 1) / 2).sum())
    left, right = _degrees(matrix)
    edges = matrix.tocoo()
    paths = float(((left[edges.row] - 1) * (right[edges.col] - 1)).sum())
    return StatisticValue(4 * squares / paths if paths else 0.0)


def assortativity(matrix: sp.csr_array) -> StatisticValue:
    """Return the correlation of the degrees of both endpoints of an edge.

    Of an undirected graph each edge counts in both orders; of a directed one the out-degree of the
    tail and the in-degree of the head count; of a bipartite one the degrees of left and right.

    Args:
        matrix: as in the module docstring; the sizes of its entries do not matter.

    Source: Newman 2003.
    """
    tails, heads = _degrees(matrix)
    edges = matrix.tocoo()
    first, second = tails[edges.row], heads[edges.col]
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return StatisticValue(None)
    return StatisticValue(float(np.corrcoef(first, second)[0, 1]))


def reciprocity(matrix: sp.csr_array) -> StatisticValue:
    """Return the share of arcs whose reverse is an arc, too; None without arcs."""
    if not matrix.nnz:
        return StatisticValue(None)
    pattern = matrix.copy()
    pattern.data[:] = 1.0
    return StatisticValue(float(pattern.multiply(pattern.T).sum()) / matrix.nnz)


def path_lengths(
    matrix: sp.csr_array, *, directed: bool = False, seed: int = 0
) -> tuple[StatisticValue, StatisticValue]:
    """Return the mean path length in the largest component, and its share of all vertices.

    The length of a path is its number of edges, whatever they weigh. The mean is over all ordered
    pairs of vertices of the component, of a directed graph of the largest strongly connected one.
    Above 1,000 vertices in it, paths are measured from 500 random vertices to all others; from
    fewer, at least 20, if the graph has more than about 600,000 edges.

    Args:
        matrix: square; of a bipartite graph that of all vertices together.
        directed: whether arcs are followed from row to column alone.
        seed: of the sample.

    Returns:
        The mean is None if no two vertices are connected.
    """
    n = matrix.shape[0]
    _, labels = connected_components(matrix, directed=directed, connection="strong")
    members = np.flatnonzero(labels == np.argmax(np.bincount(labels)))
    size = len(members)
    share = StatisticValue(size / n)
    if size < 2:
        return StatisticValue(None), share
    component = matrix[members][:, members].tocoo()
    count, sample = size, ""
    if size > _MOST_SOURCES:
        affordable = _MOST_STEPS // (size + component.nnz)
        count = min(size, max(_FEWEST_SOURCES, min(_SAMPLED_SOURCES, affordable)))
        sample = f"{count:,} of {size:,} vertices"
    sources = np.sort(np.random.default_rng(seed).choice(size, size=count, replace=False))
    upper = slice(None) if directed else component.row < component.col
    with repeatable_igraph() as igraph:
        endpoints = np.column_stack([component.row[upper], component.col[upper]])
        network = igraph.Graph(n=size, edges=endpoints, directed=directed)
        total = sum(sum(network.distances(source=int(source), mode="out")[0]) for source in sources)
    return StatisticValue(float(total) / (count * (size - 1)), sample), share


def leading_values(matrix: sp.csr_array, count: int, *, symmetric: bool) -> FloatVector | None:
    """Return the largest eigenvalues of a symmetric matrix, or else the largest singular values.

    Args:
        matrix: sparse, of any shape if not symmetric.
        count: the most values, > 0.
        symmetric: whether eigenvalues are wanted.

    Returns:
        In descending order; fewer than `count` of a matrix with a side that is shorter. None if the
        computation did not converge.
    """
    side = min(matrix.shape)
    count = min(count, side)
    if not matrix.nnz:
        return np.zeros(count)
    if side <= max(_MOST_DENSE_ROWS, count + 1):
        dense = matrix.toarray()
        values = np.linalg.eigvalsh(dense) if symmetric else np.linalg.svd(dense, compute_uv=False)
        return np.sort(values)[::-1][:count]
    start = np.random.default_rng(0).random(side) + 0.5
    try:
        if symmetric:
            values = spla.eigsh(matrix, k=count, which="LA", v0=start, return_eigenvectors=False)
        else:
            values = spla.svds(matrix, k=count, v0=start, return_singular_vectors=False)
    except spla.ArpackNoConvergence:
        return None
    return np.sort(values)[::-1]


def kolmogorov_smirnov(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return the Kolmogorov-Smirnov distance of two samples.

    It is the largest difference between their distribution functions.

    Args:
        first: numbers, any number of them.
        second: numbers, any number of them.

    Returns:
        In [0, 1]; None if one sample is empty.
    """
    samples = [np.sort(np.asarray(sample)) for sample in (first, second)]
    if not all(map(len, samples)):
        return None
    values = np.concatenate(samples)
    shares = [np.searchsorted(sample, values, side="right") / len(sample) for sample in samples]
    return float(np.abs(shares[0] - shares[1]).max())


def earth_movers_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return the earth mover's distance of two samples; None if one is empty.

    It is the area between the two distribution functions.
    """
    from scipy.stats import wasserstein_distance  # slow to import

    x, y = np.asarray(first), np.asarray(second)
    return float(wasserstein_distance(x, y)) if len(x) and len(y) else None


def _sampled_clustering(
    roots: sp.csr_array, pairs: FloatVector, rng: np.random.Generator
) -> tuple[StatisticValue, StatisticValue]:
    """Estimate both coefficients of `clustering` from random pairs of neighbours."""
    sample = f"{_WEDGES:,} pairs of neighbours"
    centres = np.flatnonzero(pairs)
    by_pairs = rng.choice(len(pairs), size=_WEDGES, p=pairs / pairs.sum())
    by_vertex = rng.choice(centres, size=_WEDGES)
    overall = float(_triangle_products(roots, by_pairs, rng).mean())
    local = float(_triangle_products(roots, by_vertex, rng).mean()) * len(centres) / len(pairs)
    return StatisticValue(overall, sample), StatisticValue(local, sample)


def _triangle_products(
    roots: sp.csr_array, centres: npt.NDArray[Any], rng: np.random.Generator
) -> FloatVector:
    """Return, for each centre, the product of entries of a random triangle; 0 if it is open."""
    start, n = roots.indptr[centres].astype(np.int64), roots.shape[0]
    degrees = roots.indptr[centres + 1] - start
    first = rng.integers(degrees)
    second = rng.integers(degrees - 1)
    second += second >= first  # another neighbour, uniformly
    j, k = roots.indices[start + first].astype(np.int64), roots.indices[start + second]
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(roots.indptr))
    keys, wanted_keys = rows * n + roots.indices, j * n + k
    index = np.minimum(np.searchsorted(keys, wanted_keys), len(keys) - 1)
    third = np.where(keys[index] == wanted_keys, roots.data[index], 0.0)
    product: FloatVector = roots.data[start + first] * roots.data[start + second] * third
    return product


def _degrees(matrix: sp.csr_array) -> tuple[FloatVector, FloatVector]:
    """Return the number of entries of each row, and of each column."""
    columns = np.bincount(matrix.indices, minlength=matrix.shape[1])
    return np.diff(matrix.indptr).astype(np.float64), columns.astype(np.float64)
