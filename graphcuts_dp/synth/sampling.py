"""Random graphs drawn from a sparse model, in time proportional to their edges.

A `SparseModel` gives every pair of vertices an expected weight in two parts, and no matrix is ever
written out:

- a list of *kept pairs*, each with an expected weight and the probability that it is an edge;
- the *residual*: weight x_ij = r_i c_j B[a_i, b_j] on every pair (i, j), from factors r and c of
  the vertices and one coefficient B for each pair of groups. The factors of a group sum to 1, so B
  is the total weight of its pairs, of a graph without directions with each pair counted twice.

`sample_edges` draws a graph. Edges of the residual weigh `left_mean` (w below) on average, so a
pair has x/w of them in expectation. *Throwing* an edge means to draw a block with its weight and
then both endpoints with their factors. A *pair index* numbers all pairs of the layout in row order.
A layout is *hollow* if no vertex is paired with itself.

Models are made of noisy data alone, so drawing from them costs no privacy.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IndexArray, IntVector
from graphcuts_dp.estimate.sparse_model import SparseModel

# Thrown edges without a maximum weight: at most this many, or four for each pair if that is more.
_MOST_THROWN = 2**20
_LARGEST_MEAN = 1e12  # of a Poisson number of edges of a block; far above what memory holds
# Expected edges q of a pair up to which the pair is met by throwing; pairs above it are listed.
_RARE = 0.1
_MOST_LISTED = 1 << 25  # pairs above a limit that are listed; the list ends there
_CHUNK = 1 << 22  # endpoints looked up at once
_GRID = 1e4  # synthetic weights are multiples of 1/_GRID: they have four decimals
_TINY = 1e-300  # in place of 0, by which is divided

_Pairs = IntVector  # rows and columns of pairs, shape (2, pairs)


def sample_edges(
    model: SparseModel, rng: np.random.Generator, *, weighted: bool
) -> tuple[tuple[IntVector, IntVector], FloatVector]:
    """Draw a graph in which each pair has its expected weight from the model.

    Kept pairs: a pair with expected weight y and probability p is an edge with probability p, and
    then weighs y/p. Without weights it is an edge of weight 1 with probability y.

    Residual without a maximum weight: a Poisson number of edges, of mean x/w, falls on each pair,
    and their weights are added up. Where there would be many more edges than pairs, only a share of
    them is drawn, and each weighs more (`_thrown_share`).

    Residual with a maximum weight: each pair is one edge with probability q = min(1, x/w), else
    none, independently of the other pairs (`_bernoulli_pairs`).

    The expectation is exact with three exceptions: what falls on a kept pair beyond the maximum
    weight is cut off; a q above 1 counts as 1; and if more than 2^25 pairs have a q above 1/10,
    those after the first blocks of them are left out.

    Args:
        model: what to draw from.
        rng: ordinary random numbers, which need not be private.
        weighted: whether the graph has weights; else every edge weighs 1, and w is 1.

    Returns:
        Rows and columns of the edges, each pair once, of an undirected graph with row < column; and
        their weights.
    """
    is_edge = rng.random(len(model.weights)) < model.chances
    edge_weights = model.weights / np.maximum(model.chances, _TINY)
    if not weighted:  # drawn anew; the first draw is not used
        is_edge = rng.random(len(model.weights)) < model.weights
        edge_weights = np.ones(len(is_edge))
    kept_pairs = model.layout.places(
        model.rows[is_edge].astype(np.int64), model.columns[is_edge].astype(np.int64)
    )
    share = _thrown_share(model)
    if model.max_weight is None:
        residual_pairs = _poisson_pairs(model, rng, share)
    else:
        residual_pairs = _bernoulli_pairs(model, rng)
    residual_weights = rng.choice(model.left_points, len(residual_pairs), p=model.left_shares)
    residual_weights = residual_weights / share if weighted else np.ones(len(residual_pairs))
    pair_indices = [kept_pairs, residual_pairs]
    weights = [edge_weights[is_edge], residual_weights]
    # The lists hold the only references, so that joining frees the parts.
    del kept_pairs, residual_pairs, edge_weights, residual_weights
    return _added_up(model, _joined(pair_indices), _joined(weights), rng)


def saturated_pairs(model: SparseModel, limit: float) -> _Pairs:
    """Return the pairs whose residual weight is above a limit, 2^25 of them at most.

    In each block the columns are sorted by factor, so the columns that a row needs are a prefix:
    those with c > limit / (r B). Blocks in which even the largest factors stay below the limit are
    skipped. If the blocks so far have more than 2^25 pairs above the limit, the last block and all
    later ones are left out.

    Cost: O(n log n + groups^2 n + pairs returned) at most.

    Args:
        model: with its residual.
        limit: a weight.

    Returns:
        Rows and columns, shape (2, pairs); of an undirected graph row < column.
    """
    rows = _by_group(model.row_codes, model.row_factors, model.blocks.shape[0])
    columns = _by_group(model.column_codes, model.column_factors, model.blocks.shape[1])
    largest_row_factors, largest_column_factors = (
        np.array([factors[0] if len(factors) else 0.0 for _, factors in side])
        for side in (rows, columns)
    )
    reaches_limit = np.outer(largest_row_factors, largest_column_factors) * model.blocks > limit
    pairs_of_blocks = [np.zeros((2, 0), dtype=np.int64)]
    total = 0
    for row_group, column_group in zip(*np.nonzero(reaches_limit), strict=True):
        (left, r), (right, c) = rows[row_group], columns[column_group]
        smallest_factors = limit / (r * model.blocks[row_group, column_group] + _TINY)
        # How many columns each row needs; c falls, so -c rises as searchsorted wants it.
        counts = np.searchsorted(-c, -smallest_factors, side="left")
        total += int(counts.sum())
        if total > _MOST_LISTED:
            break
        pair_rows = np.repeat(left, counts)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])  # of each row's pairs
        pair_columns = right[np.arange(len(pair_rows)) - np.repeat(starts, counts)]
        pairs = np.stack([pair_rows, pair_columns])
        if model.symmetric:
            pairs = pairs[:, pair_rows < pair_columns]
        elif model.layout.hollow:
            pairs = pairs[:, pair_rows != pair_columns]
        pairs_of_blocks.append(pairs)
    return np.hstack(pairs_of_blocks)


def _thrown_share(model: SparseModel) -> float:
    """Return the share of the residual edges that is thrown; each then weighs 1/share as much.

    It is 1 if there is a maximum weight, and mostly without one. But weights without a maximum may
    be 10^12 times the mean weight of residual edges, and then so many cannot be thrown.
    """
    if model.max_weight is not None:
        return 1.0
    # B counts the pairs of an undirected graph twice.
    mean = float(model.blocks.sum()) / max(model.left_mean, _TINY) / (1 + model.symmetric)
    pair_count = model.layout.pairs_before(model.layout.shape[0])
    return min(1.0, max(_MOST_THROWN, 4 * pair_count) / max(mean, 1.0))


def _poisson_pairs(model: SparseModel, rng: np.random.Generator, factor: float = 1.0) -> IntVector:
    """Return pair indices with a Poisson number of repeats of each, of mean factor * x/w.

    A block gets a Poisson number of edges, each with two random endpoints. Poisson numbers that are
    split at random are independent Poisson numbers, so every pair has its own. In an undirected
    graph a pair can be thrown in two orders; halving the means makes up for that.
    """
    means = model.blocks / max(model.left_mean, _TINY) * factor
    if model.symmetric:
        means = means / 2
    counts = rng.poisson(np.minimum(means, _LARGEST_MEAN))
    row_groups, column_groups = np.indices(counts.shape, dtype=np.int32)
    rows = _endpoints(
        model.row_codes, model.row_factors, np.repeat(row_groups.ravel(), counts.ravel()), rng
    )
    columns = _endpoints(
        model.column_codes,
        model.column_factors,
        np.repeat(column_groups.ravel(), counts.ravel()),
        rng,
    )
    pair_indices = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(rows), _CHUNK):
        first = rows[start : start + _CHUNK].astype(np.int64)
        second = columns[start : start + _CHUNK].astype(np.int64)
        if model.layout.hollow:
            no_loop = first != second
            first, second = first[no_loop], second[no_loop]
        if model.symmetric:
            first, second = np.minimum(first, second), np.maximum(first, second)
        pair_indices.append(model.layout.places(first, second))
    return np.concatenate(pair_indices)


def _endpoints(
    codes: IntVector, factors: FloatVector, groups: IndexArray, rng: np.random.Generator
) -> IndexArray:
    """Draw one vertex of each of the listed groups, with probability proportional to its factor.

    The factors of all vertices, sorted by group, are added up; a uniform number within the range of
    a group then falls on one vertex of it.

    Args:
        codes: group of each vertex, shape (n,).
        factors: shape (n,).
        groups: shape (edges,).
        rng: ordinary random numbers.

    Returns:
        Vertices, shape (edges,).
    """
    order = np.argsort(codes, kind="stable").astype(np.int32)
    # Group g has the vertices order[starts[g] : starts[g + 1]].
    starts = np.searchsorted(codes[order], np.arange(int(codes.max(initial=0)) + 2))
    totals = np.concatenate([[0.0], np.cumsum(factors[order])])
    vertices = np.empty(len(groups), dtype=np.int32)
    for chunk in range(0, len(groups), _CHUNK):
        chunk_groups = groups[chunk : chunk + _CHUNK]
        first, stop = starts[chunk_groups], starts[chunk_groups + 1]
        low, high = totals[first], totals[stop]
        targets = low + rng.random(len(chunk_groups)) * (high - low)
        # In ascending order one search begins where the last one has left the memory.
        ascending = np.argsort(targets)
        positions = np.empty(len(chunk_groups), dtype=np.int64)
        positions[ascending] = np.searchsorted(totals, targets[ascending], side="right") - 1
        # Rounding may lead out of the group by one. An empty group gets any vertex.
        positions = np.clip(positions, first, np.maximum(stop - 1, first))
        vertices[chunk : chunk + _CHUNK] = order[np.minimum(positions, len(order) - 1)]
    return vertices


def _bernoulli_pairs(model: SparseModel, rng: np.random.Generator) -> IntVector:
    """Return the indices of pairs that are residual edges, each with probability q = min(1, x/w).

    Pairs with q above 1/10 are listed (`saturated_pairs`) and drawn one by one. The others are met
    by throwing edges at rate c q with c = -ln(1 - 1/10)/(1/10), slightly above 1: a pair is met
    with probability 1 - e^(-c q) >= q, and stays with probability q / (1 - e^(-c q)).
    """
    mean = max(model.left_mean, _TINY)
    listed = saturated_pairs(model, _RARE * mean)
    listed_chances = np.minimum(model.residual_at(*listed) / mean, 1.0)
    is_edge = rng.random(len(listed_chances)) < listed_chances
    rate = -np.log1p(-_RARE) / _RARE  # c
    met = np.unique(_poisson_pairs(model, rng, rate))
    chances = model.residual_at(*model.layout.ends(met)) / mean  # q
    # u (1 - e^(-c q)) < q has the probability q / (1 - e^(-c q)).
    stays = rng.random(len(met)) * -np.expm1(-rate * chances) < chances
    rare = chances <= _RARE
    return np.concatenate([model.layout.places(*listed[:, is_edge]), met[rare & stays]])


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the parts as one array, and empty the list, which frees them."""
    joined = np.concatenate(parts)
    parts.clear()
    return joined


