"""A graph drawn from a sparse model: in time of its edges, and its cuts right in expectation."""

from itertools import pairwise
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.estimate.sparse_model import SparseModel

_RARE = 0.1  # chance of an edge up to which pairs are met by throwing ends
_ROUND = 1e4  # synthetic weights have four decimals


@final
class Sample(NamedTuple):
    """Edges of a synthetic graph, each pair once.

    Attributes:
        rows: shape (edges,).
        columns: of an undirected graph never the same as the row.
        weights: > 0.
    """

    rows: IntVector
    columns: IntVector
    weights: FloatVector


def sample_edges(model: SparseModel, rng: np.random.Generator, *, weighted: bool) -> Sample:
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
    """
    kept = rng.random(len(model.weights)) < model.chances
    rows, columns = (each[kept].astype(np.int64) for each in (model.rows, model.columns))
    weights = model.weights[kept] / np.maximum(model.chances[kept], 1e-300)
    if not weighted:  # an edge of weight 1 is there as often as its weight says
        there = rng.random(len(model.weights)) < model.weights
        rows, columns = (each[there].astype(np.int64) for each in (model.rows, model.columns))
        weights = np.ones(int(there.sum()))
    thrown = _thrown(model, rng) if model.weight_cap is None else _single(model, rng)
    drawn = rng.choice(model.left_points, len(thrown[0]), p=model.left_shares)
    if not weighted:
        drawn = np.ones(len(thrown[0]))
    return _added_up(
        model,
        np.concatenate([rows, thrown[0]]),
        np.concatenate([columns, thrown[1]]),
        np.concatenate([weights, drawn]),
        rng,
    )


def _thrown(
    model: SparseModel, rng: np.random.Generator, factor: float = 1.0
) -> tuple[IntVector, IntVector]:
    """Ends of a Poisson number of edges on each pair, of mean factor x/w."""
    means = model.blocks / max(model.left_mean, 1e-300) * factor
    if model.symmetric:
        means = means / 2  # either end may be the first
    counts = rng.poisson(np.minimum(means, 1e12))
    first = np.repeat(np.repeat(np.arange(counts.shape[0]), counts.shape[1]), counts.ravel())
    second = np.repeat(np.tile(np.arange(counts.shape[1]), counts.shape[0]), counts.ravel())
    rows = _ends(model.row_codes, model.row_factors, first, rng)
    columns = _ends(model.column_codes, model.column_factors, second, rng)
    if model.layout.hollow:
        apart = rows != columns
        rows, columns = rows[apart], columns[apart]
    if model.symmetric:
        rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
    return rows, columns


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


def _single(model: SparseModel, rng: np.random.Generator) -> tuple[IntVector, IntVector]:
    """Pairs that are residual edges, each with chance q = x/w, at most once."""
    mean = max(model.left_mean, 1e-300)
    often = saturated_pairs(model, _RARE * mean)
    chances = np.minimum(model.residual_at(*often) / mean, 1.0)
    sure = rng.random(len(chances)) < chances
    more = -np.log1p(-_RARE) / _RARE  # 1 - e^(-more q) >= q up to q = _RARE
    places = np.unique(model.layout.places(*_thrown(model, rng, more)))
    rows, columns = model.layout.ends(places)
    chances = model.residual_at(rows, columns) / mean
    rare = chances <= _RARE
    met = -np.expm1(-more * chances)
    stays = rare & (rng.random(len(rows)) * met < chances)
    return (
        np.concatenate([often[0][sure], rows[stays]]),
        np.concatenate([often[1][sure], columns[stays]]),
    )


def _added_up(
    model: SparseModel,
    rows: IntVector,
    columns: IntVector,
    weights: FloatVector,
    rng: np.random.Generator,
) -> Sample:
    """Each pair once, with all that fell on it, rounded without bias."""
    cap, whole = model.weight_cap, model.whole
    places, at = np.unique(model.layout.places(rows, columns), return_inverse=True)
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
    return Sample(*model.layout.ends(places[there]), sums[there])


_MOST_LISTED = 1 << 25  # pairs listed at once


def saturated_pairs(model: SparseModel, limit: float) -> tuple[IntVector, IntVector]:
    """Pairs whose residual weight is above a limit; of an undirected graph, rows < columns.

    For each block both sides are sorted by factor, so that only pairs above the limit are met.

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
        if total > _MOST_LISTED:
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
