"""A graph drawn from a sparse model: in time of its edges, and its cuts right in expectation."""

from itertools import pairwise

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.estimate.sparse_model import SparseModel

_RARE = 0.1  # chance of an edge up to which pairs are met by throwing ends
_ROUND = 1e4  # synthetic weights have four decimals
_MOST_LISTED = 1 << 25  # pairs listed at once

_Ends = IntVector  # rows and columns of pairs, shape (2, pairs)


def sample_edges(
    model: SparseModel, rng: np.random.Generator, *, weighted: bool
) -> tuple[_Ends, FloatVector]:
    """Draw a graph: each pair's expected weight is that of the model.

    A kept pair is an edge with its chance, and weighs its expected weight over that. A residual
    edge weighs what left-out edges weigh, mean w. Without a cap, a Poisson number of them falls on
    each pair, of mean x/w, x being the residual weight there, and they are added up. With one, a
    pair of chance q = x/w is one edge or none: pairs with q above a tenth, which are found by
    sorting, are drawn one by one; ends of others are thrown Poisson at a slightly larger rate, so
    that a pair is met with probability 1 - e^(-c q) >= q, and a met pair stays with q over that.
    The pairs are then independent, and exactly as likely as they should be.

    Args:
        model: what to draw from; made of noisy data alone.
        rng: ordinary random numbers: they protect nobody.
        weighted: whether there are weights; else every edge weighs 1.

    Returns:
        Rows and columns, each pair once, of an undirected graph the smaller end first; and weights.
    """
    kept = rng.random(len(model.weights)) < model.chances
    weights = model.weights / np.maximum(model.chances, 1e-300)
    if not weighted:  # an edge of weight 1 is there as often as its weight says
        kept = rng.random(len(model.weights)) < model.weights
        weights = np.ones(len(kept))
    listed = np.stack([model.rows, model.columns])[:, kept].astype(np.int64)
    thrown = _thrown(model, rng) if model.weight_cap is None else _single(model, rng)
    drawn = rng.choice(model.left_points, thrown.shape[1], p=model.left_shares)
    if not weighted:
        drawn = np.ones(thrown.shape[1])
    return _added_up(
        model, np.hstack([listed, thrown]), np.concatenate([weights[kept], drawn]), rng
    )


def _thrown(model: SparseModel, rng: np.random.Generator, factor: float = 1.0) -> _Ends:
    """Ends of a Poisson number of edges on each pair, of mean factor x/w."""
    means = model.blocks / max(model.left_mean, 1e-300) * factor
    if model.symmetric:
        means = means / 2  # either end may be the first
    counts = rng.poisson(np.minimum(means, 1e12))
    first, second = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices(counts.shape))
    rows = _ends(model.row_codes, model.row_factors, first, rng)
    columns = _ends(model.column_codes, model.column_factors, second, rng)
    thrown = np.stack([rows, columns])
    if model.layout.hollow:
        thrown = thrown[:, rows != columns]
    if model.symmetric:
        thrown = np.stack([thrown.min(axis=0), thrown.max(axis=0)])
    return thrown


def _ends(
    codes: IntVector, factors: FloatVector, groups: IntVector, rng: np.random.Generator
) -> IntVector:
    """A vertex of each of these groups, with probabilities by factor."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(int(codes.max(initial=0)) + 2))
    totals = np.concatenate([[0.0], np.cumsum(factors[order])])
    low, high = totals[ends[groups]], totals[ends[groups + 1]]
    at = np.searchsorted(totals, low + rng.random(len(groups)) * (high - low), side="right") - 1
    at = np.clip(at, ends[groups], np.maximum(ends[groups + 1] - 1, ends[groups]))
    found: IntVector = order[np.minimum(at, len(order) - 1)]
    return found


def _single(model: SparseModel, rng: np.random.Generator) -> _Ends:
    """Pairs that are residual edges, each with chance q = x/w, at most once."""
    mean = max(model.left_mean, 1e-300)
    often = saturated_pairs(model, _RARE * mean)
    chances = np.minimum(model.residual_at(*often) / mean, 1.0)
    sure = rng.random(len(chances)) < chances
    more = -np.log1p(-_RARE) / _RARE  # 1 - e^(-more q) >= q up to q = _RARE
    places = np.unique(model.layout.places(*_thrown(model, rng, more)))
    met = np.stack(model.layout.ends(places))
    chances = model.residual_at(*met) / mean
    rare = chances <= _RARE
    stays = rare & (rng.random(len(places)) * -np.expm1(-more * chances) < chances)
    return np.hstack([often[:, sure], met[:, stays]])


def _added_up(
    model: SparseModel, ends: _Ends, weights: FloatVector, rng: np.random.Generator
) -> tuple[_Ends, FloatVector]:
    """Each pair once, with all that fell on it, rounded without bias."""
    cap, whole = model.weight_cap, model.whole
    places, at = np.unique(model.layout.places(*ends), return_inverse=True)
    sums: FloatVector = np.bincount(at, weights, minlength=len(places)).astype(np.float64)
    if cap is not None:
        sums = np.minimum(sums, cap)
    step = 1.0 if whole else 1 / _ROUND
    sums = np.floor(sums / step + rng.random(len(sums))) * step
    if cap is not None:
        sums = np.minimum(sums, cap)
    if not whole:
        sums = np.round(sums, 4)
    there = sums > 0
    return np.stack(model.layout.ends(places[there])), sums[there]


def saturated_pairs(model: SparseModel, limit: float) -> _Ends:
    """Pairs whose residual weight is above a limit; of an undirected graph, rows < columns.

    For each block both sides are sorted by factor, so that only pairs above the limit are met.

    Cost: O(n log n + groups^2 n + pairs found) at most; groups without such pairs are skipped.
    """
    rows = _by_group(model.row_codes, model.row_factors, model.blocks.shape[0])
    columns = _by_group(model.column_codes, model.column_factors, model.blocks.shape[1])
    tops = [np.array([g[1][0] if len(g[1]) else 0.0 for g in side]) for side in (rows, columns)]
    met = np.outer(*tops) * model.blocks > limit
    found = [np.zeros((2, 0), dtype=np.int64)]
    total = 0
    for a, b in zip(*np.nonzero(met), strict=True):
        (left, r), (right, c) = rows[a], columns[b]
        needed = limit / (r * model.blocks[a, b] + 1e-300)
        counts = np.searchsorted(-c, -needed, side="left")
        total += int(counts.sum())
        if total > _MOST_LISTED:
            break
        here = np.repeat(left, counts)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        there = right[np.arange(len(here)) - np.repeat(starts, counts)]
        pairs = np.stack([here, there])
        if model.layout.hollow:
            pairs = pairs[:, here < there if model.symmetric else here != there]
        found.append(pairs)
    return np.hstack(found)


def _by_group(
    codes: IntVector, factors: np.ndarray, count: int
) -> list[tuple[IntVector, np.ndarray]]:
    """Members of each group with their factors, the largest first."""
    order = np.lexsort((-factors, codes))
    ends = np.searchsorted(codes[order], np.arange(count + 1))
    return [(order[start:end], factors[order[start:end]]) for start, end in pairwise(ends)]
