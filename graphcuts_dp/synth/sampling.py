"""A graph drawn from a sparse model: in time of its edges, and its cuts right in expectation."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IndexArray, IntVector
from graphcuts_dp.estimate.sparse_model import SparseModel

_MOST_THROWN = 2**20  # edges in a graph of few pairs
_RARE = 0.1  # chance of an edge up to which pairs are met by throwing ends
_ROUND = 1e4  # synthetic weights have four decimals
_MOST_LISTED = 1 << 25  # pairs listed at once
_PIECE = 1 << 22  # ends looked up at once

_Ends = IntVector  # rows and columns of pairs, shape (2, pairs)


def sample_edges(
    model: SparseModel, rng: np.random.Generator, *, weighted: bool
) -> tuple[tuple[IntVector, IntVector], FloatVector]:
    """Draw a graph: each pair's expected weight is that of the model.

    A kept pair is an edge with its chance, and weighs its expected weight over that. A residual
    edge weighs what left-out edges weigh, mean w. Without a cap, a Poisson number of them falls on
    each pair, of mean x/w, x being the residual weight there, and they are added up; where there
    are far more of them than pairs, fewer that weigh more. With one, a pair of chance q = x/w is
    one edge or none: pairs with q above a tenth, which are found by sorting, are drawn one by one;
    ends of others are thrown Poisson at a slightly larger rate, so that a pair is met with
    probability 1 - e^(-c q) >= q, and a met pair stays with q over that.
    The pairs are then independent, and exactly as likely as they should be.

    Args:
        model: what to draw from; made of noisy data alone.
        rng: ordinary random numbers, which need not be private.
        weighted: whether there are weights; else every edge weighs 1.

    Returns:
        Rows and columns, each pair once, of an undirected graph the smaller end first; and weights.
    """
    kept = rng.random(len(model.weights)) < model.chances
    weights = model.weights / np.maximum(model.chances, 1e-300)
    if not weighted:  # an edge of weight 1 is there as often as its weight says
        kept = rng.random(len(model.weights)) < model.weights
        weights = np.ones(len(kept))
    ends = (each[kept].astype(np.int64) for each in (model.rows, model.columns))
    places = [model.layout.places(*ends)]
    share = _share_thrown(model)
    places.append(_thrown(model, rng, share) if model.max_weight is None else _single(model, rng))
    drawn = rng.choice(model.left_points, len(places[1]), p=model.left_shares) / share
    masses = [weights[kept], drawn if weighted else np.ones(len(drawn))]
    del drawn, weights
    return _added_up(model, _joined(places), _joined(masses), rng)


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """One array of several, which the list then holds no more."""
    found = np.concatenate(parts)
    parts.clear()
    return found


def _share_thrown(model: SparseModel) -> float:
    """Which part of the residual edges is thrown, each with so much more weight; mostly all.

    Weights without a cap may weigh 10^12 times what left-out edges do.
    """
    if model.max_weight is not None:
        return 1.0
    mean = float(model.blocks.sum()) / max(model.left_mean, 1e-300) / (1 + model.symmetric)
    pairs = model.layout.pairs_before(model.layout.shape[0])
    return min(1.0, max(_MOST_THROWN, 4 * pairs) / max(mean, 1.0))


def _thrown(model: SparseModel, rng: np.random.Generator, factor: float = 1.0) -> IntVector:
    """Places of a Poisson number of edges on each pair, of mean factor x/w."""
    means = model.blocks / max(model.left_mean, 1e-300) * factor
    if model.symmetric:
        means = means / 2  # either end may be the first
    counts = rng.poisson(np.minimum(means, 1e12))
    blocks = np.indices(counts.shape, dtype=np.int32)
    sides = (model.row_codes, model.row_factors), (model.column_codes, model.column_factors)
    rows, columns = (
        _ends(*side, np.repeat(block.ravel(), counts.ravel()), rng)
        for side, block in zip(sides, blocks, strict=True)
    )
    places = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(rows), _PIECE):
        first, second = (each[start : start + _PIECE].astype(np.int64) for each in (rows, columns))
        if model.layout.hollow:
            apart = first != second
            first, second = first[apart], second[apart]
        if model.symmetric:
            first, second = np.minimum(first, second), np.maximum(first, second)
        places.append(model.layout.places(first, second))
    return np.concatenate(places)


def _ends(
    codes: IntVector, factors: FloatVector, groups: IndexArray, rng: np.random.Generator
) -> IndexArray:
    """A vertex of each of these groups, with probabilities by factor."""
    order = np.argsort(codes, kind="stable").astype(np.int32)
    ends = np.searchsorted(codes[order], np.arange(int(codes.max(initial=0)) + 2))
    totals = np.concatenate([[0.0], np.cumsum(factors[order])])
    found = np.empty(len(groups), dtype=np.int32)
    for start in range(0, len(groups), _PIECE):
        own = groups[start : start + _PIECE]
        low, high = totals[ends[own]], totals[ends[own + 1]]
        wanted = low + rng.random(len(own)) * (high - low)
        # In ascending order one search begins where the last one has left the memory.
        ascending = np.argsort(wanted)
        at = np.empty(len(own), dtype=np.int64)
        at[ascending] = np.searchsorted(totals, wanted[ascending], side="right") - 1
        at = np.clip(at, ends[own], np.maximum(ends[own + 1] - 1, ends[own]))
        found[start : start + _PIECE] = order[np.minimum(at, len(order) - 1)]
    return found


def _single(model: SparseModel, rng: np.random.Generator) -> IntVector:
    """Places of pairs that are residual edges, each with chance q = x/w, at most once."""
    mean = max(model.left_mean, 1e-300)
    often = saturated_pairs(model, _RARE * mean)
    chances = np.minimum(model.residual_at(*often) / mean, 1.0)
    sure = rng.random(len(chances)) < chances
    more = -np.log1p(-_RARE) / _RARE  # 1 - e^(-more q) >= q up to q = _RARE
    places = np.unique(_thrown(model, rng, more))
    chances = model.residual_at(*model.layout.ends(places)) / mean
    rare = chances <= _RARE
    stays = rare & (rng.random(len(places)) * -np.expm1(-more * chances) < chances)
    return np.concatenate([model.layout.places(*often[:, sure]), places[stays]])


def _added_up(
    model: SparseModel, places: IntVector, weights: FloatVector, rng: np.random.Generator
) -> tuple[tuple[IntVector, IntVector], FloatVector]:
    """Each pair once, with all that fell on it, rounded without bias."""
    cap, whole = model.max_weight, model.whole
    order = np.argsort(places, kind="stable")
    places = places[order]
    weights = weights[order]
    del order
    new = np.ones(len(places), dtype=np.bool_)
    np.not_equal(places[1:], places[:-1], out=new[1:])
    at = np.cumsum(new, dtype=np.int64)
    at -= 1
    sums: FloatVector = np.bincount(at, weights).astype(np.float64, copy=False)
    del at, weights
    places = places[new]
    if cap is not None:
        sums = np.minimum(sums, cap)
    step = 1.0 if whole else 1 / _ROUND
    sums = np.floor(sums / step + rng.random(len(sums))) * step
    if cap is not None:
        sums = np.minimum(sums, cap)
    if not whole:
        sums = np.round(sums, 4)
    there = sums > 0
    places, sums = places[there], sums[there]
    return model.layout.ends(places), sums


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
