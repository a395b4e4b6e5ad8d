"""Partitions of the vertices of a weighted graph: search, value, and bounds on the optimum.

Everything works on a symmetric matrix of weights with a zero diagonal: the synthetic weights of a
release, or its noisy matrix, whose weights may be negative. Both are public, so this is
post-processing. A partition is a vector of codes, the part of each vertex, from 0 on. `results`
uses this module for partitions of a release, and computes intervals and bounds from its functions.

The table `KINDS` lists the kinds of partitions: max-cut, sparsest cut, balanced parts, clusters,
and a hierarchy (a binary tree of the vertices). Each has a search, and a text that says what its
value measures; `worth` computes the value. To add a kind, decorate a search with `_kind` and extend
`worth`. Searches find good partitions, with no guarantee.

The bounds hold for every partition of the vertices (`least_between`: for every one into parts of
given sizes). They use the matrix M with M_ij = 1 if i and j are in one part and else 0. <A, B> is
the sum of the products of entries. W are the weights and L is their Laplacian, so the weight within
parts is <W, M>/2, and the weight between parts is <L, M>/2. For max-cut, bounds use M = x x^T for a
vector x of signs, the two sides; then the weight between them is <L, M>/4. Either M is positive
semidefinite with ones on its diagonal. Each bound relaxes M to the matrices that share some of its
properties:

- `relaxed`: positive semidefinite, with ones on the diagonal. For max-cut, and by `most_gain` for
  clusters.
- `least_between`: its eigenvalues (Donath, Hoffman). Balanced parts, and two sides.
- `least_cost`: its eigenvalues for each level of a tree (Charikar, Chatziafratis). A level t of a
  tree is the partition into its largest clusters of at most t vertices.

Source: Goemans, Williamson 1995 (max-cut); Donath, Hoffman 1973; Traag, Waltman, van Eck 2019
(Leiden); Dasgupta 2016 (the cost of a hierarchy).
"""

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
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

# Symmetric with a zero diagonal: FloatMatrix, or sp.csr_array if no weight is negative.
Matrix = Any
# Score of a partition, from the weight between its parts and the sum of its squared part sizes;
# searches maximise it. Both are numbers, or arrays for several partitions that broadcast.
Score = Callable[[Any, Any], Any]
# Function that returns a good partition for a matrix of weights.
Search = Callable[[Matrix, "Partitioning"], "FoundParts"]

# Starts of searches order the vertices by their entries in an eigenvector, and cut the order.
_DIRECTIONS = 9  # eigenvectors for the sparsest cut
_BALANCED_DIRECTIONS = 5  # eigenvectors for balanced parts ...
_MIXTURES = 12  # ... and random combinations of eigenvectors, which make further orders
# A search ends after so many moves without a gain: `_PATIENCE` plus a quarter of the number of
# vertices, but at most `_MOST_PATIENCE` for that quarter.
_PATIENCE = 60
_MOST_PATIENCE = 200
_TABU_MOVES = 10  # moves until a vertex may move again
_ROUNDING = 1e-9  # share of the sum of all weights below which a change may be a rounding error
_MOST_PAIRS = 2_000_000  # pairs with weight up to which Leiden is run
_LEIDEN_RUNS = 8
_MOST_TREE = 5_000  # vertices of a hierarchy
MOST_PROVEN = 3_500  # vertices up to which bounds that need all eigenvalues are computed

# The kinds of partitions by name, in the order in which they are listed; see `_kind`.
KINDS: dict[str, "PartitionKind"] = {}


