"""Groups of vertices that kept edges show: communities, by the likelihood of their blocks."""

import math
import random

import numpy as np

from graphcuts_dp.arrays import FloatVector, IndexArray, IntVector

_Edges = tuple[IndexArray, IndexArray, FloatVector]
_RESOLUTIONS = (0.05, 0.15, 0.4, 1.0, 2.5)
_FEW_RESOLUTIONS = (0.3, 1.0)
_MANY = 500_000  # edges, from which few resolutions are tried
_HELD_OUT = 5  # every fifth edge
_WORTH = 0.02  # log likelihood of an edge that groups, or more of them, have to gain
_LEAST_SHARE = 1 / 200  # of all vertices: smaller groups are not measured
_MOST = 64
_ROUNDS = 6


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
    held = np.arange(len(rows)) % _HELD_OUT == 0
    parts = [(rows[where], columns[where], chances[where]) for where in (~held, held)]
    best, chosen = 0.0, 0.0
    for resolution in _RESOLUTIONS if len(rows) <= _MANY else _FEW_RESOLUTIONS:
        codes = _partition(*parts[0], vertices, resolution)
        gain = 0.0 if codes is None else _gain(codes, parts[0], parts[1])
        if gain > best + _WORTH * float(parts[1][2].sum()):
            best, chosen = gain, resolution
    return _partition(rows, columns, chances, vertices, chosen) if chosen else None


def _partition(
    rows: IndexArray, columns: IndexArray, chances: FloatVector, vertices: int, resolution: float
) -> IntVector | None:
    import igraph  # slow to load, and seldom needed

    graph = igraph.Graph(n=vertices, edges=np.column_stack([rows, columns]))
    # The same groups for the same edges, whatever was drawn before.
    igraph.set_random_number_generator(random.Random(1))  # noqa: S311  # no noise
    try:
        found = graph.community_leiden(
            objective_function="modularity",
            weights=chances.tolist(),
            resolution=resolution,
            n_iterations=2,
        )
    finally:
        igraph.set_random_number_generator(random)
    return _large(np.array(found.membership), rows, columns, chances)


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
    for _ in range(_ROUNDS):
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
