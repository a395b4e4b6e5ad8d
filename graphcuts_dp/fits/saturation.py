"""Pairs on which a factored model would put more than a pair can weigh."""

from itertools import pairwise

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.fits.sparse_model import SparseModel

_MOST = 1 << 25  # pairs listed at once


def saturated_pairs(model: SparseModel, limit: float) -> tuple[IntVector, IntVector]:
    """Pairs whose residual weight is above a limit; of an undirected graph, rows < columns.

    For each block both sides are sorted by factor, so that only pairs above the limit are met.

    Args:
        model: the model.
        limit: of the weight, > 0.

    Cost: O(n log n + groups^2 n + pairs found) at most; groups without such pairs are skipped.
    """
    rows = _by_group(model.row_codes, model.row_factors, model.blocks.shape[0])
    columns = _by_group(model.column_codes, model.column_factors, model.blocks.shape[1])
    tops = [np.array([g[1][0] if len(g[1]) else 0.0 for g in side]) for side in (rows, columns)]
    met = np.outer(*tops) * model.blocks > limit
    found: list[tuple[IntVector, IntVector]] = []
    total = 0
    for a, b in zip(*np.nonzero(met), strict=True):
        (left, r), (right, c) = rows[a], columns[b]
        needed = limit / (r * model.blocks[a, b] + 1e-300)
        counts = np.searchsorted(-c, -needed, side="left")
        total += int(counts.sum())
        if total > _MOST:
            break
        here = np.repeat(left, counts)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        there = right[np.arange(len(here)) - np.repeat(starts, counts)]
        if model.symmetric:
            ordered = here < there
        else:
            ordered = here != there if model.layout.hollow else np.ones(len(here), dtype=np.bool_)
        found.append((here[ordered], there[ordered]))
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return none, none
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _by_group(
    codes: IntVector, factors: np.ndarray, count: int
) -> list[tuple[IntVector, np.ndarray]]:
    """Members of each group with their factors, the largest first."""
    order = np.lexsort((-factors, codes))
    ends = np.searchsorted(codes[order], np.arange(count + 1))
    return [(order[start:end], factors[order[start:end]]) for start, end in pairwise(ends)]
