"""Partitions of the vertices of a weighted graph, and bounds on what the best one can be.

All of it works on a symmetric matrix of weights with a zero diagonal, which may be negative where
it is a noisy one, and so is post-processing: a release gives its synthetic weights, or its noisy
matrix. With M_ij = 1 where i and j are in one part, M is positive semidefinite with ones on its
diagonal, and the weight between parts is <L, M>/2 for the Laplacian L of the weights; the bounds
are those of relaxations that keep some of what M is:

- `relaxed`: the unit diagonal. Max-cut, and correlation clustering (max of <W, M>/2).
- `least_between`: the eigenvalues of M (Donath, Hoffman). Balanced partitions, and two sides.
- `least_cost`: the sizes of all parts of a tree, level by level (Charikar, Chatziafratis).

Source: Goemans, Williamson 1995; Donath, Hoffman 1973; Andersen, Lang 2008 (flows that improve a
cut); Traag, Waltman, van Eck 2019 (Leiden); Dasgupta 2016 (the cost of a hierarchy).
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
import scipy
import scipy.sparse as sp

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.cutnorm.low_rank import LowRankSolver, gaussian
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.options import check, option, read_options

Matrix = Any  # FloatMatrix or sp.csr_array, symmetric with a zero diagonal

_RANK = 48  # of the relaxation, at most
_CHUNKS, _CHUNK = 60, 8  # of its alternations
_SETTLED = 1e-5  # relative rise at which it stands still
_HYPERPLANES = 128
_STARTS = 12  # of a search
_PATIENCE = 60  # exchanges without a gain
_CANDIDATES = 24  # of each part, that may be exchanged
_DIRECTIONS = 8  # eigenvectors that are swept
_MOST_FLOW = 2_000_000  # pairs with weight, up to which flows and Leiden are asked
_MOST_TREE = 5_000  # vertices
MOST_PROVEN = 3_500  # of what all eigenvalues are computed
_TIMES = 8  # that Leiden is run


@final
@dataclass(frozen=True, kw_only=True)
class Partitioning:
    """Which partition is wanted.

    Attributes:
        parts: how many parts of a balanced partition, or into how many the tree of a hierarchy is
            cut; None for two.
        resolution: of "clusters": what a pair within a part has to weigh to be worth it; None for
            the mean weight of a pair. With 0.5 and a graph without weights this is correlation
            clustering with the least disagreements.
        smallest: of "sparsest": fewest vertices of a side.
        confidence: of the interval and of the bound on the optimum, together.
    """

    parts: int | None = option(None, help="How many parts (balanced, hierarchy).", least=2)
    resolution: float | None = option(
        None, help="Weight from which a pair belongs into one part (clusters).", least=0
    )
    smallest: int = option(1, help="Fewest vertices of a side (sparsest).", least=1)
    confidence: float = option(0.95, help="Probability that the interval holds.", above=0, below=1)

    def __post_init__(self) -> None:
        check(self)


class FoundParts(NamedTuple):
    """A partition: the part of each vertex, from 0 on, and the tree that it is cut from, or None.

    The tree is that of `scipy.cluster.hierarchy`.
    """

    codes: IntVector
    tree: FloatMatrix | None = None


# --- max-cut


def max_cut(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """Two parts with much weight between them: hyperplanes through the relaxation, then flips."""
    del wanted
    vectors = _solved(-weights)[0].V
    rng = np.random.default_rng(0)
    signs = np.where(
        vectors @ gaussian(rng, (vectors.shape[1], _HYPERPLANES), vectors.dtype) < 0, -1.0, 1.0
    )
    inside = np.einsum("ij,ij->j", signs, weights @ signs)
    starts = np.argsort(inside, kind="stable")[:_STARTS]
    best = min((_flipped(weights, signs[:, each]) for each in starts), key=lambda found: found[0])
    return FoundParts((best[1] != best[1][0]).astype(np.int64))


def _flipped(weights: Matrix, signs: FloatVector) -> tuple[float, FloatVector]:
    """Signs after flips, each the best one not made lately, with s'Ws: the least that was seen."""
    signs = signs.copy()
    sums = weights @ signs
    value = least = float(signs @ sums)
    best, rests = signs.copy(), np.zeros(len(signs), dtype=np.int64)
    tenure, idle, now = min(10, len(signs) // 4), 0, 0
    while idle < _PATIENCE + len(signs) // 4:
        gains = np.where(rests > now, -np.inf, signs * sums)
        place = int(gains.argmax())
        if not math.isfinite(gains[place]):
            break
        value -= 4 * float(gains[place])
        signs[place] *= -1
        where, row = _row(weights, place)
        sums[where] += 2 * signs[place] * row
        rests[place], now, idle = now + tenure + 1, now + 1, idle + 1
        if value < least - 1e-9 * abs(least):
            least, best, idle = value, signs.copy(), 0
    return least, best


def _row(weights: Matrix, place: int) -> tuple[Any, FloatVector]:
    """A row of a matrix: where its entries are, and what."""
    if not sp.issparse(weights):
        return slice(None), weights[place]
    part = slice(weights.indptr[place], weights.indptr[place + 1])
    return weights.indices[part], weights.data[part]


def _solved(weights: Matrix) -> tuple[LowRankSolver, Operand, float]:
    """Unit vectors v with a large sum of w_ij <v_i, v_j>; the matrix W + cI, and c.

    The infinity-to-one relaxation has two sets of unit vectors; for a positive semidefinite matrix
    they may as well be the same, so W gets a diagonal that makes it nearly that.
    """
    n = weights.shape[0]
    size = float(abs(weights).sum(axis=1).max(initial=0.0))
    try:
        low = scipy.sparse.linalg.eigsh(
            weights, 1, which="SA", tol=1e-2, return_eigenvectors=False, v0=np.ones(n)
        )
        shift = 1.02 * max(-float(low[0]), 1e-3 * size)
    except (scipy.sparse.linalg.ArpackError, TypeError):
        shift = size
    if sp.issparse(weights):
        raised = weights + sp.diags_array(np.full(n, shift))
    else:
        raised = weights.copy()
        np.fill_diagonal(raised, shift)
    operand = Operand.from_matrix(raised)
    rank = min(_RANK, math.ceil(math.sqrt(2 * n)) + 1)
    solver = LowRankSolver((n, n), rank, np.float64, bordered=False)
    value = -math.inf
    for _ in range(_CHUNKS):
        before, value = value, solver.step(operand, _CHUNK, momentum=0.85)
        if value <= before * (1 + _SETTLED):
            break
    return solver, operand, shift


def relaxed(weights: FloatMatrix) -> float:
    """A proven bound on <W, M> for every positive semidefinite M with ones on its diagonal.

    For x of signs, and so for M by the same proof: x'(W + cI)x is at most the bound of the scaling
    theorem, whatever c is, and x'cx = cn.
    """
    solver, operand, shift = _solved(weights)
    n = weights.shape[0]
    found = float(operand.unscale_up(solver.upper_bound(operand).value))
    bound: float = found - shift * n + 1e-13 * (abs(found) + shift * n)
    return bound


# --- balanced parts


def balanced(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """Parts whose sizes differ by one at most with little weight between them.

    Halved again and again along eigenvectors, then vertices of two parts change places.
    """
    n, parts = weights.shape[0], wanted.parts or 2
    if parts > n:
        raise ParameterError(f"parts must be at most the number of vertices, {n:,}")
    rng = np.random.default_rng(0)
    best, most = np.zeros(n, dtype=np.int64), -math.inf
    for start in range(_DIRECTIONS // 2):
        codes = np.zeros(n, dtype=np.int64)
        _halve(weights, np.arange(n), parts, codes, start)
        if start == _DIRECTIONS // 2 - 1:
            codes = rng.permutation(codes)
        inside, codes = _exchanged(weights, codes, parts)
        if inside > most:
            most, best = inside, codes
    return FoundParts(best)


def part_sizes(n: int, parts: int) -> IntVector:
    """Sizes of balanced parts, the larger ones first."""
    return np.bincount(np.arange(n) % parts, minlength=parts)


def _halve(
    weights: Matrix, members: IntVector, parts: int, codes: IntVector, direction: int
) -> None:
    """Number the parts of some vertices on from the code that they have."""
    if parts == 1:
        return
    left = parts // 2
    sizes = part_sizes(len(members), parts)
    vectors = directions(weights[members][:, members], direction + 1)
    order = np.argsort(vectors[:, min(direction, vectors.shape[1] - 1)], kind="stable")
    first, second = np.split(order, [int(sizes[:left].sum())])
    codes[members[second]] += left
    _halve(weights, members[first], left, codes, 0)
    _halve(weights, members[second], parts - left, codes, 0)


def directions(weights: Matrix, count: int) -> FloatMatrix:
    """Eigenvectors that tell communities, the largest eigenvalues first, shape (n, <= count).

    Of weights over the roots of the absolute sums at both ends, divided by these roots; the first
    one, which is constant where no weight is negative, is left out.
    """
    n = weights.shape[0]
    if n <= 2:
        return np.arange(n, dtype=np.float64)[:, None]
    sums = np.asarray(abs(weights).sum(axis=1), dtype=np.float64)
    roots = 1 / np.sqrt(np.maximum(sums, 1e-9 * max(float(sums.max()), 1e-300)))
    count = min(count + 1, n)
    if n <= 600 or count >= n - 1:
        dense = weights.toarray() if sp.issparse(weights) else weights
        scaled = dense * roots[:, None] * roots
        _, vectors = scipy.linalg.eigh(scaled, subset_by_index=(n - count, n - 1))
        vectors = vectors[:, ::-1]
    else:
        operator = scipy.sparse.linalg.LinearOperator(
            (n, n), matvec=lambda x: roots * (weights @ (roots * x.ravel())), dtype=np.float64
        )
        try:
            values, vectors = scipy.sparse.linalg.eigsh(
                operator, count, which="LA", v0=1 / roots, tol=1e-4, maxiter=40 * count
            )
        except scipy.sparse.linalg.ArpackNoConvergence as stopped:
            values, vectors = stopped.eigenvalues, stopped.eigenvectors
            if not len(values):
                values, vectors = np.zeros(1), sums[:, None]
        vectors = vectors[:, np.argsort(-values, kind="stable")]
    found: FloatMatrix = vectors[:, min(1, vectors.shape[1] - 1) :] * roots[:, None]
    return found


def _exchanged(weights: Matrix, codes: IntVector, parts: int) -> tuple[float, IntVector]:
    """Codes after exchanges between two parts, each the best of those not made lately.

    Returns:
        Twice the weight within parts, the most that was seen, and the codes.
    """
    n, codes = len(codes), codes.copy()
    sums = weights @ np.eye(parts)[codes]
    value = most = float(sums[np.arange(n), codes].sum())
    best, rests, now, idle = codes.copy(), np.zeros(n, dtype=np.int64), 0, 0
    while idle < _PATIENCE:
        gains = sums - sums[np.arange(n), codes][:, None]
        gains[rests > now] = -np.inf
        gain, a, b = max(
            (_best_exchange(weights, gains, codes, a, b) for a in range(parts) for b in range(a)),
            key=lambda found: found[0],
        )
        if not math.isfinite(gain):
            break
        for place, old, new in ((a, codes[a], codes[b]), (b, codes[b], codes[a])):
            where, row = _row(weights, place)
            sums[where, old] -= row
            sums[where, new] += row
        codes[a], codes[b] = codes[b], codes[a]
        value += 2 * gain
        rests[[a, b]], now, idle = now + 1 + min(10, n // 8), now + 1, idle + 1
        if value > most + 1e-9 * abs(most):
            most, best, idle = value, codes.copy(), 0
    return most, best


def _best_exchange(
    weights: Matrix, gains: FloatMatrix, codes: IntVector, a: int, b: int
) -> tuple[float, int, int]:
    """By how much the weight within parts grows, and a vertex of each part."""
    ends = []
    for own, other in ((a, b), (b, a)):
        (members,) = np.nonzero(codes == own)
        kept = np.argsort(-gains[members, other], kind="stable")[:_CANDIDATES]
        ends.append(members[kept])
    between = weights[ends[0]][:, ends[1]]
    between = between.toarray() if sp.issparse(between) else between
    found = gains[ends[0], b][:, None] + gains[ends[1], a] - 2 * between
    row, column = np.unravel_index(int(found.argmax()), found.shape)
    return float(found[row, column]), int(ends[0][row]), int(ends[1][column])


def least_between(weights: FloatMatrix, sizes: IntVector) -> float:
    """A bound on the weight between parts of these sizes, for every partition that has them.

    Twice that weight is <L, XX'> for the 0/1 matrix X of the parts, and L has the vector of ones in
    its kernel: so <L, XX'> = <L, P XX' P> with P = I - J/n, whose nonzero eigenvalues are those of
    diag(sizes) - sizes sizes'/n, and a trace of a product is at least the sum of the products of
    eigenvalues in opposite order.
    """
    n = len(weights)
    own = np.linalg.eigvalsh(np.diag(sizes.astype(np.float64)) - np.outer(sizes, sizes) / n)
    own = np.maximum(own[::-1][: len(sizes) - 1], 0)
    values = laplacian_values(weights)[: len(own)]
    return float(values @ own) / 2 - 1e-12 * float(np.abs(values) @ own)


def laplacian_values(weights: FloatMatrix) -> FloatVector:
    """Lower bounds on the eigenvalues of the Laplacian but for that of the ones, ascending.

    On the space orthogonal to the ones: a large multiple of J is added, so that its own value comes
    last. Rounding errors of a symmetric eigensolver are below n u times the norm by far; ten times
    that is taken off.
    """
    n = len(weights)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    size = float(np.abs(laplacian).sum(axis=1).max(initial=0.0))
    values = np.linalg.eigvalsh(laplacian + 2 * size / n)
    found: FloatVector = np.asarray(values[: n - 1] - 10 * n * 2.0**-53 * 4 * size, np.float64)
    return found


# --- sparsest cut


def sparsest(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """Two sides with little weight between them for each pair of vertices across.

    The best prefix of the vertices in the order of an eigenvector, improved by flows.
    """
    n, least = weights.shape[0], wanted.smallest
    if 2 * least > n:
        raise ParameterError(f"smallest must be at most half the number of vertices, {n // 2:,}")
    counts = np.arange(n + 1)
    pairs = counts * (n - counts).astype(np.float64)
    pairs[(counts < least) | (counts > n - least)] = np.nan
    best, density = np.zeros(n, dtype=np.bool_), math.inf
    vectors = [*directions(weights, _DIRECTIONS).T, np.asarray(weights.sum(axis=1))]
    for vector in vectors:
        order = np.argsort(vector, kind="stable")
        count = int(np.nanargmin(_prefix_cuts(weights, order) / pairs[1:])) + 1
        found, side = _moved(weights, np.isin(np.arange(n), order[:count]), pairs)
        if found < density:
            density, best = found, side
    best = _improved(weights, best, least)
    return FoundParts((best != best[0]).astype(np.int64))


def _moved(weights: Matrix, side: BoolVector, pairs: FloatVector) -> tuple[float, BoolVector]:
    """A side after single vertices changed it, each the best one, and its weight across a pair.

    `pairs` has the number of pairs across for each size; NaN for sizes that are not allowed.
    """
    signs = np.where(side, 1.0, -1.0)
    sums, size = weights @ signs, int(side.sum())
    cut = (float(weights.sum()) - float(signs @ sums)) / 4
    while True:
        then = (cut + signs * sums) / pairs[np.where(signs > 0, size - 1, size + 1)]
        place = -1 if np.isnan(then).all() else int(np.nanargmin(then))
        if place < 0 or not then[place] < cut / pairs[size] - 1e-9 * abs(cut / pairs[size]):
            return float(cut / pairs[size]), signs > 0
        cut += float(signs[place] * sums[place])
        size -= int(signs[place])
        signs[place] *= -1
        where, row = _row(weights, place)
        sums[where] += 2 * signs[place] * row


def _prefix_cuts(weights: Matrix, order: IntVector) -> FloatVector:
    """Weight between the first vertices of an order and all others, for each number of them."""
    moved = weights[order][:, order]
    lower = sp.tril(moved) if sp.issparse(moved) else np.tril(moved)
    found: FloatVector = np.cumsum(
        np.asarray(moved.sum(axis=1)).ravel() - 2 * np.asarray(lower.sum(axis=1)).ravel()
    )
    return found


def _improved(weights: Matrix, side: BoolVector, least: int) -> BoolVector:
    """A side with less weight across for each pair, by flows that may change its members.

    For a side A with c across, the least cut of the network in which each vertex of A is worth
    c/|A| and each other one costs c/|not A| finds a set that cuts less for what it is worth, if
    there is one.
    """
    import igraph  # slow to import

    n = len(side)
    rows, columns = (
        sp.triu(weights, 1).nonzero() if sp.issparse(weights) else np.nonzero(np.triu(weights, 1))
    )
    values = np.asarray(weights[rows, columns]).ravel()
    if len(rows) > _MOST_FLOW or (values < 0).any():
        return side
    edges = np.concatenate(
        [
            np.stack([rows, columns], axis=1),
            np.stack([np.full(n, n), np.arange(n)], axis=1),
            np.stack([np.arange(n), np.full(n, n + 1)], axis=1),
        ]
    )
    network = igraph.Graph(n=n + 2, edges=edges)

    def density(mask: BoolVector) -> float:
        size = int(mask.sum())
        if min(size, n - size) < least:
            return math.inf
        return float(values[mask[rows] != mask[columns]].sum()) / (size * (n - size))

    now = density(side)
    while now > 0:
        inside = side if side.sum() <= n / 2 else ~side
        worth = np.where(inside, now * (n - inside.sum()), 0.0)
        price = np.where(inside, 0.0, now * inside.sum())
        cut = network.mincut(n, n + 1, capacity=np.concatenate([values, worth, price]).tolist())
        other = np.zeros(n + 2, dtype=np.bool_)
        other[cut.partition[0]] = True
        found = other[:n] if other[n] else ~other[:n]
        then = density(found)
        if not then < now * (1 - 1e-9):
            break
        side, now = found, then
    return side


# --- correlation clustering


def clusters(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """Parts with the largest sum of (weight - resolution) over pairs within: Leiden, some times."""
    import igraph  # slow to import

    n, low = weights.shape[0], min(0.0, float(weights.min()))
    if low < 0 and not sp.issparse(weights):  # the same objective, shifted
        weights = weights - low
        np.fill_diagonal(weights, 0)
    resolution = mean_weight(weights) if wanted.resolution is None else wanted.resolution - low
    upper = (
        sp.triu(weights, 1).tocoo() if sp.issparse(weights) else sp.coo_array(np.triu(weights, 1))
    )
    if upper.nnz > _MOST_FLOW:
        raise GraphError(
            f"clusters takes up to {_MOST_FLOW:,} pairs with weight; ask for a balanced partition"
        )
    network = igraph.Graph(n=n, edges=np.stack([upper.row, upper.col], axis=1))
    best, most = np.arange(n), 0.0
    igraph.set_random_number_generator(random.Random(0))  # noqa: S311
    try:
        for _ in range(_TIMES):
            found = network.community_leiden(
                "CPM", weights=upper.data.tolist(), resolution=resolution, n_iterations=-1
            )
            codes = np.array(found.membership, dtype=np.int64)
            sizes = np.bincount(codes).astype(np.float64)
            inside = float(upper.data[codes[upper.row] == codes[upper.col]].sum())
            gain = inside - resolution * float(sizes @ (sizes - 1)) / 2
            if gain > most:
                best, most = codes, gain
    finally:
        igraph.set_random_number_generator(random)
    return FoundParts(np.unique(best, return_inverse=True)[1].ravel().astype(np.int64))


def mean_weight(weights: Matrix) -> float:
    """The mean weight of a pair, not below 0."""
    n = weights.shape[0]
    mean: float = max(0.0, float(weights.sum()) / max(n * (n - 1), 1))
    return mean


# --- hierarchy


def hierarchy(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """A binary tree in which pairs with much weight part late, by average linkage.

    Its cost is the sum of weight times the number of vertices below the pair's lowest ancestor.
    """
    n, parts = weights.shape[0], wanted.parts or 2
    if not 2 <= n <= _MOST_TREE or parts > n:
        raise GraphError(
            f"a hierarchy is made of 2 to {_MOST_TREE:,} vertices, and cut into no more parts than "
            "there are"
        )
    dense = weights.toarray() if sp.issparse(weights) else weights
    distances = float(dense.max()) - dense
    np.fill_diagonal(distances, 0)
    condensed = scipy.spatial.distance.squareform(distances, checks=False)
    tree = scipy.cluster.hierarchy.linkage(condensed, "average")
    codes = scipy.cluster.hierarchy.cut_tree(tree, n_clusters=parts).ravel()
    return FoundParts(codes.astype(np.int64), tree)


def merged(tree: FloatMatrix) -> list[tuple[IntVector, IntVector]]:
    """The vertices of both sides of each merge of a tree, in order."""
    below: list[IntVector] = [np.array([i]) for i in range(len(tree) + 1)]
    found = []
    for a, b in tree[:, :2].astype(np.int64):
        found.append((below[a], below[b]))
        below.append(np.concatenate([below[a], below[b]]))
    return found


def levels(tree: FloatMatrix) -> Iterator[tuple[int, list[int]]]:
    """For t = 1 to n - 1 the sizes of the largest clusters of at most t; how many t are alike."""
    n = len(tree) + 1
    sizes = [1] * n + tree[:, 3].astype(int).tolist()
    children = tree[:, :2].astype(int).tolist()
    order = sorted(range(n, 2 * n - 1), key=lambda node: (sizes[node], node))
    now = Counter({1: n})
    ends = [*(sizes[node] for node in order), n]
    yield ends[0] - 1, list(now.elements())
    for place, node in enumerate(order[:-1]):
        now[sizes[node]] += 1
        now.subtract(sizes[child] for child in children[node - n])
        if ends[place + 1] > sizes[node]:
            yield ends[place + 1] - sizes[node], list(now.elements())


def tree_cost(weights: Matrix, tree: FloatMatrix) -> float:
    """Sum over pairs of weight times the number of vertices below their lowest ancestor."""
    dense = weights.toarray() if sp.issparse(weights) else weights
    return math.fsum(float(dense[np.ix_(a, b)].sum()) * (len(a) + len(b)) for a, b in merged(tree))


def least_cost(weights: FloatMatrix, total: float, slack: float) -> float:
    """A bound on the cost of every tree, for true weights of which these are an estimate.

    Their total is at least `total` >= 0, and that between the parts of any partition at least what
    it is here, less `slack`.

    The cost is the sum over t = 0, ..., n - 1 of the weight between the largest clusters of at most
    t vertices. That is <L, PXX'P>/2, see `least_between`, where PXX'P has eigenvalues of at most t
    and a trace of n - (sum of squared sizes)/n, which lies in n - t to n - 1: least with t times
    the smallest eigenvalues. For weights that are not below 0, no level has less than 0.
    """
    n = len(weights)
    values = laplacian_values(weights)
    before = np.concatenate([[0.0], np.cumsum(values)])
    negative = int(np.count_nonzero(values < 0))
    cost = 2 * total
    for t in range(2, n):
        trace = min(max(float(t * negative), n - t), n - 1)
        whole = min(int(trace // t), n - 1)
        rest = values[whole] * (trace - t * whole) if whole < n - 1 else 0.0
        cost += max((t * before[whole] + rest) / 2 * (1 - 1e-12) - slack, 0.0)
    return cost


# --- what they are worth, and the table of kinds


def members_of(codes: IntVector) -> list[IntVector]:
    """The vertices of each part."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])


def worth(kind: str, weights: Matrix, found: FoundParts, wanted: Partitioning) -> float:
    """The value of a partition in a graph of these weights, by the definition of its kind."""
    if found.tree is not None:
        return tree_cost(weights, found.tree)
    sizes = np.bincount(found.codes)
    blocks = (weights[each][:, each].sum() for each in members_of(found.codes))
    inside = math.fsum(float(block) for block in blocks) / 2
    if kind == "clusters":
        return inside - (wanted.resolution or 0.0) * float((sizes * (sizes - 1)).sum()) / 2
    between: float = float(weights.sum()) / 2 - inside
    return between / float(sizes[0] * sizes[1]) if kind == "sparsest" else between


@final
@dataclass(frozen=True)
class PartitionKind:
    """A kind of partition.

    Attributes:
        search: finds one of a matrix of weights.
        measure: what its value is.
        largest: whether that should be large.
        uses: the options that it has.
    """

    search: Callable[[Matrix, Partitioning], FoundParts]
    measure: str
    largest: bool = False
    uses: tuple[str, ...] = ()


KINDS: Mapping[str, PartitionKind] = {
    "max-cut": PartitionKind(max_cut, "weight between the two parts", largest=True),
    "sparsest": PartitionKind(sparsest, "weight across for each pair across", uses=("smallest",)),
    "balanced": PartitionKind(balanced, "weight between parts", uses=("parts",)),
    "clusters": PartitionKind(
        clusters, "weight within parts, less the resolution for each pair", True, ("resolution",)
    ),
    "hierarchy": PartitionKind(
        hierarchy, "weight times vertices below the common branch", uses=("parts",)
    ),
}


def check_kind(kind: str, wanted: Partitioning) -> PartitionKind:
    """The entry of a kind.

    Raises:
        ParameterError: there is no such kind, or it has not one of the options that are given.
    """
    if kind not in KINDS:
        raise ParameterError(f"unknown kind {kind!r:.60}; choose one of {', '.join(KINDS)}")
    found = KINDS[kind]
    for name in ("parts", "resolution", "smallest"):
        given = getattr(wanted, name) != getattr(Partitioning(), name)
        if given and name not in found.uses:
            kinds = " and ".join(repr(each) for each, known in KINDS.items() if name in known.uses)
            raise ParameterError(f"{name} is an option of kind {kinds}, not of {kind!r}")
    return found


def read_partitioning(text: str) -> tuple[str, Partitioning]:
    """The kind and the options that a string names: "balanced:parts=4".

    Raises:
        ParameterError: an unknown kind or option.
    """
    kind, colon, rest = text.partition(":")
    check_kind(kind, Partitioning())
    wanted = read_options(rest if colon else None, Partitioning, kind)
    check_kind(kind, wanted)
    return kind, wanted