def _added_up(
    model: SparseModel,
    pair_indices: IntVector,
    weights: FloatVector,
    rng: np.random.Generator,
) -> tuple[tuple[IntVector, IntVector], FloatVector]:
    """Return each pair once, with the sum of its weights, rounded to the grid of weights.

    Rounding is up or down at random, so that it keeps the expectation. Sums above the maximum
    weight are cut to it.
    """
    max_weight, whole = model.max_weight, model.whole
    order = np.argsort(pair_indices, kind="stable")
    pair_indices = pair_indices[order]
    weights = weights[order]
    del order  # large arrays are freed as soon as they are not needed
    is_new = np.ones(len(pair_indices), dtype=np.bool_)  # the first of equal indices
    np.not_equal(pair_indices[1:], pair_indices[:-1], out=is_new[1:])
    group = np.cumsum(is_new, dtype=np.int64)
    group -= 1
    sums: FloatVector = np.bincount(group, weights).astype(np.float64, copy=False)
    del group, weights
    pair_indices = pair_indices[is_new]
    if max_weight is not None:
        sums = np.minimum(sums, max_weight)
    step = 1.0 if whole else 1 / _GRID
    sums = np.floor(sums / step + rng.random(len(sums))) * step
    if max_weight is not None:  # which need not be on the grid: rounding up may pass it
        sums = np.minimum(sums, max_weight)
    if not whole:
        sums = np.round(sums, 4)
    positive = sums > 0
    pair_indices, sums = pair_indices[positive], sums[positive]
    return model.layout.ends(pair_indices), sums


def _by_group(
    codes: IntVector, factors: FloatVector, groups: int
) -> list[tuple[IntVector, FloatVector]]:
    """Return the members of each group and their factors, those with the largest factor first."""
    order = np.lexsort((-factors, codes))
    bounds = np.searchsorted(codes[order], np.arange(groups + 1))
    return [(order[start:stop], factors[order[start:stop]]) for start, stop in pairwise(bounds)]