@final
@dataclass(frozen=True, kw_only=True)
class Partitioning:
    """Options of a partition.

    Attributes:
        parts: number of parts of a balanced partition, or into which the tree of a hierarchy is
            cut; None for two.
        resolution: of "clusters": weight above which a pair within a part is a gain. None for the
            mean weight of a pair (`mean_weight`). Callers must put it in place of None: functions
            of this module take None for 0. With 0.5 and a graph without weights this is correlation
            clustering with the fewest disagreements.
        smallest: of "sparsest": fewest vertices of a side.
        confidence: probability that the interval and the bound on the optimum hold together.
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
    """A partition.

    Attributes:
        codes: part of each vertex, from 0 on, shape (n,).
        tree: the merges from which the parts of a hierarchy are cut, as in
            `scipy.cluster.hierarchy`; None for other kinds.
    """

    codes: IntVector
    tree: FloatMatrix | None = None


class PartitionKind(NamedTuple):
    """A kind of partition.

    Attributes:
        search: returns a good partition for a matrix of weights.
        measure: what `worth` computes for a partition of this kind, in words.
        largest: whether the largest value is the best one; else the smallest.
        uses: names of the options that it has.
    """

    search: Search
    measure: str
    largest: bool = False
    uses: tuple[str, ...] = ()


def _kind(
    name: str, measure: str, *, largest: bool = False, uses: tuple[str, ...] = ()
) -> Callable[[Search], Search]:
    """Enter a search in `KINDS` under a name; see `PartitionKind` for the rest."""

    def enter(search: Search) -> Search:
        KINDS[name] = PartitionKind(search, measure, largest, uses)
        return search

    return enter


def check_kind(kind: str, options: Partitioning) -> None:
    """Refuse an unknown kind of partition, and options that the kind does not have.

    Raises:
        ParameterError: the kind is unknown, or an option is not its default and not of this kind.
    """
    if kind not in KINDS:
        raise ParameterError(f"unknown kind {kind!r:.60}; choose one of {', '.join(KINDS)}")
    values, defaults = asdict(options), asdict(Partitioning())
    for name in ("parts", "resolution", "smallest"):
        if values[name] != defaults[name] and name not in KINDS[kind].uses:
            users = [repr(other) for other, known in KINDS.items() if name in known.uses]
            kinds = " and ".join(users)
            raise ParameterError(f"{name} is an option of kind {kinds}, not of {kind!r}")


# --- Searches: max-cut, sparsest cut and balanced parts share one local search; clusters use
# Leiden's algorithm, and a hierarchy average linkage.


@_kind("max-cut", "weight between the two parts", largest=True)
def max_cut(weights: Matrix, _options: Partitioning) -> FoundParts:
    """Search two parts with much weight between them."""

    def score(between: Any, squares: Any) -> Any:
        return between + 0 * squares  # in the shape to which both broadcast

    # S and T are the positive signs of vectors x and y that nearly maximise x^T (cI - W) y, see
    # `_shifted_certificate`. Little weight lies within equal signs, so S and T are good sides.
    certificate, _ = _shifted_certificate(-weights)
    starts = [side.astype(np.int64) for side in (certificate.S, certificate.T)]
    return _best_found(weights, [*_best_splits(weights, [], score), *starts], score)


@_kind("sparsest", "weight across for each pair across", uses=("smallest",))
def sparsest(weights: Matrix, options: Partitioning) -> FoundParts:
    """Search two sides with little weight between them for each pair of vertices across.

    Raises:
        ParameterError: the graph has fewer than twice `smallest` vertices.
    """
    n, least = weights.shape[0], options.smallest
    if 2 * least > n:
        raise ParameterError(f"smallest must be at most half the number of vertices, {n // 2:,}")

    def score(between: Any, squares: Any) -> Any:
        pairs = (n**2 - squares) / 2  # across: s (n - s) for sides of s and n - s vertices
        # That product grows with the smaller side, so below least * (n - least) it is too small.
        return np.where(pairs < least * (n - least), -np.inf, -between / np.maximum(pairs, 1))

    starts = _best_splits(weights, directions(weights, _DIRECTIONS).T, score)
    return _best_found(weights, starts, score)


@_kind("balanced", "weight between parts", uses=("parts",))
def balanced(weights: Matrix, options: Partitioning) -> FoundParts:
    """Search parts with little weight between them whose sizes differ by one at most.

    Raises:
        ParameterError: there are more parts than vertices.
    """
    n, parts = weights.shape[0], options.parts or 2
    if parts > n:
        raise ParameterError(f"parts must be at most the number of vertices, {n:,}")
    sizes = part_sizes(n, parts)
    balanced_squares = sizes @ sizes
    # A move changes `between` by at most the weighted degree of its vertex. So no gain of a move is
    # worth this price of leaving the balance, and the search moves back to balance next.
    price = 1 + 2 * float(abs(weights).sum(axis=1).max(initial=0.0))

    def score(between: Any, squares: Any) -> Any:
        return -between - price * (squares - balanced_squares)

    # Each start orders the vertices by an eigenvector, or by a random mixture of as many
    # eigenvectors as there are parts, and cuts the order into parts.
    vectors = directions(weights, parts + _BALANCED_DIRECTIONS - 1)  # at least both numbers
    space = vectors[:, :parts]
    mixtures = space @ np.random.default_rng(0).standard_normal((space.shape[1], _MIXTURES))
    coordinates = np.hstack([vectors[:, :_BALANCED_DIRECTIONS], mixtures])  # (n, orders)
    orders = np.argsort(coordinates, axis=0)
    codes_in_order = np.repeat(np.arange(parts), sizes)
    # `order` lists the vertices; its argsort is the rank of each vertex.
    starts = [codes_in_order[np.argsort(order)] for order in orders.T]
    return _best_found(weights, starts, score)


@_kind(
    "clusters",
    "weight within parts, less the resolution for each pair",
    largest=True,
    uses=("resolution",),
)
def clusters(weights: Matrix, options: Partitioning) -> FoundParts:
    """Search parts with a large sum of (weight - resolution) over the pairs within, by Leiden.

    Raises:
        GraphError: more than 2,000,000 pairs have weight.
    """
    lowest = min(0.0, float(weights.min()))
    resolution = options.resolution or 0.0
    # Leiden needs weights of at least 0. The sum stays the same if all weights and the resolution
    # are raised by one number. Only dense matrices have weights below 0.
    upper = sp.coo_array(sp.triu(weights - lowest if lowest < 0 else weights, 1))
    if upper.nnz > _MOST_PAIRS:
        raise GraphError(f"clusters takes {_MOST_PAIRS:,} pairs at most; ask for balanced parts")
    edges = np.stack([upper.row, upper.col], axis=1)
    edge_weights, raised = upper.data.tolist(), resolution - lowest
    # igraph with a random generator of a fixed seed: the runs differ, and repeat in each call.
    with repeatable_igraph() as igraph:
        network = igraph.Graph(n=weights.shape[0], edges=edges)
        memberships = [
            network.community_leiden(
                "CPM", weights=edge_weights, resolution=raised, n_iterations=-1
            ).membership
            for _ in range(_LEIDEN_RUNS)
        ]
    partitions = (FoundParts(np.array(codes, dtype=np.int64)) for codes in memberships)
    return max(partitions, key=lambda partition: worth("clusters", weights, partition, options))


@_kind("hierarchy", "weight times vertices below the common branch", uses=("parts",))
def hierarchy(weights: Matrix, options: Partitioning) -> FoundParts:
    """Build a binary tree in which pairs with much weight part late, by average linkage.

    Its cost is the sum over pairs of weight times the number of vertices below the pair's lowest
    common ancestor.

    Raises:
        GraphError: the graph is too large, or has fewer vertices than parts.
    """
    n, parts = weights.shape[0], options.parts or 2
    if not 2 <= n <= _MOST_TREE or parts > n:
        raise GraphError(
            f"a hierarchy has 2 to {_MOST_TREE:,} vertices, and no more parts than vertices"
        )
    # Average linkage merges the clusters with the least mean distance: here the most mean weight.
    distances = float(weights.max()) - dense(weights)
    condensed = scipy.spatial.distance.squareform(distances, checks=False)
    tree = scipy.cluster.hierarchy.linkage(condensed, "average")
    codes = scipy.cluster.hierarchy.cut_tree(tree, n_clusters=parts).ravel()
    return FoundParts(codes.astype(np.int64), tree)


# --- Values of partitions.


def worth(kind: str, weights: Matrix, partition: FoundParts, options: Partitioning) -> float:
    """Return the value of a partition in a graph of these weights, by the measure of its kind.

    Args:
        kind: a key of `KINDS`; not checked.
        weights: shape (n, n).
        partition: with a tree if and only if it is a hierarchy.
        options: of the partition.
    """
    if partition.tree is not None:
        return tree_cost(weights, partition.tree)
    sizes = np.bincount(partition.codes)
    inside = float(block_sums(weights, partition.codes).trace()) / 2
    if kind == "clusters":
        pairs_within = float((sizes * (sizes - 1)).sum()) / 2
        return inside - (options.resolution or 0.0) * pairs_within
    between: float = float(weights.sum()) / 2 - inside
    # Max-cut and balanced parts: the weight between parts.
    return between / float(sizes[0] * sizes[1]) if kind == "sparsest" else between


def block_sums(weights: Matrix, codes: IntVector) -> Matrix:
    """Return the weight between any two parts, and twice the weight within each.

    Returns:
        Shape (parts, parts), sparse if the weights are.
    """
    members = sp.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)))
    return members.T @ (weights @ members)


def mean_weight(weights: Matrix) -> float:
    """Return the mean weight of a pair, or 0 if it is negative."""
    n: int = weights.shape[0]
    return max(0.0, float(weights.sum()) / max(n * (n - 1), 1))


def part_sizes(n: int, parts: int) -> IntVector:
    """Return the sizes of balanced parts of n vertices, the larger ones first."""
    return np.bincount(np.arange(n) % parts, minlength=parts)


def tree_cost(weights: Matrix, tree: FloatMatrix) -> float:
    """Return the sum over pairs of weight times vertices below their lowest common ancestor."""
    vertices_below = scipy.cluster.hierarchy.cophenet(_with_sizes_as_heights(tree))
    return float(scipy.spatial.distance.squareform(dense(weights), checks=False) @ vertices_below)


def levels(tree: FloatMatrix) -> Iterator[tuple[int, list[int]]]:
    """Yield the levels of a tree of n vertices: its largest clusters of at most t vertices.

    t runs from 1 to n - 1; consecutive t with the same clusters are one item. The cost of a tree is
    the sum over t = 0, ..., n - 1 of the weight between the clusters of level t (see `least_cost`),
    so bounds on its error add up errors of levels.

    Yields:
        The number of t with these clusters, and the sizes of the clusters.
    """
    by_size = _with_sizes_as_heights(tree)
    for t, next_t in itertools.pairwise(np.unique([1.0, *tree[:, 3]])):
        clusters_of = scipy.cluster.hierarchy.fcluster(by_size, t, "distance")
        yield int(next_t - t), np.bincount(clusters_of)[1:].tolist()


def _with_sizes_as_heights(tree: FloatMatrix) -> FloatMatrix:
    """Return the tree with the number of vertices below each merge as its height.

    A row of a tree is a merge: both clusters, its height, and the number of vertices below it.
    """
    return np.column_stack([tree[:, :2], tree[:, 3], tree[:, 3]])


def dense(weights: Matrix) -> FloatMatrix:
    """Return weights as an array."""
    return np.asarray(weights.toarray() if sp.issparse(weights) else weights)


# --- Local search.


def directions(weights: Matrix, count: int) -> FloatMatrix:
    """Return eigenvectors of the largest eigenvalues, to a few digits, for starts of searches.

    Args:
        weights: shape (n, n).
        count: of eigenvectors, at most n are returned.

    Returns:
        Shape (n, min(count, n)), the largest eigenvalues first.
    """
    n = weights.shape[0]
    start = np.random.default_rng(0).standard_normal((n, min(count, n)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lobpcg warns that digits are few
        return np.asarray(scipy.sparse.linalg.lobpcg(weights, start, maxiter=40, tol=1e-4)[1])


def _best_splits(weights: Matrix, vectors: Iterable[FloatVector], score: Score) -> list[IntVector]:
    """Return the best split of each order of the vertices into the first ones and the others.

    Args:
        weights: shape (n, n).
        vectors: each orders the vertices by its entries; weighted degrees make one more order.
        score: of a split.
    """
    n = weights.shape[0]
    splits = []
    size = np.arange(1.0, n)  # number of vertices of the first side, for all splits of an order
    for vector in (*vectors, np.asarray(weights.sum(axis=1))):
        order = np.argsort(vector, kind="stable")
        ordered = weights[order][:, order]
        lower = sp.tril(ordered) if sp.issparse(ordered) else np.tril(ordered)
        # A vertex that joins the first side adds its weight to later vertices, and takes away its
        # weight to earlier ones: its weighted degree less twice its row in the lower triangle.
        between = np.cumsum(ordered.sum(axis=1) - 2 * lower.sum(axis=1))[:-1]
        # Rank of the last vertex of the first side in the best split.
        last = int(np.argmax(score(between, size**2 + (n - size) ** 2)))
        splits.append((np.argsort(order) > last).astype(np.int64))
    return splits


def _best_found(weights: Matrix, starts: list[IntVector], score: Score) -> FoundParts:
    """Return the best partition that local searches from several starts find."""
    results = [_local_search(weights, codes, score) for codes in starts]
    _, best_codes = max(results, key=lambda result: result[0])  # the first of the best
    return FoundParts(best_codes)


def _local_search(weights: Matrix, start: IntVector, score: Score) -> tuple[float, IntVector]:
    """Search a partition by moves of single vertices (tabu search).

    Each move is the best one of a vertex that has not moved lately, even if it makes the partition
    worse. The search ends when many moves in a row have brought no gain.

    Returns:
        The largest score, and the codes of the partition that has it.
    """
    codes, sizes = start.copy(), np.bincount(start)  # of the present partition
    n, parts = len(codes), int(codes.max()) + 1
    vertices = np.arange(n)
    free_from = np.zeros(n, dtype=np.int64)  # number of the move from which a vertex may move again
    row_of = _row_reader(weights)
    sums = weights @ np.eye(parts)[codes]  # (n, parts): weight between a vertex and a part
    between = (float(weights.sum()) - float(sums[vertices, codes].sum())) / 2
    squares = float(sizes @ sizes)
    # Smaller gains may be rounding errors, and moves that only make these would go on for ever. The
    # least gain is what a rounding error in the weight between parts does to the score, computed
    # for parts of equal size.
    rounding = np.array([0.0, _ROUNDING * abs(weights).sum()])
    least_gain = float(np.ptp(score(rounding, n**2 / parts)))  # the difference of both scores
    best_score, best_codes = float(score(between, squares)), codes.copy()
    move, moves_without_gain = 0, 0
    while moves_without_gain < _PATIENCE + min(n // 4, _MOST_PATIENCE):
        # (n, parts) each: the partition after a vertex v has moved from its part a to a part b.
        # Weight between: plus weight of v with a, less weight of v with b. Squares of sizes:
        # (a - 1)^2 - a^2 + (b + 1)^2 - b^2 = 2 (b - a + 1).
        next_between = (between + sums[vertices, codes])[:, None] - sums
        next_squares = (squares + 2.0 * (sizes - sizes[:, None] + 1))[codes]
        scores = score(next_between, next_squares)
        scores[free_from > move] = -np.inf
        scores[vertices, codes] = -np.inf  # a move to another part only
        vertex, part = divmod(int(scores.argmax()), parts)
        if not math.isfinite(scores[vertex, part]):
            break
        old_part = codes[vertex]
        between = float(next_between[vertex, part])
        squares = float(next_squares[vertex, part])
        row = row_of(vertex)
        sums[:, old_part] -= row
        sums[:, part] += row
        sizes[[old_part, part]] += -1, 1
        codes[vertex] = part
        move, moves_without_gain = move + 1, moves_without_gain + 1
        free_from[vertex] = move + min(_TABU_MOVES, n // 8)
        if scores[vertex, part] > best_score + least_gain:
            best_score, best_codes = float(scores[vertex, part]), codes.copy()
            moves_without_gain = 0
    return best_score, best_codes


def _row_reader(weights: Matrix) -> Callable[[int], FloatVector]:
    """Return a function that gives a row of the weights as an array.

    To index a sparse matrix would take as long as all else of a move.
    """
    if not sp.issparse(weights):
        return np.asarray(weights).__getitem__
    stored, n = sp.csr_array(weights), weights.shape[1]

    def row_of(row: int) -> FloatVector:
        entries = slice(stored.indptr[row], stored.indptr[row + 1])
        return np.bincount(stored.indices[entries], stored.data[entries], n).astype(np.float64)

    return row_of


# --- Bounds that hold for every partition.


def relaxed(weights: FloatMatrix) -> float:
    """Return an upper bound on <W, M> over positive semidefinite M with ones on the diagonal.

    Let A = W + cI for any number c. The infinity-to-one norm of A is the maximum of x^T A y over
    sign vectors x and y. `cut_norm` certifies an upper bound on it by a solution of the dual of
    this semidefinite program: the maximum of <A, U V^T> over matrices U and V with rows of length
    1. M = U U^T for a matrix U with rows of length 1, so the certified bound holds for <A, M>, too.
    <cI, M> = cn is subtracted. The bound is near the maximum where A is positive semidefinite,
    since then the maximum has U = V.

    The last term covers rounding errors.
    """
    certificate, shift = _shifted_certificate(weights)
    return certificate.upper - shift + 1e-13 * (abs(certificate.upper) + shift)


def most_gain(weights: FloatMatrix, codes: IntVector) -> float:
    """Return an upper bound on the weight within parts, over all partitions.

    The M of a partition has no entry below 0, so raising weights never lowers <W, M>, and the bound
    of `relaxed` on raised weights still holds. Raising can make the bound smaller, because the
    relaxation admits M with entries below 0: these gain from pairs of negative weight. So between
    two parts of the given partition with negative mean weight, weights are raised until the mean
    is 0.

    Args:
        weights: shape (n, n), of any sign.
        codes: a partition near the best one, for which the bound is tuned; it holds for all.
    """
    weights = weights - np.diag(weights.diagonal())
    sizes = np.bincount(codes)
    # By how much the weights between each two parts are raised, shape (parts, parts).
    raised = np.maximum(-block_sums(weights, codes) / np.outer(sizes, sizes), 0)
    np.fill_diagonal(raised, 0)
    weights = weights + raised[codes][:, codes]
    return relaxed(weights) / 2 + 1e-12 * float(np.abs(weights).sum())


def _shifted_certificate(weights: Matrix) -> tuple[CutNormCertificate, float]:
    """Return the certificate of the infinity-to-one norm of W + cI, and cn.

    c is the largest singular value of W, so that W + cI is positive semidefinite. The sets S and T
    of the certificate are the positive signs of vectors that nearly attain the norm.
    """
    n = weights.shape[0]
    c = largest_singular_value(Operand.from_matrix(weights)).value
    shifted = weights + c * (sp.eye_array(n) if sp.issparse(weights) else np.eye(n))
    certificate = cut_norm(shifted, norm="infinity-to-one", method="low-rank", tolerance=1)
    return certificate, c * n


def least_between(weights: FloatMatrix, sizes: IntVector) -> float:
    """Return a lower bound on the weight between parts, over all partitions into these sizes.

    Twice that weight is <L, XX^T> for the 0/1 matrix X of the parts, shape (n, parts). L has the
    vector of ones in its kernel, so <L, XX^T> = <L, P XX^T P> with P = I - J/n, J being the matrix
    of ones. P XX^T P has the nonzero eigenvalues of X^T P X = diag(sizes) - sizes sizes^T/n. The
    inner product of two symmetric matrices is at least the sum of the products of their
    eigenvalues, those of one ascending and those of the other descending. Rounding errors are
    subtracted.

    Args:
        weights: shape (n, n), of any sign.
        sizes: of the parts, sum n.
    """
    n = len(weights)
    projected = np.diag(sizes.astype(np.float64)) - np.outer(sizes, sizes) / n
    part_values = np.linalg.eigvalsh(projected)
    part_values = np.maximum(part_values[::-1][: len(sizes) - 1], 0)  # descending
    values = laplacian_values(weights)[: len(part_values)]  # ascending
    return float(values @ part_values) / 2 - 1e-12 * float(np.abs(values) @ part_values)


def laplacian_values(weights: FloatMatrix) -> FloatVector:
    """Return lower bounds on the eigenvalues of the Laplacian orthogonal to the vector of ones.

    A large multiple of J, the matrix of ones, is added: the eigenvalue of the vector of ones then
    comes last and is left out. Rounding errors of a symmetric eigensolver are far below n u times
    the norm, for the unit roundoff u = 2^-53; ten times that is subtracted.

    Returns:
        Shape (n - 1,), ascending.
    """
    n = len(weights)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    norm = float(np.abs(laplacian).sum(axis=1).max(initial=0.0))
    values = np.linalg.eigvalsh(laplacian + 2 * norm / n)  # of a matrix of norm below 4 * norm
    return np.asarray(values[: n - 1] - 10 * n * 2.0**-53 * 4 * norm, np.float64)


def least_cost(weights: FloatMatrix, total: float, slack: float) -> float:
    """Return a lower bound on the cost of every tree, for true weights that these estimate.

    1. The cost is a sum over levels. A pair pays its weight times the number a of vertices below
       its lowest common ancestor. It lies between the largest clusters of at most t vertices for
       t = 0, ..., a - 1: that is a times. So the cost is the sum over t = 0, ..., n - 1 of the
       weight between the clusters of level t.
    2. At t = 0 and t = 1 all pairs are between clusters, so these two cost twice the total.
    3. A later level costs <L, Y>/2 with Y = P XX^T P, see `least_between`. Y has eigenvalues from 0
       to t, because no cluster is larger than t. Its trace n - (sum of squared sizes)/n lies in
       [n - t, n - 1], because n <= (sum of squared sizes) <= t n.
    4. <L, Y> is least if Y has the eigenvalue t along the eigenvectors of the smallest eigenvalues
       of L, one after the other, until its trace is used up. The trace is as large as all negative
       eigenvalues of L need, within its bounds.
    5. The true level costs at least this less `slack`. No true weight is below 0, so it costs at
       least 0.

    Args:
        weights: estimates, shape (n, n).
        total: lower bound on the sum of the true weights of all pairs, at least 0.
        slack: bound on how far the true weight between the parts of any partition is below that of
            the estimates.
    """
    n = len(weights)
    values = laplacian_values(weights)
    sums_of_smallest = np.concatenate([[0.0], np.cumsum(values)])  # of the first 0, 1, ... values
    t = np.arange(2, n)  # all later levels; the arrays below have one entry for each
    trace = np.clip(t * np.count_nonzero(values < 0), n - t, n - 1)  # of Y
    # Y has `full` eigenvalues equal to t, at most (n - 1)/2, and a smaller one, `remainder`.
    full = trace // t
    remainder = trace - t * full
    least = (t * sums_of_smallest[full] + values[full] * remainder) / 2
    return 2 * total + float(np.maximum(least * (1 - 1e-12) - slack, 0.0).sum())
