"""Communities in kept edges, by the likelihood of their blocks.

Leiden's algorithm takes longest where there are none. Of many edges, a few products with their
matrix tell first whether it has a direction that the degrees alone do not give it.
"""

import math
import random
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatVector, IndexArray, IntVector

_Edges = tuple[IndexArray, IndexArray, FloatVector]
_RESOLUTIONS = (0.05, 0.15, 0.4, 1.0, 2.5)
_FEW_RESOLUTIONS = (0.3, 1.0)
_MANY = 500_000  # edges, from which few resolutions are tried, and only after `shows_structure`
_HELD_OUT = 5  # every fifth edge
_WORTH = 0.02  # log likelihood of an edge that groups, or more of them, have to gain
_LEAST_SHARE = 1 / 200  # of all vertices: smaller groups are not measured
_MOST = 64
_MOVES = 6
_STEPS = 32  # of Lanczos
_BEYOND = 1.05  # times the edge of the bulk; where Leiden finds groups, it is 1.18 at least
_LEAST = 1e-20  # where the space is exhausted
_DRAWN = 100_000  # vertices of the graph that has degrees alone


def found_groups(
    rows: IndexArray, columns: IndexArray, chances: FloatVector, vertices: int
) -> IntVector | None:
    """A group for each vertex, or None where kept edges show none worth measuring.

    Leiden's algorithm for modularity at several resolutions; of its partitions, with small groups
    put where most of their edges go, the one is taken whose degree-corrected blocks tell most of
    a fifth of the edges that were held out. Reads kept edges, so noisy data, alone.

    Args:
        rows: ends of the kept edges.
        columns: other ends.
        chances: probability that each is an edge.
        vertices: how many.

    Source: Traag, Waltman, van Eck 2019 (Leiden); Karrer, Newman 2011 (likelihood).
    """
    if len(rows) < 4 * math.sqrt(vertices):
        return None
    if len(rows) > _MANY and not shows_structure(rows, columns, chances, vertices):
        return None
    held = np.arange(len(rows)) % _HELD_OUT == 0
    parts = [(rows[where], columns[where], chances[where]) for where in (~held, held)]
    best, chosen = 0.0, 0.0
    resolutions = _RESOLUTIONS if len(rows) <= _MANY else _FEW_RESOLUTIONS
    for resolution, codes in zip(
        resolutions, _partitions(*parts[0], vertices, resolutions), strict=True
    ):
        gain = 0.0 if codes is None else _gain(codes, parts[0], parts[1])
        if gain > best + _WORTH * float(parts[1][2].sum()):
            best, chosen = gain, resolution
    return next(_partitions(rows, columns, chances, vertices, (chosen,))) if chosen else None


def shows_structure(
    rows: IndexArray, columns: IndexArray, chances: FloatVector, vertices: int
) -> bool:
    """Whether kept edges have a direction that their degrees alone do not give.

    With A the matrix of the edges and d its degrees of mean t, the largest eigenvalue of
    D^(-1/2) (A - d d'/sum d) D^(-1/2), D = diag(d + t), is compared with that of a graph whose
    ends are joined at random: those of all vertices, or of as many as tell the edge of the bulk.
    Groups that modularity can find lie beyond it. Both eigenvalues are estimated from below, by as
    many steps of Lanczos. Reads kept edges, so noisy data, alone.

    Source: Qin, Rohe 2013 (the matrix); Decelle, Krzakala, Moore, Zdeborova 2011 (which groups
    can be found).
    """
    rng = np.random.default_rng(1)  # a start and a comparison, no noise of privacy
    drawn = np.zeros(vertices, dtype=np.bool_)
    drawn[rng.permutation(vertices)[:_DRAWN]] = True
    ends = np.concatenate([rows[drawn[rows]], columns[drawn[columns]]])
    weights = np.concatenate([chances[drawn[rows]], chances[drawn[columns]]])
    half = len(ends) // 2
    order = rng.permutation(len(ends))[: 2 * half]
    weights = weights[order[:half]]
    if not weights.any():
        return True  # nothing to compare with
    first, second = (np.cumsum(drawn) - 1)[ends[order]].reshape(2, half)
    alone = _largest(first, second, weights, int(drawn.sum()), rng)
    return _largest(rows, columns, chances, vertices, rng) > _BEYOND * alone


