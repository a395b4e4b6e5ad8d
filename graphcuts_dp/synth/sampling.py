"""Random graphs drawn from a sparse model, in time proportional to their edges.

A `SparseModel` gives every pair of vertices an expected weight in two parts, and no matrix is ever
written out:

- a list of *kept pairs*, each with an expected weight (`weights`) and the probability that it is an
  edge (`chances`); `rows` and `columns` are its vertices;
- the *residual*: weight x_ij = r_i c_j B[a_i, b_j] on every pair (i, j), from factors r and c of
  the vertices, groups a and b of the vertices (`row_codes`, `column_codes`), and one coefficient B
  for each pair of groups, a *block*. The factors of a group sum to 1, so B is the total weight of
  the pairs in its block. In an undirected graph each pair is counted twice in it.

`sample_edges` draws a graph. An edge of the residual has one of the weights `left_points`, with the
probabilities `left_shares` ("left" over by the kept pairs). Their mean is `left_mean`, w below. So
a pair has x/w residual edges in expectation. *Throwing* an edge means to draw a block with a
probability proportional to B, and then both endpoints with probabilities proportional to their
factors.

The model's `layout` says which pairs there are. A *pair index* numbers them in row order;
`layout.places(rows, columns)` returns pair indices and `layout.ends` inverts it. A layout is
*hollow* if no vertex is paired with itself.

Models are made of noisy data alone, so drawing from them costs no privacy. Results of a seed are
recorded in tests, so neither the order nor the number of the random draws may change.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IndexArray, IntVector
from graphcuts_dp.estimate.sparse_model import SparseModel

# Without a maximum weight, about this many edges are thrown at most, or four for each pair if that
# is more.
_MOST_THROWN = 2**20
_LARGEST_MEAN = 1e12  # of a Poisson number of edges of a block; far above what memory holds
# With a maximum weight: a pair with more than this many expected edges is listed and drawn by
# itself; the pairs with fewer are met by throwing.
_RARE = 0.1
_MOST_LISTED = 1 << 25  # most pairs that `saturated_pairs` lists
_CHUNK = 1 << 22  # endpoints that are looked up at once
_DECIMALS = 4  # of synthetic weights that are not whole numbers
_GRID = 1e4  # 10^_DECIMALS: such weights are multiples of 1/_GRID
_TINY = 1e-300  # in place of 0, by which is divided

_Pairs = IntVector  # rows and columns of pairs, shape (2, pairs)


def sample_edges(
    model: SparseModel, rng: np.random.Generator, *, weighted: bool
) -> tuple[tuple[IntVector, IntVector], FloatVector]:
    """Draw a graph in which each pair has its expected weight from the model.

    Kept pairs: a pair with expected weight y and probability p is an edge with probability p, and
    then weighs y/p. In a graph without weights it is an edge with probability y.

    Residual without a maximum weight: a Poisson number of edges, of mean x/w, falls on each pair,
    and their weights are added up. Where there would be many more edges than pairs, only a share of
    them is drawn, and each weighs more (`_thrown_share`).

    Residual with a maximum weight: each pair is one edge with probability q = min(1, x/w), else
    none, independently of the other pairs (`_bernoulli_pairs`).

    The expectation is exact with three exceptions: what falls on a kept pair beyond the maximum
    weight is cut off; a q above 1 counts as 1; and if more than 2^25 pairs have a q above 1/10,
    `saturated_pairs` lists those of the first blocks only, and the others are never edges.

    Args:
        model: what to draw from.
        rng: ordinary random numbers, which need not be private.
        weighted: whether the graph has weights; else every edge weighs 1, and w must be 1.

    Returns:
        Rows and columns of the edges, each pair once, of an undirected graph with row < column; and
        their weights.
    """
    kept_count = len(model.weights)
    is_edge = rng.random(kept_count) < model.chances
    edge_weights = model.weights / np.maximum(model.chances, _TINY)
    if not weighted:  # a second draw; the first one stays, since recorded results depend on it
        is_edge = rng.random(kept_count) < model.weights
        edge_weights = np.ones(kept_count)
    kept_pairs = model.layout.places(
        model.rows[is_edge].astype(np.int64), model.columns[is_edge].astype(np.int64)
    )

    share = _thrown_share(model)
    if model.max_weight is None:
        residual_pairs = _poisson_pairs(model, rng, share)
    else:
        residual_pairs = _bernoulli_pairs(model, rng)
    residual_weights = rng.choice(model.left_points, len(residual_pairs), p=model.left_shares)
    residual_weights = residual_weights / share
    if not weighted:
        residual_weights = np.ones(len(residual_pairs))

    pair_indices = [kept_pairs, residual_pairs]
    weights = [edge_weights[is_edge], residual_weights]
    # To save memory: now the lists hold the only references, and `_joined` frees the parts.
    del kept_pairs, residual_pairs, edge_weights, residual_weights
    return _added_up(model, _joined(pair_indices), _joined(weights), rng)


def saturated_pairs(model: SparseModel, limit: float) -> _Pairs:
    """Return the pairs whose residual weight is above a limit, 2^25 of them at most.

    In each block the columns are sorted by factor, largest first. A row i needs those with
    c_j > limit / (r_i B), which are the first ones. Blocks in which even the largest factors stay
    below the limit are skipped. If the blocks so far have more than 2^25 pairs above the limit, the
    last block and all later ones are left out.

    Cost: O(n log n + groups^2 n + pairs returned) at most.

    Args:
        model: with its residual.
        limit: a weight.

    Returns:
        Rows and columns, shape (2, pairs); of an undirected graph row < column.
    """
    # For each group, its vertices and their factors, largest factor first.
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
        (row_vertices, r), (column_vertices, c) = rows[row_group], columns[column_group]
        least_factors = limit / (r * model.blocks[row_group, column_group] + _TINY)  # of columns
        # How many columns each row needs; c falls, so -c rises as searchsorted wants it.
        counts = np.searchsorted(-c, -least_factors, side="left")
        total += int(counts.sum())
        if total > _MOST_LISTED:
            break
        # Row k has counts[k] pairs, with the first counts[k] columns: 0, 1, ..., counts[k] - 1.
        pair_rows = np.repeat(row_vertices, counts)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])  # of each row's pairs
        column_ranks = np.arange(len(pair_rows)) - np.repeat(starts, counts)
        pair_columns = column_vertices[column_ranks]
        pairs = np.stack([pair_rows, pair_columns])
        if model.symmetric:  # each pair is met twice, in both orders
            pairs = pairs[:, pair_rows < pair_columns]
        elif model.layout.hollow:
            pairs = pairs[:, pair_rows != pair_columns]
        pairs_of_blocks.append(pairs)
    return np.hstack(pairs_of_blocks)


def _thrown_share(model: SparseModel) -> float:
    """Return the share of the residual edges that is thrown; each then weighs 1/share as much.

    It is 1 if there is a maximum weight, and mostly without one. But weights without a maximum may
    be 10^12 times the mean weight of residual edges, and then not all edges can be thrown.
    """
    if model.max_weight is not None:
        return 1.0
    # B counts the pairs of an undirected graph twice.
    expected_edges = float(model.blocks.sum()) / max(model.left_mean, _TINY) / (1 + model.symmetric)
    pair_count = model.layout.pairs_before(model.layout.shape[0])  # of all rows
    return min(1.0, max(_MOST_THROWN, 4 * pair_count) / max(expected_edges, 1.0))


def _poisson_pairs(model: SparseModel, rng: np.random.Generator, rate: float) -> IntVector:
    """Return pair indices with a Poisson number of repeats of each, of mean rate * x/w.

    A block gets a Poisson number of edges, each with two random endpoints. Poisson numbers that are
    split at random are independent Poisson numbers, so every pair has its own. In an undirected
    graph a pair can be thrown in two orders; halving the means makes up for that.
    """
    means = model.blocks / max(model.left_mean, _TINY) * rate
    if model.symmetric:
        means = means / 2
    counts = rng.poisson(np.minimum(means, _LARGEST_MEAN))  # edges of each block
    row_groups, column_groups = np.indices(counts.shape, dtype=np.int32)  # of each block
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
    for start in range(0, len(groups), _CHUNK):
        chunk_groups = groups[start : start + _CHUNK]
        first, stop = starts[chunk_groups], starts[chunk_groups + 1]
        low, high = totals[first], totals[stop]
        targets = low + rng.random(len(chunk_groups)) * (high - low)
        # In ascending order one search begins where the last one has left the memory.
        ascending = np.argsort(targets)
        positions = np.empty(len(chunk_groups), dtype=np.int64)
        positions[ascending] = np.searchsorted(totals, targets[ascending], side="right") - 1
        # Rounding may lead to the vertex before or after the group. A group without vertices gets
        # any vertex.
        positions = np.clip(positions, first, np.maximum(stop - 1, first))
        vertices[start : start + _CHUNK] = order[np.minimum(positions, len(order) - 1)]
    return vertices


def _bernoulli_pairs(model: SparseModel, rng: np.random.Generator) -> IntVector:
    """Return the indices of pairs that are residual edges, each with probability q = min(1, x/w).

    Pairs with q above 1/10 are listed (`saturated_pairs`), and each is drawn by itself. For the
    others, a Poisson number of edges is thrown on each pair, of mean c q with
    c = -ln(1 - 1/10)/(1/10), slightly above 1. So a pair is met at least once with probability
    1 - e^(-c q). This is concave in q, 0 at q = 0 and 1/10 at q = 1/10, so it is at least q between
    them. A pair that is met stays with probability q / (1 - e^(-c q)): it is an edge with
    probability q.
    """
    mean = max(model.left_mean, _TINY)  # w
    listed = saturated_pairs(model, _RARE * mean)
    listed_chances = np.minimum(model.residual_at(*listed) / mean, 1.0)
    is_edge = rng.random(len(listed_chances)) < listed_chances
    rate = -np.log1p(-_RARE) / _RARE  # c
    met = np.unique(_poisson_pairs(model, rng, rate))
    chances = model.residual_at(*model.layout.ends(met)) / mean  # q
    # For u uniform in [0, 1), u (1 - e^(-c q)) < q has the probability q / (1 - e^(-c q)).
    stays = rng.random(len(met)) * -np.expm1(-rate * chances) < chances
    is_rare = chances <= _RARE  # listed pairs were met too
    return np.concatenate([model.layout.places(*listed[:, is_edge]), met[is_rare & stays]])


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
    """Return the endpoints of each pair once, with the sum of its weights, rounded.

    Weights are rounded to whole numbers if the model's are whole (`model.integral`), else to four
    decimals: up or down at random, so that the expectation stays. Sums above the maximum weight are
    cut to it, and pairs of weight 0 are left out.

    Args:
        model: what was drawn from.
        pair_indices: with repeats, shape (edges,).
        weights: of these edges, shape (edges,).
        rng: ordinary random numbers.
    """
    max_weight = model.max_weight
    order = np.argsort(pair_indices, kind="stable")
    pair_indices = pair_indices[order]
    weights = weights[order]
    del order  # large arrays are freed as soon as they are not needed
    is_new = np.ones(len(pair_indices), dtype=np.bool_)  # the first of equal indices
    np.not_equal(pair_indices[1:], pair_indices[:-1], out=is_new[1:])
    ranks = np.cumsum(is_new, dtype=np.int64)  # of the pair among the distinct ones
    ranks -= 1
    sums: FloatVector = np.bincount(ranks, weights).astype(np.float64, copy=False)
    del ranks, weights
    pair_indices = pair_indices[is_new]
    if max_weight is not None:
        sums = np.minimum(sums, max_weight)
    step = 1.0 if model.integral else 1 / _GRID
    sums = np.floor(sums / step + rng.random(len(sums))) * step
    if max_weight is not None:  # which need not be a multiple of the step: rounding up may pass it
        sums = np.minimum(sums, max_weight)
    if not model.integral:  # a product with the step is no exact decimal
        sums = np.round(sums, _DECIMALS)
    positive = sums > 0
    pair_indices, sums = pair_indices[positive], sums[positive]
    return model.layout.ends(pair_indices), sums


def _by_group(
    codes: IntVector, factors: FloatVector, groups: int
) -> list[tuple[IntVector, FloatVector]]:
    """Return the vertices of each group and their factors, the largest factor first."""
    order = np.lexsort((-factors, codes))
    bounds = np.searchsorted(codes[order], np.arange(groups + 1))
    return [(order[start:stop], factors[order[start:stop]]) for start, stop in pairwise(bounds)]
