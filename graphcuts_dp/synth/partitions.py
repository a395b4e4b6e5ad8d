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

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
import scipy
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.spectral import largest_singular_value
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.options import check, option
from graphcuts_dp.resources import repeatable_igraph

Matrix = Any  # FloatMatrix or sp.csr_array, symmetric with a zero diagonal
# Of the weight between parts and the sum of their squared sizes; numbers or arrays.
Score = Callable[[Any, Any], Any]

_DIRECTIONS = 9  # eigenvectors that a search starts from
_TURNS = 12  # mixtures of them besides, of more than two parts
_PATIENCE, _MOST_PATIENCE = 60, 200  # moves without a gain, and a quarter of the vertices, at most
_REST = 10  # moves until a vertex may move again
_MOST_PAIRS = 2_000_000  # pairs with weight, up to which Leiden is asked
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
            the mean weight of a pair of what a release has been searched in. With 0.5 and a graph
            without weights this is correlation clustering with the least disagreements.
        smallest: of "sparsest": fewest vertices of a side.
        confidence: of the interval and of the bound on the optimum, together.
    """

    parts: int | None = option(None, help="How many parts (balanced, hierarchy).", least=2)
    resolution: float | None = option(
        None, help="Weight from which a pair belongs into one part (clusters).", least=0
    )
    smallest: int = option(1, help="Fewest vertices of a side (sparsest).", least=1)
    confidence: float = option(
        DEFAULT_CONFIDENCE, help="Probability that the interval holds.", above=0, below=1
    )

    def __post_init__(self) -> None:
        check(self)


class FoundParts(NamedTuple):
    """A partition: the part of each vertex, from 0 on, and the tree that it is cut from, or None.

    The tree is that of `scipy.cluster.hierarchy`.
    """

    codes: IntVector
    tree: FloatMatrix | None = None


# --- max-cut, sparsest cut, balanced parts: starts, and one search whose score is the kind's


def max_cut(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """Two parts with much weight between them."""
    del wanted

    def score(between: Any, squares: Any) -> Any:
        return between + 0 * squares

    signs = _relaxation(-weights)[0]
    starts = [side.astype(np.int64) for side in (signs.S, signs.T)]
    return _best(weights, [*_swept(weights, [], score), *starts], score)


def sparsest(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """Two sides with little weight between them for each pair of vertices across."""
    n, least = weights.shape[0], wanted.smallest
    if 2 * least > n:
        raise ParameterError(f"smallest must be at most half the number of vertices, {n // 2:,}")

    def score(between: Any, squares: Any) -> Any:
        pairs = (n**2 - squares) / 2
        return np.where(pairs < least * (n - least), -np.inf, -between / np.maximum(pairs, 1))

    return _best(weights, _swept(weights, directions(weights, _DIRECTIONS).T, score), score)


def balanced(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """Parts whose sizes differ by one at most with little weight between them."""
    n, parts = weights.shape[0], wanted.parts or 2
    if parts > n:
        raise ParameterError(f"parts must be at most the number of vertices, {n:,}")
    sizes = part_sizes(n, parts)
    # More than a move gains: so after each that leaves the balance, one restores it.
    price = 1 + 2 * float(abs(weights).sum(axis=1).max(initial=0.0))

    even = sizes @ sizes

    def score(between: Any, squares: Any) -> Any:
        return -between - price * (squares - even)

    vectors = directions(weights, parts + _DIRECTIONS // 2)
    space = vectors[:, :parts]  # that tells so many communities
    turns = np.random.default_rng(0).standard_normal((space.shape[1], _TURNS))
    orders = np.argsort(np.hstack([vectors[:, : _DIRECTIONS // 2 + 1], space @ turns]), axis=0)
    ordered = np.repeat(np.arange(parts), sizes)
    return _best(weights, [ordered[np.argsort(order)] for order in orders.T], score)


def part_sizes(n: int, parts: int) -> IntVector:
    """Sizes of balanced parts, the larger ones first."""
    return np.bincount(np.arange(n) % parts, minlength=parts)


def directions(weights: Matrix, count: int) -> FloatMatrix:
    """Eigenvectors that tell communities, the largest eigenvalues first, shape (n, <= count).

    To a few digits: a search goes on from them.
    """
    n = weights.shape[0]
    start = np.random.default_rng(0).standard_normal((n, min(count, n)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that digits are few
        return np.asarray(scipy.sparse.linalg.lobpcg(weights, start, maxiter=40, tol=1e-4)[1])


def _swept(weights: Matrix, vectors: Iterable[FloatVector], score: Score) -> list[IntVector]:
    """Of each order of the vertices, the first ones against the others, as many as is best."""
    n, starts = weights.shape[0], []
    size = np.arange(1.0, n)
    for vector in (*vectors, np.asarray(weights.sum(axis=1))):
        order = np.argsort(vector, kind="stable")
        moved = weights[order][:, order]
        lower = sp.tril(moved) if sp.issparse(moved) else np.tril(moved)
        between = np.cumsum(moved.sum(axis=1) - 2 * lower.sum(axis=1))[:-1]
        most = int(np.argmax(score(between, size**2 + (n - size) ** 2)))
        starts.append((np.argsort(order) > most).astype(np.int64))
    return starts


def _best(weights: Matrix, starts: list[IntVector], score: Score) -> FoundParts:
    """The best of what a search makes of some partitions."""
    found = [_improved(weights, codes, score) for codes in starts]
    return FoundParts(max(found, key=lambda each: each[0])[1])


def _improved(weights: Matrix, codes: IntVector, score: Score) -> tuple[float, IntVector]:
    """The best partition on a way of moves of single vertices, and its score, which is the most.

    Each is the best move of a vertex that has not moved lately, though it may make things worse.
    """
    n, parts, sizes, codes = len(codes), int(codes.max()) + 1, np.bincount(codes), codes.copy()
    every, rests = np.arange(n), np.zeros(n, dtype=np.int64)
    row_of = _rows(weights)
    sums = weights @ np.eye(parts)[codes]
    between = (float(weights.sum()) - float(sums[every, codes].sum())) / 2
    squares = float(sizes @ sizes)
    # Smaller gains may be rounding errors, which would add up for ever.
    least = float(np.ptp(score(np.array([0.0, 1e-9 * abs(weights).sum()]), n**2 / parts)))
    most, best, now, idle = float(score(between, squares)), codes.copy(), 0, 0
    while idle < _PATIENCE + min(n // 4, _MOST_PATIENCE):
        then = (between + sums[every, codes])[:, None] - sums
        changed = (squares + 2.0 * (sizes - sizes[:, None] + 1))[codes]
        scores = score(then, changed)
        scores[rests > now] = -np.inf
        scores[every, codes] = -np.inf
        place, part = divmod(int(scores.argmax()), parts)
        if not math.isfinite(scores[place, part]):
            break
        old = codes[place]
        between, squares = float(then[place, part]), float(changed[place, part])
        row = row_of(place)
        sums[:, old] -= row
        sums[:, part] += row
        sizes[[old, part]] += -1, 1
        codes[place] = part
        now, idle = now + 1, idle + 1
        rests[place] = now + min(_REST, n // 8)
        if scores[place, part] > most + least:
            most, best, idle = float(scores[place, part]), codes.copy(), 0
    return most, best


def _rows(weights: Matrix) -> Callable[[int], FloatVector]:
    """Gives a row as an array. To index a sparse matrix takes as long as the rest of a move."""
    if not sp.issparse(weights):
        return np.asarray(weights).__getitem__
    stored, n = sp.csr_array(weights), weights.shape[1]

    def row_of(place: int) -> FloatVector:
        here = slice(stored.indptr[place], stored.indptr[place + 1])
        return np.bincount(stored.indices[here], stored.data[here], n).astype(np.float64)

    return row_of


def dense(weights: Matrix) -> FloatMatrix:
    """The same as an array."""
    return np.asarray(weights.toarray() if sp.issparse(weights) else weights)


# --- bounds for every partition


def relaxed(weights: FloatMatrix) -> float:
    """A proven bound on <W, M> for every positive semidefinite M with ones on its diagonal.

    For x of signs, and so for M by the same proof: x'(W + cI)x is at most the certificate of the
    infinity-to-one norm, whatever c is, and x'cx = cn. It is near where W + cI is semidefinite.
    """
    certificate, moved = _relaxation(weights)
    return certificate.upper - moved + 1e-13 * (abs(certificate.upper) + moved)


def most_gain(weights: FloatMatrix, codes: IntVector) -> float:
    """A bound on the sum of weights within parts, for every partition; tuned to that of the codes.

    Parts are matrices M with no entry below 0: weights may be raised in a bound on <W, M>. The mean
    weight between any two of these parts is, to 0, where it is below: the relaxation would make
    gains of pairs that are better apart.
    """
    weights = weights - np.diag(weights.diagonal())
    sizes = np.bincount(codes)
    raised = np.maximum(-block_sums(weights, codes) / np.outer(sizes, sizes), 0)
    np.fill_diagonal(raised, 0)
    weights = weights + raised[codes][:, codes]
    return relaxed(weights) / 2 + 1e-12 * float(np.abs(weights).sum())


def _relaxation(weights: Matrix) -> tuple[CutNormCertificate, float]:
    """That of W + cI, with signs that are near the best, and cn."""
    n = weights.shape[0]
    shift = largest_singular_value(Operand.from_matrix(weights)).value
    raised = weights + shift * (sp.eye_array(n) if sp.issparse(weights) else np.eye(n))
    found = cut_norm(raised, norm="infinity-to-one", method="low-rank", tolerance=1)
    return found, shift * n


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
    return np.asarray(values[: n - 1] - 10 * n * 2.0**-53 * 4 * size, np.float64)


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
    t = np.arange(2, n)
    trace = np.clip(t * np.count_nonzero(values < 0), n - t, n - 1)
    whole = trace // t  # at most (n - 1)/2 of n - 1 eigenvalues
    least = (t * before[whole] + values[whole] * (trace - t * whole)) / 2
    return 2 * total + float(np.maximum(least * (1 - 1e-12) - slack, 0.0).sum())


# --- correlation clustering, and a hierarchy


def clusters(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """Parts with the largest sum of (weight - resolution) over pairs within, by Leiden."""
    low = min(0.0, float(weights.min()))
    resolution = wanted.resolution or 0.0
    # Leiden needs weights of at least 0; the sum is the same with both moved.
    upper = sp.coo_array(sp.triu(weights - low if low < 0 else weights, 1))
    if upper.nnz > _MOST_PAIRS:
        raise GraphError(f"clusters takes {_MOST_PAIRS:,} pairs at most; ask for balanced parts")
    ends = np.stack([upper.row, upper.col], axis=1)
    options = {"resolution": resolution - low, "n_iterations": -1}
    with repeatable_igraph() as igraph:
        network = igraph.Graph(n=weights.shape[0], edges=ends)
        found = [
            network.community_leiden("CPM", weights=upper.data.tolist(), **options).membership
            for _ in range(_TIMES)
        ]
    made = (FoundParts(np.array(codes, dtype=np.int64)) for codes in found)
    return max(made, key=lambda each: worth("clusters", weights, each, wanted))


def mean_weight(weights: Matrix) -> float:
    """The mean weight of a pair, not below 0."""
    n: int = weights.shape[0]
    return max(0.0, float(weights.sum()) / max(n * (n - 1), 1))


def hierarchy(weights: Matrix, wanted: Partitioning) -> FoundParts:
    """A binary tree in which pairs with much weight part late, by average linkage.

    Its cost is the sum of weight times the number of vertices below the pair's lowest ancestor.
    """
    n, parts = weights.shape[0], wanted.parts or 2
    if not 2 <= n <= _MOST_TREE or parts > n:
        raise GraphError(
            f"a hierarchy has 2 to {_MOST_TREE:,} vertices, and no more parts than vertices"
        )
    distances = float(weights.max()) - dense(weights)
    condensed = scipy.spatial.distance.squareform(distances, checks=False)
    tree = scipy.cluster.hierarchy.linkage(condensed, "average")
    codes = scipy.cluster.hierarchy.cut_tree(tree, n_clusters=parts).ravel()
    return FoundParts(codes.astype(np.int64), tree)


def _by_size(tree: FloatMatrix) -> FloatMatrix:
    """The same tree, whose merges are as high as the vertices below them are many."""
    return np.column_stack([tree[:, :2], tree[:, 3], tree[:, 3]])


def levels(tree: FloatMatrix) -> Iterator[tuple[int, list[int]]]:
    """For t = 1 to n - 1 the sizes of the largest clusters of at most t; how many t are alike."""
    by_size = _by_size(tree)
    for t, after in itertools.pairwise(np.unique([1.0, *tree[:, 3]])):
        clusters_of = scipy.cluster.hierarchy.fcluster(by_size, t, "distance")
        yield int(after - t), np.bincount(clusters_of)[1:].tolist()


def tree_cost(weights: Matrix, tree: FloatMatrix) -> float:
    """Sum over pairs of weight times the number of vertices below their lowest ancestor."""
    below = scipy.cluster.hierarchy.cophenet(_by_size(tree))
    return float(scipy.spatial.distance.squareform(dense(weights), checks=False) @ below)


# --- what they are worth, and the table of kinds


def block_sums(weights: Matrix, codes: IntVector) -> Matrix:
    """The sum of all entries between any two parts, and twice the weight within each."""
    members = sp.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)))
    return members.T @ (weights @ members)


def worth(kind: str, weights: Matrix, found: FoundParts, wanted: Partitioning) -> float:
    """The value of a partition in a graph of these weights, by the definition of its kind."""
    if found.tree is not None:
        return tree_cost(weights, found.tree)
    sizes = np.bincount(found.codes)
    inside = float(block_sums(weights, found.codes).trace()) / 2
    if kind == "clusters":
        return inside - (wanted.resolution or 0.0) * float((sizes * (sizes - 1)).sum()) / 2
    between: float = float(weights.sum()) / 2 - inside
    return between / float(sizes[0] * sizes[1]) if kind == "sparsest" else between


class PartitionKind(NamedTuple):
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


def check_kind(kind: str, wanted: Partitioning) -> None:
    """Refuse a kind that there is not, or one that has not all of the options that are given.

    Raises:
        ParameterError: it is one of these.
    """
    if kind not in KINDS:
        raise ParameterError(f"unknown kind {kind!r:.60}; choose one of {', '.join(KINDS)}")
    for name in ("parts", "resolution", "smallest"):
        given = getattr(wanted, name) != getattr(Partitioning(), name)
        if given and name not in KINDS[kind].uses:
            kinds = " and ".join(repr(each) for each, known in KINDS.items() if name in known.uses)
            raise ParameterError(f"{name} is an option of kind {kinds}, not of {kind!r}")