def _largest(
    rows: IndexArray,
    columns: IndexArray,
    chances: FloatVector,
    vertices: int,
    rng: np.random.Generator,
) -> float:
    """The largest eigenvalue of the scaled matrix of edges, less what degrees explain."""
    half = sp.csr_matrix((chances.astype(np.float32), (rows, columns)), shape=(vertices, vertices))
    degrees = np.bincount(rows, chances, minlength=vertices)
    degrees += np.bincount(columns, chances, minlength=vertices)
    scale = (1 / np.sqrt(degrees + degrees.mean())).astype(np.float32)
    along = (degrees / math.sqrt(degrees.sum())).astype(np.float32) * scale
    vector = rng.standard_normal(vertices, dtype=np.float32)
    vector /= np.linalg.norm(vector)
    before = np.zeros_like(vector)
    diagonal, beside = np.zeros(_STEPS), np.zeros(_STEPS)
    for step in range(_STEPS):
        scaled = scale * vector
        image = scale * (half @ scaled + half.T @ scaled) - along * (along @ vector)
        image -= np.float32(beside[step - 1]) * before
        diagonal[step] = image @ vector
        image -= np.float32(diagonal[step]) * vector
        beside[step] = max(float(np.linalg.norm(image)), _LEAST)
        before, vector = vector, image / np.float32(beside[step])
    small = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    return float(np.linalg.eigvalsh(small)[-1])


def _partitions(
    rows: IndexArray,
    columns: IndexArray,
    chances: FloatVector,
    vertices: int,
    resolutions: Sequence[float],
) -> Iterator[IntVector | None]:
    """Leiden's groups at each resolution."""
    import igraph  # slow to load, and seldom needed

    graph = igraph.Graph(n=vertices, edges=np.column_stack([rows, columns]))
    weights = chances.tolist()
    for resolution in resolutions:
        # The same groups for the same edges, whatever was drawn before.
        igraph.set_random_number_generator(random.Random(1))  # noqa: S311  # no noise
        try:
            found = graph.community_leiden(
                objective_function="modularity",
                weights=weights,
                resolution=resolution,
                n_iterations=2,
            )
        finally:
            igraph.set_random_number_generator(random)
        yield _large(np.array(found.membership), rows, columns, chances)


def _large(
    codes: IntVector, rows: IndexArray, columns: IndexArray, chances: FloatVector
) -> IntVector | None:
    """With members of small groups moved to the large group that they send most weight to."""
    sizes = np.bincount(codes)
    large = np.flatnonzero(sizes >= max(_LEAST_SHARE * len(codes), 8))
    if len(large) > _MOST:
        large = large[np.argsort(-sizes[large])[:_MOST]]
    if len(large) < 2:
        return None
    place = np.full(len(sizes), -1)
    place[large] = np.arange(len(large))
    found = place[codes]
    for _ in range(_MOVES):
        if (found >= 0).all():
            break
        ends = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        here = (found[ends[0]] < 0) & (found[ends[1]] >= 0)
        if not here.any():
            break
        keys = ends[0][here].astype(np.int64) * len(large) + found[ends[1][here]]
        unique, at = np.unique(keys, return_inverse=True)
        sums = np.bincount(at, np.concatenate([chances, chances])[here])
        order = np.argsort(sums, kind="stable")  # the largest last, and so kept
        found[unique[order] // len(large)] = unique[order] % len(large)
    lost = np.flatnonzero(found < 0)
    found[lost] = np.argmax(sizes[large])
    return found


def _gain(codes: IntVector, shown: _Edges, held: _Edges) -> float:
    """Log likelihood of edges that were held out, under blocks over that under degrees alone.

    Both are degree-corrected, so that degrees cancel: an edge between groups a and b gains
    ln(m_ab M/(v_a v_b)), with the blocks m and volumes v of the edges that were shown.
    """
    k = int(codes.max()) + 1
    rows, columns, chances = shown
    counted = np.bincount(codes[rows] * k + codes[columns], chances, minlength=k * k)
    blocks = counted.reshape(k, k) + counted.reshape(k, k).T + 1.0
    volumes = blocks.sum(axis=1)
    gains = np.log(blocks * blocks.sum() / np.outer(volumes, volumes))
    return float(gains[codes[held[0]], codes[held[1]]] @ held[2])
