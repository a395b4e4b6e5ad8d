"""Any metric into l1: distances to random sets of query points."""

import math

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.distances.embeddings import (
    L1Embedding,
    check_entries,
    grid_unit,
    measured,
    on_grid,
)
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import ParameterError


def bourgain_levels(queries: int) -> int:
    """Sizes of random sets: ceil(log2 k) + 1, from all k query points down to about one.

    Figure 3 prints log k. With k = 2 that leaves the set of all query points only, from which all
    of them have distance 0: the contraction is infinite. The proof needs a level with
    2^(level - 1) >= k, whose radius is at least d(x, y)/2: there its sum reaches d(x, y)/2.

    Source: HR12, Figure 3.
    """
    return math.ceil(math.log2(queries)) + 1 if queries > 1 else 1


def bourgain_repetitions(queries: int, points: int) -> int:
    """K = 512 (log2 k + log2 n): so many sets of each size. n is the number of points to embed.

    Source: HR12, Figure 3.
    """
    return math.ceil(512 * (math.log2(queries) + math.log2(points)))


def bourgain_contraction(queries: int) -> float:
    """64 levels: with probability 1 - 1/n, none of the n k distances shrinks by a larger factor.

    Source: HR12, Theorem 11, with the levels of `bourgain_levels` in place of log k.
    """
    return 64.0 * bourgain_levels(queries)


def bourgain_embedding(
    metric: Metric,
    queries: npt.ArrayLike | None = None,
    *,
    public_seed: int,
    repetitions: int | None = None,
) -> L1Embedding:
    """Distances to random sets of query points, over their number: the 1-sensitive embedding.

    Coordinate (i, j) of x is d(x, S_ij)/(K levels); S_ij has each query point with probability
    2^-(i-1). By the triangle inequality no distance grows, whatever the sets: the expansion is at
    most 1 with certainty, so that HR12's min(1, .) around embedded distances is never needed; it
    would also not be a sum over coordinates any more. From an empty set all distances count as 0.
    The sets are public coins, the metric and the query points are public.

    Lengths that are not whole are rounded to 2^-24 of the diameter; the distortion is measured.

    Args:
        metric: of the map.
        queries: rows of the vertices that may be asked about, shape (k,); None for all.
        public_seed: of the sets.
        repetitions: K; None for the paper's, for which Theorem 11 is proven. The contraction is
            measured, and fewer do well.

    Raises:
        ParameterError: arguments out of range, a table of more than 2^27 entries, or an unlucky
            seed with too few repetitions.

    Source: HR12, Figure 3 and Theorem 11.
    """
    rows = np.arange(len(metric)) if queries is None else np.unique(np.asarray(queries, np.int64))
    if not len(rows) or rows[0] < 0 or rows[-1] >= len(metric):
        raise ParameterError("query points are row numbers of the map, at least one")
    levels = bourgain_levels(len(rows))
    count = bourgain_repetitions(len(rows), len(metric)) if repetitions is None else repetitions
    if count < 1:
        raise ParameterError("there is at least one repetition")
    check_entries(len(metric), count * levels)
    distances = metric.distances_from(rows)
    step = grid_unit(distances, float(distances.max()) or 1.0)
    raw = _set_distances(distances, levels, count, public_seed)
    return measured(on_grid(raw, step), step / (count * levels), distances, rows)


def _set_distances(distances: FloatMatrix, levels: int, count: int, seed: int) -> FloatMatrix:
    """d(x, S_ij), shape (V, levels * count)."""
    coins = np.random.default_rng(seed)
    size = len(distances)
    result = np.zeros((distances.shape[1], levels * count))
    for level in range(levels):
        for j in range(count):
            chosen = coins.random(size) < 2.0**-level
            if chosen.any():
                result[:, level * count + j] = distances[chosen].min(axis=0)
    return result
