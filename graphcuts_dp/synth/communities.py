"""Communities among the kept edges of a sparse release.

A sparse release keeps the pairs whose noisy weight reaches a threshold. Each kept pair comes with
the probability that it is an edge (its chance), and these chances are the weights here.
`find_communities` groups the vertices by Leiden's algorithm at several resolutions, and takes the
groups that best predict a fifth of the edges, which the algorithm did not see. Leiden takes longest
where there are no communities; of many edges, `shows_structure` therefore tests first whether
their matrix has a direction that the degrees alone do not give it.

Kept edges are noisy and public, so all of this is post-processing. The result is repeatable:
`repeatable_igraph(seed)` gives igraph a random generator with this seed (by default 0) for as long
as the `with` block lasts.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector, FloatVector, IndexArray, IntVector
from graphcuts_dp.resources import repeatable_igraph

_FEWEST_EDGES = 4.0  # times the root of the number of vertices; with fewer, groups are not sought
_RESOLUTIONS = (0.05, 0.15, 0.4, 1.0, 2.5)  # of modularity; higher ones give smaller groups
_FEW_RESOLUTIONS = (0.3, 1.0)  # that are tried for many edges
_MANY_EDGES = 500_000  # above, few resolutions are tried, and only after `shows_structure`
_HELD_OUT = 5  # every fifth edge is held out
# Log likelihood that a partition must gain, for each held-out edge, over the best partition into
# larger groups, or over no groups.
_LEAST_GAIN = 0.02
_LEAST_SHARE = 1 / 200  # of all vertices: smaller groups are dissolved
_SMALLEST_GROUP = 8  # vertices: smaller groups are dissolved as well
_MOST_GROUPS = 64
_MOVES = 6  # rounds in which members of dissolved groups join the groups of their neighbours
_LANCZOS_STEPS = 32
# Factor by which the largest eigenvalue must exceed that of a random graph with the same degrees.
# In graphs in which Leiden finds groups, the ratio is at least 1.18.
_BEYOND_DEGREES = 1.05
_TINY_NORM = 1e-20  # of a Lanczos vector once the space is exhausted
_SAMPLED_VERTICES = 100_000  # of the random graph that has the degrees alone


class Edges(NamedTuple):
    """Kept edges as arrays of one length.

    Attributes:
        rows: one endpoint of each edge.
        columns: the other endpoint.
        chances: probability that it is an edge of the graph.
    """

    rows: IndexArray
    columns: IndexArray
    chances: FloatVector

    def where(self, mask: BoolVector) -> "Edges":
        """Return the edges where a mask is true."""
        return Edges(self.rows[mask], self.columns[mask], self.chances[mask])


def find_communities(
    rows: IndexArray, columns: IndexArray, chances: FloatVector, vertices: int
) -> IntVector | None:
    """Return a group for each vertex, or None if kept edges show no groups worth measuring.

    Leiden's algorithm maximises modularity at several resolutions, on four fifths of the edges.
    Vertices of small groups then join large groups (`_large_groups`). The resolution is taken whose
    groups have the largest likelihood on the other edges, under a degree-corrected block model.
    With this resolution, Leiden's algorithm is run again on all edges.

    Args:
        rows: one endpoint of each kept edge.
        columns: the other endpoint.
        chances: probability that each is an edge.
        vertices: number of vertices.

    Privacy: reads kept edges alone, which are public noisy data.

    Source: Traag, Waltman, van Eck 2019 (Leiden); Karrer, Newman 2011 (likelihood).
    """
    edges = Edges(rows, columns, chances)
    if len(rows) < _FEWEST_EDGES * math.sqrt(vertices):
        return None
    many = len(rows) > _MANY_EDGES
    if many and not shows_structure(rows, columns, chances, vertices):
        return None
    held_out = np.arange(len(rows)) % _HELD_OUT == 0
    training, test = edges.where(~held_out), edges.where(held_out)
    least_gain = _LEAST_GAIN * float(test.chances.sum())
    resolutions = _FEW_RESOLUTIONS if many else _RESOLUTIONS
    partitions = _partitions(training, vertices, resolutions)
    best_gain, best_resolution = 0.0, None
    for resolution, groups in zip(resolutions, partitions, strict=True):
        gain = 0.0 if groups is None else _likelihood_gain(groups, training, test)
        if gain > best_gain + least_gain:  # resolutions ascend: groups become smaller
            best_gain, best_resolution = gain, resolution
    if best_resolution is None:
        return None
    return next(_partitions(edges, vertices, (best_resolution,)))


def shows_structure(
    rows: IndexArray, columns: IndexArray, chances: FloatVector, vertices: int
) -> bool:
    """Return whether kept edges have a direction that their degrees alone do not explain.

    With A the weighted adjacency matrix, d its degrees, t their mean and D = diag(d + t), the
    largest eigenvalue of D^(-1/2) (A - d d^T/sum(d)) D^(-1/2) is compared with that of a random
    graph, which has the same endpoints of edges joined at random. Groups that modularity can find
    have an eigenvalue beyond it. A sample of 100,000 vertices is enough for the random graph. Both
    eigenvalues are estimated from below, by the same number of Lanczos steps. If the random graph
    has no weight, the answer is True.

    Args:
        rows: one endpoint of each kept edge.
        columns: the other endpoint.
        chances: probability that each is an edge.
        vertices: number of vertices.

    Privacy: reads kept edges alone, which are public noisy data.

    Source: Qin, Rohe 2013 (the matrix); Decelle, Krzakala, Moore, Zdeborova 2011 (which groups
    can be found).
    """
    rng = np.random.default_rng(1)  # a start and a comparison, no noise of privacy
    sampled = np.zeros(vertices, dtype=np.bool_)
    sampled[rng.permutation(vertices)[:_SAMPLED_VERTICES]] = True
    # The random graph: all ends of edges at sampled vertices, each with the weight of its edge, are
    # put in random order. End k of the first half is joined with end k of the second half, and the
    # new edge has the weight of the former.
    endpoints = np.concatenate([rows[sampled[rows]], columns[sampled[columns]]])
    weights = np.concatenate([chances[sampled[rows]], chances[sampled[columns]]])
    half = len(endpoints) // 2
    order = rng.permutation(len(endpoints))[: 2 * half]
    weights = weights[order[:half]]
    if not weights.any():
        return True
    renumbered = np.cumsum(sampled) - 1  # numbers of the sampled vertices
    first, second = renumbered[endpoints[order]].reshape(2, half)
    random_graph = Edges(first, second, weights)
    by_degrees = _largest_eigenvalue(random_graph, int(sampled.sum()), rng)
    edges = Edges(rows, columns, chances)
    return _largest_eigenvalue(edges, vertices, rng) > _BEYOND_DEGREES * by_degrees


def _largest_eigenvalue(edges: Edges, vertices: int, rng: np.random.Generator) -> float:
    """Return the largest eigenvalue of the matrix of `shows_structure`, estimated from below.

    Lanczos: in the orthonormal basis of the Krylov space of a random vector the matrix is
    tridiagonal, and its largest eigenvalue approaches that of the whole matrix.
    """
    rows, columns, chances = edges
    # Each edge in one direction. A is this matrix plus its transpose.
    upper = sp.csr_matrix((chances.astype(np.float32), (rows, columns)), shape=(vertices, vertices))
    degrees = np.bincount(rows, chances, minlength=vertices)
    degrees += np.bincount(columns, chances, minlength=vertices)
    scale = (1 / np.sqrt(degrees + degrees.mean())).astype(np.float32)  # diagonal of D^(-1/2)
    # b such that b b^T = D^(-1/2) d d^T D^(-1/2)/sum(d).
    degree_direction = (degrees / math.sqrt(degrees.sum())).astype(np.float32) * scale
    vector = rng.standard_normal(vertices, dtype=np.float32)
    vector /= np.linalg.norm(vector)
    previous = np.zeros_like(vector)
    diagonal, off_diagonal = np.zeros(_LANCZOS_STEPS), np.zeros(_LANCZOS_STEPS)
    for step in range(_LANCZOS_STEPS):
        scaled = scale * vector
        adjacent = scale * (upper @ scaled + upper.T @ scaled)
        image = adjacent - degree_direction * (degree_direction @ vector)
        if step > 0:
            image -= np.float32(off_diagonal[step - 1]) * previous
        diagonal[step] = image @ vector
        image -= np.float32(diagonal[step]) * vector
        off_diagonal[step] = max(float(np.linalg.norm(image)), _TINY_NORM)
        previous, vector = vector, image / np.float32(off_diagonal[step])
    tridiagonal = np.diag(diagonal) + np.diag(off_diagonal[:-1], 1) + np.diag(off_diagonal[:-1], -1)
    return float(np.linalg.eigvalsh(tridiagonal)[-1])


def _partitions(
    edges: Edges, vertices: int, resolutions: Sequence[float]
) -> Iterator[IntVector | None]:
    """Yield Leiden's large groups at each resolution; None if there are fewer than two.

    Both `with` blocks set the seed of igraph's generator. The first only gives access to igraph: to
    build a graph draws nothing.
    """
    with repeatable_igraph() as igraph:
        graph = igraph.Graph(n=vertices, edges=np.column_stack([edges.rows, edges.columns]))
    weights = edges.chances.tolist()
    for resolution in resolutions:
        # A seed of its own for each run: its groups do not depend on the runs before it.
        with repeatable_igraph(1):
            partition = graph.community_leiden(
                "modularity", weights=weights, resolution=resolution, n_iterations=2
            )
        yield _large_groups(np.array(partition.membership), edges)


def _large_groups(codes: IntVector, edges: Edges) -> IntVector | None:
    """Merge small groups: their vertices join the large groups with which they have most weight.

    In each of up to six rounds, vertices with an edge to a member of a large group join. Vertices
    that are left then join the largest group.

    Args:
        codes: group of each vertex, shape (vertices,).
        edges: whose chances are the weights.

    Returns:
        The large group of each vertex, numbered from 0; None if there are fewer than two.
    """
    sizes = np.bincount(codes)
    large = np.flatnonzero(sizes >= max(_LEAST_SHARE * len(codes), _SMALLEST_GROUP))
    if len(large) > _MOST_GROUPS:
        large = large[np.argsort(-sizes[large])[:_MOST_GROUPS]]
    if len(large) < 2:
        return None
    new_codes = np.full(len(sizes), -1)  # of each old group; -1 if it is dissolved
    new_codes[large] = np.arange(len(large))
    groups = new_codes[codes]  # large group of each vertex; -1 if it has none yet
    # Each edge in both directions.
    sources = np.concatenate([edges.rows, edges.columns])
    targets = np.concatenate([edges.columns, edges.rows])
    weights = np.concatenate([edges.chances, edges.chances])
    for _ in range(_MOVES):
        if (groups >= 0).all():
            break
        joins = (groups[sources] < 0) & (groups[targets] >= 0)
        if not joins.any():
            break
        # A key is a pair of a vertex that joins and a large group that it has an edge to.
        keys = sources[joins].astype(np.int64) * len(large) + groups[targets[joins]]
        unique_keys, key_index = np.unique(keys, return_inverse=True)
        sums = np.bincount(key_index, weights[joins])  # weight of each pair
        # Pairs in ascending order of weight. A vertex may be in several pairs; the assignment below
        # goes through them in order, and the last one, of largest weight, stays.
        order = np.argsort(sums, kind="stable")
        joining, joined_groups = np.divmod(unique_keys[order], len(large))
        groups[joining] = joined_groups
    groups[groups < 0] = np.argmax(sizes[large])
    return groups


def _likelihood_gain(groups: IntVector, training: Edges, test: Edges) -> float:
    """Return the log likelihood of test edges under blocks, less that under degrees alone.

    Both models are degree-corrected, so that degrees cancel: an edge between groups a and b gains
    ln(m_ab M/(v_a v_b)). m is the weight between groups in the training edges, in both directions,
    plus 1, so that no logarithm is infinite. v are the row sums of m (volumes), and M is its total.
    """
    k = int(groups.max()) + 1
    cells = groups[training.rows] * k + groups[training.columns]
    sums = np.bincount(cells, training.chances, minlength=k * k).reshape(k, k)
    blocks = sums + sums.T + 1.0
    volumes = blocks.sum(axis=1)
    gains = np.log(blocks * blocks.sum() / np.outer(volumes, volumes))
    return float(gains[groups[test.rows], groups[test.columns]] @ test.chances)
